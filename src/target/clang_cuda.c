/* target/clang_cuda.c — clang for CUDA: clang makes PTX, ptxas machine code, through the carried hone-clang-cuda.
 *
 * hone's controls of LLVM apply, which nvcc does not reach; those of ptxas come as -Xptxas=NAME. The command names
 * clang's version: clang-cuda-19. Sources see CUDA's headers; -nocudainc -nocudalib in a build do without. */
#include "base/fs.h"
#include "device/cuda.h"
#include "target/carried.h"
#include "target/cc.h"
#include "target/llvm.h"
#include "target/nvidia.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST = 40, OLDEST = 14 };

/* "clang-cuda-19" is clang-19; "clang-cuda" the newest clang-N, else clang. */
static char *clang_of(const char *command) {
    char name[80];
    const char *version = strstr(command, "clang-cuda-");
    snprintf(name, sizeof name, "clang-%.40s", version ? version + strlen("clang-cuda-") : "");
    char *path = version ? hn_which(name) : NULL;
    for (int n = NEWEST; !version && !path && n >= OLDEST; n--) {
        snprintf(name, sizeof name, "clang-%d", n);
        path = hn_which(name);
    }
    return path || version ? path : hn_which("clang");
}

/* The newest device that it makes PTX for. */
static int newest_device(const char *clang) {
    const char *const argv[] = {clang, "--version", NULL};
    hn_tool run;
    if (hn_tool_run(argv, 10, &run, NULL)) return 90;
    long major = hn_number_after(run.out, "clang version ");
    hn_tool_free(&run);
    return major >= 21 ? 121 : major == 20 ? 101 : 90;
}

static char *locate(const char *command) {
    char *clang = clang_of(command), *ptxas = clang ? hn_cuda_tool("ptxas") : NULL;
    char *include = ptxas ? hn_cuda_include(ptxas) : NULL, *path = NULL, *slash = NULL;
    if (ptxas && !include) include = hn_cuda_include(NULL);
    if (include && (slash = strrchr(include, '/'))) {
        hn_str s = {0};
        hn_str_addf(&s, "clang=%s\nptxas=%s\nroot=%.*s\nmost=%d\n", clang, ptxas, (int)(slash - include), include,
                    newest_device(clang));
        path = s.text ? hn_carried_driver("clang-cuda", s.text) : NULL;
        hn_str_free(&s);
    }
    free(clang);
    free(ptxas);
    free(include);
    return path;
}

static bool recognise(const char *version) { return hn_nv_recognise(version, "hone-clang-cuda: "); }

/* LLVM's libraries, as clang has them; ptxas. */
static hone_rc code_files(hone_target *t, char **lines, hone_err *err) {
    char *llvm, *own;
    hone_rc rc = hn_llvm_code_files(t, &llvm, err);
    if (rc) return rc;
    rc = hn_carried_code_files(t, &own, err);
    hn_str s = {0};
    if (!rc) hn_str_addf(&s, "%s%s", llvm, own), free(own);
    free(llvm);
    *lines = rc ? NULL : hn_str_take(&s);
    if (!rc && !*lines) *lines = calloc(1, 1);
    return rc;
}

static const struct {
    const char *name, *doc;
} numeric[] = {{"-fgpu-flush-denormals-to-zero", "Denormals become zero."},
               {"-fgpu-approx-transcendentals", "Fast functions."}};

/* clang's own options that say nothing to a device. */
static const char host_only[] =
    "-m*|-fplt|-falign-*|-ffunction-sections|-fdata-sections|-fomit-frame-pointer|-fsplit-machine-functions|"
    "-fsemantic-interposition|-ffine-grained-bitfield-accesses|-foptimize-sibling-calls";

static hone_rc discover(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err) {
    hn_control *c = hn_control_add(a, out, "-O", "Optimisation level of the way to PTX.", HN_CODEGEN);
    if (c) hn_control_values(a, c, "3|2|1|s|z", '|');
    for (size_t i = 0; i < sizeof numeric / sizeof *numeric; i++)
        if ((c = hn_control_add(a, out, numeric[i].name, numeric[i].doc, HN_NUMERIC)))
            hn_control_values(a, c, "on", '|');
    char *ptxas = hn_cuda_tool("ptxas");
    const char *const argv[] = {ptxas ? ptxas : "ptxas", "--help", NULL};
    hn_tool run = {0};
    bool asked = !hn_tool_run(argv, 30, &run, NULL) && run.ok;
    hn_nv_discover(a, out, 'C', NULL, asked ? run.out : NULL, all);
    hn_tool_free(&run);
    free(ptxas);
    hone_rc rc = hn_clang_discover(t, a, true, all, out, err);
    for (size_t i = 0; i < out->n && !rc; i++)
        if (strncmp(out->item[i].name, "-mllvm=", 7) != 0 && hn_matches(host_only, out->item[i].name))
            out->item[i].cls = HN_IRRELEVANT;
    return rc;
}

static hn_rule classify(const char *name, bool takes_value) {
    if (!strncmp(name, "-Xptxas=", 8)) return hn_nv_classify('C', name);
    return hn_llvm_classify(name, takes_value);
}

static void spell(hn_flags *f, const hone_target *t, const char *name, const char *value) {
    if (!strncmp(name, "-Xptxas=", 8))
        hn_nv_spell(f, t, name, value);
    else
        hn_cc_spell(f, t, name, value);
}

static void read_flag(const hone_target *t, const char *const *word, size_t n, hn_said *out) {
    if (!strncmp(*word, "-Xptxas", 7) || !strncmp(*word, "--ptxas-options", 15))
        hn_nv_read("-O", word, n, out);
    else
        hn_cc_read(t, word, n, out);
}

/* Multiply-adds are fused where nothing is said. */
static hone_fp contract_of(const char *baseline, const char *build) { return hn_cc_contract(baseline, build, false); }

static const hn_probe_program probe = {".cu", hn_nv_kernel, "-cubin", hn_nv_is_cubin};
static const char *const levels[] = {"-O 3", "-O 2", "-O s", "-O 1", NULL};
static const char *const seeds[] = {"-O 3",
                                    "-O 2",
                                    "-O 3; -Xptxas=-maxrregcount 64",
                                    "-O 3; -Xptxas=-regUsageLevel 10",
                                    "-O 3; -Xptxas=-dlcm cs; -Xptxas=-dscm cs",
                                    "-O 3; -mllvm=unroll-threshold 1000",
                                    "-O s",
                                    NULL};

extern const hn_family hn_family_clang_cuda;
const hn_family hn_family_clang_cuda = {
    .version = 1,
    .name = "clang-cuda",
    .summary = "clang for CUDA C++: LLVM's options on the way to PTX, then those of ptxas by -Xptxas",
    .command = "clang-cuda",
    .aliases = "",
    .locate = locate,
    .recognise = recognise,
    .binary = hn_carried_binary,
    .code_files = code_files,
    .native = hn_nv_native,
    .driver = hn_nv_driver,
    .discover = discover,
    .classify = classify,
    .level = "-O",
    .arch = "-arch",
    .levels = levels,
    .seeds = seeds,
    .spell = spell,
    .read = read_flag,
    .define = hn_cc_define,
    .baseline = "-O3",
    .plain = "-O3",
    .worst = "-O0",
    .tunable = "-O*|-Xptxas*|-ffast-math*|-funroll*",
    .stays = "",
    .no_program = "-cubin|-c|-ptx",
    .contract = {[HONE_FP_STRICT] = hn_cc_strict, [HONE_FP_CONTRACT] = hn_cc_contracted, [HONE_FP_FAST] = hn_cc_fast},
    .contract_of = contract_of,
    .probe_level = "-O3",
    .probe = &probe,
    .listing = &hn_listing_sass,
    .source_name = hn_nv_source_name,
};
