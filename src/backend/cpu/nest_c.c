/* backend/cpu/nest_c.c — statements of a nest as C, lanes in lockstep. */
#include "backend/cpu/nest_c.h"
#include "nest/tile.h"

#include <string.h>

static bool list(hn_c *c, hn_st first);

static bool refuse(hn_c *c, const char *why) {
    if (!c->why) c->why = why;
    return false;
}

/* Calls write for every combination of the unroll lanes in mask. */
static void for_lanes(hn_c *c, uint32_t mask, int k, const hn_stmt *s, void (*write)(hn_c *, const hn_stmt *)) {
    if (k == c->n_lane) {
        write(c, s);
        return;
    }
    hn_lane *l = &c->lane[k];
    int64_t n = !l->vector && mask >> k & 1 ? l->n : 1;
    for (l->at = 0; l->at < n; l->at++) for_lanes(c, mask, k + 1, s, write);
    l->at = 0;
}

static bool varies(const hn_c *c, uint32_t mask) {
    int k = hn_c_vector_lane(c);
    return k >= 0 && mask >> k & 1;
}

/* -- registers */
static void declare(hn_c *c, const hn_stmt *s) {
    const hn_nbuf *b = &c->n->buf[s->buf];
    int64_t n = 0;
    int chunk = c->chunked[s->buf], width = c->width;
    bool vector = chunk || varies(c, c->buf_mask[s->buf]);
    hn_str type = {0};
    if (chunk) c->width = chunk;
    if (vector)
        hn_c_vtype(c, &type, b->dtype);
    else
        hn_str_add(&type, hn_c_type(b->dtype));
    hn_dim_is_int(c->n->dims, b->size, &n);
    for (int64_t k = 0; k < n; k += chunk ? chunk : 1) {
        hn_str name = {0};
        hn_c_reg(c, &name, s->buf, hn_ix_int(c->n, k), vector);
        if (chunk) name.text[name.n = strcspn(name.text, "[")] = 0;
        hn_c_line(c, "%s %s;", type.text, name.text);
        hn_str_free(&name);
    }
    hn_str_free(&type);
    c->width = width;
}

/* -- stores and updates */
static void memory_store(hn_c *c, const hn_stmt *s, bool vector) {
    const hn_nbuf *b = &c->n->buf[s->buf];
    hn_str at = {0}, value = {0}, put = {0};
    const char *name = hn_dtype_of(b->dtype)->text;
    bool half = hn_is_half(b->dtype);
    bool small = hn_is_float(b->dtype) && b->dtype != HONE_F32 && b->dtype != HONE_F64 && !half;
    bool whole = vector && hn_c_unit_stride(c, s->at) && !small;
    hn_c_operand(c, &value, s->value, whole, "l");
    hn_c_ix(c, &at, s->at, vector && !whole ? "l" : "0");
    if (whole && b->dtype == HONE_BOOL) {
        hn_c_line(c, "*(hnk_u8_x%du *)&%c%u[%s] = (hnk_u8_x%d)hnk_i8_of_i32_x%d(-%s);", c->width,
                  hn_buf_letter(b->space), b->index, at.text, c->width, c->width, value.text);
    } else if (whole && half) {
        hn_c_line(c, "*(hnk_u16_x%du *)&%c%u[%s] = hnk_narrow_%s_x%d(%s);", c->width, hn_buf_letter(b->space), b->index,
                  at.text, name, c->width, value.text);
    } else if (whole) {
        hn_c_line(c, "*(hnk_%s_x%du *)&%c%u[%s] = %s;", name, c->width, hn_buf_letter(b->space), b->index, at.text,
                  value.text);
    } else {
        hn_c_put(c, &put, b->dtype, value.text);
        if (vector)
            hn_c_line(c, "for (int l = 0; l < %d; l++) %c%u[%s] = %s;", c->width, hn_buf_letter(b->space), b->index,
                      at.text, put.text);
        else
            hn_c_line(c, "%c%u[%s] = %s;", hn_buf_letter(b->space), b->index, at.text, put.text);
    }
    hn_str_free(&at);
    hn_str_free(&value);
    hn_str_free(&put);
}

static void reg_store(hn_c *c, const hn_stmt *s, bool vector) {
    hn_str to = {0}, value = {0};
    hn_c_reg(c, &to, s->buf, s->at, vector);
    hn_c_operand(c, &value, s->value, vector, "0");
    hn_c_line(c, "%s = %s;", to.text ? to.text : "", value.text ? value.text : "");
    hn_str_free(&to);
    hn_str_free(&value);
}

static uint32_t store_mask(const hn_c *c, const hn_stmt *s) {
    uint32_t mask = hn_c_ix_mask(c, s->at) | c->sv_mask[s->value] | c->buf_mask[s->buf];
    if (s->kind == HN_ST_UPDATE) /* every iteration counts */
        for (int k = 0; k < c->n_lane; k++) mask |= 1u << k;
    return mask;
}

static void store(hn_c *c, const hn_stmt *s) {
    bool vector = varies(c, store_mask(c, s));
    if (c->n->buf[s->buf].space == HN_REG)
        reg_store(c, s, vector);
    else
        memory_store(c, s, vector);
}

/* The product that an update may fuse with its addition; a product picked against 0 gives its guards. */
static const hn_scalar *product_of(const hn_c *c, const hn_stmt *s, const hn_scalar **pick) {
    const hn_scalar *x = &c->n->sv[s->value];
    *pick = NULL;
    if (s->op != HN_OP_ADD || !c->inlined[s->value]) return NULL;
    if (x->kind == HN_SV_PICK) {
        *pick = x;
        x = &c->n->sv[x->arg[0]];
    }
    return x;
}

static void update_value(hn_c *c, const hn_stmt *s, hn_str *out, const char *to, bool vector) {
    const hn_scalar *pick, *x = product_of(c, s, &pick);
    hone_dtype t = c->n->buf[s->buf].dtype;
    hn_str a = {0}, b = {0};
    if (x) {
        hn_c_operand(c, &a, x->arg[0], vector, "l");
        hn_c_operand(c, &b, x->arg[1], vector, "l");
        bool fma = c->fma && (t == HONE_F32 || t == HONE_F64);
        hn_c_pair(c, &a, x->pairs, vector);
        hn_c_pair(c, &b, x->pairs, vector);
        if (x->pairs == HN_PAIRS_BOTH)
            hn_c_pairs(c, out, to, a.text, b.text, vector);
        else if (x->bytes)
            hn_c_bytes(c, out, to, a.text, b.text, vector);
        else if (fma && vector)
            hn_str_addf(out, "hnk_fma_%s_x%d(%s, %s, %s)", hn_dtype_of(t)->text, c->width, a.text, b.text, to);
        else if (fma)
            hn_str_addf(out, "%s(%s, %s, %s)", t == HONE_F32 ? "__builtin_fmaf" : "__builtin_fma", a.text, b.text, to);
        else
            hn_str_addf(out, "%s + %s * %s", to, a.text, b.text);
    } else {
        hn_c_operand(c, &a, s->value, vector, "l");
        if (vector &&
            s->op !=
                HN_OP_ADD) /* the test for NaN of the first operand, here the value, does not wait for the register */
            hn_c_fold(c, out, s->op, t, a.text, to, true);
        else
            hn_c_fold(c, out, s->op, t, to, a.text, vector);
    }
    hn_str_free(&a);
    hn_str_free(&b);
}

/* A vector into a register that all lanes share. */
static bool fold_all(hn_c *c, const hn_stmt *s) {
    hone_dtype t = c->n->buf[s->buf].dtype;
    if (c->inlined[s->value] || !varies(c, c->sv_mask[s->value])) return false;
    if (t != HONE_F32 && t != HONE_F64 && (hn_is_float(t) || hn_dtype_of(t)->bits < 8)) return false;
    hn_str to = {0}, value = {0}, lanes = {0}, sum = {0};
    hn_c_reg(c, &to, s->buf, s->at, false);
    hn_c_name(c, &value, s->value);
    hn_c_fold_lanes(c, &lanes, s->op, t, value.text ? value.text : "");
    hn_c_fold(c, &sum, s->op, t, to.text ? to.text : "", lanes.text ? lanes.text : "", false);
    hn_c_line(c, "%s = %s;", to.text ? to.text : "", sum.text ? sum.text : "");
    hn_str_free(&to);
    hn_str_free(&value);
    hn_str_free(&lanes);
    hn_str_free(&sum);
    return true;
}

static void update(hn_c *c, const hn_stmt *s) {
    const hn_scalar *pick;
    hn_str to = {0}, value = {0}, guards = {0};
    int lane = hn_c_vector_lane(c);
    bool private_lanes = varies(c, hn_c_ix_mask(c, s->at) | c->buf_mask[s->buf]);
    if (lane >= 0 && !private_lanes && fold_all(c, s)) return;
    product_of(c, s, &pick);
    int known = pick ? hn_c_known_guards(c, pick->n_guard, pick->guard) : 1;
    if (!known) return;
    hn_c_reg(c, &to, s->buf, s->at, private_lanes);
    update_value(c, s, &value, to.text ? to.text : "", private_lanes);
    if (known < 0) {
        hn_str_add(&guards, "if (");
        hn_c_guards(c, &guards, pick->n_guard, pick->guard, "l");
        hn_str_add(&guards, ") ");
    }
    const char *only = guards.text ? guards.text : "";
    if (lane >= 0 && !private_lanes)
        hn_c_line(c, "for (int l = 0; l < %d; l++) %s%s = %s;", c->width, only, to.text, value.text);
    else
        hn_c_line(c, "%s%s = %s;", only, to.text, value.text);
    hn_str_free(&to);
    hn_str_free(&value);
    hn_str_free(&guards);
}

static void prefetch(hn_c *c, const hn_stmt *s) {
    hn_str at = {0};
    hn_c_address(c, &at, s->buf, s->at);
    hn_c_line(c, "__builtin_prefetch(%s, %s);", at.text ? at.text : "0",
              hn_nest_constant(c->n, s->buf) ? "0, 2" : "1, 3");
    hn_str_free(&at);
}

/* -- loops */
static bool has_calls(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_LOOP && has_calls(n, n->st[id].body)) return true;
    return hn_tile_calls(n, first);
}

/* Is there a reduction in the list, directly or in further lanes? */
static bool sums(const hn_c *c, hn_st first) {
    for (hn_st id = first; id; id = c->n->st[id].next) {
        const hn_stmt *s = &c->n->st[id];
        if (s->kind == HN_ST_LOOP && (s->loop == HN_SERIAL || sums(c, s->body))) return true;
    }
    return false;
}

static void clear(hn_c *c) {
    c->clears = true;
    hn_c_line(c, "HNK_CLEAR();");
}

static bool lanes(hn_c *c, const hn_stmt *s) {
    int64_t n = 0;
    if (c->n_lane == HN_LANES_MAX) return refuse(c, "loops unrolled too deep");
    if (!hn_ix_is_int(c->n, c->n->extent[s->var], &n)) return refuse(c, "an unrolled loop of unknown length");
    if (!c->n_lane && c->calls && sums(c, s->body)) clear(c);
    c->lane[c->n_lane++] = (hn_lane){s->var, s->loop == HN_VECTOR, n, 0};
    int width = c->width;
    if (s->loop == HN_VECTOR) {
        if (n < 2 || (n & (n - 1))) return refuse(c, "a vector whose length is no power of two");
        c->width = (int)n;
        c->widths |= (uint32_t)n;
    }
    hn_c_line(c, "{");
    c->indent++;
    bool fine = list(c, s->body);
    c->indent--;
    hn_c_line(c, "}");
    c->n_lane--;
    c->width = width;
    return fine;
}

/* The body of a reduction in a register tile: several accumulators per step. */
static bool accumulates(const hn_c *c, hn_st first) {
    bool unrolled = false;
    for (int k = 0; k < c->n_lane; k++) unrolled |= !c->lane[k].vector;
    for (hn_st id = first; id && unrolled; id = c->n->st[id].next)
        if (c->n->st[id].kind == HN_ST_UPDATE) return true;
    return false;
}

static bool loop(hn_c *c, const hn_stmt *s) {
    hn_str extent = {0};
    hn_ix e = c->n->extent[s->var];
    if (s->loop == HN_UNROLL || s->loop == HN_VECTOR) return lanes(c, s);
    if (hn_c_ix_mask(c, e)) return refuse(c, "lanes with loops of different lengths");
    hn_c_ix(c, &extent, e, "0");
    unsigned bases = c->n_base;
    bool tile = accumulates(c, s->body);
    hn_var around = c->tile;
    c->tile = tile ? s->var : 0;
    if (tile) {
        hn_c_line(c, "{");
        c->indent++;
        hn_c_bases(c, s);
    }
    hn_c_line(c, "for (int64_t i%u = 0, n%u = %s; i%u < n%u; i%u++) {", s->var, s->var, extent.text, s->var, s->var,
              s->var);
    hn_str_free(&extent);
    c->indent++;
    bool fine = list(c, s->body);
    c->tile = around;
    c->indent--;
    hn_c_line(c, "}");
    if (tile) {
        c->indent--;
        hn_c_line(c, "}");
        c->n_base = bases;
    }
    if (!around && s->loop == HN_SERIAL) hn_c_late(c, s->next);
    return fine;
}

/* A block of a long sum begins with accumulators of its own (nest/schedule_blocked.c): a register that is set, and a
 * loop. */
static bool is_block(const hn_c *c, hn_st id) {
    static const hn_st_kind head[] = {HN_ST_REG, HN_ST_LET, HN_ST_STORE, HN_ST_LOOP};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++, id = c->n->st[id].next)
        if (!id || c->n->st[id].kind != head[i]) return false;
    return true;
}

static bool list(hn_c *c, hn_st first) {
    bool fine = true;
    for (hn_st id = first; id && fine && !c->why; id = c->n->st[id].next) {
        const hn_stmt *s = &c->n->st[id];
        if (s->n_guard) return refuse(c, "a store under conditions");
        switch (s->kind) {
        case HN_ST_LOOP: fine = loop(c, s); break;
        case HN_ST_LET:
            if (c->tile) hn_c_keep_apart(c, first, id);
            hn_c_let(c, c->n->st[id].value);
            break;
        case HN_ST_BARRIER:
        case HN_ST_COPY:
        case HN_ST_COMMIT:
        case HN_ST_WAIT:
        case HN_ST_ARRIVE:
        case HN_ST_AWAIT:
        case HN_ST_PUSH:
        case HN_ST_MMA: return refuse(c, "statements of a device");
        case HN_ST_STORE: for_lanes(c, store_mask(c, s), 0, s, store); break;
        case HN_ST_UPDATE: for_lanes(c, store_mask(c, s), 0, s, update); break;
        case HN_ST_PREFETCH: for_lanes(c, hn_c_ix_mask(c, s->at), 0, s, prefetch); break;
        case HN_ST_REG:
            if (c->tile && is_block(c, id)) clear(c); /* the totals wait in memory */
            c->buf_mask[s->buf] = (1u << c->n_lane) - 1;
            for_lanes(c, c->buf_mask[s->buf], 0, s, declare);
            break;
        }
    }
    return fine && !c->why;
}

/* -- before writing: what is used how */

static void count(hn_c *c, hn_st first) {
    for (hn_st id = first; id; id = c->n->st[id].next) {
        const hn_stmt *s = &c->n->st[id];
        if (s->kind == HN_ST_LOOP) count(c, s->body);
        if (s->kind == HN_ST_STORE || s->kind == HN_ST_UPDATE) c->uses[s->value]++;
        if (s->kind != HN_ST_LET) continue;
        for (uint32_t k = 0; k < c->n->sv[s->value].n_arg; k++) c->uses[c->n->sv[s->value].arg[k]]++;
    }
}

static bool is_zero(const hn_scalar *x) { return x->kind == HN_SV_CONST && x->f == 0 && x->i == 0; }

/* A product that only one update uses is written there. v: the vector loop's variable. */
static void find_products(hn_c *c, hn_st first, hn_var v) {
    hn_nest *n = c->n;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) find_products(c, s->body, s->loop == HN_VECTOR ? s->var : v);
        if (s->kind == HN_ST_REG) continue;
        hn_sv x = s->value;
        if (s->kind != HN_ST_UPDATE || s->op != HN_OP_ADD || c->uses[x] != 1) continue;
        bool picked = n->sv[x].kind == HN_SV_PICK && is_zero(&n->sv[n->sv[x].arg[1]]);
        for (uint32_t k = 0; picked && k < n->sv[x].n_guard; k++)
            picked = !v || !hn_ix_depends(n, n->sv[x].guard[k], v);
        hn_sv p = picked ? n->sv[x].arg[0] : x;
        if (n->sv[p].kind != HN_SV_OP || !n->sv[p].fused || c->uses[p] != 1) continue;
        c->inlined[p] = c->inlined[x] = true;
    }
}

/* Registers declared outside a vector loop and indexed by it hold whole vectors. */
static void find_chunks(hn_c *c, hn_st first, hn_var v) {
    hn_nest *n = c->n;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) find_chunks(c, s->body, s->loop == HN_VECTOR ? s->var : v);
        if (!v || s->kind == HN_ST_LOOP || s->kind == HN_ST_REG) continue;
        bool let = s->kind == HN_ST_LET;
        hn_buf b = let ? n->sv[s->value].buf : s->buf;
        hn_ix at = let ? n->sv[s->value].at : s->at;
        int64_t width;
        if (b && n->buf[b].space == HN_REG && hn_ix_uses(n, at, v) && hn_ix_is_int(n, n->extent[v], &width))
            c->chunked[b] = (uint16_t)width;
    }
}

/* -- the whole */
/* Loops over the kernel's work items: parallel loops, one inside the other, as one loop over begin … end. */
static bool items(hn_c *c, hn_st first) {
    hn_nest *n = c->n;
    hn_var var[HN_RANK_MAX + 4];
    int depth = 0;
    hn_st at = first;
    hn_c_line(c, "for (int64_t w = begin; w < end; w++) {");
    c->indent++;
    hn_c_line(c, "int64_t w_ = w;");
    while (at && n->st[at].kind == HN_ST_LOOP && n->st[at].loop == HN_PARALLEL && depth < HN_RANK_MAX + 4) {
        var[depth++] = n->st[at].var;
        hn_st inner = n->st[at].body;
        while (inner && n->st[inner].kind == HN_ST_LET) inner = n->st[inner].next;
        at = inner;
    }
    for (int k = depth; k-- > 1;) {
        hn_str extent = {0};
        hn_c_ix(c, &extent, n->extent[var[k]], "0");
        hn_c_line(c, "const int64_t i%u = w_ %% (%s);", var[k], extent.text);
        hn_c_line(c, "w_ /= (%s);", extent.text);
        hn_str_free(&extent);
    }
    hn_c_line(c, "const int64_t i%u = w_;", var[0]);
    bool fine = true;
    at = first;
    for (int k = 0; k < depth && fine; k++) { /* definitions between the parallel loops, then the innermost body */
        at = n->st[at].body;
        if (k + 1 == depth)
            fine = list(c, at);
        else
            for (; n->st[at].kind == HN_ST_LET; at = n->st[at].next) hn_c_let(c, n->st[at].value);
    }
    c->indent--;
    hn_c_line(c, "}");
    return fine;
}

bool hn_c_nest(hn_c *c) {
    hn_nest *n = c->n;
    bool fine = true;
    count(c, n->first);
    find_products(c, n->first, 0);
    find_chunks(c, n->first, 0);
    hn_c_find_late(c);
    c->calls = has_calls(n, n->first);
    for (uint32_t x = 1; x < n->n_atom; x++)
        if (n->atom[x].kind == HN_AT_XOR) return refuse(c, "an index with xor");
    hn_c_line(c, "if (begin >= end) return;");
    for (hn_st id = n->first; id && fine && !c->why; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && s->loop == HN_PARALLEL) {
            fine = items(c, id);
        } else {
            hn_st next = s->next;
            n->st[id].next = 0; /* this one alone */
            fine = list(c, id);
            n->st[id].next = next;
        }
    }
    return fine && !c->why;
}
