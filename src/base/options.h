/* base/options.h — reading an option struct that the caller may have compiled against an older header. */
#ifndef HN_OPTIONS_H
#define HN_OPTIONS_H

#include <hone/base.h>

/* Copies the fields of *given over *out, which holds the defaults and is `size` bytes; given NULL: the defaults stay.
 * Both begin with `size_t size`, which is that of *out afterwards. name: "tune" for hone_tune_options. E_USAGE when the
 * given size is too small to be one, or larger than this library knows. */
hone_rc hn_options_read(void *out, size_t size, const void *given, const char *name, hone_err *err);

/* E_UNSUPPORTED unless it is 0. */
hone_rc hn_device_check(int32_t device, hone_err *err);

#endif
