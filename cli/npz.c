/* npz.c — NumPy's archives: a zip of npy files, through libzip, which the portable hone does without (HN_PORTABLE). */
#include "model_io.h"

#include <hone/npy.h>

#include <stdlib.h>
#include <string.h>
#ifndef HN_PORTABLE
#include <zip.h>
#endif

void cli_arrays_free(cli_arrays *x) {
    for (size_t i = 0; i < x->n; i++) {
        hone_free(x->a[i].data);
        free(x->name[i]);
    }
    free(x->a);
    free(x->name);
    *x = (cli_arrays){0};
}

static void push(cli_arrays *x, const hone_array *a, char *name) {
    hone_array *more = cli_alloc(x->n + 1, sizeof *more);
    char **names = cli_alloc(x->n + 1, sizeof *names);
    if (x->n) {
        memcpy(more, x->a, x->n * sizeof *more);
        memcpy(names, x->name, x->n * sizeof *names);
    }
    free(x->a);
    free(x->name);
    x->a = more;
    x->name = names;
    x->a[x->n] = *a;
    x->name[x->n++] = name;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

#ifdef HN_PORTABLE

static hone_rc no_archives(const char *path, hone_err *err) {
    return cli_fail(err, HONE_E_UNSUPPORTED,
                    "'%s': the portable hone reads and writes no .npz archives; use .npy files, or a hone built by "
                    "plain `make`",
                    path);
}

static hone_rc read_npz(const char *path, cli_arrays *out, hone_err *err) {
    (void)out;
    return no_archives(path, err);
}

static hone_rc write_npz(const char *path, const cli_arrays *x, hone_err *err) {
    (void)x;
    return no_archives(path, err);
}

#else

static hone_rc read_entry(zip_t *zip, zip_uint64_t i, const char *path, cli_arrays *out, hone_err *err) {
    zip_stat_t st;
    hone_array a;
    if (zip_stat_index(zip, i, 0, &st) || !(st.valid & ZIP_STAT_SIZE) || !(st.valid & ZIP_STAT_NAME) ||
        st.size > (zip_uint64_t)1 << 36)
        return cli_fail(err, HONE_E_INPUT, "'%s' is damaged", path);
    if (!ends_with(st.name, ".npy")) return HONE_OK;
    zip_file_t *f = zip_fopen_index(zip, i, 0);
    char *data = malloc(st.size + 1), *label = cli_format("%s:%s", path, st.name);
    bool good = f && data && zip_fread(f, data, st.size) == (zip_int64_t)st.size;
    if (f) zip_fclose(f);
    hone_rc rc =
        good ? hone_npy_parse(data, st.size, label, &a, err) : cli_fail(err, HONE_E_INPUT, "'%s' is damaged", label);
    free(data);
    free(label);
    if (rc) return rc;
    char *name = cli_strdup(st.name);
    name[strlen(name) - 4] = 0;
    push(out, &a, name);
    return HONE_OK;
}

static hone_rc read_npz(const char *path, cli_arrays *out, hone_err *err) {
    int code;
    hone_rc rc = HONE_OK;
    cli_arrays x = {0};
    zip_t *zip = zip_open(path, ZIP_RDONLY, &code);
    if (!zip)
        return cli_fail(err, code == ZIP_ER_NOENT ? HONE_E_IO : HONE_E_INPUT, "cannot read '%s' as an npz archive",
                        path);
    zip_int64_t n = zip_get_num_entries(zip, 0);
    for (zip_int64_t i = 0; i < n && !rc; i++) rc = read_entry(zip, (zip_uint64_t)i, path, &x, err);
    zip_discard(zip);
    if (rc)
        cli_arrays_free(&x);
    else
        *out = x;
    return rc;
}

static hone_rc write_npz(const char *path, const cli_arrays *x, hone_err *err) {
    int code;
    hone_rc rc = HONE_OK;
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!zip) return cli_fail(err, HONE_E_IO, "cannot write '%s'", path);
    for (size_t i = 0; i < x->n && !rc; i++) {
        void *data;
        size_t n;
        char *name = x->name[i] && *x->name[i] ? cli_format("%s.npy", x->name[i]) : cli_format("arr_%zu.npy", i);
        rc = hone_npy_format(&x->a[i], &data, &n, err);
        if (!rc) {
            zip_source_t *source = zip_source_buffer(zip, data, n, 1);
            if (!source) hone_free(data);
            if (!source || zip_file_add(zip, name, source, ZIP_FL_OVERWRITE | ZIP_FL_ENC_UTF_8) < 0) {
                if (source) zip_source_free(source);
                rc = cli_fail(err, HONE_E_IO, "cannot write '%s' into '%s'", name, path);
            }
        }
        free(name);
    }
    if (rc)
        zip_discard(zip);
    else if (zip_close(zip)) {
        zip_discard(zip);
        rc = cli_fail(err, HONE_E_IO, "cannot write '%s'", path);
    }
    return rc;
}

#endif

hone_rc cli_arrays_read(const char *path, cli_arrays *out, hone_err *err) {
    hone_array a;
    if (ends_with(path, ".npz")) return read_npz(path, out, err);
    hone_rc rc = hone_npy_read(path, &a, err);
    if (rc) return rc;
    *out = (cli_arrays){0};
    push(out, &a, NULL);
    return HONE_OK;
}

hone_rc cli_arrays_write(const char *path, const cli_arrays *x, hone_err *err) {
    if (ends_with(path, ".npz")) return write_npz(path, x, err);
    if (x->n != 1) return cli_fail(err, HONE_E_USAGE, "%zu arrays do not fit into '%s'; name an .npz", x->n, path);
    return hone_npy_write(&x->a[0], path, err);
}
