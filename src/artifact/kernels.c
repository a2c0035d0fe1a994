/* kernels.c — distinct kernel bodies become C functions: equal text of a body, equal function.
 *
 * The fused emitter is asked first; what it declines, with a reason, and everything in reference mode, is emitted as
 * the reference version.
 */
#include "artifact/artifact.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hn_node *node_of(const hn_graph *g, hn_block b, uint32_t i) { return &g->node[g->block[b].node[i]]; }

size_t hn_body_symbols(const hn_graph *g, hn_block body, hn_symbol *list, size_t room) {
    size_t n = 0;
    for (uint32_t i = 0; i < g->block[body].n_node; i++) {
        const hn_attr *defines = hn_attr_get(node_of(g, body, i), HN_A_DEFINES);
        for (uint32_t k = 0; defines && k < defines->n && n < room; k++)
            if (hn_dim_is_symbol(g->dims, defines->dims[k], &list[n])) n++;
    }
    return n;
}

/* --- work items ----------------------------------------------------------------------------------------------------
 */

static bool has_work(const hn_kernel_code *code) {
    bool all = code->work || code->n_work_by;
    for (uint32_t i = 0; !code->work && i < code->n_work_by; i++) all = all && code->work_by[i];
    return all;
}

bool hn_work_eval(const hn_graph *g, const hn_kernel_code *code, const int64_t *symbol, int64_t *work) {
    int64_t n = 1, x;
    if (code->work) return hn_dim_eval(g->dims, code->work, symbol, work);
    for (uint32_t i = 0; i < code->n_work_by; i++)
        if (!hn_dim_eval(g->dims, code->work_by[i], symbol, &x) || __builtin_mul_overflow(n, x, &n)) return false;
    *work = n;
    return code->n_work_by > 0;
}

int64_t hn_kernel_cost(const hn_model *m, const hn_kernel *k, const int64_t *value) {
    int64_t cost;
    return k->cost.steps && hn_dim_eval(m->g->dims, k->cost.steps, value, &cost) ? cost : INT32_MAX;
}

/* --- emission ------------------------------------------------------------------------------------------------------
 */

hone_rc hn_kernel_to_host(hn_model *m, hn_kernel *k, const char *why, hone_err *err) {
    k->on_host = true;
    k->reference = false;
    k->why_host = hn_strdup(&m->arena, why);
    return hn_kernel_plain(m, k, err);
}

hone_rc hn_kernel_refer(hn_model *m, hn_kernel *k, hone_err *err) {
    hn_kernel_code code = {0};
    const hn_dialect *d = k->on_host ? hn_host_dialect(m) : m->dialect;
    hone_err why = {0};
    hone_rc rc = hn_emit_reference(m->g, k->body, k->name, d, &m->arena, &code, &why);
    if (rc == HONE_E_UNSUPPORTED && hn_kernel_on_device(m, k)) return hn_kernel_to_host(m, k, why.text, err);
    if (rc) return hn_fail(err, rc, "%s", why.text);
    k->code = code;
    k->winner = k->cc = k->flags = NULL;
    k->reference = true;
    return HONE_OK;
}

hone_rc hn_kernel_plain(hn_model *m, hn_kernel *k, hone_err *err) {
    hone_err why = {0};
    k->winner = k->cc = k->flags = NULL;
    if (m->options->reference) return hn_kernel_refer(m, k, err);
    hn_emit_how how = {.dialect = m->dialect, .machine = m->machine, .relaxed = m->options->relaxed};
    how.direct = k->direct;
    if (k->on_host) how.dialect = hn_host_dialect(m), how.machine = hn_machine_of(how.dialect, NULL);
    hone_rc rc = hn_emit_kernel(m->g, k->body, k->kind, k->name, &how, &m->arena, &k->code, &why);
    if (rc == HONE_E_UNSUPPORTED) {
        k->declined = hn_strdup(&m->arena, why.text);
        return hn_kernel_refer(m, k, err);
    }
    return rc ? hn_fail(err, rc, "%s", why.text) : HONE_OK;
}

/* The kernel of an earlier version of this target with the same body. */
static const hn_kernel *earlier(const hn_model *m, const hn_kernel *k) {
    for (uint32_t v = 0; v < m->version; v++) {
        const hn_model *other = &m->lib->model[m->target * m->lib->n_version + v];
        for (uint32_t i = 0; i < other->n_kernel; i++)
            if (!other->kernel[i].same && !strcmp(other->kernel[i].hash, k->hash)) return &other->kernel[i];
    }
    return NULL;
}

static bool same_words(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

static hone_rc emit_as(hn_model *m, hn_kernel *k, hone_err *err) {
    hone_rc rc = hn_kernel_plain(m, k, err);
    if (!rc && m->lib->choose) m->lib->choose(m, k);
    return rc;
}

/* A kernel with the text of an earlier version's kernel uses that kernel's function. */
static hone_rc emit(hn_model *m, hn_kernel *k, hone_err *err) {
    const hn_kernel *same = earlier(m, k);
    char own[sizeof k->name];
    hone_rc rc;
    if (!same) return emit_as(m, k, err);
    memcpy(own, k->name, sizeof own);
    memcpy(k->name, same->name, sizeof own);
    if ((rc = emit_as(m, k, err))) return rc;
    if (!strcmp(k->code.text, same->code.text) && same_words(k->cc, same->cc) && same_words(k->flags, same->flags)) {
        k->same = same;
        return HONE_OK;
    }
    memcpy(k->name, own, sizeof own);
    return emit_as(m, k, err);
}

/* The most elements of each result whose size depends on data. */
static void find_room(hn_model *m, hn_kernel *k) {
    hn_symbol list[64];
    const hn_blk *b = &m->g->block[k->body];
    if (!hn_body_symbols(m->g, k->body, list, 64)) return;
    hn_dim *room = hn_alloc_n(&m->arena, b->n_result + 1u, sizeof *room);
    for (uint32_t i = 0; room && i < m->g->block[k->body].n_result; i++) room[i] = hn_kernel_room(m->g, k->body, i);
    k->room = room;
}

static hone_rc new_kernel(hn_model *m, uint32_t id, const char hash[33], hn_kernel *k, hone_err *err) {
    const hn_attr *kind = hn_attr_get(&m->g->node[id], HN_A_KIND);
    *k = (hn_kernel){.body = hn_attr_get(&m->g->node[id], HN_A_BODY)->blocks[0], .node = id};
    k->kind = kind ? kind->name : hn_kind_text(HN_KIND_OPAQUE);
    snprintf(k->name, sizeof k->name, m->version ? "k%u_%u" : "k%u", m->n_kernel, m->version);
    memcpy(k->hash, hash, sizeof k->hash);
    hone_rc rc = emit(m, k, err);
    if (rc) return rc;
    if (!has_work(&k->code) || !k->code.scratch_b)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "the sizes of kernel '%s' are too long an expression; fix a symbol with --symbol", k->name);
    find_room(m, k);
    k->cost = hn_block_cost(m->g, k->body);
    return HONE_OK;
}

/* --- which bodies are the same: a hash table of their texts' hashes ------------------------------------------------
 */

typedef struct known {
    char (*hash)[33];
    uint32_t *index; /* + 1; open addressing */
    size_t n_slots;
} known;

static void hash_body(const hn_graph *g, const hn_node *n, char hex[33]) {
    hn_str text = {0};
    hn_hash h;
    const hn_attr *kind = hn_attr_get(n, HN_A_KIND);
    hn_print_block(g, hn_attr_get(n, HN_A_BODY)->blocks[0], &text);
    hn_hash_begin(&h);
    hn_hash_text(&h, kind ? kind->name : "");
    hn_hash_add(&h, text.text, text.n);
    hn_hash_end(&h, hex);
    hn_str_free(&text);
}

static size_t slot_of(const known *k, const char hex[33]) {
    size_t i = strtoull((char[]){hex[0], hex[1], hex[2], hex[3], hex[4], hex[5], hex[6], hex[7], 0}, NULL, 16);
    for (i %= k->n_slots; k->index[i] && strcmp(k->hash[k->index[i] - 1], hex) != 0; i = (i + 1) % k->n_slots) continue;
    return i;
}

static hone_rc add_node(hn_model *m, known *k, uint32_t id, hone_err *err) {
    char hex[33];
    hash_body(m->g, &m->g->node[id], hex);
    size_t at = slot_of(k, hex);
    if (!k->index[at]) {
        hone_rc rc = new_kernel(m, id, hex, &m->kernel[m->n_kernel], err);
        if (rc) return rc;
        memcpy(k->hash[m->n_kernel], hex, sizeof hex);
        k->index[at] = ++m->n_kernel;
    }
    hn_kernel *kernel = &m->kernel[k->index[at] - 1];
    kernel->n_uses++;
    m->call[m->n_uses] = id;
    m->call_of[id] = m->n_uses++;
    m->kernel_of[id] = k->index[at];
    m->facts[id] = (hn_kernel_facts){kernel->code.in_place, kernel->room};
    return HONE_OK;
}

/* Nodes that some block lists: replaced ones lie in the array still. */
static uint32_t list_nodes(const hn_graph *g, hn_block b, uint32_t *list, uint32_t n) {
    for (uint32_t i = 0; i < g->block[b].n_node; i++) {
        const hn_node *x = node_of(g, b, i);
        const hn_attr *body = x->op == HN_OP_IF || x->op == HN_OP_LOOP ? hn_attr_get(x, HN_A_BODY) : NULL;
        list[n++] = g->block[b].node[i];
        for (uint32_t k = 0; body && k < body->n; k++) n = list_nodes(g, body->blocks[k], list, n);
    }
    return n;
}

/* Numbers of functions run through all versions of a target. */
static void number_kernels(hn_model *m) {
    uint32_t next = 0;
    for (uint32_t v = 0; v < m->version; v++) {
        const hn_model *other = &m->lib->model[m->target * m->lib->n_version + v];
        for (uint32_t i = 0; i < other->n_kernel; i++) next += other->kernel[i].same == NULL;
    }
    for (uint32_t i = 0; i < m->n_kernel; i++)
        m->kernel[i].index = m->kernel[i].same ? m->kernel[i].same->index : next++;
}

hone_rc hn_kernels_make(hn_model *m, hone_err *err) {
    uint32_t room = m->g->n_node + 1, *list = hn_alloc_n(&m->arena, room, sizeof *list), n;
    known k = {.n_slots = 2 * (size_t)room + 1};
    k.hash = hn_alloc_n(&m->arena, room, sizeof *k.hash);
    k.index = hn_alloc_n(&m->arena, k.n_slots, sizeof *k.index);
    m->kernel = hn_alloc_n(&m->arena, room, sizeof *m->kernel);
    m->kernel_of = hn_alloc_n(&m->arena, room, sizeof *m->kernel_of);
    m->call = hn_alloc_n(&m->arena, room, sizeof *m->call);
    m->call_of = hn_alloc_n(&m->arena, room, sizeof *m->call_of);
    m->facts = hn_alloc_n(&m->arena, room, sizeof *m->facts);
    if (!hn_arena_ok(&m->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory while emitting kernels");
    m->n_nodes = n = list_nodes(m->g, 0, list, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (m->g->node[list[i]].op != HN_OP_KERNEL) continue;
        hone_rc rc = add_node(m, &k, list[i], err);
        if (!rc) rc = hn_progress(m->lib, "kernels", i, n, err);
        if (rc) return rc;
    }
    number_kernels(m);
    if (hn_arena_ok(&m->arena) && hn_graph_ok(m->g)) return HONE_OK;
    return hn_fail(err, HONE_E_NOMEM, "out of memory while emitting kernels");
}
