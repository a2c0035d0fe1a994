/* lower.c — nodes one after the other: names become values, rows of the families' tables make primitives of them. */
#include "base/err.h"
#include "onnx/import_int.h"

#include <onnx.pb-c.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NODES = 1 << 20 }; /* lowered in all, calls expanded: bounds what nested functions can ask for */

/* --- what goes wrong ------------------------------------------------------------------------------------------- */

bool hn_import_ok(const hn_importer *im) {
    return im->err.rc == HONE_OK && hn_arena_ok(im->arena) && hn_graph_ok(im->g);
}

void hn_import_wrong(hn_importer *im, hone_rc rc, const char *fmt, ...) {
    va_list ap;
    if (im->err.rc) return;
    va_start(ap, fmt);
    vsnprintf(im->err.text, sizeof im->err.text, fmt, ap);
    va_end(ap);
    im->err.rc = rc;
}

void hn_import_refuse(hn_importer *im, const char *fmt, ...) {
    char text[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hn_str_addf(&im->report, "%s\n", text);
    im->n_refused++;
}

const char *hn_node_shown(hn_importer *im, const HnOnnx__Node *node) {
    const char *op = hn_shown(im->arena, node->op_type), *name = hn_shown(im->arena, node->name), *text = NULL;
    if (name[0])
        text = hn_format(im->arena, "node '%s' (%s)", name, op);
    else if (node->n_output && node->output[0][0])
        text = hn_format(im->arena, "node that makes '%s' (%s)", hn_shown(im->arena, node->output[0]), op);
    else
        text = hn_format(im->arena, "unnamed node (%s)", op);
    return text ? text : "node";
}

/* --- names ------------------------------------------------------------------------------------------------------ */

const hn_bound *hn_bound_poison(void) {
    static const hn_bound poison = {.kind = HN_BOUND_POISON};
    return &poison;
}

const hn_bound *hn_bound_absent(void) {
    static const hn_bound absent = {.kind = HN_BOUND_ABSENT};
    return &absent;
}

const hn_bound *hn_bound_tensor(hn_importer *im, hn_val v) {
    hn_bound *b = HN_NEW(im->arena, hn_bound);
    if (!b) return hn_bound_poison();
    b->v = v;
    return b;
}

const hn_bound *hn_scope_find(const hn_scope *s, const char *name) {
    for (; s; s = s->parent) {
        const hn_bound *b = hn_names_get(&s->value, name);
        if (b) return b;
    }
    return NULL;
}

void hn_scope_bind(hn_importer *im, hn_scope *s, const char *name, const hn_bound *b) {
    if (!hn_names_put(&s->value, im->arena, name, (void *)(uintptr_t)b))
        hn_import_wrong(im, HONE_E_INPUT, "value '%s' is defined twice", hn_shown(im->arena, name));
}

/* --- one node ----------------------------------------------------------------------------------------------------- */

static int opset_of(const hn_frame *f, const char *domain) {
    for (size_t i = 0; i < f->n_opset; i++)
        if (!strcmp(hn_domain(f->opset[i]->domain), domain))
            return f->opset[i]->version < 0 || f->opset[i]->version > 1000000 ? 0 : (int)f->opset[i]->version;
    return -1;
}

/* What exporters leave out when they are asked to. */
static const char *instead_of(const char *domain, const char *op) {
    static const struct {
        const char *domain, *op, *instead;
    } list[] = {
        {"ai.onnx.ml", "ZipMap", ": a list of maps is no tensor; convert with options={'zipmap': False}"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!strcmp(domain, list[i].domain) && !strcmp(op, list[i].op)) return list[i].instead;
    return "";
}

/* Why there is no row. */
static void refuse_unknown(hn_importer *im, const HnOnnx__Node *node, const char *domain, int opset) {
    const char *shown = hn_node_shown(im, node);
    const char *dot = hn_shown(im->arena, domain[0] ? domain : "ai.onnx");
    int since, until;
    if (opset < 0)
        hn_import_refuse(im, "%s: the model imports no operator set '%s'", shown, dot);
    else if (!hn_opset_newest(domain))
        hn_import_refuse(im, "%s, opset %d of %s: hone knows no operators of that domain", shown, opset, dot);
    else if (opset > hn_opset_newest(domain))
        hn_import_refuse(im, "%s, opset %d of %s: hone knows opsets up to %d; export the model for an older one", shown,
                         opset, dot, hn_opset_newest(domain));
    else if (hn_row_known(domain, node->op_type, &since, &until))
        hn_import_refuse(im, "%s, opset %d of %s: hone supports this operator in opsets %d to %d", shown, opset, dot,
                         since, until);
    else
        hn_import_refuse(im, "%s, opset %d of %s: unsupported operator%s", shown, opset, dot,
                         instead_of(domain, node->op_type));
}

static const hn_lower_row *row_of(hn_importer *im, const hn_scope *s, const HnOnnx__Node *node, int *opset) {
    const char *domain = hn_domain(node->domain);
    *opset = opset_of(s->frame, domain);
    int newest = hn_opset_newest(domain);
    const hn_lower_row *row = *opset >= 0 && *opset <= newest ? hn_row_find(domain, node->op_type, *opset) : NULL;
    if (!row) refuse_unknown(im, node, domain, *opset);
    return row;
}

void hn_import_scan(hn_importer *im, const hn_scope *s, const HnOnnx__Node *node) {
    int opset;
    if (hn_function_of(im, node)) return;
    if (!node->op_type) return;
    row_of(im, s, node, &opset);
    for (size_t i = 0; i < node->n_attribute; i++)
        for (size_t k = 0; node->attribute[i]->g && k < node->attribute[i]->g->n_node; k++)
            hn_import_scan(im, s, node->attribute[i]->g->node[k]);
}

/* An input that no earlier node makes: say whether a later one does. */
static void undefined(hn_importer *im, HnOnnx__Node *const *later, size_t n, const HnOnnx__Node *node,
                      const char *name) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < later[i]->n_output; k++)
            if (!strcmp(later[i]->output[k], name)) {
                hn_import_wrong(im, HONE_E_INPUT,
                                "%s uses '%s', which %s makes: the nodes are not in order, or form a cycle",
                                hn_node_shown(im, node), hn_shown(im->arena, name),
                                i ? hn_node_shown(im, later[i]) : "this very node");
                return;
            }
    hn_import_wrong(im, HONE_E_INPUT, "%s uses '%s', which nothing defines", hn_node_shown(im, node),
                    hn_shown(im->arena, name));
}

/* Fills c->in; later[0] is the node itself. False when a name is not defined. *poisoned: an input is. */
static bool find_inputs(hn_lower *c, HnOnnx__Node *const *later, size_t n_later, bool *poisoned) {
    const HnOnnx__Node *node = c->node;
    for (size_t i = 0; i < node->n_input; i++) {
        const char *name = node->input[i];
        if (!name[0]) continue;
        const hn_bound *b = hn_scope_find(c->scope, name);
        if (!b) {
            undefined(c->im, later, n_later, node, name);
            return false;
        }
        *poisoned |= b->kind == HN_BOUND_POISON;
        c->in[i] = b->kind == HN_BOUND_ABSENT ? NULL : b;
    }
    return true;
}

/* A typed placeholder for an output of a refused node, so that the nodes behind it are checked too. */
static const hn_bound *placeholder(hn_lower *c, size_t i) {
    hn_type t;
    if (!hn_import_ok(c->im) || !hn_declared(c, i, &t)) return hn_bound_poison();
    for (size_t d = 0; d < t.rank; d++)
        if (!t.dim[d]) return hn_bound_poison();
    return hn_bound_tensor(c->im, hn_full(&c->b, t.dtype, t.rank, t.dim, 0));
}

static void bind_outputs(hn_lower *c, bool poisoned) {
    for (size_t i = 0; i < c->node->n_output && hn_import_ok(c->im); i++) {
        if (!c->node->output[i][0]) continue;
        if (!c->out[i] && !c->refused && !poisoned) {
            if (!i) hn_wrong(c, "an input that the operator needs is missing");
            hn_refuse(c, "output %zu is not supported", i);
            c->out[i] = hn_bound_poison();
        }
        if (c->refused || poisoned) c->out[i] = placeholder(c, i);
        hn_scope_bind(c->im, c->scope, c->node->output[i], c->out[i]);
    }
}

static void lower_node(hn_importer *im, hn_scope *s, HnOnnx__Node *const *later, size_t n_later) {
    const HnOnnx__Node *node = later[0];
    hn_lower c = {.im = im, .scope = s, .node = node, .b = {im->g, s->block}, .later = later, .n_later = n_later};
    bool poisoned = false;
    if (++im->n_lowered > MAX_NODES) {
        hn_import_wrong(im, HONE_E_LIMIT, "more than %d nodes once functions are expanded", MAX_NODES);
        return;
    }
    c.shown = hn_node_shown(im, node);
    c.in = HN_NEW_N(im->arena, const hn_bound *, node->n_input);
    c.out = HN_NEW_N(im->arena, const hn_bound *, node->n_output);
    if (!c.in || !c.out) return;
    if (!node->op_type || !node->op_type[0]) hn_import_wrong(im, HONE_E_INPUT, "%s has no operator", c.shown);
    if (!hn_import_ok(im) || !find_inputs(&c, later, n_later, &poisoned)) return;
    const HnOnnx__Function *f = hn_function_of(im, node);
    uint32_t outer = im->g->at_source;
    im->g->at_source = hn_source(im->g, c.shown);
    if (f) {
        hn_call_function(&c, f);
    } else if (poisoned) {
        hn_import_scan(im, s, node);
    } else if (!(c.row = row_of(im, s, node, &c.opset))) {
        c.refused = true;
        for (size_t i = 0; i < node->n_attribute; i++)
            for (size_t k = 0; node->attribute[i]->g && k < node->attribute[i]->g->n_node; k++)
                hn_import_scan(im, s, node->attribute[i]->g->node[k]);
    } else {
        c.row->lower(&c);
    }
    if (!s->done) bind_outputs(&c, poisoned && !f);
    im->g->at_source = outer;
}

void hn_import_nodes(hn_importer *im, hn_scope *s, HnOnnx__Node *const *node, size_t n) {
    for (size_t i = 0; i < n && hn_import_ok(im) && !s->done; i++) lower_node(im, s, node + i, n - i);
}

size_t hn_scope_outputs(const hn_scope *s) { return s->graph ? s->graph->n_output : s->frame->function->n_output; }

const char *hn_scope_output(const hn_scope *s, size_t i) {
    const char *name = s->graph ? s->graph->output[i]->name : s->frame->function->output[i];
    return name ? name : "";
}

/* --- a graph ------------------------------------------------------------------------------------------------------ */

static void set_hints(hn_importer *im, hn_scope *s, HnOnnx__ValueInfo *const *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (v[i]->name && v[i]->type) hn_names_put(&s->hint, im->arena, v[i]->name, v[i]->type);
}

static void bind_constant(hn_importer *im, hn_scope *s, const char *name, hone_rc rc, const hn_tensor *t,
                          const hone_err *err) {
    hn_builder b = {im->g, s->block};
    if (rc == HONE_E_UNSUPPORTED) {
        hn_import_refuse(im, "%s", err->text);
        hn_scope_bind(im, s, name, hn_bound_poison());
    } else if (rc) {
        hn_import_wrong(im, rc, "%s", err->text);
    } else {
        hn_scope_bind(im, s, name, hn_bound_tensor(im, hn_const(&b, t)));
    }
}

static void bind_initialisers(hn_importer *im, hn_scope *s, const HnOnnx__Graph *g) {
    hone_err err = {0};
    hn_tensor t;
    for (size_t i = 0; i < g->n_initializer && hn_import_ok(im); i++) {
        const char *name = g->initializer[i]->name ? g->initializer[i]->name : "";
        const char *what = hn_format(im->arena, "initialiser '%s'", hn_shown(im->arena, name));
        hone_rc rc = what ? hn_onnx_tensor(im->m, g->initializer[i], what, &t, &err) : HONE_E_NOMEM;
        bind_constant(im, s, name, rc, &t, &err);
    }
    for (size_t i = 0; i < g->n_sparse_initializer && hn_import_ok(im); i++) {
        const HnOnnx__SparseTensor *sparse = g->sparse_initializer[i];
        const char *name = sparse->values && sparse->values->name ? sparse->values->name : "";
        const char *what = hn_format(im->arena, "initialiser '%s'", hn_shown(im->arena, name));
        hone_rc rc = what ? hn_onnx_sparse(im->m, sparse, what, &t, &err) : HONE_E_NOMEM;
        bind_constant(im, s, name, rc, &t, &err);
    }
}

void hn_import_graph(hn_importer *im, hn_scope *s, const HnOnnx__Graph *g) {
    s->graph = g;
    set_hints(im, s, g->value_info, g->n_value_info);
    set_hints(im, s, g->output, g->n_output);
    bind_initialisers(im, s, g);
    hn_import_nodes(im, s, g->node, g->n_node);
}
