/* base/keep.c — see keep.h. A use is written down as the file's time of change. */
#include "base/keep.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUM_B = 32 };

static void sum_of(const char *data, size_t n, char hex[SUM_B + 1]) {
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_add(&h, data, n);
    hn_hash_end(&h, hex);
}

bool hn_keep_take(const char *dir, const char *name, const char *to) {
    char *from = hn_path_join(dir, name), *data = NULL, hex[SUM_B + 1];
    size_t n = 0;
    bool there = from && hn_exists(from) && !hn_read_file(from, &data, &n, NULL), whole = there && n >= SUM_B;
    if (whole) sum_of(data, n -= SUM_B, hex);
    whole = whole && !memcmp(data + n, hex, SUM_B);
    if (there && !whole) unlink(from);
    if (whole) utimensat(AT_FDCWD, from, NULL, 0);
    whole = whole && !hn_write_file(to, data, n, NULL);
    free(data);
    free(from);
    return whole;
}

/* Not flushed to the disk, as hn_write_file would: what a crash damages is seen by its hash. */
static bool write_kept(const char *path, const char *data, size_t n) {
    char hex[SUM_B + 1];
    hn_str part = {0};
    hn_str_addf(&part, "%s.%ld.part", path, (long)getpid());
    FILE *f = part.failed ? NULL : fopen(part.text, "w");
    bool fine = f != NULL;
    sum_of(data, n, hex);
    if (f) fine = fwrite(data, 1, n, f) == n && fwrite(hex, 1, SUM_B, f) == SUM_B;
    if (f) fine = fclose(f) == 0 && fine;
    fine = fine && !rename(part.text, path);
    if (f && !fine) unlink(part.text);
    hn_str_free(&part);
    return fine;
}

void hn_keep_put(const char *dir, const char *name, const char *from, uint64_t most_b) {
    char *to = hn_path_join(dir, name), *data = NULL;
    size_t n;
    if (to && !hn_make_dirs(dir, NULL) && !hn_read_file(from, &data, &n, NULL) && n <= most_b) write_kept(to, data, n);
    free(data);
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
