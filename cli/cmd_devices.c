/* cmd_devices.c — `hone devices`: the devices that models can be compiled for and run on here. */
#include "devices.h"

#include <stddef.h>
#include <stdlib.h>

static const struct {
    const char *key;
    size_t at;
} rates[] = {
#define RATE(field)                                                                                                    \
    { #field, offsetof(hone_place_rates, field) }
    RATE(f32_flops), RATE(f16_flops), RATE(read_bps), RATE(copy_bps), RATE(put_bps),
    RATE(get_bps),   RATE(put_s),     RATE(get_s),    RATE(launch_s), RATE(wait_s),
#undef RATE
};

/* What was measured of a device, under this driver; else null. */
void cli_place_rates_json(cli_json *j, const hone_place *p) {
    hone_place_rates r;
    cli_json_key(j, "measured");
    if (hone_place_rates_read(p, NULL, &r, NULL)) {
        cli_json_raw(j, "null");
        return;
    }
    cli_json_object(j);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        cli_json_knumber(j, rates[i].key, *(double *)(void *)((char *)&r + rates[i].at));
    cli_json_close(j);
}

char *cli_place_rates_text(const hone_place_rates *r) {
    return cli_format("f32 %.1f GFLOP/s, f16 %.1f (0: not offered); reads %.1f, copies %.1f GB/s; from the host %.1f, "
                      "to it %.1f GB/s; a launch %.1f us, one that is waited for %.1f us",
                      1e-9 * r->f32_flops, 1e-9 * r->f16_flops, 1e-9 * r->read_bps, 1e-9 * r->copy_bps,
                      1e-9 * r->put_bps, 1e-9 * r->get_bps, 1e6 * r->launch_s, 1e6 * r->wait_s);
}

static void put_json(cli *c, const hone_place *p, size_t n, const char *why) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_key(&j, "devices");
    cli_json_array(&j);
    for (size_t i = 0; i < n; i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "place", p[i].name);
        cli_json_ktext(&j, "target", p[i].target);
        cli_json_ktext(&j, "name", p[i].device);
        cli_json_ktext(&j, "arch", p[i].arch);
        cli_json_ktext(&j, "driver", p[i].driver);
        cli_json_ktext(&j, "version", p[i].version);
        cli_json_kcount(&j, "memory_b", p[i].memory_b);
        cli_json_kcount(&j, "alloc_most_b", p[i].alloc_most_b);
        cli_json_kcount(&j, "shared_b", p[i].shared_b);
        cli_json_kcount(&j, "cache_b", p[i].cache_b);
        cli_json_kcount(&j, "units", p[i].n_units);
        cli_json_kcount(&j, "clock_mhz", p[i].clock_mhz);
        cli_json_kcount(&j, "threads", p[i].n_threads);
        cli_json_kbool(&j, "f64", p[i].has_f64);
        cli_json_kbool(&j, "f16", p[i].has_f16);
        cli_json_kbool(&j, "cpu", p[i].is_cpu);
        cli_place_rates_json(&j, &p[i]);
        cli_json_close(&j);
    }
    cli_json_close(&j);
    cli_json_ktext(&j, "missing", why && *why ? why : NULL);
    cli_json_end(&j);
}

static void put_text(const cli *c, const hone_place *p, size_t n, const char *why) {
    for (size_t i = 0; i < n; i++) {
        cli_put(c, stdout, p[i].name, 0);
        printf("  %s\n    %s, driver %s, %s\n", p[i].device, p[i].arch, p[i].driver, p[i].version);
        printf("    %.1f GiB of memory, %u units at %u MHz, blocks of at most %u threads and %.0f KiB\n",
               (double)p[i].memory_b / 1073741824., p[i].n_units, p[i].clock_mhz, p[i].n_threads,
               (double)p[i].shared_b / 1024.);
        printf("    f64 %s, f16 %s\n", p[i].has_f64 ? "yes" : "no", p[i].has_f16 ? "yes" : "in memory alone");
        hone_place_rates r;
        char *text = hone_place_rates_read(&p[i], NULL, &r, NULL) ? NULL : cli_place_rates_text(&r);
        if (text) {
            fputs("    ", stdout);
            cli_put(c, stdout, text, 0);
            putchar('\n');
        } else {
            puts("    not measured: hone doctor --measure");
        }
        free(text);
        printf("    hone compile MODEL --target %s; hone run, bench, verify or profile MODEL --place %s\n", p[i].target,
               p[i].name);
    }
    if (why && *why) printf("%snot here:\n%s\n", n ? "\n" : "", why);
}

static hone_rc run_devices(cli *c, hone_err *err) {
    hone_place *p = NULL;
    size_t n = 0;
    char *why = NULL;
    hone_rc rc = hone_places_find(&p, &n, &why, err);
    if (rc) return rc;
    if (c->json)
        put_json(c, p, n, why);
    else
        put_text(c, p, n, why);
    hone_free(p);
    hone_free(why);
    return HONE_OK;
}

static const cli_option options[] = {{0}};

const cli_command cli_cmd_devices = {
    "devices",
    "Explore",
    "",
    "list the devices that models run on",
    "Lists the devices that OpenCL and CUDA find here, with their memory, units and drivers, and how they are called: "
    "--place takes the name, --target of `hone compile` the target. Drivers are opened when they are asked; nothing of "
    "them needs to be installed to use hone.\n\n"
    "What `hone doctor --measure` found out about a device under its driver is shown, too.",
    options,
    "hone devices\twhat is here\n"
    "hone devices --json\tfor scripts\n"
    "hone verify model.onnx --place opencl:0\tcheck a model on the first OpenCL device\n",
    0,
    0,
    run_devices,
};
