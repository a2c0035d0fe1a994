/* huffman.c — an LZ77 + canonical Huffman compressor and its decompressor, run on generated text; prints the size of
 * the compressed text and a checksum of what came back.
 *
 * A whole program with a fixed amount of work and no input. The stream: code lengths of the 320 symbols (4 bits
 * each), then symbols; 0..255 are bytes, 256 + n a match of length n + 4 followed by 13 bits of distance, 319 the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_TEXT = 12000,
    N_SYMBOL = 320,
    END = 319,
    MATCH = 256,
    MIN_MATCH = 4,
    MAX_MATCH = MIN_MATCH + END - MATCH - 1,
    DISTANCE_BITS = 13,
    WINDOW = 1 << DISTANCE_BITS,
    HASH_BITS = 12,
    MAX_CHAIN = 16,
    MAX_LENGTH = 15,
};

typedef struct token {
    uint16_t symbol, distance;
} token;

/* --- matches -------------------------------------------------------------------------------------------------------
 */

static uint32_t hash4(const uint8_t *p) {
    uint32_t x;
    memcpy(&x, p, 4);
    return x * 2654435761u >> (32 - HASH_BITS);
}

static size_t match_length(const uint8_t *a, const uint8_t *b, size_t most) {
    size_t n = 0;
    while (n < most && a[n] == b[n]) n++;
    return n;
}

static size_t find_tokens(const uint8_t *text, size_t n, token *out) {
    static int32_t head[1 << HASH_BITS], prev[N_TEXT];
    size_t count = 0;
    memset(head, -1, sizeof head);
    for (size_t i = 0; i < n;) {
        size_t best = 0, distance = 0, most = n - i < MAX_MATCH ? n - i : MAX_MATCH;
        if (most >= MIN_MATCH) {
            int32_t at = head[hash4(text + i)];
            for (int chain = 0; at >= 0 && i - (size_t)at < WINDOW && chain < MAX_CHAIN; chain++) {
                size_t length = match_length(text + at, text + i, most);
                if (length > best) {
                    best = length;
                    distance = i - (size_t)at;
                }
                at = prev[at];
            }
        }
        size_t step = best >= MIN_MATCH ? best : 1;
        if (step > 1)
            out[count++] = (token){(uint16_t)(MATCH + best - MIN_MATCH), (uint16_t)distance};
        else
            out[count++] = (token){text[i], 0};
        for (; step; step--, i++)
            if (i + 4 <= n) {
                uint32_t h = hash4(text + i);
                prev[i] = head[h];
                head[h] = (int32_t)i;
            }
    }
    out[count++] = (token){END, 0};
    return count;
}

/* --- codes ---------------------------------------------------------------------------------------------------------
 */

typedef struct node {
    uint32_t weight;
    int16_t left, right;
} node;

static void sift_down(int16_t *heap, size_t n, size_t i, const node *tree) {
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n) return;
        if (child + 1 < n && tree[heap[child + 1]].weight < tree[heap[child]].weight) child++;
        if (tree[heap[i]].weight <= tree[heap[child]].weight) return;
        int16_t swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
}

static int set_lengths(const node *tree, int16_t at, int depth, uint8_t *length) {
    if (tree[at].left < 0) {
        length[at] = (uint8_t)(depth ? depth : 1);
        return depth;
    }
    int a = set_lengths(tree, tree[at].left, depth + 1, length);
    int b = set_lengths(tree, tree[at].right, depth + 1, length);
    return a > b ? a : b;
}

/* Huffman's algorithm with a heap; weights are halved until no code is longer than MAX_LENGTH. */
static void make_lengths(const uint32_t *weight, uint8_t *length) {
    static node tree[2 * N_SYMBOL];
    int16_t heap[N_SYMBOL];
    for (unsigned shift = 0;; shift++) {
        size_t n = 0;
        int16_t next = N_SYMBOL;
        memset(length, 0, N_SYMBOL);
        for (int16_t s = 0; s < N_SYMBOL; s++) {
            tree[s] = (node){(weight[s] >> shift) + 1, -1, -1};
            if (weight[s]) heap[n++] = s;
        }
        for (size_t i = n / 2; i-- > 0;) sift_down(heap, n, i, tree);
        while (n > 1) {
            int16_t a = heap[0];
            heap[0] = heap[--n];
            sift_down(heap, n, 0, tree);
            int16_t b = heap[0];
            tree[next] = (node){tree[a].weight + tree[b].weight, a, b};
            heap[0] = next++;
            sift_down(heap, n, 0, tree);
        }
        if (set_lengths(tree, heap[0], 0, length) <= MAX_LENGTH) return;
    }
}

static void make_codes(const uint8_t *length, uint16_t *code) {
    uint16_t count[MAX_LENGTH + 1] = {0}, next[MAX_LENGTH + 2] = {0};
    for (int s = 0; s < N_SYMBOL; s++) count[length[s]]++;
    count[0] = 0;
    for (int n = 1; n <= MAX_LENGTH; n++) next[n + 1] = (uint16_t)((next[n] + count[n]) << 1);
    for (int s = 0; s < N_SYMBOL; s++)
        if (length[s]) code[s] = next[length[s]]++;
}

/* --- bits ----------------------------------------------------------------------------------------------------------
 */

typedef struct bits {
    uint8_t *p;
    size_t n_bits;
} bits;

static void put(bits *b, uint32_t value, unsigned n) {
    while (n-- > 0) {
        if (value >> n & 1) b->p[b->n_bits / 8] |= (uint8_t)(0x80 >> b->n_bits % 8);
        b->n_bits++;
    }
}

static uint32_t get(bits *b, unsigned n) {
    uint32_t value = 0;
    for (; n > 0; n--, b->n_bits++) value = value << 1 | (b->p[b->n_bits / 8] >> (7 - b->n_bits % 8) & 1u);
    return value;
}

/* --- the two directions --------------------------------------------------------------------------------------------
 */

static size_t compress(const uint8_t *text, size_t n, uint8_t *out) {
    static token tokens[N_TEXT + 1];
    uint32_t weight[N_SYMBOL] = {0};
    uint8_t length[N_SYMBOL];
    uint16_t code[N_SYMBOL] = {0};
    bits b = {out, 0};
    size_t count = find_tokens(text, n, tokens);
    for (size_t i = 0; i < count; i++) weight[tokens[i].symbol]++;
    make_lengths(weight, length);
    make_codes(length, code);
    for (int s = 0; s < N_SYMBOL; s++) put(&b, length[s], 4);
    for (size_t i = 0; i < count; i++) {
        put(&b, code[tokens[i].symbol], length[tokens[i].symbol]);
        if (tokens[i].symbol >= MATCH && tokens[i].symbol < END) put(&b, tokens[i].distance, DISTANCE_BITS);
    }
    return (b.n_bits + 7) / 8;
}

typedef struct decoder {
    uint16_t first[MAX_LENGTH + 1], count[MAX_LENGTH + 1], symbol[N_SYMBOL];
} decoder;

static void make_decoder(decoder *d, const uint8_t *length) {
    uint16_t code[N_SYMBOL] = {0}, at[MAX_LENGTH + 1] = {0};
    memset(d, 0, sizeof *d);
    make_codes(length, code);
    for (int s = 0; s < N_SYMBOL; s++)
        if (length[s] && !d->count[length[s]]++) d->first[length[s]] = code[s];
    for (int n = 1; n < MAX_LENGTH; n++) at[n + 1] = (uint16_t)(at[n] + d->count[n]);
    for (int s = 0; s < N_SYMBOL; s++)
        if (length[s]) d->symbol[at[length[s]]++] = (uint16_t)s;
}

static int next_symbol(const decoder *d, bits *b) {
    uint32_t code = 0;
    size_t at = 0;
    for (int n = 1; n <= MAX_LENGTH; n++) {
        code = code << 1 | get(b, 1);
        if (d->count[n] && code - d->first[n] < d->count[n]) return d->symbol[at + code - d->first[n]];
        at += d->count[n];
    }
    return END;
}

static size_t decompress(uint8_t *in, uint8_t *out) {
    uint8_t length[N_SYMBOL];
    decoder d;
    bits b = {in, 0};
    size_t n = 0;
    for (int s = 0; s < N_SYMBOL; s++) length[s] = (uint8_t)get(&b, 4);
    make_decoder(&d, length);
    for (int s; (s = next_symbol(&d, &b)) != END;) {
        if (s < MATCH) {
            out[n++] = (uint8_t)s;
            continue;
        }
        size_t distance = get(&b, DISTANCE_BITS);
        for (int i = 0; i < s - MATCH + MIN_MATCH; i++, n++) out[n] = out[n - distance];
    }
    return n;
}

/* --- the work ------------------------------------------------------------------------------------------------------
 */

static void make_text(uint8_t *text, size_t n) {
    static const char *const word[] = {"compiler", "flag", "loop", "vector", "the", "of", "a", "is", "cache", "and"};
    uint32_t x = 7;
    for (size_t i = 0; i < n;) {
        x = x * 1664525u + 1013904223u;
        const char *w = word[(x >> 24) % 10];
        for (; *w && i < n; w++) text[i++] = (uint8_t)*w;
        if (i < n) text[i++] = (x >> 16 & 15) ? ' ' : '\n';
    }
}

int main(void) {
    static uint8_t text[N_TEXT], packed[2 * N_TEXT], back[N_TEXT + MAX_MATCH];
    make_text(text, N_TEXT);
    size_t n_packed = compress(text, N_TEXT, packed);
    size_t n = decompress(packed, back);
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) sum = sum * 31 + back[i];
    if (n != N_TEXT || memcmp(text, back, N_TEXT) != 0) return EXIT_FAILURE;
    printf("%zu %08x\n", n_packed, (unsigned)sum);
    return 0;
}
