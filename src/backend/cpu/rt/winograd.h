/* rt/winograd.h — convolutions with windows of 3 x 3 by fewer multiplications. Needs base.h and lanes.h.
 *
 * Winograd's minimal filtering (Lavin & Gray, "Fast algorithms for convolutional neural networks", CVPR 2016): the
 * image is cut into tiles of (M + 2) x (M + 2) that overlap by two; tile and window are evaluated at M + 1 points and
 * at infinity in each direction, multiplied there, and M x M results are interpolated. The sum over channels is taken
 * between the transforms, so that it is (M + 2)^2 products of matrices [tiles, channels] x [channels, results]. M is 2,
 * with the points 0, 1, -1, or 4, with 0, -c, c, -1/c, 1/c for c = sqrt(2): reciprocals with both signs round best
 * (Alam, Anderson, Barabasz & Gregg, "Winograd convolution for deep neural networks: efficient point selection", TECS
 * 2022; Barabasz et al., "Error analysis and improving the accuracy of Winograd convolution", TOMS 2020). Windows are
 * evaluated when the model is compiled (src/ir/winograd.c has the matrices).
 *
 * Depth-first: a work item is a few tiles, whose evaluations stay in the second-level cache, and panels of 16 results
 * each; a panel's products stay near, too, until its results are interpolated and finished by the kernel's epilogue.
 * The order of every sum is fixed: bits do not depend on tiles, panels or threads.
 */
#ifndef HNR_WINOGRAD_H
#define HNR_WINOGRAD_H

/* Tiles whose products are made side by side: as many as there are registers for. */
#if HNR_L == 16
enum { HNR_WINOGRAD_ROWS = 12 };
#elif HNR_L == 8 || defined(__aarch64__)
enum { HNR_WINOGRAD_ROWS = 6 };
#else
enum { HNR_WINOGRAD_ROWS = 3 };
#endif
enum { HNR_WINOGRAD_PANEL = 16, HNR_WINOGRAD_V = HNR_WINOGRAD_PANEL / HNR_L };

typedef struct hnr_winograd {
    const hnr_f32 *x, *u; /* [images, height, width, channels]; [panels, (M + 2)^2, channels, 16] */
    int64_t images, height, width, channels;
    int64_t rows, columns, results; /* of the result [images, rows, columns, results] */
    int64_t low[2];                 /* padding in front */
    int64_t tiles, panels;          /* of a work item */
} hnr_winograd;

/* The epilogue, which stores: n lanes of results, from element `at` and channel c on. */
typedef void hnr_winograd_end(void *const *buf, hnr_lf y, int64_t at, int64_t c, int n);

/* n lanes from p on, the others 0. */
HNR_ALWAYS hnr_lf hnr_winograd_load(const void *p, int n) {
    hnr_lf y = {0};
    if (__builtin_expect(n == HNR_L, 1)) return *(const hnr_lf_any *)p;
    memcpy(&y, p, (size_t)n * sizeof(float));
    return y;
}
HNR_ALWAYS void hnr_winograd_store(void *p, hnr_lf y, int n) {
    if (__builtin_expect(n == HNR_L, 1))
        *(hnr_lf_any *)p = y;
    else
        memcpy(p, &y, (size_t)n * sizeof(float));
}
/* NaN where either is. */
HNR_ALWAYS hnr_lf hnr_winograd_max(hnr_lf a, hnr_lf b) { return hnr_l_choose((a > b) | (a != a), a, b); }
HNR_ALWAYS hnr_lf hnr_winograd_min(hnr_lf a, hnr_lf b) { return hnr_l_choose((a < b) | (a != a), a, b); }

HNR_ALWAYS int64_t hnr_winograd_wide(int64_t channels) { return (channels + HNR_L - 1) / HNR_L * HNR_L; }
HNR_ALWAYS int64_t hnr_winograd_down(const hnr_winograd *j, const int M) { return (j->rows + M - 1) / M; }
HNR_ALWAYS int64_t hnr_winograd_across(const hnr_winograd *j, const int M) { return (j->columns + M - 1) / M; }

/* --- the transforms in one direction --- */
#define HNR_W_C 0x1.6a09e6p0f /* sqrt(2) */
#define HNR_W_R 0x1.6a09e6p-1f

HNR_ALWAYS void hnr_winograd_point(const hnr_lf *d, hnr_lf *o, const int M) {
    if (M == 2) {
        o[0] = d[2] - d[0], o[1] = d[1] + d[2], o[2] = d[2] - d[1], o[3] = d[3] - d[1];
        return;
    }
    const hnr_lf two = hnr_l_all(-2.0f), half = hnr_l_all(-0.5f), both = hnr_l_all(-2.5f);
    hnr_lf e = hnr_l_fma(two, d[2], d[4]), q = hnr_l_fma(two, d[1], d[3]) * HNR_W_R;
    hnr_lf f = hnr_l_fma(half, d[2], d[4]), r = hnr_l_fma(half, d[1], d[3]) * HNR_W_C;
    o[0] = hnr_l_fma(both, d[2], d[0] + d[4]);
    o[1] = e + q, o[2] = e - q, o[3] = f + r, o[4] = f - r;
    o[5] = hnr_l_fma(both, d[3], d[1] + d[5]);
}
HNR_ALWAYS void hnr_winograd_back(const hnr_lf *p, hnr_lf *o, const int M) {
    if (M == 2) {
        o[0] = p[0] + p[1] + p[2], o[1] = p[1] - p[2] + p[3];
        return;
    }
    hnr_lf s = p[1] + p[2], d = p[1] - p[2], t = p[3] + p[4], e = p[3] - p[4];
    o[0] = p[0] + s + t;
    o[1] = hnr_l_fma(hnr_l_all(HNR_W_R), d, e * HNR_W_C);
    o[2] = hnr_l_fma(hnr_l_all(0.5f), s, t * 2.0f);
    o[3] = hnr_l_fma(hnr_l_all(HNR_W_R / 2), d, hnr_l_fma(hnr_l_all(HNR_W_C * 2), e, p[5]));
}

/* --- a tile --- */
HNR_ALWAYS void hnr_winograd_in(const float *const *at, int64_t c, int n, float *v, int64_t step, const int M) {
    hnr_lf t[6][6];
    _Pragma("GCC unroll 6") for (int k = 0; k < M + 2; k++) {
        hnr_lf d[6], o[6];
        _Pragma("GCC unroll 6") for (int i = 0; i < M + 2; i++) d[i] = hnr_winograd_load(at[6 * i + k] + c, n);
        hnr_winograd_point(d, o, M);
        _Pragma("GCC unroll 6") for (int i = 0; i < M + 2; i++) t[i][k] = o[i];
    }
    _Pragma("GCC unroll 6") for (int i = 0; i < M + 2; i++) {
        hnr_lf o[6];
        hnr_winograd_point(t[i], o, M);
        _Pragma("GCC unroll 6") for (int k = 0; k < M + 2; k++) * (hnr_lf_any *)(v + ((M + 2) * i + k) * step + c) =
            o[k];
    }
}
/* Tile number `tile`, evaluated; what lies outside of the image is read from `zeros`. */
HNR_ALWAYS void hnr_winograd_tile_in(const hnr_winograd *j, int64_t tile, const float *zeros, float *v, int64_t step,
                                     const int M) {
    const float *at[36];
    const int64_t across = hnr_winograd_across(j, M), down = hnr_winograd_down(j, M), C = j->channels;
    const int64_t image = tile / (across * down);
    const int64_t h = tile / across % down * M - j->low[0], w = tile % across * M - j->low[1];
    _Pragma("GCC unroll 6") for (int i = 0; i < M + 2; i++) _Pragma("GCC unroll 6") for (int k = 0; k < M + 2; k++) {
        int in = h + i >= 0 && h + i < j->height && w + k >= 0 && w + k < j->width;
        at[6 * i + k] = in ? j->x + ((image * j->height + h + i) * j->width + w + k) * C : zeros;
    }
    int64_t c = 0;
    for (; c + HNR_L <= C; c += HNR_L) hnr_winograd_in(at, c, HNR_L, v, step, M);
    if (c < C) hnr_winograd_in(at, c, (int)(C - c), v, step, M);
}
/* A tile's results of a panel, from its products m on. */
HNR_ALWAYS void hnr_winograd_tile_out(const hnr_winograd *j, int64_t tile, int64_t panel, const float *m, int64_t step,
                                      void *const *buf, hnr_winograd_end *end, const int M) {
    const int64_t across = hnr_winograd_across(j, M), down = hnr_winograd_down(j, M);
    const int64_t image = tile / (across * down), h = tile / across % down * M, w = tile % across * M;
    const int rows = (int)hn_min(M, j->rows - h), columns = (int)hn_min(M, j->columns - w);
    for (int64_t l = 0; l < HNR_WINOGRAD_PANEL; l += HNR_L) {
        hnr_lf t[4][6];
        const int64_t c = panel * HNR_WINOGRAD_PANEL + l;
        const int n = (int)hn_min(HNR_L, j->results - c);
        if (n <= 0) return;
        _Pragma("GCC unroll 6") for (int k = 0; k < M + 2; k++) {
            hnr_lf p[6], o[4];
            _Pragma("GCC unroll 6") for (int i = 0; i < M + 2; i++) p[i] =
                *(const hnr_lf_any *)(m + ((M + 2) * i + k) * step + l);
            hnr_winograd_back(p, o, M);
            _Pragma("GCC unroll 4") for (int i = 0; i < M; i++) t[i][k] = o[i];
        }
        for (int i = 0; i < rows; i++) {
            hnr_lf o[4];
            const int64_t at = (((image * j->rows + h + i) * j->columns) + w) * j->results + c;
            hnr_winograd_back(t[i], o, M);
            _Pragma("GCC unroll 4") for (int k = 0; k < M; k++) if (k < columns)
                end(buf, o[k], at + k * j->results, c, n);
        }
    }
}

/* --- products --- */
/* R tiles from v on, rows of `wide` floats, with one panel u. */
HNR_ALWAYS void hnr_winograd_rows(const float *v, int64_t wide, const float *u, int64_t channels, float *m,
                                  const int R) {
    hnr_lf sum[HNR_WINOGRAD_ROWS][HNR_WINOGRAD_V];
    HNR_UNROLL for (int r = 0; r < R; r++) HNR_UNROLL for (int k = 0; k < HNR_WINOGRAD_V; k++) sum[r][k] = (hnr_lf){0};
    for (int64_t c = 0; c < channels; c++, u += HNR_WINOGRAD_PANEL) {
        hnr_lf b[HNR_WINOGRAD_V];
        HNR_UNROLL for (int k = 0; k < HNR_WINOGRAD_V; k++) b[k] = *(const hnr_lf_any *)(u + k * HNR_L);
        HNR_UNROLL for (int r = 0; r < R; r++) {
            hnr_lf a = hnr_l_all(v[r * wide + c]);
            HNR_UNROLL for (int k = 0; k < HNR_WINOGRAD_V; k++) sum[r][k] = hnr_l_fma(a, b[k], sum[r][k]);
        }
    }
    HNR_UNROLL for (int r = 0; r < R; r++) HNR_UNROLL for (int k = 0; k < HNR_WINOGRAD_V; k++) *
        (hnr_lf_any *)(m + r * HNR_WINOGRAD_PANEL + k * HNR_L) = sum[r][k];
}
HNR void hnr_winograd_product(const float *v, int64_t wide, const float *u, int64_t channels, float *m, int64_t n) {
    for (; n >= HNR_WINOGRAD_ROWS; n -= HNR_WINOGRAD_ROWS) {
        hnr_winograd_rows(v, wide, u, channels, m, HNR_WINOGRAD_ROWS);
        v += HNR_WINOGRAD_ROWS * wide, m += HNR_WINOGRAD_ROWS * HNR_WINOGRAD_PANEL;
    }
    for (; n >= HNR_WINOGRAD_ROWS / 3; n -= HNR_WINOGRAD_ROWS / 3) {
        hnr_winograd_rows(v, wide, u, channels, m, HNR_WINOGRAD_ROWS / 3);
        v += HNR_WINOGRAD_ROWS / 3 * wide, m += HNR_WINOGRAD_ROWS / 3 * HNR_WINOGRAD_PANEL;
    }
    for (; n > 0; n--, v += wide, m += HNR_WINOGRAD_PANEL) hnr_winograd_rows(v, wide, u, channels, m, 1);
}

/* --- work items: chunks of tiles, of each all groups of panels --- */
/* Floats of scratch; a line more for each point, so that points do not share a set of the cache. */
HNR_ALWAYS int64_t hnr_winograd_room(int64_t channels, int64_t tiles, const int M) {
    const int64_t wide = hnr_winograd_wide(channels);
    return wide + (M + 2) * (M + 2) * (tiles * (wide + HNR_WINOGRAD_PANEL) + 32);
}
HNR_ALWAYS void hnr_winograd_items(const hnr_winograd *j, int64_t begin, int64_t last, float *room, void *const *buf,
                                   hnr_winograd_end *end, const int M) {
    const int64_t wide = hnr_winograd_wide(j->channels),
                  all = (j->results + HNR_WINOGRAD_PANEL - 1) / HNR_WINOGRAD_PANEL;
    const int64_t groups = (all + j->panels - 1) / j->panels, points = (M + 2) * (M + 2);
    const int64_t n_tile = j->images * hnr_winograd_down(j, M) * hnr_winograd_across(j, M);
    const int64_t v_step = j->tiles * wide + 16, m_step = j->tiles * HNR_WINOGRAD_PANEL + 16;
    float *zeros = room, *v = zeros + wide, *m = v + points * v_step;
    int64_t there = -1; /* the chunk that v holds */
    memset(zeros, 0, (size_t)wide * sizeof *zeros);
    for (int64_t i = begin; i < last; i++) {
        const int64_t chunk = i / groups, first = chunk * j->tiles, n = hn_min(j->tiles, n_tile - first);
        for (int64_t t = 0; t < n && chunk != there; t++)
            hnr_winograd_tile_in(j, first + t, zeros, v + t * wide, v_step, M);
        there = chunk;
        for (int64_t p = i % groups * j->panels; p < hn_min(all, (i % groups + 1) * j->panels); p++) {
            for (int64_t k = 0; k < points; k++)
                hnr_winograd_product(v + k * v_step, wide, j->u + (p * points + k) * j->channels * HNR_WINOGRAD_PANEL,
                                     j->channels, m + k * m_step, n);
            for (int64_t t = 0; t < n; t++)
                hnr_winograd_tile_out(j, first + t, p, m + t * HNR_WINOGRAD_PANEL, m_step, buf, end, M);
        }
    }
}

#endif
