/* Pass simplify: each rule where it applies, and beside it a case that looks alike and must stay. */
#include "pass_text.h"

#define X "input %0 : f32[4] \"x\"\n"
#define XY "input %0 : f32[4] \"x\"\ninput %1 : f32[4] \"y\"\n"
#define I "input %0 : i32[4] \"x\"\n"
#define F4(c) "const {value = f32[4] (" c ", " c ", " c ", " c ")}\n"
#define I4(c) "const {value = i32[4] (" c ", " c ", " c ", " c ")}\n"
#define OUT0 "output %0 \"y\"\n"
#define OUT1 "output %1 \"z\"\n"
#define OUT2 "output %2 \"z\"\n"
#define OUT3 "output %3 \"z\"\n"

/* A dense layer that makes heads, as an Einsum writes it. */
#define ROWS "input %0 : f32[3, 2] \"x\"\n"
#define W224 "%1 = const {value = f32[2, 2, 2] (0x1p+0, 0x1p+1, 0x1p+2, 0x1p+3, 0x1p+4, 0x1p+5, 0x1p+6, 0x1p+7)}\n"
#define W24 "%1 = const {value = f32[2, 4] (0x1p+0, 0x1p+1, 0x1p+2, 0x1p+3, 0x1p+4, 0x1p+5, 0x1p+6, 0x1p+7)}\n"
#define HALVES "input %0 : f16[3, 2] \"x\"\ninput %1 : bf16[2, 4] \"w\"\n"
#define LINES "input %0 : f16[1, 2, 5] \"x\"\ninput %1 : f16[1, 2, 3] \"w\"\n"
#define HEADS "%2 = contract %0, %1 {dtype = f32, lhs = [0, 1], rhs = [1, 2, 3], out = [0, 2, 3]} : f32[3, 2, 2]\n"
#define TURNED "%2 = contract %0, %1 {dtype = f32, lhs = [0, 1], rhs = [1, 2, 3], out = [0, 3, 2]} : f32[3, 2, 2]\n"
#define MATRIX "%2 = contract %0, %1 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]} : f32[3, 4]\n"

/* x with a limit, then times 40, rounded, shifted and cast; and the same without the limit. */
#define LIMITED(op, limit) X "%1 = " F4(limit) "%2 = " op " %0, %1 : f32[4]\n"
#define TO_BYTES(zero, type)                                                                                           \
    "%3 = " F4("0x1.4p+5") "%4 = mul %2, %3 : f32[4]\n%5 = round %4 : f32[4]\n%6 = " F4(                               \
        zero) "%7 = add %5, %6 : f32[4]\n%8 = cast %7 {dtype = " type ", saturate = 1} : " type                        \
              "[4]\noutput %8 \"z\"\n"
#define UNLIMITED(zero, type)                                                                                          \
    X "%1 = " F4("0x1.4p+5") "%2 = " F4(zero) "%3 = mul %0, %1 : f32[4]\n%4 = round %3 : f32[4]\n"                     \
                                              "%5 = add %4, %2 : f32[4]\n%6 = cast %5 {dtype = " type                  \
                                              ", saturate = 1} : " type "[4]\noutput %6 \"z\"\n"

static const pass_case cases[] = {
    {"simplify/labels_of_weights_become_one", "simplify fold dce", ROWS W224 HEADS OUT2,
     ROWS W24 MATRIX "%3 = reshape %2 {shape = [3, 2, 2]} : f32[3, 2, 2]\n" OUT3},
    {"simplify/labels_that_part_stay", "simplify fold dce", ROWS W224 TURNED OUT2, NULL},
    {"simplify/what_is_added_comes_before_the_reshape", "simplify fold dce",
     "input %0 : f32[3, 2] \"x\"\ninput %9 : f32[2, 2] \"b\"\n" W224 HEADS
     "%4 = broadcast %9 {shape = [3, 2, 2], map = [1, 2]}\n%5 = add %2, %4\noutput %5 \"z\"\n",
     "input %0 : f32[3, 2] \"x\"\ninput %1 : f32[2, 2] \"b\"\n"
     "%2 = const {value = f32[2, 4] (0x1p+0, 0x1p+1, 0x1p+2, 0x1p+3, 0x1p+4, 0x1p+5, 0x1p+6, 0x1p+7)}\n"
     "%3 = contract %0, %2 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]} : f32[3, 4]\n"
     "%4 = reshape %1 {shape = [4]} : f32[4]\n%5 = broadcast %4 {shape = [3, 4], map = [1]} : f32[3, 4]\n"
     "%6 = add %3, %5 : f32[3, 4]\n%7 = reshape %6 {shape = [3, 2, 2]} : f32[3, 2, 2]\noutput %7 \"z\"\n"},
    {"simplify/product_of_halves_is_one_of_singles", "simplify dce",
     HALVES "%2 = contract %0, %1 {dtype = bf16, lhs = [0, 1], rhs = [1, 2], out = [0, 2]}\noutput %2 \"z\"\n",
     HALVES
     "%2 = cast %0 {dtype = f32, saturate = 1} : f32[3, 2]\n%3 = cast %1 {dtype = f32, saturate = 1} : f32[2, 4]\n"
     "%4 = contract %2, %3 {dtype = f32, lhs = [0, 1], rhs = [1, 2], out = [0, 2]} : f32[3, 4]\n"
     "%5 = cast %4 {dtype = bf16, saturate = 1} : bf16[3, 4]\noutput %5 \"z\"\n"},
    {"simplify/convolution_of_halves_is_one_of_singles", "simplify dce",
     LINES
     "%2 = conv %0, %1 {dtype = f32, low = [0], high = [0], stride = [1], dilation = [1], inflate = [1], groups = "
     "1}\noutput %2 \"z\"\n",
     LINES
     "%2 = cast %0 {dtype = f32, saturate = 1} : f32[1, 2, 5]\n%3 = cast %1 {dtype = f32, saturate = 1} : f32[1, 2, "
     "3]\n%4 = conv %2, %3 {dtype = f32, low = [0], high = [0], stride = [1], dilation = [1], inflate = [1], groups "
     "= 1} : f32[1, 1, 3]\noutput %4 \"z\"\n"},
    {"simplify/add_minus_zero", "simplify", X "%1 = " F4("-0x0p+0") "%2 = add %0, %1\noutput %2 \"y\"\n", X OUT0},
    {"simplify/add_zero_stays", "simplify", X "%1 = " F4("0x0p+0") "%2 = add %0, %1 : f32[4]\n" OUT2, NULL},
    {"simplify/add_zero_relaxed", "!simplify", X "%1 = " F4("0x0p+0") "%2 = add %0, %1 : f32[4]\noutput %2 \"y\"\n",
     X OUT0},
    {"simplify/zero_add_integers", "simplify", I "%1 = " I4("0") "%2 = add %1, %0\noutput %2 \"y\"\n", I OUT0},
    {"simplify/constant_goes_right", "simplify dce", X "%1 = " F4("0x1p+1") "%2 = add %1, %0\n" OUT2,
     X "%1 = " F4("0x1p+1") "%2 = add %0, %1 : f32[4]\n" OUT2},
    {"simplify/sub_zero", "simplify", X "%1 = " F4("0x0p+0") "%2 = sub %0, %1\noutput %2 \"y\"\n", X OUT0},
    {"simplify/sub_minus_zero_stays", "simplify", X "%1 = " F4("-0x0p+0") "%2 = sub %0, %1 : f32[4]\n" OUT2, NULL},
    {"simplify/sub_self_integers", "simplify fold dce", I "%1 = sub %0, %0\n" OUT1, I "%1 = " I4("0") OUT1},
    {"simplify/sub_self_floats_stays", "simplify", X "%1 = sub %0, %0 : f32[4]\n" OUT1, NULL},
    {"simplify/mul_one", "simplify", X "%1 = " F4("0x1p+0") "%2 = mul %1, %0\noutput %2 \"y\"\n", X OUT0},
    {"simplify/mul_zero_floats_stays", "simplify", X "%1 = " F4("0x0p+0") "%2 = mul %0, %1 : f32[4]\n" OUT2, NULL},
    {"simplify/mul_minus_one", "simplify", X "%1 = " F4("-0x1p+0") "%2 = mul %0, %1\noutput %2 \"z\"\n",
     X "%1 = neg %0 : f32[4]\n" OUT1},
    {"simplify/div_power_of_two", "simplify fold dce", X "%1 = " F4("0x1p+3") "%2 = div %0, %1\n" OUT2,
     X "%1 = " F4("0x1p-3") "%2 = mul %0, %1 : f32[4]\n" OUT2},
    {"simplify/div_three_stays", "simplify", X "%1 = " F4("0x1.8p+1") "%2 = div %0, %1 : f32[4]\n" OUT2, NULL},
    {"simplify/div_three_relaxed", "!simplify fold dce", X "%1 = " F4("0x1.8p+1") "%2 = div %0, %1 : f32[4]\n" OUT2,
     X "%1 = " F4("0x1.555556p-2") "%2 = mul %0, %1 : f32[4]\n" OUT2},
    {"simplify/div_huge_power_stays", "simplify", X "%1 = " F4("0x1p+127") "%2 = div %0, %1 : f32[4]\n" OUT2, NULL},
    {"simplify/one_by", "simplify", X "%1 = " F4("0x1p+0") "%2 = div %1, %0\n" OUT2, X "%1 = recip %0 : f32[4]\n" OUT1},
    {"simplify/add_neg", "simplify", XY "%2 = neg %1\n%3 = add %0, %2\n" OUT3, XY "%2 = sub %0, %1 : f32[4]\n" OUT2},
    {"simplify/neg_neg", "simplify", X "%1 = neg %0\n%2 = neg %1\noutput %2 \"y\"\n", X OUT0},
    {"simplify/pow_two", "simplify dce", X "%1 = " F4("0x1p+1") "%2 = pow %0, %1\n" OUT2,
     X "%1 = mul %0, %0 : f32[4]\n" OUT1},
    {"simplify/pow_half_stays", "simplify", X "%1 = " F4("0x1p-1") "%2 = pow %0, %1 : f32[4]\n" OUT2, NULL},
    {"simplify/pow_half_relaxed", "!simplify dce", X "%1 = " F4("0x1p-1") "%2 = pow %0, %1 : f32[4]\n" OUT2,
     X "%1 = sqrt %0 : f32[4]\n" OUT1},
    {"simplify/lower_limit_of_the_byte", "simplify dce", LIMITED("max", "0x0p+0") TO_BYTES("-0x1p+0", "u8"),
     UNLIMITED("-0x1p+0", "u8")},
    {"simplify/lower_limit_above_the_byte_s_stays", "simplify dce", LIMITED("max", "0x0p+0") TO_BYTES("0x1p+0", "u8"),
     NULL},
    {"simplify/upper_limit_of_the_byte", "simplify dce", LIMITED("min", "0x1.8p+2") TO_BYTES("0x1.ep+3", "u8"),
     UNLIMITED("0x1.ep+3", "u8")},
    {"simplify/upper_limit_below_the_byte_s_stays", "simplify dce",
     LIMITED("min", "0x1.8p+2") TO_BYTES("0x1.cp+3", "u8"), NULL},
    {"simplify/lower_limit_of_the_signed_byte", "simplify dce", LIMITED("max", "0x0p+0") TO_BYTES("-0x1p+7", "i8"),
     UNLIMITED("-0x1p+7", "i8")},
    {"simplify/lower_limit_above_the_signed_byte_s_stays", "simplify dce",
     LIMITED("max", "0x0p+0") TO_BYTES("-0x1.fcp+6", "i8"), NULL},
    {"simplify/limit_of_a_wider_integer_stays", "simplify dce", LIMITED("max", "0x0p+0") TO_BYTES("-0x1p+0", "u16"),
     NULL},
    {"simplify/cast_there_and_back", "simplify",
     "input %0 : f16[4] \"x\"\n%1 = cast %0 {dtype = f32, saturate = 1}\n%2 = cast %1 {dtype = f16, saturate = "
     "1}\noutput %2 \"y\"\n",
     "input %0 : f16[4] \"x\"\n" OUT0},
    {"simplify/cast_narrow_stays", "simplify",
     X "%1 = cast %0 {dtype = f16, saturate = 1} : f16[4]\n%2 = cast %1 {dtype = f32, saturate = 1} : f32[4]\n" OUT2,
     NULL},
    {"simplify/cast_skips_a_wide_step", "simplify",
     "input %0 : i8[4] \"x\"\n%1 = cast %0 {dtype = i32, saturate = 1}\n%2 = cast %1 {dtype = f32, saturate = "
     "1}\n" OUT2,
     "input %0 : i8[4] \"x\"\n%1 = cast %0 {dtype = f32, saturate = 1} : f32[4]\n" OUT1},
    {"simplify/not_lt_floats_stays", "simplify", XY "%2 = lt %0, %1 : bool[4]\n%3 = not %2 : bool[4]\n" OUT3, NULL},
    {"simplify/not_eq", "simplify", XY "%2 = eq %0, %1\n%3 = not %2\n" OUT3, XY "%2 = ne %0, %1 : bool[4]\n" OUT2},
    {"simplify/select_known", "simplify",
     XY "%2 = const {value = bool[4] (true, true, true, true)}\n%3 = select %2, %0, %1\noutput %3 \"y\"\n", XY OUT0},
    {"simplify/select_mixed_stays", "simplify",
     XY "%2 = const {value = bool[4] (true, true, true, false)}\n%3 = select %2, %0, %1 : f32[4]\n" OUT3, NULL},
    {"simplify/transpose_twice", "simplify",
     "input %0 : f32[2, 3, 4] \"x\"\n%1 = transpose %0 {perm = [2, 0, 1]}\n%2 = transpose %1 {perm = [1, 2, "
     "0]}\noutput %2 \"y\"\n",
     "input %0 : f32[2, 3, 4] \"x\"\n" OUT0},
    {"simplify/transpose_composes", "simplify",
     "input %0 : f32[2, 3, 4] \"x\"\n%1 = transpose %0 {perm = [2, 0, 1]}\n%2 = transpose %1 {perm = [0, 2, 1]}\n" OUT2,
     "input %0 : f32[2, 3, 4] \"x\"\n%1 = transpose %0 {perm = [2, 1, 0]} : f32[4, 3, 2]\n" OUT1},
    {"simplify/transpose_of_ones", "simplify",
     "input %0 : f32[2, 1, 4] \"x\"\n%1 = transpose %0 {perm = [1, 0, 2]}\n" OUT1,
     "input %0 : f32[2, 1, 4] \"x\"\n%1 = reshape %0 {shape = [1, 2, 4]} : f32[1, 2, 4]\n" OUT1},
    {"simplify/reshape_symbolic_same", "simplify",
     "symbol n in 0..\ninput %0 : f32[n, 4] \"x\"\n%1 = reshape %0 {shape = [4*n]}\n%2 = reshape %1 {shape = [n, "
     "4]}\noutput %2 \"y\"\n",
     "symbol n in 0..\ninput %0 : f32[n, 4] \"x\"\n" OUT0},
    {"simplify/slice_of_slice", "simplify",
     "input %0 : f32[20] \"x\"\n%1 = slice %0 {shape = [10], start = [1], step = [2]}\n"
     "%2 = slice %1 {shape = [3], start = [9], step = [-3]}\n" OUT2,
     "input %0 : f32[20] \"x\"\n%1 = slice %0 {shape = [3], start = [19], step = [-6]} : f32[3]\n" OUT1},
    {"simplify/pad_nothing", "simplify", X "%1 = pad %0 {low = [0], high = [0], mode = edge}\noutput %1 \"y\"\n",
     X OUT0},
    {"simplify/broadcast_twice", "simplify",
     "input %0 : f32[3] \"x\"\n%1 = broadcast %0 {shape = [2, 3], map = [1]}\n%2 = broadcast %1 {shape = [2, 5, 3], "
     "map = [0, 2]}\n" OUT2,
     "input %0 : f32[3] \"x\"\n%1 = broadcast %0 {shape = [2, 5, 3], map = [2]} : f32[2, 5, 3]\n" OUT1},
    {"simplify/gather_is_slice", "simplify dce",
     "input %0 : f32[3, 5] \"x\"\n%1 = const {value = i64[] (-1)}\n%2 = gather %0, %1 {axis = 0, batch = 0}\n" OUT2,
     "input %0 : f32[3, 5] \"x\"\n%1 = slice %0 {shape = [1, 5], start = [2, 0], step = [1, 1]} : f32[1, 5]\n"
     "%2 = reshape %1 {shape = [5]} : f32[5]\n" OUT2},
    {"simplify/gather_of_unknown_size_stays", "simplify",
     "symbol n in 0..\ninput %0 : f32[n, 5] \"x\"\n%1 = const {value = i64[] (0)}\n"
     "%2 = gather %0, %1 {axis = 0, batch = 0} : f32[5]\n" OUT2,
     NULL},
    {"simplify/gather_elements_of_rows_is_gather", "simplify dce",
     "input %0 : f32[9, 4] \"x\"\ninput %1 : i64[6] \"i\"\n%2 = broadcast %1 {shape = [6, 4], map = [0]}\n%3 = "
     "gather_elements %0, %2 {axis = 0}\noutput %3 \"z\"\n",
     "input %0 : f32[9, 4] \"x\"\ninput %1 : i64[6] \"i\"\n%2 = gather %0, %1 {axis = 0, batch = 0} : f32[6, "
     "4]\noutput %2 \"z\"\n"},
    {"simplify/gather_elements_of_columns_is_gather", "simplify dce",
     "input %0 : f32[4, 9] \"x\"\ninput %1 : i64[1, 6] \"i\"\n%2 = broadcast %1 {shape = [4, 6], map = [0, 1]}\n%3 = "
     "gather_elements %0, %2 {axis = 1}\noutput %3 \"z\"\n",
     "input %0 : f32[4, 9] \"x\"\ninput %1 : i64[1, 6] \"i\"\n%2 = reshape %1 {shape = [6]} : i64[6]\n%3 = gather %0, "
     "%2 {axis = 1, batch = 0} : f32[4, 6]\noutput %3 \"z\"\n"},
    {"simplify/gather_elements_of_part_of_rows_stays", "simplify dce",
     "input %0 : f32[9, 5] \"x\"\ninput %1 : i64[6] \"i\"\n%2 = broadcast %1 {shape = [6, 4], map = [0]} : i64[6, "
     "4]\n%3 = gather_elements %0, %2 {axis = 0} : f32[6, 4]\noutput %3 \"z\"\n",
     NULL},
    {"simplify/gather_elements_by_indices_along_the_others_stays", "simplify dce",
     "input %0 : f32[9, 4] \"x\"\ninput %1 : i64[4] \"i\"\n%2 = broadcast %1 {shape = [6, 4], map = [1]} : i64[6, "
     "4]\n%3 = gather_elements %0, %2 {axis = 0} : f32[6, 4]\noutput %3 \"z\"\n",
     NULL},
    {"simplify/scatter_elements_of_rows_is_scatter_nd", "simplify dce",
     "input %0 : f32[9, 4] \"x\"\ninput %1 : i64[6] \"i\"\ninput %2 : f32[6, 4] \"u\"\n%3 = broadcast %1 {shape = [6, "
     "4], map = [0]}\n%4 = scatter_elements %0, %3, %2 {axis = 0, mode = add}\noutput %4 \"z\"\n",
     "input %0 : f32[9, 4] \"x\"\ninput %1 : i64[6] \"i\"\ninput %2 : f32[6, 4] \"u\"\n%3 = reshape %1 {shape = [6, "
     "1]} : i64[6, 1]\n%4 = scatter_nd %0, %3, %2 {mode = add} : f32[9, 4]\noutput %4 \"z\"\n"},
    {"simplify/scatter_elements_of_columns_stays", "simplify dce",
     "input %0 : f32[4, 9] \"x\"\ninput %1 : i64[6] \"i\"\ninput %2 : f32[4, 6] \"u\"\n%3 = broadcast %1 {shape = [4, "
     "6], map = [1]} : i64[4, 6]\n%4 = scatter_elements %0, %3, %2 {axis = 1, mode = add} : f32[4, 9]\noutput %4 "
     "\"z\"\n",
     NULL},
    {"simplify/scatter_elements_of_part_of_rows_stays", "simplify dce",
     "input %0 : f32[9, 5] \"x\"\ninput %1 : i64[6] \"i\"\ninput %2 : f32[6, 4] \"u\"\n%3 = broadcast %1 {shape = [6, "
     "4], map = [0]} : i64[6, 4]\n%4 = scatter_elements %0, %3, %2 {axis = 0, mode = set} : f32[9, 5]\noutput %4 "
     "\"z\"\n",
     NULL},
    {"simplify/sum_of_one", "simplify", "input %0 : f32[3, 1] \"x\"\n%1 = sum %0 {axes = [1], keep = 0}\n" OUT1,
     "input %0 : f32[3, 1] \"x\"\n%1 = reshape %0 {shape = [3]} : f32[3]\n" OUT1},
    {"simplify/uniform_arithmetic", "simplify fold dce",
     "symbol n in 0..\ninput %0 : f32[n] \"x\"\n%1 = const {value = f32[] (0x1p+1)}\n%2 = broadcast %1 {shape = [n], "
     "map = []}\n"
     "%3 = sqrt %2\n%4 = exp %0\n%5 = mul %4, %3\noutput %5 \"y\"\n",
     "symbol n in 0..\ninput %0 : f32[n] \"x\"\n%1 = const {value = f32[] (0x1.6a09e6p+0)}\n"
     "%2 = broadcast %1 {shape = [n], map = []} : f32[n]\n%3 = exp %0 : f32[n]\n%4 = mul %3, %2 : f32[n]\noutput %4 "
     "\"y\"\n"},
};

int main(void) { return check_passes(cases, sizeof cases / sizeof *cases); }
