/* space/point_text.c — points as text and as JSON.
 *
 * JSON: flags are true / false, ints and floats numbers, permutations lists of texts, other values numbers where the
 * value's text is the shortest text of a number, else texts. Absent parameters are left out.
 */
#include "base/err.h"
#include "base/str.h"
#include "space/space_int.h"
#include "space/withheld.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- out ----------------------------------------------------------------------------------------------------- */

static void add_permutation(hn_str *s, const hone_param *p, const double *slot) {
    for (size_t k = 0; k < p->n_slots; k++) hn_str_addf(s, "%s%s", k ? ", " : "[", p->values[(size_t)slot[k]]);
    hn_str_add(s, "]");
}

size_t hone_point_text(const hone_space *space, const double *point, size_t i, char *buf, size_t n) {
    const hone_param *p = &space->param[i];
    double x = point[p->slot];
    char number[32];
    const char *text = number;
    hn_str list = {0};
    if (isnan(x))
        text = "absent";
    else if (p->kind == HONE_FLAG)
        text = x != 0 ? "on" : "off";
    else if (p->kind == HONE_INT || p->kind == HONE_FLOAT)
        hn_double_text(x, number);
    else if (p->kind != HONE_PERMUTATION)
        text = p->values[(size_t)x];
    else
        add_permutation(&list, p, point + p->slot);
    int length = snprintf(buf, n, "%s", list.text ? list.text : text);
    hn_str_free(&list);
    return length < 0 ? 0 : (size_t)length;
}

/* Values hold no control characters (hone_space_add refuses them). */
static void add_json_text(hn_str *s, const char *text) {
    hn_str_add(s, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') hn_str_add(s, "\\");
        hn_str_add_n(s, text, 1);
    }
    hn_str_add(s, "\"");
}

static bool plain_number(const char *text) {
    double v;
    char shortest[32];
    return hone_space_number(text, &v) && !strcmp(hn_double_text(v, shortest), text);
}

static void add_json_value(hn_str *s, const char *text) {
    if (plain_number(text))
        hn_str_add(s, text);
    else
        add_json_text(s, text);
}

static void add_json_gene(hn_str *s, const hone_param *p, const double *slot) {
    char number[32];
    switch (p->kind) {
    case HONE_FLAG: hn_str_add(s, *slot != 0 ? "true" : "false"); return;
    case HONE_INT: hn_str_addf(s, "%.0f", *slot); return;
    case HONE_FLOAT: hn_str_add(s, hn_double_text(*slot, number)); return;
    case HONE_PERMUTATION:
        for (size_t k = 0; k < p->n_slots; k++) {
            hn_str_add(s, k ? ", " : "[");
            add_json_text(s, p->values[(size_t)slot[k]]);
        }
        hn_str_add(s, "]");
        return;
    default: add_json_value(s, p->values[(size_t)*slot]);
    }
}

hone_rc hone_point_to_json(const hone_space *space, const double *point, char **json, hone_err *err) {
    hn_str s = {0};
    hn_str_add(&s, "{");
    for (size_t i = 0; i < space->n_params; i++) {
        const hone_param *p = &space->param[i];
        if (isnan(point[p->slot])) continue;
        hn_str_addf(&s, "%s\"%s\": ", s.n > 1 ? ", " : "", p->name);
        add_json_gene(&s, p, point + p->slot);
    }
    hn_str_add(&s, "}");
    char *text = hn_str_take(&s);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory printing a point");
    *json = text;
    return HONE_OK;
}

/* --- in ------------------------------------------------------------------------------------------------------ */

static hone_rc wrong(const hone_param *p, const char *want, const json_t *v, hone_err *err) {
    char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
    hone_rc rc = hn_fail(err, HONE_E_INPUT, "parameter '%s': expected %s, found %.100s", p->name, want,
                         text ? text : "something else");
    free(text);
    return rc;
}

static hone_rc read_number(const hone_space *s, size_t i, const json_t *v, double *out, hone_err *err) {
    const hone_param *p = &s->param[i];
    const hn_gene *g = &s->gene[i];
    char want[200], lo[32], hi[32];
    snprintf(want, sizeof want, "%s in %s..%s%s", p->kind == HONE_INT ? "a whole number" : "a number",
             hn_double_text(g->lo, lo), hn_double_text(g->hi, hi), p->step > 0 ? " on the grid of its step" : "");
    if (!json_is_number(v)) return wrong(p, want, v, err);
    double x = json_number_value(v);
    if (!(x >= g->lo && x <= g->hi) || hn_gene_value(s, i, hn_gene_level(s, i, x)) != x) return wrong(p, want, v, err);
    *out = x;
    return HONE_OK;
}

static bool json_flag(const json_t *v, double *out) {
    const char *text = json_is_string(v) ? json_string_value(v) : "";
    bool on = json_is_true(v) || !strcmp(text, "on"), off = json_is_false(v) || !strcmp(text, "off");
    *out = on;
    return on || off;
}

static size_t find_text(const hone_param *p, const char *text) {
    size_t k = 0;
    while (k < p->n_values && strcmp(p->values[k], text)) k++;
    return k;
}

static hone_rc read_listed(const hone_param *p, const json_t *v, double *out, hone_err *err) {
    size_t k = p->n_values;
    double number;
    if (json_is_string(v))
        k = find_text(p, json_string_value(v));
    else if (json_is_number(v))
        for (k = 0; k < p->n_values; k++)
            if (hone_space_number(p->values[k], &number) && number == json_number_value(v)) break;
    if (k < p->n_values) {
        *out = (double)k;
        return HONE_OK;
    }
    const char *near = json_is_string(v) ? hn_nearest(json_string_value(v), p->values, p->n_values) : NULL;
    char want[300];
    if (near)
        snprintf(want, sizeof want, "one of its values (did you mean '%.200s'?)", near);
    else
        snprintf(want, sizeof want, "one of its values, such as '%.200s'", p->values[0]);
    return wrong(p, want, v, err);
}

static hone_rc read_permutation(const hone_param *p, const json_t *v, double *slot, hone_err *err) {
    bool used[HN_MAX_PERMUTATION] = {false};
    static const char want[] = "a list of all its items, each once";
    if (!json_is_array(v) || json_array_size(v) != p->n_values) return wrong(p, want, v, err);
    for (size_t k = 0; k < p->n_values; k++) {
        const json_t *item = json_array_get(v, k);
        size_t at = json_is_string(item) ? find_text(p, json_string_value(item)) : p->n_values;
        if (at == p->n_values || used[at]) return wrong(p, want, v, err);
        used[at] = true;
        slot[k] = (double)at;
    }
    return HONE_OK;
}

static hone_rc read_gene(const hone_space *s, size_t i, const json_t *v, double *point, hone_err *err) {
    const hone_param *p = &s->param[i];
    double *slot = point + p->slot;
    switch (p->kind) {
    case HONE_FLAG: return json_flag(v, slot) ? HONE_OK : wrong(p, "true or false", v, err);
    case HONE_INT:
    case HONE_FLOAT: return read_number(s, i, v, slot, err);
    case HONE_PERMUTATION: return read_permutation(p, v, slot, err);
    default: return read_listed(p, v, slot, err);
    }
}

hone_rc hn_space_withhold(hone_space *space, const char *prefix, const char *why, hone_err *err) {
    if (space->n_withheld == HN_WITHHELD_MOST) return HONE_OK;
    space->withheld[space->n_withheld] = hn_strdup(&space->arena, prefix);
    space->withheld_why[space->n_withheld++] = hn_strdup(&space->arena, why);
    return hn_arena_ok(&space->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

const char *hn_space_withheld(const hone_space *space, const char *name) {
    for (size_t i = 0; i < space->n_withheld; i++)
        if (!strncmp(name, space->withheld[i], strlen(space->withheld[i]))) return space->withheld_why[i];
    return NULL;
}

static hone_rc unknown_name(const hone_space *s, const char *name, hone_err *err) {
    const char *why = hn_space_withheld(s, name);
    if (why) return hn_fail(err, HONE_E_UNSUPPORTED, "'%.200s' is withheld here: %.500s", name, why);
    const char **all = malloc((s->n_params + 1) * sizeof *all);
    if (!all) return hn_fail(err, HONE_E_NOMEM, "out of memory reading a point");
    for (size_t i = 0; i < s->n_params; i++) all[i] = s->param[i].name;
    const char *near = hn_nearest(name, all, s->n_params);
    free(all);
    if (near)
        return hn_fail(err, HONE_E_INPUT, "space '%s' has no parameter '%.200s'; did you mean '%s'?", s->name, name,
                       near);
    return hn_fail(err, HONE_E_INPUT, "space '%s' has no parameter '%.200s'", s->name, name);
}

static hone_rc read_point(const hone_space *s, json_t *root, double *point, hone_err *err) {
    if (!json_is_object(root)) return hn_fail(err, HONE_E_INPUT, "a point is a JSON object of names and values");
    for (size_t k = 0; k < s->n_slots; k++) point[k] = NAN;
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) {
        size_t i = hone_space_find(s, name);
        hone_rc rc = i == SIZE_MAX ? unknown_name(s, name, err) : read_gene(s, i, value, point, err);
        if (rc) return rc;
    }
    hone_point_canon(s, point);
    return HONE_OK;
}

hone_rc hone_point_from_json(const hone_space *space, const char *json, double *point, hone_err *err) {
    json_error_t at;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &at);
    if (!root &&
        (!*at.text || json_error_code(&at) == json_error_out_of_memory)) /* jansson reports no error text then */
        return hn_fail(err, HONE_E_NOMEM, "out of memory reading a point");
    if (!root) return hn_fail(err, HONE_E_INPUT, "point: line %d, column %d: %s", at.line, at.column, at.text);
    double *copy = malloc((space->n_slots + 1) * sizeof *copy);
    hone_rc rc =
        copy ? read_point(space, root, copy, err) : hn_fail(err, HONE_E_NOMEM, "out of memory reading a point");
    if (!rc && space->n_slots) memcpy(point, copy, space->n_slots * sizeof *copy);
    free(copy);
    json_decref(root);
    return rc;
}
