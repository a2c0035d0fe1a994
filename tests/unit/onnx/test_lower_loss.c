/* The lowerings of losses: cases that ONNX's own suite has not. Expected values: ONNX Runtime 1.31 and the reference
 * evaluator of ONNX 1.22, or the operator's formula. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"cross_entropy_none_with_weights",
     "opset 12\n"
     "in x f32 [N,3]\n"
     "in w i64 [N]\n"
     "in b f32 [3]\n"
     "node SoftmaxCrossEntropyLoss x,w,b > y,l reduction='none'\n",
     "x f32 [3,3] = 0.5 1.5 -1.25 -2 -0.25 -1.25 1.75 1.5 -0.5\n"
     "w i64 [3] = 0 2 1\n"
     "b f32 [3] = 0.5 1 2\n",
     "y f32 [3] = 0.679468751 2.86571097 0.883503318\n"
     "l f32 [3,3] = -1.3589375 -0.358937472 -3.1089375 -2.18285561 -0.432855487 -1.43285549 -0.633503318 "
     "-0.883503318 -2.88350344\n"},
    {"log_likelihood_none_with_an_ignored_label",
     "opset 13\n"
     "in x f32 [N,C]\n"
     "in w i32 [N]\n"
     "node NegativeLogLikelihoodLoss x,w > y reduction='none' ignore_index=-1\n",
     "x f32 [3,3] = 0.5 1.5 -1.25 -2 -0.25 -1.25 1.75 1.5 -0.5\n"
     "w i32 [3] = 0 -1 1\n",
     "y f32 [3] = -0.5 -0 -1.5\n"},
    {"cross_entropy_sum_with_weights",
     "opset 12\n"
     "in x f32 [N,3]\n"
     "in w i64 [N]\n"
     "in b f32 [3]\n"
     "node SoftmaxCrossEntropyLoss x,w,b > y,l reduction='sum'\n",
     "x f32 [3,3] = 0.5 1.5 -1.25 -2 -0.25 -1.25 1.75 1.5 -0.5\n"
     "w i64 [3] = 0 2 1\n"
     "b f32 [3] = 0.5 1 2\n",
     "y f32 [] = 4.42868328\n"
     "l f32 [3,3] = -1.3589375 -0.358937472 -3.1089375 -2.18285561 -0.432855487 -1.43285549 -0.633503318 "
     "-0.883503318 -2.88350344\n"},
    {"log_likelihood_sum_with_an_ignored_label",
     "opset 13\n"
     "in x f32 [N,C]\n"
     "in w i32 [N]\n"
     "node NegativeLogLikelihoodLoss x,w > y reduction='sum' ignore_index=-1\n",
     "x f32 [3,3] = 0.5 1.5 -1.25 -2 -0.25 -1.25 1.75 1.5 -0.5\n"
     "w i32 [3] = 0 -1 1\n",
     "y f32 [] = -2\n"},
    {"cross_entropy_mean_with_weights",
     "opset 12\n"
     "in x f32 [N,3]\n"
     "in w i64 [N]\n"
     "in b f32 [3]\n"
     "node SoftmaxCrossEntropyLoss x,w,b > y,l reduction='mean'\n",
     "x f32 [3,3] = 0.5 1.5 -1.25 -2 -0.25 -1.25 1.75 1.5 -0.5\n"
     "w i64 [3] = 0 2 1\n"
     "b f32 [3] = 0.5 1 2\n",
     "y f32 [] = 1.26533806\n"
     "l f32 [3,3] = -1.3589375 -0.358937472 -3.1089375 -2.18285561 -0.432855487 -1.43285549 -0.633503318 "
     "-0.883503318 -2.88350344\n"},
    {"log_likelihood_mean_with_an_ignored_label",
     "opset 13\n"
     "in x f32 [N,C]\n"
     "in w i32 [N]\n"
     "node NegativeLogLikelihoodLoss x,w > y reduction='mean' ignore_index=-1\n",
     "x f32 [3,3] = 0.5 1.5 -1.25 -2 -0.25 -1.25 1.75 1.5 -0.5\n"
     "w i32 [3] = 0 -1 1\n",
     "y f32 [] = -1\n"},
    {"log_likelihood_of_planes",
     "opset 12\n"
     "in x f32 [1,2,2]\n"
     "in w i64 [1,2]\n"
     "node NegativeLogLikelihoodLoss x,w > y reduction='none'\n",
     "x f32 [1,2,2] = -0.75 1 -0.25 -1.75\n"
     "w i64 [1,2] = 0 1\n",
     "y f32 [1,2] = 0.75 1.75\n"},
    {"an_ignored_label_hides_an_infinity",
     "opset 13\n"
     "in x f32 [2,2]\n"
     "in w i64 [2]\n"
     "node NegativeLogLikelihoodLoss x,w > y reduction='sum' ignore_index=0\n",
     "x f32 [2,2] = -inf 1 2 3\n"
     "w i64 [2] = 0 1\n",
     "y f32 [] = -3\n"},
    {"mean_over_symbolic_sizes",
     "opset 13\n"
     "in x f32 [N,C]\n"
     "in w i64 [N]\n"
     "node NegativeLogLikelihoodLoss x,w > y\n",
     "x f32 [3,3] = 0.5 1.5 -1.25 -2 -0.25 -1.25 1.75 1.5 -0.5\n"
     "w i64 [3] = 0 2 1\n",
     "y f32 [] = -0.25\n"},
};

/* Models that are wrong or unsupported, and a part of what is said. */
static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"reduction_must_be_known",
     "opset 13\n"
     "in x f32 [2,2]\n"
     "in t i64 [2]\n"
     "node NegativeLogLikelihoodLoss x,t > y reduction='max'\n",
     "'reduction' is 'max'"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_loss/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_loss/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
