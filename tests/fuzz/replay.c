/* tests/fuzz/replay.c — runs a fuzz target over its corpus, one TAP line per file.
 *
 * The corpus of fuzz_NAME.c is tests/fuzz/corpus/NAME below $HONE_ROOT (else the current folder). Arguments, if any,
 * are files to run instead: `build/asan/tests/fuzz/fuzz_yaml_replay CRASHER`. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_B = 1 << 20 };

/* The exact number of bytes in memory of its own, so that ASan sees the first one read beyond. */
static int replay_file(const char *path) {
    static uint8_t buf[MAX_B];
    FILE *f = fopen(path, "rb");
    if (!f) {
        printf("# cannot open '%s': %s\n", path, strerror(errno));
        return 0;
    }
    size_t n = fread(buf, 1, sizeof buf, f);
    fclose(f);
    uint8_t *data = malloc(n ? n : 1);
    if (!data) return 0;
    memcpy(data, buf, n);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 1;
}

static int no_dot(const struct dirent *e) { return e->d_name[0] != '.'; }

/* "…/fuzz_yaml_replay" -> "yaml". */
static void target_name(const char *program, char *name, size_t n) {
    const char *slash = strrchr(program, '/'), *p = slash ? slash + 1 : program;
    if (!strncmp(p, "fuzz_", 5)) p += 5;
    snprintf(name, n, "%s", p);
    char *end = strstr(name, "_replay");
    if (end) *end = 0;
}

static int report(int i, const char *target, const char *file, const char *path) {
    printf("# %s\n", path);
    fflush(stdout); /* a crash is then below its file's name */
    int good = replay_file(path);
    printf("%sok %d - fuzz/%s %s\n", good ? "" : "not ", i, target, file);
    return good;
}

int main(int argc, char **argv) {
    char target[64], dir[4096], path[8192];
    const char *root = getenv("HONE_ROOT");
    int failed = 0;
    target_name(argv[0], target, sizeof target);
    for (int i = 1; i < argc; i++) failed += !report(i, target, argv[i], argv[i]);
    if (argc > 1) {
        printf("1..%d\n", argc - 1);
        return failed != 0;
    }
    snprintf(dir, sizeof dir, "%s/tests/fuzz/corpus/%s", root ? root : ".", target);
    struct dirent **entry;
    int n = scandir(dir, &entry, no_dot, alphasort);
    if (n <= 0) {
        printf("not ok 1 - fuzz/%s has a corpus in '%s'\n1..1\n", target, dir);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, entry[i]->d_name);
        failed += !report(i + 1, target, entry[i]->d_name, path);
        free(entry[i]);
    }
    free(entry);
    printf("1..%d\n", n);
    return failed != 0;
}
