/* tests/unit/tap.h — the Test Anything Protocol, enough of it: `prove` runs and counts. One per test program. */
#ifndef HN_TAP_H
#define HN_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_n, tap_failed;

__attribute__((format(printf, 2, 3))) static inline int tap_ok(int ok, const char *name, ...) {
    va_list ap;
    printf("%sok %d - ", ok ? "" : "not ", ++tap_n);
    va_start(ap, name);
    vprintf(name, ap);
    va_end(ap);
    putchar('\n');
    tap_failed += !ok;
    return ok;
}
/* ok(condition, "module/thing_condition" …) */
#define ok(cond, ...) (tap_ok(!!(cond), __VA_ARGS__) || (printf("#   at %s:%d: %s\n", __FILE__, __LINE__, #cond), 0))

static inline int is_text(const char *got, const char *want, const char *name) {
    int same = got && want && !strcmp(got, want);
    if (!tap_ok(same, "%s", name)) printf("#   got:  %s\n#   want: %s\n", got ? got : "(null)", want ? want : "(null)");
    return same;
}
__attribute__((format(printf, 2, 3))) static inline void skip(int n, const char *why, ...) {
    char text[300];
    va_list ap;
    va_start(ap, why);
    vsnprintf(text, sizeof text, why, ap);
    va_end(ap);
    while (n-- > 0) printf("ok %d # SKIP %s\n", ++tap_n, text);
}
/* Last statement of main. */
static inline int done_testing(void) {
    printf("1..%d\n", tap_n);
    return tap_failed != 0;
}

#endif
