/* The numeric kernels against closed forms and brute force. */
#include "synthetic.h"

#include "engine/bayes.h"
#include "engine/gpr.h"
#include "engine/model.h"
#include "engine/pareto.h"
#include "engine/trees.h"

static bool near(double a, double b, double tol) { return fabs(a - b) <= tol * (1 + fabs(a) + fabs(b)); }

/* Solves a x = b for a small dense system by Gaussian elimination with pivoting. */
static void solve(double *a, double *b, size_t n) {
    for (size_t c = 0; c < n; c++) {
        size_t p = c;
        for (size_t r = c + 1; r < n; r++)
            if (fabs(a[r * n + c]) > fabs(a[p * n + c])) p = r;
        for (size_t k = 0; k < n; k++) {
            double t = a[c * n + k];
            a[c * n + k] = a[p * n + k];
            a[p * n + k] = t;
        }
        double t = b[c];
        b[c] = b[p];
        b[p] = t;
        for (size_t r = 0; r < n; r++) {
            double f = r == c ? 0 : a[r * n + c] / a[c * n + c];
            for (size_t k = c; k < n && f != 0; k++) a[r * n + k] -= f * a[c * n + k];
            b[r] -= f * b[c];
        }
    }
    for (size_t c = 0; c < n; c++) b[c] /= a[c * n + c];
}

/* --- Gaussian process ------------------------------------------------------------------------------------------ */

enum { GP_N = 23, GP_D = 3 };

static double matern(const float *a, const float *b, const double *scale) {
    double r2 = 0;
    for (size_t c = 0; c < GP_D; c++) r2 += pow((double)(a[c] - b[c]) / scale[c], 2);
    double r = sqrt(5 * r2);
    return (1 + r + r * r / 3) * exp(-r);
}

static void gp_posterior(void) {
    hn_rng rng = hn_rng_make(1, 2);
    float x[GP_N * GP_D], y[GP_N], probe[GP_D], mean, sd;
    const uint16_t group[GP_D] = {0, 1, 2};
    const double log_scale[GP_D] = {-1, 0, 0.5}, log_noise = -5;
    double scale[GP_D], k[GP_N * GP_N], alpha[GP_N], v[GP_N], star[GP_N];
    for (size_t i = 0; i < GP_N * GP_D; i++) x[i] = (float)hn_rng_unit(&rng);
    for (size_t i = 0; i < GP_N; i++) y[i] = (float)hn_rng_normal(&rng);
    for (size_t c = 0; c < GP_D; c++) scale[c] = exp(log_scale[c]);
    hn_gpr *g = NULL;
    hone_err err;
    hn_gpr_new(GP_D, group, GP_D, &g, &err);
    hn_gpr_set(g, log_scale, log_noise);
    hn_gpr_fit(g, x, y, GP_N - 5, 0, &err); /* the factor of the first rows is reused below */
    hn_gpr_fit(g, x, y, GP_N, GP_N - 5, &err);
    for (int t = 0; t < 5; t++) {
        for (size_t c = 0; c < GP_D; c++) probe[c] = (float)hn_rng_unit(&rng);
        double want = 0, var = 1, fit = 0;
        for (size_t i = 0; i < GP_N; i++) {
            for (size_t j = 0; j < GP_N; j++)
                k[i * GP_N + j] = matern(x + i * GP_D, x + j * GP_D, scale) + (i == j ? exp(log_noise) : 0);
            alpha[i] = (double)y[i];
        }
        solve(k, alpha, GP_N);
        for (size_t i = 0; i < GP_N; i++) {
            star[i] = v[i] = matern(x + i * GP_D, probe, scale);
            want += star[i] * alpha[i];
            fit += (double)y[i] * alpha[i];
        }
        for (size_t i = 0; i < GP_N; i++)
            for (size_t j = 0; j < GP_N; j++)
                k[i * GP_N + j] = matern(x + i * GP_D, x + j * GP_D, scale) + (i == j ? exp(log_noise) : 0);
        solve(k, v, GP_N);
        for (size_t i = 0; i < GP_N; i++) var -= star[i] * v[i];
        hn_gpr_predict(g, probe, 1, &mean, &sd, &err);
        ok(near((double)mean, want, 2e-3), "gpr/mean_is_closed_form");
        ok(near((double)sd, sqrt(var * fit / GP_N), 5e-3), "gpr/deviation_is_closed_form");
    }
    hn_gpr_free(g);
}

static void gp_tuning(void) {
    hn_rng rng = hn_rng_make(4, 4);
    float x[60 * 3], y[60];
    const uint16_t group[3] = {0, 1, 2};
    for (size_t i = 0; i < 60; i++) {
        for (size_t c = 0; c < 3; c++) x[i * 3 + c] = (float)hn_rng_unit(&rng);
        y[i] = sinf(7 * x[i * 3 + 1]); /* only the second column matters */
    }
    hn_gpr *g = NULL;
    hone_err err;
    double before, after, scale[3];
    hn_gpr_new(3, group, 3, &g, &err);
    hn_gpr_fit(g, x, y, 60, 0, &err);
    hn_gpr_hyper(g, NULL, NULL, NULL, &before);
    hn_gpr_tune(g, x, y, 60, 30, &err);
    hn_gpr_fit(g, x, y, 60, 0, &err);
    hn_gpr_hyper(g, scale, NULL, NULL, &after);
    ok(after > before + 10, "gpr/tuning_raises_the_likelihood");
    ok(scale[1] < scale[0] - 1 && scale[1] < scale[2] - 1, "gpr/tuning_finds_the_column_that_matters");
    hn_gpr_free(g);
}

/* --- ridge ----------------------------------------------------------------------------------------------------- */

enum { RN = 30, RG = 4, RL = 3, RW = RG * RL + 1 };

static void ridge_means(void) {
    hn_rng rng = hn_rng_make(3, 1);
    unsigned char x[RN * RG];
    float y[RN], w[RW];
    double a[RW * RW] = {0}, b[RW] = {0}, noise = 0.7;
    for (size_t i = 0; i < RN * RG; i++) x[i] = (unsigned char)hn_rng_below(&rng, RL);
    for (size_t i = 0; i < RN; i++) {
        y[i] = (float)hn_rng_normal(&rng);
        size_t on[RG + 1];
        for (size_t g = 0; g < RG; g++) on[g] = g * RL + x[i * RG + g];
        on[RG] = RW - 1;
        for (size_t p = 0; p <= RG; p++) {
            b[on[p]] += (double)y[i];
            for (size_t q = 0; q <= RG; q++) a[on[p] * RW + on[q]] += 1;
        }
    }
    for (size_t p = 0; p < RW; p++) a[p * RW + p] += noise / (p == RW - 1 ? 100 : 1);
    solve(a, b, RW); /* the normal equations */
    hn_bayes *r = NULL;
    hone_err err;
    hn_bayes_new(RG, RL, &r, &err);
    hn_bayes_fit(r, x, RN - 7, 0, noise, &err);
    hn_bayes_fit(r, x, RN, RN - 7, noise, &err);
    hn_bayes_weights(r, y, NULL, 1, w);
    bool same = true;
    for (size_t p = 0; p < RW; p++) same &= near((double)w[p], b[p], 1e-4);
    ok(same, "bayes/mean_solves_the_normal_equations");
    /* draws have the posterior's mean and, for one weight, its variance */
    double sum = 0, square = 0, a2[RW * RW], unit[RW] = {1};
    enum { DRAWS = 4000 };
    for (int t = 0; t < DRAWS; t++) {
        hn_bayes_weights(r, y, &rng, 1, w);
        sum += (double)w[0];
        square += (double)w[0] * (double)w[0];
    }
    memset(a2, 0, sizeof a2);
    for (size_t i = 0; i < RN; i++)
        for (size_t p = 0; p <= RG; p++)
            for (size_t q = 0; q <= RG; q++) {
                size_t u = p < RG ? p * RL + x[i * RG + p] : RW - 1, v = q < RG ? q * RL + x[i * RG + q] : RW - 1;
                a2[u * RW + v] += 1 / noise;
            }
    for (size_t p = 0; p < RW; p++) a2[p * RW + p] += p == RW - 1 ? 0.01 : 1;
    solve(a2, unit, RW);
    double mean = sum / DRAWS, var = square / DRAWS - mean * mean;
    ok(fabs(mean - b[0]) < 0.05, "bayes/draws_have_the_posterior_mean");
    ok(fabs(var / unit[0] - 1) < 0.1, "bayes/draws_have_the_posterior_variance");
    hn_bayes_free(r);
}

/* --- forest ---------------------------------------------------------------------------------------------------- */

static void forests(void) {
    enum { N = 300, F = 5 };
    hn_rng rng = hn_rng_make(8, 1);
    unsigned char x[N * F];
    float y[N], mean[N], sd[N], again[N];
    const bool ordered[F] = {true, true, false, true, true};
    for (size_t i = 0; i < N; i++) {
        for (size_t f = 0; f < F; f++) x[i * F + f] = (unsigned char)hn_rng_below(&rng, 8);
        x[i * F + 4] = 63; /* constant */
        y[i] = (x[i * F] > 3 ? 4.0f : 0.0f) + (x[i * F + 2] % 3 == 1 ? 2.0f : 0.0f) + 0.1f * (float)hn_rng_normal(&rng);
    }
    for (int cuts = 0; cuts < 2; cuts++) {
        hn_trees *t = NULL;
        hone_err err;
        hn_trees_spec spec = {.n_trees = 30, .min_leaf = 2, .features = 0.8, .bootstrap = cuts > 0};
        hn_trees_new(F, ordered, &spec, &t, &err);
        hn_trees_fit(t, x, y, 200, 5, &err);
        hn_trees_predict(t, x, N, mean, sd);
        double error = 0, spread = 0;
        for (size_t i = 200; i < N; i++) {
            error += pow((double)(mean[i] - y[i]), 2) / 100;
            spread += (double)sd[i] / 100;
        }
        ok(error < 0.5, "trees/learn_ordered_and_unordered_cuts%d (error %g)", cuts, error);
        ok(spread > 0 && spread < 2, "trees/give_a_deviation%d", cuts);
        hn_trees_fit(t, x, y, 100, 6, &err);
        hn_trees_fit(t, x, y, 200, 5, &err);
        hn_trees_predict(t, x, N, again, NULL);
        ok(!memcmp(again, mean, sizeof mean), "trees/same_seed_same_trees%d", cuts);
        hn_trees_free(t);
    }
}

static void expected_improvement(void) {
    static const struct { double mean, sd, best; } row[] = {{0, 1, 0}, {1, 0.5, 0}, {-1, 2, 0.5}, {3, 0.5, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double sum = 0, step = 1e-4; /* trapezoids over the normal density */
        for (double z = -12; z < 12; z += step) {
            double gain = row[i].best - (row[i].mean + row[i].sd * z);
            if (gain > 0) sum += gain * exp(-z * z / 2) / sqrt(2 * 3.14159265358979) * step;
        }
        double got = (double)hn_log_ei((float)row[i].mean, (float)row[i].sd, (float)row[i].best);
        ok(fabs(got - log(sum)) < (got < -14 ? 0.1 : 1e-2), "model/log_ei_%zu", i);
    }
    ok(hn_log_ei(30, 1, 0) > hn_log_ei(31, 1, 0), "model/log_ei_keeps_its_order_far_out");
}

/* --- fronts ---------------------------------------------------------------------------------------------------- */

static void ranks(void) {
    hone_err err;
    bool right = true;
    for (uint64_t seed = 0; seed < 40; seed++) {
        hn_rng rng = hn_rng_make(seed, 0);
        size_t n = 1 + hn_rng_below(&rng, 25), m = 1 + hn_rng_below(&rng, 4);
        double y[25 * 4];
        uint32_t rank[25];
        for (size_t i = 0; i < n * m; i++) y[i] = (double)hn_rng_below(&rng, 5);
        hone_pareto_rank(y, n, m, rank, &err);
        for (size_t i = 0; i < n; i++) { /* rank = 1 + greatest rank among those that dominate it */
            uint32_t want = 0;
            for (size_t j = 0; j < n; j++)
                if (hn_dominates(y + j * m, y + i * m, m) && rank[j] + 1 > want) want = rank[j] + 1;
            right &= rank[i] == want;
        }
    }
    ok(right, "pareto/ranks_are_longest_chains");
    double line[] = {0, 4, 1, 3, 2, 2, 4, 0}, crowding[4];
    uint32_t zero[4] = {0};
    hn_crowding(line, 4, 2, zero, crowding, &err);
    ok(isinf(crowding[0]) && isinf(crowding[3]) && near(crowding[1], 1, 1e-12) && near(crowding[2], 1.5, 1e-12),
       "pareto/crowding");
}

/* Integer points: the volume is the number of unit cells that some row dominates. */
static void volumes(void) {
    bool right = true;
    for (uint64_t seed = 0; seed < 60; seed++) {
        hn_rng rng = hn_rng_make(seed, 1);
        size_t n = 1 + hn_rng_below(&rng, 12), m = 1 + hn_rng_below(&rng, 4), cells = 0;
        enum { SIDE = 6 };
        double y[12 * 4], ref[4] = {SIDE, SIDE, SIDE, SIDE};
        for (size_t i = 0; i < n * m; i++) y[i] = (double)hn_rng_below(&rng, SIDE + 2);
        size_t total = 1;
        for (size_t k = 0; k < m; k++) total *= SIDE;
        for (size_t c = 0; c < total; c++) {
            bool covered = false;
            for (size_t i = 0; i < n && !covered; i++) {
                size_t left = c;
                covered = true;
                for (size_t k = 0; k < m; k++, left /= SIDE) covered &= y[i * m + k] <= (double)(left % SIDE);
                for (size_t k = 0; k < m; k++) covered &= y[i * m + k] < SIDE;
            }
            cells += covered;
        }
        right &= near(hone_pareto_hypervolume(y, n, m, ref), (double)cells, 1e-12);
    }
    ok(right, "pareto/hypervolume_counts_cells");
    ok(hone_pareto_hypervolume(NULL, 0, 2, (double[]){1, 1}) == 0, "pareto/hypervolume_of_nothing");
}

int main(void) {
    gp_posterior();
    gp_tuning();
    ridge_means();
    forests();
    expected_improvement();
    ranks();
    volumes();
    return done_testing();
}
