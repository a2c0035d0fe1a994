/* One call: WORK rounds over a small buffer; with SPIKE, every tenth call is that many per cent longer. */
#include <hone/bench.h>

#include <stdint.h>

uint32_t step(uint32_t state, const unsigned char *text, int n);
uint32_t look_up(uint32_t state, const unsigned char *text, int n);

const volatile int identity = ID;

static unsigned char text[256];
static uint32_t state = 1;
static unsigned call;

static void rounds(int n) {
    for (int i = 0; i < n; i++) {
        state = step(state, text + (i & 127), 24);
        state = look_up(state, text + (i & 63), 24);
    }
}

static void work(void *ctx) {
    (void)ctx;
    rounds(WORK);
    if (++call % 10 == 0) rounds(WORK * SPIKE / 100);
}

int main(int argc, char **argv) {
    hone_bench *b = hone_bench_open(argc, argv);
    for (int i = 0; i < 256; i++) text[i] = (unsigned char)(i * 131 + 17);
    hone_bench_run(b, "latency", work, NULL);
    state = 1;
    rounds(500); /* the result does not depend on WORK */
    hone_bench_output(b, "state", &state, 1, HONE_BENCH_U32);
    return hone_bench_close(b);
}
