/* The table of front ends: what each takes for its own, what is said of files that are nobody's, the summary. */
#include "../onnx/onnx_write.h"
#include "import/fronts.h"
#include "quoted.h"
#include "tap.h"

#include <hone/import.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char graph_text[] = "# a comment\n\nir 1\nsymbol n in 1..64\ninput %0 : f32[n, 4] \"x\"\n"
                                 "%1 = const {value = f32[4] (1, 2, 3, 4)}\n%2 = broadcast %1 {shape = [n, 4], map = "
                                 "[1]}\n%3 = add %0, %2\noutput %3 \"y\"\n";

static char dir[64];
static const char *write_to(const char *name, const void *data, size_t n) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n) abort();
    fclose(f);
    return path;
}

/* --- every row ---------------------------------------------------------------------------------------------------- */

static void test_rows(void) {
    for (size_t i = 0; hn_front_at(i); i++) {
        const hn_front *f = hn_front_at(i), *g;
        ok(f->name && f->name[0] && f->summary && f->suffix && f->suffix[0] == '.' && f->sniff && f->import &&
               f->inspect,
           "fronts/%s_is_whole", f->name ? f->name : "?");
        for (size_t k = 0; k < i && (g = hn_front_at(k)); k++)
            ok(strcmp(f->name, g->name) && strcmp(f->suffix, g->suffix), "fronts/%s_is_not_%s", f->name, g->name);
        ok(!f->sniff("", 0), "fronts/%s_does_not_claim_nothing", f->name);
        for (size_t n = 1; n < 200; n++) { /* exact sizes, so that ASan sees a read beyond */
            char *head = malloc(n);
            if (!head) abort();
            for (size_t k = 0; k < n; k++) head[k] = (char)(n * 31 + k * k * 7);
            if (f->sniff(head, n)) ok(0, "fronts/%s_claims_noise_of_%zu_bytes", f->name, n);
            free(head);
        }
        hone_import_format row;
        ok(hone_import_format_at(i, &row) && row.name == f->name, "fronts/%s_is_listed", f->name);
    }
}

/* --- by content, then by name ------------------------------------------------------------------------------------- */

static void known_as(const char *name, const void *data, size_t n, const char *format) {
    const char *path = write_to(name, data, n), *found = hone_import_format_of(path);
    if (!ok(format ? found && !strcmp(found, format) : !found, "fronts/%s_is_%s", name, format ? format : "nobodys"))
        printf("#   %s\n", found ? found : "none");
}

static void test_sniffing(void) {
    static const char yaml[] = "build:\n  command: cc x.c\n", two[] = "2 3 4 5 is no field of a model\n";
    known_as("graph.bin", graph_text, sizeof graph_text - 1, "graph");
    known_as("graph.onnx", graph_text, sizeof graph_text - 1, "graph");
    known_as("hone.yaml", yaml, sizeof yaml - 1, NULL);
    known_as("two.txt", two, sizeof two - 1, NULL);
    known_as("empty", "", 0, NULL);
    known_as("damaged.onnx", two, sizeof two - 1, "onnx");
    known_as("damaged.ir", two, sizeof two - 1, "graph");
    for (unsigned i = 0; onnx_sample(i).n; i++) {
        char name[32];
        pb m = onnx_sample(i);
        snprintf(name, sizeof name, "sample_%u", i);
        known_as(name, m.b, m.n, "onnx");
    }
    ok(!strcmp(hone_import_format_of("/nowhere/x.onnx"), "onnx"), "fronts/a_missing_file_is_judged_by_its_name");
    ok(!hone_import_format_of(dir), "fronts/a_folder_is_nobodys");
    char pipe[128];
    snprintf(pipe, sizeof pipe, "%s/pipe", dir);
    if (mkfifo(pipe, 0600)) abort();
    ok(!hone_import_format_of(pipe), "fronts/a_pipe_is_not_read");
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

static void fails(const char *path, const hone_import_options *o, hone_rc rc, const char *part, const char *name) {
    hone_graph *g = NULL;
    hone_err err = {0};
    char *report = NULL;
    hone_rc got = hone_import_model(path, o, &g, &report, &err);
    if (!ok(got == rc && strstr(err.text, part) && !g, "fronts/%s", name)) printf("#   got %d: %s\n", got, err.text);
    hone_free(report);
    hone_graph_free(g);
}

static void test_errors(void) {
    const char *symbol = "n=3";
    hone_import_options symbols = {.size = sizeof symbols, .symbol = &symbol, .n_symbol = 1},
                        small = {.size = sizeof small, .max_file_b = 3};
    hone_graph *g = NULL;
    hone_err err = {0};
    fails(write_to("what", "what", 4), NULL, HONE_E_INPUT, "ONNX model (.onnx)", "what_no_front_end_knows_lists_all");
    fails(write_to("g", graph_text, sizeof graph_text - 1), &small, HONE_E_LIMIT, "3 bytes", "a_large_file_is_refused");
    fails(write_to("g", graph_text, sizeof graph_text - 1), &symbols, HONE_E_USAGE, "says its sizes itself",
          "graph_text_takes_no_symbols");
    fails("/nowhere/x", NULL, HONE_E_IO, "cannot open", "a_missing_file");
    fails(dir, NULL, HONE_E_IO, "no regular file", "a_folder");
    ok(hone_import_memory("what", 4, NULL, &g, NULL, &err) == HONE_E_INPUT && strstr(err.text, "model in memory"),
       "fronts/memory_that_nobody_knows");
    ok(!hone_import_memory(graph_text, sizeof graph_text - 1, NULL, &g, NULL, &err), "fronts/graph_text_in_memory");
    hone_graph_free(g);
}

/* --- what is in a file -------------------------------------------------------------------------------------------- */

static void shows(const char *path, const char *part, const char *name) {
    hone_err err = {0};
    char *json = NULL;
    hone_rc rc = hone_import_inspect(path, &json, &err);
    if (!ok(!rc && strstr(json, part), "fronts/%s", name)) printf("#   %s\n", rc ? err.text : json);
    hone_free(json);
}

static void test_inspect(void) {
    const char *path = write_to("g", graph_text, sizeof graph_text - 1);
    shows(path, "\"format\":\"graph\",\"summary\":\"graph text\"", "inspect_names_the_format");
    shows(path, "\"inputs\":[{\"name\":\"x\",\"type\":\"f32\",\"shape\":[\"n\",4]}]", "inspect_shows_sizes");
    shows(path, "\"nodes\":2,\"parameters\":{\"tensors\":1,\"elements\":4}", "inspect_counts");
    shows(path, "\"supported\":true,\"refusals\":[]}", "inspect_says_that_it_compiles");
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t shape[2] = {3, 2};
    pb g = {.n = 0}, t = onnx_tensor("", 1, 2, shape, w, sizeof w), node = onnx_node("Constant: -> w"), a = {.n = 0};
    pb_text(&a, 1, "value");
    pb_put(&a, 5, &t);
    pb_int(&a, 20, 4);
    pb_put(&node, 5, &a);
    onnx_add_input(&g, "x", 1, "n,3");
    onnx_add_output(&g, "y", 1, NULL);
    pb_put(&g, 1, &node);
    onnx_add_node(&g, "MatMul: x w -> y");
    pb weights = onnx_model(&g, 17);
    shows(write_to("c", weights.b, weights.n), "\"parameters\":{\"tensors\":1,\"elements\":6}",
          "inspect_counts_constants");
    pb m = onnx_sample(0);
    shows(write_to("m", m.b, m.n), "\"about\":[[\"IR version\",", "inspect_has_lines_for_people");
}

int main(void) {
    snprintf(dir, sizeof dir, "/tmp/hone-fronts-XXXXXX");
    if (!mkdtemp(dir)) abort();
    test_rows();
    test_sniffing();
    test_errors();
    test_inspect();
    check_quoted("docs/how-to-add-a-front-end.md", "docs/code/toy.c");
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command)) abort();
    return done_testing();
}
