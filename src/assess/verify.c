/* verify.c — a whole model against the interpreter or a peer. */
#include "assess/agree.h"
#include "assess/narrow.h"
#include "assess/steps.h"
#include "base/err.h"
#include "base/options.h"
#include "base/str.h"
#include "ir/interp.h"

#include <hone/inputs.h>
#include <hone/verify.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static hone_array_difference difference(hn_match m) {
    return (hone_array_difference){m.same, m.max_abs, m.max_rel, m.n_wrong, m.at};
}

/* --- outputs that fewer bits than those of f32 decide ---------------------------------------------------------------
 */

/* A flipped rounding moves an element by two units of its type, and what follows mixes such elements: by the end two
 * computations differ as much as either differs from the exact result, by a few units in the largest element and in
 * root mean square. Measured on networks of up to 50 layers, of f16 and of 8 bits: at most 3.7 (docs/compile.md). Where
 * a unit is as large as the values, half of the largest element is the limit. */
static const double most_units = 8, most_part = 0.5;

static double tolerance_through(hone_dtype t) {
    return t == HONE_F32 ? 0 : fmin(most_units * hn_rounding_unit(t), most_part);
}

typedef struct norms {
    double largest, rms; /* over finite elements */
} norms;

/* Norms of w, or of the differences of v and w. */
static norms norms_of(const hn_tensor *w, const hn_tensor *v) {
    int64_t n = hn_tensor_n(w);
    double largest = 0, sum = 0, count = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = hn_get_f(w, i);
        if (v) x -= hn_get_f(v, i);
        if (!isfinite(x)) continue;
        largest = fmax(largest, fabs(x));
        sum += x * x;
        count++;
    }
    return (norms){largest, count > 0 ? sqrt(sum / count) : 0};
}

static double part(double x, double whole) { return x > 0 ? x / whole : 0; }

/* Elements that are finite in one of the tensors only count as wrong already. */
static hone_array_difference compare_norms(const hn_tensor *got, const hn_tensor *want, hn_match_rule rule,
                                           hone_verify_output *v) {
    norms w = norms_of(want, NULL), d = {0};
    double atol = rule.atol;
    rule.atol = fmax(atol, v->tolerance * w.largest);
    hone_array_difference out = difference(hn_tensor_compare_steps(got, want, rule));
    if (out.at < 0 && !out.same) return out;
    d = norms_of(want, got);
    v->of_largest = fmax(v->of_largest, part(d.largest, w.largest));
    v->of_rms = fmax(v->of_rms, part(d.rms, w.rms));
    out.same = out.same && d.rms <= fmax(atol, v->tolerance * w.rms);
    return out;
}

/* --- a program, and its reference -------------------------------------------------------------------------------- */

typedef struct answers {
    hone_array *got, *want;
    size_t n_out, n_want; /* want: all outputs of the graph, the state's too */
} answers;

static void drop_data(hone_array *a, size_t n) {
    for (size_t i = 0; a && i < n; i++) {
        free(a[i].data);
        a[i].data = NULL;
    }
}

static void answers_free(answers *a) {
    drop_data(a->got, a->n_out), drop_data(a->want, a->n_want);
    free(a->got), free(a->want);
}

static hone_rc answers_new(const hone_model *m, answers *a, hone_err *err) {
    *a = (answers){.n_out = (size_t)m->n_outputs, .n_want = (size_t)(m->n_outputs + m->n_states)};
    a->got = calloc(a->n_out + 1, sizeof *a->got);
    a->want = calloc(a->n_want + 1, sizeof *a->want);
    return a->got && a->want ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static void keep_worst(hone_array_difference *worst, const hone_array_difference *d) {
    if (d->max_abs > worst->max_abs) worst->max_abs = d->max_abs;
    if (d->max_rel > worst->max_rel) worst->max_rel = d->max_rel;
    if (!d->same && (worst->same || d->at < 0)) worst->at = d->at;
    worst->n_wrong += d->n_wrong;
    worst->same = worst->same && d->same;
}

static void count_nan(const hn_tensor *want, hone_verify_output *v) {
    int64_t n = hn_tensor_n(want);
    bool is_float = hn_is_float(want->dtype);
    v->n_elements += (uint64_t)n;
    for (int64_t i = 0; i < n && is_float; i++) v->n_nan += isnan(hn_get_f(want, i)) != 0;
}

static void add_shape(hn_str *s, const hn_tensor *t) {
    hn_str_addf(s, "%s[", hone_dtype_name(t->dtype));
    for (size_t d = 0; d < t->rank; d++) hn_str_addf(s, "%s%lld", d ? ", " : "", (long long)t->dim[d]);
    hn_str_add(s, "]");
}

/* The first time that an output has another type or shape: both. */
static void keep_shape(const hone_verify_options *o, size_t i, const hn_tensor *got, const hn_tensor *want) {
    hn_str s = {0};
    if (!o->shape || o->shape[i]) return;
    add_shape(&s, got);
    hn_str_add(&s, ", not ");
    add_shape(&s, want);
    o->shape[i] = hn_str_take(&s);
    hn_str_free(&s);
}

static hone_rc one_output(const hone_verify_options *o, size_t i, const hone_array *got, const hone_array *want,
                          hone_verify_output *out, hone_err *err) {
    hn_match_rule rule = {o->rtol < 0 ? 1e-3 : o->rtol, o->atol < 0 ? 1e-4 : o->atol};
    hn_tensor a, b;
    hone_rc rc = hn_array_tensor(got, &a, err);
    if (!rc) rc = hn_array_tensor(want, &b, err);
    if (rc) return rc;
    hone_array_difference d =
        out->tolerance > 0 ? compare_norms(&a, &b, rule, out) : difference(hn_tensor_compare(&a, &b, rule));
    if (!d.same && d.at < 0) keep_shape(o, i, &a, &b);
    keep_worst(&out->worst, &d);
    count_nan(&b, out);
    return HONE_OK;
}

static hone_rc refer(const hone_verify_options *o, const hone_array *in, size_t n_in, answers *a, hone_err *err) {
    return o->peer ? hone_peer_run(o->peer, in, n_in, a->want, a->n_want, err)
                   : hone_graph_run(o->graph, in, n_in, a->want, a->n_want, err);
}

/* A model without state: drawn, run, compared. */
static hone_rc one_input(hone_artifact *p, const hone_verify_options *o, uint64_t seed, answers *a,
                         hone_verify_output *outputs, hone_err *err) {
    const hone_model *m = hone_artifact_model(p);
    hone_array *in = calloc((size_t)m->n_inputs + 1, sizeof *in);
    if (!in) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hone_inputs_random(m, o->sizes, seed, in, err);
    if (!rc && o->graph && !o->plain) rc = hone_inputs_fill(o->graph, seed, in, NULL, err);
    if (!rc) rc = hone_inputs_refused(m, hone_artifact_run(p, in, (size_t)m->n_inputs, a->got, a->n_out, err), err);
    if (!rc) rc = refer(o, in, (size_t)m->n_inputs, a, err);
    for (size_t i = 0; i < a->n_out && !rc; i++) rc = one_output(o, i, &a->got[i], &a->want[i], &outputs[i], err);
    drop_data(in, (size_t)m->n_inputs), drop_data(a->got, a->n_out), drop_data(a->want, a->n_want);
    free(in);
    return rc;
}

static hone_rc one_step(hone_artifact *p, const hone_verify_options *o, hn_steps *s, answers *a,
                        hone_verify_output *outputs, hone_err *err) {
    const hone_model *m = hone_artifact_model(p);
    const hone_array *in;
    size_t n_all;
    hone_rc rc = hn_steps_next(s, &in, err);
    if (rc) return rc;
    rc = hone_inputs_refused(m, hone_artifact_run(p, in, (size_t)m->n_inputs, a->got, a->n_out, err), err);
    const hone_array *all = hn_steps_all(s, &n_all);
    if (!rc) rc = refer(o, all, n_all, a, err);
    for (uint32_t i = 0; i < a->n_out && !rc; i++)
        rc = one_output(o, i, &a->got[i], &a->want[hn_steps_result(s, i)], &outputs[i], err);
    if (!rc) hn_steps_carry(s, a->want);
    drop_data(a->got, a->n_out), drop_data(a->want, a->n_want);
    return rc;
}

/* With state: some steps from a reset on; the reference is handed the state that its own last step left. */
static hone_rc one_sequence(hone_artifact *p, const hone_verify_options *o, uint64_t seed, answers *a,
                            hone_verify_output *outputs, hone_err *err) {
    hn_steps *s = NULL;
    hone_rc rc = hn_steps_open(hone_artifact_model(p), o->graph, o->state, o->n_state, o->sizes, seed, &s, err);
    if (!rc) rc = hone_artifact_reset_state(p, err);
    for (uint64_t i = 0; i < (o->n_steps ? o->n_steps : 4) && !rc; i++) {
        if (o->stop && *o->stop) rc = hn_fail(err, HONE_E_INTERRUPTED, "interrupted");
        if (!rc) rc = one_step(p, o, s, a, outputs, err);
    }
    hn_steps_free(s);
    return rc;
}

/* Tolerances that the caller gives are the only ones. */
static hone_rc set_tolerances(const hone_model *m, const hone_verify_options *o, hone_verify_output *v, size_t n,
                              hone_err *err) {
    bool given = o->rtol >= 0 || o->atol >= 0;
    size_t n_graph = o->graph && !given ? hone_graph_outputs(o->graph) : 0;
    hone_dtype *through = calloc(n_graph + 1, sizeof *through);
    if (!through) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_steps *s = NULL;
    hone_rc rc = n_graph ? hn_narrowest(o->graph, through, err) : HONE_OK;
    if (!rc && m->n_states) rc = hn_steps_open(m, o->graph, o->state, o->n_state, NULL, 1, &s, err);
    for (size_t i = 0; i < n && !rc; i++) {
        size_t k = s ? hn_steps_result(s, (uint32_t)i) : i;
        hone_dtype t = k < n_graph ? through[k] : HONE_F32;
        v[i] = (hone_verify_output){.worst = {.same = true, .at = -1}, .tolerance = tolerance_through(t), .through = t};
    }
    hn_steps_free(s);
    free(through);
    return rc;
}

hone_rc hone_verify_run(hone_artifact *p, const hone_verify_options *options, hone_verify_output *outputs, bool *same,
                        hone_err *err) {
    answers a;
    hone_verify_options o = hone_verify_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "verify", err);
    if (!rc && !o.graph && !o.peer) rc = hn_fail(err, HONE_E_USAGE, "a graph or a peer is needed to verify against");
    if (rc) return rc;
    const hone_model *m = hone_artifact_model(p);
    uint64_t n = o.n_inputs ? o.n_inputs : 3;
    if (m->n_states && (!o.graph || !o.n_state))
        return hn_fail(err, HONE_E_USAGE, "model '%s' has state: its graph and the pairs INPUT=OUTPUT are needed",
                       m->name);
    char *sizes = NULL;
    for (int32_t i = 0; o.shape && i < m->n_outputs; i++) o.shape[i] = NULL;
    rc = answers_new(m, &a, err);
    if (!rc && o.graph && !o.plain && !m->n_states) rc = hone_inputs_sizes(o.graph, o.sizes, &sizes, err);
    if (sizes) o.sizes = sizes;
    hone_verify_output *v = calloc(a.n_out + 1, sizeof *v);
    if (!v && !rc) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = set_tolerances(m, &o, v, a.n_out, err);
    for (uint64_t i = 0; i < n && !rc; i++) {
        hone_event e = {"input", (size_t)i, (size_t)n, NAN, NAN, NULL};
        if (o.progress.fn) o.progress.fn(o.progress.arg, &e);
        if (o.stop && *o.stop) rc = hn_fail(err, HONE_E_INTERRUPTED, "interrupted");
        if (!rc) rc = (m->n_states ? one_sequence : one_input)(p, &o, i + 1, &a, v, err);
    }
    if (!rc) {
        *same = true;
        memcpy(outputs, v, a.n_out * sizeof *v);
        for (size_t i = 0; i < a.n_out; i++) *same = *same && v[i].worst.same;
    }
    answers_free(&a);
    free(sizes);
    free(v);
    return rc;
}

/* --- two versions ------------------------------------------------------------------------------------------------- */

hone_rc hn_agree_tolerances(const hone_graph *g, double *tolerance, size_t n, hone_err *err) {
    size_t n_graph = hone_graph_outputs(g);
    hone_dtype *through = calloc(n_graph + 1, sizeof *through);
    if (!through) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_narrowest(g, through, err);
    for (size_t i = 0; i < n && !rc; i++) tolerance[i] = i < n_graph ? tolerance_through(through[i]) : 0;
    free(through);
    return rc;
}

hone_rc hn_agree(const hone_array *got, const hone_array *want, double tolerance, double rtol, double atol, bool *same,
                 hone_array_difference *worst, hone_err *err) {
    hone_verify_options o = hone_verify_defaults();
    hone_verify_output out = {.worst = {.same = true, .at = -1}, .tolerance = tolerance};
    o.rtol = rtol, o.atol = atol;
    hone_rc rc = one_output(&o, 0, got, want, &out, err);
    if (rc) return rc;
    *same = out.worst.same;
    *worst = out.worst;
    return HONE_OK;
}
