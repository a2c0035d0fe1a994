/* Faults planted at random places of kernels as hone prints them for CUDA devices, run on the shim, each in a process
 * of its own: what finds it is a check of the shim, or the values. All of them must be found. tests/gpu/planted.py does
 * the same to kernels written by hand (there with phases of mbarriers, which hone prints none of);
 * tests/unit/compile/test_planted_device follows a few to the library in which the kernel is replaced.
 *
 * HONE_PLANTED: so many of each kind (HONE_LONG: 100, else 4). HONE_CASE: kinds with this word in their name.
 */
#include "../../unit/backend/device_lab.h"
#include "base/rng.h"
#include "ir/interp.h"

#include <hone/device.h>

#include <signal.h>
#include <sys/wait.h>

enum { PLACES = 600, BATCH = 25, LIMIT_S = 60, SAID = 1 << 12, BUFFERS = 6 };

typedef struct printed {
    const char *name, *kind, *schedule, *text;
    double rtol;
} printed;

#define PRODUCT(t, m, k, n)                                                                                            \
    "input %0 : " t "[" #m ", " #k "] \"x\"\ninput %1 : " t "[" #k ", " #n "] \"w\"\n%2 = contract %0, %1 {lhs = [0, " \
    "1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %2 \"y\"\n"
#define SQUARES "input %0 : f32[70, 90] \"x\"\n%1 = transpose %0 {perm = [1, 0]}\n%2 = exp %1\noutput %2 \"y\"\n"
static const printed kernels_of_test[] = {
    {"ahead", "contract", "tile rows=1 cols=2 down=4 across=8 depth=4 ahead=1 stages=1", PRODUCT("f32", 22, 38, 44),
     1e-5},
    {"copied", "contract", "tile rows=2 cols=1 down=4 across=8 depth=4 stages=3", PRODUCT("f32", 38, 38, 44), 1e-5},
    {"pool", "contract", "tile rows=8 cols=8 down=8 across=16 depth=16 stages=4", PRODUCT("f32", 130, 50, 260), 1e-5},
    {"mma", "contract", "mma warps=1 rows=1 cols=2 depth=16 stages=3", PRODUCT("f16", 40, 88, 48), 1e-4},
    {"roles", "contract", "tile rows=2 cols=2 down=8 across=8 depth=16 stages=2 producers=1",
     PRODUCT("f32", 38, 70, 44), 1e-5},
    {"roles_mma", "contract", "mma warps=1 rows=1 cols=2 depth=16 stages=3 producers=1", PRODUCT("f16", 40, 88, 48),
     1e-4},
    {"cluster", "contract", "tile rows=2 cols=2 down=8 across=8 depth=16 stages=3 cluster=2",
     PRODUCT("f32", 38, 60, 44), 1e-5}, /* so many turns that the last one has the first one's stage */
    {"cluster_mma", "contract", "mma warps=1 rows=1 cols=2 depth=32 stages=2 cluster=2", PRODUCT("f16", 40, 88, 48),
     1e-4},
    {"squares", "map", "transpose side=32 down=8 swizzle=0", SQUARES, 1e-5},
    {"swizzled", "map", "transpose side=32 down=8 swizzle=1", SQUARES, 1e-5},
    {"attention", "attention", "attention",
     "input %0 : f32[2, 2, 61, 20] \"q\"\ninput %1 : f32[2, 2, 61, 20] \"k\"\ninput %2 : f32[2, 2, 61, 20] \"v\"\n"
     "%3 = contract %0, %1 {lhs = [0, 1, 2, 4], rhs = [0, 1, 3, 4], out = [0, 1, 2, 3], dtype = f32}\n"
     "%7 = reduce_max %3 {axes = [3], keep = 1}\n%8 = broadcast %7 {shape = [2, 2, 61, 61], map = [0, 1, 2, 3]}\n"
     "%9 = sub %3, %8\n%10 = exp %9\n%11 = sum %10 {axes = [3], keep = 1}\n"
     "%12 = broadcast %11 {shape = [2, 2, 61, 61], map = [0, 1, 2, 3]}\n%13 = div %10, %12\n"
     "%14 = contract %13, %2 {lhs = [0, 1, 2, 4], rhs = [0, 1, 4, 3], out = [0, 1, 2, 3], dtype = f32}\n"
     "output %14 \"y\"\n",
     2e-5},
};
enum {
    N_KERNELS = sizeof kernels_of_test / sizeof *kernels_of_test,
    AHEAD = 0,
    COPIED,
    POOL,
    MMA,
    ROLES,
    ROLES_MMA,
    CLUSTER,
    CLUSTER_MMA,
    SQUARE,
    SWIZZLED,
    ATTENTION
};
enum { ALL = (1 << N_KERNELS) - 1 };

/* A place in a kernel's text: n bytes become another text. */
typedef struct place {
    size_t at, n;
    char now[200];
} place;

typedef struct places {
    place place[PLACES];
    size_t n;
} places;

static void add(places *p, const char *text, const char *at, size_t n, const char *now) {
    if (p->n == PLACES) return;
    place *x = &p->place[p->n++];
    x->at = (size_t)(at - text), x->n = n;
    snprintf(x->now, sizeof x->now, "%s", now);
}

/* --- the faults ------------------------------------------------------------------------------------------------------
 */
static const char barrier[] = "HNR_BARRIER();";

/* Barriers between writes and reads of one item; the one behind an item is there whatever the item touches last. */
static const char *next_barrier(const char *from) {
    const char *p = strstr(from, barrier);
    while (p && !strncmp(p + strlen(barrier), " /*", 3)) p = strstr(p + 1, barrier);
    return p;
}

static void missing_barrier(const char *text, hn_rng *rng, places *out) {
    (void)rng;
    for (const char *p = text; (p = next_barrier(p)); p++) add(out, text, p, strlen(barrier), ";");
}

static void divergent_barrier(const char *text, hn_rng *rng, places *out) {
    char now[100];
    for (const char *p = text; (p = strstr(p, barrier)); p++) {
        static const char *const how[] = {"!=", "<", ">", "% 32 !="};
        snprintf(now, sizeof now, "if (HNR_THREAD %s %d) %s", how[hn_rng_below(rng, 4)], (int)hn_rng_below(rng, 31) + 1,
                 barrier);
        add(out, text, p, strlen(barrier), now);
    }
}

/* What the next turn needs is stored before the threads have met. */
static void stored_early(const char *text, places *out) {
    char now[200];
    for (const char *p = text; (p = next_barrier(p)); p++) {
        const char *line = p + strlen(barrier) + 1, *word = line + strspn(line, " "), *end = strchr(line, '\n');
        bool store = word[0] == 's' && strchr("0123456789", word[1]);
        if (!end || end - word > 170 || (!store && strncmp(word, "HNR_COPY", 8) != 0)) continue;
        snprintf(now, sizeof now, "%.*s %s", (int)(end - word), word, barrier);
        add(out, text, p, (size_t)(end - p), now);
    }
}

/* Copies are waited for too late, not as one of their group, or go to another stage. */
static void stage_reused(const char *text, hn_rng *rng, places *out) {
    stored_early(text, out);
    for (const char *p = text; (p = strstr(p, "HNR_WAIT(")); p++) {
        char now[20];
        if (p[9] == '0') continue; /* behind the loop: what is left under way may be zeros that nobody waits for */
        snprintf(now, sizeof now, "%d", atoi(p + 9) + 1 + (int)hn_rng_below(rng, 2));
        add(out, text, p + 9, 1, now);
        add(out, text, p, strlen("HNR_WAIT(1);"), ";");
    }
    for (const char *p = text; (p = strstr(p, "HNR_COMMIT();")); p++) add(out, text, p, strlen("HNR_COMMIT();"), ";");
    for (const char *p = text; (p = strstr(p, "hnr_mod32(i")); p++) {
        const char *plus = strchr(p, '+'), *end = strchr(p, ')');
        if (plus && plus < end) add(out, text, plus, 1, hn_rng_below(rng, 2) ? "+ 1 +" : "- 1 +");
        if (plus > end) add(out, text, end, 0, hn_rng_below(rng, 2) ? " + 1" : " + 2"); /* one that is read */
    }
}

/* Roles do not wait for each other at a gate, or in a phase that is another one in every other round alone. */
static void each_wait(const char *text, bool phase, hn_rng *rng, places *out) {
    for (const char *p = strstr(text, "for (int64_t w"); p && (p = strstr(p, "HNR_AWAIT(")); p++) {
        const char *end = strchr(p, '\n'), *comma = p;
        for (const char *at = p; at < end; at++)
            if (!strncmp(at, "], ", 3)) comma = at + 3;
        if (!end || end - p < 3 || comma == p) continue;
        if (phase)
            add(out, text, comma, (size_t)(end - comma) - 2, hn_rng_below(rng, 2) ? "0" : "1"); /* up to ");" */
        else
            add(out, text, p, (size_t)(end - p), ";");
    }
}
static void gate_missing(const char *text, hn_rng *rng, places *out) { each_wait(text, false, rng, out); }
static void phase_forgotten(const char *text, hn_rng *rng, places *out) { each_wait(text, true, rng, out); }

/* Blocks of a cluster do not wait for each other, or each for its own threads alone. */
static void cluster_barrier(const char *text, hn_rng *rng, places *out) {
    static const char *const how[] = {";", "HNR_BARRIER();"};
    static const char whole[] = "HNR_CLUSTER_BARRIER();";
    for (const char *p = text; (p = strstr(p, whole)); p++) add(out, text, p, strlen(whole), how[hn_rng_below(rng, 2)]);
}

/* Another block's part is copied to or pushed: the first index of the line. */
static void wrong_part(const char *text, hn_rng *rng, places *out) {
    const char *made = strstr(text, " = HNR_RANK("), *name = made;
    if (!made) return;
    while (name[-1] != ' ') name--;
    char rank[20], now[60];
    size_t n = (size_t)(made - name);
    snprintf(rank, sizeof rank, "%.*s", (int)n, name);
    for (const char *p = made; (p = strchr(p, '\n')); p++) {
        const char *word = p + 1 + strspn(p + 1, " "), *at = word, *end;
        if (strncmp(word, "HNR_PUSH(", 9) != 0 && strncmp(word, "HNR_COPY(", 9) != 0) continue;
        end = strchr(strchr(word, '&') + 1, '&'); /* of what is copied from */
        if (!end || *word == 0 || word[4] == 'P') end = strchr(word, '\n');
        while ((at = strstr(at, rank)) && at < end) {
            snprintf(now, sizeof now, hn_rng_below(rng, 2) ? "(1 - %s)" : "(%s & 0)", rank);
            if (!strchr("0123456789", at[n])) add(out, text, at, n, now);
            at += n;
        }
    }
}

/* Indices of arrays whose names begin with a letter of `letters`, behind the declarations. */
static void indices(const char *text, const char *letters, const char *now[2], hn_rng *rng, places *out) {
    for (const char *p = strstr(text, "for (int64_t w"); p && (p = strchr(p, '[')); p++) {
        const char *name = p - 1;
        while (strchr("0123456789", *name)) name--;
        if (name + 1 < p && strchr(letters, *name) && name[-1] != '_' && strchr(" (&", name[-1]))
            add(out, text, p, 1, now[hn_rng_below(rng, 2)]);
    }
}

static void tile_off_by_one(const char *text, hn_rng *rng, places *out) {
    static const char *now[] = {"[1 + ", "[-1 + "};
    indices(text, "s", now, rng, out);
    for (const char *p = text; (p = strstr(p, ", n")); p++) { /* the number of turns */
        size_t digits = strspn(p + 3, "0123456789");
        if (!digits || strncmp(p + 3 + digits, " = ", 3) != 0) continue;
        const char *number = p + 3 + digits + 3;
        add(out, text, number, 0, "-1 + "); /* a step of the sum too many may add zeros: that is no fault */
    }
}

static void swizzle_wrong(const char *text, hn_rng *rng, places *out) {
    static const char *const now[] = {"^ 1 ^", "^ 2 ^", "+ 0 *", "^ 3 &", "^ 16 ^", "^ 30 &"};
    for (const char *p = text; (p = strchr(p, '^')); p++) add(out, text, p, 1, now[hn_rng_below(rng, 6)]);
}

static void past_the_end(const char *text, hn_rng *rng, places *out) {
    static const char *now[] = {"[65536 + ", "[40960 + "};
    indices(text, "pr", now, rng, out);
}

static const struct {
    const char *name;
    void (*find)(const char *text, hn_rng *rng, places *out);
    unsigned kernels;
} faults[] = {
    {"missing_barrier", missing_barrier, ALL},
    {"tile_off_by_one", tile_off_by_one, ALL},
    {"swizzle_wrong", swizzle_wrong, 1 << SWIZZLED},
    {"stage_reused", stage_reused, 1 << AHEAD | 1 << COPIED | 1 << POOL | 1 << MMA | 1 << CLUSTER | 1 << CLUSTER_MMA},
    {"cluster_barrier", cluster_barrier, 1 << CLUSTER | 1 << CLUSTER_MMA},
    {"wrong_part", wrong_part, 1 << CLUSTER | 1 << CLUSTER_MMA},
    {"gate_missing", gate_missing, 1 << ROLES | 1 << ROLES_MMA},
    {"phase_forgotten", phase_forgotten, 1 << ROLES | 1 << ROLES_MMA},
    {"divergent_barrier", divergent_barrier, ALL},
    {"past_the_end", past_the_end, ALL}};
enum { N_FAULTS = sizeof faults / sizeof *faults };

/* --- kernels and what they compute -----------------------------------------------------------------------------------
 */
typedef struct subject {
    hn_graph *g;
    hn_arena a;
    hn_kernel_code code;
    hn_tensor in[BUFFERS], want;
    int64_t work, scratch_b;
} subject;

static bool tensor_of(subject *s, hn_val v, hn_tensor *out) {
    const hn_type *t = hn_type_of(s->g, v);
    int64_t dim[HN_RANK_MAX];
    for (size_t d = 0; d < t->rank; d++)
        if (!hn_dim_eval(s->g->dims, t->dim[d], NULL, &dim[d])) return false;
    return hn_tensor_new(&s->a, t->dtype, t->rank, dim, out);
}

static bool make_subject(subject *s, const printed *k, const hn_dialect *d) {
    hn_emit_how how = {.dialect = d, .machine = hn_machine_of(d, &(hone_device){.isa = ""}), .schedule = k->schedule};
    hn_rng rng = hn_rng_make(7, 7);
    hn_str text = {0};
    hone_err err = {0};
    hn_str_addf(&text, "ir 1\n%s", k->text);
    bool good = !hn_parse(text.text, text.n, k->name, &s->g, &err) &&
                !hn_emit_kernel(s->g, 0, k->kind, "k0", &how, &s->a, &s->code, &err);
    hn_str_free(&text);
    if (good) {
        const hn_blk *b = &s->g->block[0];
        good = b->n_param <= BUFFERS && b->n_result == 1;
        for (uint32_t i = 0; i < b->n_param && good; i++) {
            good = tensor_of(s, b->param[i], &s->in[i]);
            for (int64_t e = 0; good && e < hn_tensor_n(&s->in[i]); e++)
                hn_set_f(&s->in[i], e, (double)hn_rng_below(&rng, 4096) / 1024 - 2);
        }
        good = good && !hn_interpret_block(s->g, 0, s->in, NULL, &s->a, &s->want, &err) &&
               hn_dim_eval(s->g->dims, s->code.work, NULL, &s->work) &&
               hn_dim_eval(s->g->dims, s->code.scratch_b, NULL, &s->scratch_b);
    }
    if (!ok(good, "printed_faults/%s_is_printed", k->name)) printf("# %s\n", err.text);
    return good;
}

/* In the process of its own: runs the kernel and says what was wrong. */
static int run_here(device_lab *l, const subject *s, const char *name, double rtol) {
    int64_t slot = 0;
    size_t size_b = (size_t)hn_tensor_n(&s->want) * hn_dtype_of(s->want.dtype)->size_b;
    hn_tensor got = s->want;
    device_job j = {.code = &s->code, .name = name, .slot = &slot, .end = s->work, .scratch_b = s->scratch_b};
    if (!(got.data = malloc(size_b))) return 2;
    memset(got.data, 0x5a, size_b);
    for (uint32_t i = 0; i < s->g->block[0].n_param; i++) {
        j.buf[j.n_buf] = s->in[i].data;
        j.size_b[j.n_buf++] = (size_t)hn_tensor_n(&s->in[i]) * hn_dtype_of(s->in[i].dtype)->size_b;
    }
    j.buf[j.n_buf] = got.data, j.size_b[j.n_buf++] = size_b;
    if (!device_launch(l, &j)) return 1;
    hn_match m = hn_tensor_compare(&got, &s->want, (hn_match_rule){rtol, 5 * rtol});
    if (!m.same) printf("values\n");
    return !m.same;
}

static const char *name_of(const char *said) {
    static const struct {
        const char *said, *name;
    } seen[] = {{"values", "values"},
                {" race:", "shim: race"},
                {"that no thread of the block wrote", "shim: undefined"},
                {"still on its way", "shim: in flight"},
                {"divergent", "shim: divergent"},
                {"never", "shim: stuck"},
                {"for ever", "shim: stuck"},
                {"out of bounds", "shim: bounds"},
                {"is freed", "shim: bounds"},
                {"multiple", "shim: misuse"},
                {"aligned", "shim: misuse"}};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        if (strstr(said, seen[i].said)) return seen[i].name;
    return *said ? "shim: other" : NULL;
}

/* What finds the fault; NULL: nothing. said: its words. */
static const char *found_by(device_lab *l, const subject *s, const char *name, double rtol, char *said) {
    int to[2], status = 0;
    size_t n = 0;
    said[0] = 0;
    if (pipe(to)) return NULL;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(to[1], STDOUT_FILENO);
        close(to[0]);
        alarm(LIMIT_S);
        int rc = run_here(l, s, name, rtol);
        fflush(stdout);
        _exit(rc);
    }
    close(to[1]);
    for (ssize_t got; n + 1 < SAID && (got = read(to[0], said + n, SAID - 1 - n)) > 0;) n += (size_t)got;
    said[n] = 0;
    close(to[0]);
    waitpid(child, &status, 0);
    said[strcspn(said, "\n")] = 0;
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? NULL : "process: signal";
    return status ? name_of(said) : NULL;
}

/* --- batches: one module of many kernels -----------------------------------------------------------------------------
 */
typedef struct planted {
    const subject *s;
    const printed *k;
    char what[300];
} planted;

static bool plant(const subject *s, size_t fault, hn_rng *rng, int id, hn_str *kernels, planted *p) {
    static places all;
    const char *text = s->code.text;
    all.n = 0;
    faults[fault].find(text, rng, &all);
    if (!all.n) return false;
    const place *x = &all.place[hn_rng_below(rng, all.n)];
    const char *at = text + x->at, *line = at, *rest = at + x->n, *name = strstr(text, "(k0,");
    while (line > text && line[-1] != '\n') line--;
    line += strspn(line, " ");
    snprintf(p->what, sizeof p->what, "%.*s<%s>%.60s", (int)(at - line), line, x->now, rest);
    p->what[strcspn(p->what, "\n")] = 0;
    hn_str_addf(kernels, "%.*s(f%d,%.*s%s%s", (int)(name - text), text, id, (int)(at - name - 4), name + 4, x->now,
                rest);
    p->s = s;
    return true;
}

typedef struct count {
    const char *word[12];
    int n[12], found, planted;
} count;

static void note(count *c, const char *by) {
    int w = 0;
    while (w < 11 && c->word[w] && strcmp(c->word[w], by) != 0) w++;
    c->word[w] = by;
    c->n[w]++;
    c->found++;
}

static bool run_batch(const hn_dialect *d, subject *s, size_t fault, hn_rng *rng, int n, count *c) {
    static planted p[BATCH];
    char said[SAID], name[16];
    device_lab l;
    hn_str kernels = {0}, helpers = {0};
    int have = 0;
    for (int i = 0; have < n && i < 50 * n; i++) {
        size_t k = hn_rng_below(rng, N_KERNELS);
        if (!(faults[fault].kernels >> k & 1) || !plant(&s[k], fault, rng, have, &kernels, &p[have])) continue;
        hn_str_addf(&helpers, "%s ", s[k].code.helpers);
        p[have++].k = &kernels_of_test[k];
    }
    bool good = have == n && device_open(&l, d->backend, &hnd_shim);
    if (good && !device_build(&l, helpers.text ? helpers.text : "", &kernels)) good = false;
    for (int i = 0; i < have && good; i++) {
        snprintf(name, sizeof name, "f%d", i);
        const char *by = found_by(&l, p[i].s, name, p[i].k->rtol, said);
        if (by) note(c, by);
        if (!by) printf("# %s in %s is not found: %s (%s)\n", faults[fault].name, p[i].k->name, p[i].what, said);
        if (getenv("HONE_SHOW"))
            printf("# %s in %s: %s: %s (%s)\n", faults[fault].name, p[i].k->name, by, p[i].what, said);
        c->planted++;
    }
    if (have) device_close(&l);
    hn_str_free(&kernels);
    hn_str_free(&helpers);
    return good;
}

static void try_fault(const hn_dialect *d, subject *s, size_t fault, int n) {
    hn_rng rng = hn_rng_make(11, fault);
    count c = {.found = 0};
    bool good = true;
    for (int left = n; left > 0 && good; left -= BATCH)
        good = run_batch(d, s, fault, &rng, left < BATCH ? left : BATCH, &c);
    ok(good && c.planted == n && c.found == n, "printed_faults/%s", faults[fault].name);
    printf("# %s: %d planted, %d found:", faults[fault].name, c.planted, c.found);
    for (int w = 0; w < 12 && c.word[w]; w++) printf("%s %s %d", w ? "," : "", c.word[w], c.n[w]);
    printf("\n");
    fflush(stdout);
}

/* The kernels as they are have no fault. */
static bool all_right(const hn_dialect *d, subject *s) {
    char said[SAID], name[16];
    device_lab l;
    hn_str text = {0}, helpers = {0};
    bool good = device_open(&l, d->backend, &hnd_shim);
    for (int k = 0; k < N_KERNELS; k++) {
        const char *t = s[k].code.text, *at = strstr(t, "(k0,");
        hn_str_addf(&text, "%.*s(f%d,%s", (int)(at - t), t, k, at + 4);
        hn_str_addf(&helpers, "%s ", s[k].code.helpers);
    }
    good = good && device_build(&l, helpers.text, &text);
    for (int k = 0; k < N_KERNELS && good; k++) {
        snprintf(name, sizeof name, "f%d", k);
        const char *by = found_by(&l, &s[k], name, kernels_of_test[k].rtol, said);
        if (!ok(!by, "printed_faults/%s_is_right", kernels_of_test[k].name)) printf("# %s\n", said), good = false;
    }
    device_close(&l);
    hn_str_free(&text);
    hn_str_free(&helpers);
    return good;
}

int main(void) {
    static subject s[N_KERNELS];
    const hn_dialect *d = hn_dialect_named("cuda:sm_80");
    const char *own = getenv("HONE_PLANTED"), *only = getenv("HONE_CASE");
    int n = own ? atoi(own) : getenv("HONE_LONG") ? 100 : 4;
    bool good = true;
    if (system("g++ --version > /dev/null 2>&1")) {
        skip(1, "printed_faults: no g++");
        return done_testing();
    }
    for (int k = 0; k < N_KERNELS; k++) {
        bool clusters = k == CLUSTER || k == CLUSTER_MMA;
        good &= make_subject(&s[k], &kernels_of_test[k], clusters ? hn_dialect_named("cuda:sm_90a") : d);
    }
    if (good && all_right(d, s))
        for (size_t f = 0; f < N_FAULTS; f++)
            if (!only || strstr(faults[f].name, only)) try_fault(d, s, f, n);
    for (int k = 0; k < N_KERNELS; k++) {
        if (s[k].g) hn_graph_free(s[k].g);
        hn_arena_free(&s[k].a);
    }
    return done_testing();
}
