/* reduce/minimize_lab.h — runs the reduction on real programs: subsets become points, points become programs, and
 * programs are run beside the baseline. What is measured more than once is built in several layouts, as is the
 * baseline, so that the effect of a layout is not taken for the gain of a control.
 *
 * Owns: programs (the most recent ones), the baseline in its layouts, until hn_bench_lab_close.
 */
#ifndef HN_MINIMIZE_LAB_H
#define HN_MINIMIZE_LAB_H

#include "prove/site.h"
#include "prove/variant.h"
#include "reduce/parts.h"
#include "reduce/reduce.h"
#include "tune/trial.h"

enum { HN_PROGRAMS_MOST = 32 };

/* A subset as a program. */
typedef struct hn_reduce_program {
    bool *keep;
    hn_recipe recipe;
    hn_side side; /* variant 0 is built once made */
    uint64_t key; /* 0: not built */
    bool varied;
    bool worked;      /* a pass of it came to its end */
    unsigned checked; /* bit per variant: its output was compared */
    size_t used;      /* when, for leaving the oldest */
} hn_reduce_program;

typedef struct hn_bench_lab {
    hn_site *site;
    const hn_parts *parts;
    hn_bench_ctx bench;
    hn_recipe base_recipe;
    hn_side base;
    hn_variants variants;
    size_t n_variants, first_gain; /* the objective whose gain is to be kept */
    hn_reduce_program *program[HN_PROGRAMS_MOST];
    size_t n_programs, n_built, n_pairs, clock;
    size_t n_measured, most;
    char failure[600]; /* of the newest subset that did not work; "": none */
    bool keeps_limits; /* the baseline is within all limits, so must the reduced point be */
} hn_bench_lab;

/* Builds the baseline and its layouts, measures its noise. E_BASELINE. */
hone_rc hn_bench_lab_open(hn_bench_lab *lab, hn_site *site, const hn_parts *parts, size_t first_gain, hone_err *err);
void hn_bench_lab_close(hn_bench_lab *lab);
/* What hn_reduce_point asks. ctx: the hn_bench_lab. */
hn_reduce_lab hn_bench_lab_interface(hn_bench_lab *lab);

#endif
