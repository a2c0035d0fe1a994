/* Controls files with random contents: text and back; no single damage passes; signatures. The seed is printed. */
#include "base/arena.h"
#include "base/rng.h"
#include "record/controls_file.h"
#include "tap.h"

#include <math.h>

typedef struct maker {
    hn_rng rng;
    hn_arena a;
} maker;

static size_t below(maker *m, size_t n) { return (size_t)hn_rng_below(&m->rng, n); }

/* Texts of every kind that YAML has a meaning for. */
static const char *some_text(maker *m) {
    static const char *const piece[] = {"a",        " ", ":", "- ",   "#",  "\"", "'", "\\",          "\n", "\t",
                                        "\xc3\xa9", "{", "[", "null", "on", "1",  ".", "e",           "=",  "-f",
                                        "%",        "@", "&", "*",    "|",  "~",  ",", "\xe2\x80\xa8"};
    hn_str s = {0};
    for (size_t k = below(m, 9); k > 0; k--) hn_str_add(&s, piece[below(m, sizeof piece / sizeof *piece)]);
    char *text = hn_str_take(&s);
    const char *kept = hn_strdup(&m->a, text);
    free(text);
    return kept;
}

static double some_number(maker *m) {
    double x = hn_rng_unit(&m->rng) * 2 - 0.5;
    return ldexp(x, (int)below(m, 200) - 100);
}

/* Names differ by their number. */
static hone_pair *some_pairs(maker *m, size_t *n) {
    *n = below(m, 5);
    hone_pair *p = HN_NEW_N(&m->a, hone_pair, *n + 1);
    for (size_t i = 0; i < *n; i++) p[i] = (hone_pair){hn_format(&m->a, "%s%zu", some_text(m), i), some_text(m)};
    return p;
}

static hone_interval some_interval(maker *m) {
    if (!below(m, 4)) return (hone_interval){(double)NAN, (double)NAN, (double)NAN};
    return (hone_interval){some_number(m), some_number(m), some_number(m)};
}

static hone_distribution some_distribution(maker *m) {
    if (!below(m, 3)) return (hone_distribution){0};
    return (hone_distribution){1 + below(m, 1000), some_number(m), some_number(m), some_number(m),
                               some_number(m),     some_number(m), some_number(m), some_number(m)};
}

static const char *some_point(maker *m) {
    hn_str s = {0};
    hn_str_add(&s, "{");
    for (size_t i = 0, n = below(m, 8); i < n; i++) {
        char number[32];
        hn_str_addf(&s, "%s\"%sp%zu\":", i ? "," : "", below(m, 2) ? "cc." : "", i);
        switch (below(m, 5)) {
        case 0: hn_str_addf(&s, "%zu", below(m, 1000)); break;
        case 1: hn_str_add(&s, hn_double_text(some_number(m), number)); break;
        case 2: hn_str_add(&s, below(m, 2) ? "true" : "false"); break;
        case 3: hn_str_add(&s, "[\"b\",\"a: 1\",\"3\"]"); break;
        default: hn_str_add(&s, below(m, 2) ? "\"on\"" : "\"3\"");
        }
    }
    hn_str_add(&s, "}");
    char *text = hn_str_take(&s);
    const char *kept = hn_strdup(&m->a, text);
    free(text);
    return kept;
}

static hone_controls some_controls(maker *m) {
    hone_controls c = {.format = HONE_CONTROLS_FORMAT, .compiler = "cc", .response_hash = "", .signer = ""};
    const char **member[] = {&c.name,          &c.version,    &c.created,  &c.floating_point, &c.workload,
                             &c.workload_hash, &c.space_hash, &c.baseline, &c.verdict};
    for (size_t i = 0; i < sizeof member / sizeof *member; i++) *member[i] = some_text(m);
    c.point = some_point(m);
    c.pgo = below(m, 2);
    c.n_flags = below(m, 6);
    c.flag = HN_NEW_N(&m->a, const char *, c.n_flags + 1);
    for (size_t i = 0; i < c.n_flags; i++) c.flag[i] = some_text(m);
    c.environment = some_pairs(m, &c.n_environment);
    c.post_link = some_pairs(m, &c.n_post_link);
    c.file = some_pairs(m, &c.n_files);
    c.passes = some_pairs(m, &c.n_passes);
    c.rule = some_pairs(m, &c.n_rules);
    c.source = some_pairs(m, &c.n_sources);
    c.input = some_pairs(m, &c.n_inputs);
    c.tool = some_pairs(m, &c.n_tool);
    c.baseline_tool = some_pairs(m, &c.n_baseline_tool);
    c.machine = some_pairs(m, &c.n_machine);
    c.n_pairs = below(m, 1000);
    c.n_variants = below(m, 20);
    c.claimed = below(m, 2) ? some_number(m) : (double)NAN;
    c.n_rows = below(m, 4);
    c.row = HN_NEW_N(&m->a, hone_controls_row, c.n_rows + 1);
    for (size_t i = 0; i < c.n_rows; i++)
        c.row[i] = (hone_controls_row){some_text(m),     some_text(m),         below(m, 2) == 1,
                                       some_interval(m), some_distribution(m), some_distribution(m)};
    c.n_shares = below(m, 4);
    c.share = HN_NEW_N(&m->a, hone_share, c.n_shares + 1);
    for (size_t i = 0; i < c.n_shares; i++)
        c.share[i] = (hone_share){hn_format(&m->a, "%s%zu", some_text(m), i), some_interval(m)};
    c.n_before = below(m, 100);
    c.session = (int64_t)below(m, 1000);
    return c;
}

static bool same_pairs(const hone_pair *a, size_t n_a, const hone_pair *b, size_t n_b) {
    bool same = n_a == n_b;
    for (size_t i = 0; same && i < n_a; i++) same = !strcmp(a[i].name, b[i].name) && !strcmp(a[i].value, b[i].value);
    return same;
}

static bool same(const hone_controls *a, const hone_controls *b) {
    bool flags = a->n_flags == b->n_flags;
    for (size_t i = 0; flags && i < a->n_flags; i++) flags = !strcmp(a->flag[i], b->flag[i]);
    return flags && !strcmp(a->verdict, b->verdict) && !strcmp(a->name, b->name) && !strcmp(a->baseline, b->baseline) &&
           same_pairs(a->rule, a->n_rules, b->rule, b->n_rules) &&
           same_pairs(a->source, a->n_sources, b->source, b->n_sources) &&
           same_pairs(a->input, a->n_inputs, b->input, b->n_inputs) &&
           same_pairs(a->tool, a->n_tool, b->tool, b->n_tool) &&
           same_pairs(a->machine, a->n_machine, b->machine, b->n_machine) &&
           same_pairs(a->environment, a->n_environment, b->environment, b->n_environment) &&
           same_pairs(a->post_link, a->n_post_link, b->post_link, b->n_post_link) &&
           same_pairs(a->file, a->n_files, b->file, b->n_files) &&
           same_pairs(a->passes, a->n_passes, b->passes, b->n_passes) && a->pgo == b->pgo && a->n_rows == b->n_rows &&
           a->n_shares == b->n_shares && a->session == b->session;
}

/* Text, contents, text; then the text with one byte changed, left out or doubled. */
static void one(maker *m, size_t *differs, size_t *unequal, size_t *passes) {
    hone_controls c = some_controls(m), *back = NULL, *bad = NULL;
    char *text = NULL, *again = NULL;
    hone_err err = {0};
    hone_rc rc = hone_controls_text(&c, &text, &err);
    if (!rc) rc = hone_controls_parse(text, strlen(text), "x", &back, &err);
    if (!rc) rc = hone_controls_text(back, &again, &err);
    if (rc) printf("# %s\n", err.text);
    *differs += rc || strcmp(text, again) != 0;
    *unequal += !rc && !same(&c, back);
    size_t n = text ? strlen(text) : 0;
    for (int k = 0; !rc && k < 10; k++) {
        char *copy = malloc(n + 2);
        size_t at = below(m, n);
        memcpy(copy, text, n + 1);
        size_t len = n;
        if (k % 3 == 0) copy[at] = (char)(copy[at] ^ (1 + (int)below(m, 255)));
        if (k % 3 == 1) memmove(copy + at, copy + at + 1, n - at), len--;
        if (k % 3 == 2) memmove(copy + at + 1, copy + at, n - at + 1), len++;
        if (hone_controls_parse(copy, len, "x", &bad, NULL) == HONE_OK) {
            ++*passes;
            hone_controls_free(bad);
        }
        free(copy);
    }
    hone_controls_free(back);
    hone_free(text);
    hone_free(again);
}

int main(void) {
    const char *given = getenv("HONE_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20260131;
    size_t n = 400, differs = 0, unequal = 0, passes = 0;
    printf("# HONE_SEED=%llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < n; i++) {
        maker m = {.rng = hn_rng_make(seed, i)};
        one(&m, &differs, &unequal, &passes);
        hn_arena_free(&m.a);
    }
    ok(differs == 0, "controls/random_text_reads_back_to_the_same_bytes (%zu of %zu do not)", differs, n);
    ok(unequal == 0, "controls/random_contents_survive (%zu of %zu do not)", unequal, n);
    ok(passes == 0, "controls/no_damaged_byte_passes (%zu do)", passes);
    return done_testing();
}
