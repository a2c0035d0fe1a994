/* verify_exact.c — `hone verify MODEL --exactness`: rounding, against the graph in double. */
#include "drawn.h"
#include "verify_model.h"

#include <hone/exactness.h>

#include <stdlib.h>

typedef struct exactness {
    cli_model m;
    hone_graph *graph;
    hone_peer *peer;
    hone_exactness_output *output;
    bool by_constants;
    cli_drawn drawn;
} exactness;

static void put_part(const char *who, hone_exactness_part p) {
    printf("    %-20s %.3g rms, %.3g largest\n", who, p.rms, p.largest);
}

static void put_output(const cli *c, const exactness *x, int32_t i) {
    const hone_exactness_output *v = &x->output[i];
    printf("  ");
    cli_put(c, stdout, x->m.model->output[i].name, 0);
    if (!v->is_float) {
        puts(": no floats");
        return;
    }
    puts("");
    put_part("hone", v->hone);
    if (x->peer) put_part(hone_peer_name(x->peer), v->peer);
    put_part(x->by_constants ? "constants moved" : "inputs moved", v->moved);
    if (x->peer && v->peer.rms > 0) printf("    %-20s %.2f\n", "hone / peer", v->hone.rms / v->peer.rms);
    if (v->amplification >= HONE_EXACTNESS_CHAOTIC)
        printf("    chaotic: it makes %.2g roundings of one, and what differs says nothing of who computed it\n",
               v->amplification);
}

static void put_text(const cli *c, const char *path, const exactness *x) {
    cli_put(c, stdout, path, 0);
    puts(": differences from double, as parts of the output's root mean square and of its largest element");
    cli_drawn_put(c, &x->drawn);
    for (int32_t i = 0; i < x->m.model->n_outputs; i++) put_output(c, x, i);
}

static void json_part(cli_json *j, const char *who, hone_exactness_part p) {
    cli_json_key(j, who);
    cli_json_object(j);
    cli_json_knumber(j, "rms", p.rms);
    cli_json_knumber(j, "largest", p.largest);
    cli_json_close(j);
}

static void put_json(cli *c, const char *path, const exactness *x) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "file", path);
    cli_json_ktext(&j, "peer_name", x->peer ? hone_peer_name(x->peer) : NULL);
    cli_json_kbool(&j, "by_constants", x->by_constants);
    cli_drawn_json(&j, &x->drawn);
    cli_json_key(&j, "outputs");
    cli_json_array(&j);
    for (int32_t i = 0; i < x->m.model->n_outputs; i++) {
        const hone_exactness_output *v = &x->output[i];
        cli_json_object(&j);
        cli_json_ktext(&j, "name", x->m.model->output[i].name);
        if (v->is_float) {
            json_part(&j, "hone", v->hone);
            if (x->peer) json_part(&j, "peer", v->peer);
            json_part(&j, "moved", v->moved);
            if (x->peer && v->peer.rms > 0) cli_json_knumber(&j, "ratio", v->hone.rms / v->peer.rms);
            cli_json_knumber(&j, "amplification", v->amplification);
            cli_json_kbool(&j, "chaotic", v->amplification >= HONE_EXACTNESS_CHAOTIC);
        }
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static hone_rc open_all(cli *c, const char *path, exactness *x, hone_err *err) {
    cli_compiling compiling;
    cli_arrays in = {0};
    cli_compiling_read(c, &compiling);
    hone_rc rc = cli_graph_open(path, &compiling, &x->graph, err);
    cli_compiling_free(&compiling);
    if (!rc && cli_given(c, "against"))
        rc = cli_peer_open(c, path, &x->peer, err);
    else if (!rc && cli_peer_open(c, path, &x->peer, NULL))
        x->peer = NULL; /* ONNX Runtime, where it is installed and the file is ONNX */
    if (!rc) rc = cli_drawn_of(c, x->graph, x->m.model, 1, &in, &x->drawn, err);
    cli_arrays_free(&in);
    return rc;
}

hone_rc cli_verify_exactness(cli *c, const char *path, hone_err *err) {
    exactness x = {0};
    hone_rc rc = cli_model_open(c, path, (uint32_t)cli_count(c, "threads", 0), &x.m, err);
    if (rc) return rc;
    hone_exactness_options options = hone_exactness_defaults();
    x.output = cli_alloc((size_t)x.m.model->n_outputs + 1, sizeof *x.output);
    rc = open_all(c, path, &x, err);
    options.peer = x.peer, options.sizes = cli_text(c, "size", NULL), options.n_inputs = cli_count(c, "inputs", 3);
    if (!rc) rc = hone_exactness_run(x.m.program, x.graph, &options, x.output, &x.by_constants, err);
    cli_model_unlink(&x.m);
    if (!rc && c->json)
        put_json(c, path, &x);
    else if (!rc)
        put_text(c, path, &x);
    cli_drawn_free(&x.drawn);
    hone_peer_close(x.peer);
    hone_graph_free(x.graph);
    free(x.output);
    cli_model_close(&x.m);
    return rc;
}
