/* Compiled models handed sizes and indices that they cannot take: a code and a text each, and no memory fault. */
#include "tap.h"

#include <hone/artifact.h>
#include <hone/compile.h>

#include <stdlib.h>
#include <unistd.h>

typedef struct call {
    int64_t n, m;       /* sizes of input x, [n, m] or [n] */
    int64_t value[2];   /* elements of input k */
    hone_model_rc want; /* OK: it runs */
} call;
typedef struct hostile {
    const char *name, *text;
    call calls[5];
} hostile;

#define K(n) "input %k : i64[" #n "] \"k\"\n"
#define OUT "output %y \"y\"\n"
static const hostile cases[] = {
    {"gather",
     "input %x : f32[4] \"x\"\n" K(2) "%g = gather %x, %k {axis = 0}\n%y = exp %g\n" OUT,
     {{4, 0, {3, -4}, HONE_MODEL_OK},
      {4, 0, {4, 0}, HONE_MODEL_INDEX},
      {4, 0, {INT64_MIN, INT64_MAX}, HONE_MODEL_INDEX},
      {5, 0, {0, 0}, HONE_MODEL_SHAPE}}},
    {"slice_from_data",
     "symbol n in 0..\nsymbol s in 0..\ninput %x : f32[n] \"x\"\n" K(
         1) "bind %k {defines = [s]}\n%g = slice %x {shape = [2], start = [s], step = [1]}\n%y = exp %g\n" OUT,
     {{5, 0, {3}, HONE_MODEL_OK},
      {5, 0, {4}, HONE_MODEL_INDEX},
      {5, 0, {1000000}, HONE_MODEL_INDEX},
      {5, 0, {-1}, HONE_MODEL_INDEX},
      {1, 0, {0}, HONE_MODEL_INDEX}}},
    {"slice_from_the_end",
     "symbol n in 0..\ninput %x : f32[n] \"x\"\n" K(
         1) "%g = slice %x {shape = [3], start = [n - 3], step = [1]}\n%y = exp %g\n" OUT,
     {{3, 0, {0}, HONE_MODEL_OK},
      {2, 0, {0}, HONE_MODEL_INDEX},
      {0, 0, {0}, HONE_MODEL_INDEX},
      {-1, 0, {0}, HONE_MODEL_SHAPE}}},
    {"reshape",
     "symbol n in 0..\nsymbol m in 0..\ninput %x : f32[n, m] \"x\"\n" K(
         1) "%g = reshape %x {shape = [3, 4]}\n%y = exp %g\n" OUT,
     {{6, 2, {0}, HONE_MODEL_OK}, {2, 2, {0}, HONE_MODEL_SHAPE}, {0, 12, {0}, HONE_MODEL_SHAPE}}},
    {"reshape_from_data",
     "symbol n in 0..\nsymbol s in 0..\nsymbol t in 0..\ninput %x : f32[n] \"x\"\n" K(
         2) "bind %k {defines = [s, t]}\n%g = reshape %x {shape = [s, t]}\n%y = exp %g\n" OUT,
     {{6, 0, {3, 2}, HONE_MODEL_OK},
      {6, 0, {1000, 1000}, HONE_MODEL_INDEX},
      {6, 0, {-3, -2}, HONE_MODEL_INDEX},
      {6, 0, {0, 0}, HONE_MODEL_INDEX}}},
    {"nonzero",
     "symbol n in 0..\nsymbol s in 0..\ninput %x : f32[n] \"x\"\n" K(
         1) "%z = nonzero %x {defines = [s]}\n%g = reshape %z {shape = [s]}\n%y = gather %x, %g {axis = 0}\n" OUT,
     {{5, 0, {0}, HONE_MODEL_OK}}},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static hone_model_rc run(hone_artifact *p, uint32_t rank, uint32_t n_k, const call *c) {
    const hone_model *m = hone_artifact_model(p);
    hone_model_config config = {.size = sizeof config, .n_threads = 2};
    hone_model_instance *i;
    int64_t n = (c->n > 0 ? c->n : 0) * (rank > 1 ? c->m : 1), k[2] = {c->value[0], c->value[1]};
    float *x = malloc((size_t)n * sizeof *x + 1);
    hone_model_tensor in[2] = {{.data = x, .dtype = HONE_F32, .rank = (int32_t)rank, .dim = {c->n, c->m}},
                               {.data = k, .dtype = HONE_I64, .rank = 1, .dim = {n_k}}},
                      out = {0};
    for (int64_t e = 0; x && e < n; e++) x[e] = (float)(e % 3);
    hone_model_rc rc = m->create(&config, &i);
    if (!rc) {
        rc = m->run(i, in, (size_t)m->n_inputs, &out, 1);
        if (rc && !*m->error(i)) rc = HONE_MODEL_OK; /* an error without words is none */
        if (rc != c->want) printf("#   %d: %s\n", (int)rc, m->error(i));
        m->free(i);
    }
    free(x);
    return rc;
}

static void remove_all(const char *dir) {
    static const char *const end[] = {"so", "h", "weights", "manifest"};
    char path[120];
    for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
        snprintf(path, sizeof path, "%s/m.%s", dir, end[i]);
        unlink(path);
    }
    rmdir(dir);
}

static hone_artifact *build(const hostile *h, const char *dir, hone_graph **g, bool reference) {
    char text[1000], base[100], path[120];
    hone_err err = {0};
    hone_artifact *p = NULL;
    snprintf(text, sizeof text, "ir 1\n%s", h->text);
    snprintf(base, sizeof base, "%s/m", dir);
    snprintf(path, sizeof path, "%s/m.so", dir);
    hone_compile_options options = {.size = sizeof(hone_compile_options),
                                    .output = base,
                                    .compiler = getenv("HONE_QUICK_CC"),
                                    .reference = reference,
                                    .no_parity = true};
    hone_rc rc = hone_graph_parse(text, strlen(text), g, &err);
    if (!rc && (rc = hone_compile_graph(*g, "m", &options, NULL, &err))) hone_graph_free(*g);
    if (!rc && (rc = hone_artifact_load(
                    path, &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1}, &p, &err)))
        hone_graph_free(*g);
    if (rc) printf("# %s: %s\n", h->name, err.text);
    return rc ? NULL : p;
}

static void check(const hostile *h, bool reference) {
    char dir[60] = "/tmp/hone-hostile-XXXXXX";
    hone_graph *g;
    if (!mkdtemp(dir)) exit(2);
    hone_artifact *p = build(h, dir, &g, reference);
    if (ok(p != NULL, "hostile_runs/%s compiles", h->name)) {
        const hone_model *m = hone_artifact_model(p);
        uint32_t n_k = (uint32_t)(m->n_inputs > 1 ? m->input[1].dim[0] : 0);
        for (const call *c = h->calls; c < h->calls + 5 && (c->n || c->m || c->want || c == h->calls); c++)
            ok(run(p, (uint32_t)m->input[0].rank, n_k, c) == c->want, "hostile_runs/%s of %lld: %s%s", h->name,
               (long long)c->n, c->want ? "refused" : "runs", reference ? " (reference)" : "");
        hone_artifact_free(p);
        hone_graph_free(g);
    }
    remove_all(dir);
}

int main(void) {
    for (size_t i = 0; i < N_CASES; i++) {
        check(&cases[i], false);
        check(&cases[i], true);
    }
    return done_testing();
}
