/* base/utf8.h — UTF-8 as the Unicode Standard defines it (version 15, table 3-7): no overlong forms, no surrogates. */
#ifndef HN_UTF8_H
#define HN_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed sequence at s, which has n bytes; 0: there is none. *code (if not NULL): its code point.
 * Of a NUL-terminated text n may be SIZE_MAX: its end is no part of a sequence. */
size_t hn_utf8_next(const char *s, size_t n, uint32_t *code);
bool hn_utf8_valid(const char *s, size_t n);
/* Appends a code point (at most 0x10ffff) at out; bytes written, 1 to 4. */
size_t hn_utf8_put(uint32_t code, char out[4]);

#endif
