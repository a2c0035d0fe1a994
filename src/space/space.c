/* space/space.c — building a space: parameters are checked and copied one by one. */
#include "base/err.h"
#include "base/locale.h"
#include "base/str.h"
#include "base/utf8.h"
#include "space/space_int.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers beyond this are not all doubles. */
#define MAX_WHOLE 0x1p53

static hone_rc no_memory(hone_err *err, const char *name) {
    return hn_fail(err, HONE_E_NOMEM, "out of memory building space '%s'", name);
}

uint64_t hn_text_key(uint64_t seed, const char *text) {
    uint64_t h = 0xcbf29ce484222325u ^ seed; /* FNV-1a, then a finaliser for avalanche */
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) h = (h ^ *c) * 0x100000001b3u;
    return hn_mix64(h);
}

bool hone_space_number(const char *text, double *out) {
    if (!isdigit((unsigned char)*text) && !(*text && strchr("+-.", *text) && strpbrk(text, "0123456789"))) return false;
    char *end;
    double v = hn_strtod(text, &end);
    if (end == text || *end || !isfinite(v)) return false;
    *out = v;
    return true;
}

void hone_space_free(hone_space *space) {
    if (!space) return;
    hn_arena_free(&space->arena);
    free(space->param);
    free(space->constraint);
    free(space->name_table);
    free(space);
}

/* --- names --------------------------------------------------------------------------------------------------- */

/* Where a name is, or the free place where it belongs. */
static size_t probe(const hone_space *s, const char *name) {
    size_t i = (size_t)hn_text_key(0, name) & (s->name_room - 1);
    while (s->name_table[i] && strcmp(s->param[s->name_table[i] - 1].name, name)) i = (i + 1) & (s->name_room - 1);
    return i;
}

size_t hone_space_find(const hone_space *space, const char *name) {
    if (!space->name_room) return SIZE_MAX;
    uint32_t at = space->name_table[probe(space, name)];
    return at ? at - 1 : SIZE_MAX;
}

/* Makes room for one more parameter, in the list and in the table (at most half full). */
static bool grow_params(hone_space *s) {
    if (s->n_params == s->room_params) {
        size_t room = s->room_params ? 2 * s->room_params : 16;
        hone_param *p = realloc(s->param, room * sizeof *p);
        if (!p) return false;
        s->param = p;
        s->room_params = room;
    }
    if (2 * (s->n_params + 1) <= s->name_room) return true;
    size_t room = s->name_room ? 2 * s->name_room : 64;
    uint32_t *fresh = calloc(room, sizeof *fresh);
    if (!fresh) return false;
    free(s->name_table);
    s->name_table = fresh;
    s->name_room = room;
    for (size_t i = 0; i < s->n_params; i++) s->name_table[probe(s, s->param[i].name)] = (uint32_t)i + 1;
    return true;
}

/* --- checks -------------------------------------------------------------------------------------------------- */

static hone_rc check_name(const hone_space *s, const char *name, hone_err *err) {
    if (!name || !*name) return hn_fail(err, HONE_E_INPUT, "a parameter of space '%s' has no name", s->name);
    size_t n = strlen(name);
    if (n > HN_MAX_NAME_B)
        return hn_fail(err, HONE_E_LIMIT, "parameter name '%.40s…' is longer than %d bytes", name, HN_MAX_NAME_B);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.+=", name[i]))
            return hn_fail(err, HONE_E_INPUT, "parameter '%s': a name consists of letters, digits and _ - . + =", name);
    if (hone_space_find(s, name) != SIZE_MAX)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s' is given twice in space '%s'; rename one", name, s->name);
    return HONE_OK;
}

/* Bytes of the character at s, 0 when malformed or one that YAML or JSON would not carry through unchanged: controls,
 * line separators, the byte order mark, U+FFFE and U+FFFF. */
static size_t plain(const char *s) {
    uint32_t c = 0;
    size_t n = hn_utf8_next(s, SIZE_MAX, &c);
    bool control = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
    return control || c == 0xfeff || c == 0xfffe || c == 0xffff ? 0 : n;
}

static bool printable(const char *text) {
    const char *c = text;
    for (size_t n = 1; *c && n; c += n) n = plain(c);
    return !*c;
}

hone_rc hone_space_new(const char *name, hone_space **out, hone_err *err) {
    if (!name) name = "";
    if (!printable(name)) return hn_fail(err, HONE_E_INPUT, "a space's name holds a control character or is not UTF-8");
    hone_space *s = calloc(1, sizeof *s);
    if (!s) return no_memory(err, name);
    s->name = hn_strdup(&s->arena, name);
    if (!s->name) {
        hone_space_free(s);
        return no_memory(err, name);
    }
    *out = s;
    return HONE_OK;
}

static hone_rc check_text(const hone_param *p, const char *what, const char *text, hone_err *err) {
    if (printable(text)) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT, "parameter '%s': %s holds a control character or is not UTF-8", p->name, what);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static hone_rc check_distinct(const hone_param *p, hone_err *err) {
    const char **v = malloc(p->n_values * sizeof *v);
    if (!v) return no_memory(err, p->name);
    memcpy(v, p->values, p->n_values * sizeof *v);
    qsort(v, p->n_values, sizeof *v, by_text);
    const char *twice = NULL;
    for (size_t i = 1; i < p->n_values && !twice; i++)
        if (!strcmp(v[i - 1], v[i])) twice = v[i];
    free(v);
    return twice ? hn_fail(err, HONE_E_INPUT, "parameter '%s': value '%s' is given twice", p->name, twice) : HONE_OK;
}

static hone_rc check_values(const hone_param *p, hone_err *err) {
    size_t most = p->kind == HONE_PERMUTATION ? HN_MAX_PERMUTATION : HN_MAX_VALUES;
    if (!p->n_values || !p->values)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s' has no values; give at least one", p->name);
    if (p->n_values > most)
        return hn_fail(err, HONE_E_LIMIT, "parameter '%s' has %zu values; at most %zu are accepted", p->name,
                       p->n_values, most);
    if (p->kind == HONE_LITERAL && p->n_values != 1)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': a literal has one value, not %zu", p->name, p->n_values);
    for (size_t i = 0; i < p->n_values; i++) {
        if (!p->values[i] || !*p->values[i])
            return hn_fail(err, HONE_E_INPUT, "parameter '%s': value %zu is empty", p->name, i + 1);
        hone_rc rc = check_text(p, "a value", p->values[i], err);
        if (rc) return rc;
    }
    return check_distinct(p, err);
}

static bool whole(double x) { return x == floor(x) && fabs(x) <= MAX_WHOLE; }

static hone_rc check_range(const hone_param *p, hone_err *err) {
    char a[32], b[32];
    hn_double_text(p->lo, a);
    hn_double_text(p->hi, b);
    if (!isfinite(p->lo) || !isfinite(p->hi) || !isfinite(p->hi - p->lo) || !isfinite(p->step) || p->step < 0)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': range %s..%s or its step is not finite", p->name, a, b);
    if (p->lo > p->hi)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': range %s..%s is empty; swap its ends", p->name, a, b);
    if (p->kind == HONE_INT && (!whole(p->lo) || !whole(p->hi) || !whole(p->step)))
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': an int's range and step are whole numbers below 2^53",
                       p->name);
    if (p->log && p->lo <= 0)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': log needs a range above 0, not %s..%s", p->name, a, b);
    double size = fmax(fabs(p->lo), fabs(p->hi));
    if (p->step > 0 && (p->step < size * 0x1p-48 || (p->hi - p->lo) / p->step > 0x1p50) && p->kind == HONE_FLOAT)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': step is too fine for range %s..%s", p->name, a, b);
    return HONE_OK;
}

static double grid_step(const hone_param *p) { return p->step > 0 ? p->step : p->kind == HONE_INT ? 1 : 0; }

static bool on_grid(const hone_param *p, double x) {
    double step = grid_step(p);
    if (!(x >= p->lo && x <= p->hi)) return false;
    return step == 0 || x == p->lo + step * floor((x - p->lo) / step + 0.5);
}

static hone_rc check_seed(const hone_param *p, hone_err *err) {
    char a[32], b[32];
    hn_double_text(p->seed_lo, a);
    hn_double_text(p->seed_hi, b);
    if (p->kind != HONE_INT && p->kind != HONE_FLOAT)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': a seed window is for int and float only", p->name);
    if (!(p->seed_lo >= p->lo && p->seed_lo <= p->seed_hi && p->seed_hi <= p->hi))
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': seed window %s..%s is not within the range", p->name, a, b);
    double step = grid_step(p);
    if (step > 0 && p->lo + step * floor((p->seed_hi - p->lo) / step + 1e-9) < p->seed_lo)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': seed window %s..%s holds no value of the range", p->name, a,
                       b);
    return HONE_OK;
}

static bool ranged(const hone_param *p) { return p->kind == HONE_INT || p->kind == HONE_FLOAT; }

static hone_rc check_default(const hone_param *p, hone_err *err) {
    char text[32];
    hn_double_text(p->dflt, text);
    if (isnan(p->dflt)) {
        if (p->optional) return HONE_OK;
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': its default is absent, but it is not optional", p->name);
    }
    if (ranged(p)) {
        if (on_grid(p, p->dflt)) return HONE_OK;
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': default %s is not a value of its range", p->name, text);
    }
    double n = p->kind == HONE_FLAG ? 2 : p->kind == HONE_CHOICE || p->kind == HONE_ORDINAL ? (double)p->n_values : 1;
    if (p->kind == HONE_PERMUTATION || (whole(p->dflt) && p->dflt >= 0 && p->dflt < n)) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT, "parameter '%s': default %s is not the number of one of its values", p->name,
                   text);
}

static hone_rc check_knockout(const hone_param *p, hone_err *err) {
    if (!(p->knockout >= 0 && p->knockout <= 1))
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': knock-out probability must be within 0..1", p->name);
    if (p->knockout > 0 && !p->optional)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': a knock-out probability needs 'optional'", p->name);
    return HONE_OK;
}

static hone_rc check_param(const hone_space *s, const hone_param *p, hone_err *err) {
    hone_rc rc = check_name(s, p->name, err);
    if (rc) return rc;
    if ((unsigned)p->kind > HONE_LITERAL)
        return hn_fail(err, HONE_E_INPUT, "parameter '%s': unknown kind %d", p->name, (int)p->kind);
    if (ranged(p))
        rc = check_range(p, err);
    else if (p->kind != HONE_FLAG)
        rc = check_values(p, err);
    if (!rc && p->has_seed) rc = check_seed(p, err);
    if (!rc) rc = check_default(p, err);
    if (!rc) rc = check_knockout(p, err);
    if (!rc && p->doc) rc = check_text(p, "its doc", p->doc, err);
    if (!rc && p->tag) rc = check_text(p, "its tag", p->tag, err);
    return rc;
}

/* --- adding -------------------------------------------------------------------------------------------------- */

static hone_rc check_open(const hone_space *s, hone_err *err) {
    return s->sealed ? hn_fail(err, HONE_E_USAGE, "space '%s' is sealed; nothing can be added", s->name) : HONE_OK;
}

/* `last` is the parameter before, NULL for the first: conditions often repeat and are kept once. */
static hone_param copied(hn_arena *a, const hone_param *p, const hone_param *last) {
    hone_param q = *p;
    bool repeats = last && last->when && p->when && !strcmp(last->when, p->when);
    q.name = hn_strdup(a, p->name);
    q.when = repeats ? last->when : hn_strdup(a, p->when);
    q.doc = hn_strdup(a, p->doc);
    q.tag = hn_strdup(a, p->tag);
    q.values = NULL;
    if (!p->has_seed) q.seed_lo = q.seed_hi = 0;
    if (ranged(p) || p->kind == HONE_FLAG) {
        q.n_values = 0;
        return q;
    }
    const char **v = HN_NEW_N(a, const char *, p->n_values);
    for (size_t i = 0; v && i < p->n_values; i++) v[i] = hn_strdup(a, p->values[i]);
    q.values = v;
    return q;
}

hone_rc hone_space_add(hone_space *space, const hone_param *param, hone_err *err) {
    hone_rc rc = check_open(space, err);
    if (!rc) rc = check_param(space, param, err);
    if (rc) return rc;
    size_t n_slots = param->kind == HONE_PERMUTATION ? param->n_values : 1;
    if (space->n_slots + n_slots > HN_MAX_PARAMS)
        return hn_fail(err, HONE_E_LIMIT, "space '%s' has more than %d parameters; split it", space->name,
                       HN_MAX_PARAMS);
    if (space->arena.total_b > HN_MAX_SPACE_B)
        return hn_fail(err, HONE_E_LIMIT, "the texts of space '%s' take more than %d MiB; split it", space->name,
                       HN_MAX_SPACE_B >> 20);
    if (!grow_params(space)) return no_memory(err, space->name);
    hone_param p = copied(&space->arena, param, space->n_params ? &space->param[space->n_params - 1] : NULL);
    if (!hn_arena_ok(&space->arena)) return no_memory(err, space->name);
    if (p.when && !p.when[strspn(p.when, " \t\r\n")]) p.when = NULL;
    p.slot = space->n_slots;
    p.n_slots = n_slots;
    size_t at = probe(space, p.name);
    space->param[space->n_params++] = p;
    space->name_table[at] = (uint32_t)space->n_params;
    space->n_slots += n_slots;
    return HONE_OK;
}

static hone_rc add_constraint(hone_space *s, const char *text, hone_err *err) {
    if (s->n_constraints == HN_MAX_CONSTRAINTS)
        return hn_fail(err, HONE_E_LIMIT, "space '%s' has more than %d constraints", s->name, HN_MAX_CONSTRAINTS);
    if (s->n_constraints == s->room_constraints) {
        size_t room = s->room_constraints ? 2 * s->room_constraints : 8;
        const char **c = realloc(s->constraint, room * sizeof *c);
        if (!c) return no_memory(err, s->name);
        s->constraint = c;
        s->room_constraints = room;
    }
    char *copy = hn_strdup(&s->arena, text);
    if (!copy) return no_memory(err, s->name);
    s->constraint[s->n_constraints++] = copy;
    return HONE_OK;
}

/* Syntax is checked at once, names when sealed: a constraint may come before its parameters. */
static hone_rc check_syntax(hone_space *s, const char *what, const char *text, hone_err *err) {
    hn_expr e;
    hn_arena scratch = {0};
    hone_rc rc = hn_expr_parse(&scratch, text, &e, err);
    hn_arena_free(&scratch);
    if (rc && err) hn_context(err, "space '%s', %s '%.200s': ", s->name, what, text);
    return rc;
}

hone_rc hone_space_constrain(hone_space *space, const char *expression, hone_err *err) {
    hone_rc rc = check_open(space, err);
    if (!rc) rc = check_syntax(space, "constraint", expression, err);
    return rc ? rc : add_constraint(space, expression, err);
}

/* --- including ----------------------------------------------------------------------------------------------- */

typedef struct include {
    hone_space *space;
    const hone_space *part;
    const char *prefix, *when;
    hone_err *err;
} include;

static const char *prefixed(const include *in, const char *name) {
    return in->prefix ? hn_format(&in->space->arena, "%s.%s", in->prefix, name) : hn_strdup(&in->space->arena, name);
}

/* The text with every name of a parameter of the part prefixed; other names are left to the including space. */
static hone_rc renamed(const include *in, const char *text, const char **out) {
    hn_arena scratch = {0};
    hn_expr e;
    hone_rc rc = hn_expr_parse(&scratch, text, &e, in->err);
    hn_str s = {0};
    size_t done = 0;
    for (size_t i = 0; !rc && i < e.n_names; i++) {
        const hn_enode *x = e.name[i];
        if (hone_space_find(in->part, x->text) == SIZE_MAX) continue;
        const char *name = prefixed(in, x->text), *quoted = name ? hn_expr_quote_name(&scratch, name) : NULL;
        hn_str_add_n(&s, text + done, x->offset - done);
        hn_str_add(&s, quoted ? quoted : "");
        done = x->offset + x->n;
    }
    if (!rc) {
        hn_str_add(&s, text + done);
        *out = hn_strdup(&in->space->arena, s.text ? s.text : "");
    }
    if (!rc && (!*out || s.failed || !hn_arena_ok(&scratch))) rc = no_memory(in->err, in->space->name);
    hn_str_free(&s);
    hn_arena_free(&scratch);
    return rc;
}

static hone_rc include_param(const include *in, const hone_param *from) {
    hone_param p = *from;
    p.name = prefixed(in, from->name);
    if (!p.name) return no_memory(in->err, in->space->name);
    if (from->when) {
        hone_rc rc = renamed(in, from->when, &p.when);
        if (rc) return rc;
        if (in->when) p.when = hn_format(&in->space->arena, "(%s) and (%s)", in->when, p.when);
        if (!p.when) return no_memory(in->err, in->space->name);
    } else {
        p.when = in->when;
    }
    return hone_space_add(in->space, &p, in->err);
}

static hone_rc include_constraint(const include *in, const char *from) {
    const char *text;
    hone_rc rc = renamed(in, from, &text);
    if (rc) return rc;
    if (in->when) text = hn_format(&in->space->arena, "not (%s) or (%s)", in->when, text);
    return text ? add_constraint(in->space, text, in->err) : no_memory(in->err, in->space->name);
}

hone_rc hone_space_include(hone_space *space, const hone_space *part, const char *prefix, const char *when,
                           hone_err *err) {
    hone_rc rc = check_open(space, err);
    if (!rc && part == space) rc = hn_fail(err, HONE_E_USAGE, "space '%s' cannot include itself", space->name);
    if (when && !when[strspn(when, " \t\r\n")]) when = NULL;
    if (!rc && when) rc = check_syntax(space, "condition", when, err);
    include in = {space, part, prefix, when, err};
    /* all or nothing: a failure takes back what was added */
    size_t n_params = space->n_params, n_slots = space->n_slots, n_constraints = space->n_constraints;
    for (size_t i = 0; !rc && i < part->n_params; i++) rc = include_param(&in, &part->param[i]);
    for (size_t i = 0; !rc && i < part->n_constraints; i++) rc = include_constraint(&in, part->constraint[i]);
    if (!rc) return rc;
    space->n_params = n_params;
    space->n_slots = n_slots;
    space->n_constraints = n_constraints;
    if (space->name_room) memset(space->name_table, 0, space->name_room * sizeof *space->name_table);
    for (size_t i = 0; i < n_params; i++) space->name_table[probe(space, space->param[i].name)] = (uint32_t)i + 1;
    return rc;
}

/* --- looking ------------------------------------------------------------------------------------------------- */

const char *hone_space_name(const hone_space *space) { return space->name; }
size_t hone_space_n_params(const hone_space *space) { return space->n_params; }
const hone_param *hone_space_param(const hone_space *space, size_t i) { return &space->param[i]; }
size_t hone_space_slots(const hone_space *space) { return space->n_slots; }
size_t hone_space_n_constraints(const hone_space *space) { return space->n_constraints; }
const char *hone_space_constraint(const hone_space *space, size_t i) { return space->constraint[i]; }
