/* Kernels whose warps have roles, and kernels whose blocks are in clusters, for machines without the device: targets
 * that have none refuse them with the reason, CUDA C has the gates, the pushes and the barriers, and nvcc compiles it
 * for those that have them without spills where it is installed (HONE_CUDA, else by its name). */
#include "backend/backend.h"
#include "base/err.h"
#include "base/str.h"
#include "tap.h"

#include <hone/device.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct product {
    const char *name, *type, *schedule;
    const char *text[2];    /* that stands in CUDA C */
    const char *archs[2];   /* for which it is compiled */
    const char *refused[2]; /* targets that refuse it */
    const char *why;
} product;
#define ROLES {"HNR_AWAIT(&g", "HNR_ARRIVE_COPIES(&g"}, {"sm_80", "sm_90a"}, {"opencl"}, "producers"
#define CLUSTERS {"HNR_PUSH(", "HNR_CLUSTER_BARRIER();"}, {"sm_90a", "sm_100a"}, {"opencl", "cuda:sm_80"}, "cluster"
static const product products[] = {
    {"tile", "f32", "tile rows=4 cols=4 down=16 across=16 depth=16 stages=3 producers=2", ROLES},
    {"mma", "f16", "mma warps=4 rows=2 cols=8 depth=32 stages=4 producers=4", ROLES},
    {"cluster_tile", "f32", "tile rows=8 cols=8 down=16 across=16 depth=16 stages=3 cluster=4", CLUSTERS},
    {"cluster_mma", "f16", "mma warps=4 rows=2 cols=8 depth=32 stages=4 cluster=2", CLUSTERS},
};

/* The kernel's text behind the language's, or what was wrong. */
static hone_rc printed(const product *p, const hn_dialect *d, hn_str *out, hone_err *err) {
    hn_emit_how how = {.dialect = d, .machine = hn_machine_of(d, &(hone_device){.isa = ""}), .schedule = p->schedule};
    hn_graph *g = NULL;
    hn_arena a = {0};
    hn_kernel_code code;
    hn_str text = {0};
    hn_str_addf(&text,
                "ir 1\ninput %%0 : %s[256, 320] \"x\"\ninput %%1 : %s[320, 512] \"w\"\n%%2 = contract %%0, %%1 {lhs = "
                "[0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %%2 \"y\"\n",
                p->type, p->type);
    hone_rc rc = hn_parse(text.text, text.n, p->name, &g, err);
    if (!rc) rc = hn_emit_kernel(g, 0, "contract", "k0", &how, &a, &code, err);
    if (!rc && !d->backend->add_runtime(out, code.helpers)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) hn_str_add(out, code.text);
    if (g) hn_graph_free(g);
    hn_arena_free(&a);
    hn_str_free(&text);
    return rc;
}

static void compiled(const product *p, const char *arch, const char *text) {
    const char *cuda = getenv("HONE_CUDA");
    char nvcc[300], file[] = "/tmp/roles-XXXXXX.cu", command[1000], line[300];
    int to = mkstemps(file, 3);
    bool said = false, spills = false;
    snprintf(nvcc, sizeof nvcc, "%s%snvcc", cuda ? cuda : "", cuda ? "/bin/" : "");
    snprintf(command, sizeof command, "'%s' --version > /dev/null 2>&1", nvcc);
    if (to < 0 || system(command)) {
        skip(1, "roles/%s_for_%s: no nvcc", p->name, arch);
    } else {
        FILE *f = fdopen(to, "w"), *from;
        if (f) fputs(text, f), fclose(f);
        snprintf(command, sizeof command, "'%s' -arch=%s -cubin -Xptxas -v -o /dev/null '%s' 2>&1", nvcc, arch, file);
        from = popen(command, "r");
        while (from && fgets(line, sizeof line, from)) {
            said |= strstr(line, "0 bytes spill stores, 0 bytes spill loads") != NULL;
            spills |= strstr(line, "spill") && !strstr(line, "0 bytes spill stores, 0 bytes spill loads");
            if (strstr(line, "error")) printf("# %s", line);
        }
        ok(from && !pclose(from) && said && !spills, "roles/%s_for_%s_compiles_without_spills", p->name, arch);
    }
    if (to >= 0) unlink(file);
}

static void printed_for(const product *p, const char *arch) {
    hn_str text = {0};
    hone_err err = {0};
    char target[20];
    snprintf(target, sizeof target, "cuda:%s", arch);
    hone_rc rc = printed(p, hn_dialect_named(target), &text, &err);
    bool has = !rc && text.text && strstr(text.text, p->text[0]) && strstr(text.text, p->text[1]);
    if (ok(has, "roles/%s_for_%s_is_printed", p->name, arch))
        compiled(p, arch, text.text);
    else
        printf("# %s\n", err.text);
    hn_str_free(&text);
}

static void refused_by(const product *p, const char *target) {
    hn_str text = {0};
    hone_err err = {0};
    hone_rc rc = printed(p, hn_dialect_named(target), &text, &err);
    ok(rc != HONE_OK && strstr(err.text, p->why), "roles/%s_is_refused_by_%s", p->name, target);
    printf("# %s\n", err.text);
    hn_str_free(&text);
}

int main(void) {
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        for (size_t k = 0; k < 2; k++) {
            printed_for(&products[i], products[i].archs[k]);
            if (products[i].refused[k]) refused_by(&products[i], products[i].refused[k]);
        }
    return done_testing();
}
