/* Frames between a server and the process of a trial: what is read back is what was put, and what is cut or changed is
 * refused; a stream that NOW takes over. */
#include "serve/http.h"
#include "tap.h"

#include <string.h>

static hn_wire_reader reader(const hn_str *s) { return (hn_wire_reader){s->text, s->text + s->n, false}; }

static hn_task tensors(hone_array *in) {
    static float x[6] = {1, 2, 3, 4, 5, 6};
    static int64_t i[2] = {7, -8};
    in[0] = (hone_array){.data = x, .dtype = HONE_F32, .rank = 2, .dim = {2, 3}};
    in[1] = (hone_array){.data = i, .dtype = HONE_I64, .rank = 1, .dim = {2}};
    return (hn_task){.in = in, .n_in = 2, .n_out = 3};
}

static void requests(void) {
    hone_array in[2];
    hn_task a = tensors(in), b = {0};
    hn_task_keep keep = {0};
    hn_str s = {0};
    hn_put_task(&s, &a);
    hn_wire_reader r = reader(&s);
    bool fine = hn_get_task(&r, &b, &keep) && r.p == r.end;
    ok(fine && b.n_in == 2 && b.n_out == 3 && b.in[0].dim[1] == 3 && !memcmp(b.in[0].data, in[0].data, 24) &&
           !memcmp(b.in[1].data, in[1].data, 16),
       "wire/tensors_are_read_back");
    hn_task_drop(&b, &keep);
    size_t refused = 0;
    for (size_t n = 0; n < s.n; n++) {
        hn_task c = {0};
        r = (hn_wire_reader){s.text, s.text + n, false};
        refused += !hn_get_task(&r, &c, &keep);
        hn_task_drop(&c, &keep);
    }
    ok(refused == s.n, "wire/a_request_that_is_cut_is_refused");
    hn_str_free(&s);
}

static void words(void) {
    static const char *const stop[] = {"end", ""};
    static const hone_text_bias bias[] = {{3, -1.5f}, {4, 2}};
    static const int32_t token[] = {5, 6, 7};
    hn_task a = {.ask = hone_text_generate_defaults(), .stream = true, .want_logprobs = true}, b = {0};
    hn_task_keep keep = {0};
    hn_str s = {0};
    a.ask.token = token, a.ask.n_token = 3, a.ask.seed = UINT64_MAX, a.ask.temperature = 0.25, a.ask.max_tokens = 9;
    a.ask.stop_text = stop, a.ask.n_stop_text = 2, a.ask.bias = bias, a.ask.n_bias = 2, a.ask.grammar = "root ::= x";
    hn_put_task(&s, &a);
    hn_wire_reader r = reader(&s);
    bool fine = hn_get_task(&r, &b, &keep);
    const hone_text_generate_options *o = &b.ask;
    ok(fine && !o->prompt && o->n_token == 3 && o->token[2] == 7 && o->seed == UINT64_MAX && o->max_tokens == 9 &&
           !(o->temperature < 0.25) && !(o->temperature > 0.25) && o->n_stop_text == 2 &&
           !strcmp(o->stop_text[0], "end") && o->n_bias == 2 && o->bias[1].token == 4 &&
           !strcmp(o->grammar, "root ::= x") && !o->json_schema && b.stream && b.want_logprobs && !b.in,
       "wire/a_question_is_read_back");
    hn_task_drop(&b, &keep);
    hn_str_free(&s);
}

static bool prompt_comes_back(const char *text, size_t n) {
    hn_task a = {.ask = hone_text_generate_defaults()}, b = {0};
    hn_task_keep keep = {0};
    hn_str s = {0};
    a.ask.prompt = text, a.ask.n_prompt = n;
    hn_put_task(&s, &a);
    hn_wire_reader r = reader(&s);
    size_t n_b = n ? n : strlen(text);
    bool same = hn_get_task(&r, &b, &keep) && b.ask.n_prompt == n && !memcmp(b.ask.prompt, text, n_b + 1);
    hn_task_drop(&b, &keep);
    hn_str_free(&s);
    return same;
}

static void prompts(void) {
    ok(prompt_comes_back("a\0b", 3) && prompt_comes_back("ab", 0), "wire/a_prompt_keeps_its_zeros");
    ok(!prompt_comes_back("a\0b\0c", 4), "wire/the_bytes_behind_a_prompt_are_its_end");
}

static void samples(void) {
    hn_wire_sample a = {.runs = 4, .now_s = 0.5, .next_s = 0.25, .compared = 2, .elements = 10, .text = "x"}, b = {0};
    hn_str s = {0};
    hn_put_sample(&s, &a);
    hn_wire_reader r = reader(&s);
    ok(hn_get_sample(&r, &b) && b.runs == 4 && b.elements == 10 && !strcmp(b.text, "x"), "wire/a_sample_is_read_back");
    hn_str_free(&s);
    a.differing = 3;
    hn_put_sample(&s, &a);
    r = reader(&s);
    ok(!hn_get_sample(&r, &b), "wire/more_that_differ_than_were_compared_are_refused");
    hn_str_free(&s);
}

/* A piece of NOW's answer behind what NEXT has given; what is left of it, NULL: it is another answer. */
static const char *merged(hn_choice *x, const char *text) {
    static char room[32];
    hn_event h = {.text = room, .n_text = strlen(text)};
    strcpy(room, text);
    return hn_tryout_merge(x, &h) ? room : NULL;
}

static void streams(void) {
    hn_choice x = {0};
    hn_str_add(&x.sent, "One two");
    x.n_skip = x.sent.n;
    const char *a = merged(&x, "One");
    ok(a && !*a, "merge/what_the_client_has_is_left_out");
    a = merged(&x, " two three");
    ok(a && !strcmp(a, " three") && !x.n_skip, "merge/what_follows_is_given");
    a = merged(&x, " four");
    ok(a && !strcmp(a, " four"), "merge/and_all_behind_it");
    x.n_skip = x.sent.n;
    ok(!merged(&x, "Two"), "merge/another_answer_is_told");
    hn_str_free(&x.sent);
}

int main(void) {
    requests();
    words();
    prompts();
    samples();
    streams();
    return done_testing();
}
