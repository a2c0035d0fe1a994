/* winner.c — what tuning found, taken by a compilation: the key of a kernel, and the winner that has it.
 *
 * A winner is taken where its key agrees, its compiler is the one that was measured, its flags are among those that
 * tuning tries (a file of winners comes from anywhere: nothing else reaches a command line), and both C texts, the
 * tuned one and the default one, are those that were measured in the proof. Otherwise the proof does not apply.
 */
#include "compile/winner.h"

#include "base/hash.h"
#include "build/build.h"

#include <hone/machine.h>
#include <hone/target.h>

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- flags ---------------------------------------------------------------------------------------------------------
 */

static bool is_known_flag(const char *family, const char *word, size_t n) {
    for (const char *const *flag = hone_family_kernel_flags(family); flag && *flag; flag++)
        if (strlen(*flag) == n && !strncmp(*flag, word, n)) return true;
    return false;
}

bool hn_flags_known(const char *family, const char *flags) {
    for (const char *p = flags; *p;) {
        size_t n = strcspn(p, " ");
        if (n && !is_known_flag(family, p, n)) return false;
        p += n + (p[n] == ' ');
    }
    return true;
}

/* --- the key -------------------------------------------------------------------------------------------------------
 */

const char *hn_device_text(hn_arena *a) {
    hone_machine machine;
    hone_device device;
    hone_machine_get(&machine);
    hone_device_detect(&device);
    return hn_format(a, "%s; %s; instructions %.8s; L1d %llu KiB, L2 %llu KiB, L3 %llu KiB", machine.cpu, device.isa,
                     machine.features, (unsigned long long)device.l1d_b >> 10, (unsigned long long)device.l2_b >> 10,
                     (unsigned long long)device.l3_b >> 10);
}

/* Values that stand for sizes which are open at compile time: 1 for what the inputs have first, where they have more
 * dimensions (a batch), 128 for others; within their bounds. */
void hn_usual_sizes(const hn_model *m, int64_t *value) {
    const hn_graph *g = m->g;
    const hn_blk *b = &g->block[0];
    for (hn_symbol s = 0; s < hn_dims_symbols(g->dims); s++) {
        int64_t low, high, x = 128;
        for (uint32_t i = 0; i < b->n_param; i++) {
            const hn_type *t = hn_type_of(g, b->param[i]);
            hn_symbol first;
            if (t->rank > 1 && hn_dim_is_symbol(g->dims, t->dim[0], &first) && first == s) x = 1;
        }
        hn_symbol_range(g->dims, s, &low, &high);
        value[s] = x < low ? low : x > high ? high : x;
    }
}

static void mark_type(const hn_graph *g, hn_val v, bool *used) {
    const hn_type *t = hn_type_of(g, v);
    for (size_t d = 0; d < t->rank; d++) hn_dim_mark(g->dims, t->dim[d], used);
}

/* "batch=1 seq=128", of the symbols that the body's types have; then "2 threads" where they are more than one. */
static const char *sizes_text(hn_model *m, hn_block body, const int64_t *value, uint32_t n_threads) {
    const hn_graph *g = m->g;
    const hn_blk *b = &g->block[body];
    size_t n = hn_dims_symbols(g->dims);
    bool *used = hn_alloc_n(&m->arena, n + 1, sizeof *used);
    hn_str text = {0};
    for (uint32_t i = 0; used && i < b->n_param; i++) mark_type(g, b->param[i], used);
    for (uint32_t i = 0; used && i < b->n_result; i++) mark_type(g, b->result[i], used);
    for (hn_symbol s = 0; used && s < n; s++)
        if (used[s])
            hn_str_addf(&text, "%s%s=%lld", text.n ? " " : "", hn_symbol_name(g->dims, s), (long long)value[s]);
    if (n_threads > 1) hn_str_addf(&text, "%s%u threads", text.n ? " " : "", n_threads);
    const char *out = text.failed ? NULL : hn_strdup(&m->arena, text.text ? text.text : "");
    hn_str_free(&text);
    return out ? out : "";
}

bool hn_winner_key(hn_model *m, const hn_kernel *k, const int64_t *value, uint32_t n_threads, hone_winner *out) {
    hn_str body = {0};
    hn_print_block(m->g, k->body, &body);
    *out = m->key;
    out->kind = k->kind;
    out->body = body.failed ? NULL : hn_strdup(&m->arena, body.text ? body.text : "");
    out->sizes = sizes_text(m, k->body, value, hn_kernel_threads(m, k, value, n_threads));
    hn_str_free(&body);
    return out->body != NULL;
}

hone_rc hn_winner_key_begin(hn_model *m, hone_err *err) {
    char family[16];
    m->key = (hone_winner){.target = m->dialect->name,
                           .driver = "",
                           .numeric = m->options->relaxed ? "relaxed" : "exact",
                           .schedules = HN_SCHEDULE_VERSION};
    hone_err why = {0};
    m->key.compiler = hn_identity_text(&m->arena, hn_compiler_of(m), family, &why);
    if (!m->key.compiler)
        return hn_fail(err, HONE_E_TOOL, "winners are those of one compiler, and '%s' cannot be identified: %s",
                       hn_compiler_of(m), why.text);
    memcpy(m->family, family, sizeof m->family);
    if (hn_is_on_device(m->dialect)) { /* the device with its driver, which is its compiler */
        m->key.device = hn_target_machine(m->lib, m->dialect);
        m->key.driver = m->dialect->backend->driver;
        return HONE_OK;
    }
    m->key.device = hn_device_text(&m->arena);
    return m->key.device ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* Hashes the text without the kernel's own name, which is a number within a model. */
void hn_code_hash(const hn_kernel_code *code, const char *name, const char *cc, const char *flags, char hex[33]) {
    size_t n = strlen(name);
    hn_hash h;
    hn_hash_begin(&h);
    for (const char *p = code->text, *at; *p; p = at + n) {
        at = p;
        while ((at = strstr(at, name)) && ((at > code->text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')) ||
                                           isdigit((unsigned char)at[n])))
            at++;
        hn_hash_add(&h, p, at ? (size_t)(at - p) : strlen(p));
        if (!at) break;
    }
    hn_hash_text(&h, code->helpers);
    hn_hash_text(&h, cc);
    hn_hash_text(&h, flags);
    hn_hash_end(&h, hex);
}

uint32_t hn_kernel_threads(const hn_model *m, const hn_kernel *k, const int64_t *value, uint32_t n_threads) {
    return n_threads > 1 && hn_kernel_cost(m, k, value) / HN_SLICE_COST > 1 ? n_threads : 1;
}

uint32_t hn_threads_of(const hone_compile_options *o) {
    cpu_set_t set;
    if (o->n_threads) return o->n_threads;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : (uint32_t)CPU_COUNT(&set);
}

/* --- taking one ----------------------------------------------------------------------------------------------------
 */

/* The family of its compiler, NULL where it is not the one that was measured. */
static const char *family_of(hn_model *m, const hone_winner *w, char family[16]) {
    if (!*w->cc) return m->family;
    if (!hone_family_is_command(w->cc)) return NULL;
    const char *identity = hn_identity_text(&m->arena, w->cc, family, NULL);
    return identity && !strcmp(identity, w->cc_identity) ? family : NULL;
}

static bool is_proven_text(const hn_kernel *k, const hn_kernel_code *code, const hone_winner *w) {
    char hex[33];
    hn_code_hash(&k->code, k->name, "", "", hex);
    if (strcmp(hex, w->default_code)) return false;
    hn_code_hash(code, k->name, w->cc, w->flags, hex);
    return !strcmp(hex, w->code);
}

static void take(hn_model *m, hn_kernel *k, const hn_kernel_code *code, const hone_winner *w) {
    char day[16] = "";
    time_t at = (time_t)w->at_s;
    struct tm utc;
    if (gmtime_r(&at, &utc)) strftime(day, sizeof day, "%Y-%m-%d", &utc);
    k->code = *code;
    k->cc = hn_strdup(&m->arena, w->cc);
    k->flags = hn_strdup(&m->arena, w->flags);
    k->winner = hn_format(&m->arena, "%s%s%s%s%s%.3f (%.3f .. %.3f), %s, %s", w->cc, *w->cc ? " " : "", w->flags,
                          *w->flags ? " " : "", *w->cc || *w->flags ? "" : "", w->gain, w->gain_lo, w->gain_hi, day,
                          w->provenance);
}

static void try_winner(hn_model *m, hn_kernel *k, const hone_winner *w) {
    hn_kernel_code code = {0};
    char own[16];
    const char *family = family_of(m, w, own);
    if (!family) m->n_missed[HN_MISS_COMPILER]++;
    if (!family || !hn_flags_known(family, w->flags)) return;
    if (m->options->emit == HONE_EMIT_C && (*w->cc || *w->flags)) return; /* one file has one set of flags */
    const hn_emit_how how = {
        .dialect = m->dialect, .machine = m->machine, .relaxed = m->options->relaxed, .schedule = w->schedule};
    bool same = !hn_emit_kernel(m->g, k->body, k->kind, k->name, &how, &m->arena, &code, NULL) && code.scratch_b &&
                is_proven_text(k, &code, w);
    if (same)
        take(m, k, &code, w);
    else
        m->n_missed[HN_MISS_CODE]++;
}

/* Counts why there is no winner, by how the nearest winner's circumstances differ. */
static void note_nearest(hn_model *m, const hn_kernel *k, const int64_t *value) {
    hone_winner key, near;
    if (!hn_winner_key(m, k, value, 1, &key) || hone_winners_nearest(m->winners, &key, &near, NULL)) return;
    bool device = strcmp(near.device, key.device), compiler = strcmp(near.compiler, key.compiler);
    m->n_missed[device ? HN_MISS_DEVICE : compiler ? HN_MISS_COMPILER : HN_MISS_OTHER]++;
    hone_winner_free(&near);
}

hone_rc hn_winner_find(hn_model *m, const hn_kernel *k, const int64_t *value, hone_winner *out, hone_err *err) {
    const uint32_t n_threads[] = {hn_threads_of(m->options), 1};
    hone_winner key, found;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < 2; i++) {
        if (!hn_winner_key(m, k, value, n_threads[i], &key)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        if ((rc = hone_winners_find(m->winners, &key, &found, err))) return rc;
        if (i || !strcmp(found.sizes, key.sizes)) break;
        hone_winner_free(&found);
    }
    *out = found;
    return HONE_OK;
}

void hn_winner_apply(hn_model *m, hn_kernel *k) {
    hone_winner found;
    hone_err why = {0};
    size_t n = hn_dims_symbols(m->g->dims);
    int64_t *value = hn_alloc_n(&m->arena, n + 1, sizeof *value);
    if (!m->winners || k->reference || !value) return;
    hn_usual_sizes(m, value);
    hone_rc rc = hn_winner_find(m, k, value, &found, &why);
    if (rc == HONE_E_NOTFOUND) note_nearest(m, k, value);
    if (rc && rc != HONE_E_NOTFOUND && !m->winners_note) m->winners_note = hn_strdup(&m->arena, why.text);
    if (rc) return;
    try_winner(m, k, &found);
    hone_winner_free(&found);
}

/* --- the file ------------------------------------------------------------------------------------------------------
 */

/* The file of this machine, when the place that HONE_WINNERS names cannot be had. */
static void use_local(hn_model *m, const char *why) {
    char *file = hone_winners_file();
    bool local = file && !hone_winners_open(file, false, &m->winners, NULL) && !hn_winner_key_begin(m, NULL);
    if (!local) hn_winners_end(m);
    m->winners_note = hn_format(&m->arena, "%s%s", why, local ? "; those of this machine are taken instead" : "");
    free(file);
}

/* A place given by name must be valid; the usual one is passed over with a note when it cannot be read. */
hone_rc hn_winners_begin(hn_model *m, hone_err *err) {
    hone_err why = {0};
    const char *path = m->options->winners, *named = getenv("HONE_WINNERS");
    if (m->options->no_winners || m->options->reference) return HONE_OK;
    hone_rc rc = hone_winners_open(path, false, &m->winners, &why);
    if (rc == HONE_E_NOTFOUND && !path) return HONE_OK;
    if (!rc) rc = hn_winner_key_begin(m, &why);
    if (!rc) return HONE_OK;
    hn_winners_end(m);
    if (path) return hn_fail(err, rc, "%s", why.text);
    if (named && *named)
        use_local(m, why.text);
    else
        m->winners_note = hn_strdup(&m->arena, why.text);
    return HONE_OK;
}

void hn_winners_end(hn_model *m) {
    hone_winners_close(m->winners);
    m->winners = NULL;
}
