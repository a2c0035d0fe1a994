/* cubin/text.c — what `cuobjdump -res-usage` and ptxas print, a line at a time. */
#include "cubin/cubin.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct line {
    const char *p, *end;
} line;

static bool next_line(const char *text, size_t n, size_t *at, line *out) {
    if (*at >= n) return false;
    const char *end = memchr(text + *at, '\n', n - *at);
    *out = (line){text + *at, end ? end : text + n};
    *at = (size_t)(out->end - text) + 1;
    while (out->p < out->end && isspace((unsigned char)*out->p)) out->p++;
    return true;
}

/* What follows `what` in the line; NULL. */
static const char *after(const line *l, const char *what) {
    size_t n = strlen(what);
    for (const char *p = l->p; p + n <= l->end; p++)
        if (!memcmp(p, what, n)) return p + n;
    return NULL;
}

static hn_gpu_kernel *named(hn_cubin *c, const char *p, size_t n) {
    for (size_t i = 0; i < c->n; i++)
        if (strlen(c->kernel[i].name) == n && !memcmp(c->kernel[i].name, p, n)) return &c->kernel[i];
    return NULL;
}

/* Decimal digits; false when there are none, or too many. */
static bool number(const char *p, const char *end, double *out) {
    double v = 0;
    size_t n = 0;
    for (; p < end && isdigit((unsigned char)*p); p++, n++) v = 10 * v + (*p - '0');
    if (!n || n > 15) return false;
    *out = v;
    return true;
}

/* --- cuobjdump -res-usage ----------------------------------------------------------------------------------------- */

/* "REG:64 STACK:984 SHARED:0 LOCAL:0 CONSTANT[0]:548 …" */
static void read_figures(const line *l, unsigned sm, hn_gpu_kernel *k) {
    static const struct {
        const char *word;
        hn_code_metric m;
    } field[] = {
        {"REG:", HN_GPU_REGISTERS}, {"STACK:", HN_GPU_STACK}, {"SHARED:", HN_GPU_SHARED}, {"LOCAL:", HN_GPU_LOCAL}};
    double v;
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        const char *p = after(l, field[i].word);
        if (p && number(p, l->end, &v)) k->value[field[i].m] = v;
    }
    k->value[HN_GPU_SHARED] = hn_shared_own(sm, k->value[HN_GPU_SHARED]);
    line rest = *l;
    double sum = 0;
    for (const char *p; (p = after(&rest, "CONSTANT[")); rest.p = p) {
        const char *colon = memchr(p, ':', (size_t)(l->end - p));
        if (colon && number(colon + 1, l->end, &v)) sum += v;
    }
    k->value[HN_GPU_CONSTANTS] = sum;
}

void hn_usage_read(const char *text, size_t n, hn_cubin *io) {
    hn_gpu_kernel *k = NULL;
    line l;
    for (size_t at = 0; next_line(text, n, &at, &l);) {
        const char *name = after(&l, "Function ");
        if (name == l.p + 9) {
            const char *colon = l.end;
            while (colon > name && (isspace((unsigned char)colon[-1]) || colon[-1] == ':')) colon--;
            k = named(io, name, (size_t)(colon - name));
        } else if (k && after(&l, "REG:") == l.p + 4) {
            read_figures(&l, io->sm, k);
            k = NULL;
        }
    }
}

/* --- ptxas -------------------------------------------------------------------------------------------------------- */

/* "… 1564 bytes spill stores, 1644 bytes spill loads": the number before the words. */
static bool number_before(const line *l, const char *words, double *out) {
    const char *p = after(l, words);
    if (!p) return false;
    p -= strlen(words);
    while (p > l->p && p[-1] == ' ') p--;
    const char *end = p;
    while (p > l->p && isdigit((unsigned char)p[-1])) p--;
    return number(p, end, out);
}

static void read_spills(const line *l, hn_gpu_kernel *k) {
    double loads, stores;
    if (!number_before(l, "bytes spill stores", &stores) || !number_before(l, "bytes spill loads", &loads)) return;
    k->value[HN_GPU_SPILL_LOADS] = loads;
    k->value[HN_GPU_SPILL_STORES] = stores;
    k->value[HN_GPU_SPILLS] = loads + stores;
}

/* The kernel that a warning names in quotes; NULL: none, or another. */
static hn_gpu_kernel *quoted_kernel(const line *l, hn_cubin *io) {
    for (const char *p = l->p; (p = memchr(p, '\'', (size_t)(l->end - p)));) {
        const char *end = memchr(p + 1, '\'', (size_t)(l->end - p - 1));
        if (!end) return NULL;
        hn_gpu_kernel *k = named(io, p + 1, (size_t)(end - p - 1));
        if (k) return k;
        p = end + 1;
    }
    return NULL;
}

/* A warning that names no kernel counts for each: it may concern any. What ptxas says of options alone (a register
 * limit that is overridden) is information, not a warning. */
static void count_warning(const line *l, hn_cubin *io) {
    hn_gpu_kernel *k = quoted_kernel(l, io);
    for (size_t i = 0; i < io->n; i++)
        if (!k || k == &io->kernel[i]) io->kernel[i].value[HN_GPU_WARNINGS]++;
}

void hn_ptxas_read(const char *text, size_t n, hn_cubin *io) {
    hn_gpu_kernel *k = NULL;
    line l;
    for (size_t i = 0; i < io->n; i++) io->kernel[i].value[HN_GPU_WARNINGS] = 0;
    for (size_t at = 0; next_line(text, n, &at, &l);) {
        const char *name = after(&l, "Function properties for ");
        bool ptxas = after(&l, "ptxas") || after(&l, "nvlink");
        if (name) {
            const char *end = l.end;
            while (end > name && isspace((unsigned char)end[-1])) end--;
            k = named(io, name, (size_t)(end - name));
        } else if (k && after(&l, "bytes spill stores")) {
            read_spills(&l, k);
            k = NULL;
        } else if (ptxas && (after(&l, "warning ") || after(&l, "Potential Performance Loss"))) {
            count_warning(&l, io);
        }
    }
}
