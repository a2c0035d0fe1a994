/* record/winners_sqlite.c — winners in a file of SQLite: one row per key, one row per trial. Format: docs/winners.md.
 */
#include "record/store_int.h"
#include "record/winners.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const migration[] = {
    "CREATE TABLE winner (id TEXT PRIMARY KEY, family TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,"
    " target TEXT NOT NULL, device TEXT NOT NULL, driver TEXT NOT NULL, compiler TEXT NOT NULL, numeric TEXT NOT NULL,"
    " schedules TEXT NOT NULL, sizes TEXT NOT NULL, schedule TEXT NOT NULL, cc TEXT NOT NULL,"
    " cc_identity TEXT NOT NULL, flags TEXT NOT NULL, code TEXT NOT NULL, default_code TEXT NOT NULL,"
    " provenance TEXT NOT NULL, default_s REAL NOT NULL, tuned_s REAL NOT NULL, gain_lo REAL NOT NULL,"
    " gain REAL NOT NULL, gain_hi REAL NOT NULL, pairs REAL NOT NULL, at_s REAL NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX winner_family ON winner(family);"
    "CREATE TABLE winner_trial (id TEXT NOT NULL, candidate TEXT NOT NULL, code TEXT NOT NULL, class TEXT NOT NULL,"
    " ratio REAL, time_s REAL, at_s REAL NOT NULL, PRIMARY KEY (id, candidate)) WITHOUT ROWID;",
};
enum { FORMAT = sizeof migration / sizeof *migration, FIRST_TEXT = 2, FIRST_NUMBER = FIRST_TEXT + HN_WINNER_TEXTS };

static const hn_store_form form = {
    "file of winners", "'hone tune MODEL.onnx'", 0x686f6e77 /* "honw" */, FORMAT, migration, true};

static hone_rc open_store(const char *where, bool write, void **state, hone_err *err) {
    char *whole = strdup(where);
    hone_store *s = NULL;
    if (!whole) return hn_fail(err, HONE_E_NOMEM, "out of memory opening the winners");
    char *slash = strrchr(whole, '/');
    const char *name = slash ? slash + 1 : whole, *dir = slash == whole ? "/" : slash ? whole : ".";
    if (slash) *slash = 0;
    hone_rc rc = hn_store_open_as(&form, dir, name, write, &s, err);
    free(whole);
    if (!rc) *state = s;
    return rc;
}

static void close_store(void *state) { hone_store_close(state); }

/* --- rows ----------------------------------------------------------------------------------------------------------
 */

static hone_rc put_body(hone_store *s, void *ctx, hone_err *err) {
    hone_winner w = *(const hone_winner *)ctx;
    char id[33], family[33];
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_PUT_WINNER, &q, err);
    if (rc) return rc;
    hone_winner_id(&w, id);
    hone_winner_family(&w, family);
    hn_bind_text(q, 1, id);
    hn_bind_text(q, 2, family);
    for (int i = 0; i < HN_WINNER_TEXTS; i++) hn_bind_text(q, FIRST_TEXT + 1 + i, *hn_winner_text_of(&w, i));
    for (int i = 0; i < HN_WINNER_NUMBERS; i++) {
        double x = *hn_winner_number_of(&w, i);
        sqlite3_bind_double(q, FIRST_NUMBER + 1 + i, isfinite(x) ? x : 0);
    }
    return hn_store_run(s, q, err);
}

static bool read_row(sqlite3_stmt *q, hone_winner *out) {
    hone_winner w = {0};
    for (int i = 0; i < HN_WINNER_TEXTS; i++) *hn_winner_text_of(&w, i) = hn_column(q, FIRST_TEXT + i);
    for (int i = 0; i < HN_WINNER_NUMBERS; i++)
        *hn_winner_number_of(&w, i) = sqlite3_column_double(q, FIRST_NUMBER + i);
    return hn_winner_copy(&w, out);
}

/* The row that the statement gives. */
static hone_rc take_row(hone_store *s, sqlite3_stmt *q, hone_winner *out, hone_err *err) {
    bool row;
    hone_rc rc = hn_store_step(s, q, &row, err);
    if (rc) return rc;
    if (!row) rc = hn_fail(err, HONE_E_NOTFOUND, "no winner of this kernel");
    if (!rc && !read_row(q, out)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading a winner");
    sqlite3_reset(q);
    return rc;
}

static hone_rc find(void *state, const hone_winner *key, hone_winner *out, hone_err *err) {
    char id[33], family[33];
    sqlite3_stmt *q;
    hone_winner_id(key, id);
    hone_winner_family(key, family);
    hone_rc rc = hn_store_stmt(state, HN_SQL_FIND_WINNER, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, family);
    hn_bind_text(q, 2, id);
    return take_row(state, q, out, err);
}

static hone_rc nearest(void *state, const hone_winner *key, hone_winner *out, hone_err *err) {
    const char *const texts[] = {key->kind, key->body, key->target, key->numeric};
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(state, HN_SQL_NEAREST_WINNER, &q, err);
    if (rc) return rc;
    for (int i = 0; i < 4; i++) hn_bind_text(q, i + 1, texts[i]);
    return take_row(state, q, out, err);
}

static hone_rc list(void *state, hone_winner **out, size_t *n, hone_err *err) {
    hn_winner_list l = {0};
    sqlite3_stmt *q;
    bool row;
    hone_rc rc = hn_store_stmt(state, HN_SQL_LIST_WINNERS, &q, err);
    if (rc) return rc;
    while (!(rc = hn_store_step(state, q, &row, err)) && row) {
        hone_winner one;
        if (!read_row(q, &one) || !hn_winner_list_add(&l, &one)) {
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading the winners");
            break;
        }
    }
    sqlite3_reset(q);
    if (rc) {
        hone_winners_list_free(l.row, l.n);
        return rc;
    }
    *out = l.row;
    *n = l.n;
    return HONE_OK;
}

static hone_rc run_with_id(hone_store *s, hn_sql id, const char *text, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, id, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, text);
    return hn_store_run(s, q, err);
}

static hone_rc remove_body(hone_store *s, void *ctx, hone_err *err) {
    hone_winner w;
    char trials[33];
    sqlite3_stmt *q;
    hone_err why = {0};
    hone_rc rc = hn_store_stmt(s, HN_SQL_WINNER_OF_ID, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, ctx);
    rc = take_row(s, q, &w, &why);
    if (rc == HONE_E_NOTFOUND) return hn_fail(err, rc, "there is no winner '%s'", (char *)ctx);
    if (rc) return hn_fail(err, rc, "%s", why.text);
    hone_winner_trial_id(&w, trials);
    hone_winner_free(&w);
    rc = run_with_id(s, HN_SQL_DROP_WINNER, ctx, err);
    return rc ? rc : run_with_id(s, HN_SQL_DROP_WINNER_TRIALS, trials, err);
}

static hone_rc remove_row(void *state, const char *id, hone_err *err) {
    return hn_store_transact(state, remove_body, (void *)(uintptr_t)id, NULL, err);
}

typedef struct incoming {
    const hone_winner *row;
    size_t n, n_new;
    bool newer; /* what is there already stays when it is newer */
} incoming;

static hone_rc is_older(hone_store *s, const hone_winner *w, bool *older, hone_err *err) {
    char id[33];
    sqlite3_stmt *q;
    bool row;
    hone_winner_id(w, id);
    hone_rc rc = hn_store_stmt(s, HN_SQL_WINNER_TIME, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, id);
    if ((rc = hn_store_step(s, q, &row, err))) return rc;
    *older = row && sqlite3_column_double(q, 0) >= w->at_s;
    sqlite3_reset(q);
    return HONE_OK;
}

/* All or nothing. */
static hone_rc put_rows(hone_store *s, void *ctx, hone_err *err) {
    incoming *in = ctx;
    in->n_new = 0;
    for (size_t i = 0; i < in->n; i++) {
        bool older = false;
        hone_winner copy = in->row[i];
        hone_rc rc = in->newer ? is_older(s, &copy, &older, err) : HONE_OK;
        if (!rc && older) continue;
        if (rc || (rc = put_body(s, &copy, err))) return rc;
        in->n_new++;
    }
    return HONE_OK;
}

static hone_rc put(void *state, const hone_winner *row, size_t n, bool import, size_t *n_new, hone_err *err) {
    incoming in = {row, n, 0, import};
    hone_rc rc = hn_store_transact(state, put_rows, &in, NULL, err);
    if (!rc) *n_new = in.n_new;
    return rc;
}

/* --- trials --------------------------------------------------------------------------------------------------------
 */

typedef struct trial_row {
    const char *id;
    const hone_winner_trial *trial;
} trial_row;

static void bind_number(sqlite3_stmt *q, int i, double x) {
    if (isfinite(x))
        sqlite3_bind_double(q, i, x);
    else
        sqlite3_bind_null(q, i);
}

static hone_rc trial_body(hone_store *s, void *ctx, hone_err *err) {
    const trial_row *row = ctx;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_PUT_WINNER_TRIAL, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, row->id);
    hn_bind_text(q, 2, row->trial->candidate);
    hn_bind_text(q, 3, row->trial->code);
    hn_bind_text(q, 4, hone_outcome_class_name(row->trial->cls));
    bind_number(q, 5, row->trial->ratio);
    bind_number(q, 6, row->trial->time_s);
    sqlite3_bind_double(q, 7, row->trial->at_s);
    return hn_store_run(s, q, err);
}

static hone_rc put_trial(void *state, const char *id, const hone_winner_trial *trial, hone_err *err) {
    trial_row row = {id, trial};
    return hn_store_transact(state, trial_body, &row, NULL, err);
}

static double column_number(sqlite3_stmt *q, int i) {
    return sqlite3_column_type(q, i) == SQLITE_NULL ? NAN : sqlite3_column_double(q, i);
}

static hone_rc read_trials(hone_store *s, sqlite3_stmt *q, hn_trial_list *l, hone_err *err) {
    bool row;
    hone_rc rc;
    while (!(rc = hn_store_step(s, q, &row, err)) && row) {
        hone_winner_trial t = {.ratio = column_number(q, 3), .time_s = column_number(q, 4), .cls = HONE_NO_METRIC};
        t.at_s = column_number(q, 5);
        hone_outcome_class_parse(hn_column(q, 2), &t.cls);
        hn_trial_list_add(l, &t, hn_column(q, 0), hn_column(q, 1));
    }
    return rc;
}

static hone_rc trials(void *state, const char *id, hn_trial_list *l, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(state, HN_SQL_WINNER_TRIALS, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, id);
    rc = read_trials(state, q, l, err);
    sqlite3_reset(q);
    return rc;
}

static char *name(const char *where) { return strdup(where); }

const hn_winners_kind hn_winners_sqlite = {"sqlite",   "a file on this machine",
                                           open_store, close_store,
                                           put,        find,
                                           nearest,    list,
                                           remove_row, put_trial,
                                           trials,     name};
