/* Steps in front of a tokenizer's model: what becomes of matches, bytes that are no UTF-8, patterns that mean something
 * else elsewhere. */
#include "tap.h"
#include "text/steps.h"

#include <stdlib.h>

static hn_span span(const char *text) { return (hn_span){text, strlen(text)}; }

static hone_rc add(void *arg, const char *text, size_t n, hone_err *err) {
    hn_str *s = arg;
    (void)err;
    hn_str_addf(s, "%s%.*s", s->n ? "|" : "", (int)n, text);
    return HONE_OK;
}

/* Pieces with bars between them, behind all steps; the error's text where there is one. */
static char *pieces(const hn_text_step *step, size_t n, const char *text, size_t n_text) {
    hn_text_steps *s = NULL;
    hone_err err = {0};
    hn_str normal = {0}, out = {0};
    hn_matcher *m = hn_matcher_new();
    hone_rc rc = hn_text_steps_make(step, n, &s, &err);
    if (!rc) rc = hn_text_steps_normalise(s, m, text, n_text, &normal, &err);
    if (!rc) rc = hn_text_steps_cut(s, m, normal.text ? normal.text : "", normal.n, true, add, &out, &err);
    if (rc) hn_str_add(&out, err.text);
    hn_text_steps_free(s);
    hn_matcher_free(m);
    hn_str_free(&normal);
    return hn_str_take(&out);
}

static void gives(const char *name, hn_text_step step, const char *text, const char *want) {
    char *got = pieces(&step, 1, text, strlen(text));
    if (!ok(got && !strcmp(got, want), "steps/%s", name)) printf("#   %s instead of %s\n", got, want);
    free(got);
}

static void refuses(const char *pattern, const char *part) {
    char *got = pieces(&(hn_text_step){.kind = HN_STEP_SPLIT, .pattern = span(pattern)}, 1, "a", 1);
    if (!ok(got && strstr(got, part), "steps/refuses_%s", pattern)) printf("#   %s\n", got);
    free(got);
}

static hn_text_step split(const char *pattern, hn_split_behaviour how, bool invert) {
    return (hn_text_step){.kind = HN_STEP_SPLIT, .pattern = span(pattern), .behaviour = how, .invert = invert};
}

static void test_behaviours(void) {
    const char *text = "the-final--countdown-";
    gives("isolated", split("-", HN_SPLIT_ISOLATED, false), text, "the|-|final|-|-|countdown|-");
    gives("removed", split("-", HN_SPLIT_REMOVED, false), text, "the|final|countdown");
    gives("with_previous", split("-", HN_SPLIT_WITH_PREVIOUS, false), text, "the-|final-|-|countdown-");
    gives("with_next", split("-", HN_SPLIT_WITH_NEXT, false), text, "the|-final|-|-countdown|-");
    gives("contiguous", split("-", HN_SPLIT_CONTIGUOUS, false), text, "the|-|final|--|countdown|-");
    gives("inverted", split("[a-z]+", HN_SPLIT_REMOVED, true), text, "the|final|countdown");
    gives("lead", (hn_text_step){.kind = HN_STEP_LEAD, .text = {" ", 1}}, "a", " a");
    gives("lead_that_is_there", (hn_text_step){.kind = HN_STEP_LEAD, .text = {" ", 1}}, " a", " a");
    gives("nothing", split("-", HN_SPLIT_ISOLATED, false), "", "");
}

static void test_normalisers(void) {
    static const char broken[] = "e\xcc\x81\xff\xc3\xa9\xe2\x82";
    gives("nfc", (hn_text_step){.kind = HN_STEP_NFC}, "e\xcc\x81", "\xc3\xa9");
    gives("nfc_of_no_utf8", (hn_text_step){.kind = HN_STEP_NFC}, broken, "\xc3\xa9\xff\xc3\xa9\xe2\x82");
    gives("marks_of_no_utf8", (hn_text_step){.kind = HN_STEP_DROP_MARKS}, broken, "e\xff\xc3\xa9\xe2\x82");
    gives("strip", (hn_text_step){.kind = HN_STEP_STRIP, .left = true, .right = true}, " \xe3\x80\x80 a b\xc2\xa0 ",
          "a b");
    gives("strip_of_all", (hn_text_step){.kind = HN_STEP_STRIP, .left = true, .right = true}, "  ", "");
    gives("prepend", (hn_text_step){.kind = HN_STEP_PREPEND, .text = {"_", 1}}, "a", "_a");
    gives("prepend_to_nothing", (hn_text_step){.kind = HN_STEP_PREPEND, .text = {"_", 1}}, "", "");
    gives("replace", (hn_text_step){.kind = HN_STEP_REPLACE, .pattern = span(" {2,}"), .text = span("$1")}, "a  b   c",
          "a$1b$1c");
    gives("replace_a_text", (hn_text_step){.kind = HN_STEP_REPLACE, .pattern = span("."), .literal = true}, "a.b.",
          "ab");
    gives("small_letters", (hn_text_step){.kind = HN_STEP_LOWERCASE}, "\xc4\xb0\xce\xa3", "i\xcc\x87\xcf\x83");
    gives("damaged_rules", (hn_text_step){.kind = HN_STEP_CHARSMAP, .text = {"\x40\0\0\0abcd", 8}}, "a",
          "the rules for normalising are damaged (8 bytes, an array of 64)");
}

static void test_patterns(void) {
    refuses("[a&&b]", "intersection");
    refuses("[a[bc]]", "class within a class");
    refuses("\\p{N}{1,3}+", "another syntax");
    refuses("(?m).", "another syntax");
    refuses("a\\", "backslash at the end");
    refuses("(", "not understood");
    refuses("(a+)+\\k<1>", "not read");
    gives("no_space_in_old_unicode", split("\\s", HN_SPLIT_ISOLATED, false), "a\xe1\xa0\x8e\xc2\x85z",
          "a\xe1\xa0\x8e|\xc2\x85|z");
    gives("a_digit_of_hex", split("\\h+", HN_SPLIT_ISOLATED, false), "xBEEFy", "x|BEEF|y");
    gives("a_code", split("\\u0041", HN_SPLIT_ISOLATED, false), "xAy", "x|A|y");
    gives("lines", split("^b", HN_SPLIT_ISOLATED, false), "a\nbc", "a\n|b|c");
}

/* A pattern that takes exponential time is stopped. */
static void test_limit(void) {
    char text[64];
    memset(text, 'a', sizeof text);
    hn_text_step step = split("(?:a+a*)+(?:a*)*(?=[cd])", HN_SPLIT_ISOLATED, false);
    char *got = pieces(&step, 1, text, 40);
    if (!ok(got && (strstr(got, "takes too long") || !strncmp(got, "aaa", 3)), "steps/a_pattern_ends"))
        printf("#   %s\n", got);
    free(got);
}

int main(void) {
    test_behaviours();
    test_normalisers();
    test_patterns();
    test_limit();
    return done_testing();
}
