/* Functions and variables of a program, which is not whole without what the page leaves out. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt.h>
#include <time.h>
#include <unistd.h>

/* BLOCK */

int main(void) { return 0; }
