/* sketch/gpu_transpose.c — pointwise code whose results are contiguous along one loop and whose operands are contiguous
 * along another: squares through shared memory, so that both are read and written by neighbouring threads.
 */
#include "nest/chain.h"
#include "nest/device.h"
#include "nest/schedule.h"
#include "nest/writer.h"
#include "sketch/gpu.h"

enum { SIDE, DOWN, SWIZZLE, KNOBS };
enum { SIDE_MIN = 8, TURNED_MAX = 4 };

typedef struct turned {
    hn_chain c;
    int x, y; /* places in the chain: where results, where turned operands are contiguous */
    hn_sv load[TURNED_MAX];
    int n;
    hn_st list;
} turned;

static bool is_unit(hn_nest *n, hn_ix at, hn_var v) {
    int64_t one;
    return hn_ix_step(n, at, v, &one) && one == 1;
}

/* Loads of the list that are contiguous along y and move with x. */
static void find_turned(hn_nest *n, turned *t, hn_var x, hn_var y) {
    t->n = 0;
    for (hn_st id = t->list; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LET) continue;
        const hn_scalar s = n->sv[n->st[id].value];
        if (s.kind != HN_SV_LOAD || !hn_nest_constant(n, s.buf) || is_unit(n, s.at, x)) continue;
        if (is_unit(n, s.at, y) && hn_ix_depends(n, s.at, x) && t->n < TURNED_MAX) t->load[t->n++] = n->st[id].value;
    }
}

static bool recognise(hn_nest *n, turned *t) {
    hn_nest_tidy(n);
    hn_nest_collapse(n, n->first);
    hn_nest_tidy(n);
    *t = (turned){.c = hn_chain_of(n, n->first)};
    t->x = t->c.n - 1;
    if (t->x < 1) return false;
    hn_var x = n->st[t->c.loop[t->x]].var;
    t->list = n->st[t->c.loop[t->x]].body;
    for (int k = 0; k < t->c.n; k++)
        if (!hn_ix_is_dim(n, n->extent[n->st[t->c.loop[k]].var], NULL)) return false;
    for (hn_st id = t->list; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind != HN_ST_LET && s.kind != HN_ST_STORE) return false;
        if (s.kind == HN_ST_STORE && (n->buf[s.buf].space != HN_RESULT || !is_unit(n, s.at, x))) return false;
    }
    for (t->y = t->x; t->y-- > 0;) {
        find_turned(n, t, x, n->st[t->c.loop[t->y]].var);
        if (t->n) return true;
    }
    return false;
}

static bool transpose_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    turned t;
    int64_t e, most = m->threads > 0 ? m->threads : 256;
    if (!recognise(n, &t)) return false;
    for (int k = t.y; k <= t.x; k += t.x - t.y)
        if (hn_ix_is_int(n, n->extent[n->st[t.c.loop[k]].var], &e) && e < SIDE_MIN) return false;
    out->n = KNOBS;
    out->knob[SIDE] = (hn_knob){.name = "side", .n = 2, .value = {16, 32}, .model = most >= 128 ? 32 : 16};
    out->knob[DOWN] = (hn_knob){.name = "down", .n = 1, .value = {4}, .model = 4};
    for (int64_t d = 8; d <= 16 && d * 32 <= most; d *= 2) hn_knob_add(&out->knob[DOWN], d);
    if (most >= 256) out->knob[DOWN].model = 8;
    out->knob[SWIZZLE] = (hn_knob){.name = "swizzle", .n = 2, .value = {0, 1}, .model = 0};
    return true;
}

static hn_ix squares_of(hn_nest *n, hn_ix all, int64_t side) {
    return hn_ix_div(n, hn_ix_add(n, all, hn_ix_int(n, side - 1)), hn_dim_int(n->dims, side));
}

static bool transpose_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    (void)m;
    turned t;
    hn_writer w;
    int64_t side = setting[SIDE], down = setting[DOWN];
    if (!recognise(n, &t)) return hn_loop_no(why, "nothing is turned");
    if (!hn_write_begin(&w, n)) return hn_loop_no(why, "out of memory");
    const hn_var vx = n->st[t.c.loop[t.x]].var, vy = n->st[t.c.loop[t.y]].var;
    for (int k = 0; k < t.c.n; k++) {
        hn_var v = n->st[t.c.loop[k]].var;
        if (k != t.x && k != t.y) w.var[v] = hn_write_loop(&w, n->extent[v], HN_PARALLEL);
    }
    hn_ix by = hn_write_loop(&w, squares_of(n, n->extent[vy], side), HN_PARALLEL);
    hn_ix bx = hn_write_loop(&w, squares_of(n, n->extent[vx], side), HN_PARALLEL);
    hn_ix y = hn_write_times(&w, down, HN_GROUP);
    const hn_var thread_y = n->st[w.loop[w.depth]].var;
    hn_ix x = hn_write_times(&w, side, HN_GROUP);
    hn_ix i = hn_write_times(&w, side / down, HN_UNROLL);
    const hn_var turn = n->st[w.loop[w.depth]].var;
    hn_write_times(&w, 1, HN_SERIAL); /* what is staged is staged in a serial loop */
    hn_st once = w.loop[w.depth];
    w.var[vy] = hn_ix_add(n, hn_ix_scale(n, by, hn_dim_int(n->dims, side)),
                          hn_ix_add(n, y, hn_ix_scale(n, i, hn_dim_int(n->dims, down))));
    w.var[vx] = hn_ix_add(n, hn_ix_scale(n, bx, hn_dim_int(n->dims, side)), x);
    hn_sv made[TURNED_MAX];
    for (int k = 0; k < t.n; k++) made[k] = hn_write_copy(&w, t.load[k]);
    for (hn_st id = t.list; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind != HN_ST_STORE) continue;
        hn_sv value = hn_write_copy(&w, s.value);
        hn_write_store(&w, s.buf, hn_ix_subst(n, s.at, &(hn_subst){w.var, w.sv, w.n_var, w.n_sv}), value);
    }
    hn_ix one = hn_ix_int(n, 1);
    const hn_ix guard[] = {hn_ix_sub(n, hn_ix_sub(n, n->extent[vy], one), w.var[vy]),
                           hn_ix_sub(n, hn_ix_sub(n, n->extent[vx], one), w.var[vx])};
    hn_device_guard(n, w.head[w.depth], 2, guard);
    hn_write_finish(&w);
    const hn_sharers all = {hn_ix_add(n, hn_ix_scale(n, y, hn_dim_int(n->dims, side)), x), down * side};
    const hn_stage_how how = {{thread_y, turn}, setting[SWIZZLE] ? 0 : 1, false};
    for (int k = 0; k < t.n; k++) {
        hn_buf tile;
        if (!hn_device_stage(n, once, made[k], &all, &how, &tile, why)) return false;
        if (setting[SWIZZLE] && !hn_device_swizzle(n, tile, side, why)) return false;
    }
    hn_nest_sweep(n);
    hn_nest_tidy(n);
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}

const hn_sketch hn_sketch_gpu_transpose = {"transpose", "squares turned in shared memory", transpose_fits,
                                           transpose_apply};
