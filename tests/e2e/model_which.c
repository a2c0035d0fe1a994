/* model_which.c — says which model of a library runs, and what it computes: usage: model_which LIBRARY N...
 *
 * For every N a line with the target, the version and the first input's sizes (its first symbolic dimension is N,
 * others their smallest), then every output's elements, one per line. Inputs are f32, ((i * 37) mod 23) / 8 - 1. An
 * error is a line `error CODE TEXT`.
 */
#include <hone/model.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hone_model_tensor filled(const hone_model_port *p, int64_t n) {
    hone_model_tensor t = {.dtype = p->dtype, .rank = p->rank};
    size_t count = 1;
    int open = 1;
    for (int32_t d = 0; d < p->rank; d++) {
        t.dim[d] = p->dim[d] >= 0 ? p->dim[d] : open ? n : p->low[d];
        open = open && p->dim[d] >= 0;
        count *= (size_t)t.dim[d];
    }
    float *x = calloc(count + 1, sizeof *x);
    for (size_t i = 0; x && i < count; i++) x[i] = (float)(i * 37 % 23) / 8 - 1;
    t.data = x;
    return t;
}

static void show(const hone_model_tensor *t) {
    size_t n = 1;
    for (int32_t d = 0; d < t->rank; d++) n *= (size_t)t->dim[d];
    for (size_t i = 0; i < n; i++) printf("%.7g\n", ((const float *)t->data)[i]);
}

static int run(const hone_model *m, hone_model_instance *x, int64_t n) {
    hone_model_tensor in[8], out[8] = {{0}};
    for (int32_t i = 0; i < m->n_inputs; i++) in[i] = filled(&m->input[i], n);
    hone_model_rc rc = m->run(x, in, (size_t)m->n_inputs, out, (size_t)m->n_outputs);
    printf("%s [%s] %lld\n", m->target, m->version[m->last_version(x)].sizes, (long long)n);
    for (int32_t i = 0; i < m->n_outputs && !rc; i++) show(&out[i]);
    for (int32_t i = 0; i < m->n_inputs; i++) free(in[i].data);
    if (rc) printf("error %d %s\n", (int)rc, m->error(x));
    return rc != 0;
}

int main(int argc, char **argv) {
    hone_model_entry *entry = NULL;
    hone_model_instance *x;
    hone_model_config config = {.size = sizeof config, .n_threads = 1};
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL,
         *symbol = library ? dlsym(library, HONE_MODEL_ENTRY) : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) return puts("no library"), 2;
    const hone_model *m = entry();
    hone_model_rc rc = m->create(&config, &x);
    if (rc) return printf("error %d %s\n", (int)rc, m->error(NULL)), 1;
    int failed = 0;
    for (int i = 2; i < argc; i++) failed |= run(m, x, atoll(argv[i]));
    m->free(x);
    return failed;
}
