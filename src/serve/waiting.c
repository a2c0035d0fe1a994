/* waiting.c — jobs that wait: a list in the order they came, looked through for each choice. */
#include "serve/waiting.h"

#include <stddef.h>

void hn_waiting_add(hn_waiting *w, hn_task *j) {
    j->next = NULL;
    if (w->last)
        w->last->next = j;
    else
        w->first = j;
    w->last = j;
    w->n++;
}

static void take_out(hn_waiting *w, hn_task *j) {
    hn_task **at = &w->first, *before = NULL;
    for (; *at != j; at = &(*at)->next) before = *at;
    *at = j->next;
    if (w->last == j) w->last = before;
    j->next = NULL;
    w->n--;
}

static uint64_t served(const hn_waiting *w, uint64_t client) {
    for (size_t i = 0; i < HN_TURNS; i++)
        if (w->turn[i].served && w->turn[i].client == client) return w->turn[i].served;
    return 0;
}

static void note(hn_waiting *w, uint64_t client) {
    hn_turn *oldest = w->turn;
    for (size_t i = 0; i < HN_TURNS; i++) {
        hn_turn *t = &w->turn[i];
        if (t->served && t->client == client) {
            oldest = t;
            break;
        }
        if (t->served < oldest->served) oldest = t;
    }
    *oldest = (hn_turn){client, ++w->clock};
}

static bool may_go(const hn_task *j) { return !j->first || j->first->prompt_done || j->first->ended; }

hn_task *hn_waiting_next(hn_waiting *w) {
    hn_task *best = NULL;
    uint64_t turn = 0;
    for (hn_task *j = w->first; j; j = j->next) {
        if (!may_go(j)) continue;
        uint64_t s = served(w, j->client);
        if (best && (j->priority > best->priority || (j->priority == best->priority && s >= turn))) continue;
        best = j;
        turn = s;
    }
    if (!best) return NULL;
    take_out(w, best);
    note(w, best->client);
    return best;
}

hn_task *hn_waiting_late(hn_waiting *w, double now_s) {
    for (hn_task *j = w->first; j; j = j->next) {
        if (!atomic_load(&j->gone) && !(j->deadline_s > 0 && now_s > j->deadline_s)) continue;
        take_out(w, j);
        return j;
    }
    return NULL;
}
