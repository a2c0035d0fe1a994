/* overhead.c — what a search costs beside compilers and programs: time of ask + tell, and memory.
 *
 *     overhead ENGINE PARAMS TRIALS [LAST]    prints JSON: mean time of ask + tell (wall and processor) over the last
 * LAST trials (default: all), and the process's peak memory (VmHWM)
 *
 * The space is synthetic: half flags, a quarter integers, a quarter choices, all optional beyond 100 parameters, as a
 * compiler's are. The cost is an additive function with a few interactions and noise, its optimum at a place drawn at
 * random. */
#include <hone/search.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct model {
    double *weight, *optimum;
    size_t n;
    uint64_t state;
} model;

typedef struct spent {
    double wall_s, cpu_s;
} spent;

static double clock_s(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static spent now(void) { return (spent){clock_s(CLOCK_MONOTONIC), clock_s(CLOCK_PROCESS_CPUTIME_ID)}; }

static void add_since(spent *sum, spent from) {
    spent to = now();
    sum->wall_s += to.wall_s - from.wall_s;
    sum->cpu_s += to.cpu_s - from.cpu_s;
}

static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static hone_space *make_space(size_t n, hone_err *err) {
    static const char *const values[] = {"a", "b", "c", "d"};
    hone_space *space;
    hone_rc rc = hone_space_new("overhead", &space, err);
    if (rc) return NULL;
    for (size_t i = 0; i < n && !rc; i++) {
        char name[32];
        snprintf(name, sizeof name, "p%zu", i);
        hone_param p = {.name = name, .kind = i % 4 < 2 ? HONE_FLAG : i % 4 == 2 ? HONE_INT : HONE_CHOICE};
        if (p.kind == HONE_INT) p.hi = 100;
        if (p.kind == HONE_CHOICE) {
            p.values = values;
            p.n_values = 4;
        }
        if (n > 100) {
            p.optional = true;
            p.knockout = 0.5;
            p.dflt = NAN;
        }
        rc = hone_space_add(space, &p, err);
    }
    if (!rc) rc = hone_space_seal(space, err);
    if (!rc) return space;
    hone_space_free(space);
    return NULL;
}

static double cost(model *m, const double *point) {
    double sum = 0, before = 0;
    for (size_t i = 0; i < m->n; i++) {
        double x = isnan(point[i]) ? 0.5 : point[i] / (i % 4 < 2 ? 1 : i % 4 == 2 ? 100 : 3);
        double d = fabs(x - m->optimum[i]);
        sum += m->weight[i] * d + (i % 7 == 0 ? 0.3 * d * before : 0);
        before = d;
    }
    return (1 + sum) * (1 + 0.01 * uniform(&m->state));
}

static bool make_model(model *m, size_t n) {
    *m = (model){.weight = malloc(n * sizeof(double)), .optimum = malloc(n * sizeof(double)), .n = n, .state = 42};
    if (!m->weight || !m->optimum) return false;
    for (size_t i = 0; i < n; i++) {
        double u = uniform(&m->state);
        m->weight[i] = u * u * u * u; /* few matter */
        m->optimum[i] = uniform(&m->state);
    }
    return true;
}

static long peak_kib(void) {
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
    if (f) fclose(f);
    return kib;
}

static hone_rc search(const hone_space *space, model *m, const char *engine, size_t n, size_t last, spent *sum,
                      hone_err *err) {
    hone_search *s;
    hone_search_options config = {.size = sizeof(hone_search_options), .engine = engine, .seed = 1, .budget = n};
    hone_rc rc = hone_search_open(space, &config, &s, err);
    if (rc) return rc;
    double *point = malloc(hone_space_slots(space) * sizeof *point);
    if (!point) rc = HONE_E_NOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        hone_outcome seen = {.cls = HONE_RUN_OK};
        bool counts = i + last >= n;
        spent from = now();
        rc = hone_search_ask(s, point, err);
        if (counts) add_since(sum, from);
        if (rc) break;
        seen.value[0] = cost(m, point);
        from = now();
        rc = hone_search_tell(s, point, &seen, err);
        if (counts) add_since(sum, from);
    }
    free(point);
    hone_search_close(s);
    return rc;
}

int main(int argc, char **argv) {
    hone_err err = {0};
    size_t n_params = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    size_t last = argc > 4 ? strtoul(argv[4], NULL, 10) : n;
    spent sum = {0};
    model m;
    if (!n_params || !n || !last || last > n) {
        fputs("usage: overhead ENGINE PARAMS TRIALS [LAST]\n", stderr);
        return 2;
    }
    hone_space *space = make_model(&m, n_params) ? make_space(n_params, &err) : NULL;
    if (!space || search(space, &m, argv[1], n, last, &sum, &err)) {
        fprintf(stderr, "overhead: %s\n", err.text[0] ? err.text : "out of memory");
        return 1;
    }
    printf("{\"engine\": \"%s\", \"params\": %zu, \"trials\": %zu, \"last\": %zu, \"ask_tell_ms\": %.4f, "
           "\"ask_tell_cpu_ms\": %.4f, \"peak_mib\": %.1f}\n",
           argv[1], n_params, n, last, 1e3 * sum.wall_s / (double)last, 1e3 * sum.cpu_s / (double)last,
           (double)peak_kib() / 1024);
    hone_space_free(space);
    free(m.weight);
    free(m.optimum);
    return 0;
}
