/* The ask/tell contract, for every engine of the registry: a new engine is tested by existing.
 * HONE_ENGINE: that one alone. */
#include "synthetic.h"

enum { MOST = 600 };

typedef struct run {
    const hone_space *space;
    size_t slots, n;
    double *x;
    uint64_t hash[MOST];
} run;

static run new_run(const hone_space *space) {
    run r = {.space = space, .slots = hone_space_slots(space)};
    r.x = calloc(MOST * (r.slots + 1), sizeof *r.x);
    return r;
}

static hone_outcome good(const hone_space *space, const double *x) {
    return (hone_outcome){.value = {synthetic_cost(space, 5, x), -synthetic_cost(space, 6, x)}};
}

static const hone_outcome failing[] = {{.cls = HONE_BUILD_ERROR}, {.cls = HONE_RUN_TIMEOUT}, {.value = {NAN}}};

static hone_outcome outcome(const run *r, const double *x, const char *mode) {
    hone_outcome o = good(r->space, x);
    uint64_t h = hone_point_hash(r->space, x);
    if (!strcmp(mode, "all_fail") || (!strcmp(mode, "half_fail") && h & 1)) return failing[h % 3];
    if (!strcmp(mode, "negative")) o.value[0] = 3 - o.value[0];
    if (!strcmp(mode, "constant")) o.value[0] = 1;
    if (!strcmp(mode, "infeasible")) o.violation[0] = (double)(h % 4) - 1;
    return o;
}

/* Asks and tells n points, `batch` at a time. False on any breach of the contract. */
static bool go(hone_search *s, run *r, size_t n, size_t batch, const char *mode) {
    hone_err err;
    bool fine = true;
    while (n) {
        size_t b = batch < n ? batch : n, from = r->n;
        for (size_t i = 0; i < b; i++, r->n++) {
            double *x = r->x + r->n * r->slots;
            if (hone_search_ask(s, x, &err)) {
                printf("# ask %zu: %s\n", r->n, err.text);
                return false;
            }
            r->hash[r->n] = hone_point_hash(r->space, x);
            hone_err why;
            if (!hone_point_legal(r->space, x, &why)) printf("# illegal: %s\n", why.text), fine = false;
            for (size_t k = 0; k < r->n; k++)
                if (r->hash[k] == r->hash[r->n]) printf("# ask %zu repeats %zu\n", r->n, k), fine = false;
        }
        for (size_t i = from; i < r->n; i++) {
            hone_outcome o = outcome(r, r->x + i * r->slots, mode);
            fine &= hone_search_tell(s, r->x + i * r->slots, &o, &err) == HONE_OK;
        }
        n -= b;
    }
    return fine && hone_search_n_pending(s) == 0 && hone_search_n_told(s) == r->n;
}

static bool same_points(const run *a, size_t i, const run *b, size_t k, size_t n) {
    return !memcmp(a->hash + i, b->hash + k, n * sizeof *a->hash);
}

static void modes(const char *engine, const hone_space *space) {
    static const struct {
        const char *mode;
        size_t n, batch, objectives, constraints;
    } row[] = {
        {"good", 70, 1, 1, 0},       {"good", 64, 8, 1, 0},     {"all_fail", 30, 1, 1, 0},
        {"half_fail", 60, 4, 1, 0},  {"negative", 40, 1, 1, 0}, {"constant", 40, 1, 1, 0},
        {"infeasible", 40, 1, 1, 1}, {"good", 60, 1, 2, 0},     {"half_fail", 40, 3, 2, 0},
        {"infeasible", 40, 1, 2, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hone_search *s = open_search(space, (hone_search_options){.size = sizeof(hone_search_options),
                                                                  .engine = engine,
                                                                  .seed = 11,
                                                                  .n_objectives = row[i].objectives,
                                                                  .maximize = {false, true},
                                                                  .n_constraints = row[i].constraints});
        run r = new_run(space);
        ok(go(s, &r, row[i].n, row[i].batch, row[i].mode), "%s/legal_and_new_%s_batch%zu_objectives%zu", engine,
           row[i].mode, row[i].batch, row[i].objectives);
        hone_search_close(s);
        free(r.x);
    }
}

static void repeats(const char *engine, const hone_space *space) {
    run a = new_run(space), b = new_run(space), c = new_run(space);
    hone_search *s =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .engine = engine, .seed = 3});
    hone_search *t =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .engine = engine, .seed = 3});
    hone_search *u =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .engine = engine, .seed = 4});
    go(s, &a, 50, 2, "half_fail");
    go(t, &b, 50, 2, "half_fail");
    go(u, &c, 50, 2, "half_fail");
    ok(same_points(&a, 0, &b, 0, 50), "%s/same_seed_same_points", engine);
    ok(!same_points(&a, 1, &c, 1, 49), "%s/other_seed_other_points", engine);
    hone_search_close(s);
    hone_search_close(t);
    hone_search_close(u);
    free(a.x);
    free(b.x);
    free(c.x);
}

static void resumes(const char *engine, const hone_space *space, size_t objectives) {
    run a = new_run(space), b = new_run(space);
    hone_search_options c = {.size = sizeof(hone_search_options),
                             .engine = engine,
                             .seed = 9,
                             .n_objectives = objectives,
                             .maximize = {false, true}};
    hone_search *s = open_search(space, c), *t = open_search(space, c);
    hone_err err;
    go(s, &a, 55, 1, "half_fail");
    for (size_t i = 0; i < a.n; i++) {
        hone_outcome o = outcome(&a, a.x + i * a.slots, "half_fail");
        hone_search_tell(t, a.x + i * a.slots, &o, &err);
        b.hash[i] = a.hash[i];
    }
    b.n = a.n;
    hone_search_skip(t, a.n);
    go(s, &a, 12, 1, "half_fail");
    go(t, &b, 12, 1, "half_fail");
    ok(same_points(&a, 55, &b, 55, 12), "%s/resumed_search_goes_on_alike_objectives%zu", engine, objectives);
    hone_search_close(s);
    hone_search_close(t);
    free(a.x);
    free(b.x);
}

static void exhausts(const char *engine) {
    hone_space *space = tiny_space();
    hone_err err;
    hone_search *s =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .engine = engine, .seed = 1});
    run r = new_run(space);
    double x[8];
    ok(go(s, &r, TINY_POINTS, 1, "good"), "%s/tiny_space_every_point_once", engine);
    ok(hone_search_ask(s, x, &err) == HONE_E_EXHAUSTED, "%s/tiny_space_then_exhausted", engine);
    hone_search_close(s);
    s = open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .engine = engine, .seed = 2});
    size_t n = 0;
    double first[8];
    while (n < MOST && !hone_search_ask(s, x, &err)) {
        if (!n++) memcpy(first, x, sizeof first);
    }
    ok(n == TINY_POINTS && hone_search_n_pending(s) == n, "%s/tiny_space_all_pending_at_once", engine);
    hone_search_forget(s, first);
    ok(!hone_search_ask(s, x, &err) && hone_point_equal(space, x, first), "%s/forgotten_point_comes_again", engine);
    hone_search_close(s);
    free(r.x);
    hone_space_free(space);
}

static bool only_even(void *ctx, const double *x) {
    (void)ctx;
    return ((int)x[2] + (int)x[3]) % 2 == 0;
}

static void extra_rule(const char *engine, const hone_space *space) {
    hone_search *s = open_search(
        space,
        (hone_search_options){.size = sizeof(hone_search_options), .engine = engine, .seed = 1, .legal = only_even});
    run r = new_run(space);
    bool fine = go(s, &r, 50, 1, "good");
    for (size_t i = 0; i < r.n; i++) fine &= only_even(NULL, r.x + i * r.slots);
    ok(fine, "%s/keeps_the_callers_rule", engine);
    hone_search_close(s);
    free(r.x);
}

/* Beyond a hundred genes every other proposal of `auto` is a mutant: at most a tenth of the best's genes changed. */
static void mutates(const hone_space *space) {
    enum { N = 80 };
    hone_search *s =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .engine = "auto", .seed = 2});
    size_t slots = hone_space_slots(space), n_mutants = 0, most = slots / 10;
    double *x = point_of(space), *best = point_of(space);
    hone_err err;
    hone_outcome seen;
    bool near = true;
    for (size_t i = 0; i < N && !hone_search_ask(s, x, &err); i++) {
        size_t changed = 0;
        bool mutant = !strcmp(hone_search_origin(s), "mutant");
        if (mutant && hone_search_best(s, best, &seen))
            for (size_t k = 0; k < slots; k++) changed += x[k] != best[k] && !(isnan(x[k]) && isnan(best[k]));
        near &= mutant ? changed > 0 && changed <= most : true;
        n_mutants += mutant;
        hone_outcome o = good(space, x);
        hone_search_tell(s, x, &o, &err);
    }
    ok(n_mutants > N / 3, "auto/mutants_with_many_genes (%zu of %d)", n_mutants, N);
    ok(near, "auto/mutants_are_near_the_best");
    hone_search_close(s);
    free(x);
    free(best);
}

/* --- the wrapper, once ----------------------------------------------------------------------------------------- */

static void seeds_first(const hone_space *space) {
    size_t slots = hone_space_slots(space);
    double *seeds = calloc(2 * slots, sizeof *seeds), *x = point_of(space), *d = point_of(space);
    hone_err err;
    hone_space_sample(space, 1, false, seeds, &err);
    hone_space_default(space, seeds + slots);
    seeds[slots + 2] = seeds[slots + 3] = 5; /* 32 * 32 > 256: has to be repaired */
    hone_search *s =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .seeds = seeds, .n_seeds = 2});
    hone_space_default(space, d);
    hone_search_ask(s, x, &err);
    ok(hone_point_equal(space, x, d), "search/default_first");
    is_text(hone_search_origin(s), "default", "search/origin_default");
    hone_search_ask(s, x, &err);
    ok(hone_point_equal(space, x, seeds), "search/seeds_next");
    hone_search_ask(s, x, &err);
    is_text(hone_search_origin(s), "seed", "search/illegal_seed_repaired");
    hone_search_close(s);
    s = open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .no_default = true});
    hone_search_ask(s, x, &err);
    ok(!hone_point_equal(space, x, d), "search/no_default_not_proposed_first");
    hone_search_close(s);
    free(seeds);
    free(x);
    free(d);
}

static void best_and_retell(const hone_space *space) {
    double *a = point_of(space), *b = point_of(space), *x = point_of(space);
    hone_err err;
    hone_search *s = open_search(
        space, (hone_search_options){.size = sizeof(hone_search_options), .maximize = {true}, .n_constraints = 1});
    hone_outcome o;
    ok(!hone_search_best(s, x, &o), "search/no_best_at_first");
    hone_space_sample(space, 1, false, a, &err);
    hone_space_sample(space, 2, false, b, &err);
    hone_search_tell(s, a, &(hone_outcome){.value = {5}}, &err);
    hone_search_tell(s, b, &(hone_outcome){.value = {7}}, &err);
    ok(hone_search_best(s, x, &o) && hone_point_equal(space, x, b) && o.value[0] == 7, "search/best_is_maximised");
    hone_search_tell(s, b, &(hone_outcome){.value = {9}, .violation = {1}}, &err);
    ok(hone_search_best(s, x, &o) && hone_point_equal(space, x, a), "search/told_again_replaces");
    ok(hone_search_n_told(s) == 2, "search/told_again_counts_once");
    hone_search_tell(s, a, &(hone_outcome){.value = {INFINITY}}, &err);
    ok(!hone_search_best(s, x, &o), "search/infinite_is_no_metric");
    hone_search_close(s);
    free(a);
    free(b);
    free(x);
}

static void refuses(const hone_space *space) {
    static const struct {
        const char *engine, *option, *want;
        hone_rc rc;
    } row[] = {
        {"forrest", NULL, "unknown engine 'forrest', did you mean 'forest'?", HONE_E_NOTFOUND},
        {"evolve", "pol=3", "engine 'evolve' has no option 'pol', did you mean 'pool'?", HONE_E_USAGE},
        {"evolve", "pool=1", "option 'pool' of engine 'evolve' must be a number from 2 to 10000, as in 'pool=32'",
         HONE_E_USAGE},
        {"evolve", "pool", "option 'pool' of engine 'evolve' must be a number from 2 to 10000, as in 'pool=32'",
         HONE_E_USAGE},
        {"random", "x=1", "engine 'random' has no option 'x'; it has: none", HONE_E_USAGE},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hone_err err;
        hone_search *s = NULL;
        const char *options[] = {row[i].option, NULL};
        hone_search_options c = {.size = sizeof(hone_search_options), .engine = row[i].engine, .options = options};
        ok(hone_search_open(space, &c, &s, &err) == row[i].rc && !s, "search/refuses_%zu", i);
        is_text(err.text, row[i].want, "search/refusal_says_why");
    }
}

/* The bound on memory: rows are dropped, nothing is forgotten. */
static void many(void) {
    hone_space *space = ordinal_space(8);
    hone_search *s =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .seed = 1, .memory_b = 64 << 10});
    double x[64], best_x[64], best = INFINITY;
    hone_err err;
    hone_outcome o;
    for (uint64_t i = 0; i < 20000; i++) {
        hone_space_sample(space, i, false, x, &err);
        double v = synthetic_cost(space, 1, x);
        if (v < best) best = v, memcpy(best_x, x, sizeof best_x);
        hone_search_tell(s, x, &(hone_outcome){.value = {v}}, &err);
    }
    ok(hone_search_best(s, x, &o) && o.value[0] == best, "search/bounded_memory_keeps_the_best");
    bool fresh = true;
    hone_search_skip(s, 20000);
    for (int i = 0; i < 5; i++) {
        fresh &= !hone_search_ask(s, x, &err);
        size_t told = hone_search_n_told(s);
        hone_search_tell(s, x, &(hone_outcome){.value = {synthetic_cost(space, 1, x)}}, &err);
        fresh &= hone_search_n_told(s) == told + 1;
    }
    ok(fresh, "search/bounded_memory_proposes_new_points");
    hone_search_close(s);
    hone_space_free(space);
}

/* More observations than a model takes, in a dimension where it takes fewer than it chooses its noise on. */
static void more_than_a_model_takes(const char *engine) {
    hone_space *space = flag_space(120);
    hone_search *s =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .engine = engine, .seed = 1});
    double *x = point_of(space);
    hone_err err;
    bool fine = true;
    const uint64_t every = getenv("HONE_LONG") ? 180 : 1100;
    for (uint64_t i = 0; i < 1100; i++) {
        hone_space_sample(space, i, false, x, &err);
        hone_search_tell(s, x, &(hone_outcome){.value = {synthetic_cost(space, 1, x)}}, &err);
        if ((i + 1) % every) continue;
        hone_search_skip(s, i / 180);
        fine &= !hone_search_ask(s, x, &err) && hone_point_legal(space, x, NULL);
        hone_search_tell(s, x, &(hone_outcome){.value = {synthetic_cost(space, 1, x)}}, &err);
    }
    ok(fine, "%s/more_observations_than_a_model_takes", engine);
    free(x);
    hone_search_close(s);
    hone_space_free(space);
}

int main(void) {
    hone_space *space = mixed_space();
    hone_engine_info e;
    const char *only = getenv("HONE_ENGINE");
    size_t n = 0;
    for (size_t i = 0; hone_engine_at(i, &e); i++) {
        if (only && strcmp(e.name, only) != 0) continue;
        n++;
        ok(*e.name && *e.summary && e.options, "%s/has_name_and_summary", e.name);
        modes(e.name, space);
        repeats(e.name, space);
        resumes(e.name, space, 1);
        resumes(e.name, space, 2);
        exhausts(e.name);
        extra_rule(e.name, space);
        more_than_a_model_takes(e.name);
    }
    ok(n, "engines/some");
    if (only) return hone_space_free(space), done_testing();
    hone_space *flags = flag_space(101);
    repeats("auto", flags);
    resumes("auto", flags, 2);
    mutates(flags);
    hone_space_free(flags);
    seeds_first(space);
    best_and_retell(space);
    refuses(space);
    many();
    hone_space_free(space);
    return done_testing();
}
