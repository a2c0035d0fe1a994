/* hone/artifact.h — a compiled model is loaded and run.
 *
 * hone/model.h is what the library itself offers; this wraps it for hone_array.
 * Threads: an artifact is used by one thread at a time.
 */
#ifndef HONE_ARTIFACT_H
#define HONE_ARTIFACT_H

#include <hone/array.h>
#include <hone/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A loaded library and an instance of its model. */
typedef struct hone_artifact hone_artifact;
typedef struct hone_artifact_options {
    size_t size;        /* hone_artifact_defaults() sets it */
    int32_t device;     /* 0 */
    uint32_t n_threads; /* 0: processors */
} hone_artifact_options;
static inline hone_artifact_options hone_artifact_defaults(void) {
    hone_artifact_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}
HONE_API hone_rc hone_artifact_load(const char *path, const hone_artifact_options *options, hone_artifact **out,
                                    hone_err *err);
/* What a library holds, as JSON: `targets` (each with its `machine_code`), `versions`, sizes, inputs and outputs, and
 * which target is `taken` here (docs/commands.md, inspect). It is loaded, but no instance is made: no device needs to
 * be there. What only the manifest beside it says is null where there is none. Free with hone_free. */
HONE_API hone_rc hone_artifact_inspect(const char *path, char **json, hone_err *err);
HONE_API const hone_model *hone_artifact_model(const hone_artifact *p);
/* out[i].data is the caller's afterwards: hone_free. */
HONE_API hone_rc hone_artifact_run(hone_artifact *p, const hone_array *in, size_t n_in, hone_array *out, size_t n_out,
                                   hone_err *err);
/* The state of the instance (hone/model.h) as a file, and back: E_MISMATCH where the file is of another model, or
 * damaged; the state stays as it was then. E_UNSUPPORTED: the model has no state. */
HONE_API hone_rc hone_artifact_save_state(hone_artifact *p, const char *path, hone_err *err);
HONE_API hone_rc hone_artifact_load_state(hone_artifact *p, const char *path, hone_err *err);
/* As after hone_artifact_load. */
HONE_API hone_rc hone_artifact_reset_state(hone_artifact *p, hone_err *err);
HONE_API void hone_artifact_free(hone_artifact *p);

#ifdef __cplusplus
}
#endif
#endif
