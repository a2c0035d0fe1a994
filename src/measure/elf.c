/* measure/elf.c — see elf.h. Own reader over <elf.h>. */
#include "measure/elf.h"

#include <elf.h>
#include <string.h>

/* Of a cubin. */
enum { MACHINE_CUDA = 190 };

static bool within(const hn_elf *e, uint64_t at, uint64_t n) { return at <= e->size && n <= e->size - at; }

const char *hn_elf_text(const hn_elf *e, uint64_t at, uint64_t size, uint64_t offset) {
    if (!within(e, at, size) || offset >= size) return "";
    const char *p = (const char *)e->data + at + offset;
    return memchr(p, 0, (size_t)(size - offset)) ? p : "";
}

static bool raw_section(const hn_elf *e, uint64_t i, hn_elf_section *out, uint32_t *name) {
    if (i >= e->n) return false;
    const unsigned char *p = e->data + e->table + i * e->entry_b;
    if (e->is64) {
        Elf64_Shdr h;
        memcpy(&h, p, sizeof h);
        *out = (hn_elf_section){"", h.sh_type, h.sh_link, h.sh_info, h.sh_flags, h.sh_offset, h.sh_size, h.sh_entsize};
        *name = h.sh_name;
    } else {
        Elf32_Shdr h;
        memcpy(&h, p, sizeof h);
        *out = (hn_elf_section){"", h.sh_type, h.sh_link, h.sh_info, h.sh_flags, h.sh_offset, h.sh_size, h.sh_entsize};
        *name = h.sh_name;
    }
    return out->type == SHT_NOBITS || within(e, out->at, out->size);
}

bool hn_elf_section_at(const hn_elf *e, uint64_t i, hn_elf_section *out) {
    hn_elf_section names;
    uint32_t name, unused;
    if (!raw_section(e, i, out, &name)) return false;
    if (raw_section(e, e->names, &names, &unused) && names.type == SHT_STRTAB)
        out->name = hn_elf_text(e, names.at, names.size, name);
    return true;
}

static bool read_header(hn_elf *e) {
    const uint16_t one = 1;
    unsigned char order = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    if (e->size < EI_NIDENT || memcmp(e->data, ELFMAG, SELFMAG) != 0 || e->data[EI_DATA] != order) return false;
    e->is64 = e->data[EI_CLASS] == ELFCLASS64;
    if (e->is64 && e->size >= sizeof(Elf64_Ehdr)) {
        Elf64_Ehdr h;
        memcpy(&h, e->data, sizeof h);
        e->table = h.e_shoff, e->entry_b = h.e_shentsize, e->n = h.e_shnum, e->names = h.e_shstrndx;
        e->relocatable = h.e_type == ET_REL;
        e->machine = h.e_machine;
        e->device = h.e_machine == MACHINE_CUDA;
        return e->entry_b >= sizeof(Elf64_Shdr);
    }
    if (e->data[EI_CLASS] == ELFCLASS32 && e->size >= sizeof(Elf32_Ehdr)) {
        Elf32_Ehdr h;
        memcpy(&h, e->data, sizeof h);
        e->table = h.e_shoff, e->entry_b = h.e_shentsize, e->n = h.e_shnum, e->names = h.e_shstrndx;
        e->relocatable = h.e_type == ET_REL;
        e->machine = h.e_machine;
        return e->entry_b >= sizeof(Elf32_Shdr);
    }
    return false;
}

bool hn_elf_open(hn_elf *e, const unsigned char *data, size_t size) {
    *e = (hn_elf){.data = data, .size = size};
    if (!read_header(e) || e->n == 0 || e->table == 0) return false;
    if (!within(e, e->table, e->n * e->entry_b)) return false;
    bool any = false;
    for (uint64_t i = 0; i < e->n; i++) {
        hn_elf_section s;
        if (!hn_elf_section_at(e, i, &s) || strncmp(s.name, ".gnu.lto_", 9) == 0) return false;
        any = any || ((s.flags & SHF_ALLOC) && s.size > 0);
    }
    return any;
}
