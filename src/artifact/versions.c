/* versions.c — which models a library holds: the targets of --target and the versions of --specialize.
 *
 * A version is a copy of the graph with equalities `symbol = number` assumed, on which the passes run like on any
 * other; symbols keep their numbers, so that kernels without a fixed size are the same text and are shared.
 */
#include "artifact/artifact.h"
#include "backend/device.h"
#include "base/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- targets ---------------------------------------------------------------------------------------------------------
 */

static hone_rc unknown_target(const char *name, size_t n, hone_err *err) {
    hn_str known = {0};
    const hn_dialect *d;
    for (size_t i = 0; (d = hn_dialect_at(i)); i++) hn_str_addf(&known, ", %s", d->name);
    hone_rc rc = hn_fail(err, HONE_E_USAGE, "there is no target '%.*s'; known: native%s", (int)n, name,
                         known.text ? known.text : "");
    hn_str_free(&known);
    return rc;
}

/* The target of that name; "sm_90a" behind "cuda:sm_80" is "cuda:sm_90a". NULL: there is none. */
static const hn_dialect *target_named(const char *name, size_t n, const hn_dialect *before) {
    char text[32];
    const hn_dialect *d = NULL;
    const char *colon = before ? strchr(before->name, ':') : NULL;
    if (n && snprintf(text, sizeof text, "%.*s", (int)n, name) < (int)sizeof text) d = hn_dialect_named(text);
    if (!n || d || !colon) return d;
    int size = snprintf(text, sizeof text, "%.*s:%.*s", (int)(colon - before->name), before->name, (int)n, name);
    return size < (int)sizeof text ? hn_dialect_named(text) : NULL;
}

static hone_rc add_target(hn_library *l, const char *name, size_t n, const hn_dialect **before, hone_err *err) {
    const hn_dialect *d = target_named(name, n, *before), *pairs = NULL;
    if (l->precision.n_halves && n == strlen("native") && !strncmp(name, "native", n)) pairs = hn_dialect_for_pairs();
    if (pairs) d = pairs;
    if (!d) return unknown_target(name, n, err);
    *before = d;
    if (!d->backend->here)
        return hn_fail(err, HONE_E_UNSUPPORTED, "libraries for '%s' cannot be built yet; name a processor's target",
                       d->name);
    for (uint32_t i = 0; i < l->n_target; i++) {
        if (l->target[i] == d) return HONE_OK;
        if (hn_is_on_device(d) || hn_is_on_device(l->target[i])) continue; /* beside any other */
        if (l->target[i]->backend != d->backend)
            return hn_fail(err, HONE_E_USAGE,
                           "targets '%s' and '%s' are of different backends; a library is for one of them",
                           l->target[i]->name, d->name);
        if (l->target[i]->processor && d->processor && strcmp(l->target[i]->processor, d->processor) != 0)
            return hn_fail(err, HONE_E_USAGE,
                           "targets '%s' and '%s' are of different processors; a library is for one of them",
                           l->target[i]->name, d->name);
    }
    if (l->n_target == HN_TARGETS_MAX)
        return hn_fail(err, HONE_E_USAGE, "more than %d targets; leave some out", HN_TARGETS_MAX);
    l->target[l->n_target++] = d;
    return HONE_OK;
}

/* The more a target asks for, the earlier it is tried: CUDA's devices, OpenCL's, processors. */
static int preference(const hn_dialect *d) {
    return d->rank + (!hn_is_on_device(d) ? 0 : !strcmp(d->backend->driver, "cuda") ? 2000 : 1000);
}

static void sort_targets(hn_library *l) {
    for (uint32_t i = 1; i < l->n_target; i++)
        for (uint32_t k = i; k && preference(l->target[k]) > preference(l->target[k - 1]); k--) {
            const hn_dialect *swap = l->target[k];
            l->target[k] = l->target[k - 1];
            l->target[k - 1] = swap;
        }
}

hone_rc hn_find_targets(hn_library *l, hone_err *err) {
    const char *text = l->options->target;
    const hn_dialect *before = NULL;
    if (!text) text = l->options->emit == HONE_EMIT_C ? "generic" : "native"; /* C goes anywhere */
    for (size_t n;; text += n + 1) {
        n = strcspn(text, ",");
        hone_rc rc = add_target(l, text, n, &before, err);
        if (rc) return rc;
        if (!text[n]) break;
    }
    if (l->n_target > 1 && l->options->emit == HONE_EMIT_C)
        return hn_fail(err, HONE_E_USAGE, "a C file is for one target; give one, or make a library");
    sort_targets(l);
    return HONE_OK;
}

/* The processor that the library's machine code is for: NULL, this one's. */
const char *hn_library_processor(const hn_library *l) {
    for (uint32_t i = 0; i < l->n_target; i++)
        if (l->target[i]->processor) return l->target[i]->processor;
    return NULL;
}

static const char *host_processor(void) {
#if defined(__x86_64__)
    return "x86-64";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return "";
#endif
}

const char *hn_library_emulator(const hn_library *l) {
    const char *processor = hn_library_processor(l);
    if (!processor || !strcmp(processor, host_processor())) return NULL;
    for (uint32_t i = 0; i < l->n_target; i++)
        if (l->target[i]->emulator) return l->target[i]->emulator;
    return "";
}

/* Kept with the library: a driver is asked once. */
static void ask_driver(hn_library *l, const char *driver) {
    hn_devices *found = l->asked_driver && !strcmp(l->asked_driver, driver) ? NULL : calloc(1, sizeof *found);
    if (!found) return;
    l->asked_driver = driver;
    l->driver_problem = "there is no such device";
    if (hn_devices_find(driver, found, NULL) == HONE_OK && !found->n && found->n_why)
        l->driver_problem = hn_strdup(&l->arena, found->why[0]);
    if (found->n) {
        l->driver_problem = NULL;
        l->driver_identity = hn_format(&l->arena, "%s %s %s %s", found->info[0].name, found->info[0].arch,
                                       found->info[0].driver, found->info[0].version);
    }
    free(found);
}

const char *hn_target_machine(const hn_library *library, const hn_dialect *d) {
    hn_library *l = (hn_library *)(uintptr_t)library;
    if (!d->backend->driver) return "";
    ask_driver(l, d->backend->driver);
    return l->driver_identity && !l->driver_problem ? l->driver_identity : "";
}

static const char *device_problem(const hn_library *library, const char *driver) {
    hn_library *l = (hn_library *)(uintptr_t)library;
    ask_driver(l, driver);
    return l->driver_problem;
}

const char *hn_target_problem(const hn_library *l, const hn_dialect *d) {
    if (d->backend->driver) return device_problem(l, d->backend->driver);
    const char *emulator = hn_library_emulator(l);
    if (!emulator) return hn_runs_here(d) ? NULL : "this machine does not run the target";
    char *path = *emulator ? hn_which(emulator) : NULL;
    const char *problem =
        path ? NULL : "this machine does not run the target, and there is no emulator for it (qemu-user)";
    free(path);
    return problem;
}

/* --- versions --------------------------------------------------------------------------------------------------------
 */

/* "seq=128,512" and "batch=1,seq=128": for each name its values. */
typedef struct choice {
    hn_fixed fixed; /* value: not yet */
    int64_t value[HN_VERSIONS_MAX];
    uint32_t n;
} choice;

/* Where the size is that a run finds symbol s in. */
static bool find_input(const hn_library *l, hn_symbol s, hn_fixed *f) {
    const hn_graph *g = l->version[0].g;
    for (uint32_t i = 0; i < g->block[0].n_param; i++) {
        if (!hn_is_port(l->states, i, false)) continue;
        const hn_type *t = hn_type_of(g, g->block[0].param[i]);
        for (size_t d = 0; d < t->rank; d++) {
            hn_symbol x;
            if (!hn_dim_is_symbol(g->dims, t->dim[d], &x) || x != s) continue;
            *f = (hn_fixed){.symbol = s, .input = hn_port_number(l->states, i, false), .axis = (uint32_t)d};
            return true;
        }
    }
    return false;
}

static hone_rc find_symbol(const hn_library *l, const char *name, size_t n, hn_fixed *f, hone_err *err) {
    const hn_graph *g = l->version[0].g;
    hn_str known = {0};
    for (hn_symbol s = 0; s < hn_dims_symbols(g->dims); s++) {
        const char *x = hn_symbol_name(g->dims, s);
        if (!find_input(l, s, f)) continue;
        if (strlen(x) == n && !strncmp(x, name, n)) {
            hn_str_free(&known);
            return HONE_OK;
        }
        hn_str_addf(&known, "%s%s", known.n ? ", " : "", x);
    }
    hone_rc rc = hn_fail(err, HONE_E_USAGE, "no input has a symbolic size '%.*s'; there %s %s", (int)n, name,
                         known.n ? "are:" : "are", known.n ? known.text : "none");
    hn_str_free(&known);
    return rc;
}

static hone_rc add_value(const hn_graph *g, const char *word, size_t n, choice *c, hone_err *err) {
    char text[24], *end;
    int64_t low, high;
    snprintf(text, sizeof text, "%.*s", (int)n, word);
    long long value = strtoll(text, &end, 10);
    if (!n || n >= sizeof text || *end)
        return hn_fail(err, HONE_E_USAGE, "'%.*s' is no size; give seq=128,512 or batch=1,seq=128", (int)n, word);
    hn_symbol_range(g->dims, c->fixed.symbol, &low, &high);
    if (value < low || value < 0 || value > high)
        return hn_fail(err, HONE_E_USAGE, "size '%s' has no value %lld in this model",
                       hn_symbol_name(g->dims, c->fixed.symbol), value);
    if (c->n == HN_VERSIONS_MAX) return hn_fail(err, HONE_E_USAGE, "more than %d versions", HN_VERSIONS_MAX - 1);
    c->value[c->n++] = value;
    return HONE_OK;
}

static hone_rc read_choices(const hn_library *l, const char *text, choice *c, uint32_t *n_choice, hone_err *err) {
    const hn_graph *g = l->version[0].g;
    hone_rc rc = HONE_OK;
    for (size_t n; !rc; text += n + 1) {
        n = strcspn(text, ",");
        const char *equals = memchr(text, '=', n);
        if (equals && *n_choice == HN_FIXED_MAX)
            return hn_fail(err, HONE_E_USAGE, "more than %d sizes are fixed at once", HN_FIXED_MAX);
        if (equals) {
            c[*n_choice] = (choice){0};
            rc = find_symbol(l, text, (size_t)(equals - text), &c[(*n_choice)++].fixed, err);
        } else if (!*n_choice) {
            rc = hn_fail(err, HONE_E_USAGE, "'%.*s' names no size; give seq=128,512", (int)n, text);
        }
        const char *value = equals ? equals + 1 : text;
        if (!rc) rc = add_value(g, value, (size_t)(text + n - value), &c[*n_choice - 1], err);
        if (!text[n]) break;
    }
    for (uint32_t i = 0; i < *n_choice && !rc; i++)
        for (uint32_t k = 0; k < i; k++)
            if (c[i].fixed.symbol == c[k].fixed.symbol)
                rc = hn_fail(err, HONE_E_USAGE, "size '%s' is fixed twice; list its values behind one another",
                             hn_symbol_name(g->dims, c[i].fixed.symbol));
    return rc;
}

static bool has_version(const hn_library *l, const hn_version *v) {
    for (uint32_t i = 0; i < l->n_version; i++)
        if (l->version[i].n_fixed == v->n_fixed &&
            !memcmp(l->version[i].fixed, v->fixed, v->n_fixed * sizeof *v->fixed))
            return true;
    return false;
}

/* Every combination of the values. */
static hone_rc add_versions(hn_library *l, const choice *c, uint32_t n_choice, hone_err *err) {
    uint32_t at[HN_FIXED_MAX] = {0}, k = 0;
    while (k < n_choice) {
        hn_version v = {.n_fixed = n_choice};
        for (uint32_t i = 0; i < n_choice; i++) v.fixed[i] = c[i].fixed, v.fixed[i].value = c[i].value[at[i]];
        if (l->n_version == HN_VERSIONS_MAX)
            return hn_fail(err, HONE_E_USAGE, "more than %d versions", HN_VERSIONS_MAX - 1);
        if (!has_version(l, &v)) l->version[l->n_version++] = v;
        for (k = 0; k < n_choice && ++at[k] == c[k].n; k++) at[k] = 0;
    }
    return HONE_OK;
}

/* Behind the one for all sizes those with most sizes fixed come first: a run takes the first that fits. */
static void sort_versions(hn_library *l) {
    for (uint32_t i = 2; i < l->n_version; i++)
        for (uint32_t k = i; k > 1 && l->version[k].n_fixed > l->version[k - 1].n_fixed; k--) {
            hn_version swap = l->version[k];
            l->version[k] = l->version[k - 1];
            l->version[k - 1] = swap;
        }
}

static hone_rc make_graph(const hn_graph *g, hn_version *v, hone_err *err) {
    v->g = hn_copy_graph(g);
    for (uint32_t i = 0; v->g && i < v->n_fixed; i++) {
        hn_dim d = hn_dim_find(v->g->dims, hn_symbol_name(g->dims, v->fixed[i].symbol));
        hn_dim_assume_equal(v->g->dims, d, hn_dim_int(v->g->dims, v->fixed[i].value));
    }
    return v->g && hn_graph_ok(v->g) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory while copying the graph");
}

/* The state of all versions is that of the one for all sizes, so its parameters and results have their numbers. */

hone_rc hn_make_versions(hn_library *l, const hn_graph *g, hone_err *err) {
    hone_rc rc = HONE_OK;
    l->n_version = 1;
    if (l->options->n_specialize && l->options->emit == HONE_EMIT_C)
        return hn_fail(err, HONE_E_USAGE, "a C file has one version; make a library to specialise");
    rc = make_graph(g, &l->version[0], err);
    if (!rc && l->options->n_state) rc = hn_find_states(l, l->version[0].g, err);
    for (size_t i = 0; i < l->options->n_specialize && !rc; i++) {
        choice *c = hn_alloc_n(&l->arena, HN_FIXED_MAX, sizeof *c);
        uint32_t n = 0;
        rc = c ? read_choices(l, l->options->specialize[i], c, &n, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (!rc) rc = add_versions(l, c, n, err);
    }
    sort_versions(l);
    for (uint32_t v = 1; v < l->n_version && !rc; v++) rc = make_graph(l->version[0].g, &l->version[v], err);
    return rc;
}

void hn_version_text(const hn_library *l, uint32_t version, hn_str *out) {
    const hn_version *v = &l->version[version];
    for (uint32_t i = 0; i < v->n_fixed; i++)
        hn_str_addf(out, "%s%s=%lld", i ? "," : "", hn_symbol_name(v->g->dims, v->fixed[i].symbol),
                    (long long)v->fixed[i].value);
}
