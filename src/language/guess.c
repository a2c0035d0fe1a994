/* guess.c — speculation: tokens that may come next, from the text itself or from a small model.
 *
 * Leviathan, Kalman & Matias 2023 and Chen et al. 2023 accept a guessed token with the probability min(1, p/q) and draw
 * from the rest otherwise: the distribution stays, the text does not. Here the large model draws at each place as it
 * would have without guesses, and a guess is right where it is the token drawn; the small model draws with the same
 * random numbers, so that it is right often. So the answer is the same token by token, whatever was guessed, and when
 * guessing begins and ends may follow the clock. For guesses that are certain of themselves (look-up, temperature 0)
 * both ways accept equally often.
 */
#include "base/err.h"
#include "language/language_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL = 8, LONGEST_MATCH = 8, SHORTEST_MATCH = 2, TRY_AGAIN = 32 };

/* --- both models have the same tokens ---------------------------------------------------------------------------- */

static hone_rc check_vocabulary(const hone_text *m, const hone_text *draft, hone_err *err) {
    size_t n = hn_tokenizer_size(m->tokenizer);
    if (hn_tokenizer_size(draft->tokenizer) != n)
        return hn_fail(err, HONE_E_MISMATCH,
                       "'%s' has %zu tokens, but '%s' has %zu; a draft model needs the same vocabulary", draft->path,
                       hn_tokenizer_size(draft->tokenizer), m->path, n);
    for (size_t i = 0; i < n; i++) {
        hn_span a = hn_tokenizer_bytes(m->tokenizer, (int32_t)i, NULL);
        hn_span b = hn_tokenizer_bytes(draft->tokenizer, (int32_t)i, NULL);
        if (a.n != b.n || memcmp(a.text, b.text, a.n) != 0)
            return hn_fail(err, HONE_E_MISMATCH,
                           "token %zu is '%.*s' in '%s', but '%.*s' in '%s'; a draft model needs the same vocabulary",
                           i, (int)(a.n < 40 ? a.n : 40), a.text, m->path, (int)(b.n < 40 ? b.n : 40), b.text,
                           draft->path);
    }
    return HONE_OK;
}

hone_rc hn_guesser_open(hone_text *m, const hone_text_generate_options *r, hn_guesser *out, hone_err *err) {
    hone_rc rc = HONE_OK;
    uint32_t most = r->draft ? (r->n_draft ? r->n_draft : USUAL) : r->lookup;
    if (r->draft == m) return hn_fail(err, HONE_E_USAGE, "'%s' cannot be its own draft model", m->path);
    if (r->draft) rc = hn_language_ready(r->draft, true, true, err);
    if (!rc && r->draft) rc = check_vocabulary(m, r->draft, err);
    if (rc) return rc;
    if (most > HN_MOST_GUESSED) most = HN_MOST_GUESSED;
    *out = (hn_guesser){.r = r, .m = m, .most = most, .now = most};
    return HONE_OK;
}

/* --- from the text ----------------------------------------------------------------------------------------------- */

/* What followed the last place where the text's last tokens stood before: the longest match, of those the latest. */
static size_t look_up(const int32_t *text, size_t n, size_t room, int32_t *out) {
    for (size_t k = n - 1 < LONGEST_MATCH ? n - 1 : LONGEST_MATCH; k >= SHORTEST_MATCH; k--)
        for (size_t at = n - k; at-- > 0;) {
            if (memcmp(text + at, text + n - k, k * sizeof *text) != 0) continue;
            size_t left = n - (at + k), take = left < room ? left : room;
            memcpy(out, text + at + k, take * sizeof *out);
            return take;
        }
    return 0;
}

/* --- from a small model ------------------------------------------------------------------------------------------ */

static hone_rc by_model(hn_guesser *g, hn_sampler *sampler, const hn_constraint *c, int32_t place, const int32_t *text,
                        size_t n_text, size_t room, int32_t *out, size_t *n, hone_err *err) {
    hone_text *d = g->r->draft;
    if (n_text + room > (size_t)d->context) return HONE_OK; /* its context is full: no guess */
    size_t kept = hn_session_keep(d->session, text, n_text);
    hone_rc rc = hn_session_feed(d->session, text + kept, n_text - kept, g->r->stop, err);
    if (rc == HONE_E_INTERRUPTED) return HONE_OK; /* the answer so far is what there is */
    while (!rc) {
        const uint64_t *allowed = NULL;
        int32_t token = 0;
        if (hn_constraint_over(c, place)) break;
        rc = hn_constraint_allowed(c, place, &allowed, err);
        if (!rc) rc = hn_sampler_guess(sampler, d->logits, allowed, *n, &token, err);
        if (rc == HONE_E_EMPTY) return HONE_OK;
        if (!rc) rc = hn_constraint_read(c, place, token, &place, err);
        if (rc) break;
        out[(*n)++] = token;
        if (*n >= room || hn_tokenizer_ends(g->m->tokenizer, token)) break;
        rc = hn_session_step(d->session, &token, 1, 1, err);
    }
    return rc;
}

/* --- whether it is worth it -------------------------------------------------------------------------------------- */

/* Guesses as long as a token so takes less time than one without; the other way is tried again now and then. */
static bool worth_it(hn_guesser *g) {
    if (g->r->always_guess || !(g->guessed_s > 0) || !(g->plain_s > 0))
        return g->r->always_guess || !(g->guessed_s > 0);
    bool better = g->guessed_s < g->plain_s;
    if (g->since < TRY_AGAIN) return better;
    g->since = 0;
    return !better;
}

static void mean(double *x, double now) { *x = *x > 0 ? 0.8 * *x + 0.2 * now : now; }

void hn_guesser_learn(hn_guesser *g, size_t guessed, size_t right, double s) {
    g->since += (uint32_t)right + 1;
    mean(guessed ? &g->guessed_s : &g->plain_s, s / (double)(right + 1));
    if (!guessed) return;
    if (right == guessed)
        g->now = 2 * g->now < g->most ? 2 * g->now : g->most;
    else
        g->now = (uint32_t)right + 1 < g->most ? (uint32_t)right + 1 : g->most;
}

hone_rc hn_guess(hn_guesser *g, hn_sampler *sampler, const hn_constraint *c, int32_t place, int32_t last, size_t room,
                 int32_t *token, size_t *n, hone_err *err) {
    const hone_text_session *s = g->m->session;
    *n = 0;
    if (room > g->now) room = g->now;
    if (!g->most || !room || !worth_it(g)) return HONE_OK;
    int32_t *text = malloc((s->n + 1) * sizeof *text);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    memcpy(text, s->token, s->n * sizeof *text);
    text[s->n] = last;
    hone_rc rc = HONE_OK;
    if (g->r->lookup) *n = look_up(text, s->n + 1, room < g->r->lookup ? room : g->r->lookup, token);
    if (!*n && g->r->draft) rc = by_model(g, sampler, c, place, text, s->n + 1, room, token, n, err);
    free(text);
    return rc;
}
