/* Which compiler, remembered: right when nothing changed, asked again when anything did. */
#include "base/fs.h"
#include "tap.h"

#include <hone/target.h>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hone-quick-XXXXXX", cache[100], copy[100];

/* The remembered file, "" when there is none. */
static const char *remembered(void) {
    static char path[400];
    DIR *d = opendir(cache);
    *path = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, "identity-", 9)) snprintf(path, sizeof path, "%s/%s", cache, e->d_name);
    if (d) closedir(d);
    return path;
}

static void copy_file(const char *from, const char *to, const char *more) {
    char *text;
    size_t n;
    if (hn_read_file(from, &text, &n, NULL)) exit(1);
    text = realloc(text, n + strlen(more) + 1);
    memcpy(text + n, more, strlen(more));
    if (hn_write_file(to, text, n + strlen(more), NULL) || chmod(to, 0755)) exit(1);
    free(text);
}

static bool fits(const char *name, const hone_identity *id) {
    hone_target *t;
    if (hone_target_open(name, cache, &t, NULL)) return false;
    const hone_fingerprint *f = hone_target_fingerprint(t);
    bool same = !strcmp(f->family, id->family) && !strcmp(f->version, id->version) && !strcmp(f->hash, id->hash);
    hone_target_close(t);
    return same;
}

/* What is remembered, with another hash in it: seen again only by those who take it from there. */
static void mark(void) {
    char *text, *hash;
    size_t n;
    if (hn_read_file(remembered(), &text, &n, NULL)) exit(1);
    hash = strchr(strchr(text, '\t') + 1, '\t') + 1;
    memset(hash, '0', 32);
    hn_write_file(remembered(), text, n, NULL);
    free(text);
}

static bool is_marked(const hone_identity *id) { return strspn(id->hash, "0") == 32; }

/* A compiler has one version, whatever name it is called by: gcc prints that name in front. */
static void other_name(const char *gcc) {
    char link[300], own[300];
    hone_identity id[2] = {{.family = ""}, {.family = ""}};
    hone_err err = {0};
    snprintf(link, sizeof link, "%s/cc", dir);
    snprintf(own, sizeof own, "%s/cc-cache", dir);
    bool good = !symlink(gcc, link) && !hone_target_identity(link, own, &id[0], &err) &&
                !hone_target_identity(gcc, own, &id[1], &err);
    ok(good && !strcmp(id[0].version, id[1].version) && strstr(id[0].version, "gcc (") == id[0].version,
       "quick/the_version_does_not_follow_the_name: '%s', '%s' %s", id[0].version, id[1].version, err.text);
}

int main(void) {
    hone_identity id = {.family = ""}, again = {.family = ""};
    hone_err err = {0};
    char *gcc = hn_which("gcc");
    if (!gcc || !mkdtemp(dir)) return 1;
    snprintf(cache, sizeof cache, "%s/cache", dir);
    snprintf(copy, sizeof copy, "%s/mygcc", dir);
    copy_file(gcc, copy, "");
    ok(!hone_target_identity(copy, cache, &id, &err) && fits(copy, &id), "quick/as_the_fingerprint (%s)", err.text);
    ok(*remembered(), "quick/is_remembered");
    ok(!hone_target_identity(copy, cache, &again, &err) && !strcmp(id.hash, again.hash), "quick/same_again");
    mark();
    ok(!hone_target_identity(copy, cache, &again, &err) && is_marked(&again), "quick/is_recalled");
    setenv("COMPILER_PATH", dir, 1);
    ok(!hone_target_identity(copy, cache, &again, &err) && !is_marked(&again), "quick/not_where_parts_are_elsewhere");
    unsetenv("COMPILER_PATH");
    mark();
    copy_file(gcc, copy, "x");
    ok(!hone_target_identity(copy, cache, &again, &err) && !is_marked(&again) && strcmp(id.hash, again.hash) != 0 &&
           fits(copy, &again),
       "quick/a_changed_compiler_is_asked_again");
    hn_write_file(remembered(), "nonsense", 8, NULL);
    ok(!hone_target_identity(copy, cache, &again, &err) && fits(copy, &again), "quick/a_damaged_cache_is_passed_over");
    unlink(remembered());
    hn_write_file(copy, "#!/bin/sh\nexec gcc \"$@\"\n", 24, NULL);
    ok(!hone_target_identity(copy, cache, &again, &err) && fits(copy, &again) && !*remembered(),
       "quick/a_script_is_never_remembered (%s)", err.text);
    ok(hone_target_identity("/no/such/cc", cache, &again, &err) == HONE_E_TOOL, "quick/missing_is_named (%s)",
       err.text);
    ok(hone_target_identity("", cache, &again, &err) == HONE_E_TOOL, "quick/empty_is_named (%s)", err.text);
    other_name(gcc);
    free(gcc);
    hn_remove_tree(dir, NULL);
    return done_testing();
}
