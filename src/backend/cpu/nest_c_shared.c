/* backend/cpu/nest_c_shared.c — elements that several lanes of a register tile read.
 *
 * Neighbouring columns of an image have windows that overlap: x[2*column + k] is the same element for (column, k) and
 * (column + 1, k - 2). A compiler that sees both in one piece of code reads it once and keeps it, as a scalar, until
 * the second lane needs it: some fifty scalars, for which the tile's sums leave their registers. Each lane's
 * multiply-add reads memory itself at no cost, so the compiler is told that the pointer may have changed in between,
 * and leaves loops over the window as they are.
 */
#include "backend/cpu/nest_c.h"

enum { NEAR = 4 }; /* iterations over which compilers keep what they have read */

/* Is a distance between two loads of one lane also that of two lanes, with `step` elements from lane to lane? */
static bool meets(int64_t distance, int64_t step, int64_t n) {
    if (distance < 0) distance = -distance;
    if (step < 0) step = -step;
    return distance && step && distance % step == 0 && distance / step < n;
}

/* Do two loads, `distance` elements apart, meet in two lanes of one unrolled loop? */
static bool lanes_meet(hn_c *c, hn_ix at, int64_t distance) {
    int64_t step;
    for (int k = 0; k < c->n_lane; k++)
        if (!c->lane[k].vector && hn_ix_step(c->n, at, c->lane[k].var, &step) && meets(distance, step, c->lane[k].n))
            return true;
    return false;
}

/* A load of one element for all lanes of a vector. */
static const hn_scalar *element(const hn_c *c, hn_st id) {
    const hn_stmt *s = &c->n->st[id];
    const hn_scalar *x = s->kind == HN_ST_LET ? &c->n->sv[s->value] : NULL;
    int vector = hn_c_vector_lane(c);
    if (!x || x->kind != HN_SV_LOAD || c->n->buf[x->buf].space == HN_REG) return NULL;
    return vector >= 0 && hn_ix_depends(c->n, x->at, c->lane[vector].var) ? NULL : x;
}

/* In iterations that follow each other soon? */
static bool iterations_meet(hn_c *c, hn_ix at) {
    int64_t step;
    for (int64_t d = 1; d <= NEAR && hn_ix_step(c->n, at, c->tile, &step); d++)
        if (lanes_meet(c, at, d * step)) return true;
    return false;
}

/* With what stands between `first` and `let`? */
static bool statements_meet(hn_c *c, hn_st first, hn_st let, const hn_scalar *x) {
    int64_t distance;
    for (hn_st id = first; id != let; id = c->n->st[id].next) {
        const hn_scalar *y = element(c, id);
        if (y && y->buf == x->buf && hn_ix_is_int(c->n, hn_ix_sub(c->n, x->at, y->at), &distance) &&
            lanes_meet(c, x->at, distance))
            return true;
    }
    return false;
}

void hn_c_keep_apart(hn_c *c, hn_st first, hn_st let) {
    const hn_scalar *found = element(c, let);
    if (!found) return;
    const hn_scalar x = *found; /* the array moves */
    if (iterations_meet(c, x.at) || statements_meet(c, first, let, &x)) hn_c_forget(c, x.buf, x.at);
}
