/* Copies to shared memory and products of tiles, as nests that no sketch makes by itself: each row of nest/mma.def
 * printed as CUDA C, run on the shim, against its scalar reference; OpenCL copies as well and refuses products. */
#include "backend/device_lab.h"
#include "nest/barrier.h"
#include "nest/mma.h"

#include <math.h>

enum { LANES = 32, MOST = 256 };

/* coefficient * what + … of element reg of a fragment, in a row-major matrix of `columns`. */
static void place(hn_str *out, const hn_mma_map *m, int reg, int columns) {
    int row, column, g = m->row[0] * columns + m->column[0], t = m->row[1] * columns + m->column[1];
    hn_mma_where(m, 0, reg, &row, &column);
    if (g) hn_str_addf(out, "%d*floordiv(i0, 4) + ", g);
    if (t) hn_str_addf(out, "%d*mod(i0, 4) + ", t);
    hn_str_addf(out, "%d", row * columns + column);
}

/* Fragment `which` of matrix s from shared memory into registers a. */
static void loads(hn_str *out, const hn_mma *m, int which, int columns, int *v) {
    const char *type = hn_dtype_of(m->dtype)->text;
    for (int i = 0; i < m->map[which].registers; i++, ++*v) {
        hn_str_addf(out, "  %%%d = load %s s%d[", *v, type, which - 1);
        place(out, &m->map[which], i, columns);
        hn_str_addf(out, "]\n  store a%d[%d] %%%d\n", which, i, *v);
    }
}

/* A and B are copied, 16 bytes a thread, and multiplied; without a product the sum of A's first column is added. */
static void write_nest(hn_str *out, const hn_mma *m, bool product) {
    const char *type = hn_dtype_of(m->dtype)->text;
    int a = m->m * m->k, b = m->k * m->n, d = m->m * m->n, each = 16 / (int)hn_dtype_of(m->dtype)->size_b, v = 1;
    hn_str_addf(out, "param p0 %s %d\nparam p1 %s %d\nresult r0 f32 %d\n", type, a, type, b, d);
    hn_str_addf(out, "shared s0 %s %d\nshared s1 %s %d\ngroup i0 < 32 {\n", type, a, type, LANES * each);
    hn_str_addf(out, "  reg a0 f32 4\n  reg a1 %s 8\n  reg a2 %s 4\n", type, type);
    hn_str_addf(out, "  copy s0[%d*i0] p0[%d*i0] %d\n  copy s1[%d*i0] p1[%d*i0] %d if -1*i0 + %d\n  commit\n  wait 0\n",
                each, each, each, each, each, each, b / each - 1);
    hn_str_addf(out, "  %%%d = const f32 0x0p+0\n", v);
    for (int i = 0; i < 4; i++) hn_str_addf(out, "  store a0[%d] %%%d\n", i, v);
    v++;
    loads(out, m, HN_MMA_OF_A, m->k, &v);
    loads(out, m, HN_MMA_OF_B, m->n, &v);
    if (product) hn_str_addf(out, "  mma %s a0[0] a1[0] a2[0]\n", m->name);
    for (int i = 0; i < 4; i++, v++) {
        hn_str_addf(out, "  %%%d = load f32 a0[%d]\n  store r0[", v, i);
        place(out, &m->map[HN_MMA_OF_D], i, m->n);
        hn_str_addf(out, "] %%%d\n", v);
    }
    hn_str_add(out, "}\n");
}

typedef struct tile {
    hn_arena a;
    hn_dims *dims;
    hn_nest *n;
    hn_kernel_code code;
    hone_err err;
} tile;

static hone_rc printed(tile *t, const char *text, const hn_dialect *d, const char *name) {
    const hn_emit_how how = {.dialect = d};
    hone_rc rc;
    *t = (tile){.dims = NULL};
    t->dims = hn_dims_new(&t->a);
    if (!t->dims) return HONE_E_NOMEM;
    if ((rc = hn_nest_parse(text, &t->a, t->dims, &t->n, &t->err))) return rc;
    if ((rc = hn_nest_barriers(t->n, &t->err)) || (rc = hn_nest_verify(t->n, &t->err))) return rc;
    return d->backend->print(t->n, name, &how, &t->code, &t->err);
}
static void release(tile *t) { hn_arena_free(&t->a); }

/* Numbers that halves hold exactly, and whose products do. */
static void numbers(const hn_mma *m, float *x, int n, hn_tensor *t, hn_arena *a, uint64_t seed) {
    int64_t dim[] = {n};
    hn_tensor_new(a, m->dtype, 1, dim, t);
    for (int i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)((int64_t)(seed >> 60) - 8) / 4;
        hn_set_f(t, i, (double)x[i]);
    }
}

static void run(device_lab *l, tile *t, const hn_mma *m, const char *name) {
    float a[MOST], b[MOST], want[MOST] = {0}, got[MOST];
    hn_arena memory = {0};
    hn_tensor in[2];
    int64_t slot[8] = {0};
    numbers(m, a, m->m * m->k, &in[0], &memory, 1);
    numbers(m, b, m->k * m->n, &in[1], &memory, 2);
    hn_mma_reference(m, want, a, b);
    device_job j = {
        .code = &t->code, .name = name, .buf = {in[0].data, in[1].data, got}, .n_buf = 3, .slot = slot, .end = 1};
    size_t each = hn_dtype_of(m->dtype)->size_b;
    j.size_b[0] = each * (size_t)(m->m * m->k), j.size_b[1] = each * (size_t)(m->k * m->n);
    j.size_b[2] = sizeof(float) * (size_t)(m->m * m->n);
    for (int i = 0; i < MOST; i++) got[i] = NAN;
    bool ran = device_launch(l, &j), same = ran;
    for (int i = 0; i < m->m * m->n && same; i++) {
        same = fabsf(got[i] - want[i]) <= 1e-5f;
        if (!same) printf("# %s at %d: %g, not %g\n", m->name, i, (double)got[i], (double)want[i]);
    }
    ok(same, "tile/%s_on_the_shim", m->name);
    hn_arena_free(&memory);
}

static void products(void) {
    static device_lab l;
    const hn_dialect *d = hn_dialect_named("cuda:sm_80");
    bool open = device_open(&l, d->backend, &hnd_shim);
    size_t n = hn_mma_count();
    tile *all = calloc(n, sizeof *all);
    hn_str kernels = {0};
    for (size_t i = 0; i < n; i++) {
        const hn_mma *m = hn_mma_at(i);
        hn_str text = {0};
        write_nest(&text, m, true);
        hone_rc rc = printed(&all[i], text.text, d, m->name);
        if (!ok(!rc && strstr(all[i].code.text, "hnr_mma_"), "tile/%s_is_printed", m->name))
            printf("# %s\n%s", all[i].err.text, text.text);
        if (!rc) hn_str_add(&kernels, all[i].code.text);
        hn_str_free(&text);
    }
    if (!open)
        skip(1, "tile/products: %s", l.why);
    else if (ok(device_build(&l, "base", &kernels), "tile/compiles"))
        for (size_t i = 0; i < n; i++) run(&l, &all[i], hn_mma_at(i), hn_mma_at(i)->name);
    for (size_t i = 0; i < n; i++) release(&all[i]);
    free(all);
    hn_str_free(&kernels);
    device_close(&l);
}

static void opencl(void) {
    const hn_dialect *d = hn_dialect_named("opencl");
    tile t;
    for (int product = 0; product < 2; product++) {
        hn_str text = {0};
        write_nest(&text, hn_mma_at(0), product);
        hone_rc rc = printed(&t, text.text, d, "k");
        if (product)
            ok(rc == HONE_E_UNSUPPORTED && strstr(t.err.text, "products of tiles"), "tile/opencl_refuses_products");
        else
            ok(!rc && strstr(t.code.text, "HNR_COPY(16, "), "tile/opencl_copies");
        release(&t);
        hn_str_free(&text);
    }
}

int main(void) {
    products();
    opencl();
    return done_testing();
}
