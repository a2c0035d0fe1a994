/* sketch/gpu.h — sketches for machines with blocks of threads (sketch/sketch.h has what a sketch is): what the backends
 * for GPUs schedule their nests with. They use the rewrites of nest/device.h; the cost models know sizes, strides and
 * the machine's figures alone.
 */
#ifndef HN_SKETCH_GPU_H
#define HN_SKETCH_GPU_H

#include "sketch/sketch.h"

extern const hn_sketch *const hn_gpu_sketches[]; /* the most specific first; the last, "grid", fits every nest */
extern const hn_sketch hn_sketch_gpu_attention;  /* sketch/gpu_attention.c */
extern const hn_sketch hn_sketch_gpu_decode;     /* likewise */
extern const hn_sketch hn_sketch_gpu_mma;        /* sketch/gpu_mma.c */
extern const hn_sketch hn_sketch_gpu_tile;       /* sketch/gpu_tile.c */
extern const hn_sketch hn_sketch_gpu_transpose;  /* sketch/gpu_transpose.c */
extern const hn_sketch hn_sketch_gpu_rows;       /* sketch/gpu_rows.c */
extern const hn_sketch hn_sketch_gpu_grid;       /* sketch/gpu_grid.c */

#endif
