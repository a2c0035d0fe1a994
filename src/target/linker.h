/* target/linker.h — linkers that a compiler can be told to use. Names are stored in records. */
#ifndef HN_LINKER_H
#define HN_LINKER_H

#include "target/family.h"

enum { HN_N_LINKERS = 4 };
const char *hn_linker_at(size_t i); /* "bfd", "gold", "lld", "mold" */
/* The word that chooses it, in `a`; NULL: this family has none, or memory is out. */
const char *hn_linker_word(hn_arena *a, const hone_target *t, const char *name);
/* Is it installed, and does this compiler link a program with it without a warning? */
bool hn_linker_works(const hone_target *t, const char *name);

#endif
