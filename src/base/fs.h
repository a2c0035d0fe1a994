/* base/fs.h — files and folders. Errors: E_IO names the path and the reason. */
#ifndef HN_FS_H
#define HN_FS_H

#include <hone/base.h>

#include <stdio.h>

/* Whole file, NUL-terminated beyond *n; free with free. At most 256 MiB (E_LIMIT). */
hone_rc hn_read_file(const char *path, char **text, size_t *n, hone_err *err);
/* Writes beside the path, syncs, then renames: after a crash the file is the old or the new one, never a mixture. Keeps
 * the mode of a file that was there; a link is replaced by a file. Anything but a regular file (a pipe, /dev/stdout) is
 * written directly.
 */
hone_rc hn_write_file(const char *path, const void *data, size_t n, hone_err *err);
/* As above for contents that `put` writes to a stream; `put` sets errno when it returns false. */
hone_rc hn_write_stream(const char *path, bool (*put)(FILE *f, void *arg), void *arg, hone_err *err);
/* mkdir -p. */
hone_rc hn_make_dirs(const char *path, hone_err *err);
/* rm -rf: links are removed, not followed; any depth; folders without permissions too. Refuses the root folder, a
 * folder that contains the current one, and mount points below the path. A missing path is fine. */
hone_rc hn_remove_tree(const char *path, hone_err *err);
bool hn_exists(const char *path);
bool hn_is_folder(const char *path); /* or a link to one */
/* Do the bytes say where Git LFS has the file, in its place? */
bool hn_is_lfs_pointer(const void *data, size_t n);
/* Path of a command as execvp would find it (PATH, or as is when it has a slash), resolved; malloc'ed; NULL if none.
 * An empty element of PATH, the current folder to execvp, is passed over. */
char *hn_which(const char *command);
/* $HOME, else the home folder of the passwd entry; malloc'ed; NULL when there is neither. */
char *hn_home_dir(void);
/* $XDG_CACHE_HOME/hone, ~/.cache/hone, or a folder of the user in /tmp; where that belongs to another user, a path that
 * cannot be created, since libraries are loaded from there. malloc'ed, NULL without memory. */
char *hn_cache_dir(void);
/* A folder of this user that nobody else may write to: made, or found to be one. */
bool hn_private_dir(const char *path);
/* dir/name, malloc'ed; name alone when it is absolute or dir is NULL or empty. */
char *hn_path_join(const char *dir, const char *name);

/* Advice to append to an error when a file just written cannot be loaded or run; "" when there is none. */
const char *hn_noexec_advice(const char *why);

#endif
