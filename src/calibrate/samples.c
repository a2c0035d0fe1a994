/* samples.c — arrays of many samples, cut into samples of a model's inputs. */
#include "base/err.h"

#include <hone/precision.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_N = 256 };

/* One array, and how it is cut: sample k is `part_b` bytes from k * part_b on. */
typedef struct cut {
    hone_array sample; /* shape and type of one */
    size_t n, part_b;
} cut;

static hone_rc wrong_shape(const char *label, const hone_array *a, const hone_graph_port *p, hone_err *err) {
    char shape[SHAPE_N] = "";
    size_t n = 0;
    for (uint32_t d = 0; d < a->rank && n < SHAPE_N; d++)
        n += (size_t)snprintf(shape + n, SHAPE_N - n, "%s%" PRId64, d ? ", " : "", a->dim[d]);
    return hn_fail(err, HONE_E_INPUT,
                   "'%s': the array for input '%s' is %s[%s]; it should be %s%s, with samples along the first axis or "
                   "one axis more in front",
                   label, p->name, hone_dtype_name(a->dtype), shape, hone_dtype_name(p->dtype), p->shape);
}

/* Do the dimensions of a from `at` on fit those of the input from `from` on? */
static bool fits(const hone_array *a, uint32_t at, const hone_graph_port *p, uint32_t from) {
    if (a->rank - at != p->rank - from) return false;
    for (uint32_t d = from; d < p->rank; d++)
        if (p->dim[d] >= 0 && a->dim[at + d - from] != p->dim[d]) return false;
    return true;
}

static size_t bytes_of(const hone_array *a) {
    size_t n = hone_dtype_size_b(a->dtype);
    for (uint32_t d = 0; d < a->rank; d++) n *= (size_t)a->dim[d];
    return n;
}

static hone_rc cut_array(const char *label, const hone_array *a, const hone_graph_port *p, cut *out, hone_err *err) {
    *out = (cut){.sample = *a, .n = 1};
    if (a->dtype != p->dtype) return wrong_shape(label, a, p, err);
    if (a->rank == p->rank + 1 && fits(a, 1, p, 0)) {
        out->n = (size_t)a->dim[0];
        out->sample.rank--;
        memmove(out->sample.dim, a->dim + 1, p->rank * sizeof *a->dim);
    } else if (p->rank && a->rank == p->rank && fits(a, 1, p, 1)) {
        int64_t batch = p->dim[0] < 0 ? 1 : p->dim[0];
        if (batch < 1 || a->dim[0] % batch) return wrong_shape(label, a, p, err);
        out->n = (size_t)(a->dim[0] / batch);
        out->sample.dim[0] = batch;
    } else if (p->rank || a->rank) {
        return wrong_shape(label, a, p, err);
    }
    out->part_b = bytes_of(&out->sample);
    if (out->n) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT, "'%s': the array for input '%s' is empty", label, p->name);
}

static hone_rc find_array(const char *label, const char *const *names, size_t n, const char *name, size_t n_inputs,
                          size_t *at, hone_err *err) {
    for (size_t i = 0; i < n; i++)
        if (names[i] && !strcmp(names[i], name)) return *at = i, HONE_OK;
    if (n_inputs == 1 && n == 1) return *at = 0, HONE_OK;
    return hn_fail(err, HONE_E_INPUT,
                   "'%s' has no array '%s', as the model's input is called; make it with np.savez(…, %s=…)", label,
                   name, name);
}

static hone_rc cut_all(const hone_graph *g, const char *label, const char *const *name, const hone_array *array,
                       size_t n_arrays, cut *list, size_t *n, hone_err *err) {
    size_t n_inputs = hone_graph_inputs(g);
    *n = 1;
    for (size_t i = 0; i < n_inputs; i++) {
        hone_graph_port p;
        size_t at = 0;
        hone_rc rc = hone_graph_input(g, i, &p, err);
        if (!rc) rc = find_array(label, name, n_arrays, p.name, n_inputs, &at, err);
        if (!rc) rc = cut_array(label, &array[at], &p, &list[i], err);
        if (rc) return rc;
        if (list[i].n == 1) continue;
        if (*n > 1 && list[i].n != *n)
            return hn_fail(err, HONE_E_INPUT, "'%s': input '%s' has %zu samples, another one has %zu", label, p.name,
                           list[i].n, *n);
        *n = list[i].n;
    }
    return HONE_OK;
}

/* Appends n samples, of which each input has that many, or one that all share. */
static hone_rc append(hone_precision_samples *s, const cut *list, size_t n, hone_err *err) {
    hone_array *a = realloc(s->a, ((s->n + n) * s->n_inputs + 1) * sizeof *a);
    if (!a) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    s->a = a;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < s->n_inputs; i++) {
            hone_array *to = &s->a[(s->n + k) * s->n_inputs + i];
            *to = list[i].sample;
            to->data = (char *)list[i].sample.data + (list[i].n > 1 ? k : 0) * list[i].part_b;
        }
    s->n += n;
    return HONE_OK;
}

hone_rc hone_precision_add_samples(hone_precision_samples *s, const hone_graph *g, const char *label,
                                   const char *const *name, const hone_array *array, size_t n_arrays, hone_err *err) {
    size_t n;
    s->n_inputs = hone_graph_inputs(g);
    cut *list = calloc(s->n_inputs + 1, sizeof *list);
    if (!list) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = cut_all(g, label, name, array, n_arrays, list, &n, err);
    if (!rc) rc = append(s, list, n, err);
    free(list);
    return rc;
}

hone_rc hone_precision_divide(const hone_precision_samples *all, hone_precision_samples *taken,
                              hone_precision_samples *held, hone_err *err) {
    size_t n_in = all->n_inputs;
    hone_precision_samples *part[] = {taken, held};
    for (int k = 0; k < 2; k++) {
        *part[k] = (hone_precision_samples){.n_inputs = n_in};
        part[k]->a = calloc(all->n * n_in + 1, sizeof *part[k]->a);
    }
    if (!taken->a || !held->a) {
        hone_precision_free_samples(taken);
        hone_precision_free_samples(held);
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < all->n; i++) {
        hone_precision_samples *to = part[i % HONE_PRECISION_HOLD == HONE_PRECISION_HOLD - 1];
        if (n_in) memcpy(to->a + to->n * n_in, all->a + i * n_in, n_in * sizeof *to->a);
        to->n++;
    }
    return HONE_OK;
}

void hone_precision_free_samples(hone_precision_samples *s) {
    free(s->a);
    *s = (hone_precision_samples){0};
}
