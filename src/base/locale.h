/* base/locale.h — number texts do not follow the host's setlocale: what hone writes in one locale it reads in any.
 *
 * Formatting helpers of this room (hn_fail, hn_format, hn_str_addf …) enter the C locale themselves; hn_strtod replaces
 * strtod. Threads: the switch is this thread's alone. glibc and musl hand out one static object for "C": no allocation.
 */
#ifndef HN_LOCALE_H
#define HN_LOCALE_H

#include <locale.h>
#include <stdlib.h>

static inline locale_t hn_locale_c(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }
/* Returns what hn_locale_leave takes. */
static inline locale_t hn_locale_enter(void) { return uselocale(hn_locale_c()); }
static inline void hn_locale_leave(locale_t before) { uselocale(before); }

/* As strtod, with '.' as the decimal point always. */
static inline double hn_strtod(const char *text, char **end) { return strtod_l(text, end, hn_locale_c()); }
static inline long double hn_strtold(const char *text, char **end) { return strtold_l(text, end, hn_locale_c()); }

#endif
