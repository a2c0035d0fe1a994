/* text/tokenizer.h — text to token ids and back.
 *
 * Kinds: pairs merged by rank (BPE: GPT-2, Llama 3, Qwen, SmolLM, ...; Sennrich, Haddow & Birch 2016), of bytes or of
 * characters; pieces merged by score (SentencePiece's BPE model: Llama 2, Mistral, Gemma, Phi-3; Kudo & Richardson
 * 2018); the likeliest pieces of all (unigram: T5, XLM-R, ALBERT; Kudo 2018); the longest pieces from the left
 * (WordPiece: BERT; Schuster & Nakajima 2012). A tokenizer is made from a spec, which a file's reader fills in: this
 * room knows no file format.
 *
 * Owns:    copies of all that the spec names.   Threads: a tokenizer is not changed and may be shared.
 * Errors:  E_INPUT (a spec that contradicts itself: names the token or merge), E_UNSUPPORTED (an unknown pattern: names
 * those known), E_LIMIT (a text on which a pattern takes too long), E_NOMEM. Invalid UTF-8 is no error: its bytes
 * become tokens and come back as they were.
 */
#ifndef HN_TOKENIZER_H
#define HN_TOKENIZER_H

#include <hone/base.h>

typedef enum hn_tokenizer_kind {
    HN_TOKENIZER_BPE,
    HN_TOKENIZER_SPM,
    HN_TOKENIZER_UNIGRAM,
    HN_TOKENIZER_WORDPIECE,
} hn_tokenizer_kind;

/* What a token is, as files number it. */
typedef enum hn_token_type {
    HN_TOKEN_NORMAL = 1,
    HN_TOKEN_UNKNOWN,
    HN_TOKEN_CONTROL, /* <|im_start|>: found in a text only where that is asked for; has no text of its own */
    HN_TOKEN_USER,    /* found in every text, before anything else */
    HN_TOKEN_UNUSED,
    HN_TOKEN_BYTE, /* <0x41> stands for a byte; not in a BPE of bytes */
} hn_token_type;

typedef struct hn_span {
    const char *text; /* not NUL-terminated */
    size_t n;
} hn_span;

typedef struct hn_tokenizer_spec {
    hn_tokenizer_kind kind;
    size_t n;
    const hn_span *token; /* BPE: bytes written as GPT-2's table of visible characters has them */
    const float *score;   /* SPM */
    const int32_t *type;  /* hn_token_type; NULL: all normal */
    size_t n_merge;
    const hn_span *merge;               /* BPE: "left right", the first merged first */
    const char *pattern;                /* BPE: a name of patterns.def */
    int32_t bos, eos, unknown, padding; /* -1: there is none */
    bool add_bos, add_eos, add_space;   /* add_space: SPM, in front of a text and behind a control token */
    bool whole_first;                   /* BPE: a piece that is a token is that token, whatever its merges give */

    /* Below: 0 where a kind does not have it. */
    const struct hn_text_step *step; /* steps.h: what is done in front of the model, instead of `pattern` */
    size_t n_step;
    bool characters;        /* BPE: of characters as they are written; a character that is no token becomes bytes */
    bool fuse_unknown;      /* unknown characters in a row are one token */
    bool drop_unknown;      /* what has no token is left out */
    const double *exact;    /* UNIGRAM: scores with 64 bits, instead of `score` */
    const size_t *merge_at; /* where `merge` is divided; NULL: at the first space, which belongs to neither part */
    const uint8_t *added;   /* flags of tokens that are looked for: HN_ADDED_... */
    const char *continuing; /* WORDPIECE: in front of pieces that do not begin a word, "##" */
    size_t longest_word;    /* WORDPIECE: characters; a longer one is unknown */
    const int32_t *front, *back, *end; /* put around a framed text, instead of bos and eos; ends of a text or a turn */
    size_t n_front, n_back, n_end;
    bool bars; /* a bar (U+2581) in a token stands for a space, as it always does for SPM */
    bool tidy; /* WORDPIECE: no space in front of punctuation in text from tokens */
} hn_tokenizer_spec;

enum { HN_ADDED_LEFT = 1, HN_ADDED_RIGHT = 2, HN_ADDED_WORD = 4, HN_ADDED_NORMALISED = 8 };

typedef struct hn_tokenizer hn_tokenizer;

hone_rc hn_tokenizer_make(const hn_tokenizer_spec *spec, hn_tokenizer **out, hone_err *err);
void hn_tokenizer_free(hn_tokenizer *t);

/* The i-th name of patterns.def; NULL past the end. */
const char *hn_tokenizer_pattern(size_t i);

/* frame: put the beginning's and the end's token around, where the model has them. control: control tokens' texts stand
 * for the tokens (templates); otherwise they are text like any other. *ids: free with free. */
hone_rc hn_tokenizer_encode(const hn_tokenizer *t, const char *text, size_t n, bool frame, bool control, int32_t **ids,
                            size_t *n_ids, hone_err *err);

size_t hn_tokenizer_size(const hn_tokenizer *t); /* tokens */
/* The bytes that a token stands for; of a control token its name (is_control says so). id must be in range. */
hn_span hn_tokenizer_bytes(const hn_tokenizer *t, int32_t id, bool *is_control);
int32_t hn_tokenizer_find(const hn_tokenizer *t, const char *text, size_t n); /* the token of these bytes; -1: none */
int32_t hn_tokenizer_bos(const hn_tokenizer *t);
int32_t hn_tokenizer_eos(const hn_tokenizer *t);
/* Whether this token ends a text, or a turn of a chat. */
bool hn_tokenizer_ends(const hn_tokenizer *t, int32_t id);

/* Text from tokens as they come: what is given out is always whole characters. A zeroed struct begins a text. */
typedef struct hn_detokenizer {
    char held[4]; /* the beginning of a character whose end has not come */
    uint8_t n_held;
    bool begun; /* SPM: the space in front of the text is gone */
} hn_detokenizer;
/* Appends to out (room for hn_detokenizer_room(t, id) bytes) what can be said after this token; *n: bytes. Bytes that
 * can become no character are U+FFFD. Control tokens give nothing unless `control`. */
void hn_detokenizer_push(hn_detokenizer *d, const hn_tokenizer *t, int32_t id, bool control, char *out, size_t *n);
size_t hn_detokenizer_room(const hn_tokenizer *t, int32_t id);
/* At the end: a held beginning is U+FFFD; at most 3 bytes a held one. */
void hn_detokenizer_end(hn_detokenizer *d, char out[12], size_t *n);

#endif
