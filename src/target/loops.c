/* target/loops.c — natural loops (Aho, Lam, Sethi & Ullman, Compilers, 9.6): a depth-first search finds the edges that
 * go back to a block on its path; a loop is the block they go back to, and all that reaches the edge without it. */
#include "target/loops.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN_EDGES_MOST = 1 << 20 };

typedef struct block {
    size_t first, end;  /* instructions */
    size_t next, jump;  /* blocks this one leads to; SIZE_MAX: none */
    bool unknown;       /* ends in a jump of unknown target */
    bool reached;       /* some edge leads here */
    unsigned char seen; /* of the search: 0 new, 1 on the path, 2 done */
} block;

/* Edges by block: those of block k are to[start[k]] … to[start[k + 1] - 1]. */
typedef struct edges {
    size_t *start, *to;
} edges;

typedef struct graph {
    const hn_flow *f;
    size_t n;
    block *b;
    size_t n_blocks, n_unknown;
    size_t *block_of; /* per instruction */
    edges out, in;
    size_t *stack, *child; /* of searches, per block */
    size_t *back, n_back;  /* pairs from, to */
    size_t room_back;
    bool *leads;        /* per instruction: a block begins here */
    bool *body, *heads; /* per block */
} graph;

/* The instruction at this address, or SIZE_MAX. */
static size_t find_insn(const graph *g, uint64_t at) {
    size_t lo = 0, hi = g->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (g->f[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < g->n && g->f[lo].at == at ? lo : SIZE_MAX;
}

static size_t target_of(const graph *g, size_t i) {
    return g->f[i].jumps && g->f[i].target ? find_insn(g, g->f[i].target) : SIZE_MAX;
}

/* --- blocks ---------------------------------------------------------------------------------------------------------
 */

static void cut_blocks(graph *g) {
    for (size_t i = 0; i < g->n; i++) {
        size_t t = target_of(g, i);
        if (t != SIZE_MAX) g->leads[t] = true;
        if ((g->f[i].jumps || g->f[i].ends) && i + 1 < g->n) g->leads[i + 1] = true;
    }
    for (size_t i = 0; i < g->n; i++) {
        if (i == 0 || g->leads[i]) g->b[g->n_blocks++] = (block){.first = i, .next = SIZE_MAX, .jump = SIZE_MAX};
        g->b[g->n_blocks - 1].end = i + 1;
        g->block_of[i] = g->n_blocks - 1;
    }
}

static void link_blocks(graph *g) {
    for (size_t k = 0; k < g->n_blocks; k++) {
        block *b = &g->b[k];
        const hn_flow *last = &g->f[b->end - 1];
        size_t t = target_of(g, b->end - 1);
        if (t != SIZE_MAX) b->jump = g->block_of[t];
        if (!last->ends && k + 1 < g->n_blocks) b->next = k + 1;
        b->unknown = last->jumps && !last->target;
        g->n_unknown += b->unknown;
        if (b->jump != SIZE_MAX) g->b[b->jump].reached = true;
        if (b->next != SIZE_MAX) g->b[b->next].reached = true;
    }
}

/* Jumps of unknown target lead to all blocks that nothing reaches, unless that would give too many edges. */
static bool follows_unknown(const graph *g, size_t *n_open) {
    *n_open = 0;
    for (size_t k = 1; k < g->n_blocks; k++) *n_open += !g->b[k].reached; /* block 0 is the entry */
    return *n_open == 0 || g->n_unknown <= UNKNOWN_EDGES_MOST / *n_open;
}

static void put_edge(graph *g, size_t from, size_t to, bool count) {
    if (to == SIZE_MAX) return;
    if (count) {
        g->out.start[from + 1]++;
        g->in.start[to + 1]++;
    } else {
        g->out.to[g->out.start[from]++] = to;
        g->in.to[g->in.start[to]++] = from;
    }
}

static void put_edges(graph *g, bool unknown, bool count) {
    for (size_t k = 0; k < g->n_blocks; k++) {
        put_edge(g, k, g->b[k].next, count);
        put_edge(g, k, g->b[k].jump, count);
        for (size_t to = 1; unknown && g->b[k].unknown && to < g->n_blocks; to++)
            if (!g->b[to].reached) put_edge(g, k, to, count);
    }
}

/* First counts edges, then stores them. Storing advances each start to the next block's; the end restores the starts.
 */
static bool make_edges(graph *g) {
    size_t n = g->n_blocks, n_open, n_edges;
    bool unknown = follows_unknown(g, &n_open);
    n_edges = 2 * n + (unknown ? g->n_unknown * n_open : 0) + 1;
    g->out.start = calloc(n + 2, sizeof *g->out.start);
    g->in.start = calloc(n + 2, sizeof *g->in.start);
    g->out.to = calloc(n_edges, sizeof *g->out.to);
    g->in.to = calloc(n_edges, sizeof *g->in.to);
    if (!g->out.start || !g->in.start || !g->out.to || !g->in.to) return false;
    put_edges(g, unknown, true);
    for (size_t k = 0; k <= n; k++) {
        g->out.start[k + 1] += g->out.start[k];
        g->in.start[k + 1] += g->in.start[k];
    }
    put_edges(g, unknown, false);
    memmove(g->out.start + 1, g->out.start, n * sizeof *g->out.start);
    memmove(g->in.start + 1, g->in.start, n * sizeof *g->in.start);
    g->out.start[0] = g->in.start[0] = 0;
    return true;
}

/* --- the search -----------------------------------------------------------------------------------------------------
 */

static bool add_back(graph *g, size_t from, size_t to) {
    if (g->n_back == g->room_back) {
        size_t room = g->room_back ? 2 * g->room_back : 64;
        size_t *more = realloc(g->back, room * 2 * sizeof *more);
        if (!more) return false;
        g->back = more;
        g->room_back = room;
    }
    g->back[2 * g->n_back] = from;
    g->back[2 * g->n_back++ + 1] = to;
    return true;
}

static bool search(graph *g, size_t root) {
    size_t depth = 0;
    g->stack[depth++] = root;
    g->child[root] = g->out.start[root];
    g->b[root].seen = 1;
    while (depth) {
        size_t k = g->stack[depth - 1];
        if (g->child[k] == g->out.start[k + 1]) {
            g->b[k].seen = 2;
            depth--;
            continue;
        }
        size_t to = g->out.to[g->child[k]++];
        if (g->b[to].seen == 1 && !add_back(g, k, to)) return false;
        if (g->b[to].seen) continue;
        g->b[to].seen = 1;
        g->child[to] = g->out.start[to];
        g->stack[depth++] = to;
    }
    return true;
}

/* --- loops ----------------------------------------------------------------------------------------------------------
 */

static void add_block(graph *g, size_t k, size_t *n) {
    if (g->body[k]) return;
    g->body[k] = true;
    g->stack[(*n)++] = k;
}

/* The blocks of the loop at `head`, in g->stack; gives their number. Blocks added during the walk are visited later in
 * it. */
static size_t find_body(graph *g, size_t head, const size_t *back, size_t n_back) {
    size_t n = 0;
    add_block(g, head, &n);
    for (size_t i = 0; i < n_back; i++) add_block(g, back[2 * i], &n);
    for (size_t at = 1; at < n; at++) {
        size_t k = g->stack[at];
        for (size_t e = g->in.start[k]; e < g->in.start[k + 1]; e++) add_block(g, g->in.to[e], &n);
    }
    return n;
}

/* The first n blocks of g->stack. */
static void mark(const graph *g, size_t n, unsigned char as, unsigned char *depth) {
    for (size_t at = 0; at < n; at++) {
        const block *b = &g->b[g->stack[at]];
        for (size_t i = b->first; i < b->end; i++)
            if (depth[i] < as) depth[i] = as;
    }
}

static void read_loop(graph *g, const size_t *back, size_t n_back, unsigned char *depth, hn_loops *out) {
    size_t head = back[1], size = 0, n = find_body(g, head, back, n_back);
    bool inner = true;
    for (size_t at = 0; at < n; at++) {
        const block *b = &g->b[g->stack[at]];
        inner = inner && (at == 0 || !g->heads[g->stack[at]]);
        size += b->end - b->first;
        g->body[g->stack[at]] = false;
    }
    mark(g, n, inner ? 2 : 1, depth);
    out->n++;
    if (!inner) return;
    out->n_inner++;
    out->n_aligned += g->f[g->b[head].first].at % 32 == 0;
    if (size > out->largest_inner) out->largest_inner = size;
}

static int by_head(const void *a, const void *b) {
    const size_t *x = a, *y = b;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

static void read_loops(graph *g, unsigned char *depth, hn_loops *out) {
    if (!g->n_back) return;
    qsort(g->back, g->n_back, 2 * sizeof *g->back, by_head);
    for (size_t i = 0; i < g->n_back; i++) g->heads[g->back[2 * i + 1]] = true;
    for (size_t i = 0, end; i < g->n_back; i = end) {
        for (end = i + 1; end < g->n_back && g->back[2 * end + 1] == g->back[2 * i + 1];) end++;
        read_loop(g, g->back + 2 * i, end - i, depth, out);
    }
}

static bool open_graph(graph *g, const hn_flow *f, size_t n) {
    *g = (graph){.f = f, .n = n};
    g->b = calloc(n, sizeof *g->b);
    g->block_of = calloc(n, sizeof *g->block_of);
    g->stack = calloc(n, sizeof *g->stack);
    g->child = calloc(n, sizeof *g->child);
    g->leads = calloc(n, sizeof *g->leads);
    g->body = calloc(n, sizeof *g->body);
    g->heads = calloc(n, sizeof *g->heads);
    return g->b && g->block_of && g->stack && g->child && g->leads && g->body && g->heads;
}

static void close_graph(graph *g) {
    free(g->b);
    free(g->block_of);
    free(g->stack);
    free(g->child);
    free(g->back);
    free(g->out.start);
    free(g->out.to);
    free(g->in.start);
    free(g->in.to);
    free(g->leads);
    free(g->body);
    free(g->heads);
}

bool hn_find_loops(const hn_flow *f, size_t n, unsigned char *depth, hn_loops *out) {
    graph g;
    *out = (hn_loops){0};
    memset(depth, 0, n);
    if (!n) return true;
    bool fine = open_graph(&g, f, n);
    if (fine) {
        cut_blocks(&g);
        link_blocks(&g);
        fine = make_edges(&g);
        for (size_t k = 0; fine && k < g.n_blocks; k++)
            if (!g.b[k].seen) fine = search(&g, k);
        if (fine) read_loops(&g, depth, out);
    }
    close_graph(&g);
    return fine;
}
