/* onnx/gen.c — writes synthetic ONNX models. The messages around the weights are packed by protobuf-c; a weight's
 * bytes follow its message's other fields as the last field, so they go from a small buffer straight to the file. */
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/tensor.h"
#include "onnx/gen_int.h"
#include "onnx/onnx.h"

#include <hone/onnx.h>

#include <errno.h>
#include <inttypes.h>
#include <onnx.pb-c.h>
#include <string.h>

enum { OPSET = 17, IR_VERSION = 8, NOISE_N = (1 << 16) - 15, DIMS_MAX = 4 };

typedef struct packed { /* a message, or all of one but its weights */
    uint8_t *data;
    size_t n;
} packed;

typedef enum fill_kind { FILL_NORMAL, FILL_VALUE, FILL_INTS } fill_kind;
typedef struct init {
    packed head;
    fill_kind kind;
    double x; /* scale or value */
    int64_t i[DIMS_MAX];
    uint64_t n, size_b;
} init;

typedef struct list {
    void *item;
    size_t n, room;
} list;

struct hn_gen {
    hn_arena arena;
    list nodes, inputs, outputs; /* packed */
    list inits;                  /* init */
    uint64_t n_parameters;
    float *noise, *block;
};

/* --- collecting -------------------------------------------------------------------------------------------------- */

static void *push(hn_gen *g, list *l, size_t size) {
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        void *item = hn_alloc_n(&g->arena, room, size);
        if (!item) return NULL;
        if (l->n) memcpy(item, l->item, l->n * size);
        l->item = item;
        l->room = room;
    }
    return (char *)l->item + l->n++ * size;
}

static packed pack(hn_gen *g, const ProtobufCMessage *m) {
    packed p = {.n = protobuf_c_message_get_packed_size(m)};
    p.data = hn_alloc(&g->arena, p.n);
    if (p.data) protobuf_c_message_pack(m, p.data);
    return p;
}

/* protobuf-c's structs lack const; nothing writes through these. */
static char *word(const char *s) { return (char *)(uintptr_t)s; }

static void pack_node(hn_gen *g, HnOnnx__Node *node) {
    packed *p = push(g, &g->nodes, sizeof *p);
    if (p) *p = pack(g, &node->base);
}

enum { IN_MAX = 8, ATTR_MAX = 8 };

static void fill_attribute(HnOnnx__Attribute *to, const hn_gen_attr *from) {
    static const int type[] = {[HN_GEN_INT] = 2, [HN_GEN_FLOAT] = 1, [HN_GEN_INTS] = 7}; /* AttributeType */
    hn_onnx__attribute__init(to);
    to->name = word(from->name);
    to->has_type = true;
    to->type = type[from->kind];
    to->has_i = from->kind == HN_GEN_INT;
    to->i = from->i[0];
    to->has_f = from->kind == HN_GEN_FLOAT;
    to->f = (float)from->f;
    to->n_ints = from->kind == HN_GEN_INTS ? from->n : 0;
    to->ints = (int64_t *)(uintptr_t)from->i;
}

const char *hn_gen_op(hn_gen *g, const char *op, const char *const *in, const hn_gen_attr *attr) {
    char *input[IN_MAX];
    HnOnnx__Attribute each[ATTR_MAX], *list_of[ATTR_MAX];
    HnOnnx__Node node = HN_ONNX__NODE__INIT;
    char *out = hn_format(&g->arena, "t%zu", g->nodes.n);
    for (; in[node.n_input] && node.n_input < IN_MAX; node.n_input++) input[node.n_input] = word(in[node.n_input]);
    for (; attr && attr[node.n_attribute].name && node.n_attribute < ATTR_MAX; node.n_attribute++) {
        fill_attribute(&each[node.n_attribute], &attr[node.n_attribute]);
        list_of[node.n_attribute] = &each[node.n_attribute];
    }
    if (!out || !hn_arena_ok(&g->arena)) return "";
    node.input = input;
    node.n_output = 1;
    node.output = &out;
    node.op_type = word(op);
    node.attribute = list_of;
    pack_node(g, &node);
    return out;
}

static const char *add_init(hn_gen *g, hone_dtype t, size_t rank, const int64_t *dim, init what) {
    HnOnnx__Tensor m = HN_ONNX__TENSOR__INIT;
    char *name = hn_format(&g->arena, "w%zu", g->inits.n);
    init *to = push(g, &g->inits, sizeof *to);
    if (!name || !to) return "";
    m.n_dims = rank;
    m.dims = (int64_t *)(uintptr_t)dim;
    m.has_data_type = true;
    m.data_type = hn_onnx_dtype(t);
    m.name = name;
    what.n = 1;
    for (size_t i = 0; i < rank; i++) what.n *= (uint64_t)dim[i];
    what.size_b = what.n * hone_dtype_size_b(t);
    what.head = pack(g, &m.base);
    *to = what;
    return name;
}

const char *hn_gen_weight(hn_gen *g, size_t rank, const int64_t *dim, double scale) {
    const char *name = add_init(g, HONE_F32, rank, dim, (init){.kind = FILL_NORMAL, .x = scale});
    if (*name) g->n_parameters += ((init *)g->inits.item)[g->inits.n - 1].n;
    return name;
}

const char *hn_gen_filled(hn_gen *g, int64_t n, double value) {
    g->n_parameters += (uint64_t)n;
    return add_init(g, HONE_F32, 1, &n, (init){.kind = FILL_VALUE, .x = value});
}

const char *hn_gen_scalar(hn_gen *g, double value) {
    return add_init(g, HONE_F32, 0, NULL, (init){.kind = FILL_VALUE, .x = value});
}

const char *hn_gen_ints(hn_gen *g, size_t n, const int64_t *x) {
    init what = {.kind = FILL_INTS};
    int64_t dim = (int64_t)n;
    memcpy(what.i, x, n * sizeof *x);
    return add_init(g, HONE_I64, 1, &dim, what);
}

static void add_port(hn_gen *g, list *ports, const char *name, hone_dtype t, size_t rank, const hn_gen_size *size) {
    HnOnnx__Dim each[DIMS_MAX], *dim[DIMS_MAX];
    HnOnnx__Shape shape = HN_ONNX__SHAPE__INIT;
    HnOnnx__TensorType tensor = HN_ONNX__TENSOR_TYPE__INIT;
    HnOnnx__Type type = HN_ONNX__TYPE__INIT;
    HnOnnx__ValueInfo value = HN_ONNX__VALUE_INFO__INIT;
    for (size_t i = 0; i < rank; i++) {
        hn_onnx__dim__init(&each[i]);
        each[i].has_dim_value = size[i].n > 0;
        each[i].dim_value = size[i].n;
        each[i].dim_param = size[i].n > 0 ? NULL : word(size[i].symbol);
        dim[i] = &each[i];
    }
    shape.n_dim = rank;
    shape.dim = dim;
    tensor.has_elem_type = true;
    tensor.elem_type = hn_onnx_dtype(t);
    tensor.shape = &shape;
    type.tensor_type = &tensor;
    value.name = word(name);
    value.type = &type;
    packed *p = push(g, ports, sizeof *p);
    if (p) *p = pack(g, &value.base);
}

void hn_gen_input(hn_gen *g, const char *name, hone_dtype t, size_t rank, const hn_gen_size *size) {
    add_port(g, &g->inputs, name, t, rank, size);
}

void hn_gen_output(hn_gen *g, const char *name, hone_dtype t, size_t rank, const hn_gen_size *size) {
    add_port(g, &g->outputs, name, t, rank, size);
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

/* Field numbers of the messages that are written by hand, because they hold weights; see onnx.proto. */
enum {
    TENSOR_RAW = 9,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INIT = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    MODEL_GRAPH = 7
};

static size_t put_varint(uint64_t n, uint8_t out[10]) {
    size_t k = 0;
    for (; n > 127; n >>= 7) out[k++] = (uint8_t)(n | 128);
    out[k++] = (uint8_t)n;
    return k;
}

/* The tag and length in front of n bytes of field `field`. */
static size_t put_field(unsigned field, uint64_t n, uint8_t out[20]) {
    size_t k = put_varint(field << 3 | 2, out);
    return k + put_varint(n, out + k);
}
static uint64_t field_b(unsigned field, uint64_t n) {
    uint8_t head[20];
    return put_field(field, n, head) + n;
}
static bool write_head(FILE *f, unsigned field, uint64_t n) {
    uint8_t head[20];
    size_t k = put_field(field, n, head);
    return fwrite(head, 1, k, f) == k;
}
static bool write_field(FILE *f, unsigned field, const packed *p) {
    return write_head(f, field, p->n) && fwrite(p->data, 1, p->n, f) == p->n;
}

static uint64_t tensor_b(const init *t) { return t->head.n + field_b(TENSOR_RAW, t->size_b); }

static const char graph_name[] = "graph";

static uint64_t packed_list_b(const list *l, unsigned field) {
    uint64_t n = 0;
    for (size_t i = 0; i < l->n; i++) n += field_b(field, ((const packed *)l->item)[i].n);
    return n;
}

static uint64_t graph_b(const hn_gen *g) {
    uint64_t n = packed_list_b(&g->nodes, GRAPH_NODE) + field_b(GRAPH_NAME, sizeof graph_name - 1);
    for (size_t i = 0; i < g->inits.n; i++) n += field_b(GRAPH_INIT, tensor_b(&((const init *)g->inits.item)[i]));
    return n + packed_list_b(&g->inputs, GRAPH_INPUT) + packed_list_b(&g->outputs, GRAPH_OUTPUT);
}

/* Every tensor begins at another place in the noise, so that no two of a model are equal. */
static bool write_floats(FILE *f, hn_gen *g, const init *t) {
    uint64_t left = t->n;
    size_t from = (size_t)(t - (const init *)g->inits.item) * 7919 % NOISE_N;
    for (size_t i = 0; i < NOISE_N && i < left; i++)
        g->block[i] = (float)(t->kind == FILL_VALUE ? t->x : (double)g->noise[(i + from) % NOISE_N] * t->x);
    while (left) {
        size_t n = left < NOISE_N ? (size_t)left : NOISE_N;
        if (fwrite(g->block, sizeof *g->block, n, f) != n) return false;
        left -= n;
    }
    return true;
}

static bool write_init(FILE *f, hn_gen *g, const init *t) {
    if (!write_head(f, GRAPH_INIT, tensor_b(t)) || fwrite(t->head.data, 1, t->head.n, f) != t->head.n) return false;
    if (!write_head(f, TENSOR_RAW, t->size_b)) return false;
    if (t->kind == FILL_INTS) return fwrite(t->i, sizeof *t->i, (size_t)t->n, f) == t->n;
    return write_floats(f, g, t);
}

static bool write_list(FILE *f, const list *l, unsigned field) {
    for (size_t i = 0; i < l->n; i++)
        if (!write_field(f, field, &((const packed *)l->item)[i])) return false;
    return true;
}

static bool write_graph(FILE *f, hn_gen *g) {
    packed name = {(uint8_t *)(uintptr_t)graph_name, sizeof graph_name - 1};
    if (!write_list(f, &g->nodes, GRAPH_NODE) || !write_field(f, GRAPH_NAME, &name)) return false;
    for (size_t i = 0; i < g->inits.n; i++)
        if (!write_init(f, g, &((const init *)g->inits.item)[i])) return false;
    return write_list(f, &g->inputs, GRAPH_INPUT) && write_list(f, &g->outputs, GRAPH_OUTPUT);
}

typedef struct writing {
    hn_gen *g;
    packed front, behind; /* the model's fields around the graph */
} writing;

static bool write_model(FILE *f, void *arg) {
    const writing *w = arg;
    if (fwrite(w->front.data, 1, w->front.n, f) != w->front.n) return false;
    if (!write_head(f, MODEL_GRAPH, graph_b(w->g)) || !write_graph(f, w->g)) return false;
    return fwrite(w->behind.data, 1, w->behind.n, f) == w->behind.n;
}

static writing make_writing(hn_gen *g) {
    writing w = {.g = g};
    HnOnnx__Model front = HN_ONNX__MODEL__INIT, behind = HN_ONNX__MODEL__INIT;
    HnOnnx__Opset opset = HN_ONNX__OPSET__INIT, *opsets = &opset;
    front.has_ir_version = true;
    front.ir_version = IR_VERSION;
    front.producer_name = word("hone");
    opset.domain = word("");
    opset.has_version = true;
    opset.version = OPSET;
    behind.n_opset_import = 1;
    behind.opset_import = &opsets;
    w.front = pack(g, &front.base);
    w.behind = pack(g, &behind.base);
    return w;
}

static bool make_noise(hn_gen *g) {
    hn_rng r = hn_rng_make(1, 0);
    g->noise = HN_NEW_N(&g->arena, float, NOISE_N);
    g->block = HN_NEW_N(&g->arena, float, NOISE_N);
    for (size_t i = 0; g->noise && i < NOISE_N; i++) g->noise[i] = (float)hn_rng_normal(&r);
    return g->noise && g->block;
}

/* --- the calls --------------------------------------------------------------------------------------------------- */

bool hone_gen_architecture_at(size_t i, hone_gen_architecture *out) {
    for (size_t k = 0; k <= i; k++)
        if (!hn_gen_rows[k].build) return false;
    *out = hn_gen_rows[i].about;
    return true;
}

static hone_rc find_row(const char *name, const hn_gen_row **out, hone_err *err) {
    const char *names[32] = {NULL};
    size_t n = 0;
    for (; hn_gen_rows[n].build; n++) {
        names[n] = hn_gen_rows[n].about.name;
        if (strcmp(names[n], name) != 0) continue;
        *out = &hn_gen_rows[n];
        return HONE_OK;
    }
    const char *near = hn_nearest(name, names, n);
    hn_str all = {0};
    for (size_t i = 0; i < n; i++) hn_str_addf(&all, "%s%s", i ? ", " : "", names[i]);
    hone_rc rc = near ? hn_fail(err, HONE_E_NOTFOUND, "there is no architecture '%s'; did you mean '%s'?", name, near)
                      : hn_fail(err, HONE_E_NOTFOUND, "there is no architecture '%s'; there are %s", name,
                                all.text ? all.text : "none");
    hn_str_free(&all);
    return rc;
}

static hone_rc write_row(hn_gen *g, const hn_gen_row *row, const char *path, const hone_gen_options *o,
                         hone_gen_summary *out, hone_err *err) {
    hn_gen_size batch = {o->dynamic ? 0 : o->batch, "batch"}, seq = {o->dynamic ? 0 : o->seq, "seq"};
    row->build(g, batch, seq, row->arg);
    writing w = make_writing(g);
    if (!make_noise(g) || !hn_arena_ok(&g->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory making '%s'", path);
    hone_rc rc = hn_write_stream(path, write_model, &w, err);
    if (rc || !out) return rc;
    uint64_t size_b = w.front.n + field_b(MODEL_GRAPH, graph_b(g)) + w.behind.n;
    *out = (hone_gen_summary){.n_parameters = g->n_parameters, .n_nodes = g->nodes.n, .size_b = size_b};
    return HONE_OK;
}

hone_rc hone_gen_onnx(const char *architecture, const char *path, const hone_gen_options *options,
                      hone_gen_summary *out, hone_err *err) {
    hone_gen_options o = hone_gen_defaults();
    const hn_gen_row *row = NULL;
    hn_gen g = {0};
    hone_rc rc = hn_options_read(&o, sizeof o, options, "gen", err);
    if (!rc) rc = find_row(architecture, &row, err);
    if (rc) return rc;
    if (!o.dynamic && (o.batch < 1 || o.seq < 1))
        return hn_fail(err, HONE_E_USAGE, "batch %" PRId64 " and sequence %" PRId64 " must be at least 1", o.batch,
                       o.seq);
    rc = write_row(&g, row, path, &o, out, err);
    hn_arena_free(&g.arena);
    return rc;
}
