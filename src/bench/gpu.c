/* bench/gpu.c — what a program says: the device, what is loaded, buffers and launches; faults. */
#include "gpu_int.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

const hn_gpu_api *const hn_gpu_apis[] = {&hn_gpu_cuda, &hn_gpu_shim, &hn_gpu_opencl, NULL};

/* --- faults ---------------------------------------------------------------------------------------------------- */

const char *hn_gpu_class_name(hn_gpu_class c) {
    static const char *const name[] = {"memory_fault", "launch_refused", "device_fault",
                                       "no_device",    "throttled",      "run_crash"};
    return name[c];
}

/* A device that has faulted may not answer any more, so nothing is closed. */
_Noreturn void hn_gpu_fault(hone_gpu *g, hn_gpu_class c, const char *fmt, ...) {
    char text[1000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hn_bench_fault_line(g->b, hn_gpu_class_name(c), text);
    fprintf(stderr, "%s: hone/bench: %s: %s\n", g->b->program, hn_gpu_class_name(c), text);
    fflush(NULL);
    _exit(1);
}

void *hn_gpu_memory(hone_gpu *g, size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p) hn_bench_die(g->b, "out of memory");
    return p;
}

static void *grown(hone_gpu *g, void *list, size_t n, size_t size) {
    void *p = realloc(list, (n + 1) * size);
    if (!p) hn_bench_die(g->b, "out of memory");
    memset((char *)p + n * size, 0, size);
    return p;
}

void *hn_gpu_library(const char *const *names, const hn_gpu_symbol *symbol, size_t n, void *table, char *why,
                     size_t n_why) {
    void *lib = NULL;
    for (size_t i = 0; names[i] && !lib; i++) lib = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    if (!lib) {
        snprintf(why, n_why, "%s cannot be opened: %s", names[0], dlerror());
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        void *p = dlsym(lib, symbol[i].name);
        if (!p && symbol[i].older) p = dlsym(lib, symbol[i].older);
        if (!p && !symbol[i].may_miss) {
            snprintf(why, n_why, "%s is too old: it has no %s", names[0], symbol[i].name);
            dlclose(lib);
            return NULL;
        }
        memcpy((char *)table + symbol[i].at, &p, sizeof p);
    }
    return lib;
}

/* --- the device -------------------------------------------------------------------------------------------------- */

static const hn_gpu_api *api_named(const char *name, size_t n) {
    for (size_t i = 0; hn_gpu_apis[i]; i++)
        if (strlen(hn_gpu_apis[i]->name) == n && !strncmp(hn_gpu_apis[i]->name, name, n)) return hn_gpu_apis[i];
    return NULL;
}

hone_gpu *hone_gpu_open(hone_bench *b, const char *device) {
    const char *set = getenv("HONE_GPU_DEVICE");
    hone_gpu *g = calloc(1, sizeof *g);
    if (!g) hn_bench_die(b, "out of memory");
    g->b = b;
    if (!device && set && *set) device = set;
    if (!device) return g;
    const char *colon = strchr(device, ':');
    size_t n = colon ? (size_t)(colon - device) : strlen(device);
    char *end = NULL;
    long index = colon ? strtol(colon + 1, &end, 10) : 0;
    g->api = api_named(device, n);
    if (!g->api || index < 0 || index > 1023 || (colon && (end == colon + 1 || *end)))
        hn_bench_die(b, "device '%s' is not known; it is cuda or opencl, with :N for the Nth of that kind", device);
    g->index = (int)index;
    return g;
}

/* The line of the record that says what measured. */
static void announce(hone_gpu *g) {
    const hn_gpu_info *i = &g->info;
    snprintf(g->line, sizeof g->line, "%s%s%s%s%s%s%s", i->name, *i->arch ? ", " : "", i->arch,
             *i->driver ? ", driver " : "", i->driver, *i->version ? ", " : "", i->version);
    hn_bench_device_line(g->b, g->api->name, i->name, i->arch, i->driver, i->version);
}

void hone_gpu_load_image(hone_gpu *g, const void *image, size_t size, const char *options) {
    if (g->b->opt.help) return;
    const hn_gpu_api *fits = g->api && g->api->takes(image, size) ? g->api : NULL;
    for (size_t i = 0; !g->api && hn_gpu_apis[i] && !fits; i++)
        if (hn_gpu_apis[i]->takes(image, size)) fits = hn_gpu_apis[i];
    if (!size || !fits)
        hn_bench_die(g->b, "what is to be loaded is %s",
                     size ? "neither cubin, fatbin nor PTX, which is all that device 'cuda' takes" : "empty");
    g->api = fits;
    if (!g->state) {
        g->api->open(g);
        announce(g);
    }
    g->api->load(g, image, size, options);
}

void hone_gpu_load(hone_gpu *g, const char *path, const char *options) {
    if (g->b->opt.help) return;
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0, room = 0;
    for (size_t got = 1; f && got;) {
        if (room - n < 65536) {
            room = 2 * room + 131072;
            char *more = realloc(text, room);
            if (!more) hn_bench_die(g->b, "out of memory");
            text = more;
        }
        got = fread(text + n, 1, room - n - 1, f);
        n += got;
    }
    if (!f || ferror(f)) hn_bench_die_of(g->b, "read", path);
    fclose(f);
    text[n] = 0;
    if (!n) hn_bench_die(g->b, "'%s' is empty", path);
    hone_gpu_load_image(g, text, n, options);
    free(text);
}

const char *hone_gpu_name(const hone_gpu *g) { return g->line; }

/* --- buffers and launches ------------------------------------------------------------------------------------------
 */

int hone_gpu_buffer(hone_gpu *g, const char *name, hone_gpu_use use, hone_gpu_type type, size_t n, const void *data) {
    size_t size = hone_gpu_type_size(type);
    if (!name || !*name || strlen(name) >= sizeof g->buffer->name)
        hn_bench_die(g->b, "a buffer's name must have 1 to 63 characters");
    if (!size || use < HONE_GPU_IN || use > HONE_GPU_INOUT) hn_bench_die(g->b, "buffer '%s' has no such type", name);
    if (!n || n > (SIZE_MAX >> 8) / size) hn_bench_die(g->b, "buffer '%s' cannot have %zu elements", name, n);
    g->buffer = grown(g, g->buffer, g->n_buffers, sizeof *g->buffer);
    hn_gpu_buffer *x = &g->buffer[g->n_buffers];
    *x = (hn_gpu_buffer){.use = use, .type = type, .n = n, .size_b = n * size};
    snprintf(x->name, sizeof x->name, "%s", name);
    if ((use & HONE_GPU_IN) && !g->b->opt.help) {
        x->data = hn_gpu_memory(g, n, size);
        if (data)
            memcpy(x->data, data, x->size_b);
        else
            hn_gpu_fill_any(x->data, type, n, g->n_buffers + 1);
    }
    return (int)g->n_buffers++;
}

void hone_gpu_allow_constant(hone_gpu *g, int buffer) {
    if (buffer >= 0 && (size_t)buffer < g->n_buffers) g->buffer[buffer].constant_ok = true;
}

static void set_dim(unsigned out[3], hone_gpu_dim d) {
    out[0] = d.x ? d.x : 1;
    out[1] = d.y ? d.y : 1;
    out[2] = d.z ? d.z : 1;
}

void hone_gpu_launch(hone_gpu *g, const char *entry, hone_gpu_dim grid, hone_gpu_dim block, size_t shared_b,
                     const hone_gpu_arg *arg, size_t n_args) {
    if (n_args > HN_GPU_ARGS_MOST)
        hn_bench_die(g->b, "kernel '%s' has %zu arguments, more than %d", entry, n_args, HN_GPU_ARGS_MOST);
    g->launch = grown(g, g->launch, g->n_launches, sizeof *g->launch);
    hn_gpu_launch *l = &g->launch[g->n_launches++];
    size_t bytes = 0;
    for (size_t i = 0; i < n_args; i++) {
        if (arg[i].buffer >= 0 && (size_t)arg[i].buffer >= g->n_buffers)
            hn_bench_die(g->b, "argument %zu of '%s' is buffer %d, which there is not", i + 1, entry, arg[i].buffer);
        bytes += arg[i].value ? (arg[i].size + 15) / 16 * 16 : 0;
    }
    l->entry = strdup(entry);
    if (!l->entry) hn_bench_die(g->b, "out of memory");
    set_dim(l->grid, grid);
    set_dim(l->block, block);
    l->shared_b = shared_b;
    l->n_args = n_args;
    l->arg = hn_gpu_memory(g, n_args, sizeof *arg);
    l->values = hn_gpu_memory(g, bytes, 1);
    unsigned char *at = l->values;
    for (size_t i = 0; i < n_args; i++) {
        l->arg[i] = arg[i];
        if (!arg[i].value) continue;
        l->arg[i].value = memcpy(at, arg[i].value, arg[i].size);
        at += (arg[i].size + 15) / 16 * 16;
    }
}

void hn_gpu_launches_free(hone_gpu *g) {
    for (size_t i = 0; i < g->n_launches; i++) {
        free(g->launch[i].entry);
        free(g->launch[i].arg);
        free(g->launch[i].values);
    }
    free(g->launch);
    g->launch = NULL;
    g->n_launches = 0;
}

void hone_gpu_close(hone_gpu *g) {
    if (!g) return;
    for (size_t i = 0; i < g->n_buffers; i++) {
        for (size_t k = 0; k < g->buffer[i].n_mem; k++) g->api->release(g, &g->buffer[i].mem[k]);
        free(g->buffer[i].data);
    }
    hn_gpu_launches_free(g);
    free(g->buffer);
    if (g->state) g->api->close(g);
    free(g);
}
