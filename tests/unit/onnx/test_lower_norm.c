/* The lowerings of normalisations: cases that ONNX's own suite has not. Expected values: ONNX Runtime 1.31 and the
 * reference evaluator of ONNX 1.22, or the operator's formula. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"batch_of_opset_7",
     "opset 7\n"
     "in x f32 [N,2,L]\n"
     "in w f32 [2]\n"
     "in b f32 [2]\n"
     "in i3 f32 [2]\n"
     "in i4 f32 [2]\n"
     "node BatchNormalization x,w,b,i3,i4 > y epsilon=0.5\n",
     "x f32 [2,2,3] = 1.25 1 1.5 1.75 0 1.25 1.75 -0.75 -2 -1.5 -2 -0.25\n"
     "w f32 [2] = -2 -1\n"
     "b f32 [2] = -1 1\n"
     "i3 f32 [2] = -1 2\n"
     "i4 f32 [2] = 1.75 2.5\n",
     "y f32 [2,2,3] = -4 -3.66666698 -4.33333349 1.14433753 2.15470052 1.43301272 -4.66666698 -1.33333349 "
     "0.333333254 3.02072597 3.30940104 2.29903817\n"},
    {"batch_of_opset_9",
     "opset 9\n"
     "in x f32 [N,2,L]\n"
     "in w f32 [2]\n"
     "in b f32 [2]\n"
     "in i3 f32 [2]\n"
     "in i4 f32 [2]\n"
     "node BatchNormalization x,w,b,i3,i4 > y epsilon=0.5\n",
     "x f32 [2,2,3] = 1.25 1 1.5 1.75 0 1.25 1.75 -0.75 -2 -1.5 -2 -0.25\n"
     "w f32 [2] = -2 -1\n"
     "b f32 [2] = -1 1\n"
     "i3 f32 [2] = -1 2\n"
     "i4 f32 [2] = 1.75 2.5\n",
     "y f32 [2,2,3] = -4 -3.66666698 -4.33333349 1.14433753 2.15470052 1.43301272 -4.66666698 -1.33333349 "
     "0.333333254 3.02072597 3.30940104 2.29903817\n"},
    {"batch_of_opset_14",
     "opset 14\n"
     "in x f32 [N,2,L]\n"
     "in w f32 [2]\n"
     "in b f32 [2]\n"
     "in i3 f32 [2]\n"
     "in i4 f32 [2]\n"
     "node BatchNormalization x,w,b,i3,i4 > y epsilon=0.5\n",
     "x f32 [2,2,3] = 1.25 1 1.5 1.75 0 1.25 1.75 -0.75 -2 -1.5 -2 -0.25\n"
     "w f32 [2] = -2 -1\n"
     "b f32 [2] = -1 1\n"
     "i3 f32 [2] = -1 2\n"
     "i4 f32 [2] = 1.75 2.5\n",
     "y f32 [2,2,3] = -4 -3.66666698 -4.33333349 1.14433753 2.15470052 1.43301272 -4.66666698 -1.33333349 "
     "0.333333254 3.02072597 3.30940104 2.29903817\n"},
    {"batch_of_opset_15",
     "opset 15\n"
     "in x f32 [N,2,L]\n"
     "in w f32 [2]\n"
     "in b f32 [2]\n"
     "in i3 f32 [2]\n"
     "in i4 f32 [2]\n"
     "node BatchNormalization x,w,b,i3,i4 > y epsilon=0.5\n",
     "x f32 [2,2,3] = 1.25 1 1.5 1.75 0 1.25 1.75 -0.75 -2 -1.5 -2 -0.25\n"
     "w f32 [2] = -2 -1\n"
     "b f32 [2] = -1 1\n"
     "i3 f32 [2] = -1 2\n"
     "i4 f32 [2] = 1.75 2.5\n",
     "y f32 [2,2,3] = -4 -3.66666698 -4.33333349 1.14433753 2.15470052 1.43301272 -4.66666698 -1.33333349 "
     "0.333333254 3.02072597 3.30940104 2.29903817\n"},
    {"batch_with_parameters_per_element",
     "opset 7\n"
     "in x f32 [2,2,2]\n"
     "in w f32 [2,2]\n"
     "in b f32 [2,2]\n"
     "in i3 f32 [2,2]\n"
     "in i4 f32 [2,2]\n"
     "node BatchNormalization x,w,b,i3,i4 > y spatial=0 epsilon=0.5\n",
     "x f32 [2,2,2] = 0.25 -1 -2 -0.75 0.5 -1.75 -1.5 -1.75\n"
     "w f32 [2,2] = 0.75 -1.75 -2 -0.25\n"
     "b f32 [2,2] = -0.75 0.25 1.75 1.5\n"
     "i3 f32 [2,2] = 0.25 0.5 1.25 -0.25\n"
     "i4 f32 [2,2] = 0.75 1.25 0.5 1\n",
     "y f32 [2,2,2] = -0.75 2.23431349 8.25 1.60206211 -0.582294881 3.22647047 7.25 1.8061862\n"},
    {"batch_in_training",
     "opset 15\n"
     "in x f32 [2,2,3]\n"
     "in w f32 [2]\n"
     "in b f32 [2]\n"
     "in i3 f32 [2]\n"
     "in i4 f32 [2]\n"
     "node BatchNormalization x,w,b,i3,i4 > y,m,v training_mode=1 momentum=0.75 epsilon=0.5\n",
     "x f32 [2,2,3] = 1.25 1 1.5 1.75 0 1.25 1.75 -0.75 -2 -1.5 -2 -0.25\n"
     "w f32 [2] = -2 -1\n"
     "b f32 [2] = -1 1\n"
     "i3 f32 [2] = -1 2\n"
     "i4 f32 [2] = 1.75 2.5\n",
     "y f32 [2,2,3] = -2.03004098 -1.70476484 -2.35531712 -0.234383225 0.917707801 0.0947856307 -2.68059301 "
     "0.572167873 2.19854832 1.90521431 2.23438311 1.0822922\n"
     "m f32 [2] = -0.635416687 1.46875\n"
     "v f32 [2] = 1.77821183 2.326823\n"},
    {"batch_of_opset_9_trains_when_it_has_more_outputs",
     "opset 9\n"
     "in x f32 [2,2,3]\n"
     "in w f32 [2]\n"
     "in b f32 [2]\n"
     "in i3 f32 [2]\n"
     "in i4 f32 [2]\n"
     "node BatchNormalization x,w,b,i3,i4 > y,m,v,s,t momentum=0.75 epsilon=0.5\n",
     "x f32 [2,2,3] = 1.25 1 1.5 1.75 0 1.25 1.75 -0.75 -2 -1.5 -2 -0.25\n"
     "w f32 [2] = -2 -1\n"
     "b f32 [2] = -1 1\n"
     "i3 f32 [2] = -1 2\n"
     "i4 f32 [2] = 1.75 2.5\n",
     "y f32 [2,2,3] = -2.03004098 -1.70476484 -2.35531712 -0.234383225 0.917707801 0.0947856307 -2.68059301 "
     "0.572167873 2.19854832 1.90521431 2.23438311 1.0822922\n"
     "m f32 [2] = -0.635416687 1.46875\n"
     "v f32 [2] = 1.77821183 2.326823\n"
     "s f32 [2] = 0.458333343 -0.125\n"
     "t f32 [2] = 1.86284721 1.80729163\n"},
    {"instance_with_symbolic_sizes",
     "opset 7\n"
     "in x f32 [N,2,L]\n"
     "in w f32 [2]\n"
     "in b f32 [2]\n"
     "node InstanceNormalization x,w,b > y epsilon=0.5\n",
     "x f32 [1,2,3] = -1.25 1 0.25 -0.5 -2 -1\n"
     "w f32 [2] = 1.25 -0.25\n"
     "b f32 [2] = 2 1.75\n",
     "y f32 [1,2,3] = 0.667495489 3.06600356 2.26650095 1.57322335 1.97097087 1.70580578\n"},
    {"group_of_opset_18_scales_groups",
     "opset 18\n"
     "in x f32 [N,4,L]\n"
     "in w f32 [2]\n"
     "in b f32 [2]\n"
     "node GroupNormalization x,w,b > y num_groups=2 epsilon=0.5\n",
     "x f32 [1,4,2] = 1.5 -2 -2 0.25 -0.75 1.5 -0.75 -1.5\n"
     "w f32 [2] = -1.75 -0.75\n"
     "b f32 [2] = 0.5 -1.5\n",
     "y f32 [1,4,2] = -1.67191219 2.01375699 2.01375699 -0.355601788 -1.28833783 -2.55831099 -1.28833783 "
     "-0.865013421\n"},
    {"group_of_opset_21_scales_channels",
     "opset 21\n"
     "in x f32 [N,4,L]\n"
     "in w f32 [4]\n"
     "in b f32 [4]\n"
     "node GroupNormalization x,w,b > y num_groups=2 epsilon=0.5\n",
     "x f32 [1,4,2] = 1.25 -0.75 -0.75 0.75 1.5 -0.25 1.25 -0.75\n"
     "w f32 [4] = -1.5 1.5 1.25 1\n"
     "b f32 [4] = 1.75 0 -1.25 0.25\n",
     "y f32 [1,4,2] = 0.268182516 2.90252471 -1.15252471 0.823231936 -0.134664297 -1.97168779 0.932323039 "
     "-0.747241378\n"},
    {"layer_with_statistics",
     "opset 17\n"
     "in x f32 [N,3]\n"
     "in w f32 [3]\n"
     "in b f32 [3]\n"
     "node LayerNormalization x,w,b > y,m,i epsilon=0.5\n",
     "x f32 [2,3] = 0.25 -0.5 0.5 -1 0.5 1.25\n"
     "w f32 [3] = -1.75 -0.25 0.75\n"
     "b f32 [3] = -2 0.5 1.75\n",
     "y f32 [2,3] = -2.3535533 0.676776707 2.12880731 -0.134493828 0.446699828 2.38960218\n"
     "m f32 [2,1] = 0.0833333284 0.25\n"
     "i f32 [2,1] = 1.21218312 0.852802873\n"},
    {"layer_over_two_axes_without_shift",
     "opset 17\n"
     "in x f32 [N,2,2]\n"
     "in w f32 [2,2]\n"
     "node LayerNormalization x,w > y axis=-2 epsilon=0.5\n",
     "x f32 [2,2,2] = 1.5 0.75 1.25 -0.5 -0.75 -1.75 1 -0.75\n"
     "w f32 [2,2] = 1.5 -0.25 1.75 -1.5\n",
     "y f32 [2,2,2] = 1.07570577 -0 0.836660028 1.7928431 -0.231149465 0.243991107 2.24728656 0.231149465\n"},
    {"layer_with_the_second_statistic_alone",
     "opset 17\n"
     "in x f32 [2,3]\n"
     "in w f32 [3]\n"
     "node LayerNormalization x,w > y,_,i epsilon=0.5\n",
     "x f32 [2,3] = -1.5 -0.75 -2 0 0.75 0.75\n"
     "w f32 [3] = -1.25 -1.5 0.25\n",
     "y f32 [2,3] = 0.119182877 -1.14415503 -0.166855961 0.790569425 -0.474341631 0.079056941\n"
     "i f32 [2,1] = 1.14415503 1.26491106\n"},
    {"rms",
     "opset 23\n"
     "in x f32 [N,3]\n"
     "in w f32 [3]\n"
     "node RMSNormalization x,w > y epsilon=0.5\n",
     "x f32 [2,3] = 0.5 2 1.75 -0.5 -1.5 -1\n"
     "w f32 [3] = 1.5 -0.25 2\n",
     "y f32 [2,3] = 0.43759498 -0.291729987 2.04210973 -0.580947518 0.290473759 -1.54919338\n"},
    {"lp_of_a_zero_row_is_zero",
     "opset 22\n"
     "in x f32 [2,2]\n"
     "node LpNormalization x > y\n",
     "x f32 [2,2] = 0 0 3 4\n", "y f32 [2,2] = 0 0 0.600000024 0.800000012\n"},
    {"lp_of_order_one",
     "opset 7\n"
     "in x f32 [a,b]\n"
     "node LpNormalization x > y p=1 axis=0\n",
     "x f32 [2,3] = 0.75 0.5 -1.75 0.5 -0.5 1.5\n",
     "y f32 [2,3] = 0.600000024 0.5 -0.538461566 0.400000006 -0.5 0.461538464\n"},
    {"mean_variance_over_the_usual_axes",
     "opset 9\n"
     "in x f32 [N,C,H,W]\n"
     "node MeanVarianceNormalization x > y\n",
     "x f32 [2,2,1,2] = -1.5 -1.25 0.75 0.75 1.5 0 -0.5 -0.75\n",
     "y f32 [2,2,1,2] = -0.997241378 -0.787295818 0.991836607 0.991836607 1.52210522 0.262431949 -0.811502695 "
     "-1.17217052\n"},
    {"mean_variance_over_negative_axes_in_any_order",
     "opset 13\n"
     "in x f32 [2,3]\n"
     "node MeanVarianceNormalization x > y axes=[-1,0]\n",
     "x f32 [2,3] = -0.5 0.75 0.25 -0.75 -1.25 1\n",
     "y f32 [2,3] = -0.512989104 1.02597821 0.410391331 -0.820782661 -1.43636954 1.33377182\n"},
};

/* Models that are wrong or unsupported, and a part of what is said. */
static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"groups_must_divide",
     "opset 21\n"
     "in x f32 [1,3,2]\n"
     "in s f32 [3]\n"
     "in b f32 [3]\n"
     "node GroupNormalization x,s,b > y num_groups=2\n",
     "num_groups"},
    {"order_must_be_known",
     "opset 13\n"
     "in x f32 [3]\n"
     "node LpNormalization x > y p=3\n",
     "'p' is 3"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_norm/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_norm/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
