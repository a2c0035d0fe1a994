/* sketch/gpu_tile.c — products of matrices and convolutions: a tile of the results for each block.
 *
 * Fits results that are sums of products of which one factor depends on some of the result's loops (rows), the other
 * one on others (columns), and both on the rest (batches): rows and columns of several loops, as those of an image, are
 * one. A block has across x down threads, each of which has cols x rows results in registers; depth steps of the sum at
 * a time, what they need of both factors is brought to shared memory by all threads, edges and padding as zeros. With
 * `ahead`, what the next steps need is read while these are computed; with several `stages` it is copied there beside
 * the threads, so many steps ahead, and with `producers` by so many warps of their own. All sums go in the order of the
 * sum's loops.
 *
 * Outside of an image a factor is 0 in the tile, and multiplied. Where the other one is infinite or no number, so is
 * the result; a thread that has such a result computes its results again, one by one, without what lies outside.
 */
#include "nest/schedule.h"
#include "sketch/gpu_product.h"

enum { ROWS, COLS, DOWN, ACROSS, DEPTH, AHEAD, STAGES, PRODUCERS, CLUSTER, KNOBS };
enum { LEAST_SIDE = 4, LEAST_DEPTH = 4, UNKNOWN = 512, USUAL_PROCESSORS = 64 };
enum { SHARED_B = 48 << 10, LANES = 4 };

/* -- knobs */
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Time of all tiles, without a unit: turns of the processors, each as long as a tile's products and what they wait for.
 */
static double cost(const hn_product *p, const hn_machine *m, const int64_t *s) {
    int64_t processors = m->processors > 0 ? m->processors : USUAL_PROCESSORS;
    int64_t rows = p->m ? p->m : UNKNOWN, cols = p->n_ ? p->n_ : UNKNOWN, batch = p->b ? p->b : 1;
    int64_t bm = s[ROWS] * s[DOWN], bn = s[COLS] * s[ACROSS], threads = s[DOWN] * s[ACROSS];
    double blocks = (double)(ceil_div(rows, bm) * ceil_div(cols, bn) * batch);
    double reads = (double)(s[ROWS] + s[COLS]) / (double)(s[ROWS] * s[COLS]);
    double fills = (double)(bm + bn) / (double)(bm * bn) * 4, busy = blocks / (double)processors;
    double work = (double)(bm * bn) * (1 + reads + fills), waves = busy < 1 ? 1 : busy;
    if (threads < 128) work *= 1.3; /* too few to hide what each waits for */
    return waves * work;
}

/* Can tiles be copied as they lie in memory? Smaller types have neighbours that are not sure to be there. */
static bool may_copy(const hn_product *p) {
    for (int k = 0; k < p->n_sum; k++)
        for (int side = 0; side < 2; side++) {
            const hn_scalar *x = &p->n->sv[side ? p->s[k].y : p->s[k].x];
            while (x->kind == HN_SV_PICK) x = &p->n->sv[x->arg[0]];
            if (x->kind != HN_SV_LOAD || hn_dtype_of(x->dtype)->size_b < 4) return false;
        }
    return true;
}

static void choose(const hn_product *p, const hn_machine *m, int64_t *best) {
    static const int64_t tiles[][4] = {{8, 8, 16, 16}, {8, 4, 16, 16}, {4, 8, 16, 16}, {4, 4, 16, 16}, {4, 4, 8, 16},
                                       {2, 4, 16, 16}, {4, 2, 16, 16}, {2, 2, 16, 16}, {4, 4, 8, 8},   {2, 4, 8, 16},
                                       {1, 4, 8, 32},  {1, 2, 8, 32},  {2, 2, 8, 16},  {1, 1, 8, 32},  {1, 1, 8, 16}};
    double least = 0;
    int64_t most = m->threads > 0 ? m->threads : 256, s[KNOBS] = {0};
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        for (int k = 0; k < 4; k++) s[k] = tiles[i][k];
        if (s[DOWN] * s[ACROSS] > most) continue;
        double c = cost(p, m, s);
        if (least > 0 && c >= least) continue;
        least = c;
        for (int k = 0; k < 4; k++) best[k] = s[k];
    }
    best[DEPTH] = p->k && p->k < 16 ? (p->k < 8 ? 4 : 8) : 16;
    best[AHEAD] = !p->k || p->k > 2 * best[DEPTH];
    best[STAGES] = m->copies && may_copy(p) && best[AHEAD] ? 3 : 1;
}

static bool tile_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    static const char *const name[] = {"rows",  "cols",   "down",      "across", "depth",
                                       "ahead", "stages", "producers", "cluster"};
    hn_product p;
    int64_t model[KNOBS] = {1, 1, 8, 8, 8, 0, 1, 0, 1};
    if (!hn_product_match(n, &p)) return false;
    hn_product_orient(&p);
    if ((p.m && p.m < LEAST_SIDE) || (p.n_ && p.n_ < LEAST_SIDE) || (p.k && p.k < LEAST_DEPTH)) return false;
    choose(&p, m, model);
    out->n = KNOBS;
    for (int i = 0; i < KNOBS; i++) {
        out->knob[i] = (hn_knob){.name = name[i], .model = model[i]};
        hn_knob_add(&out->knob[i], model[i]);
    }
    for (int64_t k = 1; k <= 8; k *= 2) hn_knob_add(&out->knob[ROWS], k), hn_knob_add(&out->knob[COLS], k);
    int64_t most = m->threads > 0 ? m->threads : 256;
    for (int64_t k = 4; k <= 32 && k * k <= most; k *= 2)
        hn_knob_add(&out->knob[DOWN], k), hn_knob_add(&out->knob[ACROSS], k);
    for (int64_t k = 4; k <= 16; k *= 2) hn_knob_add(&out->knob[DEPTH], k);
    for (int64_t k = 0; k < 2; k++) hn_knob_add(&out->knob[AHEAD], k);
    for (int64_t k = 1; k <= (may_copy(&p) ? 4 : 1); k++) hn_knob_add(&out->knob[STAGES], k);
    for (int64_t k = 1; m->copies && may_copy(&p) && p.n_sum == 1 && k <= 2; k *= 2)
        hn_knob_add(&out->knob[PRODUCERS], k);
    hn_product_clusters(m, may_copy(&p), &out->knob[CLUSTER]);
    return true;
}

typedef struct place {
    hn_ix row_left, col_left;
    hn_sharers threads;
    const int64_t *set;
    int64_t stages;  /* those that fit */
    hn_ix row, col;  /* of the thread's first result */
    hn_buf again;    /* a register: 1 where a result of the thread is no number; 0: there is none */
    hn_st blocks[2]; /* the loops over blocks of rows and of columns */
} place;

typedef struct staged {
    hn_st loop;
    hn_sv x, y;
    hn_var step;
} staged;

/* for ko { for ki { acc += x * y } }; edges of the sum are zeros. */
static staged write_sum(hn_writer *w, const hn_product_sum *s, const place *at, hn_buf acc) {
    hn_nest *n = w->n;
    staged out;
    int64_t depth = at->set[DEPTH];
    hn_ix all = hn_product_count(n, s->var, s->n);
    hn_write_forget(w);
    hn_ix ko = hn_write_loop(w, hn_product_tiles(n, all, depth), HN_SERIAL);
    out.loop = w->loop[w->depth];
    hn_ix ki = hn_write_times(w, depth, HN_SERIAL);
    out.step = n->st[w->loop[w->depth]].var;
    hn_ix left = hn_product_spread(w, s->var, s->n, hn_ix_add(n, hn_ix_scale(n, ko, hn_dim_int(n->dims, depth)), ki));
    hn_sv x = hn_write_copy(w, s->x);
    hn_product_guard(w, 0, at->row_left, left);
    out.x = hn_product_zero(w, x, left);
    hn_st mid = w->tail[w->depth];
    hn_sv y = hn_write_copy(w, s->y);
    hn_product_guard(w, mid, at->col_left, left);
    out.y = hn_product_zero(w, y, left);
    hn_scalar mul = n->sv[s->product];
    bool turned = n->sv[s->product].arg[0] == s->y;
    mul.arg[turned] = out.x, mul.arg[!turned] = out.y;
    hn_write_update(w, acc, hn_ix_int(n, 0), HN_OP_ADD, hn_write_scalar(w, &mul));
    hn_write_close(w, 2);
    return out;
}

static bool bring_tiles(hn_nest *n, const hn_product_sum *s, const staged *at, const place *p, const char **why) {
    const hn_stage_how x = {{s->fast_x ? at->step : 0}, s->fast_x, p->stages > 1};
    const hn_stage_how y = {{s->fast_y ? at->step : 0}, s->fast_y, p->stages > 1};
    if (!hn_device_stage(n, at->loop, at->y, &p->threads, &y, NULL, why)) return false;
    return hn_device_stage(n, at->loop, at->x, &p->threads, &x, NULL, why);
}

static bool bring_ahead(hn_nest *n, const staged *at, const place *p, const char **why) {
    if (p->stages > 1 && p->set[PRODUCERS]) return hn_device_specialise(n, at->loop, p->stages, p->set[PRODUCERS], why);
    if (p->stages > 1) return hn_device_pipeline_copies(n, at->loop, p->stages, why);
    return !p->set[AHEAD] || hn_device_pipeline(n, at->loop, why);
}

/* What follows the sums, under the conditions of rows and columns. */
static void write_behind(hn_writer *w, const hn_product *p, const place *at, const hn_buf *acc) {
    hn_nest *n = w->n;
    hn_write_forget(w);
    hn_st from = w->tail[w->depth];
    for (int k = 0; k < p->n_sum; k++) {
        hn_sv sum = hn_write_load(w, acc[k], hn_ix_int(n, 0));
        w->sv[p->s[k].done] = sum;
        if (!at->again) continue;
        hn_sv odd = hn_write_op(w, HN_OP_NE, HONE_BOOL, sum, sum);
        hn_write_update(w, at->again, hn_ix_int(n, 0), HN_OP_MAX, hn_write_op(w, HN_OP_CAST, HONE_I64, odd, 0));
    }
    for (hn_st id = p->list; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind != HN_ST_STORE || n->buf[s.buf].space != HN_RESULT) continue;
        hn_sv value = hn_write_copy(w, s.value);
        hn_write_store(w, s.buf, hn_ix_subst(n, s.at, &(hn_subst){w->var, w->sv, w->n_var, w->n_sv}), value);
    }
    hn_product_guard(w, from, at->row_left, at->col_left);
}

static bool has_conditions(const hn_product *p) {
    for (int k = 0; k < p->n_sum; k++)
        if (p->s[k].whole != p->s[k].product) return true;
    return false;
}

/* The thread's results again where one is no number: element by element, from memory, under the sums' conditions. */
static void write_again(hn_writer *w, const hn_product *p, const place *at) {
    hn_nest *n = w->n;
    const int64_t *s = at->set;
    place one = *at;
    hn_buf acc[HN_PRODUCT_SUMS];
    one.again = 0;
    hn_write_forget(w);
    hn_scalar load = {.kind = HN_SV_LOAD, .dtype = HONE_I64, .buf = at->again, .at = hn_ix_int(n, 0)};
    hn_sv flag = hn_write_scalar(w, &load);
    flag = hn_write_scalar(
        w, &(hn_scalar){
               .kind = HN_SV_WRAP, .dtype = HONE_I64, .n_arg = 1, .arg = {flag}, .below = hn_dim_int(n->dims, 2)});
    hn_ix i = hn_write_loop(w, hn_ix_scale(n, hn_ix_value(n, flag), hn_dim_int(n->dims, s[ROWS])), HN_SERIAL);
    hn_ix j = hn_write_times(w, s[COLS], HN_SERIAL);
    hn_ix row = hn_ix_add(n, at->row, hn_ix_scale(n, i, hn_dim_int(n->dims, s[DOWN])));
    hn_ix col = hn_ix_add(n, at->col, hn_ix_scale(n, j, hn_dim_int(n->dims, s[ACROSS])));
    one.row_left = hn_product_spread(w, p->row, p->n_row, row);
    one.col_left = hn_product_spread(w, p->col, p->n_col, col);
    for (int k = 0; k < p->n_sum; k++) {
        const hn_product_sum *x = &p->s[k];
        const hn_scalar start = n->sv[x->start];
        acc[k] = hn_write_reg(w, n->buf[x->acc].dtype, 1);
        hn_write_store(w, acc[k], hn_ix_int(n, 0), hn_write_scalar(w, &start));
        for (int q = 0; q < x->n; q++) w->var[x->var[q]] = hn_write_loop(w, n->extent[x->var[q]], HN_SERIAL);
        hn_write_forget(w);
        hn_write_update(w, acc[k], hn_ix_int(n, 0), HN_OP_ADD, hn_write_copy(w, x->whole));
        hn_product_guard(w, 0, one.row_left, one.col_left);
        hn_write_close(w, x->n);
    }
    write_behind(w, p, &one, acc);
    hn_write_close(w, 2);
    n->repeats = true;
}

/* Blocks, threads and the results of a thread: rows and columns of neighbouring threads are neighbours. */
static void open_tile(hn_writer *w, const hn_product *p, place *at) {
    hn_nest *n = w->n;
    const int64_t *s = at->set, bm = s[ROWS] * s[DOWN], bn = s[COLS] * s[ACROSS];
    for (int k = 0; k < p->n_batch; k++) w->var[p->batch[k]] = hn_write_loop(w, n->extent[p->batch[k]], HN_PARALLEL);
    hn_ix row = hn_write_loop(w, hn_product_tiles(n, hn_product_count(n, p->row, p->n_row), bm), HN_PARALLEL);
    at->blocks[0] = w->loop[w->depth];
    hn_ix col = hn_write_loop(w, hn_product_tiles(n, hn_product_count(n, p->col, p->n_col), bn), HN_PARALLEL);
    at->blocks[1] = w->loop[w->depth];
    hn_ix y = hn_write_times(w, s[DOWN], HN_GROUP), x = hn_write_times(w, s[ACROSS], HN_GROUP);
    if (has_conditions(p)) {
        const hn_scalar no = {.kind = HN_SV_CONST, .dtype = HONE_I64};
        at->again = hn_write_reg(w, HONE_I64, 1);
        hn_write_store(w, at->again, hn_ix_int(n, 0), hn_write_scalar(w, &no));
    }
    hn_ix i = hn_write_times(w, s[ROWS], HN_UNROLL), j = hn_write_times(w, s[COLS], HN_UNROLL);
    at->threads = (hn_sharers){hn_ix_add(n, hn_ix_scale(n, y, hn_dim_int(n->dims, s[ACROSS])), x), s[DOWN] * s[ACROSS]};
    at->row = hn_ix_add(n, hn_ix_scale(n, row, hn_dim_int(n->dims, bm)), y);
    row = hn_ix_add(n, at->row, hn_ix_scale(n, i, hn_dim_int(n->dims, s[DOWN])));
    at->col = hn_ix_add(n, hn_ix_scale(n, col, hn_dim_int(n->dims, bn)), x);
    col = hn_ix_add(n, at->col, hn_ix_scale(n, j, hn_dim_int(n->dims, s[ACROSS])));
    at->row_left = hn_product_spread(w, p->row, p->n_row, row);
    at->col_left = hn_product_spread(w, p->col, p->n_col, col);
}

static bool tile_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    hn_product p;
    hn_writer w;
    staged at[HN_PRODUCT_SUMS];
    hn_buf acc[HN_PRODUCT_SUMS];
    place here = {.set = setting, .stages = setting[STAGES]};
    if (!hn_product_match(n, &p)) return hn_loop_no(why, "no sum of products");
    hn_product_orient(&p);
    int64_t shared = (setting[ROWS] * setting[DOWN] + setting[COLS] * setting[ACROSS] + 2) * setting[DEPTH];
    shared *= hn_dtype_of(n->sv[p.s[0].x].dtype)->size_b;
    int64_t room = m->shared_b > 0 ? m->shared_b : SHARED_B;
    if (shared * p.n_sum > room) return hn_loop_no(why, "the tiles are too large");
    while (here.stages > 1 && shared * p.n_sum * here.stages > room) here.stages--;
    if (!hn_write_begin(&w, n)) return hn_loop_no(why, "out of memory");
    open_tile(&w, &p, &here);
    for (int k = 0; k < p.n_sum; k++) {
        const hn_scalar start = n->sv[p.s[k].start];
        acc[k] = hn_write_reg(&w, n->buf[p.s[k].acc].dtype, 1);
        hn_write_store(&w, acc[k], hn_ix_int(n, 0), hn_write_scalar(&w, &start));
        at[k] = write_sum(&w, &p.s[k], &here, acc[k]);
    }
    write_behind(&w, &p, &here, acc);
    if (here.again) {
        hn_write_close(&w, 2);
        write_again(&w, &p, &here);
    }
    hn_write_finish(&w);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    for (int k = 0; k < p.n_sum; k++)
        if (!bring_tiles(n, &p.s[k], &at[k], &here, why)) return false;
    if (setting[CLUSTER] > 1 && !hn_product_cluster(n, here.blocks, setting[CLUSTER], why)) return false;
    for (int k = 0; k < p.n_sum; k++)
        if (!bring_ahead(n, &at[k], &here, why)) return false;
    hn_nest_sweep(n);
    hn_nest_tidy(n);
    return true;
}

const hn_sketch hn_sketch_gpu_tile = {"tile", "tiles in shared memory and in registers", tile_fits, tile_apply};
