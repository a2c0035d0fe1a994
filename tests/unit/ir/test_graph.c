/* Building, copying, replacing and sweeping graphs; and what the verifier says of graphs that were broken by hand. */
#include "base/str.h"
#include "ir/build.h"
#include "tap.h"

static hn_graph *graph_of(const char *text) {
    hn_graph *g = NULL;
    hone_err err = {0};
    if (hn_parse(text, strlen(text), NULL, &g, &err)) printf("# %s\n", err.text);
    return g;
}

static void is_graph(const hn_graph *g, const char *want, const char *name) {
    hn_str s = {0};
    hn_print(g, &s);
    is_text(s.text, want, name);
    hn_str_free(&s);
}

#define HEAD "ir 1\ninput %0 : f32[2] \"x\"\n"
#define LOOP                                                                                                           \
    "ir 1\nsymbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[2] \"x\"\n"               \
    "%3 = neg %2 : f32[2] from \"a\"\n"                                                                                \
    "%4, %5 = loop %0, %1, %2 {defines = [k], count = 1} : f32[2], f32[k, 2] from \"b\" do (%6 : i64[], %7 : bool[], " \
    "%8 : f32[2]) {\n  %9 = add %8, %3 : f32[2] from \"c\"\n  yield %7, %9, %9\n}\noutput %4 \"y\"\noutput %5 "        \
    "\"all\"\n"

static void test_sticky(void) {
    hn_graph *g = hn_graph_new();
    hn_builder b = {g, 0};
    hn_type t = {.dtype = HONE_F32, .rank = 1, .dim = {hn_dim_int(g->dims, 2)}}, u = t;
    u.dim[0] = hn_dim_int(g->dims, 3);
    hn_val x = hn_param(g, 0, "x", &t), y = hn_param(g, 0, "y", &u), in[] = {x, y};
    g->at_source = hn_source(g, "node 'n' (Add)");
    ok(!hn_emit(g, 0, HN_OP_ADD, 2, in, 0, NULL, 1), "graph/wrong_types_give_nothing");
    ok(strstr(g->err.text, "node 'n' (Add): 'add' of f32[2], f32[3]: ") == g->err.text,
       "graph/failure_names_the_place");
    char first[sizeof g->err.text];
    snprintf(first, sizeof first, "%s", g->err.text);
    ok(!hn_un(&b, HN_OP_NEG, x) && !hn_un(&b, HN_OP_NEG, 0), "graph/nothing_is_built_after_a_failure");
    is_text(g->err.text, first, "graph/first_failure_stays");
    ok(hn_verify(g, NULL) == g->err.rc, "graph/verify_reports_it");
    hn_graph_free(g);
}

static void test_misuse(void) {
    static const struct {
        const char *name, *why;
        hn_op op;
        size_t n_in, n_attr, n_out;
        hn_attr attr[2];
        hn_val in;
    } c[] = {
        {"inputs", "'neg' has 0 inputs", HN_OP_NEG, 0, 0, 1, {{0}}, 1},
        {"results", "'neg' has 2 results", HN_OP_NEG, 1, 0, 2, {{0}}, 1},
        {"missing", "input 0 of 'neg' is missing", HN_OP_NEG, 1, 0, 1, {{0}}, 0},
        {"unknown", "input 0 of 'neg' is missing", HN_OP_NEG, 1, 0, 1, {{0}}, 99},
        {"twice", "attribute 'axis' is given twice", HN_OP_CUMSUM, 1, 2, 1, {{.id = HN_A_AXIS}, {.id = HN_A_AXIS}}, 1},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_graph *g = graph_of(HEAD);
        hn_emit(g, 0, c[i].op, c[i].n_in, &c[i].in, c[i].n_attr, c[i].attr, c[i].n_out);
        if (!ok(!strncmp(g->err.text, c[i].why, strlen(c[i].why)), "graph/misuse_%s", c[i].name))
            printf("#   %s\n", g->err.text);
        hn_graph_free(g);
    }
}

static void test_growth(void) {
    hn_graph *g = graph_of(HEAD);
    hn_builder b = {g, 0};
    hn_val x = g->block[0].param[0];
    const hn_value *early = &g->value[x];
    for (int i = 0; i < 5000; i++) x = hn_un(&b, HN_OP_NEG, x);
    hn_result(g, 0, x, "y");
    ok(!hn_verify(g, NULL) && g->block[0].n_node == 5000, "graph/many_nodes");
    ok(early->type.rank == 1, "graph/old_pointers_may_be_read");
    hn_graph_free(g);
}

static void test_copy_node(void) {
    hn_graph *from = graph_of(LOOP), *to = graph_of("ir 1\ninput %0 : f32[2] \"x\"\n");
    hn_val *map = calloc(from->n_value, sizeof *map), x = to->block[0].param[0];
    hn_builder b = {to, 0};
    map[from->block[0].param[0]] = hn_const_i(&b, HONE_I64, 3);
    map[from->block[0].param[1]] = hn_const_i(&b, HONE_BOOL, 1);
    map[from->block[0].param[2]] = x;
    for (uint32_t i = 0; i < from->block[0].n_node; i++) hn_copy_node(to, 0, from, from->block[0].node[i], map);
    hn_result(to, 0, map[from->block[0].result[1]], "all");
    is_graph(
        to,
        "ir 1\nsymbol k in 0..\ninput %0 : f32[2] \"x\"\n%1 = const {value = i64[] (3)}\n%2 = const {value = bool[] "
        "(true)}\n%3 = neg %0 : f32[2] from \"a\"\n%4, %5 = loop %1, %2, %0 {defines = [k], count = 1} : f32[2], "
        "f32[k, 2] "
        "from \"b\" do (%6 : i64[], %7 : bool[], %8 : f32[2]) {\n  %9 = add %8, %3 : f32[2] from \"c\"\n  yield %7, "
        "%9, "
        "%9\n}\noutput %5 \"all\"\n",
        "graph/copy_with_regions_and_symbols");
    free(map);
    hn_graph_free(from);
    hn_graph_free(to);
}

static void test_replace(void) {
    hn_graph *g = graph_of(LOOP);
    hn_val x = g->block[0].param[2], y = g->node[g->block[0].node[0]].out[0];
    hn_replace(g, y, x);
    ok(hn_sweep(g) == 1, "graph/sweep_counts");
    is_graph(g,
             "ir 1\nsymbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[2] \"x\"\n"
             "%3, %4 = loop %0, %1, %2 {defines = [k], count = 1} : f32[2], f32[k, 2] from \"b\" do (%5 : i64[], %6 : "
             "bool[], "
             "%7 : f32[2]) {\n  %8 = add %7, %2 : f32[2] from \"c\"\n  yield %6, %8, %8\n}\noutput %3 \"y\"\noutput %4 "
             "\"all\"\n",
             "graph/replace_reaches_into_regions");
    hn_graph_free(g);
}

static void test_remap(void) {
    hn_graph *g = graph_of(HEAD "%1 = neg %0\n%2 = abs %1\n%3 = exp %2\noutput %3 \"y\"\n");
    hn_val map[8] = {0};
    map[3] = 2; /* abs -> neg -> x */
    map[2] = 1;
    hn_remap(g, map, 8);
    hn_sweep(g);
    is_graph(g, HEAD "%1 = exp %0 : f32[2]\noutput %1 \"y\"\n", "graph/remap_follows_chains");
    hn_graph_free(g);
}

/* --- broken graphs ----------------------------------------------------------------------------------------------- */

typedef void breaker(hn_graph *g);
static void use_before(hn_graph *g) { g->node[0].in[0] = g->node[1].out[0]; }
static void swap_nodes(hn_graph *g) {
    uint32_t a = g->block[0].node[0];
    g->block[0].node[0] = g->block[0].node[1];
    g->block[0].node[1] = a;
}
static void list_twice(hn_graph *g) { g->block[0].node[1] = g->block[0].node[0]; }
static void wrong_owner(hn_graph *g) { g->value[g->node[0].out[0]].node = 2; }
static void wrong_type(hn_graph *g) { g->value[g->node[1].out[0]].type.dtype = HONE_F64; }
static void wrong_shape(hn_graph *g) { g->value[g->node[1].out[0]].type.dim[0] = hn_dim_int(g->dims, 7); }
static void wrong_kind(hn_graph *g) { g->node[1].attr[0].kind = HN_K_FLOAT; }
static void wrong_attr(hn_graph *g) { g->node[1].attr[0].id = HN_A_STEP; }
static void wrong_count(hn_graph *g) { g->node[1].n_in = 0; }
static void loose_output(hn_graph *g) { g->block[0].result[0] = 77; }
static void no_dimension(hn_graph *g) { g->value[g->node[0].out[0]].type.dim[0] = 0; }
static void no_name(hn_graph *g) { g->value[g->block[0].param[0]].name = NULL; }

static void test_broken(void) {
    static const struct {
        const char *name, *why;
        breaker *harm;
    } c[] = {
        {"use_before_definition", "invariant 1: node 0, 'neg'", use_before},
        {"order", "invariant 1: node 1, 'sum'", swap_nodes},
        {"listed_twice", "invariant 1: node 0, 'neg'", list_twice},
        {"defined_elsewhere", "invariant 1: node 0, 'neg'", wrong_owner},
        {"element_type", "invariant 3: node 1, 'sum' (unnamed): f64[] is stored, the type rule gives f32[]",
         wrong_type},
        {"kind_of_an_attribute", "invariant 2: node 1, 'sum'", wrong_kind},
        {"foreign_attribute", "invariant 2: node 1, 'sum'", wrong_attr},
        {"number_of_inputs", "invariant 2: node 1, 'sum'", wrong_count},
        {"loose_output", "invariant 1: output 'y' is not defined", loose_output},
        {"dimension_missing", "invariant 4: node 0, 'neg' (unnamed): a dimension is missing", no_dimension},
        {"name_missing", "invariant 5: input 0 has no name", no_name},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_graph *g = graph_of(HEAD "%1 = neg %0\n%2 = sum %1 {axes = [0], keep = 0}\noutput %2 \"y\"\n");
        hone_err err = {0};
        c[i].harm(g);
        bool told = hn_verify(g, &err) == HONE_E_INPUT && !strncmp(err.text, c[i].why, strlen(c[i].why));
        if (!ok(told, "verify/%s", c[i].name)) printf("#   got:  %s\n#   want: %s\n", err.text, c[i].why);
        hn_graph_free(g);
    }
    hn_graph *g = graph_of(HEAD "%1 = neg %0\n%2 = abs %1\noutput %2 \"y\"\n");
    hone_err err = {0};
    wrong_shape(g);
    ok(hn_verify(g, &err) == HONE_E_INPUT && strstr(err.text, "f32[7] is stored, the type rule gives f32[2]"),
       "verify/shape");
    hn_graph_free(g);
}

static void test_tables(void) {
    hn_op op;
    hn_attr_id id;
    bool round = true;
    for (unsigned i = 0; i < HN_N_OPS; i++) round &= hn_op_named(hn_op_of((hn_op)i)->text, &op) && op == (hn_op)i;
    for (unsigned i = 0; i < HN_N_ATTRS; i++)
        round &= hn_attr_named(hn_attr_of((hn_attr_id)i)->text, &id) && id == (hn_attr_id)i;
    ok(round, "graph/names_are_unique");
    ok(!hn_op_of(HN_N_OPS) && !hn_attr_of(HN_N_ATTRS) && !hn_op_named("", &op), "graph/no_such_row");
    ok(hn_op_takes(HN_OP_RSUM, HN_A_AXES) && !hn_op_takes(HN_OP_RSUM, HN_A_AXIS) &&
           !hn_op_takes(HN_OP_ADD, HN_A_AXES) && hn_op_takes(HN_OP_ADD, HN_A_NAME) &&
           hn_op_takes(HN_OP_WMAX, HN_A_KERNEL),
       "graph/attributes_of_rows");
}

/* A size of an input that turns out to equal another: values have the id of what stands for it, the input keeps its
 * own, and its shape the model's name. */
static void test_settle(void) {
    hn_graph *g = hn_graph_new();
    hn_dim n = hn_dim_symbol(g->dims, "n", 0, 100), m = hn_dim_symbol(g->dims, "m", 0, 100);
    hn_type t = {.dtype = HONE_F32, .rank = 1, .dim = {m}};
    hn_val x = hn_param(g, 0, "x", &t), before = hn_emit(g, 0, HN_OP_NEG, 1, &x, 0, NULL, 1);
    hn_dim_assume_equal(g->dims, m, n);
    hn_val after = hn_emit(g, 0, HN_OP_ABS, 1, &x, 0, NULL, 1);
    ok(hn_type_of(g, after)->dim[0] == n, "graph/what_is_made_after_an_equality_has_its_id");
    hn_graph_settle(g);
    ok(hn_type_of(g, before)->dim[0] == n, "graph/settling_renews_what_was_made_before");
    ok(hn_type_of(g, x)->dim[0] == m, "graph/settling_leaves_inputs_their_symbols");
    hn_str s = {0};
    hn_port_shape(g, x, &s);
    is_text(s.text, "[m]", "graph/a_port_has_the_models_names");
    hn_str_free(&s);
    hn_graph_free(g);
}

int main(void) {
    test_tables();
    test_settle();
    test_sticky();
    test_misuse();
    test_growth();
    test_copy_node();
    test_replace();
    test_remap();
    test_broken();
    return done_testing();
}
