/* nest/schedule.c — rewrites that change the shape of loops: split, chunk, collapse, swap, peel. Each builds the new
 * bodies as copies with the variable replaced, so that bounds and guards are simplified for the new ranges. */
#include "nest/schedule.h"
#include "nest/nest_int.h"

#include <math.h>

enum { REPEATS_MAX = 64, MULTIPLES_MAX = 2 };

bool hn_loop_no(const char **why, const char *reason) {
    if (why) *why = reason;
    return false;
}

/* Guards that hold where a copy is made. */
typedef struct held {
    hn_ix *guard;
    uint32_t n, room;
} held;
static void hold(hn_nest *n, held *h, hn_ix guard) {
    if (hn_nest_grow(n->a, (void **)&h->guard, h->n, &h->room, sizeof *h->guard)) h->guard[h->n++] = guard;
}

/* A copy of the loop's body with its variable replaced. */
static hn_st body_where(hn_nest *n, hn_st loop, hn_ix value, const held *h) {
    hn_var v = n->st[loop].var;
    hn_ix *var = HN_NEW_N(n->a, hn_ix, v + 1u);
    if (!var) return 0;
    var[v] = value;
    return hn_nest_clone_where(n, n->st[loop].body, &(hn_subst){var, NULL, v + 1u, 0}, h->n, h->guard);
}
static hn_st body_with(hn_nest *n, hn_st loop, hn_ix value) { return body_where(n, loop, value, &(held){0}); }

static hn_st make_loop(hn_nest *n, hn_var v, hn_st body, hn_loop_kind kind) {
    return hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .var = v, .body = body, .loop = kind});
}

/* The loop becomes `for outer { inner… }`. */
static void become(hn_nest *n, hn_st loop, hn_var outer, hn_st body) {
    n->st[loop].var = outer;
    n->st[loop].body = body;
}

static void insert_after(hn_nest *n, hn_st at, hn_st more) {
    n->st[more].next = n->st[at].next;
    n->st[at].next = more;
}

bool hn_loop_split(hn_nest *n, hn_st loop, int64_t f, hn_st *inner, hn_st *tail, const char **why) {
    hn_ix e = n->extent[n->st[loop].var];
    hn_dim factor = hn_dim_int(n->dims, f);
    int64_t rest_n, e_n;
    if (n->st[loop].kind != HN_ST_LOOP || f < 1) return hn_loop_no(why, "no loop");
    if (hn_ix_is_int(n, e, &e_n) && e_n < f) return hn_loop_no(why, "the loop is shorter than the factor");
    hn_ix times = hn_ix_div(n, e, factor), rest = hn_ix_mod(n, e, factor);
    hn_st tail_loop = 0;
    if (!hn_ix_is_int(n, rest, &rest_n) || rest_n) {
        hn_var t = hn_nest_var(n, rest);
        hn_ix at = hn_ix_add(n, hn_ix_scale(n, times, factor), hn_ix_var(n, t));
        tail_loop = make_loop(n, t, body_with(n, loop, at), HN_SERIAL);
    }
    hn_var o = hn_nest_var(n, times), i = hn_nest_var(n, hn_ix_int(n, f));
    hn_ix at = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, o), factor), hn_ix_var(n, i));
    hn_st in = make_loop(n, i, body_with(n, loop, at), HN_SERIAL);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    become(n, loop, o, in);
    if (tail_loop) insert_after(n, loop, tail_loop);
    if (inner) *inner = in;
    if (tail) *tail = tail_loop;
    return true;
}

/* Does the list write nothing but results, and registers of its own? */
static bool repeatable(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LOOP && !repeatable(n, n->st[id].body)) return false;
        if (n->st[id].kind == HN_ST_STORE && n->buf[n->st[id].buf].space == HN_LOCAL) return false;
    }
    return true;
}

/* Runs of f of the e iterations; none where there are fewer than f of them with those before. */
static hn_ix runs_of(hn_nest *n, hn_ix e, hn_ix before, int64_t f, int64_t least) {
    hn_dim by = hn_dim_int(n->dims, f);
    hn_ix runs = hn_ix_div(n, hn_ix_add(n, e, hn_ix_int(n, f - least)), by);
    return hn_ix_min(n, runs, hn_ix_scale(n, hn_ix_div(n, hn_ix_add(n, e, before), by), by));
}

bool hn_loop_overlap(hn_nest *n, hn_st loop, int64_t f, int64_t least, hn_ix before, hn_st *inner, hn_st *tail,
                     hn_ix *done, const char **why) {
    hn_var v = n->st[loop].var;
    hn_ix e = n->extent[v], zero = hn_ix_int(n, 0);
    hn_dim by = hn_dim_int(n->dims, f);
    if (n->st[loop].kind != HN_ST_LOOP || f < 2 || least < 1 || least > f) return hn_loop_no(why, "no loop");
    if (!repeatable(n, n->st[loop].body) || !hn_loop_independent(n, n->st[loop].body, (hn_var[]){v, v}, why))
        return hn_loop_no(why, "an iteration may not run twice");
    hn_ix runs = runs_of(n, e, before, f, least), all = hn_ix_scale(n, runs, by);
    hn_var o = hn_nest_var(n, runs), i = hn_nest_var(n, hn_ix_int(n, f));
    hn_var t = hn_nest_var(n, hn_ix_max(n, zero, hn_ix_sub(n, e, all)));
    hn_st rest = make_loop(n, t, body_with(n, loop, hn_ix_add(n, all, hn_ix_var(n, t))), HN_SERIAL);
    hn_ix at = hn_ix_min(n, hn_ix_scale(n, hn_ix_var(n, o), by), hn_ix_sub(n, e, hn_ix_int(n, f)));
    hn_st in = make_loop(n, i, body_with(n, loop, hn_ix_add(n, at, hn_ix_var(n, i))), HN_SERIAL);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    become(n, loop, o, in);
    insert_after(n, loop, rest);
    n->repeats = true;
    *inner = in, *tail = rest;
    if (done) *done = hn_ix_add(n, before, all);
    return true;
}

bool hn_loop_chunk(hn_nest *n, hn_st loop, int64_t f, hn_st *inner, const char **why) {
    hn_ix e = n->extent[n->st[loop].var];
    hn_dim factor = hn_dim_int(n->dims, f);
    if (n->st[loop].kind != HN_ST_LOOP || f < 1) return hn_loop_no(why, "no loop");
    hn_ix chunks = hn_ix_div(n, hn_ix_add(n, e, hn_ix_int(n, f - 1)), factor);
    hn_var c = hn_nest_var(n, chunks);
    hn_ix base = hn_ix_scale(n, hn_ix_var(n, c), factor);
    hn_var i = hn_nest_var(n, hn_ix_min(n, hn_ix_int(n, f), hn_ix_sub(n, e, base)));
    hn_st in = make_loop(n, i, body_with(n, loop, hn_ix_add(n, base, hn_ix_var(n, i))), HN_SERIAL);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    become(n, loop, c, in);
    if (inner) *inner = in;
    return true;
}

bool hn_loop_blocks(hn_nest *n, hn_st loop, int64_t f, hn_st *whole, hn_st *rest, const char **why) {
    int64_t e;
    if (n->st[loop].kind != HN_ST_LOOP || f < 1) return hn_loop_no(why, "no loop");
    if (!hn_ix_is_int(n, n->extent[n->st[loop].var], &e)) return hn_loop_no(why, "the length is not known");
    if (e < f) return hn_loop_no(why, "the loop is shorter than the factor");
    int64_t full = e / f, left = e % f;
    hn_var c = hn_nest_var(n, hn_ix_int(n, full + (left > 0))), i = hn_nest_var(n, hn_ix_int(n, f));
    hn_ix base = hn_ix_scale(n, hn_ix_var(n, c), hn_dim_int(n->dims, f));
    hn_st in = make_loop(n, i, body_with(n, loop, hn_ix_add(n, base, hn_ix_var(n, i))), HN_SERIAL), last = 0, head = in;
    if (left) { /* loops of one iteration or none say which of the two it is */
        hn_ix is_whole = hn_ix_min(n, hn_ix_int(n, 1), hn_ix_sub(n, hn_ix_int(n, full), hn_ix_var(n, c)));
        hn_var w = hn_nest_var(n, is_whole), t = hn_nest_var(n, hn_ix_int(n, left));
        hn_var l = hn_nest_var(n, hn_ix_sub(n, hn_ix_int(n, 1), is_whole));
        hn_ix at = hn_ix_add(n, hn_ix_int(n, full * f), hn_ix_var(n, t));
        last = make_loop(n, t, body_with(n, loop, at), HN_SERIAL);
        head = make_loop(n, w, in, HN_SERIAL);
        hn_st behind = make_loop(n, l, last, HN_SERIAL); /* moves the statements */
        n->st[head].next = behind;
    }
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    become(n, loop, c, head);
    if (whole) *whole = in;
    if (rest) *rest = last;
    return true;
}

/* Is the scalar itself part of the index? */
static bool reads(const hn_nest *n, hn_ix i, hn_sv x) {
    for (uint32_t t = 0; t < n->ix[i].n; t++) {
        const hn_atom *at = &n->atom[n->ix[i].term[t].atom];
        if (at->kind == HN_AT_VALUE && at->id == x) return true;
        if ((at->a && reads(n, at->a, x)) || (at->b && reads(n, at->b, x))) return true;
    }
    return false;
}

bool hn_loop_sink(hn_nest *n, hn_st loop, const char **why) {
    hn_st first = n->st[loop].body, last = 0, in = first;
    while (in && n->st[in].kind == HN_ST_LET) last = in, in = n->st[in].next;
    if (!in || n->st[in].kind != HN_ST_LOOP || n->st[in].next) return hn_loop_no(why, "there is not one loop inside");
    if (!last) return true;
    for (hn_st id = first; id != in; id = n->st[id].next) {
        const hn_scalar *x = &n->sv[n->st[id].value];
        if (x->kind == HN_SV_LOAD && !hn_nest_constant(n, x->buf))
            return hn_loop_no(why, "a definition reads memory that changes");
        if (reads(n, n->extent[n->st[in].var], n->st[id].value))
            return hn_loop_no(why, "the inner loop's length depends on a definition");
    }
    n->st[last].next = n->st[in].body;
    n->st[in].body = first;
    n->st[loop].body = in;
    return true;
}

/* Is a quotient or remainder of v left in an index? */
static bool broken(const hn_nest *n, hn_ix i, hn_var v) {
    for (uint32_t t = 0; t < n->ix[i].n; t++) {
        const hn_atom *x = &n->atom[n->ix[i].term[t].atom];
        if ((x->a && hn_ix_uses(n, x->a, v)) || (x->b && hn_ix_uses(n, x->b, v))) return true;
    }
    return false;
}
static bool body_broken(const hn_nest *n, hn_st first, hn_var v) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && (broken(n, n->extent[s->var], v) || body_broken(n, s->body, v))) return true;
        if (s->at && broken(n, s->at, v)) return true;
        if (s->kind != HN_ST_LET) continue;
        const hn_scalar *x = &n->sv[s->value];
        if (x->at && broken(n, x->at, v)) return true;
        for (uint32_t k = 0; k < x->n_guard; k++)
            if (broken(n, x->guard[k], v)) return true;
    }
    return false;
}

static bool collapse(hn_nest *n, hn_st loop, bool divides, const char **why) {
    hn_st in = n->st[loop].body;
    hn_dim a, b;
    if (!in || n->st[in].kind != HN_ST_LOOP || n->st[in].next) return hn_loop_no(why, "the loops are not alone");
    if (!hn_ix_is_dim(n, n->extent[n->st[loop].var], &a) || !hn_ix_is_dim(n, n->extent[n->st[in].var], &b))
        return hn_loop_no(why, "the extents depend on loops");
    hn_var x = hn_nest_var(n, hn_ix_dim(n, hn_dim_mul(n->dims, a, b)));
    hn_var vo = n->st[loop].var, vi = n->st[in].var;
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!var) return hn_loop_no(why, "out of memory");
    var[vo] = hn_ix_div(n, hn_ix_var(n, x), b);
    var[vi] = hn_ix_mod(n, hn_ix_var(n, x), b);
    hn_subst s = {var, NULL, n->n_var, 0};
    hn_st body = hn_nest_clone(n, n->st[in].body, &s);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    if (!divides && body_broken(n, body, x)) return hn_loop_no(why, "an index would need a division");
    become(n, loop, x, body);
    return true;
}

bool hn_loop_collapse(hn_nest *n, hn_st loop, const char **why) { return collapse(n, loop, false, why); }

bool hn_loop_fuse(hn_nest *n, hn_st loop, const char **why) {
    int64_t a, b;
    hn_st in = n->st[loop].body;
    if (!in || n->st[in].kind != HN_ST_LOOP || !hn_ix_is_int(n, n->extent[n->st[loop].var], &a) ||
        !hn_ix_is_int(n, n->extent[n->st[in].var], &b))
        return hn_loop_no(why, "the lengths are not known");
    return collapse(n, loop, true, why);
}

void hn_nest_collapse(hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        hn_nest_collapse(n, n->st[id].body);
        while (hn_loop_collapse(n, id, NULL)) {
        }
    }
}

bool hn_loop_swap(hn_nest *n, hn_st loop, const char **why) {
    hn_st in = n->st[loop].body;
    if (!in || n->st[in].kind != HN_ST_LOOP || n->st[in].next) return hn_loop_no(why, "the loops are not alone");
    hn_var vo = n->st[loop].var, vi = n->st[in].var;
    if (hn_ix_uses(n, n->extent[vi], vo)) return hn_loop_no(why, "the inner extent depends on the outer loop");
    if (!hn_loop_independent(n, n->st[in].body, (hn_var[]){vo, vi}, why)) return false;
    hn_loop_kind k = n->st[loop].loop;
    n->st[loop].var = vi;
    n->st[loop].loop = n->st[in].loop;
    n->st[in].var = vo;
    n->st[in].loop = k;
    return true;
}

bool hn_loop_prefetch(hn_nest *n, hn_st loop, int64_t every, hn_buf b, hn_ix at, int64_t lines, int64_t step,
                      const char **why) {
    hn_st inner, head = 0;
    if (n->st[loop].loop != HN_SERIAL) return hn_loop_no(why, "the loop is not serial");
    if (n->buf[b].space == HN_REG) return hn_loop_no(why, "a register needs no prefetch");
    if (every > 1 && !hn_loop_split(n, loop, every, &inner, NULL, why)) return false;
    if (every == 1) inner = n->st[loop].body;
    hn_ix run = hn_ix_scale(n, hn_ix_var(n, n->st[loop].var), hn_dim_int(n->dims, lines * step));
    for (int64_t l = lines; l-- > 0;) {
        hn_ix here = hn_ix_add(n, hn_ix_add(n, at, run), hn_ix_int(n, l * step));
        hn_st s = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_PREFETCH, .buf = b, .at = here});
        n->st[s].next = head ? head : inner;
        head = s;
    }
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    if (head) n->st[loop].body = head;
    return true;
}

/* -- peeling */
typedef struct range {
    hn_ix low, high; /* v is inside where low <= v < high; 0: no bound */
} range;

/* Bounds of v from one guard c*v + rest >= 0 over all values of the loops further in; false: it gives none. */
static bool bound_by(hn_nest *n, hn_ix guard, hn_var v, range *r) {
    hn_dim c, d;
    int64_t k;
    if (!hn_ix_stride(n, guard, v, &c) || !hn_dim_is_int(n->dims, c, &k) || k == 0) return false;
    hn_ix rest = hn_ix_sub(n, guard, hn_ix_scale(n, hn_ix_var(n, v), c));
    if (!(d = hn_ix_low(n, rest))) return false;
    hn_dim zero = hn_dim_int(n->dims, 0), by = hn_dim_int(n->dims, k > 0 ? k : -k);
    if (k > 0) {
        hn_ix low = hn_ix_dim(n, hn_dim_ceildiv(n->dims, hn_dim_sub(n->dims, zero, d), by));
        r->low = r->low ? hn_ix_max(n, r->low, low) : low;
    } else {
        hn_ix high = hn_ix_dim(n, hn_dim_add(n->dims, hn_dim_floordiv(n->dims, d, by), hn_dim_int(n->dims, 1)));
        r->high = r->high ? hn_ix_min(n, r->high, high) : high;
    }
    return true;
}
static void bounds_in(hn_nest *n, hn_st first, hn_var v, range *r, held *h) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LOOP) bounds_in(n, n->st[id].body, v, r, h);
        if (n->st[id].kind != HN_ST_LET) continue;
        const hn_scalar x = n->sv[n->st[id].value];
        for (uint32_t k = 0; k < x.n_guard; k++)
            if (bound_by(n, x.guard[k], v, r)) hold(n, h, x.guard[k]);
    }
}

static hn_st part(hn_nest *n, hn_st loop, hn_ix from, hn_ix to, const held *h) {
    hn_var v = hn_nest_var(n, hn_ix_sub(n, to, from));
    return make_loop(n, v, body_where(n, loop, hn_ix_add(n, from, hn_ix_var(n, v)), h), n->st[loop].loop);
}

/* The loop in three: in front of the range, in it, where these guards hold, and behind it. */
static bool cut(hn_nest *n, hn_st loop, range r, const held *h, hn_st *inside, const char **why) {
    held none = {0};
    hn_ix e = n->extent[n->st[loop].var], zero = hn_ix_int(n, 0);
    hn_ix low = hn_ix_min(n, hn_ix_max(n, r.low ? r.low : zero, zero), e);
    hn_ix high = hn_ix_max(n, hn_ix_min(n, r.high ? r.high : e, e), low);
    hn_st before = part(n, loop, zero, low, &none), middle = part(n, loop, low, high, h);
    hn_st behind = part(n, loop, high, e, &none);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    hn_st next = n->st[loop].next;
    n->st[loop] = n->st[before];
    n->st[loop].next = middle;
    n->st[middle].next = behind;
    n->st[behind].next = next;
    if (inside) *inside = middle;
    return true;
}

bool hn_loop_peel(hn_nest *n, hn_st loop, hn_st *inside, const char **why) {
    range r = {0, 0};
    held h = {0};
    bounds_in(n, n->st[loop].body, n->st[loop].var, &r, &h);
    if (!r.low && !r.high) return hn_loop_no(why, "no guard depends on the loop alone");
    return cut(n, loop, r, &h, inside, why);
}

/* -- bends */
static bool int_range(hn_nest *n, hn_ix i, int64_t *low, int64_t *high) {
    hn_dim a = hn_ix_low(n, i), b = hn_ix_high(n, i);
    return a && b && hn_dim_is_int(n->dims, a, low) && hn_dim_is_int(n->dims, b, high);
}

/* Does the sum, in which v is the only variable, change its sign in the loop? */
static bool turns(hn_nest *n, hn_ix i, hn_var v) {
    int64_t step, low, high;
    if (!hn_ix_step(n, i, v, &step) || !step || n->ix[i].n != 1) return false;
    return int_range(n, i, &low, &high) && low < 0 && high >= 0;
}

/* a - m for the first multiple m of the divisor that a reaches; 0: it reaches none, or too many. */
static hn_ix over_multiple(hn_nest *n, const hn_atom *x) {
    int64_t low, high, by;
    if (!int_range(n, x->a, &low, &high) || !hn_dim_is_int(n->dims, x->by, &by) || by < 1) return 0;
    int64_t below = (low - (low % by + by) % by) / by, last = (high - (high % by + by) % by) / by;
    if (last == below || last - below > MULTIPLES_MAX) return 0;
    return hn_ix_sub(n, x->a, hn_ix_int(n, by * (below + 1)));
}

/* An expression that is below 0 on one side of a bend of the index, and not on the other; 0: it is linear in v. */
static hn_ix bend_of(hn_nest *n, hn_ix i, hn_var v) {
    for (uint32_t t = 0; t < n->ix[i].n; t++) {
        const hn_atom x = n->atom[n->ix[i].term[t].atom];
        hn_ix found = x.a ? bend_of(n, x.a, v) : 0;
        if (!found && x.b) found = bend_of(n, x.b, v);
        if (found) return found;
        if (x.kind == HN_AT_MIN || x.kind == HN_AT_MAX) found = hn_ix_sub(n, x.b, x.a);
        if (x.kind == HN_AT_DIV || x.kind == HN_AT_MOD) found = over_multiple(n, &x);
        if (found && turns(n, found, v)) return found;
    }
    return 0;
}

/* The first in the order of the text. */
static hn_ix bend_in(hn_nest *n, hn_st first, hn_var v) {
    hn_ix found = 0;
    for (hn_st id = first; id && !found; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_LOOP)
            found = bend_in(n, s.body, v);
        else if (s.at)
            found = bend_of(n, s.at, v);
        const hn_scalar x = n->sv[s.kind == HN_ST_LET ? s.value : 0];
        if (x.at && !found) found = bend_of(n, x.at, v);
        for (uint32_t k = 0; k < x.n_guard && !found; k++) found = bend_of(n, x.guard[k], v);
    }
    return found;
}

bool hn_loop_unbend(hn_nest *n, hn_st loop, hn_st *inside, const char **why) {
    range r = {0, 0};
    hn_var v = n->st[loop].var;
    hn_ix at = bend_in(n, n->st[loop].body, v);
    if (!at || !bound_by(n, at, v, &r)) return hn_loop_no(why, "no index bends in the loop");
    return cut(n, loop, r, &(held){0}, inside, why);
}

/* -- trimming */
/* Bounds of v from one guard c*v + rest >= 0 where the rest is known outside the loop; false: it is not. */
static bool bound_outside(hn_nest *n, hn_ix guard, hn_var v, const bool *inner, range *r) {
    hn_dim c;
    int64_t k;
    if (!hn_ix_stride(n, guard, v, &c) || !hn_dim_is_int(n->dims, c, &k) || k == 0) return false;
    hn_ix rest = hn_ix_sub(n, guard, hn_ix_scale(n, hn_ix_var(n, v), c)), zero = hn_ix_int(n, 0);
    for (hn_var i = 1; i < n->n_var; i++)
        if (inner[i] && hn_ix_depends(n, rest, i)) return false;
    for (uint32_t t = 0; t < n->ix[rest].n; t++)
        if (n->atom[n->ix[rest].term[t].atom].kind == HN_AT_VALUE) return false;
    hn_ix steps = hn_ix_div(n, rest, hn_dim_int(n->dims, k > 0 ? k : -k));
    if (k > 0) {
        hn_ix low = hn_ix_sub(n, zero, steps);
        r->low = r->low ? hn_ix_max(n, r->low, low) : low;
    } else {
        hn_ix high = hn_ix_add(n, steps, hn_ix_int(n, 1));
        r->high = r->high ? hn_ix_min(n, r->high, high) : high;
    }
    return true;
}

/* Is x the neutral value of the operation? */
static bool is_neutral(const hn_scalar *x, hn_op op) {
    if (x->kind != HN_SV_CONST) return false;
    if (op == HN_OP_ADD) return x->f == 0 && x->i == 0;
    return op == HN_OP_MAX && hn_is_float(x->dtype) && x->f < 0 && isinf(x->f);
}

/* The list does nothing but update registers by values picked under conditions, which *pick shows. */
static bool picks_alone(hn_nest *n, hn_st first, bool *inner, const hn_scalar **pick) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LET) continue;
        if (s->kind == HN_ST_LOOP) {
            inner[s->var] = true;
            if (!picks_alone(n, s->body, inner, pick)) return false;
            continue;
        }
        const hn_scalar *x = s->kind == HN_ST_UPDATE ? &n->sv[s->value] : NULL;
        if (!x || *pick || x->kind != HN_SV_PICK || !is_neutral(&n->sv[x->arg[1]], s->op)) return false;
        *pick = x;
    }
    return true;
}

bool hn_loop_trim(hn_nest *n, hn_st loop, const char **why) {
    hn_var v = n->st[loop].var;
    hn_ix e = n->extent[v], zero = hn_ix_int(n, 0);
    bool *inner = HN_NEW_N(n->a, bool, n->n_var);
    const hn_scalar *pick = NULL;
    range r = {0, 0};
    if (!inner) return hn_loop_no(why, "out of memory");
    if (!picks_alone(n, n->st[loop].body, inner, &pick) || !pick)
        return hn_loop_no(why, "the loop does more than update a register under conditions");
    const hn_scalar x = *pick;
    held h = {0};
    for (uint32_t k = 0; k < x.n_guard; k++)
        if (bound_outside(n, x.guard[k], v, inner, &r)) hold(n, &h, x.guard[k]);
    if (!h.n) return hn_loop_no(why, "no condition depends on the loop and what is around it alone");
    hn_ix low = hn_ix_min(n, hn_ix_max(n, r.low ? r.low : zero, zero), e);
    hn_ix high = hn_ix_max(n, hn_ix_min(n, r.high ? r.high : e, e), low);
    hn_st inside = part(n, loop, low, high, &h);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    become(n, loop, n->st[inside].var, n->st[inside].body);
    return true;
}

void hn_nest_trim(hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        if (n->st[id].loop == HN_SERIAL) hn_loop_trim(n, id, NULL);
        hn_nest_trim(n, n->st[id].body);
    }
}

bool hn_loop_repeat(hn_nest *n, hn_st loop, const char **why) {
    int64_t e;
    hn_st head = 0, tail = 0;
    if (n->st[loop].kind != HN_ST_LOOP || n->st[loop].loop != HN_SERIAL) return hn_loop_no(why, "no serial loop");
    if (!hn_ix_is_int(n, n->extent[n->st[loop].var], &e) || e < 1 || e > REPEATS_MAX)
        return hn_loop_no(why, "the length is not a small constant");
    for (int64_t k = 0; k < e; k++) { /* each in a loop of one iteration, which tidying takes away */
        hn_st once = make_loop(n, hn_nest_var(n, hn_ix_int(n, 1)), body_with(n, loop, hn_ix_int(n, k)), HN_SERIAL);
        if (tail)
            n->st[tail].next = once;
        else
            head = once;
        tail = once;
    }
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    n->st[tail].next = n->st[loop].next;
    hn_st next = n->st[head].next;
    n->st[loop] = n->st[head];
    n->st[loop].next = next;
    return true;
}

/* -- tidying */
static hn_st tidy(hn_nest *n, hn_st first) {
    hn_st head = 0, tail = 0;
    for (hn_st id = first, next; id; id = next) {
        next = n->st[id].next;
        hn_st add = id;
        int64_t e;
        if (n->st[id].kind == HN_ST_LOOP) {
            n->st[id].body = tidy(n, n->st[id].body);
            bool own = n->st[id].loop == HN_ROLE || n->st[id].loop == HN_CLUSTER; /* stays: its threads are its own */
            if (!own && hn_ix_is_int(n, n->extent[n->st[id].var], &e) && e <= 1) add = e == 1 ? n->st[id].body : 0;
            if (!n->st[id].body) add = 0;
        }
        if (!add) continue;
        if (tail)
            n->st[tail].next = add;
        else
            head = add;
        if (add == id) n->st[id].next = 0;
        for (tail = add; n->st[tail].next; tail = n->st[tail].next) {
        }
    }
    return head;
}
void hn_nest_tidy(hn_nest *n) { n->first = tidy(n, n->first); }
