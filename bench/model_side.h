/* model_side.h — what the benches' programs share: the clock, and a compiled model that is opened. */
#ifndef MODEL_SIDE_H
#define MODEL_SIDE_H

#include <hone/model.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static __attribute__((unused)) double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void quit(const char *text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

/* The library at `path` with an instance of so many threads; ends the program where that cannot be. */
static const hone_model *open_model(const char *path, int threads, hone_model_instance **instance) {
    hone_model_entry *entry = NULL;
    hone_model_config config = {.size = sizeof config, .n_threads = threads};
    void *library = dlopen(path, RTLD_NOW), *symbol = library ? dlsym(library, HONE_MODEL_ENTRY) : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) quit(library ? "this is no compiled model" : dlerror());
    const hone_model *model = entry();
    if (model->create(&config, instance)) quit(model->error(NULL));
    return model;
}

/* Room for what a port takes, all zeros; an open size is its lowest, at least 1. *n: elements. */
static __attribute__((unused)) hone_model_tensor empty_tensor(const hone_model_port *p, size_t *n) {
    static const int size_b[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    hone_model_tensor t = {.dtype = p->dtype, .rank = p->rank};
    *n = 1;
    for (int d = 0; d < p->rank; d++)
        *n *= (size_t)(t.dim[d] = p->dim[d] >= 0 ? p->dim[d] : p->low[d] > 1 ? p->low[d] : 1);
    t.data = calloc(*n + 1, (size_t)size_b[p->dtype]);
    return t;
}

#endif
