/* cubin/opcodes.c — see opcodes.h. docs/gpu-metrics.md says which bits make a kind and how that was checked. */
#include "cubin/opcodes.h"

#include "base/fs.h"
#include "base/hash.h"
#include "device/cuda.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KINDS_MOST = 1 << 16, OPCODE_MOST = 60, INSTRUCTION_B = 16, NO_REGISTER = 255 };

static const char head[] = "hone-opcodes 1\n", several[] = "?";

/* The opcode and its form are bits 0 to 11; modifiers are from bit 72 on, the control word lies in 105 to 125. Of the
 * operands only counts which of them is the zero register: IMAD of two zeros is a move. */
static uint64_t key_of(const uint64_t w[2]) {
    uint64_t modifiers = w[1] >> 8 & ((UINT64_C(1) << 33) - 1);
    uint64_t zeros = (w[0] >> 16 & 255) == NO_REGISTER;
    zeros |= (uint64_t)((w[0] >> 24 & 255) == NO_REGISTER) << 1;
    zeros |= (uint64_t)((w[0] >> 32 & 255) == NO_REGISTER) << 2;
    zeros |= (uint64_t)((w[1] & 255) == NO_REGISTER) << 3;
    return (w[0] & 0xfff) | modifiers << 12 | w[1] >> 62 << 45 | zeros << 47;
}

/* --- the table, sorted by key ------------------------------------------------------------------------------------- */

static size_t place(const hn_opcodes *m, uint64_t key) {
    size_t lo = 0, hi = m->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->kind[mid].key < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static const hn_opcode_kind *find(const hn_opcodes *m, uint64_t key) {
    size_t i = place(m, key);
    return i < m->n && m->kind[i].key == key ? &m->kind[i] : NULL;
}

static bool same_class(const char *x, const char *y) {
    unsigned of_x, of_y;
    return hn_sass_class(x, &of_x) == hn_sass_class(y, &of_y) && of_x == of_y &&
           !strncmp(x, "NOP", 3) == !strncmp(y, "NOP", 3);
}

static void put(hn_opcodes *m, uint64_t key, const char *opcode, size_t n) {
    char text[OPCODE_MOST + 1];
    if (!n || n > OPCODE_MOST) return;
    memcpy(text, opcode, n);
    text[n] = 0;
    size_t at = place(m, key);
    if (at < m->n && m->kind[at].key == key) {
        hn_opcode_kind *k = &m->kind[at];
        if (!strcmp(k->opcode, several) || (strcmp(text, several) && same_class(k->opcode, text))) return;
        k->opcode = several;
        m->changed = true;
        return;
    }
    if (m->n == KINDS_MOST) return;
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : 1024;
        hn_opcode_kind *more = HN_NEW_N(m->a, hn_opcode_kind, room);
        if (!more) return;
        if (m->n) memcpy(more, m->kind, m->n * sizeof *more);
        m->kind = more;
        m->room = room;
    }
    const char *kept = hn_strdup(m->a, text);
    if (!kept) return;
    memmove(m->kind + at + 1, m->kind + at, (m->n - at) * sizeof *m->kind);
    m->kind[at] = (hn_opcode_kind){key, kept};
    m->n++;
    m->changed = true;
}

bool hn_opcodes_recall(const hn_opcodes *m, const char *code, size_t n, hn_sass **line) {
    hn_sass *s = m->n ? HN_NEW_N(m->a, hn_sass, n / INSTRUCTION_B + 1) : NULL;
    for (size_t i = 0; s && i < n / INSTRUCTION_B; i++) {
        s[i] = (hn_sass){.at = i * INSTRUCTION_B, .live = {-1, -1, -1}};
        memcpy(s[i].word, code + i * INSTRUCTION_B, INSTRUCTION_B);
        const hn_opcode_kind *k = find(m, key_of(s[i].word));
        if (!k || !strcmp(k->opcode, several)) return false;
        s[i].text = k->opcode;
    }
    *line = s;
    return s != NULL;
}

void hn_opcodes_learn(hn_opcodes *m, const hn_sass *line, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!hn_sass_known(line[i].text)) continue; /* it is named wherever it occurs */
        const char *p = hn_sass_opcode(line[i].text);
        put(m, key_of(line[i].word), p, strcspn(p, " ;,"));
    }
}

/* --- the file: "KEY OPCODE" a line -------------------------------------------------------------------------------- */

void hn_opcodes_read(const char *text, size_t n, hn_opcodes *io) {
    if (n < sizeof head - 1 || memcmp(text, head, sizeof head - 1)) return;
    for (size_t at = sizeof head - 1; at < n;) {
        const char *p = text + at, *end = memchr(p, '\n', n - at);
        if (!end) break;
        at = (size_t)(end - text) + 1;
        uint64_t key = 0;
        size_t digits = 0;
        for (; p < end && digits < 16 && isxdigit((unsigned char)*p); p++, digits++)
            key = key << 4 | (uint64_t)(isdigit((unsigned char)*p) ? *p - '0' : (*p | 32) - 'a' + 10);
        if (!digits || p == end || *p++ != ' ') continue;
        size_t len = 0;
        while (p + len < end && (isupper((unsigned char)p[len]) || isdigit((unsigned char)p[len]) || p[len] == '.' ||
                                 p[len] == '_' || p[len] == '?'))
            len++;
        if (p + len == end) put(io, key, p, len);
    }
    io->changed = false;
}

void hn_opcodes_open(unsigned sm, hn_arena *a, hn_opcodes *out) {
    char *tool = hn_cuda_tool("nvdisasm"), *cache = hn_cache_dir(), *text = NULL, hex[33];
    struct stat st;
    size_t n;
    *out = (hn_opcodes){.a = a};
    if (tool && cache && !stat(tool, &st)) {
        hn_hash h;
        hn_hash_begin(&h);
        hn_hash_text(&h, tool);
        hn_hash_add(&h, &st.st_size, sizeof st.st_size);
        hn_hash_add(&h, &st.st_mtim, sizeof st.st_mtim);
        hn_hash_end(&h, hex);
        out->path = hn_format(a, "%s/opcodes/%.16s-sm%u", cache, hex, sm);
    }
    if (out->path && hn_exists(out->path) && !hn_read_file(out->path, &text, &n, NULL)) hn_opcodes_read(text, n, out);
    free(text);
    free(cache);
    free(tool);
}

void hn_opcodes_keep(hn_opcodes *m) {
    if (!m->path || !m->changed) return;
    hn_str s = {0}, dir = {0};
    hn_str_add(&s, head);
    for (size_t i = 0; i < m->n; i++) hn_str_addf(&s, "%" PRIx64 " %s\n", m->kind[i].key, m->kind[i].opcode);
    hn_str_add_n(&dir, m->path, (size_t)(strrchr(m->path, '/') - m->path));
    if (!s.failed && dir.text && !hn_make_dirs(dir.text, NULL)) (void)hn_write_file(m->path, s.text, s.n, NULL);
    m->changed = false;
    hn_str_free(&s);
    hn_str_free(&dir);
}
