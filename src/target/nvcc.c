/* target/nvcc.c — NVIDIA's nvcc: the host compiler, the compiler to PTX and ptxas behind one command.
 *
 * Controls are nvcc's own and those of the ptxas beside it, as -Xptxas=NAME. What steers code for the host comes with
 * `all`: where a build leaves a cubin, it changes nothing. */
#include "base/err.h"
#include "base/fs.h"
#include "target/cc.h"
#include "target/nvidia.h"

#include <stdlib.h>
#include <string.h>

static bool recognise(const char *version) { return hn_nv_recognise(version, "Cuda compiler driver"); }

/* The parts that make code: to PTX, to machine code, the split into host and device, device functions. */
static hone_rc code_files(hone_target *t, char **lines, hone_err *err) {
    *lines = hn_nv_beside(t->print.path,
                          "ptxas|cudafe++|nvlink|../nvvm/bin/cicc|../nvvm/libdevice/libdevice.10.bc|nvcc.profile");
    return *lines ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory listing the parts of '%s'", t->print.command);
}

static hone_rc discover(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err) {
    static const char *const args[] = {"--help", NULL};
    char *help, *lines = hn_nv_beside(t->print.path, "ptxas");
    if (lines) lines[strcspn(lines, "\n")] = 0;
    const char *const argv[] = {lines && hn_exists(lines) ? lines : "ptxas", "--help", NULL};
    hn_tool run = {0};
    hone_rc rc = hn_tool_ask(t, args, &help, err);
    if (rc) {
        free(lines);
        return rc;
    }
    bool passed = !hn_tool_run(argv, 30, &run, NULL) && run.ok;
    hn_nv_discover(a, out, 'N', help, passed ? run.out : "", all);
    hn_tool_free(&run);
    free(lines);
    free(help);
    return HONE_OK;
}

static hn_rule classify(const char *name, bool takes_value) {
    (void)takes_value;
    return hn_nv_classify('N', name);
}

static const hn_probe_program probe = {".cu", hn_nv_kernel, "-cubin", hn_nv_is_cubin};
static const hn_language cuda = {
    .endings = ".cu",
    .command = "nvcc",
    .math = "",
    .threads = "",
    .openmp = "",
    .device = "{cc} {flags} {defines} -arch=sm_90 -cubin %s -o {out}",
    .others = "nvrtc, faster where the file has no code for the host, and clang-cuda compile the "
              "same",
    .figures = true};
static const hn_language *const languages[] = {&cuda, NULL};

extern const hn_family hn_family_nvcc;
const hn_family hn_family_nvcc = {
    HN_NV_PASSING,
    .name = "nvcc",
    .summary = "NVIDIA's nvcc for CUDA C++: its options for device code, and those of its ptxas by -Xptxas",
    .command = "nvcc",
    .locate = hn_nv_locate,
    .recognise = recognise,
    .code_files = code_files,
    .discover = discover,
    .classify = classify,
    .languages = languages,
    .probe = &probe,
};
