/* device/device_int.h — shared inside this room. */
#ifndef HN_DEVICE_INT_H
#define HN_DEVICE_INT_H

#include <hone/device.h>

/* Sets the rate (or all_cores) of this name; unknown names are ignored. */
void hn_device_set(hone_device *d, const char *name, double value);

#endif
