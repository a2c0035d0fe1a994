/* tests/fuzz/fuzz_build_log.c — texts that builds print: commands, what they make, and any of the programs flattened.
 * Words hold no NUL, folders are absolute, and no unit is there twice. */
#include "base/arena.h"
#include "draft/project.h"
#include "draft/shell.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_commands(hn_arena *a, const char *text, size_t n) {
    hn_simples s = {0};
    hn_shell_commands(a, text, n, "/nonexistent/w", &s);
    for (size_t i = 0; i < s.n; i++) {
        if (*s.command[i].dir != '/' || !s.command[i].n) abort();
        for (size_t k = 0; k < s.command[i].n; k++)
            if (strlen(s.command[i].word[k]) > n) abort();
    }
}

static void check_made(const hn_made *m) {
    for (size_t i = 0; i < m->n; i++) {
        if (*m->unit[i].source != '/' || strstr(m->unit[i].source, "/../")) abort();
        for (size_t k = 0; k < i; k++)
            if (m->unit[i].line == m->unit[k].line && !strcmp(m->unit[i].source, m->unit[k].source)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_arena a = {0};
    hn_project p = {.dir = "/nonexistent/w"};
    if (size > 20000) return 0;
    char *text = malloc(size + 1); /* exactly as long as the input, so that reading beyond it is seen */
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    check_commands(&a, text, size);
    hn_project_take(&a, &p, text, size, p.dir);
    for (size_t i = 0; i < p.n && i < 8; i++) {
        hn_made made;
        if (p.line[i].makes != HN_LINE_PROGRAM) continue;
        if (!hn_project_flatten(&a, &p, &p.line[i], &made, NULL)) check_made(&made);
    }
    free(text);
    hn_arena_free(&a);
    return 0;
}
