/* Indices and sizes that nobody promised: the error slot says so, and memory stays safe (the test runs under ASan). */
#include "backend/reference_lab.h"

typedef struct hostile {
    const char *name;
    int64_t symbol[4];
    const char *text;
    int always; /* every seed must set the slot; 0: some must */
} hostile;

/* Inputs called x…, u… hold anything: indices from them are mostly far outside. */
static const hostile cases[] = {
    {"gather",
     {0},
     "input %x : f32[4, 5] \"x\"\ninput %i : i64[30] \"u\"\n%y = gather %x, %i {axis = 1}\noutput %y \"y\"\n",
     0},
    {"gather_i32",
     {0},
     "input %x : i8[4, 5] \"x\"\ninput %i : i32[30] \"u\"\n%y = gather %x, %i {axis = 0}\noutput %y \"y\"\n",
     0},
    {"gather_nothing",
     {0},
     "input %x : f64[0, 5] \"x\"\ninput %i : i64[3] \"u\"\n%y = gather %x, %i {axis = 0}\noutput %y \"y\"\n",
     1},
    {"gather_elements",
     {0},
     "input %x : f16[4, 5] \"x\"\ninput %i : i64[4, 5] \"u\"\n%y = gather_elements %x, %i {axis = 1}\noutput %y "
     "\"y\"\n",
     0},
    {"gather_elements_larger",
     {3, 6},
     "symbol n in 0..\nsymbol m in 0..\ninput %x : f32[4, n] \"x\"\ninput %i : i64[4, m] \"i4\"\n%y = gather_elements "
     "%x, %i {axis = 0}\noutput %y \"y\"\n",
     1},
    {"gather_elements_nothing",
     {0, 6},
     "symbol n in 0..\nsymbol m in 0..\ninput %x : f32[4, n] \"x\"\ninput %i : i64[4, m] \"i4\"\n%y = gather_elements "
     "%x, %i {axis = 0}\noutput %y \"y\"\n",
     1},
    {"gather_nd",
     {0},
     "input %x : f32[4, 5, 2] \"x\"\ninput %i : i64[9, 2] \"u\"\n%y = gather_nd %x, %i\noutput %y \"y\"\n",
     0},
    {"gather_nd_nothing",
     {0},
     "input %x : f32[4, 0, 2] \"x\"\ninput %i : i64[9, 2] \"u\"\n%y = gather_nd %x, %i\noutput %y \"y\"\n",
     1},
    {"scatter_elements",
     {0},
     "input %x : f32[4, 5] \"x\"\ninput %i : i64[4, 5] \"u\"\ninput %v : f32[4, 5] \"v\"\n%y = scatter_elements %x, "
     "%i, %v {axis = 1, mode = set}\noutput %y \"y\"\n",
     0},
    {"scatter_add",
     {0},
     "input %x : f32[4, 5] \"x\"\ninput %i : i64[4, 5] \"u\"\ninput %v : f32[4, 5] \"v\"\n%y = scatter_elements %x, "
     "%i, %v {axis = 0, mode = add}\noutput %y \"y\"\n",
     0},
    {"scatter_larger",
     {3, 6},
     "symbol n in 0..\nsymbol m in 0..\ninput %x : f32[4, n] \"x\"\ninput %i : i64[4, m] \"i4\"\ninput %v : f32[4, m] "
     "\"v\"\n%y = scatter_elements %x, %i, %v {axis = 0, mode = mul}\noutput %y \"y\"\n",
     1},
    {"scatter_nothing",
     {0},
     "input %x : f32[0, 5] \"x\"\ninput %i : i64[4, 5] \"u\"\ninput %v : f32[4, 5] \"v\"\n%y = scatter_elements %x, "
     "%i, %v {axis = 0, mode = max}\noutput %y \"y\"\n",
     1},
    {"scatter_nd",
     {0},
     "input %x : f32[4, 5] \"x\"\ninput %i : i64[9, 2] \"u\"\ninput %v : f32[9] \"v\"\n%y = scatter_nd %x, %i, %v "
     "{mode = min}\noutput %y \"y\"\n",
     0},
    {"scatter_nd_rows",
     {0},
     "input %x : i64[4, 5] \"x\"\ninput %i : i32[9, 1] \"u\"\ninput %v : i64[9, 5] \"v\"\n%y = scatter_nd %x, %i, %v "
     "{mode = set}\noutput %y \"y\"\n",
     0},
    {"scatter_nd_turned",
     {0},
     "input %x : i64[7, 5] \"x\"\ninput %i : i32[9, 1] \"u\"\ninput %v : i64[9, 5] \"v\"\n%y = scatter_nd %x, %i, %v "
     "{mode = set, block = 4}\noutput %y \"y\"\n",
     0},
    {"slice_beyond",
     {9, 3},
     "symbol n in 0..\nsymbol m in 0..\ninput %x : f32[m, 2] \"x\"\ninput %o : i8[n] \"o\"\n%y = slice %x {shape = [3, "
     "2], start = [n, 0], step = [1, 1]}\noutput %y \"y\"\n",
     1},
    {"slice_before",
     {2, 6},
     "symbol n in 0..\nsymbol m in 0..\ninput %x : f32[m, 2] \"x\"\ninput %o : i8[n] \"o\"\n%y = slice %x {shape = [4, "
     "2], start = [n, 0], step = [-1, 1]}\noutput %y \"y\"\n",
     1},
    {"slice_longer",
     {40, 6},
     "symbol n in 0..\nsymbol m in 0..\ninput %x : f32[m, 2] \"x\"\ninput %o : i8[n] \"o\"\n%y = slice %x {shape = [n, "
     "2], start = [0, 0], step = [2, 1]}\noutput %y \"y\"\n",
     1},
    {"pad_of_nothing",
     {0},
     "symbol n in 0..\ninput %x : f32[n, 2] \"x\"\n%y = pad %x {low = [2, 0], high = [0, 0], mode = edge}\noutput %y "
     "\"y\"\n",
     1},
    {"topk_of_too_few",
     {3, 7},
     "symbol n in 0..\nsymbol k in 0..\ninput %x : f32[n] \"x\"\ninput %o : i8[k] \"o\"\n%v, %i = topk %x {axis = 0, "
     "largest = 1, shape = [k]}\noutput %v \"v\"\noutput %i \"w\"\n",
     1},
    {"in_a_chain",
     {0},
     "input %x : f32[4, 5] \"x\"\ninput %i : i64[3] \"u\"\n%a = neg %x\n%g = gather %a, %i {axis = 0}\n%y = exp "
     "%g\noutput %y \"y\"\n",
     0},
    {"by_rows",
     {0},
     "input %x : f32[4, 5] \"x\"\ninput %i : i64[4, 3] \"u\"\n%a = neg %x\n%g = gather %a, %i {axis = 1, batch = "
     "1}\n%y = exp %g\noutput %y \"y\"\n",
     0},
};
enum { N_CASES = sizeof cases / sizeof *cases, N_SEEDS = 20 };

static int run_one(lab_kernel *k, const int64_t *symbol, uint64_t seed) {
    hn_rng r = hn_rng_make(seed, 0);
    lab_run x = {0};
    memcpy(x.slot + 1, symbol, hn_dims_symbols(k->g->dims) * sizeof *symbol);
    lab_inputs(k, symbol, &r, &x);
    lab_outputs(k, symbol, &x);
    int64_t work = lab_dim(k, k->code.work, symbol), scratch_b = lab_dim(k, k->code.scratch_b, symbol);
    lab_execute(k, &x, work, (size_t)scratch_b, true, &r);
    int failed = x.slot[0] == 4;
    lab_release(&x);
    return failed;
}

static lab all;

int main(void) {
    for (size_t i = 0; i < N_CASES; i++) lab_add(&all, cases[i].text, cases[i].name);
    if (ok(all.n == N_CASES && lab_build(&all), "hostile/kernels compile")) {
        for (size_t i = 0; i < N_CASES; i++) {
            int failed = 0;
            for (uint64_t seed = 0; seed < N_SEEDS; seed++) failed += run_one(&all.kernel[i], cases[i].symbol, seed);
            ok(cases[i].always ? failed == N_SEEDS : failed > 0, "hostile/%s is reported", cases[i].name);
        }
    }
    lab_free(&all);
    return done_testing();
}
