/* main.c — a C program that runs a model compiled by hone: it links the library and needs nothing else of hone.
 *
 * usage: ./classify [FILE.f32]      784 floats, an image of 28 x 28; without a file, a drawn one
 * The model is `hone gen mlp`: 784 inputs, 10 outputs, with random weights, so its answer means nothing.
 */
#include "mlp.h"

#include <stdio.h>

enum { N_IN = 784, N_OUT = 10 };

static int read_image(const char *path, float *x) {
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(x, sizeof *x, N_IN, f) : 0;
    if (f) fclose(f);
    return n == N_IN;
}

static void draw_image(float *x) {
    for (int i = 0; i < N_IN; i++) {
        int row = i / 28 - 14, column = i % 28 - 14, r = row * row + column * column;
        x[i] = r > 60 && r < 110 ? 1.0f : 0.0f; /* a ring */
    }
}

int main(int argc, char **argv) {
    const hone_model *model = hone_model_query();
    hone_model_instance *instance;
    float x[N_IN], y[N_OUT];
    if (argc > 1 && !read_image(argv[1], x)) return fprintf(stderr, "%s does not hold 784 floats\n", argv[1]), 1;
    if (argc < 2) draw_image(x);
    if (model->create(NULL, &instance)) return fprintf(stderr, "%s\n", model->error(NULL)), 1;

    hone_model_tensor in = {.data = x, .dtype = model->input[0].dtype, .rank = 2, .dim = {1, N_IN}};
    hone_model_tensor out = {.data = y, .size_b = sizeof y};
    int failed = model->run(instance, &in, 1, &out, 1) != HONE_MODEL_OK;
    if (failed) fprintf(stderr, "%s\n", model->error(instance));
    for (int i = 0; i < N_OUT && !failed; i++) printf("%d %.4f\n", i, y[i]);
    model->free(instance);
    return failed;
}
