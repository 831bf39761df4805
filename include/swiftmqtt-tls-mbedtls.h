/*
 * TLS for libswiftmqtt on mbedTLS: for boards that have no OpenSSL, or no heap.
 *
 * SPDX-License-Identifier: MIT
 *
 *     smq_mbedtls_options options = SMQ_MBEDTLS_OPTIONS_INIT;
 *     smq_tls_failure why = SMQ_TLS_FAILURE_INIT;
 *     smq_mbedtls_settings *settings;
 *     options.ca_file = smq_string("/etc/sensord/ca.pem");
 *     if (smq_mbedtls_open(&options, &settings, &why) != SMQ_OK) …     why.text says what is wrong
 *     client_options.url = smq_string("mqtts://broker.example");
 *     client_options.tls = smq_mbedtls();
 *     client_options.tls_settings = settings;
 *
 * The server's certificate is always checked: that a CA of the options has signed it, its time, and that it is for the
 * host's name or address. The subjectAltName counts alone, never the Common Name (RFC 9525, section 2).
 *
 * The engine is given as source: tls/mbedtls compiles against mbedTLS 2.28 (TLS 1.2) and against 3.6 (TLS 1.2 and 1.3).
 * CMake builds the library swiftmqtt_tls_mbedtls of it with SWIFTMQTT_TLS_MBEDTLS=ON.
 *
 * All that the engine needs besides the client's block comes from mbedtls_calloc(): mbedTLS's own buffers, certificates, and
 * the settings. Where mbedTLS is built with MBEDTLS_MEMORY_BUFFER_ALLOC_C, that is one block of the program's, which it hands
 * over with mbedtls_memory_buffer_alloc_init() before it calls smq_mbedtls_open(). An open connection that sends and
 * receives allocates nothing.
 */
#ifndef SWIFTMQTT_TLS_MBEDTLS_H
#define SWIFTMQTT_TLS_MBEDTLS_H

#include "swiftmqtt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What many connections have in common: certificates, keys, limits, random numbers, and the sessions to be resumed. Any number
   of clients may share one, in any threads: a handshake locks it. It lives longer than every client that was made with it.
   Clients in several threads need an mbedTLS with MBEDTLS_THREADING_C, such as Debian's. */
typedef struct smq_mbedtls_settings smq_mbedtls_settings;

/* smq_mbedtls_options.flags, added up. Values are those of SMQ_TLS_… in <swiftmqtt-tls.h>. */
enum {
    SMQ_MBEDTLS_NO_NAME_CHECK = 2, /* the certificate may be for any name. Anyone with a certificate of a trusted CA can
                                      then be the server */
    SMQ_MBEDTLS_NO_VERIFY = 4,  /* any certificate will do, unless pins are set: without them anyone on the way can read
                                      and change everything */
    SMQ_MBEDTLS_NO_TIME = 8,    /* certificates and CRLs that have expired, or are not valid yet, will do */
    SMQ_MBEDTLS_CRL_CHECK = 16, /* there must be a CRL of the issuer of the server's certificate */
    SMQ_MBEDTLS_CRL_ALL = 32,   /* check every certificate of the chain so, but the root */
    SMQ_MBEDTLS_NO_RESUMPTION = 256 /* every handshake is a full one, and no session is kept */
};

/* Options; zero means the default everywhere. A smq_bytes for a certificate, key or CRL is PEM text or DER. What is given is
   read by smq_mbedtls_open(), and is the caller's again afterwards. File names have no zero byte, and at most 1,023 bytes. */
typedef struct smq_mbedtls_options {
    uint32_t size;              /* sizeof(smq_mbedtls_options) */
    uint32_t flags;             /* SMQ_MBEDTLS_… */
    smq_bytes ca_file;          /* the CAs to be trusted. There is no default: the CAs of a system would take some
                                   hundred KB */
    smq_bytes ca;               /* the same as bytes; with both, all count */
    smq_bytes certificate_file; /* the client's certificate, and those of the CAs between it and the root */
    smq_bytes certificate;      /* the same as bytes; one of the two */
    smq_bytes key_file;         /* its key */
    smq_bytes key;              /* the same as bytes; one of the two */
    smq_bytes crl_file;         /* CRLs: a certificate that one of them lists is refused */
    smq_bytes crl;              /* the same as bytes; with both, all count */
    smq_bytes pins;         /* SHA-256 of SubjectPublicKeyInfo, 32 bytes each: the server's key must be one of them */
    smq_bytes psk_identity; /* with psk: the identity of a pre-shared key, 1 to 127 bytes */
    smq_bytes psk;          /* the key itself: 1 to 32 bytes. Instead of certificates */
    uint32_t minimum;       /* 0x0303: TLS 1.2, the default; 0x0304: TLS 1.3 */
    uint32_t maximum;       /* the same; 0: the newest that mbedTLS has */
    int64_t clock_floor_s;  /* the earliest time it can be, in seconds since 1970, such as when the firmware was
                                   built: a wall clock that shows an earlier one counts as this. 0: none */
    int64_t verify_time_s;  /* check certificates and CRLs as of this time; 0: the wall clock. For tests */
    /* Asked for the password of an encrypted key: writes it to `to`, at most `size` bytes, and returns how many, or -1.
       NULL: an encrypted key is an error. */
    int32_t (*password)(void *user, char *to, size_t size);
    void *password_user;
} smq_mbedtls_options;

#define SMQ_MBEDTLS_OPTIONS_INIT                                                                                       \
    {                                                                                                                  \
        sizeof(smq_mbedtls_options), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },  \
            { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, 0, 0, 0, 0, NULL, NULL                    \
    }

/*
 * Returns the engine, for smq_options.tls. Any thread, any time. Never NULL.
 */
SMQ_API const smq_tls_engine *smq_mbedtls(void);

/*
 * Reads files, keys and certificates, and makes the settings of smq_options.tls_settings. It allocates with mbedtls_calloc(),
 * and may wait for a disk. Any thread; where mbedTLS has PSA (TLS 1.3), one thread at a time.
 *
 * options   the options; only read, and released by the caller
 * settings  where to put the settings; only written on success
 * why       NULL, or filled in if it fails: cause is SMQ_TLS_KEY, SMQ_TLS_CA_FILE, SMQ_TLS_MEMORY or SMQ_TLS_OTHER
 *
 * Returns SMQ_OK, or
 *   SMQ_ERR_NULL          options or settings is NULL, or a smq_bytes has a size and no data
 *   SMQ_ERR_STRUCT_SIZE   a size field is wrong
 *   SMQ_ERR_OPTION        a value is out of its range, two contradict each other, or neither a CA nor a pre-shared key
 *                         nor SMQ_MBEDTLS_NO_VERIFY is there
 *   SMQ_ERR_NOT_SUPPORTED this mbedTLS has no TLS 1.3, or no files, and the options ask for it
 *   SMQ_ERR_TLS           something cannot be read or used: see why
 */
SMQ_API int32_t smq_mbedtls_open(const smq_mbedtls_options *options, smq_mbedtls_settings **settings,
                                 smq_tls_failure *why);

/*
 * Releases the settings, and overwrites keys. No client may have them any more. NULL is allowed.
 */
SMQ_API void smq_mbedtls_close(smq_mbedtls_settings *settings);

#ifdef __cplusplus
}
#endif

#endif
