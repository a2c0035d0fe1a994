/* hf/safetensors.h — safetensors files: named tensors, mapped; nothing is read that is not asked for.
 *
 * A folder holds `model.safetensors`, or shards that `model.safetensors.index.json` lists; both are opened as one.
 * Owns:    the mappings and an arena; tensors point into them, until hn_safetensors_close.
 * Units:   sizes in bytes, extents in elements, outermost first.
 * Threads: open files are not changed and may be shared.
 * Errors:  E_IO (names the path), E_INPUT (damaged: names the file and the tensor), E_UNSUPPORTED (an element type that
 *          is not known), E_LIMIT, E_NOMEM. All of the structure is checked when a file is opened:
 *   1. the header is a JSON object of at most 100 MB inside the file, with no name twice;
 *   2. a tensor's bytes are its extents' product times its type's size;
 *   3. tensors lie one behind the other, without holes or bytes in common, from the header's end to the file's end;
 *   4. the index and the shards name the same tensors, each once; shards lie in the folder itself.
 * Source: the format's description in the README of the safetensors project.
 */
#ifndef HN_SAFETENSORS_H
#define HN_SAFETENSORS_H

#include <hone/base.h>

typedef struct hn_safetensors hn_safetensors;

enum { HN_SAFETENSORS_RANK = 8 };
typedef struct hn_st_tensor {
    const char *name, *type; /* type: "F32", "BF16" ... as files write it */
    const char *file;
    size_t rank;
    uint64_t dim[HN_SAFETENSORS_RANK], n_elements, size_b;
    const uint8_t *data; /* may be unaligned */
} hn_st_tensor;

/* Whether the folder has a file that hn_safetensors_open would open. */
bool hn_safetensors_are_in(const char *folder);
hone_rc hn_safetensors_open(const char *folder, hn_safetensors **out, hone_err *err);
/* One file's bytes, which the caller keeps until the close. */
hone_rc hn_safetensors_open_memory(const void *data, size_t n, hn_safetensors **out, hone_err *err);
void hn_safetensors_close(hn_safetensors *s);

/* Whether a file that begins with these n bytes is one of this format. */
bool hn_safetensors_sniff(const void *data, size_t n);

uint64_t hn_safetensors_size_b(const hn_safetensors *s); /* of all files */
size_t hn_safetensors_count(const hn_safetensors *s);
const hn_st_tensor *hn_safetensors_at(const hn_safetensors *s, size_t i);            /* NULL past the end */
const hn_st_tensor *hn_safetensors_named(const hn_safetensors *s, const char *name); /* NULL: there is none */

#endif
