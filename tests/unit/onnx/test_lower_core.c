/* test_lower_core.c — the lowerings of arithmetic, shapes, indexing and reductions: sizes and axes that come at run
 * time, old opsets, refusals. Expected values: numpy. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"slice_bounds_at_run_time",
     "opset 13\nin x f32 [N,4]\nin s i64 [2]\nin e i64 [2]\nin a i64 [2]\nin t i64 [2]\nnode Slice x,s,e,a,t > y\n",
     "x f32 [2,4] = 0 1 2 3 4 5 6 7\ns i64 [2] = 3 0\ne i64 [2] = -99 1\na i64 [2] = -1 0\nt i64 [2] = -2 1\n",
     "y f32 [1,2] = 3 1\n"},
    {"slice_backwards_from_before_the_front",
     "opset 13\nin x f32 [4]\nconst s i64 [1] = -9\nconst e i64 [1] = -9\nconst a i64 [1] = 0\nconst t i64 [1] = -1\n"
     "node Slice x,s,e,a,t > y\n",
     "x f32 [4] = 0 1 2 3\n", "y f32 [1] = 0\n"},
    {"slice_of_nothing_backwards",
     "opset 13\nin x f32 [N]\nconst s i64 [1] = -1\nconst e i64 [1] = -9223372036854775807\nconst a i64 [1] = 0\n"
     "const t i64 [1] = -1\nnode Slice x,s,e,a,t > y\n",
     "x f32 [0] =\n", "y f32 [0] =\n"},
    {"slice_attributes_clamp", "opset 9\nin x f32 [N,3]\nnode Slice x > y starts=[1,-99] ends=[99,2] axes=[0,1]\n",
     "x f32 [2,3] = 0 1 2 3 4 5\n", "y f32 [1,2] = 3 4\n"},
    {"squeeze_axes_at_run_time", "opset 13\nin x f32 [1,N,1]\nin a i64 [2]\nnode Squeeze x,a > y\n",
     "x f32 [1,2,1] = 5 6\na i64 [2] = -1 0\n", "y f32 [2] = 5 6\n"},
    {"unsqueeze_axes_at_run_time", "opset 13\nin x f32 [N]\nin a i64 [2]\nnode Unsqueeze x,a > y\n",
     "x f32 [2] = 5 6\na i64 [2] = 0 -1\n", "y f32 [1,2,1] = 5 6\n"},
    {"reshape_at_run_time_copies_and_infers", "opset 13\nin x f32 [2,N]\nin s i64 [3]\nnode Reshape x,s > y\n",
     "x f32 [2,4] = 0 1 2 3 4 5 6 7\ns i64 [3] = 0 -1 2\n", "y f32 [2,2,2] = 0 1 2 3 4 5 6 7\n"},
    {"expand_at_run_time_keeps_what_is_larger", "opset 13\nin x f32 [N,1]\nin s i64 [2]\nnode Expand x,s > y\n",
     "x f32 [2,1] = 5 6\ns i64 [2] = 1 3\n", "y f32 [2,3] = 5 5 5 6 6 6\n"},
    {"tile_by_nothing", "opset 13\nin x f32 [2]\nin r i64 [1]\nnode Tile x,r > y\n", "x f32 [2] = 5 6\nr i64 [1] = 0\n",
     "y f32 [0] =\n"},
    {"pad_at_run_time_crops", "opset 18\nin x f32 [N]\nin p i64 [2]\nnode Pad x,p > y\n",
     "x f32 [3] = 1 2 3\np i64 [2] = -1 2\n", "y f32 [4] = 2 3 0 0\n"},
    {"pad_axes_at_run_time",
     "opset 18\nin x f32 [1,2]\nin p i64 [2]\nin v f32 []\nin a i64 [1]\nnode Pad x,p,v,a > y\n",
     "x f32 [1,2] = 1 2\np i64 [2] = 1 0\nv f32 [] = 9\na i64 [1] = -1\n", "y f32 [1,3] = 9 1 2\n"},
    {"split_uneven", "opset 18\nin x f32 [5]\nnode Split x > a,b,c num_outputs=3\n", "x f32 [5] = 1 2 3 4 5\n",
     "a f32 [2] = 1 2\nb f32 [2] = 3 4\nc f32 [1] = 5\n"},
    {"reduce_axes_at_run_time", "opset 18\nin x f32 [N,3]\nin a i64 [1]\nnode ReduceMean x,a > y keepdims=0\n",
     "x f32 [2,3] = 1 2 3 4 5 6\na i64 [1] = -2\n", "y f32 [3] = 2.5 3.5 4.5\n"},
    {"reduce_max_at_run_time_sees_nan", "opset 18\nin x f32 [N,2]\nin a i64 [1]\nnode ReduceMax x,a > y\n",
     "x f32 [2,2] = nan 1 -2 -3\na i64 [1] = 1\n", "y f32 [2,1] = nan -2\n"},
    {"log_sum_exp_of_infinities", "opset 13\nin x f32 [3,2]\nnode ReduceLogSumExp x > y axes=[1] keepdims=0\n",
     "x f32 [3,2] = 1000 1000 -inf -inf inf 0\n", "y f32 [3] = 1000.693147 -inf inf\n"},
    {"reduce_of_nothing", "opset 18\nin x f32 [0,2]\nconst a i64 [1] = 0\nnode ReduceMin x,a > y keepdims=0\n",
     "x f32 [0,2] =\n", "y f32 [2] = inf inf\n"},
    {"integer_mean", "opset 13\nin x i32 [4]\nnode ReduceMean x > y keepdims=0\n", "x i32 [4] = 1 2 3 5\n",
     "y i32 [] = 2\n"},
    {"cumsum_axis_at_run_time", "opset 14\nin x f32 [2,N]\nin a i32 []\nnode CumSum x,a > y exclusive=1 reverse=1\n",
     "x f32 [2,2] = 1 2 3 4\na i32 [] = -1\n", "y f32 [2,2] = 2 0 4 0\n"},
    {"topk_at_run_time_takes_the_first_of_equals", "opset 11\nin x f32 [N]\nin k i64 [1]\nnode TopK x,k > v,i\n",
     "x f32 [4] = 2 7 7 1\nk i64 [1] = 2\n", "v f32 [2] = 7 7\ni i64 [2] = 1 2\n"},
    {"one_hot_negative_and_outside",
     "opset 11\nin i i64 [3]\nin d i64 []\nin v f32 [2]\nnode OneHot i,d,v > y axis=0\n",
     "i i64 [3] = -1 5 0\nd i64 [] = 2\nv f32 [2] = 0 9\n", "y f32 [2,3] = 0 0 9 9 0 0\n"},
    {"range_down", "opset 11\nin s i64 []\nin l i64 []\nin d i64 []\nnode Range s,l,d > y\n",
     "s i64 [] = 5\nl i64 [] = 0\nd i64 [] = -2\n", "y i64 [3] = 5 3 1\n"},
    {"range_the_wrong_way_is_empty", "opset 11\nin s i64 []\nin l i64 []\nin d i64 []\nnode Range s,l,d > y\n",
     "s i64 [] = 0\nl i64 [] = 5\nd i64 [] = -2\n", "y i64 [0] =\n"},
    {"compress_shorter_condition", "opset 11\nin x f32 [3]\nin c bool [2]\nnode Compress x,c > y axis=0\n",
     "x f32 [3] = 1 2 3\nc bool [2] = 0 1\n", "y f32 [1] = 2\n"},
    {"trilu_k_at_run_time", "opset 14\nin x f32 [2,2]\nin k i64 []\nnode Trilu x,k > y upper=0\n",
     "x f32 [2,2] = 1 2 3 4\nk i64 [] = -1\n", "y f32 [2,2] = 0 0 3 0\n"},
    {"einsum_diagonal_and_ellipsis", "opset 12\nin x f32 [2,N,N]\nnode Einsum x > y equation='...ii->...i'\n",
     "x f32 [2,2,2] = 1 2 3 4 5 6 7 8\n", "y f32 [2,2] = 1 4 5 8\n"},
    {"einsum_three_operands",
     "opset 12\nin a f32 [2]\nin b f32 [2]\nin c f32 [2]\nnode Einsum a,b,c > y equation='i,j,i->j'\n",
     "a f32 [2] = 1 2\nb f32 [2] = 3 4\nc f32 [2] = 5 6\n", "y f32 [2] = 51 68\n"},
    {"gemm_bias_is_a_column",
     "opset 13\nin a f32 [N,2]\nin b f32 [2,2]\nin c f32 [2,1]\nnode Gemm a,b,c > y alpha=2.0 transB=1\n",
     "a f32 [2,2] = 1 2 3 4\nb f32 [2,2] = 1 0 0 1\nc f32 [2,1] = 10 20\n", "y f32 [2,2] = 12 14 26 28\n"},
    {"clip_low_above_high", "opset 12\nin x f32 [2]\nin l f32 []\nin h f32 []\nnode Clip x,l,h > y\n",
     "x f32 [2] = 0 9\nl f32 [] = 5\nh f32 [] = 2\n", "y f32 [2] = 2 2\n"},
    {"cast_to_integers_keeps_low_bits", "opset 13\nin x f32 [3]\nnode Cast x > y to=2\n", "x f32 [3] = 257.9 -1 nan\n",
     "y u8 [3] = 1 255 0\n"},
    {"old_broadcast_at_an_axis", "opset 6\nin x f32 [2,3]\nin b f32 [2]\nnode Add x,b > y broadcast=1 axis=0\n",
     "x f32 [2,3] = 0 0 0 0 0 0\nb f32 [2] = 1 2\n", "y f32 [2,3] = 1 1 1 2 2 2\n"},
    {"mod_signs", "opset 13\nin x i32 [2]\nin m i32 [2]\nnode Mod x,m > y\n", "x i32 [2] = -7 7\nm i32 [2] = 3 -3\n",
     "y i32 [2] = 2 -2\n"},
    {"power_of_an_integer", "opset 13\nin x f32 [2]\nin p i64 []\nnode Pow x,p > y\n",
     "x f32 [2] = -2 3\np i64 [] = 3\n", "y f32 [2] = -8 27\n"},
    {"tensor_scatter_around_the_end",
     "opset 24\nin x f32 [1,3,1]\nin u f32 [1,2,1]\nin w i64 [1]\nnode TensorScatter x,u,w > y mode='circular'\n",
     "x f32 [1,3,1] = 0 0 0\nu f32 [1,2,1] = 1 2\nw i64 [1] = 2\n", "y f32 [1,3,1] = 2 0 1\n"},
    {"sequence_known_at_import",
     "opset 13\nin x f32 [4]\nnode SplitToSequence x > s keepdims=0\nnode SequenceLength s > n\n"
     "node ConcatFromSequence s > y axis=0 new_axis=1\n",
     "x f32 [4] = 1 2 3 4\n", "y f32 [4] = 1 2 3 4\n"},
    {"empty_dropout_mask", "opset 13\nin x f32 [2]\nnode Dropout x > y,m\n", "x f32 [2] = 1 2\n",
     "y f32 [2] = 1 2\nm bool [2] = 1 1\n"},
};

static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"depth_of_indices_has_to_be_known", "opset 13\nin x f32 [N,M]\nin i i64 [N,K]\nnode GatherND x,i > y\n",
     "opset 13 of ai.onnx: the last dimension of its indices"},
    {"rank_of_a_shape_has_to_be_known", "opset 13\nin x f32 [N]\nin s i64 [K]\nnode Reshape x,s > y\n",
     "input 1 has a length that is not known"},
    {"two_open_sizes", "opset 13\nin x f32 [4]\nconst s i64 [2] = -1 -1\nnode Reshape x,s > y\n",
     "more than one size is -1"},
    {"axis_out_of_range", "opset 13\nin x f32 [4]\nnode Flatten x > y axis=3\n", "axis 3 is out of range for rank 1"},
    {"axis_twice", "opset 11\nin x f32 [1,1]\nnode Squeeze x > y axes=[0,-2]\n", "axis 0 is given twice"},
    {"step_of_nothing",
     "opset 13\nin x f32 [4]\nconst s i64 [1] = 0\nconst a i64 [1] = 0\nconst t i64 [1] = 0\n"
     "node Slice x,s,s,a,t > y\n",
     "a step of 0"},
    {"wrong_einsum", "opset 13\nin x f32 [4]\nnode Einsum x > y equation='ij->i'\n", "its equation is no einsum"},
    {"attribute_of_another_kind", "opset 13\nin x f32 [4]\nnode Flatten x > y axis=1.5\n",
     "attribute 'axis' is of kind 1"},
    {"float_shape", "opset 13\nin x f32 [4]\nin s f32 [1]\nnode Reshape x,s > y\n", "no vector of integers"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_core/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_core/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
