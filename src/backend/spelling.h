/* backend/spelling.h — how the pointwise operations are spelt: backend/spelling.def, a row for each, as a table. */
#ifndef HN_SPELLING_H
#define HN_SPELLING_H

#include "base/str.h"
#include "nest/nest.h"

#include <stdarg.h>

/* Files rt/math_*.h of the functions on vectors, in the order in which they compile. */
typedef enum hn_math_part {
    HN_MATH_BASE,
    HN_MATH_ROOT,
    HN_MATH_EXP,
    HN_MATH_LOG,
    HN_MATH_SIN,
    HN_MATH_ERF,
    HN_MATH_WIDE,
    HN_MATH_POW,
    HN_N_MATH
} hn_math_part;

typedef struct hn_spelling { /* the columns of spelling.def; NULL: there is no such form */
    const char *real, *single, *i64, *u64, *sint, *uint, *infix, *turned, *exact, *relaxed;
    hn_math_part part;
    bool wide;
} hn_spelling;
extern const hn_spelling hn_spellings[HN_N_OPS]; /* all NULL: the operation is not pointwise, or has rules of its own */

static inline bool hn_is_comparison(hn_op op) { return hn_spellings[op].turned != NULL; }

/* The letter of a buffer's name; what a pointer to it points at, behind "hnr_". */
char hn_buf_letter(hn_space s);
const char *hn_buf_pointee(const hn_nbuf *b);
/* Appends a line of code, so many blocks deep. */
__attribute__((format(printf, 3, 0))) void hn_spell_line(hn_str *out, int indent, const char *fmt, va_list ap);
/* Appends a form with its operands in place. cast_double: what turns an operand into a double ("", "(double)"). */
void hn_spell(hn_str *out, const char *form, const char *cast_double, const char *const operand[]);

#endif
