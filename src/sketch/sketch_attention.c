/* sketch/sketch_attention.c — attention with the queries as lanes.
 *
 * A work item is a block of queries of one head, in groups of a few vectors. The queries are transposed into scratch,
 * so that a tile of scores (several keys x a group) is products of a key's numbers, one by one, with vectors of
 * queries; the scores lie transposed too, [key][query]. Maximum, exponentials and their sum then go down the keys, lane
 * by lane, without folding a vector. The product with the values is a register tile of queries x columns, which reads
 * the exponentials one by one; the sum divides its results instead of the exponentials. A factor of the scores is
 * applied to the queries. What the scores need of memory per query and key (a mask, a bias) is brought to scratch in
 * the same order first; the lanes behind the last query compute on zeros.
 *
 * Keys are taken in blocks that stay in the cache while all groups go by; where there may be several, the softmax is
 * the online one (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; with the blocks' order as
 * in FlashAttention, Dao et al., NeurIPS 2022): per query the largest score and the sum so far, and the columns so far,
 * rescaled when a larger score comes. A block of keys and values is copied next to each other first where heads lie
 * between one another in memory.
 */
#include "sketch/sketch_attention.h"
#include "nest/schedule.h"
#include "sketch/constants.h"
#include "sketch/sketch.h"

enum { BLOCKS = 5 };
enum { ROWS, TILE, BLOCK, PACK, SKIP, FEW, KNOBS };

/* -- what the nest allows */
static uint32_t uses_in(const hn_nest *n, hn_sv of, hn_sv in, hn_sv *user) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < n->sv[in].n_arg; k++) {
        if (n->sv[in].arg[k] == of)
            count++, *user = in;
        else
            count += uses_in(n, of, n->sv[in].arg[k], user);
    }
    return count;
}

/* sum * c or sum / c with c the same for all queries and keys: then q * c or q / c does it with fewer operations. */
static hn_sv find_scale(hn_attention_sketch *t) {
    hn_sv user = 0;
    if (t->x.score == t->x.sum || uses_in(t->n, t->x.sum, t->x.score, &user) != 1) return 0;
    const hn_scalar *s = &t->n->sv[user];
    if (s->kind != HN_SV_OP || (s->op != HN_OP_MUL && s->op != HN_OP_DIV)) return 0;
    hn_sv other = s->arg[s->arg[0] == t->x.sum];
    if (s->op == HN_OP_DIV && s->arg[0] != t->x.sum) return 0;
    return hn_attend_by_query(t, other) || hn_sv_depends(t->n, other, t->x.key) ? 0 : user;
}

bool hn_attend_unit_stride(hn_nest *n, hn_sv x, hn_var v) {
    int64_t one;
    return n->sv[x].kind == HN_SV_LOAD && hn_ix_step(n, n->sv[x].at, v, &one) && one == 1;
}
/* Rows of an operand follow each other without a gap. */
static bool dense(hn_nest *n, hn_sv x, hn_var v, int64_t length) {
    int64_t step;
    return hn_ix_step(n, n->sv[x].at, v, &step) && step == length;
}

static int64_t known(const hn_nest *n, hn_var v, int64_t otherwise) {
    int64_t e = otherwise;
    hn_ix_is_int(n, n->extent[v], &e);
    return e;
}

/* -- heads that share keys and values */
bool hn_attend_by_query(hn_attention_sketch *t, hn_sv x) {
    return hn_sv_depends(t->n, x, t->x.query) || (t->folded.heads && hn_sv_depends(t->n, x, t->folded.heads));
}
void hn_attend_set_query(hn_attention_sketch *t, hn_ix i) {
    int64_t queries = known(t->n, t->x.query, 1);
    t->w.var[t->x.query] = t->folded.heads ? hn_at_mod(t, i, queries) : i;
    if (t->folded.heads) t->w.var[t->folded.heads] = hn_at_plus(t, t->folded.group_head, hn_at_div(t, i, queries));
}
void hn_attend_no_query(hn_attention_sketch *t) {
    if (t->folded.heads) t->w.var[t->folded.heads] = t->folded.group_head;
}

hn_ix hn_attend_key(hn_attention_sketch *t, hn_ix k) { return hn_at_plus(t, t->at.from, k); }

void hn_attend_at(hn_attention_sketch *t, hn_ix k, hn_ix lane) {
    hn_writer *w = &t->w;
    hn_write_forget(w);
    k = hn_attend_key(t, k);
    hn_attend_set_query(t, hn_at_plus(t, t->at.first, lane));
    w->var[t->x.key] = hn_at_plus(t, t->at.key0, k);
    for (int i = 0; i < t->in.n_staged; i++) {
        const hn_staged *s = &t->in.staged[i];
        hn_ix at = s->by_key ? hn_at_plus(t, hn_at_times(t, k, t->size.group), lane) : lane;
        w->sv[s->load] = hn_write_load(w, s->to, at);
    }
}

/* Is the index the same for `fold` neighbouring iterations of v? */
static bool shared(hn_nest *n, hn_sv x, hn_var v, int64_t fold) {
    if (n->sv[x].kind != HN_SV_LOAD || n->sv[x].n_guard) return false;
    hn_ix *var = HN_NEW_N(n->a, hn_ix, v + 1u);
    if (!var) return false;
    hn_var group = hn_nest_var(n, hn_ix_div(n, n->extent[v], hn_dim_int(n->dims, fold)));
    hn_var one = hn_nest_var(n, hn_ix_int(n, fold));
    var[v] = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, group), hn_dim_int(n->dims, fold)), hn_ix_var(n, one));
    return !hn_ix_depends(n, hn_ix_subst(n, n->sv[x].at, &(hn_subst){var, NULL, v + 1u, 0}), one);
}

/* Few queries (one, in decoding): heads with the same keys and values become lanes beside them. */
static void fold_heads(hn_attention_sketch *t) {
    int64_t queries = known(t->n, t->x.query, INT64_MAX);
    t->folded.fold = 1;
    for (int i = 0; i < t->x.n_outer && queries < t->size.lanes; i++) {
        int64_t heads = known(t->n, t->x.outer[i], 0);
        for (int64_t f = heads; f > t->folded.fold; f--) {
            if (heads % f || f * queries > t->size.lanes || !shared(t->n, t->x.k, t->x.outer[i], f)) continue;
            if (!shared(t->n, t->x.v, t->x.outer[i], f)) continue;
            t->folded.heads = t->x.outer[i];
            t->folded.fold = f;
        }
    }
}

static hn_ix n_query(hn_attention_sketch *t) { return hn_at_times(t, t->n->extent[t->x.query], t->folded.fold); }

static bool recognise(hn_attention_sketch *t, hn_nest *n, const hn_machine *m) {
    int64_t queries;
    *t = (hn_attention_sketch){.n = n, .size = {.vectors = 2, .lanes = m->vector_b / 4}};
    if (m->vector_b < 16 || !hn_attention_match(n, &t->x)) return false;
    fold_heads(t);
    if (!hn_attend_find_staged(t, t->x.score)) return false;
    if (hn_ix_is_int(n, n_query(t), &queries) && queries <= t->size.lanes) t->size.vectors = 1;
    t->size.group = t->size.vectors * t->size.lanes;
    t->in.scale = find_scale(t);
    hn_attend_find_masks(t);
    return hn_ix_is_int(n, n->extent[t->x.depth], &t->size.depth) &&
           hn_ix_is_int(n, n->extent[t->x.column], &t->size.columns);
}

/* -- knobs */
/* As many queries as leave every core a few items; what they keep between blocks stays within a part of the cache. */
static hn_knob rows_knob(const hn_attention_sketch *t, const hn_machine *m) {
    hn_knob k = {.name = "rows", .n = 5};
    int64_t heads = 1, queries = known(t->n, t->x.query, 512),
            want = HN_ATTENTION_ITEMS * (m->cores > 0 ? m->cores : 8);
    for (int i = 0; i < t->x.n_outer; i++) heads *= known(t->n, t->x.outer[i], 1);
    for (int i = 0; i < k.n; i++) {
        int64_t rows = k.value[i] = t->size.group << i;
        int64_t kept_b = 4 * rows * (t->size.depth + t->size.columns), items = heads * ((queries + rows - 1) / rows);
        if (i == 0 || (items >= want && kept_b <= m->l2_b / 4 && k.value[i - 1] < queries)) k.model = rows;
    }
    return k;
}

/* All keys at once where their scores stay near; else blocks of which keys, or values and scores, fill the first
 * cache to two thirds. */
static hn_knob block_knob(const hn_attention_sketch *t, const hn_machine *m) {
    hn_knob k = {.name = "block", .n = BLOCKS};
    int64_t keys = known(t->n, t->x.key, 0), room = m->l1d_b * 2 / 3 / 4;
    for (int i = 0; i < k.n; i++) {
        int64_t block = k.value[i] = INT64_C(64) << i;
        bool all = keys && keys <= block && (i == 0 || keys > k.value[i - 1]) && keys * t->size.group <= room;
        if (i == 0 || all || block * (t->size.depth > t->size.group ? t->size.depth : t->size.group) <= room)
            k.model = block;
        if (all) break;
    }
    for (int i = 0; i < k.n; i++) k.value[i] = INT64_C(64) << i;
    return k;
}

static hn_knob tile_knob(const hn_attention_sketch *t, const hn_machine *m) {
    if (m->registers < 32) return (hn_knob){.name = "tile", .n = 3, .value = {2, 4, 6}, .model = 4};
    return (hn_knob){.name = "tile", .n = 4, .value = {4, 6, 8, 12}, .model = t->size.vectors > 1 ? 8 : 12};
}

/* Copies pay where rows lie apart and several groups read them. */
static hn_knob pack_knob(hn_attention_sketch *t, int64_t rows) {
    hn_knob k = {.name = "pack", .n = 1};
    if (!hn_attend_unit_stride(t->n, t->x.k, t->x.depth)) return k;
    bool apart = !dense(t->n, t->x.k, t->x.key, t->size.depth) || !dense(t->n, t->x.v, t->x.key_v, t->size.columns);
    k.n = 2;
    k.value[1] = 1;
    k.model = apart && rows > t->size.group;
    return k;
}

/* A mask that hides nothing costs the look at it; one that hides saves much more. */
static hn_knob skip_knob(const hn_attention_sketch *t) {
    hn_knob k = {.name = "skip", .n = t->in.n_mask ? 2 : 1, .value = {0, 1}, .model = t->in.n_mask > 0};
    return k;
}

/* How many queries the path of a few is for: all, if there are few; one, where it is not known how many there are: then
 * both paths are written and the run takes one. 0: it does not fit. */
static int64_t few_queries(hn_attention_sketch *t) {
    int64_t queries;
    if (!hn_attend_unit_stride(t->n, t->x.k, t->x.depth)) return 0;
    if (!hn_ix_is_int(t->n, n_query(t), &queries)) return 1;
    return queries <= HN_FEW_MAX && !t->in.n_mask ? queries : 0;
}

static hn_knob few_knob(hn_attention_sketch *t) {
    int64_t queries = few_queries(t);
    hn_knob k = {.name = "few", .n = queries ? 2 : 1, .value = {0, 1}, .model = queries && hn_few_pays(t, queries)};
    return k;
}

static bool attention_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    hn_attention_sketch t;
    if (!recognise(&t, n, m)) return false;
    out->n = KNOBS;
    out->knob[ROWS] = rows_knob(&t, m);
    out->knob[TILE] = tile_knob(&t, m);
    out->knob[BLOCK] = block_knob(&t, m);
    out->knob[PACK] = pack_knob(&t, out->knob[ROWS].model);
    out->knob[SKIP] = skip_knob(&t);
    out->knob[FEW] = few_knob(&t);
    return true;
}

/* -- the whole */
static hn_buf local(hn_attention_sketch *t, hone_dtype type, int64_t size) {
    return hn_nest_buf(t->n, HN_LOCAL, type, hn_dim_int(t->n->dims, size));
}

static void local_buffers(hn_attention_sketch *t) {
    hn_nest *n = t->n;
    for (hn_buf b = 1; b < n->n_buf; b++) /* the rows of the nest as lowered are not used any more */
        if (n->buf[b].space == HN_LOCAL) n->buf[b].size = hn_dim_int(n->dims, 0);
    t->mem.queries = local(t, HONE_F32, t->how.rows * t->size.depth);
    t->mem.scores = local(t, HONE_F32, t->how.block * t->size.group);
    t->mem.sums = local(t, HONE_F32, t->how.rows);
    for (int i = 0; i < t->in.n_staged; i++)
        t->in.staged[i].to = local(t, n->sv[t->in.staged[i].load].dtype,
                                   t->in.staged[i].by_key ? t->how.block * t->size.group : t->size.group);
    if (t->how.pack) {
        t->mem.keys = local(t, HONE_F32, t->how.block * t->size.depth);
        t->mem.values = local(t, HONE_F32, t->how.block * t->size.columns);
    }
    if (t->how.online) {
        t->mem.tops = local(t, HONE_F32, t->how.rows);
        t->mem.mixed = local(t, HONE_F32, t->how.rows * t->size.columns);
        t->mem.keep = local(t, HONE_F32, t->size.group);
    }
}

/* The loop over the groups of the item. */
static void open_groups(hn_attention_sketch *t) {
    hn_nest *n = t->n;
    hn_ix groups = hn_at_div(t, hn_at_plus(t, t->at.here, hn_ix_int(n, t->size.group - 1)), t->size.group);
    t->at.group_at = hn_at_times(t, hn_write_loop(&t->w, groups, HN_SERIAL), t->size.group);
    t->at.first = hn_at_plus(t, t->at.item, t->at.group_at);
    t->at.valid = hn_ix_min(n, hn_ix_int(n, t->size.group), hn_ix_sub(n, t->at.here, t->at.group_at));
}

static void open_item(hn_attention_sketch *t) {
    hn_nest *n = t->n;
    hn_ix queries = n_query(t);
    for (int i = 0; i < t->x.n_outer; i++) {
        hn_var v = t->x.outer[i];
        int64_t fold = v == t->folded.heads ? t->folded.fold : 1;
        hn_ix at = hn_at_times(t, hn_write_loop(&t->w, hn_at_div(t, n->extent[v], fold), HN_PARALLEL), fold);
        t->w.var[v] = at;
        if (v == t->folded.heads) t->folded.group_head = at;
    }
    hn_ix items = hn_at_div(t, hn_at_plus(t, queries, hn_ix_int(n, t->how.rows - 1)), t->how.rows);
    t->at.item = hn_at_times(t, hn_write_loop(&t->w, items, HN_PARALLEL), t->how.rows);
    t->at.here = hn_ix_min(n, hn_ix_int(n, t->how.rows), hn_ix_sub(n, queries, t->at.item));
}

/* One item. */
static void attend(hn_attention_sketch *t) {
    hn_writer *w = &t->w;
    hn_ix keys = t->n->extent[t->x.key], size = hn_ix_int(t->n, t->how.block);
    open_groups(t);
    if (t->how.few)
        hn_few_queries(t);
    else
        hn_attend_stage_queries(t);
    hn_write_close(w, 1);
    if (t->how.online) hn_attend_begin(t);
    hn_ix blocks = hn_at_div(t, hn_at_plus(t, keys, hn_ix_int(t->n, t->how.block - 1)), t->how.block);
    t->at.key0 = hn_at_times(t, hn_write_loop(w, blocks, HN_SERIAL), t->how.block);
    t->at.n_key = hn_ix_min(t->n, size, hn_ix_sub(t->n, keys, t->at.key0));
    t->at.from = hn_ix_int(t->n, 0);
    if (t->how.pack) hn_attend_pack(t);
    if (t->how.skip) hn_attend_size(t);
    open_groups(t);
    if (t->how.few) {
        hn_few_scores(t);
        hn_few_softmax(t);
    } else {
        hn_attend_stage_masks(t);
        if (t->how.skip) hn_attend_skip(t);
        hn_attend_scores(t);
        hn_attend_softmax(t);
    }
    hn_attend_values(t);
    hn_write_close(w, 2);
    if (t->how.online) {
        open_groups(t);
        hn_attend_finish(t);
        hn_write_close(w, 1);
    }
}

/* One query, or more: each in a loop that runs once or not at all. */
static void attend_either(hn_attention_sketch *t) {
    hn_nest *n = t->n;
    hn_ix zero = hn_ix_int(n, 0), one = hn_ix_int(n, 1), more = hn_ix_sub(n, n_query(t), one);
    hn_attention_sketch few = *t;
    few.how.query_tile = 1;
    few.how.pack = few.how.skip = false;
    hn_write_loop(&few.w, hn_ix_max(n, zero, hn_ix_sub(n, one, more)), HN_SERIAL);
    attend(&few);
    hn_write_close(&few.w, 1);
    t->w = few.w;
    t->how.few = false;
    hn_write_loop(&t->w, hn_ix_min(n, one, more), HN_SERIAL);
    attend(t);
    hn_write_close(&t->w, 1);
}

static void build(hn_attention_sketch *t) {
    local_buffers(t);
    open_item(t);
    if (t->how.few && !hn_ix_is_int(t->n, n_query(t), &(int64_t){0}))
        attend_either(t);
    else
        attend(t);
    hn_write_end(&t->w);
}

static bool attention_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    hn_attention_sketch t;
    if (!recognise(&t, n, m)) return hn_loop_no(why, "no attention");
    t.how.rows = setting[ROWS];
    t.how.tile = t.how.query_tile = setting[TILE];
    int64_t queries;
    if (hn_ix_is_int(n, n_query(&t), &queries) && queries < t.how.tile) t.how.query_tile = queries;
    t.how.block = setting[BLOCK];
    t.how.pack = setting[PACK];
    t.how.skip = setting[SKIP];
    t.how.few = setting[FEW];
    t.how.online = known(n, t.x.key, INT64_MAX) > t.how.block;
    if (!hn_write_begin(&t.w, n)) return hn_loop_no(why, "out of memory");
    build(&t);
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}

const hn_sketch hn_sketch_attention = {"attention", "queries as lanes, blocks of keys in the cache, two register tiles",
                                       attention_fits, attention_apply};
