/* How OpenSSL reads and writes: a BIO between the two buffers of a connection. It never sees a descriptor, so no SIGPIPE
   can come from it. */
#include "parts.h"

#include <string.h>

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static BIO_METHOD *method;
static int connection_index = -1, check_index = -1;

/* Bytes that wait, at the front of the buffer from now on. */
static size_t compact_out(connection *c) {
    size_t waiting = c->out_end - c->out_first;
    if (c->out_first > 0) memmove(c->out, c->out + c->out_first, waiting);
    c->out_first = 0;
    c->out_end = (uint32_t)waiting;
    return waiting;
}

static int bio_write(BIO *bio, const char *data, int count) {
    connection *c = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (count <= 0) return 0;
    size_t size = (size_t)count, room = OUT_BYTES - c->out_end;
    if (room < size) room = OUT_BYTES - compact_out(c);
    if (room == 0) {
        BIO_set_retry_write(bio);
        return -1;
    }
    if (size > room) size = room;
    memcpy(c->out + c->out_end, data, size);
    c->out_end += (uint32_t)size;
    return (int)size;
}

static int bio_read(BIO *bio, char *data, int count) {
    connection *c = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (count <= 0) return 0;
    size_t size = (size_t)count, there = c->in_end - c->in_first;
    if (there == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (size > there) size = there;
    memcpy(data, c->in + c->in_first, size);
    c->in_first += (uint32_t)size;
    return (int)size;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH; /* there is nothing behind the buffer */
}

static void make_once(void) {
    int type = BIO_get_new_index();
    if (type < 0) return;
    connection_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    check_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    BIO_METHOD *made = BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "libswiftmqtt");
    if (!made) return;
    if (BIO_meth_set_write(made, bio_write) && BIO_meth_set_read(made, bio_read) &&
        BIO_meth_set_ctrl(made, bio_control)) {
        method = made; /* for the life of the process */
    } else {
        BIO_meth_free(made);
    }
}

int prepare(void) {
    return CRYPTO_THREAD_run_once(&once, make_once) && method && connection_index >= 0 && check_index >= 0;
}

int program_check_index(void) { return check_index; }

BIO *bio_over(connection *c) {
    BIO *bio = BIO_new(method);
    if (!bio) return NULL;
    BIO_set_data(bio, c);
    BIO_set_init(bio, 1);
    return bio;
}

int set_connection(SSL *ssl, connection *c) { return SSL_set_ex_data(ssl, connection_index, c); }

connection *connection_of(const SSL *ssl) { return SSL_get_ex_data(ssl, connection_index); }
