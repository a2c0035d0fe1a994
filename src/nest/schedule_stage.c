/* nest/schedule_stage.c — accumulators go through memory: what follows a reduction in a register tile runs in loops of
 * its own, so that its operands and constants take no registers from the accumulators. */
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { DEPTH_MAX = 8, REGISTERS_MAX = 8 };

typedef struct tile {
    hn_st loop[DEPTH_MAX]; /* one inside the other, nothing between */
    int depth;
    hn_st last;                /* the last reduction in the innermost body */
    hn_buf reg[REGISTERS_MAX]; /* that the rest reads */
    int n_reg;
} tile;

static bool find_tile(const hn_nest *n, hn_st loop, tile *t) {
    for (hn_st id = loop; n->st[id].kind == HN_ST_LOOP && n->st[id].loop != HN_SERIAL; id = n->st[id].body) {
        int64_t e;
        if (t->depth == DEPTH_MAX || !hn_ix_is_int(n, n->extent[n->st[id].var], &e)) return false;
        t->loop[t->depth++] = id;
        hn_st in = n->st[id].body;
        if (n->st[in].kind != HN_ST_LOOP || n->st[in].loop == HN_SERIAL || n->st[in].next) break;
    }
    if (!t->depth) return false;
    for (hn_st id = n->st[t->loop[t->depth - 1]].body; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_LOOP) t->last = id;
    return t->last && n->st[t->last].next;
}

/* The registers that are read behind the reductions; false: something else goes on there with one. */
static bool find_registers(const hn_nest *n, tile *t) {
    for (hn_st id = n->st[t->last].next; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (s->kind != HN_ST_LET && (s->kind != HN_ST_STORE || n->buf[s->buf].space == HN_REG)) return false;
        if (!x || x->kind != HN_SV_LOAD || n->buf[x->buf].space != HN_REG) continue;
        int64_t size;
        int k = 0;
        while (k < t->n_reg && t->reg[k] != x->buf) k++;
        if (!hn_dim_is_int(n->dims, n->buf[x->buf].size, &size) || size != 1 || k == REGISTERS_MAX) return false;
        if (k == t->n_reg) t->reg[t->n_reg++] = x->buf;
    }
    return t->n_reg > 0;
}

/* Where the register of the lanes at var[] lies. */
static hn_ix place(hn_nest *n, const tile *t, const hn_var *var) {
    hn_ix at = hn_ix_int(n, 0);
    for (int d = 0; d < t->depth; d++)
        at = hn_ix_add(n, hn_ix_scale(n, at, n->ix[n->extent[var[d]]].offset), hn_ix_var(n, var[d]));
    return at;
}

/* Definitions in front of the reductions, then all that follows them, as a list of its own. */
static hn_st rest_of(hn_nest *n, const tile *t) {
    hn_st head = 0, tail = 0;
    bool behind = false;
    for (hn_st id = n->st[t->loop[t->depth - 1]].body; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (id == t->last) behind = true;
        bool reg =
            s.kind == HN_ST_LET && n->sv[s.value].kind == HN_SV_LOAD && n->buf[n->sv[s.value].buf].space == HN_REG;
        if (s.kind == HN_ST_LOOP || (!behind && (s.kind != HN_ST_LET || reg))) continue;
        hn_st copy = hn_nest_stmt(n, &s);
        n->st[copy].next = 0;
        if (tail) n->st[tail].next = copy;
        if (!head) head = copy;
        tail = copy;
    }
    return head;
}

/* The copies of loads of registers read memory. */
static void reload(hn_nest *n, const tile *t, hn_st first, const hn_buf *memory, const hn_var *var) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LET) continue;
        hn_scalar *x = &n->sv[n->st[id].value];
        for (int k = 0; k < t->n_reg && x->kind == HN_SV_LOAD; k++)
            if (x->buf == t->reg[k]) {
                hn_ix at = place(n, t, var);
                x = &n->sv[n->st[id].value];
                x->buf = memory[k];
                x->at = at;
                break;
            }
    }
}

/* The tile's body ends with stores of its registers. */
static void keep(hn_nest *n, const tile *t, const hn_buf *memory, const hn_var *var) {
    hn_st tail = t->last;
    for (int k = 0; k < t->n_reg; k++) {
        hn_scalar load = {
            .kind = HN_SV_LOAD, .dtype = n->buf[t->reg[k]].dtype, .buf = t->reg[k], .at = hn_ix_int(n, 0)};
        hn_sv x = hn_nest_scalar(n, &load);
        hn_st let = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LET, .value = x});
        hn_st store =
            hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_STORE, .buf = memory[k], .at = place(n, t, var), .value = x});
        n->st[tail].next = let;
        n->st[let].next = store;
        n->st[store].next = 0;
        tail = store;
    }
}

bool hn_loop_stage(hn_nest *n, hn_st loop, const char **why) {
    tile t = {.depth = 0};
    if (!find_tile(n, loop, &t)) return hn_loop_no(why, "these are no lanes around a reduction and what follows it");
    if (!find_registers(n, &t)) return hn_loop_no(why, "what follows the reduction is not definitions and stores");
    hn_var var[DEPTH_MAX], fresh[DEPTH_MAX];
    hn_buf memory[REGISTERS_MAX];
    hn_ix *to = HN_NEW_N(n->a, hn_ix, n->n_var);
    hn_dim size = hn_dim_int(n->dims, 1);
    if (!to) return hn_loop_no(why, "out of memory");
    for (int d = 0; d < t.depth; d++) {
        var[d] = n->st[t.loop[d]].var;
        size = hn_dim_mul(n->dims, size, n->ix[n->extent[var[d]]].offset);
    }
    hn_subst s = {to, NULL, n->n_var, 0};
    for (int d = 0; d < t.depth; d++) {
        fresh[d] = hn_nest_var(n, n->extent[var[d]]);
        to[var[d]] = hn_ix_var(n, fresh[d]);
    }
    for (int k = 0; k < t.n_reg; k++) memory[k] = hn_nest_buf(n, HN_LOCAL, n->buf[t.reg[k]].dtype, size);
    hn_st body = hn_nest_clone(n, rest_of(n, &t), &s);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    reload(n, &t, body, memory, fresh);
    keep(n, &t, memory, var);
    for (int d = t.depth; d-- > 0;) {
        hn_loop_kind kind = n->st[t.loop[d]].loop == HN_VECTOR ? HN_VECTOR : HN_SERIAL;
        body = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .var = fresh[d], .body = body, .loop = kind});
    }
    n->st[body].next = n->st[loop].next;
    n->st[loop].next = body;
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}
