/* text_peer.c — engines of language models in a Python process of their own (text_peer.py, carried here). */
#include "base/err.h"
#include "base/locale.h"
#include "base/options.h"
#include "base/str.h"
#include "peer/helper.h"

#include <hone/text_peer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__asm__(".section .rodata\n"
        ".hidden hn_text_peer_program\n"
        ".globl hn_text_peer_program\n"
        "hn_text_peer_program:\n"
        ".incbin \"src/peer/text_peer.py\"\n"
        ".byte 0\n"
        ".text\n");
extern const char hn_text_peer_program[];

struct hone_text_peer {
    hn_helper helper;
    char *name;
    uint64_t resident_b;
};

static const hone_text_peer_engine engines[] = {
    {"llama.cpp", "llama-cpp-python"},
    {"ik_llama.cpp", "ik-llama-cpp-python"},
    {"openvino-genai", "openvino-genai"},
};
enum { N_ENGINES = sizeof engines / sizeof *engines };

bool hone_text_peer_engine_at(size_t i, hone_text_peer_engine *out) {
    if (i >= N_ENGINES) return false;
    *out = engines[i];
    return true;
}

/* Is it a Python, by its name? Else it is llama-bench, or another name of it. */
static bool is_python(const char *program) {
    const char *slash = strrchr(program, '/');
    return hn_starts_with(slash ? slash + 1 : program, "python");
}

static bool start(hone_text_peer *p, const char *python, const char *kind, const char *model,
                  const hone_text_peer_options *o, hone_err *why) {
    char threads[16], context[24];
    const char *program = o->program && !is_python(o->program) ? o->program : "", *version;
    const char *arg[] = {kind, model, threads, context, program, NULL};
    hn_str name = {0};
    snprintf(threads, sizeof threads, "%u", o->n_threads);
    snprintf(context, sizeof context, "%zu", o->context ? o->context : 2048);
    if (hn_helper_start(&p->helper, python, hn_text_peer_program, arg) &&
        (version = hn_helper_answer(&p->helper, why))) {
        hn_str_addf(&name, "%s%s%s", p->helper.what, *version ? " " : "", version);
        p->name = hn_str_take(&name);
        return true;
    }
    hn_helper_stop(&p->helper);
    return false;
}

/* The words of the engine alone, out of the message of a helper. */
static const char *missing_text(const hone_err *why) {
    const char *colon = strstr(why->text, ": ");
    return colon ? colon + 2 : "there is no Python";
}

/* llama-bench where there is one, or is named; else the first Python that has the package. */
static hone_rc find(hone_text_peer *p, const hone_text_peer_engine *e, const char *model,
                    const hone_text_peer_options *o, hone_err *err) {
    hone_err why = {0};
    const char *python, *given = o->program && is_python(o->program) ? o->program : NULL;
    p->helper.what = e->name;
    if (e == engines && !given) {
        python = hn_helper_python(NULL, 0);
        if (python && start(p, python, "llama-bench", model, o, &why)) return HONE_OK;
        if (o->program) return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' is no llama-bench: %s", o->program, why.text);
    }
    for (size_t i = 0; (python = hn_helper_python(given, i)); i++) {
        if (start(p, python, e->name, model, o, &why)) return HONE_OK;
        if (why.rc == HONE_E_TOOL) return hn_fail(err, why.rc, "%s", why.text); /* it is there, but refuses the model */
    }
    return hn_fail(
        err, HONE_E_UNSUPPORTED,
        "%s cannot be run: %s lacks its package '%s' (%.200s); install it (pip install %s) and name that Python "
        "by --peer or HONE_PYTHON%s",
        e->name, given ? given : "Python", e->package, missing_text(&why), e->package,
        e == engines ? ", or put llama-bench on PATH" : "");
}

hone_rc hone_text_peer_open(const char *model, const hone_text_peer_options *options, hone_text_peer **out,
                            hone_err *err) {
    hone_text_peer_options o = hone_text_peer_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "text_peer", err);
    if (rc) return rc;
    size_t i = 0;
    while (o.engine && i < N_ENGINES && strcmp(engines[i].name, o.engine) != 0) i++;
    if (i == N_ENGINES)
        return hn_fail(err, HONE_E_USAGE, "there is no peer '%s'; give llama.cpp, ik_llama.cpp or openvino-genai",
                       o.engine);
    hone_text_peer *p = calloc(1, sizeof *p);
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory starting %s", engines[i].name);
    rc = find(p, &engines[i], model, &o, err);
    if (rc) {
        hone_text_peer_close(p);
        return rc;
    }
    *out = p;
    return HONE_OK;
}

const char *hone_text_peer_name(const hone_text_peer *p) { return p->name ? p->name : p->helper.what; }
uint64_t hone_text_peer_resident(const hone_text_peer *p) { return p->resident_b; }

hone_rc hone_text_peer_round(hone_text_peer *p, size_t prompt_tokens, size_t tokens, double *prompt_s,
                             double *generate_s, hone_err *err) {
    char line[64], *end = NULL, *end2 = NULL;
    hone_err why = {0};
    snprintf(line, sizeof line, "%zu %zu\n", prompt_tokens, tokens);
    const char *text = hn_helper_ask(&p->helper, line, &why);
    if (!text) return hn_fail(err, why.rc, "%s", why.text);
    double a = hn_strtod(text, &end), b = hn_strtod(end, &end2);
    if (end == text || end2 == end || !(a > 0) || !(b > 0))
        return hn_fail(err, HONE_E_TOOL, "%s gives no times: '%.200s'", p->helper.what, text);
    *prompt_s = a;
    *generate_s = b;
    p->resident_b = strtoull(end2, NULL, 10);
    return HONE_OK;
}

void hone_text_peer_close(hone_text_peer *p) {
    if (!p) return;
    hn_helper_stop(&p->helper);
    free(p->name);
    free(p);
}
