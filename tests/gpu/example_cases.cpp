/* The CUDA examples on the shim, against plain C, with the sizes as they are and with others. */
#include "shim.cuh"

#include "cases.h"

#include <hone/cuda_controls.h>

namespace plain {
#include "examples/gpu/attention/attention.cu"
} // namespace plain
namespace sums {
#include "examples/gpu/reduction/reduction.cu"
}
namespace rows {
#include "examples/gpu/softmax/softmax.cu"
}
namespace product {
#include "examples/gpu/gemm/gemm.cu"
}

/* The same with other sizes: another prefix keeps the names apart. */
#undef HONE_NAME_PREFIX
#define HONE_NAME_PREFIX other_
#define HONE_SIZE_QUERIES 8
#define HONE_SIZE_LANES 4
#define HONE_SIZE_KEYS 24
#define HONE_SIZE_STEP 8
#define HONE_SIZE_BLOCK 64
#define HONE_SIZE_ITEMS 1
#define HONE_SIZE_BM 32
#define HONE_SIZE_BN 48
#define HONE_SIZE_BK 7
#define HONE_SIZE_TM 8
#define HONE_SIZE_TN 3
namespace other_plain {
#include "examples/gpu/attention/attention.cu"
}
namespace other_sums {
#include "examples/gpu/reduction/reduction.cu"
}
namespace other_rows {
#include "examples/gpu/softmax/softmax.cu"
}
namespace other_product {
#include "examples/gpu/gemm/gemm.cu"
}

static unsigned parts_of(int n, int part) { return static_cast<unsigned>((n + part - 1) / part); }

static void test_sum(int n, unsigned blocks) {
    array<float> x(static_cast<size_t>(n)), parts(blocks), y(1), want(1);
    fill(x, -1, 1);
    double sum = 0;
    for (size_t i = 0; i < x.n; i++) sum += static_cast<double>(x[i]);
    want[0] = static_cast<float>(sum);
    for (int other = 0; other < 2; other++) {
        char name[60];
        snprintf(name, sizeof name, "reduction_%d_by_%u_blocks%s", n, blocks, other ? "_other" : "");
        auto one = other ? other_sums::other_sum_parts : sums::sum_parts;
        auto two = other ? other_sums::other_sum_last : sums::sum_last;
        const unsigned threads = other ? other_sums::BLOCK : sums::BLOCK;
        in_every_order(
            name, 1e-4,
            [&] {
                parts.poison(), y.poison();
                return shim::launch(blocks, threads, 0, [&] { one(x, parts, n); }) &&
                       shim::launch(1, threads, 0, [&] { two(parts, y, static_cast<int>(blocks)); });
            },
            [&] { return worst(y, want); });
    }
}

static void test_softmax(int n, int cols) {
    array<float> x(static_cast<size_t>(n * cols)), y(x.n), want(x.n);
    fill(x, -8, 8);
    for (int r = 0; r < n; r++) {
        double most = -INFINITY, sum = 0;
        for (int c = 0; c < cols; c++) most = fmax(most, static_cast<double>(x[static_cast<size_t>(r * cols + c)]));
        for (int c = 0; c < cols; c++) sum += exp(static_cast<double>(x[static_cast<size_t>(r * cols + c)]) - most);
        for (size_t e = static_cast<size_t>(r * cols); e < static_cast<size_t>((r + 1) * cols); e++)
            want[e] = static_cast<float>(exp(static_cast<double>(x[e]) - most) / sum);
    }
    for (int other = 0; other < 2; other++) {
        char name[60];
        snprintf(name, sizeof name, "softmax_%dx%d%s", n, cols, other ? "_other" : "");
        in_every_order(
            name, 1e-6,
            [&] {
                y.poison();
                const unsigned threads = other ? other_rows::BLOCK : rows::BLOCK;
                return shim::launch(static_cast<unsigned>(n), threads, 0,
                                    [&] { other ? other_rows::other_softmax(x, y, cols) : rows::softmax(x, y, cols); });
            },
            [&] { return worst(y, want); });
    }
}

static void test_gemm(int m, int n, int k) {
    array<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), c(static_cast<size_t>(m * n)), want(c.n);
    fill(a, -1, 1);
    fill(b, -1, 1);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++)
                sum += static_cast<double>(a[static_cast<size_t>(i * k + l)]) *
                       static_cast<double>(b[static_cast<size_t>(l * n + j)]);
            want[static_cast<size_t>(i * n + j)] = static_cast<float>(sum);
        }
    for (int other = 0; other < 2; other++) {
        char name[60];
        snprintf(name, sizeof name, "gemm_%dx%dx%d%s", m, n, k, other ? "_other" : "");
        in_every_order(
            name, 1e-5,
            [&] {
                c.poison();
                if (other)
                    return shim::launch(dim3(parts_of(n, other_product::BN), parts_of(m, other_product::BM)),
                                        other_product::THREADS, 0,
                                        [&] { other_product::other_gemm(a, b, c, m, n, k); });
                return shim::launch(dim3(parts_of(n, product::BN), parts_of(m, product::BM)), product::THREADS, 0,
                                    [&] { product::gemm(a, b, c, m, n, k); });
            },
            [&] { return worst(c, want); });
    }
}

/* One query of the reference. */
static void attend(const float *q, const float *k, const float *v, float *y, int sees, double scale) {
    double *p = static_cast<double *>(calloc(static_cast<size_t>(sees), sizeof *p)), most = -INFINITY, sum = 0;
    if (!p) abort();
    for (int j = 0; j < sees; j++) {
        for (int e = 0; e < 64; e++) p[j] += scale * static_cast<double>(q[e]) * static_cast<double>(k[j * 64 + e]);
        most = fmax(most, p[j]);
    }
    for (int j = 0; j < sees; j++) sum += p[j] = exp(p[j] - most);
    for (int e = 0; e < 64; e++) {
        double r = 0;
        for (int j = 0; j < sees; j++) r += p[j] * static_cast<double>(v[j * 64 + e]);
        y[e] = static_cast<float>(r / sum);
    }
    free(p);
}

static void test_attention(int heads, int n_q, int n_k, int causal) {
    array<float> q(static_cast<size_t>(heads * n_q * 64)), k(static_cast<size_t>(heads * n_k * 64)), v(k.n), y(q.n),
        want(q.n);
    fill(q, -2, 2);
    fill(k, -2, 2);
    fill(v, -1, 1);
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < n_q; i++)
            attend(q.p + (h * n_q + i) * 64, k.p + h * n_k * 64, v.p + h * n_k * 64, want.p + (h * n_q + i) * 64,
                   causal ? n_k - n_q + i + 1 : n_k, 0.125);
    for (int other = 0; other < 2; other++) {
        char name[60];
        snprintf(name, sizeof name, "attention_%dx%dx%d%s%s", heads, n_q, n_k, causal ? "_causal" : "",
                 other ? "_other" : "");
        in_every_order(
            name, 1e-5,
            [&] {
                y.poison();
                auto kernel = other ? other_plain::other_attention : plain::attention;
                const int queries = other ? other_plain::QUERIES : plain::QUERIES;
                const dim3 grid(parts_of(n_q, queries), static_cast<unsigned>(heads));
                const unsigned threads = static_cast<unsigned>(other ? other_plain::THREADS : plain::THREADS);
                return shim::launch(grid, threads, 0, [&] { kernel(q, k, v, y, n_q, n_k, 0.125f, causal); });
            },
            [&] { return worst(y, want); });
    }
}

int main() {
    test_sum(1, 1);
    test_sum(10007, 3);
    test_sum(4096, 8);
    test_softmax(1, 1);
    test_softmax(3, 33);
    test_softmax(4, 1000);
    test_gemm(1, 1, 1);
    test_gemm(64, 64, 32);
    test_gemm(70, 99, 33);
    test_attention(1, 1, 1, 0);
    test_attention(2, 16, 32, 0);
    test_attention(2, 19, 45, 1);
    test_attention(1, 33, 100, 0);
    return done_testing();
}
