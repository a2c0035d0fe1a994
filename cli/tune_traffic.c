/* tune_traffic.c — `hone tune MODEL --from-traffic`: one tuning for each size that takes a part of the time, with that
 * part of the budget. */
#include "signals.h"
#include "text_file.h"
#include "traffic.h"
#include "tune_model.h"

#include <hone/import.h>

#include <stdlib.h>
#include <string.h>

static const double usual_budget_s = 60;

/* --- where it comes from --------------------------------------------------------------------------------------------
 */

static bool is_database(const char *path) {
    char head[16] = "";
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    return n == sizeof head && !memcmp(head, "SQLite format 3", sizeof head);
}

hone_rc cli_traffic_open(const char *model, const char *from, hone_traffic_row **row, size_t *n, hone_err *err) {
    hone_rollouts *r;
    char *text = NULL;
    size_t n_text = 0;
    if (from && !is_database(from)) {
        hone_rc rc = cli_read_bytes(from, &text, &n_text, err);
        if (rc) return rc;
        rc = hone_traffic_parse(text, n_text, from, row, n, err);
        free(text);
        return rc;
    }
    hone_rc rc = hone_rollouts_open(from, false, &r, err);
    if (rc) return rc;
    rc = hone_traffic_read(r, model, row, n, err);
    hone_rollouts_close(r);
    return rc;
}

/* --- the plan -------------------------------------------------------------------------------------------------------
 */

static void say_plan(const cli *c, const hone_traffic_plan *p, double budget_s) {
    char t[CLI_TEXT_N];
    if (c->json) return;
    printf("traffic   %.0f %s, %s\n", p->count, p->language ? "steps" : "runs", cli_text_seconds(p->time_s, t));
    for (size_t i = 0; i < p->n; i++) {
        const hone_traffic_part *x = &p->part[i];
        printf("          %5.1f %%  %s%s, tuned for %s\n", 100 * x->share, *x->sizes ? x->sizes : "no symbolic sizes",
               x->hot ? ", as fixed sizes" : "", cli_text_duration(x->share * budget_s, t));
    }
    printf("\n");
    fflush(stdout);
}

/* A text of `hone ir` says its sizes itself. */
static bool takes_symbols(const char *path) {
    const char *format = hone_import_format_of(path);
    return format && strcmp(format, "graph") != 0;
}

/* "batch=1,seq=128;batch=4,seq=64": the versions that `hone compile --specialize` makes. NULL: none. */
static char *versions(const hone_traffic_plan *p) {
    char *text = NULL;
    for (size_t i = 0; i < p->n; i++) {
        if (!p->part[i].hot) continue;
        char *more = text ? cli_format("%s;%s", text, p->part[i].sizes) : cli_strdup(p->part[i].sizes);
        free(text);
        text = more;
    }
    return text;
}

/* --- one part after another -----------------------------------------------------------------------------------------
 */

/* Fixed sizes are those of the compiled kernels, so the winners are those that a version for these sizes looks for. */
static hone_rc tune_part(cli *c, const char *path, const cli_tune_choice *k, const hone_traffic_part *part,
                         double budget_s, cli_live *live, hone_tune_model_result *out, hone_err *err) {
    cli_compiling x;
    cli_tune_sizes sizes = {.budget_s = budget_s * part->share};
    cli_compiling_set(c, &x);
    x.options.progress.fn = NULL;
    x.options.precision = k->precision.text;
    if (part->hot) {
        x.symbols = cli_strdup(part->sizes);
        x.symbol = cli_split_options(x.symbols);
        x.options.symbol = x.symbol;
        while (x.symbol[x.options.n_symbol]) x.options.n_symbol++;
    } else {
        sizes.sizes = *part->sizes ? part->sizes : NULL;
        sizes.also = *part->also ? part->also : NULL;
    }
    hone_rc rc = cli_tune_run(c, path, &x, &sizes, live, out, err);
    cli_compiling_free(&x);
    return rc;
}

static void put_json(cli_json *j, const hone_traffic_part *part, double budget_s, const hone_tune_model_result *m) {
    cli_json_object(j);
    cli_json_ktext(j, "sizes", part->sizes);
    cli_json_kbool(j, "fixed", part->hot);
    cli_json_knumber(j, "share", part->share);
    cli_json_knumber(j, "budget_s", part->share * budget_s);
    cli_json_key(j, "result");
    cli_tune_put_json(j, NULL, m);
    cli_json_close(j);
}

static void put_text(const cli *c, const hone_traffic_part *part, const hone_tune_model_result *m) {
    printf("%s%s, %.1f %% of the time\n\n", *part->sizes ? part->sizes : "all sizes", part->hot ? ", fixed" : "",
           100 * part->share);
    cli_tune_put_text(c, m);
    printf("\n");
    fflush(stdout);
}

static hone_rc tune_parts(cli *c, const char *path, const cli_tune_choice *k, const hone_traffic_plan *p,
                          double budget_s, cli_live *live, bool *stopped, hone_err *err) {
    cli_json j = {0};
    hone_rc rc = HONE_OK;
    if (c->json) {
        j = cli_json_begin(c, false);
        cli_json_object(&j);
        cli_json_knumber(&j, "count", p->count);
        cli_json_knumber(&j, "time_s", p->time_s);
        cli_tune_choice_json(&j, k);
        cli_json_key(&j, "parts");
        cli_json_array(&j);
    }
    for (size_t i = 0; i < p->n && !rc && !*stopped; i++) {
        hone_tune_model_result m;
        rc = tune_part(c, path, k, &p->part[i], budget_s, live, &m, err);
        if (rc) break;
        *stopped = m.stopped;
        rc = cli_tune_renew(path, &m, err);
        if (c->json)
            put_json(&j, &p->part[i], budget_s, &m);
        else
            put_text(c, &p->part[i], &m);
        hone_tune_model_result_free(&m);
    }
    char *special = versions(p);
    if (c->json) {
        cli_json_close(&j);
        cli_json_ktext(&j, "specialize", special);
        cli_json_end(&j);
    } else if (!rc && special) {
        printf("next      hone compile ");
        cli_put(c, stdout, path, 0);
        if (k->file) {
            printf(" --precision ");
            cli_put(c, stdout, k->file, 0);
        }
        printf(" --specialize '%s'\n", special);
    }
    free(special);
    return rc;
}

/* Of the model for all sizes, whose products are those of each part. */
static hone_rc choose(cli *c, const char *path, cli_live *live, cli_tune_choice *k, hone_err *err) {
    cli_compiling x;
    cli_compiling_set(c, &x);
    x.options.progress.fn = NULL;
    hone_rc rc = cli_tune_choose(c, path, &x, live, k, err);
    cli_compiling_free(&x);
    if (!rc && !c->json) cli_tune_put_choice(c, k);
    return rc;
}

hone_rc cli_tune_from_traffic(cli *c, const char *path, hone_err *err) {
    hone_traffic_row *row;
    size_t n;
    hone_traffic_plan plan;
    bool stopped = false;
    if (cli_given(c, "symbol") || cli_given(c, "size"))
        return cli_fail(err, HONE_E_USAGE, "choose one of --from-traffic and --%s: the traffic says which sizes",
                        cli_given(c, "symbol") ? "symbol" : "size");
    double budget_s = cli_seconds(c, "budget", usual_budget_s);
    hone_rc rc = cli_traffic_open(path, cli_text(c, "traffic", NULL), &row, &n, err);
    if (rc) return rc;
    rc = hone_traffic_plan_make(row, n, &plan, err);
    hone_free(row);
    if (rc) return rc;
    if (!takes_symbols(path))
        for (size_t i = 0; i < plan.n; i++) plan.part[i].hot = false;
    cli_live live;
    cli_tune_choice k;
    cli_tune_live(&live, c);
    rc = choose(c, path, &live, &k, err);
    if (rc) return rc;
    budget_s = cli_tune_left(&k, budget_s);
    say_plan(c, &plan, budget_s);
    rc = tune_parts(c, path, &k, &plan, budget_s, &live, &stopped, err);
    cli_tune_choice_free(&k);
    return rc || !stopped ? rc : cli_tune_interrupted(err);
}
