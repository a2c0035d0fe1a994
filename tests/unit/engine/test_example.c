/* The engine of docs/how-to-add-an-engine.md compiles, is quoted exactly, and keeps the contract. */
#include "quoted.h"
#include "synthetic.h"

#include "../../../docs/code/greedy.c"

int main(void) {
    hone_space *space = mixed_space();
    hone_search *s =
        open_search(space, (hone_search_options){.size = sizeof(hone_search_options), .engine = "random", .seed = 1});
    double *x = point_of(space);
    hone_err err;
    for (int i = 0; i < 20; i++) {
        hone_search_ask(s, x, &err);
        hone_search_tell(s, x, &(hone_outcome){.value = {synthetic_cost(space, 5, x)}}, &err);
    }
    ok(hn_engine_greedy.version == HN_ENGINE_VERSION, "example/has_the_version_of_the_contract");
    check_quoted("docs/how-to-add-an-engine.md", "docs/code/greedy.c");
    free(x);
    hone_search_close(s);
    hone_space_free(space);
    return done_testing();
}
