/* Device code compared: which kernels are pairs, what is said of them, which listing is shown. Figures are made up. */
#include "explain/explain_code.h"

#include <math.h>

#include "tap.h"

static hn_gpu_kernel kernel(const char *name, double registers, double occupancy, double fp32, const char *listing) {
    hn_gpu_kernel k = {.name = name, .entry = true, .listing = listing, .bound_by = "registers"};
    for (unsigned m = 0; m < HN_N_CODE_METRICS; m++) k.value[m] = NAN;
    for (unsigned m = HN_SASS_FIRST; m < HN_N_CODE_METRICS; m++) k.value[m] = 0;
    k.value[HN_GPU_REGISTERS] = registers;
    k.value[HN_GPU_OCCUPANCY] = occupancy;
    k.value[HN_SASS_FP32] = fp32;
    k.value[HN_GPU_INSTRUCTIONS] = fp32;
    k.value[HN_GPU_SPILLS] = registers < 40 ? 64 : 0;
    return k;
}

static bool said(const hone_explanation *x, const char *what) {
    for (size_t i = 0; i < x->n_sentences; i++)
        if (strstr(x->sentence[i], what)) return true;
    for (size_t i = 0; i < x->n_sentences; i++) printf("# %s\n", x->sentence[i]);
    return false;
}

static double fact(const hone_explanation *x, const char *function, const char *what, int side) {
    for (size_t i = 0; i < x->n_facts; i++)
        if (!strcmp(x->fact[i].function, function) && !strcmp(x->fact[i].what, what))
            return side ? x->fact[i].tuned : x->fact[i].baseline;
    return -1;
}

static void test_compare(void) {
    hn_gpu_kernel b[] = {kernel("_Z4copyPf", 16, 1, 10, "MOV\n"), kernel("_Z7softmaxPfi", 64, 0.5, 100, "FADD\n"),
                         kernel("gone", 48, 1, 5, "")},
                  t[] = {kernel("_Z7softmaxPfi", 32, 1, 80, "FMUL\n"), kernel("_Z4copyPf", 16, 1, 10, "MOV\n")};
    const hn_cubin side[2] = {{"a", 90, b, 3, false}, {"b", 90, t, 2, false}};
    hn_arena a = {0};
    hone_explanation x = {0};
    static const char *const unknown[] = {"FROB"};
    t[0].unknown = (const char **)(uintptr_t)unknown, t[0].n_unknown = 1;
    ok(!hn_explain_code(side, false, &a, &x, NULL), "explain_code/compares");
    ok(strstr(x.sentence[0], "softmax: 64 bytes spilled, none before; 32 registers instead of 64; occupancy 100 %") ||
           said(&x, "softmax: 64 bytes spilled, none before"),
       "explain_code/what_changed_most_comes_first");
    ok(said(&x, "most moved: fp32 100 -> 80"), "explain_code/classes");
    ok(said(&x, "gone: gone, 5 instructions before"), "explain_code/kernel_that_is_gone");
    ok(said(&x, "opcodes in no class: FROB"), "explain_code/unknown_opcodes_are_named");
    ok(said(&x, "2 of 3 kernels differ; 115 -> 90 instructions for sm_90"), "explain_code/whole");
    ok(fact(&x, "", "registers", 0) == 64 && fact(&x, "", "registers", 1) == 32 && fact(&x, "", "occupancy", 0) == 0.5,
       "explain_code/facts_of_all");
    ok(fact(&x, "softmax", "fp32", 1) == 80 && fact(&x, "copy", "fp32", 1) == -1 && isnan(fact(&x, "gone", "fp32", 1)),
       "explain_code/facts_of_each");
    ok(x.function && !strcmp(x.function, "softmax") && !strcmp(x.listing[0], "FADD\n") &&
           !strcmp(x.listing[1], "FMUL\n"),
       "explain_code/listing");
    hn_arena_free(&a);
}

static void test_names(void) {
    hn_gpu_kernel b[] = {kernel("gemm", 64, 0.5, 100, "A\n"), kernel("copy", 16, 1, 10, "B\n")},
                  t[] = {kernel("cutlass_gemm", 64, 0.5, 100, "C\n"), kernel("copy", 16, 1, 10, "B\n")};
    hn_cubin side[2] = {{"a", 90, b, 2, false}, {"b", 80, t, 2, false}};
    hn_arena a = {0};
    hone_explanation x = {0};
    ok(!hn_explain_code(side, false, &a, &x, NULL) && said(&x, "named 'gemm' before"),
       "explain_code/renamed_is_one_pair");
    ok(said(&x, "the baseline is for sm_90"), "explain_code/architectures_differ");
    side[1] = side[0];
    x = (hone_explanation){0};
    ok(!hn_explain_code(side, false, &a, &x, NULL) && said(&x, "the machine code is the same in 2 kernels") &&
           !x.function,
       "explain_code/same");
    x = (hone_explanation){0};
    ok(!hn_explain_code(side, true, &a, &x, NULL) && fact(&x, "copy", "registers", 0) == 16 && x.function,
       "explain_code/all_of_one_file");
    t[0] = b[0], t[0].listing = "other\n", t[1] = b[1];
    side[1] = (hn_cubin){"b", 90, t, 2, false};
    x = (hone_explanation){0};
    ok(!hn_explain_code(side, false, &a, &x, NULL) && said(&x, "other instructions or another order"),
       "explain_code/same_figures");
    hn_arena_free(&a);
}

int main(void) {
    test_compare();
    test_names();
    return done_testing();
}
