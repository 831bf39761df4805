/*
 * What a program sets for TLS, kept until it connects; and what becomes of it then: files are read, and the password
 * is asked for, at each attempt. Without OpenSSL (SWIFTMQTT_TLS of CMakeLists.txt) there is no TLS, and the functions
 * of libmosquitto say so.
 */
#ifndef SWIFTMQTT_MOSQUITTO_TLS_H
#define SWIFTMQTT_MOSQUITTO_TLS_H

#include "mosquitto_abi.h"

/* This library was built with OpenSSL. */
bool shim_has_tls(void);

/* ---- what the program has set ---- */

#define SHIM_TLS_CA_FILE 0
#define SHIM_TLS_CA_DIRECTORY 1
#define SHIM_TLS_CERTIFICATE 2
#define SHIM_TLS_KEY 3
#define SHIM_TLS_VERSION 4
#define SHIM_TLS_CIPHERS 5
#define SHIM_TLS_ALPN 6
#define SHIM_TLS_PSK 7
#define SHIM_TLS_IDENTITY 8
#define SHIM_TLS_ENGINE 9
#define SHIM_TLS_ENGINE_PIN 10 /* 40 hexadecimal digits */
#define SHIM_TLS_TEXTS 11

struct shim_tls {
    char *texts[SHIM_TLS_TEXTS]; /* or NULL; set by shim_tls_set_text() */
    int (*ask_password)(char *, int, int, void *);
    void *ssl_ctx;         /* the program's SSL_CTX *, or NULL; set by shim_tls_set_context() */
    bool keeps_context;    /* it is used as it is */
    bool verifies;         /* the server's certificate */
    bool is_any_name_fine; /* of that certificate */
    bool trusts_system;
    bool wants_ocsp;
    bool is_key_in_engine;
    void *settings; /* of the engine of libswiftmqtt-tls; NULL before the first attempt */
};

/* NULL: there is no memory. */
struct shim_tls *shim_tls_new(void);
/* No client uses its settings any more. NULL is allowed. */
void shim_tls_free(struct shim_tls *tls);

/* Keeps a copy; NULL: none. False: there is no memory. */
bool shim_tls_set_text(struct shim_tls *tls, int32_t which, const char *text);
bool shim_tls_has_text(const struct shim_tls *tls, int32_t which);
/* Keeps a reference to the program's SSL_CTX. */
void shim_tls_set_context(struct shim_tls *tls, void *context);
/* It is of consequence: connections are over TLS. The port says nothing about it. */
bool shim_tls_is_wanted(const struct shim_tls *tls);

/* A file can be opened. */
bool shim_can_read(const char *path);
/* OpenSSL has an engine of this name. */
bool shim_has_engine(const char *name);
/* Digits of a key, and none else; `count`: so many, unless 0. */
bool shim_is_hex(const char *text, size_t count);

/* ---- what becomes of it ---- */

/* What an attempt reads, from a copy: meanwhile the program may set something else. */
struct shim_tls_attempt;

/* `user` is what the password's callback is called with. NULL: there is no memory. */
struct shim_tls_attempt *shim_tls_begin(const struct shim_tls *tls, bool is_host_named, void *user);
/* Reads the files, and asks for the password: calls the program, and may take long. Returns a MOSQ_ERR. */
int32_t shim_tls_read(struct shim_tls_attempt *attempt);
/* The lines of log that this led to, from 0; NULL: there are no more. */
const char *shim_tls_said(const struct shim_tls_attempt *attempt, int32_t index);
/* Makes them the settings of the next connection. Returns a MOSQ_ERR. */
int32_t shim_tls_apply(struct shim_tls *tls, const struct shim_tls_attempt *attempt);
void shim_tls_end(struct shim_tls_attempt *attempt);

/* The engine, a smq_tls_engine. NULL: this library has none. */
const void *shim_tls_engine(void);

/* The line of log about a failure (smq_tls_failure): which is `index`, from 0; NULL: there are no more. */
const char *shim_tls_failed(char *line, size_t size, int32_t index, int32_t cause, int32_t depth, int64_t native);

#endif
