/* nest/mma.c — the rows of mma.def. */
#include "nest/mma.h"
#include "nest/nest_int.h"

#define MAP(n, a, b, c, d, e, f, g, h, i, j)                                                                           \
    {                                                                                                                  \
        n, {a, b, c, d, e}, { f, g, h, i, j }                                                                          \
    }
#define X(name, m, n, k, type, d, a, b) {#name, m, n, k, type, {d, a, b}},
static const hn_mma rows[] = {
#include "nest/mma.def"
};
#undef X
#undef MAP

size_t hn_mma_count(void) { return sizeof rows / sizeof *rows; }
const hn_mma *hn_mma_at(size_t i) { return i < hn_mma_count() ? &rows[i] : NULL; }

bool hn_mma_named(const char *name, size_t *i) {
    for (*i = 0; *i < hn_mma_count(); (*i)++)
        if (!strcmp(rows[*i].name, name)) return true;
    return false;
}

void hn_mma_where(const hn_mma_map *map, int lane, int reg, int *row, int *column) {
    const int digit[5] = {lane / 4, lane % 4, reg & 1, reg >> 1 & 1, reg >> 2 & 1};
    *row = *column = 0;
    for (int k = 0; k < 5; k++) {
        *row += map->row[k] * digit[k];
        *column += map->column[k] * digit[k];
    }
}

void hn_mma_index(hn_nest *n, const hn_mma_map *map, hn_ix lane, int reg, hn_ix *row, hn_ix *column) {
    hn_dim four = hn_dim_int(n->dims, 4);
    hn_ix digit[5] = {hn_ix_div(n, lane, four), hn_ix_mod(n, lane, four), hn_ix_int(n, reg & 1),
                      hn_ix_int(n, reg >> 1 & 1), hn_ix_int(n, reg >> 2 & 1)};
    *row = *column = hn_ix_int(n, 0);
    for (int k = 0; k < 5; k++) {
        *row = hn_ix_add(n, *row, hn_ix_scale(n, digit[k], hn_dim_int(n->dims, map->row[k])));
        *column = hn_ix_add(n, *column, hn_ix_scale(n, digit[k], hn_dim_int(n->dims, map->column[k])));
    }
}

/* Ten bits of the significand, to nearest. */
static float as_tf32(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if ((u & 0x7f800000) != 0x7f800000) u = (u + 0x1000) & ~UINT32_C(0x1fff);
    memcpy(&x, &u, sizeof x);
    return x;
}

void hn_mma_reference(const hn_mma *x, float *d, const float *a, const float *b) {
    bool tf32 = x->dtype == HONE_F32;
    for (int i = 0; i < x->m; i++)
        for (int j = 0; j < x->n; j++)
            for (int k = 0; k < x->k; k++) {
                float p = a[i * x->k + k], q = b[k * x->n + j];
                d[i * x->n + j] = (float)((double)d[i * x->n + j] +
                                          (double)(tf32 ? as_tf32(p) : p) * (double)(tf32 ? as_tf32(q) : q));
            }
}
