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

/* One array, and how it is cut: sample k is `part_b` bytes from k * part_b on. */
typedef struct cut {
    hone_array sample; /* shape and type of one */
    size_t n, part_b;
} cut;

static hone_rc wrong_shape(const char *path, const hone_array *a, const hone_graph_port *p, hone_err *err) {
    char shape[256];
    return cli_fail(err, HONE_E_INPUT,
                    "'%s': the array for input '%s' is %s; it should be %s%s, with samples along the first axis or one "
                    "axis more in front",
                    path, p->name, cli_array_text(a, shape), hone_dtype_name(p->dtype), p->shape);
}

/* Do the dimensions of a from `at` on fit those of the input from `from` on? */
static bool fits(const hone_array *a, uint32_t at, const hone_graph_port *p, uint32_t from) {
    if (a->rank - at != p->rank - from) return false;
    for (uint32_t d = from; d < p->rank; d++)
        if (p->dim[d] >= 0 && a->dim[at + d - from] != p->dim[d]) return false;
    return true;
}

static hone_rc cut_array(const char *path, const hone_array *a, const hone_graph_port *p, cut *out, hone_err *err) {
    *out = (cut){.sample = *a, .n = 1};
    if (a->dtype != p->dtype) return wrong_shape(path, a, p, err);
    if (a->rank == p->rank + 1 && fits(a, 1, p, 0)) {
        out->n = (size_t)a->dim[0];
        out->sample.rank--;
        memmove(out->sample.dim, a->dim + 1, p->rank * sizeof *a->dim);
    } else if (p->rank && a->rank == p->rank && fits(a, 1, p, 1)) {
        int64_t batch = p->dim[0] < 0 ? 1 : p->dim[0];
        if (batch < 1 || a->dim[0] % batch) return wrong_shape(path, a, p, err);
        out->n = (size_t)(a->dim[0] / batch);
        out->sample.dim[0] = batch;
    } else if (p->rank || a->rank) {
        return wrong_shape(path, a, p, err);
    }
    out->part_b = cli_array_bytes(&out->sample);
    return out->n ? HONE_OK : cli_fail(err, HONE_E_INPUT, "'%s': the array for input '%s' is empty", path, p->name);
}

static hone_rc find_array(const char *path, const cli_arrays *x, const char *name, size_t n_inputs, size_t *at,
                          hone_err *err) {
    for (size_t i = 0; i < x->n; i++)
        if (x->name[i] && !strcmp(x->name[i], name)) return *at = i, HONE_OK;
    if (n_inputs == 1 && x->n == 1) return *at = 0, HONE_OK;
    return cli_fail(err, HONE_E_INPUT,
                    "'%s' has no array '%s', as the model's input is called; make it with np.savez(…, %s=…)", path,
                    name, name);
}

static void keep(cli_samples *s, void *data) {
    s->owned = cli_grow(s->owned, &s->owned_room, s->n_owned, sizeof *s->owned);
    s->owned[s->n_owned++] = data;
}

/* Appends n samples, of which each input has that many, or one that all share. */
static void append(cli_samples *s, const cut *list, size_t n) {
    hone_array *a = cli_alloc((s->n + n) * s->n_inputs + 1, sizeof *a);
    if (s->n) memcpy(a, s->a, s->n * s->n_inputs * sizeof *a);
    free(s->a);
    s->a = a;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < s->n_inputs; i++) {
            hone_array *to = &s->a[(s->n + k) * s->n_inputs + i];
            *to = list[i].sample;
            to->data = (char *)list[i].sample.data + (list[i].n > 1 ? k : 0) * list[i].part_b;
        }
    s->n += n;
}

static hone_rc cut_all(const char *path, const hone_graph *g, const cli_arrays *x, cut *list, size_t *n,
                       hone_err *err) {
    size_t n_inputs = hone_graph_inputs(g);
    *n = 1;
    for (size_t i = 0; i < n_inputs; i++) {
        hone_graph_port p;
        size_t at = 0;
        hone_rc rc = hone_graph_input(g, i, &p, err);
        if (!rc) rc = find_array(path, x, p.name, n_inputs, &at, err);
        if (!rc) rc = cut_array(path, &x->a[at], &p, &list[i], err);
        if (rc) return rc;
        if (list[i].n == 1) continue;
        if (*n > 1 && list[i].n != *n)
            return cli_fail(err, HONE_E_INPUT, "'%s': input '%s' has %zu samples, another one has %zu", path, p.name,
                            list[i].n, *n);
        *n = list[i].n;
    }
    return HONE_OK;
}

static hone_rc read_file(const char *path, const hone_graph *g, cli_samples *s, hone_err *err) {
    cli_arrays x = {0};
    size_t n;
    hone_rc rc = cli_arrays_read(path, &x, err);
    if (rc) return rc;
    cut *list = cli_alloc(s->n_inputs + 1, sizeof *list);
    rc = cut_all(path, g, &x, list, &n, err);
    if (!rc) append(s, list, n);
    free(list);
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
    free(s->a);
    *s = (cli_samples){0};
}
