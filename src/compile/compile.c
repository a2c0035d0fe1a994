/* compile.c — the driver: import, passes, kernels, layout, C, compiler, parity, files.
 *
 * A kernel that parity refuses becomes its reference version and the model is built again; one whose reference version
 * is refused, too, is an error. Everything is made in a folder of its own beside the result and moved at the end.
 */
#include "base/clock.h"
#include "base/fs.h"
#include "compile/compile_int.h"
#include "pass/pass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Constants up to here become an array in --emit=c; larger ones go to a file beside it unless they are embedded. */
enum { ARRAY_B = 1 << 20, ARRAY_MOST_B = 256 << 20 };

void hn_progress(const hn_model *m, const char *stage, size_t done, size_t total) {
    if (m->options->progress) m->options->progress(m->options->progress_arg, stage, done, total);
}

/* --- names -----------------------------------------------------------------------------------------------------------
 */

static const char *identifier_of(hn_arena *a, const char *name) {
    char *s = hn_format(a, "%s%s", *name >= '0' && *name <= '9' ? "_" : "", name);
    for (char *p = s; p && *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9'))) *p = '_';
    return s;
}

static hone_rc set_names(hn_model *m, const char *name, hone_err *err) {
    const char *output = m->options->output ? m->options->output : name, *slash = output ? strrchr(output, '/') : NULL;
    if (!output) output = "model";
    if (!m->options->output && slash) output = slash + 1, slash = NULL;
    m->folder = slash ? hn_strndup(&m->arena, output, slash == output ? 1 : (size_t)(slash - output)) : ".";
    m->name = hn_strdup(&m->arena, slash ? slash + 1 : output);
    if (!m->folder || !m->name) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!*m->name || !strcmp(m->name, ".") || !strcmp(m->name, ".."))
        return hn_fail(err, HONE_E_USAGE, "'%s' is no name for a library; give one such as build/model", output);
    if (strlen(m->name) > 200) return hn_fail(err, HONE_E_USAGE, "'%.40s…' is too long a name", m->name);
    m->ident = identifier_of(&m->arena, m->name);
    return m->ident ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static hone_rc find_dialect(hn_model *m, hone_err *err) {
    const char *target = m->options->target;
    hn_str known = {0};
    if (!target) target = m->options->emit == HONE_EMIT_C ? "generic" : "native"; /* C goes anywhere */
    if ((m->dialect = hn_dialect_named(target))) {
        m->machine = hn_machine_of(m->dialect, NULL);
        return HONE_OK;
    }
    for (size_t i = 0; hn_dialects[i]; i++) hn_str_addf(&known, ", %s", hn_dialects[i]->name);
    hone_rc rc =
        hn_fail(err, HONE_E_USAGE, "there is no target '%s'; known: native%s", target, known.text ? known.text : "");
    hn_str_free(&known);
    return rc;
}

static hone_rc make_work(hn_model *m, hone_err *err) {
    hone_rc rc = hn_make_dirs(m->folder, err);
    if (rc) return rc;
    char *path = hn_format(&m->arena, "%s/.hone-XXXXXX", m->folder);
    if (!path) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!mkdtemp(path)) return hn_fail(err, HONE_E_IO, "cannot make a folder in '%s': %s", m->folder, strerror(errno));
    m->work = path;
    return HONE_OK;
}

/* --- stages ----------------------------------------------------------------------------------------------------------
 */

static hone_rc run_passes(hn_model *m, hone_err *err) {
    double start_s = hn_now_s();
    hn_progress(m, "passes", 0, 1);
    hone_rc rc = hn_run_passes(m->g, NULL, m->options->relaxed, NULL, NULL, err);
    if (!rc) rc = hn_wrap_kernels(m->g, err);
    m->passes_s = hn_now_s() - start_s;
    return rc;
}

static hone_rc lay_out(hn_model *m, hone_err *err) {
    m->layout = (hn_layout){0};
    return hn_layout_make(m->g, m->facts, &m->arena, &m->layout, err);
}

static hone_rc lay_weights(hn_model *m, hone_err *err) {
    hone_rc rc = hn_weights_lay(m, err);
    bool array = m->options->emit == HONE_EMIT_C && (m->options->embed_weights || m->weights_b <= ARRAY_B);
    if (rc) return rc;
    m->weights_file = m->weights_b && !array && (m->options->emit == HONE_EMIT_C || !m->options->embed_weights);
    if (array && m->weights_b > ARRAY_MOST_B)
        return hn_fail(err, HONE_E_USAGE,
                       "%llu MiB of weights do not fit into a C file; leave them in a file of their own",
                       (unsigned long long)(m->weights_b >> 20));
    return HONE_OK;
}

static hone_rc emit(hn_model *m, hone_err *err) {
    double start_s = hn_now_s();
    hone_rc rc = hn_kernels_make(m, err);
    if (!rc && m->tamper) m->tamper(m);
    if (!rc) rc = lay_out(m, err);
    if (!rc) rc = lay_weights(m, err);
    if (!rc) rc = hn_source_make(m, err);
    m->emit_s = hn_now_s() - start_s;
    return rc;
}

/* Replaces what parity refused; *n: how many. */
static hone_rc fall_back(hn_model *m, uint32_t *n, hone_err *err) {
    *n = 0;
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        hn_kernel *k = &m->kernel[i];
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

static bool can_run(const hn_model *m) {
    const hn_dialect *native = hn_dialect_named("native");
    return m->dialect == native || !strcmp(m->dialect->name, "generic") || !strcmp(m->dialect->name, "scalar") ||
           (!strcmp(m->dialect->name, "x86-64-v3") && !strcmp(native->name, "x86-64-v4"));
}

static hone_rc check_parity(hn_model *m, uint32_t *n_bad, hone_err *err) {
    double start_s = hn_now_s();
    hone_rc rc = HONE_OK;
    *n_bad = 0;
    if (m->options->no_parity || !can_run(m)) {
        for (uint32_t i = 0; i < m->n_kernel; i++) {
            m->kernel[i].parity.end = HN_PARITY_SKIPPED;
            snprintf(m->kernel[i].parity.text, sizeof m->kernel[i].parity.text,
                     m->options->no_parity ? "not asked for" : "this machine does not run the target");
        }
        return HONE_OK;
    }
    char *path = hn_format(&m->arena, "%s/model.so", m->work);
    rc = path ? hn_parity_run(m, path, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    m->parity_s += hn_now_s() - start_s;
    return rc ? rc : fall_back(m, n_bad, err);
}

/* A fallback may change what is done in place, so that memory is laid out anew. */
static hone_rc build_and_check(hn_model *m, hone_err *err) {
    uint32_t n_bad = 0;
    if (hn_cache_take(m)) return HONE_OK;
    do {
        hone_rc rc = HONE_OK;
        if (n_bad) rc = lay_out(m, err);
        if (n_bad && !rc) rc = hn_source_make(m, err);
        if (!rc && (m->options->emit == HONE_EMIT_SO || !m->options->no_parity)) rc = hn_build(m, err);
        if (!rc) rc = check_parity(m, &n_bad, err);
        if (rc) return rc;
    } while (n_bad);
    hn_cache_put(m);
    return HONE_OK;
}

/* --- files -----------------------------------------------------------------------------------------------------------
 */

static hone_rc put_text(hn_model *m, const char *ending, hn_str *text, hone_err *err) {
    char *path = hn_format(&m->arena, "%s/model%s", m->work, ending);
    hone_rc rc = !path || text->failed ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                                       : hn_write_file(path, text->text, text->n, err);
    hn_str_free(text);
    return rc;
}

static hone_rc publish(hn_model *m, const char *ending, hone_err *err) {
    char *from = hn_format(&m->arena, "%s/model%s", m->work, ending);
    char *to = hn_format(&m->arena, "%s/%s%s", m->folder, m->name, ending);
    if (!from || !to) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (rename(from, to)) return hn_fail(err, HONE_E_IO, "cannot write '%s': %s", to, strerror(errno));
    return HONE_OK;
}

static hone_rc write_files(hn_model *m, hone_err *err) {
    hn_str header = {0}, manifest = {0}, source = {0};
    hn_source_header(m, &header);
    hn_manifest(m, &manifest);
    hone_rc rc = put_text(m, ".h", &header, err);
    if (rc)
        hn_str_free(&manifest);
    else
        rc = put_text(m, ".manifest", &manifest, err);
    if (!rc && m->options->emit == HONE_EMIT_C) {
        hn_str_add_n(&source, m->unit[0].text, m->unit[0].n);
        rc = put_text(m, ".c", &source, err);
    }
    if (!rc && m->weights_file) rc = hn_weights_write(m, hn_format(&m->arena, "%s/model.weights", m->work), true, err);
    if (!rc && m->weights_file) rc = publish(m, ".weights", err);
    if (!rc) rc = publish(m, ".h", err);
    if (!rc) rc = publish(m, ".manifest", err);
    return rc ? rc : publish(m, m->options->emit == HONE_EMIT_C ? ".c" : ".so", err);
}

/* --- the calls -------------------------------------------------------------------------------------------------------
 */

static void fill_result(const hn_model *m, hone_compile_result *out) {
    hn_str text = {0};
    hone_compile_result r = {.n_kernels = m->n_uses,
                             .n_distinct = m->n_kernel,
                             .n_nodes = m->n_nodes,
                             .arena_b = (uint64_t)m->layout.arena_b,
                             .lower_bound_b = (uint64_t)m->layout.lower_bound_b,
                             .weights_b = m->weights_b,
                             .code_b = m->code_b,
                             .time_s = m->time_s,
                             .passes_s = m->passes_s,
                             .emit_s = m->emit_s,
                             .parity_s = m->parity_s,
                             .cached = m->cached,
                             .compiler_s = m->compiler_s};
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        r.n_fallback += m->kernel[i].fallback != NULL;
        r.n_winners += m->kernel[i].winner != NULL;
    }
    hn_summary(m, &text);
    r.text = hn_str_take(&text);
    *out = r;
}

hone_rc hn_compile_model(hn_model *m, const char *name, hone_err *err) {
    hone_rc rc = set_names(m, name, err);
    if (!rc) rc = find_dialect(m, err);
    if (!rc) rc = run_passes(m, err);
    if (!rc) rc = hn_winners_begin(m, err);
    if (!rc) rc = emit(m, err);
    hn_winners_end(m);
    if (!rc) rc = make_work(m, err);
    if (!rc) rc = build_and_check(m, err);
    if (!rc) rc = write_files(m, err);
    return rc;
}

hone_rc hone_compile_graph(hone_graph *g, const char *name, const hone_compile_options *options,
                           hone_compile_result *out, hone_err *err) {
    static const hone_compile_options defaults;
    double start_s = hn_now_s();
    hn_model m = {.options = options ? options : &defaults, .g = hn_copy_graph(g)};
    if (!m.g || !hn_graph_ok(m.g)) {
        hn_graph_free(m.g);
        return hn_fail(err, HONE_E_NOMEM, "out of memory while copying the graph");
    }
    hone_rc rc = hn_compile_model(&m, name, err);
    m.time_s = hn_now_s() - start_s;
    if (!rc && out) fill_result(&m, out);
    if (m.work) hn_remove_tree(m.work, NULL);
    hn_graph_free(m.g);
    hn_arena_free(&m.arena);
    return rc;
}

hone_rc hone_compile_onnx(const char *path, const hone_compile_options *options, hone_compile_result *out,
                          hone_err *err) {
    hone_import_options import = {0};
    hone_graph *g;
    double start_s = hn_now_s();
    if (options) import.symbol = options->symbol, import.n_symbol = options->n_symbol;
    hone_rc rc = hone_import_onnx(path, &import, &g, NULL, err);
    if (rc) return rc;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
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
