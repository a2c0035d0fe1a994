/* ir/dim_int.h — how ir/dim.h keeps expressions; for src/ir/dim*.c alone.
 *
 * An expression is a sum of terms, highest degree first; a term is a coefficient and atoms in ascending order. Order
 * never looks at ids, only at names and structure, so it survives printing and parsing. Invariants: 1 no term has
 * coefficient 0, no two terms have the same atoms; 2 what an expression is made of has smaller ids; 3 `same` of an
 * expression mentions no symbol that was replaced by an equality; 4 a frozen expression (a side of a recorded relation)
 * is in no hash chain and keeps its symbols.
 */
#ifndef HN_DIM_INT_H
#define HN_DIM_INT_H

#include "ir/dim.h"

typedef enum hn_atom_kind { HN_ATOM_SYMBOL, HN_ATOM_FLOORDIV, HN_ATOM_MOD, HN_ATOM_MIN, HN_ATOM_MAX } hn_atom_kind;
typedef struct hn_poly_atom {
    hn_atom_kind kind;
    hn_symbol symbol;
    hn_dim a, b;
    hn_dim self; /* the expression that is this atom alone */
} hn_poly_atom;
typedef struct hn_poly_term {
    int64_t coef;
    uint32_t n; /* degree */
    const uint32_t *atom;
} hn_poly_term;
typedef struct hn_poly {
    const hn_poly_term *term;
    uint32_t n;
    uint32_t weight;   /* atoms in it, nested ones too */
    uint64_t symbols;  /* bit s % 64 is set for every symbol s in it */
    int64_t low, high; /* by the ranges of its symbols */
    hn_dim same;       /* what stands for it under all equalities */
    hn_dim live;       /* frozen: the expression it was made of */
    uint32_t next;     /* of its hash chain */
} hn_poly;
typedef struct hn_symbol_info {
    const char *name;
    int64_t low, high;
    hn_dim self;
} hn_symbol_info;

struct hn_dims {
    hn_arena *a;
    hn_poly *expr; /* [0] is none */
    hn_poly_atom *atom;
    hn_symbol_info *symbol;
    hn_relation *relation;
    hn_relation *alias;  /* a equals b, though no symbol of a can be replaced */
    uint32_t *expr_slot; /* hash chains of expressions */
    bool plain; /* while text is read: expressions are built as written, no equality is applied to their parts */
    uint32_t n_expr, n_atom, n_symbol, n_relation, n_alias, n_slot;
    uint32_t room_expr, room_atom, room_symbol, room_relation, room_alias;
};

enum { HN_DIM_TERMS = 256, HN_DIM_DEGREE = 64, HN_DIM_WEIGHT = 2048 }; /* larger ones are "none" */

/* The expression that is used for d in anything that is built. */
static inline hn_dim hn_dim_now(const hn_dims *t, hn_dim d) {
    d = t->expr[d].live ? t->expr[d].live : d;
    return t->plain ? d : t->expr[d].same;
}
/* What d reads as: a side of a relation stays as it was stated. */
static inline hn_dim hn_dim_shown(const hn_dims *t, hn_dim d) { return t->expr[d].live ? d : t->expr[d].same; }
/* Interns n terms in any order; merges equal ones. */
hn_dim hn_dim_intern(hn_dims *t, hn_poly_term *term, uint32_t n);
hn_dim hn_dim_atom(hn_dims *t, hn_atom_kind kind, hn_dim a, hn_dim b);
hn_dim hn_dim_term(hn_dims *t, const hn_poly_term *term, int64_t coef); /* that term alone, with another coefficient */
hn_dim hn_dim_scale(hn_dims *t, hn_dim d, int64_t by);
int hn_dim_order(const hn_dims *t, hn_dim a, hn_dim b); /* by structure */
int hn_term_order(const hn_dims *t, const hn_poly_term *a, const hn_poly_term *b);
const hn_poly_atom *hn_dim_lone(const hn_dims *t, hn_dim d); /* d is exactly this atom, else NULL */
bool hn_dim_divides(const hn_dims *t, hn_dim d, int64_t by); /* d is known to be a multiple */
/* Bounds of a list of terms, saturating at INT64_MIN and INT64_MAX, which mean "none". */
void hn_terms_range(const hn_dims *t, const hn_poly_term *term, uint32_t n, int64_t *low, int64_t *high);
hn_dim hn_dim_make(hn_dims *t, hn_atom_kind kind, hn_dim a, hn_dim b); /* the public call of that kind */
/* Makes room for one more entry of an array in the arena; NULL after a failure (sticky). */
void *hn_dim_grow(hn_dims *t, void *list, uint32_t n, uint32_t *room, size_t size);
/* d with its atoms rebuilt: symbol s becomes by(s) where that is not 0. */
typedef hn_dim hn_dim_swap(void *arg, const hn_dims *from, hn_symbol s);
hn_dim hn_dim_rebuild(hn_dims *to, const hn_dims *from, hn_dim d, hn_dim_swap *by, void *arg);

/* d without terms k*floordiv(x, k) whose x is known to be a multiple of k: they are x. */
hn_dim hn_dim_exact(hn_dims *t, hn_dim d);
/* An expression that was built plain, under all equalities so far; a lone symbol stays as it is. */
hn_dim hn_dim_settle(hn_dims *t, hn_dim d);
/* Simplifies what mentions s once more, after its range became narrower. */
void hn_dim_refresh(hn_dims *t, hn_symbol s);

static inline int64_t hn_floordiv64(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
static inline int64_t hn_mod64(int64_t a, int64_t b) { return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0); }
static inline int64_t hn_gcd64(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

#endif
