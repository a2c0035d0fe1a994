/* backend/gpu/gpu.c — the rows of the backends `opencl` and `cuda`, and their targets. */
#include "backend/gpu/gpu.h"
#include "backend/image.h"
#include "sketch/gpu.h"

extern const hn_backend hn_backend_opencl, hn_backend_cuda;

static const char *const no_flags[] = {"-cl-std=CL1.2", NULL};
static const hn_dialect opencl_row = {.backend = &hn_backend_opencl,
                                      .name = "opencl",
                                      .summary = "OpenCL C 1.2, compiled by the driver",
                                      .vector_b = 16,
                                      .n_registers = 64,
                                      .fma = true,
                                      .flags = no_flags,
                                      .rank = 0,
                                      .offered = "1"};
static const hn_dialect *const opencl_rows[] = {&opencl_row, NULL};

#define HN_ARCH(arch, rank_, shared, text)                                                                             \
    static const char *const flags_##arch[] = {"--gpu-architecture=" #arch, "--fmad=false", NULL};
#include "backend/gpu/archs.def"
#undef HN_ARCH
static const hn_dialect cuda_row[] = {
#define HN_ARCH(arch, rank_, shared, text)                                                                             \
    {.backend = &hn_backend_cuda,                                                                                      \
     .name = "cuda:" #arch,                                                                                            \
     .summary = text,                                                                                                  \
     .vector_b = 16,                                                                                                   \
     .n_registers = 64,                                                                                                \
     .fma = true,                                                                                                      \
     .flags = flags_##arch,                                                                                            \
     .relaxed_flag = "--fmad=true",                                                                                    \
     .rank = rank_,                                                                                                    \
     .offered = "1"},
#include "backend/gpu/archs.def"
#undef HN_ARCH
};
enum {
#define HN_ARCH(arch, ...) AT_##arch,
#include "backend/gpu/archs.def"
#undef HN_ARCH
};
static const hn_dialect *const cuda_rows[] = {
#define HN_ARCH(arch, ...) &cuda_row[AT_##arch],
#include "backend/gpu/archs.def"
#undef HN_ARCH
    NULL};

enum { OPENCL_SHARED_KB = 32, FOLDS_B = 1 << 10 /* for what folds use */, COPIES_RANK = 80 };

/* Shared memory of a block, by the row of an architecture. */
static int64_t shared_of(const hn_dialect *d) {
    static const int64_t kb[] = {
#define HN_ARCH(arch, rank_, shared, text) [AT_##arch] = shared,
#include "backend/gpu/archs.def"
#undef HN_ARCH
    };
    return d == &opencl_row ? OPENCL_SHARED_KB << 10 : (kb[d - cuda_row] << 10) - FOLDS_B;
}

static hn_machine machine(const hn_dialect *d, const hone_device *device) {
    bool is_opencl = d == &opencl_row;
    (void)device;
    return (hn_machine){.vector_b = d->vector_b,
                        .registers = d->n_registers,
                        .cores = 64,
                        .line_b = 128,
                        .l1d_b = 32 << 10,
                        .l1d_ways = 8,
                        .l2_b = 4 << 20,
                        .l3_b = 32 << 20,
                        .fma = d->fma,
                        .threads = is_opencl ? 256 : 1024,
                        .shared_b = shared_of(d),
                        .warp = 32,
                        .copies = !is_opencl && d->rank >= COPIES_RANK,
                        .clusters = !is_opencl && d->rank >= HN_GPU_CLUSTERS_RANK};
}

#define COMMON                                                                                                         \
    .version = HN_BACKEND_VERSION,                                                                                     \
    .loops = HN_BIT(HN_SERIAL) | HN_BIT(HN_PARALLEL) | HN_BIT(HN_VECTOR) | HN_BIT(HN_UNROLL) | HN_BIT(HN_GROUP) |      \
             HN_BIT(HN_ROLE) | HN_BIT(HN_CLUSTER),                                                                     \
    .spaces = HN_BIT(HN_PARAM) | HN_BIT(HN_RESULT) | HN_BIT(HN_LOCAL) | HN_BIT(HN_REG) | HN_BIT(HN_WORDS) |            \
              HN_BIT(HN_SHARED) | HN_BIT(HN_GATE),                                                                     \
    .sketches = hn_gpu_sketches, .print = hn_gpu_print, .reference = hn_gpu_reference, .machine = machine,             \
    .here = &hn_place_device

static const hn_layout_facts opencl_layout = {.panel = 16, .channels_last = true, .many_processors = true};
const hn_backend hn_backend_opencl = {.name = "opencl",
                                      .layout = &opencl_layout,
                                      .driver = "opencl",
                                      .summary = "OpenCL C 1.2 for devices with an OpenCL driver",
                                      .dialects = opencl_rows,
                                      .add_runtime = hn_opencl_add_runtime,
                                      COMMON};
/* Products of halves are products of tiles there (sketch `mma`). */
static const hn_layout_facts cuda_layout = {
    .panel = 16, .channels_last = true, .halves = true, .many_processors = true};
const hn_backend hn_backend_cuda = {.name = "cuda",
                                    .layout = &cuda_layout,
                                    .driver = "cuda",
                                    .images = &hn_cuda_images,
                                    .summary = "CUDA C for NVIDIA's devices",
                                    .dialects = cuda_rows,
                                    .add_runtime = hn_cuda_add_runtime,
                                    COMMON};
