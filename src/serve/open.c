/* open.c — a model of any kind is opened to be served; what has no library yet is compiled. */
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "language/language_int.h"
#include "serve/engine.h"

#include <dlfcn.h>
#include <hone/compile.h>
#include <hone/import.h>
#include <hone/rollout.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hone_rc open_text(hn_served *m, const hone_serve_options *o, hone_err *err) {
    hone_text_options t = hone_text_defaults();
    t.n_threads = o->n_threads;
    t.context = o->context;
    t.cached_tokens = o->cached_tokens;
    t.kept_tokens = o->kept_tokens;
    t.cache = o->cache;
    t.exact = o->exact;
    t.no_parity = o->no_parity;
    t.stop = o->stop;
    m->language = true;
    return hone_text_open(m->path, &t, &m->text, err);
}

static hone_rc compile(const hn_served *m, const hone_serve_options *o, char **path, hone_err *err) {
    hone_compile_options c = hone_compile_defaults();
    hone_compile_result result = {0};
    char *cache = hn_cache_dir(), *folder = NULL, key[33];
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, m->path);
    hn_hash_text(&h, m->version);
    hn_hash_end(&h, key);
    hone_rc rc = HONE_OK;
    if (!cache || asprintf(&folder, "%s/serve/%s", cache, key) < 0 || asprintf(path, "%s/model.so", folder) < 0)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", m->path);
    if (!rc) rc = hn_make_dirs(folder, err);
    c.output = rc ? NULL : *path;
    c.n_threads = o->n_threads;
    c.no_parity = o->no_parity;
    c.exact = o->exact;
    c.stop = o->stop;
    if (!rc) rc = hone_compile_model(m->path, &c, &result, err);
    hone_free(result.text);
    free(folder);
    free(cache);
    return rc;
}

/* The first dimension as it is written: "[batch, seq]" gives 5 and "batch". */
static size_t first_dim(const hone_model_port *p, const char **text) {
    *text = p->shape && *p->shape == '[' ? p->shape + 1 : "";
    return strcspn(*text, ",]");
}

static bool joins(const hone_model *x) {
    const char *name, *other;
    if (!x->n_inputs || x->n_states || x->input[0].rank < 1 || x->input[0].dim[0] >= 0) return false;
    size_t n = first_dim(&x->input[0], &name);
    for (int32_t i = 0; i < x->n_inputs + x->n_outputs; i++) {
        const hone_model_port *p = i < x->n_inputs ? &x->input[i] : &x->output[i - x->n_inputs];
        if (p->rank < 1 || p->dim[0] >= 0 || first_dim(p, &other) != n || memcmp(name, other, n)) return false;
    }
    return true;
}

static hone_rc open_library(hn_served *m, const hone_serve_options *o, bool compiled, hone_err *err) {
    hone_artifact_options a = hone_artifact_defaults();
    char *path = NULL;
    a.n_threads = o->n_threads;
    hone_rc rc = compiled ? HONE_OK : compile(m, o, &path, err);
    if (!rc) rc = hone_artifact_load(compiled ? m->path : path, &a, &m->library, err);
    free(path);
    if (rc) return rc;
    m->model = hone_artifact_model(m->library);
    m->joins = joins(m->model);
    return HONE_OK;
}

static bool ends_in(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n >= k && !strcmp(path + n - k, end);
}

/* Weights lie beside the library, in NAME.weights for NAME.so; small models have none. */
static void watch_weights(hn_served *m) {
    const hone_model *x = m->text ? m->text->model : m->model;
    char path[4096];
    Dl_info here;
    if (!x || !dladdr(x, &here) || !here.dli_fname || !ends_in(here.dli_fname, ".so")) return;
    int n = snprintf(path, sizeof path, "%.*s.weights", (int)strlen(here.dli_fname) - 3, here.dli_fname);
    if (n > 0 && n < (int)sizeof path) hn_lost_watch(&m->weights, path);
}

bool hn_served_lost(hn_served *m) {
    hone_err why = {0};
    if (!hn_lost_is(&m->weights)) return false;
    hn_fail(&why, HONE_E_FAILED,
            "the weights '%s' of the model '%s' were cut or changed while it was served; restore them, and replace the "
            "model (hone deploy) or start the server again",
            m->weights.path, m->name);
    hn_served_break(m, HN_DAMAGED, &why);
    return true;
}

hone_rc hn_served_open(hn_served *m, const hone_serve_options *o, hone_err *err) {
    hone_rc rc = hone_rollout_version_name(m->path, m->version, err);
    if (rc) return rc;
    const char *format = hone_import_format_of(m->path);
    bool language = hn_is_folder(m->path) || ends_in(m->path, ".gguf") || (format && !strcmp(format, "gguf"));
    rc = language ? open_text(m, o, err) : open_library(m, o, ends_in(m->path, ".so"), err);
    m->loaded_s = hn_unix_s();
    if (!rc) watch_weights(m);
    return rc;
}

void hn_served_close(hn_served *m) {
    hn_lost_free(&m->weights);
    hone_text_close(m->text);
    hone_artifact_free(m->library);
    m->text = NULL;
    m->library = NULL;
    m->model = NULL;
}

void hn_served_free(hn_served *m) {
    if (!m) return;
    free(m->path);
    free(m->name);
    free(m);
}
