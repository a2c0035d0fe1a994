/* program_print.c — the text of a program (docs/program.md): all that the parser needs. */
#include "program/program.h"

#include <string.h>

typedef struct printer {
    const hn_program *p;
    hn_str *out;
} printer;

static void add_dim(const printer *w, hn_dim d) {
    if (d)
        hn_dim_print(w->p->dims, d, w->out);
    else
        hn_str_add(w->out, "?"); /* no symbol has this name */
}

static void add_dims(const printer *w, const hn_dim *d, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (i) hn_str_add(w->out, ", ");
        add_dim(w, d[i]);
    }
}

static void add_values(const printer *w, const hn_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (i) hn_str_add(w->out, ", ");
        if (v[i])
            hn_str_addf(w->out, "%%%u", v[i]);
        else
            hn_str_add(w->out, "none");
    }
}

static void add_symbols(const printer *w, const hn_step *s) {
    for (uint32_t i = 0; i < s->n_symbol; i++)
        hn_str_addf(w->out, "%s%s", i ? ", " : "", hn_symbol_name(w->p->dims, s->symbol[i]));
}

static void add_quoted(const printer *w, const char *text) {
    hn_str_add(w->out, "\"");
    for (const unsigned char *s = (const unsigned char *)(text ? text : ""); *s; s++) {
        if (*s == '"' || *s == '\\' || *s < 32 || *s > 126)
            hn_str_addf(w->out, "\\x%02x", *s);
        else
            hn_str_add_n(w->out, (const char *)s, 1);
    }
    hn_str_add(w->out, "\"");
}

static void add_space(const printer *w, int32_t space) {
    if (space == HN_HOST)
        hn_str_add(w->out, " host");
    else
        hn_str_addf(w->out, " device %d", space);
}

/* --- the head --------------------------------------------------------------------------------------------------------
 */

static void add_symbol_rows(const printer *w) {
    for (size_t s = 0; s < hn_dims_symbols(w->p->dims); s++) {
        int64_t low, high;
        hn_symbol_range(w->p->dims, (hn_symbol)s, &low, &high);
        hn_str_addf(w->out, "symbol %s %lld ..", hn_symbol_name(w->p->dims, (hn_symbol)s), (long long)low);
        if (high != INT64_MAX) hn_str_addf(w->out, " %lld", (long long)high);
        hn_str_add(w->out, "\n");
    }
}

static void add_kernel_rows(const printer *w) {
    for (uint32_t i = 0; i < w->p->n_kernel; i++) {
        const hn_program_kernel *k = &w->p->kernel[i];
        hn_str_addf(w->out, "kernel %u ", i);
        add_quoted(w, k->name);
        hn_str_add(w->out, " ");
        add_quoted(w, k->kind);
        add_space(w, k->space);
        for (int b = 0, first = 1; b < 64; b++)
            if (k->in_place >> b & 1) hn_str_addf(w->out, first ? " over %d" : ", %d", b), first = 0;
        hn_str_add(w->out, "\n");
    }
}

static void add_arena(const printer *w) {
    static const char *const sizes[] = {
        [HN_SIZES_FIXED] = "fixed", [HN_SIZES_BOUNDED] = "bounded", [HN_SIZES_OPEN] = "open"};
    hn_str_addf(w->out, "arena %s %lld\n", sizes[w->p->sizes], (long long)w->p->arena_b);
    for (uint32_t i = 0; i < w->p->n_item; i++) {
        const hn_plan_item *x = &w->p->item[i];
        hn_str_addf(w->out, "item %u size %lld at %lld alive %d .. %d", i, (long long)x->size_b, (long long)x->offset,
                    x->first, x->last);
        if (x->shares >= 0) hn_str_addf(w->out, " shares %d", x->shares);
        hn_str_add(w->out, "\n");
    }
}

static void add_place(const printer *w, const hn_program_value *x) {
    static const char *const where[] = {
        [HN_AT_NOWHERE] = "nowhere", [HN_AT_WEIGHTS] = "weights", [HN_AT_INPUT] = "input", [HN_AT_ARENA] = "arena",
        [HN_AT_GROWN] = "grown",     [HN_AT_VIEW] = "view",       [HN_AT_STATE] = "state", [HN_AT_NEXT] = "next"};
    hn_str_addf(w->out, x->where == HN_AT_VIEW ? " %s %%%u" : " %s %u", where[x->where],
                x->where == HN_AT_VIEW ? x->base : (uint32_t)x->index);
    if (x->where == HN_AT_INPUT) {
        hn_str_add(w->out, " ");
        add_quoted(w, x->name);
    }
    if (x->output >= 0) hn_str_addf(w->out, " or output %d", x->output);
    if (x->room) {
        hn_str_add(w->out, " room ");
        add_dim(w, x->room);
    }
}

static void add_value_rows(const printer *w) {
    for (hn_val v = 1; v < w->p->n_value; v++) {
        const hn_program_value *x = &w->p->value[v];
        if (x->where == HN_AT_NOWHERE) continue;
        hn_str_addf(w->out, "%%%u = %s[", v, hn_dtype_of(x->type.dtype)->text);
        add_dims(w, x->type.dim, x->type.rank);
        hn_str_add(w->out, "]");
        add_space(w, x->space);
        add_place(w, x);
        hn_str_add(w->out, "\n");
    }
    for (uint32_t i = 0; i < w->p->n_output; i++) {
        hn_str_addf(w->out, "output %u ", i);
        add_quoted(w, w->p->output[i].name);
        hn_str_addf(w->out, " = %%%u\n", w->p->output[i].value);
    }
}

static void add_state_rows(const printer *w) {
    for (uint32_t i = 0; i < w->p->n_state; i++) {
        const hn_program_state *s = &w->p->state[i];
        hn_str_addf(w->out, "state %u ", i);
        add_quoted(w, s->name);
        hn_str_add(w->out, " ");
        add_quoted(w, s->output);
        hn_str_addf(w->out, " = %%%u -> %%%u\n", s->old, s->value);
    }
}

/* --- steps -----------------------------------------------------------------------------------------------------------
 */

static void add_block(const printer *w, uint32_t block, int depth);

static void add_call(const printer *w, const hn_step *s) {
    if (s->kind == HN_STEP_CALL)
        add_quoted(w, s->text);
    else
        hn_str_addf(w->out, "%u", s->kernel);
    hn_str_add(w->out, " (");
    add_values(w, s->in, s->n_in);
    hn_str_add(w->out, ") -> (");
    add_values(w, s->out, s->n_out);
    hn_str_add(w->out, ")");
    if (s->kind == HN_STEP_CALL) return;
    if (s->n_symbol) hn_str_add(w->out, " defines ");
    add_symbols(w, s);
    hn_str_add(w->out, s->number ? " product " : " work ");
    add_dims(w, s->dim + 2, s->n_dim - 2);
    hn_str_add(w->out, " cost ");
    add_dim(w, s->dim[0]);
    hn_str_add(w->out, " scratch ");
    add_dim(w, s->dim[1]);
}

static void add_check(const printer *w, const hn_step *s) {
    hn_str_addf(w->out, "%s ", hn_condition_text(s->check));
    if (s->check == HN_CHECK_SIZE) hn_str_addf(w->out, "%%%u[%lld] ", s->in[0], (long long)s->number);
    add_dims(w, s->dim, s->n_dim);
    if (s->check == HN_CHECK_DIVISIBLE || s->check == HN_CHECK_INSIDE)
        hn_str_addf(w->out, " by %lld", (long long)s->number);
    if (!s->text) return;
    hn_str_add(w->out, " ");
    add_quoted(w, s->text);
}

static void add_blocks(const printer *w, const hn_step *s, int depth) {
    hn_str_add(w->out, " {\n");
    add_block(w, s->block[0], depth + 1);
    if (s->kind == HN_STEP_IF) {
        hn_str_addf(w->out, "%*s} else {\n", 4 * depth, "");
        add_block(w, s->block[1], depth + 1);
    }
    hn_str_addf(w->out, "%*s}", 4 * depth, "");
}

static void add_step(const printer *w, const hn_step *s, int depth) {
    hn_str_addf(w->out, "%*s%s ", 4 * depth, "", hn_step_text(s->kind));
    switch (s->kind) {
    case HN_STEP_LAUNCH:
    case HN_STEP_CALL: add_call(w, s); break;
    case HN_STEP_CHECK: add_check(w, s); break;
    case HN_STEP_COPY:
    case HN_STEP_STACK:
    case HN_STEP_STATE:
    case HN_STEP_STORE:
        add_values(w, s->out, s->n_out);
        hn_str_add(w->out, " = ");
        add_values(w, s->in, s->n_in);
        if (s->kind != HN_STEP_STORE) break;
        hn_str_add(w->out, "(");
        add_dims(w, s->dim, s->n_dim);
        hn_str_add(w->out, ")");
        break;
    case HN_STEP_SIZE:
    case HN_STEP_READ:
    case HN_STEP_BIND:
        add_symbols(w, s);
        hn_str_add(w->out, " = ");
        if (s->n_in) hn_str_addf(w->out, "%%%u[%lld]", s->in[0], (long long)s->number);
        add_dims(w, s->dim, s->n_dim);
        break;
    case HN_STEP_LOOP:
        add_values(w, s->out, s->n_out);
        hn_str_add(w->out, " turns ");
        add_values(w, s->in, 1);
        hn_str_add(w->out, " while ");
        add_values(w, s->in + 1, 1);
        if (s->n_symbol) hn_str_add(w->out, " counts ");
        add_symbols(w, s);
        add_blocks(w, s, depth);
        break;
    default: /* if, again */
        add_values(w, s->in, s->n_in);
        if (s->kind == HN_STEP_IF) add_blocks(w, s, depth);
    }
    hn_str_add(w->out, "\n");
}

static void add_block(const printer *w, uint32_t block, int depth) {
    for (uint32_t i = 0; i < w->p->block[block].n; i++) add_step(w, &w->p->block[block].step[i], depth);
}

void hn_program_print(const hn_program *p, hn_str *out) {
    const printer w = {p, out};
    hn_str_add(out, "program ");
    add_quoted(&w, p->name);
    hn_str_add(out, "\n");
    add_symbol_rows(&w);
    add_kernel_rows(&w);
    add_arena(&w);
    add_value_rows(&w);
    add_state_rows(&w);
    hn_str_add(out, "sizes {\n");
    add_block(&w, HN_SIZES_BLOCK, 1);
    hn_str_add(out, "}\nsteps {\n");
    add_block(&w, HN_STEPS_BLOCK, 1);
    hn_str_add(out, "}\n");
}
