/* emit/kernel.c — a kernel's body as C: lowered to a loop nest, scheduled, written. */
#include "emit/nest_c.h"
#include "loop/schedule.h"

#include <stdio.h>
#include <string.h>

/* Elements per vector: by the widest float type in the nest, else by 32 bits. */
static int lanes_of(const hn_nest *n, const hn_dialect *d) {
    int size_b = 4;
    for (hn_sv x = 1; x < n->n_sv; x++)
        if (n->sv[x].dtype == HONE_F64) size_b = 8;
    return d->vector_b >= 2 * size_b ? d->vector_b / size_b : 1;
}

/* Result 0 may take the memory of a parameter of its type that is read only at the element being written. */
static uint64_t in_place(const hn_nest *n, hn_graph *g, hn_block body) {
    const hn_blk *b = &g->block[body];
    uint64_t may = 0;
    hn_ix at = 0;
    if (b->n_result != 1) return 0;
    for (hn_st s = 1; s < n->n_st; s++) {
        if (n->st[s].kind != HN_ST_STORE || n->buf[n->st[s].buf].space != HN_RESULT) continue;
        if (at && at != n->st[s].at) return 0;
        at = n->st[s].at;
    }
    for (uint32_t p = 0; p < b->n_param && p < 64; p++) {
        if (!hn_type_same(g, hn_type_of(g, b->param[p]), hn_type_of(g, b->result[0]))) continue;
        bool same = true;
        for (hn_sv x = 1; x < n->n_sv && same; x++)
            if (n->sv[x].kind == HN_SV_LOAD && n->sv[x].buf == p + 1) same = n->sv[x].at == at;
        if (same) may |= UINT64_C(1) << p;
    }
    return may;
}

static void symbols(const hn_nest *n, hn_str *out, const char *body) {
    for (size_t k = 0; k < hn_dims_symbols(n->dims); k++) {
        char name[32];
        snprintf(name, sizeof name, "s_%zu", k);
        size_t len = strlen(name);
        for (const char *at = strstr(body, name); at; at = strstr(at + 1, name)) {
            if (at[len] >= '0' && at[len] <= '9') continue;
            hn_str_addf(out, "    const int64_t %s = s[%zu];\n", name, k);
            break;
        }
    }
}

/* Pointers to buffers; locals one after the other in scratch, aligned to 64. Gives the size of scratch. */
static hn_dim buffers(hn_c *c, hn_str *out) {
    hn_nest *n = c->n;
    hn_dim used = hn_dim_int(n->dims, 0), line = hn_dim_int(n->dims, 64);
    for (hn_buf b = 1; b < n->n_buf; b++) {
        const hn_nbuf *x = &n->buf[b];
        const char *type = hn_dtype_of(x->dtype)->text;
        if (x->space == HN_PARAM)
            hn_str_addf(out, "    const hnr_%s *p%u = (const hnr_%s *)buf[%u];\n", type, x->index, type, x->index);
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

static hn_dim work_of(hn_nest *n) {
    hn_dim work = hn_dim_int(n->dims, 1), e;
    hn_st at = n->first;
    while (at && (n->st[at].kind != HN_ST_LOOP || n->st[at].loop != HN_PARALLEL)) at = n->st[at].next;
    while (at) {
        if (n->st[at].kind == HN_ST_LET) {
            at = n->st[at].next;
            continue;
        }
        if (n->st[at].kind != HN_ST_LOOP || n->st[at].loop != HN_PARALLEL) break;
        if (hn_ix_is_dim(n, n->extent[n->st[at].var], &e)) work = hn_dim_mul(n->dims, work, e);
        at = n->st[at].body;
    }
    return work;
}

static hone_rc write_c(hn_nest *n, const char *name, const hn_dialect *d, bool relaxed, const char *schedule,
                       hn_kernel_code *out, hone_err *err) {
    hn_str body = {0}, text = {0}, heads = {0}, folds = {0};
    hn_c c = {.n = n, .out = &body, .width = 1, .relaxed = relaxed, .indent = 1, .folds = &folds};
    c.fma = !strcmp(d->name, "x86-64-v3") || !strcmp(d->name, "x86-64-v4") || !strcmp(d->name, "aarch64");
    c.sv_mask = HN_NEW_N(n->a, uint32_t, n->n_sv);
    c.uses = HN_NEW_N(n->a, uint32_t, n->n_sv);
    c.inlined = HN_NEW_N(n->a, bool, n->n_sv);
    c.buf_mask = HN_NEW_N(n->a, uint32_t, n->n_buf);
    c.chunked = HN_NEW_N(n->a, uint16_t, n->n_buf);
    if (!hn_arena_ok(n->a)) return hn_fail(err, HONE_E_NOMEM, "out of memory in writing kernel '%s'", name);
    if (!hn_c_nest(&c)) {
        hn_str_free(&body);
        hn_str_free(&folds);
        return hn_fail(err, HONE_E_UNSUPPORTED, "%s", c.why ? c.why : "the nest has no form in C");
    }
    hn_dim scratch = buffers(&c, &heads);
    for (int width = 1; width <= 1024; width *= 2)
        if (c.widths & (uint32_t)width) hn_c_prelude(&text, width, c.math);
    hn_str_add(&text, folds.text ? folds.text : "");
    hn_str_addf(&text,
                "static void %s(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch) {\n",
                name);
    hn_str_add(&text, "    (void)buf, (void)s, (void)scratch;\n");
    hn_str both = {0};
    hn_str_add(&both, heads.text ? heads.text : "");
    hn_str_add(&both, body.text ? body.text : "");
    symbols(n, &text, both.text ? both.text : "");
    hn_str_add(&text, both.text ? both.text : "");
    hn_str_add(&text, "}\n");
    bool failed = folds.failed || text.failed || body.failed || heads.failed || both.failed;
    out->text = failed ? NULL : hn_strdup(n->a, text.text);
    hn_str_free(&body);
    hn_str_free(&text);
    hn_str_free(&heads);
    hn_str_free(&both);
    hn_str_free(&folds);
    if (!out->text) return hn_fail(err, HONE_E_NOMEM, "out of memory in writing kernel '%s'", name);
    out->helpers = "base convert scalar";
    out->scratch_b = scratch;
    out->work = work_of(n);
    out->schedule = schedule;
    return HONE_OK;
}

hone_rc hn_emit_kernel(hn_graph *g, hn_block body, const char *kind, const char *name, const hn_dialect *d,
                       bool relaxed, hn_arena *a, hn_kernel_code *out, hone_err *err) {
    hn_nest *n;
    hn_kernel_code code = {0};
    hone_rc rc = hn_nest_lower(g, body, kind, a, &n, err);
    if (rc != HONE_OK) return rc;
    code.in_place = in_place(n, g, body);
    const char *how = hn_schedule_default(n, lanes_of(n, d), d->n_registers);
    const char *schedule = hn_format(a, "%s %s", kind, how);
    if ((rc = hn_nest_verify(n, err)) == HONE_E_INPUT) rc = HONE_E_UNSUPPORTED; /* ours to mend; the reference serves */
    if (rc != HONE_OK) return rc;
    rc = write_c(n, name, d, relaxed, schedule, &code, err);
    if (rc == HONE_OK) *out = code;
    return rc;
}
