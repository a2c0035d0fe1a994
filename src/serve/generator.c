/* generator.c — requests by a plan, sent whatever the server does; the times of each.
 *
 * With a rate the loop is open: a request's times count from when it was due, so a server that stalls does not slow
 * down the questions (Tene's "coordinated omission"). Two servers take turns, round by round. */
#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"
#include "base/rng.h"
#include "base/str.h"
#include "serve/tensor_load.h"
#include "serve/tls.h"
#include "serve/trace.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <hone/load.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_S = 600, WARM_UP = 32 /* requests of a trace */ };

typedef struct series {
    double *x;
    size_t n, room;
} series;

typedef struct side {
    const char *host, *scheme;
    char *name, *path; /* path: of the call */
    json_t *metadata;  /* of a model of tensors */
    bool secure;
    uint16_t port;
    series first, between, whole;
    double rate[HONE_LOAD_ROUNDS];
    size_t n_rounds, n, n_failed, n_tokens;
    int last_status;
} side;

typedef struct load {
    hone_load_options o;
    struct event_base *base;
    hn_tls *tls; /* NULL: no server needs it */
    side *side;
    bool warm;                          /* a round that counts */
    size_t n, n_sent, n_over, n_tokens; /* of this round */
    bool open;                          /* requests come when they are due */
    uint64_t round;
    hn_trace trace, saved;
    bool saving;
    double begin_s, due_s; /* of the round; of the requests that come next */
    int64_t tensor_size[HN_TENSOR_SIZES];
    size_t n_tensor_size;
    hn_rng gaps;
    bool nomem;
} load;

typedef struct shot {
    load *l;
    struct evhttp_connection *con;
    double due_s, first_s, last_s;
    size_t n_prompt, n_tokens;
    bool over;
} shot;

static void push(load *l, series *s, double x) {
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 256;
        double *more = realloc(s->x, room * sizeof *more);
        if (!more) {
            l->nomem = true;
            return;
        }
        s->x = more;
        s->room = room;
    }
    s->x[s->n++] = x;
}

/* --- one request -------------------------------------------------------------------------------------------------- */

static void send_one(load *l, double due_s);

/* Lines of events: each with text is a token or more, the last one says how many there were. */
static void on_chunk(struct evhttp_request *r, void *arg) {
    shot *t = arg;
    struct evbuffer *in = evhttp_request_get_input_buffer(r);
    double now_s = hn_now_s();
    char *line;
    size_t n;
    while ((line = evbuffer_readln(in, &n, EVBUFFER_EOL_LF))) {
        json_t *o = strncmp(line, "data: {", 7) ? NULL : json_loads(line + 6, JSON_ALLOW_NUL, NULL);
        const json_t *choice = json_array_get(json_object_get(o, "choices"), 0);
        if (json_string_length(json_object_get(choice, "text"))) {
            if (t->first_s > 0 && t->l->warm) push(t->l, &t->l->side->between, now_s - t->last_s);
            if (!(t->first_s > 0)) t->first_s = now_s;
            t->last_s = now_s;
        }
        const json_t *usage = json_object_get(o, "usage");
        json_int_t k = json_integer_value(json_object_get(usage, "completion_tokens"));
        if (k > 0) t->n_tokens = (size_t)k;
        k = json_integer_value(json_object_get(usage, "prompt_tokens"));
        if (k > 0) t->n_prompt = (size_t)k;
        json_decref(o);
        free(line);
    }
}

static void on_end(struct evhttp_request *r, void *arg) {
    shot *t = arg;
    load *l = t->l;
    side *s = l->side;
    int status = r ? evhttp_request_get_response_code(r) : 0;
    double now_s = hn_now_s();
    if (t->over) return;
    t->over = true;
    l->n_over++;
    if (l->o.infer) t->n_tokens = status == 200;
    l->n_tokens += t->n_tokens;
    bool good = status == 200 && t->n_tokens > 0;
    if (!good) s->last_status = status;
    if (l->warm) {
        s->n++;
        s->n_failed += !good;
        s->n_tokens += t->n_tokens;
        if (good && t->first_s > 0) push(l, &s->first, t->first_s - t->due_s);
        if (good) push(l, &s->whole, now_s - t->due_s);
    }
    if (l->saving && good && t->n_prompt &&
        !hn_trace_add(&l->saved, (hn_trace_row){t->due_s, (uint32_t)t->n_prompt, (uint32_t)t->n_tokens}))
        l->nomem = true;
    if (!l->open && l->n_sent < l->n) send_one(l, now_s);
    if (l->n_over == l->n) event_base_loopbreak(l->base);
    free(t);
}

static char *completion_of(const load *l, uint64_t index) {
    static const char *const word[] = {"time", "water", "light", "house", "people", "number", "sound", "place",
                                       "year", "work",  "world", "hand",  "night",  "story",  "river", "line"};
    hn_rng r = hn_rng_make(l->o.seed, 1000 * l->round + index + 1);
    hn_str text = {0};
    uint32_t n_words = l->trace.n ? l->trace.row[index].prompt : l->o.prompt_words;
    for (uint32_t i = 0; i < n_words; i++)
        hn_str_addf(&text, "%s%s", i ? " " : "", word[hn_rng_below(&r, sizeof word / sizeof *word)]);
    json_t *o = json_pack("{s:s, s:i, s:f, s:b, s:b, s:{s:b}}", "prompt", text.failed ? "" : text.text, "max_tokens",
                          (int)(l->trace.n ? l->trace.row[index].answer : l->o.tokens), "temperature", 0., "ignore_eos",
                          1, "stream", 1, "stream_options", "include_usage", 1);
    if (o && l->o.model) json_object_set_new(o, "model", json_string(l->o.model));
    char *body = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    hn_str_free(&text);
    return body;
}

static hn_tensor_body body_of(const load *l, uint64_t index) {
    hn_tensor_body b = {0};
    if (l->o.infer) {
        hn_tensor_body_make(l->side->metadata, l->tensor_size, l->n_tensor_size, HN_TENSOR_MOST_B, l->o.seed,
                            1000 * l->round + index + 1, &b, NULL);
        return b;
    }
    b.bytes = completion_of(l, index);
    b.n = b.bytes ? strlen(b.bytes) : 0;
    return b;
}

static struct evhttp_connection *connect_to(const load *l) {
    const side *s = l->side;
    if (!s->secure) return evhttp_connection_base_new(l->base, NULL, s->host, s->port);
    struct bufferevent *bev = hn_tls_connect(l->tls, l->base, s->host);
    struct evhttp_connection *con =
        bev ? evhttp_connection_base_bufferevent_new(l->base, NULL, bev, s->host, s->port) : NULL;
    if (!con && bev) bufferevent_free(bev);
    return con;
}

static void add_headers(const load *l, struct evhttp_request *r, size_t n_json) {
    struct evkeyvalq *head = evhttp_request_get_output_headers(r);
    char bearer[300], length[24];
    evhttp_add_header(head, "Host", l->side->name);
    evhttp_add_header(head, "Content-Type", n_json ? "application/octet-stream" : "application/json");
    evhttp_add_header(head, "Connection", "close");
    snprintf(length, sizeof length, "%zu", n_json);
    if (n_json) evhttp_add_header(head, "Inference-Header-Content-Length", length);
    snprintf(bearer, sizeof bearer, "Bearer %s", l->o.key ? l->o.key : "");
    if (l->o.key) evhttp_add_header(head, "Authorization", bearer);
}

static void send_one(load *l, double due_s) {
    shot *t = calloc(1, sizeof *t);
    struct evhttp_request *r = t ? evhttp_request_new(on_end, t) : NULL;
    hn_tensor_body body = {0};
    if (r) body = body_of(l, l->n_sent);
    l->n_sent++;
    if (body.bytes) t->con = connect_to(l);
    if (!body.bytes || !t->con) {
        l->nomem = true;
        event_base_loopbreak(l->base);
        if (r) evhttp_request_free(r);
        free(body.bytes);
        free(t);
        return;
    }
    t->l = l;
    t->due_s = due_s;
    evhttp_connection_set_timeout(t->con, TIMEOUT_S);
    evhttp_connection_free_on_completion(t->con); /* looked at before on_end is called */
    if (!l->o.infer) evhttp_request_set_chunked_cb(r, on_chunk);
    add_headers(l, r, body.n_json);
    evbuffer_add(evhttp_request_get_output_buffer(r), body.bytes, body.n);
    free(body.bytes);
    evhttp_make_request(t->con, r, EVHTTP_REQ_POST, l->side->path); /* a failure comes through on_end */
}

/* --- a round ------------------------------------------------------------------------------------------------------ */

static void plan_next(load *l);
static void on_due(evutil_socket_t fd, short what, void *arg) {
    load *l = arg;
    (void)fd;
    (void)what;
    double due_s = l->due_s;
    for (uint32_t i = 0; i < (l->trace.n ? 1 : l->o.burst) && l->n_sent < l->n; i++) send_one(l, due_s);
    plan_next(l);
}

/* Bursts keep the rate: the gaps between them are longer. */
static void plan_next(load *l) {
    if (l->n_sent >= l->n) return;
    if (l->trace.n)
        l->due_s = l->begin_s + l->trace.row[l->n_sent].at_s;
    else
        l->due_s += -log(1 - hn_rng_unit(&l->gaps)) * l->o.burst / l->o.rate;
    double wait_s = l->due_s - hn_now_s();
    if (wait_s < 0) wait_s = 0;
    struct timeval t = {(time_t)wait_s, (suseconds_t)(1e6 * (wait_s - floor(wait_s)))};
    if (event_base_once(l->base, -1, EV_TIMEOUT, on_due, l, &t)) {
        l->nomem = true;
        event_base_loopbreak(l->base);
    }
}

static void on_tick(evutil_socket_t fd, short what, void *arg) {
    load *l = arg;
    (void)fd;
    (void)what;
    if (l->o.stop && *l->o.stop) event_base_loopbreak(l->base);
}

static void begin_round(load *l, side *s, uint64_t round) {
    l->side = s;
    l->round = round;
    l->warm = round > 0;
    l->open = l->trace.n ? l->warm : l->o.rate > 0;
    l->n = l->trace.n && !l->warm && l->o.n > WARM_UP ? WARM_UP : l->o.n;
    l->n_sent = l->n_over = l->n_tokens = 0;
    l->gaps = hn_rng_make(l->o.seed, 1000000 + round);
    l->begin_s = l->due_s = hn_now_s();
    if (l->open)
        on_due(-1, 0, l);
    else
        for (uint32_t i = 0; i < l->o.n_clients && l->n_sent < l->n; i++) send_one(l, l->begin_s);
}

static hone_rc run_round(load *l, side *s, uint64_t round, hone_err *err) {
    begin_round(l, s, round);
    event_base_dispatch(l->base);
    if (l->o.stop && *l->o.stop) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
    if (l->nomem) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (l->n_over < l->n) return hn_fail(err, HONE_E_FAILED, "the loop of events ended early");
    if (!l->n_tokens && s->last_status)
        return hn_fail(err, HONE_E_FAILED, "%s://%s answers %s with %d", s->scheme, s->name, s->path, s->last_status);
    if (!l->n_tokens && s->secure && hn_tls_refused(l->tls))
        return hn_fail(err, HONE_E_IO,
                       "the certificate of https://%s is not trusted: %s; give --ca FILE, or --insecure to trust any",
                       s->name, hn_tls_refused(l->tls));
    if (!l->n_tokens) return hn_fail(err, HONE_E_IO, "nobody answers at %s://%s", s->scheme, s->name);
    if (l->warm) s->rate[s->n_rounds++] = (double)l->n_tokens / (hn_now_s() - l->begin_s);
    return HONE_OK;
}

/* --- a model of tensors ---------------------------------------------------------------------------------------------
 */

typedef struct question {
    load *l;
    json_t *answer;
    int status;
    bool over;
} question;

static void on_metadata(struct evhttp_request *r, void *arg) {
    question *q = arg;
    struct evbuffer *in = r ? evhttp_request_get_input_buffer(r) : NULL;
    size_t n = in ? evbuffer_get_length(in) : 0;
    q->over = true;
    q->status = r ? evhttp_request_get_response_code(r) : 0;
    if (n) q->answer = json_loadb((const char *)evbuffer_pullup(in, -1), n, JSON_ALLOW_NUL, NULL);
    event_base_loopbreak(q->l->base);
}

/* GET of the model's metadata; *out stays NULL where they cannot be had. */
static hone_rc ask_metadata(load *l, side *s, const char *path, json_t **out, hone_err *err) {
    question q = {.l = l};
    struct evhttp_request *r = evhttp_request_new(on_metadata, &q);
    l->side = s;
    struct evhttp_connection *con = r ? connect_to(l) : NULL;
    if (!con) {
        if (r) evhttp_request_free(r);
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    evhttp_connection_set_timeout(con, TIMEOUT_S);
    evhttp_connection_free_on_completion(con);
    add_headers(l, r, 0);
    if (!evhttp_make_request(con, r, EVHTTP_REQ_GET, path))
        while (!q.over && !(l->o.stop && *l->o.stop) && event_base_dispatch(l->base) == 0) {
        }
    if (!q.over) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
    if (q.status == 200 && q.answer) {
        *out = q.answer;
        return HONE_OK;
    }
    json_decref(q.answer);
    if (!q.status) return hn_fail(err, HONE_E_IO, "nobody answers at %s://%s", s->scheme, s->name);
    return hn_fail(err, HONE_E_FAILED, "%s://%s answers %s with %d", s->scheme, s->name, path, q.status);
}

/* A first body shows whether inputs can be made at all. */
static hone_rc prepare_tensors(load *l, side *s, hone_err *err) {
    hn_tensor_body b = {0};
    char *name = evhttp_encode_uri(l->o.infer), *path = NULL;
    bool made = name && asprintf(&path, "/v2/models/%s", name) >= 0 && asprintf(&s->path, "%s/infer", path) >= 0;
    hone_rc rc = made ? ask_metadata(l, s, path, &s->metadata, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc)
        rc =
            hn_tensor_body_make(s->metadata, l->tensor_size, l->n_tensor_size, HN_TENSOR_MOST_B, l->o.seed, 0, &b, err);
    free(b.bytes);
    free(path);
    free(name);
    return rc;
}

/* What the requests to it are. */
static hone_rc prepare_side(load *l, side *s, hone_err *err) {
    if (l->o.infer) return prepare_tensors(l, s, err);
    s->path = strdup("/v1/completions");
    return s->path ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static hone_rc read_url(const char *url, side *s, hone_err *err) {
    struct evhttp_uri *uri = evhttp_uri_parse(url);
    const char *scheme = uri ? evhttp_uri_get_scheme(uri) : NULL, *host = uri ? evhttp_uri_get_host(uri) : NULL;
    int port = uri ? evhttp_uri_get_port(uri) : 0;
    hone_rc rc = HONE_OK;
    s->secure = scheme && !strcmp(scheme, "https");
    s->scheme = s->secure ? "https" : "http";
    if (!scheme || strcmp(scheme, s->scheme) || !host || !*host)
        rc = hn_fail(err, HONE_E_USAGE, "'%s' is no address of a server; write http://HOST:PORT or https://HOST:PORT",
                     url);
    s->port = (uint16_t)(port > 0 ? port : s->secure ? 443 : 80);
    if (!rc && (asprintf(&s->name, "%s:%u", host, s->port) < 0 || !(s->host = strdup(host))))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (uri) evhttp_uri_free(uri);
    return rc;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* P(B = k) of a binomial B(n, q). */
static double binomial_at(size_t k, size_t n, double q) {
    double i = (double)k, all = (double)n;
    return exp(lgamma(all + 1) - lgamma(i + 1) - lgamma(all - i + 1) + i * log(q) + (all - i) * log1p(-q));
}

/* The order statistics between which a percentile lies: below the k-th value at most 2.5 %, above at most 2.5 %. x is
 * sorted. Of more than 10,000 values the normal limit of the ranks. */
static hone_interval range_of(const double *x, size_t n, double p) {
    double q = p / 100, sd = sqrt((double)n * q * (1 - q));
    size_t lo = 0, hi = n; /* x[lo - 1], x[hi]: the ends */
    if (n > 10000) {
        lo = (size_t)((double)n * q - 1.96 * sd);
        hi = (size_t)((double)n * q + 1.96 * sd) + 1;
    } else {
        double below = binomial_at(0, n, q); /* P(B <= lo), then P(B <= hi) */
        while (lo < n && below <= .025) below += binomial_at(++lo, n, q);
        for (hi = lo; hi < n && below < .975;) below += binomial_at(++hi, n, q);
    }
    return (hone_interval){lo ? x[lo - 1] : NAN, hone_stat_percentile(x, n, p), hi < n ? x[hi] : NAN};
}

static hone_load_times times_of(const series *s) {
    const hone_interval none = {NAN, NAN, NAN};
    hone_load_times t = {NAN, NAN, NAN, none, none, none, {0}};
    for (int i = 0; i <= 100; i++) t.quantile[i] = s->n ? hone_stat_percentile(s->x, s->n, i) : NAN;
    if (!s->n) return t;
    qsort(s->x, s->n, sizeof *s->x, by_size);
    t.p50_range = range_of(s->x, s->n, 50);
    t.p95_range = range_of(s->x, s->n, 95);
    t.p99_range = range_of(s->x, s->n, 99);
    t.p50 = t.p50_range.mid, t.p95 = t.p95_range.mid, t.p99 = t.p99_range.mid;
    return t;
}

static hone_interval over_rounds(const double *x, size_t n, uint64_t seed) {
    if (!n) return (hone_interval){NAN, NAN, NAN};
    return hone_stat_bootstrap_median(x, n, .95, 2000, seed);
}

static hone_load_side told(const side *s, uint64_t seed) {
    hone_load_side out = {.n = s->n,
                          .n_failed = s->n_failed,
                          .n_tokens = s->n_tokens,
                          .first_s = times_of(&s->first),
                          .between_s = times_of(&s->between),
                          .whole_s = times_of(&s->whole),
                          .tokens_per_s = over_rounds(s->rate, s->n_rounds, seed),
                          .last_status = s->last_status,
                          .n_rounds = s->n_rounds};
    memcpy(out.rate, s->rate, sizeof out.rate);
    return out;
}

static void tell(const load *l, uint64_t round) {
    const hone_event e = {.stage = "round", .done = round, .total = l->o.rounds};
    if (l->o.progress.fn) l->o.progress.fn(l->o.progress.arg, &e);
}

static hone_rc run_all(load *l, side two[2], hone_err *err) {
    int n = l->o.against ? 2 : 1;
    hone_rc rc = HONE_OK;
    for (uint64_t round = 0; !rc && round <= l->o.rounds; round++) {
        for (int i = 0; !rc && i < n; i++) {
            side *s = &two[(round + (uint64_t)i) % (uint64_t)n];
            l->saving = l->o.save_trace && round == 1 && s == two;
            rc = run_round(l, s, round, err);
        }
        if (!rc) tell(l, round);
    }
    if (!rc && l->o.save_trace) rc = hn_trace_write(l->o.save_trace, &l->saved, err);
    return rc;
}

/* What was left out. */
static hone_rc complete(load *l, hone_err *err) {
    hone_load_options *o = &l->o;
    if (o->trace && (o->rate > 0 || o->burst || o->n_clients || o->prompt_words || o->tokens))
        return hn_fail(err, HONE_E_USAGE, "a trace says when requests come and how long they are; leave out the rest");
    if (o->infer && (o->trace || o->save_trace || o->model || o->prompt_words || o->tokens))
        return hn_fail(err, HONE_E_USAGE,
                       "a model of tensors has no prompts, tokens and traces; its name is that of 'infer'");
    l->n_tensor_size = hn_tensor_sizes(o->sizes, l->tensor_size);
    if (!l->n_tensor_size || (o->sizes && !o->infer))
        return hn_fail(err, HONE_E_USAGE,
                       o->infer ? "sizes are whole numbers of 1 or more: 8,128 (at most %d)"
                                : "sizes are those of a model of tensors: name it, too (at most %d)",
                       HN_TENSOR_SIZES);
    if (o->trace) {
        hone_rc rc = hn_trace_read(o->trace, &l->trace, err);
        if (rc) return rc;
        if (!o->n || o->n > l->trace.n) o->n = l->trace.n;
        if (!o->rounds) o->rounds = 1;
    }
    if (!o->n) o->n = 32;
    if (!o->rounds) o->rounds = 3;
    if (!o->burst) o->burst = 1;
    if (!o->n_clients) o->n_clients = 1;
    if (!o->prompt_words) o->prompt_words = 64;
    if (!o->tokens) o->tokens = 64;
    if (o->rounds > HONE_LOAD_ROUNDS)
        return hn_fail(err, HONE_E_USAGE, "%u rounds; %d are the most", o->rounds, HONE_LOAD_ROUNDS);
    return HONE_OK;
}

hone_rc hone_load_run(const hone_load_options *options, hone_load_result *out, hone_err *err) {
    static const struct timeval often = {0, 50000};
    load l = {.o = hone_load_defaults()};
    side two[2] = {{0}, {0}};
    hone_rc rc = hn_options_read(&l.o, sizeof l.o, options, "load", err);
    if (!rc && !l.o.url) rc = hn_fail(err, HONE_E_USAGE, "there is no server; write http://HOST:PORT");
    if (!rc) rc = complete(&l, err);
    if (!rc) rc = read_url(l.o.url, &two[0], err);
    if (!rc && l.o.against) rc = read_url(l.o.against, &two[1], err);
    if (!rc && (two[0].secure || two[1].secure)) rc = hn_tls_client(l.o.ca, l.o.insecure, &l.tls, err);
    l.base = rc ? NULL : event_base_new();
    struct event *tick = l.base ? event_new(l.base, -1, EV_PERSIST, on_tick, &l) : NULL;
    if (!rc && (!tick || event_add(tick, &often))) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (int i = 0; i < (l.o.against ? 2 : 1) && !rc; i++) rc = prepare_side(&l, &two[i], err);
    if (!rc) rc = run_all(&l, two, err);
    if (!rc) {
        double ratio[HONE_LOAD_ROUNDS];
        for (size_t i = 0; i < two[1].n_rounds; i++) ratio[i] = two[0].rate[i] / two[1].rate[i];
        *out = (hone_load_result){told(&two[0], l.o.seed), told(&two[1], l.o.seed),
                                  over_rounds(ratio, two[1].n_rounds, l.o.seed)};
    }
    if (tick) event_free(tick);
    if (l.base) event_base_free(l.base);
    hn_tls_free(l.tls);
    hn_trace_free(&l.trace);
    hn_trace_free(&l.saved);
    for (int i = 0; i < 2; i++) {
        free((char *)two[i].host);
        free(two[i].name);
        free(two[i].path);
        json_decref(two[i].metadata);
        free(two[i].first.x);
        free(two[i].between.x);
        free(two[i].whole.x);
    }
    return rc;
}
