/* save.c — a session as a file, and back.
 *
 * The head (saved), the tokens, the note, then for each state the blocks of the tokens whose keys and values are there,
 * zeros behind the last token; in the byte order of the machine. The head names the library, which follows from the
 * model's file, hone, compiler and target: keys and values of another one would not give the same bits.
 */
#include "base/err.h"
#include "base/fs.h"
#include "language/language_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "HONE-SESSION-2"
typedef struct saved {
    char magic[16], key[40];
    uint64_t n, n_kept, n_note, row_b, size_b;
} saved;

/* Bytes of a token's rows in all states. */
static uint64_t row_b(const hone_text *m) {
    uint64_t n = 0;
    for (int32_t i = 0; i < m->model->n_states; i++) n += hn_session_row_b(m, i);
    return n;
}

/* Bytes of the blocks of so many tokens. */
static uint64_t kept_b(const hone_text *m, uint64_t kept) {
    return (kept + HN_CACHE_BLOCK - 1) / HN_CACHE_BLOCK * HN_CACHE_BLOCK * row_b(m);
}

static saved head_of(const hone_text_session *s, uint64_t n, uint64_t kept, uint64_t note) {
    saved h = {.magic = MAGIC, .n = n, .n_kept = kept, .n_note = note, .row_b = row_b(s->m)};
    memcpy(h.key, s->m->key, strlen(s->m->key));
    h.size_b = sizeof h + n * sizeof(int32_t) + note + kept_b(s->m, kept);
    return h;
}

/* --- writing ---------------------------------------------------------------------------------------------------------
 */

typedef struct writing {
    const hone_text_session *s;
    const char *note;
    saved head;
} writing;

/* What lies behind the first n tokens of a block becomes zeros: another session's, or nothing's. */
static void clear_rest(char *block, uint64_t n, const hone_model_port *p, uint64_t token_b) {
    uint64_t size_b = hone_dtype_size_b((hone_dtype)p->dtype);
    if (strncmp(p->name, HN_CACHE_KEY, strlen(HN_CACHE_KEY)) != 0) {
        memset(block + n * token_b, 0, (HN_CACHE_BLOCK - n) * token_b);
        return;
    }
    for (uint64_t i = 0; i < token_b / size_b; i++, block += HN_CACHE_BLOCK * size_b)
        memset(block + n * size_b, 0, (HN_CACHE_BLOCK - n) * size_b);
}

static bool put_blocks(FILE *f, const hone_text_session *s, uint64_t n, int32_t state) {
    hone_model_tensor x;
    uint64_t token_b = hn_session_row_b(s->m, state), size_b = HN_CACHE_BLOCK * token_b;
    char *copy = malloc(size_b ? size_b : 1);
    bool good = copy && !s->m->model->peek(s->m->instance, state, &x);
    for (uint64_t at = 0; good && at < n; at += HN_CACHE_BLOCK) {
        memcpy(copy, (const char *)x.data + (uint64_t)s->block[at / HN_CACHE_BLOCK] * size_b, size_b);
        if (n - at < HN_CACHE_BLOCK) clear_rest(copy, n - at, &s->m->model->state[state], token_b);
        good = fwrite(copy, 1, size_b, f) == size_b;
    }
    free(copy);
    return good;
}

static bool put(FILE *f, void *arg) {
    const writing *w = arg;
    const saved *h = &w->head;
    bool good = fwrite(h, sizeof *h, 1, f) == 1 && fwrite(w->s->token, sizeof(int32_t), h->n, f) == h->n &&
                fwrite(w->note, 1, h->n_note, f) == h->n_note;
    for (int32_t i = 0; good && h->n_kept && i < w->s->m->model->n_states; i++)
        good = put_blocks(f, w->s, h->n_kept, i);
    return good;
}

hone_rc hone_text_session_save(hone_text_session *s, const char *note, const char *path, hone_err *err) {
    writing w = {.s = s, .note = note ? note : ""};
    hn_session_cut(s);
    w.head = head_of(s, s->n, s->first ? 0 : s->n_kept, strlen(w.note));
    return hn_write_stream(path, put, &w, err);
}

/* --- reading ---------------------------------------------------------------------------------------------------------
 */

static hone_rc damaged(const char *path, const char *what, hone_err *err) {
    return hn_fail(err, HONE_E_INPUT, "'%s' is a damaged session: %s; feed its text anew", path, what);
}

static hone_rc check(const hone_text *m, FILE *f, const char *path, saved *h, hone_err *err) {
    if (fread(h, sizeof *h, 1, f) != 1 || memcmp(h->magic, MAGIC, sizeof MAGIC) != 0)
        return hn_fail(err, HONE_E_INPUT, "'%s' is no saved session", path);
    if (strncmp(h->key, m->key, sizeof h->key) != 0 || h->row_b != row_b(m))
        return hn_fail(err, HONE_E_MISMATCH,
                       "'%s' is a session of another model, or of '%s' compiled otherwise; feed its text anew", path,
                       m->path);
    if (h->n > (uint64_t)m->context)
        return hn_fail(err, HONE_E_LIMIT,
                       "'%s' has %" PRIu64 " tokens, too many for a context of %" PRId64 "; ask for a longer context",
                       path, h->n, m->context);
    if (h->n_kept > h->n || h->n_note > 1 << 26) return damaged(path, "its lengths are beyond each other", err);
    if (h->size_b != sizeof *h + h->n * sizeof(int32_t) + h->n_note + kept_b(m, h->n_kept) || fseek(f, 0, SEEK_END) ||
        ftell(f) != (long)h->size_b || fseek(f, sizeof *h, SEEK_SET))
        return damaged(path, "its sizes do not add up", err);
    return HONE_OK;
}

static hone_rc get_blocks(FILE *f, hone_text_session *s, uint64_t n, const char *path, hone_err *err) {
    hone_rc rc = hn_session_room(s, n, err);
    for (int32_t i = 0; !rc && i < s->m->model->n_states; i++) {
        hone_model_tensor x;
        uint64_t size_b = HN_CACHE_BLOCK * hn_session_row_b(s->m, i);
        if (s->m->model->peek(s->m->instance, i, &x))
            return hn_fail(err, HONE_E_FAILED, "'%s': %s", s->m->path, s->m->model->error(s->m->instance));
        for (uint64_t at = 0; !rc && at < n; at += HN_CACHE_BLOCK) {
            char *to = (char *)x.data + (uint64_t)s->block[at / HN_CACHE_BLOCK] * size_b;
            if (fread(to, 1, size_b, f) != size_b) rc = damaged(path, "it ends too early", err);
        }
    }
    if (!rc) hn_session_kept(s, n);
    return rc;
}

static hone_rc get(FILE *f, hone_text_session *s, const char *path, char **note, hone_err *err) {
    saved h;
    hone_rc rc = check(s->m, f, path, &h, err);
    if (rc) return rc;
    char *text = calloc(1, h.n_note + 1);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    if (fread(s->token, sizeof *s->token, h.n, f) != h.n || fread(text, 1, h.n_note, f) != h.n_note)
        rc = damaged(path, "it ends too early", err);
    for (uint64_t i = 0; !rc && i < h.n; i++)
        if (s->token[i] < 0 || s->token[i] >= s->m->vocabulary)
            rc = damaged(path, "a token is none of the model's", err);
    s->n = rc ? 0 : h.n;
    if (!rc) rc = get_blocks(f, s, h.n_kept, path, err);
    if (rc || !note)
        free(text);
    else
        *note = text;
    return rc;
}

hone_rc hone_text_session_load(hone_text *m, const char *path, hone_text_session **out, char **note, hone_err *err) {
    hone_text_session *s = NULL;
    FILE *f = fopen(path, "rb");
    if (!f) return hn_fail(err, HONE_E_IO, "cannot open '%s'", path);
    hone_rc rc = hone_text_session_open(m, &s, err);
    if (!rc) rc = get(f, s, path, note, err);
    fclose(f);
    if (rc)
        hone_text_session_close(s);
    else
        *out = s;
    return rc;
}
