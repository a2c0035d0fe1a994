/* exactness.c — a compiled model and a peer against the graph in double. */
#include "base/err.h"
#include "base/options.h"
#include "base/rng.h"
#include "ir/graph.h"
#include "ir/interp.h"

#include <hone/exactness.h>
#include <hone/inputs.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- the graph in double -------------------------------------------------------------------------------------------
 */

/* A constant of f32 as one of f64; rng: each element moves by a unit in its last place. */
static bool widen_constant(hn_graph *g, hn_attr *a, hn_rng *rng) {
    hn_tensor *wide = HN_NEW(&g->arena, hn_tensor);
    const hn_tensor *t = a->tensor;
    if (!wide || !hn_tensor_new(&g->arena, HONE_F64, t->rank, t->dim, wide)) return false;
    for (int64_t i = 0, n = hn_tensor_n(t); i < n; i++) {
        double x = hn_get_f(t, i);
        hn_set_f(wide, i, rng ? (double)nextafterf((float)x, hn_rng_next(rng) >> 63 ? INFINITY : -INFINITY) : x);
    }
    a->tensor = wide;
    return true;
}

static hone_rc widen_node(hn_graph *g, hn_node *n, hn_rng *rng, hone_err *err) {
    if (n->op == HN_OP_RANDOM || n->op == HN_OP_BITCAST)
        return hn_fail(err, HONE_E_UNSUPPORTED, "the model has '%s', which has no counterpart in double",
                       hn_op_of(n->op)->text);
    for (size_t i = 0; i < n->n_attr; i++) {
        hn_attr *a = &n->attr[i];
        if (a->kind == HN_K_DTYPE && a->i == HONE_F32) a->i = HONE_F64;
        if (a->kind == HN_K_TENSOR && a->tensor->dtype == HONE_F32 && !widen_constant(g, a, rng))
            return hn_fail(err, HONE_E_NOMEM, "out of memory for the constants in double");
    }
    return HONE_OK;
}

/* A copy of `from` whose values of f32 are f64; free it before `from`. moved: its constants move by a unit. */
static hone_rc in_double(const hn_graph *from, bool moved, hn_graph **out, hone_err *err) {
    hn_graph *g = hn_copy_graph(from);
    hn_rng rng = hn_rng_make(7, 1);
    hone_err why = {0};
    hone_rc rc = g && hn_graph_ok(g) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory for the graph in double");
    for (uint32_t i = 0; !rc && i < g->n_node; i++) rc = widen_node(g, &g->node[i], moved ? &rng : NULL, err);
    for (uint32_t v = 1; !rc && v < g->n_value; v++)
        if (g->value[v].type.dtype == HONE_F32) g->value[v].type.dtype = HONE_F64;
    if (!rc && hone_graph_verify(g, &why))
        rc = hn_fail(err, HONE_E_UNSUPPORTED, "the model cannot be evaluated in double: %s", why.text);
    if (rc)
        hone_graph_free(g);
    else
        *out = g;
    return rc;
}

/* --- inputs --------------------------------------------------------------------------------------------------------
 */

static bool has_floats(const hn_graph *g) {
    for (uint32_t i = 0; i < g->block[0].n_param; i++)
        if (hn_type_of(g, g->block[0].param[i])->dtype == HONE_F32) return true;
    return false;
}

/* Inputs of f32 as f64, moved by a unit where `rng` is; others as they are. */
static hone_rc widen_inputs(const hone_array *in, size_t n, hn_rng *rng, hone_array *out, hone_err *err) {
    for (size_t i = 0; i < n; i++) {
        size_t count = 1;
        out[i] = in[i];
        for (uint32_t d = 0; d < in[i].rank; d++) count *= (size_t)in[i].dim[d];
        size_t size_b = in[i].dtype == HONE_F32 ? sizeof(double) : hone_dtype_size_b(in[i].dtype);
        if (!(out[i].data = calloc(count + 1, size_b))) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (in[i].dtype != HONE_F32) {
            memcpy(out[i].data, in[i].data, count * size_b);
            continue;
        }
        out[i].dtype = HONE_F64;
        const float *from = in[i].data;
        for (size_t k = 0; k < count; k++)
            ((double *)out[i].data)[k] =
                rng ? (double)nextafterf(from[k], hn_rng_next(rng) >> 63 ? INFINITY : -INFINITY) : (double)from[k];
    }
    return HONE_OK;
}

static void drop(hone_array *a, size_t n) {
    for (size_t i = 0; a && i < n; i++) free(a[i].data), a[i].data = NULL;
}

static hone_rc run_double(const hn_graph *g, const hone_array *in, hn_rng *rng, hone_array *out, hone_err *err) {
    size_t n_in = g->block[0].n_param;
    hone_array *wide = calloc(n_in + 1, sizeof *wide);
    if (!wide) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = widen_inputs(in, n_in, rng, wide, err);
    if (!rc) rc = hone_graph_run(g, wide, n_in, out, g->block[0].n_result, err);
    drop(wide, n_in);
    free(wide);
    return rc;
}

/* --- what differs --------------------------------------------------------------------------------------------------
 */

typedef struct sums {
    double squares, largest; /* of differences */
} sums;
typedef struct tally {
    sums hone, peer, moved;
    double squares, largest; /* of the reference */
} tally;

static hone_rc add(const hone_array *got, const hone_array *want, sums *s, hone_err *err) {
    hn_tensor a, b;
    hone_rc rc = hn_array_tensor(got, &a, err);
    if (!rc) rc = hn_array_tensor(want, &b, err);
    if (!rc && (a.rank != b.rank || memcmp(a.dim, b.dim, a.rank * sizeof *a.dim)))
        rc = hn_fail(err, HONE_E_FAILED, "an output has another shape than the reference's: hone verify says which");
    for (int64_t i = 0, n = rc ? 0 : hn_tensor_n(&a); i < n; i++) {
        double d = fabs(hn_get_f(&a, i) - hn_get_f(&b, i));
        if (!isfinite(d)) continue;
        s->squares += d * d;
        s->largest = fmax(s->largest, d);
    }
    return rc;
}

static hone_rc add_scale(const hone_array *want, tally *t, hone_err *err) {
    hn_tensor b;
    hone_rc rc = hn_array_tensor(want, &b, err);
    for (int64_t i = 0, n = rc ? 0 : hn_tensor_n(&b); i < n; i++) {
        double x = fabs(hn_get_f(&b, i));
        if (!isfinite(x)) continue;
        t->squares += x * x;
        t->largest = fmax(t->largest, x);
    }
    return rc;
}

static hone_exactness_part part(const sums *s, const tally *t) {
    return (hone_exactness_part){t->squares > 0 ? sqrt(s->squares / t->squares) : 0,
                                 t->largest > 0 ? s->largest / t->largest : 0};
}

/* --- a run ---------------------------------------------------------------------------------------------------------
 */

typedef struct trial {
    hone_artifact *program;
    const hone_model *model;
    const hone_exactness_options *o;
    const hn_graph *graph;
    hn_graph *wide, *moved; /* moved: NULL where the inputs move */
    const char *sizes;
    hone_array *in, *exact, *other;
    tally *tally;
} trial;

/* Adds what `t->other` differs by, and frees it. at: which sums of a tally. */
static hone_rc take(trial *t, size_t at, hone_rc rc, hone_err *err) {
    for (int32_t i = 0; i < t->model->n_outputs && !rc; i++)
        if (hn_is_float(t->exact[i].dtype))
            rc = add(&t->other[i], &t->exact[i], (sums *)((char *)&t->tally[i] + at), err);
    drop(t->other, (size_t)t->model->n_outputs);
    return rc;
}

static hone_rc one_input(trial *t, uint64_t seed, hone_err *err) {
    size_t n_in = (size_t)t->model->n_inputs, n_out = (size_t)t->model->n_outputs;
    hn_rng rng = hn_rng_make(seed, 3);
    hone_rc rc = hone_inputs_random(t->model, t->sizes, seed, t->in, err);
    if (!rc) rc = hone_inputs_fill(t->graph, seed, t->in, NULL, err);
    if (!rc) rc = run_double(t->wide, t->in, NULL, t->exact, err);
    for (size_t i = 0; i < n_out && !rc; i++) rc = add_scale(&t->exact[i], &t->tally[i], err);
    if (!rc) rc = hone_inputs_refused(t->model, hone_artifact_run(t->program, t->in, n_in, t->other, n_out, err), err);
    rc = take(t, offsetof(tally, hone), rc, err);
    if (!rc && t->o->peer)
        rc = take(t, offsetof(tally, peer), hone_peer_run(t->o->peer, t->in, n_in, t->other, n_out, err), err);
    if (!rc)
        rc = take(t, offsetof(tally, moved),
                  run_double(t->moved ? t->moved : t->wide, t->in, t->moved ? NULL : &rng, t->other, err), err);
    drop(t->in, n_in), drop(t->exact, n_out);
    return rc;
}

static hone_rc all_inputs(trial *t, hone_err *err) {
    uint64_t n = t->o->n_inputs ? t->o->n_inputs : 3;
    hone_rc rc = HONE_OK;
    for (uint64_t i = 0; i < n && !rc; i++) {
        hone_event e = {"input", (size_t)i, (size_t)n, NAN, NAN, NULL};
        if (t->o->progress.fn) t->o->progress.fn(t->o->progress.arg, &e);
        rc = t->o->stop && *t->o->stop ? hn_fail(err, HONE_E_INTERRUPTED, "interrupted") : one_input(t, i + 1, err);
    }
    return rc;
}

static void give(const trial *t, hone_exactness_output *out) {
    for (int32_t i = 0; i < t->model->n_outputs; i++) {
        const tally *x = &t->tally[i];
        bool is_float = hn_is_float(hn_type_of(t->graph, t->graph->block[0].result[i])->dtype);
        out[i] = (hone_exactness_output){.is_float = is_float};
        if (!is_float) continue;
        out[i].hone = part(&x->hone, x), out[i].peer = part(&x->peer, x), out[i].moved = part(&x->moved, x);
        out[i].amplification = out[i].moved.rms / 0x1p-24;
    }
}

hone_rc hone_exactness_run(hone_artifact *p, const hone_graph *g, const hone_exactness_options *options,
                           hone_exactness_output *outputs, bool *by_constants, hone_err *err) {
    hone_exactness_options o = hone_exactness_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "exactness", err);
    if (rc) return rc;
    trial t = {.program = p, .model = hone_artifact_model(p), .o = &o, .graph = g};
    if (t.model->n_states || (uint32_t)t.model->n_outputs != g->block[0].n_result)
        return hn_fail(err, HONE_E_UNSUPPORTED, "model '%s' has state: exactness is for models without", t.model->name);
    char *sizes = NULL;
    bool constants = !has_floats(g);
    size_t n_out = (size_t)t.model->n_outputs;
    t.in = calloc((size_t)t.model->n_inputs + 1, sizeof *t.in);
    t.exact = calloc(n_out + 1, sizeof *t.exact);
    t.other = calloc(n_out + 1, sizeof *t.other);
    t.tally = calloc(n_out + 1, sizeof *t.tally);
    if (!t.in || !t.exact || !t.other || !t.tally) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hone_inputs_sizes(g, o.sizes, &sizes, err);
    t.sizes = sizes;
    if (!rc) rc = in_double(g, false, &t.wide, err);
    if (!rc && constants) rc = in_double(g, true, &t.moved, err);
    if (!rc) rc = all_inputs(&t, err);
    if (!rc) give(&t, outputs);
    if (!rc && by_constants) *by_constants = constants;
    hone_graph_free(t.wide), hone_graph_free(t.moved);
    free(sizes), free(t.in), free(t.exact), free(t.other), free(t.tally);
    return rc;
}
