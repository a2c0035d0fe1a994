/* backend/cpu/nest_c_round.c — rounding, signs and remainders of vectors, and vectors of floats to integers: each
 * function is written where a kernel first needs it, so that others do not pay for its compilation. Templates as
 * hn_c_template has them.
 */
#include "backend/cpu/nest_c.h"

#include <stdio.h>
#include <string.h>

/* Bodies, for processors and compilers without an instruction. To the nearest, even: below 2^23 (2^52) a sum with that
 * number has no fraction. Results keep their operand's sign, zeros' too; what is larger, and NaN, stays. */
static const char rint_text[] =
    "    const hnk_#_x@ sign = (hnk_#_x@)(-(hnk_$_x@){0}), s = (hnk_#_x@)x & sign;\n"
    "    const hnk_$_x@ a = (hnk_$_x@)((hnk_#_x@)x & ~sign), big = hnk_dup_$_x@(sizeof x[0] == 4 ? 0x1p23 : 0x1p52);\n"
    "    const hnk_#_x@ k = a < big;\n"
    "    return (hnk_$_x@)((k & (hnk_#_x@)((a + big) - big)) | (~k & (hnk_#_x@)a) | s);\n";
static const char floor_text[] = "    const hnk_$_x@ r = hnk_rint_$_x@(x), one = hnk_dup_$_x@(1);\n"
                                 "    return r - (hnk_$_x@)((hnk_#_x@)(r > x) & (hnk_#_x@)one);\n";
static const char ceil_text[] =
    "    const hnk_$_x@ r = hnk_rint_$_x@(x), one = hnk_dup_$_x@(1);\n"
    "    const hnk_#_x@ s = (hnk_#_x@)x & (hnk_#_x@)(-(hnk_$_x@){0});\n"
    "    return (hnk_$_x@)((hnk_#_x@)(r + (hnk_$_x@)((hnk_#_x@)(r < x) & (hnk_#_x@)one)) | s);\n";
static const char trunc_text[] =
    "    const hnk_#_x@ sign = (hnk_#_x@)(-(hnk_$_x@){0});\n"
    "    const hnk_$_x@ a = (hnk_$_x@)((hnk_#_x@)x & ~sign), r = hnk_rint_$_x@(a), one = hnk_dup_$_x@(1);\n"
    "    return (hnk_$_x@)((hnk_#_x@)(r - (hnk_$_x@)((hnk_#_x@)(r > a) & (hnk_#_x@)one)) | ((hnk_#_x@)x & sign));\n";
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

/* C's fmod. The quotient of what is positive, rounded once and then to an integer, is the true one's floor or ceiling
 * as long as it is below 2^23 (2^52); what is left of x then is a multiple of y's last place and no more than y, so
 * that the fused product is exact. Larger quotients, and what is not finite, lane by lane. */
static const char rem_text[] =
    "HNR hnk_$_x@ hnk_rem_$_x@(hnk_$_x@ x, hnk_$_x@ y) {\n"
    "    const hnk_#_x@ sign = (hnk_#_x@)(-(hnk_$_x@){0}), s = (hnk_#_x@)x & sign;\n"
    "    const hnk_$_x@ a = (hnk_$_x@)((hnk_#_x@)x & ~sign), b = (hnk_$_x@)((hnk_#_x@)y & ~sign), t = a / b;\n"
    "    const hnk_$_x@ big = hnk_dup_$_x@(sizeof x[0] == 4 ? 0x1p23 : 0x1p52);\n"
    "    hnk_$_x@ r = hnk_fma_$_x@(big - (t + big), b, a);\n"
    "    r += (hnk_$_x@)((hnk_#_x@)(r < 0) & (hnk_#_x@)b);\n"
    "    r = (hnk_$_x@)((hnk_#_x@)r | s);\n"
    "    const hnk_i32_x@ far = hnk_mask_$_x@(~((t < big) & (b < INFINITY)));\n"
    "    if (__builtin_expect(hnk_any_x@(far), 0))\n"
    "        for (int l = 0; l < @; l++)\n"
    "            if (far[l]) r[l] = fmod(x[l], y[l]);\n"
    "    return r;\n"
    "}\n";
/* Of the divisor's sign; as hnr_mod_f, whose sum in double rounds to the same. */
static const char mod_text[] =
    "HNR hnk_$_x@ hnk_mod_$_x@(hnk_$_x@ x, hnk_$_x@ y) {\n"
    "    const hnk_$_x@ r = hnk_rem_$_x@(x, y);\n"
    "    const hnk_#_x@ none = r == 0, differ = (r < 0) ^ (y < 0), sign = (hnk_#_x@)(-(hnk_$_x@){0});\n"
    "    const hnk_$_x@ m = r + (hnk_$_x@)(differ & (hnk_#_x@)y);\n"
    "    return (hnk_$_x@)((none & sign & (hnk_#_x@)y) | (~none & (hnk_#_x@)m));\n"
    "}\n";

bool hn_c_opens(hn_c *c, const char *name, hone_dtype t) {
    char guard[64];
    snprintf(guard, sizeof guard, "HNK_HAS_%s_%s_X%d", name, hn_c_lane(t), c->width);
    return hn_c_once(c, guard);
}

static void need(hn_c *c, const char *name, const char *text, hone_dtype t) {
    if (!hn_c_opens(c, name, t)) return;
    hn_c_template(c->folds, text, c->width, t);
    hn_str_add(c->folds, "#endif\n");
}

void hn_c_need_any(hn_c *c) { need(c, "any", any_text, HONE_I32); }

typedef struct rounding {
    hn_op op;
    const char *name, *text;
    hn_c_builtin builtin;
} rounding;
static const rounding roundings[] = {{HN_OP_ROUND, "rint", rint_text, HN_C_ROUND},
                                     {HN_OP_FLOOR, "floor", floor_text, HN_C_FLOOR},
                                     {HN_OP_CEIL, "ceil", ceil_text, HN_C_CEIL},
                                     {HN_OP_TRUNC, "trunc", trunc_text, HN_C_TRUNC}};

static void need_rounding(hn_c *c, const rounding *r, hone_dtype t) {
    const char *name = hn_c_lane(t);
    int w = c->width;
    if (r->op != HN_OP_ROUND) need_rounding(c, roundings, t);
    if (!hn_c_opens(c, r->name, t)) return;
    hn_str_addf(c->folds, "HNR hnk_%s_x%d hnk_%s_%s_x%d(hnk_%s_x%d x) {\n", name, w, r->name, name, w, name, w);
    hn_str_addf(c->folds, "#ifdef __clang__\n    return __builtin_elementwise_%s(x);\n",
                r->op == HN_OP_ROUND ? "roundeven" : r->name);
    hn_c_builtins(c->folds, r->builtin, w, t, "#elif");
    hn_str_add(c->folds, "#else\n");
    hn_c_template(c->folds, r->text, w, t);
    hn_str_add(c->folds, "#endif\n}\n#endif\n");
}

bool hn_c_round(hn_c *c, hn_str *out, hn_op op, hone_dtype t, const char *a) {
    const char *name = op == HN_OP_SIGN ? "sign" : NULL;
    if (name) need(c, name, sign_text, t);
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++) {
        if (roundings[i].op != op) continue;
        need_rounding(c, &roundings[i], t);
        name = roundings[i].name;
    }
    if (name) hn_str_addf(out, "hnk_%s_%s_x%d(%s)", name, hn_c_lane(t), c->width, a);
    return name != NULL;
}

static bool is_clip_narrow(const hn_scalar *x, hone_dtype from) {
    const hn_dtype_info *t = hn_dtype_of(x->dtype);
    return x->saturate && hn_is_float(from) && from != HONE_F64 && t->cls != HN_CLASS_FLOAT && t->bits >= 8 &&
           t->bits <= 16; /* f32 has their bounds */
}

/* a > b ? a : b and a < b ? a : b, which give b where one is NaN: what the processor's instructions do (Intel SDM,
 * MAXPS and MINPS); clang finds them in the plain text. */
static void need_bound(hn_c *c, const char *name, hn_c_builtin f, char than) {
    int w = c->width;
    if (!hn_c_opens(c, name, HONE_F32)) return;
    hn_str_addf(c->folds, "HNR hnk_f32_x%d hnk_%s_f32_x%d(hnk_f32_x%d a, hnk_f32_x%d b) {\n", w, name, w, w, w);
    bool has = hn_c_builtins(c->folds, f, w, HONE_F32, "#if") > 0;
    if (has) hn_str_add(c->folds, "#else\n");
    hn_str_addf(c->folds, "    const hnk_i32_x%d k = a %c b;\n", w, than);
    hn_str_addf(c->folds, "    return (hnk_f32_x%d)((k & (hnk_i32_x%d)a) | (~k & (hnk_i32_x%d)b));\n", w, w, w);
    hn_str_add(c->folds, has ? "#endif\n}\n#endif\n" : "}\n#endif\n");
}

static void need_bounds(hn_c *c) {
    need_bound(c, "over", HN_C_OVER, '>');
    need_bound(c, "under", HN_C_UNDER, '<');
}

/* Integers of few bits, saturating: within their range before the conversion; NaN is 0, which is the lower bound where
 * there is no sign. Not narrowed yet. */
static void clip_narrow(hn_c *c, hn_str *out, hone_dtype to, const char *a) {
    const hn_dtype_info *t = hn_dtype_of(to);
    const bool has_sign = t->cls == HN_CLASS_INT;
    int w = c->width, top = (1 << (has_sign ? t->bits - 1 : t->bits)) - 1;
    need_bounds(c);
    hn_str_addf(out, "hnk_within_%s_x%d(%s)", t->text, w, a);
    if (!hn_c_opens(c, "within", to)) return;
    hn_str_addf(c->folds, "HNR hnk_i32_x%d hnk_within_%s_x%d(hnk_f32_x%d x) {\n", w, t->text, w, w);
    if (has_sign) hn_str_addf(c->folds, "    const hnk_i32_x%d number = x == x;\n", w);
    hn_str_addf(c->folds, "    x = hnk_under_f32_x%d(hnk_over_f32_x%d(x, hnk_dup_f32_x%d(%d)), hnk_dup_f32_x%d(%d));\n",
                w, w, w, has_sign ? -top - 1 : 0, w, top);
    if (has_sign) hn_str_addf(c->folds, "    x = (hnk_f32_x%d)((hnk_i32_x%d)x & number);\n", w, w);
    hn_str_addf(c->folds, "    return __builtin_convertvector(x, hnk_i32_x%d);\n}\n#endif\n", w);
}

bool hn_c_bound(hn_c *c, hn_str *out, const hn_scalar *x, const char *const a[3]) {
    const hn_scalar *first = &c->n->sv[x->arg[0]], *second = &c->n->sv[x->arg[1]];
    bool max = x->op == HN_OP_MAX, is_first = first->kind == HN_SV_CONST;
    double bound = is_first ? first->f : second->f;
    if (x->dtype != HONE_F32 || (!is_first && second->kind != HN_SV_CONST) || bound != bound) return false;
    need_bounds(c);
    hn_str_addf(out, "hnk_%s_f32_x%d(%s, %s)", max ? "over" : "under", c->width, a[!is_first], a[is_first]);
    return true;
}

bool hn_c_clipped(hn_c *c, hn_str *out, hn_sv v) {
    const hn_scalar *x = &c->n->sv[v];
    hn_str a = {0};
    if (x->kind != HN_SV_OP || x->op != HN_OP_CAST || !is_clip_narrow(x, c->n->sv[x->arg[0]].dtype)) return false;
    hn_c_operand(c, &a, x->arg[0], true, "l");
    clip_narrow(c, out, x->dtype, a.text);
    hn_str_free(&a);
    return true;
}

bool hn_c_remainder(hn_c *c, hn_str *out, hn_op op, hone_dtype t, const char *a, const char *b) {
    if ((op != HN_OP_REM && op != HN_OP_MOD) || !c->fma) return false;
    hn_c_need_any(c);
    need(c, "rem", rem_text, t);
    if (op == HN_OP_MOD) need(c, "mod", mod_text, t);
    hn_str_addf(out, "hnk_%s_%s_x%d(%s, %s)", op == HN_OP_MOD ? "mod" : "rem", hn_c_lane(t), c->width, a, b);
    return true;
}

/* Indices from data: those of an empty or a too short dimension, and negative ones, go one by one. */
static const char index_text[] = "HNR hnk_i64_x@ hnk_index_x@(const int64_t *s, hnk_i64_x@ i, int64_t n) {\n"
                                 "    const hnk_i64_x@ far = (hnk_i64_x@)((hnk_u64_x@)i >= (uint64_t)n);\n"
                                 "    if (__builtin_expect(hnk_any_x@(hnk_mask_i64_x@(far)), 0))\n"
                                 "        for (int l = 0; l < @; l++) i[l] = hnr_index(s, i[l], n);\n"
                                 "    return i;\n"
                                 "}\n";
void hn_c_wrap(hn_c *c, hn_str *out, const char *index, const char *size) {
    hn_c_need_any(c);
    need(c, "index", index_text, HONE_I64);
    hn_str_addf(out, "hnk_index_x%d(s, %s, %s)", c->width, index, size);
}

/* Integers, by way of the processor's conversion to i32 where all lanes fit that. */
bool hn_c_to_int(hn_c *c, hn_str *out, const hn_scalar *x, hone_dtype from, const char *a) {
    const hn_dtype_info *t = hn_dtype_of(x->dtype);
    int w = c->width, bits = t->bits;
    bool is_signed = t->cls == HN_CLASS_INT;
    if (from == HONE_F64 || bits < 8 || (bits >= 32 && !is_signed)) return false;
    const char *how = x->saturate ? "clip" : "wrap", *name = t->text;
    long long top = (long long)(UINT64_MAX >> (64 - bits + is_signed));
    if (is_clip_narrow(x, from)) {
        hn_str near = {0};
        clip_narrow(c, &near, x->dtype, a);
        hn_c_converted(out, w, "i32", name, near.text ? near.text : "");
        hn_str_free(&near);
        return true;
    }
    hn_str_addf(out, "hnk_%s_%s_x%d(%s)", how, name, w, a);
    hn_c_need_any(c);
    if (hn_c_opens(c, how, x->dtype)) {
        hn_str_addf(c->folds, "HNR hnk_%s_x%d hnk_%s_%s_x%d(hnk_f32_x%d x) {\n", name, w, how, name, w, w);
        hn_str_addf(c->folds, "    hnk_%s_x%d y;\n    if (!hnk_any_x%d(~((x >= -0x1p31f) & (x < 0x1p31f)))) {\n", name,
                    w, w);
        hn_str_addf(c->folds, "        hnk_i32_x%d i = __builtin_convertvector(x, hnk_i32_x%d);\n", w, w);
        hn_str_add(c->folds, "        return ");
        hn_c_converted(c->folds, w, "i32", name, "i");
        hn_str_add(c->folds, ";\n    }\n");
        hn_str_addf(c->folds, "    for (int l = 0; l < %d; l++) y[l] = (%s)", w, hn_c_type(x->dtype));
        if (!x->saturate)
            hn_str_add(c->folds, "hnr_f_to_i_wrap(x[l]);\n");
        else if (is_signed)
            hn_str_addf(c->folds, "hnr_f_to_i(x[l], -%lldLL - 1, %lldLL);\n", top, top);
        else
            hn_str_addf(c->folds, "hnr_f_to_u(x[l], %lldULL);\n", top);
        hn_str_add(c->folds, "    return y;\n}\n#endif\n");
    }
    return true;
}
