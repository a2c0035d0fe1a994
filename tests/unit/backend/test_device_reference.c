/* The reference emitter in devices' languages against the interpreter: every operation that has such a form, its
 * element types, its edges. As CUDA C compiled for this processor (attention, whose
 * threads wait for each other, by the shim), and by OpenCL, of which only a sample without HONE_LONG. */
#include "backend/device_lab.h"
#include "backend/gpu/gpu.h"
#include "backend/reference_lab.h"
#include "backend/reference_specs.inc"

/* Packed weights: the element type is the codec; rows of 256 elements. */
#define PACKED(row_b)                                                                                                  \
    "input %w : u8[20, " row_b "] \"c255\"\ninput %x : f32[3, 256] \"f\"\n"                                            \
    "%y = packed_dot %w, %x {shape = [3, 20], codec = $}\noutput %y \"y\"\n"
#define LOOKED_UP(row_b)                                                                                               \
    "input %w : u8[20, " row_b "] \"c255\"\ninput %i : i64[5] \"i20\"\n"                                               \
    "%y = packed_rows %w, %i {shape = [5, 256], codec = $, rows = 20}\noutput %y \"y\"\n"
static const spec packed_specs[] = {
    {"packed_dot_18", "q4_0 iq4_nl", "", PACKED("144")},
    {"packed_dot_34", "q8_0", "", PACKED("272")},
    {"packed_dot_20", "q4_1", "", PACKED("160")},
    {"packed_dot_22", "q5_0", "", PACKED("176")},
    {"packed_dot_17", "mxfp4", "", PACKED("136")},
    {"packed_dot_144", "q4_k", "", PACKED("144")},
    {"packed_dot_176", "q5_k", "", PACKED("176")},
    {"packed_dot_210", "q6_k", "", PACKED("210")},
    {"packed_rows_84", "q2_k", "", LOOKED_UP("84")},
    {"packed_rows_110", "q3_k", "", LOOKED_UP("110")},
    {"unpack", "q8_0", "",
     "input %w : u8[20, 272] \"c255\"\n%y = unpack %w {shape = [20, 256], codec = $, mode = exact}\n"
     "output %y \"y\"\n"},
    {"quantize_blocks", "f32", "",
     "input %x : $[7, 96] \"f\"\n%q, %d = quantize_blocks %x\noutput %q \"q\"\noutput %d \"d\"\n"},
    {"quantize_blocks_two", "auto int8x2", "",
     "input %x : f32[7, 96] \"f\"\n%y = mul %x, %x\n%z = mul %y, %y\n%q, %d = quantize_blocks %z {mode = $}\n"
     "output %q \"q\"\noutput %d \"d\"\n"},
};
enum { N_PACKED = sizeof packed_specs / sizeof *packed_specs };

/* Attention over blocks of keys: an item is a block of threads. The element type is that of the keys. */
#define ATTEND(n, heads, kv, size, rows, more)                                                                         \
    "input %q : f32[" n ", " heads ", " size "] \"f\"\ninput %k : $[" rows ", " kv ", " size "] \"dk\"\n"              \
    "input %v : $[" rows ", " kv ", " size "] \"dv\"\n"                                                                \
    "input %t : i64[3, 20] \"c2t\"\ninput %s : i64[" n "] \"c2s\"\ninput %p : i64[" n "] \"c319\"\n" more              \
    "\noutput %y \"y\"\n"
#define PLAIN(block) "%y = attend %q, %k, %v, %t, %s, %p {block = " block "}"
static const spec block_specs[] = {
    {"attend", "f32 f16 bf16 i8", "", ATTEND("3", "4", "2", "20", "48", PLAIN("16"))},
    {"attend_wide", "f32", "", ATTEND("2", "5", "1", "200", "48", PLAIN("16"))},
    {"attend_slabs", "f16", "", ATTEND("1", "1", "1", "530", "64", PLAIN("16"))},
    {"attend_window", "bf16", "",
     ATTEND("4", "2", "2", "16", "48", "%y = attend %q, %k, %v, %t, %s, %p {block = 16, window = 70}")},
    {"attend_cap", "f32", "",
     ATTEND("4", "2", "2", "64", "48", "%y = attend %q, %k, %v, %t, %s, %p {block = 16, softcap = 0x1.8p+2}")},
    {"attend_scaled", "i8", "",
     ATTEND("3", "6", "2", "64", "48",
            "input %ks : f32[48, 2] \"fk\"\ninput %vs : f32[48, 2] \"fv\"\n"
            "%y = attend %q, %k, %v, %t, %s, %p, %ks, %vs {block = 16}")},
    {"attend_symbols", "f32", "5", "symbol n in 0..\n" ATTEND("n", "4", "4", "32", "48", PLAIN("16"))},
};
enum { N_BLOCK = sizeof block_specs / sizeof *block_specs };

typedef struct kernel {
    const spec *of;
    char name[80], id[16];
    hn_graph *g;
    hn_arena a;
    hn_kernel_code code;
} kernel;
enum { KERNELS_MAX = 2000, SKIPPED = 1 };

static kernel *kernels;
static size_t n_kernels;
static device_lab device;

static void add(const spec *s, const char *type, const hn_dialect *d, hn_str *text, hn_str *helpers) {
    kernel *k = &kernels[n_kernels];
    char body[3000], whole[3010];
    hone_err err = {0};
    *k = (kernel){.of = s};
    fill_text(s->text, type, body);
    snprintf(whole, sizeof whole, "ir 1\n%s", body);
    snprintf(k->name, sizeof k->name, "%s/%s", s->name, type);
    snprintf(k->id, sizeof k->id, "k%zu", n_kernels);
    hone_rc rc = hn_parse(whole, strlen(whole), "test", &k->g, &err);
    if (!rc) rc = hn_emit_reference(k->g, 0, k->id, d, &k->a, &k->code, &err);
    if (rc) {
        ok(0, "%s/%s emitted", d->name, k->name);
        printf("# %s\n%s", err.text, whole);
        return;
    }
    const hn_blk *b = &k->g->block[0];
    uint32_t defined = 0;
    for (uint32_t i = 0; i < b->n_node; i++) defined += hn_defines_sizes(&k->g->node[b->node[i]]);
    hn_str_add(text, k->code.text);
    hn_str_addf(helpers, "%s ", k->code.helpers);
    if (!device.driver) cpp_entry(text, k->id, &k->code, b->n_param + b->n_result + defined);
    n_kernels++;
}

static hn_match_rule rule_of(hone_dtype t, bool of_blocks) {
    if (of_blocks) return (hn_match_rule){2e-3, 1e-6}; /* of exponentials of scores of some hundreds */
    double r = t == HONE_F64 ? 1e-13 : t == HONE_F32 ? 3e-7 : t == HONE_F16 ? 1e-3 : t == HONE_BF16 ? 8e-3 : 0;
    return (hn_match_rule){r, hn_is_float(t) ? 1e-30 : 0};
}

static size_t bytes_of(const kernel *k, const hn_type *t, hn_dim n, const int64_t *symbol) {
    int64_t x = 0;
    hn_dim_eval(k->g->dims, n, symbol, &x);
    return (size_t)x * hn_dtype_of(t->dtype)->size_b;
}

static bool run(kernel *k, const int64_t *symbol, uint64_t seed) {
    hn_rng r = hn_rng_make(seed, 0);
    hn_arena a = {0};
    hn_tensor want[LAB_PORTS];
    hone_err err = {0};
    lab_kernel same = {.g = k->g};
    lab_run x = {0};
    int64_t seen[LAB_SYMBOLS], work = 0, found = 0;
    size_t n_symbol = hn_dims_symbols(k->g->dims);
    const hn_blk *b = &k->g->block[0];
    device_job j = {.code = &k->code, .name = k->id, .slot = x.slot};
    memcpy(x.slot + 1, symbol, n_symbol * sizeof *symbol);
    lab_inputs(&same, symbol, &r, &x);
    hone_rc rc = hn_interpret(k->g, x.in, &a, want, seen, &err);
    size_t n_defined = lab_outputs(&same, symbol, &x);
    for (; j.n_buf < x.n_buf; j.n_buf++) j.buf[j.n_buf] = x.buf[j.n_buf];
    for (uint32_t i = 0; i < b->n_param; i++) j.size_b[i] = lab_size_b(x.in[i].dtype, hn_tensor_n(&x.in[i]));
    for (uint32_t i = 0; i < b->n_result; i++) {
        const hn_type *t = hn_type_of(k->g, b->result[i]);
        hn_dim room = hn_kernel_room(k->g, 0, i);
        j.size_b[b->n_param + i] = bytes_of(k, t, room ? room : hn_type_count(k->g, t), symbol);
    }
    if (n_defined) j.size_b[j.n_buf - 1] = 8;
    hn_dim_eval(k->g->dims, k->code.work, symbol, &work);
    hn_dim_eval(k->g->dims, k->code.scratch_b, symbol, &j.scratch_b);
    j.end = work;
    bool good = !rc && (!work || device_launch(&device, &j)) && x.slot[0] == 0;
    for (uint32_t i = 0; good && i < b->n_result; i++) {
        hn_tensor got = want[i];
        got.data = x.buf[b->n_param + i];
        hn_match m = hn_tensor_compare(&got, &want[i],
                                       rule_of(got.dtype, k->of >= block_specs && k->of < block_specs + N_BLOCK));
        good = m.same;
        if (!good)
            printf("# %s, result %u: %lld of %lld wrong, at %lld %.17g instead of %.17g\n", k->name, i,
                   (long long)m.n_wrong, (long long)hn_tensor_n(&got), (long long)m.at, hn_get_f(&got, m.at),
                   hn_get_f(&want[i], m.at));
    }
    if (n_defined) memcpy(&found, x.buf[x.n_buf - 1], 8);
    for (size_t s = 0; good && n_defined && s < n_symbol; s++)
        if (symbol[s] == INT64_MIN) good = found == seen[s];
    lab_release(&x);
    hn_arena_free(&a);
    return good;
}

/* One line of TAP per operation: all its element types. */
static void check_all(const char *target) {
    for (size_t i = 0, j; i < n_kernels; i = j) {
        bool good = true;
        for (j = i; j < n_kernels && kernels[j].of == kernels[i].of; j++) {
            int64_t symbol[LAB_SYMBOLS] = {0};
            read_symbols(kernels[j].of->symbols, symbol);
            for (uint64_t seed = 1; seed <= 2; seed++) {
                bool same = run(&kernels[j], symbol, seed * 1000 + j);
                if (good && !same && getenv("HONE_SHOW")) printf("%s\n", kernels[j].code.text);
                good = good && same;
            }
        }
        ok(good, "%s/%s", target, kernels[i].of->name);
    }
}

static void target(const char *name, const hnd_driver *driver, size_t step) {
    const hn_dialect *d = hn_dialect_named(name);
    const bool blocks_alone = driver == &hnd_shim;
    const char *only = getenv("HONE_CASE");
    hn_str text = {0}, helpers = {0};
    size_t at = 0;
    n_kernels = 0;
    if (!device_open(&device, d->backend, driver)) {
        skip(1, "%s/reference: %s", name, device.why);
        return;
    }
    for (size_t i = blocks_alone ? N_SPECS + N_PACKED : 0; i < N_SPECS + N_PACKED + N_BLOCK; i++) {
        const spec *s = i < N_SPECS              ? &specs[i]
                        : i < N_SPECS + N_PACKED ? &packed_specs[i - N_SPECS]
                                                 : &block_specs[i - N_SPECS - N_PACKED];
        if (!driver && i >= N_SPECS + N_PACKED) break; /* threads that wait for each other */
        char types[300], *save = NULL;
        snprintf(types, sizeof types, "%s", s->types);
        for (char *t = strtok_r(types, " ", &save); t; t = strtok_r(NULL, " ", &save))
            if (only ? strstr(s->name, only) != NULL
                     : at++ % step == 0 || (i >= N_SPECS && step < 10) || s == &block_specs[2] || s == &block_specs[5])
                add(s, t, d, &text, &helpers);
    }
    if (ok(device_build(&device, helpers.text ? helpers.text : "", &text), "%s/%zu kernels compile", name, n_kernels))
        check_all(name);
    for (size_t i = 0; i < n_kernels; i++) {
        hn_graph_free(kernels[i].g);
        hn_arena_free(&kernels[i].a);
    }
    hn_str_free(&text);
    hn_str_free(&helpers);
    device_close(&device);
}

static bool has(const spec *s, size_t n, const char *op) {
    char call[80];
    snprintf(call, sizeof call, "= %s ", op);
    for (size_t i = 0; i < n; i++)
        if (strstr(s[i].text, call)) return true;
    return false;
}
/* Every primitive is a case here. */
static void all_of_them(void) {
    int n = 0, all = 0;
    for (int op = 0; op < HN_N_OPS; op++) {
        const char *name = hn_op_of((hn_op)op)->text;
        hn_op_class c = hn_op_of((hn_op)op)->cls;
        if (c == HN_KERNEL || c == HN_CONTROL || c == HN_BIND) continue; /* the program's */
        all++;
        if (has(specs, N_SPECS, name) || has(packed_specs, N_PACKED, name) || has(block_specs, N_BLOCK, name))
            n++;
        else
            printf("# no case: %s\n", name);
    }
    ok(n == all, "device/%d of %d primitives have a form on devices", n, all);
}

int main(void) {
    bool whole = getenv("HONE_LONG") != NULL;
    kernels = calloc(KERNELS_MAX, sizeof *kernels);
    if (!kernels) return 2;
    all_of_them();
    target("cuda:sm_80", NULL, whole ? 1 : 6);
    target("cuda:sm_80", &hnd_shim, 1);
    target("opencl", &hnd_opencl, whole ? 2 : 41);
    free(kernels);
    return done_testing();
}
