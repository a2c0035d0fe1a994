/* A compilation that is asked to end, at each of its stages: it says so, ends what runs, and leaves nothing behind. */
#include "base/fs.h"
#include "tap.h"

#include <hone/compile.h>

#include <dirent.h>
#include <string.h>
#include <unistd.h>

static const char graph[] =
    "ir 1\nsymbol n in 1..8\ninput %0 : f32[n, 4] \"x\"\n"
    "%2 = const {value = f32[4, 2] (1, 2, 3, 4, 5, 6, 7, 8)}\n"
    "%3 = contract %0, %2 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %3 \"y\"\n";

typedef struct request {
    const char *at; /* the stage that asks for the end */
    volatile int stop;
    int n_after; /* told of after that */
} request;

static void on_progress(void *arg, const hone_event *e) {
    request *r = arg;
    r->n_after += r->stop;
    if (!strcmp(e->stage, r->at)) r->stop = 1;
}

static size_t n_entries(const char *folder) {
    DIR *d = opendir(folder);
    size_t n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n - 2; /* . and .. */
}

/* emit C is one unit without a compiler; specialised versions are several. */
static void check(const char *folder, const char *at, const char *specialize) {
    char path[300];
    request r = {.at = at, .stop = !*at};
    hone_compile_options o = {.size = sizeof(hone_compile_options),
                              .output = path,
                              .target = "generic",
                              .no_cache = true,
                              .no_winners = true};
    hone_graph *g = NULL;
    hone_err err = {0};
    o.specialize = &specialize, o.n_specialize = specialize != NULL;
    o.progress = (hone_progress){on_progress, &r}, o.stop = &r.stop;
    snprintf(path, sizeof path, "%s/model", folder);
    if (hone_graph_parse(graph, sizeof graph - 1, &g, &err)) return;
    hone_rc rc = hone_compile_graph(g, "model", &o, NULL, &err);
    const char *name = *at ? at : "before";
    ok(rc == HONE_E_INTERRUPTED && strstr(err.text, "interrupted"), "stop/%s%s is_said", name,
       specialize ? "_of_many" : "");
    ok(r.n_after <= 1, "stop/%s%s nothing_follows", name, specialize ? "_of_many" : "");
    ok(n_entries(folder) == 0, "stop/%s%s nothing_is_left", name, specialize ? "_of_many" : "");
    hone_graph_free(g);
}

int main(void) {
    static const char *const stages[] = {"", "passes", "kernels", "parity"};
    char folder[] = "/tmp/hone-test-stop-XXXXXX";
    if (!mkdtemp(folder)) return 1;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) check(folder, stages[i], NULL);
    check(folder, "compile", "n=2,4");
    check(folder, "parity", "n=2,4");
    hn_remove_tree(folder, NULL);
    return done_testing();
}
