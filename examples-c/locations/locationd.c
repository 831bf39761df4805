/*
 * Tells where this device is, over STOMP, and shows texts that are for it: locationd --help says how. README.md says what
 * each file of this folder is for.
 *
 * One loop, which waits for the broker, the source of fixes, the standard input and signals, and for nothing else. At most
 * one position is on its way: while its receipt is due, or without a connection, the program keeps only the newest fix,
 * and sends that afterwards if it is not stale.
 */
#define _GNU_SOURCE /* ppoll(), pipe2() */
#include <poll.h>

#include "gpsd.h"
#include "gpx.h"
#include "hash.h"
#include "nmea.h"
#include "options.h"
#include "position.h"
#include "simulated.h"
#include "texts.h"

static volatile sig_atomic_t stop, resend;

static void on_signal(int number) {
    if (number == SIGUSR1) resend = 1;
    if (number == SIGTERM || number == SIGINT) stop++; /* SIGCHLD only ends the waiting */
}

/* Signals come only while ppoll() waits, so none can come between looking at its flag and waiting. */
static void catch_signals(void) {
    const int numbers[] = { SIGTERM, SIGINT, SIGUSR1, SIGCHLD };
    struct sigaction action = { .sa_handler = on_signal };
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaction(numbers[i], &action, NULL);
        sigaddset(&blocked, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
}

struct device {
    struct options options;
    struct source source;
    sst_client *client; /* NULL with --dry */
    char location[128], inbox[128];
    struct fix fix;  /* the newest */
    struct fix sent; /* the last one that went through the filter */
    bool has_fix, has_sent;
    bool is_lost;       /* "???" was shown, and no fix came since */
    bool was_stale;     /* of stale fixes, only the first is told */
    bool is_wanted;     /* a position is to be sent as soon as it can be */
    bool is_on_its_way; /* one waits for its receipt */
    bool has_ended;     /* the source, or --count */
    bool is_leaving;
    uint32_t count; /* positions that were sent */
    int64_t fix_ms; /* when the newest fix came */
    struct texts texts;
    struct hook hook;
    struct lines answers; /* standard input */
    bool answers_end;
    int result;
};

static void complain(const char *what, const char *why) { fprintf(stderr, "locationd: %s: %s\n", what, why); }

/* ---- Positions */

static void show_lost(struct device *device, const char *why) {
    if (why) complain("no position", why);
    if (!device->is_lost && !device->options.dry) {
        puts("Current position: ???");
        fflush(stdout);
    }
    device->is_lost = true;
}

/* Hands the newest fix to the client. With a receipt: its completion says that the broker has it. */
static int32_t hand_over(struct device *device, const char *text) {
    uint8_t bytes[sizeof device->options.header_bytes + 64];
    sst_headers headers = { bytes, sizeof bytes, device->options.headers.size };
    memcpy(bytes, device->options.header_bytes, headers.size);
    if (device->options.expires > 0) {
        char when[24];
        snprintf(when, sizeof when, "%lld", (long long)(utc_ms() + device->options.expires * INT64_C(1000)));
        sst_bytes name = sst_string("expires"), value = sst_string(when);
        int32_t status = sst_header_put(&headers, &name, &value);
        if (status != SST_OK) return status;
    }
    sst_frame frame = SST_FRAME_INIT;
    frame.flags = SST_SEND_RECEIPT;
    frame.destination = sst_string(device->location);
    frame.content_type = sst_string(POSITION_TYPE);
    frame.headers = sst_header_list(&headers);
    frame.body = sst_string(text);
    return sst_send(device->client, &frame);
}

static bool has_position(const struct device *device) {
    return device->has_fix && !is_stale(&device->options.filter, &device->fix, utc_ms());
}

static void send_position(struct device *device) {
    char text[POSITION_BYTES];
    if (!device->is_wanted || device->is_on_its_way || device->is_leaving) return;
    if (device->client && sst_client_state(device->client) != SST_STATE_CONNECTED) return;
    device->is_wanted = false;
    if (!has_position(device)) {
        show_lost(device, device->has_fix ? "the last fix is stale" : "there was no fix yet");
        return;
    }
    write_position(device->options.id, &device->fix, text);
    if (device->client) {
        int32_t status = hand_over(device, text);
        if (status != SST_OK) {
            complain("sending a position", sst_status_text(status));
            return;
        }
        device->is_on_its_way = true;
        printf("Current position: φ:%.4f, λ:%.4f\n", device->fix.latitude, device->fix.longitude);
    } else {
        puts(text);
    }
    fflush(stdout);
    device->sent = device->fix;
    device->has_sent = true;
    device->count++;
    if (device->options.count > 0 && device->count == device->options.count) device->has_ended = true;
}

static void take_fix(struct device *device, const struct fix *fix, int64_t now) {
    const struct fix *last = device->has_sent ? &device->sent : NULL;
    enum verdict verdict = judge(&device->options.filter, last, fix, utc_ms());
    if (verdict == FIX_STALE) {
        char time[ISO8601_BYTES];
        write_iso8601(fix->utc_ms, time);
        if (!device->was_stale) complain("stale fixes are dropped, such as that of", time);
        device->was_stale = true;
        if (!has_position(device)) show_lost(device, NULL);
        return;
    }
    device->was_stale = false;
    device->fix = *fix;
    device->has_fix = true;
    device->fix_ms = now;
    /* After a loss the position is news, though it may be the one that it was. */
    if (verdict == FIX_SEND || device->is_lost) device->is_wanted = true;
    device->is_lost = false;
    send_position(device);
}

static void run_source(struct device *device, int64_t now) {
    /* Some at a time: a file that is played all at once must not keep the broker waiting. */
    for (int turns = 0; turns < 100 && !device->has_ended; turns++) {
        struct fix fix;
        enum found found = device->source.step(&device->source, now, &fix);
        if (found == FOUND_NOTHING) return;
        if (found == FOUND_FIX) take_fix(device, &fix, now);
        if (found == FOUND_LOST) show_lost(device, device->source.why);
        if (found == FOUND_END) device->has_ended = true;
    }
}

/* When a fix that was the last one becomes stale, though the source has said nothing of a loss; -1: never. */
static int64_t silence_due_ms(const struct device *device) {
    bool counts = device->has_fix && !device->is_lost && device->options.filter.max_age_ms > 0 && !device->options.dry;
    return counts ? device->fix_ms + device->options.filter.max_age_ms : -1;
}

/* ---- Texts */

static const char how_to_answer[] = "locationd: y acknowledges the text, n refuses it\n";

static void decide(struct device *device, enum decision decision) {
    struct text *text = texts_shown(&device->texts);
    if (text && text->decision == UNDECIDED) text->decision = decision;
}

static void read_answers(struct device *device) {
    const char *line;
    size_t size;
    if (read_lines(STDIN_FILENO, &device->answers) == READ_END) device->answers_end = true;
    while ((line = next_line(&device->answers, &size))) {
        if (size == 1 && (*line == 'y' || *line == 'n'))
            decide(device, *line == 'y' ? TAKEN : REFUSED);
        else
            fputs(how_to_answer, stderr);
    }
    if (device->answers_end)
        complain("standard input", "it has ended, and nobody can confirm texts: the broker keeps them");
}

static void run_texts(struct device *device, int64_t now) {
    if (device->hook.process != 0) {
        enum hook_end end = hook_look(&device->hook, now);
        if (end != HOOK_RUNS) decide(device, end == HOOK_TOOK ? TAKEN : REFUSED);
    }
    for (;;) {
        texts_settle(&device->texts, device->client, now);
        struct text *text = device->is_leaving ? NULL : texts_show_next(&device->texts, now);
        if (!text) return;
        if (device->hook.program) {
            if (hook_start(&device->hook, text->body, text->size, now)) return;
            complain(device->hook.program, strerror(errno));
            text->decision = REFUSED;
        } else if (device->options.confirm == CONFIRM_AUTO) {
            text->decision = TAKEN;
        } else {
            fputs(how_to_answer, stderr);
        }
    }
}

/* ---- The broker */

static void take_event(struct device *device, const sst_event *event, int64_t now) {
    char line[512];
    switch (event->type) {
    case SST_EVENT_MESSAGE:
        texts_add(&device->texts, device->client, event, now);
        return;
    case SST_EVENT_COMPLETED:
        if (event->completed == SST_COMPLETED_SEND) {
            device->is_on_its_way = false;
            if (event->status == SST_ERR_UNKNOWN) device->is_wanted = true; /* the newest one says it as well */
        }
        if (event->status == SST_OK) return;
        if (event->completed == SST_COMPLETED_SUBSCRIBE) {
            device->result = EXIT_FAILURE;
            stop = 1;
        }
        break;
    case SST_EVENT_CONNECTED:
        device->is_wanted = device->has_fix && !device->is_lost;
        break;
    case SST_EVENT_DISCONNECTED:
        texts_forget(&device->texts);
        hook_stop(&device->hook);
        break;
    default:
        break;
    }
    sst_describe_event(event, line, sizeof line);
    fprintf(stderr, "locationd: %s\n", line);
}

static void run_client(struct device *device, int64_t now) {
    sst_event event = SST_EVENT_INIT;
    sst_service(device->client);
    while (sst_next_event(device->client, &event) == 1) take_event(device, &event, now);
}

static int32_t subscribe(struct device *device) {
    static const char *const names[] = { "prefetch-count", "activemq.prefetchSize" }; /* RabbitMQ's, ActiveMQ's */
    uint8_t bytes[128];
    char most[8];
    sst_headers headers = { bytes, sizeof bytes, 0 };
    snprintf(most, sizeof most, "%d", TEXTS);
    for (size_t i = 0; i < 2; i++) {
        sst_bytes name = sst_string(names[i]), value = sst_string(most);
        int32_t status = sst_header_put(&headers, &name, &value);
        if (status != SST_OK) return status;
    }
    sst_subscription subscription = SST_SUBSCRIPTION_INIT;
    subscription.destination = sst_string(device->inbox);
    subscription.ack = SST_ACK_CLIENT_INDIVIDUAL;
    subscription.headers = sst_header_list(&headers);
    return sst_subscribe(device->client, &subscription);
}

static int32_t start_client(struct device *device, void **memory) {
    uint8_t bytes[128];
    sst_headers headers = { bytes, sizeof bytes, 0 };
    sst_options options = SST_OPTIONS_INIT;
    options.url = sst_string(device->options.url);
    options.virtual_host = sst_string(device->options.virtual_host);
    options.oldest = SST_STOMP_1_1; /* acknowledging each text for itself */
    options.receive_bytes = 2 * TEXT_BYTES;
    options.held_messages = 2 * TEXTS;
    options.reconnect_max_ms = 10000;
    if (device->options.client_id) {
        sst_bytes name = sst_string("client-id"), value = sst_string(device->options.id);
        int32_t status = sst_header_put(&headers, &name, &value);
        if (status != SST_OK) return status;
        options.headers = sst_header_list(&headers);
    }
    size_t size = sst_client_size(&options);
    int32_t status = sst_options_check(&options, NULL);
    if (status != SST_OK) return status;
    *memory = malloc(size);
    status = sst_client_init(*memory, size, &options, &device->client);
    if (status == SST_OK) status = subscribe(device);
    return status < 0 ? status : sst_connect(device->client);
}

/* ---- The loop */

static int64_t earlier(int64_t one, int64_t other) { return one < 0 || (other >= 0 && other < one) ? other : one; }

/* Waits until there is something to do. */
static void wait_for_work(struct device *device, int64_t now) {
    struct pollfd ready[3] = { { -1, 0, 0 }, { -1, POLLIN, 0 }, { -1, POLLIN, 0 } }; /* a negative one is skipped */
    int64_t due = device->has_ended ? -1 : earlier(device->source.due_ms, silence_due_ms(device));
    bool asks = device->client && !device->hook.program && device->options.confirm == CONFIRM_ASK;
    sigset_t none;
    sigemptyset(&none);
    if (!device->has_ended && !device->is_leaving)
        ready[0] = (struct pollfd){ device->source.fd, device->source.events, 0 };
    if (device->client) {
        ready[1].fd = sst_fd(device->client);
        int32_t client_ms = sst_next_timeout_ms(device->client);
        due = earlier(due, client_ms < 0 ? -1 : now + client_ms);
        due = earlier(due, texts_due_ms(&device->texts));
        if (device->hook.process != 0) due = earlier(due, device->hook.until_ms);
    }
    if (asks && !device->answers_end) ready[2].fd = STDIN_FILENO;
    int64_t wait = due < now ? 0 : due - now;
    struct timespec limit = { (time_t)(wait / 1000), (long)(wait % 1000) * 1000000 };
    if (ppoll(ready, 3, due < 0 ? NULL : &limit, &none) > 0 && ready[2].revents) read_answers(device);
}

static void leave(struct device *device) {
    device->is_leaving = true;
    hook_stop(&device->hook);
    if (device->client) sst_disconnect(device->client, 5000); /* waits for the receipt of the last position */
}

static void run(struct device *device) {
    for (;;) {
        int64_t now = now_ms();
        if (resend) {
            resend = 0;
            device->is_wanted = true;
        }
        if (!device->is_leaving) {
            run_source(device, now);
            int64_t silence = silence_due_ms(device);
            if (silence >= 0 && now >= silence) show_lost(device, "the source is silent");
        }
        if (device->client) {
            run_client(device, now);
            run_texts(device, now);
        }
        send_position(device);
        /* With --count, or at the end of a file, the last position is sent and confirmed first. */
        bool is_done = device->has_ended && !device->is_wanted && !device->is_on_its_way;
        if ((stop || is_done) && !device->is_leaving) leave(device);
        if (stop > 1) return; /* asked twice: at once */
        if (device->is_leaving && (!device->client || sst_client_state(device->client) == SST_STATE_DISCONNECTED))
            return;
        if (device->client && sst_flush(device->client) == 1) continue; /* it made an event */
        wait_for_work(device, now);
    }
}

/* ---- The source */

static union {
    struct gpsd gpsd;
    struct nmea nmea;
    struct gpx gpx;
    struct simulated simulated;
} sensor;
static struct replay replay;

static void open_source(struct device *device) {
    const struct options *options = &device->options;
    struct source *source = &device->source;
    const char *why;
    replay.speed = options->speed;
    replay.as_recorded = options->as_recorded;
    replay.loop = options->loop;
    if (options->gpsd) {
        if ((why = gpsd_source(source, &sensor.gpsd, options->gpsd))) refuse_option("gpsd", why);
    } else if (options->nmea) {
        sensor.nmea.path = options->nmea;
        sensor.nmea.speed = options->baud;
        if (!nmea_source(source, &sensor.nmea, &replay)) refuse_path("nmea", options->nmea, strerror(errno));
    } else if (options->gpx) {
        if (!gpx_open(&replay, &sensor.gpx, options->gpx)) refuse_path("gpx", options->gpx, strerror(errno));
        replay_source(source, &replay);
    } else {
        sensor.simulated.latitude = options->latitude;
        sensor.simulated.longitude = options->longitude;
        simulated_track(&replay, &sensor.simulated, options->id);
        replay_source(source, &replay);
    }
}

int main(int argc, char **argv) {
    static struct device device; /* with the buffers of texts and lines: too much for some stacks */
    void *memory = NULL;
    read_options(argc, argv, &device.options);
    const char *id = device.options.id;
    snprintf(device.location, sizeof device.location, "/topic/device.%s.location", id);
    snprintf(device.inbox, sizeof device.inbox, "/queue/device.%s.text", id);
    device.hook.program = device.options.on_text;
    device.texts.again_ms = device.options.again * INT64_C(1000);
    open_source(&device);
    catch_signals();
    if (!device.options.dry) {
        int32_t status = start_client(&device, &memory);
        if (status != SST_OK) {
            complain("the options of the client", sst_status_text(status)); /* not the URL: it may have a passcode */
            return 2;
        }
        printf("Device %s (from %s)\n", id, device.options.id_from);
        fflush(stdout);
    }
    run(&device);
    hook_stop(&device.hook);
    if (device.client) sst_client_close(device.client);
    free(memory);
    return device.result;
}
