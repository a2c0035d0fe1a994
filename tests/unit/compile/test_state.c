/* State: a recurrent step and a cache of keys and values, compiled with and without it: the same results for 20 steps,
 * without a copy of the cache; reset, forked, saved, loaded; what is not this model's state is refused. */
#include "base/fs.h"
#include "tap.h"

#include <hone/artifact.h>
#include <hone/compile.h>
#include <hone/program.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 20, MOST = 4096, WIDTH = 8 };

#define WEIGHT(name, a, b)                                                                                             \
    "%" name "i = iota {shape = [8, 8], dtype = f32, axis = 0}\n%" name                                                \
    "j = iota {shape = [8, 8], dtype = f32, axis = "                                                                   \
    "1}\n%" name "a = const {value = f32[] (" a ")}\n%" name "b = broadcast %" name                                    \
    "a {shape = [8, 8], map = []}\n%" name "c = const {value = f32[] (" b ")}\n%" name "d = broadcast %" name          \
    "c {shape = [8, 8], map = []}\n%" name "e = mul %" name "i, %" name "b\n%" name "f = mul %" name "j, %" name       \
    "d\n%" name "g = add %" name "e, %" name "f\n%" name " = sin %" name "g\n"
#define PRODUCT(out, x, w)                                                                                             \
    "%" out " = contract %" x ", %" w " {dtype = f32, lhs = [0, 18], rhs = [18, 17], out = [0, 17]}\n"
#define GATE(out, x, r, f)                                                                                             \
    PRODUCT(out "x", "x", x)                                                                                           \
    PRODUCT(out "h", "h", r) "%" out "s = add %" out "x, %" out "h\n%" out " = " f " %" out "s\n"

static const char recurrent[] =
    "ir 1\nsymbol batch in 0..\ninput %x : f32[batch, 8] \"x\"\ninput %h : f32[batch, 8] \"h_in\"\n"
    "input %c : f32[batch, 8] \"c_in\"\n" WEIGHT("w", "0.3", "0.7") WEIGHT("r", "0.9", "0.2")
        GATE("i", "w", "r", "sigmoid") GATE("f", "r", "w", "sigmoid") GATE("o", "r", "r", "sigmoid") GATE(
            "g", "w", "w", "tanh") "%fc = mul %f, %c\n%ig = mul %i, %g\n%c2 = add %fc, %ig\n%t = tanh %c2\n"
                                   "%h2 = mul %o, %t\noutput %h2 \"y\"\noutput %h2 \"h_out\"\noutput %c2 \"c_out\"\n";

#define HEADS(out, x)                                                                                                  \
    "%" out "r = reshape %" x " {shape = [seq, 2, 4]}\n%" out " = transpose %" out "r {perm = [1, 0, 2]}\n"
static const char cached[] =
    "ir 1\nsymbol seq in 0..\nsymbol past in 0..\ninput %x : f32[seq, 8] \"x\"\n"
    "input %pk : f32[2, past, 4] \"past.0.key\"\ninput %pv : f32[2, past, 4] \"past.0.value\"\n" WEIGHT(
        "w", "0.3", "0.7") WEIGHT("u", "0.4", "0.5") WEIGHT("z", "0.2", "0.8") PRODUCT("q0", "x", "w")
        PRODUCT("k0", "x", "u") PRODUCT("v0", "x", "z") HEADS("q", "q0") HEADS("k", "k0") HEADS(
            "v",
            "v0") "%ck = concat %pk, %k {axis = 1}\n%cv = concat %pv, %v {axis = 1}\n"
                  "%s = contract %q, %ck {dtype = f32, lhs = [0, 16, 18], rhs = [0, 17, 18], out = [0, 16, 17]}\n"
                  "%m = reduce_max %s {axes = [2], keep = 1}\n%mb = broadcast %m {shape = [2, seq, past + seq], map "
                  "= [0, 1, 2]}\n%d = sub %s, %mb\n%e = exp %d\n%n = sum %e {axes = [2], keep = 1}\n"
                  "%nb = broadcast %n {shape = [2, seq, past + seq], map = [0, 1, 2]}\n%p = div %e, %nb\n"
                  "%o = contract %p, %cv {dtype = f32, lhs = [0, 16, 18], rhs = [0, 18, 17], out = [0, 16, 17]}\n"
                  "%ot = transpose %o {perm = [1, 0, 2]}\n%y = reshape %ot {shape = [seq, 8]}\n"
                  "output %y \"y\"\noutput %ck \"present.0.key\"\noutput %cv \"present.0.value\"\n";

/* A moving window: each state takes what the one before it was. */
static const char shifted[] =
    "ir 1\nsymbol batch in 0..\ninput %x : f32[batch, 8] \"x\"\ninput %a : f32[batch, 8] \"a_in\"\n"
    "input %b : f32[batch, 8] \"b_in\"\n%s = add %x, %a\n%y = sub %s, %b\n%n = sin %s\n"
    "output %y \"y\"\noutput %n \"a_out\"\noutput %a \"b_out\"\n";

typedef struct side {
    hone_artifact *library;
    const hone_model *m;
    hone_model_instance *i;
} side;

typedef struct world {
    char dir[40];
    side plain, state;
    const char *pattern[2];
    size_t n_pattern;
    const char *versions; /* further ones of the library with state; NULL: none */
} world;

static hone_rc make(const char *text, world *w, const char *name, size_t n_pattern, const char *target, side *out,
                    hone_err *err) {
    char base[80], path[90];
    hone_graph *g = NULL;
    snprintf(base, sizeof base, "%s/%s", w->dir, name);
    snprintf(path, sizeof path, "%s.so", base);
    const hone_compile_options o = {.size = sizeof o,
                                    .output = base,
                                    .no_parity = true,
                                    .no_winners = true,
                                    .no_cache = true,
                                    .compiler = getenv("HONE_QUICK_CC"),
                                    .target = target,
                                    .specialize = &w->versions,
                                    .n_specialize = n_pattern && w->versions,
                                    .state = w->pattern,
                                    .n_state = n_pattern};
    hone_rc rc = hone_graph_parse(text, strlen(text), &g, err);
    if (!rc) rc = hone_compile_graph(g, name, &o, NULL, err);
    hone_graph_free(g);
    if (!rc)
        rc = hone_artifact_load(path, &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1},
                                &out->library, err);
    if (rc) return rc;
    out->m = hone_artifact_model(out->library);
    hone_model_config config = hone_model_defaults();
    config.n_threads = 1;
    return out->m->create(&config, &out->i) ? HONE_E_FAILED : HONE_OK;
}

static void end(world *w) {
    static const char *const file[] = {"plain.so", "plain.h", "plain.manifest", "plain.weights",
                                       "state.so", "state.h", "state.manifest", "state.weights"};
    side *both[] = {&w->plain, &w->state};
    for (int k = 0; k < 2; k++) {
        if (both[k]->i) both[k]->m->free(both[k]->i);
        hone_artifact_free(both[k]->library);
    }
    for (size_t k = 0; k < sizeof file / sizeof *file; k++) {
        char path[80];
        snprintf(path, sizeof path, "%s/%s", w->dir, file[k]);
        unlink(path);
    }
    rmdir(w->dir);
}

static bool begin(const char *text, const char *pattern, const char *other, const char *target, const char *versions,
                  world *w) {
    hone_err err = {0};
    *w = (world){
        .dir = "/tmp/hone-state-XXXXXX", .pattern = {pattern, other}, .n_pattern = other ? 2 : 1, .versions = versions};
    if (!mkdtemp(w->dir)) return false;
    hone_rc rc = make(text, w, "plain", 0, target, &w->plain, &err);
    if (!rc) rc = make(text, w, "state", w->n_pattern, target, &w->state, &err);
    if (!ok(!rc, "state/%s_is_compiled", target ? target : pattern)) printf("# %s\n", err.text);
    return !rc;
}

static hone_model_tensor rows(float *data, int64_t n, int step) {
    for (int64_t k = 0; k < n * WIDTH; k++) data[k] = (float)sin((double)(k + 31 * step));
    return (hone_model_tensor){.data = data, .dtype = HONE_F32, .rank = 2, .dim = {n, WIDTH}};
}

/* One step of the instance with state; y receives its output. */
static hone_model_rc step(const side *s, hone_model_instance *i, int64_t n, int number, float *y) {
    float x[MOST];
    hone_model_tensor in = rows(x, n, number), out = {.data = y, .size_b = MOST * sizeof *y};
    return s->m->run(i, &in, 1, &out, 1);
}

/* What the model without state keeps between steps. */
typedef struct kept {
    float a[MOST], b[MOST];
    int64_t n;
} kept;

static bool plain_step(world *w, bool cache, int64_t n, int number, kept *k, float *y) {
    static float x[MOST], a[MOST], b[MOST];
    hone_model_tensor in[3] = {rows(x, n, number)}, out[3] = {{.data = y, .size_b = MOST * sizeof *y},
                                                              {.data = a, .size_b = sizeof a},
                                                              {.data = b, .size_b = sizeof b}};
    for (int p = 1; p < 3; p++) {
        in[p] = (hone_model_tensor){
            .data = p == 1 ? k->a : k->b, .dtype = HONE_F32, .rank = cache ? 3 : 2, .dim = {n, WIDTH}};
        if (cache) in[p].dim[0] = 2, in[p].dim[1] = k->n, in[p].dim[2] = 4;
    }
    if (w->plain.m->run(w->plain.i, in, 3, out, 3)) return false;
    memcpy(k->a, a, sizeof a);
    memcpy(k->b, b, sizeof b);
    k->n += n;
    return true;
}

static bool near(const float *a, const float *b, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (!(fabsf(a[k] - b[k]) <= 1e-5f + 1e-5f * fabsf(b[k]))) return false;
    return true;
}

/* n rows a step; of a cache the first step has five times as many. */
static bool steps_agree(world *w, bool cache, int64_t n) {
    static float y[MOST], want[MOST];
    static kept k;
    bool good = true;
    memset(&k, 0, sizeof k);
    for (int s = 0; s < STEPS && good; s++) {
        int64_t rows_now = cache && !s ? 5 * n : n;
        good = plain_step(w, cache, rows_now, s, &k, want);
        hone_model_rc rc = good ? step(&w->state, w->state.i, rows_now, s, y) : HONE_MODEL_OK;
        if (rc) printf("# step %d: %s\n", s, w->state.m->error(w->state.i));
        good = good && !rc && near(y, want, rows_now * WIDTH);
    }
    return good;
}

static void *where(const side *s, int32_t i) {
    hone_model_tensor t = {0};
    return s->m->peek(s->i, i, &t) ? NULL : t.data;
}

static void test_calls(world *w, int64_t n, const char *name) {
    const hone_model *m = w->state.m;
    static float a[MOST], b[MOST], c[MOST];
    hone_model_instance *fork = NULL;
    size_t size_b = 0, room = 0;
    m->reset(w->state.i);
    for (int s = 0; s < 3; s++) step(&w->state, w->state.i, n, s, a);
    ok(!m->fork(w->state.i, &fork), "state/%s_is_forked", name);
    ok(m->save(w->state.i, NULL, &size_b) == HONE_MODEL_SMALL && size_b > 128, "state/%s_says_its_size", name);
    char *saved = calloc(1, size_b + 1);
    ok(!m->save(w->state.i, saved, (room = size_b, &room)) && room == size_b, "state/%s_is_saved", name);
    step(&w->state, w->state.i, n, 3, a);
    step(&w->state, fork, n, 3, b);
    ok(!memcmp(a, b, (size_t)n * WIDTH * sizeof *a), "state/%s_fork_goes_on_alike", name);
    step(&w->state, fork, n, 9, b);
    step(&w->state, w->state.i, n, 4, a);
    ok(!m->load(w->state.i, saved, size_b) && !step(&w->state, w->state.i, n, 3, b) &&
           !step(&w->state, w->state.i, n, 4, c) && !memcmp(a, c, (size_t)n * WIDTH * sizeof *a),
       "state/%s_goes_on_where_it_was_saved", name);
    m->reset(w->state.i);
    m->reset(fork);
    step(&w->state, w->state.i, n, 0, a);
    step(&w->state, fork, n, 0, b);
    ok(!memcmp(a, b, (size_t)n * WIDTH * sizeof *a), "state/%s_is_reset", name);
    ok(m->load(fork, saved, size_b - 1) == HONE_MODEL_STATE && strstr(m->error(fork), "damaged"),
       "state/%s_refuses_a_cut_file", name);
    saved[16] ^= 1;
    ok(m->load(fork, saved, size_b) == HONE_MODEL_STATE && strstr(m->error(fork), "another model"),
       "state/%s_refuses_another_models", name);
    saved[16] ^= 1, saved[0] ^= 1;
    ok(m->load(fork, saved, size_b) == HONE_MODEL_STATE && m->load(fork, saved, 5) == HONE_MODEL_STATE,
       "state/%s_refuses_what_is_none", name);
    saved[0] ^= 1, saved[128] ^= 64;
    ok(m->load(fork, saved, size_b) == HONE_MODEL_STATE, "state/%s_refuses_sizes_that_do_not_add_up", name);
    free(saved);
    m->free(fork);
}

static void test_recurrent(void) {
    world w;
    if (begin(recurrent, "h_in=h_out", "c_in=c_out", "native", NULL, &w)) {
        ok(w.state.m->n_inputs == 1 && w.state.m->n_outputs == 1 && w.state.m->n_states == 2, "state/ports_vanish");
        ok(steps_agree(&w, false, 3), "state/recurrent_steps_agree");
        test_calls(&w, 3, "recurrent");
        float y[MOST];
        step(&w.state, w.state.i, 3, 0, y);
        ok(step(&w.state, w.state.i, 2, 0, y) == HONE_MODEL_SHAPE && strstr(w.state.m->error(w.state.i), "reset it"),
           "state/another_batch_is_refused");
        ok(!step(&w.state, w.state.i, 3, 0, y), "state/what_is_refused_leaves_the_state");
        ok(!w.state.m->reset(w.state.i) && !step(&w.state, w.state.i, 2, 0, y), "state/after_a_reset_any_batch_goes");
    }
    end(&w);
}

static void test_cached(void) {
    world w;
    if (begin(cached, "past.*=present.*", NULL, "generic,x86-64-v3", NULL, &w)) {
        ok(steps_agree(&w, true, 1), "state/cache_steps_agree");
        ok(!w.state.m->reset(w.state.i) && steps_agree(&w, true, 2), "state/cache_of_several_rows_a_step");
        float y[MOST];
        void *at = where(&w.state, 0);
        hone_model_tensor t;
        int moved = 0;
        for (int s = 0; s < 12; s++) {
            step(&w.state, w.state.i, 1, s, y);
            moved += where(&w.state, 0) != at;
            at = where(&w.state, 0);
        }
        ok(moved < 2, "state/cache_stays_where_it_is"); /* but when it doubles */
        ok(!w.state.m->peek(w.state.i, 0, &t) && t.dim[0] == 5 * 2 + 19 * 2 + 12, "state/cache_has_all_rows");
        test_calls(&w, 1, "cache");
    }
    end(&w);
}

/* A state that another one becomes is copied; one that is read to the end has a second buffer. */
static void test_shifted(void) {
    world w;
    if (begin(shifted, "*_in=*_out", NULL, "generic", NULL, &w)) ok(steps_agree(&w, false, 3), "state/shifts_agree");
    end(&w);
}

/* Versions for some sizes and the one for all take turns on one state. */
static void test_versions(void) {
    world w;
    if (begin(cached, "past.*=present.*", NULL, "generic", "seq=1,2", &w)) {
        ok(w.state.m->n_versions == 3, "state/has_versions");
        ok(steps_agree(&w, true, 1) && w.state.m->last_version(w.state.i) > 0, "state/versions_share_a_cache");
    }
    end(&w);
    if (begin(recurrent, "*_in=*_out", NULL, "generic", "batch=3", &w)) {
        ok(steps_agree(&w, false, 3) && w.state.m->last_version(w.state.i) == 1, "state/recurrent_version_agrees");
        test_calls(&w, 3, "version");
    }
    end(&w);
}

/* What a program with state looks like: `must` is in its text; it copies nothing. */
static void test_program(const char *graph, const char *pattern, const char *must, const char *name) {
    hone_graph *g = NULL;
    char *text = NULL;
    hone_program_counts n = {0};
    hone_err err = {0};
    const hone_compile_options o = {
        .size = sizeof o, .target = "generic", .no_winners = true, .state = &pattern, .n_state = 1};
    hone_rc rc = hone_graph_parse(graph, strlen(graph), &g, &err);
    if (!rc) rc = hone_program_print(g, name, &o, &text, &n, &err);
    if (ok(!rc && !n.n_copies, "state/%s_program_copies_nothing", name))
        ok(strstr(text, must), "state/%s_program_names_it", name);
    else
        printf("# %s\n%s", err.text, text ? text : "");
    hone_free(text);
    hone_graph_free(g);
}

/* A cache of bounded sizes is told the most bytes that it can have: (past + seq) * 8 floats. */
static void test_bound(void) {
    static char bounded[sizeof cached + 16];
    char base[] = "/tmp/hone-state-XXXXXX", path[64], line[400];
    const char *pattern = "past.*=present.*";
    hone_graph *g = NULL;
    hone_err err = {0};
    bool said = false;
    if (!mkdtemp(base)) return;
    snprintf(bounded, sizeof bounded, "ir 1\nsymbol seq in 1..2\nsymbol past in 0..10\n%s", strstr(cached, "input %x"));
    snprintf(path, sizeof path, "%s/m", base);
    const hone_compile_options o = {
        .size = sizeof o, .output = path, .emit = HONE_EMIT_C, .no_parity = true, .state = &pattern, .n_state = 1};
    hone_rc rc = hone_graph_parse(bounded, strlen(bounded), &g, &err);
    if (!rc) rc = hone_compile_graph(g, "m", &o, NULL, &err);
    hone_graph_free(g);
    snprintf(path, sizeof path, "%s/m.c", base);
    FILE *f = rc ? NULL : fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        said = said || strstr(line, "hnm_state_most_b[HNM_STATES + 1] = {INT64_C(384), INT64_C(384), 0}");
    if (f) fclose(f);
    if (!ok(said, "state/cache_of_bounded_sizes_is_capped")) printf("# %s\n", err.text);
    hn_remove_tree(base, NULL);
}

static void test_refused(void) {
    static const char *const bad[][2] = {{"h_in", "give INPUT=OUTPUT"},
                                         {"hin=h_out", "no input is called 'hin'"},
                                         {"h_in=h_end", "no output is called 'h_end'"},
                                         {"*_in=h_out", "in two states"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hone_graph *g = NULL;
        hone_err err = {0};
        char *text = NULL;
        const hone_compile_options o = {
            .size = sizeof o, .target = "generic", .no_winners = true, .state = &bad[i][0], .n_state = 1};
        hone_rc rc = hone_graph_parse(recurrent, strlen(recurrent), &g, &err);
        if (!rc) rc = hone_program_print(g, "r", &o, &text, NULL, &err);
        if (!ok(rc == HONE_E_USAGE && strstr(err.text, bad[i][1]), "state/refuses_%zu", i)) printf("# %s\n", err.text);
        hone_free(text);
        hone_graph_free(g);
    }
}

int main(void) {
    test_recurrent();
    test_cached();
    test_shifted();
    test_versions();
    test_program(cached, "past.*=present.*", "state 1 \"past.0.value\" \"present.0.value\"", "cached");
    test_program(recurrent, "*_in=*_out", " host next 1", "recurrent");
    test_bound();
    test_refused();
    return done_testing();
}
