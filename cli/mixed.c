/* mixed.c — `--precision mixed`: the search, and the front as a table or JSON. */
#include "model_io.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 20 };

/* --- the search ----------------------------------------------------------------------------------------------------
 */

/* "0.01", "1%"; absent: below 0. */
static hone_rc read_error(const cli *c, double *out, hone_err *err) {
    const char *text = cli_text(c, "max-error", NULL);
    char *end;
    *out = -1;
    if (!text) return HONE_OK;
    double x = strtod(text, &end);
    while (*end == ' ') end++;
    if (end != text && *end == '%') x /= 100, end++;
    if (end == text || *end || !(x >= 0) || !(x < 1e300))
        return cli_fail(err, HONE_E_USAGE,
                        "option '--max-error' takes a number from 0 on, such as 0.01 or 1%%, not '%s'", text);
    *out = x;
    return HONE_OK;
}

hone_rc cli_mixed_choose(const cli *c, double percentile, const struct cli_compiling *x, cli_precision *p,
                         hone_err *err) {
    hone_mixed_options o = hone_mixed_defaults();
    cli_metric j = {.command = cli_text(c, "metric", NULL), .g = p->graph, .stop = x->options.stop};
    char *points = cli_given(c, "front") ? cli_strdup(cli_text(c, "front", ""))
                   : x->options.output   ? cli_format("%s.front", x->options.output)
                                         : NULL;
    o.calibrate = cli_text(c, "calibrate", NULL), o.percentile = percentile;
    o.no_smooth = cli_given(c, "no-smooth");
    o.compiler = x->options.compiler, o.n_jobs = x->options.n_jobs, o.n_threads = x->options.n_threads;
    o.progress = x->options.progress, o.stop = x->options.stop, o.keep = p->exact;
    o.n_points = (uint32_t)cli_count(c, "points", 0);
    o.engine = x->mixed.engine, o.seed = x->mixed.seed, o.budget_s = x->mixed.budget_s;
    o.points = points, o.replace = !cli_given(c, "front");
    j.limit_s = cli_seconds(c, "metric-limit", CLI_METRIC_LIMIT_S);
    if (j.command) o.metric = cli_metric_ask, o.metric_arg = &j, o.metric_name = j.command;
    hone_rc rc = read_error(c, &o.max_error, err);
    if (!rc) rc = hone_mixed_search(p->graph, p->all.a, p->all.n, &o, &p->front, err);
    if (!rc) p->text = cli_strdup(p->front.text);
    free(points);
    return rc;
}

/* --- what was found ------------------------------------------------------------------------------------------------
 */

static void put_row(const hone_mixed_front *f, size_t i, cli_table *t) {
    const hone_mixed_point *x = &f->point[i];
    char size[CLI_TEXT_N];
    cli_table_cell(t, "%s", i == f->chosen ? "*" : "");
    cli_table_cell(t, "%.3g", x->error);
    if (isnan(x->held_error)) {
        for (int k = 0; k < 3; k++) cli_table_cell(t, "-");
    } else {
        cli_table_cell(t, "%.3g", x->held_error);
        cli_table_cell(t, "%.3g", x->held_bound);
        cli_table_cell(t, "%s", x->proven ? "yes" : "no");
    }
    cli_table_cell(t, "%.3f", x->latency);
    cli_table_cell(t, "%s", cli_text_bytes((double)x->weights_b, size));
    cli_table_cell(t, "%u of %u", x->n_narrow, f->n_products);
    cli_table_cell(t, "%s", x->n_narrow ? x->calibrate : "-");
    if (i == f->chosen) cli_table_ink(t, CLI_BOLD);
}

/* So many rows, evenly spread, with the ends and the chosen one. */
static bool is_shown(const hone_mixed_front *f, size_t i) {
    if (f->n <= MOST_ROWS || i == f->chosen || i + 1 == f->n) return true;
    return !i || i * MOST_ROWS / f->n != (i - 1) * MOST_ROWS / f->n;
}

void cli_mixed_put(const cli *c, const cli_precision *p) {
    const hone_mixed_front *f = &p->front;
    if (!f->n) return;
    printf("front     %zu points, of %u that were run and %u known before; error on %zu samples, then on %zu held out "
           "and its bound; latency by that of f32, predicted; weights of products\n",
           f->n, f->n_evaluated, f->n_reused, f->n_samples, f->n_held);
    static const char *const heads[] = {"",        "error",   "held out", "95 %",  "proven",
                                        "latency", "weights", "narrow",   "ranges"};
    cli_table *t = cli_table_new("lrrrlrrrl");
    size_t hidden = 0;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cli_table_head(t, heads[i]);
    for (size_t i = 0; i < f->n; i++) {
        if (is_shown(f, i))
            put_row(f, i, t);
        else
            hidden++;
    }
    cli_table_print(c, t, stdout, 0);
    if (hidden) printf("          %zu more with --json\n", hidden);
    if (f->late)
        printf("late      time was over after %u of %u products alone, %u of %u ways to take ranges, %u points of the "
               "engine; the same call goes on from there, and a longer --budget reaches further\n",
               f->n_alone, f->n_products, f->n_ranges, f->n_ranges_all, f->n_asked);
    const hone_mixed_point *x = &f->point[f->chosen];
    printf("chosen    *, %u of %u products in bytes: the fastest that is proven to have an error up to %.3g%s\n",
           x->n_narrow, f->n_products, f->max_error, x->proven ? "" : "; none is, so the model stays in f32");
}

static void put_point(const hone_mixed_front *f, size_t i, cli_json *j) {
    const hone_mixed_point *x = &f->point[i];
    cli_json_object(j);
    cli_json_kbool(j, "chosen", i == f->chosen);
    cli_json_knumber(j, "error", x->error);
    cli_json_knumber(j, "held_error", x->held_error);
    cli_json_knumber(j, "held_bound", x->held_bound);
    cli_json_kbool(j, "proven", x->proven);
    cli_json_knumber(j, "latency", x->latency);
    cli_json_kcount(j, "weights_b", x->weights_b);
    cli_json_kcount(j, "narrow", x->n_narrow);
    cli_json_ktext(j, "calibrate", x->calibrate);
    cli_json_key(j, "f32");
    cli_json_array(j);
    for (uint32_t k = 0; k < f->n_products; k++)
        if (!x->narrow[k]) cli_json_text(j, f->product[k]);
    cli_json_close(j);
    cli_json_close(j);
}

void cli_mixed_json(cli_json *j, const cli_precision *p) {
    const hone_mixed_front *f = &p->front;
    if (!f->n) return;
    cli_json_key(j, "front");
    cli_json_object(j);
    cli_json_knumber(j, "max_error", f->max_error);
    cli_json_kcount(j, "samples", f->n_samples);
    cli_json_kcount(j, "held_out", f->n_held);
    cli_json_kcount(j, "evaluated", f->n_evaluated);
    cli_json_kcount(j, "known", f->n_reused);
    cli_json_kcount(j, "products", f->n_products);
    cli_json_kbool(j, "late", f->late);
    cli_json_kcount(j, "alone", f->n_alone);
    cli_json_key(j, "points");
    cli_json_array(j);
    for (size_t i = 0; i < f->n; i++) put_point(f, i, j);
    cli_json_close(j);
    cli_json_close(j);
}
