/* target/structure.c — see structure.h. */
#include "target/structure.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tunes =
    "native|generic|haswell|skylake-avx512|icelake-server|sapphirerapids|znver3|znver4|znver5";

/* Is this feature listed with this sign in " +avx2 -xop …"? */
static bool listed(const char *features, char sign, const char *flag) {
    char word[64];
    snprintf(word, sizeof word, " %c%s", sign, flag);
    size_t n = strlen(word);
    for (const char *p = features; (p = strstr(p, word)); p += n)
        if (p[n] == ' ' || !p[n]) return true;
    return false;
}

const char *hn_structure_missing(hn_arena *a, const char *features, const hn_cpu *cpu) {
    bool missing = false;
    hn_str s = {0};
    hn_str_add(&s, "-march=native");
    for (size_t i = 0; i < cpu->n_flags; i++) {
        if (!listed(features, '-', cpu->flag[i])) continue; /* on already, or unknown to the compiler */
        missing = true;
        hn_str_addf(&s, " -m%s", cpu->flag[i]);
    }
    char *text = hn_str_take(&s);
    const char *flags = missing && text ? hn_strdup(a, text) : NULL;
    free(text);
    return flags;
}

void hn_structure_cpuid(hone_target *t) {
    hn_cpu cpu;
    hn_cpu_get(&cpu);
    t->cpuid_flags = hn_structure_missing(&t->arena, t->features, &cpu);
}

static void choice(hn_arena *a, hn_controls *out, const char *name, const char *values, const char *doc) {
    hn_control *c = hn_control_add(a, out, name, doc, HN_CODEGEN);
    if (c) hn_control_values(a, c, values, '|');
}

void hn_structure_add(hone_target *t, hn_arena *a, hn_controls *out, const hn_structure *s) {
    static const char *const march[] = {"native", "native|x86-64", "native|x86-64|x86-64-v2",
                                        "native|x86-64|x86-64-v2|x86-64-v3",
                                        "native|x86-64|x86-64-v2|x86-64-v3|x86-64-v4"};
    hn_cpu cpu;
    hn_cpu_get(&cpu);
    choice(a, out, t->family->level, s->levels, "Optimisation level.");
    const char *archs = hn_format(a, "%s%s", march[cpu.level], t->cpuid_flags ? "|cpuid" : "");
    choice(a, out, t->family->arch, archs ? archs : "native",
           "Instruction sets used: this processor's (cpuid: with those that native leaves out), or an x86-64 level.");
    if (cpu.level && s->tune) choice(a, out, s->tune, tunes, "Processor that instructions are chosen and ordered for.");
    if (cpu.level && s->width)
        choice(a, out, s->width, cpu.wide ? "128|256|512" : "128|256", "Vector width preferred, bits.");
    choice(a, out, "lto", "on", "Link-time optimisation.");
    choice(a, out, "pgo", "on", "Profile-guided optimisation; the build runs the training.");
}
