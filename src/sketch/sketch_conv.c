/* sketch/sketch_conv.c — convolutions and windows that have their channels last.
 *
 * Fits a result loop over channels (the innermost one), the results contiguous along it, a loop over columns of the
 * image around it, and inside one reduction over a window: of products of an element of the image, the same for all
 * channels, with contiguous weights (dense and grouped convolutions: Georganas et al., SC 2018, "Anatomy of
 * high-performance deep learning convolutions"), or of contiguous elements of the image (every channel its own
 * weights, pooling). Schedule: register tiles of neighbouring columns times vectors of channels, straight from the
 * image. Padding costs nothing: rows of the window outside of the image are skipped, tiles inside have no conditions,
 * and in tiles at the edge the window's columns are written out, so that each product is known to be in or out.
 */
#include "sketch/sketch_conv.h"
#include "nest/chain.h"
#include "nest/schedule.h"
#include "nest/tile.h"
#include "sketch/constants.h"
#include "sketch/sketch.h"

enum { COLS_MAX = 4, LANES_MIN = 4, LANES_DEEP = 8 };

typedef struct form {
    hn_chain c;
    int64_t lanes, channels, width, height, group; /* width, height, group: 0: not known; there are no groups */
    int64_t depth, inner; /* steps of the reduction, of its innermost loop; inner 0: not known */
    bool own;             /* every channel reads its own part of the image */
    int64_t images_b;     /* of all that are read; 0: not known */
    int64_t column_b;     /* of the image, from a row of a tile to the next; 0: not known */
    int64_t panel;        /* channels whose weights lie together; 0: all */
    hn_buf weights, image;
    bool calls; /* functions follow the reduction */
    const hn_nest *nest;
} form;

static int64_t length(const hn_nest *n, hn_st loop) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[n->st[loop].var], &e) ? e : 0;
}

/* -- form */
typedef struct reads {
    hn_var row, channel;
    int64_t lanes, group;
    hn_ix image, weights; /* indices */
    hn_buf from, of;      /* the weights, the image */
    int n_image, n_own, n_weights, n_update, n_loop;
    bool guards, fine;
} reads;

/* The least divisor of the channel, or of what is left of it in its group: of an image's index channels of a group, of
 * the weights' channels of a panel. */
static int64_t least_divisor(const hn_nest *n, hn_ix at, hn_var channel) {
    int64_t least = 0;
    for (uint32_t t = 0; t < n->ix[at].n; t++) {
        const hn_atom *x = &n->atom[n->ix[at].term[t].atom];
        int64_t by = 0;
        if ((x->kind != HN_AT_DIV && x->kind != HN_AT_MOD) || !hn_ix_uses(n, x->a, channel)) continue;
        int64_t in = least_divisor(n, x->a, channel);
        if (!hn_dim_is_int(n->dims, x->by, &by)) continue;
        if (in && in < by) by = in;
        if (!least || by < least) least = by;
    }
    return least;
}

static void read_load(hn_nest *n, const hn_scalar *x, reads *r) {
    bool image = hn_ix_depends(n, x->at, r->row), along = hn_ix_depends(n, x->at, r->channel);
    bool bytes = x->dtype == HONE_U8 && image && along; /* of channels of their own: widened in registers */
    r->fine &= (x->dtype == HONE_F32 || x->dtype == HONE_I32 || bytes) && hn_nest_constant(n, x->buf);
    if (image && !along) {
        r->n_image++;
        r->image = x->at;
        r->of = x->buf;
    } else if (image && hn_ix_contiguous(n, x->at, r->channel, r->lanes)) {
        r->n_own++;
    } else if (image) {
        int64_t group = least_divisor(n, x->at, r->channel);
        r->fine &= group >= LANES_MIN && (!r->group || r->group == group);
        r->group = group;
        r->n_image++;
    } else {
        r->n_weights++;
        r->weights = x->at;
        r->from = x->buf;
    }
}

static void read_reduction(hn_nest *n, hn_st first, reads *r) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_LOOP) {
            r->n_loop++;
            r->fine &= hn_lone_loop(n, first) == id;
            read_reduction(n, s.body, r);
        } else if (s.kind == HN_ST_LET) {
            const hn_scalar x = n->sv[s.value];
            r->guards |= x.n_guard > 0;
            r->fine &= x.kind != HN_SV_WRAP;
            if (x.kind == HN_SV_LOAD) read_load(n, &x, r);
        } else {
            r->fine &= s.kind == HN_ST_UPDATE && (s.op == HN_OP_ADD || s.op == HN_OP_MAX);
            r->n_update++;
        }
    }
}

/* The one reduction in the body of the channels' loop, whose other statements store contiguous results. */
static hn_st reduction_of(hn_nest *n, hn_st first, hn_var channel, int64_t lanes) {
    hn_st found = 0;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_LOOP && found) return 0;
        if (s.kind == HN_ST_LOOP) found = id;
        if (s.kind != HN_ST_STORE || n->buf[s.buf].space == HN_REG) continue;
        if (n->buf[s.buf].space != HN_RESULT || !hn_ix_contiguous(n, s.at, channel, lanes)) return 0;
    }
    return found;
}

/* Bytes of the images that the loops around the columns walk; 0: not known. */
static int64_t images_of(hn_nest *n, const form *f, const reads *r) {
    int64_t most = 0, step, size_b;
    for (int k = 0; r->image && k + 2 < f->c.n; k++) {
        if (!hn_ix_step(n, r->image, n->st[f->c.loop[k]].var, &step) || !length(n, f->c.loop[k])) return 0;
        if (__builtin_mul_overflow(4 * length(n, f->c.loop[k]), step, &size_b)) return 0;
        if (size_b > most) most = size_b;
    }
    return most;
}

static int64_t column_of(hn_nest *n, const reads *r) {
    int64_t step;
    return r->image && hn_ix_step(n, r->image, r->row, &step) ? 4 * step : 0;
}

/* Is a line of the image further from the one before than its columns reach (strides)? Then the image is no matrix. */
static bool is_strided(hn_nest *n, const form *f, const reads *r) {
    int64_t line, column;
    if (f->c.n < 3 || !f->width || !r->image || !r->weights) return false;
    for (int k = 0; k + 1 < f->c.n; k++)
        if (hn_ix_depends(n, r->weights, n->st[f->c.loop[k]].var)) return false;
    if (!hn_ix_step(n, r->image, n->st[f->c.loop[f->c.n - 3]].var, &line)) return false;
    return hn_ix_step(n, r->image, r->row, &column) && line != 0 && line != column * f->width;
}

static bool match(hn_nest *n, const hn_machine *m, form *f) {
    hn_nest_tidy(n);
    f->nest = n;
    f->c = hn_chain_of(n, n->first);
    if (f->c.n < 2) return false;
    hn_st leaf = f->c.loop[f->c.n - 1], row = f->c.loop[f->c.n - 2];
    f->lanes = m->vector_b >= 8 ? m->vector_b / 4 : 1;
    f->channels = length(n, leaf);
    f->width = length(n, row);
    f->height = f->c.n > 2 ? length(n, f->c.loop[f->c.n - 3]) : 0;
    if (f->channels < LANES_MIN || f->lanes < LANES_MIN) return false;
    while (f->lanes > f->channels) f->lanes /= 2;
    hn_st red = reduction_of(n, n->st[leaf].body, n->st[leaf].var, f->lanes);
    reads r = {.row = n->st[row].var, .channel = n->st[leaf].var, .lanes = f->lanes, .fine = true};
    if (!red) return false;
    r.n_loop = 1;
    read_reduction(n, n->st[red].body, &r);
    f->own = r.n_own > 0;
    f->group = r.group;
    f->weights = r.from, f->image = r.of;
    f->images_b = images_of(n, f, &r);
    f->column_b = column_of(n, &r);
    f->panel = r.weights ? least_divisor(n, r.weights, r.channel) : 0;
    f->calls = hn_tile_calls(n, n->st[leaf].body);
    f->depth = 1;
    for (hn_st l = red; l; l = hn_lone_loop(n, n->st[l].body)) {
        f->inner = length(n, l);
        f->depth *= f->inner ? f->inner : 8;
    }
    if (!r.fine || r.n_update != 1 || r.n_image + r.n_own != 1 || r.n_weights > 1) return false;
    if (!f->own && (!r.n_weights || !(r.guards || r.n_loop > 1 || r.group || is_strided(n, f, &r))))
        return false; /* a product of matrices */
    hn_tile_read_late(n, leaf, red, n->st[row].var);
    for (int k = 0; k + 1 < f->c.n; k++)
        if (!hn_loop_sink(n, f->c.loop[k], NULL)) return false;
    return true;
}

/* -- knobs */
enum { ROWS, COLS, ITEM, STAGE, ORDER, AHEAD, STEPS };
/* AHEAD: what tiles prefetch: the next block's weights, the next item's lines of the image. */
enum { AHEAD_WEIGHTS = 1, AHEAD_LINES = 2 };

/* Weights that do not stay in the first cache come from the second, at half of what reading alone reaches there: a tile
 * of few rows waits for them. */
static hn_tile_feed feed_of(const form *f, const hn_machine *m, int64_t cols) {
    bool far = !f->own && 4 * f->depth * cols * f->lanes > m->l1d_b / 2;
    double cycles = m->f32_flops / (4.0 * (double)f->lanes), per_cycle = cycles > 0 ? 0.5 * m->l2_bps / cycles : 0;
    if (per_cycle <= 0) per_cycle = HN_CONV_L2_B;
    hn_tile_feed feed = {
        .apart = f->own, .vector = far ? 4.0 * (double)f->lanes / per_cycle : 0, .load = f->own ? 0 : HN_CONV_LOAD};
    hn_tile_rows_apart(&feed, m, f->column_b);
    return feed;
}

/* Rows that share nothing, and are the outermost loop (a batch, each image of which is pooled as a whole), may be one:
 * then vectors side by side hide the latency of additions as well. */
static int64_t likely_width(const form *f, int64_t any) {
    if (f->width) return f->width;
    return f->own && !f->weights && f->c.n == 2 ? 1 : any;
}

/* Would some blocks of so many channels read weights from two panels? Their places are then computed in each step. */
static bool straddles(const form *f, int64_t block) {
    int64_t channels = f->group ? f->group : f->channels;
    return f->panel && block < channels && block % f->panel && f->panel % block;
}

static void best_tile(const form *f, const hn_machine *m, int64_t *rows, int64_t *cols) {
    int64_t width = likely_width(f, 64);
    int64_t all = likely_width(f, HN_CONV_ANY_WIDTH), channels = f->group ? f->group : f->channels;
    double least = 0;
    for (int64_t c = 1; c <= COLS_MAX; c++)
        for (int64_t r = 1; r <= width && r <= 28; r++) {
            if ((f->own ? 2 * r * c : r * c + 1) + c >= hn_tile_registers_for(f->nest, m, c))
                break; /* sums, weights, the image */
            if (straddles(f, c * f->lanes)) continue;
            const hn_tile t = {.rows = r, .cols = c, .lanes = f->lanes};
            const hn_tile_feed feed = feed_of(f, m, c);
            double even = (double)all / (double)((all + r - 1) / r); /* rows of a tile, if all had as many */
            double reuse = f->own ? (double)(c < 2 ? 1 : 2) : even;  /* of equals the one that reads less */
            double cycles =
                hn_tile_cycles(&t, all, channels, &feed) * (1 + HN_CONV_REUSE / reuse + HN_CONV_UNEVEN / even);
            if (least > 0 && cycles >= least) continue;
            least = cycles;
            *rows = r;
            *cols = c;
        }
}

static void add_knob(hn_knobs *k, const char *name, int64_t model, const int64_t *value, size_t n, int64_t most) {
    hn_knob *x = &k->knob[k->n++];
    *x = (hn_knob){.name = name, .model = model};
    hn_knob_add(x, model);
    for (size_t i = 0; i < n; i++)
        if (value[i] <= most) hn_knob_add(x, value[i]);
}

/* Rows of the image in a work item: some microseconds of work, and enough items for all cores. alone: an item
 * has one block of the channels and prefetches a part of the next one: then few rows. */
static int64_t item_rows(const form *f, const hn_machine *m, int64_t cols, bool alone) {
    int64_t height = f->height ? f->height : 64, width = f->width ? f->width : 64, item = 1;
    int64_t channels = f->group ? f->group : f->channels, block = cols * f->lanes;
    int64_t wide = f->own || block > channels ? channels : block;
    int64_t blocks = f->own ? 1 : f->channels / wide, cores = m->cores > 0 ? m->cores : 1;
    double row_flops = 2.0 * (double)(width * wide * f->depth),
           enough = f->own || alone ? HN_CONV_ITEM_FLOPS_FEW : HN_CONV_ITEM_FLOPS;
    while (2 * item <= height && 2.0 * (double)item * row_flops <= enough &&
           blocks * height / (2 * item) >= HN_CONV_ITEMS * cores)
        item *= 2;
    return item;
}

/* Tiles in a work item of an image that is one line: the columns at its ends are computed on their own; items are as
 * long as leaves every core one. */
static int64_t item_tiles(const form *f, const hn_machine *m, int64_t rows, int64_t cols) {
    int64_t tiles = (f->width + rows - 1) / rows, block = cols * f->lanes, item = 1;
    int64_t blocks = f->own ? 1 : (f->channels + block - 1) / block, cores = m->cores > 0 ? m->cores : 1;
    while (item < tiles && item < HN_CONV_ITEM_TILES && blocks * ((tiles + 2 * item - 1) / (2 * item)) >= cores)
        item *= 2;
    return item;
}

/* Are all weights read for each line of the image, not the image for each block of them? Where the image is read again
 * from the second-level cache, weights should be read once, from wherever they are, and be prefetched. */
static bool weights_inside(const form *f, const hn_machine *m) {
    bool stays = f->images_b > 0 && f->images_b <= m->l2_b / 4;
    return f->own || (!stays && 4 * f->depth * f->channels <= m->l2_b / 2);
}

/* Steps of the reduction in a body: where a tile leaves registers; else compilers begin to keep sums on the stack. One
 * register is enough for two steps of a long loop; of a short one compilers make a body without a loop, and do so, too.
 */
static int64_t best_steps(const form *f, const hn_machine *m, int64_t rows, int64_t cols) {
    const hn_tile t = {.rows = rows, .cols = cols, .lanes = f->lanes};
    int64_t left = hn_tile_registers_for(f->nest, m, cols) - hn_tile_registers_of(&t);
    if (left == 1 && f->inner >= HN_CONV_LONG && f->inner % 2 == 0) return 2;
    return left < HN_TILE_SPARE_TWO || f->depth < 2 ? 1 : left < HN_TILE_SPARE_FOUR || f->depth < 4 ? 2 : 4;
}

static bool conv_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    static const int64_t rows[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 28}, cols[] = {1, 2, 3, 4},
                         item[] = {1, 2, 4, 8, 16, 32, 64, 128, 256}, either[] = {0, 1}, what[] = {0, 1, 2, 3},
                         steps[] = {1, 2, 4};
    form f;
    if (!match(n, m, &f)) return false;
    int64_t r = 1, c = 1;
    best_tile(&f, m, &r, &c);
    bool inside = weights_inside(&f, m), blocks = (f.group ? f.group : f.channels) > c * f.lanes;
    bool alone = !inside && blocks && f.height && f.c.n > 2;
    int64_t ahead = (alone ? AHEAD_WEIGHTS : 0) + (f.images_b > m->l2_b && f.c.n > 2 ? AHEAD_LINES : 0);
    out->n = 0;
    add_knob(out, "rows", r, rows, sizeof rows / sizeof *rows, f.width ? f.width : 28);
    add_knob(out, "cols", c, cols, sizeof cols / sizeof *cols, (f.channels + f.lanes - 1) / f.lanes);
    bool line = f.c.n < 3 && f.width;
    int64_t work = line ? item_tiles(&f, m, r, c) : item_rows(&f, m, c, alone);
    int64_t longest = f.height ? f.height : line ? HN_CONV_ITEM_TILES : HN_CONV_ITEM_ROWS;
    add_knob(out, "item", work, item, sizeof item / sizeof *item, longest);
    add_knob(out, "stage", f.calls, either, 2, 1);
    if (f.own) return true;
    add_knob(out, "order", inside, either, 2, 1);
    add_knob(out, "ahead", ahead, what, 4, AHEAD_WEIGHTS + AHEAD_LINES);
    add_knob(out, "steps", best_steps(&f, m, r, c), steps, sizeof steps / sizeof *steps, f.depth);
    return true;
}

/* -- tiles */
/* Does a condition in the list depend on both variables? */
static bool guards_on(const hn_nest *n, hn_st first, hn_var a, hn_var b) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && guards_on(n, s->body, a, b)) return true;
        const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        for (uint32_t k = 0; x && k < x->n_guard; k++)
            if (hn_ix_depends(n, x->guard[k], a) && hn_ix_depends(n, x->guard[k], b)) return true;
    }
    return false;
}

/* Rows of the window that are outside are removed; a short innermost loop is written out. */
static void prepare_reduction(hn_nest *n, hn_st red, hn_var row, bool own) {
    hn_st last = red;
    for (hn_st l = red; l; l = hn_lone_loop(n, n->st[l].body)) {
        if (!guards_on(n, n->st[l].body, n->st[l].var, row)) hn_loop_trim(n, l, NULL);
        last = l;
    }
    int64_t e = length(n, last);
    if (last != red && e && e <= (own ? HN_CONV_REPEAT_OWN : HN_CONV_REPEAT_INNER)) hn_loop_repeat(n, last, NULL);
}

/* The window's columns written out wherever a condition says which of them a lane has. */
static void write_out_edges(hn_nest *n, hn_st first, hn_var *lane, int n_lane) {
    for (hn_st id = first, next; id; id = next) {
        const hn_stmt s = n->st[id];
        next = s.next;
        if (s.kind != HN_ST_LOOP) continue;
        bool here = false;
        for (int k = 0; s.loop == HN_SERIAL && k < n_lane; k++) here |= guards_on(n, s.body, s.var, lane[k]);
        if (here && hn_loop_repeat(n, id, NULL)) continue;
        int more = s.loop == HN_UNROLL && n_lane < LANES_DEEP;
        if (more) lane[n_lane] = s.var;
        write_out_edges(n, s.body, lane, n_lane + more);
    }
}
static void edge(hn_nest *n, hn_st loop) {
    hn_var lane[LANES_DEEP];
    write_out_edges(n, n->st[loop].body, lane, 0);
}

/* Vectors of the channels, halves of them for what is left. */
static bool tile_channels(hn_nest *n, hn_st col, int64_t lanes, const char **why) {
    int64_t e = length(n, col);
    hn_st inner, tail = 0;
    while (lanes > 1 && e < lanes) lanes = lanes > LANES_MIN ? lanes / 2 : 1;
    if (lanes == 1) return true;
    if (!hn_loop_split(n, col, lanes, &inner, &tail, why) || !hn_loop_vectorise(n, inner, why)) return false;
    if (e / lanes > 1 && !hn_loop_unroll(n, col, why)) return false;
    return !tail || tile_channels(n, tail, lanes, why);
}

/* A loop over tiles: those inside of the image have no conditions; the few at its edge stand alone. */
static void peel_tiles(hn_nest *n, hn_st tiles) {
    hn_st middle;
    if (!hn_loop_peel(n, tiles, &middle, NULL)) return;
    const hn_st ends[] = {tiles, n->st[middle].next};
    for (int k = 0; k < 2; k++)
        if (length(n, ends[k]) >= 1 && length(n, ends[k]) <= HN_CONV_EDGE_TILES) hn_loop_repeat(n, ends[k], NULL);
}

/* Rows of a tile: no more than a loop is known to have. */
static int64_t rows_in(const hn_nest *n, hn_st row, int64_t rows) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[n->st[row].var], &e) && e < rows ? e : rows;
}

/* Rows without conditions, of unknown number: tiles, where many rows are left one more that goes back over rows which
 * are computed already, else narrow ones that do, and single rows where there are fewer than a narrow tile has; of
 * results that may not be stored twice tiles, then smaller ones. done: rows in front that may be computed again. */
static bool tile_any(hn_nest *n, hn_st row, int64_t rows, hn_ix done, const char **why) {
    hn_st inner, tail = 0;
    int64_t narrow = rows / 3, least = narrow > 1 ? 2 * narrow + 1 : 1;
    hn_ix zero = hn_ix_int(n, 0);
    rows = rows_in(n, row, rows);
    if (rows < 2) return true;
    if (!length(n, row) && hn_loop_overlap(n, row, rows, least, done, &inner, &tail, &done, NULL))
        return hn_loop_unroll(n, inner, why) && (!tail || narrow < 2 || tile_any(n, tail, narrow, done, why));
    if (!hn_loop_split(n, row, rows, &inner, &tail, why) || !hn_loop_unroll(n, inner, why)) return false;
    return !tail || tile_any(n, tail, rows / 2, zero, why);
}

static bool rows_of_any_image(hn_nest *n, hn_st row, int64_t rows, const char **why) {
    hn_st middle = row;
    if (hn_loop_peel(n, row, &middle, NULL)) {
        hn_nest_trim(n, n->st[row].body);
        hn_nest_trim(n, n->st[n->st[middle].next].body);
    }
    return tile_any(n, middle, rows, hn_ix_int(n, 0), why);
}

/* for row { for col: body } with a known number of columns (channels). */
static bool tile_rows(hn_nest *n, hn_st row, int64_t rows, const char **why) {
    int64_t e = length(n, row);
    hn_st inner, tail = 0, next = n->st[row].next;
    if (!e) return rows_of_any_image(n, row, rows, why);
    if (e <= rows) {
        hn_var lane[LANES_DEEP] = {n->st[row].var};
        if (!hn_loop_unroll(n, row, why)) return false;
        write_out_edges(n, n->st[row].body, lane, 1);
        return true;
    }
    if (!hn_loop_split(n, row, rows, &inner, &tail, why) || !hn_loop_unroll(n, inner, why)) return false;
    if (tail && !tile_rows(n, tail, rows, why)) return false;
    peel_tiles(n, row);
    for (hn_st id = row; id && id != next && id != tail; id = n->st[id].next) edge(n, id);
    return true;
}

/* for channel { [for line] { for row: body } }: the channels go in, tiles are made. */
static bool tile(hn_nest *n, const form *f, hn_st channel, int64_t rows, const char **why) {
    hn_st row = 0, at = channel;
    for (hn_st in = n->st[at].body; in && n->st[in].kind == HN_ST_LOOP && !n->st[in].next; in = n->st[at].body) {
        if (!hn_loop_swap(n, at, why)) return false;
        row = at;
        at = in;
        if (n->st[n->st[at].body].kind != HN_ST_LOOP) break;
    }
    if (!row) return hn_loop_no(why, "no loop over the image's columns");
    hn_st red = n->st[at].body;
    while (red && n->st[red].kind != HN_ST_LOOP) red = n->st[red].next;
    if (red) prepare_reduction(n, red, n->st[row].var, f->own);
    return tile_channels(n, at, f->lanes, why) && tile_rows(n, row, rows, why);
}

/* for row { for channel: body } of one tile's rows: all channels, block by block. */
static bool own_tile(hn_nest *n, const form *f, hn_st row, const int64_t *setting, const char **why) {
    hn_st whole = row, rest = 0;
    int64_t block = setting[COLS] * f->lanes;
    if (!hn_loop_swap(n, row, why)) return false;
    if (f->channels > block && !hn_loop_blocks(n, row, block, &whole, &rest, why)) return false;
    return tile(n, f, whole, setting[ROWS], why) && (!rest || tile(n, f, rest, setting[ROWS], why));
}

/* Likewise for an unknown number of rows. */
static bool own_any(hn_nest *n, const form *f, hn_st row, int64_t rows, const int64_t *setting, const char **why) {
    hn_st inner = row, tail = 0;
    rows = rows_in(n, row, rows);
    if (rows < 1) return true;
    if (rows > 1 && !length(n, row) && hn_loop_overlap(n, row, rows, 1, hn_ix_int(n, 0), &inner, &tail, NULL, NULL))
        return own_tile(n, f, inner, setting, why) && own_any(n, f, tail, 1, setting, why);
    if (rows > 1 && !hn_loop_split(n, row, rows, &inner, &tail, why)) return false;
    if (rows == 1 && !hn_loop_split(n, row, 1, &inner, NULL, why)) return false;
    return own_tile(n, f, inner, setting, why) && (!tail || own_any(n, f, tail, rows / 2, setting, why));
}
static bool own_rows_of_any_image(hn_nest *n, const form *f, hn_st row, const int64_t *setting, const char **why) {
    hn_st middle = row;
    if (hn_loop_peel(n, row, &middle, NULL)) {
        const hn_st ends[] = {row, n->st[middle].next};
        for (int k = 0; k < 2; k++) {
            hn_nest_trim(n, n->st[ends[k]].body);
            if (!own_any(n, f, ends[k], 1, setting, why)) return false;
        }
    }
    return own_any(n, f, middle, setting[ROWS], setting, why);
}

/* for row { for channel: body } where every channel reads its own part of the image: tiles of rows around the channels,
 * so that the image is read in the order of memory. */
static bool own_tiles(hn_nest *n, const form *f, hn_st row, const int64_t *setting, const char **why) {
    int64_t e = length(n, row);
    hn_st inner, tail = 0, next = n->st[row].next;
    if (!e) return own_rows_of_any_image(n, f, row, setting, why);
    if (e <= setting[ROWS]) return own_tile(n, f, row, setting, why);
    if (!hn_loop_split(n, row, setting[ROWS], &inner, &tail, why)) return false;
    peel_tiles(n, row);
    for (hn_st id = row, after; id && id != next; id = after) {
        after = n->st[id].next;
        if (!own_tile(n, f, id == tail ? id : n->st[id].body, setting, why)) return false;
    }
    return true;
}

/* Loop `from` of the chain becomes loop `to`, further out. */
static bool lift(hn_nest *n, const hn_chain *c, int from, int to, const char **why) {
    for (int p = from; p > to; p--)
        if (!hn_loop_swap(n, c->loop[p - 1], why)) return false;
    return true;
}

static bool items(hn_nest *n, const hn_chain *c, int last, const int64_t *setting, const char **why) {
    for (int k = 0; k <= last; k++)
        if (!hn_loop_parallelise(n, c->loop[k], why)) return false;
    hn_nest_tidy(n);
    if (setting[STAGE]) hn_tile_stage(n, n->first);
    return true;
}

/* Loop `block` goes over blocks of channels, around the one over items of lines; 0: there is none. */
static void finish(hn_nest *n, const form *f, hn_st block, hn_st item, const int64_t *setting) {
    hn_conv_next next = {.depth = f->depth, .rows = setting[ROWS]};
    if (item) {
        next.item = n->st[item].var;
        next.items = (f->height + setting[ITEM] - 1) / setting[ITEM];
        next.image = setting[AHEAD] & AHEAD_LINES ? f->image : 0;
    }
    if (block && item && next.items) {
        next.block = n->st[block].var;
        next.weights = setting[AHEAD] & AHEAD_WEIGHTS ? f->weights : 0;
    }
    hn_conv_finish(n, setting[STEPS], &next);
}

static bool conv_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    form f;
    hn_st in, whole, rest = 0;
    if (!match(n, m, &f)) return hn_loop_no(why, "the nest has another form");
    int top = 0;
    if (f.group && f.group < f.channels) { /* the groups outermost */
        if (!hn_loop_split(n, f.c.loop[f.c.n - 1], f.group, NULL, NULL, why)) return false;
        if (!lift(n, &f.c, f.c.n - 1, 0, why)) return false;
        top = 1;
    }
    f.c = hn_chain_of(n, n->first);
    bool lines = f.c.n - 2 > top; /* else the image has one line: its columns are the items */
    int at = lines ? f.c.n - 3 : f.c.n - 2;
    if (!hn_loop_chunk(n, f.c.loop[at], setting[ITEM] * (lines ? 1 : setting[ROWS]), &in, why)) return false;
    f.c = hn_chain_of(n, n->first);
    if (f.own) return own_tiles(n, &f, f.c.loop[f.c.n - 2], setting, why) && items(n, &f.c, at, setting, why);
    if (!lift(n, &f.c, f.c.n - 1, at + 1, why)) return false;
    int64_t channels = f.group ? f.group : f.channels, block = setting[COLS] * f.lanes;
    bool blocks = channels > block;
    whole = f.c.loop[at + 1];
    if (blocks && !hn_loop_blocks(n, whole, block, &whole, &rest, why)) return false;
    if (!tile(n, &f, whole, setting[ROWS], why)) return false;
    if (rest && !tile(n, &f, rest, setting[ROWS], why)) return false;
    bool outside = blocks && !setting[ORDER];
    if (outside && !lift(n, &f.c, at + 1, top, why)) return false;
    finish(n, &f, outside ? f.c.loop[top] : 0, lines ? f.c.loop[outside ? at + 1 : at] : 0, setting);
    return items(n, &f.c, blocks ? at + 1 : at, setting, why);
}

const hn_sketch hn_sketch_conv = {
    "conv", "windows over images with their channels last: tiles of columns times channels", conv_fits, conv_apply};
