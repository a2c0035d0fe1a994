/* tokenizer_frame.c — `post_processor`: the tokens around a text; `decoder`: how tokens become text. */
#include "hf/tokenizer_int.h"

#include <string.h>

static const char bar[] = "\xe2\x96\x81";

static const char *type_of(const json_t *j) {
    const char *type = json_string_value(json_object_get(j, "type"));
    return type ? type : "";
}

static bool is(const json_t *j, const char *text) {
    return json_is_string(j) && json_string_length(j) == strlen(text) && !strcmp(json_string_value(j), text);
}

/* --- post_processor --------------------------------------------------------------------------------------------------
 */

/* Adds ids in front of those there are, or behind them. */
static void add_ids(hn_tokenizer_reading *r, const int32_t **ids, size_t *n, const int32_t *more, size_t n_more,
                    bool in_front) {
    int32_t *all = HN_NEW_N(&r->arena, int32_t, *n + n_more + 1);
    if (!all) return;
    if (n_more) memcpy(all + (in_front ? 0 : *n), more, n_more * sizeof *all);
    if (*n) memcpy(all + (in_front ? n_more : 0), *ids, *n * sizeof *all);
    *ids = all;
    *n += n_more;
}

static bool id_of(const json_t *j, int32_t *out) {
    bool fine = json_is_integer(j) && json_integer_value(j) >= 0 && json_integer_value(j) <= INT32_MAX;
    if (fine) *out = (int32_t)json_integer_value(j);
    return fine;
}

enum { FRAME = 64 };

/* The ids that stand for a special token of a template. */
static bool template_ids(const json_t *j, const char *name, int32_t *out, size_t *n) {
    const json_t *ids = json_object_get(json_object_get(json_object_get(j, "special_tokens"), name), "ids"), *id;
    size_t i;
    json_array_foreach(ids, i, id) {
        if (*n == FRAME || !id_of(id, &out[*n])) return false;
        ++*n;
    }
    return json_is_array(ids);
}

static void template_of(hn_tokenizer_reading *r, const json_t *j) {
    int32_t front[FRAME], back[FRAME];
    size_t n_front = 0, n_back = 0, i;
    bool behind = false, fine = true;
    const json_t *piece;
    json_array_foreach(json_object_get(j, "single"), i, piece) {
        const json_t *special = json_object_get(piece, "SpecialToken"), *sequence = json_object_get(piece, "Sequence");
        const char *name = json_string_value(json_object_get(special, "id"));
        if (sequence && !behind && is(json_object_get(sequence, "id"), "A"))
            behind = true;
        else if (name)
            fine &= template_ids(j, name, behind ? back : front, behind ? &n_back : &n_front);
        else
            fine = false;
    }
    if (!behind || !fine) {
        hn_tokenizer_refuse(r, "post_processor TemplateProcessing: 'single' is no frame around one text");
        return;
    }
    add_ids(r, &r->spec.front, &r->spec.n_front, front, n_front, true);
    add_ids(r, &r->spec.back, &r->spec.n_back, back, n_back, false);
}

/* "cls": ["[CLS]", 101], "sep": ["[SEP]", 102] */
static void two_tokens(hn_tokenizer_reading *r, const json_t *j) {
    int32_t cls, sep;
    if (!id_of(json_array_get(json_object_get(j, "cls"), 1), &cls) ||
        !id_of(json_array_get(json_object_get(j, "sep"), 1), &sep)) {
        hn_tokenizer_refuse(r, "post_processor '%.40s' without 'cls' and 'sep'", type_of(j));
        return;
    }
    add_ids(r, &r->spec.front, &r->spec.n_front, &cls, 1, true);
    add_ids(r, &r->spec.back, &r->spec.n_back, &sep, 1, false);
}

void hn_tokenizer_read_post_processor(hn_tokenizer_reading *r, const json_t *j) {
    const char *type = type_of(j);
    const json_t *part;
    size_t i;
    if (!j || !strcmp(type, "ByteLevel")) return; /* that one changes offsets alone */
    if (!strcmp(type, "Sequence"))
        json_array_foreach(json_object_get(j, "processors"), i, part) hn_tokenizer_read_post_processor(r, part);
    else if (!strcmp(type, "TemplateProcessing"))
        template_of(r, j);
    else if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing"))
        two_tokens(r, j);
    else
        hn_tokenizer_refuse(r, "post_processor '%.40s'", type);
}

/* --- decoder ---------------------------------------------------------------------------------------------------------
 */

static void metaspace(hn_tokenizer_reading *r, const json_t *j) {
    const json_t *mark = json_object_get(j, "replacement"), *scheme = hn_json_in(j, "prepend_scheme");
    if (mark && !is(mark, bar)) hn_tokenizer_refuse(r, "decoder Metaspace: a replacement other than U+2581");
    r->spec.bars = true;
    r->spec.add_space = scheme ? !is(scheme, "never") : hn_json_flag(j, "add_prefix_space", true);
}

/* The parts of SentencePiece-like tokenizers: bars are spaces, the first of which goes. */
static void part_of(hn_tokenizer_reading *r, const json_t *j) {
    const char *type = type_of(j);
    const json_t *from = json_object_get(json_object_get(j, "pattern"), "String"), *start = json_object_get(j, "start");
    if (!strcmp(type, "Replace") && is(from, bar) && is(json_object_get(j, "content"), " "))
        r->spec.bars = true;
    else if (!strcmp(type, "Strip") && is(json_object_get(j, "content"), " ") && json_integer_value(start) <= 1 &&
             json_integer_value(json_object_get(j, "stop")) == 0)
        r->spec.add_space = json_integer_value(start) == 1;
    else if (strcmp(type, "ByteFallback") != 0 && strcmp(type, "Fuse") != 0)
        hn_tokenizer_refuse(r, "decoder '%.40s', or its values, in a Sequence", type);
}

void hn_tokenizer_read_decoder(hn_tokenizer_reading *r, const json_t *j) {
    const char *type = type_of(j);
    const json_t *part, *parts = json_object_get(j, "decoders");
    size_t i;
    if (!strcmp(type, "Sequence") && json_array_size(parts) == 1)
        hn_tokenizer_read_decoder(r, json_array_get(parts, 0));
    else if (!strcmp(type, "Sequence"))
        json_array_foreach(parts, i, part) part_of(r, part);
    else if (!strcmp(type, "Metaspace"))
        metaspace(r, j);
    else if (!strcmp(type, "WordPiece") && r->spec.kind == HN_TOKENIZER_WORDPIECE)
        r->spec.tidy = hn_json_flag(j, "cleanup", true);
    else if (!(j && !strcmp(type, "ByteLevel") && r->bytes) && !(j && !strcmp(type, "Fuse")))
        hn_tokenizer_refuse(r, j ? "decoder '%.40s' with this model" : "a missing decoder%s", type);
}
