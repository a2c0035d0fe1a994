/* measure/object.c — what a built file would load: its hash and its size, read from ELF section headers (elf.h). A file
 * that elf.h does not open, or with compiler intermediate code, is taken as bytes.
 */
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "measure/elf.h"
#include "measure/outcome.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- hash ------------------------------------------------------------------------------------------------------ */

static void add_number(hn_hash *h, uint64_t v) { hn_hash_add(h, &v, sizeof v); }

static void add_section(hn_hash *h, const hn_elf *e, const hn_elf_section *s) {
    hn_hash_text(h, s->name);
    add_number(h, s->type);
    add_number(h, s->flags);
    add_number(h, s->size);
    if (s->type != SHT_NOBITS) hn_hash_add(h, e->data + s->at, (size_t)s->size);
}

/* The symbol a relocation means, by name: indices move with debug data that does not count. */
static void add_symbol(hn_hash *h, const hn_elf *e, const hn_elf_section *table, uint64_t index) {
    hn_elf_section names, where;
    uint64_t entry_b = e->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (index >= table->size / entry_b) return;
    const unsigned char *p = e->data + table->at + index * entry_b;
    uint64_t value, name, type, home;
    if (e->is64) {
        Elf64_Sym y;
        memcpy(&y, p, sizeof y);
        value = y.st_value, name = y.st_name, type = ELF64_ST_TYPE(y.st_info), home = y.st_shndx;
    } else {
        Elf32_Sym y;
        memcpy(&y, p, sizeof y);
        value = y.st_value, name = y.st_name, type = ELF32_ST_TYPE(y.st_info), home = y.st_shndx;
    }
    bool named = hn_elf_section_at(e, table->link, &names) && names.type == SHT_STRTAB;
    hn_hash_text(h, named ? hn_elf_text(e, names.at, names.size, name) : "");
    hn_hash_text(h, hn_elf_section_at(e, home, &where) ? where.name : NULL);
    add_number(h, value);
    add_number(h, type);
}

/* Relocations of an object file decide what its code refers to. */
static void add_relocations(hn_hash *h, const hn_elf *e, const hn_elf_section *s) {
    hn_elf_section target, symbols;
    if (!hn_elf_section_at(e, s->info, &target) || !(target.flags & SHF_ALLOC)) return;
    if (!hn_elf_section_at(e, s->link, &symbols) || symbols.type != SHT_SYMTAB) return;
    hn_hash_text(h, target.name);
    bool addend = s->type == SHT_RELA;
    uint64_t entry_b = (e->is64 ? 16u : 8u) + (addend ? (e->is64 ? 8u : 4u) : 0u);
    for (uint64_t at = 0; at + entry_b <= s->size; at += entry_b) {
        const unsigned char *p = e->data + s->at + at;
        uint64_t symbol, type;
        if (e->is64) {
            Elf64_Rel r;
            memcpy(&r, p, sizeof r);
            symbol = ELF64_R_SYM(r.r_info), type = ELF64_R_TYPE(r.r_info);
            hn_hash_add(h, &r.r_offset, sizeof r.r_offset);
        } else {
            Elf32_Rel r;
            memcpy(&r, p, sizeof r);
            symbol = ELF32_R_SYM(r.r_info), type = ELF32_R_TYPE(r.r_info);
            hn_hash_add(h, &r.r_offset, sizeof r.r_offset);
        }
        add_number(h, type);
        if (addend) hn_hash_add(h, p + entry_b / 3 * 2, (size_t)(entry_b / 3));
        add_symbol(h, e, &symbols, symbol);
    }
}

static void hash_elf(hn_hash *h, const hn_elf *e) {
    hn_elf_section s;
    for (uint64_t i = 0; i < e->n; i++) {
        if (!hn_elf_section_at(e, i, &s)) continue;
        bool loaded = (s.flags & SHF_ALLOC) && strcmp(s.name, ".note.gnu.build-id") != 0;
        loaded |= e->device && strncmp(s.name, ".nv.info", 8) == 0;
        if (loaded)
            add_section(h, e, &s);
        else if (e->relocatable && (s.type == SHT_RELA || s.type == SHT_REL))
            add_relocations(h, e, &s);
    }
}

hone_rc hn_object_hash(const char *path, char hex[33], hone_err *err) {
    char *data;
    size_t n;
    hone_rc rc = hn_read_file(path, &data, &n, err);
    if (rc == HONE_E_LIMIT) return hn_hash_file(path, hex, err);
    if (rc) return rc;
    hn_hash h;
    hn_hash_begin(&h);
    hn_elf e;
    if (hn_elf_open(&e, (const unsigned char *)data, n))
        hash_elf(&h, &e);
    else
        hn_hash_add(&h, data, n);
    hn_hash_end(&h, hex);
    free(data);
    return HONE_OK;
}

/* --- size ------------------------------------------------------------------------------------------------------ */

static uint64_t elf_code_b(const hn_elf *e) {
    uint64_t sum = 0;
    hn_elf_section s;
    for (uint64_t i = 0; i < e->n; i++)
        if (hn_elf_section_at(e, i, &s) && (s.flags & SHF_ALLOC) && !(s.flags & SHF_WRITE) && s.type != SHT_NOBITS)
            sum += s.size;
    return sum;
}

static uint64_t decimal(const char *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n && p[i] >= '0' && p[i] <= '9'; i++) v = v * 10 + (uint64_t)(p[i] - '0');
    return v;
}

/* An archive (ar(5)): 60-byte member headers at even offsets, the size in decimal at 48. Sum over its ELF members. */
static uint64_t archive_code_b(const char *data, size_t n) {
    uint64_t sum = 0;
    for (size_t at = 8; n >= 60 && at <= n - 60;) {
        uint64_t size = decimal(data + at + 48, 10);
        at += 60;
        if (size > n - at) break;
        hn_elf e;
        if (hn_elf_open(&e, (const unsigned char *)data + at, (size_t)size)) sum += elf_code_b(&e);
        at += (size_t)size + (size & 1);
    }
    return sum;
}

hone_rc hn_object_size(const char *path, uint64_t *code_b, uint64_t *file_b, hone_err *err) {
    char *data;
    size_t n;
    hone_rc rc = hn_read_file(path, &data, &n, err);
    if (rc) return rc;
    hn_elf e;
    uint64_t code = n;
    if (hn_elf_open(&e, (const unsigned char *)data, n))
        code = elf_code_b(&e);
    else if (n >= 8 && memcmp(data, "!<arch>\n", 8) == 0)
        code = archive_code_b(data, n);
    *code_b = code;
    *file_b = n;
    free(data);
    return HONE_OK;
}
