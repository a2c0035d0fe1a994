/* lost.c — see lost.h. */
#include "serve/lost.h"

#include <hone/serve.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A place in memory; end 0: free, 1: being filled. */
typedef struct area {
    atomic_uintptr_t begin, end;
    atomic_int lost;
} area;
enum { AREAS = 256 };

/* A handler of signals can be told of nothing in another way. */
static area areas[AREAS];

static area *area_of(uintptr_t at) {
    for (int i = 0; i < AREAS; i++) {
        uintptr_t end = atomic_load(&areas[i].end);
        if (end > 1 && at < end && at >= atomic_load(&areas[i].begin)) return &areas[i];
    }
    return NULL;
}

/* From the page that is missing on: behind the end of a file everything is missing, and a page at a time would be more
 * mappings than a process may have. */
bool hone_serve_lost(const void *address) {
    uintptr_t at = (uintptr_t)address, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    area *a = area_of(at);
    if (!a) return false;
    at -= at % page;
    size_t n = atomic_load(&a->end) - at;
    if (mmap((void *)at, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
    atomic_store(&a->lost, 1);
    return true;
}

static int watch_area(uintptr_t begin, uintptr_t end) {
    for (int i = 0; i < AREAS; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&areas[i].end, &none, 1)) continue;
        atomic_store(&areas[i].lost, 0);
        atomic_store(&areas[i].begin, begin);
        atomic_store(&areas[i].end, end);
        return i + 1;
    }
    return 0;
}

/* Lines of /proc/self/maps: begin-end rights offset device inode path. */
static void find_areas(hn_lost_file *f) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0, n = 0;
    while (maps && getline(&line, &room, maps) > 0 && n < HN_LOST_AREAS) {
        char *rest, *path = strchr(line, '/');
        uintptr_t begin = strtoull(line, &rest, 16), end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
        if (!path || rest[0] != ' ' || rest[1] != 'r' || rest[2] != '-' || rest[3] != '-') continue;
        path[strcspn(path, "\n")] = 0;
        if (strcmp(path, f->path) != 0 || area_of(begin)) continue;
        f->area[n] = watch_area(begin, end);
        n += f->area[n] > 0;
    }
    free(line);
    if (maps) fclose(maps);
}

void hn_lost_watch(hn_lost_file *f, const char *path) {
    struct stat st;
    char *real = realpath(path, NULL);
    if (!real || stat(real, &st)) {
        free(real);
        return;
    }
    *f = (hn_lost_file){
        .path = real, .device = st.st_dev, .inode = st.st_ino, .size_b = st.st_size, .changed = st.st_mtim};
    find_areas(f);
}

bool hn_lost_is(const hn_lost_file *f) {
    struct stat st;
    if (!f->path) return false;
    for (int i = 0; i < HN_LOST_AREAS; i++)
        if (f->area[i] && atomic_load(&areas[f->area[i] - 1].lost)) return true;
    if (stat(f->path, &st) || st.st_dev != f->device || st.st_ino != f->inode) return false;
    return st.st_size != f->size_b || st.st_mtim.tv_sec != f->changed.tv_sec ||
           st.st_mtim.tv_nsec != f->changed.tv_nsec;
}

void hn_lost_free(hn_lost_file *f) {
    for (int i = 0; i < HN_LOST_AREAS; i++)
        if (f->area[i]) atomic_store(&areas[f->area[i] - 1].end, 0);
    free(f->path);
    *f = (hn_lost_file){0};
}
