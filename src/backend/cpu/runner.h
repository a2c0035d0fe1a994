/* runner.h — runs kernels of a library for another process. Text carried into artifacts' checks, not into artifacts.
 *
 * usage: runner LIBRARY ENTRY MEMORY. Loads the library, whose entry point has the name ENTRY, and says so with one
 * byte on standard output. Then reads hn_remote_order records from standard input, runs each on the file MEMORY, which
 * both processes map, and answers with one byte. It is the other side of the place
 * backend/cpu/place_emulated.c. Ends when its input does.
 */
#include "remote_order.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const hone_model *open_library(const char *path, const char *name) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol = NULL;
    hone_model_entry *entry = NULL;
    if (library) symbol = dlsym(library, name);
    memcpy(&entry, &symbol, sizeof entry);
    return entry ? entry() : NULL;
}

static void run_kernel(const hone_model *m, const hn_remote_order *o, char *memory) {
    void *buf[HN_REMOTE_BUFFERS];
    const int64_t *at = (const int64_t *)(memory + o->buffers);
    for (int64_t i = 0; i < o->n_buffers && i < HN_REMOTE_BUFFERS; i++) buf[i] = at[i] < 0 ? NULL : memory + at[i];
    m->targets[o->target]->kernel[o->kernel].run(buf, (const int64_t *)(memory + o->symbols), o->begin, o->end,
                                                 memory + o->scratch);
}

int main(int argc, char **argv) {
    const hone_model *m = argc == 4 ? open_library(argv[1], argv[2]) : NULL;
    int file = m ? open(argv[3], O_RDWR) : -1;
    char *memory = NULL, done = 'd';
    int64_t size_b = 0;
    hn_remote_order o;
    if (file < 0) return 3;
    if (write(1, &done, 1) != 1) return 5;
    while (read(0, &o, sizeof o) == (ssize_t)sizeof o) {
        if (o.size_b != size_b) {
            if (memory) munmap(memory, (size_t)size_b);
            size_b = o.size_b;
            memory = (char *)mmap(NULL, (size_t)size_b, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            if (memory == (char *)MAP_FAILED) return 4;
        }
        run_kernel(m, &o, memory);
        if (write(1, &done, 1) != 1) return 5;
    }
    return 0;
}
