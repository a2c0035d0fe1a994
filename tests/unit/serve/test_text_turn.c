/* A step of several answers that fails is taken apart: only those fail that fail alone, and the others are what they
 * are alone. On a model of a few lines, whose next token follows from the last one. */
#include "language/language_int.h"
#include "serve/engine.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BYTES = 256, JOBS = 4, POISON = 13, TOKENS = 6 };

struct hone_model_instance {
    bool alone_only; /* fails where several share a run */
    size_t n_runs, n_failed;
};

static int next_of(int64_t token) {
    int next = (int)((token * 7 + 3) % BYTES);
    return next == POISON ? 1 : next;
}

static hone_model_rc run(hone_model_instance *m, const hone_model_tensor *in, size_t n_in, hone_model_tensor *out,
                         size_t n_out) {
    const int64_t *token = in[0].data, *want = in[1].data, *sequence = in[3].data;
    bool fails = false;
    (void)n_in;
    (void)n_out;
    for (int64_t i = 0; i < in[0].dim[0]; i++) fails |= token[i] == POISON || (m->alone_only && sequence[i] > 0);
    m->n_runs++;
    m->n_failed += fails;
    if (fails) return HONE_MODEL_INDEX;
    for (int64_t r = 0; r < in[1].dim[0]; r++) {
        float *logits = (float *)out[0].data + r * BYTES;
        memset(logits, 0, BYTES * sizeof *logits);
        logits[next_of(token[want[r]])] = 10;
    }
    memset(out[1].data, 0, (size_t)(in[1].dim[0] * out[1].dim[1]) * sizeof(float));
    return HONE_MODEL_OK;
}
static const char *error(const hone_model_instance *m) { return m ? "a planted failure" : ""; }
static hone_model_rc reset(hone_model_instance *m) { return m->n_runs ? HONE_MODEL_OK : HONE_MODEL_INDEX; }

static hn_tokenizer *tokenizer(void) {
    static char name[BYTES][8];
    static hn_span token[BYTES];
    static int32_t type[BYTES];
    static float score[BYTES];
    hn_tokenizer *t = NULL;
    for (int i = 0; i < BYTES; i++) {
        snprintf(name[i], sizeof name[i], "<0x%02X>", (unsigned)i);
        token[i] = (hn_span){name[i], strlen(name[i])};
        type[i] = HN_TOKEN_BYTE;
    }
    hn_tokenizer_spec s = {.kind = HN_TOKENIZER_SPM, .token = token, .score = score, .type = type, .n = BYTES};
    s.bos = s.eos = s.unknown = s.padding = -1;
    return hn_tokenizer_make(&s, &t, NULL) ? NULL : t;
}

typedef struct bench {
    hone_model_instance instance;
    hone_model model;
    hone_text text;
    hone_serve_options o;
    hn_figures figures;
    hn_served served;
    hn_runner runner;
    hn_task job[JOBS];
    int32_t prompt[JOBS][3];
} bench;

static void begin(bench *b) {
    b->model = (hone_model){.run = run, .error = error, .reset = reset};
    b->text = (hone_text){.path = (char *)(uintptr_t) "fake",
                          .tokenizer = tokenizer(),
                          .library = (hone_artifact *)(uintptr_t)&b->model, /* never looked at */
                          .model = &b->model,
                          .instance = &b->instance,
                          .context = 64,
                          .vocabulary = BYTES,
                          .width = 4,
                          .pool.most = 64};
    b->o = hone_serve_defaults();
    b->o.at_once = JOBS;
    b->o.step_tokens = 256;
    b->figures.name = "fake";
    pthread_mutex_init(&b->figures.lock, NULL);
    b->served =
        (hn_served){.name = (char *)(uintptr_t) "fake", .language = true, .text = &b->text, .figures = &b->figures};
    b->runner = (hn_runner){.o = &b->o, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    pthread_mutex_init(&b->runner.lock, NULL);
    for (int i = 0; i < JOBS; i++) {
        hn_task *j = &b->job[i];
        int32_t *p = b->prompt[i];
        p[0] = 40 + i, p[1] = 50 + i, p[2] = 60 + i;
        j->model = &b->served;
        j->engine = &b->runner;
        j->ask = hone_text_generate_defaults();
        j->ask.token = p;
        j->ask.n_token = 3;
        j->ask.max_tokens = TOKENS;
        hn_waiting_add(&b->served.waiting, j);
    }
    b->runner.n_queued = JOBS;
}

static void end(bench *b) {
    for (int i = 0; i < JOBS; i++) hone_text_answer_free(&b->job[i].answer);
    for (hn_event *h = hn_runner_events(&b->runner), *next; h; h = next) {
        next = h->next;
        hn_event_free(h);
    }
    close(b->runner.fd);
    hn_tokenizer_free(b->text.tokenizer);
    free(b->text.logits);
    free(b->text.hidden);
    free(b->text.pool.block);
    pthread_mutex_destroy(&b->runner.lock);
    pthread_mutex_destroy(&b->figures.lock);
}

static void turn(bench *b) {
    for (int i = 0; i < 100 && hn_text_turn(&b->runner, &b->served); i++)
        ;
}

static bool is_right(const bench *b, int i) {
    const hn_task *j = &b->job[i];
    int32_t token = b->prompt[i][2];
    if (!j->ended || j->rc || j->answer.n != TOKENS) return false;
    for (size_t k = 0; k < TOKENS; k++)
        if (j->answer.token[k] != (token = next_of(token))) return false;
    return true;
}

static void one_is_bad(void) {
    bench b = {0};
    begin(&b);
    b.prompt[1][1] = POISON;
    turn(&b);
    ok(b.job[1].ended && b.job[1].rc == HONE_E_FAILED && strstr(b.job[1].why.text, "planted"),
       "step/the_bad_one_fails");
    ok(is_right(&b, 0) && is_right(&b, 2) && is_right(&b, 3), "step/the_others_are_what_they_are_alone");
    ok(b.instance.n_failed == 2 && !b.served.n_running && !b.runner.n_queued, "step/it_fails_together_and_alone");
    end(&b);
}

static void together_alone(void) {
    bench b = {0};
    begin(&b);
    b.instance.alone_only = true;
    turn(&b);
    ok(is_right(&b, 0) && is_right(&b, 1) && is_right(&b, 2) && is_right(&b, 3), "step/none_fails_that_does_not_alone");
    ok(b.instance.n_failed >= TOKENS, "step/each_step_was_taken_apart");
    end(&b);
}

static void a_single_one(void) {
    bench b = {0};
    begin(&b);
    b.o.at_once = 1;
    b.prompt[0][2] = POISON;
    turn(&b);
    ok(b.job[0].rc == HONE_E_FAILED && b.instance.n_failed == 1, "step/one_alone_is_not_run_twice");
    ok(is_right(&b, 1) && is_right(&b, 3), "step/and_the_next_goes_on");
    end(&b);
}

int main(void) {
    one_is_bad();
    together_alone();
    a_single_one();
    return done_testing();
}
