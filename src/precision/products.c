/* products.c — the products of a graph of floats that could be products of bytes, and what they are called. */
#include "precision/precision.h"

#include "base/err.h"
#include "base/hash.h"
#include "pass/pass.h"

#include <string.h>

hone_rc hn_products_prepare(hn_graph *g, hone_err *err) {
    return hn_run_passes(g, "batchnorm", (hn_pass_how){0}, NULL, NULL, err);
}

void hn_weights_hash(const hn_tensor *w, char hex[33]) {
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_add(&h, w->dim, w->rank * sizeof *w->dim);
    hn_hash_add(&h, w->data, (size_t)hn_tensor_n(w) * hone_dtype_size_b(w->dtype));
    hn_hash_end(&h, hex);
}

/* "node 'conv1' (Conv)" is conv1. */
static const char *node_name(hn_graph *g, const hn_node *n) {
    static const char head[] = "node '";
    const char *text = n->source ? g->source[n->source - 1] : "product", *end = strstr(text, "' (");
    if (strncmp(text, head, strlen(head)) != 0 || !end) return text;
    return hn_strndup(&g->arena, text + strlen(head), (size_t)(end - text) - strlen(head));
}

/* A node of the model may have become several products: the second one is NAME#2. */
static const char *own_name(hn_graph *g, const hn_narrow_product *before, uint32_t n, const hn_node *node) {
    const char *name = node_name(g, node);
    uint32_t k = 1;
    for (uint32_t i = 0; name && i < n; i++) k += g->node[before[i].node].source == node->source;
    return k > 1 ? hn_format(&g->arena, "%s#%u", name, k) : name;
}

static const char *shape_text(hn_graph *g, const hn_tensor *w) {
    hn_str s = {0};
    for (size_t i = 0; i < w->rank; i++) hn_str_addf(&s, "%s%lld", i ? "x" : "", (long long)w->dim[i]);
    const char *text = s.failed ? NULL : hn_strdup(&g->arena, s.text);
    hn_str_free(&s);
    return text;
}

hone_rc hn_products_find(hn_graph *g, hn_narrow_product **out, uint32_t *n, hone_err *err) {
    const hn_blk *main = &g->block[0];
    hn_narrow_product *list = HN_NEW_N(&g->arena, hn_narrow_product, main->n_node);
    uint32_t count = 0;
    for (uint32_t i = 0; list && i < main->n_node; i++) {
        const hn_node *node = &g->node[main->node[i]];
        hn_byte_form form;
        if (!hn_could_multiply_bytes(g, node, &form)) continue;
        list[count] = (hn_narrow_product){.name = own_name(g, list, count, node),
                                          .shape = shape_text(g, hn_const_of(g, node->in[1])),
                                          .node = main->node[i],
                                          .form = form};
        if (!list[count].name || !list[count].shape) break;
        count++;
    }
    if (!hn_graph_ok(g)) return hn_graph_failure(g, err);
    *out = list;
    *n = count;
    return HONE_OK;
}
