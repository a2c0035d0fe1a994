/* backend/cpu/reference_text.c — the reference emitter's vocabulary: see reference_int.h. */
#include "backend/cpu/reference_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hn_ref_add(hn_ref *e, const char *fmt, ...) {
    va_list ap;
    char buf[1024];
    va_start(ap, fmt);
    int n = vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    if (n < 0) return;
    if ((size_t)n < sizeof buf) {
        hn_str_add_n(&e->text, buf, (size_t)n);
        return;
    }
    char *big = hn_alloc(e->a, (size_t)n + 1);
    if (!big) return;
    va_start(ap, fmt);
    vsnprintf(big, (size_t)n + 1, fmt, ap);
    va_end(ap);
    hn_str_add_n(&e->text, big, (size_t)n);
}

void hn_ref_decline(hn_ref *e, const char *fmt, ...) {
    char buf[256];
    va_list ap;
    if (e->rc) return;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    e->rc = hn_fail(e->err, HONE_E_UNSUPPORTED, "reference of '%s': %s", hn_op_of(e->n->op)->text, buf);
}

const hn_type *hn_ref_type(const hn_ref *e, hn_val v) { return hn_type_of(e->g, v); }
const char *hn_ref_dtype(const hn_ref *e, hn_val v) { return hn_dtype_of(hn_ref_type(e, v)->dtype)->text; }
size_t hn_ref_size_b(const hn_ref *e, hn_val v) { return hn_dtype_of(hn_ref_type(e, v)->dtype)->size_b; }

hn_ref_kind hn_ref_domain(hone_dtype t) {
    switch (hn_dtype_of(t)->cls) {
    case HN_CLASS_FLOAT: return HN_DOM_F;
    case HN_CLASS_INT: return HN_DOM_I;
    default: return HN_DOM_U;
    }
}

const char *hn_ref_c_type(hn_ref_kind d) {
    static const char *const name[] = {"double", "int64_t", "uint64_t"};
    return name[d];
}

const char *hn_ref_int(hn_ref *e, int64_t x) {
    if (x == INT64_MIN) return "INT64_MIN";
    if (x >= INT32_MIN && x <= INT32_MAX) return hn_format(e->a, x < 0 ? "(%" PRId64 ")" : "%" PRId64, x);
    return hn_format(e->a, "INT64_C(%" PRId64 ")", x);
}

/* --- sizes ------------------------------------------------------------------------------------------------------- */

const char *hn_ref_dim(hn_ref *e, hn_dim d) {
    int64_t n;
    if (hn_dim_is_int(e->g->dims, d, &n)) return hn_ref_int(e, n);
    hn_str s = {0};
    hn_dim_mark(e->g->dims, d, e->used);
    hn_dim_print_c(e->g->dims, d, "s", &s);
    const char *text = s.failed || !s.text ? NULL : hn_format(e->a, "(%s)", s.text);
    hn_str_free(&s);
    if (text) return text;
    e->a->failed = true;
    return "0";
}

hn_dim hn_ref_product(hn_ref *e, const hn_type *t, size_t from, size_t to) {
    hn_dim d = hn_dim_int(e->g->dims, 1);
    for (size_t i = from; i < to; i++) d = hn_dim_mul(e->g->dims, d, t->dim[i]);
    return d;
}

const char *hn_ref_count(hn_ref *e, const hn_type *t) { return hn_ref_dim(e, hn_ref_product(e, t, 0, t->rank)); }

const char *hn_ref_offset(hn_ref *e, const hn_type *t, const char *const *index) {
    hn_str s = {0};
    for (size_t i = 0; i < t->rank; i++) {
        hn_dim stride = hn_ref_product(e, t, i + 1, t->rank);
        int64_t n;
        bool one = hn_dim_is_int(e->g->dims, stride, &n) && n == 1;
        if (!strcmp(index[i], "0")) continue;
        hn_str_addf(&s, "%s%s%s%s", s.n ? " + " : "", index[i], one ? "" : " * ", one ? "" : hn_ref_dim(e, stride));
    }
    const char *text = s.n ? hn_strdup(e->a, s.text) : "0";
    if (s.failed) e->a->failed = true;
    hn_str_free(&s);
    return text ? text : "0";
}

void hn_ref_index(hn_ref *e, const hn_type *t, const char **index) {
    for (int i = 0; i < t->rank; i++) index[i] = hn_format(e->a, "x%d", i);
}

/* --- elements ---------------------------------------------------------------------------------------------------- */

const char *hn_ref_space(const hn_ref *e, hn_val v) {
    const char *at = e->at[v]; /* a table, or a view of one, is called c0, c1, … */
    return at && at[0] == 'c' ? e->language->constant : e->language->global;
}

const char *hn_ref_raw(hn_ref *e, hn_val v, const char *idx) {
    return hn_format(e->a, "((%shnr_r%zu *)%s)[%s]", hn_ref_space(e, v), hn_ref_size_b(e, v), e->at[v], idx);
}

const char *hn_ref_load(hn_ref *e, hn_val v, const char *idx) {
    return hn_format(e->a, "hnr_get_%s(%s[%s])", hn_ref_dtype(e, v), e->at[v], idx);
}

const char *hn_ref_load_f(hn_ref *e, hn_val v, const char *idx) {
    const char *x = hn_ref_load(e, v, idx);
    return hn_ref_domain(hn_ref_type(e, v)->dtype) == HN_DOM_F ? x : hn_format(e->a, "(double)%s", x);
}

/* The double x as an element of an integer type: truncated and clipped. */
static const char *clipped(hn_ref *e, hone_dtype t, const char *x) {
    const hn_dtype_info *d = hn_dtype_of(t);
    if (d->cls == HN_CLASS_BOOL) return hn_format(e->a, "(uint64_t)((%s) != 0)", x);
    if (d->cls == HN_CLASS_UINT) return hn_format(e->a, "hnr_f_to_u(%s, UINT64_MAX >> %d)", x, 64 - d->bits);
    return hn_format(e->a, "hnr_f_to_i(%s, INT64_MIN >> %d, INT64_MAX >> %d)", x, 64 - d->bits, 64 - d->bits);
}

void hn_ref_store(hn_ref *e, hn_val v, const char *idx, hn_ref_kind from, const char *expr) {
    hone_dtype t = hn_ref_type(e, v)->dtype;
    hn_ref_kind to = hn_ref_domain(t);
    const char *x = expr;
    if (from == HN_DOM_F && to != HN_DOM_F)
        x = clipped(e, t, expr);
    else if (from != HN_DOM_F && to == HN_DOM_F)
        x = hn_format(e->a, "hnr_%c_to_f(%s)", from == HN_DOM_I ? 'i' : 'u', expr);
    else if (from != to)
        x = hn_format(e->a, "(%s)(%s)", hn_ref_c_type(to), expr);
    hn_ref_add(e, "%s[%s] = hnr_put_%s(%s);\n", e->at[v], idx, hn_dtype_of(t)->text, x);
}

/* --- loops ------------------------------------------------------------------------------------------------------- */

void hn_ref_guard(hn_ref *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char buf[512];
    int n = vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof buf) {
        hn_ref_decline(e, "a condition on its sizes is too long");
        return;
    }
    hn_str_addf(&e->guard, "%s(%s)", e->guard.n ? " && " : "", buf);
}

void hn_ref_guard_equal(hn_ref *e, hn_dim a, hn_dim b) {
    if (hn_dim_equal(e->g->dims, a, b) == HN_EQUAL) return;
    hn_ref_guard(e, "%s == %s", hn_ref_dim(e, a), hn_ref_dim(e, b));
}

static void drop_guard(hn_ref *e) {
    hn_str_free(&e->guard);
    e->guard = (hn_str){0};
}

void hn_ref_guarded_open(hn_ref *e) {
    if (e->guard.n) hn_ref_add(e, "if (!(%s)) hnr_fail(s);\nelse\n", e->guard.text);
    hn_ref_add(e, "{\n");
    drop_guard(e);
}

/* The range of the flat index, as C. */
static void range(hn_ref *e, const hn_type *t, const char **lo, const char **hi) {
    *lo = "begin";
    *hi = "end";
    if (e->split) return;
    *lo = "0";
    *hi = hn_ref_count(e, t);
    if (!e->rows) return;
    const char *inner = hn_ref_dim(e, hn_ref_product(e, t, hn_ref_lead(e, t) + 1, t->rank));
    *lo = hn_format(e->a, "row * %s", inner);
    *hi = hn_format(e->a, "(row + 1) * %s", inner);
}

static void first_index(hn_ref *e, const hn_type *t, const char *lo) {
    int lead = (int)hn_ref_lead(e, t);
    for (int i = 0; i < t->rank; i++) {
        if (!e->split) {
            hn_ref_add(e, "int64_t x%d = %s;\n", i, e->rows && i == lead ? "row" : "0");
            continue;
        }
        const char *stride = hn_ref_dim(e, hn_ref_product(e, t, (size_t)i + 1, t->rank));
        hn_ref_add(e, "int64_t x%d = %s / %s", i, lo, stride);
        if (i) hn_ref_add(e, " %% %s", hn_ref_dim(e, t->dim[i]));
        hn_ref_add(e, ";\n");
    }
}

void hn_ref_loop(hn_ref *e, hn_val v, bool with_index) {
    const hn_type *t = hn_ref_type(e, v);
    const char *lo, *hi;
    range(e, t, &lo, &hi);
    e->guarded = e->guard.n > 0;
    if (e->guarded)
        hn_ref_add(e,
                   e->language->device
                       ? "if (!(%s)) {\nhnr_fail(s);\nhnr_zero(%s + %s, (%s - %s) * (int64_t)sizeof *%s);\n} else {\n"
                       : "if (!(%s)) {\nhnr_fail(s);\nmemset(%s + %s, 0, (size_t)(%s - %s) * sizeof *%s);\n} else {\n",
                   e->guard.text, e->at[v], lo, hi, lo, e->at[v]);
    drop_guard(e);
    hn_ref_add(e, "{\n");
    if (with_index) first_index(e, t, lo);
    hn_ref_add(e, "for (int64_t i = %s; i < %s; i++) {\n", lo, hi);
}

void hn_ref_end(hn_ref *e, hn_val v, bool with_index) {
    const hn_type *t = hn_ref_type(e, v);
    for (int i = t->rank - 1; with_index && i > 0; i--)
        hn_ref_add(e, "if (++x%d == %s) {\nx%d = 0;\n", i, hn_ref_dim(e, t->dim[i]), i);
    if (with_index && t->rank) hn_ref_add(e, "x0++;\n");
    for (int i = t->rank - 1; with_index && i > 0; i--) hn_ref_add(e, "}\n");
    hn_ref_add(e, "}\n}\n%s", e->guarded ? "}\n" : "");
    e->guarded = false;
}

hn_dim hn_ref_n_lines(hn_ref *e, hn_val v, size_t axis) {
    const hn_type *t = hn_ref_type(e, v);
    return hn_dim_mul(e->g->dims, hn_ref_product(e, t, 0, axis), hn_ref_product(e, t, axis + 1, t->rank));
}

void hn_ref_lines(hn_ref *e, hn_val v, size_t axis) {
    const hn_type *t = hn_ref_type(e, v);
    const char *inner = hn_ref_dim(e, hn_ref_product(e, t, axis + 1, t->rank));
    hn_ref_add(e, "for (int64_t line = %s; line < %s; line++) {\n", e->split ? "begin" : "0",
               e->split ? "end" : hn_ref_dim(e, hn_ref_n_lines(e, v, axis)));
    hn_ref_add(e, "const int64_t first = line / %s * %s * %s + line %% %s;\n", inner, inner,
               hn_ref_dim(e, t->dim[axis]), inner);
}
void hn_ref_lines_end(hn_ref *e) { hn_ref_add(e, "}\n"); }

void hn_ref_scratch(hn_ref *e, const char *name, hn_dim size_b) {
    hn_dims *t = e->g->dims;
    hn_dim line = hn_dim_int(t, 64);
    e->scratch = hn_dim_add(t, e->scratch, hn_dim_mul(t, hn_dim_ceildiv(t, size_b, line), line));
    hn_ref_add(e, "%schar *const %s = top;\ntop += hnr_round64(%s);\n", e->language->global, name,
               hn_ref_dim(e, size_b));
}
