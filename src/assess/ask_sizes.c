/* ask_sizes.c — sizes for the inputs of a library, which knows its model's relations and tells nobody: usual ones are
 * tried in turn until a run accepts them. */
#include "assess/assess_int.h"
#include "assess/usual_sizes.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <hone/inputs.h>

#include <stdlib.h>
#include <string.h>

/* Refused sizes cost the inputs that are drawn for them, accepted ones a run. */
enum { MOST_ASKED = 1000 };
static const double most_elements = 1 << 24; /* of all inputs together */

typedef struct asker {
    const hone_model *m;
    hone_model_instance *instance;
    hn_arena arena;
    const char *given; /* sizes that are not searched */
    uint64_t seed;
    hn_free_size *free;
    const char **name; /* of free[i] */
    size_t n_free;
    hone_array *in;
    hone_model_tensor *io; /* inputs, then outputs */
    hn_str text;           /* the sizes that are tried */
} asker;

static bool is_given(const char *sizes, const char *name) {
    size_t n = strlen(name);
    for (const char *at = sizes; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, name, n) && at[n] == '=') return true;
    return false;
}

static void add_free(asker *k, const hone_model_port *p, int32_t d) {
    char word[HN_WORD_N];
    hn_dim_word(p->shape, d, word);
    bool there = p->dim[d] >= 0 || !*word || is_given(k->given, word) || k->n_free == HN_SIZES_FREE;
    for (size_t i = 0; i < k->n_free && !there; i++) there = !strcmp(k->name[i], word);
    if (there) return;
    const hn_size_place place = {word, (size_t)p->rank, (size_t)d, (hone_dtype)p->dtype, p->dim[p->rank - 1]};
    hn_free_size *f = &k->free[k->n_free];
    hn_size_list(f, &place, p->low[d] > 1 ? p->low[d] : 1, p->high[d]);
    k->name[k->n_free] = hn_strdup(&k->arena, word);
    k->n_free += f->n > 0 && k->name[k->n_free];
}

/* --- one try -------------------------------------------------------------------------------------------------------
 */

static void write_sizes(asker *k) {
    k->text.n = 0;
    hn_str_add(&k->text, k->given ? k->given : "");
    for (size_t i = 0; i < k->n_free; i++)
        hn_str_addf(&k->text, "%s%s=%lld", k->text.n ? "," : "", k->name[i],
                    (long long)k->free[i].value[k->free[i].at]);
}

/* How many elements the inputs have, of sizes that are free as they stand. */
static bool fit(const asker *k) {
    double all = 0;
    for (int32_t i = 0; i < k->m->n_inputs; i++) {
        const hone_model_port *p = &k->m->input[i];
        double n = 1;
        for (int32_t d = 0; d < p->rank; d++) {
            char word[HN_WORD_N];
            hn_dim_word(p->shape, d, word);
            for (size_t f = 0; f < k->n_free && p->dim[d] < 0; f++)
                if (!strcmp(k->name[f], word)) n *= (double)k->free[f].value[k->free[f].at];
            if (p->dim[d] > 0) n *= (double)p->dim[d];
        }
        all += n;
    }
    return all <= most_elements;
}

/* What a run says of anything but sizes is for the run that follows. */
static bool accepts(void *arg) {
    asker *k = arg;
    const size_t n_in = (size_t)k->m->n_inputs, n_out = (size_t)k->m->n_outputs;
    write_sizes(k);
    if (k->text.failed || !fit(k) || hone_inputs_random(k->m, k->text.text, k->seed, k->in, NULL)) return false;
    memset(k->io, 0, (n_in + n_out) * sizeof *k->io);
    for (size_t i = 0; i < n_in; i++) {
        const hone_array *a = &k->in[i];
        k->io[i] = (hone_model_tensor){.data = a->data, .dtype = (int32_t)a->dtype, .rank = (int32_t)a->rank};
        memcpy(k->io[i].dim, a->dim, sizeof k->io[i].dim);
    }
    hone_model_rc rc = k->m->run(k->instance, k->io, n_in, k->io + n_in, n_out);
    for (size_t i = 0; i < n_in; i++) hone_free(k->in[i].data);
    return rc != HONE_MODEL_SHAPE && rc != HONE_MODEL_NOMEM;
}

/* --- the search ----------------------------------------------------------------------------------------------------
 */

static bool ask(asker *k) {
    hone_model_config config = hone_model_defaults();
    hn_size_search s = {.size = k->free, .n = k->n_free, .most_tries = MOST_ASKED, .holds = accepts, .arg = k};
    config.n_threads = 1;
    if (k->m->create(&config, &k->instance)) return false; /* whoever runs the model will say why */
    bool found = hn_size_search_run(&s);
    k->m->free(k->instance);
    return found;
}

hone_rc hone_inputs_accepted(const hone_model *m, const char *sizes, uint64_t seed, char **out, hone_err *err) {
    asker k = {.m = m, .given = sizes, .seed = seed};
    k.free = hn_alloc_n(&k.arena, HN_SIZES_FREE, sizeof *k.free);
    k.name = hn_alloc_n(&k.arena, HN_SIZES_FREE, sizeof *k.name);
    k.in = hn_alloc_n(&k.arena, (size_t)m->n_inputs + 1, sizeof *k.in);
    k.io = hn_alloc_n(&k.arena, (size_t)(m->n_inputs + m->n_outputs) + 1, sizeof *k.io);
    bool good = k.free && k.name && k.in && k.io;
    for (int32_t i = 0; i < m->n_inputs && good; i++)
        for (int32_t d = 0; d < m->input[i].rank; d++) add_free(&k, &m->input[i], d);
    if (good && !(k.n_free && ask(&k))) k.n_free = 0, write_sizes(&k);
    char *text = good && hn_arena_ok(&k.arena) && !k.text.failed ? hn_str_take(&k.text) : NULL;
    hn_str_free(&k.text);
    hn_arena_free(&k.arena);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory for sizes of the inputs");
    *out = text;
    return HONE_OK;
}
