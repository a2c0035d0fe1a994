/* program/program.h — a model's program: what the host does in a run, as a list of steps over values.
 *
 * A fused graph and its memory plan are lowered to a program (program_lower.c); a program has a text (program_print.c,
 * program_parse.c; docs/program.md), a verifier (program_verify.c) and printers to what the host runs: today C
 * (program_c.c). Values keep the numbers that the graph's values have, so that the slots of an artifact are theirs.
 * Owns: everything, in its arena, with a table of dimensions of its own; it stays where it was made.   Units: bytes,
 * elements. Threads: one at a time.   Errors: E_NOMEM; parsing E_INPUT; the verifier E_FAILED, naming the invariant.
 *
 * Invariants (hn_program_verify):
 *  1 every value named is declared; a view's base is no view, and has the view's elements;
 *  2 a symbol is defined before it is used, on every path through the program;
 *  3 a value is written before it is read, on every path;
 *  4 a value is not written into memory that holds another one which is still read;
 *  5 a kernel's values are in its memory space; what the host reads or writes itself is in the host's;
 *  6 weights and inputs are not written;
 *  7 `sizes` holds sizes, binds and checks alone; a loop's block has one `again`, at its top, and `stack` is nowhere
 *    else;
 *  8 a launch names a kernel there is; an output lies over an input only where the kernel allows it;
 *  9 every output is written, and its buffer is taken by one value at most;
 * 10 a copy moves elements of one type, as many as there is room for;
 * 11 an item of the arena has one value in each space, room for the largest size it can have, and lies inside the
 * arena; 12 a state has an old value, which is read alone, and a new one, which is written on every path and alone in
 * its state's second buffer where it lies there; `state` puts rows behind the first dimension of one state's old value.
 */
#ifndef HN_PROGRAM_H
#define HN_PROGRAM_H

#include "base/err.h"
#include "base/str.h"
#include "plan/storage.h"

typedef enum hn_step_kind {
#define HN_STEP(id, text, doc) HN_STEP_##id,
#include "program/steps.def"
#undef HN_STEP
    HN_N_STEPS
} hn_step_kind;

typedef enum hn_condition {
    HN_CHECK_EQUAL,     /* dim[0] = dim[1] */
    HN_CHECK_DIVISIBLE, /* dim[0] by number */
    HN_CHECK_SIZE,      /* dimension `number` of the input in[0] is dim[0]; text: the model's own name of it, or NULL */
    HN_CHECK_INSIDE,    /* dim[1] elements from dim[0] on, `number` apart, of dim[2] */
    HN_CHECK_PADDING,   /* dim[0] is not negative */
    HN_N_CHECKS
} hn_condition;

enum { HN_HOST = 0, HN_DEVICE = 1 }; /* memory spaces: the host's, then those of devices 1 … */

typedef struct hn_program_value {
    hn_type type;
    int32_t space;
    hn_memory where; /* NOWHERE: there is no value of this number */
    int32_t index;   /* of the input, the constant, the arena item, the growing buffer, the state */
    int32_t output;  /* the output whose buffer it takes where the caller hands one in, or -1 */
    hn_val base;     /* VIEW: whose memory it is */
    hn_dim room;     /* the most elements where data decides the number; 0: as the type says */
    const char *name;
} hn_program_value;

typedef struct hn_program_kernel {
    const char *name, *kind;
    int32_t space;
    uint64_t in_place; /* bit i: output 0 may lie over input i */
} hn_program_kernel;

typedef struct hn_step {
    hn_step_kind kind;
    hn_condition check;
    uint32_t kernel, n_in, n_out, n_symbol, n_dim;
    hn_val *in, *out;
    hn_symbol *symbol;
    hn_dim *dim;
    int64_t number;
    const char *text;
    uint32_t block[2];
} hn_step;

typedef struct hn_step_block {
    hn_step *step;
    uint32_t n, room;
} hn_step_block;

typedef struct hn_program_output {
    hn_val value;
    const char *name;
} hn_program_output;

/* What stays from run to run: the value that a run begins with, and the one that it leaves. */
typedef struct hn_program_state {
    const char *name, *output; /* of the model's input and output */
    hn_val old, value;
} hn_program_state;

typedef struct hn_program {
    hn_arena arena;
    hn_dims *dims;
    const char *name;
    hn_program_value *value; /* by number; [0] is none */
    hn_program_kernel *kernel;
    hn_program_output *output;
    hn_program_state *state;
    hn_plan_item *item;
    hn_step_block *block; /* HN_SIZES_BLOCK, HN_STEPS_BLOCK, then those of `if` and `loop` */
    uint32_t n_value, n_kernel, n_output, n_state, n_item, n_block, room_block;
    hn_sizes sizes;
    int64_t arena_b;
} hn_program;
enum { HN_SIZES_BLOCK = 0, HN_STEPS_BLOCK = 1 };
enum { HN_PROGRAM_DEPTH = 128 }; /* blocks inside each other, at most */

/* What lowering asks about a kernel node: the row of its kernel, and its cost in steps, scratch bytes and work items.
 */
typedef struct hn_launch_facts {
    uint32_t kernel;
    hn_dim cost, scratch_b, work;
    const hn_dim *work_by; /* where work is 0: the factors of the product */
    uint32_t n_work_by;
} hn_launch_facts;
typedef struct hn_lowering {
    const char *name;
    const hn_program_kernel *kernel; /* rows; copied */
    uint32_t n_kernel;
    const hn_launch_facts *launch; /* by node id */
    hn_states states;
} hn_lowering;

/* Fills *out, which is zeroed; call hn_program_free in any case. */
hone_rc hn_program_lower(hn_graph *g, const hn_layout *l, const hn_lowering *how, hn_program *out, hone_err *err);
/* program_spaces.c: a lowered program, some of whose kernels are in space HN_DEVICE, gets copies between the spaces. */
hone_rc hn_program_place(hn_program *p, hone_err *err);
bool hn_program_on_device(const hn_program *p); /* any kernel */
/* program_split.c: of a lowered program that has no spaces yet, which kernels run on the host so that a run takes least
 * time, all copies counted. Kernels in space HN_HOST stay there. Times of kernels are of one call; loops count as some
 * turns. Where sides contradict each other (what no program does that places) all stay as they are. */
typedef struct hn_split_costs {
    const double *host_s, *device_s;       /* by kernel */
    const bool *stays;                     /* by kernel: it must run on the device; NULL: none must */
    const int64_t *symbol;                 /* values that stand for sizes */
    double put_s, put_bps, get_s, get_bps; /* copies to the device, and back: each, and by its bytes */
} hn_split_costs;
typedef struct hn_split {
    bool *on_host; /* by kernel */
    uint32_t n_host, n_device, n_copies;
    double split_s, device_s, host_s; /* of a run: so; as it was; with all on the host that may be there */
} hn_split;
hone_rc hn_program_split(const hn_program *p, const hn_split_costs *c, hn_arena *a, hn_split *out, hone_err *err);
/* Copies from one space to another, in the order of the C, into list (NULL: none are listed); how many. */
uint32_t hn_program_crossings(const hn_program *p, const hn_step **list, uint32_t room);
uint32_t hn_program_grown(const hn_program *p); /* growing buffers */
hone_rc hn_program_verify(const hn_program *p, hone_err *err);
/* Verified, and its text is read back as the same text. */
hone_rc hn_program_check(const hn_program *p, hone_err *err);
void hn_program_print(const hn_program *p, hn_str *out);
/* Of a text that the printer wrote or a person: E_INPUT with path:line:column. Not verified. */
hone_rc hn_program_parse(const char *text, size_t n, const char *path, hn_program *out, hone_err *err);
void hn_program_free(hn_program *p);

/* What the C printer asks its caller for: a kernel's function, and the text around launch number `launch` (NULL: none).
 */
typedef struct hn_program_c {
    void *arg;
    const char *(*symbol)(void *arg, uint32_t kernel);
    void (*before)(void *arg, uint32_t launch, hn_str *out);
    void (*after)(void *arg, uint32_t launch, hn_str *out);
    /* Likewise around copy number `copy` from one memory space to another; bytes: an expression. */
    void (*copy_before)(void *arg, uint32_t copy, hn_str *out);
    void (*copy_after)(void *arg, uint32_t copy, const char *bytes, hn_str *out);
} hn_program_c;
/* hnm_bind, hnm_item_sizes and hnm_steps: S_i is symbol i, v[i] the slot of value i. */
void hn_program_print_c(const hn_program *p, const hn_program_c *how, hn_str *out);

/* An expression over symbols as C, where symbol i is called S_i. */
void hn_dim_c(const hn_dims *t, hn_dim d, hn_str *out);

/* For those who make programs: all in its arena; failure is sticky there. */
bool hn_program_begin(hn_program *p); /* an empty one, with its two blocks */
uint32_t hn_program_block(hn_program *p);
hn_step *hn_program_add(hn_program *p, uint32_t block, hn_step_kind kind); /* NULL: out of memory */
bool hn_step_lists(hn_program *p, hn_step *s, uint32_t n_in, uint32_t n_out, uint32_t n_symbol, uint32_t n_dim);
const char *hn_step_text(hn_step_kind kind);
const char *hn_condition_text(hn_condition c);
/* The value whose memory v's is. */
static inline hn_val hn_program_root(const hn_program *p, hn_val v) {
    return p->value[v].where == HN_AT_VIEW ? p->value[v].base : v;
}
/* Steps of a kind, those in loops and branches included. */
uint32_t hn_program_count(const hn_program *p, hn_step_kind kind);

#endif
