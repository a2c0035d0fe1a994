/* compile.c — the driver: import, targets and versions, passes, kernels, layout, C, compiler, parity, files.
 *
 * A kernel that parity refuses becomes its reference version and the model is built again; one whose reference version
 * is refused, too, is an error. Everything is made in a folder of its own beside the result and moved at the end.
 */
#include "artifact/artifact.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/options.h"
#include "build/build.h"
#include "compile/driver.h"
#include "compile/split.h"
#include "compile/winner.h"
#include "parity/parity.h"
#include "pass/pass.h"
#include "pass/tolerance.h"
#include "precision/precision.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Constants up to here become an array in --emit=c; larger ones go to a file beside it unless they are embedded. */
enum { ARRAY_B = 1 << 20, ARRAY_MOST_B = 256 << 20 };

/* --- names -----------------------------------------------------------------------------------------------------------
 */

static const char *identifier_of(hn_arena *a, const char *name) {
    char *s = hn_format(a, "%s%s", *name >= '0' && *name <= '9' ? "_" : "", name);
    for (char *p = s; p && *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9'))) *p = '_';
    return s;
}

/* The name of the files, which may have been given with the library's ending. */
static char *without_ending(hn_arena *a, const char *name, hone_emit emit) {
    const char *ending = emit == HONE_EMIT_C ? ".c" : ".so";
    size_t n = strlen(name), k = strlen(ending);
    return hn_strndup(a, name, n > k && !strcmp(name + n - k, ending) ? n - k : n);
}

static hone_rc set_names(hn_library *l, const char *name, hone_err *err) {
    const char *output = l->options->output ? l->options->output : name, *slash = output ? strrchr(output, '/') : NULL;
    if (!output) output = "model";
    if (!l->options->output && slash) output = slash + 1, slash = NULL;
    l->folder = slash ? hn_strndup(&l->arena, output, slash == output ? 1 : (size_t)(slash - output)) : ".";
    const char *last = slash ? slash + 1 : output;
    l->name = l->options->output ? without_ending(&l->arena, last, l->options->emit) : hn_strdup(&l->arena, last);
    if (!l->folder || !l->name) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!*l->name || !strcmp(l->name, ".") || !strcmp(l->name, ".."))
        return hn_fail(err, HONE_E_USAGE, "'%s' is no name for a library; give one such as build/model", output);
    if (strlen(l->name) > 200) return hn_fail(err, HONE_E_USAGE, "'%.40s…' is too long a name", l->name);
    l->ident = identifier_of(&l->arena, l->name);
    l->query =
        !l->ident || l->options->emit != HONE_EMIT_C ? HONE_MODEL_ENTRY : hn_format(&l->arena, "%s_model", l->ident);
    return l->ident && l->query ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static hone_rc make_work(hn_library *l, hone_err *err) {
    hone_rc rc = hn_make_dirs(l->folder, err);
    if (rc) return rc;
    rc = hn_temp_make(l->folder, ".hone-", &l->temp, err);
    l->work = l->temp.path;
    return rc;
}

/* --- stages ----------------------------------------------------------------------------------------------------------
 */

/* All targets share the graph of a version, so the passes use only what every target has. */
static hn_pass_how how_to_pass(const hn_library *l) {
    hn_pass_how how = {.relaxed = l->options->relaxed,
                       .bytes = l->n_target > 0,
                       .layout = l->n_target ? l->target[0]->backend->layout : NULL};
    how.tolerance = hn_tolerance_of(l->options->relaxed, l->options->tolerance);
    for (uint32_t t = 0; t < l->n_target; t++) {
        how.bytes &= l->target[t]->bytes;
        if (l->target[t]->backend->layout) how.tolerance = 0; /* devices have no such kernels */
    }
    return how;
}

/* Weights stay in 16 bits: in pairs, where every target takes these. */
static hn_layout_facts how_to_keep_halves(const hn_library *l, const hn_layout_facts *layout) {
    bool pairs = l->n_target > 0;
    for (uint32_t t = 0; t < l->n_target; t++) pairs &= hn_takes_pairs(l->target[t]);
    hn_layout_facts f = layout ? *layout : pairs ? hn_usual_layout : (hn_layout_facts){0};
    f.halves = true;
    f.pairs = pairs;
    return f;
}

static hone_rc run_passes(hn_library *l, hone_err *err) {
    double start_s = hn_now_s();
    hn_pass_how how = how_to_pass(l);
    hn_layout_facts halves = how_to_keep_halves(l, how.layout);
    if (l->precision.n_halves) how.layout = &halves;
    hone_rc rc = HONE_OK;
    for (uint32_t v = 0; v < l->n_version && !rc; v++) {
        rc = hn_progress(l, "passes", v, l->n_version, err);
        if (!rc) rc = hn_run_passes(l->version[v].g, NULL, how, NULL, NULL, err);
        if (!rc) rc = hn_wrap_kernels(l->version[v].g, err);
        if (!rc) rc = hn_order_states(l->version[v].g, l->states, err);
    }
    l->passes_s = hn_now_s() - start_s;
    return rc;
}

static hone_rc make_models(hn_library *l, hone_err *err) {
    l->n_model = l->n_target * l->n_version;
    l->model = hn_alloc_n(&l->arena, l->n_model, sizeof *l->model);
    if (!l->model) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (uint32_t i = 0; i < l->n_model; i++) {
        hn_model *m = &l->model[i];
        *m = (hn_model){.lib = l, .options = l->options, .number = i};
        m->target = i / l->n_version;
        m->version = i % l->n_version;
        m->g = l->version[m->version].g;
        m->dialect = l->target[m->target];
        m->machine = hn_machine_of(m->dialect, NULL);
    }
    return HONE_OK;
}

static hone_rc lay_weights(hn_library *l, hone_err *err) {
    hone_rc rc = hn_weights_lay(l, err);
    bool c = l->options->emit == HONE_EMIT_C;
    bool array = c && (l->options->embed_weights || l->weights_b <= ARRAY_B);
    if (rc) return rc;
    l->weights_file = l->weights_b && !array && (c || !l->options->embed_weights);
    if (array && l->weights_b > ARRAY_MOST_B)
        return hn_fail(err, HONE_E_USAGE,
                       "%llu MiB of weights do not fit into a C file; leave them in a file of their own",
                       (unsigned long long)(l->weights_b >> 20));
    return HONE_OK;
}

static hone_rc make_sources(hn_library *l, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (uint32_t i = 0; i < l->n_model && !rc; i++) rc = hn_source_make(&l->model[i], err);
    return rc || l->n_model < 2 ? rc : hn_entry_make(l, err);
}

static hone_rc emit(hn_library *l, hone_err *err) {
    double start_s = hn_now_s();
    hone_rc rc = HONE_OK;
    for (uint32_t i = 0; i < l->n_model && !rc; i++) {
        rc = hn_winners_begin(&l->model[i], err);
        l->choose = hn_winner_apply;
        if (!rc) rc = hn_kernels_make(&l->model[i], err);
        hn_winners_end(&l->model[i]);
        if (!rc) rc = hn_split_model(&l->model[i], err);
        if (!rc && l->tamper) l->tamper(&l->model[i]);
        if (!rc) rc = hn_model_lower(&l->model[i], err);
    }
    if (!rc) rc = lay_weights(l, err);
    if (!rc) rc = make_sources(l, err);
    l->emit_s = hn_now_s() - start_s;
    return rc;
}

/* Takes over the parity result of an earlier version whose function this kernel shares. */
static hone_rc follow(hn_model *m, hn_kernel *k, uint32_t *n, hone_err *err) {
    k->parity = k->same->parity;
    bool alike = k->same->reference == k->reference && k->same->refused == k->refused && k->same->direct == k->direct;
    if (alike && k->same->on_host == k->on_host) return HONE_OK;
    k->fallback = k->same->fallback;
    k->refused = k->same->refused;
    k->direct = k->same->direct;
    ++*n;
    if (k->same->on_host && !k->on_host) return hn_kernel_to_host(m, k, k->same->why_host, err);
    return k->same->reference ? hn_kernel_refer(m, k, err) : hn_kernel_plain(m, k, err);
}

/* Replaces what parity refused; *n: how many. */
static hone_rc fall_back(hn_model *m, uint32_t *n, hone_err *err) {
    *n = 0;
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        hn_kernel *k = &m->kernel[i];
        if (k->same) {
            hone_rc rc = follow(m, k, n, err);
            if (rc) return rc;
            continue;
        }
        if (k->parity.end != HN_PARITY_DIFFERS && k->parity.end != HN_PARITY_CRASHED) continue;
        uint32_t source = m->g->node[k->node].source;
        if (k->winner) {
            hone_rc rc = hn_kernel_plain(m, k, err);
            if (rc) return rc;
            k->parity = (hn_parity){0};
            k->refused = true;
            ++*n;
            continue;
        }
        if (!k->reference && hn_is_winograd(k->code.schedule)) { /* rounds too much here: in full, then */
            k->direct = true;
            k->fallback = hn_strdup(&m->arena, k->parity.text);
            hone_rc rc = hn_kernel_plain(m, k, err);
            if (rc) return rc;
            k->parity = (hn_parity){0};
            ++*n;
            continue;
        }
        if (k->reference && hn_kernel_on_device(m, k)) { /* the last way: on the host, with copies */
            hone_rc rc = hn_kernel_to_host(m, k, k->parity.text, err);
            if (rc) return rc;
            k->parity = (hn_parity){0};
            ++*n;
            continue;
        }
        if (k->reference)
            return hn_fail(err, HONE_E_FAILED,
                           "the reference version of kernel '%s' (%s), of %s, fails parity, too: %s; report it",
                           k->name, k->kind, source ? m->g->source[source - 1] : "the model", k->parity.text);
        k->fallback = hn_strdup(&m->arena, k->parity.text);
        hone_rc rc = hn_kernel_refer(m, k, err);
        if (rc) return rc;
        k->parity = (hn_parity){0};
        ++*n;
    }
    for (uint32_t id = 0; *n && id < m->g->n_node; id++)
        if (m->kernel_of[id]) m->facts[id].in_place = m->kernel[m->kernel_of[id] - 1].code.in_place;
    return HONE_OK;
}

static void skip_parity(hn_model *m, const char *why) {
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        m->kernel[i].parity.end = HN_PARITY_SKIPPED;
        snprintf(m->kernel[i].parity.text, sizeof m->kernel[i].parity.text, "%s", why);
    }
}

static hone_rc check_parity(hn_model *m, uint32_t *n_bad, hone_err *err) {
    double start_s = hn_now_s();
    const char *problem = m->options->no_parity ? "not asked for" : hn_target_problem(m->lib, m->dialect);
    *n_bad = 0;
    if (problem) {
        skip_parity(m, problem);
        return HONE_OK;
    }
    char *path = hn_format(&m->arena, "%s/model.so", m->lib->work);
    hone_rc rc = path ? hn_parity_run(m, path, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    m->lib->parity_s += hn_now_s() - start_s;
    return rc ? rc : fall_back(m, n_bad, err);
}

/* A fallback may change what is done in place, so that memory is laid out anew. */
static hone_rc build_and_check(hn_library *l, hone_err *err) {
    uint32_t n_bad;
    if (hn_cache_take(l)) return HONE_OK;
    do {
        hone_rc rc = HONE_OK;
        n_bad = 0;
        if (l->options->emit == HONE_EMIT_SO || !l->options->no_parity) rc = hn_build(l, err);
        for (uint32_t i = 0; i < l->n_model && !rc; i++) {
            uint32_t n = 0;
            rc = check_parity(&l->model[i], &n, err);
            if (!rc && n) rc = hn_model_lower(&l->model[i], err);
            n_bad += n;
        }
        if (!rc && n_bad) rc = make_sources(l, err);
        if (rc) return rc;
    } while (n_bad);
    hn_cache_put(l);
    return HONE_OK;
}

/* --- files -----------------------------------------------------------------------------------------------------------
 */

static hone_rc put_text(hn_library *l, const char *ending, hn_str *text, hone_err *err) {
    char *path = hn_format(&l->arena, "%s/model%s", l->work, ending);
    hone_rc rc = !path || text->failed ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                                       : hn_write_file(path, text->text, text->n, err);
    hn_str_free(text);
    return rc;
}

static hone_rc publish(hn_library *l, const char *ending, hone_err *err) {
    char *from = hn_format(&l->arena, "%s/model%s", l->work, ending);
    char *to = hn_format(&l->arena, "%s/%s%s", l->folder, l->name, ending);
    if (!from || !to) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (rename(from, to)) return hn_fail(err, HONE_E_IO, "cannot write '%s': %s", to, strerror(errno));
    return HONE_OK;
}

static hone_rc write_files(hn_library *l, hone_err *err) {
    hn_str header = {0}, manifest = {0}, source = {0}, precision = {0};
    hn_source_header(&l->model[0], &header);
    hn_manifest(l, &manifest);
    hone_rc rc = put_text(l, ".h", &header, err);
    if (rc)
        hn_str_free(&manifest);
    else
        rc = put_text(l, ".manifest", &manifest, err);
    if (!rc && l->options->emit == HONE_EMIT_C) {
        hn_str_add_n(&source, l->model[0].unit[0].text, l->model[0].unit[0].n);
        rc = put_text(l, ".c", &source, err);
    }
    if (!rc && l->weights_file) rc = hn_weights_write(l, hn_format(&l->arena, "%s/model.weights", l->work), true, err);
    if (!rc && l->options->precision) {
        hn_str_add(&precision, l->options->precision);
        rc = put_text(l, ".precision", &precision, err);
        if (!rc) rc = publish(l, ".precision", err);
    }
    if (!rc && l->weights_file) rc = publish(l, ".weights", err);
    if (!rc) rc = publish(l, ".h", err);
    if (!rc) rc = publish(l, ".manifest", err);
    return rc ? rc : publish(l, l->options->emit == HONE_EMIT_C ? ".c" : ".so", err);
}

/* --- the calls -------------------------------------------------------------------------------------------------------
 */

static void fill_result(const hn_library *l, hone_compile_result *out) {
    hn_str text = {0};
    const hn_model *first = &l->model[0];
    hone_compile_result r = {.n_kernels = first->n_uses,
                             .n_nodes = first->n_nodes,
                             .arena_b = (uint64_t)first->layout.arena_b,
                             .lower_bound_b = (uint64_t)first->layout.lower_bound_b,
                             .weights_b = l->weights_b,
                             .code_b = l->code_b,
                             .time_s = l->time_s,
                             .passes_s = l->passes_s,
                             .emit_s = l->emit_s,
                             .parity_s = l->parity_s,
                             .cached = l->cached,
                             .compiler_s = l->compiler_s};
    for (uint32_t k = 0; k < l->n_model; k++)
        for (uint32_t i = 0; i < l->model[k].n_kernel; i++) {
            if (l->model[k].kernel[i].same) continue;
            r.n_distinct++;
            r.n_fallback += l->model[k].kernel[i].fallback != NULL;
            r.n_winners += l->model[k].kernel[i].winner != NULL;
        }
    hn_summary(l, &text);
    r.text = hn_str_take(&text);
    *out = r;
}

hone_rc hn_compile_kernels(hn_library *l, const hn_graph *g, const char *name, hone_err *err) {
    hone_rc rc = set_names(l, name, err);
    if (!rc) rc = hn_find_targets(l, err);
    if (!rc) rc = hn_make_versions(l, g, err);
    if (!rc) rc = run_passes(l, err);
    if (!rc) rc = make_models(l, err);
    for (uint32_t i = 0; i < l->n_model && !rc; i++) rc = hn_kernels_make(&l->model[i], err);
    for (uint32_t i = 0; i < l->n_model && !rc; i++) rc = hn_split_model(&l->model[i], err);
    return rc;
}

hone_rc hn_compile_library(hn_library *l, const hn_graph *g, const char *name, hone_err *err) {
    hone_rc rc = set_names(l, name, err);
    if (!rc) rc = hn_find_targets(l, err);
    if (!rc) rc = hn_make_versions(l, g, err);
    if (!rc) rc = run_passes(l, err);
    if (!rc) rc = make_models(l, err);
    if (!rc) rc = emit(l, err);
    if (!rc) rc = make_work(l, err);
    if (!rc) rc = build_and_check(l, err);
    if (!rc) rc = write_files(l, err);
    return rc;
}

hone_rc hn_library_narrow(hn_library *l, const hn_graph *g, hn_narrow_plan *plan, hn_graph **narrow, hone_err *err) {
    *plan = (hn_narrow_plan){0}, *narrow = NULL;
    if (!l->options->precision) return HONE_OK;
    hone_rc rc = hn_plan_graph(l->options->precision, g, plan, narrow, err);
    if (rc) return *plan = (hn_narrow_plan){0}, rc;
    l->precision = (hn_library_precision){plan->kind, plan->calibrate, plan->data,          hn_plan_narrow(plan),
                                          plan->n,    plan->signer,    hn_plan_halves(plan)};
    return HONE_OK;
}

hone_rc hone_compile_graph(hone_graph *g, const char *name, const hone_compile_options *options,
                           hone_compile_result *out, hone_err *err) {
    hone_compile_options o = hone_compile_defaults();
    double start_s = hn_now_s();
    hn_library l = {.options = &o};
    hn_narrow_plan plan = {0};
    hn_graph *narrow = NULL;
    hone_rc rc = hn_options_read(&o, sizeof o, options, "compile", err);
    if (!rc) rc = hn_tolerance_check(o.tolerance, err);
    if (!rc) rc = hn_library_narrow(&l, g, &plan, &narrow, err);
    if (!rc) rc = hn_compile_library(&l, narrow ? narrow : g, name, err);
    l.time_s = hn_now_s() - start_s;
    if (!rc && out) fill_result(&l, out);
    hn_library_free(&l);
    hn_plan_free(&plan);
    hone_graph_free(narrow);
    return rc;
}

/* Whether one of the targets ("x86-64-v3,opencl") is a device's: products there have no form for two bytes. */
static bool for_a_device(const char *targets) {
    for (const char *t = targets, *end; t && *t; t = *end ? end + 1 : end) {
        char name[40];
        end = t + strcspn(t, ",");
        snprintf(name, sizeof name, "%.*s", (int)(end - t), t);
        const hn_dialect *d = hn_dialect_named(name);
        if (d && hn_is_on_device(d)) return true;
    }
    return false;
}

hone_rc hone_compile_model(const char *path, const hone_compile_options *options, hone_compile_result *out,
                           hone_err *err) {
    hone_import_options import = hone_import_defaults();
    hone_compile_options o = hone_compile_defaults();
    hone_graph *g;
    double start_s = hn_now_s();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "compile", err);
    import.symbol = o.symbol, import.n_symbol = o.n_symbol, import.cache = o.cache, import.exact = o.exact;
    import.activations = o.activations || o.exact || !for_a_device(o.target) ? o.activations : "int8";
    if (!rc) rc = hone_import_model(path, &import, &g, NULL, err);
    if (rc) return rc;
    const char *slash = strrchr(path, '/'),
               *base = slash && slash[1] ? slash + 1
                       : slash           ? "model"
                                         : path,
               *dot = strrchr(base, '.');
    size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    char *name = malloc(n + 1);
    double import_s = hn_now_s() - start_s;
    if (name) {
        memcpy(name, base, n);
        name[n] = 0;
        rc = hone_compile_graph(g, name, options, out, err);
    } else {
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    if (!rc && out) out->import_s = import_s, out->time_s += import_s;
    free(name);
    hone_graph_free(g);
    return rc;
}
