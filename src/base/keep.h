/* base/keep.h — files of a cache, found by name, in a folder whose size is bounded: the ones that were not asked for
 * longest go first. Several processes may use one folder. Each file ends with a hash of what is before it: a damaged
 * one is removed and not there. A cache that cannot be written or read is none: nothing here is an error.
 */
#ifndef HN_KEEP_H
#define HN_KEEP_H

#include <hone/base.h>

/* Copies dir/name to `to`, and marks it as used; false: it is not there. */
bool hn_keep_take(const char *dir, const char *name, const char *to);
/* Copies `from` to dir/name, making the folder. A file larger than `most_b` is not kept. */
void hn_keep_put(const char *dir, const char *name, const char *from, uint64_t most_b);
/* Removes what was used longest ago until the folder has at most `most_b` bytes. */
void hn_keep_trim(const char *dir, uint64_t most_b);

#endif
