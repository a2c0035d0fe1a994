/* record/trial.c — trials: one transaction each; their samples as one compact blob; past winners. */
#include "record/store_int.h"

#include "base/err.h"
#include "base/locale.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* A JSON array that reads back exactly: null is NAN, ±9e999 an infinity (SQLite's JSON functions read it so too). */
static void add_numbers(hn_str *s, const double *x, size_t n) {
    char text[32];
    hn_str_add(s, "[");
    for (size_t i = 0; i < n; i++) {
        const char *t = isnan(x[i])   ? "null"
                        : isinf(x[i]) ? (x[i] < 0 ? "-9e999" : "9e999")
                                      : hn_double_text(x[i], text);
        hn_str_addf(s, "%s%s", i ? "," : "", t);
    }
    hn_str_add(s, "]");
}

static size_t read_numbers(const char *text, double *x, size_t most) {
    size_t n = 0;
    for (const char *at = text + (*text == '['); n < most && *at && *at != ']';) {
        char *end;
        if (!strncmp(at, "null", 4)) {
            x[n++] = NAN;
            end = (char *)(uintptr_t)at + 4;
        } else {
            x[n] = hn_strtod(at, &end);
            if (end == at) break;
            n++;
        }
        at = end + (*end == ',');
    }
    return n;
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* One sample: number of its series (u16), value (IEEE double), both little-endian, in the order taken. */
enum { SAMPLE_B = 10, SERIES_MAX = 65535 };

static void put_sample(unsigned char *at, int64_t series, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    at[0] = (unsigned char)series;
    at[1] = (unsigned char)(series >> 8);
    for (int i = 0; i < 8; i++) at[2 + i] = (unsigned char)(bits >> (8 * i));
}

static double take_sample(const unsigned char *at, unsigned *series) {
    uint64_t bits = 0;
    double value;
    *series = at[0] | (unsigned)at[1] << 8;
    for (int i = 0; i < 8; i++) bits |= (uint64_t)at[2 + i] << (8 * i);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static hone_rc bind_series(hone_store *s, hn_sql id, int64_t session, const hone_sample *x, sqlite3_stmt **out,
                           hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, id, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, session);
    hn_bind_text(q, 2, x->metric);
    hn_bind_text(q, 3, x->input);
    sqlite3_bind_int(q, 4, x->side);
    *out = q;
    return HONE_OK;
}

static hone_rc find_series(hone_store *s, int64_t session, const hone_sample *x, int64_t *series, hone_err *err) {
    sqlite3_stmt *q;
    for (int round = 0; round < 2; round++) {
        bool row;
        hone_rc rc = bind_series(s, HN_SQL_FIND_SERIES, session, x, &q, err);
        if (!rc) rc = hn_store_step(s, q, &row, err);
        if (rc) return rc;
        if (row) *series = sqlite3_column_int64(q, 0);
        sqlite3_reset(q);
        if (row)
            return *series <= SERIES_MAX ? HONE_OK
                                         : hn_fail(err, HONE_E_LIMIT,
                                                   "more than %d metrics times inputs in one "
                                                   "session",
                                                   SERIES_MAX);
        rc = bind_series(s, HN_SQL_ADD_SERIES, session, x, &q, err);
        if (!rc) rc = hn_store_run(s, q, err);
        if (rc) return rc;
    }
    return hn_fail(err, HONE_E_STORE, "'%s' does not store what is written to it", s->path);
}

static bool same_series(const hone_sample *a, const hone_sample *b) {
    return a->side == b->side && !strcmp(a->metric, b->metric) && !strcmp(a->input, b->input);
}

/* --- adding ------------------------------------------------------------------------------------------------------- */

typedef struct adding {
    int64_t session, id;
    const hone_trial *trial;
    char *value, *violation;
    unsigned char *body;
} adding;

static hone_rc add_samples(hone_store *s, adding *a, hone_err *err) {
    const hone_trial *t = a->trial;
    int64_t series = 0;
    for (size_t i = 0; i < t->n_samples; i++) {
        const hone_sample *x = &t->sample[i];
        hone_rc rc = i && same_series(x, x - 1) ? HONE_OK : find_series(s, a->session, x, &series, err);
        if (rc) return rc;
        put_sample(a->body + i * SAMPLE_B, series, x->value);
    }
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ADD_SAMPLES, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, a->session);
    sqlite3_bind_int64(q, 2, a->id);
    sqlite3_bind_blob64(q, 3, a->body, t->n_samples * SAMPLE_B, SQLITE_STATIC);
    return hn_store_run(s, q, err);
}

static hone_rc add_row(hone_store *s, const adding *a, hone_err *err) {
    const hone_trial *t = a->trial;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ADD_TRIAL, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, a->session);
    sqlite3_bind_int64(q, 2, a->id);
    hn_bind_text(q, 3, t->phase);
    hn_bind_text(q, 4, t->point);
    sqlite3_bind_int64(q, 5, (int64_t)t->point_hash);
    hn_bind_text(q, 6, t->object_hash);
    sqlite3_bind_int64(q, 7, t->same_as);
    hn_bind_text(q, 8, hone_outcome_class_name(t->outcome.cls));
    hn_bind_text(q, 9, a->value);
    hn_bind_text(q, 10, a->violation);
    hn_bind_text(q, 11, t->origin);
    hn_bind_text(q, 12, t->detail);
    const double number[] = {t->build_s, t->run_s, t->at_s}; /* SQLite keeps a NAN as NULL */
    for (int i = 0; i < 3; i++) sqlite3_bind_double(q, 13 + i, isnan(number[i]) ? 0 : number[i]);
    sqlite3_bind_int64(q, 16, t->n_asked);
    sqlite3_bind_int(q, 17, t->suspect);
    return hn_store_run(s, q, err);
}

/* One number of a statement bound to (session, x); *found tells whether there was a row. */
static hone_rc look_up(hone_store *s, hn_sql id, int64_t session, int64_t x, int64_t *out, bool *found, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, id, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, session);
    if (sqlite3_bind_parameter_count(q) > 1) sqlite3_bind_int64(q, 2, x);
    rc = hn_store_step(s, q, found, err);
    if (!rc && *found) *out = sqlite3_column_int64(q, 0);
    sqlite3_reset(q);
    return rc;
}

/* Repeatable: the first attempt fixes the id; if it reached the disk although it reported a failure, the second finds
 * the trial and succeeds. */
static hone_rc add_body(hone_store *s, void *ctx, hone_err *err) {
    adding *a = ctx;
    const int64_t hash = (int64_t)a->trial->point_hash;
    int64_t seen = 0;
    bool found = false, again = a->id != 0;
    hone_rc rc;
    if (again) {
        rc = look_up(s, HN_SQL_FIND_TRIAL, a->session, a->id, &seen, &found, err);
        if (rc || found) return rc;
    } else {
        rc = look_up(s, HN_SQL_LAST_TRIAL, a->session, 0, &seen, &found, err);
        if (rc) return rc;
        a->id = seen + 1;
    }
    if (!strcmp(a->trial->phase, "search")) {
        rc = look_up(s, HN_SQL_FIND_POINT, a->session, hash, &seen, &found, err);
        if (rc) return rc;
        if (found)
            return hn_fail(err, HONE_E_STORE, "this point was measured before, as trial %lld of session %lld",
                           (long long)seen, (long long)a->session);
    }
    rc = add_row(s, a, err);
    return rc || !a->trial->n_samples ? rc : add_samples(s, a, err);
}

static hone_rc check_trial(const hone_store *s, int64_t session, const hone_trial *t, hone_err *err) {
    if (s->locked != session || !session)
        return hn_fail(err, HONE_E_STORE, "session %lld is not being written by this store", (long long)session);
    if (t->n_objectives > HONE_MAX_OBJECTIVES || t->n_constraints > HONE_MAX_CONSTRAINTS || !t->phase || !t->point ||
        (unsigned)t->outcome.cls >= HONE_N_CLASSES)
        return hn_fail(err, HONE_E_FAILED,
                       "a trial without phase, point or a known class, or with too many objectives");
    return HONE_OK;
}

hone_rc hone_trial_add(hone_store *s, int64_t session, hone_trial *trial, bool *written, hone_err *err) {
    if (written) *written = false;
    hone_rc rc = check_trial(s, session, trial, err);
    if (rc) return rc;
    hn_str value = {0}, violation = {0};
    add_numbers(&value, trial->outcome.value, trial->n_objectives);
    add_numbers(&violation, trial->outcome.violation, trial->n_constraints);
    adding a = {session, 0, trial, hn_str_take(&value), hn_str_take(&violation), NULL};
    bool fits = trial->n_samples <= SIZE_MAX / SAMPLE_B;
    if (trial->n_samples && fits) a.body = malloc(trial->n_samples * SAMPLE_B);
    bool on_disk = false;
    if (!a.value || !a.violation || (trial->n_samples && !a.body))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory writing a trial");
    else
        rc = hn_store_transact(s, add_body, &a, &on_disk, err);
    if (on_disk) trial->id = a.id;
    if (written) *written = on_disk;
    free(a.value);
    free(a.violation);
    free(a.body);
    return rc;
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

typedef struct series_row {
    const char *metric, *input;
    int side;
} series_row;
typedef struct loading {
    hn_arena *arena;
    series_row *series; /* by number, 0 unused */
    size_t n_series;
    const char *phase, *origin; /* the last ones seen, since they repeat */
} loading;

static hone_rc load_series(hone_store *s, int64_t session, loading *l, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_SERIES, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, session);
    bool row;
    size_t room = 0;
    while (!(rc = hn_store_step(s, q, &row, err)) && row) {
        size_t id = (size_t)sqlite3_column_int64(q, 0);
        if (id > SERIES_MAX) continue;
        if (id >= room) {
            size_t more = 2 * id + 8;
            series_row *list = HN_NEW_N(l->arena, series_row, more);
            if (!list) break;
            if (room) memcpy(list, l->series, room * sizeof *list);
            l->series = list;
            room = more;
        }
        l->series[id] = (series_row){hn_strdup(l->arena, hn_column(q, 1)), hn_strdup(l->arena, hn_column(q, 2)),
                                     sqlite3_column_int(q, 3)};
        l->n_series = id + 1;
    }
    sqlite3_reset(q);
    return rc;
}

static void unpack_samples(const loading *l, sqlite3_stmt *q, int column, hone_trial *t) {
    const unsigned char *body = sqlite3_column_blob(q, column);
    size_t n = (size_t)sqlite3_column_bytes(q, column) / SAMPLE_B;
    hone_sample *list = n ? HN_NEW_N(l->arena, hone_sample, n) : NULL;
    for (size_t i = 0; list && i < n; i++) {
        unsigned id;
        double value = take_sample(body + i * SAMPLE_B, &id);
        if (id >= l->n_series || !l->series[id].metric) continue;
        list[t->n_samples++] = (hone_sample){l->series[id].metric, l->series[id].input, l->series[id].side, value};
    }
    t->sample = list;
}

static const char *intern(hn_arena *a, const char **last, const char *text) {
    if (!*last || strcmp(*last, text) != 0) *last = hn_strdup(a, text);
    return *last;
}

static hone_rc load_trial(hone_store *s, loading *l, sqlite3_stmt *q, hone_trial *t, hone_err *err) {
    hn_arena *a = l->arena;
    *t = (hone_trial){.id = sqlite3_column_int64(q, 0),
                      .phase = intern(a, &l->phase, hn_column(q, 1)),
                      .point = hn_strdup(a, hn_column(q, 2)),
                      .point_hash = (uint64_t)sqlite3_column_int64(q, 3),
                      .object_hash = hn_strdup(a, hn_column(q, 4)),
                      .same_as = sqlite3_column_int64(q, 5),
                      .origin = intern(a, &l->origin, hn_column(q, 9)),
                      .detail = hn_strdup(a, hn_column(q, 10)),
                      .build_s = sqlite3_column_double(q, 11),
                      .run_s = sqlite3_column_double(q, 12),
                      .at_s = sqlite3_column_double(q, 13),
                      .n_asked = sqlite3_column_int64(q, 14),
                      .suspect = sqlite3_column_int(q, 15) != 0};
    if (!hone_outcome_class_parse(hn_column(q, 6), &t->outcome.cls))
        return hn_fail(err, HONE_E_STORE, "'%s': trial %lld has the unknown class '%s'", s->path, (long long)t->id,
                       hn_column(q, 6));
    t->n_objectives = read_numbers(hn_column(q, 7), t->outcome.value, HONE_MAX_OBJECTIVES);
    t->n_constraints = read_numbers(hn_column(q, 8), t->outcome.violation, HONE_MAX_CONSTRAINTS);
    unpack_samples(l, q, 16, t);
    return HONE_OK;
}

static hone_rc load_all(hone_store *s, int64_t session, bool with_samples, loading *l, hone_trials *out,
                        hone_err *err) {
    int64_t count = 0;
    bool row;
    hone_rc rc = look_up(s, HN_SQL_COUNT_TRIALS, session, 0, &count, &row, err);
    if (!rc && with_samples) rc = load_series(s, session, l, err);
    if (rc) return rc;
    out->trial = HN_NEW_N(l->arena, hone_trial, (size_t)count);
    sqlite3_stmt *q;
    rc = hn_store_stmt(s, HN_SQL_TRIALS, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, session);
    sqlite3_bind_int(q, 2, with_samples);
    while (hn_arena_ok(l->arena) && out->n < (size_t)count && !(rc = hn_store_step(s, q, &row, err)) && row) {
        rc = load_trial(s, l, q, &out->trial[out->n], err);
        if (rc) break;
        out->n++;
    }
    sqlite3_reset(q);
    if (!rc && !hn_arena_ok(l->arena)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    return rc;
}

hone_rc hone_trials_load(hone_store *s, int64_t session, bool with_samples, hone_trials *out, hone_err *err) {
    hn_arena *arena = calloc(1, sizeof *arena);
    if (!arena) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    loading l = {.arena = arena};
    hone_trials got = {.block = arena};
    hone_rc rc = load_all(s, session, with_samples, &l, &got, err);
    if (rc)
        hone_trials_free(&got);
    else
        *out = got;
    return rc;
}

void hone_trials_free(hone_trials *trials) {
    if (!trials || !trials->block) return;
    hn_arena_free(trials->block);
    free(trials->block);
    *trials = (hone_trials){0};
}

/* --- winners ------------------------------------------------------------------------------------------------------ */

enum { PAST_MAX = 64, WINNERS_MAX = 1000 };

/* Points collected, without duplicates. */
typedef struct winners {
    char **text;
    uint64_t hash[WINNERS_MAX];
    size_t n, most;
    bool failed;
} winners;

static void add_winner(winners *w, const char *point, uint64_t hash) {
    for (size_t i = 0; i < w->n; i++)
        if (w->hash[i] == hash) return;
    if (w->n == w->most) return;
    w->text[w->n] = strdup(point);
    w->failed |= !w->text[w->n];
    w->hash[w->n] = hash;
    w->n += w->text[w->n] != NULL;
}

/* The point of a session at rank `rank` for one objective; *more is false when there is none. */
static hone_rc winner_at(hone_store *s, int64_t session, size_t objective, bool maximize, size_t rank, winners *w,
                         bool *more, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_WINNERS, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, session);
    sqlite3_bind_int64(q, 2, (int64_t)objective);
    sqlite3_bind_int(q, 3, maximize ? -1 : 1);
    sqlite3_bind_int64(q, 4, (int64_t)rank + 1);
    bool row = true;
    for (size_t i = 0; i <= rank && row && !rc; i++) rc = hn_store_step(s, q, &row, err);
    if (!rc && row) add_winner(w, hn_column(q, 0), (uint64_t)sqlite3_column_int64(q, 1));
    *more = !rc && row;
    sqlite3_reset(q);
    return rc;
}

typedef struct past {
    int64_t id;
    size_t n_objectives;
    bool maximize[HONE_MAX_OBJECTIVES];
} past;

static void read_directions(past *p, const char *objectives) {
    json_t *list = json_loads(objectives, 0, NULL);
    p->n_objectives = json_array_size(list);
    if (p->n_objectives < 1) p->n_objectives = 1;
    if (p->n_objectives > HONE_MAX_OBJECTIVES) p->n_objectives = HONE_MAX_OBJECTIVES;
    for (size_t i = 0; i < p->n_objectives; i++) {
        const char *d = json_string_value(json_object_get(json_array_get(list, i), "direction"));
        p->maximize[i] = d && hn_starts_with(d, "max");
    }
    json_decref(list);
}

static hone_rc find_past(hone_store *s, const char *space_hash, int64_t except, past *list, size_t *n, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_PAST_SESSIONS, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, space_hash);
    sqlite3_bind_int64(q, 2, except);
    bool row;
    while (*n < PAST_MAX && !(rc = hn_store_step(s, q, &row, err)) && row) {
        list[*n] = (past){.id = sqlite3_column_int64(q, 0)};
        read_directions(&list[(*n)++], hn_column(q, 1));
    }
    sqlite3_reset(q);
    return rc;
}

/* Values of two sessions are not comparable, ranks are: the best of each (newest session first), then the second … */
static hone_rc gather(hone_store *s, const past *list, size_t n, winners *w, hone_err *err) {
    hone_rc rc = HONE_OK;
    bool any = true;
    for (size_t rank = 0; rank < w->most && any && w->n < w->most && !rc; rank++) {
        any = false;
        for (size_t i = 0; i < n && !rc; i++)
            for (size_t k = 0; k < list[i].n_objectives && !rc; k++) {
                bool more = false;
                rc = winner_at(s, list[i].id, k, list[i].maximize[k], rank, w, &more, err);
                any |= more;
            }
    }
    return !rc && w->failed ? hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path) : rc;
}

/* One block: the pointers, then the texts. */
static char **pack(const winners *w) {
    size_t total = (w->n + 1) * sizeof(char *);
    for (size_t i = 0; i < w->n; i++) total += strlen(w->text[i]) + 1;
    char **block = malloc(total), *at = (char *)(block ? block + w->n + 1 : NULL);
    for (size_t i = 0; block && i < w->n; i++) {
        size_t len = strlen(w->text[i]) + 1;
        block[i] = memcpy(at, w->text[i], len);
        at += len;
    }
    if (block) block[w->n] = NULL;
    return block;
}

hone_rc hone_store_winners(hone_store *s, const char *space_hash, int64_t except_session, size_t most, char ***points,
                           size_t *n, hone_err *err) {
    past list[PAST_MAX];
    size_t n_past = 0;
    winners *w = calloc(1, sizeof *w);
    if (w) w->most = most < WINNERS_MAX ? most : WINNERS_MAX;
    if (w) w->text = calloc(w->most + 1, sizeof *w->text);
    hone_rc rc = w && w->text ? find_past(s, space_hash, except_session, list, &n_past, err)
                              : hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    if (!rc) rc = gather(s, list, n_past, w, err);
    char **block = rc ? NULL : pack(w);
    if (!rc && !block) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    if (!rc) {
        *points = block;
        *n = w->n;
    }
    for (size_t i = 0; w && w->text && i < w->n; i++) free(w->text[i]);
    if (w) free(w->text);
    free(w);
    return rc;
}
