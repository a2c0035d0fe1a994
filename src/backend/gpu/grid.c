/* backend/gpu/grid.c — the sketch that fits every nest: loops whose iterations are independent become work items, each
 * of one thread; all else runs inside of a thread. */
#include "backend/gpu/gpu.h"
#include "nest/chain.h"
#include "nest/schedule.h"

static bool fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    (void)n, (void)m;
    *out = (hn_knobs){0};
    return true;
}

/* Does statement id, or one inside, store to buffer b; touch it? */
static bool stores_to(const hn_nest *n, hn_st id, hn_buf b) {
    const hn_stmt *s = &n->st[id];
    for (hn_st k = s->kind == HN_ST_LOOP ? s->body : 0; k; k = n->st[k].next)
        if (stores_to(n, k, b)) return true;
    return s->kind == HN_ST_STORE && s->buf == b;
}
static bool touches(const hn_nest *n, hn_st id, hn_buf b) {
    const hn_stmt *s = &n->st[id];
    for (hn_st k = s->kind == HN_ST_LOOP ? s->body : 0; k; k = n->st[k].next)
        if (touches(n, k, b)) return true;
    const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
    return (s->kind == HN_ST_STORE && s->buf == b) || (x && x->kind == HN_SV_LOAD && x->buf == b);
}

/* Local memory passes between the loop and what stands beside it: each thread has its own, so one must do both. */
static bool shares(const hn_nest *n, hn_st first, hn_st loop) {
    for (hn_buf b = 1; b < n->n_buf; b++)
        for (hn_st id = first; id && n->buf[b].space == HN_LOCAL; id = n->st[id].next)
            if (id != loop &&
                ((stores_to(n, loop, b) && touches(n, id, b)) || (stores_to(n, id, b) && touches(n, loop, b))))
                return true;
    return false;
}

static bool apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    (void)m, (void)setting, (void)why;
    hn_nest_trim(n, n->first);
    hn_nest_tidy(n);
    hn_st at = n->first;
    while (at && n->st[at].kind == HN_ST_LET) at = n->st[at].next;
    if (at && shares(n, n->first, at)) return true;
    while (at && n->st[at].kind == HN_ST_LOOP && n->st[at].loop == HN_SERIAL) {
        if (!hn_loop_parallelise(n, at, NULL)) break;
        at = hn_lone_loop(n, n->st[at].body);
    }
    return true;
}

const hn_sketch hn_gpu_grid = {
    .name = "grid", .summary = "independent loops are threads", .fits = fits, .apply = apply};
