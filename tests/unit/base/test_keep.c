/* A folder of kept files: what is taken is what was put, and the folder stays within its bound. */
#include "tap.h"

#include "base/fs.h"
#include "base/keep.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/hone-test-keep-XXXXXX";

static char *at(const char *name) { return hn_path_join(root, name); }

static void put(const char *name, size_t n, time_t used) {
    char *from = at("from"), *dir = at("kept"), *data = calloc(1, n + 1), *file;
    memset(data, *name, n);
    hn_write_file(from, data, n, NULL);
    hn_keep_put(dir, name, from, 100);
    hn_keep_trim(dir, 150);
    file = hn_path_join(dir, name);
    utimensat(AT_FDCWD, file, (struct timespec[]){{used, 0}, {used, 0}}, 0);
    free(from), free(dir), free(data), free(file);
}

static bool take(const char *name, const char *want) {
    char *dir = at("kept"), *to = at("to"), *text = NULL;
    size_t n;
    unlink(to);
    bool there = hn_keep_take(dir, name, to);
    bool same = !want || (there && !hn_read_file(to, &text, &n, NULL) && n == strlen(want) && !memcmp(text, want, n));
    free(dir), free(to), free(text);
    return there && same;
}

int main(void) {
    if (!mkdtemp(root)) return 1;
    ok(!take("a", NULL), "keep/nothing_yet");
    put("a", 40, 1000);
    put("b", 40, 2000);
    ok(take("a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), "keep/takes_what_was_put");
    put("c", 40, 3000);
    ok(take("a", NULL) && !take("b", NULL) && take("c", NULL), "keep/least_used_goes");
    put("d", 101, 4000);
    ok(!take("d", NULL) && take("a", NULL), "keep/too_large_is_not_kept");
    put("a", 3, 5000);
    ok(take("a", "aaa"), "keep/the_last_counts");
    char *dir = at("kept"), *damaged = at("kept/c");
    hn_write_file(damaged, "cccccccccccccccccccccccccccccccccccccccccccccccccc", 50, NULL);
    ok(!take("c", NULL) && !hn_exists(damaged), "keep/a_damaged_file_is_not_there");
    hn_write_file(damaged, "c", 1, NULL);
    ok(!take("c", NULL) && !hn_exists(damaged), "keep/a_cut_file_is_not_there");
    free(damaged);
    put("e", 0, 1);
    ok(take("e", ""), "keep/nothing_is_kept_too");
    hn_keep_trim(dir, 0);
    ok(!take("a", NULL) && !take("c", NULL) && hn_is_folder(dir), "keep/trims_to_nothing");
    free(dir);
    char *file = at("file");
    hn_write_file(file, "x", 1, NULL);
    hn_keep_put(file, "a", file, 100);
    hn_keep_trim(file, 0);
    ok(hn_exists(file) && !hn_keep_take(file, "a", file), "keep/no_folder_is_no_cache");
    free(file);
    hn_remove_tree(root, NULL);
    return done_testing();
}
