/* cmd_imatrix.c — `hone imatrix`: how much the columns of a language model's matrices matter, from a text. */
#include "cli.h"
#include "signals.h"
#include "text_file.h"

#include <hone/quantize.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void show_progress(void *arg, const hone_event *e) {
    const cli *c = arg;
    char left[CLI_TEXT_N] = "";
    if (isfinite(e->left_s)) cli_text_duration(e->left_s, left);
    fprintf(stderr, "\r%s%-10s %zu of %zu  %s%s   ", cli_paint(c->color_err, CLI_DIM), e->stage, e->done, e->total,
            left, cli_paint(c->color_err, CLI_PLAIN));
    if (!strcmp(e->stage, "text") && e->done >= e->total) fprintf(stderr, "\r%*s\r", 60, "");
    fflush(stderr);
}

static void report(cli *c, const hone_quantize_importance_result *r, const char *output) {
    if (!c->json) {
        printf("%s: %" PRIu64 " matrices, %" PRIu64 " tokens in %" PRIu64 " windows\n", output, r->tensors, r->tokens,
               r->windows);
        return;
    }
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "output", output);
    cli_json_kcount(&j, "tensors", r->tensors);
    cli_json_kcount(&j, "tokens", r->tokens);
    cli_json_kcount(&j, "windows", r->windows);
    cli_json_knumber(&j, "time_s", r->time_s);
    cli_json_end(&j);
}

static hone_rc run_imatrix(cli *c, hone_err *err) {
    hone_quantize_importance_options o = hone_quantize_importance_defaults();
    hone_quantize_importance_result r = {0};
    const char *slash = strrchr(c->arg[1], '/'), *output = cli_text(c, "output", "imatrix.gguf");
    char *text = NULL;
    size_t n = 0;
    o.window = (uint32_t)cli_count(c, "window", 512);
    o.windows = cli_count(c, "windows", 0);
    o.dataset = slash ? slash + 1 : c->arg[1];
    o.force = cli_given(c, "force");
    o.n_threads = (uint32_t)cli_count(c, "threads", 0);
    o.stop = cli_catch_signals(false).stop;
    if (cli_width(stderr)) o.progress = (hone_progress){show_progress, c};
    hone_rc rc = cli_read_bytes(c->arg[1], &text, &n, err);
    if (!rc) rc = hone_quantize_importance(c->arg[0], text, n, output, &o, &r, err);
    if (!rc) report(c, &r, output);
    free(text);
    return rc;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, "FILE", 0, 0, "where they go (default: imatrix.gguf)"},
    {"window", 'w', CLI_COUNT, "N", 1, 1e6, "tokens in a window (default 512); each window begins without a past"},
    {"windows", 0, CLI_COUNT, "N", 1, 1e9, "stop after so many windows"},
    {"force", 'f', CLI_FLAG, NULL, 0, 0, "replace an output that is there"},
    {"threads", 0, CLI_COUNT, "N", 1, 1024, "threads to run on; else one per processor"},
    {0},
};

const cli_command cli_cmd_imatrix = {
    "imatrix",
    "Models",
    "MODEL TEXT.txt",
    "how much each column of a model's matrices matters, for hone quantize",
    "Runs the model (a GGUF file, or a folder as `hone quantize` reads them) over a text and writes the sums of the "
    "squares of what each column of each matrix is multiplied "
    "with: "
    "a GGUF file as llama.cpp's `llama-imatrix` writes them. `hone quantize --importance FILE` then weighs errors by "
    "their means. The text should be of the kind that the model will read; some ten thousand tokens are enough. "
    "Matrices "
    "of experts are left out.",
    options,
    "hone imatrix model-f16.gguf text.txt -o model.imatrix.gguf\ta file of importances\n"
    "hone quantize model-f16.gguf --importance model.imatrix.gguf\twhat it is for\n",
    2,
    2,
    run_imatrix,
};
