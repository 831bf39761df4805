/* Statements of a program that has a client, and what the page calls by these names. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <time.h>

volatile sig_atomic_t stop;
int64_t now_ms(void);
int64_t now_ms(void) { return time(NULL) * INT64_C(1000); }
void fragment(smq_client *client, smq_options options, smq_message message, smq_event event, int32_t status,
              char *text);

void fragment(smq_client *client, smq_options options, smq_message message, smq_event event, int32_t status,
              char *text) {
    /* BLOCK */
    (void)client, (void)options, (void)message, (void)event, (void)status, (void)text;
}

int main(void) { return 0; }
