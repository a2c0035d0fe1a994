/* Random pipelines under random sets of edits: what is printed reads back the same, the order of edits does not count,
 * and the count of passes follows from them. The seed is printed. */
#include "base/rng.h"
#include "tap.h"
#include "target/pipeline.h"

#include <stdlib.h>
#include <string.h>

enum { CASES = 400 };

static void some_list(hn_rng *rng, hn_str *s, int depth) {
    static const char *const name[] = {"sroa", "gvn<>", "licm<a;b>", "simplifycfg<x=1;no-y>", "require<globals-aa>"};
    static const char *const list[] = {"function", "function<eager-inv>", "loop-mssa", "cgscc", "devirt<4>"};
    for (size_t i = 0, n = 1 + hn_rng_below(rng, 6); i < n; i++) {
        hn_str_add(s, i ? "," : "");
        if (depth < 4 && !hn_rng_below(rng, 4)) {
            hn_str_addf(s, "%s(", list[hn_rng_below(rng, 5)]);
            some_list(rng, s, depth + 1);
            hn_str_add(s, ")");
        } else {
            hn_str_add(s, name[hn_rng_below(rng, 5)]);
        }
    }
}

/* At most one edit for a pass, forwards and backwards; *cuts, *repeats: of each kind. */
static void some_edits(hn_rng *rng, hn_arena *a, const hn_pipeline *p, hn_str *forth, hn_str *back, size_t *cuts,
                       size_t *repeats) {
    const char **one = HN_NEW_N(a, const char *, p->n + 1);
    size_t n = 0;
    for (size_t k = 1; k <= p->n; k++) {
        const char *const *word;
        size_t n_words;
        if (hn_rng_below(rng, 3) || hn_pipeline_edits(p, k, a, &word, &n_words, NULL)) continue;
        one[n] = word[hn_rng_below(rng, n_words)];
        *cuts += *one[n] == '-';
        *repeats += *one[n++] == '+';
    }
    for (size_t i = 0; i < n; i++) {
        hn_str_addf(forth, "%s ", one[i]);
        hn_str_addf(back, "%s ", one[n - 1 - i]);
    }
    hn_str_add(forth, "");
    hn_str_add(back, "");
}

static bool edited(const char *text, const char *edits, hn_arena *a, hn_str *out, size_t *n) {
    hn_pipeline p;
    if (hn_pipeline_parse(text, a, &p, NULL) || hn_pipeline_apply(&p, edits, a, NULL)) return false;
    hn_pipeline_print(p.root, out);
    *n = hn_pipeline_count(p.root);
    return true;
}

static bool one_case(hn_rng *rng) {
    hn_arena a = {0};
    hn_str text = {0}, forth = {0}, back = {0}, x = {0}, y = {0}, again = {0};
    hn_pipeline p;
    size_t cuts = 0, repeats = 0, n_x = 0, n_y = 0, n_again = 0;
    some_list(rng, &text, 0);
    bool fine = !hn_pipeline_parse(text.text, &a, &p, NULL);
    if (fine) some_edits(rng, &a, &p, &forth, &back, &cuts, &repeats);
    fine = fine && edited(text.text, forth.text, &a, &x, &n_x) && edited(text.text, back.text, &a, &y, &n_y);
    fine = fine && n_x == p.n - cuts + repeats && n_y == n_x;
    if (fine && n_x) fine = !strcmp(x.text, y.text) && edited(x.text, "", &a, &again, &n_again);
    if (fine && n_x) fine = n_again == n_x && !strcmp(again.text, x.text);
    if (!fine) printf("# pipeline '%s', edits '%s'\n", text.text, forth.text ? forth.text : "");
    hn_str *all[] = {&text, &forth, &back, &x, &y, &again};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hn_str_free(all[i]);
    hn_arena_free(&a);
    return fine;
}

int main(void) {
    uint64_t seed = 26;
    hn_rng rng = hn_rng_make(seed, 0);
    size_t well = 0;
    printf("# seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < CASES; i++) well += one_case(&rng);
    ok(well == CASES, "pipeline/edits_print_and_read_back_in_any_order (%zu of %d)", well, CASES);
    return done_testing();
}
