/* ir/graph.c — building: arrays that double in the arena, nodes whose types come from the rules, one sticky failure. */
#include "ir/graph.h"

#include "base/err.h"
#include "base/str.h"
#include "ir/types_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the tables ------------------------------------------------------------------------------------------------- */

enum { P = HN_PURE, C = HN_COMMUTES, A = HN_ASSOCIATES, E = HN_EASY, F = HN_FUNCTION, D = HN_DOMAIN };
enum { FLOAT = HN_ANY_FLOAT, INT = HN_ANY_INT, NUMBER = HN_ANY_NUMBER, BITS = HN_ANY_INT | HN_ANY_BOOL, ANY = HN_ANY };
static const hn_op_info op_info[HN_N_OPS] = {
#define HN_OP(id, text, imin, imax, outs, cls, kind, flags, takes, result, doc)                                        \
    {text, imin, imax, outs, HN_##cls, HN_KIND_##kind, flags, takes},
#include "ir/ops.def"
#undef HN_OP
};
static const char *const op_doc[HN_N_OPS] = {
#define HN_OP(id, text, imin, imax, outs, cls, kind, flags, takes, result, doc) doc,
#include "ir/ops.def"
#undef HN_OP
};
static const char *const kind_text[HN_N_KINDS] = {
    "",
#define HN_KIND(id, text, doc) text,
#include "ir/kinds.def"
#undef HN_KIND
};
static const hn_attr_info attr_info[HN_N_ATTRS] = {
#define HN_ATTR(id, text, kind, doc) {text, HN_K_##kind},
#include "ir/attrs.def"
#undef HN_ATTR
};
static const char *const attr_capitals[HN_N_ATTRS] = {
#define HN_ATTR(id, text, kind, doc) #id,
#include "ir/attrs.def"
#undef HN_ATTR
};

const hn_op_info *hn_op_of(hn_op op) { return (unsigned)op < HN_N_OPS ? &op_info[op] : NULL; }
const hn_attr_info *hn_attr_of(hn_attr_id id) { return (unsigned)id < HN_N_ATTRS ? &attr_info[id] : NULL; }

bool hn_op_named(const char *text, hn_op *out) {
    for (unsigned i = 0; i < HN_N_OPS; i++)
        if (!strcmp(op_info[i].text, text)) return *out = (hn_op)i, true;
    return false;
}

bool hn_op_is_easy(hn_op op) { return op_info[op].flags & HN_EASY; }

const char *hn_kind_text(hn_kernel_kind kind) { return kind_text[kind]; }

hn_kernel_kind hn_kind_named(const char *text) {
    for (unsigned i = 1; i < HN_N_KINDS; i++)
        if (!strcmp(kind_text[i], text)) return (hn_kernel_kind)i;
    return HN_KIND_NONE;
}

bool hn_attr_named(const char *text, hn_attr_id *out) {
    for (unsigned i = 0; i < HN_N_ATTRS; i++)
        if (!strcmp(attr_info[i].text, text)) return *out = (hn_attr_id)i, true;
    return false;
}

static bool is_capital(char c) { return (c >= 'A' && c <= 'Z') || c == '_'; }

/* The row's text is the legend: a whole word in capitals that names an attribute. */
bool hn_op_takes(hn_op op, hn_attr_id id) {
    if (id == HN_A_NAME) return true;
    const char *doc = op_doc[op], *word = attr_capitals[id];
    size_t n = strlen(word);
    for (const char *at = strstr(doc, word); at; at = strstr(at + 1, word))
        if ((at == doc || !is_capital(at[-1])) && !is_capital(at[n])) return true;
    return false;
}

/* --- life ------------------------------------------------------------------------------------------------------- */

/* Room for one more item; the old array stays where it is, so that what points into it may still be read. */
static bool grow(hn_arena *a, void *list, uint32_t n, uint32_t *room, size_t size) {
    if (n < *room) return true;
    if (*room > UINT32_MAX / 2) {
        a->failed = true;
        return false;
    }
    uint32_t more = *room ? *room * 2 : 16;
    void *old, *p = hn_alloc_n(a, more, size);
    if (!p) return false;
    memcpy(&old, list, sizeof old);
    if (n) memcpy(p, old, n * size);
    memcpy(list, &p, sizeof p);
    *room = more;
    return true;
}

/* Lists without a room of their own: full when n is 0 or a power of two. */
static bool push(hn_arena *a, void *list, uint32_t n, size_t size) {
    uint32_t room = n;
    return (n & (n - 1)) ? true : grow(a, list, n, &room, size);
}

static hn_block new_block(hn_graph *g, hn_block parent) {
    if (!grow(&g->arena, &g->block, g->n_block, &g->room_block, sizeof *g->block)) return 0;
    g->block[g->n_block] = (hn_blk){.parent = parent};
    return g->n_block++;
}

hn_graph *hn_graph_new(void) {
    hn_graph *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->dims = hn_dims_new(&g->arena);
    new_block(g, 0);
    if (grow(&g->arena, &g->value, 0, &g->room_value, sizeof *g->value)) g->n_value = 1;
    if (hn_graph_ok(g) && g->dims) return g;
    hn_graph_free(g);
    return NULL;
}

void hn_graph_free(hn_graph *g) {
    if (!g) return;
    if (g->let_go) g->let_go(g->hold);
    hn_arena_free(&g->arena);
    free(g);
}

hn_block hn_block_new(hn_graph *g, hn_block parent) {
    if (!hn_graph_ok(g)) return 0;
    if (parent < g->n_block) return new_block(g, parent);
    return hn_graph_fail(g, HONE_E_FAILED, "a region is put into block %u, which does not exist", parent);
}

uint32_t hn_source(hn_graph *g, const char *text) {
    if (!push(&g->arena, &g->source, g->n_source, sizeof *g->source)) return 0;
    g->source[g->n_source] = hn_strdup(&g->arena, text);
    return ++g->n_source;
}

hn_val hn_graph_fail(hn_graph *g, hone_rc rc, const char *fmt, ...) {
    if (g->err.rc != HONE_OK) return 0;
    const char *source = g->at_source && g->at_source <= g->n_source ? g->source[g->at_source - 1] : NULL;
    char text[sizeof g->err.text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hn_fail(&g->err, rc, "%s%s%s", source ? source : "", source ? ": " : "", text);
    return 0;
}

/* --- values ----------------------------------------------------------------------------------------------------- */

static void settle_type(hn_graph *g, hn_value *v) {
    bool input = !v->node && !v->block; /* its dimensions say which symbols it defines */
    for (size_t d = 0; !input && d < v->type.rank; d++) v->type.dim[d] = hn_dim_standing(g->dims, v->type.dim[d]);
}

void hn_graph_settle(hn_graph *g) {
    for (hn_val v = 1; v < g->n_value; v++) settle_type(g, &g->value[v]);
}

static hn_val new_value(hn_graph *g, const hn_value *v) {
    if (!grow(&g->arena, &g->value, g->n_value, &g->room_value, sizeof *g->value)) return 0;
    g->value[g->n_value] = *v;
    settle_type(g, &g->value[g->n_value]);
    return g->n_value++;
}

hn_val hn_param(hn_graph *g, hn_block b, const char *name, const hn_type *type) {
    if (!hn_graph_ok(g)) return 0;
    hn_blk *k = &g->block[b];
    if (k->n_param == UINT16_MAX) return hn_graph_fail(g, HONE_E_LIMIT, "a block has more than 65535 parameters");
    hn_value v = {.type = *type, .block = b, .index = (uint16_t)k->n_param, .name = hn_strdup(&g->arena, name)};
    hn_val id = new_value(g, &v);
    if (!id || !push(&g->arena, &k->param, k->n_param, sizeof *k->param)) return 0;
    return k->param[k->n_param++] = id;
}

void hn_result(hn_graph *g, hn_block b, hn_val v, const char *name) {
    if (!hn_graph_ok(g)) return;
    if (!v || v >= g->n_value) {
        hn_graph_fail(g, HONE_E_FAILED, "result '%s' has no value", name ? name : "");
        return;
    }
    hn_blk *k = &g->block[b];
    if (!b && !push(&g->arena, &g->output_name, k->n_result, sizeof *g->output_name)) return;
    if (!push(&g->arena, &k->result, k->n_result, sizeof *k->result)) return;
    if (!b) g->output_name[k->n_result] = hn_strdup(&g->arena, name ? name : "");
    k->result[k->n_result++] = v;
}

/* --- nodes ------------------------------------------------------------------------------------------------------ */

static size_t item_size(hn_attr_kind kind) {
    switch (kind) {
    case HN_K_INTS: return sizeof(int64_t);
    case HN_K_DIMS: return sizeof(hn_dim);
    case HN_K_BLOCKS: return sizeof(hn_block);
    case HN_K_TENSOR: return sizeof(hn_tensor);
    default: return 0;
    }
}

static const void *copy_of(hn_arena *a, const void *p, size_t n, size_t size) {
    void *to = hn_alloc_n(a, n, size);
    if (to && n) memcpy(to, p, n * size);
    return to;
}

static hn_attr copy_attr(hn_graph *g, const hn_attr *from) {
    hn_attr to = *from;
    to.kind = hn_attr_of(from->id)->kind;
    size_t size = item_size(to.kind);
    if (to.kind == HN_K_TENSOR) to.n = 1;
    if (!size) to.n = 0;
    if (to.kind == HN_K_INTS) to.ints = copy_of(&g->arena, from->ints, to.n, size);
    if (to.kind == HN_K_DIMS) to.dims = copy_of(&g->arena, from->dims, to.n, size);
    if (to.kind == HN_K_BLOCKS) to.blocks = copy_of(&g->arena, from->blocks, to.n, size);
    if (to.kind == HN_K_TENSOR) to.tensor = copy_of(&g->arena, from->tensor, 1, size);
    if (to.kind == HN_K_NAME) to.name = hn_strdup(&g->arena, from->name);
    return to;
}

/* Insertion sort by id: there are few. NULL after a failure. */
static hn_attr *copy_attrs(hn_graph *g, size_t n, const hn_attr *from) {
    hn_attr *to = HN_NEW_N(&g->arena, hn_attr, n);
    for (size_t i = 0; to && i < n; i++) {
        size_t at = i;
        if ((unsigned)from[i].id >= HN_N_ATTRS) return hn_graph_fail(g, HONE_E_FAILED, "an attribute has no id"), NULL;
        for (; at && to[at - 1].id > from[i].id; at--) to[at] = to[at - 1];
        if (at && to[at - 1].id == from[i].id)
            return hn_graph_fail(g, HONE_E_INPUT, "attribute '%s' is given twice", attr_info[from[i].id].text), NULL;
        to[at] = copy_attr(g, &from[i]);
    }
    return to;
}

static bool check_shape(hn_graph *g, hn_op op, size_t n_in, const hn_val *in, size_t n_attr, size_t n_out) {
    const hn_op_info *info = &op_info[op];
    if (n_in < (size_t)info->in_min || (info->in_max >= 0 && n_in > (size_t)info->in_max) || n_in > UINT16_MAX)
        return hn_graph_fail(g, HONE_E_INPUT, "'%s' has %zu inputs; see docs/ir.md", info->text, n_in);
    if ((info->outs >= 0 && n_out != (size_t)info->outs) || n_out > UINT16_MAX)
        return hn_graph_fail(g, HONE_E_INPUT, "'%s' has %zu results; see docs/ir.md", info->text, n_out);
    if (n_attr > HN_N_ATTRS) return hn_graph_fail(g, HONE_E_INPUT, "'%s' has %zu attributes", info->text, n_attr);
    for (size_t i = 0; i < n_in; i++)
        if (!in[i] || in[i] >= g->n_value)
            return hn_graph_fail(g, HONE_E_INPUT, "input %zu of '%s' is missing", i, info->text);
    return true;
}

static void fail_infer(hn_graph *g, hn_op op, size_t n_in, const hn_val *in, const hone_err *why) {
    hn_str s = {0};
    for (size_t i = 0; i < n_in && i < 8; i++) {
        hn_str_add(&s, i ? ", " : " of ");
        hn_type_print(g, &g->value[in[i]].type, &s);
    }
    if (n_in > 8) hn_str_add(&s, ", …");
    hn_graph_fail(g, why->rc, "'%s'%.500s: %s", op_info[op].text, s.text ? s.text : "", why->text);
    hn_str_free(&s);
}

enum { FEW = 16 };

static bool infer(hn_graph *g, hn_op op, size_t n_in, const hn_val *in, size_t n_attr, const hn_attr *attr,
                  size_t n_out, hn_type *out) {
    const hn_type *few[FEW], **type = n_in <= FEW ? few : malloc(n_in * sizeof *type);
    hone_err err = {0};
    if (!type) return g->arena.failed = true, false;
    for (size_t i = 0; i < n_in; i++) type[i] = &g->value[in[i]].type;
    hone_rc rc = hn_infer(g, op, n_in, type, n_attr, attr, n_out, out, &err);
    if (type != few) free(type);
    if (rc) fail_infer(g, op, n_in, in, &err);
    return !rc;
}

static hn_val append(hn_graph *g, hn_block b, const hn_node *n, const hn_type *type) {
    hn_blk *k = &g->block[b];
    if (!grow(&g->arena, &g->node, g->n_node, &g->room_node, sizeof *g->node)) return 0;
    if (!grow(&g->arena, &k->node, k->n_node, &k->room, sizeof *k->node)) return 0;
    uint32_t id = g->n_node++;
    k->node[k->n_node++] = id;
    g->node[id] = *n;
    for (size_t i = 0; i < n->n_out; i++) {
        hn_value v = {.type = type[i], .block = b, .node = id + 1, .index = (uint16_t)i};
        n->out[i] = new_value(g, &v);
    }
    return hn_graph_ok(g) && n->n_out ? n->out[0] : 0;
}

hn_val hn_emit(hn_graph *g, hn_block b, hn_op op, size_t n_in, const hn_val *in, size_t n_attr, const hn_attr *attr,
               size_t n_out) {
    if (!hn_graph_ok(g)) return 0;
    if ((unsigned)op >= HN_N_OPS || b >= g->n_block)
        return hn_graph_fail(g, HONE_E_FAILED, "no such operation or block");
    if (!check_shape(g, op, n_in, in, n_attr, n_out)) return 0;
    hn_node n = {.op = op, .n_in = (uint16_t)n_in, .n_out = (uint16_t)n_out, .n_attr = (uint16_t)n_attr};
    n.source = g->at_source;
    n.attr = copy_attrs(g, n_attr, attr);
    n.in = HN_NEW_N(&g->arena, hn_val, n_in);
    n.out = HN_NEW_N(&g->arena, hn_val, n_out);
    if (!hn_graph_ok(g)) return 0;
    if (n_in) memcpy(n.in, in, n_in * sizeof *in);
    hn_type few[FEW], *type = n_out <= FEW ? few : malloc(n_out * sizeof *type);
    if (!type) return g->arena.failed = true, 0;
    memset(type, 0, n_out * sizeof *type);
    hn_val first = infer(g, op, n_in, n.in, n_attr, n.attr, n_out, type) ? append(g, b, &n, type) : 0;
    if (type != few) free(type);
    return first;
}

/* --- looking ---------------------------------------------------------------------------------------------------- */

const hn_attr *hn_attr_get(const hn_node *n, hn_attr_id id) {
    for (size_t i = 0; i < n->n_attr && n->attr[i].id <= id; i++)
        if (n->attr[i].id == id) return &n->attr[i];
    return NULL;
}

int64_t hn_attr_i(const hn_node *n, hn_attr_id id, int64_t otherwise) {
    const hn_attr *a = hn_attr_get(n, id);
    return a ? a->i : otherwise;
}

bool hn_type_static(const hn_graph *g, const hn_type *t, int64_t dim[HN_RANK_MAX]) {
    for (size_t i = 0; i < t->rank; i++)
        if (!hn_dim_is_int(g->dims, t->dim[i], dim ? &dim[i] : NULL)) return false;
    return true;
}

hn_dim hn_type_count(hn_graph *g, const hn_type *t) {
    hn_dim n = hn_dim_int(g->dims, 1);
    for (size_t i = 0; i < t->rank; i++) n = hn_dim_mul(g->dims, n, t->dim[i]);
    return n;
}

bool hn_type_same(const hn_graph *g, const hn_type *a, const hn_type *b) {
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (size_t i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i] && hn_dim_equal(g->dims, a->dim[i], b->dim[i]) != HN_EQUAL) return false;
    return true;
}

void hn_type_print(const hn_graph *g, const hn_type *t, hn_str *out) {
    const hn_dtype_info *info = hn_dtype_of(t->dtype);
    hn_str_add(out, info ? info->text : "?");
    for (size_t i = 0; i < t->rank; i++) {
        hn_str_add(out, i ? ", " : "[");
        hn_dim_print(g->dims, t->dim[i], out);
    }
    hn_str_add(out, t->rank ? "]" : "[]");
}
