/* tune_model/kernel.c — the search over one kernel's candidates: several compile ahead, one is measured at a time.
 *
 * A candidate is emitted, hashed with its compiler and flags, built, and measured beside the default; equal C text, and
 * equal machine code, is measured once. Every outcome is in the file of winners before the engine is told, so that a
 * search that is killed goes on from there. A search ends when nothing better was found for long enough, when all is
 * tried, or when the best is as fast as the machine allows.
 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "compile/winner.h"
#include "tune_model/tune_model_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_AHEAD = 8, SCREEN_PAIRS = 5, CLOSER_PAIRS = 24, ASKS_PER_TURN = 16, MOST_TRIES = 2 };
/* Times of a first (screen) and a second (closer) measurement; a candidate this much slower than the best is given up
 * early. */
static const double screen_block_s = 5e-4, screen_s = 0.02, closer_s = 0.08, clearly_worse = 1.15;
/* A gain that counts; the roofline is reached within this. */
static const double least_gain = 0.003, roof_slack = 1.03;
/* A default slower than its best known time by more than this factor was disturbed. */
static const double disturbed_ratio = 1.3;

typedef enum ahead_state { FREE, BUILDING, READY, MEASURING } ahead_state;
typedef struct ahead {
    ahead_state state;
    double *point;
    hn_setting setting;
    hn_lab_build build;
    hn_lab_side side;
    char code[33], object[33];
    int cpu;
    bool held;        /* BUILDING: stopped while its core measures */
    bool closer;      /* measured once already, and close to the best */
    bool transferred; /* from another kernel (model.c: spread), not from the engine */
    int n_tries;      /* in which the default was disturbed */
    double balance;   /* how much worse than the default it shares its work among threads */
    double screen;    /* ratio on one thread, times balance */
    hn_arena a;
} ahead;

typedef struct slice {
    hn_tuning *t;
    hn_tuned *k;
    hn_lab lab;
    hn_lab_build dflt; /* the default's, while it is being built; nothing is measured before it is there */
    hn_arena dflt_a;
    ahead slot[MOST_AHEAD];
    size_t n_building, n_ready;
    ahead *measuring;
    double until_s;
    bool closing;
} slice;

/* Second measurements run on all threads, where the kernel has work for them. */
static bool is_team(const hn_tuned *k, const ahead *x) { return x->closer && k->n_threads > 1; }

/* --- what is known -------------------------------------------------------------------------------------------------
 */

static hn_seen *find_seen(hn_tuned *k, const char *hash) {
    const hn_known_entry *known = *hash ? hn_known_find(&k->known, hn_key_of(hash)) : NULL;
    return known ? &k->seen[known->id - 1] : NULL;
}

/* object: "" where it is not known. The text is kept. NULL: no memory. */
static hn_seen *add_seen(hn_tuned *k, const char *code, const char *object, char *json, hone_outcome_class cls,
                         double ratio, double time_s) {
    const hone_outcome none = {.cls = cls};
    if (k->n_seen == k->room_seen) {
        size_t room = 2 * k->room_seen + 64;
        hn_seen *more = realloc(k->seen, room * sizeof *more);
        if (!more) return NULL;
        k->seen = more;
        k->room_seen = room;
    }
    int64_t id = (int64_t)k->n_seen + 1;
    if ((*code && hn_known_add(&k->known, hn_key_of(code), id, &none, NULL)) ||
        (*object && hn_known_add(&k->known, hn_key_of(object), id, &none, NULL)))
        return NULL;
    hn_seen *s = &k->seen[k->n_seen++];
    *s = (hn_seen){.json = json, .cls = cls, .ratio = ratio, .time_s = time_s};
    snprintf(s->code, sizeof s->code, "%s", code);
    snprintf(s->object, sizeof s->object, "%s", object);
    return s;
}

static size_t patience(const hn_tuned *k) {
    size_t d = hone_space_n_params(k->space.space), least = k->space.n_seeds + 16;
    size_t n = 3 * d > 48 ? 3 * d : 48;
    return (n > least ? n : least) << k->n_rounds;
}

/* The best so far, and whether to go on. */
static void update_best(const hn_tuning *t, hn_tuned *k, const hn_seen *s) {
    if (s->cls == HONE_RUN_OK && s->ratio < k->best * (1 - least_gain))
        k->best = s->ratio, k->n_since = 0, k->proven = false;
    else
        k->n_since++;
    if (t->o->exhaust) return;
    if (k->n_since >= patience(k)) k->end = "patience";
    if (k->roof_s > 0 && k->best * k->default_s <= roof_slack * k->roof_s) k->end = "roofline";
}

static hone_rc tell_engine(hn_tuned *k, const double *point, const hn_seen *s, hone_err *err) {
    hone_outcome seen = {.cls = s->cls};
    seen.value[0] = s->ratio;
    return hone_search_tell(k->search, point, &seen, err);
}

static void warn_full(hn_tuning *t, const char *text) {
    if (!t->warned_full) hn_tuning_say(t, HONE_TUNE_MODEL_WARNING, NULL, NULL, text);
    t->warned_full = true;
}

/* Records the outcome, keeps it, and tells the engine. */
static hone_rc finish(slice *s, ahead *x, hone_outcome_class cls, double ratio, double time_s, hone_err *err) {
    hn_tuned *k = s->k;
    double before = k->best;
    hone_err why = {0};
    char *json = NULL;
    hone_rc rc = hone_point_to_json(k->space.space, x->point, &json, err);
    if (rc) return rc;
    const hone_winner_trial trial = {json, x->code, cls, ratio, time_s, hn_unix_s()};
    if (hone_winners_put_trial(s->t->winners, k->trial_id, &trial, &why)) warn_full(s->t, why.text);
    hn_seen *seen = add_seen(k, x->code, x->object, json, cls, ratio, time_s);
    if (!seen) {
        hone_free(json);
        return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    }
    update_best(s->t, k, seen);
    if (k->best < before) k->screen = is_team(k, x) ? x->screen : k->best;
    k->n_new++;
    s->t->n_candidates++;
    rc = tell_engine(k, x->point, seen, err);
    hn_tuning_say(s->t, HONE_TUNE_MODEL_SEARCH, k, NULL, NULL);
    return rc;
}

static void release(slice *s, ahead *x) {
    char *path = x->build.library[0] ? hn_format(&x->a, "%s/%s", s->t->folder, x->build.library) : NULL;
    if (path) unlink(path);
    free(x->point);
    hn_arena_free(&x->a);
    *x = (ahead){0};
}

/* --- building ------------------------------------------------------------------------------------------------------
 */

static void side_of(hn_tuning *t, const hn_kernel_code *code, const char *library, hn_lab_side *out) {
    const int64_t *symbol = t->symbol;
    *out = (hn_lab_side){0};
    snprintf(out->path, sizeof out->path, "%s/%s", t->folder, library);
    if (!hn_work_eval(t->m->g, code, symbol, &out->work)) out->work = -1;
    if (!code->scratch_b || !hn_dim_eval(t->m->g->dims, code->scratch_b, symbol, &out->scratch_b)) out->scratch_b = 0;
}

/* Emits the candidate. False: it has no code, or is known; it was finished. */
static hone_rc begin(slice *s, ahead *x, hone_err *err) {
    hn_tuning *t = s->t;
    hn_kernel_code code = {0};
    const hn_seen *same;
    const hn_emit_how how = {.dialect = t->m->dialect,
                             .machine = t->m->machine,
                             .relaxed = t->m->options->relaxed,
                             .schedule = x->setting.schedule};
    hone_rc rc = hn_emit_kernel(t->m->g, s->k->k->body, s->k->k->kind, s->k->k->name, &how, &x->a, &code, NULL);
    if (rc || !code.scratch_b) {
        rc = finish(s, x, HONE_BUILD_ERROR, NAN, NAN, err);
        release(s, x);
        return rc;
    }
    hn_code_hash(&code, s->k->k->name, x->setting.cc, x->setting.flags, x->code);
    if ((same = find_seen(s->k, x->code))) {
        hn_seen known = *same;
        memcpy(x->object, known.object, sizeof x->object);
        rc = finish(s, x, known.cls, known.ratio, known.time_s, err);
        release(s, x);
        return rc;
    }
    char name[32];
    snprintf(name, sizeof name, "c%zu", t->n_names++);
    rc = hn_lab_build_start(t->m, t->folder, name, &code, s->k->k->name, &x->setting,
                            (hn_lab_how){.cpu = x->cpu, .lean = !s->k->needs_libc}, &x->a, &x->build, err);
    if (rc) return rc;
    side_of(t, &code, x->build.library, &x->side);
    x->balance = hn_lab_balance(t->m, s->k->k, t->symbol, x->side.work, s->k->n_threads) /
                 hn_lab_balance(t->m, s->k->k, t->symbol, s->k->dflt.work, s->k->n_threads);
    x->state = BUILDING, x->held = false;
    s->n_building++;
    return HONE_OK;
}

/* How many builds run on a core. */
static size_t n_on(const slice *s, int cpu) {
    size_t n = s->dflt.proc && s->t->build_cpu[0] == cpu;
    for (size_t i = 0; i < MOST_AHEAD; i++) n += s->slot[i].state == BUILDING && s->slot[i].cpu == cpu;
    return n;
}

/* Is a measurement going on on this core? */
static bool is_measuring(const slice *s, int cpu) {
    const hn_team *team = &s->t->team;
    uint32_t n = !s->measuring ? 0 : is_team(s->k, s->measuring) ? s->k->n_threads : 1;
    for (uint32_t i = 0; i < n && i < team->n; i++)
        if (team->cpu[i] == cpu) return true;
    return false;
}

/* Pauses builds while their core measures. */
static void pause_builds(slice *s) {
    for (size_t i = 0; i < MOST_AHEAD; i++) {
        ahead *x = &s->slot[i];
        bool held = x->state == BUILDING && is_measuring(s, x->cpu);
        if (x->state == BUILDING && held != x->held) hn_proc_pause(x->build.proc, held);
        x->held = held;
    }
}

/* A core for the next build: one that has none and does not measure. */
static bool find_core(const slice *s, int *cpu) {
    size_t each = (s->t->n_jobs + s->t->n_build_cpu - 1) / s->t->n_build_cpu;
    for (size_t i = 0; i < s->t->n_build_cpu; i++) {
        *cpu = s->t->build_cpu[i];
        if (!is_measuring(s, *cpu) && n_on(s, *cpu) < each) return true;
    }
    return false;
}

static ahead *free_slot(slice *s) {
    int cpu;
    if (s->n_building >= s->t->n_jobs || !find_core(s, &cpu)) return NULL;
    for (size_t i = 0; i < MOST_AHEAD; i++)
        if (s->slot[i].state == FREE) return s->slot[i].cpu = cpu, &s->slot[i];
    return NULL;
}

static hone_rc next_point(hn_tuned *k, ahead *x, hone_err *err) {
    x->point = k->transferred;
    x->transferred = k->transferred != NULL;
    k->transferred = NULL;
    if (x->transferred) return HONE_OK;
    x->point = calloc(hone_space_slots(k->space.space) + 1, sizeof *x->point);
    if (!x->point) return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    return hone_search_ask(k->search, x->point, err);
}

static hone_rc fill(slice *s, hone_err *err) {
    ahead *x;
    hone_rc rc = HONE_OK;
    for (int i = 0; i < ASKS_PER_TURN && !rc && !s->closing && s->n_building < s->t->n_jobs && (x = free_slot(s));
         i++) {
        rc = next_point(s->k, x, err);
        if (rc == HONE_E_EXHAUSTED) {
            release(s, x);
            s->k->end = "exhausted";
            return HONE_OK;
        }
        if (rc) break;
        hn_tune_space_setting(&s->k->space, x->point, &x->setting);
        rc = begin(s, x, err);
        if (s->k->end) break;
    }
    return rc;
}

/* Builds once more, with the headers of libc. */
static hone_rc again(slice *s, ahead *x, hone_err *err) {
    x->state = FREE;
    return begin(s, x, err);
}

static hone_rc collect(slice *s, ahead *x, hone_err *err) {
    hn_proc_result r = {0};
    hn_proc_collect(x->build.proc, &r);
    x->build.proc = NULL;
    s->n_building--;
    bool built = r.end == HN_PROC_EXITED && r.code == 0;
    if (!built && r.end == HN_PROC_EXITED && !s->k->needs_libc && strstr(r.err_tail, "error:")) {
        s->k->needs_libc = true;
        hn_proc_result_free(&r);
        return again(s, x, err);
    }
    hone_outcome_class cls = r.end == HN_PROC_WALL_LIMIT ? HONE_BUILD_TIMEOUT : HONE_BUILD_ERROR;
    hn_proc_result_free(&r);
    char *source = hn_format(&x->a, "%s/%s", s->t->folder, x->build.source);
    if (source) unlink(source);
    const hn_seen *same = NULL;
    built = built && !hn_hash_file(x->side.path, x->object, NULL);
    if (!built || (same = find_seen(s->k, x->object))) {
        hn_seen known = same ? *same : (hn_seen){.cls = cls, .ratio = NAN, .time_s = NAN};
        hone_rc rc = finish(s, x, known.cls, known.ratio, known.time_s, err);
        release(s, x);
        return rc;
    }
    x->state = READY;
    s->n_ready++;
    return HONE_OK;
}

/* --- the default -----------------------------------------------------------------------------------------------------
 */

static hone_rc start_default(slice *s, hone_err *err) {
    const hn_setting usual = {.cc = ""};
    char name[32];
    snprintf(name, sizeof name, "d%zu", s->t->n_names++);
    return hn_lab_build_start(s->t->m, s->t->folder, name, &s->k->k->code, s->k->k->name, &usual,
                              (hn_lab_how){.cpu = s->t->build_cpu[0]}, &s->dflt_a, &s->dflt, err);
}

static hone_rc collect_default(slice *s, hone_err *err) {
    hn_proc_result r = {0};
    hone_rc rc = HONE_OK;
    hn_proc_collect(s->dflt.proc, &r);
    s->dflt.proc = NULL;
    if (r.end != HN_PROC_EXITED || r.code)
        rc = hn_fail(err, HONE_E_TOOL, "the default version of kernel '%s' does not compile: %.300s", s->k->k->name,
                     r.err_tail);
    hn_proc_result_free(&r);
    if (!rc) side_of(s->t, &s->k->k->code, s->dflt.library, &s->k->dflt);
    return rc;
}

/* --- measuring -----------------------------------------------------------------------------------------------------
 */

static hone_rc measure(slice *s, ahead *x, hone_err *err) {
    hn_lab_request r = {.side = {s->k->dflt, x->side},
                        .n_pairs = x->closer ? CLOSER_PAIRS : SCREEN_PAIRS,
                        .n_threads = is_team(s->k, x) ? s->k->n_threads : 1,
                        .block_s = screen_block_s,
                        .max_s = x->closer ? closer_s : screen_s,
                        .give_up =
                            is_team(s->k, x) ? s->k->best * clearly_worse : s->k->screen * clearly_worse / x->balance};
    if (x->state == READY) s->n_ready--;
    x->state = MEASURING;
    s->measuring = x;
    pause_builds(s);
    return hn_lab_send(&s->lab, &r, 5 + 100 * (isnan(s->k->default_s) ? 0.1 : s->k->default_s), err);
}

/* The fastest block of each side: what disturbs a measurement makes it longer, never shorter. */
static void summarise(const hn_lab_reply *r, double *ratio, double *time_s) {
    double best[2] = {INFINITY, INFINITY};
    for (uint32_t i = 0; i < r->n_pairs; i++)
        for (int side = 0; side < 2; side++)
            if (r->time_s[i][side] < best[side]) best[side] = r->time_s[i][side];
    *ratio = best[1] / best[0];
    *time_s = best[1];
}

/* Faster than the machine allows: the default was disturbed, whatever the pairs say. */
static bool is_impossible(const hn_tuned *k, double time_s) { return k->roof_s > 0 && time_s < 0.9 * k->roof_s; }

/* The default turns out to be far faster than in earlier pairs: something disturbed it there, alone or together with
 * the candidate. Candidates whose ratios are too good get the ratio of their time and the default's best. */
static hone_rc rescale(hn_tuned *k, hone_err *err) {
    double *point = calloc(hone_space_slots(k->space.space) + 1, sizeof *point);
    hone_rc rc = point ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    double fastest_s = k->fastest_s[k->n_threads > 1];
    k->best = 1;
    for (size_t i = 0; i < k->n_seen && !rc; i++) {
        hn_seen *s = &k->seen[i];
        if (s->cls != HONE_RUN_OK || !i) continue;
        bool wrong = s->ratio * disturbed_ratio * fastest_s < s->time_s;
        if (wrong) s->ratio = s->time_s / fastest_s;
        if (wrong && !hone_point_from_json(k->space.space, s->json, point, NULL)) rc = tell_engine(k, point, s, err);
        if (s->ratio < k->best) k->best = s->ratio;
    }
    k->screen = k->best;
    free(point);
    return rc;
}

/* Was the default far slower than its best known time? Then it was disturbed throughout, and the pair is useless; after
 * a few more tries its best known time is used instead. */
static bool is_disturbed(hn_tuned *k, ahead *x, double *ratio, double time_s) {
    double default_s = time_s / *ratio, *fastest_s = &k->fastest_s[is_team(k, x)];
    if (!(*fastest_s <= default_s)) {
        k->stale = k->stale || (*fastest_s > disturbed_ratio * default_s && is_team(k, x) == (k->n_threads > 1));
        *fastest_s = default_s;
    }
    if (default_s < disturbed_ratio * *fastest_s && !is_impossible(k, time_s)) return false;
    if (x->n_tries++ < MOST_TRIES) return true;
    *ratio = time_s / *fastest_s;
    return false;
}

/* Puts a promising candidate up for a second, longer measurement; one on all threads has to wait for their cores. */
static bool look_closer(slice *s, ahead *x, double ratio) {
    const hn_tuned *k = s->k;
    if (x->closer || !(ratio < fmax(k->best, k->screen) * (1 + least_gain))) return false;
    x->closer = true;
    x->screen = ratio;
    x->state = READY;
    s->n_ready++;
    return true;
}

static hone_rc digest(slice *s, const hn_lab_reply *r, hone_err *err) {
    ahead *x = s->measuring;
    double ratio = NAN, time_s = NAN;
    s->measuring = NULL;
    if (r->cls == HONE_RUN_OK) {
        summarise(r, &ratio, &time_s);
        if (is_disturbed(s->k, x, &ratio, time_s)) return measure(s, x, err);
        if (!x->closer) ratio *= x->balance;
        if (look_closer(s, x, ratio)) return is_team(s->k, x) ? HONE_OK : measure(s, x, err);
        if (!x->closer && s->k->n_threads > 1) /* scaled by what all threads gain over one for the best */
            ratio *= s->k->best / s->k->screen, time_s = ratio * s->k->default_s;
        if (s->k->stale) {
            hone_rc rc = rescale(s->k, err);
            if (rc) return rc;
            s->k->stale = false;
        }
        double fastest_s = s->k->fastest_s[s->k->n_threads > 1];
        if (isnan(s->k->default_s) || fastest_s < s->k->default_s) s->k->default_s = fastest_s;
    }
    hone_rc rc = finish(s, x, r->cls, ratio, time_s, err);
    release(s, x);
    return rc;
}

/* Second measurements come first. */
static ahead *next_ready(slice *s) {
    ahead *found = NULL;
    for (size_t i = 0; i < MOST_AHEAD && !s->dflt.proc; i++) {
        ahead *x = &s->slot[i];
        if (x->state == READY && (!found || x->closer)) found = x;
    }
    return found;
}

/* One round: builds are taken in and started, a measurement is read and the next begun. Builds pause during
 * measurements on their core. */
static hone_rc turn(slice *s, hone_err *err) {
    hn_lab_reply reply;
    hone_rc rc = s->dflt.proc && hn_proc_poll(s->dflt.proc) ? collect_default(s, err) : HONE_OK;
    for (size_t i = 0; i < MOST_AHEAD && !rc; i++)
        if (s->slot[i].state == BUILDING && hn_proc_poll(s->slot[i].build.proc)) rc = collect(s, &s->slot[i], err);
    if (!rc) rc = fill(s, err);
    ahead *x = rc || s->measuring ? NULL : next_ready(s);
    if (x) rc = measure(s, x, err);
    if (rc) return rc;
    pause_builds(s);
    double wait_s = s->measuring && is_team(s->k, s->measuring) ? 0.02 : 1e-3; /* polling takes a core, too */
    if (s->measuring) return hn_lab_poll(&s->lab, wait_s, &reply) ? digest(s, &reply, err) : HONE_OK;
    hn_proc *procs[MOST_AHEAD + 1] = {s->dflt.proc};
    for (size_t i = 0; i < MOST_AHEAD; i++) procs[1 + i] = s->slot[i].build.proc;
    if (s->n_building || s->dflt.proc) hn_proc_wait_any(procs, MOST_AHEAD + 1, 0.05, s->t->o->stop);
    return HONE_OK;
}

static bool has_work(const slice *s) { return s->dflt.proc || s->measuring || s->n_building || s->n_ready; }

static void drop_build(hn_lab_build *b) {
    hn_proc_result r = {0};
    if (!b->proc) return;
    hn_proc_kill(b->proc);
    hn_proc_collect(b->proc, &r);
    hn_proc_result_free(&r);
}

static void drop_all(slice *s) {
    hn_lab_close(&s->lab);
    drop_build(&s->dflt);
    hn_arena_free(&s->dflt_a);
    for (size_t i = 0; i < MOST_AHEAD; i++) {
        ahead *x = &s->slot[i];
        if (x->state == FREE && !x->point) continue;
        drop_build(&x->build);
        if (x->point && !x->transferred) hone_search_forget(s->k->search, x->point);
        release(s, x);
    }
}

hone_rc hn_tuned_slice(hn_tuning *t, hn_tuned *k, double until_s, hone_err *err) {
    slice *s = calloc(1, sizeof *s);
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    double start_s = hn_now_s();
    s->t = t, s->k = k, s->until_s = until_s;
    hone_rc rc = k->dflt.path[0] ? HONE_OK : start_default(s, err);
    if (!rc) rc = hn_lab_open(&s->lab, t->m, k->k, t->symbol, &t->team, t->o->seed + 1, err);
    while (!rc && !hn_tuning_stopped(t)) {
        s->closing = k->end || hn_now_s() >= until_s;
        if (s->closing && !has_work(s)) break;
        rc = turn(s, err);
    }
    drop_all(s);
    free(s);
    k->search_s += hn_now_s() - start_s;
    t->search_s += hn_now_s() - start_s;
    return rc;
}

/* --- opening -------------------------------------------------------------------------------------------------------
 */

/* The default is known without a measurement; the trials of earlier runs follow in their order. */
static hone_rc take_up(hn_tuning *t, hn_tuned *k, hone_err *err) {
    hone_winner_trial *trial = NULL;
    size_t n = 0, slots = hone_space_slots(k->space.space);
    double *point = calloc(slots + 1, sizeof *point);
    if (!point) return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    hone_space_default(k->space.space, point);
    hone_outcome same = {.cls = HONE_RUN_OK, .value = {1}};
    hone_rc rc = hone_search_tell(k->search, point, &same, err);
    hn_seen *first = rc ? NULL : add_seen(k, k->default_code, "", NULL, HONE_RUN_OK, 1, k->default_s);
    if (first) hone_point_to_json(k->space.space, point, &first->json, NULL);
    if (!rc && !t->o->fresh) rc = hone_winners_trials(t->winners, k->trial_id, &trial, &n, err);
    for (size_t i = 0; i < n && !rc && !k->end; i++) {
        if (hone_point_from_json(k->space.space, trial[i].candidate, point, NULL)) continue; /* of another space */
        if (trial[i].cls == HONE_RUN_OK && is_impossible(k, trial[i].ratio * k->default_s)) continue;
        hn_seen *seen = add_seen(k, trial[i].code, "", NULL, trial[i].cls, trial[i].ratio, trial[i].time_s);
        if (!seen) break;
        seen->json = strdup(trial[i].candidate);
        rc = tell_engine(k, point, seen, err);
        update_best(t, k, seen);
    }
    k->screen = k->best;
    hone_free(trial);
    free(point);
    return rc;
}

hone_rc hn_tuned_open(hn_tuning *t, hn_tuned *k, hone_err *err) {
    hone_err why = {0};
    k->opened = true;
    k->best = k->screen = 1;
    k->n_threads = hn_kernel_threads(t->m, k->k, t->symbol, t->team.n);
    if (!hn_winner_key(t->m, k->k, t->symbol, t->team.n, &k->key))
        return hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
    hn_code_hash(&k->k->code, k->k->name, "", "", k->default_code);
    k->key.default_code = k->default_code;
    hone_winner_trial_id(&k->key, k->trial_id);
    hone_rc rc = hn_tune_space_make(t->m, k->k, &k->space, &why);
    if (rc == HONE_E_UNSUPPORTED) {
        k->end = "none";
        return HONE_OK;
    }
    if (rc) return hn_fail(err, rc, "%s", why.text);
    const hone_search_options config = {.size = sizeof(hone_search_options),
                                        .engine = t->o->engine,
                                        .seed = t->o->seed,
                                        .seeds = k->space.seeds,
                                        .n_seeds = k->space.n_seeds,
                                        .no_default = true};
    rc = hone_search_open(k->space.space, &config, &k->search, err);
    return rc ? rc : take_up(t, k, err);
}

void hn_tuned_close(hn_tuned *k) {
    if (k->search) hone_search_close(k->search);
    for (size_t i = 0; i < k->n_seen; i++) hone_free(k->seen[i].json);
    free(k->seen);
    hn_known_free(&k->known);
    free(k->transferred);
    hn_tune_space_free(&k->space);
    hone_winner_free(&k->won);
}
