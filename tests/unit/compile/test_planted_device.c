/* Faults planted at random places of the kernels that hone prints for devices, as CUDA C on the shim: six kinds
 * (what hone prints has no mbarriers, whose phase could be forgotten: tests/gpu/planted.py). Each
 * is found by one of the shim's checks or by the values, which parity compares; what found it is printed. The kernel
 * becomes its node-by-node form, and the library computes what the interpreter does.
 *
 * HONE_LONG: a hundred of each kind; else one of every second kind. HONE_PLANTED: so many of each kind.
 */
#include "artifact/artifact.h"
#include "base/fs.h"
#include "base/rng.h"
#include "compile/driver.h"
#include "shim/kit.h"
#include "tap.h"

#include <hone/artifact.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLACES = 400 };

typedef struct printed {
    const char *text, *schedule; /* NULL: the default one */
} printed;

static const printed kernels[] = {
    {"ir 1\ninput %0 : f32[20, 36] \"x\"\ninput %1 : f32[36, 24] \"w\"\n"
     "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %2 \"y\"\n",
     "tile stages=1"},
    {"ir 1\ninput %0 : f32[50, 70] \"x\"\n%1 = transpose %0 {perm = [1, 0]}\n%2 = exp %1\noutput %2 \"y\"\n",
     "transpose side=32 down=8 swizzle=1"},
    {"ir 1\ninput %0 : f32[50, 70] \"x\"\n%1 = transpose %0 {perm = [1, 0]}\n%2 = exp %1\noutput %2 \"y\"\n", NULL},
};

/* A place in a kernel's text: n bytes become another text. */
typedef struct place {
    size_t at, n;
    char now[160];
} place;

typedef struct places {
    place *place;
    size_t n;
} places;

static void add(places *p, const char *text, const char *at, size_t n, const char *now) {
    if (p->n == PLACES) return;
    place *x = &p->place[p->n++];
    x->at = (size_t)(at - text), x->n = n;
    snprintf(x->now, sizeof x->now, "%s", now);
}

static const char barrier[] = "HNR_BARRIER();";

/* Barriers between writes and reads of one item: the one behind an item orders nothing where a block has one item. */
static const char *next_barrier(const char *from) {
    const char *p = strstr(from, barrier);
    while (p && !strncmp(p + strlen(barrier), " /*", 3)) p = strstr(p + 1, barrier);
    return p;
}

static void missing_barrier(const char *text, hn_rng *rng, places *out) {
    (void)rng;
    for (const char *p = text; (p = next_barrier(p)); p++) add(out, text, p, strlen(barrier), ";");
}

static void divergent_barrier(const char *text, hn_rng *rng, places *out) {
    char now[100];
    for (const char *p = text; (p = strstr(p, barrier)); p++) {
        snprintf(now, sizeof now, "if (HNR_THREAD %s %d) %s", hn_rng_below(rng, 2) ? "!=" : "<",
                 (int)hn_rng_below(rng, 31) + 1, barrier);
        add(out, text, p, strlen(barrier), now);
    }
}

/* What the next turn needs is stored before the threads have met. */
static void stage_reused(const char *text, hn_rng *rng, places *out) {
    char now[160];
    (void)rng;
    for (const char *p = text; (p = next_barrier(p)); p++) {
        const char *line = p + strlen(barrier) + 1, *word = line + strspn(line, " "), *end = strchr(line, '\n');
        if (word[0] != 's' || !strchr("0123456789", word[1]) || !end || end - word > 100) continue;
        snprintf(now, sizeof now, "%.*s %s", (int)(end - word), word, barrier);
        add(out, text, p, (size_t)(end - p), now);
    }
}

/* Indices of arrays whose names begin with a letter of `letters`, behind the declarations. */
static void indices(const char *text, const char *letters, const char *now[2], hn_rng *rng, places *out) {
    for (const char *p = strstr(text, "for (int64_t w"); p && (p = strchr(p, '[')); p++) {
        const char *name = p - 1;
        while (strchr("0123456789", *name)) name--;
        if (name + 1 < p && strchr(letters, *name) && name[-1] != '_' && strchr(" (", name[-1]))
            add(out, text, p, 1, now[hn_rng_below(rng, 2)]);
    }
}

static void tile_off_by_one(const char *text, hn_rng *rng, places *out) {
    static const char *now[] = {"[1 + ", "[-1 + "};
    indices(text, "s", now, rng, out);
    for (const char *p = text; (p = strstr(p, ", n")); p++) { /* the number of turns */
        size_t digits = strspn(p + 3, "0123456789");
        if (!digits || strncmp(p + 3 + digits, " = ", 3) != 0) continue;
        const char *number = p + 3 + digits + 3;
        add(out, text, number, 0, hn_rng_below(rng, 2) ? "1 + " : "-1 + ");
    }
}

static void swizzle_wrong(const char *text, hn_rng *rng, places *out) {
    static const char *const now[] = {"^ 1 ^", "^ 2 ^", "+ 0 *", "^ 3 &"};
    for (const char *p = text; (p = strchr(p, '^')); p++) add(out, text, p, 1, now[hn_rng_below(rng, 4)]);
}

static void past_the_end(const char *text, hn_rng *rng, places *out) {
    static const char *now[] = {"[1 + ", "[4096 + "};
    indices(text, "pr", now, rng, out);
}

static const struct {
    const char *name;
    void (*find)(const char *text, hn_rng *rng, places *out);
} faults[] = {{"missing_barrier", missing_barrier},     {"tile_off_by_one", tile_off_by_one},
              {"swizzle_wrong", swizzle_wrong},         {"stage_reused", stage_reused},
              {"divergent_barrier", divergent_barrier}, {"past_the_end", past_the_end}};

/* What the hook of the compiler plants. */
static struct {
    hn_rng rng;
    size_t fault;
    const char *schedule;
    bool done;
    char what[300];
} plan;

static void plant(hn_model *m) {
    hn_kernel *k = &m->kernel[0];
    const hn_emit_how how = {.dialect = m->dialect, .machine = m->machine, .schedule = plan.schedule};
    hone_err err = {0};
    places all = {calloc(PLACES, sizeof *all.place), 0};
    plan.done = false;
    if (plan.schedule && hn_emit_kernel(m->g, k->body, k->kind, k->name, &how, &m->arena, &k->code, &err))
        printf("# %s\n", err.text);
    if (all.place && k->code.text) faults[plan.fault].find(k->code.text, &plan.rng, &all);
    if (all.n) {
        const place *p = &all.place[hn_rng_below(&plan.rng, all.n)];
        const char *at = k->code.text + p->at, *line = at, *rest = at + p->n;
        while (line > k->code.text && line[-1] != '\n') line--;
        line += strspn(line, " ");
        snprintf(plan.what, sizeof plan.what, "%.*s<%s>%.60s", (int)(at - line), line, p->now, rest);
        plan.what[strcspn(plan.what, "\n")] = 0;
        k->code.text = hn_format(&m->arena, "%.*s%s%s", (int)p->at, k->code.text, p->now, rest);
        plan.done = true;
    }
    free(all.place);
}

/* "values", or what the shim saw. */
static const char *found_by(const char *text) {
    static const struct {
        const char *said, *name;
    } seen[] = {{"race:", "shim: race"},
                {"that no thread of the block wrote", "shim: undefined"},
                {"divergent", "shim: divergent"},
                {"result ", "values"}};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        if (strstr(text, seen[i].said)) return seen[i].name;
    return strstr(text, "of block") ? "shim: bounds" : "parity";
}

/* The compiled library on the shim computes what the interpreter does. */
static bool is_right(hone_graph *g, const char *library) {
    hone_artifact *p = NULL;
    hone_array in[2] = {0}, got = {0}, want = {0};
    hone_array_difference d = {0};
    hone_err err = {0};
    const hone_artifact_options options = {.size = sizeof options, .n_threads = 1};
    bool good = hone_artifact_load(library, &options, &p, &err) == HONE_OK;
    size_t n_in = hone_graph_inputs(g);
    for (size_t i = 0; i < n_in && i < 2; i++) {
        hone_graph_port port;
        size_t n = 1;
        if (hone_graph_input(g, i, &port, NULL)) continue;
        in[i] = (hone_array){.dtype = HONE_F32, .rank = port.rank};
        for (uint32_t j = 0; j < port.rank; j++) n *= (size_t)(in[i].dim[j] = port.dim[j]);
        float *x = in[i].data = calloc(n, sizeof *x);
        for (size_t j = 0; x && j < n; j++) x[j] = (float)((j * 37 + i) % 23) / 8 - 1;
    }
    good = good && !hone_artifact_run(p, in, n_in, &got, 1, &err) && !hone_graph_run(g, in, n_in, &want, 1, &err);
    good = good && !hone_array_compare(&got, &want, 1e-4, 1e-5, &d, NULL) && d.same;
    if (!good) printf("#   %s\n", err.text);
    hone_free(got.data), hone_free(want.data);
    for (size_t i = 0; i < 2; i++) free(in[i].data);
    hone_artifact_free(p);
    return good;
}

/* NULL: nothing was planted, or nothing found it. */
static const char *try_one(const char *dir, const printed *kernel, bool *right) {
    char output[100], library[110];
    hone_graph *g = NULL;
    hone_err err = {0};
    const char *by = NULL;
    snprintf(output, sizeof output, "%s/planted", dir);
    snprintf(library, sizeof library, "%s.so", output);
    const hone_compile_options options = {.size = sizeof options,
                                          .output = output,
                                          .target = "cuda:sm_80",
                                          .n_jobs = 1,
                                          .no_winners = true,
                                          .no_cache = true};
    hn_library l = {.options = &options, .tamper = plant};
    plan.schedule = kernel->schedule;
    if (hone_graph_parse(kernel->text, strlen(kernel->text), &g, &err) || hn_compile_library(&l, g, "planted", &err))
        printf("# %s\n", err.text);
    else if (plan.done && l.model[0].kernel[0].fallback && l.model[0].kernel[0].reference) {
        by = found_by(l.model[0].kernel[0].fallback);
        if (right) printf("# %s: %s\n", plan.what, l.model[0].kernel[0].fallback);
        if (right) *right = is_right(g, library);
    }
    hn_library_free(&l);
    hone_graph_free(g);
    return by;
}

static void try_fault(const char *dir, size_t fault, int n, uint64_t seed) {
    enum { WORDS = 10 };
    const char *word[WORDS] = {0};
    int count[WORDS] = {0}, found = 0, planted = 0;
    bool right = true;
    for (int i = 0; planted < n && i < 3 * n + 6; i++) {
        plan.rng = hn_rng_make(seed, (uint64_t)(1000 * fault) + (uint64_t)i), plan.fault = fault;
        const printed *kernel = &kernels[(size_t)i % (sizeof kernels / sizeof *kernels)];
        if (fault == 2) kernel = &kernels[1]; /* the one that is swizzled */
        if (fault == 3) kernel = &kernels[0]; /* the one with a stage */
        const char *by = try_one(dir, kernel, planted ? NULL : &right);
        planted += plan.done;
        found += by != NULL;
        if (plan.done && !by) printf("# %s is not found: %s\n", faults[fault].name, plan.what);
        size_t w = 0;
        while (by && w < WORDS && word[w] && strcmp(word[w], by) != 0) w++;
        if (by && w < WORDS) word[w] = by, count[w]++;
    }
    ok(planted == n && found == n && right, "planted_device/%s", faults[fault].name);
    printf("# %s: %d planted, %d found:", faults[fault].name, planted, found);
    for (size_t w = 0; w < WORDS && word[w]; w++) printf(" %s %d,", word[w], count[w]);
    printf("\n");
}

int main(void) {
    char dir[] = "/tmp/hone-planted-device-XXXXXX";
    const char *many = getenv("HONE_LONG"), *own = getenv("HONE_PLANTED");
    int n = own ? atoi(own) : many ? 100 : 1;
    if (system("g++ --version > /dev/null 2>&1")) {
        ok(1, "planted_device # SKIP no g++");
        return done_testing();
    }
    hone_err err = {0};
    char *shim = NULL; /* its folder in the cache, where libraries look for it */
    if (!ok(hn_shim_folder(&shim, &err) == HONE_OK, "planted_device/shim")) printf("# %s\n", err.text);
    free(shim);
    setenv("HONE_MODEL_PLACE", "shim", 1);
    if (!ok(mkdtemp(dir) != NULL, "planted_device/folder")) return done_testing();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i += many || own ? 1 : 2) try_fault(dir, i, n, 1);
    hn_remove_tree(dir, NULL);
    return done_testing();
}
