/* space/expr.h — the expression language of conditions and constraints: text -> tree -> flat program.
 *
 * A program is postfix over doubles; NAN is *unknown*, truth is 1 or 0. It reads the slots of a point, needs no
 * memory and cannot fail. The language is described in docs/expressions.md.
 * Owns: nothing; trees and programs live in the arena given.   Threads: programs are read-only.
 * Errors: E_INPUT with "column N: …", E_LIMIT, E_NOMEM.
 * Invariants: 1 a program's stack depth is at most HN_EXPR_STACK;  2 every op's slot is a slot of the space;
 * 3 TEST and MAP tables have as many rows as the parameter has levels.
 */
#ifndef HN_EXPR_H
#define HN_EXPR_H

#include "base/arena.h"

enum {
    HN_EXPR_STACK = 80,   /* deepest stack of a program */
    HN_EXPR_DEPTH = 64,   /* deepest nesting of a text */
    HN_EXPR_NODES = 4096, /* most operators and operands of a text */
    HN_EXPR_TEXT_B = 65536
};

typedef enum hn_opcode {
#define HN_OPCODE(id, arity, level) HN_EX_##id,
#include "space/opcodes.def"
#undef HN_OPCODE
} hn_opcode;

typedef enum hn_level {
    HN_LEVEL_ATOM,
    HN_LEVEL_TERM,
    HN_LEVEL_SUM,
    HN_LEVEL_COMPARISON,
    HN_LEVEL_NOT,
    HN_LEVEL_AND,
    HN_LEVEL_OR
} hn_level;
typedef struct hn_opcode_info {
    unsigned char arity;
    hn_level level;
} hn_opcode_info;
static inline hn_opcode_info hn_opcode_of(hn_opcode op) {
    static const hn_opcode_info info[] = {
#define HN_OPCODE(id, arity, level) {arity, HN_LEVEL_##level},
#include "space/opcodes.def"
#undef HN_OPCODE
    };
    return info[op];
}

typedef struct hn_enode {
    hn_opcode op;
    double num;
    const char *text;       /* TEXT, NAME, DEFINED */
    unsigned offset, n;     /* where it stands in the source: bytes */
    bool truth;             /* NUM written as true or false */
    struct hn_enode *a, *b; /* operands */
} hn_enode;

typedef struct hn_expr {
    const char *source;
    const hn_enode *root;
    const hn_enode **name; /* every NAME and DEFINED leaf, in order of appearance */
    size_t n_names;
} hn_expr;

/* Parses without looking names up. The error text starts with "column N: ". */
hone_rc hn_expr_parse(hn_arena *a, const char *text, hn_expr *out, hone_err *err);
/* E_INPUT at a byte offset of the source: "column N: …". */
hone_rc hn_expr_fail(const char *source, unsigned offset, hone_err *err, const char *fmt, ...) HONE_PRINTF(4, 5);
/* A parameter name as it must be written in an expression: in backquotes when it is not a plain word. */
const char *hn_expr_quote_name(hn_arena *a, const char *name);

typedef struct hn_expr_op {
    hn_opcode code;
    uint32_t slot;
    double num;
    const double *table;
} hn_expr_op;

typedef struct hn_prog {
    const hn_expr_op *op;
    size_t n;
    const uint32_t *param; /* parameters read, ascending */
    size_t n_params;
    const char *source;
} hn_prog;

struct hone_space;
/* Looks names up, checks types, resolves texts to level indices. */
hone_rc hn_prog_compile(hn_arena *a, const struct hone_space *space, const char *text, hn_prog *out, hone_err *err);
/* 1, 0, a number, or NAN for unknown. */
double hn_prog_eval(const hn_prog *prog, const double *point);

/* One operator on known or unknown operands (b is ignored by unary ones): what both evaluators share. */
double hn_op_apply(hn_opcode op, double a, double b);

/* What is known of a value when its parameters are known only as sets: the numbers it may take lie in lo..hi
 * (none when lo > hi), and whether it may be unknown. */
typedef struct hn_range {
    double lo, hi;
    bool unknown;
} hn_range;
/* Encloses every value that the program takes over points whose slots lie in the ranges that `of` gives; exact when
 * each range is a single state. For TABLE ops `of` is called with the table and must give the range over it. */
typedef hn_range (*hn_range_of)(const void *ctx, uint32_t slot, const double *table);
hn_range hn_prog_range(const hn_prog *prog, hn_range_of of, const void *ctx);
static inline bool hn_range_never_true(hn_range r) { return r.lo > r.hi || (r.lo == 0 && r.hi == 0); }
static inline bool hn_range_always_true(hn_range r) { return !r.unknown && r.lo <= r.hi && (r.lo > 0 || r.hi < 0); }
static inline bool hn_range_always_false(hn_range r) { return !r.unknown && r.lo == 0 && r.hi == 0; }
static inline bool hn_range_never_false(hn_range r) { return r.lo > r.hi || r.lo > 0 || r.hi < 0; }

#endif
