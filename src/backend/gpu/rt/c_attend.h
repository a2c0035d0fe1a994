/* rt/c_attend.h — attention over keys and values that lie in blocks of a pool. Behind c_base.h and c_scalar.h.
 *
 * An item is a token, a head of keys, up to four heads of queries that share it, and up to 512 columns of the result;
 * a block of threads computes it. Keys go in turns of 128, which begin at multiples of 128 of the sequence's positions:
 * a thread takes a key of each turn, neighbouring threads neighbouring keys, as they lie in the pool. The softmax is
 * the online one, a step per turn. For the products with the values a thread has columns; where there are fewer columns
 * than threads, groups of threads take every n-th key of the turn and are added up at the end.
 *
 * The order of every sum follows from the token's position alone, never from what is computed beside it.
 */
enum { HNR_ATTEND_THREADS = 128, HNR_ATTEND_HEADS = 4, HNR_ATTEND_COLUMNS = 4, HNR_ATTEND_SLAB = 512 };
enum { HNR_ATTEND_F32, HNR_ATTEND_F16, HNR_ATTEND_BF16, HNR_ATTEND_I8 };
#ifdef HNR_OPENCL /* compilers that look for more in what is written out take minutes */
#define HNR_ATTEND_UNROLL HNR_UNROLL_NOT
#else
#define HNR_ATTEND_UNROLL HNR_UNROLL_4
#endif
#define HNR_ATTEND_EACH HNR_ATTEND_UNROLL for (int h = 0; h < HNR_ATTEND_HEADS; h++)

typedef struct hnr_attend {
    HNR_GLOBAL const float *q;                       /* [n, heads, size] */
    HNR_GLOBAL const char *keys, *values;            /* [rows / block, kv_heads, size, block]; [rows, kv_heads, size] */
    HNR_GLOBAL const float *key_scale, *value_scale; /* [rows, kv_heads] where scaled */
    HNR_GLOBAL const int64_t *table, *sequence, *position;
    HNR_GLOBAL float *out;
    HNR_GLOBAL int64_t *s;
    int64_t heads, kv_heads, size, rows, sequences, blocks, block, window;
    float cap;
    int type, scaled;
} hnr_attend;
/* Shared memory of a block. */
typedef struct hnr_attend_room {
    HNR_SHARED_MEMORY float *score; /* of each head, of each thread */
    HNR_SHARED_MEMORY int64_t *row; /* in the pool, of each thread's key; -1: none that is seen */
    HNR_SHARED_MEMORY float *part;  /* of each head, of 32 threads */
} hnr_attend_room;
/* What an item works on. */
typedef struct hnr_attend_item {
    int64_t token, kv, head, slab; /* the first head of queries, the first column */
    int heads, size;               /* how many */
    int64_t first, last;           /* keys that are seen; last -1: none */
    int64_t sequence;
    float top[HNR_ATTEND_HEADS], all[HNR_ATTEND_HEADS]; /* the largest score; this thread's part of the sum */
    float mixed[HNR_ATTEND_HEADS][HNR_ATTEND_COLUMNS];
    int wide, part, column; /* threads of a group; which group this thread is in, which one of it this thread is */
} hnr_attend_item;

HNR float hnr_attend_get(HNR_GLOBAL const char *from, int type, int64_t i) {
    if (type == HNR_ATTEND_F16) return hnr_f16_float(((HNR_GLOBAL const uint16_t *)from)[i]);
    if (type == HNR_ATTEND_BF16) return hnr_bf16_float(((HNR_GLOBAL const uint16_t *)from)[i]);
    return type == HNR_ATTEND_I8 ? (float)((HNR_GLOBAL const int8_t *)from)[i] : ((HNR_GLOBAL const float *)from)[i];
}

HNR void hnr_attend_begin(const hnr_attend *j, int64_t item, hnr_attend_item *x) {
    int64_t group = j->heads / j->kv_heads, tiles = (group + HNR_ATTEND_HEADS - 1) / HNR_ATTEND_HEADS;
    int64_t slabs = (j->size + HNR_ATTEND_SLAB - 1) / HNR_ATTEND_SLAB, tile = item / slabs % tiles;
    x->slab = item % slabs * HNR_ATTEND_SLAB;
    x->kv = item / slabs / tiles % j->kv_heads;
    x->token = item / slabs / tiles / j->kv_heads;
    x->head = x->kv * group + tile * HNR_ATTEND_HEADS;
    x->heads = (int)hn_min(group - tile * HNR_ATTEND_HEADS, HNR_ATTEND_HEADS);
    x->size = (int)hn_min(j->size - x->slab, HNR_ATTEND_SLAB);
    x->sequence = hnr_index(j->s, j->sequence[x->token], j->sequences);
    int64_t p = j->position[x->token];
    if (p < 0 || p >= j->blocks * j->block || x->sequence < 0) {
        hnr_fail(j->s);
        p = -1;
    }
    x->last = p;
    x->first = j->window > 0 && p >= j->window ? p - j->window + 1 : 0;
    for (x->wide = 1; x->wide < x->size && x->wide < HNR_ATTEND_THREADS;) x->wide *= 2;
    x->part = HNR_THREAD / x->wide, x->column = HNR_THREAD % x->wide;
    HNR_ATTEND_EACH {
        x->top[h] = -INFINITY, x->all[h] = 0;
        HNR_ATTEND_UNROLL for (int c = 0; c < HNR_ATTEND_COLUMNS; c++) x->mixed[h][c] = 0;
    }
}

/* The scores of this thread's key, number k of the sequence; its row of the pool, -1 where it is not seen. */
HNR int64_t hnr_attend_scores(const hnr_attend *j, const hnr_attend_item *x, int64_t k, float *score) {
    HNR_ATTEND_EACH score[h] = 0;
    if (k < x->first || k > x->last) return -1;
    int64_t at = hnr_index(j->s, j->table[x->sequence * j->blocks + k / j->block], j->rows / j->block);
    if (at < 0) return -1;
    int64_t row = at * j->block + k % j->block, key = (at * j->kv_heads + x->kv) * j->size * j->block + k % j->block;
    HNR_GLOBAL const float *q = j->q + (x->token * j->heads + x->head) * j->size;
    for (int64_t d = 0; d < j->size; d++, key += j->block) {
        float y = hnr_attend_get(j->keys, j->type, key);
        HNR_ATTEND_EACH {
            if (h < x->heads) score[h] += q[h * j->size + d] * y;
        }
    }
    float scale = j->scaled ? j->key_scale[row * j->kv_heads + x->kv] : 1.0f;
    HNR_ATTEND_EACH {
        score[h] *= scale;
        if (j->cap > 0) score[h] = j->cap * tanh(score[h] / j->cap);
    }
    return row;
}

/* Keys from .. from + 127. All threads of the block come by. */
HNR void hnr_attend_turn(const hnr_attend *j, hnr_attend_item *x, int64_t from, const hnr_attend_room *room) {
    const int t = HNR_THREAD, parts = HNR_ATTEND_THREADS / x->wide;
    float score[HNR_ATTEND_HEADS];
    int64_t row = hnr_attend_scores(j, x, from + t, score);
    float scale = j->scaled && row >= 0 ? j->value_scale[row * j->kv_heads + x->kv] : 1.0f;
    room->row[t] = row;
    HNR_ATTEND_EACH room->score[h * HNR_ATTEND_THREADS + t] = row >= 0 ? score[h] : -INFINITY;
    HNR_BARRIER();
    float most = -INFINITY;
    for (int k = 0; k < HNR_ATTEND_HEADS; k++)
        most = hnr_max_f32(most, room->score[t / 32 * HNR_ATTEND_THREADS + 32 * k + t % 32]);
    room->part[t] = most;
    HNR_BARRIER();
    float top[HNR_ATTEND_HEADS];
    HNR_ATTEND_EACH top[h] = x->top[h];
    HNR_UNROLL_NOT for (int k = 0; k < 32; k++) {
        HNR_ATTEND_EACH top[h] = hnr_max_f32(top[h], room->part[32 * h + k]);
    }
    HNR_ATTEND_EACH {
        float keep = top[h] == x->top[h] ? 1.0f : exp(x->top[h] - top[h]);
        float e = row >= 0 ? exp(score[h] - top[h]) : 0.0f;
        x->top[h] = top[h];
        x->all[h] = x->all[h] * keep + e;
        HNR_ATTEND_UNROLL for (int c = 0; c < HNR_ATTEND_COLUMNS; c++) x->mixed[h][c] *= keep;
        room->score[h * HNR_ATTEND_THREADS + t] = e * scale;
    }
    HNR_BARRIER();
    int n = (int)hn_min(HNR_ATTEND_THREADS, x->last - from + 1);
    for (int k = x->part; k < n; k += parts) {
        int64_t at = room->row[k];
        if (at < 0) continue;
        at = (at * j->kv_heads + x->kv) * j->size + x->slab;
        HNR_ATTEND_UNROLL for (int c = 0; c < HNR_ATTEND_COLUMNS; c++) {
            int column = x->column + c * x->wide;
            float y = column < x->size ? hnr_attend_get(j->values, j->type, at + column) : 0.0f;
            HNR_ATTEND_EACH x->mixed[h][c] += room->score[h * HNR_ATTEND_THREADS + k] * y;
        }
    }
    HNR_BARRIER();
}

/* Sums over the block's threads in their order: of the exponentials, and of the groups' columns. */
HNR void hnr_attend_end(const hnr_attend *j, hnr_attend_item *x, const hnr_attend_room *room) {
    const int t = HNR_THREAD;
    HNR_ATTEND_EACH room->score[h * HNR_ATTEND_THREADS + t] = x->all[h];
    HNR_BARRIER();
    HNR_ATTEND_EACH x->all[h] = 0;
    HNR_UNROLL_NOT for (int k = 0; k < HNR_ATTEND_THREADS; k++) {
        HNR_ATTEND_EACH x->all[h] += room->score[h * HNR_ATTEND_THREADS + k];
    }
    HNR_BARRIER();
    HNR_ATTEND_EACH room->score[h * HNR_ATTEND_THREADS + t] = x->mixed[h][0];
    HNR_BARRIER();
    if (x->part == 0) {
        HNR_UNROLL_NOT for (int k = t + x->wide; k < HNR_ATTEND_THREADS; k += x->wide) {
            HNR_ATTEND_EACH x->mixed[h][0] += room->score[h * HNR_ATTEND_THREADS + k];
        }
        HNR_GLOBAL float *out = j->out + (x->token * j->heads + x->head) * j->size + x->slab;
        HNR_ATTEND_UNROLL for (int c = 0; c < HNR_ATTEND_COLUMNS; c++) {
            int column = x->column + c * x->wide;
            if (column >= x->size) continue;
            HNR_ATTEND_EACH {
                if (h < x->heads) out[h * j->size + column] = x->all[h] == 0 ? 0.0f : x->mixed[h][c] / x->all[h];
            }
        }
    }
    HNR_BARRIER();
}

HNR void hnr_attend_one(const hnr_attend *j, int64_t item, const hnr_attend_room *room) {
    hnr_attend_item x;
    hnr_attend_begin(j, item, &x);
    for (int64_t from = x.first / HNR_ATTEND_THREADS * HNR_ATTEND_THREADS; from <= x.last; from += HNR_ATTEND_THREADS)
        hnr_attend_turn(j, &x, from, room);
    hnr_attend_end(j, &x, room);
}
