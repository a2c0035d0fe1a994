/* gguf/gguf.h — GGUF files, versions 2 and 3: metadata and tensors, mapped; nothing is read that is not asked for.
 *
 * A model in several files (`split.count` > 1, named X-00001-of-00003.gguf) is opened by its first file, as one.
 * Owns:    the mappings and an arena; strings and arrays point into them, until hn_gguf_close.
 * Units:   sizes in bytes, extents in elements; dimensions outermost first (the file has them innermost first).
 * Threads: an open file is not changed and may be shared.
 * Errors:  E_IO (names the path), E_INPUT (damaged: names the path, the byte and the key or tensor), E_UNSUPPORTED
 *          (another version or byte order), E_NOMEM. All of a file's structure is checked when it is opened:
 *   1. every length lies inside the file; counts are checked before anything is allocated for them;
 *   2. names of keys and of tensors are unique, and valid UTF-8;
 *   3. a tensor's row is whole blocks; its bytes lie inside its file, at a multiple of the alignment;
 *   4. no two tensors share bytes;
 *   5. the shards of a model are those that the first one announces, each once.
 * Source: the format's description in ggml's own description.
 */
#ifndef HN_GGUF_H
#define HN_GGUF_H

#include <hone/base.h>

typedef struct hn_gguf hn_gguf;

/* Types of values, by their numbers in the file. */
typedef enum hn_gguf_kind {
    HN_GGUF_U8,
    HN_GGUF_I8,
    HN_GGUF_U16,
    HN_GGUF_I16,
    HN_GGUF_U32,
    HN_GGUF_I32,
    HN_GGUF_F32,
    HN_GGUF_BOOL,
    HN_GGUF_STRING,
    HN_GGUF_ARRAY,
    HN_GGUF_U64,
    HN_GGUF_I64,
    HN_GGUF_F64,
    HN_GGUF_KINDS,
} hn_gguf_kind;

typedef struct hn_gguf_text {
    const char *text; /* not NUL-terminated */
    size_t n;
} hn_gguf_text;

typedef struct hn_gguf_pair {
    const char *key;
    hn_gguf_kind kind, item; /* item: of an array's elements */
    uint64_t n;              /* elements of an array, else 1 */
    const uint8_t *at;       /* the value as it lies in the file, size_b bytes */
    size_t size_b;
} hn_gguf_pair;

enum { HN_GGUF_RANK = 4 };
typedef struct hn_gguf_tensor {
    const char *name;
    uint32_t type; /* a row of blocks.def */
    size_t rank;
    uint64_t dim[HN_GGUF_RANK], n_elements, size_b;
    const uint8_t *data;
} hn_gguf_tensor;

hone_rc hn_gguf_open(const char *path, hn_gguf **out, hone_err *err);
/* As above from memory that the caller keeps until the close; a model in several files is then an error. */
hone_rc hn_gguf_open_memory(const void *data, size_t n, hn_gguf **out, hone_err *err);
void hn_gguf_close(hn_gguf *g);

/* Whether a file that begins with these n bytes is one of this format. */
bool hn_gguf_sniff(const void *data, size_t n);

uint32_t hn_gguf_version(const hn_gguf *g);
uint64_t hn_gguf_size_b(const hn_gguf *g); /* of all files */
size_t hn_gguf_pairs(const hn_gguf *g);
const hn_gguf_pair *hn_gguf_pair_at(const hn_gguf *g, size_t i);
const hn_gguf_pair *hn_gguf_find(const hn_gguf *g, const char *key); /* NULL: absent */
size_t hn_gguf_tensors(const hn_gguf *g);
const hn_gguf_tensor *hn_gguf_tensor_at(const hn_gguf *g, size_t i);
const hn_gguf_tensor *hn_gguf_tensor_named(const hn_gguf *g, const char *name);

/* A number of any width, as which counts are stored by different writers. False: absent, no number, or (of an integer)
 * out of range; *out is left alone then. */
bool hn_gguf_u64(const hn_gguf_pair *p, uint64_t *out);
bool hn_gguf_f64(const hn_gguf_pair *p, double *out);
bool hn_gguf_bool(const hn_gguf_pair *p, bool *out);
bool hn_gguf_string(const hn_gguf_pair *p, hn_gguf_text *out);
/* All strings of an array, in its order, in an array of *n that the file owns; made at each call. */
hone_rc hn_gguf_strings(hn_gguf *g, const hn_gguf_pair *p, const hn_gguf_text **out, size_t *n, hone_err *err);
/* Element i of an array of numbers. */
bool hn_gguf_item_f64(const hn_gguf_pair *p, uint64_t i, double *out);
bool hn_gguf_item_i64(const hn_gguf_pair *p, uint64_t i, int64_t *out);

#endif
