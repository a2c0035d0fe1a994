/* backend/cpu/nest_c_index.c — index expressions as C. */
#include "backend/cpu/nest_c.h"

#include <string.h>

int hn_c_vector_lane(const hn_c *c) {
    for (int k = 0; k < c->n_lane; k++)
        if (c->lane[k].vector) return k;
    return -1;
}

static int lane_of(const hn_c *c, hn_var v) {
    for (int k = 0; k < c->n_lane; k++)
        if (c->lane[k].var == v) return k;
    return -1;
}

uint32_t hn_c_ix_mask(const hn_c *c, hn_ix i) {
    uint32_t mask = 0;
    const hn_linear *f = &c->n->ix[i];
    for (uint32_t t = 0; t < f->n; t++) {
        const hn_atom *x = &c->n->atom[f->term[t].atom];
        if (x->kind == HN_AT_VAR) {
            int k = lane_of(c, x->id);
            if (k >= 0) mask |= 1u << k;
        } else if (x->kind == HN_AT_VALUE) {
            mask |= c->sv_mask[x->id];
        }
        if (x->a) mask |= hn_c_ix_mask(c, x->a);
        if (x->b) mask |= hn_c_ix_mask(c, x->b);
    }
    return mask;
}

static void note_symbols(hn_c *c, hn_dim d) {
    bool *used = c->is_used;
    size_t n = hn_dims_symbols(c->n->dims);
    memset(used, 0, n * sizeof *used);
    hn_dim_mark(c->n->dims, d, used);
    for (uint32_t k = 0; k < c->n_symbol; k++) used[c->symbol[k]] = false;
    for (uint32_t i = 0; i < n; i++)
        if (used[i]) c->symbol[c->n_symbol++] = i;
}

void hn_c_dim(hn_c *c, hn_str *out, hn_dim d) {
    int64_t v;
    if (hn_dim_is_int(c->n->dims, d, &v)) {
        if (v == INT64_MIN)
            hn_str_add(out, "INT64_MIN");
        else
            hn_str_addf(out, v < 0 ? "(%lld)" : "%lld", (long long)v);
        return;
    }
    note_symbols(c, d);
    hn_str_add(out, "(");
    hn_dim_print_c(c->n->dims, d, "s_", out);
    hn_str_add(out, ")");
}

/* An index from data. A row of them is read where it lies: lanes taken out of a vector cost more. */
static void place(hn_c *c, hn_str *out, hn_sv id, const char *lane) {
    const hn_scalar x = c->n->sv[id];
    int k = hn_c_vector_lane(c);
    bool row = x.kind == HN_SV_LOAD && c->n->buf[x.buf].space == HN_LOCAL && k >= 0 && c->sv_mask[id] >> k & 1;
    if (row)
        hn_c_access(c, out, x.buf, x.at, lane);
    else
        hn_c_operand(c, out, id, false, lane);
}

/* min, max, floordiv or mod of what it is of. */
static void call_atom(hn_c *c, hn_str *out, const hn_atom *x, const char *lane) {
    static const char *const call[] = {
        [HN_AT_DIV] = "hn_floordiv", [HN_AT_MOD] = "hn_mod", [HN_AT_MIN] = "hn_min", [HN_AT_MAX] = "hn_max"};
    hn_str_addf(out, "%s(", call[x->kind]);
    hn_c_ix(c, out, x->a, lane);
    hn_str_add(out, ", ");
    if (x->b)
        hn_c_ix(c, out, x->b, lane);
    else
        hn_c_dim(c, out, x->by);
    hn_str_add(out, ")");
}

/* Long terms, such as the bounds of what a split leaves over, which are terms of each other, have a name from where
 * they are first needed to the end of the block: text that says them in full grows with each split to the power of
 * their number. One that might divide by 0 stays where its conditions are. */
enum { NAMED_FROM = 100 }; /* characters */

static bool is_safe(const hn_c *c, const hn_atom *x) {
    int64_t by;
    bool divides = x->kind == HN_AT_DIV || x->kind == HN_AT_MOD;
    return (!divides || (hn_dim_is_int(c->n->dims, x->by, &by) && by != 0)) &&
           !(x->a && hn_c_ix_mask((hn_c *)c, x->a)) && !(x->b && hn_c_ix_mask((hn_c *)c, x->b));
}

static bool has_name(hn_c *c, hn_str *out, hn_at id) {
    for (unsigned k = c->n_named; k-- > 0;)
        if (c->named[k].atom == id) {
            hn_str_addf(out, "q%u", c->named[k].id);
            return true;
        }
    return false;
}

static void atom(hn_c *c, hn_str *out, hn_at id, const char *lane) {
    const hn_atom made = c->n->atom[id], *x = &made;
    hn_str text = {0};
    if (x->kind == HN_AT_VAR) {
        int k = lane_of(c, x->id);
        if (k < 0)
            hn_str_addf(out, "i%u", x->id);
        else if (c->lane[k].vector)
            hn_str_add(out, lane);
        else
            hn_str_addf(out, "%lld", (long long)c->lane[k].at);
        return;
    }
    if (x->kind == HN_AT_VALUE) {
        place(c, out, x->id, lane);
        return;
    }
    if (has_name(c, out, id)) return;
    call_atom(c, &text, x, lane);
    if (text.n >= NAMED_FROM && c->n_named < HN_NAMED_MAX && is_safe(c, x)) {
        unsigned name = ++c->n_named_ever;
        hn_c_line(c, "const int64_t q%u = %s;", name, text.text);
        c->named[c->n_named].atom = id, c->named[c->n_named].id = name, c->named[c->n_named++].indent = c->indent;
        hn_str_addf(out, "q%u", name);
    } else {
        hn_str_add(out, text.text ? text.text : "0");
    }
    hn_str_free(&text);
}

void hn_c_ix(hn_c *c, hn_str *out, hn_ix i, const char *lane) {
    const hn_linear f = c->n->ix[i];
    int64_t v, constant;
    if (hn_c_constant(c, i, &constant) && !strcmp(lane, "0")) {
        hn_c_dim(c, out, hn_dim_int(c->n->dims, constant));
        return;
    }
    bool offset = !hn_dim_is_int(c->n->dims, f.offset, &v) || v != 0 || !f.n, first = true;
    for (uint32_t t = 0; t < f.n; t++) {
        if (!first) hn_str_add(out, " + ");
        first = false;
        if (!hn_dim_is_int(c->n->dims, f.term[t].coef, &v) || v != 1) {
            hn_c_dim(c, out, f.term[t].coef);
            hn_str_add(out, "*");
        }
        atom(c, out, f.term[t].atom, lane);
    }
    if (offset) {
        if (!first) hn_str_add(out, " + ");
        hn_c_dim(c, out, f.offset);
    }
}

bool hn_c_constant(hn_c *c, hn_ix i, int64_t *value) {
    const hn_linear *f = &c->n->ix[i];
    int64_t sum;
    if (!hn_dim_is_int(c->n->dims, f->offset, &sum)) return false;
    for (uint32_t t = 0; t < f->n; t++) {
        const hn_atom *x = &c->n->atom[f->term[t].atom];
        int64_t coef;
        int k = x->kind == HN_AT_VAR ? lane_of(c, x->id) : -1;
        if (k < 0 || !hn_dim_is_int(c->n->dims, f->term[t].coef, &coef)) return false;
        sum += c->lane[k].vector ? 0 : coef * c->lane[k].at;
    }
    *value = sum;
    return true;
}

bool hn_c_step(hn_c *c, hn_ix i, int64_t *step) {
    int k = hn_c_vector_lane(c);
    return k >= 0 && hn_ix_step(c->n, i, c->lane[k].var, step);
}
bool hn_c_unit_stride(hn_c *c, hn_ix i) {
    int64_t step;
    return hn_c_step(c, i, &step) && step == 1;
}

int hn_c_known_guards(hn_c *c, uint32_t n, const hn_ix *guard) {
    int all = 1;
    for (uint32_t k = 0; k < n; k++) {
        int64_t v;
        bool vector = hn_c_vector_lane(c) >= 0 && hn_c_ix_mask(c, guard[k]) >> hn_c_vector_lane(c) & 1;
        if (vector || !hn_c_constant(c, guard[k], &v))
            all = -1;
        else if (v < 0)
            return 0;
    }
    return all;
}

void hn_c_guards(hn_c *c, hn_str *out, uint32_t n, const hn_ix *guard, const char *lane) {
    for (uint32_t k = 0; k < n; k++) {
        hn_str_add(out, k ? " && (" : "(");
        hn_c_ix(c, out, guard[k], lane);
        hn_str_add(out, ") >= 0");
    }
}

/* -- bases: a compiler that is given whole indices keeps more pointers in a register tile's loop than there are
 * registers; given one pointer per operand that it knows nothing about, it adds constants to it. */

/* The terms of an index that vary with the loop or a lane (a constant times the variable), and constants; *base is the
 * rest. */
static hn_ix moving(hn_c *c, hn_ix at, hn_var loop, hn_ix *base) {
    hn_nest *n = c->n;
    const hn_linear f = n->ix[at];
    int64_t k;
    hn_ix in = hn_dim_is_int(n->dims, f.offset, &k) ? hn_ix_int(n, k) : hn_ix_int(n, 0);
    for (uint32_t t = 0; t < f.n; t++) {
        const hn_atom x = n->atom[f.term[t].atom];
        bool lane = x.kind == HN_AT_VAR && lane_of(c, x.id) >= 0 && hn_dim_is_int(n->dims, f.term[t].coef, &k);
        if (x.kind == HN_AT_VAR && (x.id == loop || lane))
            in = hn_ix_add(n, in, hn_ix_scale(n, hn_ix_var(n, x.id), f.term[t].coef));
    }
    *base = hn_ix_sub(n, at, in);
    return in;
}

/* Does the index need a scalar that the list defines? */
static bool defined_in(const hn_nest *n, hn_st list, hn_ix i) {
    for (uint32_t t = 0; t < n->ix[i].n; t++) {
        const hn_atom *x = &n->atom[n->ix[i].term[t].atom];
        for (hn_st id = list; id && x->kind == HN_AT_VALUE; id = n->st[id].next)
            if (n->st[id].kind == HN_ST_LET && n->st[id].value == x->id) return true;
        if ((x->a && defined_in(n, list, x->a)) || (x->b && defined_in(n, list, x->b))) return true;
    }
    return false;
}

static const hn_c_base *base_of(const hn_c *c, hn_buf b, hn_ix base, hn_var loop) {
    for (unsigned k = 0; k < c->n_base; k++)
        if (c->base[k].buf == b && c->base[k].at == base && c->base[k].loop == loop) return &c->base[k];
    return NULL;
}

/* A pointer for what lies at `at` of buffer b, where that is worth one. It is made as an integer: what is asked for
 * ahead may lie outside of the buffer. */
static void add_base(hn_c *c, hn_buf b, hn_ix at, const hn_stmt *loop) {
    const hn_nbuf *x = &c->n->buf[b];
    const char *type = hn_buf_pointee(x);
    hn_str text = {0};
    hn_ix base;
    if (x->space == HN_REG || c->n_base == HN_BASES_MAX) return;
    moving(c, at, loop->var, &base);
    if (hn_ix_uses(c->n, base, loop->var) || hn_c_ix_mask(c, base) || defined_in(c->n, loop->body, base)) return;
    if (base_of(c, b, base, loop->var)) return;
    unsigned k = ++c->n_base_ever;
    hn_c_ix(c, &text, base, "0");
    hn_c_line(c, "const hnr_%s *b%u = (const hnr_%s *)((uintptr_t)%c%u + sizeof *b%u * (uintptr_t)(%s));", type, k,
              type, hn_buf_letter(x->space), x->index, k, text.text ? text.text : "0");
    hn_c_line(c, "__asm__(\"\" : \"+r\"(b%u));", k);
    hn_str_free(&text);
    c->base[c->n_base++] = (hn_c_base){b, base, loop->var, k};
}

void hn_c_bases(hn_c *c, const hn_stmt *loop) {
    hn_nest *n = c->n;
    for (hn_st id = loop->body; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_PREFETCH) add_base(c, s.buf, s.at, loop);
        if (s.kind != HN_ST_LET || n->sv[s.value].kind != HN_SV_LOAD) continue;
        add_base(c, n->sv[s.value].buf, n->sv[s.value].at, loop);
    }
}

/* The pointer that serves an index, which becomes relative to it. */
static const hn_c_base *relative(hn_c *c, hn_buf b, hn_ix *at) {
    const hn_c_base *found = NULL;
    hn_ix in = *at, base;
    for (unsigned k = c->n_base; k-- > 0 && !found;) {
        in = moving(c, *at, c->base[k].loop, &base);
        found = base_of(c, b, base, c->base[k].loop);
    }
    if (found) *at = in;
    return found;
}

void hn_c_forget(hn_c *c, hn_buf b, hn_ix at) {
    const hn_c_base *base = relative(c, b, &at);
    if (base) hn_c_line(c, "__asm__(\"\" : \"+r\"(b%u));", base->id);
}

static void pointer(const hn_c *c, hn_str *out, hn_buf b, const hn_c_base *base) {
    if (base)
        hn_str_addf(out, "b%u", base->id);
    else
        hn_str_addf(out, "%c%u", hn_buf_letter(c->n->buf[b].space), c->n->buf[b].index);
}

void hn_c_address(hn_c *c, hn_str *out, hn_buf b, hn_ix at) {
    const hn_c_base *base = relative(c, b, &at);
    hn_str_add(out, "(const void *)((uintptr_t)");
    pointer(c, out, b, base);
    hn_str_add(out, " + sizeof *");
    pointer(c, out, b, base);
    hn_str_add(out, " * (uintptr_t)(");
    hn_c_ix(c, out, at, "0");
    hn_str_add(out, "))");
}

void hn_c_access(hn_c *c, hn_str *out, hn_buf b, hn_ix at, const char *lane) {
    pointer(c, out, b, relative(c, b, &at));
    hn_str_add(out, "[");
    hn_c_ix(c, out, at, lane);
    hn_str_add(out, "]");
}
