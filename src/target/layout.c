/* target/layout.c — the GNU linker's part of a layout: padding before sections, and the order of functions.
 *
 * The order comes from sections of their own and one inserted output section that gathers them by patterns of their
 * names, in random order; the names need not be known. Sections that the compiler itself has sorted (hot, unlikely,
 * startup, exit) keep their place: that order is an effect of a control, not of chance. */
#include "target/layout.h"

#include "target/cc.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/rng.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hn_layout_text(hn_code_layout layout) {
    static const char *const text[HN_N_LAYOUTS] = {
        [HN_LAYOUT_ORDER] = "function order, padding of all sections, function alignment",
        [HN_LAYOUT_SECTIONS] = "padding of all sections, function alignment",
        [HN_LAYOUT_CODE] = "padding of code, function alignment",
        [HN_LAYOUT_ALIGNMENT] = "function alignment",
        [HN_LAYOUT_NONE] = "none: the build accepts no change of layout, so an effect of the layout is not ruled out",
    };
    return text[layout];
}

/* --- the script --------------------------------------------------------------------------------------------------- */

static void add_padding(hn_str *out, const char *section, hn_rng *rng) {
    hn_str_addf(out, "SECTIONS { .hone_pad%s : { BYTE(0) . += %u; } } INSERT BEFORE %s;\n", section,
                16 * (unsigned)hn_rng_below(rng, 256), section);
}

/* Second letters of names in sections that the compiler has sorted. */
static const char *sorted_letters(char first) {
    switch (first) {
    case 'u': return "n";  /* unlikely */
    case 'h': return "o";  /* hot */
    case 's': return "tp"; /* startup, split */
    case 'e': return "x";  /* exit */
    default: return "";
    }
}

static void shuffle(unsigned char *order, unsigned n, hn_rng *rng) {
    for (unsigned i = 0; i < n; i++) order[i] = (unsigned char)i;
    for (unsigned i = n; i > 1; i--) {
        unsigned k = (unsigned)hn_rng_below(rng, i);
        unsigned char x = order[i - 1];
        order[i - 1] = order[k];
        order[k] = x;
    }
}

/* Two halves by the second letter: a-m without the sorted sections, then all others. */
static void add_letters(hn_str *out, hn_rng *rng) {
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    enum { N = 2 * (sizeof first - 1) };
    unsigned char order[N];
    shuffle(order, N, rng);
    for (unsigned i = 0; i < N; i++) {
        char c = first[order[i] / 2];
        bool late = order[i] & 1;
        if (late)
            hn_str_addf(out, "*(.text.%c[!a-m%s]*)\n", c, sorted_letters(c));
        else if (!*sorted_letters(c) || *sorted_letters(c) > 'm')
            hn_str_addf(out, "*(.text.%c[a-m]*)\n", c);
    }
}

static void add_groups(hn_str *out, const char *groups, hn_rng *rng) {
    const char *at[64];
    unsigned char order[64];
    unsigned n = 0;
    for (const char *p = groups; *p && n < 64; p += strcspn(p, "|"), p += *p == '|') at[n++] = p;
    shuffle(order, n, rng);
    for (unsigned i = 0; i < n; i++) hn_str_addf(out, "*(.text.%.*s)\n", (int)strcspn(at[order[i]], "|"), at[order[i]]);
}

static void add_order(hn_str *out, const char *groups, hn_rng *rng) {
    hn_str_add(out, "SECTIONS { .hone_order : {\n");
    if (groups)
        add_groups(out, groups, rng);
    else
        add_letters(out, rng);
    hn_str_add(out, "} } INSERT BEFORE .text;\n");
}

void hn_layout_script(hn_code_layout layout, const char *groups, uint64_t seed, size_t i, hn_str *out) {
    hn_rng rng = hn_rng_make(seed, 0x1a7007 + i);
    if (layout <= HN_LAYOUT_CODE) add_padding(out, ".text", &rng);
    if (layout <= HN_LAYOUT_SECTIONS) add_padding(out, ".rodata", &rng);
    if (layout <= HN_LAYOUT_SECTIONS) add_padding(out, ".data", &rng);
    if (layout == HN_LAYOUT_ORDER && i % 2 == 1) add_order(out, groups, &rng);
}

/* --- the words ---------------------------------------------------------------------------------------------------- */

static hone_rc write_script(const char *path, hn_code_layout layout, const char *groups, uint64_t seed, size_t i,
                            hone_err *err) {
    hn_str text = {0};
    hn_layout_script(layout, groups, seed, i, &text);
    hone_rc rc = text.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
    if (!rc && !hn_exists(path)) rc = hn_write_file(path, text.text, text.n, err);
    hn_str_free(&text);
    return rc;
}

hone_rc hn_layout_words(const hn_family *family, hn_code_layout layout, uint64_t seed, size_t i, const char *dir,
                        hn_flags *f, hone_err *err) {
    static const unsigned alignment[] = {0, 16, 32, 64};
    hn_rng rng = hn_rng_make(seed, 0xa119 + i);
    hn_placing how = {.align = alignment[hn_rng_below(&rng, sizeof alignment / sizeof *alignment)]};
    if (!family->place || layout > HN_LAYOUT_ALIGNMENT) return HONE_OK;
    how.sections = layout == HN_LAYOUT_ORDER && i % 2 == 1;
    if (layout <= HN_LAYOUT_CODE) {
        how.script = hn_format(f->a, "%s/layout%d-%zu-%s.ld", dir, (int)layout, i, family->name);
        hone_rc rc = how.script ? write_script(how.script, layout, family->groups, seed, i, err)
                                : hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (rc) return rc;
    }
    family->place(f, &how);
    return hn_arena_ok(f->a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* --- ELF files, names of symbols ---------------------------------------------------------------------------------- */

bool hn_is_elf_object(const char *path) {
    unsigned char head[64];
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    return n == sizeof head && !memcmp(head, ELFMAG, SELFMAG) && head[16] + head[17] == ET_REL; /* either byte order */
}

/* "row" of "row.constprop.0.isra.0", "row.cold", "row.part.3". */
const char *hn_elf_source_name(hn_arena *a, const char *symbol) {
    static const char *const clone[] = {".constprop", ".isra",       ".part",     ".cold",        ".lto_priv",
                                        ".llvm.",     ".localalias", ".resolver", ".specialized", ".warm"};
    size_t n = strlen(symbol);
    for (size_t i = 0; i < sizeof clone / sizeof *clone; i++) {
        const char *at = strstr(symbol, clone[i]);
        if (at && at > symbol && (size_t)(at - symbol) < n) n = (size_t)(at - symbol);
    }
    return hn_strndup(a, symbol, n);
}

static const char *const objdump[] = {"objdump", "-d", "-w", NULL};
const hn_listing hn_listing_objdump = {objdump, "binutils", hn_objdump_read, false};
