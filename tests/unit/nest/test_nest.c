/* Loop nests as text: what is read prints the same, what breaks an invariant is refused, and schedules are rewrites
 * from text to text. */
#include "base/str.h"
#include "nest/barrier.h"
#include "nest/schedule.h"
#include "sketch/sketch.h"
#include "tap.h"

typedef struct text_case {
    const char *name, *in, *commands, *out; /* out: NULL for the same as in; commands: "split 0 8; vector 1", by loop */
} text_case;

/* Loops are numbered in the order of the text. */
static hn_st nth_loop(const hn_nest *n, hn_st first, int *k) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        if ((*k)-- == 0) return id;
        hn_st in = nth_loop(n, n->st[id].body, k);
        if (in) return in;
    }
    return 0;
}

static bool command(hn_nest *n, const char *text, const char **why) {
    char name[20];
    int loop = 0, f = 0, u = 1;
    hn_st part[3];
    hn_ix zero = hn_ix_int(n, 0);
    if (sscanf(text, " %19s %d %d %d", name, &loop, &f, &u) < 1) return false;
    int at = loop;
    hn_st s = nth_loop(n, n->first, &at);
    *why = "no such loop or command";
    if (!strcmp(name, "tidy")) return hn_nest_tidy(n), true;
    if (!strcmp(name, "digits")) return hn_nest_digits(n), true;
    if (!strcmp(name, "sums")) return hn_nest_block_sums(n, loop), true;
    if (!strcmp(name, "interleaved")) return hn_schedule_default(n, 8, 16) != NULL;
    if (!strcmp(name, "default")) return hn_schedule_default(n, 4, 16) != NULL;
    if (!strcmp(name, "barriers") || !strcmp(name, "device")) {
        static hone_err err;
        hn_machine m = {.threads = loop, .shared_b = f};
        *why = err.text;
        return !strcmp(name, "device") ? !hn_nest_verify_device(n, &m, &err) : !hn_nest_barriers(n, &err);
    }
    if (!s) return false;
    if (!strcmp(name, "split")) return hn_loop_split(n, s, f, NULL, NULL, why);
    if (!strcmp(name, "overlap")) return hn_loop_overlap(n, s, f, u, zero, &part[0], &part[1], NULL, why);
    if (!strcmp(name, "chunk")) return hn_loop_chunk(n, s, f, NULL, why);
    if (!strcmp(name, "blocks")) return hn_loop_blocks(n, s, f, NULL, NULL, why);
    if (!strcmp(name, "sink")) return hn_loop_sink(n, s, why);
    if (!strcmp(name, "stage")) return hn_loop_stage(n, s, why);
    if (!strcmp(name, "slice")) return hn_loop_slice(n, s, f, part, why);
    if (!strcmp(name, "prefetch")) return hn_loop_prefetch(n, s, f, 1, hn_ix_int(n, 64), u, 16, why);
    if (!strcmp(name, "collapse")) return hn_loop_collapse(n, s, why);
    if (!strcmp(name, "fuse")) return hn_loop_fuse(n, s, why);
    if (!strcmp(name, "swap")) return hn_loop_swap(n, s, why);
    if (!strcmp(name, "vector")) return hn_loop_vectorise(n, s, why);
    if (!strcmp(name, "unroll")) return hn_loop_unroll(n, s, why);
    if (!strcmp(name, "parallel")) return hn_loop_parallelise(n, s, why);
    if (!strcmp(name, "join")) return hn_loop_join(n, s, why);
    if (!strcmp(name, "own")) return hn_loop_own(n, s, why);
    if (!strcmp(name, "rfactor")) return hn_loop_rfactor(n, s, f, u, why);
    if (!strcmp(name, "peel")) return hn_loop_peel(n, s, NULL, why);
    if (!strcmp(name, "unbend")) return hn_loop_unbend(n, s, NULL, why);
    if (!strcmp(name, "trim")) return hn_loop_trim(n, s, why);
    if (!strcmp(name, "words")) return hn_loop_words(n, s, why);
    if (!strcmp(name, "pairs")) return hn_loop_pairs(n, s, why);
    if (!strcmp(name, "part_pairs")) return hn_nest_part_pairs(n, s), true;
    if (!strcmp(name, "repeat")) return hn_loop_repeat(n, s, why);
    return false;
}

#define COPY "param p0 f32 24\nresult r0 f32 24\n"
#define LOOP "for i0 < 24 {\n  %0 = load f32 p0[i0]\n  store r0[i0] %0\n}\n"
#define ROWS "param p0 f32 m*n\nresult r0 f32 n\n"
#define SUM                                                                                                            \
    "for i0 < n {\n  reg a0 f32 1\n  %0 = const f32 0x0p+0\n  store a0[0] %0\n  for i1 < m {\n"                        \
    "    %1 = load f32 p0[(m)*i0 + i1]\n    update a0[0] add %1\n  }\n  %2 = load f32 a0[0]\n  store r0[i0] %2\n}\n"
/* A sum of products of bytes: where those of p0 lie and under which condition, where those of p1 lie, what is added. */
#define BYTES(x, w, add)                                                                                               \
    "param p0 u8 32\nparam p1 i8 32\nresult r0 i32 3\nfor i0 < 3 {\n  reg a0 i32 1\n  %0 = const i32 0\n"              \
    "  store a0[0] %0\n  for i1 < 8 {\n    %1 = load u8 p0[" x "\n    %2 = cast i32 %1\n    %3 = load i8 p1[" w        \
    "]\n    %4 = cast i32 %3\n    %5 = mul i32 %4 %2 fused\n" add "  }\n  %7 = load i32 a0[0]\n  store r0[i0] %7\n}\n"
/* Likewise of bf16, `length` for each result. */
#define HALVES(length, x, w, add)                                                                                      \
    "param p0 bf16 32\nparam p1 bf16 32\nresult r0 f32 3\nfor i0 < 3 {\n  reg a0 f32 1\n  %0 = const f32 0x0p+0\n"     \
    "  store a0[0] %0\n  for i1 < " length " {\n    %1 = load bf16 p0[" x "\n    %2 = cast f32 %1\n"                   \
    "    %3 = load bf16 p1[" w "]\n    %4 = cast f32 %3\n    %5 = mul f32 %2 %4 fused\n" add                           \
    "  }\n  %7 = load f32 a0[0]\n  store r0[i0] %7\n}\n"
#define PAIRS(add, last)                                                                                               \
    "param p0 bf16 32\nparam p1 bf16 32\nresult r0 f32 3\nwords w0 i32 16\nwords w1 i32 16\nfor i0 < 3 {\n"            \
    "  reg a0 f32 1\n  %0 = const f32 0x0p+0\n  store a0[0] %0\n  for i1 < 4 {\n" add "  }\n  " last                   \
    " = load f32 a0[0]\n  store r0[i0] " last "\n}\n"
#define OF_WORDS "    %1 = load i32 w0[4*i0 + i1]\n    %2 = load i32 w1[i1]\n    %3 = mul f32 %1 %2 fused "
#define ADD "    update a0[0] add %5\n"
#define ADD_WHERE_F(c) "    %6 = pick f32 %5 %0 if " c "\n    update a0[0] add %6\n"
#define ADD_WHERE(c) "    %6 = pick i32 %5 %0 if " c "\n    update a0[0] add %6\n"

/* A sum of ten terms; the statement that adds, and what is done to the register besides. */
#define TEN(add, more)                                                                                                 \
    "param p0 f32 40\nresult r0 f32 4\nfor i0 < 4 {\n  reg a0 f32 1\n  %0 = const f32 0x0p+0\n  store a0[0] %0\n"      \
    "  for i1 < 10 {\n    %1 = load f32 p0[10*i0 + i1]\n    " add more "  }\n  %2 = load f32 a0[0]\n"                  \
    "  store r0[i0] %2\n}\n"

#define FILL "param p0 f32 64\nresult r0 f32 64\nshared s0 f32 64\ngroup i0 < 16 {\n"
#define MMA                                                                                                            \
    "param p0 f16 64\nresult r0 f32 64\nshared s0 f16 64\ngroup i0 < 32 {\n  reg a0 f32 4\n  reg a1 f16 8\n"           \
    "  reg a2 f16 4\n"
#define BLOCK "reg a0 f32 1\ngroup i0 < 8 {\n"

static const text_case cases[] = {
#include "nest_cases.inc"
};

static const char *const bad[][3] = {
    {"words_of_floats", "param p0 f32 8\nresult r0 f32 4\nwords w0 i32 8\n",
     "line 3: words need a parameter of bytes or of bf16"},
    {"pairs_are_floats",
     "param p0 bf16 8\nresult r0 i32 4\nwords w0 i32 4\nfor i0 < 4 {\n  %0 = load i32 w0[i0]\n"
     "  %1 = mul i32 %0 %0 pairs\n  store r0[i0] %1\n}\n",
     "loop nest, invariant 3"},
    {"scope", COPY "for i0 < 24 {\n  store r0[i0] %0\n}\n", "line 4: no scalar %0"},
    {"variable", COPY "for i0 < 24 {\n  %0 = load f32 p0[i0]\n}\nfor i1 < 2 {\n  %1 = load f32 p0[i0]\n}\n",
     "loop nest, invariant 1"},
    {"result_read", COPY "for i0 < 24 {\n  %0 = load f32 r0[i0]\n}\n", "loop nest, invariant 2"},
    {"type", COPY "for i0 < 24 {\n  %0 = load f64 p0[i0]\n}\n", "loop nest, invariant 3"},
    {"parallel", COPY "for i0 < 24 {\n  parallel i1 < 3 {\n    %0 = load f32 p0[i1]\n  }\n}\n",
     "loop nest, invariant 4"},
    {"vector_length", "param p0 f32 n\nvector i0 < n {\n  %0 = load f32 p0[i0]\n}\n", "loop nest, invariant 5"},
    {"vectors", COPY "vector i0 < 4 {\n  vector i1 < 4 {\n    %0 = load f32 p0[i1]\n  }\n}\n",
     "loop nest, invariant 5"},
    {"register_index", COPY "reg a0 f32 24\nfor i0 < 24 {\n  %0 = load f32 p0[i0]\n  store a0[i0] %0\n}\n",
     "loop nest, invariant 6"},
    {"buffer", COPY "for i0 < 24 {\n  %0 = load f32 p3[i0]\n}\n", "line 4: no buffer is called 'p3'"},
    {"word", COPY "while\n", "line 3: no statement begins with"},
    {"open", COPY "for i0 < 24 {\n", "line 4: expected '}'"},
    {"group_in_loop", COPY "for i0 < 4 {\n  group i1 < 6 {\n  }\n}\n", "loop nest, invariant 7: a group loop is not"},
    {"group_in_vector", COPY "vector i0 < 4 {\n  group i1 < 6 {\n  }\n}\n", "loop nest, invariant 7"},
    {"groups_in_groups", COPY "group i0 < 2 {\n group i1 < 2 {\n group i2 < 2 {\n group i3 < 2 {\n}\n}\n}\n}\n",
     "loop nest, invariant 7: more than three"},
    {"group_of_unknown_length", "param p0 f32 n\ngroup i0 < n {\n  %0 = load f32 p0[i0]\n}\n",
     "loop nest, invariant 7: a group loop without a constant"},
    {"threads", COPY "group i0 < 32 {\n  group i1 < 33 {\n  }\n}\n", "loop nest, invariant 7: more than 1024"},
    {"group_lengths", COPY "group i0 < 32 {\n}\ngroup i1 < 33 {\n}\n",
     "loop nest, invariant 7: group loops of one level"},
    {"role_without_group", COPY "role i0 < 2 {\n}\n", "loop nest, invariant 7: a role loop without a group"},
    {"role_in_group", COPY "group i0 < 2 {\n  role i1 < 2 {\n  }\n}\n", "loop nest, invariant 7: a role loop is not"},
    {"role_beside_group", COPY "group i0 < 2 {\n}\nrole i1 < 2 {\n  group i2 < 2 {\n  }\n}\n",
     "loop nest, invariant 7: a role loop beside"},
    {"group_beside_role", COPY "role i1 < 2 {\n  group i2 < 2 {\n  }\n}\ngroup i0 < 2 {\n}\n",
     "loop nest, invariant 7: a group loop beside"},
    {"threads_of_roles", COPY "role i1 < 2 {\n  group i2 < 513 {\n  }\n}\n", "loop nest, invariant 7: more than 1024"},
    {"shared_size", "param p0 f32 n\nshared s0 f32 n\ngroup i0 < 2 {\n}\n",
     "loop nest, invariant 8: shared memory without a"},
    {"shared_alone", COPY "shared s0 f32 2\nfor i0 < 2 {\n}\n", "loop nest, invariant 8: shared memory without group"},
    {"block_register_index", COPY "reg a0 f32 8\ngroup i0 < 8 {\n  %0 = load f32 p0[0]\n  store a0[i0] %0\n}\n",
     "loop nest, invariant 6"},
    {"block_register_value", COPY BLOCK "  %0 = load f32 p0[i0]\n  store a0[0] %0\n}\n",
     "loop nest, invariant 9: a block's register gets a thread's value"},
    {"block_register_through_another",
     COPY BLOCK
     "  reg a1 f32 1\n  %0 = load f32 p0[i0]\n  store a1[0] %0\n  %1 = load f32 a1[0]\n  store a0[0] %1\n}\n",
     "loop nest, invariant 9: a block's register gets a thread's value"},
    {"block_register_where", COPY BLOCK "  %0 = load f32 p0[0]\n  store a0[0] %0 if i0 - 3\n}\n",
     "loop nest, invariant 9: a block's register is stored by some"},
    {"block_update_apart", COPY BLOCK "  for i1 < i0 {\n    %0 = load f32 p0[i1]\n    update a0[0] add %0\n  }\n}\n",
     "loop nest, invariant 9: a block's register is written where some threads are not"},
    {"barrier_apart", COPY BLOCK "  for i1 < i0 {\n    barrier\n  }\n}\n",
     "loop nest, invariant 10: a barrier where some"},
    {"barrier_apart_inside", COPY BLOCK "  for i1 < i0 {\n    for i2 < 3 {\n      barrier\n    }\n  }\n}\n",
     "loop nest, invariant 10: a barrier where some"},
    {"barrier_alone", COPY "for i0 < 2 {\n  barrier\n}\n", "loop nest, invariant 10: a barrier, copy"},
    {"copy_elements", FILL "  copy s0[4*i0] p0[4*i0] 3\n}\n",
     "loop nest, invariant 11: a copy that is not of 4, 8 or 16"},
    {"copy_in_vector", FILL "  vector i1 < 2 {\n    copy s0[4*i0] p0[4*i0] 4\n  }\n}\n",
     "loop nest, invariant 11: a copy that no thread makes"},
    {"copy_to_result", FILL "  copy r0[4*i0] p0[4*i0] 4\n}\n", "loop nest, invariant 11: a copy that is not from"},
    {"copy_alone", "param p0 f32 8\nresult r0 f32 8\nfor i0 < 2 {\n  copy r0[4*i0] p0[4*i0] 4\n}\n",
     "loop nest, invariant 10: a barrier, copy"},
    {"wait_for_what", FILL "  wait\n}\n", "line 5: expected a number"},
    {"mma_row", MMA "  mma m16n8k99_f16 a0[0] a1[0] a2[0]\n}\n", "line 8: no tile product is called 'm16n8k99_f16'"},
    {"mma_type", MMA "  mma m16n8k16_bf16 a0[0] a1[0] a2[0]\n}\n", "loop nest, invariant 12: a tile of another type"},
    {"mma_size", MMA "  mma m16n8k16_f16 a0[0] a2[0] a1[0]\n}\n", "loop nest, invariant 12: a tile reaches out"},
    {"mma_shared", MMA "  mma m16n8k16_f16 a0[0] a1[0] s0[0]\n}\n", "loop nest, invariant 12: a tile that is no"},
    {"mma_apart", MMA "  for i1 < i0 {\n    mma m16n8k16_f16 a0[0] a1[0] a2[0]\n  }\n}\n",
     "loop nest, invariant 12: a tile product where some"},
    {"mma_warps",
     "param p0 f16 8\nresult r0 f32 8\ngroup i0 < 48 {\n  reg a0 f32 4\n  reg a1 f16 8\n  reg a2 f16 4\n"
     "  mma m16n8k16_f16 a0[0] a1[0] a2[0]\n}\n",
     "loop nest, invariant 12: a tile product by threads that are no whole warps"},
    {"mma_loop_index", MMA "  for i1 < 2 {\n    mma m16n8k16_f16 a0[i1] a1[0] a2[0]\n  }\n}\n",
     "loop nest, invariant 6"},
    {"store_condition", COPY "%0 = const f32 0x0p+0\nfor i0 < 2 {\n}\nstore r0[0] %0 if i0\n",
     "loop nest, invariant 1: a condition"},
    {"divisor", COPY "for i0 < 4 {\n  %0 = load f32 p0[floordiv(i0, 0)]\n}\n", "line 4: a divisor is 0"},
    {"xor", COPY "for i0 < 4 {\n  %0 = load f32 p0[xor(i0 - 1, 2)]\n}\n", "line 4: xor of what may be negative"},
    {"product", COPY "for i0 < 4 {\n  %0 = load f32 p0[i0*i0]\n}\n", "line 4: a product of two loop variables"},
};

static char *transformed(const text_case *c, const char **failed) {
    hn_arena a = {0};
    hn_dims *dims = hn_dims_new(&a);
    hn_nest *n;
    hone_err err;
    hn_str out = {0};
    *failed = NULL;
    if (hn_nest_parse(c->in, &a, dims, &n, &err) != HONE_OK) {
        hn_str_add(&out, err.text);
    } else {
        char *list = strdup(c->commands ? c->commands : ""), *save = NULL;
        for (char *t = strtok_r(list, ";", &save); t && !*failed; t = strtok_r(NULL, ";", &save)) {
            const char *why = NULL;
            if (!command(n, t, &why)) *failed = why;
        }
        free(list);
        if (*failed)
            hn_str_add(&out, *failed);
        else if (hn_nest_verify(n, &err) != HONE_OK)
            hn_str_add(&out, err.text);
        else
            hn_nest_print(n, &out);
    }
    hn_arena_free(&a);
    return hn_str_take(&out);
}

static void check(const text_case *c) {
    char name[100];
    const char *failed;
    char *got = transformed(c, &failed);
    snprintf(name, sizeof name, "nest/%s", c->name);
    is_text(got, c->out ? c->out : c->in, name);
    if (got && !failed) { /* what was printed reads and prints the same */
        text_case again = {c->name, got, NULL, NULL};
        char *twice = transformed(&again, &failed);
        snprintf(name, sizeof name, "nest/%s_is_stable", c->name);
        is_text(twice, got, name);
        free(twice);
    }
    free(got);
}

int main(void) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) check(&cases[k]);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        hn_arena a = {0};
        hn_nest *n;
        hone_err err = {0};
        hone_rc rc = hn_nest_parse(bad[k][1], &a, hn_dims_new(&a), &n, &err);
        ok(rc == HONE_E_INPUT && !strncmp(err.text, bad[k][2], strlen(bad[k][2])), "nest/bad_%s", bad[k][0]);
        if (rc != HONE_E_INPUT || strncmp(err.text, bad[k][2], strlen(bad[k][2]))) printf("# %s\n", err.text);
        hn_arena_free(&a);
    }
    return done_testing();
}
