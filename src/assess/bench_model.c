/* bench_model.c — how fast a model runs, alone or interleaved with a peer. */
#include "assess/assess_int.h"
#include "assess/steps.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 3, RUNS_LEAST = 20, BURST_MOST = 64 };

static const hone_latency_pattern patterns[] = {{"steady", 16, 0}, {"single", 1, 0.02}, {"bursty", 8, 0.05}};
enum { N_PATTERNS = sizeof patterns / sizeof *patterns };

bool hone_latency_pattern_at(size_t i, hone_latency_pattern *out) {
    if (i >= N_PATTERNS) return false;
    *out = patterns[i];
    return true;
}

/* --- one turn each ------------------------------------------------------------------------------------------------ */

typedef struct values {
    double *x;
    size_t n, room;
} values;

typedef struct contest {
    hn_rerun run;
    const hone_latency_pattern *pattern;
    hone_peer *peer; /* NULL: alone */
    values mine, theirs;
} contest;

static void idle(double s) {
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
    if (s > 0) nanosleep(&t, NULL);
}

static hone_rc push(values *v, double x, hone_err *err) {
    if (v->n == v->room) {
        size_t room = v->room ? 2 * v->room : 256;
        double *more = realloc(v->x, room * sizeof *more);
        if (!more) return hn_fail(err, HONE_E_NOMEM, "out of memory for %zu times", room);
        v->x = more, v->room = room;
    }
    v->x[v->n++] = x;
    return HONE_OK;
}

static hone_rc my_turn(contest *c, bool keep, hone_err *err) {
    hone_rc rc = HONE_OK;
    double time_s = 0;
    idle(c->pattern->idle_s);
    for (size_t i = 0; i < c->pattern->burst && !rc; i++) {
        rc = hn_rerun_once(&c->run, &time_s, err);
        if (!rc && keep) rc = push(&c->mine, time_s, err);
    }
    return rc;
}

static hone_rc their_turn(contest *c, bool keep, hone_err *err) {
    double x[BURST_MOST];
    idle(c->pattern->idle_s);
    hone_rc rc = hone_peer_time(c->peer, c->pattern->burst, x, err);
    for (size_t i = 0; i < c->pattern->burst && !rc && keep; i++) rc = push(&c->theirs, x[i], err);
    return rc;
}

/* Warm-up: some turns. Then turns in an order drawn per round, until the time is up. */
static hone_rc compete(contest *c, uint64_t seed, double budget_s, hone_err *err) {
    hone_rc rc = HONE_OK;
    double start_s = 0;
    for (size_t round = 0; !rc; round++) {
        bool keep = round >= WARM_UP;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bool first = seed >> 63;
        if (round == WARM_UP) start_s = hn_now_s();
        if (keep && c->mine.n >= RUNS_LEAST && hn_now_s() - start_s >= budget_s) break;
        if (first && c->peer) rc = their_turn(c, keep, err);
        if (!rc) rc = my_turn(c, keep, err);
        if (!first && c->peer && !rc) rc = their_turn(c, keep, err);
    }
    return rc;
}

/* --- what was seen ------------------------------------------------------------------------------------------------ */

/* Takes the values over. */
static hone_latency_series series_of(values *v) {
    hone_latency_series s = {.time_s = v->x, .n = v->n};
    if (s.n) {
        s.p50_s = hone_stat_bootstrap_median(s.time_s, s.n, 0.95, 0, 1);
        s.p95_s = hone_stat_percentile(s.time_s, s.n, 95);
        s.p99_s = hone_stat_percentile(s.time_s, s.n, 99);
        s.throughput = 1 / hone_stat_mean(s.time_s, s.n);
    }
    *v = (values){0};
    return s;
}

static hone_rc find_pattern(const char *name, const hone_latency_pattern **out, hone_err *err) {
    for (size_t i = 0; i < N_PATTERNS; i++)
        if (!strcmp(patterns[i].name, name ? name : "steady")) {
            *out = &patterns[i];
            return HONE_OK;
        }
    return hn_fail(err, HONE_E_USAGE, "no pattern of requests is called '%s': steady, single or bursty", name);
}

/* The peer runs the inputs once; of a model with state those of the step that is timed. */
static hone_rc show_peer(const contest *c, hone_err *err) {
    size_t n_in, n_out = (size_t)(c->run.model->n_outputs + c->run.model->n_states);
    hone_array *out = calloc(n_out + 1, sizeof *out);
    const hone_array *in = hn_steps_all(c->run.steps, &n_in);
    if (!out) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hone_peer_run(c->peer, in, n_in, out, n_out, err);
    for (size_t i = 0; i < n_out; i++) free(out[i].data);
    free(out);
    return rc;
}

hone_rc hone_latency_measure(const hone_model *m, const hone_array *in, const hone_latency_options *options,
                             hone_latency *out, hone_err *err) {
    hone_latency_options o = hone_latency_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "latency", err);
    if (!rc) rc = hn_device_check(o.device, err);
    if (rc) return rc;
    contest c = {.peer = o.peer};
    rc = find_pattern(o.pattern, &c.pattern, err);
    if (rc) return rc;
    rc = hn_rerun_open(m, in, &o, &c.run, err);
    if (!rc && c.run.steps && c.peer) rc = show_peer(&c, err);
    if (!rc) rc = compete(&c, o.seed, o.budget_s > 0 ? o.budget_s : 3, err);
    if (!rc) *out = (hone_latency){series_of(&c.mine), series_of(&c.theirs)};
    hn_rerun_close(&c.run);
    free(c.mine.x), free(c.theirs.x);
    return rc;
}

void hone_latency_free(hone_latency *b) {
    free(b->mine.time_s), free(b->peer.time_s);
    *b = (hone_latency){0};
}
