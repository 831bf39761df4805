/*
 * Threads share settings, which another replaces meanwhile: threads CA CERTIFICATE KEY. For the thread sanitizer. The server is
 * OpenSSL's, in each thread, with the network in memory.
 */
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt-tls.h>

enum {
    THREADS = 4,
    ROUNDS = 25
};

static char **arguments;
static smq_tls *tls;
static atomic_int at_work = THREADS, opened, resumed;

static void must(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
}

/* Moves what waits on either side. */
static void exchange(const smq_tls_engine *engine, void *client, BIO *network) {
    const void *out;
    void *in;
    size_t size;
    for (engine->transmit(client, &out, &size); size > 0; engine->transmit(client, &out, &size)) {
        int count = BIO_write(network, out, (int)size);
        must(count > 0, "the server takes what is sent");
        engine->transmitted(client, (size_t)count);
    }
    engine->receive_buffer(client, &in, &size);
    int count = size > 0 ? BIO_read(network, in, (int)size) : 0;
    if (count > 0) engine->received(client, (size_t)count);
}

static void connect_once(SSL_CTX *context) {
    const smq_tls_engine *engine = smq_tls_openssl();
    smq_tls_target target = { .size = sizeof target, .port = 8883, .name = "localhost", .name_size = 9 };
    smq_tls_failure why = { .size = sizeof why };
    smq_tls_info info = { .size = sizeof info };
    size_t size = engine->connection_bytes(tls);
    void *client = calloc(1, size);
    SSL *server = SSL_new(context);
    BIO *inside, *network;
    char byte;
    BIO_new_bio_pair(&inside, 1 << 16, &network, 1 << 16);
    SSL_set_bio(server, inside, inside);
    SSL_set_accept_state(server);
    must(engine->begin(tls, client, size, &target, &why) == 0, "begin");
    int32_t result = 0;
    for (int step = 0; step < 20 && result == 0; step++) {
        result = engine->handshake(client, &why);
        exchange(engine, client, network);
        SSL_do_handshake(server);
        exchange(engine, client, network);
    }
    must(result == 1, why.text);
    must(SSL_do_handshake(server) == 1 && SSL_write(server, "x", 1) == 1, "the server's handshake");
    exchange(engine, client, network);
    must(engine->read(client, &byte, 1, &why) == 1 && byte == 'x', "read");
    engine->info(client, &info);
    opened++;
    resumed += info.is_resumed;
    engine->finish(client);
    engine->end(client);
    SSL_free(server);
    BIO_free(network);
    free(client);
}

static void *work(void *unused) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    must(SSL_CTX_use_certificate_file(context, arguments[2], SSL_FILETYPE_PEM) == 1, "certificate");
    must(SSL_CTX_use_PrivateKey_file(context, arguments[3], SSL_FILETYPE_PEM) == 1, "key");
    for (int round = 0; round < ROUNDS; round++) connect_once(context);
    SSL_CTX_free(context);
    at_work--;
    return unused;
}

int main(int count, char **values) {
    arguments = values;
    must(count == 4, "threads CA CERTIFICATE KEY");
    smq_tls_options options = SMQ_TLS_OPTIONS_INIT;
    options.ca_file = smq_string(values[1]);
    must(smq_tls_open(&options, &tls, NULL) == SMQ_OK, "open");
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) must(pthread_create(&threads[i], NULL, work, NULL) == 0, "a thread");
    while (at_work > 0) {
        char sessions[16384];
        size_t size = sizeof sessions;
        must(smq_tls_sessions(tls, sessions, &size) == SMQ_OK, "sessions");
        must(smq_tls_reload(tls, &options, NULL) == SMQ_OK, "reload");
        must(smq_tls_resume(tls, sessions, size) >= 0, "resume");
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    smq_tls_close(tls);
    printf("%d opened\n", opened);
    return opened == THREADS * ROUNDS ? 0 : 1;
}
