/* controls/pack.h — the index of a pack as text, for its fuzzer. */
#ifndef HN_PACK_H
#define HN_PACK_H

#include <hone/pack.h>

/* Reads an index; looks at none of the files it names. */
hone_rc hn_pack_parse(const char *text, size_t n, const char *label, const char *dir, hone_pack *out, hone_err *err);

#endif
