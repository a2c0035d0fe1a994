/* engine/replay.c — judges an engine on a recorded space, without running anything (docs/replay.md). */
#include "engine/recording.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_EVALS = 200, DEFAULT_SEEDS = 50 };
static const size_t mark[4] = {25, 50, 100, 200};

typedef struct replay {
    const hone_recording *rec;
    hone_replay_options config;
    double floor_log[2], ref_log[2], full_volume; /* two objectives: log scale, worst of the space */
    double *found;                                /* two objectives: logs found so far, n_evals * 2 */
    double *points, *run;                         /* batch points; one run's curve */
    double asked_s;
    size_t n_asked;
} replay;

static bool is_recorded(void *ctx, const double *point) { return hn_recording_find(ctx, point) != SIZE_MAX; }

static void draw_row(void *ctx, uint64_t seed, double *point) {
    const hone_recording *rec = ctx;
    hn_rng rng = hn_rng_make(seed, 0);
    hn_recording_point(rec, (size_t)hn_rng_below(&rng, rec->n), point);
}

/* --- two objectives -------------------------------------------------------------------------------------------- */

static bool both_known(const hn_record *r) {
    return r->cls == HONE_RUN_OK && r->time > 0 && r->compile > 0 && isfinite(r->compile);
}

static hone_rc measure_front(replay *r, hone_err *err) {
    double *all = malloc((r->rec->n + 1) * 2 * sizeof *all);
    size_t n = 0;
    if (!all) return hn_fail(err, HONE_E_NOMEM, "out of memory for the front of '%s'", r->rec->label);
    for (size_t i = 0; i < r->rec->n; i++) {
        const hn_record *one = &r->rec->row[i];
        if (!both_known(one)) continue;
        double y[2] = {log(one->time), log(one->compile)};
        memcpy(all + 2 * n, y, sizeof y);
        for (size_t k = 0; k < 2; k++)
            if (!n || y[k] > r->ref_log[k]) r->ref_log[k] = y[k];
        n++;
    }
    /* drop rows dominated by the fastest, so that the quadratic part has few rows */
    r->full_volume = 0;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool beaten = false;
        for (size_t j = 0; j < kept && !beaten; j++)
            beaten = all[2 * j] <= all[2 * i] && all[2 * j + 1] <= all[2 * i + 1];
        if (beaten) continue;
        size_t to = 0;
        double y[2] = {all[2 * i], all[2 * i + 1]};
        for (size_t j = 0; j < kept; j++)
            if (!(y[0] <= all[2 * j] && y[1] <= all[2 * j + 1])) memmove(all + 2 * to++, all + 2 * j, sizeof y);
        memcpy(all + 2 * to, y, sizeof y);
        kept = to + 1;
    }
    if (kept) r->full_volume = hone_pareto_hypervolume(all, kept, 2, r->ref_log);
    free(all);
    if (r->full_volume > 0) return HONE_OK;
    return hn_fail(err, HONE_E_UNSUPPORTED, "recording '%s' has no two objectives: compile_ms is missing or constant",
                   r->rec->label);
}

/* --- one run --------------------------------------------------------------------------------------------------- */

static hone_outcome outcome_of(const replay *r, const double *point, hn_rng *noise, const hn_record **row) {
    hone_outcome o = {.cls = HONE_BUILD_ERROR};
    size_t i = hn_recording_find(r->rec, point);
    *row = i == SIZE_MAX ? NULL : &r->rec->row[i];
    if (!*row) return o;
    o.cls = (*row)->cls;
    if (r->config.two_objectives && !both_known(*row) && o.cls == HONE_RUN_OK) o.cls = HONE_NO_METRIC;
    o.value[0] = (*row)->time;
    o.value[1] = (*row)->compile;
    if (r->config.noisy && (*row)->sd > 0) {
        double v = o.value[0] + (*row)->sd * hn_rng_normal(noise);
        o.value[0] = v > 0.5 * o.value[0] ? v : 0.5 * o.value[0];
    }
    return o;
}

typedef struct progress {
    double seen, value; /* best sample, and the true time of that configuration */
    size_t n_found;
} progress;

static double score(replay *r, progress *p, const hone_outcome *o, const hn_record *row) {
    if (o->cls == HONE_RUN_OK && r->config.two_objectives) {
        double y[2] = {log(row->time), log(row->compile)};
        memcpy(r->found + 2 * p->n_found++, y, sizeof y);
        p->value = hone_pareto_hypervolume(r->found, p->n_found, 2, r->ref_log) / r->full_volume;
    } else if (o->cls == HONE_RUN_OK && o->value[0] < p->seen) {
        p->seen = o->value[0];
        p->value = r->rec->best / row->time;
    }
    return p->value;
}

static hone_rc run_once(replay *r, uint64_t seed, hone_err *err) {
    hone_search_options c = {.size = sizeof(hone_search_options),
                             .engine = r->config.engine,
                             .seed = seed,
                             .n_objectives = r->config.two_objectives ? 2 : 1,
                             .budget = r->config.n_evals,
                             .no_default = true,
                             .options = r->config.options};
    if (r->config.constraints_known) {
        c.legal = is_recorded;
        c.draw = draw_row;
        memcpy(&c.ctx, &r->rec, sizeof c.ctx);
    }
    hone_search *s;
    hone_rc rc = hone_search_open(r->rec->space, &c, &s, err);
    if (rc) return rc;
    hn_rng noise = hn_rng_make(seed, 0x6e6f697365);
    progress p = {.seen = INFINITY};
    size_t slots = r->rec->slots, done = 0;
    while (!rc && done < r->config.n_evals) {
        size_t batch = r->config.batch < r->config.n_evals - done ? r->config.batch : r->config.n_evals - done, n = 0;
        double from = hn_now_s();
        while (n < batch && !(rc = hone_search_ask(s, r->points + n * slots, err))) n++;
        for (size_t i = 0; i < n; i++) {
            const hn_record *row;
            hone_outcome o = outcome_of(r, r->points + i * slots, &noise, &row);
            hone_rc told = hone_search_tell(s, r->points + i * slots, &o, err);
            if (told) rc = told;
            r->run[done++] = score(r, &p, &o, row);
        }
        r->asked_s += hn_now_s() - from;
        r->n_asked += n;
    }
    hone_search_close(s);
    if (rc == HONE_E_EXHAUSTED) rc = HONE_OK; /* a small space: the rest of the curve stays level */
    for (; done < r->config.n_evals; done++) r->run[done] = p.value;
    return rc;
}

/* --- all runs -------------------------------------------------------------------------------------------------- */

static size_t evals_to(const double *run, size_t n, double level) {
    for (size_t i = 0; i < n; i++)
        if (run[i] >= level) return i + 1;
    return n + 1;
}

static hone_rc run_all(replay *r, hone_replay_result *out, hone_err *err) {
    double sum[4] = {0}, square[4] = {0}, to_95 = 0;
    size_t n = r->config.n_evals, seeds = r->config.n_seeds;
    for (size_t s = 0; s < seeds; s++) {
        hone_rc rc = run_once(r, r->config.first_seed + s, err);
        if (rc) return rc;
        for (size_t i = 0; i < n; i++) out->curve[i] += r->run[i] / (double)seeds;
        for (size_t k = 0; k < 4 && mark[k] <= n; k++) {
            sum[k] += r->run[mark[k] - 1];
            square[k] += r->run[mark[k] - 1] * r->run[mark[k] - 1];
        }
        to_95 += (double)evals_to(r->run, n, 0.95);
    }
    for (size_t k = 0; k < 4; k++) {
        double mean = sum[k] / (double)seeds, var = square[k] / (double)seeds - mean * mean;
        out->fraction[k] = mark[k] <= n ? mean : NAN;
        out->fraction_sd[k] = mark[k] <= n ? sqrt(var > 0 ? var : 0) : NAN;
    }
    out->evals_to_95 = to_95 / (double)seeds;
    out->ask_s = r->n_asked ? r->asked_s / (double)r->n_asked : NAN;
    return HONE_OK;
}

hone_rc hone_replay_run(const hone_recording *rec, const hone_replay_options *options, hone_replay_result *out,
                        hone_err *err) {
    replay r = {.rec = rec, .config = hone_replay_defaults()};
    hone_rc rc = hn_options_read(&r.config, sizeof r.config, options, "replay", err);
    if (rc) return rc;
    if (!r.config.n_evals) r.config.n_evals = DEFAULT_EVALS;
    if (!r.config.n_seeds) r.config.n_seeds = DEFAULT_SEEDS;
    if (!r.config.batch) r.config.batch = 1;
    size_t n = r.config.n_evals, slots = rec->slots;
    if (n > 100000000 || r.config.batch > 65536)
        return hn_fail(err, HONE_E_LIMIT, "%zu evaluations in batches of %zu are too many", n, r.config.batch);
    hone_replay_result result = {.n_evals = n, .n_seeds = r.config.n_seeds, .curve = calloc(n, sizeof(double))};
    r.found = malloc(n * 2 * sizeof(double));
    r.run = malloc(n * sizeof(double));
    r.points = malloc(r.config.batch * slots * sizeof(double) + 1);
    if (!result.curve || !r.found || !r.run || !r.points)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory for %zu evaluations", n);
    if (!rc && r.config.two_objectives) rc = measure_front(&r, err);
    if (!rc) rc = run_all(&r, &result, err);
    free(r.found);
    free(r.run);
    free(r.points);
    if (rc)
        free(result.curve);
    else
        *out = result;
    return rc;
}
