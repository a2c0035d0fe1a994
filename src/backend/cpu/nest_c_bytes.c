/* backend/cpu/nest_c_bytes.c — the sum of the products of the bytes of two words, unsigned times signed, onto a third:
 * one instruction where the processor has it (Intel SDM, VPDPBUSD), which compilers reach by its name alone without a
 * header of intrinsics. AVX2 multiplies bytes with saturation alone (VPMADDUBSW), so there the even and the odd ones
 * become 16 bits, whose products add up exactly (VPMADDWD). Both instructions stand in one assembly text, in order:
 * left to itself gcc makes all products first and keeps them on the stack. Elsewhere the four products one by one.
 */
#include "backend/cpu/nest_c.h"

#include <stdio.h>

static const char bytes_text[] =
    "HNR hnk_i32_x@ hnk_bytes_x@(hnk_i32_x@ sum, hnk_i32_x@ a, hnk_i32_x@ b) {\n"
    "#if defined(__AVX512VNNI__) && (@ == 16 || (defined(__AVX512VL__) && (@ == 4 || @ == 8)))\n"
    "    __asm__(\"vpdpbusd %2, %1, %0\" : \"+v\"(sum) : \"v\"(a), \"vm\"(b));\n"
    "#elif defined(__AVX2__) && @ == 8\n"
    "    typedef short halves __attribute__((vector_size(32)));\n"
    "    typedef unsigned short naturals __attribute__((vector_size(32)));\n"
    "    halves low = (halves)b << 8 >> 8, high = (halves)b >> 8, product;\n"
    "    naturals even = (naturals)a & 255, odd = (naturals)a >> 8;\n"
    "    __asm__ volatile(\"vpmaddwd %3, %2, %1\\n\\tvpaddd %1, %0, %0\" : \"+x\"(sum), \"=&x\"(product) : \"x\"(low), "
    "\"x\"(even));\n"
    "    __asm__ volatile(\"vpmaddwd %3, %2, %1\\n\\tvpaddd %1, %0, %0\" : \"+x\"(sum), \"=&x\"(product) : "
    "\"x\"(high), \"x\"(odd));\n"
    "#else\n"
    "    for (int t = 0; t < 32; t += 8) sum += (a >> t & 255) * (b << (24 - t) >> 24);\n"
    "#endif\n"
    "    return sum;\n"
    "}\n#endif\n";

void hn_c_bytes(hn_c *c, hn_str *out, const char *sum, const char *a, const char *b, bool vector) {
    char guard[40];
    int width = vector ? c->width : 1;
    hn_str_addf(out, "hnk_bytes_x%d(%s, %s, %s)", width, sum, a, b);
    snprintf(guard, sizeof guard, "HNK_HAS_BYTES_X%d", width);
    if (!hn_c_once(c, guard)) return;
    if (!vector) hn_str_add(c->folds, "typedef int32_t hnk_i32_x1;\n");
    hn_c_template(c->folds, bytes_text, width, HONE_I32);
}
