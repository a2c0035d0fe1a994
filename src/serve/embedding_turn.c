/* embedding_turn.c — vectors of texts: one at a time, a step behind each step of the answers. */
#include "base/err.h"
#include "language/language_int.h"
#include "serve/engine.h"

#include <stdlib.h>
#include <string.h>

void hn_embedding_begin(hn_runner *e, hn_served *m, hn_task *j) {
    size_t n = 0;
    hn_runner_begun(e, j);
    j->rc = hn_prompt_of(m->text, &j->ask, &j->token, &n, &j->why);
    j->answer.n_prompt = n;
    m->embedding[m->n_embedding++] = j;
    if (!j->rc && !(j->vector = malloc(hone_text_width(m->text) * sizeof *j->vector)))
        j->rc = hn_fail(&j->why, HONE_E_NOMEM, "out of memory");
    if (!j->rc) j->rc = hn_embedding_open(m->text, j->token, n, j->pooling, &j->embedding, &j->why);
    if (j->rc) hn_embedding_end(e, m, m->n_embedding - 1);
}

void hn_embedding_end(hn_runner *e, hn_served *m, size_t at) {
    hn_task *j = m->embedding[at];
    m->n_embedding--;
    m->embedding_waits = false;
    memmove(&m->embedding[at], &m->embedding[at + 1], (m->n_embedding - at) * sizeof *m->embedding);
    if (!j->rc) hn_embedding_take(j->embedding, j->vector);
    hn_embedding_close(j->embedding);
    j->embedding = NULL;
    free(j->token);
    j->token = NULL;
    pthread_mutex_lock(&m->figures->lock);
    if (!j->rc) m->figures->prompt_tokens += j->answer.n_prompt;
    pthread_mutex_unlock(&m->figures->lock);
    hn_runner_finish(e, m, j);
}

/* Blocks that answers under way have are not taken from them: it waits, and new answers wait with it. */
static bool has_room(hn_served *m, const hn_task *j) {
    bool waits = m->n_running > 0 && !hn_embedding_fits(j->embedding), newly = waits && !m->embedding_waits;
    m->embedding_waits = waits;
    pthread_mutex_lock(&m->figures->lock);
    m->figures->preempted += newly;
    pthread_mutex_unlock(&m->figures->lock);
    return !waits;
}

void hn_embedding_turn(hn_runner *e, hn_served *m) {
    if (!m->n_embedding) return;
    hn_task *j = m->embedding[0];
    if (!has_room(m, j)) return;
    j->rc = hn_embedding_step(j->embedding, &j->why);
    if (hn_served_lost(m)) return;
    if (j->rc || hn_embedding_over(j->embedding)) hn_embedding_end(e, m, 0);
}
