/* ir/dim_fact.c — relations between dimensions.
 *
 * An equality is turned into a replacement of the newest symbol that stands alone in it with coefficient 1, so later
 * expressions mention older symbols only; `same` of every expression is brought up to date at once, so reading never
 * changes the table. An equality without such a symbol makes its newer side an alias of the older one.
 */
#include "ir/dim_int.h"

#include <stddef.h>

/* --- rebuilding -------------------------------------------------------------------------------------------------- */

static hn_dim rebuild_atom(hn_dims *to, const hn_dims *from, hn_poly_atom at, hn_dim_swap *by, void *arg) {
    if (at.kind == HN_ATOM_SYMBOL) {
        hn_dim d = by(arg, from, at.symbol);
        return d ? d : at.self;
    }
    return hn_dim_make(to, at.kind, hn_dim_rebuild(to, from, at.a, by, arg), hn_dim_rebuild(to, from, at.b, by, arg));
}

hn_dim hn_dim_rebuild(hn_dims *to, const hn_dims *from, hn_dim d, hn_dim_swap *by, void *arg) {
    if (!d) return 0;
    hn_dim sum = hn_dim_int(to, 0);
    for (uint32_t i = 0; i < from->expr[d].n; i++) {
        hn_poly_term term = from->expr[d].term[i];
        hn_dim x = hn_dim_int(to, term.coef);
        for (uint32_t k = 0; k < term.n; k++)
            x = hn_dim_mul(to, x, rebuild_atom(to, from, from->atom[term.atom[k]], by, arg));
        sum = hn_dim_add(to, sum, x);
    }
    return sum;
}

typedef struct copying {
    hn_dims *to;
    hn_dim *map;
} copying;

static hn_dim copied_symbol(void *arg, const hn_dims *from, hn_symbol s) {
    copying *c = arg;
    if (c->map && c->map[s]) return c->map[s];
    const hn_symbol_info *info = &from->symbol[s];
    hn_dim d = hn_dim_find(c->to, info->name);
    if (!d) d = hn_dim_symbol(c->to, info->name, info->low, info->high);
    if (c->map) c->map[s] = d;
    return d;
}

hn_dim hn_dim_copy(hn_dims *to, const hn_dims *from, hn_dim d, hn_dim *map) {
    copying c = {to, map};
    hn_symbol s;
    if (hn_dim_is_symbol(from, d, &s)) return copied_symbol(&c, from, s);
    return hn_dim_rebuild(to, from, hn_dim_shown(from, d), copied_symbol, &c);
}

/* --- equalities -------------------------------------------------------------------------------------------------- */

static bool mentions(const hn_dims *t, hn_dim d, hn_symbol s) {
    const hn_poly *e = &t->expr[d];
    if (!(e->symbols >> s % 64 & 1)) return false;
    for (uint32_t i = 0; i < e->n; i++) {
        for (uint32_t k = 0; k < e->term[i].n; k++) {
            const hn_poly_atom *a = &t->atom[e->term[i].atom[k]];
            if (a->kind == HN_ATOM_SYMBOL ? a->symbol == s : mentions(t, a->a, s) || mentions(t, a->b, s)) return true;
        }
    }
    return false;
}

static bool mentions_newer(const hn_dims *t, hn_dim d, hn_symbol s) {
    for (hn_symbol x = s + 1; x < t->n_symbol; x++)
        if (mentions(t, d, x)) return true;
    return false;
}

/* The newest symbol that `d = 0` can be solved for in terms of older ones, and what it is then: a symbol that is known
 * early never becomes an expression of one that a run computes later. */
static bool solve(hn_dims *t, hn_dim d, hn_symbol *s, hn_dim *is) {
    int64_t g = 0;
    bool found = false;
    for (uint32_t i = 0; i < t->expr[d].n; i++) g = hn_gcd64(g, t->expr[d].term[i].coef);
    for (uint32_t i = 0; i < t->expr[d].n; i++) {
        hn_poly_term term = t->expr[d].term[i];
        if (term.n != 1 || (term.coef != g && term.coef != -g)) continue;
        const hn_poly_atom *at = &t->atom[term.atom[0]];
        if (at->kind != HN_ATOM_SYMBOL || (found && at->symbol < *s)) continue;
        hn_symbol x = at->symbol;
        hn_dim rest = hn_dim_sub(t, d, hn_dim_term(t, &term, term.coef));
        if (!rest || mentions(t, rest, x) || mentions_newer(t, rest, x)) continue;
        hn_dim value = hn_dim_floordiv(t, rest, hn_dim_int(t, -term.coef));
        if (!value) continue;
        *s = x;
        *is = value;
        found = true;
    }
    return found;
}

typedef struct replacing {
    hn_symbol s;
    hn_dim is;
} replacing;

static hn_dim replaced_symbol(void *arg, const hn_dims *from, hn_symbol s) {
    const replacing *r = arg;
    (void)from;
    return s == r->s ? r->is : 0;
}

static hn_dim same_symbol(void *arg, const hn_dims *from, hn_symbol s) {
    (void)arg, (void)from, (void)s;
    return 0;
}

void hn_dim_refresh(hn_dims *t, hn_symbol s) {
    uint32_t n = t->n_expr;
    for (hn_dim d = 1; d < n; d++) {
        hn_dim same = t->expr[d].same;
        if (t->expr[d].live || !mentions(t, same, s)) continue;
        hn_dim now = hn_dim_rebuild(t, t, same, same_symbol, NULL);
        if (now) t->expr[d].same = hn_dim_now(t, now);
    }
}

hn_dim hn_dim_settle(hn_dims *t, hn_dim d) {
    const hn_poly_atom *lone = hn_dim_lone(t, d);
    if (!d || (lone && lone->kind == HN_ATOM_SYMBOL)) return d;
    hn_dim same = hn_dim_exact(t, hn_dim_now(t, d));
    for (hn_symbol s = 0; s < t->n_symbol; s++) {
        if (hn_dim_now(t, t->symbol[s].self) == t->symbol[s].self || !mentions(t, same, s)) continue;
        same = hn_dim_rebuild(t, t, same, same_symbol, NULL);
        break;
    }
    if (same) t->expr[d].same = same;
    return same;
}

/* The symbol that stays gets the bounds of both. */
static void narrow(hn_dims *t, const replacing *r) {
    hn_symbol other;
    if (!hn_dim_is_symbol(t, r->is, &other)) return;
    const hn_symbol_info *a = &t->symbol[r->s], *b = &t->symbol[other];
    int64_t low = a->low > b->low ? a->low : b->low, high = a->high < b->high ? a->high : b->high;
    if (low <= high && (low != b->low || high != b->high)) hn_symbol_limit(t, other, low, high);
}

static void learn(hn_dims *t, hn_dim a, hn_dim b, unsigned fuel);

static void replace_symbol(hn_dims *t, replacing r, unsigned fuel) {
    uint32_t n = t->n_expr;
    narrow(t, &r);
    for (hn_dim d = 1; d < n; d++) {
        hn_dim same = t->expr[d].same;
        if (t->expr[d].live || !mentions(t, same, r.s)) continue;
        hn_dim now = hn_dim_rebuild(t, t, same, replaced_symbol, &r);
        if (now) t->expr[d].same = now;
    }
    for (uint32_t i = 0; i < t->n_alias && fuel; i++) {
        hn_dim a = hn_dim_rebuild(t, t, t->alias[i].a, replaced_symbol, &r);
        learn(t, a, hn_dim_now(t, t->alias[i].b), fuel - 1);
    }
}

/* Number of the newest symbol in d, plus 1; 0: none. */
static hn_symbol newest(const hn_dims *t, hn_dim d) {
    hn_symbol s = (hn_symbol)hn_dims_symbols(t);
    while (s && !mentions(t, d, s - 1)) s--;
    return s;
}

/* The side with the newer symbols is replaced: what stays must be known wherever the other was. */
static void make_alias(hn_dims *t, hn_dim a, hn_dim b) {
    hn_symbol x = newest(t, a), y = newest(t, b);
    if (x < y || (x == y && a < b)) {
        hn_dim swap = a;
        a = b;
        b = swap;
    }
    hn_relation *list = hn_dim_grow(t, t->alias, t->n_alias, &t->room_alias, sizeof *list);
    if (!list) return;
    t->alias = list;
    t->alias[t->n_alias++] = (hn_relation){.a = a, .b = b};
    for (hn_dim d = 1; d < t->n_expr; d++)
        if (!t->expr[d].live && t->expr[d].same == a) t->expr[d].same = b;
}

/* The atom floordiv(x, k) of term i of d where k is a number, else NULL. */
static const hn_poly_atom *quotient_in(const hn_dims *t, hn_dim d, uint32_t i, int64_t *k) {
    const hn_poly_term *term = &t->expr[d].term[i];
    for (uint32_t m = 0; m < term->n; m++) {
        const hn_poly_atom *at = &t->atom[term->atom[m]];
        if (at->kind == HN_ATOM_FLOORDIV && hn_dim_is_int(t, at->b, k) && *k > 1) return at;
    }
    return NULL;
}

/* The divisor of an exact quotient in d, or 0. */
static int64_t exact_divisor(const hn_dims *t, hn_dim d) {
    for (uint32_t i = 0; d && i < t->expr[d].n; i++) {
        int64_t k;
        const hn_poly_atom *at = quotient_in(t, d, i, &k);
        if (at && hn_dim_divides(t, at->a, k)) return k;
    }
    return 0;
}

/* k times the terms of d as they stand, whatever d itself is known to equal. */
static hn_dim scale_terms(hn_dims *t, hn_dim d, int64_t k) {
    hn_poly_term term[HN_DIM_TERMS];
    uint32_t n = t->expr[d].n;
    for (uint32_t i = 0; i < n; i++) {
        term[i] = t->expr[d].term[i];
        if (__builtin_mul_overflow(term[i].coef, k, &term[i].coef)) return 0;
    }
    d = hn_dim_intern(t, term, n);
    return hn_dim_exact(t, d);
}

/* d times the divisors of its exact quotients, so that they become what they were divided from. */
static hn_dim without_quotients(hn_dims *t, hn_dim d) {
    int64_t k;
    for (unsigned step = 0; step < 4 && (k = exact_divisor(t, d)); step++) {
        hn_dim more = scale_terms(t, d, k);
        if (!more) break;
        d = more;
    }
    return d;
}

static void learn(hn_dims *t, hn_dim a, hn_dim b, unsigned fuel) {
    hn_dim d = without_quotients(t, hn_dim_sub(t, a, b));
    replacing r;
    a = hn_dim_now(t, a);
    b = hn_dim_now(t, b);
    if (!d || a == b || hn_dim_is_int(t, d, NULL))
        return; /* unknown, known, or a contradiction that a run will report */
    if (solve(t, d, &r.s, &r.is))
        replace_symbol(t, r, fuel);
    else
        make_alias(t, a, b);
}

/* --- the list ---------------------------------------------------------------------------------------------------- */

/* A copy of d as it is now, which no later equality changes. */
static hn_dim freeze(hn_dims *t, hn_dim d) {
    hn_poly *list = hn_dim_grow(t, t->expr, t->n_expr, &t->room_expr, sizeof *list);
    if (!list || !d) return 0;
    t->expr = list;
    hn_poly e = t->expr[d];
    e.live = d;
    e.next = 0;
    e.same = t->n_expr;
    t->expr[t->n_expr] = e;
    return t->n_expr++;
}

static void record(hn_dims *t, hn_relation r) {
    hn_relation *list = hn_dim_grow(t, t->relation, t->n_relation, &t->room_relation, sizeof *list);
    if (!list) return;
    t->relation = list;
    t->relation[t->n_relation++] = r;
}

/* `s = min(s, c)` and `s = max(s, c)` say no more than a bound of s; the range of a symbol is checked like a relation.
 */
static bool is_bound(hn_dims *t, hn_dim a, hn_dim b) {
    const hn_poly_atom *s = hn_dim_lone(t, a), *of = hn_dim_lone(t, b);
    int64_t c, low, high;
    if (!s || !of || s->kind != HN_ATOM_SYMBOL || (of->kind != HN_ATOM_MIN && of->kind != HN_ATOM_MAX)) return false;
    bool first = hn_dim_now(t, of->a) == a && hn_dim_is_int(t, of->b, &c);
    if (!first && !(hn_dim_now(t, of->b) == a && hn_dim_is_int(t, of->a, &c))) return false;
    hn_symbol_range(t, s->symbol, &low, &high);
    if (c < low || c > high) return false;
    hn_symbol_limit(t, s->symbol, of->kind == HN_ATOM_MAX ? c : low, of->kind == HN_ATOM_MIN ? c : high);
    return true;
}

/* `x = k*floordiv(x, k)`, also times a number, says that k divides x. */
static bool is_divisibility(hn_dims *t, hn_dim a, hn_dim b) {
    hn_dim d = hn_dim_sub(t, a, b);
    for (uint32_t i = 0; d && i < t->expr[d].n; i++) {
        int64_t k;
        hn_poly_term term = t->expr[d].term[i];
        const hn_poly_atom *at = quotient_in(t, d, i, &k);
        if (!at || term.n != 1 || term.coef % k != 0) continue;
        hn_dim x = at->a, rest = hn_dim_sub(t, d, hn_dim_term(t, &term, term.coef));
        if (!rest || rest != hn_dim_scale(t, x, -term.coef / k)) continue;
        hn_dim_assume_divisible(t, x, k);
        return true;
    }
    return false;
}

void hn_dim_assume_equal(hn_dims *t, hn_dim a, hn_dim b) {
    a = hn_dim_now(t, a);
    b = hn_dim_now(t, b);
    if (!a || !b || a == b || is_bound(t, a, b) || is_bound(t, b, a) || is_divisibility(t, a, b)) return;
    record(t, (hn_relation){.a = freeze(t, a), .b = freeze(t, b)});
    learn(t, a, b, 8);
}

void hn_dim_assume_divisible(hn_dims *t, hn_dim a, int64_t by) {
    a = hn_dim_now(t, a);
    if (!a || by < 2 || hn_dim_divides(t, a, by)) return;
    record(t, (hn_relation){.a = freeze(t, a), .by = by});
    for (hn_symbol s = 0; s < t->n_symbol; s++)
        if (mentions(t, a, s)) hn_dim_refresh(t, s);
    /* a quotient that became exact may say more of what was stated before */
    for (uint32_t i = 0, n = t->n_alias; i < n; i++) {
        int64_t k = exact_divisor(t, t->alias[i].a);
        if (!k) k = exact_divisor(t, t->alias[i].b);
        if (k) learn(t, scale_terms(t, t->alias[i].a, k), scale_terms(t, t->alias[i].b, k), 4);
    }
}

size_t hn_dim_relations(const hn_dims *t, const hn_relation **list) {
    *list = t->relation;
    return t->n_relation;
}

hn_dim hn_dim_standing(const hn_dims *t, hn_dim d) { return hn_dim_now(t, d); }

/* --- what follows ------------------------------------------------------------------------------------------------ */

/* The largest factor that d itself was said to have. */
static int64_t stated_factor(const hn_dims *t, hn_dim d) {
    int64_t factor = 1;
    for (uint32_t i = 0; i < t->n_relation; i++) {
        const hn_relation *r = &t->relation[i];
        if (r->b || hn_dim_now(t, r->a) != d) continue;
        int64_t lcm;
        if (!__builtin_mul_overflow(factor / hn_gcd64(factor, r->by), r->by, &lcm)) factor = lcm;
    }
    return factor;
}

bool hn_dim_divides(const hn_dims *t, hn_dim d, int64_t by) {
    d = hn_dim_now(t, d);
    if (!d) return false;
    if (stated_factor(t, d) % by == 0) return true;
    for (uint32_t i = 0; i < t->expr[d].n; i++) {
        const hn_poly_term *term = &t->expr[d].term[i];
        int64_t left = by / hn_gcd64(by, term->coef);
        for (uint32_t k = 0; k < term->n; k++) left /= hn_gcd64(left, stated_factor(t, t->atom[term->atom[k]].self));
        if (left != 1) return false;
    }
    return true;
}

hn_known_equal hn_dim_equal(const hn_dims *t, hn_dim a, hn_dim b) {
    hn_poly_term term[2 * HN_DIM_TERMS];
    uint32_t n = 0;
    int64_t low, high, g = 0, constant = 0;
    a = hn_dim_now(t, a);
    b = hn_dim_now(t, b);
    if (!a || !b) return HN_MAYBE;
    if (a == b) return HN_EQUAL;
    for (uint32_t i = 0; i < t->expr[a].n; i++) term[n++] = t->expr[a].term[i];
    for (uint32_t i = 0; i < t->expr[b].n; i++) {
        hn_poly_term x = t->expr[b].term[i];
        uint32_t k = 0;
        while (k < n && hn_term_order(t, &term[k], &x) != 0) k++;
        if (k == n) term[n++] = (hn_poly_term){0, x.n, x.atom};
        if (__builtin_sub_overflow(term[k].coef, x.coef, &term[k].coef)) return HN_MAYBE;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (term[i].n)
            g = hn_gcd64(g, term[i].coef);
        else
            constant = term[i].coef;
    }
    hn_terms_range(t, term, n, &low, &high);
    if (low > 0 || high < 0 || (g ? constant % g != 0 : constant != 0)) return HN_DIFFERENT;
    return HN_MAYBE;
}
