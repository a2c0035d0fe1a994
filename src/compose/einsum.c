/* einsum.c — einsum of any number of operands: pairwise contractions from left to right, each keeping the labels
 * that a later operand or the result still names. Labels are letters; the dimensions of an ellipsis are numbered from
 * the right, so that they broadcast as numpy's do. */
#include "compose/compose.h"

#include <string.h>

enum { LABELS = 52 + HN_RANK_MAX, TERMS = HN_EINSUM_MOST };

typedef struct term {
    int64_t label[HN_RANK_MAX];
    size_t n;
    hn_val v;
} term;

typedef struct equation {
    term in[TERMS], out;
    size_t n_in, ellipsis; /* most dimensions an ellipsis stands for */
    bool arrow;
    unsigned count[LABELS]; /* in how many places of the operands */
} equation;

static int64_t letter(char ch) {
    return ch >= 'a' && ch <= 'z' ? ch - 'a' + 26 : ch >= 'A' && ch <= 'Z' ? ch - 'A' : -1;
}

static bool push(term *t, int64_t label) {
    if (t->n == HN_RANK_MAX) return false;
    t->label[t->n++] = label;
    return true;
}

/* One term up to a comma, the arrow or the end. dots: how many dimensions its ellipsis stands for. */
static bool read_term(const char **p, term *t, size_t dots) {
    for (; **p && **p != ',' && !(**p == '-' && (*p)[1] == '>'); (*p)++) {
        if (**p == ' ') continue;
        if (!strncmp(*p, "...", 3)) {
            for (size_t i = dots; i-- > 0;)
                if (!push(t, 52 + (int64_t)i)) return false;
            *p += 2;
        } else if (letter(**p) < 0 || !push(t, letter(**p))) {
            return false;
        }
    }
    return true;
}

static size_t letters_in(const char *p) {
    size_t n = 0;
    for (; *p && *p != ',' && *p != '-'; p++) n += letter(*p) >= 0;
    return n;
}

static bool has_dots(const char *p) {
    for (; *p && *p != ',' && *p != '-'; p++)
        if (*p == '.') return true;
    return false;
}

static bool read_operands(hn_builder *b, const hn_val *in, size_t n_in, const char **p, equation *e) {
    for (;;) {
        if (e->n_in == TERMS || e->n_in >= n_in) return false;
        term *t = &e->in[e->n_in++];
        if (!(t->v = in[e->n_in - 1])) return false;
        size_t rank = hn_rank(b, t->v), n = letters_in(*p), dots = has_dots(*p) && rank > n ? rank - n : 0;
        if (dots > e->ellipsis) e->ellipsis = dots;
        if (!read_term(p, t, dots) || t->n != rank) return false;
        for (size_t i = 0; i < t->n; i++) e->count[t->label[i]]++;
        if (**p != ',') break;
        (*p)++;
    }
    return e->n_in == n_in;
}

/* Without an arrow: the ellipsis, then every letter that stands once, in alphabetical order. */
static void implicit_result(equation *e) {
    for (size_t i = e->ellipsis; i-- > 0;) push(&e->out, 52 + (int64_t)i);
    for (int64_t l = 0; l < 52; l++)
        if (e->count[l] == 1) push(&e->out, l);
}

static bool read_equation(hn_builder *b, const char *p, const hn_val *in, size_t n_in, equation *e) {
    if (!read_operands(b, in, n_in, &p, e)) return false;
    if (!*p) {
        implicit_result(e);
        return true;
    }
    p += 2;
    if (!read_term(&p, &e->out, e->ellipsis) || *p) return false;
    for (size_t i = 0; i < e->out.n; i++) {
        if (!e->count[e->out.label[i]]) return false;
        for (size_t k = 0; k < i; k++)
            if (e->out.label[k] == e->out.label[i]) return false;
    }
    return true;
}

static void drop(term *t, size_t at) {
    for (size_t i = at; i + 1 < t->n; i++) t->label[i] = t->label[i + 1];
    t->n--;
}

/* A label that is given twice in one operand takes its diagonal: what is off it becomes 0, then the sum over one of the
 * two. */
static void take_diagonals(hn_builder *b, term *t) {
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = i + 1; k < t->n; k++) {
            if (t->label[i] != t->label[k]) continue;
            hn_type ty = *hn_t(b, t->v);
            hn_val on =
                hn_bin(b, HN_OP_EQ, hn_iota(b, HONE_I64, ty.rank, ty.dim, i), hn_iota(b, HONE_I64, ty.rank, ty.dim, k));
            hn_val x = hn_where(b, on, t->v, hn_full(b, ty.dtype, ty.rank, ty.dim, 0));
            t->v = hn_reduce1(b, HN_OP_RSUM, x, (int64_t)k, false);
            drop(t, k--);
        }
}

/* Dimensions of 1 that broadcast against a larger one of the same label leave the operand. */
static void drop_ones(hn_builder *b, equation *e) {
    bool large[LABELS] = {0};
    for (size_t i = 0; i < e->n_in; i++)
        for (size_t d = 0; d < e->in[i].n; d++)
            large[e->in[i].label[d]] |= hn_dim_equal(b->g->dims, hn_dim_of(b, e->in[i].v, d), hn_lit(b, 1)) != HN_EQUAL;
    for (size_t i = 0; i < e->n_in; i++)
        for (size_t d = e->in[i].n; d-- > 0;) {
            term *t = &e->in[i];
            if (!large[t->label[d]] || hn_dim_equal(b->g->dims, hn_dim_of(b, t->v, d), hn_lit(b, 1)) != HN_EQUAL)
                continue;
            t->v = hn_squeeze(b, t->v, (int64_t)d);
            drop(t, d);
        }
}

static bool names(const term *t, int64_t label) {
    for (size_t i = 0; i < t->n; i++)
        if (t->label[i] == label) return true;
    return false;
}

/* Labels of x and y that operands from `next` on or the result name; in the result's order at the end. */
static term kept(const equation *e, const term *x, const term *y, size_t next) {
    term k = {0};
    if (next == e->n_in) return e->out;
    for (int64_t l = LABELS - 1; l >= 0; l--) {
        bool later = names(&e->out, l);
        for (size_t i = next; i < e->n_in; i++) later |= names(&e->in[i], l);
        if (later && (names(x, l) || names(y, l)) && k.n < HN_RANK_MAX) k.label[k.n++] = l;
    }
    return k;
}

static hn_val one_operand(hn_builder *b, const equation *e) {
    const term *t = &e->in[0];
    int64_t axes[HN_RANK_MAX], perm[HN_RANK_MAX], left[HN_RANK_MAX];
    size_t n_axes = 0, n_left = 0;
    for (size_t i = 0; i < t->n; i++)
        if (names(&e->out, t->label[i]))
            left[n_left++] = t->label[i];
        else
            axes[n_axes++] = (int64_t)i;
    hn_val v = n_axes ? hn_reduce(b, HN_OP_RSUM, t->v, n_axes, axes, false) : t->v;
    for (size_t i = 0; i < e->out.n; i++)
        for (size_t k = 0; k < n_left; k++)
            if (left[k] == e->out.label[i]) perm[i] = (int64_t)k;
    return hn_transpose(b, v, perm);
}

hn_val hn_einsum(hn_builder *b, const char *text, const hn_val *in, size_t n_in) {
    equation e = {0};
    if (!read_equation(b, text, in, n_in, &e)) return 0;
    for (size_t i = 0; i < e.n_in; i++) {
        e.in[i].v = hn_work(b, e.in[i].v);
        take_diagonals(b, &e.in[i]);
    }
    drop_ones(b, &e);
    term all = e.in[0];
    if (!hn_graph_ok(b->g)) return 0;
    hone_dtype w = hn_dt(b, all.v);
    if (e.n_in == 1) all.v = one_operand(b, &e);
    for (size_t i = 1; i < e.n_in && all.v; i++) {
        term k = kept(&e, &all, &e.in[i], i + 1);
        k.v = hn_contract(b, all.v, e.in[i].v, all.label, e.in[i].label, k.n, k.label, w);
        all = k;
    }
    return all.v;
}
