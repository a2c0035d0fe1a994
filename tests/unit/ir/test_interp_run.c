/* Whole runs: sizes solved from inputs, relations, control flow, sizes from data, kernels, sampling, parity. */
#include "ir/interp.h"
#include "tap.h"

#include <math.h>

enum { MAX_IN = 3 };

typedef struct run_case {
    const char *name, *text;
    const char *in[MAX_IN]; /* constants as text */
    const char *want;       /* text of the first output, or '!' and a part of the error */
} run_case;

#define LOOP_HEAD "ir 1\nsymbol k in 0..\nsymbol s in 0..\nsymbol n in 0..\nsymbol m in 0..\n"
#define CONST(name, text) "%" name " = const {value = " text "}\n"

static const run_case cases[] = {
    {"sizes_symbol",
     "ir 1\nsymbol n in 0..\ninput %x : f32[n] \"x\"\n%y = dims {shape = [2*n + 1]}\noutput %y \"y\"\n",
     {"f32[3] (1, 2, 3)"},
     "i64[1] (7)"},
    {"sizes_affine",
     "ir 1\nsymbol n in 0..\ninput %x : f32[2*n + 1] \"x\"\n%y = dims {shape = [n]}\noutput %y \"y\"\n",
     {"f32[5] (1, 2, 3, 4, 5)"},
     "i64[1] (2)"},
    {"sizes_affine_wrong",
     "ir 1\nsymbol n in 0..\ninput %x : f32[2*n] \"x\"\n%y = neg %x\noutput %y \"y\"\n",
     {"f32[3] (1, 2, 3)"},
     "!input 'x': dimension 0 is 3, expected '2*n'"},
    {"sizes_product",
     "ir 1\nsymbol n in 0..\nsymbol m in 0..\ninput %x : f32[n*m] \"x\"\ninput %z : f32[n] \"z\"\n"
     "input %w : f32[m] \"w\"\n%y = dims {shape = [m]}\noutput %y \"y\"\n",
     {"f32[6] (1, 2, 3, 4, 5, 6)", "f32[2] (1, 2)", "f32[3] (1, 2, 3)"},
     "i64[1] (3)"},
    {"sizes_product_wrong",
     "ir 1\nsymbol n in 0..\nsymbol m in 0..\ninput %x : f32[n*m] \"x\"\ninput %z : f32[n] \"z\"\n"
     "input %w : f32[m] \"w\"\n%y = dims {shape = [m]}\noutput %y \"y\"\n",
     {"f32[6] (1, 2, 3, 4, 5, 6)", "f32[2] (1, 2)", "f32[2] (1, 2)"},
     "!input 'x': dimension 0 is 6, expected 'm*n', which is 4 here"},
    {"sizes_repeated",
     "ir 1\nsymbol n in 0..\ninput %x : f32[n] \"x\"\ninput %z : f32[n] \"z\"\n%y = add %x, %z\noutput %y \"y\"\n",
     {"f32[1] (1)", "f32[2] (1, 2)"},
     "!input 'z': dimension 0 is 2, expected 'n', which is 1"},
    {"sizes_constant",
     "ir 1\ninput %x : f32[2] \"x\"\n%y = neg %x\noutput %y \"y\"\n",
     {"f32[1] (1)"},
     "!input 'x': dimension 0 is 1, expected 2"},
    {"sizes_range",
     "ir 1\nsymbol n in 2..4\ninput %x : f32[n] \"x\"\n%y = neg %x\noutput %y \"y\"\n",
     {"f32[1] (1)"},
     "!it must lie in 2 to 4"},
    {"sizes_dtype",
     "ir 1\ninput %x : f32[1] \"x\"\n%y = neg %x\noutput %y \"y\"\n",
     {"f64[1] (1)"},
     "!'f64', expected 'f32'"},
    {"sizes_rank",
     "ir 1\ninput %x : f32[1] \"x\"\n%y = neg %x\noutput %y \"y\"\n",
     {"f32[] (1)"},
     "!0 dimensions, expected 1"},
    {"relation_equal",
     "ir 1\nsymbol n in 0..\nsymbol m in 0..\ninput %x : f32[n] \"x\"\ninput %z : f32[m] \"z\"\n"
     "%y = add %x, %z\noutput %y \"y\"\n",
     {"f32[1] (1)", "f32[2] (1, 2)"},
     "!'z': dimension 0 is 2, expected 'n', which is 1"},
    {"relation_divisible",
     "ir 1\nsymbol n in 0..\ndivisible n, 4\ninput %x : f32[n] \"x\"\n%y = neg %x\noutput %y \"y\"\n",
     {"f32[3] (1, 2, 3)"},
     "!no multiple of 4"},
    {"reshape_is_a_view",
     "ir 1\ninput %x : f32[4] \"x\"\n%a = neg %x\n%b = reshape %a {shape = [2, 2]}\n"
     "%c = reshape %b {shape = [4]}\n%y = neg %c\noutput %y \"y\"\noutput %b \"b\"\n",
     {"f32[4] (1, 2, 3, 4)"},
     "f32[4] (1, 2, 3, 4)"},
    {"input_is_output", "ir 1\ninput %x : f32[1] \"x\"\noutput %x \"y\"\n", {"f32[1] (5)"}, "f32[1] (5)"},
    {"bind",
     "ir 1\nsymbol s in 0..\ninput %x : i64[1] \"x\"\nbind %x {defines = [s]}\n"
     "%y = iota {shape = [s], dtype = f32, axis = 0}\noutput %y \"y\"\n",
     {"i64[1] (3)"},
     "f32[3] (0, 1, 2)"},
    {"bind_negative",
     "ir 1\nsymbol s in 0..\ninput %x : i64[1] \"x\"\nbind %x {defines = [s]}\n"
     "%y = iota {shape = [s], dtype = f32, axis = 0}\noutput %y \"y\"\n",
     {"i64[1] (-1)"},
     "!is -1"},
    {"nonzero_then_gather",
     "ir 1\nsymbol s in 0..\ninput %x : f32[4] \"x\"\n%n = nonzero %x {defines = [s]}\n"
     "%i = reshape %n {shape = [s]}\n%y = gather %x, %i {axis = 0}\noutput %y \"y\"\n",
     {"f32[4] (0, 7, 0, 8)"},
     "f32[2] (7, 8)"},
    {"if_then",
     "ir 1\nsymbol s in 0..\ninput %c : bool[] \"c\"\ninput %x : f32[2] \"x\"\n"
     "%y = if %c {defines = [s]} do () {\n  yield %x\n} do () {\n  %t = concat %x, %x {axis = 0}\n  yield %t\n}\n"
     "output %y \"y\"\n",
     {"bool[] (true)", "f32[2] (1, 2)"},
     "f32[2] (1, 2)"},
    {"if_else",
     "ir 1\nsymbol s in 0..\ninput %c : bool[] \"c\"\ninput %x : f32[2] \"x\"\n"
     "%y = if %c {defines = [s]} do () {\n  yield %x\n} do () {\n  %t = concat %x, %x {axis = 0}\n  yield %t\n}\n"
     "%z = neg %y\noutput %z \"y\"\n",
     {"bool[] (false)", "f32[2] (1, 2)"},
     "f32[4] (-1, -2, -1, -2)"},
    {"loop_sum",
     LOOP_HEAD "input %t : i64[] \"t\"\n" CONST("g", "bool[] (true)") CONST(
         "x",
         "i64[] (0)") "%y = loop %t, %g, %x {count = 0, defines = [k]} do (%i : i64[], %go : bool[], %a : i64[]) {\n"
                      "  %b = add %a, %i\n  yield %go, %b\n}\noutput %y \"y\"\n",
     {"i64[] (5)"},
     "i64[] (10)"},
    {"loop_stops",
     LOOP_HEAD "input %t : i64[] \"t\"\n" CONST("g", "bool[] (true)") CONST("x", "i64[] (1)") CONST(
         "lim",
         "i64[] (50)") "%y = loop %t, %g, %x {count = 0, defines = [k]} do (%i : i64[], %go : bool[], %a : i64[]) {\n"
                       "  %b = add %a, %a\n  %again = lt %b, %lim\n  yield %again, %b\n}\noutput %y \"y\"\n",
     {"i64[] (100)"},
     "i64[] (64)"},
    {"loop_scan",
     LOOP_HEAD "input %t : i64[] \"t\"\n" CONST(
         "g", "bool[] (true)") "%y = loop %t, %g {count = 1, defines = [k]} do (%i : i64[], %go : bool[]) {\n"
                               "  %v = reshape %i {shape = [1]}\n  yield %go, %v\n}\noutput %y \"y\"\n",
     {"i64[] (3)"},
     "i64[3, 1] (0, 1, 2)"},
    {"loop_without_iteration",
     LOOP_HEAD "input %t : i64[] \"t\"\n" CONST(
         "g", "bool[] (true)") "%y = loop %t, %g {count = 1, defines = [k]} do (%i : i64[], %go : bool[]) {\n"
                               "  %v = reshape %i {shape = [1]}\n  yield %go, %v\n}\noutput %y \"y\"\n",
     {"i64[] (0)"},
     "i64[0, 1] ()"},
    {"loop_grows",
     LOOP_HEAD "input %t : i64[] \"t\"\ninput %x : f32[n] \"x\"\n" CONST(
         "g", "bool[] (true)") "%y = loop %t, %g, %x {count = 0, defines = [k, s]} do (%i : i64[], %go : bool[], %a : "
                               "f32[s]) {\n"
                               "  %b = concat %a, %x {axis = 0}\n  yield %go, %b\n}\n%z = neg %y\noutput %z \"y\"\n",
     {"i64[] (2)", "f32[1] (4)"},
     "f32[3] (-4, -4, -4)"},
    {"loop_nested",
     LOOP_HEAD "input %t : i64[] \"t\"\n" CONST("g", "bool[] (true)") CONST(
         "x",
         "i64[] (0)") "%y = loop %t, %g, %x {count = 0, defines = [k]} do (%i : i64[], %go : bool[], %a : i64[]) {\n"
                      "  %r = loop %i, %g, %a {count = 0, defines = [m]} do (%j : i64[], %h : bool[], %b : i64[]) {\n"
                      "    %c = add %b, %i\n    yield %h, %c\n  }\n  yield %go, %r\n}\noutput %y \"y\"\n",
     {"i64[] (4)"},
     "i64[] (14)"},
    {"loop_binds_anew",
     LOOP_HEAD "input %t : i64[] \"t\"\n" CONST("g", "bool[] (true)") CONST(
         "x",
         "i64[] (0)") "%y = loop %t, %g, %x {count = 0, defines = [k]} do (%i : i64[], %go : bool[], %a : i64[]) {\n"
                      "  %v = reshape %i {shape = [1]}\n  bind %v {defines = [s]}\n"
                      "  %r = iota {shape = [s], dtype = i64, axis = 0}\n  %u = sum %r {axes = [0], keep = 0}\n"
                      "  %b = add %a, %u\n  yield %go, %b\n}\noutput %y \"y\"\n",
     {"i64[] (4)"},
     "i64[] (4)"},
    {"kernel",
     "ir 1\nsymbol n in 0..\ninput %x : f32[n] \"x\"\n%y = kernel %x {kind = map} do (%a : f32[n]) {\n"
     "  %b = neg %a\n  %c = exp %b\n  yield %b\n}\noutput %y \"y\"\n",
     {"f32[2] (1, 2)"},
     "f32[2] (-1, -2)"},
    {"sum_of_many_rows",
     "ir 1\nsymbol n in 0..\ninput %x : f32[2] \"x\"\n%b = broadcast %x {shape = [700, 2], map = [1]}\n"
     "%y = sum %b {axes = [0], keep = 0}\noutput %y \"y\"\n",
     {"f32[2] (1, 2)"},
     "f32[2] (700, 1400)"},
    {"contract_over_blocks",
     "ir 1\ninput %x : f32[1] \"x\"\n%a = broadcast %x {shape = [300, 700], map = [1]}\n"
     "%b = broadcast %x {shape = [700, 600], map = [1]}\n"
     "%c = contract %a, %b {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n"
     "%d = reduce_min %c {axes = [0, 1], keep = 0}\n%e = reduce_max %c {axes = [0, 1], keep = 0}\n"
     "%y = add %d, %e\noutput %y \"y\"\n",
     {"f32[1] (1)"},
     "f32[] (1400)"},
};

static bool constant(const char *text, hn_arena *a, hn_tensor *out) {
    char buf[400];
    hn_graph *g;
    hone_err err;
    int n = snprintf(buf, sizeof buf, "ir 1\n%%x = const {value = %s}\noutput %%x \"x\"\n", text);
    hone_rc rc = hn_parse(buf, (size_t)n, "case", &g, &err);
    if (rc) {
        printf("# %s\n", err.text);
        return false;
    }
    rc = hn_interpret(g, NULL, a, out, NULL, &err);
    hn_graph_free(g);
    return !rc;
}

static void test_case(const run_case *c) {
    hn_graph *g = NULL;
    hn_arena a = {0};
    hn_tensor in[MAX_IN], out[4], want;
    hone_err err = {.text = ""};
    hone_rc rc = hn_parse(c->text, strlen(c->text), "case", &g, &err);
    for (size_t i = 0; !rc && i < MAX_IN && c->in[i]; i++)
        if (!constant(c->in[i], &a, &in[i])) rc = HONE_E_FAILED;
    if (!rc) rc = hn_interpret(g, in, &a, out, NULL, &err);
    if (*c->want == '!') {
        ok(rc == HONE_E_INPUT && g && strstr(err.text, c->want + 1), "interp_run/%s", c->name);
        if (!strstr(err.text, c->want + 1)) printf("# %s\n", err.text);
    } else {
        ok(!rc && constant(c->want, &a, &want) && hn_tensor_compare(&out[0], &want, (hn_match_rule){1e-6, 0}).same,
           "interp_run/%s", c->name);
        if (rc) printf("# %s\n", err.text);
    }
    hn_graph_free(g);
    hn_arena_free(&a);
}

/* softmax of a row of 2000 out of 3, one element: needs the memory of elements. */
static void test_sample(void) {
    static const char text[] =
        "ir 1\ninput %s : f32[1] \"s\"\n%i = iota {shape = [3, 2000], dtype = f32, axis = 1}\n"
        "%b = broadcast %s {shape = [3, 2000], map = [1]}\n%x = mul %i, %b\n%m = reduce_max %x {axes = [1], keep = 1}\n"
        "%n = broadcast %m {shape = [3, 2000], map = [0, 1]}\n%d = sub %x, %n\n%e = exp %d\n"
        "%t = sum %e {axes = [1], keep = 1}\n%u = broadcast %t {shape = [3, 2000], map = [0, 1]}\n%y = div %e, %u\n"
        "output %y \"y\"\n";
    hn_graph *g;
    hone_err err;
    hn_arena a = {0};
    float scale = 0.01f;
    hn_tensor in = {.dtype = HONE_F32, .rank = 1, .dim = {1}, .data = &scale}, out;
    if (!ok(!hn_parse(text, strlen(text), "t", &g, &err), "interp_at/parses")) return;
    double x = 0;
    ok(!hn_interpret(g, &in, &a, &out, NULL, &err), "interp_at/whole");
    ok(!hn_interpret_at(g, 0, &in, NULL, 0, (int64_t[]){1, 1500}, &x, &err) && x == hn_get_f(&out, 3500),
       "interp_at/softmax_is_the_same");
    hn_graph_free(g);
    hn_arena_free(&a);
}

static void test_node(void) {
    static const char text[] = "ir 1\ninput %x : i64[2] \"x\"\n%y = add %x, %x\noutput %y \"y\"\n";
    hn_graph *g;
    hone_err err;
    hn_arena a = {0};
    int64_t data[2] = {3, -4};
    hn_tensor x = {.dtype = HONE_I64, .rank = 1, .dim = {2}, .data = data}, in[2] = {x, x}, out;
    if (!ok(!hn_parse(text, strlen(text), "t", &g, &err), "interp_node/parses")) return;
    ok(!hn_interpret_node(g, &g->node[0], in, NULL, &a, &out, &err) && hn_get_i(&out, 0) == 6 &&
           hn_get_i(&out, 1) == -8,
       "interp_node/one_node");
    hn_graph_free(g);
    hn_arena_free(&a);
}

static void test_compare(void) {
    static const struct {
        const char *name;
        double a, b, rtol, atol;
        bool same;
    } row[] = {{"equal", 1, 1, 0, 0, true},
               {"within_rtol", 1.0009, 1, 1e-3, 0, true},
               {"outside_rtol", 1.002, 1, 1e-3, 0, false},
               {"within_atol", 1e-8, 0, 0, 1e-7, true},
               {"nan_is_nan", NAN, NAN, 0, 0, true},
               {"nan_is_no_number", NAN, 1, 1, 1, false},
               {"inf_by_sign", INFINITY, -INFINITY, 1, 1, false},
               {"inf_is_inf", INFINITY, INFINITY, 0, 0, true},
               {"inf_is_no_number", INFINITY, 1e38, 1, 1, false},
               {"zero_signs", -0.0, 0, 0, 0, true}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double a[2] = {0, row[i].a}, b[2] = {0, row[i].b};
        hn_tensor x = {.dtype = HONE_F64, .rank = 1, .dim = {2}, .data = a}, y = x;
        y.data = b;
        hn_match m = hn_tensor_compare(&x, &y, (hn_match_rule){row[i].rtol, row[i].atol});
        ok(m.same == row[i].same && m.n_wrong == !row[i].same && (m.same || m.at == 1), "interp_compare/%s",
           row[i].name);
    }
    int64_t p[1] = {INT64_MAX}, q[1] = {INT64_MAX - 1};
    hn_tensor x = {.dtype = HONE_I64, .rank = 1, .dim = {1}, .data = p}, y = x;
    y.data = q;
    ok(!hn_tensor_compare(&x, &y, (hn_match_rule){1, 1}).same, "interp_compare/integers_are_exact");
    y.dim[0] = 2;
    ok(!hn_tensor_compare(&x, &y, (hn_match_rule){1, 1}).same, "interp_compare/shapes_differ");
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) test_case(&cases[i]);
    test_sample();
    test_node();
    test_compare();
    return done_testing();
}
