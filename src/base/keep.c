/* base/keep.c — see keep.h. A use is written down as the file's time of change. */
#include "base/keep.h"

#include "base/fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool copy(const char *from, const char *to) {
    char *data = NULL;
    size_t n;
    bool fine = !hn_read_file(from, &data, &n, NULL) && !hn_write_file(to, data, n, NULL);
    free(data);
    return fine;
}

bool hn_keep_take(const char *dir, const char *name, const char *to) {
    char *from = hn_path_join(dir, name);
    bool there = from && hn_exists(from) && copy(from, to);
    if (there) utimensat(AT_FDCWD, from, NULL, 0);
    free(from);
    return there;
}

void hn_keep_put(const char *dir, const char *name, const char *from, uint64_t most_b) {
    struct stat st;
    char *to = hn_path_join(dir, name);
    if (to && !stat(from, &st) && (uint64_t)st.st_size <= most_b && !hn_make_dirs(dir, NULL) && copy(from, to))
        hn_keep_trim(dir, most_b);
    free(to);
}

/* --- trimming ----------------------------------------------------------------------------------------------------- */

typedef struct kept {
    char *name;
    struct timespec used;
    uint64_t size_b;
} kept;

static int by_use(const void *a, const void *b) {
    const struct timespec *x = &((const kept *)a)->used, *y = &((const kept *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* One more of a list that grows; false: no memory. */
static bool add(kept **list, size_t *n, size_t *room, const char *name, const struct stat *st) {
    if (*n == *room) {
        size_t more = *room ? 2 * *room : 64;
        kept *grown = realloc(*list, more * sizeof *grown);
        if (!grown) return false;
        *list = grown;
        *room = more;
    }
    char *own = strdup(name);
    if (own) (*list)[(*n)++] = (kept){own, st->st_mtim, (uint64_t)st->st_size};
    return own != NULL;
}

void hn_keep_trim(const char *dir, uint64_t most_b) {
    DIR *d = opendir(dir);
    kept *list = NULL;
    size_t n = 0, room = 0;
    uint64_t sum_b = 0;
    struct stat st;
    bool fine = true;
    for (struct dirent *e; d && fine && (e = readdir(d));) {
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
        sum_b += (uint64_t)st.st_size;
        fine = add(&list, &n, &room, e->d_name, &st);
    }
    if (n && sum_b > most_b) qsort(list, n, sizeof *list, by_use);
    for (size_t i = 0; fine && i < n && sum_b > most_b; i++)
        if (!unlinkat(dirfd(d), list[i].name, 0)) sum_b -= list[i].size_b;
    for (size_t i = 0; i < n; i++) free(list[i].name);
    free(list);
    if (d) closedir(d);
}
