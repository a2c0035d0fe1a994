/* front_gguf.c — a GGUF file as a graph, and what is in it. */
#include "gguf/front_gguf.h"
#include "base/err.h"
#include "front/about_decoder.h"
#include "front/weights.h"
#include "gguf/arch.h"
#include "ir/blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- importing ---------------------------------------------------------------------------------------------------- */

/* What a graph keeps alive: the file, and weights that do not lie in it. */
typedef struct held {
    hn_gguf *file;
    hn_weights weights;
    bool *used;         /* by tensor */
    hn_activations how; /* of products with packed weights */
    int64_t layers;
    bool sums;
    hn_val *value; /* by tensor: the matrix in the graph; for sums */
} held;

static void let_go(void *p) {
    held *h = p;
    hn_weights_free(&h->weights);
    free(h->used);
    free(h->value);
    hn_gguf_close(h->file);
    free(h);
}

static hn_weight weight_of(held *h, hn_builder *b, const hn_gguf_tensor *t) {
    hone_err err = {0};
    hn_weight w = {t->name, hn_block_type_of(t->type), t->data, t->rank, t->dim, t->n_elements};
    hone_rc rc = t->rank > 1 ? hn_weight_readable(&h->weights, &w, &err) : HONE_OK;
    if (rc) hn_graph_fail(b->g, rc, "%s", err.text);
    return w;
}

static hn_activations how_of(const held *h, hn_decoder_role role, int64_t layer) {
    return hn_decoder_activations(h->how, role, layer, h->layers);
}

/* Experts' matrices that the file has one by one, as one. */
static hn_val stacked(held *h, hn_builder *b, hn_decoder_role role, int64_t layer) {
    char name[128];
    uint64_t n = 0;
    while (hn_arch_expert_tensor(role, layer, (int64_t)n, name, sizeof name) && hn_gguf_tensor_named(h->file, name))
        n++;
    hn_weight *part = n ? hn_alloc_n(&b->g->arena, n, sizeof *part) : NULL;
    for (uint64_t e = 0; part && e < n; e++) {
        hn_arch_expert_tensor(role, layer, (int64_t)e, name, sizeof name);
        const hn_gguf_tensor *t = hn_gguf_tensor_named(h->file, name);
        part[e] = weight_of(h, b, t);
        h->used[t - hn_gguf_tensor_at(h->file, 0)] = true;
    }
    return part ? hn_weight_stack(&h->weights, b, part, n, how_of(h, role, layer)) : 0;
}

static hn_val weight(void *arg, hn_builder *b, hn_decoder_role role, int64_t layer) {
    held *h = arg;
    char name[128];
    hn_arch_tensor(role, layer, name, sizeof name);
    const hn_gguf_tensor *t = hn_gguf_tensor_named(h->file, name);
    if (!t) return stacked(h, b, role, layer);
    size_t at = (size_t)(t - hn_gguf_tensor_at(h->file, 0));
    const hn_weight w = weight_of(h, b, t);
    hn_val v = hn_weight_packed(b, &w, how_of(h, role, layer));
    h->used[at] = true;
    return h->value[at] = v ? v : hn_weight_floats(&h->weights, b, &w, 0);
}

/* Of each matrix once. */
static void put_sums(void *arg, hn_builder *b, hn_val x, hn_val w) {
    held *h = arg;
    for (size_t i = 0; i < hn_gguf_tensors(h->file); i++) {
        if (h->value[i] != w) continue;
        hn_str name = {0};
        hn_str_addf(&name, "sum2.%s", hn_gguf_tensor_at(h->file, i)->name);
        hn_val sum = hn_reduce1(b, HN_OP_RSUM, hn_bin(b, HN_OP_MUL, x, x), 0, false);
        if (sum && name.text) hn_result(b->g, 0, sum, hn_strdup(&b->g->arena, name.text));
        hn_str_free(&name);
        h->value[i] = 0;
        return;
    }
}

static const hn_arch *arch_of(const hn_gguf *g, const char *label, hone_err *err) {
    hn_gguf_text name;
    hn_str known = {0};
    if (!hn_gguf_string(hn_gguf_find(g, "general.architecture"), &name)) {
        hn_fail(err, HONE_E_INPUT, "'%s' does not say its architecture ('general.architecture')", label);
        return NULL;
    }
    const hn_arch *a = hn_arch_named(name.text, name.n);
    if (a) return a;
    for (size_t i = 0; hn_arch_at(i); i++) hn_str_addf(&known, "%s%s", i ? ", " : "", hn_arch_at(i)->name);
    hn_fail(err, HONE_E_UNSUPPORTED, "'%s' is of architecture '%.*s', which is not known; those known are %s", label,
            (int)(name.n < 40 ? name.n : 40), name.text, known.text ? known.text : "?");
    hn_str_free(&known);
    return NULL;
}

/* What is not read is named, all of it, as far as a message goes. */
static hone_rc refusals(hn_str *lines, const char *label, char **report, hone_err *err) {
    hn_str names = {0};
    size_t n = 0, left = 0;
    for (const char *line = lines->text, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        const char *colon = strstr(line, "': ");
        if (names.n < 800)
            hn_str_addf(&names, "%s%.*s", n ? ", " : "", (int)((colon && colon < end ? colon + 1 : end) - line), line);
        else
            left++;
        n++;
    }
    if (left) hn_str_addf(&names, " and %zu more", left);
    hone_rc rc = hn_fail(err, HONE_E_UNSUPPORTED, "'%s' has %zu part%s that hone does not know: %s", label, n,
                         n == 1 ? "" : "s", names.text ? names.text : "");
    hn_str_free(&names);
    *report = hn_str_take(lines);
    return rc;
}

/* Every tensor must have been asked for: one that was not is a part of the model that is not understood. */
static void unused(const held *h, hn_str *lines) {
    for (size_t i = 0; i < hn_gguf_tensors(h->file); i++)
        if (!h->used[i])
            hn_str_addf(lines, "tensor '%s': a model of this architecture does not use it\n",
                        hn_gguf_tensor_at(h->file, i)->name);
}

static hone_rc open_file(const hn_front_source *from, hn_gguf **out, hone_err *err) {
    return from->path ? hn_gguf_open(from->path, out, err) : hn_gguf_open_memory(from->data, from->n, out, err);
}

/* Symbols of the graph are fixed or bounded by the user as those of any model. */
static hone_rc build(const hn_front_source *from, hn_cache cache, held *h, hn_graph *g, char **report, hone_err *err) {
    hn_decoder d;
    const hn_arch *a = arch_of(h->file, hn_front_label(from), err);
    if (!a) return err ? err->rc : HONE_E_UNSUPPORTED;
    hn_str lines = {0};
    hone_rc rc = hn_arch_read(a, h->file, &d, &lines, err);
    d.weight = weight;
    d.arg = h;
    h->layers = d.layers;
    d.cache = cache;
    if (h->sums) d.seen = put_sums;
    if (!rc && !lines.n) rc = hn_decoder_emit(g, &d, err);
    if (!rc && !lines.n) unused(h, &lines);
    if (!rc && lines.n) rc = refusals(&lines, hn_front_label(from), report, err);
    hn_str_free(&lines);
    return rc;
}

static hone_rc read_graph(const hn_front_source *from, const hone_import_options *options, bool sums, hone_graph **out,
                          char **report, hone_err *err) {
    hone_err own = {0};
    held *h = calloc(1, sizeof *h);
    hn_cache cache = HN_CACHE_GROWN;
    hn_graph *g = hn_graph_new();
    hone_rc rc = h && g ? HONE_OK : hn_fail(&own, HONE_E_NOMEM, "out of memory reading '%s'", hn_front_label(from));
    if (!rc && options->n_symbol)
        rc = hn_fail(&own, HONE_E_USAGE, "'%s': sizes of a language model cannot be fixed yet; leave --symbol out",
                     hn_front_label(from));
    if (!rc) rc = open_file(from, &h->file, &own);
    if (!rc && (!(h->used = calloc(hn_gguf_tensors(h->file) + 1, sizeof *h->used)) ||
                !(h->value = calloc(hn_gguf_tensors(h->file) + 1, sizeof *h->value))))
        rc = hn_fail(&own, HONE_E_NOMEM, "out of memory reading '%s'", hn_front_label(from));
    if (!rc) rc = hn_cache_named(options->cache, &cache, &own);
    if (!rc) rc = hn_activations_named(options->activations, options->exact, &h->how, &own);
    if (!rc && sums) h->how = HN_FLOAT;
    if (h) h->sums = sums;
    if (!rc) rc = build(from, cache, h, g, report, &own);
    if (!rc) {
        g->hold = h;
        g->let_go = let_go;
        return hn_front_finish(from, g, out, err);
    }
    if (h) let_go(h);
    if (g) hn_graph_free(g);
    hn_context_file(&own, rc, hn_front_label(from));
    return hn_fail(err, rc, "%s", own.text);
}

static hone_rc import(const hn_front_source *from, const hone_import_options *options, hone_graph **out, char **report,
                      hone_err *err) {
    return read_graph(from, options, false, out, report, err);
}

hone_rc hn_gguf_import_sums(const char *path, hone_graph **out, hone_err *err) {
    hn_front_source from = {.path = path};
    hone_import_options options = {.size = sizeof options};
    char *report = NULL;
    hone_rc rc = read_graph(&from, &options, true, out, &report, err);
    free(report);
    return rc;
}

/* --- inspecting --------------------------------------------------------------------------------------------------- */

typedef struct by_type {
    uint64_t n, size_b;
} by_type;

static void say(hn_model_summary *s, const char *key, const char *label, const char *text) {
    if (!text) return;
    hn_summary_fact(s, key, text);
    hn_summary_about(s, label, text);
}

static void say_text(hn_model_summary *s, const hn_gguf *g, const char *key, const char *name, const char *label) {
    hn_gguf_text t;
    if (hn_gguf_string(hn_gguf_find(g, key), &t) && t.n) say(s, name, label, hn_strndup(&s->arena, t.text, t.n));
}

static void count_types(hn_model_summary *s, const hn_gguf *g) {
    hn_str text = {0};
    bool any = false;
    hn_str_add(&s->facts, "\"types\":{");
    for (size_t k = 0; hn_block_type_at(k); k++) {
        const hn_block_type *type = hn_block_type_at(k);
        by_type sum = {0};
        for (size_t i = 0; i < hn_gguf_tensors(g); i++) {
            const hn_gguf_tensor *t = hn_gguf_tensor_at(g, i);
            if (t->type != type->id) continue;
            sum.n++;
            sum.size_b += t->size_b;
        }
        if (!sum.n) continue;
        hn_str_addf(&s->facts, "%s\"%s\":{\"tensors\":%" PRIu64 ",\"size_b\":%" PRIu64 "}", any ? "," : "", type->name,
                    sum.n, sum.size_b);
        hn_str_addf(&text, "%s%s in %" PRIu64 " (%.1f MiB)", any ? ", " : "", type->name, sum.n,
                    (double)sum.size_b / 0x1p20);
        any = true;
    }
    hn_str_add(&s->facts, "},");
    if (text.text) hn_summary_about(s, "types", hn_strdup(&s->arena, text.text));
    hn_str_free(&text);
}

static void say_sizes(hn_model_summary *s, const hn_gguf *g, const hn_decoder *d) {
    hn_decoder_cost c = {0};
    bool tied = !hn_gguf_tensor_named(g, "output.weight");
    for (size_t i = 0; i < hn_gguf_tensors(g); i++) {
        const hn_gguf_tensor *t = hn_gguf_tensor_at(g, i);
        hn_decoder_count(&c, d, hn_arch_role(d, t->name), tied, t->size_b, t->n_elements, t->rank > 1);
    }
    hn_summary_decoder(s, d, &c);
}

static hone_rc inspect(const hn_front_source *from, hn_model_summary *s, hone_err *err) {
    hn_gguf *g = NULL;
    hn_decoder d;
    hone_err why = {0};
    hone_rc rc = open_file(from, &g, err);
    if (rc) return rc;
    hn_str_addf(&s->facts, "\"version\":%" PRIu32 ",\"size_b\":%" PRIu64 ",", hn_gguf_version(g), hn_gguf_size_b(g));
    say_text(s, g, "general.name", "model", "model");
    say_text(s, g, "general.architecture", "family", "family");
    say_text(s, g, "general.license", "license", "licence");
    say_text(s, g, "tokenizer.ggml.model", "tokenizer", "tokenizer");
    count_types(s, g);
    const hn_arch *a = arch_of(g, hn_front_label(from), &why);
    hn_str refused = {0};
    if (a && !hn_arch_read(a, g, &d, &refused, &why)) say_sizes(s, g, &d);
    hn_str_free(&refused);
    for (size_t i = 0; i < hn_gguf_tensors(g); i++) s->n_elements += hn_gguf_tensor_at(g, i)->n_elements;
    s->n_tensors = hn_gguf_tensors(g);
    hn_gguf_close(g);
    return hn_arena_ok(&s->arena) ? HONE_OK
                                  : hn_fail(err, HONE_E_NOMEM, "out of memory looking at '%s'", hn_front_label(from));
}

static bool sniff(const void *head, size_t n) { return hn_gguf_sniff(head, n); }

const hn_front hn_front_gguf = {"gguf", "GGUF model", ".gguf", sniff, import, inspect, NULL};
