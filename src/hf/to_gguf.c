/* to_gguf.c — numbers, names and tokens of a folder, written as GGUF has them. */
#include "hf/to_gguf.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "gguf/arch.h"
#include "hf/config.h"
#include "hf/json.h"
#include "hf/safetensors.h"
#include "hf/tokenizer_json.h"
#include "ir/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hn_hf_gguf {
    const char *folder;
    hn_arena arena;
    hn_safetensors *file;
    hn_hf_config config;
    hn_hf_gguf_tensor *tensor;
    size_t n, room;
    float *factors; /* of rotary speeds; in the arena */
};

/* --- tensors ---------------------------------------------------------------------------------------------------------
 */

static const hn_st_tensor *tensor_of(const hn_hf_gguf *h, hn_decoder_role role, int64_t layer) {
    char name[128], full[160];
    hn_hf_tensor(h->config.arch, role, layer, 0, name, sizeof name);
    if (!name[0]) return NULL;
    const hn_st_tensor *t = hn_safetensors_named(h->file, name);
    snprintf(full, sizeof full, "model.%s", name);
    return t ? t : hn_safetensors_named(h->file, full);
}

static hn_hf_gguf_tensor *add(hn_hf_gguf *h, hn_decoder_role role, int64_t layer) {
    char name[128];
    if (h->n == h->room) {
        size_t room = h->room ? 2 * h->room : 256;
        hn_hf_gguf_tensor *more = realloc(h->tensor, room * sizeof *more);
        if (!more) return NULL;
        h->tensor = more;
        h->room = room;
    }
    hn_arch_tensor(role, layer, name, sizeof name);
    hn_hf_gguf_tensor *out = &h->tensor[h->n];
    *out = (hn_hf_gguf_tensor){.t.name = hn_strdup(&h->arena, name)};
    return out->t.name ? &h->tensor[h->n++] : NULL;
}

static hone_rc put_tensor(hn_hf_gguf *h, hn_decoder_role role, int64_t layer, const hn_st_tensor *t, hone_err *err) {
    const hn_decoder *d = &h->config.d;
    const hn_block_type *type = hn_block_type_named(t->type);
    bool turned = role == HN_ROLE_QUERY || role == HN_ROLE_KEY;
    if (!type || !type->decode || type->elements > 1 || t->rank < 1 || t->rank > 2)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "%s: tensor '%s' is of type %s with %zu axes; F32, F16 and BF16 with one or two are read",
                       t->file, t->name, t->type, t->rank);
    if (turned && (t->rank != 2 || t->dim[0] % (uint64_t)d->head_size))
        return hn_fail(err, HONE_E_INPUT, "%s: tensor '%s' is no whole number of heads of %" PRId64, t->file, t->name,
                       d->head_size);
    hn_hf_gguf_tensor *out = add(h, role, layer);
    if (!out) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", h->folder);
    out->t.type = type->id;
    out->t.rank = t->rank;
    for (size_t i = 0; i < t->rank; i++) out->t.dim[i] = t->dim[i];
    out->t.n_elements = t->n_elements;
    out->t.size_b = t->size_b;
    out->t.data = t->data;
    if (turned && hn_arch_named(h->config.arch->gguf, strlen(h->config.arch->gguf))->interleaved)
        out->head = (uint64_t)d->head_size;
    return HONE_OK;
}

/* By how much each speed is divided, where that differs from pair to pair. */
static hone_rc put_factors(hn_hf_gguf *h, hone_err *err) {
    const hn_decoder *d = &h->config.d;
    size_t n = (size_t)d->rotary / 2;
    if (d->rotary_scaling.kind != HN_ROTARY_WAVELENGTH) return HONE_OK;
    float *x = h->factors = hn_alloc_n(&h->arena, n, sizeof *x);
    hn_hf_gguf_tensor *out = x ? add(h, HN_ROLE_ROTARY_FACTORS, 0) : NULL;
    if (!out) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", h->folder);
    hn_rotary_speeds(&d->rotary_scaling, d->rotary_base, d->rotary_scale, (double)d->context, d->rotary, x);
    for (size_t k = 0; k < n; k++)
        x[k] = (float)(pow(d->rotary_base, -2.0 * (double)k / (double)d->rotary) / (double)x[k]);
    out->t.type = hn_block_type_named("F32")->id;
    out->t.rank = 1;
    out->t.dim[0] = out->t.n_elements = n;
    out->t.size_b = n * sizeof *x;
    out->t.data = (const uint8_t *)x;
    return HONE_OK;
}

static bool of_the_model(hn_decoder_role role) {
    return role == HN_ROLE_EMBEDDING || role == HN_ROLE_OUTPUT_NORM || role == HN_ROLE_OUTPUT;
}

/* Roles that must be there are known by what reads the graph; here, each tensor of the folder must have a role. */
static hone_rc put_tensors(hn_hf_gguf *h, hone_err *err) {
    size_t used = 0, ignored = 0, n = hn_safetensors_count(h->file);
    hone_rc rc = put_factors(h, err);
    for (int role = 0; role < HN_ROLES; role++)
        for (int64_t l = 0; !rc && l < (of_the_model(role) ? 1 : h->config.d.layers); l++) {
            const hn_st_tensor *t = tensor_of(h, role, l);
            if (!t) continue;
            used++;
            if (role == HN_ROLE_OUTPUT && h->config.tied) continue;
            rc = put_tensor(h, role, l, t, err);
        }
    for (size_t i = 0; i < n; i++) {
        const char *name = hn_safetensors_at(h->file, i)->name;
        ignored += hn_hf_ignored(h->config.arch, strncmp(name, "model.", 6) ? name : name + 6);
    }
    if (rc || used + ignored == n) return rc;
    return hn_fail(err, HONE_E_UNSUPPORTED,
                   "'%s': %zu of %zu tensors have a part in the model that is not known; `hone inspect` lists them",
                   h->folder, n - used - ignored, n);
}

static hone_rc check_family(const hn_hf_gguf *h, hone_err *err) {
    static const char *const families[] = {"llama", "mistral", "qwen2", "qwen3"};
    const hn_decoder *d = &h->config.d;
    bool known = false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        known = known || !strcmp(h->config.arch->type, families[i]);
    const char *what = !known                      ? "folders of llama, mistral, qwen2 and qwen3 are"
                       : d->window                 ? "models with a window are not"
                       : d->rotary != d->head_size ? "models that turn a part of each head are not"
                       : d->experts                ? "models with experts are not"
                       : d->rotary_scaling.kind != HN_ROTARY_LINEAR && d->rotary_scaling.kind != HN_ROTARY_WAVELENGTH
                           ? "this scaling of rotary positions is not"
                           : NULL;
    return what ? hn_fail(err, HONE_E_UNSUPPORTED, "'%s' (%s) cannot be written as GGUF: %s", h->folder,
                          h->config.arch->type, what)
                : HONE_OK;
}

hone_rc hn_hf_gguf_open(const char *folder, hn_hf_gguf **out, hone_err *err) {
    hn_hf_gguf *h = calloc(1, sizeof *h);
    json_t *j = NULL;
    hn_str lines = {0};
    size_t n;
    if (!h) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", folder);
    h->folder = folder;
    hone_rc rc = hn_json_read(folder, "config.json", &j, err);
    if (!rc) rc = hn_hf_config_read(j, folder, &h->config, &lines, &n, err);
    if (!rc) rc = check_family(h, err);
    if (!rc) rc = hn_safetensors_open(folder, &h->file, err);
    if (!rc) rc = put_tensors(h, err);
    hn_str_free(&lines);
    json_decref(j);
    if (rc)
        hn_hf_gguf_close(h);
    else
        *out = h;
    return rc;
}

void hn_hf_gguf_close(hn_hf_gguf *h) {
    if (!h) return;
    free(h->config.rotary_factors);
    free(h->tensor);
    hn_safetensors_close(h->file);
    hn_arena_free(&h->arena);
    free(h);
}

size_t hn_hf_gguf_tensors(const hn_hf_gguf *h) { return h->n; }
const hn_hf_gguf_tensor *hn_hf_gguf_tensor_at(const hn_hf_gguf *h, size_t i) { return &h->tensor[i]; }
int64_t hn_hf_gguf_layers(const hn_hf_gguf *h) { return h->config.d.layers; }
uint64_t hn_hf_gguf_size_b(const hn_hf_gguf *h) { return hn_safetensors_size_b(h->file); }

/* --- keys ------------------------------------------------------------------------------------------------------------
 */

static void put_numbers(const hn_hf_gguf *h, hn_gguf_writer *w) {
    const hn_decoder *d = &h->config.d;
    const char *arch = h->config.arch->gguf;
    char key[96];
    const struct {
        const char *name;
        int64_t value;
    } count[] = {{"block_count", d->layers},
                 {"context_length", d->context},
                 {"embedding_length", d->width},
                 {"feed_forward_length", d->mlp},
                 {"attention.head_count", d->heads},
                 {"attention.head_count_kv", d->kv_heads},
                 {"attention.key_length", d->head_size},
                 {"attention.value_length", d->head_size},
                 {"rope.dimension_count", d->rotary},
                 {"vocab_size", d->vocabulary}};
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        snprintf(key, sizeof key, "%s.%s", arch, count[i].name);
        hn_gguf_put_u32(w, key, (uint32_t)count[i].value);
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", arch);
    hn_gguf_put_f32(w, key, (float)d->norm_epsilon);
    snprintf(key, sizeof key, "%s.rope.freq_base", arch);
    hn_gguf_put_f32(w, key, (float)d->rotary_base);
    if (d->rotary_scaling.kind != HN_ROTARY_LINEAR || !(d->rotary_scale > 0)) return;
    snprintf(key, sizeof key, "%s.rope.scaling.type", arch);
    hn_gguf_put_text(w, key, "linear", 6);
    snprintf(key, sizeof key, "%s.rope.scaling.factor", arch);
    hn_gguf_put_f32(w, key, (float)d->rotary_scale);
}

/* --- the tokenizer ---------------------------------------------------------------------------------------------------
 */

/* Words, numbers of every length, capitals, endings, spaces, lines, marks and scripts: patterns differ in these. */
static const char probe[] = "Hello World HELLOWorld camelCase it's IT'S we'Ll don't 1 12 123 1234 12345678 3.14 "
                            "a1b22c333 x=y+z; foo_bar(baz)\n\n"
                            "\t\ttab  two   three    \n  \r\n line\n\n\n!!! ...??? -- --- /path/to/file.txt "
                            "http://a.b/c?d=e&f #tag @name $5.00 50%\n"
                            "\xc3\xa9t\xc3\xa9 na\xc3\xafve \xc3\x9c"
                            "ber \xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82 "
                            "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c\xe3\x80\x82 \xe3\x81\x8b\xe3\x81\xaa "
                            "\xf0\x9f\x98\x80\xf0\x9f\x91\x8d \xd9\xa1\xd9\xa2\xd9\xa3\xd9\xa4 "
                            "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4\xe0\xa5\x87 end";

static bool same_tokens(const hn_tokenizer *a, const hn_tokenizer *b) {
    int32_t *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    bool same = !hn_tokenizer_encode(a, probe, sizeof probe - 1, false, false, &x, &n, NULL) &&
                !hn_tokenizer_encode(b, probe, sizeof probe - 1, false, false, &y, &m, NULL) && n == m &&
                (!n || !memcmp(x, y, n * sizeof *x));
    free(x);
    free(y);
    return same;
}

static bool cuts_alike(const hn_tokenizer_spec *s, const hn_tokenizer *t, const char *pattern) {
    hn_tokenizer_spec plain = {.kind = s->kind,
                               .n = s->n,
                               .token = s->token,
                               .type = s->type,
                               .n_merge = s->n_merge,
                               .merge = s->merge,
                               .merge_at = s->merge_at,
                               .pattern = pattern,
                               .bos = -1,
                               .eos = -1,
                               .unknown = -1,
                               .padding = -1,
                               .whole_first = !strcmp(pattern, "llama-bpe")};
    hn_tokenizer *other = NULL;
    if (hn_tokenizer_make(&plain, &other, NULL)) return false;
    bool same = same_tokens(t, other);
    hn_tokenizer_free(other);
    return same;
}

/* The name of the pattern with which the same vocabulary and merges give the same tokens, that of the family first,
 * since a vocabulary may not tell all apart; NULL: there is none. */
static const char *pattern_of(const hn_tokenizer_spec *s, const hn_tokenizer *t, const char *arch) {
    const char *name, *usual = !strncmp(arch, "qwen", 4) ? "qwen2" : "llama-bpe";
    if (cuts_alike(s, t, usual)) return usual;
    for (size_t i = 0; (name = hn_tokenizer_pattern(i)); i++)
        if (cuts_alike(s, t, name)) return name;
    return NULL;
}

/* Whether a framed text begins, or ends, with this token. */
static bool framed_by(const hn_tokenizer *t, int32_t token, bool end) {
    int32_t *id = NULL;
    size_t n = 0;
    bool found = token >= 0 && !hn_tokenizer_encode(t, "a", 1, true, false, &id, &n, NULL) && n > 1 &&
                 id[end ? n - 1 : 0] == token;
    free(id);
    return found;
}

static void put_id(hn_gguf_writer *w, const char *key, int32_t id) {
    if (id >= 0) hn_gguf_put_u32(w, key, (uint32_t)id);
}

typedef struct putting {
    const hn_hf_gguf *h;
    hn_gguf_writer *w;
} putting;

/* "left right" */
static hn_gguf_text merge_text(const hn_tokenizer_spec *s, size_t i, hn_arena *scratch) {
    const hn_span *m = &s->merge[i];
    size_t left = s->merge_at ? s->merge_at[i] : 0;
    if (!s->merge_at) return (hn_gguf_text){m->text, m->n};
    return (hn_gguf_text){hn_format(scratch, "%.*s %.*s", (int)left, m->text, (int)(m->n - left), m->text + left),
                          m->n + 1};
}

/* Logits that no token has get names, as other converters give them. */
static hone_rc put_tokens(putting *p, const hn_tokenizer_spec *s, hone_err *err) {
    size_t n = (size_t)p->h->config.d.vocabulary;
    hn_arena scratch = {0};
    hn_gguf_text *token = HN_NEW_N(&scratch, hn_gguf_text, n + 1),
                 *merge = HN_NEW_N(&scratch, hn_gguf_text, s->n_merge + 1);
    int32_t *type = HN_NEW_N(&scratch, int32_t, n + 1);
    bool fits = s->n <= n;
    for (size_t i = 0; fits && token && type && i < n; i++) {
        bool there = i < s->n && s->token[i].n;
        const char *name = there ? s->token[i].text : hn_format(&scratch, "[PAD%zu]", i);
        token[i] = (hn_gguf_text){name, there ? s->token[i].n : name ? strlen(name) : 0};
        type[i] = !there ? HN_TOKEN_UNUSED : s->type ? s->type[i] : HN_TOKEN_NORMAL;
    }
    for (size_t i = 0; merge && i < s->n_merge; i++) merge[i] = merge_text(s, i, &scratch);
    bool good = fits && hn_arena_ok(&scratch);
    if (good) {
        hn_gguf_put_texts(p->w, "tokenizer.ggml.tokens", token, n);
        hn_gguf_put_i32s(p->w, "tokenizer.ggml.token_type", type, n);
        hn_gguf_put_texts(p->w, "tokenizer.ggml.merges", merge, s->n_merge);
    }
    hn_arena_free(&scratch);
    if (!fits)
        return hn_fail(err, HONE_E_INPUT, "'%s' has %zu tokens, but logits for %zu; its tokenizer is another model's",
                       p->h->folder, s->n, n);
    return good ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", p->h->folder);
}

static hone_rc put_tokenizer(void *arg, const hn_tokenizer_spec *s, const hn_tokenizer *t, hone_err *err) {
    putting *p = arg;
    const char *pattern =
        s->kind == HN_TOKENIZER_BPE && !s->characters ? pattern_of(s, t, p->h->config.arch->gguf) : NULL;
    if (!pattern)
        return hn_fail(
            err, HONE_E_UNSUPPORTED,
            "'%s': its tokenizer cannot be written as GGUF: byte-level pairs with the cuts of a known model are",
            p->h->folder);
    hn_gguf_put_text(p->w, "tokenizer.ggml.model", "gpt2", 4);
    hn_gguf_put_text(p->w, "tokenizer.ggml.pre", pattern, strlen(pattern));
    hone_rc rc = put_tokens(p, s, err);
    put_id(p->w, "tokenizer.ggml.bos_token_id", s->bos);
    put_id(p->w, "tokenizer.ggml.eos_token_id", s->eos);
    put_id(p->w, "tokenizer.ggml.padding_token_id", s->padding);
    hn_gguf_put_bool(p->w, "tokenizer.ggml.add_bos_token", framed_by(t, s->bos, false));
    hn_gguf_put_bool(p->w, "tokenizer.ggml.add_eos_token", framed_by(t, s->eos, true));
    return rc;
}

hone_rc hn_hf_gguf_put_keys(const hn_hf_gguf *h, hn_gguf_writer *w, hone_err *err) {
    putting p = {h, w};
    char *template = NULL;
    size_t n = 0;
    const char *arch = h->config.arch->gguf, *end = h->folder + strlen(h->folder), *name;
    while (end > h->folder && end[-1] == '/') end--;
    for (name = end; name > h->folder && name[-1] != '/'; name--) {
    }
    hn_gguf_put_text(w, "general.architecture", arch, strlen(arch));
    hn_gguf_put_text(w, "general.name", name, (size_t)(end - name));
    put_numbers(h, w);
    hone_rc rc = hn_hf_tokenizer_use(h->folder, put_tokenizer, &p, err);
    if (rc == HONE_E_NOTFOUND) rc = HONE_OK; /* a model without a tokenizer */
    if (!rc) rc = hn_hf_chat_template(h->folder, &template, &n, err);
    if (!rc && template) hn_gguf_put_text(w, "tokenizer.chat_template", template, n);
    free(template);
    return rc;
}
