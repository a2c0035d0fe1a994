/* hone/bench_gpu.h — the benchmark harness for GPU kernels: times kernels of yours on a CUDA or OpenCL device.
 *
 * Nothing of CUDA or OpenCL is needed to compile or link: libcuda.so.1, libnvidia-ml.so.1 and libOpenCL.so.1 are opened
 * at run time. A program with its own main:
 *
 *     #include <hone/bench_gpu.h>
 *     int main(int argc, char **argv) {
 *         hone_bench *b = hone_bench_open(argc, argv);
 *         int n = (int)hone_bench_arg_int(b, "n", 1 << 20);
 *         hone_gpu *g = hone_gpu_open(b, NULL);
 *         hone_gpu_load(g, "scale.cubin", NULL);
 *         int x = hone_gpu_buffer(g, "x", HONE_GPU_IN, HONE_GPU_F32, (size_t)n, NULL);
 *         int y = hone_gpu_buffer(g, "y", HONE_GPU_OUT, HONE_GPU_F32, (size_t)n, NULL);
 *         hone_gpu_arg arg[] = {hone_gpu_pass(x), hone_gpu_pass(y), hone_gpu_value(&n, sizeof n)};
 *         hone_gpu_dim grid = {(unsigned)n / 256, 1, 1}, block = {256, 1, 1};
 *         hone_gpu_launch(g, "scale", grid, block, 0, arg, 3);
 *         hone_gpu_run(g, "latency"); // times the launches above, checks guards, hands outputs to parity
 *         hone_gpu_close(g);
 *         return hone_bench_close(b);
 *     }
 *
 * The ready program hone-gpu-bench does all of this from a description. See docs/harness-gpu.md.
 *
 * Errors: what goes wrong ends the program with status 1 and one line on stderr; the class of the fault goes to
 * HONE_BENCH_OUT. Memory: texts and data handed in are copied. Threads: one.
 */
#ifndef HONE_BENCH_GPU_H
#define HONE_BENCH_GPU_H

#include <hone/bench.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_gpu hone_gpu;

typedef enum hone_gpu_type {
    HONE_GPU_F32,
    HONE_GPU_F64,
    HONE_GPU_F16,
    HONE_GPU_BF16,
    HONE_GPU_I8,
    HONE_GPU_U8,
    HONE_GPU_I16,
    HONE_GPU_U16,
    HONE_GPU_I32,
    HONE_GPU_U32,
    HONE_GPU_I64,
    HONE_GPU_U64,
} hone_gpu_type;

typedef enum hone_gpu_use { HONE_GPU_IN = 1, HONE_GPU_OUT = 2, HONE_GPU_INOUT = 3 } hone_gpu_use;

/* Blocks of a grid, or threads of a block; 0 counts as 1. */
typedef struct hone_gpu_dim {
    unsigned x, y, z;
} hone_gpu_dim;

/* One argument of a kernel: made by the three functions below. */
typedef struct hone_gpu_arg {
    int buffer;        /* -1: not a buffer */
    const void *value; /* NULL: size bytes of local memory (OpenCL) */
    size_t size;
    int real; /* a float or a double: matters on the shim alone */
} hone_gpu_arg;
static inline hone_gpu_arg hone_gpu_pass(int buffer) {
    hone_gpu_arg a = {buffer, NULL, 0, 0};
    return a;
}
static inline hone_gpu_arg hone_gpu_value(const void *value, size_t size) {
    hone_gpu_arg a = {-1, value, size, 0};
    return a;
}
static inline hone_gpu_arg hone_gpu_local(size_t size) {
    hone_gpu_arg a = {-1, NULL, size, 0};
    return a;
}

/* device: "cuda", "opencl", with ":N" the Nth of that kind; NULL: the variable HONE_GPU_DEVICE, else the first device
 * that takes what is loaded. */
hone_gpu *hone_gpu_open(hone_bench *b, const char *device);

/* A cubin, fatbin or PTX text (CUDA), an OpenCL C source or an OpenCL binary; which one its content tells. options:
 * for the OpenCL compiler, may be NULL. */
void hone_gpu_load(hone_gpu *g, const char *path, const char *options);
void hone_gpu_load_image(hone_gpu *g, const void *image, size_t size, const char *options);

/* A buffer of n elements; gives its number. data: what an input holds at first (for an output: ignored); NULL: random
 * numbers, uniform in [-1, 1), integers over their whole range. An input that holds one value only is refused: zeros
 * draw less power, and run up to 13 % faster, than data. hone_gpu_allow_constant says that it is meant. */
int hone_gpu_buffer(hone_gpu *g, const char *name, hone_gpu_use use, hone_gpu_type type, size_t n, const void *data);
void hone_gpu_allow_constant(hone_gpu *g, int buffer);
size_t hone_gpu_type_size(hone_gpu_type type);
/* Random numbers in [lo, hi), the same for the same seed. */
void hone_gpu_fill_uniform(void *data, hone_gpu_type type, size_t n, double lo, double hi, uint64_t seed);
/* About normal, mean 0 and standard deviation 1; floating-point types. */
void hone_gpu_fill_normal(void *data, hone_gpu_type type, size_t n, uint64_t seed);
void hone_gpu_fill_constant(void *data, hone_gpu_type type, size_t n, double value);

/* Adds a launch to what one call is. Several launches run in order. */
void hone_gpu_launch(hone_gpu *g, const char *entry, hone_gpu_dim grid, hone_gpu_dim block, size_t shared_b,
                     const hone_gpu_arg *arg, size_t n_args);

/* Times a call: seconds per call under this name, and beside it, where they can be read, NAME_cycles, NAME_clock (MHz),
 * NAME_throttle (NVML's reasons, bits) and NAME_energy (joules). Then one more call on fresh inputs and poisoned
 * outputs gives the outputs that parity is judged on. The launches are used up, buffers stay. */
void hone_gpu_run(hone_gpu *g, const char *metric);

/* What was opened, for a line of a report: "NVIDIA H200, sm_90, driver 580.65.06, CUDA 13.0". "" before a load. */
const char *hone_gpu_name(const hone_gpu *g);

void hone_gpu_close(hone_gpu *g); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
