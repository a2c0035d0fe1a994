/* far/gpus.h — the GPUs of this machine without their driver's libraries, which a static program cannot load. */
#ifndef HN_FAR_GPUS_H
#define HN_FAR_GPUS_H

#include <stddef.h>

/* "NVIDIA H200, NVIDIA H200; driver 580.65"; "" where the kernel tells of none. */
void hn_far_gpus(char *out, size_t n);

#endif
