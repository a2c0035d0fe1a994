/* ir/dim_text.c — dimension expressions as text, as C, and back: recursive descent over
 *   sum = product {("+" | "-") product};  product = factor {("*" | "floordiv" | "mod") factor};
 *   factor = number | name | function "(" sum "," sum ")" | "(" sum ")" | "-" factor. */
#include "base/str.h"
#include "ir/dim_int.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const char *const function_name[] = {
    [HN_ATOM_FLOORDIV] = "floordiv", [HN_ATOM_MOD] = "mod", [HN_ATOM_MIN] = "min", [HN_ATOM_MAX] = "max"};
enum { N_FUNCTIONS = sizeof function_name / sizeof *function_name };

/* --- printing ---------------------------------------------------------------------------------------------------- */

static void print_sum(const hn_dims *t, hn_dim d, const char *prefix, hn_str *out);

/* prefix: NULL for the text form. */
static void print_atom(const hn_dims *t, const hn_poly_atom *a, const char *prefix, hn_str *out) {
    if (a->kind == HN_ATOM_SYMBOL) {
        if (prefix)
            hn_str_addf(out, "%s%" PRIu32, prefix, a->symbol);
        else
            hn_str_add(out, t->symbol[a->symbol].name);
        return;
    }
    hn_str_addf(out, "%s%s(", prefix ? "hn_" : "", function_name[a->kind]);
    print_sum(t, a->a, prefix, out);
    hn_str_add(out, ", ");
    print_sum(t, a->b, prefix, out);
    hn_str_add(out, ")");
}

/* A magnitude; constants of C are 64 bits wide. */
static void print_number(uint64_t n, const char *prefix, hn_str *out) {
    hn_str_addf(out, "%" PRIu64 "%s", n, prefix && n > INT32_MAX ? "ll" : "");
}

static void print_term(const hn_dims *t, const hn_poly_term *term, bool first, const char *prefix, hn_str *out) {
    bool negative = term->coef < 0;
    uint64_t size = negative ? -(uint64_t)term->coef : (uint64_t)term->coef;
    if (!first)
        hn_str_add(out, negative ? " - " : " + ");
    else if (negative)
        hn_str_add(out, "-");
    if (size != 1 || !term->n) {
        print_number(size, prefix, out);
        if (term->n) hn_str_add(out, "*");
    }
    for (uint32_t i = 0; i < term->n; i++) {
        if (i) hn_str_add(out, "*");
        print_atom(t, &t->atom[term->atom[i]], prefix, out);
    }
}

static void print_sum(const hn_dims *t, hn_dim d, const char *prefix, hn_str *out) {
    const hn_poly *e = &t->expr[d];
    if (!e->n) hn_str_add(out, d ? "0" : "?");
    for (uint32_t i = 0; i < e->n; i++) print_term(t, &e->term[i], i == 0, prefix, out);
}

void hn_dim_print(const hn_dims *t, hn_dim d, hn_str *out) { print_sum(t, hn_dim_shown(t, d), NULL, out); }

void hn_dim_print_c(const hn_dims *t, hn_dim d, const char *prefix, hn_str *out) {
    d = hn_dim_shown(t, d);
    bool simple = t->expr[d].n == 0 || (t->expr[d].n == 1 && t->expr[d].term[0].coef > 0 && t->expr[d].term[0].n < 2);
    if (simple && t->expr[d].n && t->expr[d].term[0].n && t->expr[d].term[0].coef != 1) simple = false;
    if (!simple) hn_str_add(out, "(");
    print_sum(t, d, prefix, out);
    if (!simple) hn_str_add(out, ")");
}

/* --- parsing ----------------------------------------------------------------------------------------------------- */

typedef struct parser {
    hn_dims *t;
    const char *at;
    unsigned depth;
} parser;
enum { DEPTH_MAX = 100 };

static hn_dim parse_sum(parser *p);

static void skip_blanks(parser *p) {
    while (*p->at == ' ' || *p->at == '\t') p->at++;
}
static bool take(parser *p, char c) {
    skip_blanks(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}
static bool word_char(char c) { return isascii(c) && (isalnum(c) || c == '_'); }
static size_t word_length(const char *s) {
    size_t n = 0;
    if (!isascii(*s) || isdigit(*s)) return 0;
    while (word_char(s[n])) n++;
    return n;
}
static bool take_word(parser *p, const char *word) {
    skip_blanks(p);
    size_t n = strlen(word);
    if (word_length(p->at) != n || strncmp(p->at, word, n) != 0) return false;
    p->at += n;
    return true;
}

static hn_dim parse_number(parser *p, bool negative) {
    int64_t n = 0;
    for (; isascii(*p->at) && isdigit(*p->at); p->at++) {
        int digit = *p->at - '0';
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, negative ? -digit : digit, &n)) return 0;
    }
    return hn_dim_int(p->t, n);
}

static hn_dim parse_call(parser *p, hn_atom_kind kind) {
    hn_dim a, b;
    if (!take(p, '(') || !(a = parse_sum(p)) || !take(p, ',') || !(b = parse_sum(p)) || !take(p, ')')) return 0;
    return hn_dim_make(p->t, kind, a, b);
}

static hn_dim parse_name(parser *p) {
    char name[100];
    size_t n = word_length(p->at);
    if (!n || n >= sizeof name) return 0;
    for (int f = HN_ATOM_FLOORDIV; f < N_FUNCTIONS; f++)
        if (take_word(p, function_name[f])) return parse_call(p, (hn_atom_kind)f);
    memcpy(name, p->at, n);
    name[n] = 0;
    p->at += n;
    hn_dim d = hn_dim_find(p->t, name);
    return d ? d : hn_dim_symbol(p->t, name, 0, INT64_MAX);
}

static hn_dim parse_factor(parser *p) {
    hn_dim d = 0;
    if (++p->depth > DEPTH_MAX) return 0;
    skip_blanks(p);
    if (take(p, '-')) {
        skip_blanks(p);
        d = isdigit((unsigned char)*p->at) ? parse_number(p, true) : hn_dim_scale(p->t, parse_factor(p), -1);
    } else if (take(p, '(')) {
        d = parse_sum(p);
        if (!take(p, ')')) d = 0;
    } else {
        d = isdigit((unsigned char)*p->at) ? parse_number(p, false) : parse_name(p);
    }
    p->depth--;
    return d;
}

static hn_dim parse_product(parser *p) {
    hn_dim d = parse_factor(p);
    while (d) {
        if (take(p, '*'))
            d = hn_dim_mul(p->t, d, parse_factor(p));
        else if (take_word(p, "floordiv"))
            d = hn_dim_floordiv(p->t, d, parse_factor(p));
        else if (take_word(p, "mod"))
            d = hn_dim_mod(p->t, d, parse_factor(p));
        else
            break;
    }
    return d;
}

static hn_dim parse_sum(parser *p) {
    hn_dim d = parse_product(p);
    while (d) {
        if (take(p, '+'))
            d = hn_dim_add(p->t, d, parse_product(p));
        else if (take(p, '-'))
            d = hn_dim_sub(p->t, d, parse_product(p));
        else
            break;
    }
    return d;
}

hn_dim hn_dim_parse(hn_dims *t, const char **text) {
    parser p = {t, *text, 0};
    t->plain = true;
    hn_dim d = parse_sum(&p);
    t->plain = false;
    if (d) *text = p.at;
    return hn_dim_settle(t, d);
}
