/* rerun.c — one instance, run again and again on the same inputs and, where it has state, from the same one. */
#include "assess/assess_int.h"
#include "assess/steps.h"
#include "backend/backend.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

static void take_inputs(hn_rerun *x, const hone_array *in) {
    for (int32_t i = 0; i < x->model->n_inputs; i++) {
        x->in[i] = (hone_model_tensor){.data = in[i].data, .dtype = (int32_t)in[i].dtype, .rank = (int32_t)in[i].rank};
        memcpy(x->in[i].dim, in[i].dim, sizeof x->in[i].dim);
    }
}

static hone_rc run(hn_rerun *x, double *time_s, hone_err *err) {
    const hone_model *m = x->model;
    double t_s;
    for (int32_t i = 0; i < m->n_outputs; i++) x->out[i] = (hone_model_tensor){0};
    if (x->place->run(x->place_state, m, x->instance, x->in, x->out, &t_s))
        return hn_fail(err, HONE_E_INPUT, "%s", m->error(x->instance));
    if (time_s) *time_s = t_s;
    return HONE_OK;
}

/* The steps before the one that is timed, then the inputs of that one. */
static hone_rc take_steps(hn_rerun *x, const hone_latency_options *o, hone_err *err) {
    const hone_array *in;
    hone_rc rc = hn_steps_open(x->model, o->graph, o->state, o->n_state, o->sizes, o->seed, &x->steps, err);
    for (uint64_t i = 0; !rc; i++) {
        if (x->stop && *x->stop) return hn_fail(err, HONE_E_INTERRUPTED, "interrupted");
        rc = hn_steps_next(x->steps, &in, err);
        if (!rc) take_inputs(x, in);
        if (rc || i == o->n_steps) break;
        rc = run(x, NULL, err);
    }
    return rc;
}

static hone_rc resize_states(hn_rerun *x, int64_t rows, hone_err *err) {
    for (int32_t i = 0; rows && i < x->model->n_states; i++)
        if (x->model->resize(x->instance, i, rows))
            return hn_fail(err, HONE_E_INPUT, "%s", x->model->error(x->instance));
    return HONE_OK;
}

static hone_rc save_state(hn_rerun *x, hone_err *err) {
    hone_model_rc rc = x->model->save(x->instance, NULL, &x->state_b);
    if (rc == HONE_MODEL_SMALL) {
        x->state = malloc(x->state_b + 1);
        if (!x->state) return hn_fail(err, HONE_E_NOMEM, "out of memory for the state");
        rc = x->model->save(x->instance, x->state, &x->state_b);
    }
    return rc ? hn_fail(err, HONE_E_FAILED, "%s", x->model->error(x->instance)) : HONE_OK;
}

hone_rc hn_rerun_open(const hone_model *m, const hone_array *in, const hone_latency_options *options, hn_rerun *out,
                      hone_err *err) {
    hone_model_config config = hone_model_defaults();
    const hn_dialect *d = hn_dialect_named(m->target);
    config.n_threads = options->n_threads > HONE_MODEL_THREADS ? HONE_MODEL_THREADS : (int32_t)options->n_threads;
    *out = (hn_rerun){.model = m, .stop = options->stop, .place = d ? d->backend->here : &hn_place_here};
    out->in = calloc((size_t)m->n_inputs + 1, sizeof *out->in);
    out->out = calloc((size_t)m->n_outputs + 1, sizeof *out->out);
    if (!out->in || !out->out) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = out->place->open(&(hn_place_spec){0}, &out->place_state, err);
    if (rc) return rc;
    if (m->create(&config, &out->instance)) return hn_fail(err, HONE_E_FAILED, "%s", m->error(NULL));
    bool steps = m->n_states && options->graph;
    if (!steps && !in && m->n_inputs) return hn_fail(err, HONE_E_USAGE, "inputs are needed");
    if (steps)
        rc = take_steps(out, options, err);
    else {
        take_inputs(out, in);
        rc = resize_states(out, options->state_rows, err);
    }
    return !rc && m->n_states ? save_state(out, err) : rc;
}

hone_rc hn_rerun_once(hn_rerun *x, double *time_s, hone_err *err) {
    if (x->stop && *x->stop) return hn_fail(err, HONE_E_INTERRUPTED, "interrupted");
    if (x->state && x->model->load(x->instance, x->state, x->state_b))
        return hn_fail(err, HONE_E_FAILED, "%s", x->model->error(x->instance));
    return run(x, time_s, err);
}

void hn_rerun_close(hn_rerun *x) {
    if (x->instance) x->model->free(x->instance);
    if (x->place) x->place->close(x->place_state);
    hn_steps_free(x->steps);
    free(x->in), free(x->out), free(x->state);
    *x = (hn_rerun){0};
}
