/* manifest.c — what was made, as YAML for machines and as a few lines for people. */
#include "artifact/artifact.h"
#include "base/yaml.h"

#include <string.h>

static const char *const parity_text[] = {"none", "same", "differs", "crashed", "skipped"};

static void add_pair(hn_str *out, const char *indent, const char *key, const char *value) {
    hn_str_addf(out, "%s%s: ", indent, key);
    hn_yaml_add_quoted(out, value ? value : "");
    hn_str_add(out, "\n");
}

static void add_ports(const hn_model *m, const char *what, const hn_val *v, uint32_t n, bool outputs, hn_str *out) {
    const hn_graph *g = m->g;
    hn_str_addf(out, hn_port_number(m->lib->states, n, outputs) ? "%s:\n" : "%s: []\n", what);
    for (uint32_t i = 0; i < n; i++) {
        if (!hn_is_port(m->lib->states, i, outputs)) continue;
        const hn_type *t = hn_type_of(g, v[i]);
        hn_str shape = {0};
        hn_port_shape(g, v[i], &shape);
        add_pair(out, "  - ", "name", outputs ? g->output_name[i] : g->value[v[i]].name);
        hn_str_addf(out, "    dtype: %s\n", hn_dtype_of(t->dtype)->text);
        hn_str_add(out, "    shape: ");
        hn_yaml_add_quoted(out, shape.text ? shape.text : "[]");
        hn_str_add(out, "\n");
        hn_str_free(&shape);
    }
}

static void add_parity(const hn_parity *p, hn_str *out) {
    char a[32], b[32], c[32], d[32];
    hn_str_addf(out, "    parity: %s\n", parity_text[p->end]);
    if (p->end == HN_PARITY_SAME)
        hn_str_addf(out,
                    "    inputs: %u\n    tolerance: {rtol: %s, atol: %s}\n    worst: {relative: %s, absolute: %s}\n",
                    p->n_inputs, hn_double_text(p->rtol, a), hn_double_text(p->atol, b), hn_double_text(p->max_rel, c),
                    hn_double_text(p->max_abs, d));
    if (p->end == HN_PARITY_SKIPPED) add_pair(out, "    ", "reason", p->text);
}

static void add_kernel(const hn_model *m, const hn_kernel *k, hn_str *out) {
    const hn_library *l = m->lib;
    uint32_t source = m->g->node[k->node].source;
    hn_str_addf(out, "  - name: %s\n    kind: %s\n    uses: %u\n", k->name, k->kind, k->n_uses);
    if (l->n_target > 1) add_pair(out, "    ", "target", m->dialect->name);
    if (m->version) {
        hn_str sizes = {0};
        hn_version_text(l, m->version, &sizes);
        add_pair(out, "    ", "version", sizes.text);
        hn_str_free(&sizes);
    }
    add_pair(out, "    ", "source", source ? m->g->source[source - 1] : "");
    add_pair(out, "    ", "schedule", k->code.schedule);
    if (k->winner) add_pair(out, "    ", "winner", k->winner);
    if (k->declined) add_pair(out, "    ", "declined", k->declined);
    if (k->fallback) add_pair(out, "    ", "fallback", k->fallback);
    if (k->on_host) add_pair(out, "    ", "on_host", k->why_host);
    add_parity(&k->parity, out);
}

/* Further versions: for which sizes, and what they have of their own. */
static void add_version(const hn_library *l, uint32_t v, hn_str *out) {
    const hn_model *m = &l->model[v];
    uint32_t n_own = 0;
    hn_str sizes = {0};
    for (uint32_t i = 0; i < m->n_kernel; i++) n_own += m->kernel[i].same == NULL;
    hn_version_text(l, v, &sizes);
    add_pair(out, "  - ", "sizes", sizes.text);
    hn_str_addf(out, "    arena_b: %lld\n    kernel_calls: %u\n    kernels_shared: %u\n    kernels_own: %u\n",
                (long long)m->layout.arena_b, m->n_uses, m->n_kernel - n_own, n_own);
    hn_str_free(&sizes);
}

static const char *how_updated(const hn_layout *l, const hn_update *u) {
    if (u->appends) return "append";
    if (u->into != u->value) return "copy";
    return l->slot[l->slot[u->into].root].where == HN_AT_NEXT ? "exchange" : "in place";
}

static void add_precision(const hn_library *l, hn_str *out) {
    const hn_library_precision *p = &l->precision;
    if (!p->kind) return;
    hn_str_addf(out, "precision:\n  kind: %s\n  products: %u\n  narrow: %u\n", p->kind, p->n_products, p->n_narrow);
    add_pair(out, "  ", "calibrate", p->calibrate);
    add_pair(out, "  ", "data", p->data);
    if (p->signer) add_pair(out, "  ", "signer", p->signer);
    hn_str_add(out, "  file: ");
    hn_str file = {0};
    hn_str_addf(&file, "%s.precision", l->name);
    hn_yaml_add_quoted(out, file.text ? file.text : "");
    hn_str_add(out, "\n");
    hn_str_free(&file);
}

void hn_manifest(const hn_library *l, hn_str *out) {
    static const char *const sizes[] = {"fixed", "bounded", "open"};
    const hn_model *m = &l->model[0];
    const hn_blk *b = &m->g->block[0];
    hn_str_add(out, "# Made by hone; describes the files beside it.\n");
    add_pair(out, "", "model", l->name);
    hn_str_add(out, "hone: " HONE_VERSION "\n");
    hn_str_addf(out, "abi: %d\ntarget: ", HONE_MODEL_ABI);
    for (uint32_t t = 0; t < l->n_target; t++) hn_str_addf(out, "%s%s", t ? "," : "", l->target[t]->name);
    hn_str_add(out, "\n");
    add_pair(out, "", "compiler", l->compiler_text);
    for (uint32_t i = 0, first = 1; i < l->n_model; i++) {
        if (!l->model[i].images) continue;
        if (first) hn_str_add(out, "machine_code:\n");
        first = 0;
        add_pair(out, "  - ", "target", l->model[i].dialect->name);
        add_pair(out, "    ", "images", l->model[i].images);
    }
    for (uint32_t i = 0, first = 1; i < l->n_model; i++) {
        if (!l->model[i].split) continue;
        if (first) hn_str_add(out, "split:\n");
        first = 0;
        add_pair(out, "  - ", "target", l->model[i].dialect->name);
        add_pair(out, "    ", "text", l->model[i].split);
    }
    hn_str_addf(out, "numeric: %s\n", l->options->relaxed ? "relaxed" : "exact");
    add_precision(l, out);
    add_ports(m, "inputs", b->param, b->n_param, false, out);
    add_ports(m, "outputs", b->result, b->n_result, true, out);
    if (l->states.n) hn_str_add(out, "states:\n");
    for (uint32_t k = 0; k < l->states.n; k++) {
        const hn_state *s = &l->states.state[k];
        add_pair(out, "  - ", "input", s->name);
        add_pair(out, "    ", "output", s->output);
        hn_str_addf(out, "    update: %s\n", how_updated(&m->layout, &m->layout.update[k]));
    }
    hn_str_addf(
        out, "sizes: %s\narena_b: %lld\narena_lower_bound_b: %lld\nscratch_b_per_thread: %lld\ngrowing_buffers: %u\n",
        sizes[m->layout.sizes], (long long)m->layout.arena_b, (long long)m->layout.lower_bound_b,
        (long long)m->scratch_b, m->layout.n_grown);
    hn_str_addf(out, "weights_b: %llu\nweights: %s\nweights_hash: %s\ncode_b: %llu\n", (unsigned long long)l->weights_b,
                l->weights_file ? "file"
                : l->weights_b  ? "embedded"
                                : "none",
                l->weights_hash, (unsigned long long)l->code_b);
    hn_str_addf(out, "nodes: %u\nkernel_calls: %u\n", m->n_nodes, m->n_uses);
    if (l->n_version > 1) hn_str_add(out, "versions:\n");
    for (uint32_t v = 1; v < l->n_version; v++) add_version(l, v, out);
    hn_str_add(out, m->n_kernel ? "kernels:\n" : "kernels: []\n");
    for (uint32_t k = 0; k < l->n_model; k++)
        for (uint32_t i = 0; i < l->model[k].n_kernel; i++)
            if (!l->model[k].kernel[i].same) add_kernel(&l->model[k], &l->model[k].kernel[i], out);
}

/* --- for people ------------------------------------------------------------------------------------------------------
 */

static void add_size(hn_str *out, const char *name, uint64_t n) {
    if (n < 10240)
        hn_str_addf(out, "%s %llu B", name, (unsigned long long)n);
    else if (n < 10 << 20)
        hn_str_addf(out, "%s %.1f KiB", name, (double)n / 1024);
    else
        hn_str_addf(out, "%s %.1f MiB", name, (double)n / 1048576);
}

static void add_kinds(const hn_model *m, hn_str *out) {
    const char *comma = " (";
    for (hn_kernel_kind i = 1; i < HN_N_KINDS; i++) {
        const char *kind = hn_kind_text(i);
        uint32_t n = 0;
        for (uint32_t k = 0; k < m->n_kernel; k++) n += strcmp(m->kernel[k].kind, kind) ? 0 : m->kernel[k].n_uses;
        if (n) hn_str_addf(out, "%s%u %s", comma, n, kind), comma = ", ";
    }
    hn_str_add(out, *comma == ',' ? ")" : "");
}

typedef struct counts {
    uint32_t n, n_reference, n_same, n_skipped, n_winner, n_host;
} counts;

static counts count(const hn_model *m) {
    counts c = {0};
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        if (m->kernel[i].same) continue;
        c.n++;
        c.n_reference += m->kernel[i].reference;
        c.n_winner += m->kernel[i].winner != NULL;
        c.n_host += m->kernel[i].on_host;
        c.n_same += m->kernel[i].parity.end == HN_PARITY_SAME;
        c.n_skipped += m->kernel[i].parity.end == HN_PARITY_SKIPPED;
    }
    return c;
}

static void add_parity_counts(const hn_model *m, hn_str *out) {
    counts c = count(m);
    if (c.n_winner) hn_str_addf(out, "winners   %u of %u kernels\n", c.n_winner, c.n);
    hn_str_addf(out, "parity    %u of %u hold", c.n_same, c.n);
    if (c.n_skipped) hn_str_addf(out, ", %u not checked", c.n_skipped);
    if (c.n_reference) hn_str_addf(out, "; %u reference versions", c.n_reference);
    if (m->lib->n_target > 1) hn_str_addf(out, "; %s", m->dialect->name);
    if (m->version) {
        hn_str_add(out, "; ");
        hn_version_text(m->lib, m->version, out);
        hn_str_addf(out, ", %u more shared", m->n_kernel - c.n);
    }
    hn_str_add(out, "\n");
    if (!hn_is_on_device(m->dialect)) return;
    hn_str_addf(out, "device    %u of %u kernels, %u copies between its memory and the host's in a run", c.n - c.n_host,
                c.n, hn_program_crossings(&m->program, NULL, 0));
    for (uint32_t i = 0, first = 1; i < m->n_kernel; i++)
        if (m->kernel[i].on_host)
            hn_str_addf(out, "%s%s (%.60s)", first ? "; on the host: " : ", ", m->kernel[i].name,
                        m->kernel[i].why_host),
                first = 0;
    hn_str_add(out, "\n");
    if (m->split) hn_str_addf(out, "split     %s\n", m->split);
    if (m->images) hn_str_addf(out, "code      %s: %s\n", m->dialect->name, m->images);
}

/* Kernels with winners that were found under other circumstances. */
static void add_missed(const hn_model *m, hn_str *out) {
    static const char *const of[HN_MISSES] = {"another compiler", "another machine", "other code, by another hone",
                                              "other schedules"};
    bool any = false;
    for (int i = 0; i < HN_MISSES; i++) {
        if (!m->n_missed[i]) continue;
        hn_str_addf(out, "%s%u of %s", any ? ", " : "winners   not taken: ", m->n_missed[i], of[i]);
        any = true;
    }
    if (any) hn_str_add(out, "; `hone tune` finds new ones\n");
}

static bool multiplies_bytes(const hn_library *l) {
    for (uint32_t t = 0; t < l->n_target; t++)
        if (!l->target[t]->bytes) return false;
    return true;
}

static void add_products(const hn_library *l, hn_str *out) {
    const hn_library_precision *p = &l->precision;
    if (!p->kind) return;
    const char *bytes = multiplies_bytes(l) ? "" : "; the target has no products of bytes, they are emulated in floats";
    hn_str_addf(out, "precision %s: %u of %u products in ", p->kind, p->n_narrow, p->n_products);
    if (p->n_halves < p->n_narrow || !p->n_narrow) hn_str_addf(out, "bytes%s%s", bytes, p->n_halves ? "; " : "\n");
    if (p->n_halves && p->n_halves < p->n_narrow) hn_str_addf(out, "%u of them in bf16\n", p->n_halves);
    if (p->n_halves && p->n_halves == p->n_narrow) hn_str_add(out, "bf16, with sums of f32\n");
}

void hn_summary(const hn_library *l, hn_str *out) {
    const hn_model *m = &l->model[0];
    hn_str_addf(out, "kernels   %u calls of %u distinct", m->n_uses, m->n_kernel);
    add_kinds(m, out);
    hn_str_add(out, "\n");
    for (uint32_t k = 0; k < l->n_model; k++) add_parity_counts(&l->model[k], out);
    if (m->layout.sizes == HN_SIZES_OPEN)
        hn_str_add(out, "memory    arena planned for the sizes of each run");
    else {
        add_size(out, "memory    arena", (uint64_t)m->layout.arena_b);
        add_size(out, ", lower bound", (uint64_t)m->layout.lower_bound_b);
    }
    add_size(out, ", weights", l->weights_b);
    add_size(out, ", code", l->code_b);
    hn_str_add(out, "\ntarget    ");
    for (uint32_t t = 0; t < l->n_target; t++) hn_str_addf(out, "%s, ", l->target[t]->name);
    hn_str_addf(out, "%s, %s\n", l->options->relaxed ? "relaxed" : "exact", l->compiler_text);
    add_products(l, out);
    if (m->winners_note) hn_str_addf(out, "winners   not looked at: %s\n", m->winners_note);
    add_missed(m, out);
    for (uint32_t k = 0; k < l->n_model; k++)
        for (uint32_t i = 0; i < l->model[k].n_kernel; i++) {
            const hn_kernel *x = &l->model[k].kernel[i];
            if (x->fallback && !x->same)
                hn_str_addf(out, "fallback  %s (%s): %s; %s\n", x->name, x->kind, x->fallback,
                            x->direct && !x->reference ? "it multiplies in full" : "its reference version is used");
        }
}
