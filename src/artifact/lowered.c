/* lowered.c — a model's memory, its program, and its C with the names that its kernels have in this library. */
#include "artifact/artifact.h"

#include "base/debug.h"

static const char *symbol_of(void *model, uint32_t kernel) {
    const hn_model *m = model;
    return hn_kernel_symbol(m, &m->kernel[kernel]);
}

static bool describe(const hn_model *m, hn_arena *a, hn_lowering *out) {
    hn_program_kernel *kernel = hn_alloc_n(a, m->n_kernel, sizeof *kernel);
    hn_launch_facts *launch = hn_alloc_n(a, m->g->n_node + 1, sizeof *launch);
    if (!kernel || !launch) return false;
    for (uint32_t i = 0; i < m->n_kernel; i++)
        kernel[i] = (hn_program_kernel){m->kernel[i].name, m->kernel[i].kind,
                                        hn_kernel_on_device(m, &m->kernel[i]) ? HN_DEVICE : HN_HOST,
                                        m->kernel[i].code.in_place};
    for (uint32_t i = 0; i < m->n_uses; i++) {
        uint32_t k = m->kernel_of[m->call[i]] - 1;
        const hn_kernel_code *code = &m->kernel[k].code;
        launch[m->call[i]] =
            (hn_launch_facts){k, m->kernel[k].cost.steps, code->scratch_b, code->work, code->work_by, code->n_work_by};
    }
    *out = (hn_lowering){m->lib->name, kernel, m->n_kernel, launch, m->lib->states};
    return true;
}

hone_rc hn_model_lower_unplaced(hn_model *m, hone_err *err) {
    hn_arena scratch = {0};
    hn_lowering how;
    hn_program_free(&m->program);
    m->program = (hn_program){0};
    m->layout = (hn_layout){0};
    hone_rc rc = hn_layout_make(m->g, m->facts, m->lib->states, &m->arena, &m->layout, err);
    if (rc) return rc;
    rc = describe(m, &scratch, &how) ? hn_program_lower(m->g, &m->layout, &how, &m->program, err)
                                     : hn_fail(err, HONE_E_NOMEM, "out of memory for the program");
    hn_arena_free(&scratch);
    return rc;
}

hone_rc hn_model_lower(hn_model *m, hone_err *err) {
    hone_rc rc = hn_model_lower_unplaced(m, err);
    if (!rc) rc = hn_program_place(&m->program, err);
    if (rc || !(HN_DEBUG_BUILD || m->program.n_state || hn_is_on_device(m->dialect))) return rc;
    /* A state that is updated in place must be proven to be dead by then, in every build. */
    return HN_DEBUG_BUILD ? hn_program_check(&m->program, err) : hn_program_verify(&m->program, err);
}

void hn_model_steps(hn_model *m, hn_str *out) {
    const bool timed = m->options->profile;
    const hn_program_c how = {.arg = m,
                              .symbol = symbol_of,
                              .before = timed ? hn_source_time_begin : NULL,
                              .after = timed ? hn_source_time_end : NULL,
                              .copy_before = timed ? hn_source_time_begin : NULL,
                              .copy_after = timed ? hn_source_copy_end : NULL};
    hn_program_print_c(&m->program, &how, out);
}
