/* target/objdump.c — a line at a time: a function's head, or an instruction. A function is counted once it has ended,
 * since its loops are known only then. */
#include "target/objdump.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "target/loops.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 400, LISTING_MOST = 1 << 20, CALLEES_MOST = 200 };

const char *hn_code_count_name(hn_code_count what) {
    static const char *const name[HN_N_CODE_COUNTS] = {
        [HN_CODE_BYTES] = "bytes",
        [HN_CODE_INSTRUCTIONS] = "instructions",
        [HN_CODE_LOOPS] = "loops",
        [HN_CODE_INNER_LOOPS] = "inner loops",
        [HN_CODE_LARGEST_INNER] = "instructions of the largest inner loop",
        [HN_CODE_IN_LOOPS] = "instructions in loops",
        [HN_CODE_VECTOR_IN_LOOPS] = "vector instructions in loops",
        [HN_CODE_WIDEST_IN_LOOPS] = "widest vector in loops, bit",
        [HN_CODE_WIDEST] = "widest vector, bit",
        [HN_CODE_VECTOR_128] = "vector instructions, 128 bit",
        [HN_CODE_VECTOR_256] = "vector instructions, 256 bit",
        [HN_CODE_VECTOR_512] = "vector instructions, 512 bit",
        [HN_CODE_SCALAR_FP] = "scalar floating-point instructions",
        [HN_CODE_FMA] = "fused multiply-adds",
        [HN_CODE_GATHERS] = "gathers",
        [HN_CODE_SCATTERS] = "scatters",
        [HN_CODE_MASKED] = "masked instructions",
        [HN_CODE_PREFETCHES] = "prefetches",
        [HN_CODE_STACK_IN_LOOPS] = "stack accesses in loops",
        [HN_CODE_STACK_IN_INNER] = "stack accesses in inner loops",
        [HN_CODE_CALLS] = "calls",
        [HN_CODE_CALLS_IN_LOOPS] = "calls in loops",
        [HN_CODE_ALIGNED_HEADS] = "inner loops aligned to 32 bytes",
    };
    return name[what];
}

/* --- what an instruction is -----------------------------------------------------------------------------------------
 */

enum {
    IS_VECTOR = 1,
    IS_SCALAR_FP = 2,
    IS_FMA = 4,
    IS_GATHER = 8,
    IS_SCATTER = 16,
    IS_MASKED = 32,
    IS_PREFETCH = 64,
    IS_STACK = 128,
    IS_CALL = 256,
    IS_JUMP = 512,
    IS_PADDING = 1024,
    IS_FRAME = 2048,
    IS_END = 4096
};

typedef struct insn {
    uint64_t at, target; /* target of a direct jump or call, 0: none */
    unsigned n_bytes, is, width;
} insn;

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static bool starts_with_any(const char *s, const char *const *prefix, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (hn_starts_with(s, prefix[i])) return true;
    return false;
}
#define STARTS(s, list) starts_with_any(s, list, sizeof(list) / sizeof *(list))

static const char *const fma_x86[] = {"vfmadd", "vfmsub", "vfnmadd", "vfnmsub"};
static const char *const fma_arm[] = {"fmla", "fmls", "fmadd", "fmsub", "fnmadd", "fnmsub"};
static const char *const gather_x86[] = {"vgather", "vpgather"};
static const char *const scatter_x86[] = {"vscatter", "vpscatter"};

/* addsd, vfmadd231ss, cvtsi2sdl …: one number in a vector register. Packed integers end alike (pabsd), as do
 * broadcasts, which fill the register. */
static bool is_scalar_x86(const char *op) {
    const char *bare = *op == 'v' ? op + 1 : op;
    if (hn_starts_with(bare, "broadcast") || *bare == 'p') return false;
    if (!strcmp(bare, "movd") || !strcmp(bare, "movq")) return true;
    if (hn_starts_with(bare, "cvt"))
        return strstr(bare, "2si") || strstr(bare, "si2") || ends_with(bare, "2sd") || ends_with(bare, "2ss") ||
               strstr(bare, "usi");
    return ends_with(bare, "ss") || ends_with(bare, "sd");
}

static unsigned width_x86(const char *args) {
    return strstr(args, "%zmm") ? 512 : strstr(args, "%ymm") ? 256 : strstr(args, "%xmm") ? 128 : 0;
}

/* 0x18(%rsp), -8(%rbp): a fixed place; with an index it is an array. Address arithmetic (lea) touches nothing. */
static unsigned stack_x86(const char *op, const char *args, bool frame) {
    if (strstr(args, "(%rsp)") && strcmp(op, "lea") != 0) return IS_STACK;
    return frame && strstr(args, "(%rbp)") && strcmp(op, "lea") != 0 ? IS_STACK : 0;
}

static unsigned kind_x86(const char *op, const char *args, bool frame, unsigned *width) {
    unsigned is = 0;
    *width = width_x86(args);
    if (*width) is = *width == 128 && is_scalar_x86(op) ? IS_SCALAR_FP : IS_VECTOR;
    if (is == IS_SCALAR_FP) *width = 0;
    if (STARTS(op, fma_x86)) is |= IS_FMA;
    if (STARTS(op, gather_x86)) is |= IS_GATHER;
    if (STARTS(op, scatter_x86)) is |= IS_SCATTER;
    if (strstr(args, "{%k")) is |= IS_MASKED;
    if (hn_starts_with(op, "prefetch")) is |= IS_PREFETCH;
    if (hn_starts_with(op, "call")) is |= IS_CALL;
    if (*op == 'j' || hn_starts_with(op, "loop")) is |= IS_JUMP;
    if (hn_starts_with(op, "jmp") || hn_starts_with(op, "ret") || !strcmp(op, "ud2") || !strcmp(op, "hlt"))
        is |= IS_END;
    if (hn_starts_with(op, "nop") || !strcmp(op, "int3") || (!strcmp(op, "xchg") && !strcmp(args, "%ax,%ax")))
        is |= IS_PADDING;
    if (!strcmp(op, "mov") && !strcmp(args, "%rsp,%rbp")) is |= IS_FRAME;
    return is | (is & (IS_CALL | IS_JUMP) ? 0 : stack_x86(op, args, frame));
}

/* v0.4s, v1.2d, q3; z registers (SVE) are as wide as the machine makes them and count as 128 at least. */
static unsigned width_arm(const char *args) {
    for (const char *p = args; *p; p++) {
        bool begins = p == args || !isalnum((unsigned char)p[-1]);
        if (begins && (*p == 'v' || *p == 'q' || *p == 'z') && isdigit((unsigned char)p[1])) return 128;
    }
    return 0;
}

static unsigned kind_arm(const char *op, const char *args, bool frame, unsigned *width) {
    (void)frame;
    unsigned is = 0;
    *width = width_arm(args);
    if (*width)
        is = IS_VECTOR;
    else if (*op == 'f' && (*args == 's' || *args == 'd') && isdigit((unsigned char)args[1]))
        is = IS_SCALAR_FP;
    if (STARTS(op, fma_arm)) is |= IS_FMA;
    if (hn_starts_with(op, "prfm")) is |= IS_PREFETCH;
    if (!strcmp(op, "bl") || !strcmp(op, "blr")) is |= IS_CALL;
    if (!strcmp(op, "b") || hn_starts_with(op, "b.") || hn_starts_with(op, "cb") || hn_starts_with(op, "tb"))
        is |= IS_JUMP;
    if (!strcmp(op, "br")) is |= IS_JUMP;
    if (!strcmp(op, "b") || !strcmp(op, "br") || !strcmp(op, "ret") || !strcmp(op, "brk")) is |= IS_END;
    if (!strcmp(op, "nop") || !strcmp(op, "udf")) is |= IS_PADDING;
    if (strstr(args, "[sp") && !strstr(args, "]!") && !strstr(args, "],")) is |= IS_STACK;
    return is;
}

/* --- the function being read ------------------------------------------------------------------------------------- */

typedef struct reader {
    hn_arena *a;
    bool arm, open, frame;
    hn_function now;
    insn *in;
    size_t n, room;
    hn_hash hash;
    hn_str listing;
    hn_function *done;
    size_t n_done, room_done;
    const char *callee[CALLEES_MOST];
    bool failed;
} reader;

static void *grown(hn_arena *a, void *old, size_t n, size_t *room, size_t size) {
    if (n < *room) return old;
    size_t more = *room ? 2 * *room : 64;
    void *p = hn_alloc_n(a, more, size);
    if (p && n) memcpy(p, old, n * size);
    if (p) *room = more;
    return p;
}

static void count_insn(double *c, const insn *x, unsigned depth) {
    bool looped = depth > 0;
    bool vector = x->is & IS_VECTOR;
    c[HN_CODE_BYTES] += x->n_bytes;
    c[HN_CODE_INSTRUCTIONS]++;
    c[HN_CODE_IN_LOOPS] += looped;
    c[HN_CODE_VECTOR_IN_LOOPS] += looped && vector;
    if (looped && x->width > c[HN_CODE_WIDEST_IN_LOOPS]) c[HN_CODE_WIDEST_IN_LOOPS] = x->width;
    if (x->width > c[HN_CODE_WIDEST]) c[HN_CODE_WIDEST] = x->width;
    c[HN_CODE_VECTOR_128] += vector && x->width == 128;
    c[HN_CODE_VECTOR_256] += vector && x->width == 256;
    c[HN_CODE_VECTOR_512] += vector && x->width == 512;
    c[HN_CODE_SCALAR_FP] += (x->is & IS_SCALAR_FP) != 0;
    c[HN_CODE_FMA] += (x->is & IS_FMA) != 0;
    c[HN_CODE_GATHERS] += (x->is & IS_GATHER) != 0;
    c[HN_CODE_SCATTERS] += (x->is & IS_SCATTER) != 0;
    c[HN_CODE_MASKED] += (x->is & IS_MASKED) != 0;
    c[HN_CODE_PREFETCHES] += (x->is & IS_PREFETCH) != 0;
    c[HN_CODE_STACK_IN_LOOPS] += looped && (x->is & IS_STACK);
    c[HN_CODE_STACK_IN_INNER] += depth == 2 && (x->is & IS_STACK);
    c[HN_CODE_CALLS] += (x->is & IS_CALL) != 0;
    c[HN_CODE_CALLS_IN_LOOPS] += looped && (x->is & IS_CALL);
}

/* Loops, then each instruction by whether it lies in one. False: out of memory. */
static bool count_all(reader *r) {
    hn_flow *f = malloc((r->n + 1) * sizeof *f);
    unsigned char *looped = malloc(r->n + 1);
    double *c = r->now.count;
    hn_loops l;
    for (size_t i = 0; f && i < r->n; i++) {
        const insn *x = &r->in[i];
        bool inside = !(x->is & IS_CALL); /* a jump to another function ends this one */
        f[i] = (hn_flow){x->at, inside ? x->target : 0, (x->is & IS_JUMP) && inside, (x->is & IS_END) != 0};
    }
    bool fine = f && looped && hn_find_loops(f, r->n, looped, &l);
    if (fine) {
        for (size_t i = 0; i < r->n; i++) count_insn(c, &r->in[i], looped[i]);
        c[HN_CODE_LOOPS] = (double)l.n;
        c[HN_CODE_INNER_LOOPS] = (double)l.n_inner;
        c[HN_CODE_LARGEST_INNER] = (double)l.largest_inner;
        c[HN_CODE_ALIGNED_HEADS] = (double)l.n_aligned;
    }
    free(f);
    free(looped);
    return fine;
}

static void end_function(reader *r) {
    if (!r->open) return;
    r->open = false;
    while (r->n && (r->in[r->n - 1].is & IS_PADDING)) r->n--;
    r->failed |= !count_all(r);
    hn_hash_end(&r->hash, r->now.shape);
    char *text = hn_str_take(&r->listing);
    r->now.listing = hn_strdup(r->a, text ? text : "");
    r->failed |= !text;
    free(text);
    r->listing = (hn_str){0};
    r->now.callee = HN_NEW_N(r->a, const char *, r->now.n_callees + 1);
    if (r->now.callee) memcpy(r->now.callee, r->callee, r->now.n_callees * sizeof *r->callee);
    r->done = grown(r->a, r->done, r->n_done, &r->room_done, sizeof *r->done);
    if (r->done) r->done[r->n_done++] = r->now;
}

static void begin_function(reader *r, uint64_t start, const char *name, size_t n) {
    end_function(r);
    r->now = (hn_function){.name = hn_strndup(r->a, name, n), .start = start};
    r->n = 0;
    r->frame = false;
    r->open = true;
    hn_hash_begin(&r->hash);
}

/* Without "@plt" or "@GLIBC_2.2.5": by which way a library's function is reached is no matter of who is called. */
static void add_callee(reader *r, const char *name, size_t n) {
    const char *at = n ? memchr(name + 1, '@', n - 1) : NULL;
    if (at) n = (size_t)(at - name);
    for (size_t i = 0; i < r->now.n_callees; i++)
        if (strlen(r->callee[i]) == n && !memcmp(r->callee[i], name, n)) return;
    if (r->now.n_callees < CALLEES_MOST) r->callee[r->now.n_callees++] = hn_strndup(r->a, name, n);
}

/* --- lines ----------------------------------------------------------------------------------------------------------
 */

/* Hex digits; false when there are none. */
static bool read_hex(const char **p, uint64_t *out) {
    const char *s = *p;
    uint64_t v = 0;
    for (; isxdigit((unsigned char)*s); s++) {
        unsigned d = (unsigned)(isdigit((unsigned char)*s) ? *s - '0' : tolower((unsigned char)*s) - 'a' + 10);
        v = v << 4 | d;
    }
    if (s == *p) return false;
    *p = s;
    *out = v;
    return true;
}

/* "0000000000001139 <main>:" */
static bool read_head(reader *r, const char *line) {
    const char *p = line;
    uint64_t start;
    size_t n = strlen(line);
    if (!read_hex(&p, &start) || *p != ' ' || p[1] != '<' || n < 5 || strcmp(line + n - 2, ">:") != 0) return false;
    p += 2;
    begin_function(r, start, p, (size_t)(line + n - 2 - p));
    return true;
}

/* "55 48 89 e5  " (x86: bytes apart) or "a9be7bfd " (words): counts digits. */
static unsigned read_bytes(const char **p) {
    unsigned digits = 0;
    while (**p == ' ' || isxdigit((unsigned char)**p)) digits += *(*p)++ != ' ';
    return digits / 2;
}

/* The branch target "1180 <main+0x47>" at the end of args. Its name, without an offset, when it is a function's begin.
 */
static void read_target(const char *args, insn *x, const char **name, size_t *n_name) {
    const char *open = strrchr(args, '<'), *p;
    *n_name = 0;
    if (!open || open == args || open[-1] != ' ') return;
    for (p = open - 1; p > args && isxdigit((unsigned char)p[-1]);) p--;
    if (!read_hex(&p, &x->target)) return;
    size_t n = strcspn(open + 1, ">");
    if (memchr(open + 1, '+', n)) return;
    *name = open + 1;
    *n_name = n;
}

static void put_text(reader *r, const char *hashed, const char *shown) {
    hn_hash_text(&r->hash, hashed);
    if (r->listing.n >= LISTING_MOST) return;
    hn_str_add(&r->listing, shown);
    hn_str_add(&r->listing, "\n");
}

/* "0xfb4(%rip),%ymm0   # 2000 <half+0x20>": where data lies is the linker's affair, so its place does not count; shown
 * is the symbol, which of constants without a name is just a near one. */
static void add_data(reader *r, const char *op, const char *args, const char *rip, const char *symbol) {
    char hashed[LINE_MOST + 64], shown[LINE_MOST + 64];
    const char *from = rip;
    while (from > args && (isxdigit((unsigned char)from[-1]) || from[-1] == 'x' || from[-1] == '-')) from--;
    int before = (int)(from - args), tail = (int)strcspn(rip, " #"), name = (int)strcspn(symbol, "+>");
    snprintf(hashed, sizeof hashed, "%s %.*s%.*s", op, before, args, tail, rip);
    snprintf(shown, sizeof shown, "%s %.*s%.*s>%.*s", op, before, args, name, symbol, tail, rip);
    put_text(r, hashed, shown);
}

/* Text that two equal instructions share: targets inside the function as distances, others by name. */
static void add_text(reader *r, const insn *x, const char *op, const char *args) {
    char line[LINE_MOST + 64];
    const char *open = strrchr(args, '<'), *rip = strstr(args, "(%rip)");
    bool flow = x->is & (IS_JUMP | IS_CALL);
    if (rip && open && (!flow || *args == '*')) { /* a call by a table of the linker's is no matter of its place */
        add_data(r, op, args, rip, open);
        return;
    }
    if (flow && x->target && open && strchr(open, '+'))
        snprintf(line, sizeof line, "%s %+lld", op, (long long)(x->target - x->at));
    else if (flow && open)
        snprintf(line, sizeof line, "%s %s", op, open);
    else
        snprintf(line, sizeof line, "%s%s%s", op, *args ? " " : "", args);
    put_text(r, line, line);
}

static void add_insn(reader *r, insn x, char *text) {
    static const char *const prefix[] = {"rep", "repz", "repnz", "lock", "bnd", "notrack", "cs", "ds", "data16", "es"};
    text += strspn(text, " \t");
    char *op = text, *args = text + strcspn(text, " \t");
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix && *args; i++) {
        if (strlen(prefix[i]) != (size_t)(args - op) || strncmp(op, prefix[i], (size_t)(args - op)) != 0) continue;
        op = args + strspn(args, " \t");
        args = op + strcspn(op, " \t");
        i = SIZE_MAX; /* again: prefixes come in rows */
    }
    if (*args) *args++ = 0;
    args += strspn(args, " \t");
    for (size_t n = strlen(args); n && (args[n - 1] == ' ' || args[n - 1] == '\t'); n--) args[n - 1] = 0;
    x.is = r->arm ? kind_arm(op, args, r->frame, &x.width) : kind_x86(op, args, r->frame, &x.width);
    r->frame |= (x.is & IS_FRAME) != 0;
    const char *name;
    size_t n_name = 0;
    if (x.is & (IS_JUMP | IS_CALL)) read_target(args, &x, &name, &n_name);
    bool leaves = n_name && x.target != r->now.start; /* a jump to another function's begin is a call at the tail */
    if (leaves) {
        add_callee(r, name, n_name);
        x.is |= IS_CALL;
    }
    r->in = grown(r->a, r->in, r->n, &r->room, sizeof *r->in);
    if (!r->in) return;
    r->in[r->n++] = x;
    if (!(x.is & IS_PADDING)) add_text(r, &x, op, args);
}

/* "    1139:\t55                   \tpush   %rbp" */
static void read_insn(reader *r, char *line) {
    const char *p = line + strspn(line, " ");
    insn x = {0};
    if (!r->open || !read_hex(&p, &x.at) || *p != ':' || p[1] != '\t') return;
    p += 2;
    x.n_bytes = read_bytes(&p);
    if (*p != '\t') return; /* bytes alone: data in the code */
    add_insn(r, x, line + (p - line) + 1);
}

hone_rc hn_objdump_read(const char *text, size_t n, hn_arena *a, hn_disassembly *out, hone_err *err) {
    reader r = {.a = a};
    char line[LINE_MOST];
    for (size_t at = 0; at < n && !r.failed && hn_arena_ok(a);) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text - at) : n - at, kept = len < LINE_MOST - 1 ? len : LINE_MOST - 1;
        memcpy(line, text + at, kept);
        line[kept] = 0;
        at += len + 1;
        if (strstr(line, "file format")) r.arm = strstr(line, "aarch64") != NULL;
        if (!read_head(&r, line)) read_insn(&r, line);
    }
    end_function(&r);
    hn_str_free(&r.listing);
    if (r.failed || !hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory reading a disassembly");
    *out = (hn_disassembly){r.done, r.n_done};
    return HONE_OK;
}
