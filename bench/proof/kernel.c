/* The two functions that take the time. ORDER also says which stands first. */
#include <stdint.h>

static const uint32_t table[16] = {3, 141, 59, 26, 535, 89, 79, 32, 384, 62, 643, 38, 327, 95, 28, 841};

#define STEP                                                                                                           \
    uint32_t step(uint32_t state, const unsigned char *text, int n) {                                                  \
        for (int i = 0; i < n; i++) {                                                                                  \
            state = state * 33 + text[i];                                                                              \
            if (state & 64) state ^= state >> 7;                                                                       \
        }                                                                                                              \
        return state;                                                                                                  \
    }
#define LOOK_UP                                                                                                        \
    uint32_t look_up(uint32_t state, const unsigned char *text, int n) {                                               \
        for (int i = 0; i < n; i++) {                                                                                  \
            uint32_t x = table[(state ^ text[i]) & 15];                                                                \
            state = x & 1 ? state + x : state - (x << 3);                                                              \
        }                                                                                                              \
        return state;                                                                                                  \
    }

#if ORDER & 2
LOOK_UP
STEP
#else
STEP LOOK_UP
#endif
