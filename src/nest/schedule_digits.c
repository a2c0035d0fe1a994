/* nest/schedule_digits.c — loops over numbers that are taken apart again.
 *
 * A reshape in front of a normalisation makes one dimension of a group's channels, lines and columns; where the image
 * has another order in memory, each element's place needs the quotient and the remainder of its number. As loops over
 * the digits there is no division, and elements that lie next to each other show.
 */
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { DIGIT_MIN = 32 }; /* a known length of the inner loop, at least: it becomes the vectors' */

/* The divisor by which the index takes v itself apart; 0: none. Of a known one the remainder's elements are apart: what
 * lies next to each other is read as it is. */
static hn_dim divisor_in(const hn_nest *n, hn_ix at, hn_var v, hn_ix self) {
    hn_dim found = 0;
    for (uint32_t t = 0; t < n->ix[at].n && !found; t++) {
        const hn_atom *x = &n->atom[n->ix[at].term[t].atom];
        int64_t by, step;
        if (x->a && x->a != self) found = divisor_in(n, x->a, v, self);
        if (found || x->a != self || (x->kind != HN_AT_DIV && x->kind != HN_AT_MOD)) continue;
        bool is_apart = x->kind == HN_AT_MOD && !(hn_dim_is_int(n->dims, n->ix[at].term[t].coef, &step) && step == 1);
        if (!hn_dim_is_int(n->dims, x->by, &by) || (by >= DIGIT_MIN && is_apart)) found = x->by;
    }
    return found;
}

/* By which a load in the list takes v apart; the list is definitions and stores. */
static hn_dim divisor_of(hn_nest *n, hn_st first, hn_var v) {
    hn_ix self = hn_ix_var(n, v);
    hn_dim found = 0;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind != HN_ST_LET && s->kind != HN_ST_STORE) return 0;
        const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (x && x->kind == HN_SV_LOAD && !found) found = divisor_in(n, x->at, v, self);
    }
    return found;
}

/* for v < E: body becomes for o < E/by { for i < by: body }, where `by` divides E. */
static bool split(hn_nest *n, hn_st loop, hn_dim by) {
    hn_dim all, times;
    if (!hn_ix_is_dim(n, n->extent[n->st[loop].var], &all) || !(times = hn_dim_floordiv(n->dims, all, by)))
        return false;
    if (hn_dim_mul(n->dims, times, by) != all) return false;
    hn_var o = hn_nest_var(n, hn_ix_dim(n, times)), i = hn_nest_var(n, hn_ix_dim(n, by));
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!var) return false;
    var[n->st[loop].var] = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, o), by), hn_ix_var(n, i));
    hn_st body = hn_nest_clone(n, n->st[loop].body, &(hn_subst){var, NULL, n->n_var, 0});
    hn_st in = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .var = i, .body = body, .loop = HN_SERIAL});
    if (!hn_arena_ok(n->a)) return false;
    n->st[loop].var = o;
    n->st[loop].body = in;
    return true;
}

static void digits(hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        if (n->st[id].loop == HN_SERIAL) {
            hn_dim by = divisor_of(n, n->st[id].body, n->st[id].var);
            /* the outer digit may be taken apart in turn: its loop has the inner one alone in its body */
            for (hn_st at = id; by && split(n, at, by);) {
                hn_st leaf = n->st[at].body;
                while (n->st[leaf].kind == HN_ST_LOOP) leaf = n->st[leaf].body;
                by = divisor_of(n, leaf, n->st[at].var);
            }
        }
        digits(n, n->st[id].body);
    }
}

void hn_nest_digits(hn_nest *n) { digits(n, n->first); }
