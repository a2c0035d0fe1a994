/* Where CUDA's tools are looked for: each of the places, for itself. */
#include "base/fs.h"
#include "device/cuda.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[300];

static void put(const char *folder, const char *name, bool program) {
    char dir[700], path[900];
    snprintf(dir, sizeof dir, "%s/%s", root, folder);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    ok(!hn_make_dirs(dir, NULL) && !hn_write_file(path, "x", 1, NULL) && !chmod(path, program ? 0755 : 0644),
       "cuda/made %s/%s", folder, name);
}

static void is(char *found, const char *want, const char *name) {
    char full[700] = "";
    if (want) snprintf(full, sizeof full, "%s/%s", root, want);
    ok(want ? found && !strcmp(found, full) : !found, "cuda/%s: %s", name, found ? found : "none");
    free(found);
}

int main(void) {
    char a[400], b[400], none[400], real[4096];
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/hone-cuda-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(root) || !realpath(root, real)) return 1;
    snprintf(root, sizeof root, "%.299s", real);
    snprintf(a, sizeof a, "%s/a", root), snprintf(b, sizeof b, "%s/b", root);
    snprintf(none, sizeof none, "%s/none", root);
    put("a/bin", "hone-test-one", true), put("a/bin", "hone-test-two", false);
    put("b/bin", "hone-test-one", true), put("b/bin", "hone-test-two", true), put("b/nvvm/bin", "hone-test-mid", true);
    put("a/lib", "libhonetest.so.12", false), put("a/lib", "libhonetest.so.9", false);
    put("b/lib64", "libhonetest2.so", false), put("b/lib64", "libhonetest2.so.7", false);
    put("a/include", "cuda_runtime.h", false);
    setenv("HONE_CUDA", a, 1), setenv("CUDA_HOME", b, 1);
    is(hn_cuda_tool("hone-test-one"), "a/bin/hone-test-one", "first_place_wins");
    is(hn_cuda_tool("hone-test-two"), "b/bin/hone-test-two", "what_cannot_run_is_passed_over");
    is(hn_cuda_tool("hone-test-mid"), "b/nvvm/bin/hone-test-mid", "inner_tools_are_found");
    is(hn_cuda_tool("hone-test-missing"), NULL, "missing_tool");
    is(hn_cuda_library("libhonetest.so"), "a/lib/libhonetest.so.12", "newest_library");
    is(hn_cuda_library("libhonetest2.so"), "b/lib64/libhonetest2.so", "plain_library_first");
    is(hn_cuda_library("libhonetest3.so"), NULL, "missing_library");
    snprintf(real, sizeof real, "%s/a/lib/libhonetest.so.12", root);
    is(hn_cuda_include(real), "a/include", "headers_of_a_library");
    setenv("HONE_CUDA", none, 1), setenv("CUDA_HOME", "", 1);
    is(hn_cuda_tool("hone-test-two"), NULL, "a_missing_folder_and_an_empty_variable");
    snprintf(real, sizeof real, "%s/b/bin", root);
    setenv("PATH", real, 1);
    is(hn_cuda_tool("hone-test-two"), "b/bin/hone-test-two", "path_comes_last");
    ok(strstr(hn_cuda_advice, "HONE_CUDA") != NULL, "cuda/advice_names_the_variable");
    return hn_remove_tree(root, NULL) ? 1 : done_testing();
}
