/* plan/storage.h — where every value of a fused graph lives: weights, the caller's buffers, the arena, or memory that
 * grows.
 *
 * Values whose size follows from the inputs' sizes lie in the arena, planned by their lifetimes; a kernel may write
 * over an input that dies with it; reshapes are views; outputs take the caller's buffer where a kernel can write
 * straight into it. Values whose size depends on data (symbols that nodes define) get a buffer of their own that grows.
 * Owns: its arrays, in the arena given.   Units: bytes, elements.   Errors: E_NOMEM, E_UNSUPPORTED.
 * Invariants: a view's root is no view; an arena item is alive from the first write to the last read of its value and
 * of all its views; what a loop reads from outside is alive until the loop ends; a state's new value lies
 * over its old one only where nothing reads that any more, else in a second buffer.
 */
#ifndef HN_STORAGE_H
#define HN_STORAGE_H

#include "ir/graph.h"
#include "plan/plan.h"

typedef enum hn_memory {
    HN_AT_NOWHERE,
    HN_AT_WEIGHTS,
    HN_AT_INPUT,
    HN_AT_ARENA,
    HN_AT_GROWN,
    HN_AT_VIEW,  /* of a program's value: another one's memory */
    HN_AT_STATE, /* in the instance, from one run to the next */
    HN_AT_NEXT,  /* in the instance, too: a second buffer of a state, which is the state once the run is over */
} hn_memory;

typedef struct hn_storage {
    hn_memory where;
    hn_val root;    /* the slot whose memory this is: its own id, or the value it is a view of */
    int32_t index;  /* number of the constant, the input, the arena item, the growing buffer */
    int32_t output; /* the output of the model whose buffer a root takes when it is handed one, or -1 */
    hn_dim room;    /* of a computed root: the most elements where data decides; 0: as its type says */
} hn_storage;

/* What a kernel node allows, by node id; zeroed for the others. */
typedef struct hn_kernel_facts {
    uint64_t in_place;  /* hn_kernel_code */
    const hn_dim *room; /* per output: the most elements where data decides the number, or 0; may be NULL */
} hn_kernel_facts;

/* A state: parameter `param` of the main block is its old value. Without `cache` result `result` is the new one. With
 * it, the result's rows go behind the old value's (dimensions in front of which are all 1), and parameter `cache` is
 * old and new rows together, from where the result is made on. */
#define HN_NO_CACHE UINT32_MAX
typedef struct hn_state {
    uint32_t param, result, cache;
    const char *name, *output; /* of the model's input and output */
} hn_state;
typedef struct hn_states {
    const hn_state *state;
    uint32_t n;
} hn_states;
/* How a state gets its new value, by number. */
typedef struct hn_update {
    hn_val old, value; /* the value that the run makes */
    hn_val into;       /* the slot that is the state's new value; value's own where it is made in the state's memory */
    bool appends;
} hn_update;

typedef enum hn_sizes { HN_SIZES_FIXED, HN_SIZES_BOUNDED, HN_SIZES_OPEN } hn_sizes;

typedef struct hn_layout {
    hn_storage *slot; /* by value id; beyond n_value: temporaries of loops */
    uint32_t n_slot;
    uint32_t *staging; /* by node id: a loop's first temporary slot, one per carried value; 0: none is needed */
    hn_val *constant;  /* by number */
    uint32_t n_constant, n_grown;
    hn_plan_item *item; /* sizes at their most for FIXED and BOUNDED, offsets included; for OPEN sizes are 0 */
    hn_val *owner;      /* of each item */
    int32_t n_item;
    hn_sizes sizes; /* FIXED: no size of the arena depends on a symbol; BOUNDED: all have a highest value */
    bool *early;    /* by symbol: known when the inputs are */
    hn_update *update;
    uint32_t n_update;
    int64_t arena_b, lower_bound_b;
} hn_layout;

hone_rc hn_layout_make(hn_graph *g, const hn_kernel_facts *facts, hn_states states, hn_arena *a, hn_layout *out,
                       hone_err *err);
/* Inputs and outputs of the main block that no state stands for, counted before parameter or result i. */
uint32_t hn_port_number(hn_states states, uint32_t i, bool output);
bool hn_is_port(hn_states states, uint32_t i, bool output);
/* The value whose type a slot has: the slot itself, or the loop's result that is staged in it. */
hn_val hn_slot_type(const hn_graph *g, const hn_layout *l, hn_val slot);
/* True where d, or all sizes of a type, are known as soon as the sizes of the inputs are. */
bool hn_dim_is_early(const hn_graph *g, const hn_layout *l, hn_dim d);
bool hn_type_is_early(const hn_graph *g, const hn_layout *l, const hn_type *t);

#endif
