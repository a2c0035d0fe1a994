/* The example of docs/how-to-add-a-target.md compiles without a warning and has every part a family needs. */
#include "fake.h"

#include "tap.h"

static char *example(const char *root) {
    char path[500];
    char *text, *from, *to;
    size_t n;
    snprintf(path, sizeof path, "%s/docs/how-to-add-a-target.md", root);
    if (hn_read_file(path, &text, &n, NULL)) return NULL;
    from = strstr(text, "```c\n");
    to = from ? strstr(from + 5, "\n```") : NULL;
    if (!to) {
        free(text);
        return NULL;
    }
    to[1] = 0;
    char *code = strdup(from + 5);
    free(text);
    return code;
}

int main(void) {
    char root[400], command[1500];
    snprintf(root, sizeof root, "%s", __FILE__);
    char *cut = strstr(root, "tests/unit/target");
    if (!cut) return 99;
    strcpy(cut, ".");
    fake_begin();
    char *code = example(root);
    if (ok(code != NULL, "docs/target_example_is_there")) {
        snprintf(command, sizeof command,
                 "gcc -std=c11 -D_GNU_SOURCE -I%s/include -I%s/src -Wall -Wextra -Wpedantic -Wshadow -Werror "
                 "-fsyntax-only %s",
                 root, root, fake_file("tcc.c", code, 0644));
        ok(system(command) == 0, "docs/target_example_compiles");
        static const char *const part[] = {".recognise", ".code_files",  ".native",    ".discover", ".classify",
                                           ".lto",       ".contract_of", ".pgo_extra", ".command",  ".seeds"};
        for (size_t i = 0; i < sizeof part / sizeof *part; i++)
            ok(strstr(code, part[i]) != NULL, "docs/target_example_has %s", part[i]);
    }
    free(code);
    fake_end();
    return done_testing();
}
