/* tune_model/proof.c — is the best candidate faster than the default, and right? Nothing of the search is used: both
 * sides are built afresh several times with other code in front, and run in processes of their own with other places
 * for buffers and stack; pairs in ABBA order. A build is the sampling unit: the interval is the union of the clustered
 * bootstrap's and of the t interval over builds (as docs/proof.md has it), at 95 % over all candidates together
 * (Bonferroni), and its near end must beat the least gain. What is kept is held against the interpreter.
 */
#include "base/clock.h"
#include "base/rng.h"
#include "compile/winner.h"
#include "parity/parity.h"
#include "tune_model/tune_model_int.h"

#include <hone/prove.h>

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

typedef struct rival {
    hn_seen *seen;
    hn_setting setting;
    hn_kernel_code code;
    char library[64], hash[33];
    double z[MOST_VARIANTS * PAIRS], time_s[MOST_VARIANTS * PAIRS][2]; /* z: log(default / candidate) */
    unsigned variant[MOST_VARIANTS * PAIRS];
    size_t n, n_alone;
    double alone[MOST_VARIANTS * HN_LAB_PAIRS]; /* z on one thread, of a kernel that is measured on several */
    hone_interval gain;                         /* of z */
    hone_proof_finding finding;
    bool failed, out; /* out: nothing more is to be learnt of it */
} rival;

typedef struct proof {
    hn_tuning *t;
    hn_tuned *k;
    rival r[CANDIDATES];
    size_t n;
    double margin, until_s, last_s;
    hn_arena a;
} proof;

/* --- who -----------------------------------------------------------------------------------------------------------
 */

static bool is_rival(const hn_tuned *k, const hn_seen *s, const proof *p) {
    if (s->judged || s->cls != HONE_RUN_OK || !(s->ratio < 1 - p->margin / 2) || !strcmp(s->code, k->default_code))
        return false;
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->r[i].seen->code, s->code) || (*s->object && !strcmp(p->r[i].seen->object, s->object)))
            return false;
    return true;
}

/* Proven by an earlier run: what promises less than it does is not looked at. */
static bool is_winner(const hn_tuned *k, const hn_seen *s) {
    return k->winner && !strcmp(k->won.sizes, k->key.sizes) && !strcmp(k->won.code, s->code);
}

/* Of candidates that are equally fast the one with the fewest flags: what a flag does not gain is not worth reading. */
static double plainness(const hn_seen *s) {
    size_t n = 0;
    for (const char *p = s->json; p && (p = strstr(p, ": true")); p++) n++;
    return s->ratio * (1 + flag_cost * (double)n);
}

static void choose(proof *p) {
    while (p->n < CANDIDATES) {
        hn_seen *best = NULL;
        p->r[p->n].gain = (hone_interval){NAN, NAN, NAN};
        for (size_t i = 0; i < p->k->n_seen; i++)
            if (is_rival(p->k, &p->k->seen[i], p) && (!best || plainness(&p->k->seen[i]) < plainness(best)))
                best = &p->k->seen[i];
        if (!best || is_winner(p->k, best)) return;
        p->r[p->n++].seen = best;
        best->judged = true;
    }
}

static hone_rc emit_rival(proof *p, rival *r, hone_err *err) {
    hn_tuning *t = p->t;
    double *point = hn_alloc_n(&p->a, hone_space_slots(p->k->space.space) + 1, sizeof *point);
    if (!point) return hn_fail(err, HONE_E_NOMEM, "out of memory for a proof");
    hone_rc rc = hone_point_from_json(p->k->space.space, r->seen->json, point, err);
    if (rc) return rc;
    hn_tune_space_setting(&p->k->space, point, &r->setting);
    const hn_emit_how how = {t->m->dialect, t->m->machine, t->m->options->relaxed, r->setting.schedule};
    r->failed = hn_emit_kernel(t->m->g, p->k->k->body, p->k->k->kind, p->k->k->name, &how, &p->a, &r->code, NULL) ||
                !r->code.scratch_b;
    if (!r->failed) hn_code_hash(&r->code, p->k->k->name, r->setting.cc, r->setting.flags, r->hash);
    return HONE_OK;
}

/* --- a variant of everybody ----------------------------------------------------------------------------------------
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

/* A pair is the fastest of a few blocks of each side, taken in turns: a block in which the machine did something else
 * as well says nothing of either. */
static void add_pairs(rival *r, const hn_lab_reply *reply, unsigned variant) {
    if (reply->cls != HONE_RUN_OK) r->failed = true;
    for (uint32_t i = 0; i + BLOCKS <= reply->n_pairs && !r->failed && r->n < MOST_VARIANTS * PAIRS; i += BLOCKS) {
        double *pair = r->time_s[r->n];
        pair[0] = pair[1] = INFINITY;
        for (uint32_t k = i; k < i + BLOCKS; k++)
            for (int side = 0; side < 2; side++) pair[side] = fmin(pair[side], reply->time_s[k][side]);
        r->z[r->n] = log(pair[0] / pair[1]);
        r->variant[r->n++] = variant;
    }
}

static hone_rc ask(const proof *p, hn_lab *lab, const hn_lab_request *q, hn_lab_reply *reply, hone_err *err) {
    hone_rc rc = hn_lab_send(lab, q, 30, err);
    while (!rc && !hn_lab_poll(lab, 0.05, reply))
        if (hn_tuning_stopped(p->t)) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
    return rc;
}

static void add_alone(rival *r, const hn_lab_reply *reply) {
    if (reply->cls != HONE_RUN_OK) r->failed = true;
    for (uint32_t i = 0; i < reply->n_pairs && !r->failed && r->n_alone < sizeof r->alone / sizeof *r->alone; i++)
        r->alone[r->n_alone++] = log(reply->time_s[i][0] / reply->time_s[i][1]);
}

static hone_rc measure(proof *p, hn_lab *lab, rival *r, const hn_lab_side *dflt, unsigned variant, hone_err *err) {
    hn_lab_request q = {.n_pairs = PAIRS * BLOCKS,
                        .n_threads = p->k->n_threads,
                        .block_s = block_s,
                        .max_s = variant_s,
                        .side[0] = *dflt};
    hn_lab_reply reply;
    set_side(p, &r->code, r->library, &q.side[1]);
    hone_rc rc = ask(p, lab, &q, &reply, err);
    if (rc) return rc;
    add_pairs(r, &reply, variant);
    if (p->k->n_threads < 2 || r->failed) return HONE_OK;
    q.n_threads = 1, q.n_pairs = PAIRS, q.max_s = variant_s / 4;
    rc = ask(p, lab, &q, &reply, err);
    if (!rc) add_alone(r, &reply);
    return rc;
}

static void remove_library(const proof *p, const char *library) {
    char path[320];
    size_t n = (size_t)snprintf(path, sizeof path, "%s/%s", p->t->folder, library);
    if (!*library || n < 3 || n >= sizeof path) return;
    unlink(path);
    memcpy(path + n - 2, "c", 2);
    unlink(path);
}

static hone_rc build_variant(proof *p, unsigned v, char library[64], hone_err *err) {
    hn_rng rng = hn_rng_make(p->t->o->seed + 99, v);
    static const hn_setting usual = {.cc = ""};
    build x[CANDIDATES + 1] = {{.code = &p->k->k->code, .setting = &usual, .library = library}};
    rival *of[CANDIDATES + 1];
    size_t n = 1;
    for (size_t i = 0; i < p->n; i++) {
        rival *r = &p->r[i];
        if (r->failed || r->out) continue;
        remove_library(p, r->library);
        of[n] = r;
        x[n++] = (build){.code = &r->code, .setting = &r->setting, .library = r->library};
    }
    hone_rc rc = build_all(p, x, n, &rng, err);
    for (size_t i = 1; i < n && !rc; i++) of[i]->failed = !x[i].good;
    return rc || x[0].good ? rc : hn_fail(err, HONE_E_TOOL, "kernel '%s' no longer compiles", p->k->k->name);
}

static hone_rc run_variant(proof *p, unsigned v, hone_err *err) {
    hn_lab lab = {.fd = -1};
    hn_lab_side dflt;
    char library[64] = "";
    hone_rc rc = build_variant(p, v, library, err);
    if (!rc) rc = hn_lab_open(&lab, p->t->m, p->k->k, p->t->symbol, &p->t->team, p->t->o->seed + 1000 + v, err);
    set_side(p, &p->k->k->code, library, &dflt);
    for (size_t i = 0; i < p->n && !rc; i++)
        if (!p->r[i].failed && !p->r[i].out) rc = measure(p, &lab, &p->r[i], &dflt, v, err);
    hn_lab_close(&lab);
    remove_library(p, library);
    return rc;
}

/* --- the verdict ---------------------------------------------------------------------------------------------------
 */

static void judge(const proof *p, rival *r) {
    double level = 1 - (1 - confidence) / (double)p->n;
    hone_interval a =
        hone_stat_bootstrap_clustered(r->z, r->variant, r->n, HONE_CENTER_MEDIAN, level, 0, p->t->o->seed);
    hone_interval b = hone_stat_cluster_t(r->z, r->variant, r->n, HONE_CENTER_MEDIAN, level);
    r->gain = (hone_interval){fmin(a.lo, b.lo), a.mid, fmax(a.hi, b.hi)};
    r->finding = r->gain.lo > p->margin ? HONE_GAINS : r->gain.hi < p->margin ? HONE_LOSES : HONE_EVEN;
}

/* Who is out: what was found to lose; what is slower than the default early on; what is behind the least of another's
 * gain. */
static void leave_out(proof *p, unsigned n_variants) {
    double lead = 0;
    for (size_t i = 0; i < p->n && n_variants >= LEAST_VARIANTS; i++)
        if (!p->r[i].failed && p->r[i].finding == HONE_GAINS) lead = fmax(lead, p->r[i].gain.lo);
    for (size_t i = 0; i < p->n; i++) {
        rival *r = &p->r[i];
        bool loses = n_variants < LEAST_VARIANTS ? r->gain.mid < 0 : r->finding == HONE_LOSES;
        r->out = r->out || loses || r->gain.mid < lead;
    }
}

/* Is there nothing more to learn: all are decided, or out? */
static bool judge_all(proof *p, unsigned n_variants) {
    bool decided = true;
    if (n_variants < EARLY_VARIANTS) return false;
    for (size_t i = 0; i < p->n; i++)
        if (!p->r[i].failed && !p->r[i].out) judge(p, &p->r[i]);
    leave_out(p, n_variants);
    for (size_t i = 0; i < p->n; i++) {
        const rival *r = &p->r[i];
        decided = decided && (r->failed || r->out || (n_variants >= LEAST_VARIANTS && r->finding == HONE_GAINS));
    }
    return decided;
}

/* Right, too? Its code stands in for the kernel's while parity looks at it. */
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
        hn_tuning_say(p->t, HONE_TUNED_WARNING, p->k, NULL, text);
    }
    return rc;
}

static double middle(const rival *r, int side) {
    double x[MOST_VARIANTS * PAIRS];
    for (size_t i = 0; i < r->n; i++) x[i] = r->time_s[i][side];
    return hone_stat_median(x, r->n);
}

static const char *identity_of(const hn_tune_space *s, const char *cc) {
    for (size_t i = 0; i < s->n_cc; i++)
        if (!strcmp(s->cc[i], cc)) return s->identity[i];
    return "";
}

static hone_rc write_winner(proof *p, const rival *r, hone_err *err) {
    hn_tuned *k = p->k;
    hone_winner w = k->key, old;
    w.schedule = r->code.schedule, w.flags = r->setting.flags;
    w.cc = r->setting.cc, w.cc_identity = identity_of(&k->space, r->setting.cc);
    w.code = r->hash, w.default_code = k->default_code;
    w.provenance = hn_format(&p->a, "%s, hone " HONE_VERSION, p->t->lib.name);
    w.default_s = middle(r, 0), w.tuned_s = middle(r, 1);
    w.gain_lo = exp(r->gain.lo), w.gain = exp(r->gain.mid), w.gain_hi = exp(r->gain.hi);
    w.pairs = (double)r->n;
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
    hn_tuning_say(p->t, HONE_TUNED_WINNER, k, &gain, w.schedule);
    return HONE_OK;
}

/* Whoever runs the model on one thread takes this winner, too. */
static bool holds_alone(const rival *r) {
    return !r->n_alone || hone_stat_median(r->alone, r->n_alone) > log(least_alone);
}

static rival *best_kept(proof *p) {
    rival *best = NULL;
    for (size_t i = 0; i < p->n; i++)
        if (!p->r[i].failed && p->r[i].finding == HONE_GAINS && holds_alone(&p->r[i]) &&
            (!best || p->r[i].gain.lo > best->gain.lo))
            best = &p->r[i];
    return best;
}

/* What is said of a kernel whose candidates were all refused: the best of them. */
static void note_best(proof *p) {
    for (size_t i = 0; i < p->n; i++) {
        const hone_interval *z = &p->r[i].gain;
        if (p->r[i].failed || !(z->mid > 0 || z->mid <= 0) || (p->k->seen_gain.mid >= exp(z->mid))) continue;
        p->k->seen_gain = (hone_interval){exp(z->lo), exp(z->mid), exp(z->hi)};
    }
}

static hone_rc decide(proof *p, hone_err *err) {
    hone_rc rc = HONE_OK;
    bool right = false;
    for (rival *r; !rc && !right && (r = best_kept(p)); r->failed = true) {
        rc = is_right(p, r, &right, err);
        if (!rc && right) return write_winner(p, r, err);
    }
    return rc;
}

/* After n builds since start_s: is there no time for more, or for as many as a verdict needs? */
static bool is_late(const proof *p, unsigned n, double start_s) {
    double now_s = hn_now_s();
    if (n >= LEAST_VARIANTS) return now_s > p->until_s;
    return n && now_s + (now_s - start_s) / n * (LEAST_VARIANTS - n) > p->last_s;
}

hone_rc hn_tuned_prove(hn_tuning *t, hn_tuned *k, double until_s, double last_s, hone_err *err) {
    proof *p = calloc(1, sizeof *p);
    hone_rc rc = HONE_OK;
    bool decided = false;
    unsigned v = 0;
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory for a proof");
    p->t = t, p->k = k, p->until_s = until_s, p->last_s = last_s;
    p->margin = log1p(t->o->min_gain > 0 ? t->o->min_gain : 0.01);
    k->proven = true;
    choose(p);
    hn_tuning_say(t, HONE_TUNED_PROOF, k, NULL, NULL);
    for (size_t i = 0; i < p->n && !rc; i++) rc = emit_rival(p, &p->r[i], err);
    double start_s = hn_now_s();
    for (; p->n && !rc && !decided && v < MOST_VARIANTS && !is_late(p, v, start_s); v++) {
        rc = run_variant(p, v, err);
        if (!rc) decided = judge_all(p, v + 1);
    }
    if (!rc && p->n) note_best(p);
    if (!rc && v >= LEAST_VARIANTS) rc = decide(p, err);
    for (size_t i = 0; i < p->n; i++) remove_library(p, p->r[i].library);
    hn_arena_free(&p->a);
    free(p);
    return rc == HONE_E_INTERRUPTED ? HONE_OK : rc;
}
