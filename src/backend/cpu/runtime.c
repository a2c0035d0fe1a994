/* backend/cpu/runtime.c — carries the texts of src/backend/cpu/rt, src/ir/philox.h and src/ir/block_decode.h in the
 * library (paths: from the root, where the Makefile runs the compiler), and knows which needs which. */
#include "backend/cpu/cpu.h"
#include "base/str.h"

#include <string.h>

#define CARRY(name, path)                                                                                              \
    __asm__(".section .rodata\n"                                                                                       \
            ".hidden hn_rt_" #name "\n"                                                                                \
            ".globl hn_rt_" #name "\nhn_rt_" #name ":\n"                                                               \
            ".incbin \"" path "\"\n"                                                                                   \
            ".byte 0\n"                                                                                                \
            ".text\n");                                                                                                \
    extern const char hn_rt_##name[];

CARRY(base, "src/backend/cpu/rt/base.h")
CARRY(convert, "src/backend/cpu/rt/convert.h")
CARRY(scalar, "src/backend/cpu/rt/scalar.h")
CARRY(philox, "src/ir/philox.h")
CARRY(block_decode, "src/ir/block_decode.h")
CARRY(lanes, "src/backend/cpu/rt/lanes.h")
CARRY(unpack, "src/backend/cpu/rt/unpack.h")
CARRY(packed, "src/backend/cpu/rt/packed.h")
CARRY(quantize, "src/backend/cpu/rt/quantize.h")
CARRY(order, "src/backend/cpu/rt/order.h")
CARRY(odd, "src/backend/cpu/rt/odd.h")
CARRY(attend, "src/backend/cpu/rt/attend.h")
CARRY(winograd, "src/backend/cpu/rt/winograd.h")
CARRY(pool, "src/backend/cpu/rt/pool.h")
CARRY(math_base, "src/backend/cpu/rt/math_base.h")
CARRY(math_root, "src/backend/cpu/rt/math_root.h")
CARRY(math_exp, "src/backend/cpu/rt/math_exp.h")
CARRY(math_log, "src/backend/cpu/rt/math_log.h")
CARRY(math_sin, "src/backend/cpu/rt/math_sin.h")
CARRY(math_erf, "src/backend/cpu/rt/math_erf.h")
CARRY(math_wide, "src/backend/cpu/rt/math_wide.h")
CARRY(math_pow, "src/backend/cpu/rt/math_pow.h")

typedef struct part {
    const char *name, *text, *needs;
} part;
/* In an order in which every part stands behind those that it needs. */
static const part parts[] = {
    {"base", hn_rt_base, ""},
    {"convert", hn_rt_convert, "base"},
    {"scalar", hn_rt_scalar, "base convert"},
    {"philox", hn_rt_philox, ""},
    {"order", hn_rt_order, "base convert"},
    {"odd", hn_rt_odd, "base convert order"},
    {"pool", hn_rt_pool, "base"},
    {"lanes", hn_rt_lanes, "base"},
    {"attend", hn_rt_attend, "base convert lanes"},
    {"winograd", hn_rt_winograd, "base lanes"},
    {"block_decode", hn_rt_block_decode, ""},
    {"unpack", hn_rt_unpack, "base lanes"},
    {"packed", hn_rt_packed, "base lanes unpack"},
    {"quantize", hn_rt_quantize, "base lanes"},
};
/* Written once per vector width, by nest_c_math.c. */
static const part by_width[] = {
    {"math_base", hn_rt_math_base, ""}, {"math_root", hn_rt_math_root, ""}, {"math_exp", hn_rt_math_exp, ""},
    {"math_log", hn_rt_math_log, ""},   {"math_sin", hn_rt_math_sin, ""},   {"math_erf", hn_rt_math_erf, ""},
    {"math_wide", hn_rt_math_wide, ""}, {"math_pow", hn_rt_math_pow, ""},
};
enum { N_PARTS = sizeof parts / sizeof *parts, N_BY_WIDTH = sizeof by_width / sizeof *by_width };

static const part *part_named(const char *name, size_t n) {
    for (size_t i = 0; i < N_PARTS; i++)
        if (strlen(parts[i].name) == n && !strncmp(parts[i].name, name, n)) return &parts[i];
    return NULL;
}

const char *hn_runtime_text(const char *name) {
    const part *p = part_named(name, strlen(name));
    for (size_t i = 0; i < N_BY_WIDTH && !p; i++)
        if (!strcmp(by_width[i].name, name)) p = &by_width[i];
    return p ? p->text : NULL;
}

/* Sets the bits of the parts named. */
static bool mark(const char *names, uint32_t *wanted) {
    while (*names) {
        size_t n = strcspn(names, " ");
        const part *p = n ? part_named(names, n) : NULL;
        if (n && !p) return false;
        if (p) *wanted |= 1u << (p - parts);
        names += n + (names[n] == ' ');
    }
    return true;
}

bool hn_cpu_add_runtime(hn_str *out, const char *names) {
    uint32_t wanted = 0;
    if (!mark(names, &wanted)) return false;
    for (size_t i = N_PARTS; i-- > 0;) /* needs stand in front: one walk from the end finds all */
        if (wanted >> i & 1 && !mark(parts[i].needs, &wanted)) return false;
    for (size_t i = 0; i < N_PARTS; i++) {
        if (!(wanted >> i & 1)) continue;
        hn_str_add(out, parts[i].text);
        hn_str_add(out, "\n");
    }
    return true;
}
