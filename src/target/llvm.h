/* target/llvm.h — LLVM's own options, for every compiler that is made of it.
 *
 * The default space holds the options of llvm_curated.def, `all` every other that llvm_rules.def does not exclude.
 */
#ifndef HN_LLVM_H
#define HN_LLVM_H

#include "target/structure.h"

/* Adds the options that `help` (--help-list-hidden) lists, called PREFIX + name; values: what -print-all-options
 * prints, "" where that cannot be asked. E_TOOL: too few are listed. */
hone_rc hn_llvm_discover(hn_arena *a, const char *prefix, const char *help, const char *values, bool all,
                         hn_controls *out, hone_err *err);
hn_rule hn_llvm_classify(const char *name, bool takes_value);
/* The libraries that the compiler's binary is linked with and that make code. */
/* LLVM's libraries that a program is linked with, a path a line; malloc'ed. */
hone_rc hn_llvm_libraries(const char *program, char **lines, hone_err *err);
hone_rc hn_llvm_code_files(hone_target *t, char **lines, hone_err *err);
/* The option that must stand beside this one for results to stay the same; NULL: none. A forced vector width counts for
 * LLVM as a hint of the programmer's that floating-point reductions may be reordered. */
const char *hn_llvm_companion(const char *name);

/* clang's own -f options and LLVM's. behind: the target is a front that hands on what follows --clang. clang.c */
hone_rc hn_clang_discover(hone_target *t, hn_arena *a, bool behind, bool all, hn_controls *out, hone_err *err);

#endif
