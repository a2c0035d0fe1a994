/* compile/split.h — kernels of a model for a device that are faster on the host. */
#ifndef HN_SPLIT_MODEL_H
#define HN_SPLIT_MODEL_H

#include "artifact/artifact.h"

/* With options->split: kernels go to the host (hn_kernel_to_host) where a run is expected to take less time so, and
 * m->split says how many and why. Else, and where nothing is a device's, nothing happens. */
hone_rc hn_split_model(hn_model *m, hone_err *err);

#endif
