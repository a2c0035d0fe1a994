/* tokenizer_json.c — tokenizer.json as a tokenizer's spec. */
#include "hf/tokenizer_json.h"
#include "base/err.h"
#include "base/fs.h"
#include "hf/tokenizer_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hn_tokenizer_refuse(hn_tokenizer_reading *r, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hn_str_addf(&r->lines, "%s%s", r->n_lines++ ? "; " : "", text);
}

void hn_tokenizer_add_step(hn_tokenizer_reading *r, hn_text_step step) {
    if (r->n_step == r->step_room) {
        size_t room = r->step_room ? 2 * r->step_room : 16;
        hn_text_step *more = HN_NEW_N(&r->arena, hn_text_step, room);
        if (!more) return;
        if (r->n_step) memcpy(more, r->step, r->n_step * sizeof *more);
        r->step = more;
        r->step_room = room;
    }
    r->step[r->n_step++] = step;
}

/* --- special tokens --------------------------------------------------------------------------------------------------
 */

/* "<s>" or {"content": "<s>"} of tokenizer_config.json, else the id of another file; -1: none. */
static int32_t special(const hn_tokenizer_reading *r, const json_t *config, const char *key, const json_t *id) {
    const json_t *j = hn_json_in(config, key), *content = json_object_get(j, "content");
    const char *name = json_string_value(content ? content : j);
    size_t at = name ? (size_t)(uintptr_t)hn_names_get(&r->id, name) : 0;
    if (at) return (int32_t)(at - 1);
    if (json_is_array(id)) id = json_array_get(id, 0);
    bool fine =
        !name && json_is_integer(id) && json_integer_value(id) >= 0 && (size_t)json_integer_value(id) < r->spec.n;
    return fine ? (int32_t)json_integer_value(id) : -1;
}

/* A number or a list of them; those beyond the vocabulary are left out. */
static void add_ends(hn_tokenizer_reading *r, int32_t *end, size_t room, const json_t *ids) {
    size_t n = json_is_array(ids) ? json_array_size(ids) : 1;
    for (size_t i = 0; ids && i < n && r->spec.n_end < room; i++) {
        const json_t *id = json_is_array(ids) ? json_array_get(ids, i) : ids;
        json_int_t x = json_is_integer(id) ? json_integer_value(id) : -1;
        if (x >= 0 && (size_t)x < r->spec.n) end[r->spec.n_end++] = (int32_t)x;
    }
}

typedef struct files {
    json_t *tokenizer, *config, *generation, *model;
    hone_rc (*use)(void *arg, const hn_tokenizer_spec *s, const hn_tokenizer *t, hone_err *err); /* NULL: none */
    void *arg;
} files;

enum { ENDS = 64 };

static hone_rc make(hn_tokenizer_reading *r, const files *f, hn_tokenizer **out, hone_err *err) {
    int32_t end[ENDS];
    const json_t *t = f->tokenizer, *bos = hn_json_in(f->generation, "bos_token_id"),
                 *eos = hn_json_in(f->generation, "eos_token_id"), *eos_model = hn_json_in(f->model, "eos_token_id");
    hn_tokenizer_spec *s = &r->spec;
    hn_tokenizer_read_normalizer(r, hn_json_in(t, "normalizer"));
    hn_tokenizer_read_pre_tokenizer(r, hn_json_in(t, "pre_tokenizer"));
    hone_rc rc = hn_tokenizer_read_model(r, json_object_get(t, "model"), json_object_get(t, "added_tokens"), err);
    if (rc) return rc;
    hn_tokenizer_read_post_processor(r, hn_json_in(t, "post_processor"));
    hn_tokenizer_read_decoder(r, hn_json_in(t, "decoder"));
    if (!hn_arena_ok(&r->arena) || r->lines.failed)
        return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", r->label);
    if (r->n_lines) return hn_fail(err, HONE_E_UNSUPPORTED, "%s: not read: %s", r->label, r->lines.text);
    static const hn_text_step none = {.kind = HN_STEP_NFC};
    s->step = r->n_step ? r->step : &none; /* also without steps this is no tokenizer of a named pattern */
    s->n_step = r->n_step;
    s->bos = special(r, f->config, "bos_token", bos ? bos : hn_json_in(f->model, "bos_token_id"));
    s->eos = special(r, f->config, "eos_token", eos ? eos : eos_model);
    s->padding = special(r, f->config, "pad_token", NULL);
    add_ends(r, end, ENDS, eos);
    add_ends(r, end, ENDS, eos_model);
    s->end = end;
    hone_err own = {0};
    rc = hn_tokenizer_make(s, out, &own);
    if (rc) return hn_fail(err, rc, "%s: %s", r->label, own.text);
    if (f->use && (rc = f->use(f->arg, s, *out, err))) {
        hn_tokenizer_free(*out);
        *out = NULL;
    }
    return rc;
}

static hone_rc read_all(const char *label, const files *f, hn_tokenizer **out, hone_err *err) {
    hn_tokenizer_reading r = {.label = label};
    hone_rc rc = make(&r, f, out, err);
    hn_str_free(&r.lines);
    hn_arena_free(&r.arena);
    return rc;
}

hone_rc hn_hf_tokenizer_parse(const char *text, size_t n, hn_tokenizer **out, hone_err *err) {
    files f = {0};
    hone_rc rc = hn_json_parse(text, n, "tokenizer.json", &f.tokenizer, err);
    if (!rc) rc = read_all("tokenizer.json", &f, out, err);
    json_decref(f.tokenizer);
    return rc;
}

/* A file that need not be there. */
static hone_rc read_more(const char *folder, const char *name, json_t **out, hone_err *err) {
    hone_err own = {0};
    hone_rc rc = hn_json_read(folder, name, out, &own);
    return !rc || rc == HONE_E_NOTFOUND ? HONE_OK : hn_fail(err, rc, "%s", own.text);
}

static hone_rc read_folder(const char *folder, files f, hn_tokenizer **out, hone_err *err) {
    char *path = hn_path_join(folder, "tokenizer.json");
    hone_rc rc = path ? hn_json_read(folder, "tokenizer.json", &f.tokenizer, err)
                      : hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", folder);
    if (!rc) rc = read_more(folder, "tokenizer_config.json", &f.config, err);
    if (!rc) rc = read_more(folder, "generation_config.json", &f.generation, err);
    if (!rc) rc = read_more(folder, "config.json", &f.model, err);
    if (!rc) rc = read_all(path, &f, out, err);
    json_decref(f.tokenizer);
    json_decref(f.config);
    json_decref(f.generation);
    json_decref(f.model);
    free(path);
    return rc;
}

hone_rc hn_hf_tokenizer(const char *folder, hn_tokenizer **out, hone_err *err) {
    return read_folder(folder, (files){0}, out, err);
}

hone_rc hn_hf_tokenizer_use(const char *folder,
                            hone_rc (*use)(void *arg, const hn_tokenizer_spec *s, const hn_tokenizer *t, hone_err *err),
                            void *arg, hone_err *err) {
    hn_tokenizer *t = NULL;
    hone_rc rc = read_folder(folder, (files){.use = use, .arg = arg}, &t, err);
    hn_tokenizer_free(t);
    return rc;
}

/* --- chat template ---------------------------------------------------------------------------------------------------
 */

/* A text, or a list of named ones, of which the one called default is meant. */
static const json_t *template_in(const json_t *config) {
    const json_t *j = hn_json_in(config, "chat_template"), *one;
    size_t i;
    if (!json_is_array(j)) return j;
    json_array_foreach(j, i, one) {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && !strcmp(name, "default")) return json_object_get(one, "template");
    }
    return NULL;
}

hone_rc hn_hf_chat_template(const char *folder, char **out, size_t *n, hone_err *err) {
    static const char *const in[] = {"chat_template.json", "tokenizer_config.json"};
    char *path = hn_path_join(folder, "chat_template.jinja");
    hone_rc rc = path ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", folder);
    *out = NULL;
    *n = 0;
    if (!rc && hn_exists(path)) rc = hn_read_file(path, out, n, err);
    free(path);
    for (size_t i = 0; !rc && !*out && i < sizeof in / sizeof *in; i++) {
        json_t *config = NULL;
        rc = read_more(folder, in[i], &config, err);
        hn_span text = rc ? (hn_span){0} : hn_json_span(template_in(config));
        if (text.n && !(*out = strndup(text.text, *n = text.n)))
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", folder);
        json_decref(config);
    }
    return rc;
}
