/* target/layout.h — where code and data lie, varied at random, so that a proof does not mistake an effect of the layout
 * for a gain.
 *
 * Alignment is a compiler flag (hn_family.place); everything else is a script that is inserted into the linker's own
 * (INSERT; GNU ld and lld). The same seed gives the same flags and script.
 */
#ifndef HN_CODE_LAYOUT_H
#define HN_CODE_LAYOUT_H

#include "target/family.h"

/* From the strongest to the weakest variation. */
typedef enum hn_code_layout {
    HN_LAYOUT_ORDER,     /* order of functions (every other variant), padding of all sections, alignment */
    HN_LAYOUT_SECTIONS,  /* padding of code, constants and data; alignment of functions */
    HN_LAYOUT_CODE,      /* padding of code, alignment of functions */
    HN_LAYOUT_ALIGNMENT, /* of functions */
    HN_LAYOUT_NONE,
    HN_N_LAYOUTS
} hn_code_layout;
const char *hn_layout_text(hn_code_layout layout);

/* Appends the words of variant i to `f`; writes its linker script, if the layout needs one, into `dir`. A family that
 * cannot vary layouts adds nothing. E_IO, E_NOMEM. */
hone_rc hn_layout_words(const hn_family *family, hn_code_layout layout, uint64_t seed, size_t i, const char *dir,
                        hn_flags *f, hone_err *err);

/* The linker script of variant i. groups: patterns of symbols that are ordered at random, separated by |; NULL: by
 * their first two letters. */
void hn_layout_script(hn_code_layout layout, const char *groups, uint64_t seed, size_t i, hn_str *out);

#endif
