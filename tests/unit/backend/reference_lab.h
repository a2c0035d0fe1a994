/* tests/unit/backend/reference_lab.h — kernels of many graphs in one shared object, each held against the interpreter.
 *
 * A graph's main block is the body. Add graphs with lab_add, then lab_build once, then lab_check each. When the test
 * itself runs under AddressSanitizer the emitted C does too, and every buffer is an allocation of its own.
 */
#ifndef HN_REFERENCE_LAB_H
#define HN_REFERENCE_LAB_H

#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/interp.h"
#include "tap.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define LAB_SAN "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O0"
#else
#define LAB_SAN "-O1"
#endif
#define LAB_WARN "-std=c11 -Wall -Wextra -Werror -Wno-unused"
#define LAB_FLAGS LAB_WARN " -ffp-contract=off -fno-math-errno -fwrapv"

enum { LAB_MAX = 4000, LAB_PORTS = 8, LAB_SYMBOLS = 64 };

typedef struct lab_kernel {
    char name[120];
    hn_graph *g;
    hn_arena a;
    hn_kernel_code code;
    hone_kernel_fn *run;
} lab_kernel;

typedef struct lab {
    lab_kernel kernel[LAB_MAX];
    size_t n;
    char dir[64];
    void *so;
} lab;

/* text: the graph without its first line; NULL gives a failed test. */
static inline lab_kernel *lab_add(lab *l, const char *text, const char *name) {
    lab_kernel *k = &l->kernel[l->n];
    hone_err err = {0};
    char *whole = malloc(strlen(text) + 10), id[40];
    if (!whole || l->n == LAB_MAX) exit(2);
    snprintf(k->name, sizeof k->name, "%s", name);
    sprintf(whole, "ir 1\n%s", text);
    snprintf(id, sizeof id, "k%zu", l->n);
    hone_rc rc = hn_parse(whole, strlen(whole), "test", &k->g, &err);
    if (!rc) rc = hn_cpu_reference(k->g, 0, id, &k->a, &k->code, &err);
    if (rc) {
        ok(0, "%s: emitted", name);
        printf("# %s\n%s", err.text, whole);
    } else {
        l->n++;
    }
    free(whole);
    return rc ? NULL : k;
}

static inline bool lab_write(const lab *l, const char *path, size_t from, size_t to, bool table) {
    FILE *f = fopen(path, "w");
    hn_str parts = {0}, rt = {0};
    for (size_t i = from; i < to; i++) hn_str_addf(&parts, "%s ", l->kernel[i].code.helpers);
    bool good = f && hn_cpu_add_runtime(&rt, parts.text ? parts.text : "");
    if (good) fputs(rt.text ? rt.text : "", f);
    for (size_t i = from; good && i < to; i++) fputs(l->kernel[i].code.text, f);
    for (size_t i = from; good && table && i < to; i++)
        fprintf(f, "void (*const e%zu)(void *const *, const int64_t *, int64_t, int64_t, char *) = k%zu;\n", i, i);
    if (f) good = fclose(f) == 0 && good;
    hn_str_free(&parts);
    hn_str_free(&rt);
    return good;
}

/* Two translation units, two compilers at once. */
static inline bool lab_build(lab *l) {
    char cmd[1200], path[2][100];
    const char *tmp = getenv("TMPDIR");
    snprintf(l->dir, sizeof l->dir, "%s/hone-lab-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (!mkdtemp(l->dir)) return false;
    for (size_t i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%zu.c", l->dir, i);
        if (!lab_write(l, path[i], i * (l->n / 2), i ? l->n : l->n / 2, true)) return false;
    }
    snprintf(cmd, sizeof cmd,
             "cd %s && (cc " LAB_FLAGS " " LAB_SAN " -fPIC -c 0.c -o 0.o & p=$!; cc " LAB_FLAGS " " LAB_SAN
             " -fPIC -c 1.c -o 1.o && wait $p) >cc.txt 2>&1 && cc " LAB_SAN
             " -shared -o k.so 0.o 1.o -lm >>cc.txt 2>&1 || { head -40 cc.txt | sed 's/^/# /'; exit 1; }",
             l->dir);
    fflush(stdout);
    if (system(cmd)) return false;
    snprintf(cmd, sizeof cmd, "%s/k.so", l->dir);
    l->so = dlopen(cmd, RTLD_NOW | RTLD_LOCAL);
    if (!l->so) printf("# %s\n", dlerror());
    for (size_t i = 0; l->so && i < l->n; i++) {
        snprintf(cmd, sizeof cmd, "e%zu", i);
        void **at = dlsym(l->so, cmd);
        if (!at) return false;
        memcpy(&l->kernel[i].run, at, sizeof l->kernel[i].run);
    }
    return l->so != NULL;
}

/* clang takes the same text without a warning; -1: not installed. */
static inline int lab_clang(const lab *l) {
    char cmd[600];
    if (system("command -v clang-19 >/dev/null 2>&1")) return -1;
    snprintf(cmd, sizeof cmd,
             "cd %s && clang-19 " LAB_FLAGS
             " -fsyntax-only 0.c 1.c >clang.txt 2>&1 || { head -30 clang.txt | sed 's/^/# /'; exit 1; }",
             l->dir);
    return system(cmd) == 0;
}

static inline void lab_free(lab *l) {
    char cmd[100];
    for (size_t i = 0; i < l->n; i++) {
        hn_graph_free(l->kernel[i].g);
        hn_arena_free(&l->kernel[i].a);
    }
    if (l->so) dlclose(l->so);
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", l->dir);
    if (l->dir[0] && !getenv("HONE_KEEP") && system(cmd)) printf("# %s stays\n", l->dir);
}

/* --- inputs --- */

static inline double lab_float(hn_rng *r, int kind) {
    static const double edge[] = {0.0,      -0.0,      1,   -1,     0.5,    1.5,    2.5,  -2.5,
                                  INFINITY, -INFINITY, NAN, 1e-45,  -3e-39, 1e-310, 3e38, -3e38,
                                  65520,    6e-8,      448, -57344, 1e300,  127.5,  3};
    if (kind == 0 && hn_rng_below(r, 3) == 0) return edge[hn_rng_below(r, sizeof edge / sizeof *edge)];
    double x = (hn_rng_unit(r) - 0.5) * 8;
    return kind == 2 ? rint(x) : x;
}
static inline int64_t lab_whole(hn_rng *r, const hn_dtype_info *d) {
    int64_t top = d->bits >= 63 ? INT64_MAX : (int64_t)1 << (d->bits - 1);
    static const int64_t small[] = {0, 1, -1, 2, 3, 7, -5};
    if (hn_rng_below(r, 3) == 0) return small[hn_rng_below(r, 7)];
    if (hn_rng_below(r, 4) == 0) return hn_rng_below(r, 2) ? top : -top;
    return (int64_t)(hn_rng_next(r) >> hn_rng_below(r, 60));
}

/* By the input's name: "iN": an index in [-N, N); "cN": a count in [0, N]; "f…": mild floats; "d…": few distinct
 * values; else whatever the type holds, edges included. */
static inline void lab_fill(hn_tensor *t, const char *name, hn_rng *r) {
    const hn_dtype_info *d = hn_dtype_of(t->dtype);
    int64_t n = hn_tensor_n(t), limit = atoll(name + 1);
    for (int64_t i = 0; i < n; i++) {
        if (name[0] == 'i')
            hn_set_i(t, i, limit ? (int64_t)hn_rng_below(r, 2 * (uint64_t)limit) - limit : 0);
        else if (name[0] == 'c')
            hn_set_i(t, i, (int64_t)hn_rng_below(r, (uint64_t)limit + 1));
        else if (name[0] == 'd')
            hn_set_i(t, i, (int64_t)hn_rng_below(r, 3));
        else if (d->cls == HN_CLASS_FLOAT)
            hn_set_f(t, i, lab_float(r, name[0] == 'f' ? 1 : 0));
        else if (d->cls == HN_CLASS_BOOL)
            hn_set_i(t, i, (int64_t)hn_rng_below(r, 2));
        else
            hn_set_i(t, i, lab_whole(r, d));
    }
}

/* --- a run --- */

typedef struct lab_run {
    hn_tensor in[LAB_PORTS];
    void *buf[2 * LAB_PORTS + 4];
    size_t n_buf;
    int64_t slot[LAB_SYMBOLS + 1]; /* [0]: the error slot */
} lab_run;

static inline int64_t lab_dim(const lab_kernel *k, hn_dim d, const int64_t *symbol) {
    int64_t x;
    return hn_dim_eval(k->g->dims, d, symbol, &x) ? x : -1;
}

static inline size_t lab_size_b(hone_dtype t, int64_t n) { return (size_t)n * hn_dtype_of(t)->size_b; }

/* Inputs of the sizes that `symbol` gives, in allocations of their exact size. */
static inline void lab_inputs(const lab_kernel *k, const int64_t *symbol, hn_rng *r, lab_run *x) {
    const hn_blk *b = &k->g->block[0];
    for (uint32_t i = 0; i < b->n_param; i++) {
        const hn_value *v = &k->g->value[b->param[i]];
        hn_tensor *t = &x->in[i];
        *t = (hn_tensor){.dtype = v->type.dtype, .rank = v->type.rank};
        for (size_t d = 0; d < t->rank; d++) t->dim[d] = lab_dim(k, v->type.dim[d], symbol);
        t->data = malloc(lab_size_b(t->dtype, hn_tensor_n(t)));
        lab_fill(t, v->name, r);
        x->buf[i] = t->data;
    }
    x->n_buf = b->n_param;
}

/* Buffers for results (their most where a symbol decides) and for defined symbols; how many of the latter. */
static inline size_t lab_outputs(lab_kernel *k, const int64_t *symbol, lab_run *x) {
    const hn_blk *b = &k->g->block[0];
    bool defines = false;
    for (uint32_t i = 0; i < b->n_result; i++) {
        const hn_type *t = hn_type_of(k->g, b->result[i]);
        hn_dim room = hn_kernel_room(k->g, 0, i);
        defines = defines || room;
        size_t n = lab_size_b(t->dtype, lab_dim(k, room ? room : hn_type_count(k->g, t), symbol));
        void *p = malloc(n);
        if (n) memset(p, 0xA5, n);
        x->buf[x->n_buf++] = p;
    }
    if (defines) x->buf[x->n_buf++] = calloc(1, 8);
    return defines;
}

/* In one piece, or in random pieces from the last to the first. */
static inline void lab_execute(lab_kernel *k, lab_run *x, int64_t work, size_t scratch_b, bool pieces, hn_rng *r) {
    char *scratch = aligned_alloc(64, (scratch_b + 63) / 64 * 64);
    for (int64_t end = work, begin; end > 0; end = begin) {
        begin = pieces ? end - 1 - (int64_t)hn_rng_below(r, (uint64_t)(end > 7 ? 7 : end)) : 0;
        if (begin < 0) begin = 0;
        k->run(x->buf, x->slot + 1, begin, end, scratch);
    }
    if (!work) k->run(x->buf, x->slot + 1, 0, 0, scratch);
    free(scratch);
}

static inline void lab_release(lab_run *x) {
    for (size_t i = 0; i < x->n_buf; i++) free(x->buf[i]);
}

static inline bool lab_same(const lab_kernel *k, lab_run *x, const hn_tensor *want, const char *how) {
    const hn_blk *b = &k->g->block[0];
    bool same = true;
    for (uint32_t i = 0; same && i < b->n_result; i++) {
        hn_tensor got = want[i];
        got.data = x->buf[b->n_param + i];
        hn_match m = hn_tensor_compare(&got, &want[i], (hn_match_rule){0, 0});
        same = m.same;
        if (!same)
            printf("# %s, %s, result %u: %lld of %lld wrong, at %lld %.17g instead of %.17g\n%s", k->name, how, i,
                   (long long)m.n_wrong, (long long)hn_tensor_n(&got), (long long)m.at, hn_get_f(&got, m.at),
                   hn_get_f(&want[i], m.at), k->code.text);
    }
    return same;
}

/* symbol: by number in the graph's table, INT64_MIN where the body defines it. */
static inline bool lab_check(lab_kernel *k, const int64_t *symbol, uint64_t seed) {
    hn_rng r = hn_rng_make(seed, 0);
    hn_arena a = {0};
    hn_tensor want[LAB_PORTS];
    hone_err err = {0};
    size_t n_symbol = hn_dims_symbols(k->g->dims);
    int64_t seen[LAB_SYMBOLS];
    bool good = true;
    for (int pieces = 0; good && pieces < 2; pieces++) {
        lab_run x = {0};
        memcpy(x.slot + 1, symbol, n_symbol * sizeof *symbol);
        lab_inputs(k, symbol, &r, &x);
        hone_rc rc = hn_interpret(k->g, x.in, &a, want, seen, &err);
        size_t n_defined = lab_outputs(k, symbol, &x);
        int64_t work = lab_dim(k, k->code.work, symbol), scratch_b = lab_dim(k, k->code.scratch_b, symbol);
        lab_execute(k, &x, work, scratch_b < 0 ? 0 : (size_t)scratch_b, pieces, &r);
        good = !rc && x.slot[0] == 0 && lab_same(k, &x, want, pieces ? "in pieces" : "in one piece");
        if (rc) printf("# %s: %s\n", k->name, err.text);
        if (!rc && x.slot[0]) printf("# %s: error slot is %lld\n%s", k->name, (long long)x.slot[0], k->code.text);
        for (size_t s = 0; good && n_defined && s < n_symbol; s++)
            if (symbol[s] == INT64_MIN) good = *(int64_t *)x.buf[x.n_buf - 1] == seen[s];
        lab_release(&x);
    }
    hn_arena_free(&a);
    return good;
}

#endif
