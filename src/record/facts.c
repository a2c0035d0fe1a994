/* record/facts.c — the table `fact`. A store of an older format that is only read has none yet, and so no facts. */
#include "record/store_int.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

typedef struct fact {
    int64_t session;
    const char *name, *json;
} fact;

static hone_rc put(hone_store *s, void *ctx, hone_err *err) {
    const fact *f = ctx;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_PUT_FACT, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, f->session);
    hn_bind_text(q, 2, f->name);
    hn_bind_text(q, 3, f->json);
    return hn_store_run(s, q, err);
}

hone_rc hone_session_put_fact(hone_store *store, int64_t session, const char *name, const char *json, hone_err *err) {
    fact f = {session, name, json};
    return hn_store_transact(store, put, &f, NULL, err);
}

static hone_rc has_table(hone_store *s, bool *has, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_HAS_FACTS, &q, err);
    if (!rc) rc = hn_store_step(s, q, has, err);
    if (!rc) sqlite3_reset(q);
    return rc;
}

hone_rc hone_session_fact(hone_store *s, int64_t session, const char *name, char **json, hone_err *err) {
    bool row = false;
    sqlite3_stmt *q = NULL;
    char *text = NULL;
    hone_rc rc = has_table(s, &row, err);
    if (!rc && row) rc = hn_store_stmt(s, HN_SQL_GET_FACT, &q, err);
    if (!rc && q) {
        sqlite3_bind_int64(q, 1, session);
        hn_bind_text(q, 2, name);
        rc = hn_store_step(s, q, &row, err);
        if (!rc && row && !(text = strdup(hn_column(q, 0))))
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
        sqlite3_reset(q);
    }
    if (!rc) *json = text;
    return rc;
}
