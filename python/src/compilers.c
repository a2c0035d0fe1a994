/* python/src/compilers.c — tuning and proving of workload files: tune, validate, minimize, check, report.
 *
 * Each is one call of the C API, or the same calls as the command of that name, run as a long call: progress by a
 * callback; Ctrl-C ends it, and finished work stays recorded.
 */
#include "long_call.h"
#include "options.h"

#include <hone/check.h>
#include <hone/reduce.h>
#include <hone/report.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const hn_py_option tune_options[] = {
#define HN_TUNE_OPTION(kind, name, field, standard, doc)                                                               \
    {#name, standard, doc, HN_PY_##kind, offsetof(hone_tune_options, field)},
#include "tune_options.def"
#undef HN_TUNE_OPTION
};
static const hn_py_option prove_options[] = {
#define HN_PROVE_OPTION(kind, name, field, standard, doc)                                                              \
    {#name, standard, doc, HN_PY_##kind, offsetof(hone_prove_options, field)},
#include "tune_options.def"
#undef HN_PROVE_OPTION
};
enum { N_TUNE = sizeof tune_options / sizeof *tune_options, N_PROVE = sizeof prove_options / sizeof *prove_options };

static PyObject *interval(hone_interval i) { return Py_BuildValue("(ddd)", i.lo, i.mid, i.hi); }

static hone_rc failed(hone_err *err, hone_rc rc, const char *fmt, ...) HONE_PRINTF(3, 4);
static hone_rc failed(hone_err *err, hone_rc rc, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return err->rc = rc;
}

/* A tuple of str as a NULL-terminated array; borrowed texts; NULL with an exception. */
static const char **texts(PyObject *tuple) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    const char **list = calloc((size_t)n + 1, sizeof *list);
    if (!list) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (!(list[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i)))) {
            free(list);
            return NULL;
        }
    return list;
}

/* --- tune --------------------------------------------------------------------------------------------------------- */

static PyObject *classes(const size_t n_class[HONE_N_CLASSES]) {
    PyObject *dict = PyDict_New();
    for (int i = 0; i < HONE_N_CLASSES && dict; i++) {
        PyObject *n = PyLong_FromSize_t(n_class[i]);
        if (!n || (n_class[i] && PyDict_SetItemString(dict, hone_outcome_class_name((hone_outcome_class)i), n)))
            Py_CLEAR(dict);
        Py_XDECREF(n);
    }
    return dict;
}

static PyObject *numbers(const double *x, size_t n) {
    PyObject *list = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; i < n && list; i++) {
        PyObject *one = PyFloat_FromDouble(x[i]);
        if (!one)
            Py_CLEAR(list);
        else
            PyTuple_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *trial(const hone_trial *t) {
    if (!t) Py_RETURN_NONE;
    return Py_BuildValue("{s:L,s:s,s:s,s:s,s:N,s:s,s:s,s:d,s:d,s:L,s:O}", "id", (long long)t->id, "phase", t->phase,
                         "point", t->point, "outcome", hone_outcome_class_name(t->outcome.cls), "values",
                         numbers(t->outcome.value, t->n_objectives), "origin", t->origin, "detail", t->detail,
                         "build_s", t->build_s, "run_s", t->run_s, "same_as", (long long)t->same_as, "suspect",
                         t->suspect ? Py_True : Py_False);
}

static PyObject *show_tune_event(const void *event) {
    const hone_tune_event *e = event;
    return Py_BuildValue("{s:s,s:n,s:n,s:d,s:d,s:d,s:N,s:n,s:N,s:z}", "stage", e->base.stage, "done",
                         (Py_ssize_t)e->base.done, "total", (Py_ssize_t)e->base.total, "elapsed_s", e->base.elapsed_s,
                         "eta_s", e->base.left_s, "best_speedup", e->best_speedup, "outcomes", classes(e->n_class),
                         "reused", (Py_ssize_t)e->n_reused, "trial", trial(e->trial), "text", e->base.text);
}

typedef struct tuning {
    const char *path;
    bool canary;
    hone_tune_options o;
    hone_tune_result result;
    hn_py_call call;
} tuning;

static void on_tune_event(void *ctx, const hone_event *event) {
    hn_py_call_event(&((tuning *)ctx)->call, show_tune_event, event);
}

static hone_rc run_canary(const tuning *t, const hone_workload *w, hone_err *err) {
    hone_prove_options o = hone_prove_defaults();
    hone_canary_result r;
    o.store_dir = t->o.store_dir, o.n_jobs = t->o.n_jobs, o.cpu = t->o.cpu, o.stop = t->o.stop;
    hone_rc rc = hone_canary_run(w, &o, &r, err);
    if (rc) return rc;
    if (!r.passed) rc = failed(err, HONE_E_CANARY, "%s (canary=False searches without this check)", r.text);
    hone_canary_free(&r);
    return rc;
}

static hone_rc tune(void *arg, hone_err *err) {
    tuning *t = arg;
    hone_workload *w = NULL;
    hone_rc rc = hone_workload_load(t->path, &w, err);
    if (!rc && t->canary) rc = run_canary(t, w, err);
    if (!rc) rc = hone_tune_run(w, &t->o, &t->result, err);
    hone_workload_free(w);
    return rc;
}

static PyObject *tune_result(const hone_tune_result *r) {
    return Py_BuildValue("{s:L,s:n,s:n,s:N,s:d,s:(dd),s:z,s:z,s:s,s:d,s:d}", "session", (long long)r->session, "trials",
                         (Py_ssize_t)r->n_trials, "reused", (Py_ssize_t)r->n_reused, "outcomes", classes(r->n_class),
                         "speedup", r->speedup, "interval", r->speedup_lo, r->speedup_hi, "best_point", r->best_point,
                         "best_argv", r->best_argv, "reason", r->reason, "elapsed_s", r->elapsed_s, "own_s", r->own_s);
}

/* (path, canary, seeds, engine options, options, callback) */
static PyObject *tune_workload(PyObject *module, PyObject *args) {
    tuning t = {.o = hone_tune_defaults()};
    PyObject *seeds, *engine, *given, *out = NULL;
    int canary;
    if (!PyArg_ParseTuple(args, "spO!O!O!O", &t.path, &canary, &PyTuple_Type, &seeds, &PyTuple_Type, &engine,
                          &PyDict_Type, &given, &t.call.callback))
        return NULL;
    const char **points = texts(seeds), **words = points ? texts(engine) : NULL;
    t.canary = canary;
    t.o.seeds = points, t.o.engine_options = words;
    t.call.run = tune, t.call.arg = &t;
    t.o.progress = (hone_progress){on_tune_event, &t}, t.o.stop = &t.call.stop;
    if (words && !hn_py_options_set(&t.o, tune_options, N_TUNE, given, "hone.tune") &&
        !hn_py_call_long(hn_py_module_state(module), &t.call))
        out = tune_result(&t.result);
    hone_tune_result_free(&t.result);
    free(points), free(words);
    return out;
}

/* --- what proves: a workload, points or those of a record, progress ----------------------------------------------- */

typedef struct proving {
    const char *path, *out; /* workload file; controls file to write, NULL: none */
    const char **point;     /* NULL-terminated; none: the record's */
    size_t n_points, top;   /* top: how many of the record's; 0: as the command */
    bool winner;            /* of the record: the one of the newest kept proof, else the best */
    int64_t session;        /* 0: the newest */
    hone_prove_options o;
    hn_py_call call;
    hone_workload *w;
    char **found;
    hone_proofs proofs;
    hone_reduction reduction;
    bool prove, written;
} proving;

static PyObject *show_prove_event(const void *event) {
    const hone_prove_event *e = event;
    return Py_BuildValue("{s:s,s:n,s:n,s:n,s:n,s:N,s:d,s:z}", "stage", e->base.stage, "done", (Py_ssize_t)e->base.done,
                         "total", (Py_ssize_t)e->base.total, "candidate", (Py_ssize_t)e->candidate, "candidates",
                         (Py_ssize_t)e->n_candidates, "gain", interval(e->gain), "elapsed_s", e->base.elapsed_s, "text",
                         e->base.text);
}

static void on_prove_event(void *ctx, const hone_event *event) { hn_py_call_event(ctx, show_prove_event, event); }

static hone_rc open_store(const hone_workload *w, const char *given, hone_store **out, hone_err *err) {
    char dir[4096];
    snprintf(dir, sizeof dir, "%s/.hone", hone_workload_dir(w));
    return hone_store_open(given ? given : dir, false, out, err);
}

/* The winner that the record names, or the candidates worth proving. */
static hone_rc take_points(proving *p, const hone_report *r, hone_err *err) {
    hone_report_candidate best[HONE_CANDIDATES_MAX];
    size_t n = p->winner ? r->point != NULL : hone_report_candidates(r, p->top, best);
    if (!n)
        return failed(err, HONE_E_NOTFOUND,
                      p->winner
                          ? "session %lld has no trial that worked"
                          : "session %lld has no candidate: nothing that worked differs from the baseline's program",
                      (long long)r->session.id);
    p->found = calloc(n + 1, sizeof *p->found);
    for (size_t i = 0; i < n && p->found; i++) {
        p->found[i] = strdup(p->winner ? r->point : best[i].trial->trial->point);
        if (!p->found[i]) return failed(err, HONE_E_NOMEM, "out of memory");
    }
    if (!p->found) return failed(err, HONE_E_NOMEM, "out of memory");
    p->point = (const char **)p->found, p->n_points = n;
    return HONE_OK;
}

static hone_rc find_points(proving *p, hone_err *err) {
    hone_store *store = NULL;
    hone_report r;
    char hash[33];
    hone_rc rc = open_store(p->w, p->o.store_dir, &store, err);
    if (!rc) rc = hone_report_open(store, p->session, p->w, NULL, &r, err);
    if (!rc) {
        hone_workload_hash(p->w, hash);
        p->session = r.session.id;
        if (strcmp(hash, r.session.workload_hash) != 0)
            rc = failed(err, HONE_E_MISMATCH,
                        "'%s' is not the workload that session %lld was recorded with; give a point", p->path,
                        (long long)r.session.id);
        else
            rc = take_points(p, &r, err);
        hone_report_free(&r);
    }
    hone_store_close(store);
    return rc;
}

static void free_points(proving *p) {
    for (size_t i = 0; p->found && p->found[i]; i++) free(p->found[i]);
    free(p->found);
}

static hone_rc begin(proving *p, hone_err *err) {
    hone_rc rc = hone_workload_load(p->path, &p->w, err);
    return rc || p->n_points ? rc : find_points(p, err);
}

static hone_rc write_controls(proving *p, const hone_reduction *reduction, hone_err *err) {
    const hone_proof *best = hone_proofs_best(&p->proofs);
    const char *slash = p->out ? strrchr(p->out, '/') : NULL;
    hone_controls *made = NULL;
    if (!best || !p->out) return HONE_OK;
    char *dir = slash ? strndup(p->out, slash == p->out ? 1 : (size_t)(slash - p->out)) : strdup(".");
    hone_rc rc = dir ? hone_controls_make(p->w, best, reduction, p->session, dir, &p->o, &made, err)
                     : failed(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hone_controls_write(made, p->out, err);
    p->written = !rc;
    hone_controls_free(made);
    free(dir);
    return rc;
}

static hone_rc validate(void *arg, hone_err *err) {
    proving *p = arg;
    hone_rc rc = begin(p, err);
    if (!rc) rc = hone_prove_validate(p->w, p->point, p->n_points, p->session, &p->o, &p->proofs, err);
    return rc ? rc : write_controls(p, NULL, err);
}

static hone_rc minimize(void *arg, hone_err *err) {
    proving *p = arg;
    hone_rc rc = begin(p, err);
    if (!rc) rc = hone_prove_minimize(p->w, p->point[0], &p->o, &p->reduction, err);
    if (rc || !p->prove || !p->reduction.n_after) return rc;
    p->o.variants = 0; /* a proof's own number */
    rc = hone_prove_validate(p->w, &p->reduction.point, 1, p->session, &p->o, &p->proofs, err);
    return rc ? rc : write_controls(p, &p->reduction, err);
}

static PyObject *proofs_list(const hn_py_state *state, const hone_proofs *all) {
    PyObject *list = PyList_New((Py_ssize_t)all->n);
    for (size_t i = 0; i < all->n && list; i++) {
        char *text = NULL;
        hone_err err;
        PyObject *one = hone_proof_to_json(&all->proof[i], false, &text, &err) ? hn_py_raise(state, &err)
                                                                               : PyUnicode_FromString(text);
        hone_free(text);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *shares(const hone_share *s, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n && list; i++) {
        PyObject *one = Py_BuildValue("(sN)", s[i].name, interval(s[i].gain));
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *validated(const hn_py_state *state, const proving *p) {
    PyObject *proofs = proofs_list(state, &p->proofs);
    return proofs ? Py_BuildValue("{s:L,s:N,s:z}", "session", (long long)p->session, "proofs", proofs, "controls",
                                  p->written ? p->out : NULL)
                  : NULL;
}

static PyObject *minimized(const hn_py_state *state, const proving *p) {
    const hone_reduction *r = &p->reduction;
    PyObject *proofs = proofs_list(state, &p->proofs);
    if (!proofs) return NULL;
    return Py_BuildValue("{s:s,s:s,s:n,s:n,s:n,s:N,s:N,s:N,s:O,s:N,s:z}", "point", r->point, "argv", r->argv, "before",
                         (Py_ssize_t)r->n_before, "after", (Py_ssize_t)r->n_after, "measurements",
                         (Py_ssize_t)r->n_measurements, "gain_before", interval(r->gain_before), "gain_after",
                         interval(r->gain_after), "shares", shares(r->share, r->n_after), "complete",
                         r->complete ? Py_True : Py_False, "proofs", proofs, "controls", p->written ? p->out : NULL);
}

/* (path, points, session, controls file, top or prove, options, callback) */
static PyObject *prove(PyObject *module, PyObject *args, bool one, hone_rc (*run)(void *, hone_err *),
                       PyObject *(*show)(const hn_py_state *, const proving *)) {
    proving p = {.o = hone_prove_defaults(), .winner = one};
    PyObject *points, *given, *out = NULL;
    long long session;
    Py_ssize_t number;
    if (!PyArg_ParseTuple(args, "sO!LznO!O", &p.path, &PyTuple_Type, &points, &session, &p.out, &number, &PyDict_Type,
                          &given, &p.call.callback))
        return NULL;
    if (number < 0 || number > HONE_CANDIDATES_MAX)
        return PyErr_Format(PyExc_ValueError, "'top' is from 1 to %d", HONE_CANDIDATES_MAX);
    const char **list = texts(points);
    if (!list) return NULL;
    p.n_points = (size_t)PyTuple_GET_SIZE(points);
    p.point = list;
    p.session = session;
    p.top = (size_t)number;
    p.prove = number != 0;
    p.call.run = run, p.call.arg = &p;
    p.o.progress = (hone_progress){on_prove_event, &p.call}, p.o.stop = &p.call.stop;
    if (!hn_py_options_set(&p.o, prove_options, N_PROVE, given, one ? "hone.minimize" : "hone.validate") &&
        !hn_py_call_long(hn_py_module_state(module), &p.call))
        out = show(hn_py_module_state(module), &p);
    hone_proofs_free(&p.proofs);
    hone_reduction_free(&p.reduction);
    hone_workload_free(p.w);
    free_points(&p);
    free(list);
    return out;
}

static PyObject *validate_points(PyObject *module, PyObject *args) {
    return prove(module, args, false, validate, validated);
}

static PyObject *minimize_point(PyObject *module, PyObject *args) {
    return prove(module, args, true, minimize, minimized);
}

/* --- check -------------------------------------------------------------------------------------------------------- */

typedef struct checking {
    const char *path;
    hone_check_options o;
    hone_prove_options prove;
    hone_check_result result;
    hn_py_call call;
} checking;

static hone_rc check(void *arg, hone_err *err) {
    checking *c = arg;
    return hone_check_controls(c->path, &c->o, &c->result, err);
}

static PyObject *checked(const hone_check_result *r) {
    PyObject *list = PyList_New((Py_ssize_t)r->n_differences);
    for (size_t i = 0; i < r->n_differences && list; i++) {
        const hone_difference *d = &r->difference[i];
        PyObject *one =
            Py_BuildValue("{s:s,s:s,s:z,s:z}", "part", d->part, "what", d->what, "then", d->then, "now", d->now);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    if (!list) return NULL;
    return Py_BuildValue("{s:s,s:s,s:N,s:N}", "status", hone_check_name(r->status), "text", r->text, "differences",
                         list, "gain", interval(r->gain));
}

/* (path, workload, public key, ignore, measure, options, callback) */
static PyObject *check_controls(PyObject *module, PyObject *args) {
    checking c = {.o = hone_check_defaults(), .prove = hone_prove_defaults()};
    PyObject *given, *out = NULL;
    int measure;
    if (!PyArg_ParseTuple(args, "szzzpO!O", &c.path, &c.o.workload, &c.o.public_key, &c.o.ignore, &measure,
                          &PyDict_Type, &given, &c.call.callback))
        return NULL;
    c.o.measure = measure;
    c.call.run = check, c.call.arg = &c;
    c.prove.progress = (hone_progress){on_prove_event, &c.call}, c.prove.stop = &c.call.stop;
    c.o.prove = &c.prove;
    if (!hn_py_options_set(&c.prove, prove_options, N_PROVE, given, "hone.check") &&
        !hn_py_call_long(hn_py_module_state(module), &c.call))
        out = checked(&c.result);
    hone_check_free(&c.result);
    return out;
}

/* --- report ------------------------------------------------------------------------------------------------------- */

typedef struct reporting {
    const char *path, *store, *controls, *out;
    long long session;
    char *json, *html;
    size_t n;
} reporting;

static hone_rc write_report(const hone_report *r, reporting *p, hone_err *err) {
    hone_rc rc = hone_report_json(r, &p->json, err);
    if (!rc) rc = p->out ? hone_report_write(r, p->out, NULL, err) : hone_report_html(r, &p->html, &p->n, err);
    return rc;
}

static hone_rc report(void *arg, hone_err *err) {
    reporting *p = arg;
    hone_workload *w = NULL;
    hone_controls *c = NULL;
    hone_store *store = NULL;
    hone_report r;
    hone_rc rc = hone_workload_load(p->path, &w, err);
    if (!rc && p->controls) rc = hone_controls_read(p->controls, &c, err);
    if (!rc) rc = open_store(w, p->store, &store, err);
    if (!rc) rc = hone_report_open(store, p->session, w, c, &r, err);
    if (!rc) {
        rc = write_report(&r, p, err);
        hone_report_free(&r);
    }
    hone_store_close(store);
    hone_controls_free(c);
    hone_workload_free(w);
    return rc;
}

/* (path, session, store, controls, out): the data as JSON, and the page where it was not written */
static PyObject *report_session(PyObject *module, PyObject *args) {
    reporting p = {0};
    PyObject *out = NULL;
    if (!PyArg_ParseTuple(args, "sLzzz", &p.path, &p.session, &p.store, &p.controls, &p.out)) return NULL;
    hn_py_call call = {.run = report, .arg = &p};
    if (!hn_py_call_long(hn_py_module_state(module), &call)) out = Py_BuildValue("(sz)", p.json, p.html);
    hone_free(p.json), hone_free(p.html);
    return out;
}

/* --- what a workload says ----------------------------------------------------------------------------------------- */

/* (path): its name, folder, hash and objectives */
static PyObject *workload_facts(PyObject *module, PyObject *args) {
    const char *path;
    hone_workload *w = NULL;
    hone_err err;
    char hash[33];
    if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
    if (hone_workload_load(path, &w, &err)) return hn_py_raise(hn_py_module_state(module), &err);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < hone_workload_n_objectives(w); i++) {
        bool up = false;
        const char *text = hone_workload_objective(w, i, &up);
        PyObject *one = Py_BuildValue("(sO)", text, up ? Py_True : Py_False);
        if (!one || PyList_Append(list, one)) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    hone_workload_hash(w, hash);
    PyObject *out = list ? Py_BuildValue("{s:s,s:s,s:s,s:N}", "name", hone_workload_name(w), "dir",
                                         hone_workload_dir(w), "hash", hash, "objectives", list)
                         : NULL;
    hone_workload_free(w);
    return out;
}

/* --- the part ----------------------------------------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"tune", tune_workload, METH_VARARGS, "(path, canary, seeds, engine options, options, callback)"},
    {"validate", validate_points, METH_VARARGS, "(path, points, session, controls file, top, options, callback)"},
    {"minimize", minimize_point, METH_VARARGS, "(path, point, session, controls file, prove, options, callback)"},
    {"check", check_controls, METH_VARARGS, "(path, workload, public key, ignore, measure, options, callback)"},
    {"workload_facts", workload_facts, METH_VARARGS, "(path): name, folder, hash and objectives of a workload"},
    {"report", report_session, METH_VARARGS, "(path, session, store, controls, out): JSON, and HTML where out is None"},
    {0},
};

int hn_py_add_compilers(PyObject *module) {
    if (PyModule_AddFunctions(module, functions)) return -1;
    if (hn_py_options_add(module, "tune_options", tune_options, N_TUNE)) return -1;
    return hn_py_options_add(module, "prove_options", prove_options, N_PROVE);
}
