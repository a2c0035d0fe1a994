/* cubin/elf.c — a cubin as an ELF file: which kernels there are, where their code lies, their launch bounds.
 *
 * Every offset is checked against the file's size, so that any bytes are safe. Attributes of a kernel (.nv.info.NAME)
 * are records of a format, an attribute and a value, as nvdisasm shows them: format 1 has no value, 2 and 3 hold it in
 * place, 4 gives its size. Registers and stack stand in such records of the whole file (.nv.info), which name a symbol;
 * shared memory and constants are as large as the kernel's sections of them. `cuobjdump -elf` shows all of it. */
#include "base/err.h"
#include "cubin/cubin.h"

#include <elf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_CUDA = 190,
    ABI_WIDE = 8,       /* from this ABI version on the architecture stands in bits 8 to 15 of the flags */
    OTHER_ENTRY = 0x10, /* in st_other: a kernel */
    ATTR_MAX_THREADS = 0x05,
    ATTR_REQNTID = 0x10,
    ATTR_MIN_STACK_SIZE = 0x12,
    ATTR_REGCOUNT = 0x2f,
    ATTR_NUM_BARRIERS = 0x4c,
    KERNELS_MOST = 100000
};

typedef struct image {
    const char *data;
    size_t n;
    Elf64_Ehdr h;
} image;

static bool within(const image *e, uint64_t at, uint64_t n) { return at <= e->n && n <= e->n - at; }

static bool section(const image *e, uint64_t i, Elf64_Shdr *out) {
    if (i >= e->h.e_shnum) return false;
    memcpy(out, e->data + e->h.e_shoff + i * sizeof *out, sizeof *out);
    return out->sh_type == SHT_NOBITS || within(e, out->sh_offset, out->sh_size);
}

/* A text of a string table, "" when it is none. */
static const char *string_at(const image *e, uint64_t table, uint64_t offset) {
    Elf64_Shdr s;
    if (!section(e, table, &s) || s.sh_type != SHT_STRTAB || offset >= s.sh_size) return "";
    const char *p = e->data + s.sh_offset + offset;
    return memchr(p, 0, s.sh_size - offset) ? p : "";
}

static const char *name_of(const image *e, const Elf64_Shdr *s) { return string_at(e, e->h.e_shstrndx, s->sh_name); }

static bool open_image(image *e, const char *data, size_t n) {
    *e = (image){.data = data, .n = n};
    if (n < sizeof e->h) return false;
    memcpy(&e->h, data, sizeof e->h);
    if (memcmp(e->h.e_ident, ELFMAG, SELFMAG) || e->h.e_ident[EI_CLASS] != ELFCLASS64) return false;
    if (e->h.e_ident[EI_DATA] != ELFDATA2LSB || e->h.e_machine != MACHINE_CUDA) return false;
    return e->h.e_shentsize == sizeof(Elf64_Shdr) &&
           within(e, e->h.e_shoff, (uint64_t)e->h.e_shnum * sizeof(Elf64_Shdr));
}

bool hn_is_cubin(const char *data, size_t n) {
    image e;
    return open_image(&e, data, n);
}

static hn_gpu_kernel *find(hn_cubin *c, const char *name) {
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->kernel[i].name, name)) return &c->kernel[i];
    return NULL;
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */

static void read_symbols(const image *e, const Elf64_Shdr *table, hn_cubin *io) {
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym y;
        memcpy(&y, e->data + table->sh_offset + at, sizeof y);
        if (ELF64_ST_TYPE(y.st_info) != STT_FUNC || !(y.st_other & OTHER_ENTRY)) continue;
        hn_gpu_kernel *k = find(io, string_at(e, table->sh_link, y.st_name));
        if (k) k->entry = true;
    }
}

static uint32_t word_at(const char *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* x * y * z threads; 0 when that is no block. */
static unsigned product(const char *p) {
    uint64_t n = 1;
    for (size_t i = 0; i < 3; i++) {
        uint32_t v = word_at(p + 4 * i);
        if (!v || v > 65536) return 0;
        n *= v;
    }
    return n <= 1024 ? (unsigned)n : 0;
}

static void read_attributes(const char *p, size_t n, hn_gpu_kernel *k) {
    for (size_t at = 0; at + 4 <= n;) {
        unsigned format = (unsigned char)p[at], what = (unsigned char)p[at + 1];
        size_t size = (unsigned char)p[at + 2] | (size_t)(unsigned char)p[at + 3] << 8;
        if (what == ATTR_NUM_BARRIERS && format == 2) k->barriers = (unsigned char)p[at + 2];
        at += 4;
        if (format != 4) continue;
        if (size > n - at) return;
        bool bounds = what == ATTR_REQNTID || (what == ATTR_MAX_THREADS && !k->threads);
        if (bounds && size >= 12 && product(p + at)) k->threads = product(p + at);
        at += size;
    }
}

/* --- registers, stack, shared memory, constants ------------------------------------------------------------------- */

/* The kernel whose function symbol i of a table is; NULL: none of ours. */
static hn_gpu_kernel *kernel_of(const image *e, uint64_t table, uint32_t i, hn_cubin *c) {
    Elf64_Shdr s;
    Elf64_Sym y;
    if (!section(e, table, &s) || s.sh_type != SHT_SYMTAB || s.sh_size / sizeof y <= i) return NULL;
    memcpy(&y, e->data + s.sh_offset + i * sizeof y, sizeof y);
    return find(c, string_at(e, s.sh_link, y.st_name));
}

static void read_file_attributes(const image *e, const Elf64_Shdr *s, hn_cubin *c) {
    const char *p = e->data + s->sh_offset;
    for (size_t at = 0; at + 4 <= s->sh_size;) {
        unsigned format = (unsigned char)p[at], what = (unsigned char)p[at + 1];
        size_t size = (unsigned char)p[at + 2] | (size_t)(unsigned char)p[at + 3] << 8;
        at += 4;
        if (format != 4) continue;
        if (size > s->sh_size - at) return;
        hn_gpu_kernel *k = size == 8 ? kernel_of(e, s->sh_link, word_at(p + at), c) : NULL;
        if (k && what == ATTR_REGCOUNT) k->value[HN_GPU_REGISTERS] = word_at(p + at + 4);
        if (k && what == ATTR_MIN_STACK_SIZE) k->value[HN_GPU_STACK] = word_at(p + at + 4);
        at += size;
    }
}

/* ".nv.shared.NAME", ".nv.constant0.NAME": whose it is, and which figure it adds to. */
static hn_gpu_kernel *sized_by(const char *name, hn_cubin *c, hn_code_metric *m) {
    static const char shared[] = ".nv.shared.", local[] = ".nv.local.", constant[] = ".nv.constant";
    *m = !strncmp(name, shared, sizeof shared - 1) ? HN_GPU_SHARED : HN_GPU_LOCAL;
    if (*m == HN_GPU_SHARED) return find(c, name + sizeof shared - 1);
    if (!strncmp(name, local, sizeof local - 1)) return find(c, name + sizeof local - 1);
    if (strncmp(name, constant, sizeof constant - 1)) return NULL;
    *m = HN_GPU_CONSTANTS;
    const char *dot = strchr(name + sizeof constant - 1, '.');
    return dot ? find(c, dot + 1) : NULL;
}

/* False, and nothing is known, unless the file says all of it, of every kernel. */
static bool read_resources(const image *e, hn_cubin *c) {
    static const hn_code_metric figure[] = {HN_GPU_REGISTERS, HN_GPU_STACK, HN_GPU_SHARED, HN_GPU_LOCAL,
                                            HN_GPU_CONSTANTS};
    Elf64_Shdr s;
    bool all = c->n > 0;
    for (uint64_t i = 0; i < e->h.e_shnum; i++)
        if (section(e, i, &s) && s.sh_type != SHT_NOBITS && !strcmp(name_of(e, &s), ".nv.info"))
            read_file_attributes(e, &s, c);
    for (size_t k = 0; k < c->n; k++) {
        double *v = c->kernel[k].value;
        all &= !isnan(v[HN_GPU_REGISTERS]) && !isnan(v[HN_GPU_STACK]);
        v[HN_GPU_SHARED] = v[HN_GPU_LOCAL] = v[HN_GPU_CONSTANTS] = 0;
    }
    for (uint64_t i = 0; i < e->h.e_shnum; i++) {
        hn_code_metric m;
        hn_gpu_kernel *k = section(e, i, &s) ? sized_by(name_of(e, &s), c, &m) : NULL;
        if (k) k->value[m] += (double)s.sh_size;
    }
    for (size_t k = 0; k < c->n; k++) {
        double *v = c->kernel[k].value;
        v[HN_GPU_SHARED] = hn_shared_own(c->sm, v[HN_GPU_SHARED]);
        for (size_t i = 0; !all && i < sizeof figure / sizeof *figure; i++) v[figure[i]] = NAN;
    }
    return all;
}

static bool add_kernel(const image *e, const Elf64_Shdr *s, hn_arena *a, hn_cubin *io) {
    static const char text[] = ".text.";
    const char *name = name_of(e, s);
    if (strncmp(name, text, sizeof text - 1) || s->sh_type != SHT_PROGBITS || find(io, name + sizeof text - 1))
        return true;
    hn_gpu_kernel *k = &io->kernel[io->n];
    *k = (hn_gpu_kernel){.name = hn_strdup(a, name + sizeof text - 1), .code_at = s->sh_offset};
    for (size_t m = 0; m < HN_N_CODE_METRICS; m++) k->value[m] = NAN;
    k->value[HN_GPU_CODE] = (double)s->sh_size;
    io->n += k->name != NULL;
    return k->name != NULL;
}

hone_rc hn_cubin_elf(const char *data, size_t n, const char *label, hn_arena *a, hn_cubin *out, hone_err *err) {
    static const char info[] = ".nv.info.";
    image e;
    if (!open_image(&e, data, n))
        return hn_fail(err, HONE_E_INPUT, "'%s' is no cubin, or a damaged one; build it again", label);
    hn_cubin c = {.file = hn_strdup(a, label)};
    c.sm = (e.h.e_ident[EI_ABIVERSION] >= ABI_WIDE ? e.h.e_flags >> 8 : e.h.e_flags) & 0xff;
    size_t most = 0;
    Elf64_Shdr s;
    for (uint64_t i = 0; i < e.h.e_shnum; i++) most += section(&e, i, &s) && !strncmp(name_of(&e, &s), ".text.", 6);
    if (most > KERNELS_MOST)
        return hn_fail(err, HONE_E_INPUT, "'%s' has %zu functions; at most %d", label, most, KERNELS_MOST);
    c.kernel = HN_NEW_N(a, hn_gpu_kernel, most + 1);
    if (!c.kernel || !c.file) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", label);
    for (uint64_t i = 0; i < e.h.e_shnum; i++)
        if (section(&e, i, &s) && !add_kernel(&e, &s, a, &c))
            return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", label);
    for (uint64_t i = 0; i < e.h.e_shnum; i++) {
        if (!section(&e, i, &s) || s.sh_type == SHT_NOBITS) continue;
        const char *name = name_of(&e, &s);
        hn_gpu_kernel *k = strncmp(name, info, sizeof info - 1) ? NULL : find(&c, name + sizeof info - 1);
        if (k) read_attributes(data + s.sh_offset, s.sh_size, k);
        if (s.sh_type == SHT_SYMTAB) read_symbols(&e, &s, &c);
    }
    c.has_usage = e.h.e_type == ET_EXEC && read_resources(&e, &c); /* what is not linked says less */
    *out = c;
    return HONE_OK;
}
