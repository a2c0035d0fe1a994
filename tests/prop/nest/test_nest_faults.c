/* Faults planted at random places of nests for machines with blocks of threads: each is found, by the verifier, by the
 * interpreter, or because the results differ; which of them found it is printed. */
#include "../../unit/nest/device_nests.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/interp.h"
#include "nest/barrier.h"
#include "nest/interp.h"
#include "sketch/gpu.h"
#include "tap.h"

#include <stdlib.h>

typedef struct kernel_case {
    const char *name, *kind;
    const char *text; /* without "ir 1" */
    int64_t symbol[3][3];
    double rtol;
} kernel_case;

#define X "input %0 : f32[37] \"x\"\n"
#define XY X "input %1 : f32[37] \"y\"\n"
#define N3                                                                                                             \
    {                                                                                                                  \
        {5, 7, 3}, {1, 1, 1}, { 64, 33, 20 }                                                                           \
    }
static const kernel_case cases[] = {
#include "../../unit/backend/kernel_cases.inc"
};
enum { N_CASES = sizeof cases / sizeof *cases, SUBJECTS = 24, STEPS = 150000, FAULTS = 50, FAULTS_LONG = 100 };

static const hn_machine gpu = {.threads = 1024, .shared_b = 48 << 10, .warp = 32, .processors = 8};

/* A nest that is right, as text, with what it gives for some inputs. */
typedef struct subject {
    char *text;
    int64_t symbol[3];
    hn_arena a;
    hn_tensor in[8], out[8];
    uint32_t n_in, n_out;
} subject;

static hn_rng r;
static uint32_t below(uint64_t n) { return (uint32_t)hn_rng_below(&r, n); }

static hn_nest *read_nest(const char *text, hn_arena *a, hone_err *err) {
    hn_nest *n;
    return hn_nest_parse(text, a, hn_dims_new(a), &n, err) ? NULL : n;
}

/* Symbols in a new table have other numbers: subjects have none. */
static bool buffers(hn_nest *n, hn_space space, const int64_t *symbol, hn_arena *a, hn_tensor *t, uint32_t *count) {
    *count = 0;
    for (hn_buf b = 1; b < n->n_buf; b++) {
        int64_t size;
        if (n->buf[b].space != space) continue;
        if (*count == 8 || !hn_dim_eval(n->dims, n->buf[b].size, symbol, &size)) return false;
        if (!hn_tensor_new(a, n->buf[b].dtype, 1, &size, &t[(*count)++])) return false;
    }
    return true;
}

static hone_rc run_nest(hn_nest *n, const subject *s, hn_tensor *out, hone_err *err) {
    hn_nest_run run = {.in = s->in, .out = out, .symbol = s->symbol, .steps = 4 * STEPS};
    return hn_nest_interpret(n, &run, err);
}

/* Takes the nest as a subject where it has a barrier and is short; barriers are derived here. */
static bool take(subject *s, hn_nest *n) {
    hone_err err = {0};
    hn_str text = {0};
    bool good = hn_dims_symbols(n->dims) == 0 && !hn_nest_barriers(n, &err) && !hn_nest_verify_device(n, &gpu, &err);
    memset(s, 0, sizeof *s);
    hn_nest_print(n, &text);
    good = good && strstr(text.text, "barrier") != NULL;
    hn_nest *again = good ? read_nest(text.text, &s->a, &err) : NULL;
    good = again && buffers(again, HN_PARAM, s->symbol, &s->a, s->in, &s->n_in) &&
           buffers(again, HN_RESULT, s->symbol, &s->a, s->out, &s->n_out);
    for (uint32_t i = 0; good && i < s->n_in; i++)
        for (int64_t k = 0, c = hn_tensor_n(&s->in[i]); k < c; k++)
            if (hn_is_float(s->in[i].dtype))
                hn_set_f(&s->in[i], k, (double)below(1 << 16) / 8192 - 4);
            else
                hn_set_i(&s->in[i], k, below(3));
    hn_nest_run run = {.in = s->in, .out = s->out, .symbol = s->symbol, .steps = STEPS};
    good = good && !hn_nest_interpret(again, &run, &err);
    if (good) s->text = hn_str_take(&text);
    hn_str_free(&text);
    if (!good) hn_arena_free(&s->a);
    return good;
}

static bool take_text(subject *s, const char *text) {
    hn_arena a = {0};
    hone_err err = {0};
    hn_nest *n = read_nest(text, &a, &err);
    bool good = n && take(s, n);
    if (!good) printf("# %s\n", err.text);
    hn_arena_free(&a);
    return good;
}

static bool take_case(subject *s, const kernel_case *c, const hn_sketch *sketch, int which) {
    hn_arena a = {0};
    hn_graph *g = NULL;
    hn_str text = {0};
    hone_err err = {0};
    hn_nest *n;
    hn_knobs knobs = {0};
    int64_t setting[HN_KNOBS_MAX] = {0};
    const char *why = "";
    hn_str_addf(&text, "ir 1\n%s", c->text);
    bool good = !hn_parse(text.text, text.n, c->name, &g, &err) && !hn_nest_lower(g, 0, c->kind, &a, &n, &err) &&
                sketch->fits(n, &gpu, &knobs);
    for (int i = 0; i < knobs.n; i++)
        setting[i] = which ? knobs.knob[i].value[(which + i) % knobs.knob[i].n] : knobs.knob[i].model;
    good = good && sketch->apply(n, &gpu, setting, &why) && take(s, n);
    hn_str_free(&text);
    if (g) hn_graph_free(g);
    hn_arena_free(&a);
    return good;
}

/* -- faults: each changes the nest at a place chosen by chance; false: it has no such place */
typedef bool fault(hn_nest *n);

/* A statement that the question says yes to; 0: there is none. */
static hn_st any_statement(hn_nest *n, bool (*fits)(const hn_nest *n, hn_st s)) {
    uint32_t count = 0;
    hn_st found = 0;
    for (hn_st s = 1; s < n->n_st; s++)
        if (fits(n, s) && below(++count) == 0) found = s;
    return found;
}

static bool is_barrier(const hn_nest *n, hn_st s) { return n->st[s].kind == HN_ST_BARRIER; }
static bool is_shared(const hn_nest *n, hn_buf b) {
    return n->buf[b].space == HN_SHARED || n->buf[b].space == HN_LOCAL;
}
static bool reads_shared(const hn_nest *n, hn_st s) {
    const hn_scalar *x = n->st[s].kind == HN_ST_LET ? &n->sv[n->st[s].value] : NULL;
    return x && x->kind == HN_SV_LOAD && is_shared(n, x->buf);
}
static bool is_tile(const hn_nest *n, hn_st s) {
    const hn_stmt *x = &n->st[s];
    return reads_shared(n, s) ||
           ((x->kind == HN_ST_STORE || x->kind == HN_ST_COPY || x->kind == HN_ST_PUSH) && is_shared(n, x->buf));
}
/* Is a statement inside of a loop whose length is a value? Such loops repeat a sum that is not finite; with these
 * inputs they do not run, so that no fault in them shows (tests/unit/backend/test_device has infinite weights). */
static bool runs_by_value(const hn_nest *n, hn_st first, hn_st s, bool by_value) {
    for (hn_st k = first; k; k = n->st[k].next) {
        bool inner = by_value;
        if (k == s) return by_value;
        if (n->st[k].kind != HN_ST_LOOP) continue;
        const hn_linear *extent = &n->ix[n->extent[n->st[k].var]];
        for (uint32_t t = 0; t < extent->n; t++) inner |= n->atom[extent->term[t].atom].kind == HN_AT_VALUE;
        if (runs_by_value(n, n->st[k].body, s, inner)) return true;
    }
    return false;
}
static bool reads_input(const hn_nest *n, hn_st s) {
    if (runs_by_value(n, n->first, s, false)) return false;
    const hn_scalar *x = n->st[s].kind == HN_ST_LET ? &n->sv[n->st[s].value] : NULL;
    return (x && x->kind == HN_SV_LOAD && hn_nest_constant(n, x->buf)) || n->st[s].kind == HN_ST_COPY;
}
static hn_ix *tile_index(hn_nest *n, hn_st s) {
    return n->st[s].kind == HN_ST_LET ? &n->sv[n->st[s].value].at : &n->st[s].at;
}

static void unlink_statement(hn_nest *n, hn_st s) {
    if (n->first == s) n->first = n->st[s].next;
    for (hn_st k = 1; k < n->n_st; k++) {
        if (k == s) continue;
        if (n->st[k].next == s) n->st[k].next = n->st[s].next;
        if (n->st[k].kind == HN_ST_LOOP && n->st[k].body == s) n->st[k].body = n->st[s].next;
    }
}

static bool missing_barrier(hn_nest *n) {
    hn_st s = any_statement(n, is_barrier);
    if (s) unlink_statement(n, s);
    return s;
}

/* The barrier where only threads other than the first come by. */
static bool divergent_barrier(hn_nest *n) {
    hn_st s = any_statement(n, is_barrier);
    hn_var thread = 0;
    for (hn_st k = 1; k < n->n_st; k++)
        if (n->st[k].kind == HN_ST_LOOP && n->st[k].loop == HN_GROUP) thread = n->st[k].var;
    if (!s || !thread) return false;
    hn_var v = hn_nest_var(n, hn_ix_min(n, hn_ix_var(n, thread), hn_ix_int(n, 1)));
    hn_st inner = hn_nest_barrier(n);
    n->st[s] = (hn_stmt){.kind = HN_ST_LOOP, .loop = HN_SERIAL, .var = v, .body = inner, .next = n->st[s].next};
    return true;
}

static bool off_by_one(hn_nest *n) {
    hn_st s = any_statement(n, is_tile);
    if (!s) return false;
    hn_ix one = hn_ix_int(n, below(2) ? 1 : -1), at = hn_ix_add(n, *tile_index(n, s), one);
    *tile_index(n, s) = at;
    return true;
}

/* The other index, or one bit of it, where one term is a swizzle. */
static bool has_swizzle(const hn_nest *n, hn_st s) {
    if (!is_tile(n, s)) return false;
    hn_ix at = *tile_index((hn_nest *)n, s);
    for (uint32_t t = 0; t < n->ix[at].n; t++)
        if (n->atom[n->ix[at].term[t].atom].kind == HN_AT_XOR) return true;
    return false;
}
static bool wrong_swizzle(hn_nest *n) {
    hn_st s = any_statement(n, has_swizzle);
    if (!s) return false;
    hn_ix at = *tile_index(n, s);
    for (uint32_t t = 0; t < n->ix[at].n; t++) {
        const hn_term x = n->ix[at].term[t];
        const hn_atom xor = n->atom[x.atom];
        if (xor.kind != HN_AT_XOR) continue;
        hn_ix was = hn_ix_scale(n, hn_ix_xor(n, xor.a, xor.b), x.coef);
        hn_ix other =
            below(2) ? hn_ix_xor(n, xor.a, hn_ix_xor(n, xor.b, hn_ix_int(n, 1))) : hn_ix_dim(n, hn_dim_int(n->dims, 0));
        if (hn_ix_is_int(n, other, &(int64_t){0})) other = below(2) ? xor.a : xor.b;
        at = hn_ix_add(n, hn_ix_sub(n, at, was), hn_ix_scale(n, other, x.coef));
        break;
    }
    *tile_index(n, s) = at;
    return true;
}

/* A stage before its time: a wait that leaves one more group under way, or the stage of another turn. */
static bool is_stage(const hn_nest *n, hn_st s) {
    if (n->st[s].kind == HN_ST_WAIT) return true;
    if (!is_tile(n, s)) return false;
    hn_ix at = *tile_index((hn_nest *)n, s);
    for (uint32_t t = 0; t < n->ix[at].n; t++) {
        const hn_atom *x = &n->atom[n->ix[at].term[t].atom];
        int64_t by;
        if (x->kind == HN_AT_MOD && hn_dim_is_int(n->dims, x->by, &by) && by <= 3 && n->ix[x->a].n == 1 &&
            n->atom[n->ix[x->a].term[0].atom].kind == HN_AT_VAR)
            for (hn_st k = 1; k < n->n_st; k++)
                if (n->st[k].kind == HN_ST_LOOP && n->st[k].loop == HN_SERIAL &&
                    n->st[k].var == n->atom[n->ix[x->a].term[0].atom].id)
                    return true;
    }
    return false;
}
static bool stage_too_early(hn_nest *n) {
    hn_st s = any_statement(n, is_stage);
    int64_t by, coef;
    if (!s) return false;
    if (n->st[s].kind == HN_ST_WAIT) return n->st[s].count++, true;
    hn_ix at = *tile_index(n, s);
    for (uint32_t t = 0; t < n->ix[at].n; t++) {
        const hn_term x = n->ix[at].term[t];
        const hn_atom m = n->atom[x.atom];
        if (m.kind != HN_AT_MOD || !hn_dim_is_int(n->dims, m.by, &by) || !hn_dim_is_int(n->dims, x.coef, &coef) ||
            coef < 32)
            continue;
        hn_ix other = hn_ix_mod(n, hn_ix_add(n, m.a, hn_ix_int(n, 1 + below((uint64_t)by - 1))), m.by);
        hn_ix was = hn_ix_mod(n, m.a, m.by);
        at = hn_ix_add(n, at, hn_ix_scale(n, hn_ix_sub(n, other, was), x.coef));
        break;
    }
    bool changed = at != *tile_index(n, s);
    *tile_index(n, s) = at;
    return changed;
}

/* A barrier of a cluster left out, or one of each block alone. */
static bool is_cluster_barrier(const hn_nest *n, hn_st s) { return is_barrier(n, s) && n->st[s].cluster; }
static bool missing_cluster_barrier(hn_nest *n) {
    hn_st s = any_statement(n, is_cluster_barrier);
    if (s && below(2))
        unlink_statement(n, s);
    else if (s)
        n->st[s].cluster = false;
    return s;
}

/* A copy or a push to where another block's part lies, or from there. */
static bool is_part(const hn_nest *n, hn_st s) {
    return n->st[s].kind == HN_ST_PUSH || (n->st[s].kind == HN_ST_COPY && hn_nest_cluster(n) > 1);
}
static bool wrong_part(hn_nest *n) {
    hn_st s = any_statement(n, is_part);
    hn_var c = 0;
    for (hn_st k = 1; s && k < n->n_st; k++)
        if (n->st[k].kind == HN_ST_LOOP && n->st[k].loop == HN_CLUSTER) c = n->st[k].var;
    hn_ix *var = s ? HN_NEW_N(n->a, hn_ix, n->n_var + 1u) : NULL;
    if (!var) return false;
    var[c] = below(2) ? hn_ix_int(n, below(2)) : hn_ix_sub(n, hn_ix_int(n, 1), hn_ix_var(n, c));
    const hn_subst other = {var, NULL, n->n_var, 0};
    if (n->st[s].kind == HN_ST_COPY && below(2))
        n->st[s].from_at[0] = hn_ix_subst(n, n->st[s].from_at[0], &other);
    else
        n->st[s].at = hn_ix_subst(n, n->st[s].at, &other);
    return true;
}

/* The line after the last one, or a condition forgotten where there is one. */
static bool past_the_end(hn_nest *n) {
    hn_st s = any_statement(n, reads_input);
    if (!s) return false;
    hn_stmt *x = &n->st[s];
    hn_ix *at = x->kind == HN_ST_COPY ? &x->from_at[0] : &n->sv[x->value].at;
    hn_buf b = x->kind == HN_ST_COPY ? x->from[0] : n->sv[x->value].buf;
    int64_t size, high;
    hn_dim top = hn_ix_high(n, *at);
    if (!hn_dim_is_int(n->dims, n->buf[b].size, &size)) return false;
    if (!top || !hn_dim_is_int(n->dims, top, &high) || high > size) high = size - 1;
    int64_t more = x->kind == HN_ST_COPY ? x->count * (int64_t)(size / x->count) : size - high + below(3);
    hn_ix moved = hn_ix_add(n, *at, hn_ix_int(n, more));
    if (x->kind == HN_ST_COPY)
        n->st[s].from_at[0] = moved;
    else
        n->sv[n->st[s].value].at = moved;
    return true;
}

typedef enum finder { NOT_FOUND, VERIFIER, INTERPRETER, RESULTS, N_FINDERS } finder;

static finder find(hn_nest *n, const subject *s) {
    hn_arena a = {0};
    hn_tensor got[8];
    uint32_t n_out;
    hone_err err = {0};
    finder by = NOT_FOUND;
    if (hn_nest_verify_device(n, &gpu, &err))
        by = VERIFIER;
    else if (!buffers(n, HN_RESULT, s->symbol, &a, got, &n_out) || run_nest(n, s, got, &err))
        by = INTERPRETER;
    for (uint32_t i = 0; by == NOT_FOUND && i < n_out; i++)
        if (!hn_tensor_compare(&got[i], &s->out[i], (hn_match_rule){0, 0}).same) by = RESULTS;
    hn_arena_free(&a);
    return by;
}

static void check_fault(const char *name, fault *plant, const subject *list, int n_subjects) {
    const int most = getenv("HONE_LONG") ? FAULTS_LONG : FAULTS;
    int count[N_FINDERS] = {0}, tries = 0;
    for (int k = 0; k < most && tries < 100 * most; tries++) {
        hn_arena a = {0};
        hone_err err = {0};
        const subject *s = &list[below((uint64_t)n_subjects)];
        hn_nest *n = read_nest(s->text, &a, &err);
        if (n && plant(n)) {
            finder by = find(n, s);
            count[by]++;
            k++;
            if (by == NOT_FOUND) {
                hn_str text = {0};
                hn_nest_print(n, &text);
                printf("# not found: %s\n", name);
                for (char *line = strtok(text.text, "\n"); line; line = strtok(NULL, "\n")) printf("#   %s\n", line);
                hn_str_free(&text);
            }
        }
        hn_arena_free(&a);
    }
    ok(count[NOT_FOUND] == 0 && count[VERIFIER] + count[INTERPRETER] + count[RESULTS] == most,
       "%s: %d planted, found by the verifier %d, the interpreter %d, other results %d", name, most, count[VERIFIER],
       count[INTERPRETER], count[RESULTS]);
}

/* The product as it is defined, and the square turned: what the interpreter gave for the first two. */
static void check_values(const subject *product, const subject *turned) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < 64; i++)
        for (int64_t j = 0; j < 16; j++) {
            double sum = 0;
            for (int64_t k = 0; k < 64; k++)
                sum += hn_get_f(&product->in[0], 64 * i + k) * hn_get_f(&product->in[1], 64 * j + k);
            double d = hn_get_f(&product->out[0], 16 * i + j) - sum;
            wrong += !(d < 1e-3 && d > -1e-3);
        }
    ok(wrong == 0, "tile products of f16 give the product");
    for (int64_t i = 0; i < 2500; i++)
        wrong += hn_get_f(&turned->in[0], i) != hn_get_f(&turned->out[0], i % 50 * 50 + i / 50);
    ok(wrong == 0, "what goes through swizzled shared memory is turned");
}

int main(void) {
    static subject list[SUBJECTS];
    int n = 0;
    r = hn_rng_make(1, 24);
    ok(take_text(&list[n++], nest_pipelined), "tile products in three stages");
    ok(take_text(&list[n++], nest_turned), "a transposition in swizzled shared memory");
    ok(take_text(&list[n++], nest_staged), "sums in two stages");
    ok(take_text(&list[n++], nest_clustered), "a tile that two blocks bring for each other");
    for (int i = 0; i < N_CASES && n < SUBJECTS; i++)
        for (int k = 0; hn_gpu_sketches[k] && n < SUBJECTS; k++)
            n += take_case(&list[n], &cases[i], hn_gpu_sketches[k], 0);
    check_values(&list[0], &list[1]);
    printf("# %d nests\n", n);
    check_fault("a missing barrier", missing_barrier, list, n);
    check_fault("a tile off by one", off_by_one, list, n);
    check_fault("a swizzle wrong in one operand", wrong_swizzle, list, n);
    check_fault("a stage used too early", stage_too_early, list, n);
    check_fault("a divergent barrier", divergent_barrier, list, n);
    check_fault("a read past the end", past_the_end, list, n);
    check_fault("a barrier of a cluster missing", missing_cluster_barrier, list, n);
    check_fault("a wrong part of a cluster's tile", wrong_part, list, n);
    for (int i = 0; i < n; i++) {
        free(list[i].text);
        hn_arena_free(&list[i].a);
    }
    return done_testing();
}
