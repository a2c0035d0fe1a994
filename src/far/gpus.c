/* far/gpus.c — from /proc/driver/nvidia; other makers' devices by the numbers of their PCI ids, from /sys/class/drm. */
#include "far/gpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static int visible(const struct dirent *e) { return *e->d_name != '.'; }

static void add(char *out, size_t n, const char *before, const char *text) {
    size_t used = strlen(out);
    snprintf(out + used, n - used, "%s%s", used ? before : "", text);
}

/* The line that starts with `key`, without it and the blanks behind it. */
static int value_of(const char *path, const char *key, char *out, size_t n) {
    char line[256];
    int found = 0;
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *p = line + strlen(key);
        snprintf(out, n, "%s", p + strspn(p, " \t"));
        out[strcspn(out, "\n")] = 0;
        found = 1;
    }
    if (f) fclose(f);
    return found;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun …": the first word that begins with a digit. */
static void add_driver(char *out, size_t n) {
    char line[200], *rest = line, *word;
    if (!value_of("/proc/driver/nvidia/version", "NVRM version:", line, sizeof line)) return;
    while ((word = strtok_r(rest, " \t", &rest)) && !(word[0] >= '0' && word[0] <= '9' && strchr(word, '.'))) continue;
    if (word) add(out, n, "; driver ", word);
}

static void each_of(const char *folder, const char *file, const char *key, const char *start, char *out, size_t n) {
    struct dirent **e = NULL;
    int count = scandir(folder, &e, visible, by_name);
    for (int i = 0; i < count; i++) {
        char path[400], value[128];
        snprintf(path, sizeof path, "%s/%s/%s", folder, e[i]->d_name, file);
        if (strncmp(e[i]->d_name, start, strlen(start)) == 0 && value_of(path, key, value, sizeof value))
            add(out, n, ", ", value);
        free(e[i]);
    }
    free(e);
}

void hn_far_gpus(char *out, size_t n) {
    *out = 0;
    each_of("/proc/driver/nvidia/gpus", "information", "Model:", "", out, n);
    if (*out) add_driver(out, n);
    if (!*out) each_of("/sys/class/drm", "device/uevent", "PCI_ID=", "renderD", out, n);
}
