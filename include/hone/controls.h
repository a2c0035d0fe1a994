/* hone/controls.h — the controls file: what a search found and a validation kept, as a small YAML text that people
 * review, builds read (through the response file beside it) and CI checks.
 *
 * NAME.hone is YAML with a fixed order of keys, one value a line, so that a change of one control is a change of one
 * line; NAME.rsp holds the same flags as gcc and clang read them with @NAME.rsp. Format: docs/controls-file.md.
 * Owns: a hone_controls owns everything it points to, until hone_controls_free.   Units: seconds, bytes, ratios.
 * The text ends with a digest of all before it, and behind that, in a signed file, with the signature; reading checks
 * both, so that what was edited by hand, damaged or cut short is never taken for what was proven.
 * Errors: E_INPUT with path:line:column (malformed, truncated, of a later format); E_TAMPERED (digest or signature does
 * not fit); E_MISMATCH (signed with another key); E_NOTFOUND (not signed); E_IO; E_NOMEM.
 */
#ifndef HONE_CONTROLS_H
#define HONE_CONTROLS_H

#include <hone/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_CONTROLS_FORMAT 1

typedef struct hone_pair {
    const char *name, *value;
} hone_pair;

/* Values of one side over the runs of a validation, in the objective's unit; n = 0: not known. */
typedef struct hone_distribution {
    size_t n;
    double p5, p25, p50, p75, p95, mean, sd;
} hone_distribution;

/* One objective on one input (input "": all that were tuned on, by weight). gain: baseline / tuned, or the inverse for
 * what is maximised: above 1 is better; 95 % interval. */
typedef struct hone_controls_row {
    const char *objective, *input;
    bool held_out;
    hone_interval gain;
    hone_distribution baseline, tuned;
} hone_controls_row;

/* What one control contributes: the gain lost when it alone is left out (ratio, as gain). */
typedef struct hone_share {
    const char *name;
    hone_interval gain;
} hone_share;

typedef struct hone_controls {
    int format;
    const char *name;    /* of the workload */
    const char *version; /* of hone that wrote it */
    const char *created; /* "2026-01-31T14:05:00Z" */
    /* What to do. Controls carry the names of the target's own space; parameters those of the workload. */
    const char *compiler; /* command: "gcc", "clang-19" */
    const char *floating_point;
    hone_pair *control, *parameter;
    size_t n_controls, n_parameters;
    const char **flag; /* words as rendered, in order */
    size_t n_flags;
    hone_pair *environment;
    size_t n_environment;
    bool pgo;
    const char *point; /* JSON of a point in the workload's joined space; control and parameter are made from it */
    const char *response_hash; /* of NAME.rsp; "" before the first text was made */
    /* The key: what must be the same for the claim to be valid. */
    const char *workload;      /* path of the workload file, relative to the controls file where it can be */
    const char *workload_hash; /* hone_workload_hash: finds sessions; not part of the key */
    const char *space_hash;    /* of everything that defines the search space except the compilers' controls */
    const char *baseline;      /* its flags, as the workload has them */
    hone_pair *rule; /* what gives measurements their meaning: "run command", "parity", "parameter TILE" … */
    size_t n_rules;
    hone_pair *source; /* path, hash: one per source file */
    size_t n_sources;
    hone_pair *input; /* name; args, weight and held_out as one text: one per input */
    size_t n_inputs;
    hone_pair *tool; /* compiler: family, version, hash, march, path (path: for people, not part of the key) */
    size_t n_tool;
    hone_pair *baseline_tool; /* as tool; none when the baseline's compiler is the same */
    size_t n_baseline_tool;
    hone_pair *machine; /* cpu, features, driver; for people: kernel, memory */
    size_t n_machine;
    /* The claim. */
    const char *verdict; /* one sentence */
    size_t n_pairs, n_variants;
    double claimed; /* gain that the search measured; NAN: not known */
    hone_controls_row *row;
    size_t n_rows;
    hone_share *share;
    size_t n_shares;
    size_t n_before;    /* controls before minimising; 0: not minimised */
    int64_t session;    /* of the store; 0: none */
    const char *signer; /* public key of the signature, "" without one */
    void *block;
    /* What the linked program goes through: stage ("bolt"), command, version, hash, options. None: nothing. */
    hone_pair *post_link;
    size_t n_post_link;
    /* Files that have flags of their own behind those of the program: the name, as the build command has it, and the
     * flags, as words for the shell. None: no file has. */
    hone_pair *file;
    size_t n_files;
    /* Edited passes that opt runs instead of the compiler: opt, version, hash (of opt), level, pipeline (its hash),
     * edits. None: the compiler's own. */
    hone_pair *passes;
    size_t n_passes;
} hone_controls;

/* A call of the compiler, argv[0], with all its flags, as the stages of these controls' passes, a command for sh (free
 * with hone_free): a compilation with -c, or one that links too. *shell NULL: there are no passes, or nothing is
 * compiled. E_STALE: opt is not that of the proof; E_UNSUPPORTED: the call cannot be made in stages. */
HONE_API hone_rc hone_controls_stages(const hone_controls *c, const char *const *argv, size_t n, char **shell,
                                      hone_err *err);

/* All strings and arrays of *c are borrowed while the functions below run. label names the text in messages. */
HONE_API hone_rc hone_controls_read(const char *path, hone_controls **out, hone_err *err);
HONE_API hone_rc hone_controls_parse(const char *text, size_t n, const char *label, hone_controls **out, hone_err *err);
HONE_API void hone_controls_free(hone_controls *c);
/* The file's text, unsigned; free with hone_free. Equal contents give equal bytes, and the text of what was read is
 * what was read, but for a signature. E_INPUT when it could not be read back (a text that is no UTF-8). */
HONE_API hone_rc hone_controls_text(const hone_controls *c, char **text, hone_err *err);
/* The response file: one flag a line, as gcc and clang read them with @NAME.rsp. Free with hone_free. */
HONE_API hone_rc hone_controls_rsp(const hone_controls *c, char **text, hone_err *err);
/* Writes NAME.hone and NAME.rsp beside it (path ends in ".hone"), both or neither, through temporary files. */
HONE_API hone_rc hone_controls_write(const hone_controls *c, const char *path, hone_err *err);

/* --- signatures: Ed25519 (RFC 8032) by libsodium, over the whole file but the signature block -----------------------
 */

/* Writes PATH (secret key, mode 0600) and PATH.pub. Refuses to replace existing ones (E_IO). comment: one line, may be
 * NULL. */
HONE_API hone_rc hone_key_generate(const char *path, const char *comment, hone_err *err);
/* Signs the file in place (an earlier signature is replaced). What it signs holds the hash of the response file, which
 * must be there and fit. E_TAMPERED when the file or its response file was changed since it was written. */
HONE_API hone_rc hone_controls_sign(const char *path, const char *secret_key_path, hone_err *err);
/* Does the signature fit the file, its response file and the key? public_key_path NULL: the key that the file names,
 * which says that nothing was damaged, but not who signed. E_TAMPERED: changed since; E_MISMATCH: signed with another
 * key; E_NOTFOUND: not signed; E_IO, E_INPUT: no such file, no response file, no key file. */
HONE_API hone_rc hone_controls_verify(const char *path, const char *public_key_path, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
