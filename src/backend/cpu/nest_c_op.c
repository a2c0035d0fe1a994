/* backend/cpu/nest_c_op.c — one scalar operation as C, on one element or on a vector of them.
 *
 * Scalars: f32 and f64 natively where one operation rounds once; other functions of floats in double and rounded once,
 * as the interpreter does; integers in 64 bits and cut to their type. The runtime's rt/scalar.h and rt/convert.h have
 * the functions. Vectors: what GNU vector types can say, and the functions of the prelude.
 */
#include "backend/cpu/nest_c.h"
#include "backend/spelling.h"

#include <stdio.h>
#include <string.h>

static bool is_native(hone_dtype t) { return t == HONE_F32 || t == HONE_F64; }

void hn_c_put(hn_c *c, hn_str *out, hone_dtype t, const char *value) {
    (void)c;
    if (is_native(t))
        hn_str_addf(out, "(%s)(%s)", hn_c_type(t), value);
    else
        hn_str_addf(out, "hnr_%s_%s(%s)",
                    hn_dtype_of(t)->bits <= 8 && hn_is_float(t) && t != HONE_F8E8M0 ? "cut" : "put",
                    hn_dtype_of(t)->text, value); /* rounded already: an infinity stays one */
}

/* A float result given in double (or float), rounded into the register's form of t. */
static void rounded(hn_str *out, hone_dtype t, const char *value, bool saturate) {
    const char *name = hn_dtype_of(t)->text;
    bool cut = !saturate && hn_dtype_of(t)->bits == 8 && t != HONE_F8E8M0;
    if (is_native(t))
        hn_str_addf(out, "(%s)(%s)", hn_c_type(t), value);
    else
        hn_str_addf(out, "(float)hnr_get_%s(hnr_%s_%s(%s))", name, cut ? "cut" : "put", name, value);
}

static void whole(hn_str *out, hone_dtype t, const char *value) {
    if (t == HONE_BOOL)
        hn_str_addf(out, "(uint8_t)((%s) != 0)", value);
    else
        hn_str_addf(out, "(%s)hnr_put_%s(%s)", hn_c_type(t), hn_dtype_of(t)->text, value);
}

static void cast(hn_str *out, hone_dtype from, const hn_scalar *x, const char *a) {
    const hn_dtype_info *f = hn_dtype_of(from), *t = hn_dtype_of(x->dtype);
    hn_str s = {0};
    if (t->cls == HN_CLASS_BOOL) {
        hn_str_addf(out, "(uint8_t)(%s != 0)", a);
    } else if (t->cls == HN_CLASS_FLOAT) {
        if (f->cls == HN_CLASS_FLOAT || is_native(x->dtype))
            hn_str_add(&s, a);
        else
            hn_str_addf(&s, "hnr_%c_to_f(%s)", f->cls == HN_CLASS_INT ? 'i' : 'u', a);
        rounded(out, x->dtype, s.text, x->saturate);
    } else if (f->cls != HN_CLASS_FLOAT) {
        whole(out, x->dtype, a);
    } else if (!x->saturate) {
        hn_str_addf(&s, "hnr_f_to_i_wrap(%s)", a);
        whole(out, x->dtype, s.text);
    } else if (t->cls == HN_CLASS_INT) {
        long long top = (long long)(UINT64_MAX >> (64 - t->bits + 1));
        hn_str_addf(out, "(%s)hnr_f_to_i(%s, -%lldLL - 1, %lldLL)", hn_c_type(x->dtype), a, top, top);
    } else {
        hn_str_addf(out, "(%s)hnr_f_to_u(%s, %lluULL)", hn_c_type(x->dtype), a,
                    (unsigned long long)(UINT64_MAX >> (64 - t->bits)));
    }
    hn_str_free(&s);
}

static const char *float_form(hn_op op, hone_dtype t) {
    const hn_spelling *s = &hn_spellings[op];
    return t != HONE_F64 && s->single ? s->single : s->real;
}
static const char *whole_form(hn_op op, hone_dtype t) {
    return hn_dtype_of(t)->cls == HN_CLASS_INT ? hn_spellings[op].sint : hn_spellings[op].uint;
}

/* Exactly for two integers, in double for a float exponent. */
static bool integer_power(hn_c *c, hn_str *out, const hn_scalar *x, hone_dtype from, const char *const a[3]) {
    hone_dtype exponent = c->n->sv[x->arg[1]].dtype;
    bool is_signed = hn_dtype_of(from)->cls == HN_CLASS_INT;
    hn_str s = {0};
    if (hn_is_float(exponent)) {
        hn_scalar to = *x;
        to.saturate = true;
        hn_str_addf(&s, "pow((double)%s, (double)%s)", a[0], a[1]);
        cast(out, HONE_F64, &to, s.text);
    } else {
        bool u = !is_signed || hn_dtype_of(exponent)->cls != HN_CLASS_INT;
        hn_str_addf(&s, u ? "hnr_pow_u((uint64_t)(int64_t)%s, (uint64_t)%s)" : "hnr_pow_i(%s, %s)", a[0], a[1]);
        whole(out, x->dtype, s.text);
    }
    hn_str_free(&s);
    return true;
}

static bool special(hn_c *c, hn_str *out, const hn_scalar *x, hone_dtype from, const char *const a[3]) {
    bool is_float = hn_is_float(from);
    switch (x->op) {
    case HN_OP_CAST: cast(out, from, x, a[0]); return true;
    case HN_OP_SELECT: hn_str_addf(out, "%s ? %s : %s", a[0], a[1], a[2]); return true;
    case HN_OP_ISNAN: hn_str_addf(out, is_float ? "(uint8_t)(%s != %s)" : "0", a[0], a[0]); return true;
    case HN_OP_ISINF: hn_str_addf(out, is_float ? "(uint8_t)(fabs(%s) == INFINITY)" : "0", a[0]); return true;
    case HN_OP_NOT:
        if (from != HONE_BOOL) return false;
        hn_str_addf(out, "(uint8_t)!%s", a[0]);
        return true;
    case HN_OP_POW:
        if (is_float) return false;
        return integer_power(c, out, x, from, a);
    default: break;
    }
    if (!hn_is_comparison(x->op)) return false;
    hn_str_addf(out, "(uint8_t)(%s %s %s)", a[0], hn_spellings[x->op].infix, a[1]);
    return true;
}

/* x^2 and x^3 have a form of their own. */
static bool is_small_power(const hn_c *c, const hn_scalar *x) {
    const hn_scalar *y = &c->n->sv[x->arg[1]];
    return x->dtype == HONE_F32 && y->kind == HN_SV_CONST && hn_is_float(y->dtype) && (y->f == 2 || y->f == 3);
}

/* A function of ours (docs/math.md), or NULL. */
static const char *function_of(hn_c *c, const hn_scalar *x) {
    hone_dtype y = x->op == HN_OP_POW ? c->n->sv[x->arg[1]].dtype : HONE_F32;
    if (x->op == HN_OP_POW && (is_small_power(c, x) || (y != HONE_F32 && !hn_is_half(y)))) return NULL;
    return hn_c_function(c, x->op, x->dtype);
}

static void call_function(hn_str *out, const char *function, hone_dtype t, int width, const char *const a[3]) {
    hn_str_addf(out, "hnk_%s_%s_x%d(%s%s%s)", function, hn_c_lane(t), width, a[0], a[1] ? ", " : "", a[1] ? a[1] : "");
}

/* Of words' bf16: the sum of both products, or one of them. */
static void pairs(hn_c *c, hn_str *out, const hn_scalar *x, const char *const arg[3], bool vector) {
    char none[32] = "0";
    if (vector) snprintf(none, sizeof none, "(hnk_f32_x%d){0}", c->width);
    if (x->pairs == HN_PAIRS_BOTH) {
        hn_c_pairs(c, out, none, arg[0], arg[1], vector);
        return;
    }
    for (int k = 0; k < 2; k++) {
        hn_str operand = {0};
        hn_str_add(&operand, arg[k]);
        hn_c_pair(c, &operand, x->pairs, vector);
        hn_str_addf(out, "%s%s", k ? " * " : "", operand.text ? operand.text : "0");
        hn_str_free(&operand);
    }
}

void hn_c_scalar_op(hn_c *c, hn_str *out, const hn_scalar *x, const char *const arg[3]) {
    hone_dtype from = c->n->sv[x->arg[0]].dtype;
    const hn_dtype_info *t = hn_dtype_of(x->dtype);
    if (special(c, out, x, from, arg)) return;
    if (x->bytes) {
        hn_c_bytes(c, out, "0", arg[0], arg[1], false);
        return;
    }
    if (x->pairs) {
        pairs(c, out, x, arg, false);
        return;
    }
    hn_str s = {0};
    const char *function = function_of(c, x);
    if (function) { /* the same bits as in a vector */
        c->widths |= 1;
        call_function(&s, function, x->dtype, 1, arg);
        if (is_native(x->dtype))
            hn_str_add(out, s.text);
        else
            rounded(out, x->dtype, s.text, true);
    } else if (t->cls == HN_CLASS_FLOAT && float_form(x->op, x->dtype)) {
        hn_spell(&s, float_form(x->op, x->dtype), "(double)", arg);
        rounded(out, x->dtype, s.text, true);
    } else if (t->cls != HN_CLASS_FLOAT && whole_form(x->op, x->dtype)) {
        hn_spell(&s, whole_form(x->op, x->dtype), "(double)", arg);
        whole(out, x->dtype, s.text);
    } else {
        c->why = hn_op_of(x->op)->text;
        hn_str_add(out, "0");
    }
    hn_str_free(&s);
}

/* -- vectors */
/* Is a cast by way of f32 rounded once only? So it is where the value is exact in f32, or t is no half. */
static bool one_rounding(hone_dtype from, hone_dtype t) {
    return !hn_is_half(t) || (from != HONE_F64 && (hn_is_float(from) || hn_dtype_of(from)->bits <= 16));
}

static bool vector_cast(hn_c *c, hn_str *out, const hn_scalar *x, hone_dtype from, const char *a) {
    const char *f = hn_c_lane(from), *t = hn_c_lane(x->dtype);
    int bits = hn_dtype_of(x->dtype)->bits;
    hn_str near = {0};
    if (!one_rounding(from, x->dtype)) return false;
    if (x->dtype == HONE_BOOL) {
        hn_str_addf(out, "hnk_mask_%s_x%d(%s != 0)", f, c->width, a);
    } else if (from == HONE_BOOL) {
        hn_str_addf(&near, "-%s", a);
        hn_c_converted(out, c->width, "i32", t, near.text ? near.text : "");
    } else if (hn_is_float(from) && !hn_is_float(x->dtype)) {
        hn_str_free(&near);
        return hn_c_to_int(c, out, x, from, a);
    } else if (bits >= 32 && hn_c_clipped(c, &near, x->arg[0])) {
        hn_str_addf(out, "__builtin_convertvector(%s, hnk_%s_x%d)", near.text, t, c->width);
    } else if (hn_dtype_of(from)->bits == 16 && !hn_is_float(from) && (hn_is_float(x->dtype) || bits == 64)) {
        /* gcc has no instruction for both steps, and takes the lanes one by one */
        hn_str_addf(out, "__builtin_convertvector(__builtin_convertvector(%s, hnk_i32_x%d), hnk_%s_x%d)", a, c->width,
                    t, c->width);
    } else {
        hn_c_converted(out, c->width, f, t, a);
    }
    hn_str_free(&near);
    return true;
}

bool hn_c_has_vectors(hone_dtype t) {
    return is_native(t) || hn_is_half(t) || t == HONE_BOOL || (hn_dtype_of(t)->bits >= 8 && !hn_is_float(t));
}

static bool bool_op(hn_c *c, hn_str *out, const hn_scalar *x, const char *const a[3]) {
    (void)c;
    switch (x->op) {
    case HN_OP_NOT: hn_str_addf(out, "~%s", a[0]); return true;
    case HN_OP_NE:
    case HN_OP_XOR: hn_str_addf(out, "%s ^ %s", a[0], a[1]); return true;
    case HN_OP_EQ: hn_str_addf(out, "~(%s ^ %s)", a[0], a[1]); return true;
    case HN_OP_AND: hn_str_addf(out, "%s & %s", a[0], a[1]); return true;
    case HN_OP_OR: hn_str_addf(out, "%s | %s", a[0], a[1]); return true;
    default: return false;
    }
}

/* x^2 and x^3 in double, rounded once: what pow gives. */
static bool small_power(hn_c *c, hn_str *out, const hn_scalar *x, const char *a) {
    if (!is_small_power(c, x)) return false;
    hn_str_addf(out, "hnk_power%d_f32_x%d(%s)", (int)c->n->sv[x->arg[1]].f, c->width, a);
    return true;
}

/* A division of parts by one number for all lanes, where multiply-adds round once. */
static bool divides_part(hn_c *c, hn_str *out, const hn_scalar *x, const char *a) {
    int lane = hn_c_vector_lane(c);
    if (!x->part || !c->fma || x->dtype != HONE_F32 || (lane >= 0 && c->sv_mask[x->arg[1]] >> lane & 1)) return false;
    hn_str_addf(out, "hnk_part_f32_x%d(%s, ", c->width, a);
    hn_c_operand(c, out, x->arg[1], false, "l");
    hn_str_add(out, ")");
    return true;
}

static bool vector_op(hn_c *c, hn_str *out, const hn_scalar *x, const char *const a[3]) {
    hone_dtype from = c->n->sv[x->arg[0]].dtype, t = x->dtype;
    const char *name = hn_c_lane(t), *source = hn_c_lane(from);
    bool is_float = hn_is_float(from);
    if (!hn_c_has_vectors(t) || !hn_c_has_vectors(from)) return false;
    if (x->op == HN_OP_CAST) return vector_cast(c, out, x, from, a[0]);
    if (x->op == HN_OP_SELECT) {
        hn_str_addf(out, "hnk_pick_%s_x%d(%s, %s, %s)", name, c->width, a[0], a[1], a[2]);
        return true;
    }
    if (from == HONE_BOOL) return bool_op(c, out, x, a);
    const char *infix = hn_spellings[x->op].infix;
    if (hn_is_comparison(x->op)) {
        hn_str_addf(out, "hnk_mask_%s_x%d(%s %s %s)", source, c->width, a[0], infix, a[1]);
        return true;
    }
    if (x->op == HN_OP_ISNAN && is_float) {
        hn_str_addf(out, "hnk_mask_%s_x%d(%s != %s)", source, c->width, a[0], a[0]);
        return true;
    }
    if ((x->op == HN_OP_MIN || x->op == HN_OP_MAX) && hn_c_bound(c, out, x, a)) return true;
    if (x->op == HN_OP_MIN || x->op == HN_OP_MAX || x->op == HN_OP_ABS) {
        hn_c_fold(c, out, x->op, t, a[0], a[1] ? a[1] : "", true);
        return true;
    }
    if (x->op == HN_OP_NEG) return hn_str_addf(out, "-%s", a[0]), true;
    if (x->op == HN_OP_NOT) return hn_str_addf(out, "~%s", a[0]), true;
    if (x->op == HN_OP_RECIP) {
        hn_str_addf(out, "1 / %s", a[0]);
        return true;
    }
    if (x->op == HN_OP_SQRT && is_float) return hn_str_addf(out, "hnk_sqrt_%s_x%d(%s)", name, c->width, a[0]), true;
    if (x->op == HN_OP_POW && small_power(c, out, x, a[0])) return true;
    if (x->op == HN_OP_DIV && (divides_part(c, out, x, a[0]) || hn_c_quotient(c, out, x, a[0]))) return true;
    if (x->bytes) {
        char none[32];
        snprintf(none, sizeof none, "(hnk_i32_x%d){0}", c->width);
        hn_c_bytes(c, out, none, a[0], a[1], true);
        return true;
    }
    if (x->pairs) return pairs(c, out, x, a, true), true;
    if (infix && (is_float || x->op != HN_OP_DIV)) {
        hn_str_addf(out, "%s %s %s", a[0], infix, a[1]);
        return true;
    }
    if (is_float && hn_c_round(c, out, x->op, t, a[0])) return true;
    if (is_float && hn_c_remainder(c, out, x->op, t, a[0], a[1])) return true;
    const char *function = function_of(c, x);
    if (function) call_function(out, function, t, c->width, a);
    return function != NULL;
}

/* Operations whose results are halves where their operands are. */
static bool keeps_halves(const hn_scalar *x, hone_dtype from) {
    static const bool keeps[HN_N_OPS] = {
        [HN_OP_SELECT] = true, [HN_OP_MIN] = true, [HN_OP_MAX] = true, [HN_OP_ABS] = true, [HN_OP_NEG] = true};
    return keeps[x->op] || (x->op == HN_OP_CAST && from == x->dtype);
}

bool hn_c_vector_op(hn_c *c, hn_str *out, const hn_scalar *x, const char *const a[3]) {
    hn_str value = {0};
    if (!hn_is_half(x->dtype) || keeps_halves(x, c->n->sv[x->arg[0]].dtype)) return vector_op(c, out, x, a);
    bool done = vector_op(c, &value, x, a);
    if (done) hn_str_addf(out, "hnk_round_%s_x%d(%s)", hn_dtype_of(x->dtype)->text, c->width, value.text);
    hn_str_free(&value);
    return done;
}

void hn_c_fold_lanes(hn_c *c, hn_str *out, hn_op op, hone_dtype t, const char *vector) {
    const char *type = hn_dtype_of(t)->text, *name = hn_op_of(op)->text;
    char head[64];
    int w = c->width;
    snprintf(head, sizeof head, "HNK_FOLD_%s_%s_X%d", name, type, w);
    hn_str_addf(out, "hnk_fold_%s_%s_x%d(%s)", name, type, w, vector);
    if (!hn_c_once(c, head)) return;
    hn_str_addf(c->folds, "HNR %s hnk_fold_%s_%s_x%d(hnk_%s_x%d v) {\n    hnk_%s_x%d h;\n", hn_c_type(t), name, type, w,
                type, w, type, w);
    for (int half = w / 2; half; half /= 2) {
        hn_str_add(c->folds, "    h = __builtin_shufflevector(v, v");
        for (int l = 0; l < w; l++) hn_str_addf(c->folds, ", %d", l ^ half);
        hn_str_add(c->folds, ");\n    v = ");
        hn_c_fold(c, c->folds, op, t, "v", "h", true);
        hn_str_add(c->folds, ";\n");
    }
    hn_str_add(c->folds, "    return v[0];\n}\n#endif\n");
}

void hn_c_fold(hn_c *c, hn_str *out, hn_op op, hone_dtype t, const char *a, const char *b, bool vector) {
    const char *name = op == HN_OP_MIN ? "min" : op == HN_OP_MAX ? "max" : op == HN_OP_ABS ? "abs" : NULL;
    if (vector && name) {
        hn_str_addf(out, "hnk_%s_%s_x%d(%s%s%s)", name, hn_c_lane(t), c->width, a, *b ? ", " : "", b);
    } else if (vector && hn_is_half(t)) {
        hn_str_addf(out, "hnk_round_%s_x%d(%s %s %s)", hn_dtype_of(t)->text, c->width, a, op == HN_OP_MUL ? "*" : "+",
                    b);
    } else if (vector) {
        hn_str_addf(out, "%s %s %s", a, op == HN_OP_MUL ? "*" : "+", b);
    } else {
        const char *arg[3] = {a, b, NULL};
        hn_str s = {0};
        hn_spell(&s, hn_is_float(t) ? float_form(op, t) : whole_form(op, t), "(double)", arg);
        if (hn_is_float(t))
            rounded(out, t, s.text, true);
        else
            whole(out, t, s.text);
        hn_str_free(&s);
    }
}
