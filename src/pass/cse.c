/* pass/cse.c — equal pure nodes become one: a scoped hash table over (operation, inputs, attributes), so that a region
 * finds what was computed around it and forgets its own values at its end. Constants are compared by their bytes. */
#include "base/hash.h"
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <stdlib.h>
#include <string.h>

enum { N_BUCKETS = 8192, DEPTH_MAX = 80, SAMPLE_B = 4096 };

typedef struct entry {
    uint32_t node, below; /* next entry + 1 */
    uint64_t hash;
} entry;

typedef struct table {
    entry *entry;
    uint32_t n, room, bucket[N_BUCKETS];
    uint32_t mark[DEPTH_MAX]; /* entries at the beginning of each open block */
    unsigned depth;
} table;

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n) {
    const unsigned char *c = data;
    for (; n >= 8; n -= 8, c += 8) {
        uint64_t x;
        memcpy(&x, c, 8);
        h = (h ^ x) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; n; n--) h = (h ^ *c++) * 0x100000001b3u;
    return h;
}

static size_t tensor_b(const hn_tensor *t) { return (size_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b; }

static uint64_t hash_attr(uint64_t h, const hn_attr *a) {
    h = hn_mix64(h ^ a->id);
    switch (a->kind) {
    case HN_K_INT:
    case HN_K_DTYPE: return hash_bytes(h, &a->i, sizeof a->i);
    case HN_K_FLOAT: return hash_bytes(h, &a->f, sizeof a->f);
    case HN_K_NAME: return hash_bytes(h, a->name, strlen(a->name));
    case HN_K_INTS: return hash_bytes(h, a->ints, a->n * sizeof *a->ints);
    case HN_K_DIMS: return hash_bytes(h, a->dims, a->n * sizeof *a->dims);
    case HN_K_TENSOR: {
        size_t n = tensor_b(a->tensor);
        h = hash_bytes(h, a->tensor->dim, a->tensor->rank * sizeof *a->tensor->dim);
        return hash_bytes(h ^ n ^ (uint64_t)a->tensor->dtype << 56, a->tensor->data, n < SAMPLE_B ? n : SAMPLE_B);
    }
    default: return h;
    }
}

static bool same_tensor(const hn_tensor *a, const hn_tensor *b) {
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    if (memcmp(a->dim, b->dim, a->rank * sizeof *a->dim) != 0) return false;
    return a->data == b->data || !memcmp(a->data, b->data, tensor_b(a));
}

static bool same_attr(const hn_attr *a, const hn_attr *b) {
    if (a->id != b->id || a->n != b->n) return false;
    switch (a->kind) {
    case HN_K_INT:
    case HN_K_DTYPE: return a->i == b->i;
    case HN_K_FLOAT: return !memcmp(&a->f, &b->f, sizeof a->f);
    case HN_K_NAME: return !strcmp(a->name, b->name);
    case HN_K_INTS: return !memcmp(a->ints, b->ints, a->n * sizeof *a->ints);
    case HN_K_DIMS: return !memcmp(a->dims, b->dims, a->n * sizeof *a->dims);
    case HN_K_TENSOR: return same_tensor(a->tensor, b->tensor);
    default: return false;
    }
}

/* `name` never changes meaning: the first one stays. */
static const hn_attr *next_attr(const hn_node *n, size_t *i) {
    while (*i < n->n_attr && n->attr[*i].id == HN_A_NAME) ++*i;
    return *i < n->n_attr ? &n->attr[(*i)++] : NULL;
}

static uint64_t hash_node(const hn_node *n) {
    uint64_t h = hn_mix64((uint64_t)n->op << 32 | n->n_in);
    h = hash_bytes(h, n->in, n->n_in * sizeof *n->in);
    size_t i = 0;
    for (const hn_attr *a; (a = next_attr(n, &i));) h = hash_attr(h, a);
    return h;
}

static bool same_node(const hn_node *a, const hn_node *b) {
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out) return false;
    if (a->n_in && memcmp(a->in, b->in, a->n_in * sizeof *a->in) != 0) return false;
    size_t i = 0, j = 0;
    for (;;) {
        const hn_attr *x = next_attr(a, &i), *y = next_attr(b, &j);
        if (!x || !y) return x == y;
        if (!same_attr(x, y)) return false;
    }
}

static void enter(hn_rewriter *r, hn_block b) {
    table *t = r->arg;
    (void)b;
    if (t->depth < DEPTH_MAX) t->mark[t->depth] = t->n;
    t->depth++;
}

static void leave(hn_rewriter *r, hn_block b) {
    table *t = r->arg;
    (void)b;
    t->depth--;
    while (t->depth < DEPTH_MAX && t->n > t->mark[t->depth]) {
        const entry *e = &t->entry[--t->n];
        t->bucket[e->hash % N_BUCKETS] = e->below;
    }
}

static void remember(hn_rewriter *r, uint64_t h) {
    table *t = r->arg;
    if (t->n == t->room) {
        uint32_t room = t->room ? 2 * t->room : 256;
        entry *more = realloc(t->entry, room * sizeof *more);
        if (!more) {
            r->g->arena.failed = true;
            return;
        }
        t->entry = more;
        t->room = room;
    }
    uint32_t *head = &t->bucket[h % N_BUCKETS];
    t->entry[t->n] = (entry){r->id, *head, h};
    *head = ++t->n;
}

static hn_val share(hn_rewriter *r, const hn_node *n) {
    table *t = r->arg;
    if (!(hn_op_of(n->op)->flags & HN_PURE) || n->op == HN_OP_KERNEL || t->depth > DEPTH_MAX) return HN_KEEP;
    uint64_t h = hash_node(n);
    for (uint32_t e = t->bucket[h % N_BUCKETS]; e; e = t->entry[e - 1].below) {
        const hn_node *m = &r->g->node[t->entry[e - 1].node];
        if (t->entry[e - 1].hash != h || !same_node(n, m)) continue;
        for (size_t i = 0; i < n->n_out; i++) r->map[n->out[i]] = m->out[i];
        return HN_DROPPED;
    }
    remember(r, h);
    return HN_KEEP;
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    table *t = calloc(1, sizeof *t);
    if (!t) {
        g->arena.failed = true;
        return hn_graph_failure(g, err);
    }
    hn_rewriter r = {.g = g, .relaxed = ctx->relaxed, .arg = t, .enter = enter, .leave = leave};
    hn_rewrite(&r, share);
    ctx->n_rewrites += r.n_rewrites;
    free(t->entry);
    free(t);
    return hn_graph_failure(g, err);
}

const hn_pass hn_pass_cse = {
    .name = "cse",
    .summary = "compute equal things once",
    .needs = HN_FACT_CANONICAL,
    .run = run,
};
