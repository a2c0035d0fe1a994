/* emit/nest_c_round.c — rounding and signs of vectors, and vectors of floats to integers: each function is written
 * where a kernel first needs it, so that others do not pay for its compilation. Templates as hn_c_template has them.
 */
#include "emit/nest_c.h"

#include <stdio.h>
#include <string.h>

/* To the nearest, even: below 2^23 (2^52) a sum with that number has no fraction. Results keep their operand's sign,
 * zeros' too; what is larger, and NaN, stays. */
static const char rint_text[] =
    "HNR hnk_$_x@ hnk_rint_$_x@(hnk_$_x@ x) {\n"
    "    const hnk_#_x@ sign = (hnk_#_x@)(-(hnk_$_x@){0}), s = (hnk_#_x@)x & sign;\n"
    "    const hnk_$_x@ a = (hnk_$_x@)((hnk_#_x@)x & ~sign), big = hnk_dup_$_x@(sizeof x[0] == 4 ? 0x1p23 : 0x1p52);\n"
    "    const hnk_#_x@ k = a < big;\n"
    "    return (hnk_$_x@)((k & (hnk_#_x@)((a + big) - big)) | (~k & (hnk_#_x@)a) | s);\n"
    "}\n";
static const char floor_text[] = "HNR hnk_$_x@ hnk_floor_$_x@(hnk_$_x@ x) {\n"
                                 "    const hnk_$_x@ r = hnk_rint_$_x@(x), one = hnk_dup_$_x@(1);\n"
                                 "    return r - (hnk_$_x@)((hnk_#_x@)(r > x) & (hnk_#_x@)one);\n"
                                 "}\n";
static const char ceil_text[] =
    "HNR hnk_$_x@ hnk_ceil_$_x@(hnk_$_x@ x) {\n"
    "    const hnk_$_x@ r = hnk_rint_$_x@(x), one = hnk_dup_$_x@(1);\n"
    "    const hnk_#_x@ s = (hnk_#_x@)x & (hnk_#_x@)(-(hnk_$_x@){0});\n"
    "    return (hnk_$_x@)((hnk_#_x@)(r + (hnk_$_x@)((hnk_#_x@)(r < x) & (hnk_#_x@)one)) | s);\n"
    "}\n";
static const char trunc_text[] =
    "HNR hnk_$_x@ hnk_trunc_$_x@(hnk_$_x@ x) {\n"
    "    const hnk_#_x@ sign = (hnk_#_x@)(-(hnk_$_x@){0});\n"
    "    const hnk_$_x@ a = (hnk_$_x@)((hnk_#_x@)x & ~sign), r = hnk_rint_$_x@(a), one = hnk_dup_$_x@(1);\n"
    "    return (hnk_$_x@)((hnk_#_x@)(r - (hnk_$_x@)((hnk_#_x@)(r > a) & (hnk_#_x@)one)) | ((hnk_#_x@)x & sign));\n"
    "}\n";
/* Zeros and NaN are their own sign. */
static const char sign_text[] =
    "HNR hnk_$_x@ hnk_sign_$_x@(hnk_$_x@ x) {\n"
    "    const hnk_$_x@ one = hnk_dup_$_x@(1);\n"
    "    const hnk_#_x@ p = x > 0, m = x < 0;\n"
    "    return (hnk_$_x@)((p & (hnk_#_x@)one) | (m & (hnk_#_x@)-one) | (~(p | m) & (hnk_#_x@)x));\n"
    "}\n";
/* Is any lane of a mask set? */
static const char any_text[] = "HNR int hnk_any_x@(hnk_i32_x@ m) {\n"
                               "#ifdef __clang__\n"
                               "    return __builtin_reduce_or(m);\n"
                               "#elif @ == 16 && defined(__AVX512F__)\n"
                               "    return __builtin_ia32_ptestmd512((hnk_i32_x16)m, (hnk_i32_x16)m, -1);\n"
                               "#elif @ == 8 && defined(__AVX__)\n"
                               "    return __builtin_ia32_movmskps256((hnk_f32_x8)m);\n"
                               "#elif @ == 4 && defined(__SSE__)\n"
                               "    return __builtin_ia32_movmskps((hnk_f32_x4)m);\n"
                               "#else\n"
                               "    int any = 0;\n"
                               "    for (int l = 0; l < @; l++) any |= m[l];\n"
                               "    return any;\n"
                               "#endif\n"
                               "}\n";

/* Opens the guard of function `name` for t; false: it is written already. */
static bool opens(hn_c *c, const char *name, hone_dtype t) {
    char guard[64];
    snprintf(guard, sizeof guard, "HNK_HAS_%s_%s_X%d", name, hn_c_lane(t), c->width);
    return hn_c_once(c, guard);
}

static void need(hn_c *c, const char *name, const char *text, hone_dtype t) {
    if (!opens(c, name, t)) return;
    hn_c_template(c->folds, text, c->width, t);
    hn_str_add(c->folds, "#endif\n");
}

bool hn_c_round(hn_c *c, hn_str *out, hn_op op, hone_dtype t, const char *a) {
    static const struct {
        hn_op op;
        const char *name, *text;
    } row[] = {{HN_OP_ROUND, "rint", rint_text},
               {HN_OP_FLOOR, "floor", floor_text},
               {HN_OP_CEIL, "ceil", ceil_text},
               {HN_OP_TRUNC, "trunc", trunc_text},
               {HN_OP_SIGN, "sign", sign_text}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (row[i].op != op) continue;
        if (op != HN_OP_SIGN) need(c, "rint", rint_text, t);
        need(c, row[i].name, row[i].text, t);
        hn_str_addf(out, "hnk_%s_%s_x%d(%s)", row[i].name, hn_c_lane(t), c->width, a);
        return true;
    }
    return false;
}

/* Integers of 32 bits and fewer, by way of the processor's conversion to i32 where all lanes fit that. */
bool hn_c_to_int(hn_c *c, hn_str *out, const hn_scalar *x, hone_dtype from, const char *a) {
    const hn_dtype_info *t = hn_dtype_of(x->dtype);
    int w = c->width, bits = t->bits;
    bool is_signed = t->cls == HN_CLASS_INT, narrow = bits < 32;
    if (from == HONE_F64 || bits < 8 || bits > 32 || (bits == 32 && !is_signed)) return false;
    const char *how = x->saturate ? "clip" : "wrap", *name = t->text;
    long long top = (1LL << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -top - 1 : 0;
    need(c, "any", any_text, HONE_I32);
    if (opens(c, how, x->dtype)) {
        hn_str_addf(c->folds, "HNR hnk_%s_x%d hnk_%s_%s_x%d(hnk_f32_x%d x) {\n", name, w, how, name, w, w);
        hn_str_addf(c->folds, "    hnk_%s_x%d y;\n    if (!hnk_any_x%d(~((x >= -0x1p31f) & (x < 0x1p31f)))) {\n", name,
                    w, w);
        hn_str_addf(c->folds, "        hnk_i32_x%d i = __builtin_convertvector(x, hnk_i32_x%d);\n", w, w);
        if (x->saturate && narrow)
            hn_str_addf(
                c->folds,
                "        i = hnk_min_i32_x%d(hnk_max_i32_x%d(i, hnk_dup_i32_x%d(%lld)), hnk_dup_i32_x%d(%lld));\n", w,
                w, w, low, w, top);
        hn_str_addf(c->folds, "        return __builtin_convertvector(i, hnk_%s_x%d);\n    }\n", name, w);
        hn_str_addf(c->folds, "    for (int l = 0; l < %d; l++) y[l] = (%s)", w, hn_c_type(x->dtype));
        if (!x->saturate)
            hn_str_add(c->folds, "hnr_f_to_i_wrap(x[l]);\n");
        else if (is_signed)
            hn_str_addf(c->folds, "hnr_f_to_i(x[l], -%lldLL - 1, %lldLL);\n", top, top);
        else
            hn_str_addf(c->folds, "hnr_f_to_u(x[l], %lldULL);\n", top);
        hn_str_add(c->folds, "    return y;\n}\n#endif\n");
    }
    hn_str_addf(out, "hnk_%s_%s_x%d(%s)", how, name, w, a);
    return true;
}
