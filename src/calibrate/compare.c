/* compare.c — two versions of a model on the same samples. */
#include "calibrate/calibrate.h"

#include "base/err.h"
#include "ir/interp.h"

#include <hone/precision.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_element(double got, double want, hone_precision_error *e, hn_error_sums *s) {
    double d = fabs(got - want);
    if (!isfinite(d)) {
        e->n_other += isfinite(got) != isfinite(want);
        return;
    }
    e->n_elements++;
    s->squares += d * d, s->exact_squares += want * want;
    s->largest = fmax(s->largest, d), s->exact_largest = fmax(s->exact_largest, fabs(want));
}

static int64_t top(const hn_tensor *t, int64_t from, int64_t n) {
    int64_t best = from;
    for (int64_t i = from + 1; i < from + n; i++)
        if (hn_get_f(t, i) > hn_get_f(t, best)) best = i;
    return best;
}

hone_rc hn_error_add(const hone_array *got, const hone_array *want, hone_precision_error *e, hn_error_sums *s,
                     hone_err *err) {
    hn_tensor a, b;
    hone_rc rc = hn_array_tensor(got, &a, err);
    if (!rc) rc = hn_array_tensor(want, &b, err);
    if (rc) return rc;
    if (a.dtype != b.dtype || a.rank != b.rank || memcmp(a.dim, b.dim, a.rank * sizeof *a.dim) != 0)
        return hn_fail(err, HONE_E_FAILED, "an output has another type or shape in 8 bits");
    int64_t n = hn_tensor_n(&a), row = a.rank ? a.dim[a.rank - 1] : 1;
    e->is_float = hn_is_float(a.dtype);
    for (int64_t i = 0; i < n; i++) {
        if (e->is_float)
            add_element(hn_get_f(&a, i), hn_get_f(&b, i), e, s);
        else
            e->n_elements++, e->n_other += hn_get_i(&a, i) != hn_get_i(&b, i);
    }
    for (int64_t i = 0; e->is_float && row > 1 && i < n; i += row)
        e->n_rows++, e->n_top += top(&a, i, row) == top(&b, i, row);
    return HONE_OK;
}

void hn_error_finish(hone_precision_error *e, const hn_error_sums *s) {
    e->rms = s->exact_squares > 0 ? sqrt(s->squares / s->exact_squares) : 0;
    e->largest = s->exact_largest > 0 ? s->largest / s->exact_largest : 0;
}

static void drop(hone_array *a, size_t n) {
    for (size_t i = 0; i < n; i++) free(a[i].data), a[i].data = NULL;
}

hone_rc hone_precision_compare(hone_artifact *narrow, hone_artifact *exact, const hone_array *sample, size_t n_samples,
                               hone_precision_error *out, hone_err *err) {
    const hone_model *m = hone_artifact_model(exact), *other = hone_artifact_model(narrow);
    size_t n_in = (size_t)m->n_inputs, n_out = (size_t)other->n_outputs, n_all = (size_t)m->n_outputs;
    if (other->n_inputs != m->n_inputs || other->n_outputs > m->n_outputs)
        return hn_fail(err, HONE_E_FAILED, "'%s' and '%s' have other inputs and outputs", other->name, m->name);
    hone_array *got = calloc(n_out + 1, sizeof *got), *want = calloc(n_all + 1, sizeof *want);
    hone_precision_error *e = calloc(n_out + 1, sizeof *e);
    hn_error_sums *s = calloc(n_out + 1, sizeof *s);
    hone_rc rc = got && want && e && s ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n_samples && !rc; i++) {
        rc = hone_artifact_run(exact, sample + i * n_in, n_in, want, n_all, err);
        if (!rc) rc = hone_artifact_run(narrow, sample + i * n_in, n_in, got, n_out, err);
        for (size_t k = 0; k < n_out && !rc; k++) rc = hn_error_add(&got[k], &want[k], &e[k], &s[k], err);
        drop(got, n_out), drop(want, n_all);
    }
    for (size_t k = 0; k < n_out && !rc; k++) {
        hn_error_finish(&e[k], &s[k]);
        out[k] = e[k];
    }
    free(got), free(want), free(e), free(s);
    return rc;
}
