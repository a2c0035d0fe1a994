/* compile_load.c — opens a compiled model, runs it once on zeros and prints, as JSON, how long opening took and how
 * much memory the process has. usage: compile_load LIBRARY [THREADS] */
#include "model_side.h"

#include <unistd.h>

static long resident_b(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*s %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
    hone_model_instance *m;
    if (argc < 2) quit("usage: compile_load LIBRARY [THREADS]");
    double start_s = now_s();
    const hone_model *model = open_model(argv[1], argc > 2 ? atoi(argv[2]) : 1, &m);
    double load_s = now_s() - start_s;
    hone_model_tensor *in = calloc((size_t)model->n_inputs + 1, sizeof *in),
                      *out = calloc((size_t)model->n_outputs + 1, sizeof *out);
    size_t elements;
    for (int i = 0; i < model->n_inputs; i++) in[i] = empty_tensor(&model->input[i], &elements);
    if (model->run(m, in, (size_t)model->n_inputs, out, (size_t)model->n_outputs)) quit(model->error(m));
    printf("{\"load_s\": %.6f, \"rss_b\": %ld}\n", load_s, resident_b());
    model->free(m);
    return 0;
}
