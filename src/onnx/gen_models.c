/* onnx/gen_models.c — the architectures of `hone gen`, as exporters write them.
 *
 * Sources: mlp; He et al. 2015, "Deep residual learning" (ResNet-50, v1.5 strides); Sandler et al. 2018, "MobileNetV2";
 * Devlin et al. 2018, "BERT"; Wang et al. 2020, "MiniLM" (L6, 384); Radford et al. 2019 (GPT-2 small).
 */
#include "onnx/gen_int.h"

#include <math.h>

#define DIMS(...)                                                                                                      \
    (const int64_t[]) { __VA_ARGS__ }
#define SIZES(...)                                                                                                     \
    (const hn_gen_size[]) { __VA_ARGS__ }
#define ATTRS(...)                                                                                                     \
    (const hn_gen_attr[]) { __VA_ARGS__, HN_GEN_END }
#define INS(...)                                                                                                       \
    (const char *const[]) { __VA_ARGS__, NULL }

static hn_gen_size fixed(int64_t n) { return (hn_gen_size){n, NULL}; }

static const char *matrix(hn_gen *g, int64_t rows, int64_t columns, double scale) {
    return hn_gen_weight(g, 2, DIMS(rows, columns), scale);
}
static const char *vector(hn_gen *g, int64_t n, double scale) { return hn_gen_weight(g, 1, DIMS(n), scale); }

static const char *with_scalar(hn_gen *g, const char *op, const char *x, double value) {
    const char *c = hn_gen_scalar(g, value);
    return HN_GEN_OP(g, op, x, c);
}

/* --- transformers ------------------------------------------------------------------------------------------------ */

typedef struct transformer {
    int64_t layers, hidden, heads, inner, vocabulary, positions;
} transformer;

static const char *linear(hn_gen *g, const char *x, int64_t in, int64_t out) {
    const char *w = matrix(g, in, out, 0.02), *y = HN_GEN_OP(g, "MatMul", x, w), *bias = vector(g, out, 0.01);
    return HN_GEN_OP(g, "Add", y, bias);
}

static const char *layer_norm(hn_gen *g, const char *x, int64_t n, double epsilon) {
    const char *scale = hn_gen_filled(g, n, 1), *bias = hn_gen_filled(g, n, 0);
    return hn_gen_op(g, "LayerNormalization", INS(x, scale, bias),
                     ATTRS(HN_GEN_ATTR_I("axis", -1), HN_GEN_ATTR_F("epsilon", epsilon)));
}

static const char *transpose(hn_gen *g, const char *x, int64_t a, int64_t b, int64_t c, int64_t d) {
    return hn_gen_op(g, "Transpose", INS(x), ATTRS(HN_GEN_ATTR_4("perm", a, b, c, d)));
}

/* [b, s, h] to [b, s, heads, h / heads]. */
static const char *split_heads(hn_gen *g, const transformer *m, const char *x) {
    const char *shape = hn_gen_ints(g, 4, DIMS(0, -1, m->heads, m->hidden / m->heads));
    return HN_GEN_OP(g, "Reshape", x, shape);
}

static const char *attention(hn_gen *g, const transformer *m, const char *x) {
    int64_t h = m->hidden;
    const char *q = transpose(g, split_heads(g, m, linear(g, x, h, h)), 0, 2, 1, 3);
    const char *k = transpose(g, split_heads(g, m, linear(g, x, h, h)), 0, 2, 3, 1);
    const char *v = transpose(g, split_heads(g, m, linear(g, x, h, h)), 0, 2, 1, 3);
    const char *score = with_scalar(g, "Div", HN_GEN_OP(g, "MatMul", q, k), sqrt((double)(h / m->heads)));
    const char *masked = HN_GEN_OP(g, "Add", score, "mask");
    const char *p = hn_gen_op(g, "Softmax", INS(masked), ATTRS(HN_GEN_ATTR_I("axis", -1)));
    const char *mixed = transpose(g, HN_GEN_OP(g, "MatMul", p, v), 0, 2, 1, 3);
    const char *shape = hn_gen_ints(g, 3, DIMS(0, -1, h));
    return linear(g, HN_GEN_OP(g, "Reshape", mixed, shape), h, h);
}

static const char *half_of_product(hn_gen *g, const char *x, const char *f) {
    return with_scalar(g, "Mul", HN_GEN_OP(g, "Mul", x, with_scalar(g, "Add", f, 1)), 0.5);
}

static const char *gelu_erf(hn_gen *g, const char *x) {
    return half_of_product(g, x, HN_GEN_OP(g, "Erf", with_scalar(g, "Div", x, sqrt(2))));
}

static const char *gelu_tanh(hn_gen *g, const char *x) {
    const char *cube = with_scalar(g, "Mul", with_scalar(g, "Pow", x, 3), 0.044715);
    const char *inner = with_scalar(g, "Mul", HN_GEN_OP(g, "Add", x, cube), sqrt(2 / acos(-1)));
    return half_of_product(g, x, HN_GEN_OP(g, "Tanh", inner));
}

/* The first `seq` rows of the table of positions. */
static const char *positions(hn_gen *g, const transformer *m, hn_gen_size seq) {
    const char *table = hn_gen_weight(g, 3, DIMS(1, m->positions, m->hidden), 0.02), *from, *to;
    if (seq.n) {
        from = hn_gen_ints(g, 1, DIMS(0));
        to = hn_gen_ints(g, 1, DIMS(seq.n));
    } else {
        const char *shape = HN_GEN_OP(g, "Shape", "ids"), *one = hn_gen_ints(g, 1, DIMS(1));
        to = hn_gen_op(g, "Gather", INS(shape, one), ATTRS(HN_GEN_ATTR_I("axis", 0)));
        from = hn_gen_ints(g, 1, DIMS(0));
    }
    const char *axis = hn_gen_ints(g, 1, DIMS(1));
    return HN_GEN_OP(g, "Slice", table, from, to, axis);
}

/* BERT: normalised behind each block, erf GELU, additive mask. */
static void build_encoder(hn_gen *g, hn_gen_size b, hn_gen_size s, const void *arg) {
    const transformer *m = arg;
    int64_t h = m->hidden;
    hn_gen_input(g, "ids", HONE_I64, 2, SIZES(b, s));
    hn_gen_input(g, "mask", HONE_F32, 4, SIZES(b, fixed(1), fixed(1), s));
    const char *table = matrix(g, m->vocabulary, h, 0.02), *x = HN_GEN_OP(g, "Gather", table, "ids");
    const char *pos = positions(g, m, s);
    x = layer_norm(g, HN_GEN_OP(g, "Add", x, pos), h, 1e-12);
    for (int64_t i = 0; i < m->layers; i++) {
        const char *y = attention(g, m, x);
        x = layer_norm(g, HN_GEN_OP(g, "Add", y, x), h, 1e-12);
        const char *f = linear(g, gelu_erf(g, linear(g, x, h, m->inner)), m->inner, h);
        x = layer_norm(g, HN_GEN_OP(g, "Add", f, x), h, 1e-12);
    }
    hn_gen_output(g, x, HONE_F32, 3, SIZES(b, s, fixed(h)));
}

/* Normalised in front of each block, over a whole prompt; the causal mask is an input. */
static void build_decoder(hn_gen *g, hn_gen_size b, hn_gen_size s, const void *arg) {
    const transformer *m = arg;
    int64_t h = m->hidden;
    hn_gen_input(g, "ids", HONE_I64, 2, SIZES(b, s));
    hn_gen_input(g, "pos", HONE_I64, 2, SIZES(b, s));
    hn_gen_input(g, "mask", HONE_F32, 4, SIZES(b, fixed(1), s, s));
    const char *table = matrix(g, m->vocabulary, h, 0.02), *words = HN_GEN_OP(g, "Gather", table, "ids");
    const char *place = matrix(g, m->positions, h, 0.02), *places = HN_GEN_OP(g, "Gather", place, "pos");
    const char *x = HN_GEN_OP(g, "Add", words, places);
    for (int64_t i = 0; i < m->layers; i++) {
        const char *y = attention(g, m, layer_norm(g, x, h, 1e-5));
        x = HN_GEN_OP(g, "Add", x, y);
        const char *f = linear(g, gelu_tanh(g, linear(g, layer_norm(g, x, h, 1e-5), h, m->inner)), m->inner, h);
        x = HN_GEN_OP(g, "Add", x, f);
    }
    x = layer_norm(g, x, h, 1e-5);
    const char *back = hn_gen_op(g, "Transpose", INS(table), ATTRS(HN_GEN_ATTR_2("perm", 1, 0)));
    hn_gen_output(g, HN_GEN_OP(g, "MatMul", x, back), HONE_F32, 3, SIZES(b, s, fixed(m->vocabulary)));
}

/* --- convolutional networks -------------------------------------------------------------------------------------- */

typedef struct conv {
    int64_t in, out, kernel, stride, groups;
    const char *act; /* "Relu", "Relu6", NULL */
} conv;

/* Convolution, batch normalisation, activation. */
static const char *conv_bn(hn_gen *g, const char *x, conv c) {
    int64_t k = c.kernel, pad = k / 2, fan = c.in / c.groups;
    const char *w = hn_gen_weight(g, 4, DIMS(c.out, fan, k, k), 1 / sqrt((double)(fan * k * k)));
    const char *y = hn_gen_op(g, "Conv", INS(x, w),
                              ATTRS(HN_GEN_ATTR_2("kernel_shape", k, k), HN_GEN_ATTR_2("strides", c.stride, c.stride),
                                    HN_GEN_ATTR_4("pads", pad, pad, pad, pad), HN_GEN_ATTR_I("group", c.groups)));
    const char *scale = hn_gen_filled(g, c.out, 1), *bias = hn_gen_filled(g, c.out, 0);
    const char *mean = hn_gen_filled(g, c.out, 0.01), *variance = hn_gen_filled(g, c.out, 1);
    y = hn_gen_op(g, "BatchNormalization", INS(y, scale, bias, mean, variance), ATTRS(HN_GEN_ATTR_F("epsilon", 1e-5)));
    if (!c.act) return y;
    if (c.act[4] != '6') return HN_GEN_OP(g, c.act, y);
    const char *low = hn_gen_scalar(g, 0), *high = hn_gen_scalar(g, 6);
    return HN_GEN_OP(g, "Clip", y, low, high);
}

static void classify(hn_gen *g, const char *x, int64_t channels, hn_gen_size b) {
    const char *pooled = HN_GEN_OP(g, "GlobalAveragePool", x);
    x = hn_gen_op(g, "Flatten", INS(pooled), ATTRS(HN_GEN_ATTR_I("axis", 1)));
    const char *w = matrix(g, 1000, channels, 1 / sqrt(1000.0)), *bias = vector(g, 1000, 0.01);
    x = hn_gen_op(g, "Gemm", INS(x, w, bias), ATTRS(HN_GEN_ATTR_I("transB", 1)));
    hn_gen_output(g, x, HONE_F32, 2, SIZES(b, fixed(1000)));
}

static void build_resnet50(hn_gen *g, hn_gen_size b, hn_gen_size s, const void *arg) {
    static const struct { int64_t mid, blocks, first; } stage[] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};
    int64_t c = 64;
    (void)s, (void)arg;
    hn_gen_input(g, "x", HONE_F32, 4, SIZES(b, fixed(3), fixed(224), fixed(224)));
    const char *x = conv_bn(g, "x", (conv){3, 64, 7, 2, 1, "Relu"});
    x = hn_gen_op(
        g, "MaxPool", INS(x),
        ATTRS(HN_GEN_ATTR_2("kernel_shape", 3, 3), HN_GEN_ATTR_2("strides", 2, 2), HN_GEN_ATTR_4("pads", 1, 1, 1, 1)));
    for (size_t k = 0; k < sizeof stage / sizeof *stage; k++) {
        int64_t mid = stage[k].mid;
        for (int64_t i = 0; i < stage[k].blocks; i++) {
            int64_t stride = i == 0 ? stage[k].first : 1;
            const char *y = conv_bn(g, x, (conv){c, mid, 1, 1, 1, "Relu"});
            y = conv_bn(g, y, (conv){mid, mid, 3, stride, 1, "Relu"});
            y = conv_bn(g, y, (conv){mid, 4 * mid, 1, 1, 1, NULL});
            if (i == 0) x = conv_bn(g, x, (conv){c, 4 * mid, 1, stride, 1, NULL});
            x = HN_GEN_OP(g, "Relu", HN_GEN_OP(g, "Add", y, x));
            c = 4 * mid;
        }
    }
    classify(g, x, c, b);
}

static void build_mobilenet_v2(hn_gen *g, hn_gen_size b, hn_gen_size s, const void *arg) {
    static const struct {
        int64_t wider, out, blocks, first;
    } stage[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    int64_t c = 32;
    (void)s, (void)arg;
    hn_gen_input(g, "x", HONE_F32, 4, SIZES(b, fixed(3), fixed(224), fixed(224)));
    const char *x = conv_bn(g, "x", (conv){3, 32, 3, 2, 1, "Relu6"});
    for (size_t k = 0; k < sizeof stage / sizeof *stage; k++) {
        for (int64_t i = 0; i < stage[k].blocks; i++) {
            int64_t stride = i == 0 ? stage[k].first : 1, wide = c * stage[k].wider, out = stage[k].out;
            const char *y = stage[k].wider > 1 ? conv_bn(g, x, (conv){c, wide, 1, 1, 1, "Relu6"}) : x;
            y = conv_bn(g, y, (conv){wide, wide, 3, stride, wide, "Relu6"});
            y = conv_bn(g, y, (conv){wide, out, 1, 1, 1, NULL});
            x = stride == 1 && c == out ? HN_GEN_OP(g, "Add", x, y) : y;
            c = out;
        }
    }
    classify(g, conv_bn(g, x, (conv){c, 1280, 1, 1, 1, "Relu6"}), 1280, b);
}

/* --- the smallest ------------------------------------------------------------------------------------------------ */

static const char *gemm(hn_gen *g, const char *x, int64_t in, int64_t out) {
    const char *w = matrix(g, out, in, 1 / sqrt((double)out)), *bias = vector(g, out, 0.01);
    return hn_gen_op(g, "Gemm", INS(x, w, bias), ATTRS(HN_GEN_ATTR_I("transB", 1)));
}

static void build_mlp(hn_gen *g, hn_gen_size b, hn_gen_size s, const void *arg) {
    (void)s, (void)arg;
    hn_gen_input(g, "x", HONE_F32, 2, SIZES(b, fixed(784)));
    const char *x = HN_GEN_OP(g, "Relu", gemm(g, "x", 784, 512));
    x = HN_GEN_OP(g, "Relu", gemm(g, x, 512, 256));
    x = hn_gen_op(g, "Softmax", INS(gemm(g, x, 256, 10)), ATTRS(HN_GEN_ATTR_I("axis", -1)));
    hn_gen_output(g, x, HONE_F32, 2, SIZES(b, fixed(10)));
}

/* --- the table --------------------------------------------------------------------------------------------------- */

static const transformer bert_base = {12, 768, 12, 3072, 30522, 512}, minilm_l6 = {6, 384, 12, 1536, 30522, 512},
                         gpt2 = {12, 768, 12, 3072, 50257, 1024};

const hn_gen_row hn_gen_rows[] = {
    {{"mlp", "three dense layers, 784 to 10"}, build_mlp, NULL},
    {{"resnet50", "image classifier, 224x224, residual blocks"}, build_resnet50, NULL},
    {{"mobilenet_v2", "image classifier, 224x224, depthwise convolutions"}, build_mobilenet_v2, NULL},
    {{"minilm_l6", "text encoder, 6 layers of 384"}, build_encoder, &minilm_l6},
    {{"bert_base", "text encoder, 12 layers of 768"}, build_encoder, &bert_base},
    {{"gpt2", "text decoder over a whole prompt, 12 layers of 768"}, build_decoder, &gpt2},
    {{NULL, NULL}, NULL, NULL},
};
