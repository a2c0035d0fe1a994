/* precision/precision.h — which products of a graph of floats are computed in bytes, and with which scales.
 *
 * A plan is read from and written to the text that stands beside a compiled model (docs/precision.md); applied to a
 * graph, each product that it names gets its operands quantised and dequantised, which the pass `bytes` makes a product
 * of bytes. Products are known by the model's nodes that they came from.
 * Owns: a plan its arena.   Threads: one at a time.
 * Errors: E_INPUT (the text), E_TAMPERED (its seal), E_MISMATCH (the plan is of another model), E_NOMEM.
 */
#ifndef HN_PRECISION_H
#define HN_PRECISION_H

#include "base/seal.h"
#include "base/str.h"
#include "pass/bytes.h"

/* --- range.c: from values that were seen to a range ----------------------------------------------------------------
 */

typedef enum hn_calibration {
    HN_CALIBRATE_MSE,
    HN_CALIBRATE_MINMAX,
    HN_CALIBRATE_PERCENTILE,
    HN_CALIBRATE_ENTROPY,
    HN_N_CALIBRATIONS
} hn_calibration;
extern const char *const hn_calibration_name[HN_N_CALIBRATIONS]; /* stored in plans: never rename */
bool hn_calibration_named(const char *name, hn_calibration *out);

enum { HN_BINS = 2048, HN_LEVELS = 256 };
/* Values from low to high by count; what is exactly 0 is counted apart, as it has no rounding error. */
typedef struct hn_value_bins {
    double low, high, zeros, n;
    double count[HN_BINS];
} hn_value_bins;
void hn_value_bins_begin(hn_value_bins *h, double low, double high);
void hn_value_bins_add(hn_value_bins *h, double x); /* outside of the range: to its end; not finite: not counted */
typedef struct hn_byte_range {
    double low, high; /* 0 lies within */
} hn_byte_range;
/* percentile: of PERCENTILE, how many of 100 values lie within. */
hn_byte_range hn_span_choose(const hn_value_bins *h, hn_calibration how, double percentile);
/* What is expected of rounding and clipping, squared and summed over the values. */
double hn_span_error(const hn_value_bins *h, hn_byte_range s);
/* x is (byte - zero) * scale for bytes from 0 to 255; a float's precision. */
typedef struct hn_byte_steps {
    float scale;
    int64_t zero;
} hn_byte_steps;
hn_byte_steps hn_steps_of(hn_byte_range s);
/* The scale of a column of weights, `outer` blocks of `inner`, each `stride` behind the last: the largest is 127 steps;
 * `least`: the scale of least squared error. */
float hn_weight_scale(const float *w, int64_t stride, int64_t inner, int64_t outer, bool least);

/* --- plan.c --------------------------------------------------------------------------------------------------------
 */

typedef struct hn_narrow_choice {
    const char *name;
    const char *shape;     /* of the weights: "64x3x7x7" */
    const char *hash;      /* of the weights (hn_weights_hash); NULL: any */
    bool narrow;           /* else the product stays one of floats */
    bool half;             /* narrow: both operands are rounded to bf16, sums are of f32; else they are bytes */
    hn_byte_steps x;       /* of bytes */
    const int64_t *smooth; /* of each element that is summed over: it is divided by 2 to this; NULL: none */
    int64_t n_smooth;
} hn_narrow_choice;

typedef struct hn_narrow_plan {
    hn_arena arena;
    const char *kind; /* "int8", "mixed", "bf16" */
    const char *calibrate;
    const char *data; /* hash of the samples */
    bool least;       /* weights' scales are those of least error */
    int64_t n_samples;
    const char *signer; /* public key of its signature; NULL: none. Is not printed */
    hn_narrow_choice *choice;
    uint32_t n;
} hn_narrow_plan;
extern const hn_seal_kind hn_plan_kind;
/* A text may end with a seal, which is checked first: E_TAMPERED. */
hone_rc hn_plan_parse(const char *text, size_t n, const char *label, hn_narrow_plan *out, hone_err *err);
void hn_plan_print(const hn_narrow_plan *p, hn_str *out);
uint32_t hn_plan_narrow(const hn_narrow_plan *p); /* how many are */
uint32_t hn_plan_halves(const hn_narrow_plan *p); /* of these, in bf16 */
void hn_plan_free(hn_narrow_plan *p);

/* --- products.c ----------------------------------------------------------------------------------------------------
 */

typedef struct hn_narrow_product {
    const char *name, *shape; /* as in hn_narrow_choice */
    uint32_t node;
    hn_byte_form form;
} hn_narrow_product;
/* Of their shape and elements. */
void hn_weights_hash(const hn_tensor *w, char hex[33]);
/* The passes after which products are looked for: what can go into weights is there. */
hone_rc hn_products_prepare(hn_graph *g, hone_err *err);
/* Those outside of regions, in order; in the graph's arena. */
hone_rc hn_products_find(hn_graph *g, hn_narrow_product **out, uint32_t *n, hone_err *err);

/* --- apply.c -------------------------------------------------------------------------------------------------------
 */

/* The products of g, prepared, in bf16, but for those that pay in bytes alone. */
hone_rc hn_plan_half(hn_graph *g, hn_narrow_plan *out, hone_err *err);
/* g: prepared. Its products that the plan has narrow are quantised. E_MISMATCH: one is not there, or has other weights.
 */
hone_rc hn_plan_apply(const hn_narrow_plan *p, hn_graph *g, hone_err *err);
/* As hn_plan_apply, but each product is there in both versions, and an input more, HN_SWITCHES, bool[plan->n], says
 * which is taken: element i is for choice i. */
#define HN_SWITCHES "hone.narrow"
hone_rc hn_plan_apply_switched(const hn_narrow_plan *p, hn_graph *g, hone_err *err);
/* A copy of g, prepared, with the plan in `text` applied; free it before g. plan: receives what was read. */
hone_rc hn_plan_graph(const char *text, const hn_graph *g, hn_narrow_plan *plan, hn_graph **out, hone_err *err);

#endif
