/* record/proofs.c — the table `proof`. A store of format 1 that is only read has none yet, and so no proofs. */
#include "record/proofs.h"

#include "base/err.h"
#include "record/store_int.h"

#include <math.h>

static hone_rc add_body(hone_store *s, void *ctx, hone_err *err) {
    const hn_proof_row *row = ctx;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ADD_PROOF, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, row->session);
    hn_bind_text(q, 2, row->workload_hash);
    hn_bind_text(q, 3, row->point);
    sqlite3_bind_int(q, 4, row->kept);
    hn_bind_text(q, 5, row->why);
    hn_bind_text(q, 6, row->verdict);
    sqlite3_bind_double(q, 7, isnan(row->at_s) ? 0 : row->at_s);
    hn_bind_text(q, 8, HONE_VERSION);
    hn_bind_text(q, 9, row->body);
    return hn_store_run(s, q, err);
}

hone_rc hn_proofs_add(hone_store *store, const hn_proof_row *row, hone_err *err) {
    hn_proof_row copy = *row;
    return hn_store_transact(store, add_body, &copy, NULL, err);
}

static hone_rc has_table(hone_store *s, bool *has, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_HAS_PROOFS, &q, err);
    if (!rc) rc = hn_store_step(s, q, has, err);
    if (!rc) sqlite3_reset(q);
    return rc;
}

/* Texts as a list that grows in the arena. */
typedef struct texts {
    const char **text;
    size_t n, room;
} texts;

static void add_text(hn_arena *a, texts *t, const char *text) {
    if (t->n == t->room) {
        size_t room = 2 * t->room + 8;
        const char **list = HN_NEW_N(a, const char *, room);
        for (size_t i = 0; list && i < t->n; i++) list[i] = t->text[i];
        if (!list) return;
        t->text = list;
        t->room = room;
    }
    t->text[t->n++] = hn_strdup(a, text);
}

hone_rc hn_proofs_texts(hone_store *s, int64_t session, hn_arena *a, const char ***text, size_t *n, hone_err *err) {
    texts t = {0};
    bool row = false;
    hone_rc rc = has_table(s, &row, err);
    sqlite3_stmt *q = NULL;
    if (!rc && row) rc = hn_store_stmt(s, HN_SQL_PROOFS, &q, err);
    if (rc) return rc;
    if (q) sqlite3_bind_int64(q, 1, session);
    while (q && !(rc = hn_store_step(s, q, &row, err)) && row) add_text(a, &t, hn_column(q, 0));
    if (q) sqlite3_reset(q);
    if (!rc && !hn_arena_ok(a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    if (rc) return rc;
    *text = t.text;
    *n = t.n;
    return HONE_OK;
}
