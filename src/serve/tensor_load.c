/* tensor_load.c — random inputs for a model behind the Open Inference Protocol. */
#include "serve/tensor_load.h"

#include "base/err.h"
#include "base/rng.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_MOST = 16 };
typedef enum kind { REAL, WHOLE, TRUTH, HALF, BRAIN } kind;
static const struct type {
    const char *name;
    size_t size_b;
    kind kind;
} types[] = {{"FP32", 4, REAL},    {"FP64", 8, REAL},    {"FP16", 2, HALF},   {"BF16", 2, BRAIN},  {"INT8", 1, WHOLE},
             {"INT16", 2, WHOLE},  {"INT32", 4, WHOLE},  {"INT64", 8, WHOLE}, {"UINT8", 1, WHOLE}, {"UINT16", 2, WHOLE},
             {"UINT32", 4, WHOLE}, {"UINT64", 8, WHOLE}, {"BOOL", 1, TRUTH}};

size_t hn_tensor_sizes(const char *text, int64_t size[HN_TENSOR_SIZES]) {
    size_t n = 0;
    size[0] = 1;
    if (!text) return 1;
    for (const char *at = text; n < HN_TENSOR_SIZES; at++) {
        char *end;
        errno = 0;
        size[n] = strtoll(at, &end, 10);
        if (end == at || errno || size[n] < 1) return 0;
        n++;
        if (!*end) return n;
        if (*end != ',') return 0;
        at = end;
    }
    return 0;
}

/* One element. Of a half, an exponent of 1 to 14 and any mantissa stay within [-1, 1]. */
static void put(char *to, const struct type *t, hn_rng *r) {
    uint64_t whole = hn_rng_below(r, t->kind == TRUTH ? 2 : 10);
    double x = 2 * hn_rng_unit(r) - 1;
    float f = (float)x;
    uint32_t bits;
    uint16_t half = (uint16_t)(hn_rng_below(r, 2) << 15 | (1 + hn_rng_below(r, 14)) << 10 | hn_rng_below(r, 1024));
    memcpy(&bits, &f, sizeof bits);
    uint16_t brain = (uint16_t)(bits >> 16);
    switch (t->kind) {
    case REAL: memcpy(to, t->size_b == 4 ? (void *)&f : (void *)&x, t->size_b); break;
    case HALF: memcpy(to, &half, sizeof half); break;
    case BRAIN: memcpy(to, &brain, sizeof brain); break;
    case WHOLE:
    case TRUTH: memcpy(to, &whole, t->size_b); break; /* little-endian, as the protocol and all that hone runs on */
    }
}

typedef struct input {
    const char *name;
    const struct type *type;
    json_t *shape;
    size_t n; /* elements */
} input;

static hone_rc read_input(const json_t *port, const int64_t *size, size_t n_size, size_t most_b, input *out,
                          hone_err *err) {
    const char *name = json_string_value(json_object_get(port, "name"));
    const char *type = json_string_value(json_object_get(port, "datatype"));
    const json_t *shape = json_object_get(port, "shape"), *d;
    size_t i, symbolic = 0, k = 0;
    if (!name || !type || !json_is_array(shape) || json_array_size(shape) > RANK_MOST)
        return hn_fail(err, HONE_E_INPUT, "the model's metadata have an input without name, datatype or shape");
    while (k < sizeof types / sizeof *types && strcmp(types[k].name, type) != 0) k++;
    if (k == sizeof types / sizeof *types)
        return hn_fail(err, HONE_E_INPUT, "input '%.60s' is of the type %.20s, of which no random one is made", name,
                       type);
    *out = (input){name, &types[k], json_array(), 1};
    json_array_foreach((json_t *)shape, i, d) {
        json_int_t x = json_integer_value(d);
        if (x < 0) x = size[symbolic < n_size ? symbolic : n_size - 1], symbolic++;
        json_array_append_new(out->shape, json_integer(x));
        if (__builtin_mul_overflow(out->n, (size_t)x, &out->n) || out->n > most_b) {
            json_decref(out->shape);
            return hn_fail(err, HONE_E_LIMIT, "input '%.60s' has more than %zu MiB; give smaller sizes", name,
                           most_b >> 20);
        }
    }
    return HONE_OK;
}

static hone_rc add_input(const input *x, size_t most_b, json_t *list, hn_str *data, hn_rng *r, hone_err *err) {
    size_t n = x->n * x->type->size_b;
    if (data->n + n > most_b)
        return hn_fail(err, HONE_E_LIMIT, "a request has more than %zu MiB; give smaller sizes", most_b >> 20);
    char *bytes = malloc(n + 1);
    if (bytes) {
        for (size_t i = 0; i < x->n; i++) put(bytes + i * x->type->size_b, x->type, r);
        hn_str_add_n(data, bytes, n);
    }
    bool good =
        bytes && !data->failed &&
        !json_array_append_new(list, json_pack("{s:s, s:s, s:O, s:{s:I}}", "name", x->name, "datatype", x->type->name,
                                               "shape", x->shape, "parameters", "binary_data_size", (json_int_t)n));
    free(bytes);
    return good ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static hone_rc join(json_t *list, const hn_str *data, hn_tensor_body *out, hone_err *err) {
    hn_str s = {0};
    json_t *o = json_pack("{s:O, s:{s:b}}", "inputs", list, "parameters", "binary_data_output", 1);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    size_t n_json = text ? strlen(text) : 0;
    if (text) hn_str_add(&s, text);
    if (data->n) hn_str_add_n(&s, data->text, data->n);
    bool good = text && !s.failed;
    free(text);
    json_decref(o);
    if (!good) {
        hn_str_free(&s);
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    *out = (hn_tensor_body){.n = s.n, .n_json = n_json};
    out->bytes = hn_str_take(&s);
    return HONE_OK;
}

hone_rc hn_tensor_body_make(const json_t *metadata, const int64_t *size, size_t n_size, size_t most_b, uint64_t seed,
                            uint64_t index, hn_tensor_body *out, hone_err *err) {
    const json_t *ports = json_object_get(metadata, "inputs"), *port;
    hn_rng r = hn_rng_make(seed, index);
    json_t *list = json_array();
    hn_str data = {0};
    size_t i;
    hone_rc rc = HONE_OK;
    if (!json_array_size(ports)) rc = hn_fail(err, HONE_E_INPUT, "the model's metadata have no inputs");
    json_array_foreach((json_t *)ports, i, port) {
        input x = {0};
        if (rc || (rc = read_input(port, size, n_size, most_b, &x, err))) break;
        rc = add_input(&x, most_b, list, &data, &r, err);
        json_decref(x.shape);
    }
    if (!rc) rc = join(list, &data, out, err);
    json_decref(list);
    hn_str_free(&data);
    return rc;
}
