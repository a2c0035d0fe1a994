/* template.c — running a parsed template. */
#include "text/template.h"
#include "base/err.h"
#include "text/template_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_STEPS = 10 * 1000 * 1000,
    MOST_OUTPUT_B = 64 << 20,
    DEEPEST_CALL = 100,
    DEEPEST_VALUE = 500,
    DEEPEST_RUN = 1000
};

hn_tv hn_t_fail(hn_trun *r, unsigned line, const char *fmt, ...) {
    char text[400];
    va_list args;
    if (r->rc) return (hn_tv){0};
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->rc = line ? hn_fail(r->err, HONE_E_INPUT, "chat template, line %u: %s", line, text)
                 : hn_fail(r->err, HONE_E_INPUT, "chat template: %s", text);
    return (hn_tv){0};
}

bool hn_t_step(hn_trun *r, unsigned line) {
    if (r->rc) return false;
    if (++r->steps > MOST_STEPS || r->out->n > MOST_OUTPUT_B || r->arena->total_b > 16ull * MOST_OUTPUT_B)
        r->rc = hn_fail(r->err, HONE_E_LIMIT, "chat template, line %u: it does not seem to end; it was stopped", line);
    else if (!hn_arena_ok(r->arena) || r->out->failed)
        r->rc = hn_fail(r->err, HONE_E_NOMEM, "out of memory rendering a chat template");
    return !r->rc;
}

bool hn_t_work(hn_trun *r, unsigned line, size_t n, const hn_str *out) {
    r->steps += n / 64;
    if (!r->rc && out && out->n > MOST_OUTPUT_B) r->steps = MOST_STEPS;
    return hn_t_step(r, line);
}

bool hn_t_enter(hn_trun *r) {
    if (++r->nested > DEEPEST_VALUE) hn_t_fail(r, 0, "a value holds itself, or too many within each other");
    return hn_t_step(r, 0);
}

/* --- names
 * -------------------------------------------------------------------------------------------------------------------
 */

static const hn_tv *look_up(const hn_trun *r, const char *name) {
    for (const hn_tscope *s = r->scope; s; s = s->outer) {
        const hn_tv *v = hn_tv_get(&s->names, name);
        if (v) return v;
    }
    return NULL;
}

static bool is_function(const char *name) {
    static const char *const known[] = {"namespace", "range", "raise_exception", "strftime_now", "dict", "list"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i])) return true;
    return false;
}

static hn_tv named(hn_trun *r, const char *name, hn_tv *self) {
    hn_tv_method *m = HN_NEW(r->arena, hn_tv_method);
    if (m) *m = (hn_tv_method){name, self};
    return m ? (hn_tv){.kind = HN_TV_NAMED, .method = m} : (hn_tv){0};
}

static hn_tv name_value(hn_trun *r, const char *name) {
    const hn_tv *v = look_up(r, name);
    return v ? *v : is_function(name) ? named(r, name, NULL) : (hn_tv){0};
}

static hn_tv *kept(hn_trun *r, hn_tv v) {
    hn_tv *p = HN_NEW(r->arena, hn_tv);
    if (p) *p = v;
    return p;
}

static hn_tv member(hn_trun *r, const hn_tnode *n, const hn_tv *v, const char *name) {
    const hn_tv *found = v->kind == HN_TV_DICT ? hn_tv_get(v->dict, name) : NULL;
    if (found) return *found;
    if (hn_t_is_method(v, name)) return named(r, name, kept(r, *v));
    if (v->kind == HN_TV_UNDEFINED) return hn_t_fail(r, n->line, "'%s' of something that is not defined", name);
    return (hn_tv){0};
}

/* --- indices ------------------------------------------------------------------------------------------------------ */

static hn_tv index_of(hn_trun *r, const hn_tnode *n) {
    hn_tv v = hn_t_eval(r, n->a), i = hn_t_eval(r, n->b);
    if (r->rc) return v;
    if (v.kind == HN_TV_DICT && i.kind == HN_TV_TEXT) return member(r, n, &v, i.text);
    if (v.kind == HN_TV_UNDEFINED) return hn_t_fail(r, n->line, "an element of something that is not defined");
    if ((v.kind != HN_TV_LIST && v.kind != HN_TV_TEXT) || (i.kind != HN_TV_INT && i.kind != HN_TV_BOOL))
        return (hn_tv){0};
    hn_tv items = hn_tv_items(r, &v);
    if (r->rc) return items;
    int64_t size = (int64_t)items.list->n, at = i.i < 0 ? i.i + size : i.i;
    return at >= 0 && at < size ? items.list->item[at] : (hn_tv){0};
}

static int64_t bound(hn_trun *r, const hn_tnode *n, int64_t otherwise, bool *given) {
    hn_tv v = n ? hn_t_eval(r, n) : (hn_tv){.kind = HN_TV_NONE};
    *given = v.kind == HN_TV_INT || v.kind == HN_TV_BOOL;
    if (!*given && v.kind != HN_TV_NONE) hn_t_fail(r, n->line, "the bounds of a slice are numbers");
    return *given ? v.i : otherwise;
}

static int64_t clamped(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

/* As Python: negative ones count from the end, steps may go backwards. */
static hn_tv slice_of(hn_trun *r, const hn_tnode *n) {
    hn_tv v = hn_t_eval(r, n->a);
    bool from_given, to_given, step_given;
    if (!r->rc && v.kind != HN_TV_LIST && v.kind != HN_TV_TEXT)
        return hn_t_fail(r, n->line, "a slice of what is no list and no text");
    hn_tv items = r->rc ? v : hn_tv_items(r, &v);
    int64_t step = bound(r, n->d, 1, &step_given), from = bound(r, n->b, 0, &from_given),
            to = bound(r, n->c, 0, &to_given);
    if (!r->rc && !step) return hn_t_fail(r, n->line, "a slice with steps of 0");
    if (r->rc) return (hn_tv){0};
    int64_t size = (int64_t)items.list->n, low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    from = from_given ? clamped(from < 0 ? from + size : from, low, high) : step > 0 ? 0 : size - 1;
    to = to_given ? clamped(to < 0 ? to + size : to, low, high) : step > 0 ? size : -1;
    if (step < -size - 1) step = -size - 1; /* no further than from end to end */
    if (step > size + 1) step = size + 1;
    int64_t count = step > 0    ? (to > from ? (to - from + step - 1) / step : 0)
                    : from > to ? (from - to - step - 1) / -step
                                : 0;
    hn_tv list = hn_tv_new_list(r, (size_t)count);
    for (int64_t i = 0; !r->rc && i < count; i++) list.list->item[i] = items.list->item[from + i * step];
    if (r->rc || v.kind == HN_TV_LIST) return list;
    hn_str s = {0};
    for (int64_t i = 0; i < count; i++) hn_tv_print(r, &list.list->item[i], &s);
    v = hn_tv_text(r, s.text ? s.text : "", s.n);
    hn_str_free(&s);
    return v;
}

/* --- operators ---------------------------------------------------------------------------------------------------- */

static bool contains(hn_trun *r, const hn_tnode *n, const hn_tv *in, const hn_tv *v) {
    if (in->kind == HN_TV_TEXT) {
        if (v->kind != HN_TV_TEXT) hn_t_fail(r, n->line, "`in` a text asks for a text");
        return v->kind == HN_TV_TEXT && hn_t_work(r, n->line, in->n, NULL) &&
               (!v->n || memmem(in->text, in->n, v->text, v->n));
    }
    if (in->kind == HN_TV_DICT) return v->kind == HN_TV_TEXT && hn_tv_get(in->dict, v->text);
    hn_tv items = hn_tv_items(r, in);
    for (size_t i = 0; !r->rc && i < items.list->n; i++)
        if (hn_tv_equal(r, &items.list->item[i], v)) return true;
    return false;
}

static hn_tv joined(hn_trun *r, const hn_tv *a, const hn_tv *b) {
    hn_str s = {0};
    hn_tv_print(r, a, &s);
    hn_tv_print(r, b, &s);
    hn_tv v = hn_tv_text(r, s.text ? s.text : "", s.n);
    hn_str_free(&s);
    return v;
}

static hn_tv appended(hn_trun *r, const hn_tv *a, const hn_tv *b) {
    hn_tv v = hn_tv_new_list(r, a->list->n + b->list->n);
    if (r->rc) return v;
    if (a->list->n) memcpy(v.list->item, a->list->item, a->list->n * sizeof(hn_tv));
    if (b->list->n) memcpy(v.list->item + a->list->n, b->list->item, b->list->n * sizeof(hn_tv));
    return v;
}

static hn_tv repeated(hn_trun *r, const hn_tv *text, int64_t times) {
    hn_str s = {0};
    for (int64_t i = 0; i < times && hn_t_step(r, 0) && s.n < MOST_OUTPUT_B; i++) hn_str_add_n(&s, text->text, text->n);
    hn_tv v = hn_tv_text(r, s.text ? s.text : "", s.n);
    hn_str_free(&s);
    return v;
}

static hn_tv arithmetic(hn_trun *r, const hn_tnode *n, const char *op, const hn_tv *a, const hn_tv *b) {
    bool whole = a->kind != HN_TV_FLOAT && b->kind != HN_TV_FLOAT;
    double x = hn_tv_number(a), y = hn_tv_number(b), f = 0;
    int64_t i = 0;
    if (strchr("/%", op[0]) && y == 0) return hn_t_fail(r, n->line, "division by zero");
    if (whole && op[0] == '%') return hn_tv_int(hn_tv_modulo(a->i, b->i));
    if (whole && !strcmp(op, "//") && b->i != -1)
        return hn_tv_int(a->i / b->i - (a->i % b->i && (a->i < 0) != (b->i < 0)));
    if (whole && !strcmp(op, "//") && !__builtin_sub_overflow(0, a->i, &i)) return hn_tv_int(i);
    if (whole && ((op[0] == '+' && !__builtin_add_overflow(a->i, b->i, &i)) ||
                  (op[0] == '-' && !__builtin_sub_overflow(a->i, b->i, &i)) ||
                  (!strcmp(op, "*") && !__builtin_mul_overflow(a->i, b->i, &i))))
        return hn_tv_int(i);
    switch (op[0]) {
    case '+': f = x + y; break;
    case '-': f = x - y; break;
    case '*': f = op[1] ? pow(x, y) : x * y; break;
    case '/': f = op[1] ? floor(x / y) : x / y; break;
    default: f = x - floor(x / y) * y; break;
    }
    if (whole && !strcmp(op, "**") && fabs(f) < 0x1p53 && f == floor(f)) return hn_tv_int((int64_t)f);
    return (hn_tv){.kind = HN_TV_FLOAT, .f = f};
}

static hn_tv compare(hn_trun *r, const hn_tnode *n, const hn_tv *a, const hn_tv *b) {
    const char *op = n->text;
    if (!strcmp(op, "==")) return hn_tv_bool(hn_tv_equal(r, a, b));
    if (!strcmp(op, "!=")) return hn_tv_bool(!hn_tv_equal(r, a, b));
    if (!strcmp(op, "in")) return hn_tv_bool(contains(r, n, b, a));
    if (!strcmp(op, "not in")) return hn_tv_bool(!contains(r, n, b, a));
    int order = hn_tv_order(r, a, b);
    return hn_tv_bool(op[0] == '<' ? order < 0 || (op[1] && !order) : order > 0 || (op[1] && !order));
}

static hn_tv binary(hn_trun *r, const hn_tnode *n) {
    const char *op = n->text;
    hn_tv a = hn_t_eval(r, n->a);
    if (r->rc) return a;
    if (!strcmp(op, "and")) return hn_tv_true(&a) ? hn_t_eval(r, n->b) : a;
    if (!strcmp(op, "or")) return hn_tv_true(&a) ? a : hn_t_eval(r, n->b);
    hn_tv b = hn_t_eval(r, n->b);
    if (r->rc) return b;
    if (strchr("=!<>in", op[0])) return compare(r, n, &a, &b);
    if (op[0] == '~') return joined(r, &a, &b);
    if (op[0] == '+' && a.kind == HN_TV_TEXT && b.kind == HN_TV_TEXT) return joined(r, &a, &b);
    if (op[0] == '+' && a.kind == HN_TV_LIST && b.kind == HN_TV_LIST) return appended(r, &a, &b);
    if (!strcmp(op, "*") && a.kind == HN_TV_TEXT && b.kind == HN_TV_INT) return repeated(r, &a, b.i);
    if (!hn_tv_is_number(&a) || !hn_tv_is_number(&b))
        return hn_t_fail(r, n->line, "'%s' of values that are no numbers", op);
    return arithmetic(r, n, op, &a, &b);
}

static hn_tv unary(hn_trun *r, const hn_tnode *n) {
    hn_tv v = hn_t_eval(r, n->a);
    if (r->rc) return v;
    if (n->text[0] == 'n') return hn_tv_bool(!hn_tv_true(&v));
    if (!hn_tv_is_number(&v)) return hn_t_fail(r, n->line, "'%s' of a value that is no number", n->text);
    if (n->text[0] == '+') return v;
    return v.kind == HN_TV_FLOAT ? (hn_tv){.kind = HN_TV_FLOAT, .f = -v.f} : hn_tv_int((int64_t)(0 - (uint64_t)v.i));
}

/* --- calls
 * -------------------------------------------------------------------------------------------------------------------
 */

static bool evaluate(hn_trun *r, const hn_tnode *n, hn_targs *out) {
    out->value = HN_NEW_N(r->arena, hn_tv, n->n_list ? n->n_list : 1);
    out->name = HN_NEW_N(r->arena, const char *, n->n_list ? n->n_list : 1);
    out->n = n->n_list;
    for (size_t i = 0; hn_t_step(r, n->line) && i < n->n_list; i++) {
        bool keyword = n->list[i]->kind == HN_TN_KEYWORD;
        out->name[i] = keyword ? n->list[i]->text : NULL;
        out->value[i] = hn_t_eval(r, keyword ? n->list[i]->a : n->list[i]);
    }
    return !r->rc;
}

static void run(hn_trun *r, const hn_tnode *n);

static hn_tv captured(hn_trun *r, const hn_tnode *body) {
    hn_str own = {0}, *was = r->out;
    r->out = &own;
    run(r, body);
    r->out = was;
    hn_tv v = hn_tv_text(r, own.text ? own.text : "", own.n);
    hn_str_free(&own);
    return v;
}

/* A macro sees the names of the whole template, and its parameters. */
static hn_tv call_macro(hn_trun *r, const hn_tnode *n, const hn_tnode *macro, const hn_targs *args) {
    hn_tscope own = {.outer = r->scope}, *was = r->scope;
    while (own.outer && own.outer->outer) own.outer = own.outer->outer;
    if (++r->depth > DEEPEST_CALL) return hn_t_fail(r, n->line, "macros call each other too deeply");
    for (size_t i = 0; i < macro->n_list && !r->rc; i++) {
        const hn_tv *given = hn_t_arg(args, i, macro->list[i]->text);
        hn_tv v = given ? *given : macro->list[i]->b ? hn_t_eval(r, macro->list[i]->b) : (hn_tv){0};
        hn_tv_set(r, &own.names, macro->list[i]->text, v);
    }
    r->scope = &own;
    hn_tv v = captured(r, macro->body);
    r->scope = was;
    r->depth--;
    return v;
}

static hn_tv call(hn_trun *r, const hn_tnode *n) {
    hn_tv f = hn_t_eval(r, n->a);
    hn_targs args;
    if (r->rc || !evaluate(r, n, &args)) return f;
    if (f.kind == HN_TV_MACRO) return call_macro(r, n, f.macro, &args);
    if (f.kind == HN_TV_NAMED) return hn_t_call_named(r, n, f.method, &args);
    const char *name = n->a->kind == HN_TN_NAME || n->a->kind == HN_TN_MEMBER ? n->a->text : "?";
    return hn_t_fail(r, n->line, "'%s' is no function that is known", name);
}

static hn_tv list_value(hn_trun *r, const hn_tnode *n) {
    hn_tv v = hn_tv_new_list(r, n->n_list);
    if (!r->rc) v.list->tuple = n->negated;
    for (size_t i = 0; !r->rc && i < n->n_list; i++) v.list->item[i] = hn_t_eval(r, n->list[i]);
    return v;
}

static hn_tv dict_value(hn_trun *r, const hn_tnode *n) {
    hn_tv v = hn_tv_new_dict(r);
    for (size_t i = 0; !r->rc && i + 1 < n->n_list; i += 2) {
        hn_tv key = hn_t_eval(r, n->list[i]), value = hn_t_eval(r, n->list[i + 1]);
        if (!r->rc && key.kind != HN_TV_TEXT) return hn_t_fail(r, n->line, "the keys of a mapping are texts");
        if (!r->rc) hn_tv_set(r, v.dict, key.text, value);
    }
    return v;
}

static hn_tv evaluated(hn_trun *r, const hn_tnode *n) {
    hn_tv v;
    hn_targs args;
    switch (n->kind) {
    case HN_TN_LITERAL: return n->value;
    case HN_TN_NAME: return name_value(r, n->text);
    case HN_TN_LIST: return list_value(r, n);
    case HN_TN_DICT: return dict_value(r, n);
    case HN_TN_MEMBER: v = hn_t_eval(r, n->a); return r->rc ? v : member(r, n, &v, n->text);
    case HN_TN_INDEX: return index_of(r, n);
    case HN_TN_SLICE: return slice_of(r, n);
    case HN_TN_CALL: return call(r, n);
    case HN_TN_FILTER:
        v = hn_t_eval(r, n->a);
        return r->rc || !evaluate(r, n, &args) ? v : hn_t_filter(r, n, n->text, &v, &args);
    case HN_TN_TEST:
        v = hn_t_eval(r, n->a);
        return r->rc || !evaluate(r, n, &args) ? v : hn_tv_bool(hn_t_test(r, n, n->text, &v, &args) != n->negated);
    case HN_TN_UNARY: return unary(r, n);
    case HN_TN_BINARY: return binary(r, n);
    case HN_TN_CHOICE:
        v = hn_t_eval(r, n->a);
        if (r->rc) return v;
        return hn_tv_true(&v) ? hn_t_eval(r, n->b) : n->c ? hn_t_eval(r, n->c) : (hn_tv){0};
    default: return hn_t_fail(r, n->line, "a statement where a value is expected");
    }
}

hn_tv hn_t_eval(hn_trun *r, const hn_tnode *n) {
    if (!hn_t_step(r, n->line)) return (hn_tv){0};
    if (r->level >= DEEPEST_RUN) return hn_t_fail(r, n->line, "too much is computed within each other");
    r->level++;
    hn_tv v = evaluated(r, n);
    r->level--;
    return v;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static void set_loop(hn_trun *r, hn_tv_dict *names, const hn_tv_list *items, size_t i) {
    hn_tv v = hn_tv_new_dict(r);
    if (r->rc) return;
    const int64_t n = (int64_t)items->n, at = (int64_t)i;
    hn_tv_set(r, v.dict, "index", hn_tv_int(at + 1));
    hn_tv_set(r, v.dict, "index0", hn_tv_int(at));
    hn_tv_set(r, v.dict, "revindex", hn_tv_int(n - at));
    hn_tv_set(r, v.dict, "revindex0", hn_tv_int(n - at - 1));
    hn_tv_set(r, v.dict, "first", hn_tv_bool(!at));
    hn_tv_set(r, v.dict, "last", hn_tv_bool(at == n - 1));
    hn_tv_set(r, v.dict, "length", hn_tv_int(n));
    if (at) hn_tv_set(r, v.dict, "previtem", items->item[at - 1]);
    if (at + 1 < n) hn_tv_set(r, v.dict, "nextitem", items->item[at + 1]);
    hn_tv_set(r, names, "loop", v);
}

static void bind(hn_trun *r, const hn_tnode *n, hn_tv_dict *names, const hn_tv *v) {
    if (n->n_names == 1) {
        hn_tv_set(r, names, n->list[0]->text, *v);
        return;
    }
    if (v->kind != HN_TV_LIST || v->list->n != n->n_names) {
        hn_t_fail(r, n->line, "%zu names for what is no list of so many", n->n_names);
        return;
    }
    for (size_t i = 0; i < n->n_names; i++) hn_tv_set(r, names, n->list[i]->text, v->list->item[i]);
}

/* The items for which the loop's condition holds. */
static hn_tv chosen(hn_trun *r, const hn_tnode *n, const hn_tv *items) {
    hn_tv keep = hn_tv_new_list(r, items->list->n);
    size_t count = 0;
    hn_tscope own = {.outer = r->scope};
    r->scope = &own;
    for (size_t i = 0; !r->rc && i < items->list->n; i++) {
        bind(r, n, &own.names, &items->list->item[i]);
        hn_tv yes = r->rc ? (hn_tv){0} : hn_t_eval(r, n->b);
        if (!r->rc && hn_tv_true(&yes)) keep.list->item[count++] = items->list->item[i];
    }
    r->scope = own.outer;
    if (!r->rc) keep.list->n = count;
    return keep;
}

static void run_for(hn_trun *r, const hn_tnode *n) {
    hn_tv v = hn_t_eval(r, n->a), items = r->rc ? v : hn_tv_items(r, &v);
    if (!r->rc && n->b) items = chosen(r, n, &items);
    if (r->rc) return;
    if (!items.list->n) {
        run(r, n->other);
        return;
    }
    for (size_t i = 0; hn_t_step(r, n->line) && i < items.list->n && r->jump != HN_T_BREAK; i++) {
        hn_tscope own = {.outer = r->scope}; /* what a turn sets is gone behind it */
        r->scope = &own;
        set_loop(r, &own.names, items.list, i);
        bind(r, n, &own.names, &items.list->item[i]);
        run(r, n->body);
        r->scope = own.outer;
        if (r->jump == HN_T_CONTINUE) r->jump = HN_T_ON;
    }
    r->jump = HN_T_ON;
}

static void assign(hn_trun *r, const hn_tnode *target, const hn_tv *v) {
    if (target->kind == HN_TN_NAME)
        hn_tv_set(r, &r->scope->names, target->text, *v);
    else if (target->kind == HN_TN_MEMBER) {
        hn_tv space = hn_t_eval(r, target->a);
        if (!r->rc && (space.kind != HN_TV_DICT || !space.dict->open))
            hn_t_fail(r, target->line, "only members of a namespace can be set");
        if (!r->rc) hn_tv_set(r, space.dict, target->text, *v);
    } else if (target->kind == HN_TN_LIST && v->kind == HN_TV_LIST && v->list->n == target->n_list)
        for (size_t i = 0; i < target->n_list; i++) assign(r, target->list[i], &v->list->item[i]);
    else
        hn_t_fail(r, target->line, "this cannot be set");
}

static void run_one(hn_trun *r, const hn_tnode *n) {
    hn_tv v;
    switch (n->kind) {
    case HN_TN_TEXT: hn_str_add_n(r->out, n->text, n->n_text); break;
    case HN_TN_OUTPUT:
        v = hn_t_eval(r, n->a);
        if (!r->rc) hn_tv_print(r, &v, r->out);
        break;
    case HN_TN_FOR: run_for(r, n); break;
    case HN_TN_IF:
        v = hn_t_eval(r, n->a);
        if (!r->rc) run(r, hn_tv_true(&v) ? n->body : n->other);
        break;
    case HN_TN_SET:
        v = n->b ? hn_t_eval(r, n->b) : captured(r, n->body);
        if (!r->rc) assign(r, n->a, &v);
        break;
    case HN_TN_MACRO: hn_tv_set(r, &r->scope->names, n->text, (hn_tv){.kind = HN_TV_MACRO, .macro = n}); break;
    case HN_TN_BREAK: r->jump = HN_T_BREAK; break;
    case HN_TN_CONTINUE: r->jump = HN_T_CONTINUE; break;
    default: hn_t_fail(r, n->line, "a value where a statement is expected");
    }
}

static void run(hn_trun *r, const hn_tnode *n) {
    if (r->level >= DEEPEST_RUN) hn_t_fail(r, n ? n->line : 0, "too much is computed within each other");
    r->level++;
    for (; n && r->jump == HN_T_ON && hn_t_step(r, n->line); n = n->next) run_one(r, n);
    r->level--;
}

hone_rc hn_template_render(const char *text, size_t n, const json_t *context, double now_s, hn_str *out,
                           hone_err *err) {
    hn_arena arena = {0};
    hn_str own = {0};
    hn_tscope names = {0};
    hn_trun r = {.arena = &arena, .scope = &names, .out = &own, .now_s = now_s, .err = err};
    hn_tv given = hn_tv_from_json(&r, context);
    if (!r.rc && given.kind != HN_TV_DICT) hn_t_fail(&r, 0, "its context is no object");
    if (!r.rc) names.names = *given.dict;
    hn_tnode *all = r.rc ? NULL : hn_template_parse(&r, text, n);
    if (!r.rc) run(&r, all);
    if (!r.rc && (own.failed || !hn_arena_ok(&arena)))
        r.rc = hn_fail(err, HONE_E_NOMEM, "out of memory rendering a chat template");
    if (!r.rc) hn_str_add_n(out, own.text ? own.text : "", own.n);
    hn_str_free(&own);
    hn_arena_free(&arena);
    return r.rc;
}
