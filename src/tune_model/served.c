/* tune_model/served.c — the step of a language model as `hone serve` and `hone chat` run it, with keys and values in
 * blocks of a pool (compose/decoder.h): its sizes, from those that people give, and inputs that mean something. Random
 * positions and tables would have attention look at other lengths than were asked for.
 *
 * Sizes: `tokens` in a step, of `wanted` sequences that want a logit each, behind `past` tokens of each. The others
 * follow, unless they are given: `sequences`, `blocks` of a row of the table, `rows` of the pools. */
#include "compose/cache.h"
#include "tune_model/tune_model_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_PAST = 512, LONG_PAST = 4096, PROMPT = 128 };

/* --- sizes ---------------------------------------------------------------------------------------------------------
 */

enum { TOKENS, WANTED, SEQUENCES, BLOCKS, ROWS, N_SYMBOLS, PAST = N_SYMBOLS, N_SIZES };
static const char *const size_name[N_SIZES] = {"tokens", "wanted", "sequences", "blocks", "rows", "past"};

/* The table's second size has the window in its name, where there is one. */
static bool is_named(const char *name, int i) {
    return !strcmp(name, size_name[i]) || (i == BLOCKS && !strncmp(name, HN_CACHE_WINDOW, strlen(HN_CACHE_WINDOW)));
}

typedef struct step {
    const char *name[N_SYMBOLS];
    int64_t low[N_SYMBOLS], high[N_SYMBOLS];
} step;

static bool find_step(const hn_dims *dims, step *out) {
    unsigned seen = 0;
    *out = (step){0};
    for (hn_symbol s = 0; s < hn_dims_symbols(dims); s++)
        for (int i = 0; i < N_SYMBOLS; i++)
            if (is_named(hn_symbol_name(dims, s), i)) {
                out->name[i] = hn_symbol_name(dims, s);
                hn_symbol_range(dims, s, &out->low[i], &out->high[i]);
                seen |= 1u << i;
            }
    return seen == (1u << N_SYMBOLS) - 1;
}

bool hn_served_is(const hn_dims *dims) {
    step s;
    return find_step(dims, &s);
}

static int64_t within(const step *s, int i, int64_t x) {
    return x < s->low[i] ? s->low[i] : x > s->high[i] ? s->high[i] : x;
}

static hone_rc read_sizes(const char *text, int64_t size[N_SIZES], hone_err *err) {
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        const char *equals = memchr(p, '=', n);
        char name[64], *end = NULL;
        int i = N_SIZES;
        snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - p : (ptrdiff_t)n), p);
        for (int k = 0; k < N_SIZES; k++)
            if (is_named(name, k)) i = k;
        if (i == N_SIZES || !equals)
            return hn_fail(err, HONE_E_USAGE, "'%.*s': a step of a language model has tokens=N, past=N and wanted=N",
                           (int)n, p);
        size[i] = strtoll(equals + 1, &end, 10);
        if (end != p + n || end == equals + 1 || size[i] < 0)
            return hn_fail(err, HONE_E_USAGE, "'%.*s': a size is a whole number from 0 on, such as past=512", (int)n,
                           p);
        p += n + (p[n] == ',');
    }
    return HONE_OK;
}

hone_rc hn_served_sizes(const hn_dims *dims, const char *text, hn_arena *a, const char **out, hone_err *err) {
    step s;
    int64_t size[N_SIZES] = {[TOKENS] = 1, [PAST] = USUAL_PAST};
    find_step(dims, &s);
    hone_rc rc = read_sizes(text, size, err);
    if (rc) return rc;
    size[TOKENS] = within(&s, TOKENS, size[TOKENS]);
    if (!size[WANTED]) size[WANTED] = 1;
    if (!size[SEQUENCES]) size[SEQUENCES] = within(&s, SEQUENCES, size[WANTED]);
    if (size[WANTED] > size[TOKENS] || size[SEQUENCES] > size[TOKENS])
        return hn_fail(err, HONE_E_USAGE, "'%s': more is wanted than there are tokens", text);
    int64_t each = (size[TOKENS] + size[SEQUENCES] - 1) / size[SEQUENCES];
    int64_t blocks = (size[PAST] + each + HN_CACHE_BLOCK - 1) / HN_CACHE_BLOCK;
    if (!size[BLOCKS]) size[BLOCKS] = within(&s, BLOCKS, blocks);
    if (!size[ROWS]) size[ROWS] = within(&s, ROWS, size[SEQUENCES] * size[BLOCKS] * HN_CACHE_BLOCK);
    *out = hn_format(a, "%s=%" PRId64 ",%s=%" PRId64 ",%s=%" PRId64 ",%s=%" PRId64 ",%s=%" PRId64, s.name[TOKENS],
                     size[TOKENS], s.name[WANTED], size[WANTED], s.name[SEQUENCES], size[SEQUENCES], s.name[BLOCKS],
                     size[BLOCKS], s.name[ROWS], size[ROWS]);
    return *out ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory while tuning");
}

void hn_served_usual(const hn_dims *dims, hn_arena *a, const char **sizes, const char **also) {
    step s;
    find_step(dims, &s);
    int64_t most = s.high[TOKENS] - 1, past = most < USUAL_PAST ? most : USUAL_PAST;
    int64_t prompt = most < PROMPT ? most + 1 : PROMPT;
    *sizes = hn_format(a, "tokens=1,past=%" PRId64 ",wanted=1", past);
    *also = most > LONG_PAST
                ? hn_format(a, "tokens=%" PRId64 ",past=0,wanted=1;tokens=1,past=%d,wanted=1", prompt, LONG_PAST)
                : hn_format(a, "tokens=%" PRId64 ",past=0,wanted=1", prompt);
}

/* --- inputs --------------------------------------------------------------------------------------------------------
 */

/* Where tokens are: of each sequence the last ones that its row of the table has room for. */
typedef struct layout {
    int64_t tokens, sequences, blocks, rows, block;
} layout;

static int64_t each_of(const layout *x) { return (x->tokens + x->sequences - 1) / x->sequences; }
static int64_t position_of(const layout *x, int64_t token) {
    int64_t each = each_of(x), first = x->blocks * x->block - each;
    return (first > 0 ? first : 0) + token % each;
}
static int64_t sequence_of(const layout *x, int64_t token) { return token / each_of(x); }
static int64_t block_of(const layout *x, int64_t sequence, int64_t i) {
    return (sequence * x->blocks + i) % (x->rows / x->block > 0 ? x->rows / x->block : 1);
}
static int64_t slot_of(const layout *x, int64_t token) {
    int64_t p = position_of(x, token);
    return block_of(x, sequence_of(x, token), p / x->block) * x->block + p % x->block;
}
static void fill_table(const layout *x, int64_t *table) {
    for (int64_t s = 0; s < x->sequences; s++)
        for (int64_t i = 0; i < x->blocks; i++) table[s * x->blocks + i] = block_of(x, s, i);
}

int64_t hn_served_rows(const char *sizes, char *inputs, size_t n) {
    const char *at = sizes ? strstr(sizes, ",rows=") : NULL;
    snprintf(inputs, n, "%.*s", at ? (int)(at - sizes) : (int)strlen(sizes ? sizes : ""), sizes ? sizes : "");
    return at ? strtoll(at + 6, NULL, 10) : 0;
}

void hn_served_inputs(const hone_model *m, int64_t rows, hone_array *in) {
    static const char *const name[] = {"token", "want", "position", "sequence", "slot", "table"};
    int64_t *at[6] = {0};
    const hone_array *a[6] = {0};
    for (int32_t i = 0; i < m->n_inputs; i++)
        for (int k = 0; k < 6; k++)
            if (!strcmp(m->input[i].name, name[k]) && in[i].dtype == HONE_I64) a[k] = &in[i], at[k] = in[i].data;
    for (int k = 0; k < 6; k++)
        if (!at[k]) return;
    int64_t vocabulary = m->output[0].dim[1] > 0 ? m->output[0].dim[1] : 1;
    const layout x = {a[0]->dim[0], a[5]->dim[0], a[5]->dim[1], rows, HN_CACHE_BLOCK};
    for (int64_t i = 0; i < x.tokens; i++) {
        at[0][i] = i * 7919 % vocabulary;
        at[2][i] = position_of(&x, i);
        at[3][i] = sequence_of(&x, i);
        at[4][i] = slot_of(&x, i);
    }
    for (int64_t i = 0; i < a[1]->dim[0]; i++) {
        int64_t last = (i + 1) * x.tokens / a[1]->dim[0] - 1;
        at[1][i] = last > 0 ? last : 0;
    }
    fill_table(&x, at[5]);
}

bool hn_served_pools(const hone_model *m, hone_model_instance *instance, int64_t rows) {
    for (int32_t i = 0; i < m->n_states; i++) {
        hone_model_tensor x;
        if (m->resize(instance, i, rows) || m->peek(instance, i, &x)) return false;
        memset(x.data, 0, x.size_b);
    }
    return true;
}

/* The tensor that operand k of a kernel's node is, where it is a parameter of i64. */
static hn_tensor *operand(const hn_model *m, const hn_kernel *k, const hn_node *n, size_t i, hn_tensor *in) {
    const hn_value *v = &m->g->value[n->in[i]];
    if (v->node || v->block != k->body || in[v->index].dtype != HONE_I64) return NULL;
    return &in[v->index];
}

void hn_served_kernel(const hn_model *m, const hn_kernel *k, hn_tensor *in) {
    const hn_blk *b = &m->g->block[k->body];
    for (uint32_t i = 0; i < b->n_node; i++) {
        const hn_node *n = &m->g->node[b->node[i]];
        if (n->op != HN_OP_ATTEND) continue;
        hn_tensor *table = operand(m, k, n, 3, in), *sequence = operand(m, k, n, 4, in),
                  *position = operand(m, k, n, 5, in);
        const hn_value *pool = &m->g->value[n->in[1]];
        if (!table || !sequence || !position || pool->node || pool->block != k->body) continue;
        const layout x = {position->dim[0], table->dim[0], table->dim[1], in[pool->index].dim[0],
                          hn_attr_i(n, HN_A_BLOCK, 1)};
        for (int64_t t = 0; t < x.tokens; t++) {
            ((int64_t *)sequence->data)[t] = sequence_of(&x, t);
            ((int64_t *)position->data)[t] = position_of(&x, t);
        }
        fill_table(&x, table->data);
    }
}
