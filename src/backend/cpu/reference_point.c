/* backend/cpu/reference_point.c — pointwise operations, each in the domain of its operands, as backend/spelling.def has
 * them. Where an integer column is NULL the operands are taken as doubles and the result is clipped into the integer
 * type. */
#include "backend/cpu/reference_int.h"
#include "backend/spelling.h"

#include <string.h>

/* Its operands are a0 and a1, doubles where they are floats. */
static const char *fill(hn_ref *e, const char *form) {
    static const char *const operand[] = {"a0", "a1"};
    hn_str s = {0};
    hn_spell(&s, form, "", operand);
    const char *out = hn_strdup(e->a, s.text ? s.text : "");
    if (s.failed) e->a->failed = true;
    hn_str_free(&s);
    return out ? out : "0";
}

/* The domain in which the node computes, and its expression. */
static const char *pick(hn_ref *e, hn_ref_kind *d) {
    const hn_node *n = e->n;
    const hn_spelling *x = &hn_spellings[n->op];
    *d = hn_ref_domain(hn_ref_type(e, n->in[0])->dtype);
    for (size_t k = 1; k < n->n_in; k++)
        if (hn_ref_domain(hn_ref_type(e, n->in[k])->dtype) == HN_DOM_F) *d = HN_DOM_F;
    if (n->op == HN_OP_POW && *d == HN_DOM_U && hn_ref_type(e, n->in[0])->dtype != HONE_U64)
        *d = HN_DOM_I; /* the exponent may be negative */
    if (*d == HN_DOM_I && x->i64) return x->i64;
    if (*d == HN_DOM_U && x->u64)
        return n->op == HN_OP_NOT && hn_ref_type(e, n->in[0])->dtype == HONE_BOOL ? "(uint64_t)!$0" : x->u64;
    *d = HN_DOM_F;
    if (!x->real) hn_ref_decline(e, "it has no meaning for '%s'", hn_ref_dtype(e, n->in[0]));
    return x->real ? x->real : "0";
}

/* Operand k in domain d, read once into a variable. */
static void operand(hn_ref *e, size_t k, hn_ref_kind d) {
    hn_val v = e->n->in[k];
    hn_ref_kind own = hn_ref_domain(hn_ref_type(e, v)->dtype);
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
    hn_ref_kind d;
    const char *text = pick(e, &d);
    same_counts(e);
    hn_ref_loop(e, out, false);
    for (size_t k = 0; k < n_in; k++) operand(e, k, d);
    bool predicate = hn_is_comparison(e->n->op) || e->n->op == HN_OP_ISNAN || e->n->op == HN_OP_ISINF;
    const char *x = fill(e, text);
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
    hn_ref_kind from = hn_ref_domain(hn_ref_type(e, in)->dtype), into = hn_ref_domain(to);
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
