/* The twelve kernels of bench/static-search.sh on the shim, against plain C, with the sizes as they are and with
 * others. */
#include "shim.cuh"

#include "cases.h"

#include <hone/cuda_controls.h>

namespace plain_stencil {
#include "bench/gpu/kernels/stencil.cu"
}
namespace plain_scan {
#include "bench/gpu/kernels/scan.cu"
}
namespace plain_histogram {
#include "bench/gpu/kernels/histogram.cu"
}
namespace plain_transpose {
#include "bench/gpu/kernels/transpose.cu"
}
namespace plain_spmv {
#include "bench/gpu/kernels/spmv.cu"
}
namespace plain_nbody {
#include "bench/gpu/kernels/nbody.cu"
}
namespace plain_cholesky {
#include "bench/gpu/kernels/cholesky.cu"
}
namespace plain_layernorm {
#include "bench/gpu/kernels/layernorm.cu"
}
namespace plain_radix {
#include "bench/gpu/kernels/radix.cu"
}
namespace plain_mandelbrot {
#include "bench/gpu/kernels/mandelbrot.cu"
}
namespace plain_fft {
#include "bench/gpu/kernels/fft.cu"
}
namespace plain_dot_q8 {
#include "bench/gpu/kernels/dot_q8.cu"
}

/* The same with other sizes: another prefix keeps the names apart. */
#undef HONE_NAME_PREFIX
#define HONE_NAME_PREFIX other_
#define HONE_SIZE_BX 16
#define HONE_SIZE_BY 2
#define HONE_SIZE_DEPTH 3
#define HONE_SIZE_BLOCK 64
#define HONE_SIZE_ITEMS 3
#define HONE_SIZE_COPIES 3
#define HONE_SIZE_TILE 16
#define HONE_SIZE_LINES 4
#define HONE_SIZE_PAD 2
#define HONE_SIZE_LANES 4
#define HONE_SIZE_BODIES 2
#define HONE_SIZE_PX 3
#define HONE_SIZE_BATCH 1
namespace other_stencil {
#include "bench/gpu/kernels/stencil.cu"
}
namespace other_scan {
#include "bench/gpu/kernels/scan.cu"
}
namespace other_histogram {
#include "bench/gpu/kernels/histogram.cu"
}
namespace other_transpose {
#include "bench/gpu/kernels/transpose.cu"
}
namespace other_spmv {
#include "bench/gpu/kernels/spmv.cu"
}
namespace other_nbody {
#include "bench/gpu/kernels/nbody.cu"
}
namespace other_cholesky {
#include "bench/gpu/kernels/cholesky.cu"
}
namespace other_layernorm {
#include "bench/gpu/kernels/layernorm.cu"
}
namespace other_radix {
#include "bench/gpu/kernels/radix.cu"
}
namespace other_mandelbrot {
#include "bench/gpu/kernels/mandelbrot.cu"
}
namespace other_fft {
#include "bench/gpu/kernels/fft.cu"
}
namespace other_dot_q8 {
#include "bench/gpu/kernels/dot_q8.cu"
}

static unsigned parts_of(int n, int part) { return static_cast<unsigned>((n + part - 1) / part); }
static size_t at(int i) { return static_cast<size_t>(i); }

/* A kernel and its other self: BODY launches KERNEL from the namespace S. */
#define BOTH(kernel, tolerance, got, want, ...)                                                                        \
    do {                                                                                                               \
        {                                                                                                              \
            namespace s = plain_##kernel;                                                                              \
            auto *run = plain_##kernel::kernel;                                                                        \
            in_every_order(                                                                                            \
                #kernel, tolerance, [&] { return got.poison(), (__VA_ARGS__); }, [&] { return worst(got, want); });    \
        }                                                                                                              \
        {                                                                                                              \
            namespace s = other_##kernel;                                                                              \
            auto *run = other_##kernel::other_##kernel;                                                                \
            in_every_order(                                                                                            \
                #kernel "_other", tolerance, [&] { return got.poison(), (__VA_ARGS__); },                              \
                [&] { return worst(got, want); });                                                                     \
        }                                                                                                              \
    } while (0)

static void test_stencil() {
    const int nx = 37, ny = 9, nz = 7;
    array<float> x(at(nx * ny * nz)), y(x.n), want(x.n);
    fill(x, -1, 1);
    for (int z = 0; z < nz; z++)
        for (int j = 0; j < ny; j++)
            for (int i = 0; i < nx; i++) {
                const int e = (z * ny + j) * nx + i;
                const bool edge = !i || !j || !z || i == nx - 1 || j == ny - 1 || z == nz - 1;
                want[at(e)] = edge ? x[at(e)]
                                   : 0.4f * x[at(e)] + 0.1f * (x[at(e - 1)] + x[at(e + 1)] + x[at(e - nx)] +
                                                               x[at(e + nx)] + x[at(e - nx * ny)] + x[at(e + nx * ny)]);
            }
    BOTH(stencil, 1e-6, y, want,
         shim::launch(dim3(parts_of(nx, s::BX), parts_of(ny, s::BY), parts_of(nz, s::DEPTH)), dim3(s::BX, s::BY), 0,
                      [&] { run(x, y, nx, ny, nz, 0.4f, 0.1f); }));
}

static void test_scan() {
    const int rows = 3, cols = 1111;
    array<float> x(at(rows * cols)), y(x.n), want(x.n);
    fill(x, -1, 1);
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int c = 0; c < cols; c++)
            want[at(r * cols + c)] = static_cast<float>(sum += static_cast<double>(x[at(r * cols + c)]));
    }
    BOTH(scan, 1e-5, y, want, shim::launch(rows, s::BLOCK, 0, [&] { run(x, y, cols); }));
}

static void test_histogram() {
    const int n = 10007;
    array<unsigned> words(at(n + 3) / 4), bins(256), want(256);
    unsigned char *bytes = reinterpret_cast<unsigned char *>(words.p);
    for (int i = 0; i < n; i++) bytes[i] = static_cast<unsigned char>(uniform(0, 16) * uniform(0, 16));
    memset(want.p, 0, 256 * sizeof(unsigned));
    for (int i = 0; i < n; i++) want[bytes[i]]++;
    BOTH(histogram, 0, bins, want, (memset(bins.p, 0, 256 * sizeof(unsigned)), shim::launch(5, s::BLOCK, 0, [&] {
                                        run(words, bytes, bins, n);
                                    })));
}

static void test_transpose() {
    const int rows = 45, cols = 70;
    array<float> x(at(rows * cols)), y(x.n), want(x.n);
    fill(x, -1, 1);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) want[at(c * rows + r)] = x[at(r * cols + c)];
    BOTH(transpose, 0, y, want,
         shim::launch(dim3(parts_of(cols, s::TILE), parts_of(rows, s::TILE)), dim3(s::TILE, s::LINES), 0,
                      [&] { run(x, y, rows, cols); }));
}

static void test_spmv() {
    const int rows = 77, cols = 90;
    array<int> start(rows + 1), column(rows * 21);
    array<float> value(column.n), x(cols), y(rows), want(rows);
    fill(value, -1, 1);
    fill(x, -1, 1);
    fill(column, 0, cols);
    start[0] = 0;
    for (int r = 0; r < rows; r++) {
        start[at(r + 1)] = start[at(r)] + static_cast<int>(uniform(0, 21));
        double sum = 0;
        for (int e = start[at(r)]; e < start[at(r + 1)]; e++)
            sum += static_cast<double>(value[at(e)]) * static_cast<double>(x[at(column[at(e)])]);
        want[at(r)] = static_cast<float>(sum);
    }
    BOTH(spmv, 1e-6, y, want, shim::launch(parts_of(rows * s::LANES, s::BLOCK), s::BLOCK, 0, [&] {
             run(start, column, value, x, y, rows);
         }));
}

static void test_nbody() {
    const int n = 300;
    array<float> body(4 * n), pull(4 * n), want(4 * n);
    fill(body, 0.1, 1);
    for (int i = 0; i < n; i++) {
        double a[3] = {0, 0, 0};
        for (int j = 0; j < n; j++) {
            double d[3], r = 0.01;
            for (int k = 0; k < 3; k++)
                d[k] = static_cast<double>(body[at(4 * j + k)] - body[at(4 * i + k)]), r += d[k] * d[k];
            for (int k = 0; k < 3; k++) a[k] += d[k] * static_cast<double>(body[at(4 * j + 3)]) / (r * sqrt(r));
        }
        for (int k = 0; k < 4; k++) want[at(4 * i + k)] = k < 3 ? static_cast<float>(a[k]) : 0.0f;
    }
    const float4 *from = reinterpret_cast<float4 *>(body.p);
    float4 *to = reinterpret_cast<float4 *>(pull.p);
    BOTH(nbody, 1e-4, pull, want,
         shim::launch(parts_of(n, s::BLOCK * s::BODIES), s::BLOCK, 0, [&] { run(from, to, n, 0.01f); }));
}

static void test_cholesky() {
    const int batch = 133, n = 8;
    array<float> a(at(batch * n * n)), l(a.n), want(a.n);
    fill(want, 0.1, 1);
    for (int b = 0; b < batch; b++) /* want is what shall come out; a its product */
        for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++)
                want[at((i * n + j) * batch + b)] = j == i ? 2 + want[at((i * n + j) * batch + b)] : 0;
    for (int b = 0; b < batch; b++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int k = 0; k < n; k++)
                    sum += static_cast<double>(want[at((i * n + k) * batch + b)]) *
                           static_cast<double>(want[at((j * n + k) * batch + b)]);
                a[at((i * n + j) * batch + b)] = static_cast<float>(sum);
            }
    BOTH(cholesky, 1e-5, l, want, shim::launch(parts_of(batch, s::BLOCK), s::BLOCK, 0, [&] { run(a, l, batch); }));
}

static void test_layernorm() {
    const int rows = 3, cols = 500;
    array<float> x(at(rows * cols)), gain(cols), bias(cols), y(x.n), want(x.n);
    fill(x, 3, 5);
    fill(gain, -1, 1);
    fill(bias, -1, 1);
    for (int r = 0; r < rows; r++) {
        double mean = 0, square = 0;
        for (int c = 0; c < cols; c++) mean += static_cast<double>(x[at(r * cols + c)]) / cols;
        for (int c = 0; c < cols; c++) square += pow(static_cast<double>(x[at(r * cols + c)]) - mean, 2) / cols;
        for (int c = 0; c < cols; c++)
            want[at(r * cols + c)] =
                static_cast<float>((static_cast<double>(x[at(r * cols + c)]) - mean) / sqrt(square + 1e-5)) *
                    gain[at(c)] +
                bias[at(c)];
    }
    BOTH(layernorm, 1e-5, y, want, shim::launch(rows, s::BLOCK, 0, [&] { run(x, gain, bias, y, cols, 1e-5f); }));
}

/* Where the keys of each digit of each block begin. */
static void offsets_of(array<unsigned> &keys, array<int> &offset, int blocks, int block_keys, int shift) {
    int sum = 0;
    for (int d = 0; d < 16; d++)
        for (int b = 0; b < blocks; b++) {
            offset[at(d * blocks + b)] = sum;
            for (int i = b * block_keys; i < (b + 1) * block_keys && at(i) < keys.n; i++)
                sum += static_cast<int>(keys[at(i)] >> shift & 15) == d;
        }
}

static void test_radix() {
    const int n = 1500, shift = 8;
    array<unsigned> keys(n), sorted(n), want(n);
    fill(keys, 0, 1 << 16);
    size_t to = 0;
    for (unsigned d = 0; d < 16; d++)
        for (size_t i = 0; i < keys.n; i++)
            if ((keys[i] >> shift & 15) == d) want[to++] = keys[i];
    BOTH(radix, 0, sorted, want, ([&] {
             const int block_keys = s::BLOCK * s::ITEMS, blocks = static_cast<int>(parts_of(n, block_keys));
             array<int> offset(at(16 * blocks));
             offsets_of(keys, offset, blocks, block_keys, shift);
             return shim::launch(static_cast<unsigned>(blocks), s::BLOCK, 0,
                                 [&] { run(keys, offset, sorted, n, shift); });
         }()));
}

static void test_mandelbrot() {
    const int width = 70, height = 11, steps = 60;
    array<int> y(at(width * height)), want(y.n);
    for (int r = 0; r < height; r++)
        for (int c = 0; c < width; c++) {
            const float cx = -2.0f + 0.04f * static_cast<float>(c), cy = -1.0f + 0.04f * static_cast<float>(r);
            float zx = 0, zy = 0;
            int n = 0;
            for (; n < steps && zx * zx + zy * zy <= 4.0f; n++) {
                const float next = zx * zx - zy * zy + cx;
                zy = 2.0f * zx * zy + cy;
                zx = next;
            }
            want[at(r * width + c)] = n;
        }
    BOTH(mandelbrot, 0, y, want,
         shim::launch(dim3(parts_of(width, s::BX * s::PX), parts_of(height, s::BY)), dim3(s::BX, s::BY), 0,
                      [&] { run(y, width, height, steps, -2.0f, -1.0f, 0.04f); }));
}

static void test_fft() {
    const int batch = 3, n = 256;
    array<float> x(at(2 * batch * n)), y(x.n), want(x.n);
    fill(x, -1, 1);
    for (int b = 0; b < batch; b++)
        for (int k = 0; k < n; k++) {
            double re = 0, im = 0;
            for (int i = 0; i < n; i++) {
                const double angle = -2 * M_PI * (i * k % n) / n, c = cos(angle), s = sin(angle);
                const double xr = static_cast<double>(x[at(2 * (b * n + i))]),
                             xi = static_cast<double>(x[at(2 * (b * n + i) + 1)]);
                re += xr * c - xi * s;
                im += xr * s + xi * c;
            }
            want[at(2 * (b * n + k))] = static_cast<float>(re);
            want[at(2 * (b * n + k) + 1)] = static_cast<float>(im);
        }
    const float2 *from = reinterpret_cast<float2 *>(x.p);
    float2 *to = reinterpret_cast<float2 *>(y.p);
    BOTH(fft, 1e-5, y, want,
         shim::launch(parts_of(batch, s::BATCH), dim3(s::QUARTER, s::BATCH), 0, [&] { run(from, to, batch); }));
}

static void test_dot_q8() {
    const int rows = 21, blocks = 37;
    array<signed char> a(at(rows * blocks * 32)), x(at(blocks * 32));
    array<float> a_scale(at(rows * blocks)), x_scale(at(blocks)), y(rows), want(rows);
    fill(a, -127, 127);
    fill(x, -127, 127);
    fill(a_scale, 0.001, 0.01);
    fill(x_scale, 0.001, 0.01);
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int b = 0; b < blocks; b++) {
            int dot = 0;
            for (int k = 0; k < 32; k++) dot += a[at((r * blocks + b) * 32 + k)] * x[at(b * 32 + k)];
            sum += dot * static_cast<double>(a_scale[at(r * blocks + b)]) * static_cast<double>(x_scale[at(b)]);
        }
        want[at(r)] = static_cast<float>(sum);
    }
    const int4 *a4 = reinterpret_cast<int4 *>(a.p), *x4 = reinterpret_cast<int4 *>(x.p);
    BOTH(dot_q8, 1e-5, y, want, shim::launch(parts_of(rows * s::LANES, s::BLOCK), s::BLOCK, 0, [&] {
             run(a4, a_scale, x4, x_scale, y, rows, blocks);
         }));
}

int main() {
    test_stencil();
    test_scan();
    test_histogram();
    test_transpose();
    test_spmv();
    test_nbody();
    test_cholesky();
    test_layernorm();
    test_radix();
    test_mandelbrot();
    test_fft();
    test_dot_q8();
    return done_testing();
}
