/* choose.c — a plan from samples: ranges of columns, smoothing, histograms of what is left, ranges, scales. */
#include "calibrate/calibrate.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/options.h"

#include <math.h>
#include <string.h>

/* --- what the samples are ------------------------------------------------------------------------------------------
 */

void hn_hash_arrays(const hone_array *sample, size_t n, char hex[33]) {
    hn_hash h;
    hn_hash_begin(&h);
    for (size_t i = 0; i < n; i++) {
        const hone_array *a = &sample[i];
        size_t count = hone_dtype_size_b(a->dtype);
        hn_hash_text(&h, hone_dtype_name(a->dtype));
        hn_hash_add(&h, a->dim, a->rank * sizeof *a->dim);
        for (uint32_t d = 0; d < a->rank; d++) count *= (size_t)a->dim[d];
        hn_hash_add(&h, a->data, count);
    }
    hn_hash_end(&h, hex);
}

/* --- from what was seen to a plan ----------------------------------------------------------------------------------
 */

static void begin_histogram(hn_operand *s) {
    double low = 0, high = 0;
    for (int64_t k = 0; k < s->n_columns; k++) {
        low = fmin(low, ldexp(s->low[k], (int)-s->smooth[k]));
        high = fmax(high, ldexp(s->high[k], (int)-s->smooth[k]));
    }
    hn_value_bins_begin(s->histogram, low, high);
}

static bool is_smooth(const hn_operand *s) {
    for (int64_t k = 0; k < s->n_columns; k++)
        if (s->smooth[k]) return true;
    return false;
}

static const char *hash_of(const hn_operand *s, hn_arena *a) {
    char hex[33];
    hn_weights_hash(s->w, hex);
    return hn_strdup(a, hex);
}

static hn_narrow_choice choice_of(const hn_operand *s, hn_calibration how, double percentile, hn_arena *a) {
    hn_narrow_choice c = {.name = s->product.name, .shape = s->product.shape, .hash = hash_of(s, a), .narrow = true};
    c.x = hn_steps_of(hn_span_choose(s->histogram, how, percentile));
    if (is_smooth(s)) c.smooth = s->smooth, c.n_smooth = s->n_columns;
    return c;
}

hone_rc hn_calibration_look(hn_calibration_run *c, const hone_array *sample, size_t n_samples, hone_err *err) {
    hone_rc rc = hn_calibration_take(c, sample, n_samples, false, err);
    for (uint32_t i = 0; i < c->n_seen && !rc; i++) {
        bool contracts = c->g->node[c->seen[i].product.node].op == HN_OP_CONTRACT;
        if (contracts && !c->options->no_smooth) rc = hn_smooth_choose(&c->seen[i], &c->arena, err);
        if (!rc) begin_histogram(&c->seen[i]);
    }
    return rc ? rc : hn_calibration_take(c, sample, n_samples, true, err);
}

hone_rc hn_calibration_plan(hn_calibration_run *c, hn_calibration how, const char *data, size_t n_samples,
                            hn_narrow_plan *out, hone_err *err) {
    double percentile = c->options->percentile > 0 ? c->options->percentile : 99.99;
    hn_narrow_plan plan = {.kind = "int8",
                           .calibrate = hn_calibration_name[how],
                           .data = data,
                           .least = how == HN_CALIBRATE_MSE,
                           .n_samples = (int64_t)n_samples,
                           .choice = HN_NEW_N(&c->arena, hn_narrow_choice, c->n_seen),
                           .n = c->n_seen};
    for (uint32_t i = 0; plan.choice && i < c->n_seen; i++)
        plan.choice[i] = choice_of(&c->seen[i], how, percentile, &c->arena);
    if (!hn_arena_ok(&c->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *out = plan;
    return HONE_OK;
}

static hone_rc print_plan(const hn_narrow_plan *plan, char **text, hone_err *err) {
    hn_str out = {0};
    hn_plan_print(plan, &out);
    char *taken = hn_str_take(&out);
    if (!taken) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *text = taken;
    return HONE_OK;
}

hone_rc hn_calibration_how(const hone_precision_options *o, size_t n_samples, hn_calibration *how, hone_err *err) {
    *how = HN_CALIBRATE_MSE;
    if (o->calibrate && !hn_calibration_named(o->calibrate, how)) {
        const char *near = hn_nearest(o->calibrate, hn_calibration_name, HN_N_CALIBRATIONS);
        return hn_fail(err, HONE_E_USAGE,
                       "there is no calibration '%s'; did you mean '%s'? (mse, minmax, percentile, entropy)",
                       o->calibrate, near ? near : "mse");
    }
    if (o->percentile != 0 && !(o->percentile > 50 && o->percentile <= 100))
        return hn_fail(err, HONE_E_USAGE, "a percentile is above 50 and at most 100, not %g", o->percentile);
    return n_samples ? HONE_OK : hn_fail(err, HONE_E_USAGE, "there are no samples to take ranges from");
}

hone_rc hone_precision_choose(const hone_graph *g, const hone_array *sample, size_t n_samples,
                              const hone_precision_options *options, char **text, hone_err *err) {
    hone_precision_options o = hone_precision_defaults();
    hn_calibration_run c;
    hn_calibration how;
    hn_narrow_plan plan;
    char data[33];
    hone_rc rc = hn_options_read(&o, sizeof o, options, "precision", err);
    if (!rc) rc = hn_calibration_how(&o, n_samples, &how, err);
    if (!rc) rc = hn_calibration_open(g, &o, &c, err);
    if (rc) return rc;
    rc = hn_calibration_look(&c, sample, n_samples, err);
    hn_hash_arrays(sample, n_samples * hone_graph_inputs(g), data);
    if (!rc) rc = hn_calibration_plan(&c, how, data, n_samples, &plan, err);
    if (!rc) rc = print_plan(&plan, text, err);
    hn_calibration_close(&c);
    return rc;
}

hone_rc hone_precision_bf16(const hone_graph *g, char **text, hone_err *err) {
    hn_narrow_plan plan = {0};
    hn_graph *copy = hn_copy_graph(g);
    hone_rc rc = copy ? hn_graph_failure(copy, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_products_prepare(copy, err);
    if (!rc) rc = hn_plan_half(copy, &plan, err);
    if (!rc && !plan.n)
        rc = hn_fail(
            err, HONE_E_UNSUPPORTED,
            "the model has no product of floats with constant weights of 16 columns and 4,096 elements: nothing "
            "in it can be bf16");
    if (!rc) rc = print_plan(&plan, text, err);
    hn_plan_free(&plan);
    hone_graph_free(copy);
    return rc;
}

hone_rc hone_precision_read(const char *text, const char *label, hone_precision_summary *out, hone_err *err) {
    hn_narrow_plan plan;
    hone_rc rc = hn_plan_parse(text, strlen(text), label, &plan, err);
    if (rc) return rc;
    *out = (hone_precision_summary){hn_plan_narrow(&plan), plan.n, hn_plan_halves(&plan)};
    hn_plan_free(&plan);
    return HONE_OK;
}
