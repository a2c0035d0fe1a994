/* rollout/rollout_text.c — the decision in words, and the names of its parts. */
#include "rollout/rollout_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const verdict_name[HONE_N_ROLLOUT_VERDICT] = {"wait", "promote", "hold", "roll back"};
static const char *const reason_name[HONE_N_ROLLOUT_REASON] = {
    "undecided", "faster", "not_slower", "no_gain", "age", "slower", "tail", "wrong", "fails", "crashes", "by_hand"};
static const char *const state_name[HONE_N_ROLLOUT_STATE] = {"running", "held", "promoted", "rolled_back"};

static const char *name_at(const char *const *names, size_t n, size_t i) { return i < n ? names[i] : "?"; }
const char *hone_rollout_verdict_name(hone_rollout_verdict v) {
    return name_at(verdict_name, HONE_N_ROLLOUT_VERDICT, v);
}
const char *hone_rollout_reason_name(hone_rollout_reason r) { return name_at(reason_name, HONE_N_ROLLOUT_REASON, r); }
const char *hone_rollout_state_name(hone_rollout_state s) { return name_at(state_name, HONE_N_ROLLOUT_STATE, s); }

typedef unsigned long long count;

/* Writers append to a sentence of a fixed size: none can fail. */
__attribute__((format(printf, 2, 3))) static void say(hone_rollout_decision *d, const char *fmt, ...) {
    size_t n = strlen(d->text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(d->text + n, sizeof d->text - n, fmt, ap);
    va_end(ap);
}

static void say_ratio(hone_rollout_decision *d) {
    if (!d->pairs) {
        say(d, "no pair was run yet");
    } else if (!isfinite(log(d->ratio.lo)) || !isfinite(d->ratio.hi)) {
        say(d, "a run takes %.3f times as long, median of %zu pairs, too few for an interval", d->ratio.mid, d->pairs);
    } else {
        int digits = d->ratio.hi - d->ratio.lo < 0.02 ? 4 : 3;
        say(d, "a run takes %.*f (%.*f to %.*f) times as long, median of %zu pairs", digits, d->ratio.mid, digits,
            d->ratio.lo, digits, d->ratio.hi, d->pairs);
    }
}

static void say_back(const hone_rollout_rules *r, const hone_rollout_evidence *e, const hn_rollout_view *v,
                     hone_rollout_decision *d) {
    say(d, "rolled back: ");
    switch (d->why) {
    case HONE_ROLLOUT_CRASHES:
        say(d, "%llu of %llu runs crashed, %llu of %llu of the version in use", (count)e->crashes_next,
            (count)e->runs_next, (count)e->crashes_now, (count)e->runs_now);
        break;
    case HONE_ROLLOUT_WRONG:
        say(d, "%llu of %llu answers are out of tolerance, where the version in use, run twice, agrees with itself",
            (count)e->differing, (count)e->compared);
        break;
    case HONE_ROLLOUT_FAILS:
        say(d, "%llu of %llu runs failed, %llu of %llu of the version in use", (count)e->failures_next,
            (count)e->runs_next, (count)e->failures_now, (count)e->runs_now);
        break;
    case HONE_ROLLOUT_TAIL:
        say(d, "of %llu pairs that differ by a quarter and more, %llu are slower; ", (count)v->tail,
            (count)v->tail_slower);
        say_ratio(d);
        break;
    default: say_ratio(d); say(d, ", which is more than %.3g %% longer", 100 * r->margin);
    }
}

/* What a promotion still needs. */
static void say_missing(const hone_rollout_rules *r, const hone_rollout_evidence *e, hone_rollout_decision *d) {
    uint64_t bad = e->failures_next + e->crashes_next;
    const char *before = "; a promotion needs ";
    if (e->n < r->pairs) say(d, "%s%llu pairs", before, (count)r->pairs), before = ", ";
    if (e->runs_next < r->runs)
        say(d, "%s%llu runs (%llu were made)", before, (count)r->runs, (count)e->runs_next), before = ", ";
    if (e->elements < r->elements)
        say(d, "%s%llu compared elements (%llu were)", before, (count)r->elements, (count)e->elements), before = ", ";
    if (bad && e->runs_next >= r->runs)
        say(d, "%sfewer failures than %llu in %llu runs", before, (count)bad, (count)e->runs_next), before = ", ";
    double most = r->min_gain > 0 ? 1 / (1 + r->min_gain) : 1 + r->margin;
    if (e->n >= r->pairs && !(d->ratio.hi <= most)) say(d, "%san interval below %.4g", before, most);
}

static void say_fit(const hone_rollout_evidence *e, hone_rollout_decision *d) {
    uint64_t bad = e->failures_next + e->crashes_next;
    say(d, "promoted: ");
    say_ratio(d);
    if (bad)
        say(d, "; %llu of %llu runs failed, no more than before", (count)bad, (count)e->runs_next);
    else
        say(d, "; %llu runs without a failure", (count)e->runs_next);
    if (e->compared) say(d, ", %llu answers compared without a difference", (count)e->compared);
}

void hn_rollout_say(const hone_rollout_rules *r, const hone_rollout_evidence *e, const hn_rollout_view *v,
                    hone_rollout_decision *d) {
    *d->text = 0;
    switch (d->verdict) {
    case HONE_ROLLOUT_ROLL_BACK: say_back(r, e, v, d); return;
    case HONE_ROLLOUT_PROMOTE: say_fit(e, d); return;
    case HONE_ROLLOUT_HOLD:
        if (d->why == HONE_ROLLOUT_NO_GAIN) {
            say(d, "held: ");
            say_ratio(d);
            say(d, ", which is not a gain of %.3g %%", 100 * r->min_gain);
            return;
        }
        say(d, "held: undecided after %.3g h: ", e->age_s / 3600);
        break;
    default: say(d, "waits: ");
    }
    say_ratio(d);
    say_missing(r, e, d);
}

hone_rollout_decision hone_rollout_by_hand(hone_rollout_verdict verdict, const char *text) {
    hone_rollout_decision d = {.verdict = verdict, .why = HONE_ROLLOUT_BY_HAND, .ratio = {NAN, NAN, NAN}};
    snprintf(d.text, sizeof d.text, "%s", text ? text : "by hand");
    return d;
}

size_t hn_rollout_index(const char *const *names, size_t n, const char *name) {
    size_t i = 0;
    while (i < n && strcmp(names[i], name)) i++;
    return i;
}
