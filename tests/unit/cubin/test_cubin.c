/* Device code: classes, control words, texts of the tools, ELF files, occupancy; and with CUDA's tools, where they are
 * installed, the whole way from PTX. */
#include "base/fs.h"
#include "cubin/cubin.h"
#include "cubin/opcodes.h"
#include "cubin/tools.h"
#include "proc/temp.h"

#include <elf.h>
#include <math.h>
#include <unistd.h>

#include "tap.h"

/* --- instructions ------------------------------------------------------------------------------------------------- */

static void test_classes(void) {
    static const struct {
        const char *text, *metric;
        unsigned bytes;
    } c[] = {
        {"LDG.E.128 R4, desc[UR6][R4.64]", "global_loads", 16},
        {"@!P0 LDG.E.U8.CONSTANT R0, [R2.64]", "global_loads", 1},
        {"@P1 STG.E desc[UR4][R4.64], R3", "global_stores", 4},
        {"STL.64 [R1+0x160], R2", "local_stores", 8},
        {"LDSM.16.M88.4 R8, [R20]", "shared_loads", 16},
        {"LDSM.16.MT88.2 R8, [R20]", "shared_loads", 8},
        {"LDGSTS.E.BYPASS.128 [R5], [R2.64]", "async", 16},
        {"ULDC.64 UR4, c[0x0][0x208]", "constant_loads", 8},
        {"HMMA.16816.F32 R4, R8, R12, R4", "tensor", 0},
        {"HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], R24", "tensor", 0},
        {"UTMALDG.2D [UR8], [UR4], desc[UR6]", "async", 0},
        {"IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]", "move", 0},
        {"IMAD.WIDE.U32 R2, R7, 0x4, R2", "integer", 0},
        {"@!UP0 UIADD3 UR4, UR4, 0x1, URZ", "uniform", 0},
        {"BAR.SYNC.DEFER_BLOCKING 0x0", "barrier", 0},
        {"MUFU.RSQ R7, R7", "special", 0},
        {"REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR8][R2.64], R7", "atomics", 0},
        {"EXIT", "control", 0},
        {"FROBNICATE.X R1", "other", 0},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        unsigned bytes;
        hn_code_metric m = hn_sass_class(c[i].text, &bytes);
        ok(!strcmp(hn_code_metric_at(m)->name, c[i].metric) && bytes == c[i].bytes, "sass/class: %s is %s, %u bytes",
           c[i].text, hn_code_metric_at(m)->name, bytes);
    }
    ok(!hn_sass_known("FROBNICATE.X R1") && hn_sass_known("@P0 FADD R1, R2, R3"), "sass/known_opcodes");
}

/* Words that ptxas wrote, with what the instructions around them say: LDC writes R1 and releases barrier 0 or 1, the
 * next reader of it waits for that; operands marked .reuse are kept. */
static void test_control_words(void) {
    hn_control_word load = hn_sass_control(0x000e620000000a00), user = hn_sass_control(0x002fcc00078e0204),
                    keeps = hn_sass_control(0x042fe200078e00ff), store = hn_sass_control(0x0003e60000100800);
    ok(load.write_barrier == 1 && load.read_barrier == 7 && !load.wait_mask, "control/load_releases_barrier_1");
    ok(user.wait_mask == 1 << 1 && user.stall == 6 && user.write_barrier == 7, "control/reader_waits_for_it");
    ok(keeps.reuse == 1, "control/operand_is_kept");
    ok(store.read_barrier == 1 && store.write_barrier == 7 && store.stall == 3, "control/store_releases_by_reading");
}

static char *corpus(const char *name, size_t *n) {
    const char *root = getenv("HONE_ROOT");
    char path[600], *text = NULL;
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/cubin/%s", root ? root : ".", name);
    return hn_read_file(path, &text, n, NULL) ? NULL : text;
}

static double of(const hn_gpu_kernel *k, const char *name) { return k->value[hn_code_metric_find(name)]; }

static void test_listing(void) {
    static const struct {
        const char *file, *metric;
        double want;
    } c[] = {
        {"listing_sm90.txt", "instructions", 33}, {"listing_sm90.txt", "global_loads", 1},
        {"listing_sm90.txt", "shared_stores", 1}, {"listing_sm90.txt", "shared_loads", 1},
        {"listing_sm90.txt", "atomics", 1},       {"listing_sm90.txt", "special", 1},
        {"listing_sm90.txt", "global_bytes", 16}, {"listing_sm90.txt", "shared_bytes", 8},
        {"listing_sm90.txt", "barrier", 1},       {"listing_sm90.txt", "live_registers", 8},
        {"listing_sm90.txt", "live_uniform", 5},  {"listing_sm90.txt", "other", 0},
        {"listing_sm80.txt", "global_loads", 1},  {"listing_sm80.txt", "other", 0},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_arena a = {0};
        size_t n = 0;
        char *text = corpus(c[i].file, &n);
        hn_sass_text t = {0};
        hn_gpu_kernel k = {.name = "small"};
        bool read = text && !hn_sass_read(text + 1, n - 1, &a, &t, NULL);
        for (unsigned m = 0; m < HN_N_CODE_METRICS; m++) k.value[m] = NAN;
        hn_sass_count(t.line, t.n, &a, &k);
        ok(read && t.n_sections == 1 && !strcmp(t.section[0], "small") && of(&k, c[i].metric) == c[i].want,
           "listing/%s %s is %g", c[i].file, c[i].metric, of(&k, c[i].metric));
        double sum = 0;
        for (unsigned m = HN_SASS_FIRST; m < HN_N_CODE_METRICS; m++) sum += k.value[m];
        if (!i) ok(sum == of(&k, "instructions"), "listing/classes_cover_all");
        free(text);
        hn_arena_free(&a);
    }
}

/* --- texts of the tools ------------------------------------------------------------------------------------------- */

/* Instructions of a listing, learnt, written as a text and recalled from their bytes with other registers; a kind of
 * two classes is never recalled. */
static void test_memo(void) {
    size_t n = 0;
    char *text = corpus("listing_sm90.txt", &n);
    hn_arena a = {0};
    hn_opcodes m = {.a = &a};
    hn_sass_text t = {0};
    hn_sass *line = NULL;
    ok(text && !hn_sass_read(text, n, &a, &t, NULL) && t.n, "memo/listing");
    ok(!hn_opcodes_recall(&m, (const char *)t.line[0].word, 16, &line), "memo/nothing_is_known_at_first");
    hn_opcodes_learn(&m, t.line, t.n);
    bool same = m.n > 0;
    for (size_t i = 0; i < t.n; i++) {
        uint64_t w[2] = {t.line[i].word[0], t.line[i].word[1] ^ UINT64_C(0x1f) << 41}; /* another stall */
        unsigned x, y;
        if ((w[0] >> 16 & 255) != 255) w[0] ^= 1 << 16; /* another register */
        same = same && hn_opcodes_recall(&m, (const char *)w, 16, &line) && line[0].word[1] == w[1] &&
               hn_sass_class(line[0].text, &x) == hn_sass_class(t.line[i].text, &y) && x == y;
    }
    ok(same, "memo/classes_are_recalled");
    hn_sass other = t.line[0];
    other.text = hn_sass_class(other.text, NULL) == HN_SASS_FP64 ? "FADD R1, R2, R3" : "DADD R2, R4, R6";
    hn_opcodes_learn(&m, &other, 1);
    ok(!hn_opcodes_recall(&m, (const char *)other.word, 16, &line), "memo/two_classes_are_none");
    static const char damaged[] = "hone-opcodes 1\n12\n12 x\nzz FADD\n5 FADD\n6 DADD";
    hn_opcodes d = {.a = &a};
    hn_opcodes_read(damaged, sizeof damaged - 1, &d);
    ok(d.n == 1 && d.kind[0].key == 5, "memo/damaged_lines_are_passed_over");
    hn_arena_free(&a);
    free(text);
}

static void test_texts(void) {
    size_t n = 0, m = 0;
    char *usage = corpus("usage.txt", &n), *ptxas = corpus("ptxas.txt", &m);
    hn_gpu_kernel k[] = {{.name = "small"}, {.name = "_Z5mixedPf"}};
    hn_cubin c = {.sm = 90, .kernel = k, .n = 2};
    k[1].value[HN_GPU_SPILLS] = NAN;
    if (usage) hn_usage_read(usage + 1, n - 1, &c);
    if (ptxas) hn_ptxas_read(ptxas + 1, m - 1, &c);
    ok(of(&k[0], "registers") == 12 && of(&k[0], "shared") == 512 && of(&k[0], "constants") == 548,
       "usage/registers_shared_constants, without what is reserved");
    ok(of(&k[1], "spills") == 1564 + 1644 && of(&k[1], "spill_loads") == 1644 && of(&k[0], "spills") == 0,
       "ptxas/spills");
    ok(of(&k[0], "warnings") == 2 && of(&k[1], "warnings") == 3, "ptxas/warnings: %g and %g", of(&k[0], "warnings"),
       of(&k[1], "warnings"));
    free(usage);
    free(ptxas);
}

static void test_names(void) {
    hn_gpu_kernel k = {.name = "_Z7softmaxPfS_i"}, deep = {.name = "_ZN2ns4deepILi4EEEvPf"},
                  plain = {.name = "gemm_v2"};
    ok(hn_gpu_kernel_is(&k, "softmax") && hn_gpu_kernel_is(&k, "_Z7softmaxPfS_i") && !hn_gpu_kernel_is(&k, "soft"),
       "names/mangled");
    ok(hn_gpu_kernel_is(&deep, "deep") && hn_gpu_kernel_is(&deep, "ns::deep") && hn_gpu_kernel_is(&deep, "ns::*"),
       "names/in_namespaces");
    ok(hn_gpu_kernel_is(&plain, "gemm_*") && !hn_gpu_kernel_is(&plain, "gemm"), "names/patterns");
    ok(hn_code_metric_find("registers") == HN_GPU_REGISTERS && hn_code_metric_find("nothing") == HN_N_CODE_METRICS,
       "names/of_metrics");
}

/* --- occupancy ---------------------------------------------------------------------------------------------------- */

static void test_occupancy(void) {
    static const struct {
        unsigned sm, registers, threads;
        uint64_t shared_b;
        unsigned barriers, blocks;
        double occupancy;
        const char *limit;
    } c[] = {
        {90, 48, 256, 8602, 1, 5, 0.625, "registers"}, /* 8.4 KiB: the worked example for compute capability 9.0 */
        {90, 168, 384, 200 << 10, 0, 1, 0.1875, "registers"}, /* a warp-specialised product */
        {80, 32, 256, 0, 0, 8, 1, "warps"},
        {80, 33, 256, 0, 0, 6, 0.75, "registers"},
        {80, 16, 32, 0, 0, 32, 0.5, "blocks"},
        {86, 16, 32, 0, 0, 16, 16.0 / 48, "blocks"},
        {86, 32, 256, 0, 0, 6, 1, "warps"},
        {89, 40, 128, 48 << 10, 0, 2, 8.0 / 48, "shared memory"},
        {100, 255, 256, 0, 0, 1, 0.125, "registers"},
        {120, 255, 1024, 0, 0, 0, 0, "registers"},
        {90, 16, 256, 228 << 10, 0, 0, 0, "shared memory"},
        {90, 16, 2048, 0, 0, 0, 0, "threads"},
        {86, 16, 32, 0, 16, 1, 1.0 / 48, "barriers"},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_occupancy o = {0};
        bool known = hn_occupancy_of(c[i].sm, c[i].registers, c[i].threads, c[i].shared_b, c[i].barriers, &o);
        ok(known && o.blocks == c[i].blocks && (double)o.warps / o.most_warps == c[i].occupancy &&
               !strcmp(o.limit, c[i].limit),
           "occupancy/sm_%u %u registers %u threads: %u blocks, %g, %s", c[i].sm, c[i].registers, c[i].threads,
           o.blocks, (double)o.warps / o.most_warps, o.limit);
    }
    hn_occupancy o;
    ok(!hn_occupancy_of(70, 32, 256, 0, 0, &o), "occupancy/unknown_architecture");
    ok(strstr(hn_occupancy_known(), "90 ") && strstr(hn_occupancy_known(), "80 "), "occupancy/known: %s",
       hn_occupancy_known());
}

/* --- with the tools ----------------------------------------------------------------------------------------------- */

static const char ptx[] =
    ".version 8.0\n.target %s\n.address_size 64\n"
    ".visible .entry copy(.param .u64 a, .param .u64 b) .maxntid 64, 2, 1 {\n"
    ".reg .b64 %%rd<8>; .reg .b32 %%r<4>;\n"
    "ld.param.u64 %%rd1, [a]; ld.param.u64 %%rd2, [b]; mov.u32 %%r1, %%tid.x;\n"
    "mul.wide.u32 %%rd3, %%r1, 4; add.s64 %%rd4, %%rd1, %%rd3; add.s64 %%rd5, %%rd2, %%rd3;\n"
    "ld.global.u32 %%r2, [%%rd4]; st.global.u32 [%%rd5], %%r2; ret; }\n"
    ".visible .entry quiet() { ret; }\n"
    ".visible .entry uses(.param .u64 a) {\n"
    ".shared .align 4 .b8 s[512]; .local .align 4 .b8 l[64]; .reg .b64 %%rd<8>; .reg .b32 %%r<8>;\n"
    "ld.param.u64 %%rd1, [a]; mov.u32 %%r1, %%tid.x; and.b32 %%r1, %%r1, 15; shl.b32 %%r2, %%r1, 2;\n"
    "mov.u32 %%r3, s; add.u32 %%r4, %%r3, %%r2; st.shared.u32 [%%r4], %%r1; mov.u64 %%rd2, l;\n"
    "cvt.u64.u32 %%rd3, %%r2; add.s64 %%rd4, %%rd2, %%rd3; st.local.u32 [%%rd4], %%r1; bar.sync 0;\n"
    "ld.local.u32 %%r5, [%%rd2+4]; ld.shared.u32 %%r6, [%%r3+8]; add.u32 %%r5, %%r5, %%r6;\n"
    "st.global.u32 [%%rd1], %%r5; ret; }\n";

static void write_ptx(const char *path, const char *arch) {
    char text[4000];
    int n = snprintf(text, sizeof text, ptx, arch);
    if (hn_write_file(path, text, (size_t)n, NULL)) exit(1);
}

static const hn_gpu_kernel *kernel(const hn_cubin *c, const char *name) {
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->kernel[i].name, name)) return &c->kernel[i];
    return NULL;
}

/* What a cubin says of itself is what cuobjdump says of it. */
static void test_usage(const char *path, hn_arena *a) {
    static const hn_code_metric m[] = {HN_GPU_REGISTERS, HN_GPU_STACK, HN_GPU_SHARED, HN_GPU_LOCAL, HN_GPU_CONSTANTS};
    const char *const argv[] = {"-res-usage", path, NULL};
    hn_tool_run run = {.tool = HN_CUOBJDUMP, .argv = argv};
    hone_err err = {0};
    char *data = NULL;
    size_t n = 0, same = 0;
    hn_cubin own, told;
    hone_rc rc = hn_tool_text(&run, a, &err);
    if (!rc) rc = hn_read_file(path, &data, &n, &err);
    if (!rc) rc = hn_cubin_elf(data, n, path, a, &own, &err);
    if (!rc) rc = hn_cubin_elf(data, n, path, a, &told, &err);
    for (size_t i = 0; !rc && i < told.n; i++)
        for (size_t k = 0; k < 5; k++) told.kernel[i].value[m[k]] = NAN;
    if (!rc) hn_usage_read(run.out, run.out_n, &told);
    for (size_t i = 0; !rc && i < told.n; i++)
        for (size_t k = 0; k < 5; k++) same += own.kernel[i].value[m[k]] == told.kernel[i].value[m[k]];
    ok(!rc && own.has_usage && own.n == 3 && same == 15, "tools/usage_as_cuobjdump_says: %zu of 15 %s", same, err.text);
    const hn_gpu_kernel *k = rc ? NULL : kernel(&own, "uses");
    ok(k && of(k, "shared") == 512 && of(k, "constants") > 0, "tools/usage");
    free(data);
}

/* A batch of three: two architectures, and one that is no code. Then one with live registers: the same counts. */
static void test_tools(void) {
    hn_temp dir = {0};
    hn_arena a = {0};
    if (hn_temp_make(NULL, "cubin-", &dir, NULL)) exit(1);
    char *p[3] = {hn_path_join(dir.path, "a.ptx"), hn_path_join(dir.path, "b.ptx"), hn_path_join(dir.path, "none.txt")};
    write_ptx(p[0], "sm_90"), write_ptx(p[1], "sm_80");
    if (hn_write_file(p[2], "nothing\n", 8, NULL)) exit(1);
    const char *const path[] = {p[0], p[1], p[2]};
    hn_code_ask ask = {.dir = dir.path};
    hn_cubin c[3], live;
    hone_rc rc[3];
    hone_err each[3] = {{0}}, err = {0};
    hone_rc all = hn_cubin_read_all(path, NULL, 3, &ask, &a, c, rc, each, &err);
    ok(!all && !rc[0] && !rc[1] && rc[2], "tools/batch: %s%s%s", err.text, each[0].text, each[1].text);
    ok(strstr(each[2].text, "none.txt"), "tools/no_code_is_said: %s", each[2].text);
    if (!all && !rc[0] && !rc[1]) {
        const hn_gpu_kernel *k = kernel(&c[0], "copy"), *quiet = kernel(&c[0], "quiet");
        ok(c[0].sm == 90 && c[1].sm == 80 && c[0].n == 3 && k && quiet, "tools/kernels");
        ok(k->entry && k->threads == 128 && of(k, "registers") > 2 && of(k, "global_loads") == 1 &&
               of(k, "global_bytes") == 8 && of(k, "spills") == 0 && of(k, "occupancy") == 1,
           "tools/figures");
        ok(of(quiet, "global_loads") == 0 && of(quiet, "instructions") < of(k, "instructions"), "tools/each_its_own");
        for (int i = 0; i < 2; i++) {
            char *cubin = hn_path_join(dir.path, i ? "1.cubin" : "0.cubin");
            test_usage(cubin, &a);
            free(cubin);
        }
        ok(isnan(of(k, "live_registers")), "tools/live_registers_only_when_asked");
        ask.live = ask.listing = true;
        hone_rc one = hn_cubin_read(path[0], NULL, &ask, &a, &live, &err);
        const hn_gpu_kernel *again = one ? NULL : kernel(&live, "copy");
        ok(again && of(again, "live_registers") > 0 && again->listing && strstr(again->listing, "LDG"),
           "tools/live: %s", err.text);
        bool same = again != NULL;
        for (unsigned m = 0; again && m < HN_N_CODE_METRICS; m++)
            if (!isnan(k->value[m]) && k->value[m] != again->value[m]) same = false;
        ok(same, "tools/both_ways_count_the_same");
    }
    for (size_t i = 0; i < 3; i++) free(p[i]);
    hn_arena_free(&a);
    hn_temp_free(&dir);
}

/* --- ELF ---------------------------------------------------------------------------------------------------------- */

/* One kernel of 32 bytes, its symbol and its launch bounds of 64 * 4 threads. */
static size_t make_elf(char *out) {
    static const char names[] = "\0.shstrtab\0.text.k\0.nv.info.k\0.symtab\0.strtab\0k";
    static const unsigned char attr[] = {2, 0x4c, 3, 0, 4, 5, 12, 0, 64, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0};
    Elf64_Sym sym[2] = {{0}, {.st_name = 46, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10}};
    Elf64_Shdr s[6] = {{0}};
    Elf64_Ehdr h = {.e_machine = 190, .e_shentsize = sizeof *s, .e_shnum = 6, .e_shstrndx = 1, .e_flags = 0x6005a04};
    size_t at = sizeof h;
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64, h.e_ident[EI_DATA] = ELFDATA2LSB, h.e_ident[EI_ABIVERSION] = 8;
    const struct {
        unsigned name, type;
        const void *data;
        size_t n;
    } part[] = {{1, SHT_STRTAB, names, sizeof names},
                {11, SHT_PROGBITS, attr, 16},
                {19, SHT_LOPROC, attr, sizeof attr},
                {30, SHT_SYMTAB, sym, sizeof sym},
                {38, SHT_STRTAB, names, sizeof names}};
    for (unsigned i = 0; i < 5; i++) {
        s[i + 1] =
            (Elf64_Shdr){.sh_name = part[i].name, .sh_type = part[i].type, .sh_offset = at, .sh_size = part[i].n};
        memcpy(out + at, part[i].data, part[i].n);
        at += part[i].n;
    }
    s[4].sh_link = 5;
    h.e_shoff = at;
    memcpy(out + at, s, sizeof s);
    memcpy(out, &h, sizeof h);
    return at + sizeof s;
}

static void test_elf(void) {
    char image[2000];
    size_t n = make_elf(image), safe = 0;
    hn_arena a = {0};
    hn_cubin c = {0};
    hone_err err = {0};
    hone_rc rc = hn_cubin_elf(image, n, "x.cubin", &a, &c, &err);
    ok(!rc && c.sm == 90 && c.n == 1 && !strcmp(c.kernel[0].name, "k") && c.kernel[0].entry, "elf/kernel: %s",
       err.text);
    ok(!rc && c.kernel[0].threads == 256 && c.kernel[0].barriers == 3 && c.kernel[0].value[HN_GPU_CODE] == 16,
       "elf/launch_bounds");
    for (size_t k = 0; k < n; k++) {
        char *cut = malloc(k + 1); /* of its own, so that ASan sees what is read beyond */
        if (!cut) exit(1);
        memcpy(cut, image, k);
        safe += hn_cubin_elf(cut, k, "x.cubin", &a, &c, &err) == HONE_E_INPUT;
        free(cut);
    }
    ok(safe == n && strstr(err.text, "'x.cubin'"), "elf/cut_anywhere_is_refused: %s", err.text);
    hn_arena_free(&a);
}

int main(void) {
    test_classes();
    test_control_words();
    test_listing();
    test_memo();
    test_texts();
    test_names();
    test_occupancy();
    test_elf();
    if (hn_code_tool_present(HN_CUOBJDUMP) && hn_code_tool_present(HN_NVDISASM) && hn_code_tool_present(HN_PTXAS))
        test_tools();
    else
        skip(7, "cuobjdump, nvdisasm or ptxas is not installed");
    return done_testing();
}
