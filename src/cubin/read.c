/* cubin/read.c — runs the tools. nvdisasm takes 0.4 s to start and a few milliseconds for a kernel, so the instructions
 * of all files of a batch are put behind one another and disassembled as one raw image. Live registers need whole
 * files: then it runs once for each. */
#include "base/err.h"
#include "base/fs.h"
#include "cubin/cubin.h"
#include "cubin/opcodes.h"
#include "cubin/tools.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 256, CUBINS_MOST = 512, INSTRUCTION_B = 16 };

typedef struct file {
    const char *path; /* of the cubin */
    char *data;
    size_t n;
} file;

typedef struct batch {
    const hn_code_ask *ask;
    hn_arena *a;
    file *file;
    hn_cubin *cubin;
    hone_rc *rc;
    hone_err *each;
    size_t n;
    bool *recalled; /* the files whose instructions are counted: all of them were of known kinds */
} batch;

/* --- finding the cubins ------------------------------------------------------------------------------------------- */

static bool is_ptx(const char *data, size_t n) {
    static const char word[] = ".version";
    for (size_t i = 0; i < n && i < 4096; i++) {
        if (!data[i]) return false;
        if (n - i > sizeof word && !memcmp(data + i, word, sizeof word - 1)) return true;
    }
    return false;
}

/* ".target sm_90a, …" */
static const char *ptx_target(const char *data, size_t n, hn_arena *a) {
    static const char word[] = ".target";
    for (size_t i = 0; i + sizeof word < n; i++) {
        if (memcmp(data + i, word, sizeof word - 1)) continue;
        const char *p = data + i + sizeof word - 1;
        size_t left = n - i - sizeof word + 1, skip = 0, len = 0;
        while (skip < left && (p[skip] == ' ' || p[skip] == '\t')) skip++;
        while (skip + len < left && len < 16 && strchr("abcdefghijklmnopqrstuvwxyz_0123456789", p[skip + len])) len++;
        return hn_strndup(a, p + skip, len);
    }
    return NULL;
}

static hone_rc assemble(const batch *b, size_t i, const char *ptx, hone_err *err) {
    file *f = &b->file[i];
    const char *arch = ptx_target(f->data, f->n, b->a);
    char *out = hn_format(b->a, "%s/%zu.cubin", b->ask->dir, i);
    if (!arch || !*arch || !out) return hn_fail(err, HONE_E_INPUT, "'%s' is PTX without a .target", ptx);
    const char *const argv[] = {"-arch", arch, ptx, "-o", out, NULL};
    hn_tool_run run = {.tool = HN_PTXAS, .argv = argv, .stop = b->ask->stop};
    hone_rc rc = hn_tool_text(&run, b->a, err);
    f->path = out;
    return rc;
}

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

/* The names of the cubins in the folder, sorted. */
static hone_rc list_cubins(const char *dir, hn_arena *a, const char ***out, size_t *n, hone_err *err) {
    const char **name = HN_NEW_N(a, const char *, CUBINS_MOST);
    DIR *d = opendir(dir);
    size_t count = 0;
    for (struct dirent *e; d && name && count < CUBINS_MOST && (e = readdir(d));) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && !strcmp(dot, ".cubin")) name[count++] = hn_format(a, "%s/%s", dir, e->d_name);
    }
    if (d) closedir(d);
    if (!name || !hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory listing '%s'", dir);
    qsort(name, count, sizeof *name, by_name);
    *out = name;
    *n = count;
    return HONE_OK;
}

static hone_rc load(const char *path, file *f, hone_err *err) {
    free(f->data);
    *f = (file){.path = path};
    return hn_read_file(path, &f->data, &f->n, err);
}

/* One cubin of several: that of the architecture asked for, or the only one. */
static hone_rc choose(const batch *b, size_t i, const char *path, const char *const *name, size_t n, hone_err *err) {
    const char *found = NULL;
    hn_str archs = {0};
    unsigned first = 0;
    hone_rc rc = HONE_OK;
    for (size_t k = 0; !rc && k < n; k++) {
        hn_cubin c;
        rc = load(name[k], &b->file[i], err);
        if (!rc) rc = hn_cubin_elf(b->file[i].data, b->file[i].n, path, b->a, &c, err);
        if (rc || !c.n || (b->ask->sm && c.sm != b->ask->sm)) continue;
        hn_str_addf(&archs, "%ssm_%u", archs.n ? ", " : "", c.sm);
        if (!found)
            found = name[k], first = c.sm;
        else if (c.sm != first)
            rc = hn_fail(err, HONE_E_INPUT, "'%s' has code for %s; say which by 'arch'", path, archs.text);
        else
            rc = hn_fail(err, HONE_E_INPUT,
                         "'%s' has several pieces of code for sm_%u; name a cubin of its own, or link with -rdc=true",
                         path, c.sm);
    }
    if (!rc && !found)
        rc = hn_fail(err, HONE_E_INPUT, "'%s' holds no device code%s%.0u", path,
                     b->ask->sm ? " for the architecture asked for" : "", b->ask->sm);
    hn_str_free(&archs);
    return rc ? rc : load(found, &b->file[i], err);
}

static hone_rc extract(const batch *b, size_t i, const char *path, hone_err *err) {
    char *dir = hn_format(b->a, "%s/code%zu", b->ask->dir, i), *full = realpath(path, NULL);
    const char *kept = full ? hn_strdup(b->a, full) : NULL, **name = NULL;
    size_t n = 0;
    free(full);
    if (!dir || !kept) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    const char *const argv[] = {"-xelf", "all", kept, NULL};
    hn_tool_run run = {.tool = HN_CUOBJDUMP, .argv = argv, .cwd = dir, .stop = b->ask->stop};
    hone_rc rc = hn_remove_tree(dir, err);
    if (!rc) rc = hn_make_dirs(dir, err);
    if (!rc) rc = hn_tool_text(&run, b->a, err);
    if (rc == HONE_E_TOOL && strstr(err->text, "does not contain device code"))
        return hn_fail(err, HONE_E_INPUT,
                       "'%s' holds no device code; name a cubin, a fatbin, PTX or a program with kernels", path);
    if (!rc) rc = list_cubins(dir, b->a, &name, &n, err);
    return rc ? rc : choose(b, i, path, name, n, err);
}

/* Finds the cubin of a file and reads what its ELF says. */
static hone_rc open_one(const batch *b, size_t i, const char *path, hone_err *err) {
    file *f = &b->file[i];
    hone_rc rc = load(path, f, err);
    if (!rc && !hn_is_cubin(f->data, f->n)) {
        rc = is_ptx(f->data, f->n) ? assemble(b, i, path, err) : extract(b, i, path, err);
        if (!rc) rc = load(f->path, f, err);
    }
    if (!rc) rc = hn_cubin_elf(f->data, f->n, path, b->a, &b->cubin[i], err);
    if (!rc && b->ask->sm && b->cubin[i].sm != b->ask->sm)
        rc = hn_fail(err, HONE_E_INPUT, "'%s' is code for sm_%u, not for sm_%u", path, b->cubin[i].sm, b->ask->sm);
    if (!rc && !b->cubin[i].n) rc = hn_fail(err, HONE_E_INPUT, "'%s' holds no kernel", path);
    return rc;
}

/* --- figures of the whole kernel ---------------------------------------------------------------------------------- */

static hone_rc read_usage(const batch *b, size_t i, hone_err *err) {
    const char *const argv[] = {"-res-usage", b->file[i].path, NULL};
    hn_tool_run run = {.tool = HN_CUOBJDUMP, .argv = argv, .stop = b->ask->stop};
    hone_rc rc = hn_tool_text(&run, b->a, err);
    if (!rc) hn_usage_read(run.out, run.out_n, &b->cubin[i]);
    return rc;
}

static void find_occupancy(const hn_code_ask *ask, unsigned sm, hn_gpu_kernel *k) {
    unsigned threads = ask->threads ? ask->threads : k->threads ? k->threads : THREADS;
    hn_occupancy o;
    if (!(k->value[HN_GPU_REGISTERS] >= 0)) return;
    uint64_t shared_b = (uint64_t)k->value[HN_GPU_SHARED] + ask->shared_b;
    if (!hn_occupancy_of(sm, (unsigned)k->value[HN_GPU_REGISTERS], threads, shared_b, k->barriers, &o)) return;
    k->bound_by = o.limit;
    k->value[HN_GPU_WARPS] = o.warps;
    k->value[HN_GPU_BLOCKS] = o.blocks;
    k->value[HN_GPU_OCCUPANCY] = (double)o.warps / o.most_warps;
}

/* Without ptxas's own figures what local memory moves stands for spills. */
static void guess_spills(hn_gpu_kernel *k, const hn_sass *line, size_t n) {
    if (!isnan(k->value[HN_GPU_SPILLS])) return;
    double moved[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        unsigned bytes;
        hn_code_metric c = hn_sass_class(line[i].text, &bytes);
        if (c == HN_SASS_LOCAL_LOAD || c == HN_SASS_LOCAL_STORE) moved[c == HN_SASS_LOCAL_STORE] += bytes;
    }
    k->value[HN_GPU_SPILL_LOADS] = moved[0];
    k->value[HN_GPU_SPILL_STORES] = moved[1];
    k->value[HN_GPU_SPILLS] = moved[0] + moved[1];
}

/* --- instructions ------------------------------------------------------------------------------------------------- */

static const char *listing_of(const hn_sass *line, size_t n, hn_arena *a) {
    hn_str s = {0};
    for (size_t i = 0; i < n; i++) {
        hn_str_add(&s, line[i].text);
        hn_str_add(&s, "\n");
    }
    const char *text = s.failed ? NULL : hn_strdup(a, s.text ? s.text : "");
    if (!text) a->failed = true;
    hn_str_free(&s);
    return text;
}

static void take_lines(const batch *b, hn_gpu_kernel *k, const hn_sass *line, size_t n) {
    while (n && !strncmp(line[n - 1].text, "NOP", 3)) n--;
    hn_sass_count(line, n, b->a, k);
    guess_spills(k, line, n);
    if (b->ask->listing) k->listing = listing_of(line, n, b->a);
}

static hone_rc disassemble(const batch *b, const char *const *argv, hn_sass_text *out, hone_err *err) {
    hn_tool_run run = {.tool = HN_NVDISASM, .argv = argv, .stop = b->ask->stop};
    hone_rc rc = hn_tool_text(&run, b->a, err);
    return rc ? rc : hn_sass_read(run.out, run.out_n, b->a, out, err);
}

static hone_rc whole_file(const batch *b, size_t i, hone_err *err) {
    const char *const argv[] = {"-c", "-hex", "-plr", "-lrm", "count", b->file[i].path, NULL};
    hn_sass_text t;
    hone_rc rc = disassemble(b, argv, &t, err);
    for (size_t at = 0, end; !rc && at < t.n; at = end) {
        for (end = at; end < t.n && t.line[end].section == t.line[at].section;) end++;
        for (size_t k = 0; k < b->cubin[i].n; k++)
            if (!strcmp(b->cubin[i].kernel[k].name, t.section[t.line[at].section]))
                take_lines(b, &b->cubin[i].kernel[k], t.line + at, end - at);
    }
    for (size_t k = 0; !rc && k < b->cubin[i].n; k++)
        if (isnan(b->cubin[i].kernel[k].value[HN_GPU_INSTRUCTIONS]))
            rc = hn_fail(err, HONE_E_TOOL, "nvdisasm listed no instructions of kernel '%s' in '%s'",
                         b->cubin[i].kernel[k].name, b->cubin[i].file);
    return rc;
}

/* Appends the code of every kernel of one architecture; where it lies in the image is its rank. */
static bool append_code(const batch *b, size_t i, hn_str *image) {
    for (size_t k = 0; k < b->cubin[i].n; k++) {
        const hn_gpu_kernel *x = &b->cubin[i].kernel[k];
        hn_str_add_n(image, b->file[i].data + x->code_at, (size_t)x->value[HN_GPU_CODE]);
    }
    return !image->failed;
}

/* A file whose instructions were not all listed is read by itself. */
static hone_rc share_lines(const batch *b, size_t i, const hn_sass_text *t, uint64_t *from, size_t *at, hone_err *err) {
    bool whole = true;
    for (size_t k = 0; k < b->cubin[i].n; k++) {
        hn_gpu_kernel *x = &b->cubin[i].kernel[k];
        uint64_t end = *from + (uint64_t)x->value[HN_GPU_CODE];
        size_t first = *at;
        while (*at < t->n && t->line[*at].at < end) ++*at;
        whole = whole && *at - first == (end - *from) / INSTRUCTION_B;
        take_lines(b, x, t->line + first, *at - first);
        *from = end;
    }
    return whole ? HONE_OK : whole_file(b, i, err);
}

static bool recall(const batch *b, size_t i, const hn_opcodes *memo) {
    hn_cubin *c = &b->cubin[i];
    hn_sass **line = HN_NEW_N(b->a, hn_sass *, c->n + 1);
    bool all = line != NULL && !b->ask->listing;
    for (size_t k = 0; all && k < c->n; k++)
        all = hn_opcodes_recall(memo, b->file[i].data + c->kernel[k].code_at, (size_t)c->kernel[k].value[HN_GPU_CODE],
                                &line[k]);
    for (size_t k = 0; all && k < c->n; k++)
        take_lines(b, &c->kernel[k], line[k], (size_t)c->kernel[k].value[HN_GPU_CODE] / INSTRUCTION_B);
    return all;
}

static bool in_image(const batch *b, size_t i, unsigned sm) {
    return !b->rc[i] && b->cubin[i].sm == sm && !b->recalled[i];
}

/* All files of one architecture as one image, but those of known instructions. */
static hone_rc raw_image(const batch *b, unsigned sm, hone_err *err) {
    char *path = hn_format(b->a, "%s/code-sm%u.bin", b->ask->dir, sm);
    /* The names with an `a` know the instructions of the plain ones, and more. */
    const char *arch = hn_format(b->a, "SM%u%s", sm, sm >= 90 ? "a" : "");
    hn_str image = {0};
    hn_sass_text t = {0};
    hn_opcodes memo;
    bool any = false;
    hn_opcodes_open(sm, b->a, &memo);
    for (size_t i = 0; i < b->n; i++) {
        b->recalled[i] = in_image(b, i, sm) && recall(b, i, &memo);
        any = any || in_image(b, i, sm);
    }
    if (!any) return HONE_OK;
    hone_rc rc = path && arch ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < b->n; i++)
        if (in_image(b, i, sm) && !append_code(b, i, &image)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_write_file(path, image.text ? image.text : "", image.n, err);
    hn_str_free(&image);
    const char *const argv[] = {"-b", arch, "-hex", path, NULL};
    if (!rc) rc = disassemble(b, argv, &t, err);
    if (!rc) hn_opcodes_learn(&memo, t.line, t.n);
    if (!rc) hn_opcodes_keep(&memo);
    uint64_t from = 0;
    size_t at = 0;
    for (size_t i = 0; !rc && i < b->n; i++)
        if (in_image(b, i, sm)) rc = share_lines(b, i, &t, &from, &at, err);
    return rc;
}

static hone_rc read_code(const batch *b, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < b->n; i++) {
        bool first = !b->rc[i];
        for (size_t k = 0; k < i; k++) first = first && (b->rc[k] || b->cubin[k].sm != b->cubin[i].sm);
        if (!b->rc[i] && (b->ask->live || b->cubin[i].sm < 80))
            b->rc[i] = whole_file(b, i, &b->each[i]);
        else if (first)
            rc = raw_image(b, b->cubin[i].sm, err);
    }
    return rc;
}

/* --- the batch ---------------------------------------------------------------------------------------------------- */

hone_rc hn_cubin_read_all(const char *const *path, const char *const *text, size_t n, const hn_code_ask *ask,
                          hn_arena *a, hn_cubin *out, hone_rc *rc, hone_err *each, hone_err *err) {
    batch b = {ask, a, HN_NEW_N(a, file, n + 1), out, rc, each, n, HN_NEW_N(a, bool, n + 1)};
    if (!b.file || !b.recalled) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    bool any = false;
    hone_rc whole = HONE_OK;
    for (size_t i = 0; i < n; i++) {
        rc[i] = open_one(&b, i, path[i], &each[i]);
        if (!rc[i] && !out[i].has_usage) rc[i] = read_usage(&b, i, &each[i]);
        any |= !rc[i];
        if (rc[i] == HONE_E_INTERRUPTED || rc[i] == HONE_E_NOMEM) whole = hn_fail(err, rc[i], "%s", each[i].text);
        for (size_t k = 0; !rc[i] && k < out[i].n; k++) find_occupancy(ask, out[i].sm, &out[i].kernel[k]);
        if (!rc[i] && text && text[i]) hn_ptxas_read(text[i], strlen(text[i]), &out[i]);
    }
    if (!whole && any && !ask->resources_only) whole = read_code(&b, err);
    if (!whole && !hn_arena_ok(a)) whole = hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) free(b.file[i].data);
    return whole;
}

hone_rc hn_cubin_read(const char *path, const char *text, const hn_code_ask *ask, hn_arena *a, hn_cubin *out,
                      hone_err *err) {
    hone_rc rc = HONE_OK;
    hone_err each = {0};
    hn_cubin c;
    hone_rc whole = hn_cubin_read_all(&path, &text, 1, ask, a, &c, &rc, &each, err);
    if (whole) return whole;
    if (rc) return hn_fail(err, rc, "%s", each.text);
    *out = c;
    return HONE_OK;
}
