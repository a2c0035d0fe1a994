/* text_file.c — a file or stdin, read whole; a file written whole. */
#include "text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

hone_rc cli_read_bytes(const char *path, char **out, size_t *n, hone_err *err) {
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t room = 0;
    if (!f) return cli_fail(err, HONE_E_IO, "cannot open '%s'", path);
    for (int k; (k = getc(f)) != EOF;) {
        *out = cli_grow(*out, &room, *n, 1);
        (*out)[(*n)++] = (char)k;
    }
    if (f != stdin) fclose(f);
    return *n ? HONE_OK : cli_fail(err, HONE_E_EMPTY, "'%s' is empty", path);
}

hone_rc cli_read_text(const char *path, char **out, hone_err *err) {
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t n = 0, room = 0;
    char *text = NULL;
    if (!f) return cli_fail(err, HONE_E_IO, "cannot open '%s'", path);
    for (int k; (k = getc(f)) != EOF;) {
        text = cli_grow(text, &room, n + 1, 1);
        text[n++] = (char)k;
    }
    bool broken = ferror(f);
    if (f != stdin) fclose(f);
    text = cli_grow(text, &room, n + 1, 1);
    text[n] = 0;
    hone_rc rc = broken              ? cli_fail(err, HONE_E_IO, "cannot read '%s'", path)
                 : strlen(text) == n ? HONE_OK
                                     : cli_fail(err, HONE_E_INPUT, "'%s' holds a byte 0; it is no text", path);
    if (rc)
        free(text);
    else
        *out = text;
    return rc;
}

static bool put(const char *path, const char *text) {
    FILE *f = fopen(path, "we");
    bool good = f && fputs(text, f) >= 0;
    int why = errno;
    if (f && fclose(f) && good) {
        good = false;
        why = errno;
    }
    errno = why;
    return good;
}

/* Beside it, then in its place. was: what is there (NULL: nothing), whose mode stays; what may not be written is kept.
 */
static bool put_whole(const char *path, const struct stat *was, const char *text) {
    if (was && access(path, W_OK)) return false;
    char *beside = cli_format("%s.hone-%ld", path, (long)getpid());
    bool good = put(beside, text) && (!was || !chmod(beside, was->st_mode & 07777)) && !rename(beside, path);
    int why = errno;
    if (!good) unlink(beside);
    free(beside);
    errno = why;
    return good;
}

hone_rc cli_write_text(const char *path, const char *text, hone_err *err) {
    struct stat is;
    bool there = !lstat(path, &is);
    bool good = there && !S_ISREG(is.st_mode) ? put(path, text) : put_whole(path, there ? &is : NULL, text);
    return good ? HONE_OK : cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
}
