/* hone/front.h — what every front end takes: the options of hone/import.h.
 */
#ifndef HONE_FRONT_H
#define HONE_FRONT_H

#include <hone/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_import_options {
    size_t size;               /* hone_import_defaults() sets it */
    const char *const *symbol; /* "batch=1:64" or "seq=128" fixes or bounds symbolic dimensions; unknown names are
                                  E_USAGE naming the nearest */
    size_t n_symbol;
    uint64_t max_file_b; /* refuses larger models; 0: no limit */
    const char *cache;   /* language models of files of weights: "f32", "f16", "bf16" or "q8": keys and values lie in
                            blocks of a pool; NULL: in one growing tensor of f32 */
    bool exact; /* products with packed weights round nothing; else they round activations to int8 in blocks of 32 */
    const char *activations; /* of products with packed weights: "float" (as `exact`), "int8", "auto" (int8, and two
                                bytes where they matter most), "int8x2" (two bytes); NULL: auto; hone_compile_model
                                takes int8 where a target is a device's */
} hone_import_options;
static inline hone_import_options hone_import_defaults(void) {
    hone_import_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

#ifdef __cplusplus
}
#endif
#endif
