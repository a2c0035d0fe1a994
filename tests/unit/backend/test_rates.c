/* What devices do at most: measured on a CUDA driver that is played, whose times are known, and on OpenCL as it is here
 * (PoCL); the file that keeps it. */
#include "backend/gpu/rates.h"

#include "backend/gpu/rt/cache.h"
#include "backend/gpu/rt/driver_cuda.h"
#include "base/fs.h"
#include "tap.h"

#include <math.h>
#include <stdbool.h>

/* What PoCL and its compiler keep to the end of the process. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void) {
    return "leak:libpocl\nleak:libLLVM\nleak:libcuda\n";
}

static char folder[64];

static bool build_played(const char *source, const char *library) {
    char command[600];
    const char *root = getenv("HONE_ROOT");
    snprintf(command, sizeof command,
             "gcc -std=c11 -D_GNU_SOURCE -shared -fPIC -Wl,-soname,%s -o %s/%s %s/tests/helper/fake/%s 2>&1", library,
             folder, library, root ? root : ".", source);
    return !system(command);
}

static bool near(double x, double want) { return fabs(x - want) < 0.02 * want; }

/* There a launch takes 10 us whatever it does, as its buffers are larger than the cache: 64 MiB read in 10 us. */
static void test_played(void) {
    char path[100];
    hnd_err err = {0};
    hone_place_rates r = {0};
    if (!build_played("cuda.c", "libcuda.so.1") || !build_played("nvrtc.c", "libnvrtc.so")) {
        skip(1, "no C compiler for the played driver");
        return;
    }
    snprintf(path, sizeof path, "%s/libnvrtc.so", folder);
    setenv("HONE_NVRTC", path, 1);
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    if (!ok(dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL, "rates/played_driver")) return;
    int rc = hn_rates_measure(&hnd_cuda, 0, &r, &err);
    ok(!rc, "rates/cuda_is_measured: %s", err.text);
    ok(near(r.read_bps, 0x1p28 / 10e-6) && near(r.copy_bps, 0x1p29 / 10e-6), "rates/bandwidth_of_known_times: %g %g",
       r.read_bps, r.copy_bps);
    ok(near(r.f32_flops, 8 * 256. * 256 * 8 * 2 / 10e-6) && near(r.f16_flops, 64 * r.f32_flops),
       "rates/arithmetic_of_known_times: %g %g", r.f32_flops, r.f16_flops);
    ok(r.put_bps > 0 && r.get_bps > 0 && r.put_s > 0 && r.get_s > 0 && r.launch_s > 0 && r.wait_s > 0,
       "rates/copies_and_launches");
    setenv("HONE_NVRTC", "/nonexistent/libnvrtc.so", 1);
    setenv("HONE_DEVICE_CACHE", "", 1);
    hone_place_rates kept = r;
    rc = hn_rates_measure(&hnd_cuda, 7, &r, &err);
    ok(rc == HND_NO_DRIVER && strstr(err.text, "cuda:7") && !memcmp(&kept, &r, sizeof r), "rates/no_such_device: %s",
       err.text);
    unsetenv("HONE_NVRTC");
}

static void test_here(void) {
    hone_place p;
    hone_place_rates r, again;
    hone_err err = {0};
    char path[100];
    if (hone_place_find("opencl", &p, NULL)) {
        skip(1, "no OpenCL device");
        return;
    }
    hone_rc rc = hone_place_measure("opencl:0", &r, &err);
    if (!ok(!rc, "rates/opencl_is_measured: %s", err.text)) return;
    ok(r.f32_flops > 0 && r.read_bps > 0 && r.copy_bps > 0 && r.put_bps > 0 && r.get_bps > 0 && r.launch_s > 0 &&
           r.wait_s > 0 && (r.f16_flops > 0 || !p.has_f16),
       "rates/opencl_has_figures");
    snprintf(path, sizeof path, "%s/here.yaml", folder);
    ok(!hone_place_rates_write(&p, &r, path, &err) && !hone_place_rates_read(&p, path, &again, &err) &&
           near(again.read_bps, r.read_bps) && near(again.launch_s, r.launch_s),
       "rates/are_kept: %s", err.text);
}

static void test_not_measured(void) {
    hone_place_rates r;
    hone_err err = {0};
    ok(hone_place_measure("host", &r, &err) == HONE_E_UNSUPPORTED, "rates/the_host_has_a_table: %s", err.text);
    hone_rc rc = hone_place_measure("shim", &r, &err);
    ok(rc && strstr(err.text, "shim"), "rates/the_shim_has_no_times: %s", err.text);
    ok(hone_place_measure("nowhere", &r, &err) == HONE_E_USAGE, "rates/no_such_place");
}

static hone_rc write_text(const char *path, const char *text) { return hn_write_file(path, text, strlen(text), NULL); }

static void test_file(void) {
    hone_place a = {.device = "A \"quoted\": #1", .arch = "sm_90", .driver = "12.4", .version = "CUDA 12.4"}, b = a;
    hone_place_rates r = {.f32_flops = 6e13, .put_bps = 2.5e10, .wait_s = 8e-6}, other = {.read_bps = 1e12}, got = {0};
    hone_err err = {0};
    char path[100];
    snprintf(path, sizeof path, "%s/devices.yaml", folder);
    ok(hone_place_rates_read(&a, path, &got, &err) == HONE_E_NOTFOUND && strstr(err.text, "12.4"), "rates/none_yet: %s",
       err.text);
    snprintf(b.driver, sizeof b.driver, "13.0");
    ok(!hone_place_rates_write(&a, &r, path, &err) && !hone_place_rates_write(&b, &other, path, &err) &&
           !hone_place_rates_read(&a, path, &got, &err) && near(got.f32_flops, 6e13) && near(got.wait_s, 8e-6),
       "rates/drivers_are_apart: %s", err.text);
    r.f32_flops = 5e13;
    ok(!hone_place_rates_write(&a, &r, path, &err) && !hone_place_rates_read(&a, path, &got, &err) &&
           near(got.f32_flops, 5e13) && !hone_place_rates_read(&b, path, &got, &err) && near(got.read_bps, 1e12),
       "rates/are_replaced");
    ok(!write_text(path, "a: 1\n") && hone_place_rates_read(&a, path, &got, &err) == HONE_E_INPUT, "rates/no_list: %s",
       err.text);
    ok(!write_text(path, "- {device: \"A \\\"quoted\\\": #1\", arch: sm_90, driver: \"12.4\", version: \"CUDA 12.4\", "
                         "f32_flops: -1}\n- 3\n") &&
           hone_place_rates_read(&a, path, &got, &err) == HONE_E_INPUT && strstr(err.text, "f32_flops"),
       "rates/never_negative: %s", err.text);
    ok(!hone_place_rates_write(&b, &other, path, &err) && !hone_place_rates_read(&b, path, &got, &err) &&
           hone_place_rates_read(&a, path, &got, &err) == HONE_E_NOTFOUND,
       "rates/what_is_damaged_is_left_out: %s", err.text);
}

int main(void) {
    char command[100];
    snprintf(folder, sizeof folder, "/tmp/hone-rates-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    setenv("HONE_DEVICE_CACHE", folder, 1);
    test_file();
    test_not_measured();
    test_here();
    test_played();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || done_testing();
}
