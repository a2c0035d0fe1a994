/* hf/tokenizer_json.h — the tokenizer of a folder: tokenizer.json, with the names and ids of special tokens that
 * tokenizer_config.json, generation_config.json and config.json give.
 *
 * Errors: E_NOTFOUND (no tokenizer.json), E_INPUT (damaged: names the key), E_UNSUPPORTED (names every part that is not
 * read), E_NOMEM.
 */
#ifndef HN_TOKENIZER_JSON_H
#define HN_TOKENIZER_JSON_H

#include "text/tokenizer.h"

hone_rc hn_hf_tokenizer(const char *folder, hn_tokenizer **out, hone_err *err);
/* `use` sees what the tokenizer was made from; what it gives comes out. */
hone_rc hn_hf_tokenizer_use(const char *folder,
                            hone_rc (*use)(void *arg, const hn_tokenizer_spec *s, const hn_tokenizer *t, hone_err *err),
                            void *arg, hone_err *err);
/* tokenizer.json alone, as text in memory. */
hone_rc hn_hf_tokenizer_parse(const char *text, size_t n, hn_tokenizer **out, hone_err *err);
/* The folder's chat template: *out with *n bytes, free with free; NULL: there is none. */
hone_rc hn_hf_chat_template(const char *folder, char **out, size_t *n, hone_err *err);

#endif
