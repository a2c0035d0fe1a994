/* merge.c — a piece of text as tokens: neighbours are merged, the best pair of all first, the leftmost of equals.
 *
 * Candidates wait in a binary heap; one whose symbols have changed since is passed over. O(n log n). The order of
 * merges is that of the field's tokenizers: BPE by the rank of the pair, SentencePiece by the score of what the pair
 * becomes.
 */
#include "base/err.h"
#include "base/utf8.h"
#include "text/tokenizer_int.h"

#include <stdlib.h>

typedef struct symbol {
    size_t at, n; /* bytes of the piece; n = 0: merged into its left neighbour */
    int32_t id;   /* -1: not in the vocabulary */
    int32_t prev, next;
} symbol;

typedef struct candidate {
    double cost; /* rank, or minus the score: the lowest first */
    int32_t left, right, id;
    size_t n; /* bytes of both: the candidate holds while they have not grown */
} candidate;

typedef struct merging {
    const hn_tokenizer *t;
    const char *text;
    symbol *s;
    candidate *heap;
    size_t n_heap;
} merging;

static bool before(const candidate *x, const candidate *y) {
    return x->cost != y->cost ? x->cost < y->cost : x->left < y->left;
}

static void heap_add(merging *m, candidate c) {
    size_t i = m->n_heap++;
    for (; i && before(&c, &m->heap[(i - 1) / 2]); i = (i - 1) / 2) m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = c;
}

static candidate heap_take(merging *m) {
    candidate top = m->heap[0], last = m->heap[--m->n_heap];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= m->n_heap) break;
        if (child + 1 < m->n_heap && before(&m->heap[child + 1], &m->heap[child])) child++;
        if (!before(&m->heap[child], &last)) break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return top;
}

static void consider(merging *m, int32_t left, int32_t right) {
    if (left < 0 || right < 0) return;
    const symbol *x = &m->s[left], *y = &m->s[right];
    candidate c = {0, left, right, -1, x->n + y->n};
    if (m->t->kind == HN_TOKENIZER_BPE) {
        const hn_merge *pair = x->id < 0 || y->id < 0 ? NULL : hn_merge_find(m->t, x->id, y->id);
        if (!pair) return;
        c.cost = pair->rank;
        c.id = pair->id;
    } else {
        c.id = hn_vocabulary_find(m->t, m->text + x->at, c.n);
        if (c.id < 0 || m->t->token[c.id].type == HN_TOKEN_UNUSED) return;
        c.cost = -m->t->token[c.id].score;
    }
    heap_add(m, c);
}

static void merge_all(merging *m, size_t n) {
    for (size_t i = 1; i < n; i++) consider(m, (int32_t)i - 1, (int32_t)i);
    while (m->n_heap) {
        candidate c = heap_take(m);
        symbol *x = &m->s[c.left], *y = &m->s[c.right];
        if (!x->n || !y->n || x->n + y->n != c.n || x->next != c.right) continue;
        x->n = c.n;
        x->id = c.id;
        x->next = y->next;
        y->n = 0;
        if (x->next >= 0) m->s[x->next].prev = c.left;
        consider(m, x->prev, c.left);
        consider(m, c.left, x->next);
    }
}

/* Symbols to begin with: bytes, or characters (a byte that belongs to none is a symbol of its own). */
static size_t first_symbols(merging *m, size_t n) {
    size_t count = 0;
    for (size_t at = 0; at < n; count++) {
        symbol *s = &m->s[count];
        bool bytes = m->t->kind == HN_TOKENIZER_BPE && !m->t->characters;
        size_t length = bytes ? 1 : hn_utf8_next(m->text + at, n - at, NULL);
        *s = (symbol){at, length ? length : 1, -1, (int32_t)count - 1, (int32_t)count + 1};
        s->id = bytes ? m->t->byte[(unsigned char)m->text[at]] : hn_vocabulary_find(m->t, m->text + at, s->n);
        at += s->n;
    }
    if (count) m->s[count - 1].next = -1;
    return count;
}

static bool all_bytes(const hn_tokenizer *t, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (t->byte[(unsigned char)text[i]] < 0) return false;
    return true;
}

hone_rc hn_emit_unknown(const hn_tokenizer *t, const char *text, size_t n, hn_ids *out, hone_err *err) {
    bool bytes = all_bytes(t, text, n);
    for (size_t i = 0; bytes && i < n; i++) hn_ids_add(out, t->byte[(unsigned char)text[i]]);
    if (bytes || (t->unknown < 0 && t->drop_unknown)) return HONE_OK;
    if (t->unknown < 0)
        return hn_fail(err, HONE_E_INPUT,
                       "the vocabulary has no token for the byte 0x%02x, and none for what is unknown",
                       (unsigned char)text[0]);
    hn_ids_add(out, t->unknown); /* one token for the whole character */
    return HONE_OK;
}

static hone_rc emit(const merging *m, const symbol *s, bool *unknown, hn_ids *out, hone_err *err) {
    bool before = *unknown;
    *unknown = s->id < 0 && !all_bytes(m->t, m->text + s->at, s->n);
    if (s->id < 0 && *unknown && before && m->t->fuse_unknown) return HONE_OK;
    if (s->id < 0) return hn_emit_unknown(m->t, m->text + s->at, s->n, out, err);
    hn_ids_add(out, s->id);
    return HONE_OK;
}

hone_rc hn_merge_piece(const hn_tokenizer *t, const char *text, size_t n, hn_ids *out, hone_err *err) {
    bool ask = t->kind == HN_TOKENIZER_BPE && t->whole_first;
    int32_t whole = ask ? hn_vocabulary_find(t, text, n) : -1;
    if (whole >= 0) {
        hn_ids_add(out, whole);
        return HONE_OK;
    }
    if (n > INT32_MAX / 4) return hn_fail(err, HONE_E_LIMIT, "a piece of text of %zu bytes is too long; split it", n);
    /* Each merge adds two candidates at most and takes a symbol away: 3 n are enough. */
    merging m = {t, text, malloc((n + 1) * sizeof(symbol)), malloc((3 * n + 1) * sizeof(candidate)), 0};
    hone_rc rc = m.s && m.heap ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory tokenising %zu bytes", n);
    if (!rc) {
        size_t count = first_symbols(&m, n);
        merge_all(&m, count);
        bool unknown = false;
        for (size_t i = 0; !rc && i < count; i++)
            if (m.s[i].n) rc = emit(&m, &m.s[i], &unknown, out, err);
    }
    free(m.heap);
    free(m.s);
    return rc;
}
