/* tune/cut_command.h — a build command as compilations and a link: one call of the compiler on its files, or calls that
 * compile some of them each and a last one that links.
 *
 * Understood are plain words and quotes, and calls joined by "&&", ";" or new lines. All are calls of the one compiler;
 * each file keeps the options of its call. What is linked are the objects that the calls before leave, once each, and
 * files that were there before. Owns: nothing; texts live in the arena given.
 */
#ifndef HN_CUT_COMMAND_H
#define HN_CUT_COMMAND_H

#include "target/family.h"

/* pgo: words of a profile-guided build are taken for what they are; else they are not understood. False: the command
 * does more, or something that only a shell understands. */
bool hn_cut_command(const hn_family *family, const char *cc, const char *shell, bool pgo, hn_arena *a, hn_cut *out);
/* Why the compilations cannot be made with edited passes; NULL: they can. */
const char *hn_cut_stages(const hn_cut *cut, hn_arena *a);

#endif
