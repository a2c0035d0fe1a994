/* program_parse.c — reads the text of a program by recursive descent. It checks the syntax; the verifier checks the
 * rest. Words and numbers are read by the IR's scanner (ir/scan.h). */
#include "program/program.h"

#include "ir/scan.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_N = 128, VALUES_MOST = 1 << 20 };

typedef struct parser {
    hn_scan s;
    hn_program *p;
    uint32_t room_value, room_kernel, room_item, room_output, room_state;
    unsigned depth;
} parser;

/* A list of one step, in the program's arena. */
typedef struct list {
    uint32_t *item;
    uint32_t n, room;
} list;

/* Room for element n of an array in the arena: all up to there are zeroed. */
static bool make_room(parser *r, void **array, uint32_t n, uint32_t *room, size_t size) {
    if (n < *room) return true;
    uint32_t more = n < 8 ? 16 : 2 * n;
    void *bigger = hn_alloc_n(&r->p->arena, more, size);
    if (!bigger) return !(r->s.failed = true);
    if (*room) memcpy(bigger, *array, *room * size);
    *array = bigger;
    *room = more;
    return true;
}

static bool list_add(parser *r, list *l, uint32_t item) {
    if (!make_room(r, (void **)&l->item, l->n, &l->room, sizeof *l->item)) return false;
    l->item[l->n++] = item;
    return true;
}

static bool need_word(parser *r, const char *word) {
    return hn_scan_word(&r->s, word) || hn_scan_fail(&r->s, r->s.at, "expected '%s'", word);
}

static bool take_number(parser *r, int64_t low, int64_t high, int64_t *out) {
    hn_scan_blanks(&r->s);
    const char *at = r->s.at;
    if (!hn_scan_int(&r->s, out)) return false;
    return (*out >= low && *out <= high) ||
           hn_scan_fail(&r->s, at, "%lld is not in %lld .. %lld", (long long)*out, (long long)low, (long long)high);
}

/* "%12", or "none" where none is allowed. */
static bool take_value(parser *r, bool none, hn_val *out) {
    int64_t n;
    *out = 0;
    if (none && hn_scan_word(&r->s, "none")) return true;
    if (!hn_scan_need(&r->s, '%') || !take_number(r, 1, VALUES_MOST, &n)) return false;
    *out = (hn_val)n;
    return true;
}

static bool take_values(parser *r, bool none, list *l) {
    hn_val v;
    if (!hn_scan_is(&r->s, '%') && !(none && *r->s.at == 'n')) return !r->s.failed;
    do {
        if (!take_value(r, none, &v) || !list_add(r, l, v)) return false;
    } while (hn_scan_char(&r->s, ','));
    return true;
}

static bool take_dim(parser *r, bool none, hn_dim *out) {
    *out = 0;
    return (none && hn_scan_char(&r->s, '?')) || hn_scan_dim(&r->s, out);
}

static bool take_dims(parser *r, bool none, list *l) {
    do {
        hn_dim d;
        if (!take_dim(r, none, &d) || !list_add(r, l, d)) return false;
    } while (hn_scan_char(&r->s, ','));
    return true;
}

static bool take_symbols(parser *r, list *l) {
    do {
        char name[NAME_N];
        hn_symbol s;
        hn_scan_blanks(&r->s);
        const char *at = r->s.at;
        if (!hn_scan_name(&r->s, name, sizeof name)) return false;
        hn_dim d = hn_dim_find(r->p->dims, name);
        if (!d || !hn_dim_is_symbol(r->p->dims, d, &s))
            return hn_scan_fail(&r->s, at, "no symbol '%s' is declared", name);
        if (!list_add(r, l, s)) return false;
    } while (hn_scan_char(&r->s, ','));
    return true;
}

/* "%12[3]" */
static bool take_element(parser *r, list *in, int64_t *number) {
    hn_val v;
    return take_value(r, false, &v) && list_add(r, in, v) && hn_scan_need(&r->s, '[') &&
           take_number(r, 0, INT32_MAX, number) && hn_scan_need(&r->s, ']');
}

static bool take_space(parser *r, int32_t *out) {
    int64_t n = 0;
    if (!hn_scan_word(&r->s, "host") && !(need_word(r, "device") && take_number(r, 1, 1 << 16, &n))) return false;
    *out = (int32_t)n;
    return true;
}

/* --- the head --------------------------------------------------------------------------------------------------------
 */

static bool take_symbol(parser *r) {
    char name[NAME_N];
    int64_t low, high = INT64_MAX;
    hn_scan_blanks(&r->s);
    const char *at = r->s.at;
    if (!hn_scan_name(&r->s, name, sizeof name)) return false;
    if (hn_dim_find(r->p->dims, name)) return hn_scan_fail(&r->s, at, "symbol '%s' is declared twice", name);
    if (!hn_scan_int(&r->s, &low) || !hn_scan_need(&r->s, '.') || !hn_scan_need(&r->s, '.')) return false;
    hn_scan_blanks(&r->s);
    if ((*r->s.at == '-' || (*r->s.at >= '0' && *r->s.at <= '9')) && !hn_scan_int(&r->s, &high)) return false;
    hn_dim_symbol(r->p->dims, name, low, high);
    return true;
}

static bool take_kernel(parser *r) {
    hn_program_kernel k = {0};
    int64_t n, bit;
    if (!take_number(r, r->p->n_kernel, r->p->n_kernel, &n) || !hn_scan_quoted(&r->s, &k.name) ||
        !hn_scan_quoted(&r->s, &k.kind) || !take_space(r, &k.space))
        return false;
    if (hn_scan_word(&r->s, "over")) {
        do {
            if (!take_number(r, 0, 63, &bit)) return false;
            k.in_place |= (uint64_t)1 << bit;
        } while (hn_scan_char(&r->s, ','));
    }
    if (!make_room(r, (void **)&r->p->kernel, r->p->n_kernel, &r->room_kernel, sizeof k)) return false;
    r->p->kernel[r->p->n_kernel++] = k;
    return true;
}

static bool take_arena(parser *r) {
    hn_program *p = r->p;
    if (hn_scan_word(&r->s, "fixed"))
        p->sizes = HN_SIZES_FIXED;
    else if (hn_scan_word(&r->s, "bounded"))
        p->sizes = HN_SIZES_BOUNDED;
    else if (need_word(r, "open"))
        p->sizes = HN_SIZES_OPEN;
    return take_number(r, 0, INT64_MAX / 4, &p->arena_b);
}

static bool take_item(parser *r) {
    hn_program *p = r->p;
    hn_plan_item x = {.shares = -1};
    int64_t n, first, last, shares = -1;
    if (!take_number(r, p->n_item, p->n_item, &n) || !need_word(r, "size") ||
        !take_number(r, 0, INT64_MAX / 4, &x.size_b) || !need_word(r, "at") ||
        !take_number(r, 0, INT64_MAX / 4, &x.offset) || !need_word(r, "alive") ||
        !take_number(r, -1, INT32_MAX, &first) || !hn_scan_need(&r->s, '.') || !hn_scan_need(&r->s, '.') ||
        !take_number(r, -1, INT32_MAX, &last))
        return false;
    if (hn_scan_word(&r->s, "shares") && !take_number(r, 0, INT32_MAX, &shares)) return false;
    x.first = (int32_t)first, x.last = (int32_t)last, x.shares = (int32_t)shares;
    if (!make_room(r, (void **)&p->item, p->n_item, &r->room_item, sizeof x)) return false;
    p->item[p->n_item++] = x;
    return true;
}

static bool take_place(parser *r, hn_program_value *x) {
    static const struct {
        const char *word;
        hn_memory where;
    } place[] = {{"weights", HN_AT_WEIGHTS}, {"input", HN_AT_INPUT}, {"arena", HN_AT_ARENA},
                 {"grown", HN_AT_GROWN},     {"state", HN_AT_STATE}, {"next", HN_AT_NEXT}};
    int64_t n;
    if (hn_scan_word(&r->s, "view")) {
        x->where = HN_AT_VIEW;
        return take_value(r, false, &x->base);
    }
    for (size_t i = 0; i < sizeof place / sizeof *place && !x->where; i++)
        if (hn_scan_word(&r->s, place[i].word)) x->where = place[i].where;
    if (!x->where)
        return hn_scan_fail(&r->s, r->s.at, "expected a place: weights, input, arena, grown, state, next or view");
    if (!take_number(r, 0, VALUES_MOST, &n)) return false;
    x->index = (int32_t)n;
    return x->where != HN_AT_INPUT || hn_scan_quoted(&r->s, &x->name);
}

static bool take_row(parser *r) {
    hn_program_value x = {.output = -1};
    hn_val v;
    int64_t n;
    hn_scan_blanks(&r->s);
    const char *at = r->s.at;
    if (!take_value(r, false, &v) || !hn_scan_need(&r->s, '=') || !hn_scan_type(&r->s, &x.type) ||
        !take_space(r, &x.space) || !take_place(r, &x))
        return false;
    if (hn_scan_word(&r->s, "or")) {
        if (!need_word(r, "output") || !take_number(r, 0, VALUES_MOST, &n)) return false;
        x.output = (int32_t)n;
    }
    if (hn_scan_word(&r->s, "room") && !take_dim(r, false, &x.room)) return false;
    if (v >= r->room_value && !make_room(r, (void **)&r->p->value, v, &r->room_value, sizeof x)) return false;
    if (r->p->value[v].where) return hn_scan_fail(&r->s, at, "value %%%u is declared twice", v);
    r->p->value[v] = x;
    if (v >= r->p->n_value) r->p->n_value = v + 1;
    return true;
}

static bool take_output(parser *r) {
    hn_program_output x = {0};
    int64_t n;
    if (!take_number(r, r->p->n_output, r->p->n_output, &n) || !hn_scan_quoted(&r->s, &x.name) ||
        !hn_scan_need(&r->s, '=') || !take_value(r, false, &x.value))
        return false;
    if (!make_room(r, (void **)&r->p->output, r->p->n_output, &r->room_output, sizeof x)) return false;
    r->p->output[r->p->n_output++] = x;
    return true;
}

static bool take_state(parser *r) {
    hn_program_state x = {0};
    int64_t n;
    if (!take_number(r, r->p->n_state, r->p->n_state, &n) || !hn_scan_quoted(&r->s, &x.name) ||
        !hn_scan_quoted(&r->s, &x.output) || !hn_scan_need(&r->s, '=') || !take_value(r, false, &x.old) ||
        !hn_scan_need(&r->s, '-') || !hn_scan_need(&r->s, '>') || !take_value(r, false, &x.value))
        return false;
    if (!make_room(r, (void **)&r->p->state, r->p->n_state, &r->room_state, sizeof x)) return false;
    r->p->state[r->p->n_state++] = x;
    return true;
}

static bool take_head(parser *r) {
    static const struct {
        const char *word;
        bool (*take)(parser *r);
    } row[] = {{"symbol", take_symbol}, {"kernel", take_kernel}, {"arena", take_arena},
               {"item", take_item},     {"output", take_output}, {"state", take_state}};
    if (!need_word(r, "program") || !hn_scan_quoted(&r->s, &r->p->name)) return false;
    for (;;) {
        size_t i = 0;
        if (hn_scan_is(&r->s, '%')) {
            if (!take_row(r)) return false;
            continue;
        }
        while (i < sizeof row / sizeof *row && !hn_scan_word(&r->s, row[i].word)) i++;
        if (i == sizeof row / sizeof *row) return !r->s.failed;
        if (!row[i].take(r)) return false;
    }
}

/* --- steps -----------------------------------------------------------------------------------------------------------
 */

/* What is read of a step before it is added: blocks inside it may move the array that it goes to. */
typedef struct reading {
    hn_step s;
    list in, out, symbol, dim;
} reading;

static bool take_block(parser *r, uint32_t block);

static bool take_launch(parser *r, reading *x) {
    int64_t n;
    hn_dim cost, scratch;
    list work = {0};
    if (x->s.kind == HN_STEP_CALL) {
        if (!hn_scan_quoted(&r->s, &x->s.text)) return false;
    } else {
        if (!take_number(r, 0, UINT32_MAX, &n)) return false;
        x->s.kernel = (uint32_t)n;
    }
    if (!hn_scan_need(&r->s, '(') || !take_values(r, true, &x->in) || !hn_scan_need(&r->s, ')') ||
        !hn_scan_need(&r->s, '-') || !hn_scan_need(&r->s, '>') || !hn_scan_need(&r->s, '(') ||
        !take_values(r, false, &x->out) || !hn_scan_need(&r->s, ')'))
        return false;
    if (x->s.kind == HN_STEP_CALL) return true;
    if (hn_scan_word(&r->s, "defines") && !take_symbols(r, &x->symbol)) return false;
    x->s.number = hn_scan_word(&r->s, "product");
    if (!x->s.number && !need_word(r, "work")) return false;
    if (!take_dims(r, false, &work) || !need_word(r, "cost") || !take_dim(r, true, &cost) || !need_word(r, "scratch") ||
        !take_dim(r, false, &scratch))
        return false;
    bool good = list_add(r, &x->dim, cost) && list_add(r, &x->dim, scratch);
    for (uint32_t i = 0; i < work.n && good; i++) good = list_add(r, &x->dim, work.item[i]);
    return good &&
           (x->s.number || work.n == 1 || hn_scan_fail(&r->s, r->s.at, "several factors need the word 'product'"));
}

static bool take_check(parser *r, reading *x) {
    static const uint32_t n_dim[] = {2, 1, 1, 3, 1};
    _Static_assert(sizeof n_dim / sizeof *n_dim == HN_N_CHECKS, "expressions of every condition");
    int c = 0;
    while (c < HN_N_CHECKS && !hn_scan_word(&r->s, hn_condition_text((hn_condition)c))) c++;
    if (c == HN_N_CHECKS) return hn_scan_fail(&r->s, r->s.at, "expected a condition such as 'equal'");
    x->s.check = (hn_condition)c;
    if (c == HN_CHECK_SIZE && !take_element(r, &x->in, &x->s.number)) return false;
    if (!take_dims(r, false, &x->dim)) return false;
    if (x->dim.n != n_dim[c]) return hn_scan_fail(&r->s, r->s.at, "this condition has %u expressions", n_dim[c]);
    if ((c == HN_CHECK_DIVISIBLE || c == HN_CHECK_INSIDE) &&
        (!need_word(r, "by") || !take_number(r, -INT32_MAX, INT64_MAX, &x->s.number)))
        return false;
    if ((c == HN_CHECK_DIVISIBLE || c == HN_CHECK_INSIDE) && !x->s.number)
        return hn_scan_fail(&r->s, r->s.at, "a step of 0");
    return c != HN_CHECK_SIZE || !hn_scan_is(&r->s, '"') || hn_scan_quoted(&r->s, &x->s.text);
}

static bool take_symbol_step(parser *r, reading *x) {
    if (!take_symbols(r, &x->symbol) || !hn_scan_need(&r->s, '=')) return false;
    if (x->s.kind != HN_STEP_BIND) {
        if (x->symbol.n != 1) return hn_scan_fail(&r->s, r->s.at, "one symbol is defined here");
        return take_element(r, &x->in, &x->s.number);
    }
    if (!take_dims(r, false, &x->dim)) return false;
    return x->dim.n == x->symbol.n || hn_scan_fail(&r->s, r->s.at, "%u symbols and %u values", x->symbol.n, x->dim.n);
}

static bool take_write(parser *r, reading *x) {
    hn_val v;
    if (!take_value(r, false, &v) || !list_add(r, &x->out, v) || !hn_scan_need(&r->s, '=')) return false;
    if (x->s.kind == HN_STEP_STATE)
        return take_values(r, false, &x->in) && (x->in.n == 2 || hn_scan_fail(&r->s, r->s.at, "expected two values"));
    if (x->s.kind != HN_STEP_STORE) return take_value(r, false, &v) && list_add(r, &x->in, v);
    if (!hn_scan_need(&r->s, '(') || (!hn_scan_is(&r->s, ')') && !take_dims(r, false, &x->dim))) return false;
    return hn_scan_need(&r->s, ')');
}

static bool take_inner(parser *r, uint32_t *block) {
    *block = hn_program_block(r->p);
    if (!*block || ++r->depth > HN_PROGRAM_DEPTH)
        return hn_scan_fail(&r->s, r->s.at, "more than %d blocks inside each other", HN_PROGRAM_DEPTH);
    bool good = take_block(r, *block);
    r->depth--;
    return good;
}

static bool take_if(parser *r, reading *x) {
    hn_val v;
    return take_value(r, false, &v) && list_add(r, &x->in, v) && take_inner(r, &x->s.block[0]) &&
           need_word(r, "else") && take_inner(r, &x->s.block[1]);
}

static bool take_loop(parser *r, reading *x) {
    hn_val turn, go, turns, going;
    if (!take_value(r, false, &turn) || !hn_scan_need(&r->s, ',') || !take_value(r, false, &go) ||
        !need_word(r, "turns") || !take_value(r, true, &turns) || !need_word(r, "while") ||
        !take_value(r, true, &going))
        return false;
    if (!list_add(r, &x->out, turn) || !list_add(r, &x->out, go) || !list_add(r, &x->in, turns) ||
        !list_add(r, &x->in, going))
        return false;
    if (hn_scan_word(&r->s, "counts") && !take_symbols(r, &x->symbol)) return false;
    if (x->symbol.n > 1) return hn_scan_fail(&r->s, r->s.at, "at most one symbol counts the turns");
    return take_inner(r, &x->s.block[0]);
}

static bool take_again(parser *r, reading *x) {
    hn_val v;
    return take_value(r, false, &v) && list_add(r, &x->in, v);
}

static bool take_step(parser *r, uint32_t block) {
    typedef bool take(parser * r, reading * x);
    static take *const by_kind[] = {
        [HN_STEP_LAUNCH] = take_launch,    [HN_STEP_CALL] = take_launch,      [HN_STEP_COPY] = take_write,
        [HN_STEP_STORE] = take_write,      [HN_STEP_SIZE] = take_symbol_step, [HN_STEP_READ] = take_symbol_step,
        [HN_STEP_BIND] = take_symbol_step, [HN_STEP_CHECK] = take_check,      [HN_STEP_IF] = take_if,
        [HN_STEP_LOOP] = take_loop,        [HN_STEP_AGAIN] = take_again,      [HN_STEP_STACK] = take_write,
        [HN_STEP_STATE] = take_write};
    reading x = {0};
    int k = 0;
    while (k < HN_N_STEPS && !hn_scan_word(&r->s, hn_step_text((hn_step_kind)k))) k++;
    if (k == HN_N_STEPS) return hn_scan_fail(&r->s, r->s.at, "expected a step or '}'");
    x.s.kind = (hn_step_kind)k;
    if (!by_kind[k](r, &x)) return false;
    hn_step *s = hn_program_add(r->p, block, x.s.kind);
    if (!s) return !(r->s.failed = true);
    *s = x.s;
    s->in = x.in.item, s->n_in = x.in.n;
    s->out = x.out.item, s->n_out = x.out.n;
    s->symbol = x.symbol.item, s->n_symbol = x.symbol.n;
    s->dim = x.dim.item, s->n_dim = x.dim.n;
    return true;
}

static bool take_block(parser *r, uint32_t block) {
    if (!hn_scan_need(&r->s, '{')) return false;
    while (!hn_scan_char(&r->s, '}'))
        if (!take_step(r, block)) return false;
    return true;
}

hone_rc hn_program_parse(const char *text, size_t n, const char *path, hn_program *out, hone_err *err) {
    hone_err why = {0};
    hn_program_begin(out);
    const char *copy = hn_strndup(&out->arena, text, n);
    parser r = {.p = out, .room_value = 1};
    r.s = (hn_scan){copy, copy, copy + n, path, &out->arena, out->dims, .err = &why};
    bool good = hn_arena_ok(&out->arena) && take_head(&r) && need_word(&r, "sizes") && take_block(&r, HN_SIZES_BLOCK) &&
                need_word(&r, "steps") && take_block(&r, HN_STEPS_BLOCK);
    if (good) hn_scan_blanks(&r.s);
    if (good && r.s.at < r.s.end) good = hn_scan_fail(&r.s, r.s.at, "text after the end of the program");
    if (!hn_arena_ok(&out->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory for the program");
    return good ? HONE_OK : hn_fail(err, HONE_E_INPUT, "%s", why.text);
}
