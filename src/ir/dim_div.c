/* ir/dim_div.c — floordiv, mod, min and max of dimension expressions.
 *
 * Division by a constant k takes out what divides: coefficients are reduced to [0, k), common factors cancel, nested
 * divisions become one (Bachmann, Wang & Zima 1994, "Chains of recurrences", is where the rules for quotients come
 * from; the rest is arithmetic). Division by an expression is exact polynomial division where that leaves no rest.
 */
#include "ir/dim_int.h"

/* --- taking terms apart ------------------------------------------------------------------------------------------ */

/* The quotient of two terms; false when b does not divide a. atom: room for a->n ids. */
static bool div_term(const hn_dims *t, const hn_poly_term *a, const hn_poly_term *b, uint32_t *atom,
                     hn_poly_term *out) {
    if (b->coef == 0 || a->coef % b->coef != 0 || b->n > a->n || (b->coef == -1 && a->coef == INT64_MIN)) return false;
    uint32_t n = 0, k = 0;
    (void)t;
    for (uint32_t i = 0; i < a->n; i++) {
        if (k < b->n && a->atom[i] == b->atom[k])
            k++;
        else
            atom[n++] = a->atom[i];
    }
    *out = (hn_poly_term){a->coef / b->coef, n, atom};
    return k == b->n && n == a->n - b->n;
}

/* The term at i of d, alone. */
static hn_dim term_of(hn_dims *t, hn_dim d, uint32_t i) {
    hn_poly_term term = t->expr[d].term[i];
    return hn_dim_intern(t, &term, 1);
}

/* The exact quotient a / b by long division on leading terms, or 0. */
static hn_dim exact_quotient(hn_dims *t, hn_dim a, hn_dim b) {
    hn_dim q = hn_dim_int(t, 0);
    for (int step = 0; step < HN_DIM_DEGREE && a && q; step++) {
        if (t->expr[a].n == 0) return q;
        uint32_t atom[HN_DIM_DEGREE];
        hn_poly_term part;
        if (!div_term(t, &t->expr[a].term[0], &t->expr[b].term[0], atom, &part)) return 0;
        hn_dim x = hn_dim_intern(t, &part, 1);
        q = hn_dim_add(t, q, x);
        a = hn_dim_sub(t, a, hn_dim_mul(t, x, b));
    }
    return 0;
}

/* Splits a into *q * b + the rest, b a single term. */
static hn_dim split_term(hn_dims *t, hn_dim a, hn_dim b, hn_dim *q) {
    hn_dim rest = hn_dim_int(t, 0);
    *q = rest;
    for (uint32_t i = 0; a && i < t->expr[a].n; i++) {
        uint32_t atom[HN_DIM_DEGREE];
        hn_poly_term part;
        if (div_term(t, &t->expr[a].term[i], &t->expr[b].term[0], atom, &part))
            *q = hn_dim_add(t, *q, hn_dim_intern(t, &part, 1));
        else
            rest = hn_dim_add(t, rest, term_of(t, a, i));
    }
    return rest;
}

/* An atom that is in every term of a and of b, or 0. */
static hn_dim common_atom(const hn_dims *t, hn_dim a, hn_dim b) {
    const hn_poly *y = &t->expr[b];
    const hn_poly_term *first = &y->term[0];
    for (uint32_t k = 0; y->n && k < first->n; k++) {
        bool all = true;
        for (int side = 0; side < 2 && all; side++) {
            const hn_poly *e = side ? y : &t->expr[a];
            for (uint32_t i = 0; i < e->n && all; i++) {
                bool here = false;
                for (uint32_t m = 0; m < e->term[i].n; m++) here |= e->term[i].atom[m] == first->atom[k];
                all = here;
            }
        }
        if (all) return t->atom[first->atom[k]].self;
    }
    return 0;
}

/* d with one `atom` less in every term; all have it. */
static hn_dim drop_atom(hn_dims *t, hn_dim d, uint32_t atom) {
    hn_poly_term term[HN_DIM_TERMS];
    uint32_t left[HN_DIM_TERMS * 4], n_left = 0, n = t->expr[d].n;
    for (uint32_t i = 0; i < n; i++) {
        const hn_poly_term *from = &t->expr[d].term[i];
        bool found = false;
        if (n_left + from->n > HN_DIM_TERMS * 4) return 0;
        term[i] = (hn_poly_term){from->coef, from->n - 1, left + n_left};
        for (uint32_t k = 0; k < from->n; k++) {
            if (from->atom[k] == atom && !found)
                found = true;
            else
                left[n_left++] = from->atom[k];
        }
    }
    return hn_dim_intern(t, term, n);
}

void hn_dim_cancel(hn_dims *t, hn_dim *a, hn_dim *b) {
    hn_dim x = hn_dim_now(t, *a), y = hn_dim_now(t, *b), common;
    while (x && y && t->expr[x].n && t->expr[y].n && (common = common_atom(t, x, y))) {
        uint32_t atom = t->expr[common].term[0].atom[0];
        hn_dim p = drop_atom(t, x, atom), q = drop_atom(t, y, atom);
        if (!p || !q) break;
        x = p;
        y = q;
    }
    *a = x;
    *b = y;
}

/* --- by a constant ----------------------------------------------------------------------------------------------- */

/* d = k * *q + the rest, whose coefficients are in [0, k). q may be NULL. */
static hn_dim reduce_coefs(hn_dims *t, hn_dim d, int64_t k, hn_dim *q) {
    hn_poly_term quotient[HN_DIM_TERMS], rest[HN_DIM_TERMS];
    uint32_t n = t->expr[d].n;
    for (uint32_t i = 0; i < n; i++) {
        quotient[i] = rest[i] = t->expr[d].term[i];
        quotient[i].coef = hn_floordiv64(rest[i].coef, k);
        rest[i].coef = hn_mod64(rest[i].coef, k);
    }
    hn_dim r = hn_dim_intern(t, rest, n);
    if (q) *q = hn_dim_intern(t, quotient, n);
    return r;
}

/* The greatest common divisor of k and the coefficients, that of the constant term too if whole. */
static int64_t common_factor(const hn_dims *t, hn_dim d, int64_t k, bool whole) {
    for (uint32_t i = 0; i < t->expr[d].n; i++) {
        const hn_poly_term *term = &t->expr[d].term[i];
        if (term->n || whole) k = hn_gcd64(k, term->coef);
    }
    return k;
}

/* Every coefficient divided by g, the constant one rounded down. */
static hn_dim divide_coefs(hn_dims *t, hn_dim d, int64_t g) {
    hn_poly_term term[HN_DIM_TERMS];
    uint32_t n = t->expr[d].n;
    for (uint32_t i = 0; i < n; i++) {
        term[i] = t->expr[d].term[i];
        term[i].coef = hn_floordiv64(term[i].coef, g);
    }
    return hn_dim_intern(t, term, n);
}

/* floordiv(floordiv(x, j) + c, k) = floordiv(x + c*j, j*k) for positive j, k; 0 where d has another form. */
static hn_dim nested_quotient(hn_dims *t, hn_dim d, int64_t k) {
    const hn_poly *e = &t->expr[d];
    if (e->n < 1 || e->n > 2 || e->term[0].n != 1 || e->term[0].coef != 1 || (e->n == 2 && e->term[1].n)) return 0;
    hn_poly_atom at = t->atom[e->term[0].atom[0]];
    int64_t j, jk, add = 0;
    if (at.kind != HN_ATOM_FLOORDIV || !hn_dim_is_int(t, at.b, &j) || j < 1) return 0;
    if (__builtin_mul_overflow(j, k, &jk) || (e->n == 2 && __builtin_mul_overflow(j, e->term[1].coef, &add))) return 0;
    return hn_dim_floordiv(t, hn_dim_add(t, at.a, hn_dim_int(t, add)), hn_dim_int(t, jk));
}

static bool known_quotient(const hn_dims *t, hn_dim d, int64_t k, int64_t *q) {
    int64_t low, high;
    hn_dim_range(t, d, &low, &high);
    if (low == INT64_MIN || high == INT64_MAX) return false;
    *q = hn_floordiv64(low, k);
    return *q == hn_floordiv64(high, k);
}

static hn_dim floordiv_int(hn_dims *t, hn_dim a, int64_t k) {
    hn_dim q, r = reduce_coefs(t, a, k, &q);
    int64_t n;
    if (!r || !q) return 0;
    int64_t g = common_factor(t, r, k, false);
    if (g > 1) {
        r = divide_coefs(t, r, g);
        k /= g;
    }
    if (k == 1) return hn_dim_add(t, q, r);
    if (known_quotient(t, r, k, &n)) return hn_dim_add(t, q, hn_dim_int(t, n));
    hn_dim part = nested_quotient(t, r, k);
    return hn_dim_add(t, q, part ? part : hn_dim_atom(t, HN_ATOM_FLOORDIV, r, hn_dim_int(t, k)));
}

/* Takes mod(x, j) out of a term of its own where k divides j: mod(mod(x, j) + y, k) = mod(x + y, k). */
static hn_dim unwrap_mods(hn_dims *t, hn_dim d, int64_t k) {
    for (uint32_t i = 0; d && i < t->expr[d].n; i++) {
        hn_poly_term term = t->expr[d].term[i];
        if (term.n != 1) continue;
        hn_poly_atom at = t->atom[term.atom[0]];
        int64_t j;
        if (at.kind != HN_ATOM_MOD || !hn_dim_is_int(t, at.b, &j) || j == 0 || j % k != 0) continue;
        d = hn_dim_add(t, hn_dim_sub(t, d, hn_dim_term(t, &term, term.coef)), hn_dim_scale(t, at.a, term.coef));
        i = UINT32_MAX; /* from the start */
    }
    return d;
}

static hn_dim mod_int(hn_dims *t, hn_dim a, int64_t k) {
    hn_dim r = reduce_coefs(t, unwrap_mods(t, a, k), k, NULL);
    int64_t low, high;
    if (!r) return 0;
    if (hn_dim_divides(t, r, k)) return hn_dim_int(t, 0);
    hn_dim_range(t, r, &low, &high);
    if (low >= 0 && high < k) return r;
    int64_t g = common_factor(t, r, k, true);
    if (g == 1) return hn_dim_atom(t, HN_ATOM_MOD, r, hn_dim_int(t, k));
    return hn_dim_scale(t, hn_dim_mod(t, divide_coefs(t, r, g), hn_dim_int(t, k / g)), g);
}

/* --- the calls --------------------------------------------------------------------------------------------------- */

static bool below(hn_dims *t, hn_dim a, hn_dim b) { /* 0 <= a < b always */
    int64_t low, high;
    hn_dim_range(t, a, &low, &high);
    if (low < 0) return false;
    hn_dim_range(t, hn_dim_sub(t, b, a), &low, &high);
    return low > 0;
}

static hn_dim floordiv_sum(hn_dims *t, hn_dim a, hn_dim b) {
    hn_dim q = exact_quotient(t, a, b), common;
    if (q) return q;
    if (t->expr[b].n == 1) {
        hn_dim rest = split_term(t, a, b, &q);
        if (q && t->expr[q].n) return hn_dim_add(t, q, hn_dim_floordiv(t, rest, b));
    }
    if ((common = common_atom(t, a, b)))
        return hn_dim_floordiv(t, exact_quotient(t, a, common), exact_quotient(t, b, common));
    return below(t, a, b) ? hn_dim_int(t, 0) : hn_dim_atom(t, HN_ATOM_FLOORDIV, a, b);
}

hn_dim hn_dim_floordiv(hn_dims *t, hn_dim a, hn_dim b) {
    int64_t k;
    a = hn_dim_now(t, a);
    b = hn_dim_now(t, b);
    if (!a || !b) return 0;
    if (!hn_dim_is_int(t, b, &k)) return floordiv_sum(t, a, b);
    if (k == 0) return hn_dim_atom(t, HN_ATOM_FLOORDIV, a, b);
    if (k == INT64_MIN) return 0;
    return k > 0 ? floordiv_int(t, a, k) : hn_dim_floordiv(t, hn_dim_scale(t, a, -1), hn_dim_int(t, -k));
}

hn_dim hn_dim_ceildiv(hn_dims *t, hn_dim a, hn_dim b) {
    int64_t k;
    if (hn_dim_is_int(t, b, &k) && k > 0)
        return hn_dim_floordiv(t, hn_dim_add(t, a, hn_dim_int(t, k - 1)), hn_dim_int(t, k));
    return hn_dim_scale(t, hn_dim_floordiv(t, hn_dim_scale(t, a, -1), b), -1);
}

hn_dim hn_dim_mod(hn_dims *t, hn_dim a, hn_dim b) {
    int64_t k;
    a = hn_dim_now(t, a);
    b = hn_dim_now(t, b);
    if (!a || !b) return 0;
    if (!hn_dim_is_int(t, b, &k)) {
        if (exact_quotient(t, a, b)) return hn_dim_int(t, 0);
        return below(t, a, b) ? a : hn_dim_atom(t, HN_ATOM_MOD, a, b);
    }
    if (k == 0) return hn_dim_atom(t, HN_ATOM_MOD, a, b);
    if (k == INT64_MIN) return 0;
    if (k > 0) return mod_int(t, a, k);
    return hn_dim_scale(t, hn_dim_mod(t, hn_dim_scale(t, a, -1), hn_dim_int(t, -k)), -1);
}

/* min and max are kept as left-nested chains of distinct leaves in ascending order. */
enum { LEAVES = 16 };

static bool add_leaves(hn_dims *t, hn_atom_kind kind, hn_dim d, hn_dim *leaf, uint32_t *n) {
    const hn_poly_atom *at = hn_dim_lone(t, d);
    if (at && at->kind == kind) {
        hn_dim a = at->a, b = at->b;
        return add_leaves(t, kind, a, leaf, n) && add_leaves(t, kind, b, leaf, n);
    }
    if (*n == LEAVES) return false;
    leaf[(*n)++] = d;
    return true;
}

/* True where x can be dropped from a min or max that has y. */
static bool useless(hn_dims *t, hn_atom_kind kind, hn_dim x, hn_dim y) {
    int64_t low, high;
    hn_dim_range(t, hn_dim_sub(t, x, y), &low, &high);
    return kind == HN_ATOM_MIN ? low >= 0 : high <= 0;
}

static uint32_t prune(hn_dims *t, hn_atom_kind kind, hn_dim *leaf, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        bool drop = false;
        for (uint32_t k = 0; k < n && !drop; k++) drop = k != i && useless(t, kind, leaf[i], leaf[k]);
        if (drop) leaf[i--] = leaf[--n];
    }
    for (uint32_t i = 1; i < n; i++) {
        hn_dim x = leaf[i];
        uint32_t k = i;
        for (; k > 0 && hn_dim_order(t, x, leaf[k - 1]) < 0; k--) leaf[k] = leaf[k - 1];
        leaf[k] = x;
    }
    return n;
}

static hn_dim extreme(hn_dims *t, hn_atom_kind kind, hn_dim a, hn_dim b) {
    hn_dim leaf[LEAVES], d;
    uint32_t n = 0;
    a = hn_dim_now(t, a);
    b = hn_dim_now(t, b);
    if (!a || !b) return 0;
    if (!add_leaves(t, kind, a, leaf, &n) || !add_leaves(t, kind, b, leaf, &n)) return 0;
    n = prune(t, kind, leaf, n);
    d = leaf[0];
    for (uint32_t i = 1; i < n; i++) d = hn_dim_atom(t, kind, d, leaf[i]);
    return d;
}

hn_dim hn_dim_min(hn_dims *t, hn_dim a, hn_dim b) { return extreme(t, HN_ATOM_MIN, a, b); }
hn_dim hn_dim_max(hn_dims *t, hn_dim a, hn_dim b) { return extreme(t, HN_ATOM_MAX, a, b); }

hn_dim hn_dim_make(hn_dims *t, hn_atom_kind kind, hn_dim a, hn_dim b) {
    switch (kind) {
    case HN_ATOM_FLOORDIV: return hn_dim_floordiv(t, a, b);
    case HN_ATOM_MOD: return hn_dim_mod(t, a, b);
    case HN_ATOM_MIN: return hn_dim_min(t, a, b);
    default: return hn_dim_max(t, a, b);
    }
}
