/* text/tokenizer_int.h — a tokenizer's tables, for the files of this room. */
#ifndef HN_TOKENIZER_INT_H
#define HN_TOKENIZER_INT_H

#include "base/arena.h"
#include "text/tokenizer.h"

typedef struct hn_token {
    hn_span bytes; /* as they stand in a text */
    float score;
    int32_t type;
} hn_token;

typedef struct hn_merge {
    int32_t left, right, id, rank;
} hn_merge;

typedef struct hn_splitter hn_splitter; /* split.c */

struct hn_tokenizer {
    hn_arena arena;
    hn_tokenizer_kind kind;
    hn_token *token;
    size_t n;
    int32_t *by_text; /* open addressing: id + 1, 0 empty; normal and byte tokens' texts, and the others' names */
    size_t room;
    hn_merge *merge; /* open addressing by (left, right); id -1: empty */
    size_t merge_room;
    int32_t *special; /* control and user tokens, by first byte, the longest first */
    size_t special_at[257];
    int32_t byte[256]; /* SPM: the byte tokens; BPE: the tokens of single bytes; -1: none */
    int32_t bos, eos, unknown, padding;
    bool add_bos, add_eos, add_space, whole_first;
    hn_splitter *splitter;
};

/* Ids as they are found. */
typedef struct hn_ids {
    int32_t *id;
    size_t n, room;
    bool failed;
} hn_ids;
void hn_ids_add(hn_ids *ids, int32_t id);

int32_t hn_vocabulary_find(const hn_tokenizer *t, const char *text, size_t n);
/* NULL: the pair is not merged. */
const hn_merge *hn_merge_find(const hn_tokenizer *t, int32_t left, int32_t right);

/* merge.c: one piece of text as tokens. */
hone_rc hn_merge_piece(const hn_tokenizer *t, const char *text, size_t n, hn_ids *out, hone_err *err);

/* split.c */
hone_rc hn_splitter_make(const char *pattern, hn_splitter **out, hone_err *err);
void hn_splitter_free(hn_splitter *s);
/* Calls back with each piece of a text, in order. */
hone_rc hn_splitter_run(const hn_splitter *s, const char *text, size_t n,
                        hone_rc (*piece)(void *arg, const char *text, size_t n, hone_err *err), void *arg,
                        hone_err *err);

#endif
