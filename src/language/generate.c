/* generate.c — an answer, token by token. */
#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"
#include "base/str.h"
#include "language/language_int.h"
#include "text/sampler.h"

#include <stdlib.h>
#include <string.h>

const char *hone_text_end_name(hone_text_end end) {
    static const char *const name[] = {"length", "eos", "stop", "stopped"};
    return (size_t)end < sizeof name / sizeof *name ? name[end] : "?";
}

typedef struct answering {
    hone_text *m;
    const hone_text_generate_options *r;
    hn_sampler *sampler;
    hn_detokenizer d;
    hn_str text;
    size_t n_said; /* bytes that on_text has had */
    hone_text_answer *out;
    size_t room;
    bool over;
} answering;

static hone_rc sampler_of(const hone_text_generate_options *r, size_t vocabulary, hn_sampler **out, hone_err *err) {
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
                     .seed = r->seed};
    return hn_sampler_new(&s, vocabulary, out, err);
}

static hone_rc keep(answering *a, int32_t token, double logprob, hone_err *err) {
    hone_text_answer *o = a->out;
    if (o->n == a->room) {
        size_t room = a->room ? 2 * a->room : 64;
        int32_t *tokens = realloc(o->token, room * sizeof *tokens);
        if (tokens) o->token = tokens;
        double *logprobs = tokens ? realloc(o->logprob, room * sizeof *logprobs) : NULL;
        if (!logprobs) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
        o->logprob = logprobs;
        a->room = room;
    }
    o->token[o->n] = token;
    o->logprob[o->n++] = logprob;
    return HONE_OK;
}

/* --- stop texts
 * -------------------------------------------------------------------------------------------------------- */

/* Where the first of the stop texts begins; n: nowhere. */
static size_t stop_at(const answering *a, size_t from) {
    size_t first = a->text.n;
    for (size_t i = 0; i < a->r->n_stop_text; i++) {
        const char *s = a->r->stop_text[i], *at = a->text.text && *s ? strstr(a->text.text + from, s) : NULL;
        if (at && (size_t)(at - a->text.text) < first) first = (size_t)(at - a->text.text);
    }
    return first;
}

/* Bytes at the end that may be the beginning of a stop text: they wait. */
static size_t may_stop(const answering *a) {
    size_t most = 0;
    for (size_t i = 0; i < a->r->n_stop_text; i++) {
        const char *s = a->r->stop_text[i];
        size_t n = strlen(s);
        for (size_t k = n ? n - 1 : 0; k > most; k--)
            if (k <= a->text.n && !memcmp(a->text.text + a->text.n - k, s, k)) most = k;
    }
    return most;
}

static void end(answering *a, hone_text_end why) {
    a->out->end = why;
    a->over = true;
}

/* Hands out what is certain. */
static void say(answering *a, bool all) {
    size_t longest = 0;
    for (size_t i = 0; i < a->r->n_stop_text; i++) {
        size_t n = strlen(a->r->stop_text[i]);
        if (n > longest) longest = n;
    }
    size_t from = a->n_said > longest ? a->n_said - longest : 0, at = stop_at(a, from);
    if (at < a->text.n) {
        a->text.n = at;
        a->text.text[at] = 0;
        end(a, HONE_TEXT_STOP);
        all = true;
    }
    size_t until = all ? a->text.n : a->text.n - may_stop(a);
    if (until <= a->n_said) return;
    bool go_on = !a->r->on_text || a->r->on_text(a->r->on_text_arg, a->text.text + a->n_said, until - a->n_said);
    a->n_said = until;
    if (!go_on && !a->over) end(a, HONE_TEXT_STOPPED);
}

/* --- tokens
 * ------------------------------------------------------------------------------------------------------------ */

static hone_rc put_text(answering *a, int32_t token, hone_err *err) {
    size_t n = 0;
    char *piece = malloc(hn_detokenizer_room(a->m->tokenizer, token));
    if (!piece) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    hn_detokenizer_push(&a->d, a->m->tokenizer, token, false, piece, &n);
    hn_str_add_n(&a->text, piece, n);
    free(piece);
    if (a->text.failed) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    if (n) say(a, false);
    return HONE_OK;
}

/* Some models have more logits than tokens, as padding: the sampler knows the tokens alone. */
static hone_rc next_token(answering *a, hone_err *err) {
    int32_t token = 0;
    double logprob = 0;
    hone_rc rc = hn_sampler_pick(a->sampler, a->m->logits, NULL, &token, &logprob, err);
    if (!rc) rc = keep(a, token, logprob, err);
    if (!rc) rc = hn_sampler_accept(a->sampler, token, err);
    if (rc) return rc;
    if (hn_tokenizer_ends(a->m->tokenizer, token) && !a->r->ignore_end) {
        end(a, HONE_TEXT_EOS);
        return HONE_OK;
    }
    if ((rc = put_text(a, token, err)) || a->over) return rc;
    if (a->out->n >= (a->r->max_tokens ? a->r->max_tokens : SIZE_MAX) || (int64_t)a->m->session->n >= a->m->context) {
        end(a, HONE_TEXT_LENGTH);
        return HONE_OK;
    }
    return hn_session_step(a->m->session, &token, 1, 1, err);
}

static hone_rc prompt_of(const hone_text *m, const hone_text_generate_options *r, int32_t **token, size_t *n,
                         hone_err *err) {
    if (!r->token) {
        const char *text = r->prompt ? r->prompt : "";
        hone_rc rc = hn_tokenizer_encode(m->tokenizer, text, strlen(text), true, true, token, n, err);
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

static hone_rc answer(answering *a, hone_err *err) {
    int32_t *token = NULL;
    size_t n = 0;
    char last[12];
    hone_rc rc = prompt_of(a->m, a->r, &token, &n, err);
    double begin = hn_now_s(), prompt_end = 0;
    size_t kept = rc ? 0 : hn_session_keep(a->m->session, token, n);
    if (!rc) rc = hn_session_feed(a->m->session, token + kept, n - kept, a->r->stop, err);
    for (size_t i = 0; !rc && i < n; i++) rc = hn_sampler_accept(a->sampler, token[i], err);
    free(token);
    a->out->n_prompt = n;
    a->out->prompt_s = (prompt_end = hn_now_s()) - begin;
    while (!rc && !a->over) {
        rc = next_token(a, err);
        if (a->out->n == 1 && !(a->out->first_s > 0)) a->out->first_s = hn_now_s() - begin;
        if (!rc && a->r->stop && *a->r->stop) end(a, HONE_TEXT_STOPPED);
    }
    a->out->generate_s = hn_now_s() - prompt_end;
    if (rc) return rc;
    hn_detokenizer_end(&a->d, last, &n);
    hn_str_add_n(&a->text, last, n);
    hn_str_add(&a->text, "");
    if (a->text.failed) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    say(a, true);
    return HONE_OK;
}

hone_rc hone_text_generate(hone_text *m, const hone_text_generate_options *options, hone_text_answer *out,
                           hone_err *err) {
    hone_text_generate_options r = hone_text_generate_defaults();
    hone_text_answer made = {0};
    answering a = {.m = m, .r = &r, .out = &made};
    hone_rc rc = hn_options_read(&r, sizeof r, options, "text_generate", err);
    if (!rc) rc = hn_language_ready(m, true, true, err);
    if (!rc) rc = sampler_of(&r, hn_tokenizer_size(m->tokenizer), &a.sampler, err);
    if (!rc) rc = answer(&a, err);
    hn_sampler_free(a.sampler);
    if (rc) {
        hn_str_free(&a.text);
        hone_text_answer_free(&made);
        return rc;
    }
    made.n_text = a.text.n;
    made.text = hn_str_take(&a.text);
    *out = made;
    return HONE_OK;
}

void hone_text_answer_free(hone_text_answer *a) {
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
