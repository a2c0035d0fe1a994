/* backend/gpu/reference.c — bodies node by node in a device's language: the text of backend/cpu/reference*.c, each work
 * item a thread's, that of attention a block's. */
#include "backend/cpu/reference_int.h"
#include "backend/gpu/gpu.h"

static hn_device_code device_of(hn_ref *e) {
    size_t n = hn_dims_symbols(e->g->dims);
    uint32_t *symbol = HN_NEW_N(e->a, uint32_t, n + 1), n_symbol = 0;
    for (size_t i = 0; symbol && i < n; i++)
        if (e->used[i]) symbol[n_symbol++] = (uint32_t)i;
    return (hn_device_code){.threads = e->shared ? e->threads : HN_GPU_THREADS,
                            .block_items = e->shared != NULL,
                            .shared_b = e->shared_b,
                            .symbol = symbol,
                            .n_symbol = n_symbol};
}

static void assemble(hn_ref *e, const char *name, hn_str *out, hn_kernel_code *code) {
    uint32_t n_defined = 0;
    for (uint32_t i = 0; i < e->body->n_node; i++) n_defined += hn_defines_sizes(&e->g->node[e->body->node[i]]);
    const char *scratch_b = hn_ref_dim(e, e->scratch);
    code->device = device_of(e);
    const hn_gpu_head head = {name, e->body->n_param + e->body->n_result + n_defined, code->device.threads, "s",
                              &code->device};
    const char *item = e->shared ? "HNR_BLOCK" : "HNR_ITEM";
    hn_str_add(out, e->tables.text ? e->tables.text : "");
    hn_gpu_add_head(out, &head);
    hn_ref_add_indented(out, e->shared ? e->shared : "");
    hn_str_addf(out, "    HNR_GLOBAL char *const own = HNR_AT(scratch) + %s * %s;\n", item, scratch_b);
    hn_str_addf(out, "    for (int64_t w = begin + %s; w < end; w += %sS) {\n", item, item);
    hn_str_add(out, "    const int64_t begin = w, end = w + 1;\n"
                    "    HNR_GLOBAL char *const scratch = own;\n    (void)begin, (void)end;\n");
    hn_ref_add_indented(out, e->text.text ? e->text.text : "");
    hn_str_add(out, "    }\n}\n");
}

static const hn_ref_language language = {true,          "HNR_GLOBAL ",      "HNR_CONSTANT const ",
                                         "HNR_TABLE ",  {"HNR_MAKE(", ")"}, assemble,
                                         hn_gpu_attend, hn_gpu_attend_work, NULL};

hone_rc hn_gpu_reference(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out,
                         hone_err *err) {
    return hn_reference(g, body, name, &language, a, out, err);
}
