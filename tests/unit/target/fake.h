/* tests/unit/target/fake.h — compilers that misbehave, as shell scripts in a folder of their own. */
#ifndef HN_FAKE_H
#define HN_FAKE_H

#include "base/fs.h"

#include <hone/target.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char fake_dir[200];

static inline void fake_begin(void) {
    snprintf(fake_dir, sizeof fake_dir, "/tmp/hone-test-target-XXXXXX");
    if (!mkdtemp(fake_dir)) exit(99);
}

/* Writes DIR/NAME with this text and mode; the path is valid until the next call. */
static inline const char *fake_file(const char *name, const char *text, unsigned mode) {
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", fake_dir, name);
    if (hn_write_file(path, text, strlen(text), NULL) || chmod(path, mode)) exit(99);
    return path;
}

static inline const char *fake_cache(void) {
    static char path[400];
    snprintf(path, sizeof path, "%s/cache", fake_dir);
    return path;
}

static inline void fake_end(void) { (void)hn_remove_tree(fake_dir, NULL); }

#define FAKE_GCC_VERSION                                                                                               \
    "#!/bin/sh\n"                                                                                                      \
    "case \"$*\" in\n"                                                                                                 \
    "--version) echo 'gcc (Fake) 12.2.0'; echo 'Copyright (C) Free Software Foundation, Inc.'; exit 0;;\n"             \
    "-print-prog-name=*) echo \"${1#*=}\"; exit 0;;\n"                                                                 \
    "*march=native*) exit 1;;\n"

#endif
