/* rt/driver.h — what a driver of devices does, as a struct of functions: rt/driver_opencl.h is one. Text carried
 * into artifacts, and part of the library itself; C11 alone, nothing of hone.
 *
 * A *device* is opened by number and owns everything made on it (queues, memory, modules, kernels): close frees what is
 * left. A *queue* runs what it is given in order, beside other queues. An *address* (hnd_at) names a byte of a device's
 * memory: a number with addition, valid inside the allocation that it began in; only the device follows it. 0 is no
 * address. Allocations are aligned to 256 bytes, their content is undefined; what is freed while a queue uses it is
 * freed when the queue is through.
 *
 * Host memory: put has read it and get has written it when the call returns, so that get waits for all that its queue
 * was given before; copy, fill and launch return at once. A launch has taken its arguments when it returns.
 *
 * A kernel's arguments are hnd_arg, addresses and 64-bit integers. How an address is passed is the driver's business:
 * one pointer (`cuda`), or `__global char *base, long offset` (`opencl`, which has no pointers that the host may add
 * to). The order of a kernel's arguments is device.h's.
 *
 * Threads: a device may be used by several at once, a queue by one at a time.   Errors: 0, or an hnd_rc with its text
 * in *err: lower case, without a full stop, with the driver's own name of it. A device that has faulted answers every
 * further call with HND_FAULT.
 */
#ifndef HND_DRIVER_H
#define HND_DRIVER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HND static inline __attribute__((unused))

typedef enum hnd_rc {
    HND_OK = 0,
    HND_NO_DRIVER, /* no library, no platform, no device of that number */
    HND_NOMEM,
    HND_BUILD,   /* the device's compiler refuses the text, or the binary is not for this device */
    HND_REFUSED, /* a launch or an argument that the device cannot take */
    HND_FAULT    /* a kernel read or wrote where nothing is, or the device ended */
} hnd_rc;

typedef struct hnd_err {
    int rc;
    char text[400];
} hnd_err;

typedef uint64_t hnd_at;

enum {
    HND_HAS_F64 = 1,
    HND_HAS_F16 = 2, /* arithmetic, not only storage */
    HND_HAS_ATOMIC64 = 4,
    HND_IS_CPU = 8,      /* the device is the host's processor */
    HND_SHARES_HOST = 16 /* its memory is the host's */
};

typedef struct hnd_info {
    char name[128];                  /* "NVIDIA H200", "pthread-AMD EPYC …" */
    char arch[64];                   /* "sm_90"; of OpenCL the platform's name */
    char driver[64];                 /* version of the driver */
    char version[96];                /* of the interface: "CUDA 13.0", "OpenCL 3.0 PoCL …" */
    uint64_t memory_b, alloc_most_b; /* all of it; one allocation at most */
    uint64_t shared_b;               /* of a block, at most */
    uint64_t cache_b;
    uint32_t units; /* multiprocessors, compute units */
    uint32_t clock_mhz;
    uint32_t threads_most; /* of a block */
    uint32_t lanes;        /* of a warp, or what a group's size should be a multiple of */
    uint32_t has;          /* HND_HAS_… */
} hnd_info;

/* A text in the driver's language, or binaries of it. Borrowed for the call. */
typedef struct hnd_image {
    const char *arch; /* "sm_80"; "ptx": for this architecture and later ones; NULL: a binary that the driver knows */
    const void *data;
    size_t size_b;
    int32_t first; /* of "ptx": the architecture it was made for: 80 */
} hnd_image;
typedef struct hnd_source {
    const char *text; /* NULL: there are binaries alone */
    size_t text_b;
    const char *options; /* of the device's compiler; NULL: none */
    const hnd_image *image;
    uint32_t n_image;
} hnd_source;

typedef struct hnd_arg {
    int64_t value; /* an address, too */
    int32_t is_address;
} hnd_arg;

typedef struct hnd_launch {
    void *kernel;
    int64_t grid;        /* blocks, in one dimension */
    uint32_t cluster;    /* of which so many neighbours run together, as the kernel's text says, too; 0: each alone */
    uint32_t threads[3]; /* of a block: x, y, z */
    uint32_t shared_b;   /* beside what the kernel declares */
    const hnd_arg *arg;
    uint32_t n_arg;
} hnd_launch;

typedef struct hnd_driver {
    int version;                 /* HND_VERSION */
    const char *name, *language; /* "opencl", "cuda", "shim"; "opencl" or "cuda": what its modules are written in */
    int (*count)(hnd_err *err);  /* devices there are; 0 with the reason */
    int (*open)(int index, void **device, hnd_err *err);
    void (*close)(void *device);                             /* accepts NULL */
    int (*describe)(int index, hnd_info *out, hnd_err *err); /* without opening it */

    int (*queue)(void *device, void **queue, hnd_err *err);
    void (*drop_queue)(void *device, void *queue); /* waits for it; accepts NULL */

    int (*alloc)(void *device, int64_t size_b, hnd_at *out, hnd_err *err);
    void (*free)(void *device, hnd_at at); /* accepts 0 */
    int (*put)(void *device, void *queue, hnd_at to, const void *from, int64_t size_b, hnd_err *err);
    int (*get)(void *device, void *queue, void *to, hnd_at from, int64_t size_b, hnd_err *err);
    int (*copy)(void *device, void *queue, hnd_at to, hnd_at from, int64_t size_b, hnd_err *err); /* no overlap */
    int (*fill)(void *device, void *queue, hnd_at to, int byte, int64_t size_b, hnd_err *err);

    int (*load)(void *device, const hnd_source *s, void **module, hnd_err *err); /* until close */
    int (*find)(void *device, void *module, const char *name, void **kernel, hnd_err *err);
    int (*launch)(void *device, void *queue, const hnd_launch *l, hnd_err *err);
    int (*sync)(void *device, void *queue, hnd_err *err); /* waits for all that the queue was given */

    /* A moment in a queue, and the seconds between two of one queue that are over (waits for them). */
    int (*mark)(void *device, void *queue, void **mark, hnd_err *err);
    int (*between)(void *device, void *from, void *to, double *seconds, hnd_err *err);
    void (*drop_mark)(void *device, void *mark); /* accepts NULL */

    /* What follows may be NULL: the driver has none.
     * Records what a queue is given instead of doing it, until end; replay gives all of it at once. Only launch, copy
     * and fill may be recorded, and what they use must stay as it is. */
    int (*record)(void *device, void *queue, hnd_err *err);
    int (*record_end)(void *device, void *queue, void **recording, hnd_err *err);
    int (*replay)(void *device, void *queue, void *recording, hnd_err *err);
    void (*drop_recording)(void *device, void *recording);
} hnd_driver;
enum { HND_VERSION = 2 };

__attribute__((format(printf, 3, 4))) HND int hnd_fail(hnd_err *err, int rc, const char *fmt, ...) {
    va_list ap;
    if (!err) return rc;
    err->rc = rc;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return rc;
}

#endif
