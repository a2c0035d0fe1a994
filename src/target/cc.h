/* target/cc.h — what compilers with gcc's command line have in common: gcc and clang. */
#ifndef HN_CC_H
#define HN_CC_H

#include "target/structure.h"

void hn_cc_spell(hn_flags *f, const hone_target *t, const char *name, const char *value);
void hn_cc_read(const hone_target *t, const char *const *word, size_t n, hn_said *out);
void hn_cc_define(hn_str *out, const char *name, const char *value);
void hn_cc_place(hn_flags *f, const hn_placing *how);
/* iso_is_strict: does -std=c… turn contraction off? */
hone_fp hn_cc_contract(const char *baseline, const char *build, bool iso_is_strict);

/* cut.c */
bool hn_cc_cut(hn_arena *a, const char *const *word, size_t n, hn_cut *out);

/* layout.c — the GNU linker and ELF. */
extern const hn_listing hn_listing_objdump;
const char *hn_elf_source_name(hn_arena *a, const char *symbol);
bool hn_is_elf_object(const char *path);

extern const char *const hn_cc_strict[], *const hn_cc_contracted[], *const hn_cc_fast[];
extern const hn_unread hn_cc_unread[];
extern const hn_probe_program hn_cc_probe;
extern const char *const hn_cc_levels[];
extern const hn_structure hn_cc_structure;
extern const hn_language hn_language_c, hn_language_cxx;

#define HN_CC_FAMILY                                                                                                   \
    .version = 1, .level = "-O", .arch = "-march", .levels = hn_cc_levels, .spell = hn_cc_spell, .read = hn_cc_read,   \
    .define = hn_cc_define, .baseline = "-O3 -march=native", .plain = "-O2", .worst = "-O0",                           \
    .tunable = "-O*|-m*|-flto*|-funroll*|-ffast-math*|-ftree-*|-finline*",                                             \
    .stays = "-m32*|-m64*|-mx32*|-mcmodel*|-mabi*|-mno-red-zone*|-mthumb*", .no_program = "-c",                        \
    .profiled = "-fprofile-*", .reads = "-MM", .cut = hn_cc_cut, .compile_only = "-c", .preprocess_only = "-E",        \
    .contract = {[HONE_FP_STRICT] = hn_cc_strict, [HONE_FP_CONTRACT] = hn_cc_contracted, [HONE_FP_FAST] = hn_cc_fast}, \
    .pgo_generate = "-fprofile-generate=%s", .pgo_use = "-fprofile-use=%s", .linker = "-fuse-ld=%s",                   \
    .to_linker = "-Wl,%s", .probe_level = "-O3", .unread = hn_cc_unread, .probe = &hn_cc_probe, .place = hn_cc_place,  \
    .listing = &hn_listing_objdump, .source_name = hn_elf_source_name

#endif
