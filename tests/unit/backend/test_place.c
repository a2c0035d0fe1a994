/* The place that is this process: memory, a kernel that is loaded, launches on several threads. */
#include "backend/place.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char source[] =
    "#include <stdint.h>\n"
    "__attribute__((visibility(\"default\"))) void hone_kernel(void *const *b, const int64_t *s, int64_t i, int64_t e, "
    "char *t) {\n"
    "    for (; i < e; i++) ((float *)b[1])[i] = ((const float *)b[0])[i] * (float)s[0] + t[0];\n"
    "    if (e == 7) ((int64_t *)(uintptr_t)s)[-1] = 5;\n}\n";

static bool build(const char *dir) {
    char path[200], command[600];
    snprintf(path, sizeof path, "%s/k.c", dir);
    FILE *f = fopen(path, "w");
    if (!f || fputs(source, f) < 0 || fclose(f)) return false;
    snprintf(command, sizeof command, "gcc -shared -fPIC -o %s/k.so %s", dir, path);
    return system(command) == 0;
}

enum { N = 1000 };

static void test_launch(const hn_place *p, void *state, hn_code code, uint32_t n_threads, const char *name) {
    float in[N], out[N];
    int64_t slot[2] = {0, 3};
    uint32_t turn = 0;
    hn_mem buf[2] = {p->alloc(state, sizeof in, HN_MEM_CONSTANT), p->alloc(state, sizeof out, HN_MEM_VALUE)};
    hn_launch l = {.code = code, .buf = buf, .n_buf = 2, .symbol = slot + 1, .n_symbol = 1, .end = N};
    l.scratch = p->alloc(state, 64 * n_threads, HN_MEM_VALUE);
    l.scratch_b = 64, l.n_threads = n_threads, l.cost = 1 << 20;
    for (int i = 0; i < N; i++) in[i] = (float)i;
    p->put(state, buf[0], in, sizeof in);
    bool good = p->launch(state, &l);
    p->get(state, out, buf[1], sizeof out);
    for (int i = 0; i < N; i++) good &= out[i] == 3 * (float)i;
    ok(good && slot[0] == 0, "place/%s_launches", name);
    ok(p->time(state, &l, 1, &turn, 10) > 0 && turn == 0 && p->now_s(state) > 0, "place/%s_has_a_clock", name);
    l.begin = 3, l.end = 7;
    ok(p->launch(state, &l) && slot[0] == 5, "place/%s_reports_errors", name);
}

static void test_here(const char *dir, const int *cpu, uint32_t n_cpu, const char *name) {
    const hn_place *p = &hn_place_here;
    const hn_place_spec spec = {.cpu = cpu, .n_cpu = n_cpu, .seed = 1};
    hone_err err = {0};
    hn_code code = {0};
    char path[200];
    void *state = NULL;
    if (!ok(p->open(&spec, &state, &err) == HONE_OK, "place/%s_opens", name)) return;
    ok(p->load(state, "/nowhere.so", &code, &err) == HONE_E_TOOL && *err.text, "place/%s_has_no_such_library", name);
    snprintf(path, sizeof path, "%s/k.so", dir);
    if (ok(!p->load(state, path, &code, &err) && !p->load(state, path, &code, &err), "place/%s_loads: %s", name,
           err.text))
        test_launch(p, state, code, n_cpu ? n_cpu : 1, name);
    char *first = p->alloc(state, 100, HN_MEM_PLAIN), *second = p->alloc(state, 100, HN_MEM_PLAIN);
    ok(first && second && ((uintptr_t)first | (uintptr_t)second) % 64 == 0 && llabs(second - first) >= 100,
       "place/%s_memory_is_apart", name);
    p->reset(state);
    ok(p->alloc(state, 100, HN_MEM_PLAIN) != NULL, "place/%s_gives_memory_after_a_reset", name);
    p->close(state);
}

int main(void) {
    char dir[] = "/tmp/hone-place-XXXXXX", command[60];
    const int cpu[2] = {0, 0};
    void *state;
    if (!ok(mkdtemp(dir) && build(dir), "place/kernel_is_built")) return done_testing();
    test_here(dir, NULL, 0, "one_thread");
    test_here(dir, cpu, 2, "two_threads");
    const hn_place_spec none = {.library = "/nowhere.so", .query = "f"};
    ok(hn_place_here.open(&none, &state, NULL) == HONE_E_TOOL, "place/library_that_is_not_there");
    ok(hn_place_here.balance(7, 1 << 20, 2) > 1.1 && hn_place_here.balance(8, 1 << 20, 2) == 1, "place/balance");
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) == 0 ? done_testing() : 1;
}
