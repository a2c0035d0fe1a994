/* turns.c — one compiled model against others, in turns: usage: turns SECONDS THREADS LIBRARY THREADS LIBRARY...
 *
 * The first library is opened once and runs on the sizes of each of the others, which follow one another: a stream. For
 * each of them a line of JSON: medians and minima of both over the seconds, and the stream's very first run at these
 * sizes. Integers of the inputs are 0, 1, 0, 1 …, floats 0.5.
 */
#include "model_side.h"

enum { MOST_RUNS = 4000, LEAST_RUNS = 8, WARM_UP = 2 };

typedef struct side {
    const hone_model *model;
    hone_model_instance *instance;
    double time_s[MOST_RUNS];
} side;

static void open_side(side *s, const char *path, int threads) { s->model = open_model(path, threads, &s->instance); }

static hone_model_tensor filled(const hone_model_port *p) {
    size_t n;
    hone_model_tensor t = empty_tensor(p, &n);
    for (size_t i = 0; t.data && i < n; i++) {
        if (p->dtype == 0) ((float *)t.data)[i] = 0.5f;
        if (p->dtype == 7) ((int64_t *)t.data)[i] = (int64_t)(i % 2);
    }
    return t;
}

static double run(side *s, const hone_model_tensor *in, hone_model_tensor *out) {
    memset(out, 0, (size_t)s->model->n_outputs * sizeof *out);
    double start_s = now_s();
    if (s->model->run(s->instance, in, (size_t)s->model->n_inputs, out, (size_t)s->model->n_outputs))
        quit(s->model->error(s->instance));
    return now_s() - start_s;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(side *a, side *b, double seconds) {
    hone_model_tensor *in = calloc((size_t)b->model->n_inputs + 1, sizeof *in),
                      *out = calloc((size_t)b->model->n_outputs + 1, sizeof *out);
    int n = 0;
    for (int i = 0; i < b->model->n_inputs; i++) in[i] = filled(&b->model->input[i]);
    double first_s = run(a, in, out);
    for (int i = 0; i < WARM_UP; i++) run(a, in, out), run(b, in, out);
    for (double start_s = now_s(); n < MOST_RUNS && (n < LEAST_RUNS || now_s() - start_s < seconds); n++) {
        a->time_s[n] = run(a, in, out);
        b->time_s[n] = run(b, in, out);
    }
    qsort(a->time_s, (size_t)n, sizeof(double), by_value);
    qsort(b->time_s, (size_t)n, sizeof(double), by_value);
    printf("{\"runs\": %d, \"a_s\": %.9f, \"b_s\": %.9f, \"a_min_s\": %.9f, \"b_min_s\": %.9f, \"first_s\": %.9f}\n", n,
           a->time_s[n / 2], b->time_s[n / 2], a->time_s[0], b->time_s[0], first_s);
    fflush(stdout);
    for (int i = 0; i < b->model->n_inputs; i++) free(in[i].data);
    free(in), free(out);
}

int main(int argc, char **argv) {
    static side a, b;
    if (argc < 6) quit("usage: turns SECONDS THREADS LIBRARY THREADS LIBRARY...");
    open_side(&a, argv[3], atoi(argv[2]));
    for (int i = 5; i < argc; i++) {
        open_side(&b, argv[i], atoi(argv[4]));
        compare(&a, &b, atof(argv[1]));
        b.model->free(b.instance);
    }
    a.model->free(a.instance);
    return 0;
}
