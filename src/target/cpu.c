/* target/cpu.c — what this processor and its kernel can run, from /proc/cpuinfo: unlike CPUID it lists only what the
 * kernel saves and restores. Levels: System V ABI for x86-64, section 3.1.1 (microarchitecture levels). */
#include "base/fs.h"
#include "target/target_int.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    int rank;
    const char *feature, *flag;
} known[] = {
#define HN_CPU(rank, asked, linux, flag) {rank, linux, flag},
#include "device/cpu.def"
#undef HN_CPU
};
enum { N_KNOWN = sizeof known / sizeof *known, LEVELS = 4 };
_Static_assert(N_KNOWN <= sizeof((hn_cpu *)0)->flag / sizeof(char *), "hn_cpu.flag holds every row");

static bool has_word(const char *line, size_t n, const char *word) {
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= n; i++)
        if (!memcmp(line + i, word, len) && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t') &&
            (i + len == n || line[i + len] == ' '))
            return true;
    return false;
}

void hn_cpu_parse(const char *cpuinfo, hn_cpu *out) {
    bool has[LEVELS + 2] = {true, true, true, true, true};
    memset(out, 0, sizeof *out);
    const char *line = strstr(cpuinfo, "\nflags");
    if (!line) return;
    line += 6;
    size_t n = strcspn(line, "\n");
    for (size_t i = 0; i < N_KNOWN; i++) {
        bool offered = has_word(line, n, known[i].feature);
        if (known[i].rank <= LEVELS && known[i].rank) has[known[i].rank] &= offered;
        if (offered && known[i].flag) out->flag[out->n_flags++] = known[i].flag;
    }
    while (has[out->level + 1]) out->level++;
    out->wide = has_word(line, n, "avx512f");
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
