/* interp.c — the loop of a small bytecode interpreter: a register machine with 32-bit instructions.
 *
 * An instruction is op | a << 8 | b << 16 | c << 24; registers are 64-bit integers; CALL gives the callee a fresh
 * window of registers that starts at the caller's register a. Integer work only, so every build must give the same
 * answer.
 *
 * Arguments: program=primes|fib|collatz|matrix n=N. Parameter: -DDISPATCH=0 (switch) | 1 (computed goto).
 */
#include <hone/bench.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DISPATCH
#define DISPATCH 0
#endif

enum {
    N_MEMORY = 1 << 16,
    N_STACK = 1 << 12,
    N_DEPTH = 256,
};

/*      op     meaning                                     (s8: c taken as signed) */
#define OPS(X)                                                                                                         \
    X(HALT)  /* result = r[a] */                                                                                       \
    X(CONST) /* r[a] = b | c << 8 */                                                                                   \
    X(MOVE)  /* r[a] = r[b] */                                                                                         \
    X(ADD)   /* r[a] = r[b] + r[c] */                                                                                  \
    X(ADDI)  /* r[a] = r[b] + s8 */                                                                                    \
    X(SUB)   /* r[a] = r[b] - r[c] */                                                                                  \
    X(MUL)   /* r[a] = r[b] * r[c] */                                                                                  \
    X(AND)   /* r[a] = r[b] & r[c] */                                                                                  \
    X(SHR)   /* r[a] = r[b] >> c */                                                                                    \
    X(LOAD)  /* r[a] = memory[r[b] + r[c]] */                                                                          \
    X(STORE) /* memory[r[b] + r[c]] = r[a] */                                                                          \
    X(JUMP)  /* pc += s16(b, c) */                                                                                     \
    X(JLT)   /* if r[a] < r[b] pc += s8 */                                                                             \
    X(JGE)   /* if r[a] >= r[b] pc += s8 */                                                                            \
    X(JZ)    /* if r[a] == 0 pc += s16(b, c) */                                                                        \
    X(CALL)  /* call b | c << 8, registers from a */                                                                   \
    X(RET)   /* r[0] = r[a], back to the caller */

#define NAME(op) OP_##op,
enum op { OPS(NAME) };
#undef NAME

struct problem {
    const uint32_t *code;
    int64_t n, result;
    int64_t memory[N_MEMORY], stack[N_STACK];
};

#define INS(op, a, b, c)                                                                                               \
    ((uint32_t)(OP_##op) | (uint32_t)(a) << 8 | (uint32_t)((b)&255) << 16 | (uint32_t)((c)&255) << 24)
#define INS16(op, a, i) INS(op, a, (uint32_t)(i), (uint32_t)(i) >> 8)

/* Programs, a basic block per line. Each finds n in register 0. */
/* clang-format off */

/* Sieve of Eratosthenes below n; counts the primes. */
static const uint32_t primes[] = {
    INS16(CONST, 1, 0), INS16(CONST, 2, 2), INS16(CONST, 7, 0), INS16(CONST, 8, 1), INS(MOVE, 3, 1, 0),
    INS(STORE, 1, 3, 1), INS(ADDI, 3, 3, 1), INS(JLT, 3, 0, -3), /* clear the table */
    INS(MOVE, 3, 2, 0),
    INS(LOAD, 4, 3, 1), INS(SUB, 4, 8, 4), INS16(JZ, 4, 6), /* marked: to the next */
    INS(ADDI, 7, 7, 1), INS(MUL, 5, 3, 3), INS(JGE, 5, 0, 3),
    INS(STORE, 8, 5, 1), INS(ADD, 5, 5, 3), INS(JLT, 5, 0, -3), /* mark the multiples */
    INS(ADDI, 3, 3, 1), INS(JLT, 3, 0, -11),
    INS(HALT, 7, 0, 0),
};

/* fib(n), doubly recursive. */
static const uint32_t fib[] = {
    INS16(CALL, 0, 2), INS(HALT, 0, 0, 0),
    INS16(CONST, 1, 2), INS(JGE, 0, 1, 1), INS(RET, 0, 0, 0),
    INS(ADDI, 2, 0, -1), INS16(CALL, 2, 2),
    INS(ADDI, 3, 0, -2), INS16(CALL, 3, 2),
    INS(ADD, 2, 2, 3), INS(RET, 2, 0, 0),
};

/* Longest Collatz chain from a start below n. */
static const uint32_t collatz[] = {
    INS16(CONST, 1, 1), INS16(CONST, 7, 0), INS(MOVE, 2, 1, 0),
    INS(MOVE, 3, 2, 0), INS16(CONST, 4, 0), INS16(JUMP, 0, 7),
    INS(AND, 5, 3, 1), INS16(JZ, 5, 3),
    INS(ADD, 5, 3, 3), INS(ADD, 3, 5, 3), INS(ADDI, 3, 3, 1),
    INS(SHR, 3, 3, 1), INS(ADDI, 4, 4, 1),
    INS(JLT, 1, 3, -8),
    INS(JGE, 7, 4, 1), INS(MOVE, 7, 4, 0),
    INS(ADDI, 2, 2, 1), INS(JLT, 2, 0, -15),
    INS(HALT, 7, 0, 0),
};

/* Product of two n x n matrices of small integers; sums the result. */
static const uint32_t matrix[] = {
    INS16(CONST, 1, 0), INS(MUL, 2, 0, 0), INS(ADD, 3, 2, 2), INS(MOVE, 4, 1, 0), INS16(CONST, 5, 7),
    INS(MUL, 6, 4, 5), INS16(CONST, 7, 15), INS(AND, 6, 6, 7), INS(STORE, 6, 4, 1), INS(STORE, 6, 4, 2),
    INS(ADDI, 4, 4, 1), INS(JLT, 4, 2, -7),
    INS(MOVE, 13, 1, 0), INS(MOVE, 4, 1, 0),
    INS(MOVE, 5, 1, 0), /* row i = r4 */
    INS(MOVE, 6, 1, 0), INS(MOVE, 12, 1, 0), INS(MUL, 7, 4, 0), INS(ADD, 8, 2, 5), /* column j = r5 */
    INS(LOAD, 9, 7, 6), INS(LOAD, 10, 8, 1), INS(MUL, 11, 9, 10), INS(ADD, 12, 12, 11), /* k = r6 */
    INS(ADD, 8, 8, 0), INS(ADDI, 6, 6, 1), INS(JLT, 6, 0, -7),
    INS(ADD, 9, 3, 7), INS(STORE, 12, 9, 5), INS(ADD, 13, 13, 12),
    INS(ADDI, 5, 5, 1), INS(JLT, 5, 0, -16),
    INS(ADDI, 4, 4, 1), INS(JLT, 4, 0, -19),
    INS(HALT, 13, 0, 0),
};
/* clang-format on */

#define A (ins >> 8 & 255)
#define B (ins >> 16 & 255)
#define C (ins >> 24)
#define S8 ((int8_t)(ins >> 24))
#define S16 ((int16_t)(ins >> 16))
#define WRAP(x, op, y) ((int64_t)((uint64_t)(x)op(uint64_t)(y)))
#define ADDRESS(x, y) (((uint64_t)(x) + (uint64_t)(y)) % N_MEMORY)

/* clang-format off */
/* Both kinds of dispatch around one list of operations. */
#if DISPATCH
#define LABEL(op) &&do_##op,
#define FETCH goto *target[(ins = *pc++) & 255]
#define BEGIN                                                                                                          \
    static const void *const target[] = {OPS(LABEL)};                                                                  \
    {                                                                                                                  \
        FETCH;
#define OP(op, ...)                                                                                                    \
    do_##op: {                                                                                                        \
        __VA_ARGS__;                                                                                                   \
        FETCH;                                                                                                         \
    }
#else
#define BEGIN                                                                                                          \
    for (;;) switch ((ins = *pc++) & 255) {                                                                            \
        default: return -1;
#define OP(op, ...)                                                                                                    \
    case OP_##op: {                                                                                                    \
        __VA_ARGS__;                                                                                                   \
        break;                                                                                                         \
    }
#endif

static int64_t execute(struct problem *p) {
    struct {
        const uint32_t *pc;
        int64_t *r;
    } frame[N_DEPTH];
    size_t depth = 0;
    const uint32_t *pc = p->code;
    int64_t *r = p->stack, *memory = p->memory;
    uint32_t ins;
    r[0] = p->n;
    BEGIN
        OP(HALT, return r[A]);
        OP(CONST, r[A] = ins >> 16);
        OP(MOVE, r[A] = r[B]);
        OP(ADD, r[A] = WRAP(r[B], +, r[C]));
        OP(ADDI, r[A] = WRAP(r[B], +, S8));
        OP(SUB, r[A] = WRAP(r[B], -, r[C]));
        OP(MUL, r[A] = WRAP(r[B], *, r[C]));
        OP(AND, r[A] = r[B] & r[C]);
        OP(SHR, r[A] = r[B] >> C);
        OP(LOAD, r[A] = memory[ADDRESS(r[B], r[C])]);
        OP(STORE, memory[ADDRESS(r[B], r[C])] = r[A]);
        OP(JUMP, pc += S16);
        OP(JLT, if (r[A] < r[B]) pc += S8);
        OP(JGE, if (r[A] >= r[B]) pc += S8);
        OP(JZ, if (r[A] == 0) pc += S16);
        OP(CALL,
            if (depth == N_DEPTH || r + A + 256 > p->stack + N_STACK) return -1;
            frame[depth].pc = pc;
            frame[depth++].r = r;
            r += A;
            pc = p->code + (ins >> 16));
        OP(RET,
            r[0] = r[A];
            depth--;
            pc = frame[depth].pc;
            r = frame[depth].r);
    }
}
/* clang-format on */

static void run(void *ctx) {
    struct problem *p = ctx;
    p->result = execute(p);
    hone_bench_sink(&p->result);
}

static const uint32_t *find_program(const char *name) {
    static const struct {
        const char *name;
        const uint32_t *code;
    } table[] = {{"primes", primes}, {"fib", fib}, {"collatz", collatz}, {"matrix", matrix}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name)) return table[i].code;
    return NULL;
}

int main(int argc, char **argv) {
    static struct problem p;
    hone_bench *b = hone_bench_open(argc, argv);
    const char *name = hone_bench_arg_text(b, "program", "primes");
    p.code = find_program(name);
    p.n = hone_bench_arg_int(b, "n", 2000);
    if (!p.code || p.n < 2) {
        fprintf(stderr, "interp: no program '%s' (primes, fib, collatz, matrix) or n below 2\n", name);
        return 2;
    }
    hone_bench_run(b, "latency", run, &p);
    hone_bench_output(b, "result", &p.result, 1, HONE_BENCH_I64);
    return hone_bench_close(b);
}
