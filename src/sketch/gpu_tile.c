/* sketch/gpu_tile.c — products of matrices and convolutions: a tile of the results for each block.
 *
 * Fits results that are sums of products of which one factor depends on some of the result's loops (rows), the other
 * one on others (columns), and both on the rest (batches): rows and columns of several loops, as those of an image, are
 * one. A block has across x down threads, each of which has cols x rows results in registers; depth steps of the sum at
 * a time, what they need of both factors is brought to shared memory by all threads, edges and padding as zeros. With
 * `ahead`, what the next steps need is read while these are computed. All sums go in the order of the sum's loops.
 */
#include "nest/chain.h"
#include "nest/device.h"
#include "nest/schedule.h"
#include "nest/writer.h"
#include "sketch/gpu.h"

enum { ROWS, COLS, DOWN, ACROSS, DEPTH, AHEAD, VECTOR, KNOBS };
enum { SUMS_MAX = 4, SUM_LOOPS = 8, LEAST_SIDE = 4, LEAST_DEPTH = 4, UNKNOWN = 512, USUAL_PROCESSORS = 64 };
enum { SHARED_B = 48 << 10, LANES = 4 };

/* One sum of products. */
typedef struct sum {
    hn_buf acc;
    hn_sv start, done; /* the first value; the load behind it */
    hn_var var[SUM_LOOPS];
    int n;
    hn_sv product, x, y; /* factors: x by rows, y by columns */
    bool fast_x, fast_y; /* is the factor contiguous along the sum's innermost loop? */
} sum;

typedef struct product {
    hn_nest *n;
    hn_chain c;
    hn_var batch[HN_CHAIN_MAX], row[HN_CHAIN_MAX], col[HN_CHAIN_MAX];
    int n_batch, n_row, n_col;
    sum s[SUMS_MAX];
    int n_sum;
    hn_st list;          /* the body of the innermost loop */
    int64_t m, k, b, n_; /* rows, steps, batches, columns; 0: not known */
} product;

static int64_t length(const hn_nest *n, hn_var v) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[v], &e) ? e : 0;
}

/* -- form */
static bool loop_of_sum(hn_nest *n, hn_st loop, sum *s) {
    hn_st in = loop;
    for (;;) {
        if (s->n == SUM_LOOPS || n->st[in].loop != HN_SERIAL || !hn_ix_is_dim(n, n->extent[n->st[in].var], NULL))
            return false;
        s->var[s->n++] = n->st[in].var;
        hn_st deeper = hn_lone_loop(n, n->st[in].body);
        if (!deeper) break;
        in = deeper;
    }
    hn_st update = 0;
    for (hn_st id = n->st[in].body; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LET) continue;
        if (n->st[id].kind != HN_ST_UPDATE || update) return false;
        update = id;
    }
    if (!update || n->st[update].op != HN_OP_ADD || n->st[update].at != hn_ix_int(n, 0)) return false;
    s->acc = n->st[update].buf;
    s->product = n->st[update].value;
    return true;
}

/* A product, or one that is 0 where conditions do not hold: then its first factor is. */
static bool factors(hn_nest *n, sum *s) {
    const hn_scalar top = n->sv[s->product];
    hn_sv mul = s->product;
    if (top.kind == HN_SV_PICK) {
        const hn_scalar *other = &n->sv[top.arg[1]];
        if (other->kind != HN_SV_CONST || other->f != 0 || other->i != 0) return false;
        mul = top.arg[0];
    }
    const hn_scalar x = n->sv[mul];
    if (x.kind != HN_SV_OP || x.op != HN_OP_MUL || x.bytes) return false;
    s->product = mul;
    s->x = x.arg[0], s->y = x.arg[1];
    return true;
}

/* Where the product has conditions: the factor that they speak of is 0 where they do not hold. */
static hn_sv with_conditions(hn_nest *n, hn_sv factor, const hn_scalar *pick) {
    hn_sv zero = hn_nest_scalar(n, &(hn_scalar){.kind = HN_SV_CONST, .dtype = n->sv[factor].dtype});
    hn_scalar x = {.kind = HN_SV_PICK, .dtype = n->sv[factor].dtype, .n_arg = 2, .arg = {factor, zero}};
    x.n_guard = pick->n_guard, x.guard = pick->guard;
    return hn_nest_scalar(n, &x);
}

static bool guards_depend(const hn_nest *n, const hn_scalar *x, hn_var v) {
    for (uint32_t k = 0; k < x->n_guard; k++)
        if (hn_ix_depends(n, x->guard[k], v)) return true;
    return false;
}

/* Which loops are rows, which columns: of the first sum. */
static void divide(product *p) {
    for (int k = 0; k < p->c.n; k++) {
        hn_var v = p->n->st[p->c.loop[k]].var;
        bool x = hn_sv_depends(p->n, p->s[0].x, v), y = hn_sv_depends(p->n, p->s[0].y, v);
        if (x && !y)
            p->row[p->n_row++] = v;
        else if (y && !x)
            p->col[p->n_col++] = v;
        else
            p->batch[p->n_batch++] = v;
    }
}

static bool depends_on(const hn_nest *n, hn_sv x, const hn_var *v, int many) {
    for (int k = 0; k < many; k++)
        if (hn_sv_depends(n, x, v[k])) return true;
    return false;
}

/* Is the factor's load contiguous along v? */
static bool unit(hn_nest *n, hn_sv x, hn_var v) {
    const hn_scalar s = n->sv[x];
    int64_t step;
    if (s.kind == HN_SV_LOAD) return hn_ix_step(n, s.at, v, &step) && step == 1;
    for (uint32_t k = 0; k < s.n_arg; k++)
        if (unit(n, s.arg[k], v)) return true;
    return false;
}

static bool from_constant_memory(const hn_nest *n, hn_sv x) {
    const hn_scalar *s = &n->sv[x];
    if (s->kind == HN_SV_LOAD && !hn_nest_constant(n, s->buf)) return false;
    for (uint32_t k = 0; k < s->n_arg; k++)
        if (!from_constant_memory(n, s->arg[k])) return false;
    return true;
}

/* Registers, sums, definitions and stores of results; each sum's register is set once before and read once behind. */
static bool take_list(product *p) {
    hn_nest *n = p->n;
    bool stores = false;
    for (hn_st id = p->list; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_STORE && n->buf[s.buf].space == HN_RESULT) {
            stores = true;
        } else if (s.kind == HN_ST_LOOP) {
            if (p->n_sum == SUMS_MAX || stores) return false;
            sum *x = &p->s[p->n_sum];
            *x = (sum){.n = 0};
            if (!loop_of_sum(n, id, x)) return false;
            p->n_sum++;
        } else if (s.kind != HN_ST_LET && s.kind != HN_ST_REG && s.kind != HN_ST_STORE) {
            return false;
        }
    }
    for (int k = 0; k < p->n_sum; k++) {
        sum *x = &p->s[k];
        for (hn_st id = p->list; id; id = n->st[id].next) {
            const hn_stmt s = n->st[id];
            bool load = s.kind == HN_ST_LET && n->sv[s.value].kind == HN_SV_LOAD && n->sv[s.value].buf == x->acc;
            if (s.kind == HN_ST_STORE && s.buf == x->acc) {
                if (x->start) return false;
                x->start = s.value;
            }
            if (load && x->done) return false;
            if (load) x->done = s.value;
        }
        if (!x->start || !x->done || n->sv[x->start].kind != HN_SV_CONST) return false;
    }
    return stores && p->n_sum > 0;
}

/* Factors of every sum on their sides. */
static bool take_sides(product *p) {
    hn_nest *n = p->n;
    for (int k = 0; k < p->n_sum; k++) {
        sum *s = &p->s[k];
        const hn_scalar top = n->sv[s->product];
        if (!factors(n, s)) return false;
        if (top.kind == HN_SV_PICK) {
            bool second = false;
            for (int i = 0; i < p->c.n && !second; i++) {
                hn_var v = n->st[p->c.loop[i]].var;
                second = guards_depend(n, &top, v) && !hn_sv_depends(n, s->x, v);
            }
            hn_sv *side = second ? &s->y : &s->x;
            *side = with_conditions(n, *side, &top);
        }
        if (!from_constant_memory(n, s->x) || !from_constant_memory(n, s->y)) return false;
        if (k == 0) divide(p);
        if (depends_on(n, s->x, p->col, p->n_col) && depends_on(n, s->y, p->row, p->n_row)) {
            hn_sv x = s->x;
            s->x = s->y, s->y = x;
        }
        if (depends_on(n, s->x, p->col, p->n_col) || depends_on(n, s->y, p->row, p->n_row)) return false;
        s->fast_x = unit(n, s->x, s->var[s->n - 1]);
        s->fast_y = unit(n, s->y, s->var[s->n - 1]);
    }
    return p->n_row > 0 && p->n_col > 0;
}

static int64_t product_of(const product *p, const hn_var *v, int many) {
    int64_t all = 1;
    for (int k = 0; k < many; k++) all *= length(p->n, v[k]);
    return all;
}

static bool match(hn_nest *n, product *p) {
    *p = (product){.n = n};
    hn_nest_tidy(n);
    p->c = hn_chain_of(n, n->first);
    if (p->c.n < 2) return false;
    for (int k = 0; k < p->c.n; k++)
        if (!hn_ix_is_dim(n, n->extent[n->st[p->c.loop[k]].var], NULL)) return false;
    p->list = n->st[p->c.loop[p->c.n - 1]].body;
    if (!take_list(p) || !take_sides(p)) return false;
    /* columns are along what is contiguous in the results, if one side is */
    p->m = product_of(p, p->row, p->n_row), p->n_ = product_of(p, p->col, p->n_col);
    p->b = product_of(p, p->batch, p->n_batch), p->k = product_of(p, p->s[0].var, p->s[0].n);
    return true;
}

/* Threads next to each other write what lies next to each other: the sides change places where rows are contiguous. */
static void orient(product *p) {
    hn_nest *n = p->n;
    for (hn_st id = p->list; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        int64_t step;
        if (s.kind != HN_ST_STORE || n->buf[s.buf].space != HN_RESULT) continue;
        if (!hn_ix_step(n, s.at, p->row[p->n_row - 1], &step) || step != 1) return;
        product q = *p;
        for (int k = 0; k < q.n_col; k++) p->row[k] = q.col[k];
        for (int k = 0; k < q.n_row; k++) p->col[k] = q.row[k];
        p->n_row = q.n_col, p->n_col = q.n_row, p->m = q.n_, p->n_ = q.m;
        for (int k = 0; k < p->n_sum; k++) {
            p->s[k].x = q.s[k].y, p->s[k].y = q.s[k].x;
            p->s[k].fast_x = q.s[k].fast_y, p->s[k].fast_y = q.s[k].fast_x;
        }
        return;
    }
}

/* -- knobs */
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Time of all tiles, without a unit: turns of the processors, each as long as a tile's products and what they wait for.
 */
static double cost(const product *p, const hn_machine *m, const int64_t *s) {
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

static void choose(const product *p, const hn_machine *m, int64_t *best) {
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
    best[VECTOR] = 1;
}

static bool tile_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    static const char *const name[] = {"rows", "cols", "down", "across", "depth", "ahead", "vector"};
    product p;
    int64_t model[KNOBS] = {1, 1, 8, 8, 8, 0, 1};
    if (!match(n, &p)) return false;
    orient(&p);
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
    return true;
}

/* -- writing */
typedef struct edge {
    hn_ix left; /* >= 0: it is inside; 0: it always is */
} edge;

/* The loops' variables of element x of all their iterations. */
static hn_ix spread(hn_writer *w, const hn_var *v, int many, hn_ix x) {
    hn_nest *n = w->n;
    hn_dim all = hn_dim_int(n->dims, 1);
    hn_ix at = x;
    for (int k = many; k-- > 0;) {
        hn_dim e = hn_dim_int(n->dims, 1);
        hn_ix_is_dim(n, n->extent[v[k]], &e);
        w->var[v[k]] = k ? hn_ix_mod(n, at, e) : at;
        at = hn_ix_div(n, at, e);
        all = hn_dim_mul(n->dims, all, e);
    }
    return hn_ix_sub(n, hn_ix_dim(n, hn_dim_sub(n->dims, all, hn_dim_int(n->dims, 1))), x); /* how many are left */
}

static hn_ix count_of(hn_nest *n, const hn_var *v, int many) {
    hn_dim all = hn_dim_int(n->dims, 1), e;
    for (int k = 0; k < many; k++)
        if (hn_ix_is_dim(n, n->extent[v[k]], &e)) all = hn_dim_mul(n->dims, all, e);
    return hn_ix_dim(n, all);
}

static hn_ix tiles_of(hn_nest *n, hn_ix all, int64_t by) {
    return hn_ix_div(n, hn_ix_add(n, all, hn_ix_int(n, by - 1)), hn_dim_int(n->dims, by));
}

/* Conditions on all that was written to the innermost open list behind `from` (0: from its start). */
static void guard_from(hn_writer *w, hn_st from, hn_ix a, hn_ix b) {
    const hn_ix guard[] = {a, b};
    hn_st first = from ? w->n->st[from].next : w->head[w->depth];
    if (!first) return;
    hn_device_guard(w->n, first, 2, guard);
    hn_st last = first;
    while (w->n->st[last].next) last = w->n->st[last].next;
    w->tail[w->depth] = last;
}

static hn_sv pick_zero(hn_writer *w, hn_sv x, hn_ix where) {
    hn_nest *n = w->n;
    if (hn_ix_never_negative(n, where)) return x;
    hn_ix *guard = HN_NEW(n->a, hn_ix);
    if (!guard) return x;
    *guard = where;
    hn_sv zero = hn_write_scalar(w, &(hn_scalar){.kind = HN_SV_CONST, .dtype = n->sv[x].dtype});
    hn_scalar pick = {.kind = HN_SV_PICK, .dtype = n->sv[x].dtype, .n_arg = 2, .arg = {x, zero}};
    pick.n_guard = 1, pick.guard = guard;
    return hn_write_scalar(w, &pick);
}

typedef struct place {
    hn_ix row_left, col_left;
    hn_sharers threads;
    const int64_t *set;
} place;

typedef struct staged {
    hn_st loop;
    hn_sv x, y;
    hn_var step;
} staged;

/* for ko { for ki { acc += x * y } }; edges of the sum are zeros. */
static staged write_sum(hn_writer *w, const sum *s, const place *at, hn_buf acc) {
    hn_nest *n = w->n;
    staged out;
    int64_t depth = at->set[DEPTH];
    hn_ix all = count_of(n, s->var, s->n);
    hn_write_forget(w);
    hn_ix ko = hn_write_loop(w, tiles_of(n, all, depth), HN_SERIAL);
    out.loop = w->loop[w->depth];
    hn_ix ki = hn_write_times(w, depth, HN_SERIAL);
    out.step = n->st[w->loop[w->depth]].var;
    hn_ix left = spread(w, s->var, s->n, hn_ix_add(n, hn_ix_scale(n, ko, hn_dim_int(n->dims, depth)), ki));
    hn_sv x = hn_write_copy(w, s->x);
    guard_from(w, 0, at->row_left, left);
    out.x = pick_zero(w, x, left);
    hn_st mid = w->tail[w->depth];
    hn_sv y = hn_write_copy(w, s->y);
    guard_from(w, mid, at->col_left, left);
    out.y = pick_zero(w, y, left);
    hn_scalar mul = n->sv[s->product];
    bool turned = n->sv[s->product].arg[0] == s->y;
    mul.arg[turned] = out.x, mul.arg[!turned] = out.y;
    hn_write_update(w, acc, hn_ix_int(n, 0), HN_OP_ADD, hn_write_scalar(w, &mul));
    hn_write_close(w, 2);
    return out;
}

static bool stage_sum(hn_nest *n, const sum *s, const staged *at, const place *p, const char **why) {
    const hn_stage_how x = {{s->fast_x ? at->step : 0}, s->fast_x}, y = {{s->fast_y ? at->step : 0}, s->fast_y};
    if (!hn_device_stage(n, at->loop, at->y, &p->threads, &y, NULL, why)) return false;
    if (!hn_device_stage(n, at->loop, at->x, &p->threads, &x, NULL, why)) return false;
    return true;
}

/* What follows the sums, under the conditions of rows and columns. */
static void write_behind(hn_writer *w, const product *p, const place *at, const hn_buf *acc) {
    hn_nest *n = w->n;
    hn_write_forget(w);
    hn_st from = w->tail[w->depth];
    for (int k = 0; k < p->n_sum; k++) w->sv[p->s[k].done] = hn_write_load(w, acc[k], hn_ix_int(n, 0));
    for (hn_st id = p->list; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind != HN_ST_STORE || n->buf[s.buf].space != HN_RESULT) continue;
        hn_sv value = hn_write_copy(w, s.value);
        hn_write_store(w, s.buf, hn_ix_subst(n, s.at, &(hn_subst){w->var, w->sv, w->n_var, w->n_sv}), value);
    }
    guard_from(w, from, at->row_left, at->col_left);
}

/* Blocks, threads and the results of a thread: rows and columns of neighbouring threads are neighbours. */
static void open_tile(hn_writer *w, const product *p, place *at) {
    hn_nest *n = w->n;
    const int64_t *s = at->set, bm = s[ROWS] * s[DOWN], bn = s[COLS] * s[ACROSS];
    for (int k = 0; k < p->n_batch; k++) w->var[p->batch[k]] = hn_write_loop(w, n->extent[p->batch[k]], HN_PARALLEL);
    hn_ix row = hn_write_loop(w, tiles_of(n, count_of(n, p->row, p->n_row), bm), HN_PARALLEL);
    hn_ix col = hn_write_loop(w, tiles_of(n, count_of(n, p->col, p->n_col), bn), HN_PARALLEL);
    hn_ix y = hn_write_times(w, s[DOWN], HN_GROUP), x = hn_write_times(w, s[ACROSS], HN_GROUP);
    hn_ix i = hn_write_times(w, s[ROWS], HN_UNROLL), j = hn_write_times(w, s[COLS], HN_UNROLL);
    at->threads = (hn_sharers){hn_ix_add(n, hn_ix_scale(n, y, hn_dim_int(n->dims, s[ACROSS])), x), s[DOWN] * s[ACROSS]};
    row = hn_ix_add(n, hn_ix_scale(n, row, hn_dim_int(n->dims, bm)), y);
    row = hn_ix_add(n, row, hn_ix_scale(n, i, hn_dim_int(n->dims, s[DOWN])));
    col = hn_ix_add(n, hn_ix_scale(n, col, hn_dim_int(n->dims, bn)), x);
    col = hn_ix_add(n, col, hn_ix_scale(n, j, hn_dim_int(n->dims, s[ACROSS])));
    at->row_left = spread(w, p->row, p->n_row, row);
    at->col_left = spread(w, p->col, p->n_col, col);
}

static bool tile_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    product p;
    hn_writer w;
    staged at[SUMS_MAX];
    hn_buf acc[SUMS_MAX];
    place here = {.set = setting};
    if (!match(n, &p)) return hn_loop_no(why, "no sum of products");
    orient(&p);
    int64_t shared = (setting[ROWS] * setting[DOWN] + setting[COLS] * setting[ACROSS] + 2) * setting[DEPTH] * 4;
    if (shared * p.n_sum > (m->shared_b > 0 ? m->shared_b : SHARED_B))
        return hn_loop_no(why, "the tiles are too large");
    if (!hn_write_begin(&w, n)) return hn_loop_no(why, "out of memory");
    open_tile(&w, &p, &here);
    for (int k = 0; k < p.n_sum; k++) {
        const hn_scalar start = n->sv[p.s[k].start];
        acc[k] = hn_write_reg(&w, n->buf[p.s[k].acc].dtype, 1);
        hn_write_store(&w, acc[k], hn_ix_int(n, 0), hn_write_scalar(&w, &start));
        at[k] = write_sum(&w, &p.s[k], &here, acc[k]);
    }
    write_behind(&w, &p, &here, acc);
    hn_write_finish(&w);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    for (int k = 0; k < p.n_sum; k++) {
        if (!stage_sum(n, &p.s[k], &at[k], &here, why)) return false;
        if (setting[AHEAD] && !hn_device_pipeline(n, at[k].loop, why)) return false;
    }
    hn_nest_sweep(n);
    hn_nest_tidy(n);
    return true;
}

const hn_sketch hn_sketch_gpu_tile = {"tile", "tiles in shared memory and in registers", tile_fits, tile_apply};
