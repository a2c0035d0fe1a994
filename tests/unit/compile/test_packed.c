/* Products with packed weights: every codec, with rows of bytes and of floats, looked-up rows and chosen matrices,
 * compiled for every target that this machine runs, against the interpreter; each row the same bit for bit alone, among
 * others, and on any number of threads. HONE_CASE: that codec alone. */
#include "ir/packed.h"
#include "tap.h"

#include <hone/artifact.h>
#include <hone/compile.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { K = 512, FEW = 20, WIDE = 130, MATRICES = 2, MOST = 70, OUTPUTS = 8 };
static int
    N; /* columns of a matrix; WIDE: enough for rows that take several panels at once, and one that is not full */

static int columns_of(const hn_codec *c) {
    static const char *const wide[] = {"q4_1", "q6_k", "q8_0"};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (!strcmp(c->text, wide[i])) return WIDE;
    return FEW;
}

static uint32_t state = 1;
static uint32_t next(void) { return state = state * 1664525u + 1013904223u, state >> 8; }

/* Where the scales are in a block, as halves; -1: none more. */
static void scales_of(const hn_codec *c, int at[3]) {
    static const struct {
        const char *codec;
        int at[3];
    } known[] = {{"q4_1", {0, 2, -1}},    {"q5_1", {0, 2, -1}}, {"q2_k", {80, 82, -1}},  {"q3_k", {108, -1, -1}},
                 {"q4_k", {0, 2, -1}},    {"q5_k", {0, 2, -1}}, {"q6_k", {208, -1, -1}}, {"mxfp4", {-1, -1, -1}},
                 {"tq2_0", {64, -1, -1}}, {"n4", {-1, -1, -1}}, {"n8", {-1, -1, -1}}};
    at[0] = 0, at[1] = -1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].codec, c->text)) memcpy(at, known[i].at, sizeof known[i].at);
}

/* A block of random bytes with scales that keep values near 1. */
static void block(const hn_codec *c, uint8_t *out) {
    int at[3];
    for (int64_t i = 0; i < c->size_b; i++) out[i] = (uint8_t)next();
    scales_of(c, at);
    for (int i = 0; i < 3 && at[i] >= 0 && c->groups; i++) out[at[i] + 1] = (uint8_t)(0x14 + next() % 12);
    for (int i = 0; i < 32 && !c->groups; i++)
        out[2 * i + 1] = (uint8_t)((c->text[0] == 'b' ? 0x3c : 0x2c) | (next() & 0x83));
    if (!strcmp(c->text, "mxfp4")) out[0] = (uint8_t)(118 + next() % 8);
    for (int i = 0; i < 2 && c->text[0] == 'n'; i++) {
        float x = (float)(next() % 1000) / 9000.0f;
        memcpy(out + 4 * i, &x, 4);
    }
}

/* u8[count.., row_b] (…) of random blocks. */
static char *weights(const hn_codec *c, const char *lead, int64_t rows, uint8_t *bytes) {
    int64_t row_b = hn_codec_row_b(c, K);
    char *text = malloc((size_t)(rows * row_b) * 5 + 100), *p = text;
    p += sprintf(p, "u8[%s, %lld] (", lead, (long long)row_b);
    for (int64_t i = 0; i < rows * row_b; i += c->size_b) block(c, bytes + i);
    for (int64_t i = 0; i < rows * row_b; i++) p += sprintf(p, "%s%d", i ? ", " : "", bytes[i]);
    strcpy(p, ")");
    return text;
}

static char *graph_of(const hn_codec *c) {
    static uint8_t bytes[MATRICES * WIDE * 1024];
    char lead[40], *text = NULL;
    snprintf(lead, sizeof lead, "%d", N);
    char *w = weights(c, lead, N, bytes);
    snprintf(lead, sizeof lead, "%d, %d", MATRICES, N);
    char *all = weights(c, lead, MATRICES * N, bytes);
    const char *quantized =
        c->groups ? "%q, %d = quantize_blocks %x\n%a = packed_dot %w, %q, %d {shape = [m, #], codec = $}\n"
                    "%b = packed_dot %all, %q, %d, %i {shape = [m, #], codec = $}\n"
                    "%q2, %d2 = quantize_blocks %x {mode = auto}\n%q3, %d3 = quantize_blocks %x {mode = int8x2}\n"
                    "%g = packed_dot %w, %q2, %d2 {shape = [m, #], codec = $}\n"
                    "%j = packed_dot %w, %q3, %d3 {shape = [m, #], codec = $}\n"
                    "%h = packed_dot %all, %q3, %d3, %i {shape = [m, #], codec = $}\n"
                  : "%a = packed_dot %w, %x {shape = [m, #], codec = $}\n"
                    "%b = packed_dot %all, %x, %one {shape = [m, #], codec = $}\n"
                    "%g = packed_dot %w, %x {shape = [m, #], codec = $}\n"
                    "%j = packed_dot %w, %x {shape = [m, #], codec = $}\n"
                    "%h = packed_dot %all, %x, %i {shape = [m, #], codec = $}\n";
    char body[2000], *out = body;
    const char *form[] = {
        quantized,
        "%e = packed_dot %w, %x {shape = [m, #], codec = $}\n%f = packed_dot %all, %x, %i {shape = [m, #], codec = "
        "$}\n%r = packed_rows %w, %i {shape = [m, 512], codec = $, rows = #}\n"};
    for (int k = 0; k < 2; k++)
        for (const char *p = form[k]; *p; p++)
            if (*p == '$')
                out += sprintf(out, "%s", c->text);
            else if (*p == '#')
                out += sprintf(out, "%d", N);
            else
                *out++ = *p;
    *out = 0;
    if (asprintf(&text,
                 "ir 1\nsymbol m in 0..\ninput %%x : f32[m, %d] \"x\"\ninput %%i : i64[m] \"i\"\ninput %%one : i32[] "
                 "\"one\"\n"
                 "%%w = const {value = %s}\n%%all = const {value = %s}\n%s"
                 "output %%a \"a\"\noutput %%b \"b\"\noutput %%e \"e\"\noutput %%f \"f\"\noutput %%r \"r\"\noutput %%g "
                 "\"g\"\noutput %%h \"h\"\noutput %%j \"j\"\n",
                 K, w, all, body) < 0)
        text = NULL;
    free(w);
    free(all);
    return text;
}

/* Inputs of so many rows, the same ones whatever their number. */
typedef struct inputs {
    float x[MOST * K];
    int64_t i[MOST];
    int32_t one;
} inputs;
static inputs given;

/* Rows of which two words of every block stand out: some of a tile of 16, then all of one. */
static bool is_full(int i) { return i >= 42 && i < 64; }

static void draw(void) {
    for (int i = 0; i < MOST * K; i++) given.x[i] = (float)((int)(next() % 2001) - 1000) / 500.0f;
    for (int i = 0; i < K; i++) given.x[2 * K + i] = i < 40 ? 0 : given.x[2 * K + i]; /* blocks of zeros */
    for (int i = 0; i < MOST; i += 3) /* some elements stand out; some, so far that two bytes do not reach down */
        for (int k = 0; k < 4 && !is_full(i); k++)
            given.x[i * K + (i * 37 + k * 131) % K] *= k == 3 && i % 2 ? 3000.0f : 40.0f;
    for (int i = 0; i < MOST; i++)
        for (int k = 0; k < K && is_full(i); k += 32) given.x[i * K + k + 3] = 80, given.x[i * K + k + 17] = -80;
    for (int i = 0; i < MOST; i++) given.i[i] = (int64_t)(next() % MATRICES) - (i % 5 == 0 ? MATRICES : 0) * (i % 2);
    given.one = 1;
}

static int64_t width_of(int k) { return k == 4 ? K : N; }

static bool run(const hone_model *m, hone_model_instance *s, int64_t from, int64_t rows, float *const *y) {
    hone_model_tensor in[3] = {{.data = given.x + from * K, .dtype = HONE_F32, .rank = 2, .dim = {rows, K}},
                               {.data = given.i + from, .dtype = HONE_I64, .rank = 1, .dim = {rows}},
                               {.data = &given.one, .dtype = HONE_I32}};
    hone_model_tensor out[OUTPUTS];
    for (int k = 0; k < OUTPUTS; k++)
        out[k] = (hone_model_tensor){.data = y[k], .size_b = (size_t)(rows * width_of(k)) * sizeof(float)};
    return !m->run(s, in, 3, out, OUTPUTS);
}

static bool interpreted(const hone_graph *g, int64_t rows, hone_array *out, hone_err *err) {
    hone_array in[3] = {{.data = given.x, .dtype = HONE_F32, .rank = 2, .dim = {rows, K}},
                        {.data = given.i, .dtype = HONE_I64, .rank = 1, .dim = {rows}},
                        {.data = &given.one, .dtype = HONE_I32}};
    return !hone_graph_run(g, in, 3, out, OUTPUTS, err);
}

/* Within rounding of sums of K numbers of the result's size; looked-up rows exactly. */
static bool close_to(const float *y, const float *want, int64_t n, bool exact) {
    float most = 1e-6f, worst = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fabsf(want[i]) > most ? fabsf(want[i]) : most;
        worst = fabsf(y[i] - want[i]) > worst || isnan(y[i]) ? fabsf(y[i] - want[i]) : worst;
    }
    return exact ? !memcmp(y, want, (size_t)n * sizeof *y) : worst <= 1e-5f * most;
}

typedef struct library {
    char dir[40], path[80];
    hone_artifact *a;
    const hone_model *m;
} library;

/* Some are compiled at the level of users; so are rows of floats, which take longer to run than to compile without it.
 */
static const char *compiler_of(const hn_codec *c) {
    bool optimised = !c->groups || !strcmp(c->text, "q8_0");
    return optimised ? NULL : getenv("HONE_QUICK_CC");
}

static bool make(hone_graph *g, const hn_codec *c, const char *target, library *l, hone_err *err) {
    char base[60];
    strcpy(l->dir, "/tmp/hone-packed-XXXXXX");
    if (!mkdtemp(l->dir)) return false;
    snprintf(base, sizeof base, "%s/m", l->dir);
    snprintf(l->path, sizeof l->path, "%s.so", base);
    const hone_compile_options o = {.size = sizeof o,
                                    .output = base,
                                    .no_parity = true,
                                    .no_winners = true,
                                    .no_cache = true,
                                    .compiler = compiler_of(c),
                                    .target = target};
    const hone_artifact_options how = {.size = sizeof how, .n_threads = 2};
    if (hone_compile_graph(g, "m", &o, NULL, err) || hone_artifact_load(l->path, &how, &l->a, err)) return false;
    l->m = hone_artifact_model(l->a);
    return true;
}

static void drop(library *l) {
    static const char *const end[] = {"so", "h", "manifest", "weights"};
    char path[80];
    hone_artifact_free(l->a);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/m.%s", l->dir, end[i]);
        unlink(path);
    }
    rmdir(l->dir);
}

static float *room(int k) { return malloc((size_t)(MOST * width_of(k)) * sizeof(float)); }

/* All rows at once, then in parts, each row as it was. */
static void judge(const char *what, const library *l, uint32_t n_threads, const hone_array *want) {
    static const int64_t parts[] = {1, 1, 2, 3, 5, 16, 17, 25};
    hone_model_config config = hone_model_defaults();
    hone_model_instance *s = NULL;
    float *all[OUTPUTS], *part[OUTPUTS];
    bool good = true, same = true;
    config.n_threads = (int32_t)n_threads;
    for (int k = 0; k < OUTPUTS; k++) all[k] = room(k), part[k] = room(k);
    if (ok(!l->m->create(&config, &s) && run(l->m, s, 0, MOST, all), "packed/%s_runs", what)) {
        for (int64_t i = 0; i < MOST * OUTPUTS; i++) { /* row by row */
            int64_t k = i % OUTPUTS, n = width_of((int)k), at = i / OUTPUTS * n;
            good = good && close_to(all[k] + at, (const float *)want[k].data + at, n, k == 4);
        }
        ok(good, "packed/%s_as_interpreted", what);
        int64_t from = 0;
        for (size_t p = 0; p < sizeof parts / sizeof *parts; from += parts[p++]) {
            same = same && run(l->m, s, from, parts[p], part);
            for (int k = 0; k < OUTPUTS; k++)
                same = same &&
                       !memcmp(part[k], all[k] + from * width_of(k), (size_t)(parts[p] * width_of(k)) * sizeof(float));
        }
        ok(same && from == MOST, "packed/%s_rows_do_not_depend_on_others", what);
    }
    if (s) l->m->free(s);
    for (int k = 0; k < OUTPUTS; k++) free(all[k]), free(part[k]);
}

static void check(const hn_codec *c, const char *target) {
    hone_err err = {0};
    hone_graph *g = NULL;
    hone_array want[OUTPUTS] = {0};
    library l = {0};
    N = columns_of(c);
    char what[60], *text = graph_of(c);
    bool good = text && !hone_graph_parse(text, strlen(text), &g, &err) && interpreted(g, MOST, want, &err);
    if (!ok(good && make(g, c, target, &l, &err), "packed/%s_%s_is_compiled", c->text, target))
        printf("# %s\n", err.text);
    for (uint32_t t = 1; l.m && t <= 2; t++) {
        snprintf(what, sizeof what, "%s_%s_%u_threads", c->text, target, t);
        judge(what, &l, t, want);
    }
    if (l.dir[0]) drop(&l);
    for (int k = 0; k < OUTPUTS; k++) hone_free(want[k].data);
    hone_graph_free(g);
    free(text);
}

/* Panels hold what rows hold, column by column. */
static void check_panels(const hn_codec *c) {
    enum { ROWS = 37 };
    static uint8_t rows[ROWS * 4096], panels[48 * 4096];
    float a[K], b[K];
    int64_t row_b = hn_codec_row_b(c, K);
    bool same = true;
    for (int64_t i = 0; i < ROWS * row_b; i += c->size_b) block(c, rows + i);
    hn_codec_pack(c, rows, ROWS, row_b, panels);
    for (int64_t i = 0; i < ROWS; i++) {
        hn_codec_row(c, rows, 0, row_b, i, a);
        hn_codec_row(c, panels, HN_PANEL, row_b, i, b);
        same = same && !memcmp(a, b, sizeof a);
    }
    ok(same, "packed/%s_panels_hold_the_rows", c->text);
}

int main(void) {
    const char *only = getenv("HONE_CASE");
    draw();
    for (size_t i = 0; hn_codec_at(i); i++) {
        if (only && strcmp(only, hn_codec_at(i)->text) != 0) continue;
        check_panels(hn_codec_at(i));
        check(hn_codec_at(i), "native");
    }
    if (only) return done_testing();
    check(hn_codec_named("q4_1"), "generic");
    check(hn_codec_named("q6_k"), "generic");
    check(hn_codec_named("f16"), "generic");
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (getenv("HONE_LONG")) check(hn_codec_named("q8_0"), "x86-64-v3");
        check(hn_codec_named("q4_k"), "x86-64-v3");
    }
#endif
    return done_testing();
}
