/* session.c — sessions: tokens, and the blocks that hold their keys and values.
 *
 * What a session gives follows from its tokens alone. Its blocks may be found (another session had the same tokens in
 * front), shared (a fork), copied before they are written, or taken away when memory is short: then they are computed
 * again when it goes on.
 */
#include "base/err.h"
#include "language/language_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- blocks ----------------------------------------------------------------------------------------------------------
 */

enum { LEAST_FOUND = 4 }; /* tokens of a block that are worth copying it */

static size_t blocks_of(size_t tokens) { return (tokens + HN_CACHE_BLOCK - 1) / HN_CACHE_BLOCK; }

/* The first block that the next token sees. */
static size_t first_seen(const hone_text_session *s) {
    size_t window = (size_t)s->m->window;
    return window && s->n_kept >= window ? (s->n_kept - window + 1) / HN_CACHE_BLOCK : 0;
}

void hn_session_cut(hone_text_session *s) {
    if (s->n_kept > s->n) s->n_kept = s->n;
    if (first_seen(s) < s->first) s->n_kept = 0; /* what the next token sees was given back */
    while (s->n_block > blocks_of(s->n_kept)) {
        s->n_block--;
        if (s->n_block >= s->first) hn_kv_give(&s->m->pool, s->block[s->n_block]);
    }
    if (s->first > s->n_block) s->first = s->n_block;
}

static void drop(hone_text_session *s) {
    s->n_kept = 0;
    hn_session_cut(s);
}

static hone_rc grow(hone_text *m, hone_err *err) {
    int32_t n = m->pool.n ? 2 * m->pool.n : 8;
    if (m->pool.n < m->pool.keep && n > m->pool.keep) n = m->pool.keep;
    if (n > m->pool.most) n = m->pool.most;
    hone_rc rc = hn_kv_grow(&m->pool, n, err);
    for (int32_t i = 0; !rc && i < m->model->n_states; i++)
        if (m->model->resize(m->instance, i, (int64_t)n * HN_CACHE_BLOCK))
            rc = hn_fail(err, HONE_E_NOMEM, "'%s': %s", m->path, m->model->error(m->instance));
    return rc;
}

/* Takes the blocks of the session that was idle longest; false: there is none with blocks that is not in this step. */
static bool preempt(hone_text *m) {
    hone_text_session *idle = NULL;
    for (hone_text_session *s = m->sessions; s; s = s->next)
        if (!s->busy && s->n_block > s->first && (!idle || s->used < idle->used)) idle = s;
    if (idle) drop(idle);
    return idle != NULL;
}

/* A block that no session has; HN_NO_BLOCK: there is none. */
static hone_rc take_spare(hone_text *m, int32_t *block, hone_err *err) {
    hone_rc rc = HONE_OK;
    while (!rc && (*block = hn_kv_take(&m->pool)) == HN_NO_BLOCK && m->pool.n < m->pool.most) rc = grow(m, err);
    return rc;
}

static hone_rc take(hone_text *m, int32_t *block, hone_err *err) {
    hone_rc rc;
    while (!(rc = take_spare(m, block, err)) && *block == HN_NO_BLOCK)
        if (!preempt(m))
            return hn_fail(err, HONE_E_LIMIT,
                           "'%s': %" PRId32 " blocks of %d tokens' keys and values are all in use; step fewer sessions "
                           "at once, or allow for more cached tokens",
                           m->path, m->pool.most, HN_CACHE_BLOCK);
    return rc;
}

static void copy_block(hone_text *m, int32_t from, int32_t to) {
    for (int32_t i = 0; i < m->model->n_states; i++) {
        hone_model_tensor x;
        if (m->model->peek(m->instance, i, &x)) continue;
        size_t size_b = hn_session_row_b(m, i) * HN_CACHE_BLOCK;
        memcpy((char *)x.data + (size_t)to * size_b, (char *)x.data + (size_t)from * size_b, size_b);
    }
}

/* Blocks for tokens n_kept .. until, which may be written. */
static hone_rc own_blocks(hone_text_session *s, size_t until, hone_err *err) {
    hone_text *m = s->m;
    hone_rc rc = HONE_OK;
    size_t last = s->n_kept / HN_CACHE_BLOCK;
    int32_t block;
    if (last < s->n_block && hn_kv_fixed(&m->pool, s->block[last])) {
        if ((rc = take(m, &block, err))) return rc;
        copy_block(m, s->block[last], block);
        hn_kv_give(&m->pool, s->block[last]);
        s->block[last] = block;
    }
    while (!rc && s->n_block < blocks_of(until)) {
        if (!(rc = take(m, &block, err))) s->block[s->n_block++] = block;
    }
    return rc;
}

hone_rc hn_session_room(hone_text_session *s, size_t n, hone_err *err) {
    s->busy = true;
    hone_rc rc = own_blocks(s, n, err);
    s->busy = false;
    return rc;
}

size_t hn_session_row_b(const hone_text *m, int32_t state) {
    const hone_model_port *p = &m->model->state[state];
    size_t n = hone_dtype_size_b((hone_dtype)p->dtype);
    for (int32_t d = 1; d < p->rank; d++) n *= (size_t)p->low[d];
    return n;
}

/* The block in front of block i, or HN_NO_BLOCK; false: it was given back. */
static bool front_of(const hone_text_session *s, size_t i, int32_t *front) {
    *front = i ? s->block[i - 1] : HN_NO_BLOCK;
    return !i || i > s->first;
}

/* The beginning of the next block, as a block of another session has it: a copy. */
static void find_part(hone_text_session *s, size_t left) {
    hn_kv_pool *pool = &s->m->pool;
    size_t i = s->n_kept / HN_CACHE_BLOCK, n = s->n - s->n_kept - left;
    int32_t front, from, own;
    if (!front_of(s, i, &front)) return;
    if ((from = hn_kv_find_part(pool, front, s->token + s->n_kept, LEAST_FOUND, &n)) == HN_NO_BLOCK) return;
    if (!take_spare(s->m, &own, NULL) && own != HN_NO_BLOCK) {
        copy_block(s->m, from, own);
        s->block[s->n_block++] = own;
        s->n_kept += n;
    }
    hn_kv_give(pool, from);
}

/* Tokens whose keys and values are there already, all but the last `left`. */
static void find(hone_text_session *s, size_t left) {
    while (!s->alone && s->n_kept % HN_CACHE_BLOCK == 0 && s->n_kept + HN_CACHE_BLOCK + left <= s->n) {
        size_t i = s->n_kept / HN_CACHE_BLOCK;
        int32_t front, block = HN_NO_BLOCK;
        if (front_of(s, i, &front)) block = hn_kv_find(&s->m->pool, front, s->token + s->n_kept);
        if (block == HN_NO_BLOCK) break;
        s->block[s->n_block++] = block;
        s->n_kept += HN_CACHE_BLOCK;
    }
    if (!s->alone && s->n_kept % HN_CACHE_BLOCK == 0 && s->n_kept + LEAST_FOUND + left <= s->n) find_part(s, left);
}

void hn_session_kept(hone_text_session *s, size_t n) {
    size_t from = s->n_kept / HN_CACHE_BLOCK;
    int32_t front;
    s->n_kept += n;
    for (size_t i = from; !s->alone && (i + 1) * HN_CACHE_BLOCK <= s->n_kept; i++)
        if (front_of(s, i, &front))
            hn_kv_file(&s->m->pool, s->block[i], front, s->token + i * HN_CACHE_BLOCK, HN_CACHE_BLOCK);
    while (s->first < first_seen(s)) hn_kv_give(&s->m->pool, s->block[s->first++]);
}

/* The last block of a session that ends, where it is not full, and no other one begins so. */
static void leave_rest(const hone_text_session *s) {
    hn_kv_pool *pool = &s->m->pool;
    size_t i = s->n_kept / HN_CACHE_BLOCK, n = s->n_kept % HN_CACHE_BLOCK, same = n;
    const int32_t *token = s->token + i * HN_CACHE_BLOCK;
    int32_t front, other;
    if (s->alone || n < LEAST_FOUND || i < s->first || i >= s->n_block || !front_of(s, i, &front)) return;
    other = hn_kv_find_part(pool, front, token, n, &same);
    if (other == HN_NO_BLOCK)
        hn_kv_file(pool, s->block[i], front, token, n);
    else
        hn_kv_give(pool, other);
}

/* --- a run -----------------------------------------------------------------------------------------------------------
 */

/* Tokens from n_kept on of several sessions. */
typedef struct piece {
    hone_text_session *s;
    size_t n, n_want; /* tokens; of how many of the last ones logits are wanted */
} piece;

static hone_model_tensor tensor(void *data, hone_dtype t, size_t rank, int64_t a, int64_t b) {
    hone_model_tensor x = {.data = data, .dtype = (int32_t)t, .rank = (int32_t)rank, .dim = {a, b}};
    x.size_b = (size_t)(rank == 2 ? a * b : a) * hone_dtype_size_b(t);
    return x;
}

/* A run that fails loses the pools, and with them what all sessions have. */
static hone_rc lost(hone_text *m, hone_err *err) {
    hone_rc rc = hn_fail(err, HONE_E_FAILED, "'%s': %s", m->path, m->model->error(m->instance));
    for (hone_text_session *s = m->sessions; s; s = s->next) s->n_kept = s->n_block = s->first = 0;
    hn_kv_forget(&m->pool);
    m->model->reset(m->instance);
    for (int32_t i = 0; i < m->model->n_states; i++)
        m->model->resize(m->instance, i, (int64_t)m->pool.n * HN_CACHE_BLOCK);
    return rc;
}

typedef struct inputs {
    int64_t *token, *position, *sequence, *slot, *want, *table;
    int64_t n, n_want, n_table;
} inputs;

static void add_piece(inputs *x, const piece *p, int64_t sequence) {
    const hone_text_session *s = p->s;
    for (size_t i = s->first; i < s->n_block; i++) x->table[sequence * x->n_table + (int64_t)i] = s->block[i];
    for (size_t i = 0; i < p->n; i++, x->n++) {
        size_t at = s->n_kept + i;
        x->token[x->n] = s->token[at];
        x->position[x->n] = (int64_t)at;
        x->sequence[x->n] = sequence;
        x->slot[x->n] = (int64_t)s->block[at / HN_CACHE_BLOCK] * HN_CACHE_BLOCK + (int64_t)(at % HN_CACHE_BLOCK);
        if (i + p->n_want >= p->n) x->want[x->n_want++] = x->n;
    }
}

/* Logits wanted go behind the first `done` rows of m->logits; where none are, one row is written all the same. */
static hone_rc run(hone_text *m, const piece *list, size_t n_list, size_t done, hone_err *err) {
    size_t n = 0,
           width = (size_t)(m->context + HN_CACHE_BLOCK - 1) / HN_CACHE_BLOCK; /* some scalings of positions ask */
    for (size_t i = 0; i < n_list; i++) {
        n += list[i].n;
        if (list[i].s->n_block > width) width = list[i].s->n_block;
    }
    int64_t *room = calloc(5 * n + n_list * width, sizeof *room);
    if (!room) return hn_fail(err, HONE_E_NOMEM, "out of memory running '%s'", m->path);
    inputs x = {room, room + n, room + 2 * n, room + 3 * n, room + 4 * n, room + 5 * n, .n_table = (int64_t)width};
    for (size_t i = 0; i < n_list; i++) add_piece(&x, &list[i], (int64_t)i);
    if (!x.n_want) x.want[x.n_want++] = x.n - 1;
    hone_model_tensor in[6] = {
        tensor(x.token, HONE_I64, 1, x.n, 0),    tensor(x.want, HONE_I64, 1, x.n_want, 0),
        tensor(x.position, HONE_I64, 1, x.n, 0), tensor(x.sequence, HONE_I64, 1, x.n, 0),
        tensor(x.slot, HONE_I64, 1, x.n, 0),     tensor(x.table, HONE_I64, 2, (int64_t)n_list, x.n_table)};
    hone_model_tensor out[2] = {tensor(m->logits + done * (size_t)m->vocabulary, HONE_F32, 2, x.n_want, m->vocabulary),
                                tensor(m->hidden + done * (size_t)m->width, HONE_F32, 2, x.n_want, m->width)};
    hone_rc rc = m->model->run(m->instance, in, 6, out, 2) ? lost(m, err) : HONE_OK;
    free(room);
    for (size_t i = 0; !rc && i < n_list; i++) hn_session_kept(list[i].s, list[i].n);
    return rc;
}

/* --- steps -----------------------------------------------------------------------------------------------------------
 */

static hone_rc room_for_logits(hone_text *m, int64_t n, hone_err *err) {
    if (n <= m->n_logits) return HONE_OK;
    float *more = realloc(m->logits, (size_t)(n * m->vocabulary) * sizeof *more);
    if (more) m->logits = more;
    float *state = realloc(m->hidden, (size_t)(n * m->width) * sizeof *state);
    if (state) m->hidden = state;
    if (!more || !state) return hn_fail(err, HONE_E_NOMEM, "out of memory for the logits of %" PRId64 " tokens", n);
    m->n_logits = n;
    return HONE_OK;
}

/* All tokens of the sessions that are not kept, at most HN_CHUNK in a run, in order. */
static hone_rc compute(hone_text *m, hone_text_feed *feed, size_t n, const volatile int *stop, hone_err *err) {
    piece *list = calloc(n, sizeof *list);
    hone_rc rc = list ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory running '%s'", m->path);
    size_t k = 0, done = 0;
    while (!rc && k < n) {
        size_t n_list = 0, left = HN_CHUNK, want = 0;
        if (stop && *stop) rc = hn_fail(err, HONE_E_INTERRUPTED, "stopped");
        for (size_t i = k; !rc && i < n && left; i++) {
            hone_text_session *s = feed[i].session;
            size_t first = s->n - feed[i].n_want, all = s->n - s->n_kept, some = all < left ? all : left;
            size_t end = s->n_kept + some, from = s->n_kept > first ? s->n_kept : first;
            list[n_list++] = (piece){s, some, end > from ? end - from : 0};
            want += list[n_list - 1].n_want;
            left -= some;
            rc = own_blocks(s, end, err);
            if (some == all) k = i + 1;
        }
        if (!rc) rc = run(m, list, n_list, done, err);
        done += want;
    }
    free(list);
    return rc;
}

hone_rc hn_session_fits(const hone_text *m, size_t have, size_t n, hone_err *err) {
    if (n <= (size_t)m->context - have) return HONE_OK;
    return hn_fail(err, HONE_E_LIMIT,
                   "%zu tokens and %zu more are too many for a context of %" PRId64
                   "; shorten the text, or ask for a longer context",
                   have, n, m->context);
}

static hone_rc check(hone_text *m, const hone_text_feed *f, hone_err *err) {
    const hone_text_session *s = f->session;
    if (s->m != m || s->busy) return hn_fail(err, HONE_E_USAGE, "a session is of another model, or given twice");
    if (!f->n || f->n_want > f->n)
        return hn_fail(err, HONE_E_USAGE, "logits of %zu of %zu tokens; feed tokens, and ask for some of them",
                       f->n_want, f->n);
    hone_rc rc = hn_session_fits(m, s->n, f->n, err);
    if (rc) return rc;
    for (size_t i = 0; i < f->n; i++)
        if (f->token[i] < 0 || f->token[i] >= m->vocabulary)
            return hn_fail(err, HONE_E_USAGE, "token %" PRId32 ": the model has %" PRId64, f->token[i], m->vocabulary);
    return HONE_OK;
}

hone_rc hn_session_feed_all(hone_text *m, hone_text_feed *feed, size_t n, const volatile int *stop, hone_err *err) {
    hone_rc rc = HONE_OK;
    size_t want = 0, taken = 0, at = 0;
    for (; !rc && taken < n; taken += !rc) {
        hone_text_feed *f = &feed[taken];
        if ((rc = check(m, f, err))) break;
        hone_text_session *s = f->session;
        hn_session_cut(s);
        memcpy(s->token + s->n, f->token, f->n * sizeof *f->token);
        s->n += f->n;
        s->busy = true;
        s->used = ++m->clock;
        find(s, f->n_want ? f->n_want : 1);
        want += f->n_want;
    }
    if (!rc) rc = room_for_logits(m, (int64_t)want + 1, err);
    if (!rc && n) rc = compute(m, feed, n, stop, err);
    for (size_t i = 0; i < taken; i++) {
        hone_text_session *s = feed[i].session;
        s->busy = false;
        if (rc) s->n -= feed[i].n;
        hn_session_cut(s);
        if (!rc) feed[i].logits = m->logits + at * (size_t)m->vocabulary;
        at += feed[i].n_want;
    }
    return rc;
}

hone_rc hone_text_feed_all(hone_text *m, hone_text_feed *feed, size_t n, hone_err *err) {
    return hn_session_feed_all(m, feed, n, NULL, err);
}

hone_rc hn_session_step(hone_text_session *s, const int32_t *token, size_t n, size_t n_want, hone_err *err) {
    hone_text_feed f = {s, token, n, n_want, NULL};
    return hn_session_feed_all(s->m, &f, 1, NULL, err);
}

hone_rc hn_session_feed(hone_text_session *s, const int32_t *token, size_t n, const volatile int *stop, hone_err *err) {
    hone_text_feed f = {s, token, n, 1, NULL};
    return n ? hn_session_feed_all(s->m, &f, 1, stop, err) : HONE_OK;
}

/* --- sessions --------------------------------------------------------------------------------------------------------
 */

size_t hn_session_keep(hone_text_session *s, const int32_t *token, size_t n) {
    size_t k = 0;
    while (k < s->n && k + 1 < n && s->token[k] == token[k]) k++;
    s->n = k;
    return k;
}

size_t hn_session_begin(hone_text_session *s, const int32_t *token, size_t n) {
    memcpy(s->token, token, n * sizeof *token);
    s->n = n;
    s->used = ++s->m->clock;
    find(s, 1);
    return s->n = s->n_kept;
}

hone_rc hone_text_session_open(hone_text *m, hone_text_session **out, hone_err *err) {
    hone_rc rc = hn_language_ready(m, false, true, err);
    if (rc) return rc;
    hone_text_session *s = calloc(1, sizeof *s);
    if (s) s->token = malloc((size_t)m->context * sizeof *s->token);
    if (s) s->block = malloc((blocks_of((size_t)m->context) + 1) * sizeof *s->block);
    if (!s || !s->token || !s->block) {
        if (s) free(s->token);
        free(s);
        return hn_fail(err, HONE_E_NOMEM, "out of memory opening a session of '%s'", m->path);
    }
    s->m = m;
    s->next = m->sessions;
    m->sessions = s;
    *out = s;
    return HONE_OK;
}

void hone_text_session_close(hone_text_session *s) {
    if (!s) return;
    hone_text_session **at = &s->m->sessions;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    hn_session_cut(s);
    leave_rest(s);
    drop(s);
    free(s->block);
    free(s->token);
    free(s);
}

hone_rc hone_text_session_feed(hone_text_session *s, const int32_t *token, size_t n, size_t n_want,
                               const float **logits, hone_err *err) {
    hone_text_feed f = {s, token, n, n_want, NULL};
    hone_rc rc = hn_session_feed_all(s->m, &f, 1, NULL, err);
    if (!rc && logits) *logits = f.logits;
    return rc;
}

hone_rc hone_text_session_fork(const hone_text_session *s, hone_text_session **out, hone_err *err) {
    hone_text_session *other;
    hone_rc rc = hone_text_session_open(s->m, &other, err);
    if (rc) return rc;
    memcpy(other->token, s->token, s->n * sizeof *s->token);
    other->n = s->n;
    other->n_kept = s->n_kept < s->n ? s->n_kept : s->n;
    other->alone = s->alone;
    other->n_block = other->first = s->first;
    while (other->n_block < blocks_of(other->n_kept)) {
        hn_kv_share(&s->m->pool, s->block[other->n_block]);
        other->block[other->n_block] = s->block[other->n_block];
        other->n_block++;
    }
    *out = other;
    return HONE_OK;
}

hone_rc hone_text_session_truncate(hone_text_session *s, size_t n, hone_err *err) {
    if (n > s->n) return hn_fail(err, HONE_E_USAGE, "a session of %zu tokens cannot be cut to %zu; feed it", s->n, n);
    s->n = n;
    hn_session_cut(s);
    return HONE_OK;
}

const int32_t *hone_text_session_tokens(const hone_text_session *s, size_t *n) {
    *n = s->n;
    return s->token;
}
