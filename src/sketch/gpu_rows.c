/* sketch/gpu_rows.c — a row of the results for a few threads: softmax, norms, reductions along memory, and whatever
 * keeps something of a row while it computes it.
 *
 * A block has some rows, and every row some threads (a warp, or the whole block). In the row's statements every loop
 * whose iterations are independent is shared by its threads; a loop that sums up is summed up in parts, one a thread,
 * which are then added in halves. Statements between are the same for all threads of the row, which all execute them.
 * What a row keeps lies in registers where every thread only needs what it has itself computed, else in shared memory,
 * else in scratch of the block.
 */
#include "nest/chain.h"
#include "nest/device.h"
#include "nest/schedule.h"
#include "sketch/gpu.h"

enum { THREADS, ROWS, KNOBS };
enum { SHARED_MAX = 32, KEPT_MAX = 16, REGISTERS = 48, USUAL_SHARED_B = 32 << 10, USUAL_PROCESSORS = 64, WARP = 32 };
enum { LONG_ENOUGH = 32, FEW_RESULTS = 4096, MANY_RESULTS = 8192, EACH = 8, BLOCK = 256 };

typedef struct rows {
    hn_nest *n;
    hn_chain c;
    int depth; /* loops of the chain that go over rows */
    hn_sharers threads;
    hn_shared_loop shared[SHARED_MAX];
    int n_shared;
    hn_ix row;              /* which row of the block; 0: there is one */
    int64_t many;           /* rows of a block, as many as there are threads for */
    hn_buf acc[SHARED_MAX]; /* registers that threads add up to: they stand around the threads' loop */
    int n_acc;
} rows;

static int64_t length(const hn_nest *n, hn_st loop) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[n->st[loop].var], &e) ? e : 0;
}

/* -- form */
typedef struct look {
    int unit, strided; /* loads inside of reductions by their stride in the innermost loop */
    int across;        /* strided ones that neighbouring results read side by side */
    int64_t longest;   /* of the row's loops; 0: not known */
    bool unknown, keeps, sums;
} look;

/* v: of the reduction; result: of the innermost loop over results, 0: there is none. */
static void look_at(hn_nest *n, hn_st first, hn_var v, hn_var result, look *l) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        int64_t step;
        if (s.kind == HN_ST_LOOP) {
            int64_t e = length(n, id);
            if (e > l->longest) l->longest = e;
            l->unknown |= !e;
            look_at(n, s.body, s.var, result, l);
        }
        if (s.kind == HN_ST_STORE && n->buf[s.buf].space == HN_LOCAL) l->keeps = true;
        if (s.kind == HN_ST_UPDATE) l->sums = true;
        const hn_scalar *x = s.kind == HN_ST_LET ? &n->sv[s.value] : NULL;
        if (!v || !x || x->kind != HN_SV_LOAD || n->buf[x->buf].space != HN_PARAM) continue;
        const hn_ix at = x->at;
        if (!hn_ix_depends(n, at, v)) continue;
        if (hn_ix_step(n, at, v, &step) && step == 1)
            l->unit++;
        else
            l->strided++, l->across += result && hn_ix_step(n, at, result, &step) && step == 1;
    }
}

/* Which loops of the chain may be rows. */
static int row_loops(hn_nest *n, const hn_chain *c) {
    int done = 0;
    while (done < c->n && hn_loop_parallelise(n, c->loop[done], NULL)) done++;
    for (int k = 0; k < done; k++) n->st[c->loop[k]].loop = HN_SERIAL;
    return done;
}

static hn_st row_list(const rows *r) { return r->depth ? r->n->st[r->c.loop[r->depth - 1]].body : r->n->first; }

static bool recognise(hn_nest *n, rows *r, look *l) {
    hn_nest_tidy(n);
    hn_nest_collapse(n, n->first);
    hn_nest_tidy(n);
    *r = (rows){.n = n, .c = hn_chain_of(n, n->first)};
    *l = (look){.unit = 0};
    r->depth = row_loops(n, &r->c);
    hn_st list = row_list(r);
    if (!hn_has_loop(n, list)) return false;
    look_at(n, list, 0, r->depth ? n->st[r->c.loop[r->depth - 1]].var : 0, l);
    return true;
}

/* Results in all; 0: not known. */
static int64_t count(const rows *r) {
    int64_t all = 1;
    for (int k = 0; k < r->depth; k++) all *= length(r->n, r->c.loop[k]);
    return all;
}

/* -- knobs */
/* Bytes that rows keep; -1: not known. */
static int64_t kept_b(const hn_nest *n) {
    int64_t sum = 0, size;
    for (hn_buf b = 1; b < n->n_buf; b++) {
        if (n->buf[b].space != HN_LOCAL) continue;
        if (!hn_dim_is_int(n->dims, n->buf[b].size, &size)) return -1;
        sum += size * (int64_t)hn_dtype_of(n->buf[b].dtype)->size_b;
    }
    return sum;
}

static int64_t shared_b(const hn_machine *m) { return m->shared_b > 0 ? m->shared_b : USUAL_SHARED_B; }

/* Threads of a row: some elements each; a warp where that is enough. */
static int64_t threads_of(const hn_machine *m, const look *l) {
    int64_t most = m->threads > 0 ? m->threads : BLOCK, t = m->warp > 1 ? m->warp : WARP;
    int64_t row = l->unknown ? EACH * BLOCK : l->longest;
    while (t < most && t * EACH < row) t *= 2;
    return t < most ? t : most;
}

static bool rows_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    rows r;
    look l;
    if (!recognise(n, &r, &l)) return false;
    int64_t all = count(&r), most = m->threads > 0 ? m->threads : BLOCK;
    bool few = all && all <= FEW_RESULTS && (l.unknown || l.longest >= 4 * LONG_ENOUGH);
    bool along = l.sums && l.unit >= l.strided && (l.unknown || l.longest >= LONG_ENOUGH);
    if (l.across && all >= MANY_RESULTS) along = false; /* a thread for each result: neighbours read side by side */
    if (!l.keeps && !along && !few) return false;
    int64_t threads = threads_of(m, &l), kept = kept_b(n),
            blocks = m->processors > 0 ? m->processors : USUAL_PROCESSORS;
    out->n = KNOBS;
    out->knob[THREADS] = (hn_knob){.name = "threads", .model = threads};
    out->knob[ROWS] = (hn_knob){.name = "rows", .n = 1, .value = {1}, .model = 1};
    for (int64_t t = 32; t <= most && t <= 1024; t *= 2) hn_knob_add(&out->knob[THREADS], t);
    hn_knob_add(&out->knob[THREADS], threads);
    if (!r.depth || kept < 0) return true;
    for (int64_t k = 2; k <= 8; k *= 2) {
        if (k * 1024 > 8 * most || kept * k > shared_b(m)) break;
        hn_knob_add(&out->knob[ROWS], k);
        if (k * threads <= BLOCK / 2 && (!all || all / k >= 2 * blocks)) out->knob[ROWS].model = k;
    }
    return true;
}

/* -- sharing */
/* Lone loops of known extents from this one on that go together: until there is one element for each thread. */
static int together(const rows *r, hn_st loop, bool all) {
    const hn_nest *n = r->n;
    int64_t e = length(n, loop);
    int depth = 1;
    while ((all || (e && e < r->threads.n)) && hn_ix_is_dim(n, n->extent[n->st[loop].var], NULL)) {
        hn_st in = hn_lone_loop(n, n->st[loop].body);
        if (!in || !hn_ix_is_dim(n, n->extent[n->st[in].var], NULL)) break;
        e *= length(n, in);
        loop = in;
        depth++;
    }
    return depth;
}

static void note(rows *r, const hn_shared_loop *s) {
    if (r->n_shared < SHARED_MAX) r->shared[r->n_shared] = *s;
    r->n_shared++;
}

/* Is the register declared in the row's list, set once, to a constant, before anything else is done with it? */
static hn_st sole_setter(const hn_nest *n, hn_st list, hn_buf b) {
    hn_st found = 0;
    bool declared = false;
    for (hn_st id = list; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_REG && s->buf == b) declared = true;
        if (s->kind != HN_ST_STORE || s->buf != b) continue;
        if (found || !declared || n->sv[s->value].kind != HN_SV_CONST) return 0;
        found = id;
    }
    return found;
}

/* The register that a loop of the row's list updates; 0: none. */
static hn_buf updated(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_UPDATE) return n->st[id].buf;
        hn_buf in = n->st[id].kind == HN_ST_LOOP ? updated(n, n->st[id].body) : 0;
        if (in) return in;
    }
    return 0;
}

static void share_list(rows *r, hn_st first, bool top);

static void share_loop(rows *r, hn_st id, hn_st list, bool top) {
    hn_nest *n = r->n;
    hn_shared_loop made;
    hn_buf acc = updated(n, n->st[id].body);
    hn_ix zero = hn_ix_int(n, 0);
    if (hn_device_share(n, id, together(r, id, false), &r->threads, &made, NULL) ||
        hn_device_share(n, id, 1, &r->threads, &made, NULL)) {
        note(r, &made);
    } else if (top && acc && r->n_acc < SHARED_MAX && sole_setter(n, list, acc) &&
               n->st[sole_setter(n, list, acc)].at == zero &&
               (hn_device_fold(n, id, together(r, id, true), &r->threads, &acc, &made, NULL) ||
                hn_device_fold(n, id, 1, &r->threads, &acc, &made, NULL))) {
        note(r, &made);
        for (int k = 0; k < r->n_acc; k++)
            if (r->acc[k] == acc) return;
        r->acc[r->n_acc++] = acc;
    } else {
        share_list(r, n->st[id].body, false);
    }
}

/* What stands between loops is the same for all threads of the row; memory is written by the first. */
static void share_list(rows *r, hn_st first, bool top) {
    hn_nest *n = r->n;
    for (hn_st id = first, next; id; id = next) {
        next = n->st[id].next;
        if (n->st[id].kind == HN_ST_LOOP) share_loop(r, id, first, top);
        if (n->st[id].kind != HN_ST_STORE || n->buf[n->st[id].buf].space == HN_REG) continue;
        hn_ix *guard = HN_NEW_N(n->a, hn_ix, n->st[id].n_guard + 1u);
        if (!guard) return;
        for (uint32_t k = 0; k < n->st[id].n_guard; k++) guard[k] = n->st[id].guard[k];
        guard[n->st[id].n_guard++] = hn_ix_sub(n, hn_ix_int(n, 0), r->threads.at);
        n->st[id].guard = guard;
    }
}

/* Takes the register's declaration and its first value out of the list, and gives them as a list of their own. */
static hn_st take_out(hn_nest *n, hn_st *list, hn_buf b, hn_st behind) {
    hn_st head = 0, set = sole_setter(n, *list, b);
    const hn_scalar x = n->sv[n->st[set].value];
    hn_sv value = hn_nest_scalar(n, &x);
    hn_stmt store = n->st[set];
    store.value = value, store.next = behind;
    hn_st last = hn_nest_stmt(n, &store);
    hn_st let = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LET, .value = value, .next = last});
    head = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_REG, .buf = b, .next = let});
    for (hn_st *link = list; *link;) {
        hn_stmt *s = &n->st[*link];
        if ((s->kind == HN_ST_REG && s->buf == b) || *link == set)
            *link = s->next;
        else
            link = &s->next;
    }
    return head;
}

/* -- what a row keeps */
/* All that touches the memory does so at a shared loop's own element, all of these loops of the same number of turns?
 * *turns: how many. */
typedef struct own {
    hn_buf b;
    hn_ix from; /* where the row's part begins */
    int64_t turns;
    bool ok;
} own;

/* Loops inside of a shared one are as long for all of its turns: then the turns can be lanes. */
static bool same_lengths(const hn_nest *n, hn_st first, hn_var v) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_LOOP &&
            (hn_ix_depends(n, n->extent[n->st[id].var], v) || !same_lengths(n, n->st[id].body, v)))
            return false;
    return true;
}

static const hn_shared_loop *shared_of(const rows *r, hn_st loop) {
    for (int k = 0; k < r->n_shared && k < SHARED_MAX; k++)
        if (r->shared[k].loop == loop) return &r->shared[k];
    return NULL;
}

/* Are the turns of a shared loop a few, so that they can be lanes? */
static bool known_turns(const hn_nest *n, const hn_shared_loop *in, int64_t *turns) {
    return hn_ix_is_int(n, n->extent[in->var], turns) && *turns >= 1 && *turns <= KEPT_MAX &&
           same_lengths(n, n->st[in->loop].body, in->var);
}

static void check_own(rows *r, hn_st first, const hn_shared_loop *in, own *o) {
    hn_nest *n = r->n;
    for (hn_st id = first; id && o->ok; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_LOOP) {
            const hn_shared_loop *shared = shared_of(r, id);
            check_own(r, s.body, shared ? shared : in, o);
        }
        const hn_scalar *x = s.kind == HN_ST_LET ? &n->sv[s.value] : NULL;
        bool loads = x && x->kind == HN_SV_LOAD && x->buf == o->b, stores = s.kind == HN_ST_STORE && s.buf == o->b;
        if (!loads && !stores) continue;
        int64_t turns;
        const hn_ix at = loads ? x->at : s.at;
        o->ok = in && at == hn_ix_add(n, in->element, o->from) && known_turns(n, in, &turns) &&
                (!o->turns || o->turns == turns);
        if (o->ok) o->turns = turns;
    }
}

/* The memory becomes registers of each thread, one for each turn. True: something was changed. */
static bool to_registers(rows *r, hn_st first, const hn_shared_loop *in, hn_buf from, hn_buf to) {
    hn_nest *n = r->n;
    bool any = false;
    for (hn_st id = first; id; id = n->st[id].next) {
        hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) {
            const hn_shared_loop *shared = shared_of(r, id);
            bool in_it = to_registers(r, s->body, shared ? shared : in, from, to);
            if (in_it && shared) s->loop = HN_UNROLL;
            any |= in_it;
            continue;
        }
        hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (x && x->kind == HN_SV_LOAD && x->buf == from)
            x->buf = to, x->at = hn_ix_var(n, in->var), x->n_guard = 0, any = true;
        if (s->kind == HN_ST_STORE && s->buf == from)
            s->buf = to, s->at = hn_ix_var(n, in->var), s->n_guard = 0, any = true;
    }
    return any;
}

static void move_buffer(hn_nest *n, hn_st first, hn_buf from, hn_buf to) {
    for (hn_st id = first; id; id = n->st[id].next) {
        hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) move_buffer(n, s->body, from, to);
        if (s->kind == HN_ST_LET && n->sv[s->value].kind == HN_SV_LOAD && n->sv[s->value].buf == from)
            n->sv[s->value].buf = to;
        if (s->kind == HN_ST_STORE && s->buf == from) s->buf = to;
    }
}

/* *head: what the list of the threads' loop begins with. room: bytes of shared memory. */
static void place_kept(rows *r, hn_st *head, int64_t room) {
    hn_nest *n = r->n;
    const hn_buf n_buf = n->n_buf;
    for (hn_buf b = 1; b < n_buf; b++) {
        int64_t size = 0;
        own o = {.b = b, .from = hn_ix_int(n, 0), .ok = r->n_shared <= SHARED_MAX};
        if (n->buf[b].space != HN_LOCAL) continue;
        hn_dim_is_int(n->dims, n->buf[b].size, &size);
        if (r->row) o.from = hn_ix_scale(n, r->row, hn_dim_int(n->dims, size / r->many));
        check_own(r, *head, NULL, &o);
        if (o.ok && o.turns) {
            hn_buf to = hn_nest_buf(n, HN_REG, n->buf[b].dtype, hn_dim_int(n->dims, o.turns));
            to_registers(r, *head, NULL, b, to);
            *head = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_REG, .buf = to, .next = *head});
        } else if (hn_dim_is_int(n->dims, n->buf[b].size, &size)) {
            size *= (int64_t)hn_dtype_of(n->buf[b].dtype)->size_b;
            if (size < 1 || size > room) continue;
            room -= size;
            move_buffer(n, *head, b, hn_nest_buf(n, HN_SHARED, n->buf[b].dtype, n->buf[b].size));
        } else {
            continue;
        }
        n->buf[b].size = hn_dim_int(n->dims, 0);
    }
}

/* -- one read */
/* The same load in another shared loop, if it has one: of the same element, under the same conditions. */
static hn_sv same_load(hn_nest *n, const hn_scalar *x, const hn_shared_loop *a, const hn_shared_loop *b) {
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!var) return 0;
    var[a->var] = hn_ix_var(n, b->var);
    const hn_subst s = {var, NULL, n->n_var, 0};
    hn_ix at = hn_ix_subst(n, x->at, &s);
    for (hn_st id = n->st[b->loop].body; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LET) continue;
        const hn_scalar y = n->sv[n->st[id].value];
        bool same = y.kind == HN_SV_LOAD && y.buf == x->buf && y.at == at && y.n_guard == x->n_guard;
        for (uint32_t k = 0; k < x->n_guard && same; k++) same = y.guard[k] == hn_ix_subst(n, x->guard[k], &s);
        if (same) return n->st[id].value;
    }
    return 0;
}

/* The element's later loads come from registers, *reg (0: none yet, then it is made). */
static void keep_load(rows *r, hn_st let, const hn_shared_loop *a, int first, int64_t turns, int64_t *room,
                      hn_st *head) {
    hn_nest *n = r->n;
    const hn_scalar x = n->sv[n->st[let].value];
    hn_buf reg = 0;
    int64_t other;
    for (int k = first; k < r->n_shared; k++) {
        const hn_shared_loop *b = &r->shared[k];
        if (!known_turns(n, b, &other) || other != turns) continue;
        hn_sv again = same_load(n, &x, a, b);
        if (!again) continue;
        if (!reg) {
            reg = hn_nest_buf(n, HN_REG, x.dtype, hn_dim_int(n->dims, turns));
            hn_st store = hn_nest_store(n, reg, hn_ix_var(n, a->var), n->st[let].value, 0, NULL);
            if (!store) return;
            n->st[store].next = n->st[let].next;
            n->st[let].next = store;
            n->st[a->loop].loop = HN_UNROLL;
            *head = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_REG, .buf = reg, .next = *head});
            *room -= turns;
        }
        n->sv[again] = (hn_scalar){.kind = HN_SV_LOAD, .dtype = x.dtype, .buf = reg, .at = hn_ix_var(n, b->var)};
        n->st[b->loop].loop = HN_UNROLL;
    }
}

/* What several loops of a row read is read once, where it fits in registers. */
static void read_once(rows *r, hn_st *head) {
    hn_nest *n = r->n;
    int64_t room = REGISTERS, turns;
    for (int k = 0; k < r->n_shared && r->n_shared <= SHARED_MAX; k++) {
        const hn_shared_loop *a = &r->shared[k];
        if (!known_turns(n, a, &turns)) continue;
        for (hn_st id = n->st[a->loop].body; id; id = n->st[id].next) {
            const hn_scalar *x = n->st[id].kind == HN_ST_LET ? &n->sv[n->st[id].value] : NULL;
            if (!x || x->kind != HN_SV_LOAD || n->buf[x->buf].space != HN_PARAM || turns > room) continue;
            if (hn_ix_depends(n, x->at, a->var)) keep_load(r, id, a, k + 1, turns, &room, head);
        }
    }
}

/* -- schedule */
static bool rows_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    rows r;
    look l;
    hn_st block = 0;
    if (!recognise(n, &r, &l)) return hn_loop_no(why, "there are no rows");
    int64_t most = (m->threads > 0 ? m->threads : BLOCK) / setting[THREADS];
    r.many = setting[ROWS] < most ? setting[ROWS] : most;
    if (r.depth && r.many > 1) {
        if (!hn_device_bind_rows(n, r.c.loop[0], r.depth, r.many, &block, why)) return false;
        r.row = hn_ix_var(n, n->st[block].var);
    } else {
        for (int k = 0; k < r.depth; k++)
            if (!hn_loop_parallelise(n, r.c.loop[k], why)) return false;
        if (r.depth) block = r.c.loop[r.depth - 1];
    }
    hn_st list = block ? n->st[block].body : n->first;
    hn_var t = hn_nest_var(n, hn_ix_int(n, setting[THREADS]));
    r.threads = (hn_sharers){hn_ix_var(n, t), setting[THREADS]};
    share_list(&r, list, true);
    place_kept(&r, &list, shared_b(m));
    read_once(&r, &list);
    hn_st threads = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .var = t, .loop = HN_GROUP}), head = threads;
    for (int k = 0; k < r.n_acc; k++) head = take_out(n, &list, r.acc[k], head);
    n->st[threads].body = list;
    if (block)
        n->st[block].body = head;
    else
        n->first = head;
    hn_nest_sweep(n);
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}

const hn_sketch hn_sketch_gpu_rows = {"rows", "a row for a warp or a block, summed up in parts", rows_fits, rows_apply};
