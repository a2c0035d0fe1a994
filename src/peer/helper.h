/* peer/helper.h — a program of Python in a process of its own: commands go in as lines, each is answered by one: "ok
 * …", "error …", or "missing …" where a package is not there.
 *
 * It ends when its input does, or its parent, so nothing outlives hone. Between two commands it is stopped: its threads
 * would spin for a while on the processors that the other side is timed on.
 */
#ifndef HN_HELPER_H
#define HN_HELPER_H

#include <hone/base.h>

#include <stdio.h>
#include <sys/types.h>

typedef struct hn_helper {
    const char *what; /* for messages: "onnxruntime"; the caller's */
    pid_t pid;
    int to;
    FILE *from; /* the same socket */
    char *line;
    size_t room;
} hn_helper;

/* The i-th Python to try, or NULL past the end: the one given (NULL: $HONE_PYTHON, build/venv/bin/python, python3). */
const char *hn_helper_python(const char *given, size_t i);
/* False: it cannot be started. arg: of the program, NULL at the end, eight at most. */
bool hn_helper_start(hn_helper *h, const char *python, const char *program, const char *const *arg);
/* The rest of an "ok" line, valid until the next; or NULL, and why in err: E_UNSUPPORTED (missing), E_TOOL. */
const char *hn_helper_answer(hn_helper *h, hone_err *err);
/* Sends a line and waits for its answer; the process rests again afterwards. */
const char *hn_helper_ask(hn_helper *h, const char *line, hone_err *err);
void hn_helper_stop(hn_helper *h);

#endif
