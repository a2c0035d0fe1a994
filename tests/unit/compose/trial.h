/* Small graphs for tests of compositions: inputs filled with noise, run by the interpreter, held against plain loops.
 */
#ifndef HN_TESTS_UNIT_COMPOSE_TRIAL_H
#define HN_TESTS_UNIT_COMPOSE_TRIAL_H

#include "compose/compose.h"
#include "tap.h"

#include <hone/ir.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_IN = 8, MAX_N = 4096 };

typedef struct trial {
    hn_builder b;
    hone_array in[MAX_IN];
    size_t n_in;
} trial;

static inline trial begin(void) {
    trial t = {.b = {.g = hn_graph_new()}};
    if (!t.b.g) abort();
    return t;
}

static inline double noise(size_t i) { return sin((double)(i * i + 3 * i + 1)); }

/* An input of these sizes (0: the symbol n, which is 3 when it runs), filled with noise. */
static inline hn_val input(trial *t, hone_dtype type, size_t rank, const int64_t *size) {
    hn_type ty = {.dtype = type, .rank = (uint8_t)rank};
    hone_array *a = &t->in[t->n_in];
    char name[8];
    size_t n = 1;
    *a = (hone_array){.dtype = type, .rank = (uint32_t)rank};
    for (size_t i = 0; i < rank; i++) {
        ty.dim[i] = size[i] ? hn_lit(&t->b, size[i]) : hn_dim_symbol(t->b.g->dims, "n", 1, 8);
        a->dim[i] = size[i] ? size[i] : 3;
        n *= (size_t)a->dim[i];
    }
    if (!(a->data = calloc(n + 1, 8))) abort();
    for (size_t i = 0; i < n; i++)
        if (type == HONE_F32)
            ((float *)a->data)[i] = (float)noise(i + 100 * t->n_in);
        else
            ((int64_t *)a->data)[i] = (int64_t)i;
    snprintf(name, sizeof name, "i%zu", t->n_in++);
    return hn_param(t->b.g, 0, name, &ty);
}

static inline const float *in(const trial *t, size_t i) { return t->in[i].data; }

/* Runs the graph for value y; out has room for MAX_N floats. */
static inline void run(trial *t, hn_val y, float *out, const char *name) {
    hone_err err = {0};
    hone_array got = {0};
    hn_result(t->b.g, 0, y, "y");
    hone_rc rc = t->b.g->err.rc ? hone_graph_verify(t->b.g, &err) : HONE_OK;
    if (!rc && hn_graph_ok(t->b.g)) rc = hone_graph_run(t->b.g, t->in, t->n_in, &got, 1, &err);
    if (!ok(!rc && got.data, "compose/%s_runs", name)) printf("#   %s%s\n", err.text, t->b.g->err.text);
    size_t n = 1;
    for (uint32_t i = 0; i < got.rank; i++) n *= (size_t)got.dim[i];
    if (got.data && n <= MAX_N) memcpy(out, got.data, n * sizeof *out);
    hone_free(got.data);
}

static inline void end(trial *t) {
    for (size_t i = 0; i < t->n_in; i++) free(t->in[i].data);
    hone_graph_free(t->b.g);
}

static inline void close_to(const float *got, const double *want, size_t n, const char *name) {
    size_t at = 0;
    while (at < n && fabs((double)got[at] - want[at]) <= 1e-5 + 1e-5 * fabs(want[at])) at++;
    if (!ok(at == n, "compose/%s", name)) printf("#   element %zu: %g instead of %g\n", at, (double)got[at], want[at]);
}

#endif
