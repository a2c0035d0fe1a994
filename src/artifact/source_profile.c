/* source_profile.c — what a build that times its kernels has more: a note around every launch, and the table of calls.
 * Operations and bytes are expressions over the symbols, so that every run knows its own. */
#include "artifact/artifact.h"

static void add_amount(const hn_model *m, hn_dim d, hn_str *out) {
    if (d) {
        hn_str_add(out, "(double)");
        hn_dim_c(m->g->dims, d, out);
    } else {
        hn_str_add(out, "0."); /* too long an expression */
    }
}

uint32_t hn_source_n_calls(const hn_model *m) {
    return m->n_uses + (m->options->profile ? hn_program_crossings(&m->program, NULL, 0) : 0);
}

uint32_t hn_source_n_kernels(const hn_model *m, uint32_t n) {
    return m->options->profile && hn_is_on_device(m->dialect) ? n + 2 : n;
}

void hn_source_copy_rows(const hn_model *m, hn_str *out) {
    if (hn_source_n_kernels(m, 0))
        hn_str_add(out, "    {\"to device\", \"\", \"copy\", \"\", NULL},\n"
                        "    {\"to host\", \"\", \"copy\", \"\", NULL},\n");
}

/* Own kernels of all versions of a model's target: the copies' stand behind them. */
static uint32_t own_kernels(const hn_model *m) {
    uint32_t n = 0;
    for (uint32_t v = 0; v < m->lib->n_version; v++) {
        const hn_model *x = &m->lib->model[m->target * m->lib->n_version + v];
        for (uint32_t i = 0; i < x->n_kernel; i++) n += x->kernel[i].same == NULL;
    }
    return n;
}

/* On a device a queue has to be empty before a time is taken. */
static void add_wait(const hn_model *m, hn_str *out) {
    if (hn_is_on_device(m->dialect)) hn_str_add(out, "      hnd_sync(m->c->stream);\n");
}

void hn_source_time_begin(void *model, uint32_t launch, hn_str *out) {
    (void)launch;
    add_wait(model, out);
    hn_str_add(out, "      const int64_t begin_ns = hnm_now_ns();\n");
}

void hn_source_copy_end(void *model, uint32_t copy, const char *bytes, hn_str *out) {
    const hn_model *m = model;
    hn_str_addf(out, "      hnm_note(m, %u, begin_ns, 0., (double)(%s));\n", m->n_uses + copy, bytes);
}

void hn_source_time_end(void *model, uint32_t launch, hn_str *out) {
    const hn_model *m = model;
    const hn_cost *c = &m->kernel[m->kernel_of[m->call[launch]] - 1].cost;
    add_wait(m, out);
    hn_str_addf(out, "      hnm_note(m, %u, begin_ns, ", launch);
    add_amount(m, c->flops, out);
    hn_str_add(out, ", ");
    add_amount(m, c->read_b, out);
    hn_str_add(out, " + ");
    add_amount(m, c->write_b, out);
    hn_str_add(out, ");\n");
}

/* What most of its operations are on: u8 in products of bytes, f64, else f32 (whose peak bounds the others, too). */
static hone_dtype computes_in(const hn_graph *g, const hn_node *kernel) {
    const hn_blk *b = &g->block[hn_attr_get(kernel, HN_A_BODY)->blocks[0]];
    for (uint32_t i = 0; i < b->n_node; i++) {
        const hn_node *n = &g->node[b->node[i]];
        bool product = n->op == HN_OP_CONTRACT || n->op == HN_OP_CONV;
        if (product && hn_type_of(g, n->in[0])->dtype == HONE_U8 && hn_type_of(g, n->in[1])->dtype == HONE_I8)
            return HONE_U8;
    }
    return kernel->n_out && hn_type_of(g, kernel->out[0])->dtype == HONE_F64 ? HONE_F64 : HONE_F32;
}

static void add_call(const hn_model *m, const hn_node *n, const hn_kernel *k, hn_str *out) {
    hn_str shape = {0};
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (i) hn_str_add(&shape, ", ");
        hn_type_print(m->g, hn_type_of(m->g, n->out[i]), &shape);
    }
    hn_str_addf(out, "    {%u, %u, %d, ", m->version, k->index, (int)computes_in(m->g, n));
    hn_str_add_c(out, k->kind);
    hn_str_add(out, ", ");
    hn_str_add_c(out, n->source && n->source <= m->g->n_source ? m->g->source[n->source - 1] : "");
    hn_str_add(out, ", ");
    hn_str_add_c(out, shape.text);
    hn_str_add(out, "},\n");
    out->failed = out->failed || shape.failed;
    hn_str_free(&shape);
}

void hn_source_calls(const hn_model *m, hn_str *out) {
    for (uint32_t i = 0; i < m->n_uses; i++)
        add_call(m, &m->g->node[m->call[i]], &m->kernel[m->kernel_of[m->call[i]] - 1], out);
    uint32_t n = hn_source_n_calls(m) - m->n_uses;
    const hn_step **copy = hn_alloc_n((hn_arena *)&m->arena, n + 1, sizeof *copy);
    if (copy && n) hn_program_crossings(&m->program, copy, n);
    for (uint32_t i = 0; copy && i < n; i++) {
        const hn_program_value *to = &m->program.value[hn_program_root(&m->program, copy[i]->out[0])];
        hn_str_addf(out, "    {%u, %u, %d, \"copy\", \"\", \"%%%u of the program\"},\n", m->version,
                    own_kernels(m) + (to->space == HN_HOST), (int)HONE_F32, copy[i]->in[0]);
    }
}

void hn_source_profile(const hn_model *m, hn_str *out) {
    if (!m->options->profile) return;
    hn_str_add(out, "static const hone_model_call hnm_calls[HNM_CALLS + 1] = {\n");
    hn_source_calls(m, out);
    hn_str_add(out, "    {0},\n};\n"
                    "static const hone_model_profile hnm_profile = {HNM_CALLS, hnm_calls, hnm_times};\n");
}
