/* source_entry.c — the C file that chooses among the models of a library: tables around the text of entry.h. */
#include "artifact/artifact.h"

#include <string.h>

static void add_numbers(const hn_library *l, hn_str *out) {
    uint32_t calls = 0, guards = 0;
    for (uint32_t v = 0; v < l->n_version; v++)
        calls += hn_source_n_calls(&l->model[v]), guards += l->version[v].n_fixed;
    const struct {
        const char *name;
        unsigned long long value;
    } number[] = {{"TARGETS", l->n_target},
                  {"VERSIONS", l->n_version},
                  {"INPUTS", hn_port_number(l->states, l->version[0].g->block[0].n_param, false)},
                  {"OUTPUTS", hn_port_number(l->states, l->version[0].g->block[0].n_result, true)},
                  {"STATES", l->states.n},
                  {"SYMBOLS", hn_dims_symbols(l->version[0].g->dims)},
                  {"PROFILE", l->options->profile},
                  {"CALLS", calls},
                  {"GUARDS", guards},
                  {"WEIGHTS_B", l->weights_b}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        hn_str_addf(out, "#define HNM_%s %llu\n", number[i].name, number[i].value);
    hn_str_add(out, "#define HNM_TARGET_NAMES \"");
    for (uint32_t t = 0; t < l->n_target; t++) hn_str_addf(out, "%s%s", t ? ", " : "", l->target[t]->name);
    hn_str_add(out, "\"\n");
}

static void add_targets(const hn_library *l, hn_str *out) {
    hn_str_add(out, "static const char *const hnm_target_name[HNM_TARGETS] = {");
    for (uint32_t t = 0; t < l->n_target; t++) hn_str_addf(out, "\"%s\", ", l->target[t]->name);
    hn_str_add(out, "};\nstatic int hnm_offers(int32_t t) {\n    switch (t) {\n");
    for (uint32_t t = 0; t < l->n_target; t++)
        if (hn_is_on_device(l->target[t]))
            hn_str_addf(out, "    case %u: return hnm_parts[%u][0]->offers();\n", t, t);
        else
            hn_str_addf(out, "    case %u: return (%s) ? 2 : 0;\n", t, l->target[t]->offered);
    hn_str_add(out, "    default: return 0;\n    }\n}\n");
}

static void add_parts(const hn_library *l, hn_str *out) {
    for (uint32_t i = 0; i < l->n_model; i++)
        hn_str_addf(out, "extern const hnm_part hnm_part_%u __attribute__((visibility(\"hidden\")));\n", i);
    hn_str_add(out, "static const hnm_part *const hnm_parts[HNM_TARGETS][HNM_VERSIONS] = {\n");
    for (uint32_t t = 0; t < l->n_target; t++) {
        hn_str_add(out, "    {");
        for (uint32_t v = 0; v < l->n_version; v++) hn_str_addf(out, "&hnm_part_%u, ", t * l->n_version + v);
        hn_str_add(out, "},\n");
    }
    hn_str_add(out, "};\n");
}

static void add_versions(const hn_library *l, hn_str *out) {
    uint32_t call = 0;
    hn_str_add(out,
               "static const struct { int32_t version, input, axis; int64_t size; } hnm_guard[HNM_GUARDS + 1] = {\n");
    for (uint32_t v = 1; v < l->n_version; v++)
        for (uint32_t i = 0; i < l->version[v].n_fixed; i++) {
            const hn_fixed *f = &l->version[v].fixed[i];
            hn_str_addf(out, "    {%u, %u, %u, %lld},\n", v, f->input, f->axis, (long long)f->value);
        }
    hn_str_add(out, "    {-1, 0, 0, 0},\n};\nstatic const hone_model_version hnm_versions[HNM_VERSIONS] = {\n");
    for (uint32_t v = 0; v < l->n_version; v++) {
        hn_str_add(out, "    {\"");
        hn_version_text(l, v, out);
        hn_str_addf(out, "\", %u, %lld},\n", l->model[v].n_uses, (long long)l->model[v].layout.arena_b);
    }
    hn_str_add(out, "};\n#if HNM_PROFILE\nstatic const int32_t hnm_first_call[HNM_VERSIONS + 1] = {");
    for (uint32_t v = 0; v < l->n_version; call += hn_source_n_calls(&l->model[v++])) hn_str_addf(out, "%u, ", call);
    hn_str_addf(out, "%u};\n#endif\n", call);
}

/* The functions of all versions of target t. */
static uint32_t add_kernels(const hn_library *l, uint32_t t, hn_str *out) {
    uint32_t n = 0;
    const hn_model *m = &l->model[t * l->n_version];
    for (uint32_t v = 0; v < l->n_version; v++)
        for (uint32_t i = 0; i < m[v].n_kernel; i++)
            if (!m[v].kernel[i].same)
                hn_str_addf(out,
                            "__attribute__((visibility(\"hidden\"))) void %s(void *const *, const int64_t *, int64_t, "
                            "int64_t, char *);\n",
                            hn_kernel_symbol(&m[v], &m[v].kernel[i]));
    hn_str_addf(out, "static const hone_model_kernel hnm_kernels_%u[] = {\n", t);
    for (uint32_t v = 0; v < l->n_version; v++)
        for (uint32_t i = 0; i < m[v].n_kernel; i++)
            if (!m[v].kernel[i].same) {
                hn_source_kernel_row(&m[v], &m[v].kernel[i], out);
                n++;
            }
    hn_source_copy_rows(m, out);
    n = hn_source_n_kernels(m, n);
    hn_str_add(out, "    {0},\n};\n");
    if (!l->options->profile) return n;
    hn_str_addf(out, "static const hone_model_call hnm_calls_%u[HNM_CALLS + 1] = {\n", t);
    for (uint32_t v = 0; v < l->n_version; v++) hn_source_calls(&m[v], out);
    hn_str_addf(
        out, "    {0},\n};\nstatic const hone_model_profile hnm_profile_%u = {HNM_CALLS, hnm_calls_%u, hnm_times};\n",
        t, t);
    return n;
}

static void add_model(const hn_library *l, uint32_t t, uint32_t n_kernels, hn_str *out) {
    if (hn_is_on_device(l->target[t]))
        hn_str_addf(out, "extern const hone_model_device hnm_device_api_%u __attribute__((visibility(\"hidden\")));\n",
                    t * l->n_version);
    hn_str_addf(out,
                "static hone_model_rc hnm_create_%u(const hone_model_config *config, hone_model_instance **out) {\n"
                "    return hnm_create_of(%u, config, out);\n}\n"
                "static const hone_model hnm_model_%u = {HONE_MODEL_ABI, ",
                t, t, t);
    hn_str_add_c(out, l->name);
    hn_str_addf(out,
                ", \"" HONE_VERSION "\", \"%s\", HNM_INPUTS, HNM_OUTPUTS, %u, HNM_SYMBOLS, hnm_input, hnm_output, "
                "hnm_kernels_%u, HNM_WEIGHTS_B, %lld, hnm_create_%u, hnm_run, hnm_free, hnm_error, ",
                l->target[t]->name, n_kernels, t, (long long)l->model[0].layout.arena_b, t);
    hn_str_addf(out, l->options->profile ? "&hnm_profile_%u" : "NULL", t);
    hn_str_add(out,
               ", HNM_TARGETS, hnm_models, HNM_VERSIONS, hnm_versions, hnm_last_version, HNM_STATES, hnm_state_port, "
               "hnm_reset, hnm_fork, hnm_save, hnm_load, hnm_peek, hnm_resize, ");
    if (hn_is_on_device(l->target[t]))
        hn_str_addf(out, "&hnm_device_api_%u};\n", t * l->n_version);
    else
        hn_str_add(out, "NULL};\n");
}

hone_rc hn_entry_make(hn_library *l, hone_err *err) {
    hn_str out = {0};
    hn_str_add(&out, hn_source_prelude);
    hn_str_add(&out, hn_carried_model_h());
    hn_str_add(&out, hn_carried_part());
    add_numbers(l, &out);
    hn_source_port_tables(l, l->version[0].g, &out);
    add_parts(l, &out);
    add_targets(l, &out);
    add_versions(l, &out);
    hn_str_add(&out, hn_carried_entry());
    hn_source_states(l, l->version[0].g, &out);
    hn_str_add(&out, "static const hone_model *const hnm_models[HNM_TARGETS];\n");
    for (uint32_t t = 0; t < l->n_target; t++) {
        uint32_t n = add_kernels(l, t, &out);
        add_model(l, t, n, &out);
    }
    hn_str_add(&out, "static const hone_model *const hnm_models[HNM_TARGETS] = {");
    for (uint32_t t = 0; t < l->n_target; t++) hn_str_addf(&out, "&hnm_model_%u, ", t);
    hn_str_add(&out, "};\n__attribute__((visibility(\"default\"))) const hone_model *hone_model_query(void);\n"
                     "const hone_model *hone_model_query(void) { return hnm_models[hnm_target()]; }\n");
    return hn_unit_set(&l->arena, &l->entry, &out, NULL, NULL, err);
}
