/* source_device.c — what a model for a device has more than one for the host: the text of its kernels in the device's
 * language, for each a function of the host that launches it, and the runtime that opens drivers. */
#include "artifact/artifact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hn_is_on_device(const hn_dialect *d) { return d->backend->driver != NULL; }
bool hn_kernel_on_device(const hn_model *m, const hn_kernel *k) { return hn_is_on_device(m->dialect) && !k->on_host; }
/* Where kernels were put on the host because they are faster there, it is the library's best processor, or this one. */
const hn_dialect *hn_host_dialect(const hn_model *m) {
    if (!hn_is_on_device(m->dialect)) return m->dialect;
    for (uint32_t t = 0; m->options->split && t < m->lib->n_target; t++)
        if (!hn_is_on_device(m->lib->target[t])) return m->lib->target[t];
    return hn_dialect_named(m->options->split ? "native" : "generic");
}

/* A carried text without the lines that include its neighbours. */
static void add_carried(const char *text, hn_str *out) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        n += text[n] == '\n';
        if (strncmp(text, "#include \"", 10) != 0) hn_str_add_n(out, text, n);
        text += n;
    }
}

static bool is_cuda(const hn_model *m) { return !strcmp(m->dialect->backend->driver, "cuda"); }

void hn_source_device_runtime(const hn_model *m, bool drivers, hn_str *out) {
    add_carried(hn_carried_device_driver(), out);
    if (drivers) {
        add_carried(hn_carried_driver_cache(), out);
        add_carried(is_cuda(m) ? hn_carried_driver_cuda() : hn_carried_driver_opencl(), out);
        if (is_cuda(m)) add_carried(hn_carried_driver_shim(), out);
    }
    add_carried(hn_carried_graph(), out);
    add_carried(hn_carried_device(), out);
}

/* What the build writes beside a library's sources: the machine code there is (room build). */
static bool has_images(const hn_model *m) { return m->dialect->backend->images && m->options->emit == HONE_EMIT_SO; }

static void add_images(const hn_model *m, const char *before, hn_str *out) {
    if (has_images(m))
        hn_str_addf(out, "%s#include \"m%u_images.h\"\n", before, m->number);
    else
        hn_str_add(out, *before ? "enum { HNM_N_IMAGES = 0 };\n" : "#define HNM_PTX 0\n");
}

/* CUDA's kernels run on the shim, too, where HONE_MODEL_PLACE asks for it. */
void hn_source_device_instance(const hn_model *m, hn_str *out) {
    const char *sm = strstr(m->dialect->name, "sm_");
    add_carried(hn_carried_instance_device(), out);
    add_images(m, "", out);
    hn_str_add(out, "static const hnd_driver *hnm_driver(void) {\n");
    if (is_cuda(m))
        hn_str_add(out, "    const char *place = getenv(\"HONE_MODEL_PLACE\");\n"
                        "    if (place && !strcmp(place, \"shim\")) return &hnd_shim;\n");
    hn_str_addf(out,
                "    return &hnd_%s;\n}\n"
                "HNR int hnm_device_offers(void) {\n"
                "    return (%s) ? hnm_device_offers_arch(%d, %d && !HNM_PTX) : 0;\n}\n",
                m->dialect->backend->driver, hn_host_dialect(m)->offered, sm ? atoi(sm + 3) : 0, sm && strchr(sm, 'a'));
}

/* What the kernels of the model that no earlier version has need all together. */
static hone_rc make_head(const hn_model *m, hn_str *out) {
    hn_str names = {0};
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        const hn_kernel *k = &m->kernel[i];
        if (k->same || !hn_kernel_on_device(m, k) || !k->code.helpers) continue;
        hn_str_add(&names, " ");
        hn_str_add(&names, k->code.helpers);
    }
    bool good = !names.failed && m->dialect->backend->add_runtime(out, names.text ? names.text : "");
    hn_str_free(&names);
    return good ? HONE_OK : HONE_E_FAILED;
}

/* A string of lines, each a literal of its own. */
static void add_lines(const char *text, hn_str *out) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        n += text[n] == '\n';
        hn_str_add(out, "    \"");
        for (size_t i = 0; i < n; i++) {
            if (text[i] == '\n')
                hn_str_add(out, "\\n");
            else if (text[i] == '"' || text[i] == '\\' || text[i] == '?')
                hn_str_addf(out, "\\%c", text[i]);
            else
                hn_str_add_n(out, text + i, 1);
        }
        hn_str_add(out, "\"\n");
        text += n;
    }
}

static void add_text(const char *name, const char *text, hn_str *out) {
    hn_str_addf(out, "static const char hnm_text_%s[] =\n    \"\"\n", name);
    add_lines(text, out);
    hn_str_add(out, ";\n");
}

static void add_options(const hn_model *m, hn_str *out) {
    for (size_t i = 0; m->dialect->flags && m->dialect->flags[i]; i++)
        hn_str_addf(out, "%s%s", i ? " " : "", m->dialect->flags[i]);
    if (m->options->relaxed && m->dialect->relaxed_flag) hn_str_addf(out, " %s", m->dialect->relaxed_flag);
}

const char *hn_source_device_options(const hn_model *m, hn_arena *a) {
    hn_str text = {0};
    add_options(m, &text);
    const char *kept = text.failed ? NULL : hn_strdup(a, text.text ? text.text : "");
    hn_str_free(&text);
    return kept;
}

hone_rc hn_source_device_text(const hn_model *m, hn_str *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_kernel; i++) n += !m->kernel[i].same && hn_kernel_on_device(m, &m->kernel[i]);
    hone_rc rc = n ? make_head(m, out) : HONE_OK;
    for (uint32_t i = 0; i < m->n_kernel && !rc; i++)
        if (!m->kernel[i].same && hn_kernel_on_device(m, &m->kernel[i])) hn_str_add(out, m->kernel[i].code.text);
    return rc;
}

static void add_module(const hn_model *m, const char *head, hn_str *out) {
    add_text("head", head, out);
    for (uint32_t i = 0; i < m->n_kernel; i++)
        if (!m->kernel[i].same && hn_kernel_on_device(m, &m->kernel[i]))
            add_text(m->kernel[i].name, m->kernel[i].code.text, out);
    hn_str_add(out, "static const char *const hnm_texts[] = {");
    for (uint32_t i = 0; i < m->n_kernel; i++)
        if (!m->kernel[i].same && hn_kernel_on_device(m, &m->kernel[i]))
            hn_str_addf(out, "hnm_text_%s, ", m->kernel[i].name);
    hn_str_add(out, "NULL};\n");
    add_images(m, "#define HNM_WITH_IMAGES\n", out);
    hn_str_add(out, "static const hnd_module hnm_module = {hnm_text_head, hnm_texts, \"");
    add_options(m, out);
    hn_str_addf(out, "\", %s, HNM_N_IMAGES, %u};\n", has_images(m) ? "hnm_images" : "NULL", m->version);
}

/* The function that launches a kernel: a hone_kernel_fn, whose scratch is the stream's. */
static void add_stub(const hn_model *m, const hn_kernel *k, hn_str *out) {
    const hn_device_code *d = &k->code.device;
    const hn_blk *b = &m->g->block[k->body];
    hn_symbol defined[64];
    size_t n_symbol = hn_dims_symbols(m->g->dims);
    uint32_t n_buf = b->n_param + b->n_result + (uint32_t)hn_body_symbols(m->g, k->body, defined, 64);
    bool *used = hn_alloc_n((hn_arena *)&m->arena, n_symbol + 1, sizeof *used);
    hn_str_addf(out, "static const uint32_t hnm_symbols_%s[] = {", k->name);
    for (uint32_t i = 0; i < d->n_symbol; i++) hn_str_addf(out, "%u, ", d->symbol[i]);
    hn_str_addf(out,
                "0};\nstatic const hnd_kernel hnm_kernel_%s = {\"%s\", hnm_text_%s, &hnm_module, %u, %u, %u, "
                "hnm_symbols_%s, %d, "
                "%lld, %d, %d};\n",
                k->name, k->name, k->name, k->index, n_buf, d->n_symbol, k->name, d->threads,
                d->shared_dynamic ? (long long)d->shared_b : 0LL, d->block_items, d->cluster);
    hn_str_addf(out,
                "static void %s(void *const *b, const int64_t *s, int64_t begin, int64_t end, char *scratch) {\n"
                "    (void)scratch;\n",
                k->name);
    if (used && k->code.scratch_b) hn_dim_mark(m->g->dims, k->code.scratch_b, used);
    for (size_t i = 0; used && i < n_symbol; i++)
        if (used[i]) hn_str_addf(out, "    const int64_t Z_%zu = s[%zu];\n", i, i);
    hn_str_addf(out, "    hnd_run((hnd_stream *)(uintptr_t)s[-2], &hnm_kernel_%s, b, s, begin, end, ", k->name);
    if (k->code.scratch_b)
        hn_dim_print_c(m->g->dims, k->code.scratch_b, "Z_", out);
    else
        hn_str_add(out, "0");
    hn_str_add(out, ");\n}\n");
}

hone_rc hn_source_device_kernels(const hn_model *m, uint32_t unit, hn_str *out) {
    hn_str text = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_kernel; i++)
        n += !m->kernel[i].same && m->kernel[i].unit == unit && hn_kernel_on_device(m, &m->kernel[i]);
    if (!n) return HONE_OK;
    hone_rc rc = make_head(m, &text);
    if (!rc && text.text) add_module(m, text.text, out);
    out->failed = out->failed || text.failed;
    hn_str_free(&text);
    for (uint32_t i = 0; i < m->n_kernel && !rc; i++)
        if (!m->kernel[i].same && m->kernel[i].unit == unit && hn_kernel_on_device(m, &m->kernel[i])) {
            add_stub(m, &m->kernel[i], out);
            if (unit) hn_source_export(out, "hidden", hn_kernel_symbol(m, &m->kernel[i]), m->kernel[i].name);
        }
    return rc;
}

/* Which slots are the device's: constants, items of its arena, growing buffers, inputs that it alone reads. */
static void add_slots(const char *name, uint32_t n, const hn_val *v, const char *size, hn_str *out) {
    hn_str_addf(out, "static const int32_t %s[%s + 1] = {", name, size);
    for (uint32_t i = 0; i < n; i++) hn_str_addf(out, "%u, ", v[i]);
    hn_str_add(out, "0};\n");
}

static bool is_read_by_host(const hn_program *p, hn_val input) {
    for (uint32_t b = 0; b < p->n_block; b++)
        for (uint32_t i = 0; i < p->block[b].n; i++) {
            const hn_step *s = &p->block[b].step[i];
            bool sizes = s->kind == HN_STEP_SIZE || s->kind == HN_STEP_CHECK;
            for (uint32_t k = 0; k < s->n_in && !sizes; k++) {
                if (!s->in[k] || hn_program_root(p, s->in[k]) != input) continue;
                if (s->kind != HN_STEP_COPY || p->value[hn_program_root(p, s->out[0])].space == HN_HOST) return true;
                if (s->in[k] != input) return true; /* a view is copied as it is */
            }
        }
    for (uint32_t j = 0; j < p->n_output; j++)
        if (hn_program_root(p, p->output[j].value) == input) return true;
    return false;
}

void hn_source_slots(const hn_model *m, hn_str *out) {
    const hn_program *p = &m->program;
    hn_arena *a = (hn_arena *)&m->arena;
    uint32_t n_constant = m->layout.n_constant, n_grown = hn_program_grown(p);
    bool device = hn_is_on_device(m->dialect);
    hn_val *constant[2], *item[2];
    uint8_t *grown = hn_alloc_n(a, n_grown + 1, 1), *alone = hn_alloc_n(a, 1024, 1);
    for (int k = 0; k < 2; k++) {
        constant[k] = hn_alloc_n(a, n_constant + 1, sizeof **constant);
        item[k] = hn_alloc_n(a, p->n_item + 1, sizeof **item);
        if (!constant[k] || !item[k]) out->failed = true;
    }
    if (!grown || !alone) out->failed = true;
    for (hn_val v = 1; v < p->n_value && !out->failed; v++) {
        const hn_program_value *x = &p->value[v];
        int k = x->space != HN_HOST;
        if (x->where == HN_AT_WEIGHTS) constant[k][x->index] = v;
        if (x->where == HN_AT_ARENA) item[k][x->index] = v;
        if (x->where == HN_AT_GROWN) grown[x->index] = k == 1;
        if (x->where == HN_AT_INPUT && x->index < 1024) alone[x->index] = !is_read_by_host(p, v);
    }
    if (out->failed) return;
    add_slots("hnm_constant_slot", n_constant, constant[0], "HNM_CONSTANTS", out);
    add_slots("hnm_item_slot", p->n_item, item[0], "HNM_ITEMS", out);
    if (!device) return;
    add_slots("hnm_constant_slot_device", n_constant, constant[1], "HNM_CONSTANTS", out);
    add_slots("hnm_item_slot_device", p->n_item, item[1], "HNM_ITEMS", out);
    hn_str_add(out, "static const uint8_t hnm_grown_device[HNM_GROWN + 1] = {");
    for (uint32_t i = 0; i < n_grown; i++) hn_str_addf(out, "%u, ", grown[i]);
    hn_str_add(out, "0};\nstatic const uint8_t hnm_input_device[HNM_INPUTS + 1] = {");
    for (uint32_t i = 0; i < hn_port_number(m->lib->states, m->g->block[0].n_param, false); i++)
        hn_str_addf(out, "%u, ", i < 1024 ? alone[i] : 0u);
    hn_str_add(out, "0};\n");
}
