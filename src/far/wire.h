/* far/wire.h — what hone and its agent on another machine say to each other: frames of fields over one stream.
 *
 * A frame is a head of 16 bytes, "hn", its kind, 12 decimal digits and a newline, and so many bytes. Its fields are
 * texts one behind the other, each with its NUL; contents of files follow the fields as they are.
 *
 * hone to agent                                             agent to hone
 *   f  folder, then path, mode, size, hash of each file       n  hashes that are not there
 *   b  hash, contents                                         -
 *   l  as f: fills the folder from contents sent before       k  done
 *   r  a run: see put_run in far.c                             .  it still runs or waits; o  path, contents; d  the
 * result x  folder: removes it                                     - i i  the machine s  stop the run (the result)
 * Instead of any answer:                                      e  what went wrong on the agent's side
 */
#ifndef HN_FAR_WIRE_H
#define HN_FAR_WIRE_H

#include "base/str.h"

enum { HN_FAR_HEAD_B = 16 };
#define HN_FAR_MOST_B ((size_t)1 << 34)
#define HN_FAR_HELLO "\nhone-far 1\n"
#define HN_FAR_NEEDS "\nhone-far needs\n"

/* The head of a frame. read: false for what is none. */
void hn_far_head(char head[HN_FAR_HEAD_B + 1], char kind, size_t n);
bool hn_far_read_head(const char head[HN_FAR_HEAD_B], char *kind, size_t *n);

/* A growing payload; failure is sticky in the string. */
void hn_far_put(hn_str *s, const char *text); /* NULL: as "" */
void hn_far_put_number(hn_str *s, double v);
void hn_far_put_list(hn_str *s, const char *const *list); /* NULL-terminated, may be NULL: its length, then each */

/* Fields read one after the other; `bad` is sticky: a field that is not there is "" or 0. */
typedef struct hn_far_fields {
    const char *at, *end;
    bool bad;
} hn_far_fields;
const char *hn_far_field(hn_far_fields *f);
double hn_far_number(hn_far_fields *f);
/* A list in memory that the caller frees; the texts lie in the payload. NULL: bad, or no memory. */
const char **hn_far_list(hn_far_fields *f);

/* Is the path relative, and does it stay in its folder? */
bool hn_far_is_inside(const char *path);

#endif
