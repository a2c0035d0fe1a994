/* sorts.c — quicksort, merge sort of a list, a radix sort, a hash table of words; prints a checksum.
 *
 * A whole program with a fixed amount of work and no input. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6000, BUCKETS = 512, WORDS = 3000 };

typedef struct item {
    uint32_t key;
    struct item *next;
} item;

typedef struct word {
    char text[12];
    unsigned count;
    struct word *next;
} word;

static uint32_t draw(uint32_t *x) {
    *x ^= *x << 13;
    *x ^= *x >> 17;
    return *x ^= *x << 5;
}

static void insertion(uint32_t *a, int n) {
    for (int i = 1; i < n; i++) {
        uint32_t v = a[i];
        int j = i;
        for (; j > 0 && a[j - 1] > v; j--) a[j] = a[j - 1];
        a[j] = v;
    }
}

static void quick(uint32_t *a, int n) {
    while (n > 12) {
        uint32_t pivot = a[n / 2];
        int i = 0, j = n - 1;
        while (i <= j) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i > j) break;
            uint32_t t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
        quick(a, j + 1);
        a += i;
        n -= i;
    }
    insertion(a, n);
}

static item *merge(item *a, item *b) {
    item head = {0, NULL}, *end = &head;
    while (a && b) {
        item **less = a->key <= b->key ? &a : &b;
        end = end->next = *less;
        *less = (*less)->next;
    }
    end->next = a ? a : b;
    return head.next;
}

static item *merge_sort(item *list, int n) {
    if (n < 2) {
        if (list) list->next = NULL;
        return list;
    }
    item *half = list;
    for (int i = 0; i < n / 2; i++) half = half->next;
    half = merge_sort(half, n - n / 2);
    return merge(merge_sort(list, n / 2), half);
}

static void radix(uint32_t *a, uint32_t *spare, int n) {
    for (int shift = 0; shift < 32; shift += 8) {
        unsigned count[257] = {0};
        for (int i = 0; i < n; i++) count[(a[i] >> shift & 255) + 1]++;
        for (int i = 0; i < 256; i++) count[i + 1] += count[i];
        for (int i = 0; i < n; i++) spare[count[a[i] >> shift & 255]++] = a[i];
        memcpy(a, spare, (size_t)n * sizeof *a);
    }
}

static unsigned hash(const char *text) {
    unsigned h = 5381;
    while (*text) h = h * 33 + (unsigned char)*text++;
    return h;
}

static word *find(word **table, word *room, unsigned *used, const char *text) {
    word **at = &table[hash(text) % BUCKETS];
    for (; *at; at = &(*at)->next)
        if (!strcmp((*at)->text, text)) return *at;
    *at = &room[(*used)++];
    strncpy((*at)->text, text, sizeof(*at)->text - 1);
    return *at;
}

static unsigned count_words(uint32_t *x) {
    static word *table[BUCKETS], room[WORDS];
    unsigned used = 0, sum = 0;
    for (int i = 0; i < WORDS; i++) {
        char text[12];
        int n = 2 + (int)(draw(x) % 3);
        for (int k = 0; k < n; k++) text[k] = (char)('a' + draw(x) % 9);
        text[n] = 0;
        find(table, room, &used, text)->count++;
    }
    for (unsigned i = 0; i < used; i++) sum += room[i].count * room[i].count;
    return sum;
}

int main(void) {
    static uint32_t a[N], b[N], spare[N];
    static item items[N];
    uint32_t x = 9, sum = 0;
    for (int i = 0; i < N; i++) {
        a[i] = b[i] = items[i].key = draw(&x);
        items[i].next = i + 1 < N ? &items[i + 1] : NULL;
    }
    quick(a, N);
    radix(b, spare, N);
    item *at = merge_sort(items, N);
    for (int i = 0; i < N; i++, at = at->next) {
        if (a[i] != b[i] || a[i] != at->key) return EXIT_FAILURE;
        sum = sum * 31 + a[i];
    }
    printf("%08x %u\n", (unsigned)sum, count_words(&x));
    return 0;
}
