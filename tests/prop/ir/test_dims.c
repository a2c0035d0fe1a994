/* Random dimension expressions: the canonical form is the value's. */
#include "base/rng.h"
#include "base/str.h"
#include "ir/dim.h"
#include "tap.h"

enum { N_SYMBOLS = 4, N_POINTS = 24 };

/* A random tree, built in a table and evaluated by plain arithmetic beside it. */
typedef struct tree {
    hn_dim d;
    int64_t at[N_POINTS];
    bool defined[N_POINTS]; /* no overflow, no division by 0 */
} tree;

static int64_t point[N_POINTS][N_SYMBOLS];

static int64_t floored(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static void leaf(hn_dims *t, hn_rng *r, tree *out) {
    unsigned s = (unsigned)hn_rng_below(r, N_SYMBOLS + 2);
    int64_t c = (int64_t)hn_rng_below(r, 11) - 4;
    char name[2] = {(char)('a' + s), 0};
    out->d = s < N_SYMBOLS ? hn_dim_find(t, name) : hn_dim_int(t, c);
    for (int i = 0; i < N_POINTS; i++) {
        out->at[i] = s < N_SYMBOLS ? point[i][s] : c;
        out->defined[i] = true;
    }
}

static void apply(hn_dims *t, unsigned op, const tree *x, const tree *y, tree *out) {
    hn_dim (*const make[])(hn_dims *, hn_dim, hn_dim) = {hn_dim_add, hn_dim_sub, hn_dim_mul, hn_dim_floordiv,
                                                         hn_dim_mod, hn_dim_min, hn_dim_max, hn_dim_ceildiv};
    out->d = make[op](t, x->d, y->d);
    for (int i = 0; i < N_POINTS; i++) {
        int64_t a = x->at[i], b = y->at[i], v = 0;
        bool good = x->defined[i] && y->defined[i] && (op == 3 || op == 4 || op == 7 ? b != 0 : true);
        if (good) {
            switch (op) {
            case 0: v = a + b; break;
            case 1: v = a - b; break;
            case 2: v = a * b; break;
            case 3: v = floored(a, b); break;
            case 4: v = a - b * floored(a, b); break;
            case 5: v = a < b ? a : b; break;
            case 6: v = a > b ? a : b; break;
            default: v = -floored(-a, b);
            }
        }
        out->at[i] = v;
        out->defined[i] = good && v < 100000 && v > -100000;
    }
}

static void grow(hn_dims *t, hn_rng *r, unsigned depth, unsigned n_ops, tree *out) {
    if (depth == 0 || hn_rng_below(r, 5) == 0) {
        leaf(t, r, out);
        return;
    }
    tree x, y;
    grow(t, r, depth - 1, n_ops, &x);
    grow(t, r, depth - 1, n_ops, &y);
    apply(t, (unsigned)hn_rng_below(r, n_ops), &x, &y, out);
}

static hn_dims *table(hn_arena *a) {
    hn_dims *t = hn_dims_new(a);
    for (int s = 0; s < N_SYMBOLS; s++) {
        char name[2] = {(char)('a' + s), 0};
        hn_dim_symbol(t, name, s == 3 ? 1 : 0, s == 2 ? 12 : INT64_MAX);
    }
    return t;
}

static void make_points(hn_rng *r) {
    for (int i = 0; i < N_POINTS; i++) {
        for (int s = 0; s < N_SYMBOLS; s++) point[i][s] = (int64_t)hn_rng_below(r, 13) + (s == 3);
        point[i][2] = point[i][2] > 12 ? 12 : point[i][2];
    }
}

/* Where a tree has a value the expression has the same, in its range. */
static bool values_agree(const hn_dims *t, const tree *x) {
    int64_t low, high, v;
    hn_dim_range(t, x->d, &low, &high);
    for (int i = 0; i < N_POINTS; i++) {
        if (!x->defined[i]) continue;
        if (!hn_dim_eval(t, x->d, point[i], &v)) return false;
        if (v != x->at[i] || v < low || v > high) return false;
    }
    return true;
}

static bool text_agrees(hn_arena *a, hn_dims *t, hn_dim d) {
    hn_str first = {0}, second = {0};
    hn_dims *other = table(a);
    hn_dim_print(t, d, &first);
    const char *at = first.text;
    bool same = hn_dim_parse(t, &at) == d && !*at;
    at = first.text;
    hn_dim_print(other, hn_dim_parse(other, &at), &second);
    same &= second.text && !strcmp(first.text, second.text);
    if (!same) printf("# '%s' reads back as '%s'\n", first.text, second.text ? second.text : "");
    hn_str_free(&first);
    hn_str_free(&second);
    return same;
}

/* Polynomials: equal form exactly where all values are equal (degree and number of points make chance hits rare, and
 * the seed is fixed). Others: equal form means equal values. */
static void forms(unsigned n_ops, const char *name) {
    hn_rng r = hn_rng_make(5, n_ops);
    int wrong_value = 0, wrong_form = 0, wrong_text = 0, wrong_copy = 0, wrong_known = 0;
    for (int round = 0; round < 60; round++) {
        hn_arena a = {0};
        hn_dims *t = table(&a), *other = table(&a);
        tree x[20];
        make_points(&r);
        for (int i = 0; i < 20; i++) {
            grow(t, &r, 3, n_ops, &x[i]);
            if (!x[i].d) continue;
            wrong_value += !values_agree(t, &x[i]);
            wrong_text += !text_agrees(&a, t, x[i].d);
            hn_dim there = hn_dim_copy(other, t, x[i].d, NULL);
            wrong_copy += hn_dim_copy(t, other, there, NULL) != x[i].d;
        }
        for (int i = 0; i < 20; i++) {
            for (int k = 0; k < i; k++) {
                bool all = true, any = false;
                for (int p = 0; p < N_POINTS; p++) {
                    bool both = x[i].defined[p] && x[k].defined[p];
                    all &= both && x[i].at[p] == x[k].at[p];
                    any |= both && x[i].at[p] == x[k].at[p];
                }
                if (!x[i].d || !x[k].d) continue;
                hn_known_equal known = hn_dim_equal(t, x[i].d, x[k].d);
                if (n_ops == 3) wrong_form += all != (x[i].d == x[k].d);
                if (known == HN_DIFFERENT) wrong_known += any;
                if (known == HN_EQUAL)
                    for (int p = 0; p < N_POINTS; p++)
                        wrong_known += x[i].defined[p] && x[k].defined[p] && x[i].at[p] != x[k].at[p];
            }
        }
        hn_arena_free(&a);
    }
    ok(!wrong_value, "dims/%s_values", name);
    ok(!wrong_form, "dims/%s_form_is_the_value", name);
    ok(!wrong_text, "dims/%s_text_reads_back", name);
    ok(!wrong_copy, "dims/%s_copies", name);
    ok(!wrong_known, "dims/%s_equality", name);
}

/* Under a set of equalities every expression keeps its value at the points where they hold. */
static void relations(void) {
    hn_rng r = hn_rng_make(9, 0);
    int wrong = 0, n_checked = 0;
    for (int round = 0; round < 300; round++) {
        hn_arena a = {0};
        hn_dims *t = table(&a);
        tree x[8];
        make_points(&r);
        for (int i = 0; i < 8; i++) grow(t, &r, 2, 7, &x[i]);
        for (int i = 0; i + 1 < 4; i += 2)
            if (hn_dim_equal(t, x[i].d, x[i + 1].d) != HN_DIFFERENT) hn_dim_assume_equal(t, x[i].d, x[i + 1].d);
        for (int p = 0; p < N_POINTS; p++) {
            const hn_relation *list;
            size_t n = hn_dim_relations(t, &list);
            bool holds = true;
            int64_t u, v;
            for (size_t i = 0; i < n; i++)
                holds &= hn_dim_eval(t, list[i].a, point[p], &u) && hn_dim_eval(t, list[i].b, point[p], &v) && u == v;
            for (int i = 0; holds && i < 8; i++) {
                if (!x[i].d || !x[i].defined[p]) continue;
                n_checked++;
                wrong += hn_dim_eval(t, x[i].d, point[p], &v) && v != x[i].at[p];
            }
        }
        hn_arena_free(&a);
    }
    ok(!wrong && n_checked > 1000, "dims/equalities_keep_values");
}

int main(void) {
    forms(3, "polynomial");
    forms(8, "general");
    relations();
    return done_testing();
}
