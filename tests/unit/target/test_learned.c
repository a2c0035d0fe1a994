/* Learned seeds: what a wrong table can cost. Tables of lies are planted: whatever they hold, every rule still comes,
 * in its order, at most HN_LEARNED_MOST evaluations later than without them, and a twentieth of the budget. */
#include "base/rng.h"
#include "tap.h"
#include "target/family.h"

#include <string.h>

enum { RULES = 17, LIES = 40, ROUNDS = 200 };

static const char *const rule[RULES + 1] = {"r0", "r1",  "r2",  "r3",  "r4",  "r5",  "r6",  "r7",  "r8",
                                            "r9", "r10", "r11", "r12", "r13", "r14", "r15", "r16", NULL};

static bool rules_follow(const char *const *row, size_t ahead) {
    bool same = true;
    for (size_t i = 0; i < RULES; i++) same &= row[ahead + i] == rule[i];
    return same && !row[ahead + RULES];
}

/* Random tables, of objectives of all sorts. */
static void test_lies(void) {
    static const char *const objective[] = {"size", "time", "beauty"};
    const char *row[HN_LEARNED_MOST + RULES + 1];
    hn_rng rng = hn_rng_make(26, 0);
    bool follow = true, few = true, right = true;
    for (int round = 0; round < ROUNDS; round++) {
        hn_learned lie[LIES + 1] = {{NULL, NULL}};
        size_t n = hn_rng_below(&rng, LIES + 1), most = hn_rng_below(&rng, HN_LEARNED_MOST + 3), of_it = 0;
        for (size_t i = 0; i < n; i++) {
            lie[i] = (hn_learned){objective[hn_rng_below(&rng, 3)], "-O 0"};
            of_it += !strcmp(lie[i].objective, "size");
        }
        size_t ahead = hn_seeds_order(lie, most, rule, "size", row);
        follow &= rules_follow(row, ahead);
        few &= ahead <= HN_LEARNED_MOST;
        if (most > HN_LEARNED_MOST) most = HN_LEARNED_MOST;
        right &= ahead == (of_it < most ? of_it : most);
    }
    ok(follow, "learned/every_rule_follows_in_its_order");
    ok(few, "learned/lies_cost_at_most_%d_evaluations", HN_LEARNED_MOST);
    ok(right, "learned/only_what_is_for_the_objective");
}

/* A twentieth of a search's evaluations, but one from 8 on. */
static void test_budgets(void) {
    bool few = true, some = true;
    for (size_t budget = 1; budget < 1000; budget++) {
        size_t most = hn_learned_most(budget);
        few &= most <= HN_LEARNED_MOST && (20 * most <= budget || most == 1);
        some &= (budget >= 8) == (most >= 1);
    }
    ok(few, "learned/lies_cost_one_evaluation_or_a_twentieth_of_a_budget");
    ok(some && hn_learned_most(60) == HN_LEARNED_MOST && hn_learned_most(0) == HN_LEARNED_MOST,
       "learned/where_there_is_room_it_is_tried");
}

static void test_edges(void) {
    const hn_learned one[] = {{"size", "-O z"}, {NULL, NULL}}, none[] = {{NULL, NULL}};
    const char *row[HN_LEARNED_MOST + RULES + 1];
    ok(hn_seeds_order(one, HN_LEARNED_MOST, rule, "size", row) == 1 && row[0] == one[0].genes && rules_follow(row, 1),
       "learned/one_comes_first");
    ok(hn_seeds_order(one, HN_LEARNED_MOST, rule, NULL, row) == 0 && rules_follow(row, 0),
       "learned/no_objective_no_prior");
    ok(hn_seeds_order(none, HN_LEARNED_MOST, rule, "size", row) == 0 && rules_follow(row, 0), "learned/an_empty_table");
    ok(hn_seeds_order(NULL, HN_LEARNED_MOST, rule, "size", row) == 0 && rules_follow(row, 0), "learned/no_table");
}

int main(void) {
    test_lies();
    test_budgets();
    test_edges();
    return done_testing();
}
