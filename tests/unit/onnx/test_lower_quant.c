/* The lowerings of quantisation: cases that ONNX's own suite has not. Expected values: ONNX Runtime 1.31 and the
 * reference evaluator of ONNX 1.22, or the operator's formula. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"quantize_rounds_half_to_even_before_the_zero_point",
     "opset 10\n"
     "in x f32 [5]\n"
     "in w f32 []\n"
     "in b u8 []\n"
     "node QuantizeLinear x,w,b > y\n",
     "x f32 [5] = 0.5 1.5 2.5 3.5 -1.5\n"
     "w f32 [] = 1\n"
     "b u8 [] = 3\n",
     "y u8 [5] = 3 5 5 7 1\n"},
    {"quantize_saturates",
     "opset 10\n"
     "in x f32 [4]\n"
     "in w f32 []\n"
     "in b i8 []\n"
     "node QuantizeLinear x,w,b > y\n",
     "x f32 [4] = 1e+09 -1e+09 127.599998 -128.600006\n"
     "w f32 [] = 1\n"
     "b i8 [] = 0\n",
     "y i8 [4] = 127 -128 127 -128\n"},
    {"quantize_without_zero_point_gives_bytes",
     "opset 10\n"
     "in x f32 [3]\n"
     "in w f32 []\n"
     "node QuantizeLinear x,w > y\n",
     "x f32 [3] = 1 300 -4\n"
     "w f32 [] = 2\n",
     "y u8 [3] = 0 150 0\n"},
    {"quantize_along_an_axis",
     "opset 13\n"
     "in x f32 [a,b]\n"
     "in w f32 [2]\n"
     "in b i8 [2]\n"
     "node QuantizeLinear x,w,b > y axis=0\n",
     "x f32 [2,3] = -1 -1.25 -0.75 1.5 -0.25 0.5\n"
     "w f32 [2] = 0.5 0.25\n"
     "b i8 [2] = 1 -2\n",
     "y i8 [2,3] = -1 -1 -1 4 -3 0\n"},
    {"quantize_along_a_negative_axis",
     "opset 19\n"
     "in x f32 [2,3]\n"
     "in w f32 [3]\n"
     "in b i8 [3]\n"
     "node QuantizeLinear x,w,b > y axis=-1\n",
     "x f32 [2,3] = -1.75 -0.75 1 1.25 0.25 1.5\n"
     "w f32 [3] = 0.5 0.25 1\n"
     "b i8 [3] = 1 -2 0\n",
     "y i8 [2,3] = -3 -5 1 3 -1 2\n"},
    {"quantize_blocks_the_last_of_which_is_short",
     "opset 21\n"
     "in x f32 [1,5]\n"
     "in w f32 [1,3]\n"
     "in b u8 [1,3]\n"
     "node QuantizeLinear x,w,b > y axis=1 block_size=2\n",
     "x f32 [1,5] = -0.75 -1.5 -1.75 -1.25 1\n"
     "w f32 [1,3] = 0.5 0.25 1\n"
     "b u8 [1,3] = 1 2 3\n",
     "y u8 [1,5] = 0 0 0 0 4\n"},
    {"quantize_to_a_type_by_name",
     "opset 21\n"
     "in x f32 [3]\n"
     "in w f32 []\n"
     "node QuantizeLinear x,w > y output_dtype=5\n",
     "x f32 [3] = 1750 -1500 0\n"
     "w f32 [] = 0.5\n",
     "y i16 [3] = 3500 -3000 0\n"},
    {"dequantize_along_an_axis",
     "opset 13\n"
     "in x i8 [a,b]\n"
     "in w f32 [3]\n"
     "in b i8 [3]\n"
     "node DequantizeLinear x,w,b > y axis=1\n",
     "x i8 [2,3] = 1 2 3 4 5 6\n"
     "w f32 [3] = 0.5 0.25 1\n"
     "b i8 [3] = 1 -2 0\n",
     "y f32 [2,3] = 0 1 3 1.5 1.75 6\n"},
    {"dequantize_blocks_with_symbolic_sizes",
     "opset 21\n"
     "in x u8 [a,b]\n"
     "in w f32 [a,c]\n"
     "node DequantizeLinear x,w > y axis=-1 block_size=2\n",
     "x u8 [1,5] = 1 2 3 4 5\n"
     "w f32 [1,3] = 0.5 0.25 1\n",
     "y f32 [1,5] = 0.5 1 0.75 1 5\n"},
    {"dequantize_words_of_32_bits",
     "opset 10\n"
     "in x i32 [2]\n"
     "in w f32 []\n"
     "node DequantizeLinear x,w > y\n",
     "x i32 [2] = 70000 -3\n"
     "w f32 [] = 0.5\n",
     "y f32 [2] = 35000 -1.5\n"},
    {"dynamic_widens_the_range_to_zero",
     "opset 11\n"
     "in x f32 [n]\n"
     "node DynamicQuantizeLinear x > y,s,z\n",
     "x f32 [3] = 2 5.0999999 3\n",
     "y u8 [3] = 100 255 150\n"
     "s f32 [] = 0.0199999996\n"
     "z u8 [] = 0\n"},
    {"dynamic_of_zeros",
     "opset 11\n"
     "in x f32 [2]\n"
     "node DynamicQuantizeLinear x > y,s,z\n",
     "x f32 [2] = 0 0\n",
     "y u8 [2] = 0 0\n"
     "s f32 [] = 1\n"
     "z u8 [] = 0\n"},
    {"matmul_integer_with_zero_points",
     "opset 10\n"
     "in x u8 [M,2]\n"
     "in w u8 [2,2]\n"
     "in b u8 []\n"
     "in i3 u8 []\n"
     "node MatMulInteger x,w,b,i3 > y\n",
     "x u8 [2,2] = 1 200 3 4\n"
     "w u8 [2,2] = 5 6 7 250\n"
     "b u8 [] = 2\n"
     "i3 u8 [] = 255\n",
     "y i32 [2,2] = -48854 -741 -746 -259\n"},
    {"matmul_integer_per_row_and_column",
     "opset 10\n"
     "in x u8 [2,2]\n"
     "in w u8 [2,2]\n"
     "in b u8 [2]\n"
     "in i3 u8 [2]\n"
     "node MatMulInteger x,w,b,i3 > y\n",
     "x u8 [2,2] = 1 200 3 4\n"
     "w u8 [2,2] = 5 6 7 250\n"
     "b u8 [2] = 1 2\n"
     "i3 u8 [2] = 3 4\n",
     "y i32 [2,2] = 796 48954 10 494\n"},
    {"qlinear_matmul_with_scales_per_column",
     "opset 10\n"
     "in x u8 [2,2]\n"
     "in w f32 []\n"
     "in b u8 []\n"
     "in i3 i8 [2,2]\n"
     "in i4 f32 [2]\n"
     "in i5 i8 [2]\n"
     "in i6 f32 []\n"
     "in i7 u8 []\n"
     "node QLinearMatMul x,w,b,i3,i4,i5,i6,i7 > y\n",
     "x u8 [2,2] = 1 200 3 4\n"
     "w f32 [] = 0.5\n"
     "b u8 [] = 2\n"
     "i3 i8 [2,2] = 5 6 7 -6\n"
     "i4 f32 [2] = 0.25 0.5\n"
     "i5 i8 [2] = 0 0\n"
     "i6 f32 [] = 8\n"
     "i7 u8 [] = 100\n",
     "y u8 [2,2] = 122 63 100 100\n"},
    {"conv_integer_pads_with_the_zero_point",
     "opset 10\n"
     "in x u8 [N,1,L]\n"
     "in w u8 [1,1,3]\n"
     "in b u8 []\n"
     "in i3 u8 []\n"
     "node ConvInteger x,w,b,i3 > y pads=[1,1]\n",
     "x u8 [1,1,3] = 1 2 3\n"
     "w u8 [1,1,3] = 1 2 3\n"
     "b u8 [] = 7\n"
     "i3 u8 [] = 1\n",
     "y i32 [1,1,3] = -16 -13 -4\n"},
    {"qlinear_conv_with_bias_and_scales_per_channel",
     "opset 10\n"
     "in x u8 [N,2,L]\n"
     "in w f32 []\n"
     "in b u8 []\n"
     "in i3 i8 [2,2,2]\n"
     "in i4 f32 [2]\n"
     "in i5 i8 [2]\n"
     "in i6 f32 []\n"
     "in i7 u8 []\n"
     "in i8 i32 [2]\n"
     "node QLinearConv x,w,b,i3,i4,i5,i6,i7,i8 > y\n",
     "x u8 [1,2,3] = 33 215 33 163 20 188\n"
     "w f32 [] = 0.5\n"
     "b u8 [] = 7\n"
     "i3 i8 [2,2,2] = 7 4 -5 6 -4 4 5 -1\n"
     "i4 f32 [2] = 0.25 0.5\n"
     "i5 i8 [2] = 0 0\n"
     "i6 f32 [] = 4\n"
     "i7 u8 [] = 100\n"
     "i8 i32 [2] = 9 -9\n",
     "y u8 [1,2,2] = 110 181 193 47\n"},
};

/* Models that are wrong or unsupported, and a part of what is said. */
static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"scale_must_fit_the_rank",
     "opset 21\n"
     "in x f32 [2,2,2]\n"
     "in s f32 [2,2]\n"
     "node QuantizeLinear x,s > y\n",
     "rank 2 does not fit"},
    {"type_must_be_quantised",
     "opset 21\n"
     "in x f32 [2]\n"
     "in s f32 []\n"
     "node QuantizeLinear x,s > y output_dtype=1\n",
     "no type to quantise to"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_quant/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_quant/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
