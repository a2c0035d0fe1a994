/* language.c — a model file becomes a library, once, and is opened. */
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/options.h"
#include "base/str.h"
#include "build/build.h"
#include "gguf/tokenizer_of.h"
#include "hf/facts.h"
#include "hf/tokenizer_json.h"
#include "language/language_int.h"

#include <hone/compile.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { USUAL_CONTEXT = 8192 };

/* --- the library: CACHE/language/KEY/model.so --------------------------------------------------------------------- */

/* What a library follows from: the file, or those of a folder (path, sizes and times), when it was tuned, hone,
 * compiler and target. */
static hone_rc key_of(const char *path, const char *stamp, const hone_text_options *o, char key[33], hone_err *err) {
    struct stat st;
    hn_hash h;
    char facts[200];
    char *real = realpath(path, NULL);
    if (!real || stat(real, &st)) {
        free(real);
        return hn_fail(err, HONE_E_IO, "cannot open '%s'", path);
    }
    snprintf(facts, sizeof facts, "%lld %lld.%09ld %s parity %d exact %d", (long long)st.st_size,
             (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, hone_version(), !o->no_parity, o->exact);
    hn_hash_begin(&h);
    hn_hash_text(&h, real);
    hn_hash_text(&h, facts);
    hn_str files = {0};
    if (hn_is_folder(real)) hn_hf_facts(real, &files);
    hn_hash_text(&h, files.text);
    hn_str_free(&files);
    if (stamp)
        hn_hash_text(&h, stamp);
    else
        hn_language_stamp(&h, real);
    hn_hash_hone(&h);
    hn_hash_text(&h, o->compiler);
    hn_hash_text(&h, o->target);
    hn_hash_text(&h, o->cache);
    hn_hash_text(&h, o->activations);
    hn_hash_end(&h, key);
    free(real);
    return HONE_OK;
}

static hone_rc compile(const char *path, const char *folder, const hone_text_options *o, hone_err *err) {
    hone_compile_options c = hone_compile_defaults();
    hone_compile_result result = {0};
    char *made = NULL, *output = NULL;
    hone_rc rc = HONE_OK;
    if (asprintf(&made, "%s.%ld", folder, (long)getpid()) < 0 || asprintf(&output, "%s/model", made) < 0)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory compiling '%s'", path);
    if (!rc) rc = hn_make_dirs(made, err);
    c.output = output;
    c.target = o->target;
    c.compiler = o->compiler;
    c.no_parity = o->no_parity;
    c.exact = o->exact;
    c.activations = o->activations;
    c.stop = o->stop;
    static const char *const state[] = {"past.*=present.*"};
    c.state = state;
    c.n_state = 1;
    c.no_cache = true; /* this folder is the cache */
    c.n_threads = o->n_threads;
    c.progress = o->progress;
    c.cache = o->cache;
    if (!rc) rc = hone_compile_model(path, &c, &result, err);
    hone_free(result.text);
    if (!rc && rename(made, folder) && !hn_exists(folder)) rc = hn_fail(err, HONE_E_IO, "cannot make '%s'", folder);
    if (made && hn_exists(made)) hn_remove_tree(made, NULL);
    free(output);
    free(made);
    return rc;
}

static hone_rc load(hone_text *m, const char *folder, const hone_text_options *o, hone_err *err) {
    char *path = NULL;
    if (asprintf(&path, "%s/model.so", folder) < 0)
        return hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", m->path);
    hone_artifact_options how = hone_artifact_defaults();
    how.n_threads = o->n_threads;
    hone_rc rc = hone_artifact_load(path, &how, &m->library, err);
    free(path);
    if (rc) return rc;
    hone_model_config config = hone_model_defaults();
    config.n_threads = (int32_t)o->n_threads;
    m->model = hone_artifact_model(m->library);
    if (m->model->create(&config, &m->instance))
        return hn_fail(err, HONE_E_FAILED, "'%s': %s", m->path, m->model->error(NULL));
    return HONE_OK;
}

/* --- what the library holds --------------------------------------------------------------------------------------- */

static hone_rc no_language(const hone_text *m, hone_err *err) {
    return hn_fail(err, HONE_E_INPUT,
                   "'%s' is no language model: it does not take tokens, and keys and values behind them", m->path);
}

/* Blocks that ended sessions may leave. */
static int32_t keep_of(const hone_text *m, const hone_text_options *o) {
    size_t block_b = 1;
    for (int32_t i = 0; i < m->model->n_states; i++) block_b += hn_session_row_b(m, i) * HN_CACHE_BLOCK;
    int64_t tokens = o->kept_tokens ? o->kept_tokens : o->cached_tokens;
    int64_t n = tokens ? tokens / HN_CACHE_BLOCK : (int64_t)(((size_t)512 << 20) / block_b);
    return n < m->pool.most ? (int32_t)n : m->pool.most;
}

static hone_rc look_at(hone_text *m, const hone_text_options *o, hone_err *err) {
    static const char *const input[] = {"token", "want", "position", "sequence", "slot", "table"};
    const hone_model *x = m->model;
    bool good = x->n_inputs == 6 && x->n_outputs == 2 && x->n_states >= 2;
    for (int32_t i = 0; good && i < 6; i++) good = !strcmp(x->input[i].name, input[i]);
    if (!good) return no_language(m, err);
    const char *window = strstr(x->input[5].shape, HN_CACHE_WINDOW);
    if (window) m->window = strtoll(window + strlen(HN_CACHE_WINDOW), NULL, 10);
    int64_t most = x->input[0].high[0];
    m->vocabulary = x->output[0].dim[1];
    m->width = x->output[1].dim[1];
    m->context = o->context ? o->context : most < USUAL_CONTEXT ? most : USUAL_CONTEXT;
    if (m->context > most)
        return hn_fail(err, HONE_E_LIMIT, "a context of %" PRId64 " tokens: '%s' has at most %" PRId64, m->context,
                       m->path, most);
    int64_t tokens = o->cached_tokens ? o->cached_tokens : 16 * m->context;
    if (tokens < m->context) tokens = m->context;
    m->pool.most = (int32_t)(tokens / HN_CACHE_BLOCK + 2);
    m->pool.keep = keep_of(m, o);
    return HONE_OK;
}

static hone_rc open_folder_tokenizer(hone_text *m, hone_err *err) {
    hone_rc rc = hn_hf_tokenizer(m->path, &m->tokenizer, err);
    return rc ? rc : hn_hf_chat_template(m->path, &m->chat_template, &m->n_chat_template, err);
}

static hone_rc too_many_tokens(const hone_text *m, int64_t logits, hone_err *err) {
    size_t n = m->tokenizer ? hn_tokenizer_size(m->tokenizer) : 0;
    if ((int64_t)n <= logits) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT,
                   "'%s' has %zu tokens, but logits for %" PRId64 "; its tokenizer is another model's", m->path, n,
                   logits);
}

static hone_rc open_tokenizer(hone_text *m, bool library, hone_err *err) {
    hn_gguf *g = NULL;
    if (hn_is_folder(m->path)) return open_folder_tokenizer(m, err);
    hone_rc rc = hn_gguf_open(m->path, &g, err);
    hn_gguf_text t;
    if (!rc) rc = hn_gguf_tokenizer(g, &m->tokenizer, err);
    const hn_gguf_tensor *rows = rc || !library ? NULL : hn_gguf_tensor_named(g, "token_embd.weight");
    if (rows && rows->rank == 2) rc = too_many_tokens(m, (int64_t)rows->dim[0], err);
    if (!rc && hn_gguf_string(hn_gguf_find(g, "tokenizer.chat_template"), &t)) {
        m->n_chat_template = t.n;
        if (!(m->chat_template = strndup(t.text, t.n)))
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", m->path);
    }
    hn_gguf_close(g);
    return rc;
}

static hone_rc open_library(hone_text *m, const hone_text_options *o, hone_err *err) {
    char key[33], *cache = hn_cache_dir(), *folder = NULL;
    hone_rc rc = key_of(m->path, m->stamp, o, key, err);
    if (!rc && (!cache || asprintf(&folder, "%s/language/%s", cache, key) < 0))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", m->path);
    if (!rc) memcpy(m->key, key, sizeof m->key);
    if (!rc && !hn_exists(folder)) rc = compile(m->path, folder, o, err);
    if (!rc) rc = load(m, folder, o, err);
    if (!rc) rc = look_at(m, o, err);
    if (!rc) rc = hone_text_session_open(m, &m->session, err);
    free(folder);
    free(cache);
    return rc;
}

static hone_rc open_model(const char *path, const hone_text_options *o, bool library, hone_text **out, hone_err *err) {
    hone_text *m = calloc(1, sizeof *m);
    hone_rc rc = m ? hn_language_resolve(path, &m->path, &m->stamp, err)
                   : hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", path);
    if (rc) {
        free(m);
        return rc;
    }
    rc = o && o->no_tokenizer ? HONE_OK : hn_context_file(err, open_tokenizer(m, library, err), path);
    if (!rc && o && o->chat && !m->chat_template) rc = hn_no_template(m, err);
    if (!rc && library) rc = open_library(m, o, err);
    if (!rc && library) rc = too_many_tokens(m, m->vocabulary, err);
    if (rc) {
        hone_text_close(m);
        return rc;
    }
    *out = m;
    return HONE_OK;
}

static hone_rc read_options(const hone_text_options *given, hone_text_options *o, hone_err *err) {
    *o = hone_text_defaults();
    hone_rc rc = hn_options_read(o, sizeof *o, given, "text", err);
    if (!rc && o->activations && !strcmp(o->activations, "float")) o->exact = true, o->activations = NULL;
    if (!o->cache) o->cache = o->exact ? "f32" : "f16";
    return rc;
}

hone_rc hone_text_open(const char *path, const hone_text_options *options, hone_text **out, hone_err *err) {
    hone_text_options o;
    hone_rc rc = read_options(options, &o, err);
    return rc ? rc : open_model(path, &o, true, out, err);
}

/* Renamed first: a folder that is there is whole. What an earlier call that was killed left has the same name. */
static hone_rc remove_library(const char *key, hone_err *err) {
    char *cache = hn_cache_dir(), *folder = NULL, *gone = NULL;
    hone_rc rc = HONE_OK;
    if (!cache || asprintf(&folder, "%s/language/%s", cache, key) < 0 ||
        asprintf(&gone, "%s/language/gone.%s", cache, key) < 0)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_remove_tree(gone, err);
    if (!rc && !rename(folder, gone)) rc = hn_remove_tree(gone, err);
    free(gone);
    free(folder);
    free(cache);
    return rc;
}

hone_rc hone_text_forget(const char *path, const hone_text_options *options, hone_err *err) {
    hone_text_options o;
    char *real = NULL, *stamp = NULL, key[33];
    hone_rc rc = read_options(options, &o, err);
    if (!rc) rc = hn_language_resolve(path, &real, &stamp, err);
    if (!rc) rc = key_of(real, stamp, &o, key, err);
    if (!rc) rc = remove_library(key, err);
    free(real);
    free(stamp);
    return rc;
}

hone_rc hone_text_open_tokenizer(const char *path, hone_text **out, hone_err *err) {
    return open_model(path, NULL, false, out, err);
}

void hone_text_close(hone_text *m) {
    if (!m) return;
    hone_text_session_close(m->session);
    if (m->instance) m->model->free(m->instance);
    hone_artifact_free(m->library);
    hn_pieces_free(m->pieces);
    hn_tokenizer_free(m->tokenizer);
    free(m->chat_template);
    free(m->logits);
    free(m->hidden);
    free(m->pool.block);
    free(m->path);
    free(m->stamp);
    free(m);
}

int64_t hone_text_context(const hone_text *m) { return m->context; }
size_t hone_text_vocabulary(const hone_text *m) {
    return m->tokenizer ? hn_tokenizer_size(m->tokenizer) : (size_t)m->vocabulary;
}

hone_rc hn_language_ready(const hone_text *m, bool tokenizer, bool library, hone_err *err) {
    if (library && !m->library) return hn_fail(err, HONE_E_USAGE, "'%s' was opened for its tokenizer alone", m->path);
    if (tokenizer && !m->tokenizer) return hn_fail(err, HONE_E_USAGE, "'%s' was opened without its tokenizer", m->path);
    return HONE_OK;
}

size_t hone_text_logits(const hone_text *m) { return (size_t)m->vocabulary; }
size_t hone_text_width(const hone_text *m) { return (size_t)m->width; }

uint64_t hone_text_cache_b(const hone_text *m) {
    uint64_t sum = 0;
    for (int32_t i = 0; m->model && i < m->model->n_states; i++) sum += hn_session_row_b(m, i);
    return sum;
}

/* --- text and tokens ---------------------------------------------------------------------------------------------- */

hone_rc hone_text_encode(const hone_text *m, const char *text, size_t n, bool frame, bool control, int32_t **ids,
                         size_t *n_ids, hone_err *err) {
    hone_rc rc = hn_language_ready(m, true, false, err);
    return rc ? rc : hn_tokenizer_encode(m->tokenizer, text, n, frame, control, ids, n_ids, err);
}

hone_rc hone_text_decode(const hone_text *m, const int32_t *ids, size_t n_ids, bool control, char **text, size_t *n,
                         hone_err *err) {
    hn_detokenizer d = {0};
    size_t room = 16, k = 0, used = 0;
    hone_rc rc = hn_language_ready(m, true, false, err);
    if (rc) return rc;
    for (size_t i = 0; i < n_ids; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= hn_tokenizer_size(m->tokenizer))
            return hn_fail(err, HONE_E_USAGE, "token %" PRId32 ": the model has %zu", ids[i],
                           hn_tokenizer_size(m->tokenizer));
        room += hn_detokenizer_room(m->tokenizer, ids[i]);
    }
    char *out = malloc(room);
    if (!out) return hn_fail(err, HONE_E_NOMEM, "out of memory decoding %zu tokens", n_ids);
    for (size_t i = 0; i < n_ids; i++) {
        hn_detokenizer_push(&d, m->tokenizer, ids[i], control, out + used, &k);
        used += k;
    }
    hn_detokenizer_end(&d, out + used, &k);
    out[used += k] = 0;
    *text = out;
    *n = used;
    return HONE_OK;
}
