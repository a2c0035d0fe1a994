/* lower_logic.c — comparisons, logic, bits, choice. */
#include "onnx/lower_fns.h"

/* x > y as y < x. */
static void swapped(hn_lower *c) {
    hn_val x = hn_in(c, 0), y = hn_in(c, 1);
    if (x && y) hn_out(c, 0, hn_bin(hn_lower_builder(c), (hn_op)hn_lower_arg(c), y, x));
}

static void where(hn_lower *c) {
    hn_val cond = hn_in(c, 0), x = hn_in(c, 1), y = hn_in(c, 2);
    if (cond && x && y) hn_out(c, 0, hn_where(hn_lower_builder(c), cond, x, y));
}

#define M HN_OPSET_MAX
const hn_lower_row hn_lower_logic[] = {
    {"", "And", 1, 6, hn_lower_binary_old, HN_OP_AND},
    {"", "And", 7, M, hn_lower_binary, HN_OP_AND},
    {"", "Or", 1, 6, hn_lower_binary_old, HN_OP_OR},
    {"", "Or", 7, M, hn_lower_binary, HN_OP_OR},
    {"", "Xor", 1, 6, hn_lower_binary_old, HN_OP_XOR},
    {"", "Xor", 7, M, hn_lower_binary, HN_OP_XOR},
    {"", "Not", 1, M, hn_lower_unary, HN_OP_NOT},
    {"", "BitwiseAnd", 18, M, hn_lower_binary, HN_OP_AND},
    {"", "BitwiseOr", 18, M, hn_lower_binary, HN_OP_OR},
    {"", "BitwiseXor", 18, M, hn_lower_binary, HN_OP_XOR},
    {"", "BitwiseNot", 18, M, hn_lower_unary, HN_OP_NOT},
    {"", "Equal", 1, 6, hn_lower_binary_old, HN_OP_EQ},
    {"", "Equal", 7, M, hn_lower_binary, HN_OP_EQ},
    {"", "Less", 1, 6, hn_lower_binary_old, HN_OP_LT},
    {"", "Less", 7, M, hn_lower_binary, HN_OP_LT},
    {"", "LessOrEqual", 12, M, hn_lower_binary, HN_OP_LE},
    {"", "Greater", 7, M, swapped, HN_OP_LT},
    {"", "GreaterOrEqual", 12, M, swapped, HN_OP_LE},
    {"", "Where", 9, M, where, 0},
    {0},
};
