/* grammar_pieces.c — a vocabulary as a tree of bytes, and which of its tokens may come at a place of a grammar.
 *
 * The tree lies in preorder, each node with the number of the node behind its branch: a walk is one pass that leaps
 * over the branches whose bytes do not fit. */
#include "base/err.h"
#include "text/grammar_places.h"
#include "text/tokenizer_int.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_MASKS = 512, LONGEST = 4096 /* longer tokens never come */ };

/* --- the tree ---------------------------------------------------------------------------------------------------- */

/* A token's bytes as they stand in a text; none of those that stand for no text. */
static size_t text_of(const hn_tokenizer *t, int32_t id, uint8_t *out) {
    const hn_token *k = &t->token[id];
    size_t n = 0;
    if (k->type == HN_TOKEN_CONTROL || k->type == HN_TOKEN_UNKNOWN || k->type == HN_TOKEN_UNUSED) return 0;
    if (!t->bars || k->type != HN_TOKEN_NORMAL) {
        if (k->bytes.n) memcpy(out, k->bytes.text, k->bytes.n);
        return k->bytes.n;
    }
    for (size_t i = 0; i < k->bytes.n;) {
        bool space = k->bytes.n - i >= 3 && !memcmp(k->bytes.text + i, "\xe2\x96\x81", 3);
        out[n++] = space ? ' ' : (uint8_t)k->bytes.text[i];
        i += space ? 3 : 1;
    }
    return n;
}

static bool take_texts(hn_pieces *p, const hn_tokenizer *t) {
    size_t total = 0;
    for (size_t i = 0; i < t->n; i++) total += t->token[i].bytes.n;
    p->n_token = t->n;
    p->bytes = malloc(total + 1);
    p->at = malloc((t->n + 1) * sizeof *p->at);
    p->token = malloc((t->n + 1) * sizeof *p->token);
    p->end = malloc((t->n + 1) * sizeof *p->end);
    if (!p->bytes || !p->at || !p->token || !p->end) return false;
    p->at[0] = 0;
    for (size_t i = 0; i < t->n; i++) {
        p->at[i + 1] = p->at[i] + text_of(t, (int32_t)i, p->bytes + p->at[i]);
        if (hn_tokenizer_ends(t, (int32_t)i)) {
            p->end[p->n_end++] = (int32_t)i;
            p->at[i + 1] = p->at[i];
        }
    }
    return true;
}

static int by_text(const void *a, const void *b, void *arg) {
    const hn_pieces *p = arg;
    size_t x = (size_t) * (const int32_t *)a, y = (size_t) * (const int32_t *)b;
    size_t n = p->at[x + 1] - p->at[x], m = p->at[y + 1] - p->at[y];
    int d = memcmp(p->bytes + p->at[x], p->bytes + p->at[y], n < m ? n : m);
    if (d) return d;
    return n != m ? (n < m ? -1 : 1) : (x > y) - (x < y);
}

/* Nodes of the sorted tokens: each begins with what it shares with the one in front. */
static void plant(hn_pieces *p, size_t n_token) {
    uint32_t open[LONGEST + 1]; /* the nodes above, by depth */
    size_t depth = 0;
    const uint8_t *last = NULL;
    for (size_t i = 0; i < n_token; i++) {
        size_t id = (size_t)p->token[i], n = p->at[id + 1] - p->at[id], same = 0;
        const uint8_t *text = p->bytes + p->at[id];
        while (same < n && same < depth && text[same] == last[same]) same++;
        for (; depth > same; depth--) p->node[open[depth]].after = (uint32_t)p->n_node;
        for (; depth < n; depth++) {
            open[depth + 1] = (uint32_t)p->n_node;
            p->node[p->n_node++] =
                (hn_piece_node){.first = (uint32_t)i, .depth = (uint16_t)(depth + 1), .byte = text[depth]};
        }
        if (n > p->depth) p->depth = n;
        last = text;
    }
    for (; depth; depth--) p->node[open[depth]].after = (uint32_t)p->n_node;
    p->node[p->n_node] = (hn_piece_node){.first = (uint32_t)n_token};
}

hone_rc hn_pieces_new(const hn_tokenizer *t, hn_pieces **out, hone_err *err) {
    if (t->kind == HN_TOKENIZER_WORDPIECE)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "a grammar for a WordPiece tokenizer: where its tokens have spaces depends on their neighbours");
    hn_pieces *p = calloc(1, sizeof *p);
    size_t n = 0;
    bool fine = p && take_texts(p, t);
    for (size_t i = 0; fine && i < t->n; i++) {
        size_t size = p->at[i + 1] - p->at[i];
        if (size && size < LONGEST) p->token[n++] = (int32_t)i;
    }
    if (fine) {
        qsort_r(p->token, n, sizeof *p->token, by_text, p);
        fine = (p->node = malloc((p->at[t->n] + 1) * sizeof *p->node)) != NULL;
    }
    if (!fine) {
        hn_pieces_free(p);
        return hn_fail(err, HONE_E_NOMEM, "out of memory for the tree of %zu tokens", t->n);
    }
    plant(p, n);
    *out = p;
    return HONE_OK;
}

void hn_pieces_free(hn_pieces *p) {
    if (!p) return;
    free(p->node);
    free(p->token);
    free(p->bytes);
    free(p->at);
    free(p->end);
    free(p);
}

hone_rc hn_places_read_token(hn_places *p, int32_t place, const hn_pieces *pieces, int32_t token, int32_t *out,
                             hone_err *err) {
    size_t from = pieces->at[token];
    return hn_places_read(p, place, (const char *)pieces->bytes + from, pieces->at[token + 1] - from, out, err);
}

/* --- masks ------------------------------------------------------------------------------------------------------- */

void hn_masks_free(hn_places *p) {
    for (size_t i = 0; p->n_mask && i < p->n_place; i++) {
        free(p->place[i].mask);
        p->place[i].mask = NULL;
    }
    p->n_mask = 0;
}

static void set(uint64_t *mask, int32_t token) { mask[token / 64] |= (uint64_t)1 << token % 64; }

static hone_rc walk(hn_places *p, int32_t place, const hn_pieces *t, uint64_t *mask, hone_err *err) {
    const hn_grammar *g = p->grammar;
    p->walk[0] = place;
    for (uint32_t i = 0; i < t->n_node;) {
        const hn_piece_node *n = &t->node[i];
        int32_t from = p->walk[n->depth - 1], to = p->place[from].next[g->class_of[n->byte]];
        hone_rc rc = to < 0 ? hn_place_step(p, from, n->byte, &to, err) : HONE_OK;
        if (rc) return rc;
        if (!to) {
            i = n->after;
            continue;
        }
        p->walk[n->depth] = to;
        for (uint32_t k = n->first; k < n[1].first; k++) set(mask, t->token[k]);
        i++;
    }
    return HONE_OK;
}

hone_rc hn_places_allowed(hn_places *p, int32_t place, const hn_pieces *t, const uint64_t **allowed, hone_err *err) {
    if (p->place[place].mask) return *allowed = p->place[place].mask, HONE_OK;
    if (p->n_mask >= MOST_MASKS) hn_masks_free(p);
    uint64_t *mask = calloc(t->n_token / 64 + 1, sizeof *mask);
    if (mask && p->n_walk <= t->depth) {
        int32_t *more = realloc(p->walk, (t->depth + 1) * sizeof *more);
        if (more) p->walk = more, p->n_walk = t->depth + 1;
    }
    if (!mask || p->n_walk <= t->depth) {
        free(mask);
        return hn_fail(err, HONE_E_NOMEM, "out of memory following the grammar");
    }
    hone_rc rc = walk(p, place, t, mask, err);
    if (rc) {
        free(mask);
        return rc;
    }
    for (size_t i = 0; p->place[place].ends && i < t->n_end; i++) set(mask, t->end[i]);
    *allowed = p->place[place].mask = mask;
    p->n_mask++;
    return HONE_OK;
}
