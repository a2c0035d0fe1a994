/* tests/fuzz/fuzz_workload.c — the workload reader, with the space reader and the expressions below it, and the drafts.
 * "draft:" in front: the rest is a build command whose draft must be a valid file. "code:": a C file to draft from, on
 * which only memory is at stake. Else: a workload file; if it is accepted, the invariants hold. */
#include "tune/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOWHERE "/nonexistent/hone"

static bool is_printable(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text >= 0x7f || ((unsigned char)*text < 0x20 && !strchr("\t\n", *text))) return false;
    return true;
}

/* Escaping makes any text stand for itself. */
static void check_escape(const hone_workload *w, const char *text) {
    hn_str escaped = {0}, back = {0};
    hn_template_escape(&escaped, text);
    if (hn_workload_expand(w, escaped.text ? escaped.text : "", NULL, 0, &back, NULL)) abort();
    if (strcmp(back.text ? back.text : "", text) != 0) abort();
    hn_str_free(&escaped);
    hn_str_free(&back);
}

static void check_draft(const char *build) {
    char *text = NULL;
    hone_workload *w = NULL;
    hone_err err;
    if (hone_workload_draft(NULL, build, &text, &err)) return;
    hone_rc rc = hone_workload_parse(text, strlen(text), "draft", NOWHERE, &w, &err);
    /* words that name files of this machine may be sources that are not in NOWHERE */
    if (rc && is_printable(build) && strlen(build) < 30000 && !strstr(err.text, "source '")) abort();
    hone_workload_free(w);
    hone_free(text);
}

static void check_code(const char *code) {
    char path[] = "/tmp/hone-fuzz-XXXXXX.c", *text = NULL;
    int fd = mkstemps(path, 2);
    if (fd < 0) return;
    if (write(fd, code, strlen(code)) < 0) abort();
    close(fd);
    if (hone_workload_draft(path, NULL, &text, NULL)) abort();
    hone_workload *w = NULL;
    if (hone_workload_parse(text, strlen(text), "draft", NULL, &w, NULL)) abort();
    hone_workload_free(w);
    hone_free(text);
    unlink(path);
}

static void check_invariants(const hone_workload *w) {
    double sum[2] = {0, 0};
    bool any[2] = {false, false};
    for (size_t i = 0; i < w->n_inputs; i++) {
        sum[w->input[i].held_out] += w->input[i].weight;
        any[w->input[i].held_out] = true;
    }
    for (int k = 0; k < 2; k++)
        if (any[k] && !(fabs(sum[k] - 1) < 1e-9)) abort();
    if (!any[0] || !w->n_objectives || w->n_objectives > HONE_MAX_OBJECTIVES || !w->n_compilers) abort();
    if (w->n_limit_rules > HONE_MAX_CONSTRAINTS || w->fp_min > w->fp_baseline || w->fp_baseline > w->fp_max) abort();
    if (w->parity == HN_PARITY_EXACT && w->fp_max != w->fp_baseline) abort();
    if (!(w->parity_tol >= 0) || (!w->budget.evaluations && w->budget.seconds <= 0)) abort();
    for (size_t i = 0; i < w->n_objectives; i++)
        if (!(w->objective[i].quantity.percentile >= 0 && w->objective[i].quantity.percentile <= 100)) abort();
    for (size_t i = 0; i < w->n_limit_rules; i++)
        if (!isfinite(w->limit_rule[i].bound)) abort();
}

static void check_file(const char *text, size_t n) {
    hone_workload *w = NULL, *again = NULL;
    hone_err err = {0};
    if (hone_workload_parse(text, n, "fuzz", NOWHERE, &w, &err)) {
        if (!*err.text) abort();
        return;
    }
    check_invariants(w);
    check_escape(w, w->build);
    if (hone_workload_parse(text, n, "fuzz", NOWHERE, &again, &err) || strcmp(w->hash, again->hash) != 0) abort();
    hone_workload_free(w);
    hone_workload_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = 0;
    if (!strncmp(text, "draft:", 6))
        check_draft(text + 6);
    else if (!strncmp(text, "code:", 5))
        check_code(text + 5);
    else
        check_file(text, size);
    free(text);
    return 0;
}
