/* pictures.c — bytes of a picture: filters, a histogram, an 8x8 cosine transform in integers, run lengths; a checksum.
 *
 * A whole program with a fixed amount of work and no input. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { W = 96, H = 64 };

static uint8_t clamp(int x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x); }

static void convolve(uint8_t in[H][W], const int kernel[3][3], int shift, uint8_t out[H][W]) {
    memcpy(out, in, (size_t)W * H);
    for (int y = 1; y < H - 1; y++)
        for (int x = 1; x < W - 1; x++) {
            int sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) sum += kernel[i][j] * in[y + i - 1][x + j - 1];
            out[y][x] = clamp(sum >> shift);
        }
}

static uint8_t middle(uint8_t *v, int n) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && v[j - 1] > v[j]; j--) {
            uint8_t t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
    return v[n / 2];
}

static void median(uint8_t in[H][W], uint8_t out[H][W]) {
    for (int y = 1; y < H - 1; y++)
        for (int x = 1; x < W - 1; x++) {
            uint8_t v[5] = {in[y][x], in[y - 1][x], in[y + 1][x], in[y][x - 1], in[y][x + 1]};
            out[y][x] = middle(v, 5);
        }
}

static void equalise(uint8_t p[H][W]) {
    unsigned count[256] = {0}, sum = 0;
    uint8_t map[256];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) count[p[y][x]]++;
    for (int i = 0; i < 256; i++) {
        sum += count[i];
        map[i] = (uint8_t)(sum * 255u / (W * H));
    }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) p[y][x] = map[p[y][x]];
}

/* One row or column of the transform, by the definition, in 1/4096. */
static void transform_row(int *v, int step) {
    static const int cosine[8][8] = {
        {1448, 1448, 1448, 1448, 1448, 1448, 1448, 1448},     {2009, 1703, 1138, 400, -400, -1138, -1703, -2009},
        {1892, 784, -784, -1892, -1892, -784, 784, 1892},     {1703, -400, -2009, -1138, 1138, 2009, 400, -1703},
        {1448, -1448, -1448, 1448, 1448, -1448, -1448, 1448}, {1138, -2009, 400, 1703, -1703, -400, 2009, -1138},
        {784, -1892, 1892, -784, -784, 1892, -1892, 784},     {400, -1138, 1703, -2009, 2009, -1703, 1138, -400}};
    int out[8];
    for (int k = 0; k < 8; k++) {
        int sum = 2048;
        for (int i = 0; i < 8; i++) sum += cosine[k][i] * v[i * step];
        out[k] = sum >> 12;
    }
    for (int k = 0; k < 8; k++) v[k * step] = out[k];
}

static uint32_t transform(uint8_t p[H][W], int quality) {
    uint32_t sum = 0;
    for (int by = 0; by < H; by += 8)
        for (int bx = 0; bx < W; bx += 8) {
            int v[64];
            for (int i = 0; i < 64; i++) v[i] = p[by + i / 8][bx + i % 8] - 128;
            for (int i = 0; i < 8; i++) transform_row(v + 8 * i, 1);
            for (int i = 0; i < 8; i++) transform_row(v + i, 8);
            for (int i = 0; i < 64; i++) sum = sum * 17 + (uint32_t)(v[i] / (quality + i / 4));
        }
    return sum;
}

static size_t pack(const uint8_t *p, size_t n, uint8_t *out) {
    size_t at = 0;
    for (size_t i = 0; i < n;) {
        size_t run = 1;
        while (i + run < n && run < 127 && p[i + run] == p[i]) run++;
        if (run > 2) {
            out[at++] = (uint8_t)(0x80 | run);
            out[at++] = p[i];
        } else {
            run = 1;
            out[at++] = p[i] & 0x7f;
        }
        i += run;
    }
    return at;
}

int main(void) {
    static uint8_t a[H][W], b[H][W], packed[2 * W * H];
    static const int blur[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}},
                     edge[3][3] = {{-1, -1, -1}, {-1, 9, -1}, {-1, -1, -1}};
    uint32_t x = 3, sum = 0;
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) {
            x = x * 1664525u + 1013904223u;
            a[i][j] = clamp(((i * j) >> 3) + (int)(x >> 27) - 16);
        }
    for (int round = 0; round < 3; round++) {
        convolve(a, blur, 4, b);
        median(b, a);
        sum = sum * 31 + transform(a, 3 + round);
        convolve(a, edge, 0, b);
        equalise(b);
        sum += (uint32_t)pack(b[0], sizeof b, packed);
        memcpy(a, b, sizeof a);
    }
    for (size_t i = 0; i < sizeof a; i++) sum = sum * 31 + a[0][i];
    printf("%08x\n", (unsigned)sum);
    return 0;
}
