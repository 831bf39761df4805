/*
 * Sessions to be resumed, by server: name, port and settings. A resumed connection is not verified again, so a session is
 * kept no longer than its ticket and the server's certificate are valid, and is forgotten when it leads to a failure.
 */
#include <string.h>

#include "parts.h"

/* RFC 8446, section 4.6.1, has seven days at most; a ticket that does not say counts as good for two hours. */
enum {
    LIFETIME_MAXIMUM_S = 604800,
    LIFETIME_S = 7200
};

static kept_session *find(connection *own) {
    for (unsigned i = 0; i < SESSIONS; i++) {
        kept_session *kept = &own->settings->sessions[i];
        if (kept->used && kept->port == own->port && strcmp(kept->name, own->name) == 0) return kept;
    }
    return NULL;
}

static void forget(kept_session *kept) {
    mbedtls_ssl_session_free(&kept->session);
    kept->used = false;
}

static int64_t lifetime(const mbedtls_ssl_session *session) {
    int64_t told = 0;
#if defined(MBEDTLS_SSL_SESSION_TICKETS)
    told = session->MBEDTLS_PRIVATE(ticket_lifetime);
#else
    (void)session;
#endif
    if (told == 0) return LIFETIME_S;
    return told < LIFETIME_MAXIMUM_S ? told : LIFETIME_MAXIMUM_S;
}

/* With a pre-shared key a handshake is short, and one that was resumed could not be told from it. */
static bool are_kept(const connection *own) {
    return !(own->settings->flags & SMQ_MBEDTLS_NO_RESUMPTION) && own->settings->psk_size == 0;
}

void smq_mbedtls_offer_session(connection *own) {
    kept_session *kept = find(own);
    own->until_s = INT64_MAX;
    if (!kept) return;
    int64_t age = own->now_s - kept->kept_s;
    if (age < 0 || age >= lifetime(&kept->session) || own->now_s > kept->until_s) {
        forget(kept);
        return;
    }
    own->was_offered = mbedtls_ssl_set_session(&own->ssl, &kept->session) == 0; /* if not, it is a full handshake */
    own->until_s = kept->until_s;
}

void smq_mbedtls_keep_session(connection *own) {
    if (!are_kept(own)) return;
    kept_session *kept = find(own);
    int64_t until_s =
        own->until_s; /* a ticket for a resumed session lives no longer than the certificate that was checked */
    const mbedtls_x509_crt *certificate = mbedtls_ssl_get_peer_cert(&own->ssl);
    if (own->was_checked && certificate && !(own->settings->flags & (SMQ_MBEDTLS_NO_TIME | SMQ_MBEDTLS_NO_VERIFY)))
        until_s = smq_mbedtls_seconds(&certificate->valid_to);
    if (kept) {
        forget(kept);
    } else {
        kept = &own->settings->sessions[own->settings->next_session];
        own->settings->next_session = (own->settings->next_session + 1) % SESSIONS;
        if (kept->used) forget(kept);
    }
    mbedtls_ssl_session_init(&kept->session);
    if (mbedtls_ssl_get_session(&own->ssl, &kept->session) != 0) { /* none yet, or no memory for it */
        mbedtls_ssl_session_free(&kept->session);
        return;
    }
    memcpy(kept->name, own->name, sizeof kept->name);
    kept->port = own->port;
    kept->kept_s = own->now_s;
    kept->until_s = until_s;
    kept->used = true;
}

void smq_mbedtls_forget_session(connection *own) {
    kept_session *kept = find(own);
    if (kept) forget(kept);
}
