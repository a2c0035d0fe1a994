/* explain/explain_code.c — kernels whose instructions changed most come first, as the time of each is not known here.
 */
#include "explain/explain_code.h"

#include "base/err.h"
#include "base/options.h"
#include "explain/said.h"
#include "proc/temp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOVES_SHOWN = 4 };

typedef struct pair {
    const char *name;
    const hn_gpu_kernel *k[2]; /* NULL: not on that side */
    bool differs;
    double moved; /* instructions that differ by class */
} pair;

typedef struct comparison {
    hn_explaining to;
    const hn_cubin *side;
    pair *pair;
    size_t n;
    bool all;
} comparison;

/* --- pairing ------------------------------------------------------------------------------------------------------ */

static bool same_value(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

static bool differs(const pair *p) {
    const hn_gpu_kernel *b = p->k[0], *t = p->k[1];
    if (!b || !t) return true;
    for (unsigned m = 0; m < HN_N_CODE_METRICS; m++)
        if (!same_value(b->value[m], t->value[m])) return true;
    return strcmp(b->listing ? b->listing : "", t->listing ? t->listing : "") != 0;
}

static double class_of(const hn_gpu_kernel *k, unsigned m) { return k && k->value[m] > 0 ? k->value[m] : 0; }

static double moved(const pair *p) {
    double sum = 0;
    for (unsigned m = HN_SASS_FIRST; m < HN_N_CODE_METRICS; m++)
        sum += fabs(class_of(p->k[0], m) - class_of(p->k[1], m));
    return sum;
}

static int by_weight(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->differs != y->differs) return x->differs ? -1 : 1;
    if (x->moved != y->moved) return x->moved < y->moved ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* The only pair that has nothing on this side; n: none, or several. */
static size_t lone(const comparison *x, int side) {
    size_t found = x->n;
    for (size_t i = 0; i < x->n; i++) {
        if (x->pair[i].k[side]) continue;
        if (found != x->n) return x->n;
        found = i;
    }
    return found;
}

static bool make_pairs(comparison *x) {
    x->pair = HN_NEW_N(x->to.a, pair, x->side[0].n + x->side[1].n + 1);
    if (!x->pair) return false;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < x->side[side].n; i++) {
            const hn_gpu_kernel *k = &x->side[side].kernel[i];
            size_t at = 0;
            while (at < x->n && (x->pair[at].k[side] || strcmp(x->pair[at].k[0]->name, k->name))) at++;
            if (at == x->n) x->pair[x->n++] = (pair){.name = hn_gpu_kernel_plain(x->to.a, k->name)};
            x->pair[at].k[side] = k;
        }
    size_t gone = lone(x, 1), new = lone(x, 0);
    if (gone != x->n && new != x->n && gone != new) {
        x->pair[gone].k[1] = x->pair[new].k[1];
        x->pair[new] = x->pair[--x->n];
    }
    for (size_t i = 0; i < x->n; i++) {
        x->pair[i].differs = differs(&x->pair[i]);
        x->pair[i].moved = moved(&x->pair[i]);
    }
    qsort(x->pair, x->n, sizeof *x->pair, by_weight);
    return true;
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

/* Of all kernels, as a workload without `kernel` folds them; what is not known of one is not known of all. */
static double folded(const hn_cubin *c, unsigned m) {
    const hn_code_metric_info *info = hn_code_metric_at(m);
    double sum = info->fold == HN_FOLD_MIN ? INFINITY : 0;
    for (size_t i = 0; i < c->n; i++) {
        double v = c->kernel[i].value[m];
        if (isnan(v)) return NAN;
        sum = info->fold == HN_FOLD_SUM ? sum + v : info->fold == HN_FOLD_MAX ? fmax(sum, v) : fmin(sum, v);
    }
    return c->n ? sum : NAN;
}

static void add_facts(comparison *x) {
    hn_explain_fact(&x->to, "", "kernels", (double)x->side[0].n, (double)x->side[1].n);
    for (unsigned m = 0; m < HN_N_CODE_METRICS; m++) {
        double was = folded(&x->side[0], m), is = folded(&x->side[1], m);
        if (!isnan(was) || !isnan(is)) hn_explain_fact(&x->to, "", hn_code_metric_at(m)->name, was, is);
    }
    for (size_t i = 0; i < x->n; i++)
        for (unsigned m = 0; m < HN_N_CODE_METRICS && (x->all || x->pair[i].differs); m++) {
            const pair *p = &x->pair[i];
            double was = p->k[0] ? p->k[0]->value[m] : NAN, is = p->k[1] ? p->k[1]->value[m] : NAN;
            bool known = !isnan(was) || !isnan(is);
            if (known && (x->all || !same_value(was, is)))
                hn_explain_fact(&x->to, p->name, hn_code_metric_at(m)->name, was, is);
        }
}

/* --- sentences ---------------------------------------------------------------------------------------------------- */

/* "40 registers instead of 32". */
static void say_count(const pair *p, hn_code_metric m, const char *what, hn_str *s) {
    double was = p->k[0]->value[m], is = p->k[1]->value[m];
    if (isnan(was) || isnan(is) || was == is) return;
    if (is == 0)
        hn_explain_clause(s, "no %s any more, %.0f before", what, was);
    else if (was == 0)
        hn_explain_clause(s, "%.0f %s, none before", is, what);
    else
        hn_explain_clause(s, "%.0f %s instead of %.0f", is, what, was);
}

static void say_occupancy(const pair *p, hn_str *s) {
    const hn_gpu_kernel *b = p->k[0], *t = p->k[1];
    double was = b->value[HN_GPU_OCCUPANCY], is = t->value[HN_GPU_OCCUPANCY];
    if (isnan(was) || isnan(is) || was == is) return;
    hn_explain_clause(s, "occupancy %.4g %% instead of %.4g %%, limited by %s", 100 * is, 100 * was,
                      t->bound_by ? t->bound_by : "registers");
}

/* The classes whose counts moved most: "fp32 120 -> 96, control 80 -> 20". */
static void say_classes(const pair *p, hn_str *s) {
    hn_str list = {0};
    bool said[HN_N_CODE_METRICS] = {false};
    for (size_t n = 0; n < MOVES_SHOWN; n++) {
        double most = 0;
        unsigned at = 0;
        for (unsigned m = HN_SASS_FIRST; m < HN_N_CODE_METRICS; m++) {
            double by = fabs(class_of(p->k[1], m) - class_of(p->k[0], m));
            if (!said[m] && by > most) most = by, at = m;
        }
        if (!at) break;
        said[at] = true;
        hn_str_addf(&list, "%s%s %.0f -> %.0f", list.n ? ", " : "", hn_code_metric_at(at)->name, class_of(p->k[0], at),
                    class_of(p->k[1], at));
    }
    if (list.n) hn_explain_clause(s, "most moved: %s", list.text);
    hn_str_free(&list);
}

static void say_pair(const pair *p, hn_str *s) {
    hn_str_addf(s, "%s: ", p->name);
    if (!p->k[0] || !p->k[1]) {
        const hn_gpu_kernel *k = p->k[p->k[1] != NULL];
        hn_explain_clause(s, p->k[1] ? "new, %.0f instructions" : "gone, %.0f instructions before",
                          k->value[HN_GPU_INSTRUCTIONS]);
        return;
    }
    if (strcmp(p->k[0]->name, p->k[1]->name)) hn_explain_clause(s, "named '%s' before", p->k[0]->name);
    say_count(p, HN_GPU_SPILLS, "bytes spilled", s);
    say_count(p, HN_GPU_REGISTERS, "registers", s);
    say_occupancy(p, s);
    say_count(p, HN_GPU_SHARED, "bytes of shared memory", s);
    say_count(p, HN_GPU_WARNINGS, "warnings of the assembler", s);
    say_count(p, HN_GPU_INSTRUCTIONS, "instructions", s);
    say_classes(p, s);
    say_count(p, HN_GPU_LIVE_REGISTERS, "live registers at most", s);
    say_count(p, HN_GPU_STALLS, "cycles of stalls", s);
    say_count(p, HN_GPU_WAITS, "waits", s);
    if (s->text && s->text[s->n - 1] == ' ')
        hn_explain_clause(s, "as many of everything, other instructions or another order");
}

static void say_unknown(comparison *x) {
    hn_str s = {0};
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < x->side[side].n; i++)
            for (size_t k = 0; k < x->side[side].kernel[i].n_unknown; k++) {
                const char *name = x->side[side].kernel[i].unknown[k];
                if (!s.text || !strstr(s.text, name))
                    hn_str_addf(&s, "%s%s", s.n ? ", " : "opcodes in no class: ", name);
            }
    if (s.n) hn_explain_sentence(&x->to, &s);
    hn_str_free(&s);
}

static void say_whole(comparison *x, size_t n_differ) {
    hn_str s = {0};
    double was = folded(&x->side[0], HN_GPU_INSTRUCTIONS), is = folded(&x->side[1], HN_GPU_INSTRUCTIONS);
    if (x->all)
        hn_str_addf(&s, "%zu kernel%s for sm_%u, %.0f instructions", x->side[0].n, x->side[0].n == 1 ? "" : "s",
                    x->side[0].sm, was);
    else if (!n_differ)
        hn_str_addf(&s, "the machine code is the same in %zu kernel%s", x->n, x->n == 1 ? "" : "s");
    else
        hn_str_addf(&s, "%zu of %zu kernel%s differ%s; %.0f -> %.0f instructions for sm_%u", n_differ, x->n,
                    x->n == 1 ? "" : "s", n_differ == 1 ? "s" : "", was, is, x->side[1].sm);
    if (x->side[0].sm != x->side[1].sm) hn_str_addf(&s, "; the baseline is for sm_%u", x->side[0].sm);
    hn_explain_sentence(&x->to, &s);
}

static void add_sentences(comparison *x) {
    size_t n_differ = 0;
    x->to.out->sentence = HN_NEW_N(x->to.a, const char *, HN_SENTENCES_MOST + 3);
    if (!x->to.out->sentence) return;
    for (size_t i = 0; i < x->n; i++) {
        hn_str s = {0};
        if (!x->pair[i].differs) continue;
        if (n_differ++ >= HN_SENTENCES_MOST) continue;
        say_pair(&x->pair[i], &s);
        hn_explain_sentence(&x->to, &s);
    }
    say_unknown(x);
    say_whole(x, n_differ);
}

static void choose_listing(comparison *x) {
    for (size_t i = 0; i < x->n; i++) {
        const pair *p = &x->pair[i];
        if ((!p->differs && !x->all) || !p->k[0] || !p->k[1] || !p->k[0]->listing || !p->k[1]->listing) continue;
        x->to.out->function = p->name;
        x->to.out->listing[0] = p->k[0]->listing;
        x->to.out->listing[1] = p->k[1]->listing;
        return;
    }
}

hone_rc hn_explain_code(const hn_cubin side[2], bool all, hn_arena *a, hone_explanation *out, hone_err *err) {
    comparison x = {.to = {.a = a, .out = out}, .side = side, .all = all};
    if (make_pairs(&x)) {
        add_facts(&x);
        add_sentences(&x);
        choose_listing(&x);
    }
    return hn_arena_ok(a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory comparing device code");
}

/* --- of two files ------------------------------------------------------------------------------------------------- */

hone_rc hone_explanation_of_code(const char *baseline, const char *tuned, const hone_code_options *options,
                                 hone_explanation *out, hone_err *err) {
    hone_code_options o = hone_code_defaults();
    hn_temp dir = {0};
    hn_cubin side[2];
    hone_rc rc = hn_options_read(&o, sizeof o, options, "code", err);
    if (rc) return rc;
    hn_arena *keep = calloc(1, sizeof *keep);
    hone_explanation result = {.block = keep};
    if (!keep) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    rc = hn_temp_make(NULL, "hone-explain-", &dir, err);
    hn_code_ask ask = {.dir = dir.path, .sm = o.sm, .threads = o.threads, .shared_b = o.shared_b, .stop = o.stop};
    ask.live = ask.listing = true;
    if (!rc) rc = hn_cubin_read(baseline, NULL, &ask, keep, &side[0], err);
    if (!rc && tuned) rc = hn_cubin_read(tuned, NULL, &ask, keep, &side[1], err);
    if (!tuned) side[1] = side[0];
    if (!rc) rc = hn_explain_code(side, !tuned, keep, &result, err);
    hn_temp_free(&dir);
    if (rc)
        hone_explanation_free(&result);
    else
        *out = result;
    return rc;
}
