/* serve/tls.h — TLS 1.2 and later, by OpenSSL behind libevent's bufferevents: of a server and of its clients.
 *
 * Owns:    its context; connections that were made of it stay good behind a reload and its end.
 * Threads: one.   Errors: E_IO (a file cannot be read), E_INPUT (what is in it), E_NOMEM.
 */
#ifndef HN_SERVE_TLS_H
#define HN_SERVE_TLS_H

#include <event2/bufferevent.h>
#include <hone/base.h>
#include <stdbool.h>

typedef struct hn_tls hn_tls;
/* The files of a certificate (with its chain) and its key, in PEM; both are borrowed. */
hone_rc hn_tls_open(const char *cert, const char *key, hn_tls **out, hone_err *err);
/* Reads them anew, for connections from now on. A failure leaves the old ones. */
hone_rc hn_tls_reload(hn_tls *t, hone_err *err);
/* ca: a file of certificates in PEM; NULL: those of the system. insecure: any certificate will do. */
hone_rc hn_tls_client(const char *ca, bool insecure, hn_tls **out, hone_err *err);
void hn_tls_free(hn_tls *t);
/* A connection that a client begins; NULL: no memory. */
struct bufferevent *hn_tls_accept(hn_tls *t, struct event_base *base);
/* A connection to `host`, whose name or address the certificate must have. It goes with its bufferevent. */
struct bufferevent *hn_tls_connect(hn_tls *t, struct event_base *base, const char *host);
/* Why the last certificate was refused; NULL: none was. */
const char *hn_tls_refused(const hn_tls *t);
bool hn_tls_ready(struct bufferevent *bev); /* the handshake is over; also true without TLS */
/* What hn_tls_accept made beside the bufferevent, to be freed some time behind it. */
void *hn_tls_part(struct bufferevent *bev); /* NULL: none */
void hn_tls_free_part(void *part);

bool hn_tls_sha256(const void *data, size_t n, unsigned char out[32]);

#endif
