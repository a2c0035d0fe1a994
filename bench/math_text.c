/* bench/math_text.c — prints the functions of floats as a kernel gets them. usage: math_text DIALECT flags | text */
#include "backend/cpu/cpu.h"
#include "backend/cpu/nest_c.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const hn_dialect *d = argc == 3 ? hn_dialect_named(argv[1]) : NULL;
    hn_str text = {0};
    if (!d || d->vector_b < 8) return fputs("usage: math_text DIALECT flags | text\n", stderr), 2;
    if (!strcmp(argv[2], "flags")) {
        for (int k = 0; d->flags[k]; k++) printf("%s ", d->flags[k]);
        return 0;
    }
    hn_cpu_add_runtime(&text, "base");
    hn_c_prelude(&text, d->vector_b / 4, UINT32_MAX);
    hn_str_addf(&text, "#define WIDTH %d\n", d->vector_b / 4);
    if (text.failed) return 1;
    fputs(text.text, stdout);
    hn_str_free(&text);
    return 0;
}
