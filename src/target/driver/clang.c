/* target/driver/clang.c — clang for CUDA: C++ to PTX by clang, PTX to machine code by ptxas.
 *
 * clang 19 knows CUDA's headers up to 12.5; what later ones leave out is beside this program, empty (setting `stubs`).
 * Without headers a source is compiled by itself, as with -nocudainc -nocudalib. It stops at sm_90a: for what is newer
 * it makes PTX of sm_90, which ptxas compiles for every later device. */
#include "driver.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int run(const hn_job *job, const hn_words *w) {
    pid_t pid;
    int status;
    int rc = posix_spawn(&pid, w->word[0], NULL, NULL, (char *const *)(void *)w->word, environ);
    if (rc) return hn_complain(job, "cannot run '%s': %s", w->word[0], strerror(rc));
    if (waitpid(pid, &status, 0) != pid) return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : hn_complain(job, "'%s' ended by signal %d", w->word[0], WTERMSIG(status));
}

static int run_clang(const hn_job *job, const char *const *word, size_t n) {
    hn_words w = {0};
    hn_words_add(&w, hn_setting("clang"));
    for (size_t i = 0; i < n; i++) hn_words_add(&w, word[i]);
    return run(job, &w);
}

/* "sm_90" of "sm_100a": the newest that clang is asked for. */
static const char *front_arch(const char *arch) {
    long most = atol(hn_setting("most") ? hn_setting("most") : "90");
    const char *digits = strchr(arch, '_');
    return digits && atol(digits + 1) > most ? hn_text("sm_%ld", most) : arch;
}

static void add_options(const hn_job *job, hn_words *w, const char *ptx) {
    const char *root = hn_setting("root"), *stubs = hn_setting("stubs"), *own = hn_setting("own");
    hn_words_add(w, hn_setting("clang"));
    static const char *const plain[] = {"-x", "cuda", "--cuda-device-only", "-S", "-Wno-unknown-cuda-version", NULL};
    for (size_t i = 0; plain[i]; i++) hn_words_add(w, plain[i]);
    hn_words_add(w, hn_text("--cuda-gpu-arch=%s", front_arch(job->arch ? job->arch : "sm_80")));
    if (root)
        hn_words_add(w, hn_text("--cuda-path=%s", root));
    else
        hn_words_add(w, "-nocudainc"), hn_words_add(w, "-nocudalib");
    for (size_t i = 0; i < job->options.n; i++) hn_words_add(w, job->options.word[i]);
    if (own) hn_words_add(w, hn_text("-I%s", own));
    if (stubs) hn_words_add(w, "-idirafter"), hn_words_add(w, stubs);
    hn_words_add(w, job->input);
    hn_words_add(w, "-o");
    hn_words_add(w, ptx);
}

static int assemble(const hn_job *job, const char *ptx) {
    hn_words w = {0};
    hn_words_add(&w, hn_setting("ptxas"));
    hn_words_add(&w, hn_text("-arch=%s", job->arch ? job->arch : "sm_80"));
    for (size_t i = 0; i < job->ptxas.n; i++) hn_words_add(&w, job->ptxas.word[i]);
    hn_words_add(&w, ptx);
    hn_words_add(&w, "-o");
    hn_words_add(&w, job->out);
    return run(job, &w);
}

int hn_clang_cuda(hn_job *job) {
    if (job->where) return printf("%s\n%s\n", hn_setting("clang"), hn_setting("ptxas")) < 0;
    if (job->version) {
        static const char *const ask[] = {"--version"};
        printf("hone-clang-cuda: ");
        fflush(stdout);
        return run_clang(job, ask, 1);
    }
    if (job->options.n && !strcmp(job->options.word[0], "--clang")) /* a question to clang alone */
        return run_clang(job, job->options.word + 1, job->options.n - 1);
    hn_words w = {0};
    const char *ptx = job->ptx ? job->out : hn_text("%s.ptx", job->out);
    add_options(job, &w, ptx);
    int rc = run(job, &w);
    if (!rc && !job->ptx) rc = assemble(job, ptx);
    if (!job->ptx) (void)unlink(ptx);
    return rc;
}
