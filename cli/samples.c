/* samples.c — samples for a model's inputs, from NumPy's files. */
#include "model_io.h"
#include "precision.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- files ---------------------------------------------------------------------------------------------------------
 */

static bool is_array_file(const char *name) {
    size_t n = strlen(name);
    return n > 4 && (!strcmp(name + n - 4, ".npz") || !strcmp(name + n - 4, ".npy"));
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The file, or those of the folder. */
static hone_rc list_files(const char *path, char ***list, size_t *n, hone_err *err) {
    struct stat st;
    size_t room = 0;
    *list = NULL, *n = 0;
    if (stat(path, &st)) return cli_fail(err, HONE_E_IO, "cannot read '%s': %s", path, strerror(errno));
    DIR *dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    if (S_ISDIR(st.st_mode) && !dir) return cli_fail(err, HONE_E_IO, "cannot read '%s': %s", path, strerror(errno));
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!is_array_file(e->d_name)) continue;
        *list = cli_grow(*list, &room, *n, sizeof **list);
        (*list)[(*n)++] = cli_format("%s/%s", path, e->d_name);
    }
    if (dir) closedir(dir);
    if (!dir) {
        *list = cli_grow(*list, &room, *n, sizeof **list);
        (*list)[(*n)++] = cli_strdup(path);
    }
    if (*n) qsort(*list, *n, sizeof **list, by_name);
    return *n ? HONE_OK : cli_fail(err, HONE_E_INPUT, "folder '%s' holds no .npz or .npy files", path);
}

/* --- arrays as samples ---------------------------------------------------------------------------------------------
 */

static void keep(cli_samples *s, void *data) {
    s->owned = cli_grow(s->owned, &s->owned_room, s->n_owned, sizeof *s->owned);
    s->owned[s->n_owned++] = data;
}

static hone_rc read_file(const char *path, const hone_graph *g, cli_samples *s, hone_err *err) {
    cli_arrays x = {0};
    hone_precision_samples all = {s->a, s->n, s->n_inputs};
    hone_rc rc = cli_arrays_read(path, &x, err);
    if (rc) return rc;
    rc = hone_precision_add_samples(&all, g, path, (const char *const *)x.name, x.a, x.n, err);
    s->a = all.a, s->n = all.n;
    for (size_t i = 0; i < x.n; i++) {
        keep(s, x.a[i].data);
        x.a[i].data = NULL;
    }
    cli_arrays_free(&x);
    return rc;
}

hone_rc cli_samples_read(const char *path, const hone_graph *g, cli_samples *out, hone_err *err) {
    cli_samples s = {.n_inputs = hone_graph_inputs(g)};
    char **file;
    size_t n;
    hone_rc rc = list_files(path, &file, &n, err);
    for (size_t i = 0; i < n && !rc; i++) rc = read_file(file[i], g, &s, err);
    for (size_t i = 0; i < n; i++) free(file[i]);
    free(file);
    if (rc)
        cli_samples_free(&s);
    else
        *out = s;
    return rc;
}

void cli_samples_free(cli_samples *s) {
    for (size_t i = 0; i < s->n_owned; i++) hone_free(s->owned[i]);
    free(s->owned);
    hone_free(s->a);
    *s = (cli_samples){0};
}
