/* hone/far.h — another machine on which candidates run, reached by the user's own ssh: docs/far.md.
 *
 * Threads: any.   Errors: E_INPUT: not a URL of that kind; E_IO: the machine cannot be reached.
 */
#ifndef HONE_FAR_H
#define HONE_FAR_H

#include <hone/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_far_info {
    hone_machine machine;
    char gpus[512];       /* "NVIDIA H200, NVIDIA H200; driver 580.65"; "" for none that is known of */
    char confined_by[64]; /* "Landlock (version 7)"; "": nothing */
    bool confines_writes, confines_network;
    uint64_t free_b; /* disk, in the folder that hone keeps there */
} hone_far_info;

/* Asks the machine "ssh://user@host:port/path" what it is; brings hone's agent there. */
HONE_API hone_rc hone_far_ask(const char *url, hone_far_info *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
