/* record/winners.c — what tuning found, wherever it is kept: keys, lists, import.
 * Format: docs/winners.md. */
#include "record/winners.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/str.h"

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

/* --- trials as a list ----------------------------------------------------------------------------------------------
 */

/* Texts are kept as offsets into one string until it no longer moves. */
void hn_trial_list_add(hn_trial_list *l, const hone_winner_trial *t, const char *candidate, const char *code) {
    if (l->n == l->room) {
        size_t room = 2 * l->room + 64;
        hone_winner_trial *more = realloc(l->row, room * sizeof *more);
        if (!more) l->texts.failed = true;
        if (!more) return;
        l->row = more;
        l->room = room;
    }
    l->row[l->n++] = *t;
    hn_str_add_n(&l->texts, candidate, strlen(candidate) + 1);
    hn_str_add_n(&l->texts, code, strlen(code) + 1);
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

/* --- where they are ------------------------------------------------------------------------------------------------
 */

static const hn_winners_kind *const kinds[] = {&hn_winners_sqlite, &hn_winners_postgresql, NULL};

struct hone_winners {
    const hn_winners_kind *kind;
    void *state;
};

const hn_winners_kind *const *hn_winners_kinds(void) { return kinds; }

char *hone_winners_file(void) {
    const char *data = getenv("XDG_DATA_HOME");
    if (data && *data == '/') return hn_path_join(data, "hone/winners.db");
    char *home = hn_home_dir(), *dir = home ? home : hn_cache_dir();
    char *path = dir ? hn_path_join(dir, home ? ".local/share/hone/winners.db" : "winners.db") : NULL;
    free(dir);
    return path;
}

char *hone_winners_path(void) {
    const char *named = getenv("HONE_WINNERS");
    return named && *named ? strdup(named) : hone_winners_file();
}

/* "SCHEME://…"; what is none is a file. NULL: it is a URL of something else. */
static const hn_winners_kind *kind_of(const char *where, const char **rest) {
    size_t n = strspn(where, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    *rest = where;
    if (!n || strncmp(where + n, "://", 3) != 0) return &hn_winners_sqlite;
    if (n == 8 && !strncmp(where, "postgres", n)) return &hn_winners_postgresql;
    for (size_t i = 0; kinds[i]; i++)
        if (strlen(kinds[i]->scheme) == n && !strncmp(where, kinds[i]->scheme, n)) {
            if (kinds[i] == &hn_winners_sqlite) *rest = where + n + 3;
            return kinds[i];
        }
    return NULL;
}

char *hone_winners_name(const char *where) {
    const char *rest;
    const hn_winners_kind *kind = kind_of(where, &rest);
    if (kind) return kind->name(rest);
    hn_str s = {0};
    hn_str_addf(&s, "%.*s…", (int)(strstr(where, "://") + 3 - where), where);
    return hn_str_take(&s);
}

static hone_rc open_where(const char *where, bool write, hone_winners *w, hone_err *err) {
    const char *rest;
    w->kind = kind_of(where, &rest);
    if (!w->kind)
        return hn_fail(err, HONE_E_USAGE,
                       "winners are kept in a file or at postgresql://HOST/DATABASE; nothing is known of '%.*s://'",
                       (int)(strstr(where, "://") - where), where);
    return w->kind->open(rest, write, &w->state, err);
}

hone_rc hone_winners_open(const char *where, bool write, hone_winners **out, hone_err *err) {
    char *whole = where ? strdup(where) : hone_winners_path();
    hone_winners *w = calloc(1, sizeof *w);
    hone_rc rc =
        whole && w ? open_where(whole, write, w, err) : hn_fail(err, HONE_E_NOMEM, "out of memory opening the winners");
    free(whole);
    if (rc) {
        free(w);
        return rc;
    }
    *out = w;
    return HONE_OK;
}

void hone_winners_close(hone_winners *w) {
    if (w) w->kind->close(w->state);
    free(w);
}

/* --- rows ----------------------------------------------------------------------------------------------------------
 */

hone_rc hone_winners_put(hone_winners *w, const hone_winner *winner, hone_err *err) {
    size_t n_new;
    return w->kind->put(w->state, winner, 1, false, &n_new, err);
}

hone_rc hone_winners_find(hone_winners *w, const hone_winner *key, hone_winner *out, hone_err *err) {
    return w->kind->find(w->state, key, out, err);
}

hone_rc hone_winners_nearest(hone_winners *w, const hone_winner *key, hone_winner *out, hone_err *err) {
    return w->kind->nearest(w->state, key, out, err);
}

hone_rc hone_winners_list(hone_winners *w, hone_winner **out, size_t *n, hone_err *err) {
    return w->kind->list(w->state, out, n, err);
}

hone_rc hone_winners_remove(hone_winners *w, const char *id, hone_err *err) {
    return w->kind->remove(w->state, id, err);
}

hone_rc hone_winners_put_trial(hone_winners *w, const char *id, const hone_winner_trial *trial, hone_err *err) {
    return w->kind->put_trial(w->state, id, trial, err);
}

hone_rc hone_winners_trials(hone_winners *w, const char *id, hone_winner_trial **out, size_t *n, hone_err *err) {
    hn_trial_list l = {0};
    hone_rc rc = w->kind->trials(w->state, id, &l, err);
    if (!rc && l.texts.failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading trials");
    if (!rc) rc = pack_trials(l.row, l.n, &l.texts, out, err);
    if (!rc) *n = l.n;
    free(l.row);
    hn_str_free(&l.texts);
    return rc;
}

/* --- import, export ------------------------------------------------------------------------------------------------
 */

hone_rc hone_winners_import(hone_winners *w, const char *text, size_t n, const char *label, size_t *n_read,
                            size_t *n_new, hone_err *err) {
    hone_winner *list;
    size_t count;
    hone_rc rc = hone_winners_parse(text, n, label, &list, &count, err);
    if (rc) return rc;
    size_t taken = 0;
    rc = w->kind->put(w->state, list, count, true, &taken, err);
    hone_winners_list_free(list, count);
    if (rc) return rc;
    if (n_read) *n_read = count;
    if (n_new) *n_new = taken;
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
