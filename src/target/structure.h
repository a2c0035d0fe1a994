/* target/structure.h — the genes that every family has: level, architecture, link-time and profile-guided
 * optimisation. Probing removes values that a compiler does not accept. */
#ifndef HN_STRUCTURE_H
#define HN_STRUCTURE_H

#include "target/target_int.h"

typedef struct hn_structure {
    const char *levels;       /* values of the family's level gene, separated by | */
    const char *tune, *width; /* names of the genes for the processor tuned for and the vector width; NULL: none */
} hn_structure;
void hn_structure_add(hone_target *t, hn_arena *a, hn_controls *out, const hn_structure *s);
/* Decides whether -march=native leaves out something this processor has (t->features); sets t->cpuid_flags. */
void hn_structure_cpuid(hone_target *t);
/* The flags that stand for a processor with these features, NULL when native already has them all. */
const char *hn_structure_missing(hn_arena *a, const char *features, const hn_cpu *cpu);

#endif
