/* record/pq.h — a connection to PostgreSQL by libpq, which is loaded when it is asked for. Internal to the room.
 *
 * Why at run time: linked in, libpq brings Kerberos, LDAP and OpenSSL into every process that uses hone (5 ms of a
 * start of 7), and no static program could have it.
 * Owns:    the connection, from hn_pq_open to hn_pq_close.   Threads: one at a time.   Units: seconds.
 * Errors:  E_UNSUPPORTED (no libpq), E_USAGE (a URL that is none), E_BUSY (locks, deadlocks), E_NOMEM, else E_STORE. No
 *          message holds what the URL says of user and password.
 * Invariant: between calls no query is under way and no transaction is open.
 */
#ifndef HN_PQ_H
#define HN_PQ_H

#include "base/err.h"

#include <libpq-fe.h>

enum { HN_PQ_CONNECT_S = 5, HN_PQ_ANSWER_S = 15 };

typedef struct hn_pq_calls {
#define HN_PQ(id) __typeof__(&PQ##id) id;
#include "record/pq.def"
#undef HN_PQ
} hn_pq_calls;

typedef struct hn_pq {
    hn_pq_calls call;
    PGconn *con;
    char *url, *name; /* name: for messages */
} hn_pq;

/* The URL without user, password and parameters; NULL: no memory. `plain` (may be NULL): it can be told apart. */
char *hn_pq_name(const char *url, bool *plain);

hone_rc hn_pq_open(hn_pq *pq, const char *url, hone_err *err);
void hn_pq_close(hn_pq *pq);

/* A statement with n texts as $1, $2, …; a NULL among them is SQL's NULL. The result (may be NULL: not wanted) is
 * cleared with hn_pq_clear. A server that has not answered within HN_PQ_ANSWER_S is given up. */
hone_rc hn_pq_ask(hn_pq *pq, const char *sql, const char *const *value, int n, PGresult **out, hone_err *err);
static inline void hn_pq_clear(hn_pq *pq, PGresult *r) { pq->call.clear(r); }

/* Runs body(ctx) in one transaction; on a fresh connection a second time when the first one broke, so it must be
 * repeatable. */
hone_rc hn_pq_transact(hn_pq *pq, hone_rc (*body)(hn_pq *pq, void *ctx, hone_err *err), void *ctx, hone_err *err);
/* The same without a transaction, for one statement. */
hone_rc hn_pq_again(hn_pq *pq, hone_rc (*body)(hn_pq *pq, void *ctx, hone_err *err), void *ctx, hone_err *err);

#endif
