/* pass/registry.c — the pipeline. Adding a pass: docs/how-to-add-a-pass.md. */
#include "pass/passes.h"

#include <stddef.h>

const hn_pass *const hn_passes[] = {
    &hn_pass_joint,
    &hn_pass_panels,
    &hn_pass_fold,
    &hn_pass_simplify,
    &hn_pass_shapes,
    &hn_pass_cse,
    &hn_pass_dce,
    &hn_pass_bytes,
    &hn_pass_subnormal,
    &hn_pass_batchnorm,
    &hn_pass_transpose,
    &hn_pass_attention,
    &hn_pass_layout,
    &hn_pass_winograd,
    &hn_pass_pack,
    &hn_pass_fuse,
    NULL,
};
