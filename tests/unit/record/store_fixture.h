/* store_fixture.h — a private folder, a session and trials for the tests of the store. */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "tap.h"

#include <hone/record.h>
#include <math.h>
#include <unistd.h>

static char fix_dir[64];

/* In memory where there is such a folder: many of these tests sync. */
static inline const char *fix_make_dir(void) {
    strcpy(fix_dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/hone-store-XXXXXX" : "/tmp/hone-store-XXXXXX");
    return mkdtemp(fix_dir) ? fix_dir : "/nonexistent";
}
static inline void fix_remove_dir(void) { hn_remove_tree(fix_dir, NULL); }

static inline hone_session fix_session(void) {
    return (hone_session){.workload = "softmax",
                          .workload_hash = "w1",
                          .source_hash = "s1",
                          .space_hash = "p1",
                          .space_text = "parameters: {}\n",
                          .machine_hash = "m1",
                          .machine = "Zen 5, 2 cores",
                          .compilers = "[{\"command\":\"gcc\",\"version\":\"12.2\",\"hash\":\"aa\"}]",
                          .objectives = "[{\"expr\":\"p50(latency)\",\"direction\":\"minimize\"}]",
                          .engine = "auto",
                          .seed = 0xfedcba9876543210u};
}

static const hone_sample fix_samples[] = {
    {"latency", "small", 0, 1.25e-3}, {"latency", "small", 1, 1.5e-3}, {"latency", "large", 0, 0.1},
    {"latency", "small", 0, 1.26e-3}, {"code_size", "small", 0, 4096},
};

/* Trial i of a sequence: every field a function of i, so that a reader can check it. */
static inline hone_trial fix_trial(int64_t i, char point[64]) {
    snprintf(point, 64, "{\"x\":%lld}", (long long)i);
    hone_trial t = {.phase = "search",
                    .point = point,
                    .point_hash = (uint64_t)i * 0x9e3779b97f4a7c15u,
                    .object_hash = i % 2 ? "0123456789abcdef0123456789abcdef" : "",
                    .same_as = i % 3 == 0 ? i : 0,
                    .n_objectives = 1,
                    .n_constraints = 1,
                    .origin = "lfbo",
                    .detail = "",
                    .build_s = 0.5,
                    .run_s = 0.25,
                    .at_s = 1.7e9 + (double)i,
                    .n_asked = i + 1,
                    .sample = fix_samples,
                    .n_samples = sizeof fix_samples / sizeof *fix_samples};
    t.outcome.value[0] = 1.0 / (double)(i + 1);
    t.outcome.violation[0] = -1;
    return t;
}

/* Is the stored trial what fix_trial made? */
static inline bool fix_same(const hone_trial *t, int64_t i) {
    char point[64];
    hone_trial w = fix_trial(i, point);
    return !strcmp(t->point, point) && t->point_hash == w.point_hash && !strcmp(t->object_hash, w.object_hash) &&
           t->same_as == w.same_as && t->outcome.value[0] == w.outcome.value[0] && t->n_objectives == 1 &&
           t->n_constraints == 1 && t->at_s == w.at_s && t->n_asked == w.n_asked && !strcmp(t->phase, "search") &&
           !strcmp(t->origin, "lfbo");
}

#endif
