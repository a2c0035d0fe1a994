/* quantize.c — a plan of types for a model's tensors, then tensor by tensor from one file to the other. */
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "base/str.h"
#include "gguf/encode.h"
#include "gguf/write.h"
#include "quantize/imatrix.h"
#include "quantize/output.h"
#include "quantize/rows.h"
#include "quantize/source.h"

#include <hone/process.h>
#include <hone/quantize.h>

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct rule {
    char *pattern;
    const hn_block_type *type;
    bool used;
} rule;

typedef struct task {
    const char *path;
    const hone_quantize_options *o;
    const hn_mix *mix;
    rule *rule;
    hn_model_source in;
    hn_imatrix importance;
    hn_gguf_writer *out;
    hone_quantize_tensor *tensor;
    size_t n;
    uint64_t done_b, all_b;
    double begin_s;
} task;

const char *hone_quantize_type(size_t i, const char **summary) {
    const hn_mix *m = hn_mix_at(i);
    if (m && summary) *summary = m->summary;
    return m ? m->name : NULL;
}

/* --- the plan --------------------------------------------------------------------------------------------------------
 */

static hone_rc find_mix(task *t, hone_err *err) {
    const char *name = t->o->type ? t->o->type : "q4_K_M";
    hn_str known = {0};
    if ((t->mix = hn_mix_named(name))) return HONE_OK;
    for (size_t i = 0; hn_mix_at(i); i++) hn_str_addf(&known, "%s%s", i ? ", " : "", hn_mix_at(i)->name);
    hone_rc rc = hn_fail(err, HONE_E_USAGE, "'%s' is no type that a model can be made of; there are %s", name,
                         known.text ? known.text : "?");
    hn_str_free(&known);
    return rc;
}

/* A block type by its name in upper or lower case, or that of a mix of one type. */
static const hn_block_type *type_named(const char *name) {
    for (size_t i = 0; hn_block_type_at(i); i++)
        if (!strcasecmp(hn_block_type_at(i)->name, name)) return hn_block_type_at(i);
    return NULL;
}

static hone_rc read_rules(task *t, hone_err *err) {
    if (!(t->rule = calloc(t->o->n_tensor_type + 1, sizeof *t->rule)))
        return hn_fail(err, HONE_E_NOMEM, "out of memory for %zu types of tensors", t->o->n_tensor_type);
    for (size_t i = 0; i < t->o->n_tensor_type; i++) {
        const char *text = t->o->tensor_type[i], *equal = text ? strrchr(text, '=') : NULL;
        rule *r = &t->rule[i];
        if (!equal || equal == text)
            return hn_fail(err, HONE_E_USAGE, "'%s' is not of the form PATTERN=TYPE, as in '*ffn_down*=q6_K'",
                           text ? text : "");
        r->type = type_named(equal + 1);
        if (!r->type || !hn_block_encodes(r->type))
            return hn_fail(err, HONE_E_USAGE, "'%s': '%s' is no type that tensors are written in; q6_K, for example",
                           text, equal + 1);
        if (!(r->pattern = strndup(text, (size_t)(equal - text))))
            return hn_fail(err, HONE_E_NOMEM, "out of memory for %zu types of tensors", t->o->n_tensor_type);
    }
    return HONE_OK;
}

static const hn_block_type *type_for(task *t, const hn_mix_model *model, size_t k) {
    const hn_gguf_tensor *x = hn_model_source_at(&t->in, k);
    const hn_block_type *to = NULL;
    if (!hn_mix_takes(x)) return hn_model_source_kept(&t->in, k);
    for (size_t i = 0; i < t->o->n_tensor_type; i++)
        if (!fnmatch(t->rule[i].pattern, x->name, 0)) {
            t->rule[i].used = true;
            if (!to) to = t->rule[i].type;
        }
    return to ? to : hn_mix_pick(t->mix, model, x);
}

static const hn_imatrix_entry *weights_for(const task *t, const hn_gguf_tensor *x) {
    const hn_imatrix_entry *e = hn_imatrix_of(&t->importance, x->name);
    return e;
}

static hone_rc plan_tensor(task *t, const hn_mix_model *model, size_t i, hone_err *err) {
    const hn_gguf_tensor *x = hn_model_source_at(&t->in, i);
    const hn_block_type *from = hn_block_type_of(x->type), *asked = type_for(t, model, i);
    uint64_t columns = x->rank ? x->dim[x->rank - 1] : 1,
             matrices = x->rank > 2 ? x->n_elements / columns / x->dim[x->rank - 2] : 1;
    const hn_block_type *to = asked == from ? from : hn_mix_fit(asked, columns);
    hone_quantize_tensor *p = &t->tensor[i];
    const hn_imatrix_entry *e = weights_for(t, x);
    if (to != from && !from->decode)
        return hn_fail(
            err, HONE_E_UNSUPPORTED,
            "'%s': tensor '%s' is of type %s, whose values are not read; begin with the model in f16 or bf16", t->path,
            x->name, from->name);
    if (e && (e->columns != columns || e->matrices != matrices))
        return hn_fail(err, HONE_E_INPUT,
                       "'%s': %" PRIu64 " x %" PRIu64 " importances for tensor '%s', which has %" PRIu64
                       " matrices of %" PRIu64 " columns; they are another model's",
                       t->o->importance ? t->o->importance : t->path, e->matrices, e->columns, x->name, matrices,
                       columns);
    *p = (hone_quantize_tensor){.name = x->name,
                                .from = from->name,
                                .to = to->name,
                                .instead_of = to == asked ? NULL : asked->name,
                                .again = to != from && from->elements > 1,
                                .weighted = e && to != from && to->elements > 1,
                                .before_b = x->size_b,
                                .after_b = x->n_elements / to->elements * to->size_b};
    hn_gguf_put_tensor(t->out, x->name, to->id, x->rank, x->dim);
    t->all_b += x->size_b;
    return HONE_OK;
}

static hone_rc plan(task *t, hone_err *err) {
    hn_mix_model model = hn_model_source_model(&t->in);
    hone_rc rc = HONE_OK;
    t->n = hn_model_source_tensors(&t->in);
    if (!(t->tensor = calloc(t->n + 1, sizeof *t->tensor)))
        return hn_fail(err, HONE_E_NOMEM, "out of memory for %zu tensors", t->n);
    for (size_t i = 0; !rc && i < t->n; i++) rc = plan_tensor(t, &model, i, err);
    for (size_t i = 0; !rc && i < t->o->n_tensor_type; i++)
        if (!t->rule[i].used)
            rc = hn_fail(err, HONE_E_USAGE,
                         "'%s' fits no tensor of '%s' that changes its type; `hone quantize --dry-run` lists them",
                         t->rule[i].pattern, t->path);
    return rc;
}

/* --- keys ------------------------------------------------------------------------------------------------------------
 */

static hone_rc put_keys(task *t, hone_err *err) {
    enum { BLOCKS_VERSION = 2 }; /* general.quantization_version: the layouts of blocks.def */
    hone_rc rc = hn_model_source_put_keys(&t->in, t->out, err);
    if (rc) return rc;
    hn_gguf_put_u32(t->out, "general.file_type", t->mix->file_type);
    hn_gguf_put_u32(t->out, "general.quantization_version", BLOCKS_VERSION);
    if (!t->importance.n) return HONE_OK;
    const char *text = t->importance.dataset;
    const char *from = t->o->importance ? t->o->importance : "a text";
    hn_gguf_put_text(t->out, "quantize.imatrix.file", from, strlen(from));
    if (text) hn_gguf_put_text(t->out, "quantize.imatrix.dataset", text, strlen(text));
    hn_gguf_put_i32(t->out, "quantize.imatrix.entries_count", (int32_t)t->importance.n);
    if (t->importance.chunks) hn_gguf_put_i32(t->out, "quantize.imatrix.chunks_count", (int32_t)t->importance.chunks);
    return HONE_OK;
}

/* --- data ------------------------------------------------------------------------------------------------------------
 */

static void tell(task *t, uint64_t more_b, const char *name) {
    double elapsed = hn_now_s() - t->begin_s;
    t->done_b += more_b;
    double left = t->done_b ? elapsed * (double)(t->all_b - t->done_b) / (double)t->done_b : NAN;
    hone_event e = {"quantize", (size_t)t->done_b, (size_t)t->all_b, elapsed, left, name};
    if (t->o->progress.fn) t->o->progress.fn(t->o->progress.arg, &e);
}

static hone_rc cannot_write(const char *path, hone_err *err) {
    return hn_fail(err, HONE_E_IO, "cannot write '%s'; is the disk full?", path);
}

static hone_rc copy(task *t, const hn_gguf_tensor *x, hn_gguf_sink *to, hone_err *err) {
    if (!hn_gguf_sink_put(to, x->data, (size_t)x->size_b)) return cannot_write("the output", err);
    tell(t, x->size_b, x->name);
    return HONE_OK;
}

static hone_rc cannot_hold(const task *t, const hn_gguf_tensor *x, const hn_rows *r, uint64_t first, hone_err *err) {
    return hn_fail(err, HONE_E_INPUT,
                   "'%s': tensor '%s', row %" PRIu64 ", column %" PRIu64 ": %g cannot be held as %s%s", t->path,
                   x->name, first + r->bad_row, r->bad_column, (double)r->bad_value, r->to->name,
                   isfinite(r->bad_value) ? "; keep this tensor in bf16 or f32 (--tensor-type)"
                                          : "; the model is damaged: fetch or convert it again");
}

/* Rows in pieces of some four million elements; a piece does not reach over two matrices, whose columns may weigh
 * differently. */
enum { PIECE = 1 << 22 };

static hone_rc encode(task *t, size_t i, hn_rows *r, hn_gguf_sink *to, hone_err *err) {
    const hn_gguf_tensor *x = hn_model_source_at(&t->in, i);
    const hn_imatrix_entry *e = r->to->elements > 1 ? weights_for(t, x) : NULL;
    uint64_t rows = x->n_elements / r->columns, each = x->rank > 2 ? x->dim[x->rank - 2] : rows, most = r->n;
    size_t from_b = (size_t)(r->columns / r->from->elements * r->from->size_b),
           to_b = (size_t)(r->columns / r->to->elements * r->to->size_b);
    double square = 0, error = 0;
    for (uint64_t at = 0; at < rows; at += r->n) {
        uint64_t left = each - at % each;
        r->n = left < most ? left : most;
        r->data = x->data;
        r->first = at;
        r->weight = e ? e->mean + at / each * r->columns : NULL;
        r->n_threads = t->o->n_jobs;
        hone_rc rc = hn_rows_encode(r, err);
        if (!rc && r->bad_row < r->n) rc = cannot_hold(t, x, r, at, err);
        if (!rc && !hn_gguf_sink_put(to, r->out, (size_t)r->n * to_b)) rc = cannot_write("the output", err);
        if (rc) return rc;
        for (uint64_t k = 0; k < r->n; k++) square += r->square[k], error += r->error[k];
        tell(t, r->n * from_b, x->name);
    }
    t->tensor[i].error = square > 0 ? sqrt(error / square) : 0;
    return HONE_OK;
}

static hone_rc fill(void *arg, size_t i, hn_gguf_sink *to, hone_err *err) {
    task *t = arg;
    const hn_gguf_tensor *x = hn_model_source_at(&t->in, i);
    hn_rows r = {.from = hn_block_type_named(t->tensor[i].from), .to = hn_block_type_named(t->tensor[i].to)};
    if (t->o->stop && *t->o->stop) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
    r.head = hn_model_source_head(&t->in, i);
    if (r.from == r.to && !r.head) return copy(t, x, to, err);
    r.stop = t->o->stop;
    r.columns = x->rank ? x->dim[x->rank - 1] : 1;
    r.n = PIECE / r.columns + 1;
    if (r.n > x->n_elements / r.columns) r.n = x->n_elements / r.columns;
    r.out = malloc((size_t)(r.n * (r.columns / r.to->elements * r.to->size_b)));
    r.square = malloc((size_t)r.n * sizeof *r.square);
    r.error = malloc((size_t)r.n * sizeof *r.error);
    hone_rc rc = r.out && r.square && r.error ? encode(t, i, &r, to, err)
                                              : hn_fail(err, HONE_E_NOMEM, "out of memory encoding '%s'", x->name);
    free(r.out);
    free(r.square);
    free(r.error);
    return rc;
}

/* --- the whole -------------------------------------------------------------------------------------------------------
 */

hone_rc hn_output_check(const char *path, const char *output, bool force, hone_err *err) {
    struct stat a, b;
    if (!output) return hn_fail(err, HONE_E_USAGE, "no output is named; only a dry run needs none");
    if (stat(output, &b)) return HONE_OK;
    if (!stat(path, &a) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return hn_fail(err, HONE_E_USAGE, "'%s' is the input; name another output", output);
    if (S_ISREG(b.st_mode) && !force)
        return hn_fail(err, HONE_E_USAGE, "'%s' is there already; name another output, or replace it (--force)",
                       output);
    return HONE_OK;
}

/* Names of tensors are the source's, which goes with the result. */
static hone_rc hand_over(task *t, hone_quantize_result *r, hone_err *err) {
    if (!r) return HONE_OK;
    hn_model_source *own = malloc(sizeof *own);
    if (!own) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *own = t->in;
    *r = (hone_quantize_result){.tensor = t->tensor,
                                .n = t->n,
                                .before_b = hn_model_source_size_b(&t->in),
                                .after_b = hn_gguf_written_b(t->out),
                                .time_s = hn_now_s() - t->begin_s,
                                .own = own};
    t->tensor = NULL;
    t->in = (hn_model_source){0};
    return HONE_OK;
}

void hone_quantize_result_free(hone_quantize_result *r) {
    free(r->tensor);
    if (r->own) hn_model_source_close(r->own);
    free(r->own);
    *r = (hone_quantize_result){0};
}

static void drop(task *t) {
    for (size_t i = 0; t->rule && i < t->o->n_tensor_type; i++) free(t->rule[i].pattern);
    free(t->rule);
    free(t->tensor);
    hn_imatrix_free(&t->importance);
    hn_gguf_writer_free(t->out);
    hn_model_source_close(&t->in);
}

/* Importances from a file, or from a text by a file of their own. */
static hone_rc read_importance(task *t, hone_err *err) {
    const hone_quantize_options *o = t->o;
    hone_quantize_importance_options how = hone_quantize_importance_defaults();
    hone_temp *temp = NULL;
    char *file = NULL;
    if (o->importance && o->importance_text)
        return hn_fail(err, HONE_E_USAGE, "importances from a file and from a text; give one of them");
    if (o->importance) return hn_imatrix_read(o->importance, &t->importance, err);
    if (!o->importance_text) return HONE_OK;
    how.progress = o->progress;
    how.stop = o->stop;
    how.n_threads = o->n_jobs;
    hone_rc rc = hone_temp_open("hone-importance.", &temp, err);
    if (!rc && asprintf(&file, "%s/importance.gguf", hone_temp_path(temp)) < 0)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory for '%s'", t->path);
    if (!rc) rc = hone_quantize_importance(t->path, o->importance_text, o->n_importance_text, file, &how, NULL, err);
    if (!rc) rc = hn_imatrix_read(file, &t->importance, err);
    free(file);
    hone_temp_close(temp);
    return rc;
}

hone_rc hone_quantize_file(const char *path, const char *output, const hone_quantize_options *options,
                           hone_quantize_result *result, hone_err *err) {
    hone_quantize_options o = hone_quantize_defaults();
    task t = {.path = path, .o = &o, .begin_s = hn_now_s()};
    hone_rc rc = hn_options_read(&o, sizeof o, options, "quantize", err);
    if (rc) return rc;
    if (!o.n_jobs) o.n_jobs = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    rc = find_mix(&t, err);
    if (!rc) rc = read_rules(&t, err);
    if (!rc && !o.dry_run) rc = hn_output_check(path, output, o.force, err);
    if (!rc && !(t.out = hn_gguf_writer_new())) rc = hn_fail(err, HONE_E_NOMEM, "out of memory for '%s'", path);
    if (!rc) rc = hn_model_source_open(path, &t.in, err);
    if (!rc) rc = read_importance(&t, err);
    if (!rc) rc = plan(&t, err);
    if (!rc) rc = put_keys(&t, err);
    if (!rc && !o.dry_run) rc = hn_gguf_write(t.out, output, fill, &t, err);
    if (!rc) rc = hand_over(&t, result, err);
    drop(&t);
    return rc;
}
