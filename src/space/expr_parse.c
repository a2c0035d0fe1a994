/* space/expr_parse.c — recursive descent over the grammar of docs/expressions.md. */
#include "base/err.h"
#include "base/locale.h"
#include "base/str.h"
#include "space/expr.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum token_kind { T_END, T_NUM, T_TEXT, T_NAME, T_OP, T_OPEN, T_CLOSE, T_COMMA } token_kind;

typedef struct token {
    token_kind kind;
    hn_opcode op; /* T_OP */
    unsigned offset, n;
    bool quoted; /* T_NAME in backquotes: never a keyword or a function */
    double num;
    const char *text; /* T_TEXT, T_NAME */
} token;

typedef struct parser {
    hn_arena *a;
    const char *s;
    unsigned at;
    token t; /* the one looked at */
    unsigned depth, n_nodes;
    const hn_enode **name;
    size_t n_names, room_names;
    hone_err *err;
    hone_rc rc; /* sticky: the first failure */
} parser;

hone_rc hn_expr_fail(const char *source, unsigned offset, hone_err *err, const char *fmt, ...) {
    char what[800];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    unsigned column = 1;
    for (unsigned i = 0; i < offset; i++) column += ((unsigned char)source[i] & 0xc0) != 0x80;
    return hn_fail(err, HONE_E_INPUT, "column %u: %s", column, what);
}

static void *fail(parser *p, unsigned offset, const char *what, const char *subject, unsigned n) {
    if (p->rc) return NULL;
    if (n > 60) n = 60;
    if (subject)
        p->rc = hn_expr_fail(p->s, offset, p->err, "%s '%.*s'", what, (int)n, subject);
    else
        p->rc = hn_expr_fail(p->s, offset, p->err, "%s", what);
    return NULL;
}

/* --- tokens -------------------------------------------------------------------------------------------------- */

static bool word_start(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool word_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

static const struct {
    const char *text;
    hn_opcode op;
} op_row[] = {
    {"==", HN_EX_EQ}, {"!=", HN_EX_NE}, {"<=", HN_EX_LE}, {">=", HN_EX_GE}, {"<", HN_EX_LT},  {">", HN_EX_GT},
    {"+", HN_EX_ADD}, {"-", HN_EX_SUB}, {"*", HN_EX_MUL}, {"/", HN_EX_DIV}, {"%", HN_EX_MOD},
};
/* Spellings from other languages, for better error messages. */
static const struct {
    const char *text, *what;
} slip_row[] = {
    {"&&", "write 'and' instead of"},     {"||", "write 'or' instead of"}, {"&", "write 'and' instead of"},
    {"|", "write 'or' instead of"},       {"!", "write 'not' instead of"}, {"=", "write '==' instead of"},
    {"**", "there is no power operator"}, {"//", "there is no operator"},  {"<>", "write '!=' instead of"},
    {"===", "write '==' instead of"},
};

static bool lex_operator(parser *p) {
    const char *s = p->s + p->at;
    size_t best = 0;
    for (size_t i = 0; i < sizeof slip_row / sizeof *slip_row; i++) {
        size_t n = strlen(slip_row[i].text);
        bool real = *s == '!' && s[1] == '=';
        if (strncmp(s, slip_row[i].text, n) || real || (n == 1 && s[1] == '=')) continue;
        fail(p, p->at, slip_row[i].what, s, (unsigned)n);
        return true;
    }
    for (size_t i = 0; i < sizeof op_row / sizeof *op_row && !best; i++) {
        size_t n = strlen(op_row[i].text);
        if (strncmp(s, op_row[i].text, n)) continue;
        best = n;
        p->t.kind = T_OP;
        p->t.op = op_row[i].op;
        p->t.n = (unsigned)n;
    }
    return best > 0;
}

/* '…' or "…"; a backslash keeps the next character. `name`: the same in backquotes, without escapes. */
static void lex_quoted(parser *p, char quote) {
    const char *s = p->s + p->at + 1;
    char *text = hn_alloc(p->a, strlen(s) + 1);
    size_t n = 0, i = 0;
    for (; s[i] && s[i] != quote; i++) {
        if (quote != '`' && s[i] == '\\' && s[i + 1]) i++;
        if (text) text[n++] = s[i];
    }
    p->t.kind = quote == '`' ? T_NAME : T_TEXT;
    p->t.quoted = true;
    p->t.text = text;
    p->t.n = (unsigned)i + 2;
    if (!s[i])
        fail(p, p->at, quote == '`' ? "a name without its closing backquote" : "a text without its closing quote", NULL,
             0);
    if (!text && !p->rc) p->rc = hn_fail(p->err, HONE_E_NOMEM, "out of memory");
}

static void lex_number(parser *p) {
    const char *s = p->s + p->at;
    char *end;
    p->t.kind = T_NUM;
    p->t.num = hn_strtod(s, &end);
    p->t.n = (unsigned)(end - s);
    if (word_start(*end) || *end == '.')
        fail(p, p->at, "not a number (a name that starts with a digit needs backquotes):", s, p->t.n + 1);
    else if (!isfinite(p->t.num))
        fail(p, p->at, "a number too large:", s, p->t.n);
}

static void lex_word(parser *p) {
    const char *s = p->s + p->at;
    unsigned n = 0;
    while (word_char(s[n])) n++;
    p->t.kind = T_NAME;
    p->t.n = n;
    p->t.text = hn_strndup(p->a, s, n);
    if (!p->t.text) {
        p->rc = hn_fail(p->err, HONE_E_NOMEM, "out of memory");
        return;
    }
    static const struct {
        const char *text;
        hn_opcode op;
    } word[] = {{"and", HN_EX_AND}, {"or", HN_EX_OR}, {"not", HN_EX_NOT}};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (!strcmp(p->t.text, word[i].text)) {
            p->t.kind = T_OP;
            p->t.op = word[i].op;
        }
}

static void next(parser *p) {
    if (p->rc) {
        p->t.kind = T_END;
        return;
    }
    p->at = p->t.offset + p->t.n;
    while (p->s[p->at] && strchr(" \t\r\n", p->s[p->at])) p->at++;
    char c = p->s[p->at];
    p->t = (token){.kind = T_END, .offset = p->at};
    if (!c) return;
    p->t.n = 1;
    if (c == '(')
        p->t.kind = T_OPEN;
    else if (c == ')')
        p->t.kind = T_CLOSE;
    else if (c == ',')
        p->t.kind = T_COMMA;
    else if (c == '\'' || c == '"' || c == '`')
        lex_quoted(p, c);
    else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)p->s[p->at + 1])))
        lex_number(p);
    else if (word_start(c))
        lex_word(p);
    else if (!lex_operator(p))
        fail(p, p->at, "unexpected character", p->s + p->at, 1);
    if (p->rc) p->t.kind = T_END; /* no token without its text */
}

/* --- tree ---------------------------------------------------------------------------------------------------- */

static hn_enode *node(parser *p, hn_opcode op, const token *t, hn_enode *a, hn_enode *b) {
    if (p->rc) return NULL;
    if (++p->n_nodes > HN_EXPR_NODES) {
        p->rc = hn_fail(p->err, HONE_E_LIMIT, "column %u: an expression of more than %d operators and operands",
                        t->offset + 1, HN_EXPR_NODES);
        return NULL;
    }
    hn_enode *x = HN_NEW(p->a, hn_enode);
    if (!x) {
        p->rc = hn_fail(p->err, HONE_E_NOMEM, "out of memory");
        return NULL;
    }
    *x = (hn_enode){.op = op, .num = t->num, .text = t->text, .offset = t->offset, .n = t->n, .a = a, .b = b};
    return x;
}

static void remember_name(parser *p, const hn_enode *x) {
    if (!x) return;
    if (p->n_names == p->room_names) {
        size_t room = p->room_names ? 2 * p->room_names : 4;
        const hn_enode **name = HN_NEW_N(p->a, const hn_enode *, room);
        if (!name) {
            p->rc = hn_fail(p->err, HONE_E_NOMEM, "out of memory");
            return;
        }
        if (p->n_names) memcpy(name, p->name, p->n_names * sizeof *name);
        p->name = name;
        p->room_names = room;
    }
    p->name[p->n_names++] = x;
}

static hn_enode *parse_level(parser *p, hn_level level);

/* Nesting is bounded here: every recursive rule passes through. */
static bool deeper(parser *p) {
    if (++p->depth <= HN_EXPR_DEPTH) return true;
    fail(p, p->t.offset, "nested too deeply", NULL, 0);
    return false;
}

static void *expected(parser *p, const char *what) {
    if (p->t.kind == T_END && !p->rc) p->rc = hn_expr_fail(p->s, p->t.offset, p->err, "%s the end", what);
    return fail(p, p->t.offset, what, p->s + p->t.offset, p->t.n);
}

static bool close_paren(parser *p) {
    if (p->t.kind != T_CLOSE) return expected(p, "expected ')', found") != NULL;
    next(p);
    return !p->rc;
}

static hn_enode *parse_defined(parser *p) {
    token t = p->t;
    if (t.kind != T_NAME) return expected(p, "defined() takes the name of a parameter, found");
    next(p);
    hn_enode *x = node(p, HN_EX_DEFINED, &t, NULL, NULL);
    remember_name(p, x);
    return close_paren(p) ? x : NULL;
}

/* min and max fold over any number of arguments; abs takes one. The opening parenthesis is consumed. */
static hn_enode *parse_arguments(parser *p, const token *f) {
    bool is_abs = !strcmp(f->text, "abs");
    hn_opcode op = is_abs ? HN_EX_ABS : !strcmp(f->text, "min") ? HN_EX_MIN : HN_EX_MAX;
    hn_enode *x = parse_level(p, HN_LEVEL_OR);
    if (is_abs) x = node(p, op, f, x, NULL);
    while (!is_abs && p->t.kind == T_COMMA) {
        next(p);
        hn_enode *y = parse_level(p, HN_LEVEL_OR);
        x = node(p, op, f, x, y);
    }
    return close_paren(p) ? x : NULL;
}

static hn_enode *parse_call(parser *p, const token *f) {
    static const char *const known[] = {"min", "max", "abs", "defined"};
    bool found = false;
    for (size_t i = 0; i < 4; i++) found |= !strcmp(f->text, known[i]);
    if (!found) {
        const char *near = hn_nearest(f->text, known, 4);
        if (!p->rc)
            p->rc = hn_expr_fail(p->s, f->offset, p->err, "unknown function '%.60s'; %s%s%s", f->text,
                                 near ? "did you mean '" : "known are min, max, abs, defined", near ? near : "",
                                 near ? "'?" : "");
        return NULL;
    }
    next(p);
    if (!deeper(p)) return NULL;
    hn_enode *x = !strcmp(f->text, "defined") ? parse_defined(p) : parse_arguments(p, f);
    p->depth--;
    return x;
}

static hn_enode *parse_word(parser *p) {
    token t = p->t;
    next(p);
    if (!t.quoted && p->t.kind == T_OPEN) return parse_call(p, &t);
    bool yes = !t.quoted && !strcmp(t.text, "true"), no = !t.quoted && !strcmp(t.text, "false");
    if (yes || no) {
        t.num = yes;
        hn_enode *x = node(p, HN_EX_NUM, &t, NULL, NULL);
        if (x) x->truth = true;
        return x;
    }
    hn_enode *x = node(p, HN_EX_NAME, &t, NULL, NULL);
    remember_name(p, x);
    return x;
}

static hn_enode *parse_atom(parser *p) {
    token t = p->t;
    hn_enode *x;
    switch (t.kind) {
    case T_NUM: next(p); return node(p, HN_EX_NUM, &t, NULL, NULL);
    case T_TEXT: next(p); return node(p, HN_EX_TEXT, &t, NULL, NULL);
    case T_NAME: return parse_word(p);
    case T_OPEN:
        if (!deeper(p)) return NULL;
        next(p);
        x = parse_level(p, HN_LEVEL_OR);
        p->depth--;
        return close_paren(p) ? x : NULL;
    default: return expected(p, "expected a value, found");
    }
}

static bool at_level(const parser *p, hn_level level) {
    return !p->rc && p->t.kind == T_OP && hn_opcode_of(p->t.op).level == level;
}

/* An operand behind `not` or a sign: another such operator may follow, else what binds more tightly. */
static hn_enode *parse_prefixed(parser *p, hn_level level) {
    token t = p->t;
    if (!deeper(p)) return NULL;
    next(p);
    hn_enode *x = parse_level(p, level);
    p->depth--;
    if (level == HN_LEVEL_NOT) return node(p, HN_EX_NOT, &t, x, NULL);
    return t.op == HN_EX_SUB ? node(p, HN_EX_NEG, &t, x, NULL) : x;
}

/* Operators of this level and of those that bind more tightly; of one level from the left to the right. */
static hn_enode *parse_level(parser *p, hn_level level) {
    if (level == HN_LEVEL_ATOM) return at_level(p, HN_LEVEL_SUM) ? parse_prefixed(p, level) : parse_atom(p);
    if (level == HN_LEVEL_NOT && at_level(p, level)) return parse_prefixed(p, level);
    hn_enode *x = parse_level(p, (hn_level)(level - 1));
    while (level != HN_LEVEL_NOT && at_level(p, level)) {
        token t = p->t;
        next(p);
        hn_enode *y = parse_level(p, (hn_level)(level - 1));
        x = node(p, t.op, &t, x, y);
        if (level == HN_LEVEL_COMPARISON && at_level(p, level))
            return fail(p, p->t.offset, "chained comparison; write 'a < b and b < c' instead of 'a < b < c'", NULL, 0);
    }
    return x;
}

hone_rc hn_expr_parse(hn_arena *a, const char *text, hn_expr *out, hone_err *err) {
    if (strlen(text) > HN_EXPR_TEXT_B)
        return hn_fail(err, HONE_E_LIMIT, "an expression of more than %d bytes", HN_EXPR_TEXT_B);
    parser p = {.a = a, .s = text, .err = err};
    next(&p);
    const hn_enode *root = parse_level(&p, HN_LEVEL_OR);
    if (!p.rc && p.t.kind != T_END) expected(&p, "expected an operator or the end, found");
    if (p.rc) return p.rc;
    *out = (hn_expr){text, root, p.name, p.n_names};
    return HONE_OK;
}

const char *hn_expr_quote_name(hn_arena *a, const char *name) {
    static const char *const taken[] = {"and", "or", "not", "true", "false"};
    bool plain = word_start(*name);
    for (const char *c = name; *c; c++) plain &= word_char(*c);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) plain &= strcmp(name, taken[i]) != 0;
    return plain ? hn_strdup(a, name) : hn_format(a, "`%s`", name);
}
