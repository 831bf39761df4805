#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftstomp.h>

int32_t piece(sst_client *client, sst_options *options);

int32_t piece(sst_client *client, sst_options *options) {
    sst_event event = SST_EVENT_INIT;
    (void)client;
    (void)options;
    (void)event;
    /* BLOCK */
    return 0;
}

int main(void) { return 0; }
