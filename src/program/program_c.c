/* program_c.c — a program as the C of an artifact: one statement per step, control flow as C's.
 *
 * hnm_bind reads the symbols off the inputs' sizes and checks the relations between them; hnm_item_sizes gives the
 * arena items of open sizes; hnm_steps is the run. S_i is symbol i, v[i] the slot of value i, R(x) returns when x
 * fails; the functions called are those of instance.h.
 */
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct printer {
    const hn_program *p;
    const hn_program_c *how;
    hn_str *out;
    uint32_t launch, copy; /* of the next one */
} printer;

/* In the memory of a device: its address is in the slot, and only the functions of instance_device.h follow it. */
static bool on_device(const printer *w, hn_val v) {
    return v && w->p->value[hn_program_root(w->p, v)].space != HN_HOST;
}

static uint32_t slot_of(const printer *w, hn_val v) { return hn_program_root(w->p, v); }
static const hn_program_value *value_at(const printer *w, hn_val v) { return &w->p->value[v]; }

void hn_dim_c(const hn_dims *t, hn_dim d, hn_str *out) {
    int64_t n;
    if (hn_dim_is_int(t, d, &n)) {
        hn_str_addf(out, n == INT64_MIN ? "INT64_MIN" : "%lld", (long long)n);
    } else {
        hn_str_add(out, "(");
        hn_dim_print_c(t, d, "S_", out);
        hn_str_add(out, ")");
    }
}

static void add_dim(const printer *w, hn_dim d) { hn_dim_c(w->p->dims, d, w->out); }

/* first * dim[0] * dim[1] …, or more than any memory holds. */
static void add_product(const printer *w, uint32_t first, const hn_dim *dim, size_t n) {
    for (size_t d = 0; d < n; d++) hn_str_add(w->out, "hnm_mul(");
    hn_str_addf(w->out, "%u", first);
    for (size_t d = 0; d < n; d++) {
        hn_str_add(w->out, ", ");
        add_dim(w, dim[d]);
        hn_str_add(w->out, ")");
    }
}

static void add_bytes(const printer *w, const hn_type *t) {
    add_product(w, hn_dtype_of(t->dtype)->size_b, t->dim, t->rank);
}

/* The size of a root: its bound where data decides. */
static void add_root_bytes(const printer *w, const hn_program_value *x) {
    if (x->room)
        add_product(w, hn_dtype_of(x->type.dtype)->size_b, &x->room, 1);
    else
        add_bytes(w, &x->type);
}

/* Room for value v where it grows: of its own size, or that of `sized`. */
static void add_room(const printer *w, hn_val v, hn_val sized) {
    const hn_program_value *x = value_at(w, slot_of(w, v));
    if (x->where == HN_AT_STATE)
        hn_str_addf(w->out, "    R(hnm_state_room(m, %d, ", x->index);
    else if (x->where == HN_AT_GROWN)
        hn_str_addf(w->out, "    R(hnm_grow%s(m, %u, %d, ", on_device(w, v) ? "_device" : "", slot_of(w, v), x->index);
    else
        return;
    if (sized)
        add_bytes(w, &value_at(w, sized)->type);
    else
        add_root_bytes(w, x);
    hn_str_add(w->out, "));\n");
}

/* Defines symbol s as `value`, or as d where that is NULL. */
static void add_define(const printer *w, hn_symbol s, const char *value, hn_dim d) {
    int64_t low, high;
    hn_symbol_range(w->p->dims, s, &low, &high);
    hn_str_addf(w->out, "    R(hnm_define(m, %u, ", s);
    if (value)
        hn_str_add(w->out, value);
    else
        add_dim(w, d);
    hn_str_addf(w->out, ", %lld, ", (long long)(low < 0 ? 0 : low));
    hn_str_addf(w->out, high == INT64_MAX ? "INT64_MAX));\n" : "%lld));\n", (long long)high);
}

/* --- checks ----------------------------------------------------------------------------------------------------------
 */

static void add_size(const printer *w, const hn_step *s) {
    uint32_t i = (uint32_t)value_at(w, s->in[0])->index;
    long long d = (long long)s->number;
    if (value_at(w, s->in[0])->where == HN_AT_STATE) {
        hn_str_addf(w->out, "    S_%u = hnm_state_size(m, %u, %lld);\n", s->symbol[0], i, d);
        return;
    }
    hn_str_addf(w->out, "    S_%u = in[%u].dim[%lld];\n", s->symbol[0], i, d);
    hn_str_addf(w->out,
                "    if (S_%u > INT32_MAX) return hnm_fail(m, HONE_MODEL_SHAPE, \"input %%d: dimension %%d is too "
                "large\", %u, %lld);\n",
                s->symbol[0], i, d);
}

static void add_check_state(const printer *w, const hn_step *s) {
    uint32_t k = (uint32_t)value_at(w, s->in[0])->index;
    hn_str text = {0};
    hn_dim_print(w->p->dims, s->dim[0], &text);
    hn_str_addf(w->out, "    R(hnm_state_check(m, %u, %lld, ", k, (long long)s->number);
    add_dim(w, s->dim[0]);
    hn_str_add(w->out, ", ");
    hn_str_add_c(w->out, w->p->state[k].name);
    hn_str_add(w->out, ", ");
    hn_str_add_c(w->out, text.text);
    hn_str_add(w->out, "));\n");
    w->out->failed = w->out->failed || text.failed;
    hn_str_free(&text);
}

static void add_check_size(const printer *w, const hn_step *s) {
    uint32_t i = (uint32_t)value_at(w, s->in[0])->index;
    long long d = (long long)s->number;
    hn_str text = {0}, own = {0};
    hn_dim_print(w->p->dims, s->dim[0], &text);
    if (s->text) hn_str_addf(&own, " (%s)", s->text);
    hn_str_addf(w->out, "    if (in[%u].dim[%lld] != ", i, d);
    add_dim(w, s->dim[0]);
    hn_str_addf(w->out,
                ")\n        return hnm_fail(m, HONE_MODEL_SHAPE, \"input '%%.80s': dimension %lld%%.60s is %%lld, but "
                "%%.60s is %%lld\", hnm_input[%u].name, ",
                d, i);
    hn_str_add_c(w->out, own.text);
    hn_str_addf(w->out, ", (long long)in[%u].dim[%lld], ", i, d);
    hn_str_add_c(w->out, text.text);
    hn_str_add(w->out, ", (long long)");
    add_dim(w, s->dim[0]);
    hn_str_add(w->out, ");\n");
    w->out->failed = w->out->failed || text.failed || own.failed;
    hn_str_free(&text);
    hn_str_free(&own);
}

/* late: of symbols that the run computes. */
static void add_check_relation(const printer *w, const hn_step *s, bool late) {
    bool equal = s->check == HN_CHECK_EQUAL;
    hn_str text = {0};
    hn_dim_print(w->p->dims, s->dim[0], &text);
    hn_str_add(&text, equal ? " = " : " divisible by ");
    if (equal)
        hn_dim_print(w->p->dims, s->dim[1], &text);
    else
        hn_str_addf(&text, "%lld", (long long)s->number);
    hn_str_add(w->out, "    if (");
    hn_dim_print_c(w->p->dims, s->dim[0], "S_", w->out);
    hn_str_add(w->out, equal ? " != " : " % ");
    if (equal)
        hn_dim_print_c(w->p->dims, s->dim[1], "S_", w->out);
    else
        hn_str_addf(w->out, "%lld != 0", (long long)s->number);
    hn_str_addf(w->out, ") return hnm_fail(m, HONE_MODEL_%s, \"the sizes %s contradict the model: it needs %%.150s\", ",
                late ? "INDEX" : "SHAPE", late ? "computed from data" : "of the inputs");
    hn_str_add_c(w->out, text.text);
    hn_str_add(w->out, ");\n");
    w->out->failed = w->out->failed || text.failed;
    hn_str_free(&text);
}

static void add_check_inside(const printer *w, const hn_step *s) {
    hn_str_add(w->out, "    if (!hnr_inside(");
    add_dim(w, s->dim[0]);
    hn_str_addf(w->out, ", %lld, ", (long long)s->number);
    add_dim(w, s->dim[1]);
    hn_str_add(w->out, ", ");
    add_dim(w, s->dim[2]);
    hn_str_add(w->out,
               "))\n        return hnm_fail(m, HONE_MODEL_INDEX, \"a slice leaves the elements there are\");\n");
}

static void add_check(const printer *w, const hn_step *s, bool late) {
    switch (s->check) {
    case HN_CHECK_SIZE:
        if (value_at(w, s->in[0])->where == HN_AT_STATE)
            add_check_state(w, s);
        else
            add_check_size(w, s);
        break;
    case HN_CHECK_INSIDE: add_check_inside(w, s); break;
    case HN_CHECK_PADDING:
        hn_str_add(w->out, "    if (");
        add_dim(w, s->dim[0]);
        hn_str_add(w->out, " < 0) return hnm_fail(m, HONE_MODEL_INDEX, \"padding by less than nothing\");\n");
        break;
    default: add_check_relation(w, s, late);
    }
}

/* --- steps -----------------------------------------------------------------------------------------------------------
 */

static void add_block(printer *w, uint32_t block);

static bool launches_on_device(const printer *w, const hn_step *s) {
    return s->kind == HN_STEP_LAUNCH && w->p->kernel[s->kernel].space != HN_HOST;
}

static void add_operands(const printer *w, const hn_step *s) {
    for (uint32_t i = 0; i < s->n_out; i++) add_room(w, s->out[i], 0);
    hn_str_add(w->out, "    { void *b[] = {");
    for (uint32_t i = 0; i < s->n_in; i++) hn_str_addf(w->out, s->in[i] ? "v[%u], " : "NULL, ", slot_of(w, s->in[i]));
    for (uint32_t i = 0; i < s->n_out; i++) hn_str_addf(w->out, "v[%u], ", slot_of(w, s->out[i]));
    for (uint32_t i = 0; i < s->n_symbol; i++)
        hn_str_addf(w->out, launches_on_device(w, s) ? "hnm_symbol_at(m, %u), " : "&S_%u, ",
                    launches_on_device(w, s) ? i : s->symbol[i]);
    hn_str_add(w->out, "NULL};\n");
}

static void add_launch(printer *w, const hn_step *s) {
    const hn_program_c *how = w->how;
    add_operands(w, s);
    if (how->before) how->before(how->arg, w->launch, w->out);
    hn_str_addf(w->out, "      R(hnm_launch%s(m, %s, b, ", launches_on_device(w, s) ? "_device" : "",
                how->symbol(how->arg, s->kernel));
    if (s->number)
        add_product(w, 1, s->dim + 2, s->n_dim - 2);
    else
        add_dim(w, s->dim[2]);
    hn_str_add(w->out, ", ");
    if (s->dim[0])
        add_dim(w, s->dim[0]);
    else
        hn_str_add(w->out, "INT32_MAX"); /* too long an expression */
    hn_str_add(w->out, ", ");
    add_dim(w, s->dim[1]);
    hn_str_add(w->out, "));\n");
    if (how->after) how->after(how->arg, w->launch, w->out);
    hn_str_add(w->out, "    }\n");
    w->launch++;
    for (uint32_t i = 0; i < s->n_symbol; i++) {
        char value[32];
        snprintf(value, sizeof value, "S_%u", s->symbol[i]);
        if (launches_on_device(w, s)) hn_str_addf(w->out, "    R(hnm_symbol_back(m, %u, &S_%u));\n", i, s->symbol[i]);
        add_define(w, s->symbol[i], value, 0);
    }
}

static void add_library_call(const printer *w, const hn_step *s) {
    hn_str_addf(w->out, "    { extern hone_model_rc %s(void *const *, const int64_t *);\n", s->text);
    add_operands(w, s);
    hn_str_addf(w->out, "      R(%s(b, m->s)); } }\n", s->text);
}

/* Does nothing but the end of the run read value v, which is output j of the host's? */
static bool is_output_alone(const printer *w, hn_val v) {
    for (uint32_t b = 0; b < w->p->n_block; b++)
        for (uint32_t i = 0; i < w->p->block[b].n; i++) {
            const hn_step *s = &w->p->block[b].step[i];
            for (uint32_t k = 0; k < s->n_in; k++)
                if (s->in[k] && slot_of(w, s->in[k]) == v) return false;
        }
    return true;
}

static void add_copy_across(const printer *w, const hn_step *s) {
    const hn_program_value *from = value_at(w, slot_of(w, s->in[0])), *to = value_at(w, slot_of(w, s->out[0]));
    bool input = from->where == HN_AT_INPUT && slot_of(w, s->in[0]) == s->in[0];
    if (on_device(w, s->out[0]) && input && to->where == HN_AT_GROWN) {
        hn_str_addf(w->out, "    R(hnm_take_input(m, %u, %d, &in[%d], ", slot_of(w, s->out[0]), to->index, from->index);
    } else if (on_device(w, s->out[0]) && input) {
        add_room(w, s->out[0], s->in[0]);
        hn_str_addf(w->out, "    R(hnm_copy_input(m, v[%u], &in[%d], ", slot_of(w, s->out[0]), from->index);
    } else if (on_device(w, s->out[0])) {
        add_room(w, s->out[0], s->in[0]);
        hn_str_addf(w->out, "    R(hnm_put(m, v[%u], v[%u], ", slot_of(w, s->out[0]), slot_of(w, s->in[0]));
    } else {
        for (uint32_t j = 0; j < w->p->n_output; j++)
            if (slot_of(w, w->p->output[j].value) == s->out[0] && is_output_alone(w, s->out[0]))
                hn_str_addf(w->out, "    if (!out[%u].space) {\n", j);
        add_room(w, s->out[0], s->in[0]);
        hn_str_addf(w->out, "    R(hnm_get(m, v[%u], v[%u], ", slot_of(w, s->out[0]), slot_of(w, s->in[0]));
    }
    add_bytes(w, &value_at(w, s->in[0])->type);
    hn_str_add(w->out, "));\n");
    for (uint32_t j = 0; j < w->p->n_output && !on_device(w, s->out[0]); j++)
        if (slot_of(w, w->p->output[j].value) == s->out[0] && is_output_alone(w, s->out[0]))
            hn_str_add(w->out, "    }\n");
}

static void add_crossing(printer *w, const hn_step *s) {
    const hn_program_c *how = w->how;
    hn_str bytes = {0}, *out = w->out;
    hn_str_add(out, "    {\n");
    if (how->copy_before) how->copy_before(how->arg, w->copy, out);
    add_copy_across(w, s);
    w->out = &bytes;
    add_bytes(w, &value_at(w, s->in[0])->type);
    w->out = out;
    if (how->copy_after) how->copy_after(how->arg, w->copy, bytes.text ? bytes.text : "0", out);
    hn_str_add(out, "    }\n");
    out->failed = out->failed || bytes.failed;
    hn_str_free(&bytes);
    w->copy++;
}

static void add_copy(printer *w, const hn_step *s) {
    if (on_device(w, s->in[0]) != on_device(w, s->out[0])) {
        add_crossing(w, s);
        return;
    }
    bool device = on_device(w, s->in[0]);
    add_room(w, s->out[0], s->in[0]);
    hn_str_addf(w->out, device ? "    R(hnm_move(m, v[%u], v[%u], " : "    hnm_copy(v[%u], v[%u], ",
                slot_of(w, s->out[0]), slot_of(w, s->in[0]));
    add_bytes(w, &value_at(w, s->in[0])->type);
    hn_str_add(w->out, device ? "));\n" : ");\n");
}

static void add_store(const printer *w, const hn_step *s) {
    add_room(w, s->out[0], 0);
    for (uint32_t i = 0; i < s->n_dim; i++) {
        hn_str_addf(w->out, "    ((int64_t *)v[%u])[%u] = ", slot_of(w, s->out[0]), i);
        add_dim(w, s->dim[i]);
        hn_str_add(w->out, ";\n");
    }
}

static void add_read(const printer *w, const hn_step *s) {
    char value[64];
    snprintf(value, sizeof value, "((const int64_t *)v[%u])[%lld]", slot_of(w, s->in[0]), (long long)s->number);
    add_define(w, s->symbol[0], value, 0);
}

static void add_bind(const printer *w, const hn_step *s) {
    if (s->n_symbol == 1) {
        add_define(w, s->symbol[0], NULL, s->dim[0]);
        return;
    }
    hn_str_add(w->out, "    {\n");
    for (uint32_t i = 0; i < s->n_symbol; i++) {
        hn_str_addf(w->out, "    int64_t d%u = ", i);
        add_dim(w, s->dim[i]);
        hn_str_add(w->out, ";\n");
    }
    for (uint32_t i = 0; i < s->n_symbol; i++) {
        char value[16];
        snprintf(value, sizeof value, "d%u", i);
        add_define(w, s->symbol[i], value, 0);
    }
    hn_str_add(w->out, "    }\n");
}

static void add_if(printer *w, const hn_step *s) {
    hn_str_addf(w->out, "    if (*(const uint8_t *)v[%u]) {\n", slot_of(w, s->in[0]));
    add_block(w, s->block[0]);
    hn_str_add(w->out, "    } else {\n");
    add_block(w, s->block[1]);
    hn_str_add(w->out, "    }\n");
}

static void add_stack(const printer *w, const hn_step *s) {
    const hn_program_value *x = value_at(w, slot_of(w, s->out[0]));
    hn_str_addf(w->out, "    R(hnm_stack%s(m, %u, %d, turn, v[%u], ", on_device(w, s->out[0]) ? "_device" : "",
                slot_of(w, s->out[0]), x->where == HN_AT_GROWN ? x->index : -1, slot_of(w, s->in[0]));
    add_bytes(w, &value_at(w, s->in[0])->type);
    hn_str_add(w->out, "));\n");
}

/* When a loop runs no iteration, a growing slot must point to memory all the same. */
static void add_empty_stacks(const printer *w, const hn_step_block *b) {
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->step[i].kind != HN_STEP_STACK) continue;
        uint32_t slot = slot_of(w, b->step[i].out[0]);
        if (value_at(w, slot)->where == HN_AT_GROWN)
            hn_str_addf(w->out, "    R(hnm_grow%s(m, %u, %d, 0));\n", on_device(w, slot) ? "_device" : "", slot,
                        value_at(w, slot)->index);
    }
}

static void add_loop(printer *w, const hn_step *s) {
    hn_str_addf(w->out,
                s->in[0] ? "    { int64_t turn = 0; const int64_t turns = *(const int64_t *)v[%u];\n"
                         : "    { int64_t turn = 0; const int64_t turns = INT64_MAX;\n",
                slot_of(w, s->in[0]));
    hn_str_addf(w->out, s->in[1] ? "    uint8_t go = *(const uint8_t *)v[%u];\n" : "    uint8_t go = 1;\n",
                slot_of(w, s->in[1]));
    hn_str_addf(w->out,
                "    for (; turn < turns && go; turn++) {\n    *(int64_t *)v[%u] = turn; *(uint8_t *)v[%u] = go;\n",
                slot_of(w, s->out[0]), slot_of(w, s->out[1]));
    add_block(w, s->block[0]);
    hn_str_add(w->out, "    }\n");
    if (s->n_symbol) add_define(w, s->symbol[0], "turn", 0);
    hn_str_add(w->out, "    }\n");
    add_empty_stacks(w, &w->p->block[s->block[0]]);
}

static void add_append(const printer *w, const hn_step *s) {
    add_room(w, s->out[0], 0);
    hn_str_addf(w->out, "    hnm_state_append(m, %d, ", value_at(w, s->out[0])->index);
    add_bytes(w, &value_at(w, s->in[0])->type);
    hn_str_addf(w->out, ", v[%u], ", slot_of(w, s->in[1]));
    add_bytes(w, &value_at(w, s->in[1])->type);
    hn_str_add(w->out, ");\n");
}

static void add_step(printer *w, const hn_step *s, bool late) {
    switch (s->kind) {
    case HN_STEP_LAUNCH: add_launch(w, s); break;
    case HN_STEP_CALL: add_library_call(w, s); break;
    case HN_STEP_COPY: add_copy(w, s); break;
    case HN_STEP_STATE: add_append(w, s); break;
    case HN_STEP_STORE: add_store(w, s); break;
    case HN_STEP_SIZE: add_size(w, s); break;
    case HN_STEP_READ: add_read(w, s); break;
    case HN_STEP_BIND: add_bind(w, s); break;
    case HN_STEP_CHECK: add_check(w, s, late); break;
    case HN_STEP_IF: add_if(w, s); break;
    case HN_STEP_LOOP: add_loop(w, s); break;
    case HN_STEP_AGAIN: hn_str_addf(w->out, "    go = *(const uint8_t *)v[%u];\n", slot_of(w, s->in[0])); break;
    case HN_STEP_STACK: add_stack(w, s); break;
    case HN_N_STEPS: break;
    }
}

static void add_block(printer *w, uint32_t block) {
    for (uint32_t i = 0; i < w->p->block[block].n; i++)
        add_step(w, &w->p->block[block].step[i], block != HN_SIZES_BLOCK);
}

/* --- inputs and outputs ----------------------------------------------------------------------------------------------
 */

static void add_output_dims(const printer *w, uint32_t j) {
    const hn_type *t = &value_at(w, w->p->output[j].value)->type;
    hn_str_addf(w->out, "    out[%u].dtype = %d;\n    out[%u].rank = %d;\n", j, (int)t->dtype, j, (int)t->rank);
    for (size_t d = 0; d < t->rank; d++) {
        hn_str_addf(w->out, "    out[%u].dim[%zu] = ", j, d);
        add_dim(w, t->dim[d]);
        hn_str_add(w->out, ";\n");
    }
    hn_str_addf(w->out, "    R(hnm_check_output(m, in, &out[%u], %u));\n", j, j);
}

/* early: by symbol, those that the sizes of the inputs give. */
static bool is_early(const printer *w, uint32_t j, const bool *early, bool *used) {
    size_t n = hn_dims_symbols(w->p->dims);
    const hn_type *t = &value_at(w, w->p->output[j].value)->type;
    memset(used, 0, n * sizeof *used);
    for (size_t d = 0; d < t->rank; d++) hn_dim_mark(w->p->dims, t->dim[d], used);
    for (size_t s = 0; s < n; s++)
        if (used[s] && !early[s]) return false;
    return true;
}

static void add_inputs(const printer *w) {
    for (hn_val v = 1; v < w->p->n_value; v++)
        if (w->p->value[v].where == HN_AT_INPUT)
            hn_str_addf(w->out, "    v[%u] = in[%d].data;\n", v, w->p->value[v].index);
}

/* From here a failure loses the state: its memory may hold part of the new value. */
static void add_states_before(const printer *w) {
    for (uint32_t k = 0; k < w->p->n_state; k++) {
        hn_str_addf(w->out, "    R(hnm_state_begin(m, %u, ", k);
        add_bytes(w, &value_at(w, w->p->state[k].old)->type);
        hn_str_add(w->out, "));\n");
        uint32_t slot = slot_of(w, w->p->state[k].value);
        if (value_at(w, slot)->where != HN_AT_NEXT) continue;
        hn_str_addf(w->out, "    R(hnm_state_next(m, %u, %u, ", k, slot);
        add_bytes(w, &value_at(w, slot)->type);
        hn_str_add(w->out, "));\n");
    }
    if (w->p->n_state) hn_str_add(w->out, "    m->c->lost = 1;\n");
}

static void add_states_after(const printer *w) {
    for (uint32_t k = 0; k < w->p->n_state; k++) {
        const hn_type *t = &value_at(w, w->p->state[k].value)->type;
        if (value_at(w, slot_of(w, w->p->state[k].value))->where == HN_AT_NEXT)
            hn_str_addf(w->out, "    hnm_state_swap(m, %u);\n", k);
        for (size_t d = 0; d < t->rank; d++) {
            hn_str_addf(w->out, "    m->c->state[%u].dim[%zu] = ", k, d);
            add_dim(w, t->dim[d]);
            hn_str_add(w->out, ";\n");
        }
    }
    if (w->p->n_state) hn_str_add(w->out, "    m->c->fresh = 0;\n");
}

/* The value of the device that is copied to v, or 0. */
static hn_val home_of(const printer *w, hn_val v) {
    for (uint32_t b = 0; b < w->p->n_block; b++)
        for (uint32_t i = 0; i < w->p->block[b].n; i++) {
            const hn_step *s = &w->p->block[b].step[i];
            if (s->kind == HN_STEP_COPY && s->out[0] == v && on_device(w, s->in[0])) return slot_of(w, s->in[0]);
        }
    return 0;
}

static void add_run(printer *w, const bool *early, bool *used) {
    hn_str_add(w->out,
               "static hone_model_rc hnm_steps(hone_model_instance *m, const hone_model_tensor *in, hone_model_tensor "
               "*out) {\n    void **v = m->v;\n    (void)v, (void)in, (void)out;\n");
    add_inputs(w);
    for (uint32_t j = 0; j < w->p->n_output; j++) {
        uint32_t slot = slot_of(w, w->p->output[j].value);
        char giving[32] = "";
        if (!is_early(w, j, early, used)) continue;
        add_output_dims(w, j);
        if (hn_program_on_device(w->p)) snprintf(giving, sizeof giving, "!out[%u].space && ", j);
        if (value_at(w, slot)->output == (int32_t)j)
            hn_str_addf(w->out, "    if (%sout[%u].data) v[%u] = out[%u].data;\n", giving, j, slot, j);
    }
    add_states_before(w);
    add_block(w, HN_STEPS_BLOCK);
    for (uint32_t j = 0; j < w->p->n_output; j++) {
        if (!is_early(w, j, early, used)) add_output_dims(w, j);
        if (hn_program_on_device(w->p))
            hn_str_addf(w->out, "    R(hnm_give_output_device(m, &out[%u], %u, %u));\n", j,
                        slot_of(w, w->p->output[j].value), home_of(w, slot_of(w, w->p->output[j].value)));
        else
            hn_str_addf(w->out, "    hnm_give_output(m, &out[%u], %u);\n", j, slot_of(w, w->p->output[j].value));
    }
    add_states_after(w);
    hn_str_add(w->out, "    return HONE_MODEL_OK;\n}\n");
}

static void add_item_sizes(const printer *w) {
    hn_str_add(
        w->out,
        "HNR void hnm_item_sizes(const hone_model_instance *m, hn_plan_item *item) {\n    (void)m, (void)item;\n");
    for (hn_val v = 1; v < w->p->n_value && w->p->sizes == HN_SIZES_OPEN; v++) {
        if (w->p->value[v].where != HN_AT_ARENA) continue;
        hn_str_addf(w->out, "    item[%d].size_b = ", w->p->value[v].index);
        add_root_bytes(w, &w->p->value[v]);
        hn_str_add(w->out, ";\n");
    }
    hn_str_add(w->out, "}\n");
}

void hn_program_print_c(const hn_program *p, const hn_program_c *how, hn_str *out) {
    printer w = {p, how, out, 0, 0};
    size_t n = hn_dims_symbols(p->dims);
    bool *early = calloc(2 * n + 1, sizeof *early);
    const hn_step_block *sizes = &p->block[HN_SIZES_BLOCK];
    if (!early) {
        out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < sizes->n; i++)
        for (uint32_t k = 0; k < sizes->step[i].n_symbol; k++) early[sizes->step[i].symbol[k]] = true;
    hn_str_add(out, "#define R(x) do { hone_model_rc rc_ = (x); if (rc_) return rc_; } while (0)\n"
                    "static hone_model_rc hnm_bind(hone_model_instance *m, const hone_model_tensor *in) {\n"
                    "    (void)in;\n");
    add_block(&w, HN_SIZES_BLOCK);
    hn_str_add(out, "    return m->rc = HONE_MODEL_OK;\n}\n");
    add_item_sizes(&w);
    add_run(&w, early, early + n);
    free(early);
}
