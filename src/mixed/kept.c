/* kept.c — points that were evaluated, as a file of YAML to which lines are added while a search runs. */
#include "mixed/mixed.h"

#include "base/err.h"
#include "base/yaml.h"

#include <math.h>
#include <string.h>

enum { VERSION = 1 };

/* --- writing -------------------------------------------------------------------------------------------------------
 */

void hn_kept_print_head(const hn_kept *k, hn_str *out) {
    char number[32];
    hn_str_add(out, "# Points that were evaluated for --precision mixed: the next call goes on from them.\n");
    hn_str_addf(out, "points: %d\nkey: ", VERSION);
    hn_yaml_add_quoted(out, k->key);
    hn_str_add(out, "\nchange: [");
    for (uint32_t i = 0; i < k->n_products; i++)
        hn_str_addf(out, "%s%s", i ? ", " : "", hn_double_text(k->change[i], number));
    hn_str_add(out, "]\nlist:\n");
}

void hn_kept_print_point(const hn_kept_point *p, hn_str *out) {
    char number[32];
    hn_str_addf(out, "  - {ranges: %s, narrow: \"%s\", error: %s}\n", p->ranges, p->narrow,
                hn_double_text(p->error, number));
}

/* --- reading -------------------------------------------------------------------------------------------------------
 */

static hone_rc read_text(const hn_yaml *doc, const hn_ynode *map, const char *key, hn_arena *a, const char **out,
                         hone_err *err) {
    const char *text;
    const hn_ynode *y = hn_yaml_get(map, key);
    if (!y) return hn_yaml_fail(doc, map, err, "there is no '%s'", key);
    hone_rc rc = hn_yaml_text(doc, y, &text, err);
    if (!rc && !(*out = hn_strdup(a, text))) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    return rc;
}

static hone_rc read_number(const hn_yaml *doc, const hn_ynode *y, double *out, hone_err *err) {
    hone_rc rc = hn_yaml_double(doc, y, out, err);
    return rc || isfinite(*out) ? rc : hn_yaml_fail(doc, y, err, "this is a finite number");
}

static hone_rc read_point(const hn_yaml *doc, const hn_ynode *map, hn_kept *k, hone_err *err) {
    static const char *const keys[] = {"ranges", "narrow", "error"};
    hn_kept_point p = {0};
    hn_calibration how;
    if (map->kind != HN_Y_MAP) return hn_yaml_fail(doc, map, err, "a point is a map of ranges, narrow, error");
    hone_rc rc = hn_yaml_check_keys(doc, map, "a point", keys, sizeof keys / sizeof *keys, err);
    if (!rc) rc = read_text(doc, map, "ranges", &k->arena, &p.ranges, err);
    if (!rc) rc = read_text(doc, map, "narrow", &k->arena, &p.narrow, err);
    if (rc) return rc;
    if (!hn_calibration_named(p.ranges, &how))
        return hn_yaml_fail(doc, hn_yaml_get(map, "ranges"), err, "'ranges' is mse, minmax, percentile or entropy");
    if (strlen(p.narrow) != k->n_products || strspn(p.narrow, "01") != k->n_products)
        return hn_yaml_fail(doc, hn_yaml_get(map, "narrow"), err, "'narrow' is %u digits, 0 or 1", k->n_products);
    const hn_ynode *y = hn_yaml_get(map, "error");
    rc = y ? read_number(doc, y, &p.error, err) : hn_yaml_fail(doc, map, err, "there is no 'error'");
    return rc ? rc : hn_kept_add(k, p.ranges, p.narrow, p.error, err);
}

static hone_rc read_change(const hn_yaml *doc, const hn_ynode *root, hn_kept *k, hone_err *err) {
    const hn_ynode *list = hn_yaml_get(root, "change");
    hone_rc rc = HONE_OK;
    if (!list || list->kind != HN_Y_SEQ) return hn_yaml_fail(doc, root, err, "'change' is a list of numbers");
    k->n_products = (uint32_t)list->n;
    k->change = HN_NEW_N(&k->arena, double, list->n + 1);
    if (!k->change) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < list->n && !rc; i++) rc = read_number(doc, list->item[i], &k->change[i], err);
    return rc;
}

static hone_rc read_root(const hn_yaml *doc, const hn_ynode *root, hn_kept *k, hone_err *err) {
    static const char *const keys[] = {"points", "key", "change", "list"};
    int64_t version = 0;
    const hn_ynode *y = root->kind == HN_Y_MAP ? hn_yaml_get(root, "points") : NULL;
    if (!y) return hn_yaml_fail(doc, root, err, "this is no file of points: it has no 'points'");
    hone_rc rc = hn_yaml_check_keys(doc, root, "a file of points", keys, sizeof keys / sizeof *keys, err);
    if (!rc) rc = hn_yaml_int(doc, y, &version, err);
    if (!rc && version != VERSION) rc = hn_yaml_fail(doc, y, err, "'points' is %d", VERSION);
    if (!rc) rc = read_text(doc, root, "key", &k->arena, &k->key, err);
    if (!rc) rc = read_change(doc, root, k, err);
    y = hn_yaml_get(root, "list");
    if (!rc && y && y->kind != HN_Y_SEQ && y->kind != HN_Y_NULL)
        rc = hn_yaml_fail(doc, y, err, "'list' is a list of points");
    for (size_t i = 0; !rc && y && y->kind == HN_Y_SEQ && i < y->n; i++) rc = read_point(doc, y->item[i], k, err);
    return rc;
}

hone_rc hn_kept_parse(const char *text, size_t n, const char *label, hn_kept *out, hone_err *err) {
    hn_yaml *doc;
    hn_kept k = {0};
    while (n && text[n - 1] != '\n') n--;
    hone_rc rc = hn_yaml_parse(text, n, label, &doc, err);
    if (rc) return rc;
    rc = read_root(doc, hn_yaml_root(doc), &k, err);
    hn_yaml_free(doc);
    if (rc)
        hn_kept_free(&k);
    else
        *out = k;
    return rc;
}

/* --- points --------------------------------------------------------------------------------------------------------
 */

const hn_kept_point *hn_kept_find(const hn_kept *k, const char *ranges, const char *narrow) {
    for (size_t i = 0; i < k->n; i++)
        if (!strcmp(k->point[i].narrow, narrow) && !strcmp(k->point[i].ranges, ranges)) return &k->point[i];
    return NULL;
}

hone_rc hn_kept_add(hn_kept *k, const char *ranges, const char *narrow, double error, hone_err *err) {
    hn_kept_point *grown = hn_arena_grow(&k->arena, k->point, k->n, &k->room, sizeof *k->point);
    if (!grown) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    k->point = grown;
    k->point[k->n] = (hn_kept_point){hn_strdup(&k->arena, ranges), hn_strdup(&k->arena, narrow), error};
    if (!hn_arena_ok(&k->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    k->n++;
    return HONE_OK;
}

void hn_kept_free(hn_kept *k) {
    hn_arena_free(&k->arena);
    *k = (hn_kept){0};
}
