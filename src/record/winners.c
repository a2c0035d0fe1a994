/* record/winners.c — winners.db: one row per key, one row per trial. Format: docs/winners.md. */
#include "record/winners.h"
#include "base/fs.h"
#include "base/hash.h"
#include "record/store_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name)                                                                                                    \
    { #name, offsetof(hone_winner, name) }
const hn_winner_field hn_winner_text[HN_WINNER_TEXTS] = {
    FIELD(kind),    FIELD(body),      FIELD(target),       FIELD(device),    FIELD(driver), FIELD(compiler),
    FIELD(numeric), FIELD(schedules), FIELD(sizes),        FIELD(schedule),  FIELD(cc),     FIELD(cc_identity),
    FIELD(flags),   FIELD(code),      FIELD(default_code), FIELD(provenance)};
const hn_winner_field hn_winner_number[HN_WINNER_NUMBERS] = {
    FIELD(default_s), FIELD(tuned_s), FIELD(gain_lo), FIELD(gain), FIELD(gain_hi), FIELD(pairs), FIELD(at_s)};
#undef FIELD

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

struct hone_winners {
    hone_store *store;
};

/* --- one winner ----------------------------------------------------------------------------------------------------
 */

static void hash_key(const hone_winner *w, int n, char hex[33]) {
    hone_winner copy = *w;
    hn_hash h;
    hn_hash_begin(&h);
    for (int i = 0; i < n; i++) {
        const char *text = *hn_winner_text_of(&copy, i);
        hn_hash_text(&h, text ? text : "");
    }
    hn_hash_end(&h, hex);
}
void hone_winner_id(const hone_winner *w, char hex[33]) { hash_key(w, HN_WINNER_KEYS, hex); }
void hone_winner_family(const hone_winner *w, char hex[33]) { hash_key(w, HN_WINNER_KEYS - 1, hex); }

void hone_winner_trial_id(const hone_winner *w, char hex[33]) {
    char id[33];
    hn_hash h;
    hone_winner_id(w, id);
    hn_hash_begin(&h);
    hn_hash_text(&h, id);
    hn_hash_text(&h, w->default_code ? w->default_code : "");
    hn_hash_end(&h, hex);
}

void hone_winner_free(hone_winner *w) {
    free(w->block);
    *w = (hone_winner){0};
}

/* All texts in one block. */
bool hn_winner_copy(const hone_winner *from, hone_winner *to) {
    hone_winner w = *from;
    size_t total = 0;
    for (int i = 0; i < HN_WINNER_TEXTS; i++) {
        const char **text = hn_winner_text_of(&w, i);
        if (!*text) *text = "";
        total += strlen(*text) + 1;
    }
    char *at = w.block = malloc(total);
    for (int i = 0; at && i < HN_WINNER_TEXTS; i++) {
        const char **text = hn_winner_text_of(&w, i);
        size_t n = strlen(*text) + 1;
        *text = memcpy(at, *text, n);
        at += n;
    }
    if (!w.block) return false;
    *to = w;
    return true;
}

bool hn_winner_list_add(hn_winner_list *l, hone_winner *w) {
    if (l->n == l->room) {
        size_t room = 2 * l->room + 8;
        hone_winner *row = realloc(l->row, room * sizeof *row);
        if (!row) return false;
        l->row = row;
        l->room = room;
    }
    l->row[l->n++] = *w;
    return true;
}

void hone_winners_list_free(hone_winner *list, size_t n) {
    for (size_t i = 0; i < n; i++) hone_winner_free(&list[i]);
    free(list);
}

/* --- the file ------------------------------------------------------------------------------------------------------
 */

char *hone_winners_path(void) {
    const char *data = getenv("XDG_DATA_HOME");
    if (data && *data == '/') return hn_path_join(data, "hone/winners.db");
    char *home = hn_home_dir(), *dir = home ? home : hn_cache_dir();
    char *path = dir ? hn_path_join(dir, home ? ".local/share/hone/winners.db" : "winners.db") : NULL;
    free(dir);
    return path;
}

hone_rc hone_winners_open(const char *path, bool write, hone_winners **out, hone_err *err) {
    char *whole = path ? strdup(path) : hone_winners_path();
    hone_winners *w = calloc(1, sizeof *w);
    hone_rc rc = whole && w ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory opening the winners");
    if (!rc) {
        char *slash = strrchr(whole, '/');
        const char *name = slash ? slash + 1 : whole, *dir = slash == whole ? "/" : slash ? whole : ".";
        if (slash) *slash = 0;
        rc = hn_store_open_as(&form, dir, name, write, &w->store, err);
    }
    free(whole);
    if (rc) {
        free(w);
        return rc;
    }
    *out = w;
    return HONE_OK;
}

void hone_winners_close(hone_winners *w) {
    if (w) hone_store_close(w->store);
    free(w);
}

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

hone_rc hone_winners_put(hone_winners *w, const hone_winner *winner, hone_err *err) {
    hone_winner copy = *winner;
    return hn_store_transact(w->store, put_body, &copy, NULL, err);
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

hone_rc hone_winners_find(hone_winners *w, const hone_winner *key, hone_winner *out, hone_err *err) {
    char id[33], family[33];
    sqlite3_stmt *q;
    hone_winner_id(key, id);
    hone_winner_family(key, family);
    hone_rc rc = hn_store_stmt(w->store, HN_SQL_FIND_WINNER, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, family);
    hn_bind_text(q, 2, id);
    return take_row(w->store, q, out, err);
}

hone_rc hone_winners_nearest(hone_winners *w, const hone_winner *key, hone_winner *out, hone_err *err) {
    const char *const texts[] = {key->kind, key->body, key->target, key->numeric};
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(w->store, HN_SQL_NEAREST_WINNER, &q, err);
    if (rc) return rc;
    for (int i = 0; i < 4; i++) hn_bind_text(q, i + 1, texts[i]);
    return take_row(w->store, q, out, err);
}

hone_rc hone_winners_list(hone_winners *w, hone_winner **out, size_t *n, hone_err *err) {
    hn_winner_list l = {0};
    sqlite3_stmt *q;
    bool row;
    hone_rc rc = hn_store_stmt(w->store, HN_SQL_LIST_WINNERS, &q, err);
    if (rc) return rc;
    while (!(rc = hn_store_step(w->store, q, &row, err)) && row) {
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

hone_rc hone_winners_remove(hone_winners *w, const char *id, hone_err *err) {
    return hn_store_transact(w->store, remove_body, (void *)(uintptr_t)id, NULL, err);
}

/* --- import --------------------------------------------------------------------------------------------------------
 */

typedef struct incoming {
    const hone_winner *row;
    size_t n, n_new;
} incoming;

/* All or nothing. */
static hone_rc import_body(hone_store *s, void *ctx, hone_err *err) {
    incoming *in = ctx;
    in->n_new = 0;
    for (size_t i = 0; i < in->n; i++) {
        char id[33];
        sqlite3_stmt *q;
        bool row;
        hone_winner copy = in->row[i];
        hone_winner_id(&copy, id);
        hone_rc rc = hn_store_stmt(s, HN_SQL_WINNER_TIME, &q, err);
        if (rc) return rc;
        hn_bind_text(q, 1, id);
        if ((rc = hn_store_step(s, q, &row, err))) return rc;
        bool older = row && sqlite3_column_double(q, 0) >= copy.at_s;
        sqlite3_reset(q);
        if (older) continue;
        if ((rc = put_body(s, &copy, err))) return rc;
        in->n_new++;
    }
    return HONE_OK;
}

hone_rc hone_winners_import(hone_winners *w, const char *text, size_t n, const char *label, size_t *n_read,
                            size_t *n_new, hone_err *err) {
    hone_winner *list;
    size_t count;
    hone_rc rc = hone_winners_parse(text, n, label, &list, &count, err);
    if (rc) return rc;
    incoming in = {list, count, 0};
    rc = hn_store_transact(w->store, import_body, &in, NULL, err);
    hone_winners_list_free(list, count);
    if (rc) return rc;
    if (n_read) *n_read = count;
    if (n_new) *n_new = in.n_new;
    return HONE_OK;
}

hone_rc hone_winners_parse_file(const char *path, hone_winner **out, size_t *n_out, hone_err *err) {
    char *text;
    size_t n;
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (rc) return rc;
    rc = hone_winners_parse(text, n, path, out, n_out, err);
    free(text);
    return rc;
}

hone_rc hone_winners_import_file(hone_winners *w, const char *path, size_t *n_read, size_t *n_new, hone_err *err) {
    char *text;
    size_t n;
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (rc) return rc;
    rc = hone_winners_import(w, text, n, path, n_read, n_new, err);
    free(text);
    return rc;
}

hone_rc hone_winners_export(hone_winners *w, char **text, hone_err *err) {
    hone_winner *list;
    size_t n;
    hone_rc rc = hone_winners_list(w, &list, &n, err);
    if (rc) return rc;
    rc = hone_winners_format(list, n, text, err);
    hone_winners_list_free(list, n);
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

hone_rc hone_winners_put_trial(hone_winners *w, const char *id, const hone_winner_trial *trial, hone_err *err) {
    trial_row row = {id, trial};
    return hn_store_transact(w->store, trial_body, &row, NULL, err);
}

static double column_number(sqlite3_stmt *q, int i) {
    return sqlite3_column_type(q, i) == SQLITE_NULL ? NAN : sqlite3_column_double(q, i);
}

/* Texts are kept as offsets into one string until it no longer moves. */
static hone_rc read_trials(hone_store *s, sqlite3_stmt *q, hone_winner_trial **list, size_t *n, hn_str *texts,
                           hone_err *err) {
    size_t room = 0;
    bool row;
    hone_rc rc;
    while (!(rc = hn_store_step(s, q, &row, err)) && row) {
        if (*n == room) {
            room = 2 * room + 64;
            hone_winner_trial *more = realloc(*list, room * sizeof *more);
            if (!more) return hn_fail(err, HONE_E_NOMEM, "out of memory reading trials");
            *list = more;
        }
        hone_winner_trial *t = &(*list)[(*n)++];
        *t = (hone_winner_trial){.ratio = column_number(q, 3), .time_s = column_number(q, 4), .cls = HONE_NO_METRIC};
        t->at_s = column_number(q, 5);
        hone_outcome_class_parse(hn_column(q, 2), &t->cls);
        for (int i = 0; i < 2; i++) {
            const char *text = hn_column(q, i);
            hn_str_add_n(texts, text, strlen(text) + 1);
        }
    }
    if (!rc && texts->failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading trials");
    return rc;
}

static hone_rc pack_trials(hone_winner_trial *list, size_t n, const hn_str *texts, hone_winner_trial **out,
                           hone_err *err) {
    hone_winner_trial *block = malloc((n + 1) * sizeof *block + texts->n + 1);
    if (!block) return hn_fail(err, HONE_E_NOMEM, "out of memory reading trials");
    char *at = (char *)(block + n + 1);
    if (n) memcpy(block, list, n * sizeof *block);
    if (texts->n) memcpy(at, texts->text, texts->n);
    for (size_t i = 0; i < n; i++) {
        block[i].candidate = at;
        at += strlen(at) + 1;
        block[i].code = at;
        at += strlen(at) + 1;
    }
    *out = block;
    return HONE_OK;
}

hone_rc hone_winners_trials(hone_winners *w, const char *id, hone_winner_trial **out, size_t *n, hone_err *err) {
    hone_winner_trial *list = NULL;
    size_t count = 0;
    hn_str texts = {0};
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(w->store, HN_SQL_WINNER_TRIALS, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, id);
    rc = read_trials(w->store, q, &list, &count, &texts, err);
    sqlite3_reset(q);
    if (!rc) rc = pack_trials(list, count, &texts, out, err);
    if (!rc) *n = count;
    free(list);
    hn_str_free(&texts);
    return rc;
}
