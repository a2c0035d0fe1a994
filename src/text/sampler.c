/* sampler.c — filters and a draw over candidates sorted by logit.
 *
 * That is the definition, and the plain way, which sorts all tokens. The quick way sorts next to nothing: sums over the
 * tokens in any order say which part of them holds the one that is looked for (quickselect, by weight). Sums in another
 * order differ by rounding; where a comparison is nearer than that can make (`margin`), the plain way decides. So both
 * give the same tokens, always. */
#include "text/sampler.h"
#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct choice {
    double logit, p;
    int32_t token;
} choice;

struct hn_sampler {
    hn_sampling o;
    size_t n;
    hn_bias *bias;
    choice *list; /* room for all tokens */
    double *x;    /* their logits with bias and penalties; -infinity: may not come */
    uint64_t n_sorted;
    int32_t *past; /* tokens so far */
    size_t n_past, room;
    uint32_t *seen; /* by token: how often within the window */
    double mu;      /* mirostat's target of surprise */
    uint64_t draws;
};

/* --- an exponential that is the same everywhere ------------------------------------------------------------------- */

typedef double four __attribute__((vector_size(32)));
typedef int64_t four_i __attribute__((vector_size(32)));

/* e^x for x <= 0: x = k ln 2 + r, a polynomial of degree 13 in r (error below 2^-50), scaled by 2^k; 0 below -700. k is
 * the nearest whole number: adding 1.5 * 2^52 rounds. Additions and multiplications alone, so that no C library can
 * differ, and four numbers at a time. */
static inline __attribute__((always_inline)) void exp_of_four(four *at) {
    static const double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45, whole = 0x1.8p52;
    static const double part[] = {
        1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
        1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1,           1};
    four x = *at;
    four_i in = x > -700.0;
    x = (four)((four_i)x & in);
    four t = x * 0x1.71547652b82fep0 + whole, k = t - whole, r = (x - k * ln2_high) - k * ln2_low;
    four sum = part[0] - (four){0};
    _Pragma("GCC unroll 16") for (size_t i = 1; i < sizeof part / sizeof *part; i++) sum = sum * r + part[i];
    *at = (four)(((four_i)sum + ((four_i)t << 52)) & in);
}

static double exp_of(double x) {
    four all = {x, x, x, x};
    exp_of_four(&all);
    return all[0];
}

/* ln x of a normal x > 0: the series of artanh on the mantissa within [1/sqrt 2, sqrt 2). */
static double log_of(double x) {
    int e;
    double m = frexp(x, &e), s, square, sum = 0, power;
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        e--;
    }
    s = (m - 1) / (m + 1);
    square = s * s;
    power = s;
    for (int i = 1; i < 40; i += 2, power *= square) sum += power / i;
    return 2 * sum + e * 0x1.62e42fefa39efp-1;
}

/* The largest logit; what is no number is left out. */
static float largest(const float *logits, size_t n) {
    typedef float quad __attribute__((vector_size(16)));
    typedef int32_t quad_i __attribute__((vector_size(16)));
    quad most = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    size_t i = 0;
    for (quad x; i + 4 <= n; i += 4) {
        memcpy(&x, logits + i, sizeof x);
        quad_i more = x > most;
        most = (quad)(((quad_i)x & more) | ((quad_i)most & ~more));
    }
    float top = -INFINITY;
    for (int k = 0; k < 4; k++) top = most[k] > top ? most[k] : top;
    for (; i < n; i++) top = logits[i] > top ? logits[i] : top;
    return top;
}

/* The sum of exp(logit - top): eight sums, of every eighth token, which are added up by halves. */
static double partition(const float *logits, size_t n, double *top) {
    float most = largest(logits, n);
    four sum[2] = {{0}, {0}};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const float *l = logits + i;
        four a = {(double)l[0], (double)l[1], (double)l[2], (double)l[3]},
             b = {(double)l[4], (double)l[5], (double)l[6], (double)l[7]};
        a -= (double)most, b -= (double)most;
        exp_of_four(&a);
        exp_of_four(&b);
        sum[0] += a, sum[1] += b;
    }
    for (; i < n; i++) sum[i / 4 % 2][i % 4] += exp_of((double)logits[i] - (double)most);
    *top = (double)most;
    sum[0] += sum[1];
    return (sum[0][0] + sum[0][2]) + (sum[0][1] + sum[0][3]);
}

void hn_log_partition(const float *logits, size_t n, double *top, double *rest) {
    *rest = log_of(partition(logits, n, top));
}

double hn_logprob(const float *logits, size_t n, int32_t token) {
    double top, sum = partition(logits, n, &top);
    return ((double)logits[token] - top) - log_of(sum);
}

void hn_most_likely(const float *logits, size_t n, size_t n_top, int32_t *token, double *logprob) {
    double top, sum = partition(logits, n, &top), rest = log_of(sum);
    size_t have = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = have;
        while (k && (double)logits[i] > (double)logits[token[k - 1]]) k--;
        if (k >= n_top) continue;
        have += have < n_top;
        memmove(token + k + 1, token + k, (have - k - 1) * sizeof *token);
        token[k] = (int32_t)i;
    }
    for (size_t k = 0; k < have; k++) logprob[k] = ((double)logits[token[k]] - top) - rest;
}

/* --- state -------------------------------------------------------------------------------------------------------- */

static hone_rc check(const hn_sampling *o, size_t n, hone_err *err) {
    const struct {
        const char *name;
        double value, low, high;
    } range[] = {{"temperature", o->temperature, 0, 1000},
                 {"top-p", o->top_p, 0, 1},
                 {"min-p", o->min_p, 0, 1},
                 {"typical-p", o->typical_p, 0, 1},
                 {"repeat penalty", o->repeat, 0.01, 100},
                 {"frequency penalty", o->frequency, -100, 100},
                 {"presence penalty", o->presence, -100, 100},
                 {"mirostat's tau", o->mirostat_tau, 0, 100},
                 {"mirostat's eta", o->mirostat_eta, 0, 10}};
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (!(range[i].value >= range[i].low && range[i].value <= range[i].high))
            return hn_fail(err, HONE_E_USAGE, "%s is %g; %g to %g is meant", range[i].name, range[i].value,
                           range[i].low, range[i].high);
    if (o->top_k < 0) return hn_fail(err, HONE_E_USAGE, "top-k is %d; 0 (all) or more is meant", (int)o->top_k);
    if (o->mirostat != 0 && o->mirostat != 2)
        return hn_fail(err, HONE_E_USAGE, "mirostat is %d; 0 or 2 is meant", (int)o->mirostat);
    for (size_t i = 0; i < o->n_bias; i++)
        if (o->bias[i].token < 0 || (size_t)o->bias[i].token >= n || isnan(o->bias[i].add))
            return hn_fail(err, HONE_E_USAGE, "the bias of token %d: there are %zu tokens, and a bias is a number",
                           (int)o->bias[i].token, n);
    return HONE_OK;
}

hone_rc hn_sampler_new(const hn_sampling *options, size_t vocabulary, hn_sampler **out, hone_err *err) {
    hone_rc rc = check(options, vocabulary, err);
    if (rc) return rc;
    hn_sampler *s = calloc(1, sizeof *s);
    if (s) {
        s->o = *options;
        s->n = vocabulary;
        s->mu = 2 * options->mirostat_tau;
        s->list = malloc((vocabulary + 1) * sizeof *s->list);
        s->x = malloc((vocabulary + 1) * sizeof *s->x);
        s->seen = calloc(vocabulary + 1, sizeof *s->seen);
        s->bias = malloc((options->n_bias + 1) * sizeof *s->bias);
    }
    if (!s || !s->list || !s->x || !s->seen || !s->bias) {
        hn_sampler_free(s);
        return hn_fail(err, HONE_E_NOMEM, "out of memory making a sampler");
    }
    if (options->n_bias) memcpy(s->bias, options->bias, options->n_bias * sizeof *s->bias);
    s->o.bias = s->bias;
    *out = s;
    return HONE_OK;
}

void hn_sampler_free(hn_sampler *s) {
    if (!s) return;
    free(s->list);
    free(s->x);
    free(s->seen);
    free(s->bias);
    free(s->past);
    free(s);
}

hone_rc hn_sampler_accept(hn_sampler *s, int32_t token, hone_err *err) {
    size_t window = s->o.penalty_window < 0 ? SIZE_MAX : (size_t)s->o.penalty_window;
    if (token < 0 || (size_t)token >= s->n)
        return hn_fail(err, HONE_E_USAGE, "token %d: there are %zu", (int)token, s->n);
    if (s->n_past == s->room) {
        size_t room = s->room ? 2 * s->room : 256;
        int32_t *past = realloc(s->past, room * sizeof *past);
        if (!past) return hn_fail(err, HONE_E_NOMEM, "out of memory sampling");
        s->past = past;
        s->room = room;
    }
    s->past[s->n_past++] = token;
    s->seen[token]++;
    if (s->n_past > window) s->seen[s->past[s->n_past - 1 - window]]--;
    return HONE_OK;
}

/* --- filters: each keeps a first part of the list, which is sorted ------------------------------------------------ */

static int by_logit(const void *a, const void *b) {
    const choice *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return x->token - y->token;
}

static void normalise(choice *list, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += list[i].p = exp_of(list[i].logit - list[0].logit);
    for (size_t i = 0; i < n; i++) list[i].p /= sum;
}

static size_t keep_top_p(const choice *list, size_t n, double most) {
    double sum = 0;
    size_t k = 0;
    while (k < n && (!k || sum < most)) sum += list[k++].p;
    return k;
}

static size_t keep_min_p(const choice *list, size_t n, double least) {
    size_t k = 1;
    while (k < n && list[k].p >= least * list[0].p) k++;
    return k;
}

static int by_distance(const void *a, const void *b) {
    const choice *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? -1 : 1;
    return x->token - y->token;
}

/* Those whose surprise is nearest to the expected one, up to the probability `most`; sorted by logit again. */
static size_t keep_typical(choice *list, size_t n, double most) {
    double entropy = 0, sum = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i].p > 0) entropy -= list[i].p * log_of(list[i].p);
    for (size_t i = 0; i < n; i++) list[i].logit = list[i].p > 0 ? fabs(-log_of(list[i].p) - entropy) : INFINITY;
    qsort(list, n, sizeof *list, by_distance);
    while (k < n && (!k || sum < most)) sum += list[k++].p;
    for (size_t i = 0; i < k; i++) list[i].logit = list[i].p > 0 ? log_of(list[i].p) : -INFINITY;
    qsort(list, k, sizeof *list, by_logit);
    return k;
}

/* --- what may come ------------------------------------------------------------------------------------------------ */

static bool has_penalties(const hn_sampling *o) {
    return o->repeat < 1 || o->repeat > 1 || o->frequency < 0 || o->frequency > 0 || o->presence < 0 || o->presence > 0;
}

/* Fills s->x; gives the largest. */
static double adjust(hn_sampler *s, const float *logits, const uint64_t *allowed) {
    double top = -INFINITY;
    for (size_t i = 0; i < s->n; i++) s->x[i] = (double)logits[i];
    for (size_t i = 0; i < s->n && has_penalties(&s->o); i++) {
        double x = s->x[i];
        if (!s->seen[i]) continue;
        x = x > 0 ? x / s->o.repeat : x * s->o.repeat;
        s->x[i] = x - (s->seen[i] * s->o.frequency + s->o.presence);
    }
    for (size_t i = 0; i < s->o.n_bias; i++) s->x[s->bias[i].token] += (double)s->bias[i].add;
    for (size_t i = 0; i < s->n && allowed; i++)
        if (!(allowed[i / 64] >> i % 64 & 1)) s->x[i] = -INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        s->x[i] = s->x[i] > -INFINITY ? s->x[i] : -INFINITY; /* what is no number */
        top = s->x[i] > top ? s->x[i] : top;
    }
    return top;
}

/* Puts c into the heap whose top is its last by logit, from place i downwards. */
static void sift(choice *list, size_t n, size_t i, choice c) {
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && by_logit(&list[child + 1], &list[child]) > 0) child++;
        if (by_logit(&list[child], &c) <= 0) break;
        list[i] = list[child];
    }
    list[i] = c;
}

/* The first n_best by logit, sorted: a heap of them takes in the others. A token comes behind equals before it. */
static size_t candidates(hn_sampler *s, size_t n_best) {
    size_t n = 0, i = 0;
    for (; i < s->n && n < n_best; i++)
        if (s->x[i] > -INFINITY) s->list[n++] = (choice){s->x[i], 0, (int32_t)i};
    for (size_t k = i < s->n ? n / 2 + 1 : 0; k-- > 0;)
        if (k < n) sift(s->list, n, k, s->list[k]);
    for (; i < s->n; i++)
        if (s->x[i] > s->list[0].logit) sift(s->list, n, 0, (choice){s->x[i], 0, (int32_t)i});
    qsort(s->list, n, sizeof *s->list, by_logit);
    return n;
}

/* --- a draw ------------------------------------------------------------------------------------------------------- */

static double unit(hn_sampler *s) {
    hn_rng r = hn_rng_make(s->o.seed, s->draws++); /* by the seed and the number of the draw */
    return hn_rng_unit(&r);
}

static size_t draw(const choice *list, size_t n, double u) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (u < (sum += list[i].p)) return i;
    return n - 1;
}

/* Mirostat 2: what surprises more than mu is left out; mu follows what was drawn. Surprise in bits. */
static size_t draw_mirostat(hn_sampler *s, choice *list, size_t n, double u) {
    size_t k = 1;
    normalise(list, n);
    while (k < n && list[k].p > 0 && -log_of(list[k].p) / 0x1.62e42fefa39efp-1 <= s->mu) k++;
    normalise(list, k);
    size_t i = draw(list, k, u);
    s->mu -= s->o.mirostat_eta * (-log_of(list[i].p) / 0x1.62e42fefa39efp-1 - s->o.mirostat_tau);
    return i;
}

static size_t filtered(const hn_sampler *s, choice *list, size_t n) {
    const hn_sampling *o = &s->o;
    normalise(list, n);
    if (o->typical_p < 1) n = keep_typical(list, n, o->typical_p);
    normalise(list, n);
    if (o->top_p < 1) n = keep_top_p(list, n, o->top_p);
    if (o->min_p > 0) n = keep_min_p(list, n, o->min_p);
    return n;
}

static int32_t draw_plain(hn_sampler *s, double u) {
    bool mirostat = s->o.mirostat == 2;
    size_t n = candidates(s, s->o.top_k && !mirostat ? (size_t)s->o.top_k : SIZE_MAX);
    s->n_sorted += !s->o.top_k || mirostat;
    if (!mirostat) n = filtered(s, s->list, n);
    for (size_t k = 0; k < n; k++) s->list[k].logit /= s->o.temperature;
    normalise(s->list, n);
    return s->list[mirostat ? draw_mirostat(s, s->list, n, u) : draw(s->list, n, u)].token;
}

/* --- the quick way: the list is not sorted, p is the weight e^(logit - top) --------------------------------------- */

/* As the error of sums of n terms: each addition is off by 2^-53 of its result, here and in the plain way; with what
 * follows (divisions, products) fewer than 8 n of them stand between the two. */
static double margin_of(size_t n, double whole) { return 16 * ((double)n + 64) * 0x1p-53 * whole; }

/* Lists the tokens whose logit is within `near` of the largest, with weights at a temperature. *whole: of all tokens.
 */
static size_t gather(hn_sampler *s, double top, double temperature, double near, double *whole) {
    four sum = {0};
    size_t n = 0;
    for (size_t i = 0; i < s->n; i += 4) {
        four x = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, e;
        memcpy(&x, s->x + i, (s->n - i < 4 ? s->n - i : 4) * sizeof *s->x);
        e = x / temperature - top / temperature;
        exp_of_four(&e);
        sum += e;
        four_i in = (x >= top - near) & (x > (double)-INFINITY);
        for (size_t k = 0; k < 4 && (in[0] | in[1] | in[2] | in[3]); k++)
            if (in[k]) s->list[n++] = (choice){x[k], e[k], (int32_t)(i + k)};
    }
    *whole = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    return n;
}

/* Moves what is not behind the median of three to the front; there are other elements behind it. *mass: their weight.
 */
static size_t split(choice *list, size_t n, double *mass) {
    choice *a = &list[0], *b = &list[n / 2], *c = &list[n - 1];
    if (by_logit(b, a) < 0) b = &list[0], a = &list[n / 2];
    choice pivot = by_logit(c, a) < 0 ? *a : by_logit(c, b) < 0 ? *c : *b;
    size_t m = 0;
    *mass = 0;
    for (size_t i = 0; i < n; i++) {
        choice x = list[i];
        if (by_logit(&x, &pivot) > 0) continue;
        list[i] = list[m];
        list[m++] = x;
        *mass += x.p;
    }
    return m;
}

/* Where, by logit, the sum of weights passes `target`: those in front of that place are in front of it afterwards.
 * SIZE_MAX: it does not, or it is too close to tell. */
static size_t place_of(choice *list, size_t n, double target, double margin) {
    enum { FEW = 24, MOST_ROUNDS = 100 };
    size_t from = 0, to = n;
    double sum = 0, mass;
    for (int round = 0; to - from > FEW; round++) {
        size_t m = split(list + from, to - from, &mass);
        if (round == MOST_ROUNDS || fabs(sum + mass - target) <= margin) return SIZE_MAX;
        if (sum + mass > target)
            to = from + m;
        else
            from += m, sum += mass;
    }
    qsort(list + from, to - from, sizeof *list, by_logit);
    for (size_t i = from; i < to; i++) {
        sum += list[i].p;
        if (fabs(sum - target) <= margin) return SIZE_MAX;
        if (sum > target) return i;
    }
    return SIZE_MAX;
}

/* Those near the top hold the place more often than not; else all are looked at. */
static size_t place_in_all(hn_sampler *s, double top, double temperature, double part, size_t *n) {
    enum { NEAR = 10 };
    double whole;
    *n = gather(s, top, temperature, NEAR * (temperature > 1 ? temperature : 1), &whole);
    size_t at = place_of(s->list, *n, part * whole, margin_of(s->n, whole));
    if (at < SIZE_MAX) return at;
    *n = gather(s, top, temperature, INFINITY, &whole);
    return place_of(s->list, *n, part * whole, margin_of(s->n, whole));
}

/* Those that are not less likely than the first by more than `least`; SIZE_MAX: too close to tell. */
static size_t keep_likely(choice *list, size_t n, double least) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        choice x = list[i];
        if (fabs(x.p - least) <= 0x1p-48 * least) return SIZE_MAX;
        if (x.p < least) continue;
        list[i] = list[k];
        list[k++] = x;
    }
    return k;
}

static size_t draw_of_few(hn_sampler *s, double top, size_t n, double u) {
    double whole = 0, t = s->o.temperature;
    for (size_t i = 0; i < n; i++) whole += s->list[i].p = exp_of(s->list[i].logit / t - top / t);
    return place_of(s->list, n, u * whole, margin_of(n, whole));
}

/* Place of the token drawn in s->list; SIZE_MAX: the plain way has to say. */
static size_t draw_quick(hn_sampler *s, double top, double u) {
    const hn_sampling *o = &s->o;
    size_t n = 0, at;
    double whole;
    if (o->plain || o->typical_p < 1 || o->mirostat == 2 || o->top_k || top >= INFINITY) return SIZE_MAX;
    if (!(o->top_p < 1) && !(o->min_p > 0)) return place_in_all(s, top, o->temperature, u, &n);
    if (o->top_p < 1) {
        if ((at = place_in_all(s, top, 1, o->top_p, &n)) == SIZE_MAX) return SIZE_MAX;
        n = at + 1;
    } else
        n = gather(s, top, 1, 1 - log_of(o->min_p), &whole);
    if (o->min_p > 0) n = keep_likely(s->list, n, o->min_p);
    return n < SIZE_MAX ? draw_of_few(s, top, n, u) : SIZE_MAX;
}

/* Nothing changes the logits, and nothing is drawn: the first of the largest. SIZE_MAX: it takes more than that. */
static size_t first_of_largest(const hn_sampler *s, const float *logits, const uint64_t *allowed) {
    const hn_sampling *o = &s->o;
    if (allowed || has_penalties(o) || o->n_bias || o->temperature > 0) return SIZE_MAX;
    float top = largest(logits, s->n);
    for (size_t i = 0; i < s->n && top > -INFINITY; i++)
        if (logits[i] >= top) return i;
    return SIZE_MAX;
}

static int32_t drawn(hn_sampler *s, double top) {
    double u = unit(s);
    size_t at = draw_quick(s, top, u);
    return at < SIZE_MAX ? s->list[at].token : draw_plain(s, u);
}

hone_rc hn_sampler_pick(hn_sampler *s, const float *logits, const uint64_t *allowed, int32_t *token, double *logprob,
                        hone_err *err) {
    size_t plain = first_of_largest(s, logits, allowed);
    if (plain < SIZE_MAX)
        *token = (int32_t)plain;
    else {
        double top = adjust(s, logits, allowed);
        if (!(top > -INFINITY))
            return hn_fail(err, HONE_E_EMPTY, "no token can follow: the logits are no numbers, or nothing is allowed");
        if (s->o.temperature > 0)
            *token = drawn(s, top);
        else {
            candidates(s, 1);
            *token = s->list[0].token;
        }
    }
    if (logprob) *logprob = hn_logprob(logits, s->n, *token);
    return HONE_OK;
}

uint64_t hn_sampler_sorted(const hn_sampler *s) { return s->n_sorted; }

hone_rc hn_sampler_guess(hn_sampler *s, const float *logits, const uint64_t *allowed, uint64_t ahead, int32_t *token,
                         hone_err *err) {
    uint64_t draws = s->draws;
    double mu = s->mu;
    s->draws += ahead;
    hone_rc rc = hn_sampler_pick(s, logits, allowed, token, NULL, err);
    s->draws = draws;
    s->mu = mu;
    return rc;
}
