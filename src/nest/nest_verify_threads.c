/* nest/nest_verify_threads.c — the invariants of nest/nest.h for machines with blocks of threads: 7 to 14. */
#include "base/err.h"
#include "nest/mma.h"
#include "nest/nest_int.h"
#include "nest/threads.h"

enum { THREADS_MAX = 1024, WARP = 32, SLOTS_MAX = 64, CLUSTER_MAX = 8 };

typedef struct verifier {
    hn_nest *n;
    hn_threads t;
    int64_t size[3]; /* of the group loops by level; 0: none met */
    int64_t roles;   /* threads of the roles so far; -1: none met */
    hn_st role;      /* the role loop around, 0: none */
    hn_st *arrives;  /* gate: the role loop that arrives there */
    hn_st cluster;   /* the cluster loop around, 0: none */
    bool clustered;  /* one was met */
    int n_vector;
    hone_err *err;
} verifier;

static hone_rc broken(const verifier *v, int invariant, const char *what) {
    return hn_fail(v->err, HONE_E_INPUT, "loop nest, invariant %d: %s", invariant, what);
}

/* What kind of loops a list stands in. */
typedef enum around { IN_PARALLEL, IN_ROLE, IN_GROUP, IN_OTHER } around;

static hone_rc check_list(verifier *v, hn_st first, around in, int level);

static int64_t threads_of(const verifier *v) {
    int64_t all = 1;
    for (int k = 0; k < 3 && v->size[k]; k++) all *= v->size[k];
    return all;
}

static hone_rc check_group(verifier *v, const hn_stmt *s, around in, int level) {
    int64_t e;
    if (in == IN_OTHER) return broken(v, 7, "a group loop is not directly inside parallel or group loops");
    if (in == IN_PARALLEL && v->roles >= 0) return broken(v, 7, "a group loop beside a role loop");
    if (level == 3) return broken(v, 7, "more than three group loops inside each other");
    if (!hn_ix_is_int(v->n, v->n->extent[s->var], &e) || e < 1 || e > THREADS_MAX)
        return broken(v, 7, "a group loop without a constant number of threads, 1 to 1024");
    if (v->size[level] && v->size[level] != e) return broken(v, 7, "group loops of one level have different lengths");
    v->size[level] = e;
    if (threads_of(v) > THREADS_MAX) return broken(v, 7, "more than 1024 threads in a block");
    return check_list(v, s->body, IN_GROUP, level + 1);
}

static hone_rc check_role(verifier *v, hn_st id, around in) {
    const hn_stmt *s = &v->n->st[id];
    int64_t e;
    if (v->cluster) return broken(v, 14, "a role loop in a cluster");
    if (in != IN_PARALLEL) return broken(v, 7, "a role loop is not directly inside the parallel loops");
    if (v->roles < 0 && v->size[0]) return broken(v, 7, "a role loop beside a group loop");
    if (v->roles < 0) v->roles = 0;
    if (!hn_ix_is_int(v->n, v->n->extent[s->var], &e) || e < 1 || e > THREADS_MAX)
        return broken(v, 7, "a role loop without a constant extent, 1 to 1024");
    memset(v->size, 0, sizeof v->size);
    v->role = id;
    hone_rc rc = check_list(v, s->body, IN_ROLE, 0);
    v->role = 0;
    if (rc) return rc;
    if (!v->size[0]) return broken(v, 7, "a role loop without a group loop in it");
    v->roles += e * threads_of(v);
    return v->roles > THREADS_MAX ? broken(v, 7, "more than 1024 threads in the roles of a block") : HONE_OK;
}

static bool has_space(const hn_nest *n, hn_space space) {
    for (hn_buf b = 1; b < n->n_buf; b++)
        if (n->buf[b].space == space) return true;
    return false;
}

/* Is there nothing in the list beside the loop but definitions? */
static bool is_alone(const hn_nest *n, hn_st first, hn_st loop) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (id != loop && n->st[id].kind != HN_ST_LET) return false;
    return true;
}

static bool is_alone_all_around(const hn_nest *n, hn_st id) {
    for (hn_st first = n->first, at; first; first = n->st[at].body) {
        for (at = first; at && n->st[at].kind != HN_ST_LOOP;) at = n->st[at].next;
        if (!at || !is_alone(n, first, at)) return false;
        if (at == id) return true;
    }
    return false;
}

static hone_rc check_cluster(verifier *v, hn_st id, around in, int level) {
    const hn_stmt *s = &v->n->st[id];
    int64_t e;
    if (in != IN_PARALLEL || v->cluster) return broken(v, 14, "a cluster loop is not directly inside parallel loops");
    if (v->clustered || v->size[0] || v->roles >= 0 || !is_alone_all_around(v->n, id))
        return broken(v, 14, "something stands beside a cluster loop");
    if (!hn_ix_is_int(v->n, v->n->extent[s->var], &e) || e < 2 || e > CLUSTER_MAX)
        return broken(v, 14, "a cluster without a constant number of blocks, 2 to 8");
    if (has_space(v->n, HN_LOCAL)) return broken(v, 14, "local memory in a nest with clusters");
    v->clustered = true;
    v->cluster = id;
    hone_rc rc = check_list(v, s->body, IN_PARALLEL, level);
    v->cluster = 0;
    if (!rc && !v->size[0]) return broken(v, 14, "a cluster loop without a group loop in it");
    return rc;
}

static hone_rc check_push(verifier *v, const hn_stmt *s, int level) {
    const hn_nbuf *b = &v->n->buf[s->buf];
    int64_t bytes = s->count * hn_dtype_of(b->dtype)->size_b;
    if (!v->cluster || !level || v->n_vector)
        return broken(v, 14, "a push that no thread of a cluster makes, or a vector");
    if (b->space != HN_SHARED) return broken(v, 14, "a push of what is no shared memory");
    if (bytes != 4 && bytes != 8 && bytes != 16) return broken(v, 14, "a push that is not of 4, 8 or 16 bytes");
    return HONE_OK;
}

/* A write to a register that several threads share: those that differ in the levels of `shared`. */
static hone_rc check_shared_register(verifier *v, hn_st id, int level) {
    const hn_stmt *s = &v->n->st[id];
    int depth = v->t.depth[s->buf];
    unsigned shared = 7u & ~((1u << depth) - 1);
    int64_t folded = 1;
    if (hn_threads_differ(v->n, &v->t, s->at) & shared) return broken(v, 9, "a block's register at a thread's index");
    for (int k = depth; k < level; k++) folded *= v->size[k];
    bool warp = folded == WARP && !(v->t.apart[id] & shared);
    if (v->t.apart[id] && !(s->kind == HN_ST_STORE ? !(v->t.apart[id] & shared) : warp))
        return broken(v, 9, "a block's register is written where some threads are not");
    if (s->kind == HN_ST_UPDATE) return HONE_OK;
    if (v->t.sv[s->value] & shared) return broken(v, 9, "a block's register gets a thread's value");
    for (uint32_t k = 0; k < s->n_guard; k++)
        if (hn_threads_differ(v->n, &v->t, s->guard[k]) & shared)
            return broken(v, 9, "a block's register is stored by some threads alone");
    return HONE_OK;
}

static hone_rc check_other_loop(verifier *v, const hn_stmt *s, around in, int level) {
    v->n_vector += s->loop == HN_VECTOR;
    hone_rc rc = check_list(v, s->body, in == IN_PARALLEL && s->loop == HN_PARALLEL ? in : IN_OTHER, level);
    v->n_vector -= s->loop == HN_VECTOR;
    return rc;
}

static hone_rc check_copy(verifier *v, const hn_stmt *s, int level) {
    const hn_nbuf *to = &v->n->buf[s->buf], *from = &v->n->buf[s->from[0]];
    int64_t bytes = s->count * hn_dtype_of(to->dtype)->size_b;
    if (!level || v->n_vector) return broken(v, 11, "a copy that no thread makes, or a vector");
    if (to->space != HN_SHARED || !hn_nest_constant(v->n, s->from[0]) || to->dtype != from->dtype)
        return broken(v, 11, "a copy that is not from a parameter to shared memory of its type");
    if (bytes != 4 && bytes != 8 && bytes != 16) return broken(v, 11, "a copy that is not of 4, 8 or 16 bytes");
    return HONE_OK;
}

static hone_rc check_mma(verifier *v, hn_st id, int level) {
    const hn_stmt *s = &v->n->st[id];
    const hn_mma *row = hn_mma_at((size_t)s->count);
    const hn_buf buf[3] = {s->buf, s->from[0], s->from[1]};
    const hn_ix at[3] = {s->at, s->from_at[0], s->from_at[1]};
    if (!level || v->n_vector) return broken(v, 12, "a tile product that no warp makes, or a vector");
    if (v->t.apart[id]) return broken(v, 12, "a tile product where some threads are not");
    if (v->role && v->roles % HN_MMA_LANES) return broken(v, 12, "a tile product by a role that begins inside a warp");
    if (threads_of(v) % HN_MMA_LANES) return broken(v, 12, "a tile product by threads that are no whole warps");
    for (int k = 0; k < 3; k++) {
        const hn_nbuf *b = &v->n->buf[buf[k]];
        hn_dim high = hn_ix_high(v->n, at[k]);
        int64_t size, top;
        if (b->space != HN_REG || v->t.depth[buf[k]] != level)
            return broken(v, 12, "a tile that is no thread's register");
        if (b->dtype != (k ? row->dtype : HONE_F32)) return broken(v, 12, "a tile of another type");
        if (!hn_dim_is_int(v->n->dims, b->size, &size) || !high || !hn_dim_is_int(v->n->dims, high, &top) ||
            !hn_ix_never_negative(v->n, at[k]) || top + row->map[k].registers > size)
            return broken(v, 12, "a tile reaches out of its register");
    }
    return HONE_OK;
}

static hone_rc check_gate(verifier *v, hn_st id, int level) {
    const hn_stmt *s = &v->n->st[id];
    if (v->n->buf[s->buf].space != HN_GATE) return broken(v, 13, "threads arrive at or wait for what is no gate");
    if (!v->role || !level || v->n_vector) return broken(v, 13, "a gate that no threads of a role come by");
    if (v->t.apart[id]) return broken(v, 13, "a gate where some threads are not");
    uint8_t differs = hn_threads_differ(v->n, &v->t, s->at);
    if (s->from_at[0]) differs |= hn_threads_differ(v->n, &v->t, s->from_at[0]);
    if (differs) return broken(v, 13, "a gate's slot or phase differs between threads");
    if (s->kind == HN_ST_AWAIT) return HONE_OK;
    if (v->arrives[s->buf] && v->arrives[s->buf] != v->role) return broken(v, 13, "two roles arrive at one gate");
    v->arrives[s->buf] = v->role;
    return HONE_OK;
}

static hone_rc check_list(verifier *v, hn_st first, around in, int level) {
    hone_rc rc = HONE_OK;
    for (hn_st id = first; id && !rc; id = v->n->st[id].next) {
        const hn_stmt *s = &v->n->st[id];
        bool write = s->kind == HN_ST_STORE || s->kind == HN_ST_UPDATE;
        if (s->kind == HN_ST_LOOP && s->loop == HN_GROUP)
            rc = check_group(v, s, in, level);
        else if (s->kind == HN_ST_LOOP && s->loop == HN_ROLE)
            rc = check_role(v, id, in);
        else if (s->kind == HN_ST_LOOP && s->loop == HN_CLUSTER)
            rc = check_cluster(v, id, in, level);
        else if (s->kind == HN_ST_LOOP)
            rc = check_other_loop(v, s, in, level);
        else if (s->kind == HN_ST_BARRIER && v->role)
            rc = broken(v, 13, "a barrier in a role loop");
        else if (s->kind == HN_ST_ARRIVE || s->kind == HN_ST_AWAIT)
            rc = check_gate(v, id, level);
        else if (s->kind == HN_ST_BARRIER && s->cluster && (!v->cluster || v->t.apart[id]))
            rc = broken(v, 14, "a barrier of a cluster where some of its threads are not");
        else if (s->kind == HN_ST_PUSH)
            rc = check_push(v, s, level);
        else if (s->kind == HN_ST_BARRIER && v->t.apart[id] & ~HN_CLUSTER_BIT)
            rc = broken(v, 10, "a barrier where some threads are not");
        else if (s->kind == HN_ST_COPY)
            rc = check_copy(v, s, level);
        else if (s->kind == HN_ST_MMA)
            rc = check_mma(v, id, level);
        else if (write && v->n->buf[s->buf].space == HN_REG && v->t.depth[s->buf] < level)
            rc = check_shared_register(v, id, level);
    }
    return rc;
}

static bool is_of_device(hn_st_kind k) {
    return k == HN_ST_BARRIER || k == HN_ST_COPY || k == HN_ST_COMMIT || k == HN_ST_WAIT || k == HN_ST_MMA ||
           k == HN_ST_ARRIVE || k == HN_ST_AWAIT || k == HN_ST_PUSH;
}

hone_rc hn_nest_verify_threads(hn_nest *n, hone_err *err) {
    hn_arena a = {0};
    verifier v = {.n = n, .roles = -1, .err = err};
    int64_t size;
    bool threads = hn_nest_has_group(n);
    for (hn_buf b = 1; b < n->n_buf; b++) {
        hn_nbuf *x = &n->buf[b];
        if (x->space == HN_GATE && (!threads || x->dtype != HONE_I64 || !hn_dim_is_int(n->dims, x->size, &size) ||
                                    size < 1 || size > SLOTS_MAX))
            return broken(&v, 13, "a gate that is no i64 of 1 to 64 slots, or without role loops");
        if (x->space != HN_SHARED) continue;
        if (!threads) return broken(&v, 8, "shared memory without group loops");
        if (!hn_dim_is_int(n->dims, n->buf[b].size, &size) || size < 1)
            return broken(&v, 8, "shared memory without a constant size");
    }
    for (hn_st s = 1; s < n->n_st && !threads; s++)
        if (is_of_device(n->st[s].kind)) return broken(&v, 10, "a barrier, copy or tile product without group loops");
    if (!threads) return HONE_OK;
    v.arrives = HN_NEW_N(&a, hn_st, n->n_buf + 1u);
    hone_rc rc = v.arrives && hn_nest_threads(n, &a, &v.t)
                     ? check_list(&v, n->first, IN_PARALLEL, 0)
                     : hn_fail(err, HONE_E_NOMEM, "out of memory in checking a loop nest");
    hn_arena_free(&a);
    return rc;
}
