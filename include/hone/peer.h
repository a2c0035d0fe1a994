/* hone/peer.h — ONNX Runtime or OpenVINO in a Python process of its own, with which models are compared.
 */
#ifndef HONE_PEER_H
#define HONE_PEER_H

#include <hone/array.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_peer hone_peer;
typedef struct hone_peer_options {
    size_t size;        /* hone_peer_defaults() sets it */
    const char *engine; /* NULL: "onnxruntime", all its optimisations on; or "openvino", in f32, compiled for the sizes
                           of each hone_peer_run */
    uint32_t n_threads; /* 0: its default */
} hone_peer_options;
static inline hone_peer_options hone_peer_defaults(void) {
    hone_peer_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}
/* Python: $HONE_PYTHON, build/venv/bin/python, python3: the first that imports the engine; E_UNSUPPORTED when none
 * does.
 */
HONE_API hone_rc hone_peer_open(const char *onnx, const hone_peer_options *options, hone_peer **out, hone_err *err);
HONE_API const char *hone_peer_name(const hone_peer *p); /* "onnxruntime 1.30.0" */
/* As hone_artifact_run. */
HONE_API hone_rc hone_peer_run(hone_peer *p, const hone_array *in, size_t n_in, hone_array *out, size_t n_out,
                               hone_err *err);
/* Runs the last inputs n times; time_s[i]: of each, by the clock of its process. */
HONE_API hone_rc hone_peer_time(hone_peer *p, size_t n, double *time_s, hone_err *err);
HONE_API void hone_peer_close(hone_peer *p); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
