/* backend/gpu/print_op.c — one scalar operation in a device's language. Floats of at most 32 bits are computed as
 * floats by the language's functions of floats and rounded to their type; integers in 64 bits and cut to their type. */
#include "backend/gpu/print.h"
#include "backend/spelling.h"

#include <string.h>

static bool is_native(hone_dtype t) { return t == HONE_F32 || t == HONE_F64; }

void hn_gp_put(hn_gp *c, hn_str *out, hone_dtype t, const char *value) {
    const char *name = hn_dtype_of(t)->text;
    if (is_native(t)) {
        hn_str_add(out, value);
    } else if (hn_is_half(t)) {
        hn_str_addf(out, "hnr_float_%s(%s)", name, value);
    } else if (hn_is_float(t)) {
        c->part_convert = true;
        hn_str_addf(out, "hnr_%s_%s(%s)", t != HONE_F8E8M0 ? "cut" : "put", name, value);
    } else {
        hn_str_addf(out, "(hnr_%s)(%s)", name, value);
    }
}

void hn_gp_get(hn_gp *c, hn_str *out, hone_dtype t, const char *value) {
    const char *name = hn_dtype_of(t)->text;
    if (hn_is_half(t)) {
        hn_str_addf(out, "hnr_%s_float(%s)", name, value);
    } else if (hn_is_float(t) && !is_native(t)) {
        c->part_convert = true;
        hn_str_addf(out, "(float)hnr_get_%s(%s)", name, value);
    } else {
        hn_str_add(out, value);
    }
}

/* A float result rounded into the register's form of t. */
static void rounded(hn_gp *c, hn_str *out, hone_dtype t, const char *value, bool saturate) {
    const char *name = hn_dtype_of(t)->text;
    if (is_native(t)) {
        hn_str_addf(out, "(%s)(%s)", hn_gp_type(t), value);
    } else if (hn_is_half(t)) {
        hn_str_addf(out, "hnr_%s_float(hnr_float_%s(%s))", name, name, value);
    } else {
        bool cut = !saturate && hn_dtype_of(t)->bits == 8 && t != HONE_F8E8M0;
        c->part_convert = true;
        hn_str_addf(out, "(float)hnr_get_%s(hnr_%s_%s(%s))", name, cut ? "cut" : "put", name, value);
    }
}

static void whole(hn_gp *c, hn_str *out, hone_dtype t, const char *value) {
    const hn_dtype_info *d = hn_dtype_of(t);
    if (t == HONE_BOOL) {
        hn_str_addf(out, "(uint8_t)((%s) != 0)", value);
    } else if (d->bits < 8 && d->cls == HN_CLASS_INT) {
        c->part_scalar = true;
        hn_str_addf(out, "(int8_t)hnr_cut_i(%s, %d)", value, d->bits);
    } else if (d->bits < 8) {
        hn_str_addf(out, "(uint8_t)((%s) & %d)", value, (1 << d->bits) - 1);
    } else {
        hn_str_addf(out, "(%s)(%s)", hn_gp_type(t), value);
    }
}

static void float_to_whole(hn_gp *c, hn_str *out, const hn_scalar *x, bool wide, const char *a) {
    const hn_dtype_info *t = hn_dtype_of(x->dtype);
    const char *f = wide ? "hnr_f" : "hnr_f32";
    hn_str s = {0};
    if (wide)
        c->part_convert = true;
    else
        c->part_scalar = true;
    if (!x->saturate) {
        hn_str_addf(&s, "%s_to_i_wrap(%s)", f, a);
        whole(c, out, x->dtype, s.text);
    } else if (t->cls == HN_CLASS_INT) {
        hn_str_addf(out, "(%s)%s_to_i(%s, INT64_MIN >> %d, INT64_MAX >> %d)", hn_gp_type(x->dtype), f, a, 64 - t->bits,
                    64 - t->bits);
    } else {
        hn_str_addf(out, "(%s)%s_to_u(%s, UINT64_MAX >> %d)", hn_gp_type(x->dtype), f, a, 64 - t->bits);
    }
    hn_str_free(&s);
}

static void cast(hn_gp *c, hn_str *out, hone_dtype from, const hn_scalar *x, const char *a) {
    const hn_dtype_info *f = hn_dtype_of(from), *t = hn_dtype_of(x->dtype);
    hn_str s = {0};
    if (t->cls == HN_CLASS_BOOL) {
        hn_str_addf(out, "(uint8_t)(%s != 0)", a);
    } else if (t->cls == HN_CLASS_FLOAT && is_native(x->dtype)) {
        hn_str_addf(out, "(%s)(%s)", hn_gp_type(x->dtype), a);
    } else if (t->cls == HN_CLASS_FLOAT) {
        bool many = f->cls != HN_CLASS_FLOAT && f->bits > 24;
        if (many) c->part_convert = true;
        if (many) hn_str_addf(&s, "hnr_%c_to_f(%s)", f->cls == HN_CLASS_INT ? 'i' : 'u', a);
        hn_scalar exact = *x;
        if ((many || from == HONE_F64) && hn_is_half(x->dtype)) { /* one rounding */
            c->part_convert = true;
            hn_str_addf(out, "hnr_%s_float(hnr_put_%s(%s))", t->text, t->text, many ? s.text : a);
        } else {
            rounded(c, out, exact.dtype, many ? s.text : a, x->saturate);
        }
    } else if (f->cls != HN_CLASS_FLOAT) {
        whole(c, out, x->dtype, a);
    } else {
        float_to_whole(c, out, x, from == HONE_F64, a);
    }
    hn_str_free(&s);
}

/* Functions of floats whose name tells their type. */
static const char *float_form(hn_op op, hone_dtype t) {
    if (t == HONE_F64) return op == HN_OP_SIGMOID ? "hnr_sigmoid_f($0)" : hn_spellings[op].real;
    switch (op) {
    case HN_OP_SIGN: return "hnr_sign_f32($0)";
    case HN_OP_SIGMOID: return "hnr_sigmoid_f32($0)";
    case HN_OP_MOD: return "hnr_mod_f32($0, $1)";
    case HN_OP_MIN: return "hnr_min_f32($0, $1)";
    case HN_OP_MAX: return "hnr_max_f32($0, $1)";
    case HN_OP_RSQRT: return "rsqrt($0)";
    default: return hn_spellings[op].real;
    }
}
static const char *whole_form(hn_op op, hone_dtype t) {
    return hn_dtype_of(t)->cls == HN_CLASS_INT ? hn_spellings[op].sint : hn_spellings[op].uint;
}

/* Exactly for two integers, in double for a float exponent. */
static void integer_power(hn_gp *c, hn_str *out, const hn_scalar *x, hone_dtype from, const char *const a[3]) {
    hone_dtype exponent = c->n->sv[x->arg[1]].dtype;
    bool is_signed = hn_dtype_of(from)->cls == HN_CLASS_INT;
    hn_str s = {0};
    c->part_scalar = true;
    if (hn_is_float(exponent)) {
        hn_scalar to = *x;
        to.saturate = true;
        hn_str_addf(&s, "pow((double)%s, (double)%s)", a[0], a[1]);
        cast(c, out, HONE_F64, &to, s.text);
    } else {
        bool u = !is_signed || hn_dtype_of(exponent)->cls != HN_CLASS_INT;
        hn_str_addf(&s, u ? "hnr_pow_u((uint64_t)(int64_t)%s, (uint64_t)%s)" : "hnr_pow_i(%s, %s)", a[0], a[1]);
        whole(c, out, x->dtype, s.text);
    }
    hn_str_free(&s);
}

static bool special(hn_gp *c, hn_str *out, const hn_scalar *x, hone_dtype from, const char *const a[3]) {
    bool is_float = hn_is_float(from);
    switch (x->op) {
    case HN_OP_CAST: cast(c, out, from, x, a[0]); return true;
    case HN_OP_SELECT: hn_str_addf(out, "%s ? %s : %s", a[0], a[1], a[2]); return true;
    case HN_OP_ISNAN: hn_str_addf(out, is_float ? "(uint8_t)(%s != %s)" : "0", a[0], a[0]); return true;
    case HN_OP_ISINF: hn_str_addf(out, is_float ? "(uint8_t)(fabs(%s) == INFINITY)" : "0", a[0]); return true;
    case HN_OP_NOT:
        if (from != HONE_BOOL) return false;
        hn_str_addf(out, "(uint8_t)!%s", a[0]);
        return true;
    case HN_OP_POW:
        if (is_float) return false;
        integer_power(c, out, x, from, a);
        return true;
    default: break;
    }
    if (x->bytes) return hn_str_addf(out, "hnr_dot4(0, %s, %s)", a[0], a[1]), true;
    if (!hn_is_comparison(x->op)) return false;
    hn_str_addf(out, "(uint8_t)(%s %s %s)", a[0], hn_spellings[x->op].infix, a[1]);
    return true;
}

/* x to a constant 2 or 3, and what else has operands of two types. */
static bool power(hn_gp *c, hn_str *out, const hn_scalar *x, const char *const a[3]) {
    const hn_scalar *y = &c->n->sv[x->arg[1]];
    if (x->op != HN_OP_POW || !hn_is_float(x->dtype)) return false;
    hn_str s = {0};
    const char *type = x->dtype == HONE_F64 || y->dtype == HONE_F64 ? "double" : "float";
    if (y->kind == HN_SV_CONST && hn_is_float(y->dtype) && y->f == 2)
        hn_str_addf(&s, "%s * %s", a[0], a[0]);
    else
        hn_str_addf(&s, "pow((%s)%s, (%s)%s)", type, a[0], type, a[1]);
    rounded(c, out, x->dtype, s.text, true);
    hn_str_free(&s);
    return true;
}

static void note_part(hn_gp *c, const char *text) {
    if (strstr(text, "hnr_")) c->part_scalar = true;
}

void hn_gp_op(hn_gp *c, hn_str *out, const hn_scalar *x, const char *const arg[3]) {
    hone_dtype from = c->n->sv[x->arg[0]].dtype;
    const hn_dtype_info *t = hn_dtype_of(x->dtype);
    if (special(c, out, x, from, arg) || power(c, out, x, arg)) return;
    hn_str s = {0};
    const char *form = t->cls == HN_CLASS_FLOAT ? float_form(x->op, x->dtype) : whole_form(x->op, x->dtype);
    if (form) {
        hn_spell(&s, form, "", arg);
        note_part(c, form);
    }
    if (form && t->cls == HN_CLASS_FLOAT) {
        rounded(c, out, x->dtype, s.text, true);
    } else if (form) {
        whole(c, out, x->dtype, s.text);
    } else {
        c->why = hn_op_of(x->op)->text;
        hn_str_add(out, "0");
    }
    hn_str_free(&s);
}

void hn_gp_fold(hn_gp *c, hn_str *out, hn_op op, hone_dtype t, const char *a, const char *b) {
    const char *arg[3] = {a, b, NULL};
    hn_str s = {0};
    const char *form = hn_is_float(t) ? float_form(op, t) : whole_form(op, t);
    note_part(c, form);
    hn_spell(&s, form, "", arg);
    if (hn_is_float(t))
        rounded(c, out, t, s.text, true);
    else
        whole(c, out, t, s.text);
    hn_str_free(&s);
}
