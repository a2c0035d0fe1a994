/* Programs of random graphs, straight ones and ones with branches and loops inside each other: they pass the verifier,
 * and their text is read back as the same text. The seed is in the name of the test: HONE_SEED=N runs that one alone
 * and prints the graph. */
#include "../random_graph.h"
#include "base/str.h"
#include "tap.h"

#include <hone/program.h>

#include <unistd.h>

enum { N_PROGRAMS = 60, DEPTH = 3, SOME = 12 };

/* --- graphs with control flow, as text: all values are f32[s] of some symbol, or f32[n] -----------------------------
 */

typedef struct writer {
    hn_str out;
    hn_rng r;
    unsigned next;
    unsigned scope[SOME]; /* values in scope, all of f32[n, 4] */
    size_t n;
} writer;

static uint32_t pick(writer *w, uint32_t n) { return (uint32_t)hn_rng_below(&w->r, n); }
static unsigned one_of(writer *w) { return w->scope[pick(w, (uint32_t)w->n)]; }
static void in_scope(writer *w, unsigned v) { w->scope[w->n < SOME ? w->n++ : pick(w, SOME)] = v; }

static void write_some(writer *w, int depth);

static void write_plain(writer *w) {
    static const char *const op[] = {"neg", "abs", "exp", "floor"};
    unsigned v = w->next++;
    if (pick(w, 2))
        hn_str_addf(&w->out, "%%v%u = %s %%v%u\n", v, op[pick(w, 4)], one_of(w));
    else
        hn_str_addf(&w->out, "%%v%u = add %%v%u, %%v%u\n", v, one_of(w), one_of(w));
    in_scope(w, v);
}

/* A block of its own: what is made in it is in scope there alone. */
static void write_inner(writer *w, int depth, unsigned result[2]) {
    writer before = *w;
    write_some(w, depth);
    result[0] = one_of(w);
    result[1] = one_of(w);
    w->n = before.n;
    memcpy(w->scope, before.scope, sizeof w->scope);
}

static void write_if(writer *w, int depth) {
    unsigned v = w->next, r[2];
    w->next += 2;
    hn_str_addf(&w->out, "%%v%u, %%v%u = if %%c do () {\n", v, v + 1);
    write_inner(w, depth, r);
    hn_str_addf(&w->out, "yield %%v%u, %%v%u\n} do () {\n", r[0], r[1]);
    write_inner(w, depth, r);
    hn_str_addf(&w->out, "yield %%v%u, %%v%u\n}\n", r[0], r[1]);
    in_scope(w, v);
    in_scope(w, v + 1);
}

/* Two carried values, which a turn may swap, and one that is stacked. */
static void write_loop(writer *w, int depth) {
    unsigned v = w->next, p = v + 4, r[2], a = one_of(w), b = one_of(w), stacked;
    w->next += 6;
    hn_str_addf(
        &w->out,
        "%%v%u, %%v%u, %%v%u = loop %%t, %%c, %%v%u, %%v%u {count = 1, defines = [k%u]} do (%%i%u : i64[], %%g%u : "
        "bool[], %%v%u : f32[n, 4], %%v%u : f32[n, 4]) {\n",
        v, v + 1, v + 2, a, b, v, v, v, p, p + 1);
    writer before = *w;
    in_scope(w, p);
    in_scope(w, p + 1);
    write_some(w, depth);
    r[0] = pick(w, 2) ? p + 1 : one_of(w), r[1] = pick(w, 2) ? p : one_of(w), stacked = one_of(w);
    w->n = before.n;
    memcpy(w->scope, before.scope, sizeof w->scope);
    hn_str_addf(&w->out, "yield %%g%u, %%v%u, %%v%u, %%v%u\n}\n", v, r[0], r[1], stacked);
    hn_str_addf(&w->out, "%%v%u = sum %%v%u {axes = [0], keep = 0}\n", v + 3, v + 2);
    in_scope(w, v);
    in_scope(w, v + 1);
    in_scope(w, v + 3);
}

static void write_some(writer *w, int depth) {
    for (uint32_t i = 0, n = 1 + pick(w, 4); i < n; i++) {
        uint32_t kind = depth ? pick(w, 6) : 0;
        if (kind == 4)
            write_if(w, depth - 1);
        else if (kind == 5)
            write_loop(w, depth - 1);
        else
            write_plain(w);
    }
}

static hn_graph *random_control(uint64_t seed, hone_err *err) {
    writer w = {.r = hn_rng_make(seed, 11), .next = 1, .scope = {0}, .n = 1};
    hn_str text = {0};
    hn_graph *g = NULL;
    while (w.next < 30) write_some(&w, DEPTH);
    hn_str_add(&text, "ir 1\nsymbol n in 1..8\n");
    for (unsigned v = 0; v < w.next; v++) hn_str_addf(&text, "symbol k%u in 0..\n", v);
    hn_str_add(&text, "input %v0 : f32[n, 4] \"x\"\ninput %c : bool[] \"c\"\ninput %t : i64[] \"t\"\n");
    hn_str_add(&text, w.out.text);
    for (int i = 0; i < 2; i++) hn_str_addf(&text, "output %%v%u \"y%d\"\n", one_of(&w), i);
    if (hn_parse(text.text, text.n, NULL, &g, err) || getenv("HONE_SEED")) printf("# %s\n%s", err->text, text.text);
    hn_str_free(&w.out);
    hn_str_free(&text);
    return g;
}

/* Printed (which verifies it), written to a file, read back. */
static void check(hn_graph *g, const char *kind, uint64_t seed, hone_err *err) {
    const hone_compile_options options = {.size = sizeof options, .target = "generic", .no_winners = true};
    const char *folder = getenv("TMPDIR");
    char path[300], *text = NULL, *again = NULL;
    snprintf(path, sizeof path, "%s/hone-program-%llu", folder ? folder : "/tmp", (unsigned long long)getpid());
    hone_rc rc = g ? hone_program_print(g, "random", &options, &text, NULL, err) : HONE_E_INPUT;
    FILE *f = rc ? NULL : fopen(path, "w");
    if (f) {
        fputs(text, f);
        fclose(f);
        rc = hone_program_read(path, &again, NULL, err);
        remove(path);
    }
    if (!ok(f && !rc && !strcmp(text, again), "programs/%s_%llu", kind, (unsigned long long)seed))
        printf("# %s\n", err->text);
    hone_free(text);
    hone_free(again);
}

int main(void) {
    const char *one = getenv("HONE_SEED");
    uint64_t from = one ? strtoull(one, NULL, 10) : 1, n = one ? 1 : getenv("HONE_LONG") ? 20 * N_PROGRAMS : N_PROGRAMS;
    for (uint64_t seed = from; seed < from + n; seed++) {
        hone_err err = {0};
        hn_graph *straight = random_graph(seed, false), *control = random_control(seed, &err);
        check(straight, "straight", seed, &err);
        check(control, "control", seed, &err);
        hn_graph_free(straight);
        hn_graph_free(control);
    }
    return done_testing();
}
