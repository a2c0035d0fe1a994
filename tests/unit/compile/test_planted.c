/* Wrong kernels are planted at ten kinds of fusion, and ten kinds of fault in one kernel: parity finds each at compile
 * time, the reference version takes its place, and the library computes what the interpreter does. */
#include "artifact/artifact.h"
#include "base/fs.h"
#include "base/str.h"
#include "compile/driver.h"
#include "tap.h"

#include <hone/artifact.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fusion {
    const char *name, *text;
} fusion;

/* Inputs are f32; %k = … without a type takes the rule's. */
static const fusion fusions[] = {
    {"pointwise_chain",
     "ir 1\ninput %0 : f32[5, 9] \"x\"\n%1 = exp %0\n%2 = add %1, %0\n%3 = tanh %2\noutput %3 \"y\"\n"},
    {"reduction_with_producers",
     "ir 1\ninput %0 : f32[5, 9] \"x\"\n%1 = mul %0, %0\n%2 = sum %1 {axes = [1], keep = 0}\noutput %2 \"y\"\n"},
    {"reduction_with_consumers", "ir 1\ninput %0 : f32[5, 9] \"x\"\n%1 = reduce_max %0 {axes = [0], keep = 0}\n%2 = "
                                 "neg %1\n%3 = exp %2\noutput %3 \"y\"\n"},
    {"matmul_epilogue",
     "ir 1\ninput %0 : f32[5, 7] \"x\"\ninput %1 : f32[7, 6] \"w\"\ninput %2 : f32[6] \"b\"\n"
     "%3 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n"
     "%4 = broadcast %2 {shape = [5, 6], map = [1]}\n%5 = add %3, %4\n%6 = sigmoid %5\noutput %6 \"y\"\n"},
    {"conv_epilogue", "ir 1\ninput %0 : f32[1, 2, 6, 6] \"x\"\ninput %1 : f32[3, 2, 3, 3] \"w\"\n"
                      "%2 = conv %0, %1 {stride = [1, 1], dilation = [1, 1], inflate = [1, 1], groups "
                      "= 1, low = [1, 1], high = [1, 1], dtype = f32}\n"
                      "%3 = tanh %2\noutput %3 \"y\"\n"},
    {"softmax", "ir 1\ninput %0 : f32[5, 9] \"x\"\n%1 = reduce_max %0 {axes = [1], keep = 1}\n%2 = broadcast %1 {shape "
                "= [5, 9], map = [0, 1]}\n"
                "%3 = sub %0, %2\n%4 = exp %3\n%5 = sum %4 {axes = [1], keep = 1}\n%6 = broadcast %5 {shape = [5, 9], "
                "map = [0, 1]}\n"
                "%7 = div %4, %6\noutput %7 \"y\"\n"},
    {"residual_and_norm",
     "ir 1\ninput %0 : f32[5, 8] \"x\"\ninput %1 : f32[5, 8] \"r\"\n%2 = add %0, %1\n%3 = mul %2, %2\n"
     "%4 = sum %3 {axes = [1], keep = 1}\n%5 = rsqrt %4\n%6 = broadcast %5 {shape = [5, 8], map = [0, 1]}\n%7 = mul "
     "%2, %6\noutput %7 \"y\"\n"},
    {"attention",
     "ir 1\ninput %0 : f32[2, 4, 8] \"q\"\ninput %1 : f32[2, 5, 8] \"k\"\ninput %2 : f32[2, 5, 8] \"v\"\n"
     "%3 = contract %0, %1 {lhs = [0, 1, 3], rhs = [0, 2, 3], out = [0, 1, 2], dtype = f32}\n"
     "%4 = reduce_max %3 {axes = [2], keep = 1}\n%5 = broadcast %4 {shape = [2, 4, 5], map = [0, 1, 2]}\n%6 = sub %3, "
     "%5\n%7 = exp %6\n"
     "%8 = sum %7 {axes = [2], keep = 1}\n%9 = broadcast %8 {shape = [2, 4, 5], map = [0, 1, 2]}\n%10 = div %7, %9\n"
     "%11 = contract %10, %2 {lhs = [0, 1, 2], rhs = [0, 2, 3], out = [0, 1, 3], dtype = f32}\noutput %11 \"y\"\n"},
    {"matmuls_side_by_side",
     "ir 1\ninput %0 : f32[5, 7] \"x\"\ninput %1 : f32[7, 4] \"a\"\ninput %2 : f32[7, 4] \"b\"\n"
     "%3 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n"
     "%4 = contract %0, %2 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %3 \"y\"\noutput %4 "
     "\"z\"\n"},
    {"pooling_epilogue", "ir 1\ninput %0 : f32[1, 2, 6, 6] \"x\"\n%1 = window_max %0 {kernel = [2, 2], stride = [2, "
                         "2], dilation = [1, 1], low = [0, 0], high = [0, 0]}\n"
                         "%2 = neg %1\noutput %2 \"y\"\n"},
};

/* What the planted kernel does after the right one; Y is its first result, N that one's elements. */
static const fusion faults[] = {
    {"element_off", "if (begin == 0) Y[N / 2] = Y[N / 2] * 1.01f + 0.01f;"},
    {"last_element_missing", "if (begin == 0) Y[N - 1] = 0x1p-3f;"},
    {"sign", "for (int64_t i = 0; i < N; i++) Y[i] = -Y[i];"},
    {"nan_swallowed", "for (int64_t i = 0; i < N; i++) Y[i] = Y[i] == Y[i] ? Y[i] : 0;"},
    {"writes_behind", "Y[N] = 1;"},
    {"writes_in_front", "Y[-1] = 1;"},
    {"crash", "*(volatile int *)16 = 1;"},
    {"ends_the_process", "_exit(0);"},
    {"depends_on_the_slices", "for (int64_t i = 0; i < N; i++) Y[i] += (float)begin;"},
    {"reports_an_index", "hnr_fail(s);"},
};

static const char *fault;

/* Only a small float result that all slices share is spoilt twice; what matters is that it is wrong. */
static void plant(hn_model *m) {
    hn_kernel *k = &m->kernel[0];
    const hn_blk *b = &m->g->block[k->body];
    int64_t dim[HN_RANK_MAX], n = 1;
    const hn_type *t = hn_type_of(m->g, b->result[0]);
    hn_type_static(m->g, t, dim);
    for (size_t d = 0; d < t->rank; d++) n *= dim[d];
    k->code.text =
        hn_format(&m->arena,
                  "#define %s right_one\n%s\n#undef %s\n"
                  "static void %s(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch) {\n"
                  "    float *Y = buf[%u];\n    enum { N = %lld };\n    right_one(buf, s, begin, end, scratch);\n    "
                  "(void)Y;\n    %s\n}\n",
                  k->name, k->code.text, k->name, k->name, b->n_param, (long long)n, fault);
}

static const char *folder(void) {
    static char path[64];
    if (!*path) {
        strcpy(path, "/tmp/hone-planted-XXXXXX");
        if (!mkdtemp(path)) *path = 0;
    }
    return path;
}

/* The library's outputs are the interpreter's. */
static int is_right(hone_graph *g, const char *library) {
    hone_artifact *p = NULL;
    hone_array in[4] = {0}, got[4] = {0}, want[4] = {0};
    size_t n_in = hone_graph_inputs(g), n_out = hone_graph_outputs(g);
    int good =
        hone_artifact_load(library, &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1}, &p,
                           NULL) == HONE_OK;
    for (size_t i = 0; i < n_in; i++) {
        hone_graph_port port;
        size_t n = 1;
        if (hone_graph_input(g, i, &port, NULL)) return 0;
        in[i] = (hone_array){.dtype = HONE_F32, .rank = port.rank};
        for (uint32_t d = 0; d < port.rank; d++) n *= (size_t)(in[i].dim[d] = port.dim[d]);
        float *x = in[i].data = calloc(n + 1, sizeof *x);
        for (size_t k = 0; x && k < n; k++) x[k] = (float)((k * 37 + i) % 23) / 8 - 1;
    }
    good = good && !hone_artifact_run(p, in, n_in, got, n_out, NULL) && !hone_graph_run(g, in, n_in, want, n_out, NULL);
    for (size_t i = 0; i < n_out; i++) {
        hone_array_difference d = {0};
        good = good && !hone_array_compare(&got[i], &want[i], 1e-4, 1e-5, &d, NULL) && d.same;
        hone_free(got[i].data), hone_free(want[i].data);
    }
    for (size_t i = 0; i < n_in; i++) free(in[i].data);
    hone_artifact_free(p);
    return good;
}

static void try_fault(const fusion *f, const fusion *wrong, const char *what) {
    hone_graph *g = NULL;
    hone_err err = {0};
    char output[100], library[110];
    snprintf(output, sizeof output, "%s/%s", folder(), what);
    snprintf(library, sizeof library, "%s.so", output);
    hone_compile_options options = {.size = sizeof(hone_compile_options),
                                    .output = output,
                                    .target = "generic",
                                    .compiler = getenv("HONE_QUICK_CC"),
                                    .n_jobs = 1};
    if (hone_graph_parse(f->text, strlen(f->text), &g, &err)) {
        ok(0, "parity/%s_is_caught", what);
        printf("#   %s\n", err.text);
        return;
    }
    fault = wrong->text;
    hn_library l = {.options = &options, .tamper = plant};
    hone_rc rc = hn_compile_library(&l, g, what, &err);
    const hn_kernel *k = rc ? NULL : &l.model[0].kernel[0];
    int caught = k && k->fallback && k->reference;
    if (!ok(caught, "parity/%s_is_caught", what)) printf("#   %s\n", rc ? err.text : "nothing was found");
    if (caught) printf("#   %s\n", k->fallback);
    ok(!rc && is_right(g, library), "parity/%s_is_replaced", what);
    hn_library_free(&l);
    hone_graph_free(g);
}

/* A convolution of 32 channels with a rectifier, of weights that are written out. */
static char *convolution_text(void) {
    enum { CHANNELS = 32, SIZE = 40 };
    hn_str s = {0};
    uint32_t state = 1;
    hn_str_addf(&s, "ir 1\ninput %%x : f32[1, %d, %d, %d] \"x\"\n%%w = const {value = f32[%d, %d, 3, 3] (", CHANNELS,
                SIZE, SIZE, CHANNELS, CHANNELS);
    for (int i = 0; i < CHANNELS * CHANNELS * 9; i++) {
        state = state * 1664525u + 1013904223u;
        hn_str_addf(&s, "%s%d", i ? ", " : "", (int)(state >> 28) - 8);
    }
    hn_str_add(&s,
               ")}\n%y = conv %x, %w {stride = [1, 1], dilation = [1, 1], inflate = [1, 1], groups = 1, low = [1, 1], "
               "high = [1, 1], dtype = f32}\n%a = abs %x\n%r = max %y, %a\noutput %r \"r\"\n");
    return s.text;
}

/* As plant, in the kernel that takes fewer multiplications. */
static bool planted;
static void plant_convolution(hn_model *m) {
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        hn_kernel *k = &m->kernel[i];
        if (!hn_is_winograd(k->code.schedule)) continue;
        planted = true;
        k->code.text = hn_format(&m->arena,
                                 "#define %s right_one\n%s\n#undef %s\n"
                                 "static void %s(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char "
                                 "*scratch) {\n    float *y = buf[%u];\n    right_one(buf, s, begin, end, scratch);\n"
                                 "    if (!begin) y[0] += 0.5f, y[1] += 0.5f, y[2] += 0.5f;\n    (void)y;\n}\n",
                                 k->name, k->code.text, k->name, k->name, m->g->block[k->body].n_param);
    }
}

/* A kernel that rounds more than it may becomes a direct convolution. */
static void try_convolution(void) {
    char *text = convolution_text(), output[100], library[110];
    hone_graph *g = NULL;
    hone_err err = {0};
    snprintf(output, sizeof output, "%s/convolution", folder());
    snprintf(library, sizeof library, "%s.so", output);
    hone_compile_options options = hone_compile_defaults();
    options.output = output, options.compiler = getenv("HONE_QUICK_CC"), options.n_jobs = 1, options.no_winners = true;
    options.tolerance = 1e-3;
    if (hn_dialect_named("native")->vector_b < 16) {
        skip(2, "no vectors");
        free(text);
        return;
    }
    hone_rc rc = text ? hone_graph_parse(text, strlen(text), &g, &err) : HONE_E_NOMEM;
    hn_library l = {.options = &options, .tamper = plant_convolution};
    if (!rc) rc = hn_compile_library(&l, g, "convolution", &err);
    bool direct = false;
    for (uint32_t i = 0; !rc && i < l.model[0].n_kernel; i++) {
        const hn_kernel *k = &l.model[0].kernel[i];
        if (k->direct) printf("#   %s: %s\n", k->code.schedule, k->fallback);
        direct |= k->direct && k->fallback && !k->reference && !hn_is_winograd(k->code.schedule);
    }
    ok(planted && direct, "parity/fewer_multiplications_is_caught: %s", err.text);
    ok(!rc && is_right(g, library), "parity/fewer_multiplications_is_replaced");
    hn_library_free(&l);
    hone_graph_free(g);
    free(text);
}

int main(void) {
    try_convolution();
    for (size_t i = 0; i < sizeof fusions / sizeof *fusions; i++)
        try_fault(&fusions[i], &faults[i % 3], fusions[i].name);
    for (size_t i = 3; i < sizeof faults / sizeof *faults; i++)
        try_fault(&fusions[5 + i % 3], &faults[i], faults[i].name);
    if (*folder()) hn_remove_tree(folder(), NULL);
    return done_testing();
}
