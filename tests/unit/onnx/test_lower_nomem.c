/* Lowerings when memory runs out: each import gets through, or says so. */
#include "failalloc.h"
#include "onnx_text.h"

static const struct {
    const char *name, *model;
} models[] = {
    {"conv", "opset 13\nin x f32 [N,1,H]\nconst w f32 [2,1,2] = 1 2 3 4\nconst b f32 [2] = 1 2\n"
             "node Conv x,w,b > y strides=[2] auto_pad='SAME_UPPER'\n"},
    {"conv_transpose", "opset 13\nin x f32 [N,2,H]\nconst w f32 [2,1,2] = 1 2 3 4\n"
                       "node ConvTranspose x,w > y group=2 strides=[2] auto_pad='SAME_LOWER'\n"},
    {"max_pool", "opset 12\nin x f32 [N,C,H,W]\nnode MaxPool x > y,i kernel_shape=[2,2] ceil_mode=1 storage_order=1\n"},
    {"average_pool", "opset 12\nin x f32 [N,C,H]\nnode AveragePool x > y kernel_shape=[2] pads=[1,1]\n"},
    {"global_pool", "opset 12\nin x f16 [N,C,H]\nnode GlobalAveragePool x > y\n"},
    {"roi_pool", "opset 12\nin x f32 [N,C,H,W]\nin r f32 [R,5]\nnode MaxRoiPool x,r > y pooled_shape=[2,2]\n"},
    {"softmax", "opset 7\nin x f32 [N,C,H]\nnode Softmax x > y\n"},
    {"hardmax", "opset 7\nin x f32 [N,C,H]\nnode Hardmax x > y\n"},
    {"instance_norm", "opset 7\nin x f16 [N,2,H]\nin s f16 [2]\nin b f16 [2]\nnode InstanceNormalization x,s,b > y\n"},
    {"batch_norm", "opset 15\nin x f32 [N,2,H]\nin s f32 [2]\nin b f32 [2]\nin m f32 [2]\nin v f32 [2]\n"
                   "node BatchNormalization x,s,b,m,v > y,n,w training_mode=1\n"},
    {"group_norm", "opset 21\nin x f32 [N,4,H]\nin s f32 [4]\nin b f32 [4]\n"
                   "node GroupNormalization x,s,b > y num_groups=2\n"},
    {"quantize", "opset 21\nin x f32 [N,5]\nin s f32 [N,3]\nin z u8 [N,3]\n"
                 "node QuantizeLinear x,s,z > y block_size=2\n"},
    {"qlinear_matmul", "opset 10\nin a u8 [M,2]\nin b f32 []\nin c u8 []\nin d u8 [2,3]\nin e f32 [3]\nin f u8 [3]\n"
                       "in g f32 []\nin h u8 []\nnode QLinearMatMul a,b,c,d,e,f,g,h > y\n"},
    {"cross_entropy", "opset 13\nin x f32 [N,C]\nin t i64 [N]\nin w f32 [C]\n"
                      "node SoftmaxCrossEntropyLoss x,t,w > y,l ignore_index=1\n"},
    {"attention", "opset 24\nin q f32 [B,2,S,2]\nin k f32 [B,1,T,2]\nin v f32 [B,1,T,2]\nin m f32 [S,T]\nin p f32 "
                  "[B,1,P,2]\nin r f32 [B,1,P,2]\nnode Attention q,k,v,m,p,r > y,a,b,s is_causal=1 softcap=2.0\n"},
    {"rotary", "opset 23\nin x f32 [B,S,8]\nin c f32 [9,1]\nin s f32 [9,1]\nin p i64 [B,S]\n"
               "node RotaryEmbedding x,c,s,p > y num_heads=2 interleaved=1 rotary_embedding_dim=2\n"},
    {"linear_attention", "opset 27\nin q f32 [B,T,4]\nin k f32 [B,T,2]\nin v f32 [B,T,2]\n"
                         "node LinearAttention q,k,v > y,s q_num_heads=2 kv_num_heads=1 update_rule='linear'\n"},
    {"lstm", "opset 14\nin x f32 [S,B,1]\nin w f32 [2,4,1]\nin r f32 [2,4,1]\nin b f32 [2,8]\nin l i32 [B]\n"
             "node LSTM x,w,r,b,l > y,h,c direction='bidirectional'\n"},
    {"gru", "opset 14\nin x f32 [3,B,1]\nin w f32 [1,3,1]\nin r f32 [1,3,1]\nin b f32 [1,6]\n"
            "node GRU x,w,r,b > y,h linear_before_reset=1\n"},
    {"group_query", "opset 17\nopset com.microsoft 1\nin q f32 [B,S,8]\nin k f32 [B,S,4]\nin v f32 [B,S,4]\nin p f32 "
                    "[B,1,P,4]\nin r f32 [B,1,P,4]\nin l i32 [B]\nin t i32 []\nin c f32 [9,2]\nin s f32 [9,2]\n"
                    "node GroupQueryAttention q,k,v,p,r,l,t,c,s > y,m,n num_heads=2 kv_num_heads=1 do_rotary=1\n"},
    {"resize", "opset 19\nin x f32 [N,1,H,4]\nin s f32 [4]\nnode Resize x,_,s > y mode='cubic' antialias=1\n"},
    {"grid_sample",
     "opset 20\nin x f32 [N,1,H,W]\nin g f32 [N,2,3,2]\nnode GridSample x,g > y padding_mode='reflection'\n"},
    {"roi_align", "opset 16\nin x f32 [N,1,H,W]\nin r f32 [R,4]\nin b i64 [R]\nnode RoiAlign x,r,b > y\n"},
    {"deform_conv",
     "opset 19\nin x f32 [1,2,3,3]\nin w f32 [2,1,2,2]\nin o f32 [1,8,2,2]\nnode DeformConv x,w,o > y group=2\n"},
    {"dft", "opset 20\nin x f32 [N,12,2]\nin l i64 []\nin a i64 []\nnode DFT x,l,a > y\n"},
    {"fast_dft", "opset 17\nin x f32 [N,30,2]\nnode DFT x > y inverse=1\n"},
    {"stft", "opset 17\nin x f32 [N,L,1]\nin s i64 []\nin w f32 [K]\nnode STFT x,s,w > y\n"},
    {"tree", "opset 17\nopset ai.onnx.ml 3\nin x f32 [N,2]\n"
             "node TreeEnsembleRegressor x > y nodes_treeids=[0,0,0] nodes_nodeids=[0,1,2] nodes_featureids=[1,0,0] "
             "nodes_values=[0.5,0.0,0.0] nodes_modes=['BRANCH_LT','LEAF','LEAF'] nodes_truenodeids=[1,0,0] "
             "nodes_falsenodeids=[2,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
             "target_weights=[1.0,2.0]\n"},
    {"bits", "opset 17\nopset com.microsoft 1\nin x f32 [M,16]\nin w u8 [2,1,8]\nin s f32 [2]\nin z u8 [2]\n"
             "node MatMulNBits x,w,s,z > y K=16 N=2 bits=4 block_size=16\n"},
    {"qlinear_mean",
     "opset 17\nopset com.microsoft 1\nin x u8 [N,2,H]\nin s f32 []\nin z u8 []\nin t f32 []\nin u u8 []\n"
     "node QLinearGlobalAveragePool x,s,z,t,u > y\n"},
};

static hone_rc import(void *arg) {
    const hn_str *model = arg;
    hone_graph *g = NULL;
    hone_err err = {0};
    hone_rc rc = onnx_import(model->text, model->n, NULL, &g, NULL, &err);
    if (rc && rc != HONE_E_NOMEM) printf("#   %s\n", err.text);
    hone_graph_free(g);
    return rc;
}

int main(void) {
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        char name[100];
        hn_arena arena = {0};
        hn_str model = ot_model(models[i].model, &arena);
        snprintf(name, sizeof name, "lower_nomem/%s", models[i].name);
        sweep_allocations(name, import, &model);
        hn_str_free(&model);
        hn_arena_free(&arena);
    }
    return done_testing();
}
