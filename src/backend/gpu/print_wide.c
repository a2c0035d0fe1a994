/* backend/gpu/print_wide.c — loads and stores of 4, 8 or 16 bytes: where the lanes of a vector loop lie next to each
 * other in memory, and to a multiple of their size. */
#include "backend/gpu/print.h"

#include <string.h>

static int vector_lane(const hn_gp *c) {
    for (int k = 0; k < c->n_lane; k++)
        if (c->lane[k].vector) return k;
    return -1;
}

/* 32-bit words of such an access; 0: there is none. */
static int words_of(hn_gp *c, hn_buf b, hn_ix at) {
    hn_nest *n = c->n;
    int k = vector_lane(c);
    int64_t step, rest, lanes = k < 0 ? 0 : c->lane[k].n, size = (int64_t)hn_dtype_of(n->buf[b].dtype)->size_b;
    if (k < 0 || n->buf[b].space == HN_REG || n->buf[b].space == HN_WORDS || size > 4) return 0;
    if (lanes * size != 4 && lanes * size != 8 && lanes * size != 16) return 0;
    if (!hn_ix_step(n, at, c->lane[k].var, &step) || step != 1) return 0;
    hn_ix first = hn_ix_sub(n, at, hn_ix_var(n, c->lane[k].var));
    if (!hn_ix_is_int(n, hn_ix_mod(n, first, hn_dim_int(n->dims, lanes)), &rest) || rest) return 0;
    return (int)(lanes * size / 4);
}

static bool guards_vary(const hn_gp *c, uint32_t n, const hn_ix *guard) {
    int k = vector_lane(c);
    for (uint32_t i = 0; i < n; i++)
        if (hn_gp_ix_mask(c, guard[i]) >> k & 1) return true;
    return false;
}

/* The words at an index, as what follows the opening bracket of a cast says. */
static void place(hn_gp *c, hn_str *out, hn_buf b, hn_ix at, int words, const char *more) {
    const char *space = c->n->buf[b].space == HN_SHARED ? "HNR_SHARED_MEMORY" : "HNR_GLOBAL";
    hn_str_addf(out, "*(%s%s hnr_w%d *)&", more, space, words);
    hn_gp_access(c, out, b, at);
}

/* Element e of words named so: raw bits of `bits` bits. */
static void element(hn_str *out, const char *name, int words, int bits, int64_t e) {
    int64_t word = e * bits / 32, shift = e * bits % 32;
    hn_str w = {0};
    hn_str_addf(&w, words == 1 ? "%s" : "%s.%c", name, "xyzw"[word]);
    if (bits == 32)
        hn_str_add(out, w.text);
    else if (shift)
        hn_str_addf(out, "%s >> %d & %uu", w.text, (int)shift, (1u << bits) - 1);
    else
        hn_str_addf(out, "%s & %uu", w.text, (1u << bits) - 1);
    hn_str_free(&w);
}

/* From raw bits to the register's form. */
static void from_bits(hn_gp *c, hn_str *out, hone_dtype t, const char *raw) {
    hn_str x = {0};
    if (t == HONE_F32) {
        hn_str_addf(out, "hnr_bits_float(%s)", raw);
    } else {
        hn_str_addf(&x, "(hnr_%s)(%s)", hn_dtype_of(t)->text, raw);
        hn_gp_get(c, out, t, x.text ? x.text : "0");
    }
    hn_str_free(&x);
}

/* One combination of the other lanes: the words, then a name for each lane of the vector. */
static void wide_load(hn_gp *c, hn_sv id, int words) {
    const hn_scalar x = c->n->sv[id];
    hone_dtype t = c->n->buf[x.buf].dtype;
    int k = vector_lane(c), known = x.n_guard ? hn_gp_known_guards(c, x.n_guard, x.guard) : 1;
    hn_str name = {0}, text = {0}, only = {0};
    hn_gp_name(c, &name, id);
    hn_str_add(&name, "w");
    if (known < 0) {
        hn_gp_line(c,
                   words == 1   ? "hnr_w1 %s = 0;"
                   : words == 2 ? "hnr_w2 %s = HNR_W2(0, 0);"
                                : "hnr_w4 %s = HNR_W4(0, 0, 0, 0);",
                   name.text);
        hn_gp_guards(c, &only, x.n_guard, x.guard);
    }
    if (known) place(c, &text, x.buf, x.at, words, "const ");
    if (known < 0)
        hn_gp_line(c, "if (%s) %s = %s;", only.text, name.text, text.text);
    else if (known)
        hn_gp_line(c, "const hnr_w%d %s = %s;", words, name.text, text.text);
    for (int64_t l = 0; l < c->lane[k].n; l++) {
        hn_str lane = {0}, raw = {0}, value = {0};
        c->lane[k].at = l;
        hn_gp_name(c, &lane, id);
        element(&raw, name.text, words, (int)hn_dtype_of(t)->size_b * 8, l);
        from_bits(c, &value, t, known ? raw.text : "0");
        hn_gp_line(c, "const %s %s = %s;", hn_gp_type(c->n->sv[id].dtype), lane.text, value.text);
        hn_str_free(&lane);
        hn_str_free(&raw);
        hn_str_free(&value);
    }
    c->lane[k].at = 0;
    hn_str_free(&name);
    hn_str_free(&text);
    hn_str_free(&only);
}

static void loads(hn_gp *c, hn_sv id, int k, int words) {
    if (k == c->n_lane) {
        wide_load(c, id, words);
        return;
    }
    hn_gpu_lane *l = &c->lane[k];
    int64_t n = !l->vector && c->sv_mask[id] >> k & 1 ? l->n : 1;
    for (l->at = 0; l->at < n; l->at++) loads(c, id, k + 1, words);
    l->at = 0;
}

bool hn_gp_wide_let(hn_gp *c, hn_sv id) {
    const hn_scalar x = c->n->sv[id];
    int k = vector_lane(c);
    if (x.kind != HN_SV_LOAD || k < 0 || !(c->sv_mask[id] >> k & 1) || guards_vary(c, x.n_guard, x.guard)) return false;
    int words = words_of(c, x.buf, x.at);
    if (words) loads(c, id, 0, words);
    return words > 0;
}

/* The register's form of a lane's value as raw bits in 32. */
static void to_bits(hn_gp *c, hn_str *out, hone_dtype t, const char *value) {
    hn_str put = {0};
    hn_gp_put(c, &put, t, value);
    int bits = (int)hn_dtype_of(t)->size_b * 8;
    if (t == HONE_F32)
        hn_str_addf(out, "hnr_float_bits(%s)", put.text ? put.text : "0");
    else if (bits == 32)
        hn_str_addf(out, "(uint32_t)%s", put.text ? put.text : "0");
    else
        hn_str_addf(out, "((uint32_t)%s & %uu)", put.text ? put.text : "0", (1u << bits) - 1);
    hn_str_free(&put);
}

static void wide_store(hn_gp *c, const hn_stmt *s, int words) {
    hone_dtype t = c->n->buf[s->buf].dtype;
    int k = vector_lane(c), bits = (int)hn_dtype_of(t)->size_b * 8, known = 1;
    hn_str to = {0}, value = {0}, only = {0};
    if (s->n_guard) known = hn_gp_known_guards(c, s->n_guard, s->guard);
    if (!known) return;
    if (known < 0) {
        hn_str_add(&only, "if (");
        hn_gp_guards(c, &only, s->n_guard, s->guard);
        hn_str_add(&only, ") ");
    }
    place(c, &to, s->buf, s->at, words, "");
    for (int64_t l = 0; l < c->lane[k].n; l++) {
        hn_str name = {0};
        int64_t shift = l * bits % 32;
        if (l) hn_str_add(&value, shift ? " | " : ", ");
        c->lane[k].at = l;
        hn_gp_name(c, &name, s->value);
        to_bits(c, &value, t, name.text ? name.text : "0");
        if (shift) hn_str_addf(&value, " << %d", (int)shift);
        hn_str_free(&name);
    }
    c->lane[k].at = 0;
    if (words == 1)
        hn_gp_line(c, "%s%s = %s;", only.text ? only.text : "", to.text, value.text);
    else
        hn_gp_line(c, "%s%s = HNR_W%d(%s);", only.text ? only.text : "", to.text, words, value.text);
    hn_str_free(&to);
    hn_str_free(&value);
    hn_str_free(&only);
}

static void stores(hn_gp *c, const hn_stmt *s, uint32_t mask, int k, int words) {
    if (k == c->n_lane) {
        wide_store(c, s, words);
        return;
    }
    hn_gpu_lane *l = &c->lane[k];
    int64_t n = !l->vector && mask >> k & 1 ? l->n : 1;
    for (l->at = 0; l->at < n; l->at++) stores(c, s, mask, k + 1, words);
    l->at = 0;
}

bool hn_gp_wide_store(hn_gp *c, const hn_stmt *s) {
    hn_str one = {0};
    int k = vector_lane(c);
    if (k < 0 || c->n->buf[s->buf].space == HN_REG || guards_vary(c, s->n_guard, s->guard)) return false;
    bool once = hn_gp_first_thread(c, &one, (hn_st)(s - c->n->st));
    int words = once ? 0 : words_of(c, s->buf, s->at);
    uint32_t mask = hn_gp_ix_mask(c, s->at) | c->sv_mask[s->value];
    for (uint32_t g = 0; g < s->n_guard; g++) mask |= hn_gp_ix_mask(c, s->guard[g]);
    if (words) stores(c, s, mask, 0, words);
    hn_str_free(&one);
    return words > 0;
}
