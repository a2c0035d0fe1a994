/* cmd_pack.c — `hone pack`: controls files gathered in a folder, and tried on a workload one by one. */
#include "pack.h"
#include "prove.h"
#include "session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- build ---------------------------------------------------------------------------------------------------------
 */

static void build_json(cli *c, const hone_pack *p) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "dir", p->dir);
    cli_json_key(&j, "controls");
    cli_json_array(&j);
    for (size_t i = 0; i < p->n; i++) {
        const hone_pack_entry *e = &p->entry[i];
        cli_json_object(&j);
        cli_json_ktext(&j, "file", e->file);
        cli_json_ktext(&j, "workload", e->workload);
        cli_json_ktext(&j, "compiler", e->compiler);
        cli_json_ktext(&j, "version", e->version);
        cli_json_ktext(&j, "cpu", e->cpu);
        cli_json_ktext(&j, "objective", e->objective);
        cli_json_knumber(&j, "gain", e->gain.mid);
        cli_json_knumber(&j, "gain_lo", e->gain.lo);
        cli_json_knumber(&j, "gain_hi", e->gain.hi);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void build_text(const cli *c, const hone_pack *p) {
    static const char *const head[] = {"file", "workload", "compiler", "objective", "gain", "cpu"};
    cli_table *t = cli_table_new("lllxrx");
    char text[CLI_TEXT_N];
    for (size_t i = 0; i < 6; i++) cli_table_head(t, head[i]);
    for (size_t i = 0; i < p->n; i++) {
        const hone_pack_entry *e = &p->entry[i];
        cli_table_cell(t, "%s", e->file);
        cli_table_cell(t, "%s", e->workload);
        cli_table_cell(t, "%s", e->compiler);
        cli_table_cell(t, "%s", e->objective);
        cli_table_cell(t, "%s", cli_text_ratio(c, e->gain.mid, text));
        cli_table_cell(t, "%s", e->cpu);
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

static hone_rc build(cli *c, hone_err *err) {
    hone_pack p;
    hone_rc rc = hone_pack_build(c->arg[1], c->arg + 2, c->n_args - 2, &p, err);
    if (rc) return rc;
    if (c->json)
        build_json(c, &p);
    else
        build_text(c, &p);
    hone_pack_free(&p);
    return HONE_OK;
}

/* --- a pack in a workload's space ----------------------------------------------------------------------------------
 */

static const char *why_not(const hone_pack *p, const hone_pack_fit *f, char **text) {
    if (f->same_as != SIZE_MAX) return *text = cli_format("the same as %s", p->entry[f->same_as].file);
    for (const char *line = f->dropped; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (!strncmp(line, "compiler =", 10) || !strncmp(line, "constraint =", 12))
            return *text = cli_format("%.*s", (int)strcspn(line, "\n"), line);
    return *text = cli_strdup("");
}

static size_t count_lines(const char *text) {
    size_t n = *text != 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

hone_rc cli_pack_open(const cli *c, const char *dir, const hone_workload *w, cli_pack *out, hone_err *err) {
    cli_pack k = {0};
    hone_prove_options o = hone_prove_defaults();
    hone_rc rc = hone_pack_read(dir, &k.pack, err);
    if (!rc) rc = hone_pack_order(&k.pack, w, err);
    if (!rc) rc = hone_pack_map(&k.pack, w, &o, &k.fits, err);
    if (rc) {
        cli_pack_close(&k);
        return rc;
    }
    k.point = cli_alloc(k.fits.n + 1, sizeof *k.point);
    for (size_t i = 0, n = 0; i < k.fits.n; i++) {
        char *text;
        if (k.fits.fit[i].point) {
            k.point[n++] = k.fits.fit[i].point;
            continue;
        }
        fprintf(stderr, "%sskipped:%s ", cli_paint(c->color_err, CLI_YELLOW), cli_paint(c->color_err, CLI_PLAIN));
        cli_put(c, stderr, k.pack.entry[i].file, 0);
        fputs(": ", stderr);
        cli_put(c, stderr, why_not(&k.pack, &k.fits.fit[i], &text), 0);
        fputc('\n', stderr);
        free(text);
    }
    *out = k;
    return HONE_OK;
}

void cli_pack_close(cli_pack *k) {
    hone_pack_free(&k->pack);
    hone_pack_fits_free(&k->fits);
    free(k->point);
    *k = (cli_pack){0};
}

/* --- try -----------------------------------------------------------------------------------------------------------
 */

static const char *outcome(const hone_proof *p) {
    static const char *const word[] = {[HONE_EVEN] = "even", [HONE_GAINS] = "gains", [HONE_LOSES] = "loses"};
    if (p->kept) return "gains";
    bool judged = p->n_objectives && isfinite(p->overall[0].gain.mid);
    bool broken = p->why == HONE_REJECT_FAILS || p->why == HONE_REJECT_PARITY || p->why == HONE_REJECT_LIMIT ||
                  p->why == HONE_REJECT_SAME;
    return judged && !broken ? word[p->overall[0].finding] : hone_proof_reject_name(p->why);
}

static void try_text(const cli *c, const cli_pack *k, const hone_proofs *proofs) {
    static const char *const head[] = {"controls", "gain there", "gain here", "interval", "left out", "outcome"};
    cli_table *t = cli_table_new("xrrlrl");
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    for (size_t i = 0; i < 6; i++) cli_table_head(t, head[i]);
    for (size_t i = 0, n = 0; i < k->fits.n; i++) {
        const hone_pack_fit *f = &k->fits.fit[i];
        const hone_proof *p = f->point && n < proofs->n ? &proofs->proof[n++] : NULL;
        bool known = p && p->n_objectives && isfinite(p->overall[0].gain.mid);
        hone_interval g = known ? p->overall[0].gain : (hone_interval){NAN, NAN, NAN};
        cli_table_cell(t, "%s", k->pack.entry[i].file);
        cli_table_cell(t, "%s", cli_text_ratio(c, k->pack.entry[i].gain.mid, a));
        cli_table_cell(t, "%s", cli_text_ratio(c, g.mid, a));
        if (known)
            cli_table_cell(t, "%s to %s", cli_text_ratio(c, g.lo, lo), cli_text_ratio(c, g.hi, hi));
        else
            cli_table_cell(t, "-");
        cli_table_cell(t, "%zu", count_lines(f->dropped));
        cli_table_cell(t, "%s", p ? outcome(p) : "skipped");
        cli_table_ink(t, p && p->kept ? CLI_GREEN : CLI_PLAIN);
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

/* What was tried without some of its controls. */
static void put_notes(const cli *c, const cli_pack *k) {
    for (size_t i = 0; i < k->fits.n; i++)
        for (const char *line = k->fits.fit[i].dropped; k->fits.fit[i].point && *line;) {
            size_t n = strcspn(line, "\n");
            char *text = cli_format("%s: left out: %.*s", k->pack.entry[i].file, (int)n, line);
            cli_put(c, stdout, text, 0);
            putchar('\n');
            free(text);
            line += n + (line[n] == '\n');
        }
}

static void try_json(cli *c, const cli_pack *k, const hone_proofs *proofs) {
    cli_json j = cli_json_begin(c, false);
    cli_json_array(&j);
    for (size_t i = 0, n = 0; i < k->fits.n; i++) {
        const hone_pack_fit *f = &k->fits.fit[i];
        const hone_proof *p = f->point && n < proofs->n ? &proofs->proof[n++] : NULL;
        bool known = p && p->n_objectives;
        char *text;
        cli_json_object(&j);
        cli_json_ktext(&j, "file", k->pack.entry[i].file);
        cli_json_ktext(&j, "outcome", p ? outcome(p) : "skipped");
        cli_json_ktext(&j, "why", f->point ? NULL : why_not(&k->pack, f, &text));
        if (!f->point) free(text);
        cli_json_knumber(&j, "gain_there", k->pack.entry[i].gain.mid);
        cli_json_knumber(&j, "gain", known ? p->overall[0].gain.mid : NAN);
        cli_json_knumber(&j, "gain_lo", known ? p->overall[0].gain.lo : NAN);
        cli_json_knumber(&j, "gain_hi", known ? p->overall[0].gain.hi : NAN);
        cli_json_ktext(&j, "left_out", f->dropped);
        cli_json_kraw(&j, "point", f->point);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

/* Few pairs over few builds show what is worth trying in a search; a proof takes more. */
static hone_prove_options read_options(const cli *c, const char *store, cli_live *live, cli_signals on) {
    hone_prove_options o = cli_prove_options(c, store, live, on);
    if (!o.pairs_least) o.pairs_least = 12;
    o.pairs_most = 2 * o.pairs_least;
    o.variants = 3;
    return o;
}

static hone_rc try_points(cli *c, const hone_workload *w, const cli_pack *k, const char *store, hone_err *err) {
    cli_live live;
    hone_proofs proofs = {0};
    cli_signals on = cli_catch_signals(false);
    hone_prove_options o = read_options(c, store, &live, on);
    cli_live_begin(&live, c, on.resized);
    hone_rc rc = k->fits.n_points ? hone_prove_validate(w, k->point, k->fits.n_points, 0, &o, &proofs, err) : HONE_OK;
    cli_live_end(&live);
    if (rc) return rc;
    if (c->json)
        try_json(c, k, &proofs);
    else
        try_text(c, k, &proofs), put_notes(c, k);
    hone_proofs_free(&proofs);
    return HONE_OK;
}

static hone_rc try_all(cli *c, hone_err *err) {
    const char *path = c->n_args > 2 ? c->arg[2] : "hone.yaml";
    if (c->n_args > 3)
        return cli_fail(err, HONE_E_USAGE,
                        "'%s' is one word too many; `hone pack try` takes a folder and a workload file", c->arg[3]);
    hone_workload *w;
    hone_rc rc = cli_workload_load(path, &w, err);
    if (rc) return rc;
    cli_pack k;
    char *store = cli_store_dir(c, path);
    rc = cli_pack_open(c, c->arg[1], w, &k, err);
    if (!rc) {
        rc = try_points(c, w, &k, store, err);
        cli_pack_close(&k);
    }
    free(store);
    hone_workload_free(w);
    return rc;
}

static hone_rc run_pack(cli *c, hone_err *err) {
    static const char *const actions[] = {"build", "try"};
    if (!strcmp(c->arg[0], "build")) return build(c, err);
    if (!strcmp(c->arg[0], "try")) return try_all(c, err);
    const char *near = cli_nearest(c->arg[0], actions, 2);
    return cli_fail(err, HONE_E_USAGE, "'hone pack %s': the action is build or try%s%s%s", c->arg[0],
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static const cli_option options[] = {
    {"pairs", 0, CLI_COUNT, "N", 10, 1e6, "try: least pairs of runs of each (default 12; twice as many at most)"},
    {"time", 't', CLI_SECONDS, "TIME", 0, 0, "try: time at most: 90s, 10m"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "try: seed of layouts and orders (default 0)"},
    {"jobs", 'j', CLI_COUNT, "N", 1, 1024, "try: builds side by side (default: one per core)"},
    {"cpu", 0, CLI_COUNT, "N", 0, 4095, "try: the core to measure on (default: the last usable one)"},
    {"store", 0, CLI_TEXT, "DIR", 0, 0, "try: the folder of the record (default .hone beside the workload file)"},
    {"quiet", 'q', CLI_FLAG, NULL, 0, 0, "no progress, only the result"},
    {0},
};

const cli_command cli_cmd_pack = {
    "pack",
    "Keep",
    "build|try DIR [FILE]...",
    "gather controls files, and try them on a workload",
    "`build DIR FILE...` copies controls files with their response files into a folder and writes its index; without "
    "files it indexes what is there. `try DIR [WORKLOAD]` (default hone.yaml) measures the controls of each file on a "
    "workload, against its baseline, in a few interleaved pairs: controls that helped another kernel may help here "
    "too. "
    "Controls that the workload's compiler or space lacks are left out; a file is skipped, with the reason, when its "
    "compiler is not offered.\n\n"
    "`hone tune --pack DIR` tries them first, then searches from the best. What `try` measures is no proof: `hone "
    "validate` is.",
    options,
    "hone pack build kernels softmax.hone gemm.hone\tmake a pack, or add to it\n"
    "hone pack try kernels\tare their controls a gain here?\n"
    "hone tune --pack kernels\tstart the search from them\n",
    2,
    1000,
    run_pack,
};
