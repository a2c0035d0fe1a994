/* backend/image.h — machine code for devices, made ahead of time by the compiler that is installed here.
 *
 * Each text is compiled in a process of its own, several at once: a compiler that crashes or hangs ends its own image.
 * Threads: one at a time.   Errors: E_NOMEM, E_IO (no process), E_INTERRUPTED; a text that is refused is no error.
 */
#ifndef HN_IMAGE_H
#define HN_IMAGE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct hn_image_job {
    const char *text, *options;
    const char *arch; /* "sm_90a"; "compute_90": PTX for that architecture and later ones */
    const char *path; /* of the file that is made */
    bool made;        /* out: */
    size_t size_b;
    char why[240]; /* not made, because */
} hn_image_job;

typedef struct hn_image_maker {
    /* Which compiler exactly; "": none is installed, which *why (may be NULL) explains. */
    void (*identity)(char *out, size_t n, const char **why);
    hone_rc (*make)(hn_image_job *job, size_t n, size_t n_at_once, const volatile int *stop, hone_err *err);
} hn_image_maker;
extern const hn_image_maker hn_cuda_images;

#endif
