/* record/winners_pg.c — winners at a server of PostgreSQL, shared by many machines. Format and the rule by which a
 * proof replaces another one: docs/winners.md. */
#include "base/fs.h"
#include "base/hash.h"
#include "base/locale.h"
#include "record/pq.h"
#include "record/winners.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A released step never changes. `kernel`: hash of what hone_winners_nearest compares; bodies are too long for an
 * index. Ids are compared byte by byte, whatever the database's collation. */
static const char *const migration[][4] = {
    {"CREATE TABLE hone.winner (id text COLLATE \"C\" PRIMARY KEY, family text NOT NULL, kernel text NOT NULL,"
     " kind text NOT NULL, body text NOT NULL, target text NOT NULL, device text NOT NULL, driver text NOT NULL,"
     " compiler text NOT NULL, \"numeric\" text NOT NULL, schedules text NOT NULL, sizes text NOT NULL,"
     " schedule text NOT NULL, cc text NOT NULL, cc_identity text NOT NULL, flags text NOT NULL, code text NOT NULL,"
     " default_code text NOT NULL, provenance text NOT NULL, default_s float8 NOT NULL, tuned_s float8 NOT NULL,"
     " gain_lo float8 NOT NULL, gain float8 NOT NULL, gain_hi float8 NOT NULL, pairs float8 NOT NULL,"
     " at_s float8 NOT NULL)",
     "CREATE INDEX winner_family ON hone.winner (family)", "CREATE INDEX winner_kernel ON hone.winner (kernel)",
     "CREATE TABLE hone.winner_trial (id text NOT NULL, candidate text COLLATE \"C\" NOT NULL, code text NOT NULL,"
     " class text NOT NULL, ratio float8, time_s float8, at_s float8 NOT NULL, PRIMARY KEY (id, candidate))"},
};
enum {
    FORMAT = sizeof migration / sizeof *migration,
    STEPS = sizeof *migration / sizeof **migration,
    HASHES = 3, /* columns before the texts */
    COLUMNS = HASHES + HN_WINNER_TEXTS + HN_WINNER_NUMBERS,
};

typedef struct place {
    hn_pq pq;
    char *select, *put; /* statements: of all columns, from hone.winner; of one row */
} place;

/* --- statements ----------------------------------------------------------------------------------------------------
 */

static const char *column(int i) {
    static const char *const hash[HASHES] = {"id", "family", "kernel"};
    if (i < HASHES) return hash[i];
    i -= HASHES;
    return i < HN_WINNER_TEXTS ? hn_winner_text[i].name : hn_winner_number[i - HN_WINNER_TEXTS].name;
}

static void add_columns(hn_str *s, int first, const char *before) {
    for (int i = first; i < COLUMNS; i++) hn_str_addf(s, "%s%s\"%s\"", i > first ? ", " : "", before, column(i));
}

/* The better proof stays, decided by the server while it holds the row: of the same default code the one whose gain has
 * the larger lower end, then more pairs, then the newer; of other code the newer. */
static char *put_text(void) {
    hn_str s = {0};
    hn_str_add(&s, "INSERT INTO hone.winner AS w (");
    add_columns(&s, 0, "");
    hn_str_add(&s, ") VALUES (");
    for (int i = 0; i < COLUMNS; i++) hn_str_addf(&s, "%s$%d", i ? ", " : "", i + 1);
    hn_str_add(&s, ") ON CONFLICT (id) DO UPDATE SET (");
    add_columns(&s, 1, "");
    hn_str_add(&s, ") = (");
    add_columns(&s, 1, "EXCLUDED.");
    hn_str_add(&s, ") WHERE CASE WHEN w.default_code = EXCLUDED.default_code"
                   " THEN (EXCLUDED.gain_lo, EXCLUDED.pairs, EXCLUDED.at_s) > (w.gain_lo, w.pairs, w.at_s)"
                   " ELSE EXCLUDED.at_s > w.at_s END");
    return hn_str_take(&s);
}

static char *select_text(void) {
    hn_str s = {0};
    hn_str_add(&s, "SELECT ");
    add_columns(&s, 0, "");
    hn_str_add(&s, " FROM hone.winner");
    return hn_str_take(&s);
}

static void hash_kernel(const hone_winner *w, char hex[33]) {
    const char *const part[] = {w->kind, w->body, w->target, w->numeric};
    hn_hash h;
    hn_hash_begin(&h);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) hn_hash_text(&h, part[i] ? part[i] : "");
    hn_hash_end(&h, hex);
}

/* One statement outside of a transaction, on a fresh connection once more when the first one broke. */
typedef struct question {
    const char *sql;
    const char *const *value;
    int n;
    PGresult **out;
} question;

static hone_rc ask_once(hn_pq *pq, void *ctx, hone_err *err) {
    const question *q = ctx;
    return hn_pq_ask(pq, q->sql, q->value, q->n, q->out, err);
}

static hone_rc ask(place *p, const char *sql, const char *const *value, int n, PGresult **out, hone_err *err) {
    question q = {sql, value, n, out};
    return hn_pq_again(&p->pq, ask_once, &q, err);
}

/* --- opening -------------------------------------------------------------------------------------------------------
 */

/* 0: there is none yet. */
static hone_rc read_format(hn_pq *pq, int *format, hone_err *err) {
    PGresult *r = NULL;
    hone_rc rc = hn_pq_ask(pq, "SELECT to_regclass('hone.format') IS NOT NULL", NULL, 0, &r, err);
    if (rc) return rc;
    bool there = pq->call.ntuples(r) == 1 && *pq->call.getvalue(r, 0, 0) == 't';
    hn_pq_clear(pq, r);
    *format = 0;
    if (!there) return HONE_OK;
    if ((rc = hn_pq_ask(pq, "SELECT version FROM hone.format", NULL, 0, &r, err))) return rc;
    if (pq->call.ntuples(r) == 1) *format = atoi(pq->call.getvalue(r, 0, 0));
    hn_pq_clear(pq, r);
    if (*format > FORMAT)
        return hn_fail(err, HONE_E_STORE,
                       "the winners at '%s' have format %d of a newer hone; hone " HONE_VERSION " reads up to %d",
                       pq->name, *format, FORMAT);
    return HONE_OK;
}

static hone_rc upgrade(hn_pq *pq, void *ctx, hone_err *err) {
    static const char *const begin[] = {"SELECT pg_advisory_xact_lock(1752133239)" /* "honw": one at a time */,
                                        "CREATE SCHEMA IF NOT EXISTS hone",
                                        "CREATE TABLE IF NOT EXISTS hone.format (version integer NOT NULL)"};
    int format = 0;
    hone_rc rc = HONE_OK;
    (void)ctx;
    for (size_t i = 0; i < sizeof begin / sizeof *begin && !rc; i++) rc = hn_pq_ask(pq, begin[i], NULL, 0, NULL, err);
    if (!rc) rc = read_format(pq, &format, err);
    if (rc || format == FORMAT) return rc;
    for (; format < FORMAT && !rc; format++)
        for (size_t i = 0; i < STEPS && migration[format][i] && !rc; i++)
            rc = hn_pq_ask(pq, migration[format][i], NULL, 0, NULL, err);
    char number[16];
    const char *value[] = {number};
    snprintf(number, sizeof number, "%d", FORMAT);
    if (!rc) rc = hn_pq_ask(pq, "DELETE FROM hone.format", NULL, 0, NULL, err);
    return rc ? rc : hn_pq_ask(pq, "INSERT INTO hone.format VALUES ($1)", value, 1, NULL, err);
}

static void close_place(void *state) {
    place *p = state;
    if (!p) return;
    hn_pq_close(&p->pq);
    free(p->select);
    free(p->put);
    free(p);
}

static hone_rc prepare(place *p, bool write, hone_err *err) {
    int format = 0;
    hone_rc rc = read_format(&p->pq, &format, err);
    if (rc || format == FORMAT) return rc;
    if (write) return hn_pq_transact(&p->pq, upgrade, NULL, err);
    return format ? HONE_OK
                  : hn_fail(err, HONE_E_NOTFOUND, "no winners at '%s'; 'hone tune MODEL.onnx' makes their tables",
                            p->pq.name);
}

static hone_rc open_place(const char *where, bool write, void **state, hone_err *err) {
    place *p = calloc(1, sizeof *p);
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory opening the winners");
    p->select = select_text();
    p->put = put_text();
    hone_rc rc = p->select && p->put ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory opening the winners");
    if (!rc) rc = hn_pq_open(&p->pq, where, err);
    if (!rc) rc = prepare(p, write, err);
    if (rc)
        close_place(p);
    else
        *state = p;
    return rc;
}

/* --- rows ----------------------------------------------------------------------------------------------------------
 */

static hone_rc put_row(place *p, const hone_winner *row, size_t *n_new, hone_err *err) {
    hone_winner w = *row;
    char id[33], family[33], kernel[33], number[HN_WINNER_NUMBERS][32];
    const char *value[COLUMNS] = {id, family, kernel};
    PGresult *r = NULL;
    hone_winner_id(&w, id);
    hone_winner_family(&w, family);
    hash_kernel(&w, kernel);
    for (int i = 0; i < HN_WINNER_TEXTS; i++) {
        const char *text = *hn_winner_text_of(&w, i);
        value[HASHES + i] = text ? text : "";
    }
    for (int i = 0; i < HN_WINNER_NUMBERS; i++) {
        double x = *hn_winner_number_of(&w, i);
        value[HASHES + HN_WINNER_TEXTS + i] = hn_double_text(isfinite(x) ? x : 0, number[i]);
    }
    hone_rc rc = hn_pq_ask(&p->pq, p->put, value, COLUMNS, &r, err);
    if (rc) return rc;
    *n_new += *p->pq.call.cmdTuples(r) == '1';
    hn_pq_clear(&p->pq, r);
    return HONE_OK;
}

typedef struct named {
    char id[33];
    const hone_winner *row;
} named;
typedef struct incoming {
    place *p;
    named *row;
    size_t n, n_new;
} incoming;

static int by_id(const void *a, const void *b) { return strcmp(((const named *)a)->id, ((const named *)b)->id); }

static hone_rc put_rows(hn_pq *pq, void *ctx, hone_err *err) {
    incoming *in = ctx;
    hone_rc rc = HONE_OK;
    (void)pq;
    in->n_new = 0;
    for (size_t i = 0; i < in->n && !rc; i++) rc = put_row(in->p, in->row[i].row, &in->n_new, err);
    return rc;
}

/* In the order of their ids, so that two imports never wait for each other. */
static hone_rc put(void *state, const hone_winner *row, size_t n, bool import, size_t *n_new, hone_err *err) {
    place *p = state;
    incoming in = {p, calloc(n + 1, sizeof *in.row), n, 0};
    (void)import;
    if (!in.row) return hn_fail(err, HONE_E_NOMEM, "out of memory writing winners");
    for (size_t i = 0; i < n; i++) {
        in.row[i].row = &row[i];
        hone_winner_id(&row[i], in.row[i].id);
    }
    qsort(in.row, n, sizeof *in.row, by_id);
    hone_rc rc = hn_pq_transact(&p->pq, put_rows, &in, err);
    free(in.row);
    if (!rc) *n_new = in.n_new;
    return rc;
}

static double number_at(const hn_pq *pq, const PGresult *r, int row, int i) {
    return pq->call.getisnull(r, row, i) ? NAN : hn_strtod(pq->call.getvalue(r, row, i), NULL);
}

static bool read_row(const hn_pq *pq, const PGresult *r, int row, hone_winner *out) {
    hone_winner w = {0};
    for (int i = 0; i < HN_WINNER_TEXTS; i++) *hn_winner_text_of(&w, i) = pq->call.getvalue(r, row, HASHES + i);
    for (int i = 0; i < HN_WINNER_NUMBERS; i++)
        *hn_winner_number_of(&w, i) = number_at(pq, r, row, HASHES + HN_WINNER_TEXTS + i);
    return hn_winner_copy(&w, out);
}

static hone_rc take_row(place *p, const char *rest, const char *const *value, int n, hone_winner *out, hone_err *err) {
    hn_str sql = {0};
    PGresult *r = NULL;
    hn_str_addf(&sql, "%s %s LIMIT 1", p->select, rest);
    hone_rc rc =
        sql.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory reading a winner") : ask(p, sql.text, value, n, &r, err);
    hn_str_free(&sql);
    if (rc) return rc;
    if (p->pq.call.ntuples(r) < 1)
        rc = hn_fail(err, HONE_E_NOTFOUND, "no winner of this kernel");
    else if (!read_row(&p->pq, r, 0, out))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading a winner");
    hn_pq_clear(&p->pq, r);
    return rc;
}

static hone_rc find(void *state, const hone_winner *key, hone_winner *out, hone_err *err) {
    char id[33], family[33];
    const char *value[] = {family, id};
    hone_winner_id(key, id);
    hone_winner_family(key, family);
    return take_row(state, "WHERE family = $1 ORDER BY id = $2 DESC, at_s DESC, id", value, 2, out, err);
}

static hone_rc nearest(void *state, const hone_winner *key, hone_winner *out, hone_err *err) {
    char kernel[33];
    const char *value[] = {kernel};
    hash_kernel(key, kernel);
    return take_row(state, "WHERE kernel = $1 ORDER BY at_s DESC, id", value, 1, out, err);
}

static hone_rc list(void *state, hone_winner **out, size_t *n, hone_err *err) {
    place *p = state;
    hn_winner_list l = {0};
    hn_str sql = {0};
    PGresult *r = NULL;
    hn_str_addf(&sql, "%s ORDER BY at_s DESC, id", p->select);
    hone_rc rc = sql.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory reading the winners")
                            : ask(p, sql.text, NULL, 0, &r, err);
    hn_str_free(&sql);
    if (rc) return rc;
    for (int i = 0; i < p->pq.call.ntuples(r) && !rc; i++) {
        hone_winner one = {0};
        if (read_row(&p->pq, r, i, &one) && hn_winner_list_add(&l, &one)) continue;
        hone_winner_free(&one);
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading the winners");
    }
    hn_pq_clear(&p->pq, r);
    if (rc) {
        hone_winners_list_free(l.row, l.n);
        return rc;
    }
    *out = l.row;
    *n = l.n;
    return HONE_OK;
}

typedef struct removal {
    const char *id;
    bool found;
} removal;

static hone_rc remove_in(hn_pq *pq, void *ctx, hone_err *err) {
    removal *x = ctx;
    hone_winner w = {0};
    char trials[33];
    const char *value[] = {x->id}, *of[] = {trials};
    PGresult *r = NULL;
    hn_str sql = {0};
    hn_str_add(&sql, "DELETE FROM hone.winner WHERE id = $1 RETURNING ");
    add_columns(&sql, 0, "");
    hone_rc rc = sql.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory removing a winner")
                            : hn_pq_ask(pq, sql.text, value, 1, &r, err);
    hn_str_free(&sql);
    if (rc) return rc;
    if (pq->call.ntuples(r) < 1)
        rc = x->found ? HONE_OK : hn_fail(err, HONE_E_NOTFOUND, "there is no winner '%s'", x->id);
    else if (!read_row(pq, r, 0, &w))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory removing a winner");
    hn_pq_clear(pq, r);
    if (rc || !w.block) return rc;
    x->found = true; /* in a second attempt it may be gone, if the first one got that far */
    hone_winner_trial_id(&w, trials);
    hone_winner_free(&w);
    return hn_pq_ask(pq, "DELETE FROM hone.winner_trial WHERE id = $1", of, 1, NULL, err);
}

static hone_rc remove_row(void *state, const char *id, hone_err *err) {
    removal x = {id, false};
    return hn_pq_transact(&((place *)state)->pq, remove_in, &x, err);
}

/* --- trials --------------------------------------------------------------------------------------------------------
 */

static hone_rc put_trial(void *state, const char *id, const hone_winner_trial *t, hone_err *err) {
    char ratio[32], time[32], at[32];
    const char *value[] = {id,
                           t->candidate,
                           t->code,
                           hone_outcome_class_name(t->cls),
                           isfinite(t->ratio) ? hn_double_text(t->ratio, ratio) : NULL,
                           isfinite(t->time_s) ? hn_double_text(t->time_s, time) : NULL,
                           hn_double_text(t->at_s, at)};
    return ask(state,
               "INSERT INTO hone.winner_trial VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id, candidate) DO UPDATE"
               " SET (code, class, ratio, time_s, at_s) ="
               " (EXCLUDED.code, EXCLUDED.class, EXCLUDED.ratio, EXCLUDED.time_s, EXCLUDED.at_s)",
               value, 7, NULL, err);
}

static hone_rc trials(void *state, const char *id, hn_trial_list *out, hone_err *err) {
    place *p = state;
    const hn_pq *pq = &p->pq;
    const char *value[] = {id};
    PGresult *r = NULL;
    hone_rc rc = ask(p,
                     "SELECT candidate, code, class, ratio, time_s, at_s FROM hone.winner_trial WHERE id = $1"
                     " ORDER BY at_s, candidate",
                     value, 1, &r, err);
    if (rc) return rc;
    for (int i = 0; i < pq->call.ntuples(r); i++) {
        hone_winner_trial t = {.cls = HONE_NO_METRIC,
                               .ratio = number_at(pq, r, i, 3),
                               .time_s = number_at(pq, r, i, 4),
                               .at_s = number_at(pq, r, i, 5)};
        hone_outcome_class_parse(pq->call.getvalue(r, i, 2), &t.cls);
        hn_trial_list_add(out, &t, pq->call.getvalue(r, i, 0), pq->call.getvalue(r, i, 1));
    }
    hn_pq_clear(&p->pq, r);
    return HONE_OK;
}

static char *name(const char *where) { return hn_pq_name(where, NULL); }

const hn_winners_kind hn_winners_postgresql = {"postgresql", "a server of PostgreSQL, for many machines",
                                               open_place,   close_place,
                                               put,          find,
                                               nearest,      list,
                                               remove_row,   put_trial,
                                               trials,       name};
