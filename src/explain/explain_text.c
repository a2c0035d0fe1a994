/* explain/explain_text.c — functions of the source are compared with all their clones; a function that has none left
 * was inlined. Functions with most instructions in loops come first, as the time per function is not known here.
 */
#include "explain/explain_text.h"

#include "base/err.h"
#include "explain/said.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CALLEES_SHOWN = 3 };

/* What objdump calls all the code of a program without symbols. */
#define STRIPPED ".text"

/* One function of the source on both sides. */
typedef struct pair {
    const char *name;
    double count[2][HN_N_CODE_COUNTS];
    size_t n_clones[2];          /* 0: not there */
    const hn_function *shown[2]; /* the clone with most in loops */
    bool differs;
    uint64_t shape[2]; /* of all clones, whatever their order */
} pair;

typedef struct comparison {
    hn_explaining to;
    const hn_comparand *c;
    pair *pair;
    size_t n;
} comparison;

/* --- pairing --------------------------------------------------------------------------------------------------------
 */

static bool is_start_up(const char *name) {
    static const char *const known[] = {"_start",
                                        "_init",
                                        "_fini",
                                        "deregister_tm_clones",
                                        "register_tm_clones",
                                        "__do_global_dtors_aux",
                                        "frame_dummy",
                                        "_dl_relocate_static_pie",
                                        "__libc_csu_init",
                                        "__libc_csu_fini",
                                        "atexit",
                                        "call_weak_fn"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i])) return true;
    bool section = *name == '.' && strcmp(name, STRIPPED) != 0; /* a stripped program has sections for functions */
    return section || strstr(name, "@plt") != NULL || hn_starts_with(name, "hone_bench_") ||
           hn_starts_with(name, "hn_bench_");
}

static pair *pair_of(comparison *x, const char *symbol, int side) {
    const char *name = hn_family_of_command(x->c->compiler[side])->source_name(x->to.a, symbol);
    for (size_t i = 0; name && i < x->n; i++)
        if (!strcmp(x->pair[i].name, name)) return &x->pair[i];
    x->pair[x->n] = (pair){.name = name};
    return name ? &x->pair[x->n++] : NULL;
}

/* Adds the counts; maxima are combined by their maximum. */
static void add_counts(double *sum, const double *more) {
    for (int k = 0; k < HN_N_CODE_COUNTS; k++) {
        bool largest = k == HN_CODE_LARGEST_INNER || k == HN_CODE_WIDEST || k == HN_CODE_WIDEST_IN_LOOPS;
        sum[k] = largest ? fmax(sum[k], more[k]) : sum[k] + more[k];
    }
}

static void add_side(comparison *x, const hn_disassembly *d, int side) {
    for (size_t i = 0; i < d->n; i++) {
        const hn_function *f = &d->function[i];
        pair *p = is_start_up(f->name) ? NULL : pair_of(x, f->name, side);
        if (!p) continue;
        add_counts(p->count[side], f->count);
        p->n_clones[side]++;
        char half[17];
        memcpy(half, f->shape, 16);
        half[16] = 0;
        p->shape[side] += strtoull(half, NULL, 16);
        const hn_function *s = p->shown[side];
        if (!s || f->count[HN_CODE_IN_LOOPS] > s->count[HN_CODE_IN_LOOPS]) p->shown[side] = f;
    }
}

static bool is_foreign(const comparison *x, const char *name) {
    for (size_t i = 0; i < x->c->n_foreign; i++)
        if (!strcmp(name, x->c->foreign[i])) return true;
    return false;
}

static double in_loops(const pair *p) { return fmax(p->count[0][HN_CODE_IN_LOOPS], p->count[1][HN_CODE_IN_LOOPS]); }
static double in_all(const pair *p) {
    return fmax(p->count[0][HN_CODE_INSTRUCTIONS], p->count[1][HN_CODE_INSTRUCTIONS]);
}

static int by_weight(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (in_loops(x) != in_loops(y)) return in_loops(x) < in_loops(y) ? 1 : -1;
    if (in_all(x) != in_all(y)) return in_all(x) < in_all(y) ? 1 : -1;
    return strcmp(x->name, y->name);
}

static bool make_pairs(comparison *x) {
    size_t most = x->c->baseline.n + x->c->tuned.n, kept = 0;
    x->pair = HN_NEW_N(x->to.a, pair, most + 1);
    if (!x->pair) return false;
    add_side(x, &x->c->baseline, 0);
    add_side(x, &x->c->tuned, 1);
    for (size_t i = 0; i < x->n; i++) {
        pair *p = &x->pair[i];
        p->differs = p->n_clones[0] != p->n_clones[1] || p->shape[0] != p->shape[1];
        if (p->differs || !is_foreign(x, p->name)) x->pair[kept++] = *p;
    }
    x->n = kept;
    qsort(x->pair, x->n, sizeof *x->pair, by_weight);
    return true;
}

/* --- facts ----------------------------------------------------------------------------------------------------------
 */

/* The program's sums; then, of every function that differs, the counts that do. NAN: there is no such function. */
static void add_facts(comparison *x) {
    double sum[2][HN_N_CODE_COUNTS] = {{0}}, n[2] = {0};
    for (size_t i = 0; i < x->n; i++)
        for (int side = 0; side < 2; side++) {
            add_counts(sum[side], x->pair[i].count[side]);
            n[side] += x->pair[i].n_clones[side] > 0;
        }
    hn_explain_fact(&x->to, "", "functions", n[0], n[1]);
    for (int k = 0; k < HN_N_CODE_COUNTS; k++) hn_explain_fact(&x->to, "", hn_code_count_name(k), sum[0][k], sum[1][k]);
    for (size_t i = 0; i < x->n; i++) {
        const pair *p = &x->pair[i];
        if (!p->differs) continue;
        if (p->n_clones[0] != p->n_clones[1])
            hn_explain_fact(&x->to, p->name, "clones", (double)p->n_clones[0], (double)p->n_clones[1]);
        for (int k = 0; k < HN_N_CODE_COUNTS; k++)
            if (p->count[0][k] != p->count[1][k])
                hn_explain_fact(&x->to, p->name, hn_code_count_name(k), p->n_clones[0] ? p->count[0][k] : NAN,
                                p->n_clones[1] ? p->count[1][k] : NAN);
    }
}

/* --- sentences ------------------------------------------------------------------------------------------------------
 */

static const char *plural(double n) { return n == 1 ? "" : "s"; }

static void say_vectors(const pair *p, hn_str *s) {
    const double *b = p->count[0], *t = p->count[1];
    bool loops = b[HN_CODE_IN_LOOPS] > 0 && t[HN_CODE_IN_LOOPS] > 0;
    int what = loops ? HN_CODE_WIDEST_IN_LOOPS : HN_CODE_WIDEST;
    double was = b[what], is = t[what];
    const char *where = loops ? " in its loops" : "";
    if (was != is && was == 0)
        hn_explain_clause(s, "%.0f-bit vectors%s, none before", is, where);
    else if (was != is && is == 0)
        hn_explain_clause(s, "no vectors%s any more, %.0f-bit before", where, was);
    else if (was != is)
        hn_explain_clause(s, "%.0f-bit vectors%s instead of %.0f", is, where, was);
    if (was != is || !loops || is == 0) return;
    double share_b = b[HN_CODE_VECTOR_IN_LOOPS] / b[HN_CODE_IN_LOOPS],
           share_t = t[HN_CODE_VECTOR_IN_LOOPS] / t[HN_CODE_IN_LOOPS];
    if (fabs(share_b - share_t) >= 0.1)
        hn_explain_clause(s, "%.0f %% of the instructions in loops work on vectors, %.0f %% before", 100 * share_t,
                          100 * share_b);
}

/* "4 gathers gone", "4 gathers, none before", "4 gathers, 9 before". */
static void say_count(const pair *p, hn_code_count what, const char *one, const char *many, hn_str *s) {
    double was = p->count[0][what], is = p->count[1][what];
    if (was == is) return;
    if (is == 0)
        hn_explain_clause(s, "%.0f %s gone", was, was == 1 ? one : many);
    else if (was == 0)
        hn_explain_clause(s, "%.0f %s, none before", is, is == 1 ? one : many);
    else
        hn_explain_clause(s, "%.0f %s, %.0f before", is, is == 1 ? one : many, was);
}

static void say_loops(const pair *p, hn_str *s) {
    const double *b = p->count[0], *t = p->count[1];
    double was = b[HN_CODE_LARGEST_INNER], is = t[HN_CODE_LARGEST_INNER];
    if (b[HN_CODE_LOOPS] != t[HN_CODE_LOOPS])
        hn_explain_clause(s, "%.0f loop%s, %.0f before", t[HN_CODE_LOOPS], plural(t[HN_CODE_LOOPS]), b[HN_CODE_LOOPS]);
    if (was > 0 && is > 0 && (is >= 1.5 * was || was >= 1.5 * is))
        hn_explain_clause(s, "its largest inner loop has %.0f instructions, %.0f before%s", is, was,
                          is >= 1.5 * was ? " (unrolled or widened)" : "");
}

static bool calls(const hn_function *f, const char *name) {
    for (size_t i = 0; f && i < f->n_callees; i++)
        if (!strcmp(f->callee[i], name)) return true;
    return false;
}

static void say_calls(const pair *p, hn_str *s) {
    for (int side = 0; side < 2; side++) {
        const hn_function *mine = p->shown[side], *other = p->shown[!side];
        hn_str names = {0};
        size_t n = 0;
        for (size_t i = 0; mine && other && i < mine->n_callees; i++) {
            if (calls(other, mine->callee[i])) continue;
            if (n++ < CALLEES_SHOWN) hn_str_addf(&names, "%s%.60s", names.n ? ", " : "", mine->callee[i]);
        }
        if (n > CALLEES_SHOWN) hn_str_addf(&names, " and %zu more", n - CALLEES_SHOWN);
        if (n) hn_explain_clause(s, side ? "now calls %s" : "no longer calls %s", names.text ? names.text : "");
        hn_str_free(&names);
    }
}

static void say_pair(const pair *p, hn_str *s) {
    hn_str_addf(s, "%s: ", p->name);
    if (!p->n_clones[1] || !p->n_clones[0]) {
        double bytes = p->count[p->n_clones[1] ? 1 : 0][HN_CODE_BYTES];
        if (p->n_clones[1])
            hn_explain_clause(s, "a function of its own now (%.0f byte%s); inlined or not there before", bytes,
                              plural(bytes));
        else
            hn_explain_clause(s, "inlined into its callers, or gone (%.0f byte%s before)", bytes, plural(bytes));
        return;
    }
    say_vectors(p, s);
    say_count(p, HN_CODE_STACK_IN_INNER, "stack access in inner loops", "stack accesses in inner loops", s);
    say_count(p, HN_CODE_FMA, "fused multiply-add", "fused multiply-adds", s);
    say_count(p, HN_CODE_GATHERS, "gather", "gathers", s);
    say_count(p, HN_CODE_PREFETCHES, "prefetch", "prefetches", s);
    say_loops(p, s);
    say_calls(p, s);
    if (p->n_clones[0] != p->n_clones[1])
        hn_explain_clause(s, "%zu cop%s of it, %zu before", p->n_clones[1], p->n_clones[1] == 1 ? "y" : "ies",
                          p->n_clones[0]);
    double was = p->count[0][HN_CODE_BYTES], is = p->count[1][HN_CODE_BYTES];
    if (was != is)
        hn_explain_clause(s, "%.0f -> %.0f bytes", was, is);
    else
        hn_explain_clause(s, "the same size, other instructions");
}

static void say_program(comparison *x, size_t n_differ) {
    hn_str s = {0};
    double bytes[2] = {0};
    size_t n[2] = {0};
    for (size_t i = 0; i < x->n; i++)
        for (int side = 0; side < 2; side++) {
            bytes[side] += x->pair[i].count[side][HN_CODE_BYTES];
            n[side] += x->pair[i].n_clones[side] > 0;
        }
    if (strcmp(x->c->compiler[0], x->c->compiler[1]) != 0)
        hn_str_addf(&s, "compiled by %s instead of %s; ", x->c->compiler[1], x->c->compiler[0]);
    if (!n_differ)
        hn_str_addf(&s,
                    "the machine code is the same in %zu function%s; if the programs differ, then in the order, the "
                    "alignment or the data",
                    n[0], plural((double)n[0]));
    else
        hn_str_addf(&s, "%zu of %zu function%s differ%s; %.0f -> %.0f bytes of code in %zu function%s, %zu before",
                    n_differ, x->n, plural((double)x->n), n_differ == 1 ? "s" : "", bytes[0], bytes[1], n[1],
                    plural((double)n[1]), n[0]);
    hn_explain_sentence(&x->to, &s);
}

static void say_stripped(comparison *x) {
    for (size_t i = 0; i < x->n; i++) {
        if (strcmp(x->pair[i].name, STRIPPED) != 0) continue;
        hn_str s = {0};
        hn_str_add(&s, "the program is stripped: without names of functions, all its code is taken as one");
        hn_explain_sentence(&x->to, &s);
    }
}

static void say_post_link(comparison *x) {
    hn_str s = {0};
    if (!x->c->post_link) return;
    hn_str_addf(&s, "behind the linker the program is laid out by `%s`", x->c->post_link);
    hn_explain_sentence(&x->to, &s);
}

static void add_sentences(comparison *x) {
    size_t n_differ = 0, n_more = 0;
    for (size_t i = 0; i < x->n; i++) n_differ += x->pair[i].differs;
    x->to.out->sentence = HN_NEW_N(x->to.a, const char *, HN_SENTENCES_MOST + 4);
    if (!x->to.out->sentence) return;
    say_post_link(x);
    for (size_t i = 0; i < x->n; i++) {
        hn_str s = {0};
        if (!x->pair[i].differs) continue;
        if (x->to.out->n_sentences == HN_SENTENCES_MOST) {
            n_more++;
            continue;
        }
        say_pair(&x->pair[i], &s);
        hn_explain_sentence(&x->to, &s);
    }
    if (n_more) {
        hn_str s = {0};
        hn_str_addf(&s, "%zu further function%s differ%s", n_more, plural((double)n_more), n_more == 1 ? "s" : "");
        hn_explain_sentence(&x->to, &s);
    }
    say_stripped(x);
    say_program(x, n_differ);
}

static void choose_listing(comparison *x) {
    for (size_t i = 0; i < x->n; i++) {
        const pair *p = &x->pair[i];
        if (!p->differs || !p->shown[0] || !p->shown[1]) continue;
        x->to.out->function = p->name;
        x->to.out->listing[0] = hn_strdup(x->to.a, p->shown[0]->listing);
        x->to.out->listing[1] = hn_strdup(x->to.a, p->shown[1]->listing);
        return;
    }
}

hone_rc hn_explain_compare(const hn_comparand *c, hn_arena *a, hone_explanation *out, hone_err *err) {
    comparison x = {.to = {.a = a, .out = out}, .c = c};
    if (make_pairs(&x)) {
        add_facts(&x);
        add_sentences(&x);
        choose_listing(&x);
    }
    return hn_arena_ok(a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory comparing disassemblies");
}
