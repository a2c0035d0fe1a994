/* target/opencl.c — compilers of OpenCL platforms, through the carried hone-opencl, which builds a program for one
 * device.
 *
 * What code a platform runs depends on its driver, so that is part of the identity: version, and the libraries loaded.
 */
#include "device/gpu.h"
#include "target/carried.h"
#include "target/cc.h"
#include "target/nvidia.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option {
    const char *name;
    hn_class cls;
    const char *values, *doc;
} options[] = {
#define HN_CL(name, cls, values, doc) {name, HN_##cls, values, doc},
#include "target/opencl_options.def"
#undef HN_CL
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static char *locate(const char *command) {
    (void)command;
    return hn_carried_driver("opencl", "");
}

static const char *driver(hn_arena *a) { return hn_gpu_identity(a, "opencl"); }

static bool recognise(const char *version) { return hn_nv_recognise(version, "hone-opencl: "); }

static hone_rc discover(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err) {
    (void)t, (void)all, (void)err;
    hn_control *c = hn_control_add(a, out, "-O", "Level of optimisation: 0 is -cl-opt-disable.", HN_CODEGEN);
    if (c) hn_control_values(a, c, strstr(t->print.version, "NVIDIA") ? "3|2|1|0" : "3|0", '|');
    for (size_t i = 0; i < N_OPTIONS; i++) {
        c = hn_control_add(a, out, options[i].name, options[i].doc, options[i].cls);
        if (c) hn_control_values(a, c, options[i].values, '|');
    }
    return HONE_OK; /* lack of memory is sticky in the arena; the caller looks */
}

static hn_rule classify(const char *name, bool takes_value) {
    (void)takes_value;
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (!strcmp(options[i].name, name))
            return (hn_rule){options[i].name, options[i].cls, HN_WAY_BOTH, options[i].doc};
    return (hn_rule){"", HN_IRRELEVANT, HN_WAY_BOTH, "not known to be safe"};
}

static void read_flag(const hone_target *t, const char *const *word, size_t n, hn_said *out) {
    (void)t, (void)n;
    const char *w = *word, *eq = strchr(w, '=');
    bool level = (!strncmp(w, "-O", 2) && w[2] && !w[3]) || !strcmp(w, "-cl-opt-disable");
    *out = (hn_said){.n_words = 1, .level = level};
    out->contract = !strcmp(w, "-cl-fast-relaxed-math") || !strcmp(w, "-ffp-contract=off");
    snprintf(out->name, sizeof out->name, "%.*s", level ? 2 : (int)(eq ? (size_t)(eq - w) : strlen(w)),
             level ? "-O" : w);
    snprintf(out->value, sizeof out->value, "%s", level ? (w[1] == 'O' ? w + 2 : "0") : eq ? eq + 1 : "on");
}

static hone_fp contract_of(const char *baseline, const char *build) {
    if (strstr(baseline, "-cl-fast-relaxed-math") || strstr(build, "-cl-fast-relaxed-math")) return HONE_FP_FAST;
    return strstr(baseline, "-ffp-contract=off") ? HONE_FP_STRICT : HONE_FP_CONTRACT;
}

/* Any file that is not empty: each platform has a format of its own. */
static bool is_binary(const char *path) {
    char one;
    FILE *f = fopen(path, "rbe");
    bool yes = f && fread(&one, 1, 1, f) == 1;
    if (f) fclose(f);
    return yes;
}

static const char program[] = "float step(float x) { return x > 0.5f ? sqrt(x) / (x + 2.0f) : x * x + 1.0f; }\n"
                              "kernel void probe(global float *out, global const float *in, int n) {\n"
                              "    local float part[64];\n"
                              "    int me = get_local_id(0);\n"
                              "    float sum = 0.0f;\n"
                              "    for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += step(in[i]);\n"
                              "    part[me & 63] = sum;\n"
                              "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                              "    out[get_global_id(0)] = part[(me + 1) & 63];\n"
                              "}\n";
static const hn_probe_program probe = {".cl", program, "-w", is_binary};
static const hn_language cl = {.endings = ".cl",
                               .command = "opencl",
                               .math = "",
                               .threads = "",
                               .openmp = "",
                               .device = "{cc} {flags} {defines} %s -o {out}",
                               .others = ""};
static const hn_language *const languages[] = {&cl, NULL};
static const char *const fast[] = {"-cl-fast-relaxed-math", NULL};
static const char *const levels[] = {"-O 3", "-O 2", "-O 1", NULL};
static const char *const seeds[] = {"-O 3", "-O 0", "-cl-mad-enable on", "-cl-fast-relaxed-math on", NULL};

extern const hn_family hn_family_opencl;
const hn_family hn_family_opencl = {
    .version = 1,
    .name = "opencl",
    .summary = "the compiler of an OpenCL platform: build options of programs, for one device",
    .command = "opencl",
    .aliases = "",
    .locate = locate,
    .recognise = recognise,
    .binary = hn_carried_binary,
    .code_files = hn_carried_code_files,
    .native = hn_nv_native,
    .driver = driver,
    .discover = discover,
    .classify = classify,
    .level = "-O",
    .arch = "-device",
    .levels = levels,
    .seeds = seeds,
    .spell = hn_nv_spell,
    .read = read_flag,
    .define = hn_cc_define,
    .baseline = "-O3",
    .plain = "-O3",
    .worst = "-O0",
    .tunable = "-O*|-cl-*",
    .stays = "-cl-std*",
    .no_program = "*",
    .languages = languages,
    .contract = {[HONE_FP_STRICT] = hn_cc_strict, [HONE_FP_CONTRACT] = hn_nv_none, [HONE_FP_FAST] = fast},
    .contract_of = contract_of,
    .probe_level = "-O3",
    .probe = &probe,
    .listing = &hn_listing_objdump,
    .source_name = hn_elf_source_name,
};
