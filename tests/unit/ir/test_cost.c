/* What blocks cost: operations, steps and bytes as expressions of their sizes. */
#include "base/str.h"
#include "ir/cost.h"
#include "tap.h"

#define HEAD "ir 1\nsymbol n in 1..64\n"

static const struct {
    const char *name, *graph, *want; /* "flops / steps / bytes read / bytes written" */
} cases[] = {
    {"pointwise", HEAD "input %0 : f32[n, 4] \"x\"\n%1 = exp %0\n%2 = add %1, %0\noutput %2 \"y\"\n",
     "8*n / 8*n / 16*n / 16*n"},
    {"contract",
     HEAD "input %0 : f32[n, 5] \"x\"\ninput %1 : f32[5, 3] \"w\"\n"
          "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %2 \"y\"\n",
     "30*n / 15*n / 20*n + 60 / 12*n"},
    {"contract_label_of_one",
     HEAD "input %0 : f32[n, 5] \"x\"\ninput %1 : f32[3] \"w\"\n"
          "%2 = contract %0, %1 {lhs = [0, 1], rhs = [2], out = [0, 2], dtype = f32}\noutput %2 \"y\"\n",
     "30*n / 15*n / 20*n + 12 / 12*n"},
    {"conv_groups",
     HEAD "input %0 : f32[n, 4, 6, 6] \"x\"\ninput %1 : f32[8, 2, 3, 3] \"w\"\n"
          "%2 = conv %0, %1 {stride = [1, 1], dilation = [1, 1], inflate = [1, 1], groups = 2, low = [0, 0], high = "
          "[0, 0], dtype = f32}\noutput %2 \"y\"\n",
     "4608*n / 2304*n / 576*n + 576 / 512*n"},
    {"conv_inflated",
     HEAD "input %0 : f32[1, 1, 4] \"x\"\ninput %1 : f32[1, 1, 1] \"w\"\n"
          "%2 = conv %0, %1 {stride = [1], dilation = [1], inflate = [2], groups = 1, low = [0], high = [1], dtype = "
          "f32}\noutput %2 \"y\"\n",
     "8 / 4 / 20 / 32"},
    {"window",
     HEAD "input %0 : f32[n, 2, 8] \"x\"\n"
          "%1 = window_max %0 {kernel = [3], stride = [1], dilation = [1], low = [0], high = [0]}\noutput %1 \"y\"\n",
     "36*n / 36*n / 64*n / 48*n"},
    {"reduce", HEAD "input %0 : f64[n, 7] \"x\"\n%1 = sum %0 {axes = [1], keep = 0}\noutput %1 \"y\"\n",
     "7*n / 7*n / 56*n / 8*n"},
    {"movement_is_no_arithmetic",
     HEAD "input %0 : f16[n, 2] \"x\"\n%1 = transpose %0 {perm = [1, 0]}\noutput %1 \"y\"\n", "0 / 2*n / 4*n / 4*n"},
    {"looked_up_table",
     HEAD "input %0 : f32[30000, 8] \"table\"\ninput %1 : i64[n] \"i\"\n"
          "%2 = gather %0, %1 {axis = 0, batch = 0}\noutput %2 \"y\"\n",
     "0 / 8*n / 40*n / 32*n"},
    {"sliced_and_used_whole",
     HEAD "input %0 : f32[8] \"x\"\n%1 = slice %0 {shape = [2], start = [0], step = [1]}\n%2 = neg %0\noutput %1 "
          "\"y\"\noutput %2 \"z\"\n",
     "8 / 10 / 32 / 40"},
    {"kernel_counts_its_body",
     HEAD "input %0 : f32[n] \"x\"\n%1 = kernel %0 {kind = map} : f32[n] do (%2 : f32[n]) {\n%3 = neg %2\n%4 = abs "
          "%3\nyield %4\n}\noutput %1 \"y\"\n",
     "2*n / 2*n / 4*n / 4*n"},
    {"nothing", "ir 1\n", "0 / 0 / 0 / 0"},
    {"too_large_is_no_dimension",
     "ir 1\ninput %0 : f32[4194304, 4194304] \"x\"\ninput %1 : f32[4194304, 4194304] \"w\"\n"
     "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %2 \"y\"\n",
     "? / ? / 140737488355328 / 70368744177664"},
};

static void add(const hn_graph *g, const char *before, hn_dim d, hn_str *out) {
    hn_str_add(out, before);
    hn_dim_print(g->dims, d, out);
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_graph *g = NULL;
        hone_err err = {0};
        hn_str text = {0};
        char name[80];
        snprintf(name, sizeof name, "cost/%s", cases[i].name);
        if (hn_parse(cases[i].graph, strlen(cases[i].graph), "case", &g, &err)) {
            is_text(err.text, NULL, name);
            continue;
        }
        hn_cost c = hn_block_cost(g, 0);
        add(g, "", c.flops, &text);
        add(g, " / ", c.steps, &text);
        add(g, " / ", c.read_b, &text);
        add(g, " / ", c.write_b, &text);
        is_text(text.text, cases[i].want, name);
        ok(hn_graph_ok(g), "%s_leaves_the_graph_well", name);
        hn_str_free(&text);
        hn_graph_free(g);
    }
    return done_testing();
}
