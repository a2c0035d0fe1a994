/* The reference emitter against the interpreter, bit by bit: every operation, its element types, its edges. */
#include "backend/reference_lab.h"

#include "backend/reference_specs.inc"

static void add_all(lab *l, const spec **of) {
    for (size_t i = 0; i < N_SPECS; i++) {
        char types[300], text[3000], name[120], *save = NULL;
        snprintf(types, sizeof types, "%s", specs[i].types);
        for (char *t = strtok_r(types, " ", &save); t; t = strtok_r(NULL, " ", &save)) {
            fill_text(specs[i].text, t, text);
            snprintf(name, sizeof name, "%s/%s", specs[i].name, t);
            size_t at = l->n;
            if (lab_add(l, text, name)) of[at] = &specs[i];
        }
    }
}

static lab all;
static const spec *spec_of[LAB_MAX];

/* One line of TAP per operation: all its element types. */
static void check_all(void) {
    for (size_t i = 0, j; i < all.n; i = j) {
        bool good = true;
        for (j = i; j < all.n && spec_of[j] == spec_of[i]; j++) {
            int64_t symbol[LAB_SYMBOLS] = {0};
            read_symbols(spec_of[j]->symbols, symbol);
            for (uint64_t seed = 1; good && seed <= 3; seed++)
                good = lab_check(&all.kernel[j], symbol, seed * 1000 + j);
        }
        ok(good, "reference/%s", spec_of[i]->name);
    }
}

int main(void) {
    add_all(&all, spec_of);
    if (ok(lab_build(&all), "reference/%zu kernels compile without a warning", all.n)) {
        int clang = lab_clang(&all);
        if (clang < 0)
            skip(1, "clang-19 is not installed");
        else
            ok(clang, "reference/clang takes them without a warning");
        check_all();
    }
    lab_free(&all);
    return done_testing();
}
