/* tune/unread.c — see unread.h. */
#include "tune/unread.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "proc/temp.h"
#include "tune/build.h"
#include "tune/run.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cache_head[] = "hone-readers 1";

static const hn_unread *rows_of(const hn_plan *plan, size_t t) { return hn_target_family(plan->target[t])->unread; }

bool hn_unread_matters(const hn_plan *plan) {
    const hone_workload *w = plan->w;
    if (!w->controls || w->numeric || !*w->build) return false;
    for (size_t t = 0; t < plan->n_targets; t++)
        if (rows_of(plan, t)) return true;
    return false;
}

/* --- where a source reads it -------------------------------------------------------------------------------------- */

static bool is_word_part(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The line of a text that holds the word, not counting those that include a header; 0: none. */
static size_t line_with(const char *text, const char *word) {
    size_t n = strlen(word), line = 1;
    for (const char *at = text; *at; line++, at += strcspn(at, "\n"), at += *at == '\n') {
        const char *end = at + strcspn(at, "\n"), *first = at + strspn(at, " \t");
        if (*first == '#') continue;
        for (const char *p = at; (p = strstr(p, word)) && p < end; p += n)
            if ((p == at || !is_word_part(p[-1])) && !is_word_part(p[n])) return line;
    }
    return 0;
}

/* "kernel.c:12", in the plan's arena; "": no listed source has the word. */
static const char *place_of(hn_plan *plan, const char *word) {
    const hone_workload *w = plan->w;
    const char *place = "";
    for (size_t i = 0; word && !*place && i < w->n_sources; i++) {
        char *path = hn_path_join(w->dir, w->source[i]), *text = NULL;
        size_t n, line = 0;
        if (path && !hn_is_folder(path) && !hn_read_file(path, &text, &n, NULL)) line = line_with(text, word);
        if (line) place = hn_format(&plan->arena, "%s:%zu", w->source[i], line);
        free(text);
        free(path);
        if (!place) return "";
    }
    return place;
}

/* --- looking ------------------------------------------------------------------------------------------------------ */

static void not_known(hn_plan *plan, const char *why) {
    for (int k = 0; k < HN_N_STATES; k++)
        plan->unread[k] = (hn_unread_finding){HN_READS_UNKNOWN, "", "", hn_strdup(&plan->arena, why)};
}

static void take(hn_plan *plan, const hn_onlooker *r) {
    for (int k = 0; k < HN_N_STATES; k++)
        plan->unread[k] = (hn_unread_finding){r[k].reading, hn_strdup(&plan->arena, r[k].symbol),
                                              place_of(plan, r[k].word), r[k].why ? r[k].why : ""};
}

static hone_rc look_into(hn_plan *plan, const hn_build *b, hone_err *err) {
    if (b->cls != HONE_RUN_OK) {
        not_known(plan, "the baseline does not build");
        return HONE_OK;
    }
    hn_onlooker reader[HN_N_STATES];
    char *path = hn_path_join(b->dir, "prog");
    hone_rc rc = path ? hn_program_readers(path, reader, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    free(path);
    if (!rc) take(plan, reader);
    return rc;
}

static hone_rc build_and_look(hn_plan *plan, const hone_tune_options *o, const hn_recipe *r, hone_err *err) {
    hn_temp temp;
    char name[] = "base", *names[] = {name};
    hn_build b;
    double waited_s = 0;
    hone_rc rc = hn_temp_make(NULL, "hone-look-", &temp, err);
    if (rc) return rc;
    hn_build_config cfg = {.w = plan->w, .options = o, .root = temp.path, .jobs = 1, .waited_s = &waited_s};
    rc = hn_build_all(&cfg, r, names, 1, &b, err);
    if (!rc) rc = look_into(plan, &b, err);
    hn_build_drop(&b, false);
    hn_temp_free(&temp);
    return rc;
}

/* --- what was found before ------------------------------------------------------------------------------------------
 *
 *     hone-readers 1
 *     READING SYMBOL PLACE WHY       fields apart by tabs, one line for each state
 */

static char *cache_file(const hn_plan *plan, const hone_tune_options *o, const hn_recipe *r) {
    const hone_workload *w = plan->w;
    char source[33], key[33], name[64];
    if (!w->n_sources || hn_workload_source_hash(w, source, NULL)) return NULL; /* nothing says what it depends on */
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, HONE_VERSION);
    hn_hash_text(&h, source);
    hn_hash_text(&h, w->build);
    hn_hash_text(&h, r->cc);
    hn_hash_text(&h, r->target ? hone_target_fingerprint(r->target)->hash : "");
    hn_hash_text(&h, r->defines);
    for (size_t i = 0; i < r->n_flags; i++) hn_hash_text(&h, r->flag[i]);
    hn_hash_end(&h, key);
    snprintf(name, sizeof name, "readers-%s.tsv", key);
    return hn_build_cache(o, name);
}

static bool read_cache(hn_plan *plan, const char *path) {
    char *text = NULL;
    size_t n;
    hn_unread_finding found[HN_N_STATES];
    if (!path || !hn_exists(path) || hn_read_file(path, &text, &n, NULL)) return false;
    char *line = text + strcspn(text, "\n");
    bool fine = !strncmp(text, cache_head, strlen(cache_head)) && *line;
    for (int k = 0; fine && k < HN_N_STATES; k++) {
        char *field[4] = {0}, *rest = line + 1;
        line = rest + strcspn(rest, "\n");
        fine = *line == '\n';
        *line = 0;
        for (int i = 0; i < 4; i++) field[i] = strsep(&rest, "\t");
        fine = fine && field[3] && !rest && field[0][0] >= '0' && field[0][0] <= '2' && !field[0][1];
        if (!fine) break;
        found[k] = (hn_unread_finding){(hn_reading)(field[0][0] - '0'), hn_strdup(&plan->arena, field[1]),
                                       hn_strdup(&plan->arena, field[2]), hn_strdup(&plan->arena, field[3])};
    }
    free(text);
    if (fine) memcpy(plan->unread, found, sizeof found);
    return fine;
}

/* A cache that cannot be written is none. */
static void write_cache(const hn_plan *plan, const char *path) {
    hn_str s = {0};
    hn_str_addf(&s, "%s\n", cache_head);
    for (int k = 0; k < HN_N_STATES; k++) {
        const hn_unread_finding *f = &plan->unread[k];
        hn_str_addf(&s, "%d\t%s\t%s\t%s\n", (int)f->reading, f->symbol, f->place, f->why);
    }
    if (path && !s.failed) hn_write_file(path, s.text, s.n, NULL);
    hn_str_free(&s);
}

hone_rc hn_unread_look(hn_plan *plan, const hone_tune_options *o, unsigned *unread, hone_err *err) {
    hn_recipe r = {0};
    hone_rc rc = hn_plan_recipe(plan, NULL, &r, err);
    if (rc) return rc;
    char *file = cache_file(plan, o, &r);
    if (!read_cache(plan, file)) {
        rc = build_and_look(plan, o, &r, err);
        if (!rc && hn_arena_ok(&plan->arena)) write_cache(plan, file);
    }
    free(file);
    hn_recipe_free(&r);
    if (!rc && !hn_arena_ok(&plan->arena)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (rc) return rc;
    plan->unread_known = true;
    *unread = 0;
    for (int k = 0; k < HN_N_STATES; k++)
        if (plan->unread[k].reading == HN_READS_NOT) *unread |= 1u << k;
    return HONE_OK;
}

/* --- saying so ---------------------------------------------------------------------------------------------------- */

static hn_beside state_of(const hn_unread *u) { return u->what == HONE_UNREAD_ERRNO ? HN_STATE_ERRNO : HN_STATE_FENV; }

/* Has a compiler before this one the same control? */
static bool listed_before(const hn_plan *plan, size_t t, const hn_unread *u) {
    for (size_t i = 0; i < t; i++)
        for (const hn_unread *x = rows_of(plan, i); x && x->name; x++)
            if (!strcmp(x->name, u->name)) return true;
    return false;
}

/* The words of the control as this compiler takes them. */
static const char *spelled(const hn_plan *plan, size_t t, const hn_unread *u, hn_arena *a) {
    hn_flags f = {.a = a};
    hn_target_family(plan->target[t])->spell(&f, plan->target[t], u->name, u->value);
    return f.n ? f.word[0] : u->name;
}

static const char *reason(const hn_unread_finding *f, hn_beside state, hn_arena *a) {
    static const char *const in_words[] = {"errno", "the floating-point environment"};
    const char *what = in_words[state];
    if (f->reading == HN_READS_NOT) return hn_format(a, "nothing in the program reads %s", what);
    if (f->reading == HN_READS)
        return hn_format(a, "the program reads %s: '%s'%s%s", what, f->symbol, *f->place ? ", " : "", f->place);
    return *f->symbol ? hn_format(a, "whether %s is read is not known: '%s': %s", what, f->symbol, f->why)
                      : hn_format(a, "whether %s is read is not known: %s", what, f->why);
}

typedef void said_fn(void *ctx, const char *flag, const hn_unread *u, const hn_unread_finding *f, const char *why);

static bool each(const hn_plan *plan, said_fn *say, void *ctx) {
    hn_arena a = {0};
    for (size_t t = 0; plan->unread_known && t < plan->n_targets; t++)
        for (const hn_unread *u = rows_of(plan, t); u && u->name; u++) {
            if (listed_before(plan, t, u)) continue;
            const hn_unread_finding *f = &plan->unread[state_of(u)];
            const char *flag = spelled(plan, t, u, &a), *why = reason(f, state_of(u), &a);
            if (flag && why) say(ctx, flag, u, f, why);
        }
    bool ok = hn_arena_ok(&a);
    hn_arena_free(&a);
    return ok;
}

static void say_text(void *ctx, const char *flag, const hn_unread *u, const hn_unread_finding *f, const char *why) {
    hn_str *s = ctx;
    (void)u;
    hn_str_addf(s, "%s%s %s: %s", s->n ? "\n" : "", flag, f->reading == HN_READS_NOT ? "is offered" : "is not offered",
                why);
}

char *hn_unread_text(const hn_plan *plan) {
    hn_str s = {0};
    if (!each(plan, say_text, &s) || !s.n) {
        hn_str_free(&s);
        return NULL;
    }
    return hn_str_take(&s);
}

static void say_json(void *ctx, const char *flag, const hn_unread *u, const hn_unread_finding *f, const char *why) {
    json_array_append_new(ctx,
                          json_pack("{s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:s}", "control", u->name, "value", u->value,
                                    "flag", flag, "offered", f->reading == HN_READS_NOT, "reads",
                                    hn_beside_name(state_of(u)), "symbol", f->symbol, "place", f->place, "why", why));
}

char *hn_unread_json(const hn_plan *plan) {
    json_t *list = json_array();
    bool ok = each(plan, say_json, list);
    char *text = ok && list ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    return text;
}
