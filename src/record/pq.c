/* record/pq.c — libpq: loaded, connected, asked with a deadline; its errors without secrets. */
#include "record/pq.h"

#include "base/clock.h"
#include "base/str.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* --- names ---------------------------------------------------------------------------------------------------------
 */

/* HOST[:PORT], several with commas, [IPv6]; a port is digits, so that "user:password" without a host is none. */
static bool is_host_list(const char *at, size_t n) {
    bool port = false;
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)at[i];
        depth += (c == '[') - (c == ']');
        if (c == ',') port = false;
        if (c == ':' && !depth) port = true;
        bool good = port ? isdigit(c) || c == ':' : isalnum(c) || strchr("[]:.,-_%", c);
        if (c == ',') good = true;
        if (!good) return false;
    }
    return true;
}

/* As libpq reads it: user and password end at an '@' before the first '/'. A second one, or a '?' inside, is more
 * likely a password that was not encoded than part of a host. */
char *hn_pq_name(const char *url, bool *plain) {
    const char *at = strstr(url, "://");
    at = at ? at + 3 : url;
    size_t user = strcspn(at, "@/");
    bool clear = true;
    if (at[user] == '@') {
        clear = !memchr(at, '?', user);
        at += user + 1;
    }
    size_t n_host = strcspn(at, "/?"), n = strcspn(at, "?");
    clear = clear && is_host_list(at, n_host) && !memchr(at, '@', n);
    hn_str s = {0};
    hn_str_addf(&s, "postgresql://%.*s", clear ? (int)n : 0, at);
    if (!clear) hn_str_add(&s, "…");
    if (plain) *plain = clear;
    return hn_str_take(&s);
}

/* --- the library ---------------------------------------------------------------------------------------------------
 */

/* It stays loaded: OpenSSL, which comes with it, cannot be unloaded. */
static hone_rc load(hn_pq_calls *call, hone_err *err) {
    static const char *const name[] = {
#define HN_PQ(id) "PQ" #id,
#include "record/pq.def"
#undef HN_PQ
    };
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "winners at a server need PostgreSQL's client library (Debian: libpq5), which is not there: %s",
                       dlerror());
    void **slot = (void **)call;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!(slot[i] = dlsym(library, name[i])))
            return hn_fail(err, HONE_E_UNSUPPORTED, "'libpq.so.5' has no %s: it is too old", name[i]);
    return HONE_OK;
}

/* --- errors --------------------------------------------------------------------------------------------------------
 */

/* One line without the password, should libpq or the server repeat it. */
static char *one_line(hn_pq *pq, const char *text) {
    hn_str s = {0};
    PQconninfoOption *set = pq->call.conninfoParse(pq->url, NULL);
    for (PQconninfoOption *o = set; o && o->keyword; o++)
        if (o->val && *o->val && strstr(o->keyword, "password") && strstr(text, o->val)) text = "(not shown)";
    if (set) pq->call.conninfoFree(set);
    for (size_t n; *text; text += n + (text[n] != 0)) {
        n = strcspn(text, "\n");
        while (n && isspace((unsigned char)*text)) text++, n--;
        if (n && s.n) hn_str_add(&s, "; ");
        hn_str_add_n(&s, text, n);
    }
    return hn_str_take(&s);
}

static hone_rc fail_connection(hn_pq *pq, const char *what, hone_err *err) {
    char *why = one_line(pq, pq->con ? pq->call.errorMessage(pq->con) : "out of memory");
    hone_rc rc = hn_fail(err, HONE_E_STORE,
                         "%s the winners at '%s': %s; see that the server runs, or name another place (HONE_WINNERS, "
                         "--winners)",
                         what, pq->name, why && *why ? why : "the connection was closed");
    free(why);
    return rc;
}

/* By SQLSTATE (PostgreSQL's manual, appendix A). */
static hone_rc fail_statement(hn_pq *pq, const PGresult *r, hone_err *err) {
    static const struct {
        const char *state;
        hone_rc rc;
        const char *advice;
    } row[] = {
        {"40", HONE_E_BUSY, "; try again"},
        {"55P03", HONE_E_BUSY, "; try again"},
        {"57014", HONE_E_BUSY, "; try again"},
        {"53", HONE_E_STORE, "; make room at the server"},
        {"42501", HONE_E_STORE, "; ask for the rights that docs/winners.md names"},
        {"25006", HONE_E_STORE, "; this server only reads: name the primary one"},
        {"", HONE_E_STORE, ""},
    };
    const char *state = pq->call.resultErrorField(r, PG_DIAG_SQLSTATE);
    const char *text = pq->call.resultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    if (!text) return fail_connection(pq, "cannot use", err);
    size_t i = 0;
    while (*row[i].state && !hn_starts_with(state ? state : "", row[i].state)) i++;
    char *why = one_line(pq, text);
    hone_rc rc =
        hn_fail(err, row[i].rc, "cannot use the winners at '%s': %s%s", pq->name, why ? why : "", row[i].advice);
    free(why);
    return rc;
}

/* --- a connection --------------------------------------------------------------------------------------------------
 */

static void ignore_notice(void *arg, const PGresult *r) {
    (void)arg;
    (void)r;
}

static hone_rc connect_url(hn_pq *pq, hone_err *err) {
    /* What stands behind dbname in this list takes precedence over the URL; these do not stand in it. */
    static const char *const key[] = {"connect_timeout",     "tcp_user_timeout", "keepalives_idle",
                                      "keepalives_interval", "keepalives_count", "fallback_application_name",
                                      "client_encoding",     "dbname",           NULL};
    const char *value[] = {"5", "10000", "5", "3", "3", "hone", "UTF8", pq->url, NULL};
    if (pq->con) pq->call.finish(pq->con);
    if (getenv("PGCONNECT_TIMEOUT")) value[0] = NULL;
    pq->con = pq->call.connectdbParams(key, value, 1);
    if (!pq->con || pq->call.status(pq->con) != CONNECTION_OK) return fail_connection(pq, "cannot reach", err);
    pq->call.setNoticeReceiver(pq->con, ignore_notice, NULL);
    if (pq->call.setnonblocking(pq->con, 1)) return fail_connection(pq, "cannot reach", err);
    hone_rc rc = hn_pq_ask(pq, "SET statement_timeout = '10s'", NULL, 0, NULL, err);
    if (!rc) rc = hn_pq_ask(pq, "SET lock_timeout = '8s'", NULL, 0, NULL, err);
    if (!rc) rc = hn_pq_ask(pq, "SET extra_float_digits = 3", NULL, 0, NULL, err);
    return rc;
}

hone_rc hn_pq_open(hn_pq *pq, const char *url, hone_err *err) {
    bool plain = false;
    hn_pq new = {.url = strdup(url), .name = hn_pq_name(url, &plain)};
    PQconninfoOption *set = NULL;
    hone_rc rc = new.url &&new.name ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory opening the winners");
    if (!rc) rc = load(&new.call, err);
    if (!rc && plain) set = new.call.conninfoParse(url, NULL);
    if (!rc && !set)
        rc =
            hn_fail(err, HONE_E_USAGE,
                    "the URL of the winners cannot be read: it is postgresql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE, "
                    "where what is no letter or digit in USER and PASSWORD is written as %%XX");
    if (set) new.call.conninfoFree(set);
    if (!rc) rc = connect_url(&new, err);
    if (rc)
        hn_pq_close(&new);
    else
        *pq = new;
    return rc;
}

void hn_pq_close(hn_pq *pq) {
    if (pq->con) pq->call.finish(pq->con);
    free(pq->url);
    free(pq->name);
    *pq = (hn_pq){0};
}

/* --- statements ----------------------------------------------------------------------------------------------------
 */

/* Waits until the socket can be read, or written when something is left to send. */
static bool wait_socket(hn_pq *pq, bool write, double until_s) {
    struct pollfd fd = {pq->call.socket(pq->con), (short)(POLLIN | (write ? POLLOUT : 0)), 0};
    double left_s = until_s - hn_now_s();
    if (fd.fd < 0 || left_s <= 0) return false;
    int n = poll(&fd, 1, (int)(1000 * left_s) + 1);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* false: the connection broke, or nothing came in time. */
static bool await(hn_pq *pq, double until_s) {
    int left;
    while ((left = pq->call.flush(pq->con)) > 0)
        if (!wait_socket(pq, true, until_s) || !pq->call.consumeInput(pq->con)) return false;
    if (left < 0) return false;
    while (pq->call.isBusy(pq->con))
        if (!wait_socket(pq, false, until_s) || !pq->call.consumeInput(pq->con)) return false;
    return true;
}

/* What is under way cannot be ended without the server, so the connection goes. */
static hone_rc give_up(hn_pq *pq, double until_s, hone_err *err) {
    bool late = hn_now_s() >= until_s;
    hone_rc rc = late ? hn_fail(err, HONE_E_STORE,
                                "the server of the winners at '%s' did not answer for %d s; see that it runs, or name "
                                "another place (HONE_WINNERS, --winners)",
                                pq->name, HN_PQ_ANSWER_S)
                      : fail_connection(pq, "cannot use", err);
    pq->call.finish(pq->con);
    pq->con = NULL;
    return rc;
}

hone_rc hn_pq_ask(hn_pq *pq, const char *sql, const char *const *value, int n, PGresult **out, hone_err *err) {
    double until_s = hn_now_s() + HN_PQ_ANSWER_S;
    if (!pq->con) return hn_fail(err, HONE_E_STORE, "there is no connection to the winners at '%s'", pq->name);
    if (!pq->call.sendQueryParams(pq->con, sql, n, NULL, value, NULL, NULL, 0) || !await(pq, until_s))
        return give_up(pq, until_s, err);
    PGresult *r = pq->call.getResult(pq->con), *more;
    while (await(pq, until_s) && (more = pq->call.getResult(pq->con))) pq->call.clear(more);
    ExecStatusType end = r ? pq->call.resultStatus(r) : PGRES_FATAL_ERROR;
    hone_rc rc = HONE_OK;
    if (end != PGRES_COMMAND_OK && end != PGRES_TUPLES_OK)
        rc = r ? fail_statement(pq, r, err) : fail_connection(pq, "cannot use", err);
    if (rc || !out)
        pq->call.clear(r);
    else
        *out = r;
    return rc;
}

static bool is_broken(const hn_pq *pq) { return !pq->con || pq->call.status(pq->con) != CONNECTION_OK; }

static hone_rc attempt(hn_pq *pq, hone_rc (*body)(hn_pq *, void *, hone_err *), void *ctx, hone_err *err) {
    hone_rc rc = hn_pq_ask(pq, "BEGIN", NULL, 0, NULL, err);
    if (!rc) rc = body(pq, ctx, err);
    if (!rc) return hn_pq_ask(pq, "COMMIT", NULL, 0, NULL, err);
    if (!is_broken(pq)) hn_pq_ask(pq, "ROLLBACK", NULL, 0, NULL, NULL);
    return rc;
}

hone_rc hn_pq_again(hn_pq *pq, hone_rc (*body)(hn_pq *, void *, hone_err *), void *ctx, hone_err *err) {
    hone_err first = {0};
    hone_rc rc = pq->con ? body(pq, ctx, &first) : HONE_E_STORE;
    if (!rc || !is_broken(pq)) return rc ? hn_fail(err, rc, "%s", first.text) : HONE_OK;
    rc = connect_url(pq, err);
    return rc ? rc : body(pq, ctx, err);
}

typedef struct transaction {
    hone_rc (*body)(hn_pq *, void *, hone_err *);
    void *ctx;
} transaction;

static hone_rc run_transaction(hn_pq *pq, void *ctx, hone_err *err) {
    const transaction *t = ctx;
    return attempt(pq, t->body, t->ctx, err);
}

hone_rc hn_pq_transact(hn_pq *pq, hone_rc (*body)(hn_pq *, void *, hone_err *), void *ctx, hone_err *err) {
    transaction t = {body, ctx};
    return hn_pq_again(pq, run_transaction, &t, err);
}
