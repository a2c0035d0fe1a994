/* bench_text.c — `hone bench` of a language model: prompt and generation rates, alone or beside a peer. */
#include "bench_text.h"
#include "signals.h"

#include <hone/import.h>
#include <hone/text_speed.h>

#include <jansson.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_is_language_model(const char *path) {
    const char *format = hone_import_format_of(path);
    return format && (!strcmp(format, "gguf") || !strcmp(format, "hf"));
}

/* What a token costs, by the model's file. */
typedef struct cost {
    double weights_b, cache_b;    /* read per token; cache_b: and per token in front of it */
    double body, head, attention; /* weights that a token is multiplied with, the head's; 4 layers heads size */
    double i8_ops_per_s;          /* of this machine, on so many threads; 0: not known */
} cost;

typedef struct row {
    size_t prompt, tokens;
    hone_text_speed seen;
    hone_interval share_i8;
    double read_b; /* per token of the answer */
} row;

typedef struct benching {
    const char *path;
    uint32_t n_threads, rounds;
    double context; /* of the model, at most; NAN: not told */
    cost cost;
    row *row;
    size_t n_rows;
    hone_text_peer *peer;
    const volatile int *stop;
} benching;

/* --- what a token costs ------------------------------------------------------------------------------------------- */

static double fact(const json_t *facts, const char *name) {
    const json_t *x = json_object_get(facts, name);
    return json_is_number(x) ? json_number_value(x) : NAN;
}

/* What the file says; NANs for what its format does not tell. */
static hone_rc read_facts(benching *b, hone_err *err) {
    char *text = NULL;
    hone_rc rc = hone_import_inspect(b->path, &text, err);
    if (rc) return rc;
    json_t *facts = json_loads(text, 0, NULL);
    hone_free(text);
    double head = fact(facts, "vocabulary") * fact(facts, "width");
    cost *out = &b->cost;
    b->context = fact(facts, "context");
    out->weights_b = fact(facts, "weights_read_b_per_token");
    out->body = fact(facts, "weights_multiplied_per_token") - head;
    out->head = head;
    out->attention = 4 * fact(facts, "layers") * fact(facts, "heads") * fact(facts, "head_size");
    json_decref(facts);
    return HONE_OK;
}

/* --- lengths ------------------------------------------------------------------------------------------------------ */

enum { MOST_LENGTHS = 16 };

static hone_rc read_lengths(const char *option, const char *text, size_t *out, size_t *n, hone_err *err) {
    char *copy = cli_strdup(text);
    const char **word = cli_split_options(copy);
    hone_rc rc = HONE_OK;
    *n = 0;
    for (size_t i = 0; word[i] && !rc; i++) {
        uint64_t x = 0;
        if (*n == MOST_LENGTHS)
            rc = cli_fail(err, HONE_E_USAGE, "--%s takes %d lengths at most", option, MOST_LENGTHS);
        else if (!cli_parse_count(word[i], &x) || !x || x > 100000000)
            rc = cli_fail(err, HONE_E_USAGE, "--%s '%s' is no number of tokens", option, word[i]);
        else
            out[(*n)++] = (size_t)x;
    }
    if (!rc && !*n) rc = cli_fail(err, HONE_E_USAGE, "--%s names no number of tokens", option);
    free(word);
    free(copy);
    return rc;
}

/* Every prompt with every answer. The usual lengths shrink to what the model's context holds. */
static hone_rc make_rows(const cli *c, benching *b, size_t *context, hone_err *err) {
    size_t prompt[MOST_LENGTHS] = {512}, tokens[MOST_LENGTHS] = {128}, n = 1, k = 1;
    const char *prompts = cli_text(c, "prompt-tokens", NULL), *answers = cli_text(c, "tokens", NULL);
    hone_rc rc = prompts ? read_lengths("prompt-tokens", prompts, prompt, &n, err) : HONE_OK;
    if (!rc && answers) rc = read_lengths("tokens", answers, tokens, &k, err);
    if (rc) return rc;
    if (!prompts && !answers && b->context >= 2 && b->context < 640) {
        prompt[0] = (size_t)(b->context * 0.8);
        tokens[0] = (size_t)b->context - prompt[0];
    }
    b->row = cli_alloc(n * k, sizeof *b->row);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++) {
            b->row[b->n_rows++] = (row){.prompt = prompt[i], .tokens = tokens[j]};
            if (prompt[i] + tokens[j] > *context) *context = prompt[i] + tokens[j];
        }
    return HONE_OK;
}

/* --- the machine -------------------------------------------------------------------------------------------------- */

/* The machine's table; where nothing has been measured, it is now. */
static void look_at_machine(const cli *c, benching *b) {
    hone_device d;
    hone_device_get(&d);
    if (!b->n_threads) b->n_threads = d.n_cores;
    if (!(d.memory_bps > 0)) {
        if (!c->json && isatty(STDERR_FILENO))
            fputs("measuring this machine, as `hone doctor --measure` does once for all ...\n", stderr);
        if (hone_device_measure(cli_text(c, "cc", NULL), &d, NULL)) return;
    }
    b->cost.i8_ops_per_s = d.i8_ops * b->n_threads;
}

static hone_interval scaled(hone_interval x, double by) { return (hone_interval){x.lo * by, x.mid * by, x.hi * by}; }

/* The share of the operations that the machine can do: those of the prompt, whose head is needed once. */
static void find_share(const cost *k, row *r) {
    double n = (double)r->prompt, ops = 2 * (k->body * n + k->head) + k->attention * n * (n + 1) / 2;
    r->share_i8 = scaled(r->seen.mine.prompt, k->i8_ops_per_s > 0 ? ops / n / k->i8_ops_per_s : NAN);
}

/* --- what was seen ------------------------------------------------------------------------------------------------ */

static void put_interval(cli_json *j, const char *key, hone_interval x) {
    char *ci = cli_format("%s_ci", key);
    cli_json_knumber(j, key, x.mid);
    cli_json_key(j, ci);
    cli_json_array(j);
    cli_json_number(j, x.lo);
    cli_json_number(j, x.hi);
    cli_json_close(j);
    free(ci);
}

static void put_rates(cli_json *j, const hone_text_rates *r) {
    put_interval(j, "prompt_tokens_per_s", r->prompt);
    put_interval(j, "generation_tokens_per_s", r->generation);
    put_interval(j, "first_token_s", r->first_s);
    cli_json_kcount(j, "resident_b", r->resident_b);
}

static void put_row(cli_json *j, const benching *b, const row *r) {
    cli_json_kcount(j, "prompt_tokens", r->prompt);
    cli_json_kcount(j, "tokens", r->tokens);
    put_rates(j, &r->seen.mine);
    put_interval(j, "share_of_bandwidth", r->seen.bandwidth_share);
    put_interval(j, "bandwidth_b_per_s", r->seen.bandwidth);
    put_interval(j, "share_of_int8_peak", r->share_i8);
    cli_json_knumber(j, "read_b_per_token", r->read_b);
    if (!b->peer) return;
    cli_json_key(j, "peer");
    cli_json_object(j);
    cli_json_ktext(j, "name", hone_text_peer_name(b->peer));
    put_rates(j, &r->seen.peer);
    cli_json_close(j);
    put_interval(j, "prompt_ratio", r->seen.prompt_ratio);
    put_interval(j, "generation_ratio", r->seen.generation_ratio);
}

/* The first row's figures stand in the value itself, too. */
static void put_json(cli *c, const benching *b) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "model", b->path);
    cli_json_kcount(&j, "threads", b->n_threads);
    cli_json_kcount(&j, "rounds", b->rounds);
    cli_json_ktext(&j, "cache", cli_text(c, "cache-type", cli_given(c, "exact") ? "f32" : "f16"));
    cli_json_kbool(&j, "exact", cli_given(c, "exact"));
    cli_json_ktext(&j, "activations", cli_text(c, "activations", cli_given(c, "exact") ? "float" : "auto"));
    put_row(&j, b, b->row);
    cli_json_knumber(&j, "weights_read_b_per_token", b->cost.weights_b);
    cli_json_knumber(&j, "cache_b_per_token", b->cost.cache_b);
    cli_json_knumber(&j, "int8_ops_per_s", b->cost.i8_ops_per_s);
    cli_json_key(&j, "results");
    cli_json_array(&j);
    for (size_t i = 0; i < b->n_rows; i++) {
        cli_json_object(&j);
        put_row(&j, b, &b->row[i]);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void rate_cell(cli_table *t, hone_interval x) {
    cli_table_cell(t, "%.4g", x.mid);
    cli_table_cell(t, "%.4g .. %.4g", x.lo, x.hi);
}

static void share_cell(cli_table *t, hone_interval x) {
    if (isfinite(x.mid))
        cli_table_cell(t, "%.1f %%", 100 * x.mid);
    else
        cli_table_cell(t, "-");
}

static void table_row(cli_table *t, const row *r, const char *name, const hone_text_rates *x, bool mine) {
    const hone_interval none = {NAN, NAN, NAN};
    char b[2][CLI_TEXT_N];
    cli_table_cell(t, "%s", name);
    cli_table_cell(t, "%zu + %zu", r->prompt, r->tokens);
    rate_cell(t, x->prompt);
    share_cell(t, mine ? r->share_i8 : none);
    rate_cell(t, x->generation);
    share_cell(t, mine ? r->seen.bandwidth_share : none);
    cli_table_cell(t, "%s", cli_text_seconds(x->first_s.mid, b[0]));
    cli_table_cell(t, "%s", x->resident_b ? cli_text_bytes((double)x->resident_b, b[1]) : "-");
}

static void put_text(const cli *c, const benching *b) {
    static const char *const heads[] = {"who",         "tokens", "prompt/s",     "95 %",  "of int8",
                                        "generated/s", "95 %",   "of bandwidth", "first", "memory"};
    cli_table *t = cli_table_new("lrrlrrlrrr");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cli_table_head(t, heads[i]);
    for (size_t i = 0; i < b->n_rows; i++) {
        table_row(t, &b->row[i], "hone", &b->row[i].seen.mine, true);
        if (b->peer) table_row(t, &b->row[i], hone_text_peer_name(b->peer), &b->row[i].seen.peer, false);
    }
    cli_table_print(c, t, stdout, 0);
    for (size_t i = 0; b->peer && i < b->n_rows; i++) {
        const hone_text_speed *s = &b->row[i].seen;
        printf("%zu + %zu tokens, hone / %s: prompt %.3f (%.3f .. %.3f), generation %.3f (%.3f .. %.3f)\n",
               b->row[i].prompt, b->row[i].tokens, hone_text_peer_name(b->peer), s->prompt_ratio.mid,
               s->prompt_ratio.lo, s->prompt_ratio.hi, s->generation_ratio.mid, s->generation_ratio.lo,
               s->generation_ratio.hi);
    }
    if (isfinite(b->row->seen.bandwidth.mid))
        printf("the memory gave %.3g GB/s (%.3g .. %.3g) to as many threads in the same rounds\n",
               1e-9 * b->row->seen.bandwidth.mid, 1e-9 * b->row->seen.bandwidth.lo, 1e-9 * b->row->seen.bandwidth.hi);
    printf("%u threads, %u rounds; a token reads %.4g MB of weights, and %.4g kB of keys and values for each token in "
           "front of it\n",
           b->n_threads, b->rounds, 1e-6 * b->cost.weights_b, 1e-3 * b->cost.cache_b);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static void tell(void *arg, const hone_event *e) {
    const cli *c = arg;
    if (!c->json && e->text) fprintf(stderr, "%s\n", e->text);
}

static hone_rc open_peer(const cli *c, benching *b, size_t context, hone_err *err) {
    if (!cli_given(c, "against")) {
        if (cli_given(c, "peer"))
            return cli_fail(err, HONE_E_USAGE, "--peer names the program of a peer; say which by --against");
        return HONE_OK;
    }
    hone_text_peer_options o = hone_text_peer_defaults();
    o.engine = cli_text(c, "against", NULL);
    o.program = cli_text(c, "peer", NULL);
    o.n_threads = b->n_threads;
    o.context = context;
    return hone_text_peer_open(b->path, &o, &b->peer, err);
}

static hone_rc measure(const cli *c, benching *b, hone_text *m, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < b->n_rows && !rc; i++) {
        hone_text_speed_options o = hone_text_speed_defaults();
        o.prompt_tokens = b->row[i].prompt;
        o.tokens = b->row[i].tokens;
        o.rounds = b->rounds;
        o.seed = cli_count(c, "seed", 1);
        o.peer = b->peer;
        o.stop = b->stop;
        /* what must be read for a token in the middle of the answer */
        b->row[i].read_b = b->cost.weights_b + b->cost.cache_b * ((double)o.prompt_tokens + (double)o.tokens / 2);
        o.read_b = isfinite(b->row[i].read_b) ? b->row[i].read_b : 0;
        o.n_threads = b->n_threads;
        rc = hone_text_speed_measure(m, &o, &b->row[i].seen, err);
        if (!rc) find_share(&b->cost, &b->row[i]);
    }
    return rc;
}

/* What only models with arrays for inputs take. */
static hone_rc check_options(const cli *c, hone_err *err) {
    static const char *const others[] = {"profile", "size", "time", "symbol", "specialize", "relaxed", "reference"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_given(c, others[i]))
            return cli_fail(err, HONE_E_USAGE,
                            "--%s is not for language models; see --prompt-tokens, --tokens, --rounds", others[i]);
    return HONE_OK;
}

hone_rc cli_bench_text(cli *c, hone_err *err) {
    benching b = {.path = c->arg[0],
                  .n_threads = (uint32_t)cli_count(c, "threads", 0),
                  .rounds = (uint32_t)cli_count(c, "rounds", 5),
                  .stop = cli_catch_signals(false).stop};
    hone_text_options o = hone_text_defaults();
    hone_text *m = NULL;
    size_t context = 0;
    hone_rc rc = check_options(c, err);
    if (!rc) rc = read_facts(&b, err);
    if (!rc) rc = make_rows(c, &b, &context, err);
    if (!rc) look_at_machine(c, &b);
    o.n_threads = b.n_threads;
    o.context = (int64_t)context;
    o.compiler = cli_text(c, "cc", NULL);
    o.target = cli_text(c, "target", NULL);
    o.no_parity = cli_given(c, "no-parity");
    o.no_tokenizer = true;
    o.cache = cli_text(c, "cache-type", NULL);
    o.exact = cli_given(c, "exact");
    o.activations = cli_text(c, "activations", NULL);
    o.progress = (hone_progress){tell, c};
    o.stop = b.stop;
    if (!rc) rc = hone_text_open(b.path, &o, &m, err);
    malloc_trim(0); /* what a compilation used is not the model's memory */
    if (!rc) b.cost.cache_b = (double)hone_text_cache_b(m);
    if (!rc) rc = open_peer(c, &b, context, err);
    if (!rc) rc = measure(c, &b, m, err);
    if (!rc && c->json)
        put_json(c, &b);
    else if (!rc)
        put_text(c, &b);
    hone_text_peer_close(b.peer);
    hone_text_close(m);
    free(b.row);
    return rc;
}
