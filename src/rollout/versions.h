/* rollout/versions.h — versions of models: absolute paths, and hashes of what they hold.
 *
 * Errors: E_IO names the path.   Threads: re-entrant.
 */
#ifndef HN_VERSIONS_H
#define HN_VERSIONS_H

#include <hone/base.h>

/* The path made absolute, without "." and "..", links as they are; malloc'ed, NULL without memory. It need not exist.
 */
char *hn_version_path(const char *path);
/* What tells, without reading it, that a file or the files of a folder have changed: devices, numbers, sizes, times. */
hone_rc hn_version_stamp(const char *path, char stamp[33], hone_err *err);
/* Of the content: a file's bytes; a folder's files by name, its own folders left out. */
hone_rc hn_version_hash(const char *path, char hash[33], hone_err *err);

#endif
