/* measure/noise.c — how steady this machine is now: a fixed kernel of about a millisecond, again and again on one
 * core. The kernel is a dependent chain of integer multiplications: no memory, no vectors, nothing that warms up.
 */
#include "base/clock.h"
#include "base/err.h"

#include <hone/machine.h>
#include <hone/stat.h>

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALIBRATE_N = 100000, REPS_MIN = 30, REPS_MAX = 100000, CLOCK_TRIES = 2000 };

static uint64_t chain(uint64_t x, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) x = x * 0x9e3779b97f4a7c15u + i;
    return x;
}

static double time_chain(uint64_t n) {
    static const uint64_t start = 1;
    double t = hn_now_s();
    volatile uint64_t sink = chain(start, n);
    (void)sink;
    return hn_now_s() - t;
}

/* Steal and all ticks of a cpu's line in /proc/stat: user nice system idle iowait irq softirq steal … */
static bool read_steal(int cpu, double *steal, double *all) {
    FILE *f = fopen("/proc/stat", "re");
    char line[512], want[16];
    bool found = false;
    snprintf(want, sizeof want, "cpu%d ", cpu);
    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long long v[8] = {0};
        if (strncmp(line, want, strlen(want)) != 0) continue;
        found = sscanf(line + strlen(want), "%llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
                       &v[4], &v[5], &v[6], &v[7]) == 8;
        *steal = (double)v[7];
        *all = 0;
        for (int i = 0; i < 8; i++) *all += (double)v[i];
    }
    if (f) fclose(f);
    return found;
}

static double clock_step_s(void) {
    double least = HUGE_VAL, was = hn_now_s();
    for (int i = 0; i < CLOCK_TRIES; i++) {
        double now = hn_now_s();
        if (now > was && now - was < least) least = now - was;
        was = now;
    }
    return isinf(least) ? 0 : least;
}

static double load_average(void) {
    double load;
    return getloadavg(&load, 1) == 1 ? load : NAN;
}

static int last_cpu(const cpu_set_t *set) {
    for (int i = CPU_SETSIZE - 1; i >= 0; i--)
        if (CPU_ISSET((size_t)i, set)) return i;
    return 0;
}

static size_t take(double seconds, double *t) {
    double once = time_chain(CALIBRATE_N);
    once = fmin(fmin(once, time_chain(CALIBRATE_N)), time_chain(CALIBRATE_N));
    uint64_t n = (uint64_t)(CALIBRATE_N * fmin(fmax(1e-3 / fmax(once, 1e-9), 0.01), 1000));
    double until = hn_now_s() + seconds;
    size_t k = 0;
    while (k < REPS_MAX && (k < REPS_MIN || hn_now_s() < until)) t[k++] = time_chain(n);
    return k;
}

static void summarise(const double *t, size_t n, hone_noise *out) {
    double median = hone_stat_median(t, n);
    out->rel_mad = hone_stat_mad(t, n) / median;
    out->rel_p95 = (hone_stat_percentile(t, n, 95) - median) / median;
    out->drift = fabs(hone_stat_median(t + n - n / 3, n / 3) / hone_stat_median(t, n / 3) - 1);
}

hone_rc hone_noise_measure(double seconds, hone_noise *out, hone_err *err) {
    cpu_set_t was, one;
    if (!(seconds >= 0) || seconds > 3600) return hn_fail(err, HONE_E_USAGE, "cannot measure noise for %g s", seconds);
    if (sched_getaffinity(0, sizeof was, &was) != 0)
        return hn_fail(err, HONE_E_UNSUPPORTED, "cannot read the affinity mask: %s", strerror(errno));
    double *t = malloc(REPS_MAX * sizeof *t);
    if (!t) return hn_fail(err, HONE_E_NOMEM, "out of memory measuring noise");
    hone_noise noise = {.cpu = last_cpu(&was), .steal = NAN};
    CPU_ZERO(&one);
    CPU_SET((size_t)noise.cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    double steal0, all0, steal1, all1;
    bool known = read_steal(noise.cpu, &steal0, &all0);
    size_t n = take(seconds, t);
    known = known && read_steal(noise.cpu, &steal1, &all1);
    noise.clock_s = clock_step_s();
    sched_setaffinity(0, sizeof was, &was);
    if (known && all1 > all0) noise.steal = (steal1 - steal0) / (all1 - all0);
    noise.load1 = load_average();
    summarise(t, n, &noise);
    free(t);
    *out = noise;
    return HONE_OK;
}
