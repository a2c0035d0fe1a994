/* What each class of controls must hold and must not: a control in the wrong class changes programs silently. */
#include "target/structure.h"

#include "tap.h"

#include <math.h>

static const struct {
    const char *family, *name;
    bool takes_value;
    hn_class cls;
    unsigned ways;
} cases[] = {
    {"gcc", "-fsingle-precision-constant", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-fassociative-math", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-freciprocal-math", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-ffinite-math-only", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-funsafe-math-optimizations", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-fsigned-zeros", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-ftrapping-math", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-fmath-errno", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-frounding-math", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-fexcess-precision", true, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-fcx-limited-range", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-mrecip", false, HN_NUMERIC, HN_WAY_BOTH},
    {"gcc", "-ffast-math", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-ffp-contract", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-march", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-fgcse", false, HN_CODEGEN, HN_WAY_BOTH},
    {"gcc", "-ftree-vectorize", false, HN_CODEGEN, HN_WAY_BOTH},
    {"gcc", "-fvect-cost-model", true, HN_CODEGEN, HN_WAY_BOTH},
    {"gcc", "-falign-loops", true, HN_CODEGEN, HN_WAY_BOTH},
    {"gcc", "-fstrict-aliasing", false, HN_CODEGEN, HN_WAY_OFF},
    {"gcc", "-fdelete-null-pointer-checks", false, HN_CODEGEN, HN_WAY_OFF},
    {"gcc", "-ffinite-loops", false, HN_CODEGEN, HN_WAY_OFF},
    {"gcc", "-fwrapv", false, HN_CODEGEN, HN_WAY_ON},
    {"gcc", "-ftrapv", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fshort-enums", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fshort-wchar", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fpack-struct", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fpack-struct", true, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fcommon", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fexceptions", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fsanitize", true, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fprofile-arcs", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-finstrument-functions", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fsplit-stack", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fsplit-loops", false, HN_CODEGEN, HN_WAY_BOTH},
    {"gcc", "-fcf-protection", true, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fstack-protector-strong", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fallow-store-data-races", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-ftree-parallelize-loops", true, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-fmerge-all-constants", false, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-ftrivial-auto-var-init", true, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-mfpmath", true, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "-mavx512f", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-msse4.2", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-m32", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-mcmodel", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-mregparm", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-malign-double", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-mstackrealign", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-mnew-and-unknown", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "-fnew-and-unknown", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "--param=new-and-unknown", true, HN_CODEGEN, HN_WAY_BOTH},
    {"gcc", "--param=max-unroll-times", true, HN_CODEGEN, HN_WAY_BOTH},
    {"gcc", "--param=ggc-min-expand", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "--param=analyzer-max-constraints", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "--param=asan-stack", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "--param=lto-partitions", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"gcc", "--param=allow-store-data-races", true, HN_UNSAFE, HN_WAY_BOTH},
    {"gcc", "--param=vect-induction-float", true, HN_NUMERIC, HN_WAY_BOTH},
    {"clang", "pre-RA-sched=linearize", false, HN_UNSAFE, HN_WAY_BOTH},
    {"rustc", "-Cpanic", true, HN_UNSAFE, HN_WAY_BOTH},
    {"rustc", "-Ccodegen-units", true, HN_CODEGEN, HN_WAY_BOTH},
    {"rustc", "-Cllvm-args=regalloc", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"rustc", "-Cnot-known", true, HN_UNSAFE, HN_WAY_BOTH},
    {"clang", "inline-threshold", true, HN_CODEGEN, HN_WAY_BOTH},
    {"clang", "unroll-runtime", false, HN_CODEGEN, HN_WAY_BOTH},
    {"clang", "aarch64-enable-ccmp", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"clang", "asan-stack", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"clang", "print-after-all", false, HN_IRRELEVANT, HN_WAY_BOTH},
    {"clang", "enable-unsafe-fp-math", false, HN_NUMERIC, HN_WAY_BOTH},
    {"clang", "enable-unsafe-globalsmodref-alias-results", false, HN_UNSAFE, HN_WAY_BOTH},
    {"clang", "limit-float-precision", true, HN_UNSAFE, HN_WAY_BOTH},
    {"clang", "fp-contract", true, HN_IRRELEVANT, HN_WAY_BOTH},
    {"clang", "x86-slh-loads", false, HN_UNSAFE, HN_WAY_BOTH},
    {"clang", "scalar-evolution-finite-loop", false, HN_UNSAFE, HN_WAY_BOTH},
    {"clang", "loop-flatten-assume-no-overflow", false, HN_UNSAFE, HN_WAY_BOTH},
    {"clang", "polly-parallel", false, HN_UNSAFE, HN_WAY_BOTH},
};

static const hn_family *family_of(const char *name) {
    for (size_t i = 0; hn_families[i]; i++)
        if (!strcmp(hn_families[i]->name, name)) return hn_families[i];
    return NULL;
}

static void test_glob(void) {
    static const struct {
        const char *pattern, *text;
        bool match;
    } g[] = {{"*", "", true},
             {"*", "abc", true},
             {"a*", "abc", true},
             {"a*c", "abc", true},
             {"a*c", "abd", false},
             {"*b*", "abc", true},
             {"*-debug", "-debug", true},
             {"*-debug", "x-debugs", false},
             {"a*a*a", "aaaa", true},
             {"", "", true},
             {"", "a", false},
             {"abc", "abc", true},
             {"*aab", "aaaaab", true},
             {"a=", "a", false}};
    for (size_t i = 0; i < sizeof g / sizeof *g; i++)
        ok(hn_glob(g[i].pattern, g[i].text) == g[i].match, "classes/glob '%s' '%s'", g[i].pattern, g[i].text);
}

static void test_range(void) {
    static const struct {
        const char *name;
        double lo, hi, dflt, want_lo, want_hi;
    } r[] = {{"printed", 0, 100, 70, 0, 100},         {"printed_wide", 1, 65536, 100, 1, 6400},
             {"unprinted", NAN, NAN, 40, 1, 640},     {"unprinted_small", NAN, NAN, 2, 0, 64},
             {"unknown", NAN, NAN, NAN, 0, 64},       {"minus_one", 0, 64, -1, 0, 64},
             {"huge", NAN, NAN, 4294967295.0, 0, 64}, {"from_two", 2, 65536, 7, 2, 1024}};
    for (size_t i = 0; i < sizeof r / sizeof *r; i++) {
        hn_control c = {0};
        hn_control_range(&c, r[i].lo, r[i].hi, r[i].dflt);
        ok(c.lo == r[i].want_lo && c.hi == r[i].want_hi, "classes/range_%s", r[i].name);
    }
}

static void test_missing_features(void) {
    hn_arena a = {0};
    hn_cpu cpu = {.level = 4, .wide = true, .flag = {"avx2", "avx512f", "avx512vnni"}, .n_flags = 3};
    is_text(hn_structure_missing(&a, " +avx2 -avx512f -avx512vnni -xop", &cpu), "-march=native -mavx512f -mavx512vnni",
            "classes/features_that_native_leaves_out");
    ok(!hn_structure_missing(&a, " +avx2 +avx512f +avx512vnni -avx512er", &cpu), "classes/native_is_complete");
    ok(!hn_structure_missing(&a, " +avx2 +avx512f", &cpu), "classes/features_unknown_to_the_compiler_are_left_out");
    ok(!hn_structure_missing(&a, "", &cpu), "classes/no_features_known");
    hn_arena_free(&a);
}

static void test_cpu(void) {
    hn_cpu cpu;
    hn_cpu_parse(
        "model\t: x\nflags\t\t: lm sse2 cx8 fxsr cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 "
        "f16c fma abm movbe xsave\n\n",
        &cpu);
    ok(cpu.level == 3 && !cpu.wide, "classes/cpu_level_3");
    bool avx2 = false, avx512 = false;
    for (size_t i = 0; i < cpu.n_flags; i++) {
        avx2 |= !strcmp(cpu.flag[i], "avx2");
        avx512 |= !strcmp(cpu.flag[i], "avx512f");
    }
    ok(avx2 && !avx512, "classes/cpu_features");
    hn_cpu_parse("\nflags\t: lm sse2 cx8 fxsr avx512f\n", &cpu);
    ok(cpu.level == 1 && cpu.wide, "classes/cpu_level_needs_all_below");
    hn_cpu_parse("\nFeatures\t: fp asimd\n", &cpu);
    ok(cpu.level == 0 && cpu.n_flags == 0, "classes/cpu_other");
    hn_cpu_parse("", &cpu);
    ok(cpu.level == 0, "classes/cpu_empty");
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_rule r = family_of(cases[i].family)->classify(cases[i].name, cases[i].takes_value);
        if (!ok(r.cls == cases[i].cls && r.ways == cases[i].ways, "classes/%s '%s'", cases[i].family, cases[i].name))
            printf("#   got class %d ways %u by '%s'\n", (int)r.cls, r.ways, r.pattern);
    }
    hone_family_info info;
    for (size_t i = 0; hone_family_at(i, &info); i++)
        ok(hn_families[i]->version == 1 && *info.summary, "classes/family_%s_is_complete", info.name);
    ok(!hone_family_at(99, &info), "classes/family_registry_ends");
    test_glob();
    test_range();
    test_cpu();
    test_missing_features();
    return done_testing();
}
