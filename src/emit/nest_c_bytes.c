/* emit/nest_c_bytes.c — the sum of the products of the bytes of two words, unsigned times signed, onto a third: one
 * instruction where the processor has it (Intel SDM, VPDPBUSD), which compilers reach by its name alone without a
 * header of intrinsics; elsewhere the four products one by one.
 */
#include "emit/nest_c.h"

#include <stdio.h>

static const char bytes_text[] = "    for (int t = 0; t < 32; t += 8) sum += (a >> t & 255) * (b << (24 - t) >> 24);\n"
                                 "    return sum;\n";

void hn_c_bytes(hn_c *c, hn_str *out, const char *sum, const char *a, const char *b, bool vector) {
    char guard[40], type[24];
    int width = vector ? c->width : 1;
    hn_str_addf(out, "hnk_bytes_x%d(%s, %s, %s)", width, sum, a, b);
    snprintf(guard, sizeof guard, "HNK_HAS_BYTES_X%d", width);
    if (!hn_c_once(c, guard)) return;
    snprintf(type, sizeof type, vector ? "hnk_i32_x%d" : "int32_t", width);
    hn_str_addf(c->folds, "HNR %s hnk_bytes_x%d(%s sum, %s a, %s b) {\n", type, width, type, type, type);
    if (width * 4 == 64)
        hn_str_add(c->folds, "#if defined(__AVX512VNNI__)\n"
                             "    __asm__(\"vpdpbusd %2, %1, %0\" : \"+v\"(sum) : \"v\"(a), \"vm\"(b));\n"
                             "    return sum;\n#else\n");
    if (width * 4 == 32 || width * 4 == 16)
        hn_str_add(c->folds, "#if defined(__AVX512VNNI__) && defined(__AVX512VL__)\n"
                             "    __asm__(\"vpdpbusd %2, %1, %0\" : \"+v\"(sum) : \"v\"(a), \"vm\"(b));\n"
                             "    return sum;\n#elif defined(__AVXVNNI__)\n"
                             "    __asm__(\"{vex} vpdpbusd %2, %1, %0\" : \"+x\"(sum) : \"x\"(a), \"xm\"(b));\n"
                             "    return sum;\n#else\n");
    hn_str_add(c->folds, bytes_text);
    hn_str_add(c->folds, width * 4 == 64 || width * 4 == 32 || width * 4 == 16 ? "#endif\n}\n#endif\n" : "}\n#endif\n");
}
