/* sketch/gpu.c — the table of sketches for GPUs. */
#include "sketch/gpu.h"

const hn_sketch *const hn_gpu_sketches[] = {
    &hn_sketch_gpu_attention, &hn_sketch_gpu_decode, &hn_sketch_gpu_mma,  &hn_sketch_gpu_tile,
    &hn_sketch_gpu_transpose, &hn_sketch_gpu_rows,   &hn_sketch_gpu_grid, NULL};
