/* serve/traffic_count.c — what the models are asked for. */
#include "serve/traffic_count.h"

#include "base/clock.h"
#include "base/err.h"

#include <hone/traffic.h>

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 256, SIZE_MOST = 160 };
static const double interval_s = 60;

typedef struct counted {
    const char *model, *kind;
    char size[SIZE_MOST];
    double count, time_s;
} counted;

typedef struct named {
    char *name;
    const char *path; /* in o->model */
} named;

struct hn_traffic_count {
    const char *store;
    named *model;
    size_t n_model;
    double written_s;
    bool failing;
    pthread_mutex_t lock; /* of the rows */
    counted row[ROWS];
    size_t n;
};

/* --- models ---------------------------------------------------------------------------------------------------------
 */

/* As the engine names them: NAME=PATH, or the last part of the path without its ending. */
static bool name_model(const char *text, named *out) {
    const char *equals = strchr(text, '='), *slash = strchr(text, '/');
    if (equals && equals > text && (!slash || equals < slash)) {
        *out = (named){strndup(text, (size_t)(equals - text)), equals + 1};
        return out->name != NULL;
    }
    size_t n = strlen(text);
    while (n > 1 && text[n - 1] == '/') n--;
    size_t at = n;
    while (at && text[at - 1] != '/') at--;
    size_t end = n;
    for (size_t i = at + 1; i < n; i++)
        if (text[i] == '.') end = i;
    *out = (named){strndup(text + at, end - at), text};
    return out->name != NULL;
}

static const named *find(const hn_traffic_count *t, const char *model) {
    for (size_t i = 0; i < t->n_model; i++)
        if (!strcmp(t->model[i].name, model)) return &t->model[i];
    return NULL;
}
const char *hn_traffic_base(const hn_traffic_count *t, const char *model) {
    const named *x = t ? find(t, model) : NULL;
    return x ? x->path : NULL;
}

hn_traffic_count *hn_traffic_open(const hone_serve_options *o) {
    hn_traffic_count *t = o->no_traffic ? NULL : calloc(1, sizeof *t);
    if (!t) return NULL;
    pthread_mutex_init(&t->lock, NULL);
    t->store = o->store;
    t->written_s = hn_now_s();
    t->model = calloc(o->n_model + 1, sizeof *t->model);
    while (t->model && t->n_model < o->n_model && name_model(o->model[t->n_model], &t->model[t->n_model])) t->n_model++;
    return t;
}

/* --- counting -------------------------------------------------------------------------------------------------------
 */

static counted *row_of(hn_traffic_count *t, const char *model, const char *kind, const char *size) {
    for (size_t i = 0; i < t->n; i++) {
        counted *x = &t->row[i];
        if (x->model == model && x->kind == kind && !strcmp(x->size, size)) return x;
    }
    /* the last rows are kept for "other", of each model and kind */
    if (t->n + (strcmp(size, "other") ? t->n_model : 0) >= ROWS)
        return strcmp(size, "other") ? row_of(t, model, kind, "other") : NULL;
    counted *x = &t->row[t->n++];
    *x = (counted){.model = model, .kind = kind};
    snprintf(x->size, sizeof x->size, "%s", size);
    return x;
}

static void count(hn_traffic_count *t, const char *model, const char *kind, const char *size, double seconds) {
    const named *m = find(t, model);
    if (!m) return;
    pthread_mutex_lock(&t->lock);
    counted *x = row_of(t, m->path, kind, size);
    if (x) x->count++, x->time_s += seconds;
    pthread_mutex_unlock(&t->lock);
}

static const char run_kind[] = "run", decode_kind[] = "decode", prefill_kind[] = "prefill", prompt_kind[] = "prompt",
                  answer_kind[] = "answer";

/* Dimension d of "[batch, 2*seq, 384]" where it is a name alone. */
static bool symbol_at(const char *shape, int32_t d, const char **name, int *n) {
    if (!shape || *shape++ != '[') return false;
    for (; d > 0; d--) {
        shape += strcspn(shape, ",]");
        if (*shape++ != ',') return false;
    }
    shape += strspn(shape, " ");
    *name = shape;
    *n = (int)strcspn(shape, ",]");
    for (int i = 0; i < *n; i++)
        if (!isalnum((unsigned char)shape[i]) && shape[i] != '_') return false;
    return *n > 0 && !isdigit((unsigned char)*shape);
}

static bool has(const char *sizes, const char *name, int n) {
    for (const char *p = sizes; *p; p += *p == ',') {
        if (!strncmp(p, name, (size_t)n) && p[n] == '=') return true;
        p += strcspn(p, ",");
    }
    return false;
}

void hn_traffic_run(hn_traffic_count *t, const char *model, const hone_model *x, const hone_array *in, size_t n_in,
                    int64_t rows, double seconds) {
    char sizes[SIZE_MOST] = "";
    size_t at = 0;
    if (!t) return;
    for (int32_t i = 0; i < x->n_inputs && (size_t)i < n_in; i++)
        for (int32_t d = 0; d < x->input[i].rank && (uint32_t)d < in[i].rank; d++) {
            const char *name;
            int n, room = (int)(sizeof sizes - at);
            if (x->input[i].dim[d] >= 0 || !symbol_at(x->input[i].shape, d, &name, &n) || has(sizes, name, n)) continue;
            long long size = d == 0 && rows > 0 ? (long long)rows : (long long)in[i].dim[d];
            int k = snprintf(sizes + at, (size_t)room, "%s%.*s=%lld", at ? "," : "", n, name, size);
            if (k >= room) { /* too many: counted without sizes */
                count(t, model, run_kind, "other", seconds);
                return;
            }
            at += (size_t)k;
        }
    count(t, model, run_kind, sizes, seconds);
}

static void count_number(hn_traffic_count *t, const char *model, const char *kind, size_t size, double seconds) {
    char text[32];
    double x = (double)size;
    if (size > 8) x = floor(exp2(round(4 * log2(x)) / 4) + 0.5);
    snprintf(text, sizeof text, "%.0f", x);
    count(t, model, kind, text, seconds);
}

void hn_traffic_step(hn_traffic_count *t, const char *model, const hone_text_feed *feed, size_t n, double seconds) {
    size_t tokens = 0;
    bool reads = false;
    if (!t || !n) return;
    for (size_t i = 0; i < n; i++) {
        tokens += feed[i].n;
        reads |= feed[i].n > 1;
    }
    count_number(t, model, reads ? prefill_kind : decode_kind, reads ? tokens : n, seconds);
}

void hn_traffic_answer(hn_traffic_count *t, const char *model, size_t n_prompt, size_t n_answer) {
    if (!t) return;
    count_number(t, model, prompt_kind, n_prompt, 0);
    count_number(t, model, answer_kind, n_answer, 0);
}

/* --- writing --------------------------------------------------------------------------------------------------------
 */

static hone_rc write_all(const hn_traffic_count *t, const counted *row, size_t n, hone_err *err) {
    hone_rollouts *r;
    hone_traffic_row of[ROWS];
    hone_rc rc = hone_rollouts_open(t->store, true, &r, err);
    if (rc) return rc;
    for (size_t m = 0; m < t->n_model && !rc; m++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if (row[i].model == t->model[m].path)
                of[k++] = (hone_traffic_row){row[i].kind, row[i].size, row[i].count, row[i].time_s};
        if (k) rc = hone_traffic_add(r, t->model[m].path, of, k, err);
    }
    hone_rollouts_close(r);
    return rc;
}

/* What is being written is taken out first, and put back where it cannot be written. */
static hone_rc flush(hn_traffic_count *t, hone_err *err) {
    pthread_mutex_lock(&t->lock);
    size_t n = t->n;
    counted *row = n ? malloc(n * sizeof *row) : NULL;
    if (row) memcpy(row, t->row, n * sizeof *row);
    if (row) t->n = 0;
    pthread_mutex_unlock(&t->lock);
    if (!row) return n ? hn_fail(err, HONE_E_NOMEM, "out of memory counting requests") : HONE_OK;
    hone_rc rc = write_all(t, row, n, err);
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; rc && i < n; i++) {
        counted *x = row_of(t, row[i].model, row[i].kind, row[i].size);
        if (x) x->count += row[i].count, x->time_s += row[i].time_s;
    }
    pthread_mutex_unlock(&t->lock);
    free(row);
    return rc;
}

bool hn_traffic_tick(hn_traffic_count *t, double now_s, hone_err *why) {
    if (!t || now_s < t->written_s + interval_s) return true;
    t->written_s = now_s;
    bool failed = flush(t, why) != HONE_OK, first = failed && !t->failing;
    t->failing = failed;
    return !first;
}

void hn_traffic_close(hn_traffic_count *t) {
    if (!t) return;
    flush(t, NULL);
    pthread_mutex_destroy(&t->lock);
    for (size_t i = 0; i < t->n_model; i++) free(t->model[i].name);
    free(t->model);
    free(t);
}
