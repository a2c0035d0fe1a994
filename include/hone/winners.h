/* hone/winners.h — what tuning found: for a kernel on a device under a compiler, the schedule and flags proven faster
 * than the default ones. Kept in a file (SQLite, WAL) or, for many machines, in PostgreSQL; exchanged as YAML
 * (docs/winners.md).
 *
 * A winner is found again by its kernel's text, wherever that kernel comes from: another model may use it. What was
 * measured on the way (trials) is kept, too, so that a search that was cut short goes on.
 * After a write returned HONE_OK, kill -9 loses nothing; on a full disk the file gives up a reserve it keeps for this,
 * writes, and says so (E_STORE). Any number of readers and writers. A server that is away or does not answer in time is
 * E_STORE; no message holds a password.
 * Units: seconds, ratios.   Errors: E_STORE, E_BUSY, E_NOTFOUND, E_INPUT (text, with line and column), E_NOMEM; of URLs
 * also E_USAGE, E_UNSUPPORTED (libpq is not there).
 */
#ifndef HONE_WINNERS_H
#define HONE_WINNERS_H

#include <hone/search.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_winner {
    /* the key: all of it must agree, character by character */
    const char *kind, *body; /* of the kernel; body: its canonical IR text, shapes and types included */
    const char *sizes;       /* where it was measured: "batch=1 seq=128 2 threads"; one thread is not named */
    const char *target;      /* instruction set that the code is made for */
    const char *device;      /* processor, its instruction sets and caches, in words */
    const char *driver;      /* of an accelerator; "" on a processor */
    const char *compiler;    /* of the default code: family, version, hash of its binaries */
    const char *numeric;     /* "exact", "relaxed" */
    const char *schedules;   /* version of hone's schedules */
    /* the value */
    const char *schedule;          /* "gemm rows=12 cols=2" */
    const char *cc;                /* compiler command; "": the default one */
    const char *cc_identity;       /* of that command, as `compiler`; "" when cc is "" */
    const char *flags;             /* beyond the usual ones, blank-separated */
    const char *code;              /* hash of the C text that was proven, */
    const char *default_code;      /* and of the one it was proven against */
    const char *provenance;        /* model it was tuned in, version of hone */
    double default_s, tuned_s;     /* medians of one call */
    double gain_lo, gain, gain_hi; /* default / tuned, 95 % interval of the proof */
    double pairs;                  /* behind it */
    double at_s;                   /* Unix time */
    void *block;                   /* of a winner that was handed out */
} hone_winner;

/* 32 hex digits of the key: with sizes (one row of the file), and without (all rows that serve one body). */
HONE_API void hone_winner_id(const hone_winner *w, char hex[33]);
HONE_API void hone_winner_family(const hone_winner *w, char hex[33]);
/* Under which trials are kept: of the key and the default code. */
HONE_API void hone_winner_trial_id(const hone_winner *w, char hex[33]);
HONE_API void hone_winner_free(hone_winner *w); /* contents only */

typedef struct hone_winners hone_winners;

/* $XDG_DATA_HOME/hone/winners.db, else ~/.local/share/hone/winners.db. Free with hone_free; NULL: no memory. */
HONE_API char *hone_winners_file(void);
/* $HONE_WINNERS (a file or a URL, which may hold a password), else that file. Free with hone_free; NULL: no memory. */
HONE_API char *hone_winners_path(void);
/* A file or a URL as it may be shown: without user and password. Free with hone_free; NULL: no memory. */
HONE_API char *hone_winners_name(const char *where);
/* where: a file, or postgresql://[USER@]HOST[:PORT]/DATABASE; NULL: hone_winners_path. Created when write is set; else
 * what is not there is E_NOTFOUND. */
HONE_API hone_rc hone_winners_open(const char *where, bool write, hone_winners **out, hone_err *err);
HONE_API void hone_winners_close(hone_winners *w); /* accepts NULL */

/* Replaces the row of the same key; at a server a better proof that is there stays (docs/winners.md). */
HONE_API hone_rc hone_winners_put(hone_winners *w, const hone_winner *winner, hone_err *err);
/* By the key fields of `key`: the row with its sizes, else the newest of its family. E_NOTFOUND; hone_winner_free. */
HONE_API hone_rc hone_winners_find(hone_winners *w, const hone_winner *key, hone_winner *out, hone_err *err);
/* The newest of the same kernel, target and numeric mode, whatever else differs. E_NOTFOUND; hone_winner_free. */
HONE_API hone_rc hone_winners_nearest(hone_winners *w, const hone_winner *key, hone_winner *out, hone_err *err);
/* All, the newest first. Free with hone_winners_list_free. */
HONE_API hone_rc hone_winners_list(hone_winners *w, hone_winner **out, size_t *n, hone_err *err);
HONE_API void hone_winners_list_free(hone_winner *list, size_t n);
/* Takes the row with this id out, and its trials. E_NOTFOUND. */
HONE_API hone_rc hone_winners_remove(hone_winners *w, const char *id, hone_err *err);

/* YAML, and back. What is there already stays when it is newer, at a server when its proof is better. n_new: rows added
 * or replaced. */
HONE_API hone_rc hone_winners_export(hone_winners *w, char **text, hone_err *err);
HONE_API hone_rc hone_winners_import(hone_winners *w, const char *text, size_t n, const char *label, size_t *n_read,
                                     size_t *n_new, hone_err *err);
/* As import, from a file. Also E_IO. */
HONE_API hone_rc hone_winners_import_file(hone_winners *w, const char *path, size_t *n_read, size_t *n_new,
                                          hone_err *err);
/* The text alone: what import does first. Free with hone_winners_list_free. */
HONE_API hone_rc hone_winners_parse(const char *text, size_t n, const char *label, hone_winner **out, size_t *n_out,
                                    hone_err *err);
HONE_API hone_rc hone_winners_parse_file(const char *path, hone_winner **out, size_t *n_out, hone_err *err);
HONE_API hone_rc hone_winners_format(const hone_winner *list, size_t n, char **text, hone_err *err);

/* --- what was measured on the way --------------------------------------------------------------------------------- */

typedef struct hone_winner_trial {
    const char *candidate; /* JSON point of the kernel's space */
    const char *code;      /* hash of C text, compiler and flags; "" where nothing was built */
    hone_outcome_class cls;
    double ratio, time_s; /* candidate / default measured beside it; of one call. NAN unless ok */
    double at_s;
} hone_winner_trial;
/* Under hone_winner_trial_id; one of the same candidate is replaced. */
HONE_API hone_rc hone_winners_put_trial(hone_winners *w, const char *id, const hone_winner_trial *trial, hone_err *err);
/* In the order in which they were measured. hone_free (one block). */
HONE_API hone_rc hone_winners_trials(hone_winners *w, const char *id, hone_winner_trial **out, size_t *n,
                                     hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
