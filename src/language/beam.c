/* beam.c — beam search: the likeliest sequences, several at once.
 *
 * Each step all live sequences are fed their last token, and of all their continuations the best go on. A sequence that
 * comes to an end leaves with its score, the sum of its tokens' log-probabilities (and biases) over the number of
 * tokens to the power of length_penalty (Wu et al. 2016, simplified as the field does). The search is over when nothing
 * that is live can be better than the worst of n_beams results. Sums run in the order of tokens, ties go to the earlier
 * sequence and the lower token: the same on every machine that computes the same logits. */
#include "base/err.h"
#include "language/language_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BEAMS = 1024, AT_ONCE = 16 /* sequences in a step */ };

/* A sequence that goes on, or has come to an end. */
typedef struct sequence {
    hone_text_session *session; /* NULL: at an end */
    hn_answer_text said;
    int32_t place, *token;
    double *logprob, sum, score;
    size_t n;
    hone_text_end end;
} sequence;

typedef struct next_token {
    size_t from;
    int32_t token;
    double logprob, sum;
} next_token;

typedef struct search {
    hone_text *m;
    const hone_text_generate_options *r; /* with no on_text: only the best says something, at the end */
    const hn_constraint *c;
    sequence *live, *done, *fresh;
    size_t n_live, n_done, n_fresh, limit; /* limit: tokens */
    next_token *best;                      /* 2 n_beams at most, sorted */
    size_t n_best;
} search;

static hone_rc nomem(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory searching by beams"); }

static void drop(sequence *s) {
    hone_text_session_close(s->session);
    hn_str_free(&s->said.text);
    free(s->token);
    free(s->logprob);
    *s = (sequence){0};
}

static double score_of(const search *b, double sum, size_t n) {
    return sum / pow((double)(n ? n : 1), b->r->length_penalty);
}

/* --- continuations ----------------------------------------------------------------------------------------------- */

static bool comes_first(const next_token *x, const next_token *y) {
    if (x->sum != y->sum) return x->sum > y->sum;
    return x->from != y->from ? x->from < y->from : x->token < y->token;
}

static void consider(search *b, next_token x) {
    size_t most = 2 * (size_t)b->r->n_beams, at = b->n_best;
    if (at == most && !comes_first(&x, &b->best[at - 1])) return;
    while (at && comes_first(&x, &b->best[at - 1])) at--;
    b->n_best += b->n_best < most;
    memmove(b->best + at + 1, b->best + at, (b->n_best - at - 1) * sizeof *b->best);
    b->best[at] = x;
}

static hone_rc continuations(search *b, size_t from, const float *logits, const float *bias, hone_err *err) {
    const sequence *s = &b->live[from];
    const uint64_t *allowed = NULL;
    size_t n = hn_tokenizer_size(b->m->tokenizer);
    double top, rest;
    hone_rc rc = hn_constraint_allowed(b->c, s->place, &allowed, err);
    if (rc) return rc;
    hn_log_partition(logits, n, &top, &rest);
    for (size_t i = 0; i < n; i++) {
        if (allowed && !(allowed[i / 64] >> i % 64 & 1)) continue;
        double p = ((double)logits[i] - top) - rest, sum = s->sum + p + (bias ? (double)bias[i] : 0);
        if (sum > -INFINITY) consider(b, (next_token){from, (int32_t)i, p, sum});
    }
    return HONE_OK;
}

/* The last tokens of all that is live, several at once; behind the prompt its own logits. */
static hone_rc feed_live(search *b, const float *bias, hone_err *err) {
    hone_text_feed feed[AT_ONCE] = {{0}};
    hone_rc rc = HONE_OK;
    if (b->n_live == 1 && !b->live[0].n) return continuations(b, 0, b->m->logits, bias, err);
    for (size_t from = 0; !rc && from < b->n_live; from += AT_ONCE) {
        size_t n = b->n_live - from < AT_ONCE ? b->n_live - from : AT_ONCE;
        for (size_t i = 0; i < n; i++) {
            const sequence *s = &b->live[from + i];
            feed[i] = (hone_text_feed){s->session, &s->token[s->n - 1], 1, 1, NULL};
        }
        rc = hn_session_feed_all(b->m, feed, n, NULL, err); /* a few tokens: run looks at stop between them */
        for (size_t i = 0; !rc && i < n; i++) rc = continuations(b, from + i, feed[i].logits, bias, err);
    }
    return rc;
}

/* --- sequences --------------------------------------------------------------------------------------------------- */

static hone_rc child(search *b, const next_token *x, sequence *out, hone_err *err) {
    const sequence *s = &b->live[x->from];
    sequence made = {.sum = x->sum, .n = s->n + 1};
    made.token = malloc(made.n * sizeof *made.token);
    made.logprob = malloc(made.n * sizeof *made.logprob);
    hone_rc rc = made.token && made.logprob ? hn_answer_text_copy(&s->said, &made.said, err) : nomem(err);
    bool ends = hn_tokenizer_ends(b->m->tokenizer, x->token) && (!b->r->ignore_end || b->c->grammar);
    if (!rc && !ends) rc = hn_answer_text_push(&made.said, b->m, b->r, x->token, err);
    if (!rc && !ends) rc = hn_constraint_read(b->c, s->place, x->token, &made.place, err);
    if (!rc) {
        if (s->n) memcpy(made.token, s->token, s->n * sizeof *s->token);
        if (s->n) memcpy(made.logprob, s->logprob, s->n * sizeof *s->logprob);
        made.token[s->n] = x->token;
        made.logprob[s->n] = x->logprob;
        made.score = score_of(b, made.sum, made.n);
        made.end = ends                                   ? HONE_TEXT_EOS
                   : made.said.stopped                    ? HONE_TEXT_STOP
                   : hn_constraint_over(b->c, made.place) ? HONE_TEXT_GRAMMAR
                                                          : HONE_TEXT_LENGTH;
        if (made.end == HONE_TEXT_LENGTH && made.n < b->limit)
            rc = hone_text_session_fork(s->session, &made.session, err);
    }
    if (rc)
        drop(&made);
    else
        *out = made;
    return rc;
}

/* Joins the results, sorted; the worst leaves. */
static void finish(search *b, sequence *s) {
    size_t at = b->n_done;
    hone_text_session_close(s->session);
    s->session = NULL;
    while (at && s->score > b->done[at - 1].score) at--;
    if (at == b->r->n_beams) {
        drop(s);
        return;
    }
    if (b->n_done == b->r->n_beams) drop(&b->done[--b->n_done]);
    memmove(b->done + at + 1, b->done + at, (b->n_done - at) * sizeof *b->done);
    b->done[at] = *s;
    b->n_done++;
}

/* Whether something that is live may yet be better than the worst result. */
static bool may_win(const search *b) {
    double best = -INFINITY;
    if (b->n_done < b->r->n_beams || b->r->n_bias) return true;
    if (b->r->early_stop) return false;
    for (size_t i = 0; i < b->n_live; i++) { /* sums only fall; they are divided by what favours them most */
        size_t n = b->r->length_penalty > 0 ? b->limit : b->live[i].n;
        best = fmax(best, score_of(b, b->live[i].sum, n));
    }
    return best > b->done[b->n_done - 1].score;
}

/* The best continuations become the live sequences, or results. */
static hone_rc select_next(search *b, hone_err *err) {
    hone_rc rc = HONE_OK;
    b->n_fresh = 0;
    for (size_t i = 0; !rc && i < b->n_best && b->n_fresh < b->r->n_beams; i++) {
        sequence s = {0};
        rc = child(b, &b->best[i], &s, err);
        if (rc) break;
        if (s.session)
            b->fresh[b->n_fresh++] = s;
        else
            finish(b, &s);
    }
    for (size_t i = 0; i < b->n_live; i++) drop(&b->live[i]);
    sequence *old = b->live;
    b->live = b->fresh;
    b->n_live = b->n_fresh;
    b->fresh = old;
    b->n_fresh = 0;
    return rc;
}

static hone_rc run(search *b, const float *bias, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t step = 0; !rc && b->n_live && (!step || may_win(b)); step++) {
        if (b->r->stop && *b->r->stop) break;
        b->n_best = 0;
        rc = feed_live(b, bias, err);
        if (!rc && !b->n_best)
            rc =
                hn_fail(err, HONE_E_EMPTY, "the grammar goes on behind %zu tokens as no token of the model does", step);
        if (!rc) rc = select_next(b, err);
    }
    bool stopped = b->r->stop && *b->r->stop;
    for (size_t i = 0; i < b->n_live; i++)
        if (!rc && stopped && b->live[i].n) {
            b->live[i].end = HONE_TEXT_STOPPED;
            finish(b, &b->live[i]);
        } else
            drop(&b->live[i]);
    b->n_live = 0;
    return rc;
}

/* --- what comes of it -------------------------------------------------------------------------------------------- */

static hone_rc give_beam(const search *b, sequence *s, hone_text_beam *out, hone_err *err) {
    hone_rc rc = hn_answer_text_end(&s->said, b->r, err);
    if (rc) return rc;
    *out = (hone_text_beam){.n_text = s->said.text.n,
                            .token = s->token,
                            .logprob = s->logprob,
                            .n = s->n,
                            .score = s->score,
                            .end = s->end};
    s->token = NULL;
    s->logprob = NULL;
    out->text = hn_str_take(&s->said.text);
    return out->text ? HONE_OK : nomem(err);
}

static void *copy(const void *p, size_t n) {
    void *made = malloc(n ? n : 1);
    if (made && n) memcpy(made, p, n);
    return made;
}

static hone_rc give(const search *b, hone_text_answer *out, hone_err *err) {
    hone_rc rc = HONE_OK;
    if (!(out->beam = calloc(b->n_done + 1, sizeof *out->beam))) return nomem(err);
    for (size_t i = 0; !rc && i < b->n_done; i++) rc = give_beam(b, &b->done[i], &out->beam[out->n_beams++], err);
    if (rc) return rc;
    if (!out->n_beams) { /* stopped before a first token */
        out->end = HONE_TEXT_STOPPED;
        return (out->text = calloc(1, 1)) ? HONE_OK : nomem(err);
    }
    const hone_text_beam *best = out->beam;
    out->text = copy(best->text, best->n_text + 1);
    out->n_text = best->n_text;
    out->token = copy(best->token, best->n * sizeof *best->token);
    out->logprob = copy(best->logprob, best->n * sizeof *best->logprob);
    out->n = best->n;
    out->end = best->end;
    return out->text && out->token && out->logprob ? HONE_OK : nomem(err);
}

static hone_rc check(const hone_text_generate_options *r, hone_err *err) {
    if (r->n_beams > MOST_BEAMS) return hn_fail(err, HONE_E_USAGE, "%u beams; at most %d", r->n_beams, MOST_BEAMS);
    if (r->repeat_penalty != 1 || r->frequency_penalty != 0 || r->presence_penalty != 0 || r->mirostat)
        return hn_fail(err, HONE_E_USAGE,
                       "a beam search takes the likeliest sequences: penalties and mirostat have no part in it");
    if (r->n_top)
        return hn_fail(err, HONE_E_USAGE, "the most likely tokens at each place are given of an answer without beams");
    if (r->draft || r->lookup)
        return hn_fail(err, HONE_E_USAGE, "a beam search guesses no tokens; leave the draft or the beams out");
    if (!(fabs(r->length_penalty) <= 10))
        return hn_fail(err, HONE_E_USAGE, "length penalty is %g; -10 to 10 is meant", r->length_penalty);
    return HONE_OK;
}

static hone_rc begin(search *b, const int32_t *prompt, size_t n, hone_err *err) {
    hone_text_session *s = b->m->session;
    size_t kept = hn_session_keep(s, prompt, n);
    hone_rc rc = hn_session_feed(s, prompt + kept, n - kept, b->r->stop, err);
    if (rc) return rc;
    size_t room = (size_t)b->m->context - n + 1;
    b->limit = b->r->max_tokens && b->r->max_tokens < room ? b->r->max_tokens : room;
    b->live[0] = (sequence){.place = HN_PLACE_START};
    b->live[0].said.d.begun = b->c->grammar || hn_prompt_has_text(b->m, prompt, n);
    b->n_live = 1;
    return hone_text_session_fork(s, &b->live[0].session, err);
}

hone_rc hn_beam_search(hone_text *m, const hone_text_generate_options *options, const hn_constraint *c,
                       const int32_t *prompt, size_t n_prompt, hone_text_answer *out, hone_err *err) {
    hone_text_generate_options r = *options;
    search b = {.m = m, .r = &r, .c = c};
    float *bias = NULL;
    hone_rc rc = check(options, err);
    if (rc) return rc;
    r.on_text = NULL;
    b.live = calloc(r.n_beams + 1, sizeof *b.live);
    b.fresh = calloc(r.n_beams + 1, sizeof *b.fresh);
    b.done = calloc(r.n_beams + 1, sizeof *b.done);
    b.best = calloc(2 * (size_t)r.n_beams + 1, sizeof *b.best);
    if (r.n_bias) bias = calloc(hn_tokenizer_size(m->tokenizer), sizeof *bias);
    if (!b.live || !b.fresh || !b.done || !b.best || (r.n_bias && !bias)) rc = nomem(err);
    for (size_t i = 0; !rc && i < r.n_bias; i++)
        bias[r.bias[i].token] += r.bias[i].add; /* the sampler has checked them */
    if (!rc) rc = begin(&b, prompt, n_prompt, err);
    if (!rc) rc = run(&b, bias, err);
    if (!rc) rc = give(&b, out, err);
    if (!rc && options->on_text && out->n_text) options->on_text(options->on_text_arg, out->text, out->n_text);
    for (size_t i = 0; b.live && i < b.n_live; i++) drop(&b.live[i]);
    for (size_t i = 0; b.fresh && i < b.n_fresh; i++) drop(&b.fresh[i]);
    for (size_t i = 0; b.done && i < b.n_done; i++) drop(&b.done[i]);
    free(b.live);
    free(b.fresh);
    free(b.done);
    free(b.best);
    free(bias);
    return rc;
}
