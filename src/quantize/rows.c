/* rows.c — thread t of n takes rows t, t + n, …: what a row becomes depends on it alone. */
#include "quantize/rows.h"
#include "base/err.h"
#include "gguf/encode.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256 };

typedef struct share {
    hn_rows *r;
    uint32_t first;
    float *x, *back; /* a row; NULL: no memory */
    uint64_t bad_row, bad_column;
    float bad_value;
} share;

static uint64_t read_from(const hn_rows *r, uint64_t row) {
    uint64_t at = r->first + row, inside = r->head ? at % r->head : 0;
    return r->head ? at - inside + inside / 2 + inside % 2 * (r->head / 2) : at;
}

static bool encode_row(share *s, uint64_t row) {
    hn_rows *r = s->r;
    uint64_t columns = r->columns, from_b = columns / r->from->elements * r->from->size_b,
             to_b = columns / r->to->elements * r->to->size_b;
    double square = 0, error = 0;
    hn_block_decode(r->from, r->data + read_from(r, row) * from_b, columns, s->x);
    size_t done = hn_block_encode(r->to, s->x, r->weight, (size_t)columns, r->out + row * to_b);
    if (done < columns) {
        s->bad_row = row, s->bad_column = done, s->bad_value = s->x[done];
        return false;
    }
    hn_block_decode(r->to, r->out + row * to_b, columns, s->back);
    for (uint64_t i = 0; i < columns; i++) {
        double x = (double)s->x[i], e = x - (double)s->back[i];
        square += x * x;
        error += e * e;
    }
    r->square[row] = square;
    r->error[row] = error;
    return true;
}

static void *work(void *arg) {
    share *s = arg;
    for (uint64_t row = s->first; row < s->r->n && !(s->r->stop && *s->r->stop); row += s->r->n_threads)
        if (!encode_row(s, row)) break;
    return NULL;
}

static void run(share *s, uint32_t n) {
    pthread_t id[THREADS];
    uint32_t started = 1;
    while (started < n && !pthread_create(&id[started], NULL, work, &s[started])) started++;
    work(&s[0]);
    for (uint32_t t = 1; t < started; t++) pthread_join(id[t], NULL);
    for (uint32_t t = started; t < n; t++) work(&s[t]); /* the system had no more threads */
}

hone_rc hn_rows_encode(hn_rows *r, hone_err *err) {
    uint32_t n = r->n_threads < 1 ? 1 : r->n_threads < THREADS ? r->n_threads : THREADS;
    share s[THREADS];
    size_t row_b = (size_t)r->columns * sizeof(float);
    bool memory = true;
    if (n > r->n) n = (uint32_t)r->n;
    r->n_threads = n;
    for (uint32_t t = 0; t < n; t++) {
        s[t] = (share){.r = r, .first = t, .x = malloc(row_b), .back = malloc(row_b), .bad_row = r->n};
        memory = memory && s[t].x && s[t].back;
    }
    if (memory) run(s, n);
    r->bad_row = r->n;
    for (uint32_t t = 0; t < n; t++) {
        if (s[t].bad_row < r->bad_row)
            r->bad_row = s[t].bad_row, r->bad_column = s[t].bad_column, r->bad_value = s[t].bad_value;
        free(s[t].x);
        free(s[t].back);
    }
    if (!memory) return hn_fail(err, HONE_E_NOMEM, "out of memory encoding rows of weights");
    return r->stop && *r->stop ? hn_fail(err, HONE_E_INTERRUPTED, "stopped") : HONE_OK;
}
