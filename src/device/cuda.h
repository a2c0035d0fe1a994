/* device/cuda.h — where NVIDIA's compilers and tools are on this machine, for everything that runs one.
 *
 * Looked for in this order, each tool for itself: $HONE_CUDA; the folder that tools/cuda-tools.sh fills (`cuda` beside
 * the running program or one above it: build/cuda); $CUDA_HOME; /usr/local/cuda; then, for tools, PATH. A folder is a
 * toolkit as NVIDIA lays it out: bin, lib or lib64, include, nvvm.
 * Owns: results are malloc'ed; NULL: it is not installed.   Threads: any.
 */
#ifndef HN_CUDA_H
#define HN_CUDA_H

/* Path of a program: "ptxas", "cuobjdump", "cicc". */
char *hn_cuda_tool(const char *name);
/* Path of a shared library: "libnvrtc.so" is lib/libnvrtc.so, else the newest lib/libnvrtc.so.N. */
char *hn_cuda_library(const char *name);
/* The folder of the headers that belong to a library or tool found above: "…/include"; of any when `path` is NULL. */
char *hn_cuda_include(const char *path);
/* What to say where one is missing. */
extern const char hn_cuda_advice[];

#endif
