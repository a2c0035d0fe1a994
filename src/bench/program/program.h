/* bench/program/program.h — hone-gpu-bench: times kernels from a description, without a host program.
 *
 * describe.c reads the description, expr.c its expressions. Errors end the program with file and line (status 2).
 */
#ifndef HN_GPU_PROGRAM_H
#define HN_GPU_PROGRAM_H

#include "../gpu_int.h"

typedef struct hn_param {
    char name[64];
    double value;
} hn_param;

typedef struct hn_params {
    hn_param *item;
    size_t n;
} hn_params;

/* Value of an expression over the parameters: + - * / % ( ), cdiv, min, max. whole: division is that of whole numbers
 * and the result is one. False: what is wrong stands in why. */
bool hn_expr_value(const char *text, const hn_params *params, bool whole, double *out, char *why, size_t n_why);

/* Everything that a description says goes to g; its metric is "latency". */
void hn_describe(hone_bench *b, hone_gpu *g, const char *path, const char *image);

#endif
