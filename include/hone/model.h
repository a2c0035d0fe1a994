/* hone/model.h — what a compiled model offers: the C ABI of an artifact. This text is copied into every generated
 * header, so users need nothing of hone.
 *
 * A model is a constant; an instance holds an arena, the sizes of the last run and the state. Instances share the
 * weights. Threads: calls on different instances may run at once; one instance is used by one thread at a time. run()
 * allocates nothing (models whose intermediate sizes depend on data: only when a size exceeds all earlier ones). Errors
 * are codes; hone_model_error gives the text of an instance's last one.
 */
#ifndef HONE_MODEL_H
#define HONE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_MODEL_ABI 5
#define HONE_MODEL_RANK 16
#define HONE_MODEL_THREADS 1024 /* of one instance, at most */

typedef enum hone_model_rc {
    HONE_MODEL_OK = 0,
    HONE_MODEL_NOMEM = 1,    /* out of memory, in create or growth */
    HONE_MODEL_ARGUMENT = 2, /* a null pointer, a wrong count, a wrong element type or rank */
    HONE_MODEL_SHAPE = 3, /* a size differs from the model's, or is out of its range, or sizes contradict each other */
    HONE_MODEL_INDEX = 4, /* an index or a size computed from data is out of range */
    HONE_MODEL_WEIGHTS = 5, /* the weights file is missing, short, or another one */
    HONE_MODEL_SMALL = 6,   /* an output buffer is too small; dims say what is needed */
    HONE_MODEL_TARGET = 7,  /* the processor does not offer what the library was compiled for */
    HONE_MODEL_STATE = 8,   /* the state was lost in a run that failed, or what is loaded is not this model's */
    HONE_MODEL_DEVICE = 9,  /* the device failed, or refuses a kernel */
} hone_model_rc;

/* An input (data, dims set by the caller) or output (data and size_b of the buffer set by the caller, dims by run).
 * dtype: numbers of hone_dtype. data = NULL for an output: it stays in the arena and data points there after run, valid
 * until the instance's next run. */
typedef struct hone_model_tensor {
    void *data;
    size_t size_b;
    int32_t dtype;
    int32_t rank;
    int64_t dim[HONE_MODEL_RANK];
    int32_t space; /* the memory space that data lies in: 0, the host's; 1, that of the instance's device. An output
                    * without a buffer is given where its space says */
} hone_model_tensor;

/* A parameter of the model: dim -1 is symbolic, its expression is in `shape` ("[batch, seq]"), low and high bound it.
 */
typedef struct hone_model_port {
    const char *name, *shape;
    int32_t dtype, rank;
    int64_t dim[HONE_MODEL_RANK], low[HONE_MODEL_RANK], high[HONE_MODEL_RANK];
} hone_model_port;

typedef struct hone_model_instance hone_model_instance;

/* Runs fn(arg, i) for every i in [0, n), in any order, on any threads, and returns when all are done. */
typedef void hone_model_executor(void *context, void (*fn)(void *arg, int64_t i), void *arg, int64_t n);

typedef struct hone_model_config {
    size_t size;                   /* of this struct as the caller knows it: hone_model_defaults() */
    const char *weights;           /* path of the weights file; NULL: beside the library, as compiled */
    hone_model_executor *executor; /* NULL: the built-in pool */
    void *executor_context;
    int32_t n_threads; /* of the pool, or that the executor has, at most HONE_MODEL_THREADS; 0: all processors of the
                        * calling thread's affinity mask */
    int32_t device;    /* of a library for devices: number + 1; 0: the first one. Else 0, the host's processors */
} hone_model_config;
static inline hone_model_config hone_model_defaults(void) {
    hone_model_config c = {sizeof(hone_model_config), NULL, NULL, NULL, 0, 0};
    return c;
}

/* For inspection and for parity checks at compile time. symbol[-1] must be there and writable: a kernel that meets an
 * index out of range stores HONE_MODEL_INDEX in it. */
/* Work items [begin, end) of a kernel. buf: inputs, then results; symbol: sizes, symbol[-1] the error slot. Of a device
 * (hone_model.device): buf holds addresses there, symbol[-2] the hone_model_stream, which keeps the error slot. */
typedef void hone_kernel_fn(void *const *buf, const int64_t *symbol, int64_t begin, int64_t end, char *scratch);

typedef struct hone_model_kernel {
    const char *name, *source, *schedule;
    const char *winner; /* where a tuned schedule came from; "": the schedule is the cost model's choice */
    hone_kernel_fn *run;
} hone_model_kernel;

/* The program for some sizes. A run takes the first version behind number 0 whose sizes are the inputs', else number 0,
 * which takes all sizes. */
typedef struct hone_model_version {
    const char *sizes; /* "batch=1,seq=128"; "" */
    int32_t n_calls;   /* launches of kernels in the program */
    uint64_t arena_b;  /* 0 when it depends on symbolic sizes */
} hone_model_version;

/* A place in the program that launches a kernel. */
typedef struct hone_model_call {
    int32_t version;                   /* index */
    int32_t kernel;                    /* index */
    int32_t dtype;                     /* what it computes in: f32, f64, or u8 in products of bytes */
    const char *kind, *source, *shape; /* kind of kernel; node of the model; types of the results */
} hone_model_call;

/* What a call did in an instance's last run; all zero where it was not launched. */
typedef struct hone_model_time {
    int64_t begin_ns, time_ns; /* of the first launch, since the run began; of all launches together */
    int64_t count;             /* launches: in a loop there are several */
    double flops, bytes;       /* of all launches; operations (a multiply-add is two), and inputs and outputs once */
} hone_model_time;

typedef struct hone_model_profile {
    int32_t n_calls;
    const hone_model_call *call;
    const hone_model_time *(*time)(const hone_model_instance *m); /* n_calls of them, until the next run */
} hone_model_profile;

/* A queue of a device with its memory, whose addresses have addition and are followed by these functions (and, where
 * the driver's are pointers, as CUDA's, by the driver's). Streams are used by one thread at a time. */
typedef struct hone_model_stream hone_model_stream;
typedef struct hone_model_device {
    /* On device number `device` - 1, or (0) the first one. A failure's text: hone_model.error(NULL). */
    hone_model_rc (*open)(int32_t device, hone_model_stream **out);
    void (*close)(hone_model_stream *t); /* memory that is left goes with the device's last stream or instance */
    void *(*alloc)(hone_model_stream *t, int64_t size_b); /* aligned to 256; NULL: there is none */
    void (*free)(hone_model_stream *t, void *p);
    hone_model_rc (*put)(hone_model_stream *t, void *to, const void *from, int64_t size_b); /* from the host */
    hone_model_rc (*get)(hone_model_stream *t, void *to, const void *from, int64_t size_b); /* to the host; waits */
    /* Waits for all launches; *error: what kernels stored in the error slot, which is 0 again. */
    hone_model_rc (*sync)(hone_model_stream *t, int64_t *error);
    const char *(*error)(hone_model_stream *t);           /* of the failure that the stream is left with; "" */
    const char *(*about)(hone_model_stream *t);           /* the device's name */
    hone_model_stream *(*stream)(hone_model_instance *m); /* of an instance: what it may be given memory of */
} hone_model_device;

typedef struct hone_model {
    int32_t abi; /* HONE_MODEL_ABI */
    const char *name, *hone_version, *target;
    int32_t n_inputs, n_outputs, n_kernels, n_symbols;
    const hone_model_port *input, *output;
    const hone_model_kernel *kernel;
    uint64_t weights_b, arena_b; /* arena_b: 0 when it depends on symbolic sizes */
    hone_model_rc (*create)(const hone_model_config *config, hone_model_instance **out);
    hone_model_rc (*run)(hone_model_instance *m, const hone_model_tensor *in, size_t n_in, hone_model_tensor *out,
                         size_t n_out);
    void (*free)(hone_model_instance *m);
    const char *(*error)(const hone_model_instance
                             *m); /* text of the last failure; NULL m: of the calling thread's last failed create */
    const hone_model_profile *profile; /* NULL but in a build that times its kernels */
    /* The library's models, one per target, the most demanding first; this is one of them. create fails with
     * HONE_MODEL_TARGET where the processor does not offer the target. */
    int32_t n_targets;
    const struct hone_model *const *targets;
    int32_t n_versions;
    const hone_model_version *version;
    int32_t (*last_version)(const hone_model_instance *m); /* that the last run took */
    /* State: values that stay in an instance from one run to the next. Each stood for an input and an output of the
     * model (`name` is the input's), which are not among `input` and `output`. A new instance is as reset leaves it:
     * all zero, and sizes that no input gives are the smallest (a cache has no rows). A run that fails in its kernels
     * loses the state: HONE_MODEL_STATE until it is reset or loaded. */
    int32_t n_states;
    const hone_model_port *state;
    hone_model_rc (*reset)(hone_model_instance *m);
    /* Another instance with the same configuration and a copy of the state. */
    hone_model_rc (*fork)(hone_model_instance *m, hone_model_instance **out);
    /* *size_b: the room at `to`, then what is needed; HONE_MODEL_SMALL (to = NULL, too) when that is less. What is
     * saved names the model; another model's, or damaged bytes, are refused by load with HONE_MODEL_STATE. */
    hone_model_rc (*save)(hone_model_instance *m, void *to, size_t *size_b);
    hone_model_rc (*load)(hone_model_instance *m, const void *from, size_t size_b);
    /* Where state i lies, and its sizes by now; data is valid until the next run. */
    hone_model_rc (*peek)(hone_model_instance *m, int32_t i, hone_model_tensor *out);
    /* The first dimension of state i, which no input gives, becomes n. What is there stays, as far as it fits; further
     * elements hold anything. HONE_MODEL_SHAPE: beyond its bounds. */
    hone_model_rc (*resize)(hone_model_instance *m, int32_t i, int64_t n);
    const hone_model_device *device; /* NULL: kernels run on the host's processors */
} hone_model;

/* Every shared library exports this one symbol; a static one exports <name>_model. Of several targets it gives the
 * first that the processor offers, or the one that the environment variable HONE_MODEL_TARGET names. */
typedef const hone_model *hone_model_entry(void);
#define HONE_MODEL_ENTRY "hone_model_query"

#ifdef __cplusplus
}
#endif
#endif
