/* ir/parse.c — reads the text form of docs/ir.md by recursive descent, emitting as it goes: types are inferred again
 * and compared with those written. The result has passed hn_verify. */
#include "ir/scan.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_BUCKETS = 4096, NAME_MAX_N = 128, REGION_DEPTH_MAX = 64 };

/* Names in scope, innermost last: a region's are dropped at its end. */
typedef struct name {
    const char *text;
    uint32_t n, below; /* length; next entry + 1 of the same bucket */
    hn_val val;
} name;

typedef struct parser {
    hn_scan s;
    hn_graph *g;
    name *name;
    uint32_t n_names, room;
    uint32_t bucket[N_BUCKETS]; /* entry + 1 */
    unsigned depth;
} parser;

/* Growing lists of one statement. */
typedef struct list {
    uint32_t *item;
    size_t n, room;
} list;

static bool out_of_memory(parser *p) {
    p->g->arena.failed = true;
    p->s.failed = true;
    return false;
}

static bool list_add(parser *p, list *l, uint32_t item) {
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 8;
        uint32_t *more = realloc(l->item, room * sizeof *more);
        if (!more) return out_of_memory(p);
        l->item = more;
        l->room = room;
    }
    l->item[l->n++] = item;
    return true;
}

/* --- names of values -------------------------------------------------------------------------------------------- */

static uint32_t bucket_of(const char *text, size_t n) {
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) h = h * 0x100000001b3u + (unsigned char)text[i];
    return (uint32_t)(hn_mix64(h) % N_BUCKETS);
}

static hn_val find_name(const parser *p, const char *text, size_t n) {
    for (uint32_t e = p->bucket[bucket_of(text, n)]; e; e = p->name[e - 1].below)
        if (p->name[e - 1].n == n && !memcmp(p->name[e - 1].text, text, n)) return p->name[e - 1].val;
    return 0;
}

static bool add_name(parser *p, const char *text, size_t n, hn_val val) {
    if (find_name(p, text, n)) return hn_scan_fail(&p->s, text, "'%%%.*s' is defined twice", (int)n, text);
    if (p->n_names == p->room) {
        uint32_t room = p->room ? 2 * p->room : 64;
        name *more = realloc(p->name, room * sizeof *more);
        if (!more) return out_of_memory(p);
        p->name = more;
        p->room = room;
    }
    uint32_t *head = &p->bucket[bucket_of(text, n)];
    p->name[p->n_names] = (name){text, (uint32_t)n, *head, val};
    *head = ++p->n_names;
    return true;
}

static void drop_names(parser *p, uint32_t keep) {
    while (p->n_names > keep) {
        const name *e = &p->name[--p->n_names];
        p->bucket[bucket_of(e->text, e->n)] = e->below;
    }
}

/* The text behind a %; it stays in the input, which outlives the parse. */
static bool take_name(parser *p, const char **text, size_t *n) {
    hn_scan *s = &p->s;
    if (!hn_scan_need(s, '%')) return false;
    size_t k = strspn(s->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (!k || k > NAME_MAX_N) return hn_scan_fail(s, s->at, "a value needs a name of 1 to %d characters", NAME_MAX_N);
    *text = s->at;
    *n = k;
    s->at += k;
    return true;
}

static bool take_value(parser *p, hn_val *out) {
    const char *text;
    size_t n;
    if (!take_name(p, &text, &n)) return false;
    *out = find_name(p, text, n);
    return *out || hn_scan_fail(&p->s, text, "no value '%%%.*s' is in scope here", (int)n, text);
}

static bool take_values(parser *p, list *l) {
    hn_val v;
    if (!hn_scan_is(&p->s, '%')) return !p->s.failed;
    do {
        if (!take_value(p, &v) || !list_add(p, l, v)) return false;
    } while (hn_scan_char(&p->s, ','));
    return true;
}

/* --- attributes ------------------------------------------------------------------------------------------------- */

/* Of `defines`: the symbol itself, not what equalities make of it. */
static bool take_symbol_name(parser *p, hn_dim *out) {
    char text[NAME_MAX_N];
    hn_scan_blanks(&p->s);
    const char *at = p->s.at;
    if (!hn_scan_name(&p->s, text, sizeof text)) return false;
    *out = hn_dim_find(p->g->dims, text);
    return *out || hn_scan_fail(&p->s, at, "no symbol '%s' is declared at the head", text);
}

static bool take_list(parser *p, hn_attr *a) {
    hn_scan *s = &p->s;
    int64_t *ints = NULL;
    hn_dim *dims = NULL;
    uint32_t n = 0, room = 0;
    if (!hn_scan_need(s, '[')) return false;
    while (!hn_scan_is(s, ']')) {
        if (n && !hn_scan_need(s, ',')) return false;
        if (n == room) { /* doubled in the arena: lists are short */
            room = room ? 2 * room : 8;
            int64_t *more = HN_NEW_N(&p->g->arena, int64_t, room);
            hn_dim *more_dims = HN_NEW_N(&p->g->arena, hn_dim, room);
            if (!more || !more_dims) return out_of_memory(p);
            if (n) memcpy(more, ints, n * sizeof *ints), memcpy(more_dims, dims, n * sizeof *dims);
            ints = more;
            dims = more_dims;
        }
        if (a->id == HN_A_DEFINES  ? !take_symbol_name(p, &dims[n])
            : a->kind == HN_K_DIMS ? !hn_scan_dim(s, &dims[n])
                                   : !hn_scan_int(s, &ints[n]))
            return false;
        n++;
    }
    a->n = n;
    if (a->kind == HN_K_DIMS)
        a->dims = dims;
    else
        a->ints = ints;
    return hn_scan_char(s, ']');
}

static bool take_attr_name(parser *p, hn_attr *a) {
    char buf[64];
    if (hn_scan_is(&p->s, '"')) return hn_scan_quoted(&p->s, &a->name);
    if (!hn_scan_name(&p->s, buf, sizeof buf)) return false;
    a->name = hn_strdup(&p->g->arena, buf);
    return a->name || out_of_memory(p);
}

static bool take_attr_value(parser *p, hn_attr *a) {
    switch (a->kind) {
    case HN_K_INT: return hn_scan_int(&p->s, &a->i);
    case HN_K_FLOAT: return hn_scan_float(&p->s, &a->f);
    case HN_K_NAME: return take_attr_name(p, a);
    case HN_K_DTYPE: {
        hone_dtype t;
        if (!hn_scan_dtype(&p->s, &t)) return false;
        a->i = (int64_t)t;
        return true;
    }
    case HN_K_TENSOR: {
        hn_tensor *t = HN_NEW(&p->g->arena, hn_tensor);
        a->tensor = t;
        return t ? hn_scan_tensor(&p->s, t) : out_of_memory(p);
    }
    default: return take_list(p, a);
    }
}

static bool take_attrs(parser *p, hn_op op, hn_attr attr[HN_N_ATTRS], size_t *n) {
    if (!hn_scan_char(&p->s, '{')) return !p->s.failed;
    do {
        char text[NAME_MAX_N];
        hn_attr a = {0};
        hn_scan_blanks(&p->s);
        const char *from = p->s.at;
        if (!hn_scan_name(&p->s, text, sizeof text)) return false;
        if (!hn_attr_named(text, &a.id) || !hn_op_takes(op, a.id) || hn_attr_of(a.id)->kind == HN_K_BLOCKS)
            return hn_scan_fail(&p->s, from, "'%s' takes no attribute '%s'", hn_op_of(op)->text, text);
        for (size_t i = 0; i < *n; i++)
            if (attr[i].id == a.id) return hn_scan_fail(&p->s, from, "'%s' is given twice", text);
        a.kind = hn_attr_of(a.id)->kind;
        if (!hn_scan_need(&p->s, '=') || !take_attr_value(p, &a)) return false;
        attr[(*n)++] = a;
    } while (hn_scan_char(&p->s, ','));
    return hn_scan_need(&p->s, '}');
}

/* --- nodes ------------------------------------------------------------------------------------------------------ */

/* What a statement says, until all of it is read. */
typedef struct statement {
    const char *at; /* where it begins */
    const char **name;
    size_t *name_n, n_out, room_out;
    list in, body;
    hn_attr attr[HN_N_ATTRS];
    size_t n_attr;
    hn_op op;
    hn_type *type; /* as written */
    size_t n_type;
    const char *type_at, *source;
} statement;

static void free_statement(statement *st) {
    free(st->name);
    free(st->name_n);
    free(st->in.item);
    free(st->body.item);
    free(st->type);
}

static bool take_result_names(parser *p, statement *st) {
    if (!hn_scan_is(&p->s, '%')) return !p->s.failed;
    do {
        if (st->n_out == st->room_out) {
            size_t room = st->room_out ? 2 * st->room_out : 4;
            const char **more = realloc(st->name, room * sizeof *more);
            if (more) st->name = more;
            size_t *more_n = realloc(st->name_n, room * sizeof *more_n);
            if (more_n) st->name_n = more_n;
            if (!more || !more_n) return out_of_memory(p);
            st->room_out = room;
        }
        if (!take_name(p, &st->name[st->n_out], &st->name_n[st->n_out])) return false;
        st->n_out++;
    } while (hn_scan_char(&p->s, ','));
    return hn_scan_need(&p->s, '=');
}

static bool take_types(parser *p, statement *st) {
    hn_scan_blanks(&p->s);
    st->type_at = p->s.at;
    if (!hn_scan_char(&p->s, ':')) return !p->s.failed;
    st->type = calloc(st->n_out + 1, sizeof *st->type);
    if (!st->type) return out_of_memory(p);
    do {
        if (st->n_type == st->n_out)
            return hn_scan_fail(&p->s, p->s.at, "there are more types than the %zu results", st->n_out);
        if (!hn_scan_type(&p->s, &st->type[st->n_type])) return false;
        st->n_type++;
    } while (hn_scan_char(&p->s, ','));
    return st->n_type == st->n_out ||
           hn_scan_fail(&p->s, st->type_at, "%zu types for %zu results", st->n_type, st->n_out);
}

static bool take_nodes(parser *p, hn_block b);

static bool take_params(parser *p, hn_block b) {
    if (!hn_scan_need(&p->s, '(')) return false;
    for (bool more = !hn_scan_is(&p->s, ')'); more; more = hn_scan_char(&p->s, ',')) {
        const char *text;
        size_t n;
        hn_type t;
        if (!take_name(p, &text, &n) || !hn_scan_need(&p->s, ':') || !hn_scan_type(&p->s, &t)) return false;
        hn_val v = hn_param(p->g, b, NULL, &t);
        if (!v || !add_name(p, text, n, v)) return false;
    }
    return hn_scan_need(&p->s, ')');
}

static bool take_region(parser *p, hn_block parent, list *body) {
    list result = {0};
    uint32_t names = p->n_names;
    if (p->depth == REGION_DEPTH_MAX) return hn_scan_fail(&p->s, p->s.at, "regions are nested too deeply");
    hn_block b = hn_block_new(p->g, parent);
    p->depth++;
    bool good = b && take_params(p, b) && hn_scan_need(&p->s, '{') && take_nodes(p, b);
    if (good && !hn_scan_word(&p->s, "yield")) good = hn_scan_fail(&p->s, p->s.at, "a region ends with yield");
    good = good && take_values(p, &result) && hn_scan_need(&p->s, '}');
    p->depth--;
    for (size_t i = 0; good && i < result.n; i++) hn_result(p->g, b, result.item[i], NULL);
    free(result.item);
    drop_names(p, names);
    return good && list_add(p, body, b);
}

static bool check_types(parser *p, const statement *st, hn_val first) {
    hn_str a = {0}, b = {0};
    bool good = true;
    for (size_t i = 0; good && i < st->n_type; i++) {
        const hn_type *t = &p->g->value[first + i].type;
        if (hn_type_same(p->g, t, &st->type[i])) continue;
        hn_type_print(p->g, t, &a);
        hn_type_print(p->g, &st->type[i], &b);
        good = hn_scan_fail(&p->s, st->type_at, "'%s' gives %s, not %s", hn_op_of(st->op)->text, a.text ? a.text : "",
                            b.text ? b.text : "");
    }
    hn_str_free(&a);
    hn_str_free(&b);
    return good;
}

/* Statements of one source come one after the other. */
static uint32_t source_of(hn_graph *g, const char *text) {
    if (!text) return 0;
    return g->n_source && !strcmp(g->source[g->n_source - 1], text) ? g->n_source : hn_source(g, text);
}

static bool emit(parser *p, hn_block b, statement *st) {
    if (st->body.n)
        st->attr[st->n_attr++] = (hn_attr){.id = HN_A_BODY, .n = (uint32_t)st->body.n, .blocks = st->body.item};
    uint32_t nodes = p->g->n_node;
    hn_val first = hn_emit(p->g, b, st->op, st->in.n, st->in.item, st->n_attr, st->attr, st->n_out);
    if (!hn_graph_ok(p->g)) return hn_scan_fail(&p->s, st->at, "%s", p->g->err.text);
    p->g->node[nodes].source = source_of(p->g, st->source);
    for (size_t i = 0; i < st->n_out; i++)
        if (!add_name(p, st->name[i], st->name_n[i], first + (hn_val)i)) return false;
    return check_types(p, st, first);
}

static bool take_statement(parser *p, hn_block b, statement *st) {
    char word[NAME_MAX_N];
    hn_scan_blanks(&p->s);
    st->at = p->s.at;
    if (!take_result_names(p, st)) return false;
    hn_scan_blanks(&p->s);
    const char *at = p->s.at;
    if (!hn_scan_name(&p->s, word, sizeof word)) return false;
    if (!hn_op_named(word, &st->op)) return hn_scan_fail(&p->s, at, "no operation is called '%s'", word);
    if (!take_values(p, &st->in) || !take_attrs(p, st->op, st->attr, &st->n_attr) || !take_types(p, st)) return false;
    if (hn_scan_word(&p->s, "from") && !hn_scan_quoted(&p->s, &st->source)) return false;
    while (hn_scan_word(&p->s, "do")) {
        if (!hn_op_takes(st->op, HN_A_BODY)) return hn_scan_fail(&p->s, st->at, "'%s' has no regions", word);
        if (!take_region(p, b, &st->body)) return false;
    }
    return !p->s.failed && emit(p, b, st);
}

static bool at_word(parser *p, const char *word) {
    const char *at = p->s.at;
    bool is = hn_scan_word(&p->s, word);
    p->s.at = at;
    return is;
}

static bool take_nodes(parser *p, hn_block b) {
    while (!p->s.failed && hn_graph_ok(p->g) && !hn_scan_is(&p->s, '}') && !at_word(p, "yield") &&
           !at_word(p, "output") && !at_word(p, "input") && p->s.at < p->s.end) {
        statement st = {0};
        bool good = take_statement(p, b, &st);
        free_statement(&st);
        if (!good) return false;
    }
    return !p->s.failed;
}

/* --- the head and the ports ------------------------------------------------------------------------------------- */

static bool take_symbol(parser *p) {
    char text[NAME_MAX_N];
    int64_t low, high = INT64_MAX;
    hn_scan *s = &p->s;
    hn_scan_blanks(s);
    const char *at = s->at;
    if (!hn_scan_name(s, text, sizeof text)) return false;
    if (hn_dim_find(p->g->dims, text)) return hn_scan_fail(s, at, "symbol '%s' is declared twice", text);
    if (!hn_scan_word(s, "in")) return hn_scan_fail(s, s->at, "expected 'in' and a range such as 0..512");
    if (!hn_scan_int(s, &low) || !hn_scan_need(s, '.') || !hn_scan_need(s, '.')) return false;
    if ((*s->at >= '0' && *s->at <= '9') || *s->at == '-')
        if (!hn_scan_int(s, &high)) return false;
    if (low < 0 || high < low) return hn_scan_fail(s, at, "symbol '%s' has an empty or negative range", text);
    return hn_dim_symbol(p->g->dims, text, low, high) || out_of_memory(p);
}

static bool take_relation(parser *p, bool equal) {
    hn_dim a, b;
    int64_t by;
    if (!hn_scan_dim(&p->s, &a) || !hn_scan_need(&p->s, ',')) return false;
    if (equal) {
        if (!hn_scan_dim(&p->s, &b)) return false;
        hn_dim_assume_equal(p->g->dims, a, b);
        return true;
    }
    if (!hn_scan_int(&p->s, &by)) return false;
    if (by < 1) return hn_scan_fail(&p->s, p->s.at, "a divisor is at least 1");
    hn_dim_assume_divisible(p->g->dims, a, by);
    return true;
}

typedef struct mapping {
    void *at;
    size_t n;
} mapping;

static void unmap(void *hold) {
    mapping *m = hold;
    if (m->n) munmap(m->at, m->n);
    free(m);
}

static bool map_side(parser *p, const char *at, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        int why = errno;
        if (fd >= 0) close(fd);
        return hn_scan_fail(&p->s, at, "cannot read the side file '%s': %s", path,
                            fd < 0 ? strerror(why) : "not a regular file");
    }
    size_t n = (size_t)st.st_size;
    void *data = n ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0) : (void *)"";
    close(fd);
    mapping *m = data == MAP_FAILED ? NULL : malloc(sizeof *m);
    if (!m) {
        if (n && data != MAP_FAILED) munmap(data, n);
        return hn_scan_fail(&p->s, at, "cannot map the side file '%s'", path);
    }
    *m = (mapping){data, n};
    p->g->hold = m;
    p->g->let_go = unmap;
    p->s.side = data;
    p->s.side_b = n;
    return true;
}

/* A side file lies beside the text: its name has no folder. */
static bool take_weights(parser *p, const char *path) {
    const char *file, *at = p->s.at;
    if (!hn_scan_quoted(&p->s, &file)) return false;
    if (!path) return hn_scan_fail(&p->s, at, "a text that is not read from a file has no side file");
    if (p->g->hold) return hn_scan_fail(&p->s, at, "there is a second side file");
    if (!*file || strchr(file, '/')) return hn_scan_fail(&p->s, at, "the side file lies beside the text: no folder");
    const char *slash = strrchr(path, '/');
    hn_str full = {0};
    if (slash) hn_str_add_n(&full, path, (size_t)(slash + 1 - path));
    hn_str_add(&full, file);
    bool good = full.failed ? out_of_memory(p) : map_side(p, at, full.text);
    hn_str_free(&full);
    return good;
}

static bool take_input(parser *p) {
    const char *text, *label;
    size_t n;
    hn_type t;
    if (!take_name(p, &text, &n) || !hn_scan_need(&p->s, ':') || !hn_scan_type(&p->s, &t)) return false;
    if (!hn_scan_quoted(&p->s, &label)) return false;
    hn_val v = hn_param(p->g, 0, label, &t);
    return v && add_name(p, text, n, v);
}

static bool take_output(parser *p) {
    hn_val v;
    const char *label;
    if (!take_value(p, &v) || !hn_scan_quoted(&p->s, &label)) return false;
    hn_result(p->g, 0, v, label);
    return true;
}

static bool take_head(parser *p, const char *path) {
    int64_t version;
    if (!hn_scan_word(&p->s, "ir")) return hn_scan_fail(&p->s, p->s.at, "a graph begins with 'ir 1'");
    const char *at = p->s.at;
    if (!hn_scan_int(&p->s, &version)) return false;
    if (version != 1) return hn_scan_fail(&p->s, at, "version %lld of the text form is not known", (long long)version);
    for (bool more = true; more && !p->s.failed;) {
        if (hn_scan_word(&p->s, "symbol"))
            more = take_symbol(p);
        else if (hn_scan_word(&p->s, "equal"))
            more = take_relation(p, true);
        else if (hn_scan_word(&p->s, "divisible"))
            more = take_relation(p, false);
        else if (hn_scan_word(&p->s, "weights"))
            more = take_weights(p, path);
        else
            more = false;
    }
    return !p->s.failed;
}

static bool take_graph(parser *p, const char *path) {
    if (!take_head(p, path)) return false;
    while (!p->s.failed && hn_graph_ok(p->g)) {
        hn_scan_blanks(&p->s);
        if (p->s.at == p->s.end) return true;
        bool good = hn_scan_word(&p->s, "input")    ? take_input(p)
                    : hn_scan_word(&p->s, "output") ? take_output(p)
                                                    : take_nodes(p, 0);
        if (good && (hn_scan_is(&p->s, '}') || at_word(p, "yield")))
            good = hn_scan_fail(&p->s, p->s.at, "this closes no region");
        if (!good) return false;
    }
    return false;
}

static hone_rc finish(parser *p, bool good, hn_graph **out, hone_err *err) {
    hone_rc rc = HONE_OK;
    if (!hn_arena_ok(&p->g->arena))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    else if (p->s.failed)
        rc = HONE_E_INPUT;
    else if (!good || !hn_graph_ok(p->g))
        rc = hn_fail(err, p->g->err.rc ? p->g->err.rc : HONE_E_INPUT, "%s: %s", p->s.path, p->g->err.text);
    else if ((rc = hn_verify(p->g, err)))
        hn_context(err, "%s: ", p->s.path);
    if (rc)
        hn_graph_free(p->g);
    else
        *out = p->g;
    return rc;
}

hone_rc hn_parse(const char *text, size_t n, const char *path, hn_graph **out, hone_err *err) {
    parser *p = calloc(1, sizeof *p);
    char *copy = malloc(n + 1);
    hn_graph *g = hn_graph_new();
    hone_rc rc = HONE_E_NOMEM;
    if (p && copy && g) {
        if (n) memcpy(copy, text, n);
        copy[n] = 0;
        p->g = g;
        p->s = (hn_scan){.text = copy,
                         .at = copy,
                         .end = copy + n,
                         .path = path ? path : "text",
                         .err = err,
                         .arena = &g->arena,
                         .dims = g->dims};
        const char *nul = memchr(copy, 0, n);
        bool good = nul ? hn_scan_fail(&p->s, nul, "a byte 0 in the text") : take_graph(p, path);
        rc = finish(p, good, out, err);
    } else {
        hn_graph_free(g);
        hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    if (p) free(p->name);
    free(p);
    free(copy);
    return rc;
}
