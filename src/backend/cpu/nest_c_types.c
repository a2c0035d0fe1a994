/* backend/cpu/nest_c_types.c — vector types of one width and functions on them, as text that may be repeated in one
 * file.
 *
 * In the templates, @ is the width. GNU C has no ?: on vectors, so choices are made with masks; hnk_pick does it.
 */
#include "backend/cpu/nest_c.h"

#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *name, *c;
    int size_b;
    const char *same; /* the integer type of that size, for masks */
} row;
static const row rows[] = {
    {"f32", "float", 4, "i32"},    {"f64", "double", 8, "i64"},   {"i8", "int8_t", 1, "i8"},
    {"i16", "int16_t", 2, "i16"},  {"i32", "int32_t", 4, "i32"},  {"i64", "int64_t", 8, "i64"},
    {"u8", "uint8_t", 1, "i8"},    {"u16", "uint16_t", 2, "i16"}, {"u32", "uint32_t", 4, "i32"},
    {"u64", "uint64_t", 8, "i64"},
};

static const char types[] = /* one element type: $ its name, # the integer of its size */
    "HNR hnk_$_x@ hnk_dup_$_x@(#C x) { return x - (hnk_$_x@){0}; }\n"
    "HNR hnk_i32_x@ hnk_mask_$_x@(hnk_#_x@ m) { return __builtin_convertvector(m, hnk_i32_x@); }\n"
    "HNR hnk_$_x@ hnk_pick_$_x@(hnk_i32_x@ m, hnk_$_x@ a, hnk_$_x@ b) {\n"
    "    hnk_#_x@ k = __builtin_convertvector(m, hnk_#_x@);\n"
    "    return (hnk_$_x@)((k & (hnk_#_x@)a) | (~k & (hnk_#_x@)b));\n"
    "}\n";
/* The same of one byte. */
static const char small_types[] = "HNR hnk_$_x@ hnk_dup_$_x@(#C x) { return x - (hnk_$_x@){0}; }\n"
                                  "HNR hnk_i32_x@ hnk_mask_$_x@(hnk_i8_x@ m) { return hnk_i32_of_i8_x@(m); }\n"
                                  "HNR hnk_$_x@ hnk_pick_$_x@(hnk_i32_x@ m, hnk_$_x@ a, hnk_$_x@ b) {\n"
                                  "    hnk_i8_x@ k = hnk_i8_of_i32_x@(m);\n"
                                  "    return (hnk_$_x@)((k & (hnk_i8_x@)a) | (~k & (hnk_i8_x@)b));\n"
                                  "}\n";
/* Between bytes and words of four: gcc 12 knows conversions by a factor of two alone and takes lanes one by one where
 * there are more (50 instructions for 16 bytes). */
static const char bytes_and_words[] =
    "HNR hnk_i32_x@ hnk_i32_of_i8_x@(hnk_i8_x@ x) {\n"
    "#if !defined(__clang__) && @ == 16 && defined(__AVX512F__)\n"
    "    typedef char bytes __attribute__((vector_size(16)));\n"
    "    return __builtin_ia32_pmovsxbd512_mask((bytes)x, (hnk_i32_x@){0}, -1);\n"
    "#elif !defined(__clang__) && @ == 8 && defined(__AVX2__)\n"
    "    typedef char bytes __attribute__((vector_size(16)));\n"
    "    typedef long long two __attribute__((vector_size(16)));\n"
    "    return __builtin_ia32_pmovsxbd256((bytes)(two){(long long)x, 0});\n"
    "#else\n"
    "    return __builtin_convertvector(__builtin_convertvector(x, hnk_i16_x@), hnk_i32_x@);\n"
    "#endif\n}\n"
    "HNR hnk_i32_x@ hnk_i32_of_u8_x@(hnk_u8_x@ x) {\n"
    "#if !defined(__clang__) && @ == 16 && defined(__AVX512F__)\n"
    "    typedef char bytes __attribute__((vector_size(16)));\n"
    "    return __builtin_ia32_pmovzxbd512_mask((bytes)x, (hnk_i32_x@){0}, -1);\n"
    "#elif !defined(__clang__) && @ == 8 && defined(__AVX2__)\n"
    "    typedef char bytes __attribute__((vector_size(16)));\n"
    "    typedef long long two __attribute__((vector_size(16)));\n"
    "    return __builtin_ia32_pmovzxbd256((bytes)(two){(long long)x, 0});\n"
    "#else\n"
    "    return __builtin_convertvector(__builtin_convertvector(x, hnk_u16_x@), hnk_i32_x@);\n"
    "#endif\n}\n"
    "HNR hnk_i8_x@ hnk_i8_of_i32_x@(hnk_i32_x@ x) {\n"
    "#if !defined(__clang__) && @ == 16 && defined(__AVX512F__)\n"
    "    typedef char bytes __attribute__((vector_size(16)));\n"
    "    return (hnk_i8_x@)__builtin_ia32_pmovdb512_mask(x, (bytes){0}, -1);\n"
    "#elif !defined(__clang__) && @ == 8 && defined(__AVX2__)\n"
    "    typedef char bytes __attribute__((vector_size(32)));\n"
    "    const bytes lowest = {0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,\n"
    "                          0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};\n"
    "    const hnk_u32_x@ y = (hnk_u32_x@)__builtin_ia32_pshufb256((bytes)x, lowest);\n"
    "    return (hnk_i8_x@)(y[0] | (uint64_t)y[4] << 32);\n"
    "#else\n"
    "    return __builtin_convertvector(__builtin_convertvector(x, hnk_i16_x@), hnk_i8_x@);\n"
    "#endif\n}\n";
/* The first where it is NaN, else the second where that is. */
static const char extremes[] = "HNR hnk_$_x@ hnk_min_$_x@(hnk_$_x@ a, hnk_$_x@ b) {\n"
                               "    hnk_#_x@ k = (a < b) | (a != a);\n"
                               "    return (hnk_$_x@)((k & (hnk_#_x@)a) | (~k & (hnk_#_x@)b));\n"
                               "}\n"
                               "HNR hnk_$_x@ hnk_max_$_x@(hnk_$_x@ a, hnk_$_x@ b) {\n"
                               "    hnk_#_x@ k = (a > b) | (a != a);\n"
                               "    return (hnk_$_x@)((k & (hnk_#_x@)a) | (~k & (hnk_#_x@)b));\n"
                               "}\n";

static const char common[] =
    "HNR hnk_i32_x@ hnk_dup_bool_x@(uint8_t x) { return -(int32_t)x - (hnk_i32_x@){0}; }\n"
    "HNR hnk_i32_x@ hnk_pick_bool_x@(hnk_i32_x@ m, hnk_i32_x@ a, hnk_i32_x@ b) { return (m & a) | (~m & b); }\n"
    "HNR hnk_f32_x@ hnk_abs_f32_x@(hnk_f32_x@ x) { return (hnk_f32_x@)((hnk_i32_x@)x & 0x7fffffff); }\n"
    "HNR hnk_f64_x@ hnk_abs_f64_x@(hnk_f64_x@ x) { return (hnk_f64_x@)((hnk_i64_x@)x & 0x7fffffffffffffff); }\n"
    "HNR hnk_f32_x@ hnk_power2_f32_x@(hnk_f32_x@ x) { return x * x; }\n"
    "HNR hnk_f32_x@ hnk_power3_f32_x@(hnk_f32_x@ x) {\n"
    "    hnk_f64_x@ d = __builtin_convertvector(x, hnk_f64_x@);\n"
    "    return __builtin_convertvector(d * d * d, hnk_f32_x@);\n"
    "}\n";
static const char absolute[] =
    "HNR hnk_$_x@ hnk_abs_$_x@(hnk_$_x@ x) { return hnk_pick_$_x@(hnk_mask_$_x@(x < 0), -x, x); }\n";

/* f16 and bf16, as u16 in memory and f32 in registers; to nearest even. Without the processor's conversions by integers
 * (Giesen, "Float to half conversion", 2012; NaN becomes the canonical one). What `round` gives is a value of the small
 * type. */
static const char halves[] =
    "    hnk_u32_x@ x = __builtin_convertvector(h, hnk_u32_x@), a = (x & 0x7fff) << 13, e = a & 0x0f800000;\n"
    "    hnk_u32_x@ n = a + 0x38000000, top = (hnk_u32_x@)(e == 0x0f800000), tiny = (hnk_u32_x@)(e == 0);\n"
    "    hnk_u32_x@ t = (hnk_u32_x@)((hnk_f32_x@)(n + 0x00800000) - 0x1p-14f);\n"
    "    n += top & 0x38000000;\n"
    "    return (hnk_f32_x@)((tiny & t) | (~tiny & n) | (x & 0x8000) << 16);\n"
    "#endif\n}\n";
static const char to_halves[] =
    "    hnk_u32_x@ x = (hnk_u32_x@)v, a = x & 0x7fffffff, n = (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13;\n"
    "    hnk_u32_x@ t = (hnk_u32_x@)((hnk_f32_x@)a + 0.5f) - 0x3f000000, tiny = (hnk_u32_x@)(a < 0x38800000);\n"
    "    hnk_u32_x@ big = (hnk_u32_x@)(a >= 0x47800000), nan = (hnk_u32_x@)(a > 0x7f800000);\n"
    "    n = (tiny & t) | (~tiny & n);\n"
    "    n = (big & 0x7c00) | (~big & n) | (nan & 0x200);\n"
    "    return __builtin_convertvector(n | (x >> 16 & 0x8000), hnk_u16_x@);\n"
    "#endif\n}\n"
    "HNR hnk_f32_x@ hnk_round_f16_x@(hnk_f32_x@ v) { return hnk_widen_f16_x@(hnk_narrow_f16_x@(v)); }\n"
    "HNR hnk_f32_x@ hnk_widen_bf16_x@(hnk_u16_x@ h) {\n"
    "    return (hnk_f32_x@)(__builtin_convertvector(h, hnk_u32_x@) << 16);\n"
    "}\n"
    "HNR hnk_f32_x@ hnk_round_bf16_x@(hnk_f32_x@ v) {\n"
    "    hnk_u32_x@ x = (hnk_u32_x@)v, n = (x + 0x7fff + (x >> 16 & 1)) & 0xffff0000, nan = (hnk_u32_x@)(v != v);\n"
    "    return (hnk_f32_x@)((nan & 0x7fc00000) | (~nan & n));\n"
    "}\n"
    "HNR hnk_u16_x@ hnk_narrow_bf16_x@(hnk_f32_x@ v) {\n"
    "    return __builtin_convertvector((hnk_u32_x@)hnk_round_bf16_x@(v) >> 16, hnk_u16_x@);\n"
    "}\n";

/* The quotient of a part of a sum by that sum, from 1 on: the reciprocal's product, put right twice. It is what IEEE
 * division gives (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990) as long
 * as remainders are exact: for quotients from 2^-100 on; smaller ones may be off by one unit. */
static const char part[] = "HNR hnk_f32_x@ hnk_part_f32_x@(hnk_f32_x@ a, float b) {\n"
                           "    hnk_f32_x@ d = hnk_dup_f32_x@(b), y = hnk_dup_f32_x@(1.0f / b), q = a * y;\n"
                           "    q = hnk_fma_f32_x@(hnk_fma_f32_x@(-d, q, a), y, q);\n"
                           "    return hnk_fma_f32_x@(hnk_fma_f32_x@(-d, q, a), y, q);\n"
                           "}\n";

/* @ becomes the width, $ the element type, #_ the integer of its size, #C the type in C, %p and %f its letters in names
 * of builtins. */
static void template(hn_str *out, const char *text, int width, const row *r) {
    for (; *text; text++) {
        if (*text == '@')
            hn_str_addf(out, "%d", width);
        else if (*text == '$' && r)
            hn_str_add(out, r->name);
        else if (*text == '#' && r && text[1] == 'C')
            hn_str_add(out, (text++, r->c));
        else if (*text == '#' && r && text[1] == '_')
            hn_str_add(out, r->same);
        else if (*text == '%' && r && text[1] == 'p')
            hn_str_add(out, (text++, r->size_b == 8 ? "pd" : "ps"));
        else if (*text == '%' && r && text[1] == 'f')
            hn_str_add(out, (text++, r->size_b == 8 ? "df" : "sf"));
        else
            hn_str_add_n(out, text, 1);
    }
}
void hn_c_template(hn_str *out, const char *text, int width, hone_dtype t) {
    const char *name = hn_c_lane(t);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!strcmp(rows[k].name, name)) template(out, text, width, &rows[k]);
}

/* --- functions that have builtins ----------------------------------------------------------------------------------
 */

static const struct {
    hn_c_builtin function;
    int bits;
    const char *condition, *text;
} builtins[] = {
#define HN_BUILTIN(function, bits, condition, text) {HN_C_##function, bits, condition, text},
#include "backend/cpu/builtins.def"
};
enum { N_BUILTINS = sizeof builtins / sizeof *builtins };

unsigned hn_c_builtins(hn_str *out, hn_c_builtin f, int width, hone_dtype t, const char *directive) {
    const row *r = &rows[t == HONE_F64];
    unsigned n = 0;
    for (size_t i = 0; i < N_BUILTINS; i++) {
        if (builtins[i].function != f || builtins[i].bits != width * r->size_b * 8) continue;
        hn_str_addf(out, "%s %s\n    return ", n++ ? "#elif" : directive, builtins[i].condition);
        template(out, builtins[i].text, width, r);
        hn_str_add(out, ";\n");
    }
    return n;
}

/* a*b + c with one rounding, else lane by lane. */
static void fused(hn_str *out, int width, hone_dtype t) {
    const char *name = hn_c_lane(t);
    hn_str_addf(out, "HNR hnk_%s_x%d hnk_fma_%s_x%d(hnk_%s_x%d a, hnk_%s_x%d b, hnk_%s_x%d c) {\n", name, width, name,
                width, name, width, name, width, name, width);
    hn_str_add(out, "#if HNK_HAS_ELEMENTWISE_FMA\n    return __builtin_elementwise_fma(a, b, c);\n");
    hn_c_builtins(out, HN_C_FMA, width, t, "#elif");
    hn_str_addf(
        out,
        "#else\n    for (int l = 0; l < %d; l++) c[l] = __builtin_fma%s(a[l], b[l], c[l]);\n    return c;\n#endif\n}\n",
        width, t == HONE_F64 ? "" : "f");
}

static void root(hn_str *out, int width, hone_dtype t) {
    const char *name = hn_c_lane(t);
    hn_str_addf(out, "HNR hnk_%s_x%d hnk_sqrt_%s_x%d(hnk_%s_x%d x) {\n", name, width, name, width, name, width);
    bool has = hn_c_builtins(out, HN_C_SQRT, width, t, "#if") > 0;
    if (has) hn_str_add(out, "#else\n");
    hn_str_addf(out, "    for (int l = 0; l < %d; l++) x[l] = sqrt%s(x[l]);\n    return x;\n", width,
                t == HONE_F64 ? "" : "f");
    hn_str_add(out, has ? "#endif\n}\n" : "}\n");
}

bool hn_c_once(hn_c *c, const char *guard) {
    for (const hn_c_guard *g = c->guards; g; g = g->next)
        if (!strcmp(g->name, guard)) return false;
    hn_c_guard *added = HN_NEW(c->n->a, hn_c_guard);
    const char *name = hn_strdup(c->n->a, guard);
    if (added && name) {
        *added = (hn_c_guard){name, c->guards};
        c->guards = added;
    }
    hn_str_addf(c->folds, "#ifndef %s\n#define %s\n", guard, guard);
    return true;
}

/* Minimum and maximum under one condition, as the processor has them. */
static bool processor_extremes(hn_str *out, int width, const row *r) {
    static const struct {
        hn_c_builtin function;
        const char *name;
    } both[] = {{HN_C_MIN, "min"}, {HN_C_MAX, "max"}};
    bool has = false;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < N_BUILTINS; i++) {
            if (builtins[i].function != both[k].function || builtins[i].bits != width * r->size_b * 8) continue;
            if (!k) hn_str_addf(out, "#if %s\n", builtins[i].condition);
            hn_str_addf(out, "HNR hnk_%s_x%d hnk_%s_%s_x%d(hnk_%s_x%d a, hnk_%s_x%d b) {\n    return ", r->name, width,
                        both[k].name, r->name, width, r->name, width, r->name, width);
            template(out, builtins[i].text, width, r);
            hn_str_add(out, ";\n}\n");
            has = true;
        }
    if (has) hn_str_add(out, "#else\n");
    return has;
}
static void extremes_of(hn_str *out, int width, const row *r) {
    bool processor = (r == &rows[0] || r == &rows[1]) && processor_extremes(out, width, r);
    template(out, extremes, width, r);
    if (processor) hn_str_add(out, "#endif\n");
}

static void small_floats(hn_str *out, int width) {
    hn_str_addf(out, "HNR hnk_f32_x%d hnk_widen_f16_x%d(hnk_u16_x%d h) {\n", width, width, width);
    if (!hn_c_builtins(out, HN_C_WIDEN, width, HONE_F32, "#if")) hn_str_add(out, "#if 0\n    return ;\n");
    hn_str_add(out, "#else\n");
    template(out, halves, width, NULL);
    hn_str_addf(out, "HNR hnk_u16_x%d hnk_narrow_f16_x%d(hnk_f32_x%d v) {\n", width, width, width);
    if (!hn_c_builtins(out, HN_C_NARROW, width, HONE_F32, "#if"))
        hn_str_addf(out, "#if 0\n    return (hnk_u16_x%d);\n", width);
    hn_str_add(out, "#else\n");
    template(out, to_halves, width, NULL);
}

/* HNK_KEEP(v): v is in a register from here on, and the compiler does not know where its value comes from. HNK_LATE(v):
 * v is in memory here, likewise. HNK_CLEAR(): no vector register holds a value here. */
static const char once[] =
    "#ifndef HNK_KEEP\n"
    "#if defined(__has_builtin) && defined(__clang__)\n"
    "#define HNK_HAS_ELEMENTWISE_FMA __has_builtin(__builtin_elementwise_fma)\n#else\n"
    "#define HNK_HAS_ELEMENTWISE_FMA 0\n#endif\n"
    "#define HNK_LATE(v) __asm__ volatile(\"\" : \"+m\"(v))\n"
    "#define HNK_X(n) \"xmm\" #n\n"
    "#define HNK_LOW HNK_X(0), HNK_X(1), HNK_X(2), HNK_X(3), HNK_X(4), HNK_X(5), HNK_X(6), HNK_X(7), HNK_X(8), "
    "HNK_X(9), HNK_X(10), HNK_X(11), HNK_X(12), HNK_X(13), HNK_X(14), HNK_X(15)\n"
    "#if defined(__AVX512VL__)\n#define HNK_KEEP(v) __asm__(\"\" : \"+v\"(v))\n"
    "#define HNK_CLEAR() __asm__ volatile(\"\" ::: HNK_LOW, HNK_X(16), HNK_X(17), HNK_X(18), HNK_X(19), HNK_X(20), "
    "HNK_X(21), HNK_X(22), HNK_X(23), HNK_X(24), HNK_X(25), HNK_X(26), HNK_X(27), HNK_X(28), HNK_X(29), HNK_X(30), "
    "HNK_X(31))\n"
    "#elif defined(__SSE2__)\n#define HNK_KEEP(v) __asm__(\"\" : \"+x\"(v))\n"
    "#define HNK_CLEAR() __asm__ volatile(\"\" ::: HNK_LOW)\n"
    "#else\n"
    "#if defined(__aarch64__)\n#define HNK_KEEP(v) __asm__(\"\" : \"+w\"(v))\n"
    "#else\n#define HNK_KEEP(v) (void)0\n#endif\n"
    "#define HNK_CLEAR() (void)0\n#endif\n#endif\n";

static void vectors(hn_str *out, int width) {
    hn_str_addf(out, "#ifndef HNK_X%d\n#define HNK_X%d\n", width, width);
    hn_str_add(out, once);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const row *r = &rows[k];
        hn_str_addf(out, "typedef %s hnk_%s_x%d __attribute__((vector_size(%d)));\n", r->c, r->name, width,
                    width * r->size_b);
        hn_str_addf(out, "typedef %s hnk_%s_x%du __attribute__((vector_size(%d), aligned(%d), may_alias));\n", r->c,
                    r->name, width, width * r->size_b, r->size_b);
    }
    template(out, bytes_and_words, width, NULL);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        template(out, rows[k].size_b == 1 ? small_types : types, width, &rows[k]);
        extremes_of(out, width, &rows[k]);
    }
    template(out, common, width, NULL);
    for (size_t k = 2; k < sizeof rows / sizeof *rows; k++) template(out, absolute, width, &rows[k]);
    fused(out, width, HONE_F32);
    fused(out, width, HONE_F64);
    root(out, width, HONE_F32);
    root(out, width, HONE_F64);
    template(out, part, width, NULL);
    small_floats(out, width);
    hn_str_add(out, "#endif\n");
}

static int size_of(const char *name) {
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!strcmp(rows[k].name, name)) return rows[k].size_b;
    return 0;
}

void hn_c_converted(hn_str *out, int width, const char *from, const char *to, const char *a) {
    const int size = size_of(from), to_size = size_of(to);
    const bool is_word = size == 4 && from[0] != 'f', to_word = to_size == 4 && to[0] != 'f';
    if (size == 1 && to_word)
        hn_str_addf(out, "(hnk_%s_x%d)hnk_i32_of_%s_x%d(%s)", to, width, from, width, a);
    else if (size == 1 && to_size >= 4)
        hn_str_addf(out, "__builtin_convertvector(hnk_i32_of_%s_x%d(%s), hnk_%s_x%d)", from, width, a, to, width);
    else if (is_word && to_size == 1)
        hn_str_addf(out, "(hnk_%s_x%d)hnk_i8_of_i32_x%d((hnk_i32_x%d)(%s))", to, width, width, width, a);
    else
        hn_str_addf(out, "__builtin_convertvector(%s, hnk_%s_x%d)", a, to, width);
}

void hn_c_prelude_once(hn_str *out) { hn_str_add(out, once); }

void hn_c_prelude(hn_str *out, int width, uint32_t math) {
    if (width > 1) vectors(out, width);
    if (math) hn_c_math_text(out, width, math);
}
