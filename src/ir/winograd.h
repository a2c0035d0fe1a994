/* ir/winograd.h — windows of 3 x 3 evaluated for Winograd's minimal filtering, which convolutions may have as a third
 * input: kernels take it in place of the weights and multiply less (src/backend/cpu/rt/winograd.h). It says nothing
 * that the weights do not say: the interpreter, loop nests and reference versions read the weights.
 *
 * Tiles have TILE x TILE results, TILE 2 or 4, and (TILE + 2)^2 points. The input is f32 [panels, points, channels,
 * 16]: a panel is 16 result channels, the last one filled up with zeros. Threads: any.   Errors: false where memory
 * ends (sticky in the arena).
 */
#ifndef HN_WINOGRAD_H
#define HN_WINOGRAD_H

#include "ir/graph.h"

enum { HN_WINOGRAD_PANEL = 16, HN_WINOGRAD_TILE_MAX = 4, HN_WINOGRAD_POINTS = HN_WINOGRAD_TILE_MAX + 2 };

/* The tile of convolution n; 0: it has no such input. */
int64_t hn_winograd_tile(const hn_graph *g, const hn_node *n);
/* w: f32 [results, channels, 3, 3]. */
bool hn_winograd_windows(hn_arena *a, const hn_tensor *w, int64_t tile, hn_tensor *out);
/* What a convolution with these weights rounds that way: the largest difference of a result from the exact one, by
 * their root mean square, on some drawn tiles (not negative, as behind a rectifier) and up to 32 of its results. NaN or
 * infinite where the weights are. */
double hn_winograd_error(hn_arena *a, const hn_tensor *w, const hn_tensor *windows, int64_t tile);

#endif
