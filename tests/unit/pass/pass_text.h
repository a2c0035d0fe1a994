/* tests/unit/pass/pass_text.h — a case of a pass: text in, passes, text out. Includes tap.h; for test programs here. */
#ifndef HN_PASS_TEXT_H
#define HN_PASS_TEXT_H

#include "base/str.h"
#include "pass/pass.h"
#include "tap.h"

typedef struct pass_case {
    const char *name;   /* "simplify/add_zero" */
    const char *passes; /* names, blank-separated; a leading '!' makes all of it relaxed */
    const char *in;     /* without the head line "ir 1" */
    const char *out;    /* NULL: as in */
} pass_case;

static inline hone_rc run_named(hn_graph *g, const char *passes, hone_err *err) {
    char buf[200];
    bool relaxed = *passes == '!';
    unsigned have = 0;
    hone_rc rc = HONE_OK;
    snprintf(buf, sizeof buf, "%s", passes + relaxed);
    for (char *rest = NULL, *name = strtok_r(buf, " ", &rest); name && !rc; name = strtok_r(NULL, " ", &rest)) {
        const hn_pass *p = hn_pass_named(name);
        if (!p) return printf("# no pass '%s'\n", name), HONE_E_NOTFOUND;
        rc = hn_run_pass(g, p, (hn_pass_how){.relaxed = relaxed}, &have, NULL, err);
    }
    return rc;
}

static inline void check_pass(const pass_case *c) {
    hn_graph *g = NULL;
    hone_err err = {0};
    hn_str in = {0}, want = {0}, got = {0};
    hn_str_addf(&in, "ir 1\n%s", c->in);
    hn_str_addf(&want, "ir 1\n%s", c->out ? c->out : c->in);
    hone_rc rc = hn_parse(in.text, in.n, NULL, &g, &err);
    if (!rc) rc = run_named(g, c->passes, &err);
    if (!rc) rc = hn_verify(g, &err);
    if (rc) {
        ok(0, "%s", c->name);
        printf("#   %s\n", err.text);
    } else {
        hn_print(g, &got);
        is_text(got.text, want.text, c->name);
    }
    hn_graph_free(g);
    hn_str_free(&in);
    hn_str_free(&want);
    hn_str_free(&got);
}

static inline int check_passes(const pass_case *c, size_t n) {
    for (size_t i = 0; i < n; i++) check_pass(&c[i]);
    return done_testing();
}

#endif
