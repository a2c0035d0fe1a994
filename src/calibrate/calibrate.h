/* calibrate/calibrate.h — what products were given on samples.   Threads: one at a time. */
#ifndef HN_CALIBRATE_H
#define HN_CALIBRATE_H

#include "precision/precision.h"
#include "proc/temp.h"

#include <hone/precision.h>

/* A product, and the values that were its other operand. Columns: along the dimension that is summed over. */
typedef struct hn_operand {
    hn_narrow_product product;
    const hn_tensor *w;
    size_t at;     /* which of the outputs of the model that is run, or of its inputs */
    bool is_input; /* … */
    int64_t n_columns, n_rows;
    double *low, *high, *squares; /* by column */
    int64_t *smooth;              /* powers of two by which columns are divided; all 0: none are */
    hn_value_bins *histogram;
} hn_operand;

typedef struct hn_calibration_run {
    hn_arena arena;
    hn_graph *g; /* prepared, with the operands among its outputs */
    hn_operand *seen;
    uint32_t n_seen;
    hn_temp temp;
    hone_artifact *program;
    const hone_precision_options *options;
} hn_calibration_run;
hone_rc hn_calibration_open(const hn_graph *g, const hone_precision_options *o, hn_calibration_run *out, hone_err *err);
/* Ranges of columns, then (`again`) histograms of what is left after smoothing. */
hone_rc hn_calibration_take(hn_calibration_run *c, const hone_array *sample, size_t n_samples, bool again,
                            hone_err *err);
void hn_calibration_close(hn_calibration_run *c);

/* choose.c. Everything that ranges follow from; then a plan by each way of taking them, in c's arena. */
hone_rc hn_calibration_look(hn_calibration_run *c, const hone_array *sample, size_t n_samples, hone_err *err);
hone_rc hn_calibration_plan(hn_calibration_run *c, hn_calibration how, const char *data, size_t n_samples,
                            hn_narrow_plan *out, hone_err *err);
/* Checks o->calibrate and o->percentile; *how: mse where none is named. */
hone_rc hn_calibration_how(const hone_precision_options *o, size_t n_samples, hn_calibration *how, hone_err *err);
void hn_hash_arrays(const hone_array *a, size_t n, char hex[33]);

/* compare.c: one output of two versions, added to what was seen of it; e and s begin as zeros. */
typedef struct hn_error_sums {
    double squares, exact_squares, largest, exact_largest;
} hn_error_sums;
hone_rc hn_error_add(const hone_array *got, const hone_array *want, hone_precision_error *e, hn_error_sums *s,
                     hone_err *err);
void hn_error_finish(hone_precision_error *e, const hn_error_sums *s);

/* smooth.c: fills s->smooth where the expected error of the product is less with it. */
hone_rc hn_smooth_choose(hn_operand *s, hn_arena *scratch, hone_err *err);

#endif
