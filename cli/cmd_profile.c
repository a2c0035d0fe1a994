/* cmd_profile.c — `hone profile`: where a model's time goes, kernel by kernel, beside what the machine can do. */
#include "bench_text.h"
#include "model_io.h"
#include "precision.h"
#include "profile.h"

static hone_rc show(cli *c, const hone_profile *p, const cli_drawn *drawn, hone_err *err) {
    const char *trace = cli_text(c, "trace", NULL), *page = cli_text(c, "html", NULL), *name = c->arg[0];
    hone_rc rc = trace ? cli_profile_trace(p, name, trace, err) : HONE_OK;
    if (!rc && page) rc = cli_profile_page(p, name, drawn, page, err);
    if (rc) return rc;
    if (c->json) {
        cli_profile_json(c, p, name, drawn);
    } else {
        cli_drawn_put(c, drawn);
        cli_profile_text(c, p, cli_given(c, "calls"));
    }
    return HONE_OK;
}

static hone_rc hold(cli *c, cli_model *open, hone_err *err) {
    const hone_model *m = open->model;
    hone_profile p;
    cli_arrays in = {0};
    cli_drawn drawn = {0};
    hone_latency_options options = {.size = sizeof options,
                                    .n_threads = (uint32_t)cli_count(c, "threads", 0),
                                    .budget_s = cli_seconds(c, "time", 3)};
    cli_stateful with;
    hone_rc rc = cli_stateful_open(c, c->arg[0], m, &with, err);
    options.graph = with.graph;
    options.state = with.compiling.options.state, options.n_state = with.compiling.options.n_state;
    /* of a language model: an answer, token by token */
    const bool speaks = cli_is_language_model(c->arg[0]);
    options.sizes = cli_text(c, "size", speaks ? "tokens=1,past=128,wanted=1" : NULL);
    options.seed = cli_count(c, "seed", 1), options.n_steps = cli_count(c, "steps", 0);
    if (!rc && !with.graph)
        rc = speaks ? cli_arrays_random(m, options.sizes, options.seed, &in, err)
                    : cli_drawn_arrays(c, c->arg[0], m, options.seed, &in, &drawn, err);
    if (!rc) rc = hone_inputs_refused(m, hone_profile_model(m, in.a, &options, &p, err), err);
    cli_arrays_free(&in);
    cli_stateful_close(&with);
    if (rc) return cli_drawn_free(&drawn), rc;
    cli_model_unlink(open); /* now, as a closed pipe may end hone without cleaning up */
    rc = show(c, &p, &drawn, err);
    cli_drawn_free(&drawn);
    if (!rc && *open->where && !c->json) printf("place     %s\n", open->where);
    if (!rc && open->split && !c->json) printf("split     %s\n", open->split);
    hone_profile_free(&p);
    return rc;
}

static hone_rc run_profile(cli *c, hone_err *err) {
    cli_model m;
    hone_rc rc = cli_model_open_timed(c, c->arg[0], &m, err);
    if (rc) return rc;
    rc = hold(c, &m, err);
    cli_model_close(&m);
    return rc;
}

static const cli_option options[] = {
    {"calls", 0, CLI_FLAG, NULL, 0, 0, "one line per call, in the order of the program"},
    {"html", 0, CLI_TEXT, "FILE", 0, 0, "write a page with the roofline and a sortable table, for a browser"},
    {"trace", 0, CLI_TEXT, "FILE", 0, 0, "write one run in Chrome's trace format"},
    CLI_THREADS("threads; else one per processor"),
    {"size", 0, CLI_TEXT, "NAME=N,...", 0, 0,
     "symbolic sizes; else usual ones, of language models tokens=1,past=128,wanted=1"},
    {"time", 0, CLI_SECONDS, "T", 0, 0, "how long to measure; else 3 s"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "of the inputs; else 1"},
    CLI_STEPS_OPTION("of a model with state: steps before the one that is profiled; else 0"),
    CLI_STATE_OPTION,
    CLI_PLACE_OPTION,
    {"target", 't', CLI_TEXT, "T", 0, 0,
     "native, generic, x86-64-v3, x86-64-v4, x86-64-v4-vnni, x86-64-v4-bf16 or aarch64"},
    {"relaxed", 0, CLI_FLAG, NULL, 0, 0, "allow rewrites that change rounding"},
    CLI_TOLERANCE_OPTION,
    {"reference", 0, CLI_FLAG, NULL, 0, 0, "every kernel as its plain reference version"},
    {"symbol", 's', CLI_TEXT, "NAME=RANGE,...", 0, 0, "fix or bound symbolic sizes: batch=1:64,seq=128"},
    {"specialize", 0, CLI_TEXT, "NAME=N,...", 0, 0, "further versions for these sizes: seq=128,512"},
    {"cc", 0, CLI_TEXT, "CC", 0, 0, "the C compiler; else cc"},
    {"winners", 0, CLI_TEXT, "FILE|URL", 0, 0,
     "what tuning found; else HONE_WINNERS, or the user's file (`hone winners`)"},
    {"no-winners", 0, CLI_FLAG, NULL, 0, 0, "default schedules alone"},
    CLI_PRECISION_OPTIONS,
    CLI_PRECISION_KEY_OPTION,
    {"jobs", 'j', CLI_COUNT, "N", 1, 1024, "compilers at once; else one per processor"},
    {0},
};

const cli_command cli_cmd_profile = {
    "profile",
    "Models",
    "MODEL",
    "say where a model's time goes, kernel by kernel",
    "Compiles a model file with a clock around every kernel call and "
    "without "
    "the parity check, and runs it on random inputs of a fixed seed: a warm-up, then 20 to 400 runs until the time is "
    "up.\n\n"
    "Times are medians over the runs with the bootstrap's interval, 95 %. GFLOP/s and GB/s come from operations and "
    "bytes counted off the graph, and are set against what `hone doctor --measure` has measured: `of roof` is the "
    "larger of the two shares. GB/s above the peak means that the data was in caches: then the roof is that of the "
    "second-level cache. `--html` draws the roofline.",
    options,
    "hone profile resnet50.onnx --threads 1\twhich kernels take the time\n"
    "hone profile resnet50.onnx --html profile.html\tthe same as a page with the roofline\n"
    "hone profile resnet50.onnx --precision resnet50.precision\twith products in bytes\n"
    "hone profile model.gguf --threads 1\ta step of a language model behind 128 tokens\n"
    "hone profile bert.onnx --size batch=1,seq=128 --calls --trace bert.json\tcall by call, and as a picture\n",
    1,
    1,
    run_profile,
};
