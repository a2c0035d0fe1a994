/* record/controls_read.c — a controls file's YAML as contents; every key is known, required or refused. */
#include "record/controls_file.h"

#include "base/err.h"
#include "base/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const hn_yaml *doc;
    hone_controls *c;
    hn_arena *a;
    hone_err *err;
} reader;

#define N_OF(list) (sizeof(list) / sizeof *(list))

static hone_rc nomem(const reader *r) {
    return hn_fail(r->err, HONE_E_NOMEM, "out of memory reading '%s'", hn_yaml_label(r->doc));
}

/* --- values ---------------------------------------------------------------------------------------------------- */

/* The node of a required key. */
static hone_rc need(const reader *r, const hn_ynode *map, const char *key, const hn_ynode **out) {
    *out = hn_yaml_get(map, key);
    return *out ? HONE_OK : hn_yaml_fail(r->doc, map, r->err, "'%s' is missing: the file was cut short or edited", key);
}

static hone_rc keep(const reader *r, const hn_ynode *node, const char **out) {
    if (node->kind != HN_Y_SCALAR && !(node->kind == HN_Y_NULL && node->text))
        return hn_yaml_fail(r->doc, node, r->err, "expected a text");
    *out = hn_strdup(r->a, node->text);
    return *out ? HONE_OK : nomem(r);
}

static hone_rc read_text(const reader *r, const hn_ynode *map, const char *key, const char **out) {
    const hn_ynode *node;
    hone_rc rc = need(r, map, key, &node);
    return rc ? rc : keep(r, node, out);
}

static hone_rc read_count(const reader *r, const hn_ynode *map, const char *key, bool required, size_t *out) {
    int64_t v;
    const hn_ynode *node = hn_yaml_get(map, key);
    if (!node) return required ? need(r, map, key, &node) : HONE_OK;
    hone_rc rc = hn_yaml_int(r->doc, node, &v, r->err);
    if (!rc && v < 0) rc = hn_yaml_fail(r->doc, node, r->err, "'%s' is negative", key);
    if (!rc) *out = (size_t)v;
    return rc;
}

static hone_rc map_of(const reader *r, const hn_ynode *node, const char *what, const char *const *known, size_t n) {
    if (node->kind != HN_Y_MAP) return hn_yaml_fail(r->doc, node, r->err, "'%s' is not a map of keys and values", what);
    return known ? hn_yaml_check_keys(r->doc, node, what, known, n, r->err) : HONE_OK;
}

/* An optional map of names and texts. */
static hone_rc read_pairs(const reader *r, const hn_ynode *map, const char *key, hone_pair **out, size_t *n) {
    const hn_ynode *node = hn_yaml_get(map, key);
    if (!node) return HONE_OK;
    hone_rc rc = map_of(r, node, key, NULL, 0);
    if (rc) return rc;
    hone_pair *list = HN_NEW_N(r->a, hone_pair, node->n + 1);
    if (!list) return nomem(r);
    for (size_t i = 0; i < node->n && !rc; i++) {
        rc = keep(r, node->key[i], &list[i].name);
        if (!rc) rc = keep(r, node->item[i], &list[i].value);
    }
    if (rc) return rc;
    *out = list;
    *n = node->n;
    return HONE_OK;
}

/* [lo, mid, hi]; an empty list: not known. */
static hone_rc read_interval(const reader *r, const hn_ynode *node, hone_interval *out) {
    double v[3] = {(double)NAN, (double)NAN, (double)NAN};
    if (node->kind != HN_Y_SEQ || (node->n != 3 && node->n != 0))
        return hn_yaml_fail(r->doc, node, r->err, "expected an interval: [low, middle, high]");
    for (size_t i = 0; i < node->n; i++) {
        hone_rc rc = hn_yaml_double(r->doc, node->item[i], &v[i], r->err);
        if (rc) return rc;
    }
    *out = (hone_interval){v[0], v[1], v[2]};
    return HONE_OK;
}

/* --- the point ------------------------------------------------------------------------------------------------- */

/* What the point's JSON is put together from. */
typedef struct point_text {
    hn_str s;
    const char *prefix; /* of the compiler's controls */
    bool has_compiler, has_fp;
} point_text;

static void add_name(point_text *p, const char *prefix, const char *name) {
    hn_str full = {0};
    hn_str_addf(&full, "%s%s", prefix, name);
    hn_str_add(&p->s, p->s.n > 1 ? "," : "");
    hn_yaml_add_quoted(&p->s, full.text ? full.text : "");
    hn_str_add(&p->s, ":");
    p->s.failed |= full.failed;
    hn_str_free(&full);
}

static hone_rc add_genes(const reader *r, const hn_ynode *root, bool controls, point_text *p) {
    const char *key = controls ? "controls" : "parameters";
    const hn_ynode *node = hn_yaml_get(root, key);
    if (!node) return HONE_OK;
    hone_rc rc = map_of(r, node, key, NULL, 0);
    for (size_t i = 0; i < node->n && !rc; i++) {
        const char *name = node->key[i]->text;
        if (!controls && hn_starts_with(name, p->prefix))
            return hn_yaml_fail(r->doc, node->key[i], r->err, "'%s' is a control's name; it belongs under 'controls'",
                                name);
        if (!hn_gene_fine(node->item[i]))
            return hn_yaml_fail(r->doc, node->item[i], r->err, "expected a value or a list of values for '%s'", name);
        p->has_compiler |= !controls && !strcmp(name, "compiler");
        p->has_fp |= !controls && !strcmp(name, "fp");
        add_name(p, controls ? p->prefix : "", name);
        hn_gene_json(r->doc, node->item[i], &p->s);
    }
    return rc;
}

static hone_rc add_choices(const reader *r, const hn_ynode *root, point_text *p) {
    const hn_ynode *node = hn_yaml_get(root, "choices");
    if (!node) return HONE_OK;
    if (node->kind != HN_Y_SEQ) return hn_yaml_fail(r->doc, node, r->err, "'choices' is not a list");
    for (size_t i = 0; i < node->n; i++) {
        const char *name;
        hone_rc rc = hn_yaml_text(r->doc, node->item[i], &name, r->err);
        if (rc) return rc;
        bool fp = !strcmp(name, "fp");
        bool *has = fp ? &p->has_fp : &p->has_compiler;
        if (!fp && strcmp(name, "compiler") != 0)
            return hn_yaml_fail(r->doc, node->item[i], r->err, "unknown choice '%s'; known are: compiler, fp", name);
        if (*has) return hn_yaml_fail(r->doc, node->item[i], r->err, "'%s' is given twice", name);
        *has = true;
        add_name(p, "", name);
        hn_yaml_add_quoted(&p->s, fp ? r->c->floating_point : r->c->compiler);
    }
    return HONE_OK;
}

static hone_rc read_point(const reader *r, const hn_ynode *root) {
    point_text p = {.prefix = hn_controls_prefix(r->a, r->c->compiler)};
    if (!p.prefix) return nomem(r);
    hn_str_add(&p.s, "{");
    hone_rc rc = add_genes(r, root, false, &p);
    if (!rc) rc = add_choices(r, root, &p);
    if (!rc) rc = add_genes(r, root, true, &p);
    hn_str_add(&p.s, "}");
    r->c->point = rc || p.s.failed ? NULL : hn_strdup(r->a, p.s.text);
    hn_str_free(&p.s);
    if (rc) return rc;
    return r->c->point ? hn_controls_derive(r->c, r->a, r->err) : nomem(r);
}

/* --- sections ------------------------------------------------------------------------------------------------- */

static hone_rc read_flags(const reader *r, const hn_ynode *root) {
    const hn_ynode *node;
    hone_rc rc = need(r, root, "flags", &node);
    if (rc) return rc;
    if (node->kind != HN_Y_SEQ) return hn_yaml_fail(r->doc, node, r->err, "'flags' is not a list");
    r->c->flag = HN_NEW_N(r->a, const char *, node->n + 1);
    if (!r->c->flag) return nomem(r);
    for (size_t i = 0; i < node->n && !rc; i++) rc = keep(r, node->item[i], &r->c->flag[i]);
    r->c->n_flags = rc ? 0 : node->n;
    return rc;
}

static hone_rc read_what(const reader *r, const hn_ynode *root) {
    hone_controls *c = r->c;
    const hn_ynode *pgo;
    hone_rc rc = read_text(r, root, "compiler", &c->compiler);
    if (!rc) rc = read_text(r, root, "floating_point", &c->floating_point);
    if (!rc) rc = need(r, root, "profile_guided", &pgo);
    if (!rc) rc = hn_yaml_bool(r->doc, pgo, &c->pgo, r->err);
    if (!rc) rc = read_point(r, root);
    if (!rc) rc = read_pairs(r, root, "environment", &c->environment, &c->n_environment);
    if (!rc) rc = read_pairs(r, root, "post_link", &c->post_link, &c->n_post_link);
    if (!rc) rc = read_pairs(r, root, "files", &c->file, &c->n_files);
    if (!rc) rc = read_pairs(r, root, "passes", &c->passes, &c->n_passes);
    if (!rc) rc = read_flags(r, root);
    if (!rc) rc = read_text(r, root, "response_file", &c->response_hash);
    return rc;
}

static hone_rc read_key(const reader *r, const hn_ynode *root) {
    static const char *const known[] = {"workload", "workload_hash", "space_hash", "baseline",          "rules",
                                        "sources",  "inputs",        "compiler",   "baseline_compiler", "machine"};
    hone_controls *c = r->c;
    const hn_ynode *key;
    hone_rc rc = need(r, root, "key", &key);
    if (!rc) rc = map_of(r, key, "key", known, N_OF(known));
    if (!rc) rc = read_text(r, key, "workload", &c->workload);
    if (!rc) rc = read_text(r, key, "workload_hash", &c->workload_hash);
    if (!rc) rc = read_text(r, key, "space_hash", &c->space_hash);
    if (!rc) rc = read_text(r, key, "baseline", &c->baseline);
    if (!rc) rc = read_pairs(r, key, "rules", &c->rule, &c->n_rules);
    if (!rc) rc = read_pairs(r, key, "sources", &c->source, &c->n_sources);
    if (!rc) rc = read_pairs(r, key, "inputs", &c->input, &c->n_inputs);
    if (!rc) rc = read_pairs(r, key, "compiler", &c->tool, &c->n_tool);
    if (!rc) rc = read_pairs(r, key, "baseline_compiler", &c->baseline_tool, &c->n_baseline_tool);
    if (!rc) rc = read_pairs(r, key, "machine", &c->machine, &c->n_machine);
    return rc;
}

static hone_rc read_distribution(const reader *r, const hn_ynode *row, const char *key, hone_distribution *out) {
    static const char *const known[] = {"n", "p5", "p25", "p50", "p75", "p95", "mean", "sd"};
    hone_distribution d = {0};
    double *const member[] = {&d.p5, &d.p25, &d.p50, &d.p75, &d.p95, &d.mean, &d.sd};
    const hn_ynode *node = hn_yaml_get(row, key), *v;
    if (!node) return HONE_OK;
    hone_rc rc = map_of(r, node, key, known, N_OF(known));
    if (!rc) rc = read_count(r, node, "n", true, &d.n);
    for (size_t i = 0; i < N_OF(member) && !rc; i++) {
        rc = need(r, node, known[i + 1], &v);
        if (!rc) rc = hn_yaml_double(r->doc, v, member[i], r->err);
    }
    if (!rc) *out = d;
    return rc;
}

static hone_rc read_row(const reader *r, const hn_ynode *node, hone_controls_row *out) {
    static const char *const known[] = {"objective", "input", "held_out", "gain", "baseline", "tuned"};
    hone_rc rc = map_of(r, node, "a result", known, N_OF(known));
    if (rc) return rc;
    const hn_ynode *input = hn_yaml_get(node, "input"), *held = hn_yaml_get(node, "held_out"),
                   *gain = hn_yaml_get(node, "gain");
    out->gain = (hone_interval){(double)NAN, (double)NAN, (double)NAN};
    out->input = "";
    rc = read_text(r, node, "objective", &out->objective);
    if (!rc && input) rc = keep(r, input, &out->input);
    if (!rc && held) rc = hn_yaml_bool(r->doc, held, &out->held_out, r->err);
    if (!rc && gain) rc = read_interval(r, gain, &out->gain);
    if (!rc) rc = read_distribution(r, node, "baseline", &out->baseline);
    if (!rc) rc = read_distribution(r, node, "tuned", &out->tuned);
    return rc;
}

static hone_rc read_results(const reader *r, const hn_ynode *proof) {
    const hn_ynode *node = hn_yaml_get(proof, "results");
    if (!node) return HONE_OK;
    if (node->kind != HN_Y_SEQ) return hn_yaml_fail(r->doc, node, r->err, "'results' is not a list");
    r->c->row = HN_NEW_N(r->a, hone_controls_row, node->n + 1);
    if (!r->c->row) return nomem(r);
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < node->n && !rc; i++) rc = read_row(r, node->item[i], &r->c->row[i]);
    r->c->n_rows = node->n;
    return rc;
}

static hone_rc read_shares(const reader *r, const hn_ynode *proof) {
    const hn_ynode *node = hn_yaml_get(proof, "shares");
    if (!node) return HONE_OK;
    hone_rc rc = map_of(r, node, "shares", NULL, 0);
    if (rc) return rc;
    r->c->share = HN_NEW_N(r->a, hone_share, node->n + 1);
    if (!r->c->share) return nomem(r);
    for (size_t i = 0; i < node->n && !rc; i++) {
        rc = keep(r, node->key[i], &r->c->share[i].name);
        if (!rc) rc = read_interval(r, node->item[i], &r->c->share[i].gain);
    }
    r->c->n_shares = node->n;
    return rc;
}

static hone_rc read_proof(const reader *r, const hn_ynode *root) {
    static const char *const known[] = {"session", "claimed",         "pairs", "variants",
                                        "results", "controls_before", "shares"};
    hone_controls *c = r->c;
    const hn_ynode *proof;
    size_t session = 0;
    hone_rc rc = need(r, root, "proof", &proof);
    if (!rc) rc = map_of(r, proof, "proof", known, N_OF(known));
    if (rc) return rc;
    const hn_ynode *claimed = hn_yaml_get(proof, "claimed");
    rc = read_count(r, proof, "session", true, &session);
    if (!rc && claimed) rc = hn_yaml_double(r->doc, claimed, &c->claimed, r->err);
    if (!rc) rc = read_count(r, proof, "pairs", true, &c->n_pairs);
    if (!rc) rc = read_count(r, proof, "variants", true, &c->n_variants);
    if (!rc) rc = read_count(r, proof, "controls_before", false, &c->n_before);
    if (!rc) rc = read_results(r, proof);
    if (!rc) rc = read_shares(r, proof);
    c->session = (int64_t)session;
    return rc;
}

static hone_rc read_all(const reader *r, const hn_ynode *root) {
    static const char *const known[] = {
        "format",         "verdict", "name",          "hone",       "created",     "compiler",  "floating_point",
        "profile_guided", "choices", "controls",      "parameters", "environment", "post_link", "files",
        "passes",         "flags",   "response_file", "key",        "proof",       "digest",    "signature",
    };
    size_t format = 0;
    hone_controls *c = r->c;
    if (root->kind != HN_Y_MAP) return hn_yaml_fail(r->doc, root, r->err, "this is no controls file");
    hone_rc rc = read_count(r, root, "format", true, &format);
    if (!rc && format != HONE_CONTROLS_FORMAT)
        rc = hn_yaml_fail(r->doc, hn_yaml_get(root, "format"), r->err, "there is no controls format %zu", format);
    if (!rc) rc = hn_yaml_check_keys(r->doc, root, "a controls file", known, N_OF(known), r->err);
    if (!rc) rc = read_text(r, root, "verdict", &c->verdict);
    if (!rc) rc = read_text(r, root, "name", &c->name);
    if (!rc) rc = read_text(r, root, "hone", &c->version);
    if (!rc) rc = read_text(r, root, "created", &c->created);
    if (!rc) rc = read_what(r, root);
    if (!rc) rc = read_key(r, root);
    if (!rc) rc = read_proof(r, root);
    return rc;
}

hone_rc hn_controls_read_body(const char *text, size_t n, const char *label, hone_controls **out, hone_err *err) {
    hn_yaml *doc;
    hone_err local;
    reader r = {.err = err ? err : &local};
    hone_rc rc = hn_yaml_parse(text, n, label, &doc, r.err);
    if (rc) return rc;
    r.doc = doc;
    r.c = hn_controls_new(&r.a);
    rc = r.c ? read_all(&r, hn_yaml_root(doc)) : nomem(&r);
    if (!rc && !hn_arena_ok(r.a)) rc = nomem(&r);
    hn_yaml_free(doc);
    if (rc)
        hone_controls_free(r.c);
    else
        *out = r.c;
    return rc;
}
