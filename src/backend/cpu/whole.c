/* backend/cpu/whole.c — kernels that are no loop nests but calls of the runtime: products with packed weights,
 * attention over keys and values in blocks, and convolutions by fewer multiplications, which have a nest besides. Their
 * schedules are names with knobs, too, so that they are tuned as others are; without knobs there is still the compiler,
 * and its flags. */
#include "backend/cpu/cpu.h"

static const hn_sketch whole_packed = {"packed", "products with packed weights, made for the codec", NULL, NULL};
static const hn_sketch whole_attend = {"attend", "attention over blocks of keys and values", NULL, NULL};
static const hn_sketch whole_winograd = {HN_WINOGRAD_SCHEDULE, "windows of 3 x 3 by fewer multiplications", NULL, NULL};

/* The body's only node, constants left out, which is attention that gives the result. */
static bool is_attend(const hn_graph *g, hn_block body) {
    const hn_blk *b = &g->block[body];
    const hn_node *n = b->n_node == 1 ? &g->node[b->node[0]] : NULL;
    return n && n->op == HN_OP_ATTEND && b->n_result == 1 && b->result[0] == n->out[0];
}

bool hn_cpu_whole_fit(const hn_graph *g, hn_block body, const hn_machine *m, hn_sketch_fit *out) {
    *out = (hn_sketch_fit){0};
    if (hn_cpu_is_packed(g, body)) {
        out->sketch = &whole_packed;
    } else if (is_attend(g, body)) {
        out->sketch = &whole_attend;
        hn_cpu_attend_knobs(&out->knobs);
    } else if (hn_cpu_winograd_fit(g, body, m, &out->knobs, &out->first)) {
        out->sketch = &whole_winograd;
        out->beside = true;
    }
    return out->sketch != NULL;
}

/* Is the form wanted: by name, or because it is the first choice? */
static bool is_wanted(const hn_sketch_fit *fit, const hn_emit_how *how) {
    if (!fit->beside) return true;
    return how->schedule ? hn_is_winograd(how->schedule) : fit->first && !how->direct;
}

hone_rc hn_cpu_whole(hn_graph *g, hn_block body, const char *name, const hn_emit_how *how, hn_arena *a,
                     hn_kernel_code *out, hone_err *err) {
    hn_sketch_fit fit;
    int64_t setting[HN_KNOBS_MAX] = {0};
    char text[HN_SKETCH_TEXT_MAX];
    if (!hn_cpu_whole_fit(g, body, &how->machine, &fit) || !is_wanted(&fit, how)) return HONE_E_UNSUPPORTED;
    hone_rc rc = hn_sketch_read(how->schedule ? how->schedule : fit.sketch->name, fit.sketch, &fit.knobs, setting, err);
    if (rc) return rc;
    hn_sketch_text(fit.sketch, &fit.knobs, setting, text);
    rc = fit.sketch == &whole_packed   ? hn_cpu_packed(g, body, name, a, out, err)
         : fit.sketch == &whole_attend ? hn_cpu_attend(g, body, name, setting, a, out, err)
                                       : hn_cpu_winograd(g, body, name, setting, a, out, err);
    if (!rc) out->schedule = hn_strdup(a, text);
    return rc || out->schedule ? rc : hn_fail(err, HONE_E_NOMEM, "out of memory in writing kernel '%s'", name);
}
