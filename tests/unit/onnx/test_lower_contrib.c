/* The lowerings of operators of com.microsoft: cases that ONNX's own suite has not. Expected values: ONNX Runtime 1.31
 * and the reference evaluator of ONNX 1.22, or the operator's formula. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"fused_matmul_turns_and_scales",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [N,3]\n"
     "in w f32 [2,3]\n"
     "node FusedMatMul x,w > y transB=1 alpha=0.5\n",
     "x f32 [2,3] = -0.25 -1.5 -1.5 -2 -1 1\n"
     "w f32 [2,3] = 1.25 0 -1.25 -0.25 0.5 -1.5\n",
     "y f32 [2,2] = 0.78125 0.78125 -1.875 -0.75\n"},
    {"fused_matmul_with_a_batch_behind",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [2,2,2]\n"
     "in w f32 [2,2,2]\n"
     "node FusedMatMul x,w > y transBatchA=1\n",
     "x f32 [2,2,2] = -0.5 1.25 -0.25 0 1.25 0.75 -1.5 0.5\n"
     "w f32 [2,2,2] = 1.75 -1.25 1.75 0.25 0.75 -0.75 -2 -2\n",
     "y f32 [2,2,2] = 1.3125 0.9375 3.5 -1.375 -0.1875 0.1875 -2.125 0.125\n"},
    {"bias_gelu",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [N,2]\n"
     "in w f32 [2]\n"
     "node BiasGelu x,w > y\n",
     "x f32 [2,2] = 0.75 2 0.5 -0.5\n"
     "w f32 [2] = 1.25 2\n",
     "y f32 [2,2] = 1.95449972 3.99987316 1.67989647 1.39978921\n"},
    {"fast_gelu",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [3]\n"
     "node FastGelu x > y\n",
     "x f32 [3] = -1.25 -1.75 2\n", "y f32 [3] = -0.132285774 -0.0702046379 1.95459771\n"},
    {"quick_gelu",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [3]\n"
     "node QuickGelu x > y\n",
     "x f32 [3] = -2 1.75 -1.5\n", "y f32 [3] = -0.0643413663 1.66528821 -0.108337775\n"},
    {"skip_layer_norm_with_its_sum",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [B,S,2]\n"
     "in w f32 [B,S,2]\n"
     "in b f32 [2]\n"
     "in i3 f32 [2]\n"
     "in i4 f32 [2]\n"
     "node SkipLayerNormalization x,w,b,i3,i4 > y,_,_,s\n",
     "x f32 [1,2,2] = -1.75 -1 -0.75 -0.75\n"
     "w f32 [1,2,2] = -2 1.5 1.5 0.75\n"
     "b f32 [2] = 1.75 1.75\n"
     "i3 f32 [2] = 2 -0.5\n"
     "i4 f32 [2] = 0.5 1\n",
     "y f32 [1,2,2] = 0.25 1.25 3.75 -2.25\n"
     "s f32 [1,2,2] = -3.25 1.5 1.25 1\n"},
    {"skip_simplified_norm",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [1,2,2]\n"
     "in w f32 [1,2,2]\n"
     "in b f32 [2]\n"
     "node SkipSimplifiedLayerNormalization x,w,b > y\n",
     "x f32 [1,2,2] = 0.75 1.25 0.75 -0.5\n"
     "w f32 [1,2,2] = 0.25 -1.25 2 1.75\n"
     "b f32 [2] = 0.5 1.25\n",
     "y f32 [1,2,2] = 0.707106769 0 0.643726349 0.731507182\n"},
    {"embed_norm",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x i32 [B,S]\n"
     "in w i32 [B,S]\n"
     "in b f32 [2,2]\n"
     "in i3 f32 [2,2]\n"
     "in i4 f32 [2,2]\n"
     "in i5 f32 [2]\n"
     "in i6 f32 [2]\n"
     "in i7 i32 [B,S]\n"
     "node EmbedLayerNormalization x,w,b,i3,i4,i5,i6,i7 > y,n\n",
     "x i32 [1,2] = 1 0\n"
     "w i32 [1,2] = 0 1\n"
     "b f32 [2,2] = -0.75 -0.5 0 -1\n"
     "i3 f32 [2,2] = -2 -0.5 1 -1\n"
     "i4 f32 [2,2] = 0.75 0.5 -0.25 1\n"
     "i5 f32 [2] = 1.5 2\n"
     "i6 f32 [2] = 1 -1.75\n"
     "i7 i32 [1,2] = 1 0\n",
     "y f32 [1,2,2] = -0.5 0.25 2.5 -3.75\n"
     "n i32 [1] = 1\n"},
    {"multi_head_with_a_padding_mask",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [B,S,2]\n"
     "in w f32 [B,T,2]\n"
     "in b f32 [B,T,2]\n"
     "in i4 i32 [B,T]\n"
     "node MultiHeadAttention x,w,b,_,i4 > y num_heads=2\n",
     "x f32 [1,2,2] = -0.75 0 -1.75 -0.25\n"
     "w f32 [1,3,2] = -1.5 0.25 -1.25 -1 -0.75 2\n"
     "b f32 [1,3,2] = -0.25 0.25 1.75 -2 -1 -0.25\n"
     "i4 i32 [1,3] = 1 1 0\n",
     "y f32 [1,2,2] = 0.656523705 -0.875 0.53467375 -1.04936457\n"},
    {"attention_with_projections",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [1,2,2]\n"
     "in w f32 [2,6]\n"
     "in b f32 [6]\n"
     "node Attention x,w,b > y num_heads=1 unidirectional=1\n",
     "x f32 [1,2,2] = 1.75 1 0.75 -0.5\n"
     "w f32 [2,6] = 1.5 -1.25 -0.5 -0.5 -2 -1.75 1.25 2 -1 -1.75 -1.5 -2\n"
     "b f32 [6] = 1.25 -2 0.75 1.25 -1.25 -1.25\n",
     "y f32 [1,2,2] = -6.25 -6.3125 -6.241611 -6.30312443\n"},
    {"group_query_decodes",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [1,1,32]\n"
     "in w f32 [1,1,16]\n"
     "in b f32 [1,1,16]\n"
     "in i3 f32 [1,1,1,16]\n"
     "in i4 f32 [1,1,1,16]\n"
     "in i5 i32 [1]\n"
     "in i6 i32 [1]\n"
     "node GroupQueryAttention x,w,b,i3,i4,i5,i6 > y,k,v num_heads=2 kv_num_heads=1\n",
     "x f32 [1,1,32] = -1 1 1.75 1 -1 1 0.75 -0.25 -1.5 -0.75 1.25 0 -1.75 1.75 0 -0.75 -2 0.25 0.25 -1.5 1.5 "
     "0 -1.75 -1.25 -1 1 1 1.25 0.5 1.75 -0.75 0.25\n"
     "w f32 [1,1,16] = 0.5 -0.5 -0.25 0.75 1.5 1.75 -1 1 1 1.75 0.5 -1.25 1 -1.5 -0.5 0\n"
     "b f32 [1,1,16] = 1 -1.5 0.75 -1.5 -0.5 -1.5 -2 -0.75 2 0.25 1 -1.25 -1.25 1.75 1 0\n"
     "i3 f32 [1,1,1,16] = -1 1.5 -0.25 -2 1.5 -0.25 -0.25 -0.5 -1 0.5 -0.75 0 -1.75 1.5 -1.25 0.5\n"
     "i4 f32 [1,1,1,16] = -1 -1.25 -1.5 1 -1.75 1.25 -0.25 -0.25 -1.25 -0.5 1 1.75 1.75 0.5 -1 -1.75\n"
     "i5 i32 [1] = 1\n"
     "i6 i32 [1] = 2\n",
     "y f32 [1,1,32] = -0.899338722 -1.26258266 -1.38675606 0.874173403 -1.6870867 1.11159074 -0.338078618 "
     "-0.275165319 -1.08642542 -0.462252021 1 1.59900808 1.59900808 0.562913299 -0.899338722 -1.66192138 "
     "-0.938648343 -1.25766885 -1.43097937 0.923310518 -1.71165514 1.16564155 -0.303682625 -0.265337884 "
     "-1.1503036 -0.476993144 1 1.65797257 1.65797257 0.538344741 -0.938648343 -1.69631732\n"
     "k f32 [1,1,2,16] = -1 1.5 -0.25 -2 1.5 -0.25 -0.25 -0.5 -1 0.5 -0.75 0 -1.75 1.5 -1.25 0.5 0.5 -0.5 "
     "-0.25 0.75 1.5 1.75 -1 1 1 1.75 0.5 -1.25 1 -1.5 -0.5 0\n"
     "v f32 [1,1,2,16] = -1 -1.25 -1.5 1 -1.75 1.25 -0.25 -0.25 -1.25 -0.5 1 1.75 1.75 0.5 -1 -1.75 1 -1.5 "
     "0.75 -1.5 -0.5 -1.5 -2 -0.75 2 0.25 1 -1.25 -1.25 1.75 1 0\n"},
    {"qlinear_add",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x u8 [3]\n"
     "in w f32 []\n"
     "in b u8 []\n"
     "in i3 u8 [3]\n"
     "in i4 f32 []\n"
     "in i5 u8 []\n"
     "in i6 f32 []\n"
     "in i7 u8 []\n"
     "node QLinearAdd x,w,b,i3,i4,i5,i6,i7 > y\n",
     "x u8 [3] = 1 2 3\n"
     "w f32 [] = 0.5\n"
     "b u8 [] = 1\n"
     "i3 u8 [3] = 9 8 7\n"
     "i4 f32 [] = 0.25\n"
     "i5 u8 [] = 2\n"
     "i6 f32 [] = 0.25\n"
     "i7 u8 [] = 4\n",
     "y u8 [3] = 11 12 13\n"},
    {"matmul_of_four_bits",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "in x f32 [1,16]\n"
     "const w u8 [2,1,8] = 151 114 220 242 221 3 1 124 133 59 94 144 193 193 18 97\n"
     "const b f32 [2] = -1 -1\n"
     "node MatMulNBits x,w,b > y K=16 N=2 bits=4 block_size=16\n",
     "x f32 [1,16] = 0.25 0.25 0 0 -1.75 -0.5 -1.5 1.5 1.75 1.5 0 1.25 1.25 -0.75 -1.75 1.5\n",
     "y f32 [1,2] = -5 -9.5\n"},
    {"rows_of_four_bits",
     "opset 17\n"
     "opset com.microsoft 1\n"
     "const d u8 [2,16] = 33 67 101 135 169 203 237 15 0 0 0 0 0 0 0 136 1 35 69 103 137 171 205 239 0 0 0 0 0 0 0 "
     "240\n"
     "in i i64 [1]\n"
     "const s f32 [2,2] = 1 2 0.5 -1\n"
     "const z u8 [2,1] = 33 16\n"
     "node GatherBlockQuantized d,i,s,z > y bits=4 block_size=16 gather_axis=0 quantize_axis=1\n",
     "i i64 [1] = -1\n",
     "y f32 [1,32] = 0.5 0 1.5 1 2.5 2 3.5 3 4.5 4 5.5 5 6.5 6 7.5 7 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 -14\n"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_contrib/%s", cases[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
