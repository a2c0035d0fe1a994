/* backend/cpu/winograd.c — convolutions whose windows are evaluated for Winograd's minimal filtering (ir/winograd.h) as
 * calls of rt/winograd.h, with what follows on the result as their epilogue.
 *
 * No loop nest: what a tile keeps between its transforms has no form there. The other schedules of such a kernel are
 * those of any convolution, which read the weights instead. Fits kernels of one convolution of parameters and pointwise
 * code on its result that is written in vectors: sums, products, limits, numbers, one value for each channel, values of
 * the result's shape.
 */
#include "ir/winograd.h"
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "sketch/constants.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES, PANELS, N_KNOBS };
enum { NAMES_MAX = 64 };

typedef struct form {
    const hn_graph *g;
    hn_block body;
    const hn_node *conv;
    int64_t tile, channels, height, width, results, rows, columns, low[2];
    hn_dim images;
    int64_t least; /* images at least */
} form;

static int64_t size_of(const hn_graph *g, hn_val v, size_t d) {
    int64_t n = 0;
    hn_dim_is_int(g->dims, hn_type_of(g, v)->dim[d], &n);
    return n;
}

static bool is_param(const form *f, hn_val v) { return v && f->g->value[v].block == f->body && !f->g->value[v].node; }
static unsigned buffer(const form *f, hn_val v) { return f->g->value[v].index; }

/* --- the epilogue: expressions of vectors --- */
typedef struct writer {
    const form *f;
    hn_str *out; /* NULL: only whether it can be written */
    hn_val done[NAMES_MAX];
    int n_done;
} writer;

static void line(writer *w, hn_val v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void line(writer *w, hn_val v, const char *fmt, ...) {
    char text[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (w->out) hn_str_addf(w->out, "    const hnr_lf v%u = %s;\n", v, text);
    w->done[w->n_done++] = v;
}

static bool is_done(const writer *w, hn_val v) {
    for (int i = 0; i < w->n_done; i++)
        if (w->done[i] == v) return true;
    return false;
}

/* The parameter or constant behind reshapes. */
static hn_val behind(const form *f, hn_val v) {
    for (const hn_node *n = hn_def(f->g, v); n && n->op == HN_OP_RESHAPE; n = hn_def(f->g, v)) v = n->in[0];
    return v;
}

/* One number everywhere. */
static bool write_number(writer *w, hn_val v, hn_val from) {
    const hn_node *n = hn_def(w->f->g, from);
    const hn_attr *value = n && n->op == HN_OP_CONST ? hn_attr_get(n, HN_A_VALUE) : NULL;
    const hn_tensor *t = value ? value->tensor : NULL;
    if (t && t->dtype == HONE_F32 && hn_tensor_n(t) == 1)
        line(w, v, "hnr_l_all((float)%a)", (double)*(const float *)t->data);
    else if (is_param(w->f, from))
        line(w, v, "hnr_l_all(((const hnr_f32 *)buf[%u])[0])", buffer(w->f, from));
    else
        return false;
    return true;
}

/* A broadcast of one number, or of one for each channel. */
static bool write_broadcast(writer *w, hn_val v, const hn_node *n) {
    const hn_graph *g = w->f->g;
    const hn_type *t = hn_type_of(g, n->in[0]);
    const hn_attr *map = hn_attr_get(n, HN_A_MAP);
    hn_val from = behind(w->f, n->in[0]);
    int64_t count = 1;
    for (size_t d = 0; d < t->rank; d++) count *= size_of(g, n->in[0], d);
    if (count == 1) return write_number(w, v, from);
    int64_t last = t->rank ? size_of(g, n->in[0], t->rank - 1u) : 0;
    if (count != w->f->results || last != count || map->ints[map->n - 1] != 3 || !is_param(w->f, from)) return false;
    line(w, v, "hnr_winograd_load((const hnr_f32 *)buf[%u] + c, n)", buffer(w->f, from));
    return true;
}

static bool write_value(writer *w, hn_val v);

static bool write_pointwise(writer *w, hn_val v, const hn_node *n) {
    static const struct {
        hn_op op;
        const char *function, *infix;
    } form_of[] = {{HN_OP_ADD, "", " +"},
                   {HN_OP_SUB, "", " -"},
                   {HN_OP_MUL, "", " *"},
                   {HN_OP_MAX, "hnr_winograd_max", ","},
                   {HN_OP_MIN, "hnr_winograd_min", ","}};
    for (size_t i = 0; i < n->n_in; i++)
        if (!write_value(w, n->in[i])) return false;
    if (w->n_done >= NAMES_MAX) return false;
    for (size_t i = 0; i < sizeof form_of / sizeof *form_of; i++) {
        if (form_of[i].op != n->op) continue;
        line(w, v, "%s(v%u%s v%u)", form_of[i].function, n->in[0], form_of[i].infix, n->in[1]);
        return true;
    }
    return false;
}

static bool write_value(writer *w, hn_val v) {
    const form *f = w->f;
    const hn_node *n = hn_def(f->g, v);
    if (is_done(w, v)) return true;
    if (w->n_done >= NAMES_MAX || hn_type_of(f->g, v)->dtype != HONE_F32) return false;
    if (v == f->conv->out[0]) {
        line(w, v, "y");
        return true;
    }
    if (is_param(f, v)) {
        if (!hn_type_same(f->g, hn_type_of(f->g, v), hn_type_of(f->g, f->conv->out[0]))) return false;
        line(w, v, "hnr_winograd_load((const hnr_f32 *)buf[%u] + at, n)", buffer(f, v));
        return true;
    }
    if (n && n->op == HN_OP_BROADCAST) return write_broadcast(w, v, n);
    return n && write_pointwise(w, v, n);
}

/* Each result, stored. */
static bool write_epilogue(const form *f, hn_str *out) {
    const hn_blk *b = &f->g->block[f->body];
    writer w = {.f = f, .out = out};
    for (uint32_t i = 0; i < b->n_result; i++) {
        if (!hn_type_same(f->g, hn_type_of(f->g, b->result[i]), hn_type_of(f->g, f->conv->out[0]))) return false;
        if (!write_value(&w, b->result[i])) return false;
        if (out)
            hn_str_addf(out, "    hnr_winograd_store((hnr_f32 *)buf[%u] + at, v%u, n);\n", b->n_param + i,
                        b->result[i]);
    }
    return b->n_result > 0;
}

/* --- the form --- */
static bool read_form(const hn_graph *g, hn_block body, form *f) {
    const hn_blk *b = &g->block[body];
    int64_t most;
    *f = (form){.g = g, .body = body};
    for (uint32_t i = 0; i < b->n_node; i++) {
        const hn_node *n = &g->node[b->node[i]];
        if (n->op == HN_OP_CONV && f->conv) return false;
        if (n->op == HN_OP_CONV) f->conv = n;
    }
    if (!f->conv || !(f->tile = hn_winograd_tile(g, f->conv))) return false;
    hn_val x = f->conv->in[0], y = f->conv->out[0];
    if (!is_param(f, x) || !is_param(f, f->conv->in[2]) || hn_type_of(g, y)->dtype != HONE_F32) return false;
    f->images = hn_type_of(g, y)->dim[0];
    hn_dim_range(g->dims, f->images, &f->least, &most);
    f->height = size_of(g, x, 1), f->width = size_of(g, x, 2), f->channels = size_of(g, x, 3);
    f->rows = size_of(g, y, 1), f->columns = size_of(g, y, 2), f->results = size_of(g, y, 3);
    const hn_attr *low = hn_attr_get(f->conv, HN_A_LOW);
    for (size_t d = 0; d < 2; d++)
        if (low && !hn_dim_is_int(g->dims, low->dims[d], &f->low[d])) return false;
    return f->height > 0 && f->width > 0 && f->rows > 0 && f->columns > 0 && write_epilogue(f, NULL);
}

static int64_t tiles_of_image(const form *f) {
    return (f->rows + f->tile - 1) / f->tile * ((f->columns + f->tile - 1) / f->tile);
}
static int64_t panels_of(const form *f) { return (f->results + HN_WINOGRAD_PANEL - 1) / HN_WINOGRAD_PANEL; }
static int64_t points_of(const form *f) { return (f->tile + 2) * (f->tile + 2); }

/* --- knobs --- */
/* Tiles whose evaluations stay in the second-level cache; more, where the windows come from beyond it and would be read
 * for few tiles only. In equal chunks of whole register tiles. */
static int64_t best_tiles(const form *f, const hn_machine *m) {
    int64_t each_b = 4 * points_of(f) * f->channels, all = tiles_of_image(f) * (f->least > 0 ? f->least : 1);
    int64_t n = (int64_t)(HN_WINOGRAD_L2_SHARE * (double)m->l2_b) / each_b;
    if (4 * points_of(f) * f->channels * f->results > m->l3_b / 2) n = HN_WINOGRAD_TILES_MAX;
    if (n < HN_WINOGRAD_TILES_MIN) n = HN_WINOGRAD_TILES_MIN;
    if (n > HN_WINOGRAD_TILES_MAX) n = HN_WINOGRAD_TILES_MAX;
    int64_t chunks = (all + n - 1) / n, even = (all + chunks - 1) / chunks;
    return (even + HN_WINOGRAD_ROWS - 1) / HN_WINOGRAD_ROWS * HN_WINOGRAD_ROWS;
}

/* Panels of an item: all, unless cores would go without: then each evaluates the tiles anew. */
static int64_t best_panels(const form *f, const hn_machine *m, int64_t tiles) {
    int64_t chunks = (tiles_of_image(f) * (f->least > 0 ? f->least : 1) + tiles - 1) / tiles, panels = panels_of(f);
    int64_t cores = m->cores > 0 ? m->cores : 1, groups = (cores + chunks - 1) / chunks;
    if (chunks >= 2 * cores || groups < 1) groups = 1;
    return (panels + groups - 1) / groups;
}

static void find_knobs(const form *f, const hn_machine *m, hn_knobs *out) {
    hn_knob *k = out->knob;
    out->n = N_KNOBS;
    k[TILES] = (hn_knob){.name = "tiles", .model = best_tiles(f, m)};
    k[PANELS] = (hn_knob){.name = "panels"};
    k[PANELS].model = best_panels(f, m, k[TILES].model);
    for (int i = 0; i < N_KNOBS; i++) hn_knob_add(&k[i], k[i].model);
    for (int64_t n = HN_WINOGRAD_ROWS; n <= 2 * HN_WINOGRAD_TILES_MAX; n *= 2) hn_knob_add(&k[TILES], n);
    for (int64_t n = 3 * HN_WINOGRAD_ROWS; n <= HN_WINOGRAD_TILES_MAX; n *= 2) hn_knob_add(&k[TILES], n);
    for (int64_t n = 1; n < panels_of(f); n *= 2) hn_knob_add(&k[PANELS], n);
    hn_knob_add(&k[PANELS], panels_of(f));
}

/* Is it expected to be faster than multiplying in full on this machine? What its figures say: windows that come from
 * memory are shared by the cores that use them. */
static bool pays(const form *f, const hn_machine *m) {
    double flops = m->f32_flops > 0 ? m->f32_flops : HN_WINOGRAD_USUAL_FLOPS,
           cores = m->cores > 0 ? (double)m->cores : 1;
    double weights = (double)f->channels * (double)f->results, windows_b = 4 * (double)points_of(f) * weights;
    double bps = windows_b > (double)m->l3_b ? m->memory_bps : m->l3_bps;
    if (bps <= 0) bps = HN_WINOGRAD_USUAL_BPS;
    double images = f->least > 0 ? (double)f->least : 1, tiles = images * (double)tiles_of_image(f);
    double products = 2 * (double)points_of(f) * weights * tiles / flops;
    double transforms =
        tiles * (double)points_of(f) * (double)(f->channels + f->results) * HN_WINOGRAD_TRANSFORM / flops;
    double direct = 2 * 9 * weights * images * (double)(f->rows * f->columns) / (flops * HN_WINOGRAD_DIRECT);
    return (products + transforms) / cores + windows_b / bps < HN_WINOGRAD_GAIN * (direct / cores + 36 * weights / bps);
}

bool hn_cpu_winograd_fit(const hn_graph *g, hn_block body, const hn_machine *m, hn_knobs *out, bool *first) {
    form f;
    if (m->vector_b < 16 || !read_form(g, body, &f)) return false;
    find_knobs(&f, m, out);
    *first = pays(&f, m);
    return true;
}

/* --- text --- */
static void add_images(const form *f, hn_str *out) {
    hn_dims *t = f->g->dims;
    bool *used = calloc(hn_dims_symbols(t) + 1, sizeof *used);
    if (!used) out->failed = true;
    if (used) hn_dim_mark(t, f->images, used);
    for (size_t i = 0; used && i < hn_dims_symbols(t); i++)
        if (used[i]) hn_str_addf(out, "    const int64_t s%zu = s[%zu];\n", i, i);
    hn_str_add(out, "    const int64_t images = ");
    hn_dim_print_c(t, f->images, "s", out);
    hn_str_add(out, ";\n");
    free(used);
}

static void add_kernel(const form *f, const char *name, const int64_t *setting, hn_str *out) {
    const hn_val *in = f->conv->in;
    hn_str_addf(out, "HNR_ALWAYS void %s_end(void *const *buf, hnr_lf y, int64_t at, int64_t c, int n) {\n", name);
    hn_str_add(out, "    (void)c;\n");
    write_epilogue(f, out);
    hn_str_addf(out, "}\n" HN_KERNEL_HEAD, name);
    hn_str_add(out, "    (void)s;\n");
    add_images(f, out);
    hn_str_addf(out, "    const hnr_winograd j = {.x = (const hnr_f32 *)buf[%u], .u = (const hnr_f32 *)buf[%u],\n",
                buffer(f, in[0]), buffer(f, in[2]));
    hn_str_addf(out,
                "        .images = images, .height = %" PRId64 ", .width = %" PRId64 ", .channels = %" PRId64
                ", .rows = %" PRId64 ", .columns = %" PRId64 ",\n        .results = %" PRId64 ", .low = {%" PRId64
                ", %" PRId64 "}, .tiles = %" PRId64 ", .panels = %" PRId64 "};\n",
                f->height, f->width, f->channels, f->rows, f->columns, f->results, f->low[0], f->low[1], setting[TILES],
                setting[PANELS]);
    hn_str_addf(out, "    hnr_winograd_items(&j, begin, end, (float *)(void *)scratch, buf, %s_end, %" PRId64 ");\n}\n",
                name, f->tile);
}

hone_rc hn_cpu_winograd(hn_graph *g, hn_block body, const char *name, const int64_t *setting, hn_arena *a,
                        hn_kernel_code *out, hone_err *err) {
    form f;
    hn_str text = {0};
    hn_dims *t = g->dims;
    read_form(g, body, &f);
    add_kernel(&f, name, setting, &text);
    int64_t wide = (f.channels + 15) / 16 * 16, groups = (panels_of(&f) + setting[PANELS] - 1) / setting[PANELS];
    hn_dim tiles = hn_dim_mul(t, f.images, hn_dim_int(t, tiles_of_image(&f)));
    *out = (hn_kernel_code){.helpers = "base winograd"};
    out->work = hn_dim_mul(t, hn_dim_ceildiv(t, tiles, hn_dim_int(t, setting[TILES])), hn_dim_int(t, groups));
    /* as hnr_winograd_room, for the widest vectors */
    out->scratch_b = hn_dim_int(t, 4 * (wide + points_of(&f) * (setting[TILES] * (wide + HN_WINOGRAD_PANEL) + 32)));
    out->text = text.failed ? NULL : hn_strdup(a, text.text);
    hn_str_free(&text);
    return out->text ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory in writing kernel '%s'", name);
}
