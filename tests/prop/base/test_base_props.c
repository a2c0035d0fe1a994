/* Properties of the base room over random inputs; the seed is printed, HONE_SEED repeats it. */
#include "base/arena.h"
#include "base/locale.h"
#include "base/rng.h"
#include "base/yaml.h"
#include "tap.h"

#include <float.h>

static hn_rng rng;

/* Every finite double reads back from its text, and no shorter text would do. */
static void prop_double_text(void) {
    enum { N = 20000 };
    size_t wrong = 0, longer = 0;
    double at = 0;
    for (int i = 0; i < N; i++) {
        uint64_t bits = hn_rng_next(&rng);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (i % 4 == 1) x = (double)(int64_t)(bits >> 40);
        if (i % 4 == 2) x = (double)(bits >> 44) / 1000;
        if (i % 4 == 3) x = DBL_MIN * hn_rng_unit(&rng); /* subnormal */
        if (!isfinite(x)) continue;
        char buf[32], less[40];
        hn_double_text(x, buf);
        bool back = hn_strtod(buf, NULL) == x;
        wrong += !back;
        if (!back) at = x;
        size_t digits = 0;
        for (const char *p = buf; *p && *p != 'e'; p++) digits += *p >= '0' && *p <= '9';
        for (int d = 1; d < 17 && d < (int)digits - 3; d++) { /* leading zeros of 0.00… are up to four */
            snprintf(less, sizeof less, "%.*g", d, x);
            longer += hn_strtod(less, NULL) == x && strlen(less) < strlen(buf);
        }
    }
    ok(!wrong, "str/double_text_reads_back");
    if (wrong) printf("# %zu wrong, e.g. %a\n", wrong, at);
    ok(!longer, "str/double_text_is_shortest");
}

/* A random text of one to six parts, valid UTF-8. */
static void random_text(char *out, size_t room) {
    static const char *const part[] = {"a",
                                       "Z",
                                       "9",
                                       "-",
                                       " ",
                                       "  ",
                                       "\n",
                                       "\t",
                                       "\r",
                                       ":",
                                       ": ",
                                       "#",
                                       " #",
                                       "'",
                                       "\"",
                                       "\\",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       "&",
                                       "*",
                                       "!",
                                       "|",
                                       ">",
                                       "%",
                                       "@",
                                       "`",
                                       "~",
                                       "null",
                                       "true",
                                       "yes",
                                       "1e3",
                                       "0x10",
                                       "\x01",
                                       "\x7f",
                                       "\xc2\x85",
                                       "\xc2\x9f",
                                       "\xc2\xa0",
                                       "\xc3\xa9",
                                       "\xe2\x80\xa8",
                                       "?",
                                       "=",
                                       "\xe2\x80\xa9",
                                       "\xef\xbb\xbf",
                                       "\xef\xbf\xbe",
                                       "\xf0\x9f\x98\x80",
                                       ".inf",
                                       "---",
                                       "...",
                                       "<<",
                                       "- ",
                                       "? ",
                                       "\x1b[0m"};
    *out = 0;
    for (uint64_t n = 1 + hn_rng_below(&rng, 6); n > 0; n--)
        strncat(out, part[hn_rng_below(&rng, sizeof part / sizeof *part)], room - strlen(out) - 1);
}

/* What hn_yaml_add_scalar writes, as a key, a value and a list item, reads back as the same text. */
static void prop_yaml_scalar(void) {
    size_t wrong = 0;
    for (int i = 0; i < 20000; i++) {
        char text[100];
        hn_str s = {0};
        random_text(text, sizeof text);
        hn_yaml_add_scalar(&s, text);
        hn_str_add(&s, ": [x, ");
        hn_yaml_add_scalar(&s, text);
        hn_str_add(&s, "]\nlast: ");
        hn_yaml_add_scalar(&s, text);
        hn_yaml *doc = NULL;
        hone_err err = {HONE_OK, ""};
        bool same = hn_yaml_parse(s.text, s.n, "t", &doc, &err) == HONE_OK;
        const hn_ynode *list = same ? hn_yaml_get(hn_yaml_root(doc), text) : NULL;
        const hn_ynode *last = same ? hn_yaml_get(hn_yaml_root(doc), "last") : NULL;
        same = list && last && list->n == 2 && list->item[1]->kind == HN_Y_SCALAR && last->kind == HN_Y_SCALAR &&
               !strcmp(list->item[1]->text, text) && !strcmp(last->text, text);
        if (!same && !wrong++) printf("# '%s' was written as:\n# %s\n# %s\n", text, s.text, err.text);
        hn_yaml_free(doc);
        hn_str_free(&s);
    }
    ok(!wrong, "yaml/scalar_reads_back");
}

/* Random allocations, marks and releases: what is live keeps its bytes. */
static void prop_arena(void) {
    enum { MOST = 2000 };
    static struct {
        unsigned char *p;
        size_t n;
    } live[MOST];
    struct {
        hn_mark mark;
        size_t n_live;
    } stack[20];
    size_t n_live = 0, depth = 0, wrong = 0;
    hn_arena a = {0};
    for (int step = 0; step < 20000; step++) {
        uint64_t what = hn_rng_below(&rng, 20);
        if (what == 0 && depth < 20) {
            stack[depth].mark = hn_arena_mark(&a);
            stack[depth++].n_live = n_live;
        } else if (what == 1 && depth > 0) {
            hn_arena_release(&a, stack[--depth].mark);
            n_live = stack[depth].n_live;
        } else if (n_live < MOST) {
            size_t n = (size_t)hn_rng_below(&rng, what == 2 ? 20000 : 200);
            unsigned char *p = hn_alloc(&a, n);
            for (size_t i = 0; i < n; i++) wrong += p[i] != 0;
            memset(p, (int)(n_live % 251), n);
            live[n_live].p = p;
            live[n_live++].n = n;
        }
        if (n_live == MOST) {
            hn_arena_free(&a);
            n_live = depth = 0;
        }
        if (step % 500 == 0)
            for (size_t k = 0; k < n_live; k++)
                for (size_t i = 0; i < live[k].n; i++) wrong += live[k].p[i] != k % 251;
    }
    hn_arena_free(&a);
    ok(!wrong, "arena/live_memory_keeps_its_bytes");
}

/* Cutting a name by one edit still finds it among many. */
static void prop_nearest(void) {
    static char name[200][24];
    const char *names[200];
    size_t missed = 0;
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 16; k++) name[i][k] = (char)('a' + hn_rng_below(&rng, 26));
        names[i] = name[i];
    }
    for (int i = 0; i < 200; i++) {
        char typed[24];
        strcpy(typed, name[i]);
        size_t at = (size_t)hn_rng_below(&rng, 15);
        switch (hn_rng_below(&rng, 3)) {
        case 0: memmove(typed + at, typed + at + 1, strlen(typed + at)); break;
        case 1: typed[at] = '_'; break;
        default: typed[at] = name[i][at + 1]; typed[at + 1] = name[i][at];
        }
        const char *got = hn_nearest(typed, names, 200);
        missed += !got || strcmp(got, name[i]) != 0;
    }
    ok(!missed, "str/nearest_undoes_one_edit");
}

int main(void) {
    const char *given = getenv("HONE_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20240601;
    printf("# HONE_SEED=%llu\n", (unsigned long long)seed);
    rng = hn_rng_make(seed, 0);
    prop_double_text();
    prop_yaml_scalar();
    prop_arena();
    prop_nearest();
    return done_testing();
}
