/* python/src/text_generate.c — answers of a language model: one, in pieces where they are wanted, or many at once. */
#include "options.h"
#include "text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const hn_py_option generate_options[] = {
#define HN_GENERATE(kind, name, field, standard, doc)                                                                  \
    {#name, standard, doc, HN_PY_##kind, offsetof(hone_text_generate_options, field)},
#include "text_options.def"
#undef HN_GENERATE
};
enum { N_GENERATE = sizeof generate_options / sizeof *generate_options };

typedef struct request {
    hone_text_generate_options options;
    int32_t *token;
    const char **stop; /* borrowed texts */
    hone_text_bias *bias;
} request;

typedef struct generation {
    hone_text *m;
    size_t n;
    request *request;
    const hone_text_generate_options **option;
    hone_text_answer *answer;
    hone_err *why;
    hn_py_call call;
} generation;

/* --- requests -------------------------------------------------------------------------------------------------------
 */

static const char **stop_texts(PyObject *tuple, size_t *n) {
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    const char **list = calloc(*n + 1, sizeof *list);
    if (!list) PyErr_NoMemory();
    for (size_t i = 0; list && i < *n; i++)
        if (!(list[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i)))) {
            free(list);
            return NULL;
        }
    return list;
}

/* A dict of token: what is added to its logit. */
static hone_text_bias *biases(PyObject *dict, size_t *n) {
    hone_text_bias *list = calloc((size_t)PyDict_Size(dict) + 1, sizeof *list);
    PyObject *key, *value;
    Py_ssize_t position = 0;
    if (!list) PyErr_NoMemory();
    while (list && PyDict_Next(dict, &position, &key, &value)) {
        long token = PyLong_AsLong(key);
        double add = PyErr_Occurred() ? 0 : PyFloat_AsDouble(value);
        if (!PyErr_Occurred() && (token < 0 || token > INT32_MAX))
            PyErr_Format(PyExc_OverflowError, "%ld is no token", token);
        if (PyErr_Occurred()) {
            free(list);
            return NULL;
        }
        list[(*n)++] = (hone_text_bias){(int32_t)token, (float)add};
    }
    return list;
}

/* (prompt or None, tokens or None, stop texts, bias, options) */
static int read_request(PyObject *given, request *r) {
    PyObject *tokens, *stops, *bias, *options;
    Py_ssize_t n_prompt = 0;
    r->options = hone_text_generate_defaults();
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a request is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(given, "z#OO!O!O!", &r->options.prompt, &n_prompt, &tokens, &PyTuple_Type, &stops,
                          &PyDict_Type, &bias, &PyDict_Type, &options) ||
        hn_py_options_set(&r->options, generate_options, N_GENERATE, options, "generate"))
        return -1;
    r->options.n_prompt = (size_t)n_prompt;
    if (tokens != Py_None && hn_py_tokens_take(tokens, &r->token, &r->options.n_token)) {
        r->token = NULL;
        return -1;
    }
    if (!(r->stop = stop_texts(stops, &r->options.n_stop_text))) return -1;
    if (!(r->bias = biases(bias, &r->options.n_bias))) return -1;
    r->options.token = r->token, r->options.stop_text = r->stop, r->options.bias = r->bias;
    return 0;
}

static void drop(generation *g) {
    for (size_t i = 0; g->request && i < g->n; i++)
        free(g->request[i].token), free(g->request[i].stop), free(g->request[i].bias);
    for (size_t i = 0; g->answer && i < g->n; i++) hone_text_answer_free(&g->answer[i]);
    free(g->request), free(g->option), free(g->answer), free(g->why);
}

static int read_requests(PyObject *tuple, hone_text *draft, generation *g) {
    g->n = (size_t)PyTuple_GET_SIZE(tuple);
    g->request = calloc(g->n + 1, sizeof *g->request);
    g->option = calloc(g->n + 1, sizeof *g->option);
    g->answer = calloc(g->n + 1, sizeof *g->answer);
    g->why = calloc(g->n + 1, sizeof *g->why);
    if (!g->request || !g->option || !g->answer || !g->why) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < g->n; i++) {
        if (read_request(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i), &g->request[i])) return -1;
        g->request[i].options.stop = &g->call.stop;
        g->request[i].options.draft = draft;
        g->option[i] = &g->request[i].options;
    }
    return 0;
}

/* --- answers --------------------------------------------------------------------------------------------------------
 */

/* n places of n_top each, as lists of (token, log-probability). */
static PyObject *top_list(const hone_text_answer *a) {
    PyObject *list = PyList_New(a->n_top ? (Py_ssize_t)a->n : 0);
    for (size_t i = 0; list && a->n_top && i < a->n; i++) {
        PyObject *place = PyList_New((Py_ssize_t)a->n_top);
        for (size_t k = 0; place && k < a->n_top; k++) {
            const hone_text_top *t = &a->top[i * a->n_top + k];
            PyObject *one = Py_BuildValue("(id)", (int)t->token, t->logprob);
            if (!one)
                Py_CLEAR(place);
            else
                PyList_SET_ITEM(place, (Py_ssize_t)k, one);
        }
        if (!place)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, place);
    }
    return list;
}

static PyObject *beam_list(const hone_text_answer *a) {
    PyObject *list = PyList_New((Py_ssize_t)a->n_beams);
    for (size_t i = 0; list && i < a->n_beams; i++) {
        const hone_text_beam *b = &a->beam[i];
        PyObject *one = Py_BuildValue("(NNNds)", hn_py_text_str(b->text, b->n_text), hn_py_tokens_list(b->token, b->n),
                                      hn_py_reals_list(b->logprob, b->n), b->score, hone_text_end_name(b->end));
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *answer_dict(const hone_text_answer *a) {
    return Py_BuildValue("{s:N,s:N,s:N,s:s,s:n,s:d,s:d,s:d,s:N,s:N,s:n,s:n}", "text",
                         hn_py_text_str(a->text, a->n_text), "tokens", hn_py_tokens_list(a->token, a->n), "logprobs",
                         hn_py_reals_list(a->logprob, a->n), "end", hone_text_end_name(a->end), "prompt_tokens",
                         (Py_ssize_t)a->n_prompt, "prompt_s", a->prompt_s, "first_token_s", a->first_s, "generate_s",
                         a->generate_s, "top_logprobs", top_list(a), "beams", beam_list(a), "guessed_tokens",
                         (Py_ssize_t)a->n_guessed, "guessed_right", (Py_ssize_t)a->n_right);
}

/* The exception, not raised. */
static PyObject *exception_of(const hn_py_state *state, const hone_err *why) {
    PyObject *type, *value, *trace;
    hn_py_raise(state, why);
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

static PyObject *results(const hn_py_state *state, const generation *g) {
    PyObject *list = PyList_New((Py_ssize_t)g->n);
    for (size_t i = 0; list && i < g->n; i++) {
        PyObject *one = g->why[i].rc ? exception_of(state, &g->why[i]) : answer_dict(&g->answer[i]);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

/* --- the call -------------------------------------------------------------------------------------------------------
 */

typedef struct piece {
    const char *text;
    size_t n;
} piece;

static PyObject *show_piece(const void *event) {
    const piece *p = event;
    return hn_py_text_str(p->text, p->n);
}

static bool on_text(void *arg, const char *text, size_t n) {
    generation *g = arg;
    hn_py_call_event(&g->call, show_piece, &(piece){text, n});
    return !g->call.stop;
}

static hone_rc run(void *arg, hone_err *err) {
    generation *g = arg;
    if (g->n != 1) return hone_text_generate_all(g->m, g->option, g->n, g->answer, g->why, err);
    g->why[0].rc = hone_text_generate(g->m, g->option[0], &g->answer[0], &g->why[0]);
    return HONE_OK;
}

/* (requests, draft or None, callback or None): of the pieces of a single request */
PyObject *hn_py_text_generate(PyObject *self, PyObject *args) {
    hn_py_text *t = (hn_py_text *)self, *draft = NULL;
    generation g = {0};
    PyObject *requests, *other, *out = NULL;
    if (!PyArg_ParseTuple(args, "O!OO", &PyTuple_Type, &requests, &other, &g.call.callback)) return NULL;
    if (other != Py_None && !PyObject_TypeCheck(other, t->state->text))
        return PyErr_Format(PyExc_TypeError, "a draft is a language model, not %R", other);
    if (other != Py_None) draft = (hn_py_text *)other;
    if (!hn_py_text_is_open(t) || (draft && !hn_py_text_is_open(draft))) return NULL;
    g.m = t->m;
    g.call.run = run, g.call.arg = &g;
    if (!read_requests(requests, draft ? draft->m : NULL, &g)) {
        if (g.n == 1 && g.call.callback != Py_None)
            g.request[0].options.on_text = on_text, g.request[0].options.on_text_arg = &g;
        if (!hn_py_text_run(t, draft, &g.call)) out = results(t->state, &g);
    }
    drop(&g);
    return out;
}

int hn_py_add_text_generate(PyObject *module) {
    return hn_py_options_add(module, "generate_options", generate_options, N_GENERATE);
}
