/* base/err.c — the error table's expansions and the functions that fill a hone_err. */
#include "base/err.h"

#include "base/locale.h"

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

/* A text cut short must not end inside a UTF-8 sequence: JSON and terminals would choke on the rest. */
static void trim_partial(char *text, size_t room) {
    size_t n = strlen(text), back = 0;
    if (n + 1 < room) return;
    while (back < 3 && back < n && ((unsigned char)text[n - 1 - back] & 0xc0) == 0x80) back++;
    if (back == n) return;
    unsigned char lead = (unsigned char)text[n - 1 - back];
    size_t want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (lead >= 0xc0 && back < want) text[n - 1 - back] = 0;
}

/* Formats into a buffer first, since an argument may be the text that is replaced. */
__attribute__((format(printf, 3, 0))) static void format(char *out, size_t room, const char *fmt, va_list ap) {
    char text[sizeof((hone_err *)0)->text];
    locale_t before = hn_locale_enter();
    vsnprintf(text, room < sizeof text ? room : sizeof text, fmt, ap);
    hn_locale_leave(before);
    trim_partial(text, room);
    memcpy(out, text, strlen(text) + 1);
}

hone_rc hn_fail(hone_err *err, hone_rc rc, const char *fmt, ...) {
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->rc = rc;
        format(err->text, sizeof err->text, fmt, ap);
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
    format(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, "%s", old);
    trim_partial(err->text, sizeof err->text);
    return err->rc;
}

hone_rc hn_context_file(hone_err *err, hone_rc rc, const char *path) {
    if (err && rc && rc != HONE_E_INTERRUPTED && !strstr(err->text, path)) hn_context(err, "'%s': ", path);
    return rc;
}
