/* rollout/traffic_plan.c — from counts to sizes worth tuning for. Arithmetic alone. */
#include "base/err.h"
#include "base/locale.h"

#include <hone/traffic.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOT_MOST = HONE_TRAFFIC_PARTS - 1 };
static const double hot_share = 0.1, rest_share = 0.05;

static bool is_of(const hone_traffic_row *row, const char *kind) { return !strcmp(row->kind, kind); }

static double time_of(const hone_traffic_row *row, size_t n, const char *kind) {
    double s = 0;
    for (size_t i = 0; i < n; i++)
        if (is_of(&row[i], kind)) s += row[i].time_s;
    return s;
}

static double count_of(const hone_traffic_row *row, size_t n, const char *kind) {
    double s = 0;
    for (size_t i = 0; i < n; i++)
        if (is_of(&row[i], kind)) s += row[i].count;
    return s;
}

/* --- models of tensors ----------------------------------------------------------------------------------------------
 */

static int by_time(const void *a, const void *b) {
    const hone_traffic_row *x = *(const hone_traffic_row *const *)a, *y = *(const hone_traffic_row *const *)b;
    if (x->time_s != y->time_s) return x->time_s < y->time_s ? 1 : -1;
    return strcmp(x->size, y->size);
}

static void add_part(hone_traffic_plan *p, const char *sizes, const char *also, double share, bool hot) {
    hone_traffic_part *x = &p->part[p->n++];
    *x = (hone_traffic_part){.share = share, .hot = hot};
    snprintf(x->sizes, sizeof x->sizes, "%s", sizes);
    snprintf(x->also, sizeof x->also, "%s", also);
}

/* Sizes of a tenth of the time and more; then what is left, at its most asked size. */
static hone_rc plan_runs(const hone_traffic_row *row, size_t n, hone_traffic_plan *p, hone_err *err) {
    const hone_traffic_row **run = malloc((n + 1) * sizeof *run);
    size_t n_run = 0, i = 0;
    double left = 1;
    if (!run) return hn_fail(err, HONE_E_NOMEM, "out of memory planning");
    for (size_t k = 0; k < n; k++)
        if (is_of(&row[k], "run") && strcmp(row[k].size, "other") != 0) run[n_run++] = &row[k];
    qsort(run, n_run, sizeof *run, by_time);
    for (; i < n_run && p->n < HOT_MOST && run[i]->time_s >= hot_share * p->time_s; i++) {
        double share = run[i]->time_s / p->time_s;
        add_part(p, run[i]->size, "", share, *run[i]->size != 0);
        left -= share;
    }
    if (i < n_run && (left > rest_share || !p->n)) add_part(p, run[i]->size, "", left, false);
    double sum = 0;
    for (size_t k = 0; k < p->n; k++) sum += p->part[k].share;
    for (size_t k = 0; k < p->n; k++) p->part[k].share /= sum;
    free(run);
    return p->n ? HONE_OK : hn_fail(err, HONE_E_EMPTY, "no run was counted");
}

/* --- language models ------------------------------------------------------------------------------------------------
 */

typedef struct weighed {
    double size, weight;
} weighed;
static int by_size(const void *a, const void *b) {
    double x = ((const weighed *)a)->size, y = ((const weighed *)b)->size;
    return (x > y) - (x < y);
}

/* Median of the sizes of a kind, by time where there is one, else by count; usual where there are none. */
static long middle(const hone_traffic_row *row, size_t n, const char *kind, weighed *room, long usual) {
    size_t k = 0;
    double all = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double size = hn_strtod(row[i].size, NULL), weight = row[i].time_s > 0 ? row[i].time_s : row[i].count;
        if (!is_of(&row[i], kind) || !(size >= 1) || !(size < 1e9) || !(weight > 0)) continue;
        room[k++] = (weighed){size, weight};
        all += weight;
    }
    qsort(room, k, sizeof *room, by_size);
    for (size_t i = 0; i < k; i++)
        if ((sum += room[i].weight) >= all / 2) return (long)room[i].size;
    return usual;
}

static hone_rc plan_steps(const hone_traffic_row *row, size_t n, hone_traffic_plan *p, hone_err *err) {
    char decode[96], prefill[96];
    weighed *room = malloc((n + 1) * sizeof *room);
    if (!room) return hn_fail(err, HONE_E_NOMEM, "out of memory planning");
    long rows = middle(row, n, "decode", room, 1), tokens = middle(row, n, "prefill", room, 128);
    long past = middle(row, n, "prompt", room, 128) + middle(row, n, "answer", room, 0) / 2;
    double share = time_of(row, n, "decode") / p->time_s;
    free(room);
    snprintf(decode, sizeof decode, "tokens=%ld,past=%ld,wanted=%ld", rows, past, rows);
    snprintf(prefill, sizeof prefill, "tokens=%ld,past=0,wanted=1", tokens);
    if (share >= 1 - hot_share)
        add_part(p, decode, prefill, 1, false);
    else if (share <= hot_share)
        add_part(p, prefill, decode, 1, false);
    else {
        bool first = share >= 0.5;
        add_part(p, first ? decode : prefill, first ? prefill : decode, first ? share : 1 - share, false);
        add_part(p, first ? prefill : decode, first ? decode : prefill, first ? 1 - share : share, false);
    }
    return HONE_OK;
}

hone_rc hone_traffic_plan_make(const hone_traffic_row *row, size_t n, hone_traffic_plan *out, hone_err *err) {
    double runs_s = time_of(row, n, "run"), steps_s = time_of(row, n, "decode") + time_of(row, n, "prefill");
    hone_traffic_plan p = {.language = steps_s > 0, .time_s = steps_s > 0 ? steps_s : runs_s};
    p.count = p.language ? count_of(row, n, "decode") + count_of(row, n, "prefill") : count_of(row, n, "run");
    if (!(p.time_s > 0)) return hn_fail(err, HONE_E_EMPTY, "no run was counted, so nothing says what to tune for");
    hone_rc rc = p.language ? plan_steps(row, n, &p, err) : plan_runs(row, n, &p, err);
    if (!rc) *out = p;
    return rc;
}
