/* target/nvidia.c — see nvidia.h. */
#include "target/nvidia.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "device/cuda.h"
#include "device/gpu.h"
#include "target/cc.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option {
    const char *name, *full, *who, *passed;
    hn_class cls;
    const char *values, *doc;
} options[] = {
#define HN_NV(name, full, who, passed, cls, values, doc) {name, full, who, passed, HN_##cls, values, doc},
#include "target/nvidia_options.def"
#undef HN_NV
};
enum { N_OPTIONS = sizeof options / sizeof *options };

#define PASSED "-Xptxas="

/* --- discovery ---------------------------------------------------------------------------------------------------- */

static const hn_help_row *listed(const hn_help *help, const struct option *o) {
    for (size_t i = 0; i < help->n; i++) {
        const hn_help_row *r = &help->row[i];
        if (!strcmp(r->name, o->name) || (*o->full && r->type && !strcmp(r->type, o->full))) return r;
    }
    return NULL;
}

/* The level, with what excludes it: -Ofc, where that exists. */
static const char *level_values(const struct option *o, const char *prefix, const hn_help *help, bool asked) {
    static const struct option fast = {.name = "-Ofc", .full = "--Ofast-compile"};
    if (strcmp(o->name, "-O") != 0 || strcmp(o->full, "--opt-level") != 0) return o->values;
    if (asked && !listed(help, &fast)) return o->values;
    return *prefix ? "3|2|1|0|min|mid|max|all-min|all-mid|all-max" : "3|2|1|0|min|mid|max";
}

/* Those of the table that the help allows, where it says which. */
static void values_of(hn_arena *a, hn_control *c, const char *values, const hn_help_row *r) {
    hn_control_values(a, c, values, '|');
    size_t kept = 0;
    for (size_t i = 0; i < c->n_values; i++) {
        bool known = !r || !r->n_values || !strcmp(c->value[i], "on");
        for (size_t k = 0; !known && k < r->n_values; k++) known = !strcmp(r->value[k], c->value[i]);
        if (known) c->value[kept++] = c->value[i];
    }
    c->n_values = kept;
    if (!kept) c->cls = HN_IRRELEVANT;
}

/* asked: the help was printed, so what it does not list does not exist. */
static void one_option(hn_arena *a, hn_controls *out, const struct option *o, const char *prefix, const hn_help *help,
                       bool asked, bool all) {
    const hn_help_row *r = listed(help, o);
    if (asked && !r && !strchr(o->who, 'h')) return;
    bool rare = strchr(o->who, 'a') && !all;
    hn_control *c = hn_control_add(a, out, hn_format(a, "%s%s", prefix, o->name), o->doc,
                                   rare && o->cls == HN_CODEGEN ? HN_IRRELEVANT : o->cls);
    if (c) values_of(a, c, level_values(o, prefix, help, asked), r);
}

/* What the help lists and no row names counts in the statistics. */
static void count_others(hn_arena *a, hn_controls *out, const char *prefix, const hn_help *help) {
    for (size_t i = 0; i < help->n; i++) {
        bool known = false;
        for (size_t k = 0; k < N_OPTIONS && !known; k++)
            known = !strcmp(options[k].name, help->row[i].name) ||
                    (help->row[i].type && *options[k].full && !strcmp(options[k].full, help->row[i].type));
        if (known) continue;
        hn_control *c =
            hn_control_add(a, out, hn_format(a, "%s%s", prefix, help->row[i].name), help->row[i].rest, HN_IRRELEVANT);
        if (c) hn_control_values(a, c, "on", '|');
    }
}

static void read_help(hn_arena *a, const char *text, hn_help *out) {
    if (text) hn_help_nvidia(a, text, strlen(text), out);
}

void hn_nv_discover(hn_arena *a, hn_controls *out, char who, const char *help, const char *passed, bool all) {
    hn_help own = {0}, inner = {0};
    read_help(a, help, &own);
    read_help(a, passed, &inner);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (strchr(options[i].who, who)) one_option(a, out, &options[i], "", &own, help != NULL, all);
        if (strchr(options[i].passed, who)) one_option(a, out, &options[i], PASSED, &inner, passed != NULL, all);
    }
    count_others(a, out, "", &own);
    count_others(a, out, PASSED, &inner);
}

hn_rule hn_nv_classify(char who, const char *name) {
    bool passed = !strncmp(name, PASSED, sizeof PASSED - 1);
    if (passed) name += sizeof PASSED - 1;
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (!strcmp(options[i].name, name) && strchr(passed ? options[i].passed : options[i].who, who))
            return (hn_rule){options[i].name, options[i].cls, HN_WAY_BOTH, options[i].doc};
    return (hn_rule){"", HN_IRRELEVANT, HN_WAY_BOTH, "not known to be safe"};
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

void hn_nv_spell(hn_flags *f, const hone_target *t, const char *name, const char *value) {
    (void)t;
    bool level = ends_with(name, "-O"), on = !strcmp(value, "on");
    if (level && !strncmp(value, "all-", 4)) /* "-Xptxas=-O" = all-min is -Ofc=min */
        hn_flags_add(f, hn_format(f->a, "-Ofc=%s", value + 4));
    else if (level && *value == 'm') /* "-O" = min is -Ofc=min */
        hn_flags_add(f, hn_format(f->a, "%sfc=%s", name, value));
    else
        hn_flags_add(f, hn_format(f->a, "%s%s%s", name, on || level ? "" : "=", on ? "" : value));
}

/* The short name of an option: "--ptxas-options" is -Xptxas, "--fmad" is -fmad. */
static void shorten(char *name, size_t size) {
    static const char *const other[][2] = {{"--ptxas-options", "-Xptxas"},
                                           {"--compiler-options", "-Xcompiler"},
                                           {"-Ofast-compile", "-Ofc"},
                                           {"-def-load-cache", "-dlcm"}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (!strcmp(name, other[i][0])) snprintf(name, size, "%s", other[i][1]);
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (*options[i].full && !strcmp(name, options[i].full) && strcmp(options[i].full, "--optimize") != 0)
            snprintf(name, size, "%s", options[i].name);
}

/* Does the option of this name have its value in the next word, when none is in its own? */
static bool takes_word(const char *name) {
    if (!strcmp(name, "-Xptxas") || !strcmp(name, "-Xcompiler") || !strcmp(name, "-Xcicc")) return true;
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (!strcmp(options[i].name, name)) return strcmp(options[i].values, "on") != 0 && !ends_with(name, "-O");
    return false;
}

/* "-O3" and "-O=3" say -O = 3. */
static void split_level(char *name, size_t n_name, char *value, size_t size) {
    char *at = strstr(name, "-O");
    if (!at || !at[2] || at[3] || at[2] < '0' || at[2] > '9') return;
    snprintf(value, size, "%c", at[2]);
    name[(size_t)(at - name) + 2 < n_name ? (size_t)(at - name) + 2 : n_name - 1] = 0;
}

static bool is_contract(const char *name) { return !strcmp(name, "-fmad") || !strcmp(name, "-use_fast_math"); }

void hn_nv_read(const char *level, const char *const *word, size_t n, hn_said *out) {
    char inner[200] = "";
    *out = (hn_said){.n_words = 1};
    const char *eq = strchr(*word, '=');
    snprintf(out->name, sizeof out->name, "%.*s", (int)(eq ? (size_t)(eq - *word) : strlen(*word)), *word);
    shorten(out->name, sizeof out->name);
    snprintf(out->value, sizeof out->value, "%s", eq ? eq + 1 : "on");
    if (!eq && takes_word(out->name) && n > 1) {
        snprintf(out->value, sizeof out->value, "%s", word[1]);
        out->n_words = 2;
    }
    if (!strncmp(out->name, "-X", 2)) { /* what is passed on, one word of it; a list stays as it is */
        if (strchr(out->value, ',')) {
            *out = (hn_said){.n_words = out->n_words};
            return;
        }
        const char *cut = strchr(out->value, '=');
        size_t len = cut ? (size_t)(cut - out->value) : strlen(out->value);
        snprintf(inner, sizeof inner, "%.*s", (int)len, out->value);
        shorten(inner, sizeof inner);
        memmove(out->value, cut ? cut + 1 : "on", strlen(cut ? cut + 1 : "on") + 1);
        size_t used = strlen(out->name);
        snprintf(out->name + used, sizeof out->name - used, "=%s", inner);
    }
    if (!strcmp(out->name, "-Ofc")) { /* the level as a whole: ptxas's, or of both when it is passed on */
        char kept[32];
        snprintf(kept, sizeof kept, "%s%.20s", *level && level[1] == 'X' ? "all-" : "", out->value);
        snprintf(out->name, sizeof out->name, "%s", level);
        snprintf(out->value, sizeof out->value, "%s", kept);
    }
    if (ends_with(out->name, "=-Ofc")) out->name[strlen(out->name) - 2] = 0;
    split_level(out->name, sizeof out->name, out->value, sizeof out->value);
    out->level = !strcmp(out->name, level);
    out->contract = is_contract(out->name);
}

void hn_nv_read_passing(const hone_target *t, const char *const *word, size_t n, hn_said *out) {
    (void)t;
    hn_nv_read("-Xptxas=-O", word, n, out);
}

const char *const hn_nv_strict[] = {"-fmad=false", NULL};
const char *const hn_nv_fast[] = {"-use_fast_math", NULL};
const char *const hn_nv_none[] = {NULL}; /* multiply-add is fused where nothing is said */

hone_fp hn_nv_contract_of(const char *baseline, const char *build) {
    for (int i = 0; i < 2; i++) {
        const char *text = i ? build : baseline;
        if (strstr(text, "use_fast_math")) return HONE_FP_FAST;
        if (strstr(text, "-fmad=false") || strstr(text, "-fmad false")) return HONE_FP_STRICT;
    }
    return HONE_FP_CONTRACT;
}

/* --- which compiler ----------------------------------------------------------------------------------------------- */

char *hn_nv_locate(const char *command) {
    char name[80];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(command, "-"), command);
    return hn_cuda_tool(name);
}

hone_rc hn_nv_native(hone_target *t, const char **cpu, const char **features, hone_err *err) {
    (void)t, (void)features, (void)err;
    *cpu = "device";
    return HONE_OK;
}

const char *hn_nv_driver(hn_arena *a) { return hn_gpu_identity(a, "cuda"); }

bool hn_nv_recognise(const char *version, const char *words) { return strstr(version, words) != NULL; }

char *hn_nv_beside(const char *path, const char *names) {
    hn_str s = {0};
    const char *slash = strrchr(path, '/');
    for (const char *p = names; slash && *p; p += strcspn(p, "|"), p += *p == '|')
        hn_str_addf(&s, "%.*s/%.*s\n", (int)(slash - path), path, (int)strcspn(p, "|"), p);
    char *out = hn_str_take(&s);
    return out ? out : calloc(1, 1);
}

bool hn_nv_is_cubin(const char *path) {
    unsigned char head[64];
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    return n == sizeof head && !memcmp(head, ELFMAG, SELFMAG) && head[18] == EM_CUDA && !head[19];
}

const char *hn_nv_source_name(hn_arena *a, const char *symbol) { return hn_elf_source_name(a, symbol); }

/* What most kernels are made of, without a header: shared memory, a barrier, loops, divisions, a switch, an atomic. */
const char hn_nv_kernel[] = "__device__ float step(float x, int how) {\n"
                            "    switch (how % 7) {\n"
                            "    case 0: return x / 3.0f;\n"
                            "    case 1: return sqrtf(x);\n"
                            "    case 2: return x * x + 1.0f;\n"
                            "    case 3: return 1.0f / (1.0f + x);\n"
                            "    case 4: return sinf(x);\n"
                            "    case 5: return x - (float)how;\n"
                            "    default: return x * 0.5f;\n"
                            "    }\n"
                            "}\n"
                            "extern \"C\" __global__ void probe(float *out, const float *in, const int *how, int n) {\n"
                            "    __shared__ float part[256];\n"
                            "    int i = blockIdx.x * 256 + threadIdx.x;\n"
                            "    float sum = 0.0f;\n"
                            "    for (int k = i; k < n; k += 4096) sum += step(in[k], how[k]);\n"
                            "    part[threadIdx.x & 255] = sum;\n"
                            "    for (int s = 128; s > 0; s >>= 1) {\n"
                            "        __syncthreads();\n"
                            "        if ((int)threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];\n"
                            "    }\n"
                            "    if (!threadIdx.x) atomicAdd(out, part[0]);\n"
                            "}\n";

const char *const hn_nv_levels[] = {"-Xptxas=-O 3", "-Xptxas=-O 2", "-Xptxas=-O 1", NULL};
const char *const hn_nv_seeds[] = {"-Xptxas=-O 3",
                                   "-maxrregcount 32",
                                   "-maxrregcount 64",
                                   "-maxrregcount 128; -Xptxas=-override-directive-values on",
                                   "-Xptxas=-regUsageLevel 0",
                                   "-Xptxas=-regUsageLevel 10",
                                   "-Xptxas=-dlcm cg",
                                   "-Xptxas=-dlcm cs; -Xptxas=-dscm cs",
                                   "-Xptxas=-dscm wt",
                                   "-Xptxas=-O min",
                                   "-Xptxas=-O 1",
                                   NULL};

const char *const hn_nv_choices[] = {"-maxrregcount 32|64|128", NULL};

const hn_listing hn_listing_sass = {.package = "nvidia-cuda-cuobjdump of PyPI (tools/cuda-tools.sh)", .device = true};
