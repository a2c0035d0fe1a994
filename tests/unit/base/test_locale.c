/* A host that calls setlocale changes nothing. The locale (decimal comma) is built here by localedef; skipped where
 * that or its sources are missing. */
#include "base/arena.h"
#include "base/err.h"
#include "base/locale.h"
#include "base/yaml.h"
#include "tap.h"

#include <unistd.h>

/* A locale of nothing but a decimal comma: quick to build. */
static bool enter_comma(void) {
    const char *tmp = getenv("TMPDIR");
    char dir[300], command[1600];
    snprintf(dir, sizeof dir, "%s/hone-locale-%ld", tmp ? tmp : "/tmp", (long)getpid());
    snprintf(
        command, sizeof command,
        "mkdir -p '%s' && printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n' "
        ">'%s/src' && localedef -c -i '%s/src' -f UTF-8 '%s/xx_XX.UTF-8' >/dev/null 2>&1",
        dir, dir, dir, dir);
    int built = system(command); /* status 1: warnings about the categories that are left out */
    setenv("LOCPATH", dir, 1);
    bool good = built != -1 && setlocale(LC_NUMERIC, "xx_XX.UTF-8");
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) == 0 && good;
}

static void test_all(void) {
    char buf[32];
    snprintf(buf, sizeof buf, "%g", 0.5);
    is_text(buf, "0,5", "locale/host_writes_a_comma");
    is_text(hn_double_text(0.1, buf), "0.1", "locale/double_text");
    hn_str s = {0};
    hn_str_addf(&s, "%g", 2.5);
    is_text(s.text, "2.5", "locale/str_addf");
    hn_str_free(&s);
    hn_arena a = {0};
    is_text(hn_format(&a, "%.1f", 0.5), "0.5", "locale/arena_format");
    hn_arena_free(&a);
    hone_err err;
    hn_fail(&err, HONE_E_INPUT, "%g", 1.5);
    hn_context(&err, "%g of ", 0.5);
    is_text(err.text, "0.5 of 1.5", "locale/err");
    char *end;
    ok(hn_strtod("1.25", &end) == 1.25 && !*end, "locale/strtod");
    hn_yaml *doc = NULL;
    double x = 0, t = 0;
    ok(hn_yaml_parse("[1.5, 2.5 ms]", 13, "t", &doc, NULL) == HONE_OK, "locale/yaml");
    const hn_ynode *list = hn_yaml_root(doc);
    ok(!hn_yaml_double(doc, list->item[0], &x, NULL) && x == 1.5, "locale/yaml_double");
    ok(!hn_yaml_seconds(doc, list->item[1], &t, NULL) && t == 2.5 * 1e-3, "locale/yaml_seconds");
    hn_yaml_free(doc);
    snprintf(buf, sizeof buf, "%g", 0.5);
    is_text(buf, "0,5", "locale/host_still_writes_a_comma");
}

int main(void) {
    if (enter_comma())
        test_all();
    else
        skip(1, "locale/all: localedef cannot build a locale here");
    return done_testing();
}
