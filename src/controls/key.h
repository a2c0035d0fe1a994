/* controls/key.h — the key of a controls file: what must be unchanged for its claim to remain valid.
 *
 * The key is kept in the fields of a hone_controls (workload_hash … machine). It is filled part by part, each part from
 * one source of truth, so that a part that is not available today (a compiler that was removed) is only a difference.
 * Comparing is a pure function of two keys. Order does not count anywhere: not of sources, inputs, parameters.
 * Owns: nothing; texts go into the arena handed in.   Errors: E_IO, E_TOOL, E_NOMEM.
 */
#ifndef HN_KEY_H
#define HN_KEY_H

#include "base/arena.h"
#include "tune/workload.h"

#include <hone/check.h>
#include <hone/machine.h>
#include <hone/prove.h>

/* rules, inputs, baseline, hashes. E_NOMEM only. */
hone_rc hn_key_workload(const hone_workload *w, hone_controls *c, hn_arena *a, hone_err *err);
/* Hashes the workload's sources. E_IO names the file. */
hone_rc hn_key_sources(const hone_workload *w, hone_controls *c, hn_arena *a, hone_err *err);
/* c->compiler as it is installed today, and the baseline's if that is another. */
hone_rc hn_key_tools(const char *baseline_compiler, hone_controls *c, hn_arena *a, const char *cache_dir,
                     hone_err *err);
/* The post-link stage that `then` has, as its tool is today; fewer pairs where it is gone. */
hone_rc hn_key_post_link(const hone_controls *then, hone_controls *now, hn_arena *a, hone_err *err);
/* The passes that `then` has, with opt as it is today for its compiler. */
hone_rc hn_key_passes(const hone_controls *then, hone_controls *now, hn_arena *a, hone_err *err);
/* machine: of hone_machine_get. gpus: of another machine; NULL: what the compiler's family says. */
hone_rc hn_key_machine(const hone_machine *machine, const char *gpus, hone_controls *c, hn_arena *a, hone_err *err);

/* A growing list of differences, in an arena. */
typedef struct hn_differences {
    hn_arena *a;
    hone_difference *item;
    size_t n, room;
} hn_differences;
void hn_differ(hn_differences *d, const char *part, const char *what, const char *then, const char *now);
/* Adds every part in which two keys differ. Parts named in `skip` (NULL-terminated, may be NULL) are not looked at. */
void hn_key_compare(const hone_controls *then, const hone_controls *now, const char *const *skip, hn_differences *out);
/* Value of a pair by its name, NULL when there is none. */
const char *hn_pair_get(const hone_pair *p, size_t n, const char *name);

#endif
