/* tune/draft_offers.c — parts of a search that a drafted workload could have, each a line whose '#' can be taken off.
 *
 * Only what can work is offered: for a build that makes a program, where the tool is installed, by the families that
 * have it. */
#include "tune/draft.h"

#include "base/yaml.h"
#include "tune/workload_int.h"

#include <stdlib.h>
#include <string.h>

/* Where clang and rustc have nothing that merges profiles, profile-guided builds fail. */
static bool has_profiles(const hn_draft_offers *o) {
    hone_target *t;
    if (!o->family->pgo_generate) return false;
    if (!o->family->profile_tool) return true;
    if (hone_target_open(o->compiler, NULL, &t, NULL)) return false;
    char *tool = o->family->profile_tool(t);
    hone_target_close(t);
    free(tool);
    return tool != NULL;
}

static void add_training(hn_str *s, const hn_draft_offers *o) {
    if (!has_profiles(o)) return;
    hn_str_add(s, "#train: ");
    hn_yaml_add_quoted(s, o->run);
    hn_str_add(s, " # a run whose profile guides the build: with it profile-guided builds are offered, too\n");
}

/* The newest installed compiler of C that opt serves, in the draft's place; NULL: none. Malloc'ed. */
static char *other_with_passes(const hn_draft_offers *o, hone_post_link_tool *opt) {
    char *found = NULL;
    if (!o->family->cut || strcmp(o->compiler, o->family->command) != 0) return NULL;
    for (size_t i = 0; hn_families[i]; i++) {
        char **names;
        size_t n;
        if (!hn_families[i]->passes || hone_family_installed(hn_families[i]->name, &names, &n, NULL)) continue;
        for (size_t k = 0; k < n; k++) {
            hone_post_link_tool one;
            if (hone_target_pass_tool(names[k], &one, NULL)) continue;
            if (found && strverscmp(one.version, opt->version) <= 0) continue;
            free(found);
            found = strdup(names[k]);
            *opt = one;
        }
        hone_free(names);
    }
    return found;
}

static void add_passes(hn_str *s, const hn_draft_offers *o) {
    hone_post_link_tool opt;
    if (!o->passes) return;
    bool own = o->family->passes;
    char *other = own ? NULL : other_with_passes(o, &opt);
    if (own ? !hone_target_pass_tool(o->compiler, &opt, NULL) : other != NULL)
        hn_str_addf(
            s,
            "#controls: {passes: true} # search the order of LLVM's passes, which %s runs%s%s%s: docs/pass-order.md\n",
            opt.command, other ? " for " : "", other ? other : "", other ? " (name it in `compilers`)" : "");
    free(other);
}

void hn_draft_add_offers(hn_str *s, const hn_draft_offers *o) {
    hone_post_link_tool bolt;
    add_training(s, o);
    add_passes(s, o);
    hn_str_add(s, "#environment: true # offer allocators, malloc's tunables and linkers, too: docs/environment.md\n");
    if (!hone_target_post_link("bolt", &bolt, NULL))
        hn_str_addf(s, "#post_link: bolt # lay the linked program out anew by a profile, with %s: docs/post-link.md\n",
                    bolt.command);
    if (o->n_files > 1 && o->family->cut)
        hn_str_add(s, "#per_file: 2 # the hottest files may have controls of their own: docs/per-file.md\n");
}

void hn_draft_add_contracts(hn_str *s, const hn_family *family) {
    const char *const *fast = family->contract[HONE_FP_FAST];
    if (!fast || !*fast) return;
    hn_str_addf(s,
                "\n# Contracts of floating point offered: strict, contract (fused multiply-add), fast (%s). What is\n"
                "# looser than the baseline's needs a tolerance: these two lines, the second in place of the parity "
                "above.\n"
                "#floating_point: fast\n#parity: {rule: rel, tolerance: 1e-5}\n",
                *fast);
}
