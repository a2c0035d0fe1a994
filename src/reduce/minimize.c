/* reduce/minimize.c — hone_prove_minimize: a point's parts, their reduction in the lab, the result for people. */
#include "reduce/minimize_lab.h"

#include "base/err.h"
#include "base/options.h"
#include "base/str.h"

#include <hone/reduce.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEASUREMENTS_MOST = 800 };

typedef struct minimizer {
    hn_site site;
    hn_bench_lab lab;
    hn_parts parts;
    double *winner;
    hn_reduced found;
    hn_arena *keep; /* what the result points to */
} minimizer;

/* --- input ----------------------------------------------------------------------------------------------------------
 */

static hone_rc find_objective(const hone_workload *w, const char *name, size_t *out, hone_err *err) {
    const char *known[HONE_MAX_OBJECTIVES];
    *out = 0;
    if (!name) return HONE_OK;
    for (size_t k = 0; k < w->n_objectives; k++) {
        known[k] = w->objective[k].quantity.text;
        if (!strcmp(known[k], name)) {
            *out = k;
            return HONE_OK;
        }
    }
    const char *near = hn_nearest(name, known, w->n_objectives);
    return hn_fail(err, HONE_E_INPUT, "'%s' is no objective of workload '%s'; %s '%s'%s", name, w->name,
                   near ? "did you mean" : "the first is", near ? near : known[0], near ? "?" : "");
}

static hone_rc read_winner(minimizer *m, const char *point, hone_err *err) {
    const hn_plan *plan = m->site.plan;
    m->winner = HN_NEW_N(&m->site.arena, double, hone_space_slots(plan->space) + 1);
    if (!m->winner) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hone_point_from_json(plan->space, point, m->winner, err);
    if (rc) return hn_context(err, "the point does not belong to workload '%s' as it is now: ", plan->w->name);
    return hn_parts_find(plan->space, plan->base, m->winner, plan->prefix, plan->n_targets, &m->site.arena, &m->parts,
                         err);
}

/* --- result ---------------------------------------------------------------------------------------------------------
 */

static hone_interval as_gain(const minimizer *m, hone_interval z) {
    if (m->lab.bench.base.plain[m->lab.first_gain]) return (hone_interval){1 + z.lo, 1 + z.mid, 1 + z.hi};
    return (hone_interval){exp(z.lo), exp(z.mid), exp(z.hi)};
}

/* A control under the name of its target's own space, as controls files have it. */
static const char *plain_name(const minimizer *m, size_t part) {
    const hn_plan *plan = m->site.plan;
    const char *name = hone_space_param(plan->space, m->parts.param[part])->name;
    for (size_t t = 0; t < plan->n_targets; t++) {
        size_t n = strlen(plan->prefix[t]);
        if (hn_starts_with(name, plan->prefix[t]) && name[n] == '.') return name + n + 1;
    }
    return name;
}

static int by_share(const void *a, const void *b) {
    double x = ((const hone_share *)a)->gain.mid, y = ((const hone_share *)b)->gain.mid;
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static void fill_shares(minimizer *m, hone_reduction *out) {
    out->share = HN_NEW_N(m->keep, hone_share, m->parts.n + 1);
    for (size_t i = 0; out->share && i < m->parts.n; i++)
        if (m->found.keep[i])
            out->share[out->n_after++] =
                (hone_share){hn_strdup(m->keep, plain_name(m, i)), as_gain(m, m->found.share[i])};
    if (out->share) qsort(out->share, out->n_after, sizeof *out->share, by_share);
}

static hone_rc fill_point(minimizer *m, hone_reduction *out, hone_err *err) {
    const hn_plan *plan = m->site.plan;
    double *point = HN_NEW_N(&m->site.arena, double, hone_space_slots(plan->space) + 1);
    hn_recipe recipe;
    char *json = NULL;
    if (!point) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_parts_point(&m->parts, m->found.keep, point);
    hone_rc rc = hn_plan_recipe(plan, point, &recipe, err);
    if (rc) return rc;
    char *line = hn_recipe_line(&recipe, true);
    hn_recipe_free(&recipe);
    rc = line ? hone_point_to_json(plan->space, point, &json, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    out->point = rc ? NULL : hn_strdup(m->keep, json);
    out->argv = hn_strdup(m->keep, line);
    hone_free(json);
    free(line);
    return rc;
}

static hone_rc fill(minimizer *m, hone_reduction *out, hone_err *err) {
    out->n_before = m->parts.n;
    out->n_measurements = m->found.n_measured;
    out->complete = m->found.complete;
    out->gain_before = as_gain(m, m->found.before);
    out->gain_after = as_gain(m, m->found.after);
    fill_shares(m, out);
    hone_rc rc = fill_point(m, out, err);
    return !rc && !hn_arena_ok(m->keep) ? hn_fail(err, HONE_E_NOMEM, "out of memory") : rc;
}

static hone_rc reduce(minimizer *m, size_t objective, hone_err *err) {
    hone_rc rc = hn_bench_lab_open(&m->lab, &m->site, &m->parts, objective, err);
    if (rc) return rc;
    m->lab.most = MEASUREMENTS_MOST;
    hn_reduce_lab lab = hn_bench_lab_interface(&m->lab);
    const hone_prove_options *o = m->site.o;
    hn_reduce_rules rules = {
        .seed = o->seed, .most = MEASUREMENTS_MOST, .lose = o->keep_gain > 0 ? 1 - o->keep_gain : 0};
    rc = hn_reduce_point(&lab, &rules, &m->site.arena, &m->found, err);
    if (rc == HONE_E_FAILED && *m->lab.failure)
        return hn_fail(err, rc, "the point to be reduced does not work here: %s", m->lab.failure);
    return rc;
}

/* The baseline itself has nothing to reduce, and nothing is built for it. */
static void nothing_to_do(minimizer *m) {
    m->found.keep = HN_NEW_N(&m->site.arena, bool, 1);
    m->found.complete = true;
    m->found.before = m->found.after = (hone_interval){0, 0, 0};
}

hone_rc hone_prove_minimize(const hone_workload *workload, const char *point, const hone_prove_options *options,
                            hone_reduction *out, hone_err *err) {
    hone_prove_options o = hone_prove_defaults();
    size_t objective;
    hone_rc rc = hn_options_read(&o, sizeof o, options, "prove", err);
    if (!rc) rc = find_objective(workload, o.objective, &objective, err);
    if (rc) return rc;
    minimizer *m = calloc(1, sizeof *m);
    hn_arena *keep = calloc(1, sizeof *keep);
    rc = m && keep ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_reduction result = {.block = keep};
    bool open = !rc && !(rc = hn_site_open(&m->site, workload, &o, "minimize", err));
    if (open) {
        m->keep = keep;
        rc = read_winner(m, point, err);
        if (!rc && !m->parts.n)
            nothing_to_do(m);
        else if (!rc)
            rc = reduce(m, objective, err);
        if (!rc) rc = fill(m, &result, err);
        hn_bench_lab_close(&m->lab);
        hn_site_close(&m->site);
    }
    free(m);
    if (rc)
        hone_reduction_free(&result);
    else
        *out = result;
    return rc;
}

void hone_reduction_free(hone_reduction *reduction) {
    if (reduction->block) hn_arena_free(reduction->block);
    free(reduction->block);
    *reduction = (hone_reduction){0};
}
