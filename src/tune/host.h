/* tune/host.h — the machine that a workload's programs run on: this one, or that of `measure.on`. */
#ifndef HN_HOST_H
#define HN_HOST_H

#include "tune/workload.h"

#include <hone/machine.h>

/* What it is. far's GPUs: appended to `cpu` of a description that is to be read. Asks a far one at most once a
 * workload. stop: may be NULL. */
hone_rc hn_host_machine(const hone_workload *w, const volatile int *stop, hone_machine *out, hone_err *err);
/* GPUs and driver of a far machine, in the arena; NULL for this one, where the compiler's family knows them. */
const char *hn_host_gpus(const hone_workload *w, hn_arena *a);
/* "; runs on ssh://…, GPUs" in the arena; "" for this machine, or when that one was not asked. */
const char *hn_host_line(const hone_workload *w, hn_arena *a);
/* The core to measure on: the one asked for; -1: the last one there (-1 stays for a far machine, which knows its own).
 */
int hn_host_core(const hone_workload *w, int asked);
/* Why the baseline's flags do not fit a far machine, in the arena; NULL when nothing is known against them. */
const char *hn_host_doubt(const hone_workload *w, const hone_machine *host, hn_arena *a);

#endif
