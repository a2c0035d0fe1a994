/* backend/cpu/nest_c_scalar.c — scalar definitions as C: names, operands, loads. */
#include "backend/cpu/nest_c.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { GATHERED_MAX = 16 };

const char *hn_c_type(hone_dtype t) {
    switch (hn_dtype_of(t)->cls) {
    case HN_CLASS_FLOAT: return t == HONE_F64 ? "double" : "float";
    case HN_CLASS_BOOL: return "uint8_t";
    case HN_CLASS_INT:
        return t == HONE_I64 ? "int64_t" : t == HONE_I32 ? "int32_t" : t == HONE_I16 ? "int16_t" : "int8_t";
    case HN_CLASS_UINT:
        return t == HONE_U64 ? "uint64_t" : t == HONE_U32 ? "uint32_t" : t == HONE_U16 ? "uint16_t" : "uint8_t";
    }
    return "int";
}

bool hn_c_vectorisable(hone_dtype t) { return hn_is_float(t) || hn_dtype_of(t)->bits >= 8 || t == HONE_BOOL; }

const char *hn_c_lane(hone_dtype t) {
    if (t == HONE_BOOL) return "i32";
    return hn_is_float(t) && t != HONE_F64 ? "f32" : hn_dtype_of(t)->text;
}
void hn_c_vtype(const hn_c *c, hn_str *out, hone_dtype t) { hn_str_addf(out, "hnk_%s_x%d", hn_c_lane(t), c->width); }

void hn_c_line(hn_c *c, const char *fmt, ...) {
    while (*fmt == '}' && c->n_named && c->named[c->n_named - 1].indent > c->indent) c->n_named--;
    va_list ap;
    va_start(ap, fmt);
    hn_spell_line(c->out, c->indent, fmt, ap);
    va_end(ap);
}

uint32_t hn_c_mask(const hn_c *c, const hn_scalar *x) {
    uint32_t mask = x->at ? hn_c_ix_mask(c, x->at) : 0;
    for (uint32_t k = 0; k < x->n_guard; k++) mask |= hn_c_ix_mask(c, x->guard[k]);
    for (uint32_t k = 0; k < x->n_arg; k++) mask |= c->sv_mask[x->arg[k]];
    if (x->kind == HN_SV_LOAD) mask |= c->buf_mask[x->buf];
    return mask;
}

static void suffix(const hn_c *c, hn_str *out, uint32_t mask) {
    for (int k = 0; k < c->n_lane; k++)
        if (mask >> k & 1 && !c->lane[k].vector) hn_str_addf(out, "_%lld", (long long)c->lane[k].at);
}
void hn_c_name(const hn_c *c, hn_str *out, hn_sv x) {
    hn_str_addf(out, "v%u", x);
    suffix(c, out, c->sv_mask[x]);
}

static bool varies(const hn_c *c, uint32_t mask) {
    int k = hn_c_vector_lane(c);
    return k >= 0 && mask >> k & 1;
}

void hn_c_operand(hn_c *c, hn_str *out, hn_sv x, bool vector, const char *lane) {
    hone_dtype t = c->n->sv[x].dtype;
    bool is_vector = varies(c, c->sv_mask[x]);
    if (vector && !is_vector) {
        hn_str_addf(out, "hnk_dup_%s_x%d(", t == HONE_BOOL ? "bool" : hn_c_lane(t), c->width);
        hn_c_name(c, out, x);
        hn_str_add(out, ")");
        return;
    }
    if (!vector && is_vector) hn_str_add(out, t == HONE_BOOL ? "(uint8_t)(-" : "");
    hn_c_name(c, out, x);
    if (!vector && is_vector) hn_str_addf(out, "[%s]%s", lane, t == HONE_BOOL ? ")" : "");
}

void hn_c_reg(hn_c *c, hn_str *out, hn_buf b, hn_ix at, bool vector) {
    int64_t element;
    (void)vector;
    if (!hn_c_constant(c, at, &element)) {
        c->why = "a register with an index that is not known";
        return;
    }
    int chunk = c->chunked[b];
    hn_str_addf(out, "a%u_%lld", b, (long long)(chunk ? element / chunk : element));
    suffix(c, out, c->buf_mask[b]);
    if (chunk && !varies(c, hn_c_ix_mask(c, at))) hn_str_addf(out, "[%lld]", (long long)(element % chunk));
}

static void constant(hn_str *out, const hn_scalar *x) {
    if (!hn_is_float(x->dtype)) {
        if (x->dtype == HONE_U64)
            hn_str_addf(out, "%lluULL", (unsigned long long)x->i);
        else if (x->i == INT64_MIN)
            hn_str_add(out, "INT64_MIN");
        else
            hn_str_addf(out, x->i > INT32_MAX || x->i < -INT32_MAX ? "%lldLL" : "%lld", (long long)x->i);
        return;
    }
    if (isnan(x->f))
        hn_str_add(out, "NAN");
    else if (isinf(x->f))
        hn_str_add(out, x->f < 0 ? "-INFINITY" : "INFINITY");
    else
        hn_str_addf(out, x->dtype == HONE_F64 ? "%a" : "%af", x->f);
}

/* One element of memory in register form. */
static void element(hn_c *c, hn_str *out, const hn_scalar *x, const char *lane) {
    const hn_nbuf *b = &c->n->buf[x->buf];
    bool small = hn_is_float(b->dtype) && b->dtype != HONE_F32 && b->dtype != HONE_F64;
    if (small) hn_str_addf(out, "(float)hnr_get_%s(", hn_dtype_of(b->dtype)->text);
    hn_c_access(c, out, x->buf, x->at, lane);
    if (small) hn_str_add(out, ")");
}

/* The value of x for one element: the whole of a scalar definition, or one lane of a vector one. */
static void one(hn_c *c, hn_str *out, const hn_scalar *x, const char *lane) {
    hn_str arg[3] = {{0}, {0}, {0}};
    const char *text[3] = {NULL, NULL, NULL};
    for (uint32_t k = 0; k < x->n_arg; k++) {
        hn_c_operand(c, &arg[k], x->arg[k], false, lane);
        text[k] = arg[k].text;
    }
    switch (x->kind) {
    case HN_SV_CONST: constant(out, x); break;
    case HN_SV_INDEX: hn_c_ix(c, out, x->at, lane); break;
    case HN_SV_OP: hn_c_scalar_op(c, out, x, text); break;
    case HN_SV_WRAP:
        hn_str_addf(out, "hnr_index(s, %s, ", text[0]);
        hn_c_dim(c, out, x->below);
        hn_str_add(out, ")");
        break;
    case HN_SV_LOAD:
        if (x->n_guard) {
            hn_c_guards(c, out, x->n_guard, x->guard, lane);
            hn_str_add(out, " ? ");
        }
        element(c, out, x, lane);
        if (x->n_guard) hn_str_add(out, " : 0");
        break;
    case HN_SV_PICK:
        if (x->n_guard) hn_c_guards(c, out, x->n_guard, x->guard, lane);
        hn_str_addf(out, x->n_guard ? " ? %s : %s" : "%s", text[0], text[1]);
        break;
    }
    for (int k = 0; k < 3; k++) hn_str_free(&arg[k]);
}

static bool guards_vary(const hn_c *c, const hn_scalar *x) {
    uint32_t mask = 0;
    for (uint32_t k = 0; k < x->n_guard; k++) mask |= hn_c_ix_mask(c, x->guard[k]);
    return varies(c, mask);
}

/* Consecutive elements of memory, or such that are put in order; alone: neighbours in unrolled loops may not read. */
static bool elements(hn_c *c, hn_str *out, const hn_scalar *x, const char *type, bool alone) {
    if (!hn_c_unit_stride(c, x->at)) return hn_c_shuffled(c, out, x, type, alone);
    if (x->n_guard) hn_str_addf(out, "(hnk_%s_x%d)", type, c->width);
    hn_str_addf(out, "*(const hnk_%s_x%du *)&", type, c->width);
    hn_c_access(c, out, x->buf, x->at, "0");
    return true;
}

/* A whole vector from memory; false: lane by lane. */
static bool vector_load(hn_c *c, hn_str *out, const hn_scalar *x, bool alone) {
    const hn_nbuf *b = &c->n->buf[x->buf];
    const char *name = hn_dtype_of(b->dtype)->text;
    bool half = hn_is_half(b->dtype), is_bool = b->dtype == HONE_BOOL;
    hn_str value = {0};
    if (guards_vary(c, x) || (!is_bool && hn_dtype_of(b->dtype)->bits < 8)) return false;
    if (hn_is_float(b->dtype) && b->dtype != HONE_F32 && b->dtype != HONE_F64 && !half) return false;
    bool done = elements(c, &value, x, is_bool ? "u8" : half ? "u16" : name, alone);
    if (done && x->n_guard) {
        hn_c_guards(c, out, x->n_guard, x->guard, "0");
        hn_str_add(out, " ? ");
    }
    if (done && is_bool) hn_str_addf(out, "hnk_mask_u8_x%d(%s != 0)", c->width, value.text);
    if (done && half) hn_str_addf(out, "hnk_widen_%s_x%d(%s)", name, c->width, value.text);
    if (done && !is_bool && !half) hn_str_add(out, value.text);
    if (done && x->n_guard) hn_str_addf(out, " : (hnk_%s_x%d){0}", hn_c_lane(b->dtype), c->width);
    hn_str_free(&value);
    return done;
}

/* An index that grows evenly from lane to lane. */
static bool vector_index(hn_c *c, hn_str *out, const hn_scalar *x) {
    int64_t step;
    if (x->dtype != HONE_I64 || !hn_c_step(c, x->at, &step)) return false;
    hn_str_addf(out, "hnk_dup_i64_x%d(", c->width);
    hn_c_ix(c, out, x->at, "0");
    hn_str_addf(out, ") + (hnk_i64_x%d){", c->width);
    for (int l = 0; l < c->width; l++) hn_str_addf(out, "%s%lld", l ? ", " : "", (long long)(l * step));
    hn_str_add(out, "}");
    return true;
}

/* Indices from data, as hnr_index has them. */
static bool vector_wrap(hn_c *c, hn_str *out, const hn_scalar *x) {
    hn_str size = {0}, index = {0};
    bool wide = c->n->sv[x->arg[0]].dtype == HONE_I64;
    if (!wide) hn_str_add(&index, "__builtin_convertvector(");
    hn_c_operand(c, &index, x->arg[0], true, "l");
    if (!wide) hn_str_addf(&index, ", hnk_i64_x%d)", c->width);
    hn_c_dim(c, &size, x->below);
    hn_c_wrap(c, out, index.text, size.text);
    hn_str_free(&size);
    hn_str_free(&index);
    return true;
}

/* Elements anywhere, one by one, as one value: in a loop over lanes they would go through memory. */
static bool gathered(hn_c *c, hn_str *out, const hn_scalar *x) {
    hone_dtype t = c->n->buf[x->buf].dtype;
    bool half = hn_is_half(t), small = hn_is_float(t) && t != HONE_F32 && t != HONE_F64;
    if (t == HONE_BOOL || c->width > GATHERED_MAX || guards_vary(c, x) || (small && (!half || x->n_guard)))
        return false;
    if (half) hn_str_addf(out, "hnk_widen_%s_x%d(", hn_dtype_of(t)->text, c->width);
    hn_str_addf(out, "(hnk_%s_x%d){", half ? "u16" : hn_c_lane(t), c->width);
    for (int l = 0; l < c->width; l++) {
        char lane[12];
        snprintf(lane, sizeof lane, "%d", l);
        if (l) hn_str_add(out, ", ");
        if (half)
            hn_c_access(c, out, x->buf, x->at, lane);
        else
            one(c, out, x, lane);
    }
    hn_str_add(out, half ? "})" : "}");
    return true;
}

/* A choice that lanes make each for itself. */
static bool picked_lanes(hn_c *c, hn_str *out, const hn_scalar *x, const char *const arg[3]) {
    hn_str mask = {0};
    bool done = hn_c_guard_mask(c, &mask, x->n_guard, x->guard) && hn_c_has_vectors(x->dtype);
    if (done) hn_str_addf(out, "hnk_pick_%s_x%d(%s, %s, %s)", hn_c_lane(x->dtype), c->width, mask.text, arg[0], arg[1]);
    hn_str_free(&mask);
    return done;
}

static bool vector_value(hn_c *c, hn_str *out, const hn_scalar *x, bool alone) {
    hn_str arg[3] = {{0}, {0}, {0}};
    const char *text[3] = {NULL, NULL, NULL};
    bool done = false;
    if (x->kind == HN_SV_LOAD && c->n->buf[x->buf].space == HN_REG) return hn_c_reg(c, out, x->buf, x->at, true), true;
    if (x->kind == HN_SV_LOAD) return vector_load(c, out, x, alone) || gathered(c, out, x);
    if (x->kind == HN_SV_INDEX) return vector_index(c, out, x);
    if (x->kind == HN_SV_WRAP) return vector_wrap(c, out, x);
    if (x->kind != HN_SV_OP && x->kind != HN_SV_PICK) return false;
    if (x->kind == HN_SV_OP && hn_c_compare(c, out, x)) return true;
    for (uint32_t k = 0; k < x->n_arg; k++) {
        hn_c_operand(c, &arg[k], x->arg[k], true, "l");
        text[k] = arg[k].text;
    }
    if (x->kind == HN_SV_OP) {
        done = hn_c_vector_op(c, out, x, text);
    } else if (guards_vary(c, x)) {
        done = picked_lanes(c, out, x, text);
    } else {
        if (x->n_guard) hn_c_guards(c, out, x->n_guard, x->guard, "0");
        hn_str_addf(out, x->n_guard ? " ? %s : %s" : "%s", text[0], text[1]);
        done = true;
    }
    for (int k = 0; k < 3; k++) hn_str_free(&arg[k]);
    return done;
}

/* The definition as it is in the lanes being written, without conditions that are known there. */
static hn_scalar here(hn_c *c, hn_sv id) {
    hn_scalar x = c->n->sv[id];
    int known = x.n_guard ? hn_c_known_guards(c, x.n_guard, x.guard) : -1;
    if (known < 0) return x;
    x.n_guard = 0;
    if (x.kind == HN_SV_PICK && !known) x.arg[0] = x.arg[1];
    if (x.kind == HN_SV_LOAD && !known) x = (hn_scalar){.kind = HN_SV_CONST, .dtype = x.dtype};
    return x;
}

/* A vector that several lanes of a register tile read. Where registers seem scarce, gcc reads memory again in each of
 * their multiply-adds, and the tile is then bound by loads: gcc must not know that the vector is in memory. */
static bool is_shared(const hn_c *c, hn_sv id, const hn_scalar *x) {
    if (!c->tile || x->kind != HN_SV_LOAD || x->n_guard || c->n->buf[x->buf].space == HN_REG) return false;
    if (x->dtype != HONE_F32 || 4 * c->width > c->vector_b) return false;
    for (int k = 0; k < c->n_lane; k++)
        if (!c->lane[k].vector && c->lane[k].n > 1 && !(c->sv_mask[id] >> k & 1)) return true;
    return false;
}

static void let(hn_c *c, hn_sv id) {
    const hn_scalar now = here(c, id), *x = &now;
    hn_str name = {0}, value = {0}, type = {0};
    hn_c_name(c, &name, id);
    if (!varies(c, c->sv_mask[id])) {
        if (x->kind == HN_SV_LOAD && c->n->buf[x->buf].space == HN_REG)
            hn_c_reg(c, &value, x->buf, x->at, false);
        else
            one(c, &value, x, "0");
        hn_c_line(c, "%s%s %s = %s;", c->late[id] >= HN_C_LATE ? "" : "const ", hn_c_type(x->dtype), name.text,
                  value.text ? value.text : "0");
    } else {
        uint32_t symbols = c->n_symbol;
        hn_c_vtype(c, &type, x->dtype);
        if (vector_value(c, &value, x, c->n->sv[id].n_guard > 0)) {
            bool keep = is_shared(c, id, x);
            hn_c_line(c, "%s%s %s = %s;", keep ? "" : "const ", type.text, name.text, value.text ? value.text : "0");
            if (keep) hn_c_line(c, "HNK_KEEP(%s);", name.text);
        } else {
            hn_str_free(&value);
            c->n_symbol = symbols;
            one(c, &value, x, "l");
            hn_c_line(c, "%s %s;", type.text, name.text);
            hn_c_line(c, "for (int l = 0; l < %d; l++) %s[l] = %s(%s);", c->width, name.text,
                      x->dtype == HONE_BOOL ? "-" : "", value.text ? value.text : "0");
        }
    }
    hn_str_free(&name);
    hn_str_free(&value);
    hn_str_free(&type);
}

/* Writes x once per combination of the unroll lanes from place k on that it depends on. */
static void let_lanes(hn_c *c, hn_sv x, int k) {
    if (k == c->n_lane) {
        let(c, x);
        return;
    }
    hn_lane *l = &c->lane[k];
    int64_t n = !l->vector && c->sv_mask[x] >> k & 1 ? l->n : 1;
    for (l->at = 0; l->at < n; l->at++) let_lanes(c, x, k + 1);
    l->at = 0;
}

void hn_c_let(hn_c *c, hn_sv x) {
    c->sv_mask[x] = hn_c_mask(c, &c->n->sv[x]);
    if (!c->inlined[x] && !hn_c_across(c, x)) let_lanes(c, x, 0);
}
