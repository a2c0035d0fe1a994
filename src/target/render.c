/* target/render.c — a point as flags: level first, then genes in the space's order, then the contract, then genes
 * tagged numeric, so that the contract cannot be undone by accident but can be refined. */
#include "base/err.h"
#include "base/str.h"
#include "target/target_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct renderer {
    const hone_target *t;
    const hone_space *space;
    const double *point;
    const char *prefix;
    hn_flags *flags;
    bool pgo;
} renderer;

/* The parameter's name without this target's prefix; NULL when it is not this target's. */
static const char *own_name(const renderer *r, const char *name) {
    if (!r->prefix) return *name == '-' || !strcmp(name, "lto") || !strcmp(name, "pgo") ? name : NULL;
    size_t n = strlen(r->prefix);
    return !strncmp(name, r->prefix, n) && name[n] == '.' ? name + n + 1 : NULL;
}

static void value_text(const hone_param *p, double g, char *buf, size_t n) {
    if (p->kind == HONE_CHOICE || p->kind == HONE_ORDINAL)
        snprintf(buf, n, "%s", g >= 0 && g < (double)p->n_values ? p->values[(size_t)g] : "");
    else if (p->kind == HONE_FLAG)
        snprintf(buf, n, "%s", g != 0 ? "on" : "off");
    else
        snprintf(buf, n, "%.0f", g);
}

static void one_gene(renderer *r, const hone_param *p, const char *name, double g) {
    char value[128];
    value_text(p, g, value, sizeof value);
    if (!strcmp(name, "lto")) {
        if (g != 0) hn_flags_words(r->flags, r->t->lto_flags ? r->t->lto_flags : r->t->family->lto[0]);
    } else if (!strcmp(name, "pgo")) {
        r->pgo = g != 0;
        for (size_t i = 0; r->pgo && r->t->family->pgo_extra[i]; i++)
            hn_flags_add(r->flags, r->t->family->pgo_extra[i]);
    } else {
        r->t->family->spell(r->flags, r->t, name, value);
    }
}

static void genes(renderer *r, bool numeric) {
    for (size_t i = 0; i < hone_space_n_params(r->space); i++) {
        const hone_param *p = hone_space_param(r->space, i);
        const char *name = own_name(r, p->name);
        bool is_numeric = p->tag && !strcmp(p->tag, "numeric");
        if (!name || is_numeric != numeric || p->kind == HONE_PERMUTATION || p->kind == HONE_LITERAL) continue;
        if (!hone_point_active(r->space, r->point, i) || isnan(r->point[p->slot])) continue;
        one_gene(r, p, name, r->point[p->slot]);
    }
}

/* Moves everything into one block that the command owns. */
static hone_rc pack(const hn_flags *f, hone_command *out, hone_err *err) {
    size_t bytes = (f->n + 2) * sizeof(char *);
    for (size_t i = 0; i < f->n; i++) bytes += f->word[i] ? strlen(f->word[i]) + 1 : 1;
    const char **argv = hn_arena_ok(f->a) ? malloc(bytes) : NULL;
    if (!argv) return hn_fail(err, HONE_E_NOMEM, "out of memory writing a command line");
    char *text = (char *)(argv + f->n + 2);
    for (size_t i = 0; i < f->n; i++) {
        argv[i] = text;
        text = stpcpy(text, f->word[i]) + 1;
    }
    argv[f->n] = argv[f->n + 1] = NULL;
    *out = (hone_command){.argv = argv, .n_argv = f->n, .env = argv + f->n + 1, .block = argv};
    return HONE_OK;
}

void hn_target_words(const hone_target *t, const hone_space *space, const char *prefix, const double *point,
                     hn_flags *out) {
    renderer r = {.t = t, .space = space, .point = point, .prefix = prefix, .flags = out};
    genes(&r, false);
}

hone_rc hone_target_render(const hone_target *t, const hone_space *space, const char *prefix, const double *point,
                           hone_fp fp, hone_command *out, hone_err *err) {
    if ((unsigned)fp >= HONE_N_FP)
        return hn_fail(err, HONE_E_INPUT, "there is no floating-point contract number %d", (int)fp);
    hn_arena scratch = {0};
    hn_flags flags = {.a = &scratch};
    renderer r = {.t = t, .space = space, .point = point, .prefix = prefix, .flags = &flags};
    genes(&r, false);
    while (!t->family->contract[fp]) fp--; /* the loosest one that this compiler offers; every compiler offers strict */
    for (size_t i = 0; t->family->contract[fp][i]; i++) hn_flags_add(&flags, t->family->contract[fp][i]);
    genes(&r, true);
    hone_rc rc = pack(&flags, out, err);
    hn_arena_free(&scratch);
    if (rc) return rc;
    out->pgo = r.pgo;
    out->rsp_lines = t->family->rsp_lines;
    out->pgo_generate = t->family->pgo_generate;
    out->pgo_use = t->family->pgo_use;
    return HONE_OK;
}

void hone_command_free(hone_command *command) {
    if (!command) return;
    free(command->block);
    *command = (hone_command){0};
}

hone_rc hone_command_rsp(const hone_command *command, char **text, hone_err *err) {
    hn_str s = {0};
    for (size_t i = 0; i < command->n_argv; i++) {
        if (command->rsp_lines)
            hn_str_add(&s, command->argv[i]);
        else
            hn_str_add_rsp(&s, command->argv[i]);
        hn_str_add(&s, "\n");
    }
    char *out = hn_str_take(&s);
    if (!out) return hn_fail(err, HONE_E_NOMEM, "out of memory writing a response file");
    *text = out;
    return HONE_OK;
}
