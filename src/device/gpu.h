/* device/gpu.h — GPUs and other devices of CUDA and OpenCL, seen through the carried program hone-gpu-bench.
 *
 * hone itself loads no driver: they start threads, map gigabytes, and may hang. The program is asked in a child under a
 * time limit. Errors: E_IO, E_NOMEM; a driver that is missing is an answer.
 */
#ifndef HN_DEVICE_GPU_H
#define HN_DEVICE_GPU_H

#include "base/arena.h"

#include <hone/device.h>

#define HN_GPU_PROGRAM_NAME "hone-gpu-bench"

/* Writes the program into the folder, executable. E_UNSUPPORTED: this build of hone carries none. */
hone_rc hn_gpu_program(const char *dir, hone_err *err);
/* A device ("cuda", "opencl", with ":N" the Nth; NULL: the first there is, CUDA's before OpenCL's) and what drives it:
 * "NVIDIA H200, sm_90, driver 580.65, CUDA 13.0"; "none". In `a`. */
const char *hn_gpu_identity(hn_arena *a, const char *device);

#endif
