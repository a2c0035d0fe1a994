/* rt/cache.h — what a device's compiler made, kept below the user's cache folder ($XDG_CACHE_HOME/hone/device, else
 * ~/.cache/hone/device): $HONE_DEVICE_CACHE names another folder, or none where it is empty. Text carried into
 * artifacts, behind driver.h.
 *
 * A file is named by 128 bits over all that its content was made of, and begins with them. A file of another user, or
 * one that is damaged, is not read; a folder that cannot be made or written is done without. Threads and processes:
 * files appear whole, by a rename.
 */
#ifndef HND_CACHE_H
#define HND_CACHE_H

#include "driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct hnd_key {
    uint64_t a, b;
} hnd_key;

/* FNV-1a (Fowler, Noll, Vo) over 64 bits, and the same from another start and with a rotation; the length of each part
 * keeps parts apart. */
HND void hnd_key_add(hnd_key *k, const void *data, size_t n) {
    const unsigned char *p = (const unsigned char *)data;
    uint64_t a = (k->a ^ n) * 0x100000001B3u, b = k->b + n;
    for (size_t i = 0; i < n; i++) {
        a = (a ^ p[i]) * 0x100000001B3u;
        b = ((b << 27 | b >> 37) ^ p[i]) * 0x9E3779B97F4A7C15u;
    }
    k->a = a, k->b = b;
}

HND void hnd_key_begin(hnd_key *k, const char *what) {
    *k = (hnd_key){0xCBF29CE484222325u, 0x2545F4914F6CDD1Du};
    hnd_key_add(k, what, strlen(what));
}

/* The folder, made where it is not; 0: there is none. */
HND int hnd_cache_folder(char *to, size_t n) {
    const char *own = getenv("HONE_DEVICE_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat st;
    int have;
    if (own)
        have = snprintf(to, n, "%s", own);
    else if (xdg && *xdg == '/')
        have = snprintf(to, n, "%s/hone/device", xdg);
    else
        have = home && *home == '/' ? snprintf(to, n, "%s/.cache/hone/device", home) : 0;
    if (have <= 0 || (size_t)have >= n) return 0;
    for (char *p = to + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        mkdir(to, 0700);
        *p = '/';
    }
    mkdir(to, 0700);
    return !stat(to, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

HND int hnd_cache_path(const hnd_key *k, char *to, size_t n) {
    char folder[3800];
    return hnd_cache_folder(folder, sizeof folder) &&
           snprintf(to, n, "%s/%016llx%016llx", folder, (unsigned long long)k->a, (unsigned long long)k->b) < (int)n;
}

typedef struct hnd_cache_head {
    char magic[16];
    hnd_key key, content;
    uint64_t size_b;
} hnd_cache_head;
#define HND_CACHE_MAGIC "HONE-DEVICE-1\n"

HND void hnd_cache_head_of(const hnd_key *key, const void *data, size_t n, hnd_cache_head *out) {
    memset(out, 0, sizeof *out);
    memcpy(out->magic, HND_CACHE_MAGIC, sizeof HND_CACHE_MAGIC);
    out->key = *key;
    out->size_b = n;
    hnd_key_begin(&out->content, "content");
    hnd_key_add(&out->content, data, n);
}

HND int hnd_cache_all(int fd, void *data, size_t n, int write_it) {
    for (size_t done = 0; done < n;) {
        ssize_t k = write_it ? write(fd, (char *)data + done, n - done) : read(fd, (char *)data + done, n - done);
        if (k <= 0) return 0;
        done += (size_t)k;
    }
    return 1;
}

/* What is kept under a key, to be freed, or NULL. */
HND void *hnd_cache_read(const hnd_key *key, size_t *n) {
    char path[4096];
    hnd_cache_head head, want;
    struct stat st;
    void *data = NULL;
    int fd = hnd_cache_path(key, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0) return NULL;
    if (!fstat(fd, &st) && st.st_uid == geteuid() && hnd_cache_all(fd, &head, sizeof head, 0) &&
        head.size_b == (uint64_t)st.st_size - sizeof head && head.size_b < (uint64_t)1 << 32 &&
        (data = malloc(head.size_b + 1)) && hnd_cache_all(fd, data, head.size_b, 0)) {
        hnd_cache_head_of(key, data, head.size_b, &want);
        *n = head.size_b;
        if (memcmp(&head, &want, sizeof head)) *n = 0;
    } else {
        *n = 0;
    }
    close(fd);
    if (*n) return data;
    free(data);
    return NULL;
}

HND void hnd_cache_write(const hnd_key *key, const void *data, size_t n) {
    char path[4096], temp[4128];
    hnd_cache_head head;
    if (!hnd_cache_path(key, path, sizeof path)) return;
    snprintf(temp, sizeof temp, "%s.%ld.XXXXXX", path, (long)getpid());
    int fd = mkstemp(temp);
    if (fd < 0) return;
    hnd_cache_head_of(key, data, n, &head);
    int good = hnd_cache_all(fd, &head, sizeof head, 1) && hnd_cache_all(fd, (void *)(uintptr_t)data, n, 1);
    good = !close(fd) && good;
    if (!good || rename(temp, path)) unlink(temp);
}

#endif
