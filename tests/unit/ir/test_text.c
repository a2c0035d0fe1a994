/* The text form: what is read prints as expected and reads back to the same; what is wrong is told with its place. */
#include "base/str.h"
#include "ir/graph.h"
#include "tap.h"

#include <unistd.h>

typedef struct good_case {
    const char *name, *in, *out; /* out NULL: as in */
} good_case;
static const good_case good[] = {
    {"empty", "ir 1\n", NULL},
    {"add",
     "ir 1\ninput %0 : f32[2, 3] \"x\"\ninput %1 : f32[2, 3] \"y\"\n%2 = add %0, %1 : f32[2, 3]\noutput %2 \"z\"\n",
     NULL},
    {"free_form", "ir 1 # version\ninput%a:f32[ 2,3 ]\"x\"  %s=\n  neg %a output %s \"z\"",
     "ir 1\ninput %0 : f32[2, 3] \"x\"\n%1 = neg %0 : f32[2, 3]\noutput %1 \"z\"\n"},
    {"symbols",
     "ir 1\nsymbol n in 1..64\nsymbol m in 0..\ndivisible n, 4\ninput %0 : f32[n, 2*m + 1, m] \"x\"\n"
     "%1 = abs %0 : f32[n, 2*m + 1, m]\noutput %1 \"y\"\n",
     NULL},
    {"equality",
     "ir 1\nsymbol n in 0..\nsymbol m in 0..\nequal n, m\ninput %0 : f32[n] \"x\"\ninput %1 : f32[m] \"y\"\n"
     "%2 = add %0, %1 : f32[m]\noutput %2 \"z\"\n",
     "ir 1\nsymbol n in 0..\nsymbol m in 0..\nequal n, m\ninput %0 : f32[n] \"x\"\ninput %1 : f32[n] \"y\"\n"
     "%2 = add %0, %1 : f32[n]\noutput %2 \"z\"\n"},
    {"scalar_constants",
     "ir 1\n%0 = const {value = f32[] (0x1.8p+0)}\n%1 = const {value = bool[2] (true, false)}\n"
     "%2 = const {value = i64[1] (-9223372036854775808)}\n%3 = const {value = u64[1] (18446744073709551615)}\n"
     "%4 = const {value = f32[4] (inf, -inf, nan, -0x0p+0)}\n%5 = const {value = f32[1] (bits 0x7fc00001)}\n"
     "%6 = const {value = f8e4m3fn[2] (0x1p+0, -0x1p-9)}\n%7 = const {value = i4[2] (-8, 7)}\n"
     "%8 = const {value = f32[0, 3] ()}\n%9 = const {value = f64[1] (0x1.921fb54442d18p+1)}\n",
     NULL},
    {"decimal_constants", "ir 1\n%0 = const {value = f32[2] (1.5, -3)}\n",
     "ir 1\n%0 = const {value = f32[2] (0x1.8p+0, -0x1.8p+1)}\n"},
    {"hex_constant", "ir 1\n%0 = const {value = u8[17] x\"000102030405060708090a0b0c0d0e0fff\"}\n", NULL},
    {"attributes",
     "ir 1\ninput %0 : f32[4, 5] \"x\"\n%1 = sum %0 {axes = [1], keep = 0} : f32[4]\n"
     "%2 = cast %1 {dtype = f16, saturate = 1} : f16[4]\n"
     "%3 = pad %0 {low = [1, 0], high = [0, 2], mode = edge} : f32[5, 7]\noutput %2 \"a\"\noutput %3 \"b\"\n",
     NULL},
    {"sources",
     "ir 1\ninput %0 : f32[2] \"a \\\"quoted\\\" \\\\ name\\x0a\"\n"
     "%1 = neg %0 : f32[2] from \"node 'n' (Neg)\"\noutput %1 \"y\"\n",
     NULL},
    {"two_results",
     "ir 1\ninput %0 : f32[9] \"x\"\n%1, %2 = topk %0 {shape = [3], axis = 0, largest = 1} : f32[3], i64[3]\n"
     "output %1 \"v\"\noutput %2 \"i\"\n",
     NULL},
    {"if_captures",
     "ir 1\ninput %0 : bool[] \"c\"\ninput %1 : f32[2] \"x\"\n%2 = if %0 : f32[2] do () {\n"
     "  %3 = neg %1 : f32[2]\n  yield %3\n} do () {\n  yield %1\n}\noutput %2 \"y\"\n",
     NULL},
    {"loop",
     "ir 1\nsymbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[2] \"x\"\n"
     "%3, %4 = loop %0, %1, %2 {defines = [k], count = 1} : f32[2], f32[k, 2] do (%5 : i64[], %6 : bool[], %7 : "
     "f32[2]) {\n  %8 = add %7, %7 : f32[2]\n  yield %6, %8, %8\n}\noutput %3 \"y\"\noutput %4 \"all\"\n",
     NULL},
    {"kernel",
     "ir 1\nsymbol n in 0..\ninput %0 : f32[n] \"x\"\n%1 = kernel %0 {kind = map} : f32[n] do (%2 : f32[n]) {\n"
     "  %3 = exp %2 : f32[n]\n  yield %3\n}\noutput %1 \"y\"\n",
     NULL},
    {"defined_symbol",
     "ir 1\nsymbol s in 0..\ninput %0 : f32[8] \"x\"\n%1 = nonzero %0 {defines = [s]} : i64[1, s]\n"
     "output %1 \"y\"\n",
     NULL},
    {"bound_symbol",
     "ir 1\nsymbol n in 0..\nsymbol s in 0..\ninput %0 : f32[n] \"x\"\ninput %1 : i64[1] \"k\"\n"
     "bind %1 {defines = [s]}\n%2 = broadcast %0 {shape = [s, n], map = [1]} : f32[s, n]\noutput %2 \"y\"\n",
     NULL},
    {"bound_symbol_equal",
     "ir 1\nsymbol n in 0..\nsymbol s in 0..\nequal n, s\ninput %0 : f32[n] \"x\"\ninput %1 : i64[1] \"k\"\n"
     "bind %1 {defines = [s]}\n%2 = broadcast %0 {shape = [s, n], map = [1]} : f32[s, n]\noutput %2 \"y\"\n",
     "ir 1\nsymbol n in 0..\nsymbol s in 0..\nequal n, s\ninput %0 : f32[n] \"x\"\ninput %1 : i64[1] \"k\"\n"
     "bind %1 {defines = [s]}\n%2 = broadcast %0 {shape = [n, n], map = [1]} : f32[n, n]\noutput %2 \"y\"\n"},
};

typedef struct bad_case {
    const char *name, *in, *why; /* why: how the message begins */
} bad_case;
static const bad_case bad[] = {
    {"no_head", "input %0", "text:1:1: a graph begins with 'ir 1'"},
    {"version", "ir 7\n", "text:1:3: version 7"},
    {"unknown_op", "ir 1\n%0 = frobnicate\n", "text:2:6: no operation is called 'frobnicate'"},
    {"unknown_value", "ir 1\n%0 = neg %7\n", "text:2:11: no value '%7' is in scope here"},
    {"twice", "ir 1\ninput %0 : f32[] \"x\"\ninput %0 : f32[] \"y\"\n", "text:3:8: '%0' is defined twice"},
    {"type", "ir 1\ninput %0 : f32[2] \"x\"\n%1 = neg %0 : f32[3]\n", "text:3:13: 'neg' gives f32[2], not f32[3]"},
    {"rule", "ir 1\ninput %0 : f32[2] \"x\"\ninput %1 : f32[3] \"y\"\n%2 = add %0, %1\n",
     "text:4:1: 'add' of f32[2], f32[3]: "},
    {"attribute", "ir 1\ninput %0 : f32[2] \"x\"\n%1 = neg %0 {axis = 1}\n",
     "text:3:14: 'neg' takes no attribute 'axis'"},
    {"attribute_twice", "ir 1\ninput %0 : f32[2] \"x\"\n%1 = sum %0 {keep = 1, keep = 1}\n",
     "text:3:24: 'keep' is given twice"},
    {"dtype", "ir 1\ninput %0 : q32[2] \"x\"\n", "text:2:12: no element type is called 'q32'"},
    {"symbol", "ir 1\ninput %0 : f32[n] \"x\"\n", "text:2:16: no symbol 'n' is declared at the head"},
    {"symbol_twice", "ir 1\nsymbol n in 0..\nsymbol n in 1..\n", "text:3:8: symbol 'n' is declared twice"},
    {"range", "ir 1\nsymbol n in 5..4\n", "text:2:8: symbol 'n' has an empty or negative range"},
    {"rank", "ir 1\ninput %0 : f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] \"x\"\n", "text:2:48: more than 16 dimensions"},
    {"few_elements", "ir 1\n%0 = const {value = f32[2] (1)}\n", "text:2:30: expected ',', not ')}'"},
    {"many_elements", "ir 1\n%0 = const {value = f32[1] (1, 2)}\n", "text:2:30: expected ')', not ','"},
    {"too_large", "ir 1\n%0 = const {value = f32[1000000] (1)}\n", "text:2:20: 1000000 elements are announced"},
    {"overflow", "ir 1\n%0 = const {value = f32[4611686018427387904, 4] ()}\n", "text:2:20: a constant with more than"},
    {"range_of_element", "ir 1\n%0 = const {value = i8[1] (200)}\n", "text:2:28: 200 does not fit i8"},
    {"odd_hex", "ir 1\n%0 = const {value = u8[2] x\"0g00\"}\n", "text:2:29: the constant needs 2 bytes in hex"},
    {"long_hex", "ir 1\n%0 = const {value = u8[1] x\"0000\"}\n", "text:2:31: more than the 1 bytes"},
    {"side_file", "ir 1\nweights \"w\"\n", "text:2:8: a text that is not read from a file has no side file"},
    {"side_offset", "ir 1\n%0 = const {value = f32[1] @0}\n", "text:2:29: no side file holds this constant"},
    {"unclosed", "ir 1\ninput %0 : f32[2] \"x\n", "text:2:19: this text has no closing quote"},
    {"escape", "ir 1\ninput %0 : f32[2] \"\\q\"\n", "text:2:20: a backslash needs"},
    {"brace", "ir 1\n}\n", "text:2:1: this closes no region"},
    {"region", "ir 1\ninput %0 : f32[2] \"x\"\n%1 = neg %0 do () { yield %0 }\n", "text:3:1: 'neg' has no regions"},
    {"no_yield", "ir 1\ninput %0 : bool[] \"x\"\nif %0 do () { } do () { yield }\n",
     "text:3:15: a region ends with yield"},
    {"out_of_reach", "ir 1\ninput %0 : bool[] \"x\"\n%1 = if %0 do () { %2 = not %0 yield %2 } do () { yield %2 }\n",
     "text:3:58: no value '%2' is in scope here"},
    {"nul", "", "text:1:1: a graph begins with"},
    {"kernel_capture",
     "ir 1\ninput %0 : f32[2] \"x\"\n%1 = kernel {kind = map} do () {\n %2 = neg %0\n yield %2\n}\noutput %1 \"y\"\n",
     "text: invariant 1: node 0, 'neg' (unnamed): an input is not defined before it, or not in scope"},
    {"symbol_undefined",
     "ir 1\nsymbol n in 0..\ninput %0 : f32[2] \"x\"\n%1 = broadcast %0 {shape = [n, 2], map = [1]}\n",
     "text: invariant 4: node 0, 'broadcast' (unnamed): symbol 'n' is used before anything defines it"},
    {"symbol_of_two", "ir 1\nsymbol n in 0..\nsymbol m in 0..\ninput %0 : f32[n*m] \"x\"\n",
     "text: invariant 4: no input gives symbol 'n'"},
    {"symbol_defined_twice", "ir 1\nsymbol n in 0..\ninput %0 : f32[n] \"x\"\n%1 = nonzero %0 {defines = [n]}\n",
     "text: invariant 4: node 0, 'nonzero' (unnamed): it defines a symbol that is defined already"},
    {"names", "ir 1\ninput %0 : f32[] \"x\"\ninput %1 : f32[] \"x\"\n", "text: invariant 5: two inputs are called 'x'"},
    {"output_names", "ir 1\ninput %0 : f32[] \"x\"\noutput %0 \"y\"\noutput %0 \"y\"\n",
     "text: invariant 5: two outputs are called 'y'"},
};

static void check_good(const good_case *c) {
    hn_graph *g = NULL, *back = NULL, *copy = NULL;
    hone_err err = {0};
    hn_str once = {0}, twice = {0}, copied = {0};
    char name[100];
    snprintf(name, sizeof name, "text/%s", c->name);
    hone_rc rc = hn_parse(c->in, strlen(c->in), NULL, &g, &err);
    if (!ok(!rc, "%s_reads", name)) {
        printf("#   %s\n", err.text);
        return;
    }
    hn_print(g, &once);
    is_text(once.text, c->out ? c->out : c->in, name);
    rc = hn_parse(once.text, once.n, NULL, &back, &err);
    if (ok(!rc, "%s_reads_back", name)) {
        hn_print(back, &twice);
        is_text(twice.text, once.text, "text/printed_again_is_the_same");
    } else
        printf("#   %s\n", err.text);
    copy = hn_copy_graph(g);
    hn_print(copy, &copied);
    is_text(copied.text, once.text, "text/a_copy_prints_the_same");
    hn_graph_free(copy);
    hn_graph_free(back);
    hn_graph_free(g);
    hn_str_free(&once);
    hn_str_free(&twice);
    hn_str_free(&copied);
}

static void check_bad(const bad_case *c) {
    hn_graph *g = NULL;
    hone_err err = {0};
    hone_rc rc = hn_parse(c->in, strlen(c->in), NULL, &g, &err);
    bool same = rc == HONE_E_INPUT && !g && !strncmp(err.text, c->why, strlen(c->why));
    if (!ok(same, "text/refuses_%s", c->name)) printf("#   got:  %s\n#   want: %s\n", err.text, c->why);
    hn_graph_free(g);
}

static void check_block_text(void) {
    static const char text[] =
        "ir 1\nsymbol n in 0..\ninput %0 : f32[n] \"x\"\n"
        "%1 = kernel %0 {kind = map} from \"a\" do (%2 : f32[n]) { %3 = exp %2 from \"b\" yield %3 }\n"
        "%4 = kernel %1 {kind = map} from \"c\" do (%5 : f32[n]) { %6 = exp %5 from \"d\" yield %6 }\n"
        "output %4 \"y\"\n";
    hn_graph *g = NULL;
    hone_err err = {0};
    hn_str a = {0}, b = {0};
    if (!ok(!hn_parse(text, strlen(text), NULL, &g, &err), "text/two_kernels")) {
        printf("# %s\n", err.text);
        return;
    }
    hn_print_block(g, 1, &a);
    hn_print_block(g, 2, &b);
    is_text(a.text, "(%0 : f32[n]) {\n  %1 = exp %0 : f32[n]\n  yield %1\n}", "text/block_is_canonical");
    is_text(b.text, a.text, "text/equal_blocks_have_equal_text");
    hn_str_free(&a);
    hn_str_free(&b);
    hn_graph_free(g);
}

static void check_side_file(void) {
    char dir[] = "/tmp/hone-text-XXXXXX", path[64], side[64];
    if (!ok(mkdtemp(dir) != NULL, "text/scratch")) return;
    snprintf(path, sizeof path, "%s/g.ir", dir);
    snprintf(side, sizeof side, "%s/g.weights", dir);
    hn_graph *g = NULL, *back = NULL;
    hone_err err = {0};
    hn_str text = {0}, again = {0}, whole = {0};
    static const char in[] =
        "ir 1\n%0 = const {value = i32[3] (1, 2, 3)}\n%1 = const {value = u8[2] (4, 5)}\n"
        "%2 = const {value = i64[3] (6, 7, 8)}\noutput %0 \"a\"\noutput %1 \"b\"\noutput %2 \"c\"\n";
    ok(!hn_parse(in, strlen(in), NULL, &g, &err), "text/side_source");
    hn_print_weights(g, 2, "g.weights", &text);
    is_text(text.text,
            "ir 1\nweights \"g.weights\"\n%0 = const {value = i32[3] @0}\n%1 = const {value = u8[2] (4, 5)}\n"
            "%2 = const {value = i64[3] @64}\noutput %0 \"a\"\noutput %1 \"b\"\noutput %2 \"c\"\n",
            "text/side_offsets");
    ok(!hn_write_weights(g, 2, side, &err), "text/side_written");
    ok(!hn_parse(text.text, text.n, path, &back, &err), "text/side_read");
    hn_print(back, &whole);
    is_text(whole.text, in, "text/side_holds_the_constants");
    hn_graph_free(back);
    back = NULL;
    ok(truncate(side, 70) == 0 && hn_parse(text.text, text.n, path, &back, &err) == HONE_E_INPUT && !back,
       "text/side_short_is_refused");
    ok(strstr(err.text, "are not in the side file of 70 bytes") != NULL, "text/side_short_says_so");
    unlink(side);
    ok(hn_parse(text.text, text.n, path, &back, &err) == HONE_E_INPUT, "text/side_missing_is_refused");
    static const char up[] = "ir 1\nweights \"../w\"\n";
    ok(hn_parse(up, strlen(up), path, &back, &err) == HONE_E_INPUT, "text/side_elsewhere_is_refused");
    rmdir(dir);
    hn_graph_free(g);
    hn_str_free(&text);
    hn_str_free(&again);
    hn_str_free(&whole);
}

int main(void) {
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) check_good(&good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) check_bad(&bad[i]);
    check_block_text();
    check_side_file();
    return done_testing();
}
