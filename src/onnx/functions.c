/* functions.c — functions that a model brings along are expanded where they are called: a scope of their own, whose
 * opsets are the function's and whose attribute references are the call's. */
#include "onnx/import_int.h"

#include <onnx.pb-c.h>
#include <string.h>

enum { CALL_DEPTH = 32 };

static char *key_of(hn_importer *im, const char *domain, const char *name, const char *overload) {
    char *key = hn_format(im->arena, "%s\n%s\n%s", hn_domain(domain), name ? name : "", overload ? overload : "");
    return key;
}

void hn_list_functions(hn_importer *im) {
    const HnOnnx__Model *m = hn_onnx_model(im->m);
    for (size_t i = 0; i < m->n_functions; i++) {
        HnOnnx__Function *f = m->functions[i];
        const char *key = key_of(im, f->domain, f->name, f->overload);
        if (key && !hn_names_put(&im->function, im->arena, key, f))
            hn_import_wrong(im, HONE_E_INPUT, "function '%s' is defined twice", hn_shown(im->arena, f->name));
    }
}

const HnOnnx__Function *hn_function_of(const hn_importer *im, const HnOnnx__Node *node) {
    if (!im->function.n) return NULL;
    hn_mark mark = hn_arena_mark(im->arena);
    const char *key = hn_format(im->arena, "%s\n%s\n%s", hn_domain(node->domain), node->op_type ? node->op_type : "",
                                node->overload ? node->overload : "");
    const HnOnnx__Function *f = key ? hn_names_get(&im->function, key) : NULL;
    hn_arena_release(im->arena, mark);
    return f;
}

static const HnOnnx__Attribute *named(HnOnnx__Attribute *const *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (list[i]->name && !strcmp(list[i]->name, name)) return list[i];
    return NULL;
}

const HnOnnx__Attribute *hn_attribute(const hn_frame *f, const HnOnnx__Node *node, const char *name) {
    const HnOnnx__Attribute *a = named(node->attribute, node->n_attribute, name);
    while (a && a->ref_attr_name && a->ref_attr_name[0]) {
        if (!f || !f->function) return NULL;
        name = a->ref_attr_name;
        a = named(f->call->attribute, f->call->n_attribute, name);
        if (!a) return named(f->function->attribute_proto, f->function->n_attribute_proto, name);
        f = f->outer;
    }
    return a;
}

static bool is_called(const hn_frame *f, const HnOnnx__Function *function) {
    for (; f; f = f->outer)
        if (f->function == function) return true;
    return false;
}

static void set_hints(hn_importer *im, hn_scope *s, const HnOnnx__Function *f) {
    for (size_t i = 0; i < f->n_value_info; i++)
        if (f->value_info[i]->name && f->value_info[i]->type)
            hn_names_put(&s->hint, im->arena, f->value_info[i]->name, f->value_info[i]->type);
}

void hn_call_function(hn_lower *c, const HnOnnx__Function *f) {
    hn_importer *im = c->im;
    const hn_frame *outer = c->scope->frame;
    if (is_called(outer, f) || outer->depth >= CALL_DEPTH) {
        hn_wrong(c, "function '%s' calls itself, or calls are nested too deeply", hn_shown(im->arena, f->name));
        return;
    }
    hn_frame frame = {f->opset_import, f->n_opset_import, f, c->node, outer, outer->depth + 1};
    hn_scope s = {.frame = &frame, .block = c->b.b};
    if (c->node->n_input > f->n_input || c->node->n_output > f->n_output) {
        hn_wrong(c, "the call has more inputs or outputs than function '%s'", hn_shown(im->arena, f->name));
        return;
    }
    for (size_t i = 0; i < f->n_input && hn_import_ok(im); i++)
        hn_scope_bind(im, &s, f->input[i], i < c->node->n_input && c->in[i] ? c->in[i] : hn_bound_absent());
    set_hints(im, &s, f);
    hn_import_nodes(im, &s, f->node, f->n_node);
    for (size_t i = 0; i < c->node->n_output && hn_import_ok(im); i++) {
        c->out[i] = hn_scope_find(&s, f->output[i]);
        if (!c->out[i] && hn_wants(c, i))
            hn_wrong(c, "function '%s' does not define its output '%s'", hn_shown(im->arena, f->name),
                     hn_shown(im->arena, f->output[i]));
    }
}
