/* Every primitive on small constants: text in, the wanted tensor as text. What has elements of its own is also asked
 * for one by one (hn_interpret_at): the same bits. */
#include "base/str.h"
#include "ir/interp.h"
#include "tap.h"

#include <math.h>

typedef struct op_case {
    const char *name, *text, *want; /* %y is the result; want: a constant, or '!' and a part of the error */
} op_case;

#define Q4 "0, 60, 121, 136, 136, 136, 136, 136, 136, 136, 136, 136, 136, 136, 136, 136, 136, 136"
#define C(name, type, values) "%" name " = const {value = " type " (" values ")}\n"

static const op_case cases[] = {
    /* sources */
    {"iota_axis0", "%y = iota {shape = [2, 3], dtype = i32, axis = 0}\n", "i32[2, 3] (0, 0, 0, 1, 1, 1)"},
    {"iota_float", "%y = iota {shape = [2, 2], dtype = f16, axis = 1}\n", "f16[2, 2] (0, 1, 0, 1)"},
    {"iota_empty", "%y = iota {shape = [0], dtype = i64, axis = 0}\n", "i64[0] ()"},
    {"dims", "%y = dims {shape = [3, 2*4]}\n", "i64[2] (3, 8)"},
    /* unary */
    {"neg_zero", C("x", "f32[3]", "0, 1, nan") "%y = neg %x\n", "f32[3] (-0.0, -1, nan)"},
    {"neg_wraps", C("x", "i8[2]", "-128, 5") "%y = neg %x\n", "i8[2] (-128, -5)"},
    {"neg_unsigned", C("x", "u8[1]", "1") "%y = neg %x\n", "u8[1] (255)"},
    {"abs_min_wraps", C("x", "i32[2]", "-2147483648, -7") "%y = abs %x\n", "i32[2] (-2147483648, 7)"},
    {"sign", C("x", "f32[4]", "-3, 0, inf, nan") "%y = sign %x\n", "f32[4] (-1, 0, 1, nan)"},
    {"sign_int", C("x", "i64[3]", "-3, 0, 9") "%y = sign %x\n", "i64[3] (-1, 0, 1)"},
    {"floor", C("x", "f32[3]", "-1.5, 1.5, -inf") "%y = floor %x\n", "f32[3] (-2, 1, -inf)"},
    {"ceil", C("x", "f64[2]", "-1.5, 1.5") "%y = ceil %x\n", "f64[2] (-1, 2)"},
    {"round_to_even", C("x", "f32[4]", "0.5, 1.5, -2.5, 2.6") "%y = round %x\n", "f32[4] (0, 2, -2, 3)"},
    {"trunc", C("x", "f32[2]", "-1.9, 1.9") "%y = trunc %x\n", "f32[2] (-1, 1)"},
    {"sqrt", C("x", "f32[3]", "4, -1, inf") "%y = sqrt %x\n", "f32[3] (2, nan, inf)"},
    {"rsqrt", C("x", "f32[2]", "4, 0") "%y = rsqrt %x\n", "f32[2] (0.5, inf)"},
    {"recip", C("x", "f32[3]", "4, 0, -0.0") "%y = recip %x\n", "f32[3] (0.25, inf, -inf)"},
    {"exp", C("x", "f32[3]", "0, 1000, -1000") "%y = exp %x\n", "f32[3] (1, inf, 0)"},
    {"log", C("x", "f32[3]", "1, 0, -1") "%y = log %x\n", "f32[3] (0, -inf, nan)"},
    {"log1p", C("x", "f64[1]", "1e-20") "%y = log1p %x\n", "f64[1] (1e-20)"},
    {"expm1", C("x", "f64[1]", "1e-20") "%y = expm1 %x\n", "f64[1] (1e-20)"},
    {"tanh", C("x", "f32[2]", "1000, 0") "%y = tanh %x\n", "f32[2] (1, 0)"},
    {"acosh", C("x", "f32[2]", "1, 0") "%y = acosh %x\n", "f32[2] (0, nan)"},
    {"erf", C("x", "f32[2]", "0.5, inf") "%y = erf %x\n", "f32[2] (0.5204999, 1)"},
    {"sigmoid_no_overflow", C("x", "f32[4]", "-1000, 0, 1000, nan") "%y = sigmoid %x\n", "f32[4] (0, 0.5, 1, nan)"},
    {"not_bool", C("x", "bool[2]", "true, false") "%y = not %x\n", "bool[2] (false, true)"},
    {"not_bits", C("x", "u8[1]", "5") "%y = not %x\n", "u8[1] (250)"},
    {"not_nibble", C("x", "u4[1]", "5") "%y = not %x\n", "u4[1] (10)"},
    {"isnan", C("x", "f16[3]", "nan, inf, 0") "%y = isnan %x\n", "bool[3] (true, false, false)"},
    {"isinf", C("x", "f32[3]", "nan, -inf, 0") "%y = isinf %x\n", "bool[3] (false, true, false)"},
    /* cast */
    {"cast_truncates", C("x", "f32[3]", "-1.9, 1.9, nan") "%y = cast %x {dtype = i32, saturate = 1}\n",
     "i32[3] (-1, 1, 0)"},
    {"cast_saturates", C("x", "f32[3]", "300, -1, inf") "%y = cast %x {dtype = u8, saturate = 1}\n",
     "u8[3] (255, 0, 255)"},
    {"cast_wraps", C("x", "f32[1]", "300") "%y = cast %x {dtype = i8, saturate = 0}\n", "i8[1] (44)"},
    {"cast_i64_limits", C("x", "f32[2]", "1e30, -1e30") "%y = cast %x {dtype = i64, saturate = 1}\n",
     "i64[2] (9223372036854775807, -9223372036854775808)"},
    {"cast_int_keeps_low_bits", C("x", "i32[2]", "300, -1") "%y = cast %x {dtype = u8, saturate = 1}\n",
     "u8[2] (44, 255)"},
    {"cast_bool", C("x", "f32[3]", "0.1, 0, nan") "%y = cast %x {dtype = bool, saturate = 1}\n",
     "bool[3] (true, false, true)"},
    {"cast_i64_to_f32_rounds_once", C("x", "i64[1]", "9007199791611905") "%y = cast %x {dtype = f32, saturate = 1}\n",
     "f32[1] (9007200328482816)"},
    {"cast_f8_saturates", C("x", "f32[2]", "1000, -1000") "%y = cast %x {dtype = f8e4m3fn, saturate = 1}\n",
     "f8e4m3fn[2] (448, -448)"},
    {"cast_f8_overflows", C("x", "f32[2]", "1000, 1") "%y = cast %x {dtype = f8e4m3fn, saturate = 0}\n",
     "f8e4m3fn[2] (nan, 1)"},
    {"cast_f8e5m2_overflows", C("x", "f32[1]", "1e6") "%y = cast %x {dtype = f8e5m2, saturate = 0}\n",
     "f8e5m2[1] (bits 0x7c)"},
    {"cast_e8m0_up", C("x", "f32[3]", "3, 4, 0") "%y = cast %x {dtype = f8e8m0, saturate = 1, round = up}\n",
     "f8e8m0[3] (4, 4, 5.877471754111438e-39)"},
    {"cast_e8m0_down", C("x", "f32[1]", "3") "%y = cast %x {dtype = f8e8m0, saturate = 1, round = down}\n",
     "f8e8m0[1] (2)"},
    {"cast_e8m0_nearest", C("x", "f32[2]", "2.9, 3.0") "%y = cast %x {dtype = f8e8m0, saturate = 1, round = nearest}\n",
     "f8e8m0[2] (2, 4)"},
    {"bitcast", C("x", "f32[1]", "1") "%y = bitcast %x {dtype = i32}\n", "i32[1] (1065353216)"},
    {"bitcast_sign", C("x", "u4[2]", "15, 7") "%y = bitcast %x {dtype = i4}\n", "i4[2] (-1, 7)"},
    /* binary */
    {"add_wraps", C("x", "i8[2]", "127, 1") C("z", "i8[2]", "1, 1") "%y = add %x, %z\n", "i8[2] (-128, 2)"},
    {"sub_inf", C("x", "f32[1]", "inf") "%y = sub %x, %x\n", "f32[1] (nan)"},
    {"mul_i64_wraps", C("x", "i64[1]", "4611686018427387904") C("z", "i64[1]", "2") "%y = mul %x, %z\n",
     "i64[1] (-9223372036854775808)"},
    {"div_float", C("x", "f32[3]", "1, -1, 0") C("z", "f32[3]", "0, 0, 0") "%y = div %x, %z\n",
     "f32[3] (inf, -inf, nan)"},
    {"div_int", C("x", "i32[4]", "7, -7, 5, -2147483648") C("z", "i32[4]", "2, 2, 0, -1") "%y = div %x, %z\n",
     "i32[4] (3, -3, 0, -2147483648)"},
    {"div_u64", C("x", "u64[1]", "18446744073709551614") C("z", "u64[1]", "2") "%y = div %x, %z\n",
     "u64[1] (9223372036854775807)"},
    {"mod_int", C("x", "i32[4]", "7, -7, 7, 5") C("z", "i32[4]", "3, 3, -3, 0") "%y = mod %x, %z\n",
     "i32[4] (1, 2, -2, 0)"},
    {"mod_float", C("x", "f32[2]", "-7, 7") C("z", "f32[2]", "3, -3") "%y = mod %x, %z\n", "f32[2] (2, -2)"},
    {"rem_int", C("x", "i32[3]", "7, -7, 5") C("z", "i32[3]", "3, 3, 0") "%y = rem %x, %z\n", "i32[3] (1, -1, 0)"},
    {"rem_float", C("x", "f32[1]", "-7") C("z", "f32[1]", "3") "%y = rem %x, %z\n", "f32[1] (-1)"},
    {"pow_int", C("x", "i32[4]", "2, -3, 2, -1") C("z", "i64[4]", "10, 3, -1, -3") "%y = pow %x, %z\n",
     "i32[4] (1024, -27, 0, -1)"},
    {"pow_mixed", C("x", "f32[2]", "4, -8") C("z", "f64[2]", "0.5, 0.5") "%y = pow %x, %z\n", "f32[2] (2, nan)"},
    {"min_nan", C("x", "f32[3]", "nan, 1, 2") C("z", "f32[3]", "0, nan, 1") "%y = min %x, %z\n",
     "f32[3] (nan, nan, 1)"},
    {"max_u64", C("x", "u64[1]", "18446744073709551615") C("z", "u64[1]", "1") "%y = max %x, %z\n",
     "u64[1] (18446744073709551615)"},
    {"and_bool", C("x", "bool[2]", "true, true") C("z", "bool[2]", "false, true") "%y = and %x, %z\n",
     "bool[2] (false, true)"},
    {"xor_bits", C("x", "i32[1]", "12") C("z", "i32[1]", "10") "%y = xor %x, %z\n", "i32[1] (6)"},
    {"shl", C("x", "u8[3]", "129, 1, 1") C("z", "u8[3]", "1, 7, 8") "%y = shl %x, %z\n", "u8[3] (2, 128, 0)"},
    {"shr_signed", C("x", "i8[2]", "-128, -1") C("z", "i8[2]", "3, 9") "%y = shr %x, %z\n", "i8[2] (-16, -1)"},
    {"shr_u64", C("x", "u64[1]", "18446744073709551615") C("z", "u64[1]", "63") "%y = shr %x, %z\n", "u64[1] (1)"},
    {"eq_nan", C("x", "f32[2]", "nan, 0") C("z", "f32[2]", "nan, -0.0") "%y = eq %x, %z\n", "bool[2] (false, true)"},
    {"ne_nan", C("x", "f32[1]", "nan") "%y = ne %x, %x\n", "bool[1] (true)"},
    {"lt_u64", C("x", "u64[1]", "1") C("z", "u64[1]", "18446744073709551615") "%y = lt %x, %z\n", "bool[1] (true)"},
    {"le_nan", C("x", "f32[2]", "nan, 1") C("z", "f32[2]", "1, 1") "%y = le %x, %z\n", "bool[2] (false, true)"},
    {"select",
     C("c", "bool[2]", "true, false") C("x", "i16[2]", "1, 2") C("z", "i16[2]", "3, 4") "%y = select %c, %x, %z\n",
     "i16[2] (1, 4)"},
    {"add_rank0", C("x", "f32[]", "1") "%y = add %x, %x\n", "f32[] (2)"},
    {"add_empty", C("x", "f32[0, 3]", "") "%y = add %x, %x\n", "f32[0, 3] ()"},
    {"add_f16_rounds", C("x", "f16[1]", "2048") C("z", "f16[1]", "1") "%y = add %x, %z\n", "f16[1] (2048)"},
    {"mul_bf16", C("x", "bf16[1]", "1.0078125") "%y = mul %x, %x\n", "bf16[1] (1.015625)"},
    /* movement */
    {"reshape", C("x", "i8[2, 3]", "1, 2, 3, 4, 5, 6") "%y = reshape %x {shape = [3, 2]}\n",
     "i8[3, 2] (1, 2, 3, 4, 5, 6)"},
    {"transpose", C("x", "i32[2, 3]", "1, 2, 3, 4, 5, 6") "%y = transpose %x {perm = [1, 0]}\n",
     "i32[3, 2] (1, 4, 2, 5, 3, 6)"},
    {"transpose_rank0", C("x", "i32[]", "1") "%y = transpose %x {perm = []}\n", "i32[] (1)"},
    {"broadcast", C("x", "f32[2, 1]", "1, 2") "%y = broadcast %x {shape = [2, 2, 2], map = [1, 2]}\n",
     "f32[2, 2, 2] (1, 1, 2, 2, 1, 1, 2, 2)"},
    {"broadcast_scalar", C("x", "f64[]", "1") "%y = broadcast %x {shape = [2], map = []}\n", "f64[2] (1, 1)"},
    {"slice_backwards", C("x", "i16[4]", "1, 2, 3, 4") "%y = slice %x {shape = [2], start = [3], step = [-2]}\n",
     "i16[2] (4, 2)"},
    {"slice_empty", C("x", "i16[4]", "1, 2, 3, 4") "%y = slice %x {shape = [0], start = [9], step = [1]}\n",
     "i16[0] ()"},
    {"slice_2d",
     C("x", "i8[2, 3]", "1, 2, 3, 4, 5, 6") "%y = slice %x {shape = [2, 2], start = [0, 1], step = [1, 1]}\n",
     "i8[2, 2] (2, 3, 5, 6)"},
    {"pad_constant",
     C("x", "f32[2]", "1, 2") C("z", "f32[]", "9") "%y = pad %x, %z {low = [1], high = [2], mode = constant}\n",
     "f32[5] (9, 1, 2, 9, 9)"},
    {"pad_zero", C("x", "f32[1, 2]", "1, 2") "%y = pad %x {low = [1, 0], high = [0, 1], mode = constant}\n",
     "f32[2, 3] (0, 0, 0, 1, 2, 0)"},
    {"pad_edge", C("x", "i64[2]", "1, 2") "%y = pad %x {low = [2], high = [1], mode = edge}\n",
     "i64[5] (1, 1, 1, 2, 2)"},
    {"pad_reflect", C("x", "i64[3]", "1, 2, 3") "%y = pad %x {low = [2], high = [3], mode = reflect}\n",
     "i64[8] (3, 2, 1, 2, 3, 2, 1, 2)"},
    {"pad_reflect_one", C("x", "i64[1]", "4") "%y = pad %x {low = [1], high = [1], mode = reflect}\n",
     "i64[3] (4, 4, 4)"},
    {"pad_wrap", C("x", "i64[3]", "1, 2, 3") "%y = pad %x {low = [1], high = [2], mode = wrap}\n",
     "i64[6] (3, 1, 2, 3, 1, 2)"},
    {"pad_edge_of_nothing", C("x", "i64[0]", "") "%y = pad %x {low = [1], high = [0], mode = edge}\n", "!is empty"},
    {"concat", C("x", "i8[2, 1]", "1, 2") C("z", "i8[2, 2]", "3, 4, 5, 6") "%y = concat %x, %z, %x {axis = 1}\n",
     "i8[2, 4] (1, 3, 4, 1, 2, 5, 6, 2)"},
    /* indexing */
    {"gather", C("x", "f32[3, 2]", "1, 2, 3, 4, 5, 6") C("i", "i64[2]", "-1, 0") "%y = gather %x, %i {axis = 0}\n",
     "f32[2, 2] (5, 6, 1, 2)"},
    {"gather_inner",
     C("x", "i8[2, 3]", "1, 2, 3, 4, 5, 6") C("i", "i32[1, 2]", "2, 1") "%y = gather %x, %i {axis = 1}\n",
     "i8[2, 1, 2] (3, 2, 6, 5)"},
    {"gather_batch",
     C("x", "i8[2, 3]", "1, 2, 3, 4, 5, 6") C("i", "i64[2, 1]", "0, 2") "%y = gather %x, %i {axis = 1, batch = 1}\n",
     "i8[2, 1] (1, 6)"},
    {"gather_out_of_range",
     C("x", "i8[3]", "1, 2, 3") C("i", "i64[1]", "3") "%y = gather %x, %i {axis = 0} from \"node 'g'\"\n",
     "!node 'g': index 3"},
    {"gather_elements",
     C("x", "i8[2, 2]", "1, 2, 3, 4") C("i", "i64[2, 2]", "0, 0, -1, 0") "%y = gather_elements %x, %i {axis = 1}\n",
     "i8[2, 2] (1, 1, 4, 3)"},
    {"gather_nd", C("x", "i8[2, 2]", "1, 2, 3, 4") C("i", "i64[2, 2]", "0, 1, -1, 0") "%y = gather_nd %x, %i\n",
     "i8[2] (2, 3)"},
    {"gather_nd_slices", C("x", "i8[2, 2]", "1, 2, 3, 4") C("i", "i64[1, 1]", "1") "%y = gather_nd %x, %i\n",
     "i8[1, 2] (3, 4)"},
    {"gather_nd_batch",
     C("x", "i8[2, 2, 2]", "0, 1, 2, 3, 4, 5, 6, 7") C("i", "i64[2, 1]", "1, 0") "%y = gather_nd %x, %i {batch = 1}\n",
     "i8[2, 2] (2, 3, 4, 5)"},
    {"scatter_elements",
     C("x", "f32[3]", "1, 2, 3") C("i", "i64[2]", "-1, 0")
         C("u", "f32[2]", "8, 9") "%y = scatter_elements %x, %i, %u {axis = 0, mode = set}\n",
     "f32[3] (9, 2, 8)"},
    {"scatter_elements_add",
     C("x", "f32[2]", "1, 2") C("i", "i64[3]", "1, 1, 1")
         C("u", "f32[3]", "1, 2, 3") "%y = scatter_elements %x, %i, %u {axis = 0, mode = add}\n",
     "f32[2] (1, 8)"},
    {"scatter_elements_max",
     C("x", "f32[2]", "1, 2") C("i", "i64[2]", "0, 1")
         C("u", "f32[2]", "nan, 1") "%y = scatter_elements %x, %i, %u {axis = 0, mode = max}\n",
     "f32[2] (nan, 2)"},
    {"scatter_nd_mul",
     C("x", "i32[2, 2]", "1, 2, 3, 4") C("i", "i64[1, 1]", "1")
         C("u", "i32[1, 2]", "5, 6") "%y = scatter_nd %x, %i, %u {mode = mul}\n",
     "i32[2, 2] (1, 2, 15, 24)"},
    {"scatter_nd_turned",
     C("x", "i32[4, 2]", "0, 0, 0, 0, 0, 0, 0, 0") C("i", "i64[2, 1]", "1, -2")
         C("u", "i32[2, 2]", "5, 6, 7, 8") "%y = scatter_nd %x, %i, %u {mode = set, block = 2}\n",
     "i32[4, 2] (0, 5, 0, 6, 7, 0, 8, 0)"},
    {"scatter_out_of_range",
     C("x", "f32[2]", "1, 2") C("i", "i64[1]", "-3")
         C("u", "f32[1]", "1") "%y = scatter_elements %x, %i, %u {axis = 0, mode = set}\n",
     "!index -3"},
    /* reductions */
    {"sum_rows", C("x", "f32[2, 3]", "1, 2, 3, 4, 5, 6") "%y = sum %x {axes = [1], keep = 0}\n", "f32[2] (6, 15)"},
    {"sum_columns_keep", C("x", "f32[2, 3]", "1, 2, 3, 4, 5, 6") "%y = sum %x {axes = [0], keep = 1}\n",
     "f32[1, 3] (5, 7, 9)"},
    {"sum_all", C("x", "i8[2, 2]", "100, 100, 1, 1") "%y = sum %x {axes = [0, 1], keep = 0}\n", "i8[] (-54)"},
    {"sum_in_double",
     C("x", "f32[3]", "1e30, 1, -1e30") C("z", "f32[3]", "16777216, 1, 1") "%y = sum %z {axes = [0], keep = 0}\n",
     "f32[] (16777218)"},
    {"sum_of_nothing", C("x", "f32[2, 0]", "") "%y = sum %x {axes = [1], keep = 0}\n", "f32[2] (0, 0)"},
    {"prod_of_nothing", C("x", "i64[0]", "") "%y = prod %x {axes = [0], keep = 0}\n", "i64[] (1)"},
    {"min_of_nothing", C("x", "f32[0]", "") "%y = reduce_min %x {axes = [0], keep = 0}\n", "f32[] (inf)"},
    {"max_of_nothing_int", C("x", "i16[0]", "") "%y = reduce_max %x {axes = [0], keep = 0}\n", "i16[] (-32768)"},
    {"min_of_nothing_u64", C("x", "u64[0]", "") "%y = reduce_min %x {axes = [0], keep = 0}\n",
     "u64[] (18446744073709551615)"},
    {"max_nan", C("x", "f32[2, 2]", "1, nan, 2, -inf") "%y = reduce_max %x {axes = [1], keep = 0}\n",
     "f32[2] (nan, 2)"},
    {"min_bool_is_all", C("x", "bool[2, 2]", "true, true, true, false") "%y = reduce_min %x {axes = [1], keep = 0}\n",
     "bool[2] (true, false)"},
    {"max_bool_is_any", C("x", "bool[2, 2]", "false, false, true, false") "%y = reduce_max %x {axes = [1], keep = 0}\n",
     "bool[2] (false, true)"},
    {"sum_no_axes", C("x", "f32[2]", "1, 2") "%y = sum %x {axes = [], keep = 0}\n", "f32[2] (1, 2)"},
    {"argmax_first", C("x", "f32[4]", "1, 3, 3, 2") "%y = argmax %x {axis = 0, keep = 0, last = 0}\n", "i64[] (1)"},
    {"argmax_last", C("x", "f32[4]", "1, 3, 3, 2") "%y = argmax %x {axis = 0, keep = 1, last = 1}\n", "i64[1] (2)"},
    {"argmin_nan", C("x", "f32[3]", "1, nan, 0") "%y = argmin %x {axis = 0, keep = 0, last = 0}\n", "i64[] (1)"},
    {"argmin_axis0", C("x", "i8[2, 2]", "1, 5, 0, 5") "%y = argmin %x {axis = 0, keep = 0, last = 0}\n",
     "i64[2] (1, 0)"},
    /* prefix */
    {"cumsum", C("x", "f32[3]", "1, 2, 3") "%y = cumsum %x {axis = 0, exclusive = 0, reverse = 0}\n",
     "f32[3] (1, 3, 6)"},
    {"cumsum_exclusive_reverse",
     C("x", "i32[2, 2]", "1, 2, 3, 4") "%y = cumsum %x {axis = 1, exclusive = 1, reverse = 1}\n",
     "i32[2, 2] (2, 0, 4, 0)"},
    {"cumprod", C("x", "f32[3]", "2, 3, 4") "%y = cumprod %x {axis = 0, exclusive = 1, reverse = 0}\n",
     "f32[3] (1, 2, 6)"},
    /* contraction */
    {"matmul",
     C("x", "f32[2, 2]", "1, 2, 3, 4")
         C("z", "f32[2, 2]",
           "5, 6, 7, 8") "%y = contract %x, %z {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n",
     "f32[2, 2] (19, 22, 43, 50)"},
    {"contract_transposed_result",
     C("x", "f32[2, 2]", "1, 2, 3, 4")
         C("z", "f32[2, 2]",
           "5, 6, 7, 8") "%y = contract %x, %z {lhs = [0, 1], rhs = [1, 2], out = [2, 0], dtype = f32}\n",
     "f32[2, 2] (19, 43, 22, 50)"},
    {"contract_batch",
     C("x", "i8[2, 1, 2]", "1, 2, 3, 4")
         C("z", "i8[2, 2]",
           "100, 100, 100, 100") "%y = contract %x, %z {lhs = [0, 1, 2], rhs = [0, 2], out = [0, 1], dtype = i32}\n",
     "i32[2, 1] (300, 700)"},
    {"contract_one_sided_sum",
     C("x", "f32[2, 2]", "1, 2, 3, 4")
         C("z", "f32[2]", "10, 20") "%y = contract %x, %z {lhs = [0, 1], rhs = [2], out = [0], dtype = f32}\n",
     "f32[2] (90, 210)"},
    {"contract_nothing",
     C("x", "f32[2, 0]", "")
         C("z", "f32[0]", "") "%y = contract %x, %z {lhs = [0, 1], rhs = [1], out = [0], dtype = f32}\n",
     "f32[2] (0, 0)"},
    {"contract_mixed",
     C("x", "u8[1, 2]", "255, 255")
         C("z", "i8[2]", "-128, -128") "%y = contract %x, %z {lhs = [0, 1], rhs = [1], out = [0], dtype = i32}\n",
     "i32[1] (-65280)"},
    {"contract_outer",
     C("x", "f32[2]", "1, 2")
         C("z", "f32[2]", "3, 4") "%y = contract %x, %z {lhs = [0], rhs = [1], out = [0, 1], dtype = f32}\n",
     "f32[2, 2] (3, 4, 6, 8)"},
    /* windows */
    {"conv1d",
     C("x", "f32[1, 1, 4]", "1, 2, 3, 4")
         C("w", "f32[1, 1, 2]", "1, 10") "%y = conv %x, %w {stride = [1], dilation = [1], inflate = [1], groups = 1, "
                                         "low = [1], high = [0], dtype = f32}\n",
     "f32[1, 1, 4] (10, 21, 32, 43)"},
    {"conv_crop",
     C("x", "f32[1, 1, 4]", "1, 2, 3, 4")
         C("w", "f32[1, 1, 1]", "1") "%y = conv %x, %w {stride = [1], dilation = [1], inflate = [1], groups = 1, low = "
                                     "[-1], high = [-1], dtype = f32}\n",
     "f32[1, 1, 2] (2, 3)"},
    {"conv_inflate",
     C("x", "f32[1, 1, 2]", "1, 2")
         C("w", "f32[1, 1, 2]", "1, 10") "%y = conv %x, %w {stride = [1], dilation = [1], inflate = [2], groups = 1, "
                                         "low = [1], high = [1], dtype = f32}\n",
     "f32[1, 1, 4] (10, 1, 20, 2)"},
    {"conv_groups",
     C("x", "f32[1, 2, 1]", "1, 2")
         C("w", "f32[2, 1, 1]", "3, 4") "%y = conv %x, %w {stride = [1], dilation = [1], inflate = [1], groups = 2, "
                                        "low = [0], high = [0], dtype = f32}\n",
     "f32[1, 2, 1] (3, 8)"},
    {"conv_inf_weight_skips_padding",
     C("x", "f32[1, 1, 2]", "1, 2")
         C("w", "f32[1, 1, 2]", "inf, 1") "%y = conv %x, %w {stride = [1], dilation = [1], inflate = [1], groups = 1, "
                                          "low = [1], high = [0], dtype = f32}\n",
     "f32[1, 1, 2] (1, inf)"},
    {"conv_integer",
     C("x", "u8[1, 1, 2]", "200, 200")
         C("w", "i8[1, 1, 2]", "-100, 50") "%y = conv %x, %w {stride = [1], dilation = [1], inflate = [1], groups = 1, "
                                           "low = [0], high = [0], dtype = i32}\n",
     "i32[1, 1, 1] (-10000)"},
    {"window_sum",
     C("x", "f32[1, 1, 4]",
       "1, 2, 3, 4") "%y = window_sum %x {kernel = [2], stride = [2], dilation = [1], low = [1], high = [1]}\n",
     "f32[1, 1, 3] (1, 5, 4)"},
    {"window_max",
     C("x", "f32[1, 1, 2, 2]", "-1, -2, nan, -4") "%y = window_max %x {kernel = [1, 2], stride = [1, 1], dilation = "
                                                  "[1, 1], low = [0, 1], high = [0, 0]}\n",
     "f32[1, 1, 2, 2] (-1, -1, nan, nan)"},
    {"window_argmax",
     C("x", "f32[1, 1, 2, 2]", "1, 2, 4, 3") "%y = window_argmax %x {kernel = [2, 2], stride = [1, 1], dilation = [1, "
                                             "1], low = [0, 0], high = [0, 1]}\n",
     "i64[1, 1, 1, 2] (2, 3)"},
    /* order, the odd */
    {"topk_values", C("x", "f32[4]", "1, nan, 3, 3") "%y, %i = topk %x {axis = 0, largest = 1, shape = [3]}\n",
     "f32[3] (nan, 3, 3)"},
    {"topk_indices", C("x", "f32[4]", "1, 2, 3, 3") "%v, %y = topk %x {axis = 0, largest = 1, shape = [3]}\n",
     "i64[3] (2, 3, 1)"},
    {"topk_smallest", C("x", "i32[2, 2]", "4, 3, 1, 2") "%v, %y = topk %x {axis = 1, largest = 0, shape = [2, 1]}\n",
     "i64[2, 1] (1, 0)"},
    /* scale 1, element 0 is 9 - 8, element 16 is 7 - 8, all others 0 */
    {"unpack",
     C("w", "u8[1, 18]", Q4) "%z = unpack %w {shape = [1, 32], codec = q4_0, mode = exact}\n"
                             "%y = slice %z {shape = [1, 3], start = [0, 15], step = [1, 1]}\n",
     "f32[1, 3] (0, -1, 0)"},
    {"packed_rows",
     C("w", "u8[1, 18]", Q4)
         C("i", "i64[2]", "0, -1") "%z = packed_rows %w, %i {shape = [2, 32], codec = q4_0, rows = 1}\n%y = slice %z "
                                   "{shape = [2, 2], start = [0, 0], step = [1, 1]}\n",
     "f32[2, 2] (1, 0, 1, 0)"},
    {"quantize_blocks",
     "%x = iota {shape = [1, 32], dtype = f32, axis = 1}\n%q, %d = quantize_blocks %x\n"
     "%y = slice %q {shape = [1, 4], start = [0, 28], step = [1, 1]}\n",
     "i8[1, 4] (115, 119, 123, 127)"},
    {"packed_dot",
     C("w", "u8[1, 18]", Q4) "%x = iota {shape = [1, 32], dtype = f32, axis = 1}\n"
                             "%y = packed_dot %w, %x {shape = [1, 1], codec = q4_0}\n",
     "f32[1, 1] (-16)"},
    {"packed_dot_bytes",
     C("w", "u8[1, 18]", Q4) "%x = iota {shape = [1, 32], dtype = f32, axis = 1}\n%q, %d = quantize_blocks %x\n"
                             "%y = packed_dot %w, %q, %d {shape = [1, 1], codec = q4_0}\n",
     "f32[1, 1] (-16.1102352)"},
    {"det", C("x", "f32[2, 2, 2]", "1, 2, 3, 4, 0, 0, 0, 0") "%y = det %x\n", "f32[2] (-2, 0)"},
    {"det_3", C("x", "f32[3, 3]", "0, 2, 1, 1, 0, 0, 3, 0, 4") "%y = det %x\n", "f32[] (-8)"},
    {"nonzero", C("x", "f32[2, 2]", "0, 1, -0.0, nan") "%y = nonzero %x {defines = [s]}\n", "i64[2, 2] (0, 1, 1, 1)"},
    {"unique_sorted",
     C("x", "f32[4]", "2, 1, 2, 0") "%y, %f, %n, %c = unique %x {defines = [s], axis = 0, sorted = 1}\n",
     "f32[3] (0, 1, 2)"},
    {"unique_first_seen",
     C("x", "f32[4]", "2, 1, 2, 0") "%y, %f, %n, %c = unique %x {defines = [s], axis = 0, sorted = 0}\n",
     "f32[3] (2, 1, 0)"},
    {"unique_inverse",
     C("x", "f32[4]", "2, 1, 2, 0") "%v, %f, %y, %c = unique %x {defines = [s], axis = 0, sorted = 1}\n",
     "i64[4] (2, 1, 2, 0)"},
    {"unique_counts",
     C("x", "f32[4]", "2, 1, 2, 0") "%v, %f, %n, %y = unique %x {defines = [s], axis = 0, sorted = 1}\n",
     "i64[3] (1, 1, 2)"},
    {"unique_columns",
     C("x", "i8[2, 3]", "1, 0, 1, 2, 5, 2") "%y, %f, %n, %c = unique %x {defines = [s], axis = 1, sorted = 1}\n",
     "i8[2, 2] (0, 1, 5, 2)"},
    {"nms",
     C("b", "f32[1, 3, 4]", "0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 10, 1, 11") C("s", "f32[1, 1, 3]", "0.9, 0.8, 0.7")
         C("m", "i64[]", "3") C("t", "f32[]", "0.5")
             C("z", "f32[]", "0") "%y = nms %b, %s, %m, %t, %z {defines = [s], center = 0}\n",
     "i64[2, 3] (0, 0, 0, 0, 0, 2)"},
    /* a diamond: without memory of elements this would take 2^40 steps one by one */
    {"sums_of_sums",
     C("x", "f32[2]", "1, 2") "%a = sum %x {axes = [0], keep = 1}\n%b = broadcast %a {shape = [2], map = [0]}\n"
                              "%c = div %x, %b\n%d = sum %c {axes = [0], keep = 1}\n%y = add %d, %a\n",
     "f32[1] (4)"},
};

static hn_graph *parse_case(const op_case *c) {
    hn_str s = {0};
    hn_graph *g = NULL;
    hone_err err;
    hn_str_addf(&s, "ir 1\nsymbol s in 0..\n%soutput %%y \"y\"\n", c->text);
    if (*c->want != '!') hn_str_addf(&s, "%%want = const {value = %s}\noutput %%want \"want\"\n", c->want);
    if (hn_parse(s.text, s.n, "case", &g, &err)) printf("# %s\n# %s\n", err.text, s.text);
    hn_str_free(&s);
    return g;
}

static bool same_bits(double a, double b) { return a == b ? signbit(a) == signbit(b) : a != a && b != b; }

/* Every element on demand against the whole; what has no elements of its own says so. */
static bool elements_agree(const hn_graph *g, const hn_tensor *whole, const int64_t *symbols) {
    int64_t index[HN_RANK_MAX] = {0}, n = hn_tensor_n(whole);
    hone_err err;
    for (int64_t i = 0; i < n; i++) {
        double x;
        hone_rc rc = hn_interpret_at(g, 0, NULL, symbols, 0, index, &x, &err);
        if (rc == HONE_E_UNSUPPORTED) return true;
        if (rc || !same_bits(x, hn_get_f(whole, i))) {
            printf("# element %lld: %s %g instead of %g\n", (long long)i, rc ? err.text : "", x, hn_get_f(whole, i));
            return false;
        }
        for (size_t d = whole->rank; d-- > 0 && ++index[d] == whole->dim[d];) index[d] = 0;
    }
    return true;
}

static void run_case(const op_case *c) {
    hn_graph *g = parse_case(c);
    hn_arena a = {0};
    hn_tensor out[2];
    int64_t symbols[8];
    hone_err err = {.text = ""};
    hone_rc rc = g ? hn_interpret(g, NULL, &a, out, symbols, &err) : HONE_E_FAILED;
    if (*c->want == '!') {
        ok(g && rc == HONE_E_INPUT && strstr(err.text, c->want + 1), "interp/%s", c->name);
        if (!strstr(err.text, c->want + 1)) printf("# %s\n", err.text);
    } else {
        hn_match m = rc ? (hn_match){0} : hn_tensor_compare(&out[0], &out[1], (hn_match_rule){1e-6, 0});
        ok(m.same, "interp/%s", c->name);
        if (rc)
            printf("# %s\n", err.text);
        else if (!m.same)
            printf("# element %lld is %g\n", (long long)m.at, m.at < 0 ? 0 : hn_get_f(&out[0], m.at));
        if (!rc) ok(elements_agree(g, &out[0], symbols), "interp/%s_by_element", c->name);
    }
    hn_graph_free(g);
    hn_arena_free(&a);
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&cases[i]);
    return done_testing();
}
