/* artifact.c — a compiled model in this process: opened, checked for its ABI, run, closed. */
#include "exec/library.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "base/str.h"

#include <hone/artifact.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct hone_artifact {
    void *library;
    const hone_model *model;
    hone_model_instance *instance;
};

static hone_rc rc_of(hone_model_rc rc) {
    static const hone_rc map[] = {HONE_OK,   HONE_E_NOMEM,  HONE_E_INPUT,       HONE_E_INPUT,   HONE_E_INPUT,
                                  HONE_E_IO, HONE_E_FAILED, HONE_E_UNSUPPORTED, HONE_E_MISMATCH};
    return (unsigned)rc < sizeof map / sizeof *map ? map[rc] : HONE_E_FAILED;
}

/* The number of the file that is mapped where a library's code is; 0: not known. */
static ino_t mapped_file(void *library) {
    struct link_map *map;
    char line[4400];
    ino_t found = 0;
    FILE *f = dlinfo(library, RTLD_DI_LINKMAP, &map) ? NULL : fopen("/proc/self/maps", "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long low, high, file;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &low, &high, &file) == 3 && (uintptr_t)map->l_ld >= low &&
            (uintptr_t)map->l_ld < high)
            found = (ino_t)file;
    }
    if (f) fclose(f);
    return found;
}

/* dlopen(3) compares paths as text first and returns the library it has loaded, even when another file has been written
 * there since. Then a longer text for the same path makes it open the file. */
static void *open_current(const char *path) {
    hn_str name = {0}; /* a path, never a name that the loader searches for */
    const char *slash = strrchr(path, '/');
    struct stat st;
    void *library = NULL;
    hn_str_addf(&name, "%.*s", slash ? (int)(slash - path) + 1 : 2, slash ? path : "./");
    for (int i = 0; i < 1000; i++) {
        size_t folder = name.n;
        hn_str_add(&name, slash ? slash + 1 : path);
        library = name.failed ? NULL : dlopen(name.text, RTLD_NOW | RTLD_LOCAL);
        ino_t mapped = library ? mapped_file(library) : 0;
        if (!mapped || stat(path, &st) || st.st_ino == mapped) break;
        dlclose(library);
        library = NULL;
        name.n = folder;
        hn_str_add(&name, "./");
    }
    hn_str_free(&name);
    return library;
}

hone_rc hn_library_open(const char *path, void **library, const hone_model **model, hone_err *err) {
    hone_model_entry *entry = NULL;
    *library = open_current(path);
    if (!*library) {
        const char *why = dlerror();
        return hn_fail(err, HONE_E_INPUT, "cannot load '%s': %s%s", path, why ? why : "out of memory",
                       hn_noexec_advice(why ? why : ""));
    }
    void *symbol = dlsym(*library, HONE_MODEL_ENTRY);
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) return hn_fail(err, HONE_E_INPUT, "'%s' is not a library made by hone compile", path);
    *model = entry();
    if ((*model)->abi != HONE_MODEL_ABI)
        return hn_fail(err, HONE_E_MISMATCH, "'%s' has version %d of the model interface, not %d: compile it again",
                       path, (*model)->abi, HONE_MODEL_ABI);
    return HONE_OK;
}

hone_rc hone_artifact_load(const char *path, const hone_artifact_options *options, hone_artifact **out, hone_err *err) {
    hone_artifact_options o = hone_artifact_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "artifact", err);
    if (!rc) rc = hn_device_check(o.device, err);
    if (rc) return rc;
    hone_artifact *p = calloc(1, sizeof *p);
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    rc = hn_library_open(path, &p->library, &p->model, err);
    if (!rc) {
        hone_model_config config = hone_model_defaults();
        config.n_threads = o.n_threads > HONE_MODEL_THREADS ? HONE_MODEL_THREADS : (int32_t)o.n_threads;
        hone_model_rc made = p->model->create(&config, &p->instance);
        if (made) rc = hn_fail(err, rc_of(made), "'%s': %s", path, p->model->error(NULL));
    }
    if (rc) {
        hone_artifact_free(p);
        return rc;
    }
    *out = p;
    return HONE_OK;
}

const hone_model *hone_artifact_model(const hone_artifact *p) { return p->model; }

static bool copy_out(const hone_model_tensor *t, hone_array *out) {
    size_t n = hone_dtype_size_b((hone_dtype)t->dtype);
    *out = (hone_array){.dtype = (hone_dtype)t->dtype, .rank = (uint32_t)t->rank};
    for (int32_t d = 0; d < t->rank; d++) n *= (size_t)(out->dim[d] = t->dim[d]);
    out->data = malloc(n ? n : 1);
    if (out->data && n) memcpy(out->data, t->data, n);
    return out->data != NULL;
}

static hone_rc copy_all(const hone_model_tensor *t, size_t n, hone_array *out, hone_err *err) {
    hone_array *made = calloc(n + 1, sizeof *made);
    size_t i = 0;
    while (made && i < n && copy_out(&t[i], &made[i])) i++;
    if (made && i == n) memcpy(out, made, n * sizeof *made);
    for (size_t k = 0; made && i < n && k < i; k++) free(made[k].data);
    free(made);
    return made && i == n ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory for the outputs");
}

hone_rc hone_artifact_run(hone_artifact *p, const hone_array *in, size_t n_in, hone_array *out, size_t n_out,
                          hone_err *err) {
    hone_model_tensor *t = calloc(n_in + n_out + 1, sizeof *t);
    if (!t) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n_in; i++) {
        t[i] = (hone_model_tensor){.data = in[i].data, .dtype = (int32_t)in[i].dtype, .rank = (int32_t)in[i].rank};
        memcpy(t[i].dim, in[i].dim, sizeof t[i].dim);
    }
    hone_model_rc ran = p->model->run(p->instance, t, n_in, t + n_in, n_out);
    hone_rc rc =
        ran ? hn_fail(err, rc_of(ran), "%s", p->model->error(p->instance)) : copy_all(t + n_in, n_out, out, err);
    free(t);
    return rc;
}

/* --- state -----------------------------------------------------------------------------------------------------------
 */

static hone_rc need_state(const hone_artifact *p, hone_err *err) {
    if (p->model->n_states) return HONE_OK;
    return hn_fail(err, HONE_E_UNSUPPORTED, "model '%s' has no state; compile it with --state INPUT=OUTPUT",
                   p->model->name);
}

static hone_rc state_rc(hone_artifact *p, hone_model_rc rc, const char *path, hone_err *err) {
    return rc ? hn_fail(err, rc_of(rc), "'%s': %s", path, p->model->error(p->instance)) : HONE_OK;
}

hone_rc hone_artifact_save_state(hone_artifact *p, const char *path, hone_err *err) {
    size_t size_b = 0;
    hone_rc rc = need_state(p, err);
    if (rc) return rc;
    hone_model_rc asked = p->model->save(p->instance, NULL, &size_b);
    if (asked != HONE_MODEL_SMALL) return state_rc(p, asked, path, err);
    char *text = malloc(size_b + 1);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory for the state");
    rc = state_rc(p, p->model->save(p->instance, text, &size_b), path, err);
    if (!rc) rc = hn_write_file(path, text, size_b, err);
    free(text);
    return rc;
}

hone_rc hone_artifact_load_state(hone_artifact *p, const char *path, hone_err *err) {
    char *text = NULL;
    size_t n = 0;
    hone_rc rc = need_state(p, err);
    if (!rc) rc = hn_read_file(path, &text, &n, err);
    if (!rc) rc = state_rc(p, p->model->load(p->instance, text, n), path, err);
    free(text);
    return rc;
}

hone_rc hone_artifact_reset_state(hone_artifact *p, hone_err *err) {
    hone_rc rc = need_state(p, err);
    return rc ? rc : state_rc(p, p->model->reset(p->instance), "state", err);
}

void hone_artifact_free(hone_artifact *p) {
    if (!p) return;
    if (p->instance) p->model->free(p->instance);
    if (p->library) dlclose(p->library);
    free(p);
}
