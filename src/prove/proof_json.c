/* prove/proof_json.c — a proof as JSON and back, and proofs out of the store. docs/proof.md, "As JSON". */
#include "base/err.h"
#include "prove/verdict.h"
#include "record/proofs.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names are stored in records: never rename. */
static const char *const reject_name[HONE_N_REJECT] = {
    [HONE_NOT_REJECTED] = "",        [HONE_REJECT_FAILS] = "fails",         [HONE_REJECT_PARITY] = "parity",
    [HONE_REJECT_GAIN] = "gain",     [HONE_REJECT_UNDECIDED] = "undecided", [HONE_REJECT_TAIL] = "tail",
    [HONE_REJECT_SPREAD] = "spread", [HONE_REJECT_HELD_OUT] = "held_out",   [HONE_REJECT_LIMIT] = "limit",
    [HONE_REJECT_SAME] = "same",     [HONE_REJECT_UNREACHED] = "unreached",
};
static const char *const finding_name[] = {[HONE_EVEN] = "even", [HONE_GAINS] = "gains", [HONE_LOSES] = "loses"};

const char *hone_proof_reject_name(hone_proof_reject why) {
    return (unsigned)why < HONE_N_REJECT ? reject_name[why] : "?";
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* JSON has no NAN and no infinities: null, and the largest double for an interval without an end. */
static json_t *number(double x) {
    if (isnan(x)) return json_null();
    if (isinf(x)) return json_real(x < 0 ? -1.7976931348623157e308 : 1.7976931348623157e308);
    return json_real(x);
}

static json_t *interval(hone_interval x) {
    return json_pack("{so so so}", "lo", number(x.lo), "mid", number(x.mid), "hi", number(x.hi));
}

static json_t *distribution(const hone_distribution *d) {
    return json_pack("{sI so so so so so so so}", "n", (json_int_t)d->n, "p5", number(d->p5), "p25", number(d->p25),
                     "p50", number(d->p50), "p75", number(d->p75), "p95", number(d->p95), "mean", number(d->mean), "sd",
                     number(d->sd));
}

static json_t *comparison(const hone_comparison *c) {
    if (!c->quantity) return json_null();
    return json_pack("{ss ss sb so so so so so so so so ss}", "quantity", c->quantity, "input",
                     c->input ? c->input : "", "held_out", (int)c->held_out, "gain", interval(c->gain), "baseline",
                     distribution(&c->baseline), "tuned", distribution(&c->tuned), "p_wilcoxon", number(c->p_wilcoxon),
                     "p_mann_whitney", number(c->p_mann_whitney), "p_welch", number(c->p_welch), "p_adjusted",
                     number(c->p_adjusted), "effect", number(c->effect), "finding", finding_name[c->finding]);
}

static json_t *comparisons(const hone_comparison *c, size_t n) {
    if (!c) return json_null();
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(all, comparison(&c[i]));
    return all;
}

/* [variant, pair, input, objective, baseline, tuned]: 30 bytes instead of 100. */
static json_t *samples(const hone_proof *p) {
    json_t *all = json_array();
    for (size_t i = 0; i < p->n_samples; i++) {
        const hone_proof_sample *s = &p->sample[i];
        json_array_append_new(all, json_pack("[i i i i o o]", (int)s->variant, (int)s->pair, (int)s->input,
                                             (int)s->objective, number(s->baseline), number(s->tuned)));
    }
    return all;
}

static json_t *to_json(const hone_proof *p, bool with_samples) {
    size_t m = p->n_objectives;
    json_t *j = json_object();
    json_object_set_new(j, "point", json_string(p->point ? p->point : ""));
    json_object_set_new(j, "argv", json_string(p->argv ? p->argv : ""));
    json_object_set_new(j, "kept", json_boolean(p->kept));
    json_object_set_new(j, "why", json_string(hone_proof_reject_name(p->why)));
    json_object_set_new(j, "verdict", json_string(p->verdict ? p->verdict : ""));
    json_object_set_new(j, "n_objectives", json_integer((json_int_t)m));
    json_object_set_new(j, "n_inputs", json_integer((json_int_t)p->n_inputs));
    json_object_set_new(j, "overall", comparisons(p->overall, m));
    json_object_set_new(j, "tail", comparisons(p->tail, m));
    json_object_set_new(j, "held_out", comparisons(p->held_out, m));
    json_object_set_new(j, "by_input", comparisons(p->by_input, m * p->n_inputs));
    json_object_set_new(j, "spread", number(p->spread));
    json_object_set_new(j, "n_pairs", json_integer((json_int_t)p->n_pairs));
    json_object_set_new(j, "n_variants", json_integer((json_int_t)p->n_variants));
    json_object_set_new(j, "noise", number(p->noise));
    json_object_set_new(j, "layout", json_string(p->layout ? p->layout : ""));
    json_object_set_new(j, "seconds", number(p->seconds));
    if (with_samples) json_object_set_new(j, "samples", samples(p));
    return j;
}

hone_rc hone_proof_to_json(const hone_proof *proof, bool with_samples, char **text, hone_err *err) {
    json_t *j = to_json(proof, with_samples);
    char *got = j ? json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(j);
    if (!got) return hn_fail(err, HONE_E_NOMEM, "out of memory, or a text that is no UTF-8, writing a proof");
    *text = got;
    return HONE_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct reading {
    hn_arena *a;
    hone_err *err;
    hone_rc rc;
} reading;

static void *refuse(reading *r, const char *key) {
    if (!r->rc) r->rc = hn_fail(r->err, HONE_E_INPUT, "a recorded proof has no valid '%s'", key);
    return NULL;
}

static double read_number(reading *r, const json_t *j, const char *key) {
    const json_t *x = json_object_get(j, key);
    if (json_is_null(x)) return NAN;
    if (!json_is_number(x)) refuse(r, key);
    return json_number_value(x);
}

static size_t read_count(reading *r, const json_t *j, const char *key) {
    const json_t *x = json_object_get(j, key);
    if (!json_is_integer(x) || json_integer_value(x) < 0) refuse(r, key);
    return (size_t)json_integer_value(x);
}

static const char *read_text(reading *r, const json_t *j, const char *key) {
    const json_t *x = json_object_get(j, key);
    return json_is_string(x) ? hn_strdup(r->a, json_string_value(x)) : refuse(r, key);
}

static hone_interval read_interval(reading *r, const json_t *j, const char *key) {
    const json_t *x = json_object_get(j, key);
    return (hone_interval){read_number(r, x, "lo"), read_number(r, x, "mid"), read_number(r, x, "hi")};
}

static hone_distribution read_distribution(reading *r, const json_t *j, const char *key) {
    const json_t *x = json_object_get(j, key);
    return (hone_distribution){read_count(r, x, "n"),     read_number(r, x, "p5"),  read_number(r, x, "p25"),
                               read_number(r, x, "p50"),  read_number(r, x, "p75"), read_number(r, x, "p95"),
                               read_number(r, x, "mean"), read_number(r, x, "sd")};
}

static hone_proof_finding read_finding(reading *r, const json_t *j) {
    const char *text = json_string_value(json_object_get(j, "finding"));
    for (size_t i = 0; text && i < sizeof finding_name / sizeof *finding_name; i++)
        if (!strcmp(text, finding_name[i])) return (hone_proof_finding)i;
    refuse(r, "finding");
    return HONE_EVEN;
}

static hone_comparison read_comparison(reading *r, const json_t *j) {
    hone_comparison c = {.quantity = NULL};
    if (json_is_null(j)) return c;
    c.quantity = read_text(r, j, "quantity");
    c.input = read_text(r, j, "input");
    c.held_out = json_is_true(json_object_get(j, "held_out"));
    c.gain = read_interval(r, j, "gain");
    c.baseline = read_distribution(r, j, "baseline");
    c.tuned = read_distribution(r, j, "tuned");
    c.p_wilcoxon = read_number(r, j, "p_wilcoxon");
    c.p_mann_whitney = read_number(r, j, "p_mann_whitney");
    c.p_welch = read_number(r, j, "p_welch");
    c.p_adjusted = read_number(r, j, "p_adjusted");
    c.effect = read_number(r, j, "effect");
    c.finding = read_finding(r, j);
    return c;
}

/* n comparisons, NULL where the key holds null. */
static hone_comparison *read_comparisons(reading *r, const json_t *j, const char *key, size_t n) {
    const json_t *list = json_object_get(j, key);
    if (json_is_null(list)) return NULL;
    if (!json_is_array(list) || json_array_size(list) != n) return refuse(r, key);
    hone_comparison *all = HN_NEW_N(r->a, hone_comparison, n);
    for (size_t i = 0; all && !r->rc && i < n; i++) all[i] = read_comparison(r, json_array_get(list, i));
    return all;
}

static void read_samples(reading *r, const json_t *j, hone_proof *p) {
    const json_t *list = json_object_get(j, "samples");
    size_t n = json_array_size(list);
    p->sample = n ? HN_NEW_N(r->a, hone_proof_sample, n) : NULL;
    for (size_t i = 0; p->sample && i < n; i++) {
        const json_t *x = json_array_get(list, i), *base = json_array_get(x, 4), *tuned = json_array_get(x, 5);
        if (json_array_size(x) != 6) refuse(r, "samples");
        unsigned at[4];
        for (size_t k = 0; k < 4; k++) at[k] = (unsigned)json_integer_value(json_array_get(x, k));
        p->sample[i] = (hone_proof_sample){.variant = at[0], .pair = at[1], .input = at[2], .objective = at[3]};
        p->sample[i].baseline = json_is_null(base) ? NAN : json_number_value(base);
        p->sample[i].tuned = json_is_null(tuned) ? NAN : json_number_value(tuned);
        bool within = at[2] < p->n_inputs && at[3] < p->n_objectives;
        if (!within) refuse(r, "samples");
    }
    p->n_samples = p->sample ? n : 0;
}

static hone_proof_reject read_why(reading *r, const json_t *j) {
    const char *text = json_string_value(json_object_get(j, "why"));
    for (size_t i = 0; text && i < HONE_N_REJECT; i++)
        if (!strcmp(text, reject_name[i])) return (hone_proof_reject)i;
    refuse(r, "why");
    return HONE_NOT_REJECTED;
}

static void read_proof(reading *r, const json_t *j, hone_proof *p) {
    p->point = read_text(r, j, "point");
    p->argv = read_text(r, j, "argv");
    p->kept = json_is_true(json_object_get(j, "kept"));
    p->why = read_why(r, j);
    p->verdict = read_text(r, j, "verdict");
    p->n_objectives = read_count(r, j, "n_objectives");
    p->n_inputs = read_count(r, j, "n_inputs");
    if (p->n_objectives > HONE_MAX_OBJECTIVES || p->n_inputs > 1u << 20) refuse(r, "n_inputs");
    if (r->rc) return;
    p->overall = read_comparisons(r, j, "overall", p->n_objectives);
    p->tail = read_comparisons(r, j, "tail", p->n_objectives);
    p->held_out = read_comparisons(r, j, "held_out", p->n_objectives);
    p->by_input = read_comparisons(r, j, "by_input", p->n_objectives * p->n_inputs);
    if (!p->overall) refuse(r, "overall");
    if (!p->tail) p->tail = HN_NEW_N(r->a, hone_comparison, p->n_objectives); /* no objective has a tail */
    if (!p->by_input) refuse(r, "by_input");
    p->spread = read_number(r, j, "spread");
    p->n_pairs = read_count(r, j, "n_pairs");
    p->n_variants = read_count(r, j, "n_variants");
    p->noise = read_number(r, j, "noise");
    p->layout = read_text(r, j, "layout");
    p->seconds = read_number(r, j, "seconds");
    read_samples(r, j, p);
}

static hone_rc read_one(hn_arena *a, const char *text, hone_proof *out, hone_err *err) {
    json_error_t why;
    json_t *j = json_loads(text, 0, &why);
    if (!j) return hn_fail(err, HONE_E_INPUT, "a recorded proof is no JSON: line %d: %s", why.line, why.text);
    reading r = {.a = a, .err = err};
    read_proof(&r, j, out);
    json_decref(j);
    if (!r.rc && !hn_arena_ok(a)) r.rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading a proof");
    return r.rc;
}

hone_rc hone_proofs_from_json(const char *const *text, size_t n, hone_proofs *out, hone_err *err) {
    hn_arena *a = calloc(1, sizeof *a);
    if (!a) return hn_fail(err, HONE_E_NOMEM, "out of memory reading proofs");
    hone_proofs got = {.proof = HN_NEW_N(a, hone_proof, n), .block = a};
    hone_rc rc = got.proof ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading proofs");
    for (; !rc && got.n < n; got.n++) rc = read_one(a, text[got.n], &got.proof[got.n], err);
    if (rc)
        hone_proofs_free(&got);
    else
        *out = got;
    return rc;
}

void hone_proofs_free(hone_proofs *proofs) {
    if (!proofs || !proofs->block) return;
    hn_arena_free(proofs->block);
    free(proofs->block);
    *proofs = (hone_proofs){0};
}

/* --- the store ---------------------------------------------------------------------------------------------------- */

hone_rc hone_proofs_load(hone_store *store, int64_t session, hone_proofs *out, hone_err *err) {
    hn_arena scratch = {0};
    const char **text = NULL;
    size_t n = 0;
    hone_rc rc = hn_proofs_texts(store, session, &scratch, &text, &n, err);
    if (!rc) rc = hone_proofs_from_json(text, n, out, err);
    hn_arena_free(&scratch);
    return rc;
}
