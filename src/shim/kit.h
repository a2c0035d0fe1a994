/* shim/kit.h — what runs CUDA kernels on the CPU, as files: hone-shim.so, hone-shim-cc and the headers that it puts
 * before a kernel's source (src/shim/rt, src/shim/cc). libhone carries them.
 *
 * Threads: any.   Errors: E_IO, E_TOOL names what the compiler said.
 */
#ifndef HN_SHIM_KIT_H
#define HN_SHIM_KIT_H

#include <hone/base.h>

/* Their folder, in the cache, by their contents; written where it is missing. malloc'ed. */
hone_rc hn_shim_folder(char **out, hone_err *err);

/* Compiles CUDA C to a library that the shim runs. flags: NULL-terminated, for g++; may be NULL. stop: may be NULL.
 * E_TOOL: the compiler's messages. */
hone_rc hn_shim_compile(const char *source, const char *module, const char *const *flags, const volatile int *stop,
                        hone_err *err);

#endif
