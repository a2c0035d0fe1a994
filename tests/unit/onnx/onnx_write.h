/* tests/unit/onnx/onnx_write.h — small ONNX models written byte by byte (protobuf's wire format), so that tests need
 * neither files nor the onnx package. Field numbers: src/onnx/onnx.proto. */
#ifndef ONNX_WRITE_H
#define ONNX_WRITE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct pb {
    unsigned char b[1 << 14];
    size_t n;
} pb;

static inline void pb_byte(pb *p, unsigned x) {
    if (p->n < sizeof p->b) p->b[p->n++] = (unsigned char)x;
}
static inline void pb_raw_varint(pb *p, uint64_t x) {
    for (; x > 127; x >>= 7) pb_byte(p, (unsigned)(x & 127) | 128);
    pb_byte(p, (unsigned)x);
}
static inline void pb_int(pb *p, unsigned field, int64_t x) {
    pb_raw_varint(p, (uint64_t)field << 3);
    pb_raw_varint(p, (uint64_t)x);
}
static inline void pb_bytes(pb *p, unsigned field, const void *data, size_t n) {
    pb_raw_varint(p, (uint64_t)field << 3 | 2);
    pb_raw_varint(p, n);
    for (size_t i = 0; i < n; i++) pb_byte(p, ((const unsigned char *)data)[i]);
}
static inline void pb_text(pb *p, unsigned field, const char *s) { pb_bytes(p, field, s, strlen(s)); }
static inline void pb_put(pb *p, unsigned field, const pb *m) { pb_bytes(p, field, m->b, m->n); }
static inline void pb_float(pb *p, unsigned field, float x) {
    pb_raw_varint(p, (uint64_t)field << 3 | 5);
    for (size_t i = 0; i < 4; i++) pb_byte(p, ((const unsigned char *)&x)[i]);
}

/* A TensorProto with raw_data. */
static inline pb onnx_tensor(const char *name, int type, size_t rank, const int64_t *dim, const void *data, size_t n) {
    pb t = {.n = 0};
    for (size_t i = 0; i < rank; i++) pb_int(&t, 1, dim[i]);
    pb_int(&t, 2, type);
    if (name) pb_text(&t, 8, name);
    if (data) pb_bytes(&t, 9, data, n);
    return t;
}

/* A ValueInfoProto; shape: "2,n,?" or "" for a scalar, NULL for none. */
static inline pb onnx_value(const char *name, int type, const char *shape) {
    pb v = {.n = 0}, t = {.n = 0}, tt = {.n = 0}, s = {.n = 0};
    pb_int(&tt, 1, type);
    for (const char *p = shape; p && *p;) {
        size_t n = strcspn(p, ",");
        pb d = {.n = 0};
        char text[64] = {0};
        memcpy(text, p, n < 63 ? n : 63);
        if ((*text >= '0' && *text <= '9') || *text == '-')
            pb_int(&d, 1, strtoll(text, NULL, 10));
        else if (*text != '?')
            pb_text(&d, 2, text);
        pb_put(&s, 1, &d);
        p += n + (p[n] == ',');
    }
    if (shape) pb_put(&tt, 2, &s);
    pb_put(&t, 1, &tt);
    pb_text(&v, 1, name);
    pb_put(&v, 2, &t);
    return v;
}

/* A NodeProto from "op: in in -> out out"; `_` is an absent input. */
static inline pb onnx_node(const char *text) {
    pb n = {.n = 0};
    char copy[400] = {0}, *save = NULL;
    unsigned field = 4;
    strncpy(copy, text, sizeof copy - 1);
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        size_t len = strlen(w);
        if (!strcmp(w, "->")) {
            field = 2;
        } else if (w[len - 1] == ':') {
            w[len - 1] = 0;
            pb_text(&n, 4, w);
            field = 1;
        } else {
            pb_text(&n, field, !strcmp(w, "_") ? "" : w);
        }
    }
    return n;
}
static inline void onnx_attr_int(pb *node, const char *name, int64_t x) {
    pb a = {.n = 0};
    pb_text(&a, 1, name);
    pb_int(&a, 3, x);
    pb_int(&a, 20, 2);
    pb_put(node, 5, &a);
}
static inline void onnx_attr_ints(pb *node, const char *name, size_t n, const int64_t *x) {
    pb a = {.n = 0};
    pb_text(&a, 1, name);
    for (size_t i = 0; i < n; i++) pb_int(&a, 8, x[i]);
    pb_int(&a, 20, 7);
    pb_put(node, 5, &a);
}
static inline void onnx_attr_text(pb *node, const char *name, const char *x) {
    pb a = {.n = 0};
    pb_text(&a, 1, name);
    pb_text(&a, 4, x);
    pb_int(&a, 20, 3);
    pb_put(node, 5, &a);
}
static inline void onnx_attr_graph(pb *node, const char *name, const pb *graph) {
    pb a = {.n = 0};
    pb_text(&a, 1, name);
    pb_put(&a, 6, graph);
    pb_int(&a, 20, 5);
    pb_put(node, 5, &a);
}

/* Parts of a GraphProto. */
static inline void onnx_add_node(pb *g, const char *text) {
    pb n = onnx_node(text);
    pb_put(g, 1, &n);
}
static inline void onnx_add_input(pb *g, const char *name, int type, const char *shape) {
    pb v = onnx_value(name, type, shape);
    pb_put(g, 11, &v);
}
static inline void onnx_add_output(pb *g, const char *name, int type, const char *shape) {
    pb v = onnx_value(name, type, shape);
    pb_put(g, 12, &v);
}
static inline void onnx_add_tensor(pb *g, const pb *t) { pb_put(g, 5, t); }

static inline void onnx_add_opset(pb *m, unsigned field, const char *domain, int64_t version) {
    pb o = {.n = 0};
    pb_text(&o, 1, domain);
    pb_int(&o, 2, version);
    pb_put(m, field, &o);
}
/* A ModelProto around a graph. */
static inline pb onnx_model(const pb *graph, int opset) {
    pb m = {.n = 0};
    pb_int(&m, 1, 8);
    onnx_add_opset(&m, 8, "", opset);
    pb_put(&m, 7, graph);
    return m;
}

/* --- models that several tests use; i from 0, n = 0 past the last ------------------------------------------------- */

static inline pb onnx_sample_plain(void) {
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t shape[2] = {3, 2}, to[2] = {-1, 4};
    static const int64_t two[1] = {2};
    pb g = {.n = 0}, t = onnx_tensor("w", 1, 2, shape, w, sizeof w), s = onnx_tensor("s", 7, 1, two, to, sizeof to);
    onnx_add_tensor(&g, &t);
    onnx_add_tensor(&g, &s);
    onnx_add_input(&g, "x", 1, "n,3");
    onnx_add_output(&g, "y", 1, NULL);
    onnx_add_node(&g, "MatMul: x w -> a");
    onnx_add_node(&g, "Relu: a -> b");
    onnx_add_node(&g, "Reshape: b s -> c");
    onnx_add_node(&g, "Softmax: c -> y");
    return onnx_model(&g, 17);
}

static inline pb onnx_sample_sizes(void) {
    pb g = {.n = 0}, node = onnx_node("Einsum: x x -> e");
    onnx_attr_text(&node, "equation", "...ij,...kj->...ik");
    onnx_add_input(&g, "x", 1, "b,?,4");
    onnx_add_input(&g, "from", 7, "1");
    onnx_add_input(&g, "axes", 7, "1");
    onnx_add_output(&g, "y", 1, NULL);
    pb_put(&g, 1, &node);
    onnx_add_node(&g, "Shape: e -> to");
    onnx_add_node(&g, "Slice: e from from axes -> f");
    onnx_add_node(&g, "ReduceSum: f axes -> r");
    onnx_add_node(&g, "Expand: r to -> z");
    onnx_add_node(&g, "NonZero: z -> nz");
    node = onnx_node("Cast: nz -> y");
    onnx_attr_int(&node, "to", 1);
    pb_put(&g, 1, &node);
    return onnx_model(&g, 18);
}

static inline pb onnx_sample_control(void) {
    pb body = {.n = 0}, yes = {.n = 0}, no = {.n = 0}, g = {.n = 0};
    onnx_add_input(&body, "i", 7, "");
    onnx_add_input(&body, "go", 9, "");
    onnx_add_input(&body, "v", 1, NULL);
    onnx_add_output(&body, "go2", 9, "");
    onnx_add_output(&body, "v2", 1, NULL);
    onnx_add_output(&body, "each", 1, NULL);
    onnx_add_node(&body, "Identity: go -> go2");
    pb cat = onnx_node("Concat: v x -> v2");
    onnx_attr_int(&cat, "axis", 0);
    pb_put(&body, 1, &cat);
    onnx_add_node(&body, "Neg: x -> each");
    onnx_add_output(&yes, "p", 1, NULL);
    onnx_add_node(&yes, "Abs: last -> p");
    onnx_add_output(&no, "q", 1, NULL);
    onnx_add_node(&no, "Identity: x -> q");
    onnx_add_input(&g, "x", 1, "2");
    onnx_add_input(&g, "m", 7, "");
    onnx_add_input(&g, "c", 9, "");
    onnx_add_output(&g, "y", 1, NULL);
    onnx_add_output(&g, "s", 1, NULL);
    pb loop = onnx_node("Loop: m c x -> last s"), branch = onnx_node("If: c -> y");
    onnx_attr_graph(&loop, "body", &body);
    onnx_attr_graph(&branch, "then_branch", &yes);
    onnx_attr_graph(&branch, "else_branch", &no);
    pb_put(&g, 1, &loop);
    pb_put(&g, 1, &branch);
    return onnx_model(&g, 21);
}

static inline pb onnx_sample_function(void) {
    pb g = {.n = 0}, f = {.n = 0}, m, leaky = onnx_node("LeakyRelu: a -> b"), a = {.n = 0},
       call = onnx_node("Act: x -> y");
    pb_text(&a, 1, "alpha");
    pb_text(&a, 21, "slope");
    pb_int(&a, 20, 1);
    pb_put(&leaky, 5, &a);
    pb_text(&f, 1, "Act");
    pb_text(&f, 4, "a");
    pb_text(&f, 5, "b");
    pb_text(&f, 6, "slope");
    pb_put(&f, 7, &leaky);
    onnx_add_opset(&f, 9, "", 16);
    pb_text(&f, 10, "mine");
    a.n = 0;
    pb_text(&a, 1, "slope");
    pb_float(&a, 2, 0.5f);
    pb_int(&a, 20, 1);
    pb_put(&call, 5, &a);
    pb_text(&call, 7, "mine");
    onnx_add_input(&g, "x", 1, "3");
    onnx_add_output(&g, "y", 1, "3");
    pb_put(&g, 1, &call);
    m = onnx_model(&g, 17);
    onnx_add_opset(&m, 8, "mine", 1);
    pb_put(&m, 25, &f);
    return m;
}

static inline pb onnx_sample_vision(void) {
    static const float w[8] = {1, -1, 2, -2, 3, -3, 4, -4};
    static const int64_t shape[4] = {1, 2, 2, 2}, one[1] = {1}, pads[8] = {0, 0, 1, 1, 0, 0, 1, 1};
    static const int64_t kernel[2] = {2, 2}, eight[1] = {8};
    pb g = {.n = 0}, t = onnx_tensor("w", 1, 4, shape, w, sizeof w),
       p = onnx_tensor("p", 7, 1, eight, pads, sizeof pads);
    pb k = onnx_tensor("k", 7, 1, one, one, sizeof one), pool = onnx_node("MaxPool: d -> e");
    onnx_add_tensor(&g, &t);
    onnx_add_tensor(&g, &p);
    onnx_add_tensor(&g, &k);
    onnx_attr_ints(&pool, "kernel_shape", 2, kernel);
    onnx_add_input(&g, "x", 1, "n,2,5,5");
    onnx_add_output(&g, "y", 1, NULL);
    onnx_add_output(&g, "at", 7, NULL);
    onnx_add_node(&g, "Conv: x w -> c");
    onnx_add_node(&g, "Pad: c p -> d");
    pb_put(&g, 1, &pool);
    onnx_add_node(&g, "TopK: e k -> y at");
    return onnx_model(&g, 19);
}

static inline pb onnx_sample(unsigned i) {
    static pb (*const make[])(void) = {onnx_sample_plain, onnx_sample_sizes, onnx_sample_control, onnx_sample_function,
                                       onnx_sample_vision};
    return i < sizeof make / sizeof make[0] ? make[i]() : (pb){.n = 0};
}

#endif
