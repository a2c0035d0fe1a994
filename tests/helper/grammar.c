/* grammar gbnf|schema FILE SEED N [wrong]: N texts that the grammar allows, drawn token by token through its masks over
 * a small vocabulary, as a JSON list of {"text", "done"}; done: the text may end there (it is not cut). Longer and
 * longer texts are led to an end by drawing from the bytes that come first. wrong: each mask has one bit more, as a
 * planted fault. grammar gbnf|schema FILE: reads lines of JSON strings from stdin; prints for each 2 (a text of the
 * grammar), 1 (the beginning of one) or 0. An error goes to stderr, exit status 1. */
#include "text/grammar.h"
#include "base/fs.h"
#include "base/rng.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOFT = 120, HARD = 4000 };

static int failed(const hone_err *err) {
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

/* All bytes, pieces of JSON, words, and pieces that cut characters in two. */
static hn_tokenizer *vocabulary(void) {
    static const char *const more[] = {"{\"",  "\": ", "\":", ", \"",         "\"}",      "[]",       "true", "false",
                                       "null", "10",   "12",  "ab",           "the",      "\n",       " ",    "}}",
                                       "\\n",  "\\u",  "-",   "\xc3\xa4\xc3", "\xe2\x82", "\x82\xac", "<s>"};
    static char name[256][8];
    static hn_span token[300];
    static int32_t type[300];
    static float score[300];
    hn_tokenizer_spec s = {.kind = HN_TOKENIZER_SPM,
                           .token = token,
                           .type = type,
                           .score = score,
                           .bos = -1,
                           .unknown = -1,
                           .padding = -1};
    hn_tokenizer *t = NULL;
    for (int i = 0; i < 256; i++) {
        snprintf(name[i], sizeof name[i], "<0x%02X>", (unsigned)i);
        token[i] = (hn_span){name[i], 6};
        type[i] = HN_TOKEN_BYTE;
    }
    s.n = 256;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++, s.n++) {
        token[s.n] = (hn_span){more[i], strlen(more[i])};
        type[s.n] = !strcmp(more[i], "<s>") ? HN_TOKEN_CONTROL : HN_TOKEN_NORMAL;
    }
    s.eos = (int32_t)s.n - 1;
    return hn_tokenizer_make(&s, &t, NULL) ? NULL : t;
}

typedef struct job {
    hn_tokenizer *t;
    hn_pieces *pieces;
    hn_grammar *g;
    hn_rng rng;
    bool wrong;
} job;

static int32_t draw(job *j, const uint64_t *allowed, size_t n_text) {
    int32_t list[300];
    size_t n = 0;
    for (size_t i = 0; i < hn_tokenizer_size(j->t); i++)
        if (allowed[i / 64] >> i % 64 & 1) list[n++] = (int32_t)i;
    if (!n) return -1;
    bool ends = hn_tokenizer_ends(j->t, list[n - 1]);
    if (ends && (n == 1 || n_text > SOFT || hn_rng_below(&j->rng, 4) == 0)) return list[n - 1];
    if (ends) n--;
    static const char closing[] = "\"}],:"; /* what leads to an end */
    for (size_t k = 0; n_text > SOFT && closing[k]; k++)
        for (size_t i = 0; i < n; i++)
            if (list[i] == closing[k]) return list[i];
    return list[hn_rng_below(&j->rng, n)];
}

static hone_rc write_one(job *j, json_t *out, hone_err *err) {
    hn_places *p = NULL;
    static char text[HARD + 64];
    size_t n = 0;
    int32_t place = HN_PLACE_START;
    hone_rc rc = hn_places_new(j->g, &p, err);
    bool done = false;
    while (!rc && n < HARD) {
        const uint64_t *allowed;
        uint64_t mask[8] = {0};
        rc = hn_places_allowed(p, place, j->pieces, &allowed, err);
        if (rc) break;
        memcpy(mask, allowed, (hn_tokenizer_size(j->t) / 64 + 1) * sizeof *mask);
        if (j->wrong) mask['x' / 64] |= (uint64_t)1 << 'x' % 64;
        int32_t token = draw(j, mask, n);
        if (token < 0 || hn_tokenizer_ends(j->t, token)) {
            done = hn_places_may_end(p, place);
            break;
        }
        hn_span s = hn_tokenizer_bytes(j->t, token, NULL);
        memcpy(text + n, s.text, s.n);
        n += s.n;
        int32_t next = HN_PLACE_NONE;
        rc = hn_places_read_token(p, place, j->pieces, token, &next, err);
        if (j->wrong && !next) break;
        place = next;
        if (!rc) rc = hn_places_trim(p, &place, 1, err);
    }
    if (!rc) /* a text that is cut may end inside a character */
        while (json_array_append_new(out, json_pack("{s:s%, s:b}", "text", text, n, "done", done)) && n) n--;
    hn_places_free(p);
    return rc;
}

static hone_rc judge(job *j, hone_err *err) {
    char *line = NULL;
    size_t room = 0;
    hn_places *p = NULL;
    hone_rc rc = hn_places_new(j->g, &p, err);
    while (!rc && getline(&line, &room, stdin) >= 0) {
        json_t *text = json_loads(line, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        int32_t place = HN_PLACE_START;
        rc = hn_places_read(p, place, json_string_value(text), json_string_length(text), &place, err);
        if (!rc) printf("%d\n", !place ? 0 : hn_places_may_end(p, place) ? 2 : 1);
        json_decref(text);
    }
    free(line);
    hn_places_free(p);
    return rc;
}

int main(int argc, char **argv) {
    job j = {.t = vocabulary(), .wrong = argc > 5};
    hone_err err = {0};
    char *text = NULL;
    size_t n = 0;
    if (argc < 3 || !j.t) return 2;
    hone_rc rc = hn_read_file(argv[2], &text, &n, &err);
    if (!rc) rc = (*argv[1] == 'g' ? hn_grammar_gbnf : hn_grammar_schema)(text, n, argv[2], &j.g, &err);
    if (!rc) rc = hn_pieces_new(j.t, &j.pieces, &err);
    if (!rc && argc > 4) {
        json_t *out = json_array();
        for (int i = 0; !rc && i < atoi(argv[4]); i++) {
            j.rng = hn_rng_make((uint64_t)atoi(argv[3]), (uint64_t)i);
            rc = write_one(&j, out, &err);
        }
        json_dumpf(out, stdout, 0);
        json_decref(out);
    } else if (!rc)
        rc = judge(&j, &err);
    free(text);
    hn_pieces_free(j.pieces);
    hn_grammar_free(j.g);
    hn_tokenizer_free(j.t);
    return rc ? failed(&err) : 0;
}
