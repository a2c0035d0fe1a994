/* bench/winograd.c — compiled libraries of one model in turns, in one process: the median time of each, by the first's.
 *
 * usage: winograd SECONDS THREADS LIBRARY...
 * Prints a line for each: median in seconds, the ratio of medians to the first, the largest difference of its outputs
 * from the first's by the largest element of that. */
#include <hone/artifact.h>
#include <hone/inputs.h>
#include <hone/stat.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 8, PORTS = 64, RUNS = 4096 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int failed(const hone_err *err) { return fprintf(stderr, "winograd: %s\n", err->text), 1; }

static double difference(const hone_array *a, const hone_array *b, size_t n) {
    double worst = 0, largest = 0;
    for (size_t k = 0; k < n; k++) {
        int64_t all = 1;
        for (size_t d = 0; d < a[k].rank; d++) all *= a[k].dim[d];
        for (int64_t i = 0; i < all && a[k].dtype == HONE_F32; i++) {
            worst = fmax(worst, fabs((double)((const float *)a[k].data)[i] - (double)((const float *)b[k].data)[i]));
            largest = fmax(largest, fabs((double)((const float *)a[k].data)[i]));
        }
    }
    return largest > 0 ? worst / largest : worst;
}

int main(int n_arg, char **arg) {
    static double time_s[MOST][RUNS];
    hone_artifact *p[MOST];
    hone_array in[PORTS], out[MOST][PORTS];
    hone_err err = {0};
    int n = n_arg - 3, runs = 0;
    if (n < 1 || n > MOST) return fprintf(stderr, "usage: winograd SECONDS THREADS LIBRARY...\n"), 2;
    hone_artifact_options o = hone_artifact_defaults();
    o.n_threads = (uint32_t)atoi(arg[2]);
    for (int i = 0; i < n; i++)
        if (hone_artifact_load(arg[3 + i], &o, &p[i], &err)) return failed(&err);
    const hone_model *m = hone_artifact_model(p[0]);
    if (hone_inputs_random(m, NULL, 1, in, &err)) return failed(&err);
    double end_s = now_s() + atof(arg[1]);
    for (; runs < RUNS && (runs < 3 || now_s() < end_s); runs++)
        for (int k = 0; k < n; k++) {
            int i = (k + runs) % n; /* each comes behind each */
            double start_s = now_s();
            if (hone_artifact_run(p[i], in, m->n_inputs, out[i], m->n_outputs, &err)) return failed(&err);
            time_s[i][runs] = now_s() - start_s;
            for (uint32_t y = 0; y < m->n_outputs && runs; y++) hone_free(out[i][y].data);
            if (runs == 0 && k == n - 1)
                for (int x = 0; x < n; x++)
                    printf("%s%.3g", x ? " " : "difference ", difference(out[0], out[x], m->n_outputs));
        }
    printf("\n");
    for (int i = 0; i < n; i++)
        printf("%.6f %.3f %s\n", hone_stat_median(time_s[i], (size_t)runs),
               hone_stat_median(time_s[i], (size_t)runs) / hone_stat_median(time_s[0], (size_t)runs), arg[3 + i]);
    return 0;
}
