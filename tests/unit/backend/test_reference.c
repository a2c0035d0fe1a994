/* The reference emitter against the interpreter, bit by bit: every operation, its element types, its edges. */
#include "backend/reference_lab.h"

#define FLOATS "f32 f64 f16 bf16 f8e4m3fn f8e5m2fnuz f4e2m1"
#define WIDE "f32 f64 f16"
#define INTS "i8 u8 i32 i64 u64 i4 u2"
#define ALL                                                                                                            \
    "f32 f64 f16 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f4e2m1 f8e8m0 i8 i16 i32 i64 u8 u16 u32 u64 i4 u4 i2 u2 "  \
    "bool"
#define SIZES "f32 f64 bf16 i8 bool"

typedef struct spec {
    const char *name, *types,
        *symbols;     /* symbols: values in the order of their declaration; "?": defined by the body */
    const char *text; /* $ is the element type */
} spec;

#define UN(op) "input %x : $[5, 16] \"x\"\n%y = " op " %x\noutput %y \"y\"\n"
#define BI(op) "input %x : $[9, 16] \"x\"\ninput %z : $[9, 16] \"z\"\n%y = " op " %x, %z\noutput %y \"y\"\n"
#define POW(t) "input %x : $[9, 16] \"x\"\ninput %z : " t "[9, 16] \"z\"\n%y = pow %x, %z\noutput %y \"y\"\n"
#define CAST(t, more) "input %x : $[90] \"x\"\n%y = cast %x {dtype = " t more "}\noutput %y \"y\"\n"
#define ONE(shape, rest) "input %x : $" shape " \"x\"\n%y = " rest "\noutput %y \"y\"\n"

static const spec specs[] = {
    /* pointwise */
    {"neg", FLOATS " " INTS, "", UN("neg")},
    {"abs", FLOATS " " INTS, "", UN("abs")},
    {"sign", FLOATS " " INTS, "", UN("sign")},
    {"floor", FLOATS " i8 u64", "", UN("floor")},
    {"ceil", WIDE, "", UN("ceil")},
    {"round", WIDE, "", UN("round")},
    {"trunc", WIDE, "", UN("trunc")},
    {"sqrt", FLOATS, "", UN("sqrt")},
    {"rsqrt", WIDE, "", UN("rsqrt")},
    {"recip", WIDE " f8e5m2", "", UN("recip")},
    {"exp", FLOATS, "", UN("exp")},
    {"log", WIDE, "", UN("log")},
    {"log1p", WIDE, "", UN("log1p")},
    {"expm1", WIDE, "", UN("expm1")},
    {"sin", WIDE, "", UN("sin")},
    {"cos", WIDE, "", UN("cos")},
    {"tan", WIDE, "", UN("tan")},
    {"asin", WIDE, "", UN("asin")},
    {"acos", WIDE, "", UN("acos")},
    {"atan", WIDE, "", UN("atan")},
    {"sinh", WIDE, "", UN("sinh")},
    {"cosh", WIDE, "", UN("cosh")},
    {"tanh", WIDE, "", UN("tanh")},
    {"asinh", WIDE, "", UN("asinh")},
    {"acosh", WIDE, "", UN("acosh")},
    {"atanh", WIDE, "", UN("atanh")},
    {"erf", WIDE, "", UN("erf")},
    {"sigmoid", FLOATS, "", UN("sigmoid")},
    {"not", INTS " bool", "", UN("not")},
    {"isnan", FLOATS " i8 u64", "", UN("isnan")},
    {"isinf", FLOATS " i8 u64", "", UN("isinf")},
    {"add", FLOATS " " INTS, "", BI("add")},
    {"sub", FLOATS " " INTS, "", BI("sub")},
    {"mul", FLOATS " " INTS, "", BI("mul")},
    {"div", FLOATS " " INTS, "", BI("div")},
    {"mod", WIDE " " INTS, "", BI("mod")},
    {"rem", WIDE " " INTS, "", BI("rem")},
    {"pow", WIDE " " INTS, "", BI("pow")},
    {"pow_by_i64", WIDE " " INTS, "", POW("i64")},
    {"pow_by_f32", WIDE " " INTS, "", POW("f32")},
    {"pow_by_u8", "f32 i32 u64", "", POW("u8")},
    {"min", FLOATS " " INTS " bool", "", BI("min")},
    {"max", FLOATS " " INTS " bool", "", BI("max")},
    {"and", INTS " bool", "", BI("and")},
    {"or", INTS " bool", "", BI("or")},
    {"xor", INTS " bool", "", BI("xor")},
    {"shl", INTS, "", BI("shl")},
    {"shr", INTS, "", BI("shr")},
    {"eq", FLOATS " " INTS " bool", "", BI("eq")},
    {"ne", FLOATS " " INTS " bool", "", BI("ne")},
    {"lt", FLOATS " " INTS " bool", "", BI("lt")},
    {"le", FLOATS " " INTS " bool", "", BI("le")},
    {"select", ALL, "",
     "input %c : bool[40] \"c1\"\ninput %x : $[40] \"x\"\ninput %z : $[40] \"z\"\n"
     "%y = select %c, %x, %z\noutput %y \"y\"\n"},
    {"cast_to_f32", ALL, "", CAST("f32", "")},
    {"cast_to_f64", ALL, "", CAST("f64", "")},
    {"cast_to_f16", ALL, "", CAST("f16", "")},
    {"cast_to_bf16", "f32 f64 i64 u64", "", CAST("bf16", "")},
    {"cast_to_bool", ALL, "", CAST("bool", "")},
    {"cast_to_i8", ALL, "", CAST("i8", "")},
    {"cast_to_i32", "f32 f64 f8e8m0 i64 u64", "", CAST("i32", "")},
    {"cast_to_i64", ALL, "", CAST("i64", "")},
    {"cast_to_u64", ALL, "", CAST("u64", "")},
    {"cast_to_i4", "f32 i64 u8 bool", "", CAST("i4", "")},
    {"cast_to_u4", "f32 i64 u8 bool", "", CAST("u4", "")},
    {"cast_to_u2", "f32 i64 u8 bool", "", CAST("u2", "")},
    {"cast_to_i2", "f32 i64 u8 bool", "", CAST("i2", "")},
    {"cast_to_f4", "f32 i64 f8e5m2", "", CAST("f4e2m1", "")},
    {"cast_hardware_i8", "f32 f64", "", CAST("i8", ", saturate = 0")},
    {"cast_hardware_i32", "f32 f64", "", CAST("i32", ", saturate = 0")},
    {"cast_hardware_u32", "f32 f64", "", CAST("u32", ", saturate = 0")},
    {"cast_hardware_u64", "f32 f64", "", CAST("u64", ", saturate = 0")},
    {"cast_f8_a", "f32 f64 f16 i64 u64 bool", "", CAST("f8e4m3fn", "")},
    {"cast_f8_b", "f32 f64 f16 i64", "", CAST("f8e4m3fn", ", saturate = 0")},
    {"cast_f8_c", "f32 f64", "", CAST("f8e4m3fnuz", "")},
    {"cast_f8_d", "f32 f64", "", CAST("f8e4m3fnuz", ", saturate = 0")},
    {"cast_f8_e", "f32 f64 f16", "", CAST("f8e5m2", "")},
    {"cast_f8_f", "f32 f64 f16", "", CAST("f8e5m2", ", saturate = 0")},
    {"cast_f8_g", "f32 f64", "", CAST("f8e5m2fnuz", "")},
    {"cast_f8_h", "f32 f64", "", CAST("f8e5m2fnuz", ", saturate = 0")},
    {"cast_e8m0_up", "f32 f64 i64", "", CAST("f8e8m0", ", round = up")},
    {"cast_e8m0_down", "f32 f64", "", CAST("f8e8m0", ", round = down, saturate = 0")},
    {"cast_e8m0_nearest", "f32 f64", "", CAST("f8e8m0", ", round = nearest, saturate = 1")},
    {"bitcast", "f32 i32 u32", "", ONE("[30]", "bitcast %x {dtype = u32}")},
    {"bitcast_i4", "u4 i4", "", ONE("[30]", "bitcast %x {dtype = i4}")},
    {"pointwise_empty", "f32 i8", "", ONE("[3, 0, 2]", "neg %x")},
    {"pointwise_scalar", "f32 i8", "", ONE("[]", "neg %x")},
    /* sources */
    {"iota", "f32 f16 i64 u8 i4 bool", "", "%y = iota {shape = [2, 5, 3], dtype = $, axis = 1}\noutput %y \"y\"\n"},
    {"iota_symbols", "f32 i64", "3 4",
     "symbol n in 0..\nsymbol m in 0..\ninput %x : $[n, m] \"x\"\n"
     "%y = iota {shape = [2*n, m + 1], dtype = $, axis = 0}\noutput %y \"y\"\n"},
    {"dims", "f32", "7 3",
     "symbol n in 0..\nsymbol m in 1..\ninput %x : $[n, m] \"x\"\n"
     "%y = dims {shape = [n, n*m + 2, 9, floordiv(n, m), mod(n, m)]}\noutput %y \"y\"\n"},
    {"random_uniform", "f32 f64 f16 bf16 f8e5m2", "",
     "%y = random {shape = [3, 50], dtype = $, seed = 12345678901, mode = uniform}\noutput %y \"y\"\n"},
    {"random_normal", "f32 f64 f16", "",
     "%y = random {shape = [150], dtype = $, seed = -7, mode = normal}\noutput %y \"y\"\n"},
    {"constant", "f32 f16 bf16 f8e5m2 f4e2m1 i8 i64 u64 u4", "",
     "input %x : $[2] \"x\"\n%c = const {value = $[3] (1, 2, 1)}\n"
     "%y = concat %x, %c {axis = 0}\noutput %y \"y\"\noutput %c \"c\"\n"},
    /* movement */
    {"reshape", SIZES, "", ONE("[4, 6]", "reshape %x {shape = [3, 8]}")},
    {"reshape_symbols", SIZES, "5", "symbol n in 0..\n" ONE("[n, 6]", "reshape %x {shape = [2, n, 3]}")},
    {"transpose", SIZES, "", ONE("[2, 3, 4, 5]", "transpose %x {perm = [2, 0, 3, 1]}")},
    {"transpose_symbols", "f32", "3 0",
     "symbol n in 0..\nsymbol m in 0..\n" ONE("[n, m, 2]", "transpose %x {perm = [2, 1, 0]}")},
    {"broadcast", SIZES, "", ONE("[1, 3]", "broadcast %x {shape = [2, 4, 3], map = [1, 2]}")},
    {"broadcast_scalar", SIZES, "", ONE("[]", "broadcast %x {shape = [2, 4, 3], map = []}")},
    {"broadcast_symbols", "f32", "4 3",
     "symbol n in 0..\nsymbol m in 0..\ninput %x : $[n, 1] \"x\"\ninput %o : i8[m] \"o\"\n%y = broadcast %x {shape = "
     "[2, n, m], map = [1, 2]}\noutput %y \"y\"\n"},
    {"slice", SIZES, "", ONE("[7, 9]", "slice %x {shape = [3, 4], start = [1, 8], step = [2, -2]}")},
    {"slice_symbols", "f32", "9",
     "symbol n in 2..\n" ONE("[n, 3]", "slice %x {shape = [floordiv(n, 2), 3], start = [n - 1, 0], step = [-2, 1]}")},
    {"slice_empty", "f32", "", ONE("[7, 9]", "slice %x {shape = [0, 4], start = [7, 0], step = [1, 1]}")},
    {"pad", SIZES, "", ONE("[2, 3]", "pad %x {low = [1, 0], high = [0, 2], mode = constant}")},
    {"pad_value", ALL, "",
     "input %x : $[2, 3] \"x\"\ninput %v : $[] \"v\"\n%y = pad %x, %v {low = [1, 2], high = [3, 0], mode = "
     "constant}\noutput %y \"y\"\n"},
    {"pad_edge", SIZES, "", ONE("[2, 3]", "pad %x {low = [5, 2], high = [3, 7], mode = edge}")},
    {"pad_reflect", SIZES, "", ONE("[1, 3]", "pad %x {low = [5, 9], high = [3, 11], mode = reflect}")},
    {"pad_wrap", SIZES, "", ONE("[2, 3]", "pad %x {low = [5, 9], high = [3, 11], mode = wrap}")},
    {"pad_symbols", "f32", "4",
     "symbol n in 1..\n" ONE("[n, 2]", "pad %x {low = [n, 0], high = [1, n], mode = reflect}")},
    {"pad_empty", "f32", "", ONE("[0, 2]", "pad %x {low = [1, 0], high = [1, 1], mode = constant}")},
    {"concat", SIZES, "3",
     "symbol n in 0..\ninput %x : $[2, n, 3] \"x\"\ninput %z : $[2, 1, 3] \"z\"\n"
     "%y = concat %x, %z, %x {axis = 1}\noutput %y \"y\"\n"},
    {"concat_empty", "f32", "0",
     "symbol n in 0..\ninput %x : $[n, 3] \"x\"\ninput %z : $[2, 3] \"z\"\n"
     "%y = concat %x, %z, %x {axis = 0}\noutput %y \"y\"\n"},
    /* indices */
    {"gather", SIZES, "",
     "input %x : $[4, 5, 3] \"x\"\ninput %i : i64[2, 3] \"i5\"\n%y = gather %x, %i {axis = 1}\noutput %y \"y\"\n"},
    {"gather_scalar", "f32", "",
     "input %x : $[4, 5] \"x\"\ninput %i : i32[] \"i4\"\n%y = gather %x, %i {axis = 0}\noutput %y \"y\"\n"},
    {"gather_batch", SIZES, "6",
     "symbol n in 0..\ninput %x : $[2, n, 5, 3] \"x\"\ninput %i : i32[2, n, 4] \"i5\"\n%y = gather %x, %i {axis = 2, "
     "batch = 2}\noutput %y \"y\"\n"},
    {"gather_elements", SIZES, "",
     "input %x : $[4, 5] \"x\"\ninput %i : i64[3, 7] \"i4\"\n%j = slice %i {shape = [3, 5], start = [0, 0], step = [1, "
     "1]}\n%y = gather_elements %x, %j {axis = 0}\noutput %y \"y\"\n"},
    {"gather_elements_1", "f32", "5 4",
     "symbol n in 0..\nsymbol m in 0..\ninput %x : $[n, 6] \"x\"\ninput %i : i64[m, 6] \"i5\"\n%y = gather_elements "
     "%x, %i {axis = 0}\noutput %y \"y\"\n"},
    {"gather_nd", SIZES, "",
     "input %x : $[4, 4, 3] \"x\"\ninput %i : i64[5, 2] \"i4\"\n%y = gather_nd %x, %i\noutput %y \"y\"\n"},
    {"gather_nd_batch", "f32", "3",
     "symbol n in 0..\ninput %x : $[2, n, 3, 2] \"x\"\ninput %i : i64[2, n, 6, 1] \"i3\"\n%y = gather_nd %x, %i {batch "
     "= 2}\noutput %y \"y\"\n"},
    {"scatter_set", SIZES, "",
     "input %x : $[4, 5] \"x\"\ninput %i : i64[3, 5] \"i4\"\ninput %u : $[3, 5] \"u\"\n%y = scatter_elements %x, %i, "
     "%u {axis = 0, mode = set}\noutput %y \"y\"\n"},
    {"scatter_add", "f32 f16 i8 u64", "",
     "input %x : $[4, 5] \"x\"\ninput %i : i64[4, 9] \"i5\"\ninput %u : $[4, 9] \"f\"\n%y = scatter_elements %x, %i, "
     "%u {axis = 1, mode = add}\noutput %y \"y\"\n"},
    {"scatter_mul", "f32 f16 i8 u64", "",
     "input %x : $[4, 5] \"x\"\ninput %i : i32[4, 9] \"i5\"\ninput %u : $[4, 9] \"u\"\n%y = scatter_elements %x, %i, "
     "%u {axis = 1, mode = mul}\noutput %y \"y\"\n"},
    {"scatter_min", "f32 f16 i8 u64", "",
     "input %x : $[4, 5] \"x\"\ninput %i : i64[4, 9] \"i5\"\ninput %u : $[4, 9] \"u\"\n%y = scatter_elements %x, %i, "
     "%u {axis = 1, mode = min}\noutput %y \"y\"\n"},
    {"scatter_max", "f32 f16 i8 u64", "",
     "input %x : $[4, 5] \"x\"\ninput %i : i64[4, 9] \"i5\"\ninput %u : $[4, 9] \"u\"\n%y = scatter_elements %x, %i, "
     "%u {axis = 1, mode = max}\noutput %y \"y\"\n"},
    {"scatter_nd", SIZES, "4",
     "symbol n in 0..\ninput %x : $[4, 5, n] \"x\"\ninput %i : i64[7, 2] \"i4\"\ninput %u : $[7, n] \"u\"\n%y = "
     "scatter_nd %x, %i, %u {mode = set}\noutput %y \"y\"\n"},
    {"scatter_nd_add_rows", "f32 f16 u64", "4",
     "symbol n in 0..\ninput %x : $[4, n] \"x\"\ninput %i : i64[9, 1] \"i4\"\ninput %u : $[9, n] \"f\"\n%y = "
     "scatter_nd %x, %i, %u {mode = add}\noutput %y \"y\"\n"},
    {"scatter_nd_add", "f32 bf16 i8", "",
     "input %x : $[4, 5] \"x\"\ninput %i : i64[2, 7, 1] \"i4\"\ninput %u : $[2, 7, 5] \"f\"\n%y = scatter_nd %x, %i, "
     "%u {mode = add}\noutput %y \"y\"\n"},
    {"scatter_nd_scalar", "f32", "",
     "input %x : $[3] \"x\"\ninput %i : i64[1] \"i3\"\ninput %u : $[] \"u\"\n%y = scatter_nd %x, %i, %u {mode = "
     "max}\noutput %y \"y\"\n"},
    /* reductions */
    {"sum", FLOATS " " INTS, "", ONE("[3, 4, 5]", "sum %x {axes = [1], keep = 0}")},
    {"sum_keep", "f32 i8", "6", "symbol n in 0..\n" ONE("[3, n, 5]", "sum %x {axes = [0, 2], keep = 1}")},
    {"sum_all", "f32 f16 i8", "", ONE("[3, 4, 5]", "sum %x {axes = [0, 1, 2], keep = 0}")},
    {"sum_none", "f32", "", ONE("[3, 4]", "sum %x {axes = [], keep = 0}")},
    {"sum_empty", "f32 i8", "", ONE("[3, 0, 5]", "sum %x {axes = [1], keep = 0}")},
    {"prod", WIDE " " INTS, "", ONE("[3, 4, 5]", "prod %x {axes = [0, 2], keep = 0}")},
    {"prod_empty", "f32 i8", "", ONE("[3, 0]", "prod %x {axes = [1], keep = 1}")},
    {"reduce_min", FLOATS " " INTS " bool", "", ONE("[3, 4, 5]", "reduce_min %x {axes = [1], keep = 0}")},
    {"reduce_max", FLOATS " " INTS " bool", "", ONE("[3, 4, 5]", "reduce_max %x {axes = [1], keep = 0}")},
    {"reduce_min_empty", ALL, "", ONE("[3, 0, 5]", "reduce_min %x {axes = [1], keep = 0}")},
    {"reduce_max_empty", ALL, "", ONE("[3, 0, 5]", "reduce_max %x {axes = [1], keep = 0}")},
    {"argmin", FLOATS " " INTS, "", ONE("[3, 6, 5]", "argmin %x {axis = 1, keep = 0, last = 0}")},
    {"argmax", FLOATS " " INTS, "", ONE("[3, 6, 5]", "argmax %x {axis = 1, keep = 1, last = 1}")},
    {"argmax_first", "f32 i8", "", ONE("[3, 6, 5]", "argmax %x {axis = 0, keep = 0, last = 0}")},
    {"cumsum", WIDE " " INTS, "", ONE("[3, 6, 5]", "cumsum %x {axis = 1, exclusive = 0, reverse = 0}")},
    {"cumsum_odd", WIDE " i8", "4",
     "symbol n in 0..\n" ONE("[3, n]", "cumsum %x {axis = 1, exclusive = 1, reverse = 1}")},
    {"cumprod", WIDE " " INTS, "", ONE("[4, 3]", "cumprod %x {axis = 0, exclusive = 0, reverse = 1}")},
    /* contraction and windows */
    {"contract", WIDE " i8 i64 u64", "",
     "input %x : $[5, 7] \"f\"\ninput %z : $[7, 4] \"f2\"\n%y = contract %x, %z {lhs = [0, 1], rhs = [1, 2], out = [0, "
     "2], dtype = $}\noutput %y \"y\"\n"},
    {"contract_edges", "f32", "",
     "input %x : $[5, 7] \"x\"\ninput %z : $[7, 4] \"z\"\n%y = contract %x, %z {lhs = [0, 1], rhs = [1, 2], out = [2, "
     "0], dtype = $}\noutput %y \"y\"\n"},
    {"contract_widens", "i8 u8 i4 f16 bf16", "3",
     "symbol n in 0..\ninput %x : $[2, n, 7] \"x\"\ninput %z : $[2, 4, 7] \"z\"\n%y = contract %x, %z {lhs = [5, 0, "
     "1], rhs = [5, 2, 1], out = [5, 0, 2], dtype = i32}\noutput %y \"y\"\n"},
    {"contract_to_f32", "f16 i8 u8", "",
     "input %x : $[3, 7] \"x\"\ninput %z : $[7] \"z\"\n%y = contract %x, %z {lhs = [0, 1], rhs = [1], out = [0], dtype "
     "= f32}\noutput %y \"y\"\n"},
    {"contract_outer", "f32 i64", "",
     "input %x : $[3, 2] \"x\"\ninput %z : $[4, 5] \"z\"\n%y = contract %x, %z {lhs = [0, 1], rhs = [2, 3], out = [2, "
     "0], dtype = $}\noutput %y \"y\"\n"},
    {"contract_empty", "f32", "0",
     "symbol n in 0..\ninput %x : $[3, n] \"x\"\ninput %z : $[n, 5] \"z\"\n%y = contract %x, %z {lhs = [0, 1], rhs = "
     "[1, 3], out = [0, 3], dtype = $}\noutput %y \"y\"\n"},
    {"contract_mixed", "u8", "",
     "input %x : $[3, 6] \"x\"\ninput %z : i8[6, 5] \"z\"\n%y = contract %x, %z {lhs = [0, 1], rhs = [1, 3], out = [0, "
     "3], dtype = i32}\noutput %y \"y\"\n"},
    {"conv", WIDE " i8", "",
     "input %x : $[2, 4, 7, 6] \"f\"\ninput %w : $[6, 4, 3, 2] \"f2\"\n%y = conv %x, %w {stride = [2, 1], dilation = "
     "[1, 2], inflate = [1, 1], groups = 1, low = [1, 0], high = [2, 1], dtype = $}\noutput %y \"y\"\n"},
    {"conv_edges", "f32", "",
     "input %x : $[1, 2, 7] \"x\"\ninput %w : $[3, 2, 3] \"w\"\n%y = conv %x, %w {stride = [1], dilation = [1], "
     "inflate = [1], groups = 1, low = [2], high = [2], dtype = $}\noutput %y \"y\"\n"},
    {"conv_groups", "f32 u8", "5",
     "symbol n in 1..\ninput %x : $[n, 6, 9] \"x\"\ninput %w : $[9, 2, 3] \"w\"\n%y = conv %x, %w {stride = [3], "
     "dilation = [2], inflate = [1], groups = 3, low = [2], high = [2], dtype = f32}\noutput %y \"y\"\n"},
    {"conv_transposed", "f32 i8", "",
     "input %x : $[2, 3, 4, 4] \"f\"\ninput %w : $[5, 3, 3, 3] \"f2\"\n%y = conv %x, %w {stride = [1, 1], dilation = "
     "[1, 1], inflate = [2, 3], groups = 1, low = [2, -1], high = [1, 2], dtype = $}\noutput %y \"y\"\n"},
    {"conv_3d", "f32", "4",
     "symbol n in 1..\ninput %x : $[1, 2, n, 5, 4] \"x\"\ninput %w : $[3, 2, 2, 2, 2] \"w\"\n%y = conv %x, %w {stride "
     "= [1, 2, 1], dilation = [1, 1, 1], inflate = [1, 1, 1], groups = 1, low = [0, 1, 0], high = [0, 1, 0], dtype = "
     "f32}\noutput %y \"y\"\n"},
    {"window_sum", WIDE " i8", "",
     ONE("[2, 3, 7, 6]",
         "window_sum %x {kernel = [3, 2], stride = [2, 1], dilation = [1, 2], low = [1, 1], high = [1, 2]}")},
    {"window_max", FLOATS " " INTS, "",
     ONE("[2, 3, 7, 6]",
         "window_max %x {kernel = [3, 2], stride = [2, 1], dilation = [1, 2], low = [4, 1], high = [1, 2]}")},
    {"window_argmax", WIDE " " INTS, "",
     ONE("[2, 3, 7, 6]",
         "window_argmax %x {kernel = [3, 2], stride = [2, 1], dilation = [1, 2], low = [1, 1], high = [1, 2]}")},
    {"window_symbols", "f32", "8",
     "symbol n in 3..\n" ONE("[1, 2, n]",
                             "window_max %x {kernel = [3], stride = [2], dilation = [1], low = [0], high = [1]}")},
    /* order and the odd */
    {"topk", WIDE " " INTS, "",
     "input %x : $[3, 9, 2] \"x\"\n%v, %i = topk %x {axis = 1, largest = 1, shape = [3, 4, 2]}\noutput %v "
     "\"v\"\noutput %i \"w\"\n"},
    {"topk_smallest", WIDE " i8 u64", "7 3",
     "symbol n in 0..\nsymbol k in 0..\ninput %x : $[2, n] \"x\"\ninput %o : i8[k] \"o\"\n%v, %i = topk %x {axis = 1, "
     "largest = 0, shape = [2, k]}\noutput %v \"v\"\noutput %i \"w\"\n"},
    {"topk_all", "f32", "",
     "input %x : $[40] \"d\"\n%v, %i = topk %x {axis = 0, largest = 1, shape = [40]}\noutput %v \"v\"\noutput %i "
     "\"w\"\n"},
    {"topk_indices", "f32", "",
     "input %x : $[40] \"d\"\n%v, %i = topk %x {axis = 0, largest = 1, shape = [11]}\noutput %i \"w\"\n"},
    {"det", "f32 f64 f16", "", ONE("[3, 2, 4, 4]", "det %x")},
    {"det_mild", "f32 f64", "", "input %x : $[6, 5, 5] \"f\"\n%y = det %x\noutput %y \"y\"\n"},
    {"det_small", "f32", "1", "symbol n in 0..\n" ONE("[n, n]", "det %x")},
    {"nonzero", ALL, "?",
     "symbol s in 0..\ninput %x : $[3, 4, 2] \"d\"\n%y = nonzero %x {defines = [s]}\noutput %y \"y\"\n"},
    {"nonzero_scalar", "f32", "?",
     "symbol s in 0..\ninput %x : $[] \"d\"\n%y = nonzero %x {defines = [s]}\noutput %y \"y\"\n"},
    {"unique", WIDE " i8 u64 bool", "?",
     "symbol s in 0..\ninput %x : $[30] \"x\"\n%v, %f, %i, %c = unique %x {defines = [s], axis = 0, sorted = "
     "1}\noutput %v \"v\"\noutput %f \"w\"\noutput %i \"u\"\noutput %c \"c\"\n"},
    {"unique_unsorted", "f32 i8", "?",
     "symbol s in 0..\ninput %x : $[30] \"x\"\n%v, %f, %i, %c = unique %x {defines = [s], axis = 0, sorted = "
     "0}\noutput %v \"v\"\noutput %f \"w\"\noutput %i \"u\"\noutput %c \"c\"\n"},
    {"unique_slices", "f32 u8", "?",
     "symbol s in 0..\ninput %x : $[2, 12, 2] \"d\"\n%v, %f, %i, %c = unique %x {defines = [s], axis = 1, sorted = "
     "1}\noutput %v \"v\"\noutput %i \"u\"\n"},
    {"unique_slices_unsorted", "f32", "?",
     "symbol s in 0..\ninput %x : $[2, 12, 1] \"d\"\n%v, %f, %i, %c = unique %x {defines = [s], axis = 1, sorted = "
     "0}\noutput %v \"v\"\noutput %c \"u\"\n"},
    {"unique_empty", "f32", "?",
     "symbol s in 0..\ninput %x : $[0] \"d\"\n%v, %f, %i, %c = unique %x {defines = [s], axis = 0, sorted = 0}\noutput "
     "%v \"v\"\noutput %c \"u\"\n"},
    {"nms", "f32", "?",
     "symbol s in 0..\ninput %b : f32[2, 12, 4] \"f\"\ninput %q : f32[2, 3, 12] \"f2\"\ninput %m : i64[] \"c5\"\ninput "
     "%o : f32[] \"d\"\ninput %t : f32[] \"d2\"\n%y = nms %b, %q, %m, %o, %t {defines = [s], center = 0}\noutput %y "
     "\"y\"\n"},
    {"nms_center", "f32", "?",
     "symbol s in 0..\ninput %b : f32[1, 20, 4] \"f\"\ninput %q : f32[1, 2, 20] \"f2\"\ninput %m : i64[] \"c9\"\ninput "
     "%o : f32[] \"f3\"\ninput %t : f32[] \"f4\"\n%y = nms %b, %q, %m, %o, %t {defines = [s], center = 1}\noutput %y "
     "\"y\"\n"},
    /* bodies of several nodes */
    {"softmax", WIDE, "4 6",
     "symbol n in 0..\nsymbol m in 1..\ninput %x : $[n, m] \"x\"\n%m = reduce_max %x {axes = [1], keep = 1}\n%b = "
     "broadcast %m {shape = [n, m], map = [0, 1]}\n"
     "%d = sub %x, %b\n%e = exp %d\n%s = sum %e {axes = [1], keep = 1}\n%t = broadcast %s {shape = [n, m], map = [0, "
     "1]}\n%y = div %e, %t\noutput %y \"y\"\n"},
    {"two_results", "f32 i8", "4",
     "symbol n in 0..\ninput %x : $[n, 3] \"x\"\n%a = neg %x\n%b = mul %a, %x\n%c = add %b, %a\noutput %b "
     "\"b\"\noutput %c \"c\"\n"},
    {"dense_layer", "f32 f16", "5",
     "symbol n in 0..\ninput %x : $[n, 6] \"f\"\ninput %w : $[6, 8] \"f2\"\ninput %c : $[8] \"f3\"\n%a = contract %x, "
     "%w {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = $}\n"
     "%r = reshape %c {shape = [1, 8]}\n%b = broadcast %r {shape = [n, 8], map = [0, 1]}\n%d = add %a, %b\n%z = const "
     "{value = $[] (0)}\n%q = broadcast %z {shape = [n, 8], map = []}\n%y = max %d, %q\noutput %y \"y\"\n"},
    {"not_by_rows", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, 6] \"f\"\n%a = neg %x\n%b = transpose %a {perm = [1, 0]}\n%c = exp %b\noutput "
     "%c \"c\"\n"},
    {"column_sums", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, 6] \"f\"\n%a = neg %x\n%b = sum %a {axes = [0], keep = 0}\n%c = exp %b\noutput "
     "%c \"c\"\noutput %a \"a\"\n"},
    {"rows_of_views", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, 6] \"f\"\n%a = neg %x\n%r = reshape %a {shape = [n, 2, 3]}\n%t = transpose %r "
     "{perm = [0, 2, 1]}\n%v = reshape %t {shape = [n, 6]}\n%y = add %v, %x\noutput %y \"y\"\n"},
    {"rows_gather", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, 6] \"f\"\ninput %i : i64[n, 2] \"i6\"\n%a = neg %x\n%g = gather %a, %i {axis = "
     "1, batch = 1}\n%p = pad %g {low = [0, 1], high = [0, 2], mode = edge}\n%y = exp %p\noutput %y \"y\"\n"},
    {"rows_not_of_transpose", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\n%a = neg %x\n%b = transpose %a {perm = [1, 0]}\n%y = exp %b\noutput "
     "%y \"y\"\n"},
    {"rows_not_of_broadcast", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\n%a = neg %x\n%r = reduce_max %a {axes = [1], keep = 0}\n%b = "
     "broadcast %r {shape = [n, n], map = [1]}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_of_broadcast", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\n%a = neg %x\n%r = reduce_max %a {axes = [1], keep = 0}\n%b = "
     "broadcast %r {shape = [n, n], map = [0]}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_not_of_flip", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\n%a = neg %x\n%b = slice %a {shape = [n, n], start = [n - 1, 0], step "
     "= [-1, 1]}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_not_of_gather", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\ninput %i : i64[n] \"i5\"\n%a = neg %x\n%b = gather %a, %i {axis = "
     "0}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_of_gather_elements", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\ninput %i : i64[n, n] \"i5\"\n%a = neg %x\n%b = gather_elements %a, %i "
     "{axis = 1}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_not_of_gather_elements", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\ninput %i : i64[n, n] \"i5\"\n%a = neg %x\n%b = gather_elements %a, %i "
     "{axis = 0}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_not_of_gather_nd", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\ninput %i : i64[n, 1] \"i5\"\n%a = neg %x\n%b = gather_nd %a, %i\n%y = "
     "exp %b\noutput %y \"y\"\n"},
    {"rows_not_of_second_factor", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\n%a = neg %x\n%b = contract %x, %a {lhs = [0, 1], rhs = [1, 2], out = "
     "[0, 2], dtype = $}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_of_first_factor", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\n%a = neg %x\n%b = contract %a, %x {lhs = [0, 1], rhs = [1, 2], out = "
     "[0, 2], dtype = $}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_not_of_swapped_factors", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\n%a = neg %x\n%b = contract %a, %x {lhs = [0, 1], rhs = [1, 2], out = "
     "[2, 0], dtype = $}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_not_of_prefix", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\n%a = neg %x\n%b = cumsum %a {axis = 0, exclusive = 0, reverse = "
     "0}\n%y = exp %b\noutput %y \"y\"\n"},
    {"rows_not_of_arg", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, n] \"x\"\n%a = neg %x\n%i = argmax %a {axis = 0, keep = 0, last = 0}\n%b = cast "
     "%i {dtype = f32}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_of_transpose", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = transpose %a {perm = [1, 0, 2]}\n%y = exp "
     "%b\noutput %y \"y\"\n"},
    {"unit_rows_not_of_transpose", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = transpose %a {perm = [0, 2, 1]}\n%y = exp "
     "%b\noutput %y \"y\"\n"},
    {"unit_rows_of_transpose_to_front", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = transpose %a {perm = [1, 2, 0]}\n%y = exp "
     "%b\noutput %y \"y\"\n"},
    {"unit_rows_of_sum", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = sum %a {axes = [0, 2], keep = 0}\n%y = exp "
     "%b\noutput %y \"y\"\n"},
    {"unit_rows_of_sum_kept", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = sum %a {axes = [0, 2], keep = 1}\n%y = exp "
     "%b\noutput %y \"y\"\n"},
    {"unit_rows_not_of_sum", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = sum %a {axes = [1], keep = 0}\n%y = exp "
     "%b\noutput %y \"y\"\n"},
    {"unit_rows_of_arg", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%i = argmax %a {axis = 2, keep = 1, last = 0}\n%b = "
     "cast %i {dtype = f32}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_not_of_slice", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = slice %a {shape = [1, 1, n], start = [0, 2, 0], "
     "step = [1, 1, 1]}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_of_reshape", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%r = reshape %a {shape = [n, 1, n]}\n%b = add %r, "
     "%r\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_of_broadcast", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%r = sum %a {axes = [2], keep = 1}\n%b = broadcast %r "
     "{shape = [1, n, 3], map = [0, 1, 2]}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_not_of_broadcast", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%r = sum %a {axes = [0, 2], keep = 0}\n%b = broadcast "
     "%r {shape = [1, n, n], map = [2]}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_of_pad", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = pad %a {low = [0, 0, 1], high = [0, 0, 2], mode "
     "= wrap}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_not_of_pad", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%s = slice %a {shape = [1, n - 1, n], start = [0, 0, "
     "0], step = [1, 1, 1]}\n%b = pad %s {low = [0, 1, 0], high = [0, 0, 0], mode = edge}\n%y = exp %b\noutput %y "
     "\"y\"\n"},
    {"unit_rows_of_gather", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\ninput %i : i64[1, 2] \"i5\"\n%a = neg %x\n%b = gather %a, %i {axis "
     "= 2}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_not_of_gather", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\ninput %i : i64[n] \"i5\"\n%a = neg %x\n%b = gather %a, %i {axis = "
     "1}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_of_concat", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = concat %a, %x {axis = 2}\n%y = exp %b\noutput %y "
     "\"y\"\n"},
    {"unit_rows_of_contract", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\ninput %w : f32[n, n] \"w\"\n%a = neg %x\n%b = contract %a, %w {lhs "
     "= [0, 1, 2], rhs = [2, 3], out = [0, 1, 3], dtype = $}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_not_of_contract", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\ninput %w : f32[n, n] \"w\"\n%a = neg %x\n%b = contract %w, %a {lhs "
     "= [4, 1], rhs = [0, 1, 3], out = [0, 4, 3], dtype = $}\n%y = exp %b\noutput %y \"y\"\n"},
    {"unit_rows_of_channels", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, n, n] \"x\"\n%a = neg %x\n%b = window_max %a {kernel = [2], stride = [1], "
     "dilation = [1], low = [1], high = [0]}\n%y = exp %b\noutput %y \"y\"\n"},
    {"all_ones", "f32", "5",
     "symbol n in 0..\ninput %x : $[1, 1] \"x\"\n%a = neg %x\n%b = broadcast %a {shape = [1, 1, 1], map = [1, 2]}\n%y "
     "= exp %b\noutput %y \"y\"\n"},
    {"result_is_input", "f32", "5",
     "symbol n in 0..\ninput %x : $[n, 6] \"f\"\n%a = neg %x\noutput %x \"x2\"\noutput %a \"a\"\noutput %a \"b\"\n"},
    {"view_is_result", "f32", "",
     "input %x : $[2, 6] \"f\"\n%a = neg %x\n%r = reshape %a {shape = [12]}\n%s = reshape %r {shape = [3, 4]}\noutput "
     "%s \"s\"\noutput %r \"r\"\n"},
};
enum { N_SPECS = sizeof specs / sizeof *specs };

static void fill_text(const char *text, const char *type, char *out) {
    for (; *text; text++) {
        if (*text == '$')
            out = stpcpy(out, type);
        else
            *out++ = *text;
    }
    *out = 0;
}

static void add_all(lab *l, const spec **of) {
    for (size_t i = 0; i < N_SPECS; i++) {
        char types[300], text[3000], name[120], *save = NULL;
        snprintf(types, sizeof types, "%s", specs[i].types);
        for (char *t = strtok_r(types, " ", &save); t; t = strtok_r(NULL, " ", &save)) {
            fill_text(specs[i].text, t, text);
            snprintf(name, sizeof name, "%s/%s", specs[i].name, t);
            size_t at = l->n;
            if (lab_add(l, text, name)) of[at] = &specs[i];
        }
    }
}

static void read_symbols(const char *text, int64_t *symbol) {
    for (; *text; symbol++) {
        char *end;
        *symbol = *text == '?' ? INT64_MIN : strtoll(text, &end, 10);
        text += strcspn(text, " ");
        text += *text == ' ';
    }
}

static lab all;
static const spec *spec_of[LAB_MAX];

/* One line of TAP per operation: all its element types. */
static void check_all(void) {
    for (size_t i = 0, j; i < all.n; i = j) {
        bool good = true;
        for (j = i; j < all.n && spec_of[j] == spec_of[i]; j++) {
            int64_t symbol[LAB_SYMBOLS] = {0};
            read_symbols(spec_of[j]->symbols, symbol);
            for (uint64_t seed = 1; good && seed <= 3; seed++)
                good = lab_check(&all.kernel[j], symbol, seed * 1000 + j);
        }
        ok(good, "reference/%s", spec_of[i]->name);
    }
}

int main(void) {
    add_all(&all, spec_of);
    if (ok(lab_build(&all), "reference/%zu kernels compile without a warning", all.n)) {
        int clang = lab_clang(&all);
        if (clang < 0)
            skip(1, "clang-19 is not installed");
        else
            ok(clang, "reference/clang takes them without a warning");
        check_all();
    }
    lab_free(&all);
    return done_testing();
}
