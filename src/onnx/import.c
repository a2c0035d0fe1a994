/* import.c — from an opened model to a graph: inputs, nodes, outputs, and what is said at the end. */
#include "base/err.h"
#include "onnx/import_int.h"

#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

/* Names of initialisers: inputs of the same name are constants (IR versions up to 3 list every one as an input). */
static hn_names initialisers(hn_importer *im, const HnOnnx__Graph *g) {
    hn_names set = {0};
    for (size_t i = 0; i < g->n_initializer; i++)
        if (g->initializer[i]->name) hn_names_put(&set, im->arena, g->initializer[i]->name, g->initializer[i]);
    for (size_t i = 0; i < g->n_sparse_initializer; i++) {
        HnOnnx__Tensor *v = g->sparse_initializer[i]->values;
        if (v && v->name) hn_names_put(&set, im->arena, v->name, v);
    }
    return set;
}

static void add_input(hn_importer *im, hn_scope *s, const HnOnnx__ValueInfo *v) {
    hn_type t;
    const char *why, *name = v->name ? v->name : "";
    if (!name[0]) {
        hn_import_wrong(im, HONE_E_INPUT, "an input of the graph has no name");
    } else if (hn_import_type(im, v->type, name, &t, &why)) {
        hn_scope_bind(im, s, name, hn_bound_tensor(im, hn_param(im->g, 0, name, &t)));
    } else {
        hn_import_refuse(im, "input '%s' of the graph %s", hn_shown(im->arena, name), why);
        hn_scope_bind(im, s, name, hn_bound_poison());
    }
}

static void add_inputs(hn_importer *im, hn_scope *s, const HnOnnx__Graph *g) {
    hn_names set = initialisers(im, g);
    for (size_t i = 0; i < g->n_input && hn_import_ok(im); i++)
        if (!g->input[i]->name || !hn_names_get(&set, g->input[i]->name)) add_input(im, s, g->input[i]);
}

static void add_output(hn_importer *im, hn_scope *s, const HnOnnx__ValueInfo *v) {
    const char *name = v->name ? v->name : "", *shown = hn_shown(im->arena, name);
    const hn_bound *b = hn_scope_find(s, name);
    hone_dtype declared;
    hn_type type;
    const char *why;
    if (b && b->kind == HN_BOUND_OPTIONAL && b->n) b = b->item[0];
    if (!b)
        hn_import_wrong(im, HONE_E_INPUT, "nothing defines the graph's output '%s'", shown);
    else if (b->kind == HN_BOUND_POISON)
        return;
    else if (b->kind != HN_BOUND_TENSOR)
        hn_import_refuse(im, "output '%s' of the graph is a sequence or an empty optional", shown);
    else if (v->type && v->type->tensor_type && hn_dtype_from_onnx(v->type->tensor_type->elem_type, &declared) &&
             declared != hn_type_of(im->g, b->v)->dtype)
        hn_import_wrong(im, HONE_E_INPUT, "output '%s' is declared as %s, but its node makes %s", shown,
                        hn_dtype_of(declared)->text, hn_dtype_of(hn_type_of(im->g, b->v)->dtype)->text);
    else if (im->choices.n && hn_import_type(im, v->type, NULL, &type, &why) &&
             type.rank != hn_type_of(im->g, b->v)->rank)
        hn_import_wrong(im, HONE_E_INPUT, "output '%s' is declared with rank %u, but its node makes rank %u", shown,
                        type.rank, hn_type_of(im->g, b->v)->rank);
    else
        hn_result(im->g, 0, b->v, name);
}

static void import_model(hn_importer *im) {
    const HnOnnx__Model *m = hn_onnx_model(im->m);
    hn_frame frame = {.opset = m->opset_import, .n_opset = m->n_opset_import};
    hn_scope s = {.frame = &frame};
    hn_list_functions(im);
    add_inputs(im, &s, m->graph);
    if (hn_import_ok(im)) im->err.rc = hn_check_symbol_options(im, &im->err);
    if (hn_import_ok(im)) hn_import_graph(im, &s, m->graph);
    for (size_t i = 0; i < m->graph->n_output && hn_import_ok(im); i++) add_output(im, &s, m->graph->output[i]);
    if (!m->graph->n_output) hn_import_wrong(im, HONE_E_INPUT, "the graph has no outputs");
}

/* One reading of the model under the choices so far, into a new graph; true where nothing stands against it. */
static bool read_once(hn_importer *im) {
    hn_graph_free(im->g);
    im->symbol = im->function = (hn_names){0};
    im->n_refused = im->n_lowered = 0;
    im->err = (hone_err){0};
    if (im->report.text) im->report.text[im->report.n = 0] = 0;
    im->g = hn_graph_new();
    if (im->g) import_model(im);
    return im->g && hn_import_ok(im) && !im->n_refused;
}

/* The result of the import, before the graph itself is checked. */
static hone_rc verdict(hn_importer *im, const char *path, hone_err *err) {
    if (!im->err.rc && im->g->err.rc) im->err = im->g->err;
    if (im->err.rc) return hn_fail(err, im->err.rc, "'%s': %s", path, im->err.text);
    if (!hn_arena_ok(im->arena) || im->report.failed)
        return hn_fail(err, HONE_E_NOMEM, "out of memory importing '%s'", path);
    if (!im->n_refused) return HONE_OK;
    int first = (int)strcspn(im->report.text, "\n");
    if (im->n_refused == 1)
        return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' cannot be compiled: %.*s", path, first, im->report.text);
    return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' cannot be compiled: %.*s; and %zu more (hone inspect lists them)",
                   path, first, im->report.text, im->n_refused - 1);
}

static void let_go(void *hold) { hn_onnx_close(hold); }

static hone_rc import(const hn_front_source *from, const hone_import_options *options, hone_graph **out, char **report,
                      hone_err *err) {
    hn_onnx *m;
    hone_rc rc = hn_onnx_open(from, &m, err);
    if (rc) return rc;
    hn_importer im = {.m = m, .arena = hn_onnx_arena(m)};
    rc = hn_symbol_options_read(im.arena, options, &im.options, err);
    if (!rc) {
        hn_choices_search(&im, read_once);
        rc = im.g ? verdict(&im, hn_front_label(from), err)
                  : hn_fail(err, HONE_E_NOMEM, "out of memory importing '%s'", hn_front_label(from));
    }
    *report = hn_str_take(&im.report);
    hn_str_free(&im.report);
    if (!rc) {
        im.g->hold = m;
        im.g->let_go = let_go;
        return hn_front_finish(from, im.g, out, err);
    }
    hn_graph_free(im.g);
    hn_onnx_close(m);
    return rc;
}

/* --- is it ONNX? ------------------------------------------------------------------------------------------------- */

static bool varint(const unsigned char **p, const unsigned char *end, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        *out |= (uint64_t)(**p & 127) << shift;
        if (!(*(*p)++ & 128)) return true;
    }
    return false;
}

/* The format has no mark of its own: the file is read as the fields of a ModelProto, as far as the head goes. One that
 * is no such field, or has another wire type, is in no ONNX file; the IR version or the graph is in every one. */
static bool sniff(const void *head, size_t n) {
    static const char wire[32] = {[1] = 'v', [2] = 'b', [3] = 'b',  [4] = 'b',  [5] = 'v',  [6] = 'b',
                                  [7] = 'b', [8] = 'b', [14] = 'b', [20] = 'b', [25] = 'b', [26] = 'b'};
    const unsigned char *p = head, *end = p + n;
    bool seen = false;
    while (p < end) {
        uint64_t tag, x;
        if (!varint(&p, end, &tag)) return seen;
        if (tag >> 3 >= sizeof wire ||
            wire[tag >> 3] != ((tag & 7) == 0   ? 'v'
                               : (tag & 7) == 2 ? 'b'
                                                : 0) ||
            !wire[tag >> 3])
            return false;
        seen |= tag >> 3 == 1 || tag >> 3 == 7;
        if (!varint(&p, end, &x)) return seen;
        if ((tag & 7) == 2 && x > (uint64_t)(end - p)) return seen;
        if ((tag & 7) == 2) p += x;
    }
    return seen;
}

const hn_front hn_front_onnx = {"onnx", "ONNX model", ".onnx", sniff, import, hn_onnx_inspect, NULL};
