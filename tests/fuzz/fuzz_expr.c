/* Expressions over one parameter of each kind: interval evaluation must enclose every value at random points. */
#include "space/space_int.h"

#include <hone/space.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hone_space *make_space(void) {
    static const char *const numbers[] = {"1", "2", "4"}, *const words[] = {"row", "col", "8"};
    static const hone_param params[] = {
        {.name = "i", .kind = HONE_INT, .lo = -5, .hi = 20},
        {.name = "f", .kind = HONE_FLOAT, .lo = -1, .hi = 1e300},
        {.name = "o", .kind = HONE_ORDINAL, .values = numbers, .n_values = 3},
        {.name = "c", .kind = HONE_CHOICE, .values = words, .n_values = 3, .optional = true, .knockout = 0.3},
        {.name = "b", .kind = HONE_FLAG, .when = "i > 3"},
        {.name = "p-q", .kind = HONE_PERMUTATION, .values = words, .n_values = 3, .optional = true},
    };
    hone_space *s;
    if (hone_space_new("fuzz", &s, NULL)) abort();
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        if (hone_space_add(s, &params[i], NULL)) abort();
    if (hone_space_seal(s, NULL)) abort();
    return s;
}

/* Every parameter is known to be one of two points' states. */
typedef struct pair {
    const double *a, *b;
} pair;

static hn_range range_of(const void *ctx, uint32_t slot, const double *table) {
    const pair *p = ctx;
    hn_range r = {INFINITY, -INFINITY, false};
    double x[2] = {p->a[slot], p->b[slot]};
    for (int k = 0; k < 2; k++) {
        double v = isnan(x[k]) || !table ? x[k] : table[(size_t)x[k]];
        r.unknown |= isnan(v);
        if (isnan(v)) continue;
        r.lo = fmin(r.lo, v);
        r.hi = fmax(r.hi, v);
    }
    return r;
}

static void check_enclosed(const hn_prog *prog, hn_range r, const double *point) {
    double v = hn_prog_eval(prog, point);
    if (isinf(v)) abort();
    if (isnan(v) ? !r.unknown : !(v >= r.lo && v <= r.hi)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    hn_arena arena = {0};
    hone_space *s = make_space();
    hn_prog prog;
    hone_err err;
    memcpy(text, data, size);
    text[size] = 0;
    if (!hn_prog_compile(&arena, s, text, &prog, &err)) {
        double a[16], b[16];
        hn_rng rng = hn_rng_make(size, 1);
        for (int k = 0; k < 20; k++) {
            hn_space_draw(s, &rng, false, a);
            hn_space_draw(s, &rng, false, b);
            hn_range both = hn_prog_range(&prog, range_of, &(pair){a, b});
            check_enclosed(&prog, both, a);
            check_enclosed(&prog, both, b);
            hn_range one = hn_prog_range(&prog, range_of, &(pair){a, a});
            check_enclosed(&prog, one, a);
            if (one.lo < one.hi || (one.unknown && one.lo <= one.hi)) abort();
        }
    }
    hone_space_free(s);
    hn_arena_free(&arena);
    free(text);
    return 0;
}
