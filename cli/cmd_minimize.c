/* cmd_minimize.c — `hone minimize`: the fewest controls that keep a point's gain, what each one brings; then the proof
 * of what is left, and its controls file. */
#include "chosen.h"
#include "prove.h"

#include <hone/reduce.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct result {
    cli *c;
    const cli_chosen *from;
    const char *objective;
    const hone_reduction *r;
    const hone_proofs *proofs; /* of the reduced point; NULL: not asked for */
    char *controls;            /* path of the file written; NULL: none */
    bool stopped;              /* by Ctrl-C: the result so far, without a proof */
} result;

/* --- settings --------------------------------------------------------------------------------------------------- */

/* The value of a control in a point, whose names carry the compiler in front. malloc'ed text. */
static char *setting(const char *point, const char *name) {
    json_t *all = json_loads(point, 0, NULL), *value;
    const char *key;
    char *text = NULL;
    json_object_foreach(all, key, value) {
        size_t n = strlen(key), k = strlen(name);
        bool mine = strcmp(key, name) == 0 || (n > k && key[n - k - 1] == '.' && strcmp(key + n - k, name) == 0);
        if (!mine || text) continue;
        if (json_is_string(value))
            text = cli_strdup(json_string_value(value));
        else {
            char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
            text = cli_strdup(dumped ? dumped : "?");
            free(dumped);
        }
    }
    json_decref(all);
    return text ? text : cli_strdup("left out");
}

/* --- output ----------------------------------------------------------------------------------------------------- */

static void interval_json(cli_json *j, const char *key, hone_interval g) {
    cli_json_key(j, key);
    cli_json_object(j);
    cli_json_knumber(j, "lo", g.lo);
    cli_json_knumber(j, "mid", g.mid);
    cli_json_knumber(j, "hi", g.hi);
    cli_json_close(j);
}

static void shares_json(cli_json *j, const hone_reduction *r) {
    cli_json_key(j, "shares");
    cli_json_array(j);
    for (size_t i = 0; i < r->n_after; i++) {
        char *value = setting(r->point, r->share[i].name);
        cli_json_object(j);
        cli_json_ktext(j, "name", r->share[i].name);
        cli_json_ktext(j, "value", value);
        interval_json(j, "gain", r->share[i].gain);
        cli_json_close(j);
        free(value);
    }
    cli_json_close(j);
}

static void put_json(const result *x) {
    char *proof = NULL;
    cli_json j = cli_json_begin(x->c, false);
    cli_json_object(&j);
    cli_json_kcount(&j, "session", (uint64_t)x->from->session);
    cli_json_ktext(&j, "workload", hone_workload_name(x->from->workload));
    cli_json_ktext(&j, "objective", x->objective);
    cli_json_kcount(&j, "before", x->r->n_before);
    cli_json_kcount(&j, "after", x->r->n_after);
    cli_json_kcount(&j, "measurements", x->r->n_measurements);
    cli_json_kbool(&j, "complete", x->r->complete);
    interval_json(&j, "gain_before", x->r->gain_before);
    interval_json(&j, "gain_after", x->r->gain_after);
    shares_json(&j, x->r);
    cli_json_kraw(&j, "point", x->r->point);
    cli_json_ktext(&j, "argv", x->r->argv);
    if (x->proofs && hone_proof_to_json(&x->proofs->proof[0], false, &proof, NULL)) proof = NULL;
    cli_json_kraw(&j, "proof", proof);
    cli_json_ktext(&j, "controls", x->controls);
    cli_json_end(&j);
    hone_free(proof);
}

static char *gain_text(const cli *c, hone_interval g) {
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    if (!isfinite(g.mid)) return cli_strdup("-");
    cli_text_ratio(c, g.mid, a);
    if (!isfinite(g.lo) || !isfinite(g.hi)) return cli_strdup(a);
    return cli_format("%s (%s to %s)", a, cli_text_ratio(c, g.lo, lo), cli_text_ratio(c, g.hi, hi));
}

/* A share that is missing: the program fails without the control, or the budget ended before. */
static bool is_late(const hone_reduction *r, size_t i) { return !r->complete && !isfinite(r->share[i].gain.mid); }

static void share_row(cli_table *t, const result *x, const hone_share *s) {
    char *value = setting(x->r->point, s->name), *gain = gain_text(x->c, s->gain);
    cli_table_cell(t, "%s", s->name);
    cli_table_cell(t, "%s", value);
    cli_table_cell(t, "%s", isfinite(s->gain.mid) ? gain : "the program fails without it");
    free(value);
    free(gain);
}

static void put_shares(const result *x) {
    size_t late = 0, n = x->r->n_after;
    for (size_t i = 0; i < n; i++) late += is_late(x->r, i);
    if (late < n) {
        cli_table *t = cli_table_new("lxl");
        cli_table_head(t, "control");
        cli_table_head(t, "setting");
        cli_table_head(t, "gain lost without it");
        for (size_t i = 0; i < n; i++)
            if (!is_late(x->r, i)) share_row(t, x, &x->r->share[i]);
        cli_table_print(x->c, t, stdout, cli_width(stdout));
    }
    if (late) printf("%zu of %zu shares were not measured in time\n", late, n);
}

static void field(const cli *c, const char *name, const char *text) {
    printf("%s%-9s%s ", cli_paint(c->color_out, CLI_BOLD), name, cli_paint(c->color_out, CLI_PLAIN));
    cli_put(c, stdout, text, 0);
    putchar('\n');
}

static void put_gain(const result *x, const char *name, hone_interval g) {
    char *gain = gain_text(x->c, g), *line = cli_format("%s: %s against the baseline", x->objective, gain);
    field(x->c, name, line);
    free(line);
    free(gain);
}

static void put_text(const result *x) {
    const hone_reduction *r = x->r;
    field(x->c, "point", x->from->from);
    if (!r->n_before) {
        field(x->c, "controls", "0: it is the baseline, there is nothing to reduce");
        return;
    }
    char *line = cli_format("%zu -> %zu, in %zu measurements%s", r->n_before, r->n_after, r->n_measurements,
                            r->complete  ? ""
                            : x->stopped ? "; interrupted, fewer might do"
                                         : "; the budget ended first, fewer might do");
    field(x->c, "controls", line);
    free(line);
    put_gain(x, "before", r->gain_before);
    if (!r->n_after) {
        field(x->c, "after",
              "nothing: the interval of the gain reaches 1, so there is none to keep; measure longer or on a "
              "quieter machine (hone doctor) if it should be there");
        return;
    }
    put_gain(x, "after", r->gain_after);
    field(x->c, "build", r->argv);
    putchar('\n');
    put_shares(x);
    if (x->proofs) {
        putchar('\n');
        cli_wrap(stdout, x->proofs->proof[0].verdict, 0, cli_width(stdout) ? cli_width(stdout) : 120, x->c->color_out);
    }
    if (x->controls) printf("controls written to %s\n", x->controls);
    if (x->stopped && r->n_after)
        printf("\nNot proven. To go on from here: hone minimize --point POINT, with this point:\n%s\n", r->point);
}

/* --- the proof and the file --------------------------------------------------------------------------------------- */

/* --out, else the controls file it came from, else NAME.hone beside the workload file. */
static char *out_path(const result *x) {
    const char *given = cli_text(x->c, "out", NULL);
    if (given || x->from->controls) return cli_strdup(given ? given : x->from->controls);
    return cli_format("%s/%s.hone", hone_workload_dir(x->from->workload), hone_workload_name(x->from->workload));
}

static hone_rc write_controls(result *x, const hone_prove_options *o, hone_err *err) {
    char *path = out_path(x);
    hone_rc rc = cli_controls_keep(path, x->from->workload, &x->proofs->proof[0], x->r, x->from->session,
                                   x->from->claimed, o, err);
    if (rc)
        free(path);
    else
        x->controls = path;
    return rc;
}

static hone_rc prove(result *x, hone_prove_options *o, hone_proofs *proofs, hone_err *err) {
    if (*o->stop) { /* what it was reduced to by then is the result */
        x->c->exit_code = hone_rc_exit(HONE_E_INTERRUPTED);
        return HONE_OK;
    }
    if (!x->r->n_after || cli_given(x->c, "no-proof")) return HONE_OK;
    o->variants = 0; /* a proof's own number */
    hone_rc rc = hone_prove_validate(x->from->workload, &x->r->point, 1, x->from->session, o, proofs, err);
    if (rc) return rc;
    x->proofs = proofs;
    if (!proofs->proof[0].kept) {
        x->c->exit_code = hone_rc_exit(HONE_E_REJECTED);
        return HONE_OK;
    }
    return write_controls(x, o, err);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static hone_rc minimize(cli *c, const cli_chosen *from, hone_err *err) {
    cli_live live;
    cli_signals on = cli_catch_signals(false);
    hone_reduction r;
    hone_proofs proofs = {0};
    cli_live_begin(&live, c, on.resized);
    hone_prove_options o = cli_prove_options(c, from->store, &live, on);
    o.objective = cli_text(c, "objective", NULL);
    hone_rc rc = cli_share(c, "keep", 1, &o.keep_gain, err);
    if (!rc && cli_given(c, "keep") && o.keep_gain <= 0)
        rc = cli_fail(err, HONE_E_USAGE, "--keep 0 keeps nothing: say a share above 0, or leave it out");
    if (!rc) rc = hone_prove_minimize(from->workload, from->point, &o, &r, err);
    if (rc) {
        cli_live_end(&live);
        return rc;
    }
    result x = {.c = c, .from = from, .r = &r, .objective = o.objective};
    x.stopped = *on.stop;
    if (!x.objective) x.objective = hone_workload_objective(from->workload, 0, NULL);
    rc = prove(&x, &o, &proofs, err);
    cli_live_end(&live);
    if (c->json)
        put_json(&x);
    else
        put_text(&x);
    free(x.controls);
    hone_proofs_free(&proofs);
    hone_reduction_free(&r);
    return rc;
}

static hone_rc run_minimize(cli *c, hone_err *err) {
    cli_chosen from;
    hone_rc rc = cli_chosen_open(c, &from, err);
    if (rc) return rc;
    rc = minimize(c, &from, err);
    cli_chosen_free(&from);
    return rc;
}

static const cli_option options[] = {
    {"objective", 0, CLI_TEXT, "NAME", 0, 0, "the objective whose gain is to be kept (default: the first)"},
    {"keep", 0, CLI_TEXT, "SHARE", 0, 0, "how much of the gain must stay: 90%, 0.9 (default: what its interval says)"},
    {"no-proof", 0, CLI_FLAG, NULL, 0, 0, "reduce only: prove nothing, write nothing"},
    {"variants", 0, CLI_COUNT, "N", 1, 16, "layouts of each program while reducing (default 4)"},
    {"time", 't', CLI_SECONDS, "TIME", 0, 0, "time at most for the reduction, and again for the proof: 90s, 10m"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "seed of subsets, layouts and orders (default 0)"},
    {"jobs", 'j', CLI_COUNT, "N", 1, 1024, "builds side by side (default: one per core)"},
    {"cpu", 0, CLI_COUNT, "N", 0, 4095, "the core to measure on (default: the last usable one)"},
    {"out", 'o', CLI_TEXT, "FILE", 0, 0, "the controls file to write (default: the one given, else NAME.hone)"},
    {"quiet", 'q', CLI_FLAG, NULL, 0, 0, "no progress, only the result"},
    CLI_CHOSEN_OPTIONS,
    {0},
};

const cli_command cli_cmd_minimize = {
    "minimize",
    "Prove",
    "[SESSION|FILE.hone]",
    "reduce a point to the few controls that carry its gain",
    "Finds the fewest controls and parameters that keep the gain of a point, within the interval of that gain, and do "
    "not worsen the other objectives; then prints what each one of them brings: the gain lost when it alone goes back "
    "to the baseline. Controls that do not change the program are removed without measurement.\n\n"
    "The point is the newest kept proof of a session (the newest unless a number is given), else the session's best, "
    "or that of a controls file. What is left is proven as `hone validate` does, since reducing has looked at many "
    "subsets, and written as a controls file when it is kept.\n\n"
    "Ctrl-C ends the reduction: the smallest set known to hold by then is printed, with its point to go on from.\n\n"
    "Exit status: 0 when the reduced point was kept, 17 when its proof rejected it, 130 when interrupted.",
    options,
    "hone minimize\tthe newest session\n"
    "hone minimize softmax.hone\ta controls file, which is replaced when the reduced point is kept\n"
    "hone minimize --keep 90%\tfewer controls, for a tenth of the gain at most\n"
    "hone minimize 4 --no-proof --json -q\tonly the reduction, for scripts\n",
    0,
    1,
    run_minimize,
};
