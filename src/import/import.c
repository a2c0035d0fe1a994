/* import.c — hone/import.h: asks the table of front ends, knows no format. */
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "base/yaml.h"
#include "import/fronts.h"

#include <hone/import.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hone_import_format_at(size_t i, hone_import_format *out) {
    const hn_front *f = hn_front_at(i);
    if (f) *out = (hone_import_format){f->name, f->summary, f->suffix};
    return f != NULL;
}

/* --- which format ------------------------------------------------------------------------------------------------- */

typedef struct file_head {
    unsigned char byte[HN_SNIFF_B];
    size_t n;
} file_head;

/* Only regular files are read: what is read from a pipe would be lost to the importer. */
static hone_rc read_head(const char *path, uint64_t max_b, file_head *out, hone_err *err) {
    struct stat st;
    hone_rc rc = HONE_OK;
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return hn_fail(err, HONE_E_IO, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, &st))
        rc = hn_fail(err, HONE_E_IO, "cannot look at '%s': %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        rc = hn_fail(err, HONE_E_IO, "'%s' is no regular file", path);
    else if (max_b && (uint64_t)st.st_size > max_b)
        rc = hn_fail(err, HONE_E_LIMIT, "'%s' is larger than the %llu bytes allowed", path, (unsigned long long)max_b);
    else if ((got = read(fd, out->byte, sizeof out->byte)) < 0)
        rc = hn_fail(err, HONE_E_IO, "cannot read '%s': %s", path, strerror(errno));
    out->n = got > 0 ? (size_t)got : 0;
    close(fd);
    return rc;
}

static hone_rc find(const hn_front_source *from, uint64_t max_b, const hn_front **out, hone_err *err) {
    file_head head;
    if (from->path && hn_is_folder(from->path) && (*out = hn_front_of_folder(from->path))) return HONE_OK;
    hone_rc rc = from->path ? read_head(from->path, max_b, &head, err) : HONE_OK;
    if (rc) return rc;
    *out = from->path ? hn_front_of(head.byte, head.n, from->path) : hn_front_of(from->data, from->n, NULL);
    if (*out) return HONE_OK;
    hn_str known = {0};
    for (size_t i = 0; hn_front_at(i); i++)
        hn_str_addf(&known, "%s%s (%s)", i ? ", " : "", hn_front_at(i)->summary, hn_front_at(i)->suffix);
    rc = hn_fail(err, HONE_E_INPUT, "'%s' has no format that hone reads; it reads %s", hn_front_label(from),
                 known.text ? known.text : "none");
    hn_str_free(&known);
    return rc;
}

const char *hone_import_format_of(const char *path) {
    file_head head;
    const hn_front *folder = hn_is_folder(path) ? hn_front_of_folder(path) : NULL;
    if (folder) return folder->name;
    if (read_head(path, 0, &head, NULL)) head.n = 0;
    const hn_front *f = hn_front_of(head.byte, head.n, path);
    return f ? f->name : NULL;
}

/* --- import ------------------------------------------------------------------------------------------------------- */

static hone_rc import(const hn_front_source *from, const hone_import_options *options, hone_graph **out, char **report,
                      hone_err *err) {
    hone_import_options o = hone_import_defaults();
    const hn_front *front;
    char *lines = NULL;
    hone_rc rc = hn_options_read(&o, sizeof o, options, "import", err);
    if (!rc) rc = find(from, o.max_file_b, &front, err);
    if (!rc) rc = front->import(from, &o, out, &lines, err);
    if (report)
        *report = lines;
    else
        hone_free(lines);
    return rc;
}

hone_rc hone_import_model(const char *path, const hone_import_options *options, hone_graph **out, char **report,
                          hone_err *err) {
    return import(&(hn_front_source){.path = path}, options, out, report, err);
}

hone_rc hone_import_memory(const void *data, size_t n, const hone_import_options *options, hone_graph **out,
                           char **report, hone_err *err) {
    return import(&(hn_front_source){.data = data, .n = n}, options, out, report, err);
}

/* --- inspect ------------------------------------------------------------------------------------------------------ */

/* Imports the model to say whether hone compiles it: adds the lines of the report, or the error. */
static void add_verdict(const char *path, hn_str *s) {
    hone_graph *g = NULL;
    char *report = NULL;
    hone_err err = {0};
    hone_rc rc = hone_import_model(path, NULL, &g, &report, &err);
    hn_str_addf(s, ",\"supported\":%s,\"refusals\":[", rc ? "false" : "true");
    bool some = false;
    for (char *line = report, *end; line && *line; line = end + 1) {
        if (!(end = strchr(line, '\n'))) break;
        *end = 0;
        if (some) hn_str_add(s, ",");
        hn_yaml_add_quoted(s, line);
        some = true;
    }
    if (rc && !some) hn_yaml_add_quoted(s, err.text);
    hn_str_add(s, "]}");
    hone_free(report);
    hone_graph_free(g);
}

hone_rc hone_import_inspect(const char *path, char **json, hone_err *err) {
    const hn_front_source from = {.path = path};
    hn_model_summary summary = {0};
    hn_str s = {0};
    const hn_front *front;
    hone_rc rc = find(&from, 0, &front, err);
    if (!rc) rc = front->inspect(&from, &summary, err);
    if (!rc) {
        hn_str_add(&s, "{\"file\":");
        hn_yaml_add_quoted(&s, hn_shown(&summary.arena, path));
        hn_str_addf(&s, ",\"format\":\"%s\",\"summary\":", front->name);
        hn_yaml_add_quoted(&s, front->summary);
        hn_str_add(&s, ",");
        hn_summary_print(&summary, &s);
    }
    hn_summary_free(&summary); /* before the import takes as much memory again */
    if (rc) return rc;
    add_verdict(path, &s);
    char *text = hn_str_take(&s);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory inspecting '%s'", path);
    *json = text;
    return HONE_OK;
}
