/* answer.c — a language model in a C program: an answer that is printed as it comes, then the likeliest next tokens by
 * hand.
 *
 * usage: ./answer MODEL.gguf [PROMPT]
 */
#include <hone/text.h>

#include <stdio.h>
#include <string.h>

/* Whole characters, as soon as they are certain; false would end the answer. */
static bool print(void *arg, const char *text, size_t n) {
    (void)arg;
    fwrite(text, 1, n, stdout);
    fflush(stdout);
    return true;
}

static hone_rc answer(hone_text *m, const char *prompt, hone_err *err) {
    hone_text_generate_options ask = hone_text_generate_defaults();
    hone_text_answer got;
    ask.prompt = prompt;
    ask.max_tokens = 48;
    ask.seed = 1;
    ask.on_text = print;
    hone_rc rc = hone_text_generate(m, &ask, &got, err);
    if (rc) return rc;
    printf("\n-- %zu tokens, the first after %.0f ms; end: %s\n", got.n, 1e3 * got.first_s,
           hone_text_end_name(got.end));
    hone_text_answer_free(&got);
    return HONE_OK;
}

/* A session takes tokens and gives logits; keys and values of what it has taken stay with it. */
static hone_rc likeliest(hone_text *m, const char *text, hone_err *err) {
    hone_text_session *s = NULL;
    int32_t *token = NULL, best = 0;
    size_t n = 0, n_word;
    const float *logits;
    char *word = NULL;
    hone_rc rc = hone_text_encode(m, text, strlen(text), true, true, &token, &n, err);
    if (!rc) rc = hone_text_session_open(m, &s, err);
    if (!rc) rc = hone_text_session_feed(s, token, n, 1, &logits, err);
    for (size_t i = 1; !rc && i < hone_text_vocabulary(m); i++)
        if (logits[i] > logits[best]) best = (int32_t)i;
    if (!rc) rc = hone_text_decode(m, &best, 1, true, &word, &n_word, err);
    if (!rc) printf("-- behind the prompt's %zu tokens the likeliest is %d, '%s'\n", n, (int)best, word);
    hone_free(word);
    hone_free(token);
    hone_text_session_close(s);
    return rc;
}

int main(int argc, char **argv) {
    const char *prompt = argc > 2 ? argv[2] : "Once upon a time";
    hone_text *m = NULL;
    hone_err err;
    if (argc < 2) return fprintf(stderr, "usage: %s MODEL.gguf [PROMPT]\n", argv[0]), 2;
    hone_rc rc = hone_text_open(argv[1], NULL, &m, &err); /* compiles it when it is used first */
    if (!rc) rc = answer(m, prompt, &err);
    if (!rc) rc = likeliest(m, prompt, &err);
    hone_text_close(m);
    if (rc) fprintf(stderr, "%s\n", err.text);
    return hone_rc_exit(rc);
}
