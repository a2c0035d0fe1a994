/* ir/dim.c — the table of expressions: interning, sums and products, evaluation. Division, min and max: dim_div.c;
 * relations: dim_fact.c; text: dim_text.c. */
#include "base/hash.h"
#include "ir/dim_int.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- storage ----------------------------------------------------------------------------------------------------- */

void *hn_dim_grow(hn_dims *t, void *list, uint32_t n, uint32_t *room, size_t size) {
    if (n < *room) return list;
    uint32_t more = *room ? 2 * *room : 32;
    void *p = more > *room ? hn_alloc_n(t->a, more, size) : NULL;
    if (!p) {
        t->a->failed = true;
        return NULL;
    }
    if (n) memcpy(p, list, n * size);
    *room = more;
    return p;
}

/* Doubles the hash table when chains get long. */
static bool grow_slots(hn_dims *t) {
    if (t->n_expr < t->n_slot) return true;
    uint32_t n = t->n_slot ? 2 * t->n_slot : 64;
    uint32_t *slot = HN_NEW_N(t->a, uint32_t, n);
    if (!slot) return false;
    t->expr_slot = slot;
    t->n_slot = n;
    return true;
}

static uint64_t hash_terms(const hn_poly_term *term, uint32_t n) {
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) {
        h = hn_mix64(h ^ (uint64_t)term[i].coef);
        for (uint32_t k = 0; k < term[i].n; k++) h = hn_mix64(h ^ term[i].atom[k]);
    }
    return h;
}

static bool same_terms(const hn_poly_term *a, const hn_poly_term *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].coef != b[i].coef || a[i].n != b[i].n) return false;
        if (a[i].n && memcmp(a[i].atom, b[i].atom, a[i].n * sizeof *a[i].atom) != 0) return false;
    }
    return true;
}

static void rehash(hn_dims *t) {
    for (uint32_t d = 1; d < t->n_expr; d++) {
        hn_poly *e = &t->expr[d];
        if (e->live) continue;
        uint32_t *slot = &t->expr_slot[hash_terms(e->term, e->n) % t->n_slot];
        e->next = *slot;
        *slot = d;
    }
}

hn_dims *hn_dims_new(hn_arena *a) {
    hn_dims *t = HN_NEW(a, hn_dims);
    if (!t) return NULL;
    t->a = a;
    t->expr = hn_dim_grow(t, NULL, 0, &t->room_expr, sizeof *t->expr);
    if (!t->expr || !grow_slots(t)) return NULL;
    t->n_expr = 1;
    t->expr[0].low = INT64_MIN;
    t->expr[0].high = INT64_MAX;
    return t;
}

/* --- order ------------------------------------------------------------------------------------------------------- */

static int atom_order(const hn_dims *t, uint32_t x, uint32_t y) {
    if (x == y) return 0;
    const hn_poly_atom *a = &t->atom[x], *b = &t->atom[y];
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->kind == HN_ATOM_SYMBOL) return strcmp(t->symbol[a->symbol].name, t->symbol[b->symbol].name);
    int c = hn_dim_order(t, a->a, b->a);
    return c ? c : hn_dim_order(t, a->b, b->b);
}

/* Graded lexicographic, highest degree first: a monomial order, so that long division works on it. */
int hn_term_order(const hn_dims *t, const hn_poly_term *a, const hn_poly_term *b) {
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    for (uint32_t i = 0; i < a->n; i++) {
        int c = atom_order(t, a->atom[i], b->atom[i]);
        if (c) return c;
    }
    return 0;
}

int hn_dim_order(const hn_dims *t, hn_dim a, hn_dim b) {
    if (a == b) return 0;
    const hn_poly *x = &t->expr[a], *y = &t->expr[b];
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    for (uint32_t i = 0; i < x->n; i++) {
        int c = hn_term_order(t, &x->term[i], &y->term[i]);
        if (c) return c;
        if (x->term[i].coef != y->term[i].coef) return x->term[i].coef < y->term[i].coef ? -1 : 1;
    }
    return 0;
}

/* --- ranges ------------------------------------------------------------------------------------------------------ */

__extension__ typedef __int128 wide;

static int64_t clamp(wide x) { return x <= INT64_MIN ? INT64_MIN : x >= INT64_MAX ? INT64_MAX : (int64_t)x; }
static int64_t add_bound(int64_t a, int64_t b, int64_t none) {
    return a == none || b == none ? none : clamp((wide)a + b);
}

/* [l, h] becomes [l, h] * [x, y]; an infinite bound stays infinite, as 0 * infinity is 0 here. */
static void mul_range(int64_t *l, int64_t *h, int64_t x, int64_t y) {
    wide p[4] = {(wide)*l * x, (wide)*l * y, (wide)*h * x, (wide)*h * y}, low = p[0], high = p[0];
    for (int i = 1; i < 4; i++) {
        if (p[i] < low) low = p[i];
        if (p[i] > high) high = p[i];
    }
    *l = clamp(low);
    *h = clamp(high);
}

static int64_t div_bound(int64_t a, int64_t b) {
    if (a == INT64_MIN || a == INT64_MAX) return a;
    return hn_floordiv64(a, b);
}

static void atom_range(const hn_dims *t, const hn_poly_atom *at, int64_t *low, int64_t *high) {
    if (at->kind == HN_ATOM_SYMBOL) {
        *low = t->symbol[at->symbol].low;
        *high = t->symbol[at->symbol].high;
        return;
    }
    const hn_poly *a = &t->expr[at->a], *b = &t->expr[at->b];
    *low = INT64_MIN;
    *high = INT64_MAX;
    switch (at->kind) {
    case HN_ATOM_FLOORDIV:
        if (b->low < 1) return;
        *low = a->low >= 0 ? div_bound(a->low, b->high) : div_bound(a->low, b->low);
        if (a->low >= 0 && b->high == INT64_MAX) *low = 0;
        *high = a->high >= 0 ? div_bound(a->high, b->low) : -1;
        return;
    case HN_ATOM_MOD:
        if (b->low < 1) return;
        *low = 0;
        *high = b->high == INT64_MAX ? INT64_MAX : b->high - 1;
        if (a->low >= 0 && a->high < *high) *high = a->high;
        return;
    case HN_ATOM_MIN:
        *low = a->low < b->low ? a->low : b->low;
        *high = a->high < b->high ? a->high : b->high;
        return;
    default: *low = a->low > b->low ? a->low : b->low; *high = a->high > b->high ? a->high : b->high;
    }
}

void hn_terms_range(const hn_dims *t, const hn_poly_term *term, uint32_t n, int64_t *low, int64_t *high) {
    *low = *high = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t l = term[i].coef, h = l, x, y;
        for (uint32_t k = 0; k < term[i].n; k++) {
            atom_range(t, &t->atom[term[i].atom[k]], &x, &y);
            mul_range(&l, &h, x, y);
        }
        *low = add_bound(*low, l, INT64_MIN);
        *high = add_bound(*high, h, INT64_MAX);
    }
}

void hn_dim_range(const hn_dims *t, hn_dim d, int64_t *low, int64_t *high) {
    const hn_poly *e = &t->expr[hn_dim_shown(t, d)];
    *low = e->low;
    *high = e->high;
}

/* --- interning --------------------------------------------------------------------------------------------------- */

static void sort_terms(const hn_dims *t, hn_poly_term *term, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        hn_poly_term x = term[i];
        uint32_t k = i;
        for (; k > 0 && hn_term_order(t, &x, &term[k - 1]) < 0; k--) term[k] = term[k - 1];
        term[k] = x;
    }
}

/* Adds the coefficients of equal terms of a sorted list and drops zeros; false on overflow. INT64_MIN counts as one, so
 * that every coefficient can be negated. */
static bool merge_terms(const hn_dims *t, hn_poly_term *term, uint32_t *n) {
    uint32_t m = 0;
    for (uint32_t i = 0; i < *n; i++) {
        if (m && hn_term_order(t, &term[m - 1], &term[i]) == 0) {
            if (__builtin_add_overflow(term[m - 1].coef, term[i].coef, &term[m - 1].coef)) return false;
        } else {
            if (m && term[m - 1].coef == 0) m--;
            term[m++] = term[i];
        }
    }
    if (m && term[m - 1].coef == 0) m--;
    *n = m;
    for (uint32_t i = 0; i < m; i++)
        if (term[i].coef == INT64_MIN) return false;
    return true;
}

static void summarise(const hn_dims *t, hn_poly *e) {
    uint64_t weight = 0;
    e->symbols = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        for (uint32_t k = 0; k < e->term[i].n; k++) {
            const hn_poly_atom *a = &t->atom[e->term[i].atom[k]];
            weight++;
            if (a->kind == HN_ATOM_SYMBOL) {
                e->symbols |= UINT64_C(1) << a->symbol % 64;
            } else {
                weight += t->expr[a->a].weight + t->expr[a->b].weight;
                e->symbols |= t->expr[a->a].symbols | t->expr[a->b].symbols;
            }
        }
    }
    e->weight = weight > HN_DIM_WEIGHT ? HN_DIM_WEIGHT + 1 : (uint32_t)weight;
    hn_terms_range(t, e->term, e->n, &e->low, &e->high);
}

static const hn_poly_term *keep_terms(hn_dims *t, const hn_poly_term *term, uint32_t n) {
    hn_poly_term *kept = HN_NEW_N(t->a, hn_poly_term, n);
    for (uint32_t i = 0; i < n && kept; i++) {
        uint32_t *atom = HN_NEW_N(t->a, uint32_t, term[i].n);
        if (!atom) return NULL;
        if (term[i].n) memcpy(atom, term[i].atom, term[i].n * sizeof *atom);
        kept[i] = (hn_poly_term){term[i].coef, term[i].n, atom};
    }
    return kept;
}

static hn_dim new_expr(hn_dims *t, const hn_poly_term *term, uint32_t n) {
    hn_poly e = {.term = term, .n = n, .same = t->n_expr};
    summarise(t, &e);
    if (e.weight > HN_DIM_WEIGHT) return 0;
    e.term = keep_terms(t, term, n);
    hn_poly *list = hn_dim_grow(t, t->expr, t->n_expr, &t->room_expr, sizeof *list);
    if (!list || !e.term) return 0;
    t->expr = list;
    uint32_t before = t->n_slot;
    if (!grow_slots(t)) return 0;
    if (t->n_slot != before) rehash(t);
    uint32_t *slot = &t->expr_slot[hash_terms(term, n) % t->n_slot];
    e.next = *slot;
    *slot = t->n_expr;
    t->expr[t->n_expr] = e;
    return t->n_expr++;
}

hn_dim hn_dim_intern(hn_dims *t, hn_poly_term *term, uint32_t n) {
    if (n > HN_DIM_TERMS * 4 || !hn_arena_ok(t->a)) return 0;
    sort_terms(t, term, n);
    if (!merge_terms(t, term, &n) || n > HN_DIM_TERMS) return 0;
    for (uint32_t d = t->expr_slot[hash_terms(term, n) % t->n_slot]; d; d = t->expr[d].next) {
        const hn_poly *e = &t->expr[d];
        if (e->n == n && same_terms(e->term, term, n)) return t->plain ? d : e->same;
    }
    return new_expr(t, term, n);
}

hn_dim hn_dim_term(hn_dims *t, const hn_poly_term *term, int64_t coef) {
    hn_poly_term x = {coef, term->n, term->atom};
    return hn_dim_intern(t, &x, 1);
}

hn_dim hn_dim_int(hn_dims *t, int64_t n) { return hn_dim_intern(t, &(hn_poly_term){n, 0, NULL}, 1); }

const hn_poly_atom *hn_dim_lone(const hn_dims *t, hn_dim d) {
    const hn_poly *e = &t->expr[d];
    return e->n == 1 && e->term[0].n == 1 && e->term[0].coef == 1 ? &t->atom[e->term[0].atom[0]] : NULL;
}

static hn_dim new_atom(hn_dims *t, hn_poly_atom a) {
    hn_poly_atom *list = hn_dim_grow(t, t->atom, t->n_atom, &t->room_atom, sizeof *list);
    if (!list) return 0;
    t->atom = list;
    uint32_t id = t->n_atom++;
    t->atom[id] = a;
    hn_dim self = hn_dim_intern(t, &(hn_poly_term){1, 1, &id}, 1);
    if (!self) {
        t->n_atom--;
        return 0;
    }
    t->atom[id].self = self;
    return self;
}

hn_dim hn_dim_atom(hn_dims *t, hn_atom_kind kind, hn_dim a, hn_dim b) {
    if (!a || !b) return 0;
    for (uint32_t i = 0; i < t->n_atom; i++) {
        const hn_poly_atom *x = &t->atom[i];
        if (x->kind == kind && kind != HN_ATOM_SYMBOL && x->a == a && x->b == b) return hn_dim_now(t, x->self);
    }
    return new_atom(t, (hn_poly_atom){.kind = kind, .a = a, .b = b});
}

/* --- symbols ----------------------------------------------------------------------------------------------------- */

enum { NAME_MAX_B = 100 };

/* A name of the model as an identifier of the text form: other characters become '_', reserved words get a '_' at the
 * end. */
static void clean_name(const char *name, char out[NAME_MAX_B]) {
    static const char *const reserved[] = {"floordiv", "mod", "min", "max"};
    size_t n = 0;
    if (!name || !*name || isdigit((unsigned char)*name)) out[n++] = name && *name ? '_' : 'd';
    for (; name && *name && n < NAME_MAX_B - 12; name++) out[n++] = isascii(*name) && isalnum(*name) ? *name : '_';
    out[n] = 0;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(out, reserved[i])) memcpy(out + n, "_", 2);
}

static hn_dim find_clean(const hn_dims *t, const char *name) {
    for (uint32_t i = 0; i < t->n_symbol; i++)
        if (!strcmp(t->symbol[i].name, name)) return t->symbol[i].self;
    return 0;
}

hn_dim hn_dim_find(const hn_dims *t, const char *name) {
    char clean[NAME_MAX_B];
    clean_name(name, clean);
    return find_clean(t, clean);
}

hn_dim hn_dim_symbol(hn_dims *t, const char *name, int64_t low, int64_t high) {
    char clean[NAME_MAX_B];
    clean_name(name, clean);
    size_t n = strlen(clean);
    for (unsigned i = 2; find_clean(t, clean); i++) snprintf(clean + n, sizeof clean - n, "_%u", i);
    hn_symbol_info *list = hn_dim_grow(t, t->symbol, t->n_symbol, &t->room_symbol, sizeof *list);
    if (!list) return 0;
    t->symbol = list;
    char *kept = hn_strdup(t->a, clean);
    if (!kept) return 0;
    uint32_t s = t->n_symbol++;
    t->symbol[s] = (hn_symbol_info){.name = kept, .low = low, .high = high};
    hn_dim self = new_atom(t, (hn_poly_atom){.kind = HN_ATOM_SYMBOL, .symbol = s});
    if (!self)
        t->n_symbol--;
    else
        t->symbol[s].self = self;
    return self;
}

size_t hn_dims_symbols(const hn_dims *t) { return t->n_symbol; }
const char *hn_symbol_name(const hn_dims *t, hn_symbol s) { return t->symbol[s].name; }

void hn_symbol_range(const hn_dims *t, hn_symbol s, int64_t *low, int64_t *high) {
    *low = t->symbol[s].low;
    *high = t->symbol[s].high;
}

void hn_symbol_limit(hn_dims *t, hn_symbol s, int64_t low, int64_t high) {
    t->symbol[s].low = low;
    t->symbol[s].high = high;
    for (uint32_t d = 1; d < t->n_expr; d++) {
        hn_poly *e = &t->expr[d];
        if (e->symbols >> s % 64 & 1) hn_terms_range(t, e->term, e->n, &e->low, &e->high);
    }
    hn_dim_refresh(t, s);
}

bool hn_dim_is_int(const hn_dims *t, hn_dim d, int64_t *n) {
    const hn_poly *e = &t->expr[d = hn_dim_shown(t, d)];
    if (!d || e->n > 1 || (e->n == 1 && e->term[0].n)) return false;
    if (n) *n = e->n ? e->term[0].coef : 0;
    return true;
}

bool hn_dim_is_symbol(const hn_dims *t, hn_dim d, hn_symbol *s) {
    const hn_poly_atom *a = hn_dim_lone(t, d);
    if (!a || a->kind != HN_ATOM_SYMBOL) a = hn_dim_lone(t, hn_dim_shown(t, d));
    if (!a || a->kind != HN_ATOM_SYMBOL) return false;
    if (s) *s = a->symbol;
    return true;
}

/* --- sums and products ------------------------------------------------------------------------------------------- */

/* Atoms of both, in order, into atom. */
static bool mul_terms(const hn_dims *t, const hn_poly_term *a, const hn_poly_term *b, uint32_t *atom,
                      hn_poly_term *out) {
    uint32_t n = a->n + b->n, i = 0, k = 0;
    if (__builtin_mul_overflow(a->coef, b->coef, &out->coef)) return false;
    for (uint32_t m = 0; m < n; m++) {
        bool first = k == b->n || (i < a->n && atom_order(t, a->atom[i], b->atom[k]) <= 0);
        atom[m] = first ? a->atom[i++] : b->atom[k++];
    }
    out->n = n;
    out->atom = atom;
    return true;
}

/* Term i of d with its atom k, floordiv(x, by), taken out: the other terms and that term's rest times x. */
static hn_dim multiply_out(hn_dims *t, hn_dim d, uint32_t i, uint32_t k, hn_dim x, int64_t by) {
    hn_poly_term term[2 * HN_DIM_TERMS], part = t->expr[d].term[i];
    uint32_t pool[HN_DIM_TERMS * 4], rest[HN_DIM_DEGREE], n = 0, n_pool = 0, n_rest = 0;
    for (uint32_t m = 0; m < t->expr[d].n; m++)
        if (m != i) term[n++] = t->expr[d].term[m];
    for (uint32_t m = 0; m < part.n; m++)
        if (m != k) rest[n_rest++] = part.atom[m];
    part = (hn_poly_term){part.coef / by, n_rest, rest};
    for (uint32_t m = 0; m < t->expr[x].n; m++) {
        uint32_t degree = t->expr[x].term[m].n + n_rest;
        if (degree > HN_DIM_DEGREE || n_pool + degree > HN_DIM_TERMS * 4) return 0;
        if (!mul_terms(t, &part, &t->expr[x].term[m], pool + n_pool, &term[n++])) return 0;
        n_pool += degree;
    }
    return hn_dim_intern(t, term, n);
}

/* The first term k*floordiv(x, k)*rest with x known divisible by k becomes x*rest; 0 when there is none such. */
static hn_dim undivide(hn_dims *t, hn_dim d) {
    for (uint32_t i = 0; i < t->expr[d].n; i++) {
        const hn_poly_term *term = &t->expr[d].term[i];
        for (uint32_t k = 0; k < term->n; k++) {
            const hn_poly_atom *at = &t->atom[term->atom[k]];
            int64_t by;
            if (at->kind != HN_ATOM_FLOORDIV || !hn_dim_is_int(t, at->b, &by) || by < 1 || term->coef % by) continue;
            if (hn_dim_divides(t, at->a, by)) return multiply_out(t, d, i, k, hn_dim_now(t, at->a), by);
        }
    }
    return 0;
}

hn_dim hn_dim_exact(hn_dims *t, hn_dim d) {
    for (unsigned step = 0; d && t->n_relation && !t->plain && step < 8; step++) {
        hn_dim whole = undivide(t, d);
        if (!whole || whole == d) break; /* none, or one that an equality brings back */
        d = whole;
    }
    return d;
}

/* a + by * b */
static hn_dim add_scaled(hn_dims *t, hn_dim a, hn_dim b, int64_t by) {
    a = hn_dim_now(t, a);
    b = hn_dim_now(t, b);
    if (!a || !b) return 0;
    hn_poly_term term[2 * HN_DIM_TERMS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->expr[a].n; i++) term[n++] = t->expr[a].term[i];
    for (uint32_t i = 0; i < t->expr[b].n; i++) {
        term[n] = t->expr[b].term[i];
        if (__builtin_mul_overflow(term[n].coef, by, &term[n].coef)) return 0;
        n++;
    }
    return hn_dim_exact(t, hn_dim_intern(t, term, n));
}

hn_dim hn_dim_add(hn_dims *t, hn_dim a, hn_dim b) { return add_scaled(t, a, b, 1); }
hn_dim hn_dim_sub(hn_dims *t, hn_dim a, hn_dim b) { return add_scaled(t, a, b, -1); }
hn_dim hn_dim_scale(hn_dims *t, hn_dim d, int64_t by) { return add_scaled(t, hn_dim_int(t, 0), d, by); }

static hn_dim mul_sums(hn_dims *t, hn_dim a, hn_dim b) {
    const hn_poly *x = &t->expr[a], *y = &t->expr[b];
    if (x->n * y->n > HN_DIM_TERMS) return 0;
    hn_poly_term term[HN_DIM_TERMS];
    uint32_t atom[HN_DIM_TERMS * 4], n = 0, n_atom = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        for (uint32_t k = 0; k < y->n; k++) {
            uint32_t degree = x->term[i].n + y->term[k].n;
            if (degree > HN_DIM_DEGREE || n_atom + degree > HN_DIM_TERMS * 4) return 0;
            if (!mul_terms(t, &x->term[i], &y->term[k], atom + n_atom, &term[n++])) return 0;
            n_atom += degree;
        }
    }
    return hn_dim_intern(t, term, n);
}

hn_dim hn_dim_mul(hn_dims *t, hn_dim a, hn_dim b) {
    a = hn_dim_now(t, a);
    b = hn_dim_now(t, b);
    if (!a || !b) return 0;
    return hn_dim_exact(t, mul_sums(t, a, b));
}

/* --- evaluation -------------------------------------------------------------------------------------------------- */

static bool eval_sum(const hn_dims *t, hn_dim d, const int64_t *value, int64_t *out);

static bool eval_atom(const hn_dims *t, const hn_poly_atom *at, const int64_t *value, int64_t *out) {
    int64_t a, b;
    if (at->kind == HN_ATOM_SYMBOL) {
        *out = value[at->symbol];
        return *out != INT64_MIN;
    }
    if (!eval_sum(t, at->a, value, &a) || !eval_sum(t, at->b, value, &b)) return false;
    switch (at->kind) {
    case HN_ATOM_FLOORDIV:
        if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
        *out = hn_floordiv64(a, b);
        return true;
    case HN_ATOM_MOD:
        if (b == 0) return false;
        *out = b == -1 ? 0 : hn_mod64(a, b);
        return true;
    case HN_ATOM_MIN: *out = a < b ? a : b; return true;
    default: *out = a > b ? a : b; return true;
    }
}

static bool eval_sum(const hn_dims *t, hn_dim d, const int64_t *value, int64_t *out) {
    const hn_poly *e = &t->expr[d];
    int64_t sum = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t x = e->term[i].coef, y;
        for (uint32_t k = 0; k < e->term[i].n; k++) {
            if (!eval_atom(t, &t->atom[e->term[i].atom[k]], value, &y) || __builtin_mul_overflow(x, y, &x))
                return false;
        }
        if (__builtin_add_overflow(sum, x, &sum)) return false;
    }
    *out = sum;
    return d != 0;
}

bool hn_dim_eval(const hn_dims *t, hn_dim d, const int64_t *value, int64_t *out) {
    if (t->expr[d].live) return eval_sum(t, d, value, out);
    return eval_sum(t, t->expr[d].same, value, out) || eval_sum(t, d, value, out);
}

void hn_dim_mark(const hn_dims *t, hn_dim d, bool *used) {
    const hn_poly *e = &t->expr[t->expr[d].live ? d : t->expr[d].same];
    for (uint32_t i = 0; i < e->n; i++) {
        for (uint32_t k = 0; k < e->term[i].n; k++) {
            const hn_poly_atom *a = &t->atom[e->term[i].atom[k]];
            if (a->kind == HN_ATOM_SYMBOL) {
                used[a->symbol] = true;
            } else {
                hn_dim_mark(t, a->a, used);
                hn_dim_mark(t, a->b, used);
            }
        }
    }
}
