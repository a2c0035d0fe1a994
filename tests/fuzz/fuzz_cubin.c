/* Fuzzes the readers of device code: any bytes are safe, and counts are whole and not negative. The first byte says
 * which: L nvdisasm's listing, U cuobjdump's resource usage, P what ptxas prints, E a cubin's ELF file, whose first
 * bytes are put in place. */
#include "cubin/cubin.h"

#include <elf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const hn_cubin *c) {
    for (size_t i = 0; i < c->n; i++)
        for (unsigned m = 0; m < HN_N_CODE_METRICS; m++) {
            double v = c->kernel[i].value[m];
            if (!isnan(v) && (!(v >= 0) || v != floor(v))) abort();
        }
}

static void elf(const char *text, size_t n, hn_arena *a) {
    char *image = malloc(n + 1);
    hn_cubin c;
    if (!image) return;
    memcpy(image, text, n);
    if (n >= sizeof(Elf64_Ehdr)) {
        Elf64_Ehdr h;
        memcpy(&h, image, sizeof h);
        memcpy(h.e_ident, ELFMAG, SELFMAG);
        h.e_ident[EI_CLASS] = ELFCLASS64, h.e_ident[EI_DATA] = ELFDATA2LSB;
        h.e_machine = 190, h.e_shentsize = sizeof(Elf64_Shdr);
        memcpy(image, &h, sizeof h);
    }
    if (!hn_cubin_elf(image, n, "fuzz", a, &c, NULL)) check(&c);
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    hn_arena a = {0};
    const char *text = (const char *)data + 1;
    hn_gpu_kernel k[] = {{.name = "small"}, {.name = "_Z5mixedPf"}};
    hn_cubin c = {.sm = 90, .kernel = k, .n = 2};
    hn_sass_text t;
    if (!n) return 0;
    switch (data[0]) {
    case 'L':
        if (hn_sass_read(text, n - 1, &a, &t, NULL)) break;
        hn_sass_count(t.line, t.n, &a, &k[0]);
        if (k[0].value[HN_GPU_INSTRUCTIONS] > (double)t.n) abort();
        break;
    case 'U': hn_usage_read(text, n - 1, &c); break;
    case 'P': hn_ptxas_read(text, n - 1, &c); break;
    default: elf(text, n - 1, &a);
    }
    check(&c);
    hn_arena_free(&a);
    return 0;
}
