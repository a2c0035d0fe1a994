/* build/images.c — machine code for the devices of a library, beside its C files, which take it in: of every model its
 * own architecture's, of the last target PTX, too, for architectures that come later. mN_images.h says what there is.
 */
#include "build/build.h"

#include "backend/image.h"
#include "base/clock.h"
#include "base/fs.h"

#include <stdlib.h>
#include <string.h>

typedef struct list {
    hn_image_job *job;
    hn_model **of;
    size_t n;
} list;

static const hn_image_maker *maker_of(const hn_model *m) {
    return m->options->emit == HONE_EMIT_SO ? m->dialect->backend->images : NULL;
}

bool hn_has_images(const hn_library *l) {
    for (uint32_t i = 0; i < l->n_model; i++)
        if (maker_of(&l->model[i])) return true;
    return false;
}

void hn_images_identity(const hn_library *l, char *out, size_t n) {
    *out = 0;
    for (uint32_t i = 0; i < l->n_model && !*out; i++)
        if (maker_of(&l->model[i])) maker_of(&l->model[i])->identity(out, n, NULL);
}

/* The number of an architecture: 90 of "cuda:sm_90a". */
static int arch_of(const hn_model *m) { return atoi(strstr(m->dialect->name, "sm_") + 3); }

/* Is the target the last of those that get images? */
static bool is_last(const hn_model *m) {
    for (uint32_t i = 0; i < m->lib->n_model; i++)
        if (maker_of(&m->lib->model[i]) && m->lib->model[i].dialect->rank > m->dialect->rank) return false;
    return true;
}

static bool add(hn_model *m, const char *text, const char *arch, list *l) {
    hn_image_job *j = &l->job[l->n];
    *j = (hn_image_job){.text = text,
                        .options = hn_source_device_options(m, &m->arena),
                        .arch = arch,
                        .path = hn_format(&m->arena, "%s/m%u.%s", m->lib->work, m->number, arch)};
    l->of[l->n] = m;
    l->n += j->arch && j->path && j->options;
    return j->arch && j->path && j->options;
}

/* What has to be made: of the models whose kernels are not those of the images that there are. */
static hone_rc find(hn_library *l, list *out, hone_err *err) {
    out->job = hn_alloc_n(&l->arena, 2 * l->n_model + 1, sizeof *out->job);
    out->of = hn_alloc_n(&l->arena, 2 * l->n_model + 1, sizeof(hn_model *));
    if (!out->job || !out->of) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (uint32_t i = 0; i < l->n_model; i++) {
        hn_model *m = &l->model[i];
        hn_str text = {0};
        if (!maker_of(m)) continue;
        hone_rc rc = hn_source_device_text(m, &text);
        const char *kept = !rc && !text.failed && text.text ? hn_strdup(&m->arena, text.text) : rc ? NULL : "";
        hn_str_free(&text);
        if (!kept)
            return rc ? hn_fail(err, rc, "a kernel needs a part of the runtime that does not exist")
                      : hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (m->image_text && !strcmp(m->image_text, kept)) continue;
        m->image_text = kept;
        m->image_stale = true;
        if (!*kept) continue;
        if (!add(m, kept, strstr(m->dialect->name, "sm_"), out) ||
            (is_last(m) && !add(m, kept, hn_format(&m->arena, "compute_%d", arch_of(m)), out)))
            return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    return HONE_OK;
}

static void add_row(const hn_model *m, const hn_image_job *j, uint32_t i, hn_str *code, hn_str *rows) {
    bool ptx = !strncmp(j->arch, "compute_", 8);
    hn_str_addf(code,
                "__asm__(\".pushsection .rodata\\n.balign 64\\nhnm_image_%u:\\n.incbin \\\"m%u.%s\\\"\\n.byte 0\\n"
                ".popsection\\n\");\nextern const char hnm_image_%u[];\n",
                i, m->number, j->arch, i);
    hn_str_addf(rows, "    {\"%s\", hnm_image_%u, %zu, %d},\n", ptx ? "ptx" : j->arch, i, j->size_b,
                ptx ? atoi(j->arch + 8) : 0);
}

/* "sm_90a 220 KiB, PTX of 90 434 KiB"; why there is none, where there is none. */
static void say(hn_model *m, const list *l, const char *missing) {
    hn_str text = {0};
    m->image_b = 0;
    for (size_t i = 0; i < l->n; i++) {
        const hn_image_job *j = &l->job[i];
        if (l->of[i] != m) continue;
        hn_str_add(&text, text.n ? ", " : "");
        hn_str_addf(&text, strncmp(j->arch, "compute_", 8) ? "%s" : "PTX of %s", j->arch);
        if (j->made)
            hn_str_addf(&text, " %.1f KiB", (double)j->size_b / 1024);
        else
            hn_str_addf(&text, " none: %s", j->why);
        m->image_b += j->made ? j->size_b : 0;
    }
    if (!*m->image_text)
        hn_str_add(&text, "none: all kernels run on the host, or are another version's");
    else if (*missing)
        hn_str_addf(&text, "none, NVRTC compiles the text where it is loaded; to have it made here, %s", missing);
    m->images = text.failed || !text.text ? NULL : hn_strdup(&m->arena, text.text);
    hn_str_free(&text);
}

static hone_rc write_header(hn_model *m, const list *l, hone_err *err) {
    hn_str code = {0}, rows = {0};
    bool ptx = false;
    uint32_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->of[i] != m || !l->job[i].made) continue;
        ptx |= !strncmp(l->job[i].arch, "compute_", 8);
        add_row(m, &l->job[i], n++, &code, &rows);
    }
    hn_str_addf(&code,
                "static const hnd_image hnm_images[] = {\n%s    {NULL, NULL, 0, 0},\n};\n"
                "enum { HNM_N_IMAGES = %u };\n",
                rows.text ? rows.text : "", n);
    hn_str all = {0};
    hn_str_addf(&all, "#ifndef HNM_PTX\n#define HNM_PTX %d\n#endif\n#ifdef HNM_WITH_IMAGES\n%s#endif\n", ptx,
                code.text ? code.text : "");
    const char *path = hn_format(&m->arena, "%s/m%u_images.h", m->lib->work, m->number);
    hone_rc rc = !path || all.failed || code.failed || rows.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                                                                   : hn_write_file(path, all.text, all.n, err);
    hn_str_free(&rows);
    hn_str_free(&code);
    hn_str_free(&all);
    for (uint32_t i = 0; i < m->n_unit; i++) m->unit[i].stale = true;
    m->image_stale = false;
    return rc;
}

hone_rc hn_build_images(hn_library *l, size_t n_at_once, hone_err *err) {
    double start_s = hn_now_s();
    list all = {0};
    char who[400] = "";
    const char *missing = "";
    hone_rc rc = hn_has_images(l) ? find(l, &all, err) : HONE_OK;
    if (rc) return rc;
    if (all.n) maker_of(all.of[0])->identity(who, sizeof who, &missing);
    if (*missing) all.n = 0;
    if (all.n) rc = hn_progress(l, "machine code", 0, all.n, err);
    if (all.n && !rc) rc = maker_of(all.of[0])->make(all.job, all.n, n_at_once, l->options->stop, err);
    for (uint32_t i = 0; i < l->n_model && !rc; i++) {
        hn_model *m = &l->model[i];
        if (!m->image_stale) continue;
        say(m, &all, missing);
        rc = write_header(m, &all, err);
    }
    if (all.n) l->images_s += hn_now_s() - start_s;
    return rc;
}
