/* tune_model/share.c — whose turn it is: the kernel that a second of search is expected to gain most of the model's
 * time on.
 *
 * Expected gain = share of the time x what may be left to gain x the chance that the next candidates find it. What may
 * be left is known from the roofline, else a quarter of what is taken now. The chance falls with every candidate that
 * brought nothing, as the rule of succession has it for events not seen n times: 1 / (n + 2), scaled to begin at 1.
 */
#include "tune_model/tune_model_int.h"

static const double usual_room = 0.25, patience_n = 8;

double hn_prospect_worth(const hn_prospect *p) {
    double bound = p->bound > 0 ? p->bound : p->best * (1 - usual_room);
    double room = p->best - bound, chance = patience_n / (p->n_since + patience_n);
    if (p->done || !(p->share > 0) || !(room > 0)) return 0;
    return p->share * room * chance / (p->eval_s > 1e-3 ? p->eval_s : 1e-3);
}

size_t hn_prospect_next(const hn_prospect *p, size_t n) {
    size_t best = n;
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double worth = hn_prospect_worth(&p[i]);
        if (worth > most) most = worth, best = i;
    }
    return best;
}
