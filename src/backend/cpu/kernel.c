/* backend/cpu/kernel.c — a scheduled nest as a C function: what its body uses, then the body. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/nest_c.h"

/* Pointers to buffers; locals one after the other in scratch, aligned to 64. Gives the size of scratch. */
static hn_dim buffers(hn_c *c, hn_str *out) {
    hn_nest *n = c->n;
    hn_dim used = hn_dim_int(n->dims, 0), line = hn_dim_int(n->dims, 64);
    for (hn_buf b = 1; b < n->n_buf; b++) {
        const hn_nbuf *x = &n->buf[b];
        const char *type = hn_buf_pointee(x);
        if (hn_nest_constant(n, b))
            hn_str_addf(out, "    const hnr_%s *%c%u = (const hnr_%s *)buf[%u];\n", type, hn_buf_letter(x->space),
                        x->index, type, x->index);
        else if (x->space == HN_RESULT)
            hn_str_addf(out, "    hnr_%s *r%u = (hnr_%s *)buf[%u];\n", type, x->index, type, n->n_in + x->index);
        if (x->space != HN_LOCAL) continue;
        hn_str_addf(out, "    hnr_%s *t%u = (hnr_%s *)(scratch + ", type, x->index, type);
        hn_c_dim(c, out, used);
        hn_str_add(out, ");\n");
        hn_dim size_b = hn_dim_mul(n->dims, x->size, hn_dim_int(n->dims, hn_dtype_of(x->dtype)->size_b));
        used = hn_dim_add(n->dims, used, hn_dim_mul(n->dims, hn_dim_ceildiv(n->dims, size_b, line), line));
    }
    return used;
}

static void add_symbols(const hn_c *c, hn_str *out) {
    for (uint32_t i = 0; i < hn_dims_symbols(c->n->dims); i++)
        for (uint32_t k = 0; k < c->n_symbol; k++)
            if (c->symbol[k] == i) hn_str_addf(out, "    const int64_t s_%u = s[%u];\n", i, i);
}

hone_rc hn_cpu_print(hn_nest *n, const char *name, const hn_emit_how *how, hn_kernel_code *out, hone_err *err) {
    hn_str body = {0}, text = {0}, heads = {0}, folds = {0};
    hn_c c = {.n = n, .out = &body, .width = 1, .relaxed = how->relaxed, .indent = 1, .folds = &folds};
    c.fma = how->dialect->fma;
    c.vector_b = how->dialect->vector_b;
    c.sv_mask = HN_NEW_N(n->a, uint32_t, n->n_sv);
    c.uses = HN_NEW_N(n->a, uint32_t, n->n_sv);
    c.inlined = HN_NEW_N(n->a, bool, n->n_sv);
    c.late = HN_NEW_N(n->a, uint8_t, n->n_sv);
    c.buf_mask = HN_NEW_N(n->a, uint32_t, n->n_buf);
    c.chunked = HN_NEW_N(n->a, uint16_t, n->n_buf);
    c.symbol = HN_NEW_N(n->a, uint32_t, hn_dims_symbols(n->dims));
    c.is_used = HN_NEW_N(n->a, bool, hn_dims_symbols(n->dims));
    if (!hn_arena_ok(n->a)) return hn_fail(err, HONE_E_NOMEM, "out of memory in writing kernel '%s'", name);
    if (!hn_c_nest(&c)) {
        hn_str_free(&body);
        hn_str_free(&folds);
        return hn_fail(err, HONE_E_UNSUPPORTED, "%s", c.why ? c.why : "the nest has no form in C");
    }
    hn_dim scratch = buffers(&c, &heads);
    if (c.clears && c.widths < 2) hn_c_prelude_once(&text);
    for (int width = 1; width <= 1024; width *= 2)
        if (c.widths & (uint32_t)width) hn_c_prelude(&text, width, c.math);
    hn_str_add(&text, folds.text ? folds.text : "");
    hn_str_addf(&text, HN_KERNEL_HEAD, name);
    hn_str_add(&text, "    (void)buf, (void)s, (void)scratch;\n");
    add_symbols(&c, &text);
    hn_str_add(&text, heads.text ? heads.text : "");
    hn_str_add(&text, body.text ? body.text : "");
    hn_str_add(&text, "}\n");
    bool failed = folds.failed || text.failed || body.failed || heads.failed;
    out->text = failed ? NULL : hn_strdup(n->a, text.text);
    hn_str_free(&body);
    hn_str_free(&text);
    hn_str_free(&heads);
    hn_str_free(&folds);
    if (!out->text) return hn_fail(err, HONE_E_NOMEM, "out of memory in writing kernel '%s'", name);
    out->helpers = "base convert scalar";
    out->scratch_b = scratch;
    return HONE_OK;
}
