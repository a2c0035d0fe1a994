/* cubin/tools.h — CUDA's tools for machine code, run as child processes. */
#ifndef HN_CUBIN_TOOLS_H
#define HN_CUBIN_TOOLS_H

#include "base/arena.h"

typedef enum hn_code_tool { HN_CUOBJDUMP, HN_NVDISASM, HN_PTXAS } hn_code_tool;

typedef struct hn_tool_run {
    hn_code_tool tool;
    const char *const *argv; /* without the tool itself; NULL-terminated */
    const char *cwd;         /* NULL: as it is */
    const volatile int *stop;
    const char *out; /* what it printed */
    size_t out_n;
} hn_tool_run;
/* Runs it; what it prints is kept in `a`. E_TOOL names a tool that is missing and says how it is installed. */
hone_rc hn_tool_text(hn_tool_run *run, hn_arena *a, hone_err *err);
/* Is it there? */
bool hn_code_tool_present(hn_code_tool tool);
/* Are those there that read a cubin? E_UNSUPPORTED names what is missing. */
hone_rc hn_code_tools_present(hone_err *err);

#endif
