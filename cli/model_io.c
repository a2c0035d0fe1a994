/* model_io.c — see model_io.h. */
#include "model_io.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- options ----------------------------------------------------------------------------------------------------- */

static void show_progress(void *arg, const char *stage, size_t done, size_t total) {
    cli_compiling *x = arg;
    if (!x->stage || strcmp(x->stage, stage) != 0 || done % 8 == 0)
        fprintf(stderr, "\r\033[K%s %zu/%zu", stage, done, total);
    x->stage = stage;
}

void cli_compiling_done(cli_compiling *x) {
    if (x->stage) fputs("\r\033[K", stderr);
    x->stage = NULL;
}

void cli_compiling_set(const cli *c, cli_compiling *x) {
    *x = (cli_compiling){.c = c};
    x->options.target = cli_text(c, "target", NULL);
    x->options.relaxed = cli_given(c, "relaxed");
    x->options.reference = cli_given(c, "reference");
    x->options.no_parity = cli_given(c, "no-parity");
    x->options.compiler = cli_text(c, "cc", NULL);
    x->options.n_jobs = (uint32_t)cli_count(c, "jobs", 0);
    if (cli_given(c, "symbol")) {
        x->symbols = cli_strdup(cli_text(c, "symbol", ""));
        x->symbol = cli_split_options(x->symbols);
        x->options.symbol = x->symbol;
        while (x->symbol[x->options.n_symbol]) x->options.n_symbol++;
    }
    if (cli_width(stderr)) {
        x->options.progress = show_progress;
        x->options.progress_arg = x;
    }
}

void cli_compiling_free(cli_compiling *x) {
    cli_compiling_done(x);
    free(x->symbol);
    free(x->symbols);
}

/* --- models ------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}
bool cli_is_onnx(const char *path) { return ends_with(path, ".onnx"); }
bool cli_is_model(const char *path) { return ends_with(path, ".onnx") || ends_with(path, ".ir"); }

hone_rc cli_graph_open(const char *path, const cli_compiling *x, hone_graph **out, hone_err *err) {
    hone_import_options options = {.symbol = x->options.symbol, .n_symbol = x->options.n_symbol};
    return cli_is_onnx(path) ? hone_import_onnx(path, &options, out, NULL, err) : hone_graph_read(path, out, err);
}

hone_rc cli_compile(const char *path, const cli_compiling *x, hone_compile_result *out, hone_err *err) {
    hone_graph *g;
    if (cli_is_onnx(path) || !cli_is_model(path)) return hone_compile_onnx(path, &x->options, out, err);
    hone_rc rc = hone_graph_read(path, &g, err);
    if (rc) return rc;
    rc = hone_compile_graph(g, x->options.output, &x->options, out, err);
    hone_graph_free(g);
    return rc;
}

static void remove_folder(const char *folder) {
    static const char *const names[] = {"model.so", "model.h", "model.weights", "model.manifest"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = cli_format("%s/%s", folder, names[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
}

static hone_rc compile_here(const cli *c, const char *path, bool profile, cli_model *m, char **library, hone_err *err) {
    const char *tmp = getenv("TMPDIR");
    m->folder = cli_format("%s/hone-model-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(m->folder)) {
        hone_rc rc = cli_fail(err, HONE_E_IO, "cannot make '%s': %s", m->folder, strerror(errno));
        free(m->folder);
        m->folder = NULL;
        return rc;
    }
    char *output = cli_format("%s/model", m->folder);
    cli_compiling_set(c, &m->compiling);
    m->compiling.options.output = output;
    if (profile) m->compiling.options.profile = m->compiling.options.no_parity = true;
    hone_rc rc = cli_compile(path, &m->compiling, NULL, err);
    cli_compiling_free(&m->compiling);
    free(output);
    *library = cli_format("%s/model.so", m->folder);
    return rc;
}

static hone_rc open_model(const cli *c, const char *path, uint32_t n_threads, bool profile, cli_model *out,
                          hone_err *err) {
    char *library = NULL;
    hone_rc rc = HONE_OK;
    *out = (cli_model){0};
    if (cli_is_model(path)) rc = compile_here(c, path, profile, out, &library, err);
    if (!rc) rc = hone_program_load(library ? library : path, n_threads, &out->program, err);
    free(library);
    if (rc) {
        cli_model_close(out);
        return rc;
    }
    out->model = hone_program_model(out->program);
    return HONE_OK;
}

hone_rc cli_model_open(const cli *c, const char *path, uint32_t n_threads, cli_model *out, hone_err *err) {
    return open_model(c, path, n_threads, false, out, err);
}

hone_rc cli_model_open_timed(const cli *c, const char *path, cli_model *out, hone_err *err) {
    if (cli_is_model(path)) return open_model(c, path, 1, true, out, err);
    return cli_fail(err, HONE_E_USAGE, "'%s' is no model; give the .onnx or .ir that it was compiled from", path);
}

void cli_model_unlink(cli_model *m) {
    if (m->folder) remove_folder(m->folder);
    free(m->folder);
    m->folder = NULL;
}

void cli_model_close(cli_model *m) {
    hone_program_free(m->program);
    cli_model_unlink(m);
    *m = (cli_model){0};
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */

size_t cli_array_count(const hone_array *a) {
    size_t n = 1;
    for (uint32_t d = 0; d < a->rank; d++) n *= (size_t)a->dim[d];
    return n;
}

size_t cli_array_bytes(const hone_array *a) { return cli_array_count(a) * hone_dtype_size_b(a->dtype); }

const char *cli_array_text(const hone_array *a, char buf[256]) {
    size_t n = (size_t)snprintf(buf, 256, "%s[", hone_dtype_name(a->dtype));
    for (uint32_t d = 0; d < a->rank && n < 220; d++)
        n += (size_t)snprintf(buf + n, 256 - n, "%s%lld", d ? ", " : "", (long long)a->dim[d]);
    snprintf(buf + n, 256 - n, "]");
    return buf;
}

hone_model_tensor *cli_model_tensors(const cli_arrays *in) {
    hone_model_tensor *t = cli_alloc(in->n + 1, sizeof *t);
    for (size_t i = 0; i < in->n; i++) {
        t[i] = (hone_model_tensor){
            .data = in->a[i].data, .dtype = (int32_t)in->a[i].dtype, .rank = (int32_t)in->a[i].rank};
        memcpy(t[i].dim, in->a[i].dim, sizeof t[i].dim);
    }
    return t;
}

/* Types that NumPy lacks come as unsigned integers of their size. */
static void take_type(hone_array *a, hone_dtype wanted) {
    bool stands_in = a->dtype == HONE_U8 || a->dtype == HONE_U16;
    if (stands_in && a->dtype != wanted && hone_dtype_size_b(a->dtype) == hone_dtype_size_b(wanted) &&
        wanted != HONE_I8 && wanted != HONE_I16 && wanted != HONE_F16 && wanted != HONE_BOOL)
        a->dtype = wanted;
}

static size_t find_name(const cli_arrays *x, const char *name) {
    for (size_t i = 0; i < x->n; i++)
        if (x->name[i] && !strcmp(x->name[i], name)) return i;
    return x->n;
}

hone_rc cli_arrays_match(const hone_model *m, cli_arrays *x, hone_err *err) {
    bool named = x->n > 0;
    for (size_t i = 0; i < x->n; i++) named = named && x->name[i];
    if (x->n != (size_t)m->n_inputs)
        return cli_fail(err, HONE_E_INPUT, "the model has %d inputs, %zu arrays are given", m->n_inputs, x->n);
    for (int32_t i = 0; i < m->n_inputs; i++) {
        size_t at = named ? find_name(x, m->input[i].name) : (size_t)i;
        if (at == x->n)
            return cli_fail(err, HONE_E_INPUT, "no array is called '%s', as the model's input %d is", m->input[i].name,
                            i);
        hone_array a = x->a[at];
        char *name = x->name[at];
        x->a[at] = x->a[i], x->name[at] = x->name[i];
        x->a[i] = a, x->name[i] = name;
        take_type(&x->a[i], (hone_dtype)m->input[i].dtype);
    }
    return HONE_OK;
}

/* --- random inputs: splitmix64 and Box-Muller, the same numbers everywhere ------------------------------------------
 */

static uint64_t next(uint64_t *s) {
    uint64_t x = *s += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double normal(uint64_t *s) {
    double u = ((double)(next(s) >> 11) + 1) * 0x1p-53, v = (double)(next(s) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* f32 to f16, towards 0; what is too small for a normal number is 0. */
static uint16_t half_of(uint32_t bits) {
    uint32_t exponent = bits >> 23 & 255;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    return exponent < 113 ? sign : (uint16_t)(sign | (exponent - 112) << 10 | (bits >> 13 & 1023));
}

static void fill(hone_array *a, uint64_t *s) {
    size_t n = cli_array_count(a), size_b = hone_dtype_size_b(a->dtype);
    for (size_t i = 0; i < n; i++) {
        float f = (float)normal(s);
        double d = f;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        uint16_t b = (uint16_t)(bits >> 16), h = half_of(bits);
        uint64_t whole = next(s) >> 63;
        const void *from = a->dtype == HONE_F32    ? (const void *)&f
                           : a->dtype == HONE_F64  ? (const void *)&d
                           : a->dtype == HONE_F16  ? (const void *)&h
                           : a->dtype == HONE_BF16 ? (const void *)&b
                                                   : (const void *)&whole; /* little-endian: the low bytes */
        memcpy((char *)a->data + i * size_b, from, size_b);
    }
}

/* The word of a shape text such as "[batch, 3]" that stands at dimension d. */
static void dim_word(const char *shape, int32_t d, char *out, size_t room) {
    const char *s = shape + (*shape == '[');
    int depth = 0;
    size_t n = 0;
    for (; *s && !(depth == 0 && *s == ']'); s++) {
        if (*s == '(') depth++;
        if (*s == ')') depth--;
        if (*s == ',' && !depth) {
            if (!d--) break;
            continue;
        }
        if (d == 0 && n + 1 < room && (*s != ' ' || n)) out[n++] = *s;
    }
    out[n] = 0;
}

static bool given_size(const char *sizes, const char *word, int64_t *out) {
    size_t n = strlen(word);
    for (const char *s = sizes; s && *s; s = strchr(s, ','), s = s ? s + 1 : NULL)
        if (!strncmp(s, word, n) && s[n] == '=') {
            char *end;
            *out = strtoll(s + n + 1, &end, 10);
            return end > s + n + 1 && (*end == ',' || !*end);
        }
    return false;
}

hone_rc cli_arrays_random(const hone_model *m, const char *sizes, uint64_t seed, cli_arrays *out, hone_err *err) {
    cli_arrays x = {.n = (size_t)m->n_inputs};
    x.a = cli_alloc(x.n + 1, sizeof *x.a);
    x.name = cli_alloc(x.n + 1, sizeof *x.name);
    for (int32_t i = 0; i < m->n_inputs; i++) {
        const hone_model_port *p = &m->input[i];
        hone_array *a = &x.a[i];
        *a = (hone_array){.dtype = (hone_dtype)p->dtype, .rank = (uint32_t)p->rank};
        for (int32_t d = 0; d < p->rank; d++) {
            char word[128];
            a->dim[d] = p->dim[d] >= 0 ? p->dim[d] : p->low[d] > 1 ? p->low[d] : 1;
            dim_word(p->shape, d, word, sizeof word);
            if (p->dim[d] < 0) given_size(sizes, word, &a->dim[d]);
            int64_t size = a->dim[d];
            if (size < p->low[d] || size > p->high[d]) {
                cli_arrays_free(&x);
                return cli_fail(err, HONE_E_USAGE, "'%s' of input '%s' cannot be %lld: the model takes %lld .. %lld",
                                word, p->name, (long long)size, (long long)p->low[d], (long long)p->high[d]);
            }
        }
        x.name[i] = cli_strdup(p->name);
        a->data = calloc(cli_array_bytes(a) + 8, 1);
        if (!a->data) {
            cli_arrays_free(&x);
            return cli_fail(err, HONE_E_NOMEM, "out of memory for the inputs");
        }
        uint64_t s = seed * 1000003 + (uint64_t)i;
        fill(a, &s);
    }
    *out = x;
    return HONE_OK;
}
