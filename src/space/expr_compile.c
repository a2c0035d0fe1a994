/* space/expr_compile.c — tree -> postfix program.
 *
 * Types are static: a sub-expression is a number, a truth (0, 1) or a text. Comparisons between a listed parameter
 * (choice, ordinal, literal) and a constant become one table look-up by level, so that no text is compared when a
 * program runs.
 */
#include "base/err.h"
#include "base/str.h"
#include "space/space_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum type { NUMBER, TRUTH, FAILED } type;

typedef struct compiler {
    hn_arena *a;
    const hone_space *space;
    const char *source;
    hn_expr_op *op;
    size_t n, room;
    unsigned depth, max_depth; /* of the stack */
    hone_err *err;
    hone_rc rc;
} compiler;

#define FAIL(c, x, ...)                                                                                                \
    ((c)->rc = (c)->rc ? (c)->rc : hn_expr_fail((c)->source, (x)->offset, (c)->err, __VA_ARGS__), FAILED)

static type out_of_memory(compiler *c) {
    if (!c->rc) c->rc = hn_fail(c->err, HONE_E_NOMEM, "out of memory");
    return FAILED;
}

static void push(compiler *c, hn_expr_op op) {
    unsigned arity = hn_opcode_of(op.code).arity;
    c->depth += 1 - arity;
    if (c->depth > c->max_depth) c->max_depth = c->depth;
    if (c->n < c->room) c->op[c->n++] = op;
}

/* --- parameters ---------------------------------------------------------------------------------------------- */

static bool is_listed(const hone_param *p) {
    return p->kind == HONE_CHOICE || p->kind == HONE_ORDINAL || p->kind == HONE_LITERAL;
}

static const char *kind_word(hone_kind kind) {
    static const char *const word[] = {"a flag",     "an int",        "a float",  "a choice",
                                       "an ordinal", "a permutation", "a literal"};
    return word[kind];
}

static type unknown_name(compiler *c, const hn_enode *x) {
    const hone_space *s = c->space;
    const char **all = malloc((s->n_params + 1) * sizeof *all);
    if (!all) return out_of_memory(c);
    for (size_t i = 0; i < s->n_params; i++) all[i] = s->param[i].name;
    const char *near = hn_nearest(x->text, all, s->n_params);
    free(all);
    char after = x->text ? c->source[x->offset + x->n] : 0;
    if (near) return FAIL(c, x, "unknown parameter '%s'; did you mean '%s'?", x->text, near);
    if (x->op == HN_EX_NAME && after && strchr("-+=", after))
        return FAIL(c, x, "unknown parameter '%s'; a name with - + = in it is written in backquotes", x->text);
    return FAIL(c, x, "unknown parameter '%s'; a text is written in quotes", x->text);
}

/* The parameter of a NAME or DEFINED leaf, or NULL with the failure set. */
static const hone_param *find(compiler *c, const hn_enode *x) {
    size_t i = hone_space_find(c->space, x->text);
    if (i != SIZE_MAX) return &c->space->param[i];
    unknown_name(c, x);
    return NULL;
}

/* A table over a parameter's values, filled by the caller. */
static double *table(compiler *c, const hone_param *p) {
    if (c->a->total_b > HN_MAX_SPACE_B && !c->rc)
        c->rc = hn_fail(c->err, HONE_E_LIMIT, "column 1: the expressions over '%s' need too much memory", p->name);
    double *t = c->rc ? NULL : HN_NEW_N(c->a, double, p->n_values);
    if (!t) out_of_memory(c);
    return t;
}

static type push_table(compiler *c, const hone_param *p, const double *t) {
    push(c, (hn_expr_op){.code = HN_EX_TABLE, .slot = (uint32_t)p->slot, .table = t});
    return NUMBER;
}

/* A parameter where a number is wanted. */
static type emit_name(compiler *c, const hn_enode *x) {
    const hone_param *p = find(c, x);
    if (!p) return FAILED;
    if (p->kind == HONE_PERMUTATION) return FAIL(c, x, "'%s' is a permutation; only defined(...) applies", p->name);
    if (!is_listed(p)) {
        push(c, (hn_expr_op){.code = HN_EX_SLOT, .slot = (uint32_t)p->slot});
        return p->kind == HONE_FLAG ? TRUTH : NUMBER;
    }
    double *t = table(c, p);
    if (!t) return FAILED;
    bool any = false;
    for (size_t i = 0; i < p->n_values; i++) {
        t[i] = NAN;
        any |= hone_space_number(p->values[i], &t[i]);
    }
    if (!any) return FAIL(c, x, "'%s' holds texts, not numbers; compare it with a text in quotes", p->name);
    return push_table(c, p, t);
}

/* --- comparisons --------------------------------------------------------------------------------------------- */

static type emit(compiler *c, const hn_enode *x);

static type no_value(compiler *c, const hn_enode *x, const hone_param *p) {
    const char *near = hn_nearest(x->text, p->values, p->n_values);
    if (near) return FAIL(c, x, "'%s' has no value '%s'; did you mean '%s'?", p->name, x->text, near);
    return FAIL(c, x, "'%s' has no value '%s'; its first is '%s'", p->name, x->text, p->values[0]);
}

/* listed <op> 'text' */
static type listed_text(compiler *c, hn_opcode op, const hone_param *p, const hn_enode *text) {
    bool ordered = op != HN_EX_EQ && op != HN_EX_NE;
    if (ordered && p->kind != HONE_ORDINAL)
        return FAIL(c, text, "'%s' is %s: its values have no order, only == and != apply", p->name, kind_word(p->kind));
    size_t at = 0;
    while (at < p->n_values && strcmp(p->values[at], text->text)) at++;
    if (at == p->n_values) return no_value(c, text, p);
    double *t = table(c, p);
    if (!t) return FAILED;
    for (size_t i = 0; i < p->n_values; i++) t[i] = hn_op_apply(op, (double)i, (double)at);
    push_table(c, p, t);
    return TRUTH;
}

/* listed <op> number: a value that is a text differs from every number and has no order with it. */
static type listed_number(compiler *c, hn_opcode op, const hone_param *p, const hn_enode *name, double number) {
    double *t = table(c, p);
    if (!t) return FAILED;
    bool any = false;
    for (size_t i = 0; i < p->n_values; i++) {
        double v;
        bool is_number = hone_space_number(p->values[i], &v);
        any |= is_number;
        t[i] = is_number ? hn_op_apply(op, v, number) : op == HN_EX_EQ ? 0 : op == HN_EX_NE ? 1 : NAN;
    }
    if (!any) return FAIL(c, name, "'%s' holds texts, not numbers; compare it with a text in quotes", p->name);
    push_table(c, p, t);
    return TRUTH;
}

static type flag_text(compiler *c, hn_opcode op, const hone_param *p, const hn_enode *text) {
    bool on = !strcmp(text->text, "on") || !strcmp(text->text, "true");
    bool off = !strcmp(text->text, "off") || !strcmp(text->text, "false");
    if (!on && !off) return FAIL(c, text, "'%s' is a flag: it is 'on' or 'off', not '%s'", p->name, text->text);
    if (op != HN_EX_EQ && op != HN_EX_NE) return FAIL(c, text, "'%s' is a flag: only == and != apply", p->name);
    push(c, (hn_expr_op){.code = HN_EX_SLOT, .slot = (uint32_t)p->slot});
    if ((op == HN_EX_EQ) != on) push(c, (hn_expr_op){.code = HN_EX_NOT});
    return TRUTH;
}

static bool all_numbers(const hone_param *p) {
    double v;
    for (size_t i = 0; i < p->n_values; i++)
        if (!hone_space_number(p->values[i], &v)) return false;
    return true;
}

/* Two listed parameters of texts: their hashes are compared (53 bits; a clash is a matter of 1e-16). */
static type listed_listed(compiler *c, hn_opcode op, const hn_enode *at, const hone_param *p, const hone_param *q) {
    if (op != HN_EX_EQ && op != HN_EX_NE)
        return FAIL(c, at, "'%s' and '%s' hold texts: only == and != apply", p->name, q->name);
    const hone_param *side[2] = {p, q};
    for (int k = 0; k < 2; k++) {
        double *t = table(c, side[k]);
        if (!t) return FAILED;
        for (size_t i = 0; i < side[k]->n_values; i++) t[i] = (double)(hn_text_key(0, side[k]->values[i]) >> 11);
        push_table(c, side[k], t);
    }
    push(c, (hn_expr_op){.code = op});
    return TRUTH;
}

static hn_opcode mirrored(hn_opcode op) {
    switch (op) {
    case HN_EX_LT: return HN_EX_GT;
    case HN_EX_LE: return HN_EX_GE;
    case HN_EX_GT: return HN_EX_LT;
    case HN_EX_GE: return HN_EX_LE;
    default: return op;
    }
}

static bool constant(const hn_enode *x, double *out) {
    double sign = 1;
    for (; x->op == HN_EX_NEG; x = x->a) sign = -sign;
    *out = sign * x->num;
    return x->op == HN_EX_NUM && !x->truth;
}

static type name_text(compiler *c, hn_opcode op, const hn_enode *name, const hn_enode *text) {
    const hone_param *p = find(c, name);
    if (!p) return FAILED;
    if (is_listed(p)) return listed_text(c, op, p, text);
    if (p->kind == HONE_FLAG) return flag_text(c, op, p, text);
    return FAIL(c, text, "'%s' is %s; it cannot be compared with the text '%s'", p->name, kind_word(p->kind),
                text->text);
}

static type emit_comparison(compiler *c, const hn_enode *x) {
    const hn_enode *a = x->a, *b = x->b;
    hn_opcode op = x->op;
    bool swap = a->op != HN_EX_NAME && b->op == HN_EX_NAME;
    if (swap) {
        a = x->b;
        b = x->a;
        op = mirrored(op);
    }
    if (a->op == HN_EX_NAME && b->op == HN_EX_TEXT) return name_text(c, op, a, b);
    if (a->op == HN_EX_TEXT || b->op == HN_EX_TEXT)
        return FAIL(c, a->op == HN_EX_TEXT ? a : b, "a text can only be compared with a parameter");
    double number;
    const hone_param *p = a->op == HN_EX_NAME ? find(c, a) : NULL, *q = b->op == HN_EX_NAME ? find(c, b) : NULL;
    if (c->rc) return FAILED;
    if (p && is_listed(p) && constant(b, &number)) return listed_number(c, op, p, a, number);
    if (p && q && is_listed(p) && is_listed(q) && !(all_numbers(p) && all_numbers(q)))
        return listed_listed(c, op, x, p, q);
    if (emit(c, x->a) == FAILED || emit(c, x->b) == FAILED) return FAILED;
    push(c, (hn_expr_op){.code = x->op});
    return TRUTH;
}

/* --- the rest ------------------------------------------------------------------------------------------------ */

static type emit_defined(compiler *c, const hn_enode *x) {
    const hone_param *p = find(c, x);
    if (!p) return FAILED;
    push(c, (hn_expr_op){.code = HN_EX_DEFINED, .slot = (uint32_t)p->slot});
    return TRUTH;
}

static type emit(compiler *c, const hn_enode *x) {
    switch (x->op) {
    case HN_EX_NUM: push(c, (hn_expr_op){.code = HN_EX_NUM, .num = x->num}); return x->truth ? TRUTH : NUMBER;
    case HN_EX_TEXT: return FAIL(c, x, "the text '%s' where a number or a truth is wanted", x->text);
    case HN_EX_NAME: return emit_name(c, x);
    case HN_EX_DEFINED: return emit_defined(c, x);
    default: break;
    }
    if (hn_opcode_of(x->op).level == HN_LEVEL_COMPARISON) return emit_comparison(c, x);
    if (emit(c, x->a) == FAILED) return FAILED;
    if (hn_opcode_of(x->op).arity == 2 && emit(c, x->b) == FAILED) return FAILED;
    push(c, (hn_expr_op){.code = x->op});
    return x->op == HN_EX_NOT || x->op == HN_EX_AND || x->op == HN_EX_OR ? TRUTH : NUMBER;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bool list_params(hn_arena *a, const hone_space *space, const hn_expr *e, hn_prog *prog) {
    uint32_t *param = HN_NEW_N(a, uint32_t, e->n_names);
    if (!param) return false;
    for (size_t i = 0; i < e->n_names; i++) param[i] = (uint32_t)hone_space_find(space, e->name[i]->text);
    qsort(param, e->n_names, sizeof *param, ascending);
    size_t n = 0;
    for (size_t i = 0; i < e->n_names; i++)
        if (!n || param[n - 1] != param[i]) param[n++] = param[i];
    prog->param = param;
    prog->n_params = n;
    return true;
}

hone_rc hn_prog_compile(hn_arena *a, const hone_space *space, const char *text, hn_prog *out, hone_err *err) {
    hn_expr e;
    hone_rc rc = hn_expr_parse(a, text, &e, err);
    if (rc) return rc;
    /* every node gives at most two ops, and every byte at most one node */
    size_t room = strlen(text) < HN_EXPR_NODES ? strlen(text) + 1 : HN_EXPR_NODES;
    compiler c = {.a = a, .space = space, .source = text, .room = 2 * room, .err = err};
    c.op = malloc(c.room * sizeof *c.op);
    if (!c.op) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    emit(&c, e.root);
    if (!c.rc && c.max_depth > HN_EXPR_STACK)
        c.rc = hn_fail(err, HONE_E_LIMIT, "column 1: an expression nested too deeply");
    hn_prog prog = {.n = c.n, .source = text};
    hn_expr_op *op = c.rc ? NULL : HN_NEW_N(a, hn_expr_op, c.n);
    if (op) memcpy(op, c.op, c.n * sizeof *op);
    free(c.op);
    prog.op = op;
    if (!c.rc && (!op || !list_params(a, space, &e, &prog))) c.rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!c.rc) *out = prog;
    return c.rc;
}
