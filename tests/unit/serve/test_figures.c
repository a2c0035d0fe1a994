/* What a server counts: quantiles of what came last, events a second. */
#include "serve/figures.h"
#include "tap.h"

#include <math.h>

static void quantiles(void) {
    static hn_histogram h;
    static const double at[3] = {0, 0.5, 1};
    double q[3];
    ok(hn_histogram_quantiles(&h, at, 3, q) == 0 && isnan(q[0]) && isnan(q[2]), "figures/none_has_no_quantiles");
    for (int i = 3; i > 0; i--) hn_histogram_add(&h, hn_bounds_s, i);
    ok(hn_histogram_quantiles(&h, at, 3, q) == 3 && q[0] >= 1 && q[0] <= 1 && q[1] >= 2 && q[1] <= 2 && q[2] >= 3,
       "figures/three");
    for (int i = 0; i < 2 * HN_RECENT; i++) hn_histogram_add(&h, hn_bounds_s, 7);
    ok(hn_histogram_quantiles(&h, at, 3, q) == HN_RECENT && q[0] >= 7, "figures/the_last_ones_alone");
    ok(h.sum >= 6 + 7. * 2 * HN_RECENT, "figures/the_sum_has_all");
}

static void rates(void) {
    hn_rate r = {0};
    ok(hn_rate_now(&r, 1000.5) <= 0, "figures/no_rate_at_first");
    for (int i = 0; i < 50; i++) hn_rate_add(&r, 1000.2 + 0.01 * i);
    ok(hn_rate_now(&r, 1000.9) <= 0, "figures/the_second_under_way_is_not_counted");
    ok(hn_rate_now(&r, 1001.1) > 9.99 && hn_rate_now(&r, 1005.9) < 10.01, "figures/fifty_in_five_seconds");
    ok(hn_rate_now(&r, 1000 + HN_RATE_S + 1.) <= 0, "figures/then_it_is_over");
    hn_rate_add(&r, 1000.2 + 2 * HN_RATE_S);
    ok(hn_rate_now(&r, 1001.5 + 2 * HN_RATE_S) < 0.21, "figures/a_place_is_taken_again");
}

int main(void) {
    quantiles();
    rates();
    return done_testing();
}
