/* text/grammar.h — which texts may be written: a grammar as GBNF or as a JSON schema, and the tokens that may come
 * next.
 *
 * GBNF is llama.cpp's language: rules `name ::= ...`, alternatives `|`, sequences, groups, "texts", [classes] of
 * characters, `.`, `* + ? {m,n}`, # comments; the rule `root` is the whole text. A JSON schema becomes the same rules.
 *
 * A grammar is a set of automata over bytes, one a rule, that call each other. hn_places walks them with a stack for
 * each way to read the text so far; a set of (node, stack) is a place, kept once and known by its number, and so is the
 * place behind each byte and the set of tokens that may come there: walking on is a look-up. Characters are bytes of
 * UTF-8 here, so a token may end inside one.
 *
 * Owns:    a grammar owns its rules; places borrow it.   Threads: a grammar may be shared; places are one thread's.
 * Errors:  E_INPUT ("NAME:line:column: what is wrong", or the place in a schema as "NAME: #/properties/x: ..."),
 *          E_UNSUPPORTED (a keyword or pattern that has no translation), E_LIMIT (a grammar, or the ways to read a text
 *          by it, grow beyond bounds), E_NOMEM.
 */
#ifndef HN_GRAMMAR_H
#define HN_GRAMMAR_H

#include "text/tokenizer.h"

typedef struct hn_grammar hn_grammar;
/* name: of the file, for messages. */
hone_rc hn_grammar_gbnf(const char *text, size_t n, const char *name, hn_grammar **out, hone_err *err);
hone_rc hn_grammar_schema(const char *text, size_t n, const char *name, hn_grammar **out, hone_err *err);
void hn_grammar_free(hn_grammar *g);

/* The texts of a vocabulary's tokens as a tree. Control tokens and those without a text are not in it. */
typedef struct hn_pieces hn_pieces;
hone_rc hn_pieces_new(const hn_tokenizer *t, hn_pieces **out, hone_err *err);
void hn_pieces_free(hn_pieces *p);

typedef struct hn_places hn_places;
hone_rc hn_places_new(const hn_grammar *g, hn_places **out, hone_err *err);
void hn_places_free(hn_places *p);

enum { HN_PLACE_NONE = 0, HN_PLACE_START = 1 }; /* none: no text of the grammar goes on so */
/* The place behind these bytes; *out is HN_PLACE_NONE where they do not fit. */
hone_rc hn_places_read(hn_places *p, int32_t place, const char *text, size_t n, int32_t *out, hone_err *err);
/* The same for a token, by the bytes that hn_pieces gives it. A token without a text stays where it is. */
hone_rc hn_places_read_token(hn_places *p, int32_t place, const hn_pieces *pieces, int32_t token, int32_t *out,
                             hone_err *err);
bool hn_places_may_end(const hn_places *p, int32_t place);
/* Whether the text is over: nothing may follow. */
bool hn_places_must_end(const hn_places *p, int32_t place);
/* Tokens that may come: a bit each, of a whole number of 64-bit words, valid until the next call. Tokens that end a
 * text are among them where the text may end. */
hone_rc hn_places_allowed(hn_places *p, int32_t place, const hn_pieces *pieces, const uint64_t **allowed,
                          hone_err *err);
/* Forgets all places but these when there are very many; those are renumbered. To be called now and then, with each
 * place that is still needed. */
hone_rc hn_places_trim(hn_places *p, int32_t *place, size_t n, hone_err *err);

#endif
