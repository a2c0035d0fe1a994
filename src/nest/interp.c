/* nest/interp.c — runs a nest (nest/interp.h): loops, lanes and which of them take part, index expressions. */
#include "nest/interp_int.h"
#include "nest/threads.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *statement_text(hn_st_kind k) {
    static const char *const text[] = {[HN_ST_LOOP] = "a loop",
                                       [HN_ST_LET] = "a definition",
                                       [HN_ST_STORE] = "a store",
                                       [HN_ST_UPDATE] = "an update",
                                       [HN_ST_REG] = "a register",
                                       [HN_ST_PREFETCH] = "a prefetch",
                                       [HN_ST_BARRIER] = "a barrier",
                                       [HN_ST_COPY] = "a copy",
                                       [HN_ST_COMMIT] = "a commit",
                                       [HN_ST_WAIT] = "a wait",
                                       [HN_ST_MMA] = "a tile product",
                                       [HN_ST_ARRIVE] = "an arrival",
                                       [HN_ST_AWAIT] = "a wait at a gate",
                                       [HN_ST_PUSH] = "a push"};
    return text[k];
}

hone_rc hn_run_wrong(hn_run_state *s, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return hn_fail(s->err, HONE_E_INPUT, "loop nest: %s (statement %u) %s", statement_text(s->n->st[s->at].kind), s->at,
                   text);
}

/* -- index expressions */
static hone_rc atom_value(hn_run_state *s, const hn_atom *x, int64_t lane, int64_t *out) {
    int64_t a = 0, b = 0, by;
    hone_rc rc = HONE_OK;
    if (x->a) rc = hn_run_index(s, x->a, lane, &a);
    if (!rc && x->b) rc = hn_run_index(s, x->b, lane, &b);
    if (rc) return rc;
    switch (x->kind) {
    case HN_AT_VAR: {
        int k = s->var_loop[x->id];
        if (!k) return *out = s->var[x->id], HONE_OK;
        *out = lane / (hn_run_lanes(s) / s->loop[k - 1].lanes) % s->loop[k - 1].extent;
        return HONE_OK;
    }
    case HN_AT_VALUE: memcpy(out, hn_run_element(s, x->id, lane), sizeof *out); return HONE_OK;
    case HN_AT_MIN: *out = a < b ? a : b; return HONE_OK;
    case HN_AT_MAX: *out = a > b ? a : b; return HONE_OK;
    case HN_AT_XOR: *out = a ^ b; return HONE_OK;
    case HN_AT_DIV:
    case HN_AT_MOD: break;
    }
    if (!(by = s->by[x - s->n->atom])) {
        if (!hn_dim_eval(s->n->dims, x->by, s->run->symbol, &by) || by == 0) return hn_run_wrong(s, "divides by 0");
        s->by[x - s->n->atom] = by;
    }
    int64_t r = ((a % by) + by) % by;
    *out = x->kind == HN_AT_MOD ? r : (a - r) / by;
    return HONE_OK;
}

static int64_t *numbers_of(hn_run_state *s, const hn_linear *f) {
    int64_t *to = HN_NEW_N(&s->a, int64_t, f->n + 1);
    bool known = to && hn_dim_eval(s->n->dims, f->offset, s->run->symbol, &to[0]);
    for (uint32_t t = 0; t < f->n && known; t++)
        known = hn_dim_eval(s->n->dims, f->term[t].coef, s->run->symbol, &to[t + 1]);
    return known ? to : NULL;
}

hone_rc hn_run_index(hn_run_state *s, hn_ix i, int64_t lane, int64_t *out) {
    const hn_linear *f = &s->n->ix[i];
    int64_t v = 0;
    if (!s->form[i] && !(s->form[i] = numbers_of(s, f))) return hn_run_wrong(s, "has a size that is not known");
    int64_t sum = s->form[i][0];
    for (uint32_t t = 0; t < f->n; t++) {
        hone_rc rc = atom_value(s, &s->n->atom[f->term[t].atom], lane, &v);
        if (rc) return rc;
        sum += s->form[i][t + 1] * v;
    }
    *out = sum;
    return HONE_OK;
}

hone_rc hn_run_holds(hn_run_state *s, uint32_t n, const hn_ix *guard, int64_t lane, bool *holds) {
    *holds = true;
    for (uint32_t k = 0; k < n && *holds; k++) {
        int64_t v;
        hone_rc rc = hn_run_index(s, guard[k], lane, &v);
        if (rc) return rc;
        *holds = v >= 0;
    }
    return HONE_OK;
}

/* -- statements */
static hone_rc run_list(hn_run_state *s, hn_st first);

hone_rc hn_run_lanes_of(hn_run_state *s, const hn_stmt *x) {
    int64_t e, threads = s->threads;
    hone_rc rc = hn_run_index(s, s->n->extent[x->var], 0, &e);
    if (rc) return rc;
    int64_t lanes = hn_run_lanes(s) * e;
    s->loop[s->depth++] = (hn_run_loop){x->var, x->loop, e, lanes};
    s->var_loop[x->var] = s->depth;
    if (x->loop == HN_GROUP || x->loop == HN_ROLE || x->loop == HN_CLUSTER) s->threads *= e;
    rc = run_list(s, x->body);
    s->threads = threads;
    s->var_loop[x->var] = 0;
    s->depth--;
    return rc;
}

/* Serial: as long as some lane goes on; those that are done wait. */
static hone_rc run_serial(hn_run_state *s, const hn_stmt *x) {
    int64_t lanes = hn_run_lanes(s), most = 0, least = INT64_MAX;
    int64_t *extent = calloc((size_t)lanes, sizeof *extent);
    uint8_t *mask = calloc((size_t)lanes, 1);
    const uint8_t *outer = s->mask;
    int64_t outer_lanes = s->mask_lanes;
    hone_rc rc = extent && mask ? HONE_OK : hn_fail(s->err, HONE_E_NOMEM, "out of memory in running a loop nest");
    for (int64_t l = 0; l < lanes && !rc; l++) {
        if (!hn_run_takes_part(s, l)) continue;
        rc = hn_run_index(s, s->n->extent[x->var], l, &extent[l]);
        most = extent[l] > most ? extent[l] : most;
        least = extent[l] < least ? extent[l] : least;
    }
    s->loop[s->depth++] = (hn_run_loop){x->var, x->loop, 1, lanes};
    for (int64_t v = 0; v < most && !rc; v++) {
        s->var[x->var] = v;
        if (v >= least) {
            for (int64_t l = 0; l < lanes; l++) mask[l] = (!outer || outer[l / (lanes / outer_lanes)]) && v < extent[l];
            s->mask = mask;
            s->mask_lanes = lanes;
        }
        rc = run_list(s, x->body);
        s->mask = outer;
        s->mask_lanes = outer_lanes;
    }
    s->depth--;
    free(extent);
    free(mask);
    return rc;
}

/* What a work item leaves under way reaches into the next one of its block. */
static hone_rc end_item(hn_run_state *s) {
    if (!s->n_way) return HONE_OK;
    return hn_run_wrong(s, "ends a work item with copies that were not waited for");
}

/* A work item begins: what is shared and local is undefined, unless it was made outside of all items. */
static void begin_item(hn_run_state *s) {
    static const hn_shadow none;
    s->item++;
    s->met = ++s->moment;
    for (hn_buf b = 1; b < s->n->n_buf; b++) {
        hn_run_memory *m = &s->mem[b];
        if (s->n->buf[b].space != HN_SHARED) continue;
        for (int64_t i = 0; i < m->size * s->cluster; i++) m->shadow[i] = none;
    }
    s->n_way = 0;
}

static bool has_parallel(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_LOOP && n->st[id].loop == HN_PARALLEL) return true;
    return false;
}

static hone_rc run_parallel(hn_run_state *s, const hn_stmt *x) {
    int64_t e;
    hone_rc rc = hn_run_index(s, s->n->extent[x->var], 0, &e);
    bool inner = has_parallel(s->n, x->body);
    s->loop[s->depth++] = (hn_run_loop){x->var, x->loop, 1, 1};
    for (int64_t v = 0; v < e && !rc; v++) {
        s->var[x->var] = v;
        if (!inner) begin_item(s);
        rc = run_list(s, x->body);
        if (!inner && !rc) rc = end_item(s);
    }
    s->depth--;
    return rc;
}

static hone_rc run_loop(hn_run_state *s, const hn_stmt *x) {
    if (s->depth == HN_RUN_DEPTH)
        return hn_fail(s->err, HONE_E_INPUT, "more than %d loops inside each other", s->depth);
    switch (x->loop) {
    case HN_PARALLEL: return run_parallel(s, x);
    case HN_SERIAL: return run_serial(s, x);
    default: return hn_run_lanes_of(s, x);
    }
}

static hone_rc run_store(hn_run_state *s, const hn_stmt *x) {
    hone_rc rc = HONE_OK;
    for (int64_t l = 0, n = hn_run_lanes(s), at; l < n && !rc; l++) {
        bool holds;
        if (!hn_run_takes_part(s, l)) continue;
        if ((rc = hn_run_holds(s, x->n_guard, x->guard, l, &holds)) || !holds) continue;
        if (!(rc = hn_run_index(s, x->at, l, &at))) rc = hn_run_write(s, x->buf, at, l, hn_run_element(s, x->value, l));
    }
    return rc;
}

static hone_rc run_list(hn_run_state *s, hn_st first) {
    hone_rc rc = HONE_OK;
    for (hn_st id = first; id && !rc; id = s->n->st[id].next) {
        const hn_stmt x = s->n->st[id];
        s->at = id;
        s->steps += hn_run_lanes(s);
        if (s->run->steps && s->steps > s->run->steps)
            return hn_fail(s->err, HONE_E_UNSUPPORTED, "the loop nest takes too long to interpret");
        switch (x.kind) {
        case HN_ST_LOOP: rc = x.loop == HN_ROLE ? hn_run_side_by_side(s, id, &id) : run_loop(s, &x); break;
        case HN_ST_LET: rc = hn_run_let(s, x.value); break;
        case HN_ST_STORE: rc = run_store(s, &x); break;
        case HN_ST_UPDATE: rc = hn_run_update(s, &x); break;
        case HN_ST_REG: rc = hn_run_declare(s, x.buf); break;
        case HN_ST_PREFETCH: break;
        case HN_ST_BARRIER:
            s->moment++;
            if (x.cluster) s->met = s->moment;
            break;
        case HN_ST_PUSH: rc = hn_run_push(s, &x); break;
        case HN_ST_COPY: rc = hn_run_copy(s, &x); break;
        case HN_ST_COMMIT: hn_run_commit(s); break;
        case HN_ST_WAIT: hn_run_wait(s, x.count); break;
        case HN_ST_MMA: rc = hn_run_mma(s, &x); break;
        case HN_ST_ARRIVE: rc = hn_run_arrive(s, &x); break;
        case HN_ST_AWAIT: rc = hn_run_await(s, &x); break;
        }
    }
    return rc;
}

/* -- a run */
static bool make_memory(hn_run_state *s, hn_buf b) {
    const hn_nbuf *x = &s->n->buf[b];
    hn_run_memory *m = &s->mem[b];
    if (x->space == HN_REG || x->space == HN_GATE) return true;
    if (!hn_dim_eval(s->n->dims, x->size, s->run->symbol, &m->size) || m->size < 0) return false;
    if (x->space == HN_PARAM || x->space == HN_WORDS) {
        m->data = s->run->in[x->index];
        m->data.dtype = x->dtype;
    } else if (x->space == HN_RESULT) {
        m->data = s->run->out[x->index];
    }
    int64_t all = x->space == HN_SHARED ? m->size * s->cluster : m->size; /* each block has its own */
    if (!m->data.data && x->space != HN_PARAM && x->space != HN_WORDS && x->space != HN_RESULT &&
        !hn_tensor_new(&s->a, x->dtype, 1, &all, &m->data))
        return false;
    if (x->space == HN_PARAM || x->space == HN_WORDS) return true;
    m->shadow = HN_NEW_N(&s->a, hn_shadow, (size_t)all + 1);
    return m->shadow != NULL;
}

static hone_rc all_written(hn_run_state *s) {
    for (hn_buf b = 1; b < s->n->n_buf; b++)
        for (int64_t i = 0; s->n->buf[b].space == HN_RESULT && i < s->mem[b].size; i++)
            if (!s->mem[b].shadow[i].written)
                return hn_fail(s->err, HONE_E_INPUT, "loop nest: element %lld of result %u is never written",
                               (long long)i, s->n->buf[b].index);
    return HONE_OK;
}

hone_rc hn_nest_interpret(hn_nest *n, hn_nest_run *run, hone_err *err) {
    hn_run_state s = {.n = n, .run = run, .threads = 1, .moment = 1, .met = 1, .cluster = 1, .err = err};
    hone_rc rc = hn_nest_verify(n, err);
    run->index_fault = false;
    s.block = hn_nest_block(n).all;
    if (s.block < 1) s.block = 1;
    s.cluster = hn_nest_cluster(n);
    s.block *= s.cluster;
    s.mem = HN_NEW_N(&s.a, hn_run_memory, n->n_buf + 1);
    s.value = HN_NEW_N(&s.a, hn_value_of, n->n_sv + 1);
    s.var = HN_NEW_N(&s.a, int64_t, n->n_var + 1);
    s.var_loop = HN_NEW_N(&s.a, int, n->n_var + 1);
    s.form = HN_NEW_N(&s.a, int64_t *, n->n_ix + 1);
    s.by = HN_NEW_N(&s.a, int64_t, n->n_atom + 1);
    bool room = hn_arena_ok(&s.a);
    for (hn_buf b = 1; b < n->n_buf && room && !rc; b++) room = make_memory(&s, b);
    if (!rc && !room)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory in running a loop nest, or a size that is not known");
    if (!rc) rc = run_list(&s, n->first);
    if (!rc) rc = end_item(&s);
    if (!rc) rc = all_written(&s);
    hn_arena_free(&s.a);
    return rc;
}
