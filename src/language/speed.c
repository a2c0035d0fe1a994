/* speed.c — rounds of a prompt and an answer, the model's and its peer's in turns. */
#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"
#include "base/rng.h"
#include "language/language_int.h"

#include <hone/text_speed.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_ROUNDS = 5, MOST_ROUNDS = 100000 };

/* What the rounds of one side took. */
typedef struct side {
    double *prompt_s, *generate_s, *first_s;
} side;

typedef struct contest {
    hone_text_session *session;
    const hone_text_speed_options *o;
    int32_t *token; /* of the prompt and of the answer */
    side mine, peer;
    hn_memory_reader *reader;
    double *read_bps; /* of each round */
    uint64_t resident_b;
} contest;

/* --- turns -------------------------------------------------------------------------------------------------------- */

/* As a greedy answer would look for its token. */
static size_t most_likely(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static hone_rc my_turn(contest *c, size_t tokens, double *prompt_s, double *generate_s, double *first_s,
                       hone_err *err) {
    const hone_text_speed_options *o = c->o;
    const hone_text *m = c->session->m;
    hone_rc rc = hone_text_session_truncate(c->session, 0, err);
    double begin = hn_now_s();
    if (!rc) rc = hn_session_feed(c->session, c->token, o->prompt_tokens, o->stop, err);
    if (rc) return rc;
    *prompt_s = hn_now_s() - begin;
    c->token[o->prompt_tokens] = (int32_t)most_likely(m->logits, (size_t)m->vocabulary);
    *first_s = hn_now_s() - begin;
    begin = hn_now_s();
    for (size_t i = 0; !rc && i < tokens; i++) {
        rc = hn_session_step(c->session, &c->token[o->prompt_tokens + i], 1, 1, err);
        if (!rc && o->stop && *o->stop) rc = hn_fail(err, HONE_E_INTERRUPTED, "stopped");
    }
    *generate_s = hn_now_s() - begin;
    return rc;
}

static uint64_t resident(void) {
    unsigned long long all = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%llu %llu", &all, &pages) != 2) pages = 0;
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static hone_rc peer_turn(contest *c, size_t i, hone_err *err) {
    const hone_text_speed_options *o = c->o;
    hone_rc rc = HONE_OK;
    if (o->peer)
        rc = hone_text_peer_round(o->peer, o->prompt_tokens, o->tokens, &c->peer.prompt_s[i], &c->peer.generate_s[i],
                                  err);
    c->peer.first_s[i] = c->peer.prompt_s[i];
    return rc;
}

/* The machine's memory is measured beside the answer: what it gives moves by half within minutes. */
static hone_rc my_round(contest *c, size_t i, hone_err *err) {
    hone_rc rc = my_turn(c, c->o->tokens, &c->mine.prompt_s[i], &c->mine.generate_s[i], &c->mine.first_s[i], err);
    if (!rc && c->reader) c->read_bps[i] = hn_memory_reader_speed(c->reader);
    return rc;
}

/* Other tokens in each round: keys and values of a prompt that was seen before would be found again. */
static void draw_tokens(contest *c, hn_rng *random) {
    const hone_text *m = c->session->m;
    for (size_t i = 0; i < c->o->prompt_tokens + c->o->tokens; i++)
        c->token[i] = (int32_t)hn_rng_below(random, hone_text_vocabulary(m));
}

static hone_rc compete(contest *c, hn_rng *random, hone_err *err) {
    const hone_text_speed_options *o = c->o;
    double a, b, d, start_s = hn_now_s();
    draw_tokens(c, random);
    hone_rc rc = my_turn(c, 1, &a, &b, &d, err); /* buffers grow to the size of the prompt */
    if (!rc && o->peer) rc = hone_text_peer_round(o->peer, o->prompt_tokens, 1, &a, &b, err);
    for (size_t i = 0; !rc && i < o->rounds; i++) {
        bool first = hn_rng_below(random, 2);
        draw_tokens(c, random);
        if (first) rc = peer_turn(c, i, err);
        if (!rc) rc = my_round(c, i, err);
        if (!rc && !first) rc = peer_turn(c, i, err);
        if (rc || !o->progress.fn) continue;
        double elapsed = hn_now_s() - start_s;
        hone_event e = {"round", i + 1, o->rounds, elapsed, elapsed / (double)(i + 1) * (double)(o->rounds - i - 1),
                        NULL};
        o->progress.fn(o->progress.arg, &e);
    }
    hn_memory_reader_close(c->reader); /* its memory is not the model's */
    c->reader = NULL;
    c->resident_b = resident();
    return rc;
}

/* --- what was seen ------------------------------------------------------------------------------------------------ */

/* Median of n / x[i] (below NULL) or below[i] / x[i], with its interval. scratch: rounds numbers. */
static hone_interval median_of(const contest *c, double n, const double *below, const double *x, double *scratch) {
    for (size_t i = 0; i < c->o->rounds; i++) scratch[i] = (below ? below[i] : n) / x[i];
    return hone_stat_bootstrap_median(scratch, c->o->rounds, 0.95, 0, 1);
}

static hone_interval inverse(hone_interval x) { return (hone_interval){1 / x.hi, 1 / x.mid, 1 / x.lo}; }

static hone_text_rates rates_of(const contest *c, const side *s, double *scratch) {
    hone_text_rates r = {
        .prompt = median_of(c, (double)c->o->prompt_tokens, NULL, s->prompt_s, scratch),
        .generation = median_of(c, (double)c->o->tokens, NULL, s->generate_s, scratch),
        .first_s = inverse(median_of(c, 1, NULL, s->first_s, scratch)),
    };
    return r;
}

static void add_bandwidth(const contest *c, hone_text_speed *s, double *scratch) {
    const hone_text_speed_options *o = c->o;
    for (size_t i = 0; i < o->rounds; i++) {
        if (!(c->read_bps[i] > 0)) return;
        scratch[i] = c->read_bps[i];
    }
    s->bandwidth = hone_stat_bootstrap_median(scratch, o->rounds, 0.95, 0, 1);
    for (size_t i = 0; i < o->rounds; i++)
        scratch[i] = (double)o->tokens / c->mine.generate_s[i] * o->read_b / c->read_bps[i];
    s->bandwidth_share = hone_stat_bootstrap_median(scratch, o->rounds, 0.95, 0, 1);
}

static hone_text_speed seen(const contest *c, double *scratch) {
    const hone_interval none = {NAN, NAN, NAN};
    hone_text_speed s = {.mine = rates_of(c, &c->mine, scratch),
                         .peer = {none, none, none, 0},
                         .prompt_ratio = none,
                         .generation_ratio = none,
                         .bandwidth = none,
                         .bandwidth_share = none};
    s.mine.resident_b = c->resident_b;
    add_bandwidth(c, &s, scratch);
    if (!c->o->peer) return s;
    s.peer = rates_of(c, &c->peer, scratch);
    s.peer.resident_b = hone_text_peer_resident(c->o->peer);
    s.prompt_ratio = median_of(c, 0, c->peer.prompt_s, c->mine.prompt_s, scratch);
    s.generation_ratio = median_of(c, 0, c->peer.generate_s, c->mine.generate_s, scratch);
    return s;
}

static hone_rc check(const hone_text *m, hone_text_speed_options *o, hone_err *err) {
    if (!o->prompt_tokens || !o->tokens)
        return hn_fail(err, HONE_E_USAGE, "a prompt of %zu tokens and an answer of %zu: both need one at least",
                       o->prompt_tokens, o->tokens);
    if ((int64_t)o->prompt_tokens > hone_text_context(m) ||
        (int64_t)o->tokens > hone_text_context(m) - (int64_t)o->prompt_tokens)
        return hn_fail(err, HONE_E_LIMIT, "a prompt of %zu tokens and an answer of %zu exceed the context of %lld",
                       o->prompt_tokens, o->tokens, (long long)hone_text_context(m));
    if (!o->rounds) o->rounds = USUAL_ROUNDS;
    if (o->rounds > MOST_ROUNDS) o->rounds = MOST_ROUNDS;
    return HONE_OK;
}

hone_rc hone_text_speed_measure(hone_text *m, const hone_text_speed_options *options, hone_text_speed *out,
                                hone_err *err) {
    hone_text_speed_options o = hone_text_speed_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "text_speed", err);
    if (!rc) rc = check(m, &o, err);
    if (rc) return rc;
    size_t n = o.prompt_tokens + o.tokens;
    double *room = calloc(8 * (size_t)o.rounds, sizeof *room), *at = room;
    contest c = {.o = &o, .token = malloc(n * sizeof *c.token)};
    hn_rng random = hn_rng_make(o.seed, 0);
    if (!room || !c.token) rc = hn_fail(err, HONE_E_NOMEM, "out of memory for %u rounds", o.rounds);
    double **const to[] = {&c.mine.prompt_s,   &c.mine.generate_s, &c.mine.first_s, &c.peer.prompt_s,
                           &c.peer.generate_s, &c.peer.first_s,    &c.read_bps};
    for (size_t i = 0; !rc && i < sizeof to / sizeof *to; i++, at += o.rounds) *to[i] = at;
    if (!rc) rc = hone_text_session_open(m, &c.session, err);
    if (!rc) c.session->alone = true;
    if (!rc && o.read_b > 0) rc = hn_memory_reader_open(o.read_b, o.n_threads, &c.reader, err);
    if (!rc) rc = compete(&c, &random, err);
    if (!rc) *out = seen(&c, at);
    hn_memory_reader_close(c.reader);
    hone_text_session_close(c.session);
    free(c.token);
    free(room);
    return rc;
}

double hone_text_speed_bandwidth(const hone_device *d, uint32_t n_threads) {
    double n = n_threads, all = d->all_memory_bps;
    if (!(all > 0) || n <= 1) return d->memory_bps;
    return n < d->all_cores && n * d->memory_bps < all ? n * d->memory_bps : all;
}
