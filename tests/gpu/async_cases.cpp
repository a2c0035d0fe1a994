/* Kernels with asynchronous copies, mbarriers and matrix products on the shim, against plain C. */
#include "shim.cuh"

#include "cases.h"

namespace sums {
#include "tests/gpu/kernels/columns.cu"
}
namespace whole {
#include "tests/gpu/kernels/product.cu"
}

static unsigned parts_of(int n, int part) { return static_cast<unsigned>((n + part - 1) / part); }
static size_t at(int i) { return static_cast<size_t>(i); }

static void test_product(int m, int n, int k) {
    array<__half> a(at(m * k)), b(at(k * n));
    array<float> c(at(m * n)), want(c.n);
    for (size_t i = 0; i < a.n; i++) a[i] = static_cast<float>(uniform(-1, 1));
    for (size_t i = 0; i < b.n; i++) b[i] = static_cast<float>(uniform(-1, 1));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++)
                sum += static_cast<double>(float(a[at(i * k + l)])) * static_cast<double>(float(b[at(l * n + j)]));
            want[at(i * n + j)] = static_cast<float>(sum);
        }
    char name[60];
    snprintf(name, sizeof name, "product_%dx%dx%d", m, n, k);
    in_every_order(
        name, 1e-5,
        [&] {
            c.poison();
            return shim::launch(dim3(parts_of(n, whole::BN), parts_of(m, whole::BM)), whole::THREADS, 0,
                                [&] { whole::product(a, b, c, m, n, k); });
        },
        [&] { return worst(c, want); });
}

static void test_columns(int blocks) {
    array<float> x(at(blocks * 56 * 64)), y(at(blocks * 64)), want(y.n);
    fill(x, -1, 1);
    for (int b = 0; b < blocks; b++)
        for (int c = 0; c < 64; c++) {
            double sum = 0;
            for (int r = 0; r < 56; r++) sum += static_cast<double>(x[at((b * 56 + r) * 64 + c)]);
            want[at(b * 64 + c)] = static_cast<float>(sum);
        }
    in_every_order(
        "columns", 1e-5,
        [&] { return y.poison(), shim::launch(static_cast<unsigned>(blocks), 96, 0, [&] { sums::columns(x, y); }); },
        [&] { return worst(y, want); });
}

/* Halves are rounded to nearest even, each to itself. */
static void test_halves() {
    bool same = true;
    for (unsigned h = 0; h < 65536; h++) {
        const unsigned short s = static_cast<unsigned short>(h);
        if ((s & 0x7c00) != 0x7c00 || !(s & 0x3ff)) same &= hs_half_bits(hs_half_value(s)) == s;
        if ((s & 0x7f80) != 0x7f80 || !(s & 0x7f)) same &= hs_bf16_bits(hs_bf16_value(s)) == s;
    }
    ok(same, "each_half_is_itself");
    ok(hs_half_bits(1.00048828125f) == 0x3c00 && hs_half_bits(1.00146484375f) == 0x3c02 && hs_half_bits(65520) == 0x7c00 &&
           hs_half_bits(65519) == 0x7bff && hs_half_bits(0x1p-25f) == 0 && hs_half_bits(0x1.8p-24f) == 2,
       "halves_are_rounded_to_even");
}

int main() {
    test_halves();
    test_product(16, 8, 16);
    test_product(70, 72, 136);
    test_product(64, 128, 32);
    test_columns(3);
    return done_testing();
}
