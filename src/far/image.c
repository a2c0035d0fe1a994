/* far/image.c — carries the agent program (built from agent.c, see the Makefile) in the library. */
#include "far/far_int.h"

#ifdef HN_FAR_AGENT

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".hidden hn_far_agent_from, hn_far_agent_to\n"
        ".globl hn_far_agent_from, hn_far_agent_to\n"
        "hn_far_agent_from:\n"
        ".incbin \"" HN_FAR_AGENT "\"\n"
        "hn_far_agent_to:\n"
        ".byte 0\n"
        ".text\n");

extern const char hn_far_agent_from[], hn_far_agent_to[];

const void *hn_far_image(size_t *n) {
    *n = (size_t)(hn_far_agent_to - hn_far_agent_from);
    return hn_far_agent_from;
}

#else

const void *hn_far_image(size_t *n) {
    *n = 0;
    return NULL;
}

#endif
