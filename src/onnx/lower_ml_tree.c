/* lower_ml_tree.c — ensembles of decision trees.
 *
 * All trees share one table of nodes (feature, split, comparison, next node if true, if false); leaves lead to
 * themselves. Every row starts at every root and takes as many steps as the deepest tree has, each step a few gathers
 * from the table: [rows, trees]. The leaves reached name rows of a table [leaves, targets], which are summed (or
 * averaged, or the least or greatest is taken) over the trees. A test for membership in a set becomes a chain of
 * equalities.
 */
#include "onnx/lower_ml_int.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum test_mode { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF } test_mode;
enum { N_MODES = LEAF, DEEPEST = 256, MOST = 1 << 24 };

typedef struct branch {
    test_mode mode;
    int64_t feature, yes, no, leaf; /* of a leaf: its row in the table of leaves */
    double split;
    bool missing; /* NaN goes to yes */
} branch;

typedef struct forest {
    hn_lower *c;
    hn_builder *b;
    branch *node;
    int64_t n, room, n_leaf, n_root, n_target, depth;
    int64_t *root;
    double *weight; /* [n_leaf, n_target] */
    hone_dtype t;   /* in which splits are compared and weights summed */
    hn_op how;      /* RSUM, RMIN, RMAX */
    bool average;
} forest;

static hn_arena *arena_of(forest *f) { return &f->b->g->arena; }

/* -- depth, and that they are trees */

/* Longest path from a node, by depth-first search with an explicit stack; a node met again below itself is a cycle. */
static int64_t longest(const forest *f, int64_t root, int64_t *depth, int64_t *stack) {
    enum { NEW = -1, OPEN = -2 };
    int64_t top = 0;
    stack[top++] = root;
    while (top) {
        int64_t i = stack[top - 1];
        const branch *x = &f->node[i];
        if (x->mode == LEAF) depth[i] = 0;
        if (depth[i] >= 0) {
            top--;
            continue;
        }
        int64_t yes = depth[x->yes], no = depth[x->no];
        depth[i] = OPEN;
        if (yes == OPEN || no == OPEN || x->yes == i || x->no == i) return -1;
        if (yes >= 0 && no >= 0)
            depth[i] = 1 + (yes > no ? yes : no);
        else
            stack[top++] = yes == NEW ? x->yes : x->no;
    }
    return depth[root];
}

static int64_t deepest(forest *f) {
    int64_t *depth = HN_NEW_N(arena_of(f), int64_t, (size_t)f->n + 1), most = 0;
    int64_t *stack = HN_NEW_N(arena_of(f), int64_t, (size_t)f->n + 1);
    if (!depth || !stack) return 0; /* sticky in the arena */
    for (int64_t i = 0; i < f->n; i++) depth[i] = -1;
    for (int64_t r = 0; most >= 0 && r < f->n_root; r++) {
        int64_t d = longest(f, f->root[r], depth, stack);
        most = d < 0 ? -1 : d > most ? d : most;
    }
    return most;
}

/* -- into the graph */

static hn_val ints_of(forest *f, size_t which) {
    hn_tensor t;
    if (!hn_tensor_new(arena_of(f), HONE_I64, 1, &f->n, &t)) return 0;
    for (int64_t i = 0; i < f->n; i++) {
        const branch *x = &f->node[i];
        const int64_t field[] = {x->feature, x->yes, x->no, x->leaf, x->mode};
        ((int64_t *)t.data)[i] = field[which];
    }
    return hn_const(f->b, &t);
}

static hn_val splits_of(forest *f) {
    hn_tensor t;
    if (!hn_tensor_new(arena_of(f), f->t, 1, &f->n, &t)) return 0;
    for (int64_t i = 0; i < f->n; i++) hn_set_f(&t, i, f->node[i].split);
    return hn_const(f->b, &t);
}

static hn_val missing_of(forest *f) {
    hn_tensor t;
    bool any = false;
    if (!hn_tensor_new(arena_of(f), HONE_BOOL, 1, &f->n, &t)) return 0;
    for (int64_t i = 0; i < f->n; i++) {
        hn_set_i(&t, i, f->node[i].missing);
        any = any || f->node[i].missing;
    }
    return any ? hn_const(f->b, &t) : 0;
}

static hn_val compare(hn_builder *b, test_mode mode, hn_val x, hn_val split) {
    switch (mode) {
    case LEQ: return hn_bin(b, HN_OP_LE, x, split);
    case LT: return hn_bin(b, HN_OP_LT, x, split);
    case GTE: return hn_bin(b, HN_OP_LE, split, x);
    case GT: return hn_bin(b, HN_OP_LT, split, x);
    case NEQ: return hn_bin(b, HN_OP_NE, x, split);
    default: return hn_bin(b, HN_OP_EQ, x, split);
    }
}

typedef struct tables {
    hn_val feature, split, yes, no, mode, missing; /* vectors over nodes; mode, missing: 0 where not needed */
    bool used[N_MODES];
} tables;

/* x [rows, features], at [rows, trees]: the next node. */
static hn_val step(forest *f, const tables *t, hn_val x, hn_val at) {
    hn_builder *b = f->b;
    hn_val in[] = {x, hn_gather(b, t->feature, at, 0)}, split = hn_gather(b, t->split, at, 0), yes = 0;
    hn_attr axis = hn_a_int(HN_A_AXIS, 1);
    hn_val value = hn_emit(b->g, b->b, HN_OP_GATHER_ELEMENTS, 2, in, 1, &axis, 1);
    hn_val mode = t->mode ? hn_gather(b, t->mode, at, 0) : 0;
    for (int m = 0; m < N_MODES; m++) {
        if (!t->used[m]) continue;
        hn_val is = compare(b, (test_mode)m, value, split);
        yes = yes ? hn_where(b, hn_bin_f(b, HN_OP_EQ, mode, m), is, yes) : is;
    }
    if (t->missing) {
        hn_val nan = hn_bin(b, HN_OP_AND, hn_un(b, HN_OP_ISNAN, value), hn_gather(b, t->missing, at, 0));
        yes = hn_bin(b, HN_OP_OR, yes, nan);
    }
    return hn_where(b, yes, hn_gather(b, t->yes, at, 0), hn_gather(b, t->no, at, 0));
}

static hn_val leaves_reached(forest *f, hn_val x) {
    hn_builder *b = f->b;
    tables t = {.feature = ints_of(f, 0),
                .yes = ints_of(f, 1),
                .no = ints_of(f, 2),
                .split = splits_of(f),
                .missing = missing_of(f)};
    int kinds = 0;
    for (int64_t i = 0; i < f->n; i++)
        if (f->node[i].mode != LEAF && !t.used[f->node[i].mode]) kinds += t.used[f->node[i].mode] = true;
    if (kinds > 1) t.mode = ints_of(f, 4);
    hn_dim shape[] = {hn_dim_of(b, x, 0), hn_lit(b, f->n_root)};
    hn_val at = hn_broadcast_to(b, hn_const_ints(b, (size_t)f->n_root, f->root), 2, shape);
    for (int64_t d = 0; d < f->depth; d++) at = step(f, &t, x, at);
    return hn_gather(b, ints_of(f, 3), at, 0);
}

/* [rows, targets]; 0 after a failure. */
static hn_val evaluate(forest *f) {
    hn_builder *b = f->b;
    hn_tensor w;
    f->depth = deepest(f);
    if (f->depth < 0)
        hn_wrong(f->c, "its nodes are no trees");
    else if (f->depth > DEEPEST)
        hn_refuse(f->c, "trees of depth %lld; at most %d", (long long)f->depth, DEEPEST);
    if (hn_lower_failed(f->c)) return 0;
    hn_val x = hn_cast(b, hn_in(f->c, 0), f->t);
    if (hn_rank(b, x) == 1) x = hn_unsqueeze(b, x, 0);
    int64_t features, most = -1;
    for (int64_t i = 0; i < f->n; i++)
        if (f->node[i].mode != LEAF && f->node[i].feature > most) most = f->node[i].feature;
    if (hn_dim_known(b, hn_dim_of(b, x, 1), &features) && most >= features) {
        hn_wrong(f->c, "feature %lld of %lld", (long long)most, (long long)features);
        return 0;
    }
    if (!hn_tensor_new(arena_of(f), f->t, 2, (int64_t[]){f->n_leaf, f->n_target}, &w)) return 0;
    for (int64_t i = 0; i < f->n_leaf * f->n_target; i++) hn_set_f(&w, i, f->weight[i]);
    hn_val all = hn_gather(b, hn_const(b, &w), leaves_reached(f, x), 0); /* [rows, trees, targets] */
    hn_val y = hn_reduce1(b, f->how, all, 1, false);
    return f->average ? hn_bin_f(b, HN_OP_DIV, y, (double)f->n_root) : y;
}

/* -- building the tables */

static int64_t add_node(forest *f, branch x) {
    if (f->n == f->room) {
        int64_t room = f->room ? 2 * f->room : 64;
        branch *more = HN_NEW_N(arena_of(f), branch, (size_t)room);
        if (!more || room > MOST) {
            if (!hn_lower_failed(f->c)) hn_refuse(f->c, "more than %d nodes", MOST);
            return 0;
        }
        if (f->n) memcpy(more, f->node, (size_t)f->n * sizeof *more);
        f->node = more;
        f->room = room;
    }
    f->node[f->n] = x;
    return f->n++;
}

/* The table of leaves, filled with the neutral value. */
static bool make_weights(forest *f) {
    double none = f->how == HN_OP_RSUM ? 0 : f->t == HONE_F64 ? DBL_MAX : (double)FLT_MAX;
    if (f->how == HN_OP_RMAX) none = -none;
    if (f->n_target < 1 || f->n_leaf > MOST || f->n_target > MOST || f->n_leaf * f->n_target > MOST) {
        hn_refuse(f->c, "%lld leaves and %lld targets", (long long)f->n_leaf, (long long)f->n_target);
        return false;
    }
    f->weight = HN_NEW_N(arena_of(f), double, (size_t)(f->n_leaf * f->n_target));
    for (int64_t i = 0; f->weight && i < f->n_leaf * f->n_target; i++) f->weight[i] = none;
    return f->weight != NULL;
}

static void add_weight(forest *f, int64_t leaf, int64_t target, double x) {
    if (target < 0 || target >= f->n_target) {
        hn_wrong(f->c, "target %lld of %lld", (long long)target, (long long)f->n_target);
        return;
    }
    double *w = &f->weight[leaf * f->n_target + target];
    *w = f->how == HN_OP_RSUM ? *w + x : f->how == HN_OP_RMIN ? fmin(*w, x) : fmax(*w, x);
}

static bool forest_begin(hn_lower *c, forest *f) {
    *f = (forest){.c = c, .b = hn_lower_builder(c), .how = HN_OP_RSUM};
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 1, 2)) return false;
    f->t = hn_dt(f->b, hn_in(c, 0)) == HONE_F64 ? HONE_F64 : HONE_F32;
    return true;
}

/* -- TreeEnsemble (5): nodes and leaves in lists of their own */

typedef struct lists {
    const hn_tensor *split, *mode, *weight, *member;
    const int64_t *feature, *yes, *no, *yes_leaf, *no_leaf, *target, *root, *missing;
    size_t n, n_leaf, n_root, n_missing;
} lists;

static bool same_length(hn_lower *c, const char *name, const int64_t **list, size_t n) {
    if (hn_ints(c, name, list) == n) return true;
    if (!hn_lower_failed(c)) hn_wrong(c, "'%s' needs %zu entries", name, n);
    return false;
}

static bool read_lists(hn_lower *c, lists *l) {
    l->split = hn_tensor_attr(c, "nodes_splits");
    l->mode = hn_tensor_attr(c, "nodes_modes");
    l->weight = hn_tensor_attr(c, "leaf_weights");
    l->member = hn_has(c, "membership_values") ? hn_tensor_attr(c, "membership_values") : NULL;
    if (!l->split || !l->mode || !l->weight) {
        if (!hn_lower_failed(c)) hn_wrong(c, "nodes_splits, nodes_modes or leaf_weights is missing");
        return false;
    }
    l->n = (size_t)hn_tensor_n(l->split);
    l->n_leaf = (size_t)hn_tensor_n(l->weight);
    l->n_root = hn_ints(c, "tree_roots", &l->root);
    l->n_missing = hn_ints(c, "nodes_missing_value_tracks_true", &l->missing);
    if ((size_t)hn_tensor_n(l->mode) != l->n || (l->n_missing && l->n_missing != l->n) || !l->n_root)
        hn_wrong(c, "its lists of nodes differ in length");
    return !hn_lower_failed(c) && same_length(c, "nodes_featureids", &l->feature, l->n) &&
           same_length(c, "nodes_truenodeids", &l->yes, l->n) && same_length(c, "nodes_falsenodeids", &l->no, l->n) &&
           same_length(c, "nodes_trueleafs", &l->yes_leaf, l->n) &&
           same_length(c, "nodes_falseleafs", &l->no_leaf, l->n) &&
           same_length(c, "leaf_targetids", &l->target, l->n_leaf);
}

/* Nodes come first in our table, then leaves. */
static int64_t follow(forest *f, const lists *l, int64_t id, bool leaf) {
    if (id >= 0 && (size_t)id < (leaf ? l->n_leaf : l->n)) return leaf ? (int64_t)l->n + id : id;
    hn_wrong(f->c, "node or leaf %lld does not exist", (long long)id);
    return 0;
}

/* The sets of members stand one after the other in the order in which the trees are walked, true branch first; each
 * ends with NaN. The node tests its first member, nodes behind the table the others. */
static int64_t expand_set(forest *f, const lists *l, int64_t i, int64_t at) {
    branch x = f->node[i];
    int64_t n = l->member ? hn_tensor_n(l->member) : 0, here = i;
    x.mode = EQ;
    x.split = NAN; /* an empty set: nothing equals it */
    bool first = true;
    for (; at < n && !isnan(hn_get_f(l->member, at)); at++, first = false) {
        x.split = hn_get_f(l->member, at);
        if (!first) {
            int64_t more = add_node(f, x);
            f->node[here].no = more;
            here = more;
        }
        f->node[here] = x;
    }
    if (first) f->node[here] = x;
    if (at >= n) hn_wrong(f->c, "membership_values ends before all sets are complete");
    return at + 1;
}

static void expand_sets(forest *f, const lists *l) {
    int64_t at = 0, n = f->n, top = 0;
    int64_t *stack = HN_NEW_N(arena_of(f), int64_t, 2 * (size_t)n + 2), visits = 0;
    for (int64_t r = 0; stack && r < f->n_root && !hn_lower_failed(f->c); r++) {
        stack[top++] = f->root[r];
        while (top && !hn_lower_failed(f->c)) {
            int64_t i = stack[--top];
            branch x = f->node[i];
            if (x.mode == LEAF) continue;
            if (++visits > 2 * n || top + 2 > 2 * n + 2) {
                hn_wrong(f->c, "its nodes are no trees");
                return;
            }
            stack[top++] = x.no;
            stack[top++] = x.yes;
            if (x.mode == MEMBER) at = expand_set(f, l, i, at);
        }
    }
}

static bool read_nodes(forest *f, const lists *l) {
    bool sets = false;
    for (size_t i = 0; i < l->n && !hn_lower_failed(f->c); i++) {
        int64_t mode = hn_get_i(l->mode, (int64_t)i);
        if (mode < 0 || mode >= LEAF || l->feature[i] < 0) hn_wrong(f->c, "node %zu is damaged", i);
        sets = sets || mode == MEMBER;
        add_node(f, (branch){.mode = (test_mode)mode,
                             .feature = l->feature[i],
                             .yes = follow(f, l, l->yes[i], l->yes_leaf[i]),
                             .no = follow(f, l, l->no[i], l->no_leaf[i]),
                             .split = hn_get_f(l->split, (int64_t)i),
                             .missing = l->n_missing && l->missing[i]});
    }
    for (size_t i = 0; i < l->n_leaf && !hn_lower_failed(f->c); i++) {
        int64_t id = add_node(f, (branch){.mode = LEAF, .leaf = (int64_t)i});
        if (!hn_lower_failed(f->c)) f->node[id].yes = f->node[id].no = id;
    }
    f->root = HN_NEW_N(arena_of(f), int64_t, l->n_root);
    f->n_root = (int64_t)l->n_root;
    for (size_t i = 0; f->root && i < l->n_root && !hn_lower_failed(f->c); i++)
        f->root[i] = follow(f, l, l->root[i], false);
    if (f->root && sets && !hn_lower_failed(f->c)) expand_sets(f, l);
    return f->root && !hn_lower_failed(f->c);
}

void hn_lower_tree_ensemble(hn_lower *c) {
    static const char *const post[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    static const hn_op how[] = {HN_OP_RSUM, HN_OP_RSUM, HN_OP_RMIN, HN_OP_RMAX};
    forest f;
    lists l = {0};
    int64_t way = hn_int(c, "aggregate_function", 1), after = hn_int(c, "post_transform", 0);
    if (!forest_begin(c, &f) || !read_lists(c, &l)) return;
    if (way < 0 || way > 3 || after < 0 || after > 4) hn_wrong(c, "aggregate_function or post_transform");
    if (hn_lower_failed(c) || !read_nodes(&f, &l)) return;
    f.how = how[way];
    f.average = way == 0;
    f.n_leaf = (int64_t)l.n_leaf;
    f.n_target = hn_int(c, "n_targets", 1);
    if (!make_weights(&f)) return;
    for (size_t i = 0; i < l.n_leaf && !hn_lower_failed(c); i++)
        add_weight(&f, (int64_t)i, l.target[i], hn_get_f(l.weight, (int64_t)i));
    hn_val y = hn_lower_failed(c) ? 0 : evaluate(&f);
    if (y) y = hn_ml_post(c, y, post[after]);
    if (y) hn_out_as(c, 0, y, hn_dt(f.b, hn_in(c, 0)));
}

/* -- TreeEnsembleRegressor, TreeEnsembleClassifier: nodes by (tree, node) numbers, leaves among them */

typedef struct name {
    int64_t tree, node, index;
} name;

static int by_name(const void *pa, const void *pb) {
    const name *a = pa, *b = pb;
    if (a->tree != b->tree) return a->tree < b->tree ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* Index of the node in our table; -1 after a failure. */
static int64_t find(forest *f, const name *list, int64_t tree, int64_t node) {
    const name key = {tree, node, 0}, *at = bsearch(&key, list, (size_t)f->n, sizeof *list, by_name);
    if (at) return at->index;
    if (!hn_lower_failed(f->c)) hn_wrong(f->c, "tree %lld has no node %lld", (long long)tree, (long long)node);
    return -1;
}

static test_mode mode_named(forest *f, const char *text) {
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    for (int i = 0; i < 6; i++)
        if (!strcmp(text, names[i])) return (test_mode)i;
    if (strcmp(text, "LEAF") != 0 && !hn_lower_failed(f->c)) hn_wrong(f->c, "node mode '%s'", text);
    return LEAF;
}

/* A list of floats, or the tensor that takes its place in newer models. */
static size_t numbers(forest *f, const char *list, const char *tensor, const double **out) {
    const float *x;
    const hn_tensor *t = hn_has(f->c, tensor) ? hn_tensor_attr(f->c, tensor) : NULL;
    size_t n = t ? (size_t)hn_tensor_n(t) : hn_floats(f->c, list, &x);
    double *to = HN_NEW_N(arena_of(f), double, n);
    for (size_t i = 0; to && i < n; i++) to[i] = t ? hn_get_f(t, (int64_t)i) : (double)x[i];
    *out = to;
    return to ? n : 0;
}

/* Fills the nodes; *names is sorted, for lookups by (tree, node). Roots are the first node of each tree. */
static bool read_named(forest *f, const name **names) {
    hn_lower *c = f->c;
    const char *const *mode;
    const double *value;
    const int64_t *tree, *node, *feature, *yes, *no, *missing;
    size_t n = hn_strings(c, "nodes_modes", &mode),
           n_value = numbers(f, "nodes_values", "nodes_values_as_tensor", &value);
    size_t n_missing = hn_ints(c, "nodes_missing_value_tracks_true", &missing);
    if (!n || n > MOST || n_value != n || (n_missing && n_missing != n))
        hn_wrong(c, "its lists of nodes differ in length");
    if (hn_lower_failed(c) || !same_length(c, "nodes_treeids", &tree, n) ||
        !same_length(c, "nodes_nodeids", &node, n) || !same_length(c, "nodes_featureids", &feature, n) ||
        !same_length(c, "nodes_truenodeids", &yes, n) || !same_length(c, "nodes_falsenodeids", &no, n))
        return false;
    name *list = HN_NEW_N(arena_of(f), name, n);
    f->node = HN_NEW_N(arena_of(f), branch, n);
    f->root = HN_NEW_N(arena_of(f), int64_t, n);
    if (!list || !f->node || !f->root) return false;
    f->n = f->room = (int64_t)n;
    for (size_t i = 0; i < n; i++) list[i] = (name){tree[i], node[i], (int64_t)i};
    qsort(list, n, sizeof *list, by_name);
    for (size_t i = 0; i < n && !hn_lower_failed(c); i++) {
        branch *x = &f->node[i];
        *x = (branch){mode_named(f, mode[i]), feature[i], (int64_t)i, (int64_t)i, 0, value[i], n_missing && missing[i]};
        if (x->mode == LEAF) {
            x->leaf = f->n_leaf++;
            x->feature = 0;
            continue;
        }
        x->yes = find(f, list, tree[i], yes[i]);
        x->no = find(f, list, tree[i], no[i]);
        if (x->feature < 0) hn_wrong(c, "node %zu is damaged", i);
    }
    for (size_t i = 0; i < n; i++) { /* of each tree the node that stands first */
        int64_t least = list[i].index;
        size_t k = i;
        for (; k < n && list[k].tree == list[i].tree; k++) least = list[k].index < least ? list[k].index : least;
        f->root[f->n_root++] = least;
        i = k - 1;
    }
    *names = list;
    return !hn_lower_failed(c);
}

/* The weights of leaves: lists of (tree, node, target, weight) whose attributes begin with `prefix`. */
static bool read_weights(forest *f, const name *names, const char *prefix) {
    hn_lower *c = f->c;
    const int64_t *tree, *node, *target;
    const double *weight;
    bool classes = !strcmp(prefix, "class");
    size_t n = numbers(f, classes ? "class_weights" : "target_weights",
                       classes ? "class_weights_as_tensor" : "target_weights_as_tensor", &weight);
    if (!same_length(c, classes ? "class_treeids" : "target_treeids", &tree, n) ||
        !same_length(c, classes ? "class_nodeids" : "target_nodeids", &node, n) ||
        !same_length(c, classes ? "class_ids" : "target_ids", &target, n) || !make_weights(f))
        return false;
    for (size_t i = 0; i < n && !hn_lower_failed(c); i++) {
        int64_t at = find(f, names, tree[i], node[i]);
        if (at < 0) return false;
        if (f->node[at].mode == LEAF) add_weight(f, f->node[at].leaf, target[i], weight[i]);
    }
    return !hn_lower_failed(c);
}

static hn_val with_base(forest *f, hn_val y) {
    const double *base;
    hn_tensor t;
    size_t n = numbers(f, "base_values", "base_values_as_tensor", &base);
    if (!n || !y) return y;
    if (n != 1 && (int64_t)n != f->n_target) {
        hn_wrong(f->c, "%zu base values for %lld targets", n, (long long)f->n_target);
        return 0;
    }
    if (!hn_tensor_new(arena_of(f), f->t, 1, (int64_t[]){(int64_t)n}, &t)) return 0;
    for (size_t i = 0; i < n; i++) hn_set_f(&t, (int64_t)i, base[i]);
    return hn_bin(f->b, HN_OP_ADD, y, hn_const(f->b, &t));
}

void hn_lower_tree_regressor(hn_lower *c) {
    static const struct {
        const char *text;
        hn_op op;
    } way[] = {{"SUM", HN_OP_RSUM}, {"AVERAGE", HN_OP_RSUM}, {"MIN", HN_OP_RMIN}, {"MAX", HN_OP_RMAX}};
    const char *text = hn_string(c, "aggregate_function", "SUM");
    const name *names;
    forest f;
    size_t i = 0;
    if (!forest_begin(c, &f)) return;
    while (i < 4 && strcmp(text, way[i].text) != 0) i++;
    if (i == 4) {
        hn_wrong(c, "aggregate_function '%s'", text);
        return;
    }
    f.how = way[i].op;
    f.average = i == 1;
    f.n_target = hn_int(c, "n_targets", 1);
    if (!read_named(&f, &names) || !read_weights(&f, names, "target")) return;
    hn_val y = with_base(&f, evaluate(&f));
    if (y) y = hn_ml_post(c, y, hn_string(c, "post_transform", "NONE"));
    if (y) hn_out_as(c, 0, y, HONE_F32);
}

/* One class id alone: its score s stands for two classes, 1 - s (or -s before a transformation) and s. */
static hn_val two_classes(forest *f, hn_val y, bool only, const char *post) {
    hn_builder *b = f->b;
    if (!only) return y;
    hn_val s = hn_slice_axis(b, y, 1, hn_lit(b, 0), hn_lit(b, 1), 1);
    bool plain = !strcmp(post, "NONE") || !strcmp(post, "PROBIT");
    hn_val other = plain ? hn_f_bin(b, HN_OP_SUB, 1, s) : hn_un(b, HN_OP_NEG, s);
    return hn_concat(b, 2, (hn_val[]){other, s}, 1);
}

void hn_lower_tree_classifier(hn_lower *c) {
    const int64_t *ints, *ids;
    const char *const *strings;
    const char *post = hn_string(c, "post_transform", "NONE");
    const name *names;
    forest f;
    size_t n = hn_ints(c, "classlabels_int64s", &ints), n_text = hn_strings(c, "classlabels_strings", &strings);
    size_t n_ids = hn_ints(c, "class_ids", &ids);
    bool only = n_ids > 0;
    if (!forest_begin(c, &f)) return;
    for (size_t i = 0; i < n_ids; i++) only = only && ids[i] == ids[0];
    f.n_target = (int64_t)(n > n_text ? n : n_text);
    if (!read_named(&f, &names) || !read_weights(&f, names, "class")) return;
    hn_val y = with_base(&f, evaluate(&f));
    if (!y) return;
    y = hn_ml_post(c, two_classes(&f, y, only && f.n_target <= 2, post), post);
    if (!y) return;
    if (n == 1 && f.n_target == 1)
        hn_ml_labels(c, y, "", "");
    else
        hn_ml_labels(c, y, "classlabels_int64s", "classlabels_strings");
    hn_out_as(c, 1, y, HONE_F32);
}
