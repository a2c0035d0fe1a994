/* The lowerings of signal and training operators. Expected values: the reference evaluator of ONNX 1.22. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"dft_complex_2",
     "opset 22\n"
     "in x f32 [N,2,2]\n"
     "node DFT x > y\n",
     "x f32 [1,2,2] = -1.25 -0.25 2 0.25\n", "y f32 [1,2,2] = 0.75 0 -3.25 -0.5\n"},
    {"dft_complex_6",
     "opset 22\n"
     "in x f32 [N,6,2]\n"
     "node DFT x > y\n",
     "x f32 [1,6,2] = -1 -1.75 -1 0.25 1.5 1.25 -1.25 0.75 0.75 1.25 0 0\n",
     "y f32 [1,6,2] = -1 1.75 -1.158494 -3.408494 -2.658494 -0.8594555 3.5 -0.25 -3.091506 -3.890544 "
     "-1.591506 -3.841506\n"},
    {"dft_complex_8",
     "opset 22\n"
     "in x f32 [N,8,2]\n"
     "node DFT x > y\n",
     "x f32 [1,8,2] = -0.25 1.5 0 -1.75 0 1.5 1.5 -0.5 1.5 -1.75 1 0.5 -2 -0.25 -0.5 -0.25\n",
     "y f32 [1,8,2] = 1.25 -1 -3.889087 -0.8713204 2.75 -1.5 -3.146447 5.957107 -2.75 3 3.889087 "
     "3.37132 3.75 -1.5 -3.853553 4.542893\n"},
    {"dft_complex_7",
     "opset 22\n"
     "in x f32 [N,7,2]\n"
     "node DFT x > y\n",
     "x f32 [1,7,2] = -1 1.5 1.5 -1.5 1 0.5 -1.25 -0.25 -1 0 -1.5 0 -1.75 -1.5\n",
     "y f32 [1,7,2] = -4 -1.25 1.361561 -5.126289 -1.918221 -0.7180583 -1.220478 5.35847 0.04881714 "
     "3.782093 -1.875253 3.84047 0.6035749 4.613314\n"},
    {"dft_complex_15",
     "opset 22\n"
     "in x f32 [N,15,2]\n"
     "node DFT x > y\n",
     "x f32 [1,15,2] = 1.5 0 -1 1.5 -0.75 -1.5 1.75 -2 2 -1.75 1.25 -0.25 -1.5 2 -0.25 -2 1 2 -1.5 "
     "0.25 1.75 -1.5 1.25 -0.25 -2 -1.25 1.5 1 1.75 0.25\n",
     "y f32 [1,15,2] = 6.75 -3.5 0.1884683 -1.305247 -5.601445 8.670759 4.697735 9.491988 9.901266 "
     "1.56209 -8.598076 0.6830127 12.19086 -9.364759 -1.286265 0.3787299 3.932325 1.006873 -4.036355 "
     "0.3110636 -3.401924 -0.1830127 0.1160545 -8.50316 2.897757 -5.688293 0.01111346 6.087503 "
     "4.738483 0.3524521\n"},
    {"dft_real_onesided",
     "opset 22\n"
     "in x f32 [1,6,1]\n"
     "node DFT x > y onesided=1\n",
     "x f32 [1,6,1] = -1.5 -1 -0.75 -1 -1.75 1.5\n",
     "y f32 [1,4,2] = -4.5 0 1 1.299038 -1.5 3.031089 -3.5 1.110223e-16\n"},
    {"dft_of_unknown_length",
     "opset 22\n"
     "in x f32 [N,L,2]\n"
     "node DFT x > y\n",
     "x f32 [1,5,2] = -1.75 1.25 1 -0.25 0.5 -0.5 0 1 -0.25 2\n",
     "y f32 [1,5,2] = -0.5 3.5 -4.944301 -0.09644203 -2.098186 -0.2704746 -2.306322 0.2479321 "
     "1.098809 2.868984\n"},
    {"dft_inverse_real_odd",
     "opset 22\n"
     "in x f32 [1,3,2]\n"
     "const l i64 [] = 5\n"
     "node DFT x,l > y inverse=1 onesided=1\n",
     "x f32 [1,3,2] = 1.5 -1.75 1.75 -1.5 -1.25 -0.5\n",
     "y f32 [1,5,1] = 0.5 1.609012 -0.2583605 -0.5832803 0.2326294\n"},
    {"dft_axis_of_the_run",
     "opset 22\n"
     "in x f32 [2,3,1]\n"
     "in a i64 []\n"
     "node DFT x,_,a > y onesided=1\n",
     "x f32 [2,3,1] = 1.25 0 1 -1.75 1 -2\n"
     "a i64 [] = 0\n",
     "y f32 [2,3,2] = -0.5 0 1 0 -1 0 3 0 -1 0 3 0\n"},
    {"dft_chosen_axis_of_the_run",
     "opset 22\n"
     "in x f32 [2,3,2]\n"
     "in a i64 []\n"
     "node DFT x,_,a > y inverse=1\n",
     "x f32 [2,3,2] = -1 -1.25 1.5 -0.5 1.25 1 0.75 0.5 1.5 -2 0.75 -2\n"
     "a i64 [] = -2\n",
     "y f32 [2,3,2] = 0.5833334 -0.25 -0.358654 -0.4278312 -1.224679 -0.5721688 1 -1.166667 -0.125 "
     "1.04984 -0.125 0.616827\n"},
    {"dft_filled_with_zeros",
     "opset 22\n"
     "in x f32 [1,4,1]\n"
     "in l i64 []\n"
     "node DFT x,l > y\n",
     "x f32 [1,4,1] = 0.5 -0.25 2 1.5\n"
     "l i64 [] = 6\n",
     "y f32 [1,6,2] = 3.75 0 -2.125 -1.515544 1.125 1.948557 1.25 0 1.125 -1.948557 -2.125 1.515544\n"},
    {"dft_cut_old_axis",
     "opset 17\n"
     "in x f32 [1,2,6,1]\n"
     "const l i64 [] = 4\n"
     "node DFT x,l > y axis=2\n",
     "x f32 [1,2,6,1] = -1.75 1.75 -1.25 -0.5 0.25 1.75 -0.75 1.75 -0.75 -0.5 1.75 1\n",
     "y f32 [1,2,4,2] = -1.75 0 -0.5 -2.25 -4.25 0 -0.5 2.25 -0.25 0 0 -2.25 -2.75 0 0 2.25\n"},
    {"stft_window",
     "opset 22\n"
     "in x f32 [N,L,1]\n"
     "in s i64 []\n"
     "in w f32 [4]\n"
     "node STFT x,s,w > y onesided=1\n",
     "x f32 [1,9,1] = 0.75 -0.5 -2 -1.5 -0.75 0.25 1.5 -1.75 -2\n"
     "s i64 [] = 2\n"
     "w f32 [4] = 0.25 0.5 1 0.5\n",
     "y f32 [1,3,3,2] = -2.8125 0 2.1875 -0.5 -0.8125 0 -1.875 0 0.25 0.875 -0.625 0 0.5625 0 -1.6875 "
     "-1 2.0625 0\n"},
    {"stft_whole_spectrum",
     "opset 22\n"
     "in x f32 [1,6,1]\n"
     "const s i64 [] = 1\n"
     "const n i64 [] = 4\n"
     "node STFT x,s,_,n > y onesided=0\n",
     "x f32 [1,6,1] = 0.75 -1 1.25 0.25 1.75 -0.25\n",
     "y f32 [1,3,4,2] = 1.25 0 -0.5 1.25 2.75 0 -0.5 -1.25 2.25 0 -1.25 0.5 -3.75 0 -1.25 -0.5 3 0 "
     "-0.5 -0.5 3 0 -0.5 0.5\n"},
    {"hannwindow_symmetric",
     "opset 22\n"
     "in n i64 []\n"
     "node HannWindow n > y periodic=0\n",
     "n i64 [] = 5\n", "y f32 [5] = 0 0.5 1 0.5 7.642743e-15\n"},
    {"hannwindow_periodic",
     "opset 22\n"
     "in n i64 []\n"
     "node HannWindow n > y periodic=1\n",
     "n i64 [] = 5\n", "y f32 [5] = 0 0.3454915 0.9045085 0.9045085 0.3454914\n"},
    {"hammingwindow_symmetric",
     "opset 22\n"
     "in n i64 []\n"
     "node HammingWindow n > y periodic=0\n",
     "n i64 [] = 5\n", "y f32 [5] = 0.08695652 0.5434783 1 0.5434783 0.08695652\n"},
    {"hammingwindow_periodic",
     "opset 22\n"
     "in n i64 []\n"
     "node HammingWindow n > y periodic=1\n",
     "n i64 [] = 5\n", "y f32 [5] = 0.08695652 0.4024053 0.9128121 0.9128121 0.4024052\n"},
    {"blackmanwindow_symmetric",
     "opset 22\n"
     "in n i64 []\n"
     "node BlackmanWindow n > y periodic=0\n",
     "n i64 [] = 5\n", "y f32 [5] = 0 0.34 1 0.34 0\n"},
    {"blackmanwindow_periodic",
     "opset 22\n"
     "in n i64 []\n"
     "node BlackmanWindow n > y periodic=1\n",
     "n i64 [] = 5\n", "y f32 [5] = 0 0.2007701 0.8492299 0.8492299 0.2007701\n"},
    {"mel_weights",
     "opset 22\n"
     "in a i64 []\n"
     "in b i64 []\n"
     "in c i64 []\n"
     "in d f32 []\n"
     "in e f32 []\n"
     "node MelWeightMatrix a,b,c,d,e > y\n",
     "a i64 [] = 4\n"
     "b i64 [] = 16\n"
     "c i64 [] = 8000\n"
     "d f32 [] = 20\n"
     "e f32 [] = 4000\n",
     "y f32 [9,4] = 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0.5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"},
    {"adagrad_0",
     "opset 22\n"
     "opset ai.onnx.preview.training 1\n"
     "in r f32 []\n"
     "in t i64 []\n"
     "in x f32 [2]\n"
     "in g f32 [2]\n"
     "in h f32 [2]\n"
     "node Adagrad r,t,x,g,h > y,z norm_coefficient=0.125 epsilon=0.25 decay_factor=0.5\n",
     "r f32 [] = 0.5\n"
     "t i64 [] = 0\n"
     "x f32 [2] = -0.25 1.25\n"
     "g f32 [2] = -1.75 -1.25\n"
     "h f32 [2] = 1.75 1.5\n",
     "y f32 [2] = 0.1107595 1.53904\n"
     "z f32 [2] = 4.922852 2.696289\n"},
    {"momentum_nesterov_0",
     "opset 22\n"
     "opset ai.onnx.preview.training 1\n"
     "in r f32 []\n"
     "in t i64 []\n"
     "in x f32 [2]\n"
     "in g f32 [2]\n"
     "in v f32 [2]\n"
     "node Momentum r,t,x,g,v > y,z norm_coefficient=0.125 alpha=0.5 beta=0.25 mode='nesterov'\n",
     "r f32 [] = 0.5\n"
     "t i64 [] = 0\n"
     "x f32 [2] = 1.5 0.75\n"
     "g f32 [2] = 2 -1\n"
     "v f32 [2] = 0.5 -2\n",
     "y f32 [2] = -0.203125 1.679688\n"
     "z f32 [2] = 2.4375 -1.90625\n"},
    {"adagrad_3",
     "opset 22\n"
     "opset ai.onnx.preview.training 1\n"
     "in r f32 []\n"
     "in t i64 []\n"
     "in x f32 [2]\n"
     "in g f32 [2]\n"
     "in h f32 [2]\n"
     "node Adagrad r,t,x,g,h > y,z norm_coefficient=0.125 epsilon=0.25 decay_factor=0.5\n",
     "r f32 [] = 0.5\n"
     "t i64 [] = 3\n"
     "x f32 [2] = 0.75 -2\n"
     "g f32 [2] = -0.5 -0.75\n"
     "h f32 [2] = 1.25 0.25\n",
     "y f32 [2] = 0.8064411 -1.853805\n"
     "z f32 [2] = 1.415039 1.25\n"},
    {"momentum_nesterov_3",
     "opset 22\n"
     "opset ai.onnx.preview.training 1\n"
     "in r f32 []\n"
     "in t i64 []\n"
     "in x f32 [2]\n"
     "in g f32 [2]\n"
     "in v f32 [2]\n"
     "node Momentum r,t,x,g,v > y,z norm_coefficient=0.125 alpha=0.5 beta=0.25 mode='nesterov'\n",
     "r f32 [] = 0.5\n"
     "t i64 [] = 3\n"
     "x f32 [2] = -1 -1.75\n"
     "g f32 [2] = 1 -1.25\n"
     "v f32 [2] = -0.75 -0.75\n",
     "y f32 [2] = -1.398438 -0.8300781\n"
     "z f32 [2] = -0.15625 -0.7421875\n"},
    {"adam_corrects_its_bias",
     "opset 22\n"
     "opset ai.onnx.preview.training 1\n"
     "in r f32 []\n"
     "in t i64 []\n"
     "in x f32 [2]\n"
     "in g f32 [2]\n"
     "in v f32 [2]\n"
     "in h f32 [2]\n"
     "node Adam r,t,x,g,v,h > y,z,w norm_coefficient=0.125 alpha=0.5 beta=0.75 epsilon=0.25 "
     "norm_coefficient_post=0.125\n",
     "r f32 [] = 0.5\n"
     "t i64 [] = 0\n"
     "x f32 [2] = 0.75 1\n"
     "g f32 [2] = 0 -1.75\n"
     "v f32 [2] = -0.25 0.75\n"
     "h f32 [2] = 2 2\n",
     "y f32 [2] = 0.6794126 0.986299\n"
     "z f32 [2] = -0.078125 -0.4375\n"
     "w f32 [2] = 1.502197 2.160156\n"},
};

static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"parts_must_be_known",
     "opset 20\n"
     "in x f32 [1,8,P]\n"
     "node DFT x > y\n",
     "1 (real) or 2 (complex)"},
    {"axis_of_parts",
     "opset 17\n"
     "in x f32 [1,8,2]\n"
     "node DFT x > y axis=2\n",
     "last dimension"},
    {"optimiser_counts_its_inputs",
     "opset 17\n"
     "opset ai.onnx.preview.training 1\n"
     "in r f32 []\n"
     "in t i64 []\n"
     "in x f32 [2]\n"
     "node Adagrad r,t,x > y,z\n",
     "multiple of 3"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_signal/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_signal/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
