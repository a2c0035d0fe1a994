/* docs/code/cube.c — the example operator of docs/how-to-add-an-operation.md: Cube(x) = x * x * x, since opset 3. */
#include "import/lower.h"

static void lower_cube(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) {
        hn_wrong(c, "input 0 is missing");
        return;
    }
    if (!hn_is_float(hn_dt(b, x))) {
        hn_refuse(c, "element type %s", hn_dtype_of(hn_dt(b, x))->text);
        return;
    }
    hn_out(c, 0, hn_bin(b, HN_OP_MUL, hn_bin(b, HN_OP_MUL, x, x), x));
}

const hn_lower_row hn_lower_example[] = {
    {"org.example", "Cube", 3, HN_OPSET_MAX, lower_cube, 0},
    {0},
};
