/* nest/schedule_slice.c — a long sum goes in slices, between which its totals are kept in memory: each slice adds up
 * from zero, and its sum is added to the total. What a slice
 * reads stays in the cache for all tiles of a panel (the loop over k_c of Goto and van de Geijn 2008, section 4.2). */
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { DEPTH_MAX = 4 };

typedef struct sum {
    hn_st loop[DEPTH_MAX]; /* one inside the other, nothing between */
    int depth;
    hn_st body, reduction;
    hn_buf reg;
    hn_sv start; /* a constant */
    hn_ix at;    /* the accumulator's place in memory */
    hn_buf memory;
} sum;

/* Does the list add to the register, and update it in no other way? */
static bool adds_to(const hn_nest *n, hn_st first, hn_buf reg) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LOOP && !adds_to(n, n->st[id].body, reg)) return false;
        if (n->st[id].kind == HN_ST_UPDATE && n->st[id].buf == reg && n->st[id].op != HN_OP_ADD) return false;
    }
    return true;
}

/* A body of definitions, one register that starts as a constant, one reduction, definitions and stores. */
static bool find_sum(const hn_nest *n, hn_st loop, sum *s) {
    int64_t size;
    for (hn_st id = loop;; id = n->st[id].body) {
        if (s->depth == DEPTH_MAX || n->st[id].loop != HN_SERIAL) return false;
        s->loop[s->depth++] = id;
        s->body = n->st[id].body;
        if (!s->body || n->st[s->body].kind != HN_ST_LOOP || n->st[s->body].next) break;
    }
    for (hn_st id = s->body; id; id = n->st[id].next) {
        const hn_stmt *x = &n->st[id];
        if (x->kind == HN_ST_REG) {
            if (s->reg || s->reduction || !hn_dim_is_int(n->dims, n->buf[x->buf].size, &size) || size != 1)
                return false;
            s->reg = x->buf;
        } else if (x->kind == HN_ST_LOOP) {
            if (s->reduction || !s->start) return false;
            s->reduction = id;
        } else if (x->kind == HN_ST_STORE && n->buf[x->buf].space == HN_REG) {
            if (s->start || s->reduction || n->sv[x->value].kind != HN_SV_CONST) return false;
            s->start = x->value;
        } else if (x->kind == HN_ST_UPDATE || x->kind == HN_ST_PREFETCH || (x->kind == HN_ST_STORE && !s->reduction)) {
            return false;
        }
    }
    return s->reduction && n->st[s->reduction].next && adds_to(n, n->st[s->reduction].body, s->reg);
}

/* The place of an accumulator: neighbours along the outermost loop lie side by side. False: a length has no bound. */
static bool find_place(hn_nest *n, sum *s) {
    hn_dim size = hn_dim_int(n->dims, 1), most;
    s->at = hn_ix_int(n, 0);
    for (int d = 0; d < s->depth; d++) {
        hn_var v = n->st[s->loop[d]].var;
        int64_t e;
        if (!(most = hn_ix_high(n, n->extent[v])) || !hn_dim_is_int(n->dims, most, &e)) return false;
        s->at = hn_ix_add(n, s->at, hn_ix_scale(n, hn_ix_var(n, v), size));
        size = hn_dim_mul(n->dims, size, most);
    }
    s->memory = hn_nest_buf(n, HN_LOCAL, n->buf[s->reg].dtype, size);
    return true;
}

/* -- lists */
typedef struct list {
    hn_st head, tail;
} list;
static void append(hn_nest *n, list *l, hn_stmt s) {
    s.next = 0;
    hn_st id = hn_nest_stmt(n, &s);
    if (l->tail) n->st[l->tail].next = id;
    if (!l->head) l->head = id;
    l->tail = id;
}
/* Defines and gives what lies at `at` of buffer b. */
static hn_sv load(hn_nest *n, list *l, hn_buf b, hn_ix at) {
    hn_scalar x = {.kind = HN_SV_LOAD, .dtype = n->buf[b].dtype, .buf = b, .at = at};
    hn_sv value = hn_nest_scalar(n, &x);
    append(n, l, (hn_stmt){.kind = HN_ST_LET, .value = value});
    return value;
}

static hn_st set_memory(hn_nest *n, const sum *s) {
    list l = {0, 0};
    hn_scalar x = n->sv[s->start];
    hn_sv start = hn_nest_scalar(n, &x);
    append(n, &l, (hn_stmt){.kind = HN_ST_LET, .value = start});
    append(n, &l, (hn_stmt){.kind = HN_ST_STORE, .buf = s->memory, .at = s->at, .value = start});
    return l.head;
}

/* The body up to its reduction, which covers `f` iterations from `from` on and starts from zero. */
static void add_slice(hn_nest *n, const sum *s, hn_ix from, int64_t f, list *l) {
    hn_var v = n->st[s->reduction].var, k = hn_nest_var(n, hn_ix_int(n, f));
    hn_ix *var = HN_NEW_N(n->a, hn_ix, v + 1u);
    if (!var) return;
    for (hn_st id = s->body; id != s->reduction; id = n->st[id].next)
        if (n->st[id].kind != HN_ST_STORE) append(n, l, n->st[id]);
    hn_sv zero = hn_nest_scalar(n, &(hn_scalar){.kind = HN_SV_CONST, .dtype = n->buf[s->reg].dtype});
    append(n, l, (hn_stmt){.kind = HN_ST_LET, .value = zero});
    append(n, l, (hn_stmt){.kind = HN_ST_STORE, .buf = s->reg, .at = hn_ix_int(n, 0), .value = zero});
    var[v] = hn_ix_add(n, from, hn_ix_var(n, k));
    hn_st body = hn_nest_clone(n, n->st[s->reduction].body, &(hn_subst){var, NULL, v + 1u, 0});
    append(n, l, (hn_stmt){.kind = HN_ST_LOOP, .var = k, .body = body, .loop = HN_SERIAL});
    hn_sv before = load(n, l, s->memory, s->at);
    append(n, l,
           (hn_stmt){.kind = HN_ST_UPDATE, .buf = s->reg, .at = hn_ix_int(n, 0), .op = HN_OP_ADD, .value = before});
}

static hn_st to_memory(hn_nest *n, const sum *s, hn_ix from, int64_t f) {
    list l = {0, 0};
    add_slice(n, s, from, f, &l);
    hn_sv x = load(n, &l, s->reg, hn_ix_int(n, 0));
    append(n, &l, (hn_stmt){.kind = HN_ST_STORE, .buf = s->memory, .at = s->at, .value = x});
    return l.head;
}

static hn_st to_results(hn_nest *n, const sum *s, hn_ix from, int64_t f) {
    list l = {0, 0};
    add_slice(n, s, from, f, &l);
    for (hn_st id = n->st[s->reduction].next; id; id = n->st[id].next) append(n, &l, n->st[id]);
    return l.head;
}

/* The loops again, with variables and definitions of their own, around the list. */
static hn_st around(hn_nest *n, const sum *s, hn_st body) {
    hn_ix *to = HN_NEW_N(n->a, hn_ix, n->n_var);
    hn_var fresh[DEPTH_MAX];
    if (!to) return 0;
    hn_subst with = {to, NULL, n->n_var, 0};
    for (int d = 0; d < s->depth; d++) {
        hn_var v = n->st[s->loop[d]].var;
        fresh[d] = hn_nest_var(n, hn_ix_subst(n, n->extent[v], &with));
        to[v] = hn_ix_var(n, fresh[d]);
    }
    body = hn_nest_clone(n, body, &with);
    for (int d = s->depth; d-- > 0;)
        body = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .var = fresh[d], .body = body, .loop = HN_SERIAL});
    return body;
}

bool hn_loop_slice(hn_nest *n, hn_st loop, int64_t f, hn_st part[3], const char **why) {
    sum s = {.depth = 0};
    int64_t e;
    if (!find_sum(n, loop, &s)) return hn_loop_no(why, "the loops are not alone around one reduction from a constant");
    if (!hn_ix_is_int(n, n->extent[n->st[s.reduction].var], &e) || f < 1 || e <= f || e % f)
        return hn_loop_no(why, "the slices do not divide the reduction");
    if (!find_place(n, &s)) return hn_loop_no(why, "the number of accumulators has no bound");
    hn_var slice = hn_nest_var(n, hn_ix_int(n, e / f - 1));
    hn_ix from = hn_ix_scale(n, hn_ix_var(n, slice), hn_dim_int(n->dims, f));
    hn_st set = around(n, &s, set_memory(n, &s)), sum_in = around(n, &s, to_memory(n, &s, from, f));
    hn_st last = around(n, &s, to_results(n, &s, hn_ix_int(n, e - f), f));
    hn_st over = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .var = slice, .body = sum_in, .loop = HN_SERIAL});
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    n->st[last].next = n->st[loop].next;
    n->st[loop].var = n->st[set].var; /* the loop given is the first of the three */
    n->st[loop].body = n->st[set].body;
    n->st[loop].next = over;
    n->st[over].next = last;
    part[0] = loop, part[1] = sum_in, part[2] = last;
    return true;
}
