/* generate_many.c — `hone generate --prompts`: a prompt a line, an answer a line of JSON.
 *
 * Each answer names its line and a hash of it, so that a second run goes on where the first one ended, and notices when
 * the prompts are others. A line that cannot be answered becomes an error in its place; the others go on. */
#include "text_request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct many {
    cli *c;
    hone_text *m;
    const cli_request *usual;
    char **line; /* of the file, without its end */
    size_t n_line;
    bool json, *done;
    const char *prompts, *path; /* path: NULL is stdout */
    FILE *out;
    size_t n_done, n_failed, n_token;
    double begin_s, said_s;
} many;

/* FNV-1a of a line. */
static void hash_of(const char *text, char out[17]) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    snprintf(out, 17, "%016" PRIx64, h);
}

static void cut_lines(many *a, char *text) {
    size_t room = 0;
    for (char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        char *next = p + n + (p[n] == '\n');
        p[n] = 0;
        if (n && p[n - 1] == '\r') p[n - 1] = 0;
        a->line = cli_grow(a->line, &room, a->n_line, sizeof *a->line);
        a->line[a->n_line++] = p;
        p = next;
    }
    a->done = cli_alloc(a->n_line + 1, sizeof *a->done);
    for (size_t i = 0; i < a->n_line; i++)
        if (!a->line[i][strspn(a->line[i], " \t")]) { /* nothing is asked */
            a->done[i] = true;
            a->n_done++;
        }
}

/* --- going on ---------------------------------------------------------------------------------------------------- */

static hone_rc take_done(many *a, size_t at, const char *text, hone_err *err) {
    json_t *v = json_loads(text, JSON_ALLOW_NUL, NULL);
    json_int_t line = json_integer_value(json_object_get(v, "line"));
    const char *input = json_string_value(json_object_get(v, "input"));
    char hash[17];
    hone_rc rc = HONE_OK;
    if (line < 1 || !input)
        rc = cli_fail(err, HONE_E_INPUT, "%s:%zu: no answer of hone generate; name another --out", a->path, at);
    else if ((size_t)line > a->n_line || (hash_of(a->line[line - 1], hash), strcmp(hash, input) != 0))
        rc = cli_fail(err, HONE_E_MISMATCH,
                      "%s:%zu: line %" JSON_INTEGER_FORMAT " of '%s' is another prompt by now; name another --out",
                      a->path, at, line, a->prompts);
    else {
        a->n_done += !a->done[line - 1];
        a->done[line - 1] = true;
    }
    json_decref(v);
    return rc;
}

/* What an earlier run has answered; a last line without an end is taken away. */
static hone_rc go_on(many *a, hone_err *err) {
    char *text = NULL;
    size_t whole = 0;
    hone_rc rc = access(a->path, F_OK) ? HONE_OK : cli_read_text(a->path, &text, err);
    for (size_t at = 1; !rc && text && strchr(text + whole, '\n'); at++) {
        char *p = text + whole;
        size_t n = strcspn(p, "\n");
        p[n] = 0;
        rc = take_done(a, at, p, err);
        whole += n + 1;
    }
    if (!rc && text && text[whole] && truncate(a->path, (off_t)whole))
        rc = cli_fail(err, HONE_E_IO, "cannot write '%s'", a->path);
    free(text);
    if (!rc && !(a->out = fopen(a->path, "ab"))) rc = cli_fail(err, HONE_E_IO, "cannot write '%s'", a->path);
    return rc;
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static void put_line(many *a, size_t at, const cli_request *q, const hone_text_answer *answer, const hone_err *failed) {
    cli_json j = cli_json_to(a->out, true);
    char hash[17];
    json_t *id = json_object_get(q->line, "id");
    hash_of(a->line[at], hash);
    cli_json_object(&j);
    cli_json_kcount(&j, "line", at + 1);
    cli_json_ktext(&j, "input", hash);
    if (id) {
        char *text = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
        cli_json_kraw(&j, "id", text);
        free(text);
    }
    if (failed) {
        cli_json_key(&j, "error");
        cli_json_object(&j);
        cli_json_ktext(&j, "id", hone_rc_name(failed->rc));
        cli_json_ktext(&j, "text", failed->text);
        cli_json_close(&j);
    } else
        cli_put_answer(&j, a->m, answer);
    cli_json_end(&j);
}

static void say_progress(many *a, bool last) {
    double now = cli_now_s(), spent = now - a->begin_s;
    bool person = isatty(STDERR_FILENO);
    if (!last && now - a->said_s < (person ? 0.2 : 10)) return;
    a->said_s = now;
    fprintf(stderr, "%s%zu of %zu prompts, %zu tokens at %.1f a second%s", person ? "\r" : "", a->n_done, a->n_line,
            a->n_token, spent > 0 ? (double)a->n_token / spent : 0, person && !last ? "" : "\n");
}

enum { GROUP = 4 * HONE_TEXT_AT_ONCE };

/* Lines of the file that are answered together. */
typedef struct group {
    size_t at[GROUP], n;
    cli_request q[GROUP];
    const hone_text_generate_options *r[GROUP];
    hone_text_answer answer[GROUP];
    hone_err why[GROUP];
} group;

/* Requests of the next lines; one that cannot be read is none, and says why. */
static void read_group(many *a, size_t *next, group *g) {
    for (g->n = 0; g->n < GROUP && *next < a->n_line; ++*next) {
        size_t at = *next;
        cli_request *q = &g->q[g->n];
        *q = (cli_request){.r = a->usual->r};
        if (a->done[at]) continue;
        if (!a->json) q->r.prompt = a->line[at];
        g->why[g->n] = (hone_err){0};
        bool good = !a->json || !cli_request_line(a->m, a->usual, a->line[at], q, &g->why[g->n]);
        g->at[g->n] = at;
        g->r[g->n++] = good ? &q->r : NULL;
    }
}

static hone_rc put_group(many *a, group *g, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < g->n; i++) {
        bool failed = g->why[i].rc != HONE_OK;
        if (g->why[i].rc == HONE_E_NOMEM || g->why[i].rc == HONE_E_INTERRUPTED) {
            if (!rc) *err = g->why[i], rc = g->why[i].rc;
        } else if (!rc && (failed || g->answer[i].end != HONE_TEXT_STOPPED)) {
            put_line(a, g->at[i], &g->q[i], &g->answer[i], failed ? &g->why[i] : NULL);
            a->n_failed += failed;
            a->n_token += g->answer[i].n;
            a->n_done++;
        }
        hone_text_answer_free(&g->answer[i]);
    }
    if (!rc && (fflush(a->out) || ferror(a->out)))
        rc = cli_fail(err, HONE_E_IO, "cannot write '%s'", a->path ? a->path : "stdout");
    return rc;
}

static hone_rc answer_group(many *a, group *g, hone_err *err) {
    hone_rc rc = hone_text_generate_all(a->m, g->r, g->n, g->answer, g->why, err);
    if (!rc) rc = put_group(a, g, err);
    for (size_t i = 0; i < g->n; i++) cli_request_free(&g->q[i]);
    if (rc == HONE_E_INTERRUPTED)
        return cli_fail(err, rc, "stopped behind %zu of %zu prompts; the same command goes on", a->n_done, a->n_line);
    return rc;
}

static hone_rc answer_all(many *a, hone_err *err) {
    hone_rc rc = HONE_OK;
    size_t next = 0;
    group *g = cli_alloc(1, sizeof *g);
    a->begin_s = a->said_s = cli_now_s();
    while (!rc && next < a->n_line) {
        read_group(a, &next, g);
        rc = answer_group(a, g, err);
        if (!rc) say_progress(a, false);
    }
    free(g);
    say_progress(a, true);
    if (!rc && a->n_failed)
        rc = cli_fail(err, HONE_E_INPUT, "%zu prompts have no answer; their lines say why", a->n_failed);
    return rc;
}

hone_rc cli_generate_many(cli *c, hone_text *m, const cli_request *usual, hone_err *err) {
    const char *prompts = cli_text(c, "prompts", NULL);
    size_t n = strlen(prompts);
    many a = {.c = c, .m = m, .usual = usual, .prompts = prompts, .path = cli_text(c, "out", NULL), .out = stdout};
    char *text = NULL;
    a.json = n > 6 && !strcmp(prompts + n - 6, ".jsonl");
    c->json_begun = true; /* errors are no second value on stdout */
    hone_rc rc = cli_read_text(prompts, &text, err);
    if (!rc) cut_lines(&a, text);
    if (!rc && a.path) rc = go_on(&a, err);
    if (!rc) rc = answer_all(&a, err);
    if (a.out && a.out != stdout && fclose(a.out) && !rc) rc = cli_fail(err, HONE_E_IO, "cannot write '%s'", a.path);
    free(a.line);
    free(a.done);
    free(text);
    return rc;
}
