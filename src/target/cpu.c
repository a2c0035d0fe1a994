/* target/cpu.c — what this processor and its kernel can run, from /proc/cpuinfo: unlike CPUID it lists only what the
 * kernel saves and restores. Levels: System V ABI for x86-64, section 3.1.1 (microarchitecture levels). */
#include "base/fs.h"
#include "target/target_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *feature, *flag;
} isa[] = {
#define HN_ISA(feature, flag) {feature, flag},
#include "target/cpu_isa.def"
#undef HN_ISA
};
_Static_assert(sizeof isa / sizeof *isa <= sizeof((hn_cpu *)0)->flag / sizeof(char *), "hn_cpu.flag holds every row");

static bool has_word(const char *line, size_t n, const char *word) {
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= n; i++)
        if (!memcmp(line + i, word, len) && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t') &&
            (i + len == n || line[i + len] == ' '))
            return true;
    return false;
}

static bool has_all(const char *line, size_t n, const char *words) {
    char word[32];
    for (int used; sscanf(words, "%31s%n", word, &used) == 1; words += used)
        if (!has_word(line, n, word)) return false;
    return true;
}

void hn_cpu_parse(const char *cpuinfo, hn_cpu *out) {
    static const char *const level[] = {"lm sse2 cx8 fxsr", "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3",
                                        "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
                                        "avx512f avx512bw avx512cd avx512dq avx512vl"};
    memset(out, 0, sizeof *out);
    const char *line = strstr(cpuinfo, "\nflags");
    if (!line) return;
    line += 6;
    size_t n = strcspn(line, "\n");
    while (out->level < 4 && has_all(line, n, level[out->level])) out->level++;
    out->wide = has_word(line, n, "avx512f");
    for (size_t i = 0; i < sizeof isa / sizeof *isa; i++)
        if (has_word(line, n, isa[i].feature)) out->flag[out->n_flags++] = isa[i].flag;
}

void hn_cpu_get(hn_cpu *out) {
    memset(out, 0, sizeof *out);
#if defined(__x86_64__)
    char *text;
    size_t n;
    if (hn_read_file("/proc/cpuinfo", &text, &n, NULL) != HONE_OK) return;
    hn_cpu_parse(text, out);
    free(text);
#endif
}
