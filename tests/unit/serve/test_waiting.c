/* Jobs that wait: priority, clients in turns, order, those that share a prompt, those that are gone or late. */
#include "serve/waiting.h"
#include "tap.h"

#include <string.h>

static hn_task task(uint64_t client, int64_t priority) { return (hn_task){.client = client, .priority = priority}; }

static void order(void) {
    hn_waiting w = {0};
    hn_task j[7] = {task(1, 0), task(1, 0), task(1, 0), task(2, 0), task(2, 0), task(3, 5), task(3, -5)};
    static const int want[7] = {6, 0, 3, 1, 4, 2, 5};
    bool same = !hn_waiting_next(&w);
    for (int i = 0; i < 7; i++) hn_waiting_add(&w, &j[i]);
    for (int i = 0; i < 7; i++) same &= hn_waiting_next(&w) == &j[want[i]];
    ok(same && !w.n && !w.first && !w.last, "waiting/priority_then_clients_in_turns_then_order");
    hn_waiting_add(&w, &j[0]);
    ok(hn_waiting_next(&w) == &j[0] && !hn_waiting_next(&w), "waiting/goes_on_when_empty");
}

static void shared(void) {
    hn_waiting w = {0};
    hn_task first = task(1, 0), second = task(1, 0), other = task(1, 0);
    second.first = &first;
    hn_waiting_add(&w, &second);
    ok(!hn_waiting_next(&w) && w.n == 1, "waiting/the_same_prompt_waits");
    hn_waiting_add(&w, &other);
    ok(hn_waiting_next(&w) == &other, "waiting/others_pass");
    first.prompt_done = true;
    ok(hn_waiting_next(&w) == &second, "waiting/until_it_is_through");
    first = task(1, 0);
    hn_waiting_add(&w, &second);
    first.ended = true;
    ok(hn_waiting_next(&w) == &second, "waiting/or_has_ended");
}

static void late(void) {
    hn_waiting w = {0};
    hn_task j[3] = {task(1, 0), task(1, 0), task(1, 0)};
    j[1].deadline_s = 10;
    for (int i = 0; i < 3; i++) hn_waiting_add(&w, &j[i]);
    ok(!hn_waiting_late(&w, 10), "waiting/in_time");
    ok(hn_waiting_late(&w, 10.1) == &j[1] && !hn_waiting_late(&w, 11), "waiting/late");
    atomic_store(&j[2].gone, 1);
    ok(hn_waiting_late(&w, 11) == &j[2] && w.last == &j[0] && w.n == 1, "waiting/gone");
}

static void many_clients(void) {
    hn_waiting w = {0};
    static hn_task j[HN_TURNS + 50];
    bool fine = true;
    for (int i = 0; i < HN_TURNS + 50; i++) {
        j[i] = task((uint64_t)i + 1, 0);
        hn_waiting_add(&w, &j[i]);
        fine &= hn_waiting_next(&w) == &j[i];
    }
    ok(fine && !w.n, "waiting/more_clients_than_are_remembered");
}

int main(void) {
    order();
    shared();
    late();
    many_clients();
    return done_testing();
}
