/* tests/gpu/cases.h — for tests that run kernels on the shim: buffers of exactly the size asked for, numbers,
 * comparisons, and every order of running. Prints TAP. */
#ifndef HONE_GPU_CASES_H
#define HONE_GPU_CASES_H

static int tap_n, tap_failed;

__attribute__((format(printf, 2, 3))) static bool ok(bool good, const char *name, ...) {
    va_list ap;
    printf("%sok %d - ", good ? "" : "not ", ++tap_n);
    va_start(ap, name);
    vprintf(name, ap);
    va_end(ap);
    putchar('\n');
    tap_failed += !good;
    if (!good && shim::fault[0]) printf("#   shim: %s\n", shim::fault);
    return good;
}

static int done_testing() {
    printf("1..%d\n", tap_n);
    return tap_failed != 0;
}

/* n values in the shim's global memory, which sees one too far. */
template <class T> struct array {
    T *p;
    size_t n;
    explicit array(size_t n_) : p(static_cast<T *>(shim_alloc(n_ * sizeof(T), "array"))), n(n_) {
        if (!p) abort();
        poison();
        shim_written(p, n * sizeof(T));
    }
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    ~array() { shim_free(p); }
    operator T *() { return p; }
    T &operator[](size_t i) { return p[i]; }
    void poison() { memset(static_cast<void *>(p), 0xff, n * sizeof(T)); }
};

static uint64_t test_seed = 20240611;
static double uniform(double lo, double hi) {
    test_seed = test_seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * static_cast<double>(test_seed >> 11) / 9007199254740992.0;
}
template <class T> static void fill(array<T> &a, double lo, double hi) {
    for (size_t i = 0; i < a.n; i++) a[i] = static_cast<T>(uniform(lo, hi));
}

/* The largest error beside max(1, |want|); infinite where a value is no number. */
template <class T> static double worst(array<T> &got, array<T> &want) {
    double most = 0;
    for (size_t i = 0; i < got.n; i++) {
        const double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
        const double e = fabs(g - w) / fmax(1, fabs(w));
        if (!(e <= most)) most = e == e ? e : INFINITY;
    }
    return most;
}

/* Runs the case forwards, backwards and permuted three times: run() prepares outputs, launches and says whether all was
 * well; error() is the largest error then. */
template <class Run, class Error> static bool in_every_order(const char *name, double tolerance, Run run, Error error) {
    static const char *const orders[] = {"forwards", "backwards", "permuted", "permuted", "permuted"};
    bool good = true;
    for (int k = 0; k < 5 && good; k++) {
        shim::order = k == 0 ? shim::FORWARDS : k == 1 ? shim::BACKWARDS : shim::PERMUTED;
        shim::seed = static_cast<uint64_t>(k);
        good = run();
        const double e = good ? error() : 0;
        if (!good || !(e <= tolerance)) {
            ok(false, "%s (%s)", name, orders[k]);
            if (good) printf("#   error %g, tolerance %g\n", e, tolerance);
            good = false;
        }
    }
    return good && ok(true, "%s", name);
}
#endif
