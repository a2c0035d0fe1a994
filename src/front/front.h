/* front/front.h — the contract of a front end: how files of one format become graphs.
 *
 * A front end is a const struct; src/import/fronts.c lists all of them. A new one is a folder with one such struct and
 * a row there (docs/how-to-add-a-front-end.md).
 * Owns: a graph keeps alive what its constants borrow (g->hold, g->let_go).   Threads: calls do not share state.
 * Errors: E_IO, E_INPUT (the message says where in the file), E_LIMIT, E_UNSUPPORTED, E_USAGE (an option), E_NOMEM.
 */
#ifndef HN_FRONT_H
#define HN_FRONT_H

#include "front/summary.h"

#include <hone/front.h>

enum { HN_SNIFF_B = 4096 }; /* of a file's beginning, seen by sniff */

typedef struct hn_front_source {
    const char *path; /* a file, with others beside it; NULL: bytes in memory */
    const void *data; /* in memory: needed during the call alone */
    size_t n;
} hn_front_source;

typedef hone_rc hn_front_import_fn(const hn_front_source *from, const hone_import_options *options, hone_graph **out,
                                   char **report, hone_err *err);

typedef struct hn_front {
    const char *name;    /* printed by --json: never rename */
    const char *summary; /* what one file is: "ONNX model" */
    const char *suffix;  /* usual end of a file's name; decides where no front end knows the content (a damaged file) */
    /* Does a file that begins so have this format? At most HN_SNIFF_B bytes, fewer where the file is shorter. Must not
     * be true of other formats' files. */
    bool (*sniff)(const void *head, size_t n);
    /* A sealed graph that passes hn_verify. options: never NULL; max_file_b has been checked for the file itself.
     * report: never NULL; one line for each refusal, also when the call fails; the caller's. */
    hn_front_import_fn *import;
    /* Fills a zeroed summary, which the caller frees after a failure, too. Whether hone can compile the model is asked
     * of `import`. */
    hone_rc (*inspect)(const hn_front_source *from, hn_model_summary *out, hone_err *err);
    /* Is this folder a model of the format? NULL: models are files. import and inspect are then given its path. */
    bool (*in_folder)(const char *path);
} hn_front;

/* The path, or "model in memory": for messages. */
static inline const char *hn_front_label(const hn_front_source *from) {
    return from->path ? from->path : "model in memory";
}

/* --- what front ends share ---------------------------------------------------------------------------------------- */

/* front.c: the last step of an import that built `g`: removes what nobody uses, verifies and seals. After a failure
 * (E_UNSUPPORTED, E_NOMEM, or the sticky one of the graph) g is freed. */
hone_rc hn_front_finish(const hn_front_source *from, hn_graph *g, hone_graph **out, hone_err *err);
/* `inspect` of a format whose files say no more than their graph does. */
hone_rc hn_front_inspect_graph(const hn_front_source *from, hn_front_import_fn *import, hn_model_summary *out,
                               hone_err *err);

/* shown.c: a name from a file, made safe for a message: control bytes and invalid UTF-8 escaped as \xNN, at most 120
 * bytes. */
const char *hn_shown(hn_arena *a, const char *name);

/* symbols.c: sizes that the user fixed or bounded (hone_import_options.symbol). */
typedef struct hn_symbol_option {
    const char *name; /* NUL-terminated copy */
    int64_t low, high;
    bool used;
} hn_symbol_option;
typedef struct hn_symbol_options {
    hn_symbol_option *option;
    size_t n;
} hn_symbol_options;
/* E_USAGE for what is not "name=size" or "name=smallest:largest". */
hone_rc hn_symbol_options_read(hn_arena *a, const hone_import_options *o, hn_symbol_options *out, hone_err *err);
/* The dimension that the file calls `text`: a new symbol, bounded or fixed as an option says. Call it once a name. */
hn_dim hn_symbol_options_dim(hn_symbol_options *o, hn_arena *a, hn_dims *dims, const char *text);
/* E_USAGE for an option that no dimension took; the message names the nearest of the n names that there are. */
hone_rc hn_symbol_options_check(const hn_symbol_options *o, hn_arena *a, const char *const *name, size_t n,
                                hone_err *err);

#endif
