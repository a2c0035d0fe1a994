/* backend/gpu/rates.h — what a device does at most, measured through its driver. Private to the folder and its tests.
 */
#ifndef HN_GPU_RATES_H
#define HN_GPU_RATES_H

#include "backend/gpu/rt/driver.h"

#include "base/str.h"

#include <hone/places.h>

/* Opens the device, in this process. hnd_rc, with its text; *out is whole or untouched. Halves: 0 where its compiler
 * has no kernel of theirs. */
int hn_rates_measure(const hnd_driver *d, int index, hone_place_rates *out, hnd_err *err);

/* The text of devices.yaml: the entry of a place; and the text anew, with `old`'s entries of other devices. */
hone_rc hn_rates_find(const hone_place *place, const char *text, size_t n, const char *label, hone_place_rates *out,
                      hone_err *err);
void hn_rates_text(const hone_place *place, const hone_place_rates *r, const char *old, size_t n, hn_str *out);

#endif
