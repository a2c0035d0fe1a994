/* cli.h — what the commands of `hone` share: the table of commands, their options, and the ways to print.
 *
 * A command is one file that exports one `const cli_command`, and one row in commands.def. Its help, manual page and
 * completion come from that struct. Data goes to stdout, words to stderr; with --json stdout holds one JSON value.
 * Only public headers of the library are used here; names start with cli_ so that they never meet its internal ones.
 * Memory: lack of it ends the process (cli_alloc), as only a program may.
 */
#ifndef CLI_H
#define CLI_H

#include <hone/base.h>

#include <stdio.h>

/* --- commands and options ------------------------------------------------------------------------------------- */

typedef enum cli_kind {
    CLI_FLAG,    /* no value */
    CLI_TEXT,    /* any text but the empty one */
    CLI_COUNT,   /* whole number in lo .. hi; up to 2^64 - 1 when hi is 0 */
    CLI_SECONDS, /* "90", "90s", "1.5h", "250 ms": more than 0 */
    CLI_CHOICE,  /* one of the words in `value`, separated by | */
    CLI_MAYBE,   /* --name or --name=VALUE: a whole number that may be left out */
} cli_kind;

typedef struct cli_option {
    const char *name; /* without dashes; NULL ends a list */
    char letter;      /* 0: none */
    cli_kind kind;
    const char *value; /* as shown in help: "N", "DIR", "auto|always|never" */
    double lo, hi;
    const char *help;
} cli_option;

struct cli;
typedef struct cli_command {
    const char *name, *group; /* group: a heading of the overview; NULL: hidden */
    const char *operands;     /* "[SESSION]", "" */
    const char *summary;      /* one line, lower case */
    const char *description;  /* paragraphs; `literal` in backticks */
    const cli_option *options;
    const char *examples; /* lines "command\tmeaning\n" */
    int min_args, max_args;
    hone_rc (*run)(struct cli *c, hone_err *err);
} cli_command;

/* All commands, in the order of the overview; NULL at the end. */
const cli_command *cli_command_at(size_t i);
/* E_USAGE names the nearest. */
hone_rc cli_command_find(const char *name, const cli_command **out, hone_err *err);
/* i-th option of a command, those that every command has last; NULL at the end. */
const cli_option *cli_option_at(const cli_command *command, size_t i);

#define CLI_MAX_OPTIONS 48
typedef struct cli_value {
    bool given;
    const char *text; /* NULL when given without one */
    uint64_t count;
    double seconds;
} cli_value;

/* One run of one command. */
typedef struct cli {
    const cli_command *command;
    const char **arg; /* operands */
    size_t n_args;
    cli_value value[CLI_MAX_OPTIONS];
    bool json, json_begun; /* begun: stdout holds (part of) the value already */
    bool color_out, color_err, utf8;
    int exit_code; /* of a success, 0 unless a command's help says otherwise */
} cli;

/* Reads argv[1..]: fills arg, value and json; c->command must be set. `words` has room for argc pointers. */
hone_rc cli_parse(cli *c, int argc, char **argv, const char **words, hone_err *err);
bool cli_given(const cli *c, const char *option);
const char *cli_text(const cli *c, const char *option, const char *dflt);
uint64_t cli_count(const cli *c, const char *option, uint64_t dflt);
double cli_seconds(const cli *c, const char *option, double dflt);
/* "90s", "2 min", "1h30m": false unless all of it is a positive time. */
bool cli_parse_seconds(const char *text, double *out);
bool cli_parse_count(const char *text, uint64_t *out);

/* Fills *err and returns rc. */
hone_rc cli_fail(hone_err *err, hone_rc rc, const char *fmt, ...) HONE_PRINTF(3, 4);
/* The nearest of n names if near enough to be a slip, else NULL. */
const char *cli_nearest(const char *name, const char *const *names, size_t n);

/* help.c: texts made from the table. */
void cli_print_overview(const cli *c, FILE *f);
void cli_print_help(const cli *c, const cli_command *command, FILE *f);

/* --- memory, time, terminals ---------------------------------------------------------------------------------- */

void *cli_alloc(size_t count, size_t size);                   /* zeroed; never NULL */
void *cli_grow(void *p, size_t *room, size_t n, size_t size); /* room for n + 1 items */
char *cli_format(const char *fmt, ...) HONE_PRINTF(1, 2);     /* malloc'ed */
char *cli_strdup(const char *s);
double cli_now_s(void); /* monotonic, for durations */

int cli_width(FILE *f); /* columns of the terminal at f, $COLUMNS, else 80; at least 10. 0 when f is no terminal */
/* Sets up locale, colours and the answer to a closed pipe. */
void cli_terminal_setup(cli *c);
void cli_set_color(cli *c, const char *when); /* "auto", "always", "never" */

typedef enum cli_ink { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW } cli_ink;
/* The escape sequence, "" when colours are off. Ends with cli_paint(on, CLI_PLAIN). */
const char *cli_paint(bool on, cli_ink ink);

/* --- texts for people (format.c): buffers of CLI_TEXT_N, the buffer is returned -------------------------------- */

#define CLI_TEXT_N 48
const char *cli_text_seconds(double s, char *buf);             /* "1.23 ms"; "-" for NAN */
const char *cli_text_duration(double s, char *buf);            /* "0:42", "1:02:03" */
const char *cli_text_bytes(double b, char *buf);               /* "1.2 MiB" */
const char *cli_text_exact(double x, char *buf);               /* the shortest that reads back the same; x is finite */
const char *cli_text_number(double x, char *buf);              /* "12,345", "1.234e+20", "0.01234" */
const char *cli_text_ratio(const cli *c, double x, char *buf); /* "1.084×" ("x" where the locale lacks it) */
const char *cli_text_when(double unix_s, char *buf);           /* "2026-01-31 14:05" local time */
/* A value of an objective such as p50(latency), by what its name says of its unit. */
const char *cli_text_quantity(const char *expr, double x, char *buf);
/* Columns a text takes; control characters and undecodable bytes count as one each. */
size_t cli_columns(const char *text);
/* Prints at most `most` columns (0: all), control characters made harmless; the rest is replaced by an ellipsis. */
void cli_put(const cli *c, FILE *f, const char *text, size_t most);
/* Prints text in paragraphs wrapped to `width`, indented; backticks become bold or stay quotes. */
void cli_wrap(FILE *f, const char *text, int indent, int width, bool color);

/* --- tables (table.c) ----------------------------------------------------------------------------------------- */

typedef struct cli_table cli_table;
/* One character per column: 'l' left, 'r' right, 'x' left and shortened first when the terminal is narrow. */
cli_table *cli_table_new(const char *layout);
void cli_table_head(cli_table *t, const char *name);
void cli_table_cell(cli_table *t, const char *fmt, ...) HONE_PRINTF(2, 3);
/* The ink of the row that the last cell belongs to. */
void cli_table_ink(cli_table *t, cli_ink ink);
void cli_table_print(const cli *c, cli_table *t, FILE *f, int width); /* width 0: never shortened; frees t */

/* --- JSON (json.c): a writer ------------------------------------------------------------------------------------ */

typedef struct cli_json {
    FILE *f;
    unsigned depth;
    bool array[32], some[32], key, compact;
} cli_json;
cli_json cli_json_begin(cli *c, bool compact); /* on stdout; compact: the value on one line */
cli_json cli_json_to(FILE *f, bool compact);   /* into another file */
void cli_json_end(cli_json *j);                /* newline */
void cli_json_object(cli_json *j);
void cli_json_array(cli_json *j);
void cli_json_close(cli_json *j); /* the innermost object or array */
void cli_json_key(cli_json *j, const char *key);
void cli_json_text(cli_json *j, const char *text); /* NULL: null; bytes that are no UTF-8 become U+FFFD */
void cli_json_number(cli_json *j, double x);       /* shortest text that reads back; NAN and infinities: null */
void cli_json_count(cli_json *j, uint64_t x);
void cli_json_bool(cli_json *j, bool x);
void cli_json_raw(cli_json *j, const char *json); /* a JSON text, as it is; NULL or "": null */
/* key and value in one */
void cli_json_ktext(cli_json *j, const char *key, const char *text);
void cli_json_knumber(cli_json *j, const char *key, double x);
void cli_json_kcount(cli_json *j, const char *key, uint64_t x);
void cli_json_kbool(cli_json *j, const char *key, bool x);
void cli_json_kraw(cli_json *j, const char *key, const char *json);

/* --- what a command works on (subject.c) ----------------------------------------------------------------------- */

struct hone_space;
struct hone_workload;
struct hone_target;
typedef struct cli_subject {
    const char *kind; /* "space", "workload", "compiler" */
    struct hone_space *space;
    struct hone_workload *workload; /* of a workload */
    struct hone_target *target;     /* of a compiler */
} cli_subject;
/* Opens a space file, a workload file or a compiler by name; `all` and `numeric` widen a compiler's space. Free with
 * cli_subject_close. E_NOTFOUND says what was tried. */
hone_rc cli_subject_open(const cli *c, const char *name, bool all, bool numeric, cli_subject *out, hone_err *err);
void cli_subject_close(cli_subject *s);
/* Is there an engine of this name? NULL is fine. E_NOTFOUND names the nearest. */
hone_rc cli_check_engine(const char *name, hone_err *err);
/* "a=1,b=2" as a NULL-terminated array of pieces of `text`, which is cut up; free the array. */
const char **cli_split_options(char *text);
/* Progress of discovery on a terminal: ctx is the cli. */
void cli_progress(void *ctx, const struct hone_event *e);

#endif
