/* device/device.c — the table: what can be looked up, and its file. */
#include "device/device_int.h"
#include "device/rank.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/yaml.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- looking up ----------------------------------------------------------------------------------------------------
 */

int hn_device_rank(void) {
#if defined(__x86_64__)
    bool has[] = {true, true, true, true, true, true, true, false};
    int rank = 0;
    __builtin_cpu_init();
#define NO(rank, flag)
#define CPU(rank, flag) has[rank] &= __builtin_cpu_supports(flag) != 0;
#if defined(__clang__) && __clang_major__ < 18
#define NEW(rank, flag)
#else
#define NEW(rank, flag) CPU(rank, flag)
#endif
#define HN_CPU(rank, asked, linux, flag) asked(rank, flag)
#include "device/cpu.def"
#undef HN_CPU
#undef NEW
#undef CPU
#undef NO
    while (has[rank + 1]) rank++;
    return rank;
#elif defined(__aarch64__)
    return 1;
#else
    return 0;
#endif
}

typedef struct isa {
    int family, rank;
    const char *name;
    uint32_t vector_b, n_registers;
    bool pairs;
} isa;

static isa best_isa(void) {
    enum { ANY, X86, ARM };
    static const isa known[] = {
#define HN_ISA(family, id, name, rank, vector_b, registers, fma, bytes, pairs, summary)                                \
    {family, rank, name, vector_b, registers, pairs},
#include "device/isa.def"
#undef HN_ISA
    };
#if defined(__x86_64__)
    const int family = X86;
#elif defined(__aarch64__)
    const int family = ARM;
#else
    const int family = ANY;
#endif
    isa best = known[0];
    const int rank = hn_device_rank();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].family == family && known[i].rank <= rank && !known[i].pairs) best = known[i];
    return best;
}

static uint64_t size_or_0(int name) {
    long n = sysconf(name);
    return n > 0 ? (uint64_t)n : 0;
}

/* The first line of a file of a cache's folder in sysfs; "" where there is none. */
static void cache_fact(int index, const char *name, char *out, size_t n) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(out, (int)n, f)) *out = 0;
    if (f) fclose(f);
}

/* Size of a data cache: sysconf's answer, else sysfs's ("48K", "32M"), which knows more on AArch64. */
static uint64_t cache_b(int name, char level) {
    uint64_t size = size_or_0(name);
    for (int i = 0; i < 8 && size == 0; i++) {
        char its[8], type[32], text[32], *end;
        cache_fact(i, "level", its, sizeof its), cache_fact(i, "type", type, sizeof type);
        cache_fact(i, "size", text, sizeof text);
        if (*its != level || *type == 'I') continue;
        size = strtoull(text, &end, 10);
        size *= *end == 'K' ? 1024u : *end == 'M' ? 1048576u : 1u;
    }
    return size;
}

static uint32_t usable_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? (uint32_t)n : 1;
}

void hone_device_detect(hone_device *out) {
    isa best = best_isa();
    hone_device d = {.vector_b = best.vector_b, .n_registers = best.n_registers, .n_cores = usable_cores()};
    snprintf(d.isa, sizeof d.isa, "%s", best.name);
    d.line_b = size_or_0(_SC_LEVEL1_DCACHE_LINESIZE);
    d.l1d_b = cache_b(_SC_LEVEL1_DCACHE_SIZE, '1');
    d.l2_b = cache_b(_SC_LEVEL2_CACHE_SIZE, '2');
    d.l3_b = cache_b(_SC_LEVEL3_CACHE_SIZE, '3');
    d.l1d_ways = (uint32_t)size_or_0(_SC_LEVEL1_DCACHE_ASSOC);
    const uint64_t facts[] = {d.vector_b, d.n_registers, d.line_b, d.l1d_b, d.l2_b, d.l3_b};
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, d.isa);
    hn_hash_add(&h, facts, sizeof facts);
    hn_hash_end(&h, d.key);
    *out = d;
}

/* --- the file ------------------------------------------------------------------------------------------------------
 */

char *hone_device_path(void) {
    char *dir = hn_cache_dir();
    char *path = dir ? hn_path_join(dir, "device.yaml") : NULL;
    free(dir);
    return path;
}

static const struct {
    const char *key;
    size_t at;
    const char *meaning;
    bool may_lack; /* tables of earlier versions do */
} rates[] = {
#define RATE(field, meaning)                                                                                           \
    { #field, offsetof(hone_device, field), meaning, false }
    RATE(f32_flops, "one core, f32 multiply-adds out of registers"),
    RATE(f64_flops, "the same in f64"),
    RATE(bf16_flops, "bf16 dot products, sums in f32"),
    RATE(i8_ops, "u8 by i8 dot products, sums in i32: VNNI, else AVX2 by pairs"),
    RATE(l1_bps, "one core, reading what is in the first-level cache"),
    RATE(l2_bps, "in the second-level cache"),
    {"l3_bps", offsetof(hone_device, l3_bps), "in the third-level cache", true},
    RATE(memory_bps, "in memory"),
    RATE(copy_bps, "one core, memory to memory; read plus written"),
    RATE(all_f32_flops, "all_cores cores together"),
    RATE(all_memory_bps, "all_cores cores together, reading"),
#undef RATE
};
enum { N_RATES = sizeof rates / sizeof *rates };

static double *rate(hone_device *d, size_t i) { return (double *)((char *)d + rates[i].at); }

void hn_device_set(hone_device *d, const char *name, double value) {
    for (size_t i = 0; i < N_RATES; i++)
        if (!strcmp(rates[i].key, name)) *rate(d, i) = value;
    if (!strcmp(name, "all_cores")) d->all_cores = (uint32_t)value;
}

hone_rc hone_device_write(const hone_device *d, const char *path, hone_err *err) {
    hn_str s = {0};
    hone_device copy = *d;
    hn_str_addf(&s, "# What this machine can do at most; written by `hone doctor --measure`. Per second.\n");
    hn_str_addf(&s, "isa: %s\nkey: \"%s\"\nall_cores: %u\n", d->isa, d->key, d->all_cores);
    for (size_t i = 0; i < N_RATES; i++)
        hn_str_addf(&s, "%s: %.4g # %s\n", rates[i].key, *rate(&copy, i), rates[i].meaning);
    char *own = path ? NULL : hone_device_path(), *slash;
    const char *to = path ? path : own;
    hone_rc rc = s.failed || !to ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
    if (!rc && own && (slash = strrchr(own, '/'))) {
        *slash = 0;
        rc = hn_make_dirs(own, err);
        *slash = '/';
    }
    if (!rc) rc = hn_write_file(to, s.text, s.n, err);
    free(own);
    hn_str_free(&s);
    return rc;
}

static hone_rc read_cores(const hn_yaml *doc, const hn_ynode *root, hone_device *d, hone_err *err) {
    const hn_ynode *x = hn_yaml_get(root, "all_cores");
    int64_t n = 0;
    hone_rc rc = x ? hn_yaml_int(doc, x, &n, err) : HONE_OK;
    if (rc) return rc;
    if (n < 0 || n > UINT32_MAX) return hn_yaml_fail(doc, x, err, "'all_cores' is a number of cores");
    d->all_cores = (uint32_t)n;
    return HONE_OK;
}

static hone_rc read_rates(const hn_yaml *doc, const char *path, hone_device *d, hone_err *err) {
    const hn_ynode *root = hn_yaml_root(doc), *key = hn_yaml_get(root, "key");
    if (root->kind != HN_Y_MAP || !key || !key->text)
        return hn_fail(err, HONE_E_INPUT, "'%s' is no device table; `hone doctor --measure` writes one", path);
    if (strcmp(key->text, d->key) != 0)
        return hn_fail(err, HONE_E_MISMATCH, "'%s' was measured on another machine; `hone doctor --measure` renews it",
                       path);
    hone_rc rc = read_cores(doc, root, d, err);
    for (size_t i = 0; i < N_RATES && !rc; i++) {
        const hn_ynode *x = hn_yaml_get(root, rates[i].key);
        if (!x && rates[i].may_lack) continue;
        if (!x)
            return hn_fail(err, HONE_E_INPUT, "'%s' lacks '%s'; `hone doctor --measure` renews it", path, rates[i].key);
        rc = hn_yaml_double(doc, x, rate(d, i), err);
        if (!rc && *rate(d, i) < 0)
            return hn_yaml_fail(doc, x, err, "'%s' is a rate, which is never negative", rates[i].key);
    }
    return rc;
}

hone_rc hone_device_read(const char *path, hone_device *out, hone_err *err) {
    char *own = path ? NULL : hone_device_path();
    const char *from = path ? path : own;
    hone_device d;
    hn_yaml *doc = NULL;
    hone_device_detect(&d);
    hone_rc rc = from ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc && !hn_exists(from))
        rc = hn_fail(err, HONE_E_NOTFOUND, "there is no '%s'; `hone doctor --measure` writes it", from);
    if (!rc) rc = hn_yaml_load(from, &doc, err);
    if (!rc) rc = read_rates(doc, from, &d, err);
    if (doc) hn_yaml_free(doc);
    free(own);
    if (!rc) *out = d;
    return rc;
}

void hone_device_get(hone_device *out) {
    if (hone_device_read(NULL, out, NULL)) hone_device_detect(out);
}
