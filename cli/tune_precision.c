/* tune_precision.c — see tune_precision.h. */
#include "tune_precision.h"
#include "bench_text.h"
#include "signals.h"
#include "text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- progress ------------------------------------------------------------------------------------------------------
 */

typedef struct watch {
    cli_live *live;
    double start_s;
    const char *stage;
} watch;

/* The stages of the search, and those of each compilation in it. */
static const struct stage_words {
    const char *stage, *says;
    bool compiles;
} stages[] = {{"samples", "the model on the samples", false},
              {"profile", "times of the products, in f32 and in bytes", false},
              {"ranges", "ways to take ranges, each a program with both versions of all products", false},
              {"products", "each product alone", false},
              {"points", "points of the search", false},
              {"proof", "the front on held-out samples", false},
              {"passes", "compiling a version: passes over its graph", true},
              {"kernels", "compiling a version: its kernels as C", true},
              {"compile", "compiling a version: its C sources", true},
              {"parity", "compiling a version: parity of its kernels", true}};

static void on_event(void *arg, const hone_event *e) {
    watch *w = arg;
    const struct stage_words *s = stages, *end = stages + sizeof stages / sizeof *stages;
    while (s < end && strcmp(s->stage, e->stage) != 0) s++;
    bool own = s < end && !s->compiles, begins = own && (!w->stage || strcmp(w->stage, e->stage) != 0);
    if (own) w->stage = e->stage;
    cli_live_say(w->live, cli_now_s() - w->start_s, begins, "precision: %s, %zu of %zu", s < end ? s->says : e->stage,
                 e->done, e->total);
}

/* --- options -------------------------------------------------------------------------------------------------------
 */

static bool is_chosen_now(const char *kind) {
    return !strcmp(kind, "int8") || !strcmp(kind, "bf16") || !strcmp(kind, "mixed");
}

static hone_rc check(const cli *c, const char *path, hone_err *err) {
    const char *kind = cli_text(c, "precision", NULL);
    if (kind && cli_is_language_model(path))
        return cli_fail(err, HONE_E_USAGE,
                        "--precision is for models of tensors; the weights of a language model have types of their "
                        "own: `hone quantize`");
    if (cli_given(c, "output") && !(kind && is_chosen_now(kind)))
        return cli_fail(err, HONE_E_USAGE,
                        "option '--output' says where a choice is written: it goes with --precision mixed, int8 or "
                        "bf16");
    return cli_precision_check(c, err);
}

/* A search takes minutes: what it cannot write at its end is said now. */
static hone_rc check_folder(const char *name, hone_err *err) {
    const char *slash = strrchr(name, '/');
    char *folder = slash ? cli_format("%.*s", slash == name ? 1 : (int)(slash - name), name) : cli_strdup(".");
    hone_rc rc = !access(folder, W_OK)
                     ? HONE_OK
                     : cli_fail(err, HONE_E_IO, "cannot write to '%s': %s; --output DIR/NAME takes another place",
                                folder, strerror(errno));
    free(folder);
    return rc;
}

/* "dir/name" of "dir/name.onnx", or what --output says. */
static char *name_of(const cli *c, const char *path) {
    const char *given = cli_text(c, "output", NULL);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    if (given) return cli_strdup(given);
    return cli_format("%.*s", dot && dot != base ? (int)(dot - path) : (int)strlen(path), path);
}

/* --- sizes ---------------------------------------------------------------------------------------------------------
 */

/* Dimension d of "[batch, 3, floor(h / 2)]" where it is a plain name; it lasts until the next call. */
static const char *name_in(const char *shape, uint32_t d, char word[128]) {
    size_t n = 0;
    int depth = 0;
    for (const char *s = shape + (*shape == '['); *s && n + 1 < 128; s++) {
        depth += *s == '(', depth -= *s == ')';
        if (!depth && (*s == ',' || *s == ']')) {
            if (!d--) break;
            n = 0;
        } else if (*s != ' ' || n) {
            word[n++] = *s;
        }
    }
    word[n] = 0;
    return n && !strpbrk(word, " +-*/(,=") ? word : NULL;
}

static bool is_there(const char *sizes, const char *name) {
    size_t n = strlen(name);
    for (const char *at = sizes; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, name, n) && at[n] == '=') return true;
    return false;
}

/* The sizes that the user's own data has. */
static char *sizes_of(const cli_samples *s, const hone_graph *g) {
    char *text = NULL, word[128];
    for (size_t i = 0; s->n && i < s->n_inputs; i++) {
        hone_graph_port port = {0};
        if (hone_graph_input(g, i, &port, NULL)) continue;
        for (uint32_t d = 0; d < port.rank; d++) {
            const char *name = port.dim[d] < 0 ? name_in(port.shape, d, word) : NULL;
            if (!name || is_there(text, name)) continue;
            char *more = cli_format("%s%s%s=%lld", text ? text : "", text ? "," : "", name, (long long)s->a[i].dim[d]);
            free(text);
            text = more;
        }
    }
    return text;
}

/* --- the choice ----------------------------------------------------------------------------------------------------
 */

static hone_rc keep(const char *kind, const char *name, cli_tune_choice *k, hone_err *err) {
    k->written = is_chosen_now(kind);
    k->file = k->written ? cli_format("%s.precision", name) : cli_strdup(kind);
    if (k->precision.graph) k->sizes = sizes_of(&k->precision.all, k->precision.graph);
    return k->written ? cli_write_text(k->file, k->precision.text, err) : HONE_OK;
}

hone_rc cli_tune_choose(cli *c, const char *path, cli_compiling *x, cli_live *live, cli_tune_choice *out,
                        hone_err *err) {
    cli_tune_choice k = {0};
    *out = k;
    watch w = {live, cli_now_s(), NULL};
    const char *kind = cli_text(c, "precision", NULL);
    const hone_progress before = x->options.progress;
    hone_rc rc = check(c, path, err);
    if (rc || !kind) return rc ? rc : cli_precision_choose(c, path, x, &out->precision, err);
    char *name = name_of(c, path);
    rc = is_chosen_now(kind) ? check_folder(name, err) : HONE_OK;
    x->options.output = name;
    x->options.progress = (hone_progress){on_event, &w};
    x->options.stop = cli_catch_signals(true).stop;
    x->mixed.engine = cli_text(c, "engine", NULL), x->mixed.seed = cli_count(c, "seed", 0);
    x->mixed.budget_s = hone_mixed_choice_s(cli_seconds(c, "budget", 0));
    if (!rc) rc = cli_precision_choose(c, path, x, &k.precision, err);
    if (rc == HONE_E_INTERRUPTED && !strcmp(kind, "mixed"))
        cli_fail(err, rc, "interrupted; the points that were evaluated are kept; run again to go on");
    if (!rc) rc = keep(kind, name, &k, err);
    cli_live_end(live);
    x->options.output = NULL, x->options.progress = before, x->options.stop = NULL;
    k.elapsed_s = cli_now_s() - w.start_s;
    free(name);
    if (rc)
        cli_tune_choice_free(&k);
    else
        *out = k;
    return rc;
}

double cli_tune_left(const cli_tune_choice *k, double budget_s) {
    if (!k->precision.given || budget_s <= 0) return budget_s;
    return hone_mixed_kernels_s(budget_s, k->elapsed_s, k->precision.all.n > 0);
}

/* --- what it costs -------------------------------------------------------------------------------------------------
 */

hone_rc cli_tune_judge(cli *c, const char *path, const cli_compiling *x, cli_tune_choice *k, hone_err *err) {
    hone_compile_options o = x->options;
    hone_temp *temp;
    if (!k->precision.all.n) return HONE_OK;
    hone_rc rc = hone_temp_open("hone-tuned-", &temp, err);
    if (rc) return rc;
    char *output = cli_format("%s/tuned", hone_temp_path(temp));
    o.output = output;
    rc = cli_precision_compile(path, &k->precision, &o, NULL, err);
    if (!rc) rc = cli_precision_judge(c, path, output, &k->precision, &k->report, err);
    free(output);
    hone_temp_close(temp);
    return rc;
}

static void put_time(const cli *c, const cli_tune_choice *k) {
    char a[CLI_TEXT_N], b[CLI_TEXT_N];
    double budget_s = cli_seconds(c, "budget", 0);
    if (budget_s <= 0) return;
    printf("time      %s for the choice, %s for kernels\n", cli_text_duration(k->elapsed_s, a),
           cli_text_duration(cli_tune_left(k, budget_s), b));
}

void cli_tune_put_choice(const cli *c, const cli_tune_choice *k) {
    const hone_precision_summary *s = &k->precision.summary;
    if (!k->precision.given) return;
    printf("precision %u of %u products narrow, %s ", s->n_narrow, s->n_products, k->written ? "written to" : "as in");
    cli_put(c, stdout, k->file, 0);
    printf("\n");
    cli_mixed_put(c, &k->precision);
    put_time(c, k);
    if (k->sizes) {
        printf("sizes     ");
        cli_put(c, stdout, k->sizes, 0);
        printf(" of the first sample%s\n", cli_given(c, "size") ? "; kernels are measured at those of --size" : "");
    }
    printf("\n");
    fflush(stdout);
}

void cli_tune_put_cost(const cli *c, const char *path, const cli_tune_choice *k) {
    if (!k->precision.given) return;
    if (k->report.n) cli_precision_put(c, &k->report);
    printf("next      hone compile ");
    cli_put(c, stdout, path, 0);
    printf(" --precision ");
    cli_put(c, stdout, k->file, 0);
    printf("\n");
}

void cli_tune_choice_json(cli_json *j, const cli_tune_choice *k) {
    const hone_precision_summary *s = &k->precision.summary;
    if (!k->precision.given) return;
    cli_json_ktext(j, "precision_file", k->file);
    cli_json_kcount(j, "products", s->n_products);
    cli_json_kcount(j, "narrow", s->n_narrow);
    cli_json_ktext(j, "sample_sizes", k->sizes);
    cli_mixed_json(j, &k->precision);
    if (k->report.n) cli_precision_json(j, &k->report);
}

void cli_tune_choice_free(cli_tune_choice *k) {
    cli_precision_report_free(&k->report);
    cli_precision_free(&k->precision);
    free(k->file);
    free(k->sizes);
    *k = (cli_tune_choice){0};
}
