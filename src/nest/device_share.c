/* nest/device_share.c — the threads of a block share the iterations of a loop. */
#include "nest/device.h"
#include "nest/nest_int.h"
#include "nest/schedule.h"

#include <math.h>

enum { DEPTH_MAX = 16 };

/* -- which iterations */
/* The loop and the lone loops inside, of known extents where there are several. */
static bool together(hn_nest *n, hn_st loop, int depth, hn_st *at, const char **why) {
    if (depth < 1 || depth > DEPTH_MAX) return hn_loop_no(why, "too many loops");
    for (int k = 0; k < depth; k++) {
        if (!loop || n->st[loop].kind != HN_ST_LOOP || n->st[loop].loop != HN_SERIAL)
            return hn_loop_no(why, "the loops are not serial loops, one inside the other");
        if (depth > 1 && !hn_ix_is_dim(n, n->extent[n->st[loop].var], NULL))
            return hn_loop_no(why, "the extents depend on loops");
        at[k] = loop;
        if (k + 1 == depth) break;
        if (!hn_loop_sink(n, loop, why)) return false;
        loop = n->st[loop].body;
    }
    return true;
}

static bool writes_memory(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && writes_memory(n, s->body)) return true;
        if (s->kind == HN_ST_STORE && n->buf[s->buf].space != HN_RESULT && n->buf[s->buf].space != HN_REG) return true;
    }
    return false;
}

/* Registers of the list are declared in it. */
static bool declares(const hn_nest *n, hn_st first, hn_buf b) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_REG && n->st[id].buf == b) return true;
        if (n->st[id].kind == HN_ST_LOOP && declares(n, n->st[id].body, b)) return true;
    }
    return false;
}

/* All that the list does with buffer b is at this index, which no loop inside moves. */
static bool only_at(const hn_nest *n, hn_st first, hn_buf b, hn_ix at) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (s->kind == HN_ST_LOOP && !only_at(n, s->body, b, at)) return false;
        if (s->kind == HN_ST_LOOP && hn_ix_depends(n, at, s->var)) return false;
        if (s->kind == HN_ST_STORE && s->buf == b && s->at != at) return false;
        if (x && x->kind == HN_SV_LOAD && x->buf == b && x->at != at) return false;
    }
    return true;
}

/* Iterations of v write results, registers of their own, and elements of memory that are their own. */
static bool independent(hn_nest *n, hn_st first, hn_st top, hn_var v, const char **why) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        int64_t step;
        if (s.kind == HN_ST_LOOP && !independent(n, s.body, top, v, why)) return false;
        if (s.kind != HN_ST_STORE && s.kind != HN_ST_UPDATE) continue;
        hn_space space = n->buf[s.buf].space;
        if (space == HN_REG && !declares(n, top, s.buf)) return hn_loop_no(why, "iterations share a register");
        if (space == HN_REG || space == HN_RESULT) continue;
        if (!hn_ix_step(n, s.at, v, &step) || !step || !only_at(n, top, s.buf, s.at))
            return hn_loop_no(why, "iterations share memory");
    }
    return true;
}

/* The loops become the one that a thread takes; gives its loop's statements. */
static hn_st share(hn_nest *n, hn_st loop, const hn_st *at, int depth, const hn_sharers *t, hn_shared_loop *out) {
    hn_dim by = hn_dim_int(n->dims, t->n);
    hn_ix all = depth == 1 ? n->extent[n->st[loop].var] : hn_ix_dim(n, hn_device_count(n, at, depth));
    hn_ix turns = hn_ix_div(n, hn_ix_add(n, all, hn_ix_int(n, t->n - 1)), by);
    hn_var j = hn_nest_var(n, turns);
    hn_ix x = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, j), by), t->at);
    hn_st body = hn_device_flat(n, at, depth, x);
    hn_ix last = hn_ix_sub(n, hn_ix_sub(n, all, hn_ix_int(n, 1)), x);
    hn_device_guard(n, body, 1, &last);
    *out = (hn_shared_loop){.var = j, .element = x, .elements = all};
    return body;
}

bool hn_device_share(hn_nest *n, hn_st loop, int depth, const hn_sharers *t, hn_shared_loop *out, const char **why) {
    hn_st at[DEPTH_MAX];
    hn_shared_loop made;
    if (!together(n, loop, depth, at, why)) return false;
    hn_st in = n->st[at[depth - 1]].body;
    if (depth > 1 && writes_memory(n, in)) return hn_loop_no(why, "iterations of several loops fill memory");
    if (!independent(n, in, in, n->st[loop].var, why)) return false;
    hn_st body = share(n, loop, at, depth, t, &made);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    n->st[loop].var = made.var;
    n->st[loop].body = body;
    made.loop = loop;
    if (out) *out = made;
    return true;
}

/* -- reductions */
/* What the list updates outside of itself: one element of one register; *ok false: more, or it writes memory. */
static void find_update(const hn_nest *n, hn_st first, hn_st *found, const hn_buf *own, int n_own, bool *ok) {
    hn_buf mine[8];
    int count = 0;
    for (int k = 0; k < n_own && count < 8; k++) mine[count++] = own[k];
    for (hn_st id = first; id && *ok; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_REG) {
            if (count == 8)
                *ok = false;
            else
                mine[count++] = s->buf;
        }
        if (s->kind == HN_ST_LOOP) find_update(n, s->body, found, mine, count, ok);
        if (s->kind != HN_ST_STORE && s->kind != HN_ST_UPDATE) continue;
        bool inside = false;
        for (int k = 0; k < count; k++) inside |= mine[k] == s->buf;
        if (inside) continue;
        if (s->kind == HN_ST_STORE || n->buf[s->buf].space != HN_REG) *ok = false;
        if (*found && (n->st[*found].buf != s->buf || n->st[*found].at != s->at || n->st[*found].op != s->op))
            *ok = false;
        *found = id;
    }
}

/* Loads of the register in the list: then it is no plain sum. */
static bool reads(const hn_nest *n, hn_st first, hn_buf b) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && reads(n, s->body, b)) return true;
        if (s->kind == HN_ST_LET && n->sv[s->value].kind == HN_SV_LOAD && n->sv[s->value].buf == b) return true;
    }
    return false;
}

/* What changes nothing; false: it has no number. */
static bool identity(hn_op op, hone_dtype t, hn_scalar *x) {
    const hn_dtype_info *info = hn_dtype_of(t);
    bool is_int = info->cls == HN_CLASS_INT || info->cls == HN_CLASS_UINT;
    *x = (hn_scalar){.kind = HN_SV_CONST, .dtype = t};
    if (!is_int && info->cls != HN_CLASS_FLOAT) return false;
    if (op == HN_OP_ADD) return true;
    if (op == HN_OP_MUL) return x->f = !is_int, x->i = is_int, true;
    if (op != HN_OP_MAX && op != HN_OP_MIN) return false;
    if (!is_int) return x->f = op == HN_OP_MAX ? -(double)INFINITY : (double)INFINITY, true;
    uint64_t top = info->cls == HN_CLASS_INT ? (UINT64_C(1) << (info->bits - 1)) - 1 : UINT64_MAX >> (64 - info->bits);
    if (op == HN_OP_MIN && top > INT64_MAX) return false;
    int64_t low = info->cls == HN_CLASS_INT ? (int64_t)(UINT64_MAX << (info->bits - 1)) : 0;
    x->i = op == HN_OP_MIN ? (int64_t)top : low;
    return true;
}

static void redirect(hn_nest *n, hn_st first, hn_buf from, hn_buf to) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LOOP) redirect(n, n->st[id].body, from, to);
        if (n->st[id].kind != HN_ST_UPDATE || n->st[id].buf != from) continue;
        n->st[id].buf = to;
        n->st[id].at = hn_ix_int(n, 0);
    }
}

static hn_st behind(hn_nest *n, hn_st before, const hn_stmt *s) {
    hn_st made = hn_nest_stmt(n, s);
    n->st[made].next = n->st[before].next;
    return n->st[before].next = made;
}

bool hn_device_fold(hn_nest *n, hn_st loop, int depth, const hn_sharers *t, hn_buf *acc, hn_shared_loop *out,
                    const char **why) {
    hn_st at[DEPTH_MAX], found = 0;
    hn_scalar none;
    hn_shared_loop made;
    bool ok = true;
    if (!together(n, loop, depth, at, why)) return false;
    find_update(n, n->st[at[depth - 1]].body, &found, NULL, 0, &ok);
    if (!ok || !found) return hn_loop_no(why, "the loop does not only update one register");
    const hn_stmt update = n->st[found];
    for (int k = 0; k < depth; k++)
        if (hn_ix_depends(n, update.at, n->st[at[k]].var)) return hn_loop_no(why, "every iteration has its register");
    if (reads(n, n->st[loop].body, update.buf)) return hn_loop_no(why, "the loop reads what it sums up");
    hone_dtype type = n->buf[update.buf].dtype;
    if (!identity(update.op, type, &none)) return hn_loop_no(why, "the operation has no neutral value of the type");
    hn_buf part = hn_nest_buf(n, HN_REG, type, hn_dim_int(n->dims, 1));
    redirect(n, n->st[at[depth - 1]].body, update.buf, part);
    hn_st body = share(n, loop, at, depth, t, &made);
    hn_ix zero = hn_ix_int(n, 0);
    hn_sv start = hn_nest_scalar(n, &none);
    hn_sv sum = hn_nest_scalar(n, &(hn_scalar){.kind = HN_SV_LOAD, .dtype = type, .buf = part, .at = zero});
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    hn_st next = n->st[loop].next;
    n->st[loop] = (hn_stmt){.kind = HN_ST_REG, .buf = part, .next = next};
    hn_st last = behind(n, loop, &(hn_stmt){.kind = HN_ST_LET, .value = start});
    last = behind(n, last, &(hn_stmt){.kind = HN_ST_STORE, .buf = part, .at = zero, .value = start});
    last = made.loop = behind(n, last, &(hn_stmt){.kind = HN_ST_LOOP, .var = made.var, .body = body});
    last = behind(n, last, &(hn_stmt){.kind = HN_ST_LET, .value = sum});
    behind(n, last,
           &(hn_stmt){.kind = HN_ST_UPDATE, .buf = update.buf, .at = update.at, .op = update.op, .value = sum});
    *acc = update.buf;
    if (out) *out = made;
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}
