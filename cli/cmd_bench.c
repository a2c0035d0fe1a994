/* cmd_bench.c — `hone bench`: how fast a model runs, alone or interleaved with a peer. */
#include "model_io.h"

#include <hone/measure.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How requests come: `burst` back to back, then `idle_s` of nothing. */
typedef struct profile {
    const char *name;
    size_t burst;
    double idle_s;
} profile;
static const profile profiles[] = {{"steady", 16, 0}, {"single", 1, 0.02}, {"bursty", 8, 0.05}};

typedef struct series {
    double *x;
    size_t n, room;
} series;

typedef struct contest {
    const profile *profile;
    const hone_model *model;
    hone_model_instance *instance;
    hone_model_tensor *in, *out;
    hone_peer *peer; /* NULL: alone */
    series mine, theirs;
    double budget_s;
} contest;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void idle(double s) {
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
    if (s > 0) nanosleep(&t, NULL);
}

static void push(series *s, double x) {
    s->x = cli_grow(s->x, &s->room, s->n, sizeof *s->x);
    s->x[s->n++] = x;
}

/* --- one turn each ------------------------------------------------------------------------------------------------ */

static hone_rc infer(contest *t, hone_err *err) {
    for (int32_t i = 0; i < t->model->n_outputs; i++) t->out[i] = (hone_model_tensor){0};
    if (!t->model->run(t->instance, t->in, (size_t)t->model->n_inputs, t->out, (size_t)t->model->n_outputs))
        return HONE_OK;
    return cli_fail(err, HONE_E_INPUT, "%s", t->model->error(t->instance));
}

static hone_rc my_turn(contest *t, bool keep, hone_err *err) {
    idle(t->profile->idle_s);
    for (size_t i = 0; i < t->profile->burst; i++) {
        double start_s = now_s();
        hone_rc rc = infer(t, err);
        if (rc) return rc;
        if (keep) push(&t->mine, now_s() - start_s);
    }
    return HONE_OK;
}

static hone_rc their_turn(contest *t, bool keep, hone_err *err) {
    double x[64];
    idle(t->profile->idle_s);
    hone_rc rc = hone_peer_time(t->peer, t->profile->burst, x, err);
    for (size_t i = 0; i < t->profile->burst && !rc && keep; i++) push(&t->theirs, x[i]);
    return rc;
}

/* Warm-up: three turns. Then turns in an order drawn per round, until the time is up; at least 20 values each. */
static hone_rc compete(contest *t, uint64_t seed, hone_err *err) {
    hone_rc rc = HONE_OK;
    double start_s = 0;
    for (size_t round = 0; !rc; round++) {
        bool keep = round >= 3;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bool first = seed >> 63;
        if (round == 3) start_s = now_s();
        if (keep && t->mine.n >= 20 && now_s() - start_s >= t->budget_s) break;
        if (first && t->peer) rc = their_turn(t, keep, err);
        if (!rc) rc = my_turn(t, keep, err);
        if (!first && t->peer && !rc) rc = their_turn(t, keep, err);
    }
    return rc;
}

/* --- what was seen ------------------------------------------------------------------------------------------------ */

static void table_row(cli_table *t, const char *name, const series *s) {
    char b[6][CLI_TEXT_N];
    hone_interval i = hone_bootstrap_median(s->x, s->n, 0.95, 0, 1);
    cli_table_cell(t, "%s", name);
    cli_table_cell(t, "%s", cli_text_seconds(i.mid, b[0]));
    cli_table_cell(t, "%s .. %s", cli_text_seconds(i.lo, b[1]), cli_text_seconds(i.hi, b[2]));
    cli_table_cell(t, "%s", cli_text_seconds(hone_percentile(s->x, s->n, 95), b[3]));
    cli_table_cell(t, "%s", cli_text_seconds(hone_percentile(s->x, s->n, 99), b[4]));
    cli_table_cell(t, "%.1f/s", 1 / hone_mean(s->x, s->n));
    cli_table_cell(t, "%zu", s->n);
}

static void put_text(const cli *c, const contest *t, const char *name) {
    static const char *const heads[] = {"who", "p50", "95 % of the median", "p95", "p99", "throughput", "runs"};
    cli_table *table = cli_table_new("lrlrrrr");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cli_table_head(table, heads[i]);
    table_row(table, name, &t->mine);
    if (t->peer) table_row(table, hone_peer_name(t->peer), &t->theirs);
    cli_table_print(c, table, stdout, 0);
    if (t->peer) {
        hone_interval a = hone_bootstrap_median(t->mine.x, t->mine.n, 0.95, 0, 1);
        hone_interval b = hone_bootstrap_median(t->theirs.x, t->theirs.n, 0.95, 0, 1);
        printf("%s / %s: %.3f (%.3f .. %.3f)\n", name, hone_peer_name(t->peer), a.mid / b.mid, a.lo / b.hi,
               a.hi / b.lo);
    }
}

static void json_series(cli_json *j, const char *name, const series *s) {
    hone_interval i = hone_bootstrap_median(s->x, s->n, 0.95, 0, 1);
    cli_json_object(j);
    cli_json_ktext(j, "who", name);
    cli_json_kcount(j, "runs", s->n);
    cli_json_knumber(j, "p50_s", i.mid);
    cli_json_knumber(j, "p50_low_s", i.lo);
    cli_json_knumber(j, "p50_high_s", i.hi);
    cli_json_knumber(j, "p95_s", hone_percentile(s->x, s->n, 95));
    cli_json_knumber(j, "p99_s", hone_percentile(s->x, s->n, 99));
    cli_json_knumber(j, "throughput", 1 / hone_mean(s->x, s->n));
    cli_json_close(j);
}

static void put_json(cli *c, const contest *t) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "model", t->model->name);
    cli_json_ktext(&j, "profile", t->profile->name);
    cli_json_key(&j, "results");
    cli_json_array(&j);
    json_series(&j, "hone", &t->mine);
    if (t->peer) json_series(&j, hone_peer_name(t->peer), &t->theirs);
    cli_json_end(&j);
}

/* --- setting up --------------------------------------------------------------------------------------------------- */

static hone_rc open_peer(const cli *c, contest *t, const cli_arrays *in, hone_err *err) {
    const char *against = cli_text(c, "against", NULL);
    if (!against) return HONE_OK;
    if (!cli_is_onnx(c->arg[0]))
        return cli_fail(err, HONE_E_USAGE, "--against needs the ONNX file, not '%s'", c->arg[0]);
    hone_rc rc = hone_peer_open(c->arg[0], (uint32_t)cli_count(c, "threads", 0), &t->peer, err);
    hone_array *out = cli_alloc((size_t)t->model->n_outputs + 1, sizeof *out);
    if (!rc) rc = hone_peer_run(t->peer, in->a, in->n, out, (size_t)t->model->n_outputs, err);
    for (int32_t i = 0; i < t->model->n_outputs; i++) hone_free(out[i].data);
    free(out);
    return rc;
}

static hone_rc hold(cli *c, cli_model *m, contest *t, hone_err *err) {
    cli_arrays in = {0};
    hone_model_config config = {.n_threads = (int32_t)cli_count(c, "threads", 0)};
    uint64_t seed = cli_count(c, "seed", 1);
    hone_rc rc = cli_arrays_random(m->model, cli_text(c, "size", NULL), seed, &in, err);
    if (rc) return rc;
    t->model = m->model;
    t->in = cli_model_tensors(&in);
    t->out = cli_alloc((size_t)m->model->n_outputs + 1, sizeof *t->out);
    if (m->model->create(&config, &t->instance)) rc = cli_fail(err, HONE_E_FAILED, "%s", m->model->error(NULL));
    if (!rc) rc = open_peer(c, t, &in, err);
    if (!rc) rc = compete(t, seed, err);
    if (!rc && c->json)
        put_json(c, t);
    else if (!rc)
        put_text(c, t, "hone");
    if (t->instance) m->model->free(t->instance);
    hone_peer_close(t->peer);
    cli_arrays_free(&in);
    free(t->in), free(t->out), free(t->mine.x), free(t->theirs.x);
    return rc;
}

static hone_rc run_bench(cli *c, hone_err *err) {
    cli_model m;
    contest t = {.profile = &profiles[0], .budget_s = cli_seconds(c, "time", 3)};
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (!strcmp(profiles[i].name, cli_text(c, "profile", "steady"))) t.profile = &profiles[i];
    hone_rc rc = cli_model_open(c, c->arg[0], 1, &m, err);
    if (rc) return rc;
    rc = hold(c, &m, &t, err);
    cli_model_close(&m);
    return rc;
}

static const cli_option options[] = {
    {"profile", 'p', CLI_CHOICE, "single|steady|bursty", 0, 0, "how requests come; else steady"},
    {"against", 0, CLI_CHOICE, "onnxruntime", 0, 0, "the same inputs on a peer, in turns"},
    {"threads", 0, CLI_COUNT, "N", 1, 1024, "threads of both; else one per processor"},
    {"size", 0, CLI_TEXT, "NAME=N,...", 0, 0, "symbolic sizes; else their smallest"},
    {"time", 0, CLI_SECONDS, "T", 0, 0, "how long to measure; else 3 s"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "of the inputs and of the order of turns; else 1"},
    CLI_COMPILE_OPTIONS,
    {0},
};

const cli_command cli_cmd_bench = {
    "bench",
    "Models",
    "MODEL",
    "time a model, alone or against ONNX Runtime",
    "Runs a compiled library, or an ONNX file compiled for the occasion, on random inputs of a fixed seed: a warm-up, "
    "then turns until the time is up. `steady` runs back to back, `single` waits 20 ms before each run, `bursty` 50 ms "
    "before every eight.\n\n"
    "With --against the peer runs in a Python process ($HONE_PYTHON, build/venv/bin/python or python3) and the turns "
    "are interleaved in random order. The interval is the bootstrap's of the median, 95 %.",
    options,
    "hone bench resnet50.so --threads 1\thow fast it is on one thread\n"
    "hone bench bert.onnx --size batch=1,seq=128 --against onnxruntime\tbeside a peer\n",
    1,
    1,
    run_bench,
};
