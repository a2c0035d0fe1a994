/* The lowerings of image operators. Expected values: the reference evaluator of ONNX 1.22. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"resize_nearest_rounds_half_down",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 2 1.5\n"
     "node Resize x,_,s > y mode='nearest'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,6,6] = -1.5 -1.5 -1.5 1.25 1.25 0 -1.5 -1.5 -1.5 1.25 1.25 0 0.5 0.5 0.5 1 1 -2 0.5 "
     "0.5 0.5 1 1 -2 0 0 -1.5 -0.5 -0.5 1.75 0 0 -1.5 -0.5 -0.5 1.75\n"},
    {"resize_nearest_ceil_align_corners",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const n i64 [4] = 1 1 5 6\n"
     "node Resize x,_,_,n > y mode='nearest' nearest_mode='ceil' "
     "coordinate_transformation_mode='align_corners'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,5,6] = -1.5 -1.5 1.25 1.25 0 0 0.5 0.5 1 1 -2 -2 0.5 0.5 1 1 -2 -2 0 -1.5 -0.5 -0.5 "
     "1.75 1.75 0 -1.5 -0.5 -0.5 1.75 1.75\n"},
    {"resize_linear_with_scales_of_the_run",
     "opset 19\n"
     "in x f32 [N,1,H,W]\n"
     "in s f32 [4]\n"
     "node Resize x,_,s > y mode='linear'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "s f32 [4] = 1 1 2 0.5\n",
     "y f32 [1,1,6,2] = -1.5 0.625 -1 0.34375 0 -0.21875 0.1875 -0.21875 -0.4375 0.34375 -0.75 0.625\n"},
    {"resize_linear_with_sizes_of_the_run",
     "opset 19\n"
     "in x f32 [N,1,H,W]\n"
     "in n i64 [4]\n"
     "node Resize x,_,_,n > y mode='linear' coordinate_transformation_mode='asymmetric'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "n i64 [4] = 1 1 2 5\n",
     "y f32 [1,1,2,5] = -1.5 -1.5 0.15 0.75 0 0.25 -0.35 -0.05 0.1 -0.125\n"},
    {"resize_linear_antialias",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 0.6 0.5\n"
     "node Resize x,_,s > y mode='linear' antialias=1\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,1,2] = -0.5117188 -0.03515624\n"},
    {"resize_linear_antialias_with_scales_of_the_run",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "in s f32 [4]\n"
     "node Resize x,_,s > y mode='linear' antialias=1\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "s f32 [4] = 1 1 0.6 0.5\n",
     "y f32 [1,1,1,2] = -0.5117188 -0.03515624\n"},
    {"resize_cubic",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 1.5 2\n"
     "node Resize x,_,s > y mode='cubic'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,4,8] = -1.673612 -1.777158 -1.98425 -0.9677094 0.7202185 1.333554 0.5259435 "
     "0.05779691 -0.4679565 -0.4767456 -0.5108032 0.151886 1.189056 0.8391113 -0.703125 -1.627594 "
     "0.624557 0.5398434 0.395644 0.5334771 0.9231234 0.2593282 -1.078786 -1.888376 0.2419789 "
     "-0.2158492 -0.9809521 -1.163829 -0.6903151 0.1368922 0.8761699 1.331716\n"},
    {"resize_cubic_exclude_outside",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 0.75 1.5\n"
     "node Resize x,_,s > y mode='cubic' exclude_outside=1 cubic_coeff_a=-0.5\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,2,6] = -1.268038 -1.405619 -0.9326171 1.025798 0.586755 -0.3677157 0.4051856 "
     "-0.05795848 -0.4072711 0.1245914 0.05709343 -0.1536377\n"},
    {"resize_cubic_antialias",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const n i64 [4] = 1 1 2 2\n"
     "node Resize x,_,_,n > y mode='cubic' antialias=1\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,2,2] = -0.4867928 0.0670744 -0.1910947 0.06743722\n"},
    {"resize_crop_extrapolates",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const r f32 [8] = 0 0 0.4 -0.5 1 1 0.6 1.25\n"
     "const n i64 [4] = 1 1 2 3\n"
     "node Resize x,r,_,n > y mode='linear' coordinate_transformation_mode='tf_crop_and_resize' "
     "extrapolation_value=10.0\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,2,3] = 10 0.21875 10 10 0.1749999 10\n"},
    {"resize_keeps_the_ratio_not_larger",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const n i64 [2] = 7 6\n"
     "node Resize x,_,_,n > y mode='nearest' axes=[2,3] keep_aspect_ratio_policy='not_larger'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,5,6] = -1.5 -1.5 -1.5 1.25 1.25 0 -1.5 -1.5 -1.5 1.25 1.25 0 0.5 0.5 0.5 1 1 -2 0 0 "
     "-1.5 -0.5 -0.5 1.75 0 0 -1.5 -0.5 -0.5 1.75\n"},
    {"resize_keeps_the_ratio_not_smaller_of_the_run",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "in n i64 [2]\n"
     "node Resize x,_,_,n > y mode='nearest' axes=[3,2] keep_aspect_ratio_policy='not_smaller'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "n i64 [2] = 6 7\n",
     "y f32 [1,1,7,9] = -1.5 -1.5 -1.5 -1.5 -1.5 1.25 1.25 0 0 -1.5 -1.5 -1.5 -1.5 -1.5 1.25 1.25 0 0 "
     "0.5 0.5 0.5 0.5 0.5 1 1 -2 -2 0.5 0.5 0.5 0.5 0.5 1 1 -2 -2 0.5 0.5 0.5 0.5 0.5 1 1 -2 -2 0 0 "
     "-1.5 -1.5 -1.5 -0.5 -0.5 1.75 1.75 0 0 -1.5 -1.5 -1.5 -0.5 -0.5 1.75 1.75\n"},
    {"resize_half_pixel_symmetric",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 0.7 1\n"
     "node Resize x,_,s > y mode='linear' coordinate_transformation_mode='half_pixel_symmetric'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,2,4] = -0.9285715 -0.9285715 1.178571 -0.5714285 0.1428571 -0.9285715 -0.07142859 "
     "0.6785715\n"},
    {"resize_integers_round",
     "opset 19\n"
     "in x i8 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 1.5 1\n"
     "node Resize x,_,s > y mode='linear'\n",
     "x i8 [1,1,3,4] = -30 -30 25 0 10 10 20 -40 0 -30 -10 35\n",
     "y i8 [1,1,4,4] = -30 -30 25 0 -10 -10 22 -20 8 3 15 -27 2 -23 -5 23\n"},
    {"upsample_nearest",
     "opset 9\n"
     "in x f32 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 2 2\n"
     "node Upsample x,s > y mode='nearest'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n",
     "y f32 [1,1,6,8] = -1.5 -1.5 -1.5 -1.5 1.25 1.25 0 0 -1.5 -1.5 -1.5 -1.5 1.25 1.25 0 0 0.5 0.5 "
     "0.5 0.5 1 1 -2 -2 0.5 0.5 0.5 0.5 1 1 -2 -2 0 0 -1.5 -1.5 -0.5 -0.5 1.75 1.75 0 0 -1.5 -1.5 "
     "-0.5 -0.5 1.75 1.75\n"},
    {"grid_sample_nearest_zeros",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in g f32 [1,2,3,2]\n"
     "node GridSample x,g > y mode='nearest' padding_mode='zeros'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "g f32 [1,2,3,2] = 0.125 -1.375 0.125 -1.125 0.75 1.375 1.5 0.375 1.125 -0.375 -1.125 0\n",
     "y f32 [1,1,2,3] = 0 0 0 0 0 0\n"},
    {"grid_sample_nearest_border",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in g f32 [1,2,3,2]\n"
     "node GridSample x,g > y mode='nearest' padding_mode='border'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "g f32 [1,2,3,2] = 0.125 -1.375 0.125 -1.125 0.75 1.375 1.5 0.375 1.125 -0.375 -1.125 0\n",
     "y f32 [1,1,2,3] = 1.25 1.25 1.75 1.75 0 0.5\n"},
    {"grid_sample_nearest_reflection",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in g f32 [1,2,3,2]\n"
     "node GridSample x,g > y mode='nearest' padding_mode='reflection'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "g f32 [1,2,3,2] = 0.125 -1.375 0.125 -1.125 0.75 1.375 1.5 0.375 1.125 -0.375 -1.125 0\n",
     "y f32 [1,1,2,3] = 1.25 1.25 1.75 1.75 0 0.5\n"},
    {"grid_sample_linear_zeros",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in g f32 [1,2,3,2]\n"
     "node GridSample x,g > y mode='linear' padding_mode='zeros'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "g f32 [1,2,3,2] = 0.125 -1.375 0.125 -1.125 0.75 1.375 1.5 0.375 1.125 -0.375 -1.125 0\n",
     "y f32 [1,1,2,3] = 0 0.1757812 0 0 -0.21875 0.125\n"},
    {"grid_sample_linear_border",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in g f32 [1,2,3,2]\n"
     "node GridSample x,g > y mode='linear' padding_mode='border'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "g f32 [1,2,3,2] = 0.125 -1.375 0.125 -1.125 0.75 1.375 1.5 0.375 1.125 -0.375 -1.125 0\n",
     "y f32 [1,1,2,3] = 0.5625 0.5625 1.75 0.109375 -0.875 0.5\n"},
    {"grid_sample_linear_reflection",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in g f32 [1,2,3,2]\n"
     "node GridSample x,g > y mode='linear' padding_mode='reflection'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "g f32 [1,2,3,2] = 0.125 -1.375 0.125 -1.125 0.75 1.375 1.5 0.375 1.125 -0.375 -1.125 0\n",
     "y f32 [1,1,2,3] = 0.5820312 0.5625 1.515625 0.1328125 -0.875 0.5\n"},
    {"grid_sample_cubic_zeros",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in g f32 [1,2,3,2]\n"
     "node GridSample x,g > y mode='cubic' padding_mode='zeros'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "g f32 [1,2,3,2] = 0.125 -1.375 0.125 -1.125 0.75 1.375 1.5 0.375 1.125 -0.375 -1.125 0\n",
     "y f32 [1,1,2,3] = -0.03126115 0.1994643 -0.07209778 -0.01485014 -0.3532181 0.1132812\n"},
    {"grid_sample_cubic_border",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in g f32 [1,2,3,2]\n"
     "node GridSample x,g > y mode='cubic' padding_mode='border'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "g f32 [1,2,3,2] = 0.125 -1.375 0.125 -1.125 0.75 1.375 1.5 0.375 1.125 -0.375 -1.125 0\n",
     "y f32 [1,1,2,3] = 0.7587891 0.7587891 1.75 -0.02328491 -1.16243 0.5\n"},
    {"grid_sample_cubic_reflection",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in g f32 [1,2,3,2]\n"
     "node GridSample x,g > y mode='cubic' padding_mode='reflection'\n",
     "x f32 [1,1,3,4] = -1.5 -1.5 1.25 0 0.5 0.5 1 -2 0 -1.5 -0.5 1.75\n"
     "g f32 [1,2,3,2] = 0.125 -1.375 0.125 -1.125 0.75 1.375 1.5 0.375 1.125 -0.375 -1.125 0\n",
     "y f32 [1,1,2,3] = 0.7869615 0.687192 1.558197 0.1071906 -1.5036 0.5\n"},
    {"grid_sample_volume",
     "opset 22\n"
     "in x f32 [1,1,2,2,3]\n"
     "in g f32 [1,1,2,2,3]\n"
     "node GridSample x,g > y align_corners=1\n",
     "x f32 [1,1,2,2,3] = -0.25 0.75 2 -1 1.5 -1.5 -0.75 1.25 -1 0.75 -0.25 0\n"
     "g f32 [1,1,2,2,3] = 1 0.625 0.75 0.125 1 1 -0.75 -0.625 -0.375 0.125 0.75 0\n",
     "y f32 [1,1,1,2,2] = -0.2695312 -0.21875 -0.08251953 0.5136719\n"},
    {"affine_grid",
     "opset 22\n"
     "in t f32 [1,2,3]\n"
     "in s i64 [4]\n"
     "node AffineGrid t,s > y\n",
     "t f32 [1,2,3] = 2 -0.5 1.75 0.5 1 -1\n"
     "s i64 [4] = 1 1 2 3\n",
     "y f32 [1,2,3,2] = 0.6666667 -1.833333 2 -1.5 3.333333 -1.166667 0.1666667 -0.8333333 1.5 -0.5 "
     "2.833333 -0.1666667\n"},
    {"affine_grid_volume_corners",
     "opset 22\n"
     "in t f32 [1,3,4]\n"
     "const s i64 [5] = 1 1 2 2 2\n"
     "node AffineGrid t,s > y align_corners=1\n",
     "t f32 [1,3,4] = 0.5 1.25 1.75 1.5 2 -1.5 1.25 -0.25 0.75 -1 -2 -1.75\n",
     "y f32 [1,2,2,2,3] = -2 -2 0.5 -1 2 2 0.5 -5 -1.5 1.5 -1 0 1.5 0.5 -3.5 2.5 4.5 -2 4 -2.5 -5.5 5 "
     "1.5 -4\n"},
    {"roi_align_avg_adaptive",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in r f32 [R,4]\n"
     "in b i64 [R]\n"
     "node RoiAlign x,r,b > y mode='avg' output_height=2 output_width=2\n",
     "x f32 [2,1,5,5] = 2 1.75 -0.75 -0.25 -1 -1.5 1.5 0.75 -1.75 -1.25 0.25 1.75 2 -1.25 0.5 -2 -1.5 "
     "-1.25 -0.25 -0.75 1 -0.25 -0.75 1.75 0.5 0.75 1 -0.75 1.75 -2 -0.75 -1.5 -2 2 -1.75 -0.25 1.25 "
     "0.75 1.5 -2 0 -2 -1.25 1.5 -1.75 0.25 -2 -0.75 1.75 -0.75\n"
     "r f32 [3,4] = 0 0 4 4 1 2 3 2.5 -3 -3 9 9\n"
     "b i64 [3] = 0 1 0\n",
     "y f32 [3,1,2,2] = 0.9375 -0.5 -0.375 -0.1875 0.21875 -0.28125 0.90625 0.40625 0.375 -0.25 "
     "-0.1319444 0.1041667\n"},
    {"roi_align_max_adaptive",
     "opset 22\n"
     "in x f32 [N,1,H,W]\n"
     "in r f32 [R,4]\n"
     "in b i64 [R]\n"
     "node RoiAlign x,r,b > y mode='max' output_height=2 output_width=2\n",
     "x f32 [2,1,5,5] = -0.75 -1.75 1.25 -1.5 0 -2 -2 1.5 -2 -0.25 -0.25 -1.5 0.5 1 2 -1.25 1.75 "
     "-1.75 -1.5 0.5 1.5 1.75 1 -2 -0.25 1.25 0 -1.25 0.75 -1.75 0.75 -2 -0.5 -1 1.75 1 0.75 0 -1 1.5 "
     "2 -1.25 -1 -0.75 0 -1 -0.5 2 -0.5 1.75\n"
     "r f32 [3,4] = 0 0 4 4 1 2 3 2.5 -3 -3 9 9\n"
     "b i64 [3] = 0 1 0\n",
     "y f32 [3,1,2,2] = -0 1.5 1.75 1 0.46875 -0 0.65625 -0 1.5 2 1.75 0.5\n"},
    {"roi_align_old",
     "opset 16\n"
     "in x f32 [1,2,4,4]\n"
     "in r f32 [2,4]\n"
     "in b i64 [2]\n"
     "node RoiAlign x,r,b > y output_height=2 output_width=1 sampling_ratio=2 spatial_scale=0.5 "
     "coordinate_transformation_mode='output_half_pixel'\n",
     "x f32 [1,2,4,4] = 0 -0.75 1.75 -0.25 1.25 -0.75 2 1 1.5 -2 -1.75 -1.75 0.25 -0.5 2 -1 -1.5 1.5 "
     "-0.75 1 -1 0.25 -1.75 0.75 1.75 0.75 1.5 1.25 0.25 1.75 0 -1.5\n"
     "r f32 [2,4] = 0 0 3 3 1 1 1.5 3\n"
     "b i64 [2] = 0 0\n",
     "y f32 [2,2,2,1] = -0.2070312 -0.1123047 0.1640625 -0.02929688 -0.203125 -0.5 0.09375 0.125\n"},
    {"deform_conv_groups_and_mask",
     "opset 22\n"
     "in x f32 [1,2,3,3]\n"
     "in w f32 [2,1,2,2]\n"
     "in o f32 [1,16,2,2]\n"
     "in b f32 [2]\n"
     "in m f32 [1,8,2,2]\n"
     "node DeformConv x,w,o,b,m > y group=2 offset_group=2\n",
     "x f32 [1,2,3,3] = 0.25 0.5 -1.5 -1.5 0.75 -0.25 0 1.25 0.75 1.75 -1.5 1 0.25 -2 -1.75 -0.5 0.5 "
     "-1.5\n"
     "w f32 [2,1,2,2] = 0.25 2 -1.5 -1.5 2 -1 1.5 -0.5\n"
     "o f32 [1,16,2,2] = 0.5 -0.875 0.25 0.75 -0.375 0.25 -0.625 -0.75 -1 0 0 -0.875 -0.625 0.25 "
     "-0.25 -0.625 -1 -1 0.25 -0.875 0.75 0.125 -0.5 0.25 -0.75 -0.375 0 0.25 -0.75 -0.375 -0.875 "
     "-0.75 -0.625 -0.375 0.875 -0.25 -0.875 0.875 0.125 -0.875 -0.875 -0.875 0.875 0.125 0.375 1 "
     "-0.25 0.875 -0.25 0.375 0.75 -0.875 0.5 0.625 1 0.375 0 -0.75 0.625 -0.125 0.625 -1 -0.375 "
     "0.625\n"
     "b f32 [2] = 0.5 1\n"
     "m f32 [1,8,2,2] = 0.5 1.25 1.5 1 0.75 -1 -1.75 1.25 -0.75 -1 -2 -1.5 -2 -0.5 -0.75 0 0.25 -1 "
     "0.25 0.5 0.75 0.5 -2 -1 1.25 0.5 -0.75 -0.5 1.75 1 -0.5 -1\n",
     "y f32 [1,2,2,2] = 0.9433594 2.972656 -0.1386719 1.371094 1.535156 -0.1220703 0.7832031 "
     "2.084961\n"},
    {"center_crop_pad_of_the_run",
     "opset 22\n"
     "in x f32 [H,W]\n"
     "in s i64 [2]\n"
     "node CenterCropPad x,s > y\n",
     "x f32 [3,4] = -1.5 1.25 0.5 -0.25 0.75 0.25 0.25 0.75 1.25 0 -0.25 -1\n"
     "s i64 [2] = 5 2\n",
     "y f32 [5,2] = 0 0 1.25 0.5 0.25 0.25 0 -0.25 0 0\n"},
    {"col2im_strides_and_pads",
     "opset 22\n"
     "in x f32 [1,4,6]\n"
     "in i i64 [2]\n"
     "in k i64 [2]\n"
     "node Col2Im x,i,k > y\n",
     "x f32 [1,4,6] = -0.75 2 -1.25 -1.75 0.5 -0.75 -1.75 0.25 1 -2 0 -1.5 0.25 1.25 1.25 1.25 -0.75 "
     "0.5 0.75 1.75 0.75 1 -1.75 -0.75\n"
     "i i64 [2] = 3 4\n"
     "k i64 [2] = 2 2\n",
     "y f32 [1,1,3,4] = -0.75 0.25 -1 1 -1.5 0.5 2.25 -0.75 1.25 0.25 -1.25 -0.75\n"},
    {"max_unpool_with_a_shape",
     "opset 22\n"
     "in x f32 [1,1,2,2]\n"
     "in i i64 [1,1,2,2]\n"
     "in s i64 [4]\n"
     "node MaxUnpool x,i,s > y kernel_shape=[2,2] strides=[2,2]\n",
     "x f32 [1,1,2,2] = -0.5 0.5 1.5 -0.75\n"
     "i i64 [1,1,2,2] = 0 3 9 14\n"
     "s i64 [4] = 1 1 5 5\n",
     "y f32 [1,1,5,5] = -0.5 0 0 0.5 0 0 0 0 0 0 0 1.5 0 0 0 0 0 -0.75 0 0 0 0 0 0 0\n"},
    {"depth_to_space_crd",
     "opset 22\n"
     "in x f32 [N,4,H,W]\n"
     "node DepthToSpace x > y blocksize=2 mode='CRD'\n",
     "x f32 [1,4,1,2] = 0 1 -1.25 -0.5 -1.25 -1.5 0.75 1.5\n",
     "y f32 [1,1,2,4] = 0 -1.25 1 -0.5 -1.25 0.75 -1.5 1.5\n"},
    {"space_to_depth",
     "opset 22\n"
     "in x f32 [1,1,2,4]\n"
     "node SpaceToDepth x > y blocksize=2\n",
     "x f32 [1,1,2,4] = -1.5 0.75 0.75 1 0.75 0.25 -1.75 1.25\n",
     "y f32 [1,4,1,2] = -1.5 0.75 0.75 1 0.75 -1.75 0.25 1.25\n"},
};

static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"resize_needs_scales_or_sizes",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "node Resize x > y\n",
     "'scales' or 'sizes'"},
    {"resize_mode",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 2 2\n"
     "node Resize x,_,s > y mode='area'\n",
     "mode 'area'"},
    {"resize_scale_of_zero",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 0 2\n"
     "node Resize x,_,s > y\n",
     "a scale of 0"},
    {"grid_of_another_rank",
     "opset 20\n"
     "in x f32 [1,1,3,4]\n"
     "in g f32 [1,2,3]\n"
     "node GridSample x,g > y\n",
     "rank 3"},
    {"crop_needs_a_region",
     "opset 19\n"
     "in x f32 [1,1,3,4]\n"
     "const s f32 [4] = 1 1 2 2\n"
     "node Resize x,_,s > y coordinate_transformation_mode='tf_crop_and_resize'\n",
     "roi"},
    {"depth_to_space_of_block_0",
     "opset 13\n"
     "in x f32 [1,4,1,2]\n"
     "node DepthToSpace x > y blocksize=0\n",
     "blocksize 0"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_image/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_image/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
