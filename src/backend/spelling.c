/* backend/spelling.c — the table of spellings, and operands put into one. */
#include "backend/spelling.h"

const hn_spelling hn_spellings[HN_N_OPS] = {
#define BASE HN_MATH_BASE
#define ROOT HN_MATH_ROOT
#define EXP HN_MATH_EXP
#define LOG HN_MATH_LOG
#define SIN HN_MATH_SIN
#define ERF HN_MATH_ERF
#define POW HN_MATH_POW
#define HN_SPELL(id, ...) [HN_OP_##id] = {__VA_ARGS__},
#include "backend/spelling.def"
};

void hn_spell(hn_str *out, const char *form, const char *cast_double, const char *const operand[]) {
    for (; *form; form++) {
        if (*form != '$' && *form != '#') {
            hn_str_add_n(out, form, 1);
            continue;
        }
        if (*form == '#') hn_str_add(out, cast_double);
        hn_str_add(out, operand[*++form - '0']);
    }
}
