/* bench/program/main.c — hone-gpu-bench DESCRIPTION IMAGE [name=value …] [--hone-… …]; hone-gpu-bench --devices [API].
 */
#include "program.h"

#include <string.h>
#include <unistd.h>

/* One line a device, then why a kind has none: "none<TAB>cuda<TAB>reason". */
static int list_devices(const char *api) {
    for (size_t i = 0; hn_gpu_apis[i]; i++) {
        if (!hn_gpu_apis[i]->list) continue; /* no device */
        if (api && strcmp(api, hn_gpu_apis[i]->name) != 0) continue;
        char why[500];
        if (!hn_gpu_apis[i]->list(stdout, why, sizeof why)) printf("none\t%s\t%s\n", hn_gpu_apis[i]->name, why);
    }
    fflush(stdout);
    _exit(0); /* drivers' own clean-up is slow and not needed */
}

static int usage(void) {
    fprintf(stderr,
            "usage: hone-gpu-bench DESCRIPTION IMAGE [name=value …] [--hone-… …]\n"
            "       hone-gpu-bench --devices [cuda|opencl]\n"
            "IMAGE: a cubin, fatbin or PTX file, an OpenCL source or binary; DESCRIPTION: docs/harness-gpu.md\n");
    return 2;
}

#ifdef HN_OLD_GLIBC
/* The start-up code of today's glibc asks for today's glibc. */
int __libc_start_main(int (*main)(int, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end);
__asm__(".globl _start\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov %rdx, %r9\n"
        "    pop %rsi\n"
        "    mov %rsp, %rdx\n"
        "    and $-16, %rsp\n"
        "    push %rax\n"
        "    push %rsp\n"
        "    xor %r8d, %r8d\n"
        "    xor %ecx, %ecx\n"
        "    mov $main, %edi\n"
        "    call __libc_start_main\n"
        "    hlt\n");
#endif

int main(int argc, char **argv) {
    if (argc >= 2 && argc <= 3 && !strcmp(argv[1], "--devices")) return list_devices(argc == 3 ? argv[2] : NULL);
    if (argc < 3 || argv[1][0] == '-' || argv[2][0] == '-') return usage();
    char *description = argv[1], *image = argv[2];
    argv[2] = argv[0];
    hone_bench *b = hone_bench_open(argc - 2, argv + 2);
    hone_gpu *g = hone_gpu_open(b, NULL);
    hn_describe(b, g, description, image);
    hone_gpu_run(g, "latency");
    hone_gpu_close(g);
    return hone_bench_close(b);
}
