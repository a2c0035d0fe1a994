/* Rewrites for machines with blocks of threads, from text to text, and what each refuses. What comes out holds the
 * invariants of a device, with the barriers that are derived. */
#include "base/str.h"
#include "nest/barrier.h"
#include "nest/device.h"
#include "nest/schedule.h"
#include "tap.h"

typedef struct device_case {
    const char *name, *in, *commands,
        *out; /* commands: "bind 0 2 8; share 1 1 8", by loop; out: a nest, or a refusal */
} device_case;

static hn_st nth_loop(const hn_nest *n, hn_st first, int *k) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        if ((*k)-- == 0) return id;
        hn_st in = nth_loop(n, n->st[id].body, k);
        if (in) return in;
    }
    return 0;
}

/* The k-th definition that is a load in the list. */
static hn_sv nth_load(const hn_nest *n, hn_st first, int *k) {
    for (hn_st id = first; id; id = n->st[id].next) {
        hn_sv in = n->st[id].kind == HN_ST_LOOP ? nth_load(n, n->st[id].body, k) : 0;
        if (in) return in;
        bool load = n->st[id].kind == HN_ST_LET && n->sv[n->st[id].value].kind == HN_SV_LOAD;
        if (load && (*k)-- == 0) return n->st[id].value;
    }
    return 0;
}

/* All threads of the group loops around. */
static hn_sharers sharers(hn_nest *n) {
    hn_sharers all = {hn_ix_int(n, 0), 1};
    int64_t e;
    for (hn_st s = 1; s < n->n_st; s++) {
        if (n->st[s].kind != HN_ST_LOOP || n->st[s].loop != HN_GROUP || !hn_ix_is_int(n, n->extent[n->st[s].var], &e))
            continue;
        all.at = hn_ix_add(n, hn_ix_scale(n, all.at, hn_dim_int(n->dims, e)), hn_ix_var(n, n->st[s].var));
        all.n *= e;
    }
    return all;
}

static bool command(hn_nest *n, const char *text, const char **why) {
    char name[20];
    int loop = 0, a = 1, b = 0;
    hn_buf acc;
    *why = "no such loop or command";
    if (sscanf(text, " %19s %d %d %d", name, &loop, &a, &b) < 1) return false;
    hn_st s = nth_loop(n, n->first, &loop);
    hn_sharers all = sharers(n);
    if (!strcmp(name, "tidy")) return hn_nest_sweep(n), hn_nest_tidy(n), true;
    if (!s) return false;
    if (!strcmp(name, "bind")) return hn_device_bind(n, s, a, b, NULL, why);
    if (!strcmp(name, "rows")) return hn_device_bind_rows(n, s, a, b, NULL, why);
    if (!strcmp(name, "share")) return hn_device_share(n, s, a, &all, NULL, why);
    if (!strcmp(name, "fold")) return hn_device_fold(n, s, a, &all, &acc, NULL, why);
    if (!strcmp(name, "pipeline")) return hn_device_pipeline(n, s, why);
    if (!strcmp(name, "ahead")) return hn_device_pipeline_copies(n, s, a, why);
    if (!strcmp(name, "specialise")) return hn_device_specialise(n, s, a, b, why);
    if (!strcmp(name, "cluster")) return hn_device_cluster(n, s, a, why);
    if (!strcmp(name, "swizzle")) return hn_device_swizzle(n, (hn_buf)a, b, why);
    bool copies = !strcmp(name, "copy");
    if (!copies && strcmp(name, "stage") != 0) return false;
    hn_sv load = nth_load(n, n->st[s].body, &a);
    return hn_device_stage(n, s, load, &all, &(hn_stage_how){{0}, b, copies}, NULL, why);
}

#define COPY "param p0 f32 24\nresult r0 f32 24\n"
#define COPY2 "for i0 < 4 {\n  for i1 < 6 {\n    %0 = load f32 p0[6*i0 + i1]\n    store r0[6*i0 + i1] %0\n  }\n}\n"
#define LOCAL                                                                                                          \
    "param p0 f32 24\nresult r0 f32 24\nlocal t0 f32 6\nfor i0 < 4 {\n  for i1 < 6 {\n    %0 = load f32 p0[6*i0 + "    \
    "i1]\n    store t0[i1] %0\n  }\n  for i2 < 6 {\n    %1 = load f32 t0[-1*i2 + 5]\n    store r0[6*i0 + i2] %1\n  "   \
    "}\n}\n"
#define GROUP_SUM                                                                                                      \
    "param p0 f32 m\nresult r0 f32 1\nreg a0 f32 1\n%0 = const f32 0x0p+0\nstore a0[0] %0\ngroup i0 < 8 {\n  for i1 "  \
    "< m {\n    %1 = load f32 p0[i1]\n    update a0[0] add %1\n  }\n  %2 = load f32 a0[0]\n  store r0[0] %2 if "       \
    "-1*i0\n}\n"
#define DOT                                                                                                            \
    "param p0 f32 64\nresult r0 f32 4\nparallel i0 < 2 {\n  group i1 < 2 {\n    reg a0 f32 1\n    %0 = const f32 "     \
    "0x0p+0\n    store a0[0] %0\n    for i2 < 4 {\n      for i3 < 4 {\n        %1 = load f32 p0[4*i2 + i3 + "          \
    "16*i1]\n        update a0[0] add %1\n      }\n    }\n    %2 = load f32 a0[0]\n    store r0[2*i0 + i1] %2\n  "     \
    "}\n}\n"

#define SHARED                                                                                                         \
    "param p0 f32 16\nresult r0 f32 16\nshared s0 f32 16\nparallel i0 < 1 {\n  group i1 < 4 {\n    group i2 < 4 {\n  " \
    " "                                                                                                                \
    "   %0 = load f32 p0[4*i1 + i2]\n      store s0[4*i1 + i2] %0\n      %1 = load f32 s0[i1 + 4*i2]\n      store "    \
    "r0[4*i1 + i2] %1\n    }\n  }\n}\n"
#define VECTORS                                                                                                        \
    "param p0 f32 16\nresult r0 f32 16\nshared s0 f32 16\nparallel i0 < 1 {\n  group i1 < 4 {\n    vector i2 < 4 {\n " \
    " "                                                                                                                \
    "    %0 = load f32 p0[4*i1 + i2]\n      store s0[4*i1 + i2] %0\n    }\n  }\n}\n"

/* Sums of products: factors contiguous along the steps, and along threads of which some have edges. */
#define SUM(type, index, edge)                                                                                         \
    "param p0 " type                                                                                                   \
    " 320\nresult r0 f32 16\nparallel i0 < 2 {\n  group i1 < 8 {\n    reg a0 f32 1\n    %0 = const f32 "               \
    "0x0p+0\n    store a0[0] %0\n    for i2 < 5 {\n      for i3 < 4 {\n        %1 = load " type " p0[" index "]" edge  \
    "\n        %2 = cast f32 %1\n        update a0[0] add %2\n      }\n    }\n    %3 = load f32 a0[0]\n    store "     \
    "r0[8*i0 + i1] %3\n  }\n}\n"

#define SUM64(guard)                                                                                                   \
    "param p0 f32 2560\nresult r0 f32 128\nparallel i0 < 2 {\n  group i1 < 64 {\n    reg a0 f32 1\n    %0 = const "    \
    "f32 "                                                                                                             \
    "0x0p+0\n    store a0[0] %0\n    for i2 < 5 {\n      for i3 < 4 {\n        %1 = load f32 p0[512*i2 + 128*i3 + "    \
    "64*i0 + i1]" guard                                                                                                \
    "\n        update a0[0] add %1\n      }\n    }\n    %2 = load f32 a0[0]\n    store r0[64*i0 + "                    \
    "i1] %2\n  }\n}\n"

/* A ring of two stages; what the consumer waits for, reads and tells. */
#define RING(turns, full, load, empty)                                                                                 \
    "param p0 f32 64\nresult r0 f32 64\nshared s0 f32 32\ngate g0 i64 2\ngate g1 i64 2\nrole i0 < 1 {\n  group i1 < "  \
    "4 {\n"                                                                                                            \
    "    for i2 < 4 {\n      await g1[mod(i2, 2)] phase mod(floordiv(i2, 2) + 1, 2)\n      copy s0[4*i1 + 16*mod(i2, " \
    "2)] p0[4*i1 + 16*i2] 4\n      arrive g0[mod(i2, 2)] copies\n    }\n  }\n}\nrole i3 < 1 {\n  group i4 < 16 {\n"    \
    "    for i5 < " turns " {\n      await g0[" full "\n      %0 = load f32 s0[" load "]\n      store r0[i4 + 16*i5] " \
    "%0\n      arrive g1[" empty "]\n    }\n  }\n}\n"
#define IN_PHASE "mod(i5, 2)] phase mod(floordiv(i5, 2), 2)"
#define IN_STAGE "-1*i4 + 16*mod(i5, 2) + 15"

/* Sums of what all blocks read, beside what each has of its own; `turns` copies of a thread for a step. */
#define SAME_SUM(blocks, turns)                                                                                        \
    "param p0 f32 2560\nparam p1 f32 192\nresult r0 f32 192\nparallel i0 < " blocks                                    \
    " {\n  group i1 < 64 {\n    reg a0 f32 1\n    %0 = const f32 0x0p+0\n    store a0[0] %0\n    for i2 < 5 {\n      " \
    "for i3 < " turns                                                                                                  \
    " {\n        %1 = load f32 p0[512*i2 + 64*i3 + i1]\n        update a0[0] add %1\n      }\n    }\n"                 \
    "    %2 = load f32 a0[0]\n    %3 = load f32 p1[64*i0 + i1]\n    %4 = add f32 %2 %3\n    store r0[64*i0 + i1] "     \
    "%4\n  }\n}\n"

/* A cluster; what stands in its places. */
#define CLUSTER(blocks, beside, body)                                                                                  \
    "param p0 f32 64\nresult r0 f32 64\nshared s0 f32 64\nparallel i0 < 1 {\n" beside "  cluster i1 < " blocks         \
    " {\n    group i2 < 8 {\n" body "    }\n  }\n}\n"
#define MOVED "      copy s0[32*i1 + 4*i2] p0[32*i1 + 4*i2] 4\n      commit\n      wait 0\n"
#define USED                                                                                                           \
    "      for i3 < 4 {\n        %0 = load f32 s0[-32*i1 + -4*i2 + i3 + 60]\n        store r0[32*i1 + 4*i2 + i3] "     \
    "%0\n      }\n"

static const device_case cases[] = {
#include "device_cases.inc"
};

static char *transformed(const device_case *c) {
    hn_arena a = {0};
    hn_dims *dims = hn_dims_new(&a);
    hn_nest *n;
    hone_err err = {0};
    hn_str out = {0};
    const char *failed = NULL;
    if (hn_nest_parse(c->in, &a, dims, &n, &err) != HONE_OK) {
        hn_str_add(&out, err.text);
    } else {
        char *list = strdup(c->commands), *save = NULL;
        for (char *t = strtok_r(list, ";", &save); t && !failed; t = strtok_r(NULL, ";", &save)) {
            const char *why = NULL;
            if (!command(n, t, &why)) failed = why;
        }
        free(list);
        if (failed)
            hn_str_add(&out, failed);
        else if (hn_nest_verify(n, &err) || hn_nest_barriers(n, &err) || hn_nest_verify_device(n, NULL, &err))
            hn_str_add(&out, err.text);
        else
            hn_nest_print(n, &out);
    }
    hn_arena_free(&a);
    return out.text;
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = transformed(&cases[i]);
        if (argc > 1 && !strcmp(argv[1], cases[i].name)) fputs(got, stderr);
        is_text(got, cases[i].out, cases[i].name);
        free(got);
    }
    return done_testing();
}
