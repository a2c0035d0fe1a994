/* tune/cut_build.h — a build command cut into compilations and a link, which run side by side, and objects that were
 * made before.
 *
 * A command is cut when it is calls of the recipe's compiler alone, on several files (cut_command.h); anything else
 * stays whole. Each file keeps the options of its call. Where opt runs the passes, a compilation is three stages in one
 * piece (target/opt.h). Each file is preprocessed first: what that leaves, the options, and the compiler make the key
 * of its object, so a file that no parameter reaches is compiled once for all values of them. Objects are kept by key:
 * as links in a folder of the run, and as copies in one of the cache, which is bounded and serves later runs. Bitcode,
 * which stands in front of the passes and does not depend on them, is kept for the run. Owns: texts, in its arena.
 * Borrows: the recipe.   Errors: a piece that fails is no error here; see hn_cut_build_ended.
 */
#ifndef HN_CUT_BUILD_H
#define HN_CUT_BUILD_H

#include "base/str.h"
#include "tune/plan.h"

typedef struct hn_cut_build hn_cut_build;

#define HN_CUT_BUILD_FOLDER "hone-pieces"
#define HN_CUT_BUILD_OBJECT HN_CUT_BUILD_FOLDER "/%zu.o" /* of the i-th file, in the private folder */

/* The files that a command compiles, by their places; false: it is cut into less than two, or not at all. Texts in `a`.
 */
bool hn_cut_build_sources(const hn_recipe *r, const char *shell, hn_arena *a, const char *const **source, size_t *n);

/* Why a command cannot be built with edited passes; NULL: it can. Texts in `a`. */
const char *hn_cut_build_stages(const hn_recipe *r, const char *shell, hn_arena *a);

/* dir: the private folder of the build; store: of the run's objects, NULL: objects are not kept; cache: of those
 * of all runs, NULL: none. NULL: the command stays whole. */
hn_cut_build *hn_cut_build_of(const hn_recipe *r, const char *shell, const char *dir, const char *store,
                              const char *cache);
/* The pieces as commands for people, the link last, all objects in one folder. False: it stays whole. */
bool hn_cut_build_commands(const hn_recipe *r, const char *shell, hn_str *out);
void hn_cut_build_free(hn_cut_build *p);

enum { HN_CUT_BUILD_MOST = 256 };             /* of more files a command stays whole */
size_t hn_cut_build_n(const hn_cut_build *p); /* what can run at once: one for each file, and the link */

/* The next command that can start, and its number; false: none can now. Numbers are used again when they ended. */
bool hn_cut_build_next(hn_cut_build *p, size_t *i, hn_str *shell);
/* The file and the stage in which a compilation through opt stopped, for people; NULL: it is another command. In `a`.
 */
const char *hn_cut_build_where(const hn_cut_build *p, size_t i, hn_arena *a);
/* It ended. False: it failed, or its result cannot be used; then the command is to be run whole. */
bool hn_cut_build_ended(hn_cut_build *p, size_t i, bool well);
/* Was everything made, the link last? */
bool hn_cut_build_over(const hn_cut_build *p);
void hn_cut_build_counts(const hn_cut_build *p, size_t *n_compiled, size_t *n_known);

#endif
