/* tune/post_link.c — see post_link.h. */
#include "tune/post_link.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/keep.h"
#include "proc/temp.h"
#include "space/withheld.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE HN_POST_LINK
#define PROFILES "bolt"
static const uint64_t profiles_most_b = 64 << 20;

/* --- does it work? ------------------------------------------------------------------------------------------------ */

static void add_training(hn_hash *h, const hone_workload *w) {
    hn_hash_text(h, w->train ? w->train : w->run);
    for (size_t i = 0; i < w->n_inputs; i++)
        if (!w->input[i].held_out) hn_hash_text(h, w->input[i].args);
}

/* Where the answer is kept; NULL: nothing says what it depends on. */
static char *answer_file(const hn_plan *plan, const hone_tune_options *o, const hn_recipe *r) {
    const hone_workload *w = plan->w;
    char source[33], key[33], name[64];
    if (!w->n_sources || hn_workload_source_hash(w, source, NULL)) return NULL;
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, HONE_VERSION);
    hn_hash_text(&h, source);
    hn_hash_text(&h, w->build);
    hn_hash_text(&h, r->cc);
    hn_hash_text(&h, r->target ? hone_target_fingerprint(r->target)->hash : "");
    hn_hash_text(&h, r->defines);
    for (size_t i = 0; i < r->n_flags; i++) hn_hash_text(&h, r->flag[i]);
    hn_hash_text(&h, r->bolt->hash);
    add_training(&h, w);
    hn_hash_end(&h, key);
    snprintf(name, sizeof name, "post-link-%s.txt", key);
    return hn_build_cache(o, name);
}

static hone_rc try_it(hn_plan *plan, const hone_tune_options *o, const hn_recipe *r, const char **why, hone_err *err) {
    hn_temp temp;
    char name[] = "base", *names[] = {name};
    hn_build b;
    double waited_s = 0;
    hone_rc rc = hn_temp_make(NULL, "hone-bolt-", &temp, err);
    if (rc) return rc;
    hn_build_config cfg = {.w = plan->w, .options = o, .root = temp.path, .jobs = 1, .waited_s = &waited_s};
    rc = hn_build_all(&cfg, r, names, 1, &b, err);
    if (!rc) *why = b.cls == HONE_RUN_OK ? "" : hn_bolt_reason(&plan->arena, b.detail);
    if (!rc) hn_build_drop(&b, false);
    hn_temp_free(&temp);
    return rc;
}

/* *why: "" where it works. */
static hone_rc ask(hn_plan *plan, const hone_tune_options *o, const hn_recipe *r, const char **why, hone_err *err) {
    char *file = answer_file(plan, o, r), *text = NULL;
    size_t n;
    hone_rc rc = HONE_OK;
    if (file && hn_exists(file) && !hn_read_file(file, &text, &n, NULL)) {
        *why = hn_strdup(&plan->arena, text);
    } else {
        rc = try_it(plan, o, r, why, err);
        if (!rc && file && *why) hn_write_file(file, *why, strlen(*why), NULL);
    }
    free(text);
    free(file);
    return rc;
}

/* The words of the build, and the stage. False: this compiler has no such words. */
static bool set(const hn_plan *plan, hn_recipe *r, const char *options, bool bound) {
    const char *const *word = hn_bolt_link_words(&r->arena, r->target, bound);
    size_t n = 0;
    while (word && word[n]) n++;
    const char **flag = HN_NEW_N(&r->arena, const char *, r->n_flags + n + 1);
    if (!word || !flag) return false;
    for (size_t i = 0; i < r->n_flags; i++) flag[i] = r->flag[i];
    for (size_t i = 0; i < n; i++) flag[r->n_flags++] = word[i];
    r->flag = flag;
    r->bolt = &plan->bolt;
    r->bolt_options = options;
    return true;
}

/* Commands that are given a point with the stage say why it is not here. */
static hone_rc withhold(hn_plan *plan, hone_err *err) {
    return plan->no_post_link ? hn_space_withhold(plan->space, STAGE, plan->no_post_link, err) : HONE_OK;
}

hone_rc hn_post_link_look(hn_plan *plan, const hone_tune_options *o, hone_err *err) {
    const char *why = "";
    hn_recipe r = {0};
    if (!plan->w->bolt) return HONE_OK;
    if (plan->w->on)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "%s: `post_link` trains programs on this machine, but they run on '%s'; leave one out",
                       plan->w->path, plan->w->on);
    if (!hn_bolt_find(&plan->arena, &plan->bolt, &plan->no_post_link))
        return hn_arena_ok(&plan->arena) ? withhold(plan, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_plan_recipe(plan, NULL, &r, err);
    if (!rc && set(plan, &r, "", false))
        rc = ask(plan, o, &r, &why, err);
    else
        why = hn_format(&plan->arena, "hone does not know how '%s' keeps relocations in a program", r.cc ? r.cc : "");
    hn_recipe_free(&r);
    if (!rc && !hn_arena_ok(&plan->arena)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    plan->post_link = !rc && !*why;
    plan->no_post_link = rc || !*why ? NULL : why;
    return rc ? rc : withhold(plan, err);
}

/* --- the space ---------------------------------------------------------------------------------------------------- */

static hone_rc add(hn_plan *plan, const hn_bolt_option *x, hone_err *err) {
    hn_arena *a = &plan->arena;
    bool flag = x->n_values == 0;
    hone_param p = {.name = hn_format(a, STAGE ".%s", x->name),
                    .kind = flag ? HONE_FLAG : HONE_CHOICE,
                    .values = flag ? NULL : x->value,
                    .n_values = x->n_values,
                    .dflt = flag ? 0 : (double)NAN,
                    .optional = !flag,
                    .knockout = flag ? 0 : .6,
                    .when = x->under ? hn_format(a, "`" STAGE ".%s`", x->under) : STAGE,
                    .doc = x->doc,
                    .tag = "post_link"};
    return hn_arena_ok(a) ? hone_space_add(plan->space, &p, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_post_link_add(hn_plan *plan, hone_err *err) {
    hn_bolt_option x;
    hone_param stage = {.name = STAGE,
                        .kind = HONE_FLAG,
                        .doc = "the linked program is laid out anew by its profile",
                        .tag = "post_link"};
    if (!plan->post_link) return HONE_OK;
    hone_rc rc = hone_space_add(plan->space, &stage, err);
    for (size_t i = 0; !rc && hn_bolt_option_at(&plan->bolt, i, &plan->arena, &x); i++) rc = add(plan, &x, err);
    return rc;
}

/* --- recipes ------------------------------------------------------------------------------------------------------ */

/* Is the option set? Then its value; NULL for one that is on. */
static bool chosen(const hn_plan *plan, const double *point, const char *name, const char **value) {
    char full[80];
    snprintf(full, sizeof full, STAGE "%s%s", *name ? "." : "", name);
    size_t i = hone_space_find(plan->space, full);
    if (i == SIZE_MAX || !hone_point_active(plan->space, point, i)) return false;
    const hone_param *p = hone_space_param(plan->space, i);
    double v = point[p->slot];
    *value = p->kind == HONE_FLAG || isnan(v) ? NULL : p->values[(size_t)v];
    return p->kind == HONE_FLAG ? v != 0 : !isnan(v);
}

hone_rc hn_post_link_apply(const hn_plan *plan, const double *point, hn_recipe *r, hone_err *err) {
    const char *value;
    hn_str s = {0};
    hn_bolt_option x;
    bool bound = false;
    if (!plan->post_link || !point || !chosen(plan, point, "", &value)) return HONE_OK;
    for (size_t i = 0; hn_bolt_option_at(&plan->bolt, i, &r->arena, &x); i++) {
        if (!chosen(plan, point, x.name, &value)) continue;
        const char *word = hn_bolt_word(&r->arena, x.name, value);
        hn_str_addf(&s, "%s%s", s.n ? " " : "", word ? word : "");
        bound |= hn_bolt_needs_binding(x.name);
    }
    const char *options = s.failed ? NULL : hn_strdup(&r->arena, s.text ? s.text : "");
    hn_str_free(&s);
    if (options && !set(plan, r, options, bound) && hn_arena_ok(&r->arena))
        return hn_fail(err, HONE_E_UNSUPPORTED, "hone does not know how '%s' keeps relocations in a program", r->cc);
    return options && hn_arena_ok(&r->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* Sets "NAME" or "NAME=VALUE"; a value that is not offered stands for the first. */
static void set_word(const hn_plan *plan, double *point, const char *word, size_t n) {
    char full[80], value[40] = "";
    const char *eq = memchr(word, '=', n);
    size_t name_n = eq ? (size_t)(eq - word) : n;
    snprintf(full, sizeof full, STAGE ".%.*s", (int)name_n, word);
    if (eq) snprintf(value, sizeof value, "%.*s", (int)(n - name_n - 1), eq + 1);
    size_t i = hone_space_find(plan->space, full);
    if (i == SIZE_MAX) return;
    if (!hn_plan_set(plan->space, point, i, eq ? value : "on")) point[hone_space_param(plan->space, i)->slot] = 0;
}

bool hn_post_link_serves(const hn_plan *plan, size_t t) {
    hn_arena a = {0};
    bool serves = plan->post_link && hn_bolt_link_words(&a, plan->target[t], false);
    hn_arena_free(&a);
    return serves;
}

bool hn_post_link_set(const hn_plan *plan, size_t i, double *point) {
    const char *text = plan->post_link ? hn_bolt_seed(i) : NULL;
    if (!text) return false;
    hn_plan_set(plan->space, point, hone_space_find(plan->space, STAGE), "on");
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        n = strcspn(text, " ");
        set_word(plan, point, text, n);
    }
    hone_point_canon(plan->space, point);
    return true;
}

/* --- a build's profile -------------------------------------------------------------------------------------------- */

void hn_post_link_key(const hn_build_config *cfg, const hn_recipe *r, const char *linked_hash, char hex[33]) {
    char source[33];
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, linked_hash);
    hn_hash_text(&h, r->bolt->hash);
    add_training(&h, cfg->w);
    for (size_t i = 0; i < r->n_app; i++) { /* the run command may read them */
        hn_hash_text(&h, r->app_name[i]);
        hn_hash_text(&h, r->app_text[i]);
    }
    bool listed = cfg->w->n_sources && !hn_workload_source_hash(cfg->w, source, NULL);
    hn_hash_text(&h, listed ? source : cfg->root); /* what is not listed may change behind a session */
    hn_hash_end(&h, hex);
}

bool hn_post_link_recall(const hn_build_config *cfg, const char *key, const char *dir) {
    char *folder = hn_build_cache(cfg->options, PROFILES), *to = hn_path_join(dir, HN_BOLT_PROFILE);
    bool there = folder && to && hn_keep_take(folder, key, to);
    free(folder);
    free(to);
    return there;
}

void hn_post_link_keep(const hn_build_config *cfg, const char *key, const char *dir) {
    char *folder = hn_build_cache(cfg->options, PROFILES), *from = hn_path_join(dir, HN_BOLT_PROFILE);
    if (folder && from) {
        hn_keep_put(folder, key, from, profiles_most_b / 4);
        hn_keep_trim(folder, profiles_most_b);
    }
    free(folder);
    free(from);
}
