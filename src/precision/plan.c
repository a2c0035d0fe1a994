/* plan.c — plans as text: a YAML file that people read, edit and keep beside a model. */
#include "precision/precision.h"

#include "base/err.h"
#include "base/yaml.h"

#include <math.h>
#include <string.h>

enum { VERSION = 1, SMOOTH_MOST = 24 };

/* --- writing -------------------------------------------------------------------------------------------------------
 */

static void add_text(hn_str *out, const char *key, const char *text) {
    hn_str_addf(out, "%s: ", key);
    hn_yaml_add_quoted(out, text ? text : "");
    hn_str_add(out, "\n");
}

static void print_choice(const hn_narrow_choice *c, hn_str *out) {
    char scale[32];
    add_text(out, "  - name", c->name);
    hn_str_addf(out, "    weights: %s\n", c->shape);
    if (c->hash) add_text(out, "    hash", c->hash);
    hn_str_addf(out, "    type: %s\n", !c->narrow ? "f32" : c->half ? "bf16" : "int8");
    if (!(c->x.scale > 0)) return; /* bf16, or f32 that never had a range */
    hn_str_addf(out, "    scale: %s\n    zero: %lld\n", hn_double_text((double)c->x.scale, scale),
                (long long)c->x.zero);
    if (!c->smooth) return;
    hn_str_add(out, "    smooth: [");
    for (int64_t i = 0; i < c->n_smooth; i++) hn_str_addf(out, "%s%lld", i ? ", " : "", (long long)c->smooth[i]);
    hn_str_add(out, "]\n");
}

void hn_plan_print(const hn_narrow_plan *p, hn_str *out) {
    hn_str_add(out,
               "# Which products of a model are computed in fewer bits; hone compile --precision FILE takes it again.\n"
               "# x is (byte - zero) * scale, bytes from 0 to 255; type f32: the product stays as it is.\n");
    hn_str_addf(out, "precision: %d\n", VERSION);
    add_text(out, "kind", p->kind);
    add_text(out, "calibrate", p->calibrate);
    add_text(out, "data", p->data);
    hn_str_addf(out, "samples: %lld\n", (long long)p->n_samples);
    hn_str_addf(out, "weights: %s\n", p->least ? "least_error" : "largest");
    hn_str_add(out, p->n ? "products:\n" : "products: []\n");
    for (uint32_t i = 0; i < p->n; i++) print_choice(&p->choice[i], out);
}

/* --- reading -------------------------------------------------------------------------------------------------------
 */

typedef struct reader {
    const hn_yaml *doc;
    hn_narrow_plan *plan;
    hone_err *err;
} reader;

static hone_rc missing(const reader *r, const hn_ynode *map, const char *key) {
    return hn_yaml_fail(r->doc, map, r->err, "there is no '%s'", key);
}

static hone_rc read_text(const reader *r, const hn_ynode *map, const char *key, const char **out) {
    const char *text;
    const hn_ynode *y = hn_yaml_get(map, key);
    if (!y) return missing(r, map, key);
    hone_rc rc = hn_yaml_text(r->doc, y, &text, r->err);
    if (!rc && !(*out = hn_strdup(&r->plan->arena, text))) rc = hn_fail(r->err, HONE_E_NOMEM, "out of memory");
    return rc;
}

static hone_rc read_int(const reader *r, const hn_ynode *map, const char *key, int64_t low, int64_t high,
                        int64_t *out) {
    const hn_ynode *y = hn_yaml_get(map, key);
    if (!y) return missing(r, map, key);
    hone_rc rc = hn_yaml_int(r->doc, y, out, r->err);
    if (!rc && (*out < low || *out > high))
        rc = hn_yaml_fail(r->doc, y, r->err, "'%s' is from %lld to %lld", key, (long long)low, (long long)high);
    return rc;
}

static hone_rc read_smooth(const reader *r, const hn_ynode *y, hn_narrow_choice *c) {
    if (y->kind != HN_Y_SEQ || !y->n) return hn_yaml_fail(r->doc, y, r->err, "'smooth' is a list of whole numbers");
    int64_t *list = HN_NEW_N(&r->plan->arena, int64_t, y->n);
    if (!list) return hn_fail(r->err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < y->n; i++) {
        hone_rc rc = hn_yaml_int(r->doc, y->item[i], &list[i], r->err);
        if (rc) return rc;
        if (list[i] < -SMOOTH_MOST || list[i] > SMOOTH_MOST)
            return hn_yaml_fail(r->doc, y->item[i], r->err, "smoothing is from -%d to %d", SMOOTH_MOST, SMOOTH_MOST);
    }
    c->smooth = list;
    c->n_smooth = (int64_t)y->n;
    return HONE_OK;
}

static hone_rc read_scale(const reader *r, const hn_ynode *map, hn_narrow_choice *c) {
    double scale;
    const hn_ynode *y = hn_yaml_get(map, "scale");
    if (!y) return missing(r, map, "scale");
    hone_rc rc = hn_yaml_double(r->doc, y, &scale, r->err);
    if (rc) return rc;
    c->x.scale = (float)scale;
    if (!(c->x.scale > 0) || !isfinite(c->x.scale))
        return hn_yaml_fail(r->doc, y, r->err, "'scale' is a float above 0");
    return HONE_OK;
}

static hone_rc read_choice(const reader *r, const hn_ynode *map, hn_narrow_choice *c) {
    static const char *const keys[] = {"name", "weights", "hash", "type", "scale", "zero", "smooth"};
    const char *type;
    if (map->kind != HN_Y_MAP) return hn_yaml_fail(r->doc, map, r->err, "a product is a map of name, weights, type …");
    hone_rc rc = hn_yaml_check_keys(r->doc, map, "a product", keys, sizeof keys / sizeof *keys, r->err);
    if (!rc) rc = read_text(r, map, "name", &c->name);
    if (!rc) rc = read_text(r, map, "weights", &c->shape);
    if (!rc && hn_yaml_get(map, "hash")) rc = read_text(r, map, "hash", &c->hash);
    if (!rc) rc = read_text(r, map, "type", &type);
    if (rc) return rc;
    c->half = !strcmp(type, "bf16");
    c->narrow = c->half || !strcmp(type, "int8");
    if (!c->narrow && strcmp(type, "f32") != 0)
        return hn_yaml_fail(r->doc, hn_yaml_get(map, "type"), r->err, "'type' is int8, bf16 or f32, not '%s'", type);
    bool steps = hn_yaml_get(map, "scale") || hn_yaml_get(map, "zero") || hn_yaml_get(map, "smooth");
    if (c->half && hn_yaml_get(map, "smooth"))
        return hn_yaml_fail(r->doc, map, r->err, "'smooth' is for bytes; '%s' is bf16", c->name);
    if (!steps && (c->half || !c->narrow)) return HONE_OK;
    rc = read_scale(r, map, c);
    if (!rc) rc = read_int(r, map, "zero", 0, HN_LEVELS - 1, &c->x.zero);
    const hn_ynode *smooth = hn_yaml_get(map, "smooth");
    return rc || !smooth ? rc : read_smooth(r, smooth, c);
}

static hone_rc read_choices(const reader *r, const hn_ynode *root) {
    const hn_ynode *list = hn_yaml_get(root, "products");
    hone_rc rc = HONE_OK;
    if (!list || list->kind != HN_Y_SEQ) return hn_yaml_fail(r->doc, root, r->err, "'products' is a list");
    r->plan->choice = HN_NEW_N(&r->plan->arena, hn_narrow_choice, list->n);
    if (!r->plan->choice) return hn_fail(r->err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < list->n && !rc; i++) rc = read_choice(r, list->item[i], &r->plan->choice[r->plan->n++]);
    return rc;
}

static hone_rc read_root(const reader *r, const hn_ynode *root) {
    static const char *const keys[] = {"precision", "kind", "calibrate", "data", "samples", "weights", "products"};
    int64_t version;
    const char *weights = NULL;
    if (root->kind != HN_Y_MAP || !hn_yaml_get(root, "precision"))
        return hn_yaml_fail(r->doc, root, r->err, "this is no precision file: it has no 'precision'");
    hone_rc rc = hn_yaml_check_keys(r->doc, root, "a precision file", keys, sizeof keys / sizeof *keys, r->err);
    if (!rc) rc = read_int(r, root, "precision", VERSION, VERSION, &version);
    if (!rc) rc = read_text(r, root, "kind", &r->plan->kind);
    if (!rc) rc = read_text(r, root, "calibrate", &r->plan->calibrate);
    if (!rc) rc = read_text(r, root, "data", &r->plan->data);
    if (!rc) rc = read_int(r, root, "samples", 0, INT64_C(1) << 50, &r->plan->n_samples);
    if (!rc) rc = read_text(r, root, "weights", &weights);
    if (rc) return rc;
    r->plan->least = !strcmp(weights, "least_error");
    if (!r->plan->least && strcmp(weights, "largest") != 0)
        return hn_yaml_fail(r->doc, hn_yaml_get(root, "weights"), r->err, "'weights' is least_error or largest");
    return read_choices(r, root);
}

const hn_seal_kind hn_plan_kind = {
    "precision file", "take the file as it was signed; or, if the change is yours, remove all from 'digest:' on and "
                      "sign it again"};

hone_rc hn_plan_parse(const char *text, size_t n, const char *label, hn_narrow_plan *out, hone_err *err) {
    hn_yaml *doc;
    hn_narrow_plan plan = {0};
    hn_seal seal = {.n_body = n};
    hone_rc rc = hn_seal_is_there(text, n) ? hn_seal_read(text, n, label, &hn_plan_kind, &seal, err) : HONE_OK;
    if (!rc) rc = hn_yaml_parse(text, seal.n_body, label, &doc, err);
    if (rc) return rc;
    reader r = {doc, &plan, err};
    rc = read_root(&r, hn_yaml_root(doc));
    hn_yaml_free(doc);
    if (seal.has_signature) plan.signer = hn_strdup(&plan.arena, seal.key);
    if (!rc && seal.has_signature && !plan.signer) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (rc)
        hn_plan_free(&plan);
    else
        *out = plan;
    return rc;
}

uint32_t hn_plan_narrow(const hn_narrow_plan *p) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) n += p->choice[i].narrow;
    return n;
}

uint32_t hn_plan_halves(const hn_narrow_plan *p) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) n += p->choice[i].half;
    return n;
}

void hn_plan_free(hn_narrow_plan *p) {
    hn_arena_free(&p->arena);
    *p = (hn_narrow_plan){0};
}
