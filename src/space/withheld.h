/* space/withheld.h — parameters that a space would have elsewhere: who names one is told why it is not here.
 *
 * Owns: the texts, in the space.   Errors: E_NOMEM.
 */
#ifndef HN_WITHHELD_H
#define HN_WITHHELD_H

#include <hone/space.h>

enum { HN_WITHHELD_MOST = 4 };
/* Names that begin with `prefix` are withheld for this reason. At most HN_WITHHELD_MOST prefixes; more are left out. */
hone_rc hn_space_withhold(hone_space *space, const char *prefix, const char *why, hone_err *err);
/* Why there is no parameter of that name; NULL: nothing was said of it. */
const char *hn_space_withheld(const hone_space *space, const char *name);

#endif
