/* record/controls_file.h — the parts of a controls file: contents, text, seal (digest and signature at its end).
 *
 * Owns: a hone_controls and its arena are one block; hn_controls_new gives both, hone_controls_free takes both.
 * Invariants: 1 control and parameter are made from `point` (hn_controls_derive);  2 a text holds no value twice,
 * except the response file's hash, which depends on `flag`.
 */
#ifndef HN_CONTROLS_FILE_H
#define HN_CONTROLS_FILE_H

#include "base/arena.h"
#include "base/seal.h"
#include "base/str.h"
#include "base/yaml.h"

#include <hone/controls.h>

/* Zeroed, with "" where a text is required. NULL: out of memory. */
hone_controls *hn_controls_new(hn_arena **arena);
/* A point's JSON as a map of nodes (JSON is YAML). E_INPUT: it is no object. */
hone_rc hn_point_load(const char *point, hn_yaml **out, hone_err *err);
/* Is the node a scalar or a list of scalars? Appends it as JSON. */
bool hn_gene_fine(const hn_ynode *node);
void hn_gene_json(const hn_yaml *doc, const hn_ynode *node, hn_str *s);
/* Fills control and parameter from point, compiler and floating_point. E_INPUT: the point is no JSON object. */
hone_rc hn_controls_derive(hone_controls *c, hn_arena *a, hone_err *err);
/* Genes of the driver itself that the point may hold: "compiler", "fp". Does the point's gene `name` agree with
 * c->compiler or c->floating_point? */
bool hn_is_choice(const hone_controls *c, const char *name, const hn_ynode *value);
/* "gcc-12." for "gcc-12", with '/' as '_': what the names of its controls start with in a joined space. */
const char *hn_controls_prefix(hn_arena *a, const char *compiler);
/* PATH.rsp for PATH.hone; malloc'ed. E_INPUT when the path ends otherwise. */
hone_rc hn_rsp_path(const char *path, char **rsp, hone_err *err);
/* The response file beside a controls file: E_TAMPERED when it is not what the flags say, E_NOTFOUND when missing. */
hone_rc hn_rsp_check(const hone_controls *c, const char *path, hone_err *err);

/* Is it signed with the key of that file (NULL: signed at all)? E_NOTFOUND: not signed; E_MISMATCH: with another; E_IO,
 * E_INPUT: no key file. */
hone_rc hn_signer_check(const hone_controls *c, const char *path, const char *public_key_path, hone_err *err);

extern const hn_seal_kind hn_controls_kind;
/* The number in the line "format: N", 0 when there is none. */
int hn_controls_format(const char *text, size_t n);

/* Body without digest. */
hone_rc hn_controls_body(const hone_controls *c, hn_str *s, hone_err *err);
/* Reads a text whose seal was checked. */
hone_rc hn_controls_read_body(const char *text, size_t n, const char *label, hone_controls **out, hone_err *err);

#endif
