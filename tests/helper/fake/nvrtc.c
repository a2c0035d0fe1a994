/* tests/helper/fake/nvrtc.c — a libnvrtc.so that compiles nothing: what it gives names what it was asked for, so that
 * tests see which text was compiled for what, and the kernels' names, by which the played driver knows them. HONE_FAKE:
 * words "refuses sm_80" (an error in that architecture's text), "ends" (the process dies), "old" (no PTX). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    size_t text_b;
    char made[1200], arch[60], names[1000]; /* of kernels in the text */
} program;

int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(program **p, const char *text, const char *name, int n, const char *const *header,
                       const char *const *as);
int nvrtcCompileProgram(program *p, int n, const char *const *option);
int nvrtcGetProgramLogSize(program *p, size_t *n);
int nvrtcGetProgramLog(program *p, char *to);
int nvrtcGetCUBINSize(program *p, size_t *n);
int nvrtcGetCUBIN(program *p, char *to);
int nvrtcGetPTXSize(program *p, size_t *n);
int nvrtcGetPTX(program *p, char *to);
int nvrtcDestroyProgram(program **p);

static int plays(const char *word) {
    const char *set = getenv("HONE_FAKE");
    return set && strstr(set, word) != NULL;
}
int nvrtcVersion(int *major, int *minor) { return *major = 13, *minor = 0, 0; }
int nvrtcCreateProgram(program **p, const char *text, const char *name, int n, const char *const *header,
                       const char *const *as) {
    (void)name, (void)header, (void)as;
    if (n || !(*p = calloc(1, sizeof **p))) return 1;
    (*p)->text_b = strlen(text);
    for (const char *at = text; (at = strstr(at, "\nHNR_KERNEL(")); at++) {
        size_t have = strlen((*p)->names), k = strcspn(at + 12, ",)");
        if (have + k + 2 < sizeof(*p)->names) sprintf((*p)->names + have, " %.*s", (int)k, at + 12);
    }
    return 0;
}
int nvrtcCompileProgram(program *p, int n, const char *const *option) {
    char refused[80];
    for (int i = 0; i < n; i++)
        if (!strncmp(option[i], "--gpu-architecture=", 19)) snprintf(p->arch, sizeof p->arch, "%s", option[i] + 19);
    snprintf(refused, sizeof refused, "refuses %s", p->arch);
    if (plays("ends")) abort();
    if (plays(refused)) return 6;
    snprintf(p->made, sizeof p->made, "played code of %zu bytes for %s,%s", p->text_b, p->arch, p->names);
    return 0;
}
int nvrtcGetProgramLogSize(program *p, size_t *n) { return *n = strlen(p->arch) + 30, 0; }
int nvrtcGetProgramLog(program *p, char *to) { return sprintf(to, "line 3: error: not for %s", p->arch) < 0; }
static int is_ptx(const program *p) { return !strncmp(p->arch, "compute_", 8); }
int nvrtcGetCUBINSize(program *p, size_t *n) { return *n = is_ptx(p) ? 0 : strlen(p->made) + 1, 0; }
int nvrtcGetCUBIN(program *p, char *to) { return strcpy(to, p->made), 0; }
int nvrtcGetPTXSize(program *p, size_t *n) { return *n = plays("old") ? 0 : strlen(p->made) + 1, 0; }
int nvrtcGetPTX(program *p, char *to) { return strcpy(to, p->made), 0; }
int nvrtcDestroyProgram(program **p) { return free(*p), *p = NULL, 0; }
