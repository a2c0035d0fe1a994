/* quoted.h — pages of docs/ quote the sources that the tests compile, to the letter. */
#ifndef QUOTED_H
#define QUOTED_H

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file of the repository; free. NULL: it cannot be read. */
static char *quoted_file(const char *name) {
    char path[1000];
    const char *root = getenv("HONE_ROOT");
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = calloc(1, 100000);
    if (text) text[fread(text, 1, 99999, f)] = 0;
    fclose(f);
    return text;
}

static void check_quoted(const char *page, const char *code) {
    char *p = quoted_file(page), *c = quoted_file(code);
    ok(p && c && strstr(p, c), "example/%s_is_quoted", code);
    free(p);
    free(c);
}

#endif
