/* paths.c — shortest paths with a heap, sets that are joined, edit distance, a maze, a pattern matcher; a checksum.
 *
 * A whole program with a fixed amount of work and no input. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 300, EDGES = 1800, SIDE = 41, TEXT = 120 };

typedef struct edge {
    int to, next;
    unsigned cost;
} edge;
typedef struct entry {
    unsigned cost;
    int node;
} entry;
typedef struct heap {
    entry e[EDGES + 2];
    int n;
} heap;

static uint32_t state = 77;
static uint32_t draw(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * below >> 32);
}

static void push(heap *h, entry x) {
    int i = h->n++;
    for (; i > 0 && h->e[(i - 1) / 2].cost > x.cost; i = (i - 1) / 2) h->e[i] = h->e[(i - 1) / 2];
    h->e[i] = x;
}

static entry pop(heap *h) {
    entry top = h->e[0], x = h->e[--h->n];
    int i = 0;
    for (;;) {
        int child = 2 * i + 1;
        if (child >= h->n) break;
        if (child + 1 < h->n && h->e[child + 1].cost < h->e[child].cost) child++;
        if (h->e[child].cost >= x.cost) break;
        h->e[i] = h->e[child];
        i = child;
    }
    h->e[i] = x;
    return top;
}

static unsigned shortest(const edge *e, const int *first, int from) {
    static heap h;
    unsigned dist[NODES], sum = 0;
    for (int i = 0; i < NODES; i++) dist[i] = UINT_MAX;
    h.n = 0;
    dist[from] = 0;
    push(&h, (entry){0, from});
    while (h.n) {
        entry x = pop(&h);
        if (x.cost > dist[x.node]) continue;
        for (int i = first[x.node]; i >= 0; i = e[i].next) {
            unsigned cost = x.cost + e[i].cost;
            if (cost >= dist[e[i].to]) continue;
            dist[e[i].to] = cost;
            push(&h, (entry){cost, e[i].to});
        }
    }
    for (int i = 0; i < NODES; i++) sum += dist[i] == UINT_MAX ? 0 : dist[i];
    return sum;
}

static int root_of(int *parent, int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static int count_sets(void) {
    int parent[NODES], n = NODES;
    for (int i = 0; i < NODES; i++) parent[i] = i;
    for (int i = 0; i < NODES / 2; i++) {
        int a = root_of(parent, (int)draw(NODES)), b = root_of(parent, (int)draw(NODES));
        if (a != b) parent[a] = b, n--;
    }
    return n;
}

static int least(int a, int b, int c) {
    int m = a < b ? a : b;
    return m < c ? m : c;
}

static int edit_distance(const char *a, const char *b) {
    int row[TEXT + 1], n = (int)strlen(b);
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; *a; i++, a++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int up = row[j];
            row[j] = least(up + 1, row[j - 1] + 1, corner + (*a != b[j - 1]));
            corner = up;
        }
    }
    return row[n];
}

/* Cells from which the corner is reached, by a queue. */
static int walk(void) {
    static uint8_t wall[SIDE][SIDE], seen[SIDE][SIDE];
    int queue[SIDE * SIDE], head = 0, end = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) wall[y][x] = draw(100) < 28, seen[y][x] = 0;
    queue[end++] = 0;
    seen[0][0] = 1;
    while (head < end) {
        static const int dx[] = {1, -1, 0, 0}, dy[] = {0, 0, 1, -1};
        int y = queue[head] / SIDE, x = queue[head] % SIDE;
        head++;
        for (int k = 0; k < 4; k++) {
            int u = y + dy[k], v = x + dx[k];
            if (u < 0 || v < 0 || u >= SIDE || v >= SIDE || wall[u][v] || seen[u][v]) continue;
            seen[u][v] = 1;
            queue[end++] = u * SIDE + v;
        }
    }
    return end;
}

/* `?` is any character, `*` any text, [abc] one of these. */
static int matches(const char *p, const char *t) {
    for (; *p; p++) {
        if (*p == '*') {
            do
                if (matches(p + 1, t)) return 1;
            while (*t++);
            return 0;
        }
        if (!*t) return 0;
        if (*p == '[') {
            int found = 0;
            for (p++; *p && *p != ']'; p++) found |= *p == *t;
            if (!found) return 0;
        } else if (*p != '?' && *p != *t) {
            return 0;
        }
        t++;
    }
    return !*t;
}

int main(void) {
    static edge e[EDGES];
    static const char *const pattern[] = {"*a*b?c*", "[abc]*[de]*a", "a*b*c*d*e*", "??[a]*"};
    int first[NODES], found = 0, distance = 0;
    unsigned sum = 0;
    char text[8][TEXT];
    memset(first, -1, sizeof first);
    for (int i = 0; i < EDGES; i++) {
        int from = (int)draw(NODES);
        e[i] = (edge){(int)draw(NODES), first[from], 1 + draw(100)};
        first[from] = i;
    }
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < TEXT - 1; k++) text[i][k] = (char)('a' + draw(6));
        text[i][TEXT - 1] = 0;
    }
    for (int i = 0; i < 8; i++) sum += shortest(e, first, (int)draw(NODES));
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 4; k++) found += matches(pattern[k], text[i]);
    for (int i = 0; i < 7; i++) distance += edit_distance(text[i], text[i + 1]);
    int sets = count_sets();
    printf("%u %d %d %d %d\n", sum, found, distance, sets, walk());
    return 0;
}
