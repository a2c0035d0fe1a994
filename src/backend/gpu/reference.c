/* backend/gpu/reference.c — bodies node by node in a device's language: the text of backend/cpu/reference*.c, each work
 * item a thread's. What has no such form is listed here, with the reason. */
#include "backend/cpu/reference_int.h"
#include "backend/gpu/gpu.h"

static hn_device_code device_of(hn_ref *e) {
    size_t n = hn_dims_symbols(e->g->dims);
    uint32_t *symbol = HN_NEW_N(e->a, uint32_t, n + 1), n_symbol = 0;
    for (size_t i = 0; symbol && i < n; i++)
        if (e->used[i]) symbol[n_symbol++] = (uint32_t)i;
    return (hn_device_code){.threads = HN_GPU_THREADS, .symbol = symbol, .n_symbol = n_symbol};
}

static void assemble(hn_ref *e, const char *name, hn_str *out, hn_kernel_code *code) {
    uint32_t n_defined = 0;
    for (uint32_t i = 0; i < e->body->n_node; i++) n_defined += hn_defines_sizes(&e->g->node[e->body->node[i]]);
    const char *scratch_b = hn_ref_dim(e, e->scratch);
    code->device = device_of(e);
    const hn_gpu_head head = {name, e->body->n_param + e->body->n_result + n_defined, HN_GPU_THREADS, "s",
                              &code->device};
    hn_str_add(out, e->tables.text ? e->tables.text : "");
    hn_gpu_add_head(out, &head);
    hn_str_addf(out, "    HNR_GLOBAL char *const own = HNR_AT(scratch) + HNR_ITEM * %s;\n", scratch_b);
    hn_str_add(out, "    for (int64_t w = begin + HNR_ITEM; w < end; w += HNR_ITEMS) {\n"
                    "    const int64_t begin = w, end = w + 1;\n"
                    "    HNR_GLOBAL char *const scratch = own;\n    (void)begin, (void)end;\n");
    hn_ref_add_indented(out, e->text.text ? e->text.text : "");
    hn_str_add(out, "    }\n}\n");
}

static const hn_ref_language language = {true,         "HNR_GLOBAL ",      "HNR_CONSTANT const ",
                                         "HNR_TABLE ", {"HNR_MAKE(", ")"}, assemble};

const hn_gpu_missing hn_gpu_on_host[] = {
    {HN_OP_ATTEND, "blocks of keys found by a table, on vectors of the processor"},
    {HN_N_OPS, NULL},
};

hone_rc hn_gpu_reference(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out,
                         hone_err *err) {
    const hn_blk *b = &g->block[body];
    for (uint32_t i = 0; i < b->n_node; i++)
        for (const hn_gpu_missing *m = hn_gpu_on_host; m->why; m++)
            if (g->node[b->node[i]].op == m->op)
                return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' runs on the host: %s", hn_op_of(m->op)->text, m->why);
    return hn_reference(g, body, name, &language, a, out, err);
}
