/* program.c — making programs: arrays in the arena that double. */
#include "program/program.h"

#include <string.h>

static const char *const step_text[] = {
#define HN_STEP(id, text, doc) [HN_STEP_##id] = text,
#include "program/steps.def"
#undef HN_STEP
};
static const char *const condition_text[] = {[HN_CHECK_EQUAL] = "equal",
                                             [HN_CHECK_DIVISIBLE] = "divisible",
                                             [HN_CHECK_SIZE] = "size",
                                             [HN_CHECK_INSIDE] = "inside",
                                             [HN_CHECK_PADDING] = "padding"};
_Static_assert(sizeof condition_text / sizeof *condition_text == HN_N_CHECKS, "a word for every condition");

const char *hn_step_text(hn_step_kind kind) { return step_text[kind]; }
const char *hn_condition_text(hn_condition c) { return condition_text[c]; }

bool hn_program_begin(hn_program *p) {
    *p = (hn_program){0};
    p->dims = hn_dims_new(&p->arena);
    p->n_value = 1;
    p->value = HN_NEW(&p->arena, hn_program_value);
    hn_program_block(p);
    hn_program_block(p);
    return hn_arena_ok(&p->arena);
}

void hn_program_free(hn_program *p) {
    if (p) hn_arena_free(&p->arena);
}

uint32_t hn_program_block(hn_program *p) {
    if (p->n_block == p->room_block) {
        uint32_t room = p->room_block ? 2 * p->room_block : 8;
        hn_step_block *more = hn_alloc_n(&p->arena, room, sizeof *more);
        if (!more) return 0;
        if (p->n_block) memcpy(more, p->block, p->n_block * sizeof *more);
        p->block = more;
        p->room_block = room;
    }
    p->block[p->n_block] = (hn_step_block){0};
    return p->n_block++;
}

hn_step *hn_program_add(hn_program *p, uint32_t block, hn_step_kind kind) {
    if (!hn_arena_ok(&p->arena)) return NULL;
    hn_step_block *b = &p->block[block];
    if (b->n == b->room) {
        uint32_t room = b->room ? 2 * b->room : 8;
        hn_step *more = hn_alloc_n(&p->arena, room, sizeof *more);
        if (!more) return NULL;
        if (b->n) memcpy(more, b->step, b->n * sizeof *more);
        b->step = more;
        b->room = room;
    }
    b->step[b->n] = (hn_step){.kind = kind};
    return &b->step[b->n++];
}

bool hn_step_lists(hn_program *p, hn_step *s, uint32_t n_in, uint32_t n_out, uint32_t n_symbol, uint32_t n_dim) {
    if (!s) return false;
    s->in = hn_alloc_n(&p->arena, n_in, sizeof *s->in);
    s->out = hn_alloc_n(&p->arena, n_out, sizeof *s->out);
    s->symbol = hn_alloc_n(&p->arena, n_symbol, sizeof *s->symbol);
    s->dim = hn_alloc_n(&p->arena, n_dim, sizeof *s->dim);
    if (!hn_arena_ok(&p->arena)) return false;
    s->n_in = n_in, s->n_out = n_out, s->n_symbol = n_symbol, s->n_dim = n_dim;
    return true;
}

uint32_t hn_program_count(const hn_program *p, hn_step_kind kind) {
    uint32_t n = 0;
    for (uint32_t b = 0; b < p->n_block; b++)
        for (uint32_t i = 0; i < p->block[b].n; i++) n += p->block[b].step[i].kind == kind;
    return n;
}

hone_rc hn_program_check(const hn_program *p, hone_err *err) {
    hn_str text = {0}, again = {0};
    hn_program back;
    hone_rc rc = hn_program_verify(p, err);
    if (rc) return rc;
    hn_program_print(p, &text);
    rc = text.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory for the program's text")
                     : hn_program_parse(text.text, text.n, "program", &back, err);
    if (!text.failed) {
        if (!rc) rc = hn_program_verify(&back, err);
        if (!rc) hn_program_print(&back, &again);
        if (!rc && (again.failed || again.n != text.n || memcmp(again.text, text.text, text.n) != 0))
            rc = hn_fail(err, HONE_E_FAILED, "the program's text is read back as another one");
        hn_program_free(&back);
    }
    hn_str_free(&text);
    hn_str_free(&again);
    return rc;
}
