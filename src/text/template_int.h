/* text/template_int.h — values, nodes and state of templates, for the files of this room. */
#ifndef HN_TEMPLATE_INT_H
#define HN_TEMPLATE_INT_H

#include "base/arena.h"
#include "text/template.h"

/* --- values: not changed once made, but for namespaces ------------------------------------------------------------ */

typedef enum hn_tv_kind {
    HN_TV_UNDEFINED,
    HN_TV_NONE,
    HN_TV_BOOL,
    HN_TV_INT,
    HN_TV_FLOAT,
    HN_TV_TEXT,
    HN_TV_LIST, /* tuples, too */
    HN_TV_DICT, /* namespaces, too */
    HN_TV_MACRO,
    HN_TV_NAMED, /* a function of the environment, or a method: `name` of `self` */
} hn_tv_kind;

typedef struct hn_tv hn_tv;
typedef struct hn_tv_pair hn_tv_pair;
typedef struct hn_tv_list {
    hn_tv *item;
    size_t n;
    bool tuple; /* prints with round brackets, and equals no list */
} hn_tv_list;
typedef struct hn_tv_dict {
    hn_tv_pair *pair;
    size_t n, room;
    bool open; /* a namespace: members may be set */
} hn_tv_dict;
struct hn_tnode;
typedef struct hn_tv_method {
    const char *name;
    hn_tv *self; /* NULL: of the environment */
} hn_tv_method;
struct hn_tv {
    hn_tv_kind kind;
    union {
        int64_t i; /* BOOL, INT */
        double f;
        struct {
            const char *text; /* NUL-terminated too */
            size_t n;
        };
        hn_tv_list *list;
        hn_tv_dict *dict;
        const struct hn_tnode *macro;
        const hn_tv_method *method;
    };
};
struct hn_tv_pair {
    const char *key;
    hn_tv value;
};

/* --- nodes -------------------------------------------------------------------------------------------------------- */

typedef enum hn_tnode_kind {
    HN_TN_TEXT,   /* text */
    HN_TN_OUTPUT, /* a */
    HN_TN_FOR,    /* names in list[0..n_names), a: the list, b: condition or NULL, body, other: else */
    HN_TN_IF,     /* a, body, other */
    HN_TN_SET,    /* a: the target, b: the value; or body */
    HN_TN_MACRO,  /* text: its name; list: parameters (NAME with b: default); body */
    HN_TN_BREAK,
    HN_TN_CONTINUE,
    HN_TN_LITERAL, /* value */
    HN_TN_NAME,    /* text */
    HN_TN_LIST,    /* list; negated: a tuple */
    HN_TN_DICT,    /* list: keys and values in turn */
    HN_TN_MEMBER,  /* a . text */
    HN_TN_INDEX,   /* a [b] */
    HN_TN_SLICE,   /* a [b : c : d], any NULL */
    HN_TN_CALL,    /* a (list); keyword arguments: KEYWORD nodes */
    HN_TN_KEYWORD, /* text = a */
    HN_TN_FILTER,  /* a | text (list) */
    HN_TN_TEST,    /* a is text (list); negated: is not */
    HN_TN_UNARY,   /* op a: "-", "+", "not" */
    HN_TN_BINARY,  /* a op b */
    HN_TN_CHOICE,  /* b if a else c */
} hn_tnode_kind;

typedef struct hn_tnode hn_tnode;
struct hn_tnode {
    hn_tnode_kind kind;
    unsigned line;
    const char *text;
    size_t n_text;
    hn_tnode *a, *b, *c, *d;
    hn_tnode **list;
    size_t n_list, n_names;
    hn_tnode *body, *other, *next; /* statements in a row: next */
    hn_tv value;
    bool negated;
};

/* --- one rendering ------------------------------------------------------------------------------------------------ */

typedef struct hn_tscope {
    hn_tv_dict names;
    struct hn_tscope *outer;
} hn_tscope;

typedef struct hn_trun {
    hn_arena *arena;
    hn_tscope *scope;
    hn_str *out;
    uint64_t steps;
    unsigned depth, nested, level; /* of macros' calls; of values within values; of what is run within each other */
    double now_s;
    enum { HN_T_ON, HN_T_BREAK, HN_T_CONTINUE } jump;
    hone_rc rc; /* sticky */
    hone_err *err;
} hn_trun;

/* template_parse.c: statements in a row; NULL and r->rc after an error. */
hn_tnode *hn_template_parse(hn_trun *r, const char *text, size_t n);

/* template_value.c */
hn_tv hn_tv_text(hn_trun *r, const char *text, size_t n); /* copied */
hn_tv hn_tv_bool(bool b);
hn_tv hn_tv_int(int64_t i);
hn_tv hn_tv_new_list(hn_trun *r, size_t n); /* n undefined items */
hn_tv hn_tv_new_dict(hn_trun *r);
void hn_tv_set(hn_trun *r, hn_tv_dict *d, const char *key, hn_tv v);
const hn_tv *hn_tv_get(const hn_tv_dict *d, const char *key); /* NULL: absent */
hn_tv hn_tv_from_json(hn_trun *r, const json_t *j);
bool hn_tv_true(const hn_tv *v);
bool hn_tv_equal(hn_trun *r, const hn_tv *a, const hn_tv *b);
int hn_tv_order(hn_trun *r, const hn_tv *a, const hn_tv *b); /* of numbers, texts, lists; else an error */
bool hn_tv_is_number(const hn_tv *v);
double hn_tv_number(const hn_tv *v);
int64_t hn_tv_modulo(int64_t a, int64_t b);                /* b is not 0; of b's sign */
hn_tv hn_tv_items(hn_trun *r, const hn_tv *v);             /* what iterating gives, as a list: characters, keys */
void hn_tv_print(hn_trun *r, const hn_tv *v, hn_str *out); /* as output */
void hn_tv_repr(hn_trun *r, const hn_tv *v, hn_str *out);  /* as inside a list */
void hn_tv_json(hn_trun *r, const hn_tv *v, int indent, int level, hn_str *out); /* indent -1: on one line */

/* template.c: an error at a line (0: none); gives undefined. */
hn_tv hn_t_fail(hn_trun *r, unsigned line, const char *fmt, ...) HONE_PRINTF(3, 4);
hn_tv hn_t_eval(hn_trun *r, const hn_tnode *n);
bool hn_t_step(hn_trun *r, unsigned line); /* false: too many */
/* What is done with n bytes or items of a value counts as steps, too; out (NULL: none) grows by them. */
bool hn_t_work(hn_trun *r, unsigned line, size_t n, const hn_str *out);
/* Into a value's members, and out: false: it holds itself, or too many within each other. */
bool hn_t_enter(hn_trun *r);
static inline void hn_t_leave(hn_trun *r) { r->nested--; }

/* template_call.c */
typedef struct hn_targs {
    hn_tv *value;
    const char **name; /* NULL: by position */
    size_t n;
} hn_targs;
hn_tv hn_t_filter(hn_trun *r, const hn_tnode *n, const char *name, const hn_tv *v, const hn_targs *args);
bool hn_t_test(hn_trun *r, const hn_tnode *n, const char *name, const hn_tv *v, const hn_targs *args);
hn_tv hn_t_call_named(hn_trun *r, const hn_tnode *n, const hn_tv_method *m, const hn_targs *args);
bool hn_t_is_method(const hn_tv *v, const char *name);
const hn_tv *hn_t_arg(const hn_targs *a, size_t i, const char *name); /* NULL: not given */

#endif
