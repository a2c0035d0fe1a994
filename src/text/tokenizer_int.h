/* text/tokenizer_int.h — a tokenizer's tables, for the files of this room. */
#ifndef HN_TOKENIZER_INT_H
#define HN_TOKENIZER_INT_H

#include "base/arena.h"
#include "text/steps.h"
#include "text/tokenizer.h"

typedef struct hn_token {
    hn_span bytes; /* as they stand in a text */
    double score;
    int32_t type;
} hn_token;

typedef struct hn_merge {
    int32_t left, right, id, rank;
} hn_merge;

typedef struct hn_splitter hn_splitter; /* split.c */

/* A token that is looked for before anything else. */
typedef struct hn_added {
    int32_t id;
    uint8_t flags; /* HN_ADDED_... */
    hn_span text;  /* normalised where the flags say so */
} hn_added;

struct hn_tokenizer {
    hn_arena arena;
    hn_tokenizer_kind kind;
    hn_token *token;
    size_t n;
    int32_t *by_text; /* open addressing: id + 1, 0 empty; normal and byte tokens' texts, and the others' names */
    size_t room;
    hn_merge *merge; /* open addressing by (left, right); id -1: empty */
    size_t merge_room;
    hn_added *special; /* control and user tokens, by first byte, the longest first */
    size_t special_at[257];
    bool any_normalised; /* of them */
    int32_t byte[256];   /* the byte tokens; BPE of bytes: the tokens of single bytes; -1: none */
    int32_t bos, eos, unknown, padding;
    bool add_bos, add_eos, add_space, whole_first;
    hn_splitter *splitter; /* or steps; of SPM neither */
    hn_text_steps *steps;
    bool characters, fuse_unknown, drop_unknown, single, bars, tidy;
    size_t longest; /* UNIGRAM, WORDPIECE: bytes of the longest normal token */
    double worst;   /* UNIGRAM: the lowest score */
    const char *continuing;
    size_t longest_word;
    int32_t *front, *back, *end;
    size_t n_front, n_back, n_end;
};

/* Ids as they are found. */
typedef struct hn_ids {
    int32_t *id;
    size_t n, room;
    bool failed;
} hn_ids;
void hn_ids_add(hn_ids *ids, int32_t id);

int32_t hn_vocabulary_find(const hn_tokenizer *t, const char *text, size_t n);
/* As above, the FNV-1a hash of the text given: begin with HN_HASH_BEGIN. */
#define HN_HASH_BEGIN 0xcbf29ce484222325u
static inline uint64_t hn_hash_byte(uint64_t h, char c) { return (h ^ (unsigned char)c) * 0x100000001b3u; }
int32_t hn_vocabulary_find_hashed(const hn_tokenizer *t, const char *text, size_t n, uint64_t hash);
/* NULL: the pair is not merged. */
const hn_merge *hn_merge_find(const hn_tokenizer *t, int32_t left, int32_t right);

/* merge.c: one piece of text as tokens. */
hone_rc hn_merge_piece(const hn_tokenizer *t, const char *text, size_t n, hn_ids *out, hone_err *err);

/* unigram.c, wordpiece.c: the same for those kinds. */
hone_rc hn_unigram_piece(const hn_tokenizer *t, const char *text, size_t n, hn_ids *out, hone_err *err);
hone_rc hn_wordpiece_piece(const hn_tokenizer *t, const char *text, size_t n, hn_ids *out, hone_err *err);
/* merge.c: what has no token: tokens of its bytes, else the one for what is unknown. */
hone_rc hn_emit_unknown(const hn_tokenizer *t, const char *text, size_t n, hn_ids *out, hone_err *err);

/* split.c */
hone_rc hn_splitter_make(const char *pattern, hn_splitter **out, hone_err *err);
void hn_splitter_free(hn_splitter *s);
/* Calls back with each piece of a text, in order. */
hone_rc hn_splitter_run(const hn_splitter *s, const char *text, size_t n,
                        hone_rc (*piece)(void *arg, const char *text, size_t n, hone_err *err), void *arg,
                        hone_err *err);

#endif
