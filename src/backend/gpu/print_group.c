/* backend/gpu/print_group.c — blocks of threads: group loops as the thread's place in its block, what is done once for
 * several threads, and registers that threads share, which each of them has a copy of. */
#include "backend/gpu/print.h"

#include <string.h>

static bool find_levels(hn_gp *c, hn_st first, int level) {
    hn_nest *n = c->n;
    bool fine = true;
    for (hn_st id = first; id && fine; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind != HN_ST_LOOP) continue;
        if (s->loop != HN_GROUP) {
            fine = find_levels(c, s->body, level);
            continue;
        }
        int64_t e = 0;
        if (level == 3 || !hn_ix_is_int(n, n->extent[s->var], &e)) return false;
        if (c->size[level] && c->size[level] != e) return false;
        c->size[level] = e;
        if (level >= c->n_level) c->n_level = level + 1;
        fine = find_levels(c, s->body, level + 1);
    }
    return fine;
}

bool hn_gp_group_set_up(hn_gp *c) {
    c->group = hn_nest_has_group(c->n);
    c->n_threads = HN_GPU_THREADS;
    if (!hn_nest_threads(c->n, c->n->a, &c->threads)) return c->why = "no memory", false;
    c->cluster = hn_nest_cluster(c->n);
    if (c->cluster > 1 && !c->clusters) return c->why = "clusters of blocks, which the target has not", false;
    if (!c->group) return true;
    for (hn_st s = 1; s < c->n->n_st; s++) c->roles |= c->n->st[s].kind == HN_ST_LOOP && c->n->st[s].loop == HN_ROLE;
    if (c->roles) return c->n_threads = hn_nest_block(c->n).all, true; /* levels are those of each role */
    if (!find_levels(c, c->n->first, 0)) return c->why = "group loops of several lengths", false;
    c->n_threads = 1;
    for (int k = 0; k < c->n_level; k++) c->n_threads *= c->size[k];
    if (c->n_threads < 1 || c->n_threads > 1024) return c->why = "too many threads in a block", false;
    return true;
}

/* Threads of the levels from k on. */
static int64_t threads_from(const hn_gp *c, int k) {
    int64_t n = 1;
    for (; k < c->n_level; k++) n *= c->size[k];
    return n;
}

void hn_gp_thread(const hn_gp *c, hn_str *out) {
    if (c->role_at)
        hn_str_addf(out, "(HNR_THREAD - %lld)", (long long)c->role_at);
    else
        hn_str_add(out, "HNR_THREAD");
}

bool hn_gp_role_begin(hn_gp *c, hn_st loop) {
    int64_t e;
    memset(c->size, 0, sizeof c->size);
    c->n_level = 0;
    if (!hn_ix_is_int(c->n, c->n->extent[c->n->st[loop].var], &e) || e != 1)
        return c->why = "a role of several iterations", false;
    if (!find_levels(c, c->n->st[loop].body, 0)) return c->why = "group loops of several lengths", false;
    c->role_threads = hn_role_threads(c->n, loop);
    c->role_at = c->role_next;
    c->role_next += c->role_threads;
    hn_gp_line(c, "if (HNR_THREAD >= %lld && HNR_THREAD < %lld) { /* a role */", (long long)c->role_at,
               (long long)c->role_next);
    c->indent++;
    hn_gp_line(c, "const %s i%u = 0;", hn_gp_ix_type(c), c->n->st[loop].var);
    hn_gp_line(c, "(void)i%u;", c->n->st[loop].var);
    return true;
}

void hn_gp_role_end(hn_gp *c) {
    c->role_at = c->role_threads = 0;
    c->indent--;
    hn_gp_line(c, "}");
}

void hn_gp_group_var(hn_gp *c, hn_st loop) {
    int level = c->threads.level[loop];
    int64_t inner = threads_from(c, level + 1);
    hn_str at = {0};
    hn_gp_thread(c, &at);
    if (inner > 1) hn_str_addf(&at, " / %lld", (long long)inner);
    if (level > 0) hn_str_addf(&at, " %% %lld", (long long)c->size[level]);
    hn_gp_line(c, "const %s i%u = %s;", hn_gp_ix_type(c), c->n->st[loop].var, at.text ? at.text : "0");
    hn_str_free(&at);
}

bool hn_gp_first_thread(hn_gp *c, hn_str *out, hn_st s) {
    int64_t same = c->group ? threads_from(c, c->threads.level[s]) : 1;
    if (same <= 1) return false;
    hn_gp_thread(c, out);
    if (same != (c->role_threads ? c->role_threads : c->n_threads)) hn_str_addf(out, " %% %lld", (long long)same);
    hn_str_add(out, " == 0");
    return true;
}

int hn_gp_sharers(const hn_gp *c, const hn_stmt *s) {
    if (!c->group || c->n->buf[s->buf].space != HN_REG) return 0;
    int depth = c->threads.depth[s->buf], level = c->threads.level[s - c->n->st];
    return level > depth ? level - depth : 0;
}

static const char *identity(hn_op op, hone_dtype t) {
    bool min = op == HN_OP_MIN;
    if (op == HN_OP_ADD) return "0";
    if (op == HN_OP_MUL) return "1";
    switch (hn_dtype_of(t)->cls) {
    case HN_CLASS_FLOAT: return min ? "INFINITY" : "-INFINITY";
    case HN_CLASS_INT: return t == HONE_I64 ? min ? "INT64_MAX" : "INT64_MIN" : min ? "INT32_MAX" : "INT32_MIN";
    default: return !min ? "0" : t == HONE_U64 ? "UINT64_MAX" : "4294967295u";
    }
}

/* The function that folds values of a type, and in which type it does. */
static const char *fold_type(hn_op op, hone_dtype t, const char **type) {
    const hn_dtype_info *d = hn_dtype_of(t);
    bool order = op == HN_OP_MIN || op == HN_OP_MAX, wide = d->bits > 32;
    *type = d->cls == HN_CLASS_FLOAT ? wide ? "double" : "float" : wide ? "int64_t" : "int32_t";
    if (d->cls == HN_CLASS_FLOAT) return wide ? "f64" : "f32";
    if (!order || d->cls == HN_CLASS_INT) return wide ? "i64" : "i32";
    *type = wide ? "uint64_t" : "uint32_t";
    return wide ? "u64" : "u32";
}

void hn_gp_fold_threads(hn_gp *c, const hn_stmt *s) {
    hone_dtype t = c->n->buf[s->buf].dtype;
    int depth = c->threads.depth[s->buf], level = c->threads.level[s - c->n->st];
    int64_t n = threads_from(c, depth);
    const char *type, *name = fold_type(s->op, t, &type);
    int known = hn_gp_known_guards(c, s->n_guard, s->guard);
    if (!known) return;
    if (c->roles) {
        c->why = "a fold over the threads of a role";
        return;
    }
    if (n & (n - 1) || threads_from(c, level) != 1) {
        c->why = "a fold over threads whose number is no power of two";
        return;
    }
    c->folds = true;
    hn_str to = {0}, value = {0}, sum = {0};
    hn_gp_reg(c, &to, s->buf, s->at);
    hn_str_addf(&value, "(%s)hnr_fold_%s_%s(", hn_gp_type(t), hn_op_of(s->op)->text, name);
    if (known < 0) {
        hn_gp_guards(c, &value, s->n_guard, s->guard);
        hn_str_addf(&value, " ? (%s)", type);
    }
    hn_gp_name(c, &value, s->value);
    if (known < 0) hn_str_addf(&value, " : (%s)%s", type, identity(s->op, t));
    hn_str_addf(&value, ", %lld, room)", (long long)n);
    hn_gp_fold(c, &sum, s->op, t, to.text ? to.text : "0", value.text ? value.text : "0");
    hn_gp_line(c, "%s = %s;", to.text ? to.text : "", sum.text ? sum.text : "0");
    hn_str_free(&to);
    hn_str_free(&value);
    hn_str_free(&sum);
}
