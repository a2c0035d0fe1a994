/* random_inputs.c — inputs for bench, profile and verify: splitmix64 and Box-Muller, the same numbers everywhere. */
#include "assess/assess_int.h"
#include "base/err.h"
#include "base/str.h"

#include <hone/inputs.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static uint64_t next(uint64_t *s) {
    uint64_t x = *s += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double normal(uint64_t *s) {
    double u = ((double)(next(s) >> 11) + 1) * 0x1p-53, v = (double)(next(s) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* f32 to f16, towards 0; what is too small for a normal number is 0. */
static uint16_t half_of(uint32_t bits) {
    uint32_t exponent = bits >> 23 & 255;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    return exponent < 113 ? sign : (uint16_t)(sign | (exponent - 112) << 10 | (bits >> 13 & 1023));
}

static void fill(hone_array *a, size_t n, uint64_t *s) {
    size_t size_b = hone_dtype_size_b(a->dtype);
    for (size_t i = 0; i < n; i++) {
        float f = (float)normal(s);
        double d = f;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        uint16_t b = (uint16_t)(bits >> 16), h = half_of(bits);
        uint64_t whole = next(s) >> 63;
        const void *from = a->dtype == HONE_F32    ? (const void *)&f
                           : a->dtype == HONE_F64  ? (const void *)&d
                           : a->dtype == HONE_F16  ? (const void *)&h
                           : a->dtype == HONE_BF16 ? (const void *)&b
                                                   : (const void *)&whole; /* little-endian: the low bytes */
        memcpy((char *)a->data + i * size_b, from, size_b);
    }
}

/* --- sizes -------------------------------------------------------------------------------------------------------- */

void hn_dim_word(const char *shape, int32_t d, char out[HN_WORD_N]) {
    const char *s = shape + (*shape == '[');
    int depth = 0;
    size_t n = 0;
    for (; *s && !(depth == 0 && *s == ']'); s++) {
        if (*s == '(') depth++;
        if (*s == ')') depth--;
        if (*s == ',' && !depth) {
            if (!d--) break;
            continue;
        }
        if (d == 0 && n + 1 < HN_WORD_N && (*s != ' ' || n)) out[n++] = *s;
    }
    out[n] = 0;
}

static bool given_size(const char *sizes, const char *word, int64_t *out) {
    size_t n = strlen(word);
    for (const char *s = sizes; s && *s; s = strchr(s, ','), s = s ? s + 1 : NULL)
        if (!strncmp(s, word, n) && s[n] == '=') {
            char *end;
            *out = strtoll(s + n + 1, &end, 10);
            return end > s + n + 1 && (*end == ',' || !*end);
        }
    return false;
}

/* Is this one of the names in the shapes of the inputs before number n_inputs? */
static bool names_size(const hone_model *m, int32_t n_inputs, const char *name, size_t n) {
    for (int32_t i = 0; i < n_inputs; i++)
        for (int32_t d = 0; d < m->input[i].rank; d++) {
            char word[HN_WORD_N];
            hn_dim_word(m->input[i].shape, d, word);
            if (m->input[i].dim[d] < 0 && strlen(word) == n && !strncmp(word, name, n)) return true;
        }
    return false;
}

static bool has_symbols(const hone_model *m) {
    for (int32_t i = 0; i < m->n_inputs; i++)
        for (int32_t d = 0; d < m->input[i].rank; d++)
            if (m->input[i].dim[d] < 0) return true;
    return false;
}

/* "batch=1,seq=128": numbers, for sizes that there are. A model whose sizes are all fixed has none and takes any. */
static hone_rc check_sizes(const hone_model *m, const char *sizes, hone_err *err) {
    for (const char *s = sizes; s && *s;) {
        size_t n = strcspn(s, ","), name_n = strcspn(s, "=,");
        char *end = NULL;
        bool number = name_n < n && strtoll(s + name_n + 1, &end, 10) >= 0 && end > s + name_n + 1 && end == s + n;
        if (!number && !(name_n < n && s[name_n + 1] == '-'))
            return hn_fail(err, HONE_E_USAGE, "'%.*s' is no size; give them as name=number, such as batch=1", (int)n,
                           s);
        if (has_symbols(m) && !names_size(m, m->n_inputs, s, name_n))
            return hn_fail(err, HONE_E_USAGE, "no input of model '%s' has a size '%.*s'", m->name, (int)name_n, s);
        s += n + (s[n] == ',');
    }
    return HONE_OK;
}

static hone_rc choose_sizes(const hone_model_port *p, const char *sizes, hone_array *a, hone_err *err) {
    for (int32_t d = 0; d < p->rank; d++) {
        char word[HN_WORD_N];
        a->dim[d] = p->dim[d] >= 0 ? p->dim[d] : p->low[d] > 1 ? p->low[d] : 1;
        hn_dim_word(p->shape, d, word);
        if (p->dim[d] < 0) given_size(sizes, word, &a->dim[d]);
        if (a->dim[d] < p->low[d] || a->dim[d] > p->high[d])
            return hn_fail(err, HONE_E_USAGE, "'%s' of input '%s' cannot be %lld: the model takes %lld .. %lld", word,
                           p->name, (long long)a->dim[d], (long long)p->low[d], (long long)p->high[d]);
    }
    return HONE_OK;
}

static hone_rc make(const hone_model_port *p, const char *sizes, uint64_t seed, hone_array *out, hone_err *err) {
    hone_array a = {.dtype = (hone_dtype)p->dtype, .rank = (uint32_t)p->rank};
    size_t n = 1, size_b = hone_dtype_size_b(a.dtype);
    hone_rc rc = choose_sizes(p, sizes, &a, err);
    if (rc) return rc;
    bool fits = true;
    for (uint32_t d = 0; d < a.rank; d++) fits = fits && !__builtin_mul_overflow(n, (size_t)a.dim[d], &n);
    a.data = fits && n <= SIZE_MAX / 16 ? calloc(n * size_b + 8, 1) : NULL;
    if (!a.data) return hn_fail(err, HONE_E_NOMEM, "out of memory for input '%s'", p->name);
    fill(&a, n, &seed);
    *out = a;
    return HONE_OK;
}

/* Of the step of a language model (compose/decoder.h): the logits of the last tokens are wanted. */
static void want_last(const hone_model *m, hone_array *in) {
    const hone_array *token = NULL, *want = NULL;
    for (int32_t i = 0; i < m->n_inputs; i++) {
        bool list = in[i].dtype == HONE_I64 && in[i].rank == 1;
        if (list && !strcmp(m->input[i].name, "token")) token = &in[i];
        if (list && !strcmp(m->input[i].name, "want")) want = &in[i];
    }
    for (int64_t i = 0; token && want && i < want->dim[0]; i++) {
        int64_t at = token->dim[0] - want->dim[0] + i;
        ((int64_t *)want->data)[i] = at > 0 ? at : 0;
    }
}

hone_rc hone_inputs_random(const hone_model *m, const char *sizes, uint64_t seed, hone_array *out, hone_err *err) {
    hone_rc rc = HONE_OK;
    int32_t n = 0;
    hone_array *made = calloc((size_t)m->n_inputs + 1, sizeof *made);
    if (!made) return hn_fail(err, HONE_E_NOMEM, "out of memory for the inputs");
    rc = check_sizes(m, sizes, err);
    while (n < m->n_inputs && !rc) {
        rc = make(&m->input[n], sizes, seed * 1000003 + (uint64_t)n, &made[n], err);
        if (!rc) n++;
    }
    if (!rc) want_last(m, made);
    if (!rc) memcpy(out, made, (size_t)n * sizeof *made);
    while (rc && n--) free(made[n].data);
    free(made);
    return rc;
}

hone_rc hone_inputs_refused(const hone_model *m, hone_rc rc, hone_err *err) {
    hn_str names = {0};
    if (rc != HONE_E_INPUT || !err) return rc;
    for (int32_t i = 0; i < m->n_inputs; i++)
        for (int32_t d = 0; d < m->input[i].rank; d++) {
            char word[HN_WORD_N];
            hn_dim_word(m->input[i].shape, d, word);
            if (m->input[i].dim[d] >= 0 || names_size(m, i, word, strlen(word))) continue;
            hn_str_addf(&names, "%s%s=N", names.n ? "," : "", word);
        }
    if (names.n && !names.failed) {
        size_t n = strlen(err->text);
        snprintf(err->text + n, sizeof err->text - n, "; say sizes that fit together: --size %s", names.text);
    }
    hn_str_free(&names);
    return rc;
}
