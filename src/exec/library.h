/* exec/library.h — a model's library, opened. Private to the room. */
#ifndef HN_EXEC_LIBRARY_H
#define HN_EXEC_LIBRARY_H

#include <hone/base.h>
#include <hone/model.h>

/* Also where it fails, *library is to be closed where it is not NULL. */
hone_rc hn_library_open(const char *path, void **library, const hone_model **model, hone_err *err);

#endif
