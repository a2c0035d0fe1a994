/* base/clock.h — time in seconds. */
#ifndef HN_CLOCK_H
#define HN_CLOCK_H

#include <time.h>

/* Monotonic, for durations. */
static inline double hn_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* Unix time, for records. */
static inline double hn_unix_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
