/* generate.c — an answer, token by token. */
#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"
#include "language/language_int.h"
#include "language/slot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *hone_text_end_name(hone_text_end end) {
    static const char *const name[] = {"length", "eos", "stop", "stopped", "grammar"};
    return (size_t)end < sizeof name / sizeof *name ? name[end] : "?";
}

typedef struct answering {
    hone_text *m;
    const hone_text_generate_options *r;
    hn_sampler *sampler;
    hn_constraint constraint;
    int32_t place; /* of the text so far, in the grammar */
    hn_guesser guesser;
    hn_answer_text said;
    hone_text_answer *out;
    size_t room;
    bool over;
} answering;

static hone_rc sampler_of(const hone_text_generate_options *r, size_t vocabulary, hn_sampler **out, hone_err *err) {
    hn_bias *bias = malloc((r->n_bias + 1) * sizeof *bias);
    if (!bias) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    for (size_t i = 0; i < r->n_bias; i++) bias[i] = (hn_bias){r->bias[i].token, r->bias[i].add};
    hn_sampling s = {.temperature = r->temperature,
                     .top_k = r->top_k,
                     .top_p = r->top_p,
                     .min_p = r->min_p,
                     .typical_p = r->typical_p,
                     .repeat = r->repeat_penalty,
                     .frequency = r->frequency_penalty,
                     .presence = r->presence_penalty,
                     .penalty_window = r->penalty_window,
                     .mirostat = r->mirostat,
                     .mirostat_tau = r->mirostat_tau,
                     .mirostat_eta = r->mirostat_eta,
                     .bias = bias,
                     .n_bias = r->n_bias,
                     .seed = r->seed};
    hone_rc rc = hn_sampler_new(&s, vocabulary, out, err);
    free(bias);
    return rc;
}

static bool grow(void **p, size_t n, size_t size) {
    void *grown = realloc(*p, n * size);
    if (grown) *p = grown;
    return grown != NULL;
}

/* The most likely tokens by these logits, behind those of the places so far. */
static bool keep_top(answering *a, const float *logits) {
    size_t n = a->out->n_top;
    int32_t *best = malloc((n + 1) * sizeof *best);
    double *p = malloc((n + 1) * sizeof *p);
    bool fine = best && p;
    if (fine) hn_most_likely(logits, hn_tokenizer_size(a->m->tokenizer), n, best, p);
    for (size_t i = 0; fine && i < n; i++) a->out->top[a->out->n * n + i] = (hone_text_top){best[i], p[i]};
    free(best);
    free(p);
    return fine;
}

/* A token joins the answer, with its probability and what else was likely. */
static hone_rc keep(answering *a, int32_t token, double logprob, const float *logits, hone_err *err) {
    hone_text_answer *o = a->out;
    size_t room = a->room ? 2 * a->room : 64, n_top = o->n_top;
    if (o->n == a->room) {
        if (!grow((void **)&o->token, room, sizeof *o->token) ||
            !grow((void **)&o->logprob, room, sizeof *o->logprob) ||
            (n_top && !grow((void **)&o->top, room * n_top, sizeof *o->top)))
            return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
        a->room = room;
    }
    if (n_top && !keep_top(a, logits)) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    o->token[o->n] = token;
    o->logprob[o->n++] = logprob;
    return HONE_OK;
}

static void end(answering *a, hone_text_end why) {
    if (!a->over) a->out->end = why;
    a->over = true;
}

/* --- tokens ------------------------------------------------------------------------------------------------------ */

/* Draws from a row of logits. Some models have more logits than tokens, as padding: the sampler knows the tokens alone.
 */
static hone_rc draw(answering *a, const float *logits, int32_t *token, hone_err *err) {
    const uint64_t *allowed = NULL;
    double logprob = 0;
    hone_rc rc = hn_constraint_allowed(&a->constraint, a->place, &allowed, err);
    if (!rc) rc = hn_sampler_pick(a->sampler, logits, allowed, token, a->r->no_logprobs ? NULL : &logprob, err);
    if (rc == HONE_E_EMPTY && allowed)
        return hn_fail(err, rc, "the grammar goes on behind %zu tokens as no token of the model does", a->out->n);
    if (!rc) rc = keep(a, *token, logprob, logits, err);
    if (!rc) rc = hn_sampler_accept(a->sampler, *token, err);
    return rc;
}

/* What a token that was drawn says, and whether it is the last. */
static hone_rc take(answering *a, int32_t token, hone_err *err) {
    if (hn_tokenizer_ends(a->m->tokenizer, token) && (!a->r->ignore_end || a->constraint.grammar)) {
        end(a, HONE_TEXT_EOS);
        return HONE_OK;
    }
    hone_rc rc = hn_answer_text_push(&a->said, a->m, a->r, token, err);
    if (!rc) rc = hn_constraint_read(&a->constraint, a->place, token, &a->place, err);
    if (!rc && a->constraint.grammar) rc = hn_places_trim(a->constraint.places, &a->place, 1, err);
    if (rc) return rc;
    if (a->said.stopped) end(a, HONE_TEXT_STOP);
    if (a->said.refused) end(a, HONE_TEXT_STOPPED);
    if (hn_constraint_over(&a->constraint, a->place)) end(a, HONE_TEXT_GRAMMAR);
    if (a->out->n >= (a->r->max_tokens ? a->r->max_tokens : SIZE_MAX)) end(a, HONE_TEXT_LENGTH);
    return HONE_OK;
}

/* Draws from the rows of logits behind a token and the guesses that follow it, as long as these are right. */
static hone_rc draw_rows(answering *a, const float *logits, const int32_t *guess, size_t n_guess, int32_t *last,
                         size_t *right, hone_err *err) {
    hone_rc rc = HONE_OK;
    *right = 0;
    for (size_t i = 0; !rc && i <= n_guess; i++) {
        rc = draw(a, logits + i * (size_t)a->m->vocabulary, last, err);
        if (!rc) rc = take(a, *last, err);
        if (rc || i == n_guess || *last != guess[i]) break;
        ++*right;
        if (a->over) break;
    }
    return rc;
}

/* One step of the model: the last token goes in, and guesses behind it; what comes out goes on. */
static hone_rc go_on(answering *a, int32_t *last, hone_err *err) {
    hone_text_session *s = a->m->session;
    int32_t token[HN_MOST_GUESSED + 1];
    size_t n = 0, right = 0, fed = s->n;
    double begin = hn_now_s();
    if (fed >= (size_t)a->m->context) {
        end(a, HONE_TEXT_LENGTH);
        return HONE_OK;
    }
    size_t room = (size_t)a->m->context - fed - 1;
    if (a->r->max_tokens && a->r->max_tokens - a->out->n <= room) room = a->r->max_tokens - a->out->n - 1;
    token[0] = *last;
    hone_rc rc = hn_guess(&a->guesser, a->sampler, &a->constraint, a->place, *last, room, token + 1, &n, err);
    if (!rc) rc = hn_session_step(s, token, n + 1, n + 1, err);
    if (!rc) rc = draw_rows(a, a->m->logits, token + 1, n, last, &right, err);
    if (rc) return rc;
    s->n = fed + 1 + right; /* the guesses that were wrong are taken back */
    a->out->n_guessed += n;
    a->out->n_right += right;
    hn_guesser_learn(&a->guesser, n, right, hn_now_s() - begin);
    return HONE_OK;
}

/* --- the prompt -------------------------------------------------------------------------------------------------- */

hone_rc hn_prompt_of(const hone_text *m, const hone_text_generate_options *r, int32_t **token, size_t *n,
                     hone_err *err) {
    if (!r->token) {
        const char *text = r->prompt ? r->prompt : "";
        size_t n_text = r->prompt && r->n_prompt ? r->n_prompt : strlen(text);
        hone_rc rc = hn_tokenizer_encode(m->tokenizer, text, n_text, true, true, token, n, err);
        int32_t bos = hn_tokenizer_bos(m->tokenizer);
        if (!rc && *n > 1 && bos >= 0 && (*token)[0] == bos && (*token)[1] == bos) /* a template writes it itself */
            memmove(*token, *token + 1, --*n * sizeof **token);
        if (rc || *n) return rc;
        free(*token);
        *token = NULL;
    }
    int32_t begin = hn_tokenizer_bos(m->tokenizer);
    *n = r->token ? r->n_token : begin >= 0;
    if (!*n)
        return hn_fail(err, HONE_E_USAGE,
                       "the prompt is empty, and the model has no token that begins a text; give it some text");
    if (!(*token = malloc(*n * sizeof **token))) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    memcpy(*token, r->token ? r->token : &begin, *n * sizeof **token);
    return HONE_OK;
}

bool hn_prompt_has_text(const hone_text *m, const int32_t *token, size_t n) {
    bool control = true;
    for (size_t i = 0; i < n && control; i++)
        if (token[i] >= 0 && (size_t)token[i] < hn_tokenizer_size(m->tokenizer))
            hn_tokenizer_bytes(m->tokenizer, token[i], &control);
    return !control;
}

static hone_rc answer(answering *a, const int32_t *token, size_t n, hone_err *err) {
    double begin = hn_now_s(), prompt_end = 0;
    int32_t last = 0;
    size_t right, kept = hn_session_keep(a->m->session, token, n);
    hone_rc rc = hn_session_feed(a->m->session, token + kept, n - kept, a->r->stop, err);
    for (size_t i = 0; !rc && i < n; i++) rc = hn_sampler_accept(a->sampler, token[i], err);
    a->said.d.begun = a->constraint.grammar || hn_prompt_has_text(a->m, token, n);
    a->out->prompt_s = (prompt_end = hn_now_s()) - begin;
    if (!rc && hn_constraint_over(&a->constraint, a->place)) end(a, HONE_TEXT_GRAMMAR);
    if (!rc && !a->over) rc = draw_rows(a, a->m->logits, NULL, 0, &last, &right, err);
    a->out->first_s = hn_now_s() - begin;
    while (!rc && !a->over) {
        rc = go_on(a, &last, err);
        if (!rc && a->r->stop && *a->r->stop) end(a, HONE_TEXT_STOPPED);
    }
    a->out->generate_s = hn_now_s() - prompt_end;
    if (!rc) rc = hn_answer_text_end(&a->said, a->r, err);
    if (!rc && a->said.stopped) a->out->end = HONE_TEXT_STOP;
    return rc;
}

static hone_rc check(const hone_text *m, const hone_text_generate_options *r, hone_err *err) {
    if (r->n_top > hn_tokenizer_size(m->tokenizer))
        return hn_fail(err, HONE_E_USAGE, "the %u most likely of %zu tokens are asked for", r->n_top,
                       hn_tokenizer_size(m->tokenizer));
    if (r->n_bias && !r->bias) return hn_fail(err, HONE_E_USAGE, "%zu biases, but none are given", r->n_bias);
    return HONE_OK;
}

/* One by one, or by beams. */
static hone_rc answer_by(answering *a, hone_err *err) {
    int32_t *token = NULL;
    size_t n = 0;
    hone_rc rc = hn_prompt_of(a->m, a->r, &token, &n, err);
    a->out->n_prompt = n;
    if (!rc && a->r->n_beams > 1)
        rc = hn_beam_search(a->m, a->r, &a->constraint, token, n, a->out, err);
    else if (!rc) {
        rc = answer(a, token, n, err);
        a->out->n_text = a->said.text.n;
        if (!rc && !(a->out->text = hn_str_take(&a->said.text)))
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    }
    hn_str_free(&a->said.text);
    free(token);
    return rc;
}

hone_rc hone_text_generate(hone_text *m, const hone_text_generate_options *options, hone_text_answer *out,
                           hone_err *err) {
    hone_text_generate_options r = hone_text_generate_defaults();
    hone_text_answer made = {0};
    answering a = {.m = m, .r = &r, .out = &made, .place = HN_PLACE_START};
    hone_rc rc = hn_options_read(&r, sizeof r, options, "text_generate", err);
    if (!rc) rc = hn_language_ready(m, true, true, err);
    if (!rc) rc = check(m, &r, err);
    made.n_top = r.n_top;
    if (!rc) rc = sampler_of(&r, hn_tokenizer_size(m->tokenizer), &a.sampler, err);
    if (!rc) rc = hn_constraint_open(m, &r, &a.constraint, err);
    if (!rc) rc = hn_guesser_open(m, &r, &a.guesser, err);
    if (!rc) rc = answer_by(&a, err);
    hn_constraint_close(&a.constraint);
    hn_sampler_free(a.sampler);
    if (rc)
        hone_text_answer_free(&made);
    else
        *out = made;
    return rc;
}

/* --- several at once ------------------------------------------------------------------------------------------------
 */

struct hn_slot {
    hone_text_session *session;
    hone_text_generate_options r;
    hone_text_answer made;
    answering a;
    int32_t *prompt, last;
    size_t request, n_found;
    double begin_s, prompt_end_s;
};

static hone_rc slot_begin(hone_text *m, const hone_text_generate_options *o, hn_slot *t, hone_err *err) {
    size_t n = 0;
    t->r = hone_text_generate_defaults();
    t->a = (answering){.m = m, .r = &t->r, .out = &t->made, .place = HN_PLACE_START};
    t->begin_s = hn_now_s();
    hone_rc rc = hn_options_read(&t->r, sizeof t->r, o, "text_generate", err);
    if (!rc) rc = check(m, &t->r, err);
    t->made.n_top = t->r.n_top;
    if (!rc) rc = sampler_of(&t->r, hn_tokenizer_size(m->tokenizer), &t->a.sampler, err);
    if (!rc) rc = hn_constraint_open(m, &t->r, &t->a.constraint, err);
    if (!rc) rc = hn_prompt_of(m, &t->r, &t->prompt, &n, err);
    if (!rc) rc = hn_session_fits(m, 0, n, err);
    for (size_t i = 0; !rc && i < n; i++) rc = hn_sampler_accept(t->a.sampler, t->prompt[i], err);
    if (rc) return rc;
    t->made.n_prompt = n;
    t->a.said.d.begun = t->a.constraint.grammar || hn_prompt_has_text(m, t->prompt, n);
    if (hn_constraint_over(&t->a.constraint, t->a.place)) end(&t->a, HONE_TEXT_GRAMMAR);
    return hone_text_session_open(m, &t->session, err);
}

/* The answer, or why there is none. */
static void slot_end(hn_slot *t, hone_rc rc, hone_text_answer *out, hone_err *why) {
    t->made.generate_s = hn_now_s() - (t->prompt_end_s > 0 ? t->prompt_end_s : t->begin_s);
    if (!rc) rc = hn_answer_text_end(&t->a.said, &t->r, why);
    if (!rc && t->a.said.stopped) t->made.end = HONE_TEXT_STOP;
    t->made.n_text = t->a.said.text.n;
    if (!rc && !(t->made.text = hn_str_take(&t->a.said.text)))
        rc = hn_fail(why, HONE_E_NOMEM, "out of memory generating");
    if (rc)
        hone_text_answer_free(&t->made);
    else
        *out = t->made;
    hn_str_free(&t->a.said.text);
    hn_constraint_close(&t->a.constraint);
    hn_sampler_free(t->a.sampler);
    hone_text_session_close(t->session);
    free(t->prompt);
    *t = (hn_slot){0};
}

bool hn_slot_next(hn_slot *t, size_t most, hone_text_feed *feed) {
    size_t have = t->session->n, left = have < t->made.n_prompt ? t->made.n_prompt - have : 0;
    size_t n = left < most ? left : most;
    if (left)
        *feed = (hone_text_feed){t->session, t->prompt + have, n, n == left, NULL};
    else
        *feed = (hone_text_feed){t->session, &t->last, 1, 1, NULL};
    return left > 0;
}

hone_rc hn_slot_take(hn_slot *t, const hone_text_feed *fed, hone_err *err) {
    size_t right;
    if (!fed->n_want) return HONE_OK;
    if (!(t->prompt_end_s > 0)) {
        t->prompt_end_s = hn_now_s();
        t->made.prompt_s = t->prompt_end_s - t->begin_s;
    }
    hone_rc rc = draw_rows(&t->a, fed->logits, NULL, 0, &t->last, &right, err);
    if (t->made.n == 1) t->made.first_s = hn_now_s() - t->begin_s;
    if (t->session->n >= (size_t)t->a.m->context) end(&t->a, HONE_TEXT_LENGTH);
    return rc;
}

bool hn_slot_over(const hn_slot *t) { return t->a.over; }
const hone_text_answer *hn_slot_answer(const hn_slot *t) { return &t->made; }
size_t hn_slot_found(const hn_slot *t) { return t->n_found; }

void hn_slot_memory(const hone_text *m, size_t *used, size_t *most) {
    *used = (size_t)hn_kv_used(&m->pool);
    *most = (size_t)m->pool.most;
}

hone_rc hn_slot_open(hone_text *m, const hone_text_generate_options *o, hn_slot **out, hone_err *err) {
    hn_slot *t = calloc(1, sizeof *t);
    hone_rc rc = t ? hn_language_ready(m, true, true, err) : hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    if (!rc) rc = slot_begin(m, o, t, err);
    if (rc) {
        if (t) slot_end(t, rc, NULL, NULL);
        free(t);
        return rc;
    }
    t->n_found = hn_session_begin(t->session, t->prompt, t->made.n_prompt);
    *out = t;
    return HONE_OK;
}

hone_rc hn_slot_close(hn_slot *t, hone_text_answer *out, hone_err *err) {
    hone_err why = {0};
    if (!t) return HONE_OK;
    slot_end(t, out ? HONE_OK : HONE_E_INTERRUPTED, out, &why);
    free(t);
    if (out && why.rc && err) *err = why;
    return out ? why.rc : HONE_OK;
}

static hone_rc step_all(hone_text *m, hn_slot *slots, size_t n, hone_text_answer *out, hone_err *why, hone_err *err) {
    hone_text_feed feed[HONE_TEXT_AT_ONCE];
    hn_slot *of[HONE_TEXT_AT_ONCE];
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        hn_slot *t = &slots[i];
        if (!t->session) continue;
        of[k] = t;
        hn_slot_next(t, SIZE_MAX, &feed[k++]);
    }
    hone_rc rc = k ? hn_session_feed_all(m, feed, k, of[0]->r.stop, err) : HONE_OK;
    for (size_t i = 0; !rc && i < k; i++) {
        size_t at = of[i]->request;
        hone_rc own = hn_slot_take(of[i], &feed[i], &why[at]);
        if (own || of[i]->a.over) slot_end(of[i], own, &out[at], &why[at]);
    }
    return rc;
}

hone_rc hone_text_generate_all(hone_text *m, const hone_text_generate_options *const *options, size_t n,
                               hone_text_answer *out, hone_err *why, hone_err *err) {
    hn_slot *slots = calloc(HONE_TEXT_AT_ONCE, sizeof *slots);
    size_t next = 0, live = 1;
    hone_rc rc = slots ? hn_language_ready(m, true, true, err) : hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (options[i]) why[i] = (hone_err){0};
    while (!rc && (next < n || live)) {
        live = 0;
        for (size_t i = 0; i < HONE_TEXT_AT_ONCE; i++) {
            while (!slots[i].session && next < n) {
                size_t at = next++;
                if (!options[at]) continue;
                slots[i].request = at;
                hone_rc own = slot_begin(m, options[at], &slots[i], &why[at]);
                const hone_text_generate_options *r = &slots[i].r;
                bool alone = !own && (r->n_beams > 1 || r->draft || r->lookup);
                if (own || slots[i].a.over || alone) slot_end(&slots[i], own, &out[at], &why[at]);
                if (!alone) continue;
                hone_text_answer_free(&out[at]);
                hone_text_generate(m, options[at], &out[at], &why[at]);
            }
            live += slots[i].session != NULL;
        }
        rc = step_all(m, slots, HONE_TEXT_AT_ONCE, out, why, err);
    }
    for (size_t i = 0; slots && i < HONE_TEXT_AT_ONCE; i++)
        if (slots[i].session) slot_end(&slots[i], HONE_E_FAILED, NULL, NULL);
    for (size_t i = 0; rc && i < n; i++) hone_text_answer_free(&out[i]);
    free(slots);
    return rc;
}

void hone_text_answer_free(hone_text_answer *a) {
    for (size_t i = 0; i < a->n_beams; i++) {
        free(a->beam[i].text);
        free(a->beam[i].token);
        free(a->beam[i].logprob);
    }
    free(a->beam);
    free(a->top);
    free(a->text);
    free(a->token);
    free(a->logprob);
    *a = (hone_text_answer){0};
}

hone_rc hone_text_score(hone_text *m, const int32_t *token, size_t n, double *logprob, const volatile int *stop,
                        hone_err *err) {
    hone_rc rc = hn_language_ready(m, false, true, err);
    if (rc) return rc;
    m->session->n = 0;
    for (size_t at = 0; !rc && at + 1 < n; at += HN_CHUNK) {
        size_t k = n - 1 - at < HN_CHUNK ? n - 1 - at : HN_CHUNK;
        if (stop && *stop) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
        rc = hn_session_step(m->session, token + at, k, k, err);
        for (size_t i = 0; !rc && i < k; i++)
            logprob[at + i] =
                hn_logprob(m->logits + i * (size_t)m->vocabulary, (size_t)m->vocabulary, token[at + i + 1]);
    }
    return rc;
}
