/* program_split.c — which kernels of a program run on the device, which on the host: a minimum cut.
 *
 * Nodes are the host, the device, and the kernels; a kernel on the device costs its calls there, on the host its calls
 * here. A value has a home, the side that writes it (as program_spaces.c gives it one); a copy is paid once however
 * many read it on the other side: an edge from the home to a node of its own, behind which no reader can be without it
 * (and the same back). The cut of least capacity is the split of least time when nothing runs beside anything else,
 * which is how one stream runs (Greig, Porteous, Seheult 1989; the flow by Dinic 1970).
 */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

#define NO_NODE UINT32_MAX
enum { AT_HOST = 0, AT_DEVICE = 1, FIRST_KERNEL = 2, LOOP_TURNS = 8 };
static const int64_t never = (int64_t)1 << 56; /* no cut goes through it; capacities are picoseconds */

typedef struct edge {
    uint32_t to, next; /* + 1; 0: the last */
    int64_t room;
} edge;

typedef struct reading {
    hn_val root;
    uint32_t node;
} reading;

typedef struct net {
    const hn_program *p;
    const hn_split_costs *c;
    edge *e;
    uint32_t n_edge, room_edge;
    uint32_t *first, *level, *at; /* by node */
    uint32_t n_node, room_node;
    uint32_t *home; /* by root: a node */
    double *weight; /* by root: how often it is written in a run, about */
    double *calls;  /* by kernel: launches of a run */
    double *back;   /* by kernel: symbols that come to the host, a run */
    reading *read;
    uint32_t n_read, room_read;
    bool failed;
} net;

/* --- the net ---------------------------------------------------------------------------------------------------------
 */

static void *more(net *w, void *list, uint32_t n, uint32_t *room, size_t each) {
    if (n < *room) return list;
    uint32_t wanted = 2 * *room + 64;
    void *p = realloc(list, wanted * each);
    if (!p) {
        w->failed = true;
        return list;
    }
    *room = wanted;
    return p;
}

static void half_edge(net *w, uint32_t from, uint32_t to, int64_t room) {
    w->e = more(w, w->e, w->n_edge, &w->room_edge, sizeof *w->e);
    if (w->failed) return;
    w->e[w->n_edge] = (edge){to, w->first[from], room};
    w->first[from] = ++w->n_edge;
}

/* Edge 2k and its way back, 2k + 1. */
static void add_edge(net *w, uint32_t from, uint32_t to, int64_t room, int64_t back) {
    if (w->failed || from == to) return;
    half_edge(w, from, to, room);
    half_edge(w, to, from, back);
}

static uint32_t add_node(net *w) {
    if (w->n_node == w->room_node) w->failed = true;
    return w->failed ? 0 : w->n_node++;
}

static int64_t picoseconds(double s) {
    double x = s * 1e12;
    return x >= 1e15 ? (int64_t)1e15 : x > 1 ? (int64_t)x : 1;
}

/* --- homes and readers -----------------------------------------------------------------------------------------------
 */

static uint32_t kernel_node(const hn_step *s) { return FIRST_KERNEL + s->kernel; }

/* The node that writes a step's results; NO_NODE: they stay where their home is. */
static uint32_t writer_of(const hn_step *s) {
    switch (s->kind) {
    case HN_STEP_LAUNCH: return kernel_node(s);
    case HN_STEP_COPY:
    case HN_STEP_STACK: return NO_NODE;
    case HN_STEP_STATE: return AT_DEVICE;
    default: return AT_HOST;
    }
}

static bool is_state(const hn_program_value *x) { return x->where == HN_AT_STATE || x->where == HN_AT_NEXT; }

static void write_root(net *w, hn_val root, uint32_t node, double weight) {
    if (weight > w->weight[root]) w->weight[root] = weight;
    if (node == NO_NODE) return;
    if (w->home[root] == NO_NODE)
        w->home[root] = node;
    else if (w->home[root] >= FIRST_KERNEL || node >= FIRST_KERNEL) /* both on one side */
        add_edge(w, w->home[root], node, never, never);
}

static void read_root(net *w, hn_val root, uint32_t node) {
    if (!root || node == NO_NODE || w->p->value[root].where == HN_AT_WEIGHTS) return;
    w->read = more(w, w->read, w->n_read, &w->room_read, sizeof *w->read);
    if (!w->failed) w->read[w->n_read++] = (reading){root, node};
}

typedef void walk(net *w, const hn_step *s, double weight);

static void walk_block(net *w, uint32_t block, double weight, walk *visit) {
    for (uint32_t i = 0; i < w->p->block[block].n; i++) {
        const hn_step *s = &w->p->block[block].step[i];
        bool loop = s->kind == HN_STEP_LOOP;
        visit(w, s, loop ? weight * LOOP_TURNS : weight);
        if (loop) walk_block(w, s->block[0], weight * LOOP_TURNS, visit);
        for (uint32_t k = 0; s->kind == HN_STEP_IF && k < 2; k++) walk_block(w, s->block[k], weight, visit);
    }
}

static void visit_writes(net *w, const hn_step *s, double weight) {
    for (uint32_t k = 0; k < s->n_out; k++)
        if (s->out[k]) write_root(w, hn_program_root(w->p, s->out[k]), writer_of(s), weight);
    if (s->kind != HN_STEP_LAUNCH) return;
    w->calls[s->kernel] += weight;
    w->back[s->kernel] += weight * s->n_symbol;
}

static void visit_reads(net *w, const hn_step *s, double weight) {
    uint32_t node = writer_of(s);
    (void)weight;
    if (s->kind == HN_STEP_SIZE || s->kind == HN_STEP_CHECK) return;
    if (node == NO_NODE) node = w->home[hn_program_root(w->p, s->out[0])];
    for (uint32_t k = 0; k < s->n_in; k++)
        if (s->in[k]) read_root(w, hn_program_root(w->p, s->in[k]), node);
}

static void find_homes(net *w) {
    for (hn_val v = 1; v < w->p->n_value; v++) {
        const hn_program_value *x = &w->p->value[v];
        w->home[v] = x->where == HN_AT_INPUT ? AT_HOST : is_state(x) ? AT_DEVICE : NO_NODE;
        w->weight[v] = 1;
    }
    walk_block(w, HN_STEPS_BLOCK, 1, visit_writes);
    for (hn_val v = 1; v < w->p->n_value; v++)
        if (w->home[v] == NO_NODE) w->home[v] = AT_DEVICE; /* copied or stacked alone */
    walk_block(w, HN_STEPS_BLOCK, 1, visit_reads);
    for (uint32_t j = 0; j < w->p->n_output; j++) read_root(w, hn_program_root(w->p, w->p->output[j].value), AT_HOST);
}

/* --- costs -----------------------------------------------------------------------------------------------------------
 */

static double bytes_of(const net *w, hn_val v) {
    const hn_type *t = &w->p->value[v].type;
    double n = hn_dtype_of(t->dtype)->size_b;
    for (size_t d = 0; d < t->rank; d++) {
        int64_t x = 1;
        if (hn_dim_eval(w->p->dims, t->dim[d], w->c->symbol, &x)) n *= (double)x;
    }
    return n;
}

static double put_of(const net *w, hn_val v) { return w->weight[v] * (w->c->put_s + bytes_of(w, v) / w->c->put_bps); }
static double get_of(const net *w, hn_val v) { return w->weight[v] * (w->c->get_s + bytes_of(w, v) / w->c->get_bps); }
static double host_of(const net *w, uint32_t k) { return w->calls[k] * w->c->host_s[k]; }
static double device_of(const net *w, uint32_t k) { return w->calls[k] * w->c->device_s[k] + w->back[k] * w->c->get_s; }

static void add_kernels(net *w) {
    for (uint32_t k = 0; k < w->p->n_kernel; k++) {
        uint32_t node = FIRST_KERNEL + k;
        bool host = w->p->kernel[k].space == HN_HOST, stays = w->c->stays && w->c->stays[k];
        add_edge(w, AT_HOST, node, host ? never : picoseconds(device_of(w, k)), 0);
        add_edge(w, node, AT_DEVICE, !host && stays ? never : picoseconds(host_of(w, k)), 0);
    }
}

static int by_root(const void *a, const void *b) {
    const reading *x = a, *y = b;
    return x->root != y->root ? (x->root > y->root) - (x->root < y->root) : (x->node > y->node) - (x->node < y->node);
}

/* Two nodes for each value that is read: it is on the device, and it is on the host. */
static void add_values(net *w) {
    uint32_t there = 0, here = 0;
    if (w->n_read) qsort(w->read, w->n_read, sizeof *w->read, by_root);
    for (uint32_t i = 0; i < w->n_read && !w->failed; i++) {
        const reading *r = &w->read[i];
        bool again = i && r->root == r[-1].root;
        if (again && r->node == r[-1].node) continue;
        if (!again) {
            there = add_node(w), here = add_node(w);
            if (w->failed) return;
            add_edge(w, w->home[r->root], there, picoseconds(put_of(w, r->root)), 0);
            add_edge(w, here, w->home[r->root], picoseconds(get_of(w, r->root)), 0);
        }
        add_edge(w, there, r->node, never, 0);
        add_edge(w, r->node, here, never, 0);
    }
}

/* --- the flow --------------------------------------------------------------------------------------------------------
 */

static bool find_levels(net *w, uint32_t *queue) {
    uint32_t n = 1;
    memset(w->level, 0, w->n_node * sizeof *w->level);
    w->level[AT_HOST] = 1;
    queue[0] = AT_HOST;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = w->first[queue[i]]; k; k = w->e[k - 1].next) {
            const edge *x = &w->e[k - 1];
            if (x->room <= 0 || w->level[x->to]) continue;
            w->level[x->to] = w->level[queue[i]] + 1;
            queue[n++] = x->to;
        }
    return w->level[AT_DEVICE] != 0;
}

/* One path of the levels, found by walking forth and back; path: edges, + 1. */
static int64_t push(net *w, uint32_t *path) {
    uint32_t n = 0, at = AT_HOST;
    while (at != AT_DEVICE) {
        uint32_t *k = &w->at[at];
        while (*k && (w->e[*k - 1].room <= 0 || w->level[w->e[*k - 1].to] != w->level[at] + 1)) *k = w->e[*k - 1].next;
        if (*k) {
            path[n++] = *k;
            at = w->e[*k - 1].to;
        } else if (n) { /* a dead end: not this edge */
            at = w->e[(path[--n] - 1) ^ 1].to;
            w->at[at] = w->e[path[n] - 1].next;
        } else {
            return 0;
        }
    }
    int64_t flow = never;
    for (uint32_t i = 0; i < n; i++)
        if (w->e[path[i] - 1].room < flow) flow = w->e[path[i] - 1].room;
    for (uint32_t i = 0; i < n; i++) w->e[path[i] - 1].room -= flow, w->e[(path[i] - 1) ^ 1].room += flow;
    return flow;
}

/* Afterwards level is 0 on the device's side alone. False: sides contradict each other. */
static bool cut(net *w) {
    uint32_t *queue = malloc((w->n_node + 1) * sizeof *queue);
    int64_t all = 0;
    if (!queue) {
        w->failed = true;
        return false;
    }
    while (all < never && find_levels(w, queue)) {
        memcpy(w->at, w->first, w->n_node * sizeof *w->at);
        for (int64_t flow; all < never && (flow = push(w, queue)); all += flow) continue;
    }
    free(queue);
    return all < never;
}

/* --- the answer ------------------------------------------------------------------------------------------------------
 */

static bool on_host_side(const hn_split *s, uint32_t node) {
    return node == AT_HOST || (node >= FIRST_KERNEL && s->on_host[node - FIRST_KERNEL]);
}

/* Seconds of a run, and copies of it, with these kernels on the host. */
static double time_of(const net *w, const hn_split *s, uint32_t *n_copies) {
    double sum = 0;
    *n_copies = 0;
    for (uint32_t k = 0; k < w->p->n_kernel; k++) sum += s->on_host[k] ? host_of(w, k) : device_of(w, k);
    for (uint32_t i = 0; i < w->n_read;) {
        hn_val root = w->read[i].root;
        bool home = on_host_side(s, w->home[root]), other = false;
        for (; i < w->n_read && w->read[i].root == root; i++) other = other || on_host_side(s, w->read[i].node) != home;
        if (other) sum += home ? put_of(w, root) : get_of(w, root), ++*n_copies;
    }
    return sum;
}

/* Where nothing is the device's there are no spaces, and no copies. */
static bool may_be_alone(const net *w) {
    for (uint32_t k = 0; k < w->p->n_kernel; k++)
        if (w->c->stays && w->c->stays[k]) return false;
    return true;
}

/* The times of the split, and of none; the host alone is taken where that is the least. */
static void measure(const net *w, hn_split *out) {
    uint32_t n;
    hn_split all = {.on_host = calloc(w->p->n_kernel + 1, sizeof *all.on_host)};
    out->split_s = time_of(w, out, &out->n_copies);
    for (uint32_t k = 0; k < w->p->n_kernel; k++) out->host_s += host_of(w, k);
    for (uint32_t k = 0; all.on_host && k < w->p->n_kernel; k++) all.on_host[k] = w->p->kernel[k].space == HN_HOST;
    if (all.on_host) out->device_s = time_of(w, &all, &n);
    free(all.on_host);
    if (!may_be_alone(w) || (out->host_s > out->split_s && out->n_device)) return;
    for (uint32_t k = 0; k < w->p->n_kernel; k++) out->on_host[k] = true;
    out->n_host = w->p->n_kernel, out->n_device = out->n_copies = 0;
    out->split_s = out->host_s;
}

static bool start(net *w) {
    uint32_t n = w->p->n_value + 1, kernels = w->p->n_kernel + 1;
    w->room_node = FIRST_KERNEL + w->p->n_kernel + 2 * w->p->n_value;
    w->n_node = FIRST_KERNEL + w->p->n_kernel;
    w->first = calloc(w->room_node, sizeof *w->first), w->level = calloc(w->room_node, sizeof *w->level);
    w->at = calloc(w->room_node, sizeof *w->at), w->home = calloc(n, sizeof *w->home);
    w->weight = calloc(n, sizeof *w->weight), w->calls = calloc(kernels, sizeof *w->calls);
    w->back = calloc(kernels, sizeof *w->back);
    return w->first && w->level && w->at && w->home && w->weight && w->calls && w->back;
}

static void end(net *w) {
    free(w->e), free(w->first), free(w->level), free(w->at), free(w->home), free(w->weight), free(w->calls);
    free(w->back), free(w->read);
}

hone_rc hn_program_split(const hn_program *p, const hn_split_costs *c, hn_arena *a, hn_split *out, hone_err *err) {
    net w = {.p = p, .c = c};
    hn_split s = {.on_host = hn_alloc_n(a, p->n_kernel + 1, sizeof *s.on_host)};
    w.failed = !s.on_host || !start(&w);
    if (!w.failed) {
        find_homes(&w);
        add_kernels(&w);
        add_values(&w);
    }
    bool good = !w.failed && cut(&w);
    if (!w.failed) {
        for (uint32_t k = 0; k < p->n_kernel; k++) {
            s.on_host[k] = good ? w.level[FIRST_KERNEL + k] != 0 : p->kernel[k].space == HN_HOST;
            s.n_host += s.on_host[k];
        }
        s.n_device = p->n_kernel - s.n_host;
        measure(&w, &s);
        *out = s;
    }
    bool failed = w.failed;
    end(&w);
    return failed ? hn_fail(err, HONE_E_NOMEM, "out of memory for the split") : HONE_OK;
}
