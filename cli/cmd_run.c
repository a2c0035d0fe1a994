/* cmd_run.c — `hone run`: one inference, arrays in NumPy's formats. */
#include "model_io.h"

#include <hone/artifact.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void append(cli_arrays *to, cli_arrays *from) {
    size_t n = to->n + from->n;
    hone_array *a = cli_alloc(n + 1, sizeof *a);
    char **name = cli_alloc(n + 1, sizeof *name);
    if (to->n) memcpy(a, to->a, to->n * sizeof *a), memcpy(name, to->name, to->n * sizeof *name);
    if (from->n)
        memcpy(a + to->n, from->a, from->n * sizeof *a), memcpy(name + to->n, from->name, from->n * sizeof *name);
    free(to->a), free(to->name), free(from->a), free(from->name);
    *to = (cli_arrays){a, name, n};
    *from = (cli_arrays){0};
}

/* FILE or NAME=FILE. */
static hone_rc read_inputs(const char *word, cli_arrays *in, hone_err *err) {
    cli_arrays more = {0};
    const char *equals = strchr(word, '=');
    hone_rc rc = cli_arrays_read(equals ? equals + 1 : word, &more, err);
    if (rc) return rc;
    if (equals && more.n == 1) {
        free(more.name[0]);
        more.name[0] = cli_format("%.*s", (int)(equals - word), word);
    }
    append(in, &more);
    return HONE_OK;
}

static bool is_random(const cli *c) { return !cli_given(c, "input") && c->n_args < 2 && cli_given(c, "random"); }

static hone_rc gather_inputs(const cli *c, const hone_model *m, cli_arrays *in, hone_err *err) {
    hone_rc rc = HONE_OK;
    if (is_random(c)) return cli_arrays_random(m, cli_text(c, "size", NULL), cli_count(c, "random", 1), in, err);
    if (cli_given(c, "input")) rc = read_inputs(cli_text(c, "input", ""), in, err);
    for (size_t i = 1; i < c->n_args && !rc; i++) rc = read_inputs(c->arg[i], in, err);
    return rc ? rc : cli_arrays_match(m, in, err);
}

/* A float below 32 bits by its fields; subnormals have an exponent of 1 without the leading bit. */
static double small_float(unsigned bits, int n_exponent, int n_fraction) {
    int exponent = (int)(bits >> n_fraction) & ((1 << n_exponent) - 1), bias = (1 << (n_exponent - 1)) - 1;
    unsigned fraction = bits & ((1u << n_fraction) - 1);
    double sign = bits >> (n_exponent + n_fraction) & 1 ? -1 : 1;
    if (exponent == (1 << n_exponent) - 1) return fraction ? NAN : sign * INFINITY;
    return sign * ldexp((double)(exponent ? fraction | 1u << n_fraction : fraction),
                        (exponent ? exponent : 1) - bias - n_fraction);
}

/* Element k: a number; of floats with 8 bits and fewer, which differ in what their bits mean, the bits. */
static void put_element(const hone_array *a, size_t k) {
    union {
        float f32;
        double f64;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
    } x = {0};
    size_t size_b = hone_dtype_size_b(a->dtype);
    memcpy(&x, (const char *)a->data + k * size_b, size_b);
    switch (a->dtype) {
    case HONE_F32: printf(" %.6g", (double)x.f32); break;
    case HONE_F64: printf(" %.6g", x.f64); break;
    case HONE_F16: printf(" %.4g", small_float(x.u16, 5, 10)); break;
    case HONE_BF16: printf(" %.3g", small_float(x.u16, 8, 7)); break;
    case HONE_I8:
    case HONE_I4:
    case HONE_I2: printf(" %d", x.i8); break;
    case HONE_I16: printf(" %d", x.i16); break;
    case HONE_I32: printf(" %" PRId32, x.i32); break;
    case HONE_I64: printf(" %" PRId64, x.i64); break;
    case HONE_U16: printf(" %u", x.u16); break;
    case HONE_U32: printf(" %" PRIu32, x.u32); break;
    case HONE_U64: printf(" %" PRIu64, x.u64); break;
    case HONE_BOOL: printf(" %s", x.u8 ? "true" : "false"); break;
    case HONE_U8:
    case HONE_U4:
    case HONE_U2: printf(" %u", x.u8); break;
    default: printf(" 0x%02x", x.u8);
    }
}

static void put_text(const cli *c, const cli_arrays *out) {
    char shape[256];
    for (size_t i = 0; i < out->n; i++) {
        const hone_array *a = &out->a[i];
        cli_put(c, stdout, out->name[i], 0);
        printf(" %s", cli_array_text(a, shape));
        size_t n = cli_array_count(a), shown = n < 8 ? n : 8;
        for (size_t k = 0; k < shown; k++) put_element(a, k);
        puts(n > shown ? " ..." : "");
    }
}

static void put_json(cli *c, const cli_model *m, const cli_arrays *out) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    if (m->model->device || m->model->n_targets > 1) cli_json_ktext(&j, "target", m->model->target);
    if (*m->where) cli_json_ktext(&j, "place", m->where);
    cli_json_key(&j, "outputs");
    cli_json_array(&j);
    for (size_t i = 0; i < out->n; i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "name", out->name[i]);
        cli_json_ktext(&j, "dtype", hone_dtype_name(out->a[i].dtype));
        cli_json_key(&j, "shape");
        cli_json_array(&j);
        for (uint32_t d = 0; d < out->a[i].rank; d++) cli_json_count(&j, (uint64_t)out->a[i].dim[d]);
        cli_json_close(&j);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static hone_rc infer(cli *c, cli_model *m, cli_arrays *in, hone_err *err) {
    cli_arrays out = {.n = (size_t)m->model->n_outputs};
    out.a = cli_alloc(out.n + 1, sizeof *out.a);
    out.name = cli_alloc(out.n + 1, sizeof *out.name);
    for (size_t i = 0; i < out.n; i++) out.name[i] = cli_strdup(m->model->output[i].name);
    const char *before = cli_text(c, "state-in", NULL), *after = cli_text(c, "state-out", NULL);
    hone_rc rc = before ? hone_artifact_load_state(m->program, before, err) : HONE_OK;
    if (!rc) rc = hone_artifact_run(m->program, in->a, in->n, out.a, out.n, err);
    if (!rc && after) rc = hone_artifact_save_state(m->program, after, err);
    if (is_random(c)) hone_inputs_refused(m->model, rc, err);
    cli_model_unlink(m); /* now, as a closed pipe may end hone without cleaning up */
    if (!rc && cli_given(c, "output")) rc = cli_arrays_write(cli_text(c, "output", ""), &out, err);
    if (!rc && c->json)
        put_json(c, m, &out);
    else if (!rc)
        put_text(c, &out);
    cli_arrays_free(&out);
    return rc;
}

static hone_rc run_run(cli *c, hone_err *err) {
    cli_model m;
    cli_arrays in = {0};
    hone_rc rc = cli_model_open(c, c->arg[0], (uint32_t)cli_count(c, "threads", 0), &m, err);
    if (rc) return rc;
    rc = gather_inputs(c, m.model, &in, err);
    if (!rc) rc = infer(c, &m, &in, err);
    cli_arrays_free(&in);
    cli_model_close(&m);
    return rc;
}

static const cli_option options[] = {
    {"input", 'i', CLI_TEXT, "FILE", 0, 0, "an .npy, or an .npz with an array per input"},
    {"output", 'o', CLI_TEXT, "FILE", 0, 0, "write the outputs to an .npz, or the only one to an .npy"},
    {"random", 0, CLI_COUNT, "SEED", 0, 0, "random inputs: floats N(0, 1), integers 0 or 1"},
    {"size", 0, CLI_TEXT, "NAME=N,...", 0, 0, "symbolic sizes of random inputs; else their smallest"},
    {"state-in", 0, CLI_TEXT, "FILE", 0, 0, "begin with the state that was saved there"},
    {"state-out", 0, CLI_TEXT, "FILE", 0, 0, "save the state that the run leaves"},
    CLI_THREADS("threads; else one per processor"),
    CLI_PLACE_OPTION,
    CLI_COMPILE_OPTIONS,
    CLI_PRECISION_OPTIONS,
    CLI_PRECISION_KEY_OPTION,
    CLI_STATE_OPTION,
    {0},
};

const cli_command cli_cmd_run = {
    "run",
    "Models",
    "MODEL [NAME=FILE...]",
    "run a compiled model once: arrays in, arrays out",
    "MODEL is a library made by `hone compile`, or a model file, which is compiled first. Inputs are NumPy "
    "files, in the order of the model's inputs or by name. Of each output the first elements are shown; --output keeps "
    "all of them. Of a model with state (`hone compile --state`) each call is one step: --state-in and --state-out "
    "carry the "
    "state from one to the next.\n\n"
    "NumPy has no bfloat16 and no 8-bit floats: such arrays are read and written as unsigned integers of their size.",
    options,
    "hone run mlp.so --input x.npy --output y.npy\tone input, one output\n"
    "hone run bert.so ids=ids.npy mask=mask.npy -o out.npz\tinputs by name\n"
    "hone run step.so x.npy --state-in s.bin --state-out s.bin\tthe next step of a model with state\n"
    "hone run resnet50.onnx --random 1\tcompile and run on random input\n",
    1,
    -1,
    run_run,
};
