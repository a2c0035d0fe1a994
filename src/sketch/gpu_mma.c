/* sketch/gpu_mma.c — products of matrices and convolutions of f16 and bf16 by tile products of a warp (nest/mma.def).
 *
 * A block has some warps below each other, each of which has rows x cols tiles of 16 x 8 results in registers. Tiles of
 * both factors, `depth` steps of the sum, are brought to shared memory by all threads; every warp takes the fragments
 * it multiplies from there. With several `stages` the tiles are copied there beside the threads, so many steps ahead,
 * where what lies next to each other in memory does in the tile; with `producers` by so many warps of their own, with
 * `cluster` by so many neighbouring blocks for each other.
 * Products are summed in f32. Machines without such products refuse what comes out, and the next sketch is taken.
 */
#include "nest/mma.h"
#include "nest/schedule.h"
#include "sketch/gpu_product.h"

enum { WARPS, ROWS, COLS, DEPTH, STAGES, PRODUCERS, CLUSTER, KNOBS };
enum { LEAST_SIDE = 16, SHARED_B = 48 << 10, PAD = 8, STAGES_MOST = 4, TURNS_UNROLLED = 16 };

typedef struct tiles {
    hn_nest *n;
    hn_writer w;
    hn_product p;
    const hn_mma *mma;
    size_t row; /* of mma.def */
    const int64_t *set;
    int64_t m, n_; /* rows and columns of a block */
    hn_sv x, y;    /* the factors, not yet cast to f32 */
    hn_ix warp, lane, block_row, block_col;
    hn_sharers all;
    hn_buf a, b;             /* shared: by row and step, by step and column; what is contiguous in memory is fast */
    bool a_turned, b_turned; /* the first of the two is */
    int64_t stages;
    hn_st loop;                    /* over steps */
    hn_buf d_part, a_part, b_part; /* fragments */
    hn_buf again;                  /* 1 where a sum of the thread is no number; 0: nobody asks */
    hn_st blocks[2];               /* the loops over blocks of rows and of columns */
} tiles;

/* -- form */
/* A factor that is cast to f32 from a smaller type, also one that is 0 under conditions; 0: it is another. */
static hn_sv before_cast(hn_nest *n, hn_sv x) {
    const hn_scalar s = n->sv[x];
    if (s.kind == HN_SV_OP && s.op == HN_OP_CAST && s.dtype == HONE_F32) {
        hone_dtype t = n->sv[s.arg[0]].dtype;
        return t == HONE_F16 || t == HONE_BF16 ? s.arg[0] : 0;
    }
    if (s.kind != HN_SV_PICK) return 0;
    hn_sv in = before_cast(n, s.arg[0]);
    const hn_scalar other = n->sv[s.arg[1]];
    if (!in || other.kind != HN_SV_CONST || other.f != 0) return 0;
    hn_scalar pick = s;
    pick.dtype = n->sv[in].dtype;
    pick.arg[0] = in;
    pick.arg[1] = hn_nest_scalar(n, &(hn_scalar){.kind = HN_SV_CONST, .dtype = pick.dtype});
    return hn_nest_scalar(n, &pick);
}

/* Conditions make a factor 0, which is multiplied: where the other one is infinite, or no number, the sum has a term
 * that is not there. A thread one of whose sums is no number takes them again, one by one, without those terms. */
static bool has_conditions(const tiles *t) { return t->p.s[0].whole != t->p.s[0].product; }

/* Are a thread's results of a tile where write_again looks for them? */
static bool lies_as_known(const hn_mma *m) {
    const hn_mma_map *d = &m->map[HN_MMA_OF_D];
    int row, column, row0, column0;
    hn_mma_where(d, 0, 0, &row0, &column0);
    for (int r = 0; r < d->registers; r++) {
        hn_mma_where(d, 0, r, &row, &column);
        if (row != row0 + 8 * (r / 2) || column != column0 + r % 2) return false;
    }
    return true;
}

static bool recognise(hn_nest *n, tiles *t) {
    *t = (tiles){.n = n};
    if (!hn_product_match(n, &t->p) || t->p.n_sum != 1 || n->buf[t->p.s[0].acc].dtype != HONE_F32) return false;
    hn_product_orient(&t->p);
    t->x = before_cast(n, t->p.s[0].x), t->y = before_cast(n, t->p.s[0].y);
    if (!t->x || !t->y || n->sv[t->x].dtype != n->sv[t->y].dtype) return false;
    if (!hn_mma_named(n->sv[t->x].dtype == HONE_F16 ? "m16n8k16_f16" : "m16n8k16_bf16", &t->row)) return false;
    t->mma = hn_mma_at(t->row);
    return !has_conditions(t) || lies_as_known(t->mma);
}

static bool mma_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    tiles t;
    int64_t most = m->threads > 0 ? m->threads : 256;
    if (m->warp != HN_MMA_LANES || !recognise(n, &t)) return false;
    if ((t.p.m && t.p.m < LEAST_SIDE) || (t.p.n_ && t.p.n_ < LEAST_SIDE) || (t.p.k && t.p.k < LEAST_SIDE)) return false;
    int64_t rows = t.p.m ? t.p.m : 512, cols = t.p.n_ ? t.p.n_ : 512,
            processors = m->processors > 0 ? m->processors : 64;
    bool large = (rows / 128) * (cols / 64) * (t.p.b ? t.p.b : 1) >= processors;
    out->n = KNOBS;
    out->knob[WARPS] = (hn_knob){.name = "warps", .model = most >= 128 ? 4 : 1};
    out->knob[ROWS] = (hn_knob){.name = "rows", .n = 2, .value = {1, 2}, .model = large ? 2 : 1};
    out->knob[COLS] = (hn_knob){.name = "cols", .n = 3, .value = {2, 4, 8}, .model = large ? 8 : 4};
    out->knob[DEPTH] = (hn_knob){.name = "depth", .n = 2, .value = {16, 32}, .model = t.p.k && t.p.k <= 16 ? 16 : 32};
    bool few = t.p.k && t.p.k <= out->knob[DEPTH].model;
    out->knob[STAGES] = (hn_knob){.name = "stages", .model = m->copies && !few ? 3 : 1};
    out->knob[PRODUCERS] = (hn_knob){.name = "producers", .n = 1};
    for (int64_t k = 1; m->copies && k <= 4; k *= 2) hn_knob_add(&out->knob[PRODUCERS], k);
    for (int64_t w = 1; w <= 8 && 32 * w <= most; w *= 2) hn_knob_add(&out->knob[WARPS], w);
    for (int64_t k = 1; k <= STAGES_MOST; k++) hn_knob_add(&out->knob[STAGES], k);
    out->knob[CLUSTER] = (hn_knob){.name = "cluster", .model = 1};
    hn_product_clusters(m, true, &out->knob[CLUSTER]);
    return true;
}

/* -- pieces */
static hn_ix number(tiles *t, int64_t x) { return hn_ix_int(t->n, x); }
static hn_ix plus(tiles *t, hn_ix a, hn_ix b) { return hn_ix_add(t->n, a, b); }
static hn_ix times(tiles *t, hn_ix a, int64_t by) { return hn_ix_scale(t->n, a, hn_dim_int(t->n->dims, by)); }

/* A tile of `many` by `length` elements. */
typedef struct fill {
    hn_buf to;
    hn_sv x;
    int64_t many, length;
    const hn_var *vi, *vj; /* the loops along i and j */
    int ni, nj;
    hn_ix first_i, first_j;
    bool turned; /* i runs fastest, over threads and in the tile */
} fill;

/* Where element (i, j) lies. */
static hn_ix lies(tiles *t, int64_t many, int64_t length, bool turned, hn_ix i, hn_ix j) {
    return turned ? plus(t, times(t, j, many + PAD), i) : plus(t, times(t, i, length + PAD), j);
}
static hn_ix a_at(tiles *t, hn_ix row, hn_ix step) { return lies(t, t->m, t->set[DEPTH], t->a_turned, row, step); }
static hn_ix b_at(tiles *t, hn_ix step, hn_ix col) { return lies(t, t->set[DEPTH], t->n_, t->b_turned, step, col); }
static int64_t room(int64_t many, int64_t length, bool turned) {
    return turned ? length * (many + PAD) : many * (length + PAD);
}

/* The factor's element (i, j), 0 outside; to the list being written. */
static hn_sv factor(tiles *t, const fill *f, hn_ix i, hn_ix j) {
    hn_writer *w = &t->w;
    hn_write_forget(w);
    hn_ix left_i = hn_product_spread(w, f->vi, f->ni, plus(t, f->first_i, i));
    hn_ix left_j = hn_product_spread(w, f->vj, f->nj, plus(t, f->first_j, j));
    hn_sv x = hn_write_copy(w, f->x);
    hn_product_guard(w, 0, left_i, left_j);
    return hn_product_zero(w, hn_product_zero(w, x, left_i), left_j);
}

static void write_fill(tiles *t, const fill *f) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    int64_t all = f->many * f->length, turns = (all + t->all.n - 1) / t->all.n, inner = f->turned ? f->many : f->length;
    hn_loop_kind kind = turns <= TURNS_UNROLLED ? HN_UNROLL : HN_SERIAL;
    hn_ix e = plus(t, times(t, hn_write_times(w, turns, kind), t->all.n), t->all.at);
    hn_ix over = hn_ix_div(n, e, hn_dim_int(n->dims, inner)), in = hn_ix_mod(n, e, hn_dim_int(n->dims, inner));
    hn_ix i = f->turned ? in : over, j = f->turned ? over : in;
    hn_write_store(w, f->to, lies(t, f->many, f->length, f->turned, i, j), factor(t, f, i, j));
    hn_ix inside = hn_ix_sub(n, number(t, all - 1), e);
    hn_product_guard(w, 0, inside, inside);
    hn_write_close(w, 1);
}

/* With copies of so many elements; false: there are none. */
static bool write_copies(tiles *t, const fill *f, int64_t wide) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    int64_t inner = (f->turned ? f->many : f->length) / wide;
    hn_dim by = hn_dim_int(n->dims, inner);
    hn_var lane = hn_nest_var(n, number(t, wide));
    hn_ix turn = hn_device_turns(w, f->many * f->length / wide, &t->all, TURNS_UNROLLED);
    hn_ix e = plus(t, times(t, turn, t->all.n), t->all.at), over = hn_ix_div(n, e, by);
    hn_ix in = plus(t, times(t, hn_ix_mod(n, e, by), wide), hn_ix_var(n, lane));
    hn_ix i = f->turned ? in : over, j = f->turned ? over : in;
    hn_sv x = factor(t, f, i, j);
    if (!hn_device_copy(w, x, lane, wide, f->to, lies(t, f->many, f->length, f->turned, i, j))) return false;
    hn_write_close(w, 1);
    return true;
}

/* What was written since then goes. */
static void back_to(tiles *t, const hn_writer *then) {
    t->w = *then;
    if (t->w.tail[t->w.depth]) t->n->st[t->w.tail[t->w.depth]].next = 0;
}

static bool write_copied_fill(tiles *t, const fill *f) {
    const hn_writer then = t->w;
    hone_dtype type = t->n->buf[f->to].dtype;
    for (int64_t wide = hn_device_copy_most(type); hn_device_copy_is(type, wide); wide /= 2) {
        if (write_copies(t, f, wide)) return true;
        back_to(t, &then);
    }
    return false;
}

/* Both tiles for the steps from there on. */
static void write_fills(tiles *t, hn_ix step) {
    const hn_product *p = &t->p;
    const hn_product_sum *s = &p->s[0];
    const hn_writer then = t->w;
    int64_t depth = t->set[DEPTH];
    const fill a = {t->a, t->x, t->m, depth, p->row, s->var, p->n_row, s->n, t->block_row, step, t->a_turned};
    const fill b = {t->b, t->y, depth, t->n_, s->var, p->col, s->n, p->n_col, step, t->block_col, t->b_turned};
    if (t->stages > 1 && write_copied_fill(t, &a) && write_copied_fill(t, &b)) return;
    back_to(t, &then);
    t->stages = 1;
    write_fill(t, &a);
    write_fill(t, &b);
}

static hn_ix open_rows(tiles *t) { return hn_write_times(&t->w, t->set[ROWS], HN_UNROLL); }
static hn_ix open_cols(tiles *t) { return hn_write_times(&t->w, t->set[COLS], HN_UNROLL); }
static hn_ix d_at(tiles *t, hn_ix i, hn_ix j) { return times(t, plus(t, times(t, i, t->set[COLS]), j), 4); }

/* Fragments from shared memory, and their products. */
static void multiply(tiles *t) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    const hn_mma_map *a = &t->mma->map[HN_MMA_OF_A], *b = &t->mma->map[HN_MMA_OF_B];
    hn_ix row, col, step = times(t, hn_write_times(w, t->set[DEPTH] / t->mma->k, HN_SERIAL), t->mma->k);
    hn_ix i = open_rows(t), top = plus(t, times(t, t->warp, t->set[ROWS] * t->mma->m), times(t, i, t->mma->m));
    for (int r = 0; r < a->registers; r++) {
        hn_mma_index(n, a, t->lane, r, &row, &col);
        hn_ix at = a_at(t, plus(t, top, row), plus(t, step, col));
        hn_write_store(w, t->a_part, plus(t, times(t, i, a->registers), number(t, r)), hn_write_load(w, t->a, at));
    }
    hn_write_close(w, 1);
    hn_ix j = open_cols(t);
    for (int r = 0; r < b->registers; r++) {
        hn_mma_index(n, b, t->lane, r, &row, &col);
        hn_ix at = b_at(t, plus(t, step, row), plus(t, times(t, j, t->mma->n), col));
        hn_write_store(w, t->b_part, plus(t, times(t, j, b->registers), number(t, r)), hn_write_load(w, t->b, at));
    }
    hn_write_close(w, 1);
    i = open_rows(t), j = open_cols(t);
    hn_stmt product = {.kind = HN_ST_MMA, .buf = t->d_part, .at = d_at(t, i, j), .count = (int64_t)t->row};
    product.from[0] = t->a_part, product.from_at[0] = times(t, i, a->registers);
    product.from[1] = t->b_part, product.from_at[1] = times(t, j, b->registers);
    hn_write_statement(w, &product);
    hn_write_close(w, 3);
}

static void open_block(tiles *t) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    const hn_product *p = &t->p;
    for (int k = 0; k < p->n_batch; k++) w->var[p->batch[k]] = hn_write_loop(w, n->extent[p->batch[k]], HN_PARALLEL);
    hn_ix row = hn_write_loop(w, hn_product_tiles(n, hn_product_count(n, p->row, p->n_row), t->m), HN_PARALLEL);
    t->blocks[0] = w->loop[w->depth];
    hn_ix col = hn_write_loop(w, hn_product_tiles(n, hn_product_count(n, p->col, p->n_col), t->n_), HN_PARALLEL);
    t->blocks[1] = w->loop[w->depth];
    t->block_row = times(t, row, t->m), t->block_col = times(t, col, t->n_);
    t->warp = hn_write_times(w, t->set[WARPS], HN_GROUP);
    t->lane = hn_write_times(w, HN_MMA_LANES, HN_GROUP);
    t->all = (hn_sharers){plus(t, times(t, t->warp, HN_MMA_LANES), t->lane), t->set[WARPS] * HN_MMA_LANES};
    hone_dtype half = n->sv[t->x].dtype;
    t->d_part = hn_write_reg(w, HONE_F32, t->set[ROWS] * t->set[COLS] * 4);
    t->a_part = hn_write_reg(w, half, t->set[ROWS] * t->mma->map[HN_MMA_OF_A].registers);
    t->b_part = hn_write_reg(w, half, t->set[COLS] * t->mma->map[HN_MMA_OF_B].registers);
}

/* What becomes of a sum at (row, col) of the block, under the conditions of rows and columns. */
static void write_behind(tiles *t, hn_ix row, hn_ix col, hn_sv sum) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    const hn_product *p = &t->p;
    hn_ix left_row = hn_product_spread(w, p->row, p->n_row, row),
          left_col = hn_product_spread(w, p->col, p->n_col, col);
    w->sv[p->s[0].done] = sum;
    hn_st from = w->tail[w->depth];
    for (hn_st id = p->list; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind != HN_ST_STORE || n->buf[s.buf].space != HN_RESULT) continue;
        hn_sv value = hn_write_copy(w, s.value);
        hn_write_store(w, s.buf, hn_ix_subst(n, s.at, &(hn_subst){w->var, w->sv, w->n_var, w->n_sv}), value);
    }
    hn_product_guard(w, from, left_row, left_col);
}

/* Of the thread's first result of tile (i, j). */
static void place_of(tiles *t, hn_ix i, hn_ix j, int r, hn_ix *row, hn_ix *col) {
    hn_mma_index(t->n, &t->mma->map[HN_MMA_OF_D], t->lane, r, row, col);
    *row = plus(t, *row, plus(t, times(t, t->warp, t->set[ROWS] * t->mma->m), times(t, i, t->mma->m)));
    *row = plus(t, t->block_row, *row);
    *col = plus(t, t->block_col, plus(t, *col, times(t, j, t->mma->n)));
}

/* The results of a warp's tiles: each thread has four of every one. */
static void finish(tiles *t) {
    hn_writer *w = &t->w;
    const hn_mma_map *d = &t->mma->map[HN_MMA_OF_D];
    hn_ix row, col, i = open_rows(t), j = open_cols(t);
    for (int r = 0; r < d->registers; r++) {
        place_of(t, i, j, r, &row, &col);
        hn_write_forget(w);
        hn_sv sum = hn_write_load(w, t->d_part, plus(t, d_at(t, i, j), number(t, r)));
        write_behind(t, row, col, sum);
        if (!t->again) continue;
        hn_sv odd = hn_write_op(w, HN_OP_NE, HONE_BOOL, sum, sum);
        hn_write_update(w, t->again, number(t, 0), HN_OP_MAX, hn_write_op(w, HN_OP_CAST, HONE_I64, odd, 0));
    }
    hn_write_close(w, 2);
}

static void open_again(tiles *t) {
    const hn_scalar no = {.kind = HN_SV_CONST, .dtype = HONE_I64};
    t->again = hn_write_reg(&t->w, HONE_I64, 1);
    hn_write_store(&t->w, t->again, number(t, 0), hn_write_scalar(&t->w, &no));
}

static void write_again(tiles *t) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    const hn_product_sum *x = &t->p.s[0];
    const hn_scalar start = n->sv[x->start];
    hn_ix row, col;
    hn_write_forget(w);
    hn_scalar flag = {.kind = HN_SV_WRAP, .dtype = HONE_I64, .n_arg = 1, .below = hn_dim_int(n->dims, 2)};
    flag.arg[0] = hn_write_load(w, t->again, number(t, 0));
    hn_ix taken = hn_ix_value(n, hn_write_scalar(w, &flag));
    hn_ix i = hn_write_loop(w, times(t, taken, t->set[ROWS]), HN_SERIAL);
    hn_ix j = hn_write_times(w, t->set[COLS], HN_SERIAL);
    hn_ix r = hn_write_times(w, t->mma->map[HN_MMA_OF_D].registers, HN_SERIAL);
    place_of(t, i, j, 0, &row, &col); /* registers of a tile: two neighbours, and those eight rows below */
    row = plus(t, row, times(t, hn_ix_div(n, r, hn_dim_int(n->dims, 2)), 8));
    col = plus(t, col, hn_ix_mod(n, r, hn_dim_int(n->dims, 2)));
    hn_ix left_row = hn_product_spread(w, t->p.row, t->p.n_row, row);
    hn_ix left_col = hn_product_spread(w, t->p.col, t->p.n_col, col);
    hn_buf acc = hn_write_reg(w, HONE_F32, 1);
    hn_write_store(w, acc, number(t, 0), hn_write_scalar(w, &start));
    for (int q = 0; q < x->n; q++) w->var[x->var[q]] = hn_write_loop(w, n->extent[x->var[q]], HN_SERIAL);
    hn_write_forget(w);
    hn_write_update(w, acc, number(t, 0), HN_OP_ADD, hn_write_copy(w, x->whole));
    hn_product_guard(w, 0, left_row, left_col);
    hn_write_close(w, x->n);
    hn_write_forget(w);
    write_behind(t, row, col, hn_write_load(w, acc, number(t, 0)));
    hn_write_close(w, 3);
    n->repeats = true;
}

static void build(tiles *t) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    const hn_product *p = &t->p;
    const hn_product_sum *s = &p->s[0];
    const hn_scalar start = n->sv[s->start];
    open_block(t);
    if (has_conditions(t)) open_again(t);
    hn_ix e = hn_write_times(w, t->set[ROWS] * t->set[COLS] * 4, HN_UNROLL);
    hn_write_store(w, t->d_part, e, hn_write_scalar(w, &start));
    hn_write_close(w, 1);
    hn_ix steps = hn_product_tiles(n, hn_product_count(n, s->var, s->n), t->set[DEPTH]);
    hn_ix step = times(t, hn_write_loop(w, steps, HN_SERIAL), t->set[DEPTH]);
    t->loop = w->loop[w->depth];
    write_fills(t, step);
    multiply(t);
    hn_write_close(w, 1);
    finish(t);
    if (t->again) write_again(t);
    hn_write_finish(w);
}

static bool mma_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    tiles t;
    if (!recognise(n, &t)) return hn_loop_no(why, "no sum of products of halves");
    t.set = setting;
    t.m = setting[WARPS] * setting[ROWS] * t.mma->m, t.n_ = setting[COLS] * t.mma->n;
    t.a_turned = !t.p.s[0].fast_x, t.b_turned = t.p.s[0].fast_y;
    int64_t a = room(t.m, setting[DEPTH], t.a_turned), b = room(setting[DEPTH], t.n_, t.b_turned);
    int64_t most = m->shared_b > 0 ? m->shared_b : SHARED_B;
    if (2 * (a + b) > most) return hn_loop_no(why, "the tiles are too large");
    for (t.stages = setting[STAGES]; t.stages > 1 && 2 * (a + b) * t.stages > most; t.stages--) {
    }
    t.a = hn_nest_buf(n, HN_SHARED, n->sv[t.x].dtype, hn_dim_int(n->dims, a));
    t.b = hn_nest_buf(n, HN_SHARED, n->sv[t.x].dtype, hn_dim_int(n->dims, b));
    if (!hn_write_begin(&t.w, n)) return hn_loop_no(why, "out of memory");
    build(&t);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    if (setting[CLUSTER] > 1 && !hn_product_cluster(n, t.blocks, setting[CLUSTER], why)) return false;
    if (t.stages > 1 && setting[PRODUCERS]) {
        if (!hn_device_specialise(n, t.loop, t.stages, setting[PRODUCERS], why)) return false;
    } else if (t.stages > 1 && !hn_device_pipeline_copies(n, t.loop, t.stages, why))
        return false;
    hn_nest_sweep(n);
    hn_nest_tidy(n);
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}

const hn_sketch hn_sketch_gpu_mma = {"mma", "tile products of warps, of halves", mma_fits, mma_apply};
