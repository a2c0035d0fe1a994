/* ir/dim.h — symbolic dimensions: interned integer expressions over symbols, one table per graph.
 *
 * A hn_dim is an id in the table of its graph; equal ids are equal expressions, because every expression is kept in one
 * canonical form: a sum of coefficient * product of atoms, an atom being a symbol, or floordiv, mod, min, max of such
 * sums. Constant expressions are folded. Symbols have a name, a range low <= s <= high, and an origin: a dimension of a
 * graph input (known before a run), or a node that defines it (attribute `defines`, known once that node has run).
 * Text: `n`, `2*n + 1`, `n*m`, `(n + 1) floordiv 2` is printed `floordiv(n + 1, 2)`, `mod(a, b)`, `min(a, b)`, `max(a,
 * b)`. Values are int64; overflow in evaluation is an error, never wrapped. Owns: everything in the graph's arena.
 * After an equality (hn_dim_assume_equal) older ids stay valid and read as what now stands for them: printing,
 * evaluation, ranges and comparison see the replacement. hn_dim_is_symbol alone looks at the expression as it was
 * built, so that `defines` and the sizes of inputs keep their symbol; print and parse those by hn_symbol_name and
 * hn_dim_find. The sides of a recorded relation keep their symbols in print and evaluation: print and parse relations
 * in order. Threads: one at a time; reading calls (const hn_dims *) by any number.   Errors: sticky in the arena; id 0
 * is "no dimension": overflow of a coefficient, or an expression that is too large, and whatever is built of it.
 */
#ifndef HN_DIM_H
#define HN_DIM_H

#include "base/arena.h"

typedef uint32_t hn_dim;    /* 0: none */
typedef uint32_t hn_symbol; /* index into the table's symbols, from 0 */

typedef struct hn_dims hn_dims; /* the table */

hn_dims *hn_dims_new(hn_arena *a);
hn_dim hn_dim_int(hn_dims *t, int64_t n);
/* A new symbol; the name is made an identifier (other characters become '_'), and unique by a suffix when it is taken.
 * high = INT64_MAX: no bound. */
hn_dim hn_dim_symbol(hn_dims *t, const char *name, int64_t low, int64_t high);
hn_dim hn_dim_find(const hn_dims *t, const char *name); /* the symbol of that name, or 0 */
hn_dim hn_dim_add(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_sub(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_mul(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_floordiv(hn_dims *t, hn_dim a, hn_dim b); /* exact division of products is simplified: n*m / m = n */
hn_dim hn_dim_ceildiv(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_mod(hn_dims *t, hn_dim a, hn_dim b);
hn_dim hn_dim_min(hn_dims *t, hn_dim a, hn_dim b); /* decided by ranges where they allow it */
hn_dim hn_dim_max(hn_dims *t, hn_dim a, hn_dim b);

bool hn_dim_is_int(const hn_dims *t, hn_dim d, int64_t *n); /* n may be NULL */
/* True where d is exactly one symbol, replaced by an equality or not. */
bool hn_dim_is_symbol(const hn_dims *t, hn_dim d, hn_symbol *s);
/* Bounds that follow from the ranges of the symbols. */
void hn_dim_range(const hn_dims *t, hn_dim d, int64_t *low, int64_t *high);

/* Relations: facts that hold in every legal run; runs check those over input symbols. EQUAL makes the two one: later
 * builds of either give the same id (union towards the older or constant one). */
void hn_dim_assume_equal(hn_dims *t, hn_dim a, hn_dim b);
void hn_dim_assume_divisible(hn_dims *t, hn_dim a, int64_t by);
/* Divides both by what all their terms share: for equalities between products of sizes that are not 0. */
void hn_dim_cancel(hn_dims *t, hn_dim *a, hn_dim *b);
typedef struct hn_relation {
    hn_dim a, b; /* b = 0: divisible */
    int64_t by;
} hn_relation;
size_t hn_dim_relations(const hn_dims *t, const hn_relation **list);
/* What is provable: equal always, different always, or not known. */
typedef enum hn_known_equal { HN_DIFFERENT = -1, HN_MAYBE = 0, HN_EQUAL = 1 } hn_known_equal;
hn_known_equal hn_dim_equal(const hn_dims *t, hn_dim a, hn_dim b);

size_t hn_dims_symbols(const hn_dims *t);
const char *hn_symbol_name(const hn_dims *t, hn_symbol s);
void hn_symbol_range(const hn_dims *t, hn_symbol s, int64_t *low, int64_t *high);
void hn_symbol_limit(hn_dims *t, hn_symbol s, int64_t low, int64_t high);

/* Sets used[s] for every symbol s that occurs in d. */
void hn_dim_mark(const hn_dims *t, hn_dim d, bool *used);

/* value[s] is the value of symbol s, INT64_MIN where unknown. False: an unknown symbol is needed, or overflow, or a
 * division by 0. */
bool hn_dim_eval(const hn_dims *t, hn_dim d, const int64_t *value, int64_t *out);
/* The expression that replaces d under all equalities so far: of two of these, equal ids are equal expressions. */
hn_dim hn_dim_standing(const hn_dims *t, hn_dim d);
/* As text (see above), or as a C expression in which symbol s is spelled `<prefix><s>` and helpers hn_floordiv, hn_mod,
 * hn_min, hn_max. */
struct hn_str;
void hn_dim_print(const hn_dims *t, hn_dim d, struct hn_str *out);
void hn_dim_print_c(const hn_dims *t, hn_dim d, const char *prefix, struct hn_str *out);
/* Reads one expression from *text and moves it behind; unknown names become symbols [0, INT64_MAX). 0 on a syntax
 * error. */
hn_dim hn_dim_parse(hn_dims *t, const char **text);
/* Copies an expression of another table: symbols by map[s] (0: by name, made when missing). */
hn_dim hn_dim_copy(hn_dims *to, const hn_dims *from, hn_dim d, hn_dim *map);

#endif
