/* The type rules: one statement of the text form each, and the type or the complaint that it gives. */
#include "base/str.h"
#include "ir/graph.h"
#include "tap.h"

/* Inputs that the cases use. */
#define EIGHTEEN "0, 60, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16"

static const char head[] = "ir 1\n"
                           "symbol n in 0..\n"
                           "symbol m in 1..64\n"
                           "symbol s in 0..\n"
                           "symbol t in 0..\n"
                           "input %x : f32[2, 3, 4] \"x\"\n"
                           "input %y : f32[n, m] \"y\"\n"
                           "input %i : i64[5, 2] \"i\"\n"
                           "input %v : i64[2] \"v\"\n"
                           "input %b : bool[2, 3, 4] \"b\"\n"
                           "input %c : f32[1, 8, 9, n] \"c\"\n"
                           "input %w : f32[6, 4, 3, 3] \"w\"\n"
                           "input %z : f32[] \"z\"\n"
                           "input %p : bool[] \"p\"\n"
                           "input %k : i64[] \"k\"\n"
                           "input %q : i8[2, 3, 4] \"q\"\n";

/* Heads of queries on two of keys, a table of this type, positions of so many tokens. */
#define ATTEND(type, heads, table, tokens)                                                                             \
    "%q0 = iota {shape = [2, " heads ", 8], dtype = f32, axis = 0}\n"                                                  \
    "%k0 = iota {shape = [64, 2, 8], dtype = " type ", axis = 0}\n"                                                    \
    "%t0 = iota {shape = [1, 4], dtype = " table ", axis = 1}\n"                                                       \
    "%p0 = iota {shape = [" tokens "], dtype = i64, axis = 0}\n"                                                       \
    "%r = attend %q0, %k0, %k0, %t0, %v, %p0 {block = 16}"

/* A convolution with evaluated windows: results, panels, points, channels of these, stride. */
#define EVALUATED(results, panels, points, channels, stride)                                                           \
    "%x0 = iota {shape = [1, 8, 9, 4], dtype = f32, axis = 3}\n"                                                       \
    "%w0 = iota {shape = [" results ", 4, 3, 3], dtype = f32, axis = 0}\n"                                             \
    "%u0 = iota {shape = [" panels ", " points ", " channels ", 16], dtype = f32, axis = 0}\n"                         \
    "%r = conv %x0, %w0, %u0 {stride = [" stride ", 1], dilation = [1, 1], inflate = [1, 1], groups = 1, "             \
    "low = [1, 1], high = [1, 1], dtype = f32, channels_last = 1}"

static const struct {
    const char *name, *text, *want; /* the type of %r, or part of the message */
} row[] = {
    {"const", "%r = const {value = i8[2] (1, -2)}", "i8[2]"},
    {"iota", "%r = iota {shape = [n, 3], dtype = i32, axis = 1}", "i32[n, 3]"},
    {"iota_axis", "%r = iota {shape = [n, 3], dtype = i32, axis = 2}", "attribute 'axis' is 2, outside 0 to 1"},
    {"iota_without_shape", "%r = iota {dtype = i32, axis = 1}", "attribute 'shape' is missing"},
    {"dims", "%r = dims {shape = [n, 2*m]}", "i64[2]"},
    {"random", "%r = random {shape = [n], dtype = f16, seed = 1, mode = normal}", "f16[n]"},
    {"random_integer", "%r = random {shape = [n], dtype = i8, seed = 1, mode = normal}", "float type"},
    {"random_word", "%r = random {shape = [n], dtype = f16, seed = 1, mode = gauss}", "'mode' is 'gauss'"},
    {"neg", "%r = neg %x", "f32[2, 3, 4]"},
    {"neg_bool", "%r = neg %b", "input 0 may not be bool"},
    {"sqrt_integer", "%r = sqrt %i", "input 0 may not be i64"},
    {"not_float", "%r = not %x", "input 0 may not be f32"},
    {"isnan", "%r = isnan %x", "bool[2, 3, 4]"},
    {"cast", "%r = cast %x {dtype = f8e5m2, saturate = 1}", "f8e5m2[2, 3, 4]"},
    {"bitcast", "%r = bitcast %x {dtype = u32}", "u32[2, 3, 4]"},
    {"bitcast_size", "%r = bitcast %x {dtype = i64}", "f32 and i64 have different sizes"},
    {"add", "%r = add %y, %y", "f32[n, m]"},
    {"add_types", "%r = add %x, %q", "input 1 is i8 instead of f32"},
    {"add_ranks", "%r = add %x, %y", "rank 3 differs from 2"},
    {"add_sizes", "%r = add %v, %v2", "no value '%v2'"},
    {"pow_types", "%r = pow %x, %q", "f32[2, 3, 4]"},
    {"shl_float", "%r = shl %x, %x", "input 0 may not be f32"},
    {"lt", "%r = lt %x, %x", "bool[2, 3, 4]"},
    {"select", "%r = select %b, %x, %x", "f32[2, 3, 4]"},
    {"select_condition", "%r = select %x, %x, %x", "input 0 is f32 instead of bool"},
    {"reshape", "%r = reshape %x {shape = [6, 4]}", "f32[6, 4]"},
    {"reshape_symbolic", "%r = reshape %y {shape = [1, m, n]}", "f32[1, m, n]"},
    {"reshape_count", "%r = reshape %x {shape = [5, 5]}", "number of elements: 24 differs from 25"},
    {"reshape_solves", "%r = reshape %y {shape = [s, m]}", "f32[n, m]"},
    {"transpose", "%r = transpose %x {perm = [2, 0, 1]}", "f32[4, 2, 3]"},
    {"transpose_twice", "%r = transpose %x {perm = [2, 0, 0]}", "no permutation"},
    {"transpose_short", "%r = transpose %x {perm = [1, 0]}", "'perm' has 2 entries instead of 3"},
    {"broadcast", "%r = broadcast %z {shape = [n, 3], map = []}", "f32[n, 3]"},
    {"broadcast_differs", "%r = broadcast %x {shape = [2, 3, 5], map = [0, 1, 2]}", "4 differs from 5"},
    {"broadcast_map", "%r = broadcast %v {shape = [2], map = [1]}", "not ascending"},
    {"slice", "%r = slice %x {shape = [2, 2, 2], start = [0, 1, 3], step = [1, 1, -2]}", "f32[2, 2, 2]"},
    {"slice_leaves", "%r = slice %x {shape = [2, 3, 2], start = [0, 1, 0], step = [1, 1, 1]}",
     "dimension 1: 3 elements from 1 by 1 leave the input"},
    {"slice_step", "%r = slice %x {shape = [2, 3, 2], start = [0, 0, 0], step = [1, 0, 1]}", "step 1 is 0"},
    {"pad", "%r = pad %y {low = [1, 0], high = [n, 2], mode = edge}", "f32[2*n + 1, m + 2]"},
    {"pad_value_type", "%r = pad %y, %k {low = [1, 0], high = [n, 2], mode = constant}", "input 1 is i64"},
    {"pad_negative", "%r = pad %x {low = [0, 0, -1], high = [0, 0, 0], mode = edge}", "less than nothing"},
    {"concat", "%r = concat %y, %y, %y {axis = 0}", "f32[3*n, m]"},
    {"concat_differs", "%r = concat %x, %y {axis = 0}", "input 1 has rank 2"},
    {"gather", "%r = gather %x, %i {axis = 1, batch = 0}", "f32[2, 5, 2, 4]"},
    {"gather_batch", "%r = gather %x, %v {axis = 1, batch = 1}", "f32[2, 4]"},
    {"gather_index", "%r = gather %x, %x {axis = 1, batch = 0}", "indices are f32"},
    {"gather_elements", "%r = gather_elements %y, %i {axis = 0}", "f32[5, 2]"},
    {"gather_nd", "%r = gather_nd %x, %i {batch = 0}", "f32[5, 4]"},
    {"gather_nd_deep", "%r = gather_nd %z, %i {batch = 0}", "the indices address 2 dimensions of rank 0"},
    {"sum", "%r = sum %x {axes = [0, 2], keep = 0}", "f32[3]"},
    {"sum_keep", "%r = sum %x {axes = [0, 2], keep = 1}", "f32[1, 3, 1]"},
    {"sum_order", "%r = sum %x {axes = [2, 0], keep = 1}", "not ascending"},
    {"sum_bool", "%r = sum %b {axes = [0], keep = 1}", "input 0 may not be bool"},
    {"reduce_max_bool", "%r = reduce_max %b {axes = [0], keep = 0}", "bool[3, 4]"},
    {"argmax", "%r = argmax %x {axis = 1, keep = 0, last = 0}", "i64[2, 4]"},
    {"cumsum", "%r = cumsum %x {axis = 1, exclusive = 0, reverse = 1}", "f32[2, 3, 4]"},
    {"contract", "%r = contract %x, %y {lhs = [0, 1, 2], rhs = [3, 4], out = [4, 0], dtype = f64}", "f64[m, 2]"},
    {"contract_sizes", "%r = contract %x, %x {lhs = [0, 1, 2], rhs = [2, 1, 0], out = [0], dtype = f32}",
     "dimensions of one label: 4 differs from 2"},
    {"contract_label", "%r = contract %x, %y {lhs = [0, 1, 1], rhs = [3, 4], out = [4, 0], dtype = f64}",
     "has a label twice"},
    {"conv",
     "%r = conv %c, %w {stride = [2, 1], dilation = [1, 2], inflate = [1, 1], groups = 2, low = [1, 2], high = [1, 2], "
     "dtype = f32}",
     "f32[1, 6, 5, n]"},
    {"conv_evaluated", EVALUATED("6", "1", "16", "4", "1"), "f32[1, 8, 9, 6]"},
    {"conv_evaluated_large", EVALUATED("17", "2", "36", "4", "1"), "f32[1, 8, 9, 17]"},
    {"conv_evaluated_panels", EVALUATED("17", "1", "36", "4", "1"), "input 2 is for f32 windows of 3 x 3"},
    {"conv_evaluated_points", EVALUATED("6", "1", "25", "4", "1"), "input 2 is for f32 windows of 3 x 3"},
    {"conv_evaluated_channels", EVALUATED("6", "1", "16", "5", "1"), "channels: 4 differs from 5"},
    {"conv_evaluated_stride", EVALUATED("6", "1", "16", "4", "2"), "input 2 is for f32 windows of 3 x 3"},
    {"conv_channels",
     "%r = conv %c, %w {stride = [2, 1], dilation = [1, 2], inflate = [1, 1], groups = 1, low = [1, 2], high = [1, 2], "
     "dtype = f32}",
     "channels: 8 differs from 4"},
    {"conv_transposed",
     "%r = conv %c, %w {stride = [1, 1], dilation = [1, 1], inflate = [2, 3], groups = 2, low = [0, 0], high = [0, 0], "
     "dtype = f32}",
     "f32[1, 6, 15, 3*n - 4]"},
    {"window_max",
     "%r = window_max %c {kernel = [2, 2], stride = [2, 2], dilation = [1, 1], low = [0, 0], high = [0, 0]}",
     "f32[1, 8, 4, floordiv(n, 2)]"},
    {"window_argmax",
     "%r = window_argmax %c {kernel = [2, 2], stride = [2, 2], dilation = [1, 1], low = [0, 0], high = [0, 0]}",
     "i64[1, 8, 4, floordiv(n, 2)]"},
    {"topk", "%r, %r2 = topk %x {axis = 2, largest = 1, shape = [2, 3, 2]}", "f32[2, 3, 2]"},
    {"topk_many", "%r, %r2 = topk %x {axis = 2, largest = 1, shape = [2, 3, 5]}", "more elements are asked for"},
    {"scatter_turned",
     "%at = const {value = i64[1, 1] (0)}\n%up = slice %w {shape = [1, 4, 3, 3], start = [0, 0, 0, 0], step = [1, 1, "
     "1, "
     "1]}\n"
     "%r = scatter_nd %w, %at, %up {mode = add, block = 2}",
     "rows in transposed blocks are set"},
    {"attend", ATTEND("f32", "6", "i64", "2"), "f32[2, 6, 8]"},
    {"attend_heads", ATTEND("f32", "5", "i64", "2"), "no multiple of those of keys"},
    {"attend_tokens", ATTEND("f32", "6", "i64", "3"), "numbers of tokens: 2 differs from 3"},
    {"attend_table", ATTEND("f32", "6", "i32", "2"), "i64"},
    {"attend_type", ATTEND("f64", "6", "i64", "2"), "keys are f32, f16, bf16 or i8"},
    {"det", "%r = det %w", "f32[6, 4]"},
    {"unpack",
     "%pp = const {value = u8[2, 18] (" EIGHTEEN ", " EIGHTEEN
     ")}\n%r = unpack %pp {shape = [2, 32], codec = q4_0, mode = int8}",
     "f32[2, 32]"},
    {"unpack_length",
     "%pp = const {value = u8[1, 18] (" EIGHTEEN ")}\n%r = unpack %pp {shape = [1, 64], codec = q4_0, mode = exact}",
     "18 bytes are not a row of 64 elements of codec 'q4_0'"},
    {"unpack_codec",
     "%pp = const {value = u8[1, 18] (" EIGHTEEN ")}\n%r = unpack %pp {shape = [1, 32], codec = q9, mode = exact}",
     "codec 'q9' is not known"},
    {"packed_rows",
     "%pp = const {value = u8[1, 18] (" EIGHTEEN
     ")}\n%r = packed_rows %pp, %v {shape = [2, 32], codec = q4_0, rows = 1}",
     "f32[2, 32]"},
    {"bind", "bind %v {defines = [s, t]}\n%r = iota {shape = [s, t], dtype = i64, axis = 0}", "i64[s, t]"},
    {"bind_count", "bind %v {defines = [s]}", "number of symbols: 2 differs from 1"},
    {"nonzero", "%r = nonzero %x {defines = [s]}", "i64[3, s]"},
    {"unique", "%r, %f, %g, %h = unique %x {axis = 1, sorted = 1, defines = [s]}", "f32[2, s, 4]"},
    {"if", "%r = if %p do () {\nyield %x\n} do () {\n%n1 = neg %x\nyield %n1\n}", "f32[2, 3, 4]"},
    {"if_sizes",
     "%r = if %p {defines = [s]} do () {\nyield %y\n} do () {\n%n1 = sum %w {axes = [0, 1], keep = 0}\nyield %n1\n}",
     "'defines' has no entry 1"},
    {"if_types", "%r = if %p do () {\nyield %x\n} do () {\nyield %b\n}", "f32 differs from bool"},
    {"loop",
     "%a, %r = loop %k, %p, %v {count = 1, defines = [s]} do (%it : i64[], %go : bool[], %at : i64[2]) {\n"
     "%next = add %at, %at\nyield %go, %next, %it\n}",
     "i64[s]"},
    {"loop_grows",
     "%r = loop %k, %p, %v {count = 0, defines = [s, t]} do (%it : i64[], %go : bool[], %at : i64[t]) {\n"
     "%next = concat %at, %at {axis = 0}\nyield %go, %next\n}",
     "i64[t]"},
    {"loop_carried",
     "%r = loop %k, %p, %v {count = 0, defines = [s]} do (%it : i64[], %go : bool[], %at : i64[2]) {\n"
     "%next = concat %at, %at {axis = 0}\nyield %go, %next\n}",
     "carried value after an iteration: 4 differs from 2"},
    {"kernel", "%r = kernel %x {kind = map} do (%a : f32[2, 3, 4]) {\n%n1 = neg %a\nyield %n1\n}", "f32[2, 3, 4]"},
    {"kernel_parameters", "%r = kernel %x {kind = map} do (%a : f32[2, 3, 5]) {\n%n1 = neg %a\nyield %n1\n}",
     "4 differs from 5"},
    {"too_many_dimensions", "%r = gather %x, %r0 {axis = 0, batch = 0}", "no value '%r0'"},
};

static void check(size_t i) {
    hn_str text = {0}, got = {0};
    char name[100];
    hn_graph *g = NULL;
    hone_err err = {0};
    hn_str_addf(&text, "%s%s\n", head, row[i].text);
    bool typed = strstr(row[i].want, "[") && !strchr(row[i].want, '\'');
    if (typed) hn_str_add(&text, "output %r \"r\"\n");
    snprintf(name, sizeof name, "types/%s", row[i].name);
    hone_rc rc = hn_parse(text.text, text.n, NULL, &g, &err);
    if (!rc) hn_type_print(g, hn_type_of(g, g->block[0].result ? g->block[0].result[0] : 0), &got);
    if (typed)
        is_text(rc ? err.text : got.text, row[i].want, name);
    else if (!ok(rc == HONE_E_INPUT && strstr(err.text, row[i].want), "%s", name))
        printf("#   got: %s\n", rc ? err.text : got.text);
    hn_graph_free(g);
    hn_str_free(&text);
    hn_str_free(&got);
}

int main(void) {
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) check(i);
    return done_testing();
}
