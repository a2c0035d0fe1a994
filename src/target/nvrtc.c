/* target/nvrtc.c — NVRTC, NVIDIA's compiler of CUDA C++ that is a library, through the carried hone-nvrtc.
 *
 * It takes nvcc's options for device code and less time (bench/nvrtc-pace.sh): no host compiler runs. Which of them a
 * version takes, it does not list; probing tells. */
#include "device/cuda.h"
#include "target/carried.h"
#include "target/cc.h"
#include "target/nvidia.h"

#include <stdlib.h>
#include <string.h>

static char *locate(const char *command) {
    (void)command;
    char *library = hn_cuda_library("libnvrtc.so"), *include = library ? hn_cuda_include(library) : NULL;
    if (library && !include) include = hn_cuda_include(NULL);
    hn_str s = {0};
    hn_str_addf(&s, "library=%s\n", library ? library : "");
    if (include) hn_str_addf(&s, "include=%s\n", include);
    char *path = library && s.text ? hn_carried_driver("nvrtc", s.text) : NULL;
    hn_str_free(&s);
    free(library);
    free(include);
    return path;
}

static bool recognise(const char *version) { return hn_nv_recognise(version, "hone-nvrtc: "); }

static hone_rc discover(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err) {
    (void)t, (void)err;
    hn_nv_discover(a, out, 'R', NULL, NULL, all);
    return HONE_OK; /* lack of memory is sticky in the arena; the caller looks */
}

static hn_rule classify(const char *name, bool takes_value) {
    (void)takes_value;
    return hn_nv_classify('R', name);
}

static const hn_probe_program probe = {".cu", hn_nv_kernel, "-cubin", hn_nv_is_cubin};

extern const hn_family hn_family_nvrtc;
const hn_family hn_family_nvrtc = {
    HN_NV_PASSING,
    .name = "nvrtc",
    .summary = "NVRTC, CUDA C++ compiled by a library: nvcc's options for device code, in less time",
    .command = "nvrtc",
    .locate = locate,
    .recognise = recognise,
    .binary = hn_carried_binary,
    .code_files = hn_carried_code_files,
    .discover = discover,
    .classify = classify,
    .probe = &probe,
};
