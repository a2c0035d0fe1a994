/* backend/gpu/runtime.c — carries the texts of src/backend/gpu/rt in the library, and takes over texts of the CPU
 * backend that are plain arithmetic: their headers left out, their functions made the device's. */
#include "backend/cpu/cpu.h"
#include "backend/gpu/gpu.h"
#include "base/str.h"

#include <string.h>

#define CARRY(name)                                                                                                    \
    __asm__(".section .rodata\n"                                                                                       \
            ".hidden hn_gpu_rt_" #name "\n"                                                                            \
            ".globl hn_gpu_rt_" #name "\nhn_gpu_rt_" #name ":\n"                                                       \
            ".incbin \"src/backend/gpu/rt/c_" #name ".h\"\n"                                                           \
            ".byte 0\n"                                                                                                \
            ".text\n");                                                                                                \
    extern const char hn_gpu_rt_##name[];

CARRY(opencl)
CARRY(cuda)
CARRY(base)
CARRY(scalar)
CARRY(fold)
CARRY(quantize)
CARRY(attend)

typedef struct part {
    const char *name, *text; /* NULL: the CPU backend's of that name */
    const char *needs;
} part;
/* In an order in which every part stands behind those that it needs. */
static const part parts[] = {
    {"base", hn_gpu_rt_base, ""},
    {"convert", NULL, "base"},
    {"scalar", hn_gpu_rt_scalar, "base"},
    {"fold", hn_gpu_rt_fold, "base scalar"},
    {"philox", NULL, "base"},
    {"order", NULL, "base convert"},
    {"odd", NULL, "base convert order"},
    {"block_decode", NULL, "base"},
    {"quantize", hn_gpu_rt_quantize, "base"},
    {"attend", hn_gpu_rt_attend, "base scalar"},
};
enum { N_PARTS = sizeof parts / sizeof *parts };

/* Sets the bits of the parts named. */
static bool mark(const char *names, uint32_t *wanted) {
    while (*names) {
        size_t n = strcspn(names, " "), i = 0;
        while (n && i < N_PARTS && !(strlen(parts[i].name) == n && !strncmp(parts[i].name, names, n))) i++;
        if (i == N_PARTS) return false;
        if (n) *wanted |= 1u << i;
        names += n + (names[n] == ' ');
    }
    return true;
}

static const char no_further[] = "/* The block of one of 16 columns of a panel";

static bool starts(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

/* A text of the CPU backend in a device's language. */
static void add_adapted(hn_str *out, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n") + 1;
        if (starts(text, "#include")) {
            text += n;
            continue;
        }
        const char *line = text;
        if (starts(line, "#define HN_DEC ")) { /* the prefix of that text's functions */
            hn_str_add(out, "#define HN_DEC HNR\n");
            text += n;
            continue;
        }
        if (starts(line, no_further)) { /* what comes calls by pointers */
            hn_str_add(out, "#endif\n");
            return;
        }
        if (starts(line, "static inline ")) {
            hn_str_add(out, "HNR ");
            line += strlen("static inline ");
        }
        for (; line < text + n; line++) {
            if (starts(line, "memcpy(")) {
                hn_str_add(out, "hnr_bytes(");
                line += strlen("memcpy(") - 1;
            } else if (starts(line, "static const ")) { /* tables in functions */
                hn_str_add(out, "const ");
                line += strlen("static const ") - 1;
            } else {
                hn_str_add_n(out, line, 1);
            }
        }
        text += n;
    }
}

static bool add(hn_str *out, const char *prelude, const char *names) {
    uint32_t wanted = 1;
    if (!mark(names, &wanted)) return false;
    for (size_t i = N_PARTS; i-- > 0;) /* needs stand in front: one walk from the end finds all */
        if (wanted >> i & 1 && !mark(parts[i].needs, &wanted)) return false;
    hn_str_add(out, prelude);
    for (size_t i = 0; i < N_PARTS; i++) {
        if (!(wanted >> i & 1)) continue;
        if (parts[i].text)
            hn_str_add(out, parts[i].text);
        else
            add_adapted(out, hn_runtime_text(parts[i].name));
        hn_str_add(out, "\n");
    }
    return true;
}

bool hn_opencl_add_runtime(hn_str *out, const char *names) { return add(out, hn_gpu_rt_opencl, names); }
bool hn_cuda_add_runtime(hn_str *out, const char *names) { return add(out, hn_gpu_rt_cuda, names); }
