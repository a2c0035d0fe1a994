/* Grammars: texts that belong to one, begin one, or do not; what is refused; masks against reading every token. */
#include "base/rng.h"
#include "failalloc.h"
#include "tap.h"
#include "text/grammar.h"

#include <stdlib.h>
#include <string.h>

typedef struct sample {
    const char *name, *grammar;
    const char *whole[6], *begin[6], *no[8];
} sample;

#define LIST "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= [0-9]+ | root"
#define JSON_CHAR "root ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f] | \"\\\\\" [\"\\\\n])* \"\\\"\""

static const sample gbnf[] = {
    {"a_text", "root ::= \"ab\\n\"", {"ab\n"}, {"", "a", "ab"}, {"b", "abc", "ab\n\n"}},
    {"alternatives_and_groups",
     "root ::= (\"a\" | \"b\") \"c\" |\n \"d\"",
     {"ac", "bc", "d"},
     {"", "a"},
     {"c", "ab", "dd"}},
    {"a_line_may_begin_with_an_alternative",
     "root ::= \"a\"\n  | \"b\" # or\n\n  | \"c\"\n",
     {"a", "b", "c"},
     {""},
     {"d"}},
    {"repetitions",
     "root ::= \"a\"* \"b\"+ \"c\"? [x]{2,3}",
     {"bxx", "aabbcxxx"},
     {"aaa", "bcx"},
     {"axx", "bxxxx", "bcc"}},
    {"repetition_counts", "root ::= \"a\"{2} (\"b\" \"c\"){1,}", {"aabc", "aabcbc"}, {"a", "aab"}, {"aaa", "aabb"}},
    {"rules_call_each_other", LIST, {"[]", "[1]", "[1,[2,[]],33]"}, {"[", "[1,", "[[[["}, {"]", "[,", "[1,]", "[]]"}},
    {"classes", "root ::= [^a-c\\]] [\\x41-\\x43\\u00e4] [-x]", {"dA-", "[\xc3\xa4x"}, {"z", "\xc3"}, {"a", "]", "dD"}},
    {"any_character",
     "root ::= . \"!\"",
     {"a!", "\xe2\x82\xac!", "\n!"},
     {"\xe2\x82"},
     {"\xff", "\xc0\x80", "\xed\xa0\x80", "!!!"}},
    {"code_points_by_bytes",
     "root ::= [\\u00e4-\\u20ac] [\\U0001F600-\\U0001F64F]",
     {"\xc3\xa4\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x99\x8f"},
     {"\xc3", "\xc3\xa4\xf0\x9f"},
     {"\xc3\xa3", "\xe2\x82\xad", "\xc3\xa4\xf0\x9f\x99\x90"}},
    {"a_class_without_its_first_byte",
     JSON_CHAR,
     {"\"a\\n\"", "\"\""},
     {"\"\\"},
     {"\"\x01", "\"\n", "\"\\x", "\"\"\""}},
    {"nothing", "root ::= \"\"", {""}, {0}, {"a"}},
    {"an_empty_part", "root ::= \"a\" e \"b\"\ne ::= | \"x\"", {"ab", "axb"}, {"ax"}, {"aa"}},
    {"right_recursion", "root ::= \"a\" root | \"b\"", {"b", "aaab"}, {"aaaa"}, {"ba"}},
    {"both_sides", "root ::= \"(\" root \")\" | \"x\"", {"x", "((x))"}, {"((", "((x)"}, {"(x))", ")"}},
    {"repetition_of_what_may_be_empty", "root ::= (\"a\"? \"b\"?)* \"c\"", {"c", "abbac"}, {"ab"}, {"ca"}},
};

static const sample schema[] = {
    {"object",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"}},\"required\":["
     "\"a\"]}",
     {"{\"a\":1}", "{\"a\": -20, \"b\": true}", "{ \"a\":0 }"},
     {"{\"a\":1,"},
     {"{}", "{\"b\":true", "{\"a\":01", "{\"a\":1,\"c\"", "{\"a\":1.5"}},
    {"optional_properties",
     "{\"properties\":{\"a\":{\"const\":1},\"b\":{\"const\":2},\"c\":{\"const\":3}}}",
     {"{}", "{\"a\":1}", "{\"b\":2}", "{\"a\":1,\"c\":3}", "{\"a\":1, \"b\":2, \"c\":3}"},
     {"{\"c\":3"},
     {"{\"c\":3,", "{,", "{\"a\":1}}"}},
    {"other_properties",
     "{\"properties\":{\"ab\":{\"const\":1}},\"required\":[\"ab\"],\"additionalProperties\":{\"type\":\"null\"}}",
     {"{\"ab\":1}", "{\"ab\":1,\"a\":null,\"abc\":null}"},
     {"{\"ab\":1,\"a"},
     {"{\"a\":null", "{\"ab\":1,\"ab\":", "{\"ab\":1,\"x\":1"}},
    {"required_without_a_schema",
     "{\"type\":\"object\",\"required\":[\"z\"],\"additionalProperties\":{\"type\":\"boolean\"}}",
     {"{\"z\":true}", "{\"z\":false, \"y\":true}"},
     {"{\"z\""},
     {"{}", "{\"y\"", "{\"z\":1"}},
    {"array",
     "{\"items\":{\"enum\":[1,\"x\"]},\"minItems\":1,\"maxItems\":2}",
     {"[1]", "[\"x\", 1]"},
     {"[1,"},
     {"[]", "[1,1,", "[2"}},
    {"prefix_items",
     "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"},{\"const\":true}],\"items\":{\"const\":0},\"minItems\":"
     "1,\"maxItems\":3}",
     {"[null]", "[null,true]", "[null,true,0]"},
     {"[null,true,0"},
     {"[]", "[true", "[null,true,0,", "[null,0"}},
    {"string_lengths",
     "{\"type\":\"string\",\"minLength\":1,\"maxLength\":2}",
     {"\"a\"", "\"\\n\xe2\x82\xac\"", "\"\\u00e4\\\\\""},
     {"\"a"},
     {"\"\"", "\"abc", "\"\n", "\"\\ud8"}},
    {"integer_bounds",
     "{\"type\":\"integer\",\"minimum\":-12,\"maximum\":105}",
     {"-12", "0", "99", "105", "-1"},
     {"-", "1"},
     {"-13", "106", "-0", "00", "1000", "200", "-2000"}},
    {"integer_bounds_of_one_length",
     "{\"type\":\"integer\",\"minimum\":123,\"exclusiveMaximum\":130}",
     {"123", "129"},
     {"1", "12"},
     {"122", "130", "13", "2"}},
    {"largest_integers",
     "{\"type\":\"integer\",\"minimum\":9223372036854775806}",
     {"9223372036854775806", "9223372036854775807"},
     {"9"},
     {"9223372036854775805", "9223372036854775808"}},
    {"number_bounds",
     "{\"type\":\"number\",\"minimum\":-1.25,\"exclusiveMaximum\":2.5}",
     {"-1.25", "-1.2", "0", "2.49", "2", "-0.001"},
     {"2.", "-", "-0"},
     {"2.5", "-1.26", "-2", "3", "2.5000"}},
    {"number_bounds_within_one",
     "{\"type\":\"number\",\"exclusiveMinimum\":0.5,\"maximum\":0.75}",
     {"0.51", "0.75", "0.50001", "0.750"},
     {"0.5", "0."},
     {"0.76", "0.4", "1", "0.7501", "0,"}},
    {"pattern",
     "{\"type\":\"string\",\"pattern\":\"^(?:ab|[\\\\w\\\"]{2}\\\\d?)$\"}",
     {"\"ab\"", "\"\\\"x\"", "\"__7\""},
     {"\"\\"},
     {"\"a\"", "\"ab ", "\"\"", "\"a\\x"}},
    {"pattern_anywhere", "{\"type\":\"string\",\"pattern\":\"b\"}", {"\"b\"", "\"abc\""}, {"\"aaa"}, {"\"a\"", "\"\""}},
    {"dates",
     "{\"type\":\"string\",\"format\":\"date\"}",
     {"\"2024-02-28\"", "\"1999-12-31\""},
     {"\"2024-0"},
     {"\"2024-02-30", "\"2024-13", "\"2024-04-31"}},
    {"any_of_and_references",
     "{\"anyOf\":[{\"$ref\":\"#/$defs/n~1o\"},{\"type\":[\"null\",\"boolean\"]}],\"$defs\":{\"n/"
     "o\":{\"const\":{\"a\":[1.5,\"\\u00e4\"]}}}}",
     {"null", "true", "{\"a\":[1.5,\"\xc3\xa4\"]}"},
     {"{\"a"},
     {"1", "{}"}},
    {"recursion",
     "{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":\"#\"}},\"additionalProperties\":false}",
     {"{}", "{\"n\":{\"n\":{}}}"},
     {"{\"n\":"},
     {"{\"n\":1", "{\"m\""}},
    {"any_value",
     "{}",
     {"null", "-1.5e+10", "[1, {\"a\": \"b\"}]", "\"\"", "[]"},
     {"tru", "[[["},
     {"01", "+1", "nul1", "[1,]", "{a"}},
    {"one_of_with_a_tag",
     "{\"oneOf\":[{\"type\":\"object\",\"required\":[\"t\"],\"properties\":{\"t\":{\"const\":1}}},{\"type\":\"object\","
     "\"required\":[\"t\"],\"properties\":{\"t\":{\"const\":2}}}]}",
     {"{\"t\":1}", "{\"t\":2}"},
     {"{"},
     {"{\"t\":3", "1"}},
};

/* 2: a text of the grammar, 1: the beginning of one, 0: neither; -1: an error. */
static int judge(const hn_grammar *g, const char *text) {
    hn_places *p = NULL;
    hone_err err = {0};
    int32_t place = HN_PLACE_START;
    if (hn_places_new(g, &p, &err)) return -1;
    int got = hn_places_read(p, place, text, strlen(text), &place, &err) ? -1
              : !place                                                   ? 0
              : hn_places_may_end(p, place)                              ? 2
                                                                         : 1;
    hn_places_free(p);
    return got;
}

static bool all_are(const hn_grammar *g, const char *const *text, size_t n, int want) {
    bool fine = true;
    for (size_t i = 0; i < n && text[i]; i++) {
        int got = judge(g, text[i]);
        if (want == 1 ? got < 1 : got != want) {
            printf("# '%s' is %d\n", text[i], got);
            fine = false;
        }
    }
    return fine;
}

typedef hone_rc reader(const char *text, size_t n, const char *name, hn_grammar **out, hone_err *err);

static void test_samples(reader *read, const char *kind, const sample *s, size_t n) {
    for (; n--; s++) {
        hn_grammar *g = NULL;
        hone_err err = {0};
        bool fine = !read(s->grammar, strlen(s->grammar), "g", &g, &err);
        if (!fine) printf("# %s\n", err.text);
        fine = fine && all_are(g, s->whole, 6, 2);
        fine = fine && all_are(g, s->begin, 6, 1);
        fine = fine && all_are(g, s->no, 8, 0);
        ok(fine, "grammar/%s_%s", kind, s->name);
        hn_grammar_free(g);
    }
}

static const struct {
    const char *name, *grammar, *want;
} refused[] = {
    {"no_root", "a ::= \"x\"", "g:1:10: there is no rule 'root'"},
    {"undefined", "root ::= \"x\"\n  | no\n", "g:2:5: the rule 'no' is not defined"},
    {"left_recursion", "root ::= \"x\" | a\na ::= b \"y\"\nb ::= a?", "begins with itself"},
    {"hidden_left_recursion", "root ::= e root \"x\" | \"y\"\ne ::= \"\"", "g:1:1: the rule 'root' begins with itself"},
    {"no_end", "root ::= \"a\" root", "g:1:1: no text of 'root' has an end"},
    {"no_end_far_away", "root ::= \"a\" | b\nb ::= \"c\" b", "g:2:1: no text of 'b' has an end"},
    {"open_text", "root ::= \"abc", "g:1:10: this text has no end"},
    {"open_class", "root ::= [abc", "g:1:10: this class has no end"},
    {"open_group", "root ::= (\"a\" \n", "g:1:10: this group has no end"},
    {"escape", "root ::= \"\xc3\xa4\\q\"", "g:1:12: an escape that there is not"},
    {"short_escape", "root ::= \"\\u12\"", "g:1:11: '\\u' takes 4"},
    {"surrogate", "root ::= \"\\ud800\"", "is no character"},
    {"backwards", "root ::= [b-a]", "g:1:11: the range goes backwards"},
    {"twice", "root ::= \"a\"\nroot ::= \"b\"", "g:2:1: the rule 'root' is there already"},
    {"bounds", "root ::= \"a\"{3,2}", "g:1:13: at least 3 and at most 2 cannot be"},
    {"many", "root ::= \"a\"{9999999}", "more than 65535 repetitions"},
    {"explodes",
     "root ::= ((\"ab\" \"c\"){9999} \"x\"){9999} | b\nb ::= [a]{60000} [b]{60000} [c]{60000} [a]{60000} [b]{60000} "
     "[c]{60000} [a]{60000} [b]{60000} [c]{60000} [a]{60000} [b]{60000} [c]{60000} [a]{60000} [b]{60000} "
     "[c]{60000} [a]{60000} [b]{60000} [c]{60000}",
     "larger than"},
    {"no_rule", "root ::= \"a\" )", "g:1:14: the end of the rule"},
    {"not_utf8", "root ::= \"\xff\"", "g:1:11: byte 0xff is no UTF-8"},
    {"no_definition", "root = \"a\"", "g:1:6: '::=' is expected"},
};
static const struct {
    const char *name, *grammar, *want;
} bad_schema[] = {
    {"no_json", "{\"type\": }", "g:1:10: no JSON"},
    {"keyword", "{\"properties\": {\"a\": {\"not\": {}}}}", "g: #/properties/a: the keyword 'not'"},
    {"type", "{\"type\": \"text\"}", "there is no type 'text'"},
    {"reference", "{\"$ref\": \"#/$defs/x\"}", "leads to nothing"},
    {"outside", "{\"$ref\": \"other.json\"}", "leads out of this document"},
    {"itself", "{\"$ref\": \"#\"}", "has an end"},
    {"endless", "{\"type\":\"object\",\"required\":[\"x\"],\"properties\":{\"x\":{\"$ref\":\"#\"}}}", "has an end"},
    {"bounds", "{\"type\":\"integer\",\"minimum\":3,\"maximum\":2}", "no number lies within"},
    {"no_integer", "{\"type\":\"integer\",\"minimum\":0.2,\"maximum\":0.8}", "has an end"},
    {"items", "{\"type\":\"array\",\"minItems\":3,\"maxItems\":2}", "minItems is above maxItems"},
    {"look_around", "{\"pattern\":\"a(?=b)\"}", "at character 2"},
    {"back_reference", "{\"pattern\":\"(a)\\\\1\"}", "a reference"},
    {"anchor_inside", "{\"pattern\":\"a^b\"}", "an end of the string inside"},
    {"one_of", "{\"oneOf\":[{\"type\":\"string\"},{\"const\":\"a\"}]}", "a value may be of both schemas 0 and 1"},
    {"required", "{\"required\":[\"a\"],\"additionalProperties\":false}", "'a' is required, but"},
    {"all_of", "{\"allOf\":[{},{}]}", "allOf of several"},
    {"format", "{\"format\":\"iri\"}", "format 'iri' is not translated"},
    {"beside", "{\"$ref\":\"#/$defs/a\",\"minLength\":1,\"$defs\":{\"a\":{}}}", "beside"},
};

static void test_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused + sizeof bad_schema / sizeof *bad_schema; i++) {
        size_t n = sizeof refused / sizeof *refused;
        bool is_gbnf = i < n;
        const char *text = is_gbnf ? refused[i].grammar : bad_schema[i - n].grammar,
                   *want = is_gbnf ? refused[i].want : bad_schema[i - n].want;
        hn_grammar *g = NULL;
        hone_err err = {0};
        hone_rc rc = (is_gbnf ? hn_grammar_gbnf : hn_grammar_schema)(text, strlen(text), "g", &g, &err);
        if (!ok(rc && !g && strstr(err.text, want), "grammar/refuses_%s%s", is_gbnf ? "" : "schema_",
                is_gbnf ? refused[i].name : bad_schema[i - n].name))
            printf("# %d: %s\n", (int)rc, err.text);
        hn_grammar_free(g);
    }
}

/* --- tokens ------------------------------------------------------------------------------------------------------ */

enum { N = 14 };
static hn_tokenizer *tokens(void) {
    static const char *const text[N] = {"[",  "]",    ",",    "1",     "12",   "[1", "],",
                                        "]]", "\xc3", "\xa4", "x\xc3", "</s>", "1",  "[[[["};
    static hn_span token[N];
    static int32_t type[N];
    static float score[N];
    hn_tokenizer_spec s = {.kind = HN_TOKENIZER_SPM,
                           .n = N,
                           .token = token,
                           .type = type,
                           .score = score,
                           .bos = -1,
                           .unknown = -1,
                           .padding = -1,
                           .eos = 11};
    hn_tokenizer *t = NULL;
    for (int i = 0; i < N; i++) {
        token[i] = (hn_span){text[i], strlen(text[i])};
        type[i] = i == 11 ? HN_TOKEN_CONTROL : HN_TOKEN_NORMAL;
    }
    return hn_tokenizer_make(&s, &t, NULL) ? NULL : t;
}

static void test_masks(void) {
    static const char grammar[] = LIST " | \"x\" [\xc3\xa4\xc3\xb6]";
    hn_tokenizer *t = tokens();
    hn_grammar *g = NULL;
    hn_pieces *pieces = NULL;
    hn_places *p = NULL;
    hone_err err = {0};
    bool same = t && !hn_grammar_gbnf(grammar, strlen(grammar), "g", &g, &err) && !hn_pieces_new(t, &pieces, &err) &&
                !hn_places_new(g, &p, &err);
    size_t ends = 0, steps = 0;
    hn_rng r = hn_rng_make(7, 0);
    for (int run = 0; same && run < 50; run++) {
        int32_t place = HN_PLACE_START;
        for (int step = 0; same && step < 30; step++, steps++) {
            const uint64_t *allowed;
            int32_t list[N], n = 0, next = 0;
            same = !hn_places_allowed(p, place, pieces, &allowed, &err);
            for (int32_t i = 0; same && i < N; i++) {
                hn_span s = hn_tokenizer_bytes(t, i, NULL);
                same = !hn_places_read(p, place, s.text, s.n, &next, &err);
                bool may = i == 11 ? hn_places_may_end(p, place) : next != HN_PLACE_NONE;
                same = same && may == (allowed[0] >> i & 1);
                if (may && i != 11) list[n++] = i;
            }
            ends += hn_places_may_end(p, place);
            if (!n) break;
            same = same && !hn_places_read_token(p, place, pieces, list[hn_rng_below(&r, (uint64_t)n)], &place, &err);
            if (step == 10) same = same && !hn_places_trim(p, &place, 1, &err);
        }
    }
    ok(same && ends > 10 && steps > 100, "grammar/a_mask_is_what_reading_each_token_says: %zu steps, %zu ends", steps,
       ends);
    hn_places_free(p);
    hn_pieces_free(pieces);
    hn_grammar_free(g);
    hn_tokenizer_free(t);
}

/* Places are forgotten, and the text goes on as before. */
static void test_trim(void) {
    static const char grammar[] = "root ::= \"(\" root \")\" root | \"x\"{0,9} ";
    hn_grammar *g = NULL;
    hn_places *p = NULL, *q = NULL;
    hone_err err = {0};
    bool same = !hn_grammar_gbnf(grammar, strlen(grammar), "g", &g, &err) && !hn_places_new(g, &p, &err) &&
                !hn_places_new(g, &q, &err);
    int32_t a = HN_PLACE_START, b = a;
    int trims = 0;
    for (int i = 0; same && i < 70000 + 300; i++) {
        const char *c = i < 70000 ? "(" : ")";
        same = !hn_places_read(p, a, c, 1, &a, &err) && !hn_places_read(q, b, c, 1, &b, &err) && a && b;
        int32_t before = a;
        same = same && !hn_places_trim(p, &a, 1, &err) && hn_places_may_end(p, a) == hn_places_may_end(q, b);
        trims += a != before;
    }
    ok(same && trims, "grammar/forgotten_places_change_nothing: %d times", trims);
    hn_places_free(p);
    hn_places_free(q);
    hn_grammar_free(g);
}

static void test_ambiguity(void) {
    static const char grammar[] = "root ::= a\na ::= \"x\" a \"y\" | \"x\" a \"z\" | \"w\"";
    char text[64];
    hn_grammar *g = NULL;
    hn_places *p = NULL;
    hone_err err = {0};
    int32_t place = HN_PLACE_START;
    memset(text, 'x', sizeof text);
    bool made = !hn_grammar_gbnf(grammar, strlen(grammar), "g", &g, &err) && !hn_places_new(g, &p, &err);
    ok(made && hn_places_read(p, place, text, sizeof text, &place, &err) == HONE_E_LIMIT && strstr(err.text, "ways"),
       "grammar/too_many_ways_are_an_error");
    hn_places_free(p);
    hn_grammar_free(g);
}

static hone_rc make(void *arg) {
    const bool *is_schema = arg;
    static const char schema_text[] =
        "{\"properties\":{\"a\":{\"type\":\"number\",\"minimum\":1.5},\"b\":{\"items\":{\"$ref\":\"#\"}},\"c\":"
        "{\"pattern\":\"^a+$\"}},\"additionalProperties\":{\"enum\":[1,\"x\"]}}";
    const char *text = *is_schema ? schema_text : LIST;
    hn_grammar *g = NULL;
    hn_places *p = NULL;
    hone_err err = {0};
    int32_t place = HN_PLACE_START;
    hone_rc rc = (*is_schema ? hn_grammar_schema : hn_grammar_gbnf)(text, strlen(text), "g", &g, &err);
    if (!rc) rc = hn_places_new(g, &p, &err);
    if (!rc) rc = hn_places_read(p, place, *is_schema ? "{\"b\": [" : "[1,[2", *is_schema ? 7 : 5, &place, &err);
    hn_places_free(p);
    hn_grammar_free(g);
    /* jansson calls its lack of memory a parse error, or loses a character of a key */
    return rc == HONE_E_INPUT || rc == HONE_E_UNSUPPORTED ? HONE_E_NOMEM : rc;
}

int main(void) {
    bool no = false, yes = true;
    test_samples(hn_grammar_gbnf, "gbnf", gbnf, sizeof gbnf / sizeof *gbnf);
    test_samples(hn_grammar_schema, "schema", schema, sizeof schema / sizeof *schema);
    test_refused();
    test_masks();
    test_trim();
    test_ambiguity();
    sweep_allocations("grammar/gbnf_nth_allocation_fails", make, &no);
    sweep_allocations("grammar/schema_nth_allocation_fails", make, &yes);
    return done_testing();
}
