/* nest/body_place.c — where statements go while a body is lowered. */
#include "nest/body.h"

hn_body_scope *hn_deeper(hn_body_scope *a, hn_body_scope *b) { return a->depth >= b->depth ? a : b; }

bool hn_in_sight(const hn_nest_lowering *l, const hn_body_scope *s) {
    for (const hn_body_scope *p = l->scope; p; p = p->up)
        if (p == s) return true;
    return false;
}

static hn_body_scope *outermost(const hn_nest_lowering *l) {
    hn_body_scope *s = l->scope;
    while (s->up) s = s->up;
    return s;
}

static hn_body_scope *home_of_var(const hn_nest_lowering *l, hn_var v) {
    for (hn_body_scope *s = l->scope; s; s = s->up)
        if (s->var == v) return s;
    return l->scope;
}

static hn_body_scope *home_of_sv(const hn_nest_lowering *l, hn_sv x) {
    return x < l->n_home && l->home[x] ? l->home[x] : l->scope;
}

hn_body_scope *hn_home_of_ix(hn_nest_lowering *l, hn_ix i) {
    hn_body_scope *s = outermost(l);
    const hn_linear *f = &l->n->ix[i];
    for (uint32_t t = 0; t < f->n; t++) {
        const hn_atom *x = &l->n->atom[f->term[t].atom];
        if (x->kind == HN_AT_VAR)
            s = hn_deeper(s, home_of_var(l, x->id));
        else if (x->kind == HN_AT_VALUE)
            s = hn_deeper(s, home_of_sv(l, x->id));
        if (x->a) s = hn_deeper(s, hn_home_of_ix(l, x->a));
        if (x->b) s = hn_deeper(s, hn_home_of_ix(l, x->b));
    }
    return s;
}

hn_body_scope *hn_home_of_guards(hn_nest_lowering *l) {
    hn_body_scope *s = outermost(l);
    for (uint32_t k = 0; k < l->n_guard; k++) s = hn_deeper(s, hn_home_of_ix(l, l->guard[k]));
    return s;
}

static void append_to(hn_nest_lowering *l, hn_body_scope *s, const hn_stmt *x) {
    hn_st made = hn_nest_stmt(l->n, x);
    if (s->tail)
        l->n->st[s->tail].next = made;
    else
        s->head = made;
    s->tail = made;
}
void hn_append(hn_nest_lowering *l, const hn_stmt *s) { append_to(l, l->scope, s); }

hn_var hn_open_loop(hn_nest_lowering *l, hn_ix extent, hn_loop_kind kind) {
    hn_body_scope *s = HN_NEW(l->n->a, hn_body_scope);
    if (!s) return 0;
    *s = (hn_body_scope){.up = l->scope, .depth = l->scope->depth + 1, .kind = kind, .var = hn_nest_var(l->n, extent)};
    l->scope = s;
    return s->var;
}

void hn_close_loop(hn_nest_lowering *l) {
    hn_body_scope *s = l->scope;
    if (!s->up) return;
    l->scope = s->up;
    hn_append(l, &(hn_stmt){.kind = HN_ST_LOOP, .loop = s->kind, .var = s->var, .body = s->head});
}

static hn_body_scope *home_of(hn_nest_lowering *l, const hn_scalar *x) {
    hn_body_scope *s = outermost(l);
    if (x->kind == HN_SV_LOAD && l->n->buf[x->buf].space != HN_PARAM) return l->scope; /* memory that changes */
    if (x->at) s = hn_deeper(s, hn_home_of_ix(l, x->at));
    for (uint32_t k = 0; k < x->n_guard; k++) s = hn_deeper(s, hn_home_of_ix(l, x->guard[k]));
    for (uint32_t k = 0; k < x->n_arg; k++) s = hn_deeper(s, home_of_sv(l, x->arg[k]));
    return s;
}

static void set_home(hn_nest_lowering *l, hn_sv x, hn_body_scope *s) {
    if (x >= l->n_home) {
        uint32_t more = 2 * x + 64;
        hn_body_scope **to = HN_NEW_N(l->n->a, hn_body_scope *, more);
        if (!to) return;
        if (l->n_home) memcpy(to, l->home, l->n_home * sizeof *to);
        l->home = to;
        l->n_home = more;
    }
    l->home[x] = s;
}

hn_sv hn_place(hn_nest_lowering *l, const hn_scalar *x) {
    hn_nest *n = l->n;
    hn_body_scope *s = home_of(l, x);
    bool changes = x->kind == HN_SV_LOAD && n->buf[x->buf].space != HN_PARAM;
    for (uint32_t k = 0; k < s->n_seen && !changes; k++)
        if (hn_scalar_same(&n->sv[s->seen[k]], x)) return s->seen[k];
    hn_sv id = hn_nest_scalar(n, x);
    if (!id || !hn_nest_grow(n->a, (void **)&s->seen, s->n_seen, &s->room_seen, sizeof *s->seen)) return 0;
    s->seen[s->n_seen++] = id;
    set_home(l, id, s);
    append_to(l, s, &(hn_stmt){.kind = HN_ST_LET, .value = id});
    return id;
}

hn_sv hn_place_op(hn_nest_lowering *l, hn_op op, hone_dtype t, hn_sv a, hn_sv b, hn_sv c) {
    hn_scalar x = {.kind = HN_SV_OP, .dtype = t, .op = op, .arg = {a, b, c}};
    x.n_arg = (uint8_t)(c ? 3 : b ? 2 : 1);
    return hn_place(l, &x);
}
hn_sv hn_place_cast(hn_nest_lowering *l, hn_sv x, hone_dtype t, bool saturate) {
    if (l->n->sv[x].dtype == t) return x;
    hn_scalar c = {.kind = HN_SV_OP, .dtype = t, .op = HN_OP_CAST, .arg = {x}, .n_arg = 1, .saturate = saturate};
    return hn_place(l, &c);
}
hn_sv hn_place_number(hn_nest_lowering *l, hone_dtype t, double f, int64_t i) {
    hn_scalar x = {.kind = HN_SV_CONST, .dtype = t};
    if (hn_is_float(t))
        x.f = f;
    else
        x.i = i;
    return hn_place(l, &x);
}
hn_sv hn_place_index(hn_nest_lowering *l, hn_ix i) {
    return hn_place(l, &(hn_scalar){.kind = HN_SV_INDEX, .dtype = HONE_I64, .at = i});
}

static const hn_ix *keep_guards(hn_nest_lowering *l, uint32_t n, const hn_ix *guard) {
    hn_ix *to = n ? HN_NEW_N(l->n->a, hn_ix, n) : NULL;
    if (to) memcpy(to, guard, n * sizeof *to);
    return to;
}
hn_sv hn_place_load(hn_nest_lowering *l, hn_buf b, hn_ix at) {
    hn_scalar x = {.kind = HN_SV_LOAD, .dtype = l->n->buf[b].dtype, .buf = b, .at = at};
    if (l->n->buf[b].space == HN_PARAM) {
        x.guard = keep_guards(l, l->n_guard, l->guard);
        x.n_guard = x.guard ? l->n_guard : 0;
    }
    return hn_place(l, &x);
}
hn_sv hn_place_pick(hn_nest_lowering *l, uint32_t n_guard, const hn_ix *guard, hn_sv yes, hn_sv no) {
    if (!n_guard || yes == no) return yes;
    hn_scalar x = {.kind = HN_SV_PICK, .dtype = l->n->sv[yes].dtype, .arg = {yes, no}, .n_arg = 2};
    x.guard = keep_guards(l, n_guard, guard);
    x.n_guard = n_guard;
    return hn_place(l, &x);
}

uint32_t hn_push_guards(hn_nest_lowering *l, uint32_t n, const hn_ix *guard) {
    uint32_t pushed = 0;
    for (uint32_t k = 0; k < n; k++) {
        bool known = hn_ix_never_negative(l->n, guard[k]);
        for (uint32_t j = 0; j < l->n_guard && !known; j++) known = l->guard[j] == guard[k];
        if (known) continue;
        if (l->n_guard == sizeof l->guard / sizeof *l->guard) {
            hn_decline(l, "more than 32 conditions around one element");
            break;
        }
        l->guard[l->n_guard++] = guard[k];
        pushed++;
    }
    return pushed;
}

void hn_store(hn_nest_lowering *l, hn_buf b, hn_ix at, hn_sv x) {
    hn_append(l, &(hn_stmt){.kind = HN_ST_STORE, .buf = b, .at = at, .value = x});
}
void hn_update(hn_nest_lowering *l, hn_buf b, hn_ix at, hn_op op, hn_sv x) {
    hn_append(l, &(hn_stmt){.kind = HN_ST_UPDATE, .buf = b, .at = at, .op = op, .value = x});
}
hn_buf hn_register(hn_nest_lowering *l, hone_dtype t) {
    hn_buf b = hn_nest_buf(l->n, HN_REG, t, hn_dim_int(l->n->dims, 1));
    hn_append(l, &(hn_stmt){.kind = HN_ST_REG, .buf = b});
    return b;
}
