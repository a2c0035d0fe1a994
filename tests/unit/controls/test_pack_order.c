/* In which order a pack's controls are tried: by likeness, none left out. */
#include "tap.h"

#include <hone/machine.h>
#include <hone/pack.h>
#include <hone/tune.h>

#include <math.h>

enum { MOST = 8 };

typedef struct row {
    const char *file, *compiler, *objective;
    bool here;
    double gain;
} row;

static hone_workload *workload(void) {
    static const char text[] = "hone: 1\nname: order\nbuild: '{cc} {flags} a.c -o {out}'\nrun: '{out}'\n"
                               "compilers: [gcc, clang-19]\nobjectives: [minimize code_size]\nparity: {rule: none}\n";
    hone_workload *w = NULL;
    hone_err err = {0};
    if (hone_workload_parse(text, sizeof text - 1, "order", "/tmp", &w, &err)) printf("# %s\n", err.text);
    return w;
}

static const char *ordered(const row *rows, size_t n, const hone_workload *w, char out[200]) {
    hone_pack_entry entry[MOST];
    hone_machine here;
    hone_machine_get(&here);
    for (size_t i = 0; i < n; i++)
        entry[i] = (hone_pack_entry){.file = rows[i].file,
                                     .compiler = rows[i].compiler,
                                     .objective = rows[i].objective,
                                     .cpu = rows[i].here ? here.cpu : "another",
                                     .gain = {rows[i].gain, rows[i].gain, rows[i].gain}};
    hone_pack pack = {.dir = ".", .entry = entry, .n = n};
    *out = 0;
    if (hone_pack_order(&pack, w, NULL)) return "failed";
    for (size_t i = 0; i < n; i++) snprintf(out + strlen(out), 200 - strlen(out), "%s ", entry[i].file);
    return out;
}

int main(void) {
    static const struct {
        const char *name;
        row row[MOST];
        const char *want;
    } cases[] = {
        {"alike_they_stay_by_name",
         {{"a", "gcc", "code_size", false, 1.1}, {"b", "gcc", "code_size", false, 1.1}},
         "a b "},
        {"the_objective_first",
         {{"a", "gcc", "p50(latency)", true, 3}, {"b", "rustc", "code_size", false, 1.01}},
         "b a "},
        {"then_the_compiler",
         {{"a", "rustc", "code_size", true, 1.0},
          {"b", "clang-19", "code_size", false, 1.01},
          {"c", "gcc", "code_size", false, 1.0}},
         "c b a "},
        {"then_the_processor", {{"a", "gcc", "code_size", false, 1.1}, {"b", "gcc", "code_size", true, 1.1}}, "b a "},
        {"then_the_gain",
         {{"a", "gcc", "code_size", true, 1.1},
          {"b", "gcc", "code_size", true, 1.3},
          {"c", "gcc", "code_size", true, 90}},
         "c b a "},
        {"what_is_not_known_comes_last", {{"a", "", "", false, NAN}, {"b", "gcc", "", false, NAN}}, "b a "},
    };
    hone_workload *w = workload();
    char out[200], name[100];
    for (size_t i = 0; w && i < sizeof cases / sizeof *cases; i++) {
        size_t n = 0;
        while (n < MOST && cases[i].row[n].file) n++;
        snprintf(name, sizeof name, "pack/order_%s", cases[i].name);
        is_text(ordered(cases[i].row, n, w, out), cases[i].want, name);
    }
    hone_pack none = {.dir = "."};
    ok(w && hone_pack_order(&none, w, NULL) == HONE_OK, "pack/order_of_none");
    hone_workload_free(w);
    return done_testing();
}
