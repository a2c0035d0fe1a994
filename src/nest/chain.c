/* nest/chain.c — chains of loops and strides. */
#include "nest/chain.h"
#include "nest/nest_int.h"

hn_st hn_lone_loop(const hn_nest *n, hn_st first) {
    hn_st found = 0;
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LET) continue;
        if (n->st[id].kind != HN_ST_LOOP || found || n->st[id].next) return 0;
        found = id;
    }
    return found;
}

hn_chain hn_chain_of(const hn_nest *n, hn_st first) {
    hn_chain c = {.n = 0};
    for (hn_st id = hn_lone_loop(n, first); id && c.n < HN_CHAIN_MAX; id = hn_lone_loop(n, n->st[id].body))
        c.loop[c.n++] = id;
    return c;
}

bool hn_has_loop(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_LOOP) return true;
    return false;
}

bool hn_ix_contiguous(hn_nest *n, hn_ix at, hn_var v, int64_t lanes) {
    int64_t k;
    hn_var run = hn_nest_var(n, hn_ix_div(n, n->extent[v], hn_dim_int(n->dims, lanes)));
    hn_var lane = hn_nest_var(n, hn_ix_int(n, lanes));
    hn_ix *var = HN_NEW_N(n->a, hn_ix, v + 1u);
    if (!var) return false;
    var[v] = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, run), hn_dim_int(n->dims, lanes)), hn_ix_var(n, lane));
    hn_subst s = {var, NULL, v + 1u, 0};
    hn_ix moved = hn_ix_subst(n, at, &s);
    return hn_ix_step(n, moved, lane, &k) && k == 1;
}
