/* gguf/gguf_int.h — an open file, for the files of this room. */
#ifndef HN_GGUF_INT_H
#define HN_GGUF_INT_H

#include "base/arena.h"
#include "base/map.h"
#include "base/names.h"
#include "gguf/gguf.h"

struct hn_gguf {
    hn_arena arena;
    hn_mapping *map; /* n_map of them are ours to unmap */
    size_t n_map;
    uint32_t version; /* of the first file, as the pairs are */
    hn_gguf_pair *pair;
    size_t n_pair;
    hn_gguf_tensor *tensor; /* of all files */
    size_t n_tensor;
    hn_names key, name; /* key -> hn_gguf_pair *, name of a tensor -> its number + 1 */
};

#endif
