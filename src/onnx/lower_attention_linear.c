/* LinearAttention. */
#include "onnx/lower_attention_int.h"
#include "onnx/lower_util.h"

#include <string.h>

static bool rule_fits(hn_lower *c) {
    static const char *const name[] = {"linear", "gated", "delta", "gated_delta"};
    const char *s = hn_string(c, "update_rule", "gated_delta");
    unsigned i = 0;
    while (i < 4 && strcmp(s, name[i]) != 0) i++;
    if (i == 4) {
        hn_wrong(c, "'update_rule' is '%s'; it must be linear, gated, delta or gated_delta", s);
        return false;
    }
    bool gated = i & 1, delta = i & 2;
    if (gated != (hn_in(c, 4) != 0) || delta != (hn_in(c, 5) != 0)) {
        hn_wrong(c, "update rule '%s' %s input 4 (decay) and %s input 5 (beta)", s, gated ? "needs" : "has no",
                 delta ? "needs" : "has no");
        return false;
    }
    return true;
}

static bool shapes_fit(hn_lower *c, int64_t q_heads, int64_t kv_heads) {
    if (!hn_need(c, 3)) return false;
    for (size_t i = 0; i < 6; i++)
        if (hn_in(c, i) && !hn_need_rank(c, i, i == 3 ? 4 : 3, i == 3 ? 4 : 3)) return false;
    if (kv_heads >= 1 && q_heads >= kv_heads && q_heads % kv_heads == 0) return true;
    hn_wrong(c, "'q_num_heads' is %lld; it must be a positive multiple of 'kv_num_heads', %lld", (long long)q_heads,
             (long long)kv_heads);
    return false;
}

void hn_lower_linear_attention(hn_lower *c) {
    int64_t q_heads = hn_int(c, "q_num_heads", 0), kv_heads = hn_int(c, "kv_num_heads", 0);
    if (!shapes_fit(c, q_heads, kv_heads) || !rule_fits(c)) return;
    hn_linear_attention a = {.q = hn_in(c, 0),
                             .k = hn_in(c, 1),
                             .v = hn_in(c, 2),
                             .memory = hn_in(c, 3),
                             .decay = hn_in(c, 4),
                             .beta = hn_in(c, 5),
                             .q_heads = q_heads,
                             .kv_heads = kv_heads,
                             .scale = hn_float(c, "scale", 0)};
    hn_out(c, 0, hn_linear_attend(hn_lower_builder(c), &a));
    hn_out(c, 1, a.memory);
}
