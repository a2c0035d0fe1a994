/* Pass bytes: products of quantised values become products of bytes where that is possible, and mean the same: integers
 * bit by bit, what is scaled to a rounding or two. The whole pipeline runs behind it. */
#include "base/str.h"
#include "ir/interp.h"
#include "pass/bytes.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

typedef struct bytes_case {
    const char *name;
    const char *text; /* without "ir 1"; a constant's "[SHAPE] @N": N bytes, of all values */
    bool taken;
} bytes_case;

#define X(x) "input %0 : " x " \"x\"\n"
#define WIDE "%1 = cast %0 {dtype = i32, saturate = 1}\n"
#define CENTRED(zero, shape)                                                                                           \
    WIDE "%2 = const {value = i32[] (" zero ")}\n%3 = broadcast %2 {shape = " shape ", map = []}\n%4 = sub %1, %3\n"
#define W(type, shape, n) "%5 = const {value = " type shape " @" n "}\n%6 = cast %5 {dtype = i32, saturate = 1}\n"
#define PRODUCT(x, w)                                                                                                  \
    "%20 = contract " x ", " w " {lhs = [0, 2], rhs = [2, 1], out = [0, 1], dtype = i32}\noutput %20 \"y\"\n"
#define FLOATS(shape)                                                                                                  \
    "%7 = cast %4 {dtype = f32, saturate = 1}\n%8 = const {value = f32[] (0x1.8p-6)}\n"                                \
    "%9 = broadcast %8 {shape = " shape ", map = []}\n%10 = mul %7, %9\n"
#define SCALED(type, zero, shape) X(type shape) CENTRED(zero, shape) FLOATS(shape)
#define FLOAT_WEIGHTS(type, shape, n, scales, map)                                                                     \
    "%5 = const {value = " type shape " @" n "}\n%6 = cast %5 {dtype = f32, saturate = 1}\n"                           \
    "%11 = const {value = f32" scales "}\n%12 = broadcast %11 {shape = " shape ", map = " map "}\n%13 = mul %12, %6\n"
#define WINDOW(pad, groups)                                                                                            \
    "%20 = conv %10, %13 {stride = [1, 1], dilation = [1, 1], inflate = [1, 1], groups = " groups ", low = " pad       \
    ", high = " pad ", dtype = f32}\noutput %20 \"y\"\n"
#define SIXTEEN                                                                                                        \
    "[16] (0x1p-5, 0x1p-6, 0x1.8p-5, 0x1p-7, 0x1p-5, 0x1p-6, 0x1.8p-5, 0x1p-7, 0x1p-5, 0x1p-6, 0x1.8p-5, 0x1p-7, "     \
    "0x1p-5, 0x1p-6, "                                                                                                 \
    "0x1.8p-5, 0x1p-7)"

static const bytes_case cases[] = {
    {"product", X("u8[7, 64]") WIDE W("i8", "[64, 80]", "5120") PRODUCT("%1", "%6"), true},
    {"zero_point", X("u8[7, 64]") CENTRED("77", "[7, 64]") W("i8", "[64, 80]", "5120") PRODUCT("%4", "%6"), true},
    {"signed", X("i8[7, 64]") WIDE W("i8", "[64, 80]", "5120") PRODUCT("%1", "%6"), true},
    {"signed_zero_point", X("i8[7, 64]") CENTRED("-3", "[7, 64]") W("i8", "[64, 80]", "5120") PRODUCT("%4", "%6"),
     true},
    {"one_row", X("u8[1, 64]") CENTRED("9", "[1, 64]") W("i8", "[64, 80]", "5120") PRODUCT("%4", "%6"), true},
    {"rows_of_any_number",
     "symbol n in 1..9\n" X("u8[n, 64]") CENTRED("9", "[n, 64]") W("i8", "[64, 80]", "5120") PRODUCT("%4", "%6"), true},
    {"unsigned_weights", X("u8[7, 64]") CENTRED("77", "[7, 64]") W("u8", "[64, 80]", "5120") PRODUCT("%4", "%6"), true},
    {"weights_with_a_zero_point",
     X("i8[7, 64]") WIDE W("u8", "[64, 80]", "5120") "%7 = const {value = i32[] (121)}\n%8 = broadcast %7 {shape = "
                                                     "[64, 80], map = []}\n%9 = sub %6, %8\n" PRODUCT("%1", "%9"),
     true},
    {"columns_first",
     X("u8[7, 64]") CENTRED("5", "[7, 64]")
         W("i8", "[80, 64]",
           "5120") "%20 = contract %4, %6 {lhs = [0, 2], rhs = [1, 2], out = [0, 1], dtype = i32}\noutput %20 \"y\"\n",
     true},
    {"batches",
     X("u8[2, 3, 64]") CENTRED("5", "[2, 3, 64]")
         W("u8", "[64, 80]", "5120") "%20 = contract %4, %6 {lhs = [0, 1, 3], rhs = [3, 2], out = [1, 2, 0], dtype = "
                                     "i32}\noutput %20 \"y\"\n",
     true},
    {"scaled",
     SCALED("u8", "77", "[7, 256]") FLOAT_WEIGHTS(
         "i8", "[256, 16]", "4096", SIXTEEN,
         "[1]") "%20 = contract %10, %13 {lhs = [0, 2], rhs = [2, 1], out = [0, 1], dtype = f32}\noutput %20 \"y\"\n",
     true},
    {"scaled_by_the_sum",
     SCALED("u8", "77", "[7, 16]") FLOAT_WEIGHTS(
         "i8", "[16, 256]", "4096", SIXTEEN,
         "[0]") "%20 = contract %10, %13 {lhs = [0, 2], rhs = [2, 1], out = [0, 1], dtype = f32}\noutput %20 \"y\"\n",
     false},
    {"window",
     SCALED("u8", "0", "[1, 32, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 32, 3, 3]", "4608", SIXTEEN, "[0]")
         WINDOW("[1, 1]", "1"),
     true},
    {"window_padded_with_a_zero_point",
     SCALED("u8", "100", "[1, 32, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 32, 3, 3]", "4608", SIXTEEN, "[0]")
         WINDOW("[1, 2]", "1"),
     true},
    {"window_of_signed",
     SCALED("i8", "0", "[1, 32, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 32, 3, 3]", "4608", SIXTEEN, "[0]")
         WINDOW("[1, 1]", "1"),
     true},
    {"window_of_one",
     SCALED("u8", "1", "[2, 256, 3, 5]") FLOAT_WEIGHTS("i8", "[16, 256, 1, 1]", "4096", SIXTEEN, "[0]")
         WINDOW("[0, 0]", "1"),
     true},
    {"window_that_crops",
     SCALED("u8", "100", "[1, 32, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 32, 3, 3]", "4608", SIXTEEN, "[0]")
         WINDOW("[-1, 1]", "1"),
     false},
    {"groups",
     SCALED("u8", "100", "[1, 64, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 32, 3, 3]", "4608", SIXTEEN, "[0]")
         WINDOW("[1, 1]", "2"),
     false},
    {"few_weights_of_a_large_image",
     SCALED("u8", "3", "[1, 16, 16, 17]") FLOAT_WEIGHTS("i8", "[16, 16, 1, 1]", "256", SIXTEEN, "[0]")
         WINDOW("[0, 0]", "1"),
     true},
    {"few_weights_of_a_small_image",
     SCALED("u8", "3", "[1, 16, 15, 17]") FLOAT_WEIGHTS("i8", "[16, 16, 1, 1]", "256", SIXTEEN, "[0]")
         WINDOW("[0, 0]", "1"),
     false},
    {"few_weights_of_no_whole_words",
     SCALED("u8", "3", "[1, 18, 16, 17]") FLOAT_WEIGHTS("i8", "[16, 18, 1, 1]", "288", SIXTEEN, "[0]")
         WINDOW("[0, 0]", "1"),
     false},
    {"depthwise",
     SCALED("u8", "0", "[1, 16, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 1, 3, 3]", "144", SIXTEEN, "[0]")
         WINDOW("[1, 1]", "16"),
     true},
    {"depthwise_with_a_zero_point",
     SCALED("u8", "100", "[1, 16, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 1, 3, 3]", "144", SIXTEEN, "[0]")
         WINDOW("[1, 2]", "16"),
     true},
    {"depthwise_of_signed",
     SCALED("i8", "-3", "[2, 16, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 1, 3, 3]", "144", SIXTEEN, "[0]")
         WINDOW("[0, 1]", "16"),
     true},
    {"depthwise_that_crops",
     SCALED("u8", "100", "[1, 16, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 1, 3, 3]", "144", SIXTEEN, "[0]")
         WINDOW("[-1, 1]", "16"),
     false},
    {"three_channels",
     SCALED("u8", "0", "[1, 3, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 3, 10, 10]", "4800", SIXTEEN, "[0]")
         WINDOW("[9, 9]", "1"),
     true},
    {"two_channels",
     SCALED("u8", "0", "[1, 2, 6, 5]") FLOAT_WEIGHTS("i8", "[16, 2, 12, 12]", "4608", SIXTEEN, "[0]")
         WINDOW("[11, 11]", "1"),
     false},
    {"few_weights", X("u8[7, 16]") WIDE W("i8", "[16, 80]", "1280") PRODUCT("%1", "%6"), false},
    {"few_columns", X("u8[7, 640]") WIDE W("i8", "[640, 8]", "5120") PRODUCT("%1", "%6"), false},
    {"words_in_part", X("u8[7, 66]") WIDE W("i8", "[66, 80]", "5280") PRODUCT("%1", "%6"), true},
    {"summed_in_front",
     X("u8[64, 7]") WIDE W(
         "i8", "[64, 80]",
         "5120") "%20 = contract %1, %6 {lhs = [2, 0], rhs = [2, 1], out = [0, 1], dtype = i32}\noutput %20 \"y\"\n",
     false},
    {"more_than_bytes",
     X("u8[7, 64]") WIDE W("i8", "[64, 80]", "5120") "%7 = const {value = i32[] (3)}\n%8 = broadcast %7 {shape = [64, "
                                                     "80], map = []}\n%9 = mul %6, %8\n" PRODUCT("%1", "%9"),
     false},
};

static uint32_t state;
static unsigned next_byte(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 24;
}

/* The text with its bytes; the caller frees it. */
static char *spelt(const char *text) {
    hn_str s = {0};
    hn_str_add(&s, "ir 1\n");
    for (; *text; text++) {
        char *end;
        if (*text != '@') {
            hn_str_add_n(&s, text, 1);
            continue;
        }
        hn_str_add(&s, "x\"");
        for (long k = strtol(text + 1, &end, 10); k > 0; k--) hn_str_addf(&s, "%02x", next_byte());
        hn_str_add(&s, "\"");
        text = end - 1;
    }
    return hn_str_take(&s);
}

static bool takes(const hn_graph *g) {
    for (uint32_t k = 0; k < g->block[0].n_node; k++) {
        const hn_node *n = &g->node[g->block[0].node[k]];
        if ((n->op == HN_OP_CONTRACT || n->op == HN_OP_CONV) && hn_multiplies_bytes(g, n)) return true;
        if (hn_widens_bytes(g, n)) return true;
    }
    return false;
}

static bool make_input(const hn_graph *g, hn_arena *a, hn_tensor *x) {
    const hn_type *t = hn_type_of(g, g->block[0].param[0]);
    int64_t dim[HN_RANK_MAX], n = 4;
    for (size_t i = 0; i < t->rank; i++)
        if (!hn_dim_is_int(g->dims, t->dim[i], &dim[i])) dim[i] = n;
    if (!hn_tensor_new(a, t->dtype, t->rank, dim, x)) return false;
    for (int64_t i = 0; i < hn_tensor_n(x); i++) ((uint8_t *)x->data)[i] = (uint8_t)next_byte();
    return true;
}

static void check(const bytes_case *c) {
    const hn_pass_how how = {.bytes = true};
    hn_graph *g = NULL, *whole = NULL;
    hn_arena a = {0};
    hn_tensor x, want, got;
    hone_err err = {0};
    unsigned have = 0;
    state = 1;
    char *text = spelt(c->text);
    hone_rc rc = hn_parse(text, strlen(text), NULL, &g, &err);
    if (!rc) rc = hn_parse(text, strlen(text), NULL, &whole, &err);
    if (!rc && !make_input(g, &a, &x)) rc = HONE_E_NOMEM;
    if (!rc) rc = hn_interpret(g, &x, &a, &want, NULL, &err);
    if (!rc) rc = hn_run_pass(g, hn_pass_named("bytes"), how, &have, NULL, &err);
    if (!rc) rc = hn_verify(g, &err);
    ok(!rc && takes(g) == c->taken, "bytes/%s_%s: %s", c->name, c->taken ? "taken" : "left", err.text);
    const hn_match_rule rule = {want.dtype == HONE_F32 ? 1e-5 : 0, want.dtype == HONE_F32 ? 1e-2 : 0};
    if (!rc) rc = hn_interpret(g, &x, &a, &got, NULL, &err);
    ok(!rc && hn_tensor_compare(&got, &want, rule).same, "bytes/%s_means_the_same: %s", c->name, err.text);
    if (!rc) rc = hn_run_passes(whole, NULL, how, NULL, NULL, &err);
    if (!rc) rc = hn_interpret(whole, &x, &a, &got, NULL, &err);
    ok(!rc && hn_tensor_compare(&got, &want, rule).same, "bytes/%s_after_all_passes: %s", c->name, err.text);
    hn_arena_free(&a);
    hn_graph_free(g);
    hn_graph_free(whole);
    free(text);
}

/* Without products of bytes quantised weights become floats, at once; with them, where they are left. */
static void check_fold(void) {
    const char *left = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, "window_that_crops")) left = cases[i].text;
    for (int bytes = 0; bytes < 3; bytes++) {
        hn_graph *g = NULL;
        hone_err err = {0};
        unsigned have = 0;
        const hn_pass_how how = {.bytes = bytes > 0};
        char *text = spelt(left);
        hone_rc rc = hn_parse(text, strlen(text), NULL, &g, &err);
        if (!rc && bytes == 2) rc = hn_run_pass(g, hn_pass_named("bytes"), how, &have, NULL, &err);
        if (!rc) rc = hn_run_pass(g, hn_pass_named("fold"), how, &have, NULL, &err);
        bool floats = false;
        for (uint32_t k = 0; !rc && k < g->block[0].n_node; k++) {
            const hn_node *n = &g->node[g->block[0].node[k]];
            if (n->op == HN_OP_CONV) floats = hn_const_of(g, n->in[1]) != NULL;
        }
        ok(!rc && floats == (bytes != 1), "bytes/fold_%d: %s", bytes, err.text);
        hn_graph_free(g);
        free(text);
    }
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
    check_fold();
    return done_testing();
}
