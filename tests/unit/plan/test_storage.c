/* Where values live: views, in place, outputs in the caller's buffers, loops, sizes that data decide. */
#include "ir/graph.h"
#include "plan/storage.h"
#include "tap.h"

typedef struct world {
    hn_graph *g;
    hn_arena a;
    hn_kernel_facts *facts;
    hn_layout l;
    hone_rc rc;
} world;

/* Every node may write over any of its inputs: only lifetimes decide. */
static world make(const char *text) {
    world w = {0};
    hone_err err = {0};
    if (hn_parse(text, strlen(text), NULL, &w.g, &err)) {
        printf("# %s\n", err.text);
        w.rc = err.rc;
        return w;
    }
    w.facts = hn_alloc_n(&w.a, w.g->n_node + 1u, sizeof *w.facts);
    for (uint32_t i = 0; i < w.g->n_node; i++) w.facts[i].in_place = w.g->node[i].op == HN_OP_KERNEL ? ~(uint64_t)0 : 0;
    w.rc = hn_layout_make(w.g, w.facts, (hn_states){0}, &w.a, &w.l, &err);
    return w;
}

static void end(world *w) {
    hn_graph_free(w->g);
    hn_arena_free(&w->a);
}

static const hn_storage *result(const world *w, uint32_t i) {
    return &w->l.slot[w->l.slot[w->g->block[0].result[i]].root];
}

#define KERNEL(out, in, op)                                                                                            \
    "%" out " = kernel %" in " {kind = map} : f32[8] do (%p" out " : f32[8]) {\n  %q" out " = " op " %p" out           \
    " : f32[8]\n  yield %q" out "\n}\n"

static void test_chain(void) {
    world w = make("ir 1\ninput %0 : f32[8] \"x\"\n" KERNEL("1", "0", "neg") KERNEL("2", "1", "abs")
                       KERNEL("3", "2", "neg") "output %3 \"y\"\n");
    if (ok(!w.rc, "storage/chain_is_laid_out")) {
        ok(w.l.n_item == 3 && w.l.arena_b == 128 && w.l.arena_b == w.l.lower_bound_b,
           "storage/in_place_but_for_the_output");
        ok(result(&w, 0)->where == HN_AT_ARENA && result(&w, 0)->output == 0, "storage/output_goes_to_the_caller");
        ok(w.l.sizes == HN_SIZES_FIXED, "storage/fixed_sizes");
    }
    end(&w);
}

static void test_views(void) {
    world w = make("ir 1\ninput %0 : f32[8] \"x\"\n" KERNEL(
        "1", "0", "neg") "%2 = reshape %1 {shape = [2, 4]}\n%3 = reshape %0 {shape = [4, 2]}\n"
                         "output %2 \"y\"\noutput %3 \"z\"\noutput %1 \"again\"\n");
    if (ok(!w.rc, "storage/views_are_laid_out")) {
        ok(w.l.n_item == 1 && result(&w, 0) == result(&w, 2), "storage/reshape_is_a_view");
        ok(result(&w, 0)->output == 0, "storage/one_of_two_outputs_is_direct");
        ok(result(&w, 1)->where == HN_AT_INPUT && result(&w, 1)->output < 0, "storage/view_of_an_input_is_copied");
    }
    end(&w);
}

static void test_used_later(void) {
    world w = make("ir 1\ninput %0 : f32[8] \"x\"\n" KERNEL("1", "0", "neg") KERNEL(
        "2", "1", "abs") "%3 = kernel %1, %2 {kind = map} : f32[8] do (%4 : f32[8], %5 : f32[8]) {\n  %6 = add %4, %5 "
                         ": f32[8]\n  yield %6\n}\n" KERNEL("7", "3", "exp") "output %7 \"y\"\n");
    if (ok(!w.rc, "storage/diamond_is_laid_out"))
        ok(w.l.item[0].shares < 0 && w.l.item[1].shares < 0 && w.l.item[2].shares >= 0,
           "storage/what_is_read_later_is_not_overwritten");
    end(&w);
}

static void test_sizes(void) {
    world w = make("ir 1\nsymbol n in 1..10\ninput %0 : f32[n, 16] \"x\"\n%1 = kernel %0 {kind = map} : f32[n, 16] do "
                   "(%2 : f32[n, 16]) {\n  %3 = neg %2 : f32[n, 16]\n  yield %3\n}\noutput %1 \"y\"\n");
    if (ok(!w.rc, "storage/symbols_are_laid_out"))
        ok(w.l.sizes == HN_SIZES_BOUNDED && w.l.arena_b == 640, "storage/bounded_sizes_at_their_bound");
    end(&w);
    w = make("ir 1\nsymbol n in 0..\ninput %0 : f32[n] \"x\"\n%1 = kernel %0 {kind = map} : f32[n] do (%2 : f32[n]) "
             "{\n  %3 = neg %2 : f32[n]\n  yield %3\n}\noutput %1 \"y\"\n");
    if (ok(!w.rc, "storage/open_symbols_are_laid_out"))
        ok(w.l.sizes == HN_SIZES_OPEN && w.l.arena_b == 0, "storage/open_sizes_are_planned_later");
    end(&w);
    w = make("ir 1\nsymbol s in 0..\nsymbol t in 0..\ninput %0 : i64[1] \"k\"\ninput %1 : f32[] \"x\"\nbind %0 "
             "{defines = [s]}\n"
             "%2 = kernel %1 {kind = map} : f32[s] do (%3 : f32[]) {\n  %4 = broadcast %3 {shape = [s], map = []} : "
             "f32[s]\n  yield %4\n}\noutput %2 \"y\"\n");
    if (ok(!w.rc, "storage/bound_symbols_are_laid_out"))
        ok(result(&w, 0)->where == HN_AT_GROWN && result(&w, 0)->output < 0, "storage/what_data_sizes_grows");
    end(&w);
}

static void test_loop(void) {
    world w = make(
        "ir 1\nsymbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[8] \"x\"\n" KERNEL(
            "20", "2", "neg") "%3, %4, %5 = loop %0, %1, %2, %20 {defines = [k], count = 1} : f32[8], f32[8], f32[k, "
                              "8] do (%6 : i64[], %7 : bool[], %8 : f32[8], %9 : f32[8]) {\n"
                              "  %10 = kernel %8, %20 {kind = map} : f32[8] do (%11 : f32[8], %12 : f32[8]) {\n    %13 "
                              "= add %11, %12 : f32[8]\n    yield %13\n  }\n"
                              "  yield %7, %9, %10, %10\n}\noutput %3 \"y\"\noutput %5 \"all\"\n");
    if (ok(!w.rc, "storage/loop_is_laid_out")) {
        uint32_t loop = 0;
        for (uint32_t i = 0; i < w.g->n_node; i++)
            if (w.g->node[i].op == HN_OP_LOOP) loop = i;
        hn_val outside = w.g->node[loop].in[3];
        int32_t item = w.l.slot[outside].index,
                body = w.l.slot[w.g->block[hn_attr_get(&w.g->node[loop], HN_A_BODY)->blocks[0]].result[2]].index;
        ok(w.l.staging[loop] != 0, "storage/swapped_values_are_staged");
        ok(w.l.item[item].last > w.l.item[body].last || w.l.item[item].last == w.l.item[body].last,
           "storage/what_a_loop_reads_lives_until_it_ends");
        ok(result(&w, 1)->where == HN_AT_GROWN, "storage/stacked_results_grow");
    }
    end(&w);
}

int main(void) {
    test_chain();
    test_views();
    test_used_later();
    test_sizes();
    test_loop();
    return done_testing();
}
