/* compile_load.c — opens a compiled model, runs it once on zeros and prints, as JSON, how long opening took and how
 * much memory the process has. usage: compile_load LIBRARY [THREADS] */
#include <hone/model.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident_b(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*s %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static hone_model_tensor zeros(const hone_model_port *p) {
    static const int size_b[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    hone_model_tensor t = {.dtype = p->dtype, .rank = p->rank};
    size_t n = (size_t)size_b[p->dtype];
    for (int d = 0; d < p->rank; d++)
        n *= (size_t)(t.dim[d] = p->dim[d] >= 0 ? p->dim[d] : p->low[d] > 1 ? p->low[d] : 1);
    t.data = calloc(n + 1, 1);
    return t;
}

static int fail(const char *text) { return fprintf(stderr, "%s\n", text), 1; }

int main(int argc, char **argv) {
    hone_model_entry *entry = NULL;
    hone_model_instance *m;
    hone_model_config config = {.n_threads = argc > 2 ? atoi(argv[2]) : 1};
    double start_s = now_s();
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL,
         *symbol = library ? dlsym(library, HONE_MODEL_ENTRY) : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) return fail("no such library");
    const hone_model *model = entry();
    if (model->create(&config, &m)) return fail(model->error(NULL));
    double load_s = now_s() - start_s;
    hone_model_tensor *in = calloc((size_t)model->n_inputs + 1, sizeof *in),
                      *out = calloc((size_t)model->n_outputs + 1, sizeof *out);
    for (int i = 0; i < model->n_inputs; i++) in[i] = zeros(&model->input[i]);
    if (model->run(m, in, (size_t)model->n_inputs, out, (size_t)model->n_outputs)) return fail(model->error(m));
    printf("{\"load_s\": %.6f, \"rss_b\": %ld}\n", load_s, resident_b());
    model->free(m);
    return 0;
}
