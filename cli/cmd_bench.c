/* cmd_bench.c — `hone bench`: how fast a model runs, alone or interleaved with a peer. */
#include "bench_text.h"
#include "drawn.h"
#include "model_io.h"

#include <hone/artifact.h>
#include <hone/latency.h>

#include <stdlib.h>

typedef struct contest {
    const char *where; /* of the model */
    const char *pattern;
    const hone_model *model;
    hone_peer *peer; /* NULL: alone */
    hone_latency seen;
    cli_drawn drawn;
} contest;

/* --- what was seen ------------------------------------------------------------------------------------------------ */

static void table_row(cli_table *t, const char *name, const hone_latency_series *s) {
    char b[6][CLI_TEXT_N];
    hone_interval i = s->p50_s;
    cli_table_cell(t, "%s", name);
    cli_table_cell(t, "%s", cli_text_seconds(i.mid, b[0]));
    cli_table_cell(t, "%s .. %s", cli_text_seconds(i.lo, b[1]), cli_text_seconds(i.hi, b[2]));
    cli_table_cell(t, "%s", cli_text_seconds(s->p95_s, b[3]));
    cli_table_cell(t, "%s", cli_text_seconds(s->p99_s, b[4]));
    cli_table_cell(t, "%.1f/s", s->throughput);
    cli_table_cell(t, "%zu", s->n);
}

static void put_text(const cli *c, const contest *t, const char *name) {
    static const char *const heads[] = {"who", "p50", "95 % of the median", "p95", "p99", "throughput", "runs"};
    cli_table *table = cli_table_new("lrlrrrr");
    cli_drawn_put(c, &t->drawn);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cli_table_head(table, heads[i]);
    table_row(table, name, &t->seen.mine);
    if (t->peer) table_row(table, hone_peer_name(t->peer), &t->seen.peer);
    cli_table_print(c, table, stdout, 0);
    if (t->peer) {
        hone_interval a = t->seen.mine.p50_s, b = t->seen.peer.p50_s;
        printf("%s / %s: %.3f (%.3f .. %.3f)\n", name, hone_peer_name(t->peer), a.mid / b.mid, a.lo / b.hi,
               a.hi / b.lo);
    }
    if (t->model->device || t->model->n_targets > 1)
        printf("target %s%s%s\n", t->model->target, *t->where ? " on " : "", t->where);
}

static void json_series(cli_json *j, const char *name, const hone_latency_series *s) {
    hone_interval i = s->p50_s;
    cli_json_object(j);
    cli_json_ktext(j, "who", name);
    cli_json_kcount(j, "runs", s->n);
    cli_json_knumber(j, "p50_s", i.mid);
    cli_json_knumber(j, "p50_low_s", i.lo);
    cli_json_knumber(j, "p50_high_s", i.hi);
    cli_json_knumber(j, "p95_s", s->p95_s);
    cli_json_knumber(j, "p99_s", s->p99_s);
    cli_json_knumber(j, "throughput", s->throughput);
    cli_json_close(j);
}

static void put_json(cli *c, const contest *t) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "model", c->arg[0]);
    cli_json_ktext(&j, "profile", t->pattern);
    cli_json_ktext(&j, "target", t->model->target);
    cli_json_ktext(&j, "place", *t->where ? t->where : NULL);
    cli_drawn_json(&j, &t->drawn);
    cli_json_key(&j, "results");
    cli_json_array(&j);
    json_series(&j, "hone", &t->seen.mine);
    if (t->peer) json_series(&j, hone_peer_name(t->peer), &t->seen.peer);
    cli_json_end(&j);
}

/* --- setting up --------------------------------------------------------------------------------------------------- */

/* in: NULL where steps draw the inputs. */
static hone_rc open_peer(const cli *c, contest *t, const cli_arrays *in, hone_err *err) {
    if (!cli_given(c, "against")) return HONE_OK;
    hone_rc rc = cli_peer_open(c, c->arg[0], &t->peer, err);
    if (!in) return rc;
    hone_array *out = cli_alloc((size_t)t->model->n_outputs + 1, sizeof *out);
    if (!rc) rc = hone_peer_run(t->peer, in->a, in->n, out, (size_t)t->model->n_outputs, err);
    for (int32_t i = 0; i < t->model->n_outputs; i++) hone_free(out[i].data);
    free(out);
    return rc;
}

static hone_rc hold(cli *c, cli_model *m, contest *t, hone_err *err) {
    cli_arrays in = {0};
    cli_stateful with;
    uint64_t seed = cli_count(c, "seed", 1);
    t->model = m->model;
    t->where = m->where;
    hone_rc rc = cli_stateful_open(c, c->arg[0], m->model, &with, err);
    if (!rc && !with.graph) rc = cli_drawn_arrays(c, c->arg[0], m->model, seed, &in, &t->drawn, err);
    if (!rc) rc = open_peer(c, t, with.graph ? NULL : &in, err);
    hone_latency_options options = {.size = sizeof options,
                                    .pattern = t->pattern,
                                    .n_threads = (uint32_t)cli_count(c, "threads", 0),
                                    .budget_s = cli_seconds(c, "time", 3),
                                    .seed = seed,
                                    .peer = t->peer,
                                    .graph = with.graph,
                                    .state = with.compiling.options.state,
                                    .n_state = with.compiling.options.n_state,
                                    .sizes = cli_text(c, "size", NULL),
                                    .n_steps = cli_count(c, "steps", 0)};
    if (!rc) rc = hone_inputs_refused(m->model, hone_latency_measure(m->model, in.a, &options, &t->seen, err), err);
    cli_model_unlink(m); /* now, as a closed pipe may end hone without cleaning up */
    if (!rc && c->json)
        put_json(c, t);
    else if (!rc)
        put_text(c, t, "hone");
    hone_latency_free(&t->seen);
    cli_drawn_free(&t->drawn);
    hone_peer_close(t->peer);
    cli_stateful_close(&with);
    cli_arrays_free(&in);
    return rc;
}

static hone_rc check_options(const cli *c, hone_err *err) {
    static const char *const others[] = {"prompt-tokens", "tokens", "rounds",     "peer",
                                         "cache-type",    "exact",  "activations"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_given(c, others[i]))
            return cli_fail(err, HONE_E_USAGE, "--%s is for language models; '%s' is none", others[i], c->arg[0]);
    return HONE_OK;
}

static hone_rc run_bench(cli *c, hone_err *err) {
    cli_model m;
    if (cli_is_language_model(c->arg[0])) return cli_bench_text(c, err);
    contest t = {.pattern = cli_text(c, "profile", "steady")};
    hone_rc rc = check_options(c, err);
    if (!rc) rc = cli_model_open(c, c->arg[0], 1, &m, err);
    if (rc) return rc;
    rc = hold(c, &m, &t, err);
    cli_model_close(&m);
    return rc;
}

static const cli_option options[] = {
    {"profile", 'p', CLI_CHOICE, "single|steady|bursty", 0, 0, "how requests come; else steady"},
    {"against", 0, CLI_CHOICE, "onnxruntime|openvino|llama.cpp|ik_llama.cpp|openvino-genai", 0, 0,
     "the same on a peer, in turns; the last three are for language models"},
    CLI_THREADS("threads of both; else one per processor"),
    {"size", 0, CLI_TEXT, "NAME=N,...", 0, 0, "symbolic sizes; else usual ones, which are said"},
    {"time", 0, CLI_SECONDS, "T", 0, 0, "how long to measure; else 3 s"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "of the inputs and of the order of turns; else 1"},
    CLI_BENCH_TEXT_OPTIONS,
    CLI_STEPS_OPTION("of a model with state: steps before the one that is timed; else 0"),
    CLI_PLACE_OPTION,
    CLI_COMPILE_OPTIONS,
    CLI_PRECISION_OPTIONS,
    CLI_PRECISION_KEY_OPTION,
    CLI_STATE_OPTION,
    {0},
};

const cli_command cli_cmd_bench = {
    "bench",
    "Models",
    "MODEL",
    "time a model, alone or beside another engine",
    "Runs a compiled library, or a model file which is compiled first, on random inputs of a fixed seed: a warm-up, "
    "then turns until the time is up. `steady` runs back to back, `single` waits 20 ms before each run, `bursty` 50 ms "
    "before every eight.\n\n"
    "With --against the peer runs in a Python process ($HONE_PYTHON, build/venv/bin/python or python3) and the turns "
    "are interleaved in random order. The interval is the bootstrap's of the median, 95 %.\n\n"
    "Of a model with state (`--state`) one step is timed again and again, each time from the state that a reset and "
    "--steps steps leave. The peer has an input of that size in its place.\n\n"
    "A language model (a GGUF file) is compiled when it is used first. A round gives an empty context a prompt, then "
    "one token after the other behind it; what is printed is tokens per second of both, the time to the first token, "
    "memory, and shares of what this machine can do: of the bandwidth of its memory by the bytes that a token must "
    "read (its weights as the file packs them, keys and values), and of its int8 peak by the operations of the prompt. "
    "The memory's bandwidth is measured within the same rounds; `hone doctor --measure` keeps the int8 peak, and it is "
    "measured first where there is none. --against runs "
    "`llama-bench`, or the engine's Python package, in the same rounds.",
    options,
    "hone bench resnet50.so --threads 1\thow fast it is on one thread\n"
    "hone bench bert.onnx --size batch=1,seq=128 --against onnxruntime\tbeside a peer\n"
    "hone bench decoder.onnx --state 'past.*=present.*' --steps 512\tone token behind 512 others\n"
    "hone bench model.gguf --prompt-tokens 512,8192 --tokens 128\ta language model, at two lengths\n"
    "hone bench model.gguf --threads 1 --against llama.cpp --json\tbeside llama.cpp\n",
    1,
    1,
    run_bench,
};
