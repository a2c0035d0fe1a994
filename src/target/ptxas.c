/* target/ptxas.c — NVIDIA's assembler of PTX, which makes the machine code: what Triton and others have in common.
 *
 * PTX says itself which operations are fused; -fmad decides about those that leave it open. */
#include "base/err.h"
#include "target/cc.h"
#include "target/nvidia.h"

#include <stdlib.h>
#include <string.h>

static bool recognise(const char *version) { return hn_nv_recognise(version, "Ptx optimizing assembler"); }

/* It is one file. */
static hone_rc code_files(hone_target *t, char **lines, hone_err *err) {
    *lines = calloc(1, 1);
    return *lines ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", t->print.command);
}

static hone_rc discover(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err) {
    static const char *const args[] = {"--help", NULL};
    char *help;
    hone_rc rc = hn_tool_ask(t, args, &help, err);
    if (rc) return rc;
    hn_nv_discover(a, out, 'P', help, NULL, all);
    free(help);
    return HONE_OK;
}

static hn_rule classify(const char *name, bool takes_value) {
    (void)takes_value;
    return hn_nv_classify('P', name);
}

static void read_flag(const hone_target *t, const char *const *word, size_t n, hn_said *out) {
    (void)t;
    hn_nv_read("-O", word, n, out);
}

static hone_fp contract_of(const char *baseline, const char *build) {
    hone_fp fp = hn_nv_contract_of(baseline, build);
    return fp == HONE_FP_FAST ? HONE_FP_CONTRACT : fp;
}

static const char program[] =
#include "target/ptxas_probe.inc"
    ;
static const hn_probe_program probe = {".ptx", program, "-m64", hn_nv_is_cubin};
static const hn_language ptx = {.endings = ".ptx",
                                .command = "ptxas",
                                .math = "",
                                .threads = "",
                                .openmp = "",
                                .device = "{cc} {flags} -arch=sm_90 %s -o {out}",
                                .others = "",
                                .figures = true};
static const hn_language *const languages[] = {&ptx, NULL};
static const char *const levels[] = {"-O 3", "-O 2", "-O 1", NULL};
static const char *const seeds[] = {"-O 3",
                                    "-maxrregcount 32",
                                    "-maxrregcount 64",
                                    "-maxrregcount 128; -override-directive-values on",
                                    "-regUsageLevel 0",
                                    "-regUsageLevel 10",
                                    "-dlcm cg",
                                    "-dlcm cs; -dscm cs",
                                    "-dscm wt",
                                    "-O min",
                                    "-O 1",
                                    NULL};

extern const hn_family hn_family_ptxas;
const hn_family hn_family_ptxas = {
    .version = 1,
    .name = "ptxas",
    .summary = "NVIDIA's assembler: PTX, as Triton and others leave it, becomes a cubin",
    .command = "ptxas",
    .aliases = "",
    .locate = hn_nv_locate,
    .recognise = recognise,
    .version_key = "release ",
    .code_files = code_files,
    .native = hn_nv_native,
    .driver = hn_nv_driver,
    .discover = discover,
    .classify = classify,
    .level = "-O",
    .arch = "-arch",
    .levels = levels,
    .seeds = seeds,
    .spell = hn_nv_spell,
    .read = read_flag,
    .define = hn_cc_define, /* PTX has no macros: parameters stand in the command by name */
    .baseline = "-O3",
    .plain = "-O3",
    .worst = "-O0",
    .tunable = "-O*|-maxrregcount*|--maxrregcount*|-regUsageLevel*|--register-usage-level*|-dlcm*|-dscm*|-Ofc*|-fmad*",
    .stays = "",
    .no_program = "*",
    .languages = languages,
    .contract = {[HONE_FP_STRICT] = hn_nv_strict, [HONE_FP_CONTRACT] = hn_nv_none, [HONE_FP_FAST] = hn_nv_none},
    .contract_of = contract_of,
    .probe_level = "-arch=sm_80",
    .probe = &probe,
    .listing = &hn_listing_sass,
    .source_name = hn_nv_source_name,
};
