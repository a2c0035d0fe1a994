/* backend/gpu/print.c — a scheduled nest as a device's kernel: its head, its buffers, then its body. */
#include "backend/gpu/print.h"

#include <string.h>

/* Shared memory that CUDA's kernels declare: more is asked for at the launch. For folds: HNR_FOLD_ROOM of c_fold.h. */
enum { DECLARED_MOST_B = 48 << 10, FOLDS_B = 32 * 8 };

void hn_gpu_add_head(hn_str *out, const hn_gpu_head *h) {
    if (h->device->cluster)
        hn_str_addf(out, "HNR_KERNEL_OF_CLUSTERS(%s, %d, %d)(", h->name, h->threads, h->device->cluster);
    else
        hn_str_addf(out, "HNR_KERNEL(%s, %d)(", h->name, h->threads);
    for (uint32_t i = 0; i < h->n_buf; i++) hn_str_addf(out, "HNR_MEM(b%u), ", i);
    for (uint32_t i = 0; i < h->device->n_symbol; i++)
        hn_str_addf(out, "int64_t %s%u, ", h->symbol, h->device->symbol[i]);
    hn_str_add(out, "int64_t begin, int64_t end, HNR_MEM(scratch), HNR_MEM(fail)) {\n"
                    "    HNR_GLOBAL int64_t *const s = (HNR_GLOBAL int64_t *)HNR_AT(fail);\n    (void)s;\n");
}

/* Of the kernel's own arrays, or, at `at`, of the array that the launch makes. */
static void shared_buffer(const hn_gp *c, hn_str *out, hn_buf b, int64_t *at) {
    const hn_nbuf *x = &c->n->buf[b];
    const char *type = hn_buf_pointee(x);
    int64_t elements = 1;
    hn_dim_is_int(c->n->dims, x->size, &elements);
    if (c->pool)
        hn_str_addf(out, "    hnr_%s *const s%u = (hnr_%s *)(pool + %lld);\n", type, x->index, type, (long long)*at);
    else
        hn_str_addf(out, "    HNR_SHARED hnr_%s s%u[%lld] HNR_ALIGNED;\n", type, x->index,
                    (long long)(elements > 0 ? elements : 1));
    *at += hn_shared_room_b(elements, x->dtype);
}

/* Pointers to buffers; locals one after the other in the scratch of a thread, aligned to 64. Gives the size. */
static hn_dim buffers(hn_gp *c, hn_str *out) {
    hn_nest *n = c->n;
    hn_dim used = hn_dim_int(n->dims, 0), line = hn_dim_int(n->dims, 64);
    int64_t shared = 0;
    hn_str at = {0};
    if (c->pool) hn_str_add(out, "    HNR_POOL(pool);\n");
    for (hn_buf b = 1; b < n->n_buf; b++) {
        const hn_nbuf *x = &n->buf[b];
        const char *type = hn_buf_pointee(x);
        if (hn_nest_constant(n, b))
            hn_str_addf(out, "    const HNR_GLOBAL hnr_%s *const %c%u = (const HNR_GLOBAL hnr_%s *)HNR_AT(b%u);\n",
                        type, hn_buf_letter(x->space), x->index, type, x->index);
        else if (x->space == HN_RESULT)
            hn_str_addf(out, "    HNR_GLOBAL hnr_%s *const r%u = (HNR_GLOBAL hnr_%s *)HNR_AT(b%u);\n", type, x->index,
                        type, n->n_in + x->index);
        if (x->space == HN_SHARED) shared_buffer(c, out, b, &shared);
        int64_t slots;
        if (x->space == HN_GATE && hn_dim_is_int(n->dims, x->size, &slots))
            hn_str_addf(out, "    HNR_SHARED uint64_t g%u[%lld];\n", x->index, (long long)slots);
        if (x->space != HN_LOCAL) continue;
        hn_str_addf(&at, "    HNR_GLOBAL hnr_%s *const t%u = (HNR_GLOBAL hnr_%s *)(own + ", type, x->index, type);
        hn_gp_dim(c, &at, used);
        hn_str_add(&at, ");\n");
        hn_dim size_b = hn_dim_mul(n->dims, x->size, hn_dim_int(n->dims, hn_dtype_of(x->dtype)->size_b));
        used = hn_dim_add(n->dims, used, hn_dim_mul(n->dims, hn_dim_ceildiv(n->dims, size_b, line), line));
    }
    if (at.n) {
        hn_str_addf(out, "    HNR_GLOBAL char *const own = HNR_AT(scratch) + %s * ",
                    c->group ? "HNR_BLOCK" : "HNR_ITEM");
        hn_gp_dim(c, out, used);
        hn_str_add(out, ";\n");
        hn_str_add(out, at.text);
    }
    if (c->folds) hn_str_addf(out, "    HNR_SHARED uint64_t room[HNR_FOLD_ROOM(%lld)];\n", (long long)c->n_threads);
    hn_str_free(&at);
    return used;
}

static bool set_up(hn_gp *c) {
    hn_nest *n = c->n;
    c->sv_mask = HN_NEW_N(n->a, uint32_t, n->n_sv);
    c->uses = HN_NEW_N(n->a, uint32_t, n->n_sv);
    c->inlined = HN_NEW_N(n->a, bool, n->n_sv);
    c->buf_mask = HN_NEW_N(n->a, uint32_t, n->n_buf);
    c->symbol = HN_NEW_N(n->a, uint32_t, hn_dims_symbols(n->dims) + 1);
    c->is_used = HN_NEW_N(n->a, bool, hn_dims_symbols(n->dims) + 1);
    return hn_arena_ok(n->a);
}

hone_rc hn_gpu_print(hn_nest *n, const char *name, const hn_emit_how *how, hn_kernel_code *out, hone_err *err) {
    hn_str body = {0}, text = {0}, heads = {0};
    hn_gp c = {.n = n,
               .out = &body,
               .indent = 1,
               .mma = how->dialect->rank >= 80,
               .clusters = how->dialect->rank >= HN_GPU_CLUSTERS_RANK};
    if (!set_up(&c)) return hn_fail(err, HONE_E_NOMEM, "out of memory in writing kernel '%s'", name);
    if (!hn_gp_nest(&c)) {
        hn_str_free(&body);
        return hn_fail(err, HONE_E_UNSUPPORTED, "%s", c.why ? c.why : "the nest has no form on a device");
    }
    c.pool = hn_nest_shared_b(n) + FOLDS_B > DECLARED_MOST_B && how->dialect->rank > 0;
    hn_dim scratch = buffers(&c, &heads);
    int threads = c.group ? (int)c.n_threads : HN_GPU_THREADS;
    out->device =
        (hn_device_code){.threads = threads, .block_items = c.group, .symbol = c.symbol, .n_symbol = c.n_symbol};
    out->device.shared_b = c.group ? hn_nest_shared_b(n) + (c.folds && !c.pool ? 8 * c.n_threads : 0) : 0;
    out->device.shared_dynamic = c.pool;
    out->device.cluster = c.cluster > 1 ? (int)c.cluster : 0;
    const hn_gpu_head head = {name, n->n_in + n->n_out, threads, "s_", &out->device};
    hn_gpu_add_head(&text, &head);
    hn_str_add(&text, heads.text ? heads.text : "");
    hn_str_add(&text, body.text ? body.text : "");
    hn_str_add(&text, "}\n");
    bool failed = text.failed || body.failed || heads.failed;
    out->text = failed ? NULL : hn_strdup(n->a, text.text);
    hn_str_free(&body);
    hn_str_free(&text);
    hn_str_free(&heads);
    if (!out->text) return hn_fail(err, HONE_E_NOMEM, "out of memory in writing kernel '%s'", name);
    out->helpers = hn_format(n->a, "base%s%s%s", c.part_convert ? " convert" : "",
                             c.part_scalar || c.folds ? " scalar" : "", c.folds ? " fold" : "");
    out->scratch_b = scratch;
    return HONE_OK;
}
