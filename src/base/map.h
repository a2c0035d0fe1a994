/* base/map.h — a whole file, mapped for reading. */
#ifndef HN_MAP_H
#define HN_MAP_H

#include <hone/base.h>

typedef struct hn_mapping {
    void *at;
    size_t n;
} hn_mapping;

/* n = 0 maps nothing. E_IO for what cannot be opened or is no regular file. */
hone_rc hn_map_file(const char *path, hn_mapping *out, hone_err *err);
void hn_unmap(hn_mapping *m); /* does nothing for a zeroed one */

#endif
