/* The lowerings of recurrent cells: cases that ONNX's own suite has not. Expected values: ONNX Runtime 1.31 and the
 * reference evaluator of ONNX 1.22, or the operator's formula. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"rnn_both_directions_of_ragged_sequences_written_out",
     "opset 14\n"
     "in x f32 [3,2,1]\n"
     "const w f32 [2,1,1] = -0.75 1.5\n"
     "const b f32 [2,1,1] = 0.75 0.75\n"
     "const i3 f32 [2,2] = 2 1 -0.75 -0.75\n"
     "in i4 i32 [2]\n"
     "node RNN x,w,b,i3,i4 > y,h hidden_size=1 direction='bidirectional'\n",
     "x f32 [3,2,1] = 1.25 1.5 2 1 1.5 1\n"
     "i4 i32 [2] = 3 1\n",
     "y f32 [3,2,2,1] = 0.968187213 0.954045296 0.799324632 0.635148883 0.976964474 0 0.962318897 0 "
     "0.989194632 0 0.635148883 0\n"
     "h f32 [2,2,1] = 0.989194632 0.954045296 0.799324632 0.635148883\n"},
    {"rnn_both_directions_of_ragged_sequences_as_a_loop",
     "opset 14\n"
     "in x f32 [S,B,1]\n"
     "const w f32 [2,1,1] = -0.5 1.75\n"
     "const b f32 [2,1,1] = 1.5 0.5\n"
     "const i3 f32 [2,2] = 2 -0.75 1.5 1.75\n"
     "in i4 i32 [2]\n"
     "node RNN x,w,b,i3,i4 > y,h hidden_size=1 direction='bidirectional'\n",
     "x f32 [3,2,1] = -0.75 -1.5 -1.75 1 1.25 -1.5\n"
     "i4 i32 [2] = 3 1\n",
     "y f32 [3,2,2,1] = 0.925346136 0.964027524 0.977395058 0.554599762 0.998224616 0 0.596361279 0 "
     "0.971724629 0 0.999962091 0\n"
     "h f32 [2,2,1] = 0.971724629 0.964027524 0.977395058 0.554599762\n"},
    {"rnn_reverse_with_initial_state_of_opset_7",
     "opset 7\n"
     "in x f32 [S,B,1]\n"
     "const w f32 [1,1,1] = -1.5\n"
     "const b f32 [1,1,1] = 2\n"
     "const i3 f32 [1,2] = -0.5 0.25\n"
     "in i5 f32 [1,2,1]\n"
     "node RNN x,w,b,i3,_,i5 > y,h hidden_size=1 direction='reverse'\n",
     "x f32 [3,2,1] = 0.5 -1.5 -1 0 -1 -1.75\n"
     "i5 f32 [1,2,1] = -0.25 1.25\n",
     "y f32 [3,1,2,1] = 0.750582218 0.999152064 0.987143517 0.94134903 0.635148883 0.999883413\n"
     "h f32 [1,2,1] = 0.750582218 0.999152064\n"},
    {"gru_both_directions_of_ragged_sequences_written_out",
     "opset 14\n"
     "in x f32 [3,2,1]\n"
     "const w f32 [2,3,1] = 1.25 0.5 1.25 2 -1.25 -0.25\n"
     "const b f32 [2,3,1] = -1.25 -0.25 -2 0.75 -1 1.5\n"
     "const i3 f32 [2,6] = 1 -0.75 -0.25 0.75 -0.25 -1.25 -2 0.25 0.25 1.25 -1.5 -1.75\n"
     "in i4 i32 [2]\n"
     "node GRU x,w,b,i3,i4 > y,h hidden_size=1 direction='bidirectional'\n",
     "x f32 [3,2,1] = -1.75 -1 0.25 1.25 -0.25 0.75\n"
     "i4 i32 [2] = 3 1\n",
     "y f32 [3,2,2,1] = -0.606902003 -0.374467432 -0.974294543 -0.797313213 -0.609827638 0 -0.871589005 0 "
     "-0.638884425 0 -0.694279075 0\n"
     "h f32 [2,2,1] = -0.638884425 -0.374467432 -0.974294543 -0.797313213\n"},
    {"gru_both_directions_of_ragged_sequences_as_a_loop",
     "opset 14\n"
     "in x f32 [S,B,1]\n"
     "const w f32 [2,3,1] = 1 -0.25 0 -0.5 -2 1\n"
     "const b f32 [2,3,1] = 0.25 0 1.75 1 2 -1.75\n"
     "const i3 f32 [2,6] = 2 0.25 -0.5 0.25 -2 1.75 0.5 -2 1.75 -0.25 -1.5 0.5\n"
     "in i4 i32 [2]\n"
     "node GRU x,w,b,i3,i4 > y,h hidden_size=1 direction='bidirectional'\n",
     "x f32 [3,2,1] = 1 1 1.25 -2 0.75 2\n"
     "i4 i32 [2] = 3 1\n",
     "y f32 [3,2,2,1] = 0.0316637792 0.0316637792 0.840591788 0.560488641 0.0554682016 0 0.745373964 0 "
     "0.0927333385 0 0.528582394 0\n"
     "h f32 [2,2,1] = 0.0927333385 0.0316637792 0.840591788 0.560488641\n"},
    {"gru_reverse_with_initial_state_of_opset_7",
     "opset 7\n"
     "in x f32 [S,B,1]\n"
     "const w f32 [1,3,1] = -0.75 -1.25 -2\n"
     "const b f32 [1,3,1] = -1.25 -1 1.5\n"
     "const i3 f32 [1,6] = 0 -1.25 1 -0.25 1.5 1\n"
     "in i5 f32 [1,2,1]\n"
     "node GRU x,w,b,i3,_,i5 > y,h hidden_size=1 direction='reverse'\n",
     "x f32 [3,2,1] = -1.75 0.25 1 -1.75 1.25 0.5\n"
     "i5 f32 [1,2,1] = 1.75 1\n",
     "y f32 [3,1,2,1] = 0.0572278798 0.952239275 -0.197343916 0.941500187 -0.295082331 0.880714655\n"
     "h f32 [1,2,1] = 0.0572278798 0.952239275\n"},
    {"lstm_both_directions_of_ragged_sequences_written_out",
     "opset 14\n"
     "in x f32 [3,2,1]\n"
     "const w f32 [2,4,1] = 1.5 0.5 -2 1.25 -0.5 0.75 0.75 0.5\n"
     "const b f32 [2,4,1] = -0.25 -0.5 -1.75 0.25 -1 -0.5 -1.5 1\n"
     "const i3 f32 [2,8] = 1.75 -0.5 -0.25 -0.25 -1.75 1 1.5 0 -1.75 -0.75 -1.5 1.5 1.25 -0.5 -0.5 1.5\n"
     "in i4 i32 [2]\n"
     "node LSTM x,w,b,i3,i4 > y,h,c hidden_size=1 direction='bidirectional'\n",
     "x f32 [3,2,1] = -1.75 0.25 -0.25 1.25 -1.5 -0.25\n"
     "i4 i32 [2] = 3 1\n",
     "y f32 [3,2,2,1] = -0.0270571504 0.0240849108 0.0357466452 0.0857768357 -0.155775025 0 0.0791483074 0 "
     "-0.158161417 0 0.0425825045 0\n"
     "h f32 [2,2,1] = -0.158161417 0.0240849108 0.0357466452 0.0857768357\n"
     "c f32 [2,2,1] = -0.360923648 0.0369935036 0.573642671 0.347301632\n"},
    {"lstm_both_directions_of_ragged_sequences_as_a_loop",
     "opset 14\n"
     "in x f32 [S,B,1]\n"
     "const w f32 [2,4,1] = 1.75 -2 0.75 -0.5 1.5 1.5 -1 0.25\n"
     "const b f32 [2,4,1] = 0 0.25 1.5 0.75 1 0.75 -1 0.25\n"
     "const i3 f32 [2,8] = -0.5 -0.25 -1.75 -1.25 -0.75 -1 0.5 -1 -1 -0.25 0.25 2 0 -0.75 -0.75 -0.25\n"
     "in i4 i32 [2]\n"
     "node LSTM x,w,b,i3,i4 > y,h,c hidden_size=1 direction='bidirectional'\n",
     "x f32 [3,2,1] = -1.75 1.25 2 -0.25 1 1\n"
     "i4 i32 [2] = 3 1\n",
     "y f32 [3,2,2,1] = -0.0105240578 -0.0140897473 0.0236982666 0.419011414 -0.00375074963 0 0.660135746 0 "
     "-0.0277432632 0 0.334321558 0\n"
     "h f32 [2,2,1] = -0.0277432632 -0.0140897473 0.0236982666 0.419011414\n"
     "c f32 [2,2,1] = -0.959205508 -0.714034736 0.641200662 0.683332026\n"},
    {"lstm_reverse_with_initial_state_of_opset_7",
     "opset 7\n"
     "in x f32 [S,B,1]\n"
     "const w f32 [1,4,1] = -1 1.75 1.5 -0.5\n"
     "const b f32 [1,4,1] = -0.75 -1 -0.75 1.75\n"
     "const i3 f32 [1,8] = -0.75 0 1.75 0.75 -1.5 -1.75 -1.25 1.5\n"
     "in i5 f32 [1,2,1]\n"
     "in i6 f32 [1,2,1]\n"
     "in i7 f32 [1,3]\n"
     "node LSTM x,w,b,i3,_,i5,i6,i7 > y,h,c hidden_size=1 direction='reverse'\n",
     "x f32 [3,2,1] = 1.75 -0.5 -1 0.25 1.25 2\n"
     "i5 f32 [1,2,1] = -1.25 -0.75\n"
     "i6 f32 [1,2,1] = 0.25 0\n"
     "i7 f32 [1,3] = -1.75 -1.25 2\n",
     "y f32 [3,1,2,1] = 0.162123695 0.00894050766 0.00407895166 0.0143684298 0.174416959 -0.0014090183\n"
     "h f32 [1,2,1] = 0.162123695 0.00894050766\n"
     "c f32 [1,2,1] = 0.223735198 0.164113611\n"},
    {"gru_linear_before_reset",
     "opset 22\n"
     "in x f32 [S,B,1]\n"
     "const w f32 [1,3,1] = 0 1.25 1.25\n"
     "const b f32 [1,3,1] = 0.75 -0.25 1.5\n"
     "const i3 f32 [1,6] = -0.5 0.75 0.25 -0.75 -1.25 0.25\n"
     "node GRU x,w,b,i3 > y,h hidden_size=1 linear_before_reset=1\n",
     "x f32 [3,2,1] = -0.25 -1 1.5 -0.25 1.5 -1.5\n",
     "y f32 [3,1,2,1] = 0.011145331 -0.579560161 0.764018834 -0.31500417 0.918263078 -0.815087736\n"
     "h f32 [1,2,1] = 0.918263078 -0.815087736\n"},
    {"lstm_couples_input_and_forget",
     "opset 14\n"
     "in x f32 [3,2,1]\n"
     "in w f32 [1,4,1]\n"
     "in b f32 [1,4,1]\n"
     "in i3 f32 [1,8]\n"
     "node LSTM x,w,b,i3 > y,h,c hidden_size=1 input_forget=1\n",
     "x f32 [3,2,1] = -0.75 0 1 1.25 1.25 0\n"
     "w f32 [1,4,1] = -2 -1.25 1 0.5\n"
     "b f32 [1,4,1] = 1.25 0 -0.25 -1\n"
     "i3 f32 [1,8] = -1.75 -1.5 0.75 0.25 -1 -0.5 0.5 -0.5\n",
     "y f32 [3,1,2,1] = -0.0315608531 -0.00175410358 -0.00446622726 -0.000352111005 -0.0032325089 "
     "-0.00318062864\n"
     "h f32 [1,2,1] = -0.0032325089 -0.00318062864\n"
     "c f32 [1,2,1] = -0.117723152 -0.0266888123\n"},
    {"rnn_clips",
     "opset 14\n"
     "in x f32 [3,2,1]\n"
     "in w f32 [1,1,1]\n"
     "in b f32 [1,1,1]\n"
     "in i3 f32 [1,2]\n"
     "node RNN x,w,b,i3 > y,h hidden_size=1 clip=0.25\n",
     "x f32 [3,2,1] = -0.5 -1 0.5 1.75 -1 -1\n"
     "w f32 [1,1,1] = 0\n"
     "b f32 [1,1,1] = -1.25\n"
     "i3 f32 [1,2] = 0 1.75\n",
     "y f32 [3,1,2,1] = 0.244918704 0.244918704 0.244918704 0.244918704 0.244918704 0.244918704\n"
     "h f32 [1,2,1] = 0.244918704 0.244918704\n"},
    {"gru_takes_alpha_and_beta_in_order",
     "opset 14\n"
     "in x f32 [3,2,1]\n"
     "in w f32 [1,3,1]\n"
     "in b f32 [1,3,1]\n"
     "in i3 f32 [1,6]\n"
     "node GRU x,w,b,i3 > y,h hidden_size=1 activations=['HardSigmoid','LeakyRelu'] "
     "activation_alpha=[0.25,0.5] activation_beta=[0.125]\n",
     "x f32 [3,2,1] = 0.5 -1.5 -1.25 -1.75 2 -0.75\n"
     "w f32 [1,3,1] = -1 1.5 -0.75\n"
     "b f32 [1,3,1] = -1.25 -1 -0.5\n"
     "i3 f32 [1,6] = -1.75 0.5 -0.25 2 1.25 -0.5\n",
     "y f32 [3,1,2,1] = -0.52734375 0.1640625 -0.267786264 0.333904266 -1.05805349 0.00995568931\n"
     "h f32 [1,2,1] = -1.05805349 0.00995568931\n"},
    {"lstm_knows_activations_without_case",
     "opset 7\n"
     "in x f32 [3,2,1]\n"
     "in w f32 [1,4,1]\n"
     "in b f32 [1,4,1]\n"
     "in i3 f32 [1,8]\n"
     "node LSTM x,w,b,i3 > y,h hidden_size=1 activations=['hardsigmoid','relu','softsign']\n",
     "x f32 [3,2,1] = 1 1.25 -1.25 -1.5 -1.5 -2\n"
     "w f32 [1,4,1] = -0.75 1.25 1.25 -0.5\n"
     "b f32 [1,4,1] = 0 1.25 1.75 -1\n"
     "i3 f32 [1,8] = 0.75 0.5 0.5 1.25 1.25 -0.5 1 -2\n",
     "y f32 [3,1,2,1] = 0 0 0 0 0 0\n"
     "h f32 [1,2,1] = 0 0\n"},
    {"last_state_alone",
     "opset 7\n"
     "in x f32 [3,2,1]\n"
     "in w f32 [1,3,1]\n"
     "in b f32 [1,3,1]\n"
     "in i3 f32 [1,6]\n"
     "node GRU x,w,b,i3 > _,h hidden_size=1\n",
     "x f32 [3,2,1] = -0.75 -1.25 -1 1.75 -0.25 -1.75\n"
     "w f32 [1,3,1] = 0 -1.75 -1.5\n"
     "b f32 [1,3,1] = -0.5 -0.25 -1.25\n"
     "i3 f32 [1,6] = 0.5 0 -1.5 1.25 -1.5 -0.5\n",
     "h f32 [1,2,1] = -0.253675044 -0.0488778949\n"},
    {"batch_first",
     "opset 14\n"
     "in x f32 [B,S,1]\n"
     "in w f32 [1,1,1]\n"
     "in b f32 [1,1,1]\n"
     "in i3 f32 [1,2]\n"
     "node RNN x,w,b,i3 > y,h hidden_size=1 layout=1\n",
     "x f32 [2,3,1] = -1.5 2 -1 1.5 2 -1.25\n"
     "w f32 [1,1,1] = 0\n"
     "b f32 [1,1,1] = 1.5\n"
     "i3 f32 [1,2] = -2 -1.5\n",
     "y f32 [2,3,1,1] = -0.998177886 -0.999908686 -0.999909163 -0.998177886 -0.999908686 -0.999909163\n"
     "h f32 [2,1,1] = -0.999909163 -0.999909163\n"},
};

/* Models that are wrong or unsupported, and a part of what is said. */
static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"activation_must_be_known",
     "opset 14\n"
     "in x f32 [1,1,1]\n"
     "in w f32 [1,1,1]\n"
     "in r f32 [1,1,1]\n"
     "node RNN x,w,r > y activations=['Sine']\n",
     "'Sine'"},
    {"sizes_must_fit",
     "opset 14\n"
     "in x f32 [1,1,1]\n"
     "in w f32 [1,4,1]\n"
     "in r f32 [1,3,1]\n"
     "node GRU x,w,r > y hidden_size=1\n",
     "do not fit together"},
    {"direction_must_be_known",
     "opset 14\n"
     "in x f32 [1,1,1]\n"
     "in w f32 [1,1,1]\n"
     "in r f32 [1,1,1]\n"
     "node RNN x,w,r > y direction='sideways'\n",
     "'sideways'"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_rnn/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_rnn/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
