/* import/fronts.h — all front ends. */
#ifndef HN_FRONTS_H
#define HN_FRONTS_H

#include "front/front.h"

/* Front ends in the order in which they are asked whether a file is theirs; NULL past the end. */
const hn_front *hn_front_at(size_t i);
/* The one whose folders look like this; NULL: none. */
const hn_front *hn_front_of_folder(const char *path);
/* By content, else by the end of the path's name (path may be NULL); NULL: none. */
const hn_front *hn_front_of(const void *head, size_t n, const char *path);

#endif
