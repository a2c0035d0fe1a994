/* base/err.h — raising errors. Messages: lower case, no full stop, the subject in quotes, what differs, what to do. */
#ifndef HN_ERR_H
#define HN_ERR_H

#include <hone/base.h>

/* Fills *err (if not NULL) and returns rc, so that a failure is one statement: return hn_fail(err, HONE_E_IO, …). */
hone_rc hn_fail(hone_err *err, hone_rc rc, const char *fmt, ...) HONE_PRINTF(3, 4);

/* Puts a prefix in front of the text already in *err and returns its rc: adds context on the way up.
 * A NULL err holds no rc, so then it returns E_FAILED: a function that may be given NULL keeps the rc itself. */
hone_rc hn_context(hone_err *err, const char *fmt, ...) HONE_PRINTF(2, 3);
/* Puts the name of the file that is at fault in front, unless the text has it. Returns rc. */
hone_rc hn_context_file(hone_err *err, hone_rc rc, const char *path);

#endif
