/* wire.c — requests and answers as bytes, and back. */
#include "serve/canary.h"

#include <stdlib.h>
#include <string.h>

/* --- values ------------------------------------------------------------------------------------------------------- */

void hn_put(hn_str *s, const void *data, size_t n) { hn_str_add_n(s, data, n); }
void hn_put_int(hn_str *s, int64_t x) { hn_put(s, &x, sizeof x); }
void hn_put_real(hn_str *s, double x) { hn_put(s, &x, sizeof x); }

void hn_put_bytes(hn_str *s, const void *data, size_t n) {
    hn_put_int(s, (int64_t)n);
    if (n) hn_put(s, data, n);
}

void hn_put_text(hn_str *s, const char *text) {
    hn_put_int(s, text != NULL);
    if (text) hn_put_bytes(s, text, strlen(text) + 1);
}

const void *hn_get(hn_wire_reader *r, size_t n) {
    if (r->failed || n > (size_t)(r->end - r->p)) {
        r->failed = true;
        return NULL;
    }
    const void *p = r->p;
    r->p += n;
    return p;
}

int64_t hn_get_int(hn_wire_reader *r) {
    int64_t x = 0;
    const void *p = hn_get(r, sizeof x);
    if (p) memcpy(&x, p, sizeof x);
    return x;
}

double hn_get_real(hn_wire_reader *r) {
    double x = 0;
    const void *p = hn_get(r, sizeof x);
    if (p) memcpy(&x, p, sizeof x);
    return x;
}

int64_t hn_get_count(hn_wire_reader *r, size_t size_b) {
    int64_t n = hn_get_int(r);
    if (n < 0 || (uint64_t)n > (uint64_t)(r->end - r->p) / (size_b ? size_b : 1)) r->failed = true;
    return r->failed ? 0 : n;
}

const void *hn_get_bytes(hn_wire_reader *r, size_t *n) {
    *n = (size_t)hn_get_count(r, 1);
    return hn_get(r, *n);
}

/* n: its bytes with the NUL behind it. */
static const char *get_text(hn_wire_reader *r, size_t *n) {
    if (!hn_get_int(r)) return NULL;
    const char *text = hn_get_bytes(r, n);
    if (!text || !*n || text[*n - 1]) {
        r->failed = true;
        return NULL;
    }
    return text;
}

const char *hn_get_text(hn_wire_reader *r) {
    size_t n;
    return get_text(r, &n);
}

/* A copy of n things, aligned; NULL: none, or failed. */
static void *get_list(hn_wire_reader *r, size_t size_b, size_t *n) {
    *n = (size_t)hn_get_count(r, size_b);
    const void *p = hn_get(r, *n * size_b);
    void *list = p ? malloc(*n * size_b + 1) : NULL;
    if (!list) r->failed = true;
    if (list && *n) memcpy(list, p, *n * size_b);
    return list;
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */

static bool size_of(const hone_array *a, size_t *size_b) {
    *size_b = hone_dtype_size_b(a->dtype);
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->dim[d] < 0 || __builtin_mul_overflow(*size_b, (size_t)a->dim[d], size_b)) return false;
    return true;
}

void hn_put_arrays(hn_str *s, const hone_array *a, size_t n) {
    hn_put_int(s, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        size_t size_b = 0;
        if (!size_of(&a[i], &size_b)) s->failed = true;
        hn_put_int(s, a[i].dtype);
        hn_put_int(s, a[i].rank);
        for (uint32_t d = 0; d < a[i].rank; d++) hn_put_int(s, a[i].dim[d]);
        hn_put_bytes(s, a[i].data, size_b);
    }
}

static bool get_array(hn_wire_reader *r, hone_array *a) {
    int64_t dtype = hn_get_int(r), rank = hn_get_int(r);
    size_t size_b = 0, n;
    if (r->failed || dtype < 0 || dtype >= HONE_N_DTYPES || rank < 0 || rank > HONE_RANK_MAX) return false;
    a->dtype = (hone_dtype)dtype;
    a->rank = (uint32_t)rank;
    for (uint32_t d = 0; d < a->rank; d++) a->dim[d] = hn_get_int(r);
    const void *data = hn_get_bytes(r, &n);
    if (r->failed || !size_of(a, &size_b) || size_b != n) return false;
    a->data = malloc(n ? n : 1);
    if (a->data && n) memcpy(a->data, data, n);
    return a->data != NULL;
}

bool hn_get_arrays(hn_wire_reader *r, hone_array **out, size_t *n) {
    *n = (size_t)hn_get_count(r, 3 * sizeof(int64_t));
    hone_array *a = r->failed ? NULL : calloc(*n + 1, sizeof *a);
    bool fine = a != NULL;
    for (size_t i = 0; fine && i < *n; i++) fine = get_array(r, &a[i]);
    if (!fine) {
        hn_arrays_free(a, a ? *n : 0);
        r->failed = true;
        *n = 0;
        return false;
    }
    *out = a;
    return true;
}

void hn_arrays_free(hone_array *a, size_t n) {
    for (size_t i = 0; i < n; i++) free(a[i].data);
    free(a);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void put_ask(hn_str *s, const hone_text_generate_options *o) {
    const double real[] = {o->temperature,       o->top_p,           o->min_p, o->typical_p, o->repeat_penalty,
                           o->frequency_penalty, o->presence_penalty};
    const int64_t whole[] = {o->max_tokens, o->top_k, o->penalty_window, (int64_t)o->seed, o->ignore_end, o->n_top};
    hn_put_int(s, (int64_t)o->n_prompt);
    hn_put_int(s, o->prompt != NULL);
    if (o->prompt) hn_put_bytes(s, o->prompt, (o->n_prompt ? o->n_prompt : strlen(o->prompt)) + 1);
    hn_put_bytes(s, o->token, o->n_token * sizeof *o->token);
    hn_put(s, real, sizeof real);
    hn_put(s, whole, sizeof whole);
    hn_put_text(s, o->grammar);
    hn_put_text(s, o->json_schema);
    hn_put_text(s, o->constraint_name);
    hn_put_int(s, (int64_t)o->n_stop_text);
    for (size_t i = 0; i < o->n_stop_text; i++) hn_put_text(s, o->stop_text[i]);
    hn_put_int(s, (int64_t)o->n_bias);
    if (o->n_bias) hn_put(s, o->bias, o->n_bias * sizeof *o->bias);
}

static bool get_stops(hn_wire_reader *r, hone_text_generate_options *o, hn_task_keep *keep) {
    o->n_stop_text = (size_t)hn_get_count(r, sizeof(int64_t));
    keep->stop = calloc(o->n_stop_text + 1, sizeof *keep->stop);
    for (size_t i = 0; keep->stop && i < o->n_stop_text; i++)
        if (!(keep->stop[i] = hn_get_text(r))) r->failed = true;
    o->stop_text = keep->stop;
    return keep->stop && !r->failed;
}

static bool get_ask(hn_wire_reader *r, hone_text_generate_options *o, hn_task_keep *keep) {
    double real[7] = {0};
    int64_t whole[6] = {0};
    size_t n_b = 0, n_text = 0;
    *o = hone_text_generate_defaults();
    o->n_prompt = (size_t)hn_get_int(r);
    o->prompt = get_text(r, &n_text);
    if (o->n_prompt && (!o->prompt || o->n_prompt != n_text - 1)) r->failed = true;
    keep->token = get_list(r, 1, &n_b);
    o->n_token = n_b / sizeof *o->token;
    o->token = o->n_token ? keep->token : NULL;
    const void *p = hn_get(r, sizeof real), *q = hn_get(r, sizeof whole);
    if (p) memcpy(real, p, sizeof real);
    if (q) memcpy(whole, q, sizeof whole);
    o->temperature = real[0], o->top_p = real[1], o->min_p = real[2], o->typical_p = real[3];
    o->repeat_penalty = real[4], o->frequency_penalty = real[5], o->presence_penalty = real[6];
    o->max_tokens = (uint32_t)whole[0], o->top_k = (int32_t)whole[1], o->penalty_window = (int32_t)whole[2];
    o->seed = (uint64_t)whole[3], o->ignore_end = whole[4] != 0, o->n_top = (uint32_t)whole[5];
    o->grammar = hn_get_text(r);
    o->json_schema = hn_get_text(r);
    o->constraint_name = hn_get_text(r);
    if (!get_stops(r, o, keep)) return false;
    keep->bias = get_list(r, sizeof *keep->bias, &o->n_bias);
    o->bias = keep->bias;
    return !r->failed && (o->prompt || o->token);
}

void hn_put_task(hn_str *s, const hn_task *j) {
    hn_put_int(s, j->in != NULL);
    if (j->in) {
        hn_put_arrays(s, j->in, j->n_in);
        hn_put_int(s, (int64_t)j->n_out);
        return;
    }
    put_ask(s, &j->ask);
    hn_put_int(s, j->stream);
    hn_put_int(s, j->want_logprobs);
}

bool hn_get_task(hn_wire_reader *r, hn_task *j, hn_task_keep *keep) {
    if (hn_get_int(r)) {
        if (!hn_get_arrays(r, &j->in, &j->n_in)) return false;
        int64_t n_out = hn_get_int(r);
        if (r->failed || n_out < 0 || n_out > 4096) return false;
        j->out = calloc((size_t)n_out + 1, sizeof *j->out);
        j->n_out = j->out ? (size_t)n_out : 0;
        return j->out != NULL;
    }
    if (!get_ask(r, &j->ask, keep)) return false;
    j->stream = hn_get_int(r) != 0;
    j->want_logprobs = hn_get_int(r) != 0;
    return !r->failed;
}

void hn_task_drop(hn_task *j, hn_task_keep *keep) {
    hn_arrays_free(j->in, j->n_in);
    hn_arrays_free(j->out, j->n_out);
    hone_text_answer_free(&j->answer);
    free(keep->stop);
    free(keep->bias);
    free(keep->token);
    *j = (hn_task){0};
    *keep = (hn_task_keep){0};
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

void hn_put_answer(hn_str *s, const hn_task *j) {
    const hone_text_answer *a = &j->answer;
    hn_put_int(s, j->in != NULL);
    if (j->in) {
        hn_put_arrays(s, j->out, j->n_out);
        return;
    }
    hn_put_bytes(s, a->text ? a->text : "", a->n_text);
    hn_put_bytes(s, a->token, a->n * sizeof *a->token);
    hn_put_bytes(s, a->logprob, a->n * sizeof *a->logprob);
    hn_put_bytes(s, a->top, a->n * a->n_top * sizeof *a->top);
    hn_put_int(s, a->n_top);
    hn_put_int(s, (int64_t)a->n_prompt);
    hn_put_int(s, a->end);
    hn_put_int(s, (int64_t)j->n_told);
    hn_put_int(s, (int64_t)j->n_found);
}

static bool get_text_answer(hn_wire_reader *r, hn_task *j) {
    hone_text_answer a = {0};
    size_t n_token = 0, n_logprob = 0, n_top = 0;
    a.text = get_list(r, 1, &a.n_text);
    a.token = get_list(r, 1, &n_token);
    a.logprob = get_list(r, 1, &n_logprob);
    a.top = get_list(r, 1, &n_top);
    int64_t top = hn_get_int(r), prompt = hn_get_int(r), end = hn_get_int(r), told = hn_get_int(r),
            found = hn_get_int(r);
    a.n = n_token / sizeof *a.token;
    bool fine = !r->failed && n_logprob == a.n * sizeof *a.logprob && top >= 0 && top < 1000 &&
                n_top == a.n * (size_t)top * sizeof *a.top && prompt >= 0 && end >= 0 && end <= HONE_TEXT_GRAMMAR &&
                told >= 0 && (size_t)told <= a.n && found >= 0;
    if (!fine) {
        hone_text_answer_free(&a);
        return false;
    }
    a.text[a.n_text] = 0; /* get_list has room for it */
    a.n_top = (uint32_t)top;
    a.n_prompt = (size_t)prompt;
    a.end = (hone_text_end)end;
    j->answer = a;
    j->n_told = (size_t)told;
    j->n_found = (size_t)found;
    return true;
}

bool hn_get_answer(hn_wire_reader *r, hn_task *j) {
    hone_array *out = NULL;
    size_t n = 0;
    if (!hn_get_int(r)) return !j->in && get_text_answer(r, j);
    if (!j->in || !hn_get_arrays(r, &out, &n)) return false;
    if (n != j->n_out) {
        hn_arrays_free(out, n);
        return false;
    }
    memcpy(j->out, out, n * sizeof *out);
    free(out);
    return true;
}

/* --- a trial ------------------------------------------------------------------------------------------------------ */

void hn_put_plan(hn_str *s, const hn_canary_plan *p) {
    hn_put_text(s, p->now);
    hn_put_text(s, p->next);
    hn_put_text(s, p->cache);
    hn_put_real(s, p->tolerance);
    hn_put_int(s, p->n_threads);
    hn_put_int(s, p->context);
    hn_put_int(s, p->exact);
    hn_put_int(s, p->no_parity);
}

bool hn_get_plan(hn_wire_reader *r, hn_canary_plan *p) {
    p->now = hn_get_text(r);
    p->next = hn_get_text(r);
    p->cache = hn_get_text(r);
    p->tolerance = hn_get_real(r);
    p->n_threads = (uint32_t)hn_get_int(r);
    p->context = hn_get_int(r);
    p->exact = hn_get_int(r) != 0;
    p->no_parity = hn_get_int(r) != 0;
    return !r->failed && p->now && p->next;
}

void hn_put_sample(hn_str *s, const hn_wire_sample *x) {
    hn_put_int(s, x->rc_now);
    hn_put_int(s, x->rc_next);
    hn_put_int(s, x->runs);
    hn_put_real(s, x->now_s);
    hn_put_real(s, x->next_s);
    hn_put_int(s, x->compared);
    hn_put_int(s, x->elements);
    hn_put_int(s, x->differing);
    hn_put_text(s, x->text);
}

bool hn_get_sample(hn_wire_reader *r, hn_wire_sample *x) {
    x->rc_now = hn_get_int(r);
    x->rc_next = hn_get_int(r);
    x->runs = hn_get_int(r);
    x->now_s = hn_get_real(r);
    x->next_s = hn_get_real(r);
    x->compared = hn_get_int(r);
    x->elements = hn_get_int(r);
    x->differing = hn_get_int(r);
    x->text = hn_get_text(r);
    return !r->failed && x->text && x->runs > 0 && x->runs < 1 << 20 && x->now_s >= 0 && x->next_s >= 0 &&
           x->compared >= 0 && x->elements >= 0 && x->differing >= 0 && x->differing <= x->compared;
}
