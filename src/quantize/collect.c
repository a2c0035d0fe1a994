/* collect.c — importances of a model's columns from a text: the model, compiled with a sum beside each product, reads
 * it. */
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "gguf/front_gguf.h"
#include "gguf/tokenizer_of.h"
#include "gguf/write.h"
#include "ir/blocks.h"
#include "quantize/output.h"

#include <hone/artifact.h>
#include <hone/compile.h>
#include <hone/process.h>
#include <hone/quantize.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_WINDOW = 512, STEP = 128 }; /* tokens; STEP: whose logits are in memory at once */
static const char prefix[] = "sum2.";

typedef struct reader {
    const char *path, *file; /* the model; the GGUF file: of a folder one made of it */
    char *made;
    const hone_quantize_importance_options *o;
    hone_temp *temp;
    hone_artifact *library;
    const hone_model *model;
    hone_model_instance *instance;
    int32_t *token; /* of the text */
    size_t n;
    int64_t vocabulary;
    float *logits, **now; /* of a step; now[i]: sums of output i + 1 */
    double **sum;         /* since the beginning */
    size_t n_sums;
    uint64_t read, windows;
    double begin_s;
} reader;

/* --- the model -------------------------------------------------------------------------------------------------------
 */

static hone_rc compile(reader *r, char *output, hone_err *err) {
    static const char *const state[] = {"past.*=present.*"};
    hone_compile_options c = hone_compile_defaults();
    hone_compile_result made = {0};
    hone_graph *g = NULL;
    c.output = output;
    c.target = r->o->target;
    c.compiler = r->o->compiler;
    c.n_threads = r->o->n_threads;
    c.state = state;
    c.n_state = 1;
    c.progress = r->o->progress;
    c.stop = r->o->stop;
    hone_rc rc = hn_gguf_import_sums(r->file, &g, err);
    if (!rc) rc = hone_compile_graph(g, "importance", &c, &made, err);
    hone_free(made.text);
    hone_graph_free(g);
    return rc;
}

/* Of a folder its GGUF file is made first; bf16 is enough for what the columns are multiplied with. */
static hone_rc open_file(reader *r, hone_err *err) {
    hone_quantize_options o = hone_quantize_defaults();
    hone_rc rc = hone_temp_open("hone-importance.", &r->temp, err);
    r->file = r->path;
    if (rc || !hn_is_folder(r->path)) return rc;
    if (asprintf(&r->made, "%s/model.gguf", hone_temp_path(r->temp)) < 0)
        return hn_fail(err, HONE_E_NOMEM, "out of memory for '%s'", r->path);
    o.type = "bf16";
    o.stop = r->o->stop;
    o.progress = r->o->progress;
    r->file = r->made;
    return hone_quantize_file(r->path, r->made, &o, NULL, err);
}

static hone_rc open_model(reader *r, hone_err *err) {
    hone_artifact_options how = hone_artifact_defaults();
    hone_model_config config = hone_model_defaults();
    char *output = NULL, *library = NULL;
    hone_rc rc = HONE_OK;
    if (asprintf(&output, "%s/model", hone_temp_path(r->temp)) < 0 || asprintf(&library, "%s.so", output) < 0)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory for '%s'", r->path);
    if (!rc) rc = compile(r, output, err);
    how.n_threads = r->o->n_threads;
    config.n_threads = (int32_t)r->o->n_threads;
    if (!rc) rc = hone_artifact_load(library, &how, &r->library, err);
    if (!rc) r->model = hone_artifact_model(r->library);
    if (!rc && r->model->create(&config, &r->instance))
        rc = hn_fail(err, HONE_E_FAILED, "'%s': %s", r->path, r->model->error(NULL));
    free(library);
    free(output);
    return rc;
}

static hone_rc make_room(reader *r, hone_err *err) {
    const hone_model *m = r->model;
    r->n_sums = (size_t)m->n_outputs - 1;
    if (m->n_inputs != 2 || strcmp(m->output[m->n_outputs - 1].name, "logits") || !r->n_sums)
        return hn_fail(err, HONE_E_INPUT, "'%s' is no language model", r->path);
    r->vocabulary = m->output[r->n_sums].dim[1];
    r->logits = calloc((size_t)r->vocabulary * STEP, sizeof *r->logits);
    r->now = calloc(r->n_sums, sizeof *r->now);
    r->sum = calloc(r->n_sums, sizeof *r->sum);
    bool good = r->logits && r->now && r->sum;
    for (size_t i = 0; good && i < r->n_sums; i++) {
        size_t columns = (size_t)m->output[i].dim[0];
        r->now[i] = calloc(columns, sizeof **r->now);
        r->sum[i] = calloc(columns, sizeof **r->sum);
        good = r->now[i] && r->sum[i];
    }
    return good ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory for the importances of '%s'", r->path);
}

static hone_rc read_tokens(reader *r, const char *text, size_t n, hone_err *err) {
    hn_gguf *g = NULL;
    hn_tokenizer *t = NULL;
    hone_rc rc = hn_gguf_open(r->file, &g, err);
    if (!rc) rc = hn_gguf_tokenizer(g, &t, err);
    if (!rc) rc = hn_tokenizer_encode(t, text, n, true, false, &r->token, &r->n, err);
    if (!rc && !r->n) rc = hn_fail(err, HONE_E_EMPTY, "the text has no tokens");
    hn_tokenizer_free(t);
    hn_gguf_close(g);
    return rc;
}

/* --- the text --------------------------------------------------------------------------------------------------------
 */

static hone_model_tensor tensor(void *data, hone_dtype t, size_t rank, int64_t first, int64_t second) {
    hone_model_tensor x = {.data = data, .dtype = (int32_t)t, .rank = (int32_t)rank, .dim = {first, second}};
    x.size_b = (size_t)(first * (rank > 1 ? second : 1)) * hone_dtype_size_b(t);
    return x;
}

static hone_rc step(reader *r, const int32_t *token, size_t n, hone_model_tensor *out, hone_err *err) {
    const hone_model *m = r->model;
    int64_t id[STEP], want[STEP];
    for (size_t i = 0; i < n; i++) {
        id[i] = token[i], want[i] = (int64_t)i;
        if (id[i] >= r->vocabulary)
            return hn_fail(err, HONE_E_INPUT,
                           "'%s': token %" PRId64 " of %" PRId64 "; its tokenizer is another model's", r->path, id[i],
                           r->vocabulary);
    }
    hone_model_tensor in[2] = {tensor(id, HONE_I64, 1, (int64_t)n, 0), tensor(want, HONE_I64, 1, (int64_t)n, 0)};
    for (size_t i = 0; i < r->n_sums; i++) out[i] = tensor(r->now[i], HONE_F32, 1, m->output[i].dim[0], 0);
    out[r->n_sums] = tensor(r->logits, HONE_F32, 2, (int64_t)n, r->vocabulary);
    if (m->run(r->instance, in, 2, out, r->n_sums + 1))
        return hn_fail(err, HONE_E_FAILED, "'%s': %s", r->path, m->error(r->instance));
    for (size_t i = 0; i < r->n_sums; i++)
        for (int64_t c = 0; c < m->output[i].dim[0]; c++) r->sum[i][c] += (double)r->now[i][c];
    r->read += n;
    return HONE_OK;
}

static void tell(const reader *r, size_t all) {
    double elapsed = hn_now_s() - r->begin_s;
    hone_event e = {"text", (size_t)r->read, all, elapsed, elapsed * (double)(all - r->read) / (double)r->read, NULL};
    if (r->o->progress.fn) r->o->progress.fn(r->o->progress.arg, &e);
}

static hone_rc read_text(reader *r, hone_err *err) {
    size_t window = r->o->window ? r->o->window : USUAL_WINDOW, all = r->n;
    int64_t most = r->model->n_states ? r->model->state[0].high[0] : 0;
    hone_rc rc = HONE_OK;
    if (most > 0 && window > (size_t)most) window = (size_t)most;
    if (r->o->windows && r->o->windows < (all + window - 1) / window) all = (size_t)r->o->windows * window;
    hone_model_tensor *out = calloc(r->n_sums + 1, sizeof *out);
    if (!out) return hn_fail(err, HONE_E_NOMEM, "out of memory reading a text");
    for (size_t at = 0; !rc && at < all;) {
        size_t left = window - at % window, n = left < STEP ? left : STEP;
        if (n > all - at) n = all - at;
        if (at % window == 0) r->model->reset(r->instance), r->windows++;
        if (r->o->stop && *r->o->stop) rc = hn_fail(err, HONE_E_INTERRUPTED, "stopped");
        if (!rc) rc = step(r, r->token + at, n, out, err);
        if (!rc) tell(r, all);
        at += n;
    }
    free(out);
    return rc;
}

/* --- the file --------------------------------------------------------------------------------------------------------
 */

/* Tensors 2 i and 2 i + 1: sums and counts of output i. */
static hone_rc fill(void *arg, size_t tensor, hn_gguf_sink *to, hone_err *err) {
    const reader *r = arg;
    size_t i = tensor / 2, columns = tensor % 2 ? 1 : (size_t)r->model->output[i].dim[0];
    for (size_t c = 0; c < columns; c++) {
        float x = tensor % 2 ? (float)r->read : (float)r->sum[i][c];
        uint32_t b;
        memcpy(&b, &x, sizeof b);
        uint8_t byte[4] = {(uint8_t)b, (uint8_t)(b >> 8), (uint8_t)(b >> 16), (uint8_t)(b >> 24)};
        if (!isfinite(x))
            return hn_fail(err, HONE_E_FAILED, "the sum of column %zu of '%s' is no number: the model overflows", c,
                           r->model->output[i].name + strlen(prefix));
        if (!hn_gguf_sink_put(to, byte, 4))
            return hn_fail(err, HONE_E_IO, "cannot write importances; is the disk full?");
    }
    return HONE_OK;
}

static hone_rc put_file(reader *r, const char *output, hone_err *err) {
    hn_gguf_writer *w = hn_gguf_writer_new();
    const uint32_t f32 = hn_block_type_named("F32")->id;
    if (!w) return hn_fail(err, HONE_E_NOMEM, "out of memory writing '%s'", output);
    hn_gguf_put_text(w, "general.type", "imatrix", 7);
    hn_gguf_text set = {r->o->dataset, r->o->dataset ? strlen(r->o->dataset) : 0};
    if (set.n) hn_gguf_put_texts(w, "imatrix.datasets", &set, 1);
    hn_gguf_put_u32(w, "imatrix.chunk_count", (uint32_t)r->windows);
    hn_gguf_put_u32(w, "imatrix.chunk_size", r->o->window ? r->o->window : USUAL_WINDOW);
    for (size_t i = 0; i < r->n_sums; i++) {
        const char *name = r->model->output[i].name + strlen(prefix);
        char text[200];
        snprintf(text, sizeof text, "%s.in_sum2", name);
        hn_gguf_put_tensor(w, text, f32, 2, (uint64_t[2]){1, (uint64_t)r->model->output[i].dim[0]});
        snprintf(text, sizeof text, "%s.counts", name);
        hn_gguf_put_tensor(w, text, f32, 2, (uint64_t[2]){1, 1});
    }
    hone_rc rc = hn_gguf_write(w, output, fill, r, err);
    hn_gguf_writer_free(w);
    return rc;
}

static void drop(reader *r) {
    for (size_t i = 0; i < r->n_sums; i++) {
        if (r->now) free(r->now[i]);
        if (r->sum) free(r->sum[i]);
    }
    free(r->now);
    free(r->sum);
    free(r->logits);
    free(r->token);
    free(r->made);
    if (r->instance) r->model->free(r->instance);
    hone_artifact_free(r->library);
    hone_temp_close(r->temp);
}

hone_rc hone_quantize_importance(const char *path, const char *text, size_t n, const char *output,
                                 const hone_quantize_importance_options *options,
                                 hone_quantize_importance_result *result, hone_err *err) {
    hone_quantize_importance_options o = hone_quantize_importance_defaults();
    reader r = {.path = path, .o = &o, .begin_s = hn_now_s()};
    hone_rc rc = hn_options_read(&o, sizeof o, options, "quantize_importance", err);
    if (rc) return rc;
    rc = hn_output_check(path, output, o.force, err);
    if (!rc) rc = open_file(&r, err);
    if (!rc) rc = read_tokens(&r, text, n, err);
    if (!rc) rc = open_model(&r, err);
    if (!rc) rc = make_room(&r, err);
    if (!rc) rc = read_text(&r, err);
    if (!rc) rc = put_file(&r, output, err);
    if (!rc && result) *result = (hone_quantize_importance_result){r.n_sums, r.read, r.windows, hn_now_s() - r.begin_s};
    drop(&r);
    return rc;
}
