/* bench/gpu_controls.c — which settings of a compiler for GPUs change machine code. usage: FAMILY ARCH SOURCE...
 *
 * Every value of every control is compiled once by itself, for every source, and the listing of cuobjdump compared with
 * that of the default. Prints a row of a table for each control: values that change the code, and how many different
 * codes they make. */
#include "base/hash.h"
#include "device/cuda.h"
#include "proc/temp.h"
#include "target/target_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 8, VALUES = 64 };
typedef struct code {
    char hex[33];
} code;
typedef struct lab {
    hone_target *t;
    const char *arch, *cuobjdump;
    char out[4200];
} lab;

/* The hash of the code that a source becomes; "refused". */
static code compile(lab *l, const char *name, const char *value, const char *source) {
    code c = {"refused"};
    hn_arena a = {0};
    hn_flags f = {.a = &a};
    hn_flags_add(&f, hn_target_program(l->t));
    if (name) hn_target_family(l->t)->spell(&f, l->t, name, value);
    hn_flags_add(&f, hn_format(&a, "-arch=%s", l->arch));
    if (!strstr(source, ".ptx")) hn_flags_words(&f, "-cubin");
    hn_flags_add(&f, source);
    hn_flags_words(&f, "-o");
    hn_flags_add(&f, l->out);
    hn_flags_add(&f, NULL);
    hn_tool run = {0}, list = {0};
    const char *const argv[] = {l->cuobjdump, "-sass", l->out, NULL};
    bool fine = !hn_tool_run(f.word, 120, &run, NULL) && run.ok && !hn_tool_run(argv, 60, &list, NULL) && list.ok;
    if (fine) {
        hn_hash h;
        hn_hash_begin(&h);
        hn_hash_text(&h, list.out);
        hn_hash_end(&h, c.hex);
    }
    hn_tool_free(&run);
    hn_tool_free(&list);
    hn_arena_free(&a);
    return c;
}

static size_t values_of(const hone_param *p, char text[VALUES][40]) {
    size_t n = 0;
    for (size_t k = 0; p->kind == HONE_CHOICE && k < p->n_values && n < VALUES; k++)
        snprintf(text[n++], 40, "%s", p->values[k]);
    for (int at = 0; p->kind == HONE_INT && at < 3; at++)
        snprintf(text[n++], 40, "%.0f", at == 0 ? p->lo : at == 1 ? p->hi : floor((p->lo + p->hi) / 2));
    return n;
}

/* " 3 of 6 (2) |": so many values change the code, to so many different ones. */
static bool cell(lab *l, const hone_param *p, const char *source, const code *plain) {
    static char value[VALUES][40];
    static code seen[VALUES];
    size_t n = values_of(p, value), changed = 0, kinds = 0;
    for (size_t k = 0; k < n; k++) {
        code c = compile(l, p->name, value[k], source);
        bool old = !strcmp(c.hex, plain->hex);
        changed += !old;
        for (size_t i = 0; i < kinds && !old; i++) old = !strcmp(seen[i].hex, c.hex);
        if (!old) seen[kinds++] = c;
    }
    if (changed)
        printf(" %zu of %zu (%zu) |", changed, n, kinds);
    else
        printf(" – |");
    fflush(stdout);
    return changed > 0;
}

static void table(lab *l, const hone_space *space, char **source, int n) {
    code plain[SOURCES];
    size_t effective = 0;
    for (int i = 0; i < n && i < SOURCES; i++) plain[i] = compile(l, NULL, NULL, source[i]);
    for (size_t p = 0; p < hone_space_n_params(space); p++) {
        const hone_param *param = hone_space_param(space, p);
        bool any = false;
        printf("| `%s` | %s |", param->name, param->tag);
        for (int i = 0; i < n && i < SOURCES; i++) any |= cell(l, param, source[i], &plain[i]);
        printf("\n");
        effective += any;
    }
    printf("\n%zu of %zu controls change the code of at least one kernel.\n", effective, hone_space_n_params(space));
}

int main(int argc, char **argv) {
    hone_err err = {0};
    hone_space *space;
    hn_temp tmp;
    lab l = {.arch = argc > 2 ? argv[2] : "", .cuobjdump = hn_cuda_tool("cuobjdump")};
    hone_target_options o = hone_target_defaults();
    o.numeric = true;
    if (argc < 4 || !l.cuobjdump)
        return fprintf(stderr, "usage: gpu_controls FAMILY ARCH SOURCE...; needs cuobjdump\n"), 2;
    if (hn_temp_make(NULL, "hone-gpu-", &tmp, &err) || hone_target_open(argv[1], NULL, &l.t, &err) ||
        hone_target_space(l.t, &o, &space, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    snprintf(l.out, sizeof l.out, "%s/out", tmp.path);
    printf("| control of %s | class |", argv[1]);
    for (int i = 3; i < argc; i++) printf(" %s |", strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i]);
    printf("\n|---|---|");
    for (int i = 3; i < argc; i++) printf("---|");
    printf("\n");
    table(&l, space, argv + 3, argc - 3);
    hone_space_free(space);
    hone_target_close(l.t);
    hn_temp_free(&tmp);
    return 0;
}
