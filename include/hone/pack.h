/* hone/pack.h — packs: folders of controls files with an index, whose controls are tried on another workload before a
 * search. Format: docs/packs.md.
 *
 * Owns: a pack and fits own all they point to, until their free functions.   Units: ratios, as in hone/controls.h.
 * Errors: E_INPUT (malformed index or controls file, two files of one name), E_TAMPERED (a controls file changed since
 * it was written), E_MISMATCH (a file is not the one that was indexed), E_NOTFOUND (no pack), E_IO, E_NOMEM.
 */
#ifndef HONE_PACK_H
#define HONE_PACK_H

#include <hone/prove.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_PACK_FORMAT 1

typedef struct hone_pack_entry {
    const char *file;                                /* within the folder: "softmax.hone" */
    const char *workload, *compiler, *version, *cpu; /* as the controls file says; "" where it does not */
    const char *objective;                           /* the first one proven */
    hone_interval gain;                              /* in it, over all inputs tuned on; NANs: not known */
    const char *hash;                                /* of the file */
} hone_pack_entry;
typedef struct hone_pack {
    const char *dir;
    hone_pack_entry *entry; /* by file name, until hone_pack_order */
    size_t n;
    void *block;
} hone_pack;

/* Copies controls files (with response files) into the folder, which is made when there is none, and indexes all
 * controls files there. n = 0: indexes alone. Nothing is written unless every file can be read. */
HONE_API hone_rc hone_pack_build(const char *dir, const char *const *path, size_t n, hone_pack *out, hone_err *err);
/* Reads the index and checks every file against it. */
HONE_API hone_rc hone_pack_read(const char *dir, hone_pack *out, hone_err *err);
HONE_API void hone_pack_free(hone_pack *pack);

/* The entries in the order in which they promise most for the workload here, by what the index says: the same
 * objective, a compiler that the workload offers (its first one more so), this processor, then the larger gain; else by
 * file name. It says what is tried first and excludes nothing. */
HONE_API hone_rc hone_pack_order(hone_pack *pack, const hone_workload *workload, hone_err *err);

/* An entry mapped into a workload's present space. */
typedef struct hone_pack_fit {
    char *point;    /* JSON; NULL: nothing to try */
    char *dropped;  /* genes that the space does not have, one per line; "" when it has all */
    size_t same_as; /* an earlier entry that gives this very point; SIZE_MAX: none. Its own point is NULL then */
} hone_pack_fit;
typedef struct hone_pack_fits {
    hone_pack_fit *fit; /* one per entry */
    size_t n, n_points;
} hone_pack_fits;
HONE_API hone_rc hone_pack_map(const hone_pack *pack, const hone_workload *workload, const hone_prove_options *options,
                               hone_pack_fits *out, hone_err *err);
HONE_API void hone_pack_fits_free(hone_pack_fits *fits);

#ifdef __cplusplus
}
#endif
#endif
