/*
 * TLS by an engine of your own: BearSSL, which never allocates. tls_bearssl CA-FILE URL [NAME] publishes a message.
 *
 * All of TLS is in the client's block: 40 KiB for each connection. BearSSL has TLS 1.2, and checks no addresses: so
 * the URL has a host name, or NAME is the one that the certificate is for. There is no ALPN here.
 */
#define _POSIX_C_SOURCE 200809L
#include <bearssl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <swiftmqtt.h>

#include "trust_anchor.h"
#include "why.h"

/* ---- The engine: see <swiftmqtt-tls-engine.h>, which says what each function promises. */

typedef struct {
    br_ssl_client_context client;
    br_x509_minimal_context x509;
    unsigned char in[BR_SSL_BUFSIZE_INPUT], out[BR_SSL_BUFSIZE_OUTPUT]; /* a record of each direction */
} connection;

static br_ssl_engine_context *of(void *own) { return &((connection *)own)->client.eng; }

static bool is(void *own, unsigned state) { return br_ssl_engine_current_state(of(own)) & state; }

static int32_t fail(int error, smq_tls_failure *why) {
    static const int causes[][2] = {
        { BR_ERR_OK, SMQ_TLS_CLOSED },
        { BR_ERR_UNSUPPORTED_VERSION, SMQ_TLS_VERSION },
        { BR_ERR_RECV_FATAL_ALERT + 70, SMQ_TLS_VERSION },
        { BR_ERR_BAD_VERSION, SMQ_TLS_NOT_TLS },
        { BR_ERR_X509_NOT_TRUSTED, SMQ_TLS_UNKNOWN_CA },
        { BR_ERR_X509_BAD_SERVER_NAME, SMQ_TLS_NAME },
        { BR_ERR_X509_EXPIRED, SMQ_TLS_EXPIRED }, /* or not valid yet: BearSSL does not say which */
        { BR_ERR_X509_WEAK_PUBLIC_KEY, SMQ_TLS_WEAK },
    };
    why->cause = SMQ_TLS_OTHER;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i][0] == error) why->cause = causes[i][1];
    if (error >= BR_ERR_RECV_FATAL_ALERT) why->alert = error & 0xFF;
    snprintf(why->text, sizeof why->text, "BearSSL error %d", error);
    return -1;
}

static size_t connection_bytes(const void *settings) { return settings ? sizeof(connection) : 0; }

static int32_t begin(const void *settings, void *memory, size_t size, const smq_tls_target *target,
                     smq_tls_failure *why) {
    const trust_anchor *trusted = settings;
    connection *own = memory;
    if (size < sizeof *own) return fail(BR_ERR_BAD_PARAM, why);
    if (target->address_size) return fail(BR_ERR_X509_BAD_SERVER_NAME, why); /* rather than connect to anybody */
    br_ssl_client_init_full(&own->client, &own->x509, &trusted->anchor, 1);
    br_ssl_engine_set_buffers_bidi(of(own), own->in, sizeof own->in, own->out, sizeof own->out);
    br_ssl_engine_set_all_flags(of(own), BR_OPT_NO_RENEGOTIATION);
    if (target->now_valid) /* BearSSL counts days from the year 0 */
        br_x509_minimal_set_time(&own->x509, (uint32_t)(target->now_s / 86400 + 719528),
                                 (uint32_t)(target->now_s % 86400));
    return br_ssl_client_reset(&own->client, target->name, 0) ? 0 : fail(br_ssl_engine_last_error(of(own)), why);
}

static void receive_buffer(void *own, void **data, size_t *size) {
    *size = 0;
    if (is(own, BR_SSL_RECVREC)) *data = br_ssl_engine_recvrec_buf(of(own), size);
}

static void received(void *own, size_t size) { br_ssl_engine_recvrec_ack(of(own), size); }

static int32_t handshake(void *own, smq_tls_failure *why) {
    if (is(own, BR_SSL_CLOSED)) return fail(br_ssl_engine_last_error(of(own)), why);
    return is(own, BR_SSL_SENDAPP) ? 1 : 0;
}

static int32_t read_data(void *own, void *data, size_t size, smq_tls_failure *why) {
    int error = br_ssl_engine_last_error(of(own));
    if (is(own, BR_SSL_CLOSED)) return error ? fail(error, why) : SMQ_TLS_END;
    if (!is(own, BR_SSL_RECVAPP)) return 0;
    size_t there;
    const unsigned char *from = br_ssl_engine_recvapp_buf(of(own), &there);
    if (size > there) size = there;
    memcpy(data, from, size);
    br_ssl_engine_recvapp_ack(of(own), size);
    return (int32_t)size;
}

static int32_t write_data(void *own, const void *data, size_t size, smq_tls_failure *why) {
    if (is(own, BR_SSL_CLOSED)) return fail(br_ssl_engine_last_error(of(own)), why);
    if (!is(own, BR_SSL_SENDAPP)) return 0; /* the last record waits to be sent */
    size_t room;
    unsigned char *to = br_ssl_engine_sendapp_buf(of(own), &room);
    if (size > room) size = room;
    memcpy(to, data, size);
    br_ssl_engine_sendapp_ack(of(own), size);
    br_ssl_engine_flush(of(own), 0); /* makes the record */
    return (int32_t)size;
}

static void transmit(void *own, const void **data, size_t *size) {
    *size = 0;
    if (is(own, BR_SSL_SENDREC)) *data = br_ssl_engine_sendrec_buf(of(own), size);
}

static void transmitted(void *own, size_t size) { br_ssl_engine_sendrec_ack(of(own), size); }

static void finish(void *own) { br_ssl_engine_close(of(own)); }

static void end(void *own) { (void)own; } /* there is nothing outside the memory */

static const smq_tls_engine engine = { sizeof engine, SMQ_TLS_ENGINE_NO_HEAP,
                                       "BearSSL",     connection_bytes,
                                       begin,         receive_buffer,
                                       received,      handshake,
                                       read_data,     write_data,
                                       transmit,      transmitted,
                                       finish,        end,
                                       NULL,          NULL };

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) refuse("tls_bearssl", "CA-FILE URL [NAME]", "are its arguments");
    static trust_anchor ca;
    read_ca(argv[1], &ca);
    smq_options options = SMQ_OPTIONS_INIT;
    options.url = smq_string(argv[2]);
    options.flags = SMQ_OPTION_NO_RECONNECT;
    options.tls = &engine;
    options.tls_settings = &ca;
    options.tls_name = smq_string(argv[3]); /* NULL without NAME */
    size_t size = smq_client_size(&options);
    void *memory = malloc(size); /* before it connects; a static array does as well */
    smq_client *client = NULL;
    smq_event event = SMQ_EVENT_INIT;
    int32_t status = smq_client_init(memory, size, &options, &client);
    if (status == SMQ_OK) status = smq_connect(client);
    if (status == SMQ_OK) status = smq_publish_text(client, "greetings/hello", "Hello from BearSSL", 1, 0);
    while (status >= 0 && event.type != SMQ_EVENT_DISCONNECTED) {
        status = smq_wait(client, -1);
        if (smq_next_event(client, &event) == 1) status = event.status;
        if (event.type == SMQ_EVENT_COMPLETED) smq_disconnect(client, 0);
    }
    if (event.status)
        print_why(stderr, client, &event);
    else if (status < 0)
        print_options_error(stderr, &options, status);
    smq_client_close(client);
    free(memory);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
