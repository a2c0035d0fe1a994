/* cmd_quantize.c — `hone quantize`: a language model's weights in smaller types. */
#include "cli.h"
#include "signals.h"
#include "text_file.h"

#include <hone/quantize.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "NAME-TYPE.gguf" in the current folder. */
static char *default_output(const char *path, const char *type) {
    size_t n = strlen(path), k;
    while (n > 1 && path[n - 1] == '/') n--;
    for (k = n; k && path[k - 1] != '/'; k--) {
    }
    if (n - k > 5 && !strncmp(path + n - 5, ".gguf", 5)) n -= 5;
    return cli_format("%.*s-%s.gguf", (int)(n - k), path + k, type);
}

static void show_progress(void *arg, const hone_event *e) {
    const cli *c = arg;
    char left[CLI_TEXT_N] = "";
    if (e->done < e->total && isfinite(e->left_s)) cli_text_duration(e->left_s, left);
    fprintf(stderr, "\r%s%3.0f %%  %-8s %-48.48s%s", cli_paint(c->color_err, CLI_DIM),
            e->total ? 100.0 * (double)e->done / (double)e->total : 100.0, left, e->text ? e->text : e->stage,
            cli_paint(c->color_err, CLI_PLAIN));
    if (e->done >= e->total) fprintf(stderr, "\r%*s\r", 64, "");
    fflush(stderr);
}

/* --- what is printed ------------------------------------------------------------------------------------------------
 */

static void put_json(cli *c, const hone_quantize_result *r, const char *output, const char *type) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "output", output);
    cli_json_ktext(&j, "type", type);
    cli_json_kcount(&j, "before_b", r->before_b);
    cli_json_kcount(&j, "after_b", r->after_b);
    cli_json_knumber(&j, "time_s", r->time_s);
    cli_json_key(&j, "tensors");
    cli_json_array(&j);
    for (size_t i = 0; i < r->n; i++) {
        const hone_quantize_tensor *t = &r->tensor[i];
        cli_json_object(&j);
        cli_json_ktext(&j, "name", t->name);
        cli_json_ktext(&j, "from", t->from);
        cli_json_ktext(&j, "to", t->to);
        cli_json_ktext(&j, "instead_of", t->instead_of);
        cli_json_kbool(&j, "again", t->again);
        cli_json_kbool(&j, "weighted", t->weighted);
        cli_json_kcount(&j, "before_b", t->before_b);
        cli_json_kcount(&j, "after_b", t->after_b);
        cli_json_knumber(&j, "error", output ? t->error : (double)NAN);
        cli_json_close(&j);
    }
    cli_json_close(&j);
    cli_json_end(&j);
}

typedef struct sum {
    const char *from, *to;
    size_t n;
    uint64_t before_b, after_b;
    double error; /* the largest */
} sum;

static size_t sums_of(const hone_quantize_result *r, sum *out) {
    size_t n = 0, k;
    for (size_t i = 0; i < r->n; i++) {
        const hone_quantize_tensor *t = &r->tensor[i];
        for (k = 0; k < n && (strcmp(out[k].from, t->from) || strcmp(out[k].to, t->to)); k++) {
        }
        if (k == n) out[n++] = (sum){.from = t->from, .to = t->to};
        out[k].n++;
        out[k].before_b += t->before_b;
        out[k].after_b += t->after_b;
        out[k].error = fmax(out[k].error, t->error);
    }
    return n;
}

static void row(cli_table *t, const char *what, const char *from, const char *to, uint64_t before_b, uint64_t after_b,
                double error) {
    char buf[CLI_TEXT_N];
    cli_table_cell(t, "%s", what);
    cli_table_cell(t, "%s", from);
    cli_table_cell(t, "%s", to);
    cli_table_cell(t, "%s", cli_text_bytes((double)before_b, buf));
    cli_table_cell(t, "%s", cli_text_bytes((double)after_b, buf));
    if (error > 0)
        cli_table_cell(t, "%.3g %%", 100 * error);
    else
        cli_table_cell(t, "%s", "");
}

/* Each tensor in a dry run; else one line for all that go from one type to another. */
static void put_text(const cli *c, const hone_quantize_result *r, const char *output) {
    static const char *const head[] = {"tensors", "from", "to", "before", "after", "error"};
    cli_table *t = cli_table_new("xllrrr");
    sum *all = cli_alloc(r->n + 1, sizeof *all);
    char a[CLI_TEXT_N], b[CLI_TEXT_N];
    size_t n = output ? sums_of(r, all) : 0;
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) cli_table_head(t, head[i]);
    for (size_t i = 0; !output && i < r->n; i++)
        row(t, r->tensor[i].name, r->tensor[i].from, r->tensor[i].to, r->tensor[i].before_b, r->tensor[i].after_b, 0);
    for (size_t i = 0; i < n; i++) {
        snprintf(a, sizeof a, "%zu", all[i].n);
        row(t, a, all[i].from, all[i].to, all[i].before_b, all[i].after_b, all[i].error);
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
    printf("\n%s%s%s -> %s\n", output ? output : "", output ? ": " : "", cli_text_bytes((double)r->before_b, a),
           cli_text_bytes((double)r->after_b, b));
    free(all);
}

static void put_notes(const hone_quantize_result *r, bool importance) {
    size_t again = 0, instead = 0, weighted = 0, blocks = 0;
    const hone_quantize_tensor *first = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const hone_quantize_tensor *t = &r->tensor[i];
        again += t->again;
        weighted += t->weighted;
        blocks += strcmp(t->from, t->to) && t->to[0] == 'Q';
        if (t->instead_of && !instead++) first = t;
    }
    if (first)
        fprintf(stderr,
                "hone: note: %zu tensors have rows that are no whole blocks of their type, the first '%s': %s in place "
                "of %s\n",
                instead, first->name, first->to, first->instead_of);
    if (again)
        fprintf(stderr,
                "hone: warning: %zu tensors were in blocks before: what was lost then stays lost; begin with the model "
                "in f16 or bf16\n",
                again);
    if (importance && weighted < blocks)
        fprintf(stderr, "hone: note: %zu of %zu tensors have no importances: all their columns weigh the same\n",
                blocks - weighted, blocks);
}

/* --- the command ----------------------------------------------------------------------------------------------------
 */

static hone_rc run_quantize(cli *c, hone_err *err) {
    hone_quantize_options o = hone_quantize_defaults();
    hone_quantize_result r = {0};
    const char *path = c->arg[0], *type = cli_text(c, "type", "q4_K_M"), **rules = NULL;
    char *output = cli_given(c, "output") ? cli_strdup(cli_text(c, "output", "")) : default_output(path, type);
    char *text = cli_given(c, "tensor-type") ? cli_strdup(cli_text(c, "tensor-type", "")) : NULL;
    o.type = type;
    if (text) {
        rules = cli_split_options(text);
        o.tensor_type = rules;
        while (rules[o.n_tensor_type]) o.n_tensor_type++;
    }
    o.importance = cli_text(c, "importance", NULL);
    char *sample = NULL;
    hone_rc rc = HONE_OK;
    if (cli_given(c, "importance-text"))
        rc = cli_read_bytes(cli_text(c, "importance-text", ""), &sample, &o.n_importance_text, err);
    o.importance_text = sample;
    o.n_jobs = (uint32_t)cli_count(c, "jobs", 0);
    o.force = cli_given(c, "force");
    o.dry_run = cli_given(c, "dry-run");
    o.stop = cli_catch_signals(false).stop;
    if (cli_width(stderr)) o.progress = (hone_progress){show_progress, c};
    if (!rc) rc = hone_quantize_file(path, output, &o, &r, err);
    if (rc && cli_width(stderr)) fprintf(stderr, "\r%*s\r", 64, "");
    if (!rc) {
        put_notes(&r, o.importance || o.importance_text);
        if (c->json)
            put_json(c, &r, o.dry_run ? NULL : output, type);
        else
            put_text(c, &r, o.dry_run ? NULL : output);
    }
    hone_quantize_result_free(&r);
    free(rules);
    free(sample);
    free(text);
    free(output);
    return rc;
}

static const cli_option options[] = {
    {"type", 't', CLI_TEXT, "TYPE", 0, 0,
     "q8_0, q6_K, q5_K_M, q5_1, q5_0, q4_K_M (default), q4_1, q4_0, bf16, f16 or f32"},
    {"output", 'o', CLI_TEXT, "FILE", 0, 0, "where it goes (default: NAME-TYPE.gguf in this folder)"},
    {"tensor-type", 0, CLI_TEXT, "PATTERN=TYPE,…", 0, 0,
     "another type for tensors whose names the shell pattern fits: '*attn_v*=q8_0,blk.0.*=f16'"},
    {"importance", 0, CLI_TEXT, "FILE", 0, 0,
     "how much each column matters: a file of `hone imatrix` or of llama-imatrix"},
    {"importance-text", 0, CLI_TEXT, "FILE", 0, 0, "the same, computed from this text first, as `hone imatrix` does"},
    {"jobs", 'j', CLI_COUNT, "N", 1, 256, "threads; else one per processor. The output does not depend on it"},
    {"force", 'f', CLI_FLAG, NULL, 0, 0, "replace an output that is there"},
    {"dry-run", 'n', CLI_FLAG, NULL, 0, 0, "write nothing; list what each tensor would become, and the sizes"},
    {0},
};

const cli_command cli_cmd_quantize = {
    "quantize",
    "Models",
    "MODEL",
    "make a language model smaller: its weights in blocks of 4 to 8 bits",
    "Reads a model in GGUF, or a folder with safetensors, config.json and tokenizer.json (llama, mistral, qwen2, "
    "qwen3), "
    "and writes it as GGUF with its weights in another type; what else is in it stays. q4_K_M and q5_K_M "
    "are mixes: the head, and half of the layers' value and down weights, have more bits, as in published files. Norms "
    "and biases stay as they are.\n\n"
    "The scales of every block are searched for, so that the sum of squared errors is the least that was found; with "
    "`--importance` each square counts times the importance of its column. The column `error` is the root mean square "
    "error in per cent of the root mean square weight, the largest of the line's tensors.\n\n"
    "Rows that are no whole blocks get a type with shorter blocks (q4_K: q5_0, q5_K: q5_1, q6_K: q8_0; then f16), "
    "which is said. A weight that is infinite or no number is refused with its place.",
    options,
    "hone quantize model-f16.gguf\tmodel-f16-q4_K_M.gguf\n"
    "hone quantize model-f16.gguf -t q8_0 -o small.gguf\ta type and a name\n"
    "hone quantize SmolLM2-135M/ -t q8_0\tSmolLM2-135M-q8_0.gguf from a folder\n"
    "hone quantize model-f16.gguf --importance-text text.txt\terrors weighed by what the text makes of the columns\n"
    "hone quantize model-f16.gguf --dry-run\twhat would become what\n",
    1,
    1,
    run_quantize,
};
