/* target/linker.c — see linker.h. */
#include "target/linker.h"

#include "base/fs.h"
#include "proc/proc.h"

#include <hone/process.h>

#include <stdlib.h>

const char *hn_linker_at(size_t i) {
    static const char *const name[HN_N_LINKERS] = {"bfd", "gold", "lld", "mold"};
    return i < HN_N_LINKERS ? name[i] : NULL;
}

const char *hn_linker_word(hn_arena *a, const hone_target *t, const char *name) {
    const char *format = t ? hn_target_family(t)->linker : NULL;
    return format ? hn_fill(a, format, name) : NULL;
}

bool hn_linker_works(const hone_target *t, const char *name) {
    hn_arena a = {0};
    hone_temp *temp = NULL;
    hn_proc_result r;
    bool works = false;
    const char *word = hn_linker_word(&a, t, name), *program = hn_format(&a, "ld.%s", name);
    char *path = word && program ? hn_which(program) : NULL;
    if (path && !hone_temp_open("hone-linker.", &temp, NULL)) {
        hn_str s = {0};
        hn_str_add(&s, "echo 'int main(void) { return 0; }' > a.c && ");
        hn_str_add_shell(&s, hn_target_program(t));
        hn_str_addf(&s, " %s a.c -o a && ./a", word);
        hn_proc_spec spec = {.shell = s.text, .cwd = hone_temp_path(temp), .cpu = -1, .wall_s = 20};
        if (!s.failed && !hn_proc_run(&spec, NULL, &r, NULL)) {
            works = r.end == HN_PROC_EXITED && r.code == 0 && !*r.err_tail;
            hn_proc_result_free(&r);
        }
        hn_str_free(&s);
    }
    hone_temp_close(temp);
    free(path);
    hn_arena_free(&a);
    return works;
}
