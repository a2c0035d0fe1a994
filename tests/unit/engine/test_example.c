/* The engine of docs/how-to-add-an-engine.md compiles, is quoted exactly, and keeps the contract. */
#include "synthetic.h"

#include "../../../docs/code/greedy.c"

static char *text_of(const char *name) {
    char path[1000];
    const char *root = getenv("HONE_ROOT");
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = calloc(1, 100000);
    size_t n = fread(text, 1, 99999, f);
    text[n] = 0;
    fclose(f);
    return text;
}

int main(void) {
    hone_space *space = mixed_space();
    hone_search *s = open_search(space, (hone_search_config){.engine = "random", .seed = 1});
    double *x = point_of(space);
    hone_err err;
    for (int i = 0; i < 20; i++) {
        hone_search_ask(s, x, &err);
        hone_search_tell(s, x, &(hone_outcome){.value = {synthetic_cost(space, 5, x)}}, &err);
    }
    ok(hn_engine_greedy.version == HN_ENGINE_VERSION, "example/has_the_version_of_the_contract");
    char *page = text_of("docs/how-to-add-an-engine.md"), *code = text_of("docs/code/greedy.c");
    ok(page && code && strstr(page, code), "example/page_quotes_the_source");
    free(page);
    free(code);
    free(x);
    hone_search_close(s);
    hone_space_free(space);
    return done_testing();
}
