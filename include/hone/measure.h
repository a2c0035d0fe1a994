/* hone/measure.h — machine facts, statistics of samples, noise.
 *
 * Threads: all functions are re-entrant.   Units: seconds, bytes, ratios.
 */
#ifndef HONE_MEASURE_H
#define HONE_MEASURE_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- statistics of one sample: x is n finite values, not modified, n >= 1 ------------------------------------- */

/* Percentile p in 0..100, linear interpolation between order statistics (Hyndman & Fan 1996, type 7). */
HONE_API double hone_percentile(const double *x, size_t n, double p);
HONE_API double hone_median(const double *x, size_t n);
HONE_API double hone_mean(const double *x, size_t n);
HONE_API double hone_sd(const double *x, size_t n);                            /* n - 1 in the divisor; 0 for n = 1 */
HONE_API double hone_mad(const double *x, size_t n);                           /* median absolute deviation * 1.4826 */
HONE_API double hone_geomean(const double *x, const double *weight, size_t n); /* weight NULL: equal */

typedef struct hone_interval {
    double lo, mid, hi;
} hone_interval;
/* Percentile bootstrap of the median with n_boot resamples (0: 2000); pure function of seed. */
HONE_API hone_interval hone_bootstrap_median(const double *x, size_t n, double confidence, size_t n_boot,
                                             uint64_t seed);

/* --- the machine ---------------------------------------------------------------------------------------------- */

typedef struct hone_machine {
    char cpu[128], kernel[128], governor[32], os[128];
    int n_cpu, n_usable; /* online; in this process's affinity mask */
    uint64_t memory_b, l1d_b, l2_b, l3_b;
    int turbo; /* 1 on, 0 off, -1 unknown */
    int smt;   /* as turbo */
    bool virtual_machine;
    bool perf_instructions; /* perf_event_open counts instructions for children */
    bool rapl;              /* energy counters readable */
    bool callgrind;         /* valgrind is installed */
    bool cgroup;            /* a cgroup v2 where memory and pids are delegated to us exists */
    char hash[33];          /* of cpu, features, kernel release and memory size: part of a record's key */
} hone_machine;
HONE_API void hone_machine_get(hone_machine *out);

/* Noise of this machine now: a fixed compute kernel timed n_rep times on the pinned core. */
typedef struct hone_noise {
    double rel_mad;  /* 1.4826 * MAD / median of the repeats */
    double rel_p95;  /* (p95 - median) / median */
    double drift;    /* |median of the last third / first third - 1| */
    double steal;    /* share of time stolen by the hypervisor meanwhile, NAN where unknown */
    double load1;    /* load average, one minute */
    double clock_ns; /* smallest step seen of the clock, nanoseconds */
    int cpu;         /* the core used */
} hone_noise;
HONE_API hone_rc hone_noise_measure(double seconds, hone_noise *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
