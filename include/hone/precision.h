/* hone/precision.h — which products of a model of floats are computed in fewer bits: chosen on samples, and what it
 * costs.
 *
 * A choice is a text (docs/precision.md) that hone_compile_options.precision takes. Samples are arrays, those of sample
 * s at sample[s * n_inputs + i] for input i of the graph; they are borrowed.
 * Threads: one call at a time for an artifact.
 * Errors: E_USAGE (an option, no samples), E_INPUT (the model refuses a sample: its own text), E_UNSUPPORTED (nothing
 * in the model can be narrow, or it has state), E_INTERRUPTED, E_NOMEM, those of hone_compile_graph.
 */
#ifndef HONE_PRECISION_H
#define HONE_PRECISION_H

#include <hone/artifact.h>
#include <hone/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Samples of a graph's inputs: input i of sample s is a[s * n_inputs + i]. {0}: none yet. */
typedef struct hone_precision_samples {
    hone_array *a; /* their data is borrowed */
    size_t n, n_inputs;
} hone_precision_samples;
/* Adds what n_arrays arrays hold, which stay the caller's and must last as long. They belong to inputs by name, or,
 * where there is one of both, without. An array has the input's shape with the samples along its first axis, or one
 * axis more in front; one with a single sample is shared by all. E_INPUT: names the label, the input and what differs.
 */
HONE_API hone_rc hone_precision_add_samples(hone_precision_samples *s, const hone_graph *g, const char *label,
                                            const char *const *name, const hone_array *array, size_t n_arrays,
                                            hone_err *err);
/* Every fourth sample (3, 7, 11, …) is held out, the others are taken: both lists borrow what `all` does, and belong to
 * the caller (hone_precision_free_samples). */
enum { HONE_PRECISION_HOLD = 4 };
HONE_API hone_rc hone_precision_divide(const hone_precision_samples *all, hone_precision_samples *taken,
                                       hone_precision_samples *held, hone_err *err);
HONE_API void hone_precision_free_samples(hone_precision_samples *s);

typedef struct hone_precision_options {
    size_t size;            /* hone_precision_defaults() sets it */
    const char *calibrate;  /* how ranges follow from values: "mse" (NULL), "minmax", "percentile", "entropy" */
    double percentile;      /* of 100 values so many lie within, above 50; 0: 99.99 */
    bool no_smooth;         /* columns of activations that stand out stay as they are */
    const char *compiler;   /* of the model that is run on the samples; NULL: cc */
    uint32_t n_jobs;        /* as hone_compile_options */
    uint32_t n_threads;     /* 0: processors */
    hone_progress progress; /* stages: those of hone_compile_options, then "samples" */
    const volatile int *stop;
    const char *keep; /* "dir/name": the library that was run on the samples stays, dir/name.so and what belongs to it.
                         Its first outputs are the model's, so hone_precision_compare takes it as the exact one */
} hone_precision_options;
static inline hone_precision_options hone_precision_defaults(void) {
    hone_precision_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

/* All products of the graph that can be products of bytes, with ranges from the samples. *text: the choice; hone_free.
 */
HONE_API hone_rc hone_precision_choose(const hone_graph *g, const hone_array *sample, size_t n_samples,
                                       const hone_precision_options *options, char **text, hone_err *err);

/* All products of the graph that can be narrow, with both operands rounded to bf16 and sums of f32; needs no samples.
 * *text as of hone_precision_choose. */
HONE_API hone_rc hone_precision_bf16(const hone_graph *g, char **text, hone_err *err);

/* What a text says, checked. E_INPUT: label:line:column: … */
typedef struct hone_precision_summary {
    uint32_t n_narrow, n_products;
    uint32_t n_halves; /* of the narrow ones, in bf16 */
} hone_precision_summary;
/* E_TAMPERED: the text is signed, and was changed since. */
HONE_API hone_rc hone_precision_read(const char *text, const char *label, hone_precision_summary *out, hone_err *err);

/* Signs the file in place, as hone_controls_sign: an earlier signature is replaced. A signed file says so at its end,
 * and is used only as long as the signature fits. E_TAMPERED: it was signed and then changed; E_INPUT: no precision
 * file. */
HONE_API hone_rc hone_precision_sign(const char *path, const char *secret_key_path, hone_err *err);
/* Is the text signed, and with that key (NULL: any)? E_NOTFOUND: not signed; E_MISMATCH: with another key; E_TAMPERED;
 * E_IO, E_INPUT: no key file. signer: receives the key, "" for none, also where the call fails; NULL: not asked for. */
enum { HONE_SIGNER_TEXT = 45 };
HONE_API hone_rc hone_precision_verify(const char *text, const char *label, const char *public_key_path,
                                       char signer[HONE_SIGNER_TEXT], hone_err *err);

/* How far an output of one model lies from that of another, over all samples. */
typedef struct hone_precision_error {
    bool is_float;          /* else only n_elements and n_other are set */
    double rms, largest;    /* of the differences: by the root mean square, and by the largest element, of the exact */
    uint64_t n_elements;    /* finite pairs */
    uint64_t n_other;       /* pairs where one alone is finite, or integers that differ */
    uint64_t n_rows, n_top; /* rows along the last dimension; those whose largest element is at the same place */
} hone_precision_error;
/* out: one per output of `narrow`. Both models have the same inputs, and the first outputs of `exact` are those of
 * `narrow`; E_FAILED: a shape differs. */
HONE_API hone_rc hone_precision_compare(hone_artifact *narrow, hone_artifact *exact, const hone_array *sample,
                                        size_t n_samples, hone_precision_error *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
