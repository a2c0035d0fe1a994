/* price.c — what each product takes in f32 and in bytes: two builds of the model that time their kernels.
 *
 * A kernel belongs to the node that it came from. Where products became one kernel (those that read the same values),
 * the later ones have none of their own: its time is divided by the elements of their weights. What else differs, such
 * as kernels that quantise, is divided over all products likewise, so that the whole is right where all are narrow.
 */
#include "mixed/mixed.h"

#include "base/err.h"

#include <hone/compile.h>
#include <hone/profile.h>

#include <string.h>

static const double profile_s = 1;

typedef struct pricing {
    hn_arena a;
    const char **source; /* of each product, as libraries have it */
    double *work;
    uint32_t n;
    const hone_precision_options *o;
} pricing;

static hone_rc find_products(pricing *p, const hn_graph *g, hone_err *err) {
    hn_graph *copy = hn_copy_graph(g);
    hn_narrow_product *list;
    hone_rc rc = copy ? hn_graph_failure(copy, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_products_prepare(copy, err);
    if (!rc) rc = hn_products_find(copy, &list, &p->n, err);
    if (!rc) p->source = HN_NEW_N(&p->a, const char *, p->n + 1), p->work = HN_NEW_N(&p->a, double, p->n + 1);
    for (uint32_t i = 0; !rc && hn_arena_ok(&p->a) && i < p->n; i++) {
        const hn_node *node = &copy->node[list[i].node];
        p->source[i] = node->source ? hn_strdup(&p->a, copy->source[node->source - 1]) : "";
        p->work[i] = (double)hn_tensor_n(hn_const_of(copy, node->in[1]));
    }
    hone_graph_free(copy);
    return rc || hn_arena_ok(&p->a) ? rc : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* Kernels of a product's node; of a node that became several products, the first one's. */
static double own_time(const pricing *p, const hone_profile *f, uint32_t i) {
    double sum = 0;
    if (!*p->source[i] || (i && !strcmp(p->source[i], p->source[i - 1]))) return 0;
    for (uint32_t k = 0; k < f->n_calls; k++)
        if (f->call[k].call->source && !strcmp(f->call[k].call->source, p->source[i])) sum += f->call[k].time_s.mid;
    return sum;
}

/* Products without kernels belong to the one before them that has some. */
static void divide(const pricing *p, const hone_profile *f, double *time_s) {
    for (uint32_t i = 0, end; i < p->n; i = end) {
        double own = own_time(p, f, i), work = p->work[i];
        for (end = i + 1; end < p->n && own_time(p, f, end) <= 0; end++) work += p->work[end];
        for (uint32_t k = i; k < end; k++) time_s[k] = own * p->work[k] / work;
    }
}

static hone_rc time_products(pricing *p, hn_graph *g, const char *text, const hone_array *sample, double *time_s,
                             double *whole_s, hone_err *err) {
    hone_compile_options o = hone_compile_defaults();
    hone_latency_options how = hone_latency_defaults();
    hone_artifact_options load = hone_artifact_defaults();
    hone_artifact *program = NULL;
    hone_profile f;
    hn_temp temp;
    hone_rc rc = hn_temp_make(NULL, "hone-price-", &temp, err);
    if (rc) return rc;
    o.output = hn_format(&p->a, "%s/model", temp.path);
    const char *library = hn_format(&p->a, "%s/model.so", temp.path);
    o.compiler = p->o->compiler, o.n_jobs = p->o->n_jobs, o.progress = p->o->progress, o.stop = p->o->stop;
    o.n_threads = how.n_threads = load.n_threads = p->o->n_threads;
    o.precision = text, o.profile = o.no_parity = true;
    how.budget_s = profile_s, how.stop = p->o->stop;
    rc = hn_arena_ok(&p->a) ? hone_compile_graph(g, "model", &o, NULL, err)
                            : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hone_artifact_load(library, &load, &program, err);
    if (!rc) rc = hone_profile_model(hone_artifact_model(program), sample, &how, &f, err);
    if (!rc) {
        divide(p, &f, time_s);
        *whole_s = f.kernels_s;
        hone_profile_free(&f);
    }
    hone_artifact_free(program);
    hn_temp_free(&temp);
    return rc;
}

static void compare(const pricing *p, const double *wide, double wide_s, const double *slim, double slim_s,
                    double *change) {
    double rest = slim_s - wide_s, work = 0;
    for (uint32_t i = 0; i < p->n; i++) rest -= slim[i] - wide[i], work += p->work[i];
    for (uint32_t i = 0; i < p->n; i++)
        change[i] = wide_s > 0 ? (slim[i] - wide[i] + rest * p->work[i] / work) / wide_s : 0;
}

hone_rc hn_price_products(const hn_graph *g, const hn_narrow_plan *plan, const hone_array *sample,
                          const hone_precision_options *o, double *change, hone_err *err) {
    pricing p = {.o = o};
    hn_str text = {0};
    hn_graph *copy = hn_copy_graph(g); /* hone_compile_graph asks for one that is not const, and leaves it as it is */
    double wide_s = 0, slim_s = 0;
    hone_rc rc = copy ? hn_graph_failure(copy, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) hn_graph_seal(copy), rc = find_products(&p, g, err);
    hn_plan_print(plan, &text);
    double *wide = HN_NEW_N(&p.a, double, p.n + 1), *slim = HN_NEW_N(&p.a, double, p.n + 1);
    if (!rc && (text.failed || !hn_arena_ok(&p.a))) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = time_products(&p, copy, NULL, sample, wide, &wide_s, err);
    if (!rc) rc = time_products(&p, copy, text.text, sample, slim, &slim_s, err);
    if (!rc) compare(&p, wide, wide_s, slim, slim_s, change);
    hn_str_free(&text);
    hone_graph_free(copy);
    hn_arena_free(&p.a);
    return rc;
}
