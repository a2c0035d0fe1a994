/* mixed.c — `--precision mixed`: the search, the user's own metric, and the front as a table or JSON. */
#include "model_io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MOST_ROWS = 20 };

/* --- the user's metric ---------------------------------------------------------------------------------------------
 */

typedef struct judge {
    const char *command;
    const hone_graph *g;
    size_t n_calls;
} judge;

static hone_rc write_outputs(const judge *j, const char *folder, const hone_array *out, size_t n_outputs, size_t index,
                             hone_err *err) {
    char *path = cli_format("%s/%06zu.npz", folder, index);
    cli_arrays x = {.a = cli_alloc(n_outputs + 1, sizeof *x.a), .name = cli_alloc(n_outputs + 1, sizeof *x.name)};
    x.n = n_outputs;
    hone_rc rc = HONE_OK;
    for (size_t k = 0; k < n_outputs && !rc; k++) {
        hone_graph_port port = {0};
        rc = hone_graph_output(j->g, k, &port, err);
        x.a[k] = out[k];
        x.name[k] = cli_strdup(port.name ? port.name : "output");
    }
    if (!rc) rc = cli_arrays_write(path, &x, err);
    for (size_t k = 0; k < n_outputs; k++) free(x.name[k]);
    free(x.name), free(x.a), free(path);
    return rc;
}

/* The last line that has something on it. */
static char *last_line(char *text) {
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1])) text[--n] = 0;
    char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    return line + strspn(line, " \t");
}

static hone_rc read_number(const judge *j, char *text, double *out, hone_err *err) {
    char *line = last_line(text), *end;
    double x = strtod(line, &end);
    if (end == line || *end)
        return cli_fail(err, HONE_E_FAILED,
                        "the last line that the metric '%s' prints is '%.80s'; it should be one number, less for a "
                        "better model",
                        j->command, line);
    if (!(x - x == 0)) return cli_fail(err, HONE_E_FAILED, "the metric '%s' gives %s", j->command, line);
    *out = x;
    return HONE_OK;
}

static hone_rc run_command(const judge *j, const char *folder, char text[4096], hone_err *err) {
    char *line = cli_format("%s \"$HONE_OUTPUTS\"", j->command);
    fflush(stdout);
    FILE *f = setenv("HONE_OUTPUTS", folder, 1) ? NULL : popen(line, "re");
    free(line);
    if (!f) return cli_fail(err, HONE_E_IO, "cannot run '%s': %s", j->command, strerror(errno));
    size_t n = 0, got;
    char part[1024];
    while ((got = fread(part, 1, sizeof part, f)) > 0) { /* the end of what it prints is kept */
        size_t keep = n + got < 4095 ? n : got < 4095 ? 4095 - got : 0;
        memmove(text, text + n - keep, keep);
        memcpy(text + keep, part, got);
        n = keep + got;
    }
    text[n] = 0;
    int status = pclose(f);
    unsetenv("HONE_OUTPUTS");
    if (WIFSIGNALED(status))
        return cli_fail(err, HONE_E_FAILED, "the metric '%s' was ended by signal %d", j->command, WTERMSIG(status));
    if (status)
        return cli_fail(err, HONE_E_FAILED, "the metric '%s' ended with exit code %d", j->command, WEXITSTATUS(status));
    return HONE_OK;
}

static hone_rc ask(void *arg, const hone_array *out, size_t n_outputs, const size_t *index, size_t n, double *error,
                   hone_err *err) {
    judge *j = arg;
    hone_temp *temp;
    char text[4096] = "";
    hone_rc rc = hone_temp_open("hone-outputs-", &temp, err);
    if (rc) return rc;
    for (size_t i = 0; i < n && !rc; i++)
        rc = write_outputs(j, hone_temp_path(temp), out + i * n_outputs, n_outputs, index[i], err);
    if (!rc) rc = run_command(j, hone_temp_path(temp), text, err);
    if (!rc) rc = read_number(j, text, error, err);
    hone_temp_close(temp);
    return rc;
}

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
    judge j = {.command = cli_text(c, "metric", NULL), .g = p->graph};
    char *points = cli_given(c, "front") ? cli_strdup(cli_text(c, "front", ""))
                   : x->options.output   ? cli_format("%s.front", x->options.output)
                                         : NULL;
    o.calibrate = cli_text(c, "calibrate", NULL), o.percentile = percentile;
    o.no_smooth = cli_given(c, "no-smooth");
    o.compiler = x->options.compiler, o.n_jobs = x->options.n_jobs, o.n_threads = x->options.n_threads;
    o.progress = x->options.progress, o.stop = x->options.stop, o.keep = p->exact;
    o.n_points = (uint32_t)cli_count(c, "points", 0);
    o.points = points, o.replace = !cli_given(c, "front");
    if (j.command) o.metric = ask, o.metric_arg = &j, o.metric_name = j.command;
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
    cli_table_cell(t, "%.3g", x->held_error);
    cli_table_cell(t, "%.3g", x->held_bound);
    cli_table_cell(t, "%s", x->proven ? "yes" : "no");
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
    cli_json_key(j, "points");
    cli_json_array(j);
    for (size_t i = 0; i < f->n; i++) put_point(f, i, j);
    cli_json_close(j);
    cli_json_close(j);
}
