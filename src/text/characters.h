/* text/characters.h — classes and forms of characters, by utf8proc. */
#ifndef HN_CHARACTERS_H
#define HN_CHARACTERS_H

#include "base/str.h"
#include "text/steps.h"

bool hn_char_is_space(uint32_t c); /* Unicode's White_Space */
bool hn_char_is_word(uint32_t c);  /* letters, marks, digits, connectors */
bool hn_char_is_punctuation(uint32_t c);
/* Appends the text after a normaliser that looks at characters alone, or at normal forms. */
hone_rc hn_characters_apply(hn_text_step_kind kind, const char *text, size_t n, hn_str *out, hone_err *err);

/* charsmap.c: SentencePiece's compiled rules. */
typedef struct hn_charsmap {
    const uint8_t *unit; /* n_unit of 4 bytes: a double array (Darts) */
    size_t n_unit;
    const char *text; /* replacements, each with a 0 behind it */
    size_t n_text;
} hn_charsmap;
/* The blob must outlive it. E_INPUT: it is damaged. */
hone_rc hn_charsmap_read(hn_span blob, hn_charsmap *out, hone_err *err);
void hn_charsmap_apply(const hn_charsmap *m, bool longest, const char *text, size_t n, hn_str *out);

#endif
