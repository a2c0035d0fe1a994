/* said.c — the text of an answer: whole characters, up to the first stop text.
 *
 * The stop text that is complete first counts, of those complete at once the longest: so the text is the same however
 * tokens cut it. Bytes at the end that may be the beginning of a stop text wait. */
#include "base/err.h"
#include "language/language_int.h"

#include <stdlib.h>
#include <string.h>

/* Where the text is cut; its end: nowhere. */
static size_t stop_at(const hn_answer_text *s, const hone_text_generate_options *r) {
    size_t end = SIZE_MAX, begin = s->text.n;
    for (size_t i = 0; i < r->n_stop_text; i++) {
        const char *stop = r->stop_text[i];
        size_t n = stop ? strlen(stop) : 0;
        const char *from = s->text.text + s->n_given;
        const char *at = n && s->text.n > s->n_given ? memmem(from, s->text.n - s->n_given, stop, n) : NULL;
        if (!at) continue;
        size_t here = (size_t)(at - s->text.text);
        if (here + n > end || (here + n == end && here >= begin)) continue;
        begin = here;
        end = here + n;
    }
    return begin;
}

/* Bytes at the end that may be the beginning of a stop text: they have not been given out. */
static size_t may_stop(const hn_answer_text *s, const hone_text_generate_options *r) {
    size_t most = 0, new = s->text.n - s->n_given;
    for (size_t i = 0; i < r->n_stop_text; i++) {
        const char *stop = r->stop_text[i];
        size_t n = stop ? strlen(stop) : 0;
        for (size_t k = n ? n - 1 : 0; k > most; k--)
            if (k <= new && !memcmp(s->text.text + s->text.n - k, stop, k)) most = k;
    }
    return most;
}

static void give(hn_answer_text *s, const hone_text_generate_options *r, bool all) {
    size_t at = stop_at(s, r);
    if (at < s->text.n) {
        s->text.text[s->text.n = at] = 0;
        s->stopped = all = true;
    }
    size_t until = all ? s->text.n : s->text.n - may_stop(s, r);
    if (until <= s->n_given) return;
    s->refused |= r->on_text && !r->on_text(r->on_text_arg, s->text.text + s->n_given, until - s->n_given);
    s->n_given = until;
}

hone_rc hn_answer_text_push(hn_answer_text *s, const hone_text *m, const hone_text_generate_options *r, int32_t token,
                            hone_err *err) {
    size_t n = 0;
    char *piece = malloc(hn_detokenizer_room(m->tokenizer, token));
    if (!piece) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    hn_detokenizer_push(&s->d, m->tokenizer, token, false, piece, &n);
    hn_str_add_n(&s->text, piece, n);
    free(piece);
    if (s->text.failed) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    if (n) give(s, r, false);
    return HONE_OK;
}

hone_rc hn_answer_text_end(hn_answer_text *s, const hone_text_generate_options *r, hone_err *err) {
    char last[12];
    size_t n = 0;
    if (!s->stopped) { /* what is held behind a stop text is no part of the answer */
        hn_detokenizer_end(&s->d, last, &n);
        hn_str_add_n(&s->text, last, n);
    }
    hn_str_add(&s->text, "");
    if (s->text.failed) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    give(s, r, true);
    return HONE_OK;
}

hone_rc hn_answer_text_copy(const hn_answer_text *s, hn_answer_text *out, hone_err *err) {
    hn_answer_text made = *s;
    made.text = (hn_str){0};
    hn_str_add_n(&made.text, s->text.n ? s->text.text : "", s->text.n);
    if (made.text.failed) return hn_fail(err, HONE_E_NOMEM, "out of memory generating");
    *out = made;
    return HONE_OK;
}
