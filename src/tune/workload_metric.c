/* tune/workload_metric.c — metrics, objectives, limits on outcomes, parity and the floating-point contract it admits.
 *
 *     objective = ("minimize" | "maximize") quantity
 *     limit     = quantity ("<=" | ">=" | "==") (number [unit] | "baseline")
 *     quantity  = metric | aggregate "(" metric ")" | aggregate        the last: of the first objective's metric
 *     aggregate = "median" | "mean" | "min" | "max" | "sum" | "p" number     number in 0..100; sum: of device code */
#include "tune/workload_int.h"

#include "base/err.h"
#include "base/locale.h"
#include "cubin/cubin.h"
#include "target/family.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS_MAX = 256, NAME_MAX_N = 64 };

typedef enum unit_kind { UNIT_ANY, UNIT_SECONDS, UNIT_BYTES, UNIT_JOULES, UNIT_COUNT } unit_kind;

/* Metrics that hone measures itself. The names occur in workload files: never rename. */
static const struct builtin {
    const char *name;
    hn_source source;
    unit_kind unit;
} builtins[] = {
    {"time", HN_FROM_WALL, UNIT_SECONDS},
    {"cpu_time", HN_FROM_CPU, UNIT_SECONDS},
    {"memory", HN_FROM_RSS, UNIT_BYTES},
    {"code_size", HN_FROM_CODE_SIZE, UNIT_BYTES},
    {"file_size", HN_FROM_FILE_SIZE, UNIT_BYTES},
    {"compile_time", HN_FROM_COMPILE_TIME, UNIT_SECONDS},
    {"instructions", HN_FROM_INSTRUCTIONS, UNIT_COUNT},
    {"energy", HN_FROM_ENERGY, UNIT_JOULES},
};
enum { N_BUILTINS = sizeof builtins / sizeof *builtins };

static const struct builtin *find_builtin(const char *name) {
    for (size_t i = 0; i < N_BUILTINS; i++)
        if (!strcmp(builtins[i].name, name)) return &builtins[i];
    return NULL;
}

static bool is_declared(const hone_workload *w, const char *name) {
    for (size_t i = 0; i < w->n_metrics; i++)
        if (!strcmp(w->metric[i], name)) return true;
    return false;
}

static bool is_metric_name(const char *s) {
    size_t n = strlen(s);
    if (n > NAME_MAX_N || (!isalpha((unsigned char)*s) && *s != '_')) return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("_-./", *s)) return false;
    return true;
}

/* --- quantities --------------------------------------------------------------------------------------------------- */

/* "p99.9" gives 99.9; false when the text has another form. */
static bool percentile_of(const char *s, double *p) {
    if (*s != 'p' || !isdigit((unsigned char)s[1])) return false;
    if (strspn(s + 1, "0123456789.") != strlen(s + 1)) return false;
    char *end;
    *p = hn_strtod(s + 1, &end);
    return !*end;
}

static bool is_aggregate(const char *s) {
    double p;
    return percentile_of(s, &p) || !strcmp(s, "median") || !strcmp(s, "mean") || !strcmp(s, "min") ||
           !strcmp(s, "max") || !strcmp(s, "sum");
}

/* p0, p50 and p100 become min, median and max, so that equal quantities are equal. */
static hone_rc set_aggregate(const hn_reader *r, const hn_ynode *at, const char *s, hn_quantity *q) {
    static const char *const word[] = {"median", "mean", "min", "max", "p50", "p90", "p95", "p99"};
    double p;
    q->percentile = 0;
    for (size_t i = 0; i < 4; i++)
        if (!strcmp(s, word[i])) {
            q->aggregate = (hn_aggregate)i;
            return HONE_OK;
        }
    if (!strcmp(s, "sum")) {
        q->aggregate = HN_AGG_SUM;
        return HONE_OK;
    }
    if (percentile_of(s, &p)) {
        if (p > 100)
            return hn_yaml_fail(r->doc, at, r->err, "percentile '%s' is beyond 100; write p0 to p100, such as p99.9",
                                s);
        q->aggregate = p == 0 ? HN_AGG_MIN : p == 50 ? HN_AGG_MEDIAN : p == 100 ? HN_AGG_MAX : HN_AGG_PERCENTILE;
        if (q->aggregate == HN_AGG_PERCENTILE) q->percentile = p;
        return HONE_OK;
    }
    const char *near = hn_nearest(s, word, sizeof word / sizeof *word);
    return hn_yaml_fail(r->doc, at, r->err,
                        "unknown aggregate '%s'; %s%s%sknown are median, mean, min, max and p0 to p100", s,
                        near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
}

static hone_rc unknown_metric(const hn_reader *r, const hn_ynode *at, const char *name) {
    const hone_workload *w = r->w;
    const char *all[METRICS_MAX + N_BUILTINS];
    size_t n = 0;
    for (size_t i = 0; i < w->n_metrics; i++) all[n++] = w->metric[i];
    for (size_t i = 0; i < N_BUILTINS; i++) all[n++] = builtins[i].name;
    const char *near = hn_nearest(name, all, n);
    hn_str list = {0};
    for (size_t i = 0; i < n && !near; i++) hn_str_addf(&list, "%s%s", i ? ", " : "; known are: ", all[i]);
    hone_rc rc = hn_yaml_fail(r->doc, at, r->err,
                              "unknown metric '%s'%s%s%s%s (a metric that the program prints is "
                              "declared under 'metrics')",
                              name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "",
                              list.text ? list.text : "");
    hn_str_free(&list);
    return rc;
}

/* With no names declared, any name in an objective is expected from the program, unless it looks like a misspelt
 * built-in. */
static bool is_slip(const char *name) {
    const char *all[N_BUILTINS];
    for (size_t i = 0; i < N_BUILTINS; i++) all[i] = builtins[i].name;
    const char *near = hn_nearest(name, all, N_BUILTINS);
    if (!near) return false;
    size_t a = strlen(near), b = strlen(name);
    return a > b ? a - b <= 1 : b - a <= 1;
}

bool hn_metric_is_taken(const char *name) { return find_builtin(name) || is_slip(name); }

static hone_rc expect_metric(const hn_reader *r, const char *name) {
    hone_workload *w = r->w;
    const char **list = HN_NEW_N(&w->arena, const char *, w->n_metrics + 1);
    if (!list) return hn_reader_nomem(r);
    if (w->n_metrics) memcpy(list, w->metric, w->n_metrics * sizeof *list);
    list[w->n_metrics++] = name;
    w->metric = list;
    return HONE_OK;
}

/* A declared name hides the built-in of the same name: what the program prints is then meant. */
static hone_rc resolve(const hn_reader *r, const hn_ynode *at, bool strict, bool bare, hn_quantity *q) {
    hone_workload *w = r->w;
    const struct builtin *b = find_builtin(q->metric);
    q->source = w->time_source;
    if (is_declared(w, q->metric)) return HONE_OK;
    bool taken;
    hone_rc rc = hn_code_quantity(r, at, bare, q, &taken);
    if (rc || taken) return rc;
    if (q->aggregate == HN_AGG_SUM)
        return hn_yaml_fail(r->doc, at, r->err, "'sum' is over kernels, of metrics of device code such as sass.spills");
    if (b) {
        q->source = b->source;
        return HONE_OK;
    }
    if (!is_metric_name(q->metric))
        return hn_yaml_fail(r->doc, at, r->err,
                            "'%s' is not a quantity; write a metric such as time, or an aggregate such as p95(latency)",
                            q->metric);
    if (strict || is_slip(q->metric) || w->n_metrics >= METRICS_MAX) return unknown_metric(r, at, q->metric);
    return expect_metric(r, q->metric);
}

static char *cut(hn_arena *a, const char *s, size_t n) {
    while (n && isspace((unsigned char)*s)) s++, n--;
    while (n && isspace((unsigned char)s[n - 1])) n--;
    return hn_strndup(a, s, n);
}

/* The metric of an aggregate without one: the first objective's, or the only one declared. */
static const char *default_metric(const hone_workload *w) {
    if (w->n_objectives) return w->objective[0].quantity.metric;
    return w->n_metrics == 1 ? w->metric[0] : NULL;
}

static hone_rc name_quantity(const hn_reader *r, hn_quantity *q, bool bare) {
    static const char *const word[] = {"median", "mean", "min", "max", [HN_AGG_SUM] = "sum"};
    hn_arena *a = &r->w->arena;
    char p[32];
    if (bare)
        q->text = q->metric;
    else if (q->aggregate == HN_AGG_PERCENTILE)
        q->text = hn_format(a, "p%s(%s)", hn_double_text(q->percentile, p), q->metric);
    else
        q->text = hn_format(a, "%s(%s)", word[q->aggregate], q->metric);
    if (q->source == HN_FROM_HARNESS) {
        const char **beside = HN_NEW_N(a, const char *, HN_N_BESIDE);
        if (!beside) return hn_reader_nomem(r);
        beside[0] = hn_format(a, "%s_clock", q->metric);
        beside[1] = hn_format(a, "%s_throttle", q->metric);
        q->beside = beside;
    }
    return q->text ? HONE_OK : hn_reader_nomem(r);
}

/* `strict`: names must be declared or built in. */
static hone_rc read_quantity(const hn_reader *r, const hn_ynode *at, const char *text, size_t n, bool strict,
                             hn_quantity *q) {
    hn_arena *a = &r->w->arena;
    const char *open = memchr(text, '(', n);
    char *head = cut(a, text, open ? (size_t)(open - text) : n);
    if (!head) return hn_reader_nomem(r);
    *q = (hn_quantity){.aggregate = HN_AGG_MEDIAN, .metric = head};
    bool bare = !open && (!is_aggregate(head) || is_declared(r->w, head));
    hone_rc rc = bare ? HONE_OK : set_aggregate(r, at, head, q);
    if (rc) return rc;
    if (open) {
        const char *close = memchr(open, ')', n - (size_t)(open - text));
        size_t rest = close ? n - (size_t)(close + 1 - text) : 0;
        char *tail = close ? cut(a, close + 1, rest) : NULL;
        if (!close || (tail && *tail))
            return hn_yaml_fail(r->doc, at, r->err, "'%.*s' is not a quantity; expected one ')' at its end",
                                (int)(n - strspn(text, " ")), text + strspn(text, " "));
        q->metric = cut(a, open + 1, (size_t)(close - open - 1));
    } else if (!bare) {
        q->metric = default_metric(r->w);
        if (!q->metric) return hn_yaml_fail(r->doc, at, r->err, "'%s' of which metric? write %s(METRIC)", head, head);
    }
    if (!q->metric) return hn_reader_nomem(r);
    rc = resolve(r, at, strict, bare, q);
    return rc ? rc : name_quantity(r, q, bare);
}

static bool same_quantity(const hn_quantity *a, const hn_quantity *b) {
    return !strcmp(a->metric, b->metric) && a->aggregate == b->aggregate && a->percentile == b->percentile;
}

/* --- metrics, objectives ------------------------------------------------------------------------------------------ */

static bool uses_harness(const hone_workload *w) {
    return hn_template_has(w->build, "harness") || hn_template_has(w->run, "gpu_bench");
}

static hone_rc read_source(const hn_reader *r, const hn_ynode *node) {
    static const char *const word[] = {"harness", "lines", "sass"};
    size_t which;
    hone_rc rc = hn_read_word(r, node, "source of metrics", word, 3, &which);
    if (!rc) r->w->time_source = which ? HN_FROM_LINES : HN_FROM_HARNESS;
    if (!rc) r->w->code.plain_names = which == 2;
    if (!rc && !which && *r->w->build && !uses_harness(r->w))
        return hn_yaml_fail(r->doc, node, r->err,
                            "metrics come from the harness, but the build command has no {harness} to link it, and the "
                            "run command no {gpu_bench}");
    return rc;
}

static hone_rc read_metric_names(const hn_reader *r, const hn_ynode *node) {
    hone_workload *w = r->w;
    hone_rc rc = hn_read_texts(r, node, "the metrics' names", METRICS_MAX / 2, &w->metric, &w->n_metrics);
    for (size_t i = 0; i < w->n_metrics && !rc; i++)
        if (!is_metric_name(w->metric[i]))
            rc = hn_yaml_fail(r->doc, hn_item(node, i), r->err,
                              "metric name '%s'; use a letter, then letters, digits and _ - . /, at most %d",
                              w->metric[i], NAME_MAX_N);
    return rc;
}

/* metrics: harness | lines | sass | [names] | {source: …, names: […], and what hn_read_code_choice takes} */
static hone_rc read_metric_block(const hn_reader *r) {
    static const char *const known[] = {"source", "names", "kernel", "threads", "shared", "arch", "file", "prior"};
    const hn_ynode *node = hn_yaml_get(r->root, "metrics");
    r->w->time_source = uses_harness(r->w) ? HN_FROM_HARNESS : HN_FROM_LINES;
    if (!node) return HONE_OK;
    if (node->kind == HN_Y_SCALAR) return read_source(r, node);
    if (node->kind == HN_Y_SEQ) return read_metric_names(r, node);
    hone_rc rc = hn_yaml_check_keys(r->doc, node, "metrics", known, sizeof known / sizeof *known, r->err);
    const hn_ynode *source = hn_yaml_get(node, "source"), *names = hn_yaml_get(node, "names");
    if (!rc && source) rc = read_source(r, source);
    if (!rc && names) rc = read_metric_names(r, names);
    return rc ? rc : hn_read_code_choice(r, node);
}

static hone_rc read_objective(const hn_reader *r, const hn_ynode *node, bool strict, hn_objective *out) {
    static const char *const word[] = {"minimize", "maximize"};
    const char *text;
    hone_rc rc = hn_read_text(r, node, &text);
    if (rc) return rc;
    size_t n = strcspn(text, " \t\n(");
    bool maximize = n == 8 && !memcmp(text, word[1], n);
    if (!maximize && !(n == 8 && !memcmp(text, word[0], n))) {
        char *first = cut(&r->w->arena, text, n);
        const char *near = first ? hn_nearest(first, word, 2) : NULL;
        return hn_yaml_fail(r->doc, node, r->err, "objective '%s' must start with minimize or maximize%s%s%s", text,
                            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    rc = read_quantity(r, node, text + n, strlen(text + n), strict, &out->quantity);
    out->maximize = maximize;
    return rc;
}

static hone_rc default_objective(const hn_reader *r) {
    hone_workload *w = r->w;
    hn_ynode at = {.kind = HN_Y_SCALAR, .line = 1, .column = 1};
    at.text = w->n_metrics                        ? hn_format(&w->arena, "minimize %s", w->metric[0])
              : w->code.plain_names               ? "minimize sass.instructions"
              : w->time_source == HN_FROM_HARNESS ? "minimize median(latency)"
                                                  : "minimize time";
    if (!at.text) return hn_reader_nomem(r);
    w->n_objectives = 0;
    hone_rc rc = read_objective(r, &at, false, &w->objective[0]);
    w->n_objectives = 1;
    return rc;
}

hone_rc hn_read_metrics(const hn_reader *r) {
    hone_workload *w = r->w;
    const hn_ynode *node = hn_yaml_get(r->root, "objectives");
    hone_rc rc = read_metric_block(r);
    w->objective = HN_NEW_N(&w->arena, hn_objective, HONE_MAX_OBJECTIVES);
    if (rc || !w->objective) return rc ? rc : hn_reader_nomem(r);
    if (!node) return default_objective(r);
    if (node->kind == HN_Y_MAP || !hn_items(node) || hn_items(node) > HONE_MAX_OBJECTIVES)
        return hn_yaml_fail(r->doc, node, r->err,
                            "objectives must be a list of 1 to %d texts such as \"minimize time\"",
                            HONE_MAX_OBJECTIVES);
    bool strict = w->n_metrics > 0;
    for (size_t i = 0; i < hn_items(node); i++) {
        hn_objective *o = &w->objective[i];
        rc = read_objective(r, hn_item(node, i), strict, o);
        for (size_t k = 0; k < i && !rc; k++)
            if (same_quantity(&o->quantity, &w->objective[k].quantity))
                rc = hn_yaml_fail(r->doc, hn_item(node, i), r->err, "objective '%s' is given twice", o->quantity.text);
        if (rc) return rc;
        w->n_objectives = i + 1;
    }
    return HONE_OK;
}

/* --- limits on outcomes ------------------------------------------------------------------------------------------- */

static unit_kind unit_of(const hn_quantity *q) {
    if (q->source == HN_FROM_CODE) return hn_code_metric_at(q->code)->bytes ? UNIT_BYTES : UNIT_COUNT;
    for (size_t i = 0; i < N_BUILTINS; i++)
        if (builtins[i].source == q->source) return builtins[i].unit;
    return UNIT_ANY;
}

static hone_rc read_joules(const hn_reader *r, const hn_ynode *x, double *out) {
    static const struct {
        const char *name;
        double factor;
    } unit[] = {{"J", 1}, {"kJ", 1e3}, {"mJ", 1e-3}, {"uJ", 1e-6}};
    char *end;
    double v = hn_strtod(x->text, &end);
    while (*end == ' ') end++;
    for (size_t i = 0; end != x->text && i < sizeof unit / sizeof *unit; i++)
        if (!strcmp(end, unit[i].name)) {
            *out = v * unit[i].factor;
            return HONE_OK;
        }
    return hn_yaml_fail(r->doc, x, r->err, "expected an energy such as 2 J or 150 mJ, found '%s'", x->text);
}

/* A bare number is in the metric's base unit. */
static hone_rc read_bound(const hn_reader *r, const hn_ynode *x, const hn_quantity *q, double *out) {
    uint64_t bytes;
    hone_err ignored;
    if (!hn_yaml_double(r->doc, x, out, &ignored)) return HONE_OK;
    hone_rc rc;
    switch (unit_of(q)) {
    case UNIT_SECONDS: return hn_yaml_seconds(r->doc, x, out, r->err);
    case UNIT_JOULES: return read_joules(r, x, out);
    case UNIT_COUNT: return hn_yaml_double(r->doc, x, out, r->err);
    case UNIT_BYTES:
        rc = hn_yaml_bytes(r->doc, x, &bytes, r->err);
        if (!rc) *out = (double)bytes;
        return rc;
    default: break;
    }
    if (!hn_yaml_seconds(r->doc, x, out, &ignored)) return HONE_OK;
    if (!hn_yaml_bytes(r->doc, x, &bytes, &ignored)) {
        *out = (double)bytes;
        return HONE_OK;
    }
    return hn_yaml_fail(r->doc, x, r->err,
                        "'%s' is no bound for '%s'; write a number, a time such as 1.2 ms or a size such as 64 KiB",
                        x->text, q->text);
}

/* max_rel_error <= 1e-5: a parity rule written as a limit. */
static bool parity_limit(const char *name, hn_parity_check *rule) {
    static const char *const word[] = {"max_abs_error", "max_rel_error", "max_ulp_error"};
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(name, word[i])) {
            *rule = (hn_parity_check)(HN_PARITY_ABS + i);
            return true;
        }
    return false;
}

static hone_rc set_parity_limit(const hn_reader *r, const hn_ynode *x, hn_parity_check rule, bool at_least) {
    const hn_ynode *parity = hn_yaml_get(r->root, "parity");
    bool has_rule =
        parity && (parity->kind != HN_Y_MAP || hn_yaml_get(parity, "rule") || hn_yaml_get(parity, "command"));
    if (at_least) return hn_yaml_fail(r->doc, x, r->err, "an error can only be limited from above: write <=");
    if (has_rule || r->w->parity == HN_PARITY_ABS || r->w->parity == HN_PARITY_REL || r->w->parity == HN_PARITY_ULP)
        return hn_yaml_fail(r->doc, x, r->err, "a second parity rule; keep either this limit or the other rule");
    hone_rc rc = hn_yaml_double(r->doc, x, &r->w->parity_tol, r->err);
    if (!rc && r->w->parity_tol < 0) rc = hn_yaml_fail(r->doc, x, r->err, "a negative tolerance");
    r->w->parity = rule;
    return rc;
}

const char *hn_limit_sign(const hn_limit_rule *rule) { return rule->equal ? "==" : rule->at_least ? ">=" : "<="; }

/* What varies from run to run equals nothing, and the baseline's own value of it is known too late. */
static hone_rc check_exact(const hn_reader *r, const hn_ynode *node, const hn_limit_rule *l) {
    hn_source from = l->quantity.source;
    if (from == HN_FROM_CODE || from == HN_FROM_CODE_SIZE || from == HN_FROM_FILE_SIZE) return HONE_OK;
    return hn_yaml_fail(
        r->doc, node, r->err,
        "limit '%s': %s is for figures of the build (code_size, file_size, sass.registers …); write <= or "
        ">= and a number",
        node->text, l->equal ? "'=='" : "a bound relative to the baseline");
}

static hone_rc read_limit(const hn_reader *r, const hn_ynode *node, bool strict) {
    hone_workload *w = r->w;
    const char *text;
    hone_rc rc = hn_read_text(r, node, &text);
    if (rc) return rc;
    size_t n = strcspn(text, "<>=");
    bool at_least = text[n] == '>', equal = text[n] == '=';
    if (!text[n] || text[n + 1] != '=' || strspn(text + n, "<>=") != 2)
        return hn_yaml_fail(r->doc, node, r->err,
                            "limit '%s' must have the form QUANTITY <= BOUND, QUANTITY >= BOUND or QUANTITY == BOUND",
                            text);
    hn_ynode bound = *node; /* the text after the sign, at the limit's place */
    bound.text = cut(&w->arena, text + n + 2, strlen(text + n + 2));
    bound.quoted = false;
    char *name = cut(&w->arena, text, n);
    if (!bound.text || !name) return hn_reader_nomem(r);
    hn_parity_check rule;
    if (parity_limit(name, &rule)) return set_parity_limit(r, &bound, rule, at_least || equal);
    hn_limit_rule *l = &w->limit_rule[w->n_limit_rules];
    rc = read_quantity(r, node, text, n, strict, &l->quantity);
    l->at_least = at_least, l->equal = equal;
    l->of_baseline = !strcmp(bound.text, "baseline") || !strcmp(bound.text, "default");
    if (!rc && (equal || l->of_baseline)) rc = check_exact(r, node, l);
    if (!rc && !l->of_baseline) rc = read_bound(r, &bound, &l->quantity, &l->bound);
    if (rc) return rc;
    char number[32];
    l->text = hn_format(&w->arena, "%s %s %s", l->quantity.text, hn_limit_sign(l),
                        l->of_baseline ? "baseline" : hn_double_text(l->bound, number));
    for (size_t i = 0; i < w->n_limit_rules; i++)
        if (same_quantity(&w->limit_rule[i].quantity, &l->quantity) &&
            !strcmp(hn_limit_sign(&w->limit_rule[i]), hn_limit_sign(l)))
            return hn_yaml_fail(r->doc, node, r->err, "a second limit on '%s'", l->quantity.text);
    w->n_limit_rules++;
    return l->text ? HONE_OK : hn_reader_nomem(r);
}

hone_rc hn_read_outcome_limits(const hn_reader *r) {
    hone_workload *w = r->w;
    const hn_ynode *node = hn_yaml_get(r->root, "limits");
    if (!node) return HONE_OK;
    if (node->kind == HN_Y_MAP)
        return hn_yaml_fail(r->doc, node, r->err,
                            "limits must be a list such as [\"p99(latency) <= 1.2 ms\"]; time and memory limits of the "
                            "build and the run stand under 'stages'");
    if (hn_items(node) > HONE_MAX_CONSTRAINTS)
        return hn_yaml_fail(r->doc, node, r->err, "limits has %zu items; at most %d", hn_items(node),
                            HONE_MAX_CONSTRAINTS);
    w->limit_rule = HN_NEW_N(&w->arena, hn_limit_rule, HONE_MAX_CONSTRAINTS);
    if (!w->limit_rule) return hn_reader_nomem(r);
    const hn_ynode *metrics = hn_yaml_get(r->root, "metrics");
    bool strict = metrics && (metrics->kind == HN_Y_SEQ || hn_yaml_get(metrics, "names"));
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < hn_items(node) && !rc; i++) rc = read_limit(r, hn_item(node, i), strict);
    return rc;
}

/* --- parity ------------------------------------------------------------------------------------------------------- */

static const char *const parity_word[] = {"none", "exact", "abs",
                                          "rel",  "ulp",   "command"}; /* order of hn_parity_check */

static bool check_command_name(void *ctx, const char *name, size_t n) {
    static const char *const known[] = {"expected", "actual", "src", "dir"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == n && !memcmp(known[i], name, n)) return true;
    *(const char **)ctx = name;
    return false;
}

static hone_rc read_parity_command(const hn_reader *r, const hn_ynode *node) {
    const char *bad = NULL;
    hone_rc rc = hn_read_text(r, node, &r->w->parity_command);
    if (rc) return rc;
    const char *text = r->w->parity_command;
    hn_template_each(text, check_command_name, &bad);
    if (bad)
        return hn_yaml_fail(
            r->doc, node, r->err,
            "unknown placeholder '{%.*s}' in the parity command; known are {expected} {actual} {src} {dir}",
            (int)strcspn(bad, "}"), bad);
    if (!hn_template_has(text, "actual"))
        return hn_yaml_fail(r->doc, node, r->err, "the parity command has no {actual}, the output that it is to judge");
    return HONE_OK;
}

static hone_rc check_output(const hn_reader *r, const hn_ynode *node) {
    const char *path = r->w->parity_output;
    if (*path == '/' || !strncmp(path, "../", 3) || strstr(path, "/../"))
        return hn_yaml_fail(r->doc, node, r->err, "output '%s' must lie inside the folder that the program runs in",
                            path);
    return HONE_OK;
}

static hone_rc read_parity_map(const hn_reader *r, const hn_ynode *node) {
    static const char *const known[] = {"rule", "tolerance", "output", "command"};
    hone_workload *w = r->w;
    const hn_ynode *rule = hn_yaml_get(node, "rule"), *tol = hn_yaml_get(node, "tolerance"),
                   *output = hn_yaml_get(node, "output"), *command = hn_yaml_get(node, "command");
    hone_rc rc = hn_yaml_check_keys(r->doc, node, "parity", known, 4, r->err);
    size_t which = command ? HN_PARITY_COMMAND : HN_PARITY_EXACT;
    if (!rc && rule) rc = hn_read_word(r, rule, "parity rule", parity_word, 6, &which);
    if (!rc && command) rc = read_parity_command(r, command);
    if (!rc && output) rc = hn_read_text(r, output, &w->parity_output);
    if (!rc && output) rc = check_output(r, output);
    if (!rc && tol) rc = hn_yaml_double(r->doc, tol, &w->parity_tol, r->err);
    if (rc) return rc;
    w->parity = (hn_parity_check)which;
    bool takes_tol = which == HN_PARITY_ABS || which == HN_PARITY_REL || which == HN_PARITY_ULP;
    if (takes_tol && !tol)
        return hn_yaml_fail(r->doc, rule, r->err, "parity rule '%s' needs a 'tolerance'", parity_word[which]);
    if (tol && !takes_tol)
        return hn_yaml_fail(r->doc, tol, r->err, "parity rule '%s' takes no tolerance; the rules abs, rel and ulp do",
                            parity_word[which]);
    if (tol && w->parity_tol < 0) return hn_yaml_fail(r->doc, tol, r->err, "a negative tolerance");
    if (command && which != HN_PARITY_COMMAND)
        return hn_yaml_fail(r->doc, command, r->err, "parity rule '%s' runs no command", parity_word[which]);
    if (!command && which == HN_PARITY_COMMAND)
        return hn_yaml_fail(r->doc, rule, r->err,
                            "parity rule 'command' needs a 'command' with {expected} and {actual}");
    return HONE_OK;
}

/* parity: exact | none | {rule, tolerance, output, command} */
hone_rc hn_read_parity(const hn_reader *r) {
    const hn_ynode *node = hn_yaml_get(r->root, "parity");
    size_t which;
    if (!node) return HONE_OK;
    if (node->kind != HN_Y_SCALAR) return read_parity_map(r, node);
    hone_rc rc = hn_read_word(r, node, "parity rule", parity_word, 6, &which);
    if (!rc && which != HN_PARITY_NONE && which != HN_PARITY_EXACT)
        rc = hn_yaml_fail(r->doc, node, r->err, "parity rule '%s' needs more: write {rule: %s, %s}", parity_word[which],
                          parity_word[which], which == HN_PARITY_COMMAND ? "command: …" : "tolerance: …");
    if (!rc) r->w->parity = (hn_parity_check)which;
    return rc;
}

/* --- the floating-point contract ---------------------------------------------------------------------------------- */

static hone_rc read_fp(const hn_reader *r, const hn_ynode *node, hone_fp *out) {
    const char *word[HONE_N_FP];
    size_t which;
    for (size_t i = 0; i < HONE_N_FP; i++) word[i] = hone_fp_name((hone_fp)i);
    hone_rc rc = hn_read_word(r, node, "floating-point contract", word, HONE_N_FP, &which);
    if (!rc) *out = (hone_fp)which;
    return rc;
}

/* baseline: FLAGS | {flags: FLAGS, floating_point: CONTRACT} */
static hone_rc read_baseline(const hn_reader *r) {
    static const char *const known[] = {"flags", "floating_point"};
    const hn_ynode *node = hn_yaml_get(r->root, "baseline");
    hone_rc rc = HONE_OK;
    if (node && node->kind == HN_Y_SCALAR) {
        rc = hn_read_text(r, node, &r->w->baseline);
        node = NULL;
    }
    if (!rc && node) rc = hn_yaml_check_keys(r->doc, node, "baseline", known, 2, r->err);
    const hn_ynode *flags = hn_yaml_get(node, "flags"), *fp = hn_yaml_get(node, "floating_point");
    if (!rc && flags) rc = hn_read_text(r, flags, &r->w->baseline);
    if (rc) return rc;
    const hn_family *family = hn_family_of_command(r->w->n_compilers ? r->w->compiler[0] : NULL);
    if (!r->w->baseline) r->w->baseline = family->baseline;
    r->w->fp_baseline = family->contract_of(r->w->baseline, r->w->build);
    return fp ? read_fp(r, fp, &r->w->fp_baseline) : HONE_OK;
}

/* The loosest contract that one of the compilers has, or that the baseline is said to keep. */
static hone_fp loosest(const hone_workload *w) {
    int most = w->fp_baseline;
    for (size_t i = 0; i < w->n_compilers; i++)
        for (int fp = most + 1; fp < HONE_N_FP; fp++)
            if (hn_family_of_command(w->compiler[i])->contract[fp]) most = fp;
    return (hone_fp)most;
}

static hone_rc check_fp(const hn_reader *r, const hn_ynode *node) {
    const hone_workload *w = r->w;
    if (w->fp_max > loosest(w))
        return hn_yaml_fail(r->doc, node, r->err,
                            "none of the compilers can go as far as '%s'; the loosest contract they have is '%s'",
                            hone_fp_name(w->fp_max), hone_fp_name(loosest(w)));
    if (w->fp_max < w->fp_baseline)
        return hn_yaml_fail(r->doc, node, r->err,
                            "the baseline's contract '%s' is looser than '%s', the loosest offered; say 'baseline: "
                            "{floating_point: %s}' if that is what you ship",
                            hone_fp_name(w->fp_baseline), hone_fp_name(w->fp_max), hone_fp_name(w->fp_max));
    if (w->fp_max > w->fp_baseline && w->parity == HN_PARITY_EXACT)
        return hn_yaml_fail(r->doc, node, r->err,
                            "floating_point '%s' changes results, but the parity rule is 'exact'; set a rule with a "
                            "tolerance (abs, rel, ulp) or a command",
                            hone_fp_name(w->fp_max));
    return HONE_OK;
}

hone_rc hn_read_contract(const hn_reader *r) {
    hone_workload *w = r->w;
    const hn_ynode *node = hn_yaml_get(r->root, "floating_point");
    const hn_ynode *numeric = hn_yaml_get(hn_yaml_get(r->root, "controls"), "numeric");
    hone_rc rc = read_baseline(r);
    if (rc) return rc;
    bool exact = w->parity == HN_PARITY_EXACT;
    w->fp_max = exact || w->fp_baseline > HONE_FP_CONTRACT ? w->fp_baseline : HONE_FP_CONTRACT;
    if (w->fp_max > loosest(w)) w->fp_max = loosest(w);
    if (node) rc = read_fp(r, node, &w->fp_max);
    if (!rc && node) rc = check_fp(r, node);
    if (rc) return rc;
    w->fp_min = exact ? w->fp_baseline : HONE_FP_STRICT;
    if (!numeric) w->numeric = w->controls && w->fp_max == HONE_FP_FAST;
    if (w->numeric && exact && w->fp_baseline != HONE_FP_FAST)
        return hn_yaml_fail(r->doc, numeric ? numeric : node, r->err,
                            "numeric controls change results, but the parity rule is 'exact'; set a rule with a "
                            "tolerance (abs, rel, ulp) or a command");
    return HONE_OK;
}
