/* backend/cpu/nest_c_math.c — functions on vectors of floats: which there are, and the text of
 * src/backend/cpu/rt/math_*.h for one width. docs/math.md has their errors. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/nest_c.h"
#include "backend/spelling.h"

#include <stdio.h>

static const char *const part_name[HN_N_MATH] = {"base", "root", "exp", "log", "sin", "erf", "wide", "pow"};

const char *hn_c_function(hn_c *c, hn_op op, hone_dtype t) {
    const hn_spelling *f = &hn_spellings[op];
    bool wide = t == HONE_F64;
    if (!f->exact || (wide ? !f->wide : t != HONE_F32 && !hn_is_half(t))) return NULL;
    c->math |= 1u << HN_MATH_BASE | 1u << (wide ? HN_MATH_WIDE : f->part);
    if (f->part == HN_MATH_POW) c->math |= 1u << HN_MATH_EXP | 1u << HN_MATH_LOG;
    return c->relaxed && !wide ? f->relaxed : f->exact;
}

void hn_c_math_text(hn_str *out, int width, uint32_t files) {
    char part[16];
    for (unsigned k = 0; k < HN_N_MATH; k++) {
        if (!(files >> k & 1)) continue;
        snprintf(part, sizeof part, "math_%s", part_name[k]);
        hn_str_addf(out, "#ifndef HNK_%s_X%d\n#define HNK_%s_X%d\n#define HNK_W %d\n", part, width, part, width, width);
        hn_str_add(out, hn_runtime_text(part));
        hn_str_add(out, "#undef HNK_W\n#endif\n");
    }
}
