#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swiftstomp.h>
#include <time.h>

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
