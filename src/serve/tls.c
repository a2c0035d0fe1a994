/* tls.c — see tls.h. Everything of OpenSSL that hone uses is here. */
#include "serve/tls.h"
#include "base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hn_tls {
    SSL_CTX *now;
    const char *cert, *key;
    bool insecure;
    long refused; /* X509_V_ERR_… */
};

/* What OpenSSL says of its last failure. */
static const char *reason(void) {
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return text ? text : "it is no PEM file";
}

static int no_passphrase(char *to, int size, int writing, void *arg) {
    (void)to;
    (void)size;
    (void)writing;
    *(bool *)arg = true;
    return -1;
}

static SSL_CTX *context(bool server) {
    SSL_CTX *x = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    if (!x || !SSL_CTX_set_min_proto_version(x, TLS1_2_VERSION)) {
        SSL_CTX_free(x);
        return NULL;
    }
    SSL_CTX_set_options(x, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(x, SSL_MODE_RELEASE_BUFFERS); /* of idle connections */
    return x;
}

static hone_rc read_pair(SSL_CTX *x, const char *cert, const char *key, hone_err *err) {
    bool locked = false;
    for (int i = 0; i < 2; i++)
        if (access(i ? key : cert, R_OK))
            return hn_fail(err, HONE_E_IO, "cannot read the %s '%s': %s", i ? "key" : "certificate", i ? key : cert,
                           strerror(errno));
    SSL_CTX_set_default_passwd_cb(x, no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(x, &locked);
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(x, cert) != 1)
        return hn_fail(err, HONE_E_INPUT, "'%s' holds no certificate: %s; give a PEM file, its chain behind it", cert,
                       reason());
    int read = SSL_CTX_use_PrivateKey_file(x, key, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(x, NULL);
    if (read != 1 && locked) {
        ERR_clear_error();
        return hn_fail(err, HONE_E_INPUT, "the key '%s' has a passphrase; give a key without one", key);
    }
    if (read != 1 && ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH) {
        ERR_clear_error();
        return hn_fail(err, HONE_E_INPUT, "'%s' is not the key of the certificate '%s'; give the one it was made with",
                       key, cert);
    }
    if (read != 1) return hn_fail(err, HONE_E_INPUT, "'%s' holds no private key: %s; give a PEM file", key, reason());
    if (SSL_CTX_check_private_key(x) == 1) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT, "'%s' is not the key of the certificate '%s': %s", key, cert, reason());
}

hone_rc hn_tls_reload(hn_tls *t, hone_err *err) {
    SSL_CTX *x = context(true);
    hone_rc rc = x ? read_pair(x, t->cert, t->key, err) : hn_fail(err, HONE_E_NOMEM, "cannot begin TLS: %s", reason());
    if (rc) {
        SSL_CTX_free(x);
        return rc;
    }
    SSL_CTX_free(t->now); /* connections have references to it */
    t->now = x;
    return HONE_OK;
}

hone_rc hn_tls_open(const char *cert, const char *key, hn_tls **out, hone_err *err) {
    hn_tls *t = calloc(1, sizeof *t);
    if (!t) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    t->cert = cert;
    t->key = key;
    hone_rc rc = hn_tls_reload(t, err);
    if (rc)
        hn_tls_free(t);
    else
        *out = t;
    return rc;
}

void hn_tls_free(hn_tls *t) {
    if (t) SSL_CTX_free(t->now);
    free(t);
}

struct bufferevent *hn_tls_accept(hn_tls *t, struct event_base *base) {
    SSL *ssl = SSL_new(t->now);
    struct bufferevent *bev = ssl ? bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING, 0) : NULL;
    if (bev)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    else
        SSL_free(ssl);
    return bev;
}

bool hn_tls_ready(struct bufferevent *bev) {
    SSL *ssl = bufferevent_openssl_get_ssl(bev);
    return !ssl || SSL_is_init_finished(ssl);
}

void *hn_tls_part(struct bufferevent *bev) { return bufferevent_openssl_get_ssl(bev); }

void hn_tls_free_part(void *part) { SSL_free(part); }

bool hn_tls_sha256(const void *data, size_t n, unsigned char out[32]) {
    return EVP_Digest(data, n, out, NULL, EVP_sha256(), NULL) == 1;
}

/* --- clients ------------------------------------------------------------------------------------------------------ */

static int on_verify(int good, X509_STORE_CTX *store) {
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    hn_tls *t = SSL_get_app_data(ssl);
    if (!good && !t->insecure) t->refused = X509_STORE_CTX_get_error(store);
    return good || t->insecure;
}

hone_rc hn_tls_client(const char *ca, bool insecure, hn_tls **out, hone_err *err) {
    hn_tls *t = calloc(1, sizeof *t);
    hone_rc rc = HONE_OK;
    if (!t || !(t->now = context(false))) rc = hn_fail(err, HONE_E_NOMEM, "cannot begin TLS: %s", reason());
    if (!rc && ca && access(ca, R_OK))
        rc = hn_fail(err, HONE_E_IO, "cannot read the certificates '%s': %s", ca, strerror(errno));
    if (!rc && ca && SSL_CTX_load_verify_locations(t->now, ca, NULL) != 1)
        rc = hn_fail(err, HONE_E_INPUT, "'%s' holds no certificates: %s; give a PEM file", ca, reason());
    if (!rc && !ca) SSL_CTX_set_default_verify_paths(t->now);
    if (rc) {
        hn_tls_free(t);
        return rc;
    }
    t->insecure = insecure;
    SSL_CTX_set_verify(t->now, SSL_VERIFY_PEER, on_verify);
    *out = t;
    return HONE_OK;
}

static bool expect(SSL *ssl, const char *host) {
    struct in6_addr address;
    if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct bufferevent *hn_tls_connect(hn_tls *t, struct event_base *base, const char *host) {
    SSL *ssl = SSL_new(t->now);
    if (!ssl || !SSL_set_app_data(ssl, t) || !expect(ssl, host)) {
        SSL_free(ssl);
        return NULL;
    }
    struct bufferevent *bev =
        bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
    if (bev)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    else
        SSL_free(ssl);
    return bev;
}

const char *hn_tls_refused(const hn_tls *t) {
    return t && t->refused ? X509_verify_cert_error_string(t->refused) : NULL;
}
