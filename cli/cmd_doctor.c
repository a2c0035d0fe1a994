/* cmd_doctor.c — `hone doctor`: what this machine offers to a tuner, what disturbs it, what is missing. */
#include "devices.h"

#include <hone/device.h>
#include <hone/far.h>
#include <hone/machine.h>
#include <hone/process.h>
#include <hone/target.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef enum level { GOOD, NOTE, WARN, MISSING } level; /* MISSING: hone cannot tune without it */
static const char *const level_name[] = {"ok", "note", "warning", "missing"};

typedef struct finding {
    level level;
    const char *subject;
    char *text;
    const char *advice, *package; /* package: the Debian package that provides what is missing */
} finding;
typedef struct findings {
    finding *item;
    size_t n, room;
    hone_machine machine;
    hone_noise noise;
    hone_device device;
    hone_err unread; /* why the device table is not used */
    const char *on;  /* the far machine that is looked at; NULL: this one */
    hone_far_info far;
} findings;

static void note(findings *f, level l, const char *subject, char *text, const char *advice, const char *package) {
    f->item = cli_grow(f->item, &f->room, f->n, sizeof *f->item);
    f->item[f->n++] = (finding){l, subject, text, advice, package};
}

/* --- what is looked at ---------------------------------------------------------------------------------------- */

static void check_system(findings *f) {
    const hone_machine *m = &f->machine;
    note(f, GOOD, "system",
         cli_format("%s%s%s%s", m->os, *m->os ? ", " : "", m->kernel, m->virtual_machine ? ", virtual machine" : ""),
         NULL, NULL);
    if (m->n_usable < 2)
        note(f, WARN, "cores", cli_strdup("one core: builds and hone itself disturb what is measured"),
             "tune where a second core is free, or give the budget more repeats", NULL);
}

static void check_machine(findings *f) {
    const hone_machine *m = &f->machine;
    char a[CLI_TEXT_N], b[CLI_TEXT_N], c[CLI_TEXT_N], d[CLI_TEXT_N];
    note(f, GOOD, "processor", cli_format("%s, %d of %d cores usable", m->cpu, m->n_usable, m->n_cpu), NULL, NULL);
    note(f, GOOD, "memory",
         cli_format("%s; caches %s, %s, %s", cli_text_bytes((double)m->memory_b, a),
                    cli_text_bytes((double)f->device.l1d_b, b), cli_text_bytes((double)f->device.l2_b, c),
                    cli_text_bytes((double)f->device.l3_b, d)),
         NULL, NULL);
    check_system(f);
}

static void check_device(findings *f) {
    const hone_device *d = &f->device;
    note(f, GOOD, "vectors", cli_format("%s: %u registers of %u bytes", d->isa, d->n_registers, d->vector_b), NULL,
         NULL);
    if (!(d->f32_flops > 0)) {
        bool bad = f->unread.rc && f->unread.rc != HONE_E_NOTFOUND;
        note(f, bad ? WARN : NOTE, "peaks", cli_strdup(bad ? f->unread.text : "not measured"),
             "`hone doctor --measure` measures them, for schedules and rooflines of compiled models", NULL);
        return;
    }
    note(
        f, GOOD, "arithmetic",
        cli_format("one core: f32 %.1f, f64 %.1f GFLOP/s, bf16 %.1f, int8 %.1f (0: not offered); %u together: f32 %.1f",
                   1e-9 * d->f32_flops, 1e-9 * d->f64_flops, 1e-9 * d->bf16_flops, 1e-9 * d->i8_ops, d->all_cores,
                   1e-9 * d->all_f32_flops),
        NULL, NULL);
    note(f, GOOD, "bandwidth",
         cli_format("one core reads %.1f, %.1f, %.1f, %.1f GB/s from L1, L2, L3, memory (0: not measured), copies at "
                    "%.1f; together %.1f",
                    1e-9 * d->l1_bps, 1e-9 * d->l2_bps, 1e-9 * d->l3_bps, 1e-9 * d->memory_bps, 1e-9 * d->copy_bps,
                    1e-9 * d->all_memory_bps),
         NULL, NULL);
}

/* With --measure: measures again and writes the device table. */
static hone_rc get_device(const cli *c, findings *f, hone_err *err) {
    if (!cli_given(c, "measure")) {
        if (hone_device_read(NULL, &f->device, &f->unread)) hone_device_detect(&f->device);
        return HONE_OK;
    }
    if (cli_width(stderr)) fprintf(stderr, "measuring what this machine can do ...");
    hone_rc rc = hone_device_measure(cli_text(c, "cc", NULL), &f->device, err);
    if (cli_width(stderr)) fprintf(stderr, "\r%50s\r", "");
    return rc ? rc : hone_device_write(&f->device, NULL, err);
}

/* Why a driver has no device says check_gpus. */
static void measure_one(findings *f, const hone_place *p) {
    hone_place_rates r;
    hone_err why;
    if (cli_width(stderr)) fprintf(stderr, "measuring %s ...", p->name);
    hone_rc rc = hone_place_measure(p->name, &r, &why);
    if (!rc) rc = hone_place_rates_write(p, &r, NULL, &why);
    if (cli_width(stderr)) fprintf(stderr, "\r%50s\r", "");
    if (rc)
        note(f, WARN, "device", cli_strdup(why.text), "the models of this device are compiled with assumed figures",
             NULL);
}

/* With --measure: every device that models run on, its figures kept by device and driver. */
static void measure_devices(findings *f) {
    hone_place *p = NULL;
    size_t n = 0;
    hone_err why;
    if (hone_places_find(&p, &n, NULL, &why)) {
        note(f, WARN, "device", cli_strdup(why.text), "nothing of it was measured", NULL);
        return;
    }
    for (size_t i = 0; i < n; i++) measure_one(f, &p[i]);
    if (!hone_place_find("shim", &(hone_place){0}, NULL) && hone_place_measure("shim", &(hone_place_rates){0}, &why))
        note(f, NOTE, "shim", cli_strdup(why.text), NULL, NULL);
    hone_free(p);
}

/* What is known of the devices by now. */
static void check_devices(findings *f) {
    hone_place *p = NULL;
    size_t n = 0;
    if (hone_places_find(&p, &n, NULL, NULL)) return;
    for (size_t i = 0; i < n; i++) {
        hone_place_rates r;
        bool known = !hone_place_rates_read(&p[i], NULL, &r, NULL);
        char *text = known ? cli_place_rates_text(&r) : NULL;
        note(f, known ? GOOD : NOTE, "device", cli_format("%s: %s", p[i].name, known ? text : "not measured"),
             known ? NULL : "`hone doctor --measure` measures it, for models that are split between it and the host",
             NULL);
        free(text);
    }
    hone_free(p);
}

static void check_clock(findings *f) {
    const hone_machine *m = &f->machine;
    if (*m->governor && strcmp(m->governor, "performance") != 0)
        note(f, WARN, "governor", cli_format("'%s' changes the clock while a program runs", m->governor),
             "`cpupower frequency-set -g performance` (as root) while tuning", NULL);
    else
        note(f, GOOD, "governor", cli_format("%s", *m->governor ? m->governor : "not visible here"), NULL, NULL);
    if (m->turbo == 1)
        note(f, WARN, "turbo", cli_strdup("on: the clock depends on temperature and on the other cores"),
             "switch it off while tuning: write 1 to /sys/devices/system/cpu/intel_pstate/no_turbo, or 0 to "
             "/sys/devices/system/cpu/cpufreq/boost (as root)",
             NULL);
    else
        note(f, GOOD, "turbo", cli_strdup(m->turbo == 0 ? "off" : "not visible here"), NULL, NULL);
    if (m->smt == 1)
        note(f, NOTE, "hyper-threads", cli_strdup("on: work on the sibling of the measuring core shows up as noise"),
             "keep the sibling idle, or write off to /sys/devices/system/cpu/smt/control (as root)", NULL);
    if (m->virtual_machine)
        note(f, NOTE, "virtual machine", cli_strdup("its host's other guests may show up as noise"),
             "measure against a concurrent baseline, as hone does, and distrust gains below the noise", NULL);
}

static void check_counters(findings *f) {
    const hone_machine *m = &f->machine;
    if (m->perf_instructions)
        note(f, GOOD, "instructions", cli_strdup("counted by the processor (perf)"), NULL, NULL);
    else if (m->callgrind)
        note(f, NOTE, "instructions", cli_strdup("counted by callgrind, some 50 times slower than the program"),
             "where a processor counter exists: `sysctl kernel.perf_event_paranoid=2` (as root) allows its use", NULL);
    else
        note(f, NOTE, "instructions", cli_strdup("cannot be counted: neither a processor counter nor callgrind"),
             "install valgrind to use instructions as an objective", "valgrind");
    note(f, m->rapl ? GOOD : NOTE, "energy", cli_strdup(m->rapl ? "measured by RAPL" : "cannot be measured here"),
         m->rapl ? NULL : "needed only for energy as an objective; where the processor has RAPL, root may read it",
         NULL);
    note(f, GOOD, "limits", cli_strdup(m->cgroup ? "by cgroup and rlimit" : "by rlimit (no writable cgroup)"), NULL,
         NULL);
}

static void check_profiles(findings *f) {
    hone_post_link_tool tool;
    hone_err why;
    if (hone_target_post_link("bolt", &tool, &why))
        note(f, NOTE, "bolt", cli_strdup(why.text),
             "`post_link: bolt` of a workload lays a linked program out by a profile of its branches", "bolt-19");
    else
        note(f, GOOD, "bolt", cli_format("%s, version %s, by instrumentation", tool.command, tool.version), NULL, NULL);
    bool recorded = hone_machine_records_branches();
    note(f, recorded ? GOOD : NOTE, "branch records",
         cli_strdup(recorded ? "kept by the processor (perf); hone's profiles do not use them"
                             : "none: profiles are made by instrumented programs, as hone makes them"),
         recorded ? NULL : "a processor with branch records, not in a virtual machine, and perf's permission", NULL);
}

/* One line for each clang: which opt serves it, or why none does. */
static void check_passes(findings *f) {
    char **name = NULL;
    size_t n = 0;
    if (hone_family_installed("clang", &name, &n, NULL)) return;
    for (size_t i = 0; i < n; i++) {
        hone_post_link_tool tool;
        hone_err why = {0};
        if (hone_target_pass_tool(name[i], &tool, &why))
            note(f, NOTE, "pass order", cli_format("not offered for %s: %s", name[i], why.text),
                 "`controls: {passes: true}` of a workload searches the order of LLVM's passes, by opt", NULL);
        else
            note(f, GOOD, "pass order", cli_format("%s by %s, version %s", name[i], tool.command, tool.version), NULL,
                 NULL);
    }
    hone_free(name);
}

static void check_confinement(findings *f) {
    hone_confinement c;
    hone_process_confinement(&c);
    if (f->on) {
        c = (hone_confinement){.writes = f->far.confines_writes, .network = f->far.confines_network};
        memcpy(c.by, f->far.confined_by, sizeof c.by);
    }
    if (!c.writes)
        note(f, NOTE, "confinement",
             cli_format("builds and runs may write wherever you may%s",
                        c.network ? ", but have no network" : ", and use the network"),
             "Landlock (Linux 5.13, named in /sys/kernel/security/lsm) or user namespaces (sysctl "
             "user.max_user_namespaces) confine them",
             NULL);
    else
        note(f, GOOD, "confinement",
             cli_format("builds and runs write in their private folder alone%s, by %s",
                        c.network ? " and have no network" : "; the network is theirs", c.by),
             NULL, NULL);
}

/* Compilers of device code are found elsewhere, too; they alone do not make a machine that can build programs. */
static bool in_path(const char *command) {
    const char *path = getenv("PATH");
    for (const char *at = path; at && *at; at += strcspn(at, ":"), at += *at == ':') {
        char *file = cli_format("%.*s/%s", (int)strcspn(at, ":"), at, command);
        bool found = access(file, X_OK) == 0;
        free(file);
        if (found) return true;
    }
    return false;
}

/* Compilers of code for processors are few; all others are for GPUs. */
static void missing(findings *f, const char *name) {
    static const char *const here[] = {"gcc", "clang", "rustc"};
    bool known = false;
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) known |= strcmp(name, here[i]) == 0;
    if (known)
        note(f, NOTE, name, cli_strdup("not installed"), "a second compiler often gains more than any flag",
             strcmp(name, "gcc") == 0 ? "gcc" : "clang");
    else
        note(f, NOTE, name, cli_strdup("not installed"),
             "for GPUs alone: set HONE_CUDA to a CUDA toolkit; OpenCL needs a driver, such as pocl-opencl-icd", NULL);
}

static void check_compilers(findings *f) {
    hone_family_info family;
    size_t total = 0;
    for (size_t i = 0; hone_family_at(i, &family); i++) {
        char **names = NULL, *text = NULL;
        size_t n = 0, size = 0;
        if (hone_family_installed(family.name, &names, &n, NULL)) continue;
        FILE *mem = open_memstream(&text, &size);
        for (size_t k = 0; mem && k < n; k++) fprintf(mem, "%s%s", k ? ", " : "", names[k]);
        if (mem) fclose(mem);
        for (size_t k = 0; k < n; k++) total += in_path(names[k]);
        if (n)
            note(f, GOOD, family.name, text ? text : cli_strdup(""), NULL, NULL);
        else {
            free(text);
            missing(f, family.name);
        }
        hone_free(names);
    }
    if (!total) note(f, MISSING, "compiler", cli_strdup("none found in PATH"), "install gcc or clang", "gcc");
}

/* Devices of CUDA and OpenCL with their drivers; a kind without one is worth no more than a note. */
static void check_gpus(findings *f) {
    hone_device_gpu *list = NULL;
    size_t n = 0;
    hone_err why;
    if (hone_device_gpus(&list, &n, &why)) {
        note(f, NOTE, "gpu", cli_strdup(why.text), "`hone-gpu-bench --devices` asks the drivers", NULL);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const hone_device_gpu *x = &list[i];
        bool cuda = !strcmp(x->api, "cuda");
        const char *kind = cuda ? "cuda" : "opencl";
        if (x->index >= 0)
            note(f, GOOD, kind,
                 cli_format("%s:%d: %s, %s, driver %s, %s", kind, x->index, x->name, x->arch,
                            *x->driver ? x->driver : "unknown", x->version),
                 NULL, NULL);
        else
            note(f, NOTE, kind, cli_strdup(x->name),
                 cuda ? "needed only to time CUDA kernels: NVIDIA's driver brings the library"
                      : "needed only to time OpenCL kernels: a loader and a driver, such as these",
                 cuda ? NULL : "ocl-icd-libopencl1 pocl-opencl-icd");
    }
    hone_free(list);
}

static void check_noise(findings *f) {
    const hone_noise *n = &f->noise;
    bool loud = n->rel_mad > 0.01 || n->rel_p95 > 0.05;
    note(f, loud ? WARN : GOOD, "noise",
         cli_format("%.2f %% (median deviation), 95th percentile %.1f %% above the median, on core %d",
                    100 * n->rel_mad, 100 * n->rel_p95, n->cpu),
         loud ? "gains smaller than this are hard to prove: close other programs, fix the clock, use more repeats"
              : NULL,
         NULL);
    if (n->drift > 0.01)
        note(f, WARN, "drift", cli_format("the machine changed its speed by %.1f %% within seconds", 100 * n->drift),
             "let it come to rest; old measurements must not be compared with new ones", NULL);
    if (n->steal > 0.01)
        note(f, WARN, "steal", cli_format("%.1f %% of the time went to other guests of the host", 100 * n->steal),
             "tune at a quieter hour or on a machine of your own", NULL);
    if (n->load1 > 0.5)
        note(f, WARN, "load", cli_format("%.1f programs were running on average in the last minute", n->load1),
             "stop other work while tuning", NULL);
}

static void check_disk(findings *f) {
    struct statvfs fs;
    char a[CLI_TEXT_N];
    if (statvfs(".", &fs)) return;
    double free_b = (double)fs.f_bavail * (double)fs.f_frsize;
    bool low = free_b < 256e6;
    note(f, low ? WARN : GOOD, "disk", cli_format("%s free in this folder", cli_text_bytes(free_b, a)),
         low ? "make room: builds and the record need it" : NULL, NULL);
}

/* --- how it is shown ------------------------------------------------------------------------------------------ */

static void machine_json(cli_json *j, const hone_machine *m) {
    cli_json_object(j);
    cli_json_ktext(j, "cpu", m->cpu);
    cli_json_ktext(j, "os", m->os);
    cli_json_ktext(j, "kernel", m->kernel);
    cli_json_ktext(j, "governor", *m->governor ? m->governor : NULL);
    cli_json_knumber(j, "cores", m->n_cpu);
    cli_json_knumber(j, "cores_usable", m->n_usable);
    cli_json_kcount(j, "memory_b", m->memory_b);
    cli_json_kraw(j, "turbo", m->turbo < 0 ? "null" : m->turbo ? "true" : "false");
    cli_json_kraw(j, "smt", m->smt < 0 ? "null" : m->smt ? "true" : "false");
    cli_json_kbool(j, "virtual_machine", m->virtual_machine);
    cli_json_kbool(j, "perf_instructions", m->perf_instructions);
    cli_json_kbool(j, "callgrind", m->callgrind);
    cli_json_kbool(j, "rapl", m->rapl);
    cli_json_kbool(j, "cgroup", m->cgroup);
    cli_json_ktext(j, "hash", m->hash);
    cli_json_close(j);
}

static void device_json(cli_json *j, const hone_device *d) {
    cli_json_object(j);
    cli_json_ktext(j, "isa", d->isa);
    cli_json_kcount(j, "vector_b", d->vector_b);
    cli_json_kcount(j, "registers", d->n_registers);
    cli_json_kcount(j, "l1d_b", d->l1d_b);
    cli_json_kcount(j, "l2_b", d->l2_b);
    cli_json_kcount(j, "l3_b", d->l3_b);
    cli_json_knumber(j, "f32_flops", d->f32_flops);
    cli_json_knumber(j, "f64_flops", d->f64_flops);
    cli_json_knumber(j, "bf16_flops", d->bf16_flops);
    cli_json_knumber(j, "i8_ops", d->i8_ops);
    cli_json_knumber(j, "l1_bps", d->l1_bps);
    cli_json_knumber(j, "l2_bps", d->l2_bps);
    cli_json_knumber(j, "l3_bps", d->l3_bps);
    cli_json_knumber(j, "memory_bps", d->memory_bps);
    cli_json_knumber(j, "copy_bps", d->copy_bps);
    cli_json_knumber(j, "all_f32_flops", d->all_f32_flops);
    cli_json_knumber(j, "all_memory_bps", d->all_memory_bps);
    cli_json_kcount(j, "all_cores", d->all_cores);
    cli_json_close(j);
}

static void noise_json(cli_json *j, const hone_noise *n) {
    cli_json_object(j);
    cli_json_knumber(j, "rel_mad", n->rel_mad);
    cli_json_knumber(j, "rel_p95", n->rel_p95);
    cli_json_knumber(j, "drift", n->drift);
    cli_json_knumber(j, "steal", n->steal);
    cli_json_knumber(j, "load1", n->load1);
    cli_json_knumber(j, "clock_s", n->clock_s);
    cli_json_knumber(j, "cpu", n->cpu);
    cli_json_close(j);
}

static void print_json(cli *c, const findings *f) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_key(&j, "machine");
    machine_json(&j, &f->machine);
    if (f->on) {
        cli_json_ktext(&j, "on", f->on);
        cli_json_ktext(&j, "gpus", f->far.gpus);
    } else {
        cli_json_key(&j, "device");
        device_json(&j, &f->device);
        cli_json_key(&j, "noise");
        noise_json(&j, &f->noise);
    }
    cli_json_key(&j, "findings");
    cli_json_array(&j);
    for (size_t i = 0; i < f->n; i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "level", level_name[f->item[i].level]);
        cli_json_ktext(&j, "subject", f->item[i].subject);
        cli_json_ktext(&j, "text", f->item[i].text);
        cli_json_ktext(&j, "advice", f->item[i].advice);
        cli_json_ktext(&j, "package", f->item[i].package);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static bool named_before(const findings *f, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (f->item[k].package && strcmp(f->item[k].package, f->item[i].package) == 0) return true;
    return false;
}

static void print_text(const cli *c, const findings *f) {
    static const cli_ink ink[] = {CLI_GREEN, CLI_PLAIN, CLI_YELLOW, CLI_RED};
    int width = cli_width(stdout) ? cli_width(stdout) : 100;
    for (size_t i = 0; i < f->n; i++) {
        const finding *x = &f->item[i];
        printf("%s%-8s%s %-16s", cli_paint(c->color_out, ink[x->level]), level_name[x->level],
               cli_paint(c->color_out, CLI_PLAIN), x->subject);
        putchar(' ');
        cli_put(c, stdout, x->text, 0);
        putchar('\n');
        if (x->advice) cli_wrap(stdout, x->advice, 26, width < 50 ? 50 : width, c->color_out);
    }
    const char *gap = "\nto install what is missing: apt-get install ";
    for (size_t i = 0; i < f->n; i++)
        if (f->item[i].package && !named_before(f, i)) printf("%s%s", gap, f->item[i].package), gap = " ";
    if (*gap == ' ') putchar('\n');
}

/* What a machine of measure.on has. */
static hone_rc check_far(findings *f, hone_err *err) {
    char a[CLI_TEXT_N];
    hone_rc rc = hone_far_ask(f->on, &f->far, err);
    if (rc) return rc;
    f->machine = f->far.machine;
    const hone_machine *m = &f->machine;
    note(f, GOOD, "processor", cli_format("%s, %d of %d cores usable", m->cpu, m->n_usable, m->n_cpu), NULL, NULL);
    note(f, GOOD, "memory", cli_text_bytes((double)m->memory_b, a) ? cli_strdup(a) : NULL, NULL, NULL);
    check_system(f);
    note(f, *f->far.gpus ? GOOD : NOTE, "GPUs",
         cli_strdup(*f->far.gpus ? f->far.gpus : "none that its kernel tells of"), NULL, NULL);
    check_clock(f);
    check_counters(f);
    check_confinement(f);
    bool low = f->far.free_b < 256e6;
    note(f, low ? WARN : GOOD, "disk", cli_format("%s free in hone's folder", cli_text_bytes((double)f->far.free_b, a)),
         low ? "make room: programs and their inputs are copied there" : NULL, NULL);
    return HONE_OK;
}

static hone_rc run_doctor(cli *c, hone_err *err) {
    findings f = {.on = cli_text(c, "on", NULL)};
    bool missing = false;
    if (f.on) {
        hone_rc rc = check_far(&f, err);
        if (!rc && c->json)
            print_json(c, &f);
        else if (!rc)
            print_text(c, &f);
        for (size_t i = 0; i < f.n; i++) free(f.item[i].text);
        free(f.item);
        return rc;
    }
    hone_machine_get(&f.machine);
    hone_rc rc = get_device(c, &f, err);
    if (rc) return rc;
    if (cli_width(stderr)) fprintf(stderr, "measuring the noise of this machine ...");
    rc = hone_noise_measure(cli_seconds(c, "seconds", 3), &f.noise, err);
    if (cli_width(stderr)) fprintf(stderr, "\r%50s\r", "");
    if (rc) return rc;
    check_machine(&f);
    check_device(&f);
    check_compilers(&f);
    check_gpus(&f);
    if (cli_given(c, "measure")) measure_devices(&f);
    check_devices(&f);
    check_clock(&f);
    check_noise(&f);
    check_counters(&f);
    check_profiles(&f);
    check_passes(&f);
    check_confinement(&f);
    check_disk(&f);
    if (c->json)
        print_json(c, &f);
    else
        print_text(c, &f);
    for (size_t i = 0; i < f.n; i++) {
        missing |= f.item[i].level == MISSING;
        free(f.item[i].text);
    }
    free(f.item);
    c->exit_code = missing ? hone_rc_exit(HONE_E_TOOL) : 0;
    return HONE_OK;
}

static const cli_option options[] = {
    {"seconds", 0, CLI_SECONDS, "TIME", 0, 0, "how long to measure the noise (default 3s)"},
    {"on", 0, CLI_TEXT, "URL", 0, 0, "look at the machine ssh://USER@HOST:PORT/FOLDER of `measure.on` instead"},
    {"measure", 0, CLI_FLAG, NULL, 0, 0,
     "measure peak arithmetic (f32, f64, pairs of bf16, bytes) and bandwidth of processor and devices, too, and keep "
     "them"},
    {"cc", 0, CLI_TEXT, "CC", 0, 0, "the compiler of the programs that --measure runs (default cc)"},
    {0},
};

const cli_command cli_cmd_doctor = {
    "doctor",
    "Check",
    "",
    "show what this machine offers, what disturbs measurements, what is missing",
    "Looks at what a tuner needs: compilers, counters, limits, free disk; at what disturbs measurements: clock "
    "governor, "
    "turbo, hyper-threads, load, time stolen by a host; and measures the noise by timing one fixed computation again "
    "and "
    "again. Exits with 0 unless something is missing that hone cannot do without.\n\n"
    "--measure takes some seconds more and writes the device table (device.yaml in $XDG_CACHE_HOME/hone, or "
    "~/.cache/hone): "
    "peak "
    "arithmetic of one core and of all, bandwidth of caches and memory. Commands that compare with a peak read it. "
    "Devices of OpenCL and CUDA are measured, too: arithmetic, bandwidth of their memory, copies from and to the "
    "host's, what a launch costs; kept by device and driver in devices.yaml beside it. The shim has no times of its "
    "own.",
    options,
    "hone doctor\tbefore the first tuning on a machine\n"
    "hone doctor --seconds 30 --json\ta longer look, as data\n"
    "hone doctor --on ssh://me@gpu1\twhat another machine offers to programs that run there\n",
    0,
    0,
    run_doctor,
};
