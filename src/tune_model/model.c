/* tune_model/model.c — the driver of tuning: which kernels, in which order, when to prove, and the final check of the
 * whole model.
 */
#include "base/clock.h"
#include "base/options.h"
#include "compile/driver.h"
#include "compile/winner.h"
#include "tune_model/tune_model_int.h"

#include <ctype.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_JOBS = 64, MOST_ROUNDS = 2 };
/* Kernels below this share are not tuned; parts of the budget; the length of a turn. */
static const double least_share = 0.002, usual_budget_s = 60, profile_part = 0.05, least_proof_part = 0.1,
                    most_proof_part = 0.4, check_part = 0.06, most_check_part = 0.3, overtime_part = 0.1;
static const double turn_s = 2, usual_eval_s = 0.08, usual_proof_s = 4, slower = 0.99, worth_proof = 0.995,
                    worth_spreading = 0.98;

/* --- events --------------------------------------------------------------------------------------------------------
 */

bool hn_tuning_stopped(const hn_tuning *t) { return t->o->stop && *t->o->stop; }

void hn_tuning_say(const hn_tuning *t, hone_tune_model_stage stage, const hn_tuned *k, const hone_interval *gain,
                   const char *text) {
    double now_s = hn_now_s();
    static const char *const word[] = {"profile", "search", "proof", "winner", "check", "warning"};
    hone_tune_model_event e = {.stage = stage, .default_s = NAN, .best_s = NAN, .gain = {NAN, NAN, NAN}};
    if (!t->o->progress.fn) return;
    e.base = (hone_event){.stage = word[stage], .total = t->n_kernels, .text = text};
    if (k) {
        e.kernel = k->k->name, e.kind = k->k->kind, e.share = k->share;
        e.default_s = k->default_s, e.best_s = k->default_s * (k->best > 0 ? k->best : 1);
    }
    if (gain) e.gain = *gain;
    for (size_t i = 0; i < t->n_kernels; i++) e.base.done += t->kernel[i].end != NULL;
    e.n_candidates = t->n_candidates;
    e.rate = t->search_s > 0 ? (double)t->n_candidates / t->search_s : NAN;
    e.base.elapsed_s = now_s - t->start_s;
    e.base.left_s = t->end_s > now_s ? t->end_s - now_s : 0;
    t->o->progress.fn(t->o->progress.arg, &e.base);
}

/* --- cores ---------------------------------------------------------------------------------------------------------
 */

/* The core that measures, then those before it, then those behind. */
static hone_rc make_team(hn_tuning *t, const cpu_set_t *usable, hone_err *err) {
    int first = t->o->cpu, n = (int)hn_threads_of(t->lib.options);
    for (int i = 0; i < CPU_SETSIZE && t->o->cpu < 0; i++)
        if (CPU_ISSET((unsigned)i, usable)) first = i;
    if (first < 0 || first >= CPU_SETSIZE || !CPU_ISSET((unsigned)first, usable))
        return hn_fail(err, HONE_E_USAGE, "core %d is not one that this process may use", first);
    if (n > CPU_COUNT(usable) || n > HN_TEAM_MAX)
        return hn_fail(err, HONE_E_USAGE, "more threads (%d) than cores that this process may use (%d)", n,
                       CPU_COUNT(usable) < HN_TEAM_MAX ? CPU_COUNT(usable) : HN_TEAM_MAX);
    for (int i = 0; i < CPU_SETSIZE && t->team.n < (uint32_t)n; i++) {
        int cpu = first >= i ? first - i : i;
        if (CPU_ISSET((unsigned)cpu, usable)) t->team.cpu[t->team.n++] = cpu;
    }
    return HONE_OK;
}

static bool measures(const hn_tuning *t, int cpu) {
    for (uint32_t i = 0; i < t->team.n; i++)
        if (t->team.cpu[i] == cpu) return true;
    return false;
}

/* The team measures; builds, and hone itself, run on the other cores, and on the team's when it does not measure. */
static hone_rc share_cores(hn_tuning *t, const cpu_set_t *usable, hone_err *err) {
    hone_rc rc = make_team(t, usable, err);
    if (rc) return rc;
    for (int i = 0; i < CPU_SETSIZE && t->n_build_cpu < MOST_JOBS; i++)
        if (CPU_ISSET((unsigned)i, usable) && !measures(t, i)) t->build_cpu[t->n_build_cpu++] = i;
    for (uint32_t i = t->team.n; i-- > 0 && t->n_build_cpu < MOST_JOBS;)
        t->build_cpu[t->n_build_cpu++] = t->team.cpu[i];
    t->n_jobs = t->o->compile->n_jobs ? t->o->compile->n_jobs : t->n_build_cpu;
    if (t->n_jobs > MOST_JOBS) t->n_jobs = MOST_JOBS;
    return HONE_OK;
}

static void leave_team(const hn_tuning *t) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < t->n_build_cpu; i++)
        if (t->build_cpu[i] != t->team.cpu[0] || t->n_build_cpu == 1) CPU_SET((unsigned)t->build_cpu[i], &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void run_on_team(const hn_team *team, uint32_t n) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < n; i++) CPU_SET((unsigned)team->cpu[i], &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* --- sizes ---------------------------------------------------------------------------------------------------------
 */

static hone_rc read_size(hn_tuning *t, const char *word, size_t n, hone_err *err) {
    const hn_dims *dims = t->m->g->dims;
    const char *equals = memchr(word, '=', n);
    for (hn_symbol s = 0; equals && s < hn_dims_symbols(dims); s++) {
        const char *name = hn_symbol_name(dims, s);
        int64_t low, high;
        char *end;
        if (strlen(name) != (size_t)(equals - word) || strncmp(name, word, (size_t)(equals - word))) continue;
        long long x = strtoll(equals + 1, &end, 10);
        hn_symbol_range(dims, s, &low, &high);
        if (end != word + n || x < low || x > high)
            return hn_fail(err, HONE_E_USAGE, "'%.*s': not a size that the model allows", (int)n, word);
        t->symbol[s] = x;
        return HONE_OK;
    }
    return hn_fail(err, HONE_E_USAGE, "'%.*s': the model has no such symbolic size; give name=N", (int)n, word);
}

/* The sizes of inputs, as text for whole models. */
static void print_sizes(hn_tuning *t) {
    const hn_graph *g = t->m->g;
    const hn_blk *b = &g->block[0];
    size_t n = hn_dims_symbols(g->dims);
    bool *used = hn_alloc_n(&t->a, n + 1, sizeof *used);
    hn_str s = {0};
    for (uint32_t i = 0; used && i < b->n_param; i++) {
        const hn_type *type = hn_type_of(g, b->param[i]);
        for (size_t d = 0; d < type->rank; d++) hn_dim_mark(g->dims, type->dim[d], used);
    }
    for (hn_symbol k = 0; used && k < n; k++)
        if (used[k]) hn_str_addf(&s, "%s%s=%lld", s.n ? "," : "", hn_symbol_name(g->dims, k), (long long)t->symbol[k]);
    t->sizes = s.n && !s.failed ? hn_strdup(&t->a, s.text) : NULL;
    hn_str_free(&s);
}

/* Is it the step of a language model (compose/decoder.h), which may take so many tokens? */
static bool is_language_step(const hn_dims *dims, int64_t tokens) {
    static const char *const name[] = {"tokens", "past", "wanted"};
    unsigned seen = 0;
    for (hn_symbol s = 0; s < hn_dims_symbols(dims); s++)
        for (unsigned i = 0; i < 3; i++) {
            int64_t low, high;
            hn_symbol_range(dims, s, &low, &high);
            if (!strcmp(hn_symbol_name(dims, s), name[i]) && high >= tokens) seen |= 1u << i;
        }
    return seen == 7;
}

/* The sizes of a language model that nobody named: an answer, token by token; a prompt must not be slower. */
static void usual_step(hn_tuning *t, bool served, const char **sizes, const char **also) {
    const char *own = *sizes, *own_also = *also;
    if (served)
        hn_served_usual(t->m->g->dims, &t->a, sizes, also);
    else
        *sizes = "tokens=1,past=128,wanted=1", *also = "tokens=128,past=0,wanted=1";
    if (own) *sizes = own, *also = NULL;
    if (own_also) *also = own_also;
}

/* A list, with ";" between its parts. */
static hone_rc set_also(hn_tuning *t, bool served, const char *list, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (const char *p = list; p && *p && !rc;) {
        size_t n = strcspn(p, ";");
        if (n && t->n_also == HN_ALSO_MAX)
            return hn_fail(err, HONE_E_LIMIT, "'%s': at most %d sizes are looked at besides", list, HN_ALSO_MAX);
        const char *one = hn_strndup(&t->a, p, n);
        if (!one) return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
        if (n && served) rc = hn_served_sizes(t->m->g->dims, one, &t->a, &one, err);
        if (n) t->also[t->n_also++] = one;
        p += n + (p[n] == ';');
    }
    return rc;
}

static hone_rc set_sizes(hn_tuning *t, hone_err *err) {
    const hn_dims *dims = t->m->g->dims;
    int64_t *symbol = hn_alloc_n(&t->a, hn_dims_symbols(dims) + 2, sizeof *symbol);
    const char *sizes = t->o->sizes, *also = t->o->also;
    bool served = hn_served_is(dims);
    if (!symbol) return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    if (served || is_language_step(dims, 128)) usual_step(t, served, &sizes, &also);
    t->symbol = symbol + 1;
    hn_usual_sizes(t->m, t->symbol);
    hone_rc rc = set_also(t, served, also, err);
    if (!rc && served && sizes) rc = hn_served_sizes(dims, sizes, &t->a, &sizes, err);
    for (const char *p = sizes ? sizes : ""; *p && !rc;) {
        size_t n = strcspn(p, ",");
        rc = read_size(t, p, n, err);
        p += n + (p[n] == ',');
    }
    if (served)
        t->sizes = rc ? NULL : hn_strdup(&t->a, sizes);
    else
        print_sizes(t);
    return rc;
}

/* --- kernels -------------------------------------------------------------------------------------------------------
 */

static bool is_named(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; *p;) {
        size_t len = strcspn(p, ",");
        if (len == n && !strncmp(p, name, n)) return true;
        p += len + (p[len] == ',');
    }
    return false;
}

static int by_share(const void *a, const void *b) {
    const hn_tuned *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    return (x->k > y->k) - (x->k < y->k);
}

static hone_rc choose_kernels(hn_tuning *t, hone_err *err) {
    const char *list = t->o->kernels;
    size_t n_chosen = 0;
    qsort(t->kernel, t->n_kernels, sizeof *t->kernel, by_share);
    for (size_t i = 0; i < t->n_kernels; i++) {
        hn_tuned *k = &t->kernel[i];
        bool in = list ? is_named(list, k->k->name) || is_named(list, k->k->kind) : k->share >= least_share;
        if (!in) k->end = "left out";
        n_chosen += in;
    }
    if (list && !n_chosen) return hn_fail(err, HONE_E_NOTFOUND, "no kernel is called '%s', or is of that kind", list);
    return HONE_OK;
}

/* What earlier runs proved still holds where both C texts are the same. */
static void take_winner(hn_tuning *t, hn_tuned *k) {
    hn_kernel copy = *k->k;
    t->m->winners = t->winners;
    hn_winner_apply(t->m, &copy);
    k->winner = copy.winner && !hn_winner_find(t->m, k->k, t->symbol, &k->won, NULL);
    t->m->winners = NULL;
}

static hone_rc open_kernels(hn_tuning *t, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < t->n_kernels && !rc; i++) {
        if (!t->kernel[i].end) rc = hn_tuned_open(t, &t->kernel[i], err);
        if (!rc && t->kernel[i].opened) take_winner(t, &t->kernel[i]);
    }
    return rc;
}

static hone_rc make_kernels(hn_tuning *t, hone_err *err) {
    t->n_kernels = t->m->n_kernel;
    t->kernel = hn_alloc_n(&t->a, t->n_kernels + 1, sizeof *t->kernel);
    if (!t->kernel) return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    for (size_t i = 0; i < t->n_kernels; i++)
        t->kernel[i] =
            (hn_tuned){.k = &t->m->kernel[i], .default_s = NAN, .fastest_s = {NAN, NAN}, .best = 1, .screen = 1};
    return HONE_OK;
}

/* --- searching -----------------------------------------------------------------------------------------------------
 */

static size_t next_kernel(const hn_tuning *t, hn_prospect *p) {
    for (size_t i = 0; i < t->n_kernels; i++) {
        const hn_tuned *k = &t->kernel[i];
        bool bounded = k->roof_s > 0 && k->default_s > 0 && !t->o->exhaust;
        p[i] = (hn_prospect){.share = k->share > 0 ? k->share : least_share,
                             .best = k->best,
                             .bound = bounded ? k->roof_s / k->default_s : 0,
                             .n_since = (double)k->n_since,
                             .eval_s = k->n_new ? k->search_s / (double)k->n_new : usual_eval_s,
                             .done = k->end != NULL};
    }
    return hn_prospect_next(p, t->n_kernels);
}

static double budget_s(const hn_tuning *t) { return t->end_s - t->start_s; }

/* Time for the comparison of the model, which compiles it twice, once with parity. */
static double check_time(const hn_tuning *t) {
    return fmin(check_part * budget_s(t) + 3 * t->compile_s, most_check_part * budget_s(t));
}

static hone_rc prove(hn_tuning *t, hn_tuned *k, hone_err *err) {
    double start_s = hn_now_s();
    if (!k->search || k->proven || hn_tuning_stopped(t)) return HONE_OK;
    hone_rc rc = hn_tuned_prove(t, k, t->end_s - check_time(t), t->end_s + overtime_part * budget_s(t), err);
    t->proof_s += hn_now_s() - start_s;
    t->n_proofs++;
    return rc;
}

/* Has it a candidate that looks faster and has not been proven? */
static bool is_pending(const hn_tuned *k) { return k->search && !k->proven && k->best < worth_proof; }

/* When the search has to end, so that the proofs and the comparison of the model have their time. */
static double search_end(const hn_tuning *t) {
    double each_s = t->n_proofs ? t->proof_s / (double)t->n_proofs : usual_proof_s;
    double proofs_s = 0;
    for (size_t i = 0; i < t->n_kernels; i++) proofs_s += is_pending(&t->kernel[i]) * each_s;
    proofs_s = fmin(fmax(proofs_s, least_proof_part * budget_s(t)), most_proof_part * budget_s(t));
    return t->end_s - proofs_s - check_time(t);
}

/* There is time left: searches that ended for lack of improvement go on, with more patience. */
static bool resume_searches(hn_tuning *t) {
    bool any = false;
    for (size_t i = 0; i < t->n_kernels; i++) {
        hn_tuned *k = &t->kernel[i];
        if (!k->search || !k->end || strcmp(k->end, "patience") != 0 || k->n_rounds >= MOST_ROUNDS) continue;
        k->n_rounds++;
        k->end = NULL;
        any = true;
    }
    return any;
}

/* The largest expected gain comes first. */
static hone_rc prove_pending(hn_tuning *t, hone_err *err) {
    hone_rc rc = HONE_OK;
    while (!rc && !hn_tuning_stopped(t) && hn_now_s() < t->end_s - check_time(t)) {
        hn_tuned *next = NULL;
        for (size_t i = 0; i < t->n_kernels; i++) {
            hn_tuned *k = &t->kernel[i];
            if (is_pending(k) && (!next || k->share * (1 - k->best) > next->share * (1 - next->best))) next = k;
        }
        if (!next) return HONE_OK;
        rc = prove(t, next, err);
    }
    return rc;
}

static const hn_seen *best_seen(const hn_tuned *k) {
    const hn_seen *best = NULL;
    for (size_t i = 0; i < k->n_seen; i++)
        if (k->seen[i].cls == HONE_RUN_OK && (!best || k->seen[i].ratio < best->ratio)) best = &k->seen[i];
    return best;
}

/* The best point of one kernel becomes the next candidate of other kernels with the same sketch. */
static void spread(hn_tuning *t, const hn_tuned *from) {
    const hn_seen *best = best_seen(from);
    double *point = calloc(hone_space_slots(from->space.space) + 1, sizeof *point);
    bool known = point && best && !hone_point_from_json(from->space.space, best->json, point, NULL);
    for (size_t i = 0; i < t->n_kernels && known; i++) {
        hn_tuned *k = &t->kernel[i];
        if (k == from || !k->search || k->end) continue;
        double *transferred = calloc(hone_space_slots(k->space.space) + 1, sizeof *transferred);
        if (!transferred || !hn_tune_space_carry(&from->space, point, &k->space, transferred)) {
            free(transferred);
            continue;
        }
        free(k->transferred);
        k->transferred = transferred;
    }
    free(point);
}

static hone_rc turn(hn_tuning *t, hn_tuned *k, hone_err *err) {
    double before = k->best;
    hone_rc rc = hn_tuned_slice(t, k, fmin(hn_now_s() + turn_s, search_end(t)), err);
    if (!rc && k->best < before && k->best < worth_spreading) spread(t, k);
    return rc || !k->end ? rc : prove(t, k, err);
}

/* A search that ends by itself is followed by its proof at once, so that a tuning stopped later has the result. */
static hone_rc search(hn_tuning *t, hone_err *err) {
    hn_prospect *p = calloc(t->n_kernels + 1, sizeof *p);
    hone_rc rc = p ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    while (!rc && !hn_tuning_stopped(t) && hn_now_s() < search_end(t)) {
        size_t i = next_kernel(t, p);
        if (i == t->n_kernels && !resume_searches(t)) break;
        if (i == t->n_kernels) continue;
        rc = turn(t, &t->kernel[i], err);
    }
    free(p);
    for (size_t i = 0; i < t->n_kernels; i++)
        if (!t->kernel[i].end) t->kernel[i].end = hn_tuning_stopped(t) ? "stopped" : "time";
    return rc ? rc : prove_pending(t, err);
}

/* --- the final check -----------------------------------------------------------------------------------------------
 */

static bool is_slower(const hone_interval *gain) { return gain->hi < 1 || gain->mid < slower; }

static hone_rc drop_winners(hn_tuning *t, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < t->n_kernels && !rc; i++) {
        hn_tuned *k = &t->kernel[i];
        char id[33];
        if (!k->winner) continue;
        hone_winner_id(&k->won, id);
        rc = hone_winners_remove(t->winners, id, err);
        k->winner = k->is_new = false;
    }
    return rc;
}

/* On one thread: at the sizes that it was tuned for, and at the others, of which the worst is told. */
static hone_rc compare_alone(hn_tuning *t, const hone_graph *g, double max_s, hone_tune_model_result *out,
                             hone_err *err) {
    const char *sizes[HN_ALSO_MAX + 1] = {t->sizes};
    hone_interval gain[HN_ALSO_MAX + 1];
    for (size_t i = 0; i < t->n_also; i++) sizes[i + 1] = t->also[i];
    hone_rc rc = hn_tuning_compare(t, g, sizes, t->n_also + 1, 1, max_s, gain, err);
    if (rc) return rc;
    out->gain = gain[0];
    for (size_t i = 1; i <= t->n_also; i++)
        if (isnan(out->gain_also.mid) || gain[i].mid < out->gain_also.mid) out->gain_also = gain[i];
    return HONE_OK;
}

static hone_rc check(hn_tuning *t, const hone_graph *g, const cpu_set_t *usable, hone_tune_model_result *out,
                     hone_err *err) {
    const char *sizes = t->sizes;
    size_t n_winners = 0;
    double max_s = budget_s(t) * check_part;
    for (size_t i = 0; i < t->n_kernels; i++) n_winners += t->kernel[i].winner;
    if (!n_winners || hn_tuning_stopped(t)) return HONE_OK;
    sched_setaffinity(0, sizeof *usable, usable);
    hone_rc rc = HONE_OK;
    if (t->team.n > 1) rc = hn_tuning_compare(t, g, &sizes, 1, t->team.n, max_s / 2, &out->gain_all, err);
    run_on_team(&t->team, 1);
    if (!rc) rc = compare_alone(t, g, max_s, out, err);
    if (rc == HONE_E_INTERRUPTED) return HONE_OK;
    if (rc) return rc;
    hn_tuning_say(t, HONE_TUNE_MODEL_CHECK, NULL, &out->gain, NULL);
    out->dropped = is_slower(&out->gain) || (!isnan(out->gain_all.mid) && is_slower(&out->gain_all)) ||
                   (!isnan(out->gain_also.mid) && is_slower(&out->gain_also));
    return out->dropped ? drop_winners(t, err) : HONE_OK;
}

/* --- the result ----------------------------------------------------------------------------------------------------
 */

static const char *flags_of(hn_tuning *t, const hone_winner *w) {
    return hn_strdup(&t->a, *w->cc ? hn_format(&t->a, "%s %s", w->cc, w->flags) : w->flags);
}

static void fill_kernel(hn_tuning *t, const hn_tuned *k, hone_tune_model_kernel *out) {
    hn_arena *a = &t->a;
    uint32_t source = t->m->g->node[k->k->node].source;
    *out = (hone_tune_model_kernel){.name = hn_strdup(a, k->k->name),
                                    .kind = hn_strdup(a, k->k->kind),
                                    .source = source ? hn_strdup(a, t->m->g->source[source - 1]) : "",
                                    .shape = k->shape ? k->shape : "",
                                    .n_uses = k->k->n_uses,
                                    .share = k->share,
                                    .default_s = k->default_s,
                                    .tuned_s = NAN,
                                    .gain = {NAN, NAN, NAN},
                                    .schedule = hn_strdup(a, k->k->code.schedule),
                                    .flags = "",
                                    .n_candidates = k->n_seen ? k->n_seen - 1 : 0,
                                    .winner = k->winner,
                                    .is_new = k->is_new,
                                    .end = k->end                 ? k->end
                                           : hn_tuning_stopped(t) ? "stopped"
                                                                  : "time"};
    if (k->seen_gain.mid > 0) out->gain = k->seen_gain;
    if (!k->winner) return;
    out->tuned_s = k->won.tuned_s;
    out->gain = (hone_interval){k->won.gain_lo, k->won.gain, k->won.gain_hi};
    out->schedule = hn_strdup(a, k->won.schedule);
    out->flags = flags_of(t, &k->won);
}

static void fill_result(hn_tuning *t, hone_tune_model_result *out) {
    out->kernel = hn_alloc_n(&t->a, t->n_kernels + 1, sizeof *out->kernel);
    out->n_kernels = out->kernel ? t->n_kernels : 0;
    for (size_t i = 0; i < out->n_kernels; i++) fill_kernel(t, &t->kernel[i], &out->kernel[i]);
    out->n_threads = t->team.n;
    out->stopped = hn_tuning_stopped(t);
    out->n_candidates = t->n_candidates;
    out->rate = t->search_s > 0 ? (double)t->n_candidates / t->search_s : NAN;
    out->elapsed_s = hn_now_s() - t->start_s;
    char *winners = hone_winners_name(t->winners_path);
    out->winners = hn_strdup(&t->a, winners);
    free(winners);
}

/* --- the call ------------------------------------------------------------------------------------------------------
 */

/* Its path is part of a lab's fixed-size requests. */
static hone_rc make_folder(hn_tuning *t, hone_err *err) {
    const char *tmp = getenv("TMPDIR");
    hone_rc rc = hn_temp_make(tmp && strlen(tmp) < 150 ? NULL : "/tmp", "hone-tune-", &t->temp, err);
    t->folder = t->temp.path;
    return rc;
}

static hone_rc check_target(hn_tuning *t, hone_err *err) {
    t->m = &t->lib.model[0];
    if (t->lib.n_model > 1) return hn_fail(err, HONE_E_USAGE, "one target at a time is tuned, for all sizes");
    const char *problem = hn_target_problem(&t->lib, t->m->dialect);
    if (!problem && hn_library_emulator(&t->lib)) problem = "an emulator's times say nothing";
    if (!problem) return HONE_OK;
    return hn_fail(err, HONE_E_UNSUPPORTED, "'%s': nothing can be measured here: %s", t->m->dialect->name, problem);
}

static hone_rc prepare(hn_tuning *t, const hone_graph *g, const char *name, const cpu_set_t *usable, hone_err *err) {
    char *usual = t->o->compile->winners ? NULL : hone_winners_path();
    t->winners_path = hn_strdup(&t->a, usual ? usual : t->o->compile->winners);
    free(usual);
    hone_rc rc = t->winners_path ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    if (!rc) rc = hone_winners_open(t->winners_path, true, &t->winners, err);
    if (!rc) rc = share_cores(t, usable, err);
    if (!rc) rc = hn_library_narrow(&t->lib, g, &t->plan, &t->narrow, err);
    if (!rc) rc = hn_compile_kernels(&t->lib, t->narrow ? t->narrow : g, name, err);
    if (!rc) rc = check_target(t, err);
    if (!rc) rc = hn_winner_key_begin(t->m, err);
    if (!rc) rc = set_sizes(t, err);
    if (!rc) rc = make_kernels(t, err);
    return rc ? rc : make_folder(t, err);
}

static hone_rc tune(hn_tuning *t, const hone_graph *g, const char *name, const cpu_set_t *usable,
                    hone_tune_model_result *out, hone_err *err) {
    t->end_s = t->start_s + (t->o->budget_s > 0 ? t->o->budget_s : usual_budget_s);
    hone_rc rc = prepare(t, g, name, usable, err);
    if (rc) return rc;
    hn_tuning_say(t, HONE_TUNE_MODEL_PROFILE, NULL, NULL, NULL);
    run_on_team(&t->team, t->team.n);
    rc = hn_tuning_profile(t, g, fmin(3, budget_s(t) * profile_part), err);
    leave_team(t);
    if (!rc) rc = choose_kernels(t, err);
    if (!rc) rc = open_kernels(t, err);
    if (!rc) rc = search(t, err);
    if (rc == HONE_E_INTERRUPTED) rc = HONE_OK;
    if (!rc) rc = check(t, g, usable, out, err);
    if (!rc) fill_result(t, out);
    return rc;
}

static void end(hn_tuning *t) {
    for (size_t i = 0; i < t->n_kernels; i++) hn_tuned_close(&t->kernel[i]);
    hone_winners_close(t->winners);
    hn_temp_free(&t->temp);
    hn_library_free(&t->lib);
    hn_plan_free(&t->plan);
    hone_graph_free(t->narrow);
}

hone_rc hone_tune_model_run(const hone_graph *g, const char *name, const hone_tune_model_options *options,
                            hone_tune_model_result *out, hone_err *err) {
    hone_tune_model_options o = hone_tune_model_defaults();
    hone_compile_options given = hone_compile_defaults();
    cpu_set_t usable;
    hone_rc rc = hn_options_read(&o, sizeof o, options, "tune_model", err);
    if (!rc) rc = hn_options_read(&given, sizeof given, o.compile, "compile", err);
    if (!rc) rc = hn_device_check(o.device, err);
    if (rc) return rc;
    static const char *const pools[] = {"past.*=present.*"};
    if (!given.n_state && hn_served_is(g->dims)) given.state = pools, given.n_state = 1; /* as hone_text_open has it */
    o.compile = &given;
    hn_tuning *t = calloc(1, sizeof *t);
    if (!t || sched_getaffinity(0, sizeof usable, &usable)) {
        free(t);
        return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    }
    t->o = &o;
    hone_compile_options compile = given;
    compile.no_winners = true;
    compile.emit = HONE_EMIT_SO;
    compile.output = NULL;
    compile.reference = false;
    compile.progress.fn = NULL;
    compile.n_specialize = 0;
    compile.n_threads = hn_threads_of(&compile);
    t->lib.options = &compile;
    t->start_s = hn_now_s();
    const hone_interval none = {NAN, NAN, NAN};
    hone_tune_model_result made = {.gain = none, .gain_all = none, .gain_also = none};
    rc = tune(t, g, name, &usable, &made, err);
    sched_setaffinity(0, sizeof usable, &usable);
    end(t);
    if (rc) {
        hn_arena_free(&t->a);
        free(t);
        return rc;
    }
    made.block = t; /* its arena holds the texts */
    *out = made;
    return HONE_OK;
}

void hone_tune_model_result_free(hone_tune_model_result *m) {
    hn_tuning *t = m->block;
    if (t) hn_arena_free(&t->a);
    free(t);
    *m = (hone_tune_model_result){0};
}
