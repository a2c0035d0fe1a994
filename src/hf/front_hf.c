/* front_hf.c — a folder as a graph, and what is in it. */
#include "hf/front_hf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "front/about_decoder.h"
#include "front/weights.h"
#include "hf/config.h"
#include "hf/json.h"
#include "hf/safetensors.h"
#include "ir/blocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- importing -------------------------------------------------------------------------------------------------------
 */

/* What a graph keeps alive: the files, and weights that do not lie in them. */
typedef struct held {
    hn_safetensors *file;
    hn_hf_config config;
    hn_weights weights;
    bool *used; /* by tensor */
} held;

static void let_go(void *p) {
    held *h = p;
    hn_weights_free(&h->weights);
    free(h->used);
    free(h->config.rotary_factors);
    hn_safetensors_close(h->file);
    free(h);
}

static bool is_norm(hn_decoder_role role) {
    switch (role) {
    case HN_ROLE_OUTPUT_NORM:
    case HN_ROLE_ATTENTION_NORM:
    case HN_ROLE_QUERY_NORM:
    case HN_ROLE_KEY_NORM:
    case HN_ROLE_ATTENTION_POST_NORM:
    case HN_ROLE_MLP_NORM:
    case HN_ROLE_MLP_POST_NORM: return true;
    default: return false;
    }
}

static bool read_type(const char *type) {
    return !strcmp(type, "F32") || !strcmp(type, "F16") || !strcmp(type, "BF16");
}

static const char *const prefix[] = {"model.", "transformer.", "gpt_neox."};

/* With a prefix that files of whole models have, or without it. */
static const hn_st_tensor *tensor_of(const hn_safetensors *s, const char *name) {
    char full[160];
    const hn_st_tensor *t = hn_safetensors_named(s, name);
    for (size_t i = 0; !t && i < sizeof prefix / sizeof *prefix; i++) {
        snprintf(full, sizeof full, "%s%s", prefix[i], name);
        t = hn_safetensors_named(s, full);
    }
    return t;
}

static void mark_used(held *h, const hn_st_tensor *t) { h->used[t - hn_safetensors_at(h->file, 0)] = true; }

static hn_val factors(const held *h, hn_builder *b, bool far) {
    int64_t half = h->config.d.rotary / 2;
    hn_tensor c = {.dtype = HONE_F32, .rank = 1, .dim = {half}};
    if (!h->config.rotary_factors) return 0;
    c.data = h->config.rotary_factors + (far ? half : 0);
    return hn_const(b, &c);
}

static hn_val refuse_type(hn_builder *b, const hn_st_tensor *t) {
    return hn_graph_fail(b->g, HONE_E_UNSUPPORTED,
                         "%s: tensor '%s' is of type %s, whose values are not read; convert it to BF16, F16 or F32",
                         t->file, t->name, t->type);
}

static hn_weight weight_of(const hn_st_tensor *t) {
    return (hn_weight){t->name, hn_block_type_named(t->type), t->data, t->rank, t->dim, t->n_elements};
}

/* Experts' matrices, which files have one by one, as one. */
static hn_val stacked(held *h, hn_builder *b, hn_decoder_role role, int64_t layer) {
    char name[128];
    uint64_t n = (uint64_t)h->config.d.experts;
    hn_weight *part = hn_alloc_n(&b->g->arena, n + 1, sizeof *part);
    for (uint64_t e = 0; part && e < n; e++) {
        hn_hf_tensor(h->config.arch, role, layer, (int64_t)e, name, sizeof name);
        const hn_st_tensor *t = tensor_of(h->file, name);
        if (!t) return 0;
        if (!read_type(t->type)) return refuse_type(b, t);
        part[e] = weight_of(t);
        mark_used(h, t);
    }
    return part && n ? hn_weight_stack(&h->weights, b, part, n, HN_FLOAT) : 0;
}

/* Joint rows in the order of all other families: queries of all heads, keys, values. */
static hn_val by_parts(held *h, hn_builder *b, hn_weight *w) {
    const hn_decoder *d = &h->config.d;
    uint64_t rows = (uint64_t)(3 * d->heads * d->head_size);
    if (w->dim[0] != rows || d->kv_heads != d->heads)
        return hn_graph_fail(b->g, HONE_E_INPUT,
                             "tensor '%s' has %" PRIu64 " rows; %" PRIu64 " are meant, three of each head's elements",
                             w->name, w->dim[0], rows);
    uint64_t size_b = w->n_elements / rows * w->type->size_b;
    uint8_t *to = hn_weights_room(&h->weights, rows * size_b);
    if (!to) return hn_graph_fail(b->g, HONE_E_NOMEM, "out of memory for the weights '%s'", w->name);
    uint64_t part_b = (uint64_t)d->head_size * size_b, heads = (uint64_t)d->heads;
    for (uint64_t i = 0; i < 3 * heads; i++)
        memcpy(to + (i % 3 * heads + i / 3) * part_b, (const uint8_t *)w->data + i * part_b, part_b);
    w->data = to;
    return 0;
}

static hn_val weight(void *arg, hn_builder *b, hn_decoder_role role, int64_t layer) {
    held *h = arg;
    char name[128];
    if (role == HN_ROLE_ROTARY_SHORT || role == HN_ROLE_ROTARY_LONG) return factors(h, b, role == HN_ROLE_ROTARY_LONG);
    if (hn_hf_of_experts(h->config.arch, role)) return stacked(h, b, role, layer);
    hn_hf_tensor(h->config.arch, role, layer, 0, name, sizeof name);
    const hn_st_tensor *t = name[0] ? tensor_of(h->file, name) : NULL;
    if (role == HN_ROLE_OUTPUT && t && h->config.tied) mark_used(h, t);
    if (role == HN_ROLE_OUTPUT && h->config.tied) return 0;
    if (role == HN_ROLE_OUTPUT && !t)
        return hn_graph_fail(b->g, HONE_E_INPUT,
                             "there is no tensor '%s', and config.json does not tie the head to the "
                             "embedding ('tie_word_embeddings')",
                             name);
    if (!t) return 0;
    if (!read_type(t->type)) return refuse_type(b, t);
    if (t->rank > HN_RANK_MAX) return hn_graph_fail(b->g, HONE_E_UNSUPPORTED, "tensor '%s' has too many axes", t->name);
    mark_used(h, t);
    hn_weight w = weight_of(t);
    bool joint = role == HN_ROLE_QUERY_KEY_VALUE || role == HN_ROLE_QUERY_KEY_VALUE_BIAS;
    if (h->config.arch->head_by_head && joint && t->rank) by_parts(h, b, &w);
    if (!hn_graph_ok(b->g)) return 0;
    bool transposed = t->rank == 2 && hn_hf_transposed(h->config.arch, role);
    hn_val v = transposed ? 0 : hn_weight_packed(b, &w, HN_FLOAT);
    if (!v) v = hn_weight_floats(&h->weights, b, &w, h->config.arch->norms_from_one && is_norm(role) ? 1.0f : 0);
    return v && transposed ? hn_swap(b, v, 0, 1) : v;
}

static const char *bare(const char *name) {
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
        if (hn_starts_with(name, prefix[i])) return name + strlen(prefix[i]);
    return name;
}

/* Every tensor must have been asked for: one that was not is a part of the model that is not understood. */
static hone_rc all_used(const held *h, const char *label, hn_str *lines, hone_err *err) {
    size_t left = 0;
    const char *first = NULL;
    for (size_t i = 0; i < hn_safetensors_count(h->file); i++) {
        const char *name = hn_safetensors_at(h->file, i)->name;
        if (h->used[i] || hn_hf_ignored(h->config.arch, bare(name))) continue;
        if (!left++) first = name;
        hn_str_addf(lines, "tensor '%s': its part in the model is not known\n", name);
    }
    if (!left) return HONE_OK;
    return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' has %zu tensors whose part in the model is not known, the first '%s'",
                   label, left, first);
}

/* The folder's files. */
static hone_rc open_folder(const hn_front_source *from, hn_safetensors **file, hn_hf_config *config, hn_str *lines,
                           hone_err *err) {
    json_t *j = NULL;
    size_t n;
    if (!from->path)
        return hn_fail(err, HONE_E_USAGE, "safetensors in memory are weights alone; name the model's folder");
    if (hn_exists(from->path) && !hn_is_folder(from->path))
        return hn_fail(err, HONE_E_USAGE,
                       "'%s' has weights alone; name its folder, in which config.json says what they are", from->path);
    hone_rc rc = hn_json_read(from->path, "config.json", &j, err);
    if (!rc) rc = hn_hf_config_read(j, from->path, config, lines, &n, err);
    json_decref(j);
    return rc ? rc : hn_safetensors_open(from->path, file, err);
}

/* Symbols of the graph are fixed or bounded by the user as those of any model. */
static hone_rc build(const hn_front_source *from, hn_cache cache, held *h, hn_graph *g, hn_str *lines, hone_err *err) {
    hn_decoder d;
    hone_rc rc = open_folder(from, &h->file, &h->config, lines, err);
    if (rc) return rc;
    if (!(h->used = calloc(hn_safetensors_count(h->file) + 1, sizeof *h->used)))
        return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", from->path);
    d = h->config.d;
    d.weight = weight;
    d.arg = h;
    d.cache = cache;
    rc = hn_decoder_emit(g, &d, err);
    return rc ? rc : all_used(h, from->path, lines, err);
}

static hone_rc import(const hn_front_source *from, const hone_import_options *options, hone_graph **out, char **report,
                      hone_err *err) {
    hone_err own = {0};
    hn_str lines = {0};
    held *h = calloc(1, sizeof *h);
    hn_cache cache = HN_CACHE_GROWN;
    hn_graph *g = hn_graph_new();
    hone_rc rc = h && g ? HONE_OK : hn_fail(&own, HONE_E_NOMEM, "out of memory reading '%s'", hn_front_label(from));
    if (!rc && options->n_symbol)
        rc = hn_fail(&own, HONE_E_USAGE, "'%s': sizes of a language model cannot be fixed yet; leave --symbol out",
                     hn_front_label(from));
    if (!rc) rc = hn_cache_named(options->cache, &cache, &own);
    if (!rc) rc = build(from, cache, h, g, &lines, &own);
    if (lines.n) *report = hn_str_take(&lines);
    hn_str_free(&lines);
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

/* --- inspecting ------------------------------------------------------------------------------------------------------
 */

static void count_types(hn_model_summary *s, const hn_safetensors *f) {
    hn_str text = {0};
    bool *seen = calloc(hn_safetensors_count(f) + 1, sizeof *seen), any = false;
    hn_str_add(&s->facts, "\"types\":{");
    for (size_t i = 0; seen && i < hn_safetensors_count(f); i++) {
        const char *type = hn_safetensors_at(f, i)->type;
        uint64_t n = 0, size_b = 0;
        if (seen[i]) continue;
        for (size_t k = i; k < hn_safetensors_count(f); k++) {
            const hn_st_tensor *t = hn_safetensors_at(f, k);
            if (t->type != type) continue;
            seen[k] = true;
            n++;
            size_b += t->size_b;
        }
        hn_str_addf(&s->facts, "%s\"%s\":{\"tensors\":%" PRIu64 ",\"size_b\":%" PRIu64 "}", any ? "," : "", type, n,
                    size_b);
        hn_str_addf(&text, "%s%s in %" PRIu64 " (%.1f MiB)", any ? ", " : "", type, n, (double)size_b / 0x1p20);
        any = true;
    }
    free(seen);
    hn_str_add(&s->facts, "},");
    if (text.text) hn_summary_about(s, "types", hn_strdup(&s->arena, text.text));
    hn_str_free(&text);
}

static void say_sizes(hn_model_summary *s, const hn_hf_config *c, const hn_safetensors *f) {
    hn_decoder_cost cost = {0};
    for (size_t i = 0; i < hn_safetensors_count(f); i++) {
        const hn_st_tensor *t = hn_safetensors_at(f, i);
        hn_decoder_role role = hn_hf_role(c->arch, bare(t->name));
        if (role == HN_ROLES || (role == HN_ROLE_OUTPUT && c->tied)) continue;
        hn_decoder_count(&cost, &c->d, role, c->tied, t->size_b, t->n_elements, t->rank > 1);
    }
    hn_summary_decoder(s, &c->d, &cost);
}

static hone_rc inspect(const hn_front_source *from, hn_model_summary *s, hone_err *err) {
    hn_safetensors *f = NULL;
    hn_hf_config c = {0};
    hn_str lines = {0};
    hone_err why = {0};
    hone_rc rc = open_folder(from, &f, &c, &lines, &why); /* a configuration that is not read still has tensors */
    hn_str_free(&lines);
    if (rc && !f)
        rc = from->path && hn_is_folder(from->path) ? hn_safetensors_open(from->path, &f, err)
                                                    : hn_fail(err, rc, "%s", why.text);
    if (!f) return rc;
    hn_str_addf(&s->facts, "\"size_b\":%" PRIu64 ",", hn_safetensors_size_b(f));
    if (c.arch) {
        hn_summary_fact(s, "family", c.arch->type);
        hn_summary_about(s, "family", c.arch->type);
    }
    count_types(s, f);
    if (c.arch) say_sizes(s, &c, f);
    for (size_t i = 0; i < hn_safetensors_count(f); i++) s->n_elements += hn_safetensors_at(f, i)->n_elements;
    s->n_tensors = hn_safetensors_count(f);
    hn_safetensors_close(f);
    free(c.rotary_factors);
    return hn_arena_ok(&s->arena) ? HONE_OK
                                  : hn_fail(err, HONE_E_NOMEM, "out of memory looking at '%s'", hn_front_label(from));
}

static bool sniff(const void *head, size_t n) { return hn_safetensors_sniff(head, n); }

static bool in_folder(const char *path) {
    char *config = hn_path_join(path, "config.json");
    bool there = config && hn_exists(config);
    free(config);
    return there || hn_safetensors_are_in(path);
}

const hn_front hn_front_hf = {"hf", "Hugging Face model", ".safetensors", sniff, import, inspect, in_folder};
