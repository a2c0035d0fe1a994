/* Sums of the columns of x, rows x 64 floats, by blocks of ROWS rows each: y[block][column]. One thread of the first warp fetches
 * tiles of STEP rows by bulk copies into a ring of STAGES; 64 threads add them up. Each stage has two mbarriers: full (the bytes
 * have landed) and empty (all have read them); the phase that is waited for changes at each turn of the ring. rows is a
 * multiple of ROWS. Threads: 96; blocks: rows / ROWS. sm_90. */
#include "async.cuh"

constexpr int WIDTH = 64, ROWS = 56, STEP = 8, STAGES = 3, STEPS = ROWS / STEP;

extern "C" __global__ void __launch_bounds__(96) columns(const float *x, float *y) {
    __shared__ __align__(128) float tile[STAGES][STEP][WIDTH];
    __shared__ unsigned long long full[STAGES], empty[STAGES];
    const float *from = x + (long long)blockIdx.x * ROWS * WIDTH;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            hnr_mbar_init(&full[s], 1);
            hnr_mbar_init(&empty[s], WIDTH);
        }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            for (int k = 0; k < STEPS; k++) {
                const int s = k % STAGES;
                hnr_mbar_wait(&empty[s], (k / STAGES & 1) ^ 1);
                hnr_mbar_expect(&full[s], STEP * WIDTH * 4);
                hnr_bulk_copy(tile[s], from + k * STEP * WIDTH, STEP * WIDTH * 4, &full[s]);
            }
        return;
    }
    const int column = threadIdx.x - 32;
    float sum = 0;
    for (int k = 0; k < STEPS; k++) {
        const int s = k % STAGES;
        hnr_mbar_wait(&full[s], k / STAGES & 1);
        for (int r = 0; r < STEP; r++) sum += tile[s][r][column];
        hnr_mbar_arrive(&empty[s]);
    }
    y[blockIdx.x * WIDTH + column] = sum;
}
