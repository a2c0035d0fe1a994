/* serve/wire.h — what goes between a server and the process that tries a version: frames of bytes in this machine's
 * order, over a socket of their own. A reader never trusts a length: the other side may have lost its mind.
 *
 * Owns: a writer is an hn_str; what a reader gives points into the frame.   Errors: sticky, in `failed`.
 */
#ifndef HN_SERVE_WIRE_H
#define HN_SERVE_WIRE_H

#include "base/str.h"
#include "serve/job.h"

typedef enum hn_frame_kind {
    HN_FRAME_OPEN = 1, /* to the child: what to open */
    HN_FRAME_RUN,      /* a request for NEXT, whose answer a client waits for */
    HN_FRAME_SAMPLE,   /* a request for both */
    HN_FRAME_CANCEL,   /* nobody waits any more */
    HN_FRAME_READY,    /* from the child: opened, or why not */
    HN_FRAME_BEGIN,    /* id: the version that runs now: 0 NOW, 1 NEXT */
    HN_FRAME_PIECE,    /* of a stream */
    HN_FRAME_DONE,
    HN_FRAME_SAMPLED,
    HN_FRAME_DIED, /* id: the signal */
} hn_frame_kind;
typedef struct hn_wire_head {
    uint32_t kind, id;
    uint64_t n; /* bytes that follow */
} hn_wire_head;
#define HN_FRAME_MOST ((uint64_t)4 << 30)

typedef struct hn_wire_reader {
    const char *p, *end;
    bool failed;
} hn_wire_reader;

void hn_put(hn_str *s, const void *data, size_t n);
void hn_put_int(hn_str *s, int64_t x);
void hn_put_real(hn_str *s, double x);
void hn_put_text(hn_str *s, const char *text);            /* NULL is kept apart from "" */
void hn_put_bytes(hn_str *s, const void *data, size_t n); /* with their number */
const void *hn_get(hn_wire_reader *r, size_t n);          /* NULL: there are not so many */
int64_t hn_get_int(hn_wire_reader *r);
double hn_get_real(hn_wire_reader *r);
int64_t hn_get_count(hn_wire_reader *r, size_t size_b); /* of things of that size, as many as there are bytes for */
const char *hn_get_text(hn_wire_reader *r);             /* ends with 0; NULL where NULL was put, or failed */
const void *hn_get_bytes(hn_wire_reader *r, size_t *n);

/* Arrays with their bytes. hn_get_arrays: data is malloc'ed, each; false: no memory, or what cannot be. */
void hn_put_arrays(hn_str *s, const hone_array *a, size_t n);
bool hn_get_arrays(hn_wire_reader *r, hone_array **a, size_t *n);
void hn_arrays_free(hone_array *a, size_t n);

/* A request as the other side needs it. hn_get_task: arrays are the task's, texts point into the frame; what else it
 * holds is in `keep`, which is to be freed with the task. */
typedef struct hn_task_keep {
    const char **stop;
    hone_text_bias *bias;
    int32_t *token;
} hn_task_keep;
void hn_put_task(hn_str *s, const hn_task *j);
bool hn_get_task(hn_wire_reader *r, hn_task *j, hn_task_keep *keep);
void hn_task_drop(hn_task *j, hn_task_keep *keep);

/* An answer: outputs, or text and tokens. */
void hn_put_answer(hn_str *s, const hn_task *j);
bool hn_get_answer(hn_wire_reader *r, hn_task *j);

#endif
