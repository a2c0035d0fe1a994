/* target/pipeline.c — see pipeline.h. The reader is a recursive descent over names, commas and parentheses. */
#include "target/pipeline.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* --- reading and printing ------------------------------------------------------------------------------------------
 */

typedef struct reader {
    const char *text, *at;
    hn_arena *a;
    size_t n;
    hone_err *err;
} reader;

static hone_rc fault(const reader *r, const char *what) {
    return hn_fail(r->err, HONE_E_INPUT, "pipeline of passes, character %zu: %s", (size_t)(r->at - r->text) + 1, what);
}

static hone_rc nomem(const reader *r) { return hn_fail(r->err, HONE_E_NOMEM, "out of memory reading a pipeline"); }

/* Up to a comma or parenthesis outside angle brackets, in which options stand. */
static hone_rc name(reader *r, const char **out) {
    const char *from = r->at;
    int depth = 0;
    for (; *r->at && (depth || !strchr(",()", *r->at)); r->at++) {
        depth += (*r->at == '<') - (*r->at == '>');
        if (depth < 0) return fault(r, "'>' without a '<'");
    }
    if (depth) return fault(r, "'<' without a '>'");
    if (r->at == from) return fault(r, "a pass has no name");
    *out = hn_strndup(r->a, from, (size_t)(r->at - from));
    return *out ? HONE_OK : nomem(r);
}

static hone_rc list(reader *r, hn_pass_node *parent, int depth);

static hone_rc pass(reader *r, hn_pass_node *parent, int depth, hn_pass_node **out) {
    hn_pass_node *node = HN_NEW(r->a, hn_pass_node);
    if (!node) return nomem(r);
    node->parent = parent;
    if (++r->n > HN_PIPELINE_PASSES) return fault(r, "too many passes");
    hone_rc rc = name(r, &node->name);
    if (!rc && *r->at == '(') {
        r->at++;
        node->is_list = true;
        if (depth == HN_PIPELINE_DEPTH) return fault(r, "nested too deeply");
        if (*r->at != ')') rc = list(r, node, depth + 1);
        if (!rc && *r->at != ')') return fault(r, "'(' without a ')'");
        if (!rc) r->at++;
    }
    *out = node;
    return rc;
}

/* False: no memory. */
static bool insert(hn_arena *a, hn_pass_node *parent, size_t at, hn_pass_node *node) {
    hn_pass_node **more = hn_arena_grow(a, parent->kid, parent->n_kids, &parent->n_room, sizeof *more);
    if (!more) return false;
    memmove(more + at + 1, more + at, (parent->n_kids - at) * sizeof *more);
    more[at] = node;
    parent->kid = more;
    parent->n_kids++;
    return true;
}

static hone_rc list(reader *r, hn_pass_node *parent, int depth) {
    for (;;) {
        hn_pass_node *node = NULL;
        hone_rc rc = pass(r, parent, depth, &node);
        if (rc) return rc;
        if (!insert(r->a, parent, parent->n_kids, node)) return nomem(r);
        if (*r->at != ',') return HONE_OK;
        r->at++;
    }
}

static void number(hn_pass_node *node, hn_pipeline *p) {
    for (size_t i = 0; i < node->n_kids; i++) {
        if (node->kid[i]->is_list) {
            number(node->kid[i], p);
        } else {
            p->pass[p->n++] = node->kid[i];
            node->kid[i]->number = p->n;
        }
    }
}

hone_rc hn_pipeline_parse(const char *text, hn_arena *a, hn_pipeline *out, hone_err *err) {
    reader r = {.text = text, .at = text, .a = a, .err = err};
    hn_pipeline p = {.root = HN_NEW(a, hn_pass_node)};
    if (!p.root) return nomem(&r);
    p.root->name = "";
    hone_rc rc = list(&r, p.root, 0);
    if (!rc && *r.at) rc = fault(&r, "')' without a '('");
    if (rc) return rc;
    p.pass = HN_NEW_N(a, hn_pass_node *, r.n + 1);
    if (!p.pass) return nomem(&r);
    number(p.root, &p);
    *out = p;
    return HONE_OK;
}

void hn_pipeline_print(const hn_pass_node *root, hn_str *s) {
    for (size_t i = 0; i < root->n_kids; i++) {
        const hn_pass_node *k = root->kid[i];
        if (i) hn_str_add(s, ",");
        hn_str_add(s, k->name);
        if (!k->is_list) continue;
        hn_str_add(s, "(");
        hn_pipeline_print(k, s);
        hn_str_add(s, ")");
    }
}

size_t hn_pipeline_count(const hn_pass_node *root) {
    size_t n = 0;
    for (size_t i = 0; i < root->n_kids; i++) n += root->kid[i]->is_list ? hn_pipeline_count(root->kid[i]) : 1;
    return n;
}

/* --- edits ---------------------------------------------------------------------------------------------------------
 */

typedef struct edit {
    char kind; /* '~', '+', '-', in the order in which they are applied */
    size_t pass, other;
} edit;

static size_t place(const hn_pass_node *node) {
    size_t i = 0;
    while (node->parent->kid[i] != node) i++;
    return i;
}

hone_rc hn_pipeline_edits(const hn_pipeline *p, size_t number, hn_arena *a, const char *const **word, size_t *n,
                          hone_err *err) {
    const hn_pass_node *list = p->pass[number - 1]->parent;
    const char **out = HN_NEW_N(a, const char *, 2 * list->n_kids + 1);
    size_t k = 0;
    if (out) out[k++] = hn_format(a, "-%zu", number);
    for (size_t i = 0; out && i < list->n_kids; i++)
        if (list->kid[i]->number) out[k++] = hn_format(a, "+%zu@%zu", number, list->kid[i]->number);
    for (size_t i = 0; out && i < list->n_kids; i++)
        if (list->kid[i]->number > number) out[k++] = hn_format(a, "%zu~%zu", number, list->kid[i]->number);
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory for edits of a pipeline");
    *word = out;
    *n = k;
    return HONE_OK;
}

/* A number as this writes it: no sign, no zero in front. */
static bool take_number(const char **at, size_t *out) {
    size_t v = 0;
    if (**at < '1' || **at > '9') return false;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if ((v = 10 * v + (size_t)(**at - '0')) > HN_PIPELINE_PASSES) return false;
    *out = v;
    return true;
}

static bool read_edit(const char *word, size_t n, edit *out) {
    const char *at = word;
    edit e = {.kind = '~'};
    if (*at == '-' || *at == '+') e.kind = *at++;
    if (!take_number(&at, &e.pass)) return false;
    e.other = e.pass;
    if (e.kind != '-' && (*at++ != (e.kind == '+' ? '@' : '~') || !take_number(&at, &e.other))) return false;
    *out = e;
    return at == word + n;
}

static hone_rc check(const hn_pipeline *p, const edit *e, const char *word, int n, hone_err *err) {
    if (e->pass > p->n || e->other > p->n)
        return hn_fail(err, HONE_E_INPUT, "edit of passes '%.*s': the pipeline has %zu passes", n, word, p->n);
    if (p->pass[e->pass - 1]->parent != p->pass[e->other - 1]->parent)
        return hn_fail(err, HONE_E_INPUT, "edit of passes '%.*s': both must stand in one list", n, word);
    return HONE_OK;
}

static int by_order(const void *a, const void *b) {
    static const char order[] = "~+-";
    const edit *x = a, *y = b;
    if (x->kind != y->kind) return strchr(order, x->kind) < strchr(order, y->kind) ? -1 : 1;
    if (x->pass != y->pass) return x->pass < y->pass ? -1 : 1;
    return (x->other > y->other) - (x->other < y->other);
}

static hone_rc read_edits(const hn_pipeline *p, const char *text, hn_arena *a, edit **out, size_t *n_out,
                          hone_err *err) {
    size_t n = 0;
    edit *list = HN_NEW_N(a, edit, strlen(text) / 2 + 1);
    if (!list) return hn_fail(err, HONE_E_NOMEM, "out of memory for edits of a pipeline");
    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        size_t len = strcspn(word, " ");
        if (!read_edit(word, len, &list[n]))
            return hn_fail(
                err, HONE_E_INPUT,
                "'%.*s' is no edit of passes; there are -17 (cut), +17@20 (repeat in front of), 17~20 (swap)",
                (int)(len < 60 ? len : 60), word);
        hone_rc rc = check(p, &list[n++], word, (int)len, err);
        if (rc) return rc;
        word += len;
    }
    qsort(list, n, sizeof *list, by_order);
    *out = list;
    *n_out = n;
    return HONE_OK;
}

/* Lists that hold nothing go with it. */
static void cut(hn_pass_node *node) {
    hn_pass_node *list = node->parent;
    if (!list) return;
    size_t at = place(node);
    memmove(list->kid + at, list->kid + at + 1, (--list->n_kids - at) * sizeof *list->kid);
    if (!list->n_kids) cut(list);
}

static bool repeat(hn_arena *a, const hn_pass_node *node, const hn_pass_node *before) {
    hn_pass_node *copy = HN_NEW(a, hn_pass_node);
    if (!copy) return false;
    copy->name = node->name;
    copy->parent = before->parent;
    return insert(a, before->parent, place(before), copy);
}

static void swap(hn_pass_node *x, hn_pass_node *y) {
    size_t i = place(x), j = place(y);
    x->parent->kid[i] = y;
    x->parent->kid[j] = x;
}

hone_rc hn_pipeline_apply(hn_pipeline *p, const char *edits, hn_arena *a, hone_err *err) {
    edit *list = NULL;
    size_t n = 0;
    hone_rc rc = read_edits(p, edits, a, &list, &n, err);
    if (rc) return rc;
    for (size_t i = 0; i < n; i++) {
        const edit *e = &list[i];
        hn_pass_node *x = p->pass[e->pass - 1], *y = p->pass[e->other - 1];
        bool twice = i && !by_order(e, e - 1);
        if (twice) continue;
        if (e->kind == '~') swap(x, y);
        if (e->kind == '-') cut(x);
        if (e->kind == '+' && !repeat(a, x, y)) return hn_fail(err, HONE_E_NOMEM, "out of memory editing a pipeline");
    }
    return HONE_OK;
}
