/* backend/cpu/nest_c_math.c — functions on vectors of floats: which there are, and the text of
 * src/backend/cpu/rt/math_*.h for one width. docs/math.md has their errors. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/nest_c.h"

#include <stdio.h>

typedef struct function {
    const char *exact, *relaxed;
    unsigned file;
} function;
enum { FILE_BASE, FILE_ROOT, FILE_EXP, FILE_LOG, FILE_SIN, FILE_ERF, FILE_WIDE, FILE_POW, N_FILES };
static const char *const file_name[N_FILES] = {"base", "root", "exp", "log", "sin", "erf", "wide", "pow"};
static const function functions[HN_N_OPS] = {
    [HN_OP_RSQRT] = {"rsqrt", "rsqrt", FILE_ROOT}, [HN_OP_EXP] = {"exp", "quick_exp", FILE_EXP},
    [HN_OP_EXPM1] = {"expm1", "expm1", FILE_EXP},  [HN_OP_SIGMOID] = {"sigmoid", "quick_sigmoid", FILE_EXP},
    [HN_OP_TANH] = {"tanh", "tanh", FILE_EXP},     [HN_OP_LOG] = {"log", "quick_log", FILE_LOG},
    [HN_OP_LOG1P] = {"log1p", "log1p", FILE_LOG},  [HN_OP_SIN] = {"sin", "quick_sin", FILE_SIN},
    [HN_OP_COS] = {"cos", "quick_cos", FILE_SIN},  [HN_OP_ERF] = {"erf", "quick_erf", FILE_ERF},
    [HN_OP_POW] = {"pow", "pow", FILE_POW},
};

static const function wide_functions[HN_N_OPS] = {
    [HN_OP_EXP] = {"exp", "exp", FILE_WIDE},
    [HN_OP_EXPM1] = {"expm1", "expm1", FILE_WIDE},
    [HN_OP_SIGMOID] = {"sigmoid", "sigmoid", FILE_WIDE},
    [HN_OP_TANH] = {"tanh", "tanh", FILE_WIDE},
    [HN_OP_LOG] = {"log", "log", FILE_WIDE},
};

const char *hn_c_function(hn_c *c, hn_op op, hone_dtype t) {
    const function *f = t == HONE_F64 ? &wide_functions[op] : &functions[op];
    if (!f->exact || (t != HONE_F64 && t != HONE_F32 && !hn_is_half(t))) return NULL;
    c->math |= 1u << FILE_BASE | 1u << f->file;
    if (f->file == FILE_POW) c->math |= 1u << FILE_EXP | 1u << FILE_LOG;
    return c->relaxed ? f->relaxed : f->exact;
}

void hn_c_math_text(hn_str *out, int width, uint32_t files) {
    char part[16];
    for (unsigned k = 0; k < N_FILES; k++) {
        if (!(files >> k & 1)) continue;
        snprintf(part, sizeof part, "math_%s", file_name[k]);
        hn_str_addf(out, "#ifndef HNK_%s_X%d\n#define HNK_%s_X%d\n#define HNK_W %d\n", part, width, part, width, width);
        hn_str_add(out, hn_runtime_text(part));
        hn_str_add(out, "#undef HNK_W\n#endif\n");
    }
}
