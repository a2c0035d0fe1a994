/* No value that is offered for device code is refused: every value of every control is compiled once, by itself, the
 * ends and the middle of ranges. With HONE_LONG every compiler on three kernels, which takes half an hour; else ptxas
 * alone on one. HONE_FAMILY=NAME takes one family, HONE_PART=K/N the K-th of N parts of its controls. A compiler that
 * is not installed is skipped by name. */
#include "base/fs.h"
#include "device/cuda.h"
#include "proc/temp.h"
#include "tap.h"
#include "target/target_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct device_family {
    const char *name, *ending, *build; /* build: words beside the flags, the file and -o */
} families[] = {{"ptxas", ".ptx", "-arch=sm_90"},
                {"nvrtc", ".cu", "-arch=sm_90 -cubin"},
                {"nvcc", ".cu", "-arch=sm_90 -cubin"},
                {"clang-cuda", ".cu", "-arch=sm_90 -cubin"},
                {"opencl", ".cl", "-w"}};
static const char *const kernels[] = {"softmax", "matmul", "mixed"};

typedef struct bench {
    hone_target *t;
    const struct device_family *f;
    char source[3][4200], out[4200];
    size_t n_kernels, n, refused;
} bench;

/* PTX is made from the CUDA sources, by whichever compiler there is. */
static bool make_ptx(const char *from, const char *to) {
    char *nvcc = hn_cuda_tool("nvcc");
    const char *const argv[] = {nvcc ? nvcc : "nvcc", "-arch=sm_80", "-ptx", from, "-o", to, NULL};
    hn_tool run = {0};
    bool fine = !hn_tool_run(argv, 60, &run, NULL) && run.ok;
    hn_tool_free(&run);
    free(nvcc);
    return fine;
}

static bool sources(bench *b, const char *tmp) {
    const char *root = getenv("HONE_ROOT");
    snprintf(b->out, sizeof b->out, "%s/out", tmp);
    for (size_t i = 0; i < b->n_kernels; i++) {
        bool ptx = !strcmp(b->f->ending, ".ptx");
        char from[4200];
        snprintf(from, sizeof from, "%s/tests/data/gpu/%s%s", root ? root : ".", kernels[i],
                 ptx ? ".cu" : b->f->ending);
        snprintf(b->source[i], sizeof b->source[i], "%s/%s.ptx", tmp, kernels[i]);
        if (!ptx) snprintf(b->source[i], sizeof b->source[i], "%s", from);
        if (ptx && !make_ptx(from, b->source[i])) return false;
    }
    return true;
}

static void compile(bench *b, const char *name, const char *value) {
    for (size_t k = 0; k < b->n_kernels; k++) {
        hn_arena a = {0};
        hn_flags f = {.a = &a};
        hn_flags_add(&f, hn_target_program(b->t));
        if (name) hn_target_family(b->t)->spell(&f, b->t, name, value);
        hn_flags_words(&f, b->f->build);
        hn_flags_add(&f, b->source[k]);
        hn_flags_words(&f, "-o");
        hn_flags_add(&f, b->out);
        hn_flags_add(&f, NULL);
        hn_tool run = {0};
        (void)unlink(b->out);
        bool fine = !hn_tool_run(f.word, 120, &run, NULL) && run.ok && !*run.errors && hn_exists(b->out);
        if (!fine) printf("# %s on %s: %s %.300s\n", f.word[1], kernels[k], run.what, run.errors);
        b->refused += !fine;
        b->n++;
        hn_tool_free(&run);
        hn_arena_free(&a);
    }
}

static void every_value(bench *b, const hone_space *space) {
    unsigned part = 1, parts = 1;
    const char *asked = getenv("HONE_PART");
    if (asked && (sscanf(asked, "%u/%u", &part, &parts) != 2 || !part || part > parts)) part = parts = 1;
    for (size_t i = part - 1; i < hone_space_n_params(space); i += parts) {
        const hone_param *p = hone_space_param(space, i);
        char text[40];
        for (size_t k = 0; p->kind == HONE_CHOICE && k < p->n_values; k++) compile(b, p->name, p->values[k]);
        for (int at = 0; p->kind == HONE_INT && at < 3; at++) {
            snprintf(text, sizeof text, "%.0f", at == 0 ? p->lo : at == 1 ? p->hi : floor((p->lo + p->hi) / 2));
            compile(b, p->name, text);
        }
    }
}

static void test_family(const struct device_family *f, size_t n_kernels) {
    bench b = {.f = f, .n_kernels = n_kernels};
    hone_err err = {0};
    hn_temp tmp;
    hone_space *space = NULL;
    hone_target_options o = hone_target_defaults();
    o.numeric = true;
    if (hone_target_open(f->name, NULL, &b.t, &err)) {
        skip(1, "device_values/%s: %s", f->name, err.text);
        return;
    }
    hone_rc rc = hn_temp_make(NULL, "hone-values-", &tmp, &err);
    if (!rc && !sources(&b, tmp.path)) {
        skip(1, "device_values/%s: no nvcc to make PTX with", f->name);
    } else if (ok(!rc && !hone_target_space(b.t, &o, &space, &err), "device_values/%s_is_asked %s", f->name,
                  err.text)) {
        compile(&b, NULL, NULL);
        ok(!b.refused, "device_values/%s_compiles_the_kernels", f->name);
        every_value(&b, space);
        ok(!b.refused, "device_values/%s: %zu compilations of %zu controls, %zu refused", f->name, b.n,
           hone_space_n_params(space), b.refused);
        compile(&b, hn_target_family(b.t)->level, "no-such-level");
        ok(b.refused, "device_values/%s_a_refusal_is_seen", f->name);
    }
    hone_space_free(space);
    hone_target_close(b.t);
    if (!rc) hn_temp_free(&tmp);
}

int main(void) {
    bool all = getenv("HONE_LONG") != NULL;
    const char *only = getenv("HONE_FAMILY");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (only ? !strcmp(only, families[i].name) : all || !i) test_family(&families[i], all ? 3 : 1);
    return done_testing();
}
