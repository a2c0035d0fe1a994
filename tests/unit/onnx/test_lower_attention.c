/* The lowerings of attention: cases that ONNX's own suite has not. Expected values: ONNX Runtime 1.31 and the reference
 * evaluator of ONNX 1.22, or the operator's formula. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"heads_share_keys_with_symbolic_sizes",
     "opset 23\n"
     "in x f32 [B,2,S,2]\n"
     "in w f32 [B,1,T,2]\n"
     "in b f32 [B,1,T,2]\n"
     "node Attention x,w,b > y\n",
     "x f32 [1,2,2,2] = 0.75 1 -1.75 1.25 0.25 1.5 1.5 0.75\n"
     "w f32 [1,1,3,2] = -0.75 -0.5 1 -1.75 -1.25 0\n"
     "b f32 [1,1,3,2] = 2 1 1.25 -1.25 -1 -1\n",
     "y f32 [1,2,2,2] = 0.705657542 -0.445848733 -0.214143887 -0.493029743 0.307312638 -0.345511943 1.05731297 "
     "-0.767897606\n"},
    {"causal_behind_a_past",
     "opset 23\n"
     "in x f32 [B,2,S,2]\n"
     "in w f32 [B,1,T,2]\n"
     "in b f32 [B,1,T,2]\n"
     "in i4 f32 [B,1,P,2]\n"
     "in i5 f32 [B,1,P,2]\n"
     "node Attention x,w,b,_,i4,i5 > y,p,r is_causal=1\n",
     "x f32 [1,2,2,2] = 0.75 1 -1.75 1.25 0.25 1.5 1.5 0.75\n"
     "w f32 [1,1,3,2] = -0.75 -0.5 1 -1.75 -1.25 0\n"
     "b f32 [1,1,3,2] = 2 1 1.25 -1.25 -1 -1\n"
     "i4 f32 [1,1,1,2] = 1 0.25\n"
     "i5 f32 [1,1,1,2] = -1.25 1\n",
     "y f32 [1,2,2,2] = -0.636689305 1 1.40360379 0.93218565 -0.441297829 1 -0.418434471 0.463201046\n"
     "p f32 [1,1,4,2] = 1 0.25 -0.75 -0.5 1 -1.75 -1.25 0\n"
     "r f32 [1,1,4,2] = -1.25 1 2 1 1.25 -1.25 -1 -1\n"},
    {"a_mask_for_each_head",
     "opset 23\n"
     "in x f32 [1,2,2,2]\n"
     "in w f32 [1,1,3,2]\n"
     "in b f32 [1,1,3,2]\n"
     "in i3 f32 [2,2,3]\n"
     "node Attention x,w,b,i3 > y\n",
     "x f32 [1,2,2,2] = 0.75 1 -1.75 1.25 0.25 1.5 1.5 0.75\n"
     "w f32 [1,1,3,2] = -0.75 -0.5 1 -1.75 -1.25 0\n"
     "b f32 [1,1,3,2] = 2 1 1.25 -1.25 -1 -1\n"
     "i3 f32 [2,2,3] = 0.5 1.75 0.25 -1.5 1.75 -1.25 -2 1.25 -0.25 0.5 -1.5 1\n",
     "y f32 [1,2,2,2] = 1.0382756 -0.802142084 -0.0850537568 -0.691473424 0.244403288 -1.01727724 0.477011144 "
     "-0.303422272\n"},
    {"a_bool_mask_and_softcap",
     "opset 23\n"
     "in x f32 [1,2,2,2]\n"
     "in w f32 [1,1,3,2]\n"
     "in b f32 [1,1,3,2]\n"
     "in i3 bool [2,3]\n"
     "node Attention x,w,b,i3 > y softcap=1.5 scale=0.5\n",
     "x f32 [1,2,2,2] = 0.75 1 -1.75 1.25 0.25 1.5 1.5 0.75\n"
     "w f32 [1,1,3,2] = -0.75 -0.5 1 -1.75 -1.25 0\n"
     "b f32 [1,1,3,2] = 2 1 1.25 -1.25 -1 -1\n"
     "i3 bool [2,3] = 1 0 1 1 1 0\n",
     "y f32 [1,2,2,2] = 0.45798564 -0.0280095637 1.87766206 0.632986605 0.277862668 -0.148091555 1.48464155 "
     "-0.546075404\n"},
    {"a_mask_shorter_than_the_keys",
     "opset 24\n"
     "in x f32 [1,2,2,2]\n"
     "in w f32 [1,1,3,2]\n"
     "in b f32 [1,1,3,2]\n"
     "in i3 f32 [2,2]\n"
     "node Attention x,w,b,i3 > y\n",
     "x f32 [1,2,2,2] = 0.75 1 -1.75 1.25 0.25 1.5 1.5 0.75\n"
     "w f32 [1,1,3,2] = -0.75 -0.5 1 -1.75 -1.25 0\n"
     "b f32 [1,1,3,2] = 2 1 1.25 -1.25 -1 -1\n"
     "i3 f32 [2,2] = -0.5 2 0.5 1.75\n",
     "y f32 [1,2,2,2] = 1.30461311 -1.08616066 1.91218936 0.736568093 1.38867068 -0.833988011 1.30995059 "
     "-1.07014823\n"},
    {"keys_behind_the_valid_ones_are_left_out",
     "opset 24\n"
     "in x f32 [B,2,S,2]\n"
     "in w f32 [B,1,T,2]\n"
     "in b f32 [B,1,T,2]\n"
     "in i6 i64 [1]\n"
     "node Attention x,w,b,_,_,_,i6 > y\n",
     "x f32 [1,2,2,2] = 0.75 1 -1.75 1.25 0.25 1.5 1.5 0.75\n"
     "w f32 [1,1,3,2] = -0.75 -0.5 1 -1.75 -1.25 0\n"
     "b f32 [1,1,3,2] = 2 1 1.25 -1.25 -1 -1\n"
     "i6 i64 [1] = 2\n",
     "y f32 [1,2,2,2] = 1.61671495 -0.149855182 1.9725486 0.917645931 1.8007127 0.402138203 1.42450964 "
     "-0.726471186\n"},
    {"scores_behind_the_mask_of_packed_heads",
     "opset 23\n"
     "in x f32 [1,2,4]\n"
     "in w f32 [1,3,2]\n"
     "in b f32 [1,3,2]\n"
     "in i3 f32 [2,3]\n"
     "node Attention x,w,b,i3 > y,_,_,s q_num_heads=2 kv_num_heads=1 qk_matmul_output_mode=2\n",
     "x f32 [1,2,4] = 1.25 1.5 -1.75 1.25 0.5 -0.5 -0.75 0.5\n"
     "w f32 [1,3,2] = -1.25 -1.25 1.5 1 0.5 1\n"
     "b f32 [1,3,2] = -0.75 1 -1.25 -0.25 -1.5 -0.5\n"
     "i3 f32 [2,3] = -0.75 -0.25 0 -2 -0.75 1.5\n",
     "y f32 [1,2,4] = -1.33478284 -0.332386196 -1.2322017 0.0040330356 -1.4455775 -0.422791421 -1.4622767 "
     "-0.438693523\n"
     "s f32 [1,2,2,3] = -3.18067956 2.13648534 1.50260186 -2 -0.573223293 1.32322335 -0.308058262 -1.2222718 "
     "0.265165031 -1.77902913 -1.19194174 1.58838832\n"},
    {"rotary_by_position_with_symbolic_length",
     "opset 23\n"
     "in x f32 [B,1,S,4]\n"
     "in w f32 [5,2]\n"
     "in b f32 [5,2]\n"
     "in i3 i64 [B,S]\n"
     "node RotaryEmbedding x,w,b,i3 > y\n",
     "x f32 [1,1,2,4] = -0.25 0.25 -1.75 -0.5 2 0.25 -2 1\n"
     "w f32 [5,2] = 1.25 -0.5 -2 1.5 -1 1.75 -0.5 -0.5 1.25 -1.5\n"
     "b f32 [5,2] = -2 1 1.75 2 -1.5 -1.5 -0.75 1 1.75 1.5\n"
     "i3 i64 [1,2] = 3 0\n",
     "y f32 [1,1,2,4] = -1.1875 0.375 1.0625 0.5 -1.5 -1.125 -6.5 -0.25\n"},
    {"rotary_of_a_part_in_pairs",
     "opset 23\n"
     "in x f32 [B,S,8]\n"
     "in w f32 [B,S,1]\n"
     "in b f32 [B,S,1]\n"
     "node RotaryEmbedding x,w,b > y num_heads=2 interleaved=1 rotary_embedding_dim=2\n",
     "x f32 [1,2,8] = -0.5 1.75 -1 -1.5 -0.25 -1.75 0.75 2 -1.75 -1.75 -1.25 -1.25 0.25 0.25 2 -0.25\n"
     "w f32 [1,2,1] = 1.75 1\n"
     "b f32 [1,2,1] = 1.5 -1.25\n",
     "y f32 [1,2,8] = -3.5 2.3125 -1 -1.5 2.1875 -3.4375 0.75 2 -3.9375 0.4375 -1.25 -1.25 0.5625 -0.0625 2 "
     "-0.25\n"},
    {"linear_attention_linear",
     "opset 27\n"
     "in x f32 [B,T,4]\n"
     "in w f32 [B,T,2]\n"
     "in b f32 [B,T,2]\n"
     "node LinearAttention x,w,b,_,_,_ > y,s q_num_heads=2 kv_num_heads=1 update_rule='linear'\n",
     "x f32 [1,3,4] = -0.25 1.75 1 -1.25 1.5 1.25 -1.5 -1.75 -1 0 -1.5 -2\n"
     "w f32 [1,3,2] = -1.75 -0.75 -0.5 -0.75 -0.25 1\n"
     "b f32 [1,3,2] = -1 -0.25 1 -2 1.75 2\n",
     "y f32 [1,3,4] = 0.618718445 0.154679611 0.574524283 0.143631071 1.32582521 3.01625228 -1.32582521 "
     "-3.61287379 -0.574524283 -0.662912607 -3.33666015 -6.20928144\n"
     "s f32 [1,1,2,2] = 0.8125 0.9375 1.75 3.6875\n"},
    {"linear_attention_gated",
     "opset 27\n"
     "in x f32 [B,T,4]\n"
     "in w f32 [B,T,2]\n"
     "in b f32 [B,T,2]\n"
     "in i4 f32 [B,T,1]\n"
     "node LinearAttention x,w,b,_,i4,_ > y,s q_num_heads=2 kv_num_heads=1 update_rule='gated'\n",
     "x f32 [1,3,4] = -1 1.75 -1 1.75 0.75 -1 -1.75 -0.5 1 -1.25 0 -1.5\n"
     "w f32 [1,3,2] = -0.25 -2 2 0 1.5 -1.5\n"
     "b f32 [1,3,2] = -1.5 -1.5 0.25 1.5 0.5 0\n"
     "i4 f32 [1,3,1] = -2 -1.25 -1.5\n",
     "y f32 [1,3,4] = 3.44714546 3.44714546 3.44714546 3.44714546 -0.2856251 1.04020011 -1.05555201 "
     "-4.14914417 1.11956823 0.320767611 0.592077971 -0.203417197\n"
     "s f32 [1,1,2,2] = 0.885537982 0.693363369 -0.558216453 0.191783562\n"},
    {"linear_attention_delta",
     "opset 27\n"
     "in x f32 [B,T,4]\n"
     "in w f32 [B,T,2]\n"
     "in b f32 [B,T,2]\n"
     "in i5 f32 [B,T,1]\n"
     "node LinearAttention x,w,b,_,_,i5 > y,s q_num_heads=2 kv_num_heads=1 update_rule='delta'\n",
     "x f32 [1,3,4] = 0.75 1.5 -1 -1 0 1.25 -1 1.5 0 0.75 0.5 0\n"
     "w f32 [1,3,2] = 0.25 2 -0.5 2 1.25 -1.25\n"
     "b f32 [1,3,2] = 1.5 -0.5 -1.25 -1 -1.5 -0.75\n"
     "i5 f32 [1,3,1] = 0.4375 0.0625 0.5\n",
     "y f32 [1,3,4] = 1.47912371 -0.493041247 -1.04408741 0.348029107 0.741029263 -0.403530777 0.689411819 "
     "-0.448933393 0.71152848 0.174943134 -0.0780289918 -0.295692861\n"
     "s f32 [1,1,2,2] = -0.22069931 -0.836345673 1.34167099 0.329875946\n"},
    {"linear_attention_gated_delta",
     "opset 27\n"
     "in x f32 [B,T,4]\n"
     "in w f32 [B,T,2]\n"
     "in b f32 [B,T,2]\n"
     "in i4 f32 [B,T,1]\n"
     "in i5 f32 [B,T,1]\n"
     "node LinearAttention x,w,b,_,i4,i5 > y,s q_num_heads=2 kv_num_heads=1 update_rule='gated_delta'\n",
     "x f32 [1,3,4] = 2 2 -1 -1.25 0.75 2 1.5 -1.25 1 0 -0.25 0\n"
     "w f32 [1,3,2] = 0.25 1.75 1.25 -2 1 -0.75\n"
     "b f32 [1,3,2] = -0.75 0.5 2 -1.75 0 -1\n"
     "i4 f32 [1,3,1] = -1.75 -0.25 -1.5\n"
     "i5 f32 [1,3,1] = 0.375 0.4375 0.25\n",
     "y f32 [1,3,4] = -0.795495152 0.530330062 0.484754831 -0.323169887 -1.80448937 1.59774828 2.04266548 "
     "-1.9257133 0.0327273011 -0.214773178 -0.00818182528 0.0536932945\n"
     "s f32 [1,1,2,2] = 0.0462833941 -0.303735137 -0.264431119 0.424164027\n"},
};

/* Models that are wrong or unsupported, and a part of what is said. */
static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"heads_must_divide",
     "opset 23\n"
     "in q f32 [1,3,2,2]\n"
     "in k f32 [1,2,2,2]\n"
     "in v f32 [1,2,2,2]\n"
     "node Attention q,k,v > y\n",
     "cannot share"},
    {"packed_heads_need_a_number",
     "opset 23\n"
     "in q f32 [1,3,2]\n"
     "in k f32 [1,2,2]\n"
     "in v f32 [1,2,2]\n"
     "node Attention q,k,v > y\n",
     "'q_num_heads'"},
    {"update_rule_needs_its_inputs",
     "opset 27\n"
     "in q f32 [1,3,2]\n"
     "in k f32 [1,3,2]\n"
     "in v f32 [1,3,2]\n"
     "node LinearAttention q,k,v > y,s q_num_heads=1 kv_num_heads=1\n",
     "decay"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_attention/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_attention/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
