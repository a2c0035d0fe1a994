/* tensor_turn.c — one run of a model of arrays: for one request, or for several whose rows are joined. */
#include "base/clock.h"
#include "base/err.h"
#include "serve/engine.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of(const hone_array *a) {
    size_t n = hone_dtype_size_b(a->dtype);
    for (uint32_t d = 0; d < a->rank; d++) n *= (size_t)a->dim[d];
    return n;
}

static bool alike(const hn_task *a, const hn_task *b) {
    for (size_t i = 0; i < a->n_in; i++) {
        const hone_array *x = &a->in[i], *y = &b->in[i];
        if (x->dtype != y->dtype || x->rank != y->rank) return false;
        for (uint32_t d = 1; d < x->rank; d++)
            if (x->dim[d] != y->dim[d]) return false;
    }
    return true;
}

static void run_alone(hn_served *m, hn_task *j) {
    j->rc = hone_artifact_run(m->library, j->in, j->n_in, j->out, j->n_out, &j->why);
}

/* Rows of all jobs behind each other; *data of each is the caller's to free. */
static hone_rc join(hn_task *const *job, size_t n, int64_t rows, hone_array *in, hone_err *err) {
    for (size_t i = 0; i < job[0]->n_in; i++) {
        in[i] = job[0]->in[i];
        in[i].dim[0] = rows;
        size_t at = 0, size_b = size_of(&in[i]);
        char *data = in[i].data = malloc(size_b ? size_b : 1);
        if (!data) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        for (size_t k = 0; k < n; k++) {
            size_t some = size_of(&job[k]->in[i]);
            memcpy(data + at, job[k]->in[i].data, some);
            at += some;
        }
    }
    return HONE_OK;
}

/* False: an output has not as many rows as went in. */
static bool part(const hone_array *out, hn_task *const *job, size_t n, int64_t rows) {
    for (size_t i = 0; i < job[0]->n_out; i++)
        if (out[i].rank < 1 || out[i].dim[0] != rows) return false;
    for (size_t i = 0; i < job[0]->n_out; i++) {
        const char *from = out[i].data;
        for (size_t k = 0; k < n; k++) {
            hone_array *to = &job[k]->out[i];
            *to = out[i];
            to->dim[0] = job[k]->rows;
            size_t some = size_of(to);
            to->data = malloc(some ? some : 1);
            if (to->data)
                memcpy(to->data, from, some);
            else
                job[k]->rc = hn_fail(&job[k]->why, HONE_E_NOMEM, "out of memory for the outputs");
            from += some;
        }
    }
    return true;
}

/* A run for all; where it fails each runs alone, so that one's bad values are its own. */
static void run_joined(hn_served *m, hn_task *const *job, size_t n, int64_t rows) {
    hone_array *in = calloc(job[0]->n_in + job[0]->n_out + 1, sizeof *in), *out = in + job[0]->n_in;
    bool fine = in && !join(job, n, rows, in, NULL) &&
                !hone_artifact_run(m->library, in, job[0]->n_in, out, job[0]->n_out, NULL);
    if (fine) {
        fine = part(out, job, n, rows);
        for (size_t i = 0; i < job[0]->n_out; i++) hone_free(out[i].data);
    }
    for (size_t i = 0; in && i < job[0]->n_in; i++) free(in[i].data);
    free(in);
    for (size_t k = 0; !fine && k < n; k++) run_alone(m, job[k]);
}

static void send_away(hn_runner *e, hn_served *m) {
    double now_s = hn_now_s();
    for (hn_task *j; (j = hn_waiting_late(&m->waiting, now_s));) {
        hn_task_late(j, now_s);
        hn_runner_finish(e, m, j);
    }
    for (size_t i = m->n_running; i-- > 0;) {
        hn_task *j = m->running[i];
        if (!hn_task_late(j, now_s)) continue;
        memmove(&m->running[i], &m->running[i + 1], (m->n_running - i - 1) * sizeof *m->running);
        m->n_running--;
        hn_runner_finish(e, m, j);
    }
}

/* Those that go into the next run, taken out of m->running; 0: it is worth waiting for more until *due_s. */
static size_t gather(const hn_runner *e, hn_served *m, hn_task **job, int64_t *rows, double *due_s) {
    size_t n = 0, kept = 0;
    int64_t most = e->o->max_batch;
    hn_task *head = m->running[0];
    bool alone = !m->joins || !(e->o->batch_delay_s > 0) || head->rows < 1;
    bool in[HN_AT_ONCE] = {false};
    *rows = 0;
    for (size_t i = 0; i < m->n_running; i++) {
        hn_task *j = m->running[i];
        if (i && (alone || j->rows < 1 || *rows + j->rows > most || !alike(head, j))) continue;
        in[i] = true;
        *rows += j->rows;
    }
    double due = head->arrived_s + e->o->batch_delay_s;
    if (!alone && *rows < most && hn_now_s() < due) {
        if (due < *due_s) *due_s = due;
        return 0;
    }
    for (size_t i = 0; i < m->n_running; i++) {
        if (in[i])
            job[n++] = m->running[i];
        else
            m->running[kept++] = m->running[i];
    }
    m->n_running = kept;
    return n;
}

static void fail_all(const hn_served *m, hn_task **job, size_t n) {
    for (size_t i = 0; i < n; i++) job[i]->rc = hn_fail(&job[i]->why, HONE_E_FAILED, "%s", m->why.text);
}

bool hn_tensor_turn(hn_runner *e, hn_served *m, double *due_s) {
    hn_task *job[HN_AT_ONCE], *j;
    int64_t rows;
    send_away(e, m);
    while (m->n_running < HN_AT_ONCE && (j = hn_waiting_next(&m->waiting))) {
        hn_runner_begun(e, j);
        m->running[m->n_running++] = j;
    }
    size_t n = m->n_running ? gather(e, m, job, &rows, due_s) : 0;
    pthread_mutex_lock(&m->figures->lock);
    m->figures->waiting = m->waiting.n + m->n_running;
    m->figures->running = n;
    if (n) {
        m->figures->steps++;
        hn_histogram_add(&m->figures->batch, hn_bounds_batch, (double)n);
    }
    pthread_mutex_unlock(&m->figures->lock);
    double began_s = hn_now_s();
    if (n == 1) run_alone(m, job[0]);
    if (n > 1) run_joined(m, job, n, rows);
    if (n && !job[0]->rc)
        hn_traffic_run(e->traffic, m->name, m->model, job[0]->in, job[0]->n_in, n > 1 ? rows : 0, hn_now_s() - began_s);
    if (n && hn_served_lost(m)) fail_all(m, job, n);
    for (size_t i = 0; i < n; i++) hn_runner_finish(e, m, job[i]);
    return atomic_load(&m->broken) || (n && (m->n_running || m->waiting.n));
}
