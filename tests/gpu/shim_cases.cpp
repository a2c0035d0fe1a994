/* The shim itself: kernels that are right, and each with a fault planted. usage: shim_cases | shim_cases FAULT
 * A fault that the shim reports is printed; one that AddressSanitizer sees ends the program. */
#include "shim.cuh"

#include "cases.h"

/* Neighbours' differences through shared memory, with the barrier and without. */
static void differences(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[(threadIdx.x + 1) % 64] - tile[threadIdx.x];
}
static void hasty_differences(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[(threadIdx.x + 1) % 64] - tile[threadIdx.x];
}

static void block_total(const int *x, int *y, int n, int slip) {
    HONE_DYNAMIC_SHARED(int, part);
    int sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) sum += x[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32 + static_cast<unsigned>(slip)] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        sum = __reduce_add_sync(0xffffffffu, sum);
    }
    if (threadIdx.x == 0) *y = sum;
}

static void static_shared(float *y, int n) {
    __shared__ float tile[32];
    tile[threadIdx.x] = 1;
    __syncthreads();
    float *p = tile;
    y[threadIdx.x] = p[n];
}

static void write_global(float *y, int n) { y[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<float>(n); }

static void half_waits(int *y) {
    if (threadIdx.x < 32) __syncthreads();
    y[threadIdx.x] = 1;
}

static void two_barriers(int *y) {
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
    y[threadIdx.x] = 1;
}

static void lonely_lane(int *y) {
    if (threadIdx.x != 5)
        y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
    else
        __syncthreads();
}

static void outside_the_mask(int *y) {
    if (threadIdx.x < 16) y[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 20);
}

static void not_in_its_mask(int *y) { y[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0); }

static void votes(unsigned *y) {
    unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x & 1);
    int up = __shfl_up_sync(0xffffffffu, static_cast<int>(threadIdx.x), 1, 8);
    int count = __syncthreads_count(threadIdx.x < 5);
    if (threadIdx.x < 7) odd ^= __ballot_sync(0x7fu, threadIdx.x == 3);
    y[threadIdx.x] = odd + static_cast<unsigned>(up) * 2 + static_cast<unsigned>(count) * 100;
}

/* Two blocks of a cluster: each brings half of the tile, pushes it, and reads the other half. With `late`, it pushes
 * once more when the other one may be gone. meet: 1 a barrier of the cluster, 2 of the block. some: one more for one
 * block alone. */
struct of_cluster {
    bool begin = true;
    int meet = 1, blocks = 2;
    bool late = false, outside = false, some = false;
};
static void halves(const float *x, float *y, of_cluster how) {
    __shared__ float tile[64];
    __shared__ float more[64];
    const unsigned rank = blockIdx.x % 2, own = 32 * rank + threadIdx.x;
    if (how.begin) shim_cluster_barrier(__FILE__, __LINE__);
    tile[own] = x[blockIdx.x / 2 * 64 + own];
    shim_push(how.outside ? y : &tile[own], 4, how.blocks, __FILE__, __LINE__);
    if (how.meet == 1) shim_cluster_barrier(__FILE__, __LINE__);
    if (how.meet == 2) __syncthreads();
    y[blockIdx.x / 2 * 64 + own] = tile[63 - own];
    more[own] = 1;
    if (how.late) shim_push(&more[own], 4, 2, __FILE__, __LINE__);
    if (how.some && rank == 0) shim_cluster_barrier(__FILE__, __LINE__);
}
static bool in_clusters(float *x, float *y, unsigned grid, unsigned n, of_cluster how) {
    shim_options()->cluster = n;
    const bool good = shim::launch(grid, 32, 0, [&] { halves(x, y, how); });
    shim_options()->cluster = 0;
    return good;
}

static void run_clusters() {
    array<float> x(192), y(192), want(192);
    fill(x, -1, 1);
    for (size_t i = 0; i < 192; i++) want[i] = x[i / 64 * 64 + 63 - i % 64];
    in_every_order(
        "blocks_of_clusters_bring_halves", 0, [&] { return y.poison(), in_clusters(x, y, 6, 2, {}); },
        [&] { return worst(y, want); });
}

static bool plant_in_cluster(const char *name) {
    array<float> x(192), y(192);
    of_cluster how;
    fill(x, -1, 1);
    if (!strcmp(name, "cluster_begins_early")) how.begin = false;
    if (!strcmp(name, "cluster_missing_barrier")) how.meet = 0;
    if (!strcmp(name, "cluster_barrier_of_a_block")) how.meet = 2;
    if (!strcmp(name, "cluster_barrier_of_some")) how.some = true;
    if (!strcmp(name, "cluster_ends_early")) how.late = true;
    if (!strcmp(name, "cluster_of_others")) how.blocks = 4;
    if (!strcmp(name, "cluster_pushes_global")) how.outside = true;
    return in_clusters(x, y, !strcmp(name, "cluster_in_part") ? 5 : 6, 2, how);
}

static void run_votes() {
    array<unsigned> y(32), want(32);
    for (unsigned i = 0; i < 32; i++) want[i] = ((0xaaaaaaaau ^ (i < 7 ? 8u : 0u)) + 2 * (i % 8 ? i - 1 : i) + 500);
    in_every_order(
        "votes_shuffles_counts", 0, [&] { return y.poison(), shim::launch(1, 32, 0, [&] { votes(y); }); },
        [&] { return worst(y, want); });
}

static void run_total(unsigned threads, int n) {
    array<int> x(static_cast<size_t>(n)), y(1), want(1);
    fill(x, -100, 100);
    want[0] = 0;
    for (int i = 0; i < n; i++) want[0] += x[static_cast<size_t>(i)];
    char name[60];
    snprintf(name, sizeof name, "sum_of_%d_by_%u_threads", n, threads);
    in_every_order(
        name, 0,
        [&] {
            return y.poison(), shim::launch(1, threads, threads / 32 * sizeof(int), [&] { block_total(x, y, n, 0); });
        },
        [&] { return worst(y, want); });
}

/* How many of the orders give the right result. */
static int right_orders(void (*kernel)(const float *, float *)) {
    array<float> x(64), y(64), want(64);
    fill(x, -1, 1);
    for (size_t i = 0; i < 64; i++) want[i] = x[(i + 1) % 64] - x[i];
    int right = 0;
    for (int k = 0; k < 3; k++) {
        shim::order = static_cast<shim::run_order>(k);
        y.poison();
        right += shim::launch(1, 64, 0, [&] { kernel(x, y); }) && worst(y, want) == 0;
    }
    return right;
}

static bool plant(const char *name) {
    array<int> y(64), x(256);
    array<float> f(64);
    fill(x, -9, 9);
    if (!strncmp(name, "cluster_", 8)) return plant_in_cluster(name);
    if (!strcmp(name, "missing_barrier")) {
        printf("right in %d of 3 orders\n", right_orders(hasty_differences));
        return true;
    }
    if (!strcmp(name, "divergent_barrier")) return shim::launch(1, 64, 0, [&] { half_waits(y); });
    if (!strcmp(name, "two_barriers")) return shim::launch(1, 64, 0, [&] { two_barriers(y); });
    if (!strcmp(name, "lonely_lane")) return shim::launch(1, 64, 0, [&] { lonely_lane(y); });
    if (!strcmp(name, "outside_the_mask")) return shim::launch(1, 32, 0, [&] { outside_the_mask(y); });
    if (!strcmp(name, "not_in_its_mask")) return shim::launch(1, 32, 0, [&] { not_in_its_mask(y); });
    if (!strcmp(name, "too_many_threads")) return shim::launch(1, dim3(64, 32), 0, [&] { write_global(f, 1); });
    if (!strcmp(name, "too_much_shared")) return shim::launch(1, 32, 300 << 10, [&] { write_global(f, 1); });
    if (!strcmp(name, "global_overrun")) return shim::launch(3, 32, 0, [&] { write_global(f, 1); });
    if (!strcmp(name, "dynamic_overrun")) return shim::launch(1, 64, 8, [&] { block_total(x, y, 256, 1); });
    if (!strcmp(name, "shared_overrun")) return shim::launch(1, 32, 0, [&] { static_shared(f, 32); });
    if (!strcmp(name, "right_after_a_fault")) {
        shim::launch(1, 64, 0, [&] { half_waits(y); });
        return shim::launch(1, 64, 8, [&] { block_total(x, y, 256, 0); });
    }
    printf("no fault '%s'\n", name);
    return false;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        const bool good = plant(argv[1]);
        puts(good ? "not reported" : shim::fault);
        return 0;
    }
    ok(right_orders(differences) == 3, "barrier_orders_shared_memory");
    run_votes();
    run_clusters();
    run_total(64, 1000);
    run_total(256, 77);
    run_total(1024, 5000);
    return done_testing();
}
