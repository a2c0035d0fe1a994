/* run.c — a model compiled so that what its products read are outputs, and run on samples. */
#include "calibrate/calibrate.h"

#include "base/err.h"
#include "ir/interp.h"

#include <hone/compile.h>

#include <math.h>
#include <stdlib.h>

/* --- the model that is run -----------------------------------------------------------------------------------------
 */

static size_t output_of(hn_graph *g, hn_val v, uint32_t n_before) {
    for (uint32_t i = n_before; i < g->block[0].n_result; i++)
        if (g->block[0].result[i] == v) return i;
    hn_result(g, 0, v, hn_format(&g->arena, "hone.operand.%u", v));
    return g->block[0].n_result - 1u;
}

static bool find_input(const hn_graph *g, hn_val v, size_t *at) {
    for (uint32_t i = 0; i < g->block[0].n_param; i++)
        if (g->block[0].param[i] == v) return *at = i, true;
    return false;
}

static bool make_room(hn_calibration_run *c, hn_operand *s) {
    size_t n = (size_t)s->n_columns;
    s->low = HN_NEW_N(&c->arena, double, n), s->high = HN_NEW_N(&c->arena, double, n);
    s->squares = HN_NEW_N(&c->arena, double, n), s->smooth = HN_NEW_N(&c->arena, int64_t, n);
    s->histogram = HN_NEW(&c->arena, hn_value_bins);
    return hn_arena_ok(&c->arena);
}

static hone_rc find_operands(hn_calibration_run *c, hone_err *err) {
    hn_graph *g = c->g;
    hn_narrow_product *list;
    uint32_t n, before = g->block[0].n_result;
    hone_rc rc = hn_products_find(g, &list, &n, err);
    if (rc) return rc;
    if (!n)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "the model has no product of floats with constant weights of 16 columns and 4,096 elements: "
                       "nothing in it can be int8");
    c->seen = HN_NEW_N(&c->arena, hn_operand, n);
    for (uint32_t i = 0; c->seen && i < n; i++) {
        hn_operand *s = &c->seen[i];
        hn_val x = g->node[list[i].node].in[0];
        *s = (hn_operand){.product = list[i], .w = hn_const_of(g, g->node[list[i].node].in[1])};
        s->n_columns = s->w->dim[list[i].form.sum];
        if (!make_room(c, s)) break;
        s->is_input = find_input(g, x, &s->at);
        if (!s->is_input) s->at = output_of(g, x, before);
    }
    if (!hn_arena_ok(&c->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    c->n_seen = n;
    hn_graph_seal(g);
    return hn_graph_failure(g, err);
}

static hone_rc compile(hn_calibration_run *c, hone_err *err) {
    hone_compile_options o = hone_compile_defaults();
    hone_artifact_options load = hone_artifact_defaults();
    const char *keep = c->options->keep;
    hone_rc rc = keep ? HONE_OK : hn_temp_make(NULL, "hone-samples-", &c->temp, err);
    if (rc) return rc;
    o.output = keep ? keep : hn_format(&c->arena, "%s/samples", c->temp.path);
    o.compiler = c->options->compiler, o.n_jobs = c->options->n_jobs, o.n_threads = c->options->n_threads;
    o.progress = c->options->progress, o.stop = c->options->stop;
    o.no_parity = true; /* it is run for statistics alone */
    load.n_threads = c->options->n_threads;
    if (!o.output) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    rc = hone_compile_graph(c->g, "samples", &o, NULL, err);
    const char *library = hn_format(&c->arena, "%s.so", o.output);
    if (!rc && !library) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    return rc ? rc : hone_artifact_load(library, &load, &c->program, err);
}

hone_rc hn_calibration_open(const hn_graph *g, const hone_precision_options *o, hn_calibration_run *out,
                            hone_err *err) {
    hn_calibration_run c = {.g = hn_copy_graph(g), .options = o};
    hone_rc rc = c.g ? hn_graph_failure(c.g, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_products_prepare(c.g, err);
    if (!rc) rc = find_operands(&c, err);
    if (!rc) rc = compile(&c, err);
    if (rc)
        hn_calibration_close(&c);
    else
        *out = c;
    return rc;
}

void hn_calibration_close(hn_calibration_run *c) {
    hone_artifact_free(c->program);
    hn_temp_free(&c->temp);
    if (c->g) hn_graph_free(c->g);
    hn_arena_free(&c->arena);
    *c = (hn_calibration_run){0};
}

/* --- samples -------------------------------------------------------------------------------------------------------
 */

static int64_t columns_apart(const hone_array *x, size_t axis) {
    int64_t n = 1;
    for (uint32_t d = (uint32_t)axis + 1; d < x->rank; d++) n *= x->dim[d];
    return n;
}

static void take_ranges(hn_operand *s, const hone_array *x, int64_t n) {
    int64_t inner = columns_apart(x, s->product.form.x_sum);
    for (int64_t i = 0; i < n; i++) {
        double value = (double)((const float *)x->data)[i];
        int64_t k = i / inner % s->n_columns;
        if (!isfinite(value)) continue;
        if (value < s->low[k]) s->low[k] = value;
        if (value > s->high[k]) s->high[k] = value;
        s->squares[k] += value * value;
    }
    s->n_rows += n / s->n_columns;
}

static void take_values(hn_operand *s, const hone_array *x, int64_t n) {
    int64_t inner = columns_apart(x, s->product.form.x_sum);
    for (int64_t i = 0; i < n; i++) {
        double value = (double)((const float *)x->data)[i];
        int64_t k = s->smooth[i / inner % s->n_columns];
        hn_value_bins_add(s->histogram, k ? ldexp(value, (int)-k) : value);
    }
}

static hone_rc take_sample(hn_calibration_run *c, const hone_array *in, hone_array *out, bool again, hone_err *err) {
    const hone_model *m = hone_artifact_model(c->program);
    size_t n_out = (size_t)m->n_outputs;
    hone_rc rc = hone_artifact_run(c->program, in, (size_t)m->n_inputs, out, n_out, err);
    if (rc) return rc;
    for (uint32_t i = 0; i < c->n_seen; i++) {
        const hone_array *x = c->seen[i].is_input ? &in[c->seen[i].at] : &out[c->seen[i].at];
        int64_t n = 1;
        for (uint32_t d = 0; d < x->rank; d++) n *= x->dim[d];
        (again ? take_values : take_ranges)(&c->seen[i], x, n);
    }
    for (size_t i = 0; i < n_out; i++) hone_free(out[i].data);
    return HONE_OK;
}

hone_rc hn_calibration_take(hn_calibration_run *c, const hone_array *sample, size_t n_samples, bool again,
                            hone_err *err) {
    const hone_model *m = hone_artifact_model(c->program);
    hone_array *out = calloc((size_t)m->n_outputs + 1, sizeof *out);
    hone_rc rc = out ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n_samples && !rc; i++) {
        hone_event e = {"samples", i + (again ? n_samples : 0), 2 * n_samples, NAN, NAN, NULL};
        if (c->options->progress.fn) c->options->progress.fn(c->options->progress.arg, &e);
        if (c->options->stop && *c->options->stop) rc = hn_fail(err, HONE_E_INTERRUPTED, "interrupted");
        if (!rc) rc = take_sample(c, sample + i * (size_t)m->n_inputs, out, again, err);
        if (rc == HONE_E_INPUT) hn_context(err, "sample %zu: ", i + 1);
    }
    free(out);
    return rc;
}
