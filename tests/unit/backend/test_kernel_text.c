/* Golden texts: what the CPU backend prints of a few kernels, letter by letter. A depthwise convolution of bytes widens
 * each byte in registers, by one instruction where there is one, and adds up in floats, without an intermediate image.
 * Where windows of neighbouring columns share elements, compilers do not learn of it.
 */
#include "backend/cpu/cpu.h"
#include "base/str.h"
#include "tap.h"

#include <hone/device.h>
#include <string.h>

static const struct {
    const char *name, *dialect, *kind, *schedule;
    const char *text; /* of the graph, without "ir 1" */
    const char *uses; /* stands in front of the function */
    const char *want;
} row[] = {
#include "kernel_texts.inc"
};

int main(void) {
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const hn_dialect *d = hn_dialect_named(row[i].dialect);
        const hn_emit_how how = {
            .dialect = d, .machine = hn_machine_of(d, &(hone_device){.isa = ""}), .schedule = row[i].schedule};
        hn_str text = {0};
        hn_graph *g = NULL;
        hn_arena a = {0};
        hn_kernel_code code = {0};
        hone_err err = {0};
        hn_str_addf(&text, "ir 1\n%s", row[i].text);
        hone_rc rc = hn_parse(text.text, text.n, row[i].name, &g, &err);
        if (!rc) rc = hn_emit_kernel(g, 0, row[i].kind, "k", &how, &a, &code, &err);
        const char *body = rc ? NULL : strstr(code.text, "static void k(");
        if (ok(body != NULL, "text/%s_is_printed (%s)", row[i].name, err.text)) {
            is_text(body, row[i].want, row[i].name);
            const char *uses = strstr(code.text, row[i].uses);
            ok(uses && uses < body, "text/%s_uses_%s", row[i].name, row[i].uses);
        }
        hn_graph_free(g);
        hn_arena_free(&a);
        hn_str_free(&text);
    }
    return done_testing();
}
