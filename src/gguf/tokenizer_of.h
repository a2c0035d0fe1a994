/* gguf/tokenizer_of.h — the tokenizer that a GGUF file carries (`tokenizer.ggml.*`). */
#ifndef HN_TOKENIZER_OF_H
#define HN_TOKENIZER_OF_H

#include "gguf/gguf.h"
#include "text/tokenizer.h"

/* E_NOTFOUND: the file has none; E_UNSUPPORTED: one of a kind that is not read (names it and those that are). */
hone_rc hn_gguf_tokenizer(hn_gguf *g, hn_tokenizer **out, hone_err *err);

#endif
