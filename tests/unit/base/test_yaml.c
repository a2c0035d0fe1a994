/* YAML: positions, what is refused and with which words, typed reads. */
#include "base/yaml.h"
#include "failalloc.h"

#include <math.h>

static hn_yaml *parse(const char *text) {
    hn_yaml *doc = NULL;
    hone_err err;
    if (hn_yaml_parse(text, strlen(text), "t", &doc, &err) != HONE_OK) printf("# %s\n", err.text);
    return doc;
}

static void test_tree(void) {
    hn_yaml *doc = parse("# head\nname: x\nlist:\n  - 1\n  - {a: ~, b: \"\"}\nempty:\ntext: |\n  one\n  two\n");
    const hn_ynode *root = hn_yaml_root(doc), *list = hn_yaml_get(root, "list");
    ok(root->kind == HN_Y_MAP && root->n == 4 && root->line == 2 && root->column == 1, "yaml/root_is_a_map_at_2_1");
    is_text(hn_yaml_label(doc), "t", "yaml/label");
    is_text(root->key[3]->text, "text", "yaml/keys_keep_their_order");
    ok(list && list->kind == HN_Y_SEQ && list->n == 2 && list->line == 4 && list->column == 3, "yaml/list_at_4_3");
    const hn_ynode *map = list->item[1];
    ok(map->kind == HN_Y_MAP && map->line == 5 && map->column == 5, "yaml/flow_map_at_5_5");
    ok(hn_yaml_get(map, "a")->kind == HN_Y_NULL && hn_yaml_get(map, "a")->column == 9, "yaml/tilde_is_null_at_5_9");
    ok(hn_yaml_get(map, "b")->kind == HN_Y_SCALAR && hn_yaml_get(map, "b")->quoted, "yaml/quoted_empty_is_a_text");
    ok(hn_yaml_get(root, "empty")->kind == HN_Y_NULL, "yaml/missing_value_is_null");
    is_text(hn_yaml_get(root, "text")->text, "one\ntwo\n", "yaml/block_text");
    ok(hn_yaml_get(root, "text")->quoted, "yaml/block_text_counts_as_quoted");
    ok(!hn_yaml_get(root, "none") && !hn_yaml_get(list, "a") && !hn_yaml_get(NULL, "a"), "yaml/get_of_nothing");
    hn_yaml_free(doc);
    doc = parse("");
    ok(hn_yaml_root(doc)->kind == HN_Y_NULL, "yaml/empty_text_has_a_null_root");
    hn_yaml_free(doc);
    doc = parse("\xc3\xa9: {\xe2\x82\xac: x}");
    const hn_ynode *inner = hn_yaml_get(hn_yaml_root(doc), "\xc3\xa9");
    ok(inner && inner->column == 4 && hn_yaml_get(inner, "\xe2\x82\xac")->column == 8, "yaml/columns_count_characters");
    hn_yaml_free(doc);
    hn_yaml_free(NULL);
}

static void test_refused(void) {
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"yaml/alias", "a: 1\nb: *x\n", "t:2:4: anchors, aliases and tags are not accepted here; write the value out"},
        {"yaml/anchor", "a: &x 1\n", "t:1:4: anchors, aliases and tags are not accepted here; write the value out"},
        {"yaml/tag", "a: !!int 1\n", "t:1:4: anchors, aliases and tags are not accepted here; write the value out"},
        {"yaml/duplicate_key", "a: 1\nb: 2\na: 3\n", "t:3:1: key 'a' is given twice (first on line 1)"},
        {"yaml/duplicate_key_in_flow", "{x: {b: 1, c: 2, b: 3}}", "t:1:18: key 'b' is given twice (first on line 1)"},
        {"yaml/quoted_duplicate", "a: 1\n\"a\": 2\n", "t:2:1: key 'a' is given twice (first on line 1)"},
        {"yaml/list_as_key", "? [a]\n: 1\n", "t:1:3: a key must be a plain text"},
        {"yaml/null_as_key", "~: 1\n", "t:1:1: a key must be a plain text"},
        {"yaml/two_documents", "a: 1\n---\nb: 1\n", "t:2:1: a second YAML document; only one is accepted"},
        {"yaml/nul_byte", "a: \"x\\0y\"\n", "t:1:4: a NUL byte in a text"},
        {"yaml/unclosed_list", "a: [1, 2\nb: 3\n",
         "t:2:2: did not find expected ',' or ']' while parsing a flow sequence that starts on line 1"},
        {"yaml/tab_indent", "a:\n\t- x\n",
         "t:2:1: found character that cannot start any token while scanning for the next token that starts on line 2"},
        {"yaml/bad_utf8", "a: 1\nb: x\xff\n", "t:2:5: invalid leading UTF-8 octet"},
        {"yaml/control_character", "a: x\x01\n", "t:1:5: control characters are not allowed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_err err = {HONE_OK, ""};
        hn_yaml *doc = (hn_yaml *)&err; /* anything but NULL: must stay */
        hone_rc rc = hn_yaml_parse(cases[i].text, strlen(cases[i].text), "t", &doc, &err);
        is_text(err.text, cases[i].want, cases[i].name);
        ok(rc == HONE_E_INPUT && err.rc == rc && doc == (hn_yaml *)&err, "%s_output_untouched", cases[i].name);
        ok(hn_yaml_parse(cases[i].text, strlen(cases[i].text), "t", &doc, NULL) == rc, "%s_no_err", cases[i].name);
    }
}

static void test_depth_and_size(void) {
    hone_err err;
    hn_yaml *doc = NULL;
    char deep[200];
    for (int levels = 64; levels <= 65; levels++) {
        memset(deep, '[', (size_t)levels);
        memset(deep + levels, ']', (size_t)levels);
        hone_rc rc = hn_yaml_parse(deep, 2 * (size_t)levels, "t", &doc, &err);
        ok(rc == (levels == 64 ? HONE_OK : HONE_E_INPUT), "yaml/%d_levels", levels);
        if (!rc) hn_yaml_free(doc);
    }
    is_text(err.text, "t:1:65: nested more than 64 levels deep", "yaml/depth_message");
    hn_str s = {0};
    for (int i = 0; i < 20000; i++) hn_str_addf(&s, "key%d: %d\n", i, i);
    ok(hn_yaml_parse(s.text, s.n, "t", &doc, &err) == HONE_OK && hn_yaml_root(doc)->n == 20000, "yaml/large_map");
    hn_yaml_free(doc);
    hn_str_free(&s);
}

static void test_numbers(void) {
    static const struct {
        const char *text, *error; /* NULL: reads as */
        double want;
    } cases[] = {
        {"1.5", NULL, 1.5},
        {"-1e3", NULL, -1000},
        {"0x10", NULL, 16},
        {"+7", NULL, 7},
        {"010", NULL, 10},
        {"inf", "t:1:1: expected a number, found 'inf'", 0},
        {"nan", "t:1:1: expected a number, found 'nan'", 0},
        {".inf", "t:1:1: expected a number, found '.inf'", 0},
        {"1e999", "t:1:1: expected a number, found '1e999'", 0},
        {"1.5x", "t:1:1: expected a number, found '1.5x'", 0},
        {"1,5", "t:1:1: expected a number, found '1,5'", 0},
        {"1_000", "t:1:1: expected a number, found '1_000'", 0},
        {"\"1\"", "t:1:1: expected a number, found the text '1'", 0},
        {"~", "t:1:1: expected a number, found nothing", 0},
        {"[1]", "t:1:1: expected a number, found a list", 0},
        {"{a: 1}", "t:1:1: expected a number, found a map", 0},
        {"\"a\\nb\"", "t:1:1: expected a number, found the text 'a...'", 0},
        {"a very long text that goes on and on and on and on, far beyond",
         "t:1:1: expected a number, found 'a very long text that goes on and on and on and ...'", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_err err = {HONE_OK, ""};
        hn_yaml *doc = parse(cases[i].text);
        double x = -99;
        hone_rc rc = hn_yaml_double(doc, hn_yaml_root(doc), &x, &err);
        if (cases[i].error) {
            is_text(err.text, cases[i].error, "yaml/number_refused");
            ok(rc == HONE_E_INPUT && x == -99, "yaml/number_refused_output_untouched");
        } else {
            ok(!rc && x == cases[i].want, "yaml/number_%s", cases[i].text);
        }
        hn_yaml_free(doc);
    }
}

static void test_whole(void) {
    static const struct {
        const char *text;
        bool good;
        int64_t want;
    } cases[] = {{"42", true, 42},
                 {"-3", true, -3},
                 {"1e3", true, 1000},
                 {"9007199254740992", true, 1ll << 53},
                 {"9007199254740994", false, 0},
                 {"1.5", false, 0},
                 {"nan", false, 0},
                 {"inf", false, 0},
                 {"x", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_yaml *doc = parse(cases[i].text);
        int64_t x = -99;
        hone_rc rc = hn_yaml_int(doc, hn_yaml_root(doc), &x, NULL);
        ok(cases[i].good ? !rc && x == cases[i].want : rc == HONE_E_INPUT && x == -99, "yaml/whole_%s", cases[i].text);
        hn_yaml_free(doc);
    }
}

static void test_words(void) {
    static const struct {
        const char *text;
        int want; /* 1, 0, -1 refused */
    } cases[] = {{"true", 1}, {"yes", 1}, {"On", 1},       {"false", 0},  {"NO", 0},
                 {"off", 0},  {"1", -1},  {"\"yes\"", -1}, {"maybe", -1}, {"~", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_yaml *doc = parse(cases[i].text);
        bool x = false;
        hone_rc rc = hn_yaml_bool(doc, hn_yaml_root(doc), &x, NULL);
        ok(cases[i].want < 0 ? rc == HONE_E_INPUT : !rc && x == cases[i].want, "yaml/bool_%s", cases[i].text);
        hn_yaml_free(doc);
    }
    hn_yaml *doc = parse("[a, \"\", ~, 12]");
    const hn_ynode *list = hn_yaml_root(doc);
    const char *text = "untouched";
    ok(hn_yaml_text(doc, list->item[1], &text, NULL) == HONE_E_INPUT && !strcmp(text, "untouched"), "yaml/text_empty");
    ok(hn_yaml_text(doc, list->item[2], &text, NULL) == HONE_E_INPUT, "yaml/text_null");
    ok(hn_yaml_text(doc, list, &text, NULL) == HONE_E_INPUT, "yaml/text_list");
    ok(!hn_yaml_text(doc, list->item[3], &text, NULL) && !strcmp(text, "12"), "yaml/text_that_looks_like_a_number");
    hn_yaml_free(doc);
}

static void test_units(void) {
    static const struct {
        const char *text;
        double seconds, bytes; /* NAN: refused */
    } cases[] = {
        {"10", 10, 10},        {"10 s", 10, NAN},       {"250ms", 0.25, NAN},
        {"3 us", 3e-6, NAN},   {"1.5 min", 90, NAN},    {"2 h", 7200, NAN},
        {"5 ns", 5e-9, NAN},   {"\"10 s\"", 10, NAN},   {"64 MiB", NAN, 67108864},
        {"2 GB", NAN, 2e9},    {"1kB", NAN, 1000},      {"3 KiB", NAN, 3072},
        {"7 B", NAN, 7},       {"-1", NAN, NAN},        {"1 parsec", NAN, NAN},
        {"1e308 h", NAN, NAN}, {"1e300 GiB", NAN, NAN}, {"16777216 TiB", NAN, NAN},
        {"s", NAN, NAN},       {"nan s", NAN, NAN},     {"9e18", 9e18, 9e18},
        {"1e19", 1e19, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_yaml *doc = parse(cases[i].text);
        double s = -99;
        uint64_t b = 99;
        hone_rc rs = hn_yaml_seconds(doc, hn_yaml_root(doc), &s, NULL);
        hone_rc rb = hn_yaml_bytes(doc, hn_yaml_root(doc), &b, NULL);
        double want = cases[i].seconds;
        ok(isnan(want) ? rs == HONE_E_INPUT && s == -99 : !rs && fabs(s / want - 1) < 1e-15, "yaml/seconds_%s",
           cases[i].text);
        want = cases[i].bytes;
        ok(isnan(want) ? rb == HONE_E_INPUT && b == 99 : !rb && b == (uint64_t)want, "yaml/bytes_%s", cases[i].text);
        hn_yaml_free(doc);
    }
}

static void test_keys(void) {
    static const char *const known[] = {"build", "run", "inputs"};
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"yaml/keys_known", "build: a\nrun: b\n", ""},
        {"yaml/keys_near", "build: a\nrum: b\n", "t:2:1: unknown key 'rum' in the file; did you mean 'run'?"},
        {"yaml/keys_far", "flavour: x\n", "t:1:1: unknown key 'flavour' in the file; known are: build, run, inputs"},
        {"yaml/keys_no_map", "[1]", "t:1:1: the file must be a map of keys and values"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_err err = {HONE_OK, ""};
        hn_yaml *doc = parse(cases[i].text);
        hn_yaml_check_keys(doc, hn_yaml_root(doc), "the file", known, 3, &err);
        is_text(err.text, cases[i].want, cases[i].name);
        hn_yaml_free(doc);
    }
}

static void test_file(void) {
    hn_yaml *doc = NULL;
    hone_err err;
    ok(hn_yaml_load("/nonexistent/f.yaml", &doc, &err) == HONE_E_IO && !doc, "yaml/missing_file");
    ok(strstr(err.text, "/nonexistent/f.yaml") != NULL, "yaml/missing_file_is_named");
}

static hone_rc parse_all(void *ctx) {
    hn_yaml *doc = NULL;
    hone_err err;
    hone_rc rc = hn_yaml_parse(ctx, strlen(ctx), "t", &doc, &err);
    if (rc && doc) return HONE_E_FAILED;
    if (rc && err.rc != rc) return HONE_E_FAILED;
    if (!rc) hn_yaml_free(doc);
    return rc;
}

int main(void) {
    test_tree();
    test_refused();
    test_depth_and_size();
    test_numbers();
    test_whole();
    test_words();
    test_units();
    test_keys();
    test_file();
    sweep_allocations("yaml/parse_nth_allocation_fails", parse_all,
                      (void *)"a: [1, 2, {b: c, d: \"e\"}]\nf: |\n  text\n  more\ng: >\n  x\nh: {}\ni: [a, b, c]\n");
    return done_testing();
}
