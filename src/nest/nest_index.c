/* nest/nest_index.c — index expressions: interned linear forms over atoms.
 *
 * floordiv and mod by d split a sum into the terms that d divides and a rest; the rest vanishes where its bounds lie in
 * [0, d), or part of it where they lie in [0, g) for a divisor g of d and of the other terms. A later sum
 * k*d*floordiv(r, d) + k*mod(r, d) is put together again, so that a flat index survives being taken apart and rebuilt
 * by reshapes.
 */
#include "nest/nest_int.h"

enum { TERMS_MAX = 64 };

/* Sums under construction: unordered terms, merged by atom. */
typedef struct sum {
    hn_dim offset;
    uint32_t n;
    hn_term term[TERMS_MAX];
    bool full;
} sum;

static bool is_zero(const hn_nest *n, hn_dim d) {
    int64_t v;
    return hn_dim_is_int(n->dims, d, &v) && v == 0;
}
static hn_dim lit(hn_nest *n, int64_t v) { return hn_dim_int(n->dims, v); }

static void sum_term(hn_nest *n, sum *s, hn_at atom, hn_dim coef) {
    uint32_t i = 0;
    while (i < s->n && s->term[i].atom < atom) i++;
    if (i < s->n && s->term[i].atom == atom) {
        s->term[i].coef = hn_dim_add(n->dims, s->term[i].coef, coef);
        if (is_zero(n, s->term[i].coef)) {
            memmove(&s->term[i], &s->term[i + 1], (s->n - i - 1) * sizeof *s->term);
            s->n--;
        }
        return;
    }
    if (is_zero(n, coef)) return;
    if (s->n == TERMS_MAX) {
        s->full = true;
        return;
    }
    memmove(&s->term[i + 1], &s->term[i], (s->n - i) * sizeof *s->term);
    s->term[i] = (hn_term){atom, coef};
    s->n++;
}

static void sum_add(hn_nest *n, sum *s, hn_ix i, hn_dim times) {
    const hn_linear l = n->ix[i];
    s->offset = hn_dim_add(n->dims, s->offset, hn_dim_mul(n->dims, l.offset, times));
    for (uint32_t t = 0; t < l.n; t++) sum_term(n, s, l.term[t].atom, hn_dim_mul(n->dims, l.term[t].coef, times));
}

/* k*d*floordiv(r, d) + k*mod(r, d) is k*r. True when something was put together. */
static bool rejoin(hn_nest *n, sum *s) {
    for (uint32_t m = 0; m < s->n; m++) {
        const hn_atom mod = n->atom[s->term[m].atom];
        if (mod.kind != HN_AT_MOD) continue;
        for (uint32_t d = 0; d < s->n; d++) {
            const hn_atom div = n->atom[s->term[d].atom];
            hn_dim k = s->term[m].coef;
            if (div.kind != HN_AT_DIV || div.a != mod.a || div.by != mod.by) continue;
            if (s->term[d].coef != hn_dim_mul(n->dims, k, mod.by)) continue;
            hn_at at_m = s->term[m].atom, at_d = s->term[d].atom;
            sum_term(n, s, at_m, hn_dim_sub(n->dims, lit(n, 0), k));
            sum_term(n, s, at_d, hn_dim_sub(n->dims, lit(n, 0), hn_dim_mul(n->dims, k, mod.by)));
            sum_add(n, s, mod.a, k);
            return true;
        }
    }
    return false;
}

static hn_ix intern(hn_nest *n, sum *s) {
    for (int round = 0; round < 16 && rejoin(n, s); round++) {
    }
    if (s->full) n->a->failed = true;
    if (!hn_arena_ok(n->a)) return 1;
    for (uint32_t i = 1; i < n->n_ix; i++) {
        const hn_linear *l = &n->ix[i];
        if (l->offset == s->offset && l->n == s->n && !memcmp(l->term, s->term, s->n * sizeof *s->term)) return i;
    }
    if (!HN_ROOM(n, ix)) return 1;
    hn_term *term = HN_NEW_N(n->a, hn_term, s->n);
    if (!term) return 1;
    memcpy(term, s->term, s->n * sizeof *term);
    n->ix[n->n_ix] = (hn_linear){s->offset, s->n, term};
    return n->n_ix++;
}

static hn_ix from_atom(hn_nest *n, const hn_atom *x) {
    hn_at id = 0;
    for (hn_at i = 1; i < n->n_atom && !id; i++) {
        const hn_atom *y = &n->atom[i];
        if (y->kind == x->kind && y->id == x->id && y->a == x->a && y->b == x->b && y->by == x->by) id = i;
    }
    if (!id) {
        if (!HN_ROOM(n, atom)) return 1;
        n->atom[n->n_atom] = *x;
        id = n->n_atom++;
    }
    sum s = {lit(n, 0), 1, {{id, lit(n, 1)}}, false};
    return intern(n, &s);
}

hn_ix hn_ix_dim(hn_nest *n, hn_dim d) {
    sum s = {.offset = d};
    return intern(n, &s);
}
hn_ix hn_ix_int(hn_nest *n, int64_t i) { return hn_ix_dim(n, lit(n, i)); }

hn_ix hn_ix_var(hn_nest *n, hn_var v) {
    int64_t extent;
    if (hn_ix_is_int(n, n->extent[v], &extent) && extent == 1) return hn_ix_int(n, 0);
    return from_atom(n, &(hn_atom){.kind = HN_AT_VAR, .id = v});
}
hn_ix hn_ix_value(hn_nest *n, hn_sv v) { return from_atom(n, &(hn_atom){.kind = HN_AT_VALUE, .id = v}); }

static hn_ix combine(hn_nest *n, hn_ix a, hn_ix b, int64_t times) {
    sum s = {.offset = lit(n, 0)};
    sum_add(n, &s, a, lit(n, 1));
    sum_add(n, &s, b, lit(n, times));
    return intern(n, &s);
}
hn_ix hn_ix_add(hn_nest *n, hn_ix a, hn_ix b) { return combine(n, a, b, 1); }
hn_ix hn_ix_sub(hn_nest *n, hn_ix a, hn_ix b) { return combine(n, a, b, -1); }
hn_ix hn_ix_scale(hn_nest *n, hn_ix a, hn_dim by) {
    sum s = {.offset = lit(n, 0)};
    sum_add(n, &s, a, by);
    return intern(n, &s);
}

/* -- bounds */
static hn_dim bound(hn_nest *n, hn_ix i, bool high);

/* All bits up to the highest one of either operand; 0: not known. */
static hn_dim xor_high(hn_nest *n, const hn_atom *x) {
    int64_t top = 0, all = 0;
    for (int k = 0; k < 2; k++) {
        int64_t v;
        hn_dim d = bound(n, k ? x->b : x->a, true);
        if (!d || !hn_dim_is_int(n->dims, d, &v)) return 0;
        top = v > top ? v : top;
    }
    while (all < top) all = 2 * all + 1;
    return lit(n, all);
}

static hn_dim atom_bound(hn_nest *n, const hn_atom *x, bool high) {
    hn_dim one = lit(n, 1), d;
    switch (x->kind) {
    case HN_AT_VAR:
        if (!high) return lit(n, 0);
        d = bound(n, n->extent[x->id], true);
        return d ? hn_dim_sub(n->dims, d, one) : 0;
    case HN_AT_VALUE:
        if (!n->sv[x->id].below) return 0;
        return high ? hn_dim_sub(n->dims, n->sv[x->id].below, one) : lit(n, 0);
    case HN_AT_MOD: return high ? hn_dim_sub(n->dims, x->by, one) : lit(n, 0);
    case HN_AT_DIV: d = bound(n, x->a, high); return d ? hn_dim_floordiv(n->dims, d, x->by) : 0;
    case HN_AT_MIN:
    case HN_AT_MAX: {
        hn_dim a = bound(n, x->a, high), b = bound(n, x->b, high);
        bool min = x->kind == HN_AT_MIN;
        if (a && b) return min ? hn_dim_min(n->dims, a, b) : hn_dim_max(n->dims, a, b);
        return min == high ? (a ? a : b) : 0;
    }
    case HN_AT_XOR: return high ? xor_high(n, x) : lit(n, 0);
    }
    return 0;
}

static hn_dim bound(hn_nest *n, hn_ix i, bool high) {
    const hn_linear l = n->ix[i];
    hn_dim total = l.offset;
    for (uint32_t t = 0; t < l.n; t++) {
        int64_t low, top;
        hn_dim_range(n->dims, l.term[t].coef, &low, &top);
        if (low < 0 && top > 0) return 0;
        const hn_atom x = n->atom[l.term[t].atom];
        hn_dim d = atom_bound(n, &x, low >= 0 ? high : !high);
        if (!d) return 0;
        total = hn_dim_add(n->dims, total, hn_dim_mul(n->dims, l.term[t].coef, d));
    }
    return total;
}
hn_dim hn_ix_low(hn_nest *n, hn_ix i) { return bound(n, i, false); }
hn_dim hn_ix_high(hn_nest *n, hn_ix i) { return bound(n, i, true); }

bool hn_dim_below(hn_dims *t, hn_dim a, hn_dim b) {
    int64_t low, high;
    hn_dim_range(t, hn_dim_sub(t, b, a), &low, &high);
    return low > 0;
}
bool hn_ix_never_negative(hn_nest *n, hn_ix i) {
    hn_dim low = hn_ix_low(n, i);
    return low && hn_dim_below(n->dims, lit(n, -1), low);
}

/* -- floordiv, mod, min, max, xor */
/* Splits i into by*quotient + rest by divisibility of the coefficients. */
static void split(hn_nest *n, hn_ix i, hn_dim by, hn_ix *quotient, hn_ix *rest) {
    const hn_linear l = n->ix[i];
    sum q = {.offset = lit(n, 0)}, r = {.offset = lit(n, 0)};
    int64_t offset, divisor;
    hn_dim exact = hn_dim_floordiv(n->dims, l.offset, by);
    if (hn_dim_is_int(n->dims, l.offset, &offset) && hn_dim_is_int(n->dims, by, &divisor) && divisor > 0) {
        q.offset = exact;
        r.offset = hn_dim_mod(n->dims, l.offset, by);
    } else if (exact && hn_dim_mul(n->dims, exact, by) == l.offset) {
        q.offset = exact;
    } else {
        r.offset = l.offset;
    }
    for (uint32_t t = 0; t < l.n; t++) {
        hn_dim c = hn_dim_floordiv(n->dims, l.term[t].coef, by);
        bool whole = c && hn_dim_mul(n->dims, c, by) == l.term[t].coef;
        sum_term(n, whole ? &q : &r, l.term[t].atom, whole ? c : l.term[t].coef);
    }
    *quotient = intern(n, &q);
    *rest = intern(n, &r);
}

/* The atom that i is, or NULL. */
static const hn_atom *lone(const hn_nest *n, hn_ix i) {
    const hn_linear *l = &n->ix[i];
    int64_t offset, coef;
    if (l->n != 1 || !hn_dim_is_int(n->dims, l->offset, &offset) || offset) return NULL;
    return hn_dim_is_int(n->dims, l->term[0].coef, &coef) && coef == 1 ? &n->atom[l->term[0].atom] : NULL;
}

/* Is 0 <= i < by? A quotient by d is where its dividend is below by*d: bounds do not tell, as d may be 0 for all they
 * know, but where there is an index there is no such d. */
static bool within(hn_nest *n, hn_ix i, hn_dim by) {
    const hn_atom *x = lone(n, i);
    hn_dim high = hn_ix_high(n, i);
    if (high && hn_ix_never_negative(n, i) && hn_dim_below(n->dims, high, by)) return true;
    return x && x->kind == HN_AT_DIV && within(n, x->a, hn_dim_mul(n->dims, x->by, by));
}

static int64_t common(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

/* g*q + r with 0 <= r < g, g a divisor of `by`, the greatest that a coefficient offers: then floordiv by `by` is
 * floordiv(q, by/g), and the remainder g*mod(q, by/g) + r. 0: there is none. */
static int64_t coarsen(hn_nest *n, hn_ix i, int64_t by, hn_ix *q, hn_ix *r) {
    const hn_linear l = n->ix[i];
    int64_t best = 0, c, at;
    if (!hn_dim_is_int(n->dims, l.offset, &at)) return 0;
    for (uint32_t t = 0; t < l.n; t++) {
        int64_t g = hn_dim_is_int(n->dims, l.term[t].coef, &c) ? common(c, by) : 1;
        hn_ix quotient, rest;
        if (g <= 1 || g >= by || g <= best) continue;
        split(n, i, lit(n, g), &quotient, &rest);
        if (!within(n, rest, lit(n, g))) continue;
        best = g;
        *q = quotient;
        *r = rest;
    }
    return best;
}

hn_ix hn_ix_div(hn_nest *n, hn_ix a, hn_dim by) {
    int64_t v, g;
    hn_ix q, r, whole, rest;
    hn_dim d;
    if (hn_ix_is_dim(n, a, &d)) return hn_ix_dim(n, hn_dim_floordiv(n->dims, d, by));
    if (within(n, a, by)) return hn_ix_int(n, 0);
    if (hn_dim_is_int(n->dims, by, &v) && v == 1) return a;
    split(n, a, by, &q, &r);
    if (within(n, r, by)) return q;
    if (hn_ix_is_int(n, r, &v) && v == 0) return q;
    if (hn_dim_is_int(n->dims, by, &v) && (g = coarsen(n, r, v, &whole, &rest)))
        return hn_ix_add(n, q, hn_ix_div(n, whole, lit(n, v / g)));
    return hn_ix_add(n, q, from_atom(n, &(hn_atom){.kind = HN_AT_DIV, .a = r, .by = by}));
}

hn_ix hn_ix_mod(hn_nest *n, hn_ix a, hn_dim by) {
    int64_t v, g;
    hn_ix q, r, whole, rest;
    hn_dim d;
    if (hn_ix_is_dim(n, a, &d)) return hn_ix_dim(n, hn_dim_mod(n->dims, d, by));
    if (within(n, a, by)) return a;
    if (hn_dim_is_int(n->dims, by, &v) && v == 1) return hn_ix_int(n, 0);
    split(n, a, by, &q, &r);
    if (within(n, r, by)) return r;
    if (hn_ix_is_int(n, r, &v) && v == 0) return r;
    if (hn_dim_is_int(n->dims, by, &v) && (g = coarsen(n, r, v, &whole, &rest)))
        return hn_ix_add(n, hn_ix_scale(n, hn_ix_mod(n, whole, lit(n, v / g)), lit(n, g)), rest);
    return from_atom(n, &(hn_atom){.kind = HN_AT_MOD, .a = r, .by = by});
}

static hn_ix extremum(hn_nest *n, hn_ix a, hn_ix b, hn_at_kind kind) {
    bool min = kind == HN_AT_MIN;
    hn_dim x, y;
    if (hn_ix_is_dim(n, a, &x) && hn_ix_is_dim(n, b, &y))
        return hn_ix_dim(n, min ? hn_dim_min(n->dims, x, y) : hn_dim_max(n->dims, x, y));
    if (a == b || hn_ix_never_negative(n, hn_ix_sub(n, b, a))) return min ? a : b;
    if (hn_ix_never_negative(n, hn_ix_sub(n, a, b))) return min ? b : a;
    return from_atom(n, &(hn_atom){.kind = kind, .a = a < b ? a : b, .b = a < b ? b : a});
}
hn_ix hn_ix_min(hn_nest *n, hn_ix a, hn_ix b) { return extremum(n, a, b, HN_AT_MIN); }
hn_ix hn_ix_max(hn_nest *n, hn_ix a, hn_ix b) { return extremum(n, a, b, HN_AT_MAX); }

hn_ix hn_ix_xor(hn_nest *n, hn_ix a, hn_ix b) {
    int64_t x, y;
    bool a_int = hn_ix_is_int(n, a, &x), b_int = hn_ix_is_int(n, b, &y);
    if (a_int && b_int) return hn_ix_int(n, x ^ y);
    if (a == b || (a_int && x == 0)) return a == b ? hn_ix_int(n, 0) : b;
    if (b_int && y == 0) return a;
    return from_atom(n, &(hn_atom){.kind = HN_AT_XOR, .a = a < b ? a : b, .b = a < b ? b : a});
}

/* -- questions */
bool hn_ix_is_dim(const hn_nest *n, hn_ix i, hn_dim *d) {
    if (n->ix[i].n) return false;
    if (d) *d = n->ix[i].offset;
    return true;
}
bool hn_ix_is_int(const hn_nest *n, hn_ix i, int64_t *v) {
    return !n->ix[i].n && hn_dim_is_int(n->dims, n->ix[i].offset, v);
}

static bool atom_uses(const hn_nest *n, hn_at at, hn_var v, bool through) {
    const hn_atom *x = &n->atom[at];
    if (x->kind == HN_AT_VAR) return x->id == v;
    if (x->kind == HN_AT_VALUE) return through && hn_sv_depends(n, x->id, v);
    for (int k = 0; k < 2; k++) {
        hn_ix i = k ? x->b : x->a;
        if (i && (through ? hn_ix_depends(n, i, v) : hn_ix_uses(n, i, v))) return true;
    }
    return false;
}
bool hn_ix_uses(const hn_nest *n, hn_ix i, hn_var v) {
    for (uint32_t t = 0; t < n->ix[i].n; t++)
        if (atom_uses(n, n->ix[i].term[t].atom, v, false)) return true;
    return false;
}
bool hn_ix_depends(const hn_nest *n, hn_ix i, hn_var v) {
    for (uint32_t t = 0; t < n->ix[i].n; t++)
        if (atom_uses(n, n->ix[i].term[t].atom, v, true)) return true;
    return false;
}
bool hn_sv_depends(const hn_nest *n, hn_sv x, hn_var v) {
    const hn_scalar *s = &n->sv[x];
    if (s->at && hn_ix_depends(n, s->at, v)) return true;
    for (uint32_t k = 0; k < s->n_guard; k++)
        if (hn_ix_depends(n, s->guard[k], v)) return true;
    for (uint32_t k = 0; k < s->n_arg; k++)
        if (hn_sv_depends(n, s->arg[k], v)) return true;
    return false;
}

bool hn_ix_stride(hn_nest *n, hn_ix i, hn_var v, hn_dim *stride) {
    hn_dim found = lit(n, 0);
    for (uint32_t t = 0; t < n->ix[i].n; t++) {
        const hn_term *x = &n->ix[i].term[t];
        if (n->atom[x->atom].kind == HN_AT_VAR && n->atom[x->atom].id == v)
            found = x->coef;
        else if (atom_uses(n, x->atom, v, true))
            return false;
    }
    *stride = found;
    return true;
}

bool hn_ix_step(hn_nest *n, hn_ix i, hn_var v, int64_t *step) {
    hn_dim stride;
    return hn_ix_stride(n, i, v, &stride) && hn_dim_is_int(n->dims, stride, step);
}

static hn_ix atom_subst(hn_nest *n, hn_at at, const hn_subst *s) {
    const hn_atom x = n->atom[at];
    switch (x.kind) {
    case HN_AT_VAR: return x.id < s->n_var && s->var[x.id] ? s->var[x.id] : hn_ix_var(n, x.id);
    case HN_AT_VALUE: return hn_ix_value(n, x.id < s->n_sv && s->sv[x.id] ? s->sv[x.id] : x.id);
    case HN_AT_DIV: return hn_ix_div(n, hn_ix_subst(n, x.a, s), x.by);
    case HN_AT_MOD: return hn_ix_mod(n, hn_ix_subst(n, x.a, s), x.by);
    case HN_AT_MIN: return hn_ix_min(n, hn_ix_subst(n, x.a, s), hn_ix_subst(n, x.b, s));
    case HN_AT_MAX: return hn_ix_max(n, hn_ix_subst(n, x.a, s), hn_ix_subst(n, x.b, s));
    case HN_AT_XOR: return hn_ix_xor(n, hn_ix_subst(n, x.a, s), hn_ix_subst(n, x.b, s));
    }
    return 1;
}
hn_ix hn_ix_subst(hn_nest *n, hn_ix i, const hn_subst *s) {
    const hn_linear l = n->ix[i];
    sum out = {.offset = l.offset};
    for (uint32_t t = 0; t < l.n; t++) sum_add(n, &out, atom_subst(n, l.term[t].atom, s), l.term[t].coef);
    return intern(n, &out);
}
