/* target/driver/driver.c — see driver.h: settings, the command line, files. */
#include "driver.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "HONE-GPU-CC\n";
enum { DIGITS = 16, TAIL = DIGITS + sizeof mark - 1, SETTINGS_MOST = 65536 };

char *hn_text(const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n >= 0) return text;
    fputs("out of memory\n", stderr);
    exit(1);
}

void hn_words_add(hn_words *w, const char *text) {
    if (w->n + 1 >= w->room) {
        w->room = w->room ? 2 * w->room : 32;
        w->word = realloc(w->word, w->room * sizeof *w->word);
        if (!w->word) exit(1);
    }
    w->word[w->n++] = text;
    w->word[w->n] = NULL;
}

int hn_complain(const hn_job *job, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", job->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return 1;
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

/* The lines at the end of this program's file; "" where there are none. */
static const char *settings(void) {
    static char text[SETTINGS_MOST + TAIL + 1];
    char tail[TAIL + 1] = "";
    FILE *f = fopen("/proc/self/exe", "rbe");
    long n = 0;
    bool fine = f && !fseek(f, -(long)TAIL, SEEK_END) && fread(tail, 1, TAIL, f) == TAIL &&
                !strcmp(tail + DIGITS, mark) && (n = strtol(tail, NULL, 10)) > 0 && n <= SETTINGS_MOST &&
                !fseek(f, -(long)TAIL - n, SEEK_END) && fread(text, 1, (size_t)n, f) == (size_t)n;
    if (f) fclose(f);
    if (!fine) n = 0;
    text[n] = 0;
    return text;
}

const char *hn_setting(const char *key) {
    static const char *all;
    if (!all) all = settings();
    size_t n = strlen(key);
    for (const char *p = all; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (!strncmp(p, key, n) && p[n] == '=') return hn_text("%.*s", (int)strcspn(p + n + 1, "\n"), p + n + 1);
    return NULL;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

char *hn_slurp(const hn_job *job, const char *path, size_t *n) {
    FILE *f = fopen(path, "rbe");
    size_t room = 1 << 16, used = 0;
    char *text = f ? malloc(room) : NULL;
    for (size_t got; text && (got = fread(text + used, 1, room - used - 1, f)) > 0;) {
        used += got;
        if (room - used < 2) text = realloc(text, room *= 2);
    }
    if (!text || ferror(f)) {
        hn_complain(job, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    fclose(f);
    text[used] = 0;
    *n = used;
    return text;
}

int hn_store(const hn_job *job, const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wbe");
    bool fine = f && fwrite(data, 1, n, f) == n;
    if (f && fclose(f)) fine = false;
    return fine ? 0 : hn_complain(job, "cannot write '%s': %s", path, strerror(errno));
}

/* --- the command line --------------------------------------------------------------------------------------------- */

/* The value of an option that is written -NAME=VALUE or -NAME VALUE; NULL: the word is another one. */
static const char *value_of(char **argv, int *i, const char *name) {
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0) return NULL;
    if (argv[*i][n] == '=') return argv[*i] + n + 1;
    return argv[*i][n] || !argv[*i + 1] ? NULL : argv[++*i];
}

static bool take_value(hn_job *job, char **argv, int *i) {
    static const char *const arch[] = {"-arch", "--gpu-architecture", "--cuda-gpu-arch", "--offload-arch"};
    static const char *const passed[] = {"-Xptxas", "--ptxas-options", "-Xcuda-ptxas"};
    const char *text;
    for (size_t k = 0; k < sizeof arch / sizeof *arch; k++)
        if ((text = value_of(argv, i, arch[k]))) return (job->arch = text) != NULL;
    for (size_t k = 0; k < sizeof passed / sizeof *passed; k++)
        if ((text = value_of(argv, i, passed[k]))) return hn_words_add(&job->ptxas, text), true;
    if (!(text = value_of(argv, i, "-o"))) return false;
    return (job->out = text) != NULL;
}

static bool is_word(const char *text, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(text, *list)) return true;
    return false;
}

/* Options whose value is always the next word. */
static const char *const pairs[] = {"-mllvm", "-I", "-D", "-include", "-isystem", "-Xclang", "-x", NULL};
static const char *const as_ever[] = {"-cubin", "--cubin", "-c", NULL}; /* what nvcc needs to be told */

static int read_words(hn_job *job, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--version"))
            job->version = true;
        else if (!strcmp(argv[i], "--where"))
            job->where = true;
        else if (!strcmp(argv[i], "-ptx") || !strcmp(argv[i], "--ptx"))
            job->ptx = true;
        else if (is_word(argv[i], as_ever) || take_value(job, argv, &i))
            continue;
        else if (is_word(argv[i], pairs) && argv[i + 1]) {
            hn_words_add(&job->options, argv[i]);
            hn_words_add(&job->options, argv[++i]);
        } else if (*argv[i] == '-')
            hn_words_add(&job->options, argv[i]);
        else if (job->input)
            return hn_complain(job, "two inputs, '%s' and '%s': give one", job->input, argv[i]);
        else
            job->input = argv[i];
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *mode = hn_setting("mode");
    hn_job job = {.name = mode ? hn_text("hone-%s", mode) : "hone-gpu-cc"};
    if (!mode) return hn_complain(&job, "it was not written by hone, which says what it compiles");
    bool question = argc > 1 && !strcmp(argv[1], "--clang"); /* words for what is behind it, as they are */
    for (int i = 1; i < argc && question; i++) hn_words_add(&job.options, argv[i]);
    if (!question && read_words(&job, argc, argv)) return 1;
    if (!job.version && !job.where && !question) {
        if (!job.input) return hn_complain(&job, "no input: %s [OPTION]… FILE -o OUT", job.name);
        if (!job.out) return hn_complain(&job, "no output: say -o FILE");
    }
    if (!strcmp(mode, "nvrtc")) return hn_nvrtc(&job);
    if (!strcmp(mode, "clang-cuda")) return hn_clang_cuda(&job);
    return hn_opencl(&job);
}
