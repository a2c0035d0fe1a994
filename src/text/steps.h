/* text/steps.h — what is done with a text before a tokenizer's model sees it: normalisers change it, then cuts make
 * pieces of it.
 *
 * Steps are those of the `tokenizers` library, reduced to a few primitives: several of its kinds are one of these with
 * a certain pattern. Invalid UTF-8 passes through unchanged.
 * Threads: made steps are not changed and may be shared.
 * Errors:  E_UNSUPPORTED (a pattern that is not understood), E_LIMIT (a text on which a pattern takes too long),
 *          E_NOMEM.
 * Source: the library's documentation; Unicode normal forms and categories by utf8proc.
 */
#ifndef HN_STEPS_H
#define HN_STEPS_H

#include "base/str.h"
#include "text/tokenizer.h"

typedef enum hn_text_step_kind {
    /* normalisers */
    HN_STEP_NFC,
    HN_STEP_NFD,
    HN_STEP_NFKC,
    HN_STEP_NFKD,
    HN_STEP_LOWERCASE,
    HN_STEP_DROP_MARKS,    /* all of category M */
    HN_STEP_DROP_ACCENTS,  /* those that take no space */
    HN_STEP_STRIP,         /* white space; on the left, on the right: `left`, `right` */
    HN_STEP_PREPEND,       /* `text`, in front of what is not empty */
    HN_STEP_REPLACE,       /* what `pattern` matches becomes `text` */
    HN_STEP_CLEAN,         /* BERT: control characters go, white space becomes a space */
    HN_STEP_SPACE_CHINESE, /* BERT: spaces around ideographs */
    HN_STEP_NMT,           /* as CLEAN, as SentencePiece's nmt rules have it */
    HN_STEP_CHARSMAP, /* SentencePiece's compiled rules in `text`; `longest`: as it applies them, else by graphemes */
    /* cuts */
    HN_STEP_SPLIT,  /* by `pattern`, and what becomes of its matches */
    HN_STEP_LEAD,   /* a piece that does not begin with `text` gets it in front; first_only: only the text's first */
    HN_STEP_CHANGE, /* as REPLACE, within pieces */
} hn_text_step_kind;

typedef enum hn_split_behaviour {
    HN_SPLIT_ISOLATED,
    HN_SPLIT_REMOVED,
    HN_SPLIT_WITH_PREVIOUS,
    HN_SPLIT_WITH_NEXT,
    HN_SPLIT_CONTIGUOUS,
} hn_split_behaviour;

typedef struct hn_text_step {
    hn_text_step_kind kind;
    hn_span pattern; /* in Oniguruma's syntax, or as it stands where `literal` */
    hn_span text;
    bool literal, invert, left, right, first_only, longest;
    hn_split_behaviour behaviour;
} hn_text_step;

/* Patterns of the library's own kinds. */
extern const char hn_pattern_gpt2[], hn_pattern_words[], hn_pattern_space[], hn_pattern_punctuation[],
    hn_pattern_number[];

typedef struct hn_text_steps hn_text_steps;
/* Keeps copies of all that the steps name. Normalisers come in front of cuts. */
hone_rc hn_text_steps_make(const hn_text_step *step, size_t n, hn_text_steps **out, hone_err *err);
void hn_text_steps_free(hn_text_steps *s);

/* What one text needs while steps run over it: not to be shared. */
typedef struct hn_matcher hn_matcher;
hn_matcher *hn_matcher_new(void); /* NULL without memory */
void hn_matcher_free(hn_matcher *m);

/* Appends the normalised text to out. */
hone_rc hn_text_steps_normalise(const hn_text_steps *s, hn_matcher *m, const char *text, size_t n, hn_str *out,
                                hone_err *err);
/* Calls back with each piece of a normalised text that is not empty, in order. first: the text stands at the beginning.
 */
hone_rc hn_text_steps_cut(const hn_text_steps *s, hn_matcher *m, const char *text, size_t n, bool first,
                          hone_rc (*piece)(void *arg, const char *text, size_t n, hone_err *err), void *arg,
                          hone_err *err);

#endif
