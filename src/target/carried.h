/* target/carried.h — the compilers that hone brings as commands: hone-nvrtc, hone-clang-cuda, hone-opencl. */
#ifndef HN_CARRIED_H
#define HN_CARRIED_H

#include "target/target_int.h"

/* Path of a copy of the driver with these settings ("library=…\n"; driver/driver.h), in the cache folder, written where
 * it is missing, with hone's headers for kernels beside it; malloc'ed. NULL: that folder cannot be written. */
char *hn_carried_driver(const char *mode, const char *settings);

/* For a family whose commands are such drivers: they say themselves which files make code (--where). The first is what
 * hn_family.binary asks for, the others are code_files. */
char *hn_carried_binary(hone_target *t);
hone_rc hn_carried_code_files(hone_target *t, char **lines, hone_err *err);

#endif
