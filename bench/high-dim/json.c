/* json.c — parses a JSON text (RFC 8259) into a tree, evaluates and prints it; prints a checksum of the result.
 *
 * A whole program with a fixed amount of work and no input: the text is generated first. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { J_NULL, J_TRUE, J_FALSE, J_NUMBER, J_STRING, J_ARRAY, J_OBJECT } kind;

typedef struct value {
    kind kind;
    int64_t number; /* in thousandths */
    char *text;
    const char *key;
    struct value *child, *next;
    uint32_t n;
} value;

typedef struct parser {
    const char *at;
    char *room; /* what is left of the memory */
    size_t n_room;
    int depth;
    bool bad;
} parser;

enum { MAX_DEPTH = 64, N_ROOM = 1 << 20, N_TEXT = 1 << 16 };

static void *take(parser *p, size_t n) {
    n = (n + 15) & ~(size_t)15;
    if (n > p->n_room) {
        p->bad = true;
        return NULL;
    }
    void *out = p->room;
    p->room += n;
    p->n_room -= n;
    return out;
}

static void skip_space(parser *p) {
    while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r') p->at++;
}

static bool accept(parser *p, char c) {
    skip_space(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

/* --- strings -------------------------------------------------------------------------------------------------------
 */

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

static char *parse_escape(parser *p, char *to) {
    static const char from[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    const char *found = *p->at ? strchr(from, *p->at) : NULL;
    if (found) {
        *to++ = meaning[found - from];
        p->at++;
        return to;
    }
    uint32_t c = 0;
    if (*p->at++ != 'u') p->bad = true;
    for (int i = 0; i < 4 && !p->bad; i++, p->at++) {
        int digit = hex(*p->at);
        p->bad |= digit < 0;
        c = c << 4 | (uint32_t)digit;
    }
    return p->bad ? to : put_utf8(to, c);
}

static char *parse_string(parser *p) {
    size_t n = 0;
    if (!accept(p, '"')) {
        p->bad = true;
        return NULL;
    }
    while (p->at[n] && p->at[n] != '"') n += p->at[n] == '\\' && p->at[n + 1] ? 2 : 1;
    char *out = take(p, n + 1), *to = out;
    while (!p->bad && *p->at && *p->at != '"') {
        if (*p->at == '\\') {
            p->at++;
            to = parse_escape(p, to);
        } else {
            p->bad |= (unsigned char)*p->at < 0x20;
            *to++ = *p->at++;
        }
    }
    if (p->bad || *p->at++ != '"') {
        p->bad = true;
        return NULL;
    }
    *to = 0;
    return out;
}

/* --- values --------------------------------------------------------------------------------------------------------
 */

static int64_t parse_number(parser *p) {
    bool minus = accept(p, '-');
    int64_t whole = 0, part = 0, scale = 1000;
    if (*p->at < '0' || *p->at > '9') p->bad = true;
    while (*p->at >= '0' && *p->at <= '9') whole = whole * 10 + (*p->at++ - '0');
    if (*p->at == '.')
        for (p->at++; *p->at >= '0' && *p->at <= '9'; p->at++)
            if (scale > 1) {
                scale /= 10;
                part += scale * (*p->at - '0');
            }
    return minus ? -(whole * 1000 + part) : whole * 1000 + part;
}

static bool parse_word(parser *p, const char *word) {
    size_t n = strlen(word);
    bool found = strncmp(p->at, word, n) == 0;
    if (found) p->at += n;
    return found;
}

static value *parse_value(parser *p);

static void parse_children(parser *p, value *v, char end) {
    value **to = &v->child;
    if (accept(p, end)) return;
    do {
        const char *key = NULL;
        if (end == '}') {
            key = parse_string(p);
            p->bad |= !accept(p, ':');
        }
        value *child = p->bad ? NULL : parse_value(p);
        if (!child) return;
        child->key = key;
        *to = child;
        to = &child->next;
        v->n++;
    } while (accept(p, ','));
    p->bad |= !accept(p, end);
}

static value *parse_value(parser *p) {
    value *v = take(p, sizeof *v);
    if (!v || ++p->depth > MAX_DEPTH) {
        p->bad = true;
        return NULL;
    }
    memset(v, 0, sizeof *v);
    skip_space(p);
    switch (*p->at) {
    case '{':
        p->at++;
        v->kind = J_OBJECT;
        parse_children(p, v, '}');
        break;
    case '[':
        p->at++;
        v->kind = J_ARRAY;
        parse_children(p, v, ']');
        break;
    case '"':
        v->kind = J_STRING;
        v->text = parse_string(p);
        break;
    case 't': v->kind = J_TRUE, p->bad |= !parse_word(p, "true"); break;
    case 'f': v->kind = J_FALSE, p->bad |= !parse_word(p, "false"); break;
    case 'n': p->bad |= !parse_word(p, "null"); break;
    default: v->kind = J_NUMBER, v->number = parse_number(p);
    }
    p->depth--;
    return p->bad ? NULL : v;
}

/* --- what is done with it ------------------------------------------------------------------------------------------
 */

static const value *find(const value *object, const char *key) {
    for (const value *c = object->child; c; c = c->next)
        if (c->key && strcmp(c->key, key) == 0) return c;
    return NULL;
}

static uint32_t mix(uint32_t h, const char *text) {
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

static uint32_t digest(const value *v, uint32_t h) {
    h = (h ^ (uint32_t)v->kind) * 16777619u;
    if (v->key) h = mix(h, v->key);
    if (v->text) h = mix(h, v->text);
    h = (h ^ (uint32_t)v->number) * 16777619u;
    for (const value *c = v->child; c; c = c->next) h = digest(c, h);
    return h;
}

static size_t depth_of(const value *v) {
    size_t most = 0;
    for (const value *c = v->child; c; c = c->next) {
        size_t d = depth_of(c);
        if (d > most) most = d;
    }
    return most + 1;
}

static int64_t total(const value *list) {
    int64_t sum = 0;
    for (const value *c = list->child; c; c = c->next) {
        const value *price = find(c, "price"), *count = find(c, "count");
        if (price && count) sum += price->number * count->number / 1000;
    }
    return sum;
}

static void make_text(char *text, size_t n) {
    uint32_t x = 3;
    size_t at = (size_t)snprintf(text, n, "[");
    for (unsigned i = 0; i < 160; i++) {
        x = x * 1664525u + 1013904223u;
        at += (size_t)snprintf(text + at, n - at,
                               "%s {\"id\": %u, \"name\": \"item \\u00e%x\\t%u\", \"price\": %u.%02u, \"count\": %u,\n"
                               "  \"tags\": [\"t%u\", %s, null, [-%u, {\"deep\": []}]]}",
                               i ? "," : "", i, x >> 28, x >> 20, x >> 22, x % 100, x >> 27, x >> 24,
                               x & 1 ? "true" : "false", x >> 12);
    }
    snprintf(text + at, n - at, "]");
}

int main(void) {
    static char text[N_TEXT], room[N_ROOM];
    uint32_t h = 2166136261u;
    int64_t sum = 0;
    size_t depth = 0;
    make_text(text, sizeof text);
    for (int i = 0; i < 6; i++) {
        parser p = {text, room, sizeof room, 0, false};
        value *v = parse_value(&p);
        if (!v) return EXIT_FAILURE;
        h = digest(v, h);
        sum += total(v);
        depth += depth_of(v);
    }
    printf("%08x %lld %zu\n", (unsigned)h, (long long)sum, depth);
    return 0;
}
