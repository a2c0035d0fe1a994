/* nest/nest_print.c — a nest as text (docs/loop-nests.md). Scalars, variables and registers are numbered in the order
 * of the text, so that equal nests print alike. */
#include "base/str.h"
#include "nest/mma.h"
#include "nest/nest_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct printer {
    const hn_nest *n;
    hn_str *out;
    uint32_t *sv, *var, *reg; /* numbers given; 0: none yet */
    uint32_t n_sv, n_var, n_reg;
} printer;

static void print_ix(printer *p, hn_ix i);

static void print_buf(printer *p, hn_buf b) {
    const hn_nbuf *x = &p->n->buf[b];
    static const char letter[] = {[HN_PARAM] = 'p', [HN_RESULT] = 'r', [HN_LOCAL] = 't', [HN_REG] = 'a',
                                  [HN_WORDS] = 'w', [HN_SHARED] = 's', [HN_GATE] = 'g'};
    hn_str_addf(p->out, "%c%u", letter[x->space], x->space == HN_REG ? p->reg[b] - 1 : x->index);
}

/* Text of a sum's term, and where it stands: variables, then scalars, by number; then the others by their text. */
typedef struct term_text {
    int rank;
    uint32_t number;
    char *text;
} term_text;
static int term_order(const void *a, const void *b) {
    const term_text *x = a, *y = b;
    if (x->rank != y->rank) return x->rank - y->rank;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return x->text && y->text ? strcmp(x->text, y->text) : 0;
}

static char *ix_text(printer *p, hn_ix i) {
    hn_str s = {0}, *out = p->out;
    p->out = &s;
    print_ix(p, i);
    p->out = out;
    return hn_str_take(&s);
}

static void print_call(printer *p, const hn_atom *x) {
    static const char *const call[] = {
        [HN_AT_DIV] = "floordiv", [HN_AT_MOD] = "mod", [HN_AT_MIN] = "min", [HN_AT_MAX] = "max", [HN_AT_XOR] = "xor"};
    char *a = ix_text(p, x->a), *b = x->b ? ix_text(p, x->b) : NULL;
    bool swap = a && b && strcmp(a, b) > 0;
    if (!a || (x->b && !b))
        p->out->failed = true;
    else if (b)
        hn_str_addf(p->out, "%s(%s, %s)", call[x->kind], swap ? b : a, swap ? a : b);
    else {
        hn_str_addf(p->out, "%s(%s, ", call[x->kind], a);
        hn_dim_print(p->n->dims, x->by, p->out);
        hn_str_add(p->out, ")");
    }
    free(a);
    free(b);
}

static term_text print_term(printer *p, const hn_term *t) {
    const hn_atom *x = &p->n->atom[t->atom];
    term_text out = {x->kind == HN_AT_VAR ? 0 : x->kind == HN_AT_VALUE ? 1 : 2, 0, NULL};
    hn_str s = {0}, *to = p->out;
    int64_t v;
    p->out = &s;
    if (!hn_dim_is_int(p->n->dims, t->coef, &v)) {
        hn_str_add(&s, "(");
        hn_dim_print(p->n->dims, t->coef, &s);
        hn_str_add(&s, ")*");
    } else if (v != 1) {
        hn_str_addf(&s, "%" PRId64 "*", v);
    }
    if (x->kind == HN_AT_VAR)
        hn_str_addf(&s, "i%u", out.number = p->var[x->id] - 1);
    else if (x->kind == HN_AT_VALUE)
        hn_str_addf(&s, "%%%u", out.number = p->sv[x->id] - 1);
    else
        print_call(p, x);
    p->out = to;
    out.text = hn_str_take(&s);
    return out;
}

static void print_ix(printer *p, hn_ix i) {
    const hn_linear *f = &p->n->ix[i];
    term_text *term = calloc(f->n + 1u, sizeof *term);
    int64_t v;
    if (!term) {
        p->out->failed = true;
        return;
    }
    for (uint32_t t = 0; t < f->n; t++) term[t] = print_term(p, &f->term[t]);
    qsort(term, f->n, sizeof *term, term_order);
    for (uint32_t t = 0; t < f->n; t++) {
        hn_str_addf(p->out, "%s%s", t ? " + " : "", term[t].text ? term[t].text : "");
        free(term[t].text);
    }
    free(term);
    if (f->n && hn_dim_is_int(p->n->dims, f->offset, &v) && v == 0) return;
    if (f->n) hn_str_add(p->out, " + ");
    hn_dim_print(p->n->dims, f->offset, p->out);
}

static void print_guards(printer *p, uint32_t n, const hn_ix *guard) {
    for (uint32_t k = 0; k < n; k++) {
        hn_str_add(p->out, k ? ", " : " if ");
        print_ix(p, guard[k]);
    }
}

static void print_number(printer *p, const hn_scalar *x) {
    if (!hn_is_float(x->dtype))
        hn_str_addf(p->out, " %" PRId64, x->i);
    else if (isnan(x->f))
        hn_str_add(p->out, " nan");
    else if (isinf(x->f))
        hn_str_add(p->out, x->f < 0 ? " -inf" : " inf");
    else
        hn_str_addf(p->out, " %a", x->f);
}

static void print_access(printer *p, hn_buf b, hn_ix at) {
    hn_str_add(p->out, " ");
    print_buf(p, b);
    hn_str_add(p->out, "[");
    print_ix(p, at);
    hn_str_add(p->out, "]");
}

const char *const hn_pairs_name[] = {
    [HN_PAIRS_NONE] = "", [HN_PAIRS_BOTH] = "pairs", [HN_PAIRS_LOW] = "low", [HN_PAIRS_HIGH] = "high"};

static void print_let(printer *p, hn_sv id) {
    const hn_scalar *x = &p->n->sv[id];
    const char *word[] = {[HN_SV_CONST] = "const", [HN_SV_LOAD] = "load", [HN_SV_INDEX] = "index",
                          [HN_SV_PICK] = "pick",   [HN_SV_WRAP] = "wrap", [HN_SV_OP] = hn_op_of(x->op)->text};
    if (!p->sv[id]) p->sv[id] = ++p->n_sv;
    hn_str_addf(p->out, "%%%u = %s %s", p->sv[id] - 1, word[x->kind], hn_dtype_of(x->dtype)->text);
    if (x->kind == HN_SV_CONST) print_number(p, x);
    if (x->kind == HN_SV_LOAD) print_access(p, x->buf, x->at);
    if (x->kind == HN_SV_INDEX) {
        hn_str_add(p->out, " ");
        print_ix(p, x->at);
    }
    for (uint32_t k = 0; k < x->n_arg; k++) hn_str_addf(p->out, " %%%u", p->sv[x->arg[k]] - 1);
    if (x->saturate) hn_str_add(p->out, " saturate");
    if (x->fused) hn_str_add(p->out, " fused");
    if (x->bytes) hn_str_add(p->out, " bytes");
    if (x->pairs) hn_str_addf(p->out, " %s", hn_pairs_name[x->pairs]);
    if (x->part) hn_str_add(p->out, " part");
    if (x->below) {
        hn_str_add(p->out, " below ");
        hn_dim_print(p->n->dims, x->below, p->out);
    }
    print_guards(p, x->n_guard, x->guard);
}

static void print_transfer(printer *p, const hn_stmt *s) {
    const hn_mma *row = s->kind == HN_ST_MMA ? hn_mma_at((size_t)s->count) : NULL;
    hn_str_add(p->out, row ? "mma " : "copy");
    if (row) hn_str_add(p->out, row->name);
    print_access(p, s->buf, s->at);
    for (int k = 0; k < 2; k++)
        if (s->from[k]) print_access(p, s->from[k], s->from_at[k]);
    if (!row) hn_str_addf(p->out, " %" PRId64, s->count);
    print_guards(p, s->n_guard, s->guard);
}

static void print_list(printer *p, hn_st first, int depth) {
    static const char *const loop[] = {
        [HN_SERIAL] = "for",  [HN_PARALLEL] = "parallel", [HN_VECTOR] = "vector",  [HN_UNROLL] = "unroll",
        [HN_GROUP] = "group", [HN_ROLE] = "role",         [HN_CLUSTER] = "cluster"};
    for (hn_st id = first; id; id = p->n->st[id].next) {
        const hn_stmt *s = &p->n->st[id];
        hn_str_addf(p->out, "%*s", 2 * depth, "");
        switch (s->kind) {
        case HN_ST_LOOP:
            p->var[s->var] = ++p->n_var;
            hn_str_addf(p->out, "%s i%u < ", loop[s->loop], p->var[s->var] - 1);
            print_ix(p, p->n->extent[s->var]);
            hn_str_add(p->out, " {\n");
            print_list(p, s->body, depth + 1);
            hn_str_addf(p->out, "%*s}", 2 * depth, "");
            break;
        case HN_ST_LET: print_let(p, s->value); break;
        case HN_ST_REG:
            p->reg[s->buf] = ++p->n_reg;
            hn_str_addf(p->out, "reg a%u %s ", p->reg[s->buf] - 1, hn_dtype_of(p->n->buf[s->buf].dtype)->text);
            hn_dim_print(p->n->dims, p->n->buf[s->buf].size, p->out);
            break;
        case HN_ST_PREFETCH:
            hn_str_add(p->out, "prefetch");
            print_access(p, s->buf, s->at);
            break;
        case HN_ST_BARRIER: hn_str_add(p->out, s->cluster ? "barrier cluster" : "barrier"); break;
        case HN_ST_PUSH:
            hn_str_add(p->out, "push");
            print_access(p, s->buf, s->at);
            hn_str_addf(p->out, " %" PRId64, s->count);
            break;
        case HN_ST_COMMIT: hn_str_add(p->out, "commit"); break;
        case HN_ST_WAIT: hn_str_addf(p->out, "wait %" PRId64, s->count); break;
        case HN_ST_ARRIVE:
            hn_str_add(p->out, "arrive");
            print_access(p, s->buf, s->at);
            if (s->count) hn_str_add(p->out, " copies");
            break;
        case HN_ST_AWAIT:
            hn_str_add(p->out, "await");
            print_access(p, s->buf, s->at);
            hn_str_add(p->out, " phase ");
            print_ix(p, s->from_at[0]);
            break;
        case HN_ST_COPY:
        case HN_ST_MMA: print_transfer(p, s); break;
        default:
            hn_str_add(p->out, s->kind == HN_ST_STORE ? "store" : "update");
            print_access(p, s->buf, s->at);
            if (s->kind == HN_ST_UPDATE) hn_str_addf(p->out, " %s", hn_op_of(s->op)->text);
            hn_str_addf(p->out, " %%%u", p->sv[s->value] ? p->sv[s->value] - 1 : UINT32_MAX);
            print_guards(p, s->n_guard, s->guard);
        }
        hn_str_add(p->out, "\n");
    }
}

void hn_nest_print(const hn_nest *n, hn_str *out) {
    static const char *const space[] = {[HN_PARAM] = "param p", [HN_RESULT] = "result r", [HN_LOCAL] = "local t",
                                        [HN_WORDS] = "words w", [HN_SHARED] = "shared s", [HN_GATE] = "gate g"};
    printer p = {.n = n, .out = out};
    p.sv = calloc(n->n_sv + 1u, sizeof *p.sv);
    p.var = calloc(n->n_var + 1u, sizeof *p.var);
    p.reg = calloc(n->n_buf + 1u, sizeof *p.reg);
    if (!p.sv || !p.var || !p.reg) out->failed = true;
    for (hn_buf b = 1; b < n->n_buf && !out->failed; b++) {
        if (n->buf[b].space == HN_REG) continue;
        hn_str_addf(out, "%s%u %s ", space[n->buf[b].space], n->buf[b].index, hn_dtype_of(n->buf[b].dtype)->text);
        hn_dim_print(n->dims, n->buf[b].size, out);
        hn_str_add(out, "\n");
    }
    if (!out->failed) print_list(&p, n->first, 0);
    free(p.sv);
    free(p.var);
    free(p.reg);
}
