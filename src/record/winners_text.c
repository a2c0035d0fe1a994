/* record/winners_text.c — winners as YAML, and back: the form that people read, review, and copy between machines. */
#include "base/yaml.h"
#include "record/winners.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- out -----------------------------------------------------------------------------------------------------------
 */

/* Can it stand as a block, line by line as it is? It must be plain ASCII and end with one line end. */
static bool is_block(const char *text) {
    size_t n = strlen(text);
    if (n < 2 || text[n - 1] != '\n' || text[n - 2] == '\n') return false;
    for (const char *p = text; *p; p++)
        if ((*p < ' ' && *p != '\n') || *p > '~') return false;
    return true;
}

static void add_block(hn_str *s, const char *text) {
    hn_str_add(s, "|2\n"); /* with an indentation indicator: a first line may begin with blanks */
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        hn_str_add(s, n ? "      " : "");
        hn_str_add_n(s, p, n);
        hn_str_add(s, "\n");
        p += n + 1;
    }
}

static void add_winner(hn_str *s, const hone_winner *from) {
    hone_winner w = *from;
    char id[33], when[32] = "", number[32];
    time_t at = (time_t)w.at_s;
    struct tm utc;
    hone_winner_id(&w, id);
    hn_str_addf(s, "  - id: \"%s\"\n", id);
    for (int i = 0; i < HN_WINNER_TEXTS; i++) {
        const char *text = *hn_winner_text_of(&w, i);
        hn_str_addf(s, "    %s: ", hn_winner_text[i].name);
        if (text && is_block(text)) {
            add_block(s, text);
        } else {
            hn_yaml_add_quoted(s, text ? text : "");
            hn_str_add(s, "\n");
        }
    }
    for (int i = 0; i < HN_WINNER_NUMBERS; i++)
        hn_str_addf(s, "    %s: %s\n", hn_winner_number[i].name, hn_double_text(*hn_winner_number_of(&w, i), number));
    if (gmtime_r(&at, &utc) && strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc))
        hn_str_addf(s, "    # %s\n", when);
}

hone_rc hone_winners_format(const hone_winner *list, size_t n, char **text, hone_err *err) {
    hn_str s = {0};
    hn_str_add(&s, "# Schedules and flags that were proven faster than hone's default ones.\n"
                   "# `hone winners import` takes this file.\n"
                   "hone-winners: 1\n");
    hn_str_add(&s, n ? "winners:\n" : "winners: []\n");
    for (size_t i = 0; i < n; i++) add_winner(&s, &list[i]);
    char *made = s.failed ? NULL : hn_str_take(&s);
    if (!made) {
        hn_str_free(&s);
        return hn_fail(err, HONE_E_NOMEM, "out of memory writing winners");
    }
    *text = made;
    return HONE_OK;
}

/* --- in ------------------------------------------------------------------------------------------------------------
 */

static hone_rc read_texts(const hn_yaml *doc, const hn_ynode *map, hone_winner *w, hone_err *err) {
    for (int i = 0; i < HN_WINNER_TEXTS; i++) {
        const hn_ynode *x = hn_yaml_get(map, hn_winner_text[i].name);
        if (!x) return hn_yaml_fail(doc, map, err, "this winner has no '%s'", hn_winner_text[i].name);
        if (x->kind != HN_Y_SCALAR) return hn_yaml_fail(doc, x, err, "'%s' is a text", hn_winner_text[i].name);
        *hn_winner_text_of(w, i) = x->text;
    }
    return HONE_OK;
}

static hone_rc read_numbers(const hn_yaml *doc, const hn_ynode *map, hone_winner *w, hone_err *err) {
    for (int i = 0; i < HN_WINNER_NUMBERS; i++) {
        const hn_ynode *x = hn_yaml_get(map, hn_winner_number[i].name);
        if (!x) return hn_yaml_fail(doc, map, err, "this winner has no '%s'", hn_winner_number[i].name);
        hone_rc rc = hn_yaml_double(doc, x, hn_winner_number_of(w, i), err);
        if (rc) return rc;
        if (*hn_winner_number_of(w, i) < 0)
            return hn_yaml_fail(doc, x, err, "'%s' is never negative", hn_winner_number[i].name);
    }
    return HONE_OK;
}

static hone_rc read_winner(const hn_yaml *doc, const hn_ynode *map, hone_winner *out, hone_err *err) {
    const char *known[HN_WINNER_TEXTS + HN_WINNER_NUMBERS + 1] = {"id"};
    hone_winner w = {0};
    char id[33];
    if (map->kind != HN_Y_MAP) return hn_yaml_fail(doc, map, err, "a winner is a map of keys and values");
    for (int i = 0; i < HN_WINNER_TEXTS; i++) known[1 + i] = hn_winner_text[i].name;
    for (int i = 0; i < HN_WINNER_NUMBERS; i++) known[1 + HN_WINNER_TEXTS + i] = hn_winner_number[i].name;
    hone_rc rc = hn_yaml_check_keys(doc, map, "winner", known, sizeof known / sizeof *known, err);
    if (!rc) rc = read_texts(doc, map, &w, err);
    if (!rc) rc = read_numbers(doc, map, &w, err);
    if (rc) return rc;
    hone_winner_id(&w, id);
    const hn_ynode *given = hn_yaml_get(map, "id");
    if (given && (given->kind != HN_Y_SCALAR || strcmp(given->text, id) != 0))
        return hn_yaml_fail(doc, given, err, "the key of this winner was changed: its id is '%s' now; export it again",
                            id);
    return hn_winner_copy(&w, out) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading winners");
}

static hone_rc read_all(const hn_yaml *doc, hn_winner_list *l, hone_err *err) {
    static const char *const known[] = {"hone-winners", "winners"};
    const hn_ynode *root = hn_yaml_root(doc), *format, *rows;
    int64_t version;
    if (root->kind != HN_Y_MAP || !(format = hn_yaml_get(root, "hone-winners")))
        return hn_yaml_fail(doc, root, err, "this is no file of winners: 'hone-winners: 1' is missing");
    hone_rc rc = hn_yaml_check_keys(doc, root, "file of winners", known, 2, err);
    if (!rc) rc = hn_yaml_int(doc, format, &version, err);
    if (rc) return rc;
    if (version != 1) return hn_yaml_fail(doc, format, err, "format %lld is not known, only 1", (long long)version);
    rows = hn_yaml_get(root, "winners");
    if (!rows || rows->kind != HN_Y_SEQ) return hn_yaml_fail(doc, rows ? rows : root, err, "'winners' is a list");
    for (size_t i = 0; !rc && i < rows->n; i++) {
        hone_winner w;
        rc = read_winner(doc, rows->item[i], &w, err);
        if (rc || hn_winner_list_add(l, &w)) continue;
        hone_winner_free(&w);
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading winners");
    }
    return rc;
}

hone_rc hone_winners_parse(const char *text, size_t n, const char *label, hone_winner **out, size_t *n_out,
                           hone_err *err) {
    hn_yaml *doc;
    hn_winner_list l = {0};
    hone_rc rc = hn_yaml_parse(text, n, label, &doc, err);
    if (rc) return rc;
    rc = read_all(doc, &l, err);
    hn_yaml_free(doc);
    if (rc) {
        hone_winners_list_free(l.row, l.n);
        return rc;
    }
    *out = l.row;
    *n_out = l.n;
    return HONE_OK;
}
