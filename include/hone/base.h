/* hone/base.h — errors, versions: used by every other public header.
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
#define HONE_ABI 3 /* of the library: libhone.so.3; docs/api-changes.md says what each changed */

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

/* --- what option structs have in common -------------------------------------------------------------------------- */

/* Every hone_X_options begins with `size_t size`, and hone_X_defaults() gives one that is filled: set what differs. The
 * library reads no more than `size` bytes; a field that came later has its default then. E_USAGE when the size is 0 or
 * larger than the library knows. A NULL pointer to options means the defaults.
 *     budget_s    how long to work, in seconds; 0: as the struct says
 *     n_jobs      programs that run at once; 0: processors
 *     device      0: this machine's processor, which is all that this version runs on; else E_UNSUPPORTED
 *     stop        set asynchronously (by a signal handler, say) to end early; NULL: none
 *     progress    called as the work goes on */
typedef struct hone_event {
    const char *stage;        /* a word; static */
    size_t done, total;       /* in units of the stage; total 0: not known */
    double elapsed_s, left_s; /* since the call began, and expected; NAN: not known */
    const char *text;         /* a sentence for people; NULL: none */
} hone_event;
/* A function that tells more passes a struct whose first member is a hone_event; its header names it. What an event
 * points to is valid during the call. */
typedef struct hone_progress {
    void (*fn)(void *arg, const hone_event *event); /* NULL: none */
    void *arg;
} hone_progress;

/* For hone_X_defaults(), which stand in the headers so that the size is that of the caller's struct. */
#ifdef __cplusplus
#define HONE_ZERO                                                                                                      \
    {}
#else
#define HONE_ZERO                                                                                                      \
    { 0 }
#endif

/* Frees what a hone function documents as "free with hone_free" (NULL is accepted). */
HONE_API void hone_free(void *p);

#ifdef __cplusplus
}
#endif
#endif
