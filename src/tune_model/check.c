/* tune_model/check.c — the whole model: where its time goes, and whether the tuned one is faster.
 *
 * Both libraries run in this process, in turns (ABBA), on the same inputs; a pair is a block of runs of each.
 */
#include "base/clock.h"
#include "tune_model/tune_model_int.h"

#include <hone/artifact.h>
#include <hone/compile.h>
#include <hone/inputs.h>
#include <hone/profile.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_PAIRS = 12, MOST_PAIRS = 60, WARM_UP = 3 };
static const double block_s = 0.01;
static const double beyond_peak = 1.03, at_peak = .999; /* shares of the peak; the first as much as clocks differ */

static hone_rc compile(hn_tuning *t, const hone_graph *g, const char *as, bool profile, bool winners,
                       hone_artifact **out, uint32_t n_threads, hone_err *err) {
    hone_compile_options o = *t->o->compile;
    o.output = hn_format(&t->a, "%s/%s", t->folder, as);
    o.emit = HONE_EMIT_SO;
    o.embed_weights = o.reference = false;
    o.profile = profile;
    o.no_parity = !winners; /* the tuned library is kept in the cache, for the compilation that comes next */
    o.winners = t->winners_path;
    o.n_threads = t->team.n;
    o.no_winners = !winners;
    o.progress.fn = NULL;
    char *path = hn_format(&t->a, "%s.so", o.output ? o.output : "");
    if (!o.output || !path) return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    hone_rc rc = hone_compile_graph((hone_graph *)(uintptr_t)g, as, &o, NULL, err);
    return rc ? rc
              : hone_artifact_load(
                    path, &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = n_threads}, out,
                    err);
}

static void free_inputs(hone_array *in, size_t n) {
    for (size_t i = 0; in && i < n; i++) hone_free(in[i].data);
    free(in);
}

/* Whole numbers are indices more often than not: where those that were drawn are out of range, all are 0. */
static void keep_in_range(const hone_model *model, hone_array *in) {
    hone_model_config config = hone_model_defaults();
    hone_model_instance *instance = NULL;
    size_t n_in = (size_t)model->n_inputs, n_out = (size_t)model->n_outputs;
    hone_model_tensor *io = calloc(n_in + n_out + 1, sizeof *io);
    if (!io || model->create(&config, &instance)) {
        free(io);
        return;
    }
    for (size_t i = 0; i < n_in; i++) {
        io[i] = (hone_model_tensor){.data = in[i].data, .dtype = (int32_t)in[i].dtype, .rank = (int32_t)in[i].rank};
        memcpy(io[i].dim, in[i].dim, sizeof io[i].dim);
    }
    bool out_of_range = model->run(instance, io, n_in, io + n_in, n_out) == HONE_MODEL_INDEX;
    for (size_t i = 0; i < n_in && out_of_range; i++) {
        size_t size_b = hone_dtype_size_b(in[i].dtype);
        for (size_t d = 0; d < in[i].rank; d++) size_b *= (size_t)in[i].dim[d];
        if (in[i].dtype == HONE_I64 || in[i].dtype == HONE_I32) memset(in[i].data, 0, size_b);
    }
    model->free(instance);
    free(io);
}

static hone_rc make_inputs(const char *text, const hone_model *model, hone_array **out, int64_t *rows, hone_err *err) {
    char sizes[256];
    *rows = hn_served_rows(text, sizes, sizeof sizes);
    hone_array *in = calloc((size_t)model->n_inputs + 1, sizeof *in);
    if (!in) return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    hone_rc rc = hone_inputs_random(model, *sizes ? sizes : NULL, 1, in, err);
    if (rc) {
        free(in);
        return rc;
    }
    if (*rows)
        hn_served_inputs(model, *rows, in);
    else
        keep_in_range(model, in);
    *out = in;
    return HONE_OK;
}

/* --- shares --------------------------------------------------------------------------------------------------------
 */

/* Products of bf16 are counted as those of f32, of which an instruction may do several: their least time is not known.
 */
static bool multiplies_halves(const hn_model *m, const hn_kernel *k) {
    const hn_blk *b = &m->g->block[k->body];
    for (uint32_t i = 0; i < b->n_node; i++) {
        const hn_node *n = &m->g->node[b->node[i]];
        bool product = n->op == HN_OP_CONTRACT || n->op == HN_OP_CONV;
        if (product && hn_type_of(m->g, n->in[0])->dtype == HONE_BF16) return true;
    }
    return false;
}

/* What the operations take at the peak of what they are in: bytes are several times as fast as floats. A kernel that is
 * far beyond the peak shows that this machine's table is wrong (it was busy then, or clocked lower): it bounds nothing.
 * A little beyond it is at the peak. */
static double roof_of(const hn_tuning *t, const hn_kernel *k, const hone_profile_row *x, double n_launches) {
    bool known = x->of_peak > 0 && x->of_peak <= beyond_peak && !multiplies_halves(t->m, k);
    return known ? fmin(x->of_peak, at_peak) * x->time_s.mid / n_launches : 0;
}

static void add_shape(const hn_tuning *t, const hn_type *type, hn_str *out) {
    const hn_dtype_info *info = hn_dtype_of(type->dtype);
    int64_t size;
    hn_str_add(out, info ? info->text : "?");
    for (uint32_t d = 0; d < type->rank; d++) {
        hn_str_add(out, d ? ", " : "[");
        if (hn_dim_eval(t->m->g->dims, type->dim[d], t->symbol, &size))
            hn_str_addf(out, "%" PRId64, size);
        else
            hn_dim_print(t->m->g->dims, type->dim[d], out); /* what data alone decides */
    }
    hn_str_add(out, type->rank ? "]" : "[]");
}

/* Types of the results at the sizes that it is measured at. */
static const char *shape_of(hn_tuning *t, const hn_kernel *k) {
    const hn_node *n = &t->m->g->node[k->node];
    hn_str text = {0};
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (i) hn_str_add(&text, ", ");
        add_shape(t, hn_type_of(t->m->g, n->out[i]), &text);
    }
    const char *out = text.failed ? NULL : hn_strdup(&t->a, text.text ? text.text : "");
    hn_str_free(&text);
    return out;
}

static void note(hn_tuning *t, const hone_profile_row *x) {
    for (size_t i = 0; i < t->n_kernels; i++) {
        hn_tuned *k = &t->kernel[i];
        if (strcmp(k->k->name, x->kernel->name)) continue;
        double n = x->n_launches > 0 ? (double)x->n_launches : 1;
        k->share = x->share;
        k->default_s = x->time_s.mid / n;
        k->shape = shape_of(t, k->k);
        k->roof_s = roof_of(t, k->k, x, n);
    }
}

hone_rc hn_tuning_profile(hn_tuning *t, const hone_graph *g, double max_s, hone_err *err) {
    hone_artifact *program;
    hone_array *in = NULL;
    hone_profile p;
    hone_latency_options o = {.size = sizeof o, .n_threads = t->team.n, .budget_s = max_s, .stop = t->o->stop};
    double start_s = hn_now_s();
    hone_rc rc = compile(t, g, "profile", true, false, &program, t->team.n, err);
    t->compile_s = hn_now_s() - start_s;
    if (rc) return rc;
    const hone_model *model = hone_artifact_model(program);
    rc = make_inputs(t->sizes, model, &in, &o.state_rows, err);
    if (!rc) rc = hone_inputs_refused(model, hone_profile_model(model, in, &o, &p, err), err);
    if (!rc) {
        for (uint32_t i = 0; i < p.n_kernels; i++) note(t, &p.kernel[i]);
        hone_profile_free(&p);
    }
    free_inputs(in, (size_t)model->n_inputs);
    hone_artifact_free(program);
    return rc;
}

/* --- tuned against default -----------------------------------------------------------------------------------------
 */

typedef struct side {
    hone_artifact *program;
    const hone_model *model;
    hone_model_instance *instance;
    hone_model_tensor *io; /* inputs, then outputs */
} side;

static hone_rc open_side(hn_tuning *t, const hone_graph *g, bool winners, uint32_t n_threads, side *s, hone_err *err) {
    hone_model_config config = hone_model_defaults();
    config.n_threads = (int32_t)n_threads;
    hone_rc rc = compile(t, g, winners ? "tuned" : "default", false, winners, &s->program, 1, err);
    if (rc) return rc;
    s->model = hone_artifact_model(s->program);
    s->io = calloc((size_t)(s->model->n_inputs + s->model->n_outputs) + 1, sizeof *s->io);
    if (!s->io || s->model->create(&config, &s->instance))
        return hn_fail(err, HONE_E_FAILED, "cannot run the model: %s", s->io ? s->model->error(NULL) : "out of memory");
    return HONE_OK;
}

static void set_inputs(side *s, const hone_array *in) {
    for (int32_t i = 0; i < s->model->n_inputs; i++) {
        s->io[i] = (hone_model_tensor){.data = in[i].data, .dtype = (int32_t)in[i].dtype, .rank = (int32_t)in[i].rank};
        memcpy(s->io[i].dim, in[i].dim, sizeof s->io[i].dim);
    }
}

static void close_side(side *s) {
    if (s->instance) s->model->free(s->instance);
    free(s->io);
    hone_artifact_free(s->program);
}

static hone_rc run_block(side *s, size_t n, double *time_s, hone_err *err) {
    hone_model_tensor *out = s->io + s->model->n_inputs;
    double start_s = hn_now_s();
    for (size_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < s->model->n_outputs; k++) out[k].data = NULL;
        if (s->model->run(s->instance, s->io, (size_t)s->model->n_inputs, out, (size_t)s->model->n_outputs))
            return hn_fail(err, HONE_E_FAILED, "the model fails: %s", s->model->error(s->instance));
    }
    *time_s = (hn_now_s() - start_s) / (double)n;
    return HONE_OK;
}

static hone_rc compare(hn_tuning *t, side s[2], double max_s, hone_interval *gain, hone_err *err) {
    double z[MOST_PAIRS], once_s = 0, time_s[2];
    size_t n_pairs = 0;
    hone_rc rc = HONE_OK;
    for (int i = 0; i < 2 && !rc; i++) rc = run_block(&s[i], WARM_UP, &once_s, err);
    size_t n = once_s < block_s ? (size_t)(block_s / (once_s > 1e-7 ? once_s : 1e-7)) + 1 : 1;
    double end_s = hn_now_s() + max_s;
    while (!rc && n_pairs < MOST_PAIRS && (n_pairs < LEAST_PAIRS || hn_now_s() < end_s)) {
        if (t->o->stop && *t->o->stop) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
        int first = n_pairs & 1;
        rc = run_block(&s[first], n, &time_s[first], err);
        if (!rc) rc = run_block(&s[!first], n, &time_s[!first], err);
        if (!rc) z[n_pairs++] = log(time_s[0] / time_s[1]);
    }
    if (rc) return rc;
    hone_interval x = hone_stat_bootstrap_median(z, n_pairs, 0.95, 0, t->o->seed);
    *gain = (hone_interval){exp(x.lo), exp(x.mid), exp(x.hi)};
    return HONE_OK;
}

static hone_rc compare_at(hn_tuning *t, side s[2], const char *sizes, double max_s, hone_interval *gain,
                          hone_err *err) {
    hone_array *in = NULL;
    int64_t rows;
    hone_rc rc = make_inputs(sizes, s[0].model, &in, &rows, err);
    if (rc) return rc;
    for (int i = 0; i < 2; i++) {
        set_inputs(&s[i], in);
        if (!rc && rows && !hn_served_pools(s[i].model, s[i].instance, rows))
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory for the keys and values of %lld tokens", (long long)rows);
    }
    if (!rc) rc = compare(t, s, max_s, gain, err);
    free_inputs(in, (size_t)s[0].model->n_inputs);
    return rc;
}

hone_rc hn_tuning_compare(hn_tuning *t, const hone_graph *g, const char *const *sizes, size_t n, uint32_t n_threads,
                          double max_s, hone_interval *gain, hone_err *err) {
    side s[2] = {0};
    hone_rc rc = HONE_OK;
    for (int i = 0; i < 2 && !rc; i++) rc = open_side(t, g, i, n_threads, &s[i], err);
    for (size_t i = 0; i < n && !rc; i++) rc = compare_at(t, s, sizes[i], max_s, &gain[i], err);
    close_side(&s[0]);
    close_side(&s[1]);
    return rc;
}
