/* Properties of random small spaces, held against plain enumeration of all combinations. */
#include "space/space_int.h"
#include "tap.h"

#include <hone/space.h>

#include <math.h>

enum { N_SPACES = 150, MOST_PRODUCT = 6000, MOST_SLOTS = 64 };

/* --- random spaces ------------------------------------------------------------------------------------------- */

static uint64_t below(hn_rng *r, uint64_t n) { return hn_rng_below(r, n); }

static const char *const numbers[] = {"1", "2", "4", "8", "16", "-3", "0.5"};
static const char *const words[] = {"row", "col", "tiled", "a b", "it's", "on", "absent", "8", "\\", "ü"};
static const char *const names[] = {"A", "-f", "x.y", "B_1", "and", "k=v", "2nd"};

static hone_param random_param(hn_rng *r, size_t i) {
    hone_param p = {.name = names[i], .kind = (hone_kind)below(r, 7)};
    p.values = words + below(r, 4);
    p.n_values = 1 + below(r, 5);
    if (p.kind == HONE_ORDINAL) {
        p.values = numbers;
        p.n_values = 1 + below(r, 7);
    }
    if (p.kind == HONE_PERMUTATION) p.n_values = 1 + below(r, 3);
    if (p.kind == HONE_LITERAL) p.n_values = 1;
    if (p.kind == HONE_INT || p.kind == HONE_FLOAT) {
        double unit = p.kind == HONE_INT ? 1 : 0.25;
        p.step = unit * (double)(1 + below(r, 3));
        p.lo = unit * (double)below(r, 5);
        p.hi = p.lo + p.step * (double)below(r, 6);
        p.log = p.lo > 0 && below(r, 2);
        p.dflt = p.lo;
        p.has_seed = below(r, 2);
        p.seed_lo = p.lo;
        p.seed_hi = p.lo + (p.hi - p.lo) / 2;
    } else if (p.kind != HONE_FLAG && p.kind != HONE_LITERAL && p.kind != HONE_PERMUTATION) {
        p.dflt = (double)below(r, p.n_values);
    }
    p.optional = below(r, 3) == 0;
    if (p.optional) p.knockout = 0.4;
    if (p.optional && below(r, 2)) p.dflt = NAN;
    if (below(r, 2)) p.doc = "what it does: \"quoted\", #no comment";
    if (below(r, 3) == 0) p.tag = "codegen";
    return p;
}

/* A comparison over parameter i, of a type that compiles. */
static void add_atom(hn_rng *r, const hone_space *s, char *out, size_t n) {
    const hone_param *p = hone_space_param(s, below(r, hone_space_n_params(s)));
    static const char *const op[] = {"==", "!=", "<", "<=", ">", ">="};
    char quoted[100];
    snprintf(quoted, sizeof quoted, "`%s`", p->name);
    const char *value = p->n_values ? p->values[below(r, p->n_values)] : "";
    bool clean = !strpbrk(value, "'\\");
    switch (below(r, 8) == 0 ? HONE_PERMUTATION : p->kind) {
    case HONE_PERMUTATION: snprintf(out, n, "defined(%s)", quoted); return;
    case HONE_FLAG: snprintf(out, n, below(r, 2) ? "%s" : "%s == 'off'", quoted); return;
    case HONE_CHOICE:
    case HONE_LITERAL:
        if (clean)
            snprintf(out, n, "%s %s '%s'", quoted, op[below(r, 2)], value);
        else
            snprintf(out, n, "defined(%s)", quoted);
        return;
    default:
        snprintf(out, n, below(r, 2) ? "%s * 2 %s %d" : "%s %% 3 %s abs(%d)", quoted, op[below(r, 6)],
                 (int)below(r, 9) - 1);
    }
}

static void random_expression(hn_rng *r, const hone_space *s, char *out, size_t n) {
    char a[300], b[300];
    add_atom(r, s, a, sizeof a);
    add_atom(r, s, b, sizeof b);
    static const char *const join[] = {"%s or %s", "%s and %s", "not (%s) or %s", "(%s) == (%s)", "max(%s, %s) >= 1"};
    const char *how = join[below(r, 5)];
    if (below(r, 2))
        snprintf(out, n, "%s", a);
    else if (how == join[0])
        snprintf(out, n, "%s or %s", a, b);
    else if (how == join[1])
        snprintf(out, n, "%s and %s", a, b);
    else if (how == join[2])
        snprintf(out, n, "not (%s) or %s", a, b);
    else if (how == join[3])
        snprintf(out, n, "(%s) == (%s)", a, b);
    else
        snprintf(out, n, "max(%s, %s) >= 1", a, b);
}

static hone_space *random_space(uint64_t seed) {
    hn_rng r = hn_rng_make(seed, 77);
    hone_space *s;
    hone_err err;
    if (hone_space_new("random", &s, &err)) return NULL;
    size_t n = 2 + below(&r, 5);
    for (size_t i = 0; i < n; i++) {
        hone_param p = random_param(&r, i);
        char when[700];
        if (i && below(&r, 3) == 0) {
            random_expression(&r, s, when, sizeof when);
            p.when = when;
        }
        if (hone_space_add(s, &p, &err)) printf("# %s\n", err.text);
    }
    for (size_t k = below(&r, 4); k > 0; k--) {
        char text[700];
        random_expression(&r, s, text, sizeof text);
        if (hone_space_constrain(s, text, &err)) printf("# %s\n", err.text);
    }
    if (!hone_space_seal(s, &err)) return s;
    printf("# seed %llu: %s\n", (unsigned long long)seed, err.text);
    hone_space_free(s);
    return NULL;
}

/* --- enumeration --------------------------------------------------------------------------------------------- */

typedef struct list {
    double *point;
    size_t n, slots;
} list;

/* Order number k of n items. */
static void nth_permutation(size_t k, size_t n, double *slot) {
    double left[8];
    for (size_t i = 0; i < n; i++) left[i] = (double)i;
    for (size_t i = 0; i < n; i++) {
        size_t at = k % (n - i);
        k /= n - i;
        slot[i] = left[at];
        memmove(left + at, left + at + 1, (n - i - at - 1) * sizeof *left);
    }
}

static size_t states_of(const hone_space *s, size_t i) { return (size_t)hn_gene_levels(s, i) + 1; }

static void set_state(const hone_space *s, size_t i, size_t k, double *point) {
    const hone_param *p = hone_space_param(s, i);
    double *slot = point + p->slot;
    for (size_t j = 0; j < p->n_slots; j++) slot[j] = NAN;
    if (k == states_of(s, i) - 1) return;
    if (p->kind == HONE_PERMUTATION)
        nth_permutation(k, p->n_slots, slot);
    else
        *slot = hn_gene_value(s, i, (double)k);
}

/* Every legal point, by trying all combinations with absence. False when they are too many. */
static bool enumerate(const hone_space *s, list *out) {
    size_t product = 1, n = hone_space_n_params(s), slots = hone_space_slots(s);
    for (size_t i = 0; i < n; i++) product *= states_of(s, i);
    if (product > MOST_PRODUCT || slots > MOST_SLOTS) return false;
    out->point = malloc(product * slots * sizeof(double) + 1);
    out->n = 0;
    out->slots = slots;
    for (size_t k = 0; k < product; k++) {
        size_t rest = k;
        double *point = out->point + out->n * slots;
        for (size_t i = 0; i < n; i++) {
            set_state(s, i, rest % states_of(s, i), point);
            rest /= states_of(s, i);
        }
        out->n += hone_point_legal(s, point, NULL);
    }
    return true;
}

static size_t find_point(const hone_space *s, const list *all, const double *point) {
    for (size_t k = 0; k < all->n; k++)
        if (hone_point_equal(s, all->point + k * all->slots, point)) return k;
    return SIZE_MAX;
}

/* --- properties ---------------------------------------------------------------------------------------------- */

typedef struct tally {
    size_t spaces, empty, count, sample, cover, canon, hash, repair, minimal, json, yaml, proof;
} tally;

static void blame(uint64_t seed, const hone_space *s, const char *what) {
    char *text;
    if (hone_space_print(s, &text, NULL)) return;
    printf("# seed %llu: %s\n", (unsigned long long)seed, what);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) printf("#   %s\n", line);
    free(text);
}

static bool check_hashes(const hone_space *s, const list *all) {
    size_t step = all->n / 150 + 1;
    for (size_t a = 0; a < all->n; a += step)
        for (size_t b = 0; b < a; b += step) {
            const double *x = all->point + a * all->slots, *y = all->point + b * all->slots;
            if ((hone_point_hash(s, x) == hone_point_hash(s, y)) != hone_point_equal(s, x, y)) return false;
        }
    return true;
}

static bool check_canon(const hone_space *s, uint64_t seed) {
    double a[MOST_SLOTS], b[MOST_SLOTS];
    hn_rng r = hn_rng_make(seed, 5);
    for (int k = 0; k < 30; k++) {
        for (size_t i = 0; i < hone_space_slots(s); i++) a[i] = below(&r, 5) ? 12 * hn_rng_unit(&r) - 3 : NAN;
        hone_point_canon(s, a);
        memcpy(b, a, sizeof b);
        hone_point_canon(s, b);
        hone_err why = {0};
        if (!hone_point_equal(s, a, b)) return false;
        if (!hone_point_legal(s, a, &why) && !strstr(why.text, "constraint")) return false;
    }
    return true;
}

static bool check_json(const hone_space *s, const double *point) {
    double back[MOST_SLOTS];
    char *json, *again = NULL;
    if (hone_point_to_json(s, point, &json, NULL)) return false;
    hone_err err = {0};
    bool good = !hone_point_from_json(s, json, back, &err) && hone_point_equal(s, point, back) &&
                !hone_point_to_json(s, back, &again, NULL) && !strcmp(json, again);
    if (!good) printf("# %s: %s\n", json, err.text);
    free(json);
    free(again);
    return good;
}

static bool same_text(const char *a, const char *b) { return (!a || !b) ? a == b : !strcmp(a, b); }
static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool check_yaml(const hone_space *s) {
    char *text = NULL, *again = NULL, h1[33], h2[33];
    hone_space *t = NULL;
    hone_err err = {0};
    bool good = !hone_space_print(s, &text, &err) && !hone_space_parse(text, strlen(text), "printed", &t, &err) &&
                !hone_space_print(t, &again, &err) && !strcmp(text, again);
    if (!good) printf("# %s\n", err.text);
    if (good) {
        hone_space_hash(s, h1);
        hone_space_hash(t, h2);
        good = !strcmp(h1, h2);
        for (size_t i = 0; i < hone_space_n_params(s) && good; i++) {
            const hone_param *p = hone_space_param(s, i), *q = hone_space_param(t, i);
            good = same_text(p->doc, q->doc) && same_text(p->tag, q->tag) && same_number(p->dflt, q->dflt) &&
                   p->knockout == q->knockout && p->has_seed == q->has_seed && p->seed_lo == q->seed_lo &&
                   p->seed_hi == q->seed_hi && p->log == q->log;
        }
    }
    free(text);
    free(again);
    hone_space_free(t);
    return good;
}

/* Smallest number of parameters in which a legal point differs from this one. */
static size_t nearest_legal(const hone_space *s, const list *all, const double *point) {
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < all->n; k++) {
        size_t d = 0;
        for (size_t i = 0; i < hone_space_n_params(s); i++) {
            size_t slot = hone_space_param(s, i)->slot;
            bool present = !isnan(point[slot]) && !isnan(all->point[k * all->slots + slot]);
            d += present && all->point[k * all->slots + slot] != point[slot];
        }
        best = d < best ? d : best;
    }
    return best;
}

static bool check_repair(const hone_space *s, const list *all, uint64_t seed, bool *minimal) {
    double a[MOST_SLOTS], b[MOST_SLOTS];
    hn_rng r = hn_rng_make(seed, 6);
    for (int k = 0; k < 10; k++) {
        hn_space_draw(s, &r, false, a);
        memcpy(b, a, sizeof b);
        if (hone_point_repair(s, seed + (uint64_t)k, b, NULL) || !hone_point_legal(s, b, NULL)) return false;
        bool was = hone_point_legal(s, a, NULL);
        if (was && !hone_point_equal(s, a, b)) return false;
        size_t changed = 0;
        for (size_t i = 0; i < hone_space_n_params(s); i++) {
            size_t slot = hone_space_param(s, i)->slot;
            changed += !isnan(a[slot]) && !isnan(b[slot]) && a[slot] != b[slot];
        }
        if (nearest_legal(s, all, a) == 1 && changed > 2) *minimal = false;
    }
    return true;
}

/* Draws are legal, a function of the seed, and reach every point of a tiny space. */
static bool check_sample(const hone_space *s, const list *all, bool *cover) {
    double a[MOST_SLOTS], b[MOST_SLOTS];
    bool *seen = calloc(all->n + 1, 1), good = true;
    size_t n_seen = 0, n = all->n <= 20 ? 3000 : 60;
    for (uint64_t k = 0; k < n && good; k++) {
        good = !hone_space_sample(s, k, k % 8 == 7, a, NULL);
        size_t at = good ? find_point(s, all, a) : SIZE_MAX;
        good = good && at != SIZE_MAX && !hone_space_sample(s, k, k % 8 == 7, b, NULL) && hone_point_equal(s, a, b);
        if (good && !seen[at]) n_seen++;
        if (good) seen[at] = true;
    }
    *cover = all->n > 20 || n_seen == all->n;
    free(seen);
    return good;
}

static void check_space(uint64_t seed, const hone_space *s, const list *all, tally *t) {
    hone_count count;
    hone_err err = {0};
    double point[MOST_SLOTS];
    bool good = !hone_space_size(s, seed, &count, &err) && count.exact && count.n == (double)all->n &&
                count.lo == count.n && count.hi == count.n;
    if (!good) blame(seed, s, "count"), printf("# %g, enumerated %zu\n", count.n, all->n);
    t->count += !good;
    good = check_canon(s, seed);
    if (!good) blame(seed, s, "canon");
    t->canon += !good;
    good = check_hashes(s, all);
    if (!good) blame(seed, s, "hash");
    t->hash += !good;
    good = check_yaml(s);
    if (!good) blame(seed, s, "yaml");
    t->yaml += !good;
    if (!all->n) {
        good = hone_space_sample(s, 1, false, point, &err) == HONE_E_EMPTY && strstr(err.text, "(proved)");
        if (!good) blame(seed, s, "proof");
        t->proof += !good;
        t->empty++;
        return;
    }
    bool cover = true, minimal = true;
    good = check_sample(s, all, &cover);
    if (!good || !cover) blame(seed, s, good ? "cover" : "sample");
    t->sample += !good;
    t->cover += !cover;
    good = check_repair(s, all, seed, &minimal);
    if (!good || !minimal) blame(seed, s, good ? "minimal" : "repair");
    t->repair += !good;
    t->minimal += !minimal;
    for (size_t k = 0; k < all->n; k += all->n / 40 + 1) t->json += !check_json(s, all->point + k * all->slots);
}

int main(void) {
    tally t = {0};
    uint64_t first = 1;
    printf("# seeds from %llu\n", (unsigned long long)first);
    for (uint64_t seed = first; t.spaces < N_SPACES && seed < first + 10 * N_SPACES; seed++) {
        hone_space *s = random_space(seed);
        list all = {0};
        if (s && enumerate(s, &all)) {
            t.spaces++;
            check_space(seed, s, &all, &t);
        }
        free(all.point);
        hone_space_free(s);
    }
    ok(t.spaces == N_SPACES, "space/random_spaces_seal (%zu, %zu of them empty)", t.spaces, t.empty);
    ok(t.empty > 0 && t.proof == 0, "space/emptiness_is_proved");
    ok(t.count == 0, "space/count_equals_enumeration");
    ok(t.sample == 0, "space/sample_is_legal_and_repeats");
    ok(t.cover == 0, "space/sample_reaches_all_points");
    ok(t.canon == 0, "space/canon_is_idempotent");
    ok(t.hash == 0, "space/hash_equal_iff_equal");
    ok(t.repair == 0, "space/repair_is_legal_and_keeps_legal_points");
    ok(t.minimal == 0, "space/repair_changes_few");
    ok(t.json == 0, "space/json_round_trips");
    ok(t.yaml == 0, "space/yaml_round_trips");
    return done_testing();
}
