/* target/probe.h — trying command lines on a compiler.
 *
 * Owns: a temporary folder, from open to close.   Units: processor seconds.   Threads: one at a time.
 */
#ifndef HN_PROBE_H
#define HN_PROBE_H

#include "proc/proc.h"
#include "target/target_int.h"

typedef struct hn_probe_trial {
    const char *name, *value; /* a gene */
    bool ok;                  /* set when accepted */
} hn_probe_trial;

typedef struct hn_prober hn_prober;

/* E_TOOL when not even a plain compilation works. */
hone_rc hn_prober_open(hone_target *t, const hone_target_options *options, hn_prober **out, hone_err *err);
void hn_prober_close(hn_prober *p);
/* Tries n genes, each of another control, in groups. */
hone_rc hn_probe_trials(hn_prober *p, hn_probe_trial *trial, size_t n, hone_err *err);
/* Compiles, links and runs the probe program with these flags. */
bool hn_probe_link(hn_prober *p, const char *flags, bool profile); /* profile: with those that collect one */
/* The time for probing is used up: controls not tried count as not accepted. */
bool hn_prober_late(const hn_prober *p);
/* More trials to come, for the progress shown. */
void hn_prober_expect(hn_prober *p, size_t n);

#endif
