/* report_store DIR KIND: a record as hone writes it, made up, for the tests of reports and plots. Deterministic.
 *
 * KIND: kept (60 evaluations, failures, a race, a kept validation, the controls file DIR/kernel.hone), pair (two
 * objectives, no validation), signed (values below 0, which have no ratio), hostile (every text tries to break out),
 * rejected, empty (nothing was measured). The record is DIR/.hone. */
#include "base/fs.h"
#include "record/proofs.h"

#include <hone/prove.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVIL "</script><img src=x onerror=alert(1)>\"'<!--<script>\xe2\x80\xa8&amp;\x1b[31m"
#define EVIL_BYTES EVIL "\xff"

typedef struct making {
    hone_store *store;
    hone_session session;
    const char *kind, *dir;
    size_t n_goals;
    hone_err err;
} making;

static bool is(const making *m, const char *kind) { return !strcmp(m->kind, kind); }

/* 0 … 1, the same for the same i */
static double shuffled(unsigned i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    return (double)((x ^ (x >> 27)) >> 11) / 0x1p53;
}

static const char *objectives(const making *m) {
    if (is(m, "pair"))
        return "[{\"expr\":\"p50(latency)\",\"direction\":\"minimize\"},"
               "{\"expr\":\"code_size\",\"direction\":\"minimize\"}]";
    if (is(m, "signed")) return "[{\"expr\":\"score\",\"direction\":\"maximize\"}]";
    if (is(m, "hostile")) return "[{\"expr\":\"p50(</script><b>latency)\",\"direction\":\"minimize\"}]";
    return "[{\"expr\":\"p50(latency)\",\"direction\":\"minimize\"}]";
}

static void begin(making *m) {
    bool evil = is(m, "hostile");
    m->n_goals = is(m, "pair") ? 2 : 1;
    m->session = (hone_session){
        .workload = evil ? "kernel " EVIL_BYTES : "kernel",
        .workload_hash = "0123456789abcdef0123456789abcdef",
        .source_hash = "11112222333344445555666677778888",
        .space_hash = "aaaabbbbccccddddeeeeffff00001111",
        .space_text = "parameters: {}\n",
        .machine_hash = "99998888777766665555444433332222",
        .machine = evil ? "CPU " EVIL_BYTES : "Test CPU, 2 cores, 4.0 GiB, Linux 6.1",
        .compilers = evil ? "[{\"version\":\"gcc </script><script>alert(2)</script>\"}]"
                          : "[{\"family\":\"gcc\",\"command\":\"gcc\",\"path\":\"/usr/bin/gcc\",\"version\":\"gcc "
                            "12.2.0\",\"hash\":\"abcd\",\"march\":\"znver5\"}]",
        .objectives = objectives(m),
        .engine = "auto",
        .seed = 18446744073709551615u,
        .state = "running",
        .started_s = 1.7e9,
        .version = HONE_VERSION,
    };
}

/* --- trials --------------------------------------------------------------------------------------------------------
 */

static size_t samples(const making *m, double ratio, hone_sample *s) {
    static const char *const input[] = {"small", "large", "odd"};
    static const double base[] = {1e-3, 0.25, 4e-5};
    const char *metric = is(m, "hostile") ? "</script><b>latency" : "latency";
    size_t n = 0;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 40; k++) {
            const char *name = is(m, "hostile") && !i ? EVIL_BYTES : input[i];
            double u = shuffled(100 * i + k) - 0.3, v = shuffled(1000 + 100 * i + k) - 0.2;
            s[n++] = (hone_sample){metric, name, 1, base[i] * (1 + 0.1 * u)};
            s[n++] = (hone_sample){metric, name, 0, base[i] * ratio * (1 + 0.08 * v)};
        }
    return n;
}

/* How the i-th evaluation compares with the baseline: slowly better, with the odd one far off. */
static double ratio_of(unsigned i) {
    double luck = shuffled(i);
    return luck > 0.93 ? 3 + 4 * luck : 1.15 - 0.004 * i + 0.3 * (luck - 0.5);
}

static void class_of(const making *m, unsigned i, hone_trial *t) {
    static const struct {
        unsigned i;
        hone_outcome_class cls;
        const char *detail;
    } odd[] = {{2, HONE_BUILD_ERROR, "kernel.c:7:1: error: unknown type name 'flaot'"},
               {3, HONE_BUILD_ERROR, "cc1: error: bad value"},
               {11, HONE_RUN_CRASH, "signal 11"},
               {25, HONE_WRONG_RESULT, "y[17]: expected 0.25, got 0.5"},
               {26, HONE_RUN_TIMEOUT, "ran longer than 10 s"},
               {57, HONE_BUILD_ERROR, "internal compiler error"}};
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
        if (odd[k].i != i) continue;
        t->outcome.cls = odd[k].cls;
        t->detail = is(m, "hostile") ? "stderr " EVIL_BYTES : odd[k].detail;
        t->object_hash = "";
    }
}

static bool add(making *m, const char *phase, unsigned i, double ratio) {
    char point[300];
    hone_sample s[240];
    snprintf(point, sizeof point, "{\"TILE\":%u,\"gcc.-O\":\"%s\",\"gcc.-funroll-loops\":%s%s}", 8 + 8 * (i % 5),
             is(m, "hostile") ? "3</script><i>"
             : i % 3          ? "3"
                              : "2",
             i % 2 ? "true" : "false", i % 4 ? "" : ",\"gcc.-fgcse\":false");
    hone_trial t = {.phase = phase,
                    .point = point,
                    .point_hash = !strcmp(phase, "race") ? 5000 : i + 1,
                    .object_hash = "0123456789abcdef0123456789abcdef",
                    .n_objectives = m->n_goals,
                    .n_constraints = 1,
                    .origin = i < 8   ? "seed"
                              : i % 2 ? "lfbo"
                                      : "forest",
                    .detail = "",
                    .build_s = 0.5,
                    .run_s = 0.25,
                    .at_s = 1.7e9 + 3.0 * i,
                    .n_asked = i + 1,
                    .sample = s};
    t.outcome.value[0] = is(m, "signed") ? 2 - 3 * ratio : 0.01 * ratio;
    t.outcome.value[1] = 4096 * (1.2 - 0.25 * shuffled(7 * i)) / sqrt(ratio);
    if (!strcmp(phase, "baseline")) t.outcome.value[1] = 4096;
    t.outcome.violation[0] = i == 30 ? 0.5 : -1;
    t.suspect = i == 31;
    if (!strcmp(phase, "search")) class_of(m, i, &t);
    t.n_samples = t.outcome.cls == HONE_RUN_OK ? samples(m, ratio, s) : 0;
    return hone_trial_add(m->store, m->session.id, &t, NULL, &m->err) == HONE_OK;
}

static bool add_trials(making *m) {
    bool fine = add(m, "baseline", 0, 1);
    for (unsigned i = 1; fine && i <= 60; i++) fine = add(m, "search", i, ratio_of(i));
    for (unsigned i = 1; fine && i <= 3; i++) fine = add(m, "race", 58 + i, 0.86 + 0.05 * i);
    return fine;
}

/* --- proof and controls file ---------------------------------------------------------------------------------------
 */

static hone_distribution spread(double at) {
    return (hone_distribution){200, 0.96 * at, 0.99 * at, at, 1.02 * at, 1.1 * at, 1.005 * at, 0.03 * at};
}

static hone_comparison compare(const char *quantity, const char *name, bool held_out, double base, double gain) {
    return (hone_comparison){.quantity = quantity,
                             .input = name,
                             .held_out = held_out,
                             .gain = {gain - 0.012, gain, gain + 0.012},
                             .baseline = spread(base),
                             .tuned = spread(base / gain),
                             .p_wilcoxon = 1e-9,
                             .p_mann_whitney = 1e-9,
                             .p_welch = NAN,
                             .p_adjusted = 2e-9,
                             .effect = 0.8,
                             .finding = gain > 1.012   ? HONE_GAINS
                                        : gain < 0.988 ? HONE_LOSES
                                                       : HONE_EVEN};
}

static bool put_proof(making *m, const hone_proof *p) {
    char *body = NULL;
    if (hone_proof_to_json(p, false, &body, &m->err)) return false;
    hn_proof_row row = {.session = m->session.id,
                        .workload_hash = m->session.workload_hash,
                        .point = p->point,
                        .kept = p->kept,
                        .why = hone_proof_reject_name(p->why),
                        .verdict = p->verdict,
                        .at_s = 1.7e9,
                        .body = body};
    bool fine = hn_proofs_add(m->store, &row, &m->err) == HONE_OK;
    hone_free(body);
    return fine;
}

static bool add_proof(making *m) {
    bool kept = is(m, "kept"), evil = is(m, "hostile");
    hone_comparison overall = compare("p50(latency)", "", false, 0.01, kept ? 1.081 : 1.004);
    hone_comparison tail = compare("p95(latency)", "", false, 0.011, kept ? 1.06 : 0.97);
    hone_comparison held = compare("p50(latency)", "held out", true, 4e-5, 1.02);
    hone_comparison by[] = {compare("p50(latency)", evil ? EVIL : "small", false, 1e-3, 1.12),
                            compare("p50(latency)", "large", false, 0.25, 1.05),
                            compare("p50(latency)", "odd", true, 4e-5, 0.98)};
    hone_proof p = {.point = "{\"TILE\":32,\"gcc.-O\":\"3\",\"gcc.-funroll-loops\":true}",
                    .argv = evil ? "gcc '</script><script>alert(3)</script>'" : "gcc -O3 -funroll-loops -DTILE=32",
                    .kept = kept,
                    .why = kept ? HONE_NOT_REJECTED : HONE_REJECT_TAIL,
                    .verdict = kept ? "kept: p50(latency) is better than the baseline's by a factor of 1.081 (1.069 to "
                                      "1.093), 120 pairs over 10 builds of each side"
                               : evil ? "rejected: input '" EVIL "' loses"
                                      : "rejected: the tail is worse: p95(latency) has a gain of 0.97 (0.958 to 0.982)",
                    .n_objectives = 1,
                    .n_inputs = 3,
                    .overall = &overall,
                    .tail = &tail,
                    .held_out = &held,
                    .by_input = by,
                    .spread = 1.04,
                    .n_pairs = 120,
                    .n_variants = 10,
                    .noise = 0.012,
                    .layout = "function order, padding",
                    .seconds = 42};
    return put_proof(m, &p);
}

static bool write_controls(making *m) {
    hone_pair control[] = {{"-O", "3"}, {"-funroll-loops", "true"}}, source[] = {{"kernel.c", "abcd"}};
    hone_pair tool[] = {{"family", "gcc"}, {"version", "12.2.0"}}, machine[] = {{"cpu", "Test CPU"}};
    hone_pair input[] = {{"small", "abcd"}};
    const char *flag[] = {"-O3", "-funroll-loops"};
    hone_share share[] = {
        {"gcc.-funroll-loops", {1.031, 1.045, 1.06}}, {"TILE", {1.018, 1.03, 1.04}}, {"gcc.-O", {0.995, 1.002, 1.01}}};
    hone_controls_row row = {.objective = "p50(latency)",
                             .input = "",
                             .gain = {1.069, 1.081, 1.093},
                             .baseline = spread(0.01),
                             .tuned = spread(0.0092)};
    hone_controls k = {.format = HONE_CONTROLS_FORMAT,
                       .name = "kernel",
                       .version = HONE_VERSION,
                       .created = "2026-01-31T14:05:00Z",
                       .compiler = "gcc",
                       .floating_point = "strict",
                       .control = control,
                       .n_controls = 2,
                       .flag = flag,
                       .n_flags = 2,
                       .point = "{\"TILE\":32}",
                       .workload = "hone.yaml",
                       .workload_hash = m->session.workload_hash,
                       .space_hash = m->session.space_hash,
                       .baseline = "-O3 -march=native",
                       .source = source,
                       .n_sources = 1,
                       .input = input,
                       .n_inputs = 1,
                       .tool = tool,
                       .n_tool = 2,
                       .machine = machine,
                       .n_machine = 1,
                       .verdict = "kept",
                       .n_pairs = 120,
                       .n_variants = 10,
                       .claimed = 1.12,
                       .row = &row,
                       .n_rows = 1,
                       .share = share,
                       .n_shares = 3,
                       .n_before = 41,
                       .session = m->session.id};
    char *path = hn_path_join(m->dir, "kernel.hone");
    bool fine = path && hone_controls_write(&k, path, &m->err) == HONE_OK;
    free(path);
    return fine;
}

static bool make(making *m) {
    bool proven = is(m, "kept") || is(m, "rejected") || is(m, "hostile"), empty = is(m, "empty");
    begin(m);
    if (hone_session_begin(m->store, &m->session, &m->err)) return false;
    if (!empty && !add_trials(m)) return false;
    if (proven && !add_proof(m)) return false;
    if (is(m, "kept") && !write_controls(m)) return false;
    return !hone_session_end(m->store, m->session.id, "finished", empty ? "killed" : "evaluations", &m->err);
}

int main(int argc, char **argv) {
    static const char *const known[] = {"kept", "pair", "signed", "hostile", "rejected", "empty"};
    making m = {.dir = argc == 3 ? argv[1] : "", .kind = argc == 3 ? argv[2] : ""};
    bool fine = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) fine |= is(&m, known[i]);
    if (!fine) return fprintf(stderr, "usage: report_store DIR kept|pair|signed|hostile|rejected|empty\n"), 2;
    char *dir = hn_path_join(m.dir, ".hone");
    fine = dir && hone_store_open(dir, true, &m.store, &m.err) == HONE_OK && make(&m);
    if (!fine) fprintf(stderr, "report_store: %s\n", m.err.text);
    hone_store_close(m.store);
    free(dir);
    return !fine;
}
