/* controls/key.c — fills a key: the workload as readable rules, hashes of sources, compilers, the machine. */
#include "controls/key.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "target/bolt.h"
#include "target/family.h"
#include "target/opt.h"

#include <hone/check.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer texts are stored as a hash, to keep the controls file readable. */
enum { TEXT_MOST = 400 };

static hone_rc nomem(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory"); }

/* The text of an hn_str, moved into the arena. */
static const char *keep(hn_arena *a, hn_str *s) {
    char *text = hn_str_take(s);
    const char *kept = text ? hn_strdup(a, text) : NULL;
    if (!kept) a->failed = true;
    free(text);
    return kept;
}

static void hash_text(const char *text, char hex[33]) {
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, text);
    hn_hash_end(&h, hex);
}

static const char *shortened(hn_arena *a, const char *text) {
    char hex[33];
    if (!text) return "";
    if (strlen(text) <= TEXT_MOST) return hn_strdup(a, text);
    hash_text(text, hex);
    return hn_format(a, "%.40s ... (%zu bytes, hash %s)", text, strlen(text), hex);
}

/* --- rules ----------------------------------------------------------------------------------------------------- */

typedef struct rules {
    hn_arena *a;
    hone_pair *pair;
    size_t n;
} rules;

static void rule(rules *r, const char *name, const char *value) { r->pair[r->n++] = (hone_pair){name, value}; }

static void rule_str(rules *r, const char *name, hn_str *s) { rule(r, name, keep(r->a, s)); }

static const char *source_name(hn_source source) {
    static const char *const name[] = {
        [HN_FROM_HARNESS] = "harness",      [HN_FROM_LINES] = "lines",        [HN_FROM_WALL] = "wall time",
        [HN_FROM_CPU] = "CPU time",         [HN_FROM_RSS] = "memory",         [HN_FROM_CODE_SIZE] = "built file",
        [HN_FROM_FILE_SIZE] = "built file", [HN_FROM_COMPILE_TIME] = "build", [HN_FROM_INSTRUCTIONS] = "counter",
        [HN_FROM_ENERGY] = "counter",       [HN_FROM_CODE] = "device code",
    };
    return (size_t)source < sizeof name / sizeof *name ? name[source] : "?";
}

static void add_outcomes(rules *r, const hone_workload *w) {
    char number[32];
    hn_str s = {0};
    for (size_t i = 0; i < w->n_objectives; i++) {
        const hn_objective *o = &w->objective[i];
        hn_str_addf(&s, "%s%s %s from %s", i ? ", " : "", o->maximize ? "maximize" : "minimize", o->quantity.text,
                    source_name(o->quantity.source));
    }
    rule_str(r, "objectives", &s);
    for (size_t i = 0; i < w->n_limit_rules; i++) {
        const hn_limit_rule *l = &w->limit_rule[i];
        const char *name = hn_format(r->a, "limit %s %s", l->quantity.text, hn_limit_sign(l));
        rule(r, name, l->of_baseline ? "baseline" : hn_strdup(r->a, hn_double_text(l->bound, number)));
    }
}

static void add_parity(rules *r, const hone_workload *w) {
    static const char *const name[] = {
        [HN_PARITY_NONE] = "none", [HN_PARITY_EXACT] = "exact", [HN_PARITY_ABS] = "abs",
        [HN_PARITY_REL] = "rel",   [HN_PARITY_ULP] = "ulp",     [HN_PARITY_COMMAND] = "command"};
    char number[32];
    hn_str s = {0};
    hn_str_add(&s, name[w->parity]);
    if (w->parity == HN_PARITY_ABS || w->parity == HN_PARITY_REL || w->parity == HN_PARITY_ULP)
        hn_str_addf(&s, " %s", hn_double_text(w->parity_tol, number));
    if (w->parity == HN_PARITY_COMMAND) hn_str_addf(&s, " %s", shortened(r->a, w->parity_command));
    if (w->parity_output) hn_str_addf(&s, ", output %s", w->parity_output);
    rule_str(r, "parity", &s);
}

static void add_protocol(rules *r, const hone_workload *w) {
    char number[32];
    const hn_limits *l = &w->limits;
    hn_str s = {0};
    hn_str_addf(&s, "repeats %zu, min_time %s s, %s caches", w->repeats, hn_double_text(w->min_run_s, number),
                w->cold ? "cold" : "warm");
    rule_str(r, "measure", &s);
    hn_str_addf(&s, "build %s s", hn_double_text(l->build_s, number));
    hn_str_addf(&s, ", run %s s", hn_double_text(l->run_s, number));
    hn_str_addf(&s, ", cpu %s s, memory %llu, output %llu, file %llu, processes %u", hn_double_text(l->cpu_s, number),
                (unsigned long long)l->memory_b, (unsigned long long)l->output_b, (unsigned long long)l->file_b,
                l->n_procs);
    rule_str(r, "stages", &s);
}

static void add_number(hn_str *s, const char *before, double x) {
    char number[32];
    hn_str_addf(s, "%s%s", before, hn_double_text(x, number));
}

/* One of the workload's own parameters, with its default, which the baseline is built with. */
static void add_param(rules *r, const hone_space *space, const hone_param *p, const double *dflt, size_t i) {
    static const char *const kind[] = {
        [HONE_FLAG] = "flag",      [HONE_INT] = "int",         [HONE_FLOAT] = "float",
        [HONE_CHOICE] = "choice",  [HONE_ORDINAL] = "ordinal", [HONE_PERMUTATION] = "permutation",
        [HONE_LITERAL] = "literal"};
    char text[256];
    hn_str s = {0};
    hn_str_add(&s, kind[p->kind]);
    if (p->kind == HONE_INT || p->kind == HONE_FLOAT) {
        add_number(&s, " ", p->lo);
        add_number(&s, " to ", p->hi);
        if (p->step > 0) add_number(&s, " step ", p->step);
        if (p->log) hn_str_add(&s, " log");
    }
    for (size_t k = 0; k < p->n_values; k++) hn_str_addf(&s, "%s%s", k ? ", " : " ", p->values[k]);
    if (p->optional) hn_str_add(&s, "; optional");
    if (p->when) hn_str_addf(&s, "; when %s", p->when);
    hone_point_text(space, dflt, i, text, sizeof text);
    hn_str_addf(&s, "; default %s", text);
    const char *full = keep(r->a, &s);
    rule(r, hn_format(r->a, "parameter %s", p->name), full ? shortened(r->a, full) : NULL);
}

static void add_params(rules *r, const hone_workload *w) {
    if (!w->params) return;
    double *dflt = HN_NEW_N(r->a, double, hone_space_slots(w->params) + 1);
    if (!dflt) return;
    hone_space_default(w->params, dflt);
    for (size_t i = 0; i < hone_space_n_params(w->params); i++)
        add_param(r, w->params, hone_space_param(w->params, i), dflt, i);
    for (size_t i = 0; i < hone_space_n_constraints(w->params); i++)
        rule(r, hn_format(r->a, "constraint %s", shortened(r->a, hone_space_constraint(w->params, i))), "holds");
}

/* What may be searched; together with the parameters this is the space. */
static void add_space(rules *r, const hone_workload *w) {
    hn_str s = {0};
    for (size_t i = 0; i < w->n_compilers; i++) hn_str_addf(&s, "%s%s", i ? ", " : "", w->compiler[i]);
    rule_str(r, "compilers", &s);
    hn_str_addf(&s, "baseline %s, offered %s to %s", hone_fp_name(w->fp_baseline), hone_fp_name(w->fp_min),
                hone_fp_name(w->fp_max));
    rule_str(r, "floating point", &s);
    hn_str_add(&s, w->controls ? "tuned" : "left alone");
    if (w->controls && w->lto) hn_str_add(&s, ", lto");
    if (w->controls && w->pgo) hn_str_add(&s, ", pgo");
    if (w->controls && w->numeric) hn_str_add(&s, ", numeric");
    if (w->controls && w->all_controls) hn_str_add(&s, ", all");
    rule_str(r, "controls", &s);
    if (w->bolt) rule(r, "post link", "bolt");
    if (w->n_files_named) {
        s = (hn_str){0};
        for (size_t i = 0; i < w->n_files_named; i++) hn_str_addf(&s, "%s%s", i ? ", " : "", w->file_named[i]);
        rule_str(r, "controls of single files", &s);
    } else if (w->per_file) {
        rule(r, "controls of single files", hn_format(r->a, "the %zu hottest", w->per_file));
    }
    add_params(r, w);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const hone_pair *)a)->name, ((const hone_pair *)b)->name);
}

static const char *hash_pairs(hn_arena *a, const hone_pair *p, size_t n) {
    hn_hash h;
    char hex[33];
    hn_hash_begin(&h);
    for (size_t i = 0; i < n; i++) {
        hn_hash_text(&h, p[i].name);
        hn_hash_text(&h, p[i].value);
    }
    hn_hash_end(&h, hex);
    return hn_strdup(a, hex);
}

/* --- inputs ---------------------------------------------------------------------------------------------------- */

/* Weights relative to the heaviest of their kind, so that one more input leaves the others as they are. */
static hone_rc add_inputs(const hone_workload *w, hone_controls *c, hn_arena *a, hone_err *err) {
    double most[2] = {0, 0};
    char number[32];
    for (size_t i = 0; i < w->n_inputs; i++)
        most[w->input[i].held_out] = fmax(most[w->input[i].held_out], w->input[i].weight);
    hone_pair *list = HN_NEW_N(a, hone_pair, w->n_inputs + 1);
    if (!list) return nomem(err);
    for (size_t i = 0; i < w->n_inputs; i++) {
        const hn_input *x = &w->input[i];
        double weight = most[x->held_out] > 0 ? x->weight / most[x->held_out] : 1;
        snprintf(number, sizeof number, "%.6g", weight);
        list[i] = (hone_pair){hn_strdup(a, x->name), hn_format(a, "%s; weight %s%s", shortened(a, x->args), number,
                                                               x->held_out ? "; held out" : "")};
    }
    c->input = list;
    c->n_inputs = w->n_inputs;
    return hn_arena_ok(a) ? HONE_OK : nomem(err);
}

/* Words between single spaces. */
static const char *words(hn_arena *a, const char *text) {
    hn_str s = {0};
    while (text && *(text += strspn(text, " \t\n"))) {
        size_t n = strcspn(text, " \t\n");
        if (s.n) hn_str_add(&s, " ");
        hn_str_add_n(&s, text, n);
        text += n;
    }
    return keep(a, &s);
}

hone_rc hn_key_workload(const hone_workload *w, hone_controls *c, hn_arena *a, hone_err *err) {
    enum { PLAIN_RULES = 14 };
    char hex[33];
    size_t most = PLAIN_RULES + w->n_limit_rules;
    if (w->params) most += hone_space_n_params(w->params) + hone_space_n_constraints(w->params);
    rules r = {a, HN_NEW_N(a, hone_pair, most), 0};
    if (!r.pair) return nomem(err);
    rule(&r, "build command", shortened(a, w->build));
    rule(&r, "run command", shortened(a, w->run));
    rule(&r, "training command", shortened(a, w->train));
    rule(&r, "metrics", source_name(w->time_source));
    add_outcomes(&r, w);
    add_parity(&r, w);
    add_protocol(&r, w);
    size_t space_from = r.n;
    add_space(&r, w);
    if (!hn_arena_ok(a)) return nomem(err);
    qsort(r.pair + space_from, r.n - space_from, sizeof *r.pair, by_name);
    c->rule = r.pair;
    c->n_rules = r.n;
    c->space_hash = hash_pairs(a, r.pair + space_from, r.n - space_from);
    c->baseline = words(a, w->baseline);
    hone_workload_hash(w, hex);
    c->workload_hash = hn_strdup(a, hex);
    return hn_arena_ok(a) ? add_inputs(w, c, a, err) : nomem(err);
}

/* --- sources, compilers, machine ------------------------------------------------------------------------------- */

hone_rc hn_key_sources(const hone_workload *w, hone_controls *c, hn_arena *a, hone_err *err) {
    hone_pair *list = HN_NEW_N(a, hone_pair, w->n_sources + 1);
    if (!list) return nomem(err);
    for (size_t i = 0; i < w->n_sources; i++) {
        char hex[33];
        char *path = hn_path_join(w->dir, w->source[i]);
        hone_rc rc = path ? hn_hash_file(path, hex, err) : nomem(err);
        free(path);
        if (rc) return rc;
        list[i] = (hone_pair){hn_strdup(a, w->source[i]), hn_strdup(a, hex)};
    }
    c->source = list;
    c->n_sources = w->n_sources;
    return hn_arena_ok(a) ? HONE_OK : nomem(err);
}

static hone_rc one_tool(const char *command, hn_arena *a, const char *cache_dir, hone_pair **out, size_t *n,
                        hone_err *err) {
    hone_target *target;
    hone_rc rc = hone_target_open(command, cache_dir, &target, err);
    if (rc) return rc;
    const hone_fingerprint *f = hone_target_fingerprint(target);
    const hone_pair from[] = {
        {"family", f->family}, {"version", f->version}, {"hash", f->hash}, {"march", f->march}, {"path", f->path}};
    size_t count = sizeof from / sizeof *from;
    hone_pair *list = HN_NEW_N(a, hone_pair, count);
    for (size_t i = 0; list && i < count; i++) list[i] = (hone_pair){from[i].name, hn_strdup(a, from[i].value)};
    hone_target_close(target);
    if (!hn_arena_ok(a)) return nomem(err);
    *out = list;
    *n = count;
    return HONE_OK;
}

hone_rc hn_key_tools(const char *baseline_compiler, hone_controls *c, hn_arena *a, const char *cache_dir,
                     hone_err *err) {
    hone_rc rc = one_tool(c->compiler, a, cache_dir, &c->tool, &c->n_tool, err);
    c->n_baseline_tool = 0;
    if (!rc && baseline_compiler && strcmp(baseline_compiler, c->compiler) != 0)
        rc = one_tool(baseline_compiler, a, cache_dir, &c->baseline_tool, &c->n_baseline_tool, err);
    return rc;
}

/* The pairs with what the tool says of itself today; found NULL: it is gone, and why stands for its version. */
static hone_rc pairs_today(const hone_pair *then, size_t n, const hone_pair *found, size_t n_found, const char *why,
                           hn_arena *a, hone_pair **out, hone_err *err) {
    hone_pair *list = HN_NEW_N(a, hone_pair, n);
    if (!list || !hn_arena_ok(a)) return nomem(err);
    for (size_t i = 0; i < n; i++) {
        list[i] = then[i];
        if (!found && !strcmp(list[i].name, "version")) list[i].value = why;
        for (size_t k = 0; found && k < n_found; k++)
            if (!strcmp(list[i].name, found[k].name)) list[i].value = found[k].value;
    }
    *out = list;
    return HONE_OK;
}

hone_rc hn_key_post_link(const hone_controls *then, hone_controls *now, hn_arena *a, hone_err *err) {
    hn_bolt bolt = {0};
    const char *why = NULL;
    if (!then->n_post_link) return HONE_OK;
    bool here = hn_bolt_find(a, &bolt, &why);
    const hone_pair found[] = {{"version", bolt.version}, {"hash", bolt.hash}};
    now->n_post_link = then->n_post_link;
    return pairs_today(then->post_link, then->n_post_link, here ? found : NULL, 2, why, a, &now->post_link, err);
}

hone_rc hn_key_passes(const hone_controls *then, hone_controls *now, hn_arena *a, hone_err *err) {
    hn_opt opt = {0};
    const char *why = NULL;
    if (!then->n_passes) return HONE_OK;
    bool here = hn_opt_find(a, then->compiler, &opt, &why);
    const hone_pair found[] = {{"version", opt.version}, {"hash", opt.hash}, {"pipeline", opt.text_hash}};
    now->n_passes = then->n_passes;
    return pairs_today(then->passes, then->n_passes, here ? found : NULL, 3, why, a, &now->passes, err);
}

hone_rc hn_key_machine(const hone_machine *machine, const char *gpus, hone_controls *c, hn_arena *a, hone_err *err) {
    const hn_family *family = hn_family_of_command(c->compiler);
    uint64_t gib = (machine->memory_b + (1u << 29)) >> 30;
    const hone_pair from[] = {{"cpu", machine->cpu},
                              {"features", machine->features},
                              {"driver", gpus             ? gpus
                                         : family->driver ? family->driver(a)
                                                          : "none"},
                              {"kernel", machine->kernel},
                              {"memory", hn_format(a, "%llu GiB", (unsigned long long)gib)}};
    size_t n = sizeof from / sizeof *from;
    hone_pair *list = HN_NEW_N(a, hone_pair, n);
    for (size_t i = 0; list && i < n; i++) list[i] = (hone_pair){from[i].name, hn_strdup(a, from[i].value)};
    if (!hn_arena_ok(a)) return nomem(err);
    c->machine = list;
    c->n_machine = n;
    return HONE_OK;
}

/* --- comparing ------------------------------------------------------------------------------------------------- */

const char *hn_pair_get(const hone_pair *p, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(p[i].name, name)) return p[i].value;
    return NULL;
}

void hn_differ(hn_differences *d, const char *part, const char *what, const char *then, const char *now) {
    if (d->n == d->room) {
        size_t room = d->room ? 2 * d->room : 16;
        hone_difference *more = HN_NEW_N(d->a, hone_difference, room);
        if (!more) return;
        if (d->n) memcpy(more, d->item, d->n * sizeof *more);
        d->item = more;
        d->room = room;
    }
    d->item[d->n++] = (hone_difference){part, hn_strdup(d->a, what), hn_strdup(d->a, then), hn_strdup(d->a, now)};
}

/* Is the name among those of a NULL-terminated list? */
static bool listed(const char *const *list, const char *name) {
    for (size_t i = 0; list && list[i]; i++)
        if (!strcmp(list[i], name)) return true;
    return false;
}

/* Pairs by name, in both directions. informative: names that are for people. */
static void compare_pairs(hn_differences *d, const char *part, const hone_pair *a, size_t n_a, const hone_pair *b,
                          size_t n_b, const char *const *informative) {
    for (size_t i = 0; i < n_a; i++) {
        const char *now = hn_pair_get(b, n_b, a[i].name);
        if (listed(informative, a[i].name) || (now && !strcmp(now, a[i].value))) continue;
        hn_differ(d, part, a[i].name, a[i].value, now ? now : "none");
    }
    for (size_t i = 0; i < n_b; i++)
        if (!listed(informative, b[i].name) && !hn_pair_get(a, n_a, b[i].name))
            hn_differ(d, part, b[i].name, "none", b[i].value);
}

static void compare_text(hn_differences *d, const char *part, const char *what, const char *then, const char *now) {
    if (strcmp(then, now) != 0) hn_differ(d, part, what, then, now);
}

/* Rules of the search space are a part of their own. */
static bool of_space(const char *rule_name) {
    return hn_starts_with(rule_name, "parameter ") || hn_starts_with(rule_name, "constraint ") ||
           !strcmp(rule_name, "compilers") || !strcmp(rule_name, "controls") || !strcmp(rule_name, "post link");
}

static const char *part_of_rule(const char *rule_name) {
    return !strcmp(rule_name, "floating point") ? "floating point" : of_space(rule_name) ? "space" : "workload";
}

static void compare_rules(hn_differences *d, const hone_controls *a, const hone_controls *b) {
    size_t before = d->n;
    compare_pairs(d, "workload", a->rule, a->n_rules, b->rule, b->n_rules, NULL);
    for (size_t i = before; i < d->n; i++) d->item[i].part = part_of_rule(d->item[i].what ? d->item[i].what : "");
}

static void compare_machine(hn_differences *d, const hone_controls *a, const hone_controls *b) {
    static const char *const informative[] = {"kernel", "memory", NULL};
    size_t before = d->n;
    compare_pairs(d, "cpu", a->machine, a->n_machine, b->machine, b->n_machine, informative);
    for (size_t i = before; i < d->n; i++)
        if (d->item[i].what && strcmp(d->item[i].what, "driver") == 0) d->item[i].part = "driver";
}

/* What -march=native means is the CPU's part: a compiler that takes it otherwise is another version anyway. */
static void compare_tools(hn_differences *d, const char *part, const hone_pair *a, size_t n_a, const hone_pair *b,
                          size_t n_b) {
    static const char *const informative[] = {"path", NULL};
    size_t before = d->n;
    compare_pairs(d, part, a, n_a, b, n_b, informative);
    for (size_t i = before; i < d->n; i++)
        if (d->item[i].what && !strcmp(d->item[i].what, "march")) d->item[i].part = "cpu";
}

void hn_key_compare(const hone_controls *a, const hone_controls *b, const char *const *skip, hn_differences *d) {
    char then[32], now[32];
    snprintf(then, sizeof then, "%d", a->format);
    snprintf(now, sizeof now, "%d", b->format);
    if (!listed(skip, "format")) compare_text(d, "format", "controls file", then, now);
    if (!listed(skip, "source")) compare_pairs(d, "source", a->source, a->n_sources, b->source, b->n_sources, NULL);
    if (!listed(skip, "workload")) {
        compare_rules(d, a, b);
        compare_text(d, "baseline", "flags", a->baseline, b->baseline);
        compare_pairs(d, "input", a->input, a->n_inputs, b->input, b->n_inputs, NULL);
    }
    if (!listed(skip, "compiler")) {
        compare_text(d, "compiler", "command", a->compiler, b->compiler);
        compare_tools(d, "compiler", a->tool, a->n_tool, b->tool, b->n_tool);
        compare_tools(d, "baseline", a->baseline_tool, a->n_baseline_tool, b->baseline_tool, b->n_baseline_tool);
    }
    compare_pairs(d, "post link", a->post_link, a->n_post_link, b->post_link, b->n_post_link, NULL);
    compare_pairs(d, "passes", a->passes, a->n_passes, b->passes, b->n_passes, NULL);
    if (!listed(skip, "cpu")) compare_machine(d, a, b);
}
