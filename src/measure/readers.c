/* measure/readers.c — see readers.h. */
#include "measure/readers.h"

#include "base/err.h"
#include "base/fs.h"
#include "measure/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *symbol;
    hn_beside state;
    const char *word;
} readers[] = {
#define HN_READER(symbol, state, word) {symbol, HN_STATE_##state, word},
#include "measure/readers.def"
#undef HN_READER
};

/* Beginnings of the names of libraries that come with the C library and compilers: errno and flags are theirs to set,
 * and what they read is their own. */
static const char *const runtime[] = {"libc.",      "libm.",    "libmvec.",   "libpthread.", "libdl.",
                                      "librt.",     "libutil.", "ld-linux",   "ld64.",       "libgcc_s.",
                                      "libstdc++.", "libc++.",  "libc++abi.", "libatomic",   "libquadmath",
                                      "libgomp.",   "libomp.",  "libiomp5.",  "libunwind."};

const char *hn_beside_name(hn_beside state) { return state == HN_STATE_ERRNO ? "errno" : "fenv"; }

static void note(hn_onlooker *r, hn_reading reading, const char *symbol, const char *word, const char *why) {
    if (r->reading == HN_READS || (r->reading == HN_READS_UNKNOWN && reading != HN_READS)) return;
    *r = (hn_onlooker){.reading = reading, .word = word, .why = why};
    size_t n = strnlen(symbol, sizeof r->symbol - 1);
    memcpy(r->symbol, symbol, n);
}

static void note_unknown(hn_onlooker out[HN_N_STATES], const char *symbol, const char *why) {
    for (int k = 0; k < HN_N_STATES; k++) note(&out[k], HN_READS_UNKNOWN, symbol, NULL, why);
}

static void see_symbol(hn_onlooker out[HN_N_STATES], const char *name) {
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (!strcmp(readers[i].symbol, name)) note(&out[readers[i].state], HN_READS, name, readers[i].word, NULL);
    if (!strcmp(name, "dlopen") || !strcmp(name, "dlmopen")) note_unknown(out, name, "it loads code at run time");
}

static void see_symbols(const hn_elf *e, const hn_elf_section *s, hn_onlooker out[HN_N_STATES]) {
    hn_elf_section names;
    uint64_t entry_b = e->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (!hn_elf_section_at(e, s->link, &names) || names.type != SHT_STRTAB) return;
    for (uint64_t i = 0; i < s->size / entry_b; i++) {
        uint32_t name; /* the first member of both forms */
        memcpy(&name, e->data + s->at + i * entry_b, sizeof name);
        see_symbol(out, hn_elf_text(e, names.at, names.size, name));
    }
}

static void see_library(hn_onlooker out[HN_N_STATES], const char *name) {
    for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++)
        if (!strncmp(name, runtime[i], strlen(runtime[i]))) return;
    note_unknown(out, name, "it is a shared library, which hone does not look into");
}

static void see_needed(const hn_elf *e, const hn_elf_section *s, hn_onlooker out[HN_N_STATES]) {
    hn_elf_section names;
    uint64_t entry_b = e->is64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
    if (!hn_elf_section_at(e, s->link, &names) || names.type != SHT_STRTAB) return;
    for (uint64_t at = 0; at + entry_b <= s->size; at += entry_b) {
        Elf64_Dyn d = {0};
        Elf32_Dyn narrow;
        if (e->is64) {
            memcpy(&d, e->data + s->at + at, sizeof d);
        } else {
            memcpy(&narrow, e->data + s->at + at, sizeof narrow);
            d.d_tag = narrow.d_tag, d.d_un.d_val = narrow.d_un.d_val;
        }
        if (d.d_tag == DT_NEEDED) see_library(out, hn_elf_text(e, names.at, names.size, d.d_un.d_val));
    }
}

/* --- instructions ------------------------------------------------------------------------------------------------- */

/* stmxcsr m32 is 0f ae /3, vstmxcsr with a VEX prefix (map 1, no length, no further operand) before ae /3. */
static bool is_stmxcsr(const unsigned char *p, uint64_t i, uint64_t n) {
    if (p[i] != 0xae || i + 1 >= n || (p[i + 1] >> 3 & 7) != 3 || p[i + 1] >> 6 == 3) return false;
    bool legacy = i >= 1 && p[i - 1] == 0x0f;
    bool vex2 = i >= 2 && p[i - 2] == 0xc5 && (p[i - 1] & 0x7f) == 0x78;
    bool vex3 = i >= 3 && p[i - 3] == 0xc4 && (p[i - 2] & 0x1f) == 1 && (p[i - 1] & 0x7f) == 0x78;
    return legacy || vex2 || vex3;
}

static void see_code(const hn_elf *e, const hn_elf_section *s, hn_onlooker out[HN_N_STATES]) {
    const unsigned char *p = e->data + s->at;
    hn_onlooker *r = &out[HN_STATE_FENV];
    for (uint64_t i = 0; e->machine == EM_X86_64 && i < s->size; i++)
        if (is_stmxcsr(p, i, s->size)) note(r, HN_READS, "stmxcsr", "_mm_getcsr", NULL);
    for (uint64_t i = 0; e->machine == EM_AARCH64 && i + 4 <= s->size; i += 4)
        if (p[i + 3] == 0xd5 && p[i + 2] == 0x3b && p[i + 1] == 0x44 && p[i] >> 5 == 1) /* mrs xN, fpsr */
            note(r, HN_READS, "mrs fpsr", "fpsr", NULL);
}

/* --- a program ---------------------------------------------------------------------------------------------------- */

static void see_program(const hn_elf *e, hn_onlooker out[HN_N_STATES]) {
    bool interp = false, symbols = false;
    hn_elf_section s;
    for (uint64_t i = 0; i < e->n; i++) {
        if (!hn_elf_section_at(e, i, &s)) continue;
        if (!strcmp(s.name, ".interp")) interp = true;
        if (s.type == SHT_DYNSYM) symbols = true, see_symbols(e, &s, out);
        if (s.type == SHT_DYNAMIC) see_needed(e, &s, out);
        if ((s.flags & SHF_EXECINSTR) && s.type == SHT_PROGBITS) see_code(e, &s, out);
    }
    if (!symbols)
        note_unknown(out, "", "it has no dynamic symbols: the C library is linked into it, or it is an object");
    if (symbols && !interp) note_unknown(out, "", "it is a shared library, used by a program that hone does not know");
    if (e->machine != EM_X86_64 && e->machine != EM_AARCH64)
        note(&out[HN_STATE_FENV], HN_READS_UNKNOWN, "", NULL,
             "the instructions that read flags are not known for this processor");
}

void hn_readers_of(const void *data, size_t n, hn_onlooker out[HN_N_STATES]) {
    hn_elf e;
    memset(out, 0, HN_N_STATES * sizeof *out);
    if (hn_elf_open(&e, data, n))
        see_program(&e, out);
    else
        note_unknown(out, "", "it is no ELF program with a table of sections");
}

hone_rc hn_program_readers(const char *path, hn_onlooker out[HN_N_STATES], hone_err *err) {
    char *data;
    size_t n;
    hone_rc rc = hn_read_file(path, &data, &n, err);
    if (rc && rc != HONE_E_LIMIT) return rc;
    if (rc) {
        memset(out, 0, HN_N_STATES * sizeof *out);
        note_unknown(out, "", "the program is too large to look into");
        return HONE_OK;
    }
    hn_readers_of(data, n, out);
    free(data);
    return HONE_OK;
}
