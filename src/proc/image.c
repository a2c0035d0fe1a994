/* proc/image.c — carries the supervisor program (built from supervise.c, see the Makefile) in the library. */
#include "proc/proc_int.h"

#ifdef HN_SUPERVISOR

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".hidden hn_supervisor_from, hn_supervisor_to\n"
        ".globl hn_supervisor_from, hn_supervisor_to\n"
        "hn_supervisor_from:\n"
        ".incbin \"" HN_SUPERVISOR "\"\n"
        "hn_supervisor_to:\n"
        ".byte 0\n"
        ".text\n");

extern const char hn_supervisor_from[], hn_supervisor_to[];

const void *hn_supervisor_image(size_t *n) {
    *n = (size_t)(hn_supervisor_to - hn_supervisor_from);
    return hn_supervisor_from;
}

#else

const void *hn_supervisor_image(size_t *n) {
    *n = 0;
    return NULL;
}

#endif
