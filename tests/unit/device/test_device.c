/* The device table: what is looked up, and its file. */
#include "base/fs.h"
#include "tap.h"

#include <hone/device.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[400];

static void test_round_trip(void) {
    hone_device d, back;
    hone_device_detect(&d);
    ok(d.vector_b >= 16 && d.n_registers >= 16 && d.n_cores >= 1 && strlen(d.key) == 32,
       "device/detect_finds_something");
    d.f32_flops = 1.25e11;
    d.all_memory_bps = 3e10;
    d.all_cores = 7;
    d.l3_bps = 4e10;
    ok(!hone_device_write(&d, path, NULL) && !hone_device_read(path, &back, NULL), "device/table_is_written_and_read");
    ok(back.f32_flops == d.f32_flops && back.all_memory_bps == d.all_memory_bps && back.l2_b == d.l2_b &&
           back.l3_bps == d.l3_bps && back.all_cores == 7,
       "device/table_keeps_rates");
}

/* Tables of earlier versions have no rate of the third level. */
static void test_without_l3(void) {
    hone_device d, back = {.l3_bps = 1};
    hone_err err = {0};
    char *text = NULL, *row = NULL;
    size_t n = 0;
    hone_device_detect(&d);
    d.l2_bps = 1e11, d.l3_bps = 4e10;
    ok(!hone_device_write(&d, path, NULL) && !hn_read_file(path, &text, &n, &err) && (row = strstr(text, "l3_bps:")),
       "device/l3_is_a_row");
    char *end = row ? strchr(row, '\n') + 1 : NULL;
    if (row) memmove(row, end, strlen(end) + 1);
    ok(row && !hn_write_file(path, text, strlen(text), NULL) && !hone_device_read(path, &back, &err) &&
           back.l3_bps == 0 && back.l2_bps == 1e11,
       "device/table_without_l3_is_read: %s", err.text);
    free(text);
}

/* A process pinned to one core reads the table that was measured on all. */
static void test_affinity(void) {
    hone_device d, pinned;
    cpu_set_t all, one;
    hone_device_detect(&d);
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
    hone_device_detect(&pinned);
    sched_setaffinity(0, sizeof all, &all);
    ok(pinned.n_cores == 1 && !strcmp(pinned.key, d.key), "device/key_does_not_change_with_affinity");
}

static void test_measure_fails(void) {
    hone_device d = {.n_cores = 77};
    hone_err err = {0};
    ok(hone_device_measure("false", &d, &err) == HONE_E_TOOL && d.n_cores == 77 && strstr(err.text, "cannot compile"),
       "device/measure_without_compiler %s", err.text);
}

static const struct {
    const char *name, *text, *want;
    hone_rc rc;
} bad[] = {
    {"other_machine", "isa: generic\nkey: \"0\"\n", "another machine", HONE_E_MISMATCH},
    {"no_table", "- 1\n", "no device table", HONE_E_INPUT},
    {"no_yaml", "key: [\n", "device.yaml:", HONE_E_INPUT},
    {"no_number", "key: \"KEY\"\nf32_flops: fast\n", "fast", HONE_E_INPUT},
    {"no_cores", "key: \"KEY\"\nall_cores: -1\n", "number of cores", HONE_E_INPUT},
    {"lacks_a_rate", "key: \"KEY\"\nf32_flops: 1\n", "lacks 'f64_flops'", HONE_E_INPUT},
    {"negative", "key: \"KEY\"\nf32_flops: -1\n", "never negative", HONE_E_INPUT},
};

static void test_bad_files(void) {
    hone_device d, out;
    hone_device_detect(&d);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[300];
        const char *key = strstr(bad[i].text, "KEY");
        if (key)
            snprintf(text, sizeof text, "%.*s%s%s", (int)(key - bad[i].text), bad[i].text, d.key, key + 3);
        else
            snprintf(text, sizeof text, "%s", bad[i].text);
        hone_err err = {0};
        hn_write_file(path, text, strlen(text), NULL);
        ok(hone_device_read(path, &out, &err) == bad[i].rc && strstr(err.text, bad[i].want), "device/read_%s: %s",
           bad[i].name, err.text);
    }
    remove(path);
    ok(hone_device_read(path, &out, NULL) == HONE_E_NOTFOUND, "device/read_nothing_there");
}

int main(void) {
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/device.yaml", dir ? dir : "/tmp");
    test_round_trip();
    test_bad_files();
    test_without_l3();
    test_affinity();
    test_measure_fails();
    return done_testing();
}
