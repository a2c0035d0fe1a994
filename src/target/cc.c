/* target/cc.c — see cc.h. */
#include "target/cc.h"

#include "target/llvm.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- words -------------------------------------------------------------------------------------------------------- */

/* -fNAME, -mNAME  on: as is; off: -fno-NAME; another value: NAME=VALUE.   --param=NAME  --param=NAME=VALUE.
 * -mllvm=NAME  -mllvm -NAME=VALUE.   -O  -OVALUE. */
void hn_cc_spell(hn_flags *f, const hone_target *t, const char *name, const char *value) {
    bool on = !strcmp(value, "on"), off = !strcmp(value, "off");
    if (!strcmp(name, "-O"))
        hn_flags_add(f, hn_format(f->a, "-O%s", value));
    else if (!strcmp(name, "-march") && !strcmp(value, "cpuid"))
        hn_flags_words(f, t->cpuid_flags ? t->cpuid_flags : "-march=native");
    else if (!strncmp(name, "-mllvm=", 7)) {
        hn_flags_add(f, "-mllvm");
        hn_flags_add(f, hn_format(f->a, "-%s=%s", name + 7, value));
        if (hn_llvm_companion(name + 7)) hn_flags_words(f, "-mllvm"), hn_flags_add(f, hn_llvm_companion(name + 7));
    } else if (!strncmp(name, "--param=", 8) || (!on && !off))
        hn_flags_add(f, hn_format(f->a, "%s=%s", name, value));
    else if (on)
        hn_flags_add(f, hn_strdup(f->a, name));
    else
        hn_flags_add(f, hn_format(f->a, "-%cno-%s", name[1], name + 2));
}

static const char contract_words[] = "-ffast-math|-fno-fast-math|-Ofast|-ffp-contract=*";

/* The code may need them. */
static const char promises[] =
    "-fno-strict-aliasing|-fno-ipa-strict-aliasing|-fwrapv|-fwrapv-pointer|-fno-strict-overflow|"
    "-fno-delete-null-pointer-checks|-fno-finite-loops|-funconstrained-commons|-fno-strict-float-cast-overflow|"
    "-fno-builtin|-fno-tree-builtin-call-dce";

/* -O3: "-O" = 3;  -march=x: "-march" = x;  -fno-y: "-fy" = off;  -fy: on;  --param=z=1: "--param=z" = 1. */
void hn_cc_read(const hone_target *t, const char *const *word, size_t n, hn_said *out) {
    const char *w = *word, *eq = strrchr(w, '='), *value = "on";
    (void)t, (void)n;
    *out = (hn_said){.n_words = 1, .level = !strncmp(w, "-O", 2)};
    out->contract = hn_matches(contract_words, w);
    out->promise = hn_matches(promises, w);
    int len = (int)strlen(w);
    if (out->level)
        value = w[2] ? w + 2 : "1", len = 2;
    else if (eq)
        value = eq + 1, len = (int)(eq - w);
    else if (!strncmp(w, "-fno-", 5) || !strncmp(w, "-mno-", 5)) {
        snprintf(out->name, sizeof out->name, "-%c%s", w[1], w + 5);
        value = "off";
    }
    if (!*out->name) snprintf(out->name, sizeof out->name, "%.*s", len, w);
    snprintf(out->value, sizeof out->value, "%s", value);
}

void hn_cc_define(hn_str *out, const char *name, const char *value) { hn_str_addf(out, "-D%s=%s", name, value); }

void hn_cc_place(hn_flags *f, const hn_placing *how) {
    if (how->align) hn_flags_add(f, hn_format(f->a, "-falign-functions=%u", how->align));
    if (how->sections) hn_flags_add(f, "-ffunction-sections");
    if (how->script) hn_flags_add(f, hn_format(f->a, "-Wl,-T,%s", how->script));
}

/* --- floating point ----------------------------------------------------------------------------------------------- */

const char *const hn_cc_strict[] = {"-ffp-contract=off", NULL};
const char *const hn_cc_contracted[] = {"-ffp-contract=fast", NULL};
const char *const hn_cc_fast[] = {"-ffast-math", "-ffp-contract=fast", NULL};

/* Both compilers promise the same of these: functions set no errno; flags may differ and code may assume that nothing
 * traps. Neither allows another value (-fno-trapping-math asks for -fno-signaling-nans, the default of both). */
const hn_unread hn_cc_unread[] = {
    {"-fmath-errno", "off", HONE_UNREAD_ERRNO, "errno"}, {"-ftrapping-math", "off", HONE_UNREAD_FENV, "trap"}, {0}};

static bool has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || isspace((unsigned char)at[-1])) && (!at[n] || isspace((unsigned char)at[n]))) return true;
    return false;
}

/* What the flags say; else the compiler's own default: contraction on, but off in gcc's ISO modes. */
hone_fp hn_cc_contract(const char *baseline, const char *build, bool iso_is_strict) {
    if (has_word(baseline, "-ffast-math") || has_word(baseline, "-Ofast")) return HONE_FP_FAST;
    if (has_word(baseline, "-ffp-contract=off")) return HONE_FP_STRICT;
    if (has_word(baseline, "-ffp-contract=fast") || has_word(baseline, "-ffp-contract=on")) return HONE_FP_CONTRACT;
    bool iso = strstr(build, "-std=c") || strstr(baseline, "-std=c");
    return iso && iso_is_strict ? HONE_FP_STRICT : HONE_FP_CONTRACT;
}

/* --- languages, probing ------------------------------------------------------------------------------------------- */

/* What people try by hand. */
const char *const hn_cc_levels[] = {"-O 3; -march native", "-O 2; -march native", "-O s; -march native",
                                    "-O 1; -march native", NULL};

const hn_structure hn_cc_structure = {"1|2|3|s|z", "-mtune", "-mprefer-vector-width"};

const hn_language hn_language_c = {".c|.s|.S", "gcc", true, " -lm", " -pthread", " -fopenmp", NULL, "", false};
const hn_language hn_language_cxx = {".cc|.cpp|.cxx|.C", "g++", true, " -lm", " -pthread",
                                     " -fopenmp",        NULL,  "",   false};

/* Loops over integers and floats, calls, recursion, a switch, strings, structures: every kind of pass has code to work
 * on. */
static const char source[] =
#include "target/probe_source.inc"
    ;
const hn_probe_program hn_cc_probe = {".c", source, "-c", hn_is_elf_object};
