/* registry.c — the families of operators, and the search for a row. */
#include "onnx/import_int.h"

#include <hone/onnx.h>

#include <string.h>

static const hn_lower_row *const families[] = {
    hn_lower_math,   hn_lower_logic,   hn_lower_shape, hn_lower_index,     hn_lower_reduce,   hn_lower_nn,
    hn_lower_norm,   hn_lower_quant,   hn_lower_loss,  hn_lower_attention, hn_lower_rnn,      hn_lower_image,
    hn_lower_signal, hn_lower_control, hn_lower_misc,  hn_lower_ml,        hn_lower_training, hn_lower_contrib,
};

enum { N_FAMILIES = sizeof families / sizeof families[0] };

/* Domains that hone has rows of, and their newest version. */
static const struct {
    const char *domain;
    int newest;
} domains[] = {{"", HN_OPSET_MAX},
               {"ai.onnx.ml", 5},
               {"ai.onnx.preview", 1},
               {"ai.onnx.preview.training", 1},
               {"com.microsoft", 1}};

const char *hn_domain(const char *domain) { return !domain || !strcmp(domain, "ai.onnx") ? "" : domain; }

int hn_opset_newest(const char *domain) {
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++)
        if (!strcmp(domains[i].domain, domain)) return domains[i].newest;
    return 0;
}

static bool is_op(const hn_lower_row *r, const char *domain, const char *op) {
    return !strcmp(r->op, op) && !strcmp(r->domain, domain);
}

const hn_lower_row *hn_row_find(const char *domain, const char *op, int opset) {
    for (size_t f = 0; f < N_FAMILIES; f++)
        for (const hn_lower_row *r = families[f]; r && r->op; r++)
            if (is_op(r, domain, op) && r->since <= opset && opset <= r->until) return r;
    return NULL;
}

bool hn_row_known(const char *domain, const char *op, int *since, int *until) {
    bool found = false;
    for (size_t f = 0; f < N_FAMILIES; f++)
        for (const hn_lower_row *r = families[f]; r && r->op; r++) {
            if (!is_op(r, domain, op)) continue;
            if (!found || r->since < *since) *since = r->since;
            if (!found || r->until > *until) *until = r->until;
            found = true;
        }
    return found;
}

bool hone_import_operator_at(size_t i, hone_import_operator *out) {
    for (size_t f = 0; f < N_FAMILIES; f++)
        for (const hn_lower_row *r = families[f]; r && r->op; r++)
            if (!i--) {
                *out = (hone_import_operator){r->domain, r->op, r->since, r->until};
                return true;
            }
    return false;
}
