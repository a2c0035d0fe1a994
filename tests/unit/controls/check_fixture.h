/* tests/unit/controls/check_fixture.h — a workload in a folder of its own, a proof of one of its points, a controls
 * file.
 */
#ifndef CHECK_FIXTURE_H
#define CHECK_FIXTURE_H

#include "base/fs.h"
#include "base/str.h"

#include <hone/check.h>
#include <hone/prove.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct site {
    char dir[64];
} site;

static const char fix_workload[] = "hone: 1\n"
                                   "name: bowl\n"
                                   "sources: [bowl.c, deep]\n"
                                   "build: '{cc} {flags} {defines} bowl.c -o {out}'\n"
                                   "run: '{out} {input} {STEP}'\n"
                                   "controls: false\n"
                                   "compilers: [./mycc]\n"
                                   "baseline: -O3 -march=native\n"
                                   "parameters:\n"
                                   "  TILE: {type: int, range: [0, 9], default: 0}\n"
                                   "  STEP: {type: int, range: [1, 4], default: 1}\n"
                                   "constraints: ['TILE * STEP <= 30']\n"
                                   "inputs:\n"
                                   "  - {name: small, args: n=10, weight: 3}\n"
                                   "  - {name: large, args: n=1000}\n"
                                   "  - {name: odd, args: n=7, held_out: true}\n"
                                   "metrics: {source: lines, names: [cost]}\n"
                                   "objectives: [minimize cost, minimize code_size]\n"
                                   "limits: ['p99(cost) <= 100']\n"
                                   "parity: {rule: rel, tolerance: 1e-5}\n"
                                   "stages: {run: 10 s}\n"
                                   "measure: {repeats: 2, min_time: 50 ms}\n"
                                   "budget: {evaluations: 40}\n";

static inline void put(const site *s, const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    if (hn_write_file(path, text, strlen(text), NULL)) abort();
}

/* A compiler whose bytes and words are ours: a script in front of gcc. */
static inline void put_compiler(const site *s, const char *extra) {
    char text[400], path[200];
    snprintf(text, sizeof text, "#!/bin/sh\n# %s\nexec gcc \"$@\"\n", extra);
    put(s, "mycc", text);
    snprintf(path, sizeof path, "%s/mycc", s->dir);
    if (chmod(path, 0755)) abort();
}

static inline site make_site(void) {
    site s = {"/tmp/hone-check-XXXXXX"};
    char path[200];
    if (!mkdtemp(s.dir)) abort();
    snprintf(path, sizeof path, "%s/deep", s.dir);
    if (hn_make_dirs(path, NULL)) abort();
    put(&s, "bowl.c", "int main(void) { return 0; }\n");
    put(&s, "deep/bowl.h", "#define A 1\n");
    put(&s, "hone.yaml", fix_workload);
    put_compiler(&s, "one");
    return s;
}

static inline hone_prove_options site_options(const site *s, char cache[200]) {
    hone_prove_options o = hone_prove_defaults();
    snprintf(cache, 200, "%s/cache", s->dir);
    o.cache_dir = cache;
    return o;
}

static hone_comparison fix_overall[] = {{.quantity = "median(cost)",
                                         .input = "",
                                         .gain = {1.2, 1.25, 1.3},
                                         .baseline = {100, 1, 2, 3, 4, 5, 3, 1},
                                         .tuned = {100, 1, 2, 2.4, 3, 4, 2.5, 1}},
                                        {.quantity = "code_size", .input = "", .gain = {0.99, 1, 1.01}}};
static hone_comparison fix_by_input[] = {
    {.quantity = "median(cost)", .input = "small", .gain = {1.2, 1.25, 1.3}},
    {.quantity = "median(cost)", .input = "large", .gain = {1.1, 1.15, 1.2}},
    {.quantity = "median(cost)", .input = "odd", .held_out = true, .gain = {1.0, 1.1, 1.2}},
    {.quantity = "code_size", .input = "small", .gain = {1, 1, 1}},
    {.quantity = "code_size", .input = "large", .gain = {1, 1, 1}},
    {.quantity = "code_size", .input = "odd", .held_out = true, .gain = {1, 1, 1}}};

static inline hone_proof fix_proof(void) {
    return (hone_proof){.point = "{\"TILE\":7,\"STEP\":2}",
                        .kept = true,
                        .verdict = "median(cost) is 1.25 times better than the baseline: kept",
                        .n_objectives = 2,
                        .n_inputs = 3,
                        .overall = fix_overall,
                        .by_input = fix_by_input,
                        .n_pairs = 100,
                        .n_variants = 10};
}

/* Writes DIR/bowl.hone and .rsp. */
static inline void make_file(const site *s, hone_controls **out) {
    char path[200], cache[200];
    hone_workload *w;
    hone_err err;
    hone_proof proof = fix_proof();
    hone_prove_options o = site_options(s, cache);
    if (chdir(s->dir)) abort();
    hone_rc rc = hone_workload_load("hone.yaml", &w, &err);
    if (!rc) rc = hone_controls_make(w, &proof, NULL, 0, s->dir, &o, out, &err);
    snprintf(path, sizeof path, "%s/bowl.hone", s->dir);
    if (!rc) rc = hone_controls_write(*out, path, &err);
    if (rc) printf("Bail out! %s\n", err.text), exit(1);
    hone_workload_free(w);
}

#endif
