/* model_host.c — a program that uses a compiled model, for tests/e2e/model.t: usage: model_host LIBRARY.
 *
 * The model has an input "x" f32[n, 64] with n in 1 .. 96, an input "w" f32[64, 48] and two outputs "y" f32[n, 48] and
 * "s" f32[n]. Allocation is counted by functions of its own in place of malloc and its kind.
 */
#include <hone/model.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 96, K = 64, M = 48 };

/* --- counting ----------------------------------------------------------------------------------------------------- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
static long n_allocations;
void *malloc(size_t n) { return __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED), __libc_malloc(n); }
void *calloc(size_t n, size_t m) {
    return __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED), __libc_calloc(n, m);
}
void *realloc(void *p, size_t n) {
    return __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED), __libc_realloc(p, n);
}
void *aligned_alloc(size_t a, size_t n) {
    return __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED), __libc_memalign(a, n);
}

/* --- TAP ---------------------------------------------------------------------------------------------------------- */

static int n_tests, n_failed;
static void ok(int good, const char *name) {
    printf("%sok %d - e2e/model_%s\n", good ? "" : "not ", ++n_tests, name);
    fflush(stdout);
    n_failed += !good;
}

/* --- the model ------------------------------------------------------------------------------------------------------
 */

static const hone_model *model;
static float x[N * K], w[K * M], first_y[N * M], first_s[N];

static void inputs_of(hone_model_tensor *in, int64_t n) {
    in[0] = (hone_model_tensor){x, sizeof x, 0, 2, {n, K}, 0};
    in[1] = (hone_model_tensor){w, sizeof w, 0, 2, {K, M}, 0};
}

static hone_model_rc run(hone_model_instance *m, int64_t n, float *y, float *s) {
    hone_model_tensor in[2], out[2] = {{y, N * M * sizeof *y, 0, 0, {0}, 0}, {s, N * sizeof *s, 0, 0, {0}, 0}};
    inputs_of(in, n);
    return model->run(m, in, 2, out, 2);
}

static int same_as_first(hone_model_instance *m) {
    static _Thread_local float y[N * M], s[N];
    for (int i = 0; i < 5; i++) {
        memset(y, 0, sizeof y), memset(s, 0, sizeof s);
        if (run(m, N, y, s) || memcmp(y, first_y, sizeof y) || memcmp(s, first_s, sizeof s)) return 0;
    }
    return 1;
}

static hone_model_instance *instance(int n_threads, hone_model_executor *executor) {
    hone_model_config config = {.size = sizeof config, .n_threads = n_threads, .executor = executor};
    hone_model_instance *m = NULL;
    return model->create(&config, &m) ? NULL : m;
}

static void backwards(void *context, void (*fn)(void *arg, int64_t i), void *arg, int64_t n) {
    (void)context;
    while (n--) fn(arg, n);
}

static void test_bits(void) {
    hone_model_instance *m = instance(1, NULL);
    ok(m && run(m, N, first_y, first_s) == HONE_MODEL_OK, "runs");
    long before = n_allocations;
    int same = same_as_first(m);
    ok(n_allocations == before, "run_allocates_nothing");
    ok(same, "same_bits_from_run_to_run");
    model->free(m);
    for (int n = 2; n <= 3; n++) {
        m = instance(n, NULL);
        before = n_allocations;
        ok(m && same_as_first(m), n == 2 ? "same_bits_on_2_threads" : "same_bits_on_3_threads");
        ok(n_allocations == before, "threads_allocate_nothing");
        model->free(m);
    }
    m = instance(4, backwards);
    ok(m && same_as_first(m), "same_bits_with_an_executor_of_the_caller");
    model->free(m);
}

static void *thread(void *arg) {
    hone_model_instance *m = instance(1, NULL);
    *(int *)arg = m && same_as_first(m);
    if (m) model->free(m);
    return NULL;
}

static void test_threads(void) {
    pthread_t t[4];
    int good[4] = {0}, all = 1;
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, thread, &good[i]);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL), all = all && good[i];
    ok(all, "instances_in_four_threads");
}

static void test_sizes(void) {
    static float y[N * M], s[N];
    hone_model_instance *m = instance(1, NULL);
    int good = 1;
    long before = n_allocations;
    for (int64_t n = 1; n <= N && good; n += 7)
        good = !run(m, n, y, s) && !memcmp(y, first_y, (size_t)(n * M) * sizeof *y) &&
               !memcmp(s, first_s, (size_t)n * sizeof *s);
    ok(good, "any_size_through_one_library");
    ok(n_allocations == before, "bounded_sizes_allocate_nothing");
    model->free(m);
}

/* Buffers of the caller that lie at no multiple of a vector. */
static void test_alignment(void) {
    static float a[N * K + 16], b[K * M + 16], y[N * M + 16], s[N + 16];
    hone_model_instance *m = instance(2, NULL);
    int good = m != NULL;
    for (int shift = 1; shift < 16 && good; shift += 3) {
        memcpy(a + shift, x, sizeof x), memcpy(b + shift, w, sizeof w);
        hone_model_tensor in[2] = {{a + shift, sizeof x, 0, 2, {N, K}, 0}, {b + shift, sizeof w, 0, 2, {K, M}, 0}};
        hone_model_tensor out[2] = {{y + shift, sizeof first_y, 0, 0, {0}, 0},
                                    {s + shift, sizeof first_s, 0, 0, {0}, 0}};
        good = !model->run(m, in, 2, out, 2) && !memcmp(y + shift, first_y, sizeof first_y) &&
               !memcmp(s + shift, first_s, sizeof first_s);
    }
    ok(good, "buffers_at_any_element");
    if (m) model->free(m);
}

static void test_refusals(void) {
    static float y[N * M], s[N];
    hone_model_instance *m = instance(1, NULL);
    hone_model_tensor in[2], out[2], good[2] = {{y, sizeof y, 0, 0, {0}, 0}, {s, sizeof s, 0, 0, {0}, 0}};
#define TRY(change, rc, name)                                                                                          \
    do {                                                                                                               \
        inputs_of(in, 4);                                                                                              \
        memcpy(out, good, sizeof out);                                                                                 \
        change;                                                                                                        \
        ok(model->run(m, in, 2, out, 2) == rc && *model->error(m), name);                                              \
    } while (0)
    inputs_of(in, 4);
    ok(model->run(m, in, 1, good, 2) == HONE_MODEL_ARGUMENT, "refuses_a_wrong_count");
    ok(model->run(NULL, in, 2, good, 2) == HONE_MODEL_ARGUMENT, "refuses_no_instance");
    ok(model->create(NULL, NULL) == HONE_MODEL_ARGUMENT && *model->error(NULL), "refuses_no_place_for_the_instance");
    TRY(in[0].dtype = 1, HONE_MODEL_ARGUMENT, "refuses_a_wrong_element_type");
    TRY(in[0].rank = 3, HONE_MODEL_ARGUMENT, "refuses_a_wrong_rank");
    TRY(in[0].data = NULL, HONE_MODEL_ARGUMENT, "refuses_no_data");
    TRY(in[0].data = (char *)x + 1, HONE_MODEL_ARGUMENT, "refuses_unaligned_data");
    TRY(in[0].dim[1] = K - 1, HONE_MODEL_SHAPE, "refuses_a_wrong_size");
    TRY(in[0].dim[0] = 0, HONE_MODEL_SHAPE, "refuses_a_size_below_its_range");
    TRY(in[0].dim[0] = N + 1, HONE_MODEL_SHAPE, "refuses_a_size_above_its_range");
    TRY(in[0].dim[0] = -1, HONE_MODEL_SHAPE, "refuses_a_negative_size");
    TRY(out[0].size_b = 4 * M * sizeof(float) - 1, HONE_MODEL_SMALL, "refuses_a_small_output_buffer");
    ok(out[0].dim[0] == 4 && out[0].dim[1] == M, "says_what_an_output_needs");
    TRY(out[0].data = x + 8, HONE_MODEL_ARGUMENT, "refuses_an_output_over_an_input");
    TRY(out[1].data = y + 8, HONE_MODEL_ARGUMENT, "refuses_outputs_that_overlap");
    inputs_of(in, 4);
    memset(out, 0, sizeof out);
    ok(!model->run(m, in, 2, out, 2) && out[0].data && !memcmp(out[0].data, first_y, 4 * M * sizeof(float)),
       "outputs_without_a_buffer_stay_inside");
    ok(!run(m, 4, y, s) && !memcmp(y, first_y, 4 * M * sizeof(float)), "runs_after_refusals");
    model->free(m);
}

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    hone_model_entry *entry = NULL;
    void *symbol = library ? dlsym(library, HONE_MODEL_ENTRY) : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) return fprintf(stderr, "%s\n", library ? "no entry" : dlerror()), 1;
    model = entry();
    for (int i = 0; i < N * K; i++) x[i] = (float)((i * 37 % 101) - 50) / 32;
    for (int i = 0; i < K * M; i++) w[i] = (float)((i * 53 % 89) - 44) / 64;
    test_bits();
    test_threads();
    test_sizes();
    test_alignment();
    test_refusals();
    dlclose(library);
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
