/* Attention without the matrix of scores: a block holds QUERIES queries of one head and walks over the keys, KEYS of them in shared
 * memory at a time. LANES threads share a query: each has every LANES-th element of it and of the result. Scores of STEP keys
 * are joined at once into the running largest value, sum and result.
 * q, y: heads x n_q x 64; k, v: heads x n_k x 64. causal: query i sees the keys up to n_k - n_q + i.
 * Threads of a block: QUERIES * LANES; blocks: (n_q / QUERIES, rounded up) x heads. */
#include <hone/cuda_controls.h>

HONE_SIZE(QUERIES, 16);
HONE_SIZE(LANES, 8);
HONE_SIZE(KEYS, 32);
HONE_SIZE(STEP, 4);
constexpr int DEPTH = 64, OWN = DEPTH / LANES, THREADS = QUERIES * LANES;
static_assert(KEYS % STEP == 0, "STEP divides KEYS");
static_assert(LANES <= 32 && DEPTH % LANES == 0 && THREADS % 32 == 0, "the lanes of a query lie in one warp");

extern "C" __global__ void HONE_LAUNCH(THREADS)
    HONE_KERNEL_NAME(attention)(const float *HONE_RESTRICT q, const float *HONE_RESTRICT k, const float *HONE_RESTRICT v,
                                float *HONE_RESTRICT y, int n_q, int n_k, float scale, int causal) {
    HONE_KERNEL_BEGIN();
    __shared__ float keys[KEYS][DEPTH], values[KEYS][DEPTH];
    const int lane = threadIdx.x % LANES, i = blockIdx.x * QUERIES + threadIdx.x / LANES;
    const long long head = blockIdx.y;
    const float *kh = k + head * n_k * DEPTH, *vh = v + head * n_k * DEPTH;
    float own[OWN], sum[OWN] = {}, most = -3e38f, all = 0;
    for (int e = 0; e < OWN; e++) own[e] = i < n_q ? scale * q[(head * n_q + i) * DEPTH + e * LANES + lane] : 0.0f;
    /* What the query sees; the walk ends with what the block's last query sees. */
    const int sees = causal ? min(n_k, n_k - n_q + i + 1) : n_k;
    const int end = causal ? min(n_k, n_k - n_q + (int)(blockIdx.x + 1) * QUERIES) : n_k;

    for (int first = 0; first < end; first += KEYS) {
        HONE_UNROLL(COPY)
        for (int e = threadIdx.x; e < KEYS * DEPTH; e += THREADS) {
            const bool there = first + e / DEPTH < n_k;
            keys[e / DEPTH][e % DEPTH] = there ? HONE_LOAD(K, &kh[(long long)first * DEPTH + e]) : 0.0f;
            values[e / DEPTH][e % DEPTH] = there ? HONE_LOAD(V, &vh[(long long)first * DEPTH + e]) : 0.0f;
        }
        __syncthreads();
        HONE_UNROLL(KEYS)
        for (int j = 0; j < KEYS; j += STEP) {
            float score[STEP], up = most;
            for (int s = 0; s < STEP; s++) {
                score[s] = 0;
                for (int e = 0; e < OWN; e++) score[s] += own[e] * keys[j + s][e * LANES + lane];
                for (int d = LANES / 2; d > 0; d /= 2) score[s] += __shfl_xor_sync(0xffffffffu, score[s], d);
                if (first + j + s < sees) up = fmaxf(up, score[s]);
            }
            const float shrink = __expf(most - up);
            most = up;
            all *= shrink;
            for (int e = 0; e < OWN; e++) sum[e] *= shrink;
            for (int s = 0; s < STEP; s++) {
                const float p = first + j + s < sees ? __expf(score[s] - most) : 0.0f;
                all += p;
                for (int e = 0; e < OWN; e++) sum[e] += p * values[j + s][e * LANES + lane];
            }
        }
        __syncthreads();
    }
    if (i < n_q)
        for (int e = 0; e < OWN; e++) HONE_STORE(Y, &y[(head * n_q + i) * DEPTH + e * LANES + lane], sum[e] / all);
}
