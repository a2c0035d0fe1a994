/* tune/hot_files.h — which files of a program take its time: those that get controls of their own (by_file.h).
 *
 * The baseline is built in pieces (cut_build.h), runs on the training inputs while it is sampled, and every sample
 * counts for the file whose object has the function: by perf where the kernel permits it, else by gprof (a build with
 * -pg). The answer is kept like that of post_link.h, so that all commands see the same files. Owns: texts, in the
 * plan's arena.   Errors: E_INPUT (a file that was named is not compiled), E_UNSUPPORTED, E_IO, E_NOMEM,
 * E_INTERRUPTED.
 */
#ifndef HN_HOT_FILES_H
#define HN_HOT_FILES_H

#include "tune/build.h"

/* Fills plan->file; none: plan->no_files says why. The plan has its space and its baseline. */
hone_rc hn_hot_files_look(hn_plan *plan, const hone_tune_options *options, hone_err *err);

#endif
