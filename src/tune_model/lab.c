/* tune_model/lab.c — one kernel measured, in a process of its own: candidate and default in turns, on the same buffers.
 *
 * The process keeps its buffers from candidate to candidate; when a library crashes or hangs, the process is started
 * again and only that candidate is lost. Constants exist once per use in the model (up to a bound) and are taken in
 * turn, so that weights come from the same level of the memory hierarchy as in the model; activations lie in one place.
 * A measurement is a block of runs, a pair is a block of each side, in the order ABBA; what is reported is each block's
 * time.
 */
#include "base/clock.h"
#include "compile/winner.h"
#include "experiment/contest.h"
#include "parity/parity.h"
#include "tune_model/tune_model_int.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_COPIES = 16, SAMPLES = 4096, NO_MEMORY = 73 };
#define COPIES_B ((int64_t)128 << 20)
/* A candidate's results beside the default's: far beyond what another order of summation does. */
#define SAME_RTOL 1e-2
#define SAME_ATOL 1e-3

/* --- in the child: buffers -----------------------------------------------------------------------------------------
 */

typedef struct bench {
    const hn_lab *lab;
    hn_arena a;
    hn_ground where;
    int64_t *symbol; /* [-1]: the error slot */
    size_t n_symbol;
    hn_mem *buf[MOST_COPIES];
    uint32_t n_copies, n_in, n_out, turn;
    int64_t *out_b;
    hn_mem scratch;
    int64_t scratch_b, cost; /* scratch: of one thread */
    char path[2][256];
    hn_code code[2];
    float **want; /* per result: the default's sampled elements */
} bench;

static hn_mem alloc(const bench *b, int64_t size_b, hn_mem_kind kind) {
    hn_mem p = b->where.place->alloc(b->where.state, size_b, kind);
    if (!p) _exit(NO_MEMORY);
    return p;
}

/* Is parameter i a constant in the kernel's first use? */
static bool is_constant(const hn_model *m, const hn_kernel *k, uint32_t i) {
    const hn_node *n = &m->g->node[k->node];
    const hn_node *def = i < n->n_in ? hn_def(m->g, n->in[i]) : NULL;
    return def && def->op == HN_OP_CONST;
}

static int64_t bytes_of(const hn_tensor *t) { return hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b; }

static uint32_t copies_of(const bench *b, const hn_trial *t) {
    int64_t constants_b = 1;
    uint32_t n = b->lab->k->n_uses;
    for (uint32_t i = 0; i < t->n_in; i++)
        if (is_constant(b->lab->m, b->lab->k, i)) constants_b += bytes_of(&t->in[i]);
    if (n > MOST_COPIES) n = MOST_COPIES;
    while (n > 1 && constants_b * n > COPIES_B) n--;
    return n ? n : 1;
}

static bool fill_buffers(bench *b, hn_trial *t) {
    hn_graph *g = t->m->g;
    const hn_blk *body = &g->block[t->k->body];
    b->n_in = t->n_in;
    b->n_out = body->n_result;
    b->n_copies = copies_of(b, t);
    b->out_b = hn_alloc_n(&b->a, b->n_out + 1u, sizeof *b->out_b);
    for (uint32_t c = 0; c < b->n_copies; c++) {
        b->buf[c] = hn_alloc_n(&b->a, b->n_in + b->n_out + 1u, sizeof **b->buf);
        for (uint32_t i = 0; b->buf[c] && i < b->n_in; i++) {
            bool constant = is_constant(t->m, t->k, i);
            int64_t size_b = bytes_of(&t->in[i]);
            bool own = constant || !c;
            b->buf[c][i] = own ? alloc(b, size_b, constant ? HN_MEM_CONSTANT : HN_MEM_VALUE) : b->buf[0][i];
            if (own) b->where.place->put(b->where.state, b->buf[c][i], t->in[i].data, size_b);
        }
        for (uint32_t i = 0; b->buf[c] && i < b->n_out; i++) {
            const hn_type *type = hn_type_of(g, body->result[i]);
            int64_t size_b = hn_dtype_of(type->dtype)->size_b, n;
            for (size_t d = 0; d < type->rank; d++)
                if (!hn_dim_eval(g->dims, type->dim[d], b->symbol, &n) || __builtin_mul_overflow(size_b, n, &size_b))
                    return false;
            b->out_b[i] = size_b;
            b->buf[c][b->n_in + i] = c ? b->buf[0][b->n_in + i] : alloc(b, size_b + 256, HN_MEM_VALUE);
        }
    }
    return hn_arena_ok(&b->a);
}

/* Inputs as parity draws them: normal floats, indices in their range. */
static bool make_buffers(bench *b) {
    const hn_lab *l = b->lab;
    hn_trial t = {.m = l->m, .k = l->k, .a = &b->a, .rng = hn_rng_make(l->seed, 1)};
    hn_traits traits;
    t.n_symbols = hn_dims_symbols(l->m->g->dims);
    int64_t *symbol = hn_alloc_n(&b->a, t.n_symbols + 2, sizeof *symbol);
    if (!symbol) return false;
    b->symbol = t.symbol = symbol + 1;
    b->n_symbol = t.n_symbols;
    memcpy(t.symbol, l->symbol, t.n_symbols * sizeof *symbol);
    if (hn_trial_traits(&t, &traits) || !hn_trial_inputs(&t, &traits, HN_FILL_RANDOM)) return false;
    hn_served_kernel(t.m, t.k, t.in);
    return fill_buffers(b, &t);
}

/* --- in the child: runs --------------------------------------------------------------------------------------------
 */

static bool open_side(bench *b, int side, const hn_lab_side *s, char *text, size_t n) {
    hone_err err = {0};
    if (*s->path && !strcmp(b->path[side], s->path)) return true;
    hone_rc rc = b->where.place->load(b->where.state, s->path, &b->code[side], &err);
    snprintf(b->path[side], sizeof b->path[side], "%s", rc ? "" : s->path);
    if (rc) snprintf(text, n, "%.100s", err.text);
    return !rc;
}

static void need_scratch(bench *b, int64_t size_b) {
    if (size_b <= b->scratch_b) return;
    b->scratch_b = (size_b + 63) / 64 * 64;
    b->scratch = alloc(b, b->scratch_b * (b->lab->team ? b->lab->team->n : 1), HN_MEM_VALUE);
}

/* n runs, as a model launches them, the constants of one use after the other; the time of one. */
static double block(bench *b, int side, const hn_lab_request *r, int64_t n) {
    hn_launch list[MOST_COPIES];
    for (uint32_t c = 0; c < b->n_copies; c++)
        list[c] = (hn_launch){.code = b->code[side],
                              .buf = b->buf[c],
                              .n_buf = b->n_in + b->n_out,
                              .symbol = b->symbol,
                              .n_symbol = b->n_symbol,
                              .end = r->side[side].work,
                              .scratch = b->scratch,
                              .scratch_b = b->scratch_b,
                              .cost = b->cost,
                              .n_threads = r->n_threads};
    return b->where.place->time(b->where.state, list, b->n_copies, &b->turn, n) / (double)n;
}

static bool is_f32(const bench *b, uint32_t i) {
    const hn_graph *g = b->lab->m->g;
    return hn_type_of(g, g->block[b->lab->k->body].result[i])->dtype == HONE_F32;
}

/* Elements of f32 results at even distances: taken of the default's, compared with the candidate's. */
static bool sample_results(bench *b, bool compare) {
    if (!b->want) b->want = hn_alloc_n(&b->a, b->n_out + 1u, sizeof *b->want);
    for (uint32_t i = 0; b->want && i < b->n_out; i++) {
        const hn_mem from = b->buf[0][b->n_in + i];
        int64_t n = b->out_b[i] / 4, step = n / SAMPLES + 1;
        float most = 0, got;
        if (!is_f32(b, i)) continue;
        if (!b->want[i]) b->want[i] = hn_alloc_n(&b->a, SAMPLES + 1, sizeof(float));
        float *want = b->want[i];
        if (!want) return true;
        for (int64_t k = 0; k * step < n && !compare; k++)
            b->where.place->get(b->where.state, &want[k], from + 4 * k * step, 4);
        for (int64_t k = 0; k * step < n; k++) most = fabsf(want[k]) > most ? fabsf(want[k]) : most;
        for (int64_t k = 0; k * step < n && compare; k++) {
            b->where.place->get(b->where.state, &got, from + 4 * k * step, 4);
            float gap = fabsf(got - want[k]);
            bool same =
                isnan(want[k]) ? isnan(got) : gap <= SAME_RTOL * fabsf(want[k]) + SAME_ATOL * most || got == want[k];
            if (!same) return false;
        }
    }
    return true;
}

/* Both sides once on the same inputs: warms up, and shows a candidate that computes something else. */
static bool agree(bench *b, const hn_lab_request *r, double once_s[2], hn_lab_reply *out) {
    for (int side = 0; side < 2; side++) {
        b->symbol[-1] = 0;
        b->turn = 0;
        once_s[side] = block(b, side, r, 1);
        if (sample_results(b, side == 1) && !b->symbol[-1]) continue;
        out->cls = HONE_WRONG_RESULT;
        snprintf(out->text, sizeof out->text, "the results differ from the default schedule's");
        return false;
    }
    return true;
}

static double best_of(const hn_lab_reply *r, int side) {
    double best = INFINITY;
    for (uint32_t i = 0; i < r->n_pairs; i++) best = r->time_s[i][side] < best ? r->time_s[i][side] : best;
    return best;
}

static void measure(bench *b, const hn_lab_request *r, hn_lab_reply *out) {
    double once_s[2], start_s = b->where.place->now_s(b->where.state);
    int64_t n[2];
    *out = (hn_lab_reply){.cls = HONE_RUN_OK};
    for (int side = 0; side < 2; side++) {
        if (!open_side(b, side, &r->side[side], out->text, sizeof out->text)) {
            out->cls = HONE_BUILD_ERROR;
            return;
        }
        need_scratch(b, r->side[side].scratch_b);
    }
    if (!agree(b, r, once_s, out)) return;
    for (int side = 0; side < 2; side++) {
        double again_s = block(b, side, r, 1);
        if (again_s < once_s[side]) once_s[side] = again_s;
        n[side] =
            once_s[side] < r->block_s ? (int64_t)(r->block_s / (once_s[side] > 1e-7 ? once_s[side] : 1e-7)) + 1 : 1;
    }
    while (out->n_pairs < r->n_pairs && out->n_pairs < HN_LAB_PAIRS) {
        double *pair = out->time_s[out->n_pairs];
        int first = !hn_base_first(out->n_pairs);
        pair[first] = block(b, first, r, n[first]);
        pair[!first] = block(b, !first, r, n[!first]);
        out->n_pairs++;
        if (out->n_pairs < 2) continue;
        if (b->where.place->now_s(b->where.state) - start_s > r->max_s) break;
        if (hn_race_gives_up(best_of(out, 1), best_of(out, 0), r->give_up)) break;
    }
}

static void serve(const hn_lab *l, int fd) {
    const hn_place_spec spec = {
        .cpu = l->team ? l->team->cpu : NULL, .n_cpu = l->team ? l->team->n : 0, .seed = l->seed};
    bench b = {.lab = l, .where.place = l->m->dialect->backend->here};
    if (b.where.place->open(&spec, &b.where.state, NULL)) _exit(NO_MEMORY);
    b.cost = hn_kernel_cost(l->m, l->k, l->symbol);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    for (int sig = 1; sig < NSIG; sig++) signal(sig, sig == SIGINT || sig == SIGTERM ? SIG_IGN : SIG_DFL);
    char *pad = __builtin_alloca(1 + l->seed % 61 * 64); /* moves the stack */
    __asm__ volatile("" ::"r"(pad) : "memory");
    if (!make_buffers(&b)) _exit(NO_MEMORY);
    for (;;) {
        hn_lab_request r;
        hn_lab_reply reply;
        if (recv(fd, &r, sizeof r, MSG_WAITALL) != (ssize_t)sizeof r) _exit(0);
        measure(&b, &r, &reply);
        if (send(fd, &reply, sizeof reply, MSG_NOSIGNAL) != (ssize_t)sizeof reply) _exit(0);
    }
}

/* --- in the parent -------------------------------------------------------------------------------------------------
 */

static hone_rc start(hn_lab *l, hone_err *err) {
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
        return hn_fail(err, HONE_E_IO, "cannot make a socket: %s", strerror(errno));
    l->pid = fork();
    if (l->pid == 0) {
        close(fd[0]);
        serve(l, fd[1]);
    }
    close(fd[1]);
    l->fd = fd[0];
    l->busy = false;
    if (l->pid > 0) return HONE_OK;
    close(fd[0]);
    l->fd = -1;
    return hn_fail(err, HONE_E_IO, "cannot fork: %s", strerror(errno));
}

static void stop_child(hn_lab *l, int *status) {
    *status = 0;
    if (l->pid <= 0) return;
    kill(l->pid, SIGKILL);
    while (waitpid(l->pid, status, 0) < 0 && errno == EINTR) continue;
    close(l->fd);
    l->pid = 0;
    l->fd = -1;
    l->busy = false;
}

hone_rc hn_lab_open(hn_lab *l, hn_model *m, const hn_kernel *k, const int64_t *symbol, const hn_team *team,
                    uint64_t seed, hone_err *err) {
    *l = (hn_lab){.m = m, .k = k, .symbol = symbol, .team = team, .seed = seed, .fd = -1};
    return start(l, err);
}

void hn_lab_close(hn_lab *l) {
    int status;
    stop_child(l, &status);
}

hone_rc hn_lab_send(hn_lab *l, const hn_lab_request *r, double limit_s, hone_err *err) {
    if (l->pid <= 0) {
        hone_rc rc = start(l, err);
        if (rc) return rc;
    }
    l->sent_s = hn_now_s();
    l->limit_s = limit_s;
    l->busy = true; /* a send that fails shows in hn_lab_poll, as the process is gone then */
    if (send(l->fd, r, sizeof *r, MSG_NOSIGNAL) < 0) l->limit_s = 0;
    return HONE_OK;
}

static void died(hn_lab *l, bool hung, hn_lab_reply *out) {
    int status;
    if (hung) kill(l->pid, SIGKILL);
    while (waitpid(l->pid, &status, 0) < 0 && errno == EINTR) continue;
    *out = (hn_lab_reply){.cls = hung ? HONE_RUN_TIMEOUT : HONE_RUN_CRASH};
    if (hung)
        snprintf(out->text, sizeof out->text, "ran longer than %.1f s", l->limit_s);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MEMORY)
        snprintf(out->text, sizeof out->text, "no memory for the kernel's buffers, or no legal inputs");
    else if (WIFSIGNALED(status))
        snprintf(out->text, sizeof out->text, "killed by signal %d", WTERMSIG(status));
    else
        snprintf(out->text, sizeof out->text, "ended the process");
    close(l->fd);
    l->pid = 0;
    l->fd = -1;
    l->busy = false;
}

bool hn_lab_poll(hn_lab *l, double wait_s, hn_lab_reply *out) {
    struct pollfd p = {.fd = l->fd, .events = POLLIN};
    if (!l->busy) return false;
    int n = poll(&p, 1, (int)(wait_s * 1e3 + 0.5));
    if (n > 0) {
        if (recv(l->fd, out, sizeof *out, MSG_WAITALL) == (ssize_t)sizeof *out)
            l->busy = false;
        else
            died(l, false, out);
        return true;
    }
    if (hn_now_s() - l->sent_s < l->limit_s) return false;
    died(l, true, out);
    return true;
}

double hn_lab_balance(const hn_model *m, const hn_kernel *k, const int64_t *symbol, int64_t work, uint32_t n_threads) {
    return m->dialect->backend->here->balance(work, hn_kernel_cost(m, k, symbol), n_threads);
}

/* --- builds --------------------------------------------------------------------------------------------------------
 */

/* What kernels and the runtime take from the headers of libc and libm, which are a quarter of a candidate's compilation
 * otherwise. A kernel that needs more is compiled with the headers. */
static const char few[] =
    "typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;\n"
    "typedef __INT64_TYPE__ int64_t; typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t;\n"
    "typedef __UINT32_TYPE__ uint32_t; typedef __UINT64_TYPE__ uint64_t; typedef __UINTPTR_TYPE__ uintptr_t;\n"
    "typedef __SIZE_TYPE__ size_t; typedef __PTRDIFF_TYPE__ ptrdiff_t;\n"
    "#define NULL ((void *)0)\n#define INT64_C(x) x##L\n#define UINT64_C(x) x##UL\n"
    "#define INT64_MAX __INT64_MAX__\n#define INT64_MIN (-INT64_MAX - 1)\n#define UINT64_MAX __UINT64_MAX__\n"
    "#define INT32_MAX __INT32_MAX__\n#define INT32_MIN (-INT32_MAX - 1)\n#define UINT32_MAX __UINT32_MAX__\n"
    "#define INFINITY __builtin_inff()\n#define NAN __builtin_nanf(\"\")\n"
    "#define isnan(x) __builtin_isnan(x)\n#define isinf(x) __builtin_isinf_sign(x)\n"
    "#define isfinite(x) __builtin_isfinite(x)\n#define signbit(x) __builtin_signbit(x)\n"
    "void *memcpy(void *, const void *, size_t), *memmove(void *, const void *, size_t), *memset(void *, int, "
    "size_t);\n"
    "int memcmp(const void *, const void *, size_t);\n"
    "double acos(double), acosh(double), asin(double), asinh(double), atan(double), atanh(double), ceil(double),\n"
    "    copysign(double, double), cos(double), cosh(double), erf(double), exp(double), expm1(double), fabs(double),\n"
    "    floor(double), fma(double, double, double), fmax(double, double), fmin(double, double), fmod(double, "
    "double),\n"
    "    frexp(double, int *), ldexp(double, int), log(double), log1p(double), log2(double), nearbyint(double),\n"
    "    pow(double, double), rint(double), round(double), sin(double), sinh(double), sqrt(double), tan(double),\n"
    "    tanh(double), trunc(double);\n"
    "float fabsf(float), sqrtf(float), floorf(float), ceilf(float), rintf(float), truncf(float), fmaf(float, float, "
    "float);\n";

/* The runtime's text without its lines that include. */
static void add_lean(hn_str *out, const char *text) {
    static const char include[] = "#include <";
    hn_str_add(out, few);
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n") + (strchr(p, '\n') != NULL);
        if (strncmp(p, include, sizeof include - 1)) hn_str_add_n(out, p, n);
        p += n;
    }
}

static hone_rc write_source(const hn_backend *b, const char *path, const hn_kernel_code *code, const char *kernel,
                            unsigned pad_b, bool lean, hone_err *err) {
    hn_str text = {0}, names = {0}, runtime = {0};
    hn_str_addf(&names, "base %s", code->helpers ? code->helpers : "");
    hn_str_add(&text, "#define _GNU_SOURCE\n");
    bool known = !names.failed && b->add_runtime(&runtime, names.text) && !runtime.failed;
    if (known && lean)
        add_lean(&text, runtime.text);
    else if (known)
        hn_str_add_n(&text, runtime.text, runtime.n);
    hn_str_free(&runtime);
    if (pad_b) hn_str_addf(&text, "__asm__(\".pushsection .text\\n.skip %u\\n.popsection\\n\");\n", pad_b);
    hn_str_add(&text, code->text);
    hn_str_add(&text, "\n");
    hn_source_export(&text, "default", "hone_kernel", kernel);
    FILE *f = known && !text.failed ? fopen(path, "wb") : NULL; /* a short-lived file: not synced */
    bool good = f && fwrite(text.text, 1, text.n, f) == text.n;
    if (f && fclose(f)) good = false;
    hn_str_free(&text);
    hn_str_free(&names);
    return good ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot write '%s'", path);
}

hone_rc hn_lab_build_start(hn_model *m, const char *dir, const char *name, const hn_kernel_code *code,
                           const char *kernel, const hn_setting *s, hn_lab_how how, hn_arena *a, hn_lab_build *b,
                           hone_err *err) {
    *b = (hn_lab_build){0};
    snprintf(b->source, sizeof b->source, "%s.c", name);
    snprintf(b->library, sizeof b->library, "%s.so", name);
    char *path = hn_format(a, "%s/%s", dir, b->source);
    hone_rc rc = path ? write_source(m->dialect->backend, path, code, kernel, how.pad_b, how.lean, err)
                      : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (rc) return rc;
    const char *const files[] = {"-o", b->library, b->source};
    hn_command_compiler(m, s->cc, s->flags, a, &b->command);
    if (how.lean) hn_command_part(&b->command, HN_CC_LEAN);
    hn_command_part(&b->command, HN_CC_KERNEL);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) hn_command_add(&b->command, files[i]);
    hn_command_part(&b->command, HN_CC_KERNEL_LIB);
    if (how.lean) hn_command_part(&b->command, HN_CC_LEAN_LIB);
    b->spec = (hn_proc_spec){.argv = b->command.argv, .env = hn_temp_here, .cwd = dir, .cpu = how.cpu, .wall_s = 60};
    return hn_proc_start(&b->spec, &b->proc, err);
}
