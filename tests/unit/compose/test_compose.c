/* Compositions without a file format: what a language model's block is made of, run by the interpreter and held against
 * plain loops; what they refuse. */
#include "trial.h"

/* --- norms, rotary embeddings ------------------------------------------------------------------------------------- */

static void test_rms_norm(void) {
    trial t = begin();
    hn_val x = input(&t, HONE_F32, 2, (int64_t[]){0, 5}), scale = input(&t, HONE_F32, 1, (int64_t[]){5});
    float got[MAX_N] = {0};
    double want[15];
    run(&t, hn_rms_norm(&t.b, x, 1, (int64_t[]){1}, scale, 1e-6, HONE_F32), got, "rms_norm");
    for (size_t r = 0; r < 3; r++) {
        double sum = 0;
        for (size_t i = 0; i < 5; i++) sum += (double)in(&t, 0)[5 * r + i] * (double)in(&t, 0)[5 * r + i];
        for (size_t i = 0; i < 5; i++)
            want[5 * r + i] = (double)in(&t, 0)[5 * r + i] / sqrt(sum / 5 + 1e-6) * (double)in(&t, 1)[i];
    }
    close_to(got, want, 15, "rms_norm");
    end(&t);
}

/* x [1, 2 heads, 3 tokens, 6], the first 4 elements turned; positions 5, 6, 7 of tables [8, 2]. */
static void test_rotary(bool interleaved, const char *name) {
    trial t = begin();
    hn_val x = input(&t, HONE_F32, 4, (int64_t[]){1, 2, 3, 6}), cosines = input(&t, HONE_F32, 2, (int64_t[]){8, 2}),
           sines = input(&t, HONE_F32, 2, (int64_t[]){8, 2}), at = input(&t, HONE_I64, 2, (int64_t[]){1, 3});
    for (int64_t i = 0; i < 3; i++) ((int64_t *)t.in[3].data)[i] = 5 + i;
    float got[MAX_N] = {0};
    double want[36];
    run(&t, hn_rotate_at(&t.b, x, cosines, sines, at, interleaved), got, name);
    for (size_t row = 0; row < 6; row++) {
        const float *v = in(&t, 0) + 6 * row;
        double *w = want + 6 * row;
        for (size_t i = 0; i < 2; i++) {
            double c = (double)in(&t, 1)[2 * (5 + row % 3) + i], s = (double)in(&t, 2)[2 * (5 + row % 3) + i];
            size_t re = interleaved ? 2 * i : i, im = interleaved ? 2 * i + 1 : i + 2;
            w[re] = c * (double)v[re] - s * (double)v[im];
            w[im] = s * (double)v[re] + c * (double)v[im];
        }
        w[4] = (double)v[4], w[5] = (double)v[5];
    }
    close_to(got, want, 36, name);
    end(&t);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

enum { HEADS = 4, KV = 2, QUERIES = 3, PAST = 4, KEYS = PAST + QUERIES, SIZE = 2 };

/* Head h, query i: a plain softmax over the keys that it sees. */
static void attend_plain(const float *q, const float *k, const float *v, size_t window, double softcap, double *out) {
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < QUERIES; i++) {
            double p[KEYS], sum = 0, *o = out + (h * QUERIES + i) * SIZE;
            o[0] = o[1] = 0;
            for (size_t j = 0; j < KEYS; j++) {
                const float *key = k + (h / (HEADS / KV) * KEYS + j) * SIZE, *query = q + (h * QUERIES + i) * SIZE;
                double s = ((double)query[0] * (double)key[0] + (double)query[1] * (double)key[1]) / sqrt(SIZE);
                if (softcap > 0) s = softcap * tanh(s / softcap);
                bool seen = j <= i + PAST && (!window || j + window > i + PAST);
                sum += p[j] = seen ? exp(s) : 0;
            }
            for (size_t j = 0; j < KEYS; j++)
                for (size_t d = 0; d < SIZE; d++)
                    o[d] += p[j] / sum * (double)v[(h / (HEADS / KV) * KEYS + j) * SIZE + d];
        }
}

static void test_attention(int64_t window, double softcap, const char *name) {
    trial t = begin();
    hone_err err = {0};
    hn_attend a = {.masked = -INFINITY, .stage = -1, .causal = true, .window = window, .softcap = softcap};
    a.q = input(&t, HONE_F32, 4, (int64_t[]){1, HEADS, QUERIES, SIZE});
    a.k = input(&t, HONE_F32, 4, (int64_t[]){1, KV, KEYS, SIZE});
    a.v = input(&t, HONE_F32, 4, (int64_t[]){1, KV, KEYS, SIZE});
    a.past = hn_const_i(&t.b, HONE_I64, PAST);
    float got[MAX_N] = {0};
    double want[HEADS * QUERIES * SIZE];
    run(&t, hn_attend_emit(&t.b, &a, HONE_F32, &err), got, name);
    attend_plain(in(&t, 0), in(&t, 1), in(&t, 2), (size_t)window, softcap, want);
    close_to(got, want, sizeof want / sizeof *want, name);
    end(&t);
}

static void test_heads(int64_t kv, hone_rc rc, const char *part, const char *name) {
    trial t = begin();
    hone_err err = {0};
    hn_attend a = {.masked = -INFINITY, .stage = -1};
    a.q = input(&t, HONE_F32, 4, (int64_t[]){1, 4, 3, 2});
    a.k = a.v = input(&t, HONE_F32, 4, (int64_t[]){1, kv, 3, 2});
    hn_val y = hn_attend_emit(&t.b, &a, HONE_F32, &err);
    ok(!y && err.rc == rc && strstr(err.text, part) && hn_graph_ok(t.b.g), "compose/%s", name);
    end(&t);
}

/* Two tokens behind two that are there, in a cache of five. */
static void test_cache(void) {
    trial t = begin();
    hn_val past = input(&t, HONE_F32, 4, (int64_t[]){1, 1, 3, 2}), x = input(&t, HONE_F32, 4, (int64_t[]){1, 1, 2, 2});
    hn_val before = hn_const_ints(&t.b, 1, (int64_t[]){2});
    float got[MAX_N] = {0};
    double want[10] = {0};
    run(&t, hn_kv_append(&t.b, past, x, before, hn_lit(&t.b, 5)), got, "cache");
    for (size_t i = 0; i < 4; i++) want[i] = (double)in(&t, 0)[i], want[4 + i] = (double)in(&t, 1)[i];
    close_to(got, want, 10, "cache");
    end(&t);
}

/* --- recurrence --------------------------------------------------------------------------------------------------- */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* LSTM of one input and one hidden element: gates i, o, f, c. The hidden states of 3 steps, or of 20 as a loop. */
static void test_lstm(int64_t steps, const char *name) {
    trial t = begin();
    hn_act act[3] = {hn_act_of(HN_NAMED_SIGMOID), hn_act_of(HN_NAMED_TANH), hn_act_of(HN_NAMED_TANH)};
    hn_recurrent o = {.cell = HN_CELL_LSTM, .act = act, .clip = INFINITY};
    o.x = input(&t, HONE_F32, 3, (int64_t[]){steps, 1, 1});
    o.w = input(&t, HONE_F32, 2, (int64_t[]){4, 1});
    o.r = input(&t, HONE_F32, 2, (int64_t[]){4, 1});
    o.bias = input(&t, HONE_F32, 1, (int64_t[]){8});
    float got[MAX_N] = {0};
    double want[64], h = 0, c = 0;
    run(&t, hn_recurrent_emit(&t.b, &o), got, name);
    for (int64_t s = 0; s < steps; s++) {
        double g[4];
        for (size_t k = 0; k < 4; k++)
            g[k] = (double)in(&t, 0)[s] * (double)in(&t, 1)[k] + h * (double)in(&t, 2)[k] + (double)in(&t, 3)[k] +
                   (double)in(&t, 3)[4 + k];
        c = sigmoid(g[2]) * c + sigmoid(g[0]) * tanh(g[3]);
        want[s] = h = sigmoid(g[1]) * tanh(c);
    }
    close_to(got, want, (size_t)steps, name);
    end(&t);
}

/* --- quantisation ------------------------------------------------------------------------------------------------- */

/* One scale for each two elements, as packed weights have them. */
static void test_blocks(void) {
    trial t = begin();
    hn_val x = input(&t, HONE_I64, 2, (int64_t[]){2, 5}), scale = input(&t, HONE_F32, 2, (int64_t[]){2, 3});
    hn_val wide = hn_spread_blocks(&t.b, scale, x, 1, 2);
    float got[MAX_N] = {0};
    double want[10];
    run(&t, hn_dequantise(&t.b, hn_cast(&t.b, x, HONE_I8), wide, 0, HONE_F32), got, "blocks");
    for (size_t i = 0; i < 10; i++) want[i] = (double)i * (double)in(&t, 1)[i / 5 * 3 + i % 5 / 2];
    close_to(got, want, 10, "blocks");
    end(&t);
}

int main(void) {
    test_rms_norm();
    test_rotary(false, "rotary_halves");
    test_rotary(true, "rotary_interleaved");
    test_attention(0, 0, "grouped_causal_attention");
    test_attention(3, 0, "attention_window");
    test_attention(0, 0.5, "attention_softcap");
    test_heads(3, HONE_E_INPUT, "4 heads of queries cannot share 3 heads of keys", "heads_that_do_not_divide");
    test_heads(0, HONE_E_UNSUPPORTED, "not known at compile time", "heads_that_are_not_known");
    test_cache();
    test_lstm(3, "lstm_written_out");
    test_lstm(20, "lstm_loop");
    test_blocks();
    return done_testing();
}
