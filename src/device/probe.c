/* device/probe.c — measures what the machine can do at most: compiles probe_program.h for its instruction set and runs
 * it in a child under a time limit, so that nothing it does can harm the caller. */
#include "device/device_int.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "proc/proc.h"
#include "proc/temp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPILE_S = 60, RUN_S = 120 };

__asm__(".pushsection .rodata\n"
        ".globl hn_probe_program\n.hidden hn_probe_program\n"
        "hn_probe_program:\n.incbin \"src/device/probe_program.h\"\n.byte 0\n"
        ".popsection\n");
extern const char hn_probe_program[];

static const char *isa_flag(const char *isa) {
    if (!strncmp(isa, "x86-64-v4", 9)) return "-march=x86-64-v4";
    if (!strcmp(isa, "x86-64-v3")) return "-march=x86-64-v3";
    return "-O3";
}

static hone_rc compile(const char *cc, const hone_device *d, const char *source, const char *program, hone_err *err) {
    char width[32], l1d[32], l2[32], l3[32];
    snprintf(width, sizeof width, "-DVB=%u", d->vector_b);
    snprintf(l1d, sizeof l1d, "-DL1D_B=%lluL", (unsigned long long)d->l1d_b);
    snprintf(l2, sizeof l2, "-DL2_B=%lluL", (unsigned long long)d->l2_b);
    snprintf(l3, sizeof l3, "-DL3_B=%lluL", (unsigned long long)d->l3_b);
    const char *argv[] = {cc ? cc : "cc",
                          "-std=gnu11",
                          "-O3",
                          "-ffp-contract=fast",
                          "-w",
                          "-pthread",
                          isa_flag(d->isa),
                          width,
                          l1d,
                          l2,
                          l3,
                          "-o",
                          program,
                          source,
                          NULL};
    hn_proc_spec spec = {.argv = argv, .cpu = -1, .wall_s = COMPILE_S};
    hn_proc_result r;
    hone_rc rc = hn_proc_run(&spec, NULL, &r, err);
    if (rc) return rc;
    if (r.end != HN_PROC_EXITED || r.code)
        rc = hn_fail(err, HONE_E_TOOL, "'%s' cannot compile what measures this machine: %.500s", argv[0], r.err_tail);
    hn_proc_result_free(&r);
    return rc;
}

/* Lines `NAME RATE`. */
static void take_rates(char *text, hone_device *d) {
    char *rest = NULL, name[32];
    double x;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (sscanf(line, "%31s %lf", name, &x) == 2 && x >= 0) hn_device_set(d, name, x);
}

static hone_rc run(const char *program, hone_device *d, hone_err *err) {
    char n[16], how[100];
    snprintf(n, sizeof n, "%u", d->n_cores);
    const char *argv[] = {program, n, NULL};
    hn_proc_spec spec = {.argv = argv, .cpu = -1, .wall_s = RUN_S};
    hn_proc_result r;
    hone_rc rc = hn_proc_run(&spec, NULL, &r, err);
    if (rc) return rc;
    if (r.end != HN_PROC_EXITED || r.code) {
        hn_proc_describe(&spec, &r, how, sizeof how);
        rc = hn_fail(err, HONE_E_TOOL, "'%s', which measures this machine, did not finish: %s%s", program, how,
                     hn_noexec_advice(how));
    } else {
        take_rates(r.out, d);
    }
    hn_proc_result_free(&r);
    return rc;
}

hone_rc hone_device_measure(const char *cc, hone_device *out, hone_err *err) {
    hone_device d;
    hn_temp temp;
    hone_device_detect(&d);
    hone_rc rc = hn_temp_make(NULL, "hone-device-", &temp, err);
    if (rc) return rc;
    char *source = hn_path_join(temp.path, "probe.c"), *program = hn_path_join(temp.path, "probe");
    rc = source && program ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_write_file(source, hn_probe_program, strlen(hn_probe_program), err);
    if (!rc) rc = compile(cc, &d, source, program, err);
    if (!rc) rc = run(program, &d, err);
    hn_temp_free(&temp);
    free(source);
    free(program);
    if (!rc) *out = d;
    return rc;
}
