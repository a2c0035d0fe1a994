/* hone/text_peer.h — other engines of language models, each in a process of its own, with which hone is compared.
 *
 * Units: seconds, tokens.   Errors: E_USAGE (no such engine), E_UNSUPPORTED (it is not installed: says how), E_TOOL (it
 * refuses the model, or ended: its own words), E_INTERRUPTED.
 */
#ifndef HONE_TEXT_PEER_H
#define HONE_TEXT_PEER_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The engines; i from 0. False past the end. */
typedef struct hone_text_peer_engine {
    const char *name, *package; /* "llama.cpp", "llama-cpp-python" */
} hone_text_peer_engine;
HONE_API bool hone_text_peer_engine_at(size_t i, hone_text_peer_engine *out);

typedef struct hone_text_peer hone_text_peer;
typedef struct hone_text_peer_options {
    size_t size;
    const char *engine;  /* NULL: "llama.cpp" */
    const char *program; /* its llama-bench, or a Python that has its package; NULL: llama-bench on $PATH, then the
                            first of $HONE_PYTHON, build/venv/bin/python, python3 that has it */
    uint32_t n_threads;  /* 0: processors */
    size_t context;      /* tokens that a round takes together, at most */
} hone_text_peer_options;
static inline hone_text_peer_options hone_text_peer_defaults(void) {
    hone_text_peer_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}
HONE_API hone_rc hone_text_peer_open(const char *model, const hone_text_peer_options *options, hone_text_peer **out,
                                     hone_err *err);
HONE_API const char *hone_text_peer_name(const hone_text_peer *p); /* "llama.cpp 0.3.36" */
/* An empty context takes a prompt of so many tokens, then so many tokens one by one; the times are the peer's own. */
HONE_API hone_rc hone_text_peer_round(hone_text_peer *p, size_t prompt_tokens, size_t tokens, double *prompt_s,
                                      double *generate_s, hone_err *err);
HONE_API uint64_t hone_text_peer_resident(const hone_text_peer *p); /* bytes; 0: not known */
HONE_API void hone_text_peer_close(hone_text_peer *p);              /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
