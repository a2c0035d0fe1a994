/* backend/gpu/print_index.c — index expressions as a device's language has them, in 32 bits where all of them fit. */
#include "backend/gpu/print.h"

#include <string.h>

static int lane_of(const hn_gp *c, hn_var v) {
    for (int k = 0; k < c->n_lane; k++)
        if (c->lane[k].var == v) return k;
    return -1;
}

uint32_t hn_gp_ix_mask(const hn_gp *c, hn_ix i) {
    uint32_t mask = 0;
    const hn_linear *f = &c->n->ix[i];
    for (uint32_t t = 0; t < f->n; t++) {
        const hn_atom *x = &c->n->atom[f->term[t].atom];
        int k = x->kind == HN_AT_VAR ? lane_of(c, x->id) : -1;
        if (k >= 0) mask |= 1u << k;
        if (x->kind == HN_AT_VALUE) mask |= c->sv_mask[x->id];
        if (x->a) mask |= hn_gp_ix_mask(c, x->a);
        if (x->b) mask |= hn_gp_ix_mask(c, x->b);
    }
    return mask;
}

const char *hn_gp_ix_type(const hn_gp *c) { return c->narrow ? "int32_t" : "int64_t"; }

static bool fits(hn_nest *n, hn_dim d) {
    int64_t v;
    return d && hn_dim_is_int(n->dims, d, &v) && v > INT32_MIN / 2 && v < INT32_MAX / 2;
}
static bool term_fits(hn_nest *n, const hn_term *t) {
    int64_t most;
    const hn_atom x = n->atom[t->atom];
    if (!fits(n, t->coef) || (x.by && !fits(n, x.by))) return false;
    if (x.kind != HN_AT_VAR) return true;
    hn_dim top = hn_ix_high(n, n->extent[x.id]);
    if (!top || !hn_dim_is_int(n->dims, top, &most)) return false;
    return fits(n, hn_dim_mul(n->dims, top, t->coef));
}

bool hn_gp_narrow(hn_nest *n) {
    for (hn_buf b = 1; b < n->n_buf; b++)
        if (!fits(n, n->buf[b].size)) return false;
    for (uint32_t i = 1, end = n->n_ix; i < end; i++) {
        const hn_linear f = n->ix[i];
        if (!fits(n, f.offset) || !fits(n, hn_ix_low(n, i)) || !fits(n, hn_ix_high(n, i))) return false;
        for (uint32_t t = 0; t < f.n; t++)
            if (!term_fits(n, &f.term[t])) return false;
    }
    return true;
}

static void note_symbols(hn_gp *c, hn_dim d) {
    bool *used = c->is_used;
    size_t n = hn_dims_symbols(c->n->dims);
    memset(used, 0, n * sizeof *used);
    hn_dim_mark(c->n->dims, d, used);
    for (uint32_t k = 0; k < c->n_symbol; k++) used[c->symbol[k]] = false;
    for (uint32_t i = 0; i < n; i++)
        if (used[i]) c->symbol[c->n_symbol++] = i;
}

void hn_gp_dim(hn_gp *c, hn_str *out, hn_dim d) {
    int64_t v;
    if (hn_dim_is_int(c->n->dims, d, &v)) {
        if (v == INT64_MIN)
            hn_str_add(out, "INT64_MIN");
        else if (v > INT32_MAX || v < INT32_MIN)
            hn_str_addf(out, "INT64_C(%lld)", (long long)v);
        else
            hn_str_addf(out, v < 0 ? "(%lld)" : "%lld", (long long)v);
        return;
    }
    note_symbols(c, d);
    hn_str_add(out, "(");
    hn_dim_print_c(c->n->dims, d, "s_", out);
    hn_str_add(out, ")");
}

static void call(hn_gp *c, hn_str *out, const char *name, const hn_atom *x) {
    hn_str_addf(out, "%s(", name);
    hn_gp_ix(c, out, x->a);
    hn_str_add(out, ", ");
    if (x->b)
        hn_gp_ix(c, out, x->b);
    else
        hn_gp_dim(c, out, x->by);
    hn_str_add(out, ")");
}

static void quotient(hn_gp *c, hn_str *out, const hn_atom *x) {
    int64_t by;
    bool number = hn_dim_is_int(c->n->dims, x->by, &by) && by > 0, div = x->kind == HN_AT_DIV;
    if (number && hn_ix_never_negative(c->n, x->a)) {
        hn_str_add(out, "((");
        hn_gp_ix(c, out, x->a);
        hn_str_addf(out, ") %c %lld)", div ? '/' : '%', (long long)by);
    } else if (!number && hn_ix_never_negative(c->n, x->a)) {
        if (c->narrow) hn_str_add(out, "(int32_t)");
        call(c, out, div ? "hnr_quotient" : "hnr_rest", x);
    } else if (c->narrow && number) {
        call(c, out, div ? "hnr_floordiv32" : "hnr_mod32", x);
    } else {
        if (c->narrow) hn_str_add(out, "(int32_t)");
        call(c, out, div ? "hn_floordiv" : "hn_mod", x);
    }
}

static void atom(hn_gp *c, hn_str *out, const hn_atom *x) {
    int k;
    switch (x->kind) {
    case HN_AT_VAR:
        k = lane_of(c, x->id);
        if (k < 0)
            hn_str_addf(out, "i%u", x->id);
        else
            hn_str_addf(out, "%lld", (long long)c->lane[k].at);
        return;
    case HN_AT_VALUE:
        if (c->narrow) hn_str_add(out, "(int32_t)");
        hn_gp_name(c, out, x->id);
        return;
    case HN_AT_DIV:
    case HN_AT_MOD: quotient(c, out, x); return;
    case HN_AT_MIN: call(c, out, c->narrow ? "hnr_min32" : "hn_min", x); return;
    case HN_AT_MAX: call(c, out, c->narrow ? "hnr_max32" : "hn_max", x); return;
    case HN_AT_XOR:
        hn_str_add(out, "((");
        hn_gp_ix(c, out, x->a);
        hn_str_add(out, ") ^ (");
        hn_gp_ix(c, out, x->b);
        hn_str_add(out, "))");
        return;
    }
}

/* What varies with lanes alone becomes part of the constant. */
static int64_t lanes_part(const hn_gp *c, const hn_term *t, bool *whole) {
    const hn_atom *x = &c->n->atom[t->atom];
    int k = x->kind == HN_AT_VAR ? lane_of(c, x->id) : -1;
    int64_t coef;
    *whole = k >= 0 && hn_dim_is_int(c->n->dims, t->coef, &coef);
    return *whole ? coef * c->lane[k].at : 0;
}

void hn_gp_ix(hn_gp *c, hn_str *out, hn_ix i) {
    const hn_linear f = c->n->ix[i];
    int64_t v, sum = 0;
    bool first = true, constant;
    for (uint32_t t = 0; t < f.n; t++) {
        sum += lanes_part(c, &f.term[t], &constant);
        if (constant) continue;
        const hn_atom x = c->n->atom[f.term[t].atom];
        if (!first) hn_str_add(out, " + ");
        first = false;
        if (!hn_dim_is_int(c->n->dims, f.term[t].coef, &v) || v != 1) {
            hn_gp_dim(c, out, f.term[t].coef);
            hn_str_add(out, " * ");
        }
        atom(c, out, &x);
    }
    if (hn_dim_is_int(c->n->dims, f.offset, &v)) {
        sum += v;
    } else {
        if (!first) hn_str_add(out, " + ");
        first = false;
        hn_gp_dim(c, out, f.offset);
    }
    if (!sum && !first) return;
    if (!first) hn_str_add(out, " + ");
    hn_gp_dim(c, out, hn_dim_int(c->n->dims, sum));
}

bool hn_gp_constant(hn_gp *c, hn_ix i, int64_t *value) {
    const hn_linear *f = &c->n->ix[i];
    int64_t sum;
    bool whole;
    if (!hn_dim_is_int(c->n->dims, f->offset, &sum)) return false;
    for (uint32_t t = 0; t < f->n; t++) {
        sum += lanes_part(c, &f->term[t], &whole);
        if (!whole) return false;
    }
    *value = sum;
    return true;
}

int hn_gp_known_guards(hn_gp *c, uint32_t n, const hn_ix *guard) {
    int all = 1;
    for (uint32_t k = 0; k < n; k++) {
        int64_t v;
        if (!hn_gp_constant(c, guard[k], &v))
            all = -1;
        else if (v < 0)
            return 0;
    }
    return all;
}

void hn_gp_guards(hn_gp *c, hn_str *out, uint32_t n, const hn_ix *guard) {
    for (uint32_t k = 0; k < n; k++) {
        hn_str_add(out, k ? " && (" : "(");
        hn_gp_ix(c, out, guard[k]);
        hn_str_add(out, ") >= 0");
    }
}
