/* cache.c — libraries that were compiled before: CACHE/compiled/KEY/model.so, with what parity found.
 *
 * Everything that a library and its verdicts follow from is in the key: the C texts and their flags, the kernels'
 * bodies, which compilers exactly, and which hone (the build id of the code that runs here). So an entry is never out
 * of date; the least recently used ones go when there are many. What cannot be kept or read costs time, nothing else.
 */
#include "build/build.h"

#include "base/fs.h"
#include "base/hash.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ENTRIES = 64, VERDICT_FIELDS = 6 };

/* --- the key -------------------------------------------------------------------------------------------------------
 */

typedef struct build_id {
    uintptr_t code; /* an address in the object that is looked for */
    const unsigned char *id;
    size_t n;
} build_id;

static bool holds(const struct dl_phdr_info *info, uintptr_t code) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = (uintptr_t)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_LOAD && code >= at && code - at < p->p_memsz) return true;
    }
    return false;
}

static int find_build_id(struct dl_phdr_info *info, size_t size, void *arg) {
    build_id *b = arg;
    (void)size;
    if (!holds(info, b->code)) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_NOTE) continue;
        const unsigned char *at = (const unsigned char *)(uintptr_t)(info->dlpi_addr + p->p_vaddr),
                            *end = at + p->p_memsz;
        while (end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const unsigned char *name = at + sizeof note, *body = name + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(name, "GNU", 4))
                return b->id = body, b->n = note.n_descsz, 1;
            at = body + (note.n_descsz + 3) / 4 * 4;
        }
    }
    return 1;
}

bool hn_hash_hone(hn_hash *h) {
    bool (*here)(hn_hash *) = hn_hash_hone;
    build_id b = {0};
    memcpy(&b.code, &here, sizeof b.code);
    dl_iterate_phdr(find_build_id, &b);
    hn_hash_add(h, b.id, b.n);
    return b.id != NULL;
}

static bool add_compiler(hn_library *l, const char *cc, hn_hash *h) {
    char family[16];
    const char *text = hn_identity_text(&l->arena, cc, family, NULL);
    hn_hash_text(h, text);
    return text != NULL;
}

static bool add_unit(hn_model *m, const hn_unit *u, hn_hash *h) {
    hn_command c = {0};
    hn_command_compiler(m, u->cc, u->flags, &m->arena, &c);
    for (size_t i = 0; i < c.n; i++) hn_hash_text(h, c.argv[i]);
    hn_hash_add(h, &u->n, sizeof u->n);
    hn_hash_add(h, u->text, u->n);
    return !u->cc || !*u->cc || add_compiler(m->lib, u->cc, h);
}

static void add_body(const hn_model *m, const hn_kernel *k, hn_hash *h) {
    hn_str text = {0};
    hn_print_block(m->g, k->body, &text);
    hn_hash_text(h, k->kind);
    hn_hash_text(h, text.text);
    hn_str_free(&text);
}

static bool add_model(hn_model *m, hn_hash *h) {
    bool good = true, tiny = hn_is_tiny(m);
    const char *problem = hn_target_problem(m->lib, m->dialect);
    hn_hash_add(h, &tiny, sizeof tiny);
    hn_hash_text(h, hn_target_machine(m->lib, m->dialect));
    hn_hash_text(h, problem ? problem : ""); /* an emulator may come and go */
    for (uint32_t i = 0; i < m->n_unit && good; i++) good = add_unit(m, &m->unit[i], h);
    for (uint32_t i = 0; i < m->n_kernel && good; i++) add_body(m, &m->kernel[i], h);
    return good;
}

/* False: some part has no identity, so that the library is not cached. */
static bool find_key(hn_library *l, char hex[33]) {
    hn_hash h;
    hn_hash_begin(&h);
    bool good = hn_hash_hone(&h) && add_compiler(l, hn_compiler_of(&l->model[0]), &h);
    char images[400];
    hn_images_identity(l, images, sizeof images);
    hn_hash_text(&h, images);
    const bool facts[] = {l->options->no_parity, l->options->relaxed, l->options->reference};
    hn_hash_add(&h, facts, sizeof facts);
    hn_hash_add(&h, &l->options->tolerance, sizeof l->options->tolerance); /* parity asks for it */
    hn_hash_add(&h, l->entry.text, l->entry.n);
    for (uint32_t i = 0; i < l->n_model && good; i++) good = add_model(&l->model[i], &h);
    hn_hash_end(&h, hex);
    return good;
}

/* --- verdicts ------------------------------------------------------------------------------------------------------
 */

static void add_verdicts(const hn_library *l, const char *hash, hn_str *out) {
    hn_str_addf(out, "%s\n%s\n", hash, l->compiler_text);
    for (uint32_t k = 0; k < l->n_model; k++) {
        if (l->model[k].images) hn_str_addf(out, "%s\n", l->model[k].images);
        for (uint32_t i = 0; i < l->model[k].n_kernel; i++) {
            const hn_parity *p = &l->model[k].kernel[i].parity;
            hn_str_addf(out, "%d %u %a %a %a %a %s\n", (int)p->end, p->n_inputs, p->rtol, p->atol, p->max_abs,
                        p->max_rel, p->text);
        }
    }
}

static const char *next_line(const char *p) {
    p += strcspn(p, "\n");
    return *p ? p + 1 : p;
}

static bool read_verdict(const char *line, hn_parity *p) {
    int end, used = 0;
    if (sscanf(line, "%d %u %la %la %la %la %n", &end, &p->n_inputs, &p->rtol, &p->atol, &p->max_abs, &p->max_rel,
               &used) != VERDICT_FIELDS ||
        !used || (end != HN_PARITY_SAME && end != HN_PARITY_SKIPPED))
        return false;
    p->end = (hn_parity_end)end;
    snprintf(p->text, sizeof p->text, "%.*s", (int)strcspn(line + used, "\n"), line + used);
    return true;
}

static const char *read_model(hn_model *m, const char *line) {
    if (m->dialect->backend->images) {
        line = next_line(line);
        m->images = hn_strndup(&m->arena, line, strcspn(line, "\n"));
    }
    for (uint32_t i = 0; i < m->n_kernel; i++)
        if (!read_verdict(line = next_line(line), &m->kernel[i].parity)) return NULL;
    return line;
}

/* All or nothing; the first line is the hash of the library. */
static bool read_verdicts(hn_library *l, const char *text, const char *hash) {
    const char *line = next_line(text);
    if (strncmp(text, hash, 32)) return false;
    snprintf(l->compiler_text, sizeof l->compiler_text, "%.*s", (int)strcspn(line, "\n"), line);
    for (uint32_t k = 0; k < l->n_model && line; k++) line = read_model(&l->model[k], line);
    if (line) return true;
    for (uint32_t k = 0; k < l->n_model; k++)
        for (uint32_t i = 0; i < l->model[k].n_kernel; i++) l->model[k].kernel[i].parity = (hn_parity){0};
    l->compiler_text[0] = 0;
    return false;
}

/* --- entries -------------------------------------------------------------------------------------------------------
 */

static const char *entries_of(hn_library *l) {
    char *dir = hn_cache_dir();
    const char *path = dir ? hn_format(&l->arena, "%s/compiled", dir) : NULL;
    free(dir);
    return path;
}

static bool is_kept(const hn_library *l) {
    return !l->options->no_cache && l->options->emit == HONE_EMIT_SO && (l->weights_file || !l->weights_b);
}

static bool take_file(hn_library *l, const char *entry, char **text, size_t *n) {
    const char *to = hn_format(&l->arena, "%s/model.so", l->work);
    const char *from = hn_format(&l->arena, "%s/model.so", entry);
    struct stat st;
    if (!to || !from || hn_read_file(from, text, n, NULL)) return false;
    bool good = !stat(from, &st) && !hn_write_file(to, *text, *n, NULL) && !chmod(to, st.st_mode & 0777);
    if (!good) free(*text);
    return good;
}

bool hn_cache_take(hn_library *l) {
    char *library, *verdicts;
    size_t n_library, n_verdicts;
    const char *dir = is_kept(l) ? entries_of(l) : NULL;
    if (!dir || !find_key(l, l->cache_key)) return l->cache_key[0] = 0, false;
    const char *entry = hn_format(&l->arena, "%s/%s", dir, l->cache_key);
    const char *path = hn_format(&l->arena, "%s/%s/verdicts", dir, l->cache_key);
    if (!entry || !path || hn_read_file(path, &verdicts, &n_verdicts, NULL)) return false;
    bool good = take_file(l, entry, &library, &n_library);
    if (good) {
        char hex[33];
        hn_hash h;
        hn_hash_begin(&h);
        hn_hash_add(&h, library, n_library);
        hn_hash_end(&h, hex);
        good = read_verdicts(l, verdicts, hex);
        free(library);
    }
    free(verdicts);
    if (!good) return false;
    utimensat(AT_FDCWD, entry, NULL, 0);
    l->code_b = n_library;
    return l->cached = true;
}

/* The oldest entry beyond the most there may be. */
static void prune(hn_library *l, const char *dir) {
    DIR *d = opendir(dir);
    const char *oldest = NULL;
    struct timespec then = {0};
    size_t n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, 0)) continue;
        n++;
        if (oldest && (st.st_mtim.tv_sec > then.tv_sec ||
                       (st.st_mtim.tv_sec == then.tv_sec && st.st_mtim.tv_nsec >= then.tv_nsec)))
            continue;
        then = st.st_mtim;
        oldest = hn_strdup(&l->arena, e->d_name);
    }
    if (d) closedir(d);
    if (n > MOST_ENTRIES && oldest) hn_remove_tree(hn_format(&l->arena, "%s/%s", dir, oldest), NULL);
}

static bool put_files(hn_library *l, const char *folder) {
    char hex[33], *text;
    size_t n;
    struct stat st;
    hn_str verdicts = {0};
    const char *from = hn_format(&l->arena, "%s/model.so", l->work);
    const char *to = hn_format(&l->arena, "%s/model.so", folder);
    const char *beside = hn_format(&l->arena, "%s/verdicts", folder);
    if (!from || !to || !beside || stat(from, &st) || hn_read_file(from, &text, &n, NULL)) return false;
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_add(&h, text, n);
    hn_hash_end(&h, hex);
    add_verdicts(l, hex, &verdicts);
    bool good = !verdicts.failed && !hn_write_file(to, text, n, NULL) && !chmod(to, st.st_mode & 0777) &&
                !hn_write_file(beside, verdicts.text, verdicts.n, NULL);
    hn_str_free(&verdicts);
    free(text);
    return good;
}

void hn_cache_put(hn_library *l) {
    const char *dir = l->cache_key[0] && !l->cached ? entries_of(l) : NULL;
    char *made = dir ? hn_format(&l->arena, "%s/.new-XXXXXX", dir) : NULL;
    const char *entry = dir ? hn_format(&l->arena, "%s/%s", dir, l->cache_key) : NULL;
    if (!made || !entry) return;
    for (uint32_t k = 0; k < l->n_model; k++)
        for (uint32_t i = 0; i < l->model[k].n_kernel; i++) /* the key describes the kernels before fallbacks */
            if (l->model[k].kernel[i].fallback || l->model[k].kernel[i].refused) return;
    if (hn_make_dirs(dir, NULL) || !mkdtemp(made)) return;
    if (!put_files(l, made) || rename(made, entry)) hn_remove_tree(made, NULL);
    prune(l, dir);
}
