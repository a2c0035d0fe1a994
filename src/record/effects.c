/* record/effects.c — the table `effect`. A store of an older format that is only read has none yet, and so no effects.
 */
#include "record/store_int.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

typedef struct rows {
    int64_t session;
    const hone_effect *effect;
    size_t n;
} rows;

static hone_rc put_one(hone_store *s, int64_t session, size_t i, const hone_effect *e, hone_err *err) {
    const double number[] = {e->gain, e->lo, e->hi}; /* SQLite keeps a NAN as NULL */
    const char *const text[] = {e->choice, e->value, e->against, e->words};
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ADD_EFFECT, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, session);
    sqlite3_bind_int64(q, 2, (int64_t)i + 1);
    for (int k = 0; k < 4; k++) hn_bind_text(q, 3 + k, text[k]);
    for (int k = 0; k < 3; k++) sqlite3_bind_double(q, 7 + k, number[k]);
    sqlite3_bind_int64(q, 10, e->n_trials);
    sqlite3_bind_int64(q, 11, e->n_failed);
    return hn_store_run(s, q, err);
}

static hone_rc put_all(hone_store *s, void *ctx, hone_err *err) {
    const rows *r = ctx;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_DROP_EFFECTS, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, r->session);
    rc = hn_store_run(s, q, err);
    for (size_t i = 0; !rc && i < r->n; i++) rc = put_one(s, r->session, i, &r->effect[i], err);
    return rc;
}

hone_rc hone_session_put_effects(hone_store *store, int64_t session, const hone_effect *effect, size_t n,
                                 hone_err *err) {
    rows r = {session, effect, n};
    return hn_store_transact(store, put_all, &r, NULL, err);
}

static double number(sqlite3_stmt *q, int i) {
    return sqlite3_column_type(q, i) == SQLITE_NULL ? NAN : sqlite3_column_double(q, i);
}

/* The effects' own memory. */
typedef struct block {
    hn_arena arena;
    size_t room;
} block;

static void take_row(block *b, sqlite3_stmt *q, hone_effects *out) {
    if (out->n == b->room) {
        size_t room = 2 * b->room + 16;
        hone_effect *more = HN_NEW_N(&b->arena, hone_effect, room);
        for (size_t i = 0; more && i < out->n; i++) more[i] = out->effect[i];
        if (!more) return;
        out->effect = more;
        b->room = room;
    }
    out->effect[out->n++] = (hone_effect){.choice = hn_strdup(&b->arena, hn_column(q, 0)),
                                          .value = hn_strdup(&b->arena, hn_column(q, 1)),
                                          .against = hn_strdup(&b->arena, hn_column(q, 2)),
                                          .words = hn_strdup(&b->arena, hn_column(q, 3)),
                                          .gain = number(q, 4),
                                          .lo = number(q, 5),
                                          .hi = number(q, 6),
                                          .n_trials = sqlite3_column_int64(q, 7),
                                          .n_failed = sqlite3_column_int64(q, 8)};
}

static hone_rc has_table(hone_store *s, bool *has, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_HAS_EFFECTS, &q, err);
    if (!rc) rc = hn_store_step(s, q, has, err);
    if (!rc) sqlite3_reset(q);
    return rc;
}

hone_rc hone_session_effects(hone_store *s, int64_t session, hone_effects *out, hone_err *err) {
    bool row = false;
    sqlite3_stmt *q = NULL;
    hone_rc rc = has_table(s, &row, err);
    if (!rc && row) rc = hn_store_stmt(s, HN_SQL_EFFECTS, &q, err);
    if (rc) return rc;
    block *b = calloc(1, sizeof *b);
    if (!b) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    hone_effects all = {.block = b};
    if (q) sqlite3_bind_int64(q, 1, session);
    while (q && !(rc = hn_store_step(s, q, &row, err)) && row) take_row(b, q, &all);
    if (q) sqlite3_reset(q);
    if (!rc && !hn_arena_ok(&b->arena)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    if (rc)
        hone_session_effects_free(&all);
    else
        *out = all;
    return rc;
}

void hone_session_effects_free(hone_effects *effects) {
    block *b = effects->block;
    if (b) hn_arena_free(&b->arena);
    free(b);
    *effects = (hone_effects){0};
}
