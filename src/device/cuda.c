/* device/cuda.c — see cuda.h. */
#include "device/cuda.h"

#include "base/fs.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char hn_cuda_advice[] =
    "set HONE_CUDA to the folder of a CUDA toolkit, or install its wheels from PyPI: tools/cuda-tools.sh";

enum { FOLDERS = 5 };

/* The folder `cuda` beside the program that runs, or beside the folder it is in. */
static bool beside(const char *up, char *out, size_t size) {
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return false;
    self[n] = 0;
    char *slash = strrchr(self, '/');
    if (!slash) return false;
    *slash = 0;
    return snprintf(out, size, "%s%s/cuda", self, up) < (int)size;
}

/* The k-th place, resolved; false: there is no such folder. */
static bool folder(int k, char *out) {
    char path[PATH_MAX + 16] = "";
    const char *set = k == 0 ? getenv("HONE_CUDA") : k == 3 ? getenv("CUDA_HOME") : k == 4 ? "/usr/local/cuda" : NULL;
    if (k == 1 || k == 2)
        (void)beside(k == 1 ? "" : "/..", path, sizeof path);
    else
        snprintf(path, sizeof path, "%s", set ? set : "");
    return *path && realpath(path, out) && hn_is_folder(out);
}

static char *in_folder(const char *folder, const char *sub, const char *name) {
    char path[2 * PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s/%s", folder, sub, name) >= (int)sizeof path) return NULL;
    return hn_exists(path) && !hn_is_folder(path) ? realpath(path, NULL) : NULL;
}

char *hn_cuda_tool(const char *name) {
    static const char *const sub[] = {"bin", "nvvm/bin"};
    char at[PATH_MAX];
    for (int k = 0; k < FOLDERS; k++)
        for (size_t i = 0; i < sizeof sub / sizeof *sub && folder(k, at); i++) {
            char *path = in_folder(at, sub[i], name);
            if (path && !access(path, X_OK)) return path;
            free(path);
        }
    return hn_which(name);
}

/* Of NAME, NAME.12, NAME.13 in a folder: the plain one, else the last by version. */
static char *newest(const char *folder, const char *sub, const char *name) {
    char dir[PATH_MAX + 16], best[NAME_MAX + 1] = "";
    size_t n = strlen(name);
    char *plain = in_folder(folder, sub, name);
    snprintf(dir, sizeof dir, "%s/%s", folder, sub);
    DIR *d = plain ? NULL : opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, name, n) && e->d_name[n] == '.' && strverscmp(e->d_name, best) > 0)
            snprintf(best, sizeof best, "%s", e->d_name);
    if (d) closedir(d);
    return plain || !*best ? plain : in_folder(folder, sub, best);
}

char *hn_cuda_library(const char *name) {
    static const char *const sub[] = {"lib64", "lib", "targets/x86_64-linux/lib", "nvvm/lib64", "nvvm/lib"};
    char at[PATH_MAX];
    for (int k = 0; k < FOLDERS; k++)
        for (size_t i = 0; i < sizeof sub / sizeof *sub && folder(k, at); i++) {
            char *path = newest(at, sub[i], name);
            if (path) return path;
        }
    return NULL;
}

/* The first folder above `path` that has an include folder with CUDA's types. */
static char *include_above(const char *path) {
    char at[PATH_MAX];
    snprintf(at, sizeof at, "%s", path);
    for (char *slash; (slash = strrchr(at, '/')) && slash != at;) {
        *slash = 0;
        char *types = in_folder(at, "include", "cuda_runtime.h");
        if (!types) continue;
        *strrchr(types, '/') = 0;
        return types;
    }
    return NULL;
}

char *hn_cuda_include(const char *path) {
    char at[PATH_MAX];
    char *found = path ? include_above(path) : NULL;
    for (int k = 0; k < FOLDERS && !found; k++) {
        if (!folder(k, at)) continue;
        strncat(at, "/x", sizeof at - strlen(at) - 1);
        found = include_above(at);
    }
    return found;
}
