/* tests/unit/onnx/onnx_text.h — ONNX models written as a few words, for tests of lowerings.
 *
 * A model is lines; values stand behind '=':
 *     opset 13                          of ai.onnx; `opset com.microsoft 1` adds another domain
 *     in x f32 [N,3,4]                  an input of the graph; words are symbolic dimensions
 *     const w f32 [2] = 1 2             an initialiser
 *     node Conv x,w,_ > y a=[1,2] b=3 c=0.5 d='SAME' e=['a','b']     _ is an absent input; a point makes a float
 * Feeds and results are lines `x f32 [1,2] = 1 2`; results stand in the order of the graph's outputs, which are the
 * outputs of the last node.
 */
#ifndef HN_ONNX_TEXT_H
#define HN_ONNX_TEXT_H

#include "base/str.h"
#include "ir/tensor.h"
#include "onnx/onnx.h"
#include "onnx_memory.h"

#include <hone/import.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void pb_varint(hn_str *s, uint64_t n) {
    for (; n >= 128; n >>= 7) hn_str_add_n(s, (char[]){(char)(n | 128)}, 1);
    hn_str_add_n(s, (char[]){(char)n}, 1);
}
static inline void pb_int(hn_str *s, unsigned field, int64_t n) {
    pb_varint(s, field << 3);
    pb_varint(s, (uint64_t)n);
}
static inline void pb_bytes(hn_str *s, unsigned field, const void *p, size_t n) {
    pb_varint(s, field << 3 | 2);
    pb_varint(s, n);
    if (n) hn_str_add_n(s, p, n);
}
static inline void pb_text(hn_str *s, unsigned field, const char *t) { pb_bytes(s, field, t, strlen(t)); }
static inline void pb_float(hn_str *s, unsigned field, float x) {
    pb_varint(s, field << 3 | 5);
    hn_str_add_n(s, (const char *)&x, 4);
}
/* Takes `inner` into the field and frees it. */
static inline void pb_message(hn_str *s, unsigned field, hn_str *inner) {
    pb_bytes(s, field, inner->text ? inner->text : "", inner->n);
    hn_str_free(inner);
    *inner = (hn_str){0};
}

/* The next word of *at (up to a blank or the end of the line), moved behind it; false at the end of the line. */
static inline bool ot_word(const char **at, char out[256]) {
    size_t n = 0;
    while (**at == ' ') ++*at;
    while (**at && **at != ' ' && **at != '\n' && n < 255) out[n++] = *(*at)++;
    out[n] = 0;
    return n != 0;
}

/* "[2,N]": dimensions of a shape, or of a value (no words then). */
static inline size_t ot_shape(const char *w, hn_str *dims, int64_t *out) {
    size_t n = 0;
    for (w++; *w && *w != ']'; n++) {
        char word[64];
        size_t k = 0;
        while (*w && *w != ',' && *w != ']') word[k++] = *w++;
        word[k] = 0;
        if (*w == ',') w++;
        hn_str d = {0};
        if (word[0] >= '0' && word[0] <= '9')
            pb_int(&d, 1, out[n] = atoll(word));
        else
            pb_text(&d, 2, word);
        if (dims) pb_message(dims, 1, &d);
        hn_str_free(&d);
    }
    return n;
}

/* `f32 [2,2] = 1 2 3 4` with the name read already. */
static inline hn_tensor ot_value(const char **at, hn_arena *a) {
    char word[256];
    hone_dtype t = HONE_F32;
    int64_t dim[HN_RANK_MAX];
    hn_tensor v = {0};
    ot_word(at, word);
    hn_dtype_named(word, &t);
    ot_word(at, word);
    size_t rank = ot_shape(word, NULL, dim);
    hn_tensor_new(a, t, rank, dim, &v);
    ot_word(at, word); /* = */
    for (int64_t i = 0; i < hn_tensor_n(&v) && ot_word(at, word); i++) {
        if (hn_is_float(t))
            hn_set_f(&v, i, strtod(word, NULL));
        else
            hn_set_i(&v, i, strtoll(word, NULL, 0));
    }
    return v;
}

static inline void ot_list(hn_str *attr, const char *w) {
    bool text = w[1] == '\'', real = !text && strchr(w, '.');
    pb_int(attr, 20, text ? 8 : real ? 6 : 7);
    for (w++; *w && *w != ']';) {
        char item[64];
        size_t k = 0;
        while (*w && *w != ',' && *w != ']') item[k++] = *w++;
        item[k] = 0;
        if (*w == ',') w++;
        if (text)
            pb_bytes(attr, 9, item + 1, k - 2);
        else if (real)
            pb_float(attr, 7, strtof(item, NULL));
        else
            pb_int(attr, 8, atoll(item));
    }
}
static inline void ot_attr(hn_str *node, const char *w) {
    hn_str attr = {0};
    const char *value = strchr(w, '=') + 1;
    pb_bytes(&attr, 1, w, (size_t)(value - 1 - w));
    if (value[0] == '[') {
        ot_list(&attr, value);
    } else if (value[0] == '\'') {
        pb_bytes(&attr, 4, value + 1, strlen(value) - 2);
        pb_int(&attr, 20, 3);
    } else if (strchr(value, '.')) {
        pb_float(&attr, 2, strtof(value, NULL));
        pb_int(&attr, 20, 1);
    } else {
        pb_int(&attr, 3, atoll(value));
        pb_int(&attr, 20, 2);
    }
    pb_message(node, 5, &attr);
}
static inline void ot_names(hn_str *s, unsigned field, char *w) {
    for (char *p = strtok(w, ","); p; p = strtok(NULL, ",")) pb_text(s, field, strcmp(p, "_") ? p : "");
}

static inline void ot_node(hn_str *graph, const char *at, const char *domain, char outputs[256]) {
    char word[256];
    hn_str node = {0};
    ot_word(&at, word);
    pb_text(&node, 4, word);
    if (domain[0]) pb_text(&node, 7, domain);
    ot_word(&at, word);
    ot_names(&node, 1, word);
    ot_word(&at, word); /* > */
    ot_word(&at, word);
    memcpy(outputs, word, sizeof word);
    ot_names(&node, 2, word);
    while (ot_word(&at, word)) ot_attr(&node, word);
    pb_message(graph, 1, &node);
}

static inline void ot_port(hn_str *graph, unsigned field, const char *name, const char *dtype, const char *shape) {
    hn_str port = {0}, type = {0}, tensor = {0}, dims = {0};
    int64_t none[HN_RANK_MAX];
    hone_dtype t = HONE_F32;
    pb_text(&port, 1, name);
    if (dtype) {
        hn_dtype_named(dtype, &t);
        ot_shape(shape, &dims, none);
        pb_int(&tensor, 1, hn_onnx_dtype(t));
        pb_message(&tensor, 2, &dims);
        pb_message(&type, 1, &tensor);
        pb_message(&port, 2, &type);
    }
    pb_message(graph, field, &port);
}

static inline void ot_const(hn_str *graph, const char *at, hn_arena *a) {
    char name[256];
    hn_str t = {0};
    ot_word(&at, name);
    hn_tensor v = ot_value(&at, a);
    for (size_t i = 0; i < v.rank; i++) pb_int(&t, 1, v.dim[i]);
    pb_int(&t, 2, hn_onnx_dtype(v.dtype));
    pb_text(&t, 8, name);
    pb_bytes(&t, 9, v.data, (size_t)hn_tensor_n(&v) * hn_dtype_of(v.dtype)->size_b);
    pb_message(graph, 5, &t);
}

/* The bytes of a ModelProto; free with hn_str_free. */
static inline hn_str ot_model(const char *text, hn_arena *a) {
    hn_str model = {0}, graph = {0}, opset;
    char word[256], dtype[256], shape[256], outputs[256] = "", domain[256] = "";
    pb_int(&model, 1, 8);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *at = line;
        ot_word(&at, word);
        if (!strcmp(word, "opset")) {
            ot_word(&at, word);
            bool own = word[0] >= '0' && word[0] <= '9';
            opset = (hn_str){0};
            if (!own) {
                pb_text(&opset, 1, word);
                memcpy(domain, word, sizeof word); /* of the nodes that follow */
                ot_word(&at, word);
            }
            pb_int(&opset, 2, atoll(word));
            pb_message(&model, 8, &opset);
        } else if (!strcmp(word, "in")) {
            ot_word(&at, word);
            ot_word(&at, dtype);
            ot_word(&at, shape);
            ot_port(&graph, 11, word, dtype, shape);
        } else if (!strcmp(word, "const")) {
            ot_const(&graph, at, a);
        } else if (!strcmp(word, "node")) {
            ot_node(&graph, at, domain, outputs);
        }
    }
    pb_text(&graph, 2, "g");
    for (char *p = strtok(outputs, ","); p; p = strtok(NULL, ","))
        if (strcmp(p, "_") != 0) ot_port(&graph, 12, p, NULL, NULL);
    pb_message(&model, 7, &graph);
    return model;
}

/* Imports, runs, compares; "" when all is as wanted, else what differs, in `why`. */
typedef struct ot_case {
    const char *name, *model, *feeds, *wants;
} ot_case;

static inline size_t ot_values(const char *text, hn_arena *a, hone_array *out, size_t room) {
    size_t n = 0;
    char word[256];
    for (const char *line = text; line && *line && n < room; n++) {
        const char *at = line;
        ot_word(&at, word);
        hn_tensor v = ot_value(&at, a);
        out[n] = (hone_array){.dtype = v.dtype, .rank = v.rank, .data = v.data};
        memcpy(out[n].dim, v.dim, sizeof out[n].dim);
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    }
    return n;
}
static inline hn_tensor ot_tensor(const hone_array *x) {
    hn_tensor t = {.dtype = x->dtype, .rank = (uint8_t)x->rank, .data = x->data};
    memcpy(t.dim, x->dim, sizeof t.dim);
    return t;
}

static inline bool ot_close(const hn_tensor *a, const hn_tensor *b, int64_t i) {
    double x = hn_get_f(a, i), y = hn_get_f(b, i);
    if (!hn_is_float(a->dtype)) return hn_get_i(a, i) == hn_get_i(b, i);
    return (isnan(x) && isnan(y)) || x == y || fabs(x - y) <= 1e-5 + 1e-4 * fabs(y);
}
static inline void ot_compare(const hone_array *got, const hone_array *want, size_t k, char *why, size_t room) {
    hn_tensor a = ot_tensor(got), b = ot_tensor(want);
    bool same = a.dtype == b.dtype && a.rank == b.rank;
    for (size_t i = 0; same && i < a.rank; i++) same = a.dim[i] == b.dim[i];
    if (!same) {
        snprintf(why, room, "output %zu: %s rank %d [%lld, …] instead of %s rank %d [%lld, …]", k,
                 hone_dtype_name(a.dtype), a.rank, (long long)a.dim[0], hone_dtype_name(b.dtype), b.rank,
                 (long long)b.dim[0]);
        return;
    }
    for (int64_t i = 0; i < hn_tensor_n(&a) && !why[0]; i++)
        if (!ot_close(&a, &b, i))
            snprintf(why, room, "output %zu, element %lld: %g instead of %g", k, (long long)i, hn_get_f(&a, i),
                     hn_get_f(&b, i));
}

enum { OT_PORTS = 16 };
static inline void ot_run(const ot_case *t, char *why, size_t room) {
    hn_arena arena = {0};
    hone_err err = {0};
    hone_graph *g = NULL;
    hone_array in[OT_PORTS], want[OT_PORTS], out[OT_PORTS] = {0};
    hn_str model = ot_model(t->model, &arena);
    size_t n_in = ot_values(t->feeds, &arena, in, OT_PORTS), n_out = ot_values(t->wants, &arena, want, OT_PORTS);
    why[0] = 0;
    if (onnx_import(model.text, model.n, NULL, &g, NULL, &err) || hone_graph_verify(g, &err) ||
        hone_graph_run(g, in, n_in, out, n_out, &err))
        snprintf(why, room, "%s", err.text);
    for (size_t i = 0; i < n_out && !why[0]; i++) ot_compare(&out[i], &want[i], i, why, room);
    for (size_t i = 0; i < n_out; i++) hone_free(out[i].data);
    hone_graph_free(g);
    hn_str_free(&model);
    hn_arena_free(&arena);
}

/* The report (or error) of a model that must not be imported. */
static inline void ot_refusal(const char *text, char *why, size_t room) {
    hn_arena arena = {0};
    hone_err err = {0};
    hone_graph *g = NULL;
    char *report = NULL;
    hn_str model = ot_model(text, &arena);
    hone_rc rc = onnx_import(model.text, model.n, NULL, &g, &report, &err);
    snprintf(why, room, "%s", !rc ? "imported" : rc == HONE_E_UNSUPPORTED && report ? report : err.text);
    hone_free(report);
    hone_graph_free(g);
    hn_str_free(&model);
    hn_arena_free(&arena);
}

#endif
