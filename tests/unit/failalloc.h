/* tests/unit/failalloc.h — a sweep over "the nth allocation fails".
 *
 * Include in one file of a test program: it replaces malloc, calloc, realloc and strdup of the whole process (libraries
 * too), which hand over to ASan's or the C library's.
 *
 *     static hone_rc parse(void *ctx) { … parse, check that outputs are untouched on failure, free everything … }
 *     sweep_allocations("yaml/parse_nth_allocation_fails", parse, (void *)text);
 *
 * runs `parse` with the first, the second … allocation failing until it gets through without meeting the failing one;
 * behind the first 128 with every third, from one that differs from run to run, but for HONE_LONG.
 * Each run must return HONE_OK or HONE_E_NOMEM. Leaks of the failing runs are LeakSanitizer's to report at exit.
 * Threads: counts those of the thread that sweeps alone.
 */
#ifndef HN_FAILALLOC_H
#define HN_FAILALLOC_H

#include "tap.h"

#include <errno.h>
#include <hone/base.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define FAILALLOC_API __attribute__((visibility("default"), used))

/* Of the C library and of the sanitizer's runtime; the latter only in a sanitized build. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
__attribute__((weak)) void *__interceptor_malloc(size_t n);
__attribute__((weak)) void *__interceptor_calloc(size_t n, size_t size);
__attribute__((weak)) void *__interceptor_realloc(void *p, size_t n);

FAILALLOC_API void *malloc(size_t n);
FAILALLOC_API void *calloc(size_t n, size_t size);
FAILALLOC_API void *realloc(void *p, size_t n);
FAILALLOC_API char *strdup(const char *s);

static _Thread_local size_t failalloc_left; /* 0: not armed; else the allocation that many calls away fails */
static _Thread_local size_t failalloc_met;  /* failures handed out since armed */

static inline bool failalloc_now(void) {
    if (!failalloc_left || --failalloc_left) return false;
    failalloc_met++;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n) {
    if (failalloc_now()) return NULL;
    return __interceptor_malloc ? __interceptor_malloc(n) : __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    if (failalloc_now()) return NULL;
    return __interceptor_calloc ? __interceptor_calloc(n, size) : __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
    if (failalloc_now()) return NULL;
    return __interceptor_realloc ? __interceptor_realloc(p, n) : __libc_realloc(p, n);
}
char *strdup(const char *s) {
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

/* The nth allocation from now on fails (once); 0 disarms. Gives the number of failures met since the last call. */
static inline size_t fail_allocation(size_t nth) {
    size_t met = failalloc_met;
    failalloc_met = 0;
    failalloc_left = nth;
    return met;
}

/* One TAP line. Gives the number of allocations that were made to fail. */
static inline size_t sweep_allocations(const char *name, hone_rc (*body)(void *ctx), void *ctx) {
    enum { MOST = 100000 };
    const size_t step = getenv("HONE_LONG") ? 1 : 3;
    size_t nth = 1;
    hone_rc rc = HONE_OK, bad = HONE_OK;
    for (; nth < MOST; nth += nth < 128 ? 1 : nth == 128 ? 1 + (size_t)getpid() % step : step) {
        fail_allocation(nth);
        rc = body(ctx);
        size_t met = fail_allocation(0);
        if (rc != HONE_OK && rc != HONE_E_NOMEM) bad = rc;
        if (bad || !met) break;
    }
    bool good = !bad && rc == HONE_OK && nth > 1 && nth < MOST;
    tap_ok(good, "%s", name);
    if (bad) printf("#   with allocation %zu failing: %s\n", nth, hone_rc_name(bad));
    if (!bad && rc != HONE_OK) printf("#   without a failing allocation: %s\n", hone_rc_name(rc));
    if (!bad && nth == 1) printf("#   nothing was allocated\n");
    return nth - 1;
}

#endif
