/* quantize/imatrix.h — how much each column of a matrix matters: the mean square of what it is multiplied with, over
 * a text. Files: GGUF with general.type "imatrix", and the older binary format (.dat), as llama.cpp's llama-imatrix
 * writes them.
 */
#ifndef HN_IMATRIX_H
#define HN_IMATRIX_H

#include <hone/base.h>

typedef struct hn_imatrix_entry {
    char *name;                 /* of the tensor */
    uint64_t columns, matrices; /* more than one matrix: experts */
    float *mean;                /* [matrices][columns], finite, >= 0 */
} hn_imatrix_entry;

typedef struct hn_imatrix {
    hn_imatrix_entry *entry;
    size_t n, room;
    char *dataset; /* NULL: not known */
    uint32_t chunks;
} hn_imatrix;

hone_rc hn_imatrix_read(const char *path, hn_imatrix *out, hone_err *err);
/* path: for messages. */
hone_rc hn_imatrix_read_memory(const char *path, const void *data, size_t n, hn_imatrix *out, hone_err *err);
void hn_imatrix_free(hn_imatrix *m);
const hn_imatrix_entry *hn_imatrix_of(const hn_imatrix *m, const char *name); /* NULL: absent */

#endif
