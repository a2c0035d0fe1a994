/* Passes fold, cse, dce. */
#include "pass_text.h"

/* Carried: %8, used after the loop, and %9, which only makes itself and the scan. */
#define DCE_LOOP(outputs)                                                                                              \
    "symbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[2] \"x\"\n"                     \
    "%3, %4, %5 = loop %0, %1, %2, %2 {defines = [k], count = 1} : f32[2], f32[2], f32[k, 2] do (%6 : i64[], %7 : "    \
    "bool[], %8 : f32[2], %9 : f32[2]) {\n  %10 = exp %8\n  %11 = add %9, %2\n  %12 = sqrt %11\n  yield %7, %10, "     \
    "%11, "                                                                                                            \
    "%12\n}\n" outputs

#define HEX_66(x)                                                                                                      \
    x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x  \
        x x x x x x x x x
#define TABLE "const {value = u8[132] x\"" HEX_66("01") HEX_66("02") "\"}\n"
#define TABLE_UPPER "const {value = u8[66] x\"" HEX_66("01") "\"}\n"
#define TABLE_LOWER "const {value = u8[66] x\"" HEX_66("02") "\"}\n"
#define UPPER "slice %0 {shape = [66], start = [0], step = [1]} : u8[66]\n"
#define LOWER "slice %0 {shape = [66], start = [66], step = [1]} : u8[66]\n"
#define MOST "slice %0 {shape = [67], start = [65], step = [1]} : u8[67]\n"
#define VECTOR "input %0 : f32[2, 66] \"x\"\n"
#define PRODUCT(w, y)                                                                                                  \
    y " = contract %0, " w " {dtype = f32, lhs = [0, 1], rhs = [1], out = [0]} : f32[2]\noutput " y " \"y\"\n"
#define OUTPUTS "output %1 \"x\"\noutput %2 \"y\"\n"
#define OUTPUTS_CUT "output %0 \"x\"\noutput %1 \"y\"\n"

static const pass_case cases[] = {
    {"fold/adds_constants", "fold dce",
     "%0 = const {value = i32[2] (1, 2)}\n%1 = const {value = i32[2] (3, 4)}\n%2 = add %0, %1\noutput %2 \"y\"\n",
     "%0 = const {value = i32[2] (4, 6)}\noutput %0 \"y\"\n"},
    {"fold/keeps_a_large_broadcast", "fold",
     "%0 = const {value = f32[2] (0x1p+0, 0x1p+1)}\n"
     "%1 = broadcast %0 {shape = [100, 2], map = [1]} : f32[100, 2]\noutput %1 \"y\"\n",
     NULL},
    {"fold/shrinks_a_large_broadcast", "fold dce",
     "%0 = const {value = f32[2] (0x1p+0, 0x1p+1)}\n"
     "%1 = broadcast %0 {shape = [100, 2], map = [1]}\n%2 = sum %1 {axes = [0], keep = 0}\noutput %2 \"y\"\n",
     "%0 = const {value = f32[2] (0x1.9p+6, 0x1.9p+7)}\noutput %0 \"y\"\n"},
    {"fold/through_what_is_too_large_to_keep", "fold dce",
     "%0 = iota {shape = [9], dtype = u8, axis = 0}\n%1 = concat %0, %0, %0, %0, %0, %0, %0, %0 {axis = 0}\n"
     "%2 = reshape %1 {shape = [8, 9]}\n%3 = reduce_max %2 {axes = [0], keep = 0}\noutput %3 \"y\"\n",
     "%0 = const {value = u8[9] (0, 1, 2, 3, 4, 5, 6, 7, 8)}\noutput %0 \"y\"\n"},
    {"fold/cuts_a_constant_up", "fold dce", "%0 = " TABLE "%1 = " UPPER "%2 = " LOWER OUTPUTS,
     "%0 = " TABLE_UPPER "%1 = " TABLE_LOWER OUTPUTS_CUT},
    {"fold/keeps_parts_of_what_stays", "fold", "%0 = " TABLE "%1 = " UPPER "%2 = " LOWER OUTPUTS "output %0 \"z\"\n",
     NULL},
    {"fold/keeps_parts_that_overlap", "fold", "%0 = " TABLE "%1 = " UPPER "%2 = " MOST OUTPUTS, NULL},
    {"fold/weights_of_a_product_grow", "fold dce",
     VECTOR "%1 = " TABLE_UPPER "%2 = cast %1 {dtype = f32, saturate = 1}\n" PRODUCT("%2", "%3"),
     VECTOR "%1 = const {value = f32[66] x\"" HEX_66("0000803f") "\"}\n" PRODUCT("%1", "%2")},
    {"fold/what_no_product_reads_does_not", "fold",
     "%0 = " TABLE_UPPER "%1 = cast %0 {dtype = f32, saturate = 1} : f32[66]\noutput %1 \"y\"\n", NULL},
    {"fold/keeps_a_symbolic_iota", "fold",
     "symbol n in 0..\ninput %0 : f32[n] \"x\"\n%1 = iota {shape = [n], dtype = i64, axis = 0} : i64[n]\noutput %1 "
     "\"y\"\n",
     NULL},
    {"fold/small_iota", "fold", "%0 = iota {shape = [3], dtype = i32, axis = 0}\noutput %0 \"y\"\n",
     "%0 = const {value = i32[3] (0, 1, 2)}\noutput %0 \"y\"\n"},
    {"fold/gather_of_repeated_indices", "fold dce",
     "input %0 : f32[3, 5] \"x\"\n%1 = const {value = i64[4] (1, 1, 2, 2)}\n"
     "%2 = gather %0, %1 {axis = 0, batch = 0}\noutput %2 \"y\"\n",
     "input %0 : f32[3, 5] \"x\"\n%1 = slice %0 {shape = [2, 5], start = [1, 0], step = [1, 1]} : f32[2, 5]\n"
     "%2 = reshape %1 {shape = [2, 1, 5]} : f32[2, 1, 5]\n"
     "%3 = broadcast %2 {shape = [2, 2, 5], map = [0, 1, 2]} : f32[2, 2, 5]\n"
     "%4 = reshape %3 {shape = [4, 5]} : f32[4, 5]\noutput %4 \"y\"\n"},
    {"fold/gather_of_every_other_index_backwards", "fold dce",
     "input %0 : f32[5] \"x\"\n%1 = const {value = i32[3] (4, 2, 0)}\n"
     "%2 = gather %0, %1 {axis = 0, batch = 0}\noutput %2 \"y\"\n",
     "input %0 : f32[5] \"x\"\n%1 = slice %0 {shape = [3], start = [4], step = [-2]} : f32[3]\noutput %1 \"y\"\n"},
    {"fold/gather_of_indices_that_are_not_kept", "fold simplify dce",
     "input %0 : f32[200, 3] \"x\"\n%1 = iota {shape = [200], dtype = i64, axis = 0}\n"
     "%2 = gather %0, %1 {axis = 0, batch = 0}\noutput %2 \"y\"\n",
     "input %0 : f32[200, 3] \"x\"\noutput %0 \"y\"\n"},
    {"fold/gather_of_irregular_indices_stays", "fold",
     "input %0 : f32[5] \"x\"\n%1 = const {value = i64[4] (0, 0, 1, 2)}\n"
     "%2 = gather %0, %1 {axis = 0, batch = 0} : f32[4]\n%3 = const {value = i64[3] (-1, -1, 0)}\n"
     "%4 = gather %0, %3 {axis = 0, batch = 0} : f32[3]\noutput %2 \"y\"\noutput %4 \"z\"\n",
     NULL},
    {"fold/gather_of_indices_perhaps_outside_stays", "fold",
     "symbol n in 1..\ninput %0 : f32[n] \"x\"\n%1 = const {value = i64[4] (0, 0, 1, 1)}\n"
     "%2 = gather %0, %1 {axis = 0, batch = 0} : f32[4]\noutput %2 \"y\"\n",
     NULL},
    {"fold/keeps_random", "fold",
     "%0 = random {shape = [2], dtype = f32, mode = uniform, seed = 1} : f32[2]\noutput %0 \"y\"\n", NULL},
    {"fold/index_out_of_range_is_left_to_the_run", "fold",
     "%0 = const {value = f32[2] (0x1p+0, 0x1p+1)}\n%1 = const {value = i64[1] (7)}\n"
     "%2 = gather %0, %1 {axis = 0, batch = 0} : f32[1]\noutput %2 \"y\"\n",
     NULL},
    {"fold/if_takes_its_branch", "fold dce",
     "input %0 : f32[2] \"x\"\n%1 = const {value = bool[] (false)}\n%2 = if %1 do () {\n  %3 = neg %0\n  yield %3\n} "
     "do () "
     "{\n  %4 = exp %0\n  %5 = exp %4\n  yield %5\n}\n%6 = abs %2\noutput %6 \"y\"\n",
     "input %0 : f32[2] \"x\"\n%1 = exp %0 : f32[2]\n%2 = exp %1 : f32[2]\n%3 = abs %2 : f32[2]\noutput %3 \"y\"\n"},
    {"fold/if_unknown_stays", "fold",
     "input %0 : f32[2] \"x\"\ninput %1 : bool[] \"c\"\n%2 = if %1 : f32[2] do () {\n  %3 = neg %0 : f32[2]\n  yield "
     "%3\n} do () {\n  yield %0\n}\noutput %2 \"y\"\n",
     NULL},
    {"dce/if_results", "dce",
     "input %0 : bool[] \"c\"\ninput %1 : f32[2] \"x\"\n%2, %3, %4 = if %0 do () {\n  %5 = exp %1\n  %6 = sqrt %1\n  "
     "%7 "
     "= neg %1\n  yield %5, %6, %7\n} do () {\n  yield %1, %1, %1\n}\noutput %3 \"y\"\n",
     "input %0 : bool[] \"c\"\ninput %1 : f32[2] \"x\"\n%2 = if %0 : f32[2] do () {\n  %3 = sqrt %1 : f32[2]\n  yield "
     "%3\n} do () {\n  yield %1\n}\noutput %2 \"y\"\n"},
    {"dce/loop_carried_for_itself_goes", "dce", DCE_LOOP("output %3 \"y\"\n"),
     "symbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[2] \"x\"\n%3 = loop %0, %1, %2 "
     "{defines = [k], "
     "count = 0} : f32[2] do (%4 : i64[], %5 : bool[], %6 : f32[2]) {\n  %7 = exp %6 : f32[2]\n  yield %5, "
     "%7\n}\noutput "
     "%3 \"y\"\n"},
    {"dce/loop_carried_used_inside_stays", "dce", DCE_LOOP("output %5 \"y\"\n"),
     "symbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[2] \"x\"\n%3, %4 = loop %0, "
     "%1, %2 {defines = "
     "[k], count = 1} : f32[2], f32[k, 2] do (%5 : i64[], %6 : bool[], %7 : f32[2]) {\n  %8 = add %7, %2 : f32[2]\n  "
     "%9 = sqrt %8 : f32[2]\n  yield %6, %8, %9\n}\noutput %4 \"y\"\n"},
    {"dce/loop_that_defines_a_size_stays", "dce", DCE_LOOP("%20 = dims {shape = [k]}\noutput %20 \"y\"\n"),
     "symbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[2] \"x\"\nloop %0, %1 {defines "
     "= [k], count = 0} do (%3 "
     ": i64[], %4 : "
     "bool[]) {\n  yield %4\n}\n%5 = dims {shape = [k]} : i64[1]\noutput %5 \"y\"\n"},
    {"cse/shares", "cse dce", "input %0 : f32[2] \"x\"\n%1 = exp %0\n%2 = exp %0\n%3 = add %1, %2\noutput %3 \"y\"\n",
     "input %0 : f32[2] \"x\"\n%1 = exp %0 : f32[2]\n%2 = add %1, %1 : f32[2]\noutput %2 \"y\"\n"},
    {"cse/attributes_matter", "cse",
     "input %0 : f32[2, 2] \"x\"\n%1 = sum %0 {axes = [0], keep = 0} : f32[2]\n%2 = sum %0 {axes = [1], keep = 0} : "
     "f32[2]\n%3 = add %1, %2 : f32[2]\noutput %3 \"y\"\n",
     NULL},
    {"cse/minus_zero_is_another_constant", "cse",
     "input %0 : f32[1] \"x\"\n%1 = const {value = f32[1] (0x0p+0)}\n%2 = const {value = f32[1] (-0x0p+0)}\n"
     "%3 = div %0, %1 : f32[1]\n%4 = div %0, %2 : f32[1]\noutput %3 \"a\"\noutput %4 \"b\"\n",
     NULL},
    {"cse/random_is_not_shared", "cse",
     "%0 = random {shape = [2], dtype = f32, mode = uniform, seed = 1} : f32[2]\n"
     "%1 = random {shape = [2], dtype = f32, mode = uniform, seed = 1} : f32[2]\noutput %0 \"a\"\noutput %1 \"b\"\n",
     NULL},
    {"cse/regions_see_what_is_around", "cse",
     "input %0 : bool[] \"c\"\ninput %1 : f32[2] \"x\"\n%2 = exp %1\n%3 = if %0 do () {\n  %4 = exp %1\n  %5 = sqrt "
     "%1\n  yield %4\n} do () {\n  %6 = sqrt %1\n  yield %6\n}\n%7 = sqrt %1\n%8 = add %2, %3\n%9 = add %7, %8\noutput "
     "%9 \"y\"\n",
     "input %0 : bool[] \"c\"\ninput %1 : f32[2] \"x\"\n%2 = exp %1 : f32[2]\n%3 = if %0 : f32[2] do () {\n  %4 = sqrt "
     "%1 "
     ": f32[2]\n  yield %2\n} do () {\n  %5 = sqrt %1 : f32[2]\n  yield %5\n}\n%6 = sqrt %1 : f32[2]\n%7 = add %2, %3 "
     ": f32[2]\n"
     "%8 = add %6, %7 : f32[2]\noutput %8 \"y\"\n"},
    {"dce/unused_goes", "dce", "input %0 : f32[2] \"x\"\n%1 = exp %0\n%2 = neg %1\noutput %0 \"y\"\n",
     "input %0 : f32[2] \"x\"\noutput %0 \"y\"\n"},
    {"dce/bind_of_a_used_symbol_stays", "dce",
     "symbol s in 0..\ninput %0 : i64[1] \"k\"\nbind %0 {defines = [s]}\n%1 = const {value = f32[] (0x1p+0)}\n"
     "%2 = broadcast %1 {shape = [s], map = []} : f32[s]\noutput %2 \"y\"\n",
     NULL},
    {"dce/bind_of_an_unused_symbol_goes", "dce",
     "symbol s in 0..\ninput %0 : i64[1] \"k\"\nbind %0 {defines = [s]}\noutput %0 \"y\"\n",
     "symbol s in 0..\ninput %0 : i64[1] \"k\"\noutput %0 \"y\"\n"},
    {"dce/a_loop_whose_count_is_used_stays", "dce",
     "symbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[2] \"x\"\n"
     "%3 = loop %0, %1 {defines = [k], count = 1} : f32[k, 2] do (%4 : i64[], %5 : bool[]) {\n"
     "  yield %5, %2\n}\n%6 = dims {shape = [k]} : i64[1]\noutput %6 \"y\"\n",
     "symbol k in 0..\ninput %0 : i64[] \"n\"\ninput %1 : bool[] \"go\"\ninput %2 : f32[2] \"x\"\n"
     "loop %0, %1 {defines = [k], count = 0} do (%3 : i64[], %4 : bool[]) {\n  yield %4\n}\n"
     "%5 = dims {shape = [k]} : i64[1]\noutput %5 \"y\"\n"},
};

int main(void) { return check_passes(cases, sizeof cases / sizeof *cases); }
