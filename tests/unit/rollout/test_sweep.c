/* Old versions are removed: what is on trial, what answers and what a rollback returns to stays; links are not
 * followed; a removal that was cut off is ended, or taken back; nothing goes while somebody makes a version. */
#include <hone/rollout.h>

#include "tap.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static const char *in_dir(const char *name) {
    static char path[4][160];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
    return path[at];
}
static void write_file(const char *name, const char *text) {
    FILE *f = fopen(in_dir(name), "w");
    if (f) fputs(text, f), fclose(f);
}
static bool is_there(const char *name) { return !access(in_dir(name), F_OK); }

/* learned/NAME: a file of its own, and a link to the user's. */
static void make_version(const char *name) {
    char path[96];
    snprintf(path, sizeof path, "learned/%s", name);
    mkdir(in_dir(path), 0700);
    snprintf(path, sizeof path, "learned/%s/tuned", name);
    write_file(path, name);
    snprintf(path, sizeof path, "learned/%s/model", name);
    if (symlink(in_dir("a.gguf"), in_dir(path))) printf("# no link\n");
    snprintf(path, sizeof path, "learned/%s/linked", name);
    if (symlink(in_dir("own"), in_dir(path))) printf("# no link\n");
}

static int64_t begin(hone_rollouts *r, const char *next) {
    int64_t id = 0;
    hone_err err = {0};
    if (hone_rollouts_begin(r, in_dir("a.gguf"), in_dir(next), false, NULL, &id, &err)) printf("# %s\n", err.text);
    return id;
}
static void conclude(hone_rollouts *r, int64_t id, hone_rollout_verdict v) {
    hone_rollout_decision d = hone_rollout_by_hand(v, "as the test says");
    if (hone_rollouts_conclude(r, id, &d, NULL)) printf("# not concluded\n");
}

static size_t sweep(hone_rollouts *r, bool (*may)(void *, const char *), void *arg) {
    size_t n = 99;
    hone_err err = {0};
    if (hone_rollouts_sweep(r, in_dir("learned"), may, arg, &n, &err)) return printf("# %s\n", err.text), 98;
    return n;
}

static bool never(void *arg, const char *path) {
    bool *asked = arg;
    *asked = !strcmp(path, in_dir("learned/one"));
    return false;
}

static void test_life(hone_rollouts *r) {
    bool asked = false;
    make_version("one");
    int64_t id = begin(r, "learned/one");
    ok(sweep(r, NULL, NULL) == 0 && is_there("learned/one"), "sweep/a_trial_stays");
    conclude(r, id, HONE_ROLLOUT_HOLD);
    ok(sweep(r, NULL, NULL) == 0 && is_there("learned/one"), "sweep/a_held_one_stays");
    conclude(r, id, HONE_ROLLOUT_ROLL_BACK);
    ok(sweep(r, never, &asked) == 0 && asked && is_there("learned/one/tuned"), "sweep/who_may_not_stays");
    ok(sweep(r, NULL, NULL) == 1 && !is_there("learned/one"), "sweep/a_rolled_back_one_goes");
    ok(is_there("a.gguf") && is_there("own/file"), "sweep/links_are_not_followed");
    make_version("two");
    conclude(r, begin(r, "learned/two"), HONE_ROLLOUT_PROMOTE);
    ok(sweep(r, NULL, NULL) == 0 && is_there("learned/two"), "sweep/what_answers_stays");
    make_version("three");
    conclude(r, begin(r, "learned/three"), HONE_ROLLOUT_PROMOTE);
    ok(sweep(r, NULL, NULL) == 0 && is_there("learned/two"), "sweep/what_a_rollback_returns_to_stays");
    make_version("four");
    conclude(r, begin(r, "learned/four"), HONE_ROLLOUT_PROMOTE);
    ok(sweep(r, NULL, NULL) == 1 && !is_there("learned/two") && is_there("learned/three"), "sweep/replaced_twice_goes");
    ok(!hone_rollouts_revert(r, in_dir("a.gguf"), NULL, NULL), "sweep/revert");
    ok(sweep(r, NULL, NULL) == 1 && !is_there("learned/four") && is_there("learned/three"),
       "sweep/what_was_gone_back_from_goes");
}

/* kill -9 between renaming and removing, and a version that was asked for again in between. */
static void test_cut_off(hone_rollouts *r) {
    make_version("five");
    ok(!rename(in_dir("learned/five"), in_dir("learned/.gone-five")) && sweep(r, NULL, NULL) == 1 &&
           !is_there("learned/.gone-five"),
       "sweep/a_removal_that_was_cut_off_is_ended");
    ok(!rename(in_dir("learned/three"), in_dir("learned/.gone-three")) && sweep(r, NULL, NULL) == 0 &&
           is_there("learned/three/tuned"),
       "sweep/what_is_needed_is_given_back");
}

static void test_others(hone_rollouts *r) {
    size_t n = 99;
    make_version("six");
    int fd = open(in_dir("learned"), O_RDONLY | O_DIRECTORY);
    ok(!flock(fd, LOCK_SH) && sweep(r, NULL, NULL) == 0 && is_there("learned/six"), "sweep/waits_for_who_makes_one");
    close(fd);
    ok(symlink(in_dir("own"), in_dir("learned/link")) == 0, "sweep/a_link_in_the_folder");
    write_file("learned/note", "the user's");
    ok(sweep(r, NULL, NULL) == 1 && !is_there("learned/six") && is_there("learned/link") && is_there("learned/note"),
       "sweep/what_is_no_version_stays");
    ok(!hone_rollouts_sweep(r, in_dir("nowhere"), NULL, NULL, &n, NULL) && n == 0, "sweep/no_folder_is_empty");
    make_version("base");
    int64_t id = 0;
    hone_err err = {0};
    ok(!hone_rollouts_begin(r, in_dir("learned/base"), in_dir("b.gguf"), false, NULL, &id, &err), "sweep/begin: %s",
       err.text);
    conclude(r, id, HONE_ROLLOUT_ROLL_BACK);
    ok(sweep(r, NULL, NULL) == 0 && is_there("learned/base"), "sweep/a_base_stays");
}

int main(void) {
    hone_rollouts *r = NULL;
    hone_err err = {0};
    char command[96];
    snprintf(dir, sizeof dir, "/tmp/hone-sweep-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    mkdir(in_dir("learned"), 0700);
    mkdir(in_dir("own"), 0700);
    write_file("own/file", "x");
    write_file("a.gguf", "a");
    write_file("b.gguf", "b");
    ok(!hone_rollouts_open(in_dir("r.db"), true, &r, &err), "sweep/open: %s", err.text);
    if (r) {
        test_life(r);
        test_cut_off(r);
        test_others(r);
    }
    hone_rollouts_close(r);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command)) return 1;
    return done_testing();
}
