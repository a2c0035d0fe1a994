/* backend/cpu/reference_point.c — pointwise operations: a table of C expressions, one per domain.
 * $0, $1: the operands. Where an integer column is NULL the operands are taken as doubles and the result is clipped
 * into the integer type. */
#include "backend/cpu/reference_int.h"

#include <string.h>

typedef struct expr {
    const char *f, *i, *u;
    bool predicate; /* the result is bool: of domain u */
} expr;
#define WRAP(op) "$0 " op " $1", "(int64_t)((uint64_t)$0 " op " (uint64_t)$1)", "$0 " op " $1", false
#define ALL(text) text, text, text
#define LIBM(name) name "($0)", NULL, NULL, false
static const expr exprs[HN_N_OPS] = {
    [HN_OP_NEG] = {"-$0", "(int64_t)(0 - (uint64_t)$0)", "0 - $0", false},
    [HN_OP_ABS] = {"fabs($0)", "hnr_abs_i($0)", "$0", false},
    [HN_OP_SIGN] = {"hnr_sign_f($0)", "hnr_sign_i($0)", "(uint64_t)($0 != 0)", false},
    [HN_OP_FLOOR] = {"floor($0)", "$0", "$0", false},
    [HN_OP_CEIL] = {"ceil($0)", "$0", "$0", false},
    [HN_OP_ROUND] = {"rint($0)", "$0", "$0", false},
    [HN_OP_TRUNC] = {"trunc($0)", "$0", "$0", false},
    [HN_OP_SQRT] = {LIBM("sqrt")},
    [HN_OP_RSQRT] = {"1 / sqrt($0)", NULL, NULL, false},
    [HN_OP_RECIP] = {"1 / $0", NULL, NULL, false},
    [HN_OP_EXP] = {LIBM("exp")},
    [HN_OP_LOG] = {LIBM("log")},
    [HN_OP_LOG1P] = {LIBM("log1p")},
    [HN_OP_EXPM1] = {LIBM("expm1")},
    [HN_OP_SIN] = {LIBM("sin")},
    [HN_OP_COS] = {LIBM("cos")},
    [HN_OP_TAN] = {LIBM("tan")},
    [HN_OP_ASIN] = {LIBM("asin")},
    [HN_OP_ACOS] = {LIBM("acos")},
    [HN_OP_ATAN] = {LIBM("atan")},
    [HN_OP_SINH] = {LIBM("sinh")},
    [HN_OP_COSH] = {LIBM("cosh")},
    [HN_OP_TANH] = {LIBM("tanh")},
    [HN_OP_ASINH] = {LIBM("asinh")},
    [HN_OP_ACOSH] = {LIBM("acosh")},
    [HN_OP_ATANH] = {LIBM("atanh")},
    [HN_OP_ERF] = {LIBM("erf")},
    [HN_OP_SIGMOID] = {LIBM("hnr_sigmoid")},
    [HN_OP_NOT] = {"(double)($0 == 0)", "~$0", "~$0", false},
    [HN_OP_ISNAN] = {"$0 != $0", "0", "0", true},
    [HN_OP_ISINF] = {"isinf($0) != 0", "0", "0", true},
    [HN_OP_ADD] = {WRAP("+")},
    [HN_OP_SUB] = {WRAP("-")},
    [HN_OP_MUL] = {WRAP("*")},
    [HN_OP_DIV] = {"$0 / $1", "hnr_div_i($0, $1)", "hnr_div_u($0, $1)", false},
    [HN_OP_MOD] = {"hnr_mod_f($0, $1)", "hnr_mod_i($0, $1)", "hnr_mod_u($0, $1)", false},
    [HN_OP_REM] = {"fmod($0, $1)", "hnr_rem_i($0, $1)", "hnr_mod_u($0, $1)", false},
    [HN_OP_POW] = {"pow($0, $1)", "hnr_pow_i($0, $1)", "hnr_pow_u($0, $1)", false},
    [HN_OP_MIN] = {"hnr_min_f($0, $1)", "hnr_min_i($0, $1)", "hnr_min_u($0, $1)", false},
    [HN_OP_MAX] = {"hnr_max_f($0, $1)", "hnr_max_i($0, $1)", "hnr_max_u($0, $1)", false},
    [HN_OP_AND] = {"(double)($0 != 0 && $1 != 0)", "$0 & $1", "$0 & $1", false},
    [HN_OP_OR] = {"(double)($0 != 0 || $1 != 0)", "$0 | $1", "$0 | $1", false},
    [HN_OP_XOR] = {"(double)(($0 != 0) != ($1 != 0))", "$0 ^ $1", "$0 ^ $1", false},
    [HN_OP_SHL] = {NULL, "(int64_t)hnr_shl((uint64_t)$0, (uint64_t)$1)", "hnr_shl($0, $1)", false},
    [HN_OP_SHR] = {NULL, "hnr_shr_i($0, (uint64_t)$1)", "hnr_shr_u($0, $1)", false},
    [HN_OP_EQ] = {ALL("$0 == $1"), true},
    [HN_OP_NE] = {ALL("$0 != $1"), true},
    [HN_OP_LT] = {ALL("$0 < $1"), true},
    [HN_OP_LE] = {ALL("$0 <= $1"), true},
};

/* Puts x for $0 and y for $1. */
static const char *fill(hn_ref *e, const char *text, const char *x, const char *y) {
    hn_str s = {0};
    for (; *text; text++) {
        if (*text == '$')
            hn_str_add(&s, *++text == '0' ? x : y);
        else
            hn_str_add_n(&s, text, 1);
    }
    const char *out = hn_strdup(e->a, s.text ? s.text : "");
    if (s.failed) e->a->failed = true;
    hn_str_free(&s);
    return out ? out : "0";
}

/* The domain in which the node computes, and its expression. */
static const char *pick(hn_ref *e, hn_domain *d) {
    const hn_node *n = e->n;
    const expr *x = &exprs[n->op];
    *d = hn_ref_domain(hn_ref_type(e, n->in[0])->dtype);
    for (size_t k = 1; k < n->n_in; k++)
        if (hn_ref_domain(hn_ref_type(e, n->in[k])->dtype) == HN_DOM_F) *d = HN_DOM_F;
    if (n->op == HN_OP_POW && *d == HN_DOM_U && hn_ref_type(e, n->in[0])->dtype != HONE_U64)
        *d = HN_DOM_I; /* the exponent may be negative */
    if (*d == HN_DOM_I && x->i) return x->i;
    if (*d == HN_DOM_U && x->u)
        return n->op == HN_OP_NOT && hn_ref_type(e, n->in[0])->dtype == HONE_BOOL ? "(uint64_t)!$0" : x->u;
    *d = HN_DOM_F;
    if (!x->f) hn_ref_decline(e, "it has no meaning for '%s'", hn_ref_dtype(e, n->in[0]));
    return x->f ? x->f : "0";
}

/* Operand k in domain d, read once into a variable. */
static void operand(hn_ref *e, size_t k, hn_domain d) {
    hn_val v = e->n->in[k];
    hn_domain own = hn_ref_domain(hn_ref_type(e, v)->dtype);
    const char *x = d == HN_DOM_F ? hn_ref_load_f(e, v, "i") : hn_ref_load(e, v, "i");
    hn_ref_add(e, "const %s a%zu = %s%s%s%s;\n", hn_ref_c_type(d), k, own == d ? "" : "(",
               own == d ? "" : hn_ref_c_type(d), own == d ? "" : ")", x);
}

static void same_counts(hn_ref *e) {
    const hn_type *out = hn_ref_type(e, e->n->out[0]);
    for (size_t k = 0; k < e->n->n_in; k++)
        for (size_t i = 0; i < out->rank; i++) hn_ref_guard_equal(e, hn_ref_type(e, e->n->in[k])->dim[i], out->dim[i]);
}

static void pointwise(hn_ref *e, size_t n_in) {
    hn_val out = e->n->out[0];
    hn_domain d;
    const char *text = pick(e, &d);
    same_counts(e);
    hn_ref_loop(e, out, false);
    for (size_t k = 0; k < n_in; k++) operand(e, k, d);
    bool predicate = exprs[e->n->op].predicate;
    const char *x = fill(e, text, "a0", "a1");
    if (predicate)
        hn_ref_store(e, out, "i", HN_DOM_U, hn_format(e->a, "(uint64_t)(%s)", x));
    else
        hn_ref_store(e, out, "i", d, x);
    hn_ref_end(e, out, false);
}

void hn_ref_unary(hn_ref *e) { pointwise(e, 1); }
void hn_ref_binary(hn_ref *e) { pointwise(e, 2); }

void hn_ref_select(hn_ref *e) {
    const hn_val *in = e->n->in, out = e->n->out[0];
    same_counts(e);
    hn_ref_loop(e, out, false);
    hn_ref_add(e, "%s = %s[i] ? %s : %s;\n", hn_ref_raw(e, out, "i"), e->at[in[0]], hn_ref_raw(e, in[1], "i"),
               hn_ref_raw(e, in[2], "i"));
    hn_ref_end(e, out, false);
}

static int round_mode(const hn_node *n) {
    const hn_attr *a = hn_attr_get(n, HN_A_ROUND);
    return !a || !strcmp(a->name, "up") ? 1 : !strcmp(a->name, "nearest") ? 2 : 0;
}

/* From a double to a float type of 8 bits or fewer. */
static const char *to_small(hn_ref *e, hone_dtype to, const char *x) {
    bool saturate = hn_attr_i(e->n, HN_A_SATURATE, 1) != 0;
    if (to == HONE_F8E8M0) return hn_format(e->a, "hnr_cast_f8e8m0(%s, %d, %d)", x, round_mode(e->n), saturate);
    return hn_format(e->a, "hnr_%s_%s(%s)", saturate ? "put" : "cut", hn_dtype_of(to)->text, x);
}

void hn_ref_cast(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    hone_dtype to = hn_ref_type(e, out)->dtype;
    hn_domain from = hn_ref_domain(hn_ref_type(e, in)->dtype), into = hn_ref_domain(to);
    const char *x = hn_ref_load(e, in, "i");
    same_counts(e);
    hn_ref_loop(e, out, false);
    if (to == HONE_BOOL) {
        hn_ref_store(e, out, "i", HN_DOM_U, hn_format(e->a, "(uint64_t)(%s != 0)", x));
    } else if (into == HN_DOM_F && hn_dtype_of(to)->bits <= 8) {
        if (from != HN_DOM_F) x = hn_format(e->a, "hnr_%c_to_f(%s)", from == HN_DOM_I ? 'i' : 'u', x);
        hn_ref_add(e, "%s[i] = %s;\n", e->at[out], to_small(e, to, x));
    } else if (to == HONE_F64) {
        hn_ref_store(e, out, "i", HN_DOM_F, hn_ref_load_f(e, in, "i"));
    } else if (from == HN_DOM_F && into != HN_DOM_F && !hn_attr_i(e->n, HN_A_SATURATE, 1)) {
        hn_ref_store(e, out, "i", HN_DOM_I, hn_format(e->a, "hnr_f_to_i_wrap(%s)", x));
    } else {
        hn_ref_store(e, out, "i", from, x);
    }
    hn_ref_end(e, out, false);
}

/* Types below eight bits keep to their values whatever the bits say. */
void hn_ref_bitcast(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    const hn_dtype_info *to = hn_dtype_of(hn_ref_type(e, out)->dtype);
    if (hn_ref_size_b(e, in) != to->size_b) hn_ref_decline(e, "the element types differ in size");
    same_counts(e);
    hn_ref_loop(e, out, false);
    if (to->bits >= 8) {
        hn_ref_add(e, "%s = %s;\n", hn_ref_raw(e, out, "i"), hn_ref_raw(e, in, "i"));
    } else {
        unsigned mask = (1u << to->bits) - 1, top = to->cls == HN_CLASS_INT ? 1u << (to->bits - 1) : 0;
        hn_ref_add(e, "%s = (uint8_t)(((%s & %uu) ^ %uu) - %uu);\n", hn_ref_raw(e, out, "i"), hn_ref_raw(e, in, "i"),
                   mask, top, top);
    }
    hn_ref_end(e, out, false);
}
