/* cmd_canary.c — `hone canary`: do the controls reach the compiler, and do they change the measured values? */
#include "canary.h"
#include "prove.h"
#include "session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Discovery and builds, shown as a search shows them. */
static void on_event(void *ctx, const hone_event *event) {
    const hone_prove_event *e = (const hone_prove_event *)event;
    hone_tune_event shown = {.base = *event, .best_speedup = NAN};
    shown.stage = e->stage == HONE_PROVE_WARNING   ? HONE_TUNE_WARNING
                  : e->stage == HONE_PROVE_MEASURE ? HONE_TUNE_BASELINE
                                                   : HONE_TUNE_DISCOVER;
    cli_live_event(ctx, &shown.base);
}

hone_rc cli_canary(const hone_workload *workload, hone_prove_options options, cli_live *live, hone_canary_result *out,
                   hone_err *err) {
    hone_canary_result r;
    if (live) options.progress = (hone_progress){on_event, live};
    hone_rc rc = hone_canary_run(workload, &options, &r, err);
    if (rc) return rc;
    if (!r.passed) rc = cli_fail(err, HONE_E_CANARY, "canary: %s", r.text);
    if (out)
        *out = r;
    else
        hone_canary_free(&r);
    return rc;
}

static void put_json(cli *c, const hone_canary_result *r) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_kbool(&j, "passed", r->passed);
    cli_json_kbool(&j, "applies", r->applies);
    cli_json_kbool(&j, "default_same", r->default_same);
    cli_json_kbool(&j, "o0_differs", r->o0_differs);
    cli_json_knumber(&j, "o0_gain", r->o0_gain.mid);
    cli_json_knumber(&j, "o0_gain_lo", r->o0_gain.lo);
    cli_json_knumber(&j, "o0_gain_hi", r->o0_gain.hi);
    cli_json_ktext(&j, "text", r->text);
    cli_json_end(&j);
}

static void put_text(const cli *c, const hone_canary_result *r) {
    char a[CLI_TEXT_N], b[CLI_TEXT_N];
    if (!r->applies) {
        printf("canary   does not apply: this workload builds nothing or tunes no controls\n");
        return;
    }
    printf("canary   %s%s%s\n", cli_paint(c->color_out, r->passed ? CLI_GREEN : CLI_RED),
           r->passed ? "passed" : "failed", cli_paint(c->color_out, CLI_PLAIN));
    printf("default  the baseline's flags, as controls, give %s\n",
           r->default_same ? "the baseline's program" : "another program");
    printf("level 0  %s", r->o0_differs ? "changes the program" : "gives the same program");
    if (r->o0_differs && isfinite(r->o0_gain.mid))
        printf("; it is %s as fast (%s to %s)", cli_text_ratio(c, r->o0_gain.mid, a),
               cli_text_ratio(c, r->o0_gain.lo, b), cli_text_ratio(c, r->o0_gain.hi, (char[CLI_TEXT_N]){0}));
    putchar('\n');
}

static hone_rc run_canary(cli *c, hone_err *err) {
    const char *path = c->n_args ? c->arg[0] : "hone.yaml";
    hone_workload *workload;
    hone_canary_result r = {0};
    hone_rc rc = cli_workload_load(path, &workload, err);
    if (rc) return rc;
    char *dir = cli_store_dir(c, path);
    cli_live live;
    hone_prove_options o = cli_prove_options(c, dir, &live, cli_catch_signals(false));
    cli_live_begin(&live, c, NULL);
    rc = cli_canary(workload, o, &live, &r, err);
    cli_live_end(&live);
    if (!rc || rc == HONE_E_CANARY) {
        if (c->json)
            put_json(c, &r);
        else
            put_text(c, &r);
        hone_canary_free(&r);
    }
    hone_workload_free(workload);
    free(dir);
    return rc;
}

static const cli_option options[] = {
    {"jobs", 'j', CLI_COUNT, "N", 1, 1024, "builds side by side (default: all three)"},
    {"cpu", 0, CLI_COUNT, "N", 0, 4095, "the core to measure on (default: the last usable one)"},
    {"store", 0, CLI_TEXT, "DIR", 0, 0, "the folder for the builds (default .hone beside the workload file)"},
    {0},
};

const cli_command cli_cmd_canary = {
    "canary",
    "Prove",
    "[hone.yaml]",
    "test that controls reach the compiler and the measurement",
    "Builds the workload three times in the same way as every candidate: with the baseline's flags, with the same "
    "flags written out by hone as controls, and with optimisation turned off. The first two must give the same "
    "program; the third must give "
    "another one, and a slower one in the first objective that is a timing. A failure says what to look at: cached "
    "builds, a makefile that ignores the flags, hot code that is not compiled here.\n\n"
    "`hone tune` does this before every search, unless told --no-canary.",
    options,
    "hone canary\thone.yaml here\n"
    "hone canary --json examples/gemm/hone.yaml\tfor scripts\n",
    0,
    1,
    run_canary,
};
