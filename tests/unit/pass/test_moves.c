/* Passes shapes, subnormal, batchnorm, transpose, attention. */
#include "pass_text.h"

#define IMAGE "input %0 : f32[1, 2, 6, 6] \"x\"\n"
#define WEIGHTS "%1 = const {value = f32[2, 2, 1, 1] (0x1p+0, 0x1p+1, 0x1.8p+1, 0x1p+2)}\n"
#define CONV                                                                                                           \
    "conv %0, %1 {low = [0, 0], high = [0, 0], stride = [1, 1], dilation = [1, 1], inflate = [1, 1], groups = 1, "     \
    "dtype = f32}"
#define CONV_OUT                                                                                                       \
    "conv %0, %1 {dtype = f32, low = [0, 0], high = [0, 0], stride = [1, 1], dilation = [1, 1], inflate = [1, 1], "    \
    "groups = 1} : f32[1, 2, 6, 6]\n"
#define CHANNELS(c) "broadcast " c " {shape = [1, 2, 6, 6], map = [1]}\n"

static const pass_case cases[] = {
    {"shapes/arithmetic_on_sizes", "shapes dce",
     "symbol n in 0..\ninput %0 : f32[n, 4] \"x\"\n%1 = dims {shape = [n, 4]}\n%2 = const {value = i64[1] (0)}\n"
     "%3 = gather %1, %2 {axis = 0, batch = 0}\n%4 = const {value = i64[1] (3)}\n%5 = mul %3, %4\noutput %5 \"y\"\n",
     "symbol n in 0..\ninput %0 : f32[n, 4] \"x\"\n%1 = dims {shape = [3*n]} : i64[1]\noutput %1 \"y\"\n"},
    {"shapes/known_bind_goes", "shapes dce",
     "symbol n in 0..\nsymbol s in 0..\ninput %0 : f32[n, 4] \"x\"\n%1 = dims {shape = [2*n]}\nbind %1 {defines = "
     "[s]}\n"
     "%2 = reshape %0 {shape = [2*n, 2]}\n%3 = broadcast %2 {shape = [s, 2*n, 2], map = [1, 2]}\noutput %3 \"y\"\n",
     "symbol n in 0..\nsymbol s in 0..\nequal s, 2*n\ninput %0 : f32[n, 4] \"x\"\n%1 = reshape %0 {shape = [2*n, 2]} : "
     "f32[2*n, 2]\n"
     "%2 = broadcast %1 {shape = [2*n, 2*n, 2], map = [1, 2]} : f32[2*n, 2*n, 2]\noutput %2 \"y\"\n"},
    {"shapes/unknown_bind_stays", "shapes",
     "symbol s in 0..\ninput %0 : i64[1] \"k\"\nbind %0 {defines = [s]}\n%1 = const {value = f32[] (0x1p+0)}\n"
     "%2 = broadcast %1 {shape = [s], map = []} : f32[s]\noutput %2 \"y\"\n",
     NULL},
    {"subnormal/of_a_conv_become_zero", "subnormal dce",
     IMAGE "%1 = const {value = f32[2, 2, 1, 1] (0x1p+0, 0x1p-127, -0x1p-149, 0x1p-126)}\n%2 = " CONV_OUT
           "output %2 \"y\"\n",
     IMAGE "%1 = const {value = f32[2, 2, 1, 1] (0x1p+0, 0x0p+0, 0x0p+0, 0x1p-126)}\n%2 = " CONV_OUT
           "output %2 \"y\"\n"},
    {"subnormal/of_a_product_become_zero_and_its_scale_goes_in", "subnormal batchnorm dce",
     "input %0 : f32[3, 2] \"x\"\n%1 = const {value = f32[2, 2] (0x1p-140, 0x1p+1, 0x1.8p+1, 0x1p+2)}\n"
     "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n%3 = const {value = f32[] "
     "(0x1p+1)}\n%4 = broadcast %3 {shape = [3, 2], map = []}\n%5 = mul %2, %4\noutput %5 \"y\"\n",
     "input %0 : f32[3, 2] \"x\"\n%1 = const {value = f32[2, 2] (0x0p+0, 0x1p+2, 0x1.8p+2, 0x1p+3)}\n"
     "%2 = contract %0, %1 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]} : f32[3, 2]\noutput %2 \"y\"\n"},
    {"subnormal/none_is_large_and_all_stay", "subnormal",
     IMAGE "%1 = const {value = f32[2, 2, 1, 1] (0x1p-101, 0x1p-127, 0x1p-149, 0x1p-126)}\n%2 = " CONV_OUT
           "output %2 \"y\"\n",
     NULL},
    {"subnormal/what_is_added_stays", "subnormal",
     "input %0 : f32[2] \"x\"\n%1 = const {value = f32[2] (0x1p+0, 0x1p-127)}\n%2 = add %0, %1 : f32[2]\noutput %2 "
     "\"y\"\n",
     NULL},
    {"batchnorm/scale_into_conv", "batchnorm dce",
     IMAGE WEIGHTS "%2 = " CONV "\n%3 = const {value = f32[2] (0x1p+1, 0x1p-1)}\n%4 = " CHANNELS(
         "%3") "%5 = mul %4, %2\noutput %5 \"y\"\n",
     IMAGE "%1 = const {value = f32[2, 2, 1, 1] (0x1p+1, 0x1p+2, 0x1.8p+0, 0x1p+1)}\n%2 = " CONV_OUT
           "output %2 \"y\"\n"},
    {"batchnorm/whole_chain", "batchnorm dce",
     IMAGE WEIGHTS "%2 = " CONV "\n%3 = const {value = f32[2] (0x1p+1, 0x1p-1)}\n%4 = " CHANNELS(
         "%3") "%5 = sub %2, %4\n"
               "%6 = mul %5, %4\n%7 = add %6, %4\noutput %7 \"y\"\n",
     IMAGE "%1 = const {value = f32[2, 2, 1, 1] (0x1p+1, 0x1p+2, 0x1.8p+0, 0x1p+1)}\n%2 = " CONV_OUT
           "%3 = const {value = f32[2] (0x1p+1, -0x1p-2)}\n%4 = broadcast %3 {shape = [1, 2, 6, 6], map = [1]} : "
           "f32[1, 2, 6, 6]\n"
           "%5 = sub %2, %4 : f32[1, 2, 6, 6]\noutput %5 \"y\"\n"},
    {"batchnorm/two_users_stay", "batchnorm",
     IMAGE WEIGHTS "%2 = " CONV_OUT "%3 = const {value = f32[2] (0x1p+1, 0x1p-1)}\n%4 = broadcast %3 {shape = [1, 2, "
                   "6, 6], map = [1]} : f32[1, 2, 6, 6]\n"
                   "%5 = mul %2, %4 : f32[1, 2, 6, 6]\noutput %2 \"c\"\noutput %5 \"y\"\n",
     NULL},
    {"batchnorm/another_dimension_stays", "batchnorm",
     IMAGE WEIGHTS "%2 = " CONV_OUT "%3 = const {value = f32[6] (0x1p+1, 0x1p-1, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0)}\n"
                   "%4 = broadcast %3 {shape = [1, 2, 6, 6], map = [2]} : f32[1, 2, 6, 6]\n%5 = mul %2, %4 : f32[1, 2, "
                   "6, 6]\noutput %5 \"y\"\n",
     NULL},
    {"batchnorm/overflow_stays", "batchnorm",
     IMAGE "%1 = const {value = f32[2, 2, 1, 1] (0x1p+100, 0x1p+1, 0x1.8p+1, 0x1p+2)}\n%2 = " CONV_OUT
           "%3 = const {value = f32[2] (0x1p+100, 0x1p-1)}\n%4 = broadcast %3 {shape = [1, 2, 6, 6], map = [1]} : "
           "f32[1, 2, 6, 6]\n"
           "%5 = mul %2, %4 : f32[1, 2, 6, 6]\noutput %5 \"y\"\n",
     NULL},
    {"batchnorm/scale_into_contract", "batchnorm dce",
     "symbol n in 0..\ninput %0 : f32[n, 2] \"x\"\n%1 = const {value = f32[2, 2] (0x1p+0, 0x1p+1, 0x1.8p+1, 0x1p+2)}\n"
     "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n%3 = const {value = f32[2] "
     "(0x1p+1, 0x1p-1)}\n"
     "%4 = broadcast %3 {shape = [n, 2], map = [1]}\n%5 = div %2, %4\noutput %5 \"y\"\n",
     "symbol n in 0..\ninput %0 : f32[n, 2] \"x\"\n%1 = const {value = f32[2, 2] (0x1p-1, 0x1p+2, 0x1.8p+0, 0x1p+3)}\n"
     "%2 = contract %0, %1 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]} : f32[n, 2]\noutput %2 \"y\"\n"},
    {"transpose/sinks_and_cancels", "transpose dce",
     "symbol n in 0..\ninput %0 : f32[n, 3, 4] \"x\"\ninput %1 : f32[n, 3, 4] \"b\"\n%2 = transpose %0 {perm = [0, 2, "
     "1]}\n"
     "%3 = transpose %1 {perm = [0, 2, 1]}\n%4 = exp %2\n%5 = add %4, %3\n%6 = transpose %5 {perm = [0, 2, 1]}\noutput "
     "%6 \"y\"\n",
     "symbol n in 0..\ninput %0 : f32[n, 3, 4] \"x\"\ninput %1 : f32[n, 3, 4] \"b\"\n%2 = exp %0 : f32[n, 3, 4]\n"
     "%3 = add %2, %1 : f32[n, 3, 4]\noutput %3 \"y\"\n"},
    {"transpose/through_a_bias", "transpose dce",
     "input %0 : f32[2, 50, 4] \"x\"\ninput %1 : f32[50] \"b\"\n%2 = transpose %0 {perm = [0, 2, 1]}\n"
     "%3 = broadcast %1 {shape = [2, 4, 50], map = [2]}\n%4 = add %2, %3\n%5 = transpose %4 {perm = [0, 2, 1]}\noutput "
     "%5 \"y\"\n",
     "input %0 : f32[2, 50, 4] \"x\"\ninput %1 : f32[50] \"b\"\n%2 = broadcast %1 {shape = [2, 50, 4], map = [1]} : "
     "f32[2, 50, 4]\n"
     "%3 = add %0, %2 : f32[2, 50, 4]\noutput %3 \"y\"\n"},
    {"transpose/other_use_stays", "transpose",
     "input %0 : f32[3, 4] \"x\"\n%1 = transpose %0 {perm = [1, 0]} : f32[4, 3]\n%2 = exp %1 : f32[4, 3]\noutput %1 "
     "\"t\"\noutput %2 \"y\"\n",
     NULL},
    {"transpose/through_a_sum", "transpose dce",
     "input %0 : f32[2, 3, 4] \"x\"\n%1 = transpose %0 {perm = [2, 0, 1]}\n%2 = sum %1 {axes = [1], keep = 0}\noutput "
     "%2 \"y\"\n",
     "input %0 : f32[2, 3, 4] \"x\"\n%1 = sum %0 {axes = [0], keep = 0} : f32[3, 4]\n%2 = transpose %1 {perm = [1, 0]} "
     ": f32[4, 3]\noutput %2 \"y\"\n"},
    {"transpose/into_labels", "transpose dce",
     "input %0 : f32[2, 3] \"x\"\ninput %1 : f32[4, 3] \"w\"\n%2 = transpose %1 {perm = [1, 0]}\n"
     "%3 = contract %0, %2 {lhs = [7, 9], rhs = [9, 8], out = [7, 8], dtype = f32}\n%4 = transpose %3 {perm = [1, "
     "0]}\noutput %4 \"y\"\n",
     "input %0 : f32[2, 3] \"x\"\ninput %1 : f32[4, 3] \"w\"\n"
     "%2 = contract %0, %1 {dtype = f32, lhs = [0, 1], rhs = [2, 1], out = [2, 0]} : f32[4, 2]\noutput %2 \"y\"\n"},
    {"transpose/grouped_heads", "transpose dce",
     "input %0 : f32[6, 3] \"x\"\ninput %1 : f32[3, 5] \"k\"\n%2 = broadcast %1 {shape = [6, 3, 5], map = [1, 2]}\n"
     "%3 = contract %0, %2 {lhs = [0, 1], rhs = [0, 1, 2], out = [0, 2], dtype = f32}\noutput %3 \"y\"\n",
     "input %0 : f32[6, 3] \"x\"\ninput %1 : f32[3, 5] \"k\"\n"
     "%2 = contract %0, %1 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]} : f32[6, 5]\noutput %2 \"y\"\n"},
};

#define ATTENTION(scale, softmax_axis)                                                                                 \
    "symbol n in 1..\ninput %0 : f32[n, 8] \"q\"\ninput %1 : f32[n, 8] \"k\"\ninput %2 : f32[n, 8] \"v\"\n"            \
    "%3 = const {value = f32[] (" scale ")}\n%4 = broadcast %3 {shape = [n, 8], map = []} : f32[n, 8]\n"               \
    "%5 = mul %0, %4 : f32[n, 8]\n%6 = contract %5, %1 {dtype = f32, lhs = [0, 1], rhs = [2, 1], out = [0, 2]} : "     \
    "f32[n, n]\n"                                                                                                      \
    "%7 = reduce_max %6 {axes = [1], keep = 1} : f32[n, 1]\n"                                                          \
    "%8 = broadcast %7 {shape = [n, n], map = [0, 1]} : f32[n, n]\n%9 = sub %6, %8 : f32[n, n]\n%10 = exp %9 : "       \
    "f32[n, n]\n"                                                                                                      \
    "%11 = sum %10 {axes = [1], keep = 1} : f32[n, 1]\n%12 = broadcast %11 {shape = [n, n], map = [0, 1]} : f32[n, "   \
    "n]\n"                                                                                                             \
    "%13 = " softmax_axis " %10, %12 : f32[n, n]\n"                                                                    \
    "%14 = contract %13, %2 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]} : f32[n, 8]\noutput %14 \"y\"\n"
#define MOVED(scale)                                                                                                   \
    "symbol n in 1..\ninput %0 : f32[n, 8] \"q\"\ninput %1 : f32[n, 8] \"k\"\ninput %2 : f32[n, 8] \"v\"\n"            \
    "%3 = contract %0, %1 {dtype = f32, lhs = [0, 1], rhs = [2, 1], out = [0, 2]} : f32[n, n]\n"                       \
    "%4 = const {value = f32[] (" scale ")}\n%5 = broadcast %4 {shape = [n, n], map = []} : f32[n, n]\n"               \
    "%6 = mul %3, %5 : f32[n, n]\n%7 = reduce_max %6 {axes = [1], keep = 1} : f32[n, 1]\n"                             \
    "%8 = broadcast %7 {shape = [n, n], map = [0, 1]} : f32[n, n]\n%9 = sub %6, %8 : f32[n, n]\n%10 = exp %9 : "       \
    "f32[n, n]\n"                                                                                                      \
    "%11 = sum %10 {axes = [1], keep = 1} : f32[n, 1]\n%12 = broadcast %11 {shape = [n, n], map = [0, 1]} : f32[n, "   \
    "n]\n"                                                                                                             \
    "%13 = div %10, %12 : f32[n, n]\n"                                                                                 \
    "%14 = contract %13, %2 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]} : f32[n, 8]\noutput %14 \"y\"\n"

/* An Einsum names operands as it likes. */
#define SWAPPED(scores, mixed)                                                                                         \
    "symbol n in 1..\ninput %0 : f32[n, 8] \"q\"\ninput %1 : f32[n, 8] \"k\"\ninput %2 : f32[n, 8] \"v\"\n"            \
    "%3 = contract " scores " : f32[n, n]\n%4 = reduce_max %3 {axes = [1], keep = 1} : f32[n, 1]\n"                    \
    "%5 = broadcast %4 {shape = [n, n], map = [0, 1]} : f32[n, n]\n%6 = sub %3, %5 : f32[n, n]\n"                      \
    "%7 = exp %6 : f32[n, n]\n%8 = sum %7 {axes = [1], keep = 1} : f32[n, 1]\n"                                        \
    "%9 = broadcast %8 {shape = [n, n], map = [0, 1]} : f32[n, n]\n%10 = div %7, %9 : f32[n, n]\n"                     \
    "%11 = contract " mixed " : f32[n, 8]\noutput %11 \"y\"\n"
#define QK "%0, %1 {dtype = f32, lhs = [0, 1], rhs = [2, 1], out = [0, 2]}"
#define KQ "%1, %0 {dtype = f32, lhs = [2, 1], rhs = [0, 1], out = [0, 2]}"
#define PV "%10, %2 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]}"
#define VP "%2, %10 {dtype = f32, lhs = [1, 2], rhs = [0, 1], out = [0, 2]}"

static const pass_case attention[] = {
    {"attention/power_of_two_moves", "attention", ATTENTION("0x1p-3", "div"), MOVED("0x1p-3")},
    {"attention/other_scale_stays", "attention", ATTENTION("0x1.8p-3", "div"), NULL},
    {"attention/other_scale_relaxed", "!attention", ATTENTION("0x1.8p-3", "div"), MOVED("0x1.8p-3")},
    {"attention/queries_go_first", "attention", SWAPPED(KQ, PV), SWAPPED(QK, PV)},
    {"attention/the_softmax_goes_first", "attention", SWAPPED(QK, VP), SWAPPED(QK, PV)},
    {"attention/both_go_first", "attention", SWAPPED(KQ, VP), SWAPPED(QK, PV)},
    {"attention/no_softmax_stays", "attention", ATTENTION("0x1p-3", "mul"), NULL},
};

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_pass(&cases[i]);
    for (size_t i = 0; i < sizeof attention / sizeof *attention; i++) check_pass(&attention[i]);
    return done_testing();
}
