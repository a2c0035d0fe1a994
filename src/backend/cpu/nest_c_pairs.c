/* backend/cpu/nest_c_pairs.c — the sum of the products of the two bf16 of words onto a third: one instruction where the
 * processor has it (Intel SDM, VDPBF16PS), which compilers reach by its name alone without a header of intrinsics. It
 * adds the product of the high ones, then that of the low ones, rounds to nearest even each time, and takes subnormal
 * operands and results for zeros. Elsewhere two multiplications and additions. And one bf16 of a word as f32, for
 * multiply-adds of f32: the high one is the word without its low half.
 */
#include "backend/cpu/nest_c.h"

#include <stdio.h>

static const char pair_text[] =
    "HNR hnk_f32_x@ hnk_low_x@(hnk_i32_x@ w) { return (hnk_f32_x@)(w << 16); }\n"
    "HNR hnk_f32_x@ hnk_high_x@(hnk_i32_x@ w) { return (hnk_f32_x@)(w & -65536); }\n#endif\n";

static const char pairs_text[] =
    "HNR hnk_f32_x@ hnk_pairs_x@(hnk_f32_x@ sum, hnk_i32_x@ a, hnk_i32_x@ b) {\n"
    "#if defined(__AVX512BF16__) && (@ == 16 || (defined(__AVX512VL__) && (@ == 4 || @ == 8)))\n"
    "    __asm__(\"vdpbf16ps %2, %1, %0\" : \"+v\"(sum) : \"v\"(a), \"vm\"(b));\n"
    "    return sum;\n"
    "#else\n"
    "    sum += (hnk_f32_x@)(a & -65536) * (hnk_f32_x@)(b & -65536);\n"
    "    return sum + (hnk_f32_x@)(a << 16) * (hnk_f32_x@)(b << 16);\n"
    "#endif\n"
    "}\n#endif\n";

/* A single float has the bits of one of a vector. */
static const char pair_one[] =
    "HNR float hnk_low_x1(int32_t w) { return (union { uint32_t i; float f; }){(uint32_t)w << 16}.f; }\n"
    "HNR float hnk_high_x1(int32_t w) { return (union { uint32_t i; float f; }){(uint32_t)w & 0xffff0000u}.f; "
    "}\n#endif\n";

static const char pairs_one[] =
    "HNR float hnk_pairs_x1(float sum, int32_t a, int32_t b) {\n"
    "#if defined(__AVX512BF16__) && defined(__AVX512VL__)\n"
    "    typedef float floats __attribute__((vector_size(16)));\n"
    "    typedef int32_t words __attribute__((vector_size(16)));\n"
    "    floats s = {sum};\n"
    "    words x = {a}, y = {b};\n"
    "    __asm__(\"vdpbf16ps %2, %1, %0\" : \"+v\"(s) : \"v\"(x), \"v\"(y));\n"
    "    return s[0];\n"
    "#else\n"
    "    typedef union { uint32_t i; float f; } bits;\n"
    "    sum += (bits){(uint32_t)a & 0xffff0000u}.f * (bits){(uint32_t)b & 0xffff0000u}.f;\n"
    "    return sum + (bits){(uint32_t)a << 16}.f * (bits){(uint32_t)b << 16}.f;\n"
    "#endif\n"
    "}\n#endif\n";

static void write_once(hn_c *c, const char *what, const char *text, const char *one, int width) {
    char guard[40];
    snprintf(guard, sizeof guard, "HNK_HAS_%s_X%d", what, width);
    if (!hn_c_once(c, guard)) return;
    if (width == 1)
        hn_str_add(c->folds, one);
    else
        hn_c_template(c->folds, text, width, HONE_F32);
}

void hn_c_pairs(hn_c *c, hn_str *out, const char *sum, const char *a, const char *b, bool vector) {
    int width = vector ? c->width : 1;
    hn_str_addf(out, "hnk_pairs_x%d(%s, %s, %s)", width, sum, a, b);
    write_once(c, "PAIRS", pairs_text, pairs_one, width);
}

void hn_c_pair(hn_c *c, hn_str *operand, hn_pairs which, bool vector) {
    hn_str all = {0};
    int width = vector ? c->width : 1;
    if (which != HN_PAIRS_LOW && which != HN_PAIRS_HIGH) return;
    hn_str_addf(&all, "hnk_%s_x%d(%s)", which == HN_PAIRS_LOW ? "low" : "high", width,
                operand->text ? operand->text : "0");
    hn_str_free(operand);
    *operand = all;
    write_once(c, "PAIR", pair_text, pair_one, width);
}
