/* Backends and their targets: rows are complete, what their flags let the compiler use is what the processor is asked
 * for, and the device knows the same ones. */
#include "backend/backend.h"
#include "tap.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const features[] = {
#define HN_CPU(rank, asked, linux, flag) flag,
#include "device/cpu.def"
};
enum { N_FEATURES = sizeof features / sizeof *features };

/* Which features do these flags of gcc let it use? Of each it predefines a macro: sse4.1 is __SSE4_1__. */
static bool find_used(const char *flags, bool used[N_FEATURES]) {
    char command[600], line[200], name[40];
    snprintf(command, sizeof command, "gcc %s -dM -E -x c /dev/null", flags);
    FILE *f = popen(command, "r");
    size_t n = 0;
    memset(used, 0, N_FEATURES * sizeof *used);
    for (; f && fgets(line, sizeof line, f); n++)
        for (size_t i = 0; i < N_FEATURES; i++) {
            size_t k = (size_t)snprintf(name, sizeof name, "#define __%s__ ", features[i] ? features[i] : "");
            for (char *p = name + 10; *p; p++) *p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
            used[i] |= features[i] && !strncmp(line, name, k);
        }
    return f && pclose(f) == 0 && n > 0;
}

static void test_flags(const hn_dialect *d, const bool base[N_FEATURES]) {
    char flags[400] = "", asked[40];
    bool used[N_FEATURES];
    for (size_t i = 0; d->flags[i]; i++)
        snprintf(flags + strlen(flags), sizeof flags - strlen(flags), "%s ", d->flags[i]);
    if (!ok(find_used(flags, used), "dialects/%s_flags_are_gcc's", d->name)) return;
    for (size_t i = 0; i < N_FEATURES; i++) {
        if (!used[i] || base[i]) continue;
        snprintf(asked, sizeof asked, "supports(\"%s\")", features[i]);
        ok(strstr(d->offered, asked) != NULL, "dialects/%s_asks_for_%s", d->name, features[i]);
    }
}

static void test_backend(const hn_backend *b) {
    ok(b->version == HN_BACKEND_VERSION && *b->name && *b->summary, "dialects/backend_%s_is_of_this_version", b->name);
    ok(b->reference && b->add_runtime && b->machine && (!b->here || b->here->version == HN_PLACE_VERSION),
       "dialects/backend_%s_is_complete", b->name);
    ok(!b->print || (b->loops && b->spaces && b->sketches && b->sketches[0]), "dialects/backend_%s_takes_nests",
       b->name);
    size_t n = 0;
    while (b->dialects[n] && b->dialects[n]->backend == b && b->dialects[n]->offered && b->dialects[n]->flags &&
           (b->emulated || !b->dialects[n]->emulator))
        n++;
    ok(n && !b->dialects[n], "dialects/backend_%s_has_targets", b->name);
}

int main(void) {
    bool base[N_FEATURES];
    hone_device here;
    const hn_dialect *d;
    bool x86 = find_used("-march=x86-64", base);
    for (size_t i = 0; (d = hn_dialect_at(i)); i++) {
        ok(hn_dialect_named(d->name) == d, "dialects/%s_has_a_name_of_its_own", d->name);
        if (x86 && d->processor && !strcmp(d->processor, "x86-64")) test_flags(d, base);
    }
    for (size_t i = 0; hn_backends[i]; i++) test_backend(hn_backends[i]);
    hone_device_detect(&here);
    d = hn_dialect_named("native");
    ok(d && !strcmp(d->name, here.isa) && d->vector_b == (int)here.vector_b && d->n_registers == (int)here.n_registers,
       "dialects/native_is_the_device's");
    return done_testing();
}
