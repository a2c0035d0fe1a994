/* bench/math.c — elements per second of hone's functions of floats and of libm's, in turns; needs the text of
 * math_text.c in front (bench/math.sh). usage: math ROUNDS */
#include <stdio.h>
#include <time.h>

enum { N = 4096, REPEATS = 64, ROUNDS_MAX = 1000 };
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(hnk_f32_x, WIDTH)
#define HONE(name) JOIN(hnk_##name##_f32_x, WIDTH)

static float x[N], y[N];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float sigmoidf(float v) { return 1 / (1 + expf(-v)); }
static float rsqrtf(float v) { return 1 / sqrtf(v); }

#define LANES(name)                                                                                                    \
    static void hone_##name(void) {                                                                                    \
        for (int i = 0; i < N; i += WIDTH) {                                                                           \
            VECTOR v;                                                                                                  \
            memcpy(&v, x + i, sizeof v);                                                                               \
            v = HONE(name)(v);                                                                                         \
            memcpy(y + i, &v, sizeof v);                                                                               \
        }                                                                                                              \
    }
#define SINGLE(name)                                                                                                   \
    static void libm_##name(void) {                                                                                    \
        for (int i = 0; i < N; i++) y[i] = name(x[i]);                                                                 \
    }
/* function, relaxed form, libm's, inputs from, to */
#define ROWS                                                                                                           \
    ROW(exp, quick_exp, expf, -10, 10)                                                                                 \
    ROW(expm1, expm1, expm1f, -10, 10)                                                                                 \
    ROW(sigmoid, quick_sigmoid, sigmoidf, -8, 8)                                                                       \
    ROW(tanh, tanh, tanhf, -5, 5)                                                                                      \
    ROW(erf, quick_erf, erff, -4, 4)                                                                                   \
    ROW(log, quick_log, logf, 0.001f, 100)                                                                             \
    ROW(log1p, log1p, log1pf, -0.9f, 10)                                                                               \
    ROW(sin, quick_sin, sinf, -100, 100)                                                                               \
    ROW(cos, quick_cos, cosf, -100, 100)                                                                               \
    ROW(rsqrt, rsqrt, rsqrtf, 0.001f, 100)
#define ROW(name, quick, single, from, to) LANES(name) SINGLE(single)
ROWS
#undef ROW
LANES(quick_exp)
LANES(quick_sigmoid)
LANES(quick_erf) LANES(quick_sin) LANES(quick_cos)
LANES(quick_log)

typedef struct row {
    const char *name;
    void (*way[3])(void); /* exact, relaxed, libm */
    float from, to;
} row;
static const row rows[] = {
#define ROW(name, quick, single, from, to) {#name, {hone_##name, hone_##quick, libm_##single}, from, to},
    ROWS
#undef ROW
};

static int by_size(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static double once(void (*f)(void)) {
    double start = now();
    for (int k = 0; k < REPEATS; k++) {
        f();
        __asm__ volatile("" ::: "memory");
    }
    return (double)N * REPEATS / (now() - start) / 1e9;
}

int main(int argc, char **argv) {
    static double rate[3][ROUNDS_MAX];
    int rounds = argc > 1 ? atoi(argv[1]) : 51;
    if (rounds < 1 || rounds > ROUNDS_MAX) return fputs("usage: math ROUNDS (1 to 1000)\n", stderr), 2;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const row *r = &rows[k];
        double median[3];
        for (int i = 0; i < N; i++) x[i] = r->from + (r->to - r->from) * (float)((i * 1597) % N) / N;
        for (int w = 0; w < 3; w++) once(r->way[w]);
        for (int n = 0; n < rounds; n++)
            for (int w = 0; w < 3; w++) rate[(w + n) % 3][n] = once(r->way[(w + n) % 3]);
        for (int w = 0; w < 3; w++) {
            qsort(rate[w], (size_t)rounds, sizeof *rate[w], by_size);
            median[w] = rate[w][rounds / 2];
        }
        printf("| %s | %.2f | %.2f | %.2f | %.1f | %.1f |\n", r->name, median[0], median[1], median[2],
               median[0] / median[2], median[1] / median[2]);
    }
    return 0;
}
