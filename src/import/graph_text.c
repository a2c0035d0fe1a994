/* graph_text.c — see graph_text.h. Its reader is the one of src/ir. */
#include "import/graph_text.h"

#include "base/err.h"

#include <string.h>

/* Comments and blanks, then "ir" and the number of the version. */
static bool sniff(const void *head, size_t n) {
    const char *p = head, *end = p + n;
    for (; p < end && (strchr(" \t\r\n", *p) || *p == '#'); p++)
        if (*p == '#')
            while (p < end && *p != '\n') p++;
    return end - p > 3 && !memcmp(p, "ir ", 3) && p[3] >= '0' && p[3] <= '9';
}

static hone_rc import(const hn_front_source *from, const hone_import_options *options, hone_graph **out, char **report,
                      hone_err *err) {
    (void)report;
    if (options->n_symbol)
        return hn_fail(err, HONE_E_USAGE,
                       "'%s': a graph says its sizes itself, as in `symbol batch in 1..64`; no symbols can be given",
                       hn_front_label(from));
    if (from->path) return hone_graph_read(from->path, out, err);
    return hone_graph_parse(from->data, from->n, out, err);
}

static hone_rc inspect(const hn_front_source *from, hn_model_summary *out, hone_err *err) {
    return hn_front_inspect_graph(from, import, out, err);
}

const hn_front hn_front_graph_text = {"graph", "graph text", ".ir", sniff, import, inspect, NULL};
