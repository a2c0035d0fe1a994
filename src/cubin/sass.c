/* cubin/sass.c — what an instruction is and what its control word says.
 *
 * An encoding has two words of 64 bits. The second one, from bit 41 on: cycles to stall (4 bits), a bit that is clear
 * where another warp is asked for, the scoreboard barrier that its write and its read release (3 bits each), the mask
 * of barriers it waits for (6 bits), operands kept in the reuse cache (4 bits). docs/gpu-metrics.md tells how that was
 * checked. */
#include "cubin/cubin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct op {
    const char *name;
    hn_code_metric cls;
} op[] = {
#define HN_SASS_OP(opcode, class) {opcode, HN_SASS_##class},
#include "cubin/opcode.def"
};
enum { N_OPS = sizeof op / sizeof *op };

hn_control_word hn_sass_control(uint64_t w) {
    return (hn_control_word){.stall = w >> 41 & 15,
                             .yield = !(w >> 45 & 1),
                             .write_barrier = w >> 46 & 7,
                             .read_barrier = w >> 49 & 7,
                             .wait_mask = w >> 52 & 63,
                             .reuse = w >> 58 & 15};
}

const char *hn_sass_opcode(const char *text) {
    while (*text == ' ' || *text == '{') text++;
    if (*text != '@') return text;
    text += strcspn(text, " ");
    return text + strspn(text, " ");
}

static size_t name_length(const char *opcode) { return strcspn(opcode, ". ;,"); }

static const struct op *find(const char *opcode) {
    size_t n = name_length(opcode);
    for (size_t i = 0; i < N_OPS; i++)
        if (!strncmp(op[i].name, opcode, n) && !op[i].name[n]) return &op[i];
    return NULL;
}

static bool has_modifier(const char *opcode, const char *modifier) {
    size_t n = strlen(modifier), end = strcspn(opcode, " ;,");
    for (size_t i = 0; i + n <= end; i++)
        if (opcode[i] == '.' && !strncmp(opcode + i, modifier, n) && strchr(". ;,", opcode[i + n])) return true;
    return false;
}

/* 4 bytes unless a modifier says otherwise; matrices of LDSM are four bytes of each thread. */
static unsigned width_of(const char *opcode) {
    static const struct {
        const char *modifier;
        unsigned bytes;
    } width[] = {{".U8", 1}, {".S8", 1}, {".8", 1}, {".U16", 2}, {".S16", 2}, {".64", 8}, {".128", 16}, {".256", 32}};
    if (has_modifier(opcode, ".M88") || has_modifier(opcode, ".MT88"))
        return has_modifier(opcode, ".4") ? 16 : has_modifier(opcode, ".2") ? 8 : 4;
    for (size_t i = 0; i < sizeof width / sizeof *width; i++)
        if (has_modifier(opcode, width[i].modifier)) return width[i].bytes;
    return 4;
}

static bool moves_memory(hn_code_metric c) { return c >= HN_SASS_GLOBAL_LOAD && c <= HN_SASS_GENERIC_STORE; }

hn_code_metric hn_sass_class(const char *text, unsigned *bytes) {
    const char *opcode = hn_sass_opcode(text);
    const struct op *o = find(opcode);
    hn_code_metric c = o ? o->cls : HN_SASS_OTHER;
    bool per_thread = moves_memory(c) || (o && !strcmp(o->name, "LDGSTS"));
    if (bytes) *bytes = per_thread ? width_of(opcode) : 0;
    return c == HN_SASS_INTEGER && has_modifier(opcode, ".MOV") ? HN_SASS_MOVE : c;
}

bool hn_sass_known(const char *text) { return find(hn_sass_opcode(text)) != NULL; }

/* --- counting ----------------------------------------------------------------------------------------------------- */

static void note_unknown(const char *text, hn_arena *a, hn_gpu_kernel *k) {
    enum { MOST = 32 };
    const char *opcode = hn_sass_opcode(text);
    size_t n = name_length(opcode);
    for (size_t i = 0; i < k->n_unknown; i++)
        if (!strncmp(k->unknown[i], opcode, n) && !k->unknown[i][n]) return;
    if (!k->unknown) k->unknown = HN_NEW_N(a, const char *, MOST);
    if (!k->unknown || k->n_unknown == MOST) return;
    const char *name = hn_strndup(a, opcode, n);
    if (name) k->unknown[k->n_unknown++] = name;
}

static void count_bytes(hn_code_metric c, unsigned bytes, hn_gpu_kernel *k) {
    if (c == HN_SASS_GLOBAL_LOAD || c == HN_SASS_GLOBAL_STORE || c == HN_SASS_ASYNC)
        k->value[HN_GPU_GLOBAL_BYTES] += bytes;
    if (c == HN_SASS_SHARED_LOAD || c == HN_SASS_SHARED_STORE || c == HN_SASS_ASYNC)
        k->value[HN_GPU_SHARED_BYTES] += bytes;
    if (c == HN_SASS_LOCAL_LOAD || c == HN_SASS_LOCAL_STORE) k->value[HN_GPU_LOCAL_BYTES] += bytes;
}

static void raise_live(const hn_sass *s, hn_gpu_kernel *k) {
    static const hn_code_metric most[] = {HN_GPU_LIVE_REGISTERS, HN_GPU_LIVE_PREDICATES, HN_GPU_LIVE_UNIFORM};
    for (size_t i = 0; i < 3; i++)
        if (s->live[i] >= 0 && !(k->value[most[i]] >= s->live[i])) k->value[most[i]] = s->live[i];
}

static unsigned bits(unsigned x) {
    unsigned n = 0;
    for (; x; x &= x - 1) n++;
    return n;
}

void hn_sass_count(const hn_sass *line, size_t n, hn_arena *a, hn_gpu_kernel *k) {
    static const hn_code_metric counted[] = {HN_GPU_INSTRUCTIONS, HN_GPU_STALLS,     HN_GPU_WAITS,
                                             HN_GPU_YIELDS,       HN_GPU_REUSES,     HN_GPU_GLOBAL_BYTES,
                                             HN_GPU_SHARED_BYTES, HN_GPU_LOCAL_BYTES};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) k->value[counted[i]] = 0;
    for (unsigned c = HN_SASS_FIRST; c < HN_N_CODE_METRICS; c++) k->value[c] = 0;
    while (n && !strncmp(line[n - 1].text, "NOP", 3)) n--;
    k->value[HN_GPU_INSTRUCTIONS] = (double)n;
    size_t n_silent = 0;
    for (size_t i = 0; i < n; i++) {
        hn_control_word w = hn_sass_control(line[i].word[1]);
        unsigned bytes;
        hn_code_metric c = hn_sass_class(line[i].text, &bytes);
        k->value[c]++;
        count_bytes(c, bytes, k);
        k->value[HN_GPU_STALLS] += w.stall;
        n_silent += !w.stall;
        k->value[HN_GPU_WAITS] += w.wait_mask != 0;
        k->value[HN_GPU_YIELDS] += w.yield;
        k->value[HN_GPU_REUSES] += bits(w.reuse);
        raise_live(&line[i], k);
        if (!hn_sass_known(line[i].text)) note_unknown(line[i].text, a, k);
    }
    if (2 * n_silent > n) k->value[HN_GPU_STALLS] = NAN; /* code without a schedule */
}
