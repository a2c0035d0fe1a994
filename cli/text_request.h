/* text_request.h — requests to a language model from a command's options, or from a line of JSON; answers as JSON. */
#ifndef CLI_TEXT_REQUEST_H
#define CLI_TEXT_REQUEST_H

#include "text_file.h"

#include <hone/text.h>
#include <jansson.h>

/* A request, and what it points to. Free with cli_request_free. */
typedef struct cli_request {
    hone_text_generate_options r;
    char *prompt, *constraint; /* of files, and of templates */
    const char **stop;
    hone_text_bias *bias;
    hone_text *draft;
    json_t *line; /* that it was read from */
} cli_request;

/* Options that commands which generate text have in common. */
#define CLI_REQUEST_OPTIONS                                                                                              \
    {"temperature", 0, CLI_TEXT, "T", 0, 0, "0: always the most likely token (default .8)"},                             \
        {"seed", 0, CLI_COUNT, "N", 0, 0, "the same seed gives the same text (default 0)"},                              \
        {"grammar", 0, CLI_TEXT, "FILE", 0, 0, "the answer follows this grammar (GBNF); a text with ::= is one itself"}, \
        {"json-schema", 0, CLI_TEXT, "FILE", 0, 0, "the answer is JSON valid by this schema; {...} is one itself"},      \
        {"draft",                                                                                                        \
         0,                                                                                                              \
         CLI_TEXT,                                                                                                       \
         "FILE",                                                                                                         \
         0,                                                                                                              \
         0,                                                                                                              \
         "a small model of the same vocabulary guesses tokens; the answer is the same"},                                 \
        {"draft-tokens", 0, CLI_COUNT, "N", 1, 64, "guess at most N tokens at once (default 8)"},                        \
        {"lookup", 0, CLI_COUNT, "N", 1, 64, "guess up to N tokens by what followed the last ones earlier"}, {           \
        "threads", 0, CLI_COUNT, "N", 1, 1024, "threads to run on; else one per processor"                               \
    }

/* Reads those of the options that the command has. */
hone_rc cli_request_read(const cli *c, cli_request *q, hone_err *err);
/* Opens --draft, after the request was read. */
hone_rc cli_request_draft(const cli *c, const hone_text_options *o, cli_request *q, hone_err *err);
/* As `usual`, but for what an object says: prompt or messages, and keys named as the options. */
hone_rc cli_request_line(const hone_text *m, const cli_request *usual, const char *line, cli_request *q, hone_err *err);
void cli_request_free(cli_request *q);

/* The keys of an answer, into an object that is open. */
void cli_put_answer(cli_json *j, const hone_text *m, const hone_text_answer *a);

/* generate_many.c: a prompt a line, an answer a line. */
hone_rc cli_generate_many(cli *c, hone_text *m, const cli_request *usual, hone_err *err);

#endif
