/* Sizes that a model's own relations allow, and integers, lengths and masks as models are given them. */
#include "failalloc.h"

#include <hone/inputs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static hone_graph *parse(const char *text) {
    hone_graph *g = NULL;
    hone_err err = {0};
    if (hone_graph_parse(text, strlen(text), &g, &err)) printf("# %s\n", err.text);
    return g;
}

static const struct {
    const char *name, *graph, *given, *want;
} sizes[] = {
    {"usual_ones_by_name_and_place",
     "ir 1\nsymbol batch in 0..\nsymbol seq in 0..\ninput %0 : i64[batch, seq] \"ids\"\noutput %0 \"y\"\n", NULL,
     "batch=1,seq=128"},
    {"what_is_given_stays",
     "ir 1\nsymbol batch in 0..\nsymbol seq in 0..\ninput %0 : i64[batch, seq] \"ids\"\noutput %0 \"y\"\n", "seq=7",
     "batch=1,seq=7"},
    {"ranges_hold", "ir 1\nsymbol n in 3..5\nsymbol seq in 2..9\ninput %0 : f32[n, seq] \"x\"\noutput %0 \"y\"\n", NULL,
     "n=4,seq=8"},
    {"images",
     "ir 1\nsymbol N in 0..\nsymbol h in 0..\nsymbol w in 0..\ninput %0 : f32[N, 3, h, w] \"x\"\noutput %0 \"y\"\n",
     NULL, "N=1,h=224,w=224"},
    {"equal_sizes",
     "ir 1\nsymbol a in 0..\nsymbol b in 0..\nequal 2*a, b\ninput %0 : f32[a, 4] \"x\"\ninput %1 : f32[b, 4] "
     "\"y\"\noutput %0 \"z\"\n",
     NULL, "a=1,b=2"},
    {"a_sum_with_a_given_part",
     "ir 1\nsymbol past in 0..\nsymbol seq in 0..\nsymbol total in 0..\nequal past + seq, total\ninput %0 : f32[1, "
     "past] "
     "\"x\"\ninput %1 : f32[1, seq] \"y\"\ninput %2 : f32[1, total] \"m\"\noutput %0 \"z\"\n",
     "total=100,seq=1", "past=99,seq=1,total=100"},
    {"quotients",
     "ir 1\nsymbol b in 0..\nsymbol s in 0..\nequal floordiv(s + 320, 512), 2\ninput %0 : f32[b, s] \"x\"\noutput "
     "%0 \"y\"\n",
     NULL, "b=1,s=1024"},
    {"multiples", "ir 1\nsymbol h in 0..\ndivisible h, 48\ninput %0 : f32[1, 3, h, 9] \"x\"\noutput %0 \"y\"\n", NULL,
     "h=384"},
    {"no_empty_tensors",
     "ir 1\nsymbol seq in 0..\ninput %0 : f32[1, seq] \"x\"\n%1 = slice %0 {shape = [1, seq - 300], start = "
     "[0, 0], step = [1, 1]} : f32[1, seq - 300]\noutput %1 \"y\"\n",
     NULL, "seq=512"},
    {"nothing_fits", "ir 1\nsymbol seq in 0..\nequal mod(seq, 2), 5\ninput %0 : f32[1, seq] \"x\"\noutput %0 \"y\"\n",
     NULL, ""},
};

static void check_sizes(size_t i) {
    hone_err err = {0};
    char name[100], *got = NULL;
    hone_graph *g = parse(sizes[i].graph);
    snprintf(name, sizeof name, "inputs/sizes_%s", sizes[i].name);
    bool good = g && !hone_inputs_sizes(g, sizes[i].given, &got, &err) && !strcmp(got, sizes[i].want);
    ok(good, "%s", name);
    if (!good) printf("# got '%s' %s\n", got ? got : "", err.text);
    hone_free(got);
    hone_graph_free(g);
}

static const char model[] =
    "ir 1\n"
    "input %0 : i64[2, 6] \"ids\"\ninput %1 : i64[2, 6] \"attention_mask\"\ninput %2 : i32[2] \"lengths\"\n"
    "input %3 : i64[2, 6] \"position_ids\"\ninput %4 : i64[] \"rate\"\ninput %5 : i32[3] \"kinds\"\ninput %6 : f32[2] "
    "\"x\"\n"
    "%7 = const {value = f32[40, 1] (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, "
    "7, 8, 9, "
    "10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)}\n"
    "%8 = reshape %0 {shape = [12]} : i64[12]\n"
    "%9 = gather %7, %8 {axis = 0, batch = 0} : f32[12, 1]\n"
    "%10 = const {value = i64[] (16000)}\n%11 = eq %4, %10 : bool[]\n"
    "%12 = iota {shape = [3, 7], dtype = i32, axis = 1}\n%13 = reshape %5 {shape = [3, 1]} : i32[3, 1]\n"
    "%14 = broadcast %13 {shape = [3, 7], map = [0, 1]} : i32[3, 7]\n%15 = eq %14, %12 : bool[3, 7]\n"
    "output %9 \"y\"\noutput %11 \"z\"\noutput %15 \"w\"\noutput %1 \"a\"\noutput %2 \"b\"\noutput %3 \"c\"\noutput %6 "
    "\"d\"\n";

enum { N_IN = 7 };
static const struct {
    hone_dtype dtype;
    uint32_t rank;
    int64_t dim[2];
} port[N_IN] = {{HONE_I64, 2, {2, 6}}, {HONE_I64, 2, {2, 6}}, {HONE_I32, 1, {2}}, {HONE_I64, 2, {2, 6}},
                {HONE_I64, 0, {0}},    {HONE_I32, 1, {3}},    {HONE_F32, 1, {2}}};

static void check_fill(void) {
    static const int64_t mask[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
    int64_t ids[12] = {0}, masks[12] = {0}, positions[12] = {0}, rate = 1;
    int32_t lengths[2] = {0}, kinds[3] = {-1, -1, -1};
    float x[2] = {0.25f, 0.5f};
    void *data[N_IN] = {ids, masks, lengths, positions, &rate, kinds, x};
    hone_array in[N_IN];
    hone_err err = {0};
    char *said = NULL;
    hone_graph *g = parse(model);
    for (size_t i = 0; i < N_IN; i++) {
        in[i] = (hone_array){.dtype = port[i].dtype, .rank = port[i].rank, .data = data[i]};
        memcpy(in[i].dim, port[i].dim, sizeof port[i].dim);
    }
    ok(g && !hone_inputs_fill(g, 1, in, &said, &err), "inputs/filled");
    bool below = true, large = false;
    for (size_t i = 0; i < 12; i++) below = below && ids[i] >= 0 && ids[i] < 40, large = large || ids[i] > 1;
    ok(below && large, "inputs/ids_choose_rows_of_their_table");
    int64_t ones = 0;
    for (size_t i = 0; i < 12; i++) ones += masks[i];
    ok(ones == 11 && !memcmp(masks, mask, sizeof mask), "inputs/rows_of_masks_end_at_different_places");
    ok(lengths[0] == 6 && lengths[1] == 5, "inputs/lengths_as_masks");
    ok(positions[0] == 0 && positions[5] == 5 && positions[6] == 0, "inputs/positions");
    ok(rate == 16000, "inputs/a_scalar_that_is_compared");
    ok(kinds[0] >= 0 && kinds[0] < 7 && kinds[2] >= 0 && kinds[2] < 7, "inputs/one_hot_below_its_depth");
    ok(x[0] == 0.25f && x[1] == 0.5f, "inputs/floats_stay");
    ok(said && strstr(said, "ids: ids below 40\n") && strstr(said, "rate: 16000") && !strstr(said, "x:"),
       "inputs/said");
    hone_free(said);
    hone_graph_free(g);
}

static hone_rc choose(void *arg) {
    char *text = NULL;
    hone_err err = {0};
    hone_rc rc = hone_inputs_sizes(arg, NULL, &text, &err);
    hone_free(text);
    return rc;
}

int main(void) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_sizes(i);
    check_fill();
    hone_graph *g = parse(sizes[0].graph);
    sweep_allocations("inputs/sizes_without_memory", choose, g);
    hone_graph_free(g);
    return done_testing();
}
