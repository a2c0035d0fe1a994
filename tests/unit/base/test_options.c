/* Option structs of older and newer headers. */
#include "base/options.h"
#include "tap.h"

#include <string.h>

typedef struct then {
    size_t size;
    int first;
} then;
typedef struct now {
    size_t size;
    int first, second;
    const char *third;
} now;

static const now defaults = {.size = sizeof(now), .first = 1, .second = -1, .third = "usual"};

int main(void) {
    hone_err err = {0};
    now o = defaults, given = {.size = sizeof given, .first = 7, .second = 8, .third = "given"};
    ok(!hn_options_read(&o, sizeof o, NULL, "x", &err) && o.first == 1 && o.second == -1,
       "options/null_is_the_defaults");
    ok(!hn_options_read(&o, sizeof o, &given, "x", &err) && o.first == 7 && o.second == 8 &&
           strcmp(o.third, "given") == 0,
       "options/given_replaces_the_defaults");
    o = defaults;
    struct {
        then old;
        int behind;
    } x = {{.size = offsetof(now, second), .first = 5}, 99};
    ok(!hn_options_read(&o, sizeof o, &x, "x", &err) && o.first == 5 && o.second == -1 && strcmp(o.third, "usual") == 0,
       "options/what_an_older_struct_lacks_keeps_its_default");
    ok(o.size == sizeof o, "options/size_is_then_the_library_s");
    o = defaults;
    given.size = 0;
    ok(hn_options_read(&o, sizeof o, &given, "x", &err) == HONE_E_USAGE && o.first == 1, "options/zero_is_refused");
    is_text(err.text, "the size in hone_x_options is 0; fill the struct by hone_x_defaults()", "options/zero_says_why");
    given.size = sizeof given + 8;
    ok(hn_options_read(&o, sizeof o, &given, "x", &err) == HONE_E_USAGE && o.first == 1, "options/newer_is_refused");
    ok(strstr(err.text, "this library knows") && strstr(err.text, "hone_x_defaults()"), "options/newer_says_why");
    return done_testing();
}
