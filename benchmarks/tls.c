/*
 * What a message costs over TLS: QoS 0, 64 bytes, TLS 1.3, so many messages to a flush, to a server on loopback.
 *
 *     tls CA-FILE PORT [MESSAGES]
 *
 * Nanoseconds of this process's processor time for each message, four ways in one run: SSL_write() of the same bytes on a
 * socket of its own, which is the limit; libswiftmqtt with libswiftmqtt-tls; a WebSocket over it, at PORT + 1; and
 * libswiftmqtt without TLS, at PORT - 1; the last two if there is a listener. Compare the ratios of one run: the machine's speed is in all three.
 */
#include <swiftmqtt-tls.h>

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static const char topic[] = "bench/tls/topic/x", payload[64] = { 1 };

static double cpu_ns(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e9 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e3;
}

static void fail(const char *what) {
    fprintf(stderr, "tls: %s\n", what);
    exit(1);
}

static double raw(const char *ca, int port, long messages, int flush) {
    static unsigned char packet[128], batch[128 * 1024];
    size_t size = 0;
    packet[size++] = 0x30;
    packet[size++] = (unsigned char)(2 + sizeof topic - 1 + sizeof payload);
    packet[size++] = 0;
    packet[size++] = sizeof topic - 1;
    memcpy(packet + size, topic, sizeof topic - 1);
    size += sizeof topic - 1;
    memcpy(packet + size, payload, sizeof payload);
    size += sizeof payload;
    for (int index = 0; index < flush; index++) memcpy(batch + (size_t)index * size, packet, size);

    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_load_verify_locations(context, ca, NULL);
    SSL *ssl = SSL_new(context);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("no server");
    SSL_set_fd(ssl, fd);
    if (SSL_connect(ssl) != 1) fail("no handshake");
    static const unsigned char connect_packet[] = {
        0x10, 15, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, 3, 'r', 'a', 'w'
    };
    unsigned char answer[4];
    if (SSL_write(ssl, connect_packet, sizeof connect_packet) <= 0 || SSL_read(ssl, answer, 4) != 4) fail("no CONNACK");
    double begun = cpu_ns();
    for (long sent = 0; sent < messages; sent += flush) {
        if (SSL_write(ssl, batch, (int)(size * (size_t)flush)) <= 0) fail("SSL_write");
    }
    double each = (cpu_ns() - begun) / (double)messages;
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    return each;
}

/* Waits for room in the outbox. Events that are not taken would end each wait at once. */
static void wait_for_room(smq_client *client) {
    smq_event event = SMQ_EVENT_INIT;
    smq_wait(client, 100);
    while (smq_next_event(client, &event) != 0) {
        if (event.type == SMQ_EVENT_DISCONNECTED) fail("the connection ended");
    }
}

static double ours(const char *scheme, const char *ca, int port, long messages, int flush) {
    smq_tls *tls = NULL;
    smq_options options = SMQ_OPTIONS_INIT;
    char url[64];
    snprintf(url, sizeof url, "%s://127.0.0.1:%d", scheme, port);
    options.url = smq_string(url);
    options.outbox_messages = 2048;
    options.outbox_bytes = 512 * 1024;
    options.flags = SMQ_OPTION_NO_RECONNECT;
    if (ca) {
        smq_tls_options settings = SMQ_TLS_OPTIONS_INIT;
        settings.ca_file = smq_string(ca);
        if (smq_tls_open(&settings, &tls, NULL) != SMQ_OK) fail("no settings");
        options.tls = smq_tls_openssl();
        options.tls_settings = tls;
    }
    size_t size = smq_client_size(&options);
    void *memory = malloc(size);
    smq_client *client;
    if (smq_client_init(memory, size, &options, &client) != SMQ_OK) fail("no client");
    smq_connect(client);
    smq_event event = SMQ_EVENT_INIT;
    while (smq_next_event(client, &event) == 0) smq_wait(client, 1000);
    if (event.type != SMQ_EVENT_CONNECTED) {
        if (strcmp(scheme, "mqtts") == 0) fail("no connection");
        smq_client_close(client);
        smq_tls_close(tls);
        free(memory);
        return 0;
    }
    smq_message message = SMQ_MESSAGE_INIT;
    message.topic = smq_string(topic);
    message.payload = (smq_bytes){ payload, sizeof payload };
    message.quiet = 1;
    double begun = cpu_ns();
    for (long sent = 0; sent < messages; sent += flush) {
        for (int index = 0; index < flush; index++) {
            while (smq_publish(client, &message) == SMQ_ERR_FULL) wait_for_room(client);
        }
        smq_flush(client);
    }
    smq_stats stats = SMQ_STATS_INIT;
    while (smq_client_stats(client, &stats) == SMQ_OK && stats.outbox_messages > 0) wait_for_room(client);
    double each = (cpu_ns() - begun) / (double)messages;
    smq_client_close(client);
    smq_tls_close(tls);
    free(memory);
    return each;
}

int main(int argc, char **argv) {
    if (argc < 3) fail("CA-FILE PORT [MESSAGES]");
    int port = atoi(argv[2]);
    long most = argc > 3 ? atol(argv[3]) : 400000;
    static const int flushes[] = { 1, 4, 16, 64, 195, 780 };
    printf("%8s %14s %14s %14s %14s %8s %8s\n", "a flush", "SSL_write", "TLS", "wss", "plain", "TLS/SSL", "wss/TLS");
    for (size_t index = 0; index < sizeof flushes / sizeof *flushes; index++) {
        int flush = flushes[index];
        long messages = flush < 16 ? most / 8 : most;
        double limit = raw(argv[1], port, messages, flush), tls = ours("mqtts", argv[1], port, messages, flush),
               wss = ours("wss", argv[1], port + 1, messages, flush),
               plain = ours("mqtt", NULL, port - 1, messages, flush);
        printf("%8d %11.0f ns %11.0f ns %11.0f ns %11.0f ns %8.2f %8.2f\n", flush, limit, tls, wss, plain, tls / limit,
               wss / tls);
    }
    return 0;
}
