/* backend/device.h — the devices that drivers of backends find on this machine.
 *
 * Drivers start threads and keep memory, so they are opened in a child process: nothing of them stays here, and what
 * is forked later is safe. Where one is open in this process already, because a library was run, it is asked here: no
 * driver works in a child of the process that opened it. Threads: any.   Errors: a driver that is not there is no
 * device, with the reason.
 */
#ifndef HN_DEVICE_LIST_H
#define HN_DEVICE_LIST_H

#include "backend/gpu/rt/driver.h"
#include "base/err.h"

enum { HN_DEVICES_MOST = 64 };
typedef struct hn_devices {
    char place[HN_DEVICES_MOST][32]; /* "opencl:0": what --place takes */
    hnd_info info[HN_DEVICES_MOST];
    uint32_t n;
    char why[4][200]; /* of a driver without devices: the reason */
    uint32_t n_why;
} hn_devices;

/* Is a driver's library loaded in this process? */
bool hn_drivers_are_open(void);
/* driver: "opencl", "cuda"; NULL: all. E_NOMEM, E_IO (no process). */
hone_rc hn_devices_find(const char *driver, hn_devices *out, hone_err *err);

#endif
