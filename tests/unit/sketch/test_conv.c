/* Tiles that the cost model takes for convolutions where vectors have 8 floats and there are 16 registers, and what
 * stands behind their reductions: operands of the results' size, and constants that are read from memory there. */
#include "backend/cpu/cpu.h"
#include "base/str.h"
#include "sketch/sketch.h"
#include "tap.h"

#include <string.h>

static const hn_machine avx2 = {.vector_b = 32,
                                .registers = 16,
                                .cores = 2,
                                .line_b = 64,
                                .l1d_b = 32 << 10,
                                .l1d_ways = 8,
                                .l2_b = 512 << 10,
                                .l3_b = 32 << 20,
                                .f32_flops = 94e9,
                                .l2_bps = 76e9};

typedef struct conv {
    const char *name;
    int width, in, out, panel; /* panel: channels whose weights lie together; 0: all of them */
    int rows, cols;            /* wanted */
} conv;

/* A 3 x 3 window over an image of 20 lines with channels last, unpadded; its results clipped to [-1, 6] behind an
 * addition. */
static void nest_of(const conv *c, hn_str *out) {
    int line = c->in * (c->width + 2), image = 22 * line, results = 20 * c->width * c->out;
    hn_str_addf(out, "param p0 f32 %d\nparam p1 f32 %d\nparam p2 f32 %d\nresult r0 f32 %d\n", 9 * c->in * c->out, image,
                results, results);
    hn_str_add(out, "%0 = const f32 0x0p+0\n%1 = const f32 -0x1p+0\n%2 = const f32 0x1.8p+2\n");
    hn_str_addf(out, "for i0 < 20 {\nfor i1 < %d {\nfor i2 < %d {\n", c->width, c->out);
    hn_str_addf(out, "%%3 = load f32 p2[%d*i0 + %d*i1 + i2]\n", c->width * c->out, c->out);
    hn_str_add(out, "reg a0 f32 1\nstore a0[0] %0\nfor i3 < 3 {\nfor i4 < 3 {\n");
    hn_str_addf(out, "for i5 < %d {\n%%4 = load f32 p1[%d*i0 + %d*i1 + %d*i3 + %d*i4 + i5]\n", c->in, line, c->in, line,
                c->in);
    if (c->panel)
        hn_str_addf(out, "%%5 = load f32 p0[%d*i3 + %d*i4 + %d*i5 + %d*floordiv(i2, %d) + mod(i2, %d)]\n",
                    3 * c->in * c->panel, c->in * c->panel, c->panel, 9 * c->in * c->panel, c->panel, c->panel);
    else
        hn_str_addf(out, "%%5 = load f32 p0[%d*i3 + %d*i4 + %d*i5 + i2]\n", 3 * c->in * c->out, c->in * c->out, c->out);
    hn_str_add(out, "%6 = mul f32 %4 %5 fused\nupdate a0[0] add %6\n}\n}\n}\n");
    hn_str_add(out, "%7 = load f32 a0[0]\n%8 = add f32 %7 %3\n%9 = max f32 %8 %1\n%10 = min f32 %9 %2\n");
    hn_str_addf(out, "store r0[%d*i0 + %d*i1 + i2] %%10\n}\n}\n}\n", c->width * c->out, c->out);
}

static hn_nest *read_nest(const conv *c, hn_arena *a) {
    hn_str text = {0};
    hn_nest *n = NULL;
    hone_err err = {0};
    nest_of(c, &text);
    hone_rc rc = hn_nest_parse(text.text, a, hn_dims_new(a), &n, &err);
    ok(!rc, "conv/%s_reads (%s)", c->name, err.text);
    hn_str_free(&text);
    return rc ? NULL : n;
}

static void tile(const conv *c) {
    hn_arena a = {0};
    hn_knobs knobs = {0};
    hn_nest *n = read_nest(c, &a);
    if (!n || !ok(hn_sketch_conv.fits(n, &avx2, &knobs), "conv/%s_fits", c->name)) {
        hn_arena_free(&a);
        return;
    }
    long long rows = (long long)knobs.knob[0].model, cols = (long long)knobs.knob[1].model;
    ok(rows == c->rows && cols == c->cols, "conv/%s_tile: %lld x %lld, not %d x %d", c->name, rows, cols, c->rows,
       c->cols);
    hn_arena_free(&a);
}

/* So often does the text stand in the other one? */
static int count(const char *in, const char *text) {
    int n = 0;
    for (const char *at = in; (at = strstr(at, text)) != NULL; at++) n++;
    return n;
}

/* The text of a kernel: what stands behind the first reduction, and in front of it. */
static void behind(void) {
    const conv c = {"behind", 7, 64, 64, 16, 4, 2};
    hn_arena a = {0};
    hn_kernel_code code = {0};
    hone_err err = {0};
    hn_emit_how how = {.dialect = hn_dialect_named("x86-64-v3"), .machine = avx2};
    hn_knobs knobs = {0};
    int64_t setting[HN_KNOBS_MAX] = {0};
    const char *why = "";
    hn_nest *n = read_nest(&c, &a);
    const char *loop = NULL, *end = NULL;
    bool fine = n && hn_sketch_conv.fits(n, &avx2, &knobs) &&
                !hn_sketch_read("conv rows=4 cols=2", &hn_sketch_conv, &knobs, setting, &err) &&
                hn_sketch_conv.apply(n, &avx2, setting, &why);
    ok(fine, "conv/behind_applies (%s%s)", err.text, why);
    if (fine && ok(!hn_cpu_print(n, "k", &how, &code, &err), "conv/behind_prints (%s)", err.text)) {
        loop = strstr(code.text, "hnk_fma_f32_x8(");
        end = loop ? strstr(loop, "HNK_LATE(v") : NULL;
    }
    if (ok(loop && end, "conv/constants_behind_the_reduction")) {
        const char *image = strstr(code.text, "&p2["), *next = strstr(end, "hnk_fma_f32_x8(");
        ok(image > end, "conv/operands_behind_the_reduction");
        ok(count(code.text, "HNK_LATE(v2);") == 2 && count(code.text, "HNK_LATE(v3);") == 2,
           "conv/both_limits_behind_both_tiles");
        ok(!strstr(code.text, "const float v2 =") && strstr(code.text, "float v2 = -0x1p+0f;"), "conv/in_memory");
        ok(strstr(code.text, "const float v1 = 0x0p+0f;") && !strstr(code.text, "HNK_LATE(v1)"), "conv/but_zero");
        ok(next && count(next, "HNK_LATE(v") == 2, "conv/behind_each");
    }
    hn_arena_free(&a);
}

int main(void) {
    static const conv all[] = {
        {"seven_wide", 7, 512, 512, 16, 4, 2},     /* not 7 x 1, which waits for loads */
        {"eight_wide", 8, 384, 384, 16, 4, 2},     /* likewise 8 x 1 */
        {"thirteen_wide", 13, 256, 256, 16, 5, 2}, /* and 13 x 1 */
        {"twenty_eight_wide", 28, 128, 128, 16, 6, 2},
        {"three_vectors", 28, 8, 72, 16, 6, 2}, /* 3 x 3 would read weights from two panels */
        {"three_vectors_together", 27, 8, 72, 0, 3, 3},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tile(&all[i]);
    behind();
    return done_testing();
}
