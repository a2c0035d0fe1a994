/* device/rank.h — which instruction sets of device/isa.def this processor runs. Threads: any. Never fails. */
#ifndef HN_DEVICE_RANK_H
#define HN_DEVICE_RANK_H

/* The highest rank within the processor's family; it runs the rows of that rank and below. */
int hn_device_rank(void);

#endif
