/* cmd_explain.c — `hone explain`: what a point changes in the machine code. */
#include "chosen.h"
#include "prove.h"

#include <hone/explain.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- side by side ------------------------------------------------------------------------------------------------- */

enum { DIFF_MOST = 3000 };

typedef struct listing {
    char *text, **line;
    size_t n;
} listing;

static listing split(const char *text) {
    listing l = {.text = cli_strdup(text)};
    size_t room = 1;
    for (const char *p = text; *p; p++) room += *p == '\n';
    l.line = cli_alloc(room, sizeof *l.line);
    for (char *p = l.text, *end; *p && l.n < DIFF_MOST; p = end) {
        end = strchr(p, '\n');
        l.line[l.n++] = p;
        if (!end) break;
        *end++ = 0;
    }
    return l;
}

static void put_columns(const cli *c, const char *left, char mark, const char *right, size_t width) {
    size_t used = cli_columns(left);
    cli_put(c, stdout, left, width);
    printf("%*s %c ", (int)(width > used ? width - used : 0), "", mark);
    cli_put(c, stdout, right, width);
    putchar('\n');
}

/* Longest common subsequence by the textbook's table: two bytes a cell, at most 18 MB. */
static void put_diff(const cli *c, const hone_explanation *x) {
    listing a = split(x->listing[0]), b = split(x->listing[1]);
    size_t row = b.n + 1, width = (size_t)(cli_width(stdout) ? cli_width(stdout) : 120);
    unsigned short *longest = cli_alloc((a.n + 1) * row, sizeof *longest);
    width = width > 23 ? (width - 3) / 2 : 10;
    for (size_t i = a.n; i-- > 0;)
        for (size_t k = b.n; k-- > 0;) {
            unsigned short down = longest[(i + 1) * row + k], right = longest[i * row + k + 1];
            unsigned short both = (unsigned short)(longest[(i + 1) * row + k + 1] + 1);
            longest[i * row + k] = strcmp(a.line[i], b.line[k]) == 0 ? both : down > right ? down : right;
        }
    printf("\n%s, baseline and tuned:\n", x->function);
    for (size_t i = 0, k = 0; i < a.n || k < b.n;) {
        bool same = i < a.n && k < b.n && strcmp(a.line[i], b.line[k]) == 0;
        bool gone = i < a.n && (k == b.n || longest[(i + 1) * row + k] >= longest[i * row + k + 1]);
        put_columns(c, same || gone ? a.line[i] : "",
                    same   ? ' '
                    : gone ? '<'
                           : '>',
                    same || !gone ? b.line[k] : "", width);
        i += same || gone;
        k += same || !gone;
    }
    if (a.n == DIFF_MOST || b.n == DIFF_MOST) printf("(only the first %d lines)\n", DIFF_MOST);
    free(longest);
    free(a.line), free(a.text);
    free(b.line), free(b.text);
}

/* --- device code ----------------------------------------------------------------------------------------------------
 */

/* Files of device code are told from controls files and sessions by the ends of their names. */
static bool is_code_file(const char *name) {
    static const char *const end[] = {".cubin", ".fatbin", ".ptx", ".o", ".so"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
        size_t m = strlen(end[i]);
        if (n > m && !strcmp(name + n - m, end[i])) return true;
    }
    return false;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

static void put_json(cli *c, const cli_chosen *from, const hone_explanation *x) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    if (from->workload) {
        cli_json_kcount(&j, "session", (uint64_t)from->session);
        cli_json_ktext(&j, "workload", hone_workload_name(from->workload));
        cli_json_kraw(&j, "point", from->point);
    } else {
        cli_json_ktext(&j, "files", from->from);
    }
    cli_json_key(&j, "sentences");
    cli_json_array(&j);
    for (size_t i = 0; i < x->n_sentences; i++) cli_json_text(&j, x->sentence[i]);
    cli_json_close(&j);
    cli_json_key(&j, "facts");
    cli_json_array(&j);
    for (size_t i = 0; i < x->n_facts; i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "function", x->fact[i].function);
        cli_json_ktext(&j, "what", x->fact[i].what);
        cli_json_knumber(&j, "baseline", x->fact[i].baseline);
        cli_json_knumber(&j, "tuned", x->fact[i].tuned);
        cli_json_close(&j);
    }
    cli_json_close(&j);
    cli_json_ktext(&j, "function", x->function);
    cli_json_ktext(&j, "baseline_code", x->listing[0]);
    cli_json_ktext(&j, "tuned_code", x->listing[1]);
    cli_json_end(&j);
}

static void cell_count(cli_table *t, double x) {
    if (isnan(x))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, "%.*f", x == floor(x) ? 0 : 4, x);
}

/* Facts that are 0 on both sides are left out. */
static void put_facts(const cli *c, const hone_explanation *x) {
    cli_table *t = cli_table_new("xlrr");
    const char *last = NULL;
    static const char *const head[] = {"function", "", "baseline", "tuned"};
    for (size_t i = 0; i < 4; i++) cli_table_head(t, head[i]);
    for (size_t i = 0; i < x->n_facts; i++) {
        const hone_code_fact *f = &x->fact[i];
        if (f->baseline == 0 && f->tuned == 0) continue;
        bool again = last && strcmp(last, f->function) == 0;
        cli_table_cell(t, "%s", again ? "" : *f->function ? f->function : "whole program");
        cli_table_cell(t, "%s", f->what);
        cell_count(t, f->baseline);
        cell_count(t, f->tuned);
        if (f->baseline == f->tuned) cli_table_ink(t, CLI_DIM);
        last = f->function;
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

static void put_text(const cli *c, const cli_chosen *from, const hone_explanation *x) {
    printf("what changes in the machine code: ");
    cli_put(c, stdout, from->from, 0);
    printf("\n\n");
    for (size_t i = 0; i < x->n_sentences; i++) {
        printf("- ");
        cli_put(c, stdout, x->sentence[i], 0);
        putchar('\n');
    }
    putchar('\n');
    put_facts(c, x);
    if (!cli_given(c, "diff")) return;
    if (x->function)
        put_diff(c, x);
    else
        printf("\nno function that is on both sides differs\n");
}

static hone_rc explain_files(cli *c, hone_err *err) {
    hone_code_options o = hone_code_defaults();
    hone_explanation x;
    const char *tuned = c->n_args > 1 ? c->arg[1] : NULL;
    const char *arch = cli_text(c, "arch", "");
    char *end = NULL;
    if (*arch) {
        o.sm = strncmp(arch, "sm_", 3) ? 0 : (uint32_t)strtoul(arch + 3, &end, 10);
        if (!o.sm) return cli_fail(err, HONE_E_USAGE, "'%s' is no architecture of device code; write sm_90", arch);
    }
    o.threads = (uint32_t)cli_count(c, "threads", 0);
    hone_rc rc = hone_explanation_of_code(c->arg[0], tuned, &o, &x, err);
    if (rc) return rc;
    cli_chosen from = {.from = tuned ? cli_format("%s and %s", c->arg[0], tuned) : cli_strdup(c->arg[0])};
    if (c->json)
        put_json(c, &from, &x);
    else
        put_text(c, &from, &x);
    free(from.from);
    hone_explanation_free(&x);
    return HONE_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static hone_rc explain(cli *c, const cli_chosen *from, hone_err *err) {
    cli_live live;
    cli_signals on = cli_catch_signals(false);
    hone_explanation x;
    hone_prove_options o = cli_prove_options(c, from->store, &live, on);
    cli_live_begin(&live, c, on.resized);
    hone_rc rc = hone_prove_explain(from->workload, from->point, &o, &x, err);
    cli_live_end(&live);
    if (rc) return rc;
    if (c->json)
        put_json(c, from, &x);
    else
        put_text(c, from, &x);
    hone_explanation_free(&x);
    return HONE_OK;
}

static hone_rc run_explain(cli *c, hone_err *err) {
    cli_chosen from;
    if (c->n_args == 2 || (c->n_args == 1 && is_code_file(c->arg[0]))) return explain_files(c, err);
    hone_rc rc = cli_chosen_open(c, &from, err);
    if (rc) return rc;
    rc = explain(c, &from, err);
    cli_chosen_free(&from);
    return rc;
}

static const cli_option options[] = {
    {"diff", 'd', CLI_FLAG, NULL, 0, 0,
     "both sides of the changed function that loops most, instruction by instruction"},
    {"arch", 0, CLI_TEXT, "sm_NN", 0, 0, "device code: of this architecture, where a file has several"},
    {"threads", 0, CLI_COUNT, "N", 1, 1024,
     "device code: of a block, for occupancy (default: launch bounds, else 256)"},
    {"jobs", 'j', CLI_COUNT, "N", 1, 1024, "builds side by side (default: one per core)"},
    {"quiet", 'q', CLI_FLAG, NULL, 0, 0, "no progress, only the result"},
    CLI_CHOSEN_OPTIONS,
    {0},
};

const cli_command cli_cmd_explain = {
    "explain",
    "Prove",
    "[SESSION|FILE.hone|CODE [CODE]]",
    "show what a point changes in the machine code",
    "Builds the baseline and the point and compares their machine code, function by function, as `objdump` shows it: "
    "vector width, stack accesses in loops (spills, mostly), fused multiply-adds, gathers, loops and their size, calls "
    "that are gone or new, functions that were inlined, bytes. First in sentences, then as a table of all that "
    "differs. "
    "Functions that come with the C library or the harness are left out.\n\n"
    "Device code for NVIDIA's GPUs is read through cuobjdump and nvdisasm: registers, spills, occupancy, instructions "
    "by "
    "class, live registers, stalls. Two files of it (.cubin, .fatbin, .ptx, programs) are compared without a workload; "
    "of "
    "one all figures are shown.\n\n"
    "The point is the newest kept proof of a session (the newest unless a number is given), else the session's best, "
    "or that of a controls file.",
    options,
    "hone explain\tthe newest session\n"
    "hone explain softmax.hone --diff\ta controls file, with the code itself\n"
    "hone explain old.cubin new.cubin --diff\ttwo builds of a kernel\n"
    "hone explain --json -q\tfor scripts\n",
    0,
    2,
    run_explain,
};
