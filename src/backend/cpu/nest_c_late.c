/* backend/cpu/nest_c_late.c — constants that are needed behind a reduction are read from memory there.
 *
 * Compilers know that a constant does not change, set a vector to it in front of all loops, and keep that vector: then
 * the accumulators of a register tile, which needs nearly all registers, go to the stack in each step of its reduction.
 * So the constant stands in memory, and behind the reduction it is something that the compiler has not seen before.
 * Zero stays: it costs no register. */
#include "backend/cpu/nest_c.h"

static bool is_late(const hn_scalar *x) { return x->kind == HN_SV_CONST && x->dtype == HONE_F32 && x->f != 0; }

/* Calls found for each such constant among the operands in the list. */
static void each(hn_c *c, hn_st first, void (*found)(hn_c *, hn_sv)) {
    const hn_nest *n = c->n;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) each(c, s->body, found);
        if ((s->kind == HN_ST_STORE || s->kind == HN_ST_UPDATE) && is_late(&n->sv[s->value])) found(c, s->value);
        for (uint32_t k = 0; s->kind == HN_ST_LET && k < n->sv[s->value].n_arg; k++)
            if (is_late(&n->sv[n->sv[s->value].arg[k]])) found(c, n->sv[s->value].arg[k]);
    }
}

static void mark(hn_c *c, hn_sv x) {
    if (c->late[x] == HN_C_OUTSIDE) c->late[x] = HN_C_LATE;
}

/* vector: the list stands in a loop over vectors. */
static void find(hn_c *c, hn_st first, bool vector) {
    for (hn_st id = first; id; id = c->n->st[id].next) {
        const hn_stmt *s = &c->n->st[id];
        if (s->kind != HN_ST_LOOP) continue;
        if (vector && s->loop == HN_SERIAL) each(c, s->next, mark);
        find(c, s->body, vector || s->loop == HN_VECTOR);
    }
}

void hn_c_find_late(hn_c *c) {
    const hn_nest *n = c->n;
    for (hn_st id = n->first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_LET) c->late[n->st[id].value] = HN_C_OUTSIDE;
    find(c, n->first, false);
}

static void name_it(hn_c *c, hn_sv x) {
    hn_str name = {0};
    if (c->late[x] != HN_C_LATE) return;
    hn_c_name(c, &name, x);
    hn_c_line(c, "HNK_LATE(%s);", name.text ? name.text : "");
    hn_str_free(&name);
    c->late[x] = HN_C_LATE_SAID;
}
static void again(hn_c *c, hn_sv x) {
    if (c->late[x] == HN_C_LATE_SAID) c->late[x] = HN_C_LATE;
}

void hn_c_late(hn_c *c, hn_st behind) {
    if (hn_c_vector_lane(c) < 0) return;
    each(c, behind, name_it);
    each(c, behind, again);
}
