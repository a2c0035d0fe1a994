/* grammar_number.c — numbers within bounds, digit by digit.
 *
 * A bound is compared as a person does: numbers of more digits are larger, those of as many are compared from the first
 * digit on. What is made is a choice for each place at which a number leaves the bound's digits. */
#include "text/grammar_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 16, MOST = 40 };

static hn_phrase *empty(hn_schema *s) { return hn_json_text(s, ""); }
static hn_phrase *nothing(hn_schema *s) { return hn_json_any(s, 0, NULL); }

static hn_phrase *digit(hn_schema *s, uint32_t low, uint32_t high) { return hn_json_digits(s, low, high, 1, 1); }

static hn_phrase *any_digits(hn_schema *s, size_t n) { return hn_json_digits(s, 0, 9, (uint32_t)n, (uint32_t)n); }

/* Of one length: whole numbers from low to high, both of n digits. tail: what follows the number where it is none of
 * the bounds; low_tail, high_tail: where it is one; both_tail: where they are the same and it is that. */
typedef struct tails {
    hn_phrase *inside, *at_low, *at_high, *at_both;
} tails;

static hn_phrase *span(hn_schema *s, const char *low, const char *high, size_t n, bool is_low, bool is_high,
                       const tails *t) {
    if (s->rc) return NULL;
    if (!n) return is_low && is_high ? t->at_both : is_low ? t->at_low : is_high ? t->at_high : t->inside;
    if (!is_low && !is_high) return HN_ALL(s, any_digits(s, n), t->inside);
    uint32_t from = is_low ? (uint32_t)(*low - '0') : 0, to = is_high ? (uint32_t)(*high - '0') : 9;
    hn_phrase *part[3];
    size_t k = 0;
    if (is_low && is_high && from == to)
        return HN_ALL(s, digit(s, from, from), span(s, low + 1, high + 1, n - 1, true, true, t));
    if (is_low) part[k++] = HN_ALL(s, digit(s, from, from), span(s, low + 1, high + 1, n - 1, true, false, t));
    if (is_high) part[k++] = HN_ALL(s, digit(s, to, to), span(s, low + 1, high + 1, n - 1, false, true, t));
    from += is_low;
    to -= is_high;
    if (from <= to && to <= 9)
        part[k++] = HN_ALL(s, digit(s, from, to), span(s, low + 1, high + 1, n - 1, false, false, t));
    return hn_json_any(s, k, part);
}

/* Those of n digits that come in front of `high`, or up to it; the first digit is no 0. */
static hn_phrase *up_to(hn_schema *s, const char *high, size_t n, const tails *t) {
    uint32_t top = (uint32_t)(*high - '0');
    hn_phrase *at_top = HN_ALL(s, digit(s, top, top), span(s, high + 1, high + 1, n - 1, false, true, t));
    if (top < 2) return at_top;
    return HN_ANY(s, at_top, HN_ALL(s, digit(s, 1, top - 1), any_digits(s, n - 1), t->inside));
}

/* Whole numbers from low to high, each a text of digits without zeros in front. */
static hn_phrase *whole(hn_schema *s, const char *low, const char *high, const tails *t) {
    size_t a = strlen(low), z = strlen(high), k = 0;
    hn_phrase *part[MOST];
    if (a == z) return span(s, low, high, a, true, true, t);
    for (size_t n = a; n <= z && n < MOST; n++) {
        if (n == a)
            part[k++] = span(s, low, low, n, true, false, t);
        else if (n == z)
            part[k++] = up_to(s, high, n, t);
        else
            part[k++] = HN_ALL(s, digit(s, 1, 9), any_digits(s, n - 1), t->inside);
    }
    return hn_json_any(s, k, part);
}

/* --- fractions --------------------------------------------------------------------------------------------------- */

static hn_phrase *some_digits(hn_schema *s, size_t least, size_t room) {
    return hn_json_digits(s, 0, 9, (uint32_t)least, (uint32_t)(room > least ? room : least));
}
static hn_phrase *zeros(hn_schema *s, size_t least, size_t room) {
    return hn_json_digits(s, 0, 0, (uint32_t)least, (uint32_t)(room > least ? room : least));
}
static size_t one_less(size_t n) { return n ? n - 1 : 0; }

/* Digits behind the point, `least` of them or more, that make a number above (up; else: below) the digits f, or equal
 * to it where it is not open. f ends in no zero. */
static hn_phrase *fraction(hn_schema *s, const char *f, bool up, bool open, size_t least, size_t room) {
    hn_phrase *part[4];
    size_t k = 0, less = one_less(room);
    if (s->rc) return NULL;
    if (!*f) { /* so far they are equal */
        if (!up) return open ? nothing(s) : zeros(s, least, room);
        if (!open) return some_digits(s, least, room);
        if (!room) return nothing(s);
        part[k++] = HN_ALL(s, digit(s, 1, 9), some_digits(s, 0, less));
        part[k++] = HN_ALL(s, digit(s, 0, 0), fraction(s, f, up, open, 0, less));
        return hn_json_any(s, k, part);
    }
    uint32_t d = (uint32_t)(*f - '0');
    part[k++] = HN_ALL(s, digit(s, d, d), fraction(s, f + 1, up, open, 0, less));
    if (up && d < 9) part[k++] = HN_ALL(s, digit(s, d + 1, 9), some_digits(s, 0, less));
    if (!up && d > 0) part[k++] = HN_ALL(s, digit(s, 0, d - 1), some_digits(s, 0, less));
    if (!up && !least) part[k++] = empty(s); /* f goes on, and not with zeros alone: it is more */
    return hn_json_any(s, k, part);
}

/* Digits between low and high. */
static hn_phrase *between(hn_schema *s, const char *low, bool low_open, const char *high, bool high_open, size_t least,
                          size_t room) {
    hn_phrase *part[4];
    size_t k = 0, less = one_less(room);
    if (s->rc) return NULL;
    if (!*low && !*high) return low_open || high_open ? nothing(s) : zeros(s, least, room);
    if (!*high) return nothing(s);
    if (!*low && low_open && !room) return nothing(s);
    uint32_t a = *low ? (uint32_t)(*low - '0') : 0, z = (uint32_t)(*high - '0');
    const char *after = *low ? low + 1 : low;
    if (!*low && !low_open && !least) part[k++] = empty(s);
    if (a == z)
        part[k++] = HN_ALL(s, digit(s, a, a), between(s, after, low_open, high + 1, high_open, 0, less));
    else if (a < z) {
        part[k++] = HN_ALL(s, digit(s, a, a), fraction(s, after, true, low_open, 0, less));
        part[k++] = HN_ALL(s, digit(s, z, z), fraction(s, high + 1, false, high_open, 0, less));
        if (a + 1 < z) part[k++] = HN_ALL(s, digit(s, a + 1, z - 1), some_digits(s, 0, less));
    }
    return hn_json_any(s, k, part);
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

/* A number that is not negative, in decimal: "12" and "5" of 12.5; the fraction ends in no zero. */
typedef struct decimal {
    char whole[MOST], part[MOST];
    bool open;
} decimal;

/* By the shortest text that reads back as the same double. False: too large, or too many digits. */
static bool decimal_of(double x, bool open, decimal *out) {
    char text[32], digits[MOST];
    size_t n = 0, point = 0, k = 0;
    long exponent = 0;
    if (!(x < 1e15)) return false;
    hn_double_text(fabs(x), text);
    for (const char *p = text; *p; p++) {
        if (*p == 'e') {
            exponent = strtol(p + 1, NULL, 10);
            break;
        }
        if (*p == '.')
            point = n + 1;
        else
            digits[n++] = *p;
    }
    long at = (long)(point ? point - 1 : n) + exponent; /* the point stands in front of this digit */
    if (at < -18 || at > DIGITS + 1 || n > 20) return false;
    *out = (decimal){.open = open};
    for (long i = 0; i < at; i++)
        if (k || i >= (long)n || digits[i] != '0') out->whole[k++] = i < (long)n ? digits[i] : '0';
    if (!k) out->whole[k++] = '0';
    k = 0;
    for (long i = at; i < (long)n; i++) out->part[k++] = i < 0 ? '0' : digits[i];
    while (k && out->part[k - 1] == '0') out->part[--k] = 0;
    return true;
}

/* Digits behind a point that a double still tells apart, beside a bound; so many are written. */
static size_t room_at(const decimal *d) {
    size_t n = strlen(d->whole), part = strlen(d->part);
    size_t room = n < DIGITS - 1 ? DIGITS - 1 - n : 0;
    return room > part ? room : part;
}

static hn_phrase *pointed(hn_schema *s, bool whole_too, hn_phrase *digits) {
    hn_phrase *f = HN_ALL(s, hn_json_text(s, "."), digits);
    return whole_too ? HN_ANY(s, empty(s), f) : f;
}

static bool above(const decimal *x, const decimal *y) {
    size_t n = strlen(x->whole), m = strlen(y->whole);
    int d = n != m ? (n < m ? -1 : 1) : strcmp(x->whole, y->whole);
    return d ? d > 0 : strcmp(x->part, y->part) > 0;
}

static hn_phrase *not_negative(hn_schema *s, const decimal *low, const decimal *high) {
    size_t a = room_at(low), z = room_at(high);
    if (above(low, high)) return nothing(s);
    bool low_whole = !*low->part && !low->open, high_whole = *high->part || !high->open;
    hn_phrase *both = between(s, low->part, low->open, high->part, high->open, 1, a < z ? a : z);
    tails t = {.inside = pointed(s, true, some_digits(s, 1, DIGITS)),
               .at_low = pointed(s, low_whole, fraction(s, low->part, true, low->open, 1, a)),
               .at_high = pointed(s, high_whole, fraction(s, high->part, false, high->open, 1, z)),
               .at_both = pointed(s, low_whole && high_whole, both)};
    return whole(s, low->whole, high->whole, &t);
}

static hn_phrase *unbounded(hn_schema *s) {
    static const hn_chars letter[] = {{'e', 'e'}, {'E', 'E'}}, sign[] = {{'+', '+'}, {'-', '-'}};
    hn_phrase *minus = hn_json_repeat(s, hn_json_text(s, "-"), 0, 1);
    hn_phrase *front = HN_ANY(s, hn_json_text(s, "0"), HN_ALL(s, digit(s, 1, 9), some_digits(s, 0, DIGITS - 1)));
    hn_phrase *point = HN_ALL(s, hn_json_text(s, "."), some_digits(s, 1, DIGITS));
    hn_phrase *power =
        HN_ALL(s, hn_schema_made(s, hn_phrase_class(s->rules, letter, 2)),
               hn_json_repeat(s, hn_schema_made(s, hn_phrase_class(s->rules, sign, 2)), 0, 1), some_digits(s, 1, 2));
    return HN_ALL(s, minus, front, hn_json_repeat(s, point, 0, 1), hn_json_repeat(s, power, 0, 1));
}

static const decimal largest = {"999999999999999", "", false};

/* Numbers from low to high of one sign; the bounds are those of the number without its sign. */
static hn_phrase *of_sign(hn_schema *s, const hn_number_bound *low, const hn_number_bound *high, bool negative) {
    decimal a = {"0", "", negative}, z = largest; /* -0 is 0 */
    bool fine = true;
    if (low->given && low->value >= 0) {
        fine = decimal_of(low->value, low->open, &a);
        a.open |= negative && low->value == 0;
    }
    if (high->given) fine &= decimal_of(high->value, high->open, &z);
    if (!fine)
        return hn_schema_wrong(s, HONE_E_UNSUPPORTED,
                               "a bound of a number has too many digits; up to 1e15 and 18 places are translated");
    hn_phrase *f = not_negative(s, &a, &z);
    return negative ? HN_ALL(s, hn_json_text(s, "-"), f) : f;
}

hn_phrase *hn_json_number(hn_schema *s, hn_number_bound low, hn_number_bound high) {
    hn_phrase *part[2];
    size_t k = 0;
    if (!low.given && !high.given) return unbounded(s);
    hn_number_bound minus_low = low, minus_high = high;
    minus_low.value = -low.value;
    minus_high.value = -high.value;
    if (!high.given || high.value >= 0) part[k++] = of_sign(s, &low, &high, false);
    if (!low.given || low.value < 0) part[k++] = of_sign(s, &minus_high, &minus_low, true);
    return hn_json_any(s, k, part);
}

/* --- integers ---------------------------------------------------------------------------------------------------- */

static hn_phrase *integers(hn_schema *s, uint64_t low, uint64_t high) {
    char a[MOST], z[MOST];
    if (low > high) return nothing(s);
    snprintf(a, sizeof a, "%" PRIu64, low);
    snprintf(z, sizeof z, "%" PRIu64, high);
    hn_phrase *end = empty(s);
    tails t = {end, end, end, end};
    return whole(s, a, z, &t);
}

/* The first integer that is allowed from this bound on, upwards or downwards. */
static int64_t integer_of(const hn_number_bound *b, int64_t other, int step) {
    static const double most = 9e18;
    if (!b->given) return other;
    if (b->whole) return b->open ? b->integer + step : b->integer;
    if (fabs(b->value) >= most) return b->value > 0 ? INT64_MAX : -INT64_MAX;
    double x = step > 0 ? ceil(b->value) : floor(b->value);
    return (int64_t)x + (b->open && x == b->value ? step : 0);
}

hn_phrase *hn_json_integer(hn_schema *s, hn_number_bound low, hn_number_bound high) {
    static const int64_t most = 9999999999999999; /* where nothing is said */
    if ((low.given && low.whole && low.open && low.integer == INT64_MAX) ||
        (high.given && high.whole && high.open && high.integer == INT64_MIN))
        return hn_schema_wrong(s, HONE_E_UNSUPPORTED, "no integer of 64 bits lies within its bounds");
    int64_t a = integer_of(&low, -most, 1), z = integer_of(&high, most, -1);
    hn_phrase *part[2];
    size_t k = 0;
    if (!low.given && a > z) a = z > INT64_MIN + most ? z - most : INT64_MIN;
    if (!high.given && z < a) z = a < INT64_MAX - most ? a + most : INT64_MAX;
    if (z >= 0) part[k++] = integers(s, a > 0 ? (uint64_t)a : 0, (uint64_t)z);
    if (a < 0)
        part[k++] = HN_ALL(s, hn_json_text(s, "-"),
                           integers(s, z < 0 ? (uint64_t)0 - (uint64_t)z : 1, (uint64_t)0 - (uint64_t)a));
    return hn_json_any(s, k, part);
}
