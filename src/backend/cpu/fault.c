/* backend/cpu/fault.c — a wrong kernel on purpose: tests show with it that parity at compile time catches what it is
 * for.
 *
 * Works on the text that hn_emit_kernel gives: on lines that define a value or update an accumulator, outside square
 * brackets and conditions. Addresses are left alone, so a fault is a wrong value, never a wild access.
 */
#include "backend/cpu/cpu.h"

#include <ctype.h>
#include <string.h>

typedef struct turn {
    const char *from, *to;
} turn;
static const turn turns[] = {
    {" + ", " - "},
    {" - ", " + "},
    {" * ", " + "},
    {" / ", " * "},
    {"= hnk_fma_", "= -hnk_fma_"},
    {"= __builtin_fma", "= -__builtin_fma"},
    {"hnk_max_", "hnk_min_"},
    {"hnk_min_", "hnk_max_"},
    {"hnk_over_", "hnk_under_"},
    {"hnk_under_", "hnk_over_"},
    {"= hnk_quotient_", "= -hnk_quotient_"},
    {"hnr_max_", "hnr_min_"},
    {"hnr_min_", "hnr_max_"},
    {"hnk_exp_", "-hnk_exp_"},
    {"(exp(", "(-exp("},
    {"= p", "= -p"},
    {"= *(const", "= -*(const"},
};

static const turn *turn_at(const char *at) {
    for (size_t k = 0; k < sizeof turns / sizeof *turns; k++)
        if (!strncmp(at, turns[k].from, strlen(turns[k].from))) return &turns[k];
    return NULL;
}

/* "const TYPE v…", "a…", "if (…) a…", "for (int l …) a…" without a condition or an index from data. */
static bool is_value(const char *line, const char *end) {
    size_t n = (size_t)(end - line);
    while (n && *line == ' ') line++, n--;
    if (memmem(line, n, " ? ", 3) || memmem(line, n, "hnr_index(", 10)) return false;
    if (n > 6 && !memcmp(line, "const ", 6)) return memmem(line, n, " v", 2) != NULL;
    return n > 2 && line[0] == 'a' && isdigit((unsigned char)line[1]);
}

static const char *nth_in_line(const char *line, const char *end, unsigned *which, const turn **found) {
    int depth = 0;
    for (const char *at = line; at < end; at++) {
        depth += (*at == '[') - (*at == ']');
        if (!depth && (*found = turn_at(at)) && (*which)-- == 0) return at;
    }
    return NULL;
}

const char *hn_emit_fault(const char *text, const char *name, unsigned which, hn_arena *a) {
    const char *head = hn_format(a, "static void %s(", name), *body = head ? strstr(text, head) : NULL;
    const turn *t = NULL;
    while (body && (body = strchr(body, '\n')) && body[1] && body[1] != '}') {
        const char *line = ++body, *end = strchr(line, '\n');
        const char *at = end && is_value(line, end) ? nth_in_line(line, end, &which, &t) : NULL;
        if (at) return hn_format(a, "%.*s%s%s", (int)(at - text), text, t->to, at + strlen(t->from));
    }
    return NULL;
}
