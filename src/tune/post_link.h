/* tune/post_link.h — BOLT behind the linker, as controls: the parameter "post.bolt" turns the stage on, "post.bolt.…"
 * are its options. The baseline has none of it.
 *
 * A build with the stage is linked with its relocations, instrumented, run on the training inputs, and laid out anew by
 * the profile. The profile belongs to the linked program: it is kept in the folder of caches by that program's code,
 * the training and the tool, so that sets of options share it. The stage is tried once on the baseline. Where that
 * fails it is not offered; plan->no_post_link says why. The answer is kept like that of unread.h. Owns: texts, in the
 * plan's arena.   Errors: E_UNSUPPORTED (programs run on another machine), E_IO, E_NOMEM, E_INTERRUPTED.
 */
#ifndef HN_POST_LINK_H
#define HN_POST_LINK_H

#include "tune/build.h"

#define HN_POST_LINK "post.bolt"

/* Looks whether it works here; the plan has its space and its baseline. */
hone_rc hn_post_link_look(hn_plan *plan, const hone_tune_options *options, hone_err *err);
/* Adds the parameters, where it was seen to work. */
hone_rc hn_post_link_add(hn_plan *plan, hone_err *err);
/* Adds what `point` chose to the recipe. */
hone_rc hn_post_link_apply(const hn_plan *plan, const double *point, hn_recipe *r, hone_err *err);
/* Sets a combination known to pay; false: there are no more than i. */
bool hn_post_link_set(const hn_plan *plan, size_t i, double *point);
/* Can programs of target t have the stage? */
bool hn_post_link_serves(const hn_plan *plan, size_t t);

/* --- a build's profile -------------------------------------------------------------------------------------------- */

/* The key of a linked program's profile. */
void hn_post_link_key(const hn_build_config *cfg, const hn_recipe *r, const char *linked_hash, char hex[33]);
/* Puts the profile that was kept into the build's folder; false: there is none. */
bool hn_post_link_recall(const hn_build_config *cfg, const char *key, const char *dir);
/* Keeps the profile of the build's folder. */
void hn_post_link_keep(const hn_build_config *cfg, const char *key, const char *dir);

#endif
