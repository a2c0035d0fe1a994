/* tune_model/proof.c — is the best candidate faster than the default, and right? Nothing of the search is used: both
 * sides are built afresh several times with other code in front, and run in processes of their own with other places
 * for buffers and stack; pairs in ABBA order. A build is the sampling unit: the interval is the union of the clustered
 * bootstrap's and of the t interval over builds (as docs/proof.md has it), at 95 % over all candidates together
 * (Bonferroni), and its near end must beat the least gain. What is kept is compared with the interpreter.
 */
#include "base/clock.h"
#include "base/rng.h"
#include "compile/winner.h"
#include "experiment/contest.h"
#include "parity/parity.h"
#include "tune_model/tune_model_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CANDIDATES = 3,
    EARLY_VARIANTS = 2,
    LEAST_VARIANTS = 4,
    MOST_VARIANTS = 12,
    PAIRS = 8,
    BLOCKS = 3,
    PAD_B = 4096
};
static const double block_s = 1e-3, variant_s = 0.4, confidence = 0.95, flag_cost = 0.0015, least_alone = 0.99;

typedef struct rival { /* as contest.x */
    hn_seen *seen;
    hn_setting setting;
    hn_kernel_code code;
    char library[64], hash[33];
    double time_s[MOST_VARIANTS * PAIRS][2]; /* of the contender's readings */
    size_t n_alone;
    double alone[MOST_VARIANTS * HN_LAB_PAIRS]; /* z on one thread, of a kernel that is measured on several */
} rival;

typedef struct proof {
    hn_tuning *t;
    hn_tuned *k;
    rival r[CANDIDATES];
    hn_contest contest;
    hn_lab lab; /* of this round */
    hn_lab_side dflt;
    char library[64]; /* the default's in this round */
    hn_arena a;
} proof;

/* --- who -----------------------------------------------------------------------------------------------------------
 */

/* Equal machine code, or C text where that is not known, is one candidate. */
static uint64_t key_of(void *ctx, size_t i) {
    const hn_tuned *k = ((proof *)ctx)->k;
    if (i == HN_BASELINE) return hn_key_of(k->default_code);
    return hn_key_of(*k->seen[i].object ? k->seen[i].object : k->seen[i].code);
}

static bool is_rival(const hn_tuned *k, const hn_seen *s, double margin) {
    return !s->judged && s->cls == HONE_RUN_OK && s->ratio < 1 - margin / 2 && strcmp(s->code, k->default_code) != 0;
}

/* Is it the winner of an earlier run? Candidates that look slower are not tested. */
static bool is_winner(const hn_tuned *k, const hn_seen *s) {
    return k->winner && !strcmp(k->won.sizes, k->key.sizes) && !strcmp(k->won.code, s->code);
}

/* Of candidates that are about equally fast the one with the fewest flags wins. */
static double plainness(const hn_seen *s) {
    size_t n = 0;
    for (const char *p = s->json; p && (p = strstr(p, ": true")); p++) n++;
    return s->ratio * (1 + flag_cost * (double)n);
}

static void choose(proof *p) {
    hn_tuned *k = p->k;
    bool *passed = hn_alloc_n(&p->a, k->n_seen + 1, sizeof *passed);
    while (passed && p->contest.n < CANDIDATES) {
        hn_seen *best = NULL;
        for (size_t i = 0; i < k->n_seen; i++)
            if (!passed[i] && is_rival(k, &k->seen[i], p->contest.rules.margin) &&
                (!best || plainness(&k->seen[i]) < plainness(best)))
                best = &k->seen[i];
        if (!best) return;
        passed[best - k->seen] = true;
        if (!hn_contest_enter(&p->contest, (size_t)(best - k->seen))) continue;
        if (is_winner(k, best)) {
            p->contest.n--;
            return;
        }
        p->r[p->contest.n - 1].seen = best;
        best->judged = true;
    }
}

static hone_rc emit_rival(proof *p, size_t i, hone_err *err) {
    rival *r = &p->r[i];
    hn_tuning *t = p->t;
    double *point = hn_alloc_n(&p->a, hone_space_slots(p->k->space.space) + 1, sizeof *point);
    if (!point) return hn_fail(err, HONE_E_NOMEM, "out of memory for a proof");
    hone_rc rc = hone_point_from_json(p->k->space.space, r->seen->json, point, err);
    if (rc) return rc;
    hn_tune_space_setting(&p->k->space, point, &r->setting);
    const hn_emit_how how = {.dialect = t->m->dialect,
                             .machine = t->m->machine,
                             .relaxed = t->m->options->relaxed,
                             .schedule = r->setting.schedule};
    bool failed = hn_emit_kernel(t->m->g, p->k->k->body, p->k->k->kind, p->k->k->name, &how, &p->a, &r->code, NULL) ||
                  !r->code.scratch_b;
    p->contest.x[i].failed = failed;
    if (!failed) hn_code_hash(&r->code, p->k->k->name, r->setting.cc, r->setting.flags, r->hash);
    return HONE_OK;
}

/* --- a variant of every side ---------------------------------------------------------------------------------------
 */

typedef struct build {
    const hn_kernel_code *code;
    const hn_setting *setting;
    char *library; /* [64] */
    bool good;
    hn_lab_build b;
} build;

static hone_rc start(proof *p, build *x, int cpu, hn_rng *rng, hone_err *err) {
    char name[32];
    snprintf(name, sizeof name, "p%zu", p->t->n_names++);
    unsigned pad_b = (unsigned)(16 * (1 + hn_rng_below(rng, PAD_B / 16)));
    hone_rc rc = hn_lab_build_start(p->t->m, p->t->folder, name, x->code, p->k->k->name, x->setting,
                                    (hn_lab_how){.pad_b = pad_b, .cpu = cpu}, &p->a, &x->b, err);
    if (!rc) memcpy(x->library, x->b.library, sizeof x->b.library);
    return rc;
}

/* Side by side, as many as are allowed: nothing is measured meanwhile. */
static hone_rc build_all(proof *p, build *x, size_t n, hn_rng *rng, hone_err *err) {
    const hn_tuning *t = p->t;
    hone_rc rc = HONE_OK;
    for (size_t i = 0, end; i < n && !rc; i = end) {
        size_t n_started = 0;
        end = i + t->n_jobs < n ? i + t->n_jobs : n;
        for (size_t k = i; k < end && !rc; k++) {
            rc = start(p, &x[k], t->build_cpu[k % t->n_build_cpu], rng, err);
            n_started += !rc;
        }
        for (size_t k = i; k < i + n_started; k++) {
            hn_proc_result r = {0};
            hn_proc_collect(x[k].b.proc, &r);
            x[k].good = r.end == HN_PROC_EXITED && r.code == 0;
            hn_proc_result_free(&r);
        }
    }
    return rc;
}

static void set_side(const proof *p, const hn_kernel_code *code, const char *library, hn_lab_side *out) {
    *out = (hn_lab_side){0};
    snprintf(out->path, sizeof out->path, "%s/%s", p->t->folder, library);
    if (!hn_work_eval(p->t->m->g, code, p->t->symbol, &out->work)) out->work = -1;
    if (!code->scratch_b || !hn_dim_eval(p->t->m->g->dims, code->scratch_b, p->t->symbol, &out->scratch_b))
        out->scratch_b = 0;
}

/* A pair is the fastest of a few blocks of each side, taken in turns: a block in which the machine did other work
 * says nothing about either side. */
static hone_rc add_pairs(proof *p, hn_contender *x, const hn_lab_reply *reply, hone_err *err) {
    rival *r = &p->r[x - p->contest.x];
    hone_rc rc = HONE_OK;
    x->failed = reply->cls != HONE_RUN_OK;
    for (uint32_t i = 0; i + BLOCKS <= reply->n_pairs && !x->failed && !rc && x->n < MOST_VARIANTS * PAIRS;
         i += BLOCKS) {
        double *pair = r->time_s[x->n];
        pair[0] = pair[1] = INFINITY;
        for (uint32_t k = i; k < i + BLOCKS; k++)
            for (int side = 0; side < 2; side++) pair[side] = fmin(pair[side], reply->time_s[k][side]);
        rc = hn_contest_add(&p->contest, x, log(pair[0] / pair[1]), err);
    }
    return rc;
}

static hone_rc ask(const proof *p, hn_lab *lab, const hn_lab_request *q, hn_lab_reply *reply, hone_err *err) {
    hone_rc rc = hn_lab_send(lab, q, 30, err);
    while (!rc && !hn_lab_poll(lab, 0.05, reply))
        if (hn_tuning_stopped(p->t)) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
    return rc;
}

static hone_rc measure(void *ctx, hn_contest *c, hn_contender *x, hone_err *err) {
    proof *p = ctx;
    rival *r = &p->r[x - c->x];
    hn_lab_request q = {.n_pairs = PAIRS * BLOCKS,
                        .n_threads = p->k->n_threads,
                        .block_s = block_s,
                        .max_s = variant_s,
                        .side[0] = p->dflt};
    hn_lab_reply reply;
    set_side(p, &r->code, r->library, &q.side[1]);
    hone_rc rc = ask(p, &p->lab, &q, &reply, err);
    if (!rc) rc = add_pairs(p, x, &reply, err);
    if (rc || p->k->n_threads < 2 || x->failed) return rc;
    q.n_threads = 1, q.n_pairs = PAIRS, q.max_s = variant_s / 4;
    if ((rc = ask(p, &p->lab, &q, &reply, err))) return rc;
    x->failed = reply.cls != HONE_RUN_OK;
    for (uint32_t i = 0; i < reply.n_pairs && !x->failed && r->n_alone < sizeof r->alone / sizeof *r->alone; i++)
        r->alone[r->n_alone++] = log(reply.time_s[i][0] / reply.time_s[i][1]);
    return HONE_OK;
}

static void remove_library(const proof *p, const char *library) {
    char path[320];
    size_t n = (size_t)snprintf(path, sizeof path, "%s/%s", p->t->folder, library);
    if (!*library || n < 3 || n >= sizeof path) return;
    unlink(path);
    memcpy(path + n - 2, "c", 2);
    unlink(path);
}

static hone_rc build_variant(proof *p, hone_err *err) {
    hn_contest *c = &p->contest;
    hn_rng rng = hn_rng_make(p->t->o->seed + 99, c->n_rounds);
    static const hn_setting usual = {.cc = ""};
    build x[CANDIDATES + 1] = {{.code = &p->k->k->code, .setting = &usual, .library = p->library}};
    hn_contender *of[CANDIDATES + 1];
    size_t n = 1;
    for (size_t i = 0; i < c->n; i++) {
        rival *r = &p->r[i];
        if (!hn_contest_is_in(&c->x[i])) continue;
        remove_library(p, r->library);
        of[n] = &c->x[i];
        x[n++] = (build){.code = &r->code, .setting = &r->setting, .library = r->library};
    }
    hone_rc rc = build_all(p, x, n, &rng, err);
    for (size_t i = 1; i < n && !rc; i++) of[i]->failed = !x[i].good;
    return rc || x[0].good ? rc : hn_fail(err, HONE_E_TOOL, "kernel '%s' no longer compiles", p->k->k->name);
}

static void end_variant(proof *p) {
    hn_lab_close(&p->lab);
    remove_library(p, p->library);
    *p->library = 0;
}

/* Builds all sides anew, and starts a process that runs them. */
static hone_rc begin_variant(void *ctx, hn_contest *c, hone_err *err) {
    proof *p = ctx;
    end_variant(p);
    hone_rc rc = build_variant(p, err);
    set_side(p, &p->k->k->code, p->library, &p->dflt);
    if (rc) return rc;
    return hn_lab_open(&p->lab, p->t->m, p->k->k, p->t->symbol, &p->t->team, p->t->o->seed + 1000 + c->n_rounds, err);
}

static bool judge(void *ctx, hn_contest *c) {
    (void)ctx;
    return hn_judge_gains(c);
}

static const hn_experiment variants = {key_of, begin_variant, measure, judge};

/* --- the verdict ---------------------------------------------------------------------------------------------------
 */

/* Are its results right, too? Parity checks it in place of the kernel's code. */
static hone_rc is_right(proof *p, const rival *r, bool *right, hone_err *err) {
    hn_kernel k = *p->k->k;
    hn_parity found = {0};
    char *path = hn_format(&p->a, "%s/%s", p->t->folder, r->library);
    k.code = r->code;
    hone_rc rc = path ? hn_parity_one(p->t->m, &k, path, &found, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    *right = !rc && (found.end == HN_PARITY_SAME || found.end == HN_PARITY_SKIPPED);
    if (!rc && !*right) {
        char text[480];
        snprintf(text, sizeof text, "%s: schedule '%s' is faster, but wrong: %.150s", k.name, r->setting.schedule,
                 found.text);
        hn_tuning_say(p->t, HONE_TUNE_MODEL_WARNING, p->k, NULL, text);
    }
    return rc;
}

static double middle(const rival *r, size_t n, int side) {
    double x[MOST_VARIANTS * PAIRS];
    for (size_t i = 0; i < n; i++) x[i] = r->time_s[i][side];
    return hone_stat_median(x, n);
}

static const char *identity_of(const hn_tune_space *s, const char *cc) {
    for (size_t i = 0; i < s->n_cc; i++)
        if (!strcmp(s->cc[i], cc)) return s->identity[i];
    return "";
}

static hone_rc write_winner(proof *p, const hn_contender *x, hone_err *err) {
    const rival *r = &p->r[x - p->contest.x];
    hn_tuned *k = p->k;
    hone_winner w = k->key, old;
    w.schedule = r->code.schedule, w.flags = r->setting.flags;
    w.cc = r->setting.cc, w.cc_identity = identity_of(&k->space, r->setting.cc);
    w.code = r->hash, w.default_code = k->default_code;
    w.provenance = hn_format(&p->a, "%s, hone " HONE_VERSION, p->t->lib.name);
    w.default_s = middle(r, x->n, 0), w.tuned_s = middle(r, x->n, 1);
    w.gain_lo = exp(x->gain.lo), w.gain = exp(x->gain.mid), w.gain_hi = exp(x->gain.hi);
    w.pairs = (double)x->n;
    w.at_s = (double)(int64_t)hn_unix_s();
    bool same = k->winner && !strcmp(k->won.sizes, k->key.sizes);
    if (same && k->won.gain >= w.gain) return HONE_OK; /* an earlier one is as good */
    hone_rc rc = hone_winners_put(p->t->winners, &w, err);
    if (!rc) rc = hone_winners_find(p->t->winners, &w, &old, err);
    if (rc) return rc;
    hone_winner_free(&k->won);
    k->won = old;
    k->winner = k->is_new = true;
    const hone_interval gain = {w.gain_lo, w.gain, w.gain_hi};
    hn_tuning_say(p->t, HONE_TUNE_MODEL_WINNER, k, &gain, w.schedule);
    return HONE_OK;
}

/* Is it no loss on one thread? Runs of the model on one thread take this winner, too. */
static bool holds_alone(const rival *r) {
    return !r->n_alone || hone_stat_median(r->alone, r->n_alone) > log(least_alone);
}

static hn_contender *best_kept(proof *p) {
    hn_contender *best = NULL;
    for (size_t i = 0; i < p->contest.n; i++) {
        hn_contender *x = &p->contest.x[i];
        if (!x->failed && x->finding == HN_ABOVE && holds_alone(&p->r[i]) && (!best || x->gain.lo > best->gain.lo))
            best = x;
    }
    return best;
}

/* For a kernel whose candidates were all refused the result names the best of them. */
static void note_best(proof *p) {
    for (size_t i = 0; i < p->contest.n; i++) {
        const hone_interval *z = &p->contest.x[i].gain;
        if (p->contest.x[i].failed || isnan(z->mid) || p->k->seen_gain.mid >= exp(z->mid)) continue;
        p->k->seen_gain = (hone_interval){exp(z->lo), exp(z->mid), exp(z->hi)};
    }
}

static hone_rc decide(proof *p, hone_err *err) {
    hone_rc rc = HONE_OK;
    bool right = false;
    for (hn_contender *x; !rc && !right && (x = best_kept(p)); x->failed = true) {
        rc = is_right(p, &p->r[x - p->contest.x], &right, err);
        if (!rc && right) return write_winner(p, x, err);
    }
    return rc;
}

hone_rc hn_tuned_prove(hn_tuning *t, hn_tuned *k, double until_s, double last_s, hone_err *err) {
    proof *p = calloc(1, sizeof *p);
    hone_rc rc = HONE_OK;
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory for a proof");
    p->t = t, p->k = k, p->lab.fd = -1;
    const hn_contest_rules rules = {.least = LEAST_VARIANTS,
                                    .most = MOST_VARIANTS,
                                    .until_s = until_s,
                                    .last_s = last_s,
                                    .margin = log1p(t->o->min_gain > 0 ? t->o->min_gain : 0.01),
                                    .alpha = 1 - confidence,
                                    .early = EARLY_VARIANTS,
                                    .seed = t->o->seed};
    p->contest = (hn_contest){.of = &variants, .ctx = p, .rules = rules};
    k->proven = true;
    choose(p);
    hn_tuning_say(t, HONE_TUNE_MODEL_PROOF, k, NULL, NULL);
    for (size_t i = 0; i < p->contest.n && !rc; i++) rc = emit_rival(p, i, err);
    if (!rc) rc = hn_contest_run(&p->contest, err);
    end_variant(p);
    if (!rc) note_best(p);
    if (!rc && p->contest.n_rounds >= LEAST_VARIANTS) rc = decide(p, err);
    for (size_t i = 0; i < p->contest.n; i++) remove_library(p, p->r[i].library);
    hn_contest_close(&p->contest);
    hn_arena_free(&p->a);
    free(p);
    return rc == HONE_E_INTERRUPTED ? HONE_OK : rc;
}
