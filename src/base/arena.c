/* base/arena.c — a list of growing blocks, newest first; the bump pointer is the newest block's. */
#include "base/arena.h"

#include "base/locale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hn_arena_block {
    hn_arena_block *below;
    size_t size, used;
    _Alignas(16) unsigned char data[];
};

/* Under ASan every allocation is followed by poisoned bytes, so that a write beyond it is caught as on the heap. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { GAP_B = 16 };
static void hide(void *p, size_t n) { ASAN_POISON_MEMORY_REGION(p, n); }
static void show(void *p, size_t n) { ASAN_UNPOISON_MEMORY_REGION(p, n); }
#else
enum { GAP_B = 0 };
static void hide(void *p, size_t n) { (void)p, (void)n; }
static void show(void *p, size_t n) { (void)p, (void)n; }
#endif

enum { FIRST_B = 4000, LATER_B = 1 << 20, ALIGN_B = 16 };

static hn_arena_block *push_block(hn_arena *a, size_t need) {
    size_t size = a->total_b < FIRST_B ? FIRST_B : a->total_b;
    if (size > LATER_B) size = LATER_B;
    if (size < need) size = need;
    hn_arena_block *b = malloc(sizeof *b + size);
    if (!b) return NULL;
    b->below = a->top;
    b->size = size;
    b->used = 0;
    a->top = b;
    a->total_b += size;
    hide(b->data, size);
    return b;
}

void *hn_alloc(hn_arena *a, size_t n) {
    if (a->failed) return NULL;
    if (n > SIZE_MAX / 4) {
        a->failed = true;
        return NULL;
    }
    size_t room = (n + ALIGN_B - 1) / ALIGN_B * ALIGN_B + GAP_B;
    hn_arena_block *b = a->top;
    if (!b || b->size - b->used < room) b = push_block(a, room);
    if (!b) {
        a->failed = true;
        return NULL;
    }
    void *p = b->data + b->used;
    b->used += room;
    show(p, n);
    return memset(p, 0, n);
}

void *hn_alloc_n(hn_arena *a, size_t count, size_t size) {
    size_t n;
    if (__builtin_mul_overflow(count, size, &n)) {
        a->failed = true;
        return NULL;
    }
    return hn_alloc(a, n);
}

void *hn_arena_grow(hn_arena *a, void *list, size_t n, size_t *room, size_t size) {
    if (n < *room) return list;
    size_t more = *room ? 2 * *room : 16;
    void *grown = hn_alloc_n(a, more > n ? more : SIZE_MAX, size); /* SIZE_MAX: it overflows */
    if (!grown) return NULL;
    if (n) memcpy(grown, list, n * size);
    *room = more;
    return grown;
}

char *hn_strndup(hn_arena *a, const char *s, size_t n) {
    char *p = hn_alloc(a, n < SIZE_MAX ? n + 1 : n);
    if (p && n) memcpy(p, s, n);
    return p;
}

char *hn_strdup(hn_arena *a, const char *s) { return s ? hn_strndup(a, s, strlen(s)) : NULL; }

char *hn_format(hn_arena *a, const char *fmt, ...) {
    va_list ap;
    locale_t before = hn_locale_enter();
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = n < 0 ? NULL : hn_alloc(a, (size_t)n + 1);
    if (p) {
        va_start(ap, fmt);
        vsnprintf(p, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    hn_locale_leave(before);
    if (!p) a->failed = true;
    return p;
}

hn_mark hn_arena_mark(const hn_arena *a) { return (hn_mark){a->top, a->top ? a->top->used : 0}; }

void hn_arena_release(hn_arena *a, hn_mark m) {
    while (a->top != m.block) {
        hn_arena_block *b = a->top;
        a->top = b->below;
        a->total_b -= b->size;
        free(b);
    }
    if (!a->top) return;
    hide(a->top->data + m.used, a->top->size - m.used);
    a->top->used = m.used;
}

void hn_arena_free(hn_arena *a) {
    hn_arena_release(a, (hn_mark){NULL, 0});
    a->failed = false;
}
