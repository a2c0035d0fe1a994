/* base/err.c — the error table's expansions and the functions that fill a hone_err. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HONE_ERR(id, exit, text) HN_INDEX_##id,
enum {
#include "base/errors.def"
    HN_N_ERRORS
};
#undef HONE_ERR

/* The public enum is written out for its readers; these keep it equal to the table. */
#define HONE_ERR(id, exit, text)                                                                                       \
    _Static_assert((int)HN_INDEX_##id == (int)HONE_##id, "hone_rc differs from errors.def");
#include "base/errors.def"
#undef HONE_ERR

static const struct {
    const char *name, *text;
    int exit;
} row[] = {
#define HONE_ERR(id, exit, text) {#id, text, exit},
#include "base/errors.def"
#undef HONE_ERR
};

static bool known(hone_rc rc) { return (unsigned)rc < HN_N_ERRORS; }

const char *hone_rc_name(hone_rc rc) { return known(rc) ? row[rc].name : "E_UNKNOWN"; }
const char *hone_rc_text(hone_rc rc) { return known(rc) ? row[rc].text : "an unknown error"; }
int hone_rc_exit(hone_rc rc) { return known(rc) ? row[rc].exit : 1; }
const char *hone_version(void) { return HONE_VERSION; }
void hone_free(void *p) { free(p); }

hone_rc hn_fail(hone_err *err, hone_rc rc, const char *fmt, ...) {
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->rc = rc;
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
    }
    return rc;
}

hone_rc hn_context(hone_err *err, const char *fmt, ...) {
    if (!err) return HONE_E_FAILED;
    char old[sizeof err->text];
    memcpy(old, err->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->text) snprintf(err->text + n, sizeof err->text - (size_t)n, "%s", old);
    return err->rc;
}
