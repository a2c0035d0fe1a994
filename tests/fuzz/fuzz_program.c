/* tests/fuzz/fuzz_program.c — the reader of programs: what it takes is printed to a fixed point of reading; the
 * verifier and the C printer see all of it; what is refused leaves a message. */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *symbol_of(void *arg, uint32_t kernel) {
    (void)arg, (void)kernel;
    return "k";
}

static void print_c(const hn_program *p) {
    const hn_program_c how = {.symbol = symbol_of};
    hn_str out = {0};
    hn_program_print_c(p, &how, &out);
    hn_str_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_program p, back;
    hone_err err = {0};
    hn_str once = {0}, twice = {0};
    if (hn_program_parse((const char *)data, size, "fuzz", &p, &err)) {
        if (!*err.text) abort();
        hn_program_free(&p);
        return 0;
    }
    hn_program_print(&p, &once);
    if (hn_program_parse(once.text, once.n, "again", &back, &err)) abort();
    hn_program_print(&back, &twice);
    if (strcmp(once.text, twice.text) != 0) abort();
    bool good = !hn_program_verify(&p, &err);
    if (good != !hn_program_verify(&back, &err)) abort();
    if (good) print_c(&p);
    hn_str_free(&once);
    hn_str_free(&twice);
    hn_program_free(&back);
    hn_program_free(&p);
    return 0;
}
