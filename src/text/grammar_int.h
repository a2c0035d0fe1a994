/* text/grammar_int.h — rules of a grammar while they are read, and the automata they become. */
#ifndef HN_GRAMMAR_INT_H
#define HN_GRAMMAR_INT_H

#include "base/arena.h"
#include "text/grammar.h"

/* --- rules as they are written --------------------------------------------------------------------------------- */

enum {
    HN_PHRASE_DEPTH = 200,      /* groups in groups, schemas in schemas */
    HN_PHRASE_MANY = UINT16_MAX /* of repetitions, at most; no bound: HN_PHRASE_FOREVER */
};
#define HN_PHRASE_FOREVER UINT32_MAX

typedef struct hn_chars {
    uint32_t low, high; /* code points, both included */
} hn_chars;

typedef enum hn_phrase_kind {
    HN_PHRASE_TEXT,
    HN_PHRASE_CLASS,
    HN_PHRASE_ALL,
    HN_PHRASE_ANY,
    HN_PHRASE_REPEAT,
    HN_PHRASE_CALL
} hn_phrase_kind;

typedef struct hn_phrase hn_phrase;
struct hn_phrase {
    hn_phrase_kind kind;
    size_t at;              /* where it is written, in bytes of the text */
    const char *text;       /* TEXT: n bytes, none: nothing */
    const hn_chars *chars;  /* CLASS: n, ascending, apart */
    hn_phrase *const *part; /* ALL: one behind the other; ANY: one of n; REPEAT: part[0] */
    size_t n;
    uint32_t least, most; /* REPEAT */
    size_t rule;          /* CALL */
};

typedef struct hn_production {
    const char *name; /* in the arena */
    size_t n_name;
    hn_phrase *form; /* NULL: mentioned, but not defined */
    size_t at;
} hn_production;

typedef struct hn_productions {
    hn_arena arena;
    const char *file;    /* for messages */
    hn_production *rule; /* 0: root */
    size_t n, room;
    size_t *slot; /* by name: index + 1 */
    size_t n_slot;
    const char *text; /* that they are written in: places are lines and columns; NULL: a schema's */
} hn_productions;

/* The number of a rule of this name, made where there is none; SIZE_MAX without memory. */
size_t hn_productions_find(hn_productions *r, const char *name, size_t n);
void hn_productions_free(hn_productions *r);
/* E_INPUT or another, with the file, and line and column where there are some, in front. */
hone_rc hn_productions_wrong(const hn_productions *r, size_t at, hone_rc rc, hone_err *err, const char *fmt, ...)
    HONE_PRINTF(5, 6);

/* All give NULL without memory (and stay so: hn_arena_ok). */
hn_phrase *hn_phrase_text(hn_productions *r, const char *text, size_t n);
hn_phrase *hn_phrase_class(hn_productions *r, const hn_chars *chars,
                           size_t n); /* any order, may overlap; no surrogates come */
hn_phrase *hn_phrase_list(hn_productions *r, hn_phrase_kind kind, hn_phrase *const *part, size_t n);
hn_phrase *hn_phrase_repeat(hn_productions *r, hn_phrase *of, uint32_t least, uint32_t most);
hn_phrase *hn_phrase_call(hn_productions *r, size_t rule);
/* Code points that are not in chars. */
hn_phrase *hn_phrase_class_not(hn_productions *r, const hn_chars *chars, size_t n);

/* A list of forms that grows, to become one form. Zeroed: empty. */
typedef struct hn_phrases {
    hn_phrase **form;
    size_t n, room;
} hn_phrases;
void hn_phrases_add(hn_productions *r, hn_phrases *list, hn_phrase *form);

/* grammar_gbnf.c: alternatives as GBNF writes them, without names of rules; the text is right. */
hn_phrase *hn_gbnf_phrase(hn_productions *rules, const char *text, hone_err *err);

/* --- automata --------------------------------------------------------------------------------------------------- */

enum { HN_EDGE_FREE = 1, HN_EDGE_CALL }; /* kinds of edges; 0: bytes low to high */

typedef struct hn_edge {
    uint32_t from, to;
    uint8_t kind, low, high;
    uint32_t rule; /* CALL: of the rule's automaton; then on to `to` */
} hn_edge;

struct hn_grammar {
    hn_edge *edge; /* by the node they leave */
    size_t n_edge;
    size_t *first; /* n_node + 1: a node's edges */
    size_t n_node;
    uint32_t *start; /* of each rule; its end is the node behind */
    size_t n_rule;
    bool *is_end;          /* n_node */
    uint8_t class_of[256]; /* bytes that no edge tells apart */
    size_t n_class;
    uint8_t byte_of[256]; /* one of each class */
};
/* grammar_build.c: checks rules (undefined, left-recursive, without an end) and makes the automata. */
hone_rc hn_grammar_build(hn_productions *r, hn_grammar **out, hone_err *err);

/* grammar_pieces.c: the tree in preorder. */
typedef struct hn_piece_node {
    uint32_t after; /* the node behind all below this one */
    uint32_t first; /* its tokens: token[first] up to the next node's first */
    uint16_t depth; /* 1: first byte */
    uint8_t byte;
} hn_piece_node;
struct hn_pieces {
    hn_piece_node *node;
    size_t n_node, n_token, depth;
    int32_t *token; /* by node */
    uint8_t *bytes; /* all texts */
    size_t *at;     /* n_token + 1: where a token's begins */
    int32_t *end;   /* tokens that end a text */
    size_t n_end;
};

#endif
