/* Which parameters do something, learnt from programs that are equal: what is neutral is not varied again while the
 * program stays, what acts only together is found, and knowing costs nothing. */
#include "program.h"

#include "engine/active.h"
#include "engine/history.h"

enum { EVALS = 200, SEEDS = 3 };

typedef struct searched {
    size_t n, slots;
    double *x, y[EVALS];
    uint64_t code[EVALS];
    char origin[EVALS][12];
} searched;

static searched *new_searched(const hone_space *space) {
    searched *r = calloc(1, sizeof *r);
    r->slots = hone_space_slots(space);
    r->x = calloc(EVALS * r->slots + 1, sizeof *r->x);
    return r;
}

static void free_searched(searched *r) {
    free(r->x);
    free(r);
}

static hone_search *open_seeded(const hone_space *space, uint64_t seed) {
    hone_search_options o = hone_search_defaults();
    hone_search *s = NULL;
    hone_err err;
    o.seed = seed;
    if (hone_search_open(space, &o, &s, &err)) printf("# %s\n", err.text);
    return s;
}

/* n evaluations of the made-up program `seed`. */
static bool go(hone_search *s, searched *r, uint64_t seed, size_t n, bool told) {
    hone_err err;
    for (; n; n--, r->n++) {
        double *x = r->x + r->n * r->slots;
        if (hone_search_ask(s, x, &err)) return false;
        snprintf(r->origin[r->n], sizeof r->origin[0], "%s", hone_search_origin(s));
        r->y[r->n] = program_cost(seed, x, &r->code[r->n]);
        hone_outcome seen = {.value = {exp(r->y[r->n])}};
        if (hone_search_tell_built(s, x, &seen, told ? r->code[r->n] : 0, &err)) return false;
    }
    return true;
}

static size_t best_before(const searched *r, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (r->y[i] < r->y[best]) best = i;
    return best;
}

static bool same_value(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Was this value of a control, in a point of that program, seen before row n? */
static bool value_is_cleared(const searched *r, size_t n, uint64_t code, size_t control, double value) {
    for (size_t i = 0; i < n; i++)
        if (r->code[i] == code && same_value(r->x[i * r->slots + control], value)) return true;
    return false;
}

typedef struct varied {
    size_t mutants, again, after_change, sweeps;
} varied;

/* What mutants of the best vary: values proven neutral for the best point's program, or for an earlier one alone. */
static void look_at_mutants(const searched *r, varied *out) {
    for (size_t i = 1; i < r->n; i++) {
        size_t best = best_before(r, i);
        out->sweeps += !strcmp(r->origin[i], "sweep");
        if (strcmp(r->origin[i], "mutant")) continue;
        out->mutants++;
        for (size_t k = 0; k < r->slots; k++) {
            double from = r->x[best * r->slots + k], to = r->x[i * r->slots + k];
            if (same_value(from, to)) continue;
            out->again += value_is_cleared(r, i, r->code[best], k, to);
            for (size_t j = 0; j < i; j++) {
                if (r->code[j] == r->code[best] || !same_value(r->x[j * r->slots + k], from)) continue;
                if (!value_is_cleared(r, i, r->code[j], k, to)) continue;
                out->after_change++;
                break;
            }
        }
    }
}

static void test_neutral_is_not_varied_again(const hone_space *space) {
    varied v = {0};
    size_t n_new[2] = {0, 0};
    double cost[2] = {0, 0};
    bool together = true;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (int told = 0; told < 2; told++) {
            searched *r = new_searched(space);
            hone_search *s = open_seeded(space, seed);
            bool pair = false;
            ok(go(s, r, seed, EVALS, told), "active/searched_%s_%d", told ? "told" : "blind", (int)seed);
            if (told) look_at_mutants(r, &v);
            for (size_t i = 0; i < r->n; i++) {
                bool seen = false;
                for (size_t j = 0; j < i; j++) seen |= r->code[j] == r->code[i];
                n_new[told] += !seen;
                const double *x = r->x + i * r->slots;
                pair |= level_in_effect(seed, x, PAIR_A) && level_in_effect(seed, x, PAIR_B);
            }
            if (told) together &= pair;
            cost[told] += r->y[best_before(r, r->n)] / SEEDS;
            hone_search_close(s);
            free_searched(r);
        }
    }
    ok(v.mutants > 60 * SEEDS, "active/mutants_of_the_best (%zu)", v.mutants);
    ok(v.again == 0, "active/what_is_proven_neutral_is_not_varied_again (%zu)", v.again);
    ok(v.after_change > 0, "active/but_when_the_program_changed (%zu)", v.after_change);
    ok(v.sweeps > 0, "active/sweeps (%zu)", v.sweeps);
    ok(together, "active/what_acts_only_together_is_found");
    ok(n_new[1] > n_new[0], "active/more_programs_are_seen (%zu, blind %zu)", n_new[1], n_new[0]);
    ok(cost[1] < cost[0] + 0.05, "active/knowing_does_no_harm (%.4f, blind %.4f)", cost[1], cost[0]);
}

/* A search that was told what another was told goes on as that. */
static void test_resumed(const hone_space *space) {
    searched *a = new_searched(space), *b = new_searched(space);
    hone_search *s = open_seeded(space, 11), *t = open_seeded(space, 11);
    ok(go(s, a, 4, 120, true), "active/before_the_break");
    for (size_t i = 0; i < 90; i++) {
        hone_outcome seen = {.value = {exp(a->y[i])}};
        hone_search_tell_built(t, a->x + i * a->slots, &seen, a->code[i], NULL);
    }
    hone_search_skip(t, 90);
    ok(go(t, b, 4, 30, true), "active/after_the_break");
    ok(!memcmp(b->x, a->x + 90 * a->slots, 30 * a->slots * sizeof *b->x), "active/resumed_search_is_the_same");
    hone_search_close(s);
    hone_search_close(t);
    free_searched(a);
    free_searched(b);
}

/* A mutant that became its parent's program clears all it changed; who did it where programs differ. */
static void test_classes_and_blame(void) {
    hone_space *space = controls_space();
    hn_genes *genes;
    hn_history h;
    hn_seen_points seen = {0};
    hn_active a = {0};
    double *x = calloc(hone_space_slots(space) + 1, sizeof *x);
    hone_space_default(space, x);
    hn_genes_new(space, &genes, NULL);
    hn_history_init(&h, hone_space_slots(space), 1, 0, 0);
    hn_history_put(&h, &seen, 1, x, 1, &(double){1}, 0, HONE_RUN_OK, 77, NULL);
    for (size_t k = 0; k < 40; k++) x[k] = 1;
    x[N_SWITCHES] = 500;
    hn_history_put(&h, &seen, 1, x, 2, &(double){1}, 0, HONE_RUN_OK, 77, NULL);
    x[N_SWITCHES] = 900;
    hn_history_put(&h, &seen, 1, x, 3, &(double){1}, 0, HONE_RUN_OK, 77, NULL);
    x[50] = x[51] = 1;
    hn_history_put(&h, &seen, 1, x, 4, &(double){1}, 0, HONE_RUN_OK, 78, NULL);
    x[51] = NAN;
    hn_history_put(&h, &seen, 1, x, 5, &(double){1}, 0, HONE_RUN_OK, 77, NULL);
    hn_active_update(&a, genes, &h, NULL);
    const uint64_t *class = hn_active_class(&a, 77);
    unsigned char level;
    if (ok(class != NULL && !hn_active_class(&a, 79) && !hn_active_class(&a, 0), "active/classes_by_code")) {
        ok(hn_active_cleared(class, 0, 1) && hn_active_cleared(class, 39, 1) &&
               hn_active_cleared(class, 0, HN_ABSENT) && !hn_active_cleared(class, 0, 0) &&
               !hn_active_cleared(class, 40, 1),
           "active/a_neutral_mutant_clears_all_it_changed");
        x[N_SWITCHES] = 700;
        hn_genes_code_one(genes, N_SWITCHES, x, &level);
        bool between = hn_active_cleared(class, N_SWITCHES, level);
        x[N_SWITCHES] = 100;
        hn_genes_code_one(genes, N_SWITCHES, x, &level);
        ok(between && !hn_active_cleared(class, N_SWITCHES, level), "active/and_what_is_between_two_numbers");
    }
    ok(hn_active_chance(&a, 51) > hn_active_chance(&a, 100) && hn_active_chance(&a, 100) > hn_active_chance(&a, 0) &&
           hn_active_chance(&a, 51) > hn_active_chance(&a, 50),
       "active/blame (%.3f, %.3f; unknown %.3f, neutral %.3f)", hn_active_chance(&a, 51), hn_active_chance(&a, 50),
       hn_active_chance(&a, 100), hn_active_chance(&a, 0));
    x[N_SWITCHES] = 600;
    ok(hn_active_seen(&a, genes, x), "active/presumed_to_be_a_program_that_was_seen");
    x[60] = 0;
    ok(!hn_active_seen(&a, genes, x), "active/unless_something_new_changes");
    hn_active_free(&a);
    hn_history_free(&h);
    hn_seen_free(&seen);
    hn_genes_free(genes);
    hone_space_free(space);
    free(x);
}

int main(void) {
    hone_space *space = controls_space();
    test_classes_and_blame();
    test_neutral_is_not_varied_again(space);
    test_resumed(space);
    hone_space_free(space);
    return done_testing();
}
