/* nest/mma.h — the tile products of mma.def: which element each thread's registers hold, and what the product is.
 */
#ifndef HN_NEST_MMA_H
#define HN_NEST_MMA_H

#include "nest/nest.h"

typedef enum hn_mma_operand { HN_MMA_OF_D, HN_MMA_OF_A, HN_MMA_OF_B } hn_mma_operand;
enum { HN_MMA_LANES = 32, HN_MMA_REGISTERS = 8 };

typedef struct hn_mma_map {
    int8_t registers;         /* elements that a thread holds */
    int8_t row[5], column[5]; /* coefficients of lane / 4, lane mod 4, bits 0, 1, 2 of the register */
} hn_mma_map;
typedef struct hn_mma {
    const char *name;
    int m, n, k;
    hone_dtype dtype;  /* of A and B; D is of f32 */
    hn_mma_map map[3]; /* by hn_mma_operand */
} hn_mma;

size_t hn_mma_count(void);
const hn_mma *hn_mma_at(size_t i);
bool hn_mma_named(const char *name, size_t *i);

void hn_mma_where(const hn_mma_map *map, int lane, int reg, int *row, int *column);
/* Likewise as index expressions of a lane (0 … 31) and a known register: for loads that fill fragments. */
void hn_mma_index(hn_nest *n, const hn_mma_map *map, hn_ix lane, int reg, hn_ix *row, hn_ix *column);
/* The reference: d[m][n] += a[m][k] * b[k][n], row-major, one after the other, each sum rounded to f32. */
void hn_mma_reference(const hn_mma *x, float *d, const float *a, const float *b);

#endif
