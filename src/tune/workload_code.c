/* tune/workload_code.c — metrics of device code in a workload: names, which kernels, and workloads that run nothing. */
#include "cubin/cubin.h"
#include "tune/workload_int.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MOST = 256 };
static const char prefix[] = "sass.";

/* --- names -------------------------------------------------------------------------------------------------------- */

static hone_rc unknown_name(const hn_reader *r, const hn_ynode *at, const char *name) {
    const char *all[HN_N_CODE_METRICS];
    for (unsigned m = 0; m < HN_N_CODE_METRICS; m++) all[m] = hn_code_metric_at(m)->name;
    const char *near = hn_nearest(name, all, HN_N_CODE_METRICS);
    return hn_yaml_fail(r->doc, at, r->err,
                        "unknown metric '%s%s' of device code%s%s%s%s; docs/gpu-metrics.md lists them", prefix, name,
                        near ? "; did you mean '" : "", near ? prefix : "", near ? near : "", near ? "'?" : "");
}

/* Equal quantities share a slot. */
static size_t slot_of(const hone_workload *w, const hn_quantity *q) {
    size_t n = 0;
    for (size_t i = 0; i < w->n_objectives + w->n_limit_rules; i++) {
        const hn_quantity *x =
            i < w->n_objectives ? &w->objective[i].quantity : &w->limit_rule[i - w->n_objectives].quantity;
        if (x->source != HN_FROM_CODE) continue;
        if (x->code == q->code && x->aggregate == q->aggregate && x->percentile == q->percentile) return x->slot;
        n = x->slot >= n ? x->slot + 1 : n;
    }
    return n;
}

hone_rc hn_code_quantity(const hn_reader *r, const hn_ynode *at, bool bare, hn_quantity *q, bool *taken) {
    static const hn_aggregate fold[] = {HN_AGG_SUM, HN_AGG_MAX, HN_AGG_MIN};
    hone_workload *w = r->w;
    bool prefixed = !strncmp(q->metric, prefix, sizeof prefix - 1);
    const char *name = prefixed ? q->metric + sizeof prefix - 1 : q->metric;
    hn_code_metric m = prefixed || w->code.plain_names ? hn_code_metric_find(name) : HN_N_CODE_METRICS;
    *taken = m != HN_N_CODE_METRICS;
    if (prefixed && !*taken) return unknown_name(r, at, name);
    if (!*taken) return HONE_OK;
    if (!*w->build)
        return hn_yaml_fail(r->doc, at, r->err, "'%s' is of what a build leaves, and there is no 'build' command",
                            q->metric);
    q->metric = hn_format(&w->arena, "%s%s", prefix, name);
    if (!q->metric) return hn_reader_nomem(r);
    q->source = HN_FROM_CODE;
    q->code = m;
    if (bare) q->aggregate = fold[hn_code_metric_at(m)->fold];
    q->slot = slot_of(w, q);
    if (q->slot >= w->code.n_slots) w->code.n_slots = q->slot + 1;
    return HONE_OK;
}

/* --- which code --------------------------------------------------------------------------------------------------- */

/* kernel: NAME | [NAME, …] | {NAME: weight, …} */
static hone_rc read_kernels(const hn_reader *r, const hn_ynode *node) {
    hn_code_choice *c = &r->w->code;
    bool weighted = node->kind == HN_Y_MAP;
    size_t n = weighted ? node->n : hn_items(node);
    if (!n || n > KERNELS_MOST)
        return hn_yaml_fail(r->doc, node, r->err, "kernel has %zu items; expected 1 to %d", n, KERNELS_MOST);
    c->kernel = HN_NEW_N(&r->w->arena, const char *, n);
    c->weight = HN_NEW_N(&r->w->arena, double, n);
    if (!c->kernel || !c->weight) return hn_reader_nomem(r);
    hone_rc rc = HONE_OK;
    for (c->n = 0; !rc && c->n < n; c->n++) {
        c->weight[c->n] = 1;
        rc = hn_read_text(r, weighted ? node->key[c->n] : hn_item(node, c->n), &c->kernel[c->n]);
        if (!rc && weighted) rc = hn_yaml_double(r->doc, node->item[c->n], &c->weight[c->n], r->err);
        if (!rc && !(c->weight[c->n] > 0))
            rc = hn_yaml_fail(r->doc, node->item[c->n], r->err, "the weight of kernel '%s' must be above 0",
                              c->kernel[c->n]);
    }
    return rc;
}

/* "sm_90", "sm_90a". */
static hone_rc read_arch(const hn_reader *r, const hn_ynode *node) {
    const char *text;
    hone_rc rc = hn_read_text(r, node, &text);
    if (rc) return rc;
    char *end = NULL;
    unsigned long v = strncmp(text, "sm_", 3) || !isdigit((unsigned char)text[3]) ? 0 : strtoul(text + 3, &end, 10);
    if (!v || v > 999 || (*end && end[1]))
        return hn_yaml_fail(r->doc, node, r->err, "'%s' is no architecture of device code; write sm_90", text);
    r->w->code.sm = (unsigned)v;
    return HONE_OK;
}

static hone_rc check_file(const hn_reader *r, const hn_ynode *node) {
    const char *path = r->w->code.file;
    if (*path == '/' || !strncmp(path, "../", 3) || strstr(path, "/../"))
        return hn_yaml_fail(r->doc, node, r->err, "file '%s' must lie inside the folder that the build runs in", path);
    return HONE_OK;
}

hone_rc hn_read_code_choice(const hn_reader *r, const hn_ynode *node) {
    typedef struct row {
        const char *file;
        uint64_t shared_b;
        size_t threads;
        bool prior;
    } row;
    static const struct {
        const char *key;
        hn_field field;
    } known[] = {{"file", {"file", HN_F_TEXT, offsetof(row, file), 0, 0}},
                 {"shared", {"shared", HN_F_BYTES, offsetof(row, shared_b), 0, 1 << 20}},
                 {"threads", {"threads", HN_F_COUNT, offsetof(row, threads), 1, 1024}},
                 {"prior", {"prior", HN_F_BOOL, offsetof(row, prior), 0, 0}}};
    row x = {0};
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < sizeof known / sizeof *known; i++) {
        const hn_ynode *value = hn_yaml_get(node, known[i].key);
        if (value) rc = hn_read_field(r, value, &known[i].field, &x);
    }
    hn_code_choice *c = &r->w->code;
    c->file = x.file, c->shared_b = x.shared_b, c->threads = (unsigned)x.threads, c->prior = x.prior;
    const hn_ynode *kernel = hn_yaml_get(node, "kernel"), *arch = hn_yaml_get(node, "arch");
    if (!rc && kernel) rc = read_kernels(r, kernel);
    if (!rc && arch) rc = read_arch(r, arch);
    if (!rc && x.file) rc = check_file(r, hn_yaml_get(node, "file"));
    return rc;
}

/* --- workloads that run nothing ----------------------------------------------------------------------------------- */

static bool of_build(hn_source from) {
    return from == HN_FROM_CODE || from == HN_FROM_CODE_SIZE || from == HN_FROM_FILE_SIZE ||
           from == HN_FROM_COMPILE_TIME;
}

hone_rc hn_read_run(const hn_reader *r) {
    hone_workload *w = r->w;
    const hn_ynode *at = hn_yaml_get(r->root, "run");
    bool runs = false;
    for (size_t i = 0; i < w->n_objectives; i++) runs |= !of_build(w->objective[i].quantity.source);
    for (size_t i = 0; i < w->n_limit_rules; i++) runs |= !of_build(w->limit_rule[i].quantity.source);
    if (*w->run) return HONE_OK;
    if (runs || at || !*w->build)
        return hn_yaml_fail(
            r->doc, at ? at : r->root, r->err,
            "there is no 'run' command; write one such as \"{out} {input}\" (without, all objectives and "
            "limits must be figures of the build, such as code_size or sass.instructions)");
    if (w->parity != HN_PARITY_NONE && hn_yaml_get(r->root, "parity"))
        if (w->parity != HN_PARITY_EXACT)
            return hn_yaml_fail(r->doc, hn_yaml_get(r->root, "parity"), r->err,
                                "without a 'run' command there is no output that parity could judge");
    w->parity = HN_PARITY_NONE;
    w->pgo = w->pgo && w->train;
    return HONE_OK;
}
