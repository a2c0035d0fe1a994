/* nest/apart.c — proofs that threads touch elements of their own (nest/apart.h). */
#include "nest/apart.h"
#include "nest/nest_int.h"

#include <stdlib.h>

enum { PARTS_MAX = 24 };
#define FAR (INT64_C(1) << 40) /* beyond every index that is reasoned about */

typedef struct part { /* coef * d, d in low … high */
    int64_t coef, low, high;
    bool thread; /* the difference of a thread's variable */
} part;

typedef enum answer { NEVER, SAME_THREAD, MAYBE } answer; /* is the sum 0? */

typedef struct difference {
    hn_nest *n;
    const uint8_t *role;
    part p[PARTS_MAX];
    int count;
    int64_t offset;
    bool thread_seen[3]; /* of those in thread[] */
    hn_var thread[3];
    int n_thread;
} difference;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }
static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return magnitude(a);
}

/* What the parts can add up to; false: no bounds. */
static bool span(const part *p, int count, int64_t *low, int64_t *high) {
    for (int k = 0; k < count; k++) {
        if (p[k].low <= -FAR || p[k].high >= FAR || magnitude(p[k].coef) >= FAR) return false;
        int64_t a = p[k].coef * p[k].low, b = p[k].coef * p[k].high;
        *low += a < b ? a : b;
        *high += a < b ? b : a;
        if (*low <= -FAR || *high >= FAR) return false;
    }
    return true;
}

static answer alone(const part *p, int64_t offset) {
    if (!p->thread) return SAME_THREAD;
    if (offset % p->coef) return NEVER;
    int64_t d = -offset / p->coef;
    if (d < p->low || d > p->high) return NEVER;
    return d == 0 ? SAME_THREAD : MAYBE;
}

/* Can the parts (descending by magnitude of coef) and the offset be 0 together, and if so, are all threads' parts? */
static answer solve(const part *p, int count, int64_t offset) {
    int64_t low = offset, high = offset;
    bool known = span(p, count, &low, &high), threads = false;
    if (count == 0) return offset ? NEVER : SAME_THREAD;
    if (known && (low > 0 || high < 0)) return NEVER;
    for (int k = 0; k < count; k++) threads |= p[k].thread;
    if (count == 1) return alone(p, offset);
    int64_t g = 0;
    for (int cut = 1; cut < count; cut++) {
        g = gcd(g, p[cut - 1].coef);
        for (int64_t rest = (offset % g + g) % g, k = 0; k < 2; k++, rest -= g) {
            int64_t l = rest, h = rest;
            if (!span(p + cut, count - cut, &l, &h) || l <= -g || h >= g) continue;
            answer a = solve(p, cut, offset - rest), b = solve(p + cut, count - cut, rest);
            if (a == NEVER || b == NEVER) return NEVER;
            if (a == SAME_THREAD && b == SAME_THREAD) return SAME_THREAD;
        }
    }
    return threads ? MAYBE : SAME_THREAD;
}

/* The role of an atom: that of its variable, or of all in it. */
static hn_role_of_var atom_role(const hn_nest *n, const uint8_t *role, hn_at at);
static hn_role_of_var ix_role(const hn_nest *n, const uint8_t *role, hn_ix i) {
    hn_role_of_var all = HN_VAR_SAME;
    for (uint32_t t = 0; t < n->ix[i].n; t++) {
        hn_role_of_var r = atom_role(n, role, n->ix[i].term[t].atom);
        if (r == HN_VAR_FREE || all == HN_VAR_FREE)
            all = HN_VAR_FREE;
        else if (r != HN_VAR_SAME)
            all = HN_VAR_THREAD;
    }
    return all;
}
static hn_role_of_var atom_role(const hn_nest *n, const uint8_t *role, hn_at at) {
    const hn_atom *x = &n->atom[at];
    if (x->kind == HN_AT_VAR) return role[x->id] == HN_VAR_BEFORE ? HN_VAR_FREE : (hn_role_of_var)role[x->id];
    if (x->kind == HN_AT_VALUE) return HN_VAR_FREE;
    hn_role_of_var a = ix_role(n, role, x->a), b = x->b ? ix_role(n, role, x->b) : HN_VAR_SAME;
    if (a == HN_VAR_FREE || b == HN_VAR_FREE) return HN_VAR_FREE;
    return a == HN_VAR_THREAD || b == HN_VAR_THREAD ? HN_VAR_THREAD : HN_VAR_SAME;
}

static bool add_part(difference *d, int64_t coef, int64_t low, int64_t high, bool thread) {
    if (d->count == PARTS_MAX) return false;
    if (coef && low != high) d->p[d->count++] = (part){coef, low, high, thread};
    if (coef && low == high) d->offset += coef * low;
    return true;
}

/* An atom that may have any value in its bounds. */
static bool add_free(difference *d, hn_at at, int64_t coef) {
    hn_nest *n = d->n;
    hn_ix i = 0;
    for (uint32_t k = 1; k < n->n_ix && !i; k++) {
        int64_t one, zero;
        const hn_linear *f = &n->ix[k];
        if (f->n == 1 && f->term[0].atom == at && hn_dim_is_int(n->dims, f->term[0].coef, &one) && one == 1 &&
            hn_dim_is_int(n->dims, f->offset, &zero) && zero == 0)
            i = k;
    }
    hn_dim l = i ? hn_ix_low(n, i) : 0, h = i ? hn_ix_high(n, i) : 0;
    int64_t low, high, ignored;
    if (!l || !hn_dim_is_int(n->dims, l, &low)) low = -FAR;
    if (h && !hn_dim_is_int(n->dims, h, &high)) hn_dim_range(n->dims, h, &ignored, &high);
    if (!h || high > FAR) high = FAR;
    return add_part(d, coef, low, high, false);
}

/* A term of one or of both: coefficients in the first and the second index. */
static bool add_term(difference *d, hn_at at, int64_t first, int64_t second) {
    const hn_atom x = d->n->atom[at];
    hn_role_of_var r = atom_role(d->n, d->role, at);
    int64_t e;
    if (r == HN_VAR_SAME && first == second) return true;
    if (r == HN_VAR_SAME) return add_free(d, at, second - first);
    if (r == HN_VAR_THREAD && x.kind == HN_AT_VAR && first == second) {
        for (int k = 0; k < d->n_thread; k++)
            if (d->thread[k] == x.id) d->thread_seen[k] = true;
        if (!hn_ix_is_int(d->n, d->n->extent[x.id], &e)) return false;
        return add_part(d, second, 1 - e, e - 1, true);
    }
    return (!second || add_free(d, at, second)) && (!first || add_free(d, at, -first));
}

static int by_coef(const void *a, const void *b) {
    int64_t x = magnitude(((const part *)a)->coef), y = magnitude(((const part *)b)->coef);
    return x < y ? 1 : x > y ? -1 : 0;
}

/* c*mod(a, m) and c*mod(b, m), b - a never a multiple of m, and what is left of either in [0, c): other stages. */
static bool other_stage(hn_nest *n, const uint8_t *role, hn_ix first, hn_ix second, const int64_t more[2]) {
    for (uint32_t s = 0; s < n->ix[first].n; s++) {
        const hn_term x = n->ix[first].term[s];
        const hn_atom a = n->atom[x.atom];
        int64_t c, m, apart;
        if (a.kind != HN_AT_MOD || !hn_dim_is_int(n->dims, x.coef, &c) || !hn_dim_is_int(n->dims, a.by, &m) || m < 2)
            continue;
        for (uint32_t t = 0; t < n->ix[second].n; t++) {
            const hn_term y = n->ix[second].term[t];
            const hn_atom b = n->atom[y.atom];
            if (b.kind != HN_AT_MOD || y.coef != x.coef || b.by != a.by) continue;
            if (ix_role(n, role, a.a) != HN_VAR_SAME || ix_role(n, role, b.a) != HN_VAR_SAME) continue;
            if (!hn_ix_is_int(n, hn_ix_sub(n, b.a, a.a), &apart) || apart % m == 0) continue;
            hn_ix one = hn_ix_sub(n, first, hn_ix_scale(n, hn_ix_mod(n, a.a, a.by), x.coef));
            hn_ix two = hn_ix_sub(n, second, hn_ix_scale(n, hn_ix_mod(n, b.a, b.by), x.coef));
            hn_dim h1 = hn_ix_high(n, one), h2 = hn_ix_high(n, two);
            if (h1) h1 = hn_dim_add(n->dims, h1, hn_dim_int(n->dims, more[0]));
            if (h2) h2 = hn_dim_add(n->dims, h2, hn_dim_int(n->dims, more[1]));
            if (h1 && h2 && hn_ix_never_negative(n, one) && hn_ix_never_negative(n, two) &&
                hn_dim_below(n->dims, h1, x.coef) && hn_dim_below(n->dims, h2, x.coef))
                return true;
        }
    }
    return false;
}

/* The first index one turn earlier, for those loops. */
static hn_ix turn_before(hn_nest *n, const uint8_t *role, hn_ix first, uint8_t *now) {
    hn_ix *var = calloc(n->n_var + 1u, sizeof *var);
    bool any = false;
    for (hn_var v = 1; var && v < n->n_var; v++) {
        now[v] = role[v] == HN_VAR_BEFORE ? HN_VAR_SAME : role[v];
        if (role[v] != HN_VAR_BEFORE || !hn_ix_uses(n, first, v)) continue;
        var[v] = hn_ix_sub(n, hn_ix_var(n, v), hn_ix_int(n, 1));
        any = true;
    }
    hn_subst s = {var, NULL, n->n_var, 0};
    hn_ix out = any ? hn_ix_subst(n, first, &s) : first;
    free(var);
    return out;
}

static bool all_threads_in(const difference *d, hn_ix i) {
    for (int k = 0; k < d->n_thread; k++)
        if (!hn_ix_uses(d->n, i, d->thread[k])) return false;
    return true;
}

static bool add_terms(difference *d, hn_ix first, hn_ix second) {
    hn_nest *n = d->n;
    const hn_linear a = n->ix[first], b = n->ix[second];
    int64_t x, y;
    if (!hn_dim_is_int(n->dims, hn_dim_sub(n->dims, b.offset, a.offset), &d->offset)) return false;
    for (uint32_t s = 0, t = 0; s < a.n || t < b.n;) {
        hn_at at = s == a.n ? b.term[t].atom : t == b.n ? a.term[s].atom : 0;
        if (!at) at = a.term[s].atom < b.term[t].atom ? a.term[s].atom : b.term[t].atom;
        bool in_a = s < a.n && a.term[s].atom == at, in_b = t < b.n && b.term[t].atom == at;
        hn_dim ca = in_a ? a.term[s].coef : 0, cb = in_b ? b.term[t].coef : 0;
        s += in_a;
        t += in_b;
        if (in_a && in_b && ca == cb && atom_role(n, d->role, at) == HN_VAR_SAME) continue;
        x = y = 0;
        if ((in_a && !hn_dim_is_int(n->dims, ca, &x)) || (in_b && !hn_dim_is_int(n->dims, cb, &y))) return false;
        if (!add_term(d, at, x, y)) return false;
    }
    return true;
}

/* Is every variable in it one of those, or the same in both accesses? but: of this one it does not matter. */
static bool only_uses(const hn_nest *n, const uint8_t *role, const bool *equal, hn_ix i, hn_var but) {
    for (uint32_t t = 0; t < n->ix[i].n; t++) {
        const hn_atom *x = &n->atom[n->ix[i].term[t].atom];
        if (x->kind == HN_AT_VALUE) return false;
        if (x->kind == HN_AT_VAR && x->id != but && !equal[x->id] && role[x->id] != HN_VAR_SAME) return false;
        if (x->a && !only_uses(n, role, equal, x->a, but)) return false;
        if (x->b && !only_uses(n, role, equal, x->b, but)) return false;
    }
    return true;
}

/* An xor that is equal in both, in which everything is but variable v, which is then, too. */
static bool decides(hn_nest *n, const uint8_t *role, const bool *equal, hn_at at, hn_var v) {
    const hn_atom x = n->atom[at];
    int64_t step;
    if (x.kind != HN_AT_XOR || !only_uses(n, role, equal, x.a, v) || !only_uses(n, role, equal, x.b, v)) return false;
    bool in_a = hn_ix_uses(n, x.a, v), in_b = hn_ix_uses(n, x.b, v);
    return in_a != in_b && hn_ix_step(n, in_a ? x.a : x.b, v, &step) && step != 0;
}

/* One index in both accesses, in which variables and swizzles are digits of their own: then threads are told by it. */
static bool by_digits(difference *d, hn_ix i) {
    hn_nest *n = d->n;
    bool *equal = calloc(n->n_var + 1u, 1), fine = equal != NULL, more = true;
    const hn_linear f = n->ix[i];
    d->count = 0;
    for (uint32_t t = 0; fine && t < f.n; t++) {
        const hn_atom x = n->atom[f.term[t].atom];
        hn_role_of_var r = atom_role(n, d->role, f.term[t].atom);
        int64_t coef, top;
        if (r == HN_VAR_SAME) continue;
        fine = hn_dim_is_int(n->dims, f.term[t].coef, &coef) && (x.kind == HN_AT_VAR || x.kind == HN_AT_XOR);
        if (!fine) break;
        hn_ix alone = x.kind == HN_AT_VAR ? hn_ix_var(n, x.id) : hn_ix_xor(n, x.a, x.b);
        hn_dim high = hn_ix_high(n, alone);
        if (!high || !hn_dim_is_int(n->dims, high, &top) || top > FAR) top = FAR;
        fine = add_part(d, coef, -top, top, true);
        if (x.kind == HN_AT_VAR) equal[x.id] = true;
    }
    qsort(d->p, (size_t)d->count, sizeof *d->p, by_coef);
    fine = fine && solve(d->p, d->count, 0) == SAME_THREAD;
    while (fine && more) {
        more = false;
        for (int k = 0; k < d->n_thread; k++)
            for (uint32_t t = 0; t < f.n && !equal[d->thread[k]]; t++)
                more |= equal[d->thread[k]] = decides(n, d->role, equal, f.term[t].atom, d->thread[k]);
    }
    for (int k = 0; fine && k < d->n_thread; k++) fine = equal[d->thread[k]];
    free(equal);
    return fine;
}

bool hn_never_meet(hn_nest *n, const uint8_t *role, bool known, hn_stretch one, hn_stretch other) {
    uint8_t *now = calloc(n->n_var + 1u, 1);
    if (!now) return false;
    const int64_t more[2] = {one.count - 1, other.count - 1};
    hn_ix was = turn_before(n, role, one.at, now), second = other.at;
    difference d = {.n = n, .role = now};
    int64_t e;
    bool never = false;
    for (hn_var v = 1; v < n->n_var && d.n_thread < 3; v++)
        if (now[v] == HN_VAR_THREAD && !(hn_ix_is_int(n, n->extent[v], &e) && e == 1)) d.thread[d.n_thread++] = v;
    if (known && was == second && !more[0] && !more[1] && ix_role(n, now, was) != HN_VAR_FREE &&
        all_threads_in(&d, was))
        never = true;
    if (!never) never = other_stage(n, now, was, second, more);
    if (!never && add_terms(&d, was, second) && add_part(&d, 1, 0, more[1], false) &&
        add_part(&d, -1, 0, more[0], false)) {
        qsort(d.p, (size_t)d.count, sizeof *d.p, by_coef);
        answer a = solve(d.p, d.count, d.offset);
        bool all = true;
        for (int k = 0; k < d.n_thread; k++) all &= d.thread_seen[k];
        never = a == NEVER || (a == SAME_THREAD && all && known);
    }
    for (hn_var v = 1; v < n->n_var; v++) now[v] = role[v] == HN_VAR_BEFORE ? HN_VAR_FREE : role[v];
    if (!never && known && one.at == second && !more[0] && !more[1]) never = by_digits(&d, second);
    free(now);
    return never;
}
