/* steps.c — random inputs for one step after the other of a model with state. Sizes that follow from the state, such as
 * past + seq of a mask, are computed for every step. */
#include "assess/steps.h"
#include "artifact/artifact.h"
#include "assess/assess_int.h"

#include <hone/inputs.h>

#include <stdlib.h>
#include <string.h>

struct hn_steps {
    const hone_model *model;
    const hn_graph *g;
    hn_arena arena;
    hn_state *pair;
    uint32_t n_pair, n_param;
    const char *sizes;
    uint64_t seed, number; /* of the next step */
    int64_t *symbol;       /* sizes of the current step; INT64_MIN: not known */
    hone_array *in;        /* of the model, owned */
    hone_array *old;       /* by number of the state, owned; rank and sizes are known from the first step on */
    hone_array *all;       /* of the graph, borrowed from both */
    bool carried;          /* `old` is what the next step begins with */
};

static const hn_type *param_type(const hn_steps *s, uint32_t i) { return hn_type_of(s->g, s->g->block[0].param[i]); }

/* The state that parameter i of the graph is the old value of, or UINT32_MAX. */
static uint32_t state_of(const hn_steps *s, uint32_t i) {
    for (uint32_t k = 0; k < s->n_pair; k++)
        if (s->pair[k].param == i) return k;
    return UINT32_MAX;
}

/* --- sizes -----------------------------------------------------------------------------------------------------------
 */

static bool eval(const hn_steps *s, hn_dim d, int64_t *out) {
    return hn_dim_eval(s->g->dims, d, s->symbol, out) ||
           hn_dim_eval(s->g->dims, hn_dim_standing(s->g->dims, d), s->symbol, out);
}

static bool set_unknown(hn_steps *s, hn_dim d, int64_t value) {
    hn_symbol x;
    if (!hn_dim_is_symbol(s->g->dims, d, &x) || s->symbol[x] != INT64_MIN) return false;
    s->symbol[x] = value;
    return true;
}

/* Symbols that equal an expression whose symbols are known. */
static void follow_relations(hn_steps *s) {
    const hn_relation *r;
    size_t n = hn_dim_relations(s->g->dims, &r);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            int64_t value;
            if (!r[i].b) continue;
            if (eval(s, r[i].b, &value)) more = set_unknown(s, r[i].a, value) || more;
            if (eval(s, r[i].a, &value)) more = set_unknown(s, r[i].b, value) || more;
        }
    }
}

static void set_given(hn_steps *s) {
    for (const char *at = s->sizes; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t n = strcspn(at, "=,");
        char name[HN_WORD_N];
        if (at[n] != '=' || n >= sizeof name) continue; /* hone_inputs_random says what is wrong with it */
        memcpy(name, at, n), name[n] = 0;
        hn_dim d = hn_dim_find(s->g->dims, name);
        if (d) set_unknown(s, d, strtoll(at + n + 1, NULL, 10));
    }
}

/* Of parameters that are states, or that are not: unknown sizes are the smallest, at least `least`. */
static void set_smallest(hn_steps *s, bool states, int64_t least) {
    for (uint32_t i = 0; i < s->n_param; i++) {
        const hn_type *t = param_type(s, i);
        if ((state_of(s, i) != UINT32_MAX) != states) continue;
        for (size_t d = 0; d < t->rank; d++) {
            int64_t low, high;
            hn_dim_range(s->g->dims, t->dim[d], &low, &high);
            if (set_unknown(s, t->dim[d], low > least ? low : least)) follow_relations(s);
        }
    }
}

/* Is d a size that an input gives, too? */
static bool is_input_size(const hn_steps *s, hn_dim dim) {
    for (uint32_t i = 0; i < s->n_param; i++) {
        const hn_type *t = param_type(s, i);
        for (size_t d = 0; d < t->rank && state_of(s, i) == UINT32_MAX; d++)
            if (t->dim[d] == dim) return true;
    }
    return false;
}

/* Sizes that the state has; before the first step those that it alone has, as a reset leaves them. */
static void set_states(hn_steps *s) {
    for (uint32_t k = 0; k < s->n_pair; k++) {
        const hn_type *t = param_type(s, s->pair[k].param);
        for (size_t d = 0; d < t->rank; d++) {
            int64_t low, high;
            hn_dim_range(s->g->dims, t->dim[d], &low, &high);
            if (s->number)
                set_unknown(s, t->dim[d], s->old[k].dim[d]);
            else if (!is_input_size(s, t->dim[d]))
                set_unknown(s, t->dim[d], low > 0 ? low : 0);
        }
    }
}

static void find_sizes(hn_steps *s) {
    for (size_t i = 0; i < hn_dims_symbols(s->g->dims); i++) s->symbol[i] = INT64_MIN;
    set_states(s);
    set_given(s);
    follow_relations(s);
    set_smallest(s, false, 1);
    set_smallest(s, true, 0);
}

/* "word=size,…" for the symbolic sizes of the model's inputs, then what the user gave. */
static hone_rc size_text(hn_steps *s, hn_str *out, hone_err *err) {
    int32_t port = 0;
    for (uint32_t i = 0; i < s->n_param; i++) {
        const hn_type *t = param_type(s, i);
        if (state_of(s, i) != UINT32_MAX) continue;
        const hone_model_port *p = &s->model->input[port++];
        for (int32_t d = 0; d < p->rank; d++) {
            char word[HN_WORD_N];
            int64_t value;
            if (p->dim[d] >= 0 || !eval(s, t->dim[d], &value)) continue;
            hn_dim_word(p->shape, d, word);
            hn_str_addf(out, "%s%s=%lld", out->n ? "," : "", word, (long long)value);
        }
    }
    if (s->sizes && *s->sizes) hn_str_addf(out, "%s%s", out->n ? "," : "", s->sizes);
    return out->failed ? hn_fail(err, HONE_E_NOMEM, "out of memory for the sizes") : HONE_OK;
}

/* --- arrays ----------------------------------------------------------------------------------------------------------
 */

static void drop(hone_array *a, size_t n) {
    for (size_t i = 0; a && i < n; i++) free(a[i].data), a[i].data = NULL;
}

/* Zeros of the sizes that the type has now. */
static hone_rc make_zeros(hn_steps *s, uint32_t k, const hn_type *t, hone_err *err) {
    hone_array *a = &s->old[k];
    size_t n = hn_dtype_of(t->dtype)->size_b;
    bool good = true;
    free(a->data);
    *a = (hone_array){.dtype = t->dtype, .rank = (uint32_t)t->rank};
    for (size_t d = 0; d < t->rank && good; d++)
        good = eval(s, t->dim[d], &a->dim[d]) && !__builtin_mul_overflow(n, (size_t)a->dim[d], &n);
    if (!good)
        return hn_fail(err, HONE_E_UNSUPPORTED, "the sizes of state '%s' do not follow from those of the inputs",
                       s->pair[k].name);
    a->data = calloc(n + 8, 1);
    return a->data ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory for state '%s'", s->pair[k].name);
}

hone_rc hn_steps_open(const hone_model *m, const hone_graph *g, const char *const *state, size_t n_state,
                      const char *sizes, uint64_t seed, hn_steps **out, hone_err *err) {
    hn_steps *s = calloc(1, sizeof *s);
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *s = (hn_steps){.model = m, .g = g, .seed = seed, .n_param = g->block[0].n_param};
    hone_rc rc = hn_match_states(state, n_state, g, &s->arena, &s->pair, &s->n_pair, err);
    s->sizes = hn_strdup(&s->arena, sizes);
    s->symbol = hn_alloc_n(&s->arena, hn_dims_symbols(g->dims) + 1, sizeof *s->symbol);
    s->in = hn_alloc_n(&s->arena, (size_t)m->n_inputs + 1, sizeof *s->in);
    s->all = hn_alloc_n(&s->arena, s->n_param + 1u, sizeof *s->all);
    s->old = hn_alloc_n(&s->arena, s->n_pair + 1u, sizeof *s->old);
    if (!rc && !hn_arena_ok(&s->arena)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc && ((uint32_t)m->n_inputs + s->n_pair != s->n_param || (uint32_t)m->n_states != s->n_pair))
        rc = hn_fail(err, HONE_E_USAGE, "model '%s' has %d states, but %u are named: name them as it was compiled",
                     m->name, (int)m->n_states, s->n_pair);
    if (rc)
        hn_steps_free(s);
    else
        *out = s;
    return rc;
}

hone_rc hn_steps_next(hn_steps *s, const hone_array **in, hone_err *err) {
    hn_str text = {0};
    hone_rc rc = HONE_OK;
    for (uint32_t k = 0; k < s->n_pair && s->number && !s->carried && !rc; k++)
        rc = make_zeros(s, k, hn_type_of(s->g, s->g->block[0].result[s->pair[k].result]), err);
    if (rc) return rc;
    find_sizes(s);
    for (uint32_t k = 0; k < s->n_pair && !s->number && !rc; k++)
        rc = make_zeros(s, k, param_type(s, s->pair[k].param), err);
    drop(s->in, (size_t)s->model->n_inputs);
    if (!rc) rc = size_text(s, &text, err);
    if (!rc) rc = hone_inputs_random(s->model, text.text, s->seed + 7919 * s->number, s->in, err);
    hn_str_free(&text);
    if (rc) return rc;
    for (uint32_t i = 0, port = 0; i < s->n_param; i++) {
        uint32_t k = state_of(s, i);
        s->all[i] = k == UINT32_MAX ? s->in[port++] : s->old[k];
    }
    s->number++;
    s->carried = false;
    *in = s->in;
    return HONE_OK;
}

const hone_array *hn_steps_all(const hn_steps *s, size_t *n) {
    *n = s->n_param;
    return s->all;
}

uint32_t hn_steps_result(const hn_steps *s, uint32_t output) {
    uint32_t i = 0;
    for (;; i++) {
        bool is_state = false;
        for (uint32_t k = 0; k < s->n_pair; k++) is_state = is_state || s->pair[k].result == i;
        if (!is_state && !output--) return i;
    }
}

void hn_steps_carry(hn_steps *s, hone_array *out) {
    for (uint32_t k = 0; k < s->n_pair; k++) {
        hone_array *now = &out[s->pair[k].result];
        free(s->old[k].data);
        s->old[k] = *now;
        now->data = NULL;
    }
    s->carried = true;
}

void hn_steps_free(hn_steps *s) {
    if (!s) return;
    drop(s->in, s->in ? (size_t)s->model->n_inputs : 0);
    drop(s->old, s->n_pair);
    hn_arena_free(&s->arena);
    free(s);
}
