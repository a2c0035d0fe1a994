/* measure/elf.h — section headers of an ELF file in memory. Every offset is checked against the file's size, so that
 * any bytes are safe to hand in.
 *
 * Borrows: the bytes; names point into them.
 */
#ifndef HN_ELF_H
#define HN_ELF_H

#include <hone/base.h>

typedef struct hn_elf_section {
    const char *name;
    uint32_t type, link, info;
    uint64_t flags, at, size, entry_b;
} hn_elf_section;

typedef struct hn_elf {
    const unsigned char *data;
    uint64_t size;
    bool is64, relocatable;
    bool device; /* a cubin: its registers and launch bounds stand in sections that are not loaded as such */
    unsigned machine;
    uint64_t table, entry_b, n; /* section headers */
    uint32_t names;
} hn_elf;

/* True when all sections are in place. False: no usable section table, compiler intermediate code (.gnu.lto_*), the
 * other byte order, more than 65,279 sections (e_shnum 0), or no ELF file at all. */
bool hn_elf_open(hn_elf *e, const unsigned char *data, size_t size);
/* False: there is no i-th section, or it lies outside the file. */
bool hn_elf_section_at(const hn_elf *e, uint64_t i, hn_elf_section *out);
/* A NUL-terminated text inside the range, else "". */
const char *hn_elf_text(const hn_elf *e, uint64_t at, uint64_t size, uint64_t offset);

#endif
