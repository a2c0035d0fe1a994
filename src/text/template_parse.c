/* template_parse.c — a template's text to nodes: a lexer of blocks and of what stands in them, and a recursive descent
 * with Jinja's precedences. */
#include "base/err.h"
#include "base/locale.h"
#include "text/template_int.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 200 };

typedef enum token_kind { END, BLOCK_END, NAME, TEXT, NUMBER, SIGN } token_kind;
typedef struct token {
    token_kind kind;
    const char *at;
    size_t n;
} token;

typedef struct parser {
    hn_trun *r;
    const char *at, *end;
    unsigned line, depth;
    token now;
    bool trim_next;        /* text behind a block: white space in front of it goes */
    const char *block_end; /* "%}" or "}}" */
} parser;

static hn_tnode *expression(parser *p);
static hn_tnode *statements(parser *p, const char *const *until, const char **ended);

static bool bad(parser *p, const char *what, const char *more, size_t n) {
    if (!p->r->rc)
        hn_t_fail(p->r, p->line, "%s%s%.*s%s", what, n ? " '" : "", (int)(n < 40 ? n : 40), more, n ? "'" : "");
    return false;
}

/* Into what is nested; false: too deeply. */
static bool deeper(parser *p, const char *what) {
    char text[80];
    if (++p->depth <= DEEPEST) return !p->r->rc;
    snprintf(text, sizeof text, "%s are nested too deeply", what);
    return bad(p, text, "", 0);
}

static hn_tnode *node(parser *p, hn_tnode_kind kind) {
    hn_tnode *n = HN_NEW(p->r->arena, hn_tnode);
    if (!n) {
        if (!p->r->rc) p->r->rc = hn_fail(p->r->err, HONE_E_NOMEM, "out of memory reading a template");
        return NULL;
    }
    n->kind = kind;
    n->line = p->line;
    return n;
}

/* --- inside a block ----------------------------------------------------------------------------------------------- */

static bool is(const parser *p, const char *what) {
    return (p->now.kind == NAME || p->now.kind == SIGN || p->now.kind == BLOCK_END) && p->now.n == strlen(what) &&
           !memcmp(p->now.at, what, p->now.n);
}

static size_t sign_at(const parser *p) {
    static const char *const two[] = {"==", "!=", "<=", ">=", "//", "**"};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (p->end - p->at >= 2 && !memcmp(p->at, two[i], 2)) return 2;
    return strchr("+-*/%~<>=.,:|()[]{}", *p->at) ? 1 : 0;
}

static size_t quoted_at(const parser *p) {
    const char *q = p->at + 1;
    while (q < p->end && *q != *p->at) q += *q == '\\' && q + 1 < p->end ? 2 : 1;
    return q < p->end ? (size_t)(q - p->at) + 1 : 0;
}

/* 12, 1.5, 1e3, 1.5e-3 */
static size_t number_at(const parser *p) {
    const char *q = p->at;
    while (q < p->end && isdigit((unsigned char)*q)) q++;
    if (q + 1 < p->end && *q == '.' && isdigit((unsigned char)q[1]))
        for (q++; q < p->end && isdigit((unsigned char)*q);) q++;
    const char *e = q + 1 < p->end && (*q == 'e' || *q == 'E') ? q + 1 + (q[1] == '-' || q[1] == '+') : NULL;
    if (e && e < p->end && isdigit((unsigned char)*e))
        for (q = e; q < p->end && isdigit((unsigned char)*q);) q++;
    return (size_t)(q - p->at);
}

static size_t name_at(const parser *p) {
    const char *q = p->at;
    while (q < p->end && (isalnum((unsigned char)*q) || *q == '_')) q++;
    return (size_t)(q - p->at);
}

static bool next(parser *p) {
    while (p->at < p->end && isspace((unsigned char)*p->at)) p->line += *p->at++ == '\n';
    p->now = (token){END, p->at, 0};
    if (p->at >= p->end) return bad(p, "a block does not end", "", 0);
    size_t left = (size_t)(p->end - p->at);
    bool dash = left >= 3 && *p->at == '-' && !memcmp(p->at + 1, p->block_end, 2);
    if (dash || (left >= 2 && !memcmp(p->at, p->block_end, 2))) {
        p->now = (token){BLOCK_END, p->at, dash ? 3 : 2};
        p->trim_next = dash;
    } else if (*p->at == '"' || *p->at == '\'')
        p->now = (token){TEXT, p->at, quoted_at(p)};
    else if (isdigit((unsigned char)*p->at))
        p->now = (token){NUMBER, p->at, number_at(p)};
    else if (isalpha((unsigned char)*p->at) || *p->at == '_')
        p->now = (token){NAME, p->at, name_at(p)};
    else
        p->now = (token){SIGN, p->at, sign_at(p)};
    if (!p->now.n) return bad(p, "cannot be read:", p->at, 1);
    for (size_t i = 0; i < p->now.n; i++) p->line += p->now.at[i] == '\n';
    p->at += p->now.n;
    return !p->r->rc;
}

static bool take(parser *p, const char *what) {
    return is(p, what) ? next(p) : bad(p, "something else is expected at", p->now.at, p->now.n);
}
static bool if_taken(parser *p, const char *what) { return is(p, what) && (next(p), true); }

static bool take_name(parser *p, const char **out) {
    if (p->now.kind != NAME) return bad(p, "a name is expected at", p->now.at, p->now.n);
    *out = hn_strndup(p->r->arena, p->now.at, p->now.n);
    return next(p);
}

/* Python's escapes of a quoted text. */
static hn_tv unquoted(parser *p) {
    hn_str s = {0};
    const char *q = p->now.at + 1, *end = p->now.at + p->now.n - 1;
    for (; q < end; q++) {
        static const char from[] = "nrt\\'\"0", to[] = "\n\r\t\\'\"\0";
        const char *k = *q == '\\' && q + 1 < end ? strchr(from, q[1]) : NULL;
        if (k && *k)
            hn_str_add_n(&s, &to[k - from], 1), q++;
        else
            hn_str_add_n(&s, q, 1);
    }
    hn_tv v = hn_tv_text(p->r, s.text ? s.text : "", s.n);
    hn_str_free(&s);
    return v;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

/* Room for as many as stand between brackets is found by doubling. */
static bool add(parser *p, hn_tnode *to, hn_tnode *item, size_t *room) {
    if (!item) return false;
    if (to->n_list == *room) {
        size_t more = *room ? 2 * *room : 4;
        hn_tnode **list = HN_NEW_N(p->r->arena, hn_tnode *, more);
        if (!list) return false;
        if (to->n_list) memcpy(list, to->list, to->n_list * sizeof *list);
        to->list = list;
        *room = more;
    }
    to->list[to->n_list++] = item;
    return true;
}

static bool arguments(parser *p, hn_tnode *to) {
    size_t room = 0;
    if (!take(p, "(")) return false;
    while (!p->r->rc && !is(p, ")")) {
        hn_tnode *value = expression(p);
        if (value && value->kind == HN_TN_NAME && is(p, "=")) {
            hn_tnode *keyword = node(p, HN_TN_KEYWORD);
            if (!keyword || !next(p)) return false;
            keyword->text = value->text;
            keyword->a = expression(p);
            value = keyword->a ? keyword : NULL;
        }
        if (!add(p, to, value, &room)) return false;
        if (!is(p, ")") && !take(p, ",")) return false;
    }
    return !p->r->rc && next(p);
}

static hn_tnode *bracketed(parser *p, hn_tnode_kind kind, const char *end) {
    hn_tnode *n = node(p, kind);
    size_t room = 0;
    if (!n || !next(p)) return NULL;
    while (!p->r->rc && !is(p, end)) {
        if (!add(p, n, expression(p), &room)) return NULL;
        if (kind == HN_TN_DICT && (!take(p, ":") || !add(p, n, expression(p), &room))) return NULL;
        if (!is(p, end) && !take(p, ",")) return NULL;
    }
    return !p->r->rc && next(p) ? n : NULL;
}

/* (x), (x, y), (), (x,) */
static hn_tnode *parenthesised(parser *p) {
    hn_tnode *list = node(p, HN_TN_LIST);
    size_t room = 0;
    bool comma = false;
    if (!list || !next(p)) return NULL;
    while (!p->r->rc && !is(p, ")")) {
        if (!add(p, list, expression(p), &room)) return NULL;
        if (is(p, ")")) break;
        if (!take(p, ",")) return NULL;
        comma = true;
    }
    if (p->r->rc || !next(p)) return NULL;
    list->negated = true;
    return list->n_list == 1 && !comma ? list->list[0] : list;
}

static hn_tnode *named(parser *p) {
    static const struct {
        const char *name;
        hn_tv_kind kind;
        int value;
    } constant[] = {{"true", HN_TV_BOOL, 1},  {"True", HN_TV_BOOL, 1}, {"false", HN_TV_BOOL, 0},
                    {"False", HN_TV_BOOL, 0}, {"none", HN_TV_NONE, 0}, {"None", HN_TV_NONE, 0}};
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++) {
        if (!is(p, constant[i].name)) continue;
        hn_tnode *n = node(p, HN_TN_LITERAL);
        if (n) n->value = (hn_tv){.kind = constant[i].kind, .i = constant[i].value};
        return n && next(p) ? n : NULL;
    }
    hn_tnode *n = node(p, HN_TN_NAME);
    return n && take_name(p, &n->text) ? n : NULL;
}

static hn_tnode *primary(parser *p) {
    hn_tnode *n;
    char number[64];
    switch (p->now.kind) {
    case NAME: return named(p);
    case TEXT:
        if (!(n = node(p, HN_TN_LITERAL))) return NULL;
        n->value = unquoted(p);
        if (!next(p)) return NULL;
        while (p->now.kind == TEXT) { /* neighbours are one text */
            hn_tv more = unquoted(p);
            char *both = hn_format(p->r->arena, "%s%s", n->value.text ? n->value.text : "", more.text ? more.text : "");
            if (both) n->value = hn_tv_text(p->r, both, strlen(both));
            if (!next(p)) return NULL;
        }
        return n;
    case NUMBER:
        if (p->now.n >= sizeof number) bad(p, "a number is too long", p->now.at, p->now.n);
        if (!(n = node(p, HN_TN_LITERAL)) || p->r->rc) return NULL;
        memcpy(number, p->now.at, p->now.n);
        number[p->now.n] = 0;
        n->value = strpbrk(number, ".eE") ? (hn_tv){.kind = HN_TV_FLOAT, .f = hn_strtod(number, NULL)}
                                          : hn_tv_int(strtoll(number, NULL, 10));
        return next(p) ? n : NULL;
    case SIGN:
        if (is(p, "(")) return parenthesised(p);
        if (is(p, "[")) return bracketed(p, HN_TN_LIST, "]");
        if (is(p, "{")) return bracketed(p, HN_TN_DICT, "}");
        break;
    case END:
    case BLOCK_END: break;
    }
    bad(p, "a value is expected at", p->now.at, p->now.n);
    return NULL;
}

static hn_tnode *subscript(parser *p, hn_tnode *of) {
    hn_tnode *n = node(p, HN_TN_INDEX), **part[3];
    if (!n || !next(p)) return NULL;
    n->a = of;
    part[0] = &n->b;
    part[1] = &n->c;
    part[2] = &n->d;
    for (int i = 0; i < 3; i++) {
        if (!is(p, ":") && !is(p, "]") && !(*part[i] = expression(p))) return NULL;
        if (!is(p, ":")) break;
        n->kind = HN_TN_SLICE;
        if (!next(p)) return NULL;
    }
    if (n->kind == HN_TN_INDEX && !n->b) bad(p, "an index is expected at", p->now.at, p->now.n);
    return !p->r->rc && take(p, "]") ? n : NULL;
}

static hn_tnode *postfix(parser *p, hn_tnode *n) {
    while (n && !p->r->rc) {
        hn_tnode *m;
        if (is(p, ".")) {
            if (!(m = node(p, HN_TN_MEMBER)) || !next(p)) return NULL;
            m->a = n;
            if (p->now.kind == NUMBER) { /* x.0 */
                m->kind = HN_TN_INDEX;
                m->b = primary(p);
            } else if (!take_name(p, &m->text))
                return NULL;
            n = m;
        } else if (is(p, "["))
            n = subscript(p, n);
        else if (is(p, "(")) {
            if (!(m = node(p, HN_TN_CALL))) return NULL;
            m->a = n;
            n = arguments(p, m) ? m : NULL;
        } else
            return n;
    }
    return p->r->rc ? NULL : n;
}

static hn_tnode *filters(parser *p, hn_tnode *n) {
    while (n && !p->r->rc) {
        bool test = is(p, "is");
        if (!test && !is(p, "|")) {
            if (!is(p, "(") && !is(p, ".") && !is(p, "[")) return n;
            n = postfix(p, n);
            continue;
        }
        hn_tnode *m = node(p, test ? HN_TN_TEST : HN_TN_FILTER);
        size_t room = 0;
        if (!m || !next(p)) return NULL;
        m->a = n;
        m->negated = test && if_taken(p, "not");
        if (!take_name(p, &m->text)) return NULL;
        bool word = p->now.kind == NAME && !is(p, "and") && !is(p, "or") && !is(p, "else") && !is(p, "if") &&
                    !is(p, "is") && !is(p, "in") && !is(p, "not");
        bool value = test && (word || p->now.kind == TEXT || p->now.kind == NUMBER || is(p, "[") || is(p, "{"));
        if (is(p, "(") ? !arguments(p, m) : value && !add(p, m, postfix(p, primary(p)), &room)) return NULL;
        n = m;
    }
    return p->r->rc ? NULL : n;
}

static hn_tnode *unary(parser *p, bool filter) {
    if (is(p, "-") || is(p, "+")) {
        hn_tnode *n = node(p, HN_TN_UNARY);
        if (!n) return NULL;
        n->text = is(p, "-") ? "-" : "+";
        if (!next(p) || !deeper(p, "expressions") || !(n->a = unary(p, false))) return NULL;
        p->depth--;
        return filter ? filters(p, n) : n;
    }
    hn_tnode *n = postfix(p, primary(p));
    return filter && n ? filters(p, n) : n;
}

/* Left-associative operators by level, the loosest first; "not in" is spelt so. */
static const char *const levels[][8] = {
    {"or"}, {"and"}, {NULL}, {"==", "!=", "<=", ">=", "<", ">", "in", "not"}, {"+", "-"}, {"~"}, {"*", "//", "/", "%"},
    {"**"}};
enum { NOT_LEVEL = 2, COMPARE_LEVEL = 3, LEVELS = sizeof levels / sizeof *levels };

static const char *operator_at(const parser *p, int level) {
    for (size_t i = 0; i < 8 && levels[level][i]; i++)
        if (is(p, levels[level][i])) return levels[level][i];
    return NULL;
}

static hn_tnode *binary(parser *p, int level) {
    if (level == LEVELS) return unary(p, true);
    if (level == NOT_LEVEL) {
        if (!is(p, "not")) return binary(p, level + 1);
        hn_tnode *n = node(p, HN_TN_UNARY);
        if (!n || !next(p)) return NULL;
        n->text = "not";
        if (!deeper(p, "expressions")) return NULL;
        n->a = binary(p, level);
        p->depth--;
        return n->a ? n : NULL;
    }
    hn_tnode *left = binary(p, level + 1);
    for (const char *op; left && !p->r->rc && (op = operator_at(p, level));) {
        hn_tnode *n = node(p, HN_TN_BINARY);
        if (!n || !next(p)) return NULL;
        if (level == COMPARE_LEVEL && !strcmp(op, "not")) {
            if (!take(p, "in")) return NULL;
            op = "not in";
        }
        n->text = op;
        n->a = left;
        n->b = binary(p, level + 1);
        left = n->b ? n : NULL;
    }
    return left;
}

static hn_tnode *expression(parser *p) {
    if (!deeper(p, "expressions")) return NULL;
    hn_tnode *value = binary(p, 0);
    while (value && is(p, "if")) {
        hn_tnode *n = node(p, HN_TN_CHOICE);
        if (!n || !next(p)) return NULL;
        n->b = value;
        if (!(n->a = binary(p, 0))) return NULL;
        if (is(p, "else") && (!next(p) || !(n->c = expression(p)))) return NULL;
        value = n;
    }
    p->depth--;
    return p->r->rc ? NULL : value;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

/* a, b = x without brackets */
static hn_tnode *tuple(parser *p) {
    hn_tnode *first = expression(p);
    if (!first || !is(p, ",")) return first;
    hn_tnode *list = node(p, HN_TN_LIST);
    if (list) list->negated = true;
    size_t room = 0;
    if (!list || !add(p, list, first, &room)) return NULL;
    while (if_taken(p, ","))
        if (p->now.kind == BLOCK_END || is(p, "=") || !add(p, list, expression(p), &room)) break;
    return p->r->rc ? NULL : list;
}

static bool end_block(parser *p) {
    return p->now.kind == BLOCK_END || bad(p, "the block should end at", p->now.at, p->now.n);
}

static hn_tnode *body_until(parser *p, const char *a, const char *b, const char *c, const char **ended) {
    const char *const until[] = {a, b, c, NULL};
    return statements(p, until, ended);
}

static bool for_names(parser *p, hn_tnode *n) {
    size_t room = 0;
    bool bracket = if_taken(p, "(");
    do {
        hn_tnode *name = node(p, HN_TN_NAME);
        if (!name || !take_name(p, &name->text) || !add(p, n, name, &room)) return false;
    } while (if_taken(p, ","));
    n->n_names = n->n_list;
    return !bracket || take(p, ")");
}

static hn_tnode *for_statement(parser *p) {
    hn_tnode *n = node(p, HN_TN_FOR);
    const char *ended = NULL;
    if (!n || !for_names(p, n) || !take(p, "in")) return NULL;
    n->a = binary(p, 0); /* an `if` here is the loop's */
    if (n->a && is(p, ",")) {
        bad(p, "a list without brackets in a for", "", 0);
        return NULL;
    }
    if (n->a && if_taken(p, "if") && !(n->b = expression(p))) return NULL;
    if_taken(p, "recursive");
    if (!n->a || !end_block(p)) return NULL;
    n->body = body_until(p, "endfor", "else", NULL, &ended);
    if (ended && !strcmp(ended, "else") && end_block(p)) n->other = body_until(p, "endfor", NULL, NULL, &ended);
    return p->r->rc || !end_block(p) ? NULL : n;
}

static hn_tnode *if_statement(parser *p) {
    hn_tnode *n = node(p, HN_TN_IF);
    const char *ended = NULL;
    if (!n || !(n->a = expression(p)) || !end_block(p)) return NULL;
    n->body = body_until(p, "endif", "elif", "else", &ended);
    if (ended && !strcmp(ended, "elif")) {
        if (deeper(p, "statements")) n->other = if_statement(p);
        p->depth--;
    }
    if (ended && !strcmp(ended, "else") && end_block(p)) n->other = body_until(p, "endif", NULL, NULL, &ended);
    return p->r->rc || !end_block(p) ? NULL : n;
}

static hn_tnode *set_statement(parser *p) {
    hn_tnode *n = node(p, HN_TN_SET);
    const char *ended;
    if (!n) return NULL;
    size_t room = 0;
    hn_tnode *first = postfix(p, primary(p));
    n->a = first;
    if (first && is(p, ",")) {
        if (!(n->a = node(p, HN_TN_LIST)) || !add(p, n->a, first, &room)) return NULL;
        while (if_taken(p, ","))
            if (!add(p, n->a, primary(p), &room)) return NULL;
    }
    if (!n->a) return NULL;
    if (if_taken(p, "=")) {
        if (!(n->b = tuple(p))) return NULL;
        return end_block(p) ? n : NULL;
    }
    if (!end_block(p)) return NULL;
    n->body = body_until(p, "endset", NULL, NULL, &ended);
    return p->r->rc || !end_block(p) ? NULL : n;
}

static hn_tnode *macro_statement(parser *p) {
    hn_tnode *n = node(p, HN_TN_MACRO);
    const char *ended;
    size_t room = 0;
    if (!n || !take_name(p, &n->text) || !take(p, "(")) return NULL;
    while (!p->r->rc && !is(p, ")")) {
        hn_tnode *name = node(p, HN_TN_NAME);
        if (!name || !take_name(p, &name->text)) return NULL;
        if (if_taken(p, "=") && !(name->b = expression(p))) return NULL;
        if (!add(p, n, name, &room) || (!is(p, ")") && !take(p, ","))) return NULL;
    }
    if (p->r->rc || !next(p) || !end_block(p)) return NULL;
    n->body = body_until(p, "endmacro", NULL, NULL, &ended);
    return p->r->rc || !end_block(p) ? NULL : n;
}

static hn_tnode *jump(parser *p, hn_tnode_kind kind) {
    hn_tnode *n = node(p, kind);
    return n && end_block(p) ? n : NULL;
}

/* Marks what a model says, for training: its body as it is. */
static hn_tnode *generation(parser *p) {
    hn_tnode *n = node(p, HN_TN_IF);
    const char *ended;
    if (!n || !(n->a = node(p, HN_TN_LITERAL)) || !end_block(p)) return NULL;
    n->a->value = hn_tv_bool(true);
    n->body = body_until(p, "endgeneration", NULL, NULL, &ended);
    return p->r->rc || !end_block(p) ? NULL : n;
}

static hn_tnode *statement(parser *p) {
    if (if_taken(p, "for")) return for_statement(p);
    if (if_taken(p, "if")) return if_statement(p);
    if (if_taken(p, "set")) return set_statement(p);
    if (if_taken(p, "macro")) return macro_statement(p);
    if (if_taken(p, "break")) return jump(p, HN_TN_BREAK);
    if (if_taken(p, "continue")) return jump(p, HN_TN_CONTINUE);
    if (if_taken(p, "generation")) return generation(p);
    bad(p, "a statement that is not known:", p->now.at, p->now.n);
    return NULL;
}

/* --- blocks and the text between them ----------------------------------------------------------------------------- */

static const char *find_block(const parser *p) {
    for (const char *q = p->at; q + 1 < p->end; q++)
        if (*q == '{' && (q[1] == '{' || q[1] == '%' || q[1] == '#')) return q;
    return p->end;
}

/* Text up to a block: lstrip_blocks takes the blanks in front of a statement or comment that begins its line; a dash
 * takes all white space. */
static hn_tnode *text_node(parser *p, const char *begin, const char *end, char block, bool dash, bool line_start) {
    while (p->trim_next && begin < end && isspace((unsigned char)*begin)) begin++;
    const char *last = end;
    if (dash)
        while (last > begin && isspace((unsigned char)last[-1])) last--;
    else if (block == '%' || block == '#') {
        const char *q = end;
        while (q > begin && (q[-1] == ' ' || q[-1] == '\t')) q--;
        if (q > begin ? q[-1] == '\n' : line_start) last = q;
    }
    hn_tnode *n = last > begin ? node(p, HN_TN_TEXT) : NULL;
    if (n) {
        n->text = begin;
        n->n_text = (size_t)(last - begin);
    }
    return n;
}

/* trim_blocks: one line break behind a statement or comment is its own. */
static void skip_break(parser *p) {
    if (p->trim_next || p->at >= p->end) return;
    if (*p->at == '\n')
        p->at++, p->line++;
    else if (*p->at == '\r' && p->at + 1 < p->end && p->at[1] == '\n')
        p->at += 2, p->line++;
}

static void skip_comment(parser *p) {
    const char *q = p->at + 2;
    while (q + 1 < p->end && (*q != '#' || q[1] != '}')) p->line += *q++ == '\n';
    if (q + 1 >= p->end) {
        bad(p, "a comment does not end", "", 0);
        return;
    }
    p->trim_next = q > p->at + 2 && q[-1] == '-';
    p->at = q + 2;
    skip_break(p);
}

static bool ends_here(const parser *p, const char *const *until, const char **ended) {
    for (size_t i = 0; until && until[i]; i++)
        if (is(p, until[i])) {
            *ended = until[i];
            return true;
        }
    return false;
}

/* {% raw %} … {% endraw %}: its text as it stands. */
static hn_tnode *raw(parser *p) {
    for (const char *q = p->at; q + 1 < p->end; q++) {
        const char *k = q + 2;
        if (q[0] != '{' || q[1] != '%') continue;
        while (k < p->end && (isspace((unsigned char)*k) || *k == '-')) k++;
        if (p->end - k < 6 || memcmp(k, "endraw", 6)) continue;
        hn_tnode *n = node(p, HN_TN_TEXT);
        if (!n) return NULL;
        n->text = p->at;
        n->n_text = (size_t)(q - p->at);
        for (; p->at < k + 6; p->at++) p->line += *p->at == '\n';
        return next(p) && end_block(p) ? n : NULL;
    }
    bad(p, "raw does not end", "", 0);
    return NULL;
}

/* One block at p->at; *over: it was one of `until`. */
static hn_tnode *block(parser *p, const char *const *until, const char **ended, bool *over) {
    char kind = p->at[1];
    hn_tnode *n = NULL;
    p->at += 2;
    if (*p->at == '-' || *p->at == '+') p->at++;
    p->block_end = kind == '{' ? "}}" : "%}";
    if (!next(p)) return NULL;
    if (kind == '{') {
        if ((n = node(p, HN_TN_OUTPUT)) && (n->a = tuple(p))) end_block(p);
        return n;
    }
    if (ends_here(p, until, ended)) {
        *over = true;
        next(p);
        return NULL;
    }
    if (is(p, "raw")) {
        if (next(p) && end_block(p)) n = raw(p);
    } else
        n = statement(p);
    if (!p->r->rc) skip_break(p);
    return n;
}

/* Statements up to the end, or up to a block that begins with one of `until` (its first word is taken). */
static hn_tnode *statements(parser *p, const char *const *until, const char **ended) {
    hn_tnode *first = NULL, **last = &first;
    bool over = false;
    deeper(p, "statements");
    if (until && !p->r->rc) skip_break(p);
    while (!p->r->rc && !over && p->at < p->end) {
        const char *begin = p->at, *at = find_block(p);
        char kind = at < p->end ? at[1] : 0;
        bool dash = at + 2 < p->end && at[2] == '-', keep = at + 2 < p->end && at[2] == '+';
        bool line_start = begin[-1] == '\n';
        hn_tnode *n = text_node(p, begin, at, keep ? 0 : kind, dash, line_start);
        if (n) last = &(*last = n)->next;
        for (const char *q = begin; q < at; q++) p->line += *q == '\n';
        p->at = at;
        p->trim_next = false;
        if (at >= p->end) break;
        if (kind == '#')
            skip_comment(p);
        else if ((n = block(p, until, ended, &over)))
            last = &(*last = n)->next;
    }
    if (until && !over) bad(p, "a statement does not end; missing:", until[0], strlen(until[0]));
    p->depth--;
    return p->r->rc ? NULL : first;
}

hn_tnode *hn_template_parse(hn_trun *r, const char *text, size_t n) {
    /* A copy with a line break in front makes the first line like the others. One break at the very end is dropped, as
     * Jinja does. */
    char *copy = hn_alloc(r->arena, n + 2);
    if (!copy) {
        r->rc = hn_fail(r->err, HONE_E_NOMEM, "out of memory reading a template");
        return NULL;
    }
    copy[0] = '\n';
    memcpy(copy + 1, text, n);
    if (n && copy[n] == '\n') n--;
    parser p = {.r = r, .at = copy + 1, .end = copy + 1 + n, .line = 1};
    return statements(&p, NULL, NULL);
}
