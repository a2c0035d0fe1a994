/* tools/portable.c — what a static program cannot take from the C library: `make portable` links this file instead.
 *
 * glibc's own dlopen and getpwuid_r load libraries of the machine at run time, which must be of the very version that
 * the program was linked with. Here nothing is loaded, and names of users are read from /etc/passwd alone. */
#include <dlfcn.h>
#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* GPU drivers, OpenCL and compiled models are libraries. */
void *dlopen(const char *path, int flags) {
    (void)path;
    (void)flags;
    return NULL;
}

char *dlerror(void) {
    static const char text[] = "this hone is the portable one, which is statically linked and loads no libraries; "
                               "what needs them works in a hone built by plain `make`";
    return (char *)(uintptr_t)text;
}

void *dlsym(void *library, const char *name) {
    (void)library;
    (void)name;
    return NULL;
}

int dlclose(void *library) {
    (void)library;
    return -1;
}

int dladdr(const void *address, Dl_info *info) {
    (void)address;
    (void)info;
    return 0;
}

int getpwuid_r(uid_t uid, struct passwd *entry, char *text, size_t n, struct passwd **found) {
    FILE *f = fopen("/etc/passwd", "re");
    int rc = f ? 0 : errno;
    *found = NULL;
    while (f && (rc = fgetpwent_r(f, entry, text, n, found)) == 0 && entry->pw_uid != uid) *found = NULL;
    if (f) fclose(f);
    if (rc) *found = NULL;
    return rc == ENOENT ? 0 : rc;
}
