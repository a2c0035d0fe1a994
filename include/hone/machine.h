/* hone/machine.h — what is known of this machine, and how noisy it is now.
 *
 * Threads: all functions are re-entrant.   Units: seconds, bytes, ratios.
 */
#ifndef HONE_MACHINE_H
#define HONE_MACHINE_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_machine {
    char cpu[128], kernel[128], governor[32], os[128];
    int n_cpu, n_usable; /* online; in this process's affinity mask */
    uint64_t memory_b;   /* caches: hone_device */
    int turbo;           /* 1 on, 0 off, -1 unknown */
    int smt;             /* as turbo */
    bool virtual_machine;
    bool perf_instructions; /* perf_event_open counts instructions for children */
    bool rapl;              /* energy counters readable */
    bool callgrind;         /* valgrind is installed */
    bool cgroup;            /* a cgroup v2 where memory and pids are delegated to us exists */
    char features[33]; /* hash of the instruction sets that compilers make code for, whatever else a kernel lists */
    char hash[33];     /* of cpu, features, kernel release and memory size: part of a record's key */
} hone_machine;
HONE_API void hone_machine_get(hone_machine *out);
/* Can a program's taken branches be recorded by the processor (perf), which profiles need that cost next to nothing? */
HONE_API bool hone_machine_records_branches(void);

/* Noise of this machine now: a fixed compute kernel timed n_rep times on the pinned core. */
typedef struct hone_noise {
    double rel_mad; /* 1.4826 * MAD / median of the repeats */
    double rel_p95; /* (p95 - median) / median */
    double drift;   /* |median of the last third / first third - 1| */
    double steal;   /* share of time stolen by the hypervisor meanwhile, NAN where unknown */
    double load1;   /* load average, one minute */
    double clock_s; /* smallest step seen of the clock */
    int cpu;        /* the core used */
} hone_noise;
HONE_API hone_rc hone_noise_measure(double seconds, hone_noise *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
