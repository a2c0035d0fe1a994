/* cmd_tokenize.c — `hone tokenize`: text to token ids, and back. */
#include "cli.h"

#include <hone/text.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct ids {
    int32_t *id;
    size_t n;
} ids;

static hone_rc back(const cli *c, const hone_text *m, ids *x, hone_err *err) {
    size_t room = 0;
    for (const char *p = c->arg[1]; *p;) {
        char *end;
        long id = strtol(p, &end, 10);
        if (end == p || id < 0 || (size_t)id >= hone_text_vocabulary(m))
            return cli_fail(err, HONE_E_USAGE, "'%s' is no token; numbers from 0 to %zu are meant", p,
                            hone_text_vocabulary(m) - 1);
        x->id = cli_grow(x->id, &room, x->n, sizeof *x->id);
        x->id[x->n++] = (int32_t)id;
        p = end + strspn(end, " ,");
    }
    return HONE_OK;
}

static void put_ids(cli *c, const hone_text *m, const ids *x) {
    cli_json j;
    hone_err err;
    if (c->json) {
        j = cli_json_begin(c, false);
        cli_json_object(&j);
        cli_json_key(&j, "tokens");
        cli_json_array(&j);
        for (size_t i = 0; i < x->n; i++) cli_json_count(&j, (uint64_t)x->id[i]);
        cli_json_close(&j);
        cli_json_key(&j, "texts");
        cli_json_array(&j);
    }
    for (size_t i = 0; i < x->n; i++) {
        char *text = NULL;
        size_t n;
        if (hone_text_decode(m, &x->id[i], 1, true, &text, &n, &err)) continue;
        if (c->json)
            cli_json_text(&j, text);
        else {
            printf("%7" PRId32 "  ", x->id[i]);
            cli_put(c, stdout, text, 0);
            putchar('\n');
        }
        hone_free(text);
    }
    if (!c->json) return;
    cli_json_close(&j);
    cli_json_end(&j);
}

static hone_rc put_text(cli *c, const hone_text *m, const ids *x, hone_err *err) {
    char *text = NULL;
    size_t n = 0;
    hone_rc rc = hone_text_decode(m, x->id, x->n, true, &text, &n, err);
    if (rc) return rc;
    if (c->json) {
        cli_json j = cli_json_begin(c, false);
        cli_json_object(&j);
        cli_json_ktext(&j, "text", text);
        cli_json_end(&j);
    } else {
        fwrite(text, 1, n, stdout);
        putchar('\n');
    }
    hone_free(text);
    return HONE_OK;
}

static hone_rc run_tokenize(cli *c, hone_err *err) {
    hone_text *m = NULL;
    ids x = {0};
    bool decode = cli_given(c, "decode");
    hone_rc rc = hone_text_open_tokenizer(c->arg[0], &m, err);
    if (!rc && decode) rc = back(c, m, &x, err);
    if (!rc && !decode)
        rc = hone_text_encode(m, c->arg[1], strlen(c->arg[1]), !cli_given(c, "no-frame"), !cli_given(c, "no-control"),
                              &x.id, &x.n, err);
    if (!rc && decode) rc = put_text(c, m, &x, err);
    if (!rc && !decode) put_ids(c, m, &x);
    hone_free(x.id);
    hone_text_close(m);
    return rc;
}

static const cli_option options[] = {
    {"decode", 'd', CLI_FLAG, NULL, 0, 0, "the other way: TEXT is a list of ids, \"19556 905\""},
    {"no-frame", 0, CLI_FLAG, NULL, 0, 0, "without the tokens that begin and end a text"},
    {"no-control", 0, CLI_FLAG, NULL, 0, 0, "names of control tokens are text like any other"},
    {0},
};

const cli_command cli_cmd_tokenize = {
    "tokenize",
    "Models",
    "MODEL TEXT",
    "text to token ids of a language model, and back",
    "Prints the tokens of a text, each with the text that it stands for. Nothing is compiled.",
    options,
    "hone tokenize model.gguf \"Hello world\"\tone token a line\n"
    "hone tokenize model.gguf --decode \"19556 905\"\tthe text\n",
    2,
    2,
    run_tokenize,
};
