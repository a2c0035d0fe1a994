/* tests/unit/target/compiler.h — a real compiler: its space, random points of it, and what they do to results. */
#ifndef HN_COMPILER_H
#define HN_COMPILER_H

#include "fake.h"

#include "tap.h"

#include <math.h>

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* pgo_generate and pgo_use are formats by contract */

enum { N_POINTS = 20, N_POINTS_SHORT = 3 };

/* Floating point in every shape whose result a careless transformation changes; prints bits. */
static const char numeric_program[] =
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "static double x[1000], y[1000]; static float a[64][64], b[64][64], c[64][64];\n"
    "static int table[256]; static unsigned char text[5000];\n"
    "static double sum(const double *v, int n) { double s = 0; for (int i = 0; i < n; i++) s += v[i]; return s; }\n"
    "static float dot(const float *v, const float *w, int n) { float s = 0; for (int i = 0; i < n; i++) s += v[i] * "
    "w[i]; "
    "return s; }\n"
    "static double horner(double t) { double s = 0.1; for (int i = 0; i < 9; i++) s = s * t + 0.3; return s; }\n"
    "static int step(int op, int p, int q) { switch (op) { case 0: return p + q; case 1: return p - q; case 2: return "
    "p ^ q;"
    " case 3: return q ? p % q : 7; case 4: return p << (q & 3); case 5: return p & q; default: return op; } }\n"
    "static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
    "struct pair { short k; double v; };\n"
    "static struct pair pairs[100];\n"
    "static void sort(struct pair *p, int n) { for (int i = 1; i < n; i++) { struct pair t = p[i]; int j = i; while (j "
    "> 0 && "
    "p[j - 1].v > t.v) { p[j] = p[j - 1]; j--; } p[j] = t; } }\n"
    "static void bits(const char *name, double v) { unsigned long long u; memcpy(&u, &v, 8); printf(\"%s %016llx\\n\", "
    "name, u); "
    "}\n"
    "int main(void) {\n"
    "  for (int i = 0; i < 1000; i++) { x[i] = 1.0 / (i + 1); y[i] = i % 7 ? x[i] * 1e-3 : -1e5 * x[i]; }\n"
    "  for (int i = 0; i < 64; i++) for (int j = 0; j < 64; j++) { a[i][j] = 0.1f * (float)(i + j); b[i][j] = 1.0f / "
    "(float)(1 + "
    "i + j); }\n"
    "  for (int i = 0; i < 64; i++) for (int j = 0; j < 64; j++) { float s = 0; for (int k = 0; k < 64; k++) s += "
    "a[i][k] * "
    "b[k][j]; c[i][j] = s; }\n"
    "  for (int i = 0; i < 5000; i++) text[i] = (unsigned char)(i * 37 + i / 11);\n"
    "  for (int i = 0; i < 5000; i++) table[text[i]]++;\n"
    "  for (int i = 0; i < 100; i++) { pairs[i].k = (short)i; pairs[i].v = x[(i * 37) % 100] * y[i]; }\n"
    "  sort(pairs, 100);\n"
    "  unsigned h = 5381; for (int i = 0; i < 5000; i++) h = h * 33 ^ text[i];\n"
    "  int acc = 1; for (int i = 0; i < 4999; i++) acc = step(text[i] % 7, acc & 0xffff, text[i + 1]);\n"
    "  bits(\"sum\", sum(x, 1000)); bits(\"sum2\", sum(y, 1000)); bits(\"dot\", dot(a[3], b[5], 64));\n"
    "  bits(\"c\", c[17][33]); bits(\"c2\", c[63][0]); bits(\"horner\", horner(0.7));\n"
    "  double z = 0; for (int i = 0; i < 1000; i++) z = z / 3.0 + x[i] * y[i] - y[999 - i] / (x[i] + 2); bits(\"z\", "
    "z);\n"
    "  bits(\"neg\", -0.0 * x[1]); bits(\"div\", x[2] / x[6]); bits(\"pair\", pairs[50].v + pairs[50].k);\n"
    "  printf(\"%u %d %d %d %d\\n\", h, acc, fib(15), table[3], pairs[7].k);\n"
    "  return 0;\n}\n";

/* What is compiled, and how the family writes what the tests need. */
typedef struct subject {
    const char *file, *program, *quiet; /* quiet: words without which warnings are printed */
    const char *plain;                  /* a response file: no optimisation, strict floating point */
    const char *level, *arch;           /* genes */
    const char *crash; /* what a compiler prints that fails on a combination of its options: such a point is refused */
} subject;
static const subject in_c = {"program.c", numeric_program, "-w", "-O0\n-ffp-contract=off\n", "-O", "-march", NULL};

static inline char *shell(const char *command) {
    size_t n = 0, room = 1 << 16;
    char *out = calloc(1, room);
    FILE *p = out ? popen(command, "r") : NULL;
    if (!p) exit(99);
    for (size_t got; n + 1 < room && (got = fread(out + n, 1, room - n - 1, p)) > 0;) n += got;
    if (pclose(p) != 0 && n + 10 < room) strcat(out, "[failed]");
    return out;
}

/* Compiles and runs the program with these flags (a response file's text). */
static inline char *result_of(const subject *of, const char *compiler, const char *rsp) {
    char command[2000], dir[200];
    snprintf(dir, sizeof dir, "%s", fake_dir);
    fake_file(of->file, of->program, 0644);
    fake_file("flags.rsp", rsp, 0644);
    snprintf(command, sizeof command,
             "cd %s && timeout 240 %s %s @flags.rsp %s -o program 2>&1 && timeout 20 ./program 2>&1", dir, compiler,
             of->quiet, of->file);
    return shell(command);
}

static inline void random_points(const subject *of, size_t n, hone_target *t, const hone_space *space,
                                 const char *compiler, const char *want) {
    double *point = calloc(hone_space_slots(space) + 1, sizeof *point);
    for (unsigned seed = 0; seed < n; seed++) {
        hone_command c;
        hone_err err = {0};
        char *rsp = NULL;
        if (hone_space_sample(space, seed, true, point, &err) ||
            hone_target_render(t, space, NULL, point, HONE_FP_STRICT, &c, &err) || hone_command_rsp(&c, &rsp, &err)) {
            ok(0, "compiler/%s_point seed %u: %s", compiler, seed, err.text);
            continue;
        }
        char *got = result_of(of, compiler, rsp);
        bool crashed = of->crash && strstr(got, of->crash);
        if (crashed) skip(1, "%s: the compiler itself crashes on the point of seed %u", compiler, seed);
        if (!crashed &&
            !ok(!strcmp(got, want), "compiler/%s_strict_point_gives_the_result_of_O0 (seed %u)", compiler, seed))
            printf("# %.500s\n", got);
        free(got);
        free(rsp);
        hone_command_free(&c);
    }
    free(point);
}

static inline void rule_seeds(const subject *of, hone_target *t, const hone_space *space, const char *compiler,
                              const char *want) {
    double *points;
    size_t n;
    if (!ok(!hone_target_seeds(t, space, &points, &n, NULL), "compiler/%s_makes_rule_seeds", compiler)) return;
    ok(n >= 8 && n <= 20, "compiler/%s_has_rule_seeds (%zu)", compiler, n);
    for (size_t i = 0; i < n; i++) {
        hone_command c;
        char *rsp;
        const double *point = points + i * hone_space_slots(space);
        if (hone_target_render(t, space, NULL, point, HONE_FP_STRICT, &c, NULL) || hone_command_rsp(&c, &rsp, NULL))
            exit(99);
        char *got = result_of(of, compiler, rsp);
        ok(hone_point_legal(space, point, NULL) && !strcmp(got, want), "compiler/%s_rule_seed %zu", compiler, i);
        free(got);
        free(rsp);
        hone_command_free(&c);
    }
    hone_free(points);
}

/* What was learned comes first and excludes nothing. */
static inline void seeds_for_size(hone_target *t, const hone_space *space, const char *compiler) {
    double *rule = NULL, *small = NULL, *other = NULL;
    size_t n = 0, n_small = 0, n_other = 0, slots = hone_space_slots(space);
    bool fine = !hone_target_seeds(t, space, &rule, &n, NULL) &&
                !hone_target_seeds_for(t, space, HONE_SMALL, &small, &n_small, NULL) &&
                !hone_target_seeds_for(t, space, "beauty", &other, &n_other, NULL);
    ok(fine && n_small >= n && n_small <= n + 3 &&
           !memcmp(small + (n_small - n) * slots, rule, n * slots * sizeof *rule),
       "compiler/%s_learned_seeds_come_first_and_exclude_nothing (%zu)", compiler, n_small - n);
    ok(fine && n_other == n && !memcmp(other, rule, n * slots * sizeof *rule),
       "compiler/%s_nothing_was_learned_for_an_unknown_objective", compiler);
    hone_free(rule);
    hone_free(small);
    hone_free(other);
}

/* Profile-guided and link-time optimisation, where offered: build, train, merge, build again, run. */
static inline void pgo_and_lto(const subject *of, hone_target *t, const char *compiler, const char *want) {
    hone_space *space;
    hone_target_options options = {.size = sizeof(hone_target_options), .pgo = true, .lto = true};
    if (!ok(!hone_target_space(t, &options, &space, NULL), "compiler/%s_with_pgo_and_lto", compiler)) return;
    double *point = calloc(hone_space_slots(space) + 1, sizeof *point);
    hone_space_default(space, point);
    size_t lto = hone_space_find(space, "lto"), pgo = hone_space_find(space, "pgo");
    if (lto != SIZE_MAX) point[hone_space_param(space, lto)->slot] = 1;
    if (pgo != SIZE_MAX) point[hone_space_param(space, pgo)->slot] = 1;
    hone_command c;
    hone_err err = {0};
    char *rsp, flags[4000], dir[300], one[400];
    if (hone_target_render(t, space, NULL, point, HONE_FP_STRICT, &c, &err) || hone_command_rsp(&c, &rsp, &err))
        exit(99);
    snprintf(dir, sizeof dir, "%s/profile", fake_dir);
    for (int use = 0; use < (c.pgo ? 2 : 1); use++) {
        snprintf(one, sizeof one, use ? c.pgo_use : c.pgo_generate, dir);
        snprintf(flags, sizeof flags, "%s%s%s", rsp, c.pgo ? one : "", c.pgo ? "\n" : "");
        char *got = result_of(of, compiler, flags);
        if (!ok(!strcmp(got, want), "compiler/%s_%s_lto_%s", compiler, use ? "profile_use" : "profile_generate",
                lto != SIZE_MAX ? "on" : "off"))
            printf("# %.500s\n", got);
        free(got);
        if (!use && c.pgo && !ok(!hone_target_profile_merge(t, dir, &err), "compiler/%s_profile_merge", compiler))
            printf("# %s\n", err.text);
    }
    snprintf(one, sizeof one, "%s/cache", fake_dir); /* a folder without profiles */
    hone_rc rc = hone_target_profile_merge(t, one, &err);
    ok(rc == (strstr(compiler, "clang") && c.pgo ? HONE_E_NOTFOUND : rc), "compiler/%s_no_profile", compiler);
    hone_command_free(&c);
    free(rsp);
    free(point);
    hone_space_free(space);
}

static inline bool has(const hone_space *space, const char *name) { return hone_space_find(space, name) != SIZE_MAX; }

/* Opens, probes, checks counts and members; returns the exit status of the test program. */
static inline int test_compiler(const subject *of, const char *compiler, const char *cache, size_t at_least,
                                size_t at_most, size_t discovered, const char *must) {
    hone_target *t = NULL;
    hone_space *space = NULL;
    hone_err err = {0};
    hone_target_options options = hone_target_defaults();
    hone_target_stats stats;
    fake_begin();
    hone_rc rc = hone_target_open(compiler, cache ? cache : fake_cache(), &t, &err);
    if (rc) {
        skip(1, "%s: %s", compiler, err.text);
        fake_end();
        return done_testing();
    }
    if (ok(!hone_target_space(t, &options, &space, &err), "compiler/%s_gives_a_space", compiler)) {
        hone_target_get_stats(t, &stats);
        ok(stats.n_discovered >= discovered, "compiler/%s_discovers_enough (%zu)", compiler, stats.n_discovered);
        ok(stats.n_offered >= at_least && stats.n_offered <= at_most, "compiler/%s_offers_what_it_should (%zu)",
           compiler, stats.n_offered);
        ok(has(space, of->level) && has(space, of->arch) && has(space, must), "compiler/%s_has_the_main_genes",
           compiler);
        ok(!has(space, "-fsingle-precision-constant") && !has(space, "-ffast-math") && !has(space, "lto"),
           "compiler/%s_offers_nothing_unasked", compiler);
        char *want = result_of(of, compiler, of->plain);
        ok(strstr(want, "sum ") && !strstr(want, "failed"), "compiler/%s_compiles_the_program", compiler);
        rule_seeds(of, t, space, compiler, want);
        seeds_for_size(t, space, compiler);
        pgo_and_lto(of, t, compiler, want);
        random_points(of, getenv("HONE_LONG") ? N_POINTS : N_POINTS_SHORT, t, space, compiler, want);
        free(want);
    } else {
        printf("#   %s\n", err.text);
    }
    hone_space_free(space);
    hone_target_close(t);
    fake_end();
    return done_testing();
}

#endif
