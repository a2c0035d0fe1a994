/* calculator.c — expressions parsed into bytecode for a stack machine, which runs it; prints a checksum.
 *
 * A whole program with a fixed amount of work and no input. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CODE = 512, MOST_STACK = 64, N_VARIABLES = 26 };
typedef enum op { PUSH, LOAD, STORE, ADD, SUB, MUL, DIV, MOD, NEG, LESS, JUMP_ZERO, JUMP, END } op;

typedef struct program {
    int32_t code[MOST_CODE];
    int n;
} program;

typedef struct parser {
    const char *at;
    program *out;
    int failed;
} parser;

static void emit(parser *p, int32_t word) {
    if (p->out->n < MOST_CODE)
        p->out->code[p->out->n++] = word;
    else
        p->failed = 1;
}

static void skip(parser *p) {
    while (isspace((unsigned char)*p->at)) p->at++;
}

static int accept(parser *p, char c) {
    skip(p);
    if (*p->at != c) return 0;
    p->at++;
    return 1;
}

static void parse_sum(parser *p);

static void parse_atom(parser *p) {
    skip(p);
    if (accept(p, '(')) {
        parse_sum(p);
        p->failed |= !accept(p, ')');
    } else if (accept(p, '-')) {
        parse_atom(p);
        emit(p, NEG);
    } else if (isdigit((unsigned char)*p->at)) {
        int32_t value = 0;
        while (isdigit((unsigned char)*p->at)) value = value * 10 + (*p->at++ - '0');
        emit(p, PUSH);
        emit(p, value);
    } else if (*p->at >= 'a' && *p->at <= 'z') {
        emit(p, LOAD);
        emit(p, *p->at++ - 'a');
    } else {
        p->failed = 1;
    }
}

static void parse_product(parser *p) {
    parse_atom(p);
    for (;;) {
        op o = accept(p, '*') ? MUL : accept(p, '/') ? DIV : accept(p, '%') ? MOD : END;
        if (o == END || p->failed) return;
        parse_atom(p);
        emit(p, (int32_t)o);
    }
}

static void parse_sum(parser *p) {
    parse_product(p);
    for (;;) {
        op o = accept(p, '+') ? ADD : accept(p, '-') ? SUB : accept(p, '<') ? LESS : END;
        if (o == END || p->failed) return;
        parse_product(p);
        emit(p, (int32_t)o);
    }
}

/* x = SUM; or w SUM { statements } while it is not 0. */
static void parse_statements(parser *p) {
    for (skip(p); *p->at && *p->at != '}' && !p->failed; skip(p)) {
        if (accept(p, '?')) {
            int start = p->out->n, hole;
            parse_sum(p);
            emit(p, JUMP_ZERO);
            hole = p->out->n;
            emit(p, 0);
            p->failed |= !accept(p, '{');
            parse_statements(p);
            p->failed |= !accept(p, '}');
            emit(p, JUMP);
            emit(p, start);
            if (!p->failed) p->out->code[hole] = p->out->n;
        } else {
            int variable = *p->at++ - 'a';
            p->failed |= variable < 0 || variable >= N_VARIABLES || !accept(p, '=');
            parse_sum(p);
            emit(p, STORE);
            emit(p, variable);
            p->failed |= !accept(p, ';');
        }
    }
}

static int32_t divide(int32_t a, int32_t b) { return b ? a / b : 0; }

static uint32_t run(const program *p, int32_t *variable) {
    int32_t stack[MOST_STACK];
    int at = 0, top = 0;
    uint32_t steps = 0;
    for (;; steps++) {
        switch ((op)p->code[at++]) {
        case PUSH: stack[top++] = p->code[at++]; break;
        case LOAD: stack[top++] = variable[p->code[at++]]; break;
        case STORE: variable[p->code[at++]] = stack[--top]; break;
        case ADD: top--, stack[top - 1] = (int32_t)((uint32_t)stack[top - 1] + (uint32_t)stack[top]); break;
        case SUB: top--, stack[top - 1] = (int32_t)((uint32_t)stack[top - 1] - (uint32_t)stack[top]); break;
        case MUL: top--, stack[top - 1] = (int32_t)((uint32_t)stack[top - 1] * (uint32_t)stack[top]); break;
        case DIV: top--, stack[top - 1] = divide(stack[top - 1], stack[top]); break;
        case MOD: top--, stack[top - 1] = stack[top] ? stack[top - 1] % stack[top] : 0; break;
        case NEG: stack[top - 1] = -stack[top - 1]; break;
        case LESS: top--, stack[top - 1] = stack[top - 1] < stack[top]; break;
        case JUMP_ZERO: at = stack[--top] ? at + 1 : p->code[at]; break;
        case JUMP: at = p->code[at]; break;
        case END: return steps;
        }
        if (top >= MOST_STACK - 1 || top < 0) return steps;
    }
}

int main(void) {
    static const char *const source[] = {
        "i = 0; s = 0; ? i < 4000 { s = s + i * i % 7 - (i / 3); i = i + 1; }",
        "n = 3000; c = 0; p = 2; ? p < 400 { d = 2; f = 1; ? f * (d * d < p + 1) { f = p % d; d = d + 1; } c = c + "
        "(0 < f); p = p + 1; }",
        "a = 1; b = 1; k = 0; ? k < 3000 { t = (a + b) % 1000003; a = b; b = t; k = k + 1; }",
        "x = 27; m = 0; j = 1; ? j < 120 { x = j; ? 1 < x { h = x % 2; ? h { x = 3 * x + 1; h = 0; m = m + 1; } x = x "
        "/ 2; } j = j + 1; }",
    };
    uint32_t hash = 2166136261u, steps = 0;
    for (size_t i = 0; i < sizeof source / sizeof *source; i++) {
        program code = {{0}, 0};
        parser p = {source[i], &code, 0};
        int32_t variable[N_VARIABLES] = {0};
        parse_statements(&p);
        emit(&p, END);
        if (p.failed) return EXIT_FAILURE;
        steps += run(&code, variable);
        for (int k = 0; k < N_VARIABLES; k++) hash = (hash ^ (uint32_t)variable[k]) * 16777619u;
    }
    printf("%08x %u\n", (unsigned)hash, (unsigned)steps);
    return 0;
}
