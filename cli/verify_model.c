/* verify_model.c — `hone verify MODEL`: the outputs of a compiled model, checked against the interpreter or a peer.
 */
#include "verify_model.h"

#include "drawn.h"

#include <hone/verify.h>

#include <math.h>
#include <stdlib.h>

typedef struct judge {
    hone_graph *graph;
    hone_peer *peer;
    const char *name;
    double rtol, atol;
} judge;

typedef struct tally {
    hone_verify_output *output;
    char **shape; /* of outputs whose shape was another one: what differs, else NULL */
    bool same;
    cli_drawn drawn;
} tally;

static hone_rc open_judge(const cli *c, const char *path, judge *j, hone_err *err) {
    cli_compiling x;
    hone_rc rc = HONE_OK;
    j->name = "the interpreter";
    if (cli_given(c, "against")) {
        rc = cli_peer_open(c, path, &j->peer, err);
        if (!rc) j->name = hone_peer_name(j->peer);
    }
    cli_compiling_read(c, &x);
    if (!rc) rc = cli_graph_open(path, &x, &j->graph, err);
    cli_compiling_free(&x);
    return rc;
}

static void show_input(void *arg, const hone_event *e) {
    (void)arg;
    fprintf(stderr, "\r\033[Kinput %zu of %zu", e->done + 1, e->total);
}

/* Negative: not given. */
static hone_rc tolerance(const cli *c, const char *name, double *out, hone_err *err) {
    const char *text = cli_text(c, name, NULL);
    char *end;
    *out = -1;
    if (!text) return HONE_OK;
    double x = strtod(text, &end);
    if (end == text || *end || !isfinite(x) || x < 0)
        return cli_fail(err, HONE_E_USAGE, "option '--%s' takes a number from 0 on such as 1e-3, not '%s'", name, text);
    *out = x;
    return HONE_OK;
}

static hone_rc compare(const cli *c, cli_model *m, const judge *j, uint64_t n_inputs, tally *t, hone_err *err) {
    cli_compiling x;
    cli_compiling_read(c, &x);
    hone_verify_options options = {.size = sizeof options,
                                   .graph = j->graph,
                                   .peer = j->peer,
                                   .sizes = cli_text(c, "size", NULL),
                                   .n_inputs = n_inputs,
                                   .rtol = j->rtol,
                                   .atol = j->atol,
                                   .state = x.options.state,
                                   .n_state = x.options.n_state,
                                   .n_steps = cli_count(c, "steps", 4),
                                   .shape = t->shape};
    if (cli_width(stderr)) options.progress.fn = show_input;
    hone_rc rc = hone_verify_run(m->program, &options, t->output, &t->same, err);
    if (cli_width(stderr)) fputs("\r\033[K", stderr);
    cli_compiling_free(&x);
    return rc;
}

/* What hone_verify_run is going to draw, to be told. */
static hone_rc look_at_inputs(const cli *c, const cli_model *m, const judge *j, tally *t, hone_err *err) {
    cli_arrays in = {0};
    hone_rc rc = cli_drawn_of(c, j->graph, m->model, 1, &in, &t->drawn, err);
    cli_arrays_free(&in);
    return rc;
}

static void put_model(const cli *c, const char *path, const cli_model *m, const judge *j, const tally *t,
                      uint64_t n_inputs) {
    cli_put(c, stdout, path, 0);
    printf(": %s %s on %llu inputs%s%s\n", t->same ? "agrees with" : "differs from", j->name,
           (unsigned long long)n_inputs, *m->where ? "; it ran on " : "", m->where);
    cli_drawn_put(c, &t->drawn);
    for (int32_t i = 0; i < m->model->n_outputs; i++) {
        const hone_verify_output *v = &t->output[i];
        printf("  ");
        cli_put(c, stdout, m->model->output[i].name, 0);
        if (t->shape[i]) {
            printf(": its shape differs: %s\n", t->shape[i]);
            continue;
        }
        printf(": worst error %.3g absolute, %.3g relative", v->worst.max_abs, v->worst.max_rel);
        if (v->tolerance > 0)
            printf("; %.2g %% of the largest element, %.2g %% in root mean square, through %s %.2g %% are allowed",
                   100 * v->of_largest, 100 * v->of_rms, hone_dtype_name(v->through), 100 * v->tolerance);
        if (v->n_nan == v->n_elements && v->n_nan)
            printf("; all its elements are NaN, nothing was compared: try real inputs with hone run");
        else if (v->n_nan)
            printf("; %llu of %llu elements are NaN", (unsigned long long)v->n_nan, (unsigned long long)v->n_elements);
        printf("%s", v->worst.same ? "" : ", outside the tolerance");
        /* what differs by no number is NaN on one side */
        if (!v->worst.same && !(v->worst.max_abs > 0))
            printf(": one has NaN where the other has a number; look at both with hone run, or try other sizes");
        printf("\n");
    }
}

static void json_output(cli_json *o, const char *name, const hone_verify_output *v, const char *shape) {
    cli_json_object(o);
    cli_json_ktext(o, "name", name);
    cli_json_kbool(o, "same", v->worst.same);
    if (shape) cli_json_ktext(o, "shape", shape);
    cli_json_knumber(o, "max_abs", v->worst.max_abs);
    cli_json_knumber(o, "max_rel", v->worst.max_rel);
    cli_json_kcount(o, "n_wrong", (uint64_t)v->worst.n_wrong);
    cli_json_kcount(o, "n_elements", v->n_elements);
    cli_json_kcount(o, "n_nan", v->n_nan);
    if (v->tolerance > 0) {
        cli_json_ktext(o, "through", hone_dtype_name(v->through));
        cli_json_knumber(o, "tolerance", v->tolerance);
        cli_json_knumber(o, "of_largest", v->of_largest);
        cli_json_knumber(o, "of_rms", v->of_rms);
    }
    cli_json_close(o);
}

static void json_model(cli *c, const char *path, const cli_model *m, const judge *j, const tally *t,
                       uint64_t n_inputs) {
    cli_json o = cli_json_begin(c, false);
    cli_json_object(&o);
    cli_json_ktext(&o, "file", path);
    cli_json_ktext(&o, "against", j->name);
    if (*m->where) cli_json_ktext(&o, "place", m->where);
    cli_json_kbool(&o, "same", t->same);
    cli_json_kcount(&o, "inputs", n_inputs);
    cli_drawn_json(&o, &t->drawn);
    cli_json_key(&o, "outputs");
    cli_json_array(&o);
    for (int32_t i = 0; i < m->model->n_outputs; i++) {
        json_output(&o, m->model->output[i].name, &t->output[i], t->shape[i]);
    }
    cli_json_end(&o);
}

hone_rc cli_verify_model(cli *c, const char *path, hone_err *err) {
    cli_model m;
    judge j = {0};
    uint64_t n_inputs = cli_count(c, "inputs", 3);
    hone_rc rc = tolerance(c, "rtol", &j.rtol, err);
    if (!rc) rc = tolerance(c, "atol", &j.atol, err);
    if (!rc) rc = cli_model_open(c, path, (uint32_t)cli_count(c, "threads", 0), &m, err);
    if (rc) return rc;
    rc = open_judge(c, path, &j, err);
    size_t n = (size_t)m.model->n_outputs;
    tally t = {.output = cli_alloc(n + 1, sizeof *t.output), .shape = cli_alloc(n + 1, sizeof *t.shape), .same = true};
    if (!rc && !m.model->n_states) rc = look_at_inputs(c, &m, &j, &t, err);
    if (!rc) rc = compare(c, &m, &j, n_inputs, &t, err);
    cli_model_unlink(&m); /* now, as a closed pipe may end hone without cleaning up */
    if (!rc && c->json)
        json_model(c, path, &m, &j, &t, n_inputs);
    else if (!rc)
        put_model(c, path, &m, &j, &t, n_inputs);
    if (!rc && !t.same) c->exit_code = hone_rc_exit(HONE_E_FAILED);
    hone_peer_close(j.peer);
    hone_graph_free(j.graph);
    cli_drawn_free(&t.drawn);
    for (size_t i = 0; i < n; i++) hone_free(t.shape[i]);
    free(t.shape);
    free(t.output);
    cli_model_close(&m);
    return rc;
}
