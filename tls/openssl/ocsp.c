/* The stapled OCSP response (RFC 6066, section 8; RFC 6960): what it is worth. */
#include "parts.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/x509v3.h>
#include <string.h>

enum {
    LEEWAY_S = 300
}; /* clocks differ */

static int is_within(const ASN1_GENERALIZEDTIME *from, const ASN1_GENERALIZEDTIME *to, int64_t now_s) {
    if (!from || seconds_of(from) > now_s + LEEWAY_S) return 0;
    return !to || seconds_of(to) >= now_s - LEEWAY_S;
}

/* Whether `signer` may answer for `issuer`: it is the CA itself, or a responder that this CA made one (RFC 6960, section
   4.2.2.2). OpenSSL's own check takes the wall clock, which may not be set. */
static int may_sign(X509 *signer, X509 *issuer, int64_t now_s) {
    if (X509_cmp(signer, issuer) == 0) return 1;
    return X509_check_issued(issuer, signer) == X509_V_OK && X509_verify(signer, X509_get0_pubkey(issuer)) == 1 &&
           X509_get_extended_key_usage(signer) != UINT32_MAX &&
           (X509_get_extended_key_usage(signer) & XKU_OCSP_SIGN) != 0 &&
           is_within(X509_get0_notBefore(signer), X509_get0_notAfter(signer), now_s);
}

/* The signature is checked against the certificates in the response and the chain. */
static int is_signed(OCSP_BASICRESP *response, STACK_OF(X509) * chain, X509 *issuer, int64_t now_s) {
    X509 *signer = NULL;
    return OCSP_basic_verify(response, chain, NULL, OCSP_NOVERIFY) == 1 &&
           OCSP_resp_get0_signer(response, &signer, chain) == 1 && may_sign(signer, issuer, now_s);
}

static int is_about(const OCSP_SINGLERESP *single, X509 *leaf, X509 *issuer) {
    OCSP_CERTID *theirs = (OCSP_CERTID *)OCSP_SINGLERESP_get0_id(single);
    ASN1_OBJECT *algorithm = NULL;
    if (!OCSP_id_get0_info(NULL, &algorithm, NULL, NULL, theirs)) return 0;
    const EVP_MD *digest = EVP_get_digestbyobj(algorithm);
    OCSP_CERTID *ours = digest ? OCSP_cert_to_id(digest, leaf, issuer) : NULL;
    int is_same = ours && OCSP_id_cmp(ours, theirs) == 0;
    OCSP_CERTID_free(ours);
    return is_same;
}

/* V_OCSP_CERTSTATUS_…, or -1: the response says nothing about the server's certificate. */
static int status_in(OCSP_BASICRESP *response, STACK_OF(X509) * chain, int64_t now_s) {
    X509 *leaf = sk_X509_value(chain, 0);
    X509 *issuer = sk_X509_num(chain) > 1 ? sk_X509_value(chain, 1) : leaf;
    if (!leaf || !is_signed(response, chain, issuer, now_s)) return -1;
    for (int i = 0; i < OCSP_resp_count(response); i++) {
        OCSP_SINGLERESP *single = OCSP_resp_get0(response, i);
        ASN1_GENERALIZEDTIME *from = NULL, *to = NULL;
        if (!is_about(single, leaf, issuer)) continue;
        int status = OCSP_single_get0_status(single, NULL, NULL, &from, &to);
        if (is_within(from, to, now_s)) return status;
    }
    return -1;
}

static int stapled_status(connection *c) {
    const unsigned char *der = NULL;
    long size = SSL_get_tlsext_status_ocsp_resp(c->ssl, &der);
    STACK_OF(X509) *chain = SSL_get0_verified_chain(c->ssl);
    int status = -1;
    if (size <= 0 || !der || !chain) return -1;
    OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &der, size);
    OCSP_BASICRESP *basic = NULL;
    if (response && OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
        basic = OCSP_response_get1_basic(response);
    if (basic) status = status_in(basic, chain, c->check_s);
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(response);
    return status;
}

/* The program's context may have had a callback, and serves connections of the program's own, too: those are its business. */
static int check_of_program(SSL *ssl, void *argument) {
    void *kept = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), program_check_index());
    int (*check)(SSL *, void *) = NULL;
    memcpy(&check, &kept, sizeof check);
    return check ? check(ssl, argument) : 1;
}

/* OpenSSL calls it when the server has said all about its certificate, also if there was no response. A response that cannot
   be trusted counts as none: whoever can send it can leave it out as well. */
static int check_status(SSL *ssl, void *argument) {
    connection *c = connection_of(ssl);
    if (!c) return check_of_program(ssl, argument);
    if (SSL_session_reused(ssl)) return 1;
    int status = stapled_status(c);
    ERR_clear_error();
    if (status == V_OCSP_CERTSTATUS_GOOD) return 1;
    if (status == V_OCSP_CERTSTATUS_REVOKED) {
        c->cause = SMQ_TLS_REVOKED;
        c->verify_error = X509_V_ERR_CERT_REVOKED;
    } else if (c->settings->flags & SMQ_TLS_OCSP_REQUIRED) {
        c->cause = SMQ_TLS_REVOCATION_UNKNOWN;
        c->verify_error = status < 0 ? X509_V_ERR_OCSP_VERIFY_FAILED : X509_V_ERR_OCSP_CERT_UNKNOWN;
    } else {
        return 1;
    }
    verify_fault(c, SSL_get0_peer_certificate(ssl), 0);
    return 0;
}

int ocsp_watch(SSL_CTX *context) {
    int (*before)(SSL *, void *) = NULL;
    void *kept = NULL;
    SSL_CTX_get_tlsext_status_cb(context, &before);
    if (before == check_status) return 1;
    memcpy(&kept, &before, sizeof kept);
    return SSL_CTX_set_ex_data(context, program_check_index(), kept) == 1 &&
           SSL_CTX_set_tlsext_status_cb(context, check_status) == 1;
}
