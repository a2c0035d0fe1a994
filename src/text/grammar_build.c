/* grammar_build.c — rules become automata over bytes (Thompson 1968, one for each rule, with edges that call another),
 * and are checked: every rule is defined, none begins with itself, each comes to an end. */
#include "base/err.h"
#include "base/utf8.h"
#include "text/grammar_int.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_EDGES = 1 << 20 };

typedef struct builder {
    hn_productions *rules;
    hn_edge *edge;
    size_t n_edge, edge_room;
    uint32_t *owner; /* of each node: its rule */
    size_t n_node, node_room;
    uint32_t *start; /* of each rule: those written, then parts that repeat */
    size_t *written; /* of each rule: the one that it is (a part of) */
    size_t n_rule, rule_room;
    uint32_t rule; /* that is being made */
    bool nomem, full;
} builder;

/* --- making ------------------------------------------------------------------------------------------------------ */

static bool room_for(void **p, size_t *room, size_t n, size_t size) {
    if (n < *room) return true;
    size_t more = *room ? 2 * *room : 256;
    void *grown = realloc(*p, more * size);
    if (!grown) return false;
    *p = grown;
    *room = more;
    return true;
}

static uint32_t new_node(builder *b) {
    if (!room_for((void **)&b->owner, &b->node_room, b->n_node, sizeof *b->owner)) b->nomem = true;
    if (b->n_node >= MOST_EDGES) b->full = true;
    if (b->nomem || b->full) return 0;
    b->owner[b->n_node] = b->rule;
    return (uint32_t)b->n_node++;
}

static void new_edge(builder *b, hn_edge e) {
    if (!room_for((void **)&b->edge, &b->edge_room, b->n_edge, sizeof *b->edge)) b->nomem = true;
    if (b->n_edge >= MOST_EDGES) b->full = true;
    if (b->nomem || b->full) return;
    b->edge[b->n_edge++] = e;
}

static void add_bytes(builder *b, uint32_t from, uint32_t to, int low, int high) {
    new_edge(b, (hn_edge){.from = from, .to = to, .low = (uint8_t)low, .high = (uint8_t)high});
}
static void add_free(builder *b, uint32_t from, uint32_t to) {
    new_edge(b, (hn_edge){.from = from, .to = to, .kind = HN_EDGE_FREE});
}

/* Room for one rule more; its start, and its end behind. */
static uint32_t new_rule(builder *b, size_t written) {
    size_t room = b->rule_room;
    if (!room_for((void **)&b->start, &room, b->n_rule, sizeof *b->start)) b->nomem = true;
    room = b->rule_room;
    if (!room_for((void **)&b->written, &room, b->n_rule, sizeof *b->written)) b->nomem = true;
    if (b->nomem) return 0;
    b->rule_room = room;
    b->written[b->n_rule] = written;
    return (uint32_t)b->n_rule++;
}

typedef struct utf8_range {
    builder *b;
    uint32_t to, rest[3]; /* rest[k]: k continuation bytes come, any; 0: not made */
} utf8_range;

static uint32_t rest_of(utf8_range *u, size_t n) {
    if (!n) return u->to;
    if (u->rest[n - 1]) return u->rest[n - 1];
    uint32_t node = new_node(u->b);
    add_bytes(u->b, node, rest_of(u, n - 1), 0x80, 0xbf);
    return u->rest[n - 1] = node;
}

static bool all(const unsigned char *s, size_t n, unsigned char c) {
    while (n && *s == c) s++, n--;
    return !n;
}

/* The characters of n bytes from low to high: where the first bytes differ, the first and the last are apart from those
 * between, behind which any byte may follow. */
static void add_range(utf8_range *u, uint32_t from, const unsigned char *low, const unsigned char *high, size_t n) {
    static const unsigned char least[3] = {0x80, 0x80, 0x80}, most[3] = {0xbf, 0xbf, 0xbf};
    if (n == 1) {
        add_bytes(u->b, from, u->to, low[0], high[0]);
        return;
    }
    bool low_whole = all(low + 1, n - 1, 0x80), high_whole = all(high + 1, n - 1, 0xbf);
    if (low[0] == high[0] && !(low_whole && high_whole)) {
        uint32_t next = new_node(u->b);
        add_bytes(u->b, from, next, low[0], low[0]);
        add_range(u, next, low + 1, high + 1, n - 1);
        return;
    }
    int first = low[0] + !low_whole, last = high[0] - !high_whole;
    if (!low_whole) {
        uint32_t next = new_node(u->b);
        add_bytes(u->b, from, next, low[0], low[0]);
        add_range(u, next, low + 1, most, n - 1);
    }
    if (!high_whole) {
        uint32_t next = new_node(u->b);
        add_bytes(u->b, from, next, high[0], high[0]);
        add_range(u, next, least, high + 1, n - 1);
    }
    if (first <= last) add_bytes(u->b, from, rest_of(u, n - 1), first, last);
}

static void add_class(builder *b, const hn_phrase *f, uint32_t from, uint32_t to) {
    static const uint32_t last[] = {0x7f, 0x7ff, 0xffff, 0x10ffff}; /* characters of 1 to 4 bytes */
    utf8_range u = {.b = b, .to = to};
    for (size_t i = 0; i < f->n; i++) {
        uint32_t low = f->chars[i].low, high = f->chars[i].high;
        for (size_t k = 0; k < 4 && low <= high; k++) {
            uint32_t until = high < last[k] ? high : last[k];
            char a[4], z[4];
            if (low > last[k]) continue;
            hn_utf8_put(low, a);
            hn_utf8_put(until, z);
            add_range(&u, from, (const unsigned char *)a, (const unsigned char *)z, k + 1);
            low = until + 1;
        }
    }
}

static void add(builder *b, const hn_phrase *f, uint32_t from, uint32_t to);

static void add_text(builder *b, const hn_phrase *f, uint32_t from, uint32_t to) {
    if (!f->n) add_free(b, from, to);
    for (size_t i = 0; i < f->n; i++) {
        uint32_t next = i + 1 < f->n ? new_node(b) : to;
        add_bytes(b, from, next, (unsigned char)f->text[i], (unsigned char)f->text[i]);
        from = next;
    }
}

static void add_call(builder *b, uint32_t rule, uint32_t from, uint32_t to) {
    new_edge(b, (hn_edge){.from = from, .to = to, .kind = HN_EDGE_CALL, .rule = rule});
}

/* What is repeated more than once and is not small becomes a rule, so that each copy is one edge. */
static uint32_t part_of(builder *b, const hn_phrase *of) {
    uint32_t own = b->rule, rule = new_rule(b, b->written[own]);
    if (b->nomem) return 0;
    b->rule = rule;
    uint32_t start = b->start[rule] = new_node(b), end = new_node(b);
    add(b, of, start, end);
    b->rule = own;
    return rule;
}

static void add_repeat(builder *b, const hn_phrase *f, uint32_t from, uint32_t to) {
    const hn_phrase *of = f->part[0];
    bool small =
        of->kind == HN_PHRASE_CALL || ((of->kind == HN_PHRASE_TEXT || of->kind == HN_PHRASE_CLASS) && of->n <= 8);
    bool once = f->most == 1 || (f->most == HN_PHRASE_FOREVER && f->least == 0);
    hn_phrase call = {.kind = HN_PHRASE_CALL};
    if (!small && !once) {
        call.rule = part_of(b, of);
        of = NULL;
    }
    for (uint32_t i = 0; i < f->least && !b->full && !b->nomem; i++) {
        uint32_t next = new_node(b);
        if (of)
            add(b, of, from, next);
        else
            add_call(b, (uint32_t)call.rule, from, next);
        from = next;
    }
    if (f->most == HN_PHRASE_FOREVER) {
        uint32_t loop = new_node(b);
        add_free(b, from, loop);
        if (of)
            add(b, of, loop, loop);
        else
            add_call(b, (uint32_t)call.rule, loop, loop);
        from = loop;
    } else
        for (uint32_t i = f->least; i < f->most && !b->full && !b->nomem; i++) {
            uint32_t next = new_node(b);
            add_free(b, from, to);
            if (of)
                add(b, of, from, next);
            else
                add_call(b, (uint32_t)call.rule, from, next);
            from = next;
        }
    add_free(b, from, to);
}

static void add(builder *b, const hn_phrase *f, uint32_t from, uint32_t to) {
    if (b->nomem || b->full) return;
    switch (f->kind) {
    case HN_PHRASE_TEXT: add_text(b, f, from, to); break;
    case HN_PHRASE_CLASS: add_class(b, f, from, to); break;
    case HN_PHRASE_ALL:
        if (!f->n) add_free(b, from, to);
        for (size_t i = 0; i < f->n; i++) {
            uint32_t next = i + 1 < f->n ? new_node(b) : to;
            add(b, f->part[i], from, next);
            from = next;
        }
        break;
    case HN_PHRASE_ANY:
        for (size_t i = 0; i < f->n; i++) add(b, f->part[i], from, to);
        break;
    case HN_PHRASE_REPEAT: add_repeat(b, f, from, to); break;
    case HN_PHRASE_CALL: add_call(b, (uint32_t)f->rule, from, to); break;
    }
}

/* The first mention of a rule that is not defined. */
static const hn_phrase *undefined(const hn_productions *r, const hn_phrase *f) {
    if (f->kind == HN_PHRASE_CALL) return r->rule[f->rule].form ? NULL : f;
    bool parts = f->kind == HN_PHRASE_ALL || f->kind == HN_PHRASE_ANY || f->kind == HN_PHRASE_REPEAT;
    for (size_t i = 0; parts && i < (f->kind == HN_PHRASE_REPEAT ? 1 : f->n); i++) {
        const hn_phrase *bad = undefined(r, f->part[i]);
        if (bad) return bad;
    }
    return NULL;
}

static hone_rc nomem(const hn_productions *r, hone_err *err) {
    return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", r->file);
}

static hone_rc make_all(builder *b, hone_err *err) {
    hn_productions *r = b->rules;
    for (size_t i = 0; i < r->n; i++) {
        const hn_phrase *bad = r->rule[i].form ? undefined(r, r->rule[i].form) : NULL;
        if (bad)
            return hn_productions_wrong(r, bad->at, HONE_E_INPUT, err, "the rule '%s' is not defined",
                                        r->rule[bad->rule].name);
    }
    for (size_t i = 0; i < r->n; i++) new_rule(b, i);
    for (size_t i = 0; i < r->n && !b->nomem && !b->full; i++) {
        b->rule = (uint32_t)i;
        uint32_t start = b->start[i] = new_node(b), end = new_node(b);
        if (r->rule[i].form) add(b, r->rule[i].form, start, end);
        if (b->full)
            return hn_productions_wrong(r, r->rule[i].at, HONE_E_LIMIT, err,
                                        "the rule '%s' makes the grammar larger than %d states; repeat less",
                                        r->rule[i].name, MOST_EDGES);
    }
    return b->nomem ? nomem(r, err) : HONE_OK;
}

/* --- checks ------------------------------------------------------------------------------------------------------ */

/* Edges by a key, as lists: at[k] .. at[k+1] of list. */
typedef struct by_key {
    size_t *at;
    uint32_t *list;
} by_key;

static uint32_t key_to(const hn_edge *e) { return e->to; }
static uint32_t key_from(const hn_edge *e) { return e->from; }
static uint32_t key_rule(const hn_edge *e) { return e->kind == HN_EDGE_CALL ? e->rule + 1 : 0; }

static bool sort_by(const builder *b, uint32_t (*key)(const hn_edge *), size_t n, by_key *out) {
    out->at = calloc(n + 2, sizeof *out->at);
    out->list = malloc((b->n_edge + 1) * sizeof *out->list);
    if (!out->at || !out->list) return false;
    for (size_t i = 0; i < b->n_edge; i++) out->at[key(&b->edge[i]) + 2]++;
    for (size_t i = 0; i < n; i++) out->at[i + 2] += out->at[i + 1];
    for (size_t i = 0; i < b->n_edge; i++) out->list[out->at[key(&b->edge[i]) + 1]++] = (uint32_t)i;
    return true;
}

static void free_key(by_key *k) {
    free(k->at);
    free(k->list);
}

typedef struct checks {
    by_key to, from, call; /* call: 0 is none, then rules */
    bool *mark;            /* of nodes */
    uint32_t *todo;
    size_t n_todo, *left; /* left: of rules */
} checks;

static void reach(checks *c, uint32_t node) {
    if (c->mark[node]) return;
    c->mark[node] = true;
    c->todo[c->n_todo++] = node;
}

/* Marks nodes from which their rule's end can be reached, from the ends backwards; edges to others, and calls of rules
 * that never end, are taken out, so that no way leads where none goes on. */
static void mark_ending(const builder *b, checks *c) {
    c->n_todo = 0;
    for (size_t i = 0; i < b->n_rule; i++) reach(c, b->start[i] + 1);
    while (c->n_todo) {
        uint32_t node = c->todo[--c->n_todo], rule = b->owner[node];
        for (size_t i = c->to.at[node]; i < c->to.at[node + 1]; i++) {
            const hn_edge *e = &b->edge[c->to.list[i]];
            if (e->kind != HN_EDGE_CALL || c->mark[b->start[e->rule]]) reach(c, e->from);
        }
        if (node != b->start[rule]) continue;
        for (size_t i = c->call.at[rule + 1]; i < c->call.at[rule + 2]; i++) {
            const hn_edge *e = &b->edge[c->call.list[i]];
            if (c->mark[e->to]) reach(c, e->from);
        }
    }
}

static hone_rc check_ends(builder *b, checks *c, hone_err *err) {
    const hn_productions *r = b->rules;
    mark_ending(b, c);
    for (size_t i = 0; i < r->n; i++)
        if (r->rule[i].form && !c->mark[b->start[i]])
            return hn_productions_wrong(
                r, r->rule[i].at, HONE_E_INPUT, err,
                "no text of '%s' has an end: every way through it leads to itself, or to nothing", r->rule[i].name);
    size_t k = 0;
    for (size_t i = 0; i < b->n_edge; i++) {
        const hn_edge *e = &b->edge[i];
        if (c->mark[e->to] && (e->kind != HN_EDGE_CALL || c->mark[b->start[e->rule]])) b->edge[k++] = *e;
    }
    b->n_edge = k;
    return HONE_OK;
}

/* Marks the nodes that can be reached from their rule's start without a byte. */
static void mark_empty(const builder *b, checks *c) {
    memset(c->mark, 0, b->n_node * sizeof *c->mark);
    c->n_todo = 0;
    for (size_t i = 0; i < b->n_rule; i++) reach(c, b->start[i]);
    while (c->n_todo) {
        uint32_t node = c->todo[--c->n_todo], rule = b->owner[node];
        for (size_t i = c->from.at[node]; i < c->from.at[node + 1]; i++) {
            const hn_edge *e = &b->edge[c->from.list[i]];
            if (e->kind == HN_EDGE_FREE || (e->kind == HN_EDGE_CALL && c->mark[b->start[e->rule] + 1])) reach(c, e->to);
        }
        if (node != b->start[rule] + 1) continue; /* the rule may be empty: calls of it go on */
        for (size_t i = c->call.at[rule + 1]; i < c->call.at[rule + 2]; i++) {
            const hn_edge *e = &b->edge[c->call.list[i]];
            if (c->mark[e->from]) reach(c, e->to);
        }
    }
}

/* Rules that begin with no other rule are taken away, then those that begin with these alone, and so on (Kahn 1962).
 * What is left begins, at last, with itself. */
static hone_rc check_left(const builder *b, checks *c, hone_err *err) {
    size_t gone = 0;
    mark_empty(b, c);
    memset(c->left, 0, b->n_rule * sizeof *c->left);
    for (size_t i = 0; i < b->n_edge; i++)
        if (b->edge[i].kind == HN_EDGE_CALL && c->mark[b->edge[i].from]) c->left[b->owner[b->edge[i].from]]++;
    c->n_todo = 0;
    for (size_t i = 0; i < b->n_rule; i++)
        if (!c->left[i]) c->todo[c->n_todo++] = (uint32_t)i;
    while (c->n_todo) {
        uint32_t rule = c->todo[--c->n_todo];
        gone++;
        for (size_t i = c->call.at[rule + 1]; i < c->call.at[rule + 2]; i++) {
            const hn_edge *e = &b->edge[c->call.list[i]];
            if (c->mark[e->from] && !--c->left[b->owner[e->from]]) c->todo[c->n_todo++] = b->owner[e->from];
        }
    }
    if (gone == b->n_rule) return HONE_OK;
    uint32_t *next = c->todo, rule = 0; /* of each rule left: one that it begins with and that is left */
    for (size_t i = 0; i < b->n_edge; i++) {
        const hn_edge *e = &b->edge[i];
        if (e->kind == HN_EDGE_CALL && c->mark[e->from] && c->left[b->owner[e->from]] && c->left[e->rule])
            next[b->owner[e->from]] = e->rule;
    }
    while (!c->left[rule]) rule++;
    for (size_t i = 0; i < b->n_rule; i++) rule = next[rule];
    const hn_production *named = &b->rules->rule[b->written[rule]];
    return hn_productions_wrong(
        b->rules, named->at, HONE_E_INPUT, err,
        "the rule '%s' begins with itself, so it would be read forever; put the repetition behind "
        "(a ::= b c* instead of a ::= a c | b)",
        named->name);
}

static bool sort_edges(const builder *b, checks *c) {
    free_key(&c->to);
    free_key(&c->from);
    free_key(&c->call);
    c->to = c->from = c->call = (by_key){0};
    return sort_by(b, key_to, b->n_node, &c->to) && sort_by(b, key_from, b->n_node, &c->from) &&
           sort_by(b, key_rule, b->n_rule + 1, &c->call);
}

static hone_rc check(builder *b, checks *c, hone_err *err) {
    size_t n = b->n_node > b->n_rule ? b->n_node : b->n_rule;
    c->mark = calloc(n + 1, sizeof *c->mark);
    c->todo = malloc((n + 1) * sizeof *c->todo);
    c->left = malloc((b->n_rule + 1) * sizeof *c->left);
    bool fine = c->mark && c->todo && c->left && sort_edges(b, c);
    hone_rc rc = fine ? check_ends(b, c, err) : nomem(b->rules, err);
    if (!rc && !sort_edges(b, c)) rc = nomem(b->rules, err);
    return rc ? rc : check_left(b, c, err);
}

/* --- the result -------------------------------------------------------------------------------------------------- */

static void classes(hn_grammar *g) {
    bool begins[257] = {true};
    for (size_t i = 0; i < g->n_edge; i++)
        if (!g->edge[i].kind) begins[g->edge[i].low] = begins[g->edge[i].high + 1] = true;
    for (unsigned c = 0; c < 256; c++) {
        if (begins[c]) g->byte_of[g->n_class++] = (uint8_t)c;
        g->class_of[c] = (uint8_t)(g->n_class - 1);
    }
}

static hone_rc finish(const builder *b, const checks *c, hn_grammar **out, hone_err *err) {
    hn_grammar *g = calloc(1, sizeof *g);
    if (!g) return nomem(b->rules, err);
    g->n_edge = b->n_edge;
    g->n_node = b->n_node;
    g->n_rule = b->n_rule;
    g->edge = malloc((b->n_edge + 1) * sizeof *g->edge);
    g->first = malloc((b->n_node + 1) * sizeof *g->first);
    g->start = malloc((b->n_rule + 1) * sizeof *g->start);
    g->is_end = calloc(b->n_node + 1, sizeof *g->is_end);
    if (!g->edge || !g->first || !g->start || !g->is_end) {
        hn_grammar_free(g);
        return nomem(b->rules, err);
    }
    for (size_t i = 0; i < b->n_edge; i++) g->edge[i] = b->edge[c->from.list[i]];
    memcpy(g->first, c->from.at, (b->n_node + 1) * sizeof *g->first);
    memcpy(g->start, b->start, b->n_rule * sizeof *g->start);
    for (size_t i = 0; i < b->n_rule; i++) g->is_end[b->start[i] + 1] = true;
    classes(g);
    *out = g;
    return HONE_OK;
}

hone_rc hn_grammar_build(hn_productions *r, hn_grammar **out, hone_err *err) {
    builder b = {.rules = r};
    checks c = {0};
    hone_rc rc = make_all(&b, err);
    if (!rc) rc = check(&b, &c, err);
    if (!rc) rc = finish(&b, &c, out, err);
    free_key(&c.to);
    free_key(&c.from);
    free_key(&c.call);
    free(c.mark);
    free(c.todo);
    free(c.left);
    free(b.edge);
    free(b.owner);
    free(b.start);
    free(b.written);
    return rc;
}

void hn_grammar_free(hn_grammar *g) {
    if (!g) return;
    free(g->edge);
    free(g->first);
    free(g->start);
    free(g->is_end);
    free(g);
}
