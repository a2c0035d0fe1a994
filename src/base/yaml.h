/* base/yaml.h — a YAML text as a tree of nodes that hold their line and column (libyaml underneath).
 *
 * One document per text. Anchors, aliases and tags are refused (they are not needed in hone's files and make
 * "billion laughs" possible), as are duplicate keys, non-scalar keys, more than 64 levels and more than 1,000,000
 * nodes. Owns: the document owns all nodes and texts.   Errors: E_INPUT with "label:line:column: ".
 */
#ifndef HN_YAML_H
#define HN_YAML_H

#include "base/str.h"

typedef enum hn_ykind { HN_Y_NULL, HN_Y_SCALAR, HN_Y_SEQ, HN_Y_MAP } hn_ykind;

typedef struct hn_ynode {
    hn_ykind kind;
    bool quoted;                        /* a scalar in quotes or a block: a string even if it looks like a number */
    const char *text;                   /* scalar */
    unsigned line, column;              /* from 1 */
    size_t n;                           /* items of a sequence, pairs of a map */
    const struct hn_ynode *const *key;  /* map: scalars */
    const struct hn_ynode *const *item; /* sequence items, map values */
} hn_ynode;

typedef struct hn_yaml hn_yaml;

hone_rc hn_yaml_parse(const char *text, size_t n, const char *label, hn_yaml **out, hone_err *err);
hone_rc hn_yaml_load(const char *path, hn_yaml **out, hone_err *err);
void hn_yaml_free(hn_yaml *doc);
const hn_ynode *hn_yaml_root(const hn_yaml *doc); /* an empty text has a HN_Y_NULL root */
const char *hn_yaml_label(const hn_yaml *doc);

/* E_INPUT at a node: "label:line:column: …". */
hone_rc hn_yaml_fail(const hn_yaml *doc, const hn_ynode *at, hone_err *err, const char *fmt, ...) HONE_PRINTF(4, 5);

/* The value of a key, NULL if the map lacks it (or node is no map). */
const hn_ynode *hn_yaml_get(const hn_ynode *map, const char *key);
/* Every key of `map` must be among `known`; the error names the nearest. `map` must be a map. */
hone_rc hn_yaml_check_keys(const hn_yaml *doc, const hn_ynode *map, const char *what, const char *const *known,
                           size_t n_known, hone_err *err);

/* Typed reads of a scalar; the error says what was expected and what was found. Numbers: decimal, 1e3, 0x10, finite,
 * whole ones up to 2^53, not in quotes. Booleans: true/false/yes/no/on/off. */
hone_rc hn_yaml_double(const hn_yaml *doc, const hn_ynode *node, double *out, hone_err *err);
hone_rc hn_yaml_int(const hn_yaml *doc, const hn_ynode *node, int64_t *out, hone_err *err);
hone_rc hn_yaml_bool(const hn_yaml *doc, const hn_ynode *node, bool *out, hone_err *err);
hone_rc hn_yaml_text(const hn_yaml *doc, const hn_ynode *node, const char **out, hone_err *err); /* scalar, non-empty */
/* "10 s", "250 ms", "2 min", "1 h"; a bare number means seconds. "2 GiB", "64 MB", bare: bytes. Also in quotes. */
hone_rc hn_yaml_seconds(const hn_yaml *doc, const hn_ynode *node, double *out, hone_err *err);
hone_rc hn_yaml_bytes(const hn_yaml *doc, const hn_ynode *node, uint64_t *out, hone_err *err);

/* A scalar as it must be written to read back as this text (quoted when needed), appended to an hn_str. The text is
 * UTF-8 without NUL; bytes that are no UTF-8 pass through, and the reader then refuses them. */
void hn_yaml_add_scalar(hn_str *s, const char *text);
/* The same in double quotes whatever it is: a JSON string, too. */
void hn_yaml_add_quoted(hn_str *s, const char *text);

#endif
