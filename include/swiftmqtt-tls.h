/*
 * libswiftmqtt-tls: TLS for libswiftmqtt, on OpenSSL 3.
 *
 * SPDX-License-Identifier: MIT
 *
 *     smq_tls_options settings = SMQ_TLS_OPTIONS_INIT;
 *     smq_tls_failure why = SMQ_TLS_FAILURE_INIT;
 *     smq_tls *tls;
 *     if (smq_tls_open(&settings, &tls, &why) != SMQ_OK) …             why.text says what is wrong
 *     options.url = smq_string("mqtts://broker.example");
 *     options.tls = smq_tls_openssl();
 *     options.tls_settings = tls;
 *
 * Without any option, the server's certificate is checked against the CAs of the system, and for the host's name.
 *
 * A smq_tls is what many connections have in common: certificates, keys, limits, and the sessions to be resumed. Any number
 * of clients may share one, in any threads. It lives longer than every client that was made with it.
 */
#ifndef SWIFTMQTT_TLS_H
#define SWIFTMQTT_TLS_H

#include "swiftmqtt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smq_tls smq_tls; /* opaque; allocated by smq_tls_open() */

/* smq_tls_options.flags, added up */
enum {
    SMQ_TLS_SYSTEM_CA = 1, /* trust the CAs of the system, too, with ca_file, ca_directory or ca_pem; without one of
                                  these it is so anyway */
    /* The certificate may be for any name. Whoever has a certificate of a trusted CA can then be the server. */
    SMQ_TLS_NO_NAME_CHECK = 2,
    /* Any certificate will do, but for what pins say: without pins, anyone on the way can read and change everything. */
    SMQ_TLS_NO_VERIFY = 4,
    SMQ_TLS_NO_TIME = 8,    /* certificates that have expired, or are not valid yet, will do */
    SMQ_TLS_CRL_CHECK = 16, /* the server's certificate must be in no CRL, and there must be a CRL of its issuer; with
                                  crl_file it is so anyway */
    SMQ_TLS_CRL_ALL = 32,   /* check every certificate of the chain so, but the root */
    SMQ_TLS_OCSP = 64,      /* ask for an OCSP response with the handshake (stapling), and check it if there is one. One
                                  that is too old, or not signed by an authorized responder, counts as none */
    SMQ_TLS_OCSP_REQUIRED = 128, /* the same, and there must be one that says that the certificate is good */
    SMQ_TLS_NO_RESUMPTION = 256, /* every handshake is a full one */
    SMQ_TLS_STRICT = 512,        /* refuse certificates that break details of RFC 5280, as many home-made ones do */
    SMQ_TLS_COMMON_NAME = 1024   /* without any dNSName, the Common Name counts as the name of the certificate */
};

/* Options; zero means the default everywhere. What is given as a file is read by smq_tls_open() and smq_tls_reload(). File
   names have no zero byte. */
typedef struct smq_tls_options {
    uint32_t size;              /* sizeof(smq_tls_options) */
    uint32_t flags;             /* SMQ_TLS_… */
    smq_bytes ca_file;          /* PEM: the CAs to be trusted */
    smq_bytes ca_directory;     /* the same as a directory with names by hash (openssl rehash), read at each check */
    smq_bytes ca_pem;           /* the same as text */
    smq_bytes certificate_file; /* PEM: the client's certificate, and those of the CAs between it and the root */
    smq_bytes certificate_pem;  /* the same as text */
    smq_bytes key_file;         /* PEM: its key */
    smq_bytes key_pem;          /* the same as text. A certificate has one key, and a key one certificate */
    smq_bytes key_uri;          /* a key that does not leave its hardware: "pkcs11:…" (RFC 7512) */
    smq_bytes key_engine;       /* the OpenSSL engine that has it; empty: "pkcs11" */
    smq_bytes crl_file;         /* PEM: CRLs */
    smq_bytes pins;         /* SHA-256 of SubjectPublicKeyInfo, 32 bytes each: the server's key must be one of them */
    smq_bytes psk_identity; /* with psk: the identity of a pre-shared key, at most 127 bytes, UTF-8 without zero */
    smq_bytes psk; /* the key itself: 1 to 256 bytes. Instead of certificates: a server that presents one is refused */
    smq_bytes ciphers;       /* of TLS 1.2, in OpenSSL's notation; none without encryption or authentication */
    smq_bytes cipher_suites; /* of TLS 1.3, the same */
    smq_bytes groups;        /* such as "X25519:P-256" */
    uint32_t minimum;        /* 0x0303: TLS 1.2, the default; 0x0304: TLS 1.3 */
    uint32_t maximum;        /* the same; 0: the newest */
    /* The earliest time it can be, in seconds since 1970, such as when the firmware was built: a wall clock that shows an
       earlier one counts as this. 0: none. */
    int64_t clock_floor_s;
    int64_t verify_time_s; /* check certificates as of this time; 0: the wall clock. For tests */
    /* Asked for the password of key_file or key_pem, or for the PIN of key_uri: writes it to `to`, at most `size` bytes, and
       returns how many, or -1. NULL: an encrypted key is an error. */
    int32_t (*password)(void *user, char *to, size_t size);
    void *password_user;
    /* An SSL_CTX * of the program's, which is used as it is instead of all the options above, but for flags; it is kept with
       SSL_CTX_up_ref(). Its server is verified without SSL_CTX_set_verify(), too, unless flags say otherwise; SMQ_TLS_OCSP
       sets its status callback, which calls the one before for connections of the program's own; sessions are resumed if
       the program does so. */
    void *ssl_ctx;
    /* Append the secrets of each connection, for Wireshark. For tests only: whoever reads the file can read everything. */
    smq_bytes key_log_file;
} smq_tls_options;

#define SMQ_TLS_OPTIONS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(smq_tls_options), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },      \
            { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },    \
            { NULL, 0 }, { NULL, 0 }, 0, 0, 0, 0, NULL, NULL, NULL, {                                                  \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }

/*
 * Returns the engine, for smq_options.tls. Any thread, any time. Never NULL.
 */
SMQ_API const smq_tls_engine *smq_tls_openssl(void);

/*
 * Reads files, keys and certificates, and makes the settings of smq_options.tls_settings. It allocates, and may wait for a disk
 * or a smart card: not in a loop that must not wait. Any thread.
 *
 * options   the options; only read, and released by the caller
 * tls       where to put the settings; only written on success
 * why       NULL, or filled in if it fails: cause is SMQ_TLS_KEY, SMQ_TLS_CA_FILE, SMQ_TLS_CIPHER, SMQ_TLS_MEMORY or SMQ_TLS_OTHER,
 *           and text says what is wrong, with SMQ_ERR_OPTION, too
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL          options or tls is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_STRUCT_SIZE   a size field is wrong, or unknown fields are set
 *   SMQ_ERR_OPTION        a value is out of its range, or two contradict each other
 *   SMQ_ERR_TLS           a file cannot be read, or what it has cannot be used: see why
 */
SMQ_API int32_t smq_tls_open(const smq_tls_options *options, smq_tls **tls, smq_tls_failure *why);

/*
 * Replaces all settings: connections that begin from now on use the new ones; those that are open keep the old ones. If it
 * fails, nothing changes. Sessions to be resumed are forgotten. Any thread, while clients use the settings.
 *
 * Returns as smq_tls_open() does.
 */
SMQ_API int32_t smq_tls_reload(smq_tls *tls, const smq_tls_options *options, smq_tls_failure *why);

/*
 * Releases the settings. No client may have them any more. NULL is allowed.
 */
SMQ_API void smq_tls_close(smq_tls *tls);

/*
 * Copies the sessions to be resumed, so that a device can keep them over a reboot. They are secrets, and an identity: keep
 * them where only the program can read and write them. Whoever changes them can be the server, because a resumed one is not
 * verified again. Any thread.
 *
 * to     where to put them; NULL: only ask for the size
 * size   in: the room there; out: how many bytes they take, at most 16,384; 0: there is none
 *
 * Returns SMQ_OK, SMQ_ERR_NULL, or SMQ_ERR_FULL if the room is too small, with the size needed.
 */
SMQ_API int32_t smq_tls_sessions(smq_tls *tls, void *to, size_t *size);

/*
 * Takes sessions that smq_tls_sessions() gave, of the same settings with the same in their files; of a directory, the names,
 * times and sizes of its files have to be the same. Those that are too old, or cannot be read, are left out: the next handshake
 * is then a full one. Any thread.
 *
 * Returns how many it took, or SMQ_ERR_NULL.
 */
SMQ_API int32_t smq_tls_resume(smq_tls *tls, const void *sessions, size_t size);

#ifdef __cplusplus
}
#endif

#endif
