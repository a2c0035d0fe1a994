/* sketch/gpu_grid.c — an element of the results for each thread: fits every nest.
 *
 * The loops over results become blocks and threads, neighbouring threads neighbouring elements in memory. Where all
 * that a body touches lies next to each other and to a multiple of 16 bytes, a thread takes a vector. What needs memory
 * of its own while an element is computed is an item for a thread alone.
 */
#include "nest/chain.h"
#include "nest/device.h"
#include "nest/schedule.h"
#include "sketch/gpu.h"

enum { THREADS, VECTOR, KNOBS };
enum { VECTOR_B = 16, WIDE_ENOUGH = 2048, WAVES = 8, USUAL_PROCESSORS = 64 };

/* -- vectors */
static bool next_to_each_other(hn_nest *n, hn_ix at, hn_var v, int64_t lanes) {
    int64_t step, rest;
    if (!hn_ix_step(n, at, v, &step) || step != 1) return false;
    hn_ix others = hn_ix_sub(n, at, hn_ix_var(n, v));
    return hn_ix_is_int(n, hn_ix_mod(n, others, hn_dim_int(n->dims, lanes)), &rest) && rest == 0;
}

/* Definitions and stores alone, all of memory walked one by one, or not at all, by v; conditions the same for a vector.
 */
static bool walks_vectors(hn_nest *n, hn_st first, hn_var v, int64_t lanes) {
    bool stores = false;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        const hn_scalar *x = s.kind == HN_ST_LET ? &n->sv[s.value] : NULL;
        if (!x && s.kind != HN_ST_STORE) return false;
        if (s.kind == HN_ST_STORE) {
            if (!next_to_each_other(n, s.at, v, lanes)) return false;
            stores = true;
            continue;
        }
        const hn_scalar load = *x;
        if (load.kind == HN_SV_WRAP && hn_sv_depends(n, s.value, v)) return false;
        for (uint32_t k = 0; k < load.n_guard; k++)
            if (hn_ix_depends(n, load.guard[k], v)) return false;
        if (load.kind != HN_SV_LOAD || !hn_ix_depends(n, load.at, v)) continue;
        if (!next_to_each_other(n, load.at, v, lanes)) return false;
    }
    return stores;
}

/* Bytes of the widest element that is loaded or stored. */
static int64_t widest(const hn_nest *n, hn_st first) {
    int64_t most = 1;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        hn_buf b = s->kind == HN_ST_STORE ? s->buf : s->kind == HN_ST_LET ? n->sv[s->value].buf : 0;
        int64_t size = b ? (int64_t)hn_dtype_of(n->buf[b].dtype)->size_b : 1;
        if (size > most) most = size;
    }
    return most;
}

/* Elements of a vector for the innermost loop of the chain; 1: none. */
static int64_t lanes_of(hn_nest *n, const hn_chain *c) {
    int64_t e;
    if (!c->n) return 1;
    hn_st leaf = c->loop[c->n - 1];
    int64_t lanes = VECTOR_B / widest(n, n->st[leaf].body);
    if (lanes < 2 || hn_has_loop(n, n->st[leaf].body)) return 1;
    if (!hn_ix_is_int(n, hn_ix_mod(n, n->extent[n->st[leaf].var], hn_dim_int(n->dims, lanes)), &e) || e) return 1;
    return walks_vectors(n, n->st[leaf].body, n->st[leaf].var, lanes) ? lanes : 1;
}

/* -- knobs */
/* Iterations of the chain; 0: not known. */
static int64_t elements(hn_nest *n, const hn_chain *c) {
    int64_t all = 1, e;
    for (int k = 0; k < c->n; k++) all *= hn_ix_is_int(n, n->extent[n->st[c->loop[k]].var], &e) ? e : 0;
    return all;
}

static bool grid_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    hn_nest_tidy(n);
    hn_nest_collapse(n, n->first);
    hn_nest_tidy(n);
    hn_chain c = hn_chain_of(n, n->first);
    int64_t lanes = lanes_of(n, &c), all = elements(n, &c), most = m->threads > 0 ? m->threads : 256;
    int64_t fill = WAVES * 256 * (m->processors > 0 ? m->processors : USUAL_PROCESSORS);
    out->n = KNOBS;
    out->knob[THREADS] = (hn_knob){.name = "threads", .model = most < 256 ? most : 256};
    out->knob[VECTOR] = (hn_knob){.name = "vector", .n = 1, .value = {1}, .model = 1};
    for (int64_t t = 32; t <= 1024 && t <= most; t *= 2) hn_knob_add(&out->knob[THREADS], t);
    hn_knob_add(&out->knob[THREADS], out->knob[THREADS].model);
    if (lanes > 1) {
        hn_knob_add(&out->knob[VECTOR], lanes);
        if (!all || all / lanes >= fill) out->knob[VECTOR].model = lanes;
    }
    return true;
}

/* -- schedule */
static int64_t length(const hn_nest *n, hn_st loop) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[n->st[loop].var], &e) ? e : 0;
}

/* Loops of the chain, from the innermost out, that go together: as many as make enough threads. */
static int together(hn_nest *n, const hn_chain *c) {
    int64_t e = c->n ? length(n, c->loop[c->n - 1]) : 0;
    int k = c->n - 1;
    for (; k > 0 && (!e || e < WIDE_ENOUGH); k--) {
        int64_t f = length(n, c->loop[k - 1]);
        e = e && f ? e * f : 0;
    }
    return c->n - k;
}

static bool all_dims(hn_nest *n, const hn_chain *c) {
    for (int k = 0; k < c->n; k++)
        if (!hn_ix_is_dim(n, n->extent[n->st[c->loop[k]].var], NULL)) return false;
    return c->n > 0;
}

/* Items as they are, each a thread with memory of its own. */
static bool lone_threads(hn_nest *n) {
    hn_chain c = hn_chain_of(n, n->first);
    for (int k = 0; k < c.n && (n->st[c.loop[k]].loop == HN_PARALLEL || hn_loop_parallelise(n, c.loop[k], NULL)); k++) {
    }
    return true;
}

static bool grid_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    (void)m;
    hn_nest_trim(n, n->first); /* threads may differ in how long their loops are: none waits for another */
    hn_nest_tidy(n);
    hn_nest_collapse(n, n->first);
    hn_nest_tidy(n);
    hn_chain c = hn_chain_of(n, n->first);
    if (!c.n || !all_dims(n, &c)) return lone_threads(n);
    hn_st vector = 0, leaf = c.loop[c.n - 1];
    if (setting[VECTOR] > 1) {
        if (!hn_loop_split(n, leaf, setting[VECTOR], &vector, NULL, why)) return false;
        if (!hn_loop_vectorise(n, vector, why)) return false;
    }
    int depth = together(n, &c), first = c.n - depth;
    for (int k = 0; k + 1 < c.n; k++)
        if (!hn_loop_sink(n, c.loop[k], NULL)) return lone_threads(n);
    for (int k = 0; k < first; k++)
        if (!hn_loop_parallelise(n, c.loop[k], NULL)) return lone_threads(n);
    if (!hn_device_bind(n, c.loop[first], depth, setting[THREADS], NULL, NULL)) return lone_threads(n);
    hn_nest_sweep(n);
    return true;
}

const hn_sketch hn_sketch_gpu_grid = {"grid", "an element or a vector for each thread", grid_fits, grid_apply};
