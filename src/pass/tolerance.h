/* pass/tolerance.h — what callers may ask convolutions to round (hone_pass_options.tolerance), checked. hn_tolerance_of
 * of pass/pass.h says what it means. */
#ifndef HN_TOLERANCE_H
#define HN_TOLERANCE_H

#include <hone/base.h>

/* E_USAGE: NaN, from what is no number. */
hone_rc hn_tolerance_check(double tolerance, hone_err *err);

#endif
