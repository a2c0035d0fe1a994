/* measure/machine.c — what this machine is, from /proc and /sys. Never fails: unknown is 0, "" or -1. */
#include "base/hash.h"
#include "proc/proc.h"

#include <hone/machine.h>

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* First line of a file without its newline; "" when there is none. */
static void first_line(const char *path, char *out, size_t n) {
    FILE *f = fopen(path, "re");
    out[0] = 0;
    if (!f) return;
    if (!fgets(out, (int)n, f)) out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    fclose(f);
}

static int first_digit(const char *path) {
    char line[16];
    first_line(path, line, sizeof line);
    return isdigit((unsigned char)line[0]) ? line[0] - '0' : -1;
}

/* Value of a "key<sep>value" line, without quotes. Long lines (CPU flags) are hashed as a whole. */
static bool key_value(const char *line, const char *key, char sep, const char **value) {
    size_t n = strlen(key);
    if (strncmp(line, key, n) != 0) return false;
    const char *p = line + n;
    while (*p == ' ' || *p == '\t') p++;
    if (*p != sep) return false;
    p++;
    while (*p == ' ' || *p == '\t' || *p == '"') p++;
    *value = p;
    return true;
}

static void copy_value(char *out, size_t n, const char *value) {
    snprintf(out, n, "%s", value);
    out[strcspn(out, "\"\n")] = 0;
}

struct cpu_facts {
    char flags[33]; /* hash */
    bool hypervisor;
};

/* Besides instruction sets a kernel lists features of its own and of the firmware, which change with updates. */
static bool is_instruction_set(const char *word) {
    static const char *const start[] = {
        "mmx",  "sse",   "ssse",    "pni", "avx", "fma",     "bmi",  "aes",  "vaes", "pclmul", "vpclmul",
        "sha",  "gfni",  "popcnt",  "abm", "adx", "movbe",   "f16c", "amx",  "xop",  "tbm",    "3dnow",
        "neon", "asimd", "atomics", "crc", "fp",  "dotprod", "i8mm", "bf16", "sve",  "sme",    "lse"};
    for (size_t i = 0; i < sizeof start / sizeof *start; i++)
        if (!strncmp(word, start[i], strlen(start[i])))
            return strcmp(word, "fpu") && strcmp(word, "sme"); /* AMD's sme encrypts memory */
    return false;
}

static void hash_features(const char *list, char hex[33]) {
    hn_hash h;
    char word[64];
    int used;
    hn_hash_begin(&h);
    for (; sscanf(list, "%63s%n", word, &used) == 1; list += used)
        if (is_instruction_set(word)) hn_hash_text(&h, word);
    hn_hash_end(&h, hex);
}

static void read_cpuinfo(hone_machine *m, struct cpu_facts *facts) {
    FILE *f = fopen("/proc/cpuinfo", "re");
    char *line = NULL;
    size_t room = 0;
    const char *v;
    while (f && getline(&line, &room, f) > 0 && *line != '\n') { /* the first processor's block */
        if (key_value(line, "model name", ':', &v)) copy_value(m->cpu, sizeof m->cpu, v);
        if (key_value(line, "CPU part", ':', &v) && !*m->cpu) snprintf(m->cpu, sizeof m->cpu, "ARM part %.16s", v);
        if (!key_value(line, "flags", ':', &v) && !key_value(line, "Features", ':', &v)) continue;
        hash_features(v, m->features);
        facts->hypervisor = strstr(v, " hypervisor") != NULL;
        hn_hash h;
        hn_hash_begin(&h);
        hn_hash_text(&h, v);
        hn_hash_end(&h, facts->flags);
    }
    m->cpu[strcspn(m->cpu, "\n")] = 0;
    free(line);
    if (f) fclose(f);
}

static void read_os(hone_machine *m) {
    struct utsname u;
    if (uname(&u) == 0) snprintf(m->kernel, sizeof m->kernel, "%.40s %.80s", u.sysname, u.release);
    if (!*m->cpu && uname(&u) == 0) snprintf(m->cpu, sizeof m->cpu, "%s", u.machine);
    FILE *f = fopen("/etc/os-release", "re");
    char line[512];
    const char *v;
    while (f && fgets(line, sizeof line, f))
        if (key_value(line, "PRETTY_NAME", '=', &v)) copy_value(m->os, sizeof m->os, v);
    if (f) fclose(f);
}

static void read_power(hone_machine *m) {
    first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", m->governor, sizeof m->governor);
    int no_turbo = first_digit("/sys/devices/system/cpu/intel_pstate/no_turbo");
    int boost = first_digit("/sys/devices/system/cpu/cpufreq/boost");
    m->turbo = no_turbo >= 0 ? !no_turbo : boost >= 0 ? boost > 0 : -1;
    int smt = first_digit("/sys/devices/system/cpu/smt/active");
    m->smt = smt >= 0 ? smt > 0 : -1;
}

static void read_counts(hone_machine *m) {
    long online = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page_b = sysconf(_SC_PAGESIZE);
    m->n_cpu = online > 0 ? (int)online : 1;
    cpu_set_t set;
    m->n_usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : m->n_cpu;
    if (pages > 0 && page_b > 0) m->memory_b = (uint64_t)pages * (uint64_t)page_b;
}

/* Memory in whole GiB: firmware and kernel reserve a little more or less of it from boot to boot. */
static void make_hash(hone_machine *m, const struct cpu_facts *facts) {
    hn_hash h;
    uint64_t gib = (m->memory_b + (1u << 29)) >> 30;
    hn_hash_begin(&h);
    hn_hash_text(&h, m->cpu);
    hn_hash_text(&h, facts->flags);
    hn_hash_text(&h, m->kernel);
    hn_hash_add(&h, &gib, sizeof gib);
    hn_hash_end(&h, m->hash);
}

void hone_machine_get(hone_machine *out) {
    hone_machine m = {.turbo = -1, .smt = -1};
    struct cpu_facts facts = {"", false};
    read_cpuinfo(&m, &facts);
    read_os(&m);
    read_power(&m);
    read_counts(&m);
    m.virtual_machine = facts.hypervisor;
    hn_proc_offer offer = hn_proc_offers();
    m.perf_instructions = offer.perf;
    m.rapl = offer.rapl;
    m.callgrind = offer.callgrind;
    m.cgroup = offer.cgroup;
    make_hash(&m, &facts);
    *out = m;
}

bool hone_machine_records_branches(void) { return hn_proc_offers_branches(); }
