/* hone/base.h — errors, versions: what every other public header stands on.
 *
 * Every fallible function returns a hone_rc, takes `hone_err *err` last (NULL is accepted), and leaves its
 * out-parameters untouched on failure. The library never prints, exits or aborts on bad input or lack of memory.
 * Threads: no global state but const tables; an object may be used by one thread at a time.
 */
#ifndef HONE_BASE_H
#define HONE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HONE_API __attribute__((visibility("default")))
#define HONE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HONE_API
#define HONE_PRINTF(fmt, args)
#endif

#define HONE_VERSION "0.1.0"

/* Ids of all failures; rows in src/base/errors.def. docs/errors.md lists them with their exit codes. */
typedef enum hone_rc {
    HONE_OK,
    HONE_E_FAILED,
    HONE_E_USAGE,
    HONE_E_INPUT,
    HONE_E_IO,
    HONE_E_NOMEM,
    HONE_E_NOTFOUND,
    HONE_E_EMPTY,
    HONE_E_EXHAUSTED,
    HONE_E_TOOL,
    HONE_E_BASELINE,
    HONE_E_MISMATCH,
    HONE_E_STORE,
    HONE_E_BUSY,
    HONE_E_UNSUPPORTED,
    HONE_E_LIMIT,
    HONE_E_CANARY,
    HONE_E_REJECTED,
    HONE_E_STALE,
    HONE_E_REGRESSED,
    HONE_E_TAMPERED,
    HONE_E_INTERRUPTED,
} hone_rc;

/* What went wrong, for a person. `text` names the subject in quotes, what differs and what to do next; where a
 * file is at fault it starts with `path:line:column: `. Owned by the caller, usually on the stack; needs no free. */
typedef struct hone_err {
    hone_rc rc;
    char text[1000];
} hone_err;

/* The id as stored and printed ("E_INPUT"), its one-line text, and the process exit code that belongs to it.
 * An unknown rc gives "E_UNKNOWN", a text and exit code 1. Returned strings are static. */
HONE_API const char *hone_rc_name(hone_rc rc);
HONE_API const char *hone_rc_text(hone_rc rc);
HONE_API int hone_rc_exit(hone_rc rc);

/* The library's version as a string, e.g. "0.1.0"; compare with HONE_VERSION to detect a header mismatch. */
HONE_API const char *hone_version(void);

/* Frees what a hone function documents as "free with hone_free" (NULL is accepted). */
HONE_API void hone_free(void *p);

#ifdef __cplusplus
}
#endif
#endif
