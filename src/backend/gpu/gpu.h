/* backend/gpu/gpu.h — the backends `opencl` and `cuda`: kernels in C-like languages for devices.
 *
 * One printer serves both: what it prints are macros and functions of a prelude (rt/c_opencl.h, rt/c_cuda.h), which
 * spells address spaces, ids, barriers and functions in the language. A language more is a prelude and a row in gpu.c.
 * print*.c write nests, reference.c the node-by-node forms, runtime.c carries rt/ and runtime texts of the CPU backend.
 * Private to the folder.
 */
#ifndef HN_GPU_H
#define HN_GPU_H

#include "backend/backend.h"

enum { HN_GPU_THREADS = 128 };      /* of a block where items are threads */
enum { HN_GPU_CLUSTERS_RANK = 90 }; /* CUDA's architectures from there on have clusters of blocks (archs.def) */

/* The functions of hn_backend. */
hone_rc hn_gpu_print(hn_nest *n, const char *name, const hn_emit_how *how, hn_kernel_code *out, hone_err *err);
hone_rc hn_gpu_reference(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out, hone_err *err);
bool hn_opencl_add_runtime(hn_str *out, const char *names);
bool hn_cuda_add_runtime(hn_str *out, const char *names);

/* The head of a kernel, up to its opening brace, and declarations of `s`, the error slot. */
typedef struct hn_gpu_head {
    const char *name;
    uint32_t n_buf;
    int threads;
    const char *symbol; /* how symbols are called: "s_" or "s" and the number */
    const hn_device_code *device;
} hn_gpu_head;
void hn_gpu_add_head(hn_str *out, const hn_gpu_head *h);

/* Attention over blocks of keys in a device's language (reference_attend.c). */
struct hn_ref;
void hn_gpu_attend(struct hn_ref *e);
hn_dim hn_gpu_attend_work(struct hn_ref *e, const hn_node *n);

#endif
