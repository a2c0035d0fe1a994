/* build/build.h — the C compiler on a library's sources; libraries that were compiled before.
 *
 * Files are in the library's temporary folder. Threads: one at a time.
 */
#ifndef HN_BUILD_LIBRARY_H
#define HN_BUILD_LIBRARY_H

#include "artifact/artifact.h"
#include "base/hash.h"

/* build.c: the library at work/model.so from the units that are stale. */
hone_rc hn_build(hn_library *l, hone_err *err);
/* images.c: machine code of the models for devices that a compiler here makes, and mN_images.h for each. */
hone_rc hn_build_images(hn_library *l, size_t n_at_once, hone_err *err);
bool hn_has_images(const hn_library *l);
void hn_images_identity(const hn_library *l, char *out, size_t n); /* "": no compiler */
const char *hn_compiler_of(const hn_model *m);
/* A command line that is put together in an array. */
enum { HN_MOST_ARGS = 80 };
typedef struct hn_command {
    const char *argv[HN_MOST_ARGS + 1];
    size_t n;
} hn_command;
void hn_command_add(hn_command *c, const char *word);
/* Parts of cc_flags.def: of every unit; of linking a library; of one kernel alone, with and without libc. */
typedef enum hn_cc_part {
    HN_CC_LEVEL,
    HN_CC_TINY,
    HN_CC_UNIT,
    HN_CC_LINK,
    HN_CC_LIBRARIES,
    HN_CC_RUNNER,
    HN_CC_KERNEL,
    HN_CC_KERNEL_LIB,
    HN_CC_LEAN,
    HN_CC_LEAN_LIB
} hn_cc_part;
void hn_command_part(hn_command *c, hn_cc_part part);
/* The compiler and its flags: the model's, then those of `flags` (blank-separated, may be NULL; kept in a). */
void hn_command_compiler(const hn_model *m, const char *cc, const char *flags, hn_arena *a, hn_command *c);
bool hn_is_tiny(const hn_model *m); /* so little work that neither optimising nor a second process pays */

/* identity.c: which compiler exactly, "gcc 12.2.0 …; hash", or NULL. */
const char *hn_identity_text(hn_arena *a, const char *cc, char family[16], hone_err *err);

/* cache.c: the library at work/model.so and what parity found, where this was compiled before; keeps what is new. */
bool hn_cache_take(hn_library *l);
void hn_cache_put(hn_library *l);
/* Adds the identity of the hone that runs here (the build id of its code); false: it has none. */
bool hn_hash_hone(hn_hash *h);

#endif
