/* verify.c — arrays compared for users: a whole model against the interpreter or a peer. */
#include "base/err.h"
#include "ir/interp.h"

#include <hone/profile.h>

#include <stdlib.h>
#include <string.h>

static bool as_tensor(const hone_array *a, hn_tensor *out) {
    int64_t n;
    if (a->rank > HN_RANK_MAX || !hn_dtype_of(a->dtype)) return false;
    *out = (hn_tensor){.dtype = a->dtype, .rank = (uint8_t)a->rank, .data = a->data};
    memcpy(out->dim, a->dim, a->rank * sizeof *out->dim);
    return hn_tensor_count(out, &n);
}

hone_rc hone_array_compare(const hone_array *got, const hone_array *want, double rtol, double atol,
                           hone_array_difference *out, hone_err *err) {
    hn_tensor a, b;
    if (!as_tensor(got, &a) || !as_tensor(want, &b))
        return hn_fail(err, HONE_E_INPUT, "an array has no legal type or shape");
    if (a.dtype != b.dtype || a.rank != b.rank || memcmp(a.dim, b.dim, a.rank * sizeof *a.dim) != 0) {
        *out = (hone_array_difference){.n_wrong = hn_tensor_n(&b), .at = -1};
        return HONE_OK;
    }
    hn_match m = hn_tensor_compare(&a, &b, (hn_match_rule){rtol, atol});
    *out = (hone_array_difference){m.same, m.max_abs, m.max_rel, m.n_wrong, m.at};
    return HONE_OK;
}

/* --- a program, held against a judge ------------------------------------------------------------------------------ */

typedef struct answers {
    hone_array *in, *got, *want;
    size_t n_in, n_out;
} answers;

static void drop_data(hone_array *a, size_t n) {
    for (size_t i = 0; a && i < n; i++) {
        free(a[i].data);
        a[i].data = NULL;
    }
}

static void answers_free(answers *a) {
    drop_data(a->in, a->n_in), drop_data(a->got, a->n_out), drop_data(a->want, a->n_out);
    free(a->in), free(a->got), free(a->want);
}

static hone_rc answers_new(const hone_model *m, answers *a, hone_err *err) {
    *a = (answers){.n_in = (size_t)m->n_inputs, .n_out = (size_t)m->n_outputs};
    a->in = calloc(a->n_in + 1, sizeof *a->in);
    a->got = calloc(a->n_out + 1, sizeof *a->got);
    a->want = calloc(a->n_out + 1, sizeof *a->want);
    return a->in && a->got && a->want ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static void keep_worst(hone_array_difference *worst, const hone_array_difference *d) {
    if (d->max_abs > worst->max_abs) worst->max_abs = d->max_abs;
    if (d->max_rel > worst->max_rel) worst->max_rel = d->max_rel;
    if (!d->same) worst->at = d->at;
    worst->n_wrong += d->n_wrong;
    worst->same = worst->same && d->same;
}

static hone_rc one_input(hone_program *p, const hone_verify_options *o, uint64_t seed, answers *a,
                         hone_array_difference *worst, hone_err *err) {
    double rtol = o->rtol < 0 ? 1e-3 : o->rtol, atol = o->atol < 0 ? 1e-4 : o->atol;
    hone_rc rc = hone_model_random(hone_program_model(p), o->sizes, seed, a->in, err);
    if (!rc)
        rc = hone_model_random_refused(hone_program_model(p),
                                       hone_program_run(p, a->in, a->n_in, a->got, a->n_out, err), err);
    if (!rc)
        rc = o->peer ? hone_peer_run(o->peer, a->in, a->n_in, a->want, a->n_out, err)
                     : hone_graph_run(o->graph, a->in, a->n_in, a->want, a->n_out, err);
    for (size_t i = 0; i < a->n_out && !rc; i++) {
        hone_array_difference d;
        rc = hone_array_compare(&a->got[i], &a->want[i], rtol, atol, &d, err);
        if (!rc) keep_worst(&worst[i], &d);
    }
    drop_data(a->in, a->n_in), drop_data(a->got, a->n_out), drop_data(a->want, a->n_out);
    return rc;
}

hone_rc hone_verify_program(hone_program *p, const hone_verify_options *options, hone_array_difference *worst,
                            bool *same, hone_err *err) {
    answers a;
    uint64_t n = options->n_inputs ? options->n_inputs : 3;
    hone_rc rc = answers_new(hone_program_model(p), &a, err);
    hone_array_difference *w = calloc(a.n_out + 1, sizeof *w);
    if (!w && !rc) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < a.n_out && w; i++) w[i] = (hone_array_difference){.same = true, .at = -1};
    for (uint64_t i = 0; i < n && !rc; i++) {
        if (options->progress) options->progress(options->progress_arg, i, n);
        if (options->stop && *options->stop) rc = hn_fail(err, HONE_E_INTERRUPTED, "interrupted");
        if (!rc) rc = one_input(p, options, i + 1, &a, w, err);
    }
    if (!rc) {
        *same = true;
        memcpy(worst, w, a.n_out * sizeof *w);
        for (size_t i = 0; i < a.n_out; i++) *same = *same && w[i].same;
    }
    answers_free(&a);
    free(w);
    return rc;
}
