/* bench/program/describe.c — the description of a kernel's call, one thing a line (docs/harness-gpu.md). */
#include "program.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { WORDS_MOST = 160, LINE_B = 4096 };

typedef struct reader {
    hone_bench *b;
    hone_gpu *g;
    const char *path;
    unsigned line;
    char *word[WORDS_MOST];
    size_t n;
    hn_params params;
    char *buffer[1024]; /* names, by number */
    size_t n_buffers;
    char options[LINE_B];
    /* the launch being read */
    char *entry;
    hone_gpu_dim grid, block;
    size_t shared_b;
    hone_gpu_arg arg[HN_GPU_ARGS_MOST];
    unsigned char value[HN_GPU_ARGS_MOST][8];
    size_t n_args;
    bool passed;
} reader;

_Noreturn static void wrong(const reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
_Noreturn static void wrong(const reader *r, const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hn_bench_die(r->b, "%s:%u: %s", r->path, r->line, text);
}

static char *copy(const reader *r, const char *text) {
    char *p = strdup(text);
    if (!p) hn_bench_die(r->b, "out of memory");
    return p;
}

static double value_of(const reader *r, const char *text, bool whole) {
    char why[300];
    double x;
    if (!hn_expr_value(text, &r->params, whole, &x, why, sizeof why)) wrong(r, "'%s': %s", text, why);
    return x;
}

static uint64_t count_of(const reader *r, const char *text, double least, double most) {
    double x = value_of(r, text, true);
    if (x < least || x > most) wrong(r, "'%s' is %.0f; expected %.0f to %.0f", text, x, least, most);
    return (uint64_t)x;
}

static hone_gpu_type type_of(const reader *r, const char *word) {
    static const char *const name[] = {"f32", "f64", "f16", "bf16", "i8",  "u8",
                                       "i16", "u16", "i32", "u32",  "i64", "u64"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!strcmp(word, name[i])) return (hone_gpu_type)i;
    wrong(r, "'%s' is no type; known are f64 f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64", word);
}

/* --- lines before a launch -----------------------------------------------------------------------------------------
 */

static void read_parameter(reader *r) {
    if (r->n != 3) wrong(r, "expected: parameter NAME DEFAULT");
    const char *name = r->word[1];
    hn_param *more = realloc(r->params.item, (r->params.n + 1) * sizeof *more);
    if (!more) hn_bench_die(r->b, "out of memory");
    r->params.item = more;
    if (strlen(name) >= sizeof more->name) wrong(r, "the name '%s' is too long", name);
    for (size_t i = 0; i < r->params.n; i++)
        if (!strcmp(more[i].name, name)) wrong(r, "parameter '%s' is given twice", name);
    double dflt = value_of(r, r->word[2], false);
    hn_param *x = &more[r->params.n];
    x->value = hone_bench_arg_double(r->b, name, dflt);
    snprintf(x->name, sizeof x->name, "%s", name);
    r->params.n++;
}

/* Fills data as the words from `at` on say; gives whether one value is meant. */
static bool fill_data(const reader *r, size_t at, void *data, hone_gpu_type type, size_t n) {
    const char *how = at < r->n ? r->word[at] : "";
    size_t left = at < r->n ? r->n - at - 1 : 0;
    uint64_t seed = r->n_buffers + 1;
    if (!*how) {
        hn_gpu_fill_any(data, type, n, seed);
    } else if (!strcmp(how, "uniform") && left == 2) {
        double lo = value_of(r, r->word[at + 1], false), hi = value_of(r, r->word[at + 2], false);
        if (!(lo < hi)) wrong(r, "uniform wants the lower bound first, not %s %s", r->word[at + 1], r->word[at + 2]);
        hone_gpu_fill_uniform(data, type, n, lo, hi, seed);
    } else if (!strcmp(how, "index") && left == 1) {
        hone_gpu_fill_uniform(data, type, n, 0, (double)count_of(r, r->word[at + 1], 1, 0x1p53), seed);
    } else if (!strcmp(how, "normal") && !left) {
        if (!hn_gpu_is_float(type)) wrong(r, "normal is for floating-point types");
        hone_gpu_fill_normal(data, type, n, seed);
    } else if (!strcmp(how, "constant") && (left == 1 || (left == 2 && !strcmp(r->word[at + 2], "anyway")))) {
        hone_gpu_fill_constant(data, type, n, value_of(r, r->word[at + 1], false));
        return left == 2;
    } else {
        wrong(r, "'%s' is no way to fill a buffer; known are: uniform LO HI, normal, index N, constant V anyway", how);
    }
    return false;
}

static void read_buffer(reader *r) {
    static const struct {
        const char *word;
        hone_gpu_use use;
    } uses[] = {{"in", HONE_GPU_IN}, {"out", HONE_GPU_OUT}, {"inout", HONE_GPU_INOUT}};
    if (r->n < 5) wrong(r, "expected: buffer NAME in|out|inout TYPE COUNT [values]");
    size_t k = 0, most = sizeof r->buffer / sizeof *r->buffer;
    while (k < 3 && strcmp(uses[k].word, r->word[2]) != 0) k++;
    if (k == 3) wrong(r, "'%s' is no use of a buffer; known are in, out, inout", r->word[2]);
    for (size_t i = 0; i < r->n_buffers; i++)
        if (!strcmp(r->buffer[i], r->word[1])) wrong(r, "buffer '%s' is given twice", r->word[1]);
    if (r->n_buffers == most) wrong(r, "more than %zu buffers", most);
    if (strlen(r->word[1]) >= sizeof r->g->buffer->name) wrong(r, "the name '%s' is too long", r->word[1]);
    hone_gpu_type type = type_of(r, r->word[3]);
    size_t n = (size_t)count_of(r, r->word[4], 1, 0x1p40);
    bool in = uses[k].use & HONE_GPU_IN, meant = false;
    if (!in && r->n > 5) wrong(r, "an output's values are not given: it is poisoned");
    void *data = in ? calloc(n, hone_gpu_type_size(type)) : NULL;
    if (in && !data) hn_bench_die(r->b, "out of memory for buffer '%s'", r->word[1]);
    if (in) meant = fill_data(r, 5, data, type, n);
    int at = hone_gpu_buffer(r->g, r->word[1], uses[k].use, type, n, data);
    free(data);
    if (meant) hone_gpu_allow_constant(r->g, at);
    r->buffer[r->n_buffers++] = copy(r, r->word[1]);
}

static void read_caches(reader *r) {
    if (r->n != 2) wrong(r, "expected: caches rotate|warm|cold");
    if (!strcmp(r->word[1], "cold"))
        r->b->opt.cold = true;
    else if (!strcmp(r->word[1], "warm"))
        r->b->opt.warm = true;
    else if (strcmp(r->word[1], "rotate") != 0)
        wrong(r, "caches cannot be '%s'; known are rotate, warm, cold", r->word[1]);
}

/* -DTILE={TILE}: a parameter's value in place of its name in braces. */
static void add_option(reader *r, const char *word) {
    size_t at = strlen(r->options), most = sizeof r->options;
    if (at) at += (size_t)snprintf(r->options + at, most - at, " ");
    while (*word && at < most - 1) {
        const char *end = *word == '{' ? strchr(word, '}') : NULL;
        if (end) {
            char name[128];
            snprintf(name, sizeof name, "%.*s", (int)(end - word - 1), word + 1);
            at += (size_t)snprintf(r->options + at, most - at, "%.17g", value_of(r, name, false));
            word = end + 1;
        } else {
            r->options[at++] = *word++;
            r->options[at < most ? at : most - 1] = 0;
        }
    }
    if (at >= most - 1) wrong(r, "the options are too long");
}

static void read_options(reader *r) {
    for (size_t i = 1; i < r->n; i++) add_option(r, r->word[i]);
}

/* --- launches ----------------------------------------------------------------------------------------------------- */

static void end_launch(reader *r) {
    if (!r->entry) return;
    if (!r->passed) wrong(r, "launch '%s' has no line 'pass' with its arguments", r->entry);
    hone_gpu_launch(r->g, r->entry, r->grid, r->block, r->shared_b, r->arg, r->n_args);
    free(r->entry);
    r->entry = NULL;
}

static void read_launch(reader *r) {
    if (r->n != 2) wrong(r, "expected: launch KERNEL");
    end_launch(r);
    r->entry = copy(r, r->word[1]);
    r->grid = r->block = (hone_gpu_dim){1, 1, 1};
    r->shared_b = r->n_args = 0;
    r->passed = false;
}

static void read_dim(reader *r, hone_gpu_dim *out) {
    if (r->n < 2 || r->n > 4) wrong(r, "'%s' takes one to three expressions without blanks", r->word[0]);
    unsigned *at[] = {&out->x, &out->y, &out->z};
    for (size_t i = 1; i < r->n; i++) *at[i - 1] = (unsigned)count_of(r, r->word[i], 1, 0x1p31 - 1);
}

static void read_grid(reader *r) { read_dim(r, &r->grid); }
static void read_block(reader *r) { read_dim(r, &r->block); }

static void read_shared(reader *r) {
    if (r->n != 2) wrong(r, "expected: shared BYTES");
    r->shared_b = (size_t)count_of(r, r->word[1], 0, 0x1p30);
}

static hone_gpu_arg read_scalar(reader *r, char *word, char *colon) {
    unsigned char *to = r->value[r->n_args];
    *colon = 0;
    if (!strcmp(word, "local")) return hone_gpu_local((size_t)count_of(r, colon + 1, 1, 0x1p30));
    hone_gpu_type type = type_of(r, colon + 1);
    double x = value_of(r, word, !hn_gpu_is_float(type));
    hone_gpu_fill_constant(to, type, 1, x);
    hone_gpu_arg a = hone_gpu_value(to, hone_gpu_type_size(type));
    a.real = type == HONE_GPU_F32 || type == HONE_GPU_F64;
    return a;
}

static void read_pass(reader *r) {
    r->passed = true;
    for (size_t i = 1; i < r->n; i++) {
        char *colon = strchr(r->word[i], ':');
        size_t k = 0;
        if (r->n_args == HN_GPU_ARGS_MOST) wrong(r, "more than %d arguments", HN_GPU_ARGS_MOST);
        while (!colon && k < r->n_buffers && strcmp(r->buffer[k], r->word[i]) != 0) k++;
        if (!colon && k == r->n_buffers)
            wrong(r, "'%s' is no buffer named above; a number is written with its type, such as %s:i32", r->word[i],
                  r->word[i]);
        r->arg[r->n_args] = colon ? read_scalar(r, r->word[i], colon) : hone_gpu_pass((int)k);
        r->n_args++;
    }
}

/* --- the file -------------------------------------------------------------------------------------------------------
 */

static const struct {
    const char *word;
    bool of_launch;
    void (*read)(reader *r);
} lines[] = {
    {"parameter", false, read_parameter}, {"buffer", false, read_buffer}, {"caches", false, read_caches},
    {"options", false, read_options},     {"launch", false, read_launch}, {"grid", true, read_grid},
    {"block", true, read_block},          {"shared", true, read_shared},  {"pass", true, read_pass},
};

static void read_line(reader *r, char *text) {
    text[strcspn(text, "#\n")] = 0;
    r->n = 0;
    for (char *save = NULL, *w = strtok_r(text, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
        if (r->n == WORDS_MOST) wrong(r, "more than %d words", WORDS_MOST);
        r->word[r->n++] = w;
    }
    if (!r->n) return;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (strcmp(lines[i].word, r->word[0]) != 0) continue;
        if (lines[i].of_launch && !r->entry) wrong(r, "'%s' belongs below a line 'launch KERNEL'", r->word[0]);
        if (!lines[i].of_launch && r->entry && lines[i].read != read_launch)
            wrong(r, "'%s' stands before the first launch", r->word[0]);
        lines[i].read(r);
        return;
    }
    wrong(
        r,
        "'%s' is not known; a line begins with parameter, buffer, caches, options, launch, grid, block, shared or pass",
        r->word[0]);
}

void hn_describe(hone_bench *b, hone_gpu *g, const char *path, const char *image) {
    reader *r = hn_gpu_memory(g, 1, sizeof *r);
    char text[LINE_B];
    *r = (reader){.b = b, .g = g, .path = path};
    FILE *f = fopen(path, "r");
    if (!f) hn_bench_die(b, "cannot read '%s': %s", path, strerror(errno));
    while (fgets(text, sizeof text, f)) {
        r->line++;
        if (strlen(text) + 1 == sizeof text) wrong(r, "the line is longer than %d bytes", LINE_B - 2);
        read_line(r, text);
    }
    fclose(f);
    end_launch(r);
    if (!r->g->n_launches) wrong(r, "there is no launch");
    hone_gpu_load(g, image, r->options);
    for (size_t i = 0; i < r->n_buffers; i++) free(r->buffer[i]);
    free(r->params.item);
    free(r);
}
