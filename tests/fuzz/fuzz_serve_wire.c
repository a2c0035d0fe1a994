/* fuzz_serve_wire.c — frames from the process of a trial, which may have lost its mind, and to it: what is read lies
 * inside the frame, and is put as it was read. The first byte chooses the kind. */
#include "serve/canary.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_task(hn_wire_reader r) {
    const char *begin = r.p;
    hn_task j = {0}, k = {0};
    hn_task_keep keep = {0}, other = {0};
    hn_str s = {0}, t = {0};
    if (hn_get_task(&r, &j, &keep)) {
        if (r.p < begin || r.p > r.end) abort();
        hn_put_task(&s, &j);
        hn_wire_reader again = {s.text, s.text + s.n, s.failed};
        if (!s.failed && !hn_get_task(&again, &k, &other)) abort();
        hn_put_task(&t, &k);
        if (!s.failed && !t.failed && (s.n != t.n || memcmp(s.text, t.text, s.n))) abort();
    }
    hn_task_drop(&j, &keep);
    hn_task_drop(&k, &other);
    hn_str_free(&s);
    hn_str_free(&t);
}

static void check_answer(hn_wire_reader r, bool tensors) {
    hn_task j = {.n_out = 2};
    hn_task_keep keep = {0};
    if (tensors) j.in = calloc(1, sizeof *j.in);
    j.out = calloc(3, sizeof *j.out);
    if (j.out && hn_get_answer(&r, &j) && !tensors && strlen(j.answer.text) > j.answer.n_text) abort();
    hn_task_drop(&j, &keep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_wire_sample x = {0};
    hn_canary_plan plan = {0};
    if (!size) return 0;
    char *exact = malloc(size);
    if (!exact) return 0;
    memcpy(exact, data + 1, size - 1);
    hn_wire_reader r = {exact, exact + size - 1, false};
    switch (data[0] % 5) {
    case 0: check_task(r); break;
    case 1: check_answer(r, true); break;
    case 2: check_answer(r, false); break;
    case 3:
        if (hn_get_sample(&r, &x) && strlen(x.text) >= size) abort();
        break;
    default:
        if (hn_get_plan(&r, &plan) && strlen(plan.now) + strlen(plan.next) >= size) abort();
    }
    free(exact);
    return 0;
}
