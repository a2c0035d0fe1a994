/* bench/program/expr.c — expressions of descriptions, by recursive descent. */
#include "program.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { DEPTH_MOST = 64 };

typedef struct parser {
    const char *at;
    const hn_params *params;
    bool whole;
    int depth;
    char *why; /* "" while all is well */
    size_t n_why;
} parser;

static double sum(parser *p);

static double wrong(parser *p, const char *what, const char *name, size_t n) {
    if (!*p->why) snprintf(p->why, p->n_why, "%s%.*s", what, (int)n, name);
    return 1;
}

static bool eat(parser *p, char c) {
    while (*p->at == ' ') p->at++;
    if (*p->at != c) return false;
    p->at++;
    return true;
}

static double divided(parser *p, double x, double y) {
    if (y == 0) return wrong(p, "division by zero", "", 0);
    return p->whole ? trunc(x / y) : x / y;
}

static double called(parser *p, const char *name, size_t n) {
    double x = sum(p);
    if (!eat(p, ',')) return wrong(p, "expected two values in ", name, n);
    double y = sum(p);
    if (!eat(p, ')')) return wrong(p, "expected ) after ", name, n);
    if (n == 3 && !strncmp(name, "min", n)) return x < y ? x : y;
    if (n == 3 && !strncmp(name, "max", n)) return x > y ? x : y;
    if (n == 4 && !strncmp(name, "cdiv", n)) return y == 0 ? wrong(p, "division by zero", "", 0) : ceil(x / y);
    return wrong(p, "there is no function ", name, n);
}

static double named(parser *p) {
    const char *name = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_') p->at++;
    size_t n = (size_t)(p->at - name);
    if (eat(p, '(')) return called(p, name, n);
    for (size_t i = 0; i < p->params->n; i++)
        if (strlen(p->params->item[i].name) == n && !strncmp(p->params->item[i].name, name, n))
            return p->params->item[i].value;
    return wrong(p, "there is no parameter ", name, n);
}

static double atom(parser *p) {
    if (p->depth > DEPTH_MOST) return wrong(p, "nested too deeply", "", 0);
    if (eat(p, '(')) {
        p->depth++;
        double x = sum(p);
        p->depth--;
        return eat(p, ')') ? x : wrong(p, "expected )", "", 0);
    }
    if (eat(p, '-')) {
        p->depth++;
        double x = -atom(p);
        p->depth--;
        return x;
    }
    if (isalpha((unsigned char)*p->at) || *p->at == '_') {
        p->depth++;
        double x = named(p);
        p->depth--;
        return x;
    }
    char *end;
    double x = hn_bench_strtod(p->at, &end);
    if (end == p->at || !isfinite(x)) return wrong(p, "expected a number at '", p->at, strlen(p->at));
    p->at = end;
    return x;
}

static double product(parser *p) {
    double x = atom(p);
    for (;;) {
        if (eat(p, '*'))
            x *= atom(p);
        else if (eat(p, '/'))
            x = divided(p, x, atom(p));
        else if (eat(p, '%')) {
            double y = atom(p);
            x = y == 0 ? wrong(p, "division by zero", "", 0) : fmod(x, y);
        } else
            return x;
    }
}

static double sum(parser *p) {
    double x = product(p);
    for (;;) {
        if (eat(p, '+'))
            x += product(p);
        else if (eat(p, '-'))
            x -= product(p);
        else
            return x;
    }
}

bool hn_expr_value(const char *text, const hn_params *params, bool whole, double *out, char *why, size_t n_why) {
    parser p = {.at = text, .params = params, .whole = whole, .why = why, .n_why = n_why};
    *why = 0;
    double x = sum(&p);
    if (!*why && *p.at) wrong(&p, "did not expect '", p.at, strlen(p.at));
    if (!*why && !isfinite(x)) wrong(&p, "the value is not finite", "", 0);
    if (!*why && whole && (x != floor(x) || fabs(x) > 0x1p53)) wrong(&p, "the value is no whole number", "", 0);
    *out = x;
    return !*why;
}
