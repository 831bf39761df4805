/* The command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <getopt.h>
#include <swiftstomp.h>
#include <termios.h>

#include "device.h"
#include "filter.h"
#include "numbers.h"

enum confirm {
    CONFIRM_ASK,
    CONFIRM_AUTO
};

struct options {
    char id[DEVICE_ID_BYTES];
    const char *id_from;
    const char *url;
    const char *virtual_host;      /* NULL: RabbitMQ's / */
    const char *gpsd, *nmea, *gpx; /* one of them, or simulate */
    bool simulate;
    double latitude, longitude; /* of the simulated track */
    speed_t baud;
    double speed;
    bool as_recorded, loop, dry;
    struct filter filter;
    uint32_t count;   /* of positions, then it ends; 0: no limit */
    uint32_t expires; /* seconds; 0: no header */
    uint32_t again;   /* seconds */
    enum confirm confirm;
    const char *on_text;
    bool client_id;
    uint8_t header_bytes[1024];
    sst_headers headers; /* of each position */
};

static const char usage[] =
    "usage: locationd --gpsd HOST:PORT | --nmea FILE-OR-TTY | --gpx FILE | --simulate [OPTION...]\n"
    "Sends the position of this device to /topic/device.ID.location, and shows texts of /queue/device.ID.text.\n"
    "SIGUSR1 sends the last position again; SIGTERM and Ctrl-C end it.\n"
    "\n"
    "  --url URL            the broker (stomp://guest:guest@127.0.0.1)\n"
    "  --virtual-host NAME  of the broker (/)\n"
    "  --id ID              letters, digits, - and _ (a hash of /etc/machine-id, or else the host name)\n"
    "  --client-id          tell the broker the ID as client-id: ActiveMQ accepts each only once\n"
    "  --distance METRES    send a position that is so far from the last one that was sent (10; 0: each)\n"
    "  --interval SECONDS   and one that is so much later (10)\n"
    "  --max-age SECONDS    never send an older one (30; 0: no limit)\n"
    "  --expires SECONDS    positions have a header expires, so many seconds from now\n"
    "  --header NAME:VALUE  positions have this header; may be given several times\n"
    "  --count N            end after so many positions\n"
    "  --dry                no broker: print what would be sent\n"
    "\n"
    "  --baud N             of a serial line: 4800, 9600, 19200, 38400, 57600, 115200 (it stays as it is)\n"
    "  --start LAT,LNG      the middle of the simulated circle (48.1372,11.5756)\n"
    "  --speed N            play a file, or the simulated track, N times as fast (1; 0: all at once)\n"
    "  --as-recorded        the fixes of a file keep their times, and are not as if measured now\n"
    "  --loop               begin a file again at its end\n"
    "\n"
    "  --confirm ask|auto   acknowledge texts after y, and refuse them after n, on standard input; or all (ask)\n"
    "  --on-text PROGRAM    or let PROGRAM decide: it gets the text on its standard input; 0 acknowledges\n"
    "  --again SECONDS      show a text that was refused and comes back only after so long (30)\n";

static inline void refuse_option(const char *option, const char *why) {
    fprintf(stderr, "locationd: --%s %s\n", option, why);
    exit(2);
}

/* Of a file or a device that an option names. */
static inline void refuse_path(const char *option, const char *path, const char *why) {
    fprintf(stderr, "locationd: --%s %s: %s\n", option, path, why);
    exit(2);
}

static inline double option_number(const char *option, const char *text, double least, double most) {
    double value;
    char why[80];
    snprintf(why, sizeof why, "takes a number from %.0f to %.0f: %.30s", least, most, text);
    if (!read_decimal(text, strlen(text), least, most, &value)) refuse_option(option, why);
    return value;
}

static inline uint32_t option_whole(const char *option, const char *text, uint32_t most) {
    double value = option_number(option, text, 0, most);
    if (value != (double)(uint32_t)value) refuse_option(option, "takes a whole number");
    return (uint32_t)value;
}

static inline speed_t option_baud(const char *text) {
    static const struct {
        const char *name;
        speed_t speed;
    } speeds[] = { { "4800", B4800 },   { "9600", B9600 },   { "19200", B19200 },
                   { "38400", B38400 }, { "57600", B57600 }, { "115200", B115200 } };
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (strcmp(text, speeds[i].name) == 0) return speeds[i].speed;
    refuse_option("baud", "takes 4800, 9600, 19200, 38400, 57600 or 115200");
    return B0;
}

static inline void option_header(sst_headers *headers, const char *text) {
    const char *colon = strchr(text, ':');
    if (!colon) refuse_option("header", "takes NAME:VALUE");
    sst_bytes name = { text, (size_t)(colon - text) }, value = sst_string(colon + 1);
    int32_t status = sst_header_put(headers, &name, &value);
    if (status != SST_OK) refuse_option("header", sst_status_text(status));
}

static inline void read_options(int argc, char **argv, struct options *options) {
    enum {
        URL = 1,
        VIRTUAL_HOST,
        ID,
        CLIENT_ID,
        DISTANCE,
        INTERVAL,
        MAX_AGE,
        EXPIRES,
        HEADER,
        COUNT,
        DRY,
        BAUD,
        START,
        SPEED,
        AS_RECORDED,
        LOOP,
        CONFIRM,
        ON_TEXT,
        AGAIN,
        GPSD,
        NMEA,
        GPX,
        SIMULATE,
        HELP
    };
    static const struct option known[] = { { "url", 1, 0, URL },
                                           { "virtual-host", 1, 0, VIRTUAL_HOST },
                                           { "id", 1, 0, ID },
                                           { "client-id", 0, 0, CLIENT_ID },
                                           { "distance", 1, 0, DISTANCE },
                                           { "interval", 1, 0, INTERVAL },
                                           { "max-age", 1, 0, MAX_AGE },
                                           { "expires", 1, 0, EXPIRES },
                                           { "header", 1, 0, HEADER },
                                           { "count", 1, 0, COUNT },
                                           { "dry", 0, 0, DRY },
                                           { "baud", 1, 0, BAUD },
                                           { "start", 1, 0, START },
                                           { "speed", 1, 0, SPEED },
                                           { "as-recorded", 0, 0, AS_RECORDED },
                                           { "loop", 0, 0, LOOP },
                                           { "confirm", 1, 0, CONFIRM },
                                           { "on-text", 1, 0, ON_TEXT },
                                           { "again", 1, 0, AGAIN },
                                           { "gpsd", 1, 0, GPSD },
                                           { "nmea", 1, 0, NMEA },
                                           { "gpx", 1, 0, GPX },
                                           { "simulate", 0, 0, SIMULATE },
                                           { "help", 0, 0, HELP },
                                           { 0, 0, 0, 0 } };
    const double day = 86400;
    int option, sources = 0;
    *options = (struct options){ .url = "stomp://guest:guest@127.0.0.1",
                                 .latitude = 48.1372,
                                 .longitude = 11.5756,
                                 .baud = B0,
                                 .speed = 1,
                                 .filter = { 10, 10000, 30000 },
                                 .again = 30 };
    options->headers.data = options->header_bytes;
    options->headers.capacity = sizeof options->header_bytes;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        const char *comma, *text = optarg;
        switch (option) {
        case URL:
            options->url = text;
            break;
        case VIRTUAL_HOST:
            options->virtual_host = text;
            break;
        case ID:
            if (!is_device_id(text)) refuse_option("id", "takes 1 to 64 letters, digits, - and _");
            strcpy(options->id, text);
            options->id_from = "--id";
            break;
        case CLIENT_ID:
            options->client_id = true;
            break;
        case DISTANCE:
            options->filter.distance = option_number("distance", text, 0, 1e7);
            break;
        case INTERVAL:
            options->filter.interval_ms = (int64_t)(option_number("interval", text, 0, day) * 1000);
            break;
        case MAX_AGE:
            options->filter.max_age_ms = (int64_t)(option_number("max-age", text, 0, 1e9) * 1000);
            break;
        case EXPIRES:
            options->expires = option_whole("expires", text, 31536000);
            break;
        case HEADER:
            option_header(&options->headers, text);
            break;
        case COUNT:
            options->count = option_whole("count", text, 1000000000);
            break;
        case DRY:
            options->dry = true;
            break;
        case BAUD:
            options->baud = option_baud(text);
            break;
        case START:
            if (!(comma = strchr(text, ',')) ||
                !read_decimal(text, (size_t)(comma - text), -85, 85, &options->latitude) ||
                !read_decimal(comma + 1, strlen(comma + 1), -179, 179, &options->longitude))
                refuse_option("start", "takes LAT,LNG: -85 to 85 and -179 to 179 degrees");
            break;
        case SPEED:
            options->speed = option_number("speed", text, 0, 10000);
            break;
        case AS_RECORDED:
            options->as_recorded = true;
            break;
        case LOOP:
            options->loop = true;
            break;
        case CONFIRM:
            if (strcmp(text, "ask") != 0 && strcmp(text, "auto") != 0) refuse_option("confirm", "takes ask or auto");
            options->confirm = strcmp(text, "auto") == 0 ? CONFIRM_AUTO : CONFIRM_ASK;
            break;
        case ON_TEXT:
            options->on_text = text;
            break;
        case AGAIN:
            options->again = option_whole("again", text, 86400);
            break;
        case GPSD:
            options->gpsd = text;
            sources++;
            break;
        case NMEA:
            options->nmea = text;
            sources++;
            break;
        case GPX:
            options->gpx = text;
            sources++;
            break;
        case SIMULATE:
            options->simulate = true;
            sources++;
            break;
        case HELP:
            fputs(usage, stdout);
            exit(0);
        default:
            fputs("locationd: --help lists the options\n", stderr);
            exit(2);
        }
    }
    if (sources != 1 || optind != argc) {
        if (sources != 1) fputs("locationd: one of --gpsd, --nmea, --gpx and --simulate is needed\n", stderr);
        fputs(usage, stderr);
        exit(2);
    }
    if (!*options->id) options->id_from = default_device_id(options->id);
    if (!is_device_id(options->id))
        refuse_option("id", "is needed: this machine has no ID, and no name that could be one");
}

#endif
