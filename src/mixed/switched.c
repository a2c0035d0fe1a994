/* switched.c — one program for all points: each product is there in f32 and in bytes, and an input says which is taken.
 * It takes about the time of both; a point costs a run and no compilation. */
#include "mixed/mixed.h"

#include "base/err.h"

#include <hone/compile.h>

#include <stdlib.h>
#include <string.h>

static hone_rc compile(hn_graph *g, const hone_precision_options *given, hn_switched *s, hone_err *err) {
    hone_compile_options o = hone_compile_defaults();
    hone_artifact_options load = hone_artifact_defaults();
    hn_arena a = {0};
    hone_rc rc = hn_temp_make(NULL, "hone-mixed-", &s->temp, err);
    if (rc) return rc;
    o.output = hn_format(&a, "%s/mixed", s->temp.path);
    const char *library = hn_format(&a, "%s/mixed.so", s->temp.path);
    o.compiler = given->compiler, o.n_jobs = given->n_jobs, o.n_threads = load.n_threads = given->n_threads;
    o.progress = given->progress, o.stop = given->stop;
    o.no_parity = true; /* its products are those of the model, which are checked when it is compiled */
    rc = hn_arena_ok(&a) ? hone_compile_graph(g, "mixed", &o, NULL, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hone_artifact_load(library, &load, &s->program, err);
    hn_arena_free(&a);
    return rc;
}

hone_rc hn_switched_open(const hn_graph *g, const hn_narrow_plan *plan, const hone_precision_options *o,
                         hn_switched *out, hone_err *err) {
    hn_switched s = {0};
    hn_graph *copy = hn_copy_graph(g);
    hone_rc rc = copy ? hn_graph_failure(copy, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_products_prepare(copy, err);
    if (!rc) rc = hn_plan_apply_switched(plan, copy, err);
    if (!rc) {
        hn_graph_seal(copy);
        rc = compile(copy, o, &s, err);
    }
    hone_graph_free(copy);
    if (rc)
        hn_switched_close(&s);
    else
        *out = s;
    return rc;
}

hone_rc hn_switched_run(hn_switched *s, const hone_array *sample, const bool *narrow, size_t n_narrow, hone_array *out,
                        hone_err *err) {
    const hone_model *m = hone_artifact_model(s->program);
    size_t n = (size_t)m->n_inputs;
    hone_array *in = calloc(n, sizeof *in);
    if (!in) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    memcpy(in, sample, (n - 1) * sizeof *in);
    in[n - 1] =
        (hone_array){.dtype = HONE_BOOL, .rank = 1, .dim = {(int64_t)n_narrow}, .data = (void *)(uintptr_t)narrow};
    hone_rc rc = hone_artifact_run(s->program, in, n, out, (size_t)m->n_outputs, err);
    free(in);
    return rc;
}

void hn_switched_close(hn_switched *s) {
    hone_artifact_free(s->program);
    hn_temp_free(&s->temp);
    *s = (hn_switched){0};
}
