/* tune/code.c — reads the device code of a batch of builds and folds figures over kernels. */
#include "tune/code.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "cubin/cubin.h"
#include "cubin/tools.h"
#include "tune/run.h"

#include <hone/stat.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG "hone-build.log"
#define SCRATCH "hone-code"

bool hn_code_is_read(const hone_workload *w) { return w->code.n_slots || w->code.prior; }

/* Of stderr the supervisor keeps the end alone; ptxas writes several lines for each kernel. */
void hn_code_keep_log(hn_str *command) {
    hn_str s = {0};
    hn_str_addf(&s, "(\n%s\n) 2>" LOG " || { r=$?; cat " LOG " >&2; exit $r; }", command->text ? command->text : "");
    hn_str_free(command);
    *command = s;
}

/* --- folding ------------------------------------------------------------------------------------------------------ */

typedef struct picked {
    const hn_gpu_kernel **kernel;
    double *weight;
    size_t n;
} picked;

static bool fail_build(hn_build *b, const char *text) {
    b->cls = HONE_BUILD_ERROR;
    snprintf(b->detail, sizeof b->detail, "%s", text);
    return false;
}

static bool no_kernel(const hn_cubin *c, const char *name, hn_build *b) {
    hn_str s = {0};
    hn_arena a = {0};
    hn_str_addf(&s, "no kernel '%s' in the device code that was built; it has", name);
    for (size_t i = 0; i < c->n; i++)
        if (c->kernel[i].entry) hn_str_addf(&s, " '%s'", hn_gpu_kernel_plain(&a, c->kernel[i].name));
    fail_build(b, s.text ? s.text : name);
    hn_arena_free(&a);
    hn_str_free(&s);
    return false;
}

/* The kernels that the workload names; without names all functions, since kernels call them. */
static bool pick(const hone_workload *w, const hn_cubin *c, hn_arena *a, picked *out, hn_build *b) {
    *out = (picked){HN_NEW_N(a, const hn_gpu_kernel *, c->n + 1), HN_NEW_N(a, double, c->n + 1), 0};
    if (!out->kernel || !out->weight) return fail_build(b, "out of memory");
    size_t *by = HN_NEW_N(a, size_t, c->n + 1); /* the name that picked it, from 1 */
    for (size_t k = 0; by && k < w->code.n; k++) {
        bool any = false;
        for (size_t i = 0; i < c->n; i++) {
            if (!hn_gpu_kernel_is(&c->kernel[i], w->code.kernel[k])) continue;
            any = true;
            if (!by[i]) by[i] = k + 1;
        }
        if (!any) return no_kernel(c, w->code.kernel[k], b);
    }
    for (size_t i = 0; by && i < c->n; i++) {
        if (w->code.n && !by[i]) continue;
        out->weight[out->n] = by[i] ? w->code.weight[by[i] - 1] : 1;
        out->kernel[out->n++] = &c->kernel[i];
    }
    return by || fail_build(b, "out of memory");
}

static double fold(hn_aggregate how, double percentile, const double *x, size_t n) {
    double sum = 0;
    switch (how) {
    case HN_AGG_MEAN: return hone_stat_mean(x, n);
    case HN_AGG_MEDIAN: return hone_stat_median(x, n);
    case HN_AGG_MIN: return hone_stat_percentile(x, n, 0);
    case HN_AGG_MAX: return hone_stat_percentile(x, n, 100);
    case HN_AGG_PERCENTILE: return hone_stat_percentile(x, n, percentile);
    default:
        for (size_t i = 0; i < n; i++) sum += x[i];
        return sum;
    }
}

/* Registers of functions that kernels call are in the kernels' own figures, and they have no blocks: for what is not a
 * sum kernels alone count. Weights are for sums. */
static bool fold_metric(const picked *p, hn_code_metric m, hn_aggregate how, double percentile, hn_arena *a,
                        double *out, hn_build *b) {
    double *x = HN_NEW_N(a, double, p->n + 1);
    size_t n = 0;
    if (!x) return fail_build(b, "out of memory");
    for (size_t i = 0; i < p->n; i++) {
        const hn_gpu_kernel *k = p->kernel[i];
        if (!k->entry && hn_code_metric_at(m)->fold != HN_FOLD_SUM) continue;
        x[n++] = how == HN_AGG_SUM ? p->weight[i] * k->value[m] : k->value[m];
        if (!isnan(k->value[m])) continue;
        char text[600];
        bool occupancy = m == HN_GPU_OCCUPANCY || m == HN_GPU_WARPS || m == HN_GPU_BLOCKS;
        const char *why = m == HN_GPU_STALLS ? "; code without optimisation states no stalls" : "";
        snprintf(text, sizeof text, "'%s' of kernel '%s' is not known%s%s%s", hn_code_metric_at(m)->name, k->name,
                 occupancy ? "; occupancy is for the architectures " : "", occupancy ? hn_occupancy_known() : "", why);
        return fail_build(b, text);
    }
    if (!n) return fail_build(b, "the device code that was built has no kernel");
    *out = fold(how, percentile, x, n);
    return true;
}

static void fill(const hone_workload *w, const hn_cubin *c, hn_arena *a, hn_build *b) {
    static const struct {
        hn_code_metric m;
        int way;
    } prior[] = {
#define HN_PRIOR(metric, way, grain, far) {HN_GPU_##metric, way},
#include "tune/prior.def"
    };
    picked p;
    bool fine = pick(w, c, a, &p, b);
    for (size_t k = 0; fine && k < hn_n_quantities(w); k++) {
        const hn_quantity *q = hn_quantity_at(w, k);
        if (q->source == HN_FROM_CODE)
            fine = fold_metric(&p, q->code, q->aggregate, q->percentile, a, &b->figure[q->slot], b);
    }
    for (size_t k = 0; fine && w->code.prior && k < HN_N_PRIORS; k++) {
        hn_aggregate how = hn_code_metric_at(prior[k].m)->fold == HN_FOLD_MIN ? HN_AGG_MIN : HN_AGG_SUM;
        fine = fold_metric(&p, prior[k].m, how, 0, a, &b->prior[k], b);
    }
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool asks_live(const hone_workload *w) {
    for (size_t k = 0; k < hn_n_quantities(w); k++) {
        const hn_quantity *q = hn_quantity_at(w, k);
        if (q->source == HN_FROM_CODE && q->code >= HN_GPU_LIVE_REGISTERS && q->code <= HN_GPU_LIVE_UNIFORM)
            return true;
    }
    return false;
}

/* Only what needs no disassembly: registers, memory, occupancy. */
static bool asks_resources(const hone_workload *w) {
    bool only = !w->code.prior;
    for (size_t k = 0; k < hn_n_quantities(w); k++) {
        const hn_quantity *q = hn_quantity_at(w, k);
        bool spills = q->code >= HN_GPU_SPILLS && q->code <= HN_GPU_SPILL_STORES;
        if (q->source == HN_FROM_CODE) only = only && !spills && q->code < HN_GPU_INSTRUCTIONS;
    }
    return only;
}

const char *hn_code_log(const hn_build *b, hn_arena *a) {
    char *log = NULL, *path = hn_path_join(b->dir, LOG);
    size_t n;
    const char *kept = NULL;
    if (path && hn_exists(path) && !hn_read_file(path, &log, &n, NULL)) kept = hn_strdup(a, log);
    free(log);
    free(path);
    return kept;
}

typedef struct reading {
    const char **path, **text;
    hn_cubin *cubin;
    hone_rc *rc;
    hone_err *each;
    size_t *build; /* which one */
    size_t n;
} reading;

static hone_rc gather(const hn_build_config *cfg, hn_build *const *b, size_t n, hn_arena *a, reading *r,
                      hone_err *err) {
    *r = (reading){HN_NEW_N(a, const char *, n),
                   HN_NEW_N(a, const char *, n),
                   HN_NEW_N(a, hn_cubin, n),
                   HN_NEW_N(a, hone_rc, n),
                   HN_NEW_N(a, hone_err, n),
                   HN_NEW_N(a, size_t, n),
                   0};
    const char *file = cfg->w->code.file ? cfg->w->code.file : "prog";
    for (size_t i = 0; hn_arena_ok(a) && i < n; i++) {
        if (b[i]->cls != HONE_RUN_OK) continue;
        r->path[r->n] = hn_format(a, "%s/%s", b[i]->dir, file);
        r->text[r->n] = hn_code_log(b[i], a);
        r->build[r->n++] = i;
    }
    return hn_arena_ok(a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_code_of_builds(const hn_build_config *cfg, hn_build *const *b, size_t n, hone_err *err) {
    const hone_workload *w = cfg->w;
    hn_arena a = {0};
    reading r = {0};
    if (!n || !hn_code_is_read(w)) return HONE_OK;
    char *dir = hn_path_join(cfg->root, SCRATCH);
    hn_code_ask ask = {.dir = dir, .sm = w->code.sm, .threads = w->code.threads, .shared_b = w->code.shared_b};
    ask.live = asks_live(w);
    ask.resources_only = asks_resources(w);
    ask.stop = cfg->options ? cfg->options->stop : NULL;
    hone_rc rc = dir ? hn_code_tools_present(err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_remove_tree(dir, err);
    if (!rc) rc = hn_make_dirs(dir, err);
    if (!rc) rc = gather(cfg, b, n, &a, &r, err);
    double t0 = hn_now_s();
    if (!rc && r.n) rc = hn_cubin_read_all(r.path, r.text, r.n, &ask, &a, r.cubin, r.rc, r.each, err);
    *cfg->waited_s += hn_now_s() - t0;
    for (size_t i = 0; !rc && i < r.n; i++) {
        hn_build *x = b[r.build[i]];
        if (r.rc[i])
            fail_build(x, r.each[i].text);
        else
            fill(w, &r.cubin[i], &a, x);
    }
    if (dir) hn_remove_tree(dir, NULL);
    free(dir);
    hn_arena_free(&a);
    return rc;
}
