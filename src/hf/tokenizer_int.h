/* hf/tokenizer_int.h — what the files that read tokenizer.json share. */
#ifndef HN_HF_TOKENIZER_INT_H
#define HN_HF_TOKENIZER_INT_H

#include "base/arena.h"
#include "base/names.h"
#include "hf/json.h"
#include "text/steps.h"

/* One reading: what the spec points to lies in the arena or in the JSON. */
typedef struct hn_tokenizer_reading {
    const char *label;
    hn_arena arena;
    hn_tokenizer_spec spec;
    hn_text_step *step;
    size_t n_step, step_room;
    bool bytes;   /* pieces are cut to bytes (ByteLevel); nothing may come behind */
    hn_str lines; /* what is not read */
    size_t n_lines;
    hn_names id; /* name of a token -> id + 1 */
} hn_tokenizer_reading;

/* Adds a line about a part that is not read. */
void hn_tokenizer_refuse(hn_tokenizer_reading *r, const char *fmt, ...) HONE_PRINTF(2, 3);
void hn_tokenizer_add_step(hn_tokenizer_reading *r, hn_text_step step);
static inline hn_span hn_json_span(const json_t *j) {
    return json_is_string(j) ? (hn_span){json_string_value(j), json_string_length(j)} : (hn_span){"", 0};
}
/* A member that is neither missing nor null. */
static inline const json_t *hn_json_in(const json_t *j, const char *name) {
    const json_t *x = json_object_get(j, name);
    return json_is_null(x) ? NULL : x;
}
static inline bool hn_json_flag(const json_t *j, const char *name, bool otherwise) {
    const json_t *x = hn_json_in(j, name);
    return json_is_boolean(x) ? json_is_true(x) : otherwise;
}

/* tokenizer_steps.c: `normalizer` and `pre_tokenizer`; j may be NULL. */
void hn_tokenizer_read_normalizer(hn_tokenizer_reading *r, const json_t *j);
void hn_tokenizer_read_pre_tokenizer(hn_tokenizer_reading *r, const json_t *j);
/* tokenizer_frame.c: `post_processor` and `decoder`. */
void hn_tokenizer_read_post_processor(hn_tokenizer_reading *r, const json_t *j);
void hn_tokenizer_read_decoder(hn_tokenizer_reading *r, const json_t *j);
/* tokenizer_model.c: `model` and `added_tokens`. E_INPUT: what contradicts itself. */
hone_rc hn_tokenizer_read_model(hn_tokenizer_reading *r, const json_t *model, const json_t *added, hone_err *err);

#endif
