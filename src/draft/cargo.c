/* draft/cargo.c — a program of a Cargo project, built by cargo itself.
 *
 * `cargo metadata` lists packages and programs. The build is `cargo build --release` with the candidate's compiler as
 * RUSTC and its flags as RUSTFLAGS, which rustc reads behind those of the profile, so that they count. */
#include "draft/draft_int.h"

#include "base/err.h"
#include "base/fs.h"
#include "proc/proc.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_S = 120, METADATA_B = 64 << 20 };

typedef struct binary {
    const char *name, *package;
} binary;

typedef struct binaries {
    binary *list;
    size_t n;
} binaries;

static hone_rc read_metadata(const hn_project *p, json_t **out, hone_err *err) {
    const char *const argv[] = {"cargo", "metadata", "--no-deps", "--format-version", "1", "--offline", NULL};
    hn_proc_result r;
    char what[200], *cargo = hn_which("cargo");
    if (!cargo)
        return hn_fail(err, HONE_E_TOOL, "'%s' is a Cargo project, and cargo is not installed (Debian: cargo)", p->dir);
    free(cargo);
    hn_proc_spec spec = {
        .argv = argv, .cwd = p->dir, .cpu = -1, .wall_s = ASK_S, .out_b = METADATA_B, .keep_b = METADATA_B};
    hone_rc rc = hn_proc_run(&spec, NULL, &r, err);
    if (rc) return rc;
    json_t *root = r.end == HN_PROC_EXITED && r.code == 0 ? json_loadb(r.out, r.out_n, 0, NULL) : NULL;
    if (root)
        *out = root;
    else
        rc = hn_fail(err, HONE_E_TOOL, "`cargo metadata --offline` in '%s' ended with %s: %.1200s", p->dir,
                     hn_proc_describe(&spec, &r, what, sizeof what), r.err_tail);
    hn_proc_result_free(&r);
    return rc;
}

static bool has_kind(const json_t *target, const char *kind) {
    const json_t *kinds = json_object_get(target, "kind");
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const char *text = json_string_value(json_array_get(kinds, i));
        if (text && !strcmp(text, kind)) return true;
    }
    return false;
}

static void list_binaries(hn_arena *a, const json_t *root, binaries *b) {
    const json_t *packages = json_object_get(root, "packages");
    size_t most = 0;
    for (size_t i = 0; i < json_array_size(packages); i++)
        most += json_array_size(json_object_get(json_array_get(packages, i), "targets"));
    b->list = HN_NEW_N(a, binary, most + 1);
    for (size_t i = 0; b->list && i < json_array_size(packages); i++) {
        const json_t *package = json_array_get(packages, i), *targets = json_object_get(package, "targets");
        for (size_t k = 0; k < json_array_size(targets); k++) {
            const json_t *target = json_array_get(targets, k);
            const char *name = json_string_value(json_object_get(target, "name"));
            const char *of = json_string_value(json_object_get(package, "name"));
            if (has_kind(target, "bin") && name && of) b->list[b->n++] = (binary){hn_strdup(a, name), hn_strdup(a, of)};
        }
    }
}

/* A word of the run that ends in the program's name. */
static bool run_names(const char *run, const char *name) {
    size_t n = strlen(name);
    for (const char *at = run; run && (at = strstr(at, name)); at++)
        if ((at == run || strchr(" \t/'\"", at[-1])) && (!at[n] || strchr(" \t'\";", at[n]))) return true;
    return false;
}

static hone_rc choose(const hn_project *p, const binaries *b, const hone_draft_options *o, const binary **out,
                      hone_err *err) {
    hn_str names = {0};
    const binary *found = b->n == 1 && !o->program ? b->list : NULL;
    for (size_t i = 0; i < b->n; i++) {
        hn_str_addf(&names, "%s'%s'", i ? ", " : "", b->list[i].name);
        bool wanted = o->program ? !strcmp(b->list[i].name, o->program) : run_names(o->run, b->list[i].name);
        if (wanted && !found) found = &b->list[i];
    }
    hone_rc rc = HONE_OK;
    if (!b->n)
        rc = hn_fail(err, HONE_E_NOTFOUND, "the Cargo project in '%s' has no program (no target of kind bin)", p->dir);
    else if (!found && o->program)
        rc = hn_fail(err, HONE_E_NOTFOUND, "the Cargo project in '%s' has no program '%s'; it has %.900s", p->dir,
                     o->program, names.text ? names.text : "");
    else if (!found)
        rc =
            hn_fail(err, HONE_E_USAGE,
                    "the Cargo project in '%s' has %zu programs: %.900s; name one with --program, or give its run with "
                    "--run \"COMMAND\"",
                    p->dir, b->n, names.text ? names.text : "");
    if (!rc) *out = found;
    hn_str_free(&names);
    return rc;
}

static void add_if_there(hn_arena *a, const char *root, const char *folder, const char *name, hn_drafted *d) {
    const char *path = hn_format(a, "%s/%s", folder, name);
    if (path && hn_exists(path)) hn_draft_add_source(d, hn_draft_relative(a, root, path));
}

/* Manifests, sources and build scripts of the project's own packages. */
static void add_packages(hn_arena *a, const json_t *root_value, const char *root, hn_drafted *d) {
    static const char *const of_package[] = {"Cargo.toml", "src", "build.rs", "benches", "examples", "tests"};
    static const char *const of_project[] = {"Cargo.toml", "Cargo.lock", ".cargo/config.toml", ".cargo/config",
                                             "vendor"};
    const char *top = json_string_value(json_object_get(root_value, "workspace_root"));
    const json_t *packages = json_object_get(root_value, "packages");
    for (size_t i = 0; top && i < sizeof of_project / sizeof *of_project; i++)
        add_if_there(a, root, top, of_project[i], d);
    for (size_t i = 0; i < json_array_size(packages); i++) {
        const char *manifest = json_string_value(json_object_get(json_array_get(packages, i), "manifest_path"));
        const char *slash = manifest ? strrchr(manifest, '/') : NULL;
        const char *folder = slash ? hn_strndup(a, manifest, (size_t)(slash - manifest)) : NULL;
        for (size_t k = 0; folder && k < sizeof of_package / sizeof *of_package; k++)
            add_if_there(a, root, folder, of_package[k], d);
    }
}

hone_rc hn_draft_cargo(hn_arena *a, const hn_project *p, const char *root, const hone_draft_options *o, hn_drafted *out,
                       hone_err *err) {
    json_t *metadata;
    binaries b = {0};
    const binary *bin = NULL;
    hone_rc rc = read_metadata(p, &metadata, err);
    if (rc) return rc;
    list_binaries(a, metadata, &b);
    rc = hn_arena_ok(a) ? choose(p, &b, o, &bin, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) {
        const char *where = hn_draft_relative(a, root, p->dir);
        hn_language_of("main.rs", &out->family);
        out->linked = true;
        out->compiler = out->family->command;
        out->program = bin->name;
        out->controls = "{lto: false} # cargo compiles without what it needs; `lto` of the profile in Cargo.toml stays";
        hn_str_add(&out->baseline, out->family->baseline);
        hn_str_addf(&out->note, "# Drafted from `cargo metadata` in %s. Builds are offline: run `cargo fetch` once.\n",
                    where);
        add_packages(a, metadata, root, out);
        hn_str_add(&out->build, "RUSTC={cc} RUSTFLAGS=\"{flags} {defines}\" CARGO_TARGET_DIR=$PWD/target cargo build "
                                "--release --offline --quiet --manifest-path ");
        hn_draft_add_word(&out->build, hn_format(a, "%s%sCargo.toml", strcmp(where, ".") ? where : "",
                                                 strcmp(where, ".") ? "/" : ""));
        hn_str_add(&out->build, " --package ");
        hn_draft_add_word(&out->build, bin->package);
        hn_str_add(&out->build, " --bin ");
        hn_draft_add_word(&out->build, bin->name);
        hn_str_add(&out->build, " && cp target/release/");
        hn_draft_add_word(&out->build, bin->name);
        hn_str_add(&out->build, " {out}");
        if (o->run) hn_draft_run(a, root, bin->name, o->run, out, true);
        if (!hn_arena_ok(a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory drafting a workload");
    }
    json_decref(metadata);
    return rc;
}
