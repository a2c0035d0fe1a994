/* tensors.c — the Open Inference Protocol, version 2, over REST, with its extension for binary tensors. */
#include "base/err.h"
#include "serve/http.h"

void hn_tensors_call(hn_visit *c, const char *path) {
    (void)path;
    hn_visit_fail(c, 404, "there is no such call");
}
void hn_tensors_end(hn_visit *c, hn_task *j) { hn_visit_fail(c, hn_status_of(j->rc), j->why.text); }
