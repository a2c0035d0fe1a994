/* tests/fuzz/fuzz_far_wire.c — messages between hone and its agent: heads read back as written, fields end inside the
 * payload, lists too; paths that count as inside a folder lead nowhere else. */
#include "far/wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *path) {
    if (!hn_far_is_inside(path)) return;
    int depth = 0;
    char *copy = strdup(path), *rest = copy, *part;
    while (copy && (part = strtok_r(rest, "/", &rest))) {
        if (strcmp(part, "..") == 0) depth--;
        if (strcmp(part, ".") != 0 && strcmp(part, "..") != 0) depth++;
        if (depth < 0) abort();
    }
    if (*path == '/') abort();
    free(copy);
}

static void check_fields(const char *text, size_t n) {
    hn_far_fields f = {text, text + n, false};
    while (!f.bad && f.at < f.end) {
        hn_far_fields as_list = f, as_number = f;
        const char **list = hn_far_list(&as_list);
        for (size_t i = 0; list && list[i]; i++)
            if (list[i] < text || list[i] + strlen(list[i]) >= text + n) abort();
        free(list);
        hn_far_number(&as_number);
        const char *field = hn_far_field(&f);
        if (!f.bad && (field < text || f.at > f.end)) abort();
        check_path(field);
    }
    hn_str s = {0};
    hn_far_fields again = {text, text + n, false};
    while (again.at < again.end) {
        const char *field = hn_far_field(&again);
        if (again.bad) break;
        hn_far_put(&s, field);
    }
    if (!s.failed && s.n && memcmp(s.text, text, s.n) != 0) abort();
    hn_str_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *exact = malloc(size ? size : 1), kind, head[HN_FAR_HEAD_B + 1];
    size_t n;
    if (!exact) return 0;
    if (size) memcpy(exact, data, size);
    if (size >= HN_FAR_HEAD_B && hn_far_read_head(exact, &kind, &n)) {
        hn_far_head(head, kind, n);
        if (memcmp(head, exact, HN_FAR_HEAD_B) != 0) abort();
    }
    check_fields(exact, size);
    free(exact);
    return 0;
}
