/* source.c — the C files of an artifact: kernels spread over several, the model's own part in the first.
 *
 * A small model is one file, so that its compilation is one call of the compiler. No text of the model gets into the C
 * but as string literals with every unusual byte escaped.
 */
#include "artifact/artifact.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Text of kernels, in bytes, that one C file holds before another is opened. */
enum { UNIT_B = 96 * 1024 };

/* Names of functions that several files see: unique in the library. */
const char *hn_kernel_symbol(const hn_model *m, const hn_kernel *k) {
    if (!k->unit && !k->same) return k->name;
    return hn_format((hn_arena *)&m->arena, "x%u%s", m->target, k->name);
}

/* --- kernels in their files ----------------------------------------------------------------------------------------
 */

/* Flags of its own, or a compiler: a file of its own. */
static bool stands_alone(const hn_kernel *k) { return !k->same && ((k->cc && *k->cc) || (k->flags && *k->flags)); }

/* Bytes of C; kernels of a device all stand in one file, as one text. */
static size_t text_b(const hn_model *m, const hn_kernel *k) {
    return k->same || hn_is_on_device(m->dialect) ? 0 : strlen(k->code.text);
}

/* Assigns files in order, so that a change of one kernel does not move the others. */
static uint32_t assign_units(hn_model *m) {
    size_t total = 0, in_unit = 0;
    uint32_t unit = 0;
    for (uint32_t i = 0; i < m->n_kernel; i++)
        if (!stands_alone(&m->kernel[i])) total += text_b(m, &m->kernel[i]);
    bool one = (total <= UNIT_B && m->lib->n_model == 1) || m->options->emit == HONE_EMIT_C;
    if (!one) unit = 1;
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        size_t n = text_b(m, &m->kernel[i]);
        if (stands_alone(&m->kernel[i])) continue;
        if (in_unit && in_unit + n > UNIT_B) unit += !one, in_unit = 0;
        in_unit += n;
        m->kernel[i].unit = unit;
    }
    for (uint32_t i = 0; i < m->n_kernel; i++)
        if (stands_alone(&m->kernel[i])) m->kernel[i].unit = ++unit;
    return unit + 1;
}

const char hn_source_prelude[] =
    "/* Made by hone " HONE_VERSION "; do not edit. */\n"
    "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n"
    "#include <errno.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
    "#include <stdlib.h>\n#include <string.h>\n#include <dlfcn.h>\n#include <fcntl.h>\n#include <sched.h>\n"
    "#include <sys/mman.h>\n#include <sys/stat.h>\n#include <time.h>\n#include <unistd.h>\n"
    "#if defined(__aarch64__) && defined(__linux__)\n#include <sys/auxv.h>\n#endif\n";

/* For C that users compile themselves: with warnings on, and without hone's flags. */
static void add_for_users(const hn_model *m, hn_str *out) {
    static const char *const quiet[] = {
        "-Wpragmas",          "-Wunknown-warning-option", "-Wpsabi",           "-Wtautological-compare",
        "-Wunused-parameter", "-Wunused-variable",        "-Wunused-function", "-Wunused-value"};
    hn_str_add(out, "/* Compile with: cc -O2 -c -fno-math-errno -fno-trapping-math");
    const hn_dialect *d = hn_host_dialect(m);
    for (size_t i = 0; d->flags && d->flags[i]; i++) hn_str_addf(out, " %s", d->flags[i]);
    if (m->options->relaxed && d->relaxed_flag) hn_str_addf(out, " %s", d->relaxed_flag);
    hn_str_add(out, "; link with -lm -lpthread. */\n#if defined(__GNUC__)\n");
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
        hn_str_addf(out, "#pragma GCC diagnostic ignored \"%s\"\n", quiet[i]);
    hn_str_add(out, "#endif\n");
}

static bool add_runtime(const hn_model *m, uint32_t unit, const char *first, hn_str *out) {
    hn_str names = {0};
    hn_str_add(&names, first);
    for (uint32_t i = 0; i < m->n_kernel; i++)
        if (m->kernel[i].unit == unit && !m->kernel[i].same && m->kernel[i].code.helpers &&
            !hn_kernel_on_device(m, &m->kernel[i])) {
            hn_str_add(&names, " ");
            hn_str_add(&names, m->kernel[i].code.helpers);
        }
    bool good = !names.failed && hn_host_dialect(m)->backend->add_runtime(out, names.text);
    hn_str_free(&names);
    return good;
}

void hn_source_export(hn_str *out, const char *visibility, const char *symbol, const char *kernel) {
    hn_str_addf(out,
                "__attribute__((visibility(\"%s\"))) void %s(void *const *b, const int64_t *s, int64_t i, "
                "int64_t e, char *t) {\n    %s(b, s, i, e, t);\n}\n",
                visibility, symbol, kernel);
}

static void add_kernels(const hn_model *m, uint32_t unit, hn_str *out) {
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        const hn_kernel *k = &m->kernel[i];
        if (k->unit != unit || k->same || hn_kernel_on_device(m, k)) continue;
        hn_str_add(out, k->code.text);
        hn_str_add(out, "\n");
        if (unit) hn_source_export(out, "hidden", hn_kernel_symbol(m, k), k->name);
    }
}

/* --- the model's own part ------------------------------------------------------------------------------------------
 */

static void add_numbers(const hn_model *m, hn_str *out) {
    const hn_layout *l = &m->layout;
    char head[64];
    hn_weights_head(m->lib, head);
    long long n_host = 0;
    for (uint32_t i = 0; i < m->n_kernel; i++) n_host += !hn_kernel_on_device(m, &m->kernel[i]);
    const struct {
        const char *name;
        long long value;
    } number[] = {{"DEVICE", hn_is_on_device(m->dialect)},
                  {"HOST_KERNELS", n_host},
                  {"SLOTS", m->program.n_value},
                  {"SYMBOLS", (long long)hn_dims_symbols(m->g->dims)},
                  {"GROWN", hn_program_grown(&m->program)},
                  {"INPUTS", hn_port_number(m->lib->states, m->g->block[0].n_param, false)},
                  {"OUTPUTS", hn_port_number(m->lib->states, m->g->block[0].n_result, true)},
                  {"STATES", m->lib->states.n},
                  {"CONSTANTS", l->n_constant},
                  {"ITEMS", l->n_item},
                  {"ELEMENTS", HONE_N_DTYPES},
                  {"PROFILE", m->options->profile},
                  {"CALLS", hn_source_n_calls(m)},
                  {"REPLANS", l->sizes == HN_SIZES_OPEN},
                  {"ARENA_B", l->arena_b},
                  {"SCRATCH_B", m->scratch_b},
                  {"WEIGHTS_B", (long long)m->lib->weights_b},
                  {"WEIGHTS_FILE", m->lib->weights_file}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        hn_str_addf(out, "#define HNM_%s %lld\n", number[i].name, number[i].value);
    hn_str_add(out, "#define HNM_WEIGHTS_NAME ");
    hn_str_add_c(out, m->lib->name);
    hn_str_addf(out, " \".weights\"\n#define HNM_WEIGHTS_HEAD \"HONE-WEIGHTS-1\\000\\000%s\"\n", m->lib->weights_hash);
    for (size_t s = 0; s < hn_dims_symbols(m->g->dims); s++) hn_str_addf(out, "#define S_%zu (m->s[%zu])\n", s, s);
}

/* The bytes of the constants as an array: for one C file without a file beside it. */
static hone_rc add_weight_array(const hn_model *m, hn_str *out) {
    hn_str_add(out, "static const _Alignas(64) unsigned char hnm_weights[] = {");
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->layout.n_constant; i++) {
        const hn_tensor *t = hn_attr_get(hn_def(m->g, m->layout.constant[i]), HN_A_VALUE)->tensor;
        uint64_t size_b = (uint64_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b;
        if ((uint64_t)m->weight_at[i] != n) continue;
        for (uint64_t k = 0; k < (size_b + 63) / 64 * 64; k++, n++)
            hn_str_addf(out, "%s%u,", k % 32 ? "" : "\n", k < size_b ? ((const unsigned char *)t->data)[k] : 0u);
    }
    hn_str_add(out, "0};\n");
    return out->failed ? HONE_E_NOMEM : HONE_OK;
}

static hone_rc add_weights(const hn_model *m, hn_str *out) {
    if (m->lib->weights_file) return HONE_OK;
    if (m->options->emit == HONE_EMIT_C) return add_weight_array(m, out);
    hn_str_add(out, "extern const char hnm_weights[] __attribute__((visibility(\"hidden\")));\n");
    if (m->number) return HONE_OK; /* the first model's file holds them for all */
    hn_str_add(
        out,
        "__asm__(\".pushsection .rodata.hnm,\\\"a\\\"\\n.balign 64\\n.globl hnm_weights\\n.hidden hnm_weights\\n\"\n"
        "        \"hnm_weights:\\n.incbin \\\"weights.bin\\\"\\n.byte 0\\n.popsection\\n\");\n");
    return HONE_OK;
}

static void add_bound(int64_t x, hn_str *out) {
    if (x == INT64_MAX)
        hn_str_add(out, "INT64_MAX, ");
    else
        hn_str_addf(out, "%lld, ", (long long)x);
}

static void add_port(const hn_graph *g, hn_val v, const char *name, hn_str *out) {
    const hn_type *t = hn_type_of(g, v);
    hn_str shape = {0};
    int64_t low, high;
    hn_port_shape(g, v, &shape);
    hn_str_add(out, "    {");
    hn_str_add_c(out, name);
    hn_str_add(out, ", ");
    hn_str_add_c(out, shape.text);
    hn_str_addf(out, ", %d, %d, {", (int)t->dtype, (int)t->rank);
    hn_str_free(&shape);
    for (int part = 0; part < 3; part++) {
        for (size_t d = 0; d < t->rank; d++) {
            int64_t n = -1;
            hn_dim_range(g->dims, t->dim[d], &low, &high);
            if (part) n = part == 1 ? (low < 0 ? 0 : low) : high;
            if (!part) hn_dim_is_int(g->dims, t->dim[d], &n);
            add_bound(n, out);
        }
        hn_str_add(out, t->rank ? (part < 2 ? "}, {" : "}},\n") : (part < 2 ? "0}, {" : "0}},\n"));
    }
}

void hn_source_port_tables(const hn_library *l, const hn_graph *g, hn_str *out) {
    const hn_blk *b = &g->block[0];
    hn_str_add(out, "static const hone_model_port hnm_input[HNM_INPUTS + 1] = {\n");
    for (uint32_t i = 0; i < b->n_param; i++)
        if (hn_is_port(l->states, i, false)) add_port(g, b->param[i], g->value[b->param[i]].name, out);
    hn_str_add(out, "    {0},\n};\nstatic const hone_model_port hnm_output[HNM_OUTPUTS + 1] = {\n");
    for (uint32_t i = 0; i < b->n_result; i++)
        if (hn_is_port(l->states, i, true)) add_port(g, b->result[i], g->output_name[i], out);
    hn_str_add(out, "    {0},\n};\n");
}

static void digest_states(const hn_library *l, const hn_graph *g, char hex[33]) {
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, l->weights_hash);
    for (uint32_t k = 0; k < l->states.n; k++) {
        hn_str type = {0};
        hn_type_print(g, hn_type_of(g, g->block[0].param[l->states.state[k].param]), &type);
        hn_hash_text(&h, l->states.state[k].name);
        hn_hash_text(&h, type.text ? type.text : "");
        hn_str_free(&type);
    }
    hn_hash_end(&h, hex);
}

void hn_source_states(const hn_library *l, const hn_graph *g, hn_str *out) {
    char digest[33];
    digest_states(l, g, digest);
    hn_str_addf(out, "#define HNM_STATE_DIGEST \"%s\"\n#define HNM_STATE_MODEL ", digest);
    hn_str_add_c(out, l->name);
    hn_str_add(out, "\n");
    hn_str_add(out, hn_carried_state());
    hn_str_add(out, "static const hone_model_port hnm_state_port[HNM_STATES + 1] = {\n");
    for (uint32_t k = 0; k < l->states.n; k++)
        add_port(g, g->block[0].param[l->states.state[k].param], l->states.state[k].name, out);
    hn_str_add(out, "    {0},\n};\nstatic const int32_t hnm_state_element_b[HNM_STATES + 1] = {");
    for (uint32_t k = 0; k < l->states.n; k++)
        hn_str_addf(out, "%u, ",
                    hn_dtype_of(hn_type_of(g, g->block[0].param[l->states.state[k].param])->dtype)->size_b);
    hn_str_add(out, "0};\n");
}

/* The most bytes that a value of a type can have; INT64_MAX: no bound. */
static int64_t most_bytes(const hn_graph *g, const hn_type *t) {
    int64_t size_b = hn_dtype_of(t->dtype)->size_b, low, high;
    for (size_t d = 0; d < t->rank; d++) {
        hn_dim_range(g->dims, t->dim[d], &low, &high);
        if (__builtin_mul_overflow(size_b, high < 1 ? 1 : high, &size_b)) return INT64_MAX;
    }
    return size_b;
}

static void add_state_slot(const hn_model *m, const hn_update *u, hn_str *out) {
    hn_val into = m->layout.slot[u->into].root;
    hn_str_addf(out, "{%u, %u}, ", u->old, m->layout.slot[into].where == HN_AT_STATE ? into : 0);
}
/* Where states lie among the slots, how many bytes they can have, and what their dimensions are after a reset. */
static void add_state_slots(const hn_model *m, hn_str *out) {
    hn_str_add(out, "static const int32_t hnm_state_slot[HNM_STATES + 1][2] = {");
    for (uint32_t k = 0; k < m->layout.n_update; k++) add_state_slot(m, &m->layout.update[k], out);
    hn_str_add(out, "{0, 0}};\nstatic const int64_t hnm_state_most_b[HNM_STATES + 1] = {");
    for (uint32_t k = 0; k < m->layout.n_update; k++) {
        hn_val now = hn_slot_type(m->g, &m->layout, m->layout.update[k].into);
        int64_t a = most_bytes(m->g, hn_type_of(m->g, m->layout.update[k].old)),
                b = most_bytes(m->g, hn_type_of(m->g, now));
        hn_str_addf(out, "INT64_C(%lld), ", (long long)(a > b ? a : b));
    }
    hn_str_add(out, "0};\nstatic const int64_t hnm_state_low[HNM_STATES + 1][HONE_MODEL_RANK] = {");
    for (uint32_t k = 0; k < m->layout.n_update; k++) {
        const hn_type *t = hn_type_of(m->g, m->layout.update[k].old);
        hn_str_add(out, "{");
        for (size_t d = 0; d < t->rank; d++) {
            int64_t low, high;
            hn_dim_range(m->g->dims, t->dim[d], &low, &high);
            hn_str_addf(out, "%lld, ", (long long)(low < 0 ? 0 : low));
        }
        hn_str_add(out, "0}, ");
    }
    hn_str_add(out, "{0}};\n");
}

static void add_tables(const hn_model *m, hn_str *out) {
    const hn_layout *l = &m->layout;
    hn_str_add(out, "static const hnm_element_type hnm_element[HNM_ELEMENTS] = {");
    for (int i = 0; i < HONE_N_DTYPES; i++) {
        const hn_dtype_info *e = hn_dtype_of((hone_dtype)i);
        hn_str_addf(out, "{\"%s\", %u}, ", e->text, e->size_b);
    }
    hn_str_add(out, "};\n");
    hn_source_slots(m, out);
    hn_str_add(out, "static const int64_t hnm_constant_at[HNM_CONSTANTS + 1] = {");
    for (uint32_t i = 0; i < l->n_constant; i++) hn_str_addf(out, "%lld, ", (long long)m->weight_at[i]);
    hn_str_add(out, "0};\nstatic const hn_plan_item hnm_item[HNM_ITEMS + 1] = {\n");
    for (int32_t i = 0; i < l->n_item; i++)
        hn_str_addf(out, "    {%lld, %d, %d, %d, %lld},\n", (long long)l->item[i].size_b, l->item[i].first,
                    l->item[i].last, l->item[i].shares, (long long)l->item[i].offset);
    hn_str_add(out, "    {0, 0, 0, -1, 0},\n};\n");
    add_state_slots(m, out);
}

static void add_declarations(const hn_model *m, hn_str *out) {
    for (uint32_t i = 0; i < m->n_kernel; i++)
        if (m->kernel[i].unit || m->kernel[i].same)
            hn_str_addf(out,
                        "__attribute__((visibility(\"hidden\"))) void %s(void *const *, const int64_t *, int64_t, "
                        "int64_t, char *);\n",
                        hn_kernel_symbol(m, &m->kernel[i]));
}

void hn_source_kernel_row(const hn_model *m, const hn_kernel *k, hn_str *out) {
    uint32_t source = m->g->node[k->node].source;
    hn_str_addf(out, "    {\"%s\", ", k->name);
    hn_str_add_c(out, source && source <= m->g->n_source ? m->g->source[source - 1] : "");
    hn_str_add(out, ", ");
    hn_str_add_c(out, k->code.schedule ? k->code.schedule : "");
    hn_str_add(out, ", ");
    hn_str_add_c(out, k->winner ? k->winner : "");
    hn_str_addf(out, ", %s},\n", hn_kernel_symbol(m, k));
}

static void add_kernel_table(const hn_model *m, hn_str *out) {
    hn_str_addf(out, "static const hone_model_kernel hnm_kernels[%u + 1] = {\n", hn_source_n_kernels(m, m->n_kernel));
    for (uint32_t i = 0; i < m->n_kernel; i++) hn_source_kernel_row(m, &m->kernel[i], out);
    hn_source_copy_rows(m, out);
    hn_str_add(out, "    {0},\n};\n");
}

/* Asked before anything else runs, in code that every processor of the family runs. */
static void add_offered(const hn_model *m, hn_str *out) {
    hn_str_addf(out,
                "#if defined(__x86_64__) && defined(__GNUC__)\n"
                "#define HNM_BASELINE __attribute__((noinline, target(\"arch=x86-64\")))\n"
                "#else\n#define HNM_BASELINE\n#endif\n"
                "HNM_BASELINE static hone_model_rc hnm_create_checked(const hone_model_config *config, "
                "hone_model_instance **out) {\n"
                "    if (%s) return hnm_create(config, out);\n"
                "    return hnm_create_fail(HONE_MODEL_TARGET, \"this processor does not offer '%s'\");\n}\n",
                hn_host_dialect(m)->offered, hn_host_dialect(m)->name);
}

/* The model of a library that has no other. */
static void add_entry(const hn_model *m, hn_str *out) {
    bool checks = strcmp(hn_host_dialect(m)->offered, "1") != 0;
    if (checks) add_offered(m, out);
    hn_str_addf(out, "static const hone_model *const hnm_targets[1];\n"
                     "static const hone_model_version hnm_versions[] = {{\"\", HNM_CALLS, HNM_ARENA_B}};\n"
                     "static const hone_model hnm_model = {HONE_MODEL_ABI, ");
    hn_str_add_c(out, m->lib->name);
    hn_str_add(out, ", \"" HONE_VERSION "\", ");
    hn_str_add_c(out, m->dialect->name);
    hn_str_addf(out,
                ", HNM_INPUTS, HNM_OUTPUTS, %u, HNM_SYMBOLS, hnm_input, hnm_output, hnm_kernels, HNM_WEIGHTS_B, "
                "HNM_ARENA_B, hnm_create%s, hnm_run, hnm_free, hnm_error, %s, 1, hnm_targets, 1, hnm_versions, "
                "hnm_last_version, HNM_STATES, hnm_state_port, hnm_reset, hnm_fork, hnm_save, hnm_load, hnm_peek, "
                "hnm_resize, %s};\n"
                "static const hone_model *const hnm_targets[1] = {&hnm_model};\n",
                hn_source_n_kernels(m, m->n_kernel), checks ? "_checked" : "",
                m->options->profile ? "&hnm_profile" : "NULL",
                hn_is_on_device(m->dialect) ? "&hnm_device_api" : "NULL");
    hn_str_addf(out,
                "__attribute__((visibility(\"default\"))) const hone_model *%s(void);\nconst hone_model *%s(void) { "
                "return &hnm_model; }\n",
                m->lib->query, m->lib->query);
}

/* One of several models: what the entry needs of it. */
static void add_part(const hn_model *m, hn_str *out) {
    if (hn_is_on_device(m->dialect))
        hn_str_addf(out,
                    "extern const hone_model_device hnm_device_api_%u __attribute__((visibility(\"hidden\")));\n"
                    "const hone_model_device hnm_device_api_%u = HNM_DEVICE_API;\n",
                    m->number, m->number);
    hn_str_addf(out,
                "extern const hnm_part hnm_part_%u __attribute__((visibility(\"hidden\")));\n"
                "const hnm_part hnm_part_%u = {hnm_create_in, hnm_run, hnm_free, hnm_error, hnm_common_of, %s, %s};\n",
                m->number, m->number, m->options->profile ? "hnm_times" : "NULL",
                hn_is_on_device(m->dialect) ? "hnm_device_offers" : "NULL");
}

/* The carried planner, without the line that includes its header, under a name that no other model has. */
static void add_planner(const hn_model *m, hn_str *out) {
    static const char line[] = "#include \"plan/plan.h\"\n";
    const char *text = hn_carried_place(), *include = strstr(text, line);
    hn_str_addf(out, "#define hn_plan_place hn_plan_place_%s_%u\n", m->lib->ident, m->number);
    hn_str_add(out, hn_carried_plan());
    if (m->layout.sizes == HN_SIZES_OPEN) hn_str_add(out, include ? include + strlen(line) : text);
}

static hone_rc make_main(hn_model *m, hn_str *out) {
    if (m->options->emit == HONE_EMIT_C) add_for_users(m, out);
    hn_str_add(out, hn_source_prelude);
    hn_str_add(out, hn_carried_model_h());
    hn_str_add(out, hn_carried_part());
    if (!add_runtime(m, 0, "base pool", out)) return HONE_E_FAILED;
    add_planner(m, out);
    add_numbers(m, out);
    hone_rc rc = add_weights(m, out);
    if (hn_is_on_device(m->dialect)) hn_source_device_runtime(m, true, out);
    hn_str_add(out, hn_carried_instance());
    if (hn_is_on_device(m->dialect)) hn_source_device_instance(m, out);
    add_kernels(m, 0, out);
    if (!rc) rc = hn_source_device_kernels(m, 0, out);
    add_declarations(m, out);
    hn_source_port_tables(m->lib, m->g, out);
    add_tables(m, out);
    hn_model_steps(m, out);
    if (m->lib->n_model > 1) {
        add_part(m, out);
        return rc;
    }
    hn_source_states(m->lib, m->g, out);
    add_kernel_table(m, out);
    hn_source_profile(m, out);
    add_entry(m, out);
    return rc;
}

static hone_rc make_unit(const hn_model *m, uint32_t unit, hn_str *out) {
    hn_str_add(out, hn_source_prelude);
    if (!add_runtime(m, unit, "base", out)) return HONE_E_FAILED;
    if (hn_is_on_device(m->dialect)) hn_source_device_runtime(m, false, out);
    add_kernels(m, unit, out);
    return hn_source_device_kernels(m, unit, out);
}

hone_rc hn_unit_set(hn_arena *a, hn_unit *u, hn_str *text, const char *cc, const char *flags, hone_err *err) {
    char *kept = text->failed ? NULL : hn_strndup(a, text->text, text->n);
    size_t n = text->n;
    hn_str_free(text);
    if (!kept) return hn_fail(err, HONE_E_NOMEM, "out of memory for the C text");
    if (u->text && u->n == n && !memcmp(u->text, kept, n) && u->cc == cc && u->flags == flags) return HONE_OK;
    *u = (hn_unit){kept, n, n, true, cc, flags};
    return HONE_OK;
}

static hone_rc set_unit(hn_model *m, uint32_t i, hn_str *text, hone_err *err) {
    const char *cc = NULL, *flags = NULL;
    for (uint32_t k = 0; k < m->n_kernel && i; k++)
        if (m->kernel[k].unit == i && stands_alone(&m->kernel[k])) cc = m->kernel[k].cc, flags = m->kernel[k].flags;
    return hn_unit_set(&m->arena, &m->unit[i], text, cc, flags, err);
}

/* Scratch of the largest kernel, sizes at their bounds, where there are bounds. */
static void find_scratch(hn_model *m) {
    m->scratch_b = 0;
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        int64_t low, high;
        if (!m->kernel[i].code.scratch_b) continue;
        hn_dim_range(m->g->dims, m->kernel[i].code.scratch_b, &low, &high);
        if (high > m->scratch_b && high <= (int64_t)1 << 34) m->scratch_b = high;
    }
}

hone_rc hn_source_make(hn_model *m, hone_err *err) {
    if (!m->unit) {
        m->n_unit = assign_units(m);
        m->unit = hn_alloc_n(&m->arena, m->n_unit, sizeof *m->unit);
        if (!m->unit) return hn_fail(err, HONE_E_NOMEM, "out of memory for the C text");
    }
    find_scratch(m);
    for (uint32_t i = 0; i < m->n_unit; i++) {
        hn_str text = {0};
        hone_rc rc = i ? make_unit(m, i, &text) : make_main(m, &text);
        if (rc == HONE_E_FAILED) rc = hn_fail(err, rc, "a kernel needs a part of the runtime that does not exist");
        if (rc == HONE_OK) rc = set_unit(m, i, &text, err);
        if (rc) {
            hn_str_free(&text);
            return rc;
        }
    }
    return HONE_OK;
}

/* --- model.h ---------------------------------------------------------------------------------------------------------
 */

static void add_comment_ports(const hn_model *m, const char *what, const hn_val *v, uint32_t n, bool outputs,
                              hn_str *out) {
    const hn_graph *g = m->g;
    for (uint32_t i = 0; i < n; i++) {
        if (!hn_is_port(m->lib->states, i, outputs)) continue;
        hn_str line = {0}, text = {0};
        hn_type_print(g, hn_type_of(g, v[i]), &line);
        hn_str_add_c(&text, outputs ? g->output_name[i] : g->value[v[i]].name);
        for (char *s = text.text; s && *s; s++)
            if (*s == '*' || *s == '/') *s = '_'; /* nothing of the model ends the comment */
        for (char *s = line.text; s && *s; s++)
            if (*s == '/' || (unsigned char)*s > 126 || *s < 32 || *s == '\\') *s = '_';
        hn_str_addf(out, " *   %s %u: %s %s\n", what, hn_port_number(m->lib->states, i, outputs),
                    text.text ? text.text : "", line.text ? line.text : "");
        hn_str_free(&line);
        hn_str_free(&text);
    }
}

hone_rc hn_source_header(const hn_model *m, hn_str *out) {
    const hn_blk *b = &m->g->block[0];
    hn_str_addf(out, "/* %s.h — a model compiled by hone " HONE_VERSION " for ", m->lib->ident);
    for (uint32_t t = 0; t < m->lib->n_target; t++) hn_str_addf(out, "%s%s", t ? ", " : "", m->lib->target[t]->name);
    hn_str_add(out, ".\n *\n");
    add_comment_ports(m, "input", b->param, b->n_param, false, out);
    add_comment_ports(m, "output", b->result, b->n_result, true, out);
    hn_str_add(out, " */\n");
    hn_str_add(out, hn_carried_model_h());
    hn_str_addf(out, "\n#ifndef HONE_MODEL_OF_%s\n#define HONE_MODEL_OF_%s\n", m->lib->ident, m->lib->ident);
    hn_str_add(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    hn_str_addf(out, "const hone_model *%s(void);%s\n", m->lib->query,
                m->options->emit == HONE_EMIT_C ? "" : " /* of the library that is linked or opened */");
    hn_str_add(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return out->failed ? HONE_E_NOMEM : HONE_OK;
}
