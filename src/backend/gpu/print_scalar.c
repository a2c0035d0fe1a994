/* backend/gpu/print_scalar.c — scalar definitions in a device's language: names, loads, constants. */
#include "backend/gpu/print.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *hn_gp_type(hone_dtype t) {
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

void hn_gp_line(hn_gp *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    hn_spell_line(c->out, c->indent, fmt, ap);
    va_end(ap);
}

uint32_t hn_gp_mask(const hn_gp *c, const hn_scalar *x) {
    uint32_t mask = x->at ? hn_gp_ix_mask(c, x->at) : 0;
    for (uint32_t k = 0; k < x->n_guard; k++) mask |= hn_gp_ix_mask(c, x->guard[k]);
    for (uint32_t k = 0; k < x->n_arg; k++) mask |= c->sv_mask[x->arg[k]];
    if (x->kind == HN_SV_LOAD) mask |= c->buf_mask[x->buf];
    return mask;
}

static void suffix(const hn_gp *c, hn_str *out, uint32_t mask) {
    for (int k = 0; k < c->n_lane; k++)
        if (mask >> k & 1) hn_str_addf(out, "_%lld", (long long)c->lane[k].at);
}
void hn_gp_name(const hn_gp *c, hn_str *out, hn_sv x) {
    hn_str_addf(out, "v%u", x);
    suffix(c, out, c->sv_mask[x]);
}

void hn_gp_reg(hn_gp *c, hn_str *out, hn_buf b, hn_ix at) {
    int64_t element;
    if (!hn_gp_constant(c, at, &element)) {
        c->why = "a register with an index that is not known";
        return;
    }
    hn_str_addf(out, "a%u_%lld", b, (long long)element);
    suffix(c, out, c->buf_mask[b]);
}

void hn_gp_access(hn_gp *c, hn_str *out, hn_buf b, hn_ix at) {
    hn_str_addf(out, "%c%u[", hn_buf_letter(c->n->buf[b].space), c->n->buf[b].index);
    hn_gp_ix(c, out, at);
    hn_str_add(out, "]");
}

static void constant(hn_str *out, const hn_scalar *x) {
    if (!hn_is_float(x->dtype)) {
        if (x->dtype == HONE_U64)
            hn_str_addf(out, "(uint64_t)INT64_C(%lld)", (long long)x->i);
        else if (x->i == INT64_MIN)
            hn_str_add(out, "INT64_MIN");
        else
            hn_str_addf(out, x->i > INT32_MAX || x->i < -INT32_MAX ? "INT64_C(%lld)" : "%lld", (long long)x->i);
    } else if (isnan(x->f)) {
        hn_str_add(out, "NAN");
    } else if (isinf(x->f)) {
        hn_str_add(out, x->f < 0 ? "-INFINITY" : "INFINITY");
    } else {
        hn_str_addf(out, x->dtype == HONE_F64 ? "%a" : "%af", x->f);
    }
}

static void load(hn_gp *c, hn_str *out, const hn_scalar *x) {
    const hn_nbuf *b = &c->n->buf[x->buf];
    hn_str element = {0};
    if (b->space == HN_REG) {
        hn_gp_reg(c, out, x->buf, x->at);
        return;
    }
    if (x->n_guard) {
        hn_gp_guards(c, out, x->n_guard, x->guard);
        hn_str_add(out, " ? ");
    }
    hn_gp_access(c, &element, x->buf, x->at);
    hn_gp_get(c, out, b->dtype, element.text ? element.text : "0");
    if (x->n_guard) hn_str_add(out, " : 0");
    hn_str_free(&element);
}

static void value(hn_gp *c, hn_str *out, const hn_scalar *x) {
    hn_str arg[3] = {{0}, {0}, {0}};
    const char *text[3] = {NULL, NULL, NULL};
    for (uint32_t k = 0; k < x->n_arg; k++) {
        hn_gp_name(c, &arg[k], x->arg[k]);
        text[k] = arg[k].text ? arg[k].text : "0";
    }
    switch (x->kind) {
    case HN_SV_CONST: constant(out, x); break;
    case HN_SV_INDEX: hn_gp_ix(c, out, x->at); break;
    case HN_SV_OP: hn_gp_op(c, out, x, text); break;
    case HN_SV_WRAP:
        hn_str_addf(out, "hnr_index(s, %s, ", text[0]);
        hn_gp_dim(c, out, x->below);
        hn_str_add(out, ")");
        break;
    case HN_SV_LOAD: load(c, out, x); break;
    case HN_SV_PICK:
        if (x->n_guard) hn_gp_guards(c, out, x->n_guard, x->guard);
        hn_str_addf(out, x->n_guard ? " ? %s : %s" : "%s", text[0], text[1]);
        break;
    }
    for (int k = 0; k < 3; k++) hn_str_free(&arg[k]);
}

/* The definition as it is in the lanes being written, without conditions that are known there. */
static hn_scalar here(hn_gp *c, hn_sv id) {
    hn_scalar x = c->n->sv[id];
    int known = x.n_guard ? hn_gp_known_guards(c, x.n_guard, x.guard) : -1;
    if (known < 0) return x;
    x.n_guard = 0;
    if (x.kind == HN_SV_PICK && !known) x.arg[0] = x.arg[1];
    if (x.kind == HN_SV_LOAD && !known) x = (hn_scalar){.kind = HN_SV_CONST, .dtype = x.dtype};
    return x;
}

static void let(hn_gp *c, hn_sv id) {
    const hn_scalar x = here(c, id);
    hn_str name = {0}, text = {0};
    hn_gp_name(c, &name, id);
    value(c, &text, &x);
    hn_gp_line(c, "const %s %s = %s;", hn_gp_type(c->n->sv[id].dtype), name.text, text.text ? text.text : "0");
    hn_str_free(&name);
    hn_str_free(&text);
}

/* Writes x once per combination of the lanes from place k on that it depends on. */
static void let_lanes(hn_gp *c, hn_sv x, int k) {
    if (k == c->n_lane) {
        let(c, x);
        return;
    }
    hn_gpu_lane *l = &c->lane[k];
    int64_t n = c->sv_mask[x] >> k & 1 ? l->n : 1;
    for (l->at = 0; l->at < n; l->at++) let_lanes(c, x, k + 1);
    l->at = 0;
}

void hn_gp_let(hn_gp *c, hn_sv x) {
    c->sv_mask[x] = hn_gp_mask(c, &c->n->sv[x]);
    if (!c->inlined[x] && !hn_gp_wide_let(c, x)) let_lanes(c, x, 0);
}
