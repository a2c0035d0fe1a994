/* The lowerings of convolutions, pools, softmax and kin: cases that ONNX's own suite has not. Expected values: ONNX
 * Runtime 1.31 and the reference evaluator of ONNX 1.22, or the operator's formula. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"conv_same_upper_with_symbolic_sizes",
     "opset 7\n"
     "in x f32 [N,1,H,W]\n"
     "const w f32 [1,1,3,2] = 1.25 -0.75 -0.75 -1 1 -1\n"
     "node Conv x,w > y auto_pad='SAME_UPPER' strides=[2,3]\n",
     "x f32 [1,1,5,4] = 2 0.5 0.75 1.75 0.25 1.25 1.5 -1.25 -2 -0.75 -1 1.5 1.75 -2 0 1.25 -1.5 1.25 -1.5 "
     "-0.25\n",
     "y f32 [1,1,3,2] = -3 -2.5625 5.375 -1.4375 3.5625 1.75\n"},
    {"conv_same_lower_puts_the_odd_one_in_front",
     "opset 11\n"
     "in x f32 [N,1,H,W]\n"
     "const w f32 [1,1,3,2] = 1.25 -0.75 -0.75 -1 1 -1\n"
     "node Conv x,w > y auto_pad='SAME_LOWER' strides=[1,1]\n",
     "x f32 [1,1,5,4] = 2 0.5 0.75 1.75 0.25 1.25 1.5 -1.25 -2 -0.75 -1 1.5 1.75 -2 0 1.25 -1.5 1.25 -1.5 "
     "-0.25\n",
     "y f32 [1,1,5,4] = -2.25 -3 -1.375 0.4375 0.25 -0.5625 -2.125 -2.75 0.0625 5.375 0 0.8125 1.25 -4 4.0625 "
     "-4.875 0.1875 3.5625 -1.9375 0.4375\n"},
    {"conv_same_with_stride_beyond_the_kernel",
     "opset 13\n"
     "in x f32 [N,1,L]\n"
     "const w f32 [1,1,1] = 2\n"
     "node Conv x,w > y auto_pad='SAME_UPPER' strides=[3]\n",
     "x f32 [1,1,7] = 2 -0.25 0 0 0.25 0.25 0\n", "y f32 [1,1,3] = 4 0 0\n"},
    {"conv_valid_ignores_pads_of_none",
     "opset 7\n"
     "in x f32 [1,1,5,4]\n"
     "const w f32 [1,1,3,2] = 1.25 -0.75 -0.75 -1 1 -1\n"
     "const b f32 [1] = 1.25\n"
     "node Conv x,w,b > y auto_pad='VALID' strides=[2,1]\n",
     "x f32 [1,1,5,4] = 2 0.5 0.75 1.75 0.25 1.25 1.5 -1.25 -2 -0.75 -1 1.5 1.75 -2 0 1.25 -1.5 1.25 -1.5 "
     "-0.25\n",
     "y f32 [1,1,2,3] = 0.6875 -0.875 -1.5 -2.75 5.3125 -3.625\n"},
    {"conv_groups_dilation_and_bias",
     "opset 22\n"
     "in x f32 [1,4,5]\n"
     "in w f32 [4,2,2]\n"
     "in b f32 [4]\n"
     "node Conv x,w,b > y group=2 dilations=[3] pads=[1,2]\n",
     "x f32 [1,4,5] = 1.25 0.75 0.5 -0.75 2 -0.25 -1.25 1.5 -1.5 1.5 0.5 -1.75 -2 -0.25 -2 -1.5 0 2 -0.25 "
     "1.25\n"
     "w f32 [4,2,2] = 1.75 1.25 0.5 -0.25 0 -1 0 -0.5 -1 2 -2 -1.75 -1.25 2 0.75 1.5\n"
     "b f32 [4] = -1.25 1 -0.5 0\n",
     "y f32 [1,4,5] = -1 0.25 1.5625 0.375 -3.3125 -0.25 2.5 -1.75 1 1 -8 1.9375 -4.9375 -2.5 0.25 -1 -2.625 "
     "0.0625 4 0.125\n"},
    {"conv_transpose_groups_and_output_padding",
     "opset 7\n"
     "in x f32 [N,2,L]\n"
     "const w f32 [2,2,3] = -1 2 1.5 -1.25 0 1.75 1.5 1 0.5 -2 1 0\n"
     "const b f32 [4] = -1.75 -1 0.25 1\n"
     "node ConvTranspose x,w,b > y group=2 strides=[2] pads=[1,0] output_padding=[1]\n",
     "x f32 [1,2,3] = -2 0.5 1.5 0.75 -1.5 0.25\n",
     "y f32 [1,4,7] = -5.75 -5.25 -0.75 -2.5 1.25 0.5 -1.75 -1 -5.125 -1 -2 -1 1.625 -1 1 -1.625 -1.25 -0.125 "
     "0.5 0.375 0.25 1.75 4 -0.5 0.5 1.25 1 1\n"},
    {"conv_transpose_same_with_symbolic_sizes",
     "opset 13\n"
     "in x f32 [N,1,H,W]\n"
     "const w f32 [1,1,3,3] = 0.5 -1.75 -1.75 0.75 -0.5 0.5 -0.75 -1.25 -1.5\n"
     "node ConvTranspose x,w > y auto_pad='SAME_LOWER' strides=[2,2]\n",
     "x f32 [1,1,3,2] = 0 0.5 1.5 0.75 -0.5 0.5\n",
     "y f32 [1,1,6,4] = 0 0.375 -0.25 0.25 -2.625 -2.625 -1.9375 -2.0625 -0.75 1.3125 -0.375 0.375 -1 -1.6875 "
     "-1.8125 -2 0.25 0.125 -0.25 0.25 0.625 0.375 -0.625 -0.75\n"},
    {"conv_transpose_output_shape",
     "opset 13\n"
     "in x f32 [1,1,3]\n"
     "in w f32 [1,1,3]\n"
     "node ConvTranspose x,w > y strides=[2] output_shape=[5]\n",
     "x f32 [1,1,3] = -0.5 1.25 -0.5\n"
     "w f32 [1,1,3] = -0.5 0.25 2\n",
     "y f32 [1,1,5] = -0.125 -1.625 0.3125 2.75 -0.125\n"},
    {"conv_transpose_same_with_stride_beyond_the_kernel",
     "opset 13\n"
     "in x f32 [1,1,3]\n"
     "in w f32 [1,1,1]\n"
     "node ConvTranspose x,w > y strides=[3] auto_pad='SAME_UPPER'\n",
     "x f32 [1,1,3] = -0.5 0.5 -0.25\n"
     "w f32 [1,1,1] = 0.5\n",
     "y f32 [1,1,7] = -0.25 0 0 0.25 0 0 -0.125\n"},
    {"max_pool_same_upper_with_symbolic_sizes",
     "opset 8\n"
     "in x f32 [N,C,H,W]\n"
     "node MaxPool x > y kernel_shape=[2,3] strides=[2,2] auto_pad='SAME_UPPER'\n",
     "x f32 [1,1,5,5] = -0.25 0.5 0.25 0.75 2 -1.5 0.25 -0.25 -0.5 -1 -2 -0.5 1.5 -1.75 -0.5 2 2 -1.25 -2 0.75 "
     "-2 -0.75 0 1.5 -1.75\n",
     "y f32 [1,1,3,3] = 0.5 0.75 2 2 2 0.75 -0.75 1.5 1.5\n"},
    {"max_pool_ceil_with_symbolic_sizes",
     "opset 10\n"
     "in x f32 [N,C,H,W]\n"
     "node MaxPool x > y kernel_shape=[2,2] strides=[2,2] ceil_mode=1\n",
     "x f32 [1,1,5,5] = -0.25 0.5 0.25 0.75 2 -1.5 0.25 -0.25 -0.5 -1 -2 -0.5 1.5 -1.75 -0.5 2 2 -1.25 -2 0.75 "
     "-2 -0.75 0 1.5 -1.75\n",
     "y f32 [1,1,3,3] = 0.5 0.75 2 2 1.5 0.75 -0.75 1.5 -1.75\n"},
    {"max_pool_ceil_drops_a_window_in_the_padding",
     "opset 22\n"
     "in x f32 [N,C,H,W]\n"
     "node MaxPool x > y kernel_shape=[1,1] strides=[2,2] ceil_mode=1\n",
     "x f32 [1,1,2,2] = 0.75 0.25 -1.5 1.5\n", "y f32 [1,1,1,1] = 0.75\n"},
    {"max_pool_indices_count_over_the_whole_tensor",
     "opset 8\n"
     "in x f32 [N,C,H,W]\n"
     "node MaxPool x > y,i kernel_shape=[2,2]\n",
     "x f32 [2,2,3,3] = 2 29 13 26 31 11 15 10 32 6 7 17 33 28 22 27 12 30 8 1 14 3 5 24 34 4 9 23 25 21 0 20 "
     "16 18 35 19\n",
     "y f32 [2,2,2,2] = 31 31 31 32 33 28 33 30 8 24 34 24 25 25 35 35\n"
     "i i64 [2,2,2,2] = 4 4 4 8 12 13 12 17 18 23 24 23 28 28 34 34\n"},
    {"max_pool_indices_column_major",
     "opset 12\n"
     "in x f32 [N,C,H,W]\n"
     "node MaxPool x > y,i kernel_shape=[2,2] storage_order=1 strides=[1,2]\n",
     "x f32 [1,2,3,4] = 16 7 13 15 20 3 2 10 12 19 14 8 6 0 22 5 1 11 4 17 21 9 18 23\n",
     "y f32 [1,2,2,2] = 20 15 20 14 11 22 21 23\n"
     "i i64 [1,2,2,2] = 1 9 1 8 16 18 14 23\n"},
    {"max_pool_of_signed_bytes_with_padding",
     "opset 12\n"
     "in x i8 [1,1,3,3]\n"
     "node MaxPool x > y kernel_shape=[2,2] strides=[2,2] pads=[1,1,0,0]\n",
     "x i8 [1,1,3,3] = -75 -81 -65 -16 -85 -43 -85 -82 -97\n", "y i8 [1,1,2,2] = -75 -65 -16 -43\n"},
    {"average_pool_leaves_padding_out",
     "opset 7\n"
     "in x f32 [N,C,H,W]\n"
     "node AveragePool x > y kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]\n",
     "x f32 [1,1,5,5] = -0.25 0.5 0.25 0.75 2 -1.5 0.25 -0.25 -0.5 -1 -2 -0.5 1.5 -1.75 -0.5 2 2 -1.25 -2 0.75 "
     "-2 -0.75 0 1.5 -1.75\n",
     "y f32 [1,1,3,3] = -0.25 0.166666672 0.3125 0.0416666679 -0.277777791 -0.833333313 0.3125 -0.0833333358 "
     "-0.375\n"},
    {"average_pool_counts_padding",
     "opset 7\n"
     "in x f32 [N,C,H,W]\n"
     "node AveragePool x > y kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] count_include_pad=1\n",
     "x f32 [1,1,5,5] = -0.25 0.5 0.25 0.75 2 -1.5 0.25 -0.25 -0.5 -1 -2 -0.5 1.5 -1.75 -0.5 2 2 -1.25 -2 0.75 "
     "-2 -0.75 0 1.5 -1.75\n",
     "y f32 [1,1,3,3] = -0.111111112 0.111111112 0.138888896 0.027777778 -0.277777791 -0.555555582 0.138888896 "
     "-0.055555556 -0.166666672\n"},
    {"average_pool_ceil_counts_no_more_than_the_padding",
     "opset 19\n"
     "in x f32 [N,C,H,W]\n"
     "node AveragePool x > y kernel_shape=[3,3] strides=[2,2] pads=[1,1,0,0] ceil_mode=1 count_include_pad=1\n",
     "x f32 [1,1,6,6] = -2 1.5 0.5 0 1.25 2 0 -1.75 1 -1.25 -1.25 -1.25 -1.25 1.75 -0.5 -1.75 -1.25 -0.5 -0.75 "
     "-0.75 2 1.5 0.25 2 -0.75 -1.5 -1 -1.75 2 -1.25 -0.25 -1.25 2 -1.5 0 2\n",
     "y f32 [1,1,3,3] = -0.25 0 -0.055555556 -0.305555552 0.027777778 -0.388888896 -0.583333313 -0.25 "
     "0.361111104\n"},
    {"average_pool_same_lower_with_symbolic_sizes",
     "opset 10\n"
     "in x f32 [N,C,H,W]\n"
     "node AveragePool x > y kernel_shape=[2,2] auto_pad='SAME_LOWER'\n",
     "x f32 [1,1,5,5] = -0.25 0.5 0.25 0.75 2 -1.5 0.25 -0.25 -0.5 -1 -2 -0.5 1.5 -1.75 -0.5 2 2 -1.25 -2 0.75 "
     "-2 -0.75 0 1.5 -1.75\n",
     "y f32 [1,1,5,5] = -0.25 0.125 0.375 0.5 1.375 -0.875 -0.25 0.1875 0.0625 0.3125 -1.75 -0.9375 0.25 -0.25 "
     "-0.9375 0 0.375 0.4375 -0.875 -0.875 0 0.3125 0 -0.4375 -0.375\n"},
    {"lp_pool_of_opset_7",
     "opset 7\n"
     "in x f32 [1,1,5,5]\n"
     "node LpPool x > y kernel_shape=[2,2] strides=[2,2] p=3\n",
     "x f32 [1,1,5,5] = -0.25 0.5 0.25 0.75 2 -1.5 0.25 -0.25 -0.5 -1 -2 -0.5 1.5 -1.75 -0.5 2 2 -1.25 -2 0.75 "
     "-2 -0.75 0 1.5 -1.75\n",
     "y f32 [1,1,2,2] = 1.52279985 0.833055437 2.88949847 2.65369129\n"},
    {"global_pools_max",
     "opset 7\n"
     "in x f32 [N,C,L]\n"
     "node GlobalMaxPool x > y\n",
     "x f32 [2,2,3] = 0 1.75 1.75 1.25 1 0.25 0.25 1.5 -0.25 2 1.5 -0.5\n", "y f32 [2,2,1] = 1.75 1.25 1.5 2\n"},
    {"global_pools_mean",
     "opset 7\n"
     "in x f32 [N,C,H,W]\n"
     "node GlobalAveragePool x > y\n",
     "x f32 [2,2,2,2] = -0.5 1 1.75 -1.75 -1.75 -1 -0.25 -1.5 0 0.25 2 1 -1 1.25 1.25 0.75\n",
     "y f32 [2,2,1,1] = 0.125 -1.125 0.8125 0.5625\n"},
    {"global_pools_norm",
     "opset 7\n"
     "in x f32 [1,2,2,2]\n"
     "node GlobalLpPool x > y p=1\n",
     "x f32 [1,2,2,2] = 0.75 -0.75 1 -1.5 0.5 1.75 2 -0.75\n", "y f32 [1,2,1,1] = 4 5\n"},
    {"softmax_of_opset_7_flattens",
     "opset 7\n"
     "in x f32 [a,b,c]\n"
     "node Softmax x > y\n",
     "x f32 [2,2,3] = -0.75 0.5 -0.5 1 -1.25 -1.5 -2 -0.25 -1.25 -0.75 1.75 1.25\n",
     "y f32 [2,2,3] = 0.0793155432 0.276838452 0.101843178 0.456429452 0.0481073111 0.0374660119 0.012395665 "
     "0.0713321269 0.026241621 0.0432651229 0.527077079 0.31968841\n"},
    {"softmax_of_opset_11_flattens_from_a_negative_axis",
     "opset 11\n"
     "in x f32 [2,2,3]\n"
     "node Softmax x > y axis=-2\n",
     "x f32 [2,2,3] = -0.75 0.5 -0.5 1 -1.25 -1.5 -2 -0.25 -1.25 -0.75 1.75 1.25\n",
     "y f32 [2,2,3] = 0.0793155432 0.276838452 0.101843178 0.456429452 0.0481073111 0.0374660119 0.012395665 "
     "0.0713321269 0.026241621 0.0432651229 0.527077079 0.31968841\n"},
    {"softmax_of_opset_13_works_along_an_axis",
     "opset 13\n"
     "in x f32 [a,b,c]\n"
     "node Softmax x > y axis=1\n",
     "x f32 [2,2,3] = -0.75 0.5 -0.5 1 -1.25 -1.5 -2 -0.25 -1.25 -0.75 1.75 1.25\n",
     "y f32 [2,2,3] = 0.148047194 0.851952732 0.731058598 0.851952732 0.148047194 0.268941432 0.222700149 "
     "0.119202912 0.0758581832 0.777299881 0.880797029 0.924141824\n"},
    {"log_softmax_of_opset_7_flattens",
     "opset 7\n"
     "in x f32 [a,b,c]\n"
     "node LogSoftmax x > y\n",
     "x f32 [2,2,3] = -0.75 0.5 -0.5 1 -1.25 -1.5 -2 -0.25 -1.25 -0.75 1.75 1.25\n",
     "y f32 [2,2,3] = -2.53432131 -1.28432119 -2.28432131 -0.784321189 -3.03432131 -3.28432131 -4.39040852 "
     "-2.64040852 -3.64040852 -3.14040852 -0.640408516 -1.14040852\n"},
    {"log_softmax_of_opset_11_flattens_from_a_negative_axis",
     "opset 11\n"
     "in x f32 [2,2,3]\n"
     "node LogSoftmax x > y axis=-2\n",
     "x f32 [2,2,3] = -0.75 0.5 -0.5 1 -1.25 -1.5 -2 -0.25 -1.25 -0.75 1.75 1.25\n",
     "y f32 [2,2,3] = -2.53432131 -1.28432119 -2.28432131 -0.784321189 -3.03432131 -3.28432131 -4.39040852 "
     "-2.64040852 -3.64040852 -3.14040852 -0.640408516 -1.14040852\n"},
    {"log_softmax_of_opset_13_works_along_an_axis",
     "opset 13\n"
     "in x f32 [a,b,c]\n"
     "node LogSoftmax x > y axis=1\n",
     "x f32 [2,2,3] = -0.75 0.5 -0.5 1 -1.25 -1.5 -2 -0.25 -1.25 -0.75 1.75 1.25\n",
     "y f32 [2,2,3] = -1.9102242 -0.160224199 -0.313261658 -0.160224199 -1.9102242 -1.31326163 -1.50192904 "
     "-2.12692809 -2.57888985 -0.251929045 -0.126928046 -0.0788897499\n"},
    {"hardmax_of_opset_7_flattens",
     "opset 7\n"
     "in x f32 [a,b,c]\n"
     "node Hardmax x > y\n",
     "x f32 [2,2,3] = -0.75 0.5 -0.5 1 -1.25 -1.5 -2 -0.25 -1.25 -0.75 1.75 1.25\n",
     "y f32 [2,2,3] = 0 0 0 1 0 0 0 0 0 0 1 0\n"},
    {"hardmax_of_opset_11_flattens_from_a_negative_axis",
     "opset 11\n"
     "in x f32 [2,2,3]\n"
     "node Hardmax x > y axis=-2\n",
     "x f32 [2,2,3] = -0.75 0.5 -0.5 1 -1.25 -1.5 -2 -0.25 -1.25 -0.75 1.75 1.25\n",
     "y f32 [2,2,3] = 0 0 0 1 0 0 0 0 0 0 1 0\n"},
    {"hardmax_of_opset_13_works_along_an_axis",
     "opset 13\n"
     "in x f32 [a,b,c]\n"
     "node Hardmax x > y axis=1\n",
     "x f32 [2,2,3] = -0.75 0.5 -0.5 1 -1.25 -1.5 -2 -0.25 -1.25 -0.75 1.75 1.25\n",
     "y f32 [2,2,3] = 0 1 1 1 0 0 0 0 0 1 1 1\n"},
    {"hardmax_takes_the_first_of_equals",
     "opset 13\n"
     "in x f32 [2,3]\n"
     "node Hardmax x > y\n",
     "x f32 [2,3] = 1 3 3 2 2 2\n", "y f32 [2,3] = 0 1 0 1 0 0\n"},
    {"lrn_of_even_size_reaches_further_behind",
     "opset 7\n"
     "in x f32 [1,4,2,1]\n"
     "node LRN x > y size=2 alpha=0.5 beta=1.0 bias=1.0\n",
     "x f32 [1,4,2,1] = 1.5 0.5 -1.75 1 0.5 1.75 0 -1.5\n",
     "y f32 [1,4,2,1] = 0.644295275 0.380952388 -0.95726496 0.496124029 0.470588237 0.751677871 0 "
     "-0.959999979\n"},
    {"max_roi_pool",
     "opset 7\n"
     "in x f32 [1,1,4,4]\n"
     "in w f32 [2,5]\n"
     "node MaxRoiPool x,w > y pooled_shape=[2,2]\n",
     "x f32 [1,1,4,4] = 0.5 -0.25 0.75 -0.5 -0.75 -1.5 2 1 -0.25 -1.25 0.5 -0.25 0.5 -1.75 -1.25 1\n"
     "w f32 [2,5] = 0 0 0 3 3 0 1 2 2 3\n",
     "y f32 [2,1,2,2] = 0.5 2 0.5 1 -1.25 0.5 -1.75 -1.25\n"},
    {"causal_conv_keeps_its_state",
     "opset 27\n"
     "in x f32 [N,2,L]\n"
     "const w f32 [2,1,3] = 1 0.75 1.25 1.75 1 1.5\n"
     "in i3 f32 [N,2,2]\n"
     "node CausalConvWithState x,w,_,i3 > y,s\n",
     "x f32 [1,2,2] = -1.75 0.75 -0.5 -2\n"
     "i3 f32 [1,2,2] = -1.75 1.75 1.75 0.75\n",
     "y f32 [1,2,2] = -2.625 1.375 3.0625 -2.1875\n"
     "s f32 [1,2,2] = -1.75 0.75 -0.5 -2\n"},
};

/* Models that are wrong or unsupported, and a part of what is said. */
static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"kernel_of_unknown_size_is_refused",
     "opset 13\n"
     "in x f32 [1,1,9]\n"
     "in w f32 [1,1,K]\n"
     "node Conv x,w > y\n",
     "the size of the kernel"},
    {"channels_must_fit",
     "opset 13\n"
     "in x f32 [1,3,9]\n"
     "in w f32 [2,2,3]\n"
     "node Conv x,w > y\n",
     "channels"},
    {"groups_must_divide",
     "opset 13\n"
     "in x f32 [1,4,9]\n"
     "in w f32 [3,2,3]\n"
     "node Conv x,w > y group=2\n",
     "groups"},
    {"strides_must_be_positive",
     "opset 13\n"
     "in x f32 [1,1,9]\n"
     "node MaxPool x > y kernel_shape=[2] strides=[0]\n",
     "'strides' holds 0"},
    {"pads_must_be_as_many_as_needed",
     "opset 13\n"
     "in x f32 [1,1,9]\n"
     "node MaxPool x > y kernel_shape=[2] pads=[1]\n",
     "'pads' has 1 entries"},
    {"kernel_shape_is_needed",
     "opset 13\n"
     "in x f32 [1,1,9]\n"
     "node AveragePool x > y\n",
     "'kernel_shape' is missing"},
    {"auto_pad_must_be_known",
     "opset 13\n"
     "in x f32 [1,1,9]\n"
     "node MaxPool x > y kernel_shape=[2] auto_pad='SAME'\n",
     "'auto_pad' is 'SAME'"},
    {"axis_must_be_inside",
     "opset 13\n"
     "in x f32 [1,9]\n"
     "node Softmax x > y axis=2\n",
     "axis"},
    {"input_must_be_there",
     "opset 13\n"
     "in x f32 [1,1,9]\n"
     "node Conv x > y\n",
     "input 1 is missing"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_nn/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_nn/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
