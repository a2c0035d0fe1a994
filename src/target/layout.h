/* target/layout.h — where code and data lie, varied at random: what a proof does to rule out luck of layout.
 *
 * Alignment is a word of the family's (hn_family.place); everything else is a script that is inserted into the linker's
 * own (INSERT; GNU ld and lld). Same seed, same words and text.
 */
#ifndef HN_CODE_LAYOUT_H
#define HN_CODE_LAYOUT_H

#include "target/family.h"

/* From the most to the least that is varied. */
typedef enum hn_code_layout {
    HN_LAYOUT_ORDER,     /* order of functions (every other variant), padding of all sections, alignment */
    HN_LAYOUT_SECTIONS,  /* padding of code, constants and data; alignment of functions */
    HN_LAYOUT_CODE,      /* padding of code, alignment of functions */
    HN_LAYOUT_ALIGNMENT, /* of functions */
    HN_LAYOUT_NONE,
    HN_N_LAYOUTS
} hn_code_layout;
const char *hn_layout_text(hn_code_layout layout);

/* Appends the words of variant i to `f`; writes its linker script into `dir` where there is one. A family that cannot
 * vary layouts adds nothing. E_IO, E_NOMEM. */
hone_rc hn_layout_words(const hn_family *family, hn_code_layout layout, uint64_t seed, size_t i, const char *dir,
                        hn_flags *f, hone_err *err);

/* The linker script of variant i. groups: patterns of symbols that are ordered at random, separated by |; NULL: by
 * their first two letters. */
void hn_layout_script(hn_code_layout layout, const char *groups, uint64_t seed, size_t i, hn_str *out);

#endif
