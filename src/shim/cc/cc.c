/* shim/cc/cc.c — hone-shim-cc SOURCE.cu -o MODULE.so [flags of g++]: CUDA C becomes a library that the shim runs
 * (docs/race.md). A program of its own, carried inside libhone and put beside hone-shim.so and shim.cuh.
 *
 * The source becomes assembly first. There each shared variable gets bytes behind it that belong to none, and the
 * arrays of dynamic shared memory, which no source defines, get their place. $CXX is the compiler where it is set; it
 * has to be g++. */
#include <ctype.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MOST = 400, GAP_B = 64, DYNAMIC_B = 227 << 10, NAMES_MOST = 256 };
extern char **environ;

_Noreturn __attribute__((format(printf, 1, 2))) static void die(const char *format, ...) {
    va_list ap;
    fputs("hone-shim-cc: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(2);
}

static char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *format, ...) {
    char *s = NULL;
    va_list ap;
    va_start(ap, format);
    if (vasprintf(&s, format, ap) < 0) die("out of memory");
    va_end(ap);
    return s;
}

static void run(char *const *argv) {
    pid_t pid;
    int status = 0;
    const int rc = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (rc) die("cannot run '%s': %s; install g++, or name it in CXX", argv[0], strerror(rc));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status) exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* --- assembly --------------------------------------------------------------------------------------------------------
 */

typedef struct names {
    char *name[NAMES_MOST];
    size_t n;
} names;

static bool has(const names *s, const char *name, size_t n) {
    for (size_t i = 0; i < s->n; i++)
        if (strlen(s->name[i]) == n && !strncmp(s->name[i], name, n)) return true;
    return false;
}

static void add(names *s, const char *name, size_t n) {
    if (has(s, name, n)) return;
    if (s->n == NAMES_MOST) die("more than %d shared variables", NAMES_MOST);
    s->name[s->n++] = text_of("%.*s", (int)n, name);
}

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$'; }

/* The name before "@tlsgd" and the like. */
static void note_use(names *used, const char *line) {
    static const char *const kinds[] = {"@tlsgd", "@dtpoff", "@gottpoff", "@tlsdesc", "@tpoff"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *end = strstr(line, kinds[k]), *from = end;
        while (from && from > line && is_name(from[-1])) from--;
        if (end && end > from) add(used, from, (size_t)(end - from));
    }
}

/* Calls of the instrumentation go to the shim, whatever sanitizer's library the process has. */
static void put_line(const char *line, FILE *out) {
    static const char *const prefix[] = {"__tsan_", "__ubsan_", "__sanitizer_"};
    for (const char *at = line; *at;) {
        size_t k = 0;
        while (k < 3 && strncmp(at, prefix[k], strlen(prefix[k])) != 0) k++;
        if (k < 3) fputs("hsx", out); /* "hsx_tsan_read4" */
        at += k < 3;
        fputc(*at++, out);
    }
}

/* Copies the assembly with gaps behind the variables of sections for threads' own; the names that it uses but does not
 * define are dynamic shared memory. */
static void mark_variables(const char *from, const char *to) {
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    static names used, defined;
    char *line = NULL;
    size_t room = 0;
    bool tls = false;
    if (!in || !out) die("cannot read '%s' or write '%s'", from, to);
    while (getline(&line, &room, in) > 0) {
        const char *word = line + strspn(line, " \t");
        if (!strncmp(word, ".section", 8) || !strncmp(word, ".text", 5) || !strncmp(word, ".data", 5) ||
            !strncmp(word, ".bss", 4))
            tls = strstr(word, ".tbss") || strstr(word, ".tdata");
        const size_t n = strcspn(line, ":");
        if (tls && word == line && line[n] == ':') add(&defined, line, n);
        note_use(&used, line);
        put_line(line, out);
        if (tls && !strncmp(word, ".zero", 5)) fprintf(out, "\t.zero\t%d\n", GAP_B);
    }
    fprintf(out,
            "\t.section .tbss,\"awT\",@nobits\n\t.align 256\n\t.globl hs_dynamic_shared\n"
            "\t.type hs_dynamic_shared, @object\n\t.size hs_dynamic_shared, %d\nhs_dynamic_shared:\n",
            DYNAMIC_B);
    for (size_t i = 0; i < used.n; i++)
        if (!has(&defined, used.name[i], strlen(used.name[i])))
            fprintf(out, "\t.globl %s\n\t.type %s, @object\n%s:\n", used.name[i], used.name[i], used.name[i]);
    fprintf(out, "\t.zero %d\n", DYNAMIC_B);
    free(line);
    fclose(in);
    if (fclose(out)) die("cannot write '%s': %s", to, strerror(errno));
}

/* --- the program -----------------------------------------------------------------------------------------------------
 */

static char *own_folder(void) {
    static char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) die("cannot tell where hone-shim-cc is");
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
    return path;
}

static void compile(const char *dir, const char *source, const char *to, char **more, size_t n_more) {
    static char *fixed[] = {"-std=gnu++20",
                            "-O1",
                            "-g1",
                            "-fPIC",
                            "-w",
                            "-fno-exceptions",
                            "-ffp-contract=off",
                            "-fsanitize=thread,bounds",
                            "-fsanitize-coverage=trace-pc",
                            "-fno-extern-tls-init",
                            "-fno-stack-protector",
                            "--param",
                            "tsan-instrument-func-entry-exit=0",
                            "--param",
                            "tsan-distinguish-volatile=1"};
    char *argv[WORDS_MOST + 40];
    size_t n = 0;
    char *cxx = getenv("CXX");
    argv[n++] = cxx && *cxx ? cxx : "g++";
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) argv[n++] = fixed[i];
    argv[n++] = text_of("-I%s", dir);
    argv[n++] = "-include";
    argv[n++] = text_of("%s/shim.cuh", dir);
    for (size_t i = 0; i < n_more; i++) argv[n++] = more[i];
    argv[n++] = "-x";
    argv[n++] = "c++";
    argv[n++] = (char *)source;
    argv[n++] = "-S";
    argv[n++] = "-o";
    argv[n++] = (char *)to;
    argv[n] = NULL;
    run(argv);
}

static void link_module(const char *dir, const char *assembly, const char *to) {
    char *cxx = getenv("CXX"), *library = text_of("%s/hone-shim.so", dir);
    char *argv[] = {cxx && *cxx ? cxx : "g++", "-shared", "-Wl,-z,now", "-o", (char *)to,
                    (char *)assembly,          library,   "-lm",        NULL};
    run(argv);
}

int main(int argc, char **argv) {
    char *more[WORDS_MOST];
    const char *source = NULL, *to = NULL;
    size_t n = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-o") && i + 1 < argc)
            to = argv[++i];
        else if (argv[i][0] != '-' && !source && (!n || strcmp(more[n - 1], "-I") != 0))
            source = argv[i];
        else if (n < WORDS_MOST)
            more[n++] = argv[i];
        else
            die("more than %d flags", WORDS_MOST);
    }
    if (!source || !to) die("usage: hone-shim-cc SOURCE.cu -o MODULE.so [flags of g++]");
    const char *dir = own_folder();
    char *raw = text_of("%s.raw.s", to), *ready = text_of("%s.s", to), *made = text_of("%s.new", to);
    compile(dir, source, raw, more, n);
    mark_variables(raw, ready);
    link_module(dir, ready, made);
    unlink(raw);
    unlink(ready);
    if (rename(made, to)) die("cannot write '%s': %s", to, strerror(errno));
    return 0;
}
