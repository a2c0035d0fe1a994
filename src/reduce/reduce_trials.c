/* reduce/reduce_trials.c — what was measured of each subset, and sequential comparisons with the whole. */
#include "base/err.h"
#include "reduce/reduce_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard errors at which a comparison is clear before its last look. */
static const double clear_yes = 1.5, clear_no = 2.8;
/* Values further out than this many standard deviations are clipped (one step of Huber's estimate, 1964). */
static const double outlier_sigma = 2.5;

bool *hn_copy_keep(hn_arena *a, const bool *keep, size_t n) {
    bool *copy = HN_NEW_N(a, bool, n + 1);
    if (copy && n) memcpy(copy, keep, n * sizeof *copy);
    return copy;
}

static void drop_orphans(const hn_reduce_lab *lab, bool *keep) {
    for (size_t i = 0; lab->parent && i < lab->n; i++)
        if (lab->parent[i] != SIZE_MAX && !keep[lab->parent[i]]) keep[i] = false;
}

/* Pointers to records stay valid: only the array of pointers moves. */
hone_rc hn_subset_of(hn_trials *t, const bool *keep, hn_subset **out, hone_err *err) {
    hn_subset *s = HN_NEW(t->arena, hn_subset);
    if (s) s->keep = hn_copy_keep(t->arena, keep, t->lab->n);
    if (!s || !s->keep) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    drop_orphans(t->lab, s->keep);
    for (size_t i = 0; i < t->n; i++)
        if (!memcmp(t->subset[i]->keep, s->keep, t->lab->n * sizeof *keep)) {
            *out = t->subset[i];
            return HONE_OK;
        }
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 64;
        hn_subset **grown = HN_NEW_N(t->arena, hn_subset *, room);
        if (!grown) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (t->n) memcpy(grown, t->subset, t->n * sizeof *grown);
        t->subset = grown;
        t->room = room;
    }
    *out = t->subset[t->n++] = s;
    return HONE_OK;
}

static hone_rc make_room(hn_trials *t, hn_subset *s, size_t n, hone_err *err) {
    if (n <= s->room) return HONE_OK;
    double *gain = HN_NEW_N(t->arena, double, n * t->lab->n_gains);
    if (!gain) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (s->n) memcpy(gain, s->gain, s->n * t->lab->n_gains * sizeof *gain);
    s->gain = gain;
    s->room = n;
    return HONE_OK;
}

hone_rc hn_measure_up_to(hn_trials *t, hn_subset *s, size_t n, hone_err *err) {
    if (t->lab->steady) n = 1;
    double most = (1 - t->reserve) * (double)t->most;
    if (n > s->n && (double)(t->n_measured + (n - s->n)) > most) t->over = true;
    if (n <= s->n || s->fails || t->over) return HONE_OK;
    hone_rc rc = make_room(t, s, n, err);
    bool works = true;
    size_t count = n - s->n;
    if (!rc) rc = t->lab->measure(t->lab->ctx, s->keep, count, s->gain + s->n * t->lab->n_gains, &works, err);
    if (rc) return rc;
    s->fails = !works;
    if (works) s->n = n;
    t->n_measured += count;
    if (t->lab->time_left && t->lab->time_left(t->lab->ctx, t->n_measured) <= t->reserve) t->over = true;
    return HONE_OK;
}

hone_rc hn_identify(hn_trials *t, hn_subset *const *s, size_t k, hone_err *err) {
    if (!t->lab->identify || k == 0) return HONE_OK;
    bool *keep = calloc(k * t->lab->n + 1, sizeof *keep);
    uint64_t *key = calloc(k, sizeof *key);
    size_t *which = calloc(k, sizeof *which), n = 0;
    hone_rc rc = keep && key && which ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < k; i++) {
        if (s[i]->identified) continue;
        memcpy(keep + n * t->lab->n, s[i]->keep, t->lab->n * sizeof *keep);
        which[n++] = i;
    }
    if (!rc && n) rc = t->lab->identify(t->lab->ctx, keep, n, key, err);
    for (size_t i = 0; !rc && i < n; i++) {
        hn_subset *x = s[which[i]];
        x->identified = true;
        x->key = key[i];
        x->fails |= key[i] == 0;
    }
    free(keep);
    free(key);
    free(which);
    return rc;
}

/* --- estimates -----------------------------------------------------------------------------------------------------
 */

static double value(const hn_trials *t, const hn_subset *s, size_t i, size_t k) {
    return s->gain[i * t->lab->n_gains + k];
}

static double median_of(const hn_trials *t, const hn_subset *s, size_t k) {
    double few[64] = {0}, *x = s->n <= 64 ? few : malloc(s->n * sizeof *x);
    if (!x) return NAN;
    for (size_t i = 0; i < s->n; i++) x[i] = value(t, s, i, k);
    double m = hone_stat_median(x, s->n);
    if (x != few) free(x);
    return m;
}

/* Sum of squared deviations from the median, each clipped to the limit. */
static double squares(const hn_trials *t, const hn_subset *s, size_t k, double limit) {
    double m = median_of(t, s, k), sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        double d = fmin(fabs(value(t, s, i, k) - m), limit);
        sum += d * d;
    }
    return sum;
}

static size_t n_deviations(const hn_trials *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) n += t->subset[i]->n >= 4 ? t->subset[i]->n : 0;
    return n;
}

/* Median of the absolute deviations, scaled to a standard deviation: no outlier moves it far. */
static double rough_noise(const hn_trials *t, size_t k) {
    size_t n = 0;
    double *d = malloc((n_deviations(t) + 1) * sizeof *d);
    for (size_t i = 0; d && i < t->n; i++) {
        const hn_subset *s = t->subset[i];
        double m = s->n >= 4 ? median_of(t, s, k) : 0;
        for (size_t r = 0; s->n >= 4 && r < s->n; r++) d[n++] = fabs(value(t, s, r, k) - m);
    }
    double mad = n ? 1.4826 * hone_stat_median(d, n) : 0;
    free(d);
    return mad;
}

/* Standard deviation of one measurement, pooled over all subsets, with outliers clipped. */
static double noise(const hn_trials *t, size_t k) {
    double rough = rough_noise(t, k), sum = 0;
    size_t freedom = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->subset[i]->n < 4) continue;
        sum += squares(t, t->subset[i], k, rough > 0 ? 3 * rough : INFINITY);
        freedom += t->subset[i]->n - 1;
    }
    return freedom ? sqrt(sum / (double)freedom) : 0;
}

static double center(const hn_trials *t, const hn_subset *s, size_t k, double sigma) {
    double m = median_of(t, s, k), sum = 0, far = outlier_sigma * sigma;
    if (s->n < 3) far = INFINITY;
    for (size_t i = 0; i < s->n; i++) sum += fmin(fmax(value(t, s, i, k), m - far), m + far);
    return s->n ? sum / (double)s->n : NAN;
}

double hn_center(const hn_trials *t, const hn_subset *s, size_t k) { return center(t, s, k, noise(t, k)); }

/* The subset's own spread if it was measured often enough, else the pooled one. */
static double own_noise(const hn_trials *t, const hn_subset *s, size_t k, double pooled) {
    if (s->n < 8) return pooled;
    return sqrt(squares(t, s, k, 3 * pooled) / (double)(s->n - 1));
}

hone_interval hn_gain_interval(const hn_trials *t, const hn_subset *s, size_t k) {
    double sigma = noise(t, k), mid = center(t, s, k, sigma);
    if (t->lab->steady) return (hone_interval){mid, mid, mid};
    if (s->n < 2) return (hone_interval){-INFINITY, mid, INFINITY};
    double half = hone_stat_t_quantile(0.975, (double)(s->n - 1)) * own_noise(t, s, k, sigma) / sqrt((double)s->n);
    return (hone_interval){mid - half, mid, mid + half};
}

hone_interval hn_loss_interval(const hn_trials *t, const hn_subset *a, const hn_subset *b) {
    double sigma = noise(t, 0), mid = center(t, a, 0, sigma) - center(t, b, 0, sigma);
    if (t->lab->steady) return (hone_interval){mid, mid, mid};
    if (a->n < 2 || b->n < 2) return (hone_interval){-INFINITY, mid, INFINITY};
    double s_a = own_noise(t, a, 0, sigma), s_b = own_noise(t, b, 0, sigma);
    double v = s_a * s_a / (double)a->n + s_b * s_b / (double)b->n;
    double half = hone_stat_t_quantile(0.975, (double)(a->n < b->n ? a->n : b->n) - 1) * sqrt(v);
    return (hone_interval){mid - half, mid, mid + half};
}

/* --- comparison with the whole ---------------------------------------------------------------------------------------
 */

/* 1: holds clearly, -1: does not, clearly, 0: not clear. *mid: the answer by the estimate alone. */
static int compare(const hn_trials *t, const hn_subset *s, bool *mid) {
    int verdict = 1;
    *mid = true;
    for (size_t k = 0; k < t->lab->n_gains; k++) {
        double sigma = noise(t, k), loss = center(t, t->whole, k, sigma) - center(t, s, k, sigma);
        double error = sigma * sqrt(1 / (double)s->n + 1 / (double)t->whole->n), over = loss - t->tolerance[k];
        *mid = *mid && over <= 0;
        if (!(over <= clear_no * error)) return -1; /* also what is not a number, for want of memory */
        if (over > -clear_yes * error) verdict = 0;
    }
    return verdict;
}

/* The answer to an equal program, 0 when there is none. A subset that was refused may be tested again, as the whole has
 * been measured more precisely since. */
static int known_verdict(const hn_trials *t, const hn_subset *s) {
    if (!s->identified || !s->key) return 0;
    if (t->whole->identified && s->key == t->whole->key) return 1;
    for (size_t i = 0; i < t->n; i++) {
        const hn_subset *x = t->subset[i];
        if (x != s && x->verdict && x->key == s->key) return x->verdict;
    }
    return 0;
}

static hone_rc compare_in_steps(hn_trials *t, hn_subset *s, size_t most, bool *yes, hone_err *err) {
    static const size_t look[] = {4, 6, 8, 12, 16, 24, 32, 48, 64};
    bool mid = false;
    for (size_t i = 0; i < sizeof look / sizeof *look && look[i] <= most; i++) {
        hone_rc rc = hn_measure_up_to(t, s, look[i], err);
        if (!rc) rc = hn_measure_up_to(t, t->whole, look[i], err);
        if (rc) return rc;
        if (s->fails || !s->n || t->over) return HONE_OK; /* not shown to hold */
        if (s->n > look[i]) continue;                     /* was compared before with more rows */
        int verdict = compare(t, s, &mid);
        if (verdict || t->lab->steady) {
            *yes = verdict > 0 || (verdict == 0 && mid);
            return HONE_OK;
        }
    }
    compare(t, s, &mid);
    *yes = mid;
    return HONE_OK;
}

hone_rc hn_holds(hn_trials *t, hn_subset *s, size_t most, bool *yes, hone_err *err) {
    *yes = s == t->whole;
    if (*yes) return HONE_OK;
    hone_rc rc = hn_identify(t, &s, 1, err);
    if (rc || s->fails) return rc;
    int known = s->verdict > 0 ? 1 : known_verdict(t, s);
    *yes = known > 0;
    if (known) return HONE_OK;
    rc = compare_in_steps(t, s, most, yes, err);
    if (!rc && !t->over) s->verdict = *yes ? 1 : -1;
    return rc;
}
