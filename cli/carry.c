/* carry.c — `hone validate --on`: every controls file on every workload. */
#include "carry.h"
#include "prove.h"

#include <hone/check.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct names {
    char *text;
    const char **name; /* pieces of text */
    size_t n;
} names;

static names split(const char *list) {
    names s = {.text = cli_strdup(list)};
    s.name = cli_split_options(s.text);
    while (s.name[s.n]) s.n++;
    return s;
}

static void free_names(names *s) {
    free(s->name);
    free(s->text);
}

/* One controls file on one workload. */
typedef struct cell {
    hone_proofs proofs;
    char *dropped; /* genes that the workload's space does not have, one per line; "" when it has all */
    bool alien;    /* none of its compilers is of the file's family, so nothing can be tried */
} cell;

typedef struct matrix {
    cli *c;
    names file, workload;
    hone_controls **controls;
    hone_workload **w;
    cell *cell; /* files * workloads */
} matrix;

static const hone_proof *proof_at(const matrix *m, size_t i, size_t k) {
    const hone_proofs *p = &m->cell[i * m->workload.n + k].proofs;
    return p->n ? &p->proof[0] : NULL;
}

/* --- filling ------------------------------------------------------------------------------------------------------ */

static hone_rc load(matrix *m, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < m->file.n; i++) rc = hone_controls_read(m->file.name[i], &m->controls[i], err);
    for (size_t k = 0; !rc && k < m->workload.n; k++) rc = hone_workload_load(m->workload.name[k], &m->w[k], err);
    return rc;
}

static hone_rc fill_cell(matrix *m, size_t i, size_t k, const hone_prove_options *o, hone_err *err) {
    cell *x = &m->cell[i * m->workload.n + k];
    char *point;
    hone_rc rc = hone_controls_nearest(m->controls[i], m->w[k], o, &point, &x->dropped, err);
    if (rc) return rc;
    x->alien = strncmp(x->dropped, "compiler =", 10) == 0;
    const char *one = point;
    if (!x->alien) rc = hone_prove_validate(m->w[k], &one, 1, 0, o, &x->proofs, err);
    hone_free(point);
    return rc;
}

/* --- printing ----------------------------------------------------------------------------------------------------- */

static void put_matrix(const matrix *m) {
    static const char *const head[] = {"controls", "workload", "gain", "interval", "pairs", "left out", "verdict"};
    cli_table *t = cli_table_new("xxrlrrl");
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) cli_table_head(t, head[i]);
    for (size_t i = 0; i < m->file.n; i++)
        for (size_t k = 0; k < m->workload.n; k++) {
            const cell *x = &m->cell[i * m->workload.n + k];
            const hone_proof *p = proof_at(m, i, k);
            bool known = p && p->n_objectives && isfinite(p->overall[0].gain.mid);
            hone_interval g = known ? p->overall[0].gain : (hone_interval){NAN, NAN, NAN};
            size_t n_lost = *x->dropped != 0;
            for (const char *s = x->dropped; *s; s++) n_lost += *s == '\n';
            cli_table_cell(t, "%s", m->file.name[i]);
            cli_table_cell(t, "%s", m->workload.name[k]);
            cli_table_cell(t, "%s", known ? cli_text_ratio(m->c, g.mid, a) : "-");
            if (known)
                cli_table_cell(t, "%s to %s", cli_text_ratio(m->c, g.lo, lo), cli_text_ratio(m->c, g.hi, hi));
            else
                cli_table_cell(t, "-");
            cli_table_cell(t, "%zu", p ? p->n_pairs : 0);
            cli_table_cell(t, "%zu", n_lost);
            if (p)
                cli_verdict_cell(t, p);
            else
                cli_table_cell(t, "other compiler");
            cli_table_ink(t, p && p->kept ? CLI_GREEN : CLI_PLAIN);
        }
    cli_table_print(m->c, t, stdout, cli_width(stdout));
}

/* The basis of each verdict, and the genes that were dropped. */
static void put_notes(const matrix *m) {
    for (size_t i = 0; i < m->file.n; i++)
        for (size_t k = 0; k < m->workload.n; k++) {
            const cell *x = &m->cell[i * m->workload.n + k];
            const hone_proof *p = proof_at(m, i, k);
            printf("\n%s on %s: %s\n", m->file.name[i], m->workload.name[k],
                   p ? p->verdict : "not tried: no compiler of its family is offered");
            for (char *line = x->dropped; *line;) {
                size_t n = strcspn(line, "\n");
                printf("  left out: %.*s\n", (int)n, line);
                line += n + (line[n] == '\n');
            }
        }
}

static void put_json(const matrix *m) {
    cli_json j = cli_json_begin(m->c, false);
    cli_json_array(&j);
    for (size_t i = 0; i < m->file.n; i++)
        for (size_t k = 0; k < m->workload.n; k++) {
            const cell *x = &m->cell[i * m->workload.n + k];
            const hone_proof *p = proof_at(m, i, k);
            char *text = NULL;
            if (p && hone_proof_to_json(p, false, &text, NULL)) text = NULL;
            cli_json_object(&j);
            cli_json_ktext(&j, "controls", m->file.name[i]);
            cli_json_ktext(&j, "workload", m->workload.name[k]);
            cli_json_kbool(&j, "kept", p && p->kept);
            cli_json_ktext(&j, "left_out", x->dropped);
            cli_json_key(&j, "proof");
            cli_json_raw(&j, text);
            cli_json_close(&j);
            hone_free(text);
        }
    cli_json_end(&j);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static void close_matrix(matrix *m) {
    for (size_t i = 0; i < m->file.n; i++) hone_controls_free(m->controls[i]);
    for (size_t k = 0; k < m->workload.n; k++) hone_workload_free(m->w[k]);
    for (size_t i = 0; i < m->file.n * m->workload.n; i++) {
        hone_proofs_free(&m->cell[i].proofs);
        hone_free(m->cell[i].dropped);
    }
    free(m->controls);
    free(m->w);
    free(m->cell);
    free_names(&m->file);
    free_names(&m->workload);
}

hone_rc cli_carry(cli *c, const char *files, const char *workloads, hone_prove_options options, cli_live *live,
                  hone_err *err) {
    matrix m = {.c = c, .file = split(files), .workload = split(workloads)};
    m.controls = cli_alloc(m.file.n + 1, sizeof(hone_controls *));
    m.w = cli_alloc(m.workload.n + 1, sizeof(hone_workload *));
    m.cell = cli_alloc(m.file.n * m.workload.n + 1, sizeof *m.cell);
    options.store_dir = NULL;
    bool all = true;
    hone_rc rc = load(&m, err);
    for (size_t i = 0; !rc && i < m.file.n; i++)
        for (size_t k = 0; !rc && k < m.workload.n; k++) {
            rc = fill_cell(&m, i, k, &options, err);
            const hone_proof *p = rc ? NULL : proof_at(&m, i, k);
            all = all && p && p->kept;
        }
    cli_live_end(live);
    if (!rc && c->json) put_json(&m);
    if (!rc && !c->json) put_matrix(&m), put_notes(&m);
    if (!rc && !all) c->exit_code = hone_rc_exit(HONE_E_REJECTED);
    close_matrix(&m);
    return rc;
}
