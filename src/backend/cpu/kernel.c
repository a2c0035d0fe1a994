/* backend/cpu/kernel.c — a kernel's body as C: lowered to a loop nest, scheduled, written. */
#include "backend/cpu/nest_c.h"

#include <stdio.h>
#include <string.h>

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
            if (n->sv[x].kind == HN_SV_LOAD && hn_nest_constant(n, n->sv[x].buf) && n->buf[n->sv[x].buf].index == p)
                same = n->sv[x].at == at && n->sv[x].buf == p + 1;
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
        const char *type = hn_c_pointee(x);
        if (hn_nest_constant(n, b))
            hn_str_addf(out, "    const hnr_%s *%c%u = (const hnr_%s *)buf[%u];\n", type, hn_c_letter(x->space),
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

static void find_work(hn_nest *n, hn_kernel_code *out) {
    hn_dim work = hn_dim_int(n->dims, 1), e, *by = HN_NEW_N(n->a, hn_dim, HN_RANK_MAX + 4);
    uint32_t n_by = 0;
    hn_st at = n->first;
    while (at && (n->st[at].kind != HN_ST_LOOP || n->st[at].loop != HN_PARALLEL)) at = n->st[at].next;
    while (at) {
        if (n->st[at].kind == HN_ST_LET) {
            at = n->st[at].next;
            continue;
        }
        if (n->st[at].kind != HN_ST_LOOP || n->st[at].loop != HN_PARALLEL) break;
        if (hn_ix_is_dim(n, n->extent[n->st[at].var], &e)) {
            work = hn_dim_mul(n->dims, work, e);
            if (by && n_by < HN_RANK_MAX + 4) by[n_by++] = e;
        }
        at = n->st[at].body;
    }
    out->work = work;
    out->work_by = by;
    out->n_work_by = n_by;
}

static hone_rc write_c(hn_nest *n, const char *name, const hn_emit_how *how, const char *schedule, hn_kernel_code *out,
                       hone_err *err) {
    hn_str body = {0}, text = {0}, heads = {0}, folds = {0};
    hn_c c = {.n = n, .out = &body, .width = 1, .relaxed = how->relaxed, .indent = 1, .folds = &folds};
    c.fma = how->dialect->fma;
    c.vector_b = how->dialect->vector_b;
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
    find_work(n, out);
    out->schedule = schedule;
    return HONE_OK;
}

/* Are a device's figures those of a dialect's code? Of its own, and of those that lack single instructions. */
static bool fits_device(const hn_dialect *d, const hone_device *device) {
    const hn_dialect *own = hn_dialect_named(device->isa);
    if (own == d) return true;
    return own && own->processor && d->processor && !strcmp(own->processor, d->processor) &&
           own->vector_b == d->vector_b;
}

hn_machine hn_machine_of(const hn_dialect *d, const hone_device *device) {
    hone_device here;
    if (!device) hone_device_get(&here), device = &here;
    bool same = fits_device(d, device);
    hn_machine m = {.vector_b = d->vector_b, .registers = d->n_registers, .cores = device->n_cores};
    m.line_b = same && device->line_b ? (int64_t)device->line_b : 64;
    m.l1d_b = same && device->l1d_b ? (int64_t)device->l1d_b : 32 << 10;
    m.l1d_ways = same && device->l1d_ways ? (int64_t)device->l1d_ways : 8;
    m.l2_b = same && device->l2_b ? (int64_t)device->l2_b : 512 << 10;
    m.l3_b = same && device->l3_b ? (int64_t)device->l3_b : 8 << 20;
    m.f32_flops = same ? device->f32_flops : 0;
    m.l2_bps = same ? device->l2_bps : 0;
    m.l3_bps = same ? device->l3_bps : 0;
    m.memory_bps = same ? device->memory_bps : 0;
    m.fma = d->fma;
    return m;
}

/* One try: lowered, scheduled, checked, written. E_UNSUPPORTED: another sketch may do. */
static hone_rc emit_with(hn_graph *g, hn_block body, const char *kind, const char *name, const hn_emit_how *how,
                         const hn_sketch *s, hn_arena *a, hn_kernel_code *out, hone_err *err) {
    hn_nest *n;
    hn_kernel_code code = {0};
    hn_knobs knobs = {0};
    int64_t setting[HN_KNOBS_MAX] = {0};
    char text[HN_SKETCH_TEXT_MAX];
    const char *why = "";
    hone_rc rc = hn_nest_lower(g, body, kind, a, &n, err);
    if (rc) return rc;
    bool fits = s->fits(n, &how->machine, &knobs);
    if (!fits) return hn_fail(err, how->schedule ? HONE_E_INPUT : HONE_E_UNSUPPORTED, "'%s' does not fit", s->name);
    if ((rc = hn_sketch_read(how->schedule ? how->schedule : s->name, s, &knobs, setting, err))) return rc;
    code.in_place = in_place(n, g, body);
    if (!s->apply(n, &how->machine, setting, &why)) return hn_fail(err, HONE_E_UNSUPPORTED, "%s: %s", s->name, why);
    if (n->repeats) code.in_place = 0;
    if ((rc = hn_nest_verify(n, err)) == HONE_E_INPUT) rc = HONE_E_UNSUPPORTED; /* ours to mend; the reference serves */
    if (rc) return rc;
    hn_sketch_text(s, &knobs, setting, text);
    rc = write_c(n, name, how, hn_strdup(a, text), &code, err);
    if (rc == HONE_OK) *out = code;
    return rc;
}

hone_rc hn_emit_kernel(hn_graph *g, hn_block body, const char *kind, const char *name, const hn_emit_how *how,
                       hn_arena *a, hn_kernel_code *out, hone_err *err) {
    const char *want = how->schedule;
    if (want) {
        const hn_sketch *s = hn_sketch_named(want, strcspn(want, " "));
        if (!s) return hn_fail(err, HONE_E_INPUT, "there is no schedule '%.*s'", (int)strcspn(want, " "), want);
        return emit_with(g, body, kind, name, how, s, a, out, err);
    }
    hone_rc rc = HONE_E_UNSUPPORTED;
    for (size_t i = 0; hn_sketches[i] && rc == HONE_E_UNSUPPORTED; i++)
        rc = emit_with(g, body, kind, name, how, hn_sketches[i], a, out, err);
    return rc;
}

size_t hn_emit_sketches(hn_graph *g, hn_block body, const char *kind, const hn_emit_how *how, hn_arena *a,
                        hn_sketch_fit *list, size_t room) {
    size_t count = 0;
    hone_err ignored = {0};
    hn_nest *n;
    if (hn_nest_lower(g, body, kind, a, &n, &ignored)) return 0;
    for (size_t i = 0; hn_sketches[i] && count < room; i++) {
        list[count] = (hn_sketch_fit){.sketch = hn_sketches[i]};
        if (hn_sketches[i]->fits(n, &how->machine, &list[count].knobs)) count++;
    }
    return count;
}
