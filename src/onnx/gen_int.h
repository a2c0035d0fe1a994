/* onnx/gen_int.h — what the architectures of `hone gen` are written in; for src/onnx/gen*.c alone.
 *
 * Nodes are kept packed, weights as descriptions: their elements are made while the file is written. Value names are
 * made up in order ("t0", "w0"), so calls are made in the order in which a model's file lists things, never nested in
 * the arguments of one call. Failure is sticky in the arena.
 */
#ifndef HN_GEN_INT_H
#define HN_GEN_INT_H

#include "base/arena.h"
#include <hone/onnx.h>

typedef struct hn_gen hn_gen;

typedef struct hn_gen_size { /* of a graph input or output */
    int64_t n;               /* 0: symbolic */
    const char *symbol;
} hn_gen_size;

typedef enum hn_gen_kind { HN_GEN_INT, HN_GEN_FLOAT, HN_GEN_INTS } hn_gen_kind;
typedef struct hn_gen_attr {
    const char *name; /* NULL ends a list */
    hn_gen_kind kind;
    double f;
    size_t n;
    int64_t i[4]; /* INT: the first */
} hn_gen_attr;
#define HN_GEN_ATTR_I(name, x) ((hn_gen_attr){(name), HN_GEN_INT, 0, 1, {(x)}})
#define HN_GEN_ATTR_F(name, x) ((hn_gen_attr){(name), HN_GEN_FLOAT, (x), 0, {0}})
#define HN_GEN_ATTR_2(name, a, b) ((hn_gen_attr){(name), HN_GEN_INTS, 0, 2, {(a), (b)}})
#define HN_GEN_ATTR_4(name, a, b, c, d) ((hn_gen_attr){(name), HN_GEN_INTS, 0, 4, {(a), (b), (c), (d)}})
#define HN_GEN_END ((hn_gen_attr){NULL, HN_GEN_INT, 0, 0, {0}})

/* A node with one result, whose name is returned. in: NULL-terminated; attr: ended by HN_GEN_END, or NULL. */
const char *hn_gen_op(hn_gen *g, const char *op, const char *const *in, const hn_gen_attr *attr);
#define HN_GEN_OP(g, op, ...) hn_gen_op((g), (op), (const char *const[]){__VA_ARGS__, NULL}, NULL)

/* Initialisers. Normal weights: standard deviation `scale`. */
const char *hn_gen_weight(hn_gen *g, size_t rank, const int64_t *dim, double scale);
const char *hn_gen_filled(hn_gen *g, int64_t n, double value); /* a vector */
const char *hn_gen_scalar(hn_gen *g, double value);
const char *hn_gen_ints(hn_gen *g, size_t n, const int64_t *x); /* at most 4 */

void hn_gen_input(hn_gen *g, const char *name, hone_dtype t, size_t rank, const hn_gen_size *size);
void hn_gen_output(hn_gen *g, const char *name, hone_dtype t, size_t rank, const hn_gen_size *size);

typedef struct hn_gen_row {
    hone_gen_architecture about;
    void (*build)(hn_gen *g, hn_gen_size batch, hn_gen_size seq, const void *arg);
    const void *arg;
} hn_gen_row;
extern const hn_gen_row hn_gen_rows[]; /* ended by a zeroed row */

#endif
