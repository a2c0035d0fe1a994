/* tokenizer_steps.c — `normalizer` and `pre_tokenizer` of tokenizer.json as the steps of src/text/steps.h. */
#include "hf/tokenizer_int.h"

#include <stdlib.h>
#include <string.h>

static const char bar[] = "\xe2\x96\x81";

static const char *type_of(const json_t *j) {
    const char *type = json_string_value(json_object_get(j, "type"));
    return type ? type : "";
}

static hn_span span(const char *text) { return (hn_span){text, strlen(text)}; }

static void simple(hn_tokenizer_reading *r, hn_text_step_kind kind) {
    hn_tokenizer_add_step(r, (hn_text_step){.kind = kind});
}

/* {"String": "x"} or {"Regex": "x"}, or the text itself. */
static bool pattern_of(hn_tokenizer_reading *r, const json_t *j, hn_text_step *s) {
    const json_t *regex = json_object_get(j, "Regex"), *text = json_is_string(j) ? j : json_object_get(j, "String");
    s->literal = text != NULL;
    s->pattern = hn_json_span(text ? text : regex);
    if (!s->pattern.n) hn_tokenizer_refuse(r, "a pattern that is neither a 'String' nor a 'Regex'");
    return s->pattern.n > 0;
}

/* --- normalizer ------------------------------------------------------------------------------------------------------
 */

static void replace(hn_tokenizer_reading *r, const json_t *j) {
    hn_text_step s = {.kind = HN_STEP_REPLACE, .text = hn_json_span(json_object_get(j, "content"))};
    if (pattern_of(r, json_object_get(j, "pattern"), &s)) hn_tokenizer_add_step(r, s);
}

static void bert(hn_tokenizer_reading *r, const json_t *j) {
    bool lower = hn_json_flag(j, "lowercase", true);
    if (hn_json_flag(j, "clean_text", true)) simple(r, HN_STEP_CLEAN);
    if (hn_json_flag(j, "handle_chinese_chars", true)) simple(r, HN_STEP_SPACE_CHINESE);
    if (hn_json_flag(j, "strip_accents", lower)) {
        simple(r, HN_STEP_NFD);
        simple(r, HN_STEP_DROP_ACCENTS);
    }
    if (lower) simple(r, HN_STEP_LOWERCASE);
}

static int digit_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Base 64; false: there are other characters. */
static bool decoded(hn_tokenizer_reading *r, hn_span s, hn_span *out) {
    char *to = hn_alloc(&r->arena, s.n / 4 * 3 + 3);
    size_t n = 0;
    uint32_t bits = 0;
    while (s.n && s.text[s.n - 1] == '=') s.n--;
    for (size_t i = 0; to && i < s.n; i++) {
        int digit = digit_of(s.text[i]);
        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4) to[n++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    *out = (hn_span){to, n};
    return to != NULL;
}

static void precompiled(hn_tokenizer_reading *r, const json_t *j) {
    hn_text_step s = {.kind = HN_STEP_CHARSMAP};
    hn_span map = hn_json_span(json_object_get(j, "precompiled_charsmap"));
    if (!map.n) return; /* no rules */
    if (decoded(r, map, &s.text))
        hn_tokenizer_add_step(r, s);
    else
        hn_tokenizer_refuse(r, "normalizer: 'precompiled_charsmap' is no base 64");
}

void hn_tokenizer_read_normalizer(hn_tokenizer_reading *r, const json_t *j) {
    static const struct {
        const char *type;
        hn_text_step_kind kind;
    } plain[] = {{"NFC", HN_STEP_NFC},
                 {"NFD", HN_STEP_NFD},
                 {"NFKC", HN_STEP_NFKC},
                 {"NFKD", HN_STEP_NFKD},
                 {"Nmt", HN_STEP_NMT},
                 {"Lowercase", HN_STEP_LOWERCASE},
                 {"StripAccents", HN_STEP_DROP_MARKS}};
    const char *type = type_of(j);
    const json_t *part;
    size_t i;
    if (!j) return;
    for (i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(type, plain[i].type)) {
            simple(r, plain[i].kind);
            return;
        }
    if (!strcmp(type, "Sequence"))
        json_array_foreach(json_object_get(j, "normalizers"), i, part) hn_tokenizer_read_normalizer(r, part);
    else if (!strcmp(type, "Strip"))
        hn_tokenizer_add_step(r, (hn_text_step){.kind = HN_STEP_STRIP,
                                                .left = hn_json_flag(j, "strip_left", true),
                                                .right = hn_json_flag(j, "strip_right", true)});
    else if (!strcmp(type, "Prepend"))
        hn_tokenizer_add_step(
            r, (hn_text_step){.kind = HN_STEP_PREPEND, .text = hn_json_span(json_object_get(j, "prepend"))});
    else if (!strcmp(type, "Replace"))
        replace(r, j);
    else if (!strcmp(type, "BertNormalizer"))
        bert(r, j);
    else if (!strcmp(type, "Precompiled"))
        precompiled(r, j);
    else
        hn_tokenizer_refuse(r, "normalizer '%.40s'", type);
}

/* --- pre_tokenizer ---------------------------------------------------------------------------------------------------
 */

static bool behaviour_of(hn_tokenizer_reading *r, const json_t *j, hn_split_behaviour *out) {
    static const char *const name[] = {"isolated", "removed", "mergedwithprevious", "mergedwithnext", "contiguous"};
    const char *text = json_string_value(json_object_get(j, "behavior"));
    for (size_t i = 0; text && i < sizeof name / sizeof *name; i++)
        if (!strcasecmp(text, name[i])) {
            *out = (hn_split_behaviour)i;
            return true;
        }
    hn_tokenizer_refuse(r, "pre_tokenizer: behaviour '%.40s'", text ? text : "");
    return false;
}

static void cut(hn_tokenizer_reading *r, const char *pattern, hn_split_behaviour how, bool invert) {
    hn_tokenizer_add_step(
        r, (hn_text_step){.kind = HN_STEP_SPLIT, .pattern = span(pattern), .behaviour = how, .invert = invert});
}

static void split(hn_tokenizer_reading *r, const json_t *j) {
    hn_text_step s = {.kind = HN_STEP_SPLIT, .invert = hn_json_flag(j, "invert", false)};
    if (pattern_of(r, json_object_get(j, "pattern"), &s) && behaviour_of(r, j, &s.behaviour))
        hn_tokenizer_add_step(r, s);
}

static void byte_level(hn_tokenizer_reading *r, const json_t *j) {
    if (hn_json_flag(j, "add_prefix_space", true))
        hn_tokenizer_add_step(r, (hn_text_step){.kind = HN_STEP_LEAD, .text = {" ", 1}});
    if (hn_json_flag(j, "use_regex", true)) cut(r, hn_pattern_gpt2, HN_SPLIT_ISOLATED, false);
    r->bytes = true;
}

static void metaspace(hn_tokenizer_reading *r, const json_t *j) {
    const char *scheme = json_string_value(hn_json_in(j, "prepend_scheme"));
    hn_span mark = hn_json_span(json_object_get(j, "replacement"));
    if (!mark.n) mark = span(bar);
    if (!scheme) scheme = hn_json_flag(j, "add_prefix_space", true) ? "always" : "never";
    bool never = !strcmp(scheme, "never"), first = !strcmp(scheme, "first");
    if (!never && !first && strcmp(scheme, "always") != 0)
        hn_tokenizer_refuse(r, "pre_tokenizer Metaspace: 'prepend_scheme' is '%.20s'", scheme);
    hn_tokenizer_add_step(r,
                          (hn_text_step){.kind = HN_STEP_CHANGE, .pattern = {" ", 1}, .literal = true, .text = mark});
    if (!never) hn_tokenizer_add_step(r, (hn_text_step){.kind = HN_STEP_LEAD, .text = mark, .first_only = first});
    if (hn_json_flag(j, "split", true))
        hn_tokenizer_add_step(
            r,
            (hn_text_step){.kind = HN_STEP_SPLIT, .pattern = mark, .literal = true, .behaviour = HN_SPLIT_WITH_NEXT});
}

static void delimiter(hn_tokenizer_reading *r, const json_t *j) {
    hn_text_step s = {.kind = HN_STEP_SPLIT, .behaviour = HN_SPLIT_REMOVED, .literal = true};
    s.pattern = hn_json_span(json_object_get(j, "delimiter"));
    hn_tokenizer_add_step(r, s);
}

void hn_tokenizer_read_pre_tokenizer(hn_tokenizer_reading *r, const json_t *j) {
    const char *type = type_of(j);
    const json_t *part;
    size_t i;
    hn_split_behaviour how;
    if (!j) return;
    if (r->bytes)
        hn_tokenizer_refuse(r, "pre_tokenizer '%.40s' behind ByteLevel", type);
    else if (!strcmp(type, "Sequence"))
        json_array_foreach(json_object_get(j, "pretokenizers"), i, part) hn_tokenizer_read_pre_tokenizer(r, part);
    else if (!strcmp(type, "Split"))
        split(r, j);
    else if (!strcmp(type, "ByteLevel"))
        byte_level(r, j);
    else if (!strcmp(type, "Metaspace"))
        metaspace(r, j);
    else if (!strcmp(type, "Digits"))
        cut(r, hn_pattern_number, hn_json_flag(j, "individual_digits", false) ? HN_SPLIT_ISOLATED : HN_SPLIT_CONTIGUOUS,
            false);
    else if (!strcmp(type, "Whitespace"))
        cut(r, hn_pattern_words, HN_SPLIT_REMOVED, true);
    else if (!strcmp(type, "WhitespaceSplit"))
        cut(r, hn_pattern_space, HN_SPLIT_REMOVED, false);
    else if (!strcmp(type, "BertPreTokenizer")) {
        cut(r, hn_pattern_space, HN_SPLIT_REMOVED, false);
        cut(r, hn_pattern_punctuation, HN_SPLIT_ISOLATED, false);
    } else if (!strcmp(type, "Punctuation")) {
        if (!json_object_get(j, "behavior"))
            cut(r, hn_pattern_punctuation, HN_SPLIT_ISOLATED, false);
        else if (behaviour_of(r, j, &how))
            cut(r, hn_pattern_punctuation, how, false);
    } else if (!strcmp(type, "CharDelimiterSplit"))
        delimiter(r, j);
    else
        hn_tokenizer_refuse(r, "pre_tokenizer '%.40s'", type);
}
