/* nest/nest_parse.c — reads the text of a nest (docs/loop-nests.md). Recursive descent; the first error ends it and
 * names the line. Nesting is bounded, so no text exhausts the stack. */
#include "base/err.h"
#include "base/locale.h"
#include "nest/mma.h"
#include "nest/nest_int.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, IDS_MAX = 1 << 20 };

typedef struct table { /* what a number of the text stands for */
    uint32_t *id, n;
} table;

typedef struct parser {
    hn_nest *n;
    const char *at;
    unsigned line;
    int depth;
    table sv, var, reg, local;
    hone_err *err;
    hone_rc rc;
} parser;

static bool wrong(parser *p, const char *fmt, ...) HONE_PRINTF(2, 3);
static bool wrong(parser *p, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (p->rc == HONE_OK) p->rc = hn_fail(p->err, HONE_E_INPUT, "line %u: %s", p->line, text);
    return false;
}

/* -- words */
static void blanks(parser *p) {
    while (*p->at == ' ') p->at++;
}
/* Lines without anything, and what stands behind a #. */
static void empty_lines(parser *p) {
    for (;;) {
        blanks(p);
        if (*p->at == '#') p->at += strcspn(p->at, "\n");
        if (*p->at != '\n') return;
        p->at++;
        p->line++;
    }
}
static bool end_of_line(parser *p) {
    blanks(p);
    if (*p->at != '\n' && *p->at != '#') return wrong(p, "expected the end of the line at '%.20s'", p->at);
    empty_lines(p);
    return true;
}
static bool accept(parser *p, const char *what) {
    blanks(p);
    size_t n = strlen(what);
    if (strncmp(p->at, what, n)) return false;
    if (isalnum((unsigned char)what[n - 1]) && (isalnum((unsigned char)p->at[n]) || p->at[n] == '_')) return false;
    p->at += n;
    return true;
}
static bool expect(parser *p, const char *what) {
    return accept(p, what) || wrong(p, "expected '%s' at '%.20s'", what, p->at);
}
static bool word(parser *p, char *out, size_t room) {
    blanks(p);
    size_t n = 0;
    while ((isalnum((unsigned char)*p->at) || *p->at == '_') && n + 1 < room) out[n++] = *p->at++;
    out[n] = 0;
    return n > 0 || wrong(p, "expected a word at '%.20s'", p->at);
}
static bool number(parser *p, uint32_t *out) {
    char *end;
    if (!isdigit((unsigned char)*p->at)) return wrong(p, "expected a number at '%.20s'", p->at);
    unsigned long v = strtoul(p->at, &end, 10);
    p->at = end;
    *out = (uint32_t)v;
    return v < IDS_MAX || wrong(p, "the number %lu is too large", v);
}
static bool element_type(parser *p, hone_dtype *t) {
    char name[32];
    if (!word(p, name, sizeof name)) return false;
    return hn_dtype_named(name, t) || wrong(p, "no element type is called '%s'", name);
}

static bool define(parser *p, table *t, uint32_t number_, uint32_t id) {
    if (number_ >= t->n) {
        uint32_t n = 2 * number_ + 16, *to = HN_NEW_N(p->n->a, uint32_t, n);
        if (!to) return wrong(p, "out of memory");
        if (t->n) memcpy(to, t->id, t->n * sizeof *to);
        t->id = to;
        t->n = n;
    }
    if (t->id[number_]) return wrong(p, "number %u is defined twice", number_);
    t->id[number_] = id;
    return id || wrong(p, "out of memory");
}
static uint32_t look(const table *t, uint32_t number_) { return number_ < t->n ? t->id[number_] : 0; }

/* -- index expressions */
static bool sum(parser *p, hn_ix *out);

static bool call(parser *p, const char *name, hn_ix *out) {
    hn_ix a, b;
    hn_dim x = 0, y = 0;
    int64_t by;
    hn_nest *n = p->n;
    if (!expect(p, "(") || !sum(p, &a) || !expect(p, ",") || !sum(p, &b) || !expect(p, ")")) return false;
    bool known = hn_ix_is_dim(n, b, &y), pure = known && hn_ix_is_dim(n, a, &x);
    bool min = !strcmp(name, "min"), max = !strcmp(name, "max");
    if (!strcmp(name, "xor")) {
        *out = hn_ix_xor(n, a, b);
        return (hn_ix_never_negative(n, a) && hn_ix_never_negative(n, b)) || wrong(p, "xor of what may be negative");
    }
    if (min)
        *out = pure ? hn_ix_dim(n, hn_dim_min(n->dims, x, y)) : hn_ix_min(n, a, b);
    else if (max)
        *out = pure ? hn_ix_dim(n, hn_dim_max(n->dims, x, y)) : hn_ix_max(n, a, b);
    else if (!known)
        return wrong(p, "a divisor depends on a loop");
    else if (hn_dim_is_int(n->dims, y, &by) && by == 0)
        return wrong(p, "a divisor is 0");
    else if (!strcmp(name, "mod"))
        *out = pure ? hn_ix_dim(n, hn_dim_mod(n->dims, x, y)) : hn_ix_mod(n, a, y);
    else
        *out = pure ? hn_ix_dim(n, hn_dim_floordiv(n->dims, x, y)) : hn_ix_div(n, a, y);
    return hn_arena_ok(n->a) || wrong(p, "out of memory");
}

static bool named(parser *p, hn_ix *out) {
    char name[64];
    const char *from = p->at;
    if (!word(p, name, sizeof name)) return false;
    if (!strcmp(name, "floordiv") || !strcmp(name, "mod") || !strcmp(name, "min") || !strcmp(name, "max") ||
        !strcmp(name, "xor"))
        return call(p, name, out);
    char *end;
    unsigned long v = name[0] == 'i' && isdigit((unsigned char)name[1]) ? strtoul(name + 1, &end, 10) : IDS_MAX;
    hn_var var = v < IDS_MAX && !*end ? look(&p->var, (uint32_t)v) : 0;
    if (var) {
        *out = hn_ix_var(p->n, var);
        return true;
    }
    if (v < IDS_MAX && !*end) return wrong(p, "no loop over '%s' is open here", name);
    p->at = from;
    hn_dim d = hn_dim_find(p->n->dims, name);
    if (!d) d = hn_dim_symbol(p->n->dims, name, 0, INT64_MAX);
    p->at += strlen(name);
    if (!d) return wrong(p, "out of memory");
    *out = hn_ix_dim(p->n, d);
    return true;
}

static bool primary(parser *p, hn_ix *out) {
    uint32_t k;
    blanks(p);
    if (accept(p, "(")) return sum(p, out) && expect(p, ")");
    if (accept(p, "-")) {
        hn_ix a;
        if (++p->depth > DEPTH_MAX) return wrong(p, "nested too deep");
        if (!primary(p, &a)) return false;
        p->depth--;
        *out = hn_ix_sub(p->n, hn_ix_int(p->n, 0), a);
        return true;
    }
    if (accept(p, "%")) {
        if (!number(p, &k)) return false;
        hn_sv x = look(&p->sv, k);
        if (!x || !p->n->sv[x].below) return wrong(p, "%%%u is no index", k);
        *out = hn_ix_value(p->n, x);
        return true;
    }
    if (isdigit((unsigned char)*p->at)) {
        char *end;
        *out = hn_ix_int(p->n, strtoll(p->at, &end, 10));
        p->at = end;
        return true;
    }
    return named(p, out);
}

static bool product(parser *p, hn_ix *out) {
    hn_dim d;
    if (!primary(p, out)) return false;
    while (accept(p, "*")) {
        hn_ix b;
        if (!primary(p, &b)) return false;
        if (hn_ix_is_dim(p->n, b, &d))
            *out = hn_ix_scale(p->n, *out, d);
        else if (hn_ix_is_dim(p->n, *out, &d))
            *out = hn_ix_scale(p->n, b, d);
        else
            return wrong(p, "a product of two loop variables");
    }
    return true;
}

static bool sum(parser *p, hn_ix *out) {
    if (++p->depth > DEPTH_MAX) return wrong(p, "nested too deep");
    if (!product(p, out)) return false;
    for (;;) {
        hn_ix b;
        bool add = accept(p, "+"), sub = !add && accept(p, "-");
        if (!add && !sub) break;
        if (!product(p, &b)) return false;
        *out = add ? hn_ix_add(p->n, *out, b) : hn_ix_sub(p->n, *out, b);
    }
    p->depth--;
    return hn_arena_ok(p->n->a) || wrong(p, "out of memory, or too many terms in one index");
}

static bool dimension(parser *p, hn_dim *out) {
    hn_ix i;
    if (!sum(p, &i)) return false;
    return hn_ix_is_dim(p->n, i, out) || wrong(p, "a size depends on a loop");
}

/* -- statements */
static hn_buf nth(const hn_nest *n, hn_space space, uint32_t index) {
    for (hn_buf b = 1; b < n->n_buf; b++)
        if (n->buf[b].space == space && n->buf[b].index == index) return b;
    return 0;
}
static bool access(parser *p, hn_buf *b, hn_ix *at) {
    uint32_t k;
    blanks(p);
    char letter = *p->at;
    if (letter) p->at++;
    if (!number(p, &k)) return false;
    *b = letter == 'a'   ? look(&p->reg, k)
         : letter == 'p' ? nth(p->n, HN_PARAM, k)
         : letter == 'r' ? nth(p->n, HN_RESULT, k)
         : letter == 't' ? nth(p->n, HN_LOCAL, k)
         : letter == 'w' ? nth(p->n, HN_WORDS, k)
         : letter == 's' ? nth(p->n, HN_SHARED, k)
         : letter == 'g' ? nth(p->n, HN_GATE, k)
                         : 0;
    if (!*b) return wrong(p, "no buffer is called '%c%u'", letter, k);
    return expect(p, "[") && sum(p, at) && expect(p, "]");
}
static bool scalar(parser *p, hn_sv *x) {
    uint32_t k;
    if (!expect(p, "%") || !number(p, &k)) return false;
    *x = look(&p->sv, k);
    return *x || wrong(p, "no scalar %%%u", k);
}
static bool operation(const char *name, hn_op *op) {
    for (int k = 0; k < HN_N_OPS; k++)
        if (!strcmp(hn_op_of((hn_op)k)->text, name)) {
            hn_op_class c = hn_op_of((hn_op)k)->cls;
            *op = (hn_op)k;
            return c == HN_UNARY || c == HN_BINARY || c == HN_TERNARY;
        }
    return false;
}

static bool guards(parser *p, uint32_t *n, const hn_ix **guard) {
    hn_ix list[64];
    if (!accept(p, "if")) return true;
    do {
        if (*n == 64) return wrong(p, "more than 64 conditions");
        if (!sum(p, &list[(*n)++])) return false;
    } while (accept(p, ","));
    hn_ix *to = HN_NEW_N(p->n->a, hn_ix, *n);
    if (!to) return wrong(p, "out of memory");
    memcpy(to, list, *n * sizeof *to);
    *guard = to;
    return true;
}

static bool literal(parser *p, hn_scalar *x) {
    char *end;
    blanks(p);
    if (hn_is_float(x->dtype))
        x->f = hn_strtod(p->at, &end);
    else
        x->i = strtoll(p->at, &end, 10);
    if (end == p->at) return wrong(p, "expected a number at '%.20s'", p->at);
    p->at = end;
    return true;
}

static bool let(parser *p, hn_st *out) {
    hn_scalar x = {0};
    char name[32];
    uint32_t k;
    if (!number(p, &k) || !expect(p, "=") || !word(p, name, sizeof name) || !element_type(p, &x.dtype)) return false;
    bool is_const = !strcmp(name, "const"), is_load = !strcmp(name, "load"), is_index = !strcmp(name, "index");
    x.kind = is_const                ? HN_SV_CONST
             : is_load               ? HN_SV_LOAD
             : is_index              ? HN_SV_INDEX
             : !strcmp(name, "pick") ? HN_SV_PICK
             : !strcmp(name, "wrap") ? HN_SV_WRAP
                                     : HN_SV_OP;
    if (x.kind == HN_SV_OP && !operation(name, &x.op)) return wrong(p, "no scalar operation is called '%s'", name);
    if (is_const && !literal(p, &x)) return false;
    if (is_load && !access(p, &x.buf, &x.at)) return false;
    if (is_index && !sum(p, &x.at)) return false;
    while (!is_index && (blanks(p), *p->at == '%')) {
        if (x.n_arg == 3) return wrong(p, "more than three operands");
        if (!scalar(p, &x.arg[x.n_arg++])) return false;
    }
    x.saturate = accept(p, "saturate");
    x.fused = accept(p, "fused");
    x.bytes = accept(p, "bytes");
    for (hn_pairs which = HN_PAIRS_BOTH; which <= HN_PAIRS_HIGH && !x.pairs; which++)
        if (accept(p, hn_pairs_name[which])) x.pairs = which;
    x.part = accept(p, "part");
    if (accept(p, "below") && !dimension(p, &x.below)) return false;
    if (!guards(p, &x.n_guard, &x.guard)) return false;
    hn_sv id = hn_nest_scalar(p->n, &x);
    *out = hn_nest_stmt(p->n, &(hn_stmt){.kind = HN_ST_LET, .value = id});
    return define(p, &p->sv, k, id);
}

static bool list(parser *p, hn_st *first);

static bool loop(parser *p, hn_loop_kind kind, hn_st *out) {
    uint32_t k;
    hn_ix extent;
    hn_st body;
    if (!number(p, &k) || !expect(p, "<") || !sum(p, &extent) || !expect(p, "{") || !end_of_line(p)) return false;
    if (++p->depth > DEPTH_MAX) return wrong(p, "nested too deep");
    hn_var v = hn_nest_var(p->n, extent);
    if (!define(p, &p->var, k, v) || !list(p, &body) || !expect(p, "}")) return false;
    p->depth--;
    *out = hn_nest_stmt(p->n, &(hn_stmt){.kind = HN_ST_LOOP, .loop = kind, .var = v, .body = body});
    return true;
}

static bool write(parser *p, bool update, hn_st *out) {
    hn_stmt s = {.kind = update ? HN_ST_UPDATE : HN_ST_STORE};
    char name[32];
    if (!access(p, &s.buf, &s.at)) return false;
    if (update && (!word(p, name, sizeof name) || !operation(name, &s.op))) return wrong(p, "expected an operation");
    if (!scalar(p, &s.value) || !guards(p, &s.n_guard, &s.guard)) return false;
    *out = hn_nest_stmt(p->n, &s);
    return true;
}

static bool prefetch(parser *p, hn_st *out) {
    hn_stmt s = {.kind = HN_ST_PREFETCH};
    if (!access(p, &s.buf, &s.at)) return false;
    *out = hn_nest_stmt(p->n, &s);
    return true;
}

static bool copy(parser *p, hn_st *out) {
    hn_stmt s = {.kind = HN_ST_COPY};
    uint32_t k;
    if (!access(p, &s.buf, &s.at) || !access(p, &s.from[0], &s.from_at[0])) return false;
    blanks(p);
    if (!number(p, &k) || !guards(p, &s.n_guard, &s.guard)) return false;
    s.count = k;
    *out = hn_nest_stmt(p->n, &s);
    return true;
}

/* "push s0[INDEX] COUNT". */
static bool push(parser *p, hn_st *out) {
    hn_stmt s = {.kind = HN_ST_PUSH};
    uint32_t k;
    if (!access(p, &s.buf, &s.at)) return false;
    blanks(p);
    if (!number(p, &k)) return false;
    s.count = k;
    *out = hn_nest_stmt(p->n, &s);
    return true;
}

static bool mma(parser *p, hn_st *out) {
    hn_stmt s = {.kind = HN_ST_MMA};
    char name[32];
    size_t row;
    if (!word(p, name, sizeof name)) return false;
    if (!hn_mma_named(name, &row)) return wrong(p, "no tile product is called '%s'", name);
    s.count = (int64_t)row;
    if (!access(p, &s.buf, &s.at) || !access(p, &s.from[0], &s.from_at[0]) || !access(p, &s.from[1], &s.from_at[1]))
        return false;
    *out = hn_nest_stmt(p->n, &s);
    return true;
}

/* "arrive g0[INDEX]", "arrive g0[INDEX] copies", "await g0[INDEX] phase INDEX". */
static bool gate(parser *p, hn_st_kind kind, hn_st *out) {
    hn_stmt s = {.kind = kind};
    if (!access(p, &s.buf, &s.at)) return false;
    blanks(p);
    if (kind == HN_ST_ARRIVE)
        s.count = accept(p, "copies");
    else if (!accept(p, "phase"))
        return wrong(p, "expected 'phase'");
    else if (!sum(p, &s.from_at[0]))
        return false;
    *out = hn_nest_stmt(p->n, &s);
    return true;
}

/* "barrier", "barrier cluster", "commit", "wait N". */
static bool order(parser *p, hn_st *out) {
    hn_stmt s = {.kind = HN_ST_BARRIER};
    uint32_t k = 0;
    if (accept(p, "commit")) s.kind = HN_ST_COMMIT;
    if (accept(p, "wait")) {
        s.kind = HN_ST_WAIT;
        blanks(p);
        if (!number(p, &k)) return false;
    }
    if (s.kind == HN_ST_BARRIER && !accept(p, "barrier")) return false;
    if (s.kind == HN_ST_BARRIER) s.cluster = accept(p, "cluster");
    s.count = k;
    *out = hn_nest_stmt(p->n, &s);
    return true;
}

static bool reg(parser *p, hn_st *out) {
    hone_dtype t;
    hn_dim size;
    uint32_t k;
    if (!number(p, &k) || !element_type(p, &t) || !dimension(p, &size)) return false;
    hn_buf b = hn_nest_buf(p->n, HN_REG, t, size);
    *out = hn_nest_stmt(p->n, &(hn_stmt){.kind = HN_ST_REG, .buf = b});
    return define(p, &p->reg, k, b);
}

static bool statement(parser *p, hn_st *out) {
    static const char *const kind[] = {
        [HN_SERIAL] = "for i",  [HN_PARALLEL] = "parallel i", [HN_VECTOR] = "vector i",  [HN_UNROLL] = "unroll i",
        [HN_GROUP] = "group i", [HN_ROLE] = "role i",         [HN_CLUSTER] = "cluster i"};
    blanks(p);
    for (int k = 0; k < HN_N_LOOP_KINDS; k++)
        if (!strncmp(p->at, kind[k], strlen(kind[k]))) {
            p->at += strlen(kind[k]);
            return loop(p, (hn_loop_kind)k, out);
        }
    if (*p->at == '%') {
        p->at++;
        return let(p, out);
    }
    if (accept(p, "store")) return write(p, false, out);
    if (accept(p, "update")) return write(p, true, out);
    if (accept(p, "prefetch")) return prefetch(p, out);
    if (accept(p, "copy")) return copy(p, out);
    if (accept(p, "push")) return push(p, out);
    if (accept(p, "mma")) return mma(p, out);
    if (accept(p, "arrive")) return gate(p, HN_ST_ARRIVE, out);
    if (accept(p, "await")) return gate(p, HN_ST_AWAIT, out);
    if (order(p, out)) return true;
    if (!strncmp(p->at, "reg a", 5)) {
        p->at += 5;
        return reg(p, out);
    }
    return wrong(p, "no statement begins with '%.20s'", p->at);
}

static bool list(parser *p, hn_st *first) {
    hn_st tail = 0;
    *first = 0;
    for (blanks(p); *p->at && *p->at != '}'; blanks(p)) {
        hn_st s = 0;
        if (!statement(p, &s) || !end_of_line(p)) return false;
        if (!s) return wrong(p, "out of memory");
        if (tail)
            p->n->st[tail].next = s;
        else
            *first = s;
        tail = s;
    }
    return true;
}

static bool buffer_line(parser *p, char letter, hn_space kind) {
    hone_dtype t;
    hn_dim size;
    uint32_t k;
    blanks(p);
    if (*p->at != letter) return wrong(p, "expected '%c' and a number", letter);
    p->at++;
    if (!number(p, &k) || !element_type(p, &t) || !dimension(p, &size)) return false;
    hn_buf b = hn_nest_buf(p->n, kind, t, size);
    if (!b || p->n->buf[b].index != k) return wrong(p, "buffers are numbered from 0 in order");
    return end_of_line(p);
}

/* "words w1 i32 SIZE": parameter 1 again. */
static bool words_line(parser *p) {
    hone_dtype t;
    hn_dim size;
    uint32_t k;
    blanks(p);
    if (*p->at != 'w') return wrong(p, "expected 'w' and the number of a parameter");
    p->at++;
    if (!number(p, &k) || !element_type(p, &t) || !dimension(p, &size)) return false;
    hn_buf param = nth(p->n, HN_PARAM, k);
    bool pairs = param && p->n->buf[param].dtype == HONE_BF16;
    if (!param || (hn_dtype_of(p->n->buf[param].dtype)->bits != 8 && !pairs))
        return wrong(p, "words need a parameter of bytes or of bf16");
    hn_buf b = hn_nest_words(p->n, param);
    if (!b || t != HONE_I32 || p->n->buf[b].size != size)
        return wrong(p, "words are i32, as many as fit into the parameter");
    return end_of_line(p);
}

hone_rc hn_nest_parse(const char *text, hn_arena *a, hn_dims *dims, hn_nest **out, hone_err *err) {
    parser p = {.at = text, .line = 1, .err = err, .rc = HONE_OK};
    if (!(p.n = hn_nest_new(a, dims))) return hn_fail(err, HONE_E_NOMEM, "out of memory in reading a loop nest");
    bool fine = true;
    empty_lines(&p);
    while (fine) {
        if (accept(&p, "param"))
            fine = buffer_line(&p, 'p', HN_PARAM);
        else if (accept(&p, "result"))
            fine = buffer_line(&p, 'r', HN_RESULT);
        else if (accept(&p, "local"))
            fine = buffer_line(&p, 't', HN_LOCAL);
        else if (accept(&p, "shared"))
            fine = buffer_line(&p, 's', HN_SHARED);
        else if (accept(&p, "gate"))
            fine = buffer_line(&p, 'g', HN_GATE);
        else if (accept(&p, "words"))
            fine = words_line(&p);
        else
            break;
    }
    if (fine && list(&p, &p.n->first) && *p.at) wrong(&p, "'}' without a '{'");
    if (p.rc == HONE_OK && !hn_arena_ok(a)) p.rc = hn_fail(err, HONE_E_NOMEM, "out of memory in reading a loop nest");
    if (p.rc == HONE_OK) p.rc = hn_nest_verify(p.n, err);
    if (p.rc == HONE_OK) *out = p.n;
    return p.rc;
}
